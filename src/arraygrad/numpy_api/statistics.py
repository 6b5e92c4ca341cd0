"""NumPy's order statistics on Tensors: quantiles, partitions, histograms, bins and counts, with NumPy's signatures.

May import: numpy_api.functions, namespaces.bind, backends.numpy.sorting, ops, numpy.

A quantile of any method is a value between two neighbours in sorted order. NumPy itself says between which: its
function is applied to the ranks of the elements, on the host, and the neighbours are then taken out of the Tensor and
interpolated, which is what is recorded. Where ranks are counted elements that tie keep their order in memory.
"""

import math
import operator

import numpy

from arraygrad.backends.numpy.sorting import argsort
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.namespaces.bind import function_for
from arraygrad.numpy_api.functions import (
    OUT,
    F,
    axes_of,
    backend_among,
    beside,
    host,
    implements,
    in_layout,
    pick,
    refuse,
    tensor_among,
    tensor_of,
    tensors,
    with_bits,
)
from arraygrad.ops import OPS

__all__: list[str] = []


def _split(value):
    """(values as NumPy takes them, the Tensor that they are of): the latter None where nothing requires grad."""
    if not isinstance(value, Tensor | list | tuple) or backend_among((value,)) is None:
        return value, None
    t = tensor_of(value)
    return host(t), t if t.requires_grad else None


