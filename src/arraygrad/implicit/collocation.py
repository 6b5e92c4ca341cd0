"""The adjoint of a solution on the steps of any solver, by collocation: for implicit and multistep methods.

May import: core.tensor, implicit.common, implicit.large_states, implicit.many_steps, implicit.multistep,
implicit.step_kernels, numpy; scipy inside functions.

Note [Collocated adjoint]
~~~~~~~~~~~~~~~~~~~~~~~~~
(1) A solver's interpolant gives the solution at any place of a step. The equation of its derivative by the initial
    values and the parameters is linear, with Jacobians along the solution as coefficients. It is solved on the solver's
    own steps by collocation at Radau's nodes, which are stable for stiff equations. No step is chosen, no guess is made
    and nothing iterates: each step is a linear system, and all are built and solved together (Note [Many steps at
    once]). Times at which the solution is asked for add to the right side of the step that they lie in.
(2) There are more nodes than the order of a method asks for, and a few steps are taken as one, which the short steps of
    multistep methods allow. The steps were chosen for the solution, which may rest while its derivative does not. So
    how far the gradient is off is estimated for each group of steps: by how the last Legendre coefficients of the
    Jacobians and of the derivatives by the parameters fall, and by those of an exponential function of the Jacobian's
    size (I_k of Bessel, its first term). In solutions of smooth equations that was 20 to 1000 times the difference.
    Groups that are too long are divided, and only these are looked at again.
    The gradient is that of the exact equation along the computed solution.
(2b) Where that does not help, or each look costs recorded calls, the gradient is computed with one node less besides,
    from the same Jacobians, read between the nodes, unless the estimate says that it need not. Where the two differ by
    more than about the tolerance, fewer steps are taken as one, then halves of them, a few times.
(3) Kept are the interpolants of the steps, up to a limit of memory. Beyond it, for complex states, where halving does
    not help (the right side jumps), and where the gradient is to be differentiated again, the adjoint equation is
    integrated (ivp.py).
(4) For states of more than a dozen values such systems cost more than the solution. The steps of the solver are
    differentiated themselves then: Radau's with its own three nodes, which is its discrete adjoint, held to one with
    two nodes; those of BDF and LSODA by Note [Steps with a history]. odeint is solved once more by LSODA's class.
(5) odeint tells no interpolants. While it takes Adams' steps alone, the last evaluations at the ends of its steps give
    them: Hermite's polynomials of degree seven through four values and slopes. After steps with Newton's method slopes
    do not fit values, and it is called once more for the values at the nodes.
Source: Hairer, Wanner, "Solving Ordinary Differential Equations II", IV.5 (Radau IIA); Cao, Li, Petzold, Serban (2003),
"Adjoint sensitivity analysis for differential-algebraic equations".
Guarded by tests/implicit/test_collocated_adjoint.py and test_kept_programs.py.
"""

import functools
import math

import numpy

from arraygrad.core.tensor import Tensor
from arraygrad.implicit import step_kernels
from arraygrad.implicit.common import noting_class, raw
from arraygrad.implicit.large_states import LARGEST, Between, OneByOne, products_at, random_signed, walked
from arraygrad.implicit.many_steps import Calls, NoForm, Noted, Points, all_added, carried, jacobians, room
from arraygrad.implicit.multistep import gradients, histories

__all__ = ["Again", "Interpolated", "Solution", "Stepped", "noting"]

