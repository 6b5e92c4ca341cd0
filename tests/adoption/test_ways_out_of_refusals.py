"""What docs/adoption.md says to write in the place of what is refused: followed, it has the plain value's gradient.

The class: a line of the page's table of refusals x what the table says to write there. The line itself is refused, or
its gradient is right: never another one.
"""

import decimal
import fractions
import json
import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

integrate = pytest.importorskip("scipy.integrate")

PAGE = Path(__file__).parents[2] / "docs" / "adoption.md"
NUMBER, VECTOR = 0.7, np.array([0.3, 0.7, 1.1])
WEIGHTS = np.array([1.0, 2.0, 3.0])
OUTSIDE = np.ones(3)


def _after(y, call):
    """A number made of what a call gives and of its argument afterwards."""
    return call(y) * (np.sin(y) * WEIGHTS).sum()


def _shuffled(y, call):
    """A number made of the columns in another order."""
    found = call(y, np.random.default_rng(0))
    return ((y if found is None else found) * WEIGHTS).sum()


class Decay:
    """An equation whose rate a class or an object holds."""

    rate = 1.0

    @classmethod
    def of_class(cls, t, y):
        return -cls.rate * y

    def of_object(self, t, y):
        return -self.rate * y


class Held:
    of_math = math.exp
    of_own = staticmethod(lambda x: math.exp(x))


def rng():
    return np.random.default_rng(0)


def first(array, x):
    array[0] = x
    return (array * array).sum()


def by_class(k):
    Decay.rate = k
    try:
        return integrate.solve_ivp(Decay.of_class, (0.0, 1.0), [1.0], rtol=1e-10, atol=1e-10).y[0, -1]
    finally:
        Decay.rate = 1.0


def by_object(k):
    decay = Decay()
    decay.rate = k
    return integrate.solve_ivp(decay.of_object, (0.0, 1.0), [1.0], rtol=1e-10, atol=1e-10).y[0, -1]


def shuffled(x):
    y = x.reshape(3, 1) * 1.0
    rng().shuffle(y)
    return (y[:, 0] * WEIGHTS).sum()


