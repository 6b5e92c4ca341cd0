"""Initial value problems: SciPy's own solution, differentiated by the continuous adjoint of `arraygrad.implicit`.

May import: arraygrad, implicit, scipy._declare, scipy._callbacks, scipy.integrate._chapter, numpy, SciPy. Source: Chen
et al. (2018), "Neural ordinary differential equations"; Pontryagin et al. (1962).
"""

import types

import numpy as np
from scipy import integrate

import arraygrad as ag
from arraygrad.implicit.common import Arguments, array_function, raw_function
from arraygrad.implicit.ivp import _Problem
from arraygrad.implicit.ivp import solve_ivp as implicit_ivp
from arraygrad.implicit.problems import _Root  # type: ignore[attr-defined]  # private: not in the stub
from arraygrad.scipy._callbacks import lifted, plain, tracked
from arraygrad.scipy._declare import raw
from arraygrad.scipy.integrate._chapter import CHAPTER

__all__ = []

ADJOINT = "continuous adjoint (Pontryagin et al. 1962)"
EVENT = 1e-3  # how far a step of Newton's method may move the time that SciPy found


def _initial(y0):
    y0 = ag.asarray(y0)
    return y0 if raw(y0).dtype.kind == "f" else ag.astype(y0, ag.float64)


@CHAPTER.composition("solve_ivp", "y0 args", ADJOINT + "; events' times by the implicit function theorem")
def _solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False,
               args=None, **options):  # fmt: skip
    if tracked((t_span, t_eval)):
        raise TypeError(
            "arraygrad.scipy.integrate.solve_ivp: times require grad, but have no derivative here: solve over a scaled "
            "time, with the length of the interval among args"
        )
    f, parameters = lifted(fun, () if args is None else args)
    f, y0 = array_function(f), _initial(y0)
    arguments = Arguments((y0, *parameters))
    start, *rest = arguments.raw()
    start_time, end_time = (float(raw(t)) for t in t_span)
    given = len(() if args is None else args)
    jac = {"jac": plain(options.pop("jac"), rest[:given])} if "jac" in options else {}  # what was lifted is fun's alone
    watched = [] if events is None else [_Event(e, args) for e in (events if _several(events) else (events,))]
    result = integrate.solve_ivp(
        lambda t, y: raw_function("scipy.integrate.solve_ivp", lambda y: f(t, y, *rest), ())(y), (start_time, end_time),
        start, method, raw(t_eval), dense_output, [event.plain for event in watched] or None, vectorized, **options,
        **jac,
    )  # fmt: skip
    settings = {"method": method, "rtol": options.get("rtol", 1e-3) / 10.0, "atol": np.min(
        np.asarray(options.get("atol", 1e-6))) / 10.0}  # fmt: skip
    problem = _Problem(f, (start_time, end_time, result.t), result, arguments, settings)
    result.y = arguments.attach(problem)
    flow = _Flow(f, start_time, y0, parameters, settings)
    if dense_output:
        result.sol = _Dense(result.sol, problem, flow)
    if watched:
        found = [event.recorded(times, flow) for event, times in zip(watched, result.t_events, strict=True)]
        result.t_events, result.y_events = ([one[i] for one in found] for i in (0, 1))
    return result


def _several(events):
    return isinstance(events, (list, tuple))


class _Flow:
    """The solution at a time that is itself differentiated: a problem over the unit interval with scaled slopes."""

    def __init__(self, f, start, y0, parameters, settings):
        self.f, self.start, self.y0, self.parameters, self.settings = f, start, y0, tuple(parameters), settings

    def at(self, t, y0=None, parameters=None):
        """y(t)."""
        f, start = self.f, self.start
        y0 = self.y0 if y0 is None else y0
        parameters = self.parameters if parameters is None else parameters

        def slope(s, y, t, *values):
            length = t - start
            return length * f(start + s * length, y, *values)

        return implicit_ivp(slope, (0.0, 1.0), y0, (t, *parameters), **self.settings).y[:, -1]


