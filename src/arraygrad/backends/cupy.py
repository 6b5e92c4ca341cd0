"""Backend of cupy.ndarray: arrays on CUDA devices, with streams and kernels of its own.

May import: backends.cuda.arrays, backends.cuda.current, backends.cuda.fused, backends.cuda.graphs,
backends.cuda.offload, backends.cuda.prepared, backends.cuda.products, backends.cuda.rows, backends.cuda.streams,
backends.generic, backends.repaired, ops, cupy, array-api-compat, numpy.

Gradients come from kernels where there is one for the operation and its dtypes: elementwise rules as one launch for all
inputs (`backends.cuda.fused`), rows that are reduced and used at once (`backends.cuda.rows`). Every other rule, and all
of them under create_graph or after `set_fused(False)`, is the table's on CuPy's own functions.
"""

import functools
import os

import array_api_compat.cupy
import cupy
import numpy

from arraygrad.backends import attach
from arraygrad.backends.cuda.arrays import CudaArrays
from arraygrad.backends.cuda.current import CurrentStreams
from arraygrad.backends.cuda.fused import ElementwiseKernels
from arraygrad.backends.cuda.graphs import CapturedGraph
from arraygrad.backends.cuda.offload import Offloading
from arraygrad.backends.cuda.prepared import Launcher
from arraygrad.backends.cuda.products import Products
from arraygrad.backends.cuda.rows import RowKernels
from arraygrad.backends.cuda.streams import CupyRuntime
from arraygrad.backends.generic import GenericBackend
from arraygrad.backends.repaired import RepairedNamespace, one_triangle
from arraygrad.ops import OPS

__all__ = ["CupyBackend", "capture", "raw_namespace", "register", "set_fused", "set_prepared"]

# Forwards that are CuPy's own ufuncs, computed by a prepared kernel of the same formula where dtypes are inexact.
_FORWARDS = (
    "add subtract multiply divide negative reciprocal square sqrt exp expm1 log log1p log2 log10 sin cos tan asin acos "
    "atan sinh cosh tanh asinh acosh atanh abs maximum minimum hypot atan2 sigmoid relu sign"
).split()
_DTYPES = tuple(numpy.dtype(code) for code in "fdFD")


