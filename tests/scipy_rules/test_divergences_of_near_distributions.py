"""Derivatives of divergences between two distributions that are nearly equal, where differences lose digits.

The class: divergence x argument x distance of the distributions x precision x sums of the numbers. The reference is
mpmath's of the same numbers, whatever precision they are given in.
"""

import numpy as np
import pytest
import scipy.special
import scipy.stats
from scipy.spatial import distance

import arraygrad as ag

mpmath = pytest.importorskip("mpmath")

P = [0.7, 1.9, 0.4, 1.1]
TURNS = [0.8, -0.5, 0.3, -0.9]


def jensenshannon(p, q):
    x, y = [a / mpmath.fsum(p) for a in p], [b / mpmath.fsum(q) for b in q]
    terms = [a * mpmath.log(2 * a / (a + b)) + b * mpmath.log(2 * b / (a + b)) for a, b in zip(x, y, strict=True)]
    return mpmath.sqrt(mpmath.fsum(terms) / 2)


def entropy(p, q):
    sums = mpmath.fsum(p), mpmath.fsum(q)
    return mpmath.fsum(a / sums[0] * mpmath.log(a / sums[0] * sums[1] / b) for a, b in zip(p, q, strict=True))


def kl_div(p, q):
    return mpmath.fsum(a * mpmath.log(a / b) - a + b for a, b in zip(p, q, strict=True))


def rel_entr(p, q):
    return mpmath.fsum(a * mpmath.log(a / b) for a, b in zip(p, q, strict=True))


DIVERGENCES = {
    "jensenshannon": (distance.jensenshannon, jensenshannon),
    "entropy": (scipy.stats.entropy, entropy),
    "kl_div": (lambda p, q: np.sum(scipy.special.kl_div(p, q)), kl_div),
    "rel_entr": (lambda p, q: np.sum(scipy.special.rel_entr(p, q)), rel_entr),
}


def exact(reference, arguments, which):
    with mpmath.workdps(60):
        arguments = [[mpmath.mpf(float(v)) for v in a] for a in arguments]

        def moved(i, step):
            inner = [list(a) for a in arguments]
            inner[which][i] += step
            return reference(*inner)

        h = mpmath.mpf(10) ** -20
        return np.array([float((moved(i, h) - moved(i, -h)) / (2 * h)) for i in range(len(P))])


def near(dtype, away, scale):
    p = np.array(P, dtype)
    return p, (scale * p * (1.0 + away * np.array(TURNS))).astype(dtype)


@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")
@pytest.mark.parametrize("scale", [1.0, 1.3])
@pytest.mark.parametrize("away", [1e-5, 1e-3, 0.1, 0.6, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", DIVERGENCES)
def test_slopes_have_all_digits(name, which, dtype, away, scale):
    function, reference = DIVERGENCES[name]
    arguments = near(dtype, away, scale)
    value, gradient = ag.value_and_grad(function, argnums=which)(*arguments)
    plain = function(*arguments)
    assert type(value) is type(plain)
    assert gradient.dtype == dtype
    if np.isnan(plain):  # the root of a difference that rounding made negative
        assert np.isnan(value)
        return
    assert value == plain
    expected = exact(reference, arguments, which)
    # Sums of double precision that are not equal leave rounding errors in the difference of the shares.
    rounding = 8.0 + (16.0 / away if dtype is np.float64 and scale != 1.0 else 0.0)
    assert np.max(np.abs(gradient - expected)) <= rounding * np.finfo(dtype).eps * np.max(np.abs(expected))


@pytest.mark.parametrize("name", ["jensenshannon", "entropy"])
def test_second_derivatives_of_near_distributions(name):
    function = DIVERGENCES[name][0]
    p, q = near(np.float64, 0.02, 1.1)
    hessian = ag.hessian(lambda p: function(p, q) ** 2)(p)
    h = 1e-6
    for i in range(len(P)):
        step = h * (np.arange(len(P)) == i)
        gradient = ag.grad(lambda p: function(p, q) ** 2)
        np.testing.assert_allclose(
            hessian[i], (gradient(p + step) - gradient(p - step)) / (2 * h), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("which", [0, 1])
def test_far_and_near_elements_together(which):
    p, q = np.array([1.0, 2.0, 3.0, 1e-3]), np.array([1.0 + 1e-4, 5.0, 1e-2, 2e-3])
    for name in DIVERGENCES:
        function, reference = DIVERGENCES[name]
        gradient = ag.grad(function, argnums=which)(p, q)
        np.testing.assert_allclose(gradient, exact(reference, (p, q), which), rtol=1e-11)
