"""Devices and streams of CUDA libraries: what the engine's calls become, with recording stand-ins for the libraries.

Imports backends.streams and engine.arrayops. No GPU is needed; tests/gpu/test_cupy.py runs on one.
"""

import pytest

from arraygrad.backends.cuda.streams import CudaRuntime, CupyRuntime, DeviceStream, TorchRuntime


class Stream:
    """Equal by number, as the libraries' streams are equal by handle: they make new objects for one stream."""

    def __init__(self, log, device, number):
        self.log, self.device, self.number = log, device, number

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self.number) == (other.device, other.number)

    __hash__ = None

    def __repr__(self):
        return f"s{self.device}.{self.number}"

    def wait_event(self, event):
        self.log.append(f"{self!r} waits for {event}")

    def record(self, event):  # CuPy's name
        self.log.recorded_on.append((repr(self), self.log.device))
        return f"event of {self!r}"

    def record_event(self):  # PyTorch's
        return f"event of {self!r}"

    def use(self):
        self.log.append(f"use {self!r}")
        self.log.current[self.device] = self.number

    def __enter__(self):
        self.log.entered.append(Stream(self.log, self.device, self.log.current[self.device]))
        self.use()

    def __exit__(self, *exc):
        self.log.entered.pop().use()


class Log(list):
    """What was called, the device that is current, and the number of each device's current stream."""

    def __init__(self):
        self.device = 0
        self.entered = []
        self.current = {0: 0, 1: 0}
        self.recorded_on = []  # (stream, device that was current)


class FakeCupy:
    """The part of `cupy.cuda` that the runtime uses."""

    def __init__(self, log):
        self.log = log
        self.runtime = self
        self.streams = {}

    def Event(self, disable_timing):
        return None

    def getDevice(self):
        return self.log.device

    def Device(self, number):
        log = self.log

        class Device:
            def use(self):
                log.append(f"use device {number}")
                log.device = number

        return Device()

    def get_current_stream(self, number):
        key = number, self.log.current[number]
        return self.streams.setdefault(key, Stream(self.log, *key))


class FakeTorch:
    """The part of `torch.cuda` that the runtime uses; set_stream makes the stream's device current, as there."""

    def __init__(self, log):
        self.log = log

    def current_device(self):
        return self.log.device

    def set_device(self, number):
        self.log.append(f"use device {number}")
        self.log.device = number

    def current_stream(self, number):
        return Stream(self.log, number, self.log.current[number])

    def set_stream(self, stream):
        stream.use()
        self.log.device = stream.device


@pytest.fixture
def log():
    return Log()


@pytest.fixture(params=["cupy", "torch"])
def runtime(request, log):
    return CupyRuntime(FakeCupy(log)) if request.param == "cupy" else TorchRuntime(FakeTorch(log))


def stream(runtime, log, device, number):
    """A stream as the runtime passes it on."""
    plain = Stream(log, device, number)
    return DeviceStream(device, plain) if isinstance(runtime, CupyRuntime) else plain


def test_enter_makes_device_and_stream_current_and_leave_restores_both(runtime, log):
    token = runtime.enter(("lib", "cuda", 1), stream(runtime, log, 1, 7))
    assert (log.device, log.current) == (1, {0: 0, 1: 7})
    runtime.leave(token)
    assert (log.device, log.current) == (0, {0: 0, 1: 0})


def test_nothing_is_changed_where_all_is_current_already(runtime, log):
    token = runtime.enter(("lib", "cuda", 0), stream(runtime, log, 0, 0))
    runtime.leave(token)
    assert log == []


def test_a_value_without_a_stream_keeps_the_current_one(runtime, log):
    token = runtime.enter(("lib", "cuda", 1), None)
    assert (log.device, log.current) == (1, {0: 0, 1: 0})
    runtime.leave(token)
    assert log.device == 0