_BYTES = 1 << 27  # of interpolants, which are kept
_SMALL = 12  # values of a state for which collocation costs less than the solver's own steps
_NODES = 8  # of a step
_OFF, _MOST_OFF = 3e4, 2e-2  # tolerances that a gradient of the solver's own steps may be off, at most so much
_STAGES = 3  # of a step of Radau's method itself
_TOGETHER_LARGE, _MATRICES = 1 << 16, 1 << 22  # numbers of large states, and of Jacobians, that go together
_TOGETHER, _FEW = (4, 2), 4  # how many steps are taken as one at first, where that makes more than a few
_HALVINGS = 5
_PIECES = 20000  # of steps, at most
_SPLITS = 4  # how often groups of steps are formed
_NEXT = 2.0 * (2.0 * _NODES + 1.0) / math.factorial(_NODES)  # of the first coefficient that is left out of such one
_FALLS = 0.03  # how much less of a function the coefficients that are left out have, at the least


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
        # Give coefficients of the polynomial through values at the nodes, by Legendre's ones: the last four.
        self.tops = numpy.ascontiguousarray(numpy.linalg.inv(legendre.legvander(2.0 * self.c - 1.0, s - 1))[-4:])

    def between(self, x):
        """(m, stages): values at the places x (m,) of the polynomials that are 1 at one node and 0 at the others."""
        return numpy.vander(x, len(self.c), increasing=True) @ self._by_values

    def weights(self, x):
        """(stages, m): integrals of these polynomials from 0 to the places x (m,)."""
        return self._by_values.T @ (x[None, :] ** self._powers[:, None] / self._powers[:, None])


_radau = functools.cache(_Radau)


def noting(method, beside=None, solution=None):
    """(a class of SciPy's implicit solvers that notes its steps, the `Interpolated`); (method, None) of another one.

    `beside(t, y)` is told them as well. They are noted in `solution`, by default in a new one.
    """
    from scipy import integrate

    orders = {
        integrate.Radau: lambda solver: 5,
        integrate.BDF: lambda solver: solver.order,
        integrate.LSODA: lambda solver: int(solver._lsoda_solver._integrator.iwork[13]),
    }
    cls = getattr(integrate, method, method) if isinstance(method, str) else method
    if cls not in orders:
        return method, None
    order = orders[cls]
    if solution is None:
        solution = ByNordsieck() if cls is integrate.LSODA else Interpolated()
    solution.discrete = cls is integrate.Radau
    if solution.discrete:
        solution.in_groups = 2

    of_large = histories().get(cls)

    def begin(solver):
        large = of_large is not None and solver.y.size > _SMALL and solver.y.dtype.kind == "f"
        solution.begin(solver.t, solver.y, of_large(solver) if large else None)

    def add(solver):
        if solution.history is None:
            solution.add(solver.t, solution.piece(solver), order(solver), solver.y.nbytes)
        else:
            solution.add_to_history(solver)
        if beside is not None:
            beside(solver.t, solver.y)

    return noting_class(cls, begin, add), solution


