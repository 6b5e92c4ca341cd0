"""numpy.polynomial in adopted calls: its plain code is recorded, in points and coefficients, and drops no coefficient.

Imports the public names of arraygrad. The reference is the plain call: its value, and differences of it.
"""

import importlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from central_differences import central_differences
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial
from numpy.polynomial import chebyshev as cheb
from numpy.polynomial import hermite as herm
from numpy.polynomial import hermite_e as herme
from numpy.polynomial import laguerre as lag
from numpy.polynomial import legendre as leg
from numpy.polynomial import polynomial as poly

import arraygrad as ag

X = np.asarray([0.3, 0.7, -0.2])
C = np.asarray([1.0, -2.0, 0.5, 0.25])

OF_POINTS = {
    "polyval": lambda x: poly.polyval(x, C),
    "chebval": lambda x: cheb.chebval(x, C),
    "polyval2d": lambda x: poly.polyval2d(x, x * x, np.ones((2, 3))),
    "legval3d": lambda x: leg.legval3d(x, x * x, 2 * x, np.ones((2, 3, 2))),
    "hermgrid2d": lambda x: herm.hermgrid2d(x, x * x, np.ones((2, 3))),
    "polyvander": lambda x: poly.polyvander(x, 3) @ C,
    "chebvander": lambda x: cheb.chebvander(x, 3) @ C,
    "polyfromroots": lambda x: poly.polyfromroots(x),
    "polyvalfromroots": lambda x: poly.polyvalfromroots(x, np.asarray([1.0, 2.0])),
    "polyfit": lambda y: poly.polyfit(X, y, 1),
    "chebfit": lambda y: cheb.chebfit(X, y, 2),
    "Polynomial": lambda x: Polynomial(C, domain=[0, 2])(x),
    "Polynomial.fit": lambda y: Polynomial.fit(X, y, 1)(np.asarray([0.5, 1.0])),
    "by its full name": lambda x: np.polynomial.legendre.legval(x, C) + np.polynomial.Polynomial(C)(x),
}
OF_COEFFICIENTS = {
    "polyval": lambda c: poly.polyval(X, c),
    "chebval": lambda c: cheb.chebval(X, c),
    "legval": lambda c: leg.legval(X, c),
    "lagval": lambda c: lag.lagval(X, c),
    "hermval": lambda c: herm.hermval(X, c),
    "hermeval": lambda c: herme.hermeval(X, c),
    "polyder": lambda c: poly.polyder(c, 2),
    "polyint": lambda c: poly.polyint(c),
    "chebder": lambda c: cheb.chebder(c),
    "legint": lambda c: leg.legint(c),
    "polyadd": lambda c: poly.polyadd(c, c[:2] * 2),
    "polymul": lambda c: poly.polymul(c, c * 2),
    "legmul": lambda c: leg.legmul(c, c * 2),
    "polypow": lambda c: poly.polypow(c, 3),
    "polydiv": lambda c: poly.polydiv(c, C[:2])[0],
    "polyroots": lambda c: np.abs(poly.polyroots(c)),
    "cheb2poly": lambda c: cheb.cheb2poly(c),
    "poly2leg": lambda c: leg.poly2leg(c),
    "Polynomial": lambda c: (Polynomial(c) * Polynomial([1, 2.0]) + 1)(X),
    "Polynomial.deriv": lambda c: Polynomial(c).deriv()(X),
    "Polynomial.convert": lambda c: Polynomial(c).convert(kind=Chebyshev).coef,
    "Chebyshev": lambda c: Chebyshev(c, domain=[0, 2])(X) * Legendre(c)(X),
    "Laguerre": lambda c: Laguerre(c)(X) + Hermite(c).integ()(X) + HermiteE(c)(X),
}


