"""The adjoint of a solution on the steps of any solver, by collocation: for implicit and multistep methods.

May import: implicit.common, implicit.many_steps, numpy; scipy inside functions.

Note [Collocated adjoint]
~~~~~~~~~~~~~~~~~~~~~~~~~
(1) A solver's interpolant gives the solution at any place of a step. The equation of its derivative by the initial
    values and the parameters is linear, with Jacobians along the solution as coefficients. It is solved on the solver's
    own steps by collocation at Radau's nodes, which are stable for stiff equations. No step is chosen, no guess is made
    and nothing iterates: each step is a linear system, and all are built and solved together (Note [Many steps at
    once]). Times at which the solution is asked for add to the right side of the step that they lie in.
(2) For the method Radau these nodes, three, are its own stages: the gradient is that of the computed solution, as far as
    its Newton iterations converged. For the others there are as many as the order of the step asks for, and the gradient
    is that of the exact equation, to about the tolerance.
(3) Kept are the interpolants of the steps, up to a limit of memory. Beyond it, for states that are large or complex, and
    where the gradient is to be differentiated again, the adjoint equation is integrated (ivp.py).
Source: Hairer, Wanner, "Solving Ordinary Differential Equations II", IV.5 (Radau IIA); Cao, Li, Petzold, Serban (2003),
"Adjoint sensitivity analysis for differential-algebraic equations".
Guarded by tests/implicit/test_collocated_adjoint.py.
"""

import functools

import numpy

from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import raw
from arraygrad.implicit.many_steps import Calls, NoForm, Points, gradients_of_steps, room

__all__ = ["Interpolated", "Solution", "noting"]

_BYTES = 1 << 27  # of interpolants, which are kept
_SMALL = 64  # states of so many values at most
_MOST = 7  # nodes of a step


class _Radau:
    """Collocation at the s nodes of Radau's right-hand quadrature, as a tableau."""

    implicit = True

    def __init__(self, s):
        from numpy.polynomial import legendre

        series = numpy.zeros(s + 1)
        series[s - 1 :] = -1.0, 1.0
        self.c = numpy.sort((legendre.legroots(series).real + 1.0) / 2.0)
        self.c[-1] = 1.0
        self.size = s
        self._powers = numpy.arange(1, s + 1)
        self._by_values = numpy.linalg.inv(numpy.vander(self.c, increasing=True))  # coefficients of polynomials
        self.a = self.weights(self.c).T
        self.whole = self.a[-1]

    def weights(self, x):
        """(stages, m): integrals, from 0 to the places x (m,), of the polynomials that are 1 at one node."""
        return self._by_values.T @ (x[None, :] ** self._powers[:, None] / self._powers[:, None])


_radau = functools.cache(_Radau)


def nodes_for(order):
    """How many nodes serve a step of a method of that order."""
    return min(order // 2 + 2, _MOST)


def noting(method):
    """(a class of SciPy's implicit solvers that notes its steps, the `Interpolated`); (method, None) of another one."""
    from scipy import integrate

    orders = {
        integrate.Radau: lambda solver: 2,
        integrate.BDF: lambda solver: solver.order,
        integrate.LSODA: lambda solver: int(solver._lsoda_solver._integrator.iwork[13]),
    }
    cls = getattr(integrate, method, method) if isinstance(method, str) else method
    if cls not in orders:
        return method, None
    order, solution = orders[cls], Interpolated()

    def begin(self, *args, **kwargs):
        cls.__init__(self, *args, **kwargs)
        solution.begin(self.t, self.y)

    def step(self):
        message = cls.step(self)
        if self.status != "failed":
            solution.add(self.t, self.dense_output(), order(self), self.y.nbytes)
        return message

    return type(cls.__name__, (cls,), {"__init__": begin, "step": step}), solution


class Solution:
    """A solution on steps: `times` of their ends, `start`, `nodes` of each; `states(first, times)` gives its values."""

    def __init__(self):
        self.times, self.start, self.nodes = [], None, 2
        self.together = True  # the right side may be called at many points at once

    def serves(self, arrays):
        """Whether gradients by these arrays can be had."""
        return (
            len(self.times) > 1
            and self.start.dtype.kind == "f"
            and self.start.size <= _SMALL
            and all(not isinstance(one, Tensor) and raw(one).dtype.kind == "f" for one in arrays)
            and room(self.start.size, self.nodes, arrays) >= 1
        )

    def pull(self, f, arguments, g, times, arrays, dtype=None):
        """Gradients as Trajectory.pull in runge_kutta.py gives them; `arrays` are such that `serves` says so."""
        first_of_all = 0 in arguments.positions()
        parameters = list(arrays[1:] if first_of_all else arrays)
        origin = arrays[0] if first_of_all else self.start

        def right_side(t, y, *parameters):
            _, *rest = arguments.rebuilt((y, *parameters) if first_of_all else parameters)
            return f(t, y, *rest)

        tableau, n = _radau(self.nodes), self.start.size
        g = numpy.asarray(g, dtype=float)
        points = Points(self.times, numpy.asarray(times, dtype=float), g)
        calls = Calls(right_side, parameters, dtype)
        calls.together = self.together
        most = room(n, tableau.size, parameters)
        after, grown = numpy.zeros(n), [numpy.zeros(p.shape) for p in parameters]
        last = points.last + 1
        while last > 0:
            first = max(last - most, 0)
            ends = numpy.asarray(self.times[first : last + 1])
            h = numpy.diff(ends)
            t = ends[:-1, None] + tableau.c * h[:, None]
            y = self.states(first, t)
            after, parts = self._through(calls, tableau, h, t, y, after, *points.within(tableau, first, last))
            grown = [known if part is None else known + part for known, part in zip(grown, parts, strict=True)]
            last = first
        self.together = calls.together
        found = [*([points.at_start + after] if first_of_all else []), *grown]
        like = [*([origin] if first_of_all else []), *parameters]
        return [numpy.asarray(a, dtype=raw(b).dtype) for a, b in zip(found, like, strict=True)]

    @staticmethod
    def _through(calls, tableau, h, t, y, *gradients):
        part, n = slice(0, tableau.size), y.shape[-1]
        t, y = t.reshape(-1), y.reshape(-1, n)
        try:
            return gradients_of_steps(tableau, h, [(part, calls.at_once(t, y)[1])], *gradients)
        except NoForm:
            calls.together = False
            return gradients_of_steps(tableau, h, [(part, calls.one_by_one(t, y)[1])], *gradients)


class Interpolated(Solution):
    """A solution by the interpolants of its steps."""

    def begin(self, t, y):
        """Note the start."""
        self.times, self.start, self.nodes, self._pieces, self._bytes = [t], y.copy(), 2, [], 0

    def add(self, t, piece, order, size):
        """Note a step that was accepted, its interpolant of states of so many bytes, and the order of the method."""
        if self._pieces is None:
            return
        self.times.append(t)
        self.nodes = max(self.nodes, nodes_for(order))
        self._pieces.append(piece)
        self._bytes += (order + 3) * size
        if self._bytes > _BYTES:
            self.times, self._pieces = self.times[:1], None

    def states(self, first, times):
        """The solution (m, s, n) at places `times` (m, s) of the steps from `first` on."""
        return numpy.asarray([self._pieces[first + k](t).T for k, t in enumerate(times)])
