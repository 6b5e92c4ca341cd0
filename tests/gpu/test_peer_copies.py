"""Copies between devices: what is copied, in which order, in whose memory. A thread for each device.

In lazy mode of the host device (tools/host_cuda) a missing wait is a wrong number here. Skipped, with the reason, where
there are not two devices. Imports the public names of arraygrad, and engine.threads for its device threads.
"""

import threading

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.engine.threads import device_threads

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("two_devices")]

SIZE = 4096
WAYS = ("the current stream", "a stream", "a handle")


@pytest.fixture
def streams(cupy):
    """A stream of device 0, and two of device 1: one to be current there, one that may copy."""
    found = []
    for number in (0, 1, 1):
        with cupy.cuda.Device(number):
            found.append(cupy.cuda.Stream(non_blocking=True))
    return found


def carried(way, stream):
    return {"the current stream": None, "a stream": stream, "a handle": stream.ptr}[way]


def spoil(cupy, number, stream):
    """Take the memory that is free for a stream, and write NaN over it."""
    with cupy.cuda.Device(number), stream:
        return [cupy.full(SIZE, np.nan) for _ in range(8)]


def values_of(cupy, number, array, stream=None):
    """The values of an array once all is done, first what a stream waits for."""
    if stream is not None:
        stream.synchronize()
    for device in (number, 1 - number):
        cupy.cuda.Device(device).synchronize()
    with cupy.cuda.Device(number):
        return array.get()


