"""NumPy's functions without their wrappers (backends/numpy/{ranks,gaps,choices,calculus}.pyx) and their gradients.

Values, warnings and errors are those of NumPy's functions, bit by bit; gradients those of the rules that run where the
fast paths are off.
"""

import warnings

import numpy as np
import pytest
from fast_path_cases import plain, quiet

import arraygrad as ag
from arraygrad.backends.numpy import calculus, choices, gaps, ranks, sorting
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.ops import OPS

_rng = np.random.default_rng(7)


def normal(*shape):
    return _rng.normal(size=shape)


def ties(*shape):
    return np.round(2.0 * normal(*shape))


def changed(a, *pairs):
    a = a.copy()
    for place, value in pairs:
        a[place] = value
    return a


NAN, INF = np.nan, np.inf
MATRICES = {
    "normal": normal(5, 6),
    "even": normal(4, 4),
    "ties": ties(6, 5),
    "holes": changed(normal(5, 6), ((0, 2), NAN), ((3, 2), NAN), ((4, 0), NAN)),
    "lost lane": changed(normal(4, 3), ((slice(None), 1), NAN), ((1, slice(None)), NAN)),
    "zeros of both signs": changed(ties(5, 5), ((0, 0), -0.0), ((1, 0), 0.0), ((2, 0), -0.0), ((3, 3), -0.0)),
    "infinities": changed(normal(5, 4), ((0, 0), INF), ((1, 0), INF), ((2, 3), -INF)),
    "great": 1.5e308 * np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]),
    "tiny": 1e-308 * normal(3, 4),
    "one": normal(1, 1),
    "row": normal(1, 7),
    "transposed": normal(6, 5).T,
    "steps": normal(8, 9)[::2, ::3],
    "reversed": normal(4, 5)[:, ::-1],
    "long": normal(3, 90),
    "empty": normal(0, 3),
    "single": normal(5, 6).astype(np.float32),
    "single ties": ties(4, 7).astype(np.float32),
    "single holes": changed(normal(3, 5), ((0, 2), NAN), ((2, 2), NAN)).astype(np.float32),
    "cube": normal(2, 3, 4),
    "single cube": normal(3, 2, 4).astype(np.float32),
}
VECTORS = {
    "vector": normal(9),
    "vector of ties": ties(12),
    "vector with holes": changed(normal(7), (2, NAN), (5, NAN)),
    "long vector": normal(200),
    "short": normal(2),
    "only one": normal(1),
    "nothing": normal(0),
    "single vector": normal(8).astype(np.float32),
    "every second": normal(10)[::2],
    "turns": 4.0 * normal(11),
    "half turns": np.pi * np.array([0.0, 1.0, 2.0, 1.0, 0.0, -1.0]),
    "infinite": np.array([1.0, INF, 2.0, -INF]),
}
ARRAYS = {**MATRICES, **VECTORS}
AXES = [{}, {"axis": 0}, {"axis": -1}, {"axis": 0, "keepdims": True}, {"axis": None, "keepdims": True}]
QUANTILES = [((q,), options) for q in (0.0, 0.3, 0.5, 1.0) for options in AXES[:4]] + [
    (([0.25, 0.5],), {"axis": 0}),
    ((np.array([[0.1], [0.9]]),), {}),
    ((1,), {"axis": -1}),
    ((1.5,), {"axis": 0}),
]
PERCENTILES = [((100 * q if isinstance(q, float) else np.multiply(q, 100),), kw) for (q,), kw in QUANTILES[:-2]] + [
    ((30,), {"axis": 0}),
    (([25, 75],), {}),
]

