"""NumPy's functions that choose elements or write some of them, on Tensors, with NumPy's signatures.

May import: numpy_api.functions, numpy_api.overlaps, core.exposed_memory, core.number_kinds, core.tensor, ops._axes,
numpy. What writes (put, place, putmask, put_along_axis, fill_diagonal, copyto) writes into a Tensor, recorded; a plain
array as target of a Tensor's values is refused: its memory holds no gradient.
"""

import inspect
import sys

import numpy

from arraygrad.core.exposed_memory import raw_array, unshared
from arraygrad.core.number_kinds import is_python
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.numpy_api.functions import (
    OUT,
    F,
    as_plain,
    axes_of,
    backend_among,
    beside,
    core_axes,
    host,
    implements,
    in_layout,
    not_written,
    operands,
    pick,
    refuse,
    refuse_cut,
    tensor_of,
    tensors,
)
from arraygrad.numpy_api.overlaps import refuse_overlap
from arraygrad.ops._axes import no_truth_values

__all__: list[str] = []


def _target(name, a):
    """The Tensor that a function writes to; TypeError with advice for anything else."""
    if isinstance(a, Tensor):
        return a
    raise not_written(f"numpy.{name}", a)


@implements("select")
def _select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    # backwards: the first condition that holds wins
    backend = backend_among((condlist, choicelist, default))
    everything = operands(*choicelist, default)
    dtype = backend.xp.result_type(*[raw_array(t) for t in everything])
    *choices, result = [t.astype(dtype) if t.dtype != dtype else t for t in everything]
    conditions = tensors(*condlist, everything[0])[:-1]
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        if not backend.xp.isdtype(condition.dtype, "bool"):
            raise TypeError("numpy.select: invalid entry in condlist: should be boolean ndarray")
        result = F["where"](condition, choice, result)
    return result


@implements("piecewise")
def _piecewise(x, condlist, funclist, *args, **kw):
    x = tensor_of(x)
    if is_python(x):  # NumPy hands out items of an array
        x = x.reshape(())
    if numpy.ndim(condlist) == 0 or (not isinstance(condlist[0], list | numpy.ndarray | Tensor) and x.ndim):
        condlist = [condlist]
    conditions = list(numpy.asarray([host(c) for c in condlist], dtype=bool))
    n = len(conditions)
    if n == len(funclist) - 1:
        conditions.append(~numpy.any(conditions, axis=0))
    elif n != len(funclist):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    pieces = []
    for condition, function in zip(conditions, funclist, strict=True):
        shape = numpy.empty(x.shape, dtype=bool)[condition].shape  # or NumPy's error: it is a mask of the first axes
        if 0 in shape:
            continue
        if callable(function):
            # NumPy stores each result before it calls the next function, which may use the same buffer.
            function = unshared([function(x[beside(condition, x)], *args, **kw)])
        pieces.append((condition, shape, function))
    result = F["zeros_like"](x.detach())
    if x.ndim and type(raw_array(x)) is numpy.ndarray and all(_fits(x, shape, value) for _, shape, value in pieces):
        for condition, _, value in pieces:
            result[condition] = value
        return result
    for condition, shape, value in pieces:
        mask = condition.reshape(condition.shape + (1,) * (x.ndim - condition.ndim))
        mask = beside(numpy.broadcast_to(mask, x.shape), x)
        result = F["where"](mask, _spread(value, shape, mask, x), result)
    result = result if result.dtype == x.dtype else result.astype(x.dtype)
    return in_layout(result, raw_array(x))


def _fits(x, shape, value):
    """Whether a value can be written where elements of x stand: a real number, or a Tensor of that dtype and shape."""
    if isinstance(value, Tensor):
        return value.dtype == x.dtype and value.shape in ((), shape)
    return type(value) in (int, float) and x.dtype.kind == "f"


def _spread(values, shape, mask, x):
    """An array of the shape of `mask` with `values`, broadcast to `shape`, where it is true; a number as it is."""
    if not hasattr(values, "ndim") and numpy.ndim(values) == 0:
        return values
    values = tensors(values, x)[0]
    if values.ndim == 0:
        return values
    numbers = numpy.cumsum(host(mask).ravel()).reshape(mask.shape) - 1
    return pick(F["broadcast_to"](values, shape), numpy.maximum(numbers, 0))


@implements("choose")
def _choose(a, choices, out=None, mode="raise"):
    refuse("choose", out=(out, OUT))
    pieces = F["unstack"](choices) if isinstance(choices, Tensor) else choices
    a = tensors(a, *pieces)[0]
    choices = operands(*pieces) if backend_among(pieces) else tensors(*pieces, a)[:-1]
    numbers = numpy.arange(len(choices))
    positions = numpy.choose(host(a), numbers.reshape((-1,) + (1,) * a.ndim), mode=mode)
    dtype = backend_among((choices,)).xp.result_type(*[raw_array(c) for c in choices])
    *choices, positions = F["broadcast_arrays"](*choices, beside(positions, a))
    result = choices[-1].astype(dtype)
    for i in range(len(choices) - 1):
        result = F["where"](positions == i, choices[i].astype(dtype), result)
    return result


