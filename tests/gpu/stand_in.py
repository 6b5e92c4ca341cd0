"""A stand-in for CuPy: NumPy arrays under CuPy's names. Imported first, in a process of its own, by the tests here.

Recorded: `calls` (what was asked of CUDA: waits, device changes, add.at), `launches` (one entry for each kernel
that the call would start; views start none), `syncs` (each time that the host would wait for the device) and `races`
(work on streams that is not ordered, and memory that goes back too early: happens_before). Kernels of arraygrad's own
are evaluated over NumPy (stand_in_kernels).

As CuPy: a stream is made current on its own device only; memory belongs to the stream that was current when it was
made; reading or writing through a boolean mask waits for the device where CuPy does.
"""

import contextlib
import functools
import importlib.machinery
import re
import sys
import threading
import types

import array_api_compat
import array_api_compat.numpy as compat
import happens_before
import numpy as np
from happens_before import races  # noqa: F401  (for programs)
from stand_in_kernels import (
    TYPES,
    array_at,
    evaluated,
    run_elementwise,
    run_gather,
    run_mapped,
    run_product,
    run_row_pointers,
    run_rows,
    run_sum,
    run_updates,
)

calls, launches, syncs = [], [], []


class Current(threading.local):
    """The current device, and the current stream of each device: every thread has its own, as CUDA has it."""

    def __init__(self):
        self._values = {"device": 0, 0: 0, 1: 0}

    def __getitem__(self, key):
        return self._values[key]

    def __setitem__(self, key, value):
        self._values[key] = value


current = Current()
options = {"event_done": True, "out_of_memory": None}

VIEWS = frozenset(
    "reshape permute_dims broadcast_to expand_dims squeeze moveaxis matrix_transpose unstack broadcast_arrays flip "
    "isdtype result_type can_cast finfo iinfo empty empty_like".split()
)


_at_addresses = {}  # address that was asked for -> its Memory: what prepared kernels are given


def synchronized(what, stream=None):
    """Note that the host would wait here, for `stream`, (device, handle); None: for the current one."""
    syncs.append(what)
    happens_before.host_waits_for(here() if stream is None else stream)


def here():
    """(device, handle) of the current stream."""
    return current["device"], current[current["device"]]


def owner_of(array):
    """The NumPy array that owns the memory of another."""
    while (base := np.ndarray.base.__get__(array)) is not None and isinstance(base, np.ndarray):
        array = base
    return array


def memory_of(array):
    """The Memory under an array."""
    device = getattr(array, "_number", current["device"])
    owner = owner_of(array)
    return happens_before.memory_at(owner, owner.nbytes, (device, current[device]))


def arrays_in(*values):
    """The arrays of the stand-in among values, in lists and tuples too."""
    for value in values:
        if isinstance(value, ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from arrays_in(*value)


def ran(name, reads, results=(), written=()):
    """Note for happens_before that a kernel ran on the current stream."""
    reads = [memory_of(a) for a in arrays_in(reads)]
    known = {id(m) for m in reads}
    fresh = [m for a in arrays_in(results) if id(m := memory_of(a)) not in known]
    happens_before.ran(name, here(), reads, [*fresh, *(memory_of(a) for a in arrays_in(written))])


class Device:
    """cupy.cuda.Device: not hashable, equal by number."""

    __hash__ = None

    def __init__(self, id=None):
        self.id = current["device"] if id is None else int(id)

    def __int__(self):
        return self.id

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __repr__(self):
        return f"<CUDA Device {self.id}>"

    def use(self):
        calls.append(f"use device {self.id}")
        current["device"] = self.id

    def __enter__(self):
        self.before = current["device"]
        current["device"] = self.id
        return self

    def __exit__(self, *exc):
        current["device"] = self.before

    def synchronize(self):
        synchronized("device", (self.id, None))


class Event:
    """cupy.cuda.Event."""

    def __init__(self, block=False, disable_timing=False):
        self.stream = None
        self.known = {}

    @property
    def done(self):
        if options["event_done"]:
            happens_before.host_waits(self.known)  # seen to be done: what comes later comes after
        return options["event_done"]

    def synchronize(self):
        syncs.append("event")
        happens_before.host_waits(self.known)

    def __repr__(self):
        return f"event of {self.stream}"


_made = {}
_count = [100]


class Stream:
    """cupy.cuda.Stream: equal by handle alone, as there. `numbered` gives the one object of a number and device."""

    def __init__(self, null=False, non_blocking=False, ptr=None):
        _count[0] += 1
        self.ptr = _count[0] if ptr is None else ptr
        self.device_id = current["device"]
        _made[self.ptr, self.device_id] = self
        if not non_blocking and self.ptr != happens_before.NULL:
            happens_before.block((self.device_id, self.ptr))

    def __eq__(self, other):
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self):
        return self.ptr

    @classmethod
    def from_external(cls, obj):
        """The stream of a handle."""
        return _made[obj.__cuda_stream__()[1], current["device"]]

    def _check(self):
        if self.ptr != happens_before.NULL and self.device_id != current["device"]:
            raise RuntimeError(
                f"The device that the stream is created on ({self.device_id}) is different from the current device "
                f"({current['device']})"
            )

    def use(self):
        self._check()
        current[current["device"]] = self.ptr
        return self

    def __enter__(self):
        self._check()
        self.before = current[self.device_id]
        current[self.device_id] = self.ptr
        return self

    def __exit__(self, *exc):
        current[self.device_id] = self.before

    def record(self, event=None):
        event = event or Event()
        event.stream = f"{current['device']}.{self.ptr}"
        event.known = happens_before.event_of((current["device"], self.ptr))
        return event

    def wait_event(self, event):
        calls.append(f"{current['device']}.{self.ptr} waits for {event!r}")
        with happens_before.lock:
            happens_before.take_in((current["device"], self.ptr), event.known)

    def synchronize(self):
        synchronized("stream", (self.device_id, self.ptr))

    capturing = False

    def is_capturing(self):
        return self.capturing

    def begin_capture(self):
        self.capturing = True

    def end_capture(self):
        """What was captured has run already: launching it does nothing."""
        self.capturing = False
        return types.SimpleNamespace(launch=lambda stream=None: launches.append("graph"))


