"""Integers, exponents, triangles and arrays without axes, which NumPy treats in its own way: values, dtypes, gradients.

Imports central_differences. The reference is NumPy's own call on plain arrays.
"""

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

SMALL = [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64]


def check(f, x, *, rtol=1e-6):
    """Value, dtype and gradient of a weighted sum, against NumPy's own call."""
    plain = np.asarray(f(x))
    found = f(ag.tensor(x, requires_grad=True))
    assert found.dtype == plain.dtype
    assert found.shape == plain.shape
    np.testing.assert_allclose(found.detach().numpy(), plain, rtol=1e-6 if plain.dtype.itemsize < 8 else 1e-13)
    weights = np.cos(np.arange(plain.size)).reshape(plain.shape)

    def total(y):
        return np.sum(np.real(f(y)) * weights)

    x = x.astype(np.float64)
    expected = central_differences(lambda flat: total(flat.reshape(x.shape)), x.ravel()).reshape(x.shape)
    np.testing.assert_allclose(ag.grad(total)(x), expected, rtol=rtol, atol=1e-7)


@pytest.mark.parametrize("dtype", SMALL, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_takes_places_of_any_integer_dtype(dtype, edge_order):
    places = np.array([100, 90, 120, 3, 7]).astype(dtype)  # NumPy makes them float64: their differences are negative
    check(lambda y: np.gradient(y, places, edge_order=edge_order), np.array([0.3, 1.2, -0.7, 0.4, 2.0]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.bool_], ids=lambda d: np.dtype(d).name)
def test_logaddexp2_of_float32_and_a_small_integer_is_float32(dtype):
    other = np.array([1, 0, 3]).astype(dtype)
    check(lambda y: np.logaddexp2(y, other), np.array([0.5, 1.5, -2.0], np.float32))
    check(lambda y: np.logaddexp2(other, y), np.array([0.5, 1.5, -2.0], np.float32))


@pytest.mark.parametrize(
    ("x", "exponent"),
    [
        (np.array([1e-300, 5e-324, -1.5]), np.array([1100, 2090, 3])),
        (np.array([1e300, -1.25, 3.0]), np.array([-1500, -1060, -1074])),
        (np.array([1e-30, 1e30, 1e-45], np.float32), np.array([150, -200, 270])),
        (np.array([1.5, 6e-8, 1000.0], np.float16), np.array([3, 30, -30])),
    ],
)
def test_ldexp_reaches_every_number_that_a_power_of_two_does_not(x, exponent):
    found = np.ldexp(ag.tensor(x, requires_grad=True), exponent)
    assert found.dtype == x.dtype
    assert found.detach().numpy().tolist() == np.ldexp(x, exponent).tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_frexp_of_subnormal_and_largest_numbers(dtype):
    limits = np.finfo(dtype)
    x = np.array([limits.smallest_subnormal, limits.max, limits.tiny, -0.75], dtype)
    mantissa, exponent = np.frexp(ag.tensor(x, requires_grad=True))
    expected = np.frexp(x)
    assert mantissa.detach().numpy().tolist() == expected[0].tolist()
    assert exponent.numpy().tolist() == expected[1].tolist()


def test_ldexp_has_the_power_of_two_as_its_derivative():
    assert ag.grad(lambda x: np.ldexp(x, -1060))(1.0) == 2.0**-1060
    assert ag.grad(lambda x: np.ldexp(x, 5) ** 2)(1.5) == 2 * 1.5 * 32.0**2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_vander_has_the_dtype_of_numpys(dtype):
    x = np.array([0.5, 1.5, -2.0], dtype)
    assert np.vander(ag.tensor(x, requires_grad=True), 3).dtype == np.vander(x, 3).dtype
    if dtype is np.float64:
        check(lambda y: np.vander(y, 4), x)


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("shape", [(1, 3), (2, 3)])
def test_float_power_of_float32_is_double_along_an_axis_of_any_length(method, shape):
    x = np.linspace(0.5, 1.5, 6, dtype=np.float32)[: np.prod(shape)].reshape(shape)
    check(lambda y: getattr(np.float_power, method)(y, axis=0), x, rtol=1e-5)


def test_pinv_and_rank_of_a_hermitian_matrix_read_the_real_part_of_its_diagonal():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))  # what is not read makes no difference
    t = ag.tensor(a, requires_grad=True)
    np.testing.assert_allclose(
        np.linalg.pinv(t, hermitian=True).detach().numpy(), np.linalg.pinv(a, hermitian=True), rtol=1e-10
    )

    def real_part(x):
        return np.sum(np.linalg.pinv(a + x.reshape(4, 4) * (1.0 + 2.0j), hermitian=True).real)

    x = np.zeros(16)
    np.testing.assert_allclose(ag.grad(real_part)(x), central_differences(real_part, x), rtol=1e-5, atol=1e-7)


