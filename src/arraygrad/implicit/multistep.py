"""The discrete adjoint of SciPy's multistep methods, BDF and LSODA, for states of many values.

May import: implicit.columns, implicit.large_states, implicit.many_steps, numpy; scipy inside functions.

Note [Steps with a history]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) A multistep method keeps an array z of a few rows: the state and its scaled derivatives (LSODA, Nordsieck's form) or
    backward differences (BDF). A step of the length h makes z_n = B z + l a, where a solves
    a = c f(t_n, w.z + e a) - v.z. B, l, c, w, e, v depend on the order and the lengths of this step and the one before
    alone; a change of order or length is a matrix, too, and part of B. A value between the ends of steps is q(t).z_n.
(2) So backwards each step is one linear system, (I - e c J^T) p = l.Z, with J at the end of the step and Z the gradient
    by z_n, and small products. An Adams step, which the solver takes by iteration, takes as many iterations backwards
    as it took forwards, that is products with J and no system. Lengths and orders are constants: the gradient is that
    of the computed solution, up to what the solver's iterations left.
(3) The solver does not say all that it does (LSODA may begin anew with the order 1, where steps fail), and a release
    of SciPy may do something else. So at each step a random sum of the components of z is noted, and (1) has to
    give it from that of the step before. Where it does not, `serves` is False, and the adjoint equation is integrated.
(4) The steps were chosen for the solution, which may rest while its derivative does not. So one direction of the start
    goes along the steps, too. The errors of its steps, estimated as the solver estimates its own, weighed with the p
    of (2) are about what the gradient is off in that direction. Where that is far more than the tolerance, the adjoint
    equation is integrated.
(5) Kept are times, states, orders, lengths, and these sums.
Source: Hindmarsh (1983), "ODEPACK"; Gear (1971), "Numerical initial value problems", 9.2; Shampine, Reichelt (1997),
"The MATLAB ODE suite" (the differences of BDF).
Guarded by tests/implicit/test_large_states.py.
"""

import abc
import functools
import math

import numpy

from arraygrad.implicit.columns import NoForm
from arraygrad.implicit.large_states import OneByOne, products_at, random_signed
from arraygrad.implicit.many_steps import Points, all_added

__all__ = ["histories"]

_ROWS = 14  # of z, of the highest order, with one more for the next
_POINTS, _MATRICES = 1 << 16, 1 << 23  # numbers of states, and of Jacobians, that go together
_FEWEST, _MOST = 2, 4  # iterations of an Adams step
_CLOSE, _LOST = 1e-6, 256.0 * numpy.finfo(float).eps  # what sums of z may be apart: relative, and by rounding
_SOLVED, _ESTIMATED, _REFINED = 1e-12, 1e-3, 8  # how exact a system is solved by iteration, by how many of them
_KEPT, _BYTES = 8, 1 << 26  # pieces whose Jacobians are kept for the way back; factors of matrices


class History(abc.ABC):
    """The steps of one solver. `add(solver)` notes a step that was accepted."""

    def __init__(self, solver):
        self.times, self.states = [solver.t], [solver.y.copy()]
        self.weights = numpy.random.default_rng(13).uniform(0.5, 1.5, solver.y.size)
        self.orders, self.after, self.lengths, self.sums, self.iterations = [], [], [], [], []
        self._evaluations = solver.nfev

    def add(self, solver):
        """Note a step that was accepted."""
        self.times.append(solver.t)
        self.states.append(solver.y)
        order, after, length, scale, rows, iterated = self.told(solver)
        self.orders.append(order)
        self.after.append(after)
        self.lengths.append(length)
        self.sums.append((scale, rows.dot(self.weights)))
        made, self._evaluations = solver.nfev - self._evaluations, solver.nfev
        self.iterations.append(min(max(made, _FEWEST), _MOST) if iterated else 0)

    @abc.abstractmethod
    def steps(self):
        """(B (m, _ROWS, _ROWS), l, w, v (m, _ROWS), e, c (m,)) of the m steps, from z_n-1 in the scale of its step."""

    @abc.abstractmethod
    def rescaled(self, ratios):
        """The sums (m, _ROWS) after each step for steps that are longer by ratios (m,)."""

    @abc.abstractmethod
    def errors(self):
        """(m,): what a, times it, says about the error of a step, as a residual of the equation of a."""

    @abc.abstractmethod
    def told_by(self, n, times):
        """q (_ROWS, m): values at times (m,) within step n are q.z_n."""

    def consistent(self, made):
        """Whether the noted sums follow from each other by the steps `made`."""
        matrices, columns, w, _, e, _ = made
        orders, after = numpy.asarray(self.orders), numpy.asarray(self.after)
        if numpy.any(orders[1:] > after[:-1]) or numpy.any(after > orders + 1):
            return False
        with numpy.errstate(all="ignore"):
            z = self.rescaled(numpy.asarray(self.lengths) / [scale for scale, _ in self.sums])
            before, now, columns = z[:-1], z[1:], columns[1:]
            y = numpy.asarray(self.states[2:]).reshape(-1, self.weights.size) @ self.weights
            a = (y - numpy.sum(w[1:] * before, axis=1)) / e[1:]
            found = numpy.einsum("kij,kj->ki", matrices[1:], before) + columns * a[:, None]
            size = numpy.einsum("kij,kj->ki", numpy.abs(matrices[1:]), numpy.abs(before)) + numpy.abs(
                columns * a[:, None]
            )
            lost = _LOST * numpy.abs(columns * (y / e[1:])[:, None])
            kept = numpy.arange(_ROWS) <= after[1:, None]
            return bool(numpy.all((numpy.abs(found - now) <= _CLOSE * size + lost) | ~kept))