class _Null(Stream):
    """The default stream, of whatever device is current."""

    def __init__(self):
        self.ptr, self.device_id = happens_before.NULL, None

    def __enter__(self):
        self.before = current["device"], current[current["device"]]
        current[current["device"]] = self.ptr
        return self

    def __exit__(self, *exc):
        device, before = self.before
        current[device] = before

    def synchronize(self):
        synchronized("stream", (current["device"], self.ptr))


Stream.null = _Null()


def get_current_stream(device_id=-1):
    """The one object of the current stream."""
    device = current["device"] if device_id == -1 else device_id
    found = _made.get((current[device], device))
    if found is None:
        found = Stream(ptr=current[device])
        found.device_id = device
        _made[current[device], device] = found
    return found


class ndarray(np.ndarray):
    """cupy.ndarray."""

    __array_namespace__ = None

    def __array_finalize__(self, source):
        self._number = getattr(source, "_number", current["device"])
        self._own = False

    @property
    def device(self):
        return Device(self._number)

    @property
    def base(self):
        return None if self._own else np.ndarray.base.__get__(self)

    @property
    def data(self):
        memory, pointer = memory_of(self), self.__array_interface__["data"][0]
        _at_addresses[pointer] = memory

        def copy_from_device_async(source, size):
            assert size == self.nbytes == source.array.nbytes
            launches.append("copy")
            ran("copy", [source.array], written=[self])
            self.view(np.ndarray)[...] = source.array.view(np.ndarray)

        def memset_async(value, size):
            assert (value, size) == (0, self.nbytes)
            ran("memset", [], written=[self])
            self.view(np.ndarray)[...] = 0

        return types.SimpleNamespace(
            mem=memory, device_id=self._number, ptr=pointer, array=self, copy_from_device_async=copy_from_device_async,
            memset_async=memset_async,
        )  # fmt: skip

    def get(self, stream=None, order="C", out=None, blocking=True):
        place = here() if stream is None else (stream.device_id, stream.ptr)
        happens_before.ran("get", place, [memory_of(self)], [])
        if blocking:
            synchronized("get", place)
        else:
            calls.append(f"copy out on {stream.device_id}.{stream.ptr}")
        if out is None:
            return np.array(self.view(np.ndarray))
        out[...] = self.view(np.ndarray)
        return out

    def set(self, array, stream=None):
        calls.append(f"copy in on {stream.device_id}.{stream.ptr}")
        happens_before.ran("set", (stream.device_id, stream.ptr), [], [memory_of(self)])
        self.view(np.ndarray)[...] = array

    def copy(self, order="C"):
        launches.append("copy")
        result = _cupy(np.array(self.view(np.ndarray), order=order))
        result._number = current["device"]
        ran("copy", [self], [result])
        return result

    def item(self, *args):
        synchronized("item")
        return self.view(np.ndarray).item(*args)

    def tolist(self):
        synchronized("tolist")
        return self.view(np.ndarray).tolist()

    def __bool__(self):
        synchronized("bool")
        return bool(self.view(np.ndarray))

    def __float__(self):
        synchronized("float")
        return float(self.view(np.ndarray))

    def __int__(self):
        synchronized("int")
        return int(self.view(np.ndarray))

    def __setitem__(self, key, value):
        launches.append("setitem")
        if has_mask(key):
            synchronized("setitem")
        ran("setitem", [key, value], written=[self])
        self.view(np.ndarray)[_plain(key)] = _plain(value)

    def __getitem__(self, key):
        if has_mask(key):
            synchronized("getitem")
        found = _cupy(np.asarray(self.view(np.ndarray)[_plain(key)]), self)
        if owner_of(found) is not owner_of(self):
            ran("getitem", [self, key], [found])
        return found

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if any(not isinstance(x, (ndarray, np.ndarray, np.generic, bool, int, float, complex)) for x in inputs):
            return NotImplemented
        launches.append(ufunc.__name__)
        kwargs = {name: _plain(value) for name, value in kwargs.items()}
        if out is not None:
            kwargs["out"] = tuple(_plain(o) for o in out)
        with np.errstate(all="ignore"):
            result = getattr(ufunc, method)(*[_plain(x) for x in inputs], **kwargs)
        result = out[0] if out is not None else _cupy(result)
        ran(ufunc.__name__, inputs, () if out is not None else [result], () if out is None else out)
        return result

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


