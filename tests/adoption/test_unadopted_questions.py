"""Questions that a Tensor answers otherwise than its plain value, without adoption: told, with the program's line.

The class: a program that chooses a branch by what its argument is (isinstance of any spelling of the classes, abstract
classes, `__class__`, a match, single dispatch, np.isscalar, attributes that a number lacks, a conversion that is tried
and caught), in any transform, of numbers, scalars and arrays. The plain call takes the one branch, the recorded call
the other.
"""

import collections.abc
import contextlib
import functools
import itertools
import math
import numbers
import typing
import warnings

import numpy as np
import pytest

import arraygrad as ag

REAL = (int, float)
KINDS = {"classes": [float, np.floating]}
isa = isinstance


@pytest.fixture(autouse=True)
def _without_adoption():
    with ag.set_adoption(False):
        yield


class Settings:
    real = (float, np.floating)


@functools.singledispatch
def dispatched(x):
    return False


@dispatched.register(float)
@dispatched.register(np.floating)
def _(x):
    return True


def matched(x):
    match x:
        case float() | np.floating():
            return True
    return False


def tried(convert):
    def ask(x):
        try:
            convert(x)
        except TypeError:
            return False
        return True

    return ask


def suppressed(x):
    with contextlib.suppress(TypeError):
        float(x)
        return True
    return False


def attribute_caught(x):
    try:
        x.ndim  # noqa: B018
    except AttributeError:
        return True
    return False


# Each is True of a number in a plain call, and False of the Tensor that stands for it.
OF_NUMBERS = {
    "isinstance(x, float)": lambda x: isinstance(x, float),
    "isinstance(x, (int, float))": lambda x: isinstance(x, (int, float)),
    "isinstance(x, REAL)": lambda x: isinstance(x, REAL),
    "isinstance(x, float | np.floating)": lambda x: isinstance(x, float | np.floating),
    "isinstance(x, Settings.real)": lambda x: isinstance(x, Settings.real),
    "isinstance(x, tuple(...))": lambda x: isinstance(x, tuple(KINDS["classes"])),
    "isinstance(x, local)": lambda x, kinds=(float, complex): isinstance(x, kinds),
    "isa(x, float)": lambda x: isa(x, float),
    "isinstance(x, numbers.Number)": lambda x: isinstance(x, numbers.Number),
    "isinstance(x, numbers.Real)": lambda x: isinstance(x, numbers.Real),
    "any(isinstance ...)": lambda x: any(isinstance(v, float) for v in [x]),
    "all(map(isinstance ...))": lambda x: all(map(isinstance, [x], [float])),
    "not isinstance(x, ...)": lambda x: (
        not not isinstance(
            x,
            float,
        )
    ),
    "np.isscalar(x)": np.isscalar,
    "np.isscalar(x) or": lambda x: np.isscalar(x) or isinstance(x, np.generic),
    "x.__class__ is float": lambda x: x.__class__ in (float, np.float64),
    "x.__class__.__name__": lambda x: x.__class__.__name__.startswith("float"),
    "issubclass(x.__class__, float)": lambda x: issubclass(x.__class__, float),
    "match": matched,
    "singledispatch": dispatched,
    "float(x)": tried(float),
    "math.exp(x)": tried(math.exp),
    "np.asarray(x)": tried(np.asarray),
    "np.array([x])": tried(lambda x: np.array([x, 1.0])),
    "np.float64(x)": tried(np.float64),
    "'%f' % x": tried(lambda x: "%f" % x),  # noqa: UP031
    "suppress": suppressed,
}
OF_PYTHON_NUMBERS = {
    "not hasattr(x, 'shape')": lambda x: not hasattr(x, "shape"),
    "getattr(x, 'ndim', None) is None": lambda x: getattr(x, "ndim", None) is None,
    "except AttributeError": attribute_caught,
    "isinstance(x, np.generic) or not": lambda x: x.__class__ is float,
}
OF_ARRAYS = {
    "isinstance(x, np.ndarray)": lambda x: isinstance(x, np.ndarray),
    "isinstance(x, (list, np.ndarray))": lambda x: isinstance(x, (list, np.ndarray)),
    "x.__class__ is np.ndarray": lambda x: x.__class__ is np.ndarray,
    "np.asarray(x)": tried(np.asarray),
    "np.array(x)": tried(np.array),
}
NUMBERS = {"float": 2.0, "np.float64": np.float64(2.0)}
ARRAYS = {"0-d array": np.array(2.0), "1-d array": np.array([2.0]), "2-d array": np.array([[2.0, 1.0]])}
CASES = [
    *((name, ask, kind, x) for name, ask in OF_NUMBERS.items() for kind, x in NUMBERS.items()),
    *((name, ask, "float", 2.0) for name, ask in OF_PYTHON_NUMBERS.items()),
    *((name, ask, kind, x) for name, ask in OF_ARRAYS.items() for kind, x in ARRAYS.items()),
]
TRANSFORMS = {
    "grad": lambda f, x, **how: ag.grad(f, **how)(x),
    "value_and_grad": lambda f, x, **how: ag.value_and_grad(f, **how)(x)[1],
    "elementwise_grad": lambda f, x, **how: ag.grad(f, **how)(x),
    "vjp": lambda f, x, **how: ag.vjp(f, x, **how)[1](1.0)[0],
    "jvp": lambda f, x, **how: ag.jvp(f, (x,), (x,), **how)[1],
    "linearize": lambda f, x, **how: ag.linearize(f, x, **how)[1](x),
    "jacobian": lambda f, x, **how: ag.jacobian(f, **how)(x),
    "jacfwd": lambda f, x, **how: ag.jacfwd(f, **how)(x),
    "hessian": lambda f, x, **how: ag.hessian(f, **how)(x),
    "nested": lambda f, x, **how: ag.grad(lambda y: np.sum(ag.grad(f)(y)), **how)(x),
}


