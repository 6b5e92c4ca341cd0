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
from arraygrad.core.given import raw_array
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
    tensor_of,
    tensors,
    with_bits,
)
from arraygrad.ops import OPS

__all__: list[str] = []


def _no_gradient(name, argument, value):
    """Refuse a gradient with respect to an argument that chooses positions."""
    if isinstance(value, Tensor) and value.requires_grad:
        raise TypeError(
            f"numpy.{name}: {argument} requires grad, but positions have no recorded derivative: give {argument}"
            ".detach() if its gradient is not wanted"
        )
    return host(value) if isinstance(value, Tensor) else value


def _ranked(name, a, axis, keepdims, rank, dtype=None, missing=None):
    """The statistic that `rank(ranks, axis)` chooses along `axis`: the value at that (fractional) rank.

    `rank` gets an array of floats, the rank of each element among those reduced with it and NaN for NaN, and the axis
    (the last); what it returns may have axes in front. `dtype` is that of the result, None: that of `a`. `missing` says
    where NumPy's result is nan.
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
    if weight.any():
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
    if keepdims is True:
        front = lower.shape[: lower.ndim - len(kept)]
        lower = lower.reshape((*front, *[1 if i in axes else n for i, n in enumerate(shape)]))
    return lower


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
        q = _no_gradient(name, "q", q)
        weights = _no_gradient(name, "weights", weights)
        a = tensor_of(a)
        options = {"axis": axis, "method": method, "keepdims": keepdims, "weights": weights}
        values = numpy.asarray(getattr(numpy, name)(host(a), q, **options))  # or NumPy's error
        dtype = None
        if not a.size and numpy.size(values):  # nan, of nothing
            return beside(values, a) + F["zeros_like"](a).sum(axis=axis, keepdims=keepdims is True).astype(values.dtype)
        if weights is None:
            plain = host(a).dtype
            # The dtype of a result with q's precision; NumPy's errors for values of q and for methods.
            found = getattr(numpy, name)(numpy.ones(1, plain), q, method=method).dtype
            dtype = found if found != plain and plain.kind == "f" else None
        q = numpy.asarray(q)
        q = q / 100 if percent else q
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
            weights = weights.transpose((*others, *axes)).reshape((*[a.shape[i] for i in others], -1))
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
        )
        if ignoring and q.ndim > 1 and axis is not None and 1 < len(axes_of(axis, a.ndim)) < a.ndim:
            raise TypeError(
                f"numpy.{name}: NumPy mixes the axes of q with those of the array where q has several axes and axis= "
                "names several: reduce them one by one, or give q.ravel()"
            )
        return in_layout(found, values)

    return quantile


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
    order = numpy.argpartition(host(a), kth, axis=axis, kind=kind, order=order)
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


@implements("histogram_bin_edges", values=True)
def _histogram_bin_edges(a, bins=10, range=None, weights=None):
    values = host(a)
    edges = numpy.histogram_bin_edges(values, bins, range, None if weights is None else host(weights))
    if isinstance(bins, Tensor):
        return bins
    like = a if isinstance(a, Tensor) else tensors(a, weights)[0]
    if isinstance(a, Tensor) and a.requires_grad and range is None and numpy.ndim(bins) == 0 and a.size:
        # The outer edges are elements of a, and the others lie between them.
        parts = numpy.linspace(0.0, 1.0, len(edges))
        low, high = a.min(), a.max()
        if low != high:
            moving = low * beside(1 - parts, a) + high * beside(parts, a)
            return moving + (beside(edges, a) - moving.detach())
    return beside(edges, like)


@implements("histogram", values=True)
def _histogram(a, bins=10, range=None, density=None, weights=None):
    like = next(x for x in (a, bins, weights, range) if isinstance(x, Tensor))
    if isinstance(a, Tensor):
        values = host(a).ravel()
        edges = bins if isinstance(bins, Tensor) and bins.ndim else _histogram_bin_edges(a, bins, range, weights)
    else:
        values = numpy.asarray(a).ravel()
        made = numpy.histogram_bin_edges(values, host(bins), range, None if weights is None else host(weights))
        edges = bins if isinstance(bins, Tensor) else beside(made, like)
    found = host(edges)
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
    if isinstance(bins, list | tuple):
        bins = [_no_gradient("histogramdd", "bins", edges) for edges in bins]
    points = host(sample) if hasattr(sample, "shape") else numpy.stack([host(s) for s in sample], axis=-1)
    if points.ndim == 1:
        points = points[:, None]
    like = next(
        x for x in (sample, weights, *(sample if isinstance(sample, list | tuple) else ())) if isinstance(x, Tensor)
    )
    _edges_apart("histogramdd", bins, range, sample)
    plain, edges = numpy.histogramdd(points, bins, range, weights=None if weights is None else host(weights))
    counts = beside(plain, like)
    if isinstance(weights, Tensor):
        numbers = numpy.zeros(len(points), dtype=numpy.int64)
        inside = numpy.ones(len(points), dtype=bool)
        for column, edge in zip(points.T, edges, strict=True):
            where = numpy.searchsorted(edge, column, side="right") - 1
            where[column == edge[-1]] = len(edge) - 2
            inside &= (column >= edge[0]) & (column <= edge[-1])
            numbers = numbers * (len(edge) - 1) + where
        flat = _sums(pick(weights, inside.nonzero()[0]), numbers[inside], plain.size)
        counts = flat.reshape(plain.shape)
    if density:
        volume = numpy.ones(())
        for i, edge in enumerate(edges):
            volume = volume * numpy.diff(edge).reshape((-1,) + (1,) * (len(edges) - 1 - i))
        counts = counts / beside(volume, like) / counts.sum()
    return counts, [beside(edge, like) for edge in edges]


@implements("histogram2d", values=True)
def _histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if not isinstance(bins, int) and len(bins) not in (1, 2):
        bins = [_no_gradient("histogram2d", "bins", tensor_of(bins))] * 2
    counts, (first, second) = _histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


def _edges_apart(name, bins, range, sample):
    """Refuse edges that would move with a sample that requires grad."""
    sample = sample if isinstance(sample, list | tuple) else [sample]
    moving = any(isinstance(s, Tensor) and s.requires_grad for s in sample)
    numbers = isinstance(bins, int) or (isinstance(bins, list | tuple) and any(isinstance(b, int) for b in bins))
    if moving and numbers and range is None:
        raise TypeError(
            f"numpy.{name}: the edges would depend on a sample that requires grad, which is not recorded: give range=, "
            "or the edges as bins="
        )


@implements("digitize")
def _digitize(x, bins, right=False):
    like = next(t for t in (x, bins) if isinstance(t, Tensor))
    return beside(numpy.digitize(host(x), host(bins), right=right), like)
