"""CuPy's backend with a stand-in for the library: NumPy arrays under CuPy's names, every CUDA call recorded.

Shows that the backend uses what CuPy documents; what a device makes of it is tested by tests/gpu/test_cupy.py. Each
test runs in a process of its own, so that nobody else meets the stand-in. Imports the public names of arraygrad there.
"""

import subprocess
import sys
import textwrap

STAND_IN = """
import sys, types
import numpy as np
import array_api_compat
import array_api_compat.numpy as compat

calls = []
current = {"device": 0, 0: 0, 1: 0}

class Device:
    __hash__ = None
    def __init__(self, id=None): self.id = current["device"] if id is None else int(id)
    def __int__(self): return self.id
    def __eq__(self, other): return isinstance(other, Device) and self.id == other.id
    def __repr__(self): return f"<CUDA Device {self.id}>"
    def use(self): calls.append(f"use device {self.id}"); current["device"] = self.id
    def __enter__(self): self.before = current["device"]; current["device"] = self.id; return self
    def __exit__(self, *exc): current["device"] = self.before

class Stream:
    __hash__ = None
    def __init__(self, device, number): self.device, self.number = device, number
    def __eq__(self, other): return (self.device, self.number) == (other.device, other.number)
    def use(self): current[self.device] = self.number; return self
    def record(self): return ("event", self.number)
    def wait_event(self, event): calls.append(f"wait {self.number} {event}")

class ndarray(np.ndarray):
    __array_namespace__ = None
    @property
    def device(self): return Device(getattr(self, "_device", 0))
    def get(self): return np.array(self)
    def copy(self, order="C"): return np.array(self, order=order).view(ndarray)
    def __array__(self, *a, **k): raise TypeError("Implicit conversion to a NumPy array is not allowed.")

def wrapped(function):
    def f(*args, **kwargs):
        kwargs.pop("device", None)
        out = function(*[_plain(a) for a in args], **{k: _plain(v) for k, v in kwargs.items()})
        return _cupy(out)
    return f

def _plain(a):
    if isinstance(a, ndarray): return a.view(np.ndarray)
    return type(a)([_plain(b) for b in a]) if type(a) in (list, tuple) else a

def _cupy(out):
    if isinstance(out, (np.ndarray, np.generic)): return np.asarray(out).view(ndarray)
    return tuple(_cupy(o) for o in out) if type(out) is tuple else out

cupy = types.ModuleType("cupy")
cupy.__spec__ = __import__("importlib.machinery", fromlist=["x"]).ModuleSpec("cupy", None)
ndarray.__module__ = "cupy"
cupy.ndarray = ndarray
cupy.cuda = types.SimpleNamespace(
    Device=Device, get_current_stream=lambda d: Stream(d, current[d]),
    runtime=types.SimpleNamespace(getDevice=lambda: current["device"], getDeviceCount=lambda: 1))
cupy.asarray = wrapped(np.asarray)
cupyx = types.ModuleType("cupyx")
def scatter_add(a, key, value): calls.append("scatter_add"); np.add.at(a.view(np.ndarray), _plain(key), _plain(value))
cupyx.scatter_add = scatter_add
raw = types.ModuleType("array_api_compat.cupy")
for name in dir(compat):
    value = getattr(compat, name)
    if name.startswith("__"): continue
    is_function = callable(value) and not isinstance(value, type)
    setattr(raw, name, wrapped(value) if is_function and name not in ("isdtype", "result_type", "can_cast") else value)
raw.add.at = None
raw.linalg = types.SimpleNamespace(**{n: wrapped(getattr(compat.linalg, n)) for n in compat.linalg.__all__})
raw.fft = types.SimpleNamespace(**{n: wrapped(getattr(compat.fft, n)) for n in compat.fft.__all__})
raw.__array_namespace_info__ = compat.__array_namespace_info__
sys.modules.update({"cupy": cupy, "cupyx": cupyx, "array_api_compat.cupy": raw})
array_api_compat.cupy = raw
import arraygrad as ag
from arraygrad.engine.engine import device_threads
"""


def run(code):
    """What a program with the stand-in prints, line by line."""
    program = STAND_IN + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_gradient_is_computed_on_the_devices_own_thread():
    assert run("""
        import threading
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = x * x
        seen = []
        y.register_hook(lambda g: seen.append(threading.current_thread() is threading.main_thread()))
        ag.sum(y).backward()
        print(type(x.grad.array).__name__, x.grad.numpy().tolist(), seen, list(device_threads()))
    """) == ["ndarray [2.0, 4.0] [False] [('cupy', 'cuda', 0)]"]


def test_values_know_their_device_and_stream():
    assert run("""
        from arraygrad.tensor import metadata_of
        x = ag.asarray(cupy.asarray([1.0]))
        meta = metadata_of(x)
        print(meta.device, meta.device_key, meta.stream.number)
    """) == ["<CUDA Device 0> ('cupy', 'cuda', 0) 0"]


def test_nodes_run_on_the_stream_of_their_values():
    assert run("""
        current[0] = 7
        x = ag.asarray(cupy.asarray([1.0]), requires_grad=True)
        y = x * 2.0
        current[0] = 0
        seen = []
        y.register_hook(lambda g: seen.append(current[0]))
        y.backward(cupy.asarray([1.0]))
        print(seen, current[0])
    """) == ["[7] 0"]


def test_adjoint_of_indexing_is_cupyx_scatter_add():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0, 3.0]), requires_grad=True)
        ag.sum(x[cupy.asarray([0, 2, 0])] * 2.0).backward()
        print(x.grad.numpy().tolist(), "scatter_add" in calls)
    """) == ["[4.0, 0.0, 2.0] True"]


def test_slices_are_views_and_writes_are_recorded():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0, 3.0]), requires_grad=True)
        y = x * 1.0
        y[1:][0] = x[0] * 10.0
        ag.sum(y).backward()
        print(y.numpy().tolist(), x.grad.numpy().tolist())
    """) == ["[1.0, 10.0, 3.0] [11.0, 0.0, 1.0]"]


def test_transfer_brings_the_gradient_back_to_the_device():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = ag.to_backend(x * x, "numpy")
        (y * y).sum().backward()
        z = ag.to_backend(ag.tensor([1.0, 2.0], requires_grad=True), "cupy")
        print(type(y.array).__name__, type(x.grad.array).__name__, x.grad.numpy().tolist(), type(z.array).__name__)
    """) == ["ndarray ndarray [4.0, 32.0] ndarray"]


def test_namespace_is_complete():
    assert run("""
        xp = ag.cupy
        own = ag.asarray(cupy.asarray([1.0])).__array_namespace__()
        print(xp.__name__, set(xp.__all__) == set(ag.numpy.__all__), own is xp)
    """) == ["arraygrad.cupy True True"]


def test_subclass_is_refused():
    assert run("""
        class Units(ndarray): pass
        try: ag.asarray(cupy.asarray([1.0]).view(Units))
        except TypeError as error: print("subclass of cupy.ndarray" in str(error))
    """) == ["True"]
