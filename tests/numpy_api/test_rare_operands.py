"""Stands for the class: operands away from those that a function is made for.

Arrays without axes beside stacks, infinities and nan, long double, complex numbers in an order of NumPy's own, fits
that leave rounding errors alone, lengths of -1. References: NumPy's plain call, and central differences of it.
Imports of arraygrad: the public face only.
"""

import itertools
import warnings

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

SHAPES = ((), (3,), (2, 3), (2, 3, 2), (1, 2, 2, 1))
LONG = pytest.mark.skipif(np.dtype("g") == np.dtype(float), reason="long double is double here")


def tensor(a):
    return ag.tensor(np.asarray(a), requires_grad=True)


def quiet(function, *arrays):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*arrays)


def is_plain(found, expected):
    found, expected = np.asarray(ag.asarray(found).numpy()), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


# -- products with a number --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("spelling", [np.dot, lambda a, b: a.dot(b)])
def test_a_product_with_an_array_without_axes_is_elementwise(shape, swapped, spelling):
    a = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)
    pair = (a, np.array(1.5)) if swapped else (np.array(1.5), a)
    tensors = [tensor(x) for x in pair]
    found = spelling(*tensors)
    is_plain(found, np.dot(*pair))
    found.sum().backward()
    np.testing.assert_allclose(tensors[0].grad.numpy(), pair[1] if pair[0].ndim else np.sum(pair[1]))
    np.testing.assert_allclose(tensors[1].grad.numpy(), pair[0] if pair[1].ndim else np.sum(pair[0]))


# -- infinities and nan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", pytest.param("g", marks=LONG), "c8", "c16", pytest.param("G", marks=LONG)]
)
@pytest.mark.parametrize("options", [{}, {"nan": 2.0}, {"posinf": 3.0}, {"neginf": -4.0}])
def test_infinities_become_the_largest_numbers_of_their_precision(dtype, options):
    x = np.array([1.0, np.inf, -np.inf, np.nan]).astype(dtype)
    is_plain(np.nan_to_num(tensor(x), **options), np.nan_to_num(x, **options))


ENDS = (1.0, 8.0, np.inf, np.nan)


@pytest.mark.parametrize(("start", "stop"), list(itertools.product(ENDS, repeat=2)))
@pytest.mark.parametrize(("num", "endpoint"), [(0, True), (1, True), (1, False), (2, True), (4, True), (3, False)])
def test_the_ends_of_a_geometric_sequence_stand_whatever_lies_between(start, stop, num, endpoint):
    plain = quiet(np.geomspace, start, stop, num, endpoint)
    is_plain(quiet(np.geomspace, tensor(start), tensor(stop), num, endpoint), plain)


def test_the_ends_of_a_geometric_sequence_have_their_derivatives():
    f = lambda x: np.sum(np.geomspace(x[:2], x[2:], 4) * np.arange(8.0).reshape(4, 2))
    x = np.array([0.5, 2.0, 3.0, 1.5])
    np.testing.assert_allclose(ag.grad(f)(x), central_differences(f, x), rtol=1e-7)


SETS = ([], [np.nan], [3.0, np.nan, -1.0], [np.nan, np.nan, 3.0], [1.0, 1.0, 2.0])


@pytest.mark.parametrize(("first", "second"), list(itertools.product(SETS, repeat=2)))
@pytest.mark.parametrize("assume", [False, True])
def test_nan_is_apart_from_nan_in_a_symmetric_difference(first, second, assume):
    plain = np.setxor1d(np.array(first), np.array(second), assume)
    is_plain(np.setxor1d(tensor(np.array(first)), tensor(np.array(second)), assume), plain)


OF_SINGULAR_VALUES = {
    "svdvals": np.linalg.svdvals,
    "svd": lambda x: np.linalg.svd(x, compute_uv=False),
    "cond": np.linalg.cond,
    "cond -2": lambda x: np.linalg.cond(x, -2),
    "nuclear": lambda x: np.linalg.norm(x, "nuc"),
    "largest": lambda x: np.linalg.norm(x, 2),
    "smallest": lambda x: np.linalg.norm(x, -2),
    "matrix_norm": lambda x: np.linalg.matrix_norm(x, ord="nuc"),
    "det": lambda x: np.linalg.det(x[:, :3]),
}
MATRIX = np.array([[-1.2, -0.9, 2.8, 0.4, -0.7], [1.0, -0.3, 1.2, 0.9, 1.5], [-0.7, -0.3, 0.5, 1.2, 0.4]])


@pytest.mark.parametrize("name", OF_SINGULAR_VALUES)
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 3, 7, 14])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_a_matrix_that_is_not_finite_has_a_gradient_where_it_has_singular_values(name, bad, place, dtype):
    """LAPACK does not return from the vectors of some of them. Their gradient is nan."""
    x = MATRIX.astype(dtype)
    x.reshape(-1)[place] = bad
    try:
        quiet(OF_SINGULAR_VALUES[name], x)
    except np.linalg.LinAlgError:
        return
    t = tensor(x)
    found = quiet(OF_SINGULAR_VALUES[name], t)
    quiet(lambda: ag.real(found).sum().backward())
    if name != "det":
        assert np.isnan(t.grad.numpy()).all()


# -- precision and order -----------------------------------------------------------------------------------------------


@LONG
def test_the_bessel_function_of_long_double_is_numpys():
    x = np.array([0.0, 0.5, -2.0, 9.0], "g")
    t = tensor(x)
    found = np.i0(t)
    is_plain(found, np.i0(x))
    found.sum().backward()
    np.testing.assert_allclose(t.grad.numpy().astype(float), central_differences(
        lambda v: np.sum(np.i0(v)), x.astype(float)), rtol=1e-6, atol=1e-6)  # fmt: skip


