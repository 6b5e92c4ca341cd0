"""Masked arrays of recorded data in adopted calls.

May import: adoption.builtin_answers, adoption.either, adoption.exchange, adoption.masked_rules,
adoption.subclass_probes, adoption.subclasses, adoption.table, core.exposed_memory, core.constructors, core.tensor, the
standard library, numpy.

Note [Masked arrays]
~~~~~~~~~~~~~~~~~~~~
(1) `np.ma.masked_where(x > 1.0, x)` and its like make a `Masked`, which holds the Tensor and a mask, and counts as
    numpy.ma.MaskedArray. The mask is that of a plain masked array of the same shape, `_arraygrad_shadow`: views share
    it, writes change it, and hard masks stay as NumPy has it.
(2) What is masked, numpy.ma says: every operation runs on plain masked arrays, too. Where nothing is masked, an
    operation of numpy.ma is that of numpy on the data. Elsewhere it is one on each element, of which masked ones are
    replaced by 1, or moves elements, or has a rule in masked_rules.py. Its values must be those of numpy.ma in all
    elements that are not masked. Else the call is refused where it is made.
(3) A masked element has no gradient. What NumPy leaves as its data after an operation is no value that a program should
    read: it is nan here, and `m.data` and a mask that is taken away are refused. Data that was only masked stays what
    it is (`_arraygrad_given`).
(4) The functions of numpy.ma that are recorded are those of `_NAMESAKES`, which numpy has under the same name, those
    with a rule, and those that make masked arrays. The others are refused where they give floating-point numbers.
(5) Masked arrays without recorded data are NumPy's own. Beside a Masked they count as their data and their mask.
Guarded by tests/adoption/test_masked_arrays.py and test_masked_arrays_without_masked_elements.py.
"""

import functools
import operator
import types
from collections.abc import Callable

import numpy
import numpy.ma

from arraygrad.adoption.builtin_answers import CLASSES
from arraygrad.adoption.either import StandInClass
from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.masked_rules import REDUCTIONS, STRUCTURAL, refused, without
from arraygrad.adoption.subclass_probes import within
from arraygrad.adoption.subclasses import Held, holding
from arraygrad.adoption.table import stand_in, stand_in_for, stand_in_module, stands_for
from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor

__all__ = ["Masked", "install"]

# What numpy has under the same name and numpy.ma computes of the data, where nothing is masked (4).
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