def chooses(ask):
    def f(x):
        if ask(x):
            return np.sum(2.0 * x**2)
        return np.sum(100.0 * x**2)

    return f


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [w for w in found if "adopt=True" in str(w.message)]


@pytest.mark.parametrize(("name", "ask", "kind", "x"), CASES, ids=[f"{name} of {kind}" for name, _, kind, _ in CASES])
def test_question_that_chooses_another_branch_is_told(name, ask, kind, x):
    f = chooses(ask)
    assert ask(x)  # the plain call takes the first branch
    names = list(TRANSFORMS)
    at = len(name) % len(names)
    for transform in (names[at], names[(at + 3) % len(names)]):
        found = told(lambda: TRANSFORMS[transform](f, x))  # noqa: B023
        assert found, f"{name} of {kind} went unsaid in {transform}"
        assert all(w.filename == __file__ for w in found)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(
    "name", ["isinstance(x, float)", "np.isscalar(x)", "match", "float(x)", "x.__class__ is float"]
)
def test_question_is_told_in_every_transform(transform, name):
    assert told(lambda: TRANSFORMS[transform](chooses(OF_NUMBERS[name]), 2.0))


SEEN_BY_ADOPTION = [case for case in CASES if case[2] in ("float", "1-d array")]


@pytest.mark.parametrize(
    ("name", "ask", "kind", "x"), SEEN_BY_ADOPTION, ids=[f"{name} of {kind}" for name, _, kind, _ in SEEN_BY_ADOPTION]
)
def test_with_adoption_the_plain_branch_is_taken_or_the_call_is_refused_or_told(name, ask, kind, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            gradient = ag.grad(chooses(ask), adopt=True)(x)
        except TypeError:
            return
    assert not any("With adopt=True" in str(w.message) for w in found)
    if not any("caught what arraygrad refused" in str(w.message) for w in found):
        assert np.array_equal(gradient, 4.0 * x) or "map" in name or name.startswith("isa(")


SAME_ANSWER = {
    "isinstance(x, str)": lambda x: isinstance(x, str),
    "isinstance(x, (list, tuple, dict))": lambda x: isinstance(x, (list, tuple, dict)),
    "isinstance(x, int)": lambda x: isinstance(x, int),
    "isinstance(x, bool)": lambda x: isinstance(x, (bool, np.bool_)),
    "isinstance(x, complex)": lambda x: isinstance(x, complex),
    "isinstance(x, Mapping)": lambda x: isinstance(x, collections.abc.Mapping),
    "isinstance(x, Sequence)": lambda x: isinstance(x, collections.abc.Sequence),
    "isinstance(x, ag.Tensor)": lambda x: isinstance(x, ag.Tensor),
    "isinstance(x, object)": lambda x: isinstance(x, object),
    "isinstance(x, SupportsFloat)": lambda x: isinstance(x, typing.SupportsFloat),
    "callable(x)": callable,
    "hasattr(x, '__float__')": lambda x: hasattr(x, "__float__"),
    "np.ndim(x)": lambda x: np.ndim(x) == 0,
    "np.size(x)": lambda x: np.size(x) == 1,
    "np.shape(x)": lambda x: np.shape(x) == (),
    "np.iscomplexobj(x)": np.iscomplexobj,
    "np.isrealobj(x)": np.isrealobj,
    "isinstance(2.0, float)": lambda x: isinstance(2.0, float),
}


@pytest.mark.parametrize(("name", "x"), list(itertools.product(SAME_ANSWER, [2.0, np.float64(2.0), np.array([2.0])])))
def test_question_with_the_same_answer_is_not_told(name, x):
    assert not told(lambda: ag.grad(chooses(SAME_ANSWER[name]))(x))


LIBRARIES = {
    "numpy": lambda x: np.linalg.norm(np.atleast_1d(x)) + np.mean(x) + np.sum(np.clip(x, 0.0, 9.0)),
    "numpy.polynomial": lambda x: np.sum(np.polynomial.polynomial.polyval(x, [1.0, 2.0, 3.0])),
    "scipy": lambda x: np.sum(__import__("scipy.special").special.expit(x)),
    "arraygrad": lambda x: np.sum(ag.special.expit(ag.asarray(x) * 2.0)),
    "indices": lambda x: np.sum(np.stack([x, x])[..., np.newaxis] @ np.ones((1, 2))),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array([2.0, 3.0])], ids=["float", "scalar", "array"])
