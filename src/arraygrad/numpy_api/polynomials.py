"""NumPy's polynomials (poly*, roots, vander's least squares) on Tensors, with NumPy's signatures.

May import: numpy_api.functions, numpy_api.calculus, numpy. Coefficients stand with the highest power first, as in
NumPy.
"""

import numpy

from arraygrad.core.tensor import backend_of
from arraygrad.numpy_api.calculus import _convolve
from arraygrad.numpy_api.functions import (
    FUNCTIONS,
    VALUED,
    F,
    as_plain,
    beside,
    but_for_rounding,
    host,
    implements,
    moved_onto,
    refuse_cut,
    tensor_of,
    tensors,
)
from arraygrad.numpy_api.rearranging import _vander

__all__ = ["polyval"]


@implements("polyval", values=True)
def _polyval(p, x):
    p, x = tensors(p, x)
    result = F["zeros_like"](x.detach())
    for coefficient in F["unstack"](p):
        result = result * x + coefficient
    return result


_OF_NUMBERS = FUNCTIONS[numpy.polyval]


@implements("polyval")
def polyval(p, x):
    """numpy.polyval of Tensors and arrays; of a numpy.poly1d in the place of x a numpy.poly1d."""
    if not isinstance(x, numpy.poly1d):
        return _OF_NUMBERS(p, x)
    first, *others = F["unstack"](tensor_of(p.coeffs if isinstance(p, numpy.poly1d) else p))
    found = numpy.poly1d(first.reshape(1))
    for coefficient in others:
        found = found * x + numpy.poly1d(coefficient.reshape(1))
    return found


VALUED.add(numpy.polyval)


@implements("polyder", values=True)
def _polyder(p, m=1):
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = tensor_of(p)
    _ask(numpy.polyder, p, m=m)
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * beside(numpy.arange(n, 0, -1), p)
    return p


@implements("polyint", values=True)
def _polyint(p, m=1, k=None):
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p = tensor_of(p)
    constants = numpy.atleast_1d(numpy.zeros(1) if k is None else k) if not hasattr(k, "requires_grad") else k
    constants = tensors(constants, p)[0].reshape(-1)
    if constants.shape[0] < m and constants.shape[0] != 1:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        constant = constants[min(i, constants.shape[0] - 1)].reshape(1)
        p = F["concat"]([p / beside(numpy.arange(p.shape[0], 0, -1), p), constant])
    return p


def _ask(function, *args, **options):
    """NumPy's errors for coefficients that are no vector."""
    if any(t.ndim > 1 for t in args):
        function(*[host(t) for t in args], **options)


def _aligned(function, a, b):
    a, b = [t.reshape(1) if t.ndim == 0 else t for t in tensors(a, b)]
    _ask(function, a, b)
    if a.shape[0] == b.shape[0]:
        return a, b
    n = max(a.shape[0], b.shape[0])
    return [F["concat"]([beside(numpy.zeros(n - t.shape[0]), t).astype(t.dtype), t]) for t in (a, b)]


@implements("polyadd", values=True)
def _polyadd(a1, a2):
    a, b = _aligned(numpy.polyadd, a1, a2)
    return a + b


@implements("polysub", values=True)
def _polysub(a1, a2):
    a, b = _aligned(numpy.polysub, a1, a2)
    return a - b


@implements("polymul", values=True)
def _polymul(a1, a2):
    return _convolve(*[_without_leading_zeros(t) for t in tensors(a1, a2)])


def _without_leading_zeros(p):
    p = p.reshape(1) if p.ndim == 0 else p
    if not p.size and p.ndim == 1:  # the polynomial 0, as poly1d has it
        return F["concat"]([p, F["zeros_like"](p.sum().detach()).reshape(1)])
    (used,) = host(p).nonzero()
    start = int(used[0]) if len(used) else p.shape[0] - 1
    if start:
        refuse_cut(p[:start], "numpy.polymul")
    return p[start:]


@implements("polydiv")
def _polydiv(u, v):
    given = [host(t) for t in tensors(u, v)]
    u, v = [t.reshape(1) + 0.0 if t.ndim == 0 else t + 0.0 for t in tensors(u, v)]
    _ask(numpy.polydiv, u, v)
    m, n = u.shape[0] - 1, v.shape[0] - 1
    quotient, rest = [], u
    for _ in range(m - n + 1):
        factor = rest[0] / v[0]
        quotient.append(factor)
        rest = F["concat"]([rest[1 : n + 1] - factor * v[1:], rest[n + 1 :]])
    if not quotient:
        return moved_onto(numpy.polydiv(*given), (F["zeros_like"](v[:1]), u), u, "polydiv")
    # NumPy says how long the remainder is: of leading coefficients that are zero but for rounding it keeps some.
    values = numpy.polydiv(*given)
    n, kept = rest.shape[0], len(values[1])
    if kept > n:
        rest = F["concat"]([beside(numpy.zeros(kept - n), rest).astype(rest.dtype), rest])
    rest = but_for_rounding(rest[rest.shape[0] - kept :], values[1], numpy.abs(given[0]).max(initial=0.0))
    return moved_onto(values, (F["stack"](quotient), rest), u, "polydiv")


