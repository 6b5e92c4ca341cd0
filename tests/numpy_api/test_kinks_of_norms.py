"""Second derivatives where a norm is zero: right where the function is smooth there, nan where it is not, never 0.

The class: a norm of any kind (NumPy's and SciPy's, over all axes, kept or not, of stacks, the size of complex numbers,
a deviation from the mean) that is zero, inside of a function of it. Smooth ones are even in the norm; their Hessians
have closed forms, or are those of the same function written without the norm.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.scipy.spatial.distance as distance
from arraygrad.scipy.spatial.transform import Rotation

# Norm of a vector of six numbers that is zero at six zeros: name -> (norms, the sum of their squares).
ALL = {
    "norm": (np.linalg.norm, lambda x: x @ x),
    "norm, order 2": (lambda x: np.linalg.norm(x, ord=2), lambda x: x @ x),
    "norm of rows": (lambda x: np.linalg.norm(x.reshape(2, 3), axis=1), lambda x: x @ x),
    "norm of columns, kept": (lambda x: np.linalg.norm(x.reshape(2, 3), axis=-2, keepdims=True), lambda x: x @ x),
    "Frobenius": (lambda x: np.linalg.norm(x.reshape(2, 3), "fro"), lambda x: x @ x),
    "Frobenius of a stack": (lambda x: np.linalg.norm(x.reshape(2, 3, 1), axis=(2, 1)), lambda x: x @ x),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x.reshape(3, 1, 2), keepdims=True), lambda x: x @ x),
    "vector_norm, two axes": (lambda x: np.linalg.vector_norm(x.reshape(3, 1, 2), axis=(0, 2)), lambda x: x @ x),
    "vector_norm of single numbers": (lambda x: np.linalg.vector_norm(x[:, None], axis=1, ord=3), lambda x: x @ x),
    "1-norm of single numbers": (lambda x: np.linalg.norm(x[:, None], axis=1, ord=1), lambda x: x @ x),
    "hypot": (lambda x: np.hypot(x[:3], x[3:]), lambda x: x @ x),
    "abs": (np.abs, lambda x: x @ x),
    "fabs": (np.fabs, lambda x: x @ x),
    "copysign": (lambda x: np.copysign(x, 1.0), lambda x: x @ x),
    "copysign of both signs": (lambda x: np.copysign(x.reshape(3, 2), [-1.0, 1.0]), lambda x: x @ x),
    "abs of complex": (lambda x: np.abs(x[:3] + 1j * x[3:]), lambda x: x @ x),
    "abs of a transform": (lambda x: np.abs(np.fft.fft(x)), lambda x: 6.0 * (x @ x)),
    "std": (np.std, lambda x: np.mean(x * x) - np.mean(x) ** 2),
    "std of rows": (
        lambda x: np.std(x.reshape(2, 3), axis=1, ddof=1),
        lambda x: np.sum(np.var(x.reshape(2, 3), axis=1, ddof=1)),
    ),
    "nanstd": (lambda x: np.nanstd(x.reshape(3, 2), axis=-1), lambda x: np.sum(np.var(x.reshape(3, 2), axis=-1))),
    "euclidean": (lambda x: distance.euclidean(x[:3], x[3:]), lambda x: np.sum((x[:3] - x[3:]) ** 2)),
    "euclidean, weighted": (
        lambda x: distance.euclidean(x, np.zeros(6), np.arange(1.0, 7.0)),
        lambda x: np.arange(1.0, 7.0) @ (x * x),
    ),
    "mahalanobis": (
        lambda x: distance.mahalanobis(x[:2], x[2:4], np.array([[2.0, 0.5], [0.5, 1.0]])),
        lambda x: (x[:2] - x[2:4]) @ np.array([[2.0, 0.5], [0.5, 1.0]]) @ (x[:2] - x[2:4]),
    ),
    "cdist": (
        lambda x: distance.cdist(x.reshape(2, 3), np.zeros((2, 3))),
        lambda x: 2.0 * (x @ x),
    ),
    "cdist, minkowski": (
        lambda x: distance.cdist(x.reshape(3, 2), np.zeros((1, 2)), "minkowski", p=2),
        lambda x: x @ x,
    ),
    "cdist, seuclidean": (
        lambda x: distance.cdist(x.reshape(3, 2), np.zeros((1, 2)), "seuclidean", V=np.array([0.5, 2.0])),
        lambda x: np.tile([2.0, 0.5], 3) @ (x * x),
    ),
    "pdist": (
        lambda x: distance.pdist(x.reshape(3, 2)),
        lambda x: sum(np.sum((a - b) ** 2) for a, b in ((x[:2], x[2:4]), (x[:2], x[4:]), (x[2:4], x[4:]))),
    ),
    "magnitude": (lambda x: Rotation.from_rotvec(x.reshape(2, 3)).magnitude(), lambda x: x @ x),
}

# Even functions of norms: name -> (function, half of its second derivative at 0).
EVEN = {
    "square": (lambda n: n**2, 1.0),
    "product": (lambda n: n * n, 1.0),
    "numpy.square": (np.square, 1.0),
    "scaled": (lambda n: 3.0 * np.power(n, 2.0) + 1.0, 3.0),
    "cube": (lambda n: n**3, 0.0),
    "Gauss": (lambda n: np.exp(-(n**2) / 2.0), -0.5),
    "Matern": (lambda n: (1.0 + 3**0.5 * n) * np.exp(-(3**0.5) * n), -1.5),
    "root": (lambda n: np.sqrt(1.0 + n * n), 0.5),
    "cosine": (np.cos, -0.5),
    "logarithm": (lambda n: np.log1p(n * n), 1.0),
}


CASES = [(name, even) for name in ALL for even in EVEN if even in ("square", "Matern") or name == "norm of rows"]


@pytest.mark.parametrize(("name", "even"), CASES)
def test_even_functions_of_a_norm_have_their_hessian_at_zero(name, even):
    norm, squares = ALL[name]
    function, half = EVEN[even]
    x = np.zeros(6)
    found = ag.hessian(lambda x: np.sum(function(norm(x))))(x)
    expected = half * ag.hessian(squares)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert not np.any(ag.grad(lambda x: np.sum(function(norm(x))))(x))


STRAIGHT = {
    "abs", "fabs", "copysign", "copysign of both signs", "vector_norm of single numbers", "1-norm of single numbers",
}  # fmt: skip
CURVED = [name for name in ALL if name not in STRAIGHT]


@pytest.mark.parametrize("name", CURVED)
@pytest.mark.parametrize("odd", ["itself", "times another function", "of separate ones"])
def test_where_a_gradient_jumps_its_derivative_is_nan(name, odd):
    norm = ALL[name][0]
    function = {
        "itself": lambda x: np.sum(norm(x)),
        "times another function": lambda x: np.sum(norm(x)) * x[0],
        "of separate ones": lambda x: np.sum(norm(x) * norm(1.0 * x)),
    }[odd]
    x = np.zeros(6)
    assert not np.any(ag.grad(function)(x))  # the subgradient of least norm
    found = ag.hessian(function)(x)
    assert np.isnan(found).any()
    assert not np.any(found[~np.isnan(found)])


@pytest.mark.parametrize("name", sorted(STRAIGHT))
def test_sizes_of_real_numbers_are_straight_on_both_sides(name):
    assert not np.any(ag.hessian(lambda x: np.sum(ALL[name][0](x)))(np.zeros(6)))


@pytest.mark.parametrize("ord", [1, 3, 1.5, np.inf, -np.inf, -1])
def test_squares_of_norms_that_are_no_quadratic_forms_are_nan(ord):
    with np.errstate(divide="ignore"):
        found = ag.hessian(lambda x: np.linalg.norm(x, ord=ord) ** 2)(np.zeros(3))
    assert np.isnan(found).all()


@pytest.mark.parametrize("ord", [1, np.inf])
def test_norms_of_sizes_are_straight(ord):
    assert not np.any(ag.hessian(lambda x: np.linalg.norm(x, ord=ord))(np.zeros(3)))
    assert not np.any(ag.hessian(lambda x: np.linalg.norm(x.reshape(2, 2), ord=ord))(np.zeros(4)))


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("std", ["std", "nanstd", "nanstd beside nan", "std of an axis", "nanstd of an axis"])
def test_one_number_does_not_deviate(std, keepdims, ddof):
    """Nor has it a kink: the second derivative is zero."""
    call = {
        "std": np.std,
        "nanstd": lambda x, **k: np.nanstd(x[0], **k),
        "nanstd beside nan": lambda x, **k: np.nanstd(np.append(x, np.nan), **k),
        "std of an axis": lambda x, **k: np.std(x[:, None], axis=1, **k),
        "nanstd of an axis": lambda x, **k: np.nanstd(x[:, None], axis=-1, **k),
    }[std]
    options = {"ddof": ddof, "keepdims": keepdims} if std.startswith("nan") else {"keepdims": keepdims}

    def f(x):
        return np.nansum(call(x, **options))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert not np.any(ag.grad(f)(np.array([0.3])))
        assert not np.any(ag.hessian(f)(np.array([0.3])))


def test_a_sum_of_norms_squared_is_no_quadratic_form():
    assert np.isnan(ag.hessian(lambda x: np.sum(np.linalg.norm(x.reshape(2, 2), axis=1)) ** 2)(np.zeros(4))).any()


def test_rows_that_are_not_zero_are_as_ever():
    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    found = ag.hessian(lambda x: np.sum(np.linalg.norm(x.reshape(3, 2), axis=1) ** 2))(x.ravel())
    np.testing.assert_allclose(found, 2.0 * np.eye(6), atol=1e-15)
    found = ag.hessian(lambda x: np.sum(np.linalg.norm(x.reshape(3, 2), axis=1)))(x.ravel())
    lost = np.isnan(found)
    rows = np.repeat([0, 1, 2], 2)
    np.testing.assert_array_equal(lost, (rows[:, None] == rows) & (rows != 1))
    np.testing.assert_allclose(found[2:4, 2:4], [[0.128, -0.096], [-0.096, 0.072]], rtol=1e-12)
    assert not np.any(found[2:4, [0, 1, 4, 5]])


@pytest.mark.parametrize("size", [1e-25, 1.0, 1e12, 1e25])
@pytest.mark.parametrize("axis", [1, 0])
def test_a_product_of_two_norms_is_seen_beside_a_square_of_any_size(size, axis):
    """|u|^2 is smooth at 0, |u| |v| is not, however small it is beside the other."""

    def f(x, weight):
        rows = x.reshape(2, 2) if axis else np.transpose(x.reshape(2, 2))
        u, v = np.linalg.norm(rows, axis=axis)
        return size * u**2 + weight * (u * v)

    assert np.isnan(ag.hessian(lambda x: f(x, 1e-8))(np.zeros(4))).any()
    squares = ag.hessian(lambda x: f(x, 0.0))(np.zeros(4))
    np.testing.assert_allclose(squares, np.diag([2.0 * size, 2.0 * size, 0.0, 0.0]), rtol=1e-15)


@pytest.mark.parametrize("small", [1e-30, 1e-12, 1.0])
def test_squares_of_different_sizes(small):
    def f(x):
        u, v, w = np.linalg.norm(x.reshape(3, 1), axis=1)
        return u**2 + small * v**2 + small**2 * (w**4 + w**2)

    np.testing.assert_allclose(np.diag(ag.hessian(f)(np.zeros(3))), [2.0, 2.0 * small, 2.0 * small**2], rtol=1e-14)


def test_products_with_the_hessian_and_in_forward_mode():
    def square(x):
        return np.linalg.norm(x) ** 2

    x, v = np.zeros(2), np.array([1.0, 2.0])
    np.testing.assert_array_equal(ag.hvp(square)(x, v), 2.0 * v)
    np.testing.assert_array_equal(ag.jvp(ag.grad(square), (x,), (v,))[1], 2.0 * v)
    np.testing.assert_array_equal(ag.jvp(np.linalg.norm, (x,), (v,))[1], 0.0)


@pytest.mark.parametrize("power", [2, 4])
def test_third_derivatives_of_even_powers_are_zero(power):
    third = ag.jacobian(ag.hessian(lambda x: np.linalg.norm(x) ** power))
    assert not np.any(third(np.zeros(2)))


def test_third_derivatives_of_a_cube_are_nan():
    assert np.isnan(ag.jacobian(ag.hessian(lambda x: np.linalg.norm(x) ** 3))(np.zeros(2))).any()


def test_single_precision():
    x = np.zeros(3, dtype=np.float32)
    found = ag.hessian(lambda x: np.linalg.norm(x) ** 2)(x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, 2.0 * np.eye(3))


def test_a_process_with_equal_points_has_its_hessian():
    """Distances of points to themselves, a length and an amplitude: by differences of the gradient."""

    def loss(v):
        x, length, size = v[:6].reshape(3, 2), np.exp(v[6]), v[7]
        d = np.linalg.norm(x[:, None] - x[None], axis=-1) / length
        k = size * (1.0 + 3**0.5 * d) * np.exp(-(3**0.5) * d) + 0.5 * np.eye(3)
        y = np.sin(x[:, 0]) + x[:, 1]
        return y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1]

    v = np.array([0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 0.3, 1.2])
    step = 1e-6
    gradient = ag.grad(loss)
    expected = [(gradient(v + step * e) - gradient(v - step * e)) / (2.0 * step) for e in np.eye(8)]
    np.testing.assert_allclose(ag.hessian(loss)(v), expected, rtol=1e-5, atol=1e-5)
