"""Right sides that jump where the solution or an argument says: what the adjoint of a differential equation can't see.

May import: backends.numpy.noted_calls, implicit.common, implicit.ivp, implicit.runge_kutta, scipy._declare, numpy,
SciPy.

The adjoint takes the right side to be differentiable along the solution. At np.where(t < k, ...) it is not, and where k
is differentiated the place of the jump moves, which no derivative of the right side shows. Three steps, each only where
the one before says so, find it:

1. The mean slopes of the solver's own steps: across a jump they change much faster than on either side. One product
   per step; nothing is evaluated.
2. The right side itself, halving the stretch: a jump stays as it is, whatever is continuous becomes smaller. Then
   whether the jump stays at its time if the solution and the arguments are moved: it has no part in the gradient then.
3. Differences of two solutions, at tight tolerances, beside the gradient.
"""

import inspect
import itertools
import types
import warnings

import numpy as np
from scipy import integrate

from arraygrad.backends.numpy.noted_calls import NotedCalls
from arraygrad.implicit.common import ConvergenceError, noting_class, solving
from arraygrad.implicit.ivp import _Problem
from arraygrad.implicit.ivp import noted as noting_steps
from arraygrad.scipy._declare import raw

__all__ = ["Checked", "Jumps", "Steps", "direct_of", "noted"]

ADVICE = (
    "Split the integration at the jump: a terminal event finds its place, sol.t[-1] and sol.y[:, -1] are "
    "differentiable in what it depends on, and a second call goes on from there with the other branch, over a scaled "
    "time"
)
# (1) How many components, or random sums of them, are looked at; how much faster than nearby slopes are to change;
# how many units of rounding are no change.
_SUMS, _SPIKE, _LOST = 12, 1.5, 8.0
# (2) Pieces of a stretch; what has to be left of a change of the right side after halving, and in the last halvings.
_PIECES, _EARLY, _LAST, _LEFT, _MOVE = 4, 3, 10, 0.6, 1e-6
# Stretches without a jump that are looked at: at least, at most, and one for so many evaluations of the solution.
_FEW, _MANY, _PER = 6, 24, 80
# So few steps are looked at everywhere; how much a piece with a jump stands out.
_COARSE, _OUT = 16, 1.5
# (3) Steps of the arguments, relative; tolerances; what the differences may be apart: beside their own error, relative.
_STEPS, _TIGHT, _ERROR = (2.0**-11, 2.0**-15), {"rtol": 1e-10, "atol": 1e-11}, 1e-9
_MARGIN, _RELATIVE = 10.0, 5e-3
# Evaluations that a comparison may take, times those of the solution; at least so many.
_TIMES, _EVALUATIONS = 30, 30000


class _Costly(Exception):
    """A comparison takes too many evaluations, as where the solution slides along a jump."""


