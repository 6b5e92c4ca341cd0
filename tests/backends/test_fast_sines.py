"""Sine and cosine computed at once where they are recorded: NumPy's bits, the plain path's gradients."""

import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.backends.numpy.sines import sines_are_used

RNG = np.random.default_rng(7)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 1.7976931348623157e308, np.pi, 1e22])
FUNCTIONS = pytest.mark.parametrize("name", ["sin", "cos"])


def spread(n):
    """Numbers of every magnitude, half of them between -10 and 10."""
    wide = np.ldexp(RNG.uniform(-1, 1, n), RNG.integers(-1070, 1024, n))
    return np.where(RNG.random(n) < 0.5, RNG.uniform(-10, 10, n), wide)


def spread_floats(n):
    """float32 numbers of every magnitude, and those whose quotient by pi/2 is nearest to halfway between integers."""
    wide = np.ldexp(RNG.uniform(-1, 1, n), RNG.integers(-149, 128, n))
    halfway = (2 * RNG.integers(-45_000, 45_000, n) + 1) * (np.pi / 4)
    kind = RNG.integers(0, 3, n)
    return np.where(kind == 0, RNG.uniform(-10, 10, n), np.where(kind == 1, wide, halfway)).astype(np.float32)


def recorded(name, array, seed=None, fast=True, **options):
    """(value, gradient, warnings' texts) of one recorded call."""
    before = set_fast_paths(fast)
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            x = ag.tensor(array, requires_grad=True)
            y = getattr(ag, name)(x)
            y.backward(ag.asarray(np.ones_like(array) if seed is None else seed), **options)
        return y.numpy(), x.grad.numpy(), sorted(str(w.message) for w in found)
    finally:
        set_fast_paths(before)


@pytest.mark.parametrize(("dtype", "numbers"), [("d", spread), ("f", spread_floats)])
def test_both_at_once_are_used_where_they_have_numpys_bits(dtype, numbers):
    recorded("sin", np.ones(30, dtype))
    assert sines_are_used(dtype) in (True, False)
    if not sines_are_used(dtype):
        pytest.skip("NumPy's sines of this dtype are others here, or the processor has no FMA: the plain path is taken")
    x = numbers(19_999)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(recorded("sin", x)[0], np.sin(x))
        np.testing.assert_array_equal(recorded("cos", x)[0], np.cos(x))


