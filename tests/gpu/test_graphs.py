"""A training step captured as a CUDA graph does at each launch what the step does.

Imports the public names of arraygrad. Runs on a device; on the stand-in, which runs what is captured at once, by
test_device_tests.py, as far as that goes.
"""

import gc
import threading

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(5)


def leaf(cupy, *shape):
    return ag.asarray(cupy.asarray(RNG.standard_normal(shape)), requires_grad=True)


class Problem:
    """A small network, its data in arrays that stay, and a step of gradient descent that writes in place."""

    def __init__(self, cupy, seed=1):
        rng = np.random.default_rng(seed)
        self.x, self.y = cupy.asarray(rng.standard_normal((6, 4))), cupy.asarray(rng.standard_normal((6, 2)))
        sizes = [(4, 8), (8,), (8, 2), (2,)]
        self.parameters = [ag.asarray(cupy.asarray(rng.standard_normal(s)), requires_grad=True) for s in sizes]
        self.loss = cupy.zeros(())

    def step(self):
        w, b, v, c = self.parameters
        hidden = ag.tanh(self.x @ w + b)
        loss = ag.mean((hidden @ v + c - self.y) ** 2)
        gradients = ag.autograd.grad(loss, self.parameters)
        with ag.no_grad():
            for p, g in zip(self.parameters, gradients, strict=True):
                p -= g * 0.05
        self.loss[...] = loss.detach().array

    def state(self):
        return [p.detach().numpy() for p in self.parameters] + [self.loss.get()]


def on_the_stand_in(cupy):
    return "stand-in" in cupy.__version__


def test_launches_do_what_the_step_does(cupy):
    eager, captured = Problem(cupy), Problem(cupy)
    eager.step()
    captured.step()
    with ag.cupy.capture() as graph:
        captured.step()
    if on_the_stand_in(cupy):
        eager.step()  # where it runs as it is captured
        assert graph.launch() is None
    else:
        for _ in range(5):
            eager.step()
            graph.launch()
    for a, b in zip(eager.state(), captured.state(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)  # CuPy calls no cuBLAS in a capture


def test_a_backward_in_the_block_accumulates_at_each_launch(cupy):
    if on_the_stand_in(cupy):
        pytest.skip("the stand-in cannot replay")
    x = leaf(cupy, 5)
    ag.sum(ag.exp(x)).backward()
    first = x.grad.numpy()
    with ag.cupy.capture() as graph:
        ag.sum(ag.exp(x)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), first)  # nothing has run
    for k in range(2, 5):
        graph.launch()
        np.testing.assert_allclose(x.grad.numpy(), k * first, rtol=1e-14)


def test_new_data_in_the_same_arrays_is_used(cupy):
    if on_the_stand_in(cupy):
        pytest.skip("the stand-in cannot replay")
    x = cupy.zeros(4)
    w = leaf(cupy, 4)
    ag.sum(w * x)
    with ag.cupy.capture() as graph:
        (gradient,) = ag.autograd.grad(ag.sum(w * x * x), w)
    for k in range(1, 4):
        x[...] = k
        graph.launch()
        np.testing.assert_allclose(gradient.numpy(), np.full(4, k * k), rtol=1e-14)


def test_leaves_of_other_streams_are_no_part_of_the_capture(cupy):
    made_elsewhere = cupy.cuda.Stream(non_blocking=True)
    with made_elsewhere:
        x = leaf(cupy, 5)
    made_elsewhere.synchronize()
    with ag.cupy.capture() as graph:
        ag.sum(ag.sin(x) * 2.0).backward()
    graph.launch()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(x.detach().numpy()), rtol=1e-14)


def test_memory_that_the_program_drops_stays_the_graphs(cupy):
    if on_the_stand_in(cupy):
        pytest.skip("the stand-in cannot replay")
    x = leaf(cupy, 4096)
    factor = ag.asarray(cupy.full(4096, 3.0))
    out = cupy.zeros(4096)
    with ag.cupy.capture() as graph:
        (gradient,) = ag.autograd.grad(ag.sum(ag.exp(x * 0.0) * factor * x), x)
        out[...] = gradient.array
    del gradient, factor
    gc.collect()
    junk = [cupy.full(4096, np.nan) for _ in range(20)]
    graph.launch()
    np.testing.assert_array_equal(out.get(), np.full(4096, 3.0))
    assert len(junk) == 20


