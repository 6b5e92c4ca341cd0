"""DeviceRuntime of libraries with CUDA streams: PyTorch and CuPy, which name the same things differently.

May import: engine.arrayops.

Note [Streams]
~~~~~~~~~~~~~~
(1) A value remembers the stream that was current when it was made (`GradMeta.stream`); its node runs on that stream.
(2) Current devices and streams belong to a thread. `enter` makes both current on the engine's thread and returns what
    was current before, on that thread and on that device; `leave` restores it in the opposite order.
(3) Where a gradient passes from one stream to another, the receiving stream waits for an event of the producing one.
    The host never waits.
(4) CuPy's streams compare equal by their handle, which is 0 for the default stream of every device, and recording or
    waiting on that one means the device that is current. So CuPy's are paired with their device (DeviceStream), and the
    device is made current around both.
(5) A copy between devices is work of one stream, which reads memory of another stream's pool. It waits for that stream
    before, and that stream for it after. Its result lies in the pool of the stream that is current on its own device.
Guarded by tests/gpu/test_cuda_runtime.py, with recording stand-ins where there is no device; (5) by
tests/gpu/test_peer_copies.py.
"""

import threading

from arraygrad.engine.arrayops import DeviceRuntime

__all__ = ["CudaRuntime", "CupyRuntime", "DeviceStream", "TorchRuntime"]


class CudaRuntime(DeviceRuntime):
    """Devices and streams of one library. Keys are (library, "cuda", number); other keys have no stream."""

    def current_stream(self, device_key):
        """The stream current on this thread for the device; None for a key that is no CUDA device."""
        return self.stream_of(device_key[2]) if is_cuda(device_key) else None

    def enter(self, device_key, stream):
        """Make device and stream current; returns (device before, stream before on the device), for `leave`."""
        if not is_cuda(device_key):
            return None
        number = device_key[2]
        before = self.current_device()
        if before != number:
            self.use_device(number)
        previous = self.stream_of(number)
        if stream is not None and stream != previous:
            self.use_stream(stream)
        return before, number, previous

    def leave(self, token):
        """Restore what was current before `enter` returned `token`."""
        if token is None:
            return 0
        before, number, previous = token
        if self.stream_of(number) != previous:
            self.use_stream(previous)
        if before != number:
            self.use_device(before)
        return 0

    def wait_event(self, stream, event):
        """Later work on `stream` waits for `event`; the host does not."""
        if stream is not None and event is not None:
            stream.wait_event(event)
        return 0

    def wait_stream(self, waiting, producer):
        """Later work on `waiting` waits for the work now on `producer`. Streams are compared by value."""
        if waiting is None or producer is None or waiting == producer:
            return 0
        return self.wait_event(waiting, self.record_event(producer))

    def record_event(self, stream):
        """An event after all work now on `stream`."""
        raise TypeError(f"{type(self).__name__} must define record_event(stream)")

    # What a library's runtime defines

    def current_device(self):
        """Number of the device current on this thread."""
        raise TypeError(f"{type(self).__name__} must define current_device()")

    def use_device(self, number):
        """Make a device current on this thread."""
        raise TypeError(f"{type(self).__name__} must define use_device(number)")

    def stream_of(self, number):
        """The stream current on this thread for a device."""
        raise TypeError(f"{type(self).__name__} must define stream_of(number)")

    def use_stream(self, stream):
        """Make a stream current on this thread, for the device it belongs to."""
        raise TypeError(f"{type(self).__name__} must define use_stream(stream)")


class TorchRuntime(CudaRuntime):
    """TorchRuntime(cuda): over the module `torch.cuda`."""

    def __init__(self, cuda):
        self.cuda = cuda

    def current_device(self):
        return self.cuda.current_device()

    def use_device(self, number):
        self.cuda.set_device(number)

    def stream_of(self, number):
        return self.cuda.current_stream(number)

    def use_stream(self, stream):
        # torch.cuda.set_stream would make the stream's device current too, and leave it so.
        before = self.cuda.current_device()
        self.cuda.set_stream(stream)
        if self.cuda.current_device() != before:
            self.cuda.set_device(before)

    def record_event(self, stream):
        return None if stream is None else stream.record_event()


class DeviceStream:
    """A stream of CuPy's and the number of its device."""

    __slots__ = ("device", "stream")

    def __init__(self, device, stream):
        self.device, self.stream = device, stream

    def __eq__(self, other):
        return (
            isinstance(other, DeviceStream)
            and self.device == other.device
            and (self.stream is other.stream or self.stream == other.stream)
        )

    def __hash__(self):
        return hash((self.device, self.stream))

    def __repr__(self):
        return f"DeviceStream({self.device}, {self.stream!r})"


class CupyRuntime(CudaRuntime):
    """CupyRuntime(cuda): over the module `cupy.cuda`."""

    def __init__(self, cuda):
        self.cuda = cuda
        self._local = threading.local()  # the DeviceStream last seen on each device
        self.offloading = None  # what copies saved values beside the computation, if anything does

    def current_device(self):
        return self.cuda.runtime.getDevice()

    def use_device(self, number):
        self.cuda.Device(number).use()

    def stream_of(self, number):
        stream = self.cuda.get_current_stream(number)
        known = self._local.__dict__.get(number)
        if known is None or known.stream is not stream:
            if getattr(stream, "ptr", None) == _PER_THREAD:
                raise RuntimeError(
                    "CuPy's current stream is the per-thread default stream, which is another one on each thread, and "
                    "backward runs on a thread of its own: unset CUPY_CUDA_PER_THREAD_DEFAULT_STREAM, or make a "
                    "cupy.cuda.Stream() current"
                )
            known = self._local.__dict__[number] = DeviceStream(number, stream)
        return known

    def use_stream(self, stream):
        stream.stream.use()

    def enter(self, device_key, stream):
        """As CudaRuntime.enter, by a `with` block's means: one that ends within it goes back to this stream.

        CuPy's own `get` of an array with strides has such a block, which after `use()` ends on the default stream.
        """
        token = super().enter(device_key, None)
        if token is None or stream is None or stream == token[2]:
            return token
        stream.stream.__enter__()
        return *token, stream

    def leave(self, token):
        if token is not None and len(token) > 3:
            if self.current_device() != token[1]:
                self.use_device(token[1])
            token[3].stream.__exit__(None, None, None)
        return super().leave(None if token is None else token[:3])

    def record_event(self, stream):
        return None if stream is None else self._on(stream.device, self._record, stream.stream)

    def wait_event(self, stream, event):
        if stream is not None and event is not None:
            self._on(stream.device, stream.stream.wait_event, event)
        return 0

    def wait_on(self, stream, producer):
        """Later work on a plain stream of CuPy's, of the current device, waits for the work now on `producer`."""
        stream.wait_event(self.record_event(producer))

    def before_write(self, array):
        """Later work on the current stream writes to `array`: it waits for copies of it that are under way."""
        if self.offloading is not None:
            self.offloading.before_write(array)

    def _record(self, stream):
        return stream.record(self.cuda.Event(disable_timing=True))

    def _on(self, number, call, argument):
        before = self.current_device()
        if before == number:
            return call(argument)
        self.use_device(number)
        try:
            return call(argument)
        finally:
            self.use_device(before)


# cudaStreamPerThread: the handle that means another stream on each thread.
_PER_THREAD = 2


def is_cuda(device_key):
    """Whether a device key names a CUDA device."""
    return isinstance(device_key, tuple) and len(device_key) == 3 and device_key[1] == "cuda"
