"""NumPy's functions on Tensors, with NumPy's signatures, over table operations (`__array_function__`).

May import: core.adopted, core.constructors, core.convert, core.exposed_memory, core.inplace, core.number_kinds,
core.tensor, engine.node, ops, namespaces.bind, numpy.

Reductions are in `numpy_api.reductions`, functions of shape in `numpy_api.shapes`, products, numpy.linalg and numpy.fft
in `numpy_api.linalg`. Keywords without a recorded counterpart (out=, where=, initial=) raise TypeError unless they have
their default.
"""

import functools
import inspect
import math
import operator
import sys
import warnings

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from arraygrad.core.adopted import note_text
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.convert import numpy_is_kept, place
from arraygrad.core.exposed_memory import raw_array, raw_handle
from arraygrad.core.inplace import as_scalar, is_scalar
from arraygrad.core.number_kinds import is_python
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.engine.node import is_grad_enabled
from arraygrad.namespaces.bind import function_for, to_tensor
from arraygrad.ops import OPS
from arraygrad.ops._axes import counted_by, lengths, no_truth_values, positions

__all__ = [
    "FUNCTIONS", "OUT", "VALUED", "F", "as_plain", "axes_of", "backend_among", "beside", "but_for_rounding",
    "core_axes", "host", "host_key", "implements", "keeps_one_row", "moved_onto", "not_written", "pick",
    "plain_values",
    "refuse", "refuse_cut", "tensor_among", "tensor_of", "tensors", "with_bits",
]  # fmt: skip

# numpy function -> function of Tensors with the same signature
FUNCTIONS: dict = {}

# those numpy functions whose values are those of NumPy's own call (Note [Values of compositions])
VALUED: set = set()

_NoValue = numpy._NoValue


def _operations():
    """Namespace of the table's public functions, by name."""
    return {name: function_for(op, __name__) for name, op in OPS.items() if not name.startswith("_")}


F = _operations()


def internal(name):
    """An internal operation of the table (`_name`) as a function."""
    return function_for(OPS[name], __name__)


def implements(*names, values=False):
    """Decorator: serve the numpy functions of these dotted names ("sum", "linalg.norm"), where numpy has them.

    The function becomes the first of them, as `arraygrad.numpy` shows it. With `values` it gives the derivatives, and
    NumPy's own call the values (Note [Values of compositions]); such a function warns of nothing.
    """

    def register(function):
        owner, _, name = names[0].rpartition(".")
        function.__name__ = function.__qualname__ = name
        function.__module__ = "arraygrad.numpy" + (f".{owner}" if owner else "")
        function.__doc__ = function.__doc__ or f"numpy.{names[0]} of Tensors and arrays: a recorded Tensor."
        for name in names:
            found = functools.reduce(lambda owner, part: getattr(owner, part, None), name.split("."), numpy)
            if found is not None:
                FUNCTIONS[found] = _with_numpys_values(found, function) if values else function
                if values:
                    VALUED.add(found)
        return function

    return register


def _numpys_caller():
    """The name of the function of NumPy's, served here, whose own code runs now; None if there is none."""
    frame, name = sys._getframe(2), None
    while frame is not None:
        library = frame.f_globals.get("__name__", "").partition(".")[0]
        if library not in ("numpy", "arraygrad"):
            break
        name = frame.f_code.co_name if library == "numpy" else name
        frame = frame.f_back
    return name if name is not None and getattr(numpy, name, None) in FUNCTIONS else None


# Note [Values of compositions]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# What a function composes of recorded operations has its derivatives, but may round in another order than NumPy, or
# promote dtypes elsewhere. So NumPy's own call on the same arrays says the values: errors, dtypes, shapes, containers,
# whether a result without axes is a scalar, and the last bits. Where nothing is recorded it is the whole result; else
# `as_plain` moves the composition onto it, by casts and constants, which keep the derivatives. Arrays of other
# libraries have the composition alone.
# Guarded by tests/numpy_api/test_values_of_plain_calls.py.


