"""What stands in for CuPy in adopted calls: its functions on Tensors are their NumPy kin, what it makes are Tensors.

May import: adoption.answers, adoption.exchange, adoption.table, adoption.numpy_names, core.tensor, ops, numpy, the
standard library. CuPy is never imported: its modules are there once the program has imported them.

CuPy has a protocol for ufuncs and for nothing else: `cupy.sum(t)`, `cupy.matmul(t, t)` and `cupy.linalg.solve(t, b)`
know its own arrays. NumPy's functions of the same names ask a Tensor, which computes by CuPy and records. So in an
adopted call a function of CuPy's that gets a Tensor is NumPy's of that name.
"""

import functools
import sys
import types

import numpy

from arraygrad.adoption.answers import gathered, has_tensor
from arraygrad.adoption.exchange import is_on, makes_tensors
from arraygrad.adoption.numpy_names import CREATION, module_of
from arraygrad.adoption.table import CREATORS, LIKE, stand_in, stand_in_for
from arraygrad.core.tensor import Tensor, apply_op, wrap_raw
from arraygrad.ops import OPS

__all__ = ["refresh"]

_FROM_DATA = frozenset("array asarray asanyarray ascontiguousarray".split())
# Functions of cupyx.scipy.special that are no ufuncs, by the operations of the table that they are, and their defaults.
_OF_SPECIAL = {"softmax": {"axis": None}, "log_softmax": {"axis": None}, "logsumexp": {"axis": None, "keepdims": False}}
_CHAPTERS = ("cupy.linalg", "cupy.fft", "cupy")
_SCIPY = ("linalg", "special", "fft", "ndimage", "signal", "sparse", "stats", "interpolate", "spatial")

_done: set = set()  # names of modules whose functions are in the table


def refresh():
    """Put what stands in for those modules of CuPy that are loaded by now into the table; whether any was new."""
    names = [*_CHAPTERS, *[f"cupyx.scipy.{part}" for part in _SCIPY]]
    new = [name for name in names if name not in _done and name in sys.modules]
    for name in new:
        _done.add(name)
        _install(name)
    if new:
        for name in ("cupyx.scipy", "cupyx", "cupy"):  # each holds those before it, or the modules above
            if isinstance(sys.modules.get(name), types.ModuleType):
                stand_in(sys.modules[name], module_of(sys.modules[name]))
    return bool(new)


def _install(name):
    module = sys.modules[name]
    library, _, chapter = name.partition(".")
    kin = numpy if library == "cupy" else None
    if kin is not None and chapter:
        kin = getattr(numpy, chapter)
    for function_name, real in list(vars(module).items()):
        if function_name.startswith("_") or not _is_function(real):
            continue
        full = f"{name}.{function_name}"
        if name == "cupy" and function_name == "get_array_module":
            stand_in(real, _module_for(real))
        elif name == "cupy" and function_name in _FROM_DATA:
            stand_in(real, _from_data(real))
        elif name == "cupyx.scipy.special" and function_name in _OF_SPECIAL:
            stand_in(real, _operation(real, function_name))
        else:
            stand_in(real, _gate(real, _dispatching(kin, function_name), full, name == "cupy"))
    if name != "cupy":
        stand_in(module, module_of(module))


def _is_function(real):
    """Whether a thing of CuPy's is a function, or called as one as `cupy.matmul` is. Its ufuncs ask Tensors."""
    kind = type(real)
    return callable(real) and not isinstance(real, type | types.ModuleType) and kind.__name__ != "ufunc"


def _dispatching(kin, name):
    """NumPy's function of a name, if it asks its arguments."""
    found = getattr(kin, name, None)
    if isinstance(found, numpy.ufunc) or hasattr(found, "_implementation"):
        return found
    return None


def _given(args, kwargs):
    return has_tensor([*args, *kwargs.values()])


def _gate(real, kin, full, creates):
    """`real` as it is where no Tensor is given; else its kin, or an error that names the way out."""
    fresh = creates and full.rpartition(".")[2] in CREATORS | LIKE

    @functools.wraps(real)
    def function(*args, **kwargs):
        if not is_on():
            return real(*args, **kwargs)
        if not _given(args, kwargs):
            made = real(*args, **kwargs)
            return _own(made) if fresh and makes_tensors() else made
        if kin is not None:
            return (CREATION.get(kin) or kin)(*args, **kwargs) if not fresh else kin(*args, **kwargs)
        try:
            return real(*args, **kwargs)
        except Exception as error:
            raise TypeError(
                f"{full} knows CuPy's arrays, and arraygrad has no derivative of it: use a function of "
                "t.__array_namespace__() or of arraygrad.scipy, make a function of raw arrays that calls it "
                "differentiable by arraygrad.primitive or arraygrad.autograd.Function, or give t.array (not recorded)"
            ) from error

    return function


def _own(made):
    """A Tensor over an array that nobody else holds; what has no derivative as it is."""
    return wrap_raw(made) if getattr(getattr(made, "dtype", None), "kind", "") in ("f", "c") else made


def _from_data(real):
    """`cupy.array` and its like: a Tensor stays one, a list of Tensors becomes one."""

    @functools.wraps(real)
    def create(*args, **kwargs):
        if not makes_tensors() or not args:
            return real(*args, **kwargs)
        data, *rest = args
        if not has_tensor([data]):
            made = real(*args, **kwargs)
            return made if made is data or made.base is not None or not isinstance(data, list | tuple) else _own(made)
        dtype = rest[0] if rest else kwargs.get("dtype")
        found = data if isinstance(data, Tensor) else gathered(data)
        if dtype is not None and found.dtype != dtype:
            return found.astype(numpy.dtype(dtype))
        return found.copy() if real.__name__ == "array" and found is data and kwargs.get("copy", True) else found

    return create


def _module_for(real):
    """`cupy.get_array_module`: CuPy or NumPy as adopted code sees it, whose functions take the Tensors that come."""

    @functools.wraps(real)
    def get_array_module(*args):
        found = real(*[a.detach().array if isinstance(a, Tensor) else a for a in args])
        return stand_in_for(found) if is_on() else found

    return get_array_module


def _operation(real, name):
    """A function of cupyx.scipy.special that is an operation of the table."""
    op, defaults = OPS[name], _OF_SPECIAL[name]

    @functools.wraps(real)
    def function(x, *args, **kwargs):
        if not is_on() or not _given((x, *args), kwargs):
            return real(x, *args, **kwargs)
        given = {**defaults, **dict(zip(defaults, args, strict=False)), **kwargs}
        unknown = {k for k in given if k not in defaults and given[k] is not None}
        if unknown or len(args) > 1 or isinstance(given["axis"], Tensor):
            raise TypeError(
                f"cupyx.scipy.special.{name}: {', '.join(sorted(unknown)) or 'an argument'} is not recorded"
            )
        if name != "logsumexp" and given["axis"] is None:
            flat = apply_op(OPS["reshape"], OPS["reshape"].bind((x, (-1,)), {}))
            found = apply_op(op, op.bind((flat,), {"axis": 0}))
            return apply_op(OPS["reshape"], OPS["reshape"].bind((found, x.shape), {}))
        return apply_op(op, op.bind((x,), {k: given[k] for k in defaults}))

    return function
