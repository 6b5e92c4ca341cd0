"""Gradients that a plain backward computes by SciPy's own functions: those of the recorded rules."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.signal import butter

import arraygrad as ag
import arraygrad.scipy.linalg as al
import arraygrad.scipy.ndimage as an
import arraygrad.scipy.signal as asig
import arraygrad.scipy.sparse as asp
import arraygrad.scipy.special as aspecial
import arraygrad.scipy.stats as astats
from arraygrad.scipy.spatial import distance
from arraygrad.testing import gradcheck

MODES = ("reflect", "mirror", "nearest", "wrap", "constant", "grid-constant", "grid-mirror", "grid-wrap")


def numbers(*shape, seed=0, dtype="float64"):
    rng = np.random.default_rng((seed, *shape))
    if dtype == "complex128":
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return rng.normal(size=shape).astype(dtype)


def gradients(f, arrays, record):
    """Gradients of a random combination of the results: by the recorded rule, or in a plain backward."""
    given = [ag.tensor(a, requires_grad=True) for a in arrays]
    found = f(*given)
    weights = numbers(*found.shape, seed=9, dtype=str(np.asarray(found.detach()).dtype))
    return [g.detach().numpy() for g in ag.autograd.grad(found, given, weights, create_graph=record)]


def same(f, *arrays, tolerance=1e-11):
    for ours, theirs in zip(gradients(f, arrays, False), gradients(f, arrays, True), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        scale = np.abs(theirs).max(initial=1e-30)
        np.testing.assert_allclose(ours / scale, theirs / scale, atol=2e-5 if ours.dtype == np.float32 else tolerance)


FILTERS = {
    "correlate": lambda x, mode: an.correlate(x, numbers(3, 4), mode=mode, origin=(0, -1)),
    "convolve": lambda x, mode: an.convolve(x, numbers(2, 5), mode=mode, origin=(-1, 2)),
    "correlate1d": lambda x, mode: an.correlate1d(x, numbers(4), axis=0, mode=mode, origin=1),
    "convolve1d": lambda x, mode: an.convolve1d(x, numbers(5), mode=mode, origin=-2),
    "gaussian_filter1d": lambda x, mode: an.gaussian_filter1d(x, 0.8, 0, order=1, mode=mode),
    "gaussian_filter": lambda x, mode: an.gaussian_filter(x, (0.7, 1.1), order=(0, 1), mode=mode),
    "gaussian_laplace": lambda x, mode: an.gaussian_laplace(x, 0.7, mode=mode),
    "uniform_filter1d": lambda x, mode: an.uniform_filter1d(x, 4, axis=0, mode=mode, origin=1),
    "uniform_filter": lambda x, mode: an.uniform_filter(x, (3, 2), mode=mode, origin=(1, 0)),
    "sobel": lambda x, mode: an.sobel(x, 0, mode=mode),
    "prewitt": lambda x, mode: an.prewitt(x, mode=mode),
    "laplace": lambda x, mode: an.laplace(x, mode=mode),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FILTERS)
def test_filters_of_images(name, mode):
    if name == "gaussian_laplace" and mode.startswith("grid"):
        pytest.skip("one border is enough")
    for shape in ((9, 8), (5, 5), (1, 7)):
        for dtype in ("float64", "float32"):
            same(lambda x: FILTERS[name](x, mode), numbers(*shape, dtype=dtype))


@pytest.mark.parametrize("name", ["correlate", "gaussian_filter", "sobel"])
def test_filters_of_complex_images(name):
    same(lambda x: FILTERS[name](x, "reflect"), numbers(6, 7, dtype="complex128"))


@pytest.mark.parametrize("name", FILTERS)
def test_filters_agree_with_finite_differences(name):
    x = ag.tensor(numbers(5, 6), requires_grad=True)
    assert gradcheck(lambda x: FILTERS[name](x, "reflect"), (x,))


def test_weights_that_are_differentiated_too_go_by_the_recorded_rule():
    same(lambda x, w: an.correlate(x, w), numbers(6, 7), numbers(3, 3))
    same(lambda x, s: an.gaussian_filter(x, s), numbers(6, 7), np.asarray(0.9))
    same(lambda b, a, x: asig.lfilter(b, a, x), numbers(3), np.array([1.0, -0.4]), numbers(12))


B, A, SOS = [0.2, 0.3, 0.1], [2.0, -0.5], butter(4, 0.2, output="sos")
SIGNALS = {
    "lfilter": lambda x: asig.lfilter(B, A, x),
    "lfilter axis": lambda x: asig.lfilter(B, A, x, axis=0),
    "lfilter of complex numbers": lambda x: asig.lfilter([1.0, 0.5j], [1.0, 0.3j], x),
    "lfilter with conditions": lambda x: asig.lfilter(B, [1.0, -0.5], x, zi=np.ones((6, 2)))[0],
    "sosfilt": lambda x: asig.sosfilt(SOS, x),
    "sosfilt axis": lambda x: asig.sosfilt(SOS, x, axis=0),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", SIGNALS)
def test_recursive_filters(name, dtype):
    if dtype == "complex128" or "complex" not in name:
        same(SIGNALS[name], numbers(6, 9, dtype=dtype))


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("size", [(3, 3), (2, 4), (1, 5), (4, 1)])
def test_convolutions_of_images(size, mode, boundary):
    w = numbers(*size)
    for function in (asig.convolve2d, asig.correlate2d):
        for dtype in ("float64", "float32", "complex128"):
            same(lambda x, f=function: f(x, w, mode, boundary), numbers(7, 6, dtype=dtype))
        same(lambda x, f=function: f(x, w + 1j * w, mode, boundary), numbers(7, 6, dtype="complex128"))
    assert gradcheck(lambda x: asig.correlate2d(x, w, mode, boundary), (ag.tensor(numbers(5, 6), requires_grad=True),))


def test_images_that_are_smaller_than_their_filter():
    same(lambda x: asig.convolve2d(x, numbers(5, 6), "valid"), numbers(3, 2))
    same(lambda x: asig.convolve2d(x, numbers(5, 6), "same"), numbers(3, 2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_right_sides_of_factors(dtype, lower, columns):
    a = numbers(4, 4, dtype=dtype) + 3 * np.eye(4)
    factor = (np.linalg.cholesky(a @ a.conj().T + np.eye(4)), True)
    factor = factor if lower else (factor[0].conj().T, False)
    b = numbers(4, *columns, dtype=dtype)
    same(lambda b: al.cho_solve(factor, b), b)
    for trans in (0, 1, 2):
        same(lambda b, t=trans: al.lu_solve(scipy.linalg.lu_factor(a), b, trans=t), b)
        for unit in (False, True):
            same(lambda b, t=trans, u=unit: al.solve_triangular(a, b, trans=t, lower=lower, unit_diagonal=u), b)
    for assumed in (None, "gen", "pos", "her", "sym"):
        same(lambda b, t=assumed: al.solve(a @ a.conj().T, b, assume_a=t, lower=lower), b)
    if dtype == "float64":
        same(lambda b: al.solve(a, b, transposed=True), b)
    same(lambda b: al.cho_solve((np.stack([factor[0]] * 2), lower), b), numbers(2, 4, 2, dtype=dtype))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "cosine", "chebyshev"])
def test_distances(metric):
    x, y = numbers(5, 3), numbers(4, 3, seed=1)
    y[2] = x[1]
    same(lambda x, y: distance.cdist(x, y, metric), x, y)
    same(lambda x: distance.cdist(x, y, metric), x)
    same(lambda y: distance.cdist(x, y, metric), y)
    same(lambda x: distance.pdist(x, metric), x)
    same(lambda x: distance.pdist(x, metric), np.concatenate([x, x[:1]]))
    same(lambda x: distance.cdist(x, y, metric), numbers(5, 3, dtype="float32"))


def test_distances_of_few_points():
    for n in (0, 1, 2):
        same(lambda x: distance.pdist(x), numbers(n, 3))
    same(lambda x, y: distance.cdist(x, y), numbers(0, 3), numbers(2, 3))


def test_weighted_distances_go_by_the_recorded_rule():
    same(lambda x: distance.cdist(x, x, "euclidean", w=np.array([1.0, 2.0, 0.5])), numbers(4, 3))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil"])
@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_of_sparse_matrices(format, columns, dtype):
    dense = numbers(5, 4, dtype=dtype) * (numbers(5, 4, seed=1) > 0)
    matrix = getattr(asp, f"{format}_array")(dense)
    same(lambda x: matrix @ x, numbers(4, *columns, dtype=dtype))
    same(lambda x: x @ matrix, numbers(*columns, 5, dtype=dtype))
    before = matrix.toarray()
    np.testing.assert_array_equal(before, dense)


def test_products_of_a_matrix_that_names_elements_twice():
    matrix = asp.coo_array((np.array([1.0, 2.0, 4.0]), ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    same(lambda x: matrix @ x, numbers(3))
    same(lambda x: matrix @ x, numbers(3, 2))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    x = numbers(4, 5)
    same(lambda x: aspecial.logsumexp(x, axis=axis, keepdims=keepdims), x)
    x[1, 2] = -np.inf
    same(lambda x: aspecial.logsumexp(x, axis=axis, keepdims=keepdims), x)
    same(lambda x: aspecial.logsumexp(x, axis=axis, keepdims=keepdims), 700.0 * x[2:])


@pytest.mark.parametrize("name", ["norm", "expon", "uniform", "gamma", "beta", "t"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_densities_with_and_without_points_outside_of_the_support(name, dtype):
    law, shapes = getattr(astats, name), {"gamma": [2.5], "beta": [2.0, 3.0], "t": [4.0]}.get(name, [])
    inside = np.linspace(0.1, 0.9, 6)
    for x in (inside, np.append(inside, [-3.0, 5.0]), np.append(inside, 0.0)):
        given = [x.astype(dtype), *[np.asarray(s) for s in shapes], np.asarray(0.0), np.asarray(1.0)]

        def gradient(k, x=x, given=given):
            t = ag.tensor(given[k], requires_grad=True)
            law.logpdf(*given[:k], t, *given[k + 1 :]).sum().backward()
            return t.grad.numpy()

        good = x[(x > 0) & (x < 1)] if name != "norm" else x
        for k, parameter in enumerate(given):
            found = gradient(k)
            assert found.shape == parameter.shape
            assert found.dtype == parameter.dtype
        h = 1e-6
        d = [
            (law.logpdf(v + h, *shapes) - law.logpdf(v - h, *shapes)) / (2 * h)
            for v in good.astype(dtype).astype(float)
        ]
        at = np.isin(x, good)
        np.testing.assert_allclose(gradient(0)[at], np.array(d), atol=1e-4, rtol=1e-4)
