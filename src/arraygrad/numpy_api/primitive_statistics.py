"""Rules of NumPy's statistics that are recorded as one node (numpy_api/primitives.py): nan left out, order, covariance.

May import: backends.numpy (compiled functions), ops, numpy_api.functions, numpy_api.plainly, numpy_api.primitive_rules,
numpy. Written as the rules in `primitive_rules`.
"""

import math

import numpy

from arraygrad.backends.numpy import gaps, ranks, sorting
from arraygrad.numpy_api.functions import host, keeps_one_row
from arraygrad.numpy_api.plainly import implementation
from arraygrad.numpy_api.primitive_rules import _numbered, _raw, _spread, _still
from arraygrad.ops import TABLE
from arraygrad.ops._axes import at_axis, expand_reduced, from_start, normalize_axes
from arraygrad.ops._helpers import at_kinks, over_nonzero

# -- reductions that leave out nan -------------------------------------------------------------------------------------


def nansum(xp, g, a, axis, keepdims):
    found = gaps.nansum_gradient(g, a, axis) if _raw(g) else None
    if found is not None:
        return found
    return xp.where(xp.isnan(a), 0.0, expand_reduced(xp, g, a.shape, axis, keepdims))


def _counted(mask, axis, dtype):
    """How often a mask holds along `axis`, kept; of `dtype`, and one where it never does."""
    return numpy.maximum(numpy.add.reduce(mask, axis, dtype.type, None, True), 1)


def nanmean(xp, g, a, axis, keepdims):
    found = gaps.nanmean_gradient(g, a, axis) if _raw(g) else None
    if found is not None:
        return found
    lost = numpy.isnan(host(a))
    g = expand_reduced(xp, g, a.shape, axis, keepdims)
    return xp.where(lost, 0.0, g / _counted(~lost, axis, a.dtype))


def _away(xp, a, axis, ddof):
    """(mask of nan; the differences of the others from their mean, zeros for nan; degrees of freedom left, kept)."""
    lost = numpy.isnan(host(a))
    values = xp.where(lost, 0.0, a)
    count = numpy.add.reduce(~lost, axis, a.dtype.type, None, True)
    mean = xp.sum(values, axis=axis, keepdims=True) / numpy.maximum(count, 1)
    return lost, xp.where(lost, 0.0, values - mean), count - ddof


def nanvar(xp, g, a, axis, ddof, keepdims):
    found = gaps.nanvar_gradient(g, a, axis, ddof) if _raw(g) else None
    if found is not None:
        return found
    _, away, left = _away(xp, a, axis, ddof)
    g = expand_reduced(xp, g, a.shape, axis, keepdims)
    return xp.where(left <= 0, 0.0, 2.0 * g * away / numpy.where(left <= 0, 1.0, left).astype(a.dtype))


def nanstd(xp, g, a, ans, axis, ddof, keepdims):
    found = gaps.nanstd_gradient(g, a, ans, axis, ddof) if _raw(g) else None
    if found is not None:
        return found
    lost, away, left = _away(xp, a, axis, ddof)

    def spread(a_):
        return expand_reduced(xp, a_, a.shape, axis, keepdims)

    part = xp.where(left <= 0, 0.0, away / numpy.where(left <= 0, 1.0, left).astype(a.dtype))
    ordinary = xp.where(left <= 0, 0.0, spread(over_nonzero(xp, g, ans)) * part)  # the spread is nan there
    # One number does not deviate from its mean, wherever it is: no kink.
    alone = numpy.add.reduce(~lost, axis, int, None, bool(keepdims)) == 1
    return at_kinks(xp, ordinary, g, part, xp.where(alone, 1.0, ans), spread)


def nanextremum(xp, g, a, ans, axis, keepdims):
    found = gaps.nanextremum_gradient(g, a, ans, axis) if _raw(g) else None
    if found is not None:
        return found
    share = _share(host(a), expand_reduced(numpy, host(ans), a.shape, axis, keepdims), axis)
    return expand_reduced(xp, g, a.shape, axis, keepdims) * share


def _share(a, end, axis):
    """What each element has of an extremum: those that tie the same. Nothing where that is nan."""
    hit = a == end
    return hit / _counted(hit, axis, a.dtype)


def _divides(values, ans):
    """Whether the products of all but one element are `ans` over that element: nothing is zero, lost or infinite."""
    values, ans = host(values), host(ans)
    return (
        numpy.count_nonzero(values) == values.size
        and numpy.count_nonzero(ans) == ans.size
        and bool(numpy.isfinite(ans).all())
    )


def nanprod(xp, g, a, ans, axis, keepdims):
    found = gaps.nanprod_gradient(g, a, axis) if _raw(g) else None
    if found is not None:
        return found
    lost = xp.isnan(a)
    values = xp.where(lost, 1.0, a)
    if _divides(values, ans):
        return xp.where(lost, 0.0, expand_reduced(xp, g * ans, a.shape, axis, keepdims) / values)
    return xp.where(lost, 0.0, TABLE["prod"].rules["x"](xp, g, values, axis, keepdims))


