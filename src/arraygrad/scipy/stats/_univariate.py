"""How a distribution of one variable is declared: its log-density and its tails in standard form, by formula.

May import: arraygrad, scipy._declare, scipy._guards, scipy._incomplete, scipy._quadrature,
scipy.stats._summaries_of_laws, numpy, SciPy.

Everything else follows: with y = (x - loc) / scale and the density f of the standard form,

    logpdf: log f(y) - log(scale)              pdf: its exponential
    cdf, sf, logcdf, logsf: in x, loc and scale by the density, in the shape parameters by the formula of the tails
    ppf, isf: x solves cdf(x; shapes) = q, so dx/dq = 1 / pdf(x) and dx/dshape = -(dcdf/dshape) / pdf(x)

Outside of the support the density is constant, and gradients are zero; where SciPy says nan they are nan.
"""

import functools
import inspect
import math
from collections import namedtuple

import numpy as np
from scipy import stats
from scipy.stats import rv_continuous, rv_discrete

import arraygrad as ag
from arraygrad.scipy._declare import (
    REGISTRY,
    Rule,
    constant,
    gradients_of_composition,
    guarded,
    once,
    parsed,
    raw,
    refused,
    register,
)
from arraygrad.scipy._guards import Fixed, NotDifferentiable, handed_out, holds_tensor, taken_down
from arraygrad.scipy._incomplete import log_other, moved_end, signed, with_density
from arraygrad.scipy._quadrature import RELATIVE, tail_of_density
from arraygrad.scipy.stats._summaries_of_laws import Law, add_summaries, integrals, sums, with_scale

__all__ = [
    "FAMILIES",
    "MASSES",
    "OBJECTS",
    "Distribution",
    "Frozen",
    "continuous",
    "discrete",
    "is_deep",
    "measured",
]

# Name in scipy.stats -> Distribution, or our other objects with methods.
OBJECTS: dict = {}
# Name of a continuous distribution -> what its methods are made of.
FAMILIES: dict = {}
# Name of a discrete distribution -> (SciPy's, names of the shapes, logpmf(k, *shapes)).
Masses = namedtuple("Masses", "dist keys logpmf")
MASSES: dict = {}