class Solution(Noted):
    """A solution on steps: `times` of their ends, and `start`.

    `states(times, ends)` gives its values (m, n) at times (m,) in their order, nodes of steps with such ends.
    `in_groups`: how many steps are taken as one at first, where such groups are divided one by one; 0: they aren't.
    """

    in_groups = 4

    def __init__(self):
        super().__init__()
        self.times, self.start = [], None

    def serves(self, arrays):
        """Whether gradients by these arrays can be had."""
        return (
            len(self.times) > 1
            and self.start.dtype.kind == "f"
            and self.start.size <= LARGEST
            and all(not isinstance(one, Tensor) and raw(one).dtype.kind == "f" for one in arrays)
            and (room(self.start.size, _NODES, arrays) >= 1 if self.start.size <= _SMALL else self.serves_large())
        )

    def serves_large(self):
        """The same for a state of more values than collocation is for."""
        return False

    def pull(self, f, arguments, g, times, arrays, dtype=None, tolerance=1e-6):
        """Gradients as Trajectory.pull in runge_kutta.py gives them; `arrays` are such that `serves` says so.

        None where the steps, halved a few times, don't give them to the relative `tolerance`.
        """
        first_of_all = 0 in arguments.positions()
        calls = Calls.of(f, arguments, list(arrays[1:] if first_of_all else arrays), dtype)
        calls.together = self.calls_together(f)
        g, times = numpy.asarray(g, dtype=float), numpy.asarray(times, dtype=float)
        if self.start.size > _SMALL:
            found, error = self.of_large(calls, g, times)
            self.together, self.jumpless = calls.together, calls.jumpless
            if not error <= min(max(_OFF * tolerance, 1e-8), _MOST_OFF):
                return None
            return _fitted(found if first_of_all else found[1:], arrays)
        bound = min(max(10.0 * tolerance, 1e-9), 1e-4)
        found = self._by_groups(calls, g, times, bound)
        if found is not None:
            self.together, self.jumpless = calls.together, calls.jumpless
            return _fitted(found if first_of_all else found[1:], arrays)
        for ends in self._cuts():
            found, differences = self._gradients(calls, g, times, ends, bound)
            self.together, self.jumpless = calls.together, calls.jumpless
            if differences is not None:
                sizes = [
                    (numpy.max(numpy.abs(x), initial=0.0) for x in pair)
                    for pair in zip(differences, found, strict=True)
                ]
                if not all(not difference > bound * size for difference, size in sizes[not first_of_all :]):
                    continue
            return _fitted(found if first_of_all else found[1:], arrays)
        return None

    def _cuts(self):
        """Ends of a few steps together, of the steps, of halves of them, and so on."""
        ends = numpy.asarray(self.times)
        for together in _TOGETHER:
            if ends.size > _FEW * together:
                yield numpy.append(ends[:-1:together], ends[-1])
        for pieces in 2 ** numpy.arange(_HALVINGS + 1):
            if pieces == 1 or ends.size * pieces <= _PIECES:
                inner = ends[:-1, None] + numpy.diff(ends)[:, None] * (numpy.arange(pieces) / pieces)
                yield numpy.append(inner.reshape(-1), ends[-1])

    def _gradients(self, calls, g, times, ends, bound):
        """(gradients by the start and the parameters, what they differ from those with one node less).

        `ends`: of the steps of the collocation. None in the place of the differences where they are known to be below
        the relative `bound`: see `_errors`.
        """
        tableau, lower, n = _radau(_NODES), _radau(_NODES - 1), self.start.size
        points = Points(ends, times, g)
        most = max(room(n, tableau.size, calls.parameters), 1)
        after = below = numpy.zeros(n)
        grown, differences = ([numpy.zeros(p.shape) for p in calls.parameters] for _ in range(2))
        last, compared = points.last + 1, False
        read = tableau.between(lower.c)
        while last > 0:
            first = max(last - most, 0)
            h = numpy.diff(ends[first : last + 1])
            t = ends[first:last, None] + tableau.c * h[:, None]
            y = self.states(t.reshape(-1), ends)
            jac, by_parameters = self._linear(calls, t.reshape(-1), y)
            jac = jac.reshape(*t.shape, n, n)
            exact = not compared and bool((self._errors(tableau, h, jac, by_parameters) <= bound).all())
            within = points.within(tableau, first, last)
            before, (after, cotangents) = after, carried(tableau, h, jac, after, *within)
            parts = [(grown, cotangents)]
            if not exact:
                fewer = numpy.einsum("ji,mikl->mjkl", read, jac)
                below = below if compared else before
                below, others = carried(lower, h, fewer, below, *points.within(lower, first, last))
                others = numpy.einsum("ji,mjk->mik", read, others)
                parts.append((differences, cotangents - others))
                compared = True
            for into, one in parts:
                for i, part in enumerate(by_parameters(numpy.ascontiguousarray(one).reshape(-1, n))):
                    if part is not None:
                        into[i] = into[i] + part
            last = first
        return [points.at_start + after, *grown], [after - below, *differences] if compared else None

    def _by_groups(self, calls, g, times, bound):
        """[gradient by the start, *by the parameters], by groups of steps that are short enough: see (2); or None."""
        ends, tableau, n = numpy.asarray(self.times), _radau(_NODES), self.start.size
        way = 1.0 if ends[-1] >= ends[0] else -1.0
        count = min(int(numpy.searchsorted(way * ends, numpy.max(way * times, initial=-math.inf))), ends.size - 1)
        most = self.in_groups * room(n, tableau.size, calls.parameters)
        if not 0 < self.in_groups <= count <= most:
            return None
        bounds = numpy.append(numpy.arange(0, count, self.in_groups), count)
        first, last, groups, parts = bounds[:-1], bounds[1:], [], []
        for _ in range(_SPLITS):
            begin = ends[first]
            h = ends[last] - begin
            if not calls.together or not calls.tiles(h.size * tableau.size, n):
                return None
            t = (begin[:, None] + tableau.c * h[:, None]).reshape(-1)
            try:
                _, jac, by_parameters = calls.linear(t, self.states(t, ends))
            except NoForm:
                return None
            jac = jac.reshape(h.size, tableau.size, n, n)
            exact = self._errors(tableau, h, jac, by_parameters) <= bound
            parts.append((by_parameters, exact))
            groups.append((first[exact], h[exact], jac[exact]))
            if exact.all():
                break
            rest = ~exact
            first, last = first[rest], last[rest]
            if not calls.replays or (last - first == 1).any():
                return None
            middle = (first + last) // 2
            first, last = numpy.stack([first, middle], axis=1).ravel(), numpy.stack([middle, last], axis=1).ravel()
        else:
            return None
        first, h, jac = map(numpy.concatenate, zip(*groups, strict=True)) if len(groups) > 1 else groups[0]
        order = numpy.argsort(first)
        points = Points(numpy.append(ends[first[order]], ends[count]), times, g)
        after, cotangents = carried(tableau, h[order], jac[order], numpy.zeros(n), *points.within(tableau, 0, h.size))
        grown, at = [numpy.zeros(p.shape) for p in calls.parameters], 0
        cotangents[order] = cotangents.copy()
        for by_parameters, exact in parts:
            size = int(exact.sum())
            whole = cotangents[at : at + size]
            if size < exact.size:
                whole = numpy.zeros((exact.size, *cotangents.shape[1:]))
                whole[exact] = cotangents[at : at + size]
            grown = all_added(grown, by_parameters(whole.reshape(-1, n)))
            at += size
        return [points.at_start + after, *grown]

    @staticmethod
    def _errors(tableau, h, jac, by_parameters):
        """About how far derivatives are off by each of these steps (m,), relative to the largest of them: see (2)."""
        matrix = getattr(by_parameters, "matrix", None)
        found = step_kernels.errors(tableau.tops, _NEXT, _FALLS, h, jac, matrix)
        if matrix is None:  # they are had in sums over the steps
            signs = random_signed(19, len(h), 1, jac.shape[-1])
            ends = [(signs * one[:, None]).reshape(-1, jac.shape[-1]) for one in (tableau.tops[-1], tableau.whole)]
            for top, whole in zip(*map(by_parameters, ends), strict=True):
                if top is not None:
                    size, left = float(numpy.abs(whole).max(initial=0.0)), float(numpy.abs(top).max(initial=0.0))
                    found = numpy.maximum(found, _FALLS * left / size if size else math.inf if left else 0.0)
        return found

    @staticmethod
    def _linear(calls, t, y):
        """(the Jacobians of the right side at points, what multiplies by its derivatives by the parameters)."""
        try:
            return calls.linear(t, y)[1:]
        except NoForm:
            calls.together = False
            pull = calls.one_by_one(t, y)[1]
            return jacobians(pull, *y.shape), lambda cotangents: pull(cotangents)[1:]