def _plain(a):
    if isinstance(a, ndarray):
        return a.view(np.ndarray)
    return type(a)([_plain(b) for b in a]) if type(a) in (list, tuple) else a


def _cupy(out, source=None):
    if isinstance(out, (np.ndarray, np.generic)):
        owns = isinstance(out, np.generic) or out.base is None
        result = np.asarray(out).view(ndarray)
        result._own = owns
        result._number = current["device"] if source is None else source._number
        return result
    if isinstance(out, tuple):
        items = [_cupy(o) for o in out]
        return type(out)(*items) if hasattr(out, "_fields") else tuple(items)
    return [_cupy(o) for o in out] if isinstance(out, list) else out


def wrapped(name, function):
    """A function of NumPy's as one of CuPy's."""

    def f(*args, **kwargs):
        device = kwargs.pop("device", None)
        if options["out_of_memory"] is not None and name == options["out_of_memory"]:
            raise cupy.cuda.memory.OutOfMemoryError(1 << 40, 0)
        if name not in VIEWS:
            launches.append(name)
        with np.errstate(all="ignore"):
            out = _cupy(function(*[_plain(a) for a in args], **{k: _plain(v) for k, v in kwargs.items()}))
        if device is not None:
            out._number = int(device)
        reads, results = list(arrays_in(args, tuple(kwargs.values()))), list(arrays_in(out))
        owners = {id(owner_of(a)) for a in reads}
        if not reads or any(id(owner_of(a)) not in owners for a in results):  # all others are views
            ran(name, reads, results)
        return out

    f.__name__ = name
    return f


# Kernels


def has_mask(key):
    """Whether a boolean array is in an index."""
    return any(a.dtype == bool and a.ndim for a in arrays_in(key))


class ElementwiseKernel:
    """cupy.ElementwiseKernel, evaluated statement by statement."""

    def __init__(self, in_params, out_params, operation, name="kernel", preamble="", return_tuple=False, **kwargs):
        self.inputs = [p.split() for p in in_params.split(",")]
        self.outputs = [p.split() for p in out_params.split(",")]
        self.operation, self.name, self.return_tuple = operation, name, return_tuple

    def __call__(self, *args):
        for a in args:
            if hasattr(a, "__cupy_override_elementwise_kernel__"):
                return a.__cupy_override_elementwise_kernel__(self, *args)
        launches.append(self.name)
        values = {}
        for (kind, name), a in zip(self.inputs, args, strict=True):
            values[name] = np.asarray(_plain(a)).astype(kind if kind != "T" else None)
        shape = np.broadcast_shapes(*[v.shape for v in values.values()])
        with np.errstate(all="ignore"):
            for line in self.operation.split(";"):
                left, sign, right = line.strip().partition(" = ")
                if sign:
                    values[left.split()[-1]] = evaluated(right, values)
        found = []
        for kind, name in self.outputs:
            dtype = kind if kind != "T" else values[self.inputs[0][1]].dtype
            found.append(_cupy(np.array(np.broadcast_to(values[name], shape).astype(dtype))))
        ran(self.name, args, found)
        return tuple(found) if self.return_tuple or len(found) > 1 else found[0]


class CPointer:
    """cupy.cuda.function.CPointer: an argument of a kernel that lies at an address."""

    def __init__(self, address):
        self.address = address