def _along(xp, rule, g, a, axis):
    """A rule along an axis; None: of all elements in a row."""
    if axis is None:
        return xp.reshape(rule(xp.reshape(g, (-1,)), xp.reshape(a, (-1,)), 0), a.shape)
    return rule(g, a, axis)


def _sums_to_the_end(xp, g, axis):
    """The sums of each element and those behind it."""
    if type(g) is not numpy.ndarray:
        return TABLE["cumulative_sum"].rules["x"](xp, g, axis, False)
    backwards = at_axis(from_start(axis, g.ndim), slice(None, None, -1))
    return numpy.add.accumulate(g[backwards], axis)[backwards]


def nancumsum(xp, g, a, axis):
    found = gaps.nancumsum_gradient(g, a, axis) if _raw(g) else None
    if found is not None:
        return found
    return xp.where(xp.isnan(a), 0.0, _along(xp, lambda g, a, axis: _sums_to_the_end(xp, g, axis), g, a, axis))


def nancumprod(xp, g, a, ans, axis):
    found = gaps.nancumprod_gradient(g, a, axis) if _raw(g) else None
    if found is not None:
        return found
    back, lost = TABLE["cumulative_prod"].rules["x"], xp.isnan(a)
    values = xp.where(lost, 1.0, a)
    if _divides(values, ans):
        return nancumsum(xp, g * ans, a, axis) / values
    return xp.where(lost, 0.0, _along(xp, lambda g, a, axis: back(xp, g, a, axis, False), g, values, axis))


def nan_to_num(xp, g, x):
    return xp.where(xp.isfinite(x), g, 0.0)


# -- order statistics --------------------------------------------------------------------------------------------------


def _between(xp, g, a, ans, q, axis, *, percent=False, ignoring=False, last=False):
    """The gradient of the values at the fractions `q` of the sorted elements along `axis`.

    A quantile lies between two neighbours in sorted order; elements that tie keep their order in memory. A nan that
    makes the result nan gets the gradient; several share it, or the last one has it (`last`). Where infinite numbers
    make it nan, both neighbours have the gradient nan.
    """
    q = _still(q)
    if 0 in a.shape or 0 in ans.shape:
        return xp.zeros_like(a) + 0.0 * xp.sum(g)
    if _raw(g):
        found = ranks.quantile_gradient(g, a, ans, q, axis, percent=percent, ignoring=ignoring, last=last)
        if found is not None:
            return found
    q = numpy.true_divide(q, 100) if percent else q
    values, q = host(a), numpy.asarray(q)
    axes = normalize_axes(axis, values.ndim)
    kept = [i for i in range(values.ndim) if i not in axes]
    order = (*kept, *axes)
    rows = values.transpose(order).reshape(math.prod([values.shape[i] for i in kept]), -1)
    places = _numbered(values.shape).transpose(order).reshape(rows.shape)
    places = numpy.take_along_axis(places, sorting.argsort(rows), -1)
    missed = numpy.isnan(rows).sum(axis=1)
    n = rows.shape[1] - (missed if ignoring else numpy.zeros(len(rows), numpy.int64))
    at = q.reshape(-1, 1) * (n - 1.0)
    without = numpy.isnan(host(ans)).reshape(at.shape)
    lost = without & (n == 0 if ignoring else missed > 0)
    low = numpy.maximum(numpy.floor(at), 0).astype(numpy.int64)
    high = numpy.minimum(low + 1, numpy.maximum(n - 1, 0))
    weight = numpy.where(lost, 0.0, numpy.where(without, numpy.nan, at - low)).astype(values.dtype)
    g = xp.reshape(g, at.shape)
    lower, upper = numpy.where(lost, 0.0, 1.0).astype(values.dtype) - weight, weight
    row = numpy.arange(len(rows))
    parts = [g * lower, g * upper]
    positions = [places[row, low], places[row, high]]
    if lost.any():
        missing = numpy.isnan(numpy.take_along_axis(values.reshape(-1), places.reshape(-1), -1)).reshape(places.shape)
        if last:
            missing = missing & (numpy.cumsum(missing[:, ::-1], axis=1)[:, ::-1] == 1)
        share = missing / numpy.maximum(missing.sum(axis=1, keepdims=True), 1.0)
        for k in range(len(at)):
            parts.append(g[k, :, None] * numpy.where(lost[k, :, None], share, 0.0).astype(values.dtype))
            positions.append(places)
    g = xp.concat([xp.reshape(part, (-1,)) for part in parts])
    return _spread(xp, g, numpy.concatenate([p.reshape(-1) for p in positions]), values.shape)


def median(xp, g, a, ans, axis):
    return _between(xp, g, a, ans, 0.5, axis, last=True)


def nanmedian(xp, g, a, ans, axis):
    return _between(xp, g, a, ans, 0.5, axis, ignoring=True)


def quantile(xp, g, a, ans, q, axis):
    return _between(xp, g, a, ans, q, axis)


