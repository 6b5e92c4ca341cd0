"""Initial value problems: SciPy's own solution, differentiated by the adjoints of `arraygrad.implicit`.

May import: arraygrad, adoption.exchange, core.tensor, implicit, transforms, scipy._declare, scipy._callbacks,
scipy.integrate._chapter, scipy.integrate._jumps, numpy, SciPy.
Source: Chen et al. (2018), "Neural ordinary differential equations"; Pontryagin et al. (1962).
"""

import inspect
import types

import numpy as np
from scipy import integrate

import arraygrad as ag
from arraygrad.adoption.exchange import without
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.collocation import Again, Evaluated, Stepped
from arraygrad.implicit.common import Arguments, Called, ConvergenceError, array_function, solving
from arraygrad.implicit.ivp import solve_ivp as implicit_ivp
from arraygrad.implicit.problems import _Root  # type: ignore[attr-defined]  # private: not in the stub
from arraygrad.scipy._callbacks import bound, lifted, plain, tracked
from arraygrad.scipy._declare import raw
from arraygrad.scipy.integrate._chapter import CHAPTER
from arraygrad.scipy.integrate._jumps import Checked, Jumps, Steps, direct_of, noted
from arraygrad.transforms.following import vjp

__all__ = []

ADJOINT = "continuous adjoint (Pontryagin et al. 1962)"
DISCRETE = f"discrete adjoint of RK23, RK45, DOP853 and of large states (Sandu 2006); {ADJOINT} of the others"
NAME = "scipy.integrate.solve_ivp (an event)"
DEFAULT, RELATIVE = 1.49012e-8, 1e-13  # tolerances of odeint; the smallest that SciPy's classes take
EVENT = 1e-3  # how far a step of Newton's method may move the time that SciPy found


def _initial(y0):
    y0 = ag.asarray(y0)
    return y0 if raw(y0).dtype.kind in "fc" else ag.astype(y0, ag.float64)


@CHAPTER.composition(
    "solve_ivp", "t_span y0 t_eval args", DISCRETE + "; events' times by the implicit function theorem"
)
def _solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False,
               args=None, **options):  # fmt: skip
    args = () if args is None else bound("scipy.integrate.solve_ivp", args)
    f, parameters = lifted("scipy.integrate.solve_ivp", fun, args)
    f, y0 = array_function(f), _initial(y0)
    if tracked(t_span[0]):  # what the solution is at the constant time: see `_step`
        y0 = _step(lambda t, y: ag.asarray(f(t, y, *parameters)), t_span[0], float(raw(t_span[0])), y0)
    arguments = Arguments((y0, *parameters))
    # SciPy solves on plain numbers, and its steps are noted where something is to be differentiated. Backward goes
    # through those very steps if they are known (`trajectory`), else by the adjoint equation with tighter tolerances
    # (`settings`). Where the right side jumps it is compared with differences (`jumps`). The dense solution and the
    # events are values at other times than result.t: they take a flow from the start.
    start, *rest = arguments.raw()
    start_time, end_time = (float(raw(t)) for t in t_span)
    jac = {"jac": plain(options.pop("jac"), Arguments(args).raw())} if "jac" in options else {}
    watched = [] if events is None else [_Event(e, args) for e in (events if _several(events) else (events,))]

    def solve(slope, method, t_eval, dense_output=False, events=None):
        return integrate.solve_ivp(slope, (start_time, end_time), start, method, t_eval, dense_output, events,
                                   vectorized, **options, **jac)  # fmt: skip

    def again(t):
        with solving("scipy.integrate.solve_ivp", f, rest) as slope:
            return solve(slope, method, t).y

    noting, steps, trajectory = (
        noted(method, start.size, start_time, start) if arguments.tensors else (method, None, None)
    )
    if vectorized:  # the right side takes columns there
        trajectory = None
    with solving("scipy.integrate.solve_ivp", f, rest) as slope:
        result = solve(slope, noting, raw(t_eval), dense_output, [event.plain for event in watched] or None)
    if dense_output and noting is not method:
        result.sol = _sided(result.sol, method)
    settings = {"method": method, "rtol": options.get("rtol", 1e-3) / 10.0, "atol": np.min(
        np.asarray(options.get("atol", 1e-6))) / 10.0}  # fmt: skip
    jumps = None if steps is None else Jumps(
        "scipy.integrate.solve_ivp", f, arguments, steps, again, result.nfev)  # fmt: skip
    largest = {key: options[key] for key in ("max_step",) if key in options}
    problem = Checked(f, (start_time, end_time, result.t), result, arguments, settings, jumps, trajectory, **largest)
    if np.size(result.t):
        result.y = arguments.attach(problem)
    flow = _Flow(f, start_time, y0, parameters, settings, jumps, trajectory, largest)
    last = result.t[-1] if result.status == 1 and t_eval is None else None
    if tracked((t_span, t_eval)) and np.size(result.t):
        states, result.t = np.asarray(raw(result.y)), _reported(t_span, t_eval, result)
        if tracked(result.t):
            result.y = flow.along(result.t, states)
    if dense_output:
        result.sol = _Dense(result.sol, problem, flow)
    if watched:
        found = [
            event.recorded(np.asarray(times), np.asarray(states), flow)
            for event, times, states in zip(watched, result.t_events, result.y_events, strict=True)
        ]
        ended = [i for i, times in enumerate(result.t_events) if last is not None and len(times) and times[-1] == last]
        result.t_events, result.y_events = ([one[i] for one in found] for i in (0, 1))
        if ended and arguments.any_tensor:
            # The last of the times is where the event stopped the solver: it moves with what the event depends on.
            times, states = (ag.asarray(one) for one in found[ended[0]])
            result.t = ag.concat([ag.asarray(result.t[:-1]), times[-1:]])
            result.y = ag.concat([result.y[:, :-1], ag.matrix_transpose(states[-1:, :])], axis=1)
    return result


