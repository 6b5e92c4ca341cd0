"""CuPy on a device: gradients, streams, transfers, memory, kernels. Skipped, with the reason, where there is no device.

Imports the public names of arraygrad, engine.threads for its device threads, ops for the table, and the CuPy backend.
"""

import gc
import importlib
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from waiting import waits_counted

import arraygrad as ag
from arraygrad.engine.threads import device_threads

pytestmark = pytest.mark.gpu

X = np.array([[0.5, -1.0], [2.0, 3.0]])


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


def test_a_backward_on_one_device_is_driven_by_its_caller(cupy):
    x = leaf(cupy, X)
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(threading.current_thread()))
    ag.sum(y).backward()
    assert seen == [threading.current_thread()]
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X)


def test_a_backward_on_host_and_device_runs_on_the_devices_thread(cupy):
    x = leaf(cupy, X)
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(threading.current_thread()))
    (ag.to_backend(y, "numpy") * 1.0).sum().backward()
    assert seen == [device_threads()["cupy", "cuda", 0]]
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


# -- the namespace -----------------------------------------------------------------------------------------------------


def test_the_namespace_is_that_of_numpy():
    assert set(ag.cupy.__all__) == {*ag.numpy.__all__, "capture"}
    info = ag.cupy.__array_namespace_info__()
    assert info.devices()
    assert info.default_dtypes()["real floating"] == np.float64


def test_creation_and_dtypes(cupy):
    xp = ag.cupy
    for t in (xp.zeros((2, 3)), xp.ones(3, dtype=xp.float32), xp.arange(5), xp.eye(2), xp.linspace(0.0, 1.0, 4)):
        assert type(t.array) is cupy.ndarray
    assert xp.ones(3, dtype=xp.float32).dtype == np.float32
    assert float(xp.asarray([1.0, 2.0])[1]) == 2.0


# -- derivatives -------------------------------------------------------------------------------------------------------

UNARY = (
    "negative reciprocal square sqrt exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh "
    "atanh abs sigmoid relu erf cumulative_sum cumulative_prod prod mean var std logsumexp softmax log_softmax "
    "flip sort"
).split()
BINARY = "add subtract multiply divide pow maximum minimum hypot atan2 logaddexp copysign matmul".split()
LINALG = "inv det cholesky qr eigh svdvals solve slogdet pinv matrix_norm vector_norm".split()
FFT = "fft ifft rfft hfft fftn fftshift".split()


def real_sum(t):
    """A real number that depends on every element of every result."""
    if isinstance(t, tuple):
        return sum(real_sum(part) for part in t)
    return ag.sum(ag.real(t) * 1.5 + ag.imag(t) * 0.5) if "complex" in str(t.dtype) else ag.sum(t * t)


def inputs(cupy, *shapes):
    """Leaves between 0.2 and 0.8."""
    rng = np.random.default_rng(0)
    return tuple(ag.asarray(cupy.asarray(rng.uniform(0.2, 0.8, shape)), requires_grad=True) for shape in shapes)


@pytest.mark.parametrize("name", UNARY)
def test_gradcheck_of_one_array(cupy, name):
    over_axis = ("cumulative_sum", "cumulative_prod", "var", "std", "logsumexp", "softmax")
    options = {"axis": 0} if name in over_axis else {}
    (x,) = inputs(cupy, (3, 4))
    assert ag.gradcheck(lambda x: real_sum(getattr(ag.cupy, name)(x, **options)), (x,))


@pytest.mark.parametrize("name", BINARY)
def test_gradcheck_of_two_arrays(cupy, name):
    assert ag.gradcheck(lambda x, y: real_sum(getattr(ag.cupy, name)(x, y)), inputs(cupy, (3, 3), (3, 3)))


@pytest.mark.parametrize("name", LINALG)
def test_gradcheck_of_linear_algebra_in_batches(cupy, name):
    (x,) = inputs(cupy, (2, 3, 3))
    f = getattr(ag.cupy.linalg, name)

    def loss(x):
        a = x @ x.mT + ag.cupy.eye(3)
        if name == "solve":
            return real_sum(f(a, x))
        if name == "eigh":
            return real_sum(f(a)[0])
        return real_sum(f(a)[1] if name == "slogdet" else f(a))

    assert ag.gradcheck(loss, (x,))


@pytest.mark.parametrize("name", FFT)
def test_gradcheck_of_transforms(cupy, name):
    (x,) = inputs(cupy, (2, 6))
    assert ag.gradcheck(lambda x: real_sum(getattr(ag.cupy.fft, name)(x * 1.0)), (x,))


