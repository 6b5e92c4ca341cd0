"""Minima under constraints: Lagrange's function is stationary, and the constraints that hold the minimum are zero.

May import: arraygrad, transforms, scipy._callbacks, scipy._declare, scipy._guards, scipy.optimize._chapter, numpy,
SciPy.

With the active constraints c, those that are zero at the minimum, the equations of Karush, Kuhn and Tucker are
df/dx - sum(m * dc/dx) = 0 and c(x) = 0, of which x and the multipliers m are the solution (Nocedal and Wright,
Numerical Optimization, 2006, section 12.3). Which constraints are active is taken as locally constant. That is so where
their slopes are independent, and where no inequality is active without a force, a multiplier of zero: elsewhere the
gradient is refused, as it has two sides or none.
"""

import copy
from itertools import zip_longest

import numpy as np
from scipy import optimize, sparse

import arraygrad as ag
from arraygrad.scipy._callbacks import tracked
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.optimize._chapter import Problem
from arraygrad.transforms.following import grad, jacobian

__all__ = ["CLASSES", "Constraints", "multipliers", "stationary"]

# How far from the place where it is zero an active inequality may be left by a solver, beside the size of the solution.
_AT_LIMIT = 1e-6
# What of the gradient's size a multiplier is at least.
_FORCE = 1e-7

NAME = "scipy.optimize.minimize"


def _joined(x):
    """A list of numbers as an array, recorded where Tensors are in it; anything else as it is."""
    return ag.asarray(x) if isinstance(x, (list, tuple)) and tracked(x) else x


class Bounds(optimize.Bounds):
    """SciPy's class, also of lists that hold Tensors."""

    def __init__(self, lb=-np.inf, ub=np.inf, keep_feasible=False):
        super().__init__(_joined(lb), _joined(ub), keep_feasible)


class LinearConstraint(optimize.LinearConstraint):
    """SciPy's class, also of lists that hold Tensors."""

    def __init__(self, A, lb=-np.inf, ub=np.inf, keep_feasible=False):
        super().__init__(_joined(A), _joined(lb), _joined(ub), keep_feasible)


class NonlinearConstraint(optimize.NonlinearConstraint):
    """SciPy's class, also of lists that hold Tensors."""

    def __init__(self, fun, lb, ub, *args, **kwargs):
        super().__init__(fun, _joined(lb), _joined(ub), *args, **kwargs)


CLASSES = {cls.__name__: cls for cls in (Bounds, LinearConstraint, NonlinearConstraint)}
for _cls in CLASSES.values():
    _cls.__module__ = optimize.Bounds.__module__


class Constraints:
    """The constraints of a minimum, `plain` as SciPy takes them, and recorded, with all that they depend on.

    `parameters` are what the recorded ones depend on, for `values`; `equalities` says which of the values of the last
    call are of equalities.
    """

    def __init__(self, given):
        every = [] if given is None or not np.size(given) else given
        given = [every] if isinstance(every, dict) or hasattr(every, "lb") else list(every)
        self._parts = [_Part(one) for one in given] if all(map(_is_whole, given)) else []  # SciPy says what is missing
        self.plain = [_plain(one, part) for one, part in zip_longest(given, self._parts)]
        self.parameters = tuple([p for part in self._parts for p in part.parameters])
        self.equalities = np.zeros(0, dtype=bool)

    def __bool__(self):
        return bool(self._parts)

    def values(self, x, args):
        """What is zero (`equalities`) or not negative, as a list of vectors."""
        found, equalities, args = [], [], list(args)
        for part in self._parts:
            own = [args.pop(0) for _ in part.parameters]
            for value, is_equality in part.values(x, own):
                found.append(value)
                equalities.append(np.broadcast_to(is_equality, value.shape))
        self.equalities = np.concatenate(equalities)
        return found


def _is_whole(one):
    return {"type", "fun"} <= one.keys() if isinstance(one, dict) else hasattr(one, "fun") or hasattr(one, "A")


