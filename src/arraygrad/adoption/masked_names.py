"""Masked arrays of recorded data in adopted calls, as long as nothing in them is masked.

May import: adoption.builtin_answers, adoption.exchange, adoption.subclass_probes, adoption.subclasses, adoption.table,
autograd.of_libraries, autograd.python_numbers, core.exposed_memory, core.constructors, core.tensor, the standard
library, numpy.

Note [Masked arrays]
~~~~~~~~~~~~~~~~~~~~
Programs wrap their data in masked arrays to be ready for missing values (`np.ma.masked_invalid(y)`), and mostly none is
missing. Without a masked element each operation of numpy.ma is that of numpy on the data. So
(1) `np.ma.asarray(t)` and its like make an `Unmasked`, which holds the Tensor and counts as numpy.ma.MaskedArray.
(2) Whether nothing is masked, numpy.ma says: every operation runs on plain masked arrays, too, and its result must have
    no masked element and the values of the recorded one. Else the call is refused where it is made: a masked element's
    data is what NumPy happens to leave there, and has no derivative.
(3) The functions of numpy.ma that are recorded are those of `_NAMESAKES`, which numpy has under the same name, and
    those that make masked arrays. The others are refused where they give floating-point numbers.
(4) The class numpy.ma.MaskedArray itself has no stand-in, as programs compare it by `is`: its call refuses Tensors.
(5) Masked arrays without recorded data are NumPy's own. In an operation with an Unmasked they count as their data, if
    nothing is masked in them.
Guarded by tests/adoption/test_masked_arrays_without_masked_elements.py.
"""

import functools
import operator
import types

import numpy
import numpy.ma

from arraygrad.adoption.builtin_answers import CLASSES
from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.subclass_probes import within
from arraygrad.adoption.subclasses import Held, holding
from arraygrad.adoption.table import stand_in, stand_in_module
from arraygrad.autograd.of_libraries import MASKED
from arraygrad.autograd.python_numbers import place
from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor

__all__ = ["Unmasked", "install"]

# What numpy has under the same name and numpy.ma computes of the data, where nothing is masked (3).
_NAMESAKES = frozenset(
    """
    abs absolute add all alltrue any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort around
    atleast_1d atleast_2d atleast_3d average clip column_stack concatenate conjugate copy cos cosh cumprod cumsum diag
    diagonal diff divide dot equal exp expand_dims fabs floor greater greater_equal hstack hypot inner isinf isnan less
    less_equal log log10 log2 max maximum mean min minimum multiply negative ndim not_equal outer power prod product ptp
    ravel repeat reshape resize round shape sin sinh size sqrt squeeze stack std subtract sum swapaxes take tan tanh
    trace transpose true_divide var vstack where zeros_like ones_like empty_like
    """.split()
)


def _refused(what):
    return TypeError(f"{place()}: {what} of recorded data. {MASKED}")


