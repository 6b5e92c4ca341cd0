"""Third derivatives of squares and cubes that are zero: powers of what a model gives minus what it should give.

The class: functions whose derivative in their end point is a density (tails of distributions, incomplete functions) x
powers 2 and 3 x every third derivative by the end point and the shapes, at an exact fit. There the gradient that comes
back to the function is zero, and its own derivatives are not. The expected numbers are sums of products of mpmath's
derivatives of the function.
"""

import itertools

import mpmath
import numpy as np
import pytest

import arraygrad as ag
import arraygrad.scipy.special as special
import arraygrad.scipy.stats as stats


def of_t(df, t):
    inner = mpmath.hyp2f1(0.5, (df + 1) / 2, mpmath.mpf(3) / 2, -t * t / df)
    return 0.5 + t * mpmath.gamma((df + 1) / 2) * inner / (mpmath.sqrt(mpmath.pi * df) * mpmath.gamma(df / 2))


def of_gamma(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def of_beta(a, b, x):
    return mpmath.betainc(a, b, 0, x, regularized=True)


CASES = {
    "stdtr": (special.stdtr, of_t, (3.0, 0.7)),
    "gammainc": (special.gammainc, of_gamma, (1.5, 2.0)),
    "gammaincc": (special.gammaincc, lambda a, x: 1 - of_gamma(a, x), (2.5, 2.0)),
    "betainc": (special.betainc, of_beta, (1.5, 2.0, 0.3)),
    "t.cdf": (stats.t.cdf, lambda x, df: of_t(df, x), (0.7, 3.0)),
    "t.sf": (stats.t.sf, lambda x, df: 1 - of_t(df, x), (-0.4, 5.0)),
    "t.logcdf": (stats.t.logcdf, lambda x, df: mpmath.log(of_t(df, x)), (0.7, 3.0)),
    "gamma.cdf": (stats.gamma.cdf, lambda x, a: of_gamma(a, x), (0.7, 1.7)),
    "chi2.sf": (stats.chi2.sf, lambda x, df: 1 - of_gamma(df / 2, x / 2), (1.2, 3.0)),
}


def derivatives(formula, at):
    """{indices: derivative} to order 2."""
    n, found = len(at), {}
    with mpmath.workdps(30):
        point = tuple(map(mpmath.mpf, at))
        for order in (1, 2):
            for which in itertools.combinations_with_replacement(range(n), order):
                counts = tuple([which.count(i) for i in range(n)])
                found[which] = float(mpmath.diff(lambda *u: formula(*u), point, counts))
    return found


@pytest.mark.parametrize("name", CASES)
def test_third_derivatives_at_an_exact_fit(name):
    f, formula, at = CASES[name]
    n, aim = len(at), float(f(*at))

    def power(p):
        return lambda u: (f(*[u[i] for i in range(n)]) - aim) ** p

    d = derivatives(formula, at)
    squares = ag.jacobian(ag.hessian(power(2)))(np.array(at))
    cubes = ag.jacobian(ag.hessian(power(3)))(np.array(at))
    for i, j, k in itertools.product(range(n), repeat=3):
        one, two, three = (d[(i,)], d[(j,)], d[(k,)])
        of_pairs = [d[tuple(sorted(pair))] for pair in ((j, k), (i, k), (i, j))]
        expected = 2.0 * (one * of_pairs[0] + two * of_pairs[1] + three * of_pairs[2])
        assert squares[i, j, k] == pytest.approx(expected, rel=1e-6, abs=1e-8)
        assert cubes[i, j, k] == pytest.approx(6.0 * one * two * three, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", ["stdtr", "t.cdf", "gamma.cdf"])
def test_elements_that_are_not_taken_stay_out(name):
    """Densities and their slopes may be infinite at an end of the support: that does not count for others."""
    f, _, at = CASES[name]
    place = 1 if name == "stdtr" else 0
    ends = {"stdtr": [0.0], "t.cdf": [0.0, np.inf], "gamma.cdf": [0.0]}[name]
    aim = float(f(*at))

    def g(u, end):
        given = [u[i] for i in range(len(at))]
        given[place] = np.stack([given[place], end + 0.0 * u[place]])
        return (f(*given)[0] - aim) ** 2

    expected = ag.hessian(lambda u: (f(*[u[i] for i in range(len(at))]) - aim) ** 2)(np.array(at))
    for end in ends:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(ag.hessian(lambda u, e=end: g(u, e))(np.array(at)), expected, rtol=1e-9)