def _reported(t_span, t_eval, result):
    """The times of a result, recorded where they are times that were given; between them are the solver's own steps."""
    if t_eval is not None:
        return ag.asarray(t_eval, dtype=float)[: len(result.t)] if tracked(t_eval) else result.t
    ends = [
        ag.reshape(ag.asarray(t, dtype=float), (1,)) if tracked(t) and float(raw(t)) == at else [at]
        for t, at in zip(t_span, result.t[[0, -1]], strict=True)
    ]
    if len(result.t) < 2 or not tracked(ends):
        return result.t
    return ag.concat([ag.asarray(part) for part in (ends[0], result.t[1:-1], ends[1])])


def _step(rate, start, end, y):
    """y at `end` where it is y at `start`, which is the same time: a step of length zero by a Runge-Kutta method.

    It is of order four, so derivatives by these times are exact to the fourth.
    """
    h = end - start
    first = rate(start, y)
    second = rate(start + h / 2, y + h / 2 * first)
    third = rate(start + h / 2, y + h / 2 * second)
    fourth = rate(start + h, y + h * third)
    return y + h / 6 * (first + 2.0 * second + 2.0 * third + fourth)


def _several(events):
    return isinstance(events, (list, tuple))


def _sided(solution, method):
    """SciPy's interpolant as its own solver has it: at an end of a step, that of the step before or after."""
    other = method in ("BDF", "LSODA", integrate.BDF, integrate.LSODA)
    if other and "alt_segment" in inspect.signature(integrate.OdeSolution).parameters:
        return integrate.OdeSolution(solution.ts, solution.interpolants, alt_segment=True)
    return solution


class _Flow:
    """The solution at a time that is itself differentiated."""

    def __init__(self, f, start, y0, parameters, settings, jumps, trajectory, options):
        self.f, self.start, self.y0, self.parameters, self.settings = f, start, y0, tuple(parameters), settings
        self.jumps, self.trajectory, self.options = jumps, trajectory, options
        self.arguments = Arguments((y0, *parameters))

    def at(self, t, y0=None, parameters=None):
        """y(t), recorded to any order: a problem over the unit interval with scaled slopes."""
        f, start = self.f, self.start
        y0 = self.y0 if y0 is None else y0
        parameters = self.parameters if parameters is None else parameters

        def slope(s, y, t, *values):
            length = t - start
            return length * f(start + s * length, y, *values)

        return implicit_ivp(slope, (0.0, 1.0), y0, (t, *parameters), **self.settings).y[:, -1]

    def along(self, t, states):
        """y(t) (n, m) for times (m,), whose values are known."""
        arguments = Arguments((t, self.y0, *self.parameters))
        return arguments.attach(_Along(self, arguments, states))

    def problem(self, times, states):
        """The problem whose solution is known at constant times, in their order."""
        solution = types.SimpleNamespace(t=times, y=states)
        end = max(times, key=lambda t: abs(t - self.start))
        return Checked(self.f, (self.start, end, times), solution, self.arguments, self.settings, self.jumps,
                       self.trajectory, **self.options)  # fmt: skip


