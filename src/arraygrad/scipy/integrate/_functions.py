"""Integrals of functions, by Leibniz' rule: the limits by the integrand, parameters by the integral of its gradient.

May import: arraygrad, core.tensor, implicit.common, implicit.stores, transforms, scipy._declare, scipy._callbacks,
scipy.integrate._adaptive, scipy.integrate._at_nodes, scipy.integrate._verified, scipy.integrate._chapter, numpy,
SciPy.

The gradient's integral is an integral of the same kind with the cotangent among its parameters: derivatives of any
order follow. Its own accuracy is that of the call's tolerances; one that does not converge is nan, with a warning.
"""

import itertools

import numpy as np
from scipy import integrate, special

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import Arguments, as_tensor, raw_function
from arraygrad.implicit.stores import leaves_nothing, running
from arraygrad.scipy._callbacks import lifted
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy.integrate._adaptive import MATH_ERRORS, integral_of_a_gradient, no_value, warn
from arraygrad.scipy.integrate._at_nodes import Slopes
from arraygrad.scipy.integrate._chapter import CHAPTER, NAMES
from arraygrad.scipy.integrate._verified import is_refuted, one_sided
from arraygrad.transforms.following import vjp

__all__ = []

LEIBNIZ = "Leibniz' rule"
JUMPS = "the gradient under the integral is not that of the integral: the function jumps where an argument says"
JUMPS_ADVICE = (
    "Divide the integral there: quad(..., points=[place]), or two, with the place as a limit, each of what holds on "
    "its own side"
)
# Evaluations of QUADPACK's rules for one interval: 21, or 15 at each end of an infinite one.
_ONE_INTERVAL, _FINE = 30, 1e-6


class _Integral:
    """A computed integral as the node of its Tensor sees it."""

    def __init__(self, name, f, solution, arguments, tolerances, points, smooth=False, of_slopes=False):
        self.name, self.f, self.solution = name, f, solution
        self.arguments, self.tolerances, self.points = arguments, tolerances, points
        self.smooth, self._of_slopes, self._watch = smooth, of_slopes, running()

    def pull(self, g, ans, arrays):
        """Gradients of the limits and the parameters that are differentiated."""
        g = as_tensor(g)
        tensors = [as_tensor(array) for array in arrays]
        positions = self.arguments.positions()
        lower, upper, *parameters = self.arguments.rebuilt(tensors)
        found = {}
        if 0 in positions:
            found[0] = -self.end(g, lower, upper, parameters)
        if 1 in positions:
            found[1] = self.end(g, upper, lower, parameters)
        inner = [(p, t) for p, t in zip(positions, tensors, strict=True) if p > 1]
        if inner:
            arguments, f = self.arguments, self.f
            before = [t for p, t in zip(positions, tensors, strict=True) if p < 2]

            def integrand(x, cotangent, *values):
                def of(*values):
                    _, _, *rest = arguments.rebuilt([*before, *values])
                    return f(x, *rest)

                of.differentiates = True  # the function may well be constant at some x

                def slopes():
                    return ag.concat([ag.reshape(ag.asarray(part), (-1,)) for part in vjp(of, *values)[1](cotangent)])

                flat = slopes()
                if not np.all(np.isfinite(raw(flat))):
                    # x**3 / (exp(x) - 1) at large x: its slope is 0 * inf, and tends to 0. Differences of integrals
                    # look at what comes of it.
                    with ag.zero_annihilates():
                        again = slopes()
                    flat = again if np.all(np.isfinite(raw(again))) else flat
                return flat

            slopes = self.slopes(g, before, [t for _, t in inner])
            whole = _vector(self.name, integrand, lower, upper, (g, *[t for _, t in inner]), self.tolerances,
                            self.points, slopes)  # fmt: skip
            for (p, _), part in zip(inner, split(ag.asarray(whole), [t for _, t in inner]), strict=True):
                found[p] = part
        gradients = [found[p] for p in positions]
        if not self.smooth and is_refuted(self.f, self.arguments, g, gradients):
            warn(self.name, JUMPS, JUMPS_ADVICE)
            gradients = [gradient * np.nan for gradient in gradients]
        if isinstance(ans, Tensor):
            return gradients
        return [raw(gradient) for gradient in gradients]

    def slopes(self, g, before, inner):
        """What gives the gradients under the integral at many numbers, or None: Note [Slopes at all nodes]."""
        if self._of_slopes or not leaves_nothing(self.f, self._watch) or getattr(self.f, "on_copies", False):
            return None  # a function with a cache is not copied, and would keep what it is given
        arguments = self.arguments
        limits, (g, *values) = [raw(t) for t in before], [np.asarray(raw(t)) for t in (g, *inner)]

        def constants(values):
            return arguments.rebuilt([*limits, *values])[2:]

        return Slopes(self.f, constants, values, g)

    def end(self, g, limit, other, parameters):
        """The gradient of the upper limit: the function there; nan, with a warning, where it has no value."""
        values = [raw(p) for p in parameters]
        try:
            inwards = one_sided(lambda x: raw(self.f(x, *values)), float(raw(limit)), float(raw(other)))
            if inwards is not None:
                return ag.sum(g * self.f(limit + inwards if inwards else limit, *parameters))
            problem = "grows without bound"
        except MATH_ERRORS as error:
            if not no_value(error):
                raise
            problem = f"raises {type(error).__name__} ({error})"
        warn(self.name, f"the function {problem} at its limit {float(raw(limit)):g}")
        return ag.sum(g * np.nan)


