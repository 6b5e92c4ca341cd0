"""Integrals and sums whose gradient is one of the same kind, term by term.

May import: arraygrad, autograd.function_snapshots, core.inplace, core.tensor, scipy._declare, scipy._callbacks,
scipy.integrate, transforms, numpy, SciPy.
"""

import functools

import numpy as np
from scipy import integrate, special

import arraygrad as ag
from arraygrad.autograd.function_snapshots import kept
from arraygrad.core.inplace import as_scalar
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.lifting import depends
from arraygrad.scipy._callbacks import lifted, tracked
from arraygrad.scipy._declare import REGISTRY, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy.integrate._adaptive import ROUNDED, integral_of_a_gradient, warn
from arraygrad.scipy.integrate._boxes import nodes_and_weights
from arraygrad.scipy.integrate._chapter import CHAPTER
from arraygrad.scipy.integrate._functions import LEIBNIZ, split
from arraygrad.transforms.following import vjp

__all__ = []


# -- more than two variables ------------------------------------------------------------------------------------------


class _Region:
    """The limits of the inner variables: pairs of numbers or of functions of the variables outside them."""

    def __init__(self, name, bounds, tolerances, known=None):
        self.name, self.bounds, self.tolerances, self.known = name, bounds, tolerances, known

    def line(self, f, a, b):
        """The integral of f over one variable."""
        return _line(self.name, f, float(a), float(b), self.tolerances)

    def integral(self, f, outer=()):
        """The integral over the inner variables, the outer ones given, the outermost first."""
        k = len(outer) - 1
        if k == len(self.bounds):
            return np.asarray(raw(f(*outer[::-1])))
        low, high = (bound(*outer) if callable(bound) else bound for bound in self.bounds[k])
        return self.line(lambda v: self.integral(f, (*outer, v)), low, high)

    def slice(self, x):
        """The region of the inner variables at x."""
        fixed = lambda bound: (lambda *outer: bound(x, *outer)) if callable(bound) else bound
        first, *rest = self.bounds
        low, high = (bound(x) if callable(bound) else bound for bound in first)
        return low, high, _Region(self.name, [tuple(map(fixed, pair)) for pair in rest], self.tolerances)


def _values(a, b, args, f, region):
    if region.known is not None:
        return np.asarray(region.known)
    return np.asarray(region.line(lambda x: region.integral(lambda *at: f(*at, *args), (x,)), a, b))


@functools.cache
def _kronrod():
    """(nodes in the unit interval, weights, weights of Gauss' rule of ten nodes among them)."""
    nodes, weights = nodes_and_weights("gk21", 1)
    nodes = nodes[:, 0]
    gauss, inner = special.roots_legendre(10)
    away = np.abs(nodes[:, None] - 0.5 * (1.0 + gauss))
    return nodes, weights, np.where(away.min(axis=1) < 1e-9, 0.5 * inner[away.argmin(axis=1)], 0.0)


def _line(name, f, a, b, tolerances):
    """One integral of an array: 21 nodes where they are enough, SciPy's adaptive rule elsewhere."""
    if np.isfinite(a) and np.isfinite(b) and hasattr(integrate, "cubature"):
        nodes, weights, lower = _kronrod()
        values = np.stack([f(x) for x in a + (b - a) * nodes])
        found = (b - a) * np.tensordot(weights, values, axes=1)
        error = np.max(np.abs((b - a) * np.tensordot(weights - lower, values, axes=1)), initial=0.0)
        if error <= max(tolerances["epsabs"], tolerances["epsrel"] * np.max(np.abs(found), initial=0.0)):
            return found
    return integral_of_a_gradient(name, f, a, b, tolerances)


@ruled("integrate._iterated", _values, "a b args", LEIBNIZ, inert="f region")
def _iterated(g, ans, a, b, args, f, region, needs):
    def end(x):
        if not region.bounds:
            return ag.sum(g * f(x, *args))
        low, high, inner = region.slice(float(raw(x)))
        return ag.sum(g * _iterated(low, high, (x, *args), lambda *given: _outermost(f, given, depth), inner))

    depth = len(region.bounds)

    def by_args():
        tensors = [(i, v) for i, v in enumerate(args) if isinstance(v, Tensor)]

        def integrand(*given):
            at, (cotangent, *values) = given[: depth + 1], given[depth + 1 :]

            def of(*chosen):
                every = list(args)
                for (i, _), v in zip(tensors, chosen, strict=True):
                    every[i] = v
                return f(*at, *every)

            of.differentiates = True  # the function may well be constant at some x
            parts = vjp(of, *values)[1](cotangent)
            return ag.concat([ag.reshape(ag.asarray(part), (-1,)) for part in parts])

        whole = _iterated(
            a, b, (g, *[v for _, v in tensors]), integrand, _Region(region.name, region.bounds, region.tolerances)
        )
        found = [None] * len(args)
        for (i, _), part in zip(tensors, split(whole, [v for _, v in tensors]), strict=True):
            found[i] = part
        return tuple(found)

    found = {"a": lambda: -end(ag.asarray(a)), "b": lambda: end(ag.asarray(b))}
    return {**found, "args": by_args() if "args" in needs else None}


