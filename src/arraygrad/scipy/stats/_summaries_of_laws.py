"""Mean, variance, entropy, moments and support of a distribution, differentiable in its parameters.

May import: arraygrad, scipy._declare, scipy._guards, scipy._quadrature, numpy, SciPy.

Values are SciPy's. Derivatives come from a closed formula where the distribution is declared with one, otherwise from
the integral (of a discrete one: the sum) of the density's logarithm, which is differentiable in the shape parameters.
The integral is compared with SciPy's value: where the two differ, the derivative is refused.
"""

from collections import namedtuple

import numpy as np

import arraygrad as ag
from arraygrad.scipy._declare import Rule, gradients_of_composition, parsed, raw, refused, register
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._quadrature import MEAN, expectation

__all__ = ["Law", "add_summaries"]

# Of the standard form: `average(h, *shapes)` is the mean of h(t, log-density) and of its absolute value, None without
# a way to it; `mean`, `var`, `entropy` closed formulas or None; `ends` the support by the shapes, None where unknown.
Law = namedtuple("Law", "name dist keys average mean var entropy ends source refuse")

_TERMS = 200_000  # of a sum
# Of a sum: the part of its terms that is below its last bits; what may be missing beyond the last probability above
# zero; how far the sum of the probabilities may be from one.
_NOTHING, _REST, _WHOLE = 1e-18, 1e-12, 1e-8
# The sum beyond a place is, beside an integral, half the term there, less the twelfth part of its slope, and the 720th
# part of its third derivative; by the terms at the places -2 to 2 from there.
_AT_START = np.array([-11.0 / 1440.0, 1.0 / 24.0 + 11.0 / 720.0, 0.5, -1.0 / 24.0 - 11.0 / 720.0, 11.0 / 1440.0])
# Places and weights of an integral over powers of two, in the logarithm of the place.
_GAUSS, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(12)
_OCTAVES = 2.0 ** (np.arange(800.0)[:, None] + 0.5 * (_GAUSS + 1.0))
_OCTAVE_WEIGHTS = np.broadcast_to(0.5 * np.log(2.0) * _GAUSS_WEIGHTS, _OCTAVES.shape)


def integrals(dist, logpdf, ends, kinks=None):
    """`average` of a continuous distribution; `kinks(*shapes)` are the points where its density has one."""

    def average(h, *shapes):
        low, high = ends(*shapes)
        if kinks is not None:
            return expectation(h, logpdf, shapes, kinks(*shapes), low, high)
        rshapes = np.broadcast_arrays(*[np.asarray(raw(s), dtype=float) for s in shapes]) if shapes else []
        middle = np.asarray(dist.median(*rshapes), dtype=float)
        middle = np.where(np.isfinite(middle), middle, 0.5)
        return expectation(h, logpdf, shapes, [middle], low, high)

    return average


