"""CuPy on a device: gradients, streams, transfers. Skipped, with the reason, where there is no device.

Imports the public names of arraygrad, and engine.engine for its device threads.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.engine.engine import device_threads

pytestmark = pytest.mark.gpu

X = np.array([[0.5, -1.0], [2.0, 3.0]])


@pytest.fixture
def cupy():
    import cupy

    return cupy


def leaf(cupy, values):
    return ag.asarray(cupy.asarray(values), requires_grad=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.sum(xp.tanh(x) * xp.exp(-(x**2))),
        lambda xp, x: xp.sum((x @ x) ** 2) + xp.linalg.det(x),
        lambda xp, x: xp.sum(xp.linalg.solve(x, x[0])),
        lambda xp, x: xp.sum(xp.take(x, xp.asarray([0, 1, 0]), axis=0) ** 2),
        lambda xp, x: xp.sum(x[xp.asarray([0, 1, 0])] ** 2),
        lambda xp, x: xp.sum(xp.sort(x, axis=0)[0] * xp.max(x, axis=1)),
        lambda xp, x: xp.sum(xp.abs(xp.fft.fft(x)) ** 2),
        lambda xp, x: xp.sum(xp.cumulative_prod(x, axis=0)),
    ],
)
def test_gradient_is_that_over_numpy(cupy, function):
    found = ag.grad(lambda x: function(ag.cupy, x))(cupy.asarray(X))
    assert type(found) is cupy.ndarray
    np.testing.assert_allclose(found.get(), ag.grad(lambda x: function(ag.numpy, x))(X), rtol=1e-9)


def test_second_derivative(cupy):
    found = ag.hvp(lambda x: ag.cupy.sum(ag.cupy.sin(x) * x))(cupy.asarray(X), cupy.ones((2, 2)))
    np.testing.assert_allclose(found.get(), 2 * np.cos(X) - X * np.sin(X), rtol=1e-10)


def test_nodes_run_on_the_devices_thread(cupy):
    x = leaf(cupy, X)
    ag.sum(x * x).backward()
    assert ("cupy", "cuda", 0) in device_threads()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X)


def test_two_streams_meet_in_one_gradient(cupy):
    x = leaf(cupy, np.ones(1 << 20))
    with cupy.cuda.Stream(non_blocking=True) as first:
        a = ag.exp(x)
    second = cupy.cuda.Stream(non_blocking=True)
    second.wait_event(first.record())
    with second:
        b = a * x
    cupy.cuda.get_current_stream().wait_event(second.record())
    ag.sum(b).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(1 << 20, 2 * np.e), rtol=1e-12)


def test_writes_through_views_are_recorded(cupy):
    x = leaf(cupy, [1.0, 2.0, 3.0])
    y = x * 1.0
    y[1:][0] = x[0] * 10.0
    ag.sum(y).backward()
    assert x.grad.tolist() == [11.0, 0.0, 1.0]


def test_transfer_and_back(cupy):
    x = ag.tensor(X, requires_grad=True)
    y = ag.to_backend(x * 2.0, "cupy")
    assert type(y.array) is cupy.ndarray
    ag.to_backend(ag.sum(y**2), "numpy").backward()
    np.testing.assert_allclose(x.grad.numpy(), 8 * X)


def test_pytorch_and_cupy_share_memory_on_the_device(cupy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no CUDA device")
    x = leaf(cupy, X)
    y = ag.to_backend(x, "torch")
    assert y.array.data_ptr() == x.array.data.ptr
    ag.sum(y * y).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)


def test_single_precision_stays_single(cupy):
    x = leaf(cupy, X.astype(np.float32))
    ag.sum(ag.exp(x) * 2.0).backward()
    assert x.grad.dtype == np.float32