def test_gradcheck_of_complex_numbers(cupy):
    rng = np.random.default_rng(0)
    z = ag.asarray(cupy.asarray(rng.normal(size=4) + 1j * rng.normal(size=4)), requires_grad=True)
    xp = ag.cupy
    assert ag.gradcheck(lambda z: xp.sum(xp.abs(xp.exp(z) * xp.conj(z) / (z + 3.0)) ** 2), (z,))
    index = cupy.asarray([0, 3, 0])
    assert ag.gradcheck(lambda z: xp.sum(xp.abs(z[index]) ** 2), (z,))


def test_second_derivatives_pass_gradcheck(cupy):
    assert ag.gradcheck(lambda x: ag.sum(ag.tanh(x) * ag.exp(x) / x), inputs(cupy, (5,)), order=2)


# -- kernels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_kernels_give_what_the_rules_give(cupy, dtype):
    from arraygrad.backends.cupy import set_fused

    rng = np.random.default_rng(1)
    values = rng.uniform(0.3, 2.0, (64, 33)) + (1j * rng.normal(size=(64, 33)) if dtype[0] == "c" else 0)
    x = ag.asarray(cupy.asarray(values.astype(dtype)), requires_grad=True)

    def gradients():
        y = ag.tanh(x) * ag.sin(x) / ag.exp(x) + ag.sqrt(x) * ag.log(x) - ag.abs(x)
        if dtype[0] == "f":
            z = ag.softmax(y, axis=1) * ag.std(x, axis=0) + ag.logsumexp(x, axis=1, keepdims=True) * ag.relu(y)
            y = z + ag.var(x, axis=0) * ag.max(x, axis=1, keepdims=True) + ag.log_softmax(x, axis=0) * ag.sigmoid(x)
        return ag.autograd.grad(real_sum(y), x)[0].numpy()

    first = gradients()
    assert set_fused(False)
    try:
        second = gradients()
    finally:
        set_fused(True)
    single = np.dtype(dtype).char in "fF"
    np.testing.assert_allclose(first, second, rtol=2e-4 if single else 1e-10, atol=1e-4 if single else 1e-12)


def test_an_elementwise_node_is_one_launch(cupy, monkeypatch):
    from arraygrad.backends.cupy import BACKEND

    kernels, asked, served = BACKEND.kernels, [], []
    plain = kernels.rules

    def counted(op, *rest):
        found = plain(op, *rest)
        asked.append(op.name)
        if found is not None:
            served.append(op.name)
        return found

    monkeypatch.setattr(kernels, "rules", counted)
    x = leaf(cupy, X)
    y = ag.sin(x) * ag.exp(-x) / (1.0 + x * x) - ag.tanh(x) ** 2
    y.backward(cupy.ones_like(y.array))
    assert asked == served


def test_backward_does_not_wait_for_the_device(cupy):
    x = leaf(cupy, np.ones(1 << 22))
    loss = ag.sum(ag.logsumexp(ag.reshape(ag.sin(x) * x, (1 << 11, 1 << 11)), axis=1) + ag.var(x))
    loss.backward(retain_graph=True)
    with ag.autograd.set_multithreading_enabled(False), waits_counted() as waits:
        loss.backward()
    assert waits.count == 0


# -- streams -----------------------------------------------------------------------------------------------------------


