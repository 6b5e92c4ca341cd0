"""Gradients through many steps of a solver at once, where the state is small: by the Jacobians at all their stages.

May import: implicit.columns, implicit.common, implicit.stores, numpy.

Note [Many steps at once]
~~~~~~~~~~~~~~~~~~~~~~~~~
(1) The stages of a step obey k_i = f(t + c_i h, y + h sum_j a_ij k_j), so that the derivatives of h k by y, called M,
    solve M_i - h sum_j a_ij J_i M_j = J_i with the Jacobians J_i there. The matrix of a step is 1 + h sum_i b_i M_i.
    An explicit method has them one after the other, an implicit one as the solution of a linear system.
(2) These matrices don't depend on what is differentiated at the end. So they are computed for many steps in a few calls
    of NumPy, the gradient p by the state goes back by one product of a matrix and a vector a step, and the cotangents
    of all stages follow, again in a few calls: L_i - h sum_j a_ji J_j^T L_j = h (b_i p + what values between the ends
    of the step add). The gradient by the parameters is one product of these with the derivatives of f by them.
(3) f is called at all stages at once where it has such a form (Note [Calls at many points]), else one by one.
Guarded by tests/implicit/test_discrete_adjoint.py and test_collocated_adjoint.py.
"""

import numpy

from arraygrad.implicit.columns import NoForm, at_once, beside
from arraygrad.implicit.common import products
from arraygrad.implicit.stores import running

__all__ = ["Calls", "NoForm", "Points", "carried", "gradients_of_steps", "jacobians", "room"]

_ELEMENTS = 1 << 20  # of the largest arrays


def room(n, stages, parameters):
    """How many steps of a state (n,) may go together; below 1 where none should."""
    return _ELEMENTS // (stages * (stages * n * n + 16 * n + sum(p.size for p in parameters)))


class Points:
    """Values of a solution at some times, by the steps that they lie in: places there, and gradients."""

    def __init__(self, ends, times, g):
        self.g = g
        ends = numpy.asarray(ends)
        way = 1.0 if ends[-1] >= ends[0] else -1.0
        inside = (way * times > way * ends[0]) & (ends.size > 1)
        self.numbers = numpy.flatnonzero(inside)
        self.steps = numpy.minimum(numpy.searchsorted(way * ends, way * times[inside]) - 1, ends.size - 2)
        first = ends[self.steps]
        self.places = (times[inside] - first) / (ends[self.steps + 1] - first)
        self.at_start = g[:, ~inside].sum(axis=1)
        self.last = int(self.steps.max(initial=-1))

    def within(self, tableau, first, last):
        """Gradients by the states where steps first to last - 1 begin (m, n), and by h times their stages."""
        here = numpy.flatnonzero((self.steps >= first) & (self.steps < last))
        n = len(self.g)
        by_state = numpy.zeros((last - first, n), self.g.dtype)
        by_stages = numpy.zeros((last - first, tableau.size, n), self.g.dtype)
        if here.size:
            g, steps = self.g[:, self.numbers[here]].T, self.steps[here] - first
            q = tableau.weights(self.places[here]).T
            numpy.add.at(by_state, steps, g)
            numpy.add.at(by_stages, steps, q[:, :, None] * g[:, None, :])
        return by_state, by_stages


class Noted:
    """The steps of a solver; `together` is False once the right side had no form for many points at once."""

    def __init__(self):
        self.together, self._watch = True, running()

    def calls_together(self):
        """Whether the right side may be called at many points at once: it stores nothing that others would find."""
        return self.together and not (self._watch is not None and self._watch.stored)


class Calls:
    """The right side at many points: `f(t, y, *parameters)` with what is differentiated besides the state.

    `together` is False as soon as it turned out to have no form for many points at once.
    """

    def __init__(self, f, parameters, dtype=None):
        self.f, self.parameters, self.dtype, self.together = f, parameters, dtype, True
        self._agrees = None

    @classmethod
    def of(cls, f, arguments, parameters, dtype):
        """Those of f(t, y, *rest) by y and `parameters`, what of `arguments`, of (y0, *rest), is differentiated."""
        first = 0 in arguments.positions()

        def right_side(t, y, *parameters):
            _, *rest = arguments.rebuilt((y, *parameters) if first else parameters)
            return f(t, y, *beside(y, rest))

        return cls(right_side, parameters, dtype)

    def at_once(self, t, y, known=None):
        """As columns.at_once, for t (m,), y (m, n).

        Raises
        ------
        NoForm
            If the right side has no form for many points at once; so does the `pull` that is returned.
        """
        if not self.together:
            raise NoForm
        y = y if self.dtype is None else y.astype(self.dtype)
        try:
            if self._agrees is None:
                self._agrees = self._agreement(t, y)
            if not self._agrees:
                raise NoForm
            return at_once(self.f, t, y, self.parameters, known)
        except NoForm:
            self.together = False
            raise

    def _agreement(self, t, y):
        """Whether value and derivatives at several points at once are those of a call at one, beside the solution.

        They would differ where the function relies on what Batched lacks, as an array that has two names and is
        written in place. Along the solution itself values may agree by chance, as at an equilibrium.
        """
        random, k = numpy.random.default_rng(11), len(t) // 2
        size = numpy.max(numpy.abs(y), axis=0) + numpy.finfo(y.dtype).tiny
        places = numpy.stack([y[k], y[k] + 1e-3 * size * random.uniform(0.5, 1.0, y.shape[1])]).astype(y.dtype)
        cotangent = random.uniform(0.5, 1.0, places.shape).astype(y.dtype)
        values, pull = at_once(self.f, t[[k, k]], places, self.parameters)
        cotangent[0] = 0.0
        beside = pull(cotangent)
        close = numpy.sqrt(numpy.finfo(y.dtype).eps)
        try:
            value, back = self._one(t[k], places[1])
            one = back(cotangent[1].astype(value.dtype))
        except Exception:  # told where the function is called point by point
            return False
        beside = (None if beside[0] is None else beside[0][1], *beside[1:])
        pairs = [(values[1], value), *zip(beside, one, strict=True)]
        return all(_same(a, b, close) for a, b in pairs)

    def _one(self, t, y):
        def slope(y, *parameters):
            return self.f(float(t), y, *parameters)

        slope.differentiates = True  # it may well be constant somewhere
        return products(slope, y, *self.parameters)

    def one_by_one(self, t, y):
        """The same point by point."""
        values, pulls = [], []
        for time, state in zip(t, y, strict=True):
            value, pull = self._one(time, state if self.dtype is None else state.astype(self.dtype))
            values.append(value)
            pulls.append(pull)

        def pull(cotangents):
            by_y, rest = numpy.zeros(y.shape), [None] * len(self.parameters)
            for i, back in enumerate(pulls):
                by_state, *parts = back(cotangents[i])
                if by_state is not None:
                    by_y[i] = by_state
                rest = [b if a is None else a if b is None else a + b for a, b in zip(rest, parts, strict=True)]
            return (by_y, *rest)

        return numpy.asarray(values), pull