class _Dense:
    """The solution at any time: SciPy's interpolant for constant times, with gradients of what it depends on."""

    def __init__(self, interpolant, problem, flow):
        self.interpolant, self._problem, self._flow = interpolant, problem, flow

    def __getattr__(self, name):
        return getattr(self.__dict__["interpolant"], name)

    def __call__(self, t):
        if tracked(t):
            t = ag.asarray(t)
            if t.ndim == 0:
                return self._flow.at(t)
            return ag.stack([self._flow.at(t[i]) for i in range(t.shape[0])], axis=1)
        times = np.asarray(raw(t), dtype=float)
        flat = np.atleast_1d(times)
        order = np.argsort(flat, kind="stable")
        if self._problem.times[1] < self._problem.times[0]:
            order = order[::-1]
        solution = types.SimpleNamespace(t=flat[order], y=np.asarray(self.interpolant(flat[order])))
        whole = self._problem
        problem = _Problem(whole.f, (*whole.times[:2], solution.t), solution, whole.arguments, whole.settings)
        found = ag.take(ag.asarray(whole.arguments.attach(problem)), np.argsort(order), axis=1)
        return found if times.ndim else found[:, 0]


class _Event:
    """An event of solve_ivp, and its times by the implicit function theorem."""

    def __init__(self, event, args):
        self.f, self.parameters = lifted(event, () if args is None else args)
        values = [raw(p) for p in self.parameters]
        self.plain = lambda t, y, *_: float(np.asarray(raw(self.f(t, y, *values))).reshape(()))
        for name in ("terminal", "direction"):
            if hasattr(event, name):
                setattr(self.plain, name, getattr(event, name))

    def recorded(self, times, flow):
        """(times, solutions at them)."""
        if not len(times):
            return times, np.zeros((0, 0))
        count = len(flow.parameters)
        given = (flow.y0, *flow.parameters, *self.parameters)

        def residual(t, y0, *values):
            y = flow.at(t, y0, values[:count])
            return ag.reshape(ag.asarray(self.f(t, y, *values[count:])), ())

        found = []
        for t in times:
            arguments = Arguments(given)
            root = _Root("scipy.integrate.solve_ivp (an event)", residual, np.asarray(t), arguments, None, EVENT)
            found.append(arguments.attach(root))
        return ag.stack([ag.asarray(t) for t in found]), ag.stack([flow.at(t) for t in found])


@CHAPTER.composition("odeint", "y0 t args", ADJOINT)
def _odeint(func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None,
            tcrit=None, h0=0.0, hmax=0.0, hmin=0.0, ixpr=0, mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0,
            tfirst=False):  # fmt: skip
    if Dfun is not None:
        Dfun = plain(Dfun)
    slope = func if tfirst else _swapped(func)
    if tracked(t):
        slope, args, Dfun = _timed(slope, np.asarray(raw(t), dtype=float)), (*args, t), None
    given, parameters = lifted(slope, args)
    f, y0 = array_function(given), _initial(y0)
    arguments = Arguments((y0, *parameters))
    start, *rest = arguments.raw()
    times = np.asarray(raw(t), dtype=float)
    found = integrate.odeint(
        lambda t, y: raw_function("scipy.integrate.odeint", lambda y: f(t, y, *rest), ())(y), start, times, (), Dfun,
        col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr, mxstep, mxhnil, mxordn, mxords,
        printmessg, True,
    )  # fmt: skip
    values = found[0] if full_output else found
    result = types.SimpleNamespace(t=times, y=np.ascontiguousarray(values.T))
    settings = {"method": "LSODA", "rtol": 1e-8 if rtol is None else float(np.min(rtol)),
                "atol": 1e-8 if atol is None else float(np.min(atol))}  # fmt: skip
    problem = _Problem(f, (times[0], times[-1], times), result, arguments, settings)
    y = ag.matrix_transpose(arguments.attach(problem))
    return (y, found[1]) if full_output else y


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
    return slope
