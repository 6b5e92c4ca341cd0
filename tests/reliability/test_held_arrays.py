"""Recorded writes into a Tensor over an array that the program still holds: Note [Memory that others read], (6).

The array shows what was written and has no gradient. The write goes on, and a warning says so. Nothing is said where
only Tensors hold the memory, of writes that are not recorded, and under no_grad.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag

TEXT = "the program still holds"


def over(array):
    return ag.asarray(array), array


# name -> a function that returns (a Tensor over an array, what holds the array)
HELD = {
    "asarray": lambda: over(np.zeros(4)),
    "asarray of a view": lambda: (lambda work: (ag.asarray(work[2:]), work))(np.zeros(6)),
    "asarray of rows reversed": lambda: (lambda work: (ag.asarray(work[::-1]), work))(np.zeros((4, 2))),
    "a view of the array is held": lambda: (lambda work: (ag.asarray(work), work[1:]))(np.zeros(4)),
    "numpy()": lambda: (lambda t: (t, t.numpy()))(ag.zeros(4)),
    "array": lambda: (lambda t: (t, t.array))(ag.zeros(4)),
    "a view of array": lambda: (lambda t: (t, t.array[:2]))(ag.zeros(4)),
    "numpy.asarray": lambda: (lambda t: (t, np.asarray(t)))(ag.zeros(4)),
    "a memoryview": lambda: (lambda t: (t, memoryview(t.array)))(ag.zeros(4)),
    "from_dlpack": lambda: (lambda t: (t, np.from_dlpack(t)))(ag.zeros(4)),
    "two Tensors": lambda: (lambda work: (ag.asarray(work), (ag.asarray(work), work)))(np.zeros(4)),
    "in a list": lambda: (lambda work: (ag.asarray(work), [work]))(np.zeros(4)),
    "requires float32": lambda: over(np.zeros(4, np.float32)),
}
FREE = {
    "a new array": lambda: (ag.asarray(np.zeros(4)), None),
    "a new view": lambda: (ag.asarray(np.zeros(8)[4:]), None),
    "a copy": lambda: (lambda work: (ag.asarray(work, copy=True), work))(np.zeros(4)),
    "tensor": lambda: (lambda work: (ag.tensor(work), work))(np.zeros(4)),
    "zeros": lambda: (ag.zeros(4), None),
    "a list": lambda: (ag.asarray([0.0, 0.0, 0.0]), None),
    "views of the Tensor": lambda: (lambda t: (t, (t[1:], t[:2], t.T)))(ag.asarray(np.zeros((4, 4)))),
    "computed from it": lambda: (lambda t: (t, t * 2.0))(ag.asarray(np.zeros(4))),
    "a copy was taken out": lambda: (lambda t: (t, t.numpy().copy()))(ag.zeros(4)),
    "numbers were taken out": lambda: (lambda t: (t, t.tolist()))(ag.zeros(4)),
}


def whole(t, x):
    t[...] = x


def item(t, x):
    t[0] = x


def row(t, x):
    t[1:][0] = x


def add(t, x):
    t += x


def filled(t, x):
    t.fill(x)


def at(t, x):
    np.add.at(t, [0], x)


def out(t, x):
    np.add(t, x, out=t)


def copyto(t, x):
    np.copyto(t, x)


WRITES = {write.__name__: write for write in (whole, item, row, add, filled, at, out, copyto)}


def told(write, t, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        write(t, x)
    return [str(w.message) for w in found]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("make", HELD.values(), ids=HELD)
def test_a_recorded_write_that_a_held_array_shows_is_told(make, write):
    t, held = make()
    x = ag.tensor(np.asarray(2.0, t.dtype), requires_grad=True)
    messages = told(write, t, x)
    assert len(messages) == 1
    assert TEXT in messages[0]
    assert "copy=True" in messages[0]
    assert f"in {write.__name__}" in messages[0]
    t.sum().backward()
    assert float(x.grad) == {"item": 1, "at": 1}.get(write.__name__, t[0].size if write is row else t.size) * (
        t[0].size if write in (item, at) else 1
    )
    del held


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("make", FREE.values(), ids=FREE)
def test_memory_that_only_tensors_hold_is_written_silently(make, write):
    t, held = make()
    x = ag.tensor(2.0, requires_grad=True)
    assert told(write, t, x) == []
    del held


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("make", HELD.values(), ids=HELD)
def test_writes_that_are_not_recorded_are_silent(make, write):
    t, held = make()
    assert told(write, t, np.asarray(2.0, t.dtype)) == []
    x = ag.tensor(np.asarray(2.0, t.dtype), requires_grad=True)
    with ag.no_grad():
        assert told(write, t, x) == []
    del held


def test_what_the_warning_advises_gives_the_gradient():
    work = np.zeros(3)

    def f(x):
        w = ag.asarray(work, copy=True)
        w[0] = 3.0 * x[0]
        return w.sum() + x[1]

    for adopt in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(ag.grad(f, adopt=adopt)(np.ones(2)), [3.0, 1.0])


def test_a_name_that_is_bound_anew_is_no_holder():
    def f(x):
        work = np.zeros(3)
        work = ag.asarray(work)
        work[0] = 3.0 * x[0]
        return work.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(ag.grad(f, adopt=False)(np.ones(2)), [3.0, 0.0])


def test_an_argument_of_a_transform_is_written_silently():
    def f(x):
        x[0] = 3.0 * x[1]
        return x.sum()

    array = np.ones(2)
    for adopt in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(ag.grad(f, adopt=adopt)(array), [0.0, 4.0])


def test_it_is_told_once_for_each_line():
    work = np.zeros(3)
    x = ag.tensor(1.0, requires_grad=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        w = ag.asarray(work)
        for i in range(3):
            w[i] = x
    assert len(found) == 1