def same_bits(a, b):
    """Whether two arrays are the same to the last bit, and to the sign of a zero or nan."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# Whole groups of eight, rests of every length, and sizes beyond which nothing is left to the rule.
FLOAT_SIZES = [*range(1, 18), 24, 31, 249_999, 250_000, 300_001]


@FUNCTIONS
def test_float32_values_are_numpys_bits(name):
    for n in FLOAT_SIZES:
        x = spread_floats(n)
        with np.errstate(invalid="ignore"):
            expected = getattr(np, name)(x)
        value, gradient, _ = recorded(name, x)
        plain_value, plain_gradient, _ = recorded(name, x, fast=False)
        assert same_bits(value, expected)
        assert same_bits(plain_value, expected)
        assert same_bits(gradient, plain_gradient)
        with np.errstate(invalid="ignore"):
            assert same_bits(getattr(ag, name)(ag.asarray(x)).numpy(), expected)


@FUNCTIONS
def test_float32_of_the_whole_range_are_numpys_bits(name):
    # Every 4999th bit pattern: infinities, nan and subnormal numbers among them. All 2**32 take a minute a function.
    x = np.arange(0, 2**32, 4999, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        assert same_bits(getattr(ag, name)(ag.asarray(x)).numpy(), getattr(np, name)(x))


@FUNCTIONS
@pytest.mark.parametrize("place", [0, 3, 8, 12, 16, 20])
@pytest.mark.parametrize(
    "value", [np.inf, -np.inf, np.nan, -0.0, 1e-45, 71476.0625, 71476.07, -117435.992, 1e30, 3.4e38]
)
def test_float32_special_values_and_their_warnings(name, place, value):
    array = np.linspace(-3, 3, 21).astype(np.float32)
    array[place] = value
    fast, plain = recorded(name, array), recorded(name, array, fast=False)
    assert same_bits(fast[0], plain[0])
    assert same_bits(fast[1], plain[1])
    assert set(fast[2]) <= set(plain[2])
    assert bool(fast[2]) == bool(plain[2]) == bool(np.isinf(np.float32(value)))


@FUNCTIONS
def test_float32_underflow_is_reported_as_numpy_reports_it(name):
    array = np.full(20, 1e-30, np.float32)
    messages = []
    for fast in (True, False):
        with np.errstate(under="warn"):
            messages.append(recorded(name, array, fast=fast)[2])
    assert set(messages[0]) <= set(messages[1])
    assert bool(messages[0]) == bool(messages[1])


@FUNCTIONS
def test_float32_written_over_its_argument(name):
    array = spread_floats(1001)
    array = array[np.isfinite(array)]
    x = ag.asarray(array.copy())
    getattr(np, name)(x, out=x)
    assert same_bits(x.numpy(), getattr(np, name)(array))


@FUNCTIONS
@pytest.mark.parametrize("shape", [(), (0,), (1,), (15,), (16,), (3, 7), (2, 3, 4), (19_999,), (20_000,), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_gradients_are_those_of_the_plain_path(name, shape, dtype):
    array = RNG.uniform(-20, 20, shape).astype(dtype)
    seed = RNG.normal(size=shape).astype(dtype)
    value, gradient, _ = recorded(name, array, seed)
    plain_value, plain_gradient, _ = recorded(name, array, seed, fast=False)
    assert value.dtype == gradient.dtype == dtype
    np.testing.assert_array_equal(value, plain_value)
    np.testing.assert_array_equal(gradient, plain_gradient)


@FUNCTIONS
@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda a: a.T,
        lambda a: a[::-1],
        lambda a: a[:, ::2],
        lambda a: np.broadcast_to(a[:1], a.shape),
        lambda a: a.astype(a.dtype.newbyteorder(">")),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
    ],
    ids=["column-major", "transposed", "reversed", "every-second", "repeated", "byte-swapped", "unaligned"],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_layout(name, layout, dtype):
    array = layout(RNG.uniform(-3, 3, (6, 8)).astype(dtype))
    for fast, plain in zip(recorded(name, array), recorded(name, array, fast=False), strict=True):
        np.testing.assert_array_equal(fast, plain)


@FUNCTIONS
def test_numbers_of_every_magnitude(name):
    array = spread(5000)
    for fast, plain in zip(recorded(name, array), recorded(name, array, fast=False), strict=True):
        np.testing.assert_array_equal(fast, plain)


@FUNCTIONS
@pytest.mark.parametrize("value", SPECIAL)
def test_special_values_and_their_warnings(name, value):
    array = np.append(np.ones(20), value)
    fast, plain = recorded(name, array), recorded(name, array, fast=False)
    np.testing.assert_array_equal(fast[0], plain[0])
    np.testing.assert_array_equal(fast[1], plain[1])
    assert np.signbit(fast[0][-1]) == np.signbit(plain[0][-1])
    assert set(fast[2]) <= set(plain[2])  # the plain path warns once more, in backward
    assert bool(fast[2]) == bool(plain[2])


@FUNCTIONS
def test_errstate_raise_raises_before_anything_is_recorded(name):
    x = ag.tensor([np.inf] * 20, requires_grad=True)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match=f"invalid value encountered in {name}"):
        getattr(ag, name)(x)


@FUNCTIONS
def test_a_write_into_the_argument_does_not_change_the_gradient(name):
    array = RNG.uniform(-3, 3, 50)
    x = ag.tensor(array, requires_grad=True)
    z = x * 1.0
    y = getattr(ag, name)(z)
    z += 5.0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(array) if name == "sin" else -np.sin(array), rtol=1e-15)


@FUNCTIONS
def test_a_write_into_the_argument_raises_in_the_mode_that_says_so(name):
    before = ag.set_saved_mutation("error")
    try:
        x = ag.tensor(RNG.uniform(-3, 3, 50), requires_grad=True)
        z = x * 1.0
        y = getattr(ag, name)(z)
        z += 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    finally:
        ag.set_saved_mutation(before)


@FUNCTIONS
def test_a_graph_that_is_kept_gives_the_same_again(name):
    x = ag.tensor(RNG.uniform(-3, 3, 50), requires_grad=True)
    y = getattr(ag, name)(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    x.grad = None
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), first)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


@FUNCTIONS
def test_derivatives_of_higher_order(name):
    array = RNG.uniform(-3, 3, 20)
    x = ag.tensor(array, requires_grad=True)
    (g,) = ag.autograd.grad(getattr(ag, name)(x).sum(), [x], create_graph=True)
    (h,) = ag.autograd.grad(g.sum(), [x], create_graph=True)
    (k,) = ag.autograd.grad(h.sum(), [x])
    second, third = (-np.sin(array), -np.cos(array)) if name == "sin" else (-np.cos(array), np.sin(array))
    np.testing.assert_allclose(h.numpy(), second, rtol=1e-14)
    np.testing.assert_allclose(k.numpy(), third, rtol=1e-14)


@FUNCTIONS
def test_saved_tensor_hooks_see_the_argument(name):
    seen = []

    def pack(t):
        seen.append(t.numpy().copy())
        return t

    array = RNG.uniform(-3, 3, 25)
    x = ag.tensor(array, requires_grad=True)
    with ag.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = getattr(ag, name)(x)
    y.sum().backward()
    np.testing.assert_array_equal(seen[0], array)
    np.testing.assert_allclose(x.grad.numpy(), np.cos(array) if name == "sin" else -np.sin(array), rtol=1e-15)


def test_what_is_not_recorded_keeps_nothing():
    x = ag.tensor(RNG.uniform(-3, 3, 25), requires_grad=True)
    with ag.no_grad():
        assert ag.sin(x).grad_fn is None
    assert ag.sin(x.detach()).grad_fn is None
