"""Rules of NumPy's functions that are recorded as one node (numpy_api/primitives.py).

May import: backends.numpy (compiled functions), ops, numpy_api.functions, numpy_api.plainly, numpy. Rules are written
as those of the table: `xp` is a raw namespace in a plain backward pass, the differentiable one under create_graph, and
what depends on values in steps alone (positions, orders) is found by NumPy on the host. Parameters have the names that
the signature in `recorded` gives them. What `backends.numpy` has compiled is asked first where the gradient is a raw
array; what that declines is computed here.
"""

import math

import numpy

from arraygrad.backends.numpy import calculus, raw_namespace
from arraygrad.backends.numpy.factorizations import least_squares
from arraygrad.numpy_api.functions import host
from arraygrad.numpy_api.plainly import implementation
from arraygrad.ops import _norms
from arraygrad.ops._axes import at_axis, from_start
from arraygrad.ops._factorizations import decomposed
from arraygrad.ops._helpers import is_complex
from arraygrad.ops._solvers import check_cut

_LN10 = math.log(10.0)


def _raw(g):
    """Whether a gradient is an array of NumPy's, which compiled functions may take."""
    return type(g) is numpy.ndarray


def none(xp, g):
    """The gradient of what has no part in the result's changes."""
    return xp.zeros_like(g)


def _zeros(xp, n, like):
    return xp.zeros((n,), dtype=like.dtype)


def _spread(xp, g, positions, shape):
    """Zeros of `shape` with the elements of `g` added at flat positions, in order."""
    n, positions = math.prod(shape), positions.reshape(-1)
    if type(g) is numpy.ndarray and g.dtype.char in "fd":
        flat = numpy.bincount(positions, g.reshape(-1), n)
        return flat.astype(g.dtype, copy=False).reshape(shape)
    return xp.reshape(xp._getitem_adjoint(xp.reshape(g, (-1,)), (n,), positions), shape)


def _numbered(shape, start=0):
    """The flat positions of an array of `shape`."""
    return numpy.arange(start, start + math.prod(shape)).reshape(shape)


def _still(value):
    """A parameter that has no derivative, as NumPy takes it: its values where it is a Tensor."""
    return host(value) if hasattr(value, "requires_grad") else value


# -- ufuncs ------------------------------------------------------------------------------------------------------------


def heaviside_x2(xp, g, x1):
    return xp.where(x1 == 0, g, 0.0)


def ldexp_x1(g, x2):
    exponent = host(x2)
    # One factor for all takes less than a look at each exponent.
    return numpy.ldexp(g, exponent) if numpy.ndim(exponent) else g * numpy.ldexp(numpy.ones((), g.dtype), exponent)


def modf(xp, g, x):
    return None if g[0] is None else xp.where(xp.isinf(x), 0.0, g[0])


def divmod_x1(g):
    return g[1]


def divmod_x2(g, ans):
    return None if g[1] is None else -g[1] * ans[0]


def frexp(g, ans):
    return None if g[0] is None else numpy.ldexp(g[0], -host(ans[1]))


def angle(xp, g, z):
    size = xp.abs(z)
    size = xp.where(size == 0, 1.0, size)
    return g * (1j * (z / size / size))


# -- rearrangements ----------------------------------------------------------------------------------------------------


def delete(xp, g, a_shape, obj, axis):
    if type(obj) is int:
        shape, axis = ((math.prod(a_shape),), 0) if axis is None else (a_shape, from_start(axis, len(a_shape)))
        obj = obj % shape[axis]
        lost = xp.zeros((*shape[:axis], 1, *shape[axis + 1 :]), dtype=g.dtype)
        parts = [g[at_axis(axis, slice(obj))], lost, g[at_axis(axis, slice(obj, None))]]
        return xp.reshape(xp.concat(parts, axis=axis), a_shape)
    return _spread(xp, g, numpy.delete(_numbered(a_shape), _still(obj), axis), a_shape)


def resize(xp, g, a_shape, new_shape):
    n, size = math.prod(a_shape), math.prod(g.shape)
    if not n:
        return xp.zeros(a_shape, dtype=g.dtype)
    whole = size // n
    if not whole:
        return _spread(xp, g, numpy.resize(_numbered(a_shape), new_shape), a_shape)
    g = xp.reshape(g, (-1,))
    total = xp.sum(xp.reshape(g[: whole * n], (whole, n)), axis=0)
    if whole * n < size:
        total = total + xp.concat([g[whole * n :], _zeros(xp, whole * n + n - size, g)])
    return xp.reshape(total, a_shape)


