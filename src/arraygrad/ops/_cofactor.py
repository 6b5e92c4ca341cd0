"""The matrix of cofactors, which is the derivative of the determinant, right at singular matrices too.

May import: ops._factorizations, ops._helpers, ops._scans. Everything uses only the standard and the table's
internal operations.
"""

import math

from arraygrad.ops._factorizations import decomposed
from arraygrad.ops._helpers import adjoint, eye_mask, is_dask, unrecorded
from arraygrad.ops._scans import exclusive_products


def cofactor(xp, x):
    """Cofactors of square matrices (..., n, n): det(x) * inv(x)^T, or by singular values where x is near singular."""
    det = xp.linalg.det(x)
    if _well_conditioned(xp, x, det):
        return _stretch(xp, det) * xp.matrix_transpose(xp.linalg.inv(x))
    u, s, vh, phase = _decompose(xp, x)
    middle = xp.conj(u) * _row(xp, exclusive_products(xp, s))
    return phase * xp.matmul(middle, xp.conj(vh))


def cofactor_rule(xp, g, x):
    """Gradient of x: the second derivative of the determinant, without conjugation (the cofactors are holomorphic)."""
    det = xp.linalg.det(x)
    if _well_conditioned(xp, x, det):
        inverse = xp.matrix_transpose(xp.linalg.inv(x))
        cofactors = _stretch(xp, det) * inverse
        trace = xp.sum(g * cofactors, axis=(-2, -1), keepdims=True)
        return trace * inverse - xp.matmul(xp.matmul(inverse, xp.matrix_transpose(g)), cofactors)
    return xp._cofactors_along(x, g)


def along(xp, x, g):
    """The derivative of the cofactors of x along g, by singular values; symmetric as a matrix that acts on g."""
    # In the frame of the singular vectors x is diagonal, and the second derivative of det by elements (i, i), (j, j)
    # is the product of all singular values but two; by (i, j), (j, i) its negative; all others vanish.
    u, s, vh, phase = _decompose(xp, x)
    n = x.shape[-1]
    inner = xp.matmul(adjoint(xp, u), xp.matmul(g, adjoint(xp, vh)))
    pairs = _all_but_two(xp, s)
    own = eye_mask(xp, n, n, 0, s)
    diagonal = xp.sum(xp.where(own, inner, 0.0), axis=-1)
    spread = xp.matmul(pairs, xp.expand_dims(diagonal, axis=-1))
    turned = xp.where(own, spread, -pairs * xp.matrix_transpose(inner))
    return phase * xp.matmul(xp.conj(u), xp.matmul(turned, xp.conj(vh)))


def along_rule(xp, g, x1, x2):
    """Gradient of x1: the third derivative of the determinant along x2 and g.

    It is that of `_cofactors_along(x1 + t x2, g)` by t at zero, a polynomial of degree n - 2 in t. From so many values
    it is known but for rounding errors, at any matrix, and the values are differentiable in their turn.
    """
    degree = x1.shape[-1] - 2
    if degree < 1 or 0 in x1.shape:
        return xp.zeros_like(x1)
    size, direction = _size(xp, x1), _size(xp, x2)
    # Steps of the matrix's own size: the terms of all degrees are as large as each other.
    step = xp.where(size == 0, 1.0, size) / xp.where(direction == 0, 1.0, direction)
    count = (degree + 1) // 2
    nodes = [math.sin(math.pi * (2 * k + 1) / (4 * count)) for k in range(count)]
    found = 0.0
    for node in nodes:
        weight = math.prod(other**2 / (other**2 - node**2) for other in nodes if other != node)
        move = node * step * x2
        change = xp._cofactors_along(x1 + move, g) - xp._cofactors_along(x1 - move, g)
        found = found + weight / (2 * node) * (change / step)
    return found


def _size(xp, x):
    """The largest size among the elements of each matrix (..., 1, 1), a constant."""
    return xp.max(xp.abs(unrecorded(x)), axis=(-2, -1), keepdims=True)


def _all_but_two(xp, s):
    """(..., n, n): the product of all s but the i-th and the j-th, zero on the diagonal."""
    n = s.shape[-1]
    own = eye_mask(xp, n, n, 0, s)
    left_out = xp.expand_dims(own, axis=1) | xp.expand_dims(own, axis=0)
    factors = xp.where(left_out, 1.0, xp.expand_dims(xp.expand_dims(s, axis=-2), axis=-2))
    return xp.where(own, 0.0, xp.prod(factors, axis=-1))


def _well_conditioned(xp, x, det):
    """Whether dividing by every determinant of the stack keeps half of the digits."""
    if is_dask(x):
        return False  # looking at the values would compute them; singular values are right for every matrix
    if not bool(xp.all(det != 0)):
        return False
    norms = xp.linalg.matrix_norm(x) * xp.linalg.matrix_norm(xp.linalg.inv(x))
    return bool(xp.all(norms < xp.finfo(x.dtype).eps ** -0.5))


def _decompose(xp, x):
    """Singular value decomposition, and the determinant of its two unitary factors, shape (..., 1, 1)."""
    u, s, vh = decomposed(xp, x)
    return u, s, vh, _stretch(xp, xp.linalg.det(u) * xp.linalg.det(vh))


def _stretch(xp, a):
    return xp.expand_dims(xp.expand_dims(a, axis=-1), axis=-1)


def _row(xp, a):
    return xp.expand_dims(a, axis=-2)
