"""Functions that Numba compiles, in adopted calls: they are compiled as ever, run on arrays, or are recorded.

The class: what the function reads (a function of math by its own name, modules, a constant, another such function, a
closure) x whether an argument requires grad x whether it was compiled before. Nothing of the adopted call may stay in
what Numba has compiled.
"""

import concurrent.futures
import functools
import math
import warnings
from math import exp

import numpy as np
import pytest

import arraygrad as ag

numba = pytest.importorskip("numba", reason="Numba is not installed: there is nothing to compile")

SCALE = 2.0


def by_its_own_name(x):
    return exp(-x) * SCALE


def by_modules(x):
    return np.sin(x) + math.sqrt(x)


@numba.njit
def inner(x):
    return exp(x) + math.cos(x)


def by_another(x):
    return inner(x) * 2.0


def closing():
    factor = 3.0
    f = math.tanh
    return numba.njit(lambda x: factor * x * f(x))


def reading(function):
    return numba.njit(function)


MADE = {
    "a function by its own name": lambda: reading(by_its_own_name),
    "modules": lambda: reading(by_modules),
    "another compiled function": lambda: reading(by_another),
    "a closure": closing,
}


@pytest.mark.parametrize("made", MADE)
def test_a_first_call_in_an_adopted_call_compiles_what_a_plain_one_compiles(made):
    function, plain = MADE[made](), MADE[made]().py_func
    assert ag.grad(lambda x: x * function(0.5), adopt=True)(1.5) == pytest.approx(plain(0.5), rel=1e-12)
    assert function(0.7) == pytest.approx(plain(0.7), rel=1e-12)
    assert len(function.signatures) == 1
    ag.adopt.clear()
    assert function(2) == pytest.approx(plain(2), rel=1e-12)


class Holder:
    def __init__(self, function):
        self.function = function


def held_by_a_primitive(function):
    p = ag.primitive(function)
    p.defvjp(lambda ans, x: lambda g: g * 0.0)
    return p


def held_by_an_object(function):
    return lambda x: Holder(function).function(x)


# What calls a function of Numba's that no name of the program's code holds.
HOLDERS = {
    "a primitive": held_by_a_primitive,
    "an object": held_by_an_object,
    "a dict": lambda function: lambda x, held={"f": function}: held["f"](x),
    "a partial function": lambda function: functools.partial(function),
    "map": lambda function: lambda x: next(map(function, [x])),
    "the function that compiles": lambda function: lambda x: (function.compile((numba.float64,)), function(x))[1],
    "another thread": lambda function: lambda x: on_another_thread(function, x),
}


def on_another_thread(function, x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function, x).result()


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("made", MADE)
def test_a_function_that_something_holds_is_compiled_over_the_real_things(made, holder):
    function, plain = MADE[made](), MADE[made]().py_func
    call = HOLDERS[holder](function)
    assert ag.grad(lambda x: x * call(0.5))(1.5) == pytest.approx(plain(0.5), rel=1e-12)
    assert function(0.25) == pytest.approx(plain(0.25), rel=1e-12)
    assert function.nopython_signatures
    assert function.py_func is function._compiler.py_func


@pytest.mark.parametrize("holder", ["a primitive", "an object"])
def test_a_function_that_numba_can_not_compile_is_the_programs_own_again(holder):
    @numba.njit
    def broken(x):
        return np.sin(x) + "text"

    call = HOLDERS[holder](broken)
    with pytest.raises(numba.core.errors.TypingError):
        ag.grad(lambda x: x * call(0.5))(1.5)
    assert broken.py_func is broken._compiler.py_func


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("before", [False, True])
def test_of_a_recorded_argument_the_python_function_is_recorded(made, before):
    function = MADE[made]()
    if before:
        function(0.5)
    with pytest.warns(UserWarning, match="its Python code runs in its place and is recorded"):
        found = ag.grad(lambda x: function(x), adopt=True)(0.8)
    h = 1e-6
    assert found == pytest.approx((function(0.8 + h) - function(0.8 - h)) / (2 * h), rel=1e-6)
    assert len(function.signatures) == 1


@numba.njit
def filled(out, v):
    for i in range(out.shape[0]):
        out[i] += v[i] * exp(float(i))


@numba.njit
def total(v):
    s = 0.0
    for one in v:
        s += one
    return s


@numba.njit
def itself(v):
    v[0] = 7.0
    return v


@numba.njit
def halves(v):
    return v[1:]