def insert_a(xp, g, a_shape, obj, axis):
    n, axis = (math.prod(a_shape), 0) if axis is None else (a_shape[axis], from_start(axis, len(a_shape)))
    if type(obj) is int:
        obj = obj if obj >= 0 else obj + n
        parts = [g[at_axis(axis, slice(obj))], g[at_axis(axis, slice(obj + g.shape[axis] - n, None))]]
        return xp.reshape(xp.concat(parts, axis=axis), a_shape)
    new = numpy.insert(numpy.zeros(n, bool), _still(obj), True)
    if new.size != g.shape[axis]:  # several values at one place
        new = numpy.insert(numpy.zeros(n, bool), _still(obj), numpy.ones(g.shape[axis] - n, bool))
    (places,) = numpy.nonzero(~new)
    return xp.reshape(xp.take(g, places, axis=axis), a_shape)


def insert_values(xp, g, a_shape, values_shape, obj, axis):
    if type(obj) is int:
        n, axis = (math.prod(a_shape), 0) if axis is None else (a_shape[axis], from_start(axis, len(a_shape)))
        obj = obj if obj >= 0 else obj + n
        g = g[at_axis(axis, slice(obj, obj + g.shape[axis] - n))]
        if len(values_shape) > g.ndim:
            g = xp.reshape(g, (1,) * (len(values_shape) - g.ndim) + g.shape)
        return xp.moveaxis(g, axis, 0) if axis else g  # summed over the axes along which the values were repeated
    numbers = numpy.insert(numpy.full(a_shape, -1), _still(obj), _numbered(values_shape), axis).reshape(-1)
    (places,) = numpy.nonzero(numbers >= 0)
    return _spread(xp, xp.take(xp.reshape(g, (-1,)), places, axis=0), numbers[places], values_shape)


def append_a(xp, g, a_shape, axis):
    if axis is None:
        return xp.reshape(g[: math.prod(a_shape)], a_shape)
    axis = from_start(axis, len(a_shape))
    return g[at_axis(axis, slice(a_shape[axis]))]


def append_values(xp, g, a_shape, values_shape, axis):
    if axis is None:
        return xp.reshape(g[math.prod(a_shape) :], values_shape)
    axis = from_start(axis, len(a_shape))
    return g[at_axis(axis, slice(a_shape[axis], None))]


def diag(xp, g, k):
    return xp.linalg.diagonal(g, offset=k)


def diagflat(xp, g, v_shape, k):
    return xp.reshape(xp.linalg.diagonal(g, offset=k), v_shape)


def compress(xp, g, a_shape, condition, axis):
    return _spread(xp, g, numpy.compress(_still(condition), _numbered(a_shape), axis), a_shape)


def extract(xp, g, arr_shape, condition):
    chosen = numpy.asarray(_still(condition)).reshape(-1).nonzero()[0]
    return _spread(xp, g, chosen, arr_shape)


def select(xp, g, condlist):
    pieces, taken = [], False
    for condition in condlist:
        condition = numpy.asarray(_still(condition))
        pieces.append(xp.where(condition & ~numpy.asarray(taken), g, 0.0))
        taken = condition | taken
    return pieces


def choose(xp, g, choices_shape, a):
    numbers = numpy.asarray(_still(a))
    return [xp.where(numbers == i, g, 0.0) for i in range(len(choices_shape))]


def _cut(xp, g, shapes, lengths, axis):
    """The pieces of `g` that have `lengths` along `axis`, in the shapes of what was joined."""
    parts, start = [], 0
    for shape, n in zip(shapes, lengths, strict=True):
        part = g[at_axis(axis, slice(start, start + n))]
        parts.append(part if part.shape == shape else xp.reshape(part, shape))
        start += n
    return parts


def block(xp, g, arrays_shape):
    return _cut(xp, g, arrays_shape, [s[-1] if s else 1 for s in arrays_shape], len(g.shape) - 1)


def vstack(xp, g, arrays_shape):
    return _cut(xp, g, arrays_shape, [s[0] if len(s) > 1 else 1 for s in arrays_shape], 0)


def hstack(xp, g, arrays_shape):
    axis = 0 if len(arrays_shape[0]) < 2 else 1
    return _cut(xp, g, arrays_shape, [s[axis] if len(s) > axis else 1 for s in arrays_shape], axis)


def dstack(xp, g, arrays_shape):
    return _cut(xp, g, arrays_shape, [s[2] if len(s) > 2 else 1 for s in arrays_shape], 2)