@implements("poly", values=True)
def _poly(seq_of_zeros):
    zeros = tensor_of(seq_of_zeros)
    shape = zeros.shape
    if len(shape) == 2 and shape[0] == shape[1] != 0:
        values = F["eigvals"](zeros)
        # NumPy's eigvals gives real numbers where all are.
        real = not _complex(zeros) and not host(values).imag.any()
        return numpy.poly(F["real"](values) if real else values)
    if len(shape) > 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if shape == (0,):
        return 1.0
    zeros = zeros.reshape(-1)
    result = F["ones_like"](zeros.detach())[:1]
    for zero in F["unstack"](zeros):
        result = F["concat"]([result, result[:1] * 0]) - F["concat"]([result[:1] * 0, result * zero])
    if backend_of(result).xp.isdtype(result.dtype, "complex floating"):
        # Conjugate pairs have a real polynomial.
        roots = host(zeros)
        if (numpy.sort(roots) == numpy.sort(roots.conjugate())).all():
            return F["real"](result)
    return result


@implements("roots", values=True)
def _roots(p):
    p = tensor_of(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    whole = p
    (used,) = host(p).nonzero()
    if not len(used):
        if p.shape[0] > 1:
            refuse_cut(p, "numpy.roots")
        return p[:0]
    trailing = p.shape[0] - used[-1] - 1
    p = p[int(used[0]) : int(used[-1]) + 1]
    n = p.shape[0]
    pieces = []
    if n > 1:
        top = (-p[1:] / p[0]).reshape(1, -1)
        below = beside(numpy.eye(n - 2, n - 1), p).astype(top.dtype)
        pieces.append(F["eigvals"](F["concat"]([top, below], axis=0) if n > 2 else top))
    if trailing:
        zeros = beside(numpy.zeros(int(trailing)), p)
        pieces.append(zeros.astype(pieces[0].dtype) if pieces else zeros)
    result = F["concat"](pieces) if pieces else p[:0]
    if len(host(whole)) > n and whole.requires_grad and result.shape[0]:
        result = _moved(result, whole)
    values = host(result)
    # NumPy's eigvals gives real numbers where all are.
    return F["real"](result) if numpy.iscomplexobj(values) and not values.imag.any() and not _complex(p) else result


def _moved(roots, p):
    """Roots that were found without the coefficients that are zero, with a derivative in these too.

    Two steps of Newton's method, of which the derivatives count, to the second order, and not the values.
    """
    slope = _polyder(p)
    if (numpy.abs(host(_polyval(slope, roots.detach()))) == 0).any():
        raise TypeError(
            "numpy.roots: a root that is not simple has no derivative in the coefficients that are zero, and these "
            "require grad: give their detach() or keep them apart from zero"
        )
    new = roots
    for _ in range(2):
        new = new - _polyval(p, new) / _polyval(slope, new)
    return roots.detach() + (new - new.detach())


def _complex(p):
    return backend_of(p).xp.isdtype(p.dtype, "complex floating")


@implements("polyfit")
def _polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    given = (x, y, deg, rcond, full, w, cov)
    x, y = [t + 0.0 for t in tensors(x, y)]
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = x.shape[0] * numpy.finfo(host(x).dtype).eps
    left = _vander(x, deg + 1)
    right = y
    if w is not None:
        w = tensors(w, x)[0] + 0.0
        left = left * w[:, None]
        right = right * (w[:, None] if y.ndim == 2 else w)
    scale = F["sqrt"]((left * left).sum(axis=0))
    scaled = left / scale
    solution, residuals, rank, singular = numpy.linalg.lstsq(scaled, right, rcond)
    solution = (solution.T / scale).T
    if rank != deg + 1 and not full:
        import warnings

        warnings.warn("Polyfit may be poorly conditioned", numpy.exceptions.RankWarning, stacklevel=2)
        if not cov:
            return solution
    if full:
        solution = solution, residuals, rank, singular, rcond
    elif cov:
        solution = solution, _covariance(scaled, scale, None if cov == "unscaled" else residuals, y)
    return as_plain(numpy.polyfit, solution, *given)


def _covariance(scaled, scale, residuals, y):
    """That of the coefficients, as numpy.polyfit estimates it: the inverse of the normal matrix, times the variance."""
    base = numpy.linalg.inv(scaled.T @ scaled) / numpy.outer(scale, scale)
    rows, order = scaled.shape
    factor = 1
    if residuals is not None:
        if rows <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (rows - order)
    return (base if y.ndim == 1 else base[:, :, None]) * factor
