"""Numbers of the host beside arrays of another library, array_api_strict: moved and recorded; the rest is refused."""

import array_api_strict as xp
import numpy as np
import pytest

import arraygrad as ag

A = np.asarray([0.5, 1.5, 2.5])
OPERATORS = ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "atan2", "hypot", "logaddexp"]


def of(name, raw):
    """The program of one operation, its array raw or a Tensor."""
    return lambda z, on_left: getattr(ag, name)(*((z, raw) if on_left else (raw, z)))


def difference(f, z, h=1e-6):
    return (f(z + h) - f(z - h)) / (2 * h)


@pytest.mark.parametrize("on_left", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("name", OPERATORS)
def test_a_number_stands_beside_an_array_of_another_library(name, recorded, on_left):
    raw = xp.asarray(A)
    program = of(name, ag.asarray(raw) if recorded else raw)
    plain = {"atan2": "arctan2", "pow": "power"}.get(name, name)
    wanted = difference(lambda z: np.sum(getattr(np, plain)(*((z, A) if on_left else (A, z)))), 0.7)
    found = ag.grad(lambda z: ag.sum(program(z, on_left)))(0.7)
    assert type(found) is float
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("text", ["z * a", "z / a", "z**a", "(1.0 + z) * a * z", "-z + a", "a * z", "a - z", "a**z"])
def test_operators_take_raw_arrays_and_tensors(text):
    wanted = difference(lambda z: np.sum(eval(text, {"z": z, "a": A})), 0.7)
    raw = xp.asarray(A)
    for a in (ag.asarray(raw),) if text[0] == "a" else (raw, ag.asarray(raw)):  # array_api_strict refuses what it meets
        assert ag.grad(lambda z, a=a: ag.sum(eval(text, {"z": z, "a": a})))(0.7) == pytest.approx(wanted, rel=1e-6)


def test_both_sides_get_gradients():
    z, a = ag.grad(lambda z, a: ag.sum(z * a * a), argnums=(0, 1))(0.7, xp.asarray(A))
    assert z == pytest.approx(np.sum(A**2))
    assert type(a) is type(xp.asarray(A))
    assert np.allclose(np.asarray(a), 2 * 0.7 * A)


def test_functions_of_several_arrays_take_numbers():
    a = xp.asarray(A)
    assert ag.grad(lambda z: ag.sum(ag.where(a > 1.0, a * 2.0, z)))(0.7) == 1.0
    assert ag.grad(lambda z: ag.sum(ag.clip(a, 0.0, z)))(1.1) == 2.0


def test_a_number_is_written_into_an_array_of_another_library():
    def program(z):
        out = ag.asarray(xp.zeros(3), copy=True)
        out[1] = z * z
        return ag.sum(out * ag.asarray(xp.asarray(A)))

    assert ag.grad(program)(0.7) == pytest.approx(1.5 * 2 * 0.7)


def test_second_derivatives_pass_the_move():
    a = ag.asarray(xp.asarray(A))
    assert ag.hessian(lambda z: ag.sum(ag.sin(z * a)))(0.7) == pytest.approx(-np.sum(A**2 * np.sin(0.7 * A)))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_number_takes_the_precision_of_the_array(name):
    a = xp.asarray(A, dtype=getattr(xp, name))
    value = ag.vjp(lambda z: z * a, 0.7)[0]
    assert value.dtype == getattr(xp, name)


def test_arrays_of_the_host_are_refused():
    a = xp.asarray(A)
    for x in (A, np.asarray(2.0), ag.tensor(2.0), ag.tensor(A)):
        with pytest.raises(TypeError, match="operands on two backends"):
            ag.grad(lambda z: ag.sum(z * a))(x)
    with pytest.raises(TypeError, match="operands on two backends"):
        ag.grad(lambda z: ag.sum(ag.where(a > 1.0, z, a)))(A)


def test_a_number_without_a_gradient_is_a_plain_number():
    a = ag.asarray(xp.asarray(A), requires_grad=True)
    product = ag.sum(ag.tensor(A)) * a
    ag.sum(product).backward()
    assert np.allclose(np.asarray(a.grad.array), 4.5)