class Masked(Held):
    """A masked array of recorded data."""

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

    def __recorded__(self):
        return _data(self)

    def __array__(self, dtype=None, copy=None):
        t = _data(self)
        if t.requires_grad:
            return t if dtype is None else t.astype(dtype)
        return numpy.array(t.numpy(), dtype)

    def __float__(self):
        return float(_data(self).reshape(()))

    @property
    def mask(self):
        """The mask itself: a program may write into it."""
        return self._arraygrad_shadow.mask

    _mask = mask

    @property
    def data(self):
        """The data, recorded."""
        return _data(self)[...]

    _data = data

    def filled(self, fill_value=None):
        """The data, recorded, with the fill value in the places of masked elements."""
        mask = _mask(self)
        if not mask.any():
            return self._arraygrad_tensor[...]
        if isinstance(fill_value, Tensor):
            return numpy.where(mask, fill_value, _checked_data(self))
        return without(_checked_data(self), mask, _plain(self).filled(fill_value))

    def compressed(self):
        """The elements that are not masked in one row, recorded."""
        mask = _mask(self)
        flat = _checked_data(self).reshape(-1)
        return flat[~mask.reshape(-1)] if mask.any() else flat

    def view(self, dtype=None, type=None):
        """As a masked array of the same memory; any other view shows the data."""
        if (dtype is None or dtype is numpy.ma.MaskedArray) and type in (None, numpy.ma.MaskedArray):
            return _made(self._arraygrad_tensor[...], self._arraygrad_shadow[...], self._arraygrad_given)
        _data(self)
        return super().view(dtype, type)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(numpy.ma.MaskedArray, name):
            raise AttributeError(f"'MaskedArray' object has no attribute {name!r}")
        if name in _OF_MASKS:
            return getattr(self._arraygrad_shadow, name)
        found = getattr(_plain(self), name)
        if not callable(found):
            return found
        raise refused(f"numpy.ma.MaskedArray.{name}")

    def __setattr__(self, name, value):
        if name == "mask":
            before = _mask(self).copy()
            self._arraygrad_shadow.mask = _plain(value)
            if not self._arraygrad_given[0] and (before & ~_mask(self)).any():
                raise refused("a mask that is taken away from what an operation has masked")
        elif name == "fill_value":
            self._arraygrad_shadow.fill_value = _plain(value)
        elif name == "shape":
            self._arraygrad_tensor.shape = value
            self._arraygrad_shadow.shape = value
        else:
            object.__setattr__(self, name, value)

    def __setitem__(self, key, value):
        key, shadow = _bare(key), self._arraygrad_shadow
        if value is numpy.ma.masked:
            shadow[key] = value
            return
        mask = numpy.ma.getmaskarray(_plain(value))
        if shadow.hardmask and shadow.mask is not numpy.ma.nomask and shadow.mask.any():
            raise refused("an assignment into a hard mask")
        given = not mask.any() or not isinstance(value, Masked) or value._arraygrad_given[0]
        self._arraygrad_tensor[key] = _parts(value)[0] if mask.any() else _bare(value)
        shadow[key] = numpy.ma.array(numpy.zeros(mask.shape), mask=mask) if mask.any() else 0
        self._arraygrad_given[0] = self._arraygrad_given[0] and given

    def __getitem__(self, key):
        return _computed(operator.getitem, operator.getitem, (self, key), {})

    def __repr__(self):
        return repr(_plain(self))

    def __str__(self):
        return str(_plain(self))


_OF_MASKS = frozenset(
    """
    harden_mask soften_mask unshare_mask shrink_mask hardmask sharedmask set_fill_value fill_value
    """.split()
)


def _made(tensor, shadow, given):
    """A Masked. `shadow`: a plain masked array with its mask; `given`: [whether masked elements have own data]."""
    made = holding(Masked, tensor)
    made.__dict__["_arraygrad_shadow"], made.__dict__["_arraygrad_given"] = shadow, given
    return made


def _shadow(mask, like=None):
    """A plain masked array with a copy of a mask, of zeros."""
    shape = numpy.shape(like) if mask is numpy.ma.nomask else numpy.shape(mask)
    return numpy.ma.MaskedArray(numpy.zeros(shape), mask=mask if mask is numpy.ma.nomask else numpy.array(mask))


def _mask(x):
    return numpy.ma.getmaskarray(x._arraygrad_shadow)


def _checked_data(x):
    """The Tensor. A mask may have been taken away by a write into it."""
    t = x._arraygrad_tensor
    if not x._arraygrad_given[0] and (numpy.isnan(raw_array(t)) & ~_mask(x)).any():
        raise refused("an element that was masked, or is not a number: a masked array")
    return t


def _data(x):
    """The Tensor as the data that a program reads (3)."""
    if not x._arraygrad_given[0] and _mask(x).any():
        raise refused("the data of masked elements after an operation: a masked array")
    return _checked_data(x)


def _plain(x):
    """Arguments as plain arrays, copied; plain masked arrays in the places of recorded ones."""
    if isinstance(x, Masked):
        shadow = x._arraygrad_shadow
        mask = shadow.mask if shadow.mask is numpy.ma.nomask else shadow.mask.copy()
        return numpy.ma.MaskedArray(raw_array(_checked_data(x)).copy(), mask=mask, fill_value=shadow._fill_value)
    if isinstance(x, Tensor):
        return raw_array(x).copy()
    return within(x, _plain)


def _bare(x):
    """Arguments with Tensors in the places of recorded ones, and the data of masked arrays where nothing is masked."""
    if isinstance(x, Masked):
        return _data(x)
    if isinstance(x, Held):
        return x._arraygrad_tensor
    if isinstance(x, numpy.ma.MaskedArray):
        if numpy.ma.is_masked(x):
            raise refused("an operation with masked elements")
        return x.data
    return within(x, _bare)


