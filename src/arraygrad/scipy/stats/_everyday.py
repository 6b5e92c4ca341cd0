"""Everyday calls of common distributions, recorded as one node: points inside of the support, in double precision.

May import: autograd, core.constructors, core.tensor, scipy._everyday, scipy.stats._continuous, scipy.stats._discrete,
scipy.stats._univariate, numpy, SciPy.

SciPy's methods look where points are outside of the support and parameters refused, choose the others, and put their
results back: 50 to 90 us, and some passes over large arrays, of which one is the logarithm of the scale, as often as
there are points. Where all points are inside, SciPy's own formula on all of them has the same bits. What else there is
(ends, nan, other dtypes) is computed by SciPy's method, with the declared gradients. Guarded by
tests/scipy_rules/test_everyday_calls.py.
"""

import numpy as np
from scipy import special, stats

from arraygrad.autograd import grad as gradients_of
from arraygrad.autograd.grad_mode import enable_grad
from arraygrad.core.constructors import asarray
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY
from arraygrad.scipy._everyday import Agreeing, declared_gradient, everyday, gradient_of, named_rule
from arraygrad.scipy.stats import _continuous, _discrete  # noqa: F401 (declare what is served here)
from arraygrad.scipy.stats._univariate import FAMILIES, MASSES, is_deep

__all__ = []

COMMON = """
    norm expon uniform gamma beta laplace logistic cauchy chi2 lognorm t weibull_min pareto halfnorm gumbel_r invgamma
    rayleigh
""".split()
COUNTS = "poisson bernoulli geom".split()
_METHODS = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf")
_DOUBLE = np.dtype(np.float64)

# Slopes of log-densities in standard form by the point and the shapes, where they are simple. Others are the engine's,
# of the formula that was declared.
_SLOPES: dict = {
    "norm": {"x": lambda y: -y},
    "expon": {"x": lambda y: -1.0},
    "gamma": {"x": lambda y, a: (a - 1.0) / y - 1.0, "a": lambda y, a: np.log(y) - special.digamma(a)},
    "beta": {
        "x": lambda y, a, b: (a - 1.0) / y - (b - 1.0) / (1.0 - y),
        "a": lambda y, a, b: np.log(y) - (special.digamma(a) - special.digamma(a + b)),
        "b": lambda y, a, b: np.log1p(-y) - (special.digamma(b) - special.digamma(a + b)),
    },
}


def _taken(value):
    """Whether a parameter is a number or an array of double precision."""
    kind = type(value)
    return kind is float or kind is int or (kind is np.ndarray and value.dtype == _DOUBLE)


def _agreeing(dist, method, shorter):
    return Agreeing(getattr(dist, method), shorter)


def _smallest(value):
    return value if type(value) is float or type(value) is int else value.min(initial=np.inf)


def _row(value):
    """As an array of one axis at least: an operator of a scalar may round another way than that of an array."""
    return value if type(value) is np.ndarray and value.ndim else np.reshape(value, (1,)).astype(float)


class _Values:
    """SciPy's values of one method: by its formula in standard form where all points are inside of the support."""

    def __init__(self, dist, method, keys):
        self.dist, self.keys = dist, keys
        self.formula, self.method = getattr(dist, f"_{method}"), method

    def __call__(self, x, *args, **kwargs):
        """The values; None where SciPy's method has to look."""
        n = len(self.keys)
        given = dict(zip((*self.keys, "loc", "scale"), args, strict=False))
        given.update(kwargs)
        shapes = [given[key] for key in self.keys]
        loc, scale = given.get("loc", 0), given.get("scale", 1)
        if not (_taken(x) and _taken(loc) and _taken(scale) and all(_taken(shape) for shape in shapes)):
            return None
        with np.errstate(all="ignore"):  # what there is to say SciPy's method says
            y = (x - loc) / scale
        y, number = (y, False) if type(y) is np.ndarray and y.ndim else (np.reshape(y, (1,)), True)
        if not y.size or not _smallest(scale) > 0 or not (self.dist.a < y.min() and y.max() < self.dist.b):
            return None
        if n:
            number = number and not any(np.ndim(shape) for shape in shapes)
            shapes = [_row(shape) for shape in shapes]
            if not np.all(self.dist._argcheck(*shapes)):
                return None
        found = self.formula(y, *shapes)
        if type(scale) is not int or scale != 1:
            if self.method == "logpdf":
                found = found - np.log(scale)
            elif self.method == "pdf":
                found = found / scale
        return found[0] if number else found


