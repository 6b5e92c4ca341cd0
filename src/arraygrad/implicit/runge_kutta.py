"""The discrete adjoint of an explicit Runge-Kutta method: the steps that SciPy's solver took, differentiated.

May import: implicit.common, implicit.large_states, implicit.many_steps, transforms, core.tensor, numpy; scipy inside
functions.

Note [Discrete adjoint]
~~~~~~~~~~~~~~~~~~~~~~~
(1) A step computes stages k_i = f(t + c_i h, y + h sum_j a_ij k_j) and y + h sum_i b_i k_i; a value between its ends is
    y + h sum_i q_i(x) k_i, x being the place in the step. Backwards each stage is one vector-Jacobian product of f, so
    a step costs as many of these as the method has stages, and a value between the ends costs sums alone. The
    gradient is that of the computed solution, to rounding, with the steps as they were: their lengths are constants.
(2) Times, states and stages of the accepted steps are kept; beyond a limit of memory no stages, and then only each
    second, fourth, ... state. The others are computed again, which gives the same numbers.
(3) To be differentiated again the steps are computed once more from the initial values, recorded, and so are the
    products: the second derivative is that of the same discrete solution.
Source: Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", II.1 and II.5 (the methods and their
continuous extensions); Sandu (2006), "On the properties of Runge-Kutta discrete adjoints".
Guarded by tests/implicit/test_discrete_adjoint.py.
"""

import functools

import numpy

from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import directly, noting_class, products, raw
from arraygrad.implicit.large_states import LARGEST, products_at, walked
from arraygrad.implicit.many_steps import Calls, NoForm, Noted, Points, added, all_added, gradients_of_steps, room
from arraygrad.transforms.following import vjp

__all__ = ["Trajectory", "recording"]

_METHODS = ("RK23", "RK45", "DOP853")
_BYTES = 1 << 27  # of states and stages, which are kept
_SMALL = 24  # states of so many values: Jacobians are computed
_PRODUCTS, _POINTS = 1 << 16, 64  # of states at the stages of steps that go together; points at which that pays
_ELEMENTS = 1 << 18  # of cotangents that are noted together


class _Tableau:
    """A method: rows `a` of all stages (those of the step, the one at its end, those of its extension), `c`."""

    def __init__(self, cls):
        n = cls.n_stages
        size = n + 1
        extra = getattr(cls, "A_EXTRA", None)
        if extra is not None:
            size += len(extra)
        self.n, self.size, self.implicit = n, size, False
        self.a = numpy.zeros((size, size))
        self.a[:n, : cls.A.shape[1]] = cls.A
        self.a[n, :n] = cls.B
        self.whole = numpy.zeros(size)  # `b`, of all stages
        self.whole[:n] = cls.B
        self.c = numpy.ones(size)
        self.c[:n] = cls.C
        if extra is None:
            self._p = cls.P
        else:
            self.a[n + 1 :, : extra.shape[1]] = extra
            self.c[n + 1 :] = cls.C_EXTRA
            self._p, self._d = None, cls.D

    def weights(self, x):
        """q_i(x), (stages, m), at the places x (m,)."""
        found = numpy.zeros((self.size, x.size))
        if self._p is not None:
            found[: len(self._p)] = self._p @ numpy.cumprod(numpy.tile(x, (self._p.shape[1], 1)), axis=0)
            return found
        # SciPy's extension of DOP853: differences F_k in the order of its interpolant, each linear in the stages.
        first, last = numpy.eye(self.size)[[0, self.n]]
        rows = [self.whole, first - self.whole, 2.0 * self.whole - last - first, *self._d]
        for k, row in enumerate(reversed(rows)):
            found = (found + row[:, None]) * (x if k % 2 == 0 else 1.0 - x)
        return found


@functools.cache
def _tableau(cls):
    return _Tableau(cls)