def _parts(x):
    """(data, mask) of an argument, recorded or not."""
    if isinstance(x, Masked):
        return _checked_data(x), _mask(x)
    if isinstance(x, Held):
        return x._arraygrad_tensor, numpy.zeros(x.shape, bool)
    if isinstance(x, numpy.ma.MaskedArray):
        return x.data, numpy.ma.getmaskarray(x)
    return x, numpy.zeros(numpy.shape(x), bool)


def _all_parts(x):
    """Arguments with the data of masked arrays in their places."""
    return _parts(x)[0] if isinstance(x, Held | numpy.ma.MaskedArray) else within(x, _all_parts)


def _is_recorded(x):
    """Whether there is a Masked, or a Tensor that requires grad, among arguments."""
    if isinstance(x, list | tuple):
        return any(_is_recorded(item) for item in x)
    if isinstance(x, dict):
        return any(_is_recorded(item) for item in x.values())
    return isinstance(x, Held) or (isinstance(x, Tensor) and x.requires_grad)


def _is_masked(x):
    """Whether an element is masked among arguments or results."""
    if isinstance(x, Masked):
        return bool(_mask(x).any())
    if isinstance(x, list | tuple):
        return any(_is_masked(item) for item in x)
    if isinstance(x, dict):
        return any(_is_masked(item) for item in x.values())
    return x is numpy.ma.masked or (isinstance(x, numpy.ma.MaskedArray) and bool(numpy.ma.is_masked(x)))


def _is_given(x):
    """Whether all masked elements among arguments have data of their own."""
    if isinstance(x, list | tuple):
        return all(_is_given(item) for item in x)
    if isinstance(x, dict):
        return all(_is_given(item) for item in x.values())
    return not isinstance(x, Masked) or x._arraygrad_given[0]


def _computed(of_masked, of_data, args, kwargs):
    """What an operation gives: in the classes that numpy.ma gives, recorded (2)."""
    plain = of_masked(*_plain(args), **_plain(kwargs))
    if plain is NotImplemented:
        return plain
    name = getattr(of_masked, "__name__", "")
    with numpy.errstate(all="ignore"):  # NumPy has warned of what numpy.ma warns of
        if _is_masked((plain, args, kwargs)):
            return _with_masks(of_masked, of_data, args, kwargs, plain, name)
        args_of_data, kwargs_of_data = _bare(args), _bare(kwargs)
        if _is_of_elements(of_masked, name) and getattr(plain, "dtype", None) in (numpy.float64, numpy.complex128):
            args_of_data = _replaced(args_of_data, numpy.False_, plain.dtype)
        found = of_data(*args_of_data, **kwargs_of_data)
    made = _checked(plain, found, name)
    if isinstance(made, Masked):
        _share(made, of_masked, of_data, args, kwargs, name)
    return made


def _is_of_elements(of_masked, name):
    """Whether an operation computes each element of its own."""
    return isinstance(of_masked, _ELEMENTWISE) or of_masked in _OF_ELEMENTS or name in _NAMES_OF_ELEMENTS


def _share(made, of_masked, of_data, args, kwargs, name):
    """Have a result share its mask with what NumPy has it share it with."""
    one = args[0] if args else None
    if isinstance(one, Masked) and name in STRUCTURAL and name not in ("astype", "copy"):
        shadow = of_masked(one._arraygrad_shadow, *_plain(args[1:]), **kwargs)
        if not numpy.may_share_memory(shadow, one._arraygrad_shadow):
            return
        made.__dict__["_arraygrad_given"] = one._arraygrad_given
    elif of_data in _MAKERS and name in _SHARING and args:
        given = one._arraygrad_shadow if isinstance(one, Masked) else numpy.zeros(made.shape)
        shadow = of_masked(given, *_plain_but_masks(args[1:]), **_plain_but_masks(kwargs))
    else:
        return
    made.__dict__["_arraygrad_shadow"] = shadow


