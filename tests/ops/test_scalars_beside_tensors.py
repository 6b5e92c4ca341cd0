"""NumPy's scalars of double precision beside Tensors: values, dtypes and gradients are those of the plain path."""

import operator

import numpy as np
import pytest

import arraygrad as ag

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]
UFUNCS = [np.add, np.multiply, np.divide, np.power, np.maximum, np.hypot, np.arctan2, np.copysign, np.float_power]
SCALARS = [0.3, 2.0, 3.0, 1.0, 0.5, 0.0, -0.0, -1.0, -1.7, 1e308, 5e-324, np.inf, -np.inf, np.nan]
SHAPES = [(), (1,), (3,), (2, 3)]


def data(shape, dtype):
    x = np.linspace(0.25, 2.5, int(np.prod(shape))).reshape(shape)
    return (x + 0.5j * x).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def outcome(function, x, scalar, on_left):
    """(dtype, shape, bytes) of the value, those of the gradient, or the kind of the error."""
    t = ag.tensor(x, requires_grad=True)
    t = t * 1.0 if x.ndim == 0 else t  # a computed number, as loops have
    try:
        with np.errstate(all="ignore"):
            value = function(scalar, t) if on_left else function(t, scalar)
            raw = value.detach().numpy()
            grad = ag.autograd.grad(value.sum(), [t])[0].numpy() if value.requires_grad else None
    except (TypeError, ValueError, RuntimeError) as error:
        return type(error), str(error)
    return raw, grad


def same(found, expected, exact):
    if isinstance(expected[0], type):
        assert found == expected
        return
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is None:
            continue
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if exact or one is found[0]:
            assert one.tobytes() == other.tobytes()
        else:
            np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32, np.int64])
@pytest.mark.parametrize("function", OPERATORS + UFUNCS, ids=lambda f: f.__name__)
def test_a_scalar_gives_what_an_array_without_axes_gives(function, dtype):
    for shape in SHAPES:
        x = data(shape, dtype)
        if dtype is np.int64:
            x = x.astype(np.float64)  # what requires grad is floating; the scalar is the integer then
        for number in SCALARS:
            scalar = (
                np.float64(number)
                if dtype is not np.int64
                else np.int64(np.nan_to_num(number, posinf=7, neginf=-7) % 5)
            )
            for on_left in (False, True):
                found = outcome(function, x, scalar, on_left)
                expected = outcome(function, x, np.asarray(scalar), on_left)
                same(found, expected, "pow" not in function.__name__)


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_values_are_those_of_numpy(function):
    for shape in SHAPES[1:]:
        x = data(shape, np.float64)
        for number in SCALARS:
            if function is operator.floordiv and np.isinf(number):
                continue  # where NumPy gives nan: see floor_divide in ops/_elementwise.py
            for left, right in ((x, np.float64(number)), (np.float64(number), x)):
                with np.errstate(all="ignore"):
                    expected = function(left, right)
                    found = function(*[ag.tensor(v, requires_grad=True) if v is x else v for v in (left, right)])
                assert found.detach().numpy().tobytes() == expected.tobytes()
                assert found.dtype == expected.dtype


def test_beside_single_precision_the_scalar_is_the_stronger():
    t = ag.tensor(np.float32(0.5), requires_grad=True) * np.float32(1.0)
    assert (t * np.float64(2.0)).dtype == np.float64
    assert (np.float64(2.0) * t).dtype == np.float64
    assert (t * 2.0).dtype == np.float32
    vector = ag.tensor(np.ones(3, np.float32), requires_grad=True)
    assert (vector * np.float64(2.0)).dtype == np.float64


def test_second_derivatives_and_saved_scalars():
    x = ag.tensor(1.5, requires_grad=True)
    h = np.float64(0.7)
    value = h * (x * h) ** 3 / h - (h - x) * h
    (first,) = ag.autograd.grad(value, [x], create_graph=True)
    (second,) = ag.autograd.grad(first, [x])
    np.testing.assert_allclose(first.numpy(), 3 * 0.7**3 * 1.5**2 + 0.7, rtol=1e-14)
    np.testing.assert_allclose(second.numpy(), 6 * 0.7**3 * 1.5, rtol=1e-14)


def test_in_place_operators_take_scalars():
    def f(x):
        y = x * 1.0
        y += np.float64(0.5)
        y *= np.float64(2.0)
        s = y[0]
        s += np.float64(1.0)
        return s * np.sum(y)

    value, grad = ag.value_and_grad(f)(np.array([1.0, 2.0]))
    assert value == (2 * 1.5 + 1) * (3 + 5)
    np.testing.assert_array_equal(grad, [2 * 8 + 4 * 2, 4 * 2])


def test_a_loop_over_data_is_recorded():
    data_ = np.array([0.3, -0.2, 0.5])

    def f(p):
        s = np.float64(0.1)
        for x in data_:
            s = p[0] + p[1] * x**2 + p[2] * s
        return np.log(s) + x / s

    p = np.array([0.1, 0.2, 0.7])
    grad = ag.grad(f)(p)
    for i in range(3):
        d = np.zeros(3)
        d[i] = 1e-6
        np.testing.assert_allclose(grad[i], (f(p + d) - f(p - d)) / 2e-6, rtol=1e-7)
