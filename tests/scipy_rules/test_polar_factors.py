"""Unitary polar factors and Procrustes rotations: derivatives where singular values are small or equal.

The class: shapes (square, tall, wide) x real and complex x singular values (apart, one tiny, two equal, all equal) x
both outputs x both sides, first and second order. The reference is differences of the same factors by mpmath's
singular values, with 60 digits.
"""

import itertools

import mpmath
import numpy as np
import pytest

import arraygrad as ag
import arraygrad.scipy.linalg as sl

SPECTRA = {
    "apart": [2.0, 1.1, 0.6],
    "tiny": [2.0, 1.1, 1e-6],
    "two equal": [1.3, 1.3, 0.4],
    "all equal": [1.0, 1.0, 1.0],
}
SHAPES = {"square": (3, 3), "tall": (4, 3), "wide": (3, 4)}


def matrix(shape, spectrum, kind, seed):
    rng = np.random.default_rng(seed)

    def unitary(n):
        a = rng.normal(size=(n, n))
        return np.linalg.qr(a + 1j * rng.normal(size=(n, n)) if kind == "complex" else a)[0]

    m, n = shape
    u, v = unitary(m)[:, :3], unitary(n)[:3]
    return (u * np.array(spectrum)) @ v


def exact(a):
    a = np.asarray(a)
    return mpmath.matrix([[mpmath.mpmathify(complex(x)) for x in row] for row in a.tolist()])


def factors(a, side):
    """(unitary factor, Hermitian factor) of an mpmath matrix."""
    u, s, v = mpmath.svd_c(a)
    middle = mpmath.diag(list(s))
    return u * v, (v.H * middle * v if side == "right" else u * middle * u.H)


def weighted(found, weights):
    return mpmath.re(mpmath.fsum(mpmath.conj(w) * x for w, x in zip(weights, found, strict=True)))


def slopes(f, step):
    """First and second derivative of a function of one number at 0."""
    up, down, middle = f(step), f(-step), f(0)
    return (up - down) / (2 * step), (up - 2 * middle + down) / step**2


MEMBERS = list(itertools.product(SHAPES, SPECTRA, ("real", "complex"), ("right", "left")))


@pytest.mark.parametrize(("shape", "spectrum", "kind", "side"), MEMBERS)
@pytest.mark.parametrize("output", [0, 1])
def test_polar(shape, spectrum, kind, side, output):
    a = matrix(SHAPES[shape], SPECTRA[spectrum], kind, 3)
    rng = np.random.default_rng(8)
    size = sl.polar(a, side=side)[output].shape
    weights, along = rng.normal(size=size), rng.normal(size=a.shape)
    if kind == "complex":
        weights, along = weights + 1j * rng.normal(size=size), along + 1j * rng.normal(size=a.shape)

    def loss(x):
        return np.sum(np.real(np.conj(weights) * sl.polar(x, side=side)[output]))

    with mpmath.workdps(60):
        start, way = exact(a), exact(along)
        wanted = slopes(
            lambda h: weighted(list(factors(start + h * way, side)[output]), [complex(w) for w in weights.ravel()]),
            mpmath.mpf(10) ** -20,
        )
    gradient = ag.grad(loss)(a)
    product = ag.grad(lambda x: np.sum(np.real(np.conj(along) * ag.grad(loss)(x))))(a)
    first, second = (float(np.sum(np.real(np.conj(along) * g))) for g in (gradient, product))
    close = 1e-5 if spectrum == "tiny" else 1e-9
    assert first == pytest.approx(float(wanted[0]), rel=close, abs=close)
    assert second == pytest.approx(float(wanted[1]), rel=10 * close, abs=10 * close * max(1.0, abs(first)))


@pytest.mark.parametrize("spectrum", list(SPECTRA))
@pytest.mark.parametrize("output", [0, 1])
def test_orthogonal_procrustes(spectrum, output):
    b = np.random.default_rng(2).normal(size=(4, 3))
    a = np.linalg.pinv(b).T @ matrix((3, 3), SPECTRA[spectrum], "real", 5).T  # b.T @ a is the transpose of that
    rng = np.random.default_rng(8)
    weights, along = rng.normal(size=(3, 3)), rng.normal(size=a.shape)

    def loss(x):
        found = sl.orthogonal_procrustes(x, b)[output]
        return found if output else np.sum(weights * found)

    def mp_loss(x):
        u, s, v = mpmath.svd_c(x.T * exact(b))
        return mpmath.fsum(s) if output else weighted(list(u * v), weights.ravel().tolist())

    with mpmath.workdps(60):
        start, way = exact(a), exact(along)
        wanted = slopes(lambda h: mp_loss(start + h * way), mpmath.mpf(10) ** -20)
    first = float(np.sum(ag.grad(loss)(a) * along))
    second = float(np.sum(ag.grad(lambda x: np.sum(along * ag.grad(loss)(x)))(a) * along))
    close = 1e-5 if spectrum == "tiny" else 1e-9
    assert first == pytest.approx(float(wanted[0]), rel=close, abs=close)
    assert second == pytest.approx(float(wanted[1]), rel=10 * close, abs=10 * close * max(1.0, abs(first)))