def _plain_but_masks(x):
    """Plain arguments; arrays of truth values, which a result may share, as they are."""
    if type(x) is numpy.ndarray and x.dtype.kind == "b":
        return x
    return _plain(x) if isinstance(x, Held | Tensor) else within(x, _plain_but_masks)


def _with_masks(of_masked, of_data, args, kwargs, plain, name):
    """The same where elements are masked."""
    if plain is numpy.ma.masked:
        return plain
    if not (hasattr(plain, "dtype") and plain.dtype.kind in "fc"):
        if isinstance(plain, tuple | list) and any(hasattr(item, "dtype") for item in plain):
            raise refused(f"{name} of masked elements: a masked array")
        return plain
    mask, given = numpy.ma.getmaskarray(plain), False
    if not args:
        raise refused(f"{name} of masked elements by keyword: a masked array")
    if name == "dot":
        found = numpy.dot(*[without(*_parts(x), 0) for x in args[:2]])
    elif name in REDUCTIONS:
        data, where = _parts(args[0])
        found = REDUCTIONS[name](_wide(asarray(data), plain.dtype), where, *_all_parts(args[1:]), **_all_parts(kwargs))
    elif name in STRUCTURAL:
        found, given = of_data(*_all_parts(args), **_all_parts(kwargs)), _is_given(args)
    elif name == "fix_invalid":
        found = of_data(*_all_parts(args), **_all_parts(kwargs))
    elif of_data in _MAKERS:
        found, given = of_data(*_all_parts(args), **_all_parts(kwargs)), _is_given(args)
    elif _is_of_elements(of_masked, name):
        found = of_data(*_replaced(args, mask, plain.dtype), **_replaced(kwargs, mask, plain.dtype))
    else:
        raise refused(f"{name} of masked elements: a masked array")
    found = found if isinstance(found, Tensor) else wrap_raw(numpy.asarray(found))
    values = raw_array(found)
    there = numpy.broadcast_to(~mask, values.shape) if mask.shape == () else ~mask
    close = 1e-5 if any(map(_is_single, (plain, *args, *kwargs.values()))) else 1e-12
    same = numpy.isclose(values, numpy.ma.getdata(plain), rtol=close, atol=0.0, equal_nan=_is_given((args, kwargs)))
    if values.shape != plain.shape or values.dtype != plain.dtype or not same[there].all():
        raise refused(f"{name} gives other values than numpy.ma.{name} of masked elements: a masked array")
    if not isinstance(plain, numpy.ma.MaskedArray):
        return found
    if not given and mask.any() and name not in STRUCTURAL:  # which has views, of elements that are nan already
        found = without(found, mask, numpy.nan)
    made = _made(found, _shadow(plain.mask, plain), [given or not mask.any()])
    made._arraygrad_shadow._fill_value = plain._fill_value
    _share(made, of_masked, of_data, args, kwargs, name)
    return made


def _is_single(x):
    return getattr(x, "dtype", None) in (numpy.float32, numpy.complex64)


def _replaced(x, mask, dtype):
    """Arguments of an operation on each element, in the dtype of its result: 1 where that is masked."""
    if isinstance(x, list | tuple | dict):
        return within(x, lambda item: _replaced(item, mask, dtype))
    data = _parts(x)[0]
    if isinstance(data, Tensor | numpy.ndarray) and data.dtype.kind in "fciu" and data.ndim:
        return without(_wide(data, dtype), mask, 1)
    return data


def _wide(data, dtype):
    """Data in a dtype that is wider: numpy.ma takes Python's numbers as arrays of float64."""
    return data.astype(dtype) if data.dtype.kind in "fc" and data.dtype.itemsize < dtype.itemsize else data


