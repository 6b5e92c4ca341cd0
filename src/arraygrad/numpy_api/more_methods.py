"""The rest of ndarray's methods and attributes on Tensors: what NumPy code calls on its arrays now and then.

May import: core.attributes, core.convert, core.exports, core.exposed_memory, core.tensor, core.inplace, engine.node,
cupy, notebook, overlaps, numpy. Those that work by way of NumPy's functions call them, so that each is defined once.
"""

import math
import operator

import numpy

from arraygrad.core.attributes import METHODS as ATTRIBUTES
from arraygrad.core.convert import before_bytes, known_refusal
from arraygrad.core.exports import plain_array
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.inplace import is_scalar, read_apart
from arraygrad.core.number_kinds import is_python, made_python
from arraygrad.core.tensor import Tensor, apply_op, backend_of
from arraygrad.engine.node import is_grad_enabled
from arraygrad.namespaces.bind import contains_tensor
from arraygrad.numpy_api import cupy
from arraygrad.numpy_api.overlaps import refuse_overlap
from arraygrad.ops import OPS

__all__ = ["MORE"]


def sort(self, axis=-1, kind=None, order=None, *, stable=None):
    """Sort in place along `axis`, ascending. Recorded."""
    axis = operator.index(axis)
    if self.requires_grad and self.is_leaf and is_grad_enabled():
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. (t.sort() sorts in place: "
            "arraygrad.sort(t) is a sorted copy, arraygrad.argsort(t) has the places)"
        )
    self[...] = numpy.sort(read_apart(self, (self,)), axis=axis, kind=kind, order=order, stable=stable)


def partition(self, kth, axis=-1, kind="introselect", order=None):
    """Rearrange in place so that the element at `kth` is where sorting would put it. Recorded."""
    axis = operator.index(axis)
    self[...] = numpy.partition(read_apart(self, (self,)), kth, axis=axis, kind=kind, order=order)


def argpartition(self, kth, axis=-1, kind="introselect", order=None):
    """Indices that partition along `axis`."""
    return numpy.argpartition(self, kth, axis=axis, kind=kind, order=order)


def searchsorted(self, v, side="left", sorter=None):
    """Positions at which `v` would keep this sorted vector sorted."""
    return numpy.searchsorted(self, v, side=side, sorter=sorter)


def compress(self, condition, axis=None, out=None):
    """The slices along `axis` (None: the elements) where `condition` is true."""
    return numpy.compress(condition, self, axis=axis, out=out)


def choose(self, choices, out=None, mode="raise"):
    """Elements of `choices`, chosen by this integer tensor."""
    return numpy.choose(self, choices, out=out, mode=mode)


def put(self, indices, values, mode="raise"):
    """Write `values` at flat positions, in place. Recorded. Of a scalar nothing is written, as in NumPy."""
    if is_scalar(self) and isinstance(raw_array(self), numpy.ndarray):
        numpy.put(numpy.zeros(1), indices, 0.0, mode=mode)  # raises NumPy's errors
        return
    numpy.put(self, indices, values, mode=mode)


def resize(self, *new_shape, refcheck=True):
    """Refused: a recorded tensor keeps its memory."""
    raise TypeError(
        "Tensor.resize works in place, which is not recorded: to append n zeros, as resize of an array does, use "
        "numpy.concatenate([t.ravel(), numpy.zeros(n)]), and reshape that; to cut, t.ravel()[:n]. (numpy.resize(t, "
        "new_shape) repeats the elements in the place of zeros.)"
    )


def getfield(self, dtype, offset=0):
    """The array itself, or the real or imaginary part of a complex one, as a view. Recorded.

    Raises TypeError for any other field: the bytes of a number have no derivative.
    """
    return _field(self, dtype, offset)


def setfield(self, val, dtype, offset=0):
    """Write `val` into the array, or into the real or imaginary part of a complex one, in place. Recorded.

    Raises TypeError for any other field: the bytes of a number have no derivative.
    """
    _field(self, dtype, offset)[...] = val


def _field(t, dtype, offset):
    dtype, own = numpy.dtype(dtype), t.dtype
    if isinstance(own, numpy.dtype):
        if dtype == own and offset == 0:
            return t.view()
        if own.kind == "c" and dtype.kind == "f" and 2 * dtype.itemsize == own.itemsize and dtype.isnative:
            if offset in (0, dtype.itemsize):
                return t.imag if offset else t.real
    raise TypeError(
        f"Tensor: a field of dtype {dtype} at offset {offset} of elements of dtype {own} has no derivative: "
        "use t[...], and t.real or t.imag of complex values"
    )


def byteswap(self, inplace=False):
    """Refused: the bytes of a number have no derivative."""
    array = plain_array(self)
    if array is not None:
        return array.byteswap(inplace)
    text = "Tensor.byteswap has no derivative: convert the data before it becomes a Tensor, array.byteswap()"
    raise known_refusal((self,), TypeError(text))


_view_of_class = None


def set_view_of_class(function):
    """Register what makes `t.view(cls)` in adopted calls, and gives None elsewhere."""
    global _view_of_class
    _view_of_class = function


