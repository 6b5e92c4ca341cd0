"""Functions of NumPy's with a protocol, as adopted calls see them: what stands in for them answers as they do.

The class: each public function of numpy, numpy.linalg and numpy.fft that has a protocol x what a program may do with
it: ask for its class, its attributes and its signature, hold it in a class, compare, copy and pickle it, call it with
lists by position and by name, and with what it refuses.
"""

import copy
import inspect
import pickle
import threading
import types

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.3, 0.6])


# What makes arrays: functions of their own stand in for these, as tests/adoption/test_adopted_arrays.py has it.
MAKERS = frozenset(
    """
    block broadcast_to copy diag diagflat empty_like full_like geomspace linspace logspace meshgrid ones_like repeat
    tile vander zeros_like
    """.split()
)


def functions():
    """(module, name) of each other function that has a protocol."""
    return [
        (module, name)
        for module in (np, np.linalg, np.fft)
        for name, value in sorted(vars(module).items())
        if hasattr(value, "_implementation") and not name.startswith("_") and name not in MAKERS
    ]


def adopted(f, x=X):
    """What f(x) returns in an adopted call."""
    found = []

    def shown(t):
        found.append(f(t))
        return np.sum(t)

    ag.grad(shown)(x)
    return found[0]


@pytest.mark.parametrize(("module", "name"), functions(), ids=lambda x: getattr(x, "__name__", x))
def test_answers(module, name):
    def answers(_):
        f = getattr(module, name)
        try:
            signature = str(inspect.signature(f))
        except ValueError:
            signature = None
        return [
            f.__name__, f.__doc__, f.__module__, f.__qualname__, repr(f).split(" at ")[0], signature, type(f),
            callable(f), isinstance(f, types.FunctionType), isinstance(f, types.BuiltinFunctionType),
            isinstance(f, np.ufunc),
            inspect.isroutine(f), inspect.isfunction(f), hasattr(f, "reduce"), hasattr(f, "_implementation"),
            f == getattr(module, name), f != getattr(module, name), copy.copy(f) == f, copy.deepcopy(f) == f,
            pickle.loads(pickle.dumps(f)) == f, len({f, getattr(module, name)}),
        ]  # fmt: skip

    assert adopted(answers) == answers(X)


def test_function_in_a_class_is_a_method_of_its_instances():
    def f(x):
        class Held:
            total = np.sum
            exponential = np.exp

            def __init__(self, a):
                self.a = a

            def __array__(self, dtype=None, copy=None):
                return self.a

        return Held(x * np.array([1.0, 2.0])).total() + Held(None).exponential(x[0])

    value, found = ag.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(found, [1.0 + np.exp(0.3), 2.0], rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.mean([x[0], x[1] ** 2]),
        lambda x: np.mean(a=[x[0], x[1] ** 2]),
        lambda x: np.mean((x[0], x[1] ** 2), axis=0),
        lambda x: np.sum(a=[[x[0]], [x[1]]], axis=(0, 1)),
        lambda x: np.dot([x[0], x[1]], [2.0, 3.0]) + np.dot(b=(x[0], x[1]), a=[2.0, 3.0]),
        lambda x: np.interp(x[0], range(3), [0.0, x[1], 1.0]),
        lambda x: np.trapezoid([x[0], x[1], 1.0], x=range(3)),
        lambda x: np.linalg.norm([x[0], 2.0 * x[1]]),
        lambda x: np.linalg.det(a=[[x[0], 1.0], [2.0, x[1]]]),
        lambda x: abs(np.fft.fft([x[0], x[1], 1.0])[1]),
        lambda x: np.average([x[0], x[1]], weights=[x[1], x[0]]),
        lambda x: np.concatenate([[x[0], 1.0], [x[1]]]).sum() + np.stack(arrays=[[x[0], x[1]], [1.0, x[0]]])[1, 1],
        lambda x: np.einsum("i,ij->j", [x[0], x[1]], [[1.0, x[0]], [2.0, 3.0]])[1],
        lambda x: np.linalg.multi_dot([[x[0], 1.0], [[x[1], 1.0], [2.0, 3.0]], [x[0], 2.0]]),
        lambda x: np.meshgrid([x[0], 2.0], [x[1], 3.0])[1].sum(),
        lambda x: np.clip([x[0], x[1]], a_min=[0.4, 0.0], a_max=None).sum(),
    ],
)
def test_lists_by_position_and_by_name(f):
    value, found = ag.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    expected = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.mean(),
        lambda x: np.mean([x[0], 1.0], nonsense=1),
        lambda x: np.reshape([x[0], 1.0], (3, 3)),
        lambda x: np.linalg.inv([[x[0], 1.0]]),
        lambda x: np.dot([x[0], 1.0], [1.0, 2.0, 3.0]),
        lambda x: np.concatenate(3),
        lambda x: np.apply_along_axis(lambda row: row.nonsense, 0, np.ones(3)),
    ],
)
def test_errors_are_those_of_numpy(call):
    with pytest.raises(Exception) as plain:  # noqa: PT011 (which one is compared below)
        call(X)

    def caught(x):
        with pytest.raises(type(plain.value)) as error:
            call(x)
        return type(error.value)

    assert adopted(caught) is type(plain.value)


def test_refused_call_runs_once():
    calls = []

    def refuse(row):
        calls.append(row)
        raise TypeError("not this one")

    def f(x):
        with pytest.raises(TypeError, match="not this one"):
            np.apply_along_axis(refuse, 0, np.ones(3))
        return np.sum(x)

    ag.grad(f)(X)
    assert len(calls) == 1


def test_function_kept_from_an_adopted_call_is_the_real_one_outside():
    kept = adopted(lambda x: np.mean)
    assert kept == np.mean
    assert np.mean == kept
    assert hash(kept) == hash(np.mean)
    assert kept(np.ones((2, 2)), axis=0).shape == (2,)
    assert kept([1.0, 3.0]) == 2.0
    assert type(kept([1.0, 3.0])) is np.float64

    results = []
    thread = threading.Thread(target=lambda: results.append(kept([2.0, 4.0])))
    thread.start()
    thread.join()
    assert results == [3.0]


def test_list_of_many_numbers_is_handed_on():
    items = [0.5] * 1000

    def f(x):
        return np.sum(items) * x[0] + np.sum(tuple(items)) * x[1]

    np.testing.assert_array_equal(ag.grad(f)(X), [500.0, 500.0])
