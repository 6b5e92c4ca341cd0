"""The chapter that functions of scipy.optimize are declared in, and the node of a solution.

May import: implicit, scipy._declare, scipy._callbacks, numpy, SciPy.
"""

import numpy as np
from scipy import optimize

from arraygrad.implicit.common import Arguments, array_function, raw_function
from arraygrad.implicit.problems import _Root  # type: ignore[attr-defined]  # private: not in the stub
from arraygrad.scipy._callbacks import lifted
from arraygrad.scipy._declare import Chapter, raw

__all__ = ["CHAPTER", "IMPLICIT", "NAMES", "Problem"]

CHAPTER = Chapter("optimize", optimize)
NAMES = CHAPTER.names
IMPLICIT = "implicit function theorem"

# How far Newton's method may move a solution that SciPy's own tolerances were content with.
TOLERANCE = 1e-3


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
    """

    def __init__(self, name, f, args=(), bounds=(), lists=False):
        self.name = f"scipy.optimize.{name}"
        args = args if isinstance(args, tuple) else (args,)
        self.f, parameters = lifted(f, args)
        if lists:
            self.f = array_function(self.f)
        self.first = len(bounds)
        if bounds:
            inner, parameters = self.f, (*bounds, *parameters)
            self.f = lambda x, *given: inner(x, *given[len(bounds) :])
        self.arguments = Arguments(parameters)
        self.parameters = parameters
        self.plain = self.arguments.raw()
        self.n = len(args)
        self.raw = raw_function(self.name, self.f, self.plain)

    def solution(self, x, residual=None):
        """SciPy's solution x of residual(x, *arguments) = 0, recorded; the residual is `f` where none is given."""
        x = np.asarray(x, dtype=float) if np.asarray(x).dtype.kind != "f" else np.asarray(x)
        return self.arguments.attach(_Root(self.name, residual or self.f, x, self.arguments, None, TOLERANCE))

    def helper(self, f):
        """A callback for the solver alone: SciPy passes it x, and we the plain arguments."""
        if not callable(f):
            return f
        args = [raw(a) for a in self.plain[self.first : self.first + self.n]]
        return lambda *given: raw(f(*given, *args))
