"""Statistical functions: reductions and scans.

May import: ops.kinds, ops._axes, ops._helpers, ops._scans. Rules use only the standard.
"""

from arraygrad.ops import _scans
from arraygrad.ops._axes import at_axis, count, expand_reduced, from_start, normalize_axes
from arraygrad.ops._helpers import at_kinks, is_complex, over_nonzero
from arraygrad.ops.kinds import reduction, scan

WITH_DTYPE = "x, /, *, axis=None, dtype=None, keepdims=False"
WITH_CORRECTION = "x, /, *, axis=None, correction=0.0, keepdims=False"
SCAN = "x, /, *, axis=None, dtype=None, include_initial=False"


def _sum(xp, g, x_shape, axis, keepdims):
    return xp.broadcast_to(expand_reduced(xp, g, x_shape, axis, keepdims), x_shape)


def _mean(xp, g, x_shape, axis, keepdims):
    g = expand_reduced(xp, g, x_shape, axis, keepdims)
    return xp.broadcast_to(g / max(count(x_shape, axis), 1), x_shape)


reduction(
    "sum",
    WITH_DTYPE,
    derivative="linear",
    x=_sum,
    method=True,
    numpy=("sum",),
    folds="add",
    doc="Sum over `axis` (None: all, an int or a tuple), computed in `dtype` if given; numeric dtypes. The sum of "
    "nothing is 0.",
)
reduction(
    "mean",
    derivative="linear",
    x=_mean,
    method=True,
    numpy=("mean",),
    doc="Arithmetic mean over `axis` (None: all, an int or a tuple); floating-point dtypes. The mean of nothing is "
    "nan.",
)


def _factors(xp, g, x):
    """What was multiplied: of complex numbers the real parts where the product was taken in a real dtype."""
    return xp.real(x) if is_complex(xp, x.dtype) and not is_complex(xp, g.dtype) else x


def _prod(xp, g, x, axis, keepdims):
    # no division by x: a zero's own derivative is the product of the others
    x = _factors(xp, g, x)
    if x.ndim == 0:  # NumPy takes axis=0 there too
        return g
    axes = normalize_axes(axis, x.ndim)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    order = kept + axes
    moved = xp.permute_dims(x, order)
    rows = xp.reshape(moved, tuple(x.shape[i] for i in kept) + (count(x.shape, axis),))
    others = xp.reshape(_scans.exclusive_products(xp, rows), moved.shape)
    others = xp.permute_dims(others, tuple(order.index(i) for i in range(x.ndim)))
    return expand_reduced(xp, g, x.shape, axis, keepdims) * others


reduction(
    "prod",
    WITH_DTYPE,
    x=_prod,
    holomorphic=True,
    method=True,
    numpy=("prod",),
    folds="multiply",
    doc="Product over `axis` (None: all, an int or a tuple), computed in `dtype` if given; numeric dtypes. The product "
    "of nothing is 1. The gradient is exact for any number of zeros: products of the elements to the left and to the "
    "right, nothing is divided.",
)


def _extremum(xp, g, x, ans, axis, keepdims):
    ans = expand_reduced(xp, ans, x.shape, axis, keepdims)
    # An element that is nan makes the extremum nan: equal to no number, also not to itself.
    hit = xp.astype((x == ans) | (x != x), g.dtype)
    ties = xp.sum(hit, axis=axis, keepdims=True)
    return hit * (expand_reduced(xp, g, x.shape, axis, keepdims) / ties)


_EXTREMUM = (
    "over `axis` (None: all, an int or a tuple); real dtypes; an error if nothing is reduced. "
    "Ties share the gradient evenly, over all axes reduced, as PyTorch's amax does; where the result is nan, the "
    "elements that are nan, as PyTorch's max does."
)
for _name, _which in (("max", "Largest"), ("min", "Smallest")):
    reduction(
        _name,
        x=_extremum,
        method=True,
        numpy=(_name, f"a{_name}"),
        folds=f"{_name}imum",
        doc=f"{_which} element {_EXTREMUM}",
    )


def _deviation(xp, x, axis, correction):
    """(x - mean) / (N - correction): the derivative of half the variance, (inf or nan where N <= correction)."""
    freedom = max(count(x.shape, axis) - correction, 0)
    return (x - xp.mean(x, axis=axis, keepdims=True)) / freedom


def _var(xp, g, x, axis, correction, keepdims):
    return 2 * expand_reduced(xp, g, x.shape, axis, keepdims) * _deviation(xp, x, axis, correction)


def _std(xp, g, x, ans, axis, correction, keepdims):
    def spread(a):
        return expand_reduced(xp, a, x.shape, axis, keepdims)

    away = _deviation(xp, x, axis, correction)
    found = spread(over_nonzero(xp, g, ans)) * away
    # One number does not deviate from its mean, wherever it is: no kink.
    return found if count(x.shape, axis) == 1 else at_kinks(xp, found, g, away, ans, spread)


reduction(
    "var",
    WITH_CORRECTION,
    x=_var,
    method=True,
    numpy=("var",),
    doc="Variance over `axis` (None: all, an int or a tuple): squared deviations summed and divided by N - correction; "
    "floating-point dtypes. inf or nan, with its gradient, where N <= correction.",
)
reduction(
    "std",
    WITH_CORRECTION,
    x=_std,
    method=True,
    numpy=("std",),
    doc="Standard deviation, the root of `var`, over `axis` (None: all, an int or a tuple); floating-point dtypes. The "
    "gradient of a constant's deviation is zero, as in PyTorch.",
)


def _without_initial(g, axis, include_initial):
    return g[at_axis(axis, slice(1, None))] if include_initial else g


def _cumulative_sum(xp, g, axis, include_initial):
    axis = from_start(axis, g.ndim)
    g = _without_initial(g, axis, include_initial)
    return xp.flip(xp.cumulative_sum(xp.flip(g, axis=axis), axis=axis), axis=axis)


def _cumulative_prod(xp, g, x, axis, include_initial):
    if x.ndim == 0:  # NumPy takes axis=0 there too, and its result has one axis
        return g[-1]
    x = _factors(xp, g, x)
    axis = from_start(axis, x.ndim)
    g = xp.moveaxis(_without_initial(g, axis, include_initial), axis, -1)
    x = xp.moveaxis(x, axis, -1)
    before = xp.cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]
    return xp.moveaxis(before * _scans.reversed_recurrence(xp, x, g), -1, axis)


scan(
    "cumulative_sum",
    SCAN,
    core="(n)->(n+include_initial)",
    derivative="linear",
    x=_cumulative_sum,
    numpy=("cumulative_sum",),
    folds="add",
    doc="Running sums along `axis` (None for one dimension only), computed in `dtype` if given; numeric dtypes. With "
    "`include_initial` the result begins with 0 and is one longer.",
)
scan(
    "cumulative_prod",
    SCAN,
    core="(n)->(n+include_initial)",
    x=_cumulative_prod,
    holomorphic=True,
    numpy=("cumulative_prod",),
    folds="multiply",
    doc="Running products along `axis` (None for one dimension only), computed in `dtype` if given; numeric dtypes. "
    "With `include_initial` the result begins with 1 and is one longer. The gradient is exact for any number of "
    "zeros, in log(n) steps: nothing is divided.",
)
