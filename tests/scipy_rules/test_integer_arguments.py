"""Integers of few or unsigned bits beside what is differentiated: formulas get them with room for differences.

Imports arraygrad.scipy. The reference is the same call with float64 in their place.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.scipy import integrate, special, stats

Y = np.array([0.3, 1.5, 0.7, 0.9, 2.0, 1.1])
PLACES = np.array([3, 100, 7, 1, 90, 9])
COUNTS = np.array([3, 1, 7, 2, 20, 9])

CALLS = {
    "simpson": lambda y, k: integrate.simpson(y, x=np.sort(k)),
    "cumulative_simpson": lambda y, k: integrate.cumulative_simpson(y, x=np.sort(k)),
    "cumulative_trapezoid": lambda y, k: integrate.cumulative_trapezoid(y, x=np.sort(k)),
    "boxcox": lambda y, k: special.boxcox(k, y),
    "boxcox1p": lambda y, k: special.boxcox1p(k, y),
    "ellipkinc": lambda y, k: special.ellipkinc(k % 2, 0.3 * y),
    "ellipeinc": lambda y, k: special.ellipeinc(k % 2, 0.3 * y),
    "elliprc": lambda y, k: special.elliprc(k, y),
    "stdtr": lambda y, k: special.stdtr(k, y),
    "jv": lambda y, k: special.jv(k % 4, y),
    "xlogy": lambda y, k: special.xlogy(k, y),
    "binom.logpmf": lambda y, k: stats.binom.logpmf(k, np.uint8(120), 0.3 * y),
    "poisson.logpmf": lambda y, k: stats.poisson.logpmf(k, y),
    "norm.logpdf": lambda y, k: stats.norm.logpdf(k, y, 50.0),
    "gamma.logpdf": lambda y, k: stats.gamma.logpdf(k, y, scale=30.0),
    "entropy": lambda y, k: stats.entropy(y, k),
}
OF_PLACES = ("simpson", "cumulative_simpson", "cumulative_trapezoid")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("name", CALLS)
def test_integers_give_the_gradient_of_the_same_floats(name, dtype):
    integers = PLACES if name in OF_PLACES else COUNTS
    weights = np.cos(np.arange(6.0))

    def total(y, k):
        result = CALLS[name](y, k)
        return np.sum(result * weights[: result.size]) if np.ndim(result) else result

    found = ag.grad(total)(Y, integers.astype(dtype))
    np.testing.assert_allclose(found, ag.grad(total)(Y, integers.astype(np.float64)), rtol=1e-10)
