"""The chapter that functions of scipy.optimize are declared in, and the node of a solution.

May import: autograd, core.constructors, implicit, scipy._declare, scipy._callbacks, scipy._guards, scipy._told, numpy,
SciPy.
"""

import numpy as np
from scipy import optimize

from arraygrad.autograd import Function
from arraygrad.core.constructors import asarray
from arraygrad.implicit.common import Arguments, Called, ConvergenceError, array_function, raw_function
from arraygrad.implicit.problems import _Root  # type: ignore[attr-defined]  # private: not in the stub
from arraygrad.scipy._callbacks import bound, lifted, tracked
from arraygrad.scipy._declare import Chapter
from arraygrad.scipy._guards import NotDifferentiable, helping, holds_numbers, holds_tensor
from arraygrad.scipy._told import telling

__all__ = ["AT_BOUND", "CHAPTER", "IMPLICIT", "NAMES", "Problem", "Unconverged", "recorded_result"]

CHAPTER = Chapter("optimize", optimize)
NAMES = CHAPTER.names
IMPLICIT = "implicit function theorem"

# How far Newton's method may move a solution that SciPy's own tolerances were content with.
TOLERANCE = 1e-3

# Of a bound, relative: what counts as being at it.
AT_BOUND = 1e-9


class Problem:
    """A function given to a solver, on raw arrays (`raw`) and with everything that it depends on (`f`).

    Parameters
    ----------
    name : str
        Of SciPy's function.
    f : callable
    args : tuple
        Its further arguments.
    bounds : tuple
        What the solution, but not the function, depends on: stands before everything else in `parameters`.
    lists : bool
        The function computes an array, which it may return as a list. (A minimiser's may return value and gradient.)
    start : array, Tensor or tuple, optional
        Where the search begins, and what else steers it. An isolated solution does not depend on it, and its gradient
        is zero; that it is isolated is looked at in backward. It stands last in `parameters` where it requires grad.
    """

    def __init__(self, name, f, args=(), bounds=(), lists=False, start=None):
        self.name = f"scipy.optimize.{name}"
        args = bound(self.name, args)
        self.f, parameters = lifted(self.name, f, args)
        if lists:
            self.f = array_function(self.f)
        self.given = args
        if bounds:
            inner, parameters = self.f, (*bounds, *parameters)
            self.f = lambda x, *given: inner(x, *given[len(bounds) :])
        if tracked((start,)):
            whole, parameters = self.f, (*parameters, start)
            self.f = lambda x, *given: whole(x, *given[:-1])
        self.arguments = Arguments(parameters)
        self.parameters = parameters
        self.plain = self.arguments.raw()
        self.raw = raw_function(self.name, self.f, self.plain)

    def solution(self, x, residual=None):
        """SciPy's solution x of residual(x, *arguments) = 0, recorded; the residual is `f` where none is given."""
        x = np.asarray(x)
        if x.dtype.kind == "c":
            if not tracked(self.arguments.tensors):
                return x[()]
            raise NotDifferentiable(
                f"arraygrad.{self.name}: the derivative of a complex solution has no rule. Give real and imaginary "
                "parts as unknowns of their own, two equations for scipy.optimize.root"
            )
        x = x.astype(float) if x.dtype.kind != "f" else x
        return self.arguments.attach(_Root(self.name, residual or self.f, x, self.arguments, None, TOLERANCE))

    def helper(self, f):
        """A callback for the solver alone: SciPy passes it x, and we the plain arguments."""
        if not callable(f):
            return helping(f)
        args = Arguments(self.given).raw()
        return lambda *given: helping(f(*given, *args))

    def telling(self, callback):
        """The solver's callback, told of the search in Tensors that refuse a gradient."""
        return telling(self.name.removeprefix("scipy."), callback, self.arguments.tensors)


class Unconverged(Function):
    """What a solver returned that is no solution: its value, which refuses to be differentiated."""

    @staticmethod
    def forward(ctx, name, x, moved, *tensors):
        ctx.name, ctx.moved = Called(f"scipy.optimize.{name}"), moved
        return asarray(x)

    @staticmethod
    def backward(ctx, g):
        raise ConvergenceError(
            f"{ctx.name}: the solver's result is no solution: the solution is {ctx.moved:.3g} away from it. Solve to a "
            "smaller tolerance, with more iterations"
        )


class _Recorded(optimize.OptimizeResult):
    """A result with recorded fields. What it leaves out says so, and why."""

    _left_out = ()

    def _text(self, key):
        return (
            f"{key}: arraygrad leaves it out of a result that requires grad, as it depends on the arguments and has no "
            f"rule: it would be a constant unseen. {', '.join(self._recorded)} are recorded; compute it of these, or "
            "solve detached arguments"
        )

    def __missing__(self, key):
        raise KeyError(self._text(key) if key in self._left_out else key)

    def __getattr__(self, key):
        if key in self:
            return self[key]
        raise AttributeError(self._text(key) if key in vars(self).get("_left_out", ()) else key)

    def __reduce__(self):
        return _remade, (dict(self), dict(vars(self)))


def _remade(fields, about):
    result = _Recorded(fields)
    vars(result).update(about)
    return result


def recorded_result(result, *, kept=(), **fields):
    """SciPy's result with recorded fields, without numbers that depend on the arguments and are constants.

    Parameters
    ----------
    kept : tuple of str
        Floating-point fields that are counts or signs.
    """
    result = _remade(dict(result), {"_recorded": tuple(fields)})
    result.update(fields)
    if holds_tensor(fields, grad=True):
        left = [
            key for key, value in result.items() if key not in fields and key not in kept and holds_numbers(value)
        ]  # fmt: skip
        for key in left:
            del result[key]
        vars(result)["_left_out"] = tuple(left)
    return result