def _outermost(f, given, depth):
    """f of the inner variables, then the outermost, which stands first among the arguments."""
    inner, (x, *rest) = given[:depth], given[depth:]
    return f(*inner, x, *rest)


REGISTRY.pop("integrate._iterated")  # no function of SciPy's


def _moves(bounds):
    """Whether a gradient reaches one of the limits, or what it reads."""
    return any(tracked(bound) or (callable(bound) and depends(bound)) for pair in bounds for bound in pair)


def _nested(name, f, a, b, bounds, parameters, tolerances, known):
    if _moves(bounds):
        raise NotDifferentiable(
            f"arraygrad.scipy.integrate.{name}: inner limits require grad: use dblquad or tplquad, or write the inner "
            "integrals as quad(...)[0]"
        )
    plain = [tuple(raw(bound) for bound in pair) for pair in bounds]
    region = _Region(f"scipy.integrate.{name}", plain, tolerances, known)
    return as_scalar(_iterated(a, b, tuple(parameters), f, region))


@CHAPTER.composition("tplquad", "a b gfun hfun qfun rfun args", LEIBNIZ)
def _tplquad(func, a, b, gfun, hfun, qfun, rfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    bounds = [(gfun, hfun), (qfun, rfun)]
    if _moves(bounds):
        return _in_the_unit_square(func, a, b, gfun, hfun, qfun, rfun, args, epsabs, epsrel)
    f, parameters = lifted("scipy.integrate.tplquad", func, args)
    values = [raw(p) for p in parameters]
    plain = [raw(bound) for pair in bounds for bound in pair]
    found = integrate.tplquad(lambda *at: raw(f(*at, *values)), raw(a), raw(b), *plain, (), epsabs, epsrel)
    tolerances = {"epsabs": epsabs, "epsrel": epsrel}
    return (_nested("tplquad", f, a, b, bounds, parameters, tolerances, found[0]), *found[1:])


def _in_the_unit_square(func, a, b, gfun, hfun, qfun, rfun, args, epsabs, epsrel):
    """tplquad whose inner limits have a gradient: the inner variables run from 0 to 1, so that no limit moves."""
    limits = (gfun, hfun, qfun, rfun)
    numbers = [0.0 if callable(limit) else limit for limit in limits]

    # The function and its limits are lifted together, as all may read the same values of the program.
    def stretched(w, v, x, *values):
        *values, g, h, q, r = values
        low, high = gfun(x) if callable(gfun) else g, hfun(x) if callable(hfun) else h
        y = low + (high - low) * v
        below, above = qfun(x, y) if callable(qfun) else q, rfun(x, y) if callable(rfun) else r
        return func(below + (above - below) * w, y, x, *values) * (high - low) * (above - below)

    if not all(np.isfinite(raw(number)) for number in numbers):
        raise NotDifferentiable(
            "arraygrad.scipy.integrate.tplquad: inner limits require grad, and one of them is infinite: write the "
            "inner integrals as quad(...)[0]"
        )
    f, parameters = lifted("scipy.integrate.tplquad", stretched, (*args, *numbers))
    given = [raw(p) for p in args]
    at = [(lambda *at, limit=limit: raw(limit(*at))) if callable(limit) else raw(limit) for limit in limits]
    found = integrate.tplquad(lambda *at: raw(func(*at, *given)), raw(a), raw(b), *at, (), epsabs, epsrel)
    tolerances = {"epsabs": epsabs, "epsrel": epsrel}
    unit = [(0.0, 1.0), (0.0, 1.0)]
    return (_nested("tplquad", f, a, b, unit, parameters, tolerances, found[0]), *found[1:])


@CHAPTER.composition("nquad", "ranges args", LEIBNIZ + "; the last of ranges")
def _nquad(func, ranges, args=None, opts=None, full_output=False):
    if opts is not None or full_output or any(callable(one) for one in ranges):
        raise NotDifferentiable(
            "arraygrad.scipy.integrate.nquad: opts, full_output and ranges that are functions have no rule; nest quad"
        )
    f, parameters = lifted("scipy.integrate.nquad", func, () if args is None else args)
    values = [raw(p) for p in parameters]
    found = integrate.nquad(lambda *at: raw(f(*at, *values)), [raw(one) for one in ranges])
    *inner, (a, b) = [tuple(one) for one in ranges]
    tolerances = {"epsabs": 1.49e-8, "epsrel": 1.49e-8}
    return (_nested("nquad", f, a, b, inner[::-1], parameters, tolerances, found[0]), *found[1:])


# -- term by term -----------------------------------------------------------------------------------------------------


def _termwise(name, ends):
    """tanhsinh and nsum: gradients by the arguments are integrals and sums of the terms' gradients."""
    theirs = getattr(integrate, name, None)
    if theirs is None:
        return
    field = "integral" if name == "tanhsinh" else "sum"

    def values(a, b, args, f, options):
        def plain(x, *given):
            found = f(x, *given)
            if isinstance(found, Tensor) and found.requires_grad:
                raise TypeError(
                    f"arraygrad.scipy.integrate.{name}: the function depends on a Tensor that requires grad and is not "
                    "among args, so its gradient would be lost: pass it in args. Of an object that holds it pass "
                    "what it is made of, and make it in the function"
                )
            return raw(found)

        result = theirs(plain, a, b, args=tuple(args), **options)
        found = np.asarray(getattr(result, field))
        # SciPy's own value is what it is; a gradient that is none is not given.
        if getattr(f, "of_a_gradient", False):
            settled = result.success | (np.abs(result.error) <= ROUNDED * np.abs(found))
            if not np.all(settled):
                warn(f"scipy.integrate.{name}", f"the {field} of its derivative does not converge")
                found = np.where(settled, found, np.nan)
        return found

    @ruled(f"integrate._{name}", values, "a b args", LEIBNIZ, inert="f options")
    def recorded(g, ans, a, b, args, f, options, needs):
        def gradient(i):
            def term(x, *given):
                """The gradient of each term by its own argument."""
                shape = np.broadcast_shapes(np.shape(raw(x)), *[np.shape(raw(v)) for v in given])
                values = [ag.broadcast_to(ag.asarray(v), shape) for v in given]

                def of(v):
                    return f(x, *values[:i], v, *values[i + 1 :])

                of.differentiates = True  # the function may well be constant at some x
                found, pull = vjp(of, values[i])
                return pull(ag.ones_like(found))[0]

            # The gradient is an integral or a sum itself, by the same function of SciPy's and its rule: so it has every
            # further order. The mark makes the result nan where that does not converge, with a warning: a value that is
            # not settled would pass for a gradient.
            term.of_a_gradient = True
            return g * recorded(a, b, tuple(args), term, options)

        found = {"args": tuple([gradient(i) if isinstance(v, Tensor) else None for i, v in enumerate(args)])} if (
            "args" in needs) else {}  # fmt: skip
        if ends:
            found.update({"a": lambda: -g * f(ag.asarray(a), *args), "b": lambda: g * f(ag.asarray(b), *args)})
        return found

    REGISTRY.pop(f"integrate._{name}")  # no function of SciPy's

    @CHAPTER.composition(name, "a b args" if ends else "args", LEIBNIZ if ends else "definition")
    def function(f, a, b, *, args=(), **options):
        if options.get("log"):
            raise NotDifferentiable(f"arraygrad.scipy.integrate.{name}: log=False has derivatives")
        if not ends and (holds_tensor((a, b, options.get("step")), grad=True)):
            raise NotDifferentiable(f"arraygrad.scipy.integrate.{name}: which terms there are has no derivative")
        args = args if isinstance(args, tuple) else (args,)
        with_read, everything = lifted(f"scipy.integrate.{name}", f, args)
        if all(np.ndim(raw(one)) == 0 for one in everything[len(args) :]):  # SciPy spreads args over the terms
            f, args = with_read, tuple(everything)
        else:
            f = kept(f, f"scipy.integrate.{name}", args)
        result = theirs(
            lambda x, *given: raw(f(x, *given)), raw(a), raw(b), args=tuple(raw(v) for v in args), **options
        )
        options = {key: raw(value) for key, value in options.items() if key != "callback"}
        setattr(result, field, recorded(a, b, args, f, options))
        return result


_termwise("tanhsinh", True)
_termwise("nsum", False)
