"""Classes that a program derives from numpy.vectorize, and ufuncs that numpy.frompyfunc has made, given lists.

The class: how the class calls its base (by name, by super, not at all) x when the object is made x how it is called;
ufuncs of Python functions x method x arguments x what holds the ufunc.
"""

import functools
import math
import threading

import numpy as np
import pytest

import arraygrad as ag


def check(f, x=0.4):
    value, gradient = ag.value_and_grad(f)(x)
    assert value == pytest.approx(float(f(x)), rel=1e-15)
    h = 1e-4
    differences = (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)
    assert gradient == pytest.approx(differences, rel=1e-9)


class ByName(np.vectorize):
    def __init__(self, f):
        np.vectorize.__init__(self, f)
        self.factor = 2.0


class BySuper(np.vectorize):
    def __init__(self, f):
        super().__init__(f, otypes=[float])
        self.factor = 2.0


class WithoutInit(np.vectorize):
    factor = 2.0


class WithACall(np.vectorize):
    factor = 2.0

    def __init__(self, f):
        super().__init__(f)

    def __call__(self, *args):
        return super().__call__(*args) * 1.5


class WithACallByName(np.vectorize):
    factor = 2.0

    def __call__(self, *args):
        return np.vectorize.__call__(self, *args) + 1.0


class Derived(WithACall):
    def value(self, t):
        return self(t)


class Hidden(np.vectorize):
    factor = 2.0

    def __init__(self, f):
        def g(*args):
            return f(*args) * math.cos(args[0])

        super().__init__(g, cache=True)


class Decorated(ByName):
    """An object of it decorates a function."""


CLASSES = [ByName, BySuper, WithoutInit, WithACall, WithACallByName, Derived, Hidden, Decorated]


def f(t):
    return t * math.sin(t)


def power(t, u):
    return math.exp(t * u) if t > 0.5 else t - u


BEFORE = {cls: (cls(f), cls(power)) for cls in CLASSES}


@Decorated
def decorated(t):
    return math.exp(t)


CALLS = {
    "array": lambda v, w, x: np.sum(v(np.array([x, 2 * x]))),
    "list": lambda v, w, x: np.sum(v([x, 2 * x])),
    "number": lambda v, w, x: v(x) * 1.0,
    "two": lambda v, w, x: np.sum(w(np.array([[x], [2 * x]]), [1.0, x, 3.0])),
    "attribute": lambda v, w, x: v.factor * np.sum(v([x, 1.0])),
    "constants": lambda v, w, x: x * np.sum(v([1.0, 2.0])),
    "isinstance": lambda v, w, x: np.sum(v([x])) * (isinstance(v, np.vectorize) + 1.0),
}


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("call", CALLS)
def test_object_that_is_made_in_the_call(cls, call):
    check(lambda x: CALLS[call](cls(f), cls(power), x))


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("call", CALLS)
def test_object_that_was_made_before(cls, call):
    check(lambda x: CALLS[call](*BEFORE[cls], x))


@pytest.mark.parametrize("call", ["array", "list", "constants"])
def test_object_that_decorates(call):
    check(lambda x: CALLS[call](decorated, None, x))


def test_function_that_closes_over_the_argument():
    check(lambda x: np.sum(ByName(lambda t: t * x)(np.array([1.0, 2.0]))))


def test_signature_of_a_derived_class():
    class Rows(np.vectorize):
        pass

    rows = Rows(lambda row: np.sum(row) * row[0], signature="(n)->()")
    check(lambda x: np.sum(rows(np.array([[x, 1.0], [2.0, x * x]]))))


def test_class_counts_as_derived():
    assert ag.grad(lambda x: x * (1 + issubclass(Derived, np.vectorize) + issubclass(int, np.vectorize)))(2.0) == 2.0
    assert ag.grad(lambda x: x * (1 + isinstance(x, np.vectorize)))(2.0) == 1.0


def test_no_elements():
    assert ag.grad(lambda x: x + np.sum(BySuper(f)(np.zeros(0) * x)))(2.0) == 1.0