@implements("compress")
def _compress(condition, a, axis=None, out=None):
    refuse("compress", out=(out, OUT))
    no_truth_values(axis)
    a, condition = tensors(a, condition)
    if axis is None:
        a, axis = a.ravel(), 0
    if not a.ndim:  # an array without axes counts as one of length one
        a = a.reshape(1)
    (axis,) = core_axes("first", axis, a)
    (positions,) = host(condition).nonzero()
    if not len(positions):
        return F["moveaxis"](F["moveaxis"](a, axis, 0)[:0], 0, axis).copy()  # a view of what is read-only is so too
    return a.take(beside(positions, a), axis=axis)


@implements("extract")
def _extract(condition, arr):
    arr, condition = tensors(arr, condition)
    return pick(arr, host(condition).ravel().nonzero()[0])


@implements("put")
def _put(a, ind, v, mode="raise"):
    a = _target("put", a)
    refuse_overlap("numpy.put", numpy.put, a, (ind, v, mode), {})
    ind = numpy.asarray(ind, numpy.intp) if isinstance(ind, list | tuple) else host(ind)
    v = tensors(v, a)[0]
    if ind.size and v.size:  # with nothing to write, or nowhere, NumPy does nothing
        _write(a, numpy.arange(a.size).take(ind, mode=mode).ravel(), v)


def _write(a, positions, values):
    """Write to flat positions, the last of several values for one element; `values` repeat as often as needed."""
    if not len(positions):
        return
    values = values.ravel()
    turn = numpy.arange(len(positions)) % max(values.size, 1)
    last = len(positions) - 1 - numpy.unique(positions[::-1], return_index=True)[1]
    picked = pick(values, turn[last])
    picked = picked if picked.dtype == a.dtype else picked.astype(a.dtype)
    if a.ndim:
        a[tuple([beside(i, a) for i in numpy.unravel_index(positions[last], a.shape)])] = picked
    else:
        a[...] = picked.reshape(())


def _check_values(name, a, values):
    """NumPy's error for arrays of values that these functions do not cast to the dtype of `a`."""
    given = host(values) if isinstance(values, Tensor) else values
    if isinstance(given, numpy.ndarray | numpy.generic) and not numpy.can_cast(given.dtype, host(a).dtype, "safe"):
        raise TypeError(
            f"numpy.{name}: cannot cast values from {given.dtype} to {a.dtype} according to the rule 'safe': give "
            "values.astype(a.dtype)"
        )


def _places(name, a, mask):
    """The flat positions that a mask chooses."""
    mask = host(mask)
    if mask.size != a.size:
        raise ValueError(f"numpy.{name}: mask and array must have the same size, got {mask.size} and {a.size}")
    return mask.astype(bool).ravel().nonzero()[0]


@implements("place")
def _place(arr, mask, vals):
    arr = _target("place", arr)
    refuse_overlap("numpy.place", numpy.place, arr, (mask, vals), {})
    _check_values("place", arr, vals)
    vals = tensors(vals, arr)[0]
    positions = _places("place", arr, mask)
    if len(positions) and not vals.size:
        raise ValueError("Cannot insert from an empty array!")
    _write(arr, positions, vals)


@implements("putmask")
def _putmask(a, mask, values):
    a = _target("putmask", a)
    refuse_overlap("numpy.putmask", numpy.putmask, a, (mask, values), {})
    _check_values("putmask", a, values)
    values = tensors(values, a)[0].ravel()
    positions = _places("putmask", a, mask)
    if len(positions) and values.size:  # with nothing to write NumPy does nothing
        _write(a, positions, pick(values, positions % values.size))


@implements("put_along_axis")
def _put_along_axis(arr, indices, values, axis):
    arr = _target("put_along_axis", arr)
    refuse_overlap("numpy.put_along_axis", numpy.put_along_axis, arr, (indices, values, axis), {})
    where = numpy.arange(arr.size).reshape(arr.shape)
    indices = host(indices)
    positions = where.ravel()[indices] if axis is None else numpy.take_along_axis(where, indices, axis)
    values = tensors(values, arr)[0]
    if not positions.size:  # what shapes NumPy takes for no places depends on how it reads the index
        numpy.put_along_axis(where, indices, numpy.zeros(values.shape, where.dtype), axis)
    # As in an assignment, where a place that is empty takes leading axes of any length.
    while values.ndim > positions.ndim and (values.shape[0] == 1 or not positions.size):
        values = values[0]
    _write(arr, positions.ravel(), F["broadcast_to"](values, positions.shape))


