"""Comparisons of Python's numbers give bool, and of NumPy's scalars numpy.bool, as in a plain call.

The class: what a program does with the outcome of a comparison x how the number was made x whether the argument is a
float or a scalar of NumPy's. The reference is the plain call, whose outcome is the same at the point and around it.
"""

from __future__ import annotations

import json
import math
import operator
import statistics

import numpy as np
import pytest

import arraygrad as ag

# What a program does with outcomes p and q, which are True, and r, which is False.
USES = {
    "sum": lambda p, q, r: p + q + r,
    "difference": lambda p, q, r: p - r,
    "count": lambda p, q, r: sum([p, q, r]),
    "add in place": lambda p, q, r: operator.iadd(p, q),
    "is": lambda p, q, r: 2.0 if p is True else 3.0,
    "is not": lambda p, q, r: 2.0 if r is not False else 3.0,
    "isinstance": lambda p, q, r: 2.0 if isinstance(p, bool) else 3.0,
    "isinstance of int": lambda p, q, r: 2.0 if isinstance(r, int) else 3.0,
    "type": lambda p, q, r: 2.0 if type(p) is bool else 3.0,
    "negative": lambda p, q, r: -p,
    "invert": lambda p, q, r: ~p,
    "product": lambda p, q, r: p * q * 3,
    "shift": lambda p, q, r: p << 2,
    "power": lambda p, q, r: 2 ** (p + q),
    "quotient": lambda p, q, r: p / (q + 1),
    "floor": lambda p, q, r: p // q,
    "remainder": lambda p, q, r: (p + q) % 2 + 1,
    "and": lambda p, q, r: (p & q) + 1,
    "or": lambda p, q, r: (p | r) + (p ^ q),
    "item": lambda p, q, r: [2.0, 3.0][p],
    "key": lambda p, q, r: {True: 2.0, False: 3.0}[r],
    "json": lambda p, q, r: len(json.dumps([p])),
    "text": lambda p, q, r: len(repr(p)) + len(f"{p:d}" if isinstance(p, int) else ""),
    "max": lambda p, q, r: max(p, r) + 1,
    "bits": lambda p, q, r: p.bit_length() if hasattr(p, "bit_length") else 3,
    "select": lambda p, q, r: np.where(p, 2.0, 3.0),
    "array": lambda p, q, r: np.array([p, q, r]).sum(),
    "all": lambda p, q, r: all([p, q]) + any([r, p]),
    "mean": lambda p, q, r: statistics.fmean([p, q, r]),
}
# How a number is made of the argument, which is 0.7.
MADE = {
    "argument": lambda x: x,
    "product": lambda x: 2.0 * x,
    "by an integer": lambda x: 3 * x - x,
    "two of the argument": lambda x: x * x + x / 2,
    "power": lambda x: x**2 + 0.5,
    "unary": lambda x: abs(-x) + (+x),
    "remainder": lambda x: x % 0.5 + x // 0.5,
    "in place": lambda x: operator.iadd(x, 0.25),
    "math": lambda x: math.exp(x) - 1.0,
    "float": lambda x: float(x) * 1.5,
    "float of a scalar": lambda x: float(np.exp(x)),
    "sum": lambda x: sum([x, x]),
    "numpy": lambda x: np.exp(x) - 1.0,
    "item": lambda x: np.array([x, x])[1],
    "scalar beside": lambda x: np.float64(2.0) * x,
    "scalar on the right": lambda x: x * np.float64(2.0),
    "ufunc": lambda x: np.add(x, 0.5),
    "real": lambda x: complex(x, 1.0).real,
    "imag": lambda x: complex(1.0, x).imag,
    "min": lambda x: min(x, 2.0),
    "rounded": lambda x: round(x * 1.5, 3),
}
POINTS = {"float": 0.7, "float64": np.float64(0.7), "float32": np.float32(0.7)}


@pytest.mark.filterwarnings("ignore:.*a value that is being differentiated is compared with one")
@pytest.mark.filterwarnings("ignore:.*round")
@pytest.mark.filterwarnings("ignore:Bitwise inversion '~' on bool:DeprecationWarning")  # from Python 3.12 on
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("use", USES)
def test_outcomes_are_as_in_the_plain_call(use, made, point):
    x = POINTS[point]

    def function(x):
        y = MADE[made](x)
        return USES[use](y > 0.1, 0.2 <= y, y != y) * x

    try:
        plain = function(x)
    except (TypeError, AttributeError) as error:
        with pytest.raises(type(error)):
            ag.grad(function)(x)
        return
    value, gradient = ag.value_and_grad(function)(x)
    assert value == pytest.approx(plain, rel=1e-6)
    assert gradient == pytest.approx(plain / x, rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*a value that is being differentiated is compared with one")
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge])
@pytest.mark.parametrize("other", [0.7, 1, True, np.float64(0.7), np.float32(0.5), np.array([0.7, 1.0])], ids=repr)
def test_types_of_outcomes(compare, other):
    seen = []

    def function(x):
        y = 1.0 * x
        seen.extend(type(found) for found in (compare(y, other), compare(other, y), compare(y, x), compare(y, y)))
        return x

    function(0.7)
    plain = seen.copy()
    seen.clear()
    ag.grad(function)(0.7)
    assert seen == plain


