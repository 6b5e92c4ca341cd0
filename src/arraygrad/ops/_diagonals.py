"""Rules of diagonals and traces.

May import: ops._helpers. Everything uses only the standard. Values are placed by `where`, not by a product with an
identity matrix: a nan or an infinity stays on its diagonal.
"""

from arraygrad.ops._helpers import eye_mask


def trace(xp, g, x_shape, offset):
    """g on every element of the diagonal `offset` of zeros of `x_shape`."""
    rows, columns = x_shape[-2:]
    return xp.where(eye_mask(xp, rows, columns, offset, g), g[..., None, None], 0.0)


def diagonal(xp, g, x_shape, offset):
    """g, shape (..., l), along the diagonal `offset` of zeros of `x_shape`."""
    rows, columns = x_shape[-2:]
    if offset >= 0:  # element i is in row i
        spread = _padded(xp, g, rows)[..., :, None]
    else:  # element i is in column i
        spread = _padded(xp, g, columns)[..., None, :]
    return xp.where(eye_mask(xp, rows, columns, offset, g), spread, 0.0)


def _padded(xp, g, length):
    """g with its last axis cut or filled with zeros to `length`."""
    missing = length - g.shape[-1]
    if missing <= 0:
        return g[..., :length]
    fill = xp.zeros((*g.shape[:-1], missing), dtype=g.dtype, device=getattr(g, "device", None))
    return xp.concat([g, fill], axis=-1)