class Steps:
    """The steps of a solver: times, and the solution there or eight random sums of it; `way` is the sign of time."""

    def __init__(self, n, t, y, way=1.0):
        self.way = 1.0 if way >= 0.0 else -1.0
        self.solution = None  # what has the steps for backward
        self.bare = False  # whether the right side that notes its evaluations reads no Tensors
        self.sums = None if n <= _SUMS else np.random.default_rng(5).standard_normal((_SUMS, n))
        self.size, self._evaluations = n, 0
        self._times, self._values, self._slopes, self._noted = [t], [self._summed(y)], None, None

    def add(self, t, y):
        """Note a step that was accepted."""
        self._times.append(t)
        self._values.append(self._summed(y))

    def noting(self, right_side, directly=True):
        """(function, its order, its further arguments), for a solver that does not tell its steps.

        Evaluations are noted. The order is True for f(t, y, *further), False for f(y, t, *further). `directly`: without
        a look at results; `plain` says whether that was right.
        """
        if self.sums is not None:
            summed, self._noted = self._summed, []
            note = self._noted.append

            def noted(t, y):
                found = right_side(t, y)
                note((t, summed(y), summed(np.asarray(found))))
                return found

            return noted, True, ()
        now, order, args, self._changed, self.bare = (
            direct_of(right_side, self._times[0], self._values[0]) if directly else (right_side, True, (), None, False)
        )
        self._noted = NotedCalls(now, self.size, not order, self.way < 0.0)
        return self._noted, order, args

    def plain(self):
        """Whether all that was noted are arrays of NumPy, or lists and tuples of numbers, of what changes nothing."""
        return self.sums is not None or (self._noted.plain and not (self._changed and self._changed()))

    def _take(self):
        """The noted evaluations as steps: those before one at a time that is not later were rejected."""
        if not self._noted:
            return
        noted, self._noted = self._noted, None
        if self.sums is None:
            self._evaluations = noted.count
            self._times, self._values, self._slopes = noted.points()
            return
        self._evaluations = len(noted)
        times, values, slopes = zip(*noted, strict=True)
        times = np.asarray(times)
        way = self.way * times
        later = np.minimum.accumulate(way[::-1])[::-1]
        at = np.flatnonzero(np.append(way[:-1] < later[1:], True))
        self._times, self._values, self._slopes = times[at], np.asarray(values)[at], np.asarray(slopes)[at]

    def points(self):
        """(times (m,), values (m, n), slopes (m, n)) of noted evaluations of a whole right side."""
        return self.times, self.values, self.slopes

    @property
    def evaluations(self):
        """How many evaluations of the right side were noted, or steps."""
        if self.sums is None and self._noted is not None:
            return self._noted.count
        self._take()
        return self._evaluations or len(self._times)

    @property
    def times(self):
        self._take()
        return self._times

    @property
    def values(self):
        self._take()
        return self._values

    @property
    def slopes(self):
        self._take()
        return self._slopes

    def _summed(self, y):
        return np.array(y) if self.sums is None else self.sums @ y

    def states(self):
        """{time: the solution} of the noted times, where it is known."""
        if self.sums is None:
            return dict(zip(map(float, self.times), self.values, strict=True))
        return None if self.solution is None else self.solution.known()

    def stretches(self):
        """Pairs of times between which the slope may jump, the most conspicuous first."""
        t = np.asarray(self.times)
        if t.size < 5:
            return list(itertools.pairwise(t))
        y, ends, eps = np.asarray(self.values).reshape(t.size, -1), t, np.finfo(float).eps
        with np.errstate(all="ignore"):
            if self.slopes is None:
                h = np.diff(t)[:, None]
                v, lost = np.diff(y, axis=0) / h, eps * (np.abs(y[1:]) + np.abs(y[:-1])) / np.abs(h)
                t = 0.5 * (t[1:] + t[:-1])
            else:
                v = np.asarray(self.slopes).reshape(t.size, -1)
                lost = eps * np.abs(v)
            # Digits lost in the difference of two values are no change.
            change = np.abs(np.diff(v, axis=0)) - _LOST * (lost[1:] + lost[:-1])
            change = np.maximum(change, 0.0) / np.abs(np.diff(t))[:, None]
            near = np.fmax(_beside(change, -1), _beside(change, 1))
            spike = np.max(np.nan_to_num(change / near, nan=0.0, posinf=1e300), axis=1)
        places = np.flatnonzero(spike > _SPIKE)
        places = places[np.argsort(-spike[places], kind="stable")]
        last = ends.size - 1
        found = [(ends[max(i - 1, 0)], ends[min(i + 3, last)]) for i in places]
        if last < _COARSE:
            found = found[:2] + [(ends[i], ends[min(i + 4, last)]) for i in range(0, last, 4)]
        return found


def direct_of(right_side, t, y):
    """What `right_side.parts` gives as odeint takes it: (function, its order, further arguments, changed, bare)."""
    now, args, changed, bare = right_side.parts(t, y)
    inner = getattr(now, "of_swapped", None)
    swapped = inner is not None and changed is None  # a copy's attribute is that of the function
    return inner if swapped else now, not swapped, tuple(args), changed, bare


class _Solved(dict):
    """The solution at the ends of stretches, by time, solved for once more."""

    def __init__(self, solve, stretches):
        ends = sorted({float(t) for pair in stretches for t in pair}, reverse=bool(stretches[0][1] < stretches[0][0]))
        super().__init__(zip(ends, np.asarray(solve(np.asarray(ends))).T, strict=False))


def _beside(change, side):
    """The middle one of the changes two to four places beside each; what there is of them near an end."""
    found = np.full((3, *change.shape), np.nan)
    for k in (2, 3, 4):
        if k < len(change):
            here, there = (slice(k, None), slice(None, -k)) if side < 0 else (slice(None, -k), slice(k, None))
            found[k - 2][here] = change[there]
    found.sort(axis=0)  # nan last
    return np.where(np.isnan(found[2]), found[0], found[1])


def noted(method, n, t, y):
    """(SciPy's solver with its steps noted, the `Steps`, what has them for backward, or None)."""
    steps = Steps(n, t, y)
    theirs, trajectory = noting_steps(method, steps.add)
    if trajectory is not None:
        steps.solution = trajectory
        return theirs, steps, trajectory
    if isinstance(theirs, str) and hasattr(integrate, theirs):
        theirs = getattr(integrate, theirs)
    if not inspect.isclass(theirs) or not issubclass(theirs, integrate.OdeSolver):
        return method, None, None  # SciPy says what is wrong
    return noting_class(theirs, lambda solver: None, lambda solver: steps.add(solver.t, solver.y)), steps, None


