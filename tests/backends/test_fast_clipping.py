"""numpy.clip by bounds that are arrays: values with NumPy's bits, and all three gradients (clipping.hpp)."""

import itertools

import numpy as np
import pytest
from fast_path_cases import plain, quiet, same

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.ops import OPS
from arraygrad.testing import gradcheck, gradgradcheck

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf]
SHAPES = {
    "alike": ((30, 40), (30, 40), (30, 40)),
    "rows": ((30, 40), (40,), (1, 40)),
    "columns": ((30, 40), (30, 1), (30, 1)),
    "a row and a column": ((30, 40), (40,), (30, 1)),
    "one": ((30, 40), (1,), (1, 1)),
    "one and all": ((30, 40), (), (30, 40)),
    "three axes": ((5, 6, 7), (6, 1), (5, 1, 7)),
    "long": ((3, 2000), (3, 1), (2000,)),
    "a line": ((1500,), (1500,), (1,)),
    "one element": ((1, 1), (1,), (1, 1)),
    "empty": ((0, 4), (4,), (0, 1)),
}


def values(shape, dtype, seed, special=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if special:
        x = np.where(rng.uniform(size=shape) < 0.5, rng.choice(SPECIAL, size=shape), x)
    return np.asarray(x, dtype)


def operands(name, dtype, special=False):
    return [values(shape, dtype, k, special) for k, shape in enumerate(SHAPES[name])]


def gradients(x, low, high, g):
    tensors = [ag.asarray(a, requires_grad=True) if isinstance(a, np.ndarray) else a for a in (x, low, high)]
    np.clip(*tensors).backward(g)
    return [t.grad.numpy() for t in tensors if isinstance(t, ag.Tensor)]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SHAPES)
def test_values_have_numpys_bits(name, dtype, special):
    x, low, high = operands(name, dtype, special)
    for a, b, c in ((x, low, high), (x[::-1], low, high), (np.asfortranarray(x), low, high), (x, low, 0.5),
                    (x, -0.25, high), (x, low, None), (x, None, high), (x, -0.0, np.nan)):  # fmt: skip
        with quiet():
            expected = np.clip(a, b, c)
            got = np.clip(ag.asarray(a, requires_grad=True), b, c).numpy()
        same(got, expected)
        assert got.flags.c_contiguous == expected.flags.c_contiguous


def test_bounds_of_one_shape_are_served():
    x, low, high = operands("alike", "float64")
    same(try_call(OPS["clip"], (x, low, high)), np.clip(x, low, high))


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SHAPES)
def test_gradients_are_those_of_the_plain_path(name, dtype, special):
    x, low, high = operands(name, dtype, special)
    g = values(x.shape, dtype, 9)
    for a, b, c in ((x, low, high), (x[::-1], low, high), (np.asfortranarray(x), low, high), (x, low, 0.5),
                    (x, -0.25, high), (x, low, None), (x, None, high)):  # fmt: skip
        for weights in (g, np.asfortranarray(g), np.broadcast_to(np.asarray(0.75, dtype), x.shape)):
            with quiet():
                got = gradients(a, b, c, weights)
                expected = plain(lambda: gradients(a, b, c, weights))  # noqa: B023
            for one, other in zip(got, expected, strict=True):
                assert one.dtype == dtype
                np.testing.assert_allclose(one, other, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-5)


def test_bounds_alone_and_the_array_alone():
    data = operands("a row and a column", "float64")
    for chosen in itertools.product((False, True), repeat=3):
        if not any(chosen):
            continue

        def gradients_of_chosen():
            tensors = [ag.asarray(a, requires_grad=one) for a, one in zip(data, chosen, strict=True)]  # noqa: B023
            y = np.clip(*tensors)
            (np.sum(y * y) + np.sum(y)).backward()
            return [t.grad.numpy() for t in tensors if t.grad is not None]

        for got, expected in zip(gradients_of_chosen(), plain(gradients_of_chosen), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


def test_bounds_that_cross_and_integers():
    x = np.linspace(-2.0, 2.0, 9)
    low, high = np.full(9, 1.0), np.full(9, -1.0)
    got = gradients(x, low, high, np.ones(9))
    for one, expected in zip(got, (np.where((x < 1) | (x > -1), 0.0, 1.0), np.zeros(9), np.ones(9)), strict=True):
        np.testing.assert_array_equal(one, expected)
    for other in (np.arange(9), np.arange(9.0).astype("float32")):
        same(np.clip(ag.asarray(x), -other, other).numpy(), np.clip(x, -other, other))


def test_an_overwritten_bound_is_noticed():
    x, low, high = operands("alike", "float64")
    t, bound = ag.asarray(x, requires_grad=True), ag.asarray(low)
    y = np.clip(t, bound, high)
    expected = np.where((x < low) | (x > high), 0.0, 1.0)
    bound += 100.0
    y.backward(np.ones_like(x))
    np.testing.assert_array_equal(t.grad.numpy(), expected)


def test_second_derivatives_and_tangents():
    x, low, high = [ag.asarray(a, requires_grad=True) for a in operands("three axes", "float64")]
    assert gradcheck(lambda *a: np.clip(*a) ** 2, (x, low, high))
    assert gradgradcheck(lambda *a: np.clip(*a) ** 2, (x, low, high))
    data, tangents = operands("three axes", "float64"), [np.cos(a) for a in operands("three axes", "float64")]
    along = ag.jvp(np.clip, data, tangents)[1]
    back = gradients(*data, np.ones(data[0].shape))
    np.testing.assert_allclose(np.sum(along), sum(np.sum(a * b) for a, b in zip(back, tangents, strict=True)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fast", [True, False])
def test_between_equal_bounds_the_result_is_the_upper_bound(dtype, fast):
    x, low, high = np.array(list(itertools.product([-1.0, 0.0, 0.5, 2.0], repeat=3)), dtype).T.copy()

    def expected():
        for v, a, b in zip(x, low, high, strict=True):
            yield (0, 0, 1) if a == b == v or a > b else (0, 1, 0) if v < a else (0, 0, 1) if v > b else (1, 0, 0)

    run = (lambda f: f()) if fast else plain
    found = run(lambda: gradients(x, low, high, np.ones_like(x)))
    np.testing.assert_array_equal(np.array(found), np.array(list(expected())).T)
    for a, b in ((0.5, 0.5), (0.0, 0.5), (2.0, 2.0)):
        (got,) = run(lambda: gradients(x, a, b, np.ones_like(x)))  # noqa: B023
        np.testing.assert_array_equal(got, (x >= a) & (x <= b) & (a < b))