def test_arrays_that_are_made_inside_are_handed_over():
    def f(x):
        v = np.zeros(4)
        v[1:] = 2.0
        return x * total(v)

    assert ag.grad(f, adopt=True)(1.5) == 6.0


def test_what_a_function_writes_is_in_the_array_and_not_in_what_was_saved():
    def f(x):
        out = np.ones(3)
        product = x * out
        filled(out, np.asarray([1.0, 2.0, 3.0]))
        return product.sum() + (x * out).sum()

    plain = f(np.float64(1.5))
    value, gradient = ag.value_and_grad(f, adopt=True)(1.5)
    assert value == pytest.approx(plain, rel=1e-12)
    assert gradient == pytest.approx(plain / 1.5, rel=1e-12)


def test_a_function_that_returns_its_argument_returns_the_array_itself():
    def f(x):
        v = np.zeros(3)
        w = itself(v)
        w[1] = x
        return v.sum()

    value, gradient = ag.value_and_grad(f, adopt=True)(1.5)
    assert value == 8.5
    assert gradient == 1.0


def test_a_view_of_an_argument_is_refused():
    def f(x):
        v = np.zeros(3)
        w = halves(v)
        w[1] = x
        return v.sum()

    with pytest.raises(TypeError, match="returns a view of an array that was made in an adopted call"):
        ag.grad(f, adopt=True)(1.5)


@numba.njit
def shifted(out, v):
    for i in range(v.shape[0] - 1):
        out[i + 1] = v[i]


def test_one_array_given_twice_is_one_and_views_of_one_are_refused():
    def f(x, apart):
        v = np.zeros(4)
        v[0] = 2.0
        shifted(v if apart else v[:], v)
        return x * v.sum()

    assert ag.grad(f, adopt=True)(1.5, True) == f(1.0, True) == 8.0
    with pytest.raises(TypeError, match="is given several views of one array"):
        ag.grad(f, adopt=True)(1.5, False)


def test_outside_of_adopted_calls_the_function_is_numbas():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.grad(lambda x: x * total(np.ones(3)))(1.0) == 3.0
    with pytest.raises(Exception, match=r"takes arrays, not Tensors|non-precise type|cannot determine Numba type"):
        total(ag.tensor(np.ones(3), requires_grad=True))


def over_a_partial(function):
    return functools.partial(numba.njit(lambda factor, x: factor * function(x)), 1.0)


WRAPPED = {
    "itself": lambda function: function,
    "in a partial": over_a_partial,
    "in a lambda": lambda function: lambda x: function(x[()]),
    "in a partial of Python code": lambda function: functools.partial(lambda factor, x: factor * function(x[()]), 1.0),
}
TRANSFORMS = {
    "grad": lambda f, x: ag.grad(lambda x: np.sum(f(x)))(x),
    "jacobian": lambda f, x: np.diag(ag.jacobian(f)(x)),
    "vjp": lambda f, x: ag.vjp(f, x)[1](np.ones_like(x))[0],
    "without adoption": lambda f, x: ag.grad(lambda x: np.sum(f(x)), adopt=False)(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("made", MADE)
def test_a_primitive_over_a_compiled_function_is_compiled_in_its_first_call(made, wrapped, transform):
    function = MADE[made]()
    primitive = ag.primitive(WRAPPED[wrapped](function))
    slope = lambda x: (MADE[made]().py_func(x + 1e-6) - MADE[made]().py_func(x - 1e-6)) / 2e-6
    primitive.defvjp(lambda ans, x: lambda g: g * np.array([slope(one) for one in np.atleast_1d(x)]).reshape(x.shape))
    at = 0.7
    assert function.signatures == []
    f = lambda x: np.stack([primitive(one) for one in x])
    found = TRANSFORMS[transform](f, np.array([at, 0.4]))
    np.testing.assert_allclose(found, [slope(at), slope(0.4)], rtol=1e-7)
    assert function(at) == pytest.approx(function.py_func(at), rel=1e-12)


def test_a_primitive_over_a_ufunc_of_numba():
    primitive = ag.primitive(numba.vectorize(by_modules))
    primitive.defvjp(lambda ans, x: lambda g: g * (np.cos(x) + 0.5 / np.sqrt(x)))
    x = np.array([0.3, 0.8])
    value, gradient = ag.value_and_grad(lambda x: np.sum(primitive(x)))(x)
    assert value == pytest.approx(np.sum(np.sin(x) + np.sqrt(x)), rel=1e-12)
    np.testing.assert_allclose(gradient, np.cos(x) + 0.5 / np.sqrt(x), rtol=1e-12)
