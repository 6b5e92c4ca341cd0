"""Long chains: functions that hold functions, and numbers computed of numbers, hundreds of steps deep.

The class: how functions hold one another (closures, decorators, partials, bound methods, defaults) x depth, in an
adopted call; questions about numbers (`isinstance(t, ...)`, `hasattr`, attributes) after long chains of operators that
use the same number twice (`t = t * t`), whose every step doubles the number of ways back.
"""

import functools
import math
import sys

import numpy as np
import pytest

import arraygrad as ag

DEEP = 300  # plain calls nest twice as deep


def exp(x):
    return math.exp(0.001 * x)


def closures(f):
    return lambda x: f(x) * 1.001


def decorated(f):
    @functools.wraps(f)
    def outer(x):
        return f(x) * 1.001

    return outer


def defaults(f):
    def outer(x, f=f):
        return f(x) * 1.001

    return outer


def keyword_defaults(f):
    def outer(x, *, f=f):
        return f(x) * 1.001

    return outer


def times(f, x):
    return f(x) * 1.001


def partials(f):
    return lambda x: functools.partial(times, f)(x)


@pytest.mark.parametrize("hold", [closures, decorated, defaults, keyword_defaults, partials])
def test_stand_ins_reach_the_innermost_function(hold):
    f = exp
    for _ in range(DEEP):
        f = hold(f)
    value = f(1.5)
    found, gradient = ag.value_and_grad(f, adopt=True)(1.5)
    assert found == pytest.approx(value, rel=1e-14)
    assert gradient == pytest.approx(0.001 * value, rel=1e-12)
    assert f(1.5) == value
    assert type(f(1.5)) is float


def test_as_deep_as_the_plain_call_may_be():
    """The search for names does not nest with the functions: it takes no more of the stack for more of them."""
    f = exp
    for _ in range(sys.getrecursionlimit() - 400):
        f = closures(f)
    try:
        value = f(1.5)
    except RecursionError:
        pytest.skip("the plain call is too deep for this stack")
    assert ag.value_and_grad(f, adopt=True)(1.5)[0] == pytest.approx(value, rel=1e-12)


QUESTIONS = {
    "isinstance": lambda t: isinstance(t, np.floating),
    "isinstance of several": lambda t: isinstance(t, (int, np.float32, np.floating)),
    "type": lambda t: type(t) is float,
    "hasattr": lambda t: hasattr(t, "shape"),
}
STEPS = {
    "t * t": lambda t: t * t,
    "t + t": lambda t: (t + t) * (t - t * t),
    "-t * abs(t)": lambda t: -t * abs(t),
}


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_number_is_does_not_take_longer_for_every_way_back(question, step, kind):
    answers = []

    def f(x):
        t, found = x, []
        for _ in range(60):
            t = STEPS[step](t)
            found.append(QUESTIONS[question](t))
        answers.append(found)
        return t

    x = kind(0.99)
    with np.errstate(all="ignore"):
        f(x)
        ag.grad(f, adopt=True)(x)
    assert answers[0] == answers[1]