class Unmasked(Held):
    """A masked array of recorded data in which nothing is masked."""

    _arraygrad_class = numpy.ma.MaskedArray
    __array_priority__ = numpy.ma.MaskedArray.__array_priority__
    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        called = ufunc if method == "__call__" else getattr(ufunc, method)
        return _computed(called, called, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return _computed(function, function, args, kwargs)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array

    @property
    def mask(self):
        """No element is masked."""
        return numpy.zeros(self.shape, bool) if self._arraygrad_masks else numpy.ma.nomask

    _mask = mask

    @property
    def data(self):
        """The data, recorded."""
        return self._arraygrad_tensor[...]

    _data = data

    def filled(self, fill_value=None):
        """The data, recorded: there is nothing to fill."""
        return self._arraygrad_tensor[...]

    def compressed(self):
        """All elements in one row, recorded."""
        return self._arraygrad_tensor.reshape(-1)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(numpy.ma.MaskedArray, name):
            raise AttributeError(f"'MaskedArray' object has no attribute {name!r}")
        found = getattr(_plain(self), name)
        if not callable(found):
            return found
        raise _refused(f"numpy.ma.MaskedArray.{name}")

    def __setattr__(self, name, value):
        if name == "mask":
            if numpy.any(_plain(value)):
                raise _refused("a mask")
            self.__dict__["_arraygrad_masks"] = True
        elif name == "shape":
            self._arraygrad_tensor.shape = value
        else:
            object.__setattr__(self, name, value)

    def __setitem__(self, key, value):
        if value is numpy.ma.masked:
            raise _refused("a masked element")
        self._arraygrad_tensor[_bare(key)] = _bare(value)

    def __getitem__(self, key):
        return _computed(operator.getitem, operator.getitem, (self, key), {})

    def __repr__(self):
        return repr(_plain(self))

    def __str__(self):
        return str(_plain(self))


def _made(tensor, masks):
    made = holding(Unmasked, tensor)
    made.__dict__["_arraygrad_masks"] = masks
    return made


def _plain(x):
    """Arguments as plain arrays, copied; masked arrays in the places of Unmasked ones."""
    if isinstance(x, Unmasked):
        return numpy.ma.MaskedArray(raw_array(x._arraygrad_tensor).copy(), mask=x.mask)
    if isinstance(x, Tensor):
        return raw_array(x).copy()
    return within(x, _plain)


def _bare(x):
    """Arguments with Tensors in the places of Unmasked ones, and the data of masked arrays where nothing is masked."""
    if isinstance(x, Held):
        return x._arraygrad_tensor
    if isinstance(x, numpy.ma.MaskedArray):
        if numpy.ma.is_masked(x):
            raise _refused("an operation with masked elements")
        return x.data
    return within(x, _bare)


def _is_recorded(x):
    """Whether there is an Unmasked, or a Tensor that requires grad, among arguments."""
    if isinstance(x, list | tuple):
        return any(_is_recorded(item) for item in x)
    if isinstance(x, dict):
        return any(_is_recorded(item) for item in x.values())
    return isinstance(x, Held) or (isinstance(x, Tensor) and x.requires_grad)


def _computed(of_masked, of_data, args, kwargs):
    """What an operation gives: in the classes that numpy.ma gives, recorded (2)."""
    plain = of_masked(*_plain(args), **_plain(kwargs))
    if plain is NotImplemented:
        return plain
    name = getattr(of_masked, "__name__", "")
    _refuse_masked(plain, name)  # before anything is recorded
    with numpy.errstate(all="ignore"):  # NumPy has warned of what numpy.ma warns of
        found = of_data(*_bare(args), **_bare(kwargs))
    return _checked(plain, found, name)


def _refuse_masked(plain, name):
    if plain is numpy.ma.masked or (isinstance(plain, numpy.ma.MaskedArray) and numpy.ma.is_masked(plain)):
        raise _refused(f"{name} gives masked elements: a masked array")


def _checked(plain, found, name):
    if isinstance(plain, tuple | list) and len(plain) == len(found):
        return type(plain)([_checked(p, f, name) for p, f in zip(plain, found, strict=True)])
    _refuse_masked(plain, name)
    if not isinstance(plain, numpy.ndarray | numpy.generic | float | complex):
        return plain if found is None or not isinstance(found, Tensor) else found
    values = raw_array(found) if isinstance(found, Tensor) else found
    if numpy.shape(values) != plain.shape or not numpy.allclose(
        values, numpy.asarray(plain), rtol=1e-12, atol=0.0, equal_nan=True
    ):
        raise _refused(f"{name} gives other values than numpy.{name} of the data: a masked array")
    if isinstance(plain, numpy.ma.MaskedArray):
        found = found if isinstance(found, Tensor) else wrap_raw(numpy.asarray(found))
        return _made(found, plain.mask is not numpy.ma.nomask)
    return found


# -- operators and methods ---------------------------------------------------------------------------------------------

_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "gt", "ge", "eq", "ne", "and_",
    "or_", "xor",
)  # fmt: skip