class LsodaHistory(History):
    """Nordsieck's array of LSODA."""

    def told(self, solver):
        inner = solver._lsoda_solver._integrator
        real, whole = inner.rwork, inner.iwork
        order, after, n = int(whole[13]), int(whole[14]), solver.n
        rows = real[20 : 20 + (after + 1) * n].reshape(after + 1, n)
        self._stiff = int(whole[18]) == 2
        return (order, self._stiff), after, float(real[10]), float(real[11]), rows, not self._stiff

    def add(self, solver):
        super().add(solver)
        order, self.orders[-1] = self.orders[-1], self.orders[-1][0]
        self.kinds.append(order[1])

    def __init__(self, solver):
        super().__init__(solver)
        self.kinds = []

    def steps(self):
        pascal, columns = _of_nordsieck()
        orders, lengths = numpy.asarray(self.orders), numpy.asarray(self.lengths)
        ratios = numpy.append(1.0, lengths[1:] / lengths[:-1])
        matrices = pascal[orders] * (ratios[:, None] ** numpy.arange(_ROWS))[:, None]
        columns = columns[numpy.asarray(self.kinds, dtype=int), orders]
        return matrices, columns, matrices[:, 0], matrices[:, 1], columns[:, 0], lengths

    def rescaled(self, ratios):
        found = numpy.zeros((len(ratios), _ROWS))
        for row, (_, sums) in zip(found, self.sums, strict=True):
            row[: len(sums)] = sums
        return found * ratios[:, None] ** numpy.arange(_ROWS)

    def errors(self):
        return _errors_of_nordsieck()[numpy.asarray(self.kinds, dtype=int), self.orders]

    def told_by(self, n, times):
        q, powers = numpy.zeros((_ROWS, len(times))), numpy.arange(self.orders[n] + 1)[:, None]
        q[: self.orders[n] + 1] = ((times - self.times[n + 1]) / self.lengths[n]) ** powers
        return q


class BdfHistory(History):
    """Backward differences of SciPy's BDF."""

    def __init__(self, solver):
        super().__init__(solver)
        self._order = solver.order
        self._constants, self._errors = (solver.gamma, solver.alpha), solver.error_const

    def told(self, solver):
        order, self._order = self._order, solver.order
        rows = solver.D[: solver.order + 1]
        length = self.times[-1] - self.times[-2]
        return order, solver.order, length, solver.h_abs * solver.direction, rows, False

    def steps(self):
        m, (gamma, alpha) = len(self.orders), self._constants
        matrices, lengths = numpy.zeros((m, _ROWS, _ROWS)), numpy.asarray(self.lengths)
        columns, w, v = numpy.zeros((3, m, _ROWS))
        ratios = numpy.append(1.0, lengths[1:] / lengths[:-1])
        for n, (p, ratio) in enumerate(zip(self.orders, ratios, strict=True)):
            scaled = _change_of_length(p, ratio)
            matrices[n, : p + 1, : p + 1] = numpy.cumsum(scaled[::-1], axis=0)[::-1]
            columns[n, : p + 2], w[n, : p + 1] = 1.0, matrices[n, 0, : p + 1]
            v[n, : p + 1] = (gamma[1 : p + 1] / alpha[p]) @ scaled[1:]
        return matrices, columns, w, v, numpy.ones(m), lengths / alpha[self.orders]

    def rescaled(self, ratios):
        found = numpy.zeros((len(ratios), _ROWS))
        for row, ratio, (_, sums) in zip(found, ratios, self.sums, strict=True):
            row[: len(sums)] = _change_of_length(len(sums) - 1, ratio) @ sums
        return found

    def errors(self):
        return self._errors[self.orders]

    def told_by(self, n, times):
        q, i = numpy.zeros((_ROWS, len(times))), numpy.arange(self.after[n])[:, None]
        h = self.lengths[n]
        q[0] = 1.0
        q[1 : self.after[n] + 1] = numpy.cumprod((times - self.times[n + 1] + i * h) / ((i + 1) * h), axis=0)
        return q


