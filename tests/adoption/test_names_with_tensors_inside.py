"""Spellings of NumPy's and SciPy's that are called with Tensors inside: grids, polynomials of polynomials, ufuncs.

The reference is the plain call.
"""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Legendre, Polynomial

import arraygrad as ag

X = np.array([0.8, 0.5, 0.6, 0.3])
TIMES = np.linspace(0.0, 2.0, 8)


def into(values, write):
    """What is left in an array of `values` after a call that writes there."""
    y = np.zeros(4) + values
    write(y)
    return y.sum()


PROGRAMS = {
    "convert of a fit": lambda x: Polynomial.fit(TIMES, np.sin(TIMES * x[0]) * x[1], 3).convert()(0.7),
    "convert to another kind": lambda x: Polynomial.fit(TIMES, np.sin(TIMES * x[0]) * x[1], 3).convert(kind=Chebyshev)(
        0.7
    ),
    "convert from a domain": lambda x: Polynomial(x, domain=[0, 2]).convert()(0.7),
    "coefficients of convert": lambda x: Polynomial(x, domain=[0, 2]).convert().coef @ x,
    "convert to a domain": lambda x: Legendre(x).convert(domain=[0.0, 3.0])(0.7),
    "cast": lambda x: Chebyshev.cast(Polynomial(x, domain=[0, 2]))(0.7),
    "mgrid": lambda x: (np.mgrid[0 : x[0] : 3j, 0:1:2j] ** 2).sum(),
    "mgrid of three": lambda x: (
        (np.mgrid[0 : x[0] : 3j, x[1] : 1 : 2j, 0:2] ** 2).sum(axis=(1, 2, 3)) @ [1.0, 2.0, 3.0]
    ),
    "mgrid of one": lambda x: (np.mgrid[0 : x[0] : 3j] ** 2).sum(),
    "mgrid of constants": lambda x: (np.mgrid[0:3, 0:2] * x[0]).sum(),
    "poly1d of poly1d": lambda x: np.poly1d(x)(np.poly1d([1.0, 2.0]))(0.3),
    "poly1d of recorded poly1d": lambda x: np.poly1d(x)(np.poly1d([x[0], 2.0]))(0.3),
    "take of a range": lambda x: x.take(range(1, 4, 2)) @ [1.0, 2.0],
    "numpy.take of a range": lambda x: np.take(x, range(2)) @ [1.0, 2.0],
}


def differences(f):
    return [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_spelling_of_numpys(what):
    f = PROGRAMS[what]
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f), rtol=1e-6, atol=1e-8)


def test_ufuncs_of_scipy_have_their_attributes_methods_and_out():
    special = pytest.importorskip("scipy.special", reason="SciPy, which is optional, is not installed")
    programs = {
        "out": lambda x: into(x, lambda y: special.gamma(x, out=y)),
        "out by place": lambda x: into(x, lambda y: special.gamma(y, y)),
        "out of two": lambda x: into(x, lambda y: special.jv(1, x, out=y)),
        "out that overlaps": lambda x: into(x, lambda y: special.erf(y[:-1], out=y[1:])),
        "several": lambda x: into(x, lambda y: special.shichi(x, out=(y, None))),
        "outer": lambda x: (special.xlogy.outer(x, x[:2]) * np.arange(8.0).reshape(4, 2)).sum(),
        "attributes": lambda x: (special.gamma.nin + special.shichi.nout) * x.sum(),
    }
    for f in programs.values():
        value, gradient = ag.value_and_grad(f, adopt=True)(X)
        np.testing.assert_allclose(value, f(X), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(f), rtol=1e-6, atol=1e-8)
    with pytest.raises(TypeError, match=r"scipy\.special\.xlogy\.reduce: .*has no rule"):
        ag.grad(lambda x: special.xlogy.reduce(x), adopt=True)(X)
