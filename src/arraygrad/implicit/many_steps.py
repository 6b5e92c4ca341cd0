"""Gradients through many steps of a solver at once, where the state is small: by the Jacobians at all their stages.

May import: implicit.columns, implicit.common, implicit.step_kernels, implicit.stores, numpy.

Note [Many steps at once]
~~~~~~~~~~~~~~~~~~~~~~~~~
(1) The stages of a step obey k_i = f(t + c_i h, y + h sum_j a_ij k_j), with Jacobians J_i. A gradient p by the state
    where the step ends gives the stages cotangents h L_i, with L_i - h sum_j a_ji J_j^T L_j = b_i p + what values
    between the ends of the step add, and gives p + h sum_i J_i^T L_i to the state where the step begins. An explicit
    method has L one after the other, an implicit one as the solution of a linear system.
(2) So the gradient goes back step by step, over the Jacobians at the stages of all steps, which are known. These are
    small matrices, for which a compiled loop takes less than the calls of NumPy. The gradient by the parameters is a
    product of the cotangents of all stages with the derivatives of f.
(3) f is called at all stages at once where it has such a form (Note [Calls at many points]), else one by one.
Guarded by tests/implicit/test_discrete_adjoint.py and test_collocated_adjoint.py.
"""

import functools

import numpy

from arraygrad.implicit import step_kernels
from arraygrad.implicit.columns import NoForm, are_close, at_once, beside, read_by_point
from arraygrad.implicit.common import directly, products
from arraygrad.implicit.kept_programs import BESIDE, Keeper, derivatives
from arraygrad.implicit.stores import leaves_nothing, running

__all__ = [
    "Calls", "NoForm", "Points", "added", "all_added", "beside_state", "carried", "gradients_of_steps", "jacobians",
    "room",
]  # fmt: skip

_ELEMENTS = 1 << 20  # of the largest arrays
_FEW = 4  # points that are called one by one, of those where the solver had other values
_BRANCHES, _POINTS = 8, 3  # values that a right side may read for points to be called together, and points of each
_TINY = 1e-30  # of a component that is zero
_TILED = 1 << 15  # elements of all Jacobians that are computed by one call: its arithmetic costs less than calls


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
            here = here[numpy.argsort(self.steps[here], kind="stable")]
            g, steps = self.g[:, self.numbers[here]].T, self.steps[here] - first
            begin = numpy.append(0, numpy.flatnonzero(numpy.diff(steps)) + 1)
            q = tableau.weights(self.places[here]).T
            by_state[steps[begin]] = numpy.add.reduceat(g, begin, axis=0)
            by_stages[steps[begin]] = numpy.add.reduceat(q[:, :, None] * g[:, None, :], begin, axis=0)
        return by_state, by_stages


class Noted:
    """The steps of a solver; `together` is False once the right side had no form for many points at once."""

    def __init__(self):
        self.together, self._watch = True, running()
        self.jumpless = False  # whether the right side is known to be continuous

    def calls_together(self, f):
        """Whether the right side may be called at many points at once: it stores nothing that others would find."""
        return self.together and leaves_nothing(f, self._watch)


