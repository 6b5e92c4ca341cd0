"""Padding: reading pad_width, the forward and the derivatives of numpy.pad's modes.

May import: ops._axes, ops._helpers. Everything uses only the standard and the table's internal operations.

Every mode but "constant" repeats elements: along each axis the result is a `take` at positions that repeat with a
period. Its derivative is that of the middle, and adds to it what the elements at the ends were taken from.
"""

import operator

from arraygrad.ops._axes import at_axis
from arraygrad.ops._helpers import device_of

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")

_REFUSED = {
    "linear_ramp": "compose it with arraygrad.concat and arraygrad.linspace",
    "maximum": "pad with mode='constant' and constant_values=arraygrad.max(x)",
    "mean": "pad with mode='constant' and constant_values=arraygrad.mean(x)",
    "median": "take the median first",
    "minimum": "pad with mode='constant' and constant_values=arraygrad.min(x)",
    "empty": "its elements are undefined; use mode='constant'",
}


def forward(xp, x, pad_width, mode, constant_values):
    """pad(x, pad_width, mode, constant_values=...): see the table. Column-major where x is that alone, as NumPy's."""
    result = _padded(xp, x, pad_width, mode, constant_values)
    if not getattr(getattr(x, "flags", None), "fnc", False):
        return result
    turned = xp.permute_dims(_zeros(xp, result.shape[::-1], x), tuple(range(x.ndim))[::-1])
    return xp._setitem(turned, ..., result)


def padded_shape(shape, pad_width):
    """The shape of an array of `shape`, padded."""
    return tuple([before + n + after for n, (before, after) in zip(shape, _widths(pad_width, len(shape)), strict=True)])


def _padded(xp, x, pad_width, mode, constant_values):
    widths = _widths(pad_width, x.ndim)
    _check_mode(mode)
    if mode != "constant":
        if constant_values is not None:
            raise TypeError(f"pad: constant_values is for mode='constant' alone, but mode is {mode!r}; leave it out")
        for axis, (before, after) in enumerate(widths):
            if before or after:
                n = x.shape[axis]
                index = _positions(axis, n, range(-before, n + after), mode)
                x = xp.take(x, xp.asarray(index, device=device_of(x)), axis=axis)
        return xp.asarray(x, copy=True)
    value = 0.0 if constant_values is None else constant_values
    if getattr(value, "ndim", 0):
        return _varied(xp, x, widths, value)
    shape = padded_shape(x.shape, pad_width)
    if getattr(value, "dtype", None) is None:
        result = xp.full(shape, value, dtype=x.dtype, device=device_of(x)) if value else _zeros(xp, shape, x)
    else:
        result = xp.asarray(xp.broadcast_to(xp.astype(value, x.dtype), shape), copy=True)
    return xp._setitem(result, _middle(x.shape, widths), x)


def _zeros(xp, shape, x):
    return xp.zeros(shape, dtype=x.dtype, device=device_of(x))


def _varied(xp, x, widths, values):
    """Constant padding with values that broadcast to (x.ndim, 2), axis by axis: the last axis has the corners."""
    values = xp.broadcast_to(xp.astype(values, x.dtype), (x.ndim, 2))
    for axis, pair in enumerate(widths):
        parts = [x]
        for side, width in enumerate(pair):
            shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
            part = xp.broadcast_to(values[axis, side], shape)
            parts = [part, *parts] if side == 0 else [*parts, part]
        x = xp.concat(parts, axis=axis)
    return x


def gradient_of_x(xp, g, x_shape, pad_width, mode):
    """Gradient of the padded array."""
    widths = _widths(pad_width, len(x_shape))
    if mode == "constant":
        return g[_middle(x_shape, widths)]
    for axis in range(len(x_shape) - 1, -1, -1):
        before, after = widths[axis]
        n = x_shape[axis]
        if mode == "edge" and n > 1:
            g = _gathered_at_edges(xp, g, axis, before, n)
        elif before or after:
            index = _positions(axis, n, [*range(-before, 0), *range(n, n + after)], mode)
            ends = [g[at_axis(axis, part)] for part in (slice(0, before), slice(before + n, before + n + after))]
            ends = xp.concat(ends, axis=axis) if before and after else ends[before == 0]
            g = g[at_axis(axis, slice(before, before + n))]
            g = g + xp._take_adjoint(ends, xp.asarray(index, device=device_of(g)), g.shape, axis)
    return g


