"""Functions of NumPy's that adopted calls hand to Tensor themselves give what NumPy gives when it asks Tensor.

The class: every ufunc and every function with a protocol that numpy and numpy.linalg show, with one or two positional
arguments of each kind that is handed on (Tensors, plain arrays, numbers, tuples) and with axis= and keepdims=. The
reference is the same call where NumPy finds the protocol: values, gradients, dtypes, types and texts of errors.
"""

import numpy
import pytest

import arraygrad as ag
from arraygrad.adoption.of_lists import set_direct_calls
from arraygrad.core.protocols import set_compiled_protocols

DISPATCHED = type(numpy.mean)
UNUSED = {"save", "savez", "savez_compressed", "savetxt"}  # write files
FUNCTIONS = {
    f"{module.__name__}.{name}": value
    for module in (numpy, numpy.linalg)
    for name, value in sorted(vars(module).items())
    if isinstance(value, (numpy.ufunc, DISPATCHED)) and name not in UNUSED
}
A = numpy.array([[1.25, 0.5, 0.75], [0.375, 1.5, 0.625], [0.875, 0.25, 1.75]])
ROW = numpy.array([0.5, 0.25, 0.875])
PLAIN = numpy.array([[0.75, 0.5, 1.25], [1.5, 0.25, 0.5], [0.125, 2.0, 0.75]])
CALLS = [
    ((A,), {}), ((ROW,), {}), ((A[0, 0],), {}), ((A, A), {}), ((ROW, ROW), {}), ((A, PLAIN), {}), ((PLAIN, A), {}),
    ((A, 2.0), {}), ((2.0, A), {}), ((A, 1), {}), ((A, (1, 0)), {}), ((A, (1,)), {}), ((2, A), {}), ((A, True), {}),
    ((A,), {"axis": 0}), ((A,), {"axis": -1, "keepdims": True}), ((A,), {"axis": (0, 1)}), ((ROW,), {"axis": 3}),
    ((A, 1), {"axis": 0}), ((A, 0.5), {"axis": -1}), ((A, ROW), {"axis": 1}), ((A,), {"keepdims": True}),
]  # fmt: skip


def leaves(found):
    return [t for t in ag.tree_leaves(found) if isinstance(t, ag.Tensor | numpy.ndarray | numpy.generic)]


def outcome(function, args, kwargs, direct):
    """(arrays that the function gives, gradient of a sum of them by A's copies), or the error."""
    places = [i for i, arg in enumerate(args) if arg is A or arg is ROW or (arg is not PLAIN and numpy.ndim(arg) == 0
              and isinstance(arg, numpy.float64))]  # fmt: skip
    shown = []

    def f(*given):
        every = list(args)
        for i, t in zip(places, given, strict=True):
            every[i] = t
        found = function(*every, **kwargs)
        shown.extend(numpy.array(ag.detach(t) if isinstance(t, ag.Tensor) else t) for t in leaves(found))
        total = 0.0 * given[0].sum()
        for t in leaves(found):
            if isinstance(t, ag.Tensor) and t.dtype.kind in "fc":
                weights = numpy.cos(numpy.arange(float(t.size))).reshape(t.shape)
                total = total + (weights * t).sum().real
        return total

    before = set_direct_calls(direct)
    try:
        with numpy.errstate(all="ignore"):
            gradients = ag.grad(f, argnums=tuple(range(len(places))))(*[args[i] for i in places])
    except Exception as error:
        return type(error), str(error)
    finally:
        set_direct_calls(before)
    return shown, gradients


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_that_are_handed_on_give_what_numpy_gives(name):
    for args, kwargs in CALLS:
        if isinstance(FUNCTIONS[name], numpy.ufunc) and kwargs:
            continue
        expected, found = (outcome(FUNCTIONS[name], args, kwargs, direct) for direct in (False, True))
        if isinstance(expected[0], type):
            assert expected == found, (args, kwargs)
            continue
        assert not isinstance(found[0], type), (args, kwargs, found)
        assert len(expected[0]) == len(found[0])
        for one, other in zip((*expected[0], *expected[1]), (*found[0], *found[1]), strict=True):
            assert one.dtype == other.dtype
            assert numpy.array_equal(one, other, equal_nan=one.dtype.kind in "fc"), (args, kwargs)


def test_the_switch_of_the_protocols_switches_the_direct_calls_too():
    def f(x):
        return numpy.sum(numpy.exp(x) * numpy.dot(PLAIN, x))

    before = set_compiled_protocols(False)
    try:
        plain = ag.grad(f)(ROW)
    finally:
        set_compiled_protocols(before)
    assert numpy.allclose(plain, ag.grad(f)(ROW), rtol=1e-15)


class Other(numpy.ndarray):
    """A class of arrays whose protocol NumPy asks before Tensor's."""

    def __array_function__(self, func, types, args, kwargs):
        return "asked"

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "asked"


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("function", [numpy.dot, numpy.add, numpy.mean, numpy.hypot])
def test_other_classes_are_asked_as_numpy_asks_them(function, order):
    other = ROW.view(Other)

    def f(x):
        found.append(function(*((x, other), (other, x))[order]))
        return x.sum()

    outcomes = []
    for direct in (False, True):
        found, before = [], set_direct_calls(direct)
        try:
            ag.grad(f)(ROW)
            outcomes.append(found)
        except TypeError as error:
            outcomes.append(str(error))
        finally:
            set_direct_calls(before)
    assert outcomes[0] == outcomes[1]


def test_programs_of_calls_that_are_handed_on_have_the_gradient_of_differences():
    def f(x):
        y = numpy.sqrt(numpy.dot(PLAIN, numpy.sin(x)) ** 2 + numpy.hypot(x, 2.0))
        z = numpy.outer(y, numpy.exp(-x)) / numpy.maximum(numpy.sum(y), 1.0)
        return numpy.mean(numpy.sum(z, axis=0) * numpy.cumsum(y)) + numpy.prod(numpy.mean(z, axis=-1, keepdims=True))

    steps = 1e-6 * numpy.eye(3)
    expected = [(f(ROW + h) - f(ROW - h)) / 2e-6 for h in steps]
    assert numpy.allclose(ag.grad(f)(ROW), expected, rtol=1e-8)