def view(self, dtype=None, type=None):
    """A view of the same memory, of the same dtype; another dtype is refused, as bytes have no derivative."""
    if type is not None or (dtype is not None and dtype != self.dtype):
        if isinstance(dtype, int):
            raise TypeError("Tensor.view takes no shape: use t.reshape(shape), which is a view where it can be")
        wanted = dtype if type is None else type
        if numpy.ndarray in getattr(wanted, "__mro__", ()):
            made = None if _view_of_class is None else _view_of_class(self, wanted)
            if made is not None:
                return made
            raise TypeError(
                f"Tensor.view({wanted.__name__}): a subclass of numpy.ndarray holds no gradient: leave the view out, "
                "or keep the array in an attribute of a class that is no array"
            )
        array = plain_array(self)
        if array is not None:
            return array.view(wanted)
        raise known_refusal((self,), TypeError(_view_refused(self, wanted)))
    return self[...]


def _view_refused(t, dtype):
    """What to write in the place of t.view(dtype), which reads bytes of numbers as other numbers."""
    try:
        wanted = numpy.dtype(dtype).kind
    except TypeError:
        wanted = ""
    kind = getattr(raw_array(t).dtype, "kind", "")
    if (kind, wanted) == ("f", "c"):
        way = (
            "pairs of real numbers are the complex ones t[..., 0::2] + 1j * t[..., 1::2], a new array: what is written "
            "into it goes back by t[..., 0::2] = z.real; t[..., 1::2] = z.imag"
        )
    elif (kind, wanted) == ("c", "f"):
        way = (
            "real and imaginary parts side by side are "
            "numpy.stack([t.real, t.imag], axis=-1).reshape(*t.shape[:-1], -1)"
        )
    else:
        way = (
            "t.view(dtype) reads the bytes of the numbers as other numbers, and t.astype(dtype) converts the numbers: "
            "use that where it is meant"
        )
    return f"Tensor.view(dtype) has no derivative: {way}"


def tobytes(self, order="C"):
    """The bytes of the values."""
    before_bytes(self, "tobytes()")
    return self.numpy().tobytes(order)


def round_(self, ndigits=None):
    """round(t): an int, or with `ndigits` a Tensor rounded to so many digits, as of a float. The slope is zero."""
    if self.ndim:
        raise TypeError(f"round() of a Tensor of shape {self.shape}: use numpy.round or t.round(decimals)")
    if ndigits is None:
        return round(self.detach().item())
    found = numpy.round(self, ndigits)
    if not is_python(self):
        return found
    # Python rounds the decimal number, NumPy the product with a power of ten.
    return made_python(found + (round(self.detach().item(), ndigits) - found.detach().item()))


def floor_(self):
    """math.floor(t): an int."""
    return math.floor(self.detach().item())


def ceil_(self):
    """math.ceil(t): an int."""
    return math.ceil(self.detach().item())


def trunc_(self):
    """math.trunc(t): an int."""
    return math.trunc(self.detach().item())


def is_integer(self):
    """Whether the one element has no fraction, as float.is_integer."""
    return float(self.detach()).is_integer()


def as_integer_ratio(self):
    """The one element as a pair of ints, as float.as_integer_ratio; refused or warned of where float(t) is."""
    return float(self).as_integer_ratio()


def setflags(self, write=None, align=None, uic=None):
    """`t.flags.writeable` and its like, as numpy.ndarray.setflags.

    Raises
    ------
    TypeError
        If a recorded Tensor that is read-only would become writeable, or an array of another library is asked.
    """
    raw = raw_array(self)
    opens = isinstance(raw, numpy.ndarray) and (uic or (write and not raw.flags.writeable))
    if plain_array(self, False) is None and (opens or not isinstance(raw, numpy.ndarray)):
        raise TypeError("Tensor.setflags: set the flags of the raw array, t.array.setflags(...)")
    raw.setflags(write, align, uic)


