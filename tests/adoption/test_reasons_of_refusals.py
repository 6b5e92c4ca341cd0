"""Why a line is refused: what the error says of threads, tuples and seeds, and that what it says to write is right."""

from __future__ import annotations

import math
import random
import threading

import numpy as np
import pytest

import arraygrad as ag

PAIR = (np.zeros(2), 1.0)
LIST = [np.zeros(2), 1.0]


class Holds:
    def __init__(self, make):
        self.state = make((np.zeros(2), np.zeros(2)[:1]))

    def run(self, x):
        held = self.state[0]
        held[:] = x
        return (held**2).sum()


def into_a_tuple(x):
    PAIR[0][:] = x
    return PAIR[0].sum()


def into_a_list(x):
    LIST[0][:] = x
    return LIST[0].sum()


def test_the_tuple_that_holds_an_array_is_named_and_a_list_is_right():
    with pytest.raises(TypeError, match=r"The tuple PAIR holds it, .*: make it a list"):
        ag.grad(into_a_tuple)(0.7)
    assert ag.grad(into_a_list)(0.7) == 2.0
    assert type(LIST[0]) is np.ndarray
    with pytest.raises(TypeError, match=r"The tuple self.state holds it, .*: make it a list"):
        ag.grad(Holds(tuple).run)(0.7)
    np.testing.assert_allclose(ag.grad(Holds(list).run)(0.7), 4 * 0.7)


def in_a_thread(work):
    found = []

    def run():
        try:
            found.append(work())
        except TypeError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], TypeError):
        raise found[0]
    return found[0]


@pytest.mark.parametrize("number", [lambda t: math.sin(t), lambda t: float(t) ** 2])
def test_a_number_in_another_thread_names_the_thread(number):
    with pytest.raises(TypeError, match="This line runs in another thread than the transform"):
        ag.grad(lambda x: in_a_thread(lambda: number(x * 1.0)))(0.7)
    assert ag.grad(lambda x: number(x * 1.0))(0.7) == pytest.approx((number(0.7001) - number(0.6999)) / 2e-4)


def test_functions_of_numpy_are_recorded_in_another_thread():
    assert ag.grad(lambda x: in_a_thread(lambda: np.sin(x)))(0.7) == pytest.approx(math.cos(0.7))


def test_a_seed_has_no_gradient_and_its_value_is_one():
    with pytest.raises(TypeError) as told:
        ag.grad(lambda x: x * random.Random(x).random())(0.7)
    assert "random.Random(float(arraygrad.stop_gradient(x)))" in str(told.value)
    got = ag.grad(lambda x: x * random.Random(float(ag.stop_gradient(x))).random())(0.7)
    assert got == random.Random(0.7).random()


class Degrees(float):
    def __new__(cls, value):
        return float.__new__(cls, value)


def test_a_class_derived_from_float_is_named():
    with pytest.raises(TypeError, match="A class derived from float keeps a bare number"):
        ag.grad(lambda x: Degrees(x) * 2.0)(0.7)


MADE = {
    "KroghInterpolator": lambda i, x, y: i.KroghInterpolator(x, y),
    "Rbf": lambda i, x, y: i.Rbf(x, y),
}


class Holder:
    pass


def spellings(made):
    holder = Holder()
    holder.sp = made
    table, listed = {"sp": made}, [made]
    return {
        "name": lambda t: made(t),
        "attribute": lambda t: holder.sp(t),
        "item": lambda t: table["sp"](t),
        "item of a list": lambda t: listed[0](t),
        "result": lambda t: (lambda: made)()(t),
        "__call__": lambda t: holder.sp.__call__(t),
    }


@pytest.mark.parametrize("spelling", list(spellings(None)))
@pytest.mark.parametrize("name", MADE)
def test_an_object_of_scipys_from_outside_is_named_however_it_is_spelled(name, spelling):
    interpolate = pytest.importorskip("scipy.interpolate")
    x = np.linspace(0.0, 1.0, 7)
    call = spellings(MADE[name](interpolate, x, x**2))[spelling]
    with pytest.raises(TypeError, match=rf"scipy\.interpolate\.{name} is SciPy's own.*make it inside of the function"):
        ag.grad(lambda t: call(t).sum())(np.array([0.3, 0.4]))


@pytest.mark.parametrize("name", MADE)
def test_made_inside_of_the_function_it_is_recorded(name):
    interpolate = pytest.importorskip("scipy.interpolate")
    x = np.linspace(0.0, 1.0, 7)

    def f(t):
        return MADE[name](interpolate, x, x**2)(t).sum()

    at, e = np.array([0.3, 0.4]), 1e-6
    steps = [(f(at + e * d) - f(at - e * d)) / (2 * e) for d in np.eye(2)]
    np.testing.assert_allclose(ag.grad(f)(at), steps, rtol=1e-6)


class Averaged:
    def __init__(self):
        self.mean = np.zeros(2)

    def loss(self, w, x):
        self.mean = np.array(ag.stop_gradient(self.mean))
        h = np.tanh(x @ w)
        self.mean *= 0.9
        self.mean += 0.1 * h.mean(axis=0)
        return ((h - self.mean) ** 2).sum()


def test_a_copy_of_what_an_earlier_call_has_put_there_serves_in_each_call():
    x = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    start = np.linspace(0.1, 0.6, 6).reshape(3, 2)
    by_steps, by_transform, plain = Averaged(), Averaged(), Averaged()
    w, v = ag.tensor(start, requires_grad=True), start.copy()
    for _ in range(3):
        w.grad = None
        ag.adopt(by_steps.loss)(w, x).backward()
        gradient = ag.grad(by_transform.loss)(v, x)
        np.testing.assert_allclose(w.grad.array, gradient, rtol=1e-12)
        e = 1e-6
        mean = plain.mean
        for place in np.ndindex(v.shape):
            moved = np.zeros_like(v)
            moved[place] = e
            values = []
            for sign in (1.0, -1.0):
                plain.mean = mean
                values.append(plain.loss(v + sign * moved, x))
            np.testing.assert_allclose(gradient[place], (values[0] - values[1]) / (2 * e), rtol=1e-6, atol=1e-9)
        plain.mean = mean
        plain.loss(v, x)
        with ag.no_grad():
            w -= 0.1 * w.grad
        v = v - 0.1 * gradient
    assert isinstance(by_steps.loss(v, x), float)
