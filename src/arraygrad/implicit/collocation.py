"""The adjoint of a solution on the steps of any solver, by collocation: for implicit and multistep methods.

May import: core.tensor, implicit.common, implicit.many_steps, numpy; scipy inside functions.

Note [Collocated adjoint]
~~~~~~~~~~~~~~~~~~~~~~~~~
(1) A solver's interpolant gives the solution at any place of a step. The equation of its derivative by the initial
    values and the parameters is linear, with Jacobians along the solution as coefficients. It is solved on the solver's
    own steps by collocation at Radau's nodes, which are stable for stiff equations. No step is chosen, no guess is made
    and nothing iterates: each step is a linear system, and all are built and solved together (Note [Many steps at
    once]). Times at which the solution is asked for add to the right side of the step that they lie in.
(2) There are as many nodes as the order of the method asks for. The steps were chosen for the solution, which may rest
    while its derivative does not. So the gradient is computed with one node less besides, from the same Jacobians,
    read between the nodes. Where the two differ by more than about the tolerance, the steps are halved, a few times.
    The gradient is that of the exact equation along the computed solution.
(3) Kept are the interpolants of the steps, up to a limit of memory. Beyond it, for states that are large or complex,
    where halving does not help (the right side jumps), and where the gradient is to be differentiated again, the
    adjoint equation is integrated (ivp.py).
Source: Hairer, Wanner, "Solving Ordinary Differential Equations II", IV.5 (Radau IIA); Cao, Li, Petzold, Serban (2003),
"Adjoint sensitivity analysis for differential-algebraic equations".
Guarded by tests/implicit/test_collocated_adjoint.py.
"""

import functools

import numpy

from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import noting_class, raw
from arraygrad.implicit.many_steps import Calls, NoForm, Noted, Points, carried, jacobians, room

__all__ = ["Again", "Interpolated", "Solution", "noting"]

_BYTES = 1 << 27  # of interpolants, which are kept
_SMALL = 64  # states of so many values at most
_MOST = 7  # nodes of a step
_BESIDE = 5  # and of one whose order is not known
_HALVINGS = 6
_PIECES = 20000  # of steps, at most


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

    def between(self, x):
        """(m, stages): values at the places x (m,) of the polynomials that are 1 at one node and 0 at the others."""
        return numpy.vander(x, len(self.c), increasing=True) @ self._by_values

    def weights(self, x):
        """(stages, m): integrals of these polynomials from 0 to the places x (m,)."""
        return self._by_values.T @ (x[None, :] ** self._powers[:, None] / self._powers[:, None])


_radau = functools.cache(_Radau)