def sums(dist, logpmf, keys, fixed):
    """`average` of a discrete distribution.

    Places are summed around the middle as far as a geometric tail reaches. Where what is beyond them counts, the
    support is summed to its end, or, where it has none, by the Euler-Maclaurin formula (DLMF 2.10.1).
    """

    def average(h, *shapes):
        rshapes = np.broadcast_arrays(*[np.asarray(raw(s), dtype=float) for s in shapes])
        low, high = (np.asarray(v, dtype=float) for v in dist.support(*rshapes))
        at = [
            np.asarray(raw(s))[..., None] if key in fixed else ag.asarray(s)[..., None]
            for key, s in zip(keys, shapes, strict=True)
        ]  # fmt: skip

        def values(k):
            """h times the probability at the places k, and the probability's logarithm."""
            logs = logpmf(k, *at)
            return h(ag.asarray(k), logs) * ag.exp(logs), logs

        def sizes(k):
            with np.errstate(all="ignore"), ag.no_grad():
                terms, logs = (np.asarray(raw(v), dtype=float) for v in values(k))
            return np.where(logs > -700.0, np.abs(terms), 0.0), logs

        middle, reach = _middle_and_reach(dist, rshapes)
        first, last = np.floor(np.maximum(low, middle - reach)), np.ceil(np.minimum(high, middle + reach))
        k, weights = _places(dist, first, last)
        whole = np.sum(weights * sizes(k)[0], axis=-1)

        def counts(place, end):
            """Whether terms beyond a place that is not the end of the support have a part in the sum."""
            inner = np.where(place == end, middle, place)
            rest = sizes(inner[..., None])[0][..., 0] * (np.abs(inner - middle) + 1.0)
            return (place != end) & (rest > _NOTHING * whole)

        below, above = counts(first, low), counts(last, high)
        ended = np.isfinite(high)
        if np.any(below) or np.any(above):
            first, last = np.where(below, low, first), np.where(above & ended, high, last)
            k, weights = _places(dist, first, last)
            tail, tail_weights = _beyond(last)
            tail_weights = np.where((above & ~ended)[..., None], tail_weights, 0.0)
            k, weights = np.concatenate([k, tail], axis=-1), np.concatenate([weights, tail_weights], axis=-1)
        _, logs = sizes(k)
        alive = (weights != 0.0) & (logs > -700.0)
        # The formula may have no derivative at places without probability: they are moved to the likeliest one.
        best = np.argmax(np.where(alive, logs, -np.inf), axis=-1)[..., None]
        terms, logs = values(np.where(alive, k, np.take_along_axis(k, best, axis=-1)))
        weights = np.where(alive, weights, 0.0)
        total = np.sum(weights * np.exp(np.asarray(raw(logs))), axis=-1)
        parts = np.abs(np.asarray(raw(terms)))
        size = np.sum(np.abs(weights) * parts, axis=-1)
        # So slowly may a power fall that probabilities underflow before the sum is complete.
        furthest = np.argmax(np.where(alive, np.abs(k - middle[..., None]), -1.0), axis=-1)[..., None]
        rest = np.take_along_axis(parts * np.abs(k), furthest, axis=-1)[..., 0]
        complete = ~(above & ~ended) | (rest < _REST * size)
        return ag.sum(terms * weights, axis=-1), np.where(complete & (np.abs(total - 1.0) < _WHOLE), size, 0.0)

    return average


def _middle_and_reach(dist, shapes):
    """Where to sum. Sixty standard deviations away a geometric tail is below the last bits of the sum."""
    middle, std = np.asarray(dist.mean(*shapes), dtype=float), np.asarray(dist.std(*shapes), dtype=float)
    known = np.isfinite(middle) & np.isfinite(std)
    if np.all(known):
        return middle, 60.0 * std + 60.0
    low, median, high = (np.asarray(dist.ppf(q, *shapes), dtype=float) for q in (0.1, 0.5, 0.9))
    return np.where(known, middle, median), np.where(known, 60.0 * std + 60.0, 60.0 * (high - low) + 60.0)


def _places(dist, first, last):
    """All places from `first` to `last`, and ones; zeros beyond `last`."""
    count = float(np.max(last - first, initial=0.0)) + 1.0
    if not count <= _TERMS:
        raise NotDifferentiable(
            f"arraygrad.scipy.stats.{dist.name}: the derivative would need a sum of {count:.3g} terms"
        )
    k = first[..., None] + np.arange(count)
    inside = np.asarray(k <= last[..., None])
    return np.where(inside, k, first[..., None]), inside.astype(float)


def _beyond(last):
    """Places and weights whose sum is that over all integers beyond `last`, of what falls as a power does.

    The integral in blocks that double, and the terms of the Euler-Maclaurin formula at its end, whose derivatives are
    differences of neighbours.
    """
    start = last[..., None] + 1.0
    blocks = _OCTAVES.reshape(-1) * start
    weights = np.broadcast_to(_OCTAVE_WEIGHTS.reshape(-1), blocks.shape) * blocks
    near = start + np.arange(-2.0, 3.0)
    return (
        np.concatenate([near, blocks], axis=-1),
        np.concatenate([np.broadcast_to(_AT_START, near.shape), weights], axis=-1),
    )


