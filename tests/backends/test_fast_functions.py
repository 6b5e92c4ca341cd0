"""Gradients of NumPy's functions of order, of choices, of sums without nan and of calculus, held to the plain path.

Compiled are those of backends/numpy/{ranks,gaps,calculus}.pyx.
"""

import warnings

import numpy as np
import pytest
from fast_path_cases import plain, quiet

import arraygrad as ag
from arraygrad.backends.numpy import calculus, gaps, ranks, sorting

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

# function: [(arguments behind the array, keywords)]
CALLS = {
    **{name: [((), options) for options in AXES] for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean")},
    **{
        name: [((), {**options, "ddof": ddof}) for options in AXES for ddof in (0, 1, 2.5, 9)]
        for name in ("nanvar", "nanstd")
    },
    **{name: [((), {}), ((), {"axis": 0}), ((), {"axis": -1})] for name in ("nancumsum", "nancumprod")},
    "nan_to_num": [((), {}), ((), {"nan": 1.5, "posinf": 2.0}), ((), {"neginf": -3})],
    **{name: [((), options) for options in AXES] for name in ("median", "nanmedian")},
    **dict.fromkeys(("quantile", "nanquantile"), QUANTILES),
    **dict.fromkeys(("percentile", "nanpercentile"), PERCENTILES),
    "ediff1d": [((), {})],
    "unwrap": [((), {})],
    "trapezoid": [((), {}), ((), {"dx": 0.3, "axis": 0}), ((), {"dx": 2, "axis": -1}), ((), {"axis": 5})],
    "gradient": [((), {}), ((0.5,), {}), ((2,), {"axis": 0}), ((0.0,), {})],
    "cov": [((), {}), ((), {"rowvar": False}), ((), {"bias": True}), ((), {"ddof": 0})],
    "corrcoef": [((), {}), ((), {"rowvar": False})],
}
VECTORS_ONLY = {"gradient"}


def cases(name):
    """(which array, array, arguments, keywords) of a function."""
    for args, kwargs in CALLS[name]:
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
    pytest.param(name, call, arrays, id=f"{name}-{i}")
    for functions in (CHOICES, PAIRS)
    for name, cases in functions.items()
    for i, (call, arrays) in enumerate(cases)
]


@pytest.mark.parametrize(("name", "call", "arrays"), COMPARED)
def test_gradients_of_several_arrays_are_those_of_the_plain_path(name, call, arrays):
    assert_alike(lambda *leaves: call(getattr(np, name), *leaves), *arrays)


RISING = np.array([-1.0, 0.0, 0.0, 0.5, 2.0, 2.0, 2.0, 3.0])


def test_a_point_that_is_nan_warns_of_nothing_in_its_gradient():
    points = np.full(70, NAN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = calculus.interp_gradients(np.ones(70), points, RISING[3:6:2], RISING[:2], to_values=True)
    np.testing.assert_array_equal(found, [0.0, 0.0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_the_trapezoidal_rule_at_points_are_those_of_the_plain_path(dtype):
    for y, x in ((normal(9), normal(9)), (normal(2), normal(2)), (normal(8)[::2], normal(4)[::-1])):
        y, x = y.astype(dtype), x.astype(dtype)
        assert_alike(np.trapezoid, y, x)


@pytest.mark.parametrize(
    ("numbers", "weights", "error"),
    [([0, -1], [1.0, 2.0], ValueError), ([0, 1], [1.0], ValueError), ([[0, 1]], [1.0, 2.0], ValueError)],
)
def test_wrong_numbers_of_bins_are_refused_as_numpy_does(numbers, weights, error):
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
        calculus.interp_gradients(g, g, KNOTS, KNOTS, to_x=True),
    ]
    assert not [i for i, one in enumerate(found) if one is None]


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
        lambda: sorting.distinct_gradient(a.reshape(-1), a),
        lambda: gaps.nansum_gradient(g, a, 0),
        lambda: calculus.interp_gradients(g, g, KNOTS, KNOTS, to_x=True),
    ]
    assert plain(lambda: [call() for call in calls]) == [None] * len(calls)