class _Part:
    """One constraint: a dict, or an object of SciPy's classes."""

    def __init__(self, one):
        self.is_equality = None
        if isinstance(one, dict):
            self.is_equality = np.asarray(one["type"].lower() == "eq")
            self.problem, further = Problem("minimize", one["fun"], one.get("args", ()), lists=True), ()
        elif hasattr(one, "A"):
            matrix = one.A.toarray() if sparse.issparse(one.A) else one.A
            self.problem = Problem("minimize", lambda x, matrix: ag.asarray(matrix) @ x, (matrix,))
            further = (one.lb, one.ub)
        else:
            self.problem, further = Problem("minimize", one.fun, lists=True), (one.lb, one.ub)
        self.f, self.parameters = self.problem.f, (*self.problem.parameters, *further)

    def values(self, x, args):
        """[(values, which are of equalities)], by the constraint's own parameters."""
        if self.is_equality is not None:
            return [(_vector(self.f(x, *args)), self.is_equality)]
        value = _vector(self.f(x, *args[:-2]))
        low, high = (ag.broadcast_to(ag.asarray(b, dtype=ag.float64), value.shape) for b in args[-2:])
        equal = np.asarray(raw(low) == raw(high))
        # An equality is one equation: beside it the other side is no limit of its own.
        above = ag.where(equal, np.inf, high) - value
        return [(value - low, equal), (above, np.asarray(False))]


def _vector(value):
    return ag.reshape(ag.asarray(value), (-1,))


def _plain(one, part):
    """A constraint of plain values, for SciPy; as it is where it is none (`part`)."""
    if part is None:
        return one
    fields = dict(one) if isinstance(one, dict) else vars(one).copy()
    fields.pop("args", None)
    for key, value in fields.items():
        if key == "fun":
            fields[key] = part.problem.raw
        else:
            fields[key] = part.problem.helper(value) if callable(value) else raw(value)
    if isinstance(one, dict):
        return fields
    made = copy.copy(one)
    vars(made).update(fields)
    return made


def multipliers(both, args, x, held, fixed):
    """(numbers of the active constraints, their multipliers, their steepness) at a minimum.

    The multipliers are those of constraints whose slopes have length one, as solvers scale them by themselves.

    Parameters
    ----------
    both : callable
        Of x and the arguments: the function that is minimized, and all constraints after it.
    args : sequence
        Plain arguments.
    x : array (n,)
        The minimum.
    held : Constraints
    fixed : array (n,) of bool
        Which elements are held by bounds.
    """
    slopes = np.asarray(raw(jacobian(lambda x: both(x, *args))(x)))
    given, equalities = np.asarray(raw(both(x, *args)))[1:], held.equalities
    steepness = np.sqrt(np.sum(slopes[1:] ** 2, axis=1))
    distances = given / np.where(steepness > 0.0, steepness, 1.0)
    active = np.flatnonzero(equalities | (distances <= _AT_LIMIT * (1.0 + np.max(np.abs(x), initial=0.0))))
    scales = np.where(steepness > 0.0, steepness, 1.0)[active]
    of_function, of_active = slopes[0, ~fixed], (slopes[1:][active] / scales[:, None])[:, ~fixed]
    if np.linalg.matrix_rank(of_active) < active.size:
        raise NotDifferentiable(
            f"arraygrad.{NAME}: {active.size} constraints are zero at the minimum, and their slopes there are not "
            "independent of each other, or of the bounds: leave out what the others imply"
        )
    found = np.linalg.lstsq(of_active.T, of_function)[0]
    idle = ~equalities[active] & (found <= _FORCE * (1.0 + np.max(np.abs(of_function), initial=0.0)))
    if np.any(idle):
        raise NotDifferentiable(
            f"arraygrad.{NAME}: inequality {int(active[idle][0])} of the constraints is at its limit, but does not "
            "hold the minimum: the derivative has another value on either side. Leave it out, solve to a smaller "
            "tolerance (tol=1e-12), or give arraygrad.stop_gradient(a) of what the problem reads where the minimum is "
            "meant as a constant"
        )
    return active, found, scales


def stationary(both, active, scales, at_bounds, size):
    """The residual of x and the multipliers: the equations of Karush, Kuhn and Tucker."""

    def residual(unknown, *args):
        x, held = unknown[:size], unknown[size:]

        def lagrangian(x):
            every = both(x, *args)
            return every[0] - ag.sum(held * ag.take(every[1:], active) / scales)

        slope = at_bounds.residual(grad(lagrangian)(x), x, args)
        return ag.concat([slope, ag.take(both(x, *args)[1:], active) / scales])

    return residual