class CupyBackend(CudaArrays, GenericBackend):
    """cupy.ndarray: written in place, slices are views, one worker thread per device, nodes on their own streams."""

    # CuPy runs an operation on the current device, whichever its operands lie on, and warns that it reads over the bus.
    reads_other_devices = True

    def prepare(self):
        """Make what keeps kernels; called once."""
        self.kernels = ElementwiseKernels(cupy)
        launcher = Launcher(cupy)
        self.rows = RowKernels(cupy, launcher)
        self.offloading = self.runtime.offloading = Offloading(cupy, self.runtime)
        self.fuses = os.environ.get("ARRAYGRAD_FUSED", "1") != "0"
        products = Products(cupy, launcher)
        self.prepare_launches(launcher, self.kernels, self.rows, products, _FORWARDS, _DTYPES, _UNOWNED, _POOLED)
        return self

    def device_key(self, device):
        """("cupy", "cuda", number): a cupy.cuda.Device can't be hashed."""
        return ("cupy", "cuda", int(device))

    def device_of(self, array):
        """cupy.cuda.Device of an array."""
        return array.device

    def clone(self, array, like):
        """A copy on the array's device, in its memory order; row-major where elements repeat (broadcast views)."""
        with array.device:
            return array.copy(order="C" if 0 in array.strides else "K")

    def owner(self, raw):
        """The identity of the allocation that an array is in; CuPy's views hold the same object."""
        return id(raw.data.mem)

    def overlaps_itself(self, raw):
        """Whether elements of an array share memory, as in what as_strided and broadcast_to make.

        Of large arrays whose strides leave it open, yes.
        """
        if raw.size < 2 or raw.flags.forc:
            return False
        axes = sorted((abs(step), n) for n, step in zip(raw.shape, raw.strides, strict=True) if n > 1)
        extent, nested = raw.itemsize, True
        for step, n in axes:  # where each axis steps over all that the smaller ones reach, nothing can overlap
            nested = nested and step >= extent
            extent += (n - 1) * step
        if nested:
            return False
        if axes[0][0] == 0 or raw.size > 1 << 20:
            return True
        places = functools.reduce(numpy.add.outer, [numpy.arange(n) * step for step, n in axes])
        return bool(numpy.diff(numpy.sort(places, axis=None)).min() < raw.itemsize)

    def asarray(self, obj, dtype, device):
        """An array on `device`, on the current one where none is named. From the host by pinned memory, no waiting."""
        return self.xp.asarray(obj, dtype=dtype, device=device)

    def to_device(self, array, device):
        """`array` on another device, copied there behind the work that makes it; see Note [Streams] (4)."""
        return copied(array, device, self.runtime)

    def scalar(self, x):
        """A NumPy scalar as a Python scalar; a 0-d array of CuPy's as it is, without waiting for the device."""
        return x if isinstance(x, cupy.ndarray) else super().scalar(x)

    # -- kernels ---------------------------------------------------------------------------------------------------

    conform_slowly, meta_slowly = GenericBackend.conform, GenericBackend.meta
    shares_memory_slowly = GenericBackend.shares_memory

    def find_function(self, op):
        """The raw function of an operation; one that is composed of several gets a kernel that tries first."""
        plain = super().find_function(op)
        row = _ROW_FORWARDS.get(op.name)
        if op.name == "_to_device":
            return lambda xp, x, device, stream: copied(x, device, self.runtime, stream)
        gathered = _GATHERS.get(op.name)
        if gathered is not None:
            return self._gathered(gathered, plain)
        if row is not None and op.entry.forward is None:
            return self._row_called(op, row, plain)
        if row is not None:
            return self._row_forward(row, plain)
        if op.entry.forward is not None and op.entry.extension == "" and op.params in (("x",), ("x1", "x2")):
            return self._elementwise(op, plain)
        return plain

    def _row_called(self, op, row, plain):
        """For an operation that is the library's own function, called with its keywords."""

        def function(*args, **kwargs):
            own = row(self.rows, *op.bind(args, kwargs)) if self.fuses else None
            return plain(*args, **kwargs) if own is None else own

        return function

    def _row_forward(self, row, plain):
        """For an operation with a forward in the table, called with the namespace and all parameters."""

        def function(xp, *args):
            own = row(self.rows, *args) if self.fuses else None
            return plain(xp, *args) if own is None else own

        return function

    def _gathered(self, gathered, plain):
        """For indexing by arrays, and what adds at such indices, called with the namespace and all parameters."""

        def function(xp, *args):
            own = gathered(self.gathers, *args) if self.fuses and self.prepared else None
            return plain(xp, *args) if own is None else own

        return function

    def _elementwise(self, op, plain):
        def function(xp, *args):
            own = self.kernels.forward(op, args) if self.fuses else None
            return plain(_Assuming(xp), *args) if own is None else own

        return function

    def fused_slowly(self, op, g, wanted, saved, statics, targets, absorbs):
        """What `fused` gives where no prepared kernel serves; None: by the table's rules."""
        row = _ROW_RULES.get(op.name)
        if row is None:
            return self.kernels.rules(op, g, wanted, saved, statics, targets, absorbs)
        values = dict(zip(op.saves, saved, strict=True))
        values.update(zip([op.params[i] for i in op.static_positions], statics, strict=True))
        found = row(self.rows, g, values)
        if found is None and op.name == "logsumexp":
            # As the table's rule, but for the question whether anything is infinite, which would wait for the device.
            names = ("x", "ans", "axis", "keepdims")
            found = op.rules[0](_Assuming(self.rule_xp), g, *[values[name] for name in names])
        return None if found is None else [found]

    # -- saved values in host memory -------------------------------------------------------------------------------

    def offload(self, array):
        """`array` on its way to pinned host memory, while work goes on; `.restore()` gives it back (save_on_cpu)."""
        return self.offloading.take(array)


class _Assuming:
    """A namespace in which `any` is true: for rules that ask it only to skip work."""

    def __init__(self, xp):
        self._xp = xp

    def __getattr__(self, name):
        return getattr(self._xp, name)

    def any(self, x, **kwargs):
        """True, unseen."""
        return True


def _extremum(rows, g, v):
    return rows.backward("extremum", g, v["x"], v["ans"], v["axis"])


# Operation -> forward(rows, *parameters), and rule(rows, g, what the node saved by name). None: the kernel declines.
_ROW_FORWARDS = {
    "sum": lambda rows, x, axis, dtype, keepdims: rows.forward("sum", x, axis, keepdims) if dtype is None else None,
    "mean": lambda rows, x, axis, keepdims: rows.forward("mean", x, axis, keepdims),
    "softmax": lambda rows, x, axis: rows.forward("softmax", x, axis),
    "log_softmax": lambda rows, x, axis: rows.forward("log_softmax", x, axis),
    "logsumexp": lambda rows, x, axis, keepdims: rows.forward("logsumexp", x, axis, keepdims),
    "var": lambda rows, x, axis, correction, keepdims: rows.forward("var", x, axis, keepdims, correction),
    "std": lambda rows, x, axis, correction, keepdims: rows.forward("std", x, axis, keepdims, correction),
}
_ROW_RULES = {
    "softmax": lambda rows, g, v: rows.backward("softmax", g, None, v["ans"], v["axis"]),
    "log_softmax": lambda rows, g, v: rows.backward("log_softmax", g, None, v["ans"], v["axis"]),
    "logsumexp": lambda rows, g, v: rows.backward("logsumexp", g, v["x"], v["ans"], v["axis"]),
    "var": lambda rows, g, v: rows.backward("var", g, v["x"], None, v["axis"], v["correction"]),
    "std": lambda rows, g, v: rows.backward("std", g, v["x"], v["ans"], v["axis"], v["correction"]),
    "max": _extremum,
    "min": _extremum,
}


