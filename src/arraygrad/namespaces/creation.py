"""Creation functions of a namespace: the library's own, wrapped, with `requires_grad`.

May import: _hints, ops, core.constructors, core.tensor, core.exposed_memory, namespaces.bind.

A new array is a leaf, so `requires_grad=True` is all there is to record. What is made from a Tensor's values is
recorded instead, by the table's operation: `asarray(t)`, `full(shape, t)`, `linspace(0.0, t, 5)`.
"""

import inspect

from arraygrad import _hints
from arraygrad.core.constructors import asarray as _asarray
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.exposed_memory import note_source
from arraygrad.core.tensor import Tensor, apply_op, backend_of
from arraygrad.namespaces.bind import contains_tensor, to_tensor
from arraygrad.namespaces.docstrings import documented
from arraygrad.ops import OPS

__all__ = ["make_creation"]

_NO_ARRAYS = (bool, int, float, complex, list, tuple)


def _known(name, value):
    """Refuse a fill value that would answer for the library's own function: a quantity with units, a masked array."""
    if isinstance(value, Tensor) or (type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()):
        return
    if hasattr(type(value), "__array_function__"):
        try:
            backend_of(value)
        except TypeError as error:
            raise TypeError(f"{name}: fill_value can't be used: {error}") from None


def _of_shape(function):
    """Decorate a creation function that takes what follows the shape as `*more`, to say how a shape is given."""
    signature = inspect.signature(function)
    known = [p for p in signature.parameters.values() if p.kind is not p.VAR_POSITIONAL]
    function.__signature__ = signature.replace(parameters=known)
    return function


def _refuse(name, more):
    raise TypeError(_hints.shape_in_parts(name, more))


def make_creation(raw, module, default, extension=""):
    """dict name -> creation function of the namespace `module` over the raw namespace `raw`.

    `default()` returns the backend whose arrays `raw` makes.
    """
    functions = _fft(raw, default) if extension == "fft" else _main(raw, default) if extension == "" else {}
    for name, function in functions.items():
        function.__qualname__ = name
        function.__module__ = module
        if name != "asarray":
            function.__doc__ = documented(f"{extension}.{name}" if extension else name, function.__doc__.rstrip())
    return functions


def _main(raw, default):
    return {**_conversions(raw, default), **_of_shapes(raw, default), **_like(default)}


def _conversions(raw, default):
    def make(array, requires_grad):
        return wrap_raw(default().wrap_raw(array), requires_grad)

    def asarray(obj, /, *, dtype=None, device=None, copy=None, requires_grad=False):
        """A Tensor over an array (zero-copy), or of scalars and nested lists.

        A Tensor comes back as itself; a dtype change of it is a recorded cast, copy=True a recorded copy, and nested
        lists of Tensors are stacked. Raises TypeError for an array or Tensor of another library.
        """
        if isinstance(obj, Tensor):
            _same_library("asarray", default(), obj.array)
        elif isinstance(obj, bool | int | float | complex) or (
            isinstance(obj, list | tuple) and not contains_tensor(obj)
        ):
            return make(raw.asarray(obj, dtype=dtype, device=device, copy=copy), requires_grad)
        elif not isinstance(obj, list | tuple) and isinstance(obj, default().array_type):
            pass
        elif hasattr(type(obj), "__array_namespace__") and not _is_scalar(obj):
            _same_library("asarray", default(), obj)
        elif not isinstance(obj, list | tuple):
            # Buffers, NumPy scalars and the like: whatever the library itself makes an array of.
            array = default().wrap_raw(raw.asarray(obj, dtype=dtype, device=device, copy=copy))
            return _asarray(array, requires_grad=requires_grad)  # over memory that is also the caller's
        return _asarray(obj, dtype=dtype, device=device, copy=copy, requires_grad=requires_grad)

    def from_dlpack(x, /, *, device=None, copy=None, requires_grad=False):
        """A Tensor over the memory of an object that speaks DLPack; that of a Tensor that requires no grad."""
        source = x
        if isinstance(x, Tensor) and not x.requires_grad:
            x = x.array
        if not hasattr(type(x), "__dlpack__"):
            raise TypeError(
                f"from_dlpack: expected an array, an object with the method __dlpack__, but got {type(x).__name__}; "
                "give the array itself, not its capsule"
            )
        options = {key: value for key, value in (("device", device), ("copy", copy)) if value is not None}
        try:
            array = raw.from_dlpack(x, **options)
        except ValueError as error:
            if "PyCapsule" not in str(error):
                raise
            raise ValueError(
                f"from_dlpack: expected {type(x).__name__}.__dlpack__() to return a new capsule named 'dltensor', but "
                f"what it returned is none, or was used before ({error}); each call must make a capsule of its own"
            ) from error
        result = _asarray(default().wrap_raw(array), requires_grad=requires_grad)  # the memory is also the producer's
        note_source(result, source)
        return result

    return {f.__name__: f for f in (asarray, from_dlpack)}