class Distribution:
    """A distribution of scipy.stats whose methods are differentiable; frozen by calling it with parameters.

    Methods without a rule (`rvs`, `fit`, ...) are SciPy's, and refuse a Tensor that requires grad.
    """

    def __init__(self, name, methods, kind, attributes=None, held=None):
        self._name = name
        self._of_held = held  # parameters whose arrays a frozen one holds as they are, by name; None: all of them
        self.kind = kind
        self._methods = methods
        self._attributes = attributes or {}  # of the frozen distribution: name -> formula(*parameters)
        self.__doc__ = self.scipy_object.__doc__

    @property
    def scipy_object(self):
        """SciPy's own distribution."""
        return getattr(stats, self._name)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("_methods", "_name", "_attributes", "_of_held"):
            raise AttributeError(name)
        if name in self._methods:
            return self._methods[name]
        if name == "interval" and "ppf" in self._methods:
            return self._interval
        value = getattr(self.scipy_object, name)
        if name == "rvs" and getattr(value, "__func__", None) is rv_continuous.rvs:
            return self._rvs
        if name in _STANDARD and name[1:] in self._methods:
            return functools.partial(self._standard, name)
        if callable(value):
            return guarded(f"stats.{self._name}.{name}", value, _reason(name))
        return value

    def _standard(self, name, x, *shapes):
        """`_cdf(x, *shapes)` and its like, SciPy's methods of the standard form, which check nothing.

        Within the support they are the public ones. Beyond it they give what their formula gives there.
        """
        dist = self.scipy_object
        if not holds_tensor((x, shapes)):
            return getattr(dist, name)(x, *shapes)
        low, high = (0.0, 1.0) if name in ("_ppf", "_isf") else dist.support(*[raw(one) for one in shapes])
        plain = np.asarray(raw(x))
        if not np.all((plain > low) & (plain < high)):
            raise NotDifferentiable(
                f"arraygrad.scipy.stats.{self._name}.{name}: it checks nothing, and what it gives at the ends of the "
                f"support, {low} and {high}, and beyond has no rule; use {name[1:]}"
            )
        return self._methods[name[1:]](x, *shapes)

    def _rvs(self, *args, **kwargs):
        """Numbers that are drawn, as `rv_generic.rvs` makes them: of the standard law, times `scale`, plus `loc`."""
        dist = self.scipy_object
        names = [*filter(None, map(str.strip, (dist.shapes or "").split(","))), "loc", "scale", "size"]
        given = dict(zip(names, args, strict=False)) | kwargs
        loc, scale = given.pop("loc", 0), given.pop("scale", 1)
        drawn = guarded(f"stats.{self._name}.rvs", dist.rvs, _reason("rvs"))
        known = len(args) <= len(names) and holds_tensor((loc, scale)) and not holds_tensor(given)
        if not known or isinstance(dist, rv_discrete) or not np.any(raw(scale)):  # at zero SciPy draws nothing
            return drawn(*args, **kwargs)
        loc, scale = [ag.asarray(one) if holds_tensor(one) else one for one in (loc, scale)]
        # With another generator: what SciPy raises, and the shape of the result.
        trial = dist.rvs(**{**given, "random_state": 0}, loc=raw(loc), scale=raw(scale))
        return drawn(**{**given, "size": np.shape(trial)}) * scale + loc

    def _interval(self, confidence, *args, **kwargs):
        """The ends of the central interval of this probability."""
        if isinstance(confidence, (list, tuple)):
            confidence = ag.asarray(confidence) if holds_tensor(confidence) else np.asarray(confidence)
        if not np.all((raw(confidence) >= 0) & (raw(confidence) <= 1)):
            raise ValueError("confidence must be between 0 and 1 inclusive")
        ppf = self._methods["ppf"]
        return ppf((1.0 - confidence) / 2, *args, **kwargs), ppf((1.0 + confidence) / 2, *args, **kwargs)

    def _held(self, key, value):
        """A parameter, by name or place, as SciPy's frozen distribution holds it: the array itself, or its content."""
        if self._of_held is None:
            return value
        if not isinstance(key, str):
            names = list(inspect.signature(self.scipy_object.__call__).parameters)
            key = names[key] if key < len(names) else ""
        plain = raw(value)
        itself = isinstance(plain, np.ndarray) and plain.dtype == np.float64 and key in self._of_held
        return value if itself else taken_down(value)

    def __call__(self, *args, **kwargs):
        return Frozen(self, args, kwargs)

    def freeze(self, *args, **kwargs):
        """The distribution with its parameters, as by calling it."""
        return Frozen(self, args, kwargs)

    def __dir__(self):
        return sorted({*dir(self.scipy_object), *self._methods})

    def __repr__(self):
        return f"<arraygrad.scipy.stats.{self._name}>"

    def __reduce__(self):
        return _named, (self._name,)


# Methods of the standard form, which programs call for their speed.
_STANDARD = frozenset("_pdf _pmf _logpdf _logpmf _cdf _sf _logcdf _logsf _ppf _isf".split())
# What to take in the place of methods without a rule.
_IN_PLACE = {
    "expect": "integrate.quad of the function times pdf has one",
    "moment": "integrate.quad of x**n times pdf has one",
    "fit": "the formula of the estimate has one, as numpy.mean and numpy.std for norm; implicit.minimize for others",
    "rvs": "what is drawn is a constant: ppf(u) of uniform numbers u has one",
}


def _reason(name):
    return f"the method has no rule here{': ' if name in _IN_PLACE else ''}{_IN_PLACE.get(name, '')}"


def _named(name):
    from arraygrad.scipy import stats as chapter

    return getattr(chapter, name)


