"""NumPy's differences, convolutions, interpolation and covariances on Tensors, with NumPy's signatures.

May import: numpy_api.functions, namespaces.bind, ops, core.exposed_memory, core.tensor, numpy.
"""

import numpy

from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.numpy_api.functions import (
    F,
    as_plain,
    axes_of,
    beside,
    core_axes,
    host,
    implements,
    in_layout,
    internal,
    keeps_one_row,
    operands,
    pick,
    tensor_of,
    tensors,
    with_bits,
)
from arraygrad.ops._axes import at_axis

__all__: list[str] = []


# -- gradient ----------------------------------------------------------------------------------------------------------


def _real(x):
    xp = backend_of(x).xp
    return x.astype(xp.float64) if xp.isdtype(x.dtype, ("integral", "bool")) else x


@implements("gradient", values=True)
def _gradient(f, *varargs, axis=None, edge_order=1):
    # Integers may be unsigned, or too narrow for their sums.
    f, *spacings = [_real(x) for x in operands(f, *varargs)]
    axes = tuple(range(f.ndim)) if axis is None else axes_of(axis, f.ndim)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if len(spacings) == 0:
        spacings = [1.0] * len(axes)
    elif len(spacings) == 1 and spacings[0].ndim == 0:
        spacings = spacings * len(axes)
    elif len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    results = [
        in_layout(_derivative(f, dx, ax, edge_order), raw_array(f)) for dx, ax in zip(spacings, axes, strict=True)
    ]
    if not any(backend_of(f).xp.isdtype(dx.dtype, "complex floating") for dx in spacings if isinstance(dx, Tensor)):
        results = [r if r.dtype == f.dtype else r.astype(f.dtype) for r in results]
    return results[0] if len(axes) == 1 else tuple(results)


def _derivative(f, dx, axis, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        )
    if n < 3 and edge_order != 1:  # NumPy takes any number below for 2
        raise IndexError(f"index 2 is out of bounds for axis {axis} with size {n}")
    if isinstance(dx, Tensor) and dx.ndim == 1:
        if dx.shape[0] != n:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        steps = F["diff"](dx)
    else:
        if isinstance(dx, Tensor) and dx.ndim:
            raise ValueError("distances must be either scalars or 1d")
        steps = None

    def take(i, j=None):
        return f[at_axis(axis, slice(i, j if j is not None else (i + 1 or None)))]

    def wide(h):
        return h.reshape((-1,) + (1,) * (f.ndim - 1 - axis))

    pieces = []
    first, last = take(0), take(-1)
    if steps is None:
        middle = (take(2, n) - take(0, n - 2)) / (2.0 * dx) if n > 2 else None
        if edge_order == 1:
            start, end = (take(1) - first) / dx, (last - take(-2)) / dx
        else:
            # The coefficients have the precision of the spacing, as NumPy's.
            start = (-1.5 / dx) * first + (2.0 / dx) * take(1) + (-0.5 / dx) * take(2)
            end = (0.5 / dx) * take(-3) + (-2.0 / dx) * take(-2) + (1.5 / dx) * last
    else:
        h1, h2 = wide(steps[:-1]), wide(steps[1:])
        middle = None
        if n > 2:
            middle = (
                -h2 / (h1 * (h1 + h2)) * take(0, n - 2)
                + (h2 - h1) / (h1 * h2) * take(1, n - 1)
                + h1 / (h2 * (h1 + h2)) * take(2, n)
            )
        if edge_order == 1:
            start, end = (take(1) - first) / steps[0], (last - take(-2)) / steps[-1]
        else:
            a, b = steps[0], steps[1]
            start = -(2.0 * a + b) / (a * (a + b)) * first + (a + b) / (a * b) * take(1) - a / (b * (a + b)) * take(2)
            a, b = steps[-2], steps[-1]
            end = b / (a * (a + b)) * take(-3) - (b + a) / (a * b) * take(-2) + (2.0 * b + a) / (b * (a + b)) * last
    pieces = [start, middle, end] if middle is not None else [start, end]
    return F["concat"](pieces, axis=axis)