class _Along:
    """The solution at differentiated times, as the node of its Tensor sees it."""

    def __init__(self, flow, arguments, states):
        self.flow, self.arguments, self.solution = flow, arguments, states

    def pull(self, g, y, arrays):
        """Gradients of (times, y0, *parameters): the slope there, and the adjoint problem of constant times."""
        flow, arguments = self.flow, self.arguments
        if isinstance(y, Tensor):  # to be differentiated again

            def whole(*tensors):
                t, y0, *parameters = arguments.rebuilt(tensors)
                return ag.stack([flow.at(t[i], y0, parameters) for i in range(t.shape[0])], axis=1)

            return list(vjp(whole, *arrays)[1](g))
        t, _, *parameters = arguments.rebuilt(arrays)
        t, found = np.asarray(t), []
        if 0 in arguments.positions():
            slopes = [np.asarray(raw(flow.f(float(t[j]), y[:, j], *parameters))) for j in range(t.size)]
            found.append(np.array([
                np.real(np.vdot(slope, g[:, j])) for j, slope in enumerate(slopes)], dtype=t.dtype))  # fmt: skip
        rest = arrays[len(found) :]
        if rest:
            order = np.argsort(np.abs(t - flow.start), kind="stable")
            problem = flow.problem(t[order], np.ascontiguousarray(y[:, order]))
            found.extend(problem.pull(np.ascontiguousarray(g[:, order]), problem.solution, rest))
        return found


class _Dense:
    """The solution at any time: SciPy's interpolant, with gradients of what it depends on."""

    def __init__(self, interpolant, problem, flow):
        self.interpolant, self._problem, self._flow = interpolant, problem, flow

    def __getattr__(self, name):
        return getattr(self.__dict__["interpolant"], name)

    def __call__(self, t):
        if tracked(t):
            t = ag.asarray(t)
            flat = ag.reshape(t, (-1,))
            found = self._flow.along(flat, np.asarray(self.interpolant(raw(flat))))
            return found if t.ndim else found[:, 0]
        times = np.asarray(raw(t), dtype=float)
        flat = np.atleast_1d(times)
        order = np.argsort(flat, kind="stable")
        if self._problem.times[1] < self._problem.times[0]:
            order = order[::-1]
        solution = types.SimpleNamespace(t=flat[order], y=np.asarray(self.interpolant(flat[order])))
        whole = self._problem
        problem = Checked(whole.f, (*whole.times[:2], solution.t), solution, whole.arguments, whole.settings,
                          whole.jumps, whole.trajectory, **whole.options)  # fmt: skip
        found = ag.take(ag.asarray(whole.arguments.attach(problem)), np.argsort(order), axis=1)
        return found if times.ndim else found[:, 0]


class _Event:
    """An event of solve_ivp, and its times by the implicit function theorem."""

    def __init__(self, event, args):
        self.f, self.parameters = lifted("scipy.integrate.solve_ivp", event, args)
        values = [raw(p) for p in self.parameters]
        self.plain = lambda t, y, *_: float(np.asarray(raw(self.f(t, y, *values))).reshape(()))
        for name in ("terminal", "direction"):
            if hasattr(event, name):
                setattr(self.plain, name, getattr(event, name))

    def recorded(self, times, states, flow):
        """(times, solutions at them)."""
        if not len(times):
            return times, np.zeros((0, 0))
        arguments = Arguments((flow.y0, *flow.parameters, *self.parameters))
        t = arguments.attach(_Times(self, flow, arguments, times, states))
        return t, ag.matrix_transpose(ag.asarray(flow.along(t, np.ascontiguousarray(states.T))))