def test_class_is_numpys_again_after_the_call_and_in_other_threads():
    real, found = np.vectorize.__call__, []

    def run(x):
        thread = threading.Thread(target=lambda: found.append(BEFORE[ByName][0]([1.0, 2.0])))
        thread.start()
        thread.join()
        return np.sum(BEFORE[ByName][0]([x]))

    ag.grad(run)(0.4)
    assert type(found[0]) is np.ndarray
    assert np.vectorize.__call__ is real
    with pytest.raises(KeyError):
        ag.grad(lambda x: np.sum(ByName(lambda t: {}[0])([x])))(0.4)
    assert np.vectorize.__call__ is real


# -- ufuncs of Python functions ----------------------------------------------------------------------------------------

OF_TWO = np.frompyfunc(lambda a, b: a * b + math.sin(a), 2, 1)
OF_ONE = np.frompyfunc(lambda a: a * math.exp(a), 1, 1)
TO_TWO = np.frompyfunc(lambda a: (a * a, a + 1), 1, 2)
HELD = [OF_TWO]
NAMED = {"f": OF_TWO}

METHODS = {
    "reduce of an array": lambda g, x: g.reduce(np.array([x, 2 * x, 3 * x])),
    "reduce of a list": lambda g, x: g.reduce([x, 2 * x, 3 * x]),
    "reduce of a tuple": lambda g, x: g.reduce((x, 2.0, 3 * x)),
    "reduce along an axis": lambda g, x: g.reduce(x * np.arange(6.0).reshape(2, 3), axis=1).astype(float).sum(),
    "reduce of rows": lambda g, x: g.reduce([[x, 1.0], [2.0, x * x]], axis=0).astype(float).sum(),
    "reduce with a start": lambda g, x: g.reduce([x, 2 * x], initial=1.5),
    "reduce of objects": lambda g, x: g.reduce(np.array([x, 2 * x, 3 * x], dtype=object)),
    "accumulate of an array": lambda g, x: g.accumulate(np.array([x, 2 * x, 3 * x])).astype(float).sum(),
    "accumulate of a list": lambda g, x: g.accumulate([x, 2 * x, 3.0]).astype(float).sum(),
    "outer of arrays": lambda g, x: g.outer(np.array([x, 2 * x]), np.array([1.0, x])).astype(float).sum(),
    "outer of lists": lambda g, x: g.outer([x, 2 * x], (1.0, x)).astype(float).sum(),
    "reduceat of a list": lambda g, x: g.reduceat([x, 2 * x, 3 * x, 1.0], [0, 2]).astype(float).sum(),
    "call of a list": lambda g, x: g([x, 2 * x], 2.0).astype(float).sum(),
    "call of lists": lambda g, x: g([x, 2 * x], [[1.0], [x]]).astype(float).sum(),
    "call of numbers": lambda g, x: g(x, 2.0),
    "functools.reduce": lambda g, x: functools.reduce(g, [x, 2 * x, 3 * x]),
    "attributes": lambda g, x: g.reduce([x, x]) * g.nin * isinstance(g, np.ufunc),
}
HOLDERS = {
    "a global": lambda: OF_TWO,
    "a list": lambda: HELD[0],
    "a dict": lambda: NAMED["f"],
    "the call": lambda: np.frompyfunc(lambda a, b: a * b + math.sin(a), 2, 1),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_ufunc_of_a_python_function(method, holder):
    check(lambda x: METHODS[method](HOLDERS[holder](), x))


def test_ufunc_of_one_and_to_two():
    check(lambda x: OF_ONE([x, 2 * x]).astype(float).sum())
    check(lambda x: TO_TWO([x, 2 * x])[0].astype(float).sum())


def test_ufunc_of_texts_stays():
    upper = np.frompyfunc(str.upper, 1, 1)
    assert ag.grad(lambda x: x * len("".join(upper(["a", "bc"]))))(2.0) == 3.0
