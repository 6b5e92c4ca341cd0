"""Orthogonal functions of complex arguments and degrees that are not whole: SciPy computes them as 2F1.

Its series near exp(+-i pi / 3) fails for some parameters. A slope there is right or refused.
"""

import contextlib

import mpmath
import numpy as np
import pytest

import arraygrad as ag
from arraygrad.scipy import NotDifferentiable, special

half = mpmath.mpf(1) / 2


def jacobi(n, alpha, beta, x):
    n, alpha, beta = mpmath.mpf(n), mpmath.mpf(alpha), mpmath.mpf(beta)
    return mpmath.binomial(n + alpha, n) * mpmath.hyp2f1(-n, n + alpha + beta + 1, alpha + 1, (1 - x) / 2)


FUNCTIONS = {
    "eval_legendre": (lambda n, x: jacobi(n, 0, 0, x), 0, False),
    "eval_chebyt": (lambda n, x: mpmath.hyp2f1(-n, n, half, (1 - x) / 2), 0, False),
    "eval_chebyu": (lambda n, x: (n + 1) * mpmath.hyp2f1(-n, n + 2, 3 * half, (1 - x) / 2), 0, False),
    "eval_gegenbauer": (
        lambda n, a, x: (
            mpmath.gamma(n + 2 * a) / mpmath.gamma(n + 1) / mpmath.gamma(2 * a)
            * mpmath.hyp2f1(-n, n + 2 * a, a + half, (1 - x) / 2)
        ), 1, False,
    ),
    "eval_jacobi": (jacobi, 2, False),
    "eval_sh_legendre": (lambda n, x: jacobi(n, 0, 0, 2 * x - 1), 0, True),
    "eval_sh_chebyt": (lambda n, x: mpmath.hyp2f1(-n, n, half, 1 - x), 0, True),
    "eval_sh_chebyu": (lambda n, x: (n + 1) * mpmath.hyp2f1(-n, n + 2, 3 * half, 1 - x), 0, True),
    "eval_sh_jacobi": (
        lambda n, p, q, x: jacobi(n, p - q, q - 1, 2 * x - 1) / mpmath.binomial(2 * n + p - 1, n), 2, True,
    ),
}  # fmt: skip
DEGREES = (-0.5, 0.5, 1.5, 2.3)
PARAMETERS = {0: [()], 1: [(0.75,), (1.5,), (2.0,)], 2: [(3.0, -3.0), (4.0, -2.0), (1.0, -2.0), (0.5, 1.3), (2.0, 2.0)]}
MEMBERS = [(name, n, more) for name, (_, count, _) in FUNCTIONS.items() for n in DEGREES for more in PARAMETERS[count]]


@pytest.mark.parametrize(("name", "degree", "more"), MEMBERS)
def test_slopes_are_right_or_refused(name, degree, more):
    reference, _, shifted = FUNCTIONS[name]
    ours = getattr(special, name)
    for radius in (0.92, 0.98, 1.06):
        for angle in (0.26, 0.33, 0.41, -0.34):
            w = radius * np.exp(1j * np.pi * angle)
            z = np.asarray(1.0 - w if shifted else 1.0 - 2.0 * w)
            found = None
            with contextlib.suppress(NotDifferentiable):
                found = ag.grad(lambda z: ours(degree, *more, z).real)(z)
            if found is not None and np.isfinite(found):
                exact = mpmath.diff(lambda x: reference(degree, *more, x), mpmath.mpc(complex(z)))
                assert abs(np.conj(found) - complex(exact)) <= 1e-5 * abs(exact), (radius, angle)


@pytest.mark.parametrize(("n", "p", "q", "z"), [(0.5, 1.0, -2.0, 0.8806427 + 0.96891353j)])
def test_values_that_contradict_each_other_are_refused(n, p, q, z):
    with pytest.raises(NotDifferentiable, match="eval_sh_jacobi: SciPy's values of 2F1"):
        ag.grad(lambda z: special.eval_sh_jacobi(n, p, q, z).real)(z)


@pytest.mark.parametrize("z", [1.5 + 0.1j, np.array([0.3 - 0.4j, 2.2 + 0.5j])])
@pytest.mark.parametrize(("n", "alpha", "beta"), [(-1.0, 2.0, -2.0), (-2.0, 3.0, -2.0), (1.0, -1.0, -1.0)])
def test_jacobi_functions_without_slope(n, alpha, beta, z):
    found = ag.grad(lambda z: ag.sum(special.eval_jacobi(n, alpha, beta, z).real))(z)
    np.testing.assert_array_equal(found, np.zeros_like(z))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_whole_degrees_and_real_arguments_are_not_refused(name):
    _, count, _ = FUNCTIONS[name]
    more = PARAMETERS[count][-1]
    ours = getattr(special, name)
    ring = np.exp(1j * np.pi * np.linspace(-0.45, 0.45, 19))
    for n in (0.0, 1.0, 2.0, 5.0, 3):
        assert np.all(np.isfinite(ag.grad(lambda z, n=n: ag.sum(ours(n, *more, 1.0 - 2.0 * z).real))(ring)))
    assert np.all(np.isfinite(ag.grad(lambda x: ag.sum(ours(0.5, *more, x)))(np.linspace(0.1, 0.9, 9))))
