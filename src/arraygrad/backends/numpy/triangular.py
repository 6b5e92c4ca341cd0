"""Gradients of the Cholesky decomposition and of linear equations, for one NumPy matrix: by triangles and products.

May import: numpy. NumPy's linear algebra has no triangular solve: solving with a triangle costs it a whole LU
decomposition, twice the operations of the solution itself. The inverse of a triangle, by halves down to small blocks,
is nearly all matrix products and costs a third of that, and rounds no worse.
"""

import numpy

__all__ = ["cholesky_gradient", "inverse_of_lower", "solve_gradients"]

# Triangles up to this many rows are inverted by numpy.linalg.inv: below, calls cost more than arithmetic (measured best
# of 13, 25, 50 and 100 at 200 rows).
BLOCK = 32


def inverse_of_lower(lower):
    """The inverse of a lower triangular matrix, itself lower triangular.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the diagonal has a zero.
    """
    n = len(lower)
    out = numpy.zeros((n, n), lower.dtype)
    _invert(lower, out)
    return out


def _invert(lower, out):
    n = len(lower)
    if n <= BLOCK:
        out[...] = numpy.tril(numpy.linalg.inv(lower))
        return
    h = n // 2
    _invert(lower[:h, :h], out[:h, :h])
    _invert(lower[h:, h:], out[h:, h:])
    corner = numpy.matmul(lower[h:, :h], out[:h, :h])
    numpy.matmul(out[h:, h:], corner, out[h:, :h])
    numpy.negative(out[h:, :h], out[h:, :h])


def cholesky_gradient(factor, g, upper):
    """The gradient of the lower (or upper) triangle of x = L L^T for that of L: L^-T sym(P) L^-1, folded.

    P is the lower triangle of L^T g with half its diagonal.

    None where the factor or the gradient is not finite: the table's rule says what comes out then.
    """
    lower = factor.T if upper else factor
    g = g.T if upper else g
    diagonal = g.diagonal() * lower.diagonal()
    if not (numpy.isfinite(diagonal).all() and numpy.isfinite(g).all() and numpy.isfinite(lower).all()):
        return None
    inverse = inverse_of_lower(lower)
    if numpy.count_nonzero(g) == numpy.count_nonzero(g.diagonal()):
        # Only the diagonal was used, as for a log-determinant: P is diagonal too.
        diagonal /= 2
        if (diagonal >= 0).all():
            inverse *= numpy.sqrt(diagonal, diagonal)[:, None]
            return _folded(numpy.matmul(inverse.T, inverse), upper)  # half the work: BLAS computes one triangle
        return _folded(numpy.matmul(inverse.T, inverse * diagonal[:, None]), upper)
    inner = numpy.tril(numpy.matmul(lower.T, g))
    numpy.einsum("ii->i", inner)[...] *= 0.5
    inner = (inner + inner.T) * lower.dtype.type(0.5)
    return _folded(numpy.matmul(inverse.T, numpy.matmul(inner, inverse)), upper)


def _folded(symmetric, upper):
    """A symmetric gradient as that of one triangle, whose elements stand for two outside of the diagonal."""
    keep = numpy.triu if upper else numpy.tril
    out = keep(symmetric)
    out += keep(symmetric, 1 if upper else -1)
    return out


def solve_gradients(matrix, g, ans):
    """The gradients of the matrix (None without ans) and of the right side, of ans = solve(matrix, right side)."""
    back = numpy.linalg.solve(matrix.T, g)
    if ans is None:
        return None, back
    if g.ndim == 1:
        return numpy.multiply(-back[:, None], ans), back
    product = numpy.matmul(back, ans.T)
    return numpy.negative(product, product), back