def _put_operators():
    def forward(operation):
        return lambda self, other, *more: _computed(operation, operation, (self, other), {})

    def reflected(operation):
        return lambda self, other, *more: _computed(operation, operation, (other, self), {})

    def in_place(operation):
        def call(self, other):
            _computed(operation, operation, (self, other), {})  # refused before anything is written
            found = getattr(operator, f"i{operation.__name__}")(self._arraygrad_tensor, _bare(other))
            if found is not self._arraygrad_tensor:
                self._arraygrad_tensor[...] = found
            return self

        return call

    for name in _OPERATORS:
        operation = getattr(operator, name)
        name = name.rstrip("_")
        setattr(Unmasked, f"__{name}__", forward(operation))
        if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(Unmasked, f"__r{name}__", reflected(operation))
            setattr(Unmasked, f"__i{name}__", in_place(operation))
    for name in ("neg", "pos", "abs", "invert"):
        operation = getattr(operator, name)
        setattr(Unmasked, f"__{name}__", lambda self, operation=operation: _computed(operation, operation, (self,), {}))


def _put_methods():
    def method(name):
        def call(x, *args, **kwargs):
            return getattr(x, name)(*args, **kwargs)

        call.__name__ = name
        return lambda self, *args, **kwargs: _computed(call, call, (self, *args), kwargs)

    def attribute(name):
        get = operator.attrgetter(name)
        return property(lambda self: _computed(get, get, (self,), {}))

    for name in _METHODS:
        setattr(Unmasked, name, method(name))
    for name in ("T", "real", "imag"):
        setattr(Unmasked, name, attribute(name))
    Unmasked.copy = lambda self, *args, **kwargs: _made(self._arraygrad_tensor.copy(), self._arraygrad_masks)


_METHODS = frozenset(
    """
    all any argmax argmin argsort astype clip conj conjugate cumprod cumsum diagonal dot max mean min nonzero prod ptp
    ravel repeat reshape round squeeze std sum swapaxes take trace transpose var flatten count
    """.split()
)


# -- the functions of numpy.ma -----------------------------------------------------------------------------------------


def _made_of(data, copied=False, dtype=None, copy=None, **kwargs):
    """The data of what makes a masked array: the mask, which holds nothing, and what it fills do not matter."""
    data = _bare(data)
    found = data if isinstance(data, Tensor) else asarray(data)
    if dtype is not None:
        found = found.astype(dtype, copy=False)
    return found.copy() if (copied or copy) and found is data else found


def _of_data(name):
    """What a function of numpy.ma computes of the data; None where it is not known (3)."""
    if name == "masked_where":
        return lambda condition, a, copy=True: _made_of(a, copy)
    if name.startswith(("masked_", "fix_")):
        return lambda x, *args, copy=True, **kwargs: _made_of(x, copy)
    if name in ("asarray", "asanyarray"):
        return lambda a, dtype=None, order=None: _made_of(a, dtype=dtype)
    if name == "array":
        return lambda data, dtype=None, copy=False, *args, **kwargs: _made_of(data, copy, dtype)
    if name == "compressed":
        return lambda x: _made_of(x).reshape(-1)
    if name in ("getdata", "filled"):
        return lambda a, *args, **kwargs: _made_of(a)
    return getattr(numpy, name, None) if name in _NAMESAKES else None


def _recording(real, name):
    of_data = _of_data(name)

    @functools.wraps(real)
    def call(*args, **kwargs):
        if not is_on() or not _is_recorded((args, kwargs)):
            return real(*args, **kwargs)
        if of_data is not None:
            return _computed(real, of_data, args, kwargs)
        plain = real(*_plain(args), **_plain(kwargs))
        if isinstance(plain, numpy.ma.MaskedArray) or (hasattr(plain, "dtype") and plain.dtype.kind in "fc"):
            raise _refused(f"numpy.ma.{name}")
        return plain

    return call


def _is_function(value):
    return isinstance(value, types.FunctionType) or (
        callable(value) and not isinstance(value, type) and type(value).__module__.startswith("numpy.ma")
    )


def install():
    """Put what stands in for numpy.ma and its functions into the table."""
    for name in numpy.ma.__all__:
        value = getattr(numpy.ma, name)
        if _is_function(value):
            stand_in(value, _recording(value, name))
    CLASSES[id(Unmasked)] = lambda obj: numpy.ma.MaskedArray
    for real in (numpy.ma.core, numpy.ma.extras, numpy.ma):
        stand_in_module(real)


Unmasked._arraygrad_base = Unmasked
_put_operators()
_put_methods()
