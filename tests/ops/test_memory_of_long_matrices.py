"""Gradients of factorizations and solutions of long matrices need memory for some matrices of that shape.

The class: linear algebra of matrices of n rows and k columns, k << n, and of k rows and n columns. A product of n x n
numbers in a rule would need n / k times the memory, and time.
"""

import tracemalloc

import numpy as np
import pytest

import arraygrad as ag

LONG, SHORT = 1500, 2
DRAWN = np.random.default_rng(5)
CALLS = {
    "pinv": lambda a: np.linalg.pinv(a),
    "lstsq": lambda a: np.linalg.lstsq(a, np.ones(a.shape[0]))[0],
    "qr": lambda a: np.linalg.qr(a)[0],
    "svd": lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[0]) ** 2,
    "svdvals": lambda a: np.linalg.svdvals(a),
    "nuclear norm": lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)),
    "cond": lambda a: np.linalg.cond(a),
}


def weighted(out):
    out = np.reshape(out, -1)
    weights = np.cos(np.arange(1.0, out.size + 1))
    return (np.real(out) * weights).sum() + (np.imag(out) * weights**2).sum()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(LONG, SHORT), (SHORT, LONG), (2, LONG, SHORT)])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_peak(name, order, shape, dtype):
    call = CALLS[name]
    if name == "lstsq" and len(shape) == 3:
        pytest.skip("numpy.linalg.lstsq takes one matrix")
    a = DRAWN.normal(size=shape) + (1j * DRAWN.normal(size=shape) if dtype == np.complex128 else 0.0)
    gradient = ag.grad(lambda a: weighted(call(a)))
    function = gradient if order == 1 else ag.grad(lambda a: weighted(gradient(a)))
    small = a[..., :7, :7]
    function(small)  # what is imported and compiled at first
    tracemalloc.start()
    try:
        function(a)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150 * a.nbytes


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 5, 3), (2, 3, 5), (4, 4)])
@pytest.mark.parametrize("rank", [2, None])
def test_pinv_against_differences(rank, shape, dtype):
    """Both orders of the products, of full rank and of less; there along matrices of the same rank."""
    unit = 1j * DRAWN.normal(size=shape) if dtype == np.complex128 else 0.0
    a, v = DRAWN.normal(size=shape) + unit, DRAWN.normal(size=shape) + unit

    def of_rank(a):
        return a if rank is None else a[..., :, :rank] @ a[..., :rank, :]

    def value(a):
        return weighted(np.linalg.pinv(of_rank(a), rcond=1e-12))

    difference = (value(a + 1e-6 * v) - value(a - 1e-6 * v)) / 2e-6
    found = ag.grad(value)(a)
    np.testing.assert_allclose(np.vdot(found, v).real, difference, rtol=1e-5, atol=1e-6)