def _checked(plain, found, name):
    if isinstance(plain, tuple | list) and len(plain) == len(found):
        return type(plain)([_checked(p, f, name) for p, f in zip(plain, found, strict=True)])
    if not isinstance(plain, numpy.ndarray | numpy.generic | float | complex):
        return plain if found is None or not isinstance(found, Tensor) else found
    values = raw_array(found) if isinstance(found, Tensor) else found
    if numpy.shape(values) != plain.shape or not numpy.allclose(
        values, numpy.asarray(plain), rtol=1e-12, atol=0.0, equal_nan=True
    ):
        raise refused(f"{name} gives other values than numpy.{name} of the data: a masked array")
    if isinstance(plain, numpy.ma.MaskedArray):
        found = found if isinstance(found, Tensor) else wrap_raw(numpy.asarray(found))
        return _made(found, _shadow(plain.mask, plain), [True])
    return found


# -- operators and methods ---------------------------------------------------------------------------------------------

_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "gt", "ge", "eq", "ne", "and_",
    "or_", "xor",
)  # fmt: skip


def _written(masked, new):
    """A Masked after an operation in place, of which `new` is the result elsewhere: masked elements keep their data."""
    mask = _mask(new)
    masked._arraygrad_tensor[...] = numpy.where(mask, masked._arraygrad_tensor, new._arraygrad_tensor)
    if mask.any():
        masked._arraygrad_shadow[mask] = numpy.ma.masked
        masked._arraygrad_given[0] = False
    return masked


def _put_operators():
    def forward(operation):
        return lambda self, other, *more: _computed(operation, operation, (self, other), {})

    def reflected(operation):
        return lambda self, other, *more: _computed(operation, operation, (other, self), {})

    def in_place(operation):
        def call(self, other):
            new = _computed(operation, operation, (self, other), {})  # refused before anything is written
            if _is_masked((self, new)):
                return _written(self, new)
            found = getattr(operator, f"i{operation.__name__}")(self._arraygrad_tensor, _bare(other))
            if found is not self._arraygrad_tensor:
                self._arraygrad_tensor[...] = found
            return self

        return call

    for name in _OPERATORS:
        operation = getattr(operator, name)
        name = name.rstrip("_")
        setattr(Masked, f"__{name}__", forward(operation))
        if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(Masked, f"__r{name}__", reflected(operation))
            setattr(Masked, f"__i{name}__", in_place(operation))
    for name in ("neg", "pos", "abs", "invert"):
        operation = getattr(operator, name)
        setattr(Masked, f"__{name}__", lambda self, operation=operation: _computed(operation, operation, (self,), {}))


def _put_methods():
    def method(name):
        def call(x, *args, **kwargs):
            return getattr(x, name)(*args, **kwargs)

        def of_data(x, *args, **kwargs):
            return REDUCTIONS[name](x, numpy.zeros(x.shape, bool), *args, **kwargs)

        call.__name__ = name
        theirs = call if hasattr(Tensor, name) else of_data
        return lambda self, *args, **kwargs: _computed(call, theirs, (self, *args), kwargs)

    def attribute(name):
        def get(x):
            return getattr(x, name)

        get.__name__ = name
        return property(lambda self: _computed(get, get, (self,), {}))

    for name in _METHODS:
        setattr(Masked, name, method(name))
    for name in ("T", "real", "imag"):
        setattr(Masked, name, attribute(name))
    Masked.copy = lambda self, *args, **kwargs: _made(
        self._arraygrad_tensor.copy(), self._arraygrad_shadow.copy(), list(self._arraygrad_given)
    )


_METHODS = frozenset(
    """
    all anom any argmax argmin argsort astype clip conj conjugate cumprod cumsum diagonal dot max mean min nonzero prod
    ptp ravel repeat reshape round squeeze std sum swapaxes take trace transpose var flatten count
    """.split()
)


# What computes each element of its own.
_ELEMENTWISE = (
    numpy.ufunc, numpy.ma.core._MaskedUnaryOperation, numpy.ma.core._MaskedBinaryOperation,
    numpy.ma.core._DomainedBinaryOperation, numpy.ma.core._extrema_operation,
)  # fmt: skip
_OF_ELEMENTS = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
     operator.neg, operator.pos, operator.abs)
)  # fmt: skip
_NAMES_OF_ELEMENTS = frozenset("power clip around round conjugate conj where real imag".split())
_SHARING = frozenset(("array", "MaskedArray", "asarray", "asanyarray"))
_MAKERS: set = set()  # functions of `_of_data` that take the data as it is


