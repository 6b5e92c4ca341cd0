"""Gradients of NumPy's functions of polynomials, and evenly spaced numbers, compiled: held to the plain ones and to
differences."""

import numpy as np
import pytest
from numpy_outcomes import LAYOUTS

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.ops import OPS


def number(value, dtype):
    return np.asarray(value, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [1, 2, 5, 50])
def test_spaced_numbers_are_those_of_the_table(dtype, endpoint, num):
    own = OPS["linspace"].entry.forward
    for a, b in ((0.3, 2.7), (-1.0, 1.0), (2.0, 2.0), (np.nan, 1.0), (0.0, np.inf), (1e38, -1e38), (-0.0, 0.0)):
        for ends in ((number(a, dtype), number(b, dtype)), (number(a, dtype), b), (a, number(b, dtype))):
            got = try_call(OPS["linspace"], (*ends, num, None, None, endpoint))
            if got is not None:
                with np.errstate(all="ignore"):
                    expected = own(np, *ends, num, None, None, endpoint)
                assert got.dtype == expected.dtype == dtype
                assert got.tobytes() == expected.tobytes()
    assert try_call(OPS["linspace"], (number(0.5, dtype), 2.0, num, None, None, endpoint)) is not None


def test_spaced_numbers_of_other_arguments_are_left_to_the_table():
    one, single, row = np.asarray(1.0), np.asarray(1.0, np.float32), np.ones(1)
    for args in (
        (one, single, 5, None, None, True),
        (one, 2.0, 0, None, None, True),
        (one, 2.0, 5.0, None, None, True),
        (one, 2.0, 5, np.dtype("f4"), None, True),
        (one, 2.0, 5, None, "cpu", True),
        (one, 2.0, 5, None, None, 1),
        (one, row, 5, None, None, True),
        (one, 1j, 5, None, None, True),
        (1.0, 2.0, 5, None, None, True),
    ):
        assert try_call(OPS["linspace"], args) is None


RULES = {
    "polyadd": (np.polyadd, [4, 2]),
    "polysub": (np.polysub, [2, 4]),
    "polysub of one": (lambda x: np.polysub(x, np.ones(3)), [3]),
    "polyint": (lambda x: np.polyint(x, 2), [4]),
    "polyder": (lambda x: np.polyder(x, 2), [5]),
    "polyval": (lambda p, x: np.polyval(p, x.reshape((2, 3))), [4, 6]),
    "polyval of one": (np.polyval, [1, 3]),
    "vander": (lambda x: np.vander(x, 4), [3]),
    "vander, increasing": (lambda x: np.vander(x, 5, increasing=True), [3]),
    "poly": (np.poly, [6]),
    "linspace": (lambda x: np.linspace(x[0], x[1], 7, endpoint=False), [2]),
    "ag.linspace": (lambda x: ag.linspace(x[0], 2.0, 7), [2]),
    "logspace": (lambda x: np.logspace(x[0], x[1], 7), [2]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("call", "sizes"), RULES.values(), ids=RULES)
def test_gradients_are_those_of_the_plain_rules(call, sizes, dtype, layout):
    def run():
        generator = np.random.default_rng(7)
        leaves = [ag.tensor(generator.normal(size=n).astype(dtype), requires_grad=True) for n in sizes]
        result = call(*leaves)
        weights = LAYOUTS[layout](np.cos(np.arange(result.size)).reshape(result.shape).astype(result.dtype))
        return [g.numpy() for g in ag.autograd.grad(result, leaves, ag.asarray(weights))]

    ours = run()
    before = set_fast_paths(False)
    try:
        plain = run()
    finally:
        set_fast_paths(before)
    for a, b in zip(ours, plain, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape) == (np.dtype(dtype), b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-5 * (dtype == "float32"))


def gradient(call, *values):
    leaves = [ag.tensor(np.asarray(v), requires_grad=True) for v in values]
    result = call(*leaves)
    weights = np.cos(1.0 + np.arange(result.size)).reshape(result.shape)
    total = (result * weights).sum()
    return [g.numpy() for g in ag.autograd.grad(total.real, leaves)]


def differences(call, *values, step=1e-6):
    """The same by central differences of NumPy's own functions."""
    found = []
    for i, value in enumerate(values):
        g = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = [np.array(v) for v in values]
                moved[i][at] += sign * step
                result = call(*moved)
                ends.append((result * np.cos(1.0 + np.arange(result.size)).reshape(result.shape)).sum().real)
            g[at] = (ends[0] - ends[1]) / (2 * step)
        found.append(g)
    return found


GENERATOR = np.random.default_rng(11)
BY_DIFFERENCES = {
    "poly": (np.poly, [GENERATOR.normal(size=6)]),
    "poly of equal roots": (np.poly, [np.array([1.5, -0.5, 1.5, 1.5])]),
    "roots": (np.roots, [np.array([2.0, 1.0, 3.0, -4.0, 5.0, 0.5])]),
    "roots that are real": (np.roots, [np.poly([0.5, -1.5, 3.0, 2.0])]),
    "a fit": (lambda x, y: np.polyfit(x, y, 2), [np.sort(GENERATOR.normal(size=8)), GENERATOR.normal(size=8)]),
    "a fit of two": (lambda x, y: np.polyfit(x, y, 3), [np.linspace(-1.0, 2.0, 7), GENERATOR.normal(size=(7, 2))]),
    "a fit through all": (lambda x, y: np.polyfit(x, y, 3), [np.linspace(-1.0, 2.0, 4), GENERATOR.normal(size=4)]),
    "a mean": (lambda x, y: np.polyfit(x, y, 0), [np.linspace(-1.0, 2.0, 4), GENERATOR.normal(size=4)]),
}


@pytest.mark.parametrize(("call", "values"), BY_DIFFERENCES.values(), ids=BY_DIFFERENCES)
def test_gradients_are_those_of_differences(call, values):
    for ours, expected in zip(gradient(call, *values), differences(call, *values), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=1e-7)


def test_the_gradient_of_a_fit_of_high_degree_keeps_its_digits():
    # The columns of the powers of points in [0, 1] are nearly dependent: what is squared on the way loses all digits.
    x, degree = np.linspace(0.0, 1.0, 40), 11
    g = np.zeros(degree + 1)
    g[-1] = 1.0
    y = ag.tensor(np.sin(x), requires_grad=True)
    np.polyfit(x, y, degree).backward(ag.tensor(g))
    # Rows of the pseudoinverse give back the coefficients of the powers themselves: that of 1 here.
    powers = np.vander(x, degree + 1)
    np.testing.assert_allclose(powers.T @ y.grad.numpy(), g, atol=1e-6)


def test_the_gradient_of_large_and_of_small_roots_is_in_range():
    p = np.poly([1e90, 2e90, 3e90])  # whose fourth power overflows
    (g,) = gradient(np.roots, p)
    assert np.isfinite(g).all()
    assert g.any()


def test_equal_roots_have_no_finite_gradient():
    (g,) = gradient(np.roots, np.array([1.0, -2.0, 1.0]))
    assert not np.isfinite(g).any()


def test_the_polynomial_of_no_roots_is_one():
    assert np.poly(ag.tensor(np.zeros(0), requires_grad=True)) == 1.0


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2), (0, 0)])
def test_roots_that_are_no_vector_are_refused_as_by_numpy(shape):
    with pytest.raises(ValueError, match="input must be 1d or non-empty square 2d array"):
        np.poly(ag.tensor(np.ones(shape), requires_grad=True))