class RawKernel:
    """cupy.RawKernel: those of arraygrad's own are evaluated over NumPy; any other is recorded, or `host` runs it."""

    host = {}

    def __init__(self, code, name, **kwargs):
        self.code, self.name = code, name

    @property
    def kernel(self):
        """The function on the current device."""
        return self._launch

    def __call__(self, grid, block, args, shared_mem=0):
        launches.append(self.name)
        arrays = list(arrays_in(args))
        ran(self.name, arrays[:-1], written=arrays[-1:])
        if self.name in self.host:
            self.host[self.name](*[_plain(a) for a in args])
        else:
            run_rows(self.name.removeprefix("arraygrad_"), [_plain(a) for a in args])

    def _launch(self, grid, block, args, shared_mem=0):
        """A launch whose arguments are addresses: what lies there is read as the kernel's parameters say."""
        launches.append(self.name)
        if self.name == "arraygrad_updates":
            read, written = run_updates(self.code, [pointer.address for pointer in args])
            found = [[_at_addresses[address] for address in part] for part in (read, written)]
            happens_before.ran(self.name, here(), *found)
            return
        text = re.search(rf"void {self.name}\((.*?)\) {{", self.code, re.S).group(1)
        found = [(p.split()[-1].lstrip("*"), " ".join(p.split())) for p in text.split(",")]
        values = {}
        for (name, declared), pointer in zip(found, args, strict=True):
            kind = declared.removeprefix("const ").rsplit(" ", 1)[0]
            if kind.startswith("ag_layout"):
                values[name] = pointer.address
            else:
                dtype = np.uint64 if "*" in declared else TYPES[kind]
                values[name] = array_at(pointer.address, 1, dtype)[0]
        kinds = {name: TYPES[d.removeprefix("const ").split("*")[0]] for name, d in found if "*" in d}
        memories = {name: _at_addresses[int(values[name])] for name, d in found if "*" in d}
        written = [m for name, m in memories.items() if not dict(found)[name].startswith("const ")]
        happens_before.ran(self.name, here(), [m for m in memories.values() if m not in written], written)
        if self.name == "arraygrad_product":
            run_product(values, kinds["out"])
        elif self.name in ("arraygrad_gather", "arraygrad_scatter"):
            run_gather(self.name, values, kinds)
        elif "rows" in values and ("kept_" in values or "p_o0" in values):
            run_mapped(self.code, values, kinds)
        elif "n_" in values:
            run_elementwise(self.code, values, kinds)
        elif "count_" in values:
            run_sum(self.code, values, kinds)
        else:
            run_row_pointers(self.name.removeprefix("arraygrad_"), values, kinds)


# Modules

cupy = types.ModuleType("cupy")
cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
cupy.__version__ = "14.0.stand-in"
ndarray.__module__ = "cupy"
cupy.ndarray = ndarray
cupy.ElementwiseKernel, cupy.RawKernel = ElementwiseKernel, RawKernel


class OutOfMemoryError(MemoryError):
    """cupy.cuda.memory.OutOfMemoryError."""


cupy.cuda = types.SimpleNamespace(
    nccl=types.ModuleType("cupy.cuda.nccl"),
    Device=Device,
    Event=Event,
    Stream=Stream,
    get_current_stream=get_current_stream,
    runtime=types.SimpleNamespace(getDevice=lambda: current["device"], getDeviceCount=lambda: 2),
    memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    MemoryPool=lambda: types.SimpleNamespace(malloc=None),
    using_allocator=lambda allocator: contextlib.nullcontext(),
)
for _name in ("asarray", "array", "empty", "zeros", "ones", "full"):
    setattr(cupy, _name, wrapped(_name, getattr(np, _name)))
_asarray = cupy.asarray


def _from_host(a, *args, **kwargs):
    """cupy.asarray: what comes from the host is copied."""
    if type(a) is ndarray and not args and not kwargs:
        return a
    return _asarray(np.array(a) if isinstance(a, np.ndarray) and not isinstance(a, ndarray) else a, *args, **kwargs)


cupy.asarray = _from_host
cupy.ascontiguousarray = lambda a: a if a.flags.c_contiguous else a.copy()


def refusing(name, function):
    """A function that knows CuPy's arrays only, as most of CuPy's."""
    f = wrapped(name, function)

    @functools.wraps(function)
    def g(*args, **kwargs):
        for item in [b for a in args for b in (a if isinstance(a, (list, tuple)) else [a])]:
            if hasattr(item, "__cupy_override_elementwise_kernel__"):
                raise TypeError(f"Unsupported type {type(item)}")
        return f(*args, **kwargs)

    return g