def _gathered_at_edges(xp, g, axis, before, n):
    """The gradient of n elements of which the first and the last were repeated: theirs are sums."""
    stop = g.shape[axis] - (before + n) > 0
    first = xp.sum(g[at_axis(axis, slice(0, before + 1))], axis=axis, keepdims=True) if before else None
    last = xp.sum(g[at_axis(axis, slice(before + n - 1, None))], axis=axis, keepdims=True) if stop else None
    middle = g[at_axis(axis, slice(before + bool(before), before + n - stop))]
    parts = [part for part in (first, middle, last) if part is not None]
    return middle if len(parts) == 1 else xp.concat(parts, axis=axis)


def gradient_of_values(xp, g, x_shape, pad_width):
    """Gradient of constant_values broadcast to (x.ndim, 2): the sums over what each of them filled."""
    widths = _widths(pad_width, len(x_shape))
    sums = []
    for axis in range(len(x_shape) - 1, -1, -1):
        before, after = widths[axis]
        end = before + x_shape[axis]
        high = xp.sum(g[at_axis(axis, slice(end, end + after))])
        low = xp.sum(g[at_axis(axis, slice(0, before))])
        sums = [low, high, *sums]
        g = g[at_axis(axis, slice(before, end))]
    return xp.reshape(xp.stack(sums), (len(x_shape), 2))


def _middle(shape, widths):
    return tuple([slice(before, before + n) for n, (before, _) in zip(shape, widths, strict=True)])


def _positions(axis, n, places, mode):
    """For places along a padded axis, 0 that of x's first element: where in the axis of length n their values stand."""
    if n == 0:
        raise ValueError(f"pad: axis {axis} has no elements that mode={mode!r} could repeat; use mode='constant'")
    if mode == "edge":
        return [min(max(i, 0), n - 1) for i in places]
    if mode == "wrap":
        return [i % n for i in places]
    if mode == "symmetric":
        return [i if i < n else 2 * n - 1 - i for i in (j % (2 * n) for j in places)]
    period = max(2 * n - 2, 1)  # reflect: the edges are not repeated
    return [i if i < n else period - i for i in (j % period for j in places)]


def _check_mode(mode):
    if mode in MODES:
        return
    advice = _REFUSED.get(mode) if isinstance(mode, str) else None
    raise ValueError(
        f"pad: expected mode as one of {', '.join(map(repr, MODES))}, got {mode!r}" + (f": {advice}" if advice else "")
    )


def _widths(pad_width, ndim):
    """[(before, after)] for every axis, of any form that numpy.pad takes."""
    if isinstance(pad_width, dict):
        given, pairs = pad_width, [(0, 0)] * ndim
        for axis, pair in given.items():
            if not -ndim <= operator.index(axis) < ndim:
                raise ValueError(f"pad: pad_width names axis {axis}, but the array has {ndim} dimensions")
            pairs[axis] = tuple(pair) if isinstance(pair, tuple | list) else (pair, pair)
    else:
        pairs = pad_width.tolist() if hasattr(pad_width, "tolist") else pad_width
        pairs = [pairs] if not isinstance(pairs, tuple | list) else list(pairs)
        if not any(isinstance(pair, tuple | list) for pair in pairs):
            pairs = [tuple(pairs)]  # an int, or one (before, after) for all axes
        pairs = [tuple(pair) if isinstance(pair, tuple | list) else (pair,) for pair in pairs]
        pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
        pairs = pairs * ndim if len(pairs) == 1 else pairs
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs):
        raise ValueError(
            f"pad: expected pad_width as an int, (before, after), or one such pair for each of {ndim} axes, got "
            f"{pad_width!r}"
        )
    try:
        widths = [(operator.index(before), operator.index(after)) for before, after in pairs]
    except TypeError:
        raise TypeError(f"pad: pad_width must hold ints, got {pad_width!r}") from None
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError(f"pad: pad_width can't be negative, got {pad_width!r}")
    return widths
