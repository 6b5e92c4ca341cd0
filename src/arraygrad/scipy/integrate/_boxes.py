"""Integrals over boxes (`cubature`) whose gradients are integrals of the same kind.

May import: arraygrad, core.tensor, implicit.common, scipy._declare, scipy._callbacks, scipy._guards, scipy._values,
scipy.integrate, transforms, numpy, SciPy.

The box is mapped to the unit cube, so that limits are parameters of the integrand like all others. The gradient is
taken over regions of its own: those that are fine enough for the value may miss where the derivative lives, as for
f = a * peak(x) at a = 0.
"""

import functools
import warnings

import numpy as np
from scipy import integrate

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import raw_function
from arraygrad.scipy._callbacks import lifted, tracked
from arraygrad.scipy._declare import REGISTRY, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._values import at_value, like_plain
from arraygrad.scipy.integrate._chapter import CHAPTER
from arraygrad.scipy.integrate._functions import LEIBNIZ, split
from arraygrad.transforms.following import jvp, vjp

__all__ = ["nodes_and_weights"]

# Divisions for a gradient: each evaluates a derivative, which takes some ten times as long as the function.
_MOST = 2000
# Points for which the function is evaluated at once.
_AT_ONCE = 2**14


@functools.lru_cache(maxsize=32)
def nodes_and_weights(name, d):
    """(nodes, weights) of SciPy's rule in the unit cube: its result for functions that are 1 at one node."""
    nodes = []

    def f(x):
        nodes.append(np.asarray(x))
        n = len(nodes[0])
        return np.eye(n) if len(nodes) == 1 else np.zeros((len(x), n))  # then it estimates the error

    found = integrate.cubature(f, np.zeros(d), np.ones(d), rule=name, max_subdivisions=0, rtol=np.inf)
    return nodes[0], np.asarray(found.estimate)


class _Cube:
    """The unit cube and how it is divided: SciPy's rule, tolerances, break points."""

    def __init__(self, d, rule, rtol, atol, most, points):
        self.d, self.rule, self.rtol, self.atol, self.most, self.points = d, rule, rtol, atol, most, points

    def regions(self, f):
        """(starts, extents) of the regions over which a function of points, one number for each, is integrated."""
        nodes, weights = nodes_and_weights(self.rule, self.d)
        size = float(weights @ np.abs(f(nodes)))
        if not np.isfinite(size):
            size = 0.0
        # A derivative that cancels is as exact as its parts are.
        found = integrate.cubature(f, np.zeros(self.d), np.ones(self.d), rule=self.rule, rtol=self.rtol,
                                   atol=max(self.atol, self.rtol * size, 1e-300), max_subdivisions=self.most,
                                   points=self.points)  # fmt: skip
        if found.status != "converged":
            warnings.warn(
                f"scipy.integrate.cubature: the integral of its derivative, of size {size:.2g}, has an error of about "
                f"{float(np.max(found.error)):.1g} after {self.most} divisions. Where the function has a kink or a "
                "jump, give its place in points",
                integrate.IntegrationWarning,
                stacklevel=2,
            )
        return (np.stack([np.asarray(v) for v in ends]) for ends in zip(
            *[(region.a, region.b - region.a) for region in found.regions], strict=True))  # fmt: skip

    def batches(self, f):
        """(points, weights) of all regions for `f`, in parts of bounded size."""
        nodes, weights = nodes_and_weights(self.rule, self.d)
        starts, extents = self.regions(f)
        step = max(1, _AT_ONCE // len(nodes))
        for i in range(0, len(starts), step):
            start, extent = starts[i : i + step, None], extents[i : i + step, None]
            yield (start + extent * nodes).reshape(-1, self.d), np.ravel(np.prod(extent, axis=-1) * weights)


def _at(f, u):
    """f at fixed points, as a function of its parameters."""

    def of(*params):
        return f(u, *params)

    of.differentiates = True  # the function may well be constant
    return of


def _product(g, slopes):
    """The real inner product of a cotangent and a derivative along a direction, for each point."""
    product = ag.conj(ag.asarray(g)) * slopes
    product = ag.sum(product, axis=tuple(range(1, product.ndim)))
    return ag.real(product) if ag.isdtype(product.dtype, "complex floating") else product


def _known(args, f, cube, value):
    return np.asarray(value)


@ruled("integrate._box", _known, "args", LEIBNIZ, inert="f cube value")
def _box(g, ans, args, f, cube):
    live = [i for i, v in enumerate(args) if isinstance(v, Tensor)]

    def of_live(u, *values):
        every = list(args)
        for i, v in zip(live, values, strict=True):
            every[i] = v
        return f(u, *every)

    parts = split(ag.asarray(_box_gradient((g, *[args[i] for i in live]), of_live, cube)), [args[i] for i in live])
    found = [None] * len(args)
    for i, part in zip(live, parts, strict=True):
        found[i] = part
    return {"args": tuple(found)}


def _gradient(args, f, cube):
    """The gradients of <g, integral of f> by all parameters, in one flat array; args are g and the parameters."""
    g, *params = map(np.asarray, args)
    numbers = np.random.default_rng(len(params))
    directions = tuple(_direction(numbers, p) for p in params)

    def along(u):
        slopes = jvp(_at(f, u), tuple(params), directions)[1]
        return np.asarray(raw(_product(g, ag.asarray(slopes))), dtype=np.float64)

    total = 0.0
    for u, weights in cube.batches(along):
        value, pull = vjp(_at(f, u), *params)
        share = weights.reshape(-1, *[1] * g.ndim) * g
        parts = pull(share.astype(np.asarray(raw(value)).dtype, copy=False))
        total = total + np.concatenate([np.ravel(np.asarray(raw(part))) for part in parts])
    return np.asarray(total)


def _direction(numbers, like):
    """A direction in which no two parameters' derivatives cancel."""
    found = numbers.uniform(0.5, 1.5, like.shape) * numbers.choice([-1.0, 1.0], like.shape)
    return np.asarray(found).astype(like.dtype)


@ruled("integrate._box_gradient", _gradient, "args", LEIBNIZ, inert="f cube")
def _box_gradient(h, ans, args, f, cube):
    """<h, gradient> is the integral of one more function: the derivative along h, times g."""
    g, *params = args

    def slope(u, g, h, *params):
        return _product(g, ag.asarray(jvp(_at(f, u), tuple(params), tuple(split(h, params)))[1]))

    every = (ag.asarray(1.0), g, h, *params)
    parts = split(ag.asarray(_box_gradient(every, slope, cube)), every[1:])
    return {"args": (parts[0], *parts[2:])}


for _name in ("_box", "_box_gradient"):
    REGISTRY.pop(f"integrate.{_name}")  # no function of SciPy's


@CHAPTER.composition("cubature", "a b args", LEIBNIZ)
def _cubature(f, a, b, *, rule="gk21", rtol=1e-8, atol=0, max_subdivisions=10000, args=(), workers=1, points=None):
    name = "scipy.integrate.cubature"
    low, high = np.asarray(raw(a)), np.asarray(raw(b))
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))) or not isinstance(rule, str):
        raise NotDifferentiable(f"arraygrad.{name}: finite limits and rules by name have derivatives")
    function, parameters = lifted(name, f, args)
    result = integrate.cubature(raw_function(name, function, [raw(v) for v in parameters]), low, high, rule=rule,
                                rtol=rtol, atol=atol, max_subdivisions=max_subdivisions, workers=workers,
                                points=points)  # fmt: skip

    def on_cube(u, a, b, *parameters):
        size = ag.asarray(b) - a
        return ag.prod(size) * ag.asarray(function(a + size * ag.asarray(u, dtype=size.dtype), *parameters))

    dtype = low.dtype if low.dtype.kind == "f" else np.dtype(np.float64)
    size = np.where(high == low, 1, high - low)
    inside = None if points is None else [(np.asarray(p) - low) / size for p in points]
    most = _MOST if max_subdivisions is None else min(_MOST, max_subdivisions)
    cube = _Cube(low.size, rule, float(rtol), float(atol), most, inside)
    ends = [v if isinstance(v, Tensor) else np.asarray(raw(v), dtype) for v in (_tensor(a), _tensor(b))]
    result.estimate = _box((*ends, *parameters), on_cube, cube, result.estimate)
    if isinstance(result.estimate, Tensor) and result.estimate.requires_grad:  # estimates of regions have no gradient
        result.pop("regions", None) if hasattr(result, "pop") else delattr(result, "regions")
    return result