def _change_of_length(order, ratio):
    """The matrix of a change of length by a ratio: differences of the same polynomial."""
    if ratio == 1.0:
        return numpy.eye(order + 1)
    return _differences(order, 1.0).T @ _differences(order, ratio).T


def _differences(order, ratio):
    """What gives differences over steps of another length their values at the points that they stand for."""
    i, j = numpy.arange(1, order + 1)[:, None], numpy.arange(1, order + 1)
    found = numpy.zeros((order + 1, order + 1))
    found[0] = 1.0
    found[1:, 1:] = (i - 1 - ratio * j) / i
    return numpy.cumprod(found, axis=0)


@functools.cache
def _of_nordsieck():
    """(what predicts Nordsieck's array, for each order, l for each of two methods and order)."""
    pascal, columns = numpy.zeros((_ROWS - 1, _ROWS, _ROWS)), numpy.zeros((2, _ROWS - 1, _ROWS))
    whole = numpy.asarray([[math.comb(j, k) for j in range(_ROWS)] for k in range(_ROWS)], dtype=float)
    for order in range(1, _ROWS - 1):
        pascal[order, : order + 1, : order + 1] = whole[: order + 1, : order + 1]
        for stiff in (0, 1):
            columns[stiff, order, : order + 2] = _nordsieck(order, stiff)
    return pascal, columns


@functools.cache
def _errors_of_nordsieck():
    """`History.errors` for each of two methods and order: the first term of the error of a step over l_0 a."""
    found = numpy.zeros((2, _ROWS - 1))
    for order in range(1, _ROWS - 1):
        for stiff in (0, 1):
            weights = _nordsieck(order, stiff)
            term = 1.0 / (order + 1.0)
            if not stiff:
                powers = numpy.poly1d([1.0])
                for i in range(order):
                    powers = powers * numpy.poly1d([1.0, i])
                term = abs(powers.integ()(-1.0)) / math.factorial(order) / weights[0]
            found[stiff, order] = term * math.factorial(order) * weights[order]
    return found


def _nordsieck(order, stiff):
    """l of a method in Nordsieck's form: Adams and Moulton's, or the backward differentiation formula.

    One more value follows: what the next higher derivative begins with where the order is raised.
    """
    factors = numpy.ones(1)
    for i in range(1, order + stiff):
        factors = numpy.convolve(factors, [1.0, 1.0 / i])
    if stiff:
        found = factors / factors[1]
    else:
        powers = numpy.arange(1, order + 1)
        found = numpy.append(numpy.sum(factors / powers * (-1.0) ** (powers + 1)), factors / powers)
    return numpy.append(found, found[-1] / (order + 1))


def histories():
    """{class of SciPy's solvers: class of its steps}."""
    from scipy import integrate

    return {integrate.BDF: BdfHistory, integrate.LSODA: LsodaHistory}


def gradients(history, made, calls, g, times):
    """Gradients through the steps `made`, for g (n, m) by values at times (m,), and how exact they are.

    Returns
    -------
    gradients : list
        By the start and by the parameters; None where one is zero.
    error : float
        About how far that by the start is from that of the exact equation, relative, by (4).
    """
    steps = _Steps(history, made, calls, g, numpy.asarray(times))
    return steps.gradients(), steps.error()