def with_functions():
    """Give `cupy` those functions that programs call beside its ufuncs, and `cupy.linalg`."""
    names = "sum mean max matmul dot tensordot concatenate stack where trace transpose cumsum outer einsum packbits"
    for name in (names + " arange ones_like full").split():
        setattr(cupy, name, refusing(name, getattr(np, name)))
    cupy.linalg = types.ModuleType("cupy.linalg")
    for name in ("inv", "det", "solve", "norm"):
        setattr(cupy.linalg, name, refusing(name, getattr(np.linalg, name)))
    sys.modules["cupy.linalg"] = cupy.linalg
    cupy.no_kin_of_numpys = refusing("no_kin_of_numpys", lambda x: x)
    globals()["__name__"] = "cupy"  # adoption leaves a library's code as it is


class _Ufunc:
    """A ufunc of CuPy's, with its protocol for overriding."""

    def __init__(self, name):
        self.name, self._function = f"cupy_{name}", wrapped(name, getattr(np, name))

    def __call__(self, *args, **kwargs):
        for a in args:
            if hasattr(a, "__cupy_override_elementwise_kernel__"):
                return a.__cupy_override_elementwise_kernel__(self, *args, **kwargs)
        return self._function(*args, **kwargs)


for _name in ("sin", "add", "multiply", "arcsin", "true_divide", "power", "less", "greater", "sign"):
    setattr(cupy, _name, _Ufunc(_name))
cupy.where, cupy.iinfo, cupy.abs = wrapped("where", np.where), np.iinfo, wrapped("abs", np.abs)

cupy.cuda.nccl.available = False
_function = types.ModuleType("cupy.cuda.function")
_function.CPointer = CPointer
cupyx = types.ModuleType("cupyx")
cupyx.__path__ = []


def add_at(a, key, value):
    """cupy.add.at: real dtypes only."""
    if a.dtype.kind == "c":
        raise TypeError(
            "cupy.add.at only supports int32, int64, float16, float32, float64, uint32, uint64 as data type"
        )
    if has_mask(key):
        synchronized("add.at")
    calls.append("add.at")
    launches.append("add.at")
    ran("add.at", [key, value], written=[a])
    np.add.at(a.view(np.ndarray), _plain(key), _plain(value))


def solve_triangular(a, b, lower=False):
    """cupyx.scipy.linalg.solve_triangular."""
    calls.append("solve_triangular")
    a = np.tril(_plain(a)) if lower else np.triu(_plain(a))
    return wrapped("solve_triangular", np.linalg.solve)(a, _plain(b))


cupyx.empty_pinned = lambda shape, dtype: np.empty(shape, dtype=dtype)
cupyx.scipy = types.ModuleType("cupyx.scipy")
cupyx.scipy.__path__ = []
cupyx.scipy.linalg = types.ModuleType("cupyx.scipy.linalg")
cupyx.scipy.linalg.solve_triangular = solve_triangular
cupyx.scipy.special = types.ModuleType("cupyx.scipy.special")

raw = types.ModuleType("array_api_compat.cupy")
for _name in dir(compat):
    _value = getattr(compat, _name)
    if not _name.startswith("__"):
        _is_function = callable(_value) and not isinstance(_value, type)
        setattr(raw, _name, wrapped(_name, _value) if _is_function and _name not in VIEWS - {"reshape"} else _value)
for _name in VIEWS:
    if callable(getattr(compat, _name, None)) and _name not in ("isdtype", "result_type", "can_cast", "finfo", "iinfo"):
        setattr(raw, _name, wrapped(_name, getattr(compat, _name)))
raw.add.at = add_at
for chapter in ("linalg", "fft"):
    functions = types.ModuleType(f"{raw.__name__}.{chapter}")
    theirs = getattr(compat, chapter)
    vars(functions).update({n: wrapped(n, getattr(theirs, n)) for n in theirs.__all__})
    setattr(raw, chapter, functions)
raw.__array_namespace_info__ = compat.__array_namespace_info__

sys.modules.update(
    {
        "cupy": cupy,
        "cupy.cuda": cupy.cuda,
        "cupy.cuda.nccl": cupy.cuda.nccl,
        "cupy.cuda.function": _function,
        "cupyx": cupyx,
        "cupyx.scipy": cupyx.scipy,
        "cupyx.scipy.linalg": cupyx.scipy.linalg,
        "cupyx.scipy.special": cupyx.scipy.special,
        "array_api_compat.cupy": raw,
    }
)
array_api_compat.cupy = raw

from stand_in_cublas import compute_types, products  # noqa: F401  (it needs what is above; for programs)