def _fitted(found, arrays):
    """Gradients as arrays of the dtypes of what they are by; None is zero."""
    return [
        numpy.zeros_like(raw(b)) if a is None else numpy.asarray(a, dtype=raw(b).dtype)
        for a, b in zip(found, arrays, strict=True)
    ]


class Interpolated(Solution):
    """A solution by the interpolants of its steps, or, for a large state, by the `History` of a multistep method."""

    history, discrete = None, False

    def begin(self, t, y, history=None):
        """Note the start."""
        self.times, self.start, self._pieces, self._bytes = [t], y.copy(), [], 0
        self.history, self._made, self._together = history, None, None
        if history is not None:
            self.times = history.times

    @staticmethod
    def piece(solver):
        """The interpolant of a step that a solver has made."""
        return solver.dense_output()

    def add_to_history(self, solver):
        """Note a step that was accepted."""
        if self._bytes > _BYTES:
            return
        self.history.add(solver)
        self._bytes += solver.y.nbytes
        if self._bytes > _BYTES:
            self.times = self.times[:1]

    def serves_large(self):
        """As the base says."""
        if self.history is None:
            return bool(self._pieces) and self.discrete
        if self._made is None:
            made = self.history.steps()
            self._made = made if self.history.consistent(made) else ()
        return bool(self._made)

    def of_large(self, calls, g, times):
        """([gradient by the start, *by the parameters] of the solver's own steps, how far it may be off, relative)."""
        if self.history is not None:
            return gradients(self.history, self._made, calls, g, times)
        tableau, lower, n = _radau(_STAGES), _radau(_STAGES - 1), self.start.size
        ends = numpy.asarray(self.times)
        points, read = Points(ends, times, g), tableau.between(lower.c)
        most = max(min(_TOGETHER_LARGE // (tableau.size * n), _MATRICES // (n * n)), 1)
        after = below = numpy.zeros(n)
        grown, last = [None] * len(calls.parameters), points.last + 1
        while last > 0:
            first = max(last - most, 0)
            h = numpy.diff(ends[first : last + 1])
            t = (ends[first:last, None] + tableau.c * h[:, None]).reshape(-1)
            y = self.states(t, ends)
            try:
                products = products_at(calls, t, y, None, True)[1]
            except NoForm:
                products = OneByOne(calls, t, y)
            block, fewer = ([(slice(0, s.size), p)] for s, p in ((tableau, products), (lower, Between(products, read))))
            after, parts = walked(tableau, h, block, after, *points.within(tableau, first, last))
            below, _ = walked(lower, h, fewer, below, *points.within(lower, first, last))
            grown = all_added(grown, parts)
            last = first
        size = float(numpy.max(numpy.abs(after), initial=0.0))
        error = float(numpy.max(numpy.abs(after - below), initial=0.0)) / size if size else 0.0
        error **= (2 * _STAGES - 1) / (2 * _STAGES - 3)  # of the order 5 for that of the order 3
        return [points.at_start + after, *grown], error

    def add(self, t, piece, order, size):
        """Note a step that was accepted, its interpolant of states of so many bytes, and the order of the method."""
        if self._pieces is None:
            return
        self.times.append(t)
        self._pieces.append(piece)
        self._bytes += (order + 3) * size
        if self._bytes > _BYTES:
            self.times, self._pieces = self.times[:1], None

    def known(self):
        """{time: state} of the ends of all steps; None where they are not kept."""
        if self.history is not None:
            return dict(zip(map(float, self.times), self.history.states, strict=False))
        return _Ends(self.times, self.start, self._pieces) if self._pieces else None

    def states(self, times, ends):
        """As the base says, by the interpolant of the step that each time lies in."""
        steps = self._steps_of(times)
        parts = numpy.split(times, numpy.flatnonzero(numpy.diff(steps)) + 1)
        at = steps[numpy.cumsum([0, *map(len, parts[:-1])])]
        return numpy.concatenate([self._pieces[k](part).T for k, part in zip(at, parts, strict=True)])

    def _steps_of(self, times):
        way = 1.0 if self.times[-1] >= self.times[0] else -1.0
        return numpy.searchsorted(way * numpy.asarray(self.times[1:-1]), way * times)


class ByNordsieck(Interpolated):
    """The same for LSODA, by what its interpolants are made of: SciPy's objects cost more than the steps."""

    @staticmethod
    def piece(solver):
        """(length of the step, Nordsieck's array (order + 1, n)), as LSODA._dense_output_impl has them."""
        inner = solver._lsoda_solver._integrator
        real, order, n = inner.rwork, int(inner.iwork[13]), solver.n
        h, rows = float(real[11]), real[20 : 20 + (order + 1) * n].reshape(order + 1, n).copy()
        if inner.iwork[14] < order:  # the last row is that of the step before a change of its length
            rows[-1] *= (h / float(real[10])) ** order
        return h, rows

    def known(self):
        """As the base says."""
        if self.history is not None or not self._pieces:
            return super().known()
        return dict(zip(map(float, self.times), [self.start, *[rows[0] for _, rows in self._pieces]], strict=True))

    def states(self, times, ends):
        """As the base says."""
        if self._together is None or len(self._together[0]) != len(self._pieces):
            most = max(len(rows) for _, rows in self._pieces)
            arrays = numpy.zeros((len(self._pieces), most, self.start.size))
            for array, (_, rows) in zip(arrays, self._pieces, strict=True):
                array[: len(rows)] = rows
            self._together = numpy.asarray([h for h, _ in self._pieces]), arrays
        lengths, arrays = self._together
        steps = self._steps_of(times)
        places = (times - numpy.asarray(self.times)[steps + 1]) / lengths[steps]
        powers = numpy.vander(places, arrays.shape[1], increasing=True)
        return numpy.matmul(powers[:, None], arrays[steps])[:, 0]


class Stepped(Interpolated):
    """The large state of a solver that tells no steps: it is solved for once more, by SciPy's class of LSODA.

    Parameters
    ----------
    start : numpy.ndarray (n,)
    solve : callable
        solve(cls) takes the steps of a class of SciPy's solvers from the first to the last time.
    beside : callable
        beside(t, y) is told the steps.
    """

    def __init__(self, start, solve, beside):
        super().__init__()
        self.begin(None, start)
        self.times, self._solve, self._cls = [], solve, noting("LSODA", beside, self)[0]

    @staticmethod
    def is_for(size):
        """Whether a state of so many values is large."""
        return _SMALL < size <= LARGEST

    def serves(self, arrays):
        """As the base says; it is solved here, once."""
        if self._solve is not None:
            solve, self._solve = self._solve, None
            solve(self._cls)
        return super().serves(arrays)


class _Ends(dict):
    """The states at the ends of steps, by time, as they are asked for."""

    def __init__(self, times, start, pieces):
        super().__init__({float(times[0]): start})
        self._pieces = dict(zip(map(float, times[1:]), pieces, strict=True))

    def __missing__(self, t):
        return self._pieces[t](t)


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

    in_groups = 0

    def __init__(self, ends, start, solve):
        super().__init__()
        self._ends, self.start, self._solve = ends, start, solve
        self._known = None

    def serves(self, arrays):
        """As that of any solution, and where the values at all nodes may be kept."""
        if not self.times:
            self.times = list(self._ends)
        return len(self.times) * _NODES * self.start.nbytes <= _BYTES and super().serves(arrays)

    def states(self, times, ends):
        """As the base says. The whole is solved once for all nodes of all steps."""
        if self._known is None or len(self._known[0]) != len(ends):
            h = numpy.diff(ends)[:, None]
            at = (ends[:-1, None] + h * _radau(_NODES).c).reshape(-1)
            self._known = ends, at, numpy.asarray(self._solve(at)).T
        _, at, states = self._known
        first = numpy.searchsorted(at if at[-1] >= at[0] else -at, times[0] if at[-1] >= at[0] else -times[0])
        return states[first : first + len(times)]


class Evaluated(Again):
    """A solution by the evaluations of an explicit method, of which the last ones of each step are known: see (5).

    Parameters
    ----------
    known : callable
        known() gives times (m,), states and slopes (m, n).
    start : numpy.ndarray (n,)
    solve : callable
        As `Again` has it, which serves for fewer than four points.
    """

    def __init__(self, known, start, solve):
        super().__init__((), start, solve)
        self._points_of, self._stencils = known, None

    def serves(self, arrays):
        """As the base says."""
        if not self.times:
            self._points = self._points_of()
            self._ends = self._points[0]
            self._stencils = step_kernels.stencils(self._ends)
            self.in_groups = Solution.in_groups if self._stencils.size else 0
        return super().serves(arrays)

    def states(self, times, ends):
        """As the base says."""
        t, y, slopes = self._points
        if not self._stencils.size:
            return super().states(times, ends)
        return step_kernels.interpolated(times, t, y, slopes, self._stencils)