def column_stack(xp, g, arrays_shape):
    return _cut(xp, g, arrays_shape, [s[1] if len(s) > 1 else 1 for s in arrays_shape], 1)


def _differences(xp, g):
    """The adjoint of the differences of neighbours in a vector."""
    zero = _zeros(xp, 1, g)
    return xp.concat([zero, g]) - xp.concat([g, zero])


def ediff1d(xp, g, a_shape):
    if not math.prod(a_shape):
        return None
    return xp.reshape(_differences(xp, g), a_shape)


def vander(xp, g, ans, increasing):
    if not increasing:
        g, ans = g[:, ::-1], ans[:, ::-1]
    order = numpy.arange(1, g.shape[1]).astype(g.dtype)
    return xp.sum(g[:, 1:] * ans[:, :-1] * order, axis=1)


# -- calculus ----------------------------------------------------------------------------------------------------------


def gradient(xp, g, h):
    # Inside half the difference of both neighbours, at the ends the whole one.
    g = g / h
    n = g.shape[0]
    if n == 2:
        both = g[0] + g[1]
        return xp.stack([-both, both])
    inner = 0.5 * g[1:-1]
    return (
        xp.concat([-g[:1], g[:1], _zeros(xp, n - 2, g)])
        + xp.concat([_zeros(xp, n - 2, g), -g[-1:], g[-1:]])
        + (xp.concat([_zeros(xp, 2, g), inner]) - xp.concat([inner, _zeros(xp, 2, g)]))
    )


def trapezoid(xp, g, y_shape, dx, axis):
    axis = from_start(axis, len(y_shape))
    shares = numpy.full(y_shape[axis], dx, g.dtype)
    shares[:1] = shares[-1:] = dx / 2.0 if len(shares) > 1 else 0.0  # one point bounds no area
    return xp.expand_dims(g, axis=axis) * shares.reshape((-1,) + (1,) * (len(y_shape) - 1 - axis))


def _sides(xp, before, behind, like):
    """What lies before each point of a vector, none of the first, and what lies behind it, none of the last."""
    zero = _zeros(xp, 1, like)
    return xp.concat([zero, before]), xp.concat([behind, zero])


_trapezoid = implementation(numpy.trapezoid)


def trapezoid_at(y, x):
    """numpy.trapezoid of a vector at the points of another; None: better composed, as of other dtypes."""
    same = type(y) is type(x) is numpy.ndarray and y.dtype == x.dtype and y.size == x.size > 1
    return _trapezoid(y, x) if same else None


def trapezoid_at_y(xp, g, x):
    steps = x[1:] - x[:-1]
    before, behind = _sides(xp, steps, steps, x)
    return 0.5 * g * (before + behind)


def trapezoid_at_x(xp, g, y):
    sums = y[1:] + y[:-1]
    before, behind = _sides(xp, sums, sums, y)
    return 0.5 * g * (before - behind)


def _segments(x, knots):
    """(the number of each point's segment, mask of points in none: nan, beyond the knots or at the last of equal ones).

    At the last of equal knots NumPy takes the last value, as beyond.
    """
    x, knots = host(x), host(knots)
    at = numpy.minimum(numpy.maximum(knots.searchsorted(x, "right") - 1, 0), max(len(knots) - 2, 0))
    tied = knots[at + 1] == knots[at] if len(knots) > 1 else False
    return at, ~((x >= knots[0]) & (x <= knots[-1])) | tied


def _conjugate(xp, values):
    return xp.conj(values) if is_complex(xp, values.dtype) else values


def _ends(xp, at, *arrays):
    return [xp.take(a, at + i, axis=0) for a in arrays for i in (0, 1)]


def interp_x(xp, g, x, knots, values):
    found = calculus.interp_gradients(g, x, knots, values, to_x=True) if _raw(g) else None
    if found is not None:
        return found
    if knots.shape[0] == 1:
        return xp.zeros_like(g)
    at, beyond = _segments(x, knots)
    x0, x1, y0, y1 = _ends(xp, at, knots, _conjugate(xp, values))
    return xp.where(xp.isnan(x), g, xp.where(beyond, 0.0, g * ((y1 - y0) / xp.where(beyond, 1.0, x1 - x0))))


