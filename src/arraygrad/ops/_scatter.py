"""Scatter-add: the adjoints of indexing, which the standard does not have.

May import: ops._axes, ops._helpers. Libraries that can add at indices do it in one call (`add.at` of NumPy and CuPy,
`index_put_` of PyTorch, `.at[]` of JAX); for every other library there is a fallback in the standard's functions alone:
sort the indices, sum the runs of equal ones by doubling, and gather each place's total. Neither loses precision nor
needs memory beyond a few copies.
"""

import math

from arraygrad.ops._axes import from_start
from arraygrad.ops._helpers import device_of

# NumPy's add.at is fast where each index names one element, and slow by a factor of three to ten where it names a row:
# from this many elements on, computing flat positions pays.
MOST_ADDED_IN_PLACE = 512


def getitem_adjoint(xp, x, shape, key):
    """Zeros of `shape` and x's dtype, with x added at `key` as often as `key` names an element."""
    if has_integer_array(xp, key):
        single = len(key) == len(shape) if isinstance(key, tuple) else len(shape) == 1
        if _adds_in_place(xp) and (single or math.prod(x.shape) < MOST_ADDED_IN_PLACE):
            zeros = xp.zeros(shape, dtype=x.dtype, device=device_of(x))
            _add_at(xp, zeros, key, x)
            return zeros
        return _add_flat(xp, x, _positions(xp, shape, key, x), shape)
    zeros = xp.zeros(shape, dtype=x.dtype, device=device_of(x))
    region = _without_new_axes(key)
    if region is not key:
        x = xp.reshape(x, zeros[region].shape)
    return assign(xp, zeros, region, x)  # every element is named once at most


def add_at(xp, x, key, value):
    """A copy of x with `value`, an array that broadcasts to x[key], added at `key` as often as it is named."""
    value = xp.broadcast_to(value, x[key].shape)
    if not _adds_in_place(xp) or not has_integer_array(xp, key):
        return x + getitem_adjoint(xp, value, x.shape, key)
    sums = xp.asarray(x, copy=True)
    _add_at(xp, sums, key, value)
    return sums


def take_adjoint(xp, x, indices, shape, axis):
    """Zeros of `shape` with x added at `indices` along `axis` (None: `shape` has one dimension)."""
    axis = from_start(axis, len(shape))
    if indices.dtype == xp.bool:  # which `take` reads as 0 and 1, and a key as a mask
        indices = xp.astype(indices, xp.int64)
    if axis == 0:
        return getitem_adjoint(xp, x, shape, indices)
    outer = xp.arange(math.prod(shape[:axis]), device=device_of(x))
    rows = _rows(xp, (outer.shape[0], shape[axis]), (outer[:, None], xp.reshape(indices, (1, -1))))
    return _add_flat(xp, x, _widened(xp, rows, shape[axis + 1 :], x), shape)


def take_along_axis_adjoint(xp, x, indices, shape, axis):
    """Zeros of `shape` with x added at `indices` along `axis`, the other axes in step."""
    return _add_flat(xp, x, xp.take_along_axis(_numbers(xp, shape, x), indices, axis=axis), shape)


def setitem(xp, x, key, value):
    """A copy of x with `value` at `key`."""
    return assign(xp, xp.asarray(x, copy=True), key, value)


def assign(xp, fresh, key, value):
    """`fresh`, which nobody else holds, with `value` at `key`; overwritten where the library allows it."""
    if _is_jax(fresh):
        return fresh.at[key].set(value)
    if has_integer_array(xp, key) and not _adds_in_place(xp) and not hasattr(fresh, "index_put_"):
        return _assign_flat(xp, fresh, key, value)
    fresh[key] = value
    return fresh


def written_gradient(xp, g, key):
    """Gradient of the value written at `key`: g there, except where a later element overwrote an earlier one."""
    region = g[key]
    if not has_integer_array(xp, key) or math.prod(region.shape) == 0:
        return region
    order = xp.reshape(xp.arange(math.prod(region.shape), device=device_of(g)), region.shape)
    unwritten = xp.zeros(g.shape, dtype=order.dtype, device=device_of(g))
    last = xp._setitem(unwritten, key, order)[key] == order
    return xp.where(last, region, 0.0)


def has_integer_array(xp, key):
    """Whether an element may be named more than once: an integer array with axes (or a list) is in the key."""
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, list) or _is_integer_array(xp, part):
            return True
    return False


def _is_integer_array(xp, part):
    return getattr(part, "ndim", 0) > 0 and part.dtype != xp.bool


def _adds_in_place(xp):
    # NumPy and CuPy; JAX's add.at returns a new array
    return hasattr(getattr(xp, "add", None), "at") and not hasattr(xp, "jit") and "jax" not in xp.__name__