def nanquantile(xp, g, a, ans, q, axis):
    return _between(xp, g, a, ans, q, axis, ignoring=True)


def percentile(xp, g, a, ans, q, axis):
    return _between(xp, g, a, ans, q, axis, percent=True)


def nanpercentile(xp, g, a, ans, q, axis):
    return _between(xp, g, a, ans, q, axis, percent=True, ignoring=True)


_nanquantile = implementation(numpy.nanquantile)
_nanpercentile = implementation(numpy.nanpercentile)
_partition = implementation(numpy.partition)
_cov = implementation(numpy.cov)
_corrcoef = implementation(numpy.corrcoef)


def nanquantile_of(a, q, axis=None, *, keepdims=False):
    """numpy.nanquantile; None: better composed, which says what is wrong with fractions of several axes."""
    return _nanquantile(a, q, axis, keepdims=keepdims) if numpy.ndim(q) < 2 else None


def nanpercentile_of(a, q, axis=None, *, keepdims=False):
    """numpy.nanpercentile; None: better composed."""
    return _nanpercentile(a, q, axis, keepdims=keepdims) if numpy.ndim(q) < 2 else None


_SHORT_LANE = 2048  # elements of a lane up to which two orders cost less than numpy.argpartition


def partition_of(a, kth, axis=-1):
    """numpy.partition of lanes that are not long; None: better composed."""
    long = type(axis) is not int or not -a.ndim <= axis < a.ndim or a.shape[axis] > _SHORT_LANE
    return None if long else _partition(a, kth, axis)


def partition(xp, g, a, ans, axis):
    # The k-th of equal elements before is the k-th of them after.
    found = sorting.partition_gradient(g, a, ans, axis) if _raw(g) else None
    if found is not None:
        return found
    before, after = [sorting.argsort(host(x), axis) for x in (a, ans)]
    places = numpy.empty_like(before)
    numpy.put_along_axis(places, before, after, axis)
    return xp.take_along_axis(g, places, axis=axis)


def bincount(xp, g, x):
    return xp.take(g, numpy.asarray(_still(x), numpy.intp), axis=0)  # NumPy truncates the numbers of a list


# -- covariance --------------------------------------------------------------------------------------------------------


def _rows(xp, t, rowvar):
    """Variables as the rows of a matrix, in double precision as NumPy has it."""
    t = xp.astype(t, xp.float64) if t.dtype != xp.float64 else t
    if t.ndim == 1:
        return t[None, :]
    return t if rowvar or keeps_one_row(t.shape) else xp.matrix_transpose(t)


def _of_rows(xp, g, t, rowvar):
    """The gradient of `t` from that of its variables as rows."""
    if t.ndim == 1:
        return g[0]
    return g if rowvar or keeps_one_row(t.shape) else xp.matrix_transpose(g)


def _centred(xp, t):
    if _raw(t):
        mean = numpy.add.reduce(t, 1, None, None, True)
        mean /= t.shape[1]
        return t - mean
    return t - xp.mean(t, axis=1, keepdims=True)


def _left(m, rowvar, ddof):
    """(variables, degrees of freedom left) of a matrix or vector; None: others are better composed."""
    if not 0 < m.ndim <= 2 or type(rowvar) is not bool or type(ddof) is not int:
        return None
    n = m.shape if rowvar or m.ndim == 1 or keeps_one_row(m.shape) else m.shape[::-1]
    return (n[0] if m.ndim == 2 else 1), n[-1] - ddof


def cov_of(m, y=None, rowvar=True, bias=False, ddof=None):
    """numpy.cov of one array; None: better composed."""
    found = _left(m, rowvar, ddof if ddof is not None else 0 if bias else 1) if y is None else None
    return None if found is None or found[1] <= 0 else _cov(m, None, rowvar, bias, ddof)


def corrcoef_of(x, y=None, rowvar=True):
    """numpy.corrcoef of several variables; None: better composed."""
    found = _left(x, rowvar, 1) if y is None else None
    return None if found is None or found[1] <= 0 or found[0] == 1 else _corrcoef(x, None, rowvar)


def cov(xp, g, m, rowvar, bias, ddof):
    # The rows behind g + g^T sum to zero: the mean's part has no gradient of its own.
    rows = _centred(xp, _rows(xp, m, rowvar))
    n = rows.shape[0]
    left = rows.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    g = xp.reshape(g, (n, n))
    return _of_rows(xp, xp.matmul((g + xp.matrix_transpose(g)) / left, rows), m, rowvar)


def corrcoef(xp, g, x, rowvar):
    # Of rows z of mean zero and length one, times the inverse of what made their length one. Rounding may leave
    # [-1, 1]; NumPy clips the values, which is no change of the derivative.
    rows = _centred(xp, _rows(xp, x, rowvar))
    length = xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))
    z = rows / length
    g = g + xp.matrix_transpose(g)
    pulled = xp.matmul(g, z)
    along = xp.sum(pulled * z, axis=1, keepdims=True)
    return _of_rows(xp, (pulled - along * z) / length, x, rowvar)
