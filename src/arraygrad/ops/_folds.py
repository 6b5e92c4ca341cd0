"""Folds by a function of two operands: of segments along an axis, and of all elements up to each.

May import: ops._axes, ops._helpers, ops._scans, ops.elementwise, ops.kinds. Rules use only the standard and the table's
internal operations.

Segments are those of `numpy.ufunc.reduceat` for places that increase: `starts` says where they begin, and each ends
before the next one or at the end of the axis. Elements before the first segment are in none.
"""

from arraygrad.ops._axes import at_axis, from_start
from arraygrad.ops._helpers import device_of, is_complex
from arraygrad.ops._scans import reversed_recurrence
from arraygrad.ops.elementwise import logaddexp_share
from arraygrad.ops.kinds import folding


def segments(xp, x, ufunc, starts, axis):
    """ufunc.reduceat(x, starts, axis)."""
    own = getattr(xp, "_library_ufunc", None)
    if own is not None:
        return own(ufunc).reduceat(x, starts, axis)
    ends = [*[int(start) for start in starts[1:]], x.shape[axis]]
    parts = []
    for start, end in zip([int(start) for start in starts], ends, strict=True):
        piece = x[at_axis(axis, slice(start, end))]
        if ufunc == "subtract":  # a first element less the others
            parts.append(2 * x[at_axis(axis, start)] - xp.sum(piece, axis=axis))
        elif ufunc == "logaddexp":
            top = xp.max(piece, axis=axis, keepdims=True)
            parts.append(xp.log(xp.sum(xp.exp(piece - top), axis=axis)) + xp.squeeze(top, axis=axis))
        else:
            parts.append(getattr(xp, folding("reduction")[ufunc])(piece, axis=axis))
    return xp.stack(parts, axis=axis)


def _refuse_complex(xp, x):
    if is_complex(xp, x.dtype):
        raise TypeError(f"expected an array of a real dtype, found {x.dtype}: complex numbers have no order")


def real_segments(xp, x, ufunc, starts, axis):
    _refuse_complex(xp, x)
    return segments(xp, x, ufunc, starts, axis)


def _spread(xp, a, starts, n, axis):
    """The element of its segment for each of n elements along the axis, zero before the first segment."""
    own = getattr(xp, "_library_repeated", None)
    found = None if own is None else own(a, starts, n, axis)
    if found is not None:
        return found
    starts = [int(start) for start in starts]
    owner = [0] * starts[0]  # of an array with a zero in front
    for k, (start, end) in enumerate(zip(starts, [*starts[1:], n], strict=True)):
        owner += [k + 1] * (end - start)
    a = xp.concat([xp.zeros_like(a[at_axis(axis, slice(0, 1))]), a], axis=axis)
    return xp.take(a, xp.asarray(owner, device=device_of(a)), axis=axis)


def linear_segments_rule(xp, g, x_shape, ufunc, starts, axis):
    spread = _spread(xp, g, starts, x_shape[axis], axis)
    if ufunc == "add":
        return spread
    n = x_shape[axis]
    begins = _spread(xp, xp.astype(starts, xp.float64), starts, n, 0)
    first = begins == xp.arange(n, dtype=xp.float64, device=device_of(g))
    shape = [n if i == axis else 1 for i, n in enumerate(x_shape)]
    return xp.where(xp.reshape(first, tuple(shape)), spread, -spread)


def segments_rule(xp, g, x, ans, ufunc, starts, axis):
    if ufunc == "multiply":
        return _spread(xp, g * ans, starts, x.shape[axis], axis) / x
    result = _spread(xp, ans, starts, x.shape[axis], axis)
    # Those that tie share; of large numbers a logarithm has no digits left for weights that sum to one.
    hit = (x == result) | (x != x)  # an element that is nan makes the extremum nan
    weights = xp.exp(x - result) if ufunc == "logaddexp" else xp.astype(hit, g.dtype)
    total = xp._segment_sums(weights, "add", starts, axis)
    share = _spread(xp, g / total, starts, x.shape[axis], axis)
    return weights * share if ufunc == "logaddexp" else xp.where(hit, share, 0.0)


def running(xp, x, ufunc, axis):
    """ufunc.accumulate(x, axis)."""
    if ufunc != "subtract":
        _refuse_complex(xp, x)
    own = getattr(xp, "_library_ufunc", None)
    if own is not None:
        return own(ufunc).accumulate(x, axis)
    axis = from_start(axis, x.ndim)
    results = [x[at_axis(axis, 0)]]
    for k in range(1, x.shape[axis]):
        part = x[at_axis(axis, k)]
        results.append(results[-1] - part if ufunc == "subtract" else getattr(xp, ufunc)(results[-1], part))
    return xp.stack(results, axis=axis)


def _shares(xp, ufunc, before, x):
    """The derivatives of ufunc(before, x) in both operands, as the rules of these operations have them."""
    if ufunc == "logaddexp":
        return logaddexp_share(xp, 1.0, before, x), logaddexp_share(xp, 1.0, x, before)
    less, more = (before < x, x < before) if ufunc == "maximum" else (before > x, x > before)
    equal, one = before == x, xp.ones_like(x)
    return [xp.where(equal, 0.5, xp.where(behind, 0.0, one)) for behind in (less, more)]


def running_differences_rule(xp, g, axis):
    axis = from_start(axis, g.ndim)
    total = xp.flip(xp.cumulative_sum(xp.flip(g, axis=axis), axis=axis), axis=axis)
    first, rest = total[at_axis(axis, slice(0, 1))], total[at_axis(axis, slice(1, None))]
    return xp.concat([first, -rest], axis=axis)


def _passed_on(xp, kept, g):
    """The gradients of all running results, which each passes on to the one before it in proportion to `kept`."""
    own = getattr(xp, "_library_reversed_recurrence", None)
    found = None if own is None else own(kept, g)
    return reversed_recurrence(xp, kept, g) if found is None else found


def running_rule(xp, g, x, ans, ufunc, axis):
    axis, last = from_start(axis, x.ndim), x.ndim - 1
    if axis != last:
        order = (*range(axis), *range(axis + 1, x.ndim), axis)
        g, x, ans = [xp.permute_dims(a, order) for a in (g, x, ans)]
    if x.shape[-1] > 1:
        kept, taken = _shares(xp, ufunc, ans[..., :-1], x[..., 1:])
        one = xp.ones_like(x[..., :1])
        g = xp.concat([one, taken], axis=-1) * _passed_on(xp, xp.concat([one, kept], axis=-1), g)
    return g if axis == last else xp.permute_dims(g, (*range(axis), last, *range(axis, last)))