@CHAPTER.composition("qmc_quad", "a b closure", "the mean at the same points")
def _qmc_quad(func, a, b, *, n_estimates=8, n_points=1024, qrng=None, log=False):
    name = "scipy.integrate.qmc_quad"
    if log:
        raise NotDifferentiable(f"arraygrad.{name}: log=False has derivatives")
    f, parameters = lifted(name, func)
    a, b = _tensor(a), _tensor(b)
    low, high = np.broadcast_arrays(np.atleast_1d(raw(a)), np.atleast_1d(raw(b)))
    size, calls = ag.asarray(b) - a, []

    def called(x):
        at = x
        if tracked((a, b)):
            column = (-1, *[1] * (np.ndim(x) - 1))
            share = (x - low.reshape(column)) / (high - low).reshape(column)
            at = ag.reshape(ag.asarray(a), column) + ag.reshape(size, column) * share
        calls.append((np.shape(x), f(at, *parameters)))
        return raw(calls[-1][1])

    with np.errstate(divide="ignore", invalid="ignore"):
        result = integrate.qmc_quad(called, low, high, n_estimates=n_estimates, n_points=n_points, qrng=qrng)
    if not np.all(low != high):
        raise NotDifferentiable(f"arraygrad.{name}: equal limits have no derivative here")
    calls = calls[-n_estimates:]  # SciPy looks at the function before
    if any(shape != (low.size, n_points) for shape, _ in calls):
        raise NotDifferentiable(f"arraygrad.{name}: a function of arrays (len(a), n_points) has a derivative")
    volume = ag.prod(ag.broadcast_to(size, low.shape))
    found = ag.stack([volume * ag.mean(ag.asarray(values)) for _, values in calls])
    error = ag.std(found, correction=1) / np.sqrt(n_estimates)
    parts = []
    for t, plain in zip((ag.mean(found), error), result, strict=True):
        t = ag.astype(t, np.asarray(plain).dtype)  # SciPy computes in the precision of the limits
        parts.append(like_plain(at_value(t, plain), plain))
    return type(result)(*parts)


def _tensor(limits):
    """A list of recorded limits as one Tensor."""
    return ag.stack([ag.asarray(v) for v in limits]) if isinstance(limits, (list, tuple)) and any(
        isinstance(v, Tensor) for v in limits) else limits  # fmt: skip
