"""Correlations and convolutions that swap their operands conjugate the one that SciPy conjugates.

The class: complex operands x which is larger x modes x orders of differentiation; tests/fuzz/spellings/
swapped_products.py draws further members.
"""

import itertools

import numpy as np
import pytest
from scipy_differences import check

signal = pytest.importorskip("scipy.signal", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import signal as ours

LARGE = np.array([[1, 1j], [2, 3]])


def test_the_larger_second_operand_of_correlate2d():
    small = np.array([[1 + 2j]])
    found = ag.grad(lambda x: ours.correlate2d(x, LARGE, "valid")[0, 0].imag)(small)
    np.testing.assert_array_equal(found, [[-3j]])


@pytest.mark.parametrize("name", ["correlate", "correlate2d", "convolve", "convolve2d", "fftconvolve", "oaconvolve"])
def test_both_orders_of_size_in_both_operands(name):
    rng = np.random.default_rng(5)
    sizes = [((1, 1), (2, 2)), ((3, 3), (2, 2)), ((2, 3), (2, 3)), ((1, 3), (2, 3))]
    for (first, second), mode in itertools.product(sizes, ("full", "same", "valid")):
        arrays = [rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in (first, second)]
        check(lambda x, y, m=mode: getattr(ours, name)(x, y, mode=m),
              lambda x, y, m=mode: getattr(signal, name)(x, y, mode=m), arrays, rtol=1e-6, loose=1e-11)  # fmt: skip