class Frozen(Fixed):
    """A distribution with fixed parameters, which gradients reach."""

    # Methods whose first parameters are the point; of the others all parameters are those of the distribution.
    _OF_A_POINT = frozenset(("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"))

    def __init__(self, dist, args, kwargs):
        self.dist = dist
        self.args = tuple([dist._held(i, value) for i, value in enumerate(args)])
        self.kwds = {key: dist._held(key, value) for key, value in kwargs.items()}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.dist._methods:
            method = self.dist._methods[name]
            if name in self._OF_A_POINT:
                return lambda x: method(x, *self.args, **self.kwds)
            if name == "moment":
                return lambda order=None: method(order, *self.args, **self.kwds)
            if name == "stats":
                return lambda moments="mv": method(*self.args, moments=moments, **self.kwds)
            return lambda: method(*self.args, **self.kwds)
        if name == "interval" and "ppf" in self.dist._methods:
            return lambda confidence: self.dist._interval(confidence, *self.args, **self.kwds)
        held = (self.args, self.kwds)
        if name in self.dist._attributes and holds_tensor(held):
            return self.dist._attributes[name](*self.args, **self.kwds)
        frozen = self.dist.scipy_object(
            *[_number(a) for a in self.args], **{k: _number(v) for k, v in self.kwds.items()}
        )
        value = getattr(frozen, name)
        if not callable(value):
            if name in ("a", "b") and self._support_is_fixed():
                return value
            shown = ", ".join([*self.dist._attributes, *self.dist._methods])
            return handed_out(f"stats.{self.dist._name}(...).{name}", value, held, f"{shown} have one")
        if name == "rvs" and holds_tensor(held):
            draws = self.dist.rvs
            return lambda size=None, random_state=None: draws(
                *self.args, **self.kwds, size=size, random_state=random_state
            )
        # The parameters are looked at too: SciPy's frozen object would hold them as constants.
        called = guarded(f"stats.{self.dist._name}.{name}", lambda _held, *a, **k: value(*a, **k), _reason(name))
        return lambda *a, **k: called((self.args, self.kwds), *a, **k)

    def _support_is_fixed(self):
        """Whether the ends of the support are those of the class, whatever the shape parameters."""
        kind = type(self.dist.scipy_object)
        return getattr(kind, "_get_support", None) in (rv_continuous._get_support, rv_discrete._get_support)

    def __repr__(self):
        return f"<frozen {self.dist!r}>"


def _number(value):
    """A raw parameter; a number where it is an array without axes, which some of SciPy's distributions refuse."""
    value = raw(value)
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


# -- continuous ------------------------------------------------------------------------------------------------------


def continuous(
    name, shapes, logpdf, *, source, powers=None, tail=None, integrated=False, ends=None, wide=False, refuse=None,
    mean=None, var=None, entropy=None, kinks=None, **direct,
):  # fmt: skip
    """Declare a continuous distribution; one that stands already is declared anew, with more methods.

    Parameters
    ----------
    name : str
    shapes : str
        Names of the shape parameters, separated by commas.
    logpdf : callable
        logpdf(y, *shapes) of the standard form.
    source : str
    powers : callable, optional
        powers(y, *shapes) returns a list of `Power`: the density is their product, times exp(logpdf(y, *shapes)).
    tail : callable, optional
        tail(y, *shapes) returns (lower, log of the tail): the mask where that tail is the lower one.
    integrated : bool or float
        The tails are integrals of the density, by `scipy._quadrature`; a number is how far SciPy's values may be off.
    ends : callable, optional
        (low, high) of the support by the shapes, where it depends on them, or of the interval that SciPy averages over.
    wide : bool
        SciPy's support is wider than that of the density, which lies between `ends`.
    refuse : dict of str to str, optional
        Why a shape parameter has no derivative.
    mean, var, entropy : callable, optional
        Of the standard form: mean(*shapes). Without a formula they are integrals of the density, if `ends` are known.
    kinks : callable, optional
        kinks(*shapes): the points, in ascending order, at which the density is not smooth; for these integrals.
    **direct
        cdf, sf, logcdf, logsf in place of `tail`. Not needed without shape parameters, where the density says all.
    """
    if not hasattr(stats, name):
        return
    dist = getattr(stats, name)
    keys = tuple(s.strip() for s in shapes.split(",") if s.strip())
    pdf = None
    if powers is not None:
        logpdf, pdf = _with_powers(logpdf, powers)
    if integrated:
        tail = _integrated_tail(dist, logpdf, ends, RELATIVE if integrated is True else integrated)
    refuse = refuse or {}
    family = _Family(dist, keys, logpdf, _tails(tail, direct), pdf, ends if wide else None)
    location = ", ".join([*keys, "loc=0", "scale=1"])
    methods = {}

    def add(method, parameters, pull):
        rule = Rule(f"stats.{name}.{method}", (), source, "any", getattr(dist, method), refuse=refuse)
        rule.signature = parsed(parameters)
        rule.of = tuple([key for key in rule.signature.parameters if key not in refuse])
        rule.gradients = pull
        methods[method] = register(rule)

    add("logpdf", f"x, {location}", family.of_logpdf)
    add("pdf", f"x, {location}", family.of_pdf)
    for method in ("cdf", "sf", "logcdf", "logsf"):
        if not keys or method in family.tails:
            add(method, f"x, {location}", family.of_tail(method))
    if not keys or "cdf" in family.tails:
        add("ppf", f"q, {location}", family.of_inverse(1.0))
        add("isf", f"q, {location}", family.of_inverse(-1.0))
        methods["median"] = _median(methods["ppf"], name, dist, source)
    fixed = type(dist)._get_support is stats.rv_continuous._get_support
    if ends is None and fixed:
        ends = lambda *shapes: (dist.a, dist.b)
    average = integrals(dist, logpdf, ends, kinks) if ends is not None else None
    support = (lambda *shapes: (dist.a, dist.b)) if fixed else ends
    add_summaries(methods, Law(name, dist, keys, average, mean, var, entropy, support, source, refuse))
    OBJECTS[name], FAMILIES[name] = Distribution(name, methods, "continuous"), family


