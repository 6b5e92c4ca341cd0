"""Forward functions of creation that take 0-d arrays where the standard takes Python scalars only.

May import: ops._axes, the standard library. Library code fills and spaces arrays with Tensors, which must stay in the
graph.
"""

import math

from arraygrad.ops._axes import lengths


def _is_array(value):
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _is_integral(xp, dtype):
    return dtype is not None and xp.isdtype(xp.empty((0,), dtype=dtype).dtype, "integral")  # a library may take `int`


def full(xp, shape, fill_value, dtype, device):
    """`xp.full`, whose fill value may be a 0-d array."""
    if not _is_array(fill_value):
        return xp.full(shape, fill_value, dtype=dtype, device=device)
    shape = lengths(shape)
    if dtype is not None:
        fill_value = xp.astype(fill_value, dtype)
    return xp.asarray(xp.broadcast_to(fill_value, shape), device=device, copy=True)


def full_like(xp, x, fill_value, dtype, device):
    """`xp.full_like`, whose fill value may be a 0-d array."""
    if not _is_array(fill_value):
        return xp.full_like(x, fill_value, dtype=dtype, device=device)
    return full(xp, x.shape, fill_value, x.dtype if dtype is None else dtype, device)


def from_dlpack(xp, x, device, copy):
    """`xp.from_dlpack`, which is given only what the caller gave: libraries have markers of their own for the rest."""
    options = {name: value for name, value in (("device", device), ("copy", copy)) if value is not None}
    return xp.from_dlpack(x, **options)


def arange(xp, start, stop, step, dtype, device):
    """`xp.arange`, whose start, stop and step may be 0-d arrays."""
    if not any(_is_array(value) for value in (start, stop, step)):
        if stop is None:
            start, stop = 0, start
        return xp.arange(start, stop, step, dtype=dtype, device=device)
    if stop is None:
        start, stop = 0, start
    if _is_integral(xp, dtype):  # the library's own steps, which it rounds first
        start, stop, step = (float(value) for value in (start, stop, step))
        return xp.arange(start, stop, step, dtype=dtype, device=device)
    number = max(math.ceil((float(stop) - float(start)) / float(step)), 0)
    own = xp.result_type(start, stop, step)
    found = start + step * xp.astype(xp.arange(number, device=device), own)
    return found if dtype is None or dtype == found.dtype else xp.astype(found, dtype)


def linspace(xp, start, stop, num, dtype, device, endpoint):
    """`xp.linspace`, whose start and stop may be 0-d arrays."""
    if not (_is_array(start) or _is_array(stop)):
        return xp.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
    if all(type(end).__module__ == "numpy" for end in (start, stop) if _is_array(end)):
        # NumPy takes 0-d arrays, and its own steps have last bits that shares of both ends have not.
        return xp.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
    own = xp.result_type(start, stop)
    if xp.isdtype(own, ("integral", "bool")):
        own = None  # the library's floating-point dtype
    weights = ramp(xp, num, endpoint, own, device)
    start, stop = (xp.astype(end, weights.dtype) if _is_array(end) else end for end in (start, stop))
    found = start * (1 - weights) + stop * weights
    if _is_integral(xp, dtype):
        found = xp.floor(found)
    return found if dtype is None or dtype == found.dtype else xp.astype(found, dtype)


def ramp(xp, num, endpoint, dtype, device):
    """`num` evenly spaced numbers from 0 to 1: the share of `stop` in a linspace."""
    return xp.linspace(0, 1, num, dtype=dtype, device=device, endpoint=endpoint)
