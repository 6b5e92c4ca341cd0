"""The matrix of cofactors, which is the derivative of the determinant, right at singular matrices too.

May import: ops._helpers. Everything uses only the standard.
"""

from arraygrad.ops._helpers import adjoint, eye_mask
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


def _all_but_two(xp, s):
    """(..., n, n): the product of all s but the i-th and the j-th, zero on the diagonal."""
    n = s.shape[-1]
    own = eye_mask(xp, n, n, 0, s)
    left_out = xp.expand_dims(own, axis=1) | xp.expand_dims(own, axis=0)
    factors = xp.where(left_out, 1.0, xp.expand_dims(xp.expand_dims(s, axis=-2), axis=-2))
    return xp.where(own, 0.0, xp.prod(factors, axis=-1))


def _well_conditioned(xp, x, det):
    """Whether dividing by every determinant of the stack keeps half of the digits."""
    if type(x).__module__.partition(".")[0] == "dask":
        return False  # looking at the values would compute them; singular values are right for every matrix
    if not bool(xp.all(det != 0)):
        return False
    norms = xp.linalg.matrix_norm(x) * xp.linalg.matrix_norm(xp.linalg.inv(x))
    return bool(xp.all(norms < xp.finfo(x.dtype).eps ** -0.5))


def _decompose(xp, x):
    """Singular value decomposition, and the determinant of its two unitary factors, shape (..., 1, 1)."""
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return u, s, vh, _stretch(xp, xp.linalg.det(u) * xp.linalg.det(vh))


def _stretch(xp, a):
    return xp.expand_dims(xp.expand_dims(a, axis=-1), axis=-1)


def _row(xp, a):
    return xp.expand_dims(a, axis=-2)