def measured(name, shapes, source):
    """Declare a distribution whose density has no formula here: SciPy's values of it are the slopes of its tails."""
    if not hasattr(stats, name):
        return
    dist = getattr(stats, name)
    keys = tuple(s.strip() for s in shapes.split(",") if s.strip())
    refuse = dict.fromkeys(keys, "arraygrad has no derivative in it")
    location = ", ".join([*keys, "loc=0", "scale=1"])
    methods = {}

    def values(method, bound, x):
        named = {key: np.asarray(raw(v), dtype=float) for key, v in bound.items() if key not in ("x", "q")}
        with np.errstate(all="ignore"):
            return np.asarray(getattr(dist, method)(np.asarray(raw(x), dtype=float), **named))

    def add(method, point, slope_of):
        full = f"stats.{name}.{method}"

        def pull(g, ans, tensors, at, bound):
            bound = _with_named(bound, at, tensors)
            moved = g * once(full, slope_of(bound, ans), *tensors)
            x = ans if point == "q" else bound["x"]
            standard = (x - bound.get("loc", 0)) / bound.get("scale", 1)
            located = {
                "x": lambda: moved, "loc": lambda: -moved, "scale": lambda: -moved * standard,
                "q": lambda: moved,
            }  # fmt: skip
            if point == "q":
                located.update(loc=lambda: g, scale=lambda: g * standard)
            return [located[key]() for key, _ in at]

        of = (point, "loc", "scale")
        rule = Rule(full, of, source, "first", getattr(dist, method), refuse=refuse)
        rule.signature = parsed(f"{point}, {location}")
        rule.gradients = pull
        methods[method] = register(rule)

    def of_log(tail, sign):
        return lambda bound, ans: sign * values("pdf", bound, bound["x"]) / values(tail, bound, bound["x"])

    def of_inverse(sign):
        return lambda bound, ans: sign / values("pdf", bound, ans)

    add("cdf", "x", lambda bound, ans: values("pdf", bound, bound["x"]))
    add("sf", "x", lambda bound, ans: -values("pdf", bound, bound["x"]))
    add("logcdf", "x", of_log("cdf", 1.0))
    add("logsf", "x", of_log("sf", -1.0))
    add("ppf", "q", of_inverse(1.0))
    add("isf", "q", of_inverse(-1.0))
    methods["median"] = _median(methods["ppf"], name, dist, source)
    with_scale(methods, name, dist, keys, refuse, source)
    for method in ("pdf", "logpdf"):
        methods[method] = refused(
            f"stats.{name}.{method}", getattr(dist, method), "arraygrad has no derivative of this density"
        )
    OBJECTS[name] = Distribution(name, methods, "continuous")


def _with_powers(rest, powers):
    """(logarithm of the density, density) where it is exp(rest) times powers."""

    def logpdf(y, *shapes):
        return sum((one.log() for one in powers(y, *shapes)), rest(y, *shapes))

    def pdf(y, *shapes):
        return math.prod((one.value() for one in powers(y, *shapes)), start=ag.exp(rest(y, *shapes)))

    return logpdf, pdf


def _integrated_tail(dist, logpdf, ends, relative):
    def tail(y, *shapes):
        if ends is not None:
            low, high = ends(*shapes)
        else:
            low, high = dist.support(*[np.asarray(raw(s), dtype=float) for s in shapes])
        return tail_of_density(logpdf, y, shapes, dist.cdf, dist.sf, low, high, relative)

    return tail