def test_what_waits_for_the_device_is_refused(cupy):
    if on_the_stand_in(cupy):
        pytest.skip("the stand-in does not forbid waits")
    x = leaf(cupy, 3)
    with pytest.raises(RuntimeError, match="waits for the device, which a graph cannot hold"):
        with ag.cupy.capture() as graph:
            float(ag.sum(x))
    with pytest.raises(RuntimeError, match="nothing was captured"):
        graph.launch()
    ag.sum(x * x).backward()  # the thread is as it was
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (3, 5, 2), (16, 16, 16), (33, 17, 40)])
def test_products_in_a_capture_are_those_over_numpy(cupy, dtype, m, k, n):
    a, b = RNG.standard_normal((m, k)).astype(dtype), RNG.standard_normal((n, k)).astype(dtype)
    x, y = (ag.asarray(cupy.asarray(v), requires_grad=True) for v in (a, b))
    with ag.cupy.capture() as graph:
        z = x @ y.T
        gx, gy = ag.autograd.grad(ag.sum(z * z), [x, y])
    graph.launch()
    wide = a.astype("float64") @ b.astype("float64").T
    tolerance = {"rtol": 1e-5, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-11}
    np.testing.assert_allclose(z.detach().numpy(), wide, **tolerance)
    np.testing.assert_allclose(gx.numpy(), 2 * wide @ b, **tolerance)
    np.testing.assert_allclose(gy.numpy(), 2 * wide.T @ a, **tolerance)
    assert z.dtype == gx.dtype == np.dtype(dtype)


def test_products_that_need_cublas_are_refused(cupy):
    if on_the_stand_in(cupy):
        pytest.skip("the stand-in has no cuBLAS")
    x = leaf(cupy, 2, 3, 3)
    with pytest.raises(RuntimeError, match="CuPy calls no cuBLAS while a stream captures"), ag.cupy.capture():
        _ = x @ x


def test_errors_of_the_program_pass_through_and_leave_nothing_behind(cupy):
    x = leaf(cupy, 3)
    before = cupy.cuda.get_current_stream()
    with pytest.raises(ZeroDivisionError), ag.cupy.capture():
        _ = 1 / 0 * x
    assert cupy.cuda.get_current_stream() == before
    with ag.cupy.capture() as graph:
        y = x * 2.0
    graph.launch()
    np.testing.assert_allclose(y.detach().numpy(), 2 * x.detach().numpy())


def test_a_backward_through_what_was_recorded_before_is_refused(cupy):
    x = leaf(cupy, 3)
    y = ag.exp(x)
    with pytest.raises(RuntimeError, match="ExpBackward was recorded before the block"), ag.cupy.capture():
        ag.sum(y * 2.0).backward()
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy()))


def test_captures_cannot_be_nested_or_repeated(cupy):
    with ag.cupy.capture() as graph:
        with pytest.raises(RuntimeError, match="cannot be nested"), ag.cupy.capture():
            pass
    with pytest.raises(RuntimeError, match="captured already"), graph:
        pass


def test_a_backward_that_needs_the_host_is_refused(cupy):
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = ag.to_backend(x * 1.0, "cupy") * 2.0
    with pytest.raises(RuntimeError, match="everything has to lie on the device that captures"), ag.cupy.capture():
        ag.sum(y * y).backward()


def test_other_threads_go_on_meanwhile(cupy):
    found = []

    def work():
        with cupy.cuda.Stream(non_blocking=True):
            x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            ag.sum(x * x).backward()
            found.append(x.grad.numpy().tolist())

    x = leaf(cupy, 3)
    ag.sum(x * x).backward()
    with ag.cupy.capture() as graph:
        y = x * 2.0
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    graph.launch()
    assert found == [[2.0, 4.0]]
    np.testing.assert_allclose(y.detach().numpy(), 2 * x.detach().numpy())
