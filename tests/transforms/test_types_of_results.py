"""The value that a transform returns has the type, dtype and shape that the plain call returns.

The class: function (of NumPy, SciPy, operators, math; scalars, arrays without axes, containers, auxiliary data) x
argument (Python float and complex, scalars and arrays of single and double precision, arrays without axes) x transform.
"""

import cmath
import functools
import itertools
import json
import math

import numpy as np
import pytest

import arraygrad as ag

FUNCTIONS = {
    "sum": np.sum,
    "mean": lambda x: x.mean(),
    "norm": lambda x: np.sqrt(np.sum(x * x)),
    "last": lambda x: np.ravel(x)[-1],
    "dot": lambda x: np.ravel(x) @ np.ravel(x),
    "max": np.max,
    "sin": np.sin,
    "x * x": lambda x: x * x,
    "2.0 * x + 1": lambda x: 2.0 * x + 1,
    "x ** 2 / 3": lambda x: x**2 / 3,
    "-abs(x)": lambda x: -abs(x),
    "x % 1.5": lambda x: x % 1.5,
    "sum([...])": lambda x: sum([x, x * 2.0]),
    "view": lambda x: np.reshape(x, (-1,))[0, ...],
    "reshape": lambda x: np.reshape(np.sum(x), ()),
    "squeeze": lambda x: np.squeeze(np.sum(x, keepdims=True)),
    "stack": lambda x: np.stack([x, x]),
    "where": lambda x: np.where(x > 0, x, 0.0 * x),
    "dict": lambda x: {"a": np.sum(x), "b": [x * 1.0, 3.0]},
    "tuple": lambda x: (np.sum(x), np.asarray(1.5), 2.5),
    "clip": lambda x: np.clip(x, 0.1, 9.0),
    "einsum": lambda x: np.einsum("i,i->", np.ravel(x), np.ravel(x)),
}
ARGUMENTS = {
    "float": 2.0,
    "np.float64": np.float64(2.0),
    "np.float32": np.float32(2.0),
    "0-d": np.array(2.0),
    "vector": np.array([1.0, 2.0]),
    "float32 vector": np.array([1.0, 2.0], dtype=np.float32),
    "matrix": np.array([[1.0, 2.0], [0.5, 4.0]]),
    "one": np.array([2.0]),
}
METHODS = {"mean"}  # of arrays: a Python float has none


TRANSFORMS = {
    "vjp": lambda f, x: ag.vjp(f, x)[0],
    "vjp with aux": lambda f, x: ag.vjp(lambda x: (np.sum(x), f(x)), x, has_aux=True)[2],
    "jvp": lambda f, x: ag.jvp(f, (x,), (x,))[0],
    "linearize": lambda f, x: ag.linearize(f, x)[0],
    "value_and_grad with aux": lambda f, x: ag.value_and_grad(lambda x: (np.sum(x), f(x)), has_aux=True)(x)[0][1],
    "grad with aux": lambda f, x: ag.grad(lambda x: (np.sum(x), f(x)), has_aux=True)(x)[1],
}


def same(ours, plain, name):
    if isinstance(plain, dict):
        return all(same(ours[key], plain[key], name) for key in plain)
    if isinstance(plain, (tuple, list)):
        return type(ours) is type(plain) and all(same(a, b, name) for a, b in zip(ours, plain, strict=True))
    assert type(ours) is type(plain), (name, type(ours), type(plain))
    assert np.shape(ours) == np.shape(plain)
    assert np.asarray(ours).dtype == np.asarray(plain).dtype
    np.testing.assert_allclose(ours, plain, rtol=1e-6)
    return True