def split(flat, like):
    """The parts of a flat gradient, each of the shape of one parameter."""
    found, offset = [], 0
    for v in like:
        shape = np.shape(raw(v))
        size = int(np.prod(shape))
        found.append(ag.reshape(flat[offset : offset + size], shape))
        offset += size
    return found


def _vector(name, f, lower, upper, parameters, tolerances, points, slopes=None):
    """The integral of an array-valued function, recorded; `slopes` gives its values at many numbers."""
    arguments = Arguments((lower, upper, *parameters))
    a, b, *rest = arguments.raw()

    def plain(x):
        return np.asarray(raw(f(x, *rest)))

    value = integral_of_a_gradient(name, plain, float(a), float(b), tolerances, points, slopes)
    return arguments.attach(_Integral(name, f, np.asarray(value), arguments, tolerances, points, of_slopes=True))


def _tolerances(epsabs, epsrel):
    return {"epsabs": max(epsabs, 1e-300), "epsrel": epsrel}


@CHAPTER.composition("quad", "a b args", LEIBNIZ)
def _quad(func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None,
          wvar=None, wopts=None, maxp1=50, limlst=50, complex_func=False):  # fmt: skip
    if weight is not None or complex_func:
        raise NotDifferentiable("arraygrad.scipy.integrate.quad: integrals with a weight have no rule")
    f, parameters = lifted("scipy.integrate.quad", func, args)
    if points is not None and holds_tensor(points, grad=True):
        places = [float(raw(place)) for place in points]
        plain = raw_function("scipy.integrate.quad", f, [raw(p) for p in parameters])
        theirs = integrate.quad(plain, raw(a), raw(b), (), full_output, epsabs, epsrel, limit, places)
        parts = _divided(f, a, b, points, parameters, epsabs, epsrel, limit)
        return (sum(parts[1:], parts[0]), *theirs[1:])
    arguments = Arguments((a, b, *parameters))
    lower, upper, *rest = arguments.raw()
    function, count = raw_function("scipy.integrate.quad", f, rest), itertools.count()

    def counted(x):
        next(count)
        return function(x)

    found = integrate.quad(counted, lower, upper, (), full_output, epsabs, epsrel, limit, points)
    # No jump lets the first of the rules agree with its coarser one to many digits.
    smooth = points is None and max(epsabs, epsrel) <= _FINE and next(count) <= _ONE_INTERVAL
    problem = _Integral("scipy.integrate.quad", f, np.asarray(found[0]), arguments, _tolerances(epsabs, epsrel), points,
                        smooth)  # fmt: skip
    return (arguments.attach(problem), *found[1:])


def _divided(f, a, b, points, parameters, epsabs, epsrel, limit):
    """The integrals between the points, which are limits: what jumps where a point says has its derivative, too."""
    low, high = sorted((float(raw(a)), float(raw(b))))
    inside = {float(raw(place)): place for place in points}
    order = sorted((value for value in inside if low < value < high), reverse=float(raw(a)) > float(raw(b)))
    ends = [a, *[inside[value] for value in order], b]
    return [
        _quad(f, start, end, tuple(parameters), 0, epsabs, epsrel, limit)[0] for start, end in itertools.pairwise(ends)
    ]


@CHAPTER.composition("quad_vec", "a b args", LEIBNIZ)
def _quad_vec(f, a, b, epsabs=1e-200, epsrel=1e-8, norm="2", cache_size=100e6, limit=10000, workers=1, points=None,
              quadrature=None, full_output=False, *, args=()):  # fmt: skip
    function, parameters = lifted("scipy.integrate.quad_vec", f, args)
    arguments = Arguments((a, b, *parameters))
    lower, upper, *rest = arguments.raw()
    points = None if points is None else [float(raw(place)) for place in points]
    found = integrate.quad_vec(raw_function("scipy.integrate.quad_vec", function, rest), lower, upper, epsabs, epsrel,
                               norm, cache_size, limit, workers, points, quadrature, full_output)  # fmt: skip
    problem = _Integral("scipy.integrate.quad_vec", function, np.asarray(found[0]), arguments,
                        _tolerances(epsabs, epsrel), points)  # fmt: skip
    return (arguments.attach(problem), *found[1:])


FUNCTION, LOWER, UPPER = 0, 1, 2  # what the inner integral of dblquad asks for


@CHAPTER.composition("dblquad", "a b gfun hfun args", LEIBNIZ)
def _dblquad(func, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    # The function and its limits are lifted together, as all three may read the same values of the program. Limits that
    # are numbers are parameters.
    def asked(which, *values):
        *values, lower, upper = values
        if which == FUNCTION:
            return func(*values)
        limit, number = (gfun, lower) if which == LOWER else (hfun, upper)
        return limit(values[0]) if callable(limit) else number

    numbers = [0.0 if callable(limit) else limit for limit in (gfun, hfun)]
    f, parameters = lifted("scipy.integrate.dblquad", asked, (*args, *numbers))

    def inner(x, *values):
        return NAMES["quad"](lambda y, x, *values: f(FUNCTION, y, x, *values), f(LOWER, x, *values),
                             f(UPPER, x, *values), (x, *values), epsabs=epsabs, epsrel=epsrel)[0]  # fmt: skip

    return _quad(inner, a, b, parameters, epsabs=epsabs, epsrel=epsrel)


@CHAPTER.composition("fixed_quad", "a b args", "Gauss and Legendre; the function itself")
def _fixed_quad(func, a, b, args=(), n=5):
    nodes, weights = special.roots_legendre(n)
    half = 0.5 * (b - a)
    y = half * (nodes + 1.0) + a
    return half * ag.sum(weights * ag.asarray(func(y, *args)), axis=-1), None
