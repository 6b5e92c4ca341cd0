"""Indexing of rows: keys with an index of rows in front.

May import: batches.shapes, program, ops, numpy.

A key is written out first: a slice in the place of `...`, arrays of integers in the place of lists and masks. Without
arrays, a slice in front serves. With arrays NumPy puts their common axes where the first of them stands if they are
side by side (ints among them), else in front of all others. So

- a slice in front changes nothing where they are side by side, and where they are not, their axes come before the rows;
- arrays that have rows need the numbers of the rows beside them, in front: their axes come next, wherever one row has
  them.

In both cases axes are moved, of what is read to where one row has them, of what is written from there. Masks that have
rows are left to rows one by one, and so is what has no place here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from arraygrad.batches.shapes import lifted, reshaped, with_rows
from arraygrad.ops import OPS
from arraygrad.ops._axes import from_end
from arraygrad.program.plain import PLAIN, plain_call
from arraygrad.program.values import Batched, run

__all__ = [
    "behind_rows", "getitem", "getitem_adjoint", "is_region", "keeps_order", "put", "take", "take_adjoint",
    "take_along_axis_adjoint",
]  # fmt: skip


def is_region(key: Any) -> bool:
    """Whether a key takes a region: ints, slices, None and Ellipsis, no arrays and no bools."""
    return all(
        part is None or part is Ellipsis or type(part) is slice or type(part) is int
        for part in (key if type(key) is tuple else (key,))
    )


def keeps_order(key: Any) -> bool:
    """Whether a key takes a region, and its elements in their order: no slice runs backwards."""
    parts = key if type(key) is tuple else (key,)
    return is_region(key) and not any(type(part) is slice and (part.step or 1) < 0 for part in parts)


def behind_rows(key: Any) -> tuple:
    """The key of a region, behind the axis of rows."""
    return (slice(None), *key) if type(key) is tuple else (slice(None), key)


class _Key(NamedTuple):
    """A key for rows: `parts` (None in the place of an array), `arrays` to fill in, how axes move.

    `region` is the number of dimensions in a row; axes `source` of what NumPy gives go to `target`.
    """

    parts: tuple
    arrays: tuple[tuple[int, Any], ...]
    region: int
    source: tuple[int, ...]
    target: tuple[int, ...]


def _key(key: Any, ndim: int, shape: tuple[int, ...], n: int, has_rows: bool) -> _Key | None:
    """The key of arrays of n rows (or none, if not `has_rows`, but then its arrays do); None if it has no form here."""
    parts = _written_out(key, ndim, shape)
    if parts is None:
        return None
    at = [i for i, part in enumerate(parts) if not (part is None or type(part) is slice)]
    rows = [i for i in at if type(parts[i]) is Batched and parts[i].rows is not None]
    arrays = [i for i in at if not isinstance(parts[i], (int, numpy.integer))]
    if not arrays:
        region = sum([part is None or type(part) is slice for part in parts])
        return _Key((slice(None), *parts), (), region, (), ())
    k = max([parts[i].ndim for i in arrays])
    together = at[-1] - at[0] + 1 == len(at)
    before = at[0] if together else 0
    region = k + len(parts) - len(at)
    fill = [(i, _as_index(parts[i], k if rows else 0)) for i in arrays]
    kept = tuple([None if i in arrays else part for i, part in enumerate(parts)])
    if not rows:
        own = () if together else (k,)
        return _Key((slice(None), *kept), tuple([(i + 1, x) for i, x in fill]), region, own, (0,) * len(own))
    if has_rows:
        numbers = numpy.reshape(numpy.arange(n), (n,) + (1,) * k)
        moved = before > 0 and k > 0
        source, target = (range(1, 1 + k), range(1 + before, 1 + before + k)) if moved else ((), ())
        whole = ((0, numbers), *[(i + 1, x) for i, x in fill])
        return _Key((None, *kept), whole, region, tuple(source), tuple(target))
    return _Key(kept, tuple(fill), region, (before,) if before else (), (0,) if before else ())


def _written_out(key: Any, ndim: int, shape: tuple[int, ...]) -> list | None:
    """The parts of a key, one for each axis or new axis, with arrays for lists and masks; None if it can't be."""
    parts = list(key) if isinstance(key, tuple) else [key]
    parts = [numpy.asarray(part) if isinstance(part, list) else part for part in parts]
    parts = [part.one() if _is_shared_mask(part) else part for part in parts]
    used = 0
    for part in parts:
        if isinstance(part, (bool, numpy.bool_)):
            return None
        if isinstance(part, (numpy.ndarray, Batched)):
            is_mask = part.dtype == bool
            if is_mask and (type(part) is Batched or not part.ndim):
                return None
            if part.dtype.kind not in "iub":
                return None
            used += part.ndim if is_mask else 1
        elif type(part) is slice or isinstance(part, (int, numpy.integer)):
            used += 1
        elif part is not None and part is not Ellipsis:
            return None
    if sum([part is Ellipsis for part in parts]) > 1 or used > ndim:
        return None
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    found: list[Any] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            found += [slice(None)] * (ndim - used)
            axis += ndim - used
        elif isinstance(part, numpy.ndarray) and part.dtype == bool:
            if part.shape != shape[axis : axis + part.ndim]:
                return None
            found += list(part.nonzero())
            axis += part.ndim
        else:
            found.append(part)
            axis += part is not None
    return found