class Checked(_Problem):
    """A solved problem whose gradient is compared with differences where the right side jumps.

    `jumps`: a `Jumps`, one for all that is read of a solution, or None. `options`: of the solver, beside `settings`.
    """

    def __init__(self, f, times, result, arguments, settings, jumps, trajectory=None, **options):
        super().__init__(f, times, result, arguments, settings, trajectory)
        self.jumps, self.options = jumps, options

    def pull(self, g, y, arrays):
        """As the problem's, or nan with a warning."""
        gradients = super().pull(g, y, arrays)
        if self.jumps is None or getattr(self.trajectory, "jumpless", False) or not self.jumps.moving():
            return gradients
        said = self.refuted(np.asarray(raw(g)), [np.asarray(raw(part)) for part in gradients])
        if not said:
            return gradients
        warnings.warn(
            f"{self.jumps.name}: the right side jumps near t = {self.jumps.at:.6g} where an argument or the solution "
            f"says, and {said}, so the gradient is nan. {ADVICE}", integrate.IntegrationWarning, stacklevel=2,
        )  # fmt: skip
        return [part * np.nan for part in gradients]

    def refuted(self, g, gradients):
        """Why a gradient is wrong; "" where it is right, or nothing can be said."""
        arrays = [np.asarray(raw(t)) for t in self.arguments.tensors]
        if not all(np.all(np.isfinite(v)) for v in (g, *arrays, *gradients)):
            return ""
        moves, f, settings = _moves(arrays), _limited(self.f, self.jumps.allowed), self.tight()

        def change(step):
            y0, *rest = self.arguments.rebuilt([
                (array + step * move).astype(array.dtype, copy=False) for array, move in zip(arrays, moves, strict=True)
            ])  # fmt: skip
            t = np.asarray(self.at, dtype=float)
            found = integrate.solve_ivp(
                lambda t, y: np.asarray(raw(f(t, y, *rest))), (self.times[0], t[-1]), np.asarray(raw(y0)), t_eval=t,
                **settings, **self.options,
            )  # fmt: skip
            if not found.success or np.shape(found.y) != g.shape:
                raise ConvergenceError(found.message)
            return float(np.sum(np.real(np.conj(g) * found.y))), _ERROR * float(np.sum(np.abs(g * found.y)))

        def slope_of(gradients):
            pairs = zip(gradients, moves, strict=True)
            return sum(float(np.sum(np.real(np.conj(raw(part)) * move))) for part, move in pairs)

        with np.errstate(all="ignore"):
            try:
                here = change(0.0)
                sides = [(step, change(step), change(-step)) for step in _STEPS]
                if not _apart(here, sides, slope_of(gradients)):
                    return ""
                # Not so, perhaps, because the tolerances are loose: the gradient itself, with tight ones.
                solution = types.SimpleNamespace(t=self.at, y=self.solution)
                better = _Problem(f, self.times, solution, self.arguments, settings).pull(g, self.solution, arrays)
                if _apart(here, sides, slope_of(better)):
                    return "differences of solutions differ from the gradient of the adjoint equation"
            except _Costly:
                return "no difference of solutions confirms the gradient: the solution seems to slide along the jump"
            except (ConvergenceError, ArithmeticError, ValueError, np.linalg.LinAlgError):
                return ""
        return ""

    def tight(self):
        """A solver's settings for comparisons."""
        method = self.settings["method"]
        if isinstance(method, str):
            stiff = "BDF" if np.iscomplexobj(self.solution) else "LSODA"
            method = stiff if method in ("Radau", "BDF", "LSODA") else "DOP853"
        return {"method": method, **_TIGHT}


def _apart(here, sides, slope):
    """Whether the differences over all steps, forwards and backwards, agree on another slope than the given one."""
    for step, above, below in sides:
        forwards, backwards, expected = above[0] - here[0], here[0] - below[0], slope * step
        error = here[1] + above[1] + below[1]
        size = max(abs(forwards), abs(backwards), abs(expected))
        apart = abs(0.5 * (forwards + backwards) - expected)
        if not apart > _MARGIN * (abs(forwards - backwards) + error) + _RELATIVE * size:  # nan, too
            return False
    return True