class Calls:
    """The right side at many points: `f(t, y, *parameters)` with what is differentiated besides the state.

    `together` is False as soon as it turned out to have no form for many points at once.
    """

    def __init__(self, f, parameters, dtype=None):
        self.f, self.parameters, self.dtype, self.together = f, parameters, dtype, True
        self.replays = False  # whether the last points were those of a program
        self.structure = None  # of its Jacobians, once it was looked for (large_states.py)
        self.keeper, self.jumpless = None, False  # of its programs; whether one was met that can't jump
        self._agrees = None

    @classmethod
    def of(cls, f, arguments, parameters, dtype):
        """Those of f(t, y, *rest) by y and `parameters`, what of `arguments`, of (y0, *rest), is differentiated."""
        keeper, first, f = Keeper(f, arguments), 0 in arguments.positions(), directly(f)

        def right_side(t, y, *parameters):
            _, *rest = arguments.rebuilt((y, *parameters) if first else parameters)
            return f(t, y, *beside(y, rest))

        calls = cls(right_side, parameters, dtype)
        calls.keeper = keeper
        return calls

    def cast(self, y):
        """States or cotangents in the dtype that the right side is called with."""
        return y if self.dtype is None else y.astype(self.dtype)

    def at_once(self, t, y, known=None):
        """As columns.at_once, for t (m,), y (m, n).

        Raises
        ------
        NoForm
            If the right side has no form for many points at once; so does the `pull` that is returned.
        """
        if not self.together:
            raise NoForm
        y = self.cast(y)
        try:
            if self._agrees is None:
                self._agrees = self._agreement(t, y)
            if not self._agrees:
                raise NoForm
            found = at_once(self.f, t, y, self.parameters, known)
            self.jumpless = self.jumpless or (self.keeper is not None and self.keeper.jumpless(self, t, y))
            return found
        except NoForm:
            self.together = False
            raise

    def tiles(self, m, n):
        """Whether `linear` of so many points and components is one call with a row for each of both."""
        return m * n * (n + sum([p.size for p in self.parameters])) <= _TILED

    def linear(self, t, y, known=None):
        """The right side at many points with its derivatives there, for t (m,), y (m, n).

        Returns
        -------
        values : numpy.ndarray (m, n)
        jacobians : numpy.ndarray (m, n, n)
        by_parameters : callable
            by_parameters(cotangents (m, n)): gradients by each of the parameters, summed over the points; None where
            one is zero. NoForm as `linear`.

        Raises
        ------
        NoForm
            As at_once.
        """
        m, n = y.shape
        if not self.tiles(m, n):
            values, pull = self.at_once(t, y, known)
            return values, jacobians(pull, m, n), lambda cotangents: pull(cotangents)[1:]
        if not self.together or self._agrees is False:
            raise NoForm
        y = self.cast(y)
        try:
            return self._tiled(t, y, known)
        except NoForm:
            self.together = False
            raise

    def _tiled(self, t, y, known):
        """The same by one call with a row for each point and component, whose cotangents are all unit vectors.

        The first call has one point more, where it is compared with a call at one: see `_agrees_at`.
        """
        m, n = y.shape
        found = self._replayed(t, y)
        if found is None:
            compared = None
            if self._agrees is None:
                t, y, compared = numpy.append(t, t[m // 2]), numpy.concatenate([y, beside_state(y, m // 2)[None]]), m
            found = self._derivatives(t, y, compared, _BRANCHES)
        values, jac, rest = found
        self._agrees = True
        if known is not None and not self._are_known(t, y, values[:m], known):
            raise NoForm

        return values[:m], jac[:, :m].transpose(1, 0, 2), ByParameters(rest, m, n)

    @staticmethod
    def _padded(t, y):
        """Points with some of them repeated beside them, and so many that few numbers of rows are met."""
        m = len(t)
        at, last = _padding(m), slice(m, m + BESIDE)
        t, y = t[at], y[at]
        y[last] += (1e-3 * numpy.abs(y).max(axis=0) + _TINY) * _between(y.shape[1])
        return t, y

    def _replayed(self, t, y):
        """What `_derivatives` gives, by a program that is kept; None where there is none that serves."""
        if self.keeper is None:
            return None
        m = len(t)
        t, y = self._padded(t, y)
        program, is_new = self.keeper.program(self, t, y)
        self.replays = program is not None
        found = None if program is None else derivatives(self, program, t, y, m)
        if found is None:
            return None
        values, jac, rest, moved = found
        if is_new:
            cotangent = _between(y.shape[1])
            parts = [None if part is None else numpy.tensordot(cotangent, part[:, m], 1) for part in (jac, *rest)]
            if not self._agrees_at(t[m], y[m], values[m], parts[0], parts[1:], moved):
                self.keeper.drop(y)
                return None
        return values, jac, rest

    def _derivatives(self, t, y, compared, branches):
        """(values (m, n), derivatives of each component by y (n, m, n) and by the parameters, (n, m, ...) or None).

        `compared`: which point is compared with a call at one, None for none. Where the function reads a value that
        differs by point, it is called for the points of each of them, if these are at most `branches`.
        """
        m, n = y.shape
        k = m + -m % (1 << max(m.bit_length() - 4, 0))  # few numbers of rows: what operations call is kept
        at = numpy.minimum(numpy.arange(n * k) % k, m - 1)
        try:
            values, pull = at_once(self.f, t[at], y[at], self.parameters, apart=True)
            by_y, *rest = pull(numpy.repeat(numpy.eye(n), k, axis=0))
        except NoForm as error:
            read = read_by_point(error)
            kinds = () if read is None else numpy.unique(read[:k])
            most = min(branches, m // _POINTS)
            if not 1 < len(kinds) <= most or not numpy.array_equal(kinds, kinds):  # nan
                raise
            groups = [numpy.flatnonzero(read[:m] == kind) for kind in kinds]
            parts = [self._derivatives(t[one], y[one], len(one) // 2, branches - len(kinds) + 1) for one in groups]
            return _joined(groups, parts, m)
        jac = numpy.zeros((n, k, n)) if by_y is None else by_y.reshape(n, k, n)
        rest = [None if part is None else part.reshape(n, k, *part.shape[1:])[:, :m] for part in rest]
        values, jac = values[:m], jac[:, :m]
        if compared is not None:
            i = compared
            found = [None if part is None else numpy.tensordot(_between(n), part[:, i], 1) for part in (jac, *rest)]
            if not self._agrees_at(t[i], y[i], values[i], found[0], found[1:]):
                raise NoForm
        return values, jac, rest

    def _are_known(self, t, y, values, known):
        """Whether the values at points are those that the solver had, or at a few points those of a call at one.

        A right side that fills an array of its own changes the slope that the solver keeps while it tries steps.
        """
        apart = numpy.flatnonzero(~are_close(values, known))
        if 4 * apart.size > len(known):
            return False
        apart = apart[:: max(apart.size // _FEW, 1)]
        return all(are_close(values, self.one(t[k], y[k])[0][None], k).all() for k in apart)

    def _agreement(self, t, y):
        """Whether value and derivatives at several points at once are those of a call at one, beside the solution."""
        k = len(t) // 2
        places = numpy.stack([beside_state(y, k), y[k]])
        try:
            self.compare(t[k], places[0], *at_once(self.f, t[[k, k]], places, self.parameters))
        except NoForm:
            return False
        return True

    def compare(self, t, y, values, pull):
        """Hold what `at_once` gave for points of which the first is (t, y) to a call at that point; raises NoForm."""
        cotangents = numpy.zeros(values.shape)
        cotangents[0] = _between(len(y))
        by_y, *rest = pull(cotangents)
        if not self._agrees_at(t, y, values[0], None if by_y is None else by_y[0], rest):
            raise NoForm
        self._agrees = True

    def _agrees_at(self, t, y, value, by_y, by_parameters, parameters=None):
        """Whether a value and its derivatives along `_between` are those of a call at one point, with the parameters.

        They would differ where the function relies on what Batched lacks, as an array that has two names and is
        written in place. Along the solution itself values may agree by chance, as at an equilibrium.
        """
        cotangent, close = _between(len(y)), numpy.sqrt(numpy.finfo(y.dtype).eps)
        try:
            expected, back = self.one(t, y, parameters)
            one = back(cotangent.astype(expected.dtype))
        except Exception:  # told where the function is called point by point
            return False
        found = (by_y, *by_parameters)
        return _same(value, expected, close) and all(_same(a, b, close) for a, b in zip(found, one, strict=True))

    def one(self, t, y, parameters=None):
        """(value, what multiplies by the derivatives) at one point, as `products`, by default with the parameters."""

        def slope(y, *parameters):
            return self.f(float(t), y, *parameters)

        slope.differentiates = True  # it may well be constant somewhere
        return products(slope, y, *(self.parameters if parameters is None else parameters))

    def one_by_one(self, t, y):
        """The same point by point."""
        values, pulls = [], []
        for time, state in zip(t, y, strict=True):
            value, pull = self.one(time, self.cast(state))
            values.append(value)
            pulls.append(pull)

        def pull(cotangents):
            by_y, rest = numpy.zeros(y.shape), [None] * len(self.parameters)
            for i, back in enumerate(pulls):
                by_state, *parts = back(cotangents[i])
                if by_state is not None:
                    by_y[i] = by_state
                rest = all_added(rest, parts)
            return (by_y, *rest)

        return numpy.asarray(values), pull


class ByParameters:
    """What gives gradients by parameters for cotangents (m, n), of derivatives (n, m', ...) of each component.

    One product for all of them: `matrix` (n, m, numbers), None where there are none.
    """

    def __init__(self, rest, m, n):
        self._shapes = [None if part is None else part.shape[2:] for part in rest]
        self._widths = [0 if part is None else part[0, 0].size for part in rest]
        columns = [part[:, :m].reshape(n, m, -1) for part in rest if part is not None]
        self.matrix = numpy.concatenate(columns, axis=2) if columns else None

    def __call__(self, cotangents):
        if self.matrix is None:
            return [None] * len(self._shapes)
        columns = numpy.asarray(cotangents).T.reshape(-1)
        found, at, parts = columns @ self.matrix.reshape(columns.size, -1), 0, []
        for shape, width in zip(self._shapes, self._widths, strict=True):
            parts.append(None if shape is None else found[at : at + width].reshape(shape))
            at += width
        return parts


@functools.lru_cache(maxsize=64)
def _padding(m):
    """Which of m points stand at the places of `Calls._padded`."""
    k = m + BESIDE
    k += -k % (1 << max(k.bit_length() - 4, 0))
    at = numpy.minimum(numpy.arange(k), m - 1)
    at[m : m + BESIDE] = m * numpy.arange(1, BESIDE + 1) // (BESIDE + 1)
    return at


def added(a, b):
    """The sum of two gradients, None where there is none."""
    return b if a is None else a if b is None else a + b


def all_added(grown, parts):
    """The sums of gradients by each of the parameters; `grown` None: there are no others yet."""
    return parts if grown is None else [added(a, b) for a, b in zip(grown, parts, strict=True)]


def _joined(groups, parts, m):
    """What `_derivatives` gives, of that for groups of m points."""

    def whole(pieces, axis):
        some = next((piece for piece in pieces if piece is not None), None)
        if some is None:
            return None
        found = numpy.zeros((*some.shape[:axis], m, *some.shape[axis + 1 :]), some.dtype)
        for group, piece in zip(groups, pieces, strict=True):
            if piece is not None:
                found[(slice(None),) * axis + (group,)] = piece
        return found

    values, jac, rest = zip(*parts, strict=True)
    return whole(values, 0), whole(jac, 1), [whole(pieces, 1) for pieces in zip(*rest, strict=True)]


@functools.lru_cache(maxsize=64)
def _between(n):
    """n numbers between 0.5 and 1, of no pattern."""
    return 0.5 + 0.5 * (0.6180339887498949 * numpy.arange(1.0, n + 1.0) % 1.0)


def beside_state(y, k):
    """A state near that of point k, of all states (m, n)."""
    size = numpy.max(numpy.abs(y), axis=0) + numpy.finfo(y.dtype).tiny
    return (y[k] + 1e-3 * size * _between(y.shape[1])).astype(y.dtype)


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
    count = jac.shape[1]
    a, b = tableau.a[:count, :count], tableau.whole[:count]
    return step_kernels.carried(a, b, tableau.implicit, h, jac, after, by_state, by_stages)


def gradients_of_steps(tableau, h, blocks, after, by_state, by_stages):
    """Gradients through steps that follow each other: arguments and the first result as those of `carried`.

    Parameters
    ----------
    blocks : list of (slice, jacobians, callable)
        In the place of the Jacobians: some of the stages each, in their order, the Jacobians there (m times their
        number, n, n), and the `by_parameters` of f there.

    Returns
    -------
    (gradient by the state where the first step begins, gradients by the parameters)
    """
    m, n = by_state.shape
    count = blocks[-1][0].stop
    jac = numpy.concatenate([one.reshape(m, -1, n, n) for _, one, _ in blocks], axis=1)
    p, cotangents = carried(tableau, h, jac, after, by_state, by_stages[:, :count])
    grown = None
    for part, _, by_parameters in blocks:
        parts = by_parameters(numpy.ascontiguousarray(cotangents[:, part]).reshape(-1, n))
        grown = all_added(grown, parts)
    return p, grown