# -- the functions of numpy.ma -----------------------------------------------------------------------------------------


def _made_of(data, copied=False, dtype=None, copy=None, **kwargs):
    """The data of what makes a masked array: its mask and what it fills are numpy.ma's own answer."""
    data = _all_parts(data)
    found = data if isinstance(data, Tensor) else asarray(data)
    if dtype is not None:
        found = found.astype(dtype, copy=False)
    if found is data:  # another object, whose shape may be set
        return found.copy() if copied or copy else found[...]
    return found


def _of_array(data, dtype=None, copy=False, *args, **kwargs):
    return _made_of(data, copy, dtype)


def _of_class(data=None, mask=False, dtype=None, copy=False, *args, **kwargs):
    return _made_of(data, copy, dtype)


def _of_data(name):
    """What a function of numpy.ma computes of the data; None where it is not known (4)."""
    maker = None
    if name == "masked_where":
        maker = lambda condition, a, copy=True: _made_of(a, copy)
    elif name.startswith("masked_"):
        maker = lambda x, *args, copy=True, **kwargs: _made_of(x, copy)
    elif name in ("asarray", "asanyarray"):
        maker = lambda a, dtype=None, order=None: _made_of(a, dtype=dtype)
    elif name == "array":
        maker = _of_array
    elif name == "MaskedArray":
        maker = _of_class
    if maker is not None:
        _MAKERS.add(maker)
        return maker
    if name == "fix_invalid":
        return lambda a, *args, copy=True, **kwargs: _made_of(a, copy)
    if name in REDUCTIONS and name not in _NAMESAKES:
        return lambda a, *args, **kwargs: REDUCTIONS[name](a, numpy.zeros(a.shape, bool), *args, **kwargs)
    return getattr(numpy, name, None) if name in _NAMESAKES else None


def _as_masked(x):
    return x if isinstance(x, Masked) else _made(asarray(x), _shadow(numpy.ma.nomask, x), [True])


# What the object itself answers.
_OF_ITSELF: dict[str, Callable] = {
    "compressed": lambda x: _as_masked(x).compressed(),
    "filled": lambda a, fill_value=None: _as_masked(a).filled(fill_value),
    "getdata": lambda a, subok=True: _data(_as_masked(a)),
    "getmask": lambda a: _as_masked(a).mask,
    "getmaskarray": lambda arr: _mask(_as_masked(arr)),
}


class _MaskedArrayClass(StandInClass):
    """The type of what stands in for numpy.ma.MaskedArray."""

    def __call__(cls, *args, **kwargs):
        if is_on() and _is_recorded((args, kwargs)):
            return _computed(numpy.ma.MaskedArray, _OF_CLASS, args, kwargs)
        return cls._real(*args, **kwargs)


def _recording(real, name):
    of_data, of_itself = _of_data(name), _OF_ITSELF.get(name)

    @functools.wraps(real)
    def call(*args, **kwargs):
        if not is_on() or not _is_recorded((args, kwargs)):
            return real(*args, **kwargs)
        if of_itself is not None:
            return of_itself(*args, **kwargs)
        if of_data is not None:
            return _computed(real, of_data, args, kwargs)
        plain = real(*_plain(args), **_plain(kwargs))
        if isinstance(plain, numpy.ma.MaskedArray) or (hasattr(plain, "dtype") and plain.dtype.kind in "fc"):
            raise refused(f"numpy.ma.{name}")
        return plain

    return call


_OF_CLASS = _of_data("MaskedArray")


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
    CLASSES[id(Masked)] = lambda obj: numpy.ma.MaskedArray
    made = _MaskedArrayClass.of(numpy.ma.MaskedArray)
    stands_for(made, numpy.ma.MaskedArray)
    for real in (numpy.ma.core, numpy.ma.extras, numpy.ma):
        stand_in_module(real)
        if hasattr(real, "masked_array"):  # the class under its other name, by which no program compares it
            stand_in_for(real).masked_array = made


Masked._arraygrad_base = Masked
_put_operators()
_put_methods()