# -- convolution -------------------------------------------------------------------------------------------------------


_CONVOLVE, _CORRELATE = internal("_convolve"), internal("_correlate")


def _of_one_dtype(a, v):
    dtype = F["result_type"](a, v)
    return [t.astype(dtype) if t.dtype != dtype else t for t in (a, v)]


def _full(a, v):
    return _CONVOLVE(*_of_one_dtype(a, v))


def _part(full, n, m, mode):
    """What `mode` keeps of the full convolution of n and m elements, n >= m."""
    mode = {0: "valid", 1: "same", 2: "full"}.get(mode, mode)
    if mode == "full":
        return full
    if mode == "same":
        start = (m - 1) // 2
        return full[start : start + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError(f"mode must be 'full', 'same' or 'valid', got {mode!r}")


def _vectors(name, a, v):
    a, v = [t.reshape(1) if t.ndim == 0 else t for t in tensors(a, v)]
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"numpy.{name}: expected two vectors, got shapes {a.shape} and {v.shape}")
    if not a.size or not v.size:
        raise ValueError(f"numpy.{name}: {'a' if not a.size else 'v'} cannot be empty")
    return a, v


@implements("convolve")
def _convolve(a, v, mode="full"):
    a, v = _vectors("convolve", a, v)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    return _part(_full(a, v), a.shape[0], v.shape[0], mode)