# Operation -> the same by a kernel of gathers, of all parameters. None: the kernel declines.
_GATHERS = {
    "_getitem": lambda gathers, x, key: gathers.taken(x, key),
    "_getitem_adjoint": lambda gathers, x, shape, key: gathers.added(x, shape, key),
    "_take_adjoint": lambda gathers, x, indices, shape, axis: gathers.added(x, shape, indices) if axis == 0 else None,
}


def set_fused(mode):
    """Whether gradients and composed forwards come from kernels of arraygrad's own; returns what it was before.

    True at first, unless the environment has ARRAYGRAD_FUSED=0. Without them every rule runs on CuPy's own functions,
    with more launches and the same values but for rounding.
    """
    before = BACKEND.fuses
    BACKEND.fuses = bool(mode)
    return bool(before)


def capture():
    """A CapturedGraph of what the `with` block issues on the current device."""
    return CapturedGraph(cupy, _runtime, BACKEND.device_key(0))


def set_prepared(mode):
    """Whether kernels are launched by prepared functions, not by CuPy's own machinery; returns what it was before.

    True at first. The values are the same: the kernels compute the same statements.
    """
    before = BACKEND.prepared
    BACKEND.prepared = BACKEND.rows.prepared = bool(mode)
    return bool(before)


def copied(array, device, runtime, stream=None):
    """`array` on `device`, by a copy between the two; itself if it lies there.

    The copy is work of the current stream of `device`, or of `stream`. It comes after what the source's stream was
    given before, and what either stream is given from now on comes after it. So the source may be freed at once, and
    the result belongs to the current stream of `device`, whichever stream copies: Note [Streams] (5).

    Raises
    ------
    TypeError
        If `device` is no CUDA device: host memory belongs to NumPy. If `stream` is no stream of CuPy's nor the handle
        of one.
    """
    if not isinstance(device, (int, cupy.cuda.Device)) or isinstance(device, bool):
        raise TypeError(
            f"to_device: expected a cupy.cuda.Device or its number, got {device!r}; for an array in host memory use "
            "arraygrad.to_backend(x, 'numpy')"
        )
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, _STREAMS)):
        raise TypeError(f"to_device: expected a stream of CuPy's, or the number of its handle, got {stream!r}")
    source, number = int(array.device), int(device)
    if source == number:
        return array
    made, target = runtime.stream_of(source), runtime.stream_of(number)
    with cupy.cuda.Device(source):
        dense = array if array.flags.c_contiguous else array.copy(order="C")  # CuPy copies nothing else between devices
    with cupy.cuda.Device(number):
        if stream is None:
            runtime.wait_stream(target, made)
            result = dense.copy()
            runtime.wait_stream(made, target)  # what the copy reads may be freed, and its memory used again, from here
            return result
        result = cupy.empty(dense.shape, dtype=dense.dtype)
        with _stream_at(stream) if isinstance(stream, int) else stream:
            carrier = runtime.stream_of(number)
            runtime.wait_stream(carrier, made)
            runtime.wait_stream(carrier, target)
            result.data.copy_from_device_async(dense.data, dense.nbytes)
        runtime.wait_stream(target, carrier)
    runtime.wait_stream(made, carrier)
    return result