def _tails(tail, direct):
    if tail is None:
        return direct
    found = {
        "cdf": lambda y, *s: signed(*tail(y, *s)),
        "sf": lambda y, *s: -signed(*tail(y, *s)),
        "logcdf": lambda y, *s: _log_tail(tail, y, s, True),
        "logsf": lambda y, *s: _log_tail(tail, y, s, False),
    }
    return {**found, **direct}


def _log_tail(tail, y, shapes, wanted):
    lower, log = tail(y, *shapes)
    log = ag.where(np.asarray(np.isnan(raw(log))), -1.0, log)
    direct = np.asarray(lower if wanted else np.logical_not(lower))
    return ag.where(direct, log, log_other(ag.where(direct, -1.0, log)))


def _everywhere(inside, found):
    """Whether all points are inside of the support, and what was computed of them has the shape and precision of all.

    A choice between them and other values changes nothing then.
    """
    array = raw(found)
    return array.shape == inside.shape and array.dtype == np.float64 and bool(np.all(inside))


class _Family:
    def __init__(self, dist, keys, logpdf, tails, pdf=None, ends=None):
        self.dist, self.keys, self.logpdf, self.tails, self.pdf, self.ends = dist, keys, logpdf, tails, pdf, ends
        # Whether the support is the same for all shapes: what is 0 or 1 at its ends is that for all of them.
        self.fixed = ends is None and type(dist)._get_support is stats.rv_continuous._get_support

    def support(self, *shapes):
        """The ends between which the density is positive, nan where SciPy refuses the shapes. All raw."""
        low, high = self.dist.support(*shapes)
        if self.ends is None:
            return low, high
        return tuple([np.where(np.isnan(low), np.nan, np.asarray(raw(end))) for end in self.ends(*shapes)])

    def _standard(self, bound, name="x"):
        """(y inside of the support, shapes, scale, mask of the inside, 1 or nan, mask of the ends, y off them)."""
        x, loc, scale = bound[name], bound.get("loc", 0), bound.get("scale", 1)
        shapes = [bound[key] for key in self.keys]
        rx, rloc, rscale = (np.asarray(raw(v), dtype=float) for v in (x, loc, scale))
        rshapes = [np.asarray(raw(s), dtype=float) for s in shapes]
        with np.errstate(all="ignore"):
            ry = (rx - rloc) / rscale
            low, high = self.support(*rshapes)
            good = np.asarray(~np.isnan(low) & (rscale > 0))
            outside = (ry < low) | (ry > high) | np.isinf(ry)
            inside = np.asarray(good & ~outside)
            end = np.asarray(inside & ((ry == low) | (ry == high)))
            middle = self.dist.median(*rshapes) if np.any(end) or not np.all(inside) else 0.5
        middle = np.where(np.isfinite(middle), middle, 0.5)
        if not np.all(good):
            # Parameters that SciPy refuses: a factor nan makes their gradients nan, as the value is.
            refused = np.where(good, 1.0, np.nan)
            scale, shapes = scale * refused, [s * refused for s in shapes]
        y = ag.asarray((x - loc) / scale)
        if not _everywhere(inside, y):
            y = ag.where(inside, y, middle)
        mark = np.where(good | np.isnan(ry), 1.0, np.nan)
        return y, shapes, ag.asarray(scale), inside, mark, end, ag.where(end, middle, y) if np.any(end) else y

    def _log(self, bound, zero, lost):
        """The log-density; `zero` moves points from the ends, `lost` are places without a derivative."""
        y, shapes, scale, inside, mark, end, inner = self._standard(bound)
        moved = zero & end
        found = self.logpdf(ag.where(moved, inner, y) if np.any(moved) else y, *shapes) - ag.log(scale)
        if _everywhere(inside, found) and not np.any(end):
            return found
        return ag.where(inside, found, 0.0) * (mark * np.where(lost & end, np.nan, 1.0))

    def of_logpdf(self, g, ans, tensors, at, bound):
        lost = np.asarray(np.isneginf(np.asarray(raw(ans)))) & (not self.fixed)
        return gradients_of_composition(
            lambda given: self._log(_with_named(bound, at, given), np.asarray(False), lost), g, tensors
        )

    def density(self, y, shapes, less=0.0):
        """The density of the standard form times exp(-less), at its zeros by its powers."""
        log = self.logpdf(y, *shapes) - less
        zero = np.asarray(np.isneginf(np.asarray(raw(log))))
        if self.pdf is None or not np.any(zero):
            return ag.exp(log)
        other = self.dist.ppf(0.7, *[np.asarray(raw(s), dtype=float) for s in shapes])
        other = np.where(np.isfinite(other), other, 0.5)
        at_zero = self.pdf(ag.where(zero, y, other), *shapes) * ag.exp(-ag.asarray(less))
        return ag.where(zero, at_zero, ag.exp(self.logpdf(ag.where(zero, other, y), *shapes) - less))

    def _pdf(self, bound):
        y, shapes, scale, inside, mark, _, _ = self._standard(bound)
        return ag.where(inside, self.density(y, shapes) / scale, 0.0) * mark

    def of_pdf(self, g, ans, tensors, at, bound):
        none = np.asarray(False)
        zero = np.asarray(np.asarray(raw(ans)) == 0.0)
        if self.pdf is not None and np.any(zero & np.isfinite(np.asarray(raw(bound["x"])))):
            return gradients_of_composition(lambda given: self._pdf(_with_named(bound, at, given)), g, tensors)
        found = gradients_of_composition(
            lambda given: self._log(_with_named(bound, at, given), none, none), g * ans, tensors
        )
        # A density that is zero at an end is so for all shapes near by.
        zero = zero & self.fixed
        if np.any(zero) and any(key in self.keys for key, _ in at):
            apart = gradients_of_composition(
                lambda given: self._log(_with_named(bound, at, given), zero, none), g * ans, tensors
            )
            found = [b if key in self.keys else a for a, b, (key, _) in zip(found, apart, at, strict=True)]
        return found

    def _of_shapes(self, formula, shapes, g, tensors, at):
        """The gradients of `formula(*shapes)` in the shape parameters among the arguments `at`, by their names."""
        places = [i for i, (key, _) in enumerate(at) if key in self.keys]
        names = [at[i][0] for i in places]
        if not names:
            return {}

        def of_given(given):
            named = dict(zip(self.keys, shapes, strict=True))
            named.update(zip(names, given, strict=True))
            return formula(*named.values())

        gradients = gradients_of_composition(of_given, g, [tensors[i] for i in places])
        return dict(zip(names, gradients, strict=True))

    def _slope_of_tail(self, method, known=None):
        """The derivative of a tail in y, for `_incomplete.moved_end`; `known` are the values of a logarithm."""
        sign = 1.0 if method.endswith("cdf") else -1.0
        if not method.startswith("log"):
            return lambda y, *shapes: sign * self.density(y, shapes)

        def slope(y, *shapes):
            tail = with_density(self.tails[method], slope, y, *shapes)
            # The formula in the shapes has another constant where they do not count.
            with np.errstate(invalid="ignore"):
                tail = tail + np.nan_to_num(known - np.asarray(raw(tail)), nan=0.0, posinf=0.0, neginf=0.0)
            deep = is_deep(known)
            if not np.any(deep):
                return sign * self.density(y, shapes, tail)
            return ag.where(deep, self._far_slope(y, shapes, deep), sign * self._near(y, shapes, tail, deep))

        return slope

    def _far_slope(self, y, shapes, deep):
        """The slope in y of the logarithm of a tail, where that is far below zero: u - u' / u, u that of the density.

        The tail is the density over its hazard h, and h' = h (u - h) for the lower one: u - u' / u is the second
        iterate, off by the order of (u' / u^2)^2. The difference of both logarithms would have no digits left there.
        """
        y = ag.where(deep, y, self._middle(shapes))
        y = y if y.requires_grad else y.detach().requires_grad_()
        ones = np.ones(y.shape)

        def of_density(given):
            (found,) = gradients_of_composition(lambda inner: self.logpdf(inner[0], *shapes), ones, given)
            return given[0] * 0.0 if found is None else found

        slope = of_density([y])
        (bent,) = gradients_of_composition(of_density, ones, [y])
        return slope if bent is None else slope - bent / ag.where(deep, slope, 1.0)

    def _middle(self, shapes):
        middle = self.dist.ppf(0.7, *[np.asarray(raw(s), dtype=float) for s in shapes])
        return np.where(np.isfinite(middle), middle, 0.5)

    def _near(self, y, shapes, less, deep):
        """`density`, with harmless values where another formula is chosen."""
        return self.density(ag.where(deep, self._middle(shapes), y), shapes, ag.where(deep, 0.0, less))

    def _more(self, method, ans, bound):
        """What SciPy's value in double precision has more than `ans`, where that is far below zero.

        SciPy computes with the precision of the arguments, also where its result has more.
        """
        value = np.asarray(raw(ans), dtype=np.float64)
        far = np.asarray(value < _FAR) & np.isfinite(value)
        more = np.zeros(value.shape)
        if np.any(far):
            plain = {key: np.asarray(raw(v), dtype=np.float64) for key, v in bound.items()}
            plain = {key: np.broadcast_to(v, value.shape)[far] for key, v in plain.items()}
            with np.errstate(all="ignore"):
                more[far] = np.nan_to_num(
                    getattr(self.dist, method)(**plain) - value[far], nan=0.0, posinf=0.0, neginf=0.0
                )
        return more

    def _in_double(self, pull, g, ans, tensors, at, bound):
        """What `pull` gives of numbers in double precision, in the precision of the arguments."""
        wide = [t.astype(np.float64) for t in tensors]
        found = pull(g.astype(np.float64), ans.astype(np.float64), wide, at, _with_named(bound, at, wide))
        return [None if f is None else f.astype(t.dtype) for f, t in zip(found, tensors, strict=True)]

    def of_tail(self, method):
        sign = 1.0 if method.endswith("cdf") else -1.0
        logs = method.startswith("log")

        def pull(g, ans, tensors, at, bound):
            if logs and raw(ans).dtype == np.float32 and np.any(raw(ans) < _FAR):
                return self._in_double(pull, g, ans, tensors, at, bound)
            bound = _with_named(bound, at, tensors)
            y, shapes, scale, inside, mark, end, inner = self._standard(bound)
            less = ag.log(scale)
            deep = np.asarray(False)
            if logs:
                more = self._more(method, ans, bound)
                if np.any(more):
                    ans = ans + more
                less = less + ag.where(inside, ans, 0.0)
                deep = inside & is_deep(raw(ans))
            if np.any(deep):
                near = sign * self._near(y, shapes, less, deep)
                slope = ag.where(deep, self._far_slope(y, shapes, deep) / scale, near)
            else:
                slope = sign * self.density(y, shapes, less)
            slope = ag.where(inside, g, 0.0) * (ag.where(inside, slope, sign) * mark)

            # At an end of a fixed support the tails are 0 and 1 for all shapes, at one that moves log(0) has no slope.
            value = np.asarray(raw(ans))
            flat = np.asarray(end & self.fixed & np.isfinite(value))
            lost = np.where(end & (not self.fixed) & np.isneginf(value), np.nan, 1.0)

            def tail(*given):
                used = np.asarray(inside | np.isnan(raw(y)) | np.isnan(mark))
                given = [ag.where(used, v * mark * lost, 1.5) for v in given]
                found = self.tails[method](_still(ag.where(flat, inner, y)), *given)
                found = ag.where(np.asarray(inside & ~flat), found, 0.0) * mark * lost
                return found + ag.where(inside, moved_end(self._slope_of_tail(method, value), y, *given), 0.0)

            found = self._of_shapes(tail, shapes, g, tensors, at)
            located = {"x": lambda: slope, "loc": lambda: -slope, "scale": lambda: -slope * y}
            return [found[key] if key in found else located[key]() for key, _ in at]

        return pull

    def of_inverse(self, sign):
        def pull(g, ans, tensors, at, bound):
            bound = _with_named(bound, at, tensors)
            y, shapes, scale, _, mark, _, _ = self._standard({**bound, "x": ans})
            inverse = ag.exp(-self.logpdf(y, *shapes)) * scale * mark
            at_end = np.asarray(np.isinf(raw(ans)))
            # A centre or an end at zero where the density is zero or infinite stays where it is, whatever the shape.
            extreme = np.isinf(np.asarray(raw(inverse))) | (np.asarray(raw(inverse)) == 0)
            fixed = at_end | (extreme & (np.asarray(raw(y)) == 0))
            calm = inverse
            if np.any(fixed):  # the next order would find 0 times inf where the slope is infinite
                calm = ag.exp(-self.logpdf(ag.where(fixed, self._middle(shapes), y), *shapes)) * scale * mark
            push = ag.where(fixed, 0.0, -(g * calm))

            def cdf(*given):
                return with_density(self.tails["cdf"], self._slope_of_tail("cdf"), y, *given)

            found = self._of_shapes(cdf, shapes, push, tensors, at)
            located = {
                "q": lambda: g * ag.where(at_end, np.inf, inverse) * sign,
                "loc": lambda: g * mark,
                "scale": lambda: g * ag.where(at_end, raw(ans), y) * mark,
            }
            return [found[key] if key in found else located[key]() for key, _ in at]

        return pull