CASES = [
    (name, kind)
    for name, kind in itertools.product(FUNCTIONS, ARGUMENTS)
    if not (kind == "float" and name in METHODS) and not (name == "x % 1.5" and kind == "float32 vector")
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_value_has_the_type_of_the_plain_call(name, kind):
    f, x = FUNCTIONS[name], ARGUMENTS[kind]
    plain = f(x)
    at = CASES.index((name, kind))
    for transform in list(TRANSFORMS)[at % 2 :: 2]:
        assert same(TRANSFORMS[transform](f, x), plain, (name, kind, transform))
    if not isinstance(plain, (dict, tuple, list)) and np.size(plain) == 1:
        assert same(ag.value_and_grad(f)(x)[0], plain, "value_and_grad")


@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("name", ["sum", "norm", "sin", "x * x", "last", "view"])
def test_gradient_has_the_type_of_the_argument_and_tangent_that_of_the_value(name, kind):
    f, x = FUNCTIONS[name], ARGUMENTS[kind]
    gradient = ag.grad(lambda x: np.sum(f(x)))(x)
    assert type(gradient) is type(x)
    assert np.asarray(gradient).dtype == np.asarray(x).dtype
    assert np.shape(gradient) == np.shape(x)
    value, tangent = ag.jvp(f, (x,), (x,))
    assert type(tangent) is type(value)
    assert type(ag.linearize(f, x)[1](x)) is type(value)
    assert np.asarray(tangent).dtype == np.asarray(value).dtype


def test_value_does_what_scalars_do():
    value, _ = ag.value_and_grad(np.sum)(np.array([1.0, 2.25]))
    assert round(value, 1) == 3.2
    assert json.dumps(value) == "3.25"
    assert hash(value) == hash(3.25)
    assert isinstance(value, float)
    assert f"{value:.1f}" == "3.2"


@pytest.mark.parametrize("kind", ["complex", "np.complex64"])
def test_complex_values(kind):
    z = {"complex": 1.0 + 2.0j, "np.complex64": np.complex64(1.0 + 2.0j)}[kind]
    for f in (lambda z: z * z, np.exp, abs, lambda z: z.real):
        assert type(ag.vjp(f, z)[0]) is type(f(z)), f


ADOPTED = {
    "math.sin": math.sin,
    "2.0 * math.exp": lambda x: 2.0 * math.exp(x),
    "float(np.sin(x))": lambda x: float(np.sin(x)),
    "np.sin(math.cos(x))": lambda x: np.sin(math.cos(x)),
    "np.float64(x)": np.float64,
    "np.zeros filled": lambda x: (lambda out: (out.__setitem__(0, x), out.sum())[1])(np.zeros(2)),
    "np.array(x)": lambda x: np.array(x * 2.0),
    "np.hypot": lambda x: np.hypot(x, 3.0),
    "math.hypot": lambda x: math.hypot(x, 3.0) + x,
}


@pytest.mark.parametrize("name", ADOPTED)
def test_value_of_an_adopted_call_has_the_type_of_the_plain_call(name):
    f = ADOPTED[name]
    assert same(ag.value_and_grad(f, adopt=True)(0.5)[0], f(0.5), name)


def test_values_of_scipy_functions_without_axes_are_scalars():
    x = np.array([0.5, 2.0])
    for f in (
        ag.scipy.linalg.norm,
        lambda x: ag.scipy.spatial.distance.euclidean(x, [1.0, 3.0]),
        ag.scipy.special.logsumexp,
        lambda x: ag.scipy.optimize.brentq(lambda y, a: y * y - a, 0.0, 9.0, args=(x[0],)),
    ):
        value, _ = ag.value_and_grad(f)(x)
        assert isinstance(value, float)
        assert json.dumps(value)


def test_many_operators_on_one_number_are_looked_at_once():
    def f(x):
        for _ in range(60):
            x = 0.5 * (x + x)
        return x

    assert not isinstance(ag.value_and_grad(f)(2.0)[0], np.floating)


def test_tensors_give_tensors():
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    value, gradient = ag.value_and_grad(np.sum)(t)
    assert isinstance(value, ag.Tensor)
    assert isinstance(gradient, ag.Tensor)
    assert isinstance(t.sum(), ag.Tensor)
    assert t.sum().shape == ()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (0,)])
@pytest.mark.parametrize("argument", ["vector", "float", "two"])
def test_hessian_of_several_results_has_an_axis_for_each(shape, argument):
    n = int(np.prod(shape))
    weights = np.arange(1.0, n + 1.0)

    def f(x, y=1.0):
        return (
            np.reshape(np.stack([w * np.sum(x * x * x) * y for w in weights]), shape)
            if n
            else (np.zeros(0) * np.sum(x))
        )

    if argument == "two":
        blocks = ag.hessian(f, argnums=(0, 1))(np.array([1.0, 2.0]), 3.0)
        expected = shape if n != 1 else ()
        assert blocks[0][0].shape == (*expected, 2, 2)
        assert blocks[0][1].shape == (*expected, 2)
        np.testing.assert_allclose(np.ravel(blocks[1][0]), np.ravel([w * np.array([3.0, 12.0]) for w in weights]))
        return
    x = np.array([1.0, 2.0]) if argument == "vector" else 2.0
    found = np.asarray(ag.hessian(f)(x))
    one = np.diag([6.0, 12.0]) if argument == "vector" else np.array(12.0)
    expected = np.stack([w * one for w in weights]).reshape(shape + one.shape) if n else np.zeros((0, *one.shape))
    np.testing.assert_allclose(found, expected if n != 1 else expected.reshape(one.shape), rtol=1e-12)