def test_a_rule_that_brings_a_strided_array_to_the_host_stays_on_its_stream(cupy):
    if not hasattr(cupy, "get_array_module"):
        pytest.skip("the stand-in's arrays lie on the host")
    seen = []

    class Read(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            seen.append(cupy.cuda.get_current_stream())
            ctx.saved_tensors[0].array[::-1].get()
            seen.append(cupy.cuda.get_current_stream())
            return g * 2.0

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        loss = ag.sum(Read.apply(leaf(cupy, X)))
    before = cupy.cuda.get_current_stream()
    loss.backward()
    assert seen == [stream, stream]
    assert cupy.cuda.get_current_stream() == before


def graph_on(cupy, streams, x, rng):
    """A random graph over `x`, each operation on one of `streams` (None: all on the current one)."""
    values, rng = [x, x * 1.5], np.random.default_rng(rng)
    null = cupy.cuda.get_current_stream()
    for _ in range(24):
        i, j, k, s = rng.integers(0, 1 << 30, 4)
        a, b = values[i % len(values)], values[j % len(values)]
        if streams is None:
            values.append(operation(k, a, b))
            continue
        stream = streams[s % len(streams)]
        for other in (*streams, null):
            stream.wait_event(other.record())
        with stream:
            values.append(operation(k, a, b))
    if streams is not None:
        for other in streams:
            null.wait_event(other.record())
    return ag.sum(ag.stack(values[-6:]))


def operation(k, a, b):
    """One of a few operations on two arrays."""
    return (ag.sin(a) * b, a - ag.tanh(b), ag.exp(-a * a), a * b * 0.5, ag.softmax(a) + b)[k % 5]


@pytest.mark.parametrize("seed", range(8))
def test_random_streams_give_the_bits_of_one_stream(cupy, seed):
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    ag.autograd.set_deterministic(True)
    try:
        first, second = leaf(cupy, np.linspace(-1.0, 1.0, 1 << 16)), leaf(cupy, np.linspace(-1.0, 1.0, 1 << 16))
        graph_on(cupy, None, first, seed).backward()
        for _ in range(3):
            second.grad = None
            graph_on(cupy, streams, second, seed).backward()
            np.testing.assert_array_equal(first.grad.numpy(), second.grad.numpy())
    finally:
        ag.autograd.set_deterministic(False)


def test_the_callers_stream_sees_the_gradient(cupy):
    side, mine = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with side:
        x = leaf(cupy, np.ones(1 << 22))
        y = x * 3.0
        g = cupy.ones(1 << 22)
    with mine:
        mine.wait_event(side.record())
        y.backward(g)
        total = cupy.sum(x.grad.array)
    mine.synchronize()
    assert float(total) == 3.0 * (1 << 22)


# -- several devices ---------------------------------------------------------------------------------------------------


@pytest.fixture
def two_devices(cupy):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("only one CUDA device")


def test_a_graph_over_two_devices(cupy, two_devices):
    x = leaf(cupy, X)
    y = (x * 2.0).to_device(cupy.cuda.Device(1))
    with cupy.cuda.Device(1):
        z = ag.sum(y * y)
        z.backward()
    assert x.grad.device == cupy.cuda.Device(0)
    np.testing.assert_array_equal(x.grad.numpy(), 8 * X)
    assert {("cupy", "cuda", 0), ("cupy", "cuda", 1)} <= set(device_threads())


def test_two_devices_of_independent_work(cupy, two_devices):
    leaves = []
    for number in (0, 1):
        with cupy.cuda.Device(number):
            leaves.append(leaf(cupy, X))
    losses = []
    for number, x in enumerate(leaves):
        with cupy.cuda.Device(number):
            losses.append(ag.sum(ag.exp(x)))
    ag.autograd.backward(losses)
    for number, x in enumerate(leaves):
        assert x.grad.device == cupy.cuda.Device(number)
        np.testing.assert_allclose(x.grad.numpy(), np.exp(X))


# -- memory ------------------------------------------------------------------------------------------------------------


def test_out_of_memory_is_raised_in_the_caller_and_nothing_leaks(cupy):
    # In a pool of its own: what other tests left in the default one would be room enough.
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        x = leaf(cupy, np.ones((1 << 10, 1 << 10)))
        y = ag.linalg.inv(x + ag.cupy.eye(1 << 10))
        loss = ag.sum(y)
        del y
        gc.collect()
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + (1 << 20))
        # (the allocator belongs to a thread, so the nodes run on this one)
        with ag.autograd.set_multithreading_enabled(False):
            with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
                loss.backward()
            pool.set_limit(size=0)
            del loss
            gc.collect()
            assert pool.used_bytes() <= x.array.nbytes * 2 + (1 << 20)
            ag.sum(x * 2.0).backward()
    assert float(x.grad[0, 0]) == 2.0


def test_gradients_come_from_the_pool(cupy):
    pool = cupy.get_default_memory_pool()
    x = leaf(cupy, np.ones(1 << 20))
    for _ in range(2):
        x.grad = None
        ag.sum(ag.sin(x) * x).backward()
    total = pool.total_bytes()
    for _ in range(5):
        x.grad = None
        ag.sum(ag.sin(x) * x).backward()
    assert pool.total_bytes() == total


def test_save_on_cpu_gives_the_same_gradient(cupy):
    def gradient(context):
        x = leaf(cupy, np.linspace(0.0, 1.0, 1 << 20))
        with context:
            y = x
            for _ in range(10):
                y = ag.sin(y) * 1.5
        ag.sum(y).backward()
        return x.grad.numpy()

    import contextlib

    expected = gradient(contextlib.nullcontext())
    np.testing.assert_array_equal(gradient(ag.autograd.graph.save_on_cpu()), expected)


# -- kernels written by hand -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["raw_kernel", "elementwise_kernel", "fused", "tensor_contraction"])
def test_examples(cupy, name, monkeypatch):
    if name == "tensor_contraction":
        pytest.importorskip("cupyx.cutensor", reason="cuTENSOR is not installed", exc_type=ImportError)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    sys.modules.pop("examples", None)
    assert importlib.import_module(f"examples.gpu.{name}").check()


def test_cupys_own_functions_record(cupy):
    x = leaf(cupy, X)
    y = cupy.sin(x) * cupy.asarray(X)
    assert cupy.asarray(x.detach()).data.ptr == x.array.data.ptr
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X) * X)