def _points(dist, bound, ans):
    """(y, scale) of points that are all inside of the support; None where the declared rule has to look."""
    x, loc, scale = bound["x"], bound["loc"], bound["scale"]
    y = (x - loc) / scale
    if not y.size or not (dist.a < y.min() and y.max() < dist.b and scale.min() > 0 and np.isfinite(ans).all()):
        return None
    return y, scale


def _pushed(formula, g, point, shapes, key):
    """g times the slope of formula(point, **shapes) in `key`, "x" being the point. None: of another shape."""
    values = {"x": point, **shapes}
    target = values[key] = asarray(np.asarray(values[key])).detach().requires_grad_()
    with enable_grad():
        found = formula(*values.values())
    if found.shape != g.shape:
        return None
    return gradients_of([found], [target], [asarray(g)])[0].array


def _density_rule(name, method, key, family):
    """The gradient of one parameter of logpdf or pdf."""
    full, slopes = f"stats.{name}.{method}", _SLOPES.get(name, {})

    def slope(g, y, shapes, key):
        if key in slopes:
            return g * slopes[key](y, *shapes.values())
        return _pushed(family.logpdf, g, y, shapes, key)

    def plain(g, ans, bound):
        points = _points(family.dist, bound, ans)
        if points is None:
            return None
        y, scale = points
        shapes = {one: bound[one] for one in family.keys}
        g = g * ans if method == "pdf" else g
        if key in shapes:
            return slope(g, y, shapes, key)
        if y.shape != g.shape:
            y = np.broadcast_to(y, g.shape)  # a gradient for each result, also of one point with several shapes
        found = slope(g, y, shapes, "x")
        if found is None:
            return None
        if key == "scale":
            return -(found * y + g) / scale
        return found / scale if key == "x" else -found / scale

    return _with_declared(full, key, plain)


def _tail_rule(name, method, key, family):
    """The gradient of the point, loc or scale of a distribution function."""
    dist = family.dist
    sign = 1.0 if method.endswith("cdf") else -1.0

    def plain(g, ans, bound):
        points = _points(dist, bound, ans)
        if points is None:
            return None
        y, scale = points
        shapes = [bound[one] for one in family.keys]
        if method.startswith("log"):
            if np.any(is_deep(ans)):
                return None
            found = sign * g * np.exp(dist._logpdf(y, *shapes) - ans) / scale
        else:
            found = sign * g * dist._pdf(y, *shapes) / scale
        return found if key == "x" else -found if key == "loc" else -found * y

    return _with_declared(f"stats.{name}.{method}", key, plain)


def _with_declared(full, key, plain):
    """A rule of plain(g, ans, bound) on raw arrays; where that gives None, and on Tensors, of what was declared."""

    def found(g, ans, bound):
        if not isinstance(g, Tensor):
            with np.errstate(all="ignore"):
                gradient = plain(g, ans, bound)
            if gradient is not None:
                return gradient
        return declared_gradient(full, key, g, ans, bound)

    return named_rule([*REGISTRY[full].signature.parameters], found)


# -- discrete ---------------------------------------------------------------------------------------------------------