def _is_shared_mask(part: Any) -> bool:
    return type(part) is Batched and part.rows is None and part.dtype == bool


def _as_index(x: Any, ndim: int) -> Any:
    """An array of indices; one with rows has ones behind them, up to `ndim` dimensions in a row."""
    if type(x) is Batched and x.rows is not None and x.ndim < ndim:
        shape = (x.rows, *(1,) * (ndim - x.ndim), *x.shape)
        return run(lambda a: numpy.reshape(a, shape), [x], x.rows)
    return x


def _filled(parts: tuple, places: list[int], arrays: tuple) -> tuple:
    found = list(parts)
    for i, array in zip(places, arrays, strict=True):
        found[i] = array
    return tuple(found)


def _moved(x: Batched, source, target) -> Batched:
    return x if not source else run(lambda a: numpy.moveaxis(a, source, target), [x], x.rows)


def getitem(op, values, n):
    """x[key]."""
    x = values["x"]
    has_rows = type(x) is Batched and x.rows is not None
    shape = x.shape
    key = _key(values["key"], len(shape), shape, n, has_rows)
    if key is None:
        return None
    parts, places = key.parts, [i for i, _ in key.arrays]
    if not places:
        return run(lambda a: a[parts], [x], n)
    made = run(lambda a, *arrays: a[_filled(parts, places, arrays)], [x, *[a for _, a in key.arrays]], n)
    return _moved(made, key.source, key.target)


def getitem_adjoint(op, values, n):
    """Zeros of a shape with x added at a key."""
    shape = tuple(values["shape"])
    key = _key(values["key"], len(shape), shape, n, True)
    if key is None:
        return None
    x = _moved(with_rows(values["x"], n), key.target, key.source)
    call, whole = plain_call(op), (n, *shape)
    parts, places = key.parts, [i for i, _ in key.arrays]
    return run(lambda a, *arrays: call(a, whole, _filled(parts, places, arrays)), [x, *[a for _, a in key.arrays]], n)


def put(op, values, n):
    """A copy of x with a value at a key, or added there."""
    x = with_rows(values["x"], n)
    key = _key(values["key"], x.ndim, x.shape, n, True)
    if key is None:
        return None
    value = values["value"]
    if isinstance(value, (Batched, numpy.ndarray)):
        if value.ndim > key.region:
            return None
        value = value if type(value) is Batched else Batched(value, None)
        if value.rows is not None or key.source:
            value = lifted(with_rows(value, n), key.region)
            value = _moved(value, key.target, key.source)
    call = plain_call(op)
    parts, places = key.parts, [i for i, _ in key.arrays]
    return run(
        lambda a, v, *arrays: call(a, _filled(parts, places, arrays), v), [x, value, *[a for _, a in key.arrays]], n
    )


def take(op, values, n):
    """take(x, indices, axis)."""
    x, indices, axis = values["x"], values["indices"], values["axis"]
    if axis is None:
        x = reshaped(x, (x.size,)) if type(x) is Batched else numpy.reshape(x, (-1,))
        axis = -1
    axis = from_end(axis, x.ndim)
    if type(indices) is Batched and indices.rows is not None:
        key = ((slice(None),) * (axis + x.ndim)) + (indices,)
        return getitem(op, {"x": x, "key": key}, n)

    return run(lambda a, i: PLAIN.take(a, i, axis=axis), [x, indices], n)


def take_adjoint(op, values, n):
    """Zeros of a shape with x added at indices along an axis."""
    x, indices, shape = values["x"], values["indices"], tuple(values["shape"])
    axis = from_end(0 if values["axis"] is None else values["axis"], len(shape))
    if type(indices) is Batched and indices.rows is not None:
        key = ((slice(None),) * (axis + len(shape))) + (indices,)
        return getitem_adjoint(OPS["_getitem_adjoint"], {"x": x, "shape": shape, "key": key}, n)
    call, whole = plain_call(op), (n, *shape)
    return run(lambda a, i: call(a, i, whole, axis), [x, indices], n)


def take_along_axis_adjoint(op, values, n):
    """Zeros of a shape with x added at indices along an axis, the other axes in step."""
    shape = tuple(values["shape"])
    if len(shape) != values["x"].ndim:
        return None
    axis = from_end(values["axis"], len(shape))
    call, whole = plain_call(op), (n, *shape)
    given = [with_rows(values[name], n) for name in ("x", "indices")]
    return run(lambda a, i: call(a, i, whole, axis), given, n)