def test_nested_entries_are_undone_in_opposite_order(runtime, log):
    outer = runtime.enter(("lib", "cuda", 1), stream(runtime, log, 1, 3))
    inner = runtime.enter(("lib", "cuda", 0), stream(runtime, log, 0, 5))
    runtime.leave(inner)
    assert (log.device, log.current) == (1, {0: 0, 1: 3})
    runtime.leave(outer)
    assert (log.device, log.current) == (0, {0: 0, 1: 0})


def test_what_the_node_itself_made_current_is_undone_too(runtime, log):
    token = runtime.enter(("lib", "cuda", 1), stream(runtime, log, 1, 3))
    runtime.use_stream(stream(runtime, log, 1, 9))
    runtime.leave(token)
    assert log.current == {0: 0, 1: 0}


def test_current_stream_is_that_of_the_device(runtime, log):
    log.current[1] = 4
    assert runtime.current_stream(("lib", "cuda", 1)) == stream(runtime, log, 1, 4)


def test_host_and_other_devices_have_no_streams(runtime, log):
    assert runtime.current_stream(None) is None
    assert runtime.current_stream(("torch", "meta")) is None
    assert runtime.enter(("torch", "meta"), None) is None
    assert runtime.leave(None) == 0
    assert log == []


def test_one_stream_waits_for_an_event_of_another(runtime, log):
    runtime.wait_stream(stream(runtime, log, 0, 1), stream(runtime, log, 1, 2))
    assert [entry for entry in log if "waits" in entry] == ["s0.1 waits for event of s1.2"]


def test_a_stream_does_not_wait_for_itself(runtime, log):
    runtime.wait_stream(stream(runtime, log, 0, 1), stream(runtime, log, 0, 1))
    runtime.wait_stream(None, stream(runtime, log, 0, 1))
    runtime.wait_stream(stream(runtime, log, 0, 1), None)
    assert log == []


def test_event_is_recorded_and_waited_for(runtime, log):
    event = runtime.record_event(stream(runtime, log, 0, 1))
    runtime.wait_event(stream(runtime, log, 0, 2), event)
    runtime.wait_event(None, event)
    assert log == ["s0.2 waits for event of s0.1"]
    assert runtime.record_event(None) is None


@pytest.mark.parametrize("name", ["current_device", "use_device", "stream_of", "use_stream", "record_event"])
def test_a_library_has_to_say_how(name):
    arguments = () if name == "current_device" else (0,)
    with pytest.raises(TypeError, match=f"CudaRuntime must define {name}"):
        getattr(CudaRuntime(), name)(*arguments)


def test_default_streams_of_two_devices_are_two_streams():
    # CuPy compares handles, and that of the default stream is 0 on every device.
    class Null:
        ptr = 0

        def __eq__(self, other):
            return self.ptr == other.ptr

        __hash__ = None

    null = Null()
    assert DeviceStream(0, null) != DeviceStream(1, null)
    assert DeviceStream(0, null) == DeviceStream(0, Null())


def test_cupy_records_and_waits_with_the_streams_device_current(log):
    runtime = CupyRuntime(FakeCupy(log))
    runtime.wait_stream(stream(runtime, log, 0, 1), stream(runtime, log, 1, 0))
    assert log.recorded_on == [("s1.0", 1)]
    assert log == ["use device 1", "use device 0", "s0.1 waits for event of s1.0"]
    assert log.device == 0


def test_cupys_per_thread_default_stream_is_refused(log):
    fake = FakeCupy(log)
    fake.get_current_stream(0).ptr = 2
    with pytest.raises(RuntimeError, match="CUPY_CUDA_PER_THREAD_DEFAULT_STREAM"):
        CupyRuntime(fake).current_stream(("cupy", "cuda", 0))


def test_one_object_stands_for_a_stream_as_long_as_it_is_current(log):
    runtime = CupyRuntime(FakeCupy(log))
    assert runtime.stream_of(0) is runtime.stream_of(0)