ZERO_DIMENSIONAL = {
    "prod": lambda x, axis: np.prod(x, axis=axis),
    ".prod": lambda x, axis: x.prod(axis=axis),
    "nanprod": lambda x, axis: np.nanprod(x, axis=axis),
    "cumprod": lambda x, axis: np.cumprod(x, axis=axis),
    "cumulative_prod": lambda x, axis: np.cumulative_prod(x, axis=axis, include_initial=True),
    "cumsum": lambda x, axis: np.cumsum(x, axis=axis),
    "nancumprod": lambda x, axis: np.nancumprod(x, axis=axis),
    "take": lambda x, axis: np.take(x, [0, 0], axis=axis),
    "take of one": lambda x, axis: x.take(0, axis=axis),
    "compress": lambda x, axis: np.compress([True], x, axis=axis),
    "sum": lambda x, axis: np.sum(x, axis=axis),
    "max": lambda x, axis: np.max(x, axis=axis),
    "sort": lambda x, axis: np.sort(np.atleast_1d(x), axis=axis),
    "multiply.reduce": lambda x, axis: np.multiply.reduce(x, axis=axis),
    "fmax.reduce": lambda x, axis: np.fmax.reduce(x, axis=axis),
    "hypot.reduce": lambda x, axis: np.hypot.reduce(x, axis=axis),
}


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", ZERO_DIMENSIONAL)
def test_an_array_without_axes_has_the_first_and_the_last_one_where_numpy_says_so(name, axis):
    check(lambda x: ZERO_DIMENSIONAL[name](x, axis), np.array(2.0))


def test_take_along_another_axis_of_an_array_without_axes_is_refused():
    with pytest.raises(IndexError, match="axis 1 is out of bounds"):
        np.take(ag.tensor(2.0, requires_grad=True), 0, axis=1)


def test_where_takes_a_number_as_a_truth_value_which_has_no_slope():
    x = np.array([0.5, -1.0, 0.0, 2.0])
    t = ag.tensor(x, requires_grad=True)
    np.testing.assert_array_equal(np.where(t, t * 2.0, 1.0).detach().numpy(), np.where(x, x * 2.0, 1.0))
    assert ag.grad(lambda x: np.sum(np.where(x, x * x, 3.0)))(x).tolist() == [1.0, -2.0, 0.0, 4.0]
    assert ag.grad(lambda x: np.sum(np.where(x[0], x, 3.0)))(x).tolist() == [1.0] * 4


def test_diff_of_order_zero_is_the_array_whatever_is_put_before_it():
    x = np.array([0.5, -1.0, 2.0])
    assert ag.grad(lambda x: np.sum(np.diff(x, 0, prepend=None) ** 2))(x).tolist() == (2 * x).tolist()


@pytest.mark.parametrize("dtype", [int, np.int8, np.float32, np.float64, np.complex128, np.complex64])
def test_linspace_and_arange_have_the_dtype_that_is_asked_for(dtype):
    x = np.array(2.7)
    t = ag.tensor(x, requires_grad=True)
    found, expected = np.linspace(0.0, t, 4, dtype=dtype), np.linspace(0.0, x, 4, dtype=dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6)
    if np.dtype(dtype).kind != "c":
        found, expected = ag.numpy.arange(0.5, 9.0, t, dtype=dtype), np.arange(0.5, 9.0, x, dtype=dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6)
    if np.dtype(dtype).kind == "f":
        assert ag.grad(lambda x: np.sum(np.linspace(0.0, x, 4, dtype=dtype)))(2.7) == pytest.approx(2.0)
        assert ag.grad(lambda x: ag.numpy.sum(ag.numpy.arange(0.5, 9.0, x, dtype=dtype)))(2.7) == pytest.approx(6.0)