def recording(method, beside=None):
    """(a class of SciPy's solvers that notes its steps, the `Trajectory`); (method, None) where it has no tableau.

    `beside(t, y)` is told them as well.
    """
    from scipy import integrate

    cls = getattr(integrate, method) if isinstance(method, str) and method in _METHODS else method
    if cls not in [getattr(integrate, name) for name in _METHODS]:
        return method, None
    trajectory = Trajectory(_tableau(cls))

    def begin(solver):
        trajectory.begin(solver.t, solver.y)

    def add(solver):
        trajectory.add(solver.t, solver.y, solver.K)
        if beside is not None:
            beside(solver.t, solver.y)

    def extended(self):
        found = cls._dense_output_impl(self)
        trajectory.extend(self.K_extended)
        return found

    more = {"_dense_output_impl": extended} if hasattr(cls, "A_EXTRA") else {}
    return noting_class(cls, begin, add, **more), trajectory


class Trajectory(Noted):
    """The accepted steps of a solution: times, the states there, and the stages between them."""

    def __init__(self, tableau):
        super().__init__()
        self.tableau = tableau
        self.times = []
        self._states = {}
        self._stages = {}
        self._every = 1

    def begin(self, t, y):
        """Note the start; a solver that is begun again has its steps from there."""
        self.times, self._states, self._stages, self._every = [t], {0: y.copy()}, {}, 1  # it may be the caller's array

    @property
    def start(self):
        """The state at the start."""
        return self._states[0]

    def add(self, t, y, stages):
        """Note a step that was accepted, and its stages, an array that the solver fills again."""
        n = len(self.times)
        self.times.append(t)
        if n % self._every:
            return
        self._states[n] = y
        if self._stages is not None:
            self._stages[n - 1] = stages.copy()
        weight = y.nbytes + (0 if self._stages is None else stages.nbytes)
        if len(self._states) * weight > _BYTES and len(self._states) > 64:
            if self._stages is None:
                self._every *= 2
                self._states = {k: one for k, one in self._states.items() if k % self._every == 0}
            self._stages = None

    def extend(self, stages):
        """Note the stages of the last step with those of its extension."""
        if self._stages is not None and len(self.times) - 2 in self._stages:
            self._stages[len(self.times) - 2] = stages.copy()

    def stages(self, n):
        """The stages of a step, those of the extension where the solver has computed them; None: they are not kept."""
        return None if self._stages is None else self._stages.get(n)

    def known(self):
        """{time: state} of the ends of all steps; None where not all are kept."""
        return dict(zip(map(float, self.times), self._states.values(), strict=True)) if self._every == 1 else None

    def serves(self, arrays):
        """Whether gradients by these arrays can be had: always."""
        return True

    def pull(self, f, arguments, g, times, arrays, dtype=None, tolerance=None):
        """Gradients of (y0, *arguments) that are differentiated, for those of the solution at some times.

        Parameters
        ----------
        f : callable
            f(t, y, *rest), the right side.
        arguments : Arguments
            Of (y0, *rest).
        g : array or Tensor (n, m)
        times : sequence of float (m,)
            Where the solution was asked for, in any order, within the steps.
        arrays : list
            What is differentiated: all raw, or, to be recorded, all Tensors.
        dtype : dtype, optional
            What the right side is given states in; by default they are as SciPy has them.
        tolerance : float, optional
            Of no meaning here, where the gradient is exact.
        """
        return _Backwards(self, f, arguments, arrays, dtype).gradients(g, [float(t) for t in times])

    def _states_backwards(self, advance):
        """(number of a step, the state where it begins), from the last step to the first."""
        last = len(self.times) - 1
        while last > 0:
            first = (last - 1) // self._every * self._every
            states = [self._states[first]]
            for n in range(first, last - 1):
                states.append(advance(n, states[-1]))
            for n in range(last - 1, first - 1, -1):
                yield n, states[n - first]
            last = first