class _Standard:
    """Summaries of the standard form at given shapes, each computed once, with the sizes that they are held to."""

    def __init__(self, law, shapes):
        self.law, self.shapes = law, shapes
        self.made = {}

    def _of(self, key, closed, h):
        if key not in self.made:
            if closed is not None:
                value = ag.asarray(closed(*self.shapes))
                self.made[key] = value, np.inf  # a formula: SciPy's value may have fewer digits
            else:
                self.made[key] = self.law.average(h, *self.shapes)
        return self.made[key]

    def mean(self):
        return self._of("mean", self.law.mean, lambda t, logs: t)

    def central(self, n):
        middle = self.mean()[0][..., None]
        return self._of(n, self.law.var if n == 2 else None, lambda t, logs: (t - middle) ** n)

    def entropy(self):
        return self._of("entropy", self.law.entropy, lambda t, logs: -logs)


def _mean(standard, loc, scale):
    value, size = standard.mean()
    return loc + scale * value, np.abs(raw(scale)) * size


def _var(standard, loc, scale):
    value, size = standard.central(2)
    return scale * scale * value, np.square(raw(scale)) * size


def _std(standard, loc, scale):
    value, size = standard.central(2)
    root = value**0.5
    return scale * root, np.abs(raw(scale)) * size / np.maximum(np.asarray(raw(root)), 1e-300)


def _entropy(standard, loc, scale):
    value, size = standard.entropy()
    return value + ag.log(ag.asarray(scale) + 0.0), size + np.abs(np.log(np.asarray(raw(scale), dtype=float)))


def _entropy_of_counts(standard, loc, scale):
    return standard.entropy()


def _skew(standard, loc, scale):
    (var, _), (third, size) = standard.central(2), standard.central(3)
    return third / var**1.5, size / np.asarray(raw(var)) ** 1.5


def _kurtosis(standard, loc, scale):
    (var, _), (fourth, size) = standard.central(2), standard.central(4)
    return fourth / var**2 - 3.0, size / np.asarray(raw(var)) ** 2


def _raw_moment(order):
    def moment(standard, loc, scale):
        loc_, scale_ = ag.asarray(loc)[..., None], ag.asarray(scale)[..., None]
        return standard.law.average(lambda t, logs: (loc_ + scale_ * t) ** order, *standard.shapes)

    return moment


_PARTS = {"m": _mean, "v": _var, "s": _skew, "k": _kurtosis}


