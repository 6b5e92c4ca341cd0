"""Results that a formula must have in common with SciPy's function before its derivative is taken for the function's.

The class: size of the result x what is other about it (a factor, the order of elements, a sign, the shape) x size of
the arguments x precision. Refused however small the result is; what rounding of the arguments gives is no other result.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
import arraygrad.scipy.stats as stats
from arraygrad.scipy import NotDifferentiable
from arraygrad.scipy._agreement import agreed

OTHERS = {
    "a factor": lambda a: 1.03 * a,
    "another order": lambda a: a[::-1],
    "a sign": lambda a: -a,
    "zeros": lambda a: 0.0 * a,
    "one more axis": lambda a: np.stack([a, a]),
}


def compared(ours, theirs, argument):
    return agreed("stats.test", ag.asarray(ours), ag.asarray(theirs), ag.asarray(theirs), [ag.asarray(argument)])


def results(size, kind):
    return (size * np.array([1.0, 0.4, -0.3])).astype(kind)


SIZES = [*[(n, np.float64) for n in (1e-11, 1e-9, 1e-6, 1.0, 1e200)], (1e-2, np.float32), (1.0, np.float32)]


@pytest.mark.parametrize(("size", "kind"), SIZES)
@pytest.mark.parametrize("other", OTHERS)
def test_another_result_is_refused_whatever_its_size(other, size, kind):
    theirs = results(size, kind)
    with pytest.raises(NotDifferentiable, match="has another result than SciPy's"):
        compared(OTHERS[other](theirs) * (kind(1.0) if kind is np.float64 else kind(1.1)), theirs, [kind(1.0)])


@pytest.mark.parametrize(("kind", "rounding"), [(np.float64, 1e-15), (np.float32, 1e-6)])
@pytest.mark.parametrize("size", [1.0, 1e5, 1e20])
def test_what_rounding_of_the_arguments_gives_is_no_other_result(size, kind, rounding):
    theirs = results(rounding * size, kind)
    np.testing.assert_array_equal(compared(-theirs, theirs, [kind(size)]), theirs)


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e200])
def test_the_same_result_agrees(size):
    theirs = results(size, np.float64)
    np.testing.assert_array_equal(compared(theirs * (1.0 + 1e-6), theirs, [1.0]), theirs)


def test_a_skewness_that_is_zero_by_symmetry():
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0]) * 1e3 + 0.1
    found = ag.grad(stats.skew)(x)
    step = 1e-2
    expected = [(stats.skew(x + step * e) - stats.skew(x - step * e)) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-9)


def test_nan_of_scipy_is_the_gradients():
    found = compared([1.0, 2.0, 3.0], np.array([1.0, np.nan, 3.0]), [1.0])
    np.testing.assert_array_equal(np.isnan(found), [False, True, False])