@pytest.mark.parametrize("function", [np.unique_values, lambda x: np.unique(x, sorted=False)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
@pytest.mark.parametrize("seed", range(4))
def test_distinct_numbers_come_in_the_order_of_the_plain_call(function, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=9).astype(dtype)
    x = (x + 1j * rng.normal(size=9)).astype(dtype) if x.dtype.kind == "c" else x
    x[3] = x[7]
    t = tensor(x)
    found = function(t)
    is_plain(found, function(x))
    weights = np.arange(1.0, found.shape[0] + 1)
    (ag.real(found) * weights).sum().backward()
    expected = np.array([weights[np.flatnonzero(function(x) == v)[0]] for v in x])
    expected[7] = 0.0  # the first of equal numbers has the gradient
    np.testing.assert_allclose(t.grad.numpy().real, expected)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(["f4", "f8", "c8", "c16"], repeat=2)))
@pytest.mark.parametrize("lengths", [(2, 4), (4, 2), (3, 3)])
def test_quotient_and_remainder_have_the_dtypes_of_the_plain_call(first, second, lengths):
    u, v = np.linspace(1.0, 2.0, lengths[0]).astype(first), np.linspace(3.0, 1.0, lengths[1]).astype(second)
    for found, expected in zip(np.polydiv(tensor(u), tensor(v)), np.polydiv(u, v), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


# -- what rounding leaves ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e6])
@pytest.mark.parametrize("rows", [4, 7, 12])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_an_exact_fit_is_recorded_though_its_residuals_are_rounding_errors(scale, rows, columns):
    a = np.vander(np.linspace(-1.0, 1.0, rows), columns)
    truth = np.linspace(0.7, 1.9, columns)

    def fit(b):
        return np.linalg.lstsq(a, b)

    b = scale * (a @ truth)
    t = tensor(b)
    solution, residuals, _, _ = fit(t)
    np.testing.assert_allclose(residuals.numpy(), fit(b)[1], atol=1e-28 * scale**2)
    solution.sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), central_differences(
        lambda v: np.sum(fit(v)[0]), b, 1e-4 * scale), rtol=1e-6, atol=1e-8)  # fmt: skip


@pytest.mark.parametrize("divisor", [[0.338], [0.1, 0.7], [0.3, -1.1, 0.9]])
@pytest.mark.parametrize("quotient", [[1.1], [0.7, 0.1], [1.3, 0.2, -0.9], [0.1] * 6])
def test_a_division_that_comes_out_is_recorded(divisor, quotient):
    u = np.polymul(divisor, quotient)
    t = tensor(u)
    found, rest = np.polydiv(t, divisor)
    is_plain(found, np.polydiv(u, divisor)[0])
    assert rest.shape == np.polydiv(u, divisor)[1].shape
    found.sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), central_differences(
        lambda v: np.sum(np.polydiv(v, divisor)[0]), u), rtol=1e-6, atol=1e-6)  # fmt: skip


# -- lengths of -1 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
@pytest.mark.parametrize("s", [(-1, -1), (2, -1), (-1, 3), (5, -1), (-1, 7)])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-2, -1)])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_a_length_of_minus_one_is_that_of_the_axis(name, s, axes, norm):
    x = np.linspace(0.2, 2.1, 12).reshape(3, 4) ** 2
    function = getattr(np.fft, name)
    weights = np.cos(np.arange(99.0))

    def f(v):
        found = function(np.reshape(v, (3, 4)), s=s, axes=axes, norm=norm)
        flat = np.reshape(found, -1)
        return np.sum(np.real(flat) * weights[: flat.shape[0]] + np.imag(flat) * weights[-flat.shape[0] :])

    np.testing.assert_allclose(ag.grad(f)(x.ravel()), central_differences(f, x.ravel()), rtol=1e-6, atol=1e-6)


# -- what has no derivative --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("mode", ["reduced", "r", "complete"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3), (4, 4)])
def test_a_singular_matrix_of_a_stack_has_nan_and_the_others_their_gradients(dtype, mode, shape):
    good = (np.eye(*shape) + 0.3 * np.cos(np.arange(float(np.prod(shape))).reshape(shape))).astype(dtype)

    def gradient(x):
        t = tensor(x)
        parts = quiet(np.linalg.qr, t, mode)
        for_r = parts[1] if isinstance(parts, tuple) else parts
        quiet(lambda: ag.real(for_r * for_r).sum().backward())
        return t.grad.numpy()

    found = gradient(np.stack([good, np.zeros_like(good)]))
    np.testing.assert_allclose(found[0], gradient(good), rtol=1e-4, atol=1e-5)
    assert np.isnan(found[1][:, : min(shape)]).any()


FAR = (1.0, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("function", [np.linspace, np.logspace])
@pytest.mark.parametrize(("start", "stop"), list(itertools.product(FAR, repeat=2)))
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 5])
def test_the_last_of_points_in_a_row_is_the_end_itself(function, start, stop, endpoint, num):
    plain = quiet(lambda: function([start, 1.0], [stop, 2.0], num, endpoint=endpoint))
    is_plain(quiet(lambda: function(tensor([start, 1.0]), tensor([stop, 2.0]), num, endpoint=endpoint)), plain)


@pytest.mark.parametrize("name", ["rfftn", "irfftn", "rfft2", "irfft2"])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_half_spectra_along_one_axis_twice_are_refused_in_words(name, n):
    t = tensor(np.cos(np.arange(2.0 * n)).reshape(n, 2))
    found = getattr(np.fft, name)(t, axes=(0, 0))
    with pytest.raises(TypeError, match="one axis at a time"):
        ag.real(found).sum().backward()