def nodes_for(order):
    """How many nodes serve a step of a method of that order."""
    return min(order // 2 + 2, _MOST)


def noting(method):
    """(a class of SciPy's implicit solvers that notes its steps, the `Interpolated`); (method, None) of another one."""
    from scipy import integrate

    orders = {
        integrate.Radau: lambda solver: 5,
        integrate.BDF: lambda solver: solver.order,
        integrate.LSODA: lambda solver: int(solver._lsoda_solver._integrator.iwork[13]),
    }
    cls = getattr(integrate, method, method) if isinstance(method, str) else method
    if cls not in orders:
        return method, None
    order, solution = orders[cls], Interpolated()

    def begin(solver):
        solution.begin(solver.t, solver.y)

    def add(solver):
        solution.add(solver.t, solver.dense_output(), order(solver), solver.y.nbytes)

    return noting_class(cls, begin, add), solution


class Solution(Noted):
    """A solution on steps: `times` of their ends, `start`, `nodes` of each.

    `states(first, times, pieces)` gives its values.
    """

    def __init__(self):
        super().__init__()
        self.times, self.start, self.nodes = [], None, 2

    def serves(self, arrays):
        """Whether gradients by these arrays can be had."""
        return (
            len(self.times) > 1
            and self.start.dtype.kind == "f"
            and self.start.size <= _SMALL
            and all(not isinstance(one, Tensor) and raw(one).dtype.kind == "f" for one in arrays)
            and room(self.start.size, self.nodes, arrays) >= 1
        )

    def pull(self, f, arguments, g, times, arrays, dtype=None, tolerance=1e-6):
        """Gradients as Trajectory.pull in runge_kutta.py gives them; `arrays` are such that `serves` says so.

        None where the steps, halved a few times, don't give them to the relative `tolerance`.
        """
        first_of_all = 0 in arguments.positions()
        calls = Calls.of(f, arguments, list(arrays[1:] if first_of_all else arrays), dtype)
        calls.together = self.calls_together()
        g, times = numpy.asarray(g, dtype=float), numpy.asarray(times, dtype=float)
        for halvings in range(_HALVINGS):
            if halvings and len(self.times) * 2**halvings > _PIECES:
                break
            found, differences = self._gradients(calls, g, times, 2**halvings)
            self.together = calls.together
            if not first_of_all:
                found, differences = found[1:], differences[1:]
            bound = min(max(10.0 * tolerance, 1e-9), 1e-4)
            sizes = [
                (numpy.max(numpy.abs(x), initial=0.0) for x in pair) for pair in zip(differences, found, strict=True)
            ]
            if all(not difference > bound * size for difference, size in sizes):
                return [numpy.asarray(a, dtype=raw(b).dtype) for a, b in zip(found, arrays, strict=True)]
        return None

    def _gradients(self, calls, g, times, pieces):
        """(gradients by the start and the parameters, what they differ from those with one node less).

        Each step is cut into so many pieces.
        """
        tableau, lower, n = _radau(self.nodes), _radau(self.nodes - 1), self.start.size
        ends = numpy.asarray(self.times)
        if pieces > 1:
            inner = ends[:-1, None] + numpy.diff(ends)[:, None] * (numpy.arange(pieces) / pieces)
            ends = numpy.append(inner.reshape(-1), ends[-1])
        points = Points(ends, times, g)
        most = max(room(n, tableau.size, calls.parameters), 1)
        after = below = numpy.zeros(n)
        grown, differences = ([numpy.zeros(p.shape) for p in calls.parameters] for _ in range(2))
        last = points.last + 1
        read = tableau.between(lower.c)
        while last > 0:
            first = max(last - most, 0)
            h = numpy.diff(ends[first : last + 1])
            t = ends[first:last, None] + tableau.c * h[:, None]
            y = self.states(first, t, pieces).reshape(-1, n)
            jac, by_parameters = self._linear(calls, t.reshape(-1), y)
            jac = jac.reshape(*t.shape, n, n)
            after, cotangents = carried(tableau, h, jac, after, *points.within(tableau, first, last))
            fewer = numpy.einsum("ji,mikl->mjkl", read, jac)
            below, others = carried(lower, h, fewer, below, *points.within(lower, first, last))
            others = numpy.einsum("ji,mjk->mik", read, others)
            for into, one in ((grown, cotangents), (differences, cotangents - others)):
                for i, part in enumerate(by_parameters(numpy.ascontiguousarray(one).reshape(-1, n))):
                    if part is not None:
                        into[i] = into[i] + part
            last = first
        return [points.at_start + after, *grown], [after - below, *differences]

    @staticmethod
    def _linear(calls, t, y):
        """(the Jacobians of the right side at points, what multiplies by its derivatives by the parameters)."""
        try:
            return calls.linear(t, y)[1:]
        except NoForm:
            calls.together = False
            pull = calls.one_by_one(t, y)[1]
            return jacobians(pull, *y.shape), lambda cotangents: pull(cotangents)[1:]


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

    def states(self, first, times, pieces):
        """The solution (m, s, n) at places `times` (m, s) of the pieces of steps from number `first` on."""
        return numpy.asarray([self._pieces[(first + k) // pieces](t).T for k, t in enumerate(times)])


class Again(Solution):
    """A solution of a solver that tells no more than where it evaluated the right side: it is called once more.

    Parameters
    ----------
    ends : list of float
        Times of the steps, the first of them the start.
    start : numpy.ndarray (n,)
    solve : callable
        solve(times) gives the solution (n, m) at times in their order.
    """

    def __init__(self, ends, start, solve):
        super().__init__()
        self._ends, self.start, self._solve, self.nodes = ends, start, solve, _BESIDE
        self._known = None

    def serves(self, arrays):
        """As that of any solution, and where the values at all nodes may be kept."""
        if not self.times:
            self.times = list(self._ends)
        return len(self.times) * self.nodes * self.start.nbytes <= _BYTES and super().serves(arrays)

    def states(self, first, times, pieces):
        """The solution (m, s, n) at places `times` (m, s) of the pieces of steps from number `first` on."""
        if self._known is None or len(self._known) != (len(self.times) - 1) * pieces:
            ends = numpy.asarray(self.times)
            h = numpy.diff(ends)[:, None] / pieces
            at = (ends[:-1, None] + h * numpy.arange(pieces))[..., None] + h[..., None] * _radau(self.nodes).c
            self._known = numpy.asarray(self._solve(at.reshape(-1))).T.reshape(-1, self.nodes, self.start.size)
        return self._known[first : first + len(times)]