def _ranked(name, a, axis, keepdims, rank, dtype=None, missing=None, moved=None):
    """The statistic that `rank(ranks, axis)` chooses along `axis`: the value at that (fractional) rank.

    `rank` gets an array of floats, the rank of each element among those reduced with it and NaN for NaN, and the axis
    (the last); what it returns may have axes in front. `dtype` is that of the result, None: that of `a`. `missing` says
    where NumPy's result is nan. `moved(value, counts, result)` is what is added for the derivatives by the arguments
    that choose the rank, zeros: `value` gives the elements of a rank, `counts` says how many have one.
    """
    a = tensor_of(a)
    if backend_of(a).xp.isdtype(a.dtype, "complex floating"):
        raise TypeError(f"numpy.{name}: complex numbers have no order: take it of t.real or of numpy.abs(t)")
    if backend_of(a).xp.isdtype(a.dtype, ("integral", "bool")):
        a = a.astype(backend_of(a).xp.float64)
    shape = a.shape
    axes = tuple(range(a.ndim)) if axis is None else axes_of(axis, a.ndim)
    kept = tuple([i for i in range(a.ndim) if i not in axes])
    rows = a.transpose((*kept, *axes)) if a.ndim else a
    rows = rows.reshape((*[shape[i] for i in kept], math.prod([shape[i] for i in axes])))
    values = host(rows)
    order = argsort(values)
    ranks = numpy.empty(values.shape)
    numpy.put_along_axis(ranks, order, numpy.broadcast_to(numpy.arange(1.0 * values.shape[-1]), values.shape), -1)
    ranks[numpy.isnan(values)] = numpy.nan
    at = numpy.asarray(rank(ranks, -1))
    lost = numpy.isnan(at)
    if not values.shape[-1]:
        return _kept(rows.sum(axis=-1) + beside(numpy.full(at.shape, numpy.nan, values.dtype), rows), keepdims, axes, a)
    at = numpy.where(lost, 0.0, at)
    low = numpy.floor(at).astype(numpy.int64)
    high = numpy.ceil(at).astype(numpy.int64)
    starts = numpy.arange(values.size // max(values.shape[-1], 1)).reshape(values.shape[:-1]) * values.shape[-1]

    def value(position):
        flat = numpy.take_along_axis(
            numpy.broadcast_to(order, (*position.shape, order.shape[-1])), position[..., None], -1
        )[..., 0]
        return pick(rows, flat + starts)

    lower, weight = value(low), at - low
    if name == "nanmedian":
        # The mean of both, as NumPy has it: of equal infinite elements these.
        lower = F["where"](beside(weight > 0.0, rows), (lower + value(high)) / 2, lower)
    elif weight.any():
        # Where the weight is zero the upper neighbour is the lower one: inf - inf has no part in it.
        upper = value(high)
        step = F["where"](beside(high == low, rows), 0.0, upper - lower)
        if dtype is not None:
            lower, step = lower.astype(dtype), step.astype(dtype)  # NumPy subtracts in the elements' dtype
            upper = upper.astype(dtype)
        plain = host(lower).dtype
        part, rest = beside(weight.astype(plain), rows), beside((1.0 - weight).astype(plain), rows)
        # From the nearer neighbour, as NumPy does.
        lower = F["where"](beside(weight >= 0.5, rows), upper - step * rest, lower + step * part)
    elif dtype is not None:
        lower = lower.astype(dtype)
    nowhere = numpy.isnan(host(lower)) if missing is None else missing.reshape(lower.shape)
    if (nowhere & ~lost).any():
        # Of infinite numbers NumPy makes nan, with weights of zero too: so is the gradient of the neighbours.
        lower = lower * beside(numpy.where(nowhere & ~lost, numpy.nan, 1.0).astype(host(lower).dtype), rows)
    if lost.any():
        made_by = rows.max(axis=-1) if rows.shape[-1] else rows.sum(axis=-1)  # elements that are nan share
        nan = F["where"](beside(numpy.isnan(values).any(-1), rows), made_by, numpy.nan)
        lower = F["where"](beside(lost, rows), nan, lower)
    if moved is not None:
        counts = (~numpy.isnan(values)).sum(-1) if name.startswith("nan") else numpy.array(values.shape[-1])
        lower = lower + moved(value, numpy.broadcast_to(counts, values.shape[:-1]), lower).astype(lower.dtype)
    return _kept(lower, keepdims, axes, a)


def _kept(found, keepdims, axes, a):
    """A result that was reduced over the axes of `a`, with these as axes of length one where `keepdims` asks for it."""
    if keepdims is not True:
        return found
    front = found.shape[: found.ndim - (a.ndim - len(axes))]
    return found.reshape((*front, *[1 if i in axes else n for i, n in enumerate(a.shape)]))


def _quantiles(name, percent):
    ignoring = name.startswith("nan")

    def quantile(
        a,
        q,
        axis=None,
        out=None,
        overwrite_input=False,
        method="linear",
        keepdims=False,
        *,
        weights=None,
        interpolation=None,
    ):
        refuse(name, out=(out, OUT), interpolation=(interpolation, "it is method= now"))
        (q, moving), (weights, weighing) = _split(q), _split(weights)
        a = tensors(a, *[t for t in (moving, weighing) if t is not None])[0]
        options = {"axis": axis, "method": method, "keepdims": keepdims, "weights": weights}
        values = numpy.asarray(getattr(numpy, name)(host(a), q, **options))  # or NumPy's error
        dtype = None
        if not a.size:  # nan, of nothing
            return beside(values, a) + a.sum().astype(values.dtype)
        if weights is None:
            plain = host(a).dtype
            # The dtype of a result with q's precision; NumPy's errors for values of q and for methods.
            found = getattr(numpy, name)(numpy.ones(1, plain), q, method=method).dtype
            dtype = found if found != plain and plain.kind == "f" else None
        q = numpy.asarray(q)
        q = q / 100 if percent else q

        def moved(value, counts, result):
            total = beside(numpy.zeros(result.shape), a)
            if moving is not None:
                total = total + _moved_by_q(name, moving / 100 if percent else moving, q, method, value, counts, result)
            if weighing is not None:
                total = total + 0.0 * (weighing - weighing.detach()).sum()  # steps: constant between them
            return total

        options = {}
        if weights is not None:
            axes = tuple(range(a.ndim)) if axis is None else axes_of(axis, a.ndim)
            weights = numpy.asarray(weights)
            if weights.shape != a.shape:
                kept = [1] * a.ndim
                for i, n in zip(axes, weights.shape, strict=True):
                    kept[i] = n
                weights = weights.transpose(numpy.argsort(axes)).reshape(kept)
            weights = numpy.broadcast_to(weights, a.shape)
            others = [i for i in range(a.ndim) if i not in axes]
            count = math.prod([a.shape[i] for i in axes])
            weights = weights.transpose((*others, *axes)).reshape((*[a.shape[i] for i in others], count))
            options["weights"] = weights
        theirs = numpy.nanquantile if ignoring else numpy.quantile
        found = _ranked(
            name,
            a,
            axis,
            keepdims,
            lambda ranks, at: theirs(ranks, q, axis=at, method=method, **options),
            dtype,
            numpy.isnan(values),
            None if moving is None and weighing is None else moved,
        )
        if ignoring and q.ndim > 1 and axis is not None and len(axes_of(axis, a.ndim)) not in (1, a.ndim):
            raise TypeError(
                f"numpy.{name}: NumPy mixes the axes of q with those of the array where q has several axes and axis= "
                "names several or none: reduce them one by one, or give q.ravel()"
            )
        return in_layout(found, values)

    return quantile


# (alpha, beta) of the methods whose quantiles are continuous in q: rank n q + alpha + q (1 - alpha - beta) - 1 of n
# elements, counted from 0 (Hyndman and Fan 1996). The others are steps, constant in q between them.
_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _moved_by_q(name, moving, q, method, value, counts, result):
    """(moving - its values) times the slope of a quantile by q: zeros with that derivative.

    Between two elements the slope is their difference times that of the rank. At an element it is the mean of both
    sides, at the ends of [0, 1] that of the inner side; a rank that is cut off at the first or last element has none.
    """
    zeros = (moving - moving.detach()).reshape(q.shape + (1,) * counts.ndim)
    if method not in _CONTINUOUS:
        return zeros * 0.0
    alpha, beta = _CONTINUOUS[method]
    q, last = q.reshape(zeros.shape), numpy.maximum(counts - 1, 0)
    rate = counts + (1.0 - alpha - beta)
    at = last * q if alpha == beta == 1.0 else counts * q + (alpha + q * (1.0 - alpha - beta)) - 1.0

    def difference(left):
        left = left.astype(numpy.int64)
        return value(numpy.clip(left + 1, 0, last)) - value(numpy.clip(left, 0, last))

    below, above = difference(numpy.ceil(at) - 1.0), difference(numpy.floor(at))
    share = numpy.where(q <= 0.0, 0.0, numpy.where(q >= 1.0, 1.0, 0.5)) + 0.0 * at
    plain = host(below).dtype
    slope = below * beside(share.astype(plain), below) + above * beside((1.0 - share).astype(plain), above)
    slope = slope * beside(rate.astype(plain), slope)
    if (~numpy.isfinite(host(slope)) & ~numpy.isnan(host(result))).any():
        raise TypeError(
            f"numpy.{name}: the derivative by q is infinite beside an infinite element: give q.detach() if it is not "
            "wanted, or finite numbers"
        )
    return zeros * slope


for _name in ("quantile", "nanquantile"):
    implements(_name, values=True)(_quantiles(_name, False))
for _name in ("percentile", "nanpercentile"):
    implements(_name, values=True)(_quantiles(_name, True))


@implements("nanmedian")
def _nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    refuse("nanmedian", out=(out, OUT))
    return _ranked("nanmedian", a, axis, keepdims is True, lambda ranks, at: numpy.nanmedian(ranks, axis=at))


# -- partitions --------------------------------------------------------------------------------------------------------


@implements("argpartition")
def _argpartition(a, kth, axis=-1, kind="introselect", order=None):
    a = tensor_of(a)
    return beside(numpy.argpartition(host(a), kth, axis=axis, kind=kind, order=order), a)


@implements("partition")
def _partition(a, kth, axis=-1, kind="introselect", order=None):
    a = tensor_of(a)
    if axis is None:
        a, axis = a.ravel(), -1
    axis = operator.index(axis)  # an int, of a truth value too
    # NumPy's own order: that of argpartition is another where neither says which.
    values = host(a)
    found, sort = numpy.partition(values, kth, axis=axis, kind=kind, order=order), {"axis": axis, "kind": "stable"}
    order = numpy.empty(values.shape, dtype=numpy.intp)
    numpy.put_along_axis(order, numpy.argsort(found, **sort), numpy.argsort(values, **sort), axis)
    return in_layout(F["take_along_axis"](a, beside(order, a), axis=axis), raw_array(a))


@implements("sort_complex", values=True)
def _sort_complex(a):
    a = tensor_of(a)
    order = numpy.lexsort((host(a).imag, host(a).real), axis=-1)
    ordered = F["take_along_axis"](a, beside(order, a), axis=-1)
    xp = backend_of(a).xp
    return ordered.astype(F["result_type"](ordered, xp.complex64))


# -- bins --------------------------------------------------------------------------------------------------------------


def _sums(weights, bins, n):
    """The sums of a Tensor's elements by the number of their bin, recorded."""
    return function_for(OPS["_getitem_adjoint"], __name__)(weights, (n,), beside(bins, weights))


@implements("bincount")
def _bincount(x, /, weights=None, minlength=0):
    given = x if backend_among((x,)) is None else host(x)  # NumPy takes some lists that it does not take as arrays
    if not isinstance(weights, Tensor):
        return beside(numpy.bincount(given, weights, minlength), tensor_of(x))
    counts = numpy.bincount(given, host(weights), minlength)  # or NumPy's error
    numbers = numpy.asarray(given)
    if not numbers.size:
        return beside(counts, weights)
    weights = weights.astype(backend_of(weights).xp.float64)
    return with_bits(_sums(weights, numbers.astype(numpy.int64), len(counts)), counts)


def _plain_range(range):
    return None if range is None else tuple([host(end)[()] for end in range])


def _moving_edges(edges, a, range, like):
    """The edges of bins of one width as a Tensor that depends on their ends: those of `range`, or the extrema of `a`.

    The outer edges are the ends, and the others lie between them; where both ends are one number NumPy moves them apart
    by a constant.
    """
    if range is not None:
        low, high = tensors(*range, like)[:2]
    elif isinstance(a, Tensor) and a.requires_grad and a.size:
        low, high = a.min(), a.max()
    else:
        return beside(edges, like)
    if not (low.requires_grad or high.requires_grad):
        return beside(edges, like)
    parts = numpy.linspace(0.0, 1.0, len(edges)).astype(edges.dtype)
    moving = [(end - end.detach()).astype(edges.dtype) for end in (low, high)]
    return beside(edges, like) + moving[0] * beside(1 - parts, like) + moving[1] * beside(parts, like)


def _bins(bins):
    """(bins as NumPy takes them, the Tensor of edges that they are): the latter None for numbers and plain arrays."""
    if not isinstance(bins, Tensor | list | tuple) or backend_among((bins,)) is None:
        return bins, None
    given = tensor_of(bins)
    return host(given) if given.ndim else host(given).item(), given if given.ndim else None


def _edges(a, bins, range, weights, like):
    plain, given = _bins(bins)
    edges = numpy.histogram_bin_edges(host(a), plain, _plain_range(range), None if weights is None else host(weights))
    if given is not None:
        return given
    if isinstance(plain, str) or not numpy.ndim(plain):
        return _moving_edges(edges, _as_tensor(a), range, like)
    return beside(edges, like)


def _as_tensor(a):
    """`a`, or a list that holds Tensors, as a Tensor; plain arrays as they are."""
    return a if isinstance(a, Tensor) or backend_among((a,)) is None else tensor_of(a)


@implements("histogram_bin_edges", values=True)
def _histogram_bin_edges(a, bins=10, range=None, weights=None):
    return _edges(a, bins, range, weights, tensor_among((a, bins, range, weights)))


@implements("histogram", values=True)
def _histogram(a, bins=10, range=None, density=None, weights=None):
    like = tensor_among((a, bins, weights, range))
    weights = weights if weights is None else _as_tensor(weights)
    edges = _edges(a, bins, range, weights, like)
    values, found = host(a).ravel(), host(edges)
    if isinstance(weights, Tensor):
        where = numpy.searchsorted(found, values, side="right") - 1
        where[values == found[-1]] = len(found) - 2
        inside = (values >= found[0]) & (values <= found[-1])
        counts = _sums(pick(weights, inside.nonzero()[0]), where[inside], len(found) - 1)
    else:
        counts = beside(numpy.histogram(values, found, weights=weights)[0], like)
    if density:
        counts = counts / (F["diff"](edges) * counts.sum())
    return counts, edges


@implements("histogramdd", values=True)
def _histogramdd(sample, bins=10, range=None, density=None, weights=None):
    like = tensor_among((sample, bins, weights, range))
    if isinstance(bins, Tensor) and bins.ndim > 1:  # the edges of each axis, as rows
        bins = list(F["unstack"](bins))
    weights = weights if weights is None else _as_tensor(weights)
    if isinstance(sample, list | tuple):
        columns = [_as_tensor(column) for column in sample]
        points = numpy.stack([host(column) for column in columns], axis=-1)
    else:
        points = host(sample)
        columns = [sample] if points.ndim == 1 else [sample[:, i] for i in numpy.arange(points.shape[1]).tolist()]
    if points.ndim == 1:
        points = points[:, None]
    given = [_bins(b) for b in bins] if isinstance(bins, list | tuple) else [_bins(bins)]
    plain_bins = [plain for plain, _ in given] if isinstance(bins, list | tuple) else given[0][0]
    if not isinstance(bins, list | tuple):
        given = [(plain_bins, None)] * len(columns)
    ranges = [None] * len(columns) if range is None else list(range)
    plain_ranges = None if range is None else [_plain_range(ends) for ends in ranges]
    plain, plain_edges = numpy.histogramdd(
        points, plain_bins, plain_ranges, weights=None if weights is None else host(weights)
    )
    edges = [
        own if own is not None else beside(e, like) if numpy.ndim(b) else _moving_edges(e, column, ends, like)
        for (b, own), e, column, ends in zip(given, plain_edges, columns, ranges, strict=True)
    ]
    counts = beside(plain, like)
    if isinstance(weights, Tensor):
        numbers = numpy.zeros(len(points), dtype=numpy.int64)
        inside = numpy.ones(len(points), dtype=bool)
        for column, edge in zip(points.T, plain_edges, strict=True):
            where = numpy.searchsorted(edge, column, side="right") - 1
            where[column == edge[-1]] = len(edge) - 2
            inside &= (column >= edge[0]) & (column <= edge[-1])
            numbers = numbers * (len(edge) - 1) + where
        flat = _sums(pick(weights, inside.nonzero()[0]), numbers[inside], plain.size)
        counts = flat.reshape(plain.shape)
    if density:
        volume = beside(numpy.ones(()), like)
        for i, edge in enumerate(edges):
            volume = volume * F["diff"](edge).reshape((-1,) + (1,) * (len(edges) - 1 - i))
        counts = counts / volume / counts.sum()
    return counts, edges


@implements("histogram2d", values=True)
def _histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if not isinstance(bins, int | numpy.integer) and len(bins) not in (1, 2):  # the edges of both
        own = _bins(bins)[1]
        bins = [numpy.asarray(bins) if own is None else own] * 2
    counts, (first, second) = _histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


@implements("digitize")
def _digitize(x, bins, right=False):
    like = next(t for t in (x, bins) if isinstance(t, Tensor))
    return beside(numpy.digitize(host(x), host(bins), right=right), like)
