"""numpy.emath on Tensors: every function, inside and outside of the real domain, of every dtype."""

import itertools

import numpy as np
import pytest

import arraygrad as ag

# Arguments away from branch points; "mixed" has elements on both sides of the domain's end.
LOGARITHMIC = {"inside": [0.3, 1.7, 2.5], "outside": [-0.3, -1.7, -2.5], "mixed": [0.4, -1.2, 3.0]}
CIRCULAR = {"inside": [0.3, -0.7, 0.5], "outside": [1.3, -1.7, 2.5], "mixed": [0.4, -1.2, 3.0]}
FUNCTIONS = {
    "sqrt": (np.emath.sqrt, LOGARITHMIC), "log": (np.emath.log, LOGARITHMIC), "log2": (np.emath.log2, LOGARITHMIC),
    "log10": (np.emath.log10, LOGARITHMIC), "arccos": (np.emath.arccos, CIRCULAR),
    "arcsin": (np.emath.arcsin, CIRCULAR), "arctanh": (np.emath.arctanh, CIRCULAR),
    "logn of a number": (lambda x: np.emath.logn(2.5, x), LOGARITHMIC),
    "logn of the base": (lambda x: np.emath.logn(x, 3.5), LOGARITHMIC),
    "logn of both": (lambda x: np.emath.logn(x * x + 1.5, x), LOGARITHMIC),
    "power": (lambda x: np.emath.power(x, 2.5), LOGARITHMIC),
    "integer power": (lambda x: np.emath.power(x, 3), LOGARITHMIC),
    "negative integer power": (lambda x: np.emath.power(x, [-2, 1, 3]), LOGARITHMIC),
    "power of the exponent": (lambda x: np.emath.power([2.0, -3.0, 1.5], x), LOGARITHMIC),
    "power of both": (lambda x: np.emath.power(x, x), LOGARITHMIC),
    "scimath": (lambda x: np.lib.scimath.sqrt(x - 1.0), LOGARITHMIC),
}  # fmt: skip
WEIGHTS = np.array([0.7, -1.3, 2.1])


def cases():
    return list(itertools.product(FUNCTIONS, ("inside", "outside", "mixed")))


def real_of(values):
    """A real number of complex values, that depends on both parts."""
    return (WEIGHTS * values.real).sum() + (WEIGHTS[::-1] * values.imag).sum()


def slopes(f, x, h=1e-3):
    """By differences of the sixth order."""
    found = []
    for d in np.eye(x.size):
        at = [f(x + k * h * d) for k in (-3, -2, -1, 1, 2, 3)]
        found.append((-at[0] + 9 * at[1] - 45 * at[2] + 45 * at[3] - 9 * at[4] + at[5]) / (60 * h))
    return np.array(found)


@pytest.mark.parametrize(("name", "where"), cases())
def test_value_dtype_and_derivatives(name, where):
    function, points = FUNCTIONS[name]
    x = np.array(points[where])
    plain = function(x)
    found = function(ag.tensor(x, requires_grad=True))
    assert found.dtype == plain.dtype
    assert found.requires_grad
    np.testing.assert_allclose(found.detach().numpy(), plain, rtol=1e-15)
    total = lambda x: real_of(function(x))
    np.testing.assert_allclose(ag.grad(total)(x), slopes(total, x), rtol=1e-7, atol=1e-9)
    squares = lambda x: (ag.grad(total)(x) ** 2).sum()
    np.testing.assert_allclose(ag.grad(squares)(x), slopes(squares, x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision_numbers_and_scalars(name):
    function, points = FUNCTIONS[name]
    for where in ("inside", "outside"):
        x = np.array(points[where], np.float32)
        found = function(ag.tensor(x, requires_grad=True))
        assert found.dtype == function(x).dtype
        np.testing.assert_allclose(found.detach().numpy(), function(x), rtol=1e-5)
        assert ag.grad(lambda x: real_of(function(x)))(x).dtype == np.float32
        number = points[where][0]
        if name not in ("negative integer power", "power of the exponent"):
            np.testing.assert_allclose(function(ag.asarray(number)).numpy(), function(number))
        whole = ag.asarray(np.array([2, -3, 4]))
        np.testing.assert_allclose(function(whole).numpy(), function(whole.numpy()))


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
def test_complex_arguments(name):
    function, _ = FUNCTIONS[name]
    z = np.array([0.3 + 0.4j, -1.2 + 0.7j, 0.5 - 2.0j])
    found = function(ag.tensor(z, requires_grad=True))
    np.testing.assert_array_equal(found.detach().numpy(), function(z))
    along = lambda t: real_of(function(z + t[0] * (1.0 + 0.5j)))
    t = np.array([0.1])
    np.testing.assert_allclose(ag.grad(along)(t), slopes(along, t), rtol=1e-8)


@pytest.mark.parametrize(("name", "where"), cases())
def test_adopted_programs_and_lists(name, where):
    function, points = FUNCTIONS[name]
    x = np.array(points[where])
    expected = ag.grad(lambda x: real_of(function(x)))(x)
    np.testing.assert_allclose(ag.grad(lambda x: real_of(function(x)), adopt=True)(x), expected)
    if name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"):
        listed = lambda x: real_of(function([x[0], x[1], x[2]]))
        np.testing.assert_allclose(ag.grad(listed, adopt=True)(x), expected)


def test_the_functions_under_their_own_names():
    from numpy.lib.scimath import log, power

    run = lambda x: real_of(power(x, 0.5)) + real_of(log(x))
    x = np.array([-0.5, 0.7, -2.0])
    np.testing.assert_allclose(ag.grad(run, adopt=True)(x), slopes(run, x), rtol=1e-7)


def test_every_public_function_is_served():
    for name in np.lib.scimath.__all__:
        assert name in {key.split()[0] for key in FUNCTIONS}
