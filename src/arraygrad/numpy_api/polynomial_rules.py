"""Rules of NumPy's functions of polynomials that are recorded as one node (numpy_api/primitives.py).

May import: backends.numpy.polynomials, numpy_api.plainly, ops, numpy. Written as those of `primitive_rules`; on
NumPy's arrays they run compiled, on Tensors (create_graph) they are composed of operations. Coefficients stand with the
highest power first.
"""

import math

import numpy

from arraygrad.backends.numpy.polynomials import poly_gradient, polyfit_gradient, roots_gradient
from arraygrad.numpy_api.plainly import implementation
from arraygrad.ops._helpers import is_complex

__all__: list[str] = []


def _plain(*arrays):
    return all(type(a) is numpy.ndarray for a in arrays)


def _conjugate(xp, values):
    return xp.conj(values) if is_complex(xp, values.dtype) else values


def _behind(xp, g, n):
    """g with n zeros behind it."""
    return xp.concat([g, xp.zeros((n,), dtype=g.dtype)]) if n else g


def poly(xp, g, seq_of_zeros):
    """Back through the products with (x - root), one by one: right where roots are equal, too."""
    zeros = seq_of_zeros
    if _plain(g, zeros):
        dtype = zeros.dtype.newbyteorder("=")
        return poly_gradient(*[numpy.ascontiguousarray(a.astype(dtype, copy=False)) for a in (zeros, g)])
    n = zeros.shape[0]
    products = [xp.ones((1,), dtype=zeros.dtype)]
    for k in range(n - 1):
        last = products[-1]
        products.append(_behind(xp, last, 1) - xp.flip(_behind(xp, xp.flip(last * zeros[k]), 1)))
    parts = []
    for k in reversed(range(n)):
        parts.append(-xp.sum(g[1:] * _conjugate(xp, products[k])))
        g = g[:-1] - _conjugate(xp, zeros[k]) * g[1:]
    return xp.stack(parts[::-1])


_roots = implementation(numpy.roots)
_polyfit = implementation(numpy.polyfit)


def roots_of(p):
    """numpy.roots where neither the first nor the last coefficient is zero; None: better composed."""
    return _roots(p) if p.size > 1 and p[0] and p[-1] else None


def roots(xp, g, p, ans):
    """By the implicit derivative -root^k / p'(root). p' is a product of distances between the roots: where two are
    equal it is zero and the gradient infinite or nan, as the roots then are not smooth."""
    if _plain(g, p, ans):
        result = roots_gradient(p, ans, g)
        return result if p.dtype.kind == "c" else result.real.astype(p.dtype)
    n = ans.shape[0]
    distances = ans[:, None] - ans[None, :] + xp.eye(n, dtype=ans.dtype)
    share = -g / _conjugate(xp, xp.prod(distances, axis=1) * p[0])
    power = xp.ones_like(ans)
    parts = []
    for _ in range(n + 1):
        parts.append(xp.sum(share * _conjugate(xp, power)))
        power = power * ans
    return xp.stack(parts[::-1])


# The fit c minimizes |A c - y|, with A the powers of x. Where A has full rank, v = (A^T A)^-1 g gives all gradients:
# that of y is A v, that of A is (y - A c) v^T - A v c^T.


def polyfit_of(x, y, deg, rcond=None):
    """numpy.polyfit where every coefficient is determined; None: better composed."""
    found, _, rank, _, _ = _polyfit(x, y, deg, rcond, True)
    return found if rank == deg + 1 else None


def _columns(xp, x, like):
    """x beside the columns of `like`."""
    return x if like.ndim == 1 else xp.reshape(x, (-1, 1))


def _powers(xp, x, n):
    columns = [xp.ones_like(x)]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    return xp.stack(columns[::-1], axis=1)


def _back(xp, g, x):
    """(A v, v)."""
    if _plain(g, x):
        return polyfit_gradient(x, g)
    if x.dtype != g.dtype:
        x = xp.astype(x, g.dtype)
    powers = _powers(xp, x, g.shape[0])
    scale = xp.sqrt(xp.sum(powers * powers, axis=0))
    inverse = xp.linalg.pinv(powers / scale)
    beside = scale if g.ndim == 1 else xp.reshape(scale, (-1, 1))
    direct = xp.matmul(xp.matrix_transpose(inverse), g / beside)
    return direct, xp.matmul(inverse, direct) / beside


def _values(coefficients, x):
    result = 0.0
    for k in range(coefficients.shape[0]):
        result = result * x + coefficients[k]
    return result


def _slopes(coefficients, x):
    n = coefficients.shape[0]
    result = 0.0
    for k in range(n - 1):
        result = result * x + coefficients[k] * float(n - 1 - k)
    return result


def polyfit_x(xp, g, x, y, ans):
    direct, inverse = _back(xp, g, x)
    if g.shape[0] == 1:
        return xp.zeros_like(x)
    at = _columns(xp, x, y)
    slope = (y - _values(ans, at)) * _slopes(inverse, at) - direct * _slopes(ans, at)
    return slope if y.ndim == 1 else xp.sum(slope, axis=1)


def polyfit_y(xp, g, x):
    return _back(xp, g, x)[0]


def polyder(xp, g, p_shape, m):
    m, (n,) = int(m), p_shape
    if m >= n:  # nothing is left
        return _behind(xp, g, n)
    powers = n - 1 - numpy.arange(n - m)
    share = math.prod([powers - i for i in range(m)], start=numpy.ones(n - m))
    return _behind(xp, g * share.astype(g.dtype), m)