# function: its module, [(arguments behind the array, keywords)]
CALLS = {
    **{
        name: (gaps, [((), options) for options in AXES])
        for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean")
    },
    **{
        name: (gaps, [((), {**options, "ddof": ddof}) for options in AXES for ddof in (0, 1, 2.5, 9)])
        for name in ("nanvar", "nanstd")
    },
    **{name: (gaps, [((), {}), ((), {"axis": 0}), ((), {"axis": -1})]) for name in ("nancumsum", "nancumprod")},
    "nan_to_num": (gaps, [((), {}), ((), {"nan": 1.5, "posinf": 2.0}), ((), {"neginf": -3})]),
    **{name: (ranks, [((), options) for options in AXES]) for name in ("median", "nanmedian")},
    **dict.fromkeys(("quantile", "nanquantile"), (ranks, QUANTILES)),
    **dict.fromkeys(("percentile", "nanpercentile"), (ranks, PERCENTILES)),
    "ediff1d": (calculus, [((), {})]),
    "unwrap": (calculus, [((), {})]),
    "trapezoid": (calculus, [((), {}), ((), {"dx": 0.3, "axis": 0}), ((), {"dx": 2, "axis": -1}), ((), {"axis": 5})]),
    "gradient": (calculus, [((), {}), ((0.5,), {}), ((2,), {"axis": 0}), ((0.0,), {})]),
    "cov": (calculus, [((), {}), ((), {"rowvar": False}), ((), {"bias": True}), ((), {"ddof": 0})]),
    "corrcoef": (calculus, [((), {}), ((), {"rowvar": False})]),
}
VECTORS_ONLY = {"gradient"}


def cases(name):
    """(which array, array, arguments, keywords) of a function."""
    for args, kwargs in CALLS[name][1]:
        for what, a in (VECTORS if name in VECTORS_ONLY else ARRAYS).items():
            yield what, a, args, kwargs


NAMES = [name for name in CALLS if hasattr(np, name)]