# Below these the difference of a log-density and a log-tail has too few digits, in double and in single precision.
_DEEP, _FAR = -1e6, -100.0


def is_deep(log_tail):
    log_tail = np.asarray(log_tail)
    return np.asarray((log_tail < _DEEP) & np.isfinite(log_tail))


def _still(y):
    return y.detach() if isinstance(y, ag.Tensor) else y


def _with_named(bound, at, tensors):
    return {**bound, **{key: tensor for (key, _), tensor in zip(at, tensors, strict=True)}}


def _median(ppf, name, dist, source):
    def median(*args, **kwargs):
        return ppf(0.5, *args, **kwargs)

    REGISTRY[f"stats.{name}.median"] = Rule(
        f"stats.{name}.median", REGISTRY[f"stats.{name}.ppf"].of[1:], source, "any", dist.median, median
    )
    return median


# -- discrete ---------------------------------------------------------------------------------------------------------


def discrete(name, shapes, logpmf, *, source, tail=None, fixed=(), mean=None, var=None):
    """Declare a distribution over integers: `logpmf(k, *shapes)` and `tail(k, *shapes)` for whole k in the support.

    `fixed` names shape parameters that are integers.
    """
    if not hasattr(stats, name):
        return
    dist = getattr(stats, name)
    keys = tuple(s.strip() for s in shapes.split(",") if s.strip())
    free = " ".join(key for key in keys if key not in fixed)
    why = {"k": "an integer", "loc": "an integer", "q": "the result is an integer"}
    why.update(dict.fromkeys(fixed, "an integer"))
    tails = _tails(tail, {})
    methods = {}

    def add(method, formula, weighted=False):
        def pull(g, ans, tensors, at, bound):
            def call(given):
                named = _with_named(bound, at, given)
                k = np.asarray(raw(named["k"]), dtype=float) - np.asarray(raw(named.get("loc", 0)), dtype=float)
                values = [named[key] for key in keys]
                low, high = dist.support(*[raw(v) for v in values])
                good = np.asarray(~np.isnan(low))
                whole = np.floor(k)
                if method in ("pmf", "logpmf"):
                    inside = (k >= low) & (k <= high) & (k == whole)
                else:
                    inside = (whole >= low) & (whole < high)
                inside = np.asarray(inside & good & np.isfinite(k))
                whole = np.where(inside, whole, np.where(good, low, 1.0))
                values = [v if np.all(good) else ag.where(good, v, 0.5) for v in values]
                if method not in ("pmf", "logpmf"):
                    # Where nothing is below or above, the formula is not asked.
                    harmless = [2 if key in fixed else 0.5 for key in keys]
                    values = [ag.where(inside, v, h) for v, h in zip(values, harmless, strict=True)]
                    whole = np.where(inside, whole, 1.0)
                mark = np.where(good | np.isnan(k), 1.0, np.nan)
                return ag.where(inside, formula(whole, *values), 0.0) * mark

            return gradients_of_composition(call, g * ans if weighted else g, tensors)

        rule = Rule(f"stats.{name}.{method}", tuple(free.split()), source, "any", getattr(dist, method), refuse=why)
        rule.signature = parsed(", ".join(["k", *keys, "loc=0"]))
        rule.gradients = pull
        methods[method] = register(rule)

    add("logpmf", logpmf)
    add("pmf", logpmf, weighted=True)
    for method in ("cdf", "sf", "logcdf", "logsf"):
        if method in tails:
            add(method, tails[method])
    for method in ("ppf", "isf", "median"):
        methods[method] = refused(
            f"stats.{name}.{method}", getattr(dist, method), "its result is an integer, which has no derivative"
        )
    methods["support"] = constant(f"stats.{name}.support", dist.support, why, ", ".join([*keys, "loc=0"]))
    average = sums(dist, logpmf, keys, fixed)
    add_summaries(methods, Law(name, dist, keys, average, mean, var, None, None, source, why), discrete=True)
    OBJECTS[name], MASSES[name] = Distribution(name, methods, "discrete"), Masses(dist, keys, logpmf)