def _same(a, b, close):
    """Whether two derivatives are equal to rounding; None is zero."""
    a, b = (0.0 if x is None else numpy.asarray(x) for x in (a, b))
    size = numpy.max(numpy.abs(b), initial=0.0)
    return bool(numpy.all((numpy.abs(a - b) <= close * size) | (numpy.isnan(a) & numpy.isnan(b)) | (a == b)))


def jacobians(pull, m, n):
    """df/dy (m, n, n) of values (m, n) by what multiplies cotangents with it."""
    found = numpy.zeros((m, n, n))
    for k in range(n):
        unit = numpy.zeros((m, n))
        unit[:, k] = 1.0
        row = pull(unit)[0]
        if row is not None:
            found[:, k] = row
    return found


def carried(tableau, h, jac, after, by_state, by_stages):
    """Gradients by the states and the stages of steps that follow each other.

    Parameters
    ----------
    tableau
        `a`, and `whole`, the weights b, of a method; `implicit`.
    h : numpy.ndarray (m,)
        Lengths of the steps.
    jac : numpy.ndarray (m, stages, n, n)
        Jacobians of the right side.
    after : numpy.ndarray (n,)
        Gradient by the state where the last step ends.
    by_state, by_stages : numpy.ndarray (m, n), (m, stages, n)
        Of values within each step, by the state where it begins and by h times its stages.

    Returns
    -------
    (gradient by the state where the first step begins, gradients by the stages (m, stages, n))
    """
    m, count, n, _ = jac.shape
    a, b = tableau.a[:count, :count], tableau.whole[:count]
    one, column = numpy.eye(n), h[:, None, None]
    if tableau.implicit:
        system = -(column[..., None, None] * a[:, None, :, None]) * jac[:, :, :, None, :]
        system = numpy.ascontiguousarray(system).reshape(m, count * n, count * n) + numpy.eye(count * n)
        slopes = numpy.linalg.solve(system, jac.reshape(m, count * n, n)).reshape(m, count, n, n)
    else:
        slopes = numpy.empty_like(jac)
        for i in range(count):
            inner = numpy.tensordot(slopes[:, :i], a[i, :i], axes=(1, 0)) if i else 0.0
            slopes[:, i] = jac[:, i] @ (one + column * inner)
    steps = one + column * numpy.tensordot(slopes, b, axes=(1, 0))
    added = by_state + h[:, None] * numpy.einsum("mikl,mik->ml", slopes, by_stages)
    ends = numpy.empty((m, n))  # gradients by the states where steps end
    p = after
    for k in range(m - 1, -1, -1):
        ends[k] = p
        p = p @ steps[k] + added[k]
    cotangents = column * (b[:, None] * ends[:, None, :] + by_stages)
    if tableau.implicit:
        flat = cotangents.reshape(m, count * n, 1)
        return p, numpy.linalg.solve(system.transpose(0, 2, 1), flat).reshape(m, count, n)
    for i in range(count - 1, 0, -1):
        by_state_of_stage = h[:, None] * numpy.einsum("mkl,mk->ml", jac[:, i], cotangents[:, i])
        cotangents[:, :i] += a[i, :i, None] * by_state_of_stage[:, None, :]
    return p, cotangents


def gradients_of_steps(tableau, h, blocks, after, by_state, by_stages):
    """Gradients through steps that follow each other: arguments and the first result as those of `carried`.

    Parameters
    ----------
    blocks : list of (slice, callable)
        In the place of the Jacobians: some of the stages each, in their order, and the `pull` of f there, for
        cotangents (m times their number, n).

    Returns
    -------
    (gradient by the state where the first step begins, gradients by the parameters)
    """
    m, n = by_state.shape
    count = blocks[-1][0].stop
    jac = numpy.empty((m, count, n, n))
    for part, pull in blocks:
        k = part.stop - part.start
        jac[:, part] = jacobians(pull, m * k, n).reshape(m, k, n, n)
    p, cotangents = carried(tableau, h, jac, after, by_state, by_stages[:, :count])
    grown = None
    for part, pull in blocks:
        _, *parts = pull(numpy.ascontiguousarray(cotangents[:, part]).reshape(-1, n))
        grown = parts if grown is None else [
            y if x is None else x if y is None else x + y for x, y in zip(grown, parts, strict=True)
        ]  # fmt: skip
    return p, grown
