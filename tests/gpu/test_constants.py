"""Gradients that are one number everywhere, which the host knows: nobody can write them, and each stream has its own.

Runs on a device, and on the stand-in by test_device_tests.py. Imports the public names of arraygrad.
"""

import contextlib

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

LOSSES = {
    "sum": ag.sum,
    "mean": ag.mean,
    "negative": lambda t: -ag.sum(t),
    "difference": lambda t: 1.0 - ag.mean(t),
    "of differences": lambda t: ag.mean(t - t * t),
    "over a number": lambda t: ag.sum(t) / 7,
    "times a number": lambda t: 0.1 * ag.sum(t) * 3,
    "nested": lambda t: -(ag.mean(ag.sum(t, axis=1) / 3.0) - 2.0) * 5.0,
    "means of means": lambda t: ag.mean(ag.mean(t, axis=0)),
    "keepdims": lambda t: ag.sum(ag.mean(t, axis=1, keepdims=True), keepdims=True)[0, 0],
    "times zero": lambda t: ag.sum(t) * 0.0,
    "over infinity": lambda t: ag.sum(t) / np.inf,
    "times infinity": lambda t: ag.sum(t) * np.inf,
    "two parts": lambda t: ag.sum(t) - ag.mean(t) * 2.0,
    "of a square": lambda t: -ag.mean(t * t) / 3.0,
}


def write(array):
    """Write numbers into an array, as far as it lets itself be written: NumPy's views that repeat a number do not."""
    with contextlib.suppress(ValueError):
        array[...] = 55.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_over_numpy(cupy, name, dtype):
    x = np.linspace(-1.0, 2.0, 12).reshape(4, 3).astype(dtype)
    expected = ag.grad(LOSSES[name])(x)
    for _ in range(2):
        found = ag.grad(LOSSES[name])(cupy.asarray(x))
        assert found.dtype == dtype
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6 if dtype == "float32" else 1e-14)
        write(found)  # it is the caller's


def check(cupy):
    """Constants are what they were."""
    x = cupy.asarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(ag.grad(ag.sum)(x).get(), np.ones((2, 3)))
    np.testing.assert_array_equal(ag.grad(lambda t: -ag.sum(t))(x).get(), -np.ones((2, 3)))
    np.testing.assert_allclose(ag.grad(ag.mean)(x).get(), np.full((2, 3), 1 / 6))


def test_what_is_asked_for_is_the_callers(cupy):
    for build in (lambda t: t, ag.sum, lambda t: -ag.sum(t), ag.mean):
        for _ in range(2):
            x = ag.asarray(cupy.asarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)
            inner = ag.sum(x)
            loss = -inner if build is not ag.mean else inner / 6
            outer = loss * 1.0
            for found in ag.autograd.grad(outer, [x, inner, loss, outer]):
                assert float(ag.sum(found)) == float(ag.sum(found.copy()))
                write(found.array)
            check(cupy)


def test_a_number_by_itself(cupy):
    for _ in range(2):
        p = ag.asarray(cupy.asarray(2.0), requires_grad=True)
        p.backward()
        assert p.grad.item() == 1.0
        p.grad.array[...] = 7.0
        found = ag.grad(lambda t: t)(cupy.asarray(3.0))
        assert float(found) == 1.0
        found[...] = 5.0
        check(cupy)


def test_gradients_of_leaves_without_axes_are_added_up(cupy):
    p = ag.asarray(cupy.asarray(2.0), requires_grad=True)
    for k in range(1, 4):
        (-p).backward()
        assert p.grad.item() == -k
    check(cupy)


def test_hooks_get_their_own(cupy):
    seen = []

    def hook(g):
        seen.append(float(g))
        write(g.array)

    x = ag.asarray(cupy.asarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)
    inner = ag.sum(x)
    loss = -inner
    loss.register_hook(hook)
    inner.retain_grad()
    loss.backward()
    assert seen == [1.0]
    inner.grad.array[...] = 44.0
    check(cupy)


def test_functions_get_their_own(cupy):
    class Twice(ag.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * 2.0

        @staticmethod
        def backward(ctx, g):
            g.array[...] = g.array * 2.0
            return g

    x = ag.asarray(cupy.asarray(np.arange(3.0)), requires_grad=True)
    (-Twice.apply(ag.sum(x))).backward()
    check(cupy)


def test_more_numbers_than_are_kept(cupy):
    x = cupy.asarray(np.arange(6.0).reshape(2, 3))
    kept = []
    for k in range(1, 700):
        kept.append(ag.grad(lambda t, k=k: ag.sum(t) / k)(x))
    for k, found in enumerate(kept, 1):
        np.testing.assert_allclose(found.get(), np.full((2, 3), 1 / k), rtol=1e-15)
    check(cupy)


def test_two_streams(cupy):
    x = np.linspace(-1, 1, 4096)
    t = ag.asarray(cupy.asarray(x), requires_grad=True)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    cupy.cuda.Device().synchronize()
    for k in range(6):
        with streams[k % 2]:
            (-ag.mean(t * t) / (3 + k // 2)).backward()
            found = t.grad.array * 1.0
        t.grad = None
        cupy.cuda.Device().synchronize()
        np.testing.assert_allclose(found.get(), -2 * x / 4096 / (3 + k // 2), rtol=1e-14)


def test_recorded_gradients(cupy):
    x = cupy.asarray(np.linspace(0.5, 1.5, 6).reshape(2, 3))
    first = ag.grad(lambda t: ag.mean(t**3))
    found = ag.grad(lambda t: ag.sum(first(t)))(x)
    np.testing.assert_allclose(found.get(), 6 * x.get() / 6, rtol=1e-13)
    check(cupy)


def test_zero_annihilates(cupy):
    x = np.array([0.0, 1.0, 2.0])
    with ag.zero_annihilates():
        found = ag.grad(lambda t: -ag.sum(ag.log(t) * 0.0))(cupy.asarray(x))
    np.testing.assert_array_equal(found.get(), np.zeros(3))


def test_within_a_capture(cupy):
    x = ag.asarray(cupy.asarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)

    def step():
        (g,) = ag.autograd.grad(-ag.mean(x * x) / 11, [x])
        with ag.no_grad():
            x.__isub__(0.5 * g)

    start = x.numpy().copy()
    step()
    wanted = x.numpy().copy()
    with ag.no_grad():
        x[...] = cupy.asarray(start)
    with ag.cupy.capture() as graph:
        step()
    graph.launch()
    np.testing.assert_allclose(x.numpy(), wanted, rtol=1e-14)
    check(cupy)