def test_step_by_step_and_unadopted_comparisons_are_tensors():
    x = ag.tensor(0.7, requires_grad=True)
    assert isinstance(x > 0.1, ag.Tensor)
    seen = []
    ag.grad(lambda x: (seen.append(x > 0.1), x * x)[1], adopt=False)(0.7)
    assert isinstance(seen[0], ag.Tensor)


# What a Python float raises TypeError for, and an array without axes does not.
AS_ARRAYS = {
    "item": lambda x: x[0],
    "ellipsis": lambda x: x[...],
    "new axis": lambda x: x[None],
    "matmul": lambda x: x @ x,
    "matmul of a number": lambda x: 2.0 @ x,
    "list plus": lambda x: [1.0, 2.0] + x,
    "plus list": lambda x: x + [1.0, 2.0],
    "tuple plus": lambda x: (1.0, 2.0) + x,
    "list minus": lambda x: [1.0] - x,
    "list times": lambda x: [1.0, 2.0] * x,
    "times tuple": lambda x: x * (1.0, 2.0),
    "list over": lambda x: [1.0, 2.0] / x,
    "power of list": lambda x: [1.0, 2.0] ** x,
    "less than a list": lambda x: x < [1.0],
    "a list less": lambda x: [1.0] < x,
    "order of complex": lambda x: complex(x, 1.0) < 1.0,
    "order beside complex": lambda x: x < 1j,
    "iterated": lambda x: list(x),
    "length": lambda x: len(x),
}


@pytest.mark.parametrize("made", ["argument", "product", "math", "sum"])
@pytest.mark.parametrize("name", AS_ARRAYS)
def test_a_python_number_is_no_array(name, made):
    """Code for numbers and sequences goes on as in the plain call."""
    reached = []

    def function(x):
        y = MADE[made](x)
        try:
            AS_ARRAYS[name](y)
        except TypeError:
            return y * 3.0
        reached.append(name)
        return y * 5.0

    plain = function(0.7)
    value, gradient = ag.value_and_grad(function)(0.7)
    assert reached == []
    assert value == plain
    assert gradient == pytest.approx((function(0.7 + 1e-6) - function(0.7 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("name", ["plus list", "list times", "item", "less than a list"])
def test_a_scalar_of_numpy_is_as_in_the_plain_call(name):
    def function(x):
        try:
            found = AS_ARRAYS[name](x)
        except (TypeError, IndexError):
            return x * 3.0
        return x * 5.0 + np.sum(found)

    x = np.float64(0.7)
    assert ag.value_and_grad(function)(x)[0] == pytest.approx(function(x))


@pytest.mark.parametrize("digits", [1, 2, 3, 15])
@pytest.mark.parametrize("value", [0.285, 2.675, 1.005, 0.15, -2.5, 1e22 + 0.5, 0.5])
@pytest.mark.filterwarnings("ignore:.*rounded")
def test_round_is_pythons_of_a_float_and_numpys_of_a_scalar(value, digits):
    for x in (value, np.float64(value)):
        assert ag.value_and_grad(lambda x: round(x, digits) + 0.0 * x)(x)[0] == round(x, digits)


def test_right_sides_that_compare_are_not_kept_as_they_went_once():
    """Solvers keep right sides as programs between solutions: what compares takes its branch anew."""
    integrate = pytest.importorskip("scipy.integrate")

    def final(a, switch):
        def right(t, y):
            return -a * y * (1.0 + (t > switch) + (t > 2.0 * switch))

        found = integrate.solve_ivp(right, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-11, max_step=0.02)
        return found.y[0, -1]

    for switch in (0.3, 0.45, 0.3, 2.0):
        rate = 1.0 + max(0.0, 1.0 - switch) + max(0.0, 1.0 - 2.0 * switch)  # y(1) is exp(-a * rate)
        value, gradient = ag.value_and_grad(lambda a, s=switch: final(a, s))(0.7)
        assert value == pytest.approx(final(0.7, switch), rel=1e-12)
        assert gradient == pytest.approx(-rate * math.exp(-0.7 * rate), rel=1e-5)


def test_roots_of_functions_that_compare():
    optimize = pytest.importorskip("scipy.optimize")

    def root(a):
        return optimize.brentq(lambda x: x**3 + a * x * (1 + (x > 0.2) + (a > 0.5)) - 1.0, 0.0, 2.0, xtol=1e-13)

    for a in (0.7, 0.3, 0.7):
        slope = (root(a + 1e-6) - root(a - 1e-6)) / 2e-6
        assert ag.grad(root)(a) == pytest.approx(slope, rel=1e-6)
