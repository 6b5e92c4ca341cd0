"""Functions that are given to SciPy's solvers.

May import: core.containers, core.tensor, engine, implicit.lifting, scipy._guards, the standard library.
"""

import numbers

from arraygrad.core.containers import flatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.implicit import lifting
from arraygrad.scipy._guards import helping, raw

__all__ = ["bound", "lifted", "plain", "tracked"]

# The functions whose `args` are one argument where they are no tuple. Others unpack a list or an array of arguments.
_ONE_ARGUMENT = frozenset(
    "quad quad_vec brentq brenth bisect ridder toms748 root_scalar root fsolve minimize minimize_scalar leastsq".split()
)


def bound(name, args):
    """The tuple of arguments that SciPy's function `name` calls its callbacks with, for what was given as `args`."""
    if isinstance(args, tuple):
        return args
    if name.rpartition(".")[2] in _ONE_ARGUMENT:
        return (args,)
    if isinstance(args, numbers.Number) or getattr(args, "ndim", 1) == 0:
        raise TypeError(f"{name}: args is a tuple of arguments, as in SciPy, but got one of them: give args=(k,)")
    return tuple(args)


def lifted(name, f, args=()):
    """(function(variables, *all), all) of `implicit.lifting`, with `args` bound as SciPy's function `name` does."""
    return lifting.lifted(name, f, bound(name, args))


def tracked(tree):
    """Whether a Tensor in it requires grad while that is recorded."""
    return is_grad_enabled() and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in flatten(tree)[0])


def plain(f, args=()):
    """A callback that helps the solver alone (a Jacobian, say): its results as raw arrays, without a gradient."""
    if not callable(f):
        return helping(f)

    def call(*given):
        return helping(f(*given, *[raw(a) for a in args]))

    return call