def interp_knots(xp, g, x, knots, values):
    found = calculus.interp_gradients(g, x, knots, values, to_knots=True) if _raw(g) else None
    if found is not None:
        return found
    n = knots.shape[0]
    if n == 1:
        return None
    at, beyond = _segments(x, knots)
    x0, x1, y0, y1 = _ends(xp, at, knots, _conjugate(xp, values))
    width = xp.where(beyond, 1.0, x1 - x0)
    slope = (y1 - y0) / width
    g = xp.where(beyond, 0.0, g * slope)
    part = (xp.where(beyond, x0, x) - x0) / width
    both = xp.concat([xp.reshape(g * (part - 1.0), (-1,)), xp.reshape(-g * part, (-1,))])
    return _spread(xp, both, numpy.concatenate([at.reshape(-1), at.reshape(-1) + 1]), (n,))


def interp_values(xp, g, x, knots, values_shape):
    (n,) = values_shape
    found = calculus.interp_gradients(g, x, knots, None, to_values=True) if _raw(g) else None
    if found is not None:
        return found
    if n == 1:
        return xp.reshape(xp.sum(g), (1,))
    at, beyond = _segments(x, knots)
    x0, x1 = _ends(xp, at, knots)
    low = host(x) < host(knots)[0]
    part = xp.where(beyond, (~low).astype(g.dtype), (xp.where(beyond, x0, x) - x0) / xp.where(beyond, 1.0, x1 - x0))
    at = numpy.where(low, 0, numpy.where(beyond, n - 2, at))
    g = xp.where(xp.isnan(x), 0.0, g)
    both = xp.concat([xp.reshape(g * (1.0 - part), (-1,)), xp.reshape(g * part, (-1,))])
    return _spread(xp, both, numpy.concatenate([at.reshape(-1), at.reshape(-1) + 1]), values_shape)


def _whole(xp, g, n, m, start):
    """The gradient of a full convolution of n and m elements, of which `g` is the part from `start` on."""
    rest = n + m - 1 - start - g.shape[0]
    if not start and not rest:
        return g
    return xp.concat([_zeros(xp, start, g), g, _zeros(xp, rest, g)])


_MODES = {0: "valid", 1: "same", 2: "full"}  # NumPy's old names


def _start(n, m, mode):
    mode = _MODES.get(mode, mode)
    if mode == "full":
        return 0
    return min(n, m) - 1 if mode == "valid" else (min(n, m) - 1) // 2


def _other(xp, g, other, start, n):
    """The gradient of n elements that were convolved with `other`."""
    m = other.shape[0]
    return xp._convolve(_whole(xp, g, n, m, start), xp.flip(other))[m - 1 : m - 1 + n]


def convolve_a(xp, g, a_shape, v, mode):
    return _other(xp, g, v, _start(a_shape[0], v.shape[0], mode), a_shape[0])


def convolve_v(xp, g, a, v_shape, mode):
    return _other(xp, g, a, _start(a.shape[0], v_shape[0], mode), v_shape[0])


def _correlated(n, m, mode):
    """As `_start`: "same" of an even a that is the shorter one begins one later than in the convolution."""
    return n // 2 if _MODES.get(mode, mode) == "same" and n < m else _start(n, m, mode)


def correlate_a(xp, g, a_shape, v, mode):
    (n,) = a_shape
    return _other(xp, g, xp.flip(v), _correlated(n, v.shape[0], mode), n)


def correlate_v(xp, g, a, v_shape, mode):
    (m,) = v_shape
    return xp.flip(_other(xp, g, a, _correlated(a.shape[0], m, mode), m))


def logspace_start(xp, g, ans, num):
    return xp.sum(g * ans * (_LN10 * numpy.linspace(1.0, 0.0, num)).astype(g.dtype))


def logspace_stop(xp, g, ans, num):
    return xp.sum(g * ans * (_LN10 * numpy.linspace(0.0, 1.0, num)).astype(g.dtype))


# -- polynomials, highest power first ----------------------------------------------------------------------------------


def polyadd_a1(g, a1_shape):
    return g[g.shape[0] - a1_shape[0] :]


def polyadd_a2(g, a2_shape):
    return g[g.shape[0] - a2_shape[0] :]


def polysub_a2(g, a2_shape):
    return -g[g.shape[0] - a2_shape[0] :]


def polyint(g, p_shape, m):
    (n,) = p_shape
    return g[:n] * numpy.polyint(numpy.ones(n), m)[:n].astype(g.dtype)


def polyval_p(xp, g, p_shape, x):
    parts = [xp.sum(g)]
    power = None
    for _ in range(p_shape[0] - 1):
        power = x if power is None else power * x
        parts.append(xp.sum(g * power))
    return xp.stack(parts[: p_shape[0]][::-1]) if p_shape[0] else None


