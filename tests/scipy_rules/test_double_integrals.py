"""Double integrals: the limits and the integrand may read the same values of the program, in every spelling.

The class: inner limits that are numbers, computed numbers, functions that read values of the program, x, or both;
times integrands that read these values, other ones, or take them as arguments; times outer limits that depend on them.
"""

import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad

import arraygrad as ag
from arraygrad.scipy import integrate

P = np.array([0.8, 1.3])

LIMITS = {
    "numbers": lambda a, b: (-0.5, 1.5),
    "computed numbers": lambda a, b: (-a, a * b),
    "a number and a function": lambda a, b: (-b, lambda x: b + 0.1 * x),
    "functions of the values": lambda a, b: (lambda x: -b, lambda x: b),
    "functions of both": lambda a, b: (lambda x: a * x - b, lambda x: b + x * x),
    "functions of x": lambda a, b: (lambda x: x - 1.0, lambda x: x + 2.0),
}
INTEGRANDS = {
    "the same values": (lambda a, b: lambda y, x: (x / a) ** 2 + y / b, False),
    "another value": (lambda a, b: lambda y, x: np.exp(-a * x * x) * y * y, False),
    "hypot": (lambda a, b: lambda y, x: np.hypot(x / a + 2.0, y / b), False),
    "arguments": (lambda a, b: lambda y, x, c, d: c * y * y + np.sin(d * x), True),
    "none": (lambda a, b: lambda y, x: x * x + y * y * y, False),
}
OUTER = {"fixed": lambda a, b: (0.2, 0.9), "computed": lambda a, b: (-a, a * b)}


CASES = [
    *itertools.product(LIMITS, INTEGRANDS, ["fixed"]),
    *itertools.product(["numbers", "functions of both"], INTEGRANDS, ["computed"]),
]


@pytest.mark.parametrize(("limits", "integrand", "outer"), CASES)
def test_gradients_are_those_of_differences(limits, integrand, outer):
    def f(p, integral=dblquad):
        a, b = p
        made, takes = INTEGRANDS[integrand]
        args = (a, b) if takes else ()
        return integral(made(a, b), *OUTER[outer](a, b), *LIMITS[limits](a, b), args)[0]

    e = 1e-5
    expected = [(f(P + s) - f(P - s)) / (2 * e) for s in np.eye(2) * e]
    value, found = ag.value_and_grad(f)(P) if any(np.abs(expected) > 0) else (f(P), np.zeros(2))
    np.testing.assert_allclose(value, f(P), rtol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-8)
    if np.any(np.abs(expected) > 0):
        stepwise = ag.grad(lambda p: f(p, integrate.dblquad), adopt=False)(P)
        np.testing.assert_allclose(stepwise, expected, rtol=2e-6, atol=1e-8)
