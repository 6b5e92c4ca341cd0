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
    assert "random.Random(arraygrad.stop_gradient(x).item())" in "".join([str(told.value), *told.value.__notes__])
    got = ag.grad(lambda x: x * random.Random(ag.stop_gradient(x).item()).random())(0.7)
    assert got == random.Random(0.7).random()


class Degrees(float):
    def __new__(cls, value):
        return float.__new__(cls, value)


def test_a_class_derived_from_float_is_named():
    with pytest.raises(TypeError, match="A class derived from float keeps a bare number"):
        ag.grad(lambda x: Degrees(x) * 2.0)(0.7)
