"""Backwards of one Function, and rules of one primitive, that run at once and change what they read.

Imports arraygrad. Note [Function snapshots] (4b) in autograd/function_snapshots.py.
"""

import threading

import numpy as np
import pytest

import arraygrad as ag

X = np.array([1.0, 2.0, 3.0])
WAIT = 60  # seconds until a test that hangs fails


class Plan:
    def __init__(self):
        self.n = 0

    def step(self):
        self.n += 1
        return self.n


class Box(dict):
    def step(self):
        self["n"] = self.get("n", 0) + 1
        return self["n"]


class Worked:
    def __init__(self):
        self.work = np.zeros(1)

    def step(self):
        self.work[0] += 1
        return self.work[0]


class Listed:
    def __init__(self):
        self.seen = [0]

    def step(self):
        self.seen.append(self.seen[-1] + 1)
        return self.seen[-1]


STATES = [Plan, Box, Worked, Listed]


def on_ctx(state, during):
    """A Function that keeps the state on ctx. `during(n)` is called in backward."""

    class Same(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x, state):
            ctx.state = state
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            n = ctx.state.step()
            during(n)
            return (g * 2.0 if n > 100 else g), None

    return lambda x: Same.apply(x, state)


def in_closure(state, during):
    class Same(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            n = state.step()
            during(n)
            return g * 2.0 if n > 100 else g

    return Same.apply


def of_a_primitive(state, during):
    def rule(ans, x):
        def pull(g):
            n = state.step()
            during(n)
            return g * 2.0 if n > 100 else g

        return pull

    function = ag.primitive(lambda x: x * 1.0)
    function.defvjp(rule)
    return function


WAYS = [on_ctx, in_closure, of_a_primitive]


def run_beside(first, second):
    """Runs `first` in a thread, and `second` in this one; their errors (or None)."""
    errors = []

    def work():
        try:
            first()
            errors.append(None)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    error = None
    try:
        second()
    except Exception as raised:
        error = raised
    thread.join(WAIT)
    assert not thread.is_alive()
    return errors[0], error


def recorded(function):
    x = ag.tensor(X, requires_grad=True)
    return x, function(x).sum()


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("way", WAYS)
def test_a_call_finds_what_another_that_is_under_way_has_changed(way, kind):
    inside, done = threading.Event(), threading.Event()

    def during(n):
        if n == 1:
            inside.set()
            assert done.wait(WAIT)

    function = way(kind(), during)
    (x, of_x), (y, of_y), (z, of_z) = recorded(function), recorded(function), recorded(function)

    def meanwhile():
        assert inside.wait(WAIT)
        try:
            of_y.backward()
            of_z.backward()
        finally:
            done.set()

    assert run_beside(of_x.backward, meanwhile) == (None, None)
    for leaf in (x, y, z):
        np.testing.assert_array_equal(leaf.grad.numpy(), np.ones(3))


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_raises_has_changed_what_it_has_changed(way, kind):
    def during(n):
        if n == 1:
            raise ValueError("on purpose")

    function = way(kind(), during)
    (_, of_x), (y, of_y) = recorded(function), recorded(function)
    with pytest.raises(ValueError, match="on purpose"):
        of_x.backward()
    of_y.backward()
    np.testing.assert_array_equal(y.grad.numpy(), np.ones(3))


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("way", WAYS)
def test_what_the_program_had_changed_before_is_refused_while_another_call_is_under_way(way, kind):
    inside, done = threading.Event(), threading.Event()
    held = threading.local()
    number = {"k": 1.0}

    def during(n):
        if getattr(held, "waits", False):
            inside.set()
            assert done.wait(WAIT)

    def reading(n):
        during(n)
        return number["k"]

    function = way(kind(), reading)
    _, of_y = recorded(function)
    number["k"] = 2.0
    _, of_x = recorded(function)

    def first():
        held.waits = True
        of_x.backward()

    def meanwhile():
        assert inside.wait(WAIT)
        try:
            of_y.backward()
        finally:
            done.set()

    first_error, error = run_beside(first, meanwhile)
    assert first_error is None
    assert isinstance(error, RuntimeError)
    assert "another value now" in str(error)


@pytest.mark.parametrize("way", WAYS)
def test_a_call_inside_a_call_finds_what_that_one_has_changed(way):
    inner = []

    def during(n):
        if inner:
            inner.pop()()

    function = way(Plan(), during)
    (x, of_x), (y, of_y) = recorded(function), recorded(function)
    inner.append(of_y.backward)
    of_x.backward()
    for leaf in (x, y):
        np.testing.assert_array_equal(leaf.grad.numpy(), np.ones(3))