class _Times:
    """The times of an event, as the node of their Tensor sees them: where event(t, y(t)) is zero."""

    def __init__(self, event, flow, arguments, times, states):
        self.event, self.flow, self.arguments, self.solution, self.states = event, flow, arguments, times, states
        self.own = Arguments(event.parameters)
        self.name = Called(NAME)

    def pull(self, g, t, arrays):
        """Gradients of (y0, *parameters, *parameters of the event)."""
        if isinstance(t, Tensor):  # to be differentiated again
            parts = [self._root(float(raw(t[j]))).pull(g[j], t[j], arrays) for j in range(t.shape[0])]
            return [sum(terms[1:], terms[0]) for terms in zip(*parts, strict=True)]
        flow, known = self.flow, self.own
        count = len(arrays) - len(known.tensors)
        _, *values = self.arguments.rebuilt(arrays)
        values = values[: len(flow.parameters)]
        of_states, of_event = np.zeros_like(self.states.T), [np.zeros_like(a) for a in arrays[count:]]

        def at(t, y, *own):
            return ag.reshape(ag.asarray(self.event.f(t, y, *known.rebuilt(own))), ())

        for j, time in enumerate(t):
            y = self.states[j]
            value, back = vjp(at, np.asarray(time), y, *arrays[count:])
            by_t, by_y, *by_event = (np.asarray(raw(part)) for part in back(np.ones(())))
            slope = np.asarray(raw(flow.f(float(time), y, *values)))
            rate = float(by_t) + float(np.real(np.sum(np.conj(by_y) * slope)))
            self._check(float(raw(value)), rate, float(time))
            weight = -g[j] / rate
            of_states[:, j] = weight * by_y
            of_event = [known + weight * part for known, part in zip(of_event, by_event, strict=True)]
        found = []
        if count:
            problem = flow.problem(np.asarray(t, dtype=float), np.ascontiguousarray(self.states.T))
            found = list(problem.pull(of_states, problem.solution, arrays[:count]))
        return [*found, *of_event]

    def _check(self, value, rate, time):
        if rate == 0.0:
            raise np.linalg.LinAlgError(
                f"{self.name}: it touches zero at t = {time:g} without crossing it, so its time is no function with a "
                "derivative of the arguments there"
            )
        if not abs(value / rate) <= EVENT * (1.0 + abs(time)):
            raise ConvergenceError(
                f"{self.name}: the solver's result is no solution: Newton's method would move t = {time:g} by "
                f"{abs(value / rate):.3g}, which is more than {EVENT:g} allows. Solve to a smaller tolerance"
            )

    def _root(self, time):
        flow, event, count = self.flow, self.event, len(self.flow.parameters)

        def residual(t, y0, *values):
            y = flow.at(t, y0, values[:count])
            return ag.reshape(ag.asarray(event.f(t, y, *values[count:])), ())

        return _Root(self.name, residual, np.asarray(time), self.arguments, None, EVENT)


@CHAPTER.composition("odeint", "y0 t args", ADJOINT)
def _odeint(func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None,
            tcrit=None, h0=0.0, hmax=0.0, hmin=0.0, ixpr=0, mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0,
            tfirst=False):  # fmt: skip
    theirs = None if Dfun is None else plain(Dfun, Arguments(bound("scipy.integrate.odeint", args)).raw())
    slope = func if tfirst else _swapped(func)
    if tracked(t):
        repeated = _is_again(np.asarray(raw(t), dtype=float))
        if repeated.any():
            options = {"col_deriv": col_deriv, "full_output": full_output, "ml": ml, "mu": mu, "rtol": rtol,
                       "atol": atol, "tcrit": tcrit, "h0": h0, "hmax": hmax, "hmin": hmin, "ixpr": ixpr,
                       "mxstep": mxstep, "mxhnil": mxhnil, "mxordn": mxordn, "mxords": mxords,
                       "printmessg": printmessg}  # fmt: skip
            return _at_times_again(slope, y0, t, args, repeated, options)
        slope, args, theirs = _timed(slope, np.asarray(raw(t), dtype=float)), (*args, t), None
    given, parameters = lifted("scipy.integrate.odeint", slope, args)
    f, y0 = array_function(given), _initial(y0)
    arguments = Arguments((y0, *parameters))
    start, *rest = arguments.raw()
    times = np.asarray(raw(t), dtype=float)
    steps = Steps(start.size, times[0], start, times[-1] - times[0]) if arguments.tensors and times.size > 1 else None
    numbers = all(one is None or np.ndim(one) == 0 for one in (rtol, atol))
    stepped = steps is not None and Stepped.is_for(start.size) and numbers and tcrit is None and not tracked(t)

    def again(at):
        """The solution (n, m) at other times, in their order: the first is that of the initial values."""
        at = np.concatenate([times[:1], at])
        with solving("scipy.integrate.odeint", f, rest) as right_side:
            if steps is not None and steps.bare:  # its results were looked at
                function, order, further, changed, bare = direct_of(right_side, times[0], start)
                if bare and changed is None:
                    return np.asarray(without(solve, (function, at, 0, order, further), {})).T[:, 1:]
            return np.asarray(solve(right_side, at, 0)).T[:, 1:]

    def solve(slope, times, full_output, order=True, args=()):
        def jacobian(a, b, *_):
            return theirs(a, b) if order == bool(tfirst) else theirs(b, a)

        Dfun = None if theirs is None else jacobian
        return integrate.odeint(
            slope, start, times, args, Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr,
            mxstep, mxhnil, mxordn, mxords, printmessg, order,
        )  # fmt: skip

    with solving("scipy.integrate.odeint", f, rest) as right_side:
        noted = steps is not None and not stepped
        found = _evaluated(steps, right_side, times, solve) if noted else solve(right_side, times, full_output)
    values, told = found if full_output or noted else (found, {})
    result = types.SimpleNamespace(t=times, y=np.ascontiguousarray(values.T))
    settings = {"method": "LSODA", "rtol": 1e-8 if rtol is None else float(np.min(rtol)),
                "atol": 1e-8 if atol is None else float(np.min(atol))}  # fmt: skip
    jumps = None
    if steps is not None:
        jumps = Jumps("scipy.integrate.odeint", f, arguments, steps, again, steps.evaluations)
    # A slope in differentiated times has corners at them: its derivative there is that of neither side, and collocation
    # reads the slope where steps end. The adjoint equation is integrated between the times then.
    solution = None
    if noted and not tracked(t):
        adams = "nje" in told and not np.any(told["nje"])  # Newton's method leaves no slopes that fit the values
        solution = Evaluated(steps.points, start, again) if adams else Again(steps.times, start, again)
    if stepped:

        def take(cls):
            with solving("scipy.integrate.odeint", f, rest) as right_side:
                solver = cls(
                    right_side, times[0], start, times[-1], max_step=abs(hmax) or np.inf, min_step=abs(hmin),
                    first_step=min(abs(h0), abs(times[-1] - times[0])) or None,
                    rtol=max(DEFAULT if rtol is None else float(rtol), RELATIVE),
                    atol=DEFAULT if atol is None else float(atol),
                )  # fmt: skip
                while solver.status == "running":
                    solver.step()
            jumps.evaluations = solver.nfev
            if solver.status == "failed":
                solution.times = []  # the adjoint equation is integrated

        solution = steps.solution = Stepped(start, take, steps.add)
    problem = Checked(f, (times[0], times[-1], times), result, arguments, settings, jumps, solution)
    y = ag.matrix_transpose(arguments.attach(problem))
    return (y, told) if full_output else y