def polyval_x(xp, g, p, x):
    n = p.shape[0]
    slope = xp.zeros_like(x)
    for i in range(n - 1):
        slope = slope * x + p[i] * float(n - 1 - i)
    return g * slope


# -- linear algebra ----------------------------------------------------------------------------------------------------


def kron(a, b):
    """numpy.kron of matrices: all products, block by block."""
    (n, m), (k, r) = a.shape, b.shape
    return (a[:, None, :, None] * b[None, :, None, :]).reshape(n * k, m * r)


def _blocks(xp, g, a_shape, b_shape):
    """The gradients of all products: a row for each element of a, a column for each of b."""
    (n, m), (k, r) = a_shape, b_shape
    return xp.reshape(xp.permute_dims(xp.reshape(g, (n, k, m, r)), (0, 2, 1, 3)), (n * m, k * r))


def _conjugate_row(xp, x):
    x = xp.reshape(x, (-1,))
    return xp.conj(x) if is_complex(xp, x.dtype) else x


def kron_a(xp, g, a_shape, b):
    return xp.reshape(xp.matmul(_blocks(xp, g, a_shape, b.shape), _conjugate_row(xp, b)), a_shape)


def kron_b(xp, g, a, b_shape):
    return xp.reshape(xp.matmul(_conjugate_row(xp, a), _blocks(xp, g, a.shape, b_shape)), b_shape)


_lstsq = implementation(numpy.linalg.lstsq)
_norm = implementation(numpy.linalg.norm)
_cond = implementation(numpy.linalg.cond)
_tensorsolve = implementation(numpy.linalg.tensorsolve)
_tensorinv = implementation(numpy.linalg.tensorinv)
_linalg = raw_namespace().linalg


def lstsq(a, b, rcond=None):
    """numpy.linalg.lstsq of arrays."""
    found = least_squares(a, b, rcond)
    if found is None:
        return _lstsq(a, b, rcond)
    solution, residuals, rank, singular = found
    return solution, residuals, numpy.int32(rank), singular  # NumPy's type


def cond(x, p=None):
    """numpy.linalg.cond by singular values; None for other norms."""
    if p is not None and p not in (2, -2):
        return None
    try:
        values = _linalg.svdvals(x) if x.size and x.ndim > 1 else None
    except numpy.linalg.LinAlgError:  # which is nan from NumPy 2.5 on
        values = None
    if values is not None and values.ndim == 1:
        over, under = (-1, 0) if p == -2 else (0, -1)
        # Where the quotient might overflow or is not finite NumPy's own function says what comes out.
        if values[0] < 1e30 * values[-1]:
            return values[over] / values[under]
    return _cond(x, p)


def cond_rule(xp, g, x, p):
    """The ratio of the largest and the smallest singular value, by U diag(.) V^H."""
    u, s, vh = decomposed(xp, x)
    high, low = (-1, 0) if p == -2 else (0, -1)
    over, under = s[..., high, None, None], s[..., low, None, None]
    part = u[..., :, high, None] * vh[..., None, high, :] / under
    part = part - u[..., :, low, None] * vh[..., None, low, :] * (over / under**2)
    return g[..., None, None] * part


def norm(x, ord):
    """numpy.linalg.norm of a matrix, by sums of sizes or by singular values; None for other orders."""
    if type(ord) is str:
        values = _linalg.svdvals(x) if ord == "nuc" and x.size else None
        return None if values is None else numpy.add.reduce(values, axis=-1, initial=0)
    if (type(ord) is not int and type(ord) is not float) or not x.size:
        return None
    if abs(ord) == 2:
        values = _linalg.svdvals(x)
        return numpy.maximum.reduce(values, axis=-1, initial=0) if ord == 2 else numpy.minimum.reduce(values, axis=-1)
    return _norm(x, ord) if abs(ord) in (1, math.inf) else None


def norm_rule(xp, g, x, ans, ord):
    if _raw(g) and type(ord) is not str and abs(ord) != 2:
        columns = abs(ord) == 1
        hits = (numpy.abs(x).sum(axis=0 if columns else 1) == ans).nonzero()[0]
        if len(hits) == 1:  # ties share, and nan has none
            found = numpy.zeros_like(x)
            place = (slice(None), hits[0]) if columns else hits[0]
            found[place] = numpy.sign(x[place]) * g
            return found
    return _norms.matrix_norm(xp, g, x, ans, False, ord)