class _Handle:
    """A stream's handle, as CuPy takes it."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle  # version of the protocol, handle


def _stream_at(handle):
    """The stream of a handle. CuPy 14 deprecates ExternalStream for from_external, which older ones lack."""
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Handle(handle))
    return cupy.cuda.ExternalStream(handle)


def solve_triangular(a, b, *, lower):
    """Solution of a x = b for a triangular matrix, or stacks of them, (..., n, n) and (..., n, k), by cuBLAS."""
    if a.dtype.char not in "fdFD" or a.dtype != b.dtype or a.shape[:-2] != b.shape[:-2] or a.size == 0 or b.size == 0:
        return array_api_compat.cupy.linalg.solve(a, b)
    from cupyx.scipy.linalg import solve_triangular as solve  # loads cuBLAS

    return solve(a, b, lower=lower)


def on_device(name):
    """A creation function that honours `device`, which array-api-compat's take and leave aside.

    Where none is named the device is the current one, for those that are given an array (`zeros_like`) the array's.
    """
    function = getattr(array_api_compat.cupy, name)

    @functools.wraps(function)
    def made(*args, device=None, **options):
        if device is None and name.endswith("_like"):
            device = args[0].device
        if device is None or int(device) == cupy.cuda.runtime.getDevice():
            return function(*args, **options)
        with cupy.cuda.Device(int(device)):
            return function(*args, **options)

    return made


def sign(x, /):
    """As the standard says, for NaN and complex numbers too. array-api-compat's writes through a mask and so waits."""
    if x.dtype.kind == "c":
        return cupy.where(x == 0, x.dtype.type(0), x / cupy.abs(x))
    return cupy.where(x == x, cupy.sign(x), x) if x.dtype.kind == "f" else cupy.sign(x)


def clip(x, /, min=None, max=None):
    """As array-api-compat's, of the dtype of x; that one writes through masks and so waits for the device."""
    out = x
    for bound, beyond in ((min, cupy.less), (max, cupy.greater)):
        if bound is None:
            continue
        if isinstance(bound, int) and x.dtype.kind in "iu" and not _in_range(bound, x.dtype):
            if (bound < 0) == (beyond is cupy.less):
                continue  # nothing lies beyond it
        bound = bound.astype(x.dtype, copy=False) if isinstance(bound, cupy.ndarray) else x.dtype.type(bound)
        out = cupy.where(beyond(out, bound) | (bound != bound), bound, out)
    return cupy.array(out) if out is x else out


def _in_range(number, dtype):
    info = cupy.iinfo(dtype)
    return info.min <= number <= info.max


_CREATION = "arange empty empty_like eye full full_like linspace ones ones_like zeros zeros_like".split()


class _Streams(CurrentStreams, CupyRuntime):
    """CupyRuntime with a quick way where device and stream are current already."""

    enter_slowly, leave_slowly = CupyRuntime.enter, CupyRuntime.leave
    current_stream_slowly, before_write_slowly = CupyRuntime.current_stream, CupyRuntime.before_write

    def __init__(self, cuda):
        CupyRuntime.__init__(self, cuda)
        self.get_device, self.get_stream = cuda.runtime.getDevice, cuda.get_current_stream
        self.last, self.captures = {}, {}
        self.caller_drives = True


_runtime = _Streams(cupy.cuda)

_UNOWNED = getattr(cupy.cuda, "UnownedMemory", ())
_POOLED = getattr(getattr(cupy.cuda, "memory", None), "PooledMemory", None)
_STREAMS = (int, cupy.cuda.Stream, getattr(cupy.cuda, "ExternalStream", cupy.cuda.Stream))


def _of_table(name):
    """An internal operation of the table as rules call it on raw arrays: by a kernel of this backend, if one serves."""

    def function(*args):
        return BACKEND.raw_function(OPS[name])(BACKEND.rule_xp, *args)

    return function


_raw = RepairedNamespace(
    array_api_compat.cupy,
    {
        "_getitem_adjoint": _of_table("_getitem_adjoint"),
        "_take_adjoint": _of_table("_take_adjoint"),
        **{name: on_device(name) for name in _CREATION},
        "clip": clip,
        "sign": sign,
        "_solve_triangular": solve_triangular,
        "_to_device": lambda x, device, stream=None: copied(x, device, _runtime, stream),
        "_library_eigh_upper": lambda x: cupy.linalg.eigh(x, UPLO="U"),
        "_library_eigvalsh_upper": lambda x: cupy.linalg.eigvalsh(x, UPLO="U"),
    },
    linalg=one_triangle(array_api_compat.cupy, mirror=False, functions=("cholesky",)),
)


def raw_namespace():
    """array-api-compat's namespace over cupy, and what rules ask of CuPy beyond the standard."""
    return _raw


BACKEND = CupyBackend("cupy", _raw, cupy.ndarray, True, _runtime).prepare()
attach(BACKEND, "cupy", cupy.ndarray)


def register(obj):
    """The backend of cupy.ndarray; subclasses are refused."""
    cls = type(obj)
    if cls is cupy.ndarray:
        return BACKEND
    raise TypeError(
        f"{cls.__module__}.{cls.__qualname__} is a subclass of cupy.ndarray whose operations arraygrad does not know; "
        "give cupy.asarray(x)"
    )