def _with_numpys_values(theirs, ours):
    names = list(inspect.signature(ours).parameters)
    place = names.index("out") if "out" in names else len(names)

    @functools.wraps(ours)
    def call(*args, **kwargs):
        given = _tensors_in(kwargs, _tensors_in(args, []))
        out = args[place] if len(args) > place else kwargs.get("out")
        if out is not None or not _are_numpys(given):
            return ours(*args, **kwargs)
        if not (is_grad_enabled() and any(t.requires_grad for t in given)):
            values = theirs(*plain_values(args), **plain_values(kwargs))
            return _wrapped(values, given[0]) if _is_new(values, given) else ours(*args, **kwargs)
        with numpy.errstate(all="ignore"):  # NumPy's call says it
            found = ours(*args, **kwargs)
        return moved_onto(theirs(*plain_values(args), **plain_values(kwargs)), found, given[0], theirs.__name__)

    return call


def as_plain(theirs, found, *args, **kwargs):
    """`found`, composed of operations, with the values of NumPy's own call theirs(*args, **kwargs)."""
    given = _tensors_in(kwargs, _tensors_in(args, []))
    if not _are_numpys(given):
        return found
    with numpy.errstate(all="ignore"):  # the composition has said it
        return moved_onto(theirs(*plain_values(args), **plain_values(kwargs)), found, given[0], theirs.__name__)


def _tensors_in(given, found):
    """Append the Tensors in nested arguments to `found`."""
    for arg in given.values() if type(given) is dict else given:
        if isinstance(arg, Tensor):
            found.append(arg)
        elif type(arg) in (tuple, list, dict):
            _tensors_in(arg, found)
    return found


def _are_numpys(given):
    """Whether there are Tensors, all over arrays of NumPy's."""
    return bool(given) and all(type(raw_handle(t)) is numpy.ndarray for t in given)


def plain_values(arg):
    """Arguments with arrays and numbers in place of the Tensors over them, and of those in containers."""
    if isinstance(arg, Tensor):
        raw = raw_array(arg)
        return raw if not is_scalar(arg) else raw.item() if is_python(arg) else raw[()]
    if type(arg) is dict:
        return {key: plain_values(value) for key, value in arg.items()}
    return type(arg)([plain_values(item) for item in arg]) if type(arg) in (tuple, list) else arg


def _is_new(values, given):
    """Whether results share no memory with the Tensors that were given."""
    if isinstance(values, list | tuple):
        return all(_is_new(value, given) for value in values)
    return not isinstance(values, numpy.ndarray) or not any(
        numpy.may_share_memory(values, raw_handle(t)) for t in given
    )


def _wrapped(values, like):
    """NumPy's results as Tensors that depend on nothing."""
    if isinstance(values, list | tuple):
        items = [_wrapped(value, like) for value in values]
        return type(values)(*items) if hasattr(values, "_fields") else type(values)(items)
    if not isinstance(values, numpy.ndarray | numpy.generic):
        return values
    return as_scalar(beside(values, like), not isinstance(values, numpy.ndarray))


def moved_onto(values, found, like, name):
    """`found`, results of operations, with NumPy's `values` of them; `like` is one of the Tensors that were given."""
    if isinstance(values, list | tuple):
        items = [moved_onto(value, t, like, name) for t, value in zip(found, values, strict=True)]
        return type(values)(*items) if hasattr(values, "_fields") else type(values)(items)
    if not isinstance(found, Tensor):
        return values if not isinstance(values, numpy.ndarray) else _wrapped(values, like)
    whole = numpy.asarray(values)
    whole = whole.astype(whole.dtype.newbyteorder("="), copy=False)  # in which operations compute
    if not found.requires_grad or whole.dtype.kind not in "fc":
        return _wrapped(values, like)
    if found.shape != whole.shape:
        raise TypeError(
            f"numpy.{name}: the result has shape {whole.shape}, of which {found.shape} is recorded: give the "
            "arguments' detach() where no derivative is wanted, or reshape them first"
        )
    if found.dtype != whole.dtype:
        if host(found).dtype.kind == "c" and whole.dtype.kind == "f":
            found = F["real"](found)  # NumPy drops the imaginary part, and warns of it
        found = found.astype(whole.dtype)
    if not _agrees(raw_array(found), whole):
        raise TypeError(
            f"numpy.{name}: what is recorded of the result, {host(found)}, is not NumPy's {whole}, so its derivative "
            "would be that of another function. Give the arguments' detach() where none is wanted, or write the "
            "function out"
        )
    found = with_bits(found, whole)
    if found.ndim == 0 and is_scalar(found) != isinstance(values, numpy.generic):
        found = as_scalar(found.copy(), isinstance(values, numpy.generic))
    return found


