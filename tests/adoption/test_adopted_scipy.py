"""SciPy's functions in adopted calls are those of arraygrad.scipy, and SciPy's own everywhere else.

Imports the public names of arraygrad. The reference is the plain call: its value, and differences of it.
"""

import math
import sys
import types

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag
from arraygrad.adoption import scipy_names
from arraygrad.adoption.table import STAND_INS

scipy = pytest.importorskip("scipy")
linalg = pytest.importorskip("scipy.linalg")
pytest.importorskip("scipy.stats")
pytest.importorskip("scipy.special")
LOGPDF = scipy.stats.norm.logpdf
X = np.asarray([0.5, 1.2])


def spread(x):
    return np.eye(2) * x[0] + 0.1 * x[1]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: linalg.cholesky(spread(x), lower=True).sum(),
        lambda x: scipy.linalg.expm(spread(x)).sum(),
        lambda x: scipy.stats.norm.cdf(x[0], loc=x[1]) + scipy.stats.norm.pdf(x[1]),
    ],
)
def test_functions_of_scipy_are_ours(f):
    pytest.importorskip("arraygrad.scipy")
    pytest.importorskip("scipy.stats")
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-6, atol=1e-8)
    assert globals()["linalg"] is sys.modules["scipy.linalg"]


@pytest.fixture
def room(monkeypatch):
    """A room arraygrad.scipy of one chapter with one function and one object, which say who was asked."""
    declared = types.ModuleType("arraygrad.scipy._declare")
    rule = types.SimpleNamespace(function=lambda a: "ours")
    declared.REGISTRY = {"linalg.det": rule, "linalg.Thing.method": rule}
    chapter = types.ModuleType("arraygrad.scipy.linalg")
    chapter.OBJECTS = {}
    package = types.ModuleType("arraygrad.scipy")
    package.CHAPTERS = ("linalg",)
    for module in (package, chapter, declared):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(scipy_names, "_chapters", lambda: package.CHAPTERS)
    monkeypatch.setattr(scipy_names, "_done", set())
    before = dict(STAND_INS)
    ag.adopt.clear()
    yield
    STAND_INS.clear()
    STAND_INS.update(before)
    ag.adopt.clear()


def test_other_code_and_threads_ask_scipy(room):
    kept = []

    def f():
        kept.append(linalg.det)
        return linalg.det(np.eye(2)), scipy.linalg.det(np.eye(2)), linalg.norm(np.ones(1))

    assert ag.adopt(f)() == ("ours", "ours", 1.0)
    assert f() == (1.0, 1.0, 1.0)
    assert kept[0](np.eye(2)) == 1.0
    assert kept[0].__name__ == "det"
    assert globals()["linalg"] is sys.modules["scipy.linalg"]


def likelihood_by_a_global(x):
    return LOGPDF(x[0], x[1]).sum()


def likelihood_by_a_cell():
    pdf = scipy.stats.norm.logpdf
    return lambda x: pdf(x[0], x[1]).sum()


@pytest.mark.parametrize("f", [likelihood_by_a_global, likelihood_by_a_cell()])
def test_a_bound_method_of_a_distribution_is_ours_wherever_it_is_kept(f):
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-6, atol=1e-8)
    assert globals()["LOGPDF"].__self__ is scipy.stats.norm


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (math.sin, math.cos(0.3)),
        (math.log, 1 / 0.3),
        (scipy.special.expit, 0.24445831169074586),
        (scipy.stats.norm.logpdf, -0.3),
        (np.linalg.norm, 1.0),
    ],
)
def test_a_function_of_math_or_scipy_itself_is_differentiated(f, slope):
    assert ag.grad(f, adopt=True)(0.3) == pytest.approx(slope, rel=1e-12)