def _moves(arrays):
    """A random direction; equal arrays are moved alike, as they may be one Tensor."""
    random, known = np.random.default_rng(7), {}
    for array in arrays:
        size = np.abs(array)
        most = float(np.max(size, initial=0.0))
        move = np.where(size == 0.0, most or 1.0, size) * random.uniform(0.5, 1.0, array.shape)
        known.setdefault((array.shape, array.tobytes()), move * random.choice([-1.0, 1.0], array.shape))
    return [known[array.shape, array.tobytes()] for array in arrays]


def _limited(f, allowed):
    """f, for so many evaluations."""
    left = allowed

    def function(*given):
        nonlocal left
        left -= 1
        if left < 0:
            raise _Costly
        return f(*given)

    return function


class Jumps:
    """Whether, and near which time, the right side jumps at a place that moves: looked for where it is first asked."""

    def __init__(self, name, f, arguments, steps, solve, evaluations):
        self.name, self.f, self.arguments, self.steps, self.solve = name, f, arguments, steps, solve
        self.allowed = max(_TIMES * evaluations, _EVALUATIONS)
        self.evaluations, self.at, self._found = evaluations, None, None

    def moving(self):
        """True if it does."""
        if self._found is None:
            self._found = False
            try:
                with np.errstate(all="ignore"):
                    self._found = self._look()
            except (ArithmeticError, ValueError, LookupError):  # the right side has no value somewhere near
                pass
            self.steps = None
        return self._found

    def _look(self):
        stretches = [] if self.steps is None else self.steps.stretches()
        if not stretches:
            return False
        with solving(self.name, self.f, self.arguments.raw()[1:]) as right_side:
            return self._look_into(stretches, right_side)

    def _look_into(self, stretches, right_side):
        arrays = [np.asarray(raw(t)) for t in self.arguments.tensors]
        states = self.steps.states() or _Solved(self.solve, stretches)
        left = min(max(self.evaluations // _PER, _FEW), _MANY)
        for first, last in stretches:
            found = self._jump(float(first), float(last), states, right_side)
            if found is None:
                left -= 1
                if not left:
                    return False
            elif self._moves(arrays, *found):
                self.at = found[1][0]
                return True
        return False

    def slope(self, t, y, rest):
        """The right side, raw."""
        return np.asarray(raw(self.f(t, y, *rest)))

    def _jump(self, first, last, y, right_side):
        """((how far it jumps, weights), (t, y) before, (t, y) after) of a jump in a stretch, or None."""
        begin, length = y[first], last - first
        if not length or not np.all(np.isfinite(begin)):
            return None

        def at(u):
            return first + u * length, begin + u * (y[last] - begin)

        us = np.linspace(0.0, 1.0, _PIECES + 1)
        values = np.asarray([right_side(*at(u)) for u in us])
        weight = 1.0 / (np.max(np.abs(values), axis=0) + 1e-300)
        sizes = np.max(np.abs(np.diff(values, axis=0)) * weight, axis=1)
        i = int(np.argmax(sizes))
        if not sizes[i] > _OUT * np.partition(sizes, -2)[-2]:
            return None
        lower, upper, below, above = us[i], us[i + 1], values[i], values[i + 1]
        history = [sizes[i]]
        smallest = max(4.0 * np.finfo(float).eps * max(abs(first), abs(last)) / abs(length), 2.0**-48)
        while upper - lower > smallest:
            middle = 0.5 * (lower + upper)
            value = np.asarray(right_side(*at(middle)))
            left, right = (float(np.max(np.abs(d) * weight)) for d in (value - below, above - value))
            if left >= right:
                upper, above = middle, value
            else:
                lower, below = middle, value
            history.append(max(left, right))
            if len(history) > _EARLY and not history[-1] > 0.25 * history[0]:
                return None
        if len(history) <= _LAST or not history[-1] > max(_LEFT * history[-_LAST], 1e-9):
            return None
        return (history[-1], weight), at(lower), at(upper)

    def _moves(self, arrays, size, before, after):
        """Whether a jump does not stay between two times while the solution and the arguments are moved."""
        size, weight = size
        moves, y = _moves(arrays), before[1]
        other = np.max(np.abs(y), initial=0.0) * np.random.default_rng(3).uniform(-1.0, 1.0, y.shape)
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            _, *rest = self.arguments.rebuilt([x + a * _MOVE * move for x, move in zip(arrays, moves, strict=True)])
            moved = y + b * _MOVE * other
            jump = np.abs(self.slope(after[0], moved, rest) - self.slope(before[0], moved, rest)) * weight
            if not float(np.max(jump)) > _LEFT * size:
                return True
        return False