class _Backwards:
    """One walk over the steps of a trajectory, from the last to the first: see Note [Discrete adjoint]."""

    def __init__(self, trajectory, f, arguments, arrays, dtype):
        self.trajectory, self.tableau, self.times = trajectory, trajectory.tableau, trajectory.times
        self.given, self.f, self.arguments, self.dtype = f, directly(f), arguments, dtype
        self.first = 0 in arguments.positions()
        self.start = arrays[0] if self.first else trajectory.start
        self.parameters = list(arrays[1:] if self.first else arrays)
        self.recorded = any(isinstance(array, Tensor) for array in arrays)

    def gradients(self, g, times):
        if not self.recorded and g.dtype.kind == "f" and self.trajectory.start.dtype.kind == "f":
            return self._many(g, numpy.asarray(times, dtype=float))
        points, at_start = self._places(numpy.asarray(times, dtype=float))
        p = _total([g[:, j] for j in at_start])  # of the state at the start, which is the initial value itself
        after = None  # of the state where the step ends
        grown = [None] * len(self.parameters)
        for n, y in self._states():
            if after is None and n not in points:
                continue
            after, by_parameters = self._step(n, y, after, *self._within(g, *points.get(n, ((), ()))))
            grown = all_added(grown, by_parameters)
        return self._found(_total([p, after]), grown)

    def _found(self, p, grown):
        found = [self._fitted(one, like) for one, like in zip(grown, self.parameters, strict=True)]
        return [self._fitted(p, self.start), *found] if self.first else found

    def _many(self, g, times):
        """The gradients of raw arrays: of many steps at once, or step by step where that does not go."""
        points = Points(self.times, times, g)
        calls = Calls.of(self.given, self.arguments, self.parameters, self.dtype)
        tableau, n = self.tableau, len(g)
        most = room(n, tableau.size, self.parameters) if n <= _SMALL else self._room_of_products(n)
        calls.together = most > 1 and self.trajectory.calls_together(self.given)
        chunk = most if calls.together else max(min(_ELEMENTS // (tableau.size * n), 256), 1)
        after, grown, waiting = numpy.zeros(n, g.dtype), [None] * len(self.parameters), []
        for step, y in self._states():
            if step > points.last:
                continue
            waiting.append(y)
            if step and len(waiting) < chunk:
                continue
            first, last = step, step + len(waiting)
            by_state, by_stages = points.within(tableau, first, last)
            found = self._at_once(calls, first, waiting[::-1], after, by_state, by_stages)
            if found is None:
                found = self._one_by_one(first, waiting[::-1], after, by_state, by_stages)
            after, parts = found
            grown = all_added(grown, parts)
            waiting = []
        self.trajectory.together = calls.together or not most > 1
        if not calls.jumpless and self.trajectory.calls_together(self.given):
            ends = numpy.asarray(self.times[:1]), calls.cast(numpy.asarray([self.trajectory.start]))
            calls.jumpless = calls.keeper.jumpless(calls, *ends)
        self.trajectory.jumpless = calls.jumpless
        return self._found(points.at_start + after, grown)

    def _room_of_products(self, n):
        """How many steps go together of a state of more values; 0 where products one by one cost less."""
        points = (len(self.times) - 1) * self.tableau.n
        return _PRODUCTS // (self.tableau.size * n) if n <= LARGEST and points >= _POINTS else 0

    def _at_once(self, calls, first, states, after, by_state, by_stages):
        """What `_step` gives, of all these steps; None where the right side has no form for many points."""
        if not calls.together:
            return None
        tableau, m = self.tableau, len(states)
        count = tableau.size if self._reaches_extension(by_stages.transpose(1, 0, 2)) else tableau.n
        times = numpy.asarray(self.times[first : first + m + 1])
        h, y = numpy.diff(times), numpy.asarray(states)
        stages, short = self._known(first, states, by_stages, count)
        small = y.shape[1] <= _SMALL
        linear, gradients = (calls.linear, gradients_of_steps) if small else (self._products(calls), walked)
        blocks, done = [], 0
        try:
            while done < count:
                part = slice(done, min(max(stages.shape[1], done + 1), count))
                k = part.stop - done
                t = times[:-1, None] + tableau.c[part] * h[:, None]
                inner = numpy.einsum("ij,mjn->min", tableau.a[part, : stages.shape[1]], stages)
                at = y[:, None] + h[:, None, None] * inner
                if not done and short.any():
                    at[short, tableau.n :], t[short, tableau.n :] = at[short, tableau.n, None], times[1:][short, None]
                known = None if done else stages[:, part].reshape(m * k, -1)
                values, *derivatives = linear(t.reshape(-1), at.reshape(m * k, -1), known)
                blocks.append((part, *derivatives))
                if part.stop > stages.shape[1]:
                    stages = numpy.concatenate([stages, values.reshape(m, k, -1)], axis=1)
                done = part.stop
            return gradients(tableau, h, blocks, after, by_state, by_stages)
        except NoForm:
            return None

    @staticmethod
    def _products(calls):
        def linear(t, y, known):
            return products_at(calls, t, y, known)

        return linear

    def _one_by_one(self, first, states, after, by_state, by_stages):
        """The same by a product with the Jacobian of each stage, from the last one of the last step to the first."""
        tableau, m = self.tableau, len(states)
        lengths, a = numpy.diff(self.times[first : first + m + 1]), tableau.a
        extended = numpy.any(by_stages[:, tableau.n :], axis=(1, 2))
        grown = [None] * len(self.parameters)
        p = after
        for k in range(m - 1, -1, -1):
            h, y, n = lengths[k], states[k], first + k
            cotangents = h * (by_stages[k] + tableau.whole[:, None] * p)
            p = p + by_state[k]
            stages = self.trajectory.stages(n)
            count = tableau.size if extended[k] else tableau.n
            stages = numpy.asarray(self._stages(n, y) if stages is None else stages[:count])
            at, pulls = y + h * (a[: len(stages), : len(stages)] @ stages), []
            for i in range(len(stages), count):  # those of the extension that are not known
                value, pull = self._pulled(n, i, self._state(y, h, a[i], stages))
                stages = numpy.concatenate([stages, value[None]])
                pulls.append(pull)
            for i in range(count - 1, -1, -1):
                pull = pulls.pop() if pulls else self._pulled(n, i, at[i])[1]
                cotangent = cotangents[i] if self.dtype is None else cotangents[i].astype(self.dtype)
                by_y, *parts = pull(cotangent)
                if by_y is not None:
                    p = p + by_y
                    if i:
                        cotangents[:i] += a[i, :i, None] * (h * by_y)
                grown = all_added(grown, parts)
        return p, grown

    def _known(self, first, states, by_stages, count):
        """(stages of steps that are known (m, at least `tableau.n`, n), which of the steps lack their extension).

        The stages of an extension that is lacking have no part in the gradient: the end of the step stands for them.
        """
        known, n = [self.trajectory.stages(first + k) for k in range(len(states))], self.tableau.n
        none = numpy.zeros(len(states), bool)
        if any(stages is None for stages in known):
            return numpy.asarray([self._stages(first + k, y) for k, y in enumerate(states)]), none
        wanted = numpy.any(by_stages[:, n:], axis=(1, 2))
        short = numpy.asarray([len(stages) < count for stages in known])
        if numpy.any(wanted & short):
            return numpy.asarray([stages[: n + 1] for stages in known]), none
        rows = [*range(n), *[n] * (count - n)]
        return numpy.asarray(
            [s[rows] if lacking else s[:count] for s, lacking in zip(known, short, strict=True)]
        ), short

    def _fitted(self, gradient, like):
        if gradient is None:
            gradient = numpy.zeros_like(raw(like))
        if isinstance(gradient, numpy.ndarray) and gradient.dtype != raw(like).dtype:
            gradient = gradient.real if raw(like).dtype.kind == "f" else gradient
            gradient = gradient.astype(raw(like).dtype)
        return gradient

    def _places(self, times):
        """({step: (places in it, numbers of the times)}, numbers of the times that are the start)."""
        way = 1.0 if self.times[-1] >= self.times[0] else -1.0
        ends = way * numpy.asarray(self.times)
        inside = (way * times > ends[0]) & (len(ends) > 1)
        steps = numpy.minimum(numpy.searchsorted(ends, way * times) - 1, len(ends) - 2)
        points = {}
        for j in numpy.flatnonzero(inside):
            n = int(steps[j])
            first, last = self.times[n], self.times[n + 1]
            places, numbers = points.setdefault(n, ([], []))
            places.append((times[j] - first) / (last - first))
            numbers.append(int(j))
        return points, numpy.flatnonzero(~inside)

    def _within(self, g, places, numbers):
        """(gradient by the state where a step begins, by h times the stages), of values within the step; or Nones."""
        if not numbers:
            return None, None
        q = self.tableau.weights(numpy.asarray(places))
        parts = g[:, numbers]
        return parts.sum(axis=1), q @ parts.T

    def _states(self):
        if not self.recorded:
            return self.trajectory._states_backwards(self._advance)
        states = [self.start]
        for n in range(len(self.times) - 2):
            states.append(self._advance(n, states[-1]))
        return [(n, states[n]) for n in range(len(states) - 1, -1, -1)]

    def _advance(self, n, y):
        """The state where a step ends."""
        return self._state(y, self._length(n), self.tableau.whole, self._stages(n, y))

    def _length(self, n):
        return self.times[n + 1] - self.times[n]

    def _stages(self, n, y):
        """The stages of a step, computed again."""
        h, stages = self._length(n), []
        for i in range(self.tableau.n):
            stages.append(self._slope(n, i, self._state(y, h, self.tableau.a[i], stages), *self.parameters))
        return stages

    def _state(self, y, h, weights, stages):
        """y + h times the weighted stages, in SciPy's order of sums."""
        if not len(stages):
            return y
        if not self.recorded:
            return y + numpy.dot(numpy.asarray(stages).T, weights[: len(stages)]) * h
        return _total([y, *[(w * h) * k for w, k in zip(weights, stages, strict=False) if w]])

    def _slope(self, n, i, y, *parameters):
        """The right side at a stage, as a function of the state and of what is differentiated."""
        t = self.times[n] + self.tableau.c[i] * self._length(n)
        if self.dtype is not None:
            y = y.astype(self.dtype)
        _, *rest = self.arguments.rebuilt((y, *parameters) if self.first else parameters)
        return self.f(t, y, *rest)

    def _step(self, n, y, after, p, of_stages):
        """(gradient by the state where a step begins, gradients by the parameters).

        `after`: by the state where it ends; `p`, `of_stages`: of values within it, see `_within`.
        """
        tableau, h = self.tableau, self._length(n)
        extended = self._reaches_extension(of_stages)
        if after is not None:
            p, of_stages = added(p, after), added(of_stages, tableau.whole[:, None] * after)
        values, pulls = [], []
        for i in range(tableau.size if extended else tableau.n):
            value, back = self._pulled(n, i, self._state(y, h, tableau.a[i], values))
            values.append(value)
            pulls.append(back)
        grown = [None] * len(self.parameters)
        for i in range(len(pulls) - 1, -1, -1):
            cotangent = h * of_stages[i]
            if self.dtype is not None:
                cotangent = cotangent.astype(self.dtype)
            by_state, *by_parameters = pulls[i](cotangent)
            if by_state is not None:
                p = p + by_state
                if i:
                    of_stages = of_stages + tableau.a[i][:, None] * by_state
            grown = all_added(grown, by_parameters)
        return p, grown

    def _pulled(self, n, i, y):
        """(the right side at a stage, the function that multiplies by its Jacobian from the left)."""
        slope = functools.partial(self._slope, n, i)
        slope.differentiates = True  # it may well be constant somewhere
        return (vjp if self.recorded else products)(slope, y, *self.parameters)

    def _reaches_extension(self, of_stages):
        """Whether gradients of values within a step reach the stages beside those of the step itself.

        Recorded ones may be zero and have a derivative: that of a sum of squares is zero where the fit is exact.
        """
        if of_stages is None:
            return False
        return isinstance(of_stages, Tensor) or bool(numpy.any(of_stages[self.tableau.n :]))


def _total(parts):
    return functools.reduce(added, parts, None)
