"""DeviceRuntime of libraries with CUDA streams: PyTorch and CuPy, which name the same things differently.

May import: engine.arrayops.

Note [Streams]
~~~~~~~~~~~~~~
(1) A value remembers the stream that was current when it was made (`GradMeta.stream`); its node runs on that stream.
(2) Current devices and streams belong to a thread. `enter` makes both current on the engine's thread and returns what
    was current before, on that thread and on that device; `leave` restores it in the opposite order.
(3) Where a gradient passes from one stream to another, the receiving stream waits for an event of the producing one.
    The host never waits.
Guarded by tests/gpu/test_cuda_runtime.py, with recording stand-ins where there is no device.
"""

from arraygrad.engine.arrayops import DeviceRuntime

__all__ = ["CudaRuntime", "CupyRuntime", "TorchRuntime"]


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


class CupyRuntime(CudaRuntime):
    """CupyRuntime(cuda): over the module `cupy.cuda`."""

    def __init__(self, cuda):
        self.cuda = cuda

    def current_device(self):
        return self.cuda.runtime.getDevice()

    def use_device(self, number):
        self.cuda.Device(number).use()

    def stream_of(self, number):
        return self.cuda.get_current_stream(number)

    def use_stream(self, stream):
        stream.use()

    def record_event(self, stream):
        return None if stream is None else stream.record()


def is_cuda(device_key):
    """Whether a device key names a CUDA device."""
    return isinstance(device_key, tuple) and len(device_key) == 3 and device_key[1] == "cuda"