@implements("correlate")
def _correlate(a, v, mode="valid"):
    if not (tensor_of(a).ndim and tensor_of(v).ndim):
        raise ValueError("numpy.correlate: expected two vectors, got an array without axes")
    a, v = _vectors("correlate", a, v)
    n, m = a.shape[0], v.shape[0]
    if mode == "valid" and m <= n:
        return _CORRELATE(*_of_one_dtype(a, v.conj()))
    full = _full(a, F["flip"](v.conj()))
    if m <= n:
        return _part(full, n, m, mode)
    # NumPy exchanges both and reverses the result, so an even a begins one later than in the convolution.
    return full[n // 2 : n // 2 + m] if mode in ("same", 1) else _part(full, m, n, mode)


# -- interpolation -----------------------------------------------------------------------------------------------------


@implements("interp", values=True)
def _interp(x, xp, fp, left=None, right=None, period=None):
    as_arrays = all(isinstance(a, (numpy.ndarray, Tensor)) for a in (x, xp, fp))
    x, xp, fp = tensors(x, xp, fp)
    given = [x, xp, fp, left, right]
    double = backend_of(x).xp.float64
    x, xp = x.astype(double), xp.astype(double)
    if not backend_of(fp).xp.isdtype(fp.dtype, "complex floating"):
        fp = fp.astype(double)
    if xp.ndim != 1 or fp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ValueError("Data points must be 1-D sequences of the same length")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = numpy.argsort(host(xp))
        xp, fp = pick(xp, order), pick(fp, order)
        xp = F["concat"]([xp[-1:] - period, xp, xp[:1] + period])
        fp = F["concat"]([fp[-1:], fp, fp[:1]])
    values, knots = host(x), host(xp)
    n = len(knots)
    is_complex = backend_of(fp).xp.isdtype(fp.dtype, "complex floating")
    if not is_complex and any(numpy.iscomplexobj(host(end)) for end in (left, right) if end is not None):
        raise TypeError("interp: left= and right= must be real numbers where fp is real")
    if isinstance(values, numpy.ndarray) and (left, right, period) != (None, None, None):
        # One node where that is served, which knows what is beside inf and nan.
        points = [t if t.requires_grad else host(t) for t in (x, xp)]
        inside = tensors(numpy.interp(*points, fp), fp)[0]
    elif is_complex and n > 1 and isinstance(values, numpy.ndarray):
        # By parts, as a complex product with inf is nan in both.
        inside = tensors(numpy.interp(x, xp, fp.real), fp)[0] + 1j * tensors(numpy.interp(x, xp, fp.imag), fp)[0]
    elif not as_arrays and not is_complex and isinstance(values, (numpy.ndarray, numpy.generic)):
        # Of arrays NumPy's own call is one node.
        points = [t if t.requires_grad else numpy.asarray(host(t)) for t in (x, xp)]
        inside = tensors(numpy.interp(*points, fp), fp)[0]
    elif n == 1:
        inside = pick(fp, numpy.zeros(values.shape, dtype=int))
    else:
        at = numpy.clip(numpy.searchsorted(knots, values, side="right") - 1, 0, n - 2)
        x0, x1, y0, y1 = pick(xp, at), pick(xp, at + 1), pick(fp, at), pick(fp, at + 1)
        beyond = beside(~((values >= knots[0]) & (values <= knots[-1])), x)  # or nan, which no part of fp gets
        within = F["where"](beyond, x0, x)
        width, tied = x1 - x0, knots[at + 1] == knots[at]
        if tied.any():  # at the last knots, or before the first: NumPy takes the last value
            tied = beside(tied, x)
            inside = y0 + (within - x0) * ((y1 - y0) / F["where"](tied, 1.0, width))
            inside = F["where"](tied, y1, inside)
        else:
            inside = y0 + (within - x0) * ((y1 - y0) / width)
    low, high = beside(values < knots[0], x), beside(values > knots[-1], x)
    # left= and right= may be Tensors too
    result = F["where"](low, fp[0] if left is None else tensors(left, fp)[0], inside)
    result = F["where"](high, fp[-1] if right is None else tensors(right, fp)[0], result)
    # NumPy does not look at x where there is one point only.
    result = F["where"](beside(numpy.isnan(values), x), x, result) if n > 1 else result
    if is_complex and isinstance(values, numpy.ndarray):
        return with_bits(
            result, numpy.asarray(numpy.interp(*[None if t is None else host(t)[()] for t in given], period))
        )
    return result


@implements("unwrap", values=True)
def _unwrap(p, discont=None, axis=-1, *, period=2 * numpy.pi):
    p = tensor_of(p)
    values = host(p)
    # What is added is a multiple of the period: a constant.
    with numpy.errstate(invalid="ignore"):
        found = numpy.unwrap(values, discont, axis, period=period)
        return p + beside(numpy.where(found == values, 0, found - values).astype(found.dtype), p)


# -- covariance --------------------------------------------------------------------------------------------------------


@implements("cov")
def _cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    given = {"fweights": fweights, "aweights": aweights, "dtype": dtype}
    given = (m, y, rowvar, bias, ddof), {key: value for key, value in given.items() if value is not None}
    m, *more = tensors(*[t for t in (m, y, aweights) if t is not None])
    more = iter(more)
    y = next(more) if y is not None else None
    aweights = next(more) if aweights is not None else None
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if y is not None and y.ndim > 2:
        raise ValueError("y has more than 2 dimensions")

    def rows(t, one_row_stays):
        t = t.reshape((1,) * (2 - t.ndim) + t.shape)
        return t if rowvar or one_row_stays else t.T

    # A vector is one variable, whatever rowvar says; of y a matrix of one row is too.
    x = rows(m, m.ndim == 1 or (m.ndim == 2 and keeps_one_row(m.shape)))
    xp = backend_of(x).xp
    if dtype is not None:
        numpy.cov(numpy.eye(2), dtype=dtype)  # NumPy's error for a dtype in which means are none
    dtype = dtype if dtype is not None else F["result_type"](*[t for t in (x, y) if t is not None], xp.float64)
    x = x.astype(dtype)
    if not x.shape[0]:
        return beside(numpy.zeros((0, 0)), x) + x.sum().real
    if y is not None:
        x = F["concat"]([x, rows(y, y.ndim < 2 or y.shape[0] == 1).astype(dtype)])
    if ddof is None:
        ddof = 0 if bias else 1
    weights = None
    if fweights is not None:
        fweights = host(fweights)
        if not (fweights == fweights.round()).all():
            raise TypeError("fweights must be integer")
        _check_weights("fweights", fweights, x.shape[1])
        weights = beside(fweights.astype(float), x)
    if aweights is not None:
        _check_weights("aweights", host(aweights), x.shape[1])
        if not xp.isdtype(aweights.dtype, "complex floating"):
            aweights = aweights.astype(xp.float64)  # as NumPy has them, whose squares leave float32's range
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        mean, total = x.mean(axis=1, keepdims=True), float(x.shape[1])
        factor = total - ddof
    else:
        total = weights.sum()
        mean = (x * weights).sum(axis=1, keepdims=True) / total
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = total - ddof
        else:
            factor = total - ddof * (weights * aweights).sum() / total
    away = x - mean
    weighted = away if weights is None else away * weights
    if not host(factor) > 0:
        import warnings

        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        return (away @ weighted.T.conj() / 0.0).squeeze()
    return as_plain(numpy.cov, (away @ weighted.T.conj() / factor).squeeze(), *given[0], **given[1])


def _check_weights(name, weights, samples):
    """NumPy's errors for weights of its covariances."""
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != samples:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if (weights < 0).any():
        raise ValueError(f"{name} cannot be negative")


@implements("corrcoef", values=True)
def _corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = _cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = F["sqrt"](F["real"](F["diagonal"](c)))
    c = c / deviation[:, None] / deviation[None, :]
    # Rounding may leave [-1, 1]; NumPy clips the values, which is no change of the derivative.
    values = host(c)
    clipped = numpy.clip(values.real, -1, 1) + (
        1j * numpy.clip(values.imag, -1, 1) if numpy.iscomplexobj(values) else 0
    )
    return c + beside(clipped - values, c)


@implements("trapezoid", values=True)
def _trapezoid(y, x=None, dx=1.0, axis=-1):
    if x is None:
        y = tensor_of(y)
    else:
        y, x = tensors(y, x)
    if isinstance(axis, bool):
        raise TypeError("an integer is required")
    # Every step counts `axis` by the array that it gets: y, x of several axes, and the product of both.
    (at,) = core_axes("raw", axis, y)
    if x is not None:
        if x.ndim == 1:
            dx = F["diff"](x).reshape((-1,) + (1,) * (-1 - at))
        else:
            dx = F["diff"](x, axis=core_axes("raw", axis, x)[0])
    upper, lower = y[at_axis(at + y.ndim, slice(1, None))], y[at_axis(at + y.ndim, slice(None, -1))]
    areas = dx * (upper + lower) / 2.0
    return areas.sum(axis=core_axes("raw", axis, areas)[0])


def _has_zero(x):
    raw = raw_array(x)
    return raw.item() == 0 if type(raw) is numpy.ndarray and not raw.ndim else not host(x).all()


@implements("geomspace", values=True)
def _geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = tensors(start, stop)
    xp = backend_of(start).xp
    if dtype is not None and numpy.dtype(dtype).kind == "c":
        start, stop = start.astype(dtype), stop.astype(dtype)
    is_complex = xp.isdtype(F["result_type"](start, stop), "complex floating")
    if isinstance(raw_array(start), numpy.ndarray):  # NumPy's result has double precision, whatever its ends have
        double = xp.complex128 if is_complex else xp.float64
        start, stop = [end if end.dtype == double else end.astype(double) for end in (start, stop)]
    if _has_zero(start) or _has_zero(stop):
        raise ValueError("Geometric sequence cannot include zero")
    weights = _weights(num, endpoint, start, stop)
    if is_complex:
        inner = start * F["exp"](weights * F["log"](stop / start))  # the direction of `start` has a derivative too
    else:
        sign = F["sign"](start.detach())
        inner = sign * F["exp"](F["log"](sign * start) * (1 - weights) + F["log"](sign * stop) * weights)
    # NumPy puts the ends in their places, whatever lies between them.
    first, last = min(num, 1), int(endpoint and num > 1)
    ends = [F["broadcast_to"](end, inner.shape[1:])[None] for end in (start, stop)]
    inner = F["concat"]([ends[0][:first], inner[first : num - last], ends[1][:last]])
    return _spaced(numpy.geomspace, inner, (host(start), host(stop), num, endpoint), dtype, axis)


def _spaced(function, points, ends, dtype, axis):
    """Points in the dtype and along the axis that were asked for, with the bits of NumPy's; integers are NumPy's
    values, without derivative."""
    values = numpy.asarray(function(*ends, dtype=dtype))
    if dtype is not None:
        points = beside(values, points) if numpy.dtype(dtype).kind not in "fc" else points.astype(dtype)
    points = with_bits(points, values)
    return F["moveaxis"](points, 0, core_axes("result", axis, points)[0]) if axis else points


@implements("logspace", values=True)
def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    start, stop, base = operands(start, stop, base)
    if base.ndim:  # it broadcasts with the ends, on whose axes `axis` is counted
        ndim = max(t.ndim for t in (start, stop, base))
        start, stop, base = [t.reshape((1,) * (ndim - t.ndim) + t.shape) for t in (start, stop, base)]
    weights = _weights(num, endpoint, start, stop)
    found = F["pow"](base, _between(start, stop, weights, endpoint))
    ends = [host(start), host(stop), num, endpoint, host(base)]
    return _spaced(numpy.logspace, found, ends, dtype, axis)


def _weights(num, endpoint, start, stop):
    """How far along each of `num` points is, on an axis in front; in the precision of both ends."""
    weights = numpy.linspace(0.0, 1.0, num, endpoint=endpoint)
    weights = beside(weights.reshape((-1,) + (1,) * max(start.ndim, stop.ndim)), start)
    xp = backend_of(start).xp
    single = F["result_type"](start, stop) in (xp.float32, xp.complex64)
    return weights.astype(xp.float32) if single else weights


def _between(start, stop, weights, endpoint):
    """The points; the last is `stop` itself, as NumPy's is, though an infinity stands at the other end."""
    points = start * (1 - weights) + stop * weights
    if not endpoint or points.shape[0] < 2 or bool(F["all"](F["isfinite"](start))):
        return points
    return F["concat"]([points[:-1], F["broadcast_to"](stop, points.shape[1:])[None].astype(points.dtype)])


@implements("linspace")
def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    start, stop = operands(start, stop)
    if start.ndim == 0 and stop.ndim == 0 and not retstep and axis == 0 and not _is_long(start, stop):
        return F["linspace"](start, stop, num, endpoint=endpoint, dtype=dtype, device=device)
    given = (start, stop, num, endpoint, retstep, dtype, 0 if axis is None else axis)
    weights = _weights(num, endpoint, start, stop)
    points = _between(start, stop, weights, endpoint)
    if dtype is not None and numpy.dtype(dtype).kind in "iub":  # NumPy's values, which have no derivative
        points = beside(numpy.linspace(host(start), host(stop), num, endpoint, dtype=dtype), start)
    elif dtype is not None:
        points = points.astype(dtype)
    points = F["moveaxis"](points, 0, axis) if axis is None or axis else points
    parts = num - 1 if endpoint else num
    found = (points, (stop - start) / parts if parts > 0 else numpy.nan) if retstep else points
    return as_plain(numpy.linspace, found, *given)


def _is_long(*ends):
    """Whether an end has more than double precision, which places computed in Python's numbers have not."""
    return any(isinstance(raw_array(t), numpy.ndarray) and t.dtype.char in "gG" for t in ends)