def test_linspace_between_integer_tensors_is_floating_point():
    assert ag.linspace(ag.asarray(0), ag.asarray(3), 5).numpy().tolist() == [0.0, 0.75, 1.5, 2.25, 3.0]


def test_nanmean_has_the_dtype_that_is_asked_for():
    x = np.array([0.5, np.nan, 1.5])
    found = np.nanmean(ag.tensor(x, requires_grad=True), dtype=np.float32)
    assert found.dtype == np.nanmean(x, dtype=np.float32).dtype
    assert found.item() == 1.0


BOUNDS = {
    "clip, least": lambda v, a: v.clip([a, 0.0, a], 2.0),
    "clip, both": lambda v, a: v.clip((a, a, 0.0), max=[1.0, a, 3.0 * a]),
    "clip, largest": lambda v, a: v.clip(None, [a, a, 9.0]),
    "numpy.clip": lambda v, a: np.clip(v, [a, 0.0, a], 2.0),
}


@pytest.mark.parametrize("f", BOUNDS.values(), ids=BOUNDS)
def test_bounds_in_a_list_have_a_gradient(f):
    v, weights = np.array([0.3, 1.7, 0.9]), np.array([1.0, 2.0, 4.0])
    a = np.array([1.1])
    expected = central_differences(lambda a: np.sum(f(v, a[0]) * weights), a)
    np.testing.assert_allclose(
        ag.grad(lambda a, v: np.sum(f(v, a[0]) * weights))(a, ag.asarray(v)), expected, rtol=1e-6
    )
    np.testing.assert_allclose(
        ag.grad(lambda v, a: np.sum(f(v, a[0]) * weights), argnums=(0, 1))(v, a)[1], expected, rtol=1e-6
    )


@pytest.mark.parametrize("end", [lambda e: (1.0, e), lambda e: e, lambda e: ((1.0, e),), lambda e: {0: (e, 1.0)}])
def test_end_values_of_a_ramp_refuse_a_tensor_in_a_container(end):
    with pytest.raises(TypeError, match="end_values= requires grad"):
        ag.grad(lambda v, e: np.sum(np.pad(v, 2, mode="linear_ramp", end_values=end(e))), argnums=(0, 1))(
            np.array([0.5, 1.5]), 0.7
        )


def test_density_of_a_histogram_is_differentiated_in_its_edges():
    v, edges = np.array([0.3, 1.7, 0.9, 2.2]), np.array([-1.0, 0.5, 1.5, 3.0])

    def f(edges):
        return np.sum(np.histogram(v, edges, density=True)[0] * np.array([1.0, 2.0, 5.0]))

    expected = central_differences(f, edges)
    np.testing.assert_allclose(ag.grad(f)(edges), expected, rtol=1e-6)
    both = ag.grad(lambda edges, v: np.sum(np.histogram(v, edges, density=True)[0] * np.array([1.0, 2.0, 5.0])))
    np.testing.assert_allclose(both(edges, ag.asarray(v)), expected, rtol=1e-6)


@pytest.mark.parametrize("bins", [lambda b: b, lambda b: [b, b]])
def test_edges_in_two_dimensions_have_a_gradient(bins):
    v, edges = np.array([0.3, 1.7, 0.9, 2.2]), np.array([-1.0, 0.5, 1.5, 3.0])

    def f(b, v):
        return np.sum(np.histogram2d(v, v, bins=bins(b), density=True)[0] * np.arange(9.0).reshape(3, 3))

    by_edges, by_data = ag.grad(f, argnums=(0, 1))(edges, v)
    np.testing.assert_allclose(by_edges, central_differences(lambda b: f(b, v), edges), rtol=1e-6)
    assert not by_data.any()


CUTS = {
    "pinv": lambda m: np.linalg.pinv(m, rcond=0.1),
    "pinv, rtol": lambda m: np.linalg.pinv(np.stack([m, m + 1.0]), rtol=np.array([0.1, 1e-9])),
    "lstsq": lambda m: np.linalg.lstsq(m, np.eye(3), rcond=0.1)[0],
}