def outcome(f, *args, **kwargs):
    """What a call gives: (value, warnings) or the class of its error."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            value = f(*args, **kwargs)
        except Exception as error:
            return type(error)
    return value, [(w.category, str(w.message)) for w in found]


def assert_same(ours, theirs):
    if isinstance(theirs, type):
        assert ours is theirs
        return
    (a, ours), (b, theirs) = ours, theirs
    assert type(a) is type(b)
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_values_and_warnings_are_numpys(name):
    served = 0
    for _, a, args, kwargs in cases(name):
        ours = outcome(getattr(CALLS[name][0], name), a, *args, **kwargs)
        if isinstance(ours, type) or ours[0] is not None:  # None: better composed
            assert_same(ours, outcome(getattr(np, name), a, *args, **kwargs))
            served += 1
    assert served


@pytest.mark.parametrize("kth", [0, 2, -1])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("what", MATRICES)
def test_partitions_are_numpys(what, axis, kth):
    a = MATRICES[what]
    ours = outcome(ranks.partition, a, kth, axis)
    if ours[0] is not None if isinstance(ours, tuple) else False:
        assert_same(ours, outcome(np.partition, a, kth, axis))


@pytest.mark.parametrize("name", ["unique_values", "unique_counts", "unique_inverse", "unique_all"])
@pytest.mark.parametrize("what", [name for name in ARRAYS if name != "lost lane"])
def test_distinct_values_are_those_of_the_plain_path(what, name):
    a = ARRAYS[what]
    ours, theirs = [
        [np.asarray(t) for t in (found if isinstance(found, tuple) else (found,))]
        for found in (getattr(ag, name)(ag.tensor(a)), plain(getattr(ag, name), ag.tensor(a)))
    ]
    for x, y in zip(ours, theirs, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("what", ARRAYS)
def test_sorted_values_are_numpys(what, stable):
    a = ARRAYS[what]
    for axis in range(-a.ndim, a.ndim):
        ours = np.asarray(ag.sort(ag.tensor(a), axis=axis, stable=stable))
        theirs = np.sort(a, axis, kind="stable" if stable else None)
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("what", ARRAYS)
def test_running_sums_and_products_are_numpys(what, name):
    a = ARRAYS[what]
    for axis in range(-a.ndim, a.ndim):
        ours = outcome(lambda axis=axis: np.asarray(getattr(np, name)(ag.tensor(a, requires_grad=True), axis).detach()))
        assert_same(ours, outcome(getattr(np, name), a, axis))


# -- gradients ---------------------------------------------------------------------------------------------------------


def gradients(call, arrays):
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    out = call(*leaves)
    out = out if isinstance(out, ag.Tensor) else out[0]
    out.backward(np.cos(1.0 + np.arange(out.size)).reshape(out.shape).astype(out.dtype.name))
    return [t.grad.numpy() for t in leaves]


def assert_alike(call, *arrays):
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = gradients(call, arrays), plain(gradients, call, arrays)
    for a, g, h in zip(arrays, ours, theirs, strict=True):
        assert g.dtype == h.dtype == a.dtype
        assert g.shape == a.shape
        single = a.dtype == np.float32
        np.testing.assert_allclose(g, h, rtol=2e-4 if single else 1e-11, atol=1e-5 if single else 1e-12)


def is_wrong(name, value=None, *rest):
    return type(value) is float and (value == 1.5 or (name == "gradient" and value == 0.0))


# Where the plain path divides by a product or differs in what overflows.
ROUGH = {"infinities", "great", "tiny", "infinite"}


def has_no_gradient(name, what, a, args, kwargs):
    if not a.size or what in ROUGH or kwargs.get("axis") == 5 or is_wrong(name, *args):
        return True
    if name in ("cov", "corrcoef"):
        return a.ndim != 2 or 1 in a.shape or np.isnan(a).any()
    return name == "gradient" and a.size < 2


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_plain_path(name):
    for what, a, args, kwargs in cases(name):
        if not has_no_gradient(name, what, a, args, kwargs):
            assert_alike(lambda t, args=args, kwargs=kwargs: getattr(np, name)(t, *args, **kwargs), a)


@pytest.mark.parametrize("what", [name for name in ARRAYS if ARRAYS[name].size])
def test_gradients_of_orders_are_those_of_the_plain_path(what):
    a = ARRAYS[what]
    for axis in range(-a.ndim, a.ndim):
        assert_alike(lambda t, axis=axis: ag.sort(t, axis=axis), a)
        if np.unique(a).size == a.size:  # equal elements have no order
            # Beyond the chosen one the order is the processor's: sorted, all orders are alike.
            assert_alike(lambda t, axis=axis: np.sort(np.partition(t, 0, axis), axis), a)
    if np.isnan(a).sum() < 2:
        for name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
            assert_alike(getattr(ag, name), a)


@pytest.mark.parametrize("kth", [0, 1, 150])
def test_a_partition_hands_each_element_the_gradient_of_its_place(kth):
    t = ag.tensor(normal(300), requires_grad=True)
    g = normal(300)
    found = np.partition(t, kth)
    found.backward(g)
    places = np.argsort(found.numpy())[np.argsort(np.argsort(t.numpy()))]
    np.testing.assert_array_equal(found.numpy()[places], t.numpy())
    np.testing.assert_array_equal(t.grad.numpy(), g[places])
    assert found.numpy()[kth] == np.sort(t.numpy())[kth]


@pytest.mark.parametrize("shape", [(7,), (3, 4)])
def test_equal_elements_share_a_partition_in_their_order(shape):
    a = np.zeros(shape)
    t = ag.tensor(a, requires_grad=True)
    g = normal(*shape)
    np.partition(t, 1).backward(g)
    np.testing.assert_array_equal(t.grad.numpy(), g)


# -- choices -----------------------------------------------------------------------------------------------------------

MASK = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]])
X, Y = normal(3, 4), normal(3, 4)
CHOICES = {
    "compress": [
        (lambda f, x: f(MASK[:, 0], x, 0), [X]),
        (lambda f, x: f(MASK[0], x, axis=-1), [X]),
        (lambda f, x: f(MASK[0], x), [X]),
        (lambda f, x: f([True, False], x, 0), [X]),
        (lambda f, x: f(MASK[0], x, 1), [X.T.copy().T]),
        (lambda f, x: f(np.zeros(3, bool), x, 0), [X]),
        (lambda f, x: f(MASK[0], x, 1), [normal(2, 4, 3).astype(np.float32)]),
    ],
    "extract": [
        (lambda f, x: f(MASK, x), [X]),
        (lambda f, x: f(~MASK, x), [X.astype(np.float32)]),
        (lambda f, x: f(MASK.reshape(-1), x), [X]),
        (lambda f, x: f(MASK.astype(int), x), [X]),
        (lambda f, x: f(np.zeros((3, 4), bool), x), [X]),
        (lambda f, x: f(MASK, x), [X.T.copy().T]),
    ],
    "select": [
        (lambda f, x, y: f([MASK, ~MASK], [x, y]), [X, Y]),
        (lambda f, x, y: f([MASK, MASK], [x, y], 0.1), [X.astype(np.float32), Y.astype(np.float32)]),
        (lambda f, x, y: f([~MASK, MASK[:1]], [x, y], 3), [X, Y]),
        (lambda f, x, y: f([MASK[0], MASK[1]], [x, y], np.nan), [X[0], Y[0]]),
    ],
    "choose": [
        (lambda f, x, y: f(MASK.astype(int), [x, y]), [X, Y]),
        (lambda f, x, y: f(MASK.astype(int), (x, y)), [X.astype(np.float32), Y.astype(np.float32)]),
        (lambda f, x, y: f(MASK[0].astype(int), [x, y]), [X, Y]),
        (lambda f, x, y: f(2 * MASK, [x, y, y]), [X, Y]),
    ],
}


def test_numbers_of_no_choice_are_refused_as_numpy_does():
    t = ag.tensor(X, requires_grad=True)
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        np.choose(np.full((3, 4), 2), [t, t])


# -- several arrays ----------------------------------------------------------------------------------------------------

KNOTS = np.sort(normal(6))
POINTS = np.concatenate([3.0 * normal(8), KNOTS[:3], KNOTS[-1:], [NAN]])
PAIRS = {
    "bincount": [
        (lambda f, w: f(np.array([0, 3, 3, 1]), w), [normal(4)]),
        (lambda f, w: f(np.array([0, 3, 3, 1]), w, minlength=7), [normal(4).astype(np.float32)]),
        (lambda f, w: f(np.array([2, 2], np.int32), w, 1), [normal(2)]),
        (lambda f, w: f(np.zeros(5, int), w), [normal(10)[::2]]),
    ],
    "interp": [
        (lambda f, x, k, v: f(x, k, v), [POINTS, KNOTS, normal(6)]),
        (lambda f, x, k, v: f(x, k, v), [POINTS.reshape(1, -1), KNOTS[:2], normal(2)]),
        (lambda f, x, k, v: f(x, k, v), [3.0 * normal(7)[::-1], KNOTS, np.repeat(normal(6), 2)[::2]]),
        (lambda f, x, k, v: f(x, k, v), [3.0 * normal(200), np.sort(normal(90)), normal(90)]),
        (lambda f, x, k, v: f(x, k, v), [np.sort(3.0 * normal(200)), np.sort(normal(90)), normal(90)]),
        (lambda f, x, k, v: f(x, k, v), [POINTS.astype("f4"), KNOTS.astype("f4"), normal(6).astype("f4")]),
    ],
    **{
        name: [
            (lambda f, x, y, mode=mode: f(x, y, mode), [normal(n).astype(dtype), normal(m).astype(dtype)])
            for mode in ("full", "same", "valid")
            for n, m in ((6, 3), (3, 6), (4, 5), (5, 4), (1, 1), (13, 20))
            for dtype in ("float64", "float32")
        ]
        + [(lambda f, x, y: f(x, y), [normal(12)[::2], normal(3)[::-1]])]
        for name in ("convolve", "correlate")
    },
}
COMPARED = [
    pytest.param(module, name, call, arrays, id=f"{name}-{i}")
    for module, functions in ((choices, CHOICES), (calculus, PAIRS))
    for name, cases in functions.items()
    for i, (call, arrays) in enumerate(cases)
]


@pytest.mark.parametrize(("module", "name", "call", "arrays"), COMPARED)
def test_functions_of_several_arrays_and_their_gradients_are_numpys(module, name, call, arrays):
    assert_same(outcome(call, getattr(module, name), *arrays), outcome(call, getattr(np, name), *arrays))
    assert_alike(lambda *leaves: call(getattr(np, name), *leaves), *arrays)


RISING = np.array([-1.0, 0.0, 0.0, 0.5, 2.0, 2.0, 2.0, 3.0])
INTERPOLATED = {
    "knots that repeat": (RISING, normal(8)),
    "knots that fall": (RISING[::-1], normal(8)),
    "knots in no order": (normal(8), normal(8)),
    "a knot that is nan": (changed(RISING, (3, NAN)), normal(8)),
    "infinite knots": (changed(RISING, (0, -INF), (-1, INF)), normal(8)),
    "infinite values": (RISING, changed(normal(8), (0, INF), (4, -INF))),
    "infinite neighbours": (RISING, np.repeat([1.0, INF, -INF, 2.0], 2)),
    "values that are nan": (RISING, changed(normal(8), (2, NAN), (7, NAN))),
    "zeros of both signs": (np.array([-1.0, -0.0, 0.0, 1.0]), np.array([-0.0, 0.0, -0.0, -0.0])),
    "one knot": (np.array([0.5]), np.array([2.0])),
    "values of another length": (RISING, normal(7)),
}


@pytest.mark.parametrize("case", INTERPOLATED)
def test_interpolation_between_unusual_knots_is_numpys(case):
    knots, values = INTERPOLATED[case]
    points = np.concatenate([2.0 * normal(70), RISING, [-INF, INF, NAN, -0.0, 0.0]])
    for x in (points, np.sort(points), points[::-1].reshape(1, -1), points[:1]):
        assert_same(outcome(calculus.interp, x, knots, values), outcome(np.interp, x, knots, values))


def test_a_point_that_is_nan_warns_of_nothing_in_its_gradient():
    points = np.full(70, NAN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = calculus.interp_gradients(np.ones(70), points, RISING[3:6:2], RISING[:2], to_values=True)
    np.testing.assert_array_equal(found, [0.0, 0.0])


def test_correlation_of_a_longer_second_vector_is_numpys_reversed_one():
    for n, m in ((3, 5), (2, 16), (12, 30)):
        a, v = normal(n), normal(m)
        for mode in ("full", "same", "valid"):
            assert_same(outcome(calculus.correlate, a, v, mode), outcome(np.correlate, a, v, mode))


@pytest.mark.parametrize(
    "vectors",
    [
        (normal(3), normal(2).astype("f4")),
        (normal(3), np.arange(2)),
        (normal(0), normal(2)),
        (normal(2, 2), normal(2)),
    ],
    ids=["dtypes", "integers", "empty", "matrix"],
)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_what_is_no_pair_of_vectors_of_one_dtype_is_convolved_by_numpy(name, vectors):
    assert_same(outcome(getattr(calculus, name), *vectors), outcome(getattr(np, name), *vectors))


GRIDS = [[normal(3)], [normal(3), normal(4)], [normal(2), normal(1), normal(3)], [normal(8)[::2], normal(3)[::-1]]]


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("vectors", GRIDS, ids=len)
def test_grids_are_numpys(vectors, dtype, indexing):
    vectors = [v.astype(dtype) for v in vectors]
    op = OPS["meshgrid"]
    found = try_call(op, (tuple(vectors), indexing))
    assert type(found) is tuple
    for got, expected in zip(found, np.meshgrid(*vectors, indexing=indexing), strict=True):
        assert (got.dtype, got.shape, got.strides) == (expected.dtype, expected.shape, expected.strides)
        np.testing.assert_array_equal(got, expected)
        assert got.flags.owndata
        assert got.flags.writeable


def test_grids_of_other_things_are_left_to_numpy():
    op = OPS["meshgrid"]
    for arrays, indexing in (((X,), "xy"), ((normal(0), normal(2)), "xy"), ((np.arange(3),), "ij"), ((X[0],), "yx")):
        assert try_call(op, (arrays, indexing)) is None


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_trapezoidal_rule_at_points_and_its_gradients_are_numpys(dtype):
    for y, x in ((normal(9), normal(9)), (normal(2), normal(2)), (normal(8)[::2], normal(4)[::-1])):
        y, x = y.astype(dtype), x.astype(dtype)
        assert_same(outcome(calculus.trapezoid_at, y, x), outcome(np.trapezoid, y, x))
        assert_alike(np.trapezoid, y, x)
    assert calculus.trapezoid_at(normal(3), normal(5)) is None
    assert calculus.trapezoid_at(normal(3), np.array([0, 1, 3], np.uint8)) is None


@pytest.mark.parametrize(
    ("numbers", "weights", "error"),
    [([0, -1], [1.0, 2.0], ValueError), ([0, 1], [1.0], ValueError), ([[0, 1]], [1.0, 2.0], ValueError)],
)
def test_wrong_numbers_of_bins_are_refused_as_numpy_does(numbers, weights, error):
    with pytest.raises(error):
        calculus.bincount(np.array(numbers), np.array(weights))
    with pytest.raises(error):
        np.bincount(np.array(numbers), ag.tensor(weights, requires_grad=True))


# -- what is compiled is used ------------------------------------------------------------------------------------------


def test_gradients_of_plain_arrays_are_compiled():
    a, g = X, normal(4)
    ans = np.median(a, 0)
    found = [
        ranks.quantile_gradient(g, a, ans, 0.5, 0),
        sorting.partition_gradient(a, a, np.partition(a, 1), -1),
        sorting.distinct_gradient(a.reshape(-1), a),
        gaps.nansum_gradient(g, a, 0),
        gaps.nanmean_gradient(g, a, 0),
        gaps.nanextremum_gradient(g, a, ans, 0),
        gaps.nanprod_gradient(g, a, 0),
        gaps.nanvar_gradient(g, a, 0, 1),
        gaps.nanstd_gradient(g, a, ans, 0, 1),
        gaps.nancumsum_gradient(a, a, 0),
        gaps.nancumprod_gradient(a, a, 0),
        choices.masked_gradient(a[:2], np.array([True, False, True]), (3, 4), 0),
        choices.select_gradient(a, [MASK, ~MASK]),
        choices.choose_gradient(a, MASK.astype(int), 2),
        calculus.gradient_gradient(g, 1.0),
        calculus.ediff1d_gradient(g, (5,)),
        calculus.trapezoid_gradient(g, (3, 4), 1.0, 0),
        calculus.interp_gradients(g, g, KNOTS, KNOTS, to_x=True),
        calculus.correlation_gradient(g, g[:2], 0, 3),
    ]
    assert not [i for i, one in enumerate(found) if one is None]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_angles_of_complex_numbers_are_numpys(dtype):
    special = np.array([complex(a, b) for a in (-INF, -1.0, -0.0, 0.0, 1.0, INF, NAN) for b in (-INF, -0.0, 0.0, NAN)])
    long = normal(70, 70) + 1j * normal(70, 70)
    for z in (special, special.reshape(4, 7), special.reshape(4, 7).T, special[::2], special[:1], special[:0], long):
        z = z.astype(dtype)
        found, expected = calculus.angle(z), np.angle(z)
        assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
        np.testing.assert_array_equal(found.view(f"i{found.itemsize}"), expected.view(f"i{found.itemsize}"))


@pytest.mark.parametrize("kth", [5, -6, 2**40])
def test_places_of_a_partition_out_of_bounds_are_refused_as_numpy_does(kth):
    with pytest.raises(ValueError, match="out of bounds"):
        np.partition(normal(5), kth)
    with pytest.raises(ValueError, match="out of bounds"):
        np.partition(ag.asarray(normal(5), requires_grad=True), kth)


def test_nothing_is_compiled_where_fast_paths_are_off():
    a, g = X, normal(4)
    calls = [
        lambda: ranks.quantile_gradient(g, a, g, 0.5, 0),
        lambda: sorting.partition_gradient(a, a, a, -1),
        lambda: ranks.partition(a, 1),
        lambda: sorting.distinct_gradient(a.reshape(-1), a),
        lambda: gaps.nansum_gradient(g, a, 0),
        lambda: choices.masked_gradient(a, MASK, (3, 4)),
        lambda: choices.select_gradient(a, [MASK, ~MASK]),
        lambda: choices.choose_gradient(a, MASK.astype(int), 2),
        lambda: calculus.gradient_gradient(g, 1.0),
        lambda: calculus.interp_gradients(g, g, KNOTS, KNOTS, to_x=True),
        lambda: calculus.correlation_gradient(g, g[:2], 0, 3),
        lambda: calculus.cov(a),
    ]
    assert plain(lambda: [call() for call in calls]) == [None] * len(calls)