def _add_at(xp, sums, key, x):
    """x added to `sums` at `key`, in place, once for every time an element is named."""
    if x.dtype.kind == "c" and type(sums).__module__.partition(".")[0] == "cupy":
        for part in ("real", "imag"):  # CUDA's atomic additions know no complex numbers
            of_part = xp.asarray(getattr(sums, part), copy=True)
            xp.add.at(of_part, key, getattr(x, part))
            setattr(sums, part, of_part)
        return
    xp.add.at(sums, key, x)


def _is_jax(array):
    return hasattr(array, "at") and type(array).__module__.partition(".")[0] in ("jax", "jaxlib")


def _without_new_axes(key):
    """A key without integer arrays, without None: what it names, but not the shape of the result."""
    parts = key if isinstance(key, tuple) else (key,)
    if not any(part is None for part in parts):
        return key
    if sum(not isinstance(part, slice) and part is not None and part is not Ellipsis for part in parts) > 1 and any(
        getattr(part, "ndim", 0) > 0 for part in parts
    ):
        return key  # a new axis between a mask and an int, or two masks, decides where their common axis stands
    parts = tuple(part for part in parts if part is not None)
    return parts if any(part is Ellipsis for part in parts) else (*parts, ...)


def _numbers(xp, shape, x):
    """The flat position of every element of an array of `shape`, on the device of x."""
    return xp.reshape(xp.arange(math.prod(shape), device=device_of(x)), shape)


def _positions(xp, shape, key, x):
    """The flat position of every element that `key`, with integer arrays, names."""
    parts = key if isinstance(key, tuple) else (key,)
    if parts[-1] is Ellipsis:
        parts = parts[:-1]
    if all(isinstance(part, int) or _is_integer_array(xp, part) for part in parts):
        return _widened(xp, _rows(xp, shape, parts), shape[len(parts) :], x)
    return _numbers(xp, shape, x)[key]


def _rows(xp, shape, parts):
    """The number of the row that ints or integer arrays for the first axes of `shape` name."""
    rows = 0
    for part, length in zip(parts, shape, strict=False):  # there may be more axes than parts
        part = part if isinstance(part, int) else xp.astype(part, xp.int64, copy=False)
        rows = rows * length + part % length
    return rows


def _widened(xp, rows, shape, x):
    """Flat positions of all elements of rows of `shape`, from the numbers of the rows."""
    if not shape:
        return rows
    inner = xp.arange(math.prod(shape), dtype=xp.int64, device=device_of(x))
    return rows[..., None] * math.prod(shape) + inner


def _add_flat(xp, x, numbers, shape):
    """x added at flat positions `numbers`, of its own shape, of zeros of `shape`."""
    size = math.prod(shape)
    x, numbers = xp.reshape(x, (-1,)), xp.reshape(numbers, (-1,))
    zeros = xp.zeros((size,), dtype=x.dtype, device=device_of(x))
    if _adds_in_place(xp):
        _add_at(xp, zeros, numbers, x)
    elif _is_jax(zeros):
        zeros = zeros.at[numbers].add(x)
    elif hasattr(zeros, "index_put_"):
        zeros.index_put_((numbers,), x, accumulate=True)
    elif size and numbers.shape[0]:
        zeros = _sum_runs(xp, x, numbers, size)
    return xp.reshape(zeros, shape)


def _sum_runs(xp, x, numbers, size):
    """The fallback: x, sorted by position, summed over runs of equal ones; `size` totals."""
    order, last, hit = _runs(xp, numbers, size)
    total = xp.take(x, order)
    ranked = xp.take(numbers, order)
    step = 1
    while step < order.shape[0]:  # after each step an element has the sum of the last 2 * step of its own run
        same = ranked[step:] == ranked[:-step]
        total = xp.concat([total[:step], total[step:] + xp.where(same, total[:-step], 0)])
        step *= 2
    return xp.where(hit, xp.take(total, last), 0)


def _assign_flat(xp, fresh, key, value):
    """Assignment at integer arrays for libraries that only read there: the last of several values stays."""
    numbers = _numbers(xp, fresh.shape, fresh)[key]
    if math.prod(numbers.shape) == 0:
        return fresh
    value = xp.asarray(value, dtype=fresh.dtype, device=device_of(fresh))
    value = xp.reshape(xp.broadcast_to(value, numbers.shape), (-1,))
    order, last, hit = _runs(xp, numbers, math.prod(fresh.shape))
    written = xp.take(xp.take(value, order), last)
    return xp.reshape(xp.where(hit, written, xp.reshape(fresh, (-1,))), fresh.shape)


def _runs(xp, numbers, size):
    """Stable order of flat positions, and for each of `size` places its run in it: its last, whether it has one."""
    flat = xp.reshape(numbers, (-1,))
    order = xp.argsort(flat, stable=True)
    places = xp.arange(size, dtype=flat.dtype, device=device_of(flat))
    ranked = xp.take(flat, order)
    first = xp.searchsorted(ranked, places, side="left")
    end = xp.searchsorted(ranked, places, side="right")
    last = xp.where(end > 0, end - 1, 0)
    return order, last, end > first