# How far the recorded composition may be from NumPy's values, relative to the largest: rounding, also where it cancels.
_NEAR = {2: 0.1, 4: 1e-2, 8: 1e-4}


def _agrees(found, whole):
    """Whether two arrays of one dtype hold the same numbers but for rounding; elements that are not finite are left."""
    if not whole.size:
        return True
    near = _NEAR.get(whole.dtype.itemsize // (2 if whole.dtype.kind == "c" else 1), 1e-4)
    with numpy.errstate(all="ignore"):
        away, size = numpy.abs(found - whole).max(), numpy.abs(whole).max()
        if not numpy.isfinite(away + size):  # a mask takes ten times as long
            known = numpy.isfinite(found) & numpy.isfinite(whole)
            if not known.any():
                return True
            away, size = numpy.abs(found[known] - whole[known]).max(), numpy.abs(whole[known]).max()
            found = found[known]
        return not away > near * (size + numpy.abs(found).max())


def not_written(name, target, way=""):
    """The TypeError for a Tensor that is to be written into something else."""
    through = _numpys_caller()
    if through is not None:
        way = (
            f"numpy.{through} sees no Tensor in this argument: arraygrad.numpy.{through} does. Call it, or "
            f"give it its arrays as Tensors. Else {way}"
        )
    cls = type(target)
    what = "a plain array" if cls is numpy.ndarray else f"{cls.__module__}.{cls.__qualname__}"
    return TypeError(
        f"{place()}: {name}: a Tensor can't be written into {what}, whose memory holds no gradient: {numpy_is_kept()}"
        f"{way}put a copy in its place that is recorded, x = arraygrad.asarray(x, copy=True) or, where "
        "arraygrad.grad(f) adopts, x = numpy.array(x); what reads the old array gets no gradient. Where only the "
        "values are meant, x += t.array; a parameter p is updated by p -= rate * p.grad under arraygrad.no_grad()"
    )


def refuse(name, **keywords):
    """Raise TypeError for keywords that are not at their default; each is given as (value, advice)."""
    for key, (value, advice) in keywords.items():
        if value is not None and value is not _NoValue and not (key == "where" and value is True):
            raise TypeError(f"numpy.{name}: {key}= is not supported for Tensors: {advice}")


def refuse_cut(cut, name):
    """Raise TypeError if coefficients that a polynomial loses because they are zero require grad.

    The result does not depend on them any more, but the polynomial does.
    """
    if cut.requires_grad and cut.size:
        raise TypeError(
            f"{name}: the outermost coefficients are zero and would be cut off, but they require grad, which they "
            "would lose: start from others than zero, evaluate the polynomial by numpy.polyval or "
            "numpy.polynomial.polynomial.polyval, which cut nothing, or give their detach()"
        )


OUT = "use the result that is returned"
_PYTHON_SCALARS = (bool, int, float, complex)


def tensor_among(args):
    """The first Tensor in nested arguments, None if there is none."""
    for arg in args:
        if isinstance(arg, Tensor):
            return arg
        if isinstance(arg, list | tuple):
            found = tensor_among(arg)
            if found is not None:
                return found
    return None


def backend_among(args):
    """Backend of the first Tensor in nested arguments, None if there is none."""
    found = tensor_among(args)
    return None if found is None else backend_of(found)


def tensors(*args):
    """Arguments as Tensors of the backend of the one that is a Tensor already."""
    like = tensor_among(args)
    if like is None or isinstance(raw_handle(like), numpy.ndarray):
        backend = None if like is None else backend_of(like)
        return [arg if isinstance(arg, Tensor) else to_tensor(arg, backend) for arg in args]
    backend, device = backend_of(like), like.device
    return [arg if isinstance(arg, Tensor) else to_tensor(arg, backend, device=device) for arg in args]


def operands(*args):
    """`tensors` for a ufunc: Python's scalars have no precision of their own, and take that of the others."""
    strong = tensors(*[arg for arg in args if type(arg) not in _PYTHON_SCALARS])
    if len(strong) == len(args) or not strong:
        return tensors(*args)
    like = next((t for t in strong if not isinstance(raw_handle(t), numpy.ndarray)), strong[0])
    backend, host_memory = backend_of(like), isinstance(raw_handle(like), numpy.ndarray)
    common = F["result_type"](*strong)
    weak = host_memory or backend.xp.isdtype(common, ("real floating", "complex floating"))
    rest = iter(strong)
    found = []
    for arg in args:
        if type(arg) not in _PYTHON_SCALARS:
            found.append(next(rest))
        else:
            dtype = backend.xp.result_type(common, arg) if weak else None
            found.append(to_tensor(arg, backend, dtype, None if host_memory else like.device))
    return found


def tensor_of(arg):
    """One argument (a Tensor, or a list that holds some) as a Tensor."""
    return arg if isinstance(arg, Tensor) else to_tensor(arg, backend_among((arg,)))


# -- elementwise -------------------------------------------------------------------------------------------------------


@implements("where")
def _where(condition, x=_NoValue, y=_NoValue, /):
    if x is _NoValue and y is _NoValue:
        return tensor_of(condition).nonzero()
    if x is _NoValue or y is _NoValue:
        raise ValueError("either both or neither of x and y should be given")
    backend = backend_among((condition, x, y))
    if isinstance(condition, bool | numpy.bool):
        condition = to_tensor(bool(condition), backend)
    elif isinstance(condition, list | tuple):
        condition = to_tensor(condition, backend)
    if isinstance(condition, Tensor) and condition.requires_grad:
        condition = condition != 0  # a truth value, which has no slope
    return F["where"](condition, x, y)


@implements("clip")
def _clip(a, a_min=_NoValue, a_max=_NoValue, out=None, *, min=_NoValue, max=_NoValue, where=True, **options):
    refuse("clip", out=(out, OUT))
    a = tensor_of(a)
    if options:  # NumPy's errors for them, and the dtype of a result
        like = numpy.zeros(1, host(a).dtype)
        dtype = numpy.clip(like, like, like, **{key: value for key, value in options.items() if key != "subok"}).dtype
        a = a.astype(dtype)
    low = min if a_min is _NoValue else a_min
    high = max if a_max is _NoValue else a_max
    found = F["clip"](a, None if low is _NoValue else low, None if high is _NoValue else high)
    if where is True:
        return found
    return F["where"](where, found, F["zeros_like"](found.detach()))  # without out= as any ufunc: zeros


@implements("round", "around")
def _round(a, decimals=0, out=None):
    refuse("round", out=(out, OUT))
    a = tensor_of(a)
    if not backend_of(a).xp.isdtype(a.dtype, "complex floating"):
        return a.round(decimals)
    return as_plain(numpy.round, a.real.round(decimals) + 1j * a.imag.round(decimals), a, decimals)


@implements("real")
def _real(val):
    return tensor_of(val).real


@implements("imag")
def _imag(val):
    return tensor_of(val).imag


_angle_of_real = internal("_angle_of_real")


@implements("angle", values=True)
def _angle(z, deg=False):
    z = tensor_of(z)
    xp = backend_of(z).xp
    if xp.isdtype(z.dtype, "complex floating"):
        angle = F["atan2"](z.imag, z.real)
    else:
        angle = _angle_of_real(z if xp.isdtype(z.dtype, "real floating") else z.astype(xp.float64))
    return angle * (180 / math.pi) if deg else angle


@implements("fix")
def _fix(x, out=None):
    refuse("fix", out=(out, OUT))
    return F["trunc"](tensor_of(x))


@implements("isclose")
def _isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    a, b = [t.detach() for t in tensors(a, b)]
    finite = F["isfinite"](a) & F["isfinite"](b)
    near = F["abs"](a - b) <= atol + rtol * F["abs"](b)
    close = (near & finite) | (a == b)
    return close | (F["isnan"](a) & F["isnan"](b)) if equal_nan else close


@implements("allclose")
def _allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(_isclose(a, b, rtol, atol, equal_nan).all())


@implements("array_equal")
def _array_equal(a1, a2, equal_nan=False):
    a, b = tensors(a1, a2)
    if a.shape != b.shape:
        return False
    same = a == b
    if equal_nan:
        same = same | (F["isnan"](a) & F["isnan"](b))
    return bool(same.all())


@implements("iscomplexobj")
def _iscomplexobj(x):
    x = tensor_of(x)
    return bool(backend_of(x).xp.isdtype(x.dtype, "complex floating"))


@implements("isrealobj")
def _isrealobj(x):
    return not _iscomplexobj(x)


@implements("diff")
def _diff(a, n=1, axis=-1, prepend=_NoValue, append=_NoValue):
    ends = {key: value for key, value in (("prepend", prepend), ("append", append)) if value is not _NoValue}
    if not ends or n == 0:  # where nothing is subtracted NumPy does not look at the ends
        return F["diff"](tensor_of(a), n=n, axis=axis)
    names = list(ends)
    a, *values = tensors(a, *ends.values())
    shape = list(a.shape)
    shape[axis] = 1
    values = [F["broadcast_to"](v, tuple(shape)) if v.ndim == 0 else v for v in values]
    return F["diff"](a, n=n, axis=axis, **dict(zip(names, values, strict=True)))


# -- sorting, searching, indexing --------------------------------------------------------------------------------------


_NOTHING = numpy.zeros(0)


def _sorting(name):
    def sorting(a, axis=-1, kind=None, order=None, *, stable=None):
        getattr(numpy, name)(_NOTHING, kind=kind, order=order, stable=stable)  # NumPy's errors for kinds and orders
        a = tensor_of(a)
        if axis is None:
            a, axis = a.ravel(), -1
        axis = operator.index(axis)  # an int, of a truth value too
        return F[name](a, axis=axis, stable=stable is True or kind in ("stable", "mergesort"))

    return sorting


implements("sort")(_sorting("sort"))
implements("argsort")(_sorting("argsort"))


@implements("searchsorted")
def _searchsorted(a, v, side="left", sorter=None):
    a, v = tensors(a, v)
    return F["searchsorted"](a, v, side=side, sorter=sorter)


@implements("take")
def _take(a, indices, axis=None, out=None, mode="raise"):
    refuse("take", out=(out, OUT))
    a = tensor_of(a)
    if mode != "raise":
        indices = host(indices) if isinstance(indices, Tensor) else indices
        if axis is not None and not a.ndim:  # an array without axes counts as one of length one
            a = a.reshape(1)
            core_axes("first", axis, a)
        n = a.size if axis is None else a.shape[axis]
        if not n:  # nothing is taken, or NumPy's error; its "wrap" would not end
            return beside(numpy.take(host(a), indices, axis, mode="clip"), a) + a.sum().astype(a.dtype)
        indices = beside(numpy.take(numpy.arange(n), indices, mode=mode), a)
    return a.take(indices, axis=axis)


@implements("take_along_axis")
def _take_along_axis(arr, indices, axis=-1):
    arr, indices = tensors(arr, indices)
    if axis is None:
        arr, axis = arr.ravel(), 0
    return F["take_along_axis"](arr, indices, axis=axis)


@implements("nonzero")
def _nonzero(a):
    return tensor_of(a).nonzero()


@implements("flatnonzero")
def _flatnonzero(a):
    return tensor_of(a).ravel().nonzero()[0]


# -- creation ----------------------------------------------------------------------------------------------------------


def _like(name):
    def like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        return F[name](_shaped(tensor_of(a), shape), dtype=dtype, device=device)

    return like


def _shaped(a, shape):
    """A constant of another shape, dtype and device as `a`."""
    if shape is None:
        return a
    no_truth_values(shape)
    shape = lengths(shape)
    return F["broadcast_to"](F["zeros_like"](a.detach().reshape(-1)[:1]).sum().astype(a.dtype), shape)


for _name in ("zeros_like", "ones_like", "empty_like"):
    implements(_name)(_like(_name))


@implements("full_like")
def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    if getattr(dtype, "subdtype", None) or isinstance(dtype, tuple):  # NumPy appends the axes of a subarray
        dtype, more = numpy.dtype(dtype).subdtype or (dtype, ())
        shape = (*numpy.broadcast_to(0, numpy.shape(a) if shape is None else shape).shape, *more)
    a = _shaped(tensors(a, fill_value)[0], shape).detach()
    numpy.empty_like(_NOTHING, order=order)  # NumPy's error for an order that is none
    if isinstance(fill_value, list | tuple | numpy.ndarray) or getattr(fill_value, "ndim", 0):
        value = tensors(fill_value, a)[0].astype(a.dtype if dtype is None else dtype)
        found = F["broadcast_to"](value, a.shape).copy()
    else:
        found = F["full_like"](a, fill_value, dtype=dtype, device=device)
    raw = raw_handle(a)
    if order is None or order.upper() == "K" or type(raw) is not numpy.ndarray:
        return found
    columns = order.upper() == "F" or (order.upper() == "A" and raw.flags.fnc)
    return found.copy("F" if columns else "C")


@implements("copy")
def _copy(a, order="K", subok=False):
    return tensor_of(a).copy(order)


# -- what is asked of a Tensor -----------------------------------------------------------------------------------------


@implements("shape")
def _shape(a):
    return tensor_of(a).shape


@implements("ndim")
def _ndim(a):
    return tensor_of(a).ndim


@implements("size")
def _size(a, axis=None):
    a = tensor_of(a)
    return a.size if axis is None else math.prod([a.shape[i] for i in axes_of(axis, a.ndim)])


@implements("result_type")
def _result_type(*arrays_and_dtypes):
    return F["result_type"](*arrays_and_dtypes)


@implements("can_cast")
def _can_cast(from_, to, casting="safe"):
    return numpy.can_cast(from_.dtype if isinstance(from_, Tensor) else from_, to, casting=casting)


@implements("shares_memory", "may_share_memory")
def _shares_memory(a, b, /, max_work=None):
    arrays = [x.array if isinstance(x, Tensor) else x for x in (a, b)]
    return backend_among((a, b)).shares_memory(*arrays)


@implements("array2string")
def _array2string(a, *args, **kwargs):
    """Text of the values, as numpy.array2string has it."""
    return _noted(a, numpy.array2string(host(a), *args, **kwargs))


@implements("array_str")
def _array_str(a, max_line_width=None, precision=None, suppress_small=None):
    """Text of the values, as numpy.array_str has it."""
    return _noted(a, numpy.array_str(host(a), max_line_width, precision, suppress_small))


def _noted(a, text):
    """Text of `a`; who reads a number from it is told where `a` has a gradient to lose."""
    return note_text(text) if isinstance(a, Tensor) and a.requires_grad else text


@functools.cache
def _one_row_stays():
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return numpy.cov(numpy.ones((1, 2)), rowvar=False).ndim == 0


def keeps_one_row(shape):
    """Whether a matrix of one row is one variable to numpy.cov(rowvar=False) too: not since NumPy 2.2."""
    return shape[0] == 1 and _one_row_stays()


@implements("array_repr")
def _array_repr(arr, max_line_width=None, precision=None, suppress_small=None):
    return repr(arr)


def host_key(indices):
    if isinstance(indices, tuple):
        return tuple([host_key(i) for i in indices])
    if isinstance(indices, Tensor | list | numpy.ndarray) or hasattr(type(indices), "__cuda_array_interface__"):
        return host(indices)
    return indices


def host(arg):
    """A numpy.ndarray of the values of an argument, detached: for indices and decisions, which have no derivative."""
    if isinstance(arg, list | tuple) or hasattr(type(arg), "__cuda_array_interface__"):
        arg = tensor_of(arg)  # an array on a device does not let itself be converted by NumPy
    return arg.numpy() if isinstance(arg, Tensor) else numpy.asarray(arg)


def beside(array, like):
    """A constant, made on the host, as a Tensor of the backend and on the device of the Tensor `like`."""
    backend = backend_of(like)
    device = None if isinstance(raw_handle(like), numpy.ndarray) else like.device
    return wrap_raw(backend.wrap_raw(backend.asarray(numpy.asarray(array), None, device)))


def with_bits(t, values):
    """A Tensor over NumPy's array with NumPy's own `values` of its elements, from which rounding parted it."""
    for _ in range(2):  # a difference of numbers of one size is exact
        raw = raw_array(t)
        if type(raw) is not numpy.ndarray or (t.dtype, t.shape) != (values.dtype, values.shape):
            return t
        apart = raw != values
        if not apart.any():
            return t
        lost = numpy.isnan(values) & ~numpy.isnan(raw)  # infinities that met on NumPy's way
        if lost.any():
            t = F["where"](beside(lost, t), t * numpy.nan, t)
            raw = raw_array(t)
        apart &= numpy.isfinite(raw) & numpy.isfinite(values)
        if not apart.any():
            return t
        none = -numpy.zeros((), raw.dtype)  # -0.0, of complex numbers in both parts: its sum with a zero is that
        t = t + beside(numpy.where(apart, values - numpy.where(apart, raw, 0), none), t)
    return t


def but_for_rounding(t, values, size):
    """`t` with NumPy's own values where both are what is left of numbers as large as `size` that cancel.

    Such values agree in no digit.
    """
    raw = raw_array(t)
    if type(raw) is not numpy.ndarray or raw.dtype.kind not in "fc" or raw.shape != values.shape or not raw.size:
        return t
    noise = 64 * numpy.finfo(raw.dtype).eps * size
    if not max(numpy.abs(raw).max(), numpy.abs(values).max()) <= noise:
        return t
    return with_bits(t, values.astype(raw.dtype))


def in_layout(t, like):
    """A Tensor laid out in memory as `like`, an array of NumPy's, in the sense of order="K"; others' as they are."""
    raw = raw_array(t)
    if type(raw) is not numpy.ndarray or type(like) is not numpy.ndarray or raw.shape != like.shape or raw.size < 2:
        return t
    like = numpy.empty_like(like)
    axes = sorted(range(raw.ndim), key=lambda i: (raw.shape[i] > 1, -abs(like.strides[i])))
    steps = [abs(raw.strides[i]) for i in axes if raw.shape[i] > 1]
    if steps == sorted(steps, reverse=True):
        return t
    return t.transpose(axes).copy().transpose([axes.index(i) for i in range(raw.ndim)])


def pick(t, positions):
    """Elements of a Tensor at flat row-major positions, an integer array of any shape; each may be named repeatedly."""
    positions = numpy.asarray(positions, dtype=numpy.int64)
    if positions.size == 0:
        return t.ravel()[:0].reshape(positions.shape).copy()  # writable, whatever t is
    return t.ravel().take(beside(positions, t))


def axes_of(axis, ndim):
    """`axis`, an int or several, as a tuple of ints from 0 on. Raises NumPy's errors for axes that are none."""
    return normalize_axis_tuple(axis, ndim)


def core_axes(code, axis, *arrays):
    """The position of `axis` in each array that it is counted by, from the end (ops/_axes.py says what a code is).

    Raises NumPy's errors for an axis that one of them does not have.
    """
    ndims = [a.ndim for a in arrays]
    for ndim in counted_by(code, *ndims):
        normalize_axis_index(axis, ndim)
    return positions(code, axis, *ndims)