# name -> (the refused line, what to write, where, a word of the table's row that says so)
ROWS = {
    "half precision": (lambda x: np.float16(x) * x, lambda x: x * x, NUMBER, "np.float16(x)"),
    "extended precision": (
        lambda x: (np.longdouble(x) * x).sum(),
        lambda x: (x.astype(np.float64) * x).sum(),
        VECTOR,
        "x.astype(dtype)",
    ),
    "copy from outside": (
        lambda x: first(OUTSIDE.copy(), x),
        lambda x: first(np.array(OUTSIDE), x),
        NUMBER,
        "np.array(X)",
    ),
    "class attribute in an equation": (by_class, by_object, NUMBER, "solve_ivp(self.rhs, ...)"),
    "normal": (
        lambda m: rng().normal(m, 2.0 * m),
        lambda m: m + 2.0 * m * rng().normal(),
        NUMBER,
        "mu + sigma * rng.normal()",
    ),
    "uniform": (
        lambda m: rng().uniform(m, 3.0 * m),
        lambda m: m + (3.0 * m - m) * rng().uniform(),
        NUMBER,
        "a + (b - a) * rng.uniform()",
    ),
    "permutation": (
        lambda x: (rng().permutation(x) * WEIGHTS).sum(),
        lambda x: (x[rng().permutation(len(x))] * WEIGHTS).sum(),
        VECTOR,
        "x[rng.permutation(len(x))]",
    ),
    "choice": (
        lambda x: (rng().choice(x, 3) * WEIGHTS).sum(),
        lambda x: (x[rng().choice(len(x), 3)] * WEIGHTS).sum(),
        VECTOR,
        "x[rng.choice(len(x), 3)]",
    ),
    "shuffle": (
        shuffled,
        lambda x: (x.reshape(3, 1)[rng().permutation(3)][:, 0] * WEIGHTS).sum(),
        VECTOR,
        "rng.shuffle(x)",
    ),
    "class attribute of math": (Held.of_math, Held.of_own, NUMBER, "staticmethod(lambda x: math.exp(x))"),
    "per cent": (lambda x: len("%.3f" % x) * x, lambda x: len(f"{x:.3f}") * x, NUMBER, 'f"{x:.3f}"'),  # noqa: UP031
    "matrix": (lambda x: (np.matrix(x) * np.matrix(x).T)[0, 0], lambda x: x @ x, VECTOR, "np.matrix"),
    "Decimal": (
        lambda x: float(decimal.Decimal(x) > 0) * x,
        lambda x: float(decimal.Decimal(float(ag.stop_gradient(x))) > 0) * x,
        NUMBER,
        "float(ag.stop_gradient(t))",
    ),
    "Fraction": (
        lambda x: float(fractions.Fraction(x) > 0) * x,
        lambda x: float(fractions.Fraction(float(ag.stop_gradient(x))) > 0) * x,
        NUMBER,
        "Fraction(t)",
    ),
    "json": (
        lambda x: (len(json.dumps([x])) > 2) * x,
        lambda x: (len(json.dumps([float(ag.stop_gradient(x))])) > 2) * x,
        NUMBER,
        "json.dumps(t)",
    ),
    "json of an element": (
        lambda x: (len(json.dumps([x[0]])) > 2) * x.sum(),
        lambda x: (len(json.dumps(np.asarray(ag.stop_gradient(x)).tolist())) > 2) * x.sum(),
        VECTOR,
        "np.asarray(ag.stop_gradient(t)).tolist()",
    ),
    "struct": (
        lambda x: len(struct.pack("d", x)) * x,
        lambda x: len(struct.pack("d", float(ag.stop_gradient(x)))) * x,
        NUMBER,
        'struct.pack("d", t)',
    ),
    "nditer": (
        lambda x: sum(float(i) for i in np.nditer(x)),
        lambda x: sum(i * i for i in x),
        VECTOR,
        "np.nditer(t)",
    ),
    "shuffle of columns": (
        lambda x: _shuffled(np.stack([x, x * x]), lambda y, rng: rng.shuffle(y, axis=1)),
        lambda x: _shuffled(np.stack([x, x * x]), lambda y, rng: y[:, rng.permutation(y.shape[1])]),
        VECTOR,
        "rng.shuffle(x, axis=1)",
    ),
    "read after it may be overwritten": (
        lambda x: _after(x * 2.0, lambda y: np.median(y, overwrite_input=True)),
        lambda x: _after(x * 2.0, lambda y: np.median(y.copy(), overwrite_input=True)),
        VECTOR[::-1].copy(),
        "np.median(y, overwrite_input=True)",
    ),
    "flat that overlaps": (
        lambda x: _after(x * 2.0, lambda y: y.flat.__setitem__(slice(1, None), y[:-1]) or 1.0),
        lambda x: _after(x * 2.0, lambda y: y.__setitem__(slice(1, None), y[:-1]) or 1.0),
        VECTOR,
        "y.flat[1:] = y[:-1]",
    ),
    "out= that overlaps": (
        lambda x: _after(x * 2.0, lambda y: np.concatenate([y[1:], y[:1]], out=y)[0]),
        lambda x: _after(x * 2.0, lambda y: y.__setitem__(..., np.concatenate([y[1:], y[:1]])) or y[0]),
        VECTOR,
        "np.concatenate([y[1:], y[:1]], out=y)",
    ),
}


def differences(f, at):
    """Central differences of the plain function."""
    step = 1e-6
    if isinstance(at, float):
        return (f(at + step) - f(at - step)) / (2 * step)
    return np.array([(f(at + step * unit) - f(at - step * unit)) / (2 * step) for unit in np.eye(at.size)])


@pytest.mark.parametrize("name", ROWS)
def test_what_the_page_says_to_write_has_the_right_gradient(name):
    _, written, at, _ = ROWS[name]
    assert np.allclose(ag.grad(written)(at), differences(written, at), rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore:the matrix subclass", "ignore:you are shuffling")
@pytest.mark.parametrize("name", ROWS)
def test_line_is_refused_or_right(name):
    line, _, at, _ = ROWS[name]
    try:
        gradient = ag.grad(line)(at)
    except (TypeError, ValueError, RuntimeError, struct.error):  # NotImplementedError is a RuntimeError
        return
    assert np.allclose(gradient, differences(line, at), rtol=1e-6, atol=1e-8)


@pytest.mark.skipif(not PAGE.exists(), reason="docs/ is not beside the tests (an installed copy)")
@pytest.mark.parametrize("name", ROWS)
def test_line_stands_in_the_table(name):
    table = PAGE.read_text().partition("## Refusals, and what to write instead")[2].partition("\n## ")[0]
    assert any(ROWS[name][3] in row for row in re.findall(r"^\| (.+) \|$", table, re.M))
