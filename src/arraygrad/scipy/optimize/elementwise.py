"""scipy.optimize.elementwise: a root or a minimum for each element, gradients by the implicit function theorem.

May import: arraygrad, implicit, transforms, scipy._declare, scipy._guards, scipy.optimize._chapter, numpy, SciPy.

The equations of the elements do not depend on each other. So the Jacobian is diagonal, and one pull gives it. Elements
whose search has failed have no gradient: an error if one is asked for.
"""

import numbers

import numpy as np
from scipy.optimize import elementwise as _elementwise

import arraygrad as ag
from arraygrad.core.constructors import asarray
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import ConvergenceError
from arraygrad.implicit.problems import _Root  # type: ignore[attr-defined]  # private: not in the stub
from arraygrad.scipy._callbacks import tracked
from arraygrad.scipy._declare import Chapter, mirror, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.optimize._chapter import IMPLICIT, TOLERANCE, Problem, recorded_result
from arraygrad.transforms.following import vjp

__all__ = []

_CHAPTER = Chapter("optimize.elementwise", _elementwise)


class _Each(_Root):
    """A solution of residual(x, *arguments) = 0 whose elements are solutions of their own."""

    def _dense(self, g, x, tensor, args, raw_args):
        slope = _slopes(self.residual, tensor, args)
        slope = slope if isinstance(x, Tensor) else raw(slope)
        asked = raw(g) != 0
        left, size = np.asarray(raw(self.residual(raw(x), *raw_args))), np.abs(raw(x))
        with np.errstate(all="ignore"):
            moved = np.abs(left / np.asarray(raw(slope)))
        lost = asked & ~(moved <= self.tol * (1.0 + size))
        if np.any(lost):
            raise ConvergenceError(
                f"{self.name}: the solver's result is no solution in {np.count_nonzero(lost)} of the elements whose "
                "gradient is asked for: the search has failed there, or the derivative of the equation is zero. Leave "
                "them out by numpy.where(result.success, result.x, 0.0), or ask for a smaller tolerance"
            )
        xp = ag if isinstance(x, Tensor) else np
        return xp.where(asked, g, 0.0) / xp.where(asked, slope, 1.0)


def _slopes(f, x, args):
    """The derivative by x of each element of f(x, *args)."""
    value, pull = vjp(lambda x: f(x, *args), x)
    return pull(ag.ones_like(asarray(value)))[0]


def _searched(name, f, args, search):
    """(a Problem, SciPy's result); `search(function, args)` calls SciPy's function."""
    if isinstance(args, numbers.Number) or getattr(args, "ndim", None) == 0:
        args = (args,)
    problem = Problem(f"elementwise.{name}", f, args)
    n = len(problem.given)
    read = problem.plain[n:]  # SciPy spreads the arguments over the elements, and leaves those out that are solved
    return problem, search(lambda x, *given: raw(problem.f(x, *given, *read)), problem.plain[:n])


def _solver(name, of_slopes):
    theirs = _CHAPTER.values(name)

    @_CHAPTER.composition(name, "args", IMPLICIT)
    def solver(f, init, /, *, args=(), tolerances=None, maxiter=None if name == "find_root" else 100, callback=None):
        def search(function, args):
            return theirs(function, raw(init), args=args, tolerances=raw(tolerances), maxiter=maxiter,
                          callback=callback)  # fmt: skip

        if callable(callback) and tracked((args, f)):
            raise NotDifferentiable(
                f"arraygrad.scipy.optimize.elementwise.{name}: a callback gets steps of the search, which have no "
                "derivative. Look at the result, or call the function with arraygrad.stop_gradient(args)"
            )
        problem, result = _searched(name, f, args, search)
        residual = (lambda x, *args: _slopes(problem.f, x, args)) if of_slopes else problem.f
        x = _Each(problem.name, residual, np.asarray(result.x), problem.arguments, None, TOLERANCE)
        x = problem.arguments.attach(x)
        return recorded_result(result, x=x, f_x=problem.f(x, *problem.parameters))


_solver("find_root", False)
_solver("find_minimum", True)


def _brackets(name):
    theirs = _CHAPTER.values(name)

    @_CHAPTER.composition(name, "args", "constant between its steps")
    def solver(f, start, *further, args=(), **options):
        if tracked((start, further, options)):
            raise NotDifferentiable(
                f"arraygrad.scipy.optimize.elementwise.{name}: where the search begins, and how it goes on, has no "
                "derivative here: give it arraygrad.stop_gradient(x). A solution in the bracket does not depend on it"
            )

        def search(function, args):
            return theirs(function, raw(start), *raw(further), args=args, **raw(options))

        problem, result = _searched(name, f, args, search)
        values = tuple([problem.f(x, *problem.parameters) for x in result.bracket])
        return recorded_result(result, kept=("bracket",), f_bracket=values)


_brackets("bracket_root")
_brackets("bracket_minimum")

globals().update(_CHAPTER.names)

__getattr__, __dir__ = mirror(globals(), _elementwise)
