"""Rare arguments of NumPy's functions on recorded Tensors: axes and kinds that are none, arrays without elements,
precisions that differ, beginnings of reductions. Values, dtypes and errors are NumPy's; gradients central differences.

Imports central_differences and the public names of arraygrad.
"""

import inspect
import warnings

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

M = np.array([[3.0, 1.0, 2.0], [0.5, -1.5, 4.0], [0.25, 2.5, 0.75]])
NAN = np.nan


def leaf(a):
    return ag.tensor(np.array(a), requires_grad=True)


def array_of(result):
    if isinstance(result, (list, tuple)):
        return [array_of(item) for item in result]
    return result.detach().numpy() if isinstance(result, ag.Tensor) else np.asarray(result)


def outcome(call, *args):
    """(type of the error or None, the values)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return None, array_of(call(*args))
        except Exception as error:
            return type(error), None


def check_same(found, expected, atol=0.0):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            check_same(a, b, atol)
        return
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if expected.dtype != np.float32 else 2e-6, atol=atol)


def check(call, *arrays, atol=0.0):
    """The same values, or the same type of error, as on plain arrays."""
    error, values = outcome(call, *arrays)
    found_error, found = outcome(call, *[leaf(a) for a in arrays])
    assert (found_error is None) == (error is None), (found_error, error)
    if error is not None:
        assert issubclass(found_error, error)
    else:
        check_same(found, values, atol)


TRIMS_AXES = "axis" in inspect.signature(np.trim_zeros).parameters
AXIS = {
    "sum": np.sum,
    "max": np.max,
    "median": np.median,
    "quantile": lambda a, axis: np.quantile(a, 0.3, axis=axis),
    "average": np.average,
    "size": lambda a, axis: np.asarray(np.size(a, axis)),
    "sort": np.sort,
    "argsort": np.argsort,
    "partition": lambda a, axis: np.partition(a, 1, axis=axis),
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "diff": lambda a, axis: np.diff(a, axis=axis),
    "gradient": lambda a, axis: np.gradient(a, axis=axis),
    "trapezoid": lambda a, axis: np.trapezoid(a, axis=axis),
    "unwrap": lambda a, axis: np.unwrap(a, axis=axis),
    "take": lambda a, axis: np.take(a, [0, 1], axis=axis),
    "delete": lambda a, axis: np.delete(a, 0, axis=axis),
    "insert": lambda a, axis: np.insert(a, 0, 1.0, axis=axis),
    "repeat": lambda a, axis: np.repeat(a, 2, axis=axis),
    "flip": np.flip,
    "roll": lambda a, axis: np.roll(a, 1, axis=axis),
    "rollaxis": np.rollaxis,
    "rollaxis, start": lambda a, axis: np.rollaxis(a, 1, axis),
    "expand_dims": np.expand_dims,
    "squeeze": np.squeeze,
    "swapaxes": lambda a, axis: np.swapaxes(a, 0, axis),
    "moveaxis": lambda a, axis: np.moveaxis(a, 0, axis),
    "diagonal": lambda a, axis: np.diagonal(a, 0, axis, 0),
    "trace": lambda a, axis: np.trace(a, 0, axis, 0),
    "array_split": lambda a, axis: np.array_split(a, 2, axis),
    "split": lambda a, axis: np.split(a, 3, axis),
    **({"trim_zeros": lambda a, axis: np.trim_zeros(a, axis=axis)} if TRIMS_AXES else {}),
    "norm": lambda a, axis: np.linalg.norm(a, axis=axis),
    "norm of order 1": lambda a, axis: np.linalg.norm(a, 1, axis),
    "apply_along_axis": lambda a, axis: np.apply_along_axis(np.sum, axis, a),
    "apply_over_axes": lambda a, axis: np.apply_over_axes(np.sum, a, axis),
    "concatenate": lambda a, axis: np.concatenate([a, a], axis),
    "stack": lambda a, axis: np.stack([a, a], axis),
    "fft": lambda a, axis: np.fft.fft(a, axis=axis),
    "hypot.reduce": np.hypot.reduce,
    "maximum.accumulate": np.maximum.accumulate,
    "ag.norm": lambda a, axis: (ag.norm if isinstance(a, ag.Tensor) else np.linalg.norm)(a, axis=axis),
}


@pytest.mark.parametrize("axis", [1, -1, 2, 3, 5, -3, -4, -7])
@pytest.mark.parametrize("name", AXIS)
def test_an_axis_out_of_bounds_is_refused_as_numpy_does(name, axis):
    check(lambda a: AXIS[name](a, axis), M)


@pytest.mark.parametrize("axis", [(0, 1), (0, 0), (0, 5), (-3, 1), (1.5,)])
@pytest.mark.parametrize("name", ["sum", "median", "expand_dims", "gradient", "norm", "cumsum", "trapezoid"])
def test_several_axes_are_those_of_numpy_or_its_error(name, axis):
    if name in ("cumsum", "trapezoid"):  # NumPy's error is one of several
        with pytest.raises(TypeError):
            AXIS[name](leaf(M), axis)
        return
    check(lambda a: AXIS[name](a, axis), M)


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (0, 0), (0, 5), (0, -2), (0,), (-1, 0)])
def test_axes_of_a_rotation_are_checked_as_numpy_does(axes):
    check(lambda a: np.rot90(a, 1, axes), M)


@pytest.mark.parametrize("axes", [1.5, 1, np.int64(1), 2, 3, ((0,), (1,)), (0, 1), [[0], [1]]], ids=str)
def test_axes_of_a_tensor_product_are_checked_as_numpy_does(axes):
    check(lambda a: np.tensordot(a, a, axes), M)
    error, _ = outcome(lambda a: np.tensordot(a, a, axes), M)
    assert outcome(lambda t: ag.tensordot(t, t, axes=axes), leaf(M))[0] is error


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.sort(a, kind="nonsense"),
        lambda a: np.sort(a, kind="stable", stable=True),
        lambda a: np.argsort(a, kind="nonsense"),
        lambda a: a.argsort(kind="nonsense"),
        lambda a: np.sort(a, kind="mergesort"),
    ],
    ids=["sort", "two ways", "argsort", "method", "mergesort"],
)
def test_kinds_of_sorting_that_are_none_are_refused_as_numpy_does(call):
    check(call, M)


WEIGHTS = {
    "negative": {"aweights": [-1.0, 1.0, 1.0]},
    "matrix": {"aweights": [[1.0, 1.0, 1.0]]},
    "too few": {"aweights": [1.0, 1.0]},
    "negative counts": {"fweights": [-1, 1, 1]},
    "fractions": {"fweights": [1.5, 1, 1]},
    "counts, matrix": {"fweights": [[1, 1, 1]]},
    "too few counts": {"fweights": [1, 1]},
    "right": {"aweights": [0.5, 1.0, 1.0], "fweights": [1, 2, 1]},
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_of_a_covariance_are_checked_as_numpy_does(name):
    check(lambda a: np.cov(a, **WEIGHTS[name]), M)


@pytest.mark.parametrize("name", ["fabs", "deg2rad", "radians", "rad2deg", "degrees", "floor", "cbrt", "hypot"])
def test_complex_numbers_are_refused_where_numpy_refuses_them(name):
    ufunc = getattr(np, name)
    check(lambda a: ufunc(*[a] * ufunc.nin), M + 1j)


def test_exponents_that_are_no_integers_are_refused_as_numpy_does():
    check(lambda a: np.ldexp(a, a), M)
    check(lambda a: np.ldexp(a, [1, 2, 3]), M)


# Arrays without elements

EMPTY = {
    **{name: getattr(np, name) for name in "sum prod max min mean median ptp nansum nanmax nanmean average".split()},
    "max from": lambda a, axis: np.max(a, axis=axis, initial=2.0),
    "min from": lambda a, axis: np.min(a, axis=axis, initial=-0.0),
    "max from, kept": lambda a, axis: np.max(a, axis=axis, initial=2.0, keepdims=True),
    "nanmin from": lambda a, axis: np.nanmin(a, axis=axis, initial=2.0),
    "quantile": lambda a, axis: np.quantile(a, 0.3, axis=axis),
    "quantiles": lambda a, axis: np.quantile(a, [0.3, 0.5], axis=axis),
    "percentile": lambda a, axis: np.percentile(a, [30.0], axis=axis, keepdims=True),
    "nanquantile": lambda a, axis: np.nanquantile(a, [0.3, 0.5], axis=axis),
    "maximum.reduce": lambda a, axis: np.maximum.reduce(a, axis=axis, initial=1.5),
    "subtract.reduce": lambda a, axis: np.subtract.reduce(a, axis=axis, initial=1.5),
    "hypot.reduce": lambda a, axis: np.hypot.reduce(a, axis=axis),
    "fmax.reduce": lambda a, axis: np.fmax.reduce(a, axis=axis),
    "maximum.accumulate": lambda a, axis: np.maximum.accumulate(a, axis=axis),
    "subtract.accumulate": lambda a, axis: np.subtract.accumulate(a, axis=axis),
    "float_power.accumulate": lambda a, axis: np.float_power.accumulate(a, axis=axis),
    "take": lambda a, axis: np.take(a, [], axis=axis),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("name", EMPTY)
def test_arrays_without_elements_give_what_numpy_gives(name, shape, dtype):
    for axis in (None, 0, -1, 1) if "accumulate" not in name else (0, -1, 1):
        check(lambda a, axis=axis: EMPTY[name](a, axis), np.zeros(shape, dtype))


def test_an_empty_choice_of_places_takes_nothing():
    check(lambda a: np.take(a, []), M)
    t = leaf(M)
    np.take(t, []).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.zeros((3, 3)))


def test_what_a_reduction_of_nothing_begins_with_gets_the_gradient():
    for reduce in (np.max, np.maximum.reduce, np.nanmin, np.subtract.reduce):
        t = leaf(2.0)
        (3.0 * reduce(leaf(np.zeros(0)), initial=t)).backward()
        assert t.grad.item() == 3.0


# Precisions

V32 = np.array([0.3, 0.2, 0.9, 0.1], np.float32)


@pytest.mark.parametrize("mode", ["full", "same", "valid", 0, 1, 2, 3])
def test_modes_of_a_convolution_of_two_precisions_are_numpys(mode):
    for kernel in (np.array([1.0, 2.0]), np.array([1.0, 2.0], np.float32), np.arange(1.0, 7.0)):
        for function in (np.convolve, np.correlate):
            check(lambda a, f=function, k=kernel: f(a, k, mode), V32)
            check(lambda a, f=function, k=kernel: f(k, a, mode), V32)


FRACTIONS = [0.3, 1, np.float64(0.3), np.float32(0.3), np.array(0.3), [0.3, 0.9], np.array([0.3], np.float32)]


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_quantiles_have_the_precision_of_numpys(name):
    function = getattr(np, name)
    single = M.astype(np.float32) / np.float32(3.0)
    for q in FRACTIONS:
        for keywords in ({}, {"axis": 0}, {"axis": (0, 1)}, {"axis": 1, "keepdims": True}, {"method": "hazen"}):
            check(lambda a, q=q, k=keywords: function(a, q, **k), single, atol=1e-7)


def test_a_quantile_in_double_precision_sends_single_precision_back():
    t = leaf(M.astype(np.float32))
    found = np.quantile(t, np.float64(0.3))
    found.backward()
    assert found.dtype == np.float64
    assert t.grad.dtype == np.float32
    plain = leaf(M)
    np.quantile(plain, 0.3).backward()
    np.testing.assert_allclose(t.grad.numpy(), plain.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["linspace", "geomspace", "logspace"])
def test_numbers_between_two_have_the_precision_of_numpys(name, dtype):
    function = getattr(np, name)
    for stop in (5, 5.0, np.float32(5), np.float64(5), np.array(5.0, np.float32), np.array([5.0, 6.0])):
        for keywords in ({"num": 4}, {"num": 4, "endpoint": False}, {"num": 1}, {"num": 0}):
            check(lambda t, s=stop, k=keywords: function(t, s, **k), np.array(2.0, dtype))
            check(lambda t, s=stop, k=keywords: function(s, t, **k), np.array(2.0, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_between_numbers_have_the_precision_of_numpys(dtype):
    for stop in (5, np.float64(5), np.array(5.0, np.float32), np.array([5.0, 6.0])):
        for num in (1, 4):
            check(lambda t, s=stop, n=num: np.linspace(t, s, n, retstep=True), np.array(2.0, dtype))


def test_a_geometric_sequence_with_zero_is_refused_as_numpy_does():
    check(lambda t: np.geomspace(t, 5.0, 4), np.array(0.0))


# Pseudo-inverses

NEARLY_SINGULAR = [
    np.diag([1.0, 1e-13, 3e-15]),
    np.diag([1.0, 4e-16, 1e-18]),
    np.diag([1.0, 1e-6, 1e-8]).astype(np.float32),
]


@pytest.mark.parametrize("keywords", [{}, {"rcond": None}, {"rtol": None}, {"rtol": 1e-3}, {"rcond": 1e-3}])
@pytest.mark.parametrize("a", NEARLY_SINGULAR, ids=["small", "tiny", "single"])
def test_small_singular_values_are_left_out_as_numpy_does(a, keywords):
    check(lambda t: np.linalg.pinv(t, **keywords), a)
    check(lambda t: np.linalg.pinv(t, hermitian=True, **keywords), a)


def test_two_limits_of_singular_values_are_refused_as_numpy_does():
    check(lambda t: np.linalg.pinv(t, 1e-3, rtol=1e-3), M)


@pytest.mark.parametrize("a", NEARLY_SINGULAR, ids=["small", "tiny", "single"])
def test_the_standards_pseudo_inverse_leaves_out_what_is_below_its_own_limit(a):
    expected = np.linalg.pinv(a, rtol=3 * np.finfo(a.dtype).eps)
    np.testing.assert_allclose(ag.numpy.linalg.pinv(leaf(a)).detach().numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(ag.linalg.pinv(leaf(a)).detach().numpy(), expected, rtol=1e-6)


# Reductions that begin with a value


@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
@pytest.mark.parametrize("a", [[NAN, NAN], [[NAN, 1.0], [NAN, 2.0]], [[NAN, NAN], [1.0, 3.0]]], ids=str)
def test_extrema_of_nan_alone_are_what_they_begin_with(name, a):
    for axis in (None, 0, -1):
        check(lambda t, axis=axis: getattr(np, name)(t, axis=axis, initial=1.5), np.array(a))
        check(lambda t, axis=axis: getattr(np, name)(t, axis=axis, initial=1.5, where=[True, False]), np.array(a))


IN_ORDER = ["subtract", "divide", "float_power", "floor_divide", "remainder", "fmod", "copysign"]


@pytest.mark.parametrize("name", [*IN_ORDER, "hypot", "fmax", "fmin", "logaddexp2", "maximum", "add"])
def test_reductions_of_ufuncs_begin_as_numpys_do(name):
    ufunc = getattr(np, name)
    for axis in (0, -1, None):
        for keywords in ({}, {"initial": 2.5}, {"initial": 2.5, "keepdims": True}):
            check(lambda t, axis=axis, k=keywords: ufunc.reduce(t, axis=axis, **k), np.abs(M))
            check(lambda t, axis=axis, k=keywords: ufunc.reduce(t, axis=axis, **k), np.abs(M[0]))


@pytest.mark.parametrize("name", ["subtract", "divide", "float_power", "hypot"])
def test_elements_that_a_reduction_leaves_out_change_nothing(name):
    ufunc = getattr(np, name)
    check(lambda t: ufunc.reduce(t, axis=-1, initial=2.5, where=[True, False, True]), np.abs(M))


def test_elements_can_be_left_out_of_no_other_reduction_in_order():
    with pytest.raises(TypeError, match=r"numpy\.remainder\.reduce: where= is not supported"):
        np.remainder.reduce(leaf(M), axis=-1, initial=2.5, where=[True, False, True])


@pytest.mark.parametrize("name", ["subtract", "divide", "hypot", "float_power"])
def test_a_reduction_in_order_has_its_gradients(name):
    ufunc = getattr(np, name)

    def loss(x):
        return np.sum(ufunc.reduce(x[1:].reshape(3, 3), axis=1, initial=x[0]) * np.arange(1.0, 4.0))

    x = np.concatenate([[2.5], np.abs(M).ravel()])
    t = leaf(x)
    loss(t).backward()
    np.testing.assert_allclose(t.grad.numpy(), central_differences(loss_of_plain(ufunc), x), rtol=1e-6, atol=1e-8)


def loss_of_plain(ufunc):
    def loss(x):
        first = np.full((3, 1), x[0])
        return np.sum(ufunc.reduce(np.concatenate([first, x[1:].reshape(3, 3)], 1), axis=1) * np.arange(1.0, 4.0))

    return loss


@pytest.mark.parametrize("name", ["sum", "prod", "max", "nansum", "nanmin"])
def test_a_tensor_that_a_sum_of_plain_numbers_begins_with_is_warned_about(name):
    # NumPy asks no protocol of `initial`: it takes the number, which the policy for numbers says.
    with pytest.warns(UserWarning, match="becomes a Python number by float"):
        found = getattr(np, name)(V32, initial=leaf(2.0))
    assert found == getattr(np, name)(V32, initial=2.0)


@pytest.mark.parametrize("values", [lambda t: t, lambda t: (t, 0.0)], ids=["one", "two"])
def test_a_tensor_as_the_border_of_a_plain_array_is_refused_and_of_a_tensor_recorded(values):
    t = leaf(2.0)
    with pytest.raises(TypeError, match="requires grad"):
        np.pad(V32, 1, constant_values=values(t))
    found = np.pad(leaf(V32.astype(float)), 1, constant_values=values(t))
    np.testing.assert_array_equal(found.detach().numpy(), np.pad(V32.astype(float), 1, constant_values=values(2.0)))
    found.sum().backward()
    assert t.grad.item() == (1.0 if isinstance(values(t), tuple) else 2.0)


# Zeros, nan, high orders


@pytest.mark.parametrize("a", [[-0.0], [-0.0, -0.0], [-0.0] * 3, [-0.0] * 70, [-5e-324, -0.0]], ids=len)
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_negative_zeros_have_numpys_sign(name, a):
    function = getattr(np, name)
    for call in (function, lambda t: function(t, keepdims=True), lambda t: function(t.reshape(1, -1), axis=-1)):
        expected = np.asarray(call(np.array(a)))
        found = call(leaf(a)).detach().numpy()
        assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("a", [[NAN, 1.0, NAN], [NAN, 1.0, NAN, 1.0, NAN], [[NAN, 1.0], [1.0, NAN]]], ids=str)
def test_several_nan_are_one_distinct_value_as_numpy_has_it(a):
    check(np.unique, np.array(a))
    check(lambda t: np.unique(t, equal_nan=False), np.array(a))
    t = leaf(a)
    np.unique(t).backward(np.array([1.0, 10.0]))
    expected = np.zeros(np.size(a))
    expected[np.ravel(a).tolist().index(1.0)] = 1.0
    expected[np.flatnonzero(np.isnan(np.ravel(a)))[0]] = 10.0
    np.testing.assert_array_equal(t.grad.numpy().ravel(), expected)


@pytest.mark.parametrize("order", [2, 170, 171, 179, 180])
@pytest.mark.filterwarnings("ignore:overflow")
def test_derivatives_of_high_order_have_their_gradient(order):
    p = 1e-300 * np.cos(np.arange(182.0))
    t = leaf(p)
    found = np.polyder(t, order)
    np.testing.assert_array_equal(found.detach().numpy(), np.polyder(p, order))
    found.backward(np.ones(found.shape))
    # Of a power of x one element comes out; beyond 170! it is infinite. What falls away has no gradient.
    expected = [np.polyder(np.eye(182)[i], order).sum() for i in range(182)]
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("places", [[3, -1], [0, 9], [0, -9], [], [[0, 1]], [0.5, 1.0], [True, False]], ids=str)
@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.hypot], ids=lambda ufunc: ufunc.__name__)
def test_places_of_segments_are_checked_as_numpy_does(ufunc, places):
    indices = np.array(places, int) if not places else places
    check(lambda t: ufunc.reduceat(t, indices), np.arange(6.0))
    check(lambda t: ufunc.reduceat(t, indices, axis=1), np.ones((2, 6)))
    check(lambda t: ufunc.reduceat(t, np.array(indices)), np.arange(6.0))


@pytest.mark.parametrize(
    "options", [{"left": 0.0}, {"right": -1.0}, {"left": 1.0, "right": 2.0}, {"period": 5.0}], ids=str
)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 7.0])
def test_interpolation_with_ends_knows_what_is_beside_special_values(special, options):
    points, heights = np.array([-1.0, 0.0, 1.0, 1.5, 2.0, 2.5, 9.0, np.nan]), np.array([-3.0, special, 2.0, 5.0])
    check(lambda f: np.interp(points, np.arange(4.0), f, **options), heights)
    check(lambda x: np.interp(x, np.arange(4.0), heights, **options), points)


def test_interpolation_with_ends_has_its_gradients():
    x, knots, heights = np.array([-0.4, 0.3, 1.7, 3.4]), np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, -2.0, 0.5, 4.0])
    for options in ({"left": 0.5}, {"left": 1.0, "right": 2.0}, {"period": 3.5}):

        def total(x, knots, heights, options=options):
            return np.sum(np.cos(np.interp(x, knots, heights, **options)))

        leaves = [leaf(a) for a in (x, knots, heights)]
        total(*leaves).backward()
        for k, t in enumerate(leaves):
            arrays = [x, knots, heights]

            def moved(a, arrays=arrays, k=k, total=total):
                return total(*[a if i == k else b for i, b in enumerate(arrays)])

            expected = central_differences(moved, arrays[k])
            np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-6, atol=1e-8)


def test_complex_ends_of_a_real_interpolation_are_numpys_error():
    check(lambda f: np.interp([0.5, 9.0], [0.0, 1.0, 2.0], f, right=2j), np.array([3.0, 1.0, 2.0]))


def test_a_correlation_with_a_number_is_numpys_error():
    check(lambda t: np.correlate(t, 2.0), np.arange(3.0))


def test_a_norm_may_be_called_f():
    t = leaf(M)
    np.linalg.norm(t, "f").backward()
    np.testing.assert_allclose(t.grad.numpy(), M / np.linalg.norm(M), rtol=1e-14)