LAYOUTS = {
    "a matrix": np.arange(6.0).reshape(2, 3),
    "one number": np.array(3.0),
    "one element": np.array([3.0]),
    "nothing": np.zeros((0, 3)),
    "column-major": np.arange(6.0).reshape(2, 3).T,
    "a slice": np.arange(12.0).reshape(4, 3)[1::2, 1:],
    "reversed": np.arange(6.0).reshape(2, 3)[::-1],
    "repeated": np.broadcast_to(np.arange(3.0), (2, 3)),
    "float32": np.arange(6, dtype=np.float32).reshape(2, 3),
    "complex": np.arange(6.0) * (1 + 2j),
    "float16": np.arange(6, dtype=np.float16),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_copy_and_its_gradient_keep_shape_dtype_and_values(cupy, streams, name, way):
    whole = cupy.asarray(np.ascontiguousarray(LAYOUTS[name]).reshape(LAYOUTS[name].shape))
    array = {
        "column-major": lambda: cupy.asarray(np.ascontiguousarray(LAYOUTS[name].T)).T,
        "a slice": lambda: cupy.asarray(np.arange(12.0).reshape(4, 3))[1::2, 1:],
        "reversed": lambda: cupy.asarray(np.arange(6.0).reshape(2, 3))[::-1],
    }.get(name, lambda: whole)()
    t = ag.asarray(array, requires_grad=True)
    if name == "repeated":
        t = ag.asarray(cupy.asarray(np.arange(3.0)), requires_grad=True)
        moved = ag.broadcast_to(t, (2, 3)).to_device(cupy.cuda.Device(1), stream=carried(way, streams[2]))
    else:
        moved = t.to_device(cupy.cuda.Device(1), stream=carried(way, streams[2]))
    assert moved.device == cupy.cuda.Device(1)
    assert moved.dtype == LAYOUTS[name].dtype
    assert moved.shape == LAYOUTS[name].shape
    np.testing.assert_array_equal(values_of(cupy, 1, moved.array), LAYOUTS[name])
    with cupy.cuda.Device(1):
        g = cupy.asarray(LAYOUTS[name] * LAYOUTS[name].dtype.type(2) + LAYOUTS[name].dtype.type(1))
        moved.backward(g)
    assert t.grad.device == cupy.cuda.Device(0)
    assert t.grad.dtype == t.dtype
    assert t.grad.shape == t.shape
    expected = LAYOUTS[name] * 2 + 1
    np.testing.assert_array_equal(t.grad.numpy(), expected.sum(0) if name == "repeated" else expected)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_comes_after_what_the_sources_stream_was_given_before(cupy, streams, way):
    home, here, carrier = streams
    with cupy.cuda.Device(0), home:
        t = ag.asarray(cupy.full(SIZE, 1.5)) * 2.0
        with cupy.cuda.Device(1), here:
            seen = t.to_device(cupy.cuda.Device(1), stream=carried(way, carrier)).array * 1.0
    np.testing.assert_array_equal(values_of(cupy, 1, seen, here), np.full(SIZE, 3.0))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", ["in one piece", "strided"])
def test_the_source_may_go_at_once(cupy, streams, layout, way):
    home, here, carrier = streams
    with cupy.cuda.Device(0), home:
        source = cupy.full(SIZE, 3.0) if layout == "in one piece" else cupy.full(2 * SIZE, 3.0)[::2]
        home.synchronize()
        with cupy.cuda.Device(1), here:
            moved = ag.asarray(source).to_device(cupy.cuda.Device(1), stream=carried(way, carrier))
    del source
    junk = spoil(cupy, 0, home)
    assert len(junk) == 8
    np.testing.assert_array_equal(values_of(cupy, 1, moved.array), np.full(SIZE, 3.0))


@pytest.mark.parametrize("way", WAYS)
def test_memory_that_the_target_still_reads_is_not_written_by_the_copy(cupy, streams, way):
    home, here, carrier = streams
    with cupy.cuda.Device(0), home:
        t = ag.asarray(cupy.full(SIZE, 3.0))
        home.synchronize()
        with cupy.cuda.Device(1), here:
            old = cupy.full(SIZE, 1.0)
            here.synchronize()
            late = old * 2.0
            del old  # the copy may take this memory
            moved = t.to_device(cupy.cuda.Device(1), stream=carried(way, carrier))
    carrier.synchronize()
    np.testing.assert_array_equal(values_of(cupy, 1, late), np.full(SIZE, 2.0))
    assert moved.shape == (SIZE,)


@pytest.mark.parametrize("way", WAYS)
def test_the_copy_lies_in_memory_of_the_stream_that_is_current(cupy, streams, way):
    home, here, carrier = streams
    with cupy.cuda.Device(0), home:
        t = ag.asarray(cupy.full(SIZE, 3.0))
        home.synchronize()
        with cupy.cuda.Device(1), here:
            moved = t.to_device(cupy.cuda.Device(1), stream=carried(way, carrier))
            here.synchronize()
            late = moved.array * 1.0
    del moved  # to the pool of `here`; the carrier must not get it while `here` reads it
    junk = spoil(cupy, 1, carrier)
    carrier.synchronize()
    assert len(junk) == 8
    np.testing.assert_array_equal(values_of(cupy, 1, late), np.full(SIZE, 3.0))


@pytest.mark.parametrize("way", WAYS)
def test_gradients_come_back_in_order(cupy, streams, way):
    home, here, carrier = streams
    with cupy.cuda.Device(0), home:
        x = ag.asarray(cupy.full(SIZE, 0.5), requires_grad=True)
        y = x * 4.0
        with cupy.cuda.Device(1), here:
            z = y.to_device(cupy.cuda.Device(1), stream=carried(way, carrier))
            loss = ag.sum(z * z)
            for device in (0, 1):
                cupy.cuda.Device(device).synchronize()
            del y, z
            loss.backward()
            del loss
        junk = spoil(cupy, 0, home) + spoil(cupy, 1, here) + spoil(cupy, 1, carrier)
    assert len(junk) == 24
    np.testing.assert_array_equal(values_of(cupy, 0, x.grad.array), np.full(SIZE, 16.0))


def test_a_stream_of_another_device_and_what_is_no_stream_are_refused(cupy, streams):
    t = ag.asarray(cupy.asarray(1.0))
    with pytest.raises(RuntimeError, match="device"):
        t.to_device(cupy.cuda.Device(1), stream=streams[0])
    for wrong in ("1", True, 1.5):
        with pytest.raises(TypeError, match="expected a stream"):
            t.to_device(cupy.cuda.Device(1), stream=wrong)


def test_each_device_has_a_thread_and_they_work_at_the_same_time(cupy):
    # Each device's hook waits for the other's: one thread for both would wait for ever.
    both, seen, losses = threading.Barrier(2, timeout=60), {}, []
    for number in (0, 1):
        with cupy.cuda.Device(number):
            x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True)

            def hook(g, number=number):
                both.wait()
                seen[number] = threading.current_thread(), cupy.cuda.runtime.getDevice()

            y = ag.exp(x)
            y.register_hook(hook)
            losses.append(ag.sum(y))
    ag.autograd.backward(losses)
    threads = device_threads()
    assert seen == {number: (threads["cupy", "cuda", number], number) for number in (0, 1)}
    assert len({thread for thread, _ in seen.values()}) == 2