class _Steps:
    """One walk over the steps of a history, forwards with a direction of the start and backwards with gradients."""

    def __init__(self, history, made, calls, g, times):
        self.history, self.calls, self.g = history, calls, g
        self.matrices, self.columns, self.w, self.v, self.e, self.c = made
        self.points = Points(history.times, times, g)
        self.inside = times[self.points.numbers]
        self.systems, n = _Systems(), len(g)
        most, last = max(min(_POINTS // n, _MATRICES // (n * n)), 2), self.points.last + 1
        self.pieces = [(max(end - most, 0), end) for end in range(last, 0, -most)][::-1]
        self._known = {}
        self.along, self.residuals = random_signed(17, n), numpy.zeros((last, n))
        self._go_along()

    def _products(self, first, last):
        """Of the points where steps first to last - 1 begin and end."""
        found = self._known.pop(first, None)
        if found is not None:
            return found
        times, states, iterations = self.history.times, self.history.states, self.history.iterations
        t, y = numpy.asarray(times[first : last + 1]), numpy.asarray(states[first : last + 1])
        try:
            found = products_at(self.calls, t, y, None, not all(iterations[first:last]))[1]
        except NoForm:
            found = OneByOne(self.calls, t, y)
        if len(self.pieces) <= _KEPT:
            self._known[first] = found
        return found

    def _go_along(self):
        """What the steps make of a direction of the start: `residuals`, the errors of its steps."""
        constants = self.history.errors()
        z = numpy.zeros((_ROWS, len(self.along)))
        forwards = numpy.concatenate([self.matrices, self.columns[:, :, None]], axis=2)
        for first, last in self.pieces:
            products = self._products(first, last)
            if not first:
                z[0], z[1] = self.along, self.history.lengths[0] * products.forwards(0, self.along)
            rest = numpy.empty((_ROWS + 1, len(self.along)))
            for k in range(first, last):
                at, e, c = k + 1 - first, self.e[k], self.c[k]
                predicted, subtracted = self.w[k].dot(z), self.v[k].dot(z)
                if self.history.iterations[k]:
                    a = c * products.forwards(at, predicted) - subtracted
                    for _ in range(self.history.iterations[k] - 1):
                        a = c * products.forwards(at, predicted + e * a) - subtracted
                else:
                    b = c * products.forwards(at, predicted) - subtracted
                    a = self.systems.solved(products, first, at, e * c, b, 1)
                self.residuals[k] = constants[k] * a
                rest[:_ROWS], rest[_ROWS] = z, a
                z = forwards[k].dot(rest)

    def gradients(self):
        """[by the start, *by the parameters]."""
        points, history, n = self.points, self.history, len(self.g)
        backwards = numpy.concatenate(
            [self.matrices.transpose(0, 2, 1), -self.v[:, :, None], self.w[:, :, None]], axis=2
        )
        grown, z, start = [None] * len(self.calls.parameters), numpy.zeros((_ROWS, n)), numpy.zeros(n)
        self._errors = 0.0
        for first, last in reversed(self.pieces):
            products = self._products(first, last)
            cotangents, rest = numpy.zeros((last + 1 - first, n)), numpy.zeros((_ROWS + 2, n))
            for k in range(last - 1, first - 1, -1):
                here = numpy.flatnonzero(points.steps == k)
                if here.size:
                    z = z + history.told_by(k, self.inside[here]) @ self.g[:, points.numbers[here]].T
                given, at, q = self.columns[k].dot(z), k + 1 - first, self.e[k] * self.c[k]
                if history.iterations[k]:
                    p = given
                    for _ in range(history.iterations[k] - 1):
                        p = given + q * products.transposed(at, p)
                    by_y = self.c[k] * products.transposed(at, p)
                else:
                    p = self.systems.solved(products, first, at, q, given, 0)
                    by_y = (p - given) / self.e[k]
                self._errors += abs(float(self.residuals[k].dot(p)))
                cotangents[at] = self.c[k] * p
                rest[:_ROWS], rest[_ROWS], rest[_ROWS + 1] = z, p, by_y
                z = backwards[k].dot(rest)
            if not first:  # z before the first step is (y, h f(t, y))
                cotangents[0] = history.lengths[0] * z[1]
                start = z[0] + products.transposed(0, cotangents[0])
            parts = products.by_parameters(cotangents)
            grown = all_added(grown, parts)
        self._start = start
        return [points.at_start + start, *grown]

    def error(self):
        """Of the gradient by the start that later values have, relative, after `gradients`."""
        size = float(numpy.sum(numpy.abs(self._start * self.along)))
        return self._errors / size if self._errors else 0.0


class _Systems:
    """Solutions of (I - q J^T) p = b, and with `straight` of (I - q J) x = b, for J at points."""

    def __init__(self):
        self._factors, self._recent, self._bytes = {}, None, 0

    def solved(self, products, first, k, q, b, straight):
        """The solution for the point k of `products`, which begin with the point `first` of all."""
        from scipy import linalg

        if isinstance(products, OneByOne):
            return self._refined(products, k, q, b, straight)
        key = (q, first) if products.constant else (q, first, k)
        found = self._factors.get(key)
        if found is None:
            found = linalg.lu_factor(_system(products, k, q), check_finite=False)
            self._bytes += found[0].nbytes
            if self._bytes <= _BYTES:
                self._factors[key] = found
        return linalg.lu_solve(found, b, straight, check_finite=False)

    def _refined(self, products, k, q, b, straight):
        from scipy import linalg

        if self._recent is not None:
            found = numpy.zeros(b.shape)
            times = products.forwards if straight else products.transposed
            bound, left = (_ESTIMATED if straight else _SOLVED) * float(numpy.max(numpy.abs(b), initial=0.0)), b
            for _ in range(_REFINED):
                found = found + linalg.lu_solve(self._recent, left, straight)
                left = b - found + q * times(k, found)
                if float(numpy.max(numpy.abs(left))) <= bound:
                    return found
        self._recent = linalg.lu_factor(_system(products, k, q))
        return linalg.lu_solve(self._recent, b, straight)


def _system(products, k, q):
    found = -q * products.matrix(k).T
    found.flat[:: len(found) + 1] += 1.0
    return found