def _of_shapes(raw, default):
    def make(array, requires_grad):
        return wrap_raw(default().wrap_raw(array), requires_grad)

    def arange(start, /, stop=None, step=1, *, dtype=None, device=None, requires_grad=False):
        """Evenly spaced values in [start, stop) (from 0 if stop is None), one-dimensional.

        Scalars, or 0-d Tensors, whose gradient is recorded; their number is taken as constant.
        """
        if isinstance(start, Tensor) or isinstance(stop, Tensor) or isinstance(step, Tensor):
            return apply_op(OPS["arange"], (start, stop, step, dtype, device))
        if stop is None:
            start, stop = 0, start
        return make(raw.arange(start, stop, step, dtype=dtype, device=device), requires_grad)

    def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True, requires_grad=False):
        """`num` evenly spaced values from start to stop (included if `endpoint`), one-dimensional.

        Scalars, or 0-d Tensors, whose gradient is recorded.
        """
        if isinstance(start, Tensor) or isinstance(stop, Tensor):
            return apply_op(OPS["linspace"], (start, stop, num, dtype, device, endpoint))
        return make(raw.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint), requires_grad)

    @_of_shape
    def empty(shape, *more, dtype=None, device=None, requires_grad=False):
        """A Tensor of `shape` with arbitrary content."""
        if more:
            _refuse("empty", more)
        return make(raw.empty(shape, dtype=dtype, device=device), requires_grad)

    @_of_shape
    def zeros(shape, *more, dtype=None, device=None, requires_grad=False):
        """Zeros of `shape` (default dtype: the library's real floating one)."""
        if more:
            _refuse("zeros", more)
        return make(raw.zeros(shape, dtype=dtype, device=device), requires_grad)

    @_of_shape
    def ones(shape, *more, dtype=None, device=None, requires_grad=False):
        """Ones of `shape` (default dtype: the library's real floating one)."""
        if more:
            _refuse("ones", more)
        return make(raw.ones(shape, dtype=dtype, device=device), requires_grad)

    def full(shape, fill_value, *, dtype=None, device=None, requires_grad=False):
        """`shape` filled with a scalar, or with a 0-d Tensor: then the result is recorded as made from it."""
        if isinstance(fill_value, Tensor):
            return apply_op(OPS["full"], (shape, fill_value, dtype, device))
        _known("full", fill_value)
        return make(raw.full(shape, fill_value, dtype=dtype, device=device), requires_grad)

    def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None, requires_grad=False):
        """Ones on the k-th diagonal of an n_rows x n_cols matrix (square if n_cols is None), zeros elsewhere."""
        return make(raw.eye(n_rows, n_cols, k=k, dtype=dtype, device=device), requires_grad)

    return {f.__name__: f for f in (arange, linspace, empty, zeros, ones, full, eye)}


def _like(default):
    def like(x):
        """The raw namespace of an argument, its raw array, and the function that wraps a result."""
        if isinstance(x, Tensor):
            x = x.array
        if isinstance(x, _NO_ARRAYS):
            x = to_tensor(x, default()).array
        backend = backend_of(x)
        return backend, x

    def empty_like(x, /, *, dtype=None, device=None, requires_grad=False):
        """A Tensor of x's shape, dtype and device with arbitrary content."""
        backend, array = like(x)
        return wrap_raw(backend.wrap_raw(backend.xp.empty_like(array, dtype=dtype, device=device)), requires_grad)

    def zeros_like(x, /, *, dtype=None, device=None, requires_grad=False):
        """Zeros of x's shape, dtype and device."""
        backend, array = like(x)
        return wrap_raw(backend.wrap_raw(backend.xp.zeros_like(array, dtype=dtype, device=device)), requires_grad)

    def ones_like(x, /, *, dtype=None, device=None, requires_grad=False):
        """Ones of x's shape, dtype and device."""
        backend, array = like(x)
        return wrap_raw(backend.wrap_raw(backend.xp.ones_like(array, dtype=dtype, device=device)), requires_grad)

    def full_like(x, /, fill_value, *, dtype=None, device=None, requires_grad=False):
        """x's shape, dtype and device filled with a scalar, or with a 0-d Tensor: then the result is recorded."""
        if isinstance(fill_value, Tensor):
            array = x if type(x) is default().array_type else like(x)[1]
            return apply_op(OPS["full_like"], (array, fill_value, dtype, device))
        _known("full_like", fill_value)
        backend, array = like(x)
        result = backend.xp.full_like(array, fill_value, dtype=dtype, device=device)
        return wrap_raw(backend.wrap_raw(result), requires_grad)

    return {f.__name__: f for f in (empty_like, zeros_like, ones_like, full_like)}


def _fft(raw, default):
    def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
        """The n sample frequencies of fft(), for a sample spacing of d."""
        return wrap_raw(default().wrap_raw(raw.fft.fftfreq(n, d=d, dtype=dtype, device=device)))

    def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
        """The n // 2 + 1 sample frequencies of rfft(), for a sample spacing of d."""
        return wrap_raw(default().wrap_raw(raw.fft.rfftfreq(n, d=d, dtype=dtype, device=device)))

    return {"fftfreq": fftfreq, "rfftfreq": rfftfreq}


def _same_library(name, backend, array):
    """Raise TypeError if a raw array is of another library than `backend`."""
    other = backend_of(array)
    if other.name != backend.name:
        raise TypeError(
            f"{name}: an array of {other.name} was given to the namespace of {backend.name}: convert it first, by "
            f"arraygrad.to_backend(x, {backend.name!r})"
        )


def _is_scalar(obj):
    return not hasattr(obj, "__setitem__") and hasattr(obj, "item") and getattr(obj, "shape", None) == ()