class _Masses:
    """SciPy's values of logpmf or pmf: by its formula where all points are whole numbers inside of the support."""

    def __init__(self, dist, method, keys):
        self.dist, self.keys = dist, keys
        self.formula = getattr(dist, f"_{method}")

    def __call__(self, k, *args, **kwargs):
        """The values; None where SciPy's method has to look."""
        given = dict(zip((*self.keys, "loc"), args, strict=False))
        given.update(kwargs)
        shapes, loc = [given[key] for key in self.keys], given.get("loc", 0)
        if not (_counted(k) and _counted(loc) and all(_taken(shape) for shape in shapes)):
            return None
        number = not any(np.ndim(value) for value in (k, loc, *shapes))
        k = k - loc if type(k) is np.ndarray and k.ndim else np.reshape(k, (1,)) - loc
        shapes = [_row(shape) for shape in shapes]
        low, high = self.dist._get_support(*shapes)
        if not k.size or not (np.max(low) <= k.min() and k.max() <= np.min(high)):
            return None
        if not np.all(self.dist._argcheck(*shapes)) or (k.dtype.kind == "f" and not np.all(np.floor(k) == k)):
            return None
        found = self.formula(k, *shapes)
        return found[0] if number else found


def _counted(value):
    kind = type(value)
    return kind is int or kind is float or (kind is np.ndarray and value.dtype.char in "dlq")


def _mass_rule(name, method, key, family):
    """The gradient of a shape parameter of logpmf or pmf."""

    def plain(g, ans, bound):
        k = bound["k"] - bound["loc"]
        shapes = {one: bound[one] for one in family.keys}
        if not k.size or not np.isfinite(ans).all() or not np.all(np.floor(k) == k):
            return None
        low, high = family.dist._get_support(*shapes.values())
        if not (np.max(low) <= k.min() and k.max() <= np.min(high)):
            return None
        g = g * ans if method == "pmf" else g
        if name == "poisson":  # whose formula has a factorial beside
            return g * (k / shapes["mu"] - 1.0) if shapes["mu"].min() > 0 else None
        return _pushed(family.logpmf, g, k, shapes, key)

    return _with_declared(f"stats.{name}.{method}", key, plain)


def _without_tensor(args, kwargs):
    """Calls of a point that is no Tensor: one that requires grad is refused, with the reason."""
    return None if isinstance(args[0] if args else kwargs.get("k"), Tensor) else (args, kwargs)


def _none(g):
    return np.zeros_like(g)


def _serve_masses(name, family):
    for method in ("logpmf", "pmf"):
        full, kind = f"stats.{name}.{method}", type(family.dist)
        if full not in REGISTRY or getattr(kind, method) is not getattr(stats.rv_discrete, method):
            continue
        rules = {"k": _none, **{key: _mass_rule(name, method, key, family) for key in family.keys}}
        values = _agreeing(family.dist, method, _Masses(family.dist, method, family.keys))
        signature, place_of_loc = ", ".join(["k", *family.keys, "loc=0"]), len(family.keys) + 1
        everyday(full, signature, rules=rules, values=values, served=_without_tensor, dtypes="d",
                 numbers=(place_of_loc,))  # fmt: skip


# -- what is served ---------------------------------------------------------------------------------------------------


def _serve(name, family):
    dist = family.dist
    kind = type(dist)
    if not family.fixed or name not in FAMILIES:
        return
    for method in _METHODS:
        full = f"stats.{name}.{method}"
        if full not in REGISTRY or getattr(kind, method) is not getattr(stats.rv_continuous, method):
            continue
        # A default may be a difference of others, or the logarithm of what underflows.
        own = getattr(kind, "_logpdf" if "log" in method else "_pdf")
        precise = own not in (stats.rv_continuous._logpdf, stats.rv_continuous._pdf)
        rules = {}
        for key in REGISTRY[full].of:
            if method in ("logpdf", "pdf"):
                rules[key] = _density_rule(name, method, key, family)
            elif key in family.keys or not precise:
                rules[key] = gradient_of(full, key, [*REGISTRY[full].signature.parameters])
            else:
                rules[key] = _tail_rule(name, method, key, family)
        signature = ", ".join(["x", *family.keys, "loc=0", "scale=1"])
        everyday(full, signature, rules=rules, values=_agreeing(dist, method, _Values(dist, method, family.keys)),
                 dtypes="d")  # fmt: skip


for _name in COMMON:
    if _name in FAMILIES:
        _serve(_name, FAMILIES[_name])
for _name in COUNTS:
    if _name in MASSES:
        _serve_masses(_name, MASSES[_name])