@pytest.mark.parametrize("f", CUTS.values(), ids=CUTS)
def test_a_pseudo_inverse_that_leaves_out_what_is_not_zero_refuses_its_gradient(f):
    m = np.array([[1.0, 0.2, 0.3, 0.1], [0.3, 0.9, 0.2, 0.4], [1.3, 1.1, 0.5, 0.6]])  # the third row: nearly the sum
    assert 0.01 < np.linalg.svd(m)[1][2] < 0.1
    with pytest.raises(RuntimeError, match="leaves out singular values that are not zero"):
        ag.grad(lambda m: np.sum(f(m)))(m)

    def by_svd(m):
        u, s, vh = np.linalg.svd(m, full_matrices=False)
        return np.sum((vh[:2].T / s[:2] @ u[:, :2].T) * np.arange(12.0).reshape(4, 3))

    expected = central_differences(
        lambda x: np.sum(np.linalg.pinv(x.reshape(3, 4), rcond=0.1) * np.arange(12.0).reshape(4, 3)), m.ravel()
    )
    np.testing.assert_allclose(ag.grad(by_svd)(m).ravel(), expected, rtol=1e-5, atol=1e-7)


def test_a_pseudo_inverse_that_leaves_out_rounding_errors_has_its_gradient():
    a = np.array([[1.0, 0.2], [0.3, 0.9], [0.4, 0.5]])

    def f(a):
        return np.sum(np.linalg.pinv(a @ a.T, rcond=1e-6) * np.arange(9.0).reshape(3, 3))

    expected = central_differences(lambda x: f(x.reshape(3, 2)), a.ravel())
    np.testing.assert_allclose(ag.grad(f)(a).ravel(), expected, rtol=1e-5)


def test_an_insertion_of_several_values_at_one_place_has_the_gradients_of_both():
    def f(a, v):
        return np.sum(np.insert(a, 1, v) * np.arange(1.0, 6.0))

    for_a, for_v = ag.grad(f, argnums=(0, 1))(np.ones(3), np.ones(2))
    np.testing.assert_array_equal(for_a, [1.0, 4.0, 5.0])
    np.testing.assert_array_equal(for_v, [2.0, 3.0])


@pytest.mark.parametrize("both", [False, True])
def test_points_and_knots_of_complex_interpolation_have_the_slope_itself(both):
    values = np.array([1 + 2j, 3 - 1j, 0.5 + 0.5j])
    knots, x = np.array([0.0, 1.0, 2.0]), np.array([0.3, 1.6])
    weights = np.array([1.0, -2.0])

    def f(x, knots, part):
        return np.sum(part(np.interp(x, knots, values)) * weights)

    for part in (np.real, np.imag):
        if both:
            found = ag.grad(lambda x, k, part=part: f(x, k, part), argnums=(0, 1))(x, knots)
        else:
            found = [ag.grad(lambda x, part=part: f(x, knots, part))(x)]
        expected = [central_differences(lambda x, part=part: f(x, knots, part), x)]
        expected.append(central_differences(lambda k, part=part: f(x, k, part), knots))
        for one, other in zip(found, expected, strict=False):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fmod_by_an_infinite_number_is_the_dividend(dtype):
    x = ag.tensor(np.array([5.0, -3.0], dtype), requires_grad=True)
    for y in ([np.inf, -np.inf], np.array([np.inf, -np.inf])):
        found = np.fmod(x, y)
        np.testing.assert_array_equal(found.detach().array, [5.0, -3.0])
        np.testing.assert_array_equal(ag.autograd.grad(found.sum(), x)[0].array, [1.0, 1.0])


def test_least_squares_of_a_matrix_of_integers_have_gradient_and_hessian():
    A, y = np.array([[1, 0], [1, 1], [1, 2]]), np.array([1.0, 2.0, 4.0])

    def f(A):
        return lambda y: np.sum(np.linalg.lstsq(A, y)[0] ** 2)

    pseudo = np.linalg.pinv(A.astype(float))
    np.testing.assert_allclose(ag.grad(f(A))(y), 2 * pseudo.T @ pseudo @ y)
    np.testing.assert_allclose(ag.hessian(f(A))(y), 2 * pseudo.T @ pseudo, rtol=1e-6)
