"""Views of a Tensor that show what views of its array show.

May import: core.exposed_memory.
"""

from arraygrad.core.exposed_memory import raw_array

__all__ = ["shown_of"]


def shown_of(base, owner, view):
    """What `view` shows of the memory of `owner`, as a view of the Tensor over it; None where that is not served."""
    found = base
    raw = owner
    if not (raw.flags.c_contiguous or raw.flags.f_contiguous):
        return None
    if not raw.flags.c_contiguous:
        found, raw = found.T, raw.T
    if 1 in view.shape and view.ndim > 1:  # such axes have any stride: left out, and put in again
        found = shown_of(base, owner, view[tuple([0 if n == 1 else slice(None) for n in view.shape])])
        return None if found is None else found[tuple([None if n == 1 else slice(None) for n in view.shape])]
    order = sorted(range(view.ndim), key=lambda k: -abs(view.strides[k]))
    flips = tuple([slice(None, None, -1 if view.strides[k] < 0 else 1) for k in order])
    plain = view.transpose(order)[(*flips, ...)]
    start = plain.__array_interface__["data"][0] - raw.__array_interface__["data"][0]
    if start < 0 or start % raw.itemsize:
        return None
    start //= raw.itemsize
    if not plain.ndim:
        found = found.reshape(-1)[start, ...]
    elif plain.flags.c_contiguous:
        found = found.reshape(-1)[start : start + plain.size].reshape(plain.shape)
    else:
        key = _key(raw, start, plain)
        if key is None:
            return None
        found = found[key]
    if any(flip.step < 0 for flip in flips):
        found = found[flips]
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    if back != tuple(range(len(order))):
        found = found.transpose(back)
    shown = raw_array(found)
    same = shown.shape == view.shape and shown.__array_interface__["data"] == view.__array_interface__["data"]
    if not same or (shown.strides != view.strides and not view.flags.c_contiguous):
        return None
    return found


def _key(raw, start, plain):
    """Indices and slices that give `plain`, whose axes have falling strides, of a contiguous array."""
    key, k = [], 0
    for n, stride in zip(raw.shape, raw.strides, strict=True):
        first, start = divmod(start, stride // raw.itemsize)
        if k < plain.ndim and plain.strides[k] >= stride and plain.strides[k] % stride == 0:
            step = plain.strides[k] // stride
            key.append(slice(first, first + (plain.shape[k] - 1) * step + 1, step))
            k += 1
        else:
            key.append(first)
        last = key[-1].stop - 1 if isinstance(key[-1], slice) else key[-1]
        if last >= n:
            return None
    return tuple(key) if k == plain.ndim else None