def add_summaries(methods, law, discrete=False):
    """Declare the summaries of a law among its `methods`."""
    keys = law.keys
    location = ", ".join([*keys, "loc=0"] if discrete else [*keys, "loc=0", "scale=1"])

    def standard_at(bound):
        shapes = [bound[key] if key in law.refuse else ag.asarray(bound[key]) + 0.0 for key in keys]
        # Of one shape: the mean over t has one more axis.
        shape = np.broadcast_shapes(*[np.shape(raw(s)) for s in shapes]) if shapes else ()
        shapes = [
            np.broadcast_to(np.asarray(raw(s)), shape) if key in law.refuse else ag.broadcast_to(s, shape)
            for key, s in zip(keys, shapes, strict=True)
        ]
        return _Standard(law, shapes), bound["loc"], bound.get("scale", 1.0)  # integers have no scale

    def held(method, found, ans):
        """The value with the derivative; refused where it is not SciPy's, nan where SciPy's is no number."""
        value, size = found
        known = np.asarray(raw(ans), dtype=float)
        value = ag.asarray(value)
        if value.shape != known.shape:  # SciPy's has the shape of all parameters, also of those that do not count
            value = ag.broadcast_to(value, known.shape)
        with np.errstate(all="ignore"):
            number = np.isfinite(known)
            wrong = number & ~(np.abs(np.asarray(raw(value)) - known) <= MEAN * size)
        if np.any(wrong):
            raise NotDifferentiable(
                f"arraygrad.scipy.stats.{law.name}.{method}: the integral by which it is differentiated, or its "
                f"derivative, has too few digits: it is {np.asarray(raw(value))[wrong].ravel()[0]:.9g}, SciPy's value "
                f"{np.broadcast_to(known, np.shape(wrong))[wrong].ravel()[0]:.9g}. Compose it: integrate.quad of the "
                "function times pdf"
            )
        if np.all(number):
            return value
        return value * np.where(number, 1.0, np.nan)

    def add(method, parameters, formulas):
        """`formulas(bound)` is a formula, or a list of them where SciPy returns several arrays."""

        def pull(g, ans, tensors, at, bound):
            def call(given):
                named = {**defaults, **bound, **{key: t for (key, _), t in zip(at, given, strict=True)}}
                standard, loc, scale = standard_at(named)
                wanted = formulas({**defaults, **bound})
                if not isinstance(wanted, list):
                    return held(method, wanted(standard, loc, scale), ans)
                return [
                    held(method, one(standard, loc, scale), value) if gi is not None else None
                    for one, value, gi in zip(wanted, ans, g, strict=True)
                ]

            return gradients_of_composition(call, g, tensors)

        rule = Rule(f"stats.{law.name}.{method}", (), law.source, "any", getattr(law.dist, method), refuse=law.refuse)
        rule.signature = parsed(parameters)
        defaults = _defaults(rule.signature)
        free = ("loc",) if discrete and method != "entropy" else () if discrete else ("loc", "scale")
        rule.of = (*[key for key in keys if key not in law.refuse], *[k for k in free if k not in law.refuse])
        rule.gradients = pull
        methods[method] = register(rule)

    ways = law.average is not None
    if ways or law.mean is not None:
        add("mean", location, lambda bound: _mean)
    if ways or law.var is not None:
        add("var", location, lambda bound: _var)
        add("std", location, lambda bound: _std)
    if ways or law.entropy is not None:
        add("entropy", location, lambda bound: _entropy_of_counts if discrete else _entropy)
    if ways:
        add("moment", f"order, {location}", lambda bound: _raw_moment(int(bound["order"])))

        def parts(bound):
            wanted = [_PARTS[key] for key in "mvsk" if key in bound["moments"]]
            return wanted if len(wanted) > 1 else wanted[0]

        add("stats", f"{location}, moments='mv'", parts)
    if not discrete:
        _add_support(methods, law, location)


def _defaults(signature):
    """What a call means that leaves parameters out."""
    return {key: one.default for key, one in signature.parameters.items() if one.default is not one.empty}


def _add_support(methods, law, location):
    def pull(g, ans, tensors, at, bound):
        def call(given):
            named = {**defaults, **bound, **{key: t for (key, _), t in zip(at, given, strict=True)}}
            ends = law.ends(*[named[key] for key in law.keys])
            # An infinite end does not move.
            found = [named["loc"] + named["scale"] * ag.where(np.isfinite(raw(end)), end, 0.0)
                     for end in map(ag.asarray, ends)]  # fmt: skip
            still = [np.isfinite(np.asarray(raw(value))) for value in ans]
            return [ag.where(np.asarray(mask), end, 0.0) for mask, end in zip(still, found, strict=True)]

        return gradients_of_composition(call, g, tensors)

    values = law.dist.support
    if law.ends is None:
        methods["support"] = refused(f"stats.{law.name}.support", values, "its ends by the shapes have no formula here")
        return
    rule = Rule(f"stats.{law.name}.support", (), law.source, "any", values, refuse=law.refuse)
    rule.signature = parsed(location)
    defaults = _defaults(rule.signature)
    rule.of = tuple([key for key in rule.signature.parameters if key not in law.refuse])
    rule.gradients = pull
    methods["support"] = register(rule)


def with_scale(methods, name, dist, keys, refuse, source):
    """Summaries by location and scale alone, of a distribution whose density has no formula."""

    def at_shapes(method):
        return lambda *shapes: np.asarray(getattr(dist, method)(*[np.asarray(raw(s), dtype=float) for s in shapes]))

    add_summaries(methods, Law(
        name, dist, keys, None, at_shapes("mean"), at_shapes("var"), at_shapes("entropy"),
        lambda *shapes: dist.support(*[np.asarray(raw(s), dtype=float) for s in shapes]), source, refuse,
    ))  # fmt: skip