def _evaluated(steps, right_side, times, solve):
    """What odeint gives, with full output; evaluations of the right side are noted in `steps`."""
    slope, order, args = steps.noting(right_side)
    try:
        given = (slope, times, True, order, args)
        # What it makes of numbers are NumPy's own arrays there, which take a tenth of the time.
        found = without(solve, given, {}) if steps.bare else solve(*given)
    except Exception:  # looked at below
        found = None
    if found is None or not steps.plain():
        slope, order, args = steps.noting(right_side, directly=False)
        found = solve(slope, times, True, order, args)
    return found


def _is_again(times):
    """Which times are the one before."""
    return np.append(False, times[1:] == times[:-1]) if times.ndim == 1 and times.size else np.zeros(1, bool)


def _at_times_again(slope, y0, t, args, repeated, options):
    """odeint in differentiated times of which some are the one before: `repeated` (m,) says which.

    The solution there is that before, and its derivatives by the time are those of a `_step`.
    """
    t, places = ag.asarray(t), np.flatnonzero(~repeated)
    found = _odeint(slope, y0, ag.take(t, places), args, tfirst=True, **options)
    found, told = found if options["full_output"] else (found, None)
    rows = iter(ag.unstack(found, axis=0))

    def rate(t, y):
        return ag.asarray(slope(t, y, *args))

    states = []
    for i, is_repeated in enumerate(repeated):
        if is_repeated:
            states.append(_step(rate, t[i - 1], t[i], states[-1]))
        else:
            states.append(next(rows))
    y = ag.stack(states, axis=0)
    return (y, told) if options["full_output"] else y


def _timed(func, times):
    """The slope in a time of which the reported times are constants, with these times as the last parameter.

    Between them t is linear in it, so that it is t itself, but for the derivative.
    """
    sign = 1.0 if times[-1] >= times[0] else -1.0

    def slope(tau, y, *args):
        *args, t = args
        i = int(np.clip(np.searchsorted(sign * times, sign * float(raw(tau)), side="right") - 1, 0, times.size - 2))
        width = times[i + 1] - times[i]
        rate = (t[i + 1] - t[i]) / width if width else 1.0
        found = func(t[i] + (tau - times[i]) * rate, y, *args)
        return (ag.asarray(found) if isinstance(found, (list, tuple)) else found) * rate

    return slope


def _swapped(func):
    def slope(t, y, *args):
        return func(y, t, *args)

    slope.__name__ = getattr(func, "__name__", "func")
    slope.of_swapped = func
    return slope
