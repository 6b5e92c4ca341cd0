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


def test_it_is_used_where_numpy_takes_its_sines_from_the_c_library():
    recorded("sin", np.ones(30))
    assert sines_are_used() in (True, False)
    x = spread(20_000)
    if not sines_are_used():
        pytest.skip("NumPy's float64 sines are not those of sincos here, or there is none: the plain path is taken")
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(recorded("sin", x)[0], np.sin(x))
        np.testing.assert_array_equal(recorded("cos", x)[0], np.cos(x))


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
        lambda a: a.astype(">f8"),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float64).reshape(a.shape),
    ],
    ids=["column-major", "transposed", "reversed", "every-second", "repeated", "byte-swapped", "unaligned"],
)
def test_every_layout(name, layout):
    array = layout(RNG.uniform(-3, 3, (6, 8)))
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