def check(f, x):
    def loss(x):
        out = f(x)
        return np.sum(out * np.cos(np.arange(np.size(out)).reshape(np.shape(out))))

    value, gradient = ag.value_and_grad(loss, adopt=True)(x)
    np.testing.assert_allclose(value, loss(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, central_differences(loss, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", OF_POINTS)
def test_function_of_points_is_recorded(name):
    check(OF_POINTS[name], X)


@pytest.mark.parametrize("name", OF_COEFFICIENTS)
def test_function_of_coefficients_is_recorded(name):
    check(OF_COEFFICIENTS[name], C)


def test_second_derivatives_are_those_of_the_formula():
    hessian = ag.hessian(lambda c: Polynomial(c)(2.0) ** 2, adopt=True)(C)
    powers = 2.0 ** np.arange(4)
    np.testing.assert_allclose(hessian, 2 * np.outer(powers, powers), rtol=1e-14)


def test_without_adoption_the_refusal_names_it():
    with pytest.raises(TypeError, match="adopt=True"):
        ag.grad(lambda c: Polynomial(c)(2.0), adopt=False)(C)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: poly.polyval(2.0, poly.polymul(c, [1.0, 1.0])),
        lambda c: (Polynomial(c) + Polynomial(c))(2.0),
        lambda c: (Polynomial(c) * 2)(2.0),
        lambda c: Polynomial(c).trim()(2.0),
        lambda c: cheb.chebmul(c, c).sum(),
    ],
)
def test_outermost_coefficients_that_are_zero_are_not_cut_off_unseen(f):
    with pytest.raises(TypeError) as caught:
        ag.grad(f, adopt=True)(np.asarray([1.0, 2.0, 0.0]))
    said = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert any("would be cut off, but they require grad" in text for text in said)


def test_constants_lose_their_zeros_as_in_numpy():
    def f(c):
        return poly.polyval(2.0, poly.polymul(c, np.asarray([1.0, 2.0, 0.0])))

    np.testing.assert_allclose(ag.grad(f, adopt=True)(C), central_differences(f, C), rtol=1e-7)


def test_module_that_a_function_imports_by_a_relative_name_is_reached(tmp_path, monkeypatch):
    package = tmp_path / "relative_names"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("")
    (package / "made.py").write_text(
        "import numpy as np\ndef filled(x):\n    out = np.zeros(1)\n    out[0] = x[0]\n    return out\n"
    )
    (package / "inner" / "one.py").write_text(
        textwrap.dedent("""
            def f(x):
                from ..made import filled
                from . import two
                return (filled(x) * two.doubled(x)).sum()
        """)
    )
    (package / "inner" / "two.py").write_text("import math\ndef doubled(x):\n    return math.exp(x[1])\n")
    monkeypatch.syspath_prepend(tmp_path)
    one = importlib.import_module("relative_names.inner.one")
    importlib.import_module("relative_names.inner.two")
    importlib.import_module("relative_names.made")
    np.testing.assert_allclose(ag.grad(one.f, adopt=True)(X), [np.exp(0.7), 0.3 * np.exp(0.7), 0.0], rtol=1e-14)


@pytest.mark.parametrize(
    "way", ["from numpy.polynomial import chebyshev as p", "from numpy.polynomial.chebyshev import *"]
)
def test_the_first_adopted_call_of_a_process_refuses_too(way):
    program = f"""
import numpy as np
import arraygrad as ag
{way}
f = lambda c: (p.chebmul if "p" in globals() else chebmul)(c, c).sum()
try:
    print(ag.grad(f, adopt=True)(np.asarray([1.0, 2.0, 0.0])))
except TypeError as error:
    print("would be cut off" in str([error, *getattr(error, "__notes__", ())]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "True", done.stdout + done.stderr


POLY1D = {
    "list": lambda x: np.poly1d([x[0], x[1], 1.0])(2.0),
    "tuple": lambda x: np.poly1d((x[0], x[1], 1.0))(x[1]),
    "array": lambda x: np.poly1d(np.array([x[0], x[1]]))(2.0),
    "of the argument": lambda x: np.poly1d([1.0, 2.0, 3.0])(x[0] * x[1]),
    "product and sum": lambda x: (np.poly1d([x[0], 1.0]) * np.poly1d([x[1], x[0]]) + np.poly1d([x[1], 1.0]))(1.5),
    "derivative": lambda x: np.poly1d([x[0], x[1], 1.0]).deriv()(x[0]),
    "integral": lambda x: np.poly1d([x[0], x[1], 1.0]).integ()(2.0),
    "coefficients": lambda x: np.poly1d([x[0], x[1], 1.0]).c.sum() * np.poly1d([x[0], 1.0])[1],
    "of roots": lambda x: np.poly1d([x[0], x[1]], True)(2.0),
    "roots": lambda x: (np.poly1d([x[0], 3.0, x[1]]).r * np.array([1.0, 2.0])).sum(),
}


@pytest.mark.parametrize("f", POLY1D.values(), ids=POLY1D)
def test_poly1d_of_lists(f):
    x = np.array([0.7, 0.4])
    value, found = ag.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    for i, step in enumerate(1e-6 * np.eye(2)):
        assert found[i] == pytest.approx((f(x + step) - f(x - step)) / 2e-6, rel=1e-6)


def test_poly1d_cuts_no_coefficient_off_and_is_the_class_that_it_is():
    def f(x):
        p = np.poly1d([x[0], 1.0])
        assert isinstance(p, np.poly1d)

        class Mine(np.poly1d):
            pass

        assert issubclass(Mine, np.poly1d)
        assert isinstance(Mine([1.0, 2.0]), np.poly1d)
        return p(2.0)

    assert ag.grad(f)(np.array([0.7])) == pytest.approx([2.0])
    with pytest.raises(TypeError, match="would be cut off"):
        ag.grad(lambda x: np.poly1d([x[0] - 0.7, x[0], 1.0])(2.0))(np.array([0.7]))


@pytest.mark.parametrize("at", [0.0, 0.7, -1e-3])
@pytest.mark.parametrize("tolerance", [(), (0,), (1e-2,)])
@pytest.mark.parametrize(
    "trim", [poly.polytrim, cheb.chebtrim, leg.legtrim, lag.lagtrim, herm.hermtrim, herme.hermetrim]
)
def test_a_series_of_one_coefficient_keeps_its_slope_where_it_is_zero(trim, tolerance, at):
    f = lambda x: trim(x, *tolerance)[0]
    value, found = ag.value_and_grad(f, adopt=True)(np.array([at]))
    assert value == f(np.array([at]))
    assert found == pytest.approx([(f(np.array([at + 1e-6])) - f(np.array([at - 1e-6]))) / 2e-6])