class Flat:
    """`t.flat`: the elements in row-major order, to read, to write in place (recorded) and to iterate over.

    As numpy.flatiter it is an iterator: `next(it)` goes on from `it.index`, and `it[key]` sets that back to zero.

    Attributes
    ----------
    index : int
        How many elements have been given.
    coords : tuple of int
        The indices of the next element.
    base : Tensor
    """

    __slots__ = ("_positions", "_tensor", "index")

    def __init__(self, tensor):
        self._tensor = tensor
        self._restart()

    def _restart(self):
        self.index = 0
        self._positions = None  # an iterator over the indices of the elements, of several axes

    @property
    def base(self):
        return self._tensor

    @property
    def coords(self):
        shape = self._tensor.shape
        if self.index < self._tensor.size:
            return tuple(map(int, numpy.unravel_index(self.index, shape)))
        return (shape[0], *[0] * (len(shape) - 1)) if shape else ()

    def __len__(self):
        return self._tensor.size

    def __iter__(self):
        return self

    def __next__(self):  # an element is taken when it is asked for: a loop may write
        t, i = self._tensor, self.index
        if i >= t.size:
            raise StopIteration
        if t.ndim == 1:
            found = t[i]
        elif t.ndim:
            if self._positions is None:
                self._positions = iter(numpy.ndindex(t.shape))
            found = t[next(self._positions)]
        else:
            found = t.reshape(1)[0]
        self.index = i + 1
        return found

    def __getitem__(self, key):
        self._restart()
        found = self._tensor.ravel()[key]
        return found.copy() if found.ndim else found

    def __setitem__(self, key, value):
        self._restart()
        if isinstance(value, Tensor):
            t = self._tensor
            refuse_overlap("ndarray.flat", lambda a, v: a.flat.__setitem__(key, v), t, (value,), {})
        positions = numpy.atleast_1d(numpy.arange(self._tensor.size)[key])
        if isinstance(raw_array(self._tensor), numpy.ndarray):
            holds = isinstance(value, Tensor) or (isinstance(value, list | tuple) and contains_tensor(value))
            values = value if holds else numpy.asarray(value)
        else:  # arrays of NumPy's do not stand beside those of other libraries
            positions = positions.tolist()
            values = value.tolist() if isinstance(value, numpy.ndarray | numpy.generic) else value
        numpy.put(self._tensor, positions, values)

    def copy(self):
        """The elements in one dimension, a copy."""
        return self._tensor.flatten()

    def __array_function__(self, function, types, args, kwargs):
        return function(*map(_ravelled, args), **{key: _ravelled(value) for key, value in kwargs.items()})

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*map(_ravelled, inputs), **kwargs)


def _ravelled(value):
    """The elements of a Flat as a Tensor, also of those in a list or tuple; anything else as it is."""
    if type(value) is Flat:
        return value.base.ravel()
    return type(value)(map(_ravelled, value)) if type(value) in (list, tuple) else value


def _set_flat(t, value):
    Flat(t)[:] = value


def html(self):
    """What notebooks show."""
    from arraygrad.numpy_api.notebook import tensor_html  # few programs run in one

    return tensor_html(self)


def cupy_override(self, kernel, *args, **kwargs):
    """Run a ufunc of CuPy's on Tensors (CuPy's protocol).

    Raises
    ------
    TypeError
        If `kernel` is a user's own, or one that arraygrad knows no derivative of.
    """
    return cupy.override(kernel, args, kwargs)


def cuda_interface(self):
    """The CUDA array interface of a Tensor over CuPy or PyTorch that does not require grad: zero-copy, read by others.

    Raises AttributeError for a Tensor that requires grad (its gradient would be lost: give t.detach()), or on the host.
    """
    return cupy.interface(self)


cupy_override.__name__ = "__cupy_override_elementwise_kernel__"

_METHODS = (
    sort, partition, argpartition, searchsorted, compress, choose, put, getfield, setfield, resize, byteswap, view,
    tobytes, setflags, cupy_override,
)  # fmt: skip


def get(self, stream=None, order="C", out=None, blocking=True):
    """The values on the host, as cupy.ndarray.get: a Tensor over NumPy, recorded.

    Raises
    ------
    TypeError
        If `out` is given, or `blocking` is False.
    """
    if out is not None or not blocking:
        raise TypeError("Tensor.get: out= and blocking=False are not supported for Tensors: leave them out")
    return apply_op(OPS["_to_backend"], (self, "numpy", None, backend_of(self).name, self.device))


class _OfSome:
    """A method that only some of NumPy's or CuPy's objects have: so `hasattr` tells them apart."""

    def __init__(self, function, has, lacks):
        self._function = function
        self._has = has
        self._lacks = lacks
        self.__name__ = self.__qualname__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, t):
        return self._function(t)

    def __get__(self, t, owner=None):
        if t is None:
            return self._function
        if not self._has(t):
            name = self.__name__
            raise AttributeError(f"'Tensor' object {self._lacks(t, name)}", name=name, obj=t)
        return self._function.__get__(t, owner)


def _no_scalar(t, name):
    return f"of shape {t.shape} has no attribute {name!r}, as NumPy's arrays have none: take one element, t[i]"


def _is_of_cupy(t):
    return backend_of(t).name == "cupy"


def _not_of_cupy(t, name):
    return f"over {backend_of(t).name} has no attribute {name!r}, as CuPy's arrays alone have it: take t.numpy()"


MORE: dict = {function.__name__: function for function in _METHODS}
for _function in (is_integer, as_integer_ratio):
    MORE[_function.__name__] = _OfSome(_function, is_scalar, _no_scalar)
MORE["get"] = _OfSome(get, _is_of_cupy, _not_of_cupy)
MORE["__cuda_array_interface__"] = property(cuda_interface)
MORE["__round__"] = round_
MORE["__floor__"] = floor_
MORE["__ceil__"] = ceil_
MORE["__trunc__"] = trunc_
MORE["flat"] = property(Flat, _set_flat, doc="The elements in row-major order, as ndarray.flat.")
MORE["_repr_html_"] = html
MORE.update(ATTRIBUTES)