def tensorsolve(a, b):
    """numpy.linalg.tensorsolve."""
    rest = a.shape[b.ndim - a.ndim :]
    n = b.size
    if a.ndim <= b.ndim or math.prod(rest) != n or a.size != n * n:
        return _tensorsolve(a, b)
    return _linalg.solve(a.reshape(n, n), b.ravel()).reshape(rest)


def _as_matrix(xp, a, n):
    return xp.reshape(a, (n, n))


def tensorsolve_b(xp, g, a, b_shape):
    n = math.prod(b_shape)
    back = xp.matrix_transpose(_as_matrix(xp, a, n))
    return xp.reshape(xp.linalg.solve(back, xp.reshape(g, (n,))), b_shape)


def tensorsolve_a(xp, g, a, ans, b_shape):
    n = math.prod(b_shape)
    back = xp.matrix_transpose(_as_matrix(xp, a, n))
    pulled = xp.linalg.solve(back, xp.reshape(g, (n,)))
    return xp.reshape(-pulled[:, None] * xp.reshape(ans, (1, n)), a.shape)


def tensorinv_of(a, ind=2):
    """numpy.linalg.tensorinv."""
    n = math.prod(a.shape[:ind])
    if not 0 < ind < a.ndim or n * n != a.size:
        return _tensorinv(a, ind)
    return _linalg.inv(a.reshape(n, n)).reshape(a.shape[ind:] + a.shape[:ind])


def _cutoff(a, rcond):
    """What LAPACK leaves out, as a share of the largest singular value; for `rcond` < 0 rounding errors alone."""
    eps = float(numpy.finfo(a.dtype if a.dtype.kind == "f" else float).eps)
    return eps * max(a.shape) if rcond is None else eps if rcond < 0 else rcond


def _columns(xp, t):
    return t[:, None] if t.ndim == 1 else t


def _pulled(xp, a, g, rcond):
    """The pseudoinverse, transposed, times `g`."""
    if type(a) is numpy.ndarray and type(g) is numpy.ndarray:
        return lstsq(a.T, g, _cutoff(a, rcond))[0]
    return xp.matmul(xp.matrix_transpose(xp.linalg.pinv(a, rtol=_cutoff(a, rcond))), g)


def lstsq_a(xp, g, ans, a, b, rcond):
    """The solution is P b, with the pseudoinverse P. Its derivative in a has a part for each of the ways to change P:
    within the ranges of a, and out of those of its columns and of its rows."""
    to_solution, to_residuals, to_singular = g
    solution, b = _columns(xp, ans[0]), _columns(xp, b)
    total = None
    left = b - xp.matmul(a, solution)
    if to_solution is not None:
        if rcond is not None:
            check_cut(xp, a, rcond)
        inverse = xp.linalg.pinv(a, rtol=_cutoff(a, rcond))
        to_solution = _columns(xp, to_solution)
        back = xp.matrix_transpose(inverse)
        pulled = xp.matmul(back, to_solution)
        total = xp.matmul(left, xp.matrix_transpose(xp.matmul(inverse, pulled)))
        total = total - xp.matmul(pulled, xp.matrix_transpose(solution))
        out = to_solution - xp.matmul(inverse, xp.matmul(a, to_solution))
        total = total + xp.matmul(xp.matmul(back, solution), xp.matrix_transpose(out))
    if to_residuals is not None and to_residuals.shape[0]:
        part = -2.0 * xp.matmul(left * to_residuals[None, :], xp.matrix_transpose(solution))
        total = part if total is None else total + part
    if to_singular is not None:
        u, _, vh = xp.linalg.svd(a, full_matrices=False)
        part = xp.matmul(u * to_singular[None, :], vh)
        total = part if total is None else total + part
    return total


def lstsq_b(xp, g, ans, a, b, rcond):
    to_solution, to_residuals, _ = g
    total = None
    if to_solution is not None:
        total = _pulled(xp, a, to_solution, rcond)
    if to_residuals is not None and to_residuals.shape[0]:
        left = _columns(xp, b) - xp.matmul(a, _columns(xp, ans[0]))
        part = xp.reshape(2.0 * left * to_residuals[None, :], b.shape)
        total = part if total is None else total + part
    return total


def tensorinv(xp, g, a_shape, ans, ind):
    n = math.prod(a_shape[:ind])
    back = xp.matrix_transpose(xp.reshape(ans, (n, n)))
    return xp.reshape(-xp.matmul(xp.matmul(back, xp.reshape(g, (n, n))), back), a_shape)