@implements("fill_diagonal")
def _fill_diagonal(a, val, wrap=False):
    a = _target("fill_diagonal", a)
    refuse_overlap("numpy.fill_diagonal", numpy.fill_diagonal, a, (val, wrap), {})
    mark = numpy.zeros(a.shape, dtype=bool)
    numpy.fill_diagonal(mark, True, wrap=wrap)
    values = tensors(val, a)[0]
    if values.size:  # of no values NumPy writes none
        _write(a, mark.ravel().nonzero()[0], values)


@implements("copyto")
def _copyto(dst, src, casting="same_kind", where=True):
    if type(dst) is numpy.ndarray and not any(isinstance(x, Tensor) and x.requires_grad for x in (src, where)):
        values, mask = [x.numpy() if isinstance(x, Tensor) else x for x in (src, where)]
        numpy.copyto(dst, values, casting, mask)
        return
    dst = _target("copyto", dst)
    src = tensors(src, dst)[0]
    where = where if where is True else tensors(where, dst)[0]
    if not numpy.can_cast(numpy.dtype(str(src.dtype)), numpy.dtype(str(dst.dtype)), casting):
        raise TypeError(f"Cannot cast array data from {src.dtype} to {dst.dtype} according to the rule '{casting}'")
    if where is not True and numpy.broadcast_shapes(where.shape, dst.shape) != dst.shape:
        raise ValueError(f"could not broadcast where mask from shape {where.shape} into shape {dst.shape}")
    src = src if src.dtype == dst.dtype else src.astype(dst.dtype)
    dst[...] = src if where is True else F["where"](where, src, dst)


@implements("nan_to_num")
def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    target = x
    x = tensor_of(x)
    xp = backend_of(x).xp
    if xp.isdtype(x.dtype, "complex floating"):
        options = {"nan": nan, "posinf": posinf, "neginf": neginf}
        result = _nan_to_num(F["real"](x), **options) + 1j * _nan_to_num(F["imag"](x), **options)
    elif xp.isdtype(x.dtype, "real floating"):
        limits = numpy.finfo(x.dtype) if isinstance(x.dtype, numpy.dtype) else xp.finfo(x.dtype)
        high, low = [  # a Python float has no room for those of a long double
            limit if isinstance(limit, numpy.longdouble) else float(limit) for limit in (limits.max, limits.min)
        ]
        result = F["where"](F["isnan"](x), nan, x)
        result = F["where"](x == numpy.inf, high if posinf is None else posinf, result)
        result = F["where"](x == -numpy.inf, low if neginf is None else neginf, result)
    else:
        result = x.copy()
    if copy:
        return as_plain(numpy.nan_to_num, result, target, True, nan, posinf, neginf)
    _target("nan_to_num", target)[...] = result
    return target


@implements("real_if_close")
def _real_if_close(a, tol=100):
    a = tensor_of(a)
    if not backend_of(a).xp.isdtype(a.dtype, "complex floating"):
        return a
    values = host(a)
    limit = tol * numpy.finfo(values.dtype).eps if tol > 1 else tol
    return F["real"](a) if (numpy.abs(values.imag) < limit).all() else a


_TRIMS_ARE_CHECKED = "axis" in inspect.signature(numpy.trim_zeros).parameters  # from NumPy 2.2 on


@implements("trim_zeros")
def _trim_zeros(filt, trim="fb", axis=None):
    filt = tensor_of(filt)
    used = host(filt)
    trims = trim.lower()
    if trims not in ("fb", "bf", "f", "b") and _TRIMS_ARE_CHECKED:
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = tuple(range(filt.ndim)) if axis is None else axes_of(axis, filt.ndim)
    if not axes:
        return filt
    if filt.ndim == 1:
        (at,) = used.nonzero()
        if (not len(at) or at[0]) and _is_poly1d(sys._getframe()):
            refuse_cut(filt[:1], "numpy.poly1d")
        return filt[_trimmed(at, trims)] if len(at) else filt[0:0]
    used = used != 0
    if not used.any():
        return filt[tuple([slice(0, 0) if i in axes else slice(None) for i in range(filt.ndim)])]
    key = [slice(None)] * filt.ndim
    for i in axes:
        (at,) = used.any(axis=tuple([j for j in range(filt.ndim) if j != i])).nonzero()
        key[i] = _trimmed(at, trims)
    return filt[tuple(key)]


def _trimmed(at, trims):
    """The slice from the first to the last of the places `at`, as far as `trims` says."""
    return slice(int(at[0]) if "f" in trims else 0, int(at[-1]) + 1 if "b" in trims else None)


def _is_poly1d(frame):
    """Whether NumPy's class poly1d makes this call, a few frames of ours between."""
    for _ in range(6):
        if frame is None or frame.f_code is numpy.poly1d.__init__.__code__:
            break
        frame = frame.f_back
    return frame is not None and frame.f_code is numpy.poly1d.__init__.__code__