def test_what_libraries_ask_is_not_told(library, x):
    assert not told(lambda: ag.grad(LIBRARIES[library])(x))


def test_constants_and_what_is_not_recorded_are_not_told():
    def f(x):
        with ag.no_grad():
            assert not isinstance(x, float)
        assert not isinstance(ag.stop_gradient(x), float)
        assert not isinstance(ag.asarray(2.0), float)
        return x * 2.0

    assert not told(lambda: ag.grad(f)(2.0))


def test_a_line_is_told_once_however_often_it_runs():
    def f(x):
        return sum(x * 2.0 if isinstance(x, float) else x for _ in range(10))

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        assert ag.grad(f)(2.0) == 10.0
        assert ag.grad(f)(2.0) == 10.0
    assert len(found) == 1
    assert found[0].lineno == f.__code__.co_firstlineno + 1
    assert found[0].filename == __file__


def test_code_without_source_is_told():
    names = {}
    exec(compile("def f(x):\n    if isinstance(x, float): return 2.0 * x\n    return x\n", "<none>", "exec"), names)
    assert told(lambda: ag.grad(names["f"])(2.0))


def test_refusal_after_which_the_same_is_computed_is_not_told():
    def f(x):
        try:
            v = math.atan2(float(x), 2.0)
        except TypeError:
            v = np.arctan2(x, 2.0)
        return v * x

    assert not told(lambda: ag.grad(f)(2.0))