# Of arrays: what math makes is a float, what Python's operators make of NumPy's scalars is one of them.
OF_ARRAYS = {
    "a power of math": lambda x: math.sin(x[0]) ** 2,
    "a remainder of math": lambda x: math.sin(x[0]) % 0.3,
    "math times a constant": lambda x: 2.0 * math.sin(x[0]),
    "math.sin": lambda x: math.sin(x[0]),
    "math.pow": lambda x: math.pow(x[0], x[1]),
    "math.fsum": lambda x: math.fsum(x),
    "math.dist": lambda x: math.dist(x, [0.0] * 4),
    "math.hypot": lambda x: math.hypot(*x),
    "math.modf": lambda x: math.modf(x[0])[0],
    "math.prod": lambda x: math.prod(x),
    "math.prod with a start": lambda x: math.prod(x, start=2.0),
    "math.prod of floats": lambda x: math.prod([math.sin(v) for v in x]),
    "sum of math": lambda x: math.sin(x[0]) + math.cos(x[1]) * math.exp(x[2]),
    "-math.erf": lambda x: -abs(math.erf(x[3])),
    "math and a scalar": lambda x: math.sin(x[0]) * x[1],
    "a scalar and math": lambda x: x[1] - math.sin(x[0]),
    "np.sin of math": lambda x: np.sin(math.cos(x[0])),
    "cmath.phase": lambda x: cmath.phase(complex(x[0], x[1])),
    "cmath.polar": lambda x: cmath.polar(x[0] + 1j * x[1])[0],
    "cmath.exp": lambda x: cmath.exp(x[0] + 0j).real,
    "cmath.rect": lambda x: cmath.rect(x[0], x[1]).imag,
    "np.abs of math": lambda x: np.abs(math.sin(x[0])),
    "np.add of math": lambda x: np.add(math.sin(x[0]), math.cos(x[1])),
    "np.multiply of math": lambda x: np.multiply(2.0, math.sin(x[0])),
    "np.negative of math": lambda x: np.negative(math.sin(x[0])),
    "np.power of math": lambda x: np.power(math.sin(x[0]), 2.0),
    "np.real of cmath": lambda x: np.real(cmath.exp(x[0] + 0j)),
    "np.square of math": lambda x: np.square(math.sin(x[0])),
    "a scalar": lambda x: x[0] * x[1] + 1.0,
    "reduce": lambda x: functools.reduce(lambda a, b: a * b, x),
}


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_numbers_made_of_elements_have_the_type_of_the_plain_call(name):
    f, x = OF_ARRAYS[name], np.array([0.5, 1.25, 0.75, 2.0])
    plain = f(x)
    assert type(ag.value_and_grad(f)(x)[0]) is type(plain)
    assert ag.value_and_grad(f)(x)[0] == pytest.approx(plain, rel=1e-14)


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_branch_on_the_type_is_that_of_the_plain_call(name):
    f, x = OF_ARRAYS[name], np.array([0.5, 1.25, 0.75, 2.0])

    def g(x):
        made = f(x)
        return 3.0 * made if isinstance(made, np.floating) else made

    np.testing.assert_allclose(ag.grad(g)(x), ag.grad(f)(x) * (3.0 if isinstance(f(x), np.floating) else 1.0))


# A constant operand is not in the graph: the value is the scalar, which is a float too, and a question is refused.
NOT_KNOWN = {
    "math and an element of a constant": lambda x: math.sin(x[0]) + np.ones(2)[0],
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_the_graph_does_not_tell_is_a_scalar_and_no_question_of_it_is_answered(name):
    f, x = NOT_KNOWN[name], np.array([0.5, 1.25])
    value = ag.value_and_grad(f)(x)[0]
    assert type(value) is np.float64
    assert value == pytest.approx(f(x), rel=1e-14)
    with pytest.raises(TypeError, match="isinstance"):
        ag.grad(lambda x: 3.0 * f(x) if isinstance(f(x), np.floating) else f(x))(x)
