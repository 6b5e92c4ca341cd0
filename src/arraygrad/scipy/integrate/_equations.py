"""Initial value problems: SciPy's own solution, differentiated by the continuous adjoint of `arraygrad.implicit`.

May import: arraygrad, implicit, scipy._declare, scipy._callbacks, scipy.integrate._chapter, numpy, SciPy. Source: Chen
et al. (2018), "Neural ordinary differential equations"; Pontryagin et al. (1962).
"""

import types

import numpy as np
from scipy import integrate

import arraygrad as ag
from arraygrad.implicit.common import Arguments, raw_function
from arraygrad.implicit.ivp import _Problem
from arraygrad.scipy._callbacks import lifted, plain, tracked
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.integrate._chapter import CHAPTER

__all__ = []

ADJOINT = "continuous adjoint (Pontryagin et al. 1962)"


def _vector(f):
    """The slope as one array: SciPy takes lists, too."""

    def slope(t, y, *args):
        found = f(t, y, *args)
        return ag.asarray(found) if isinstance(found, (list, tuple)) and _has_tensor(found) else (
            np.asarray(found) if isinstance(found, (list, tuple)) else found)  # fmt: skip

    slope.__name__ = getattr(f, "__name__", "f")
    return slope


def _has_tensor(values):
    return any(isinstance(value, ag.Tensor) for value in values)


def _initial(y0):
    y0 = ag.asarray(y0)
    return y0 if raw(y0).dtype.kind == "f" else ag.astype(y0, ag.float64)


@CHAPTER.composition("solve_ivp", "y0 args", ADJOINT)
def _solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False,
               args=None, **options):  # fmt: skip
    if tracked((t_span, t_eval)):
        raise TypeError(
            "arraygrad.scipy.integrate.solve_ivp: times require grad, but have no derivative here: solve over a scaled "
            "time, with the length of the interval among args"
        )
    if dense_output or events is not None:
        raise NotDifferentiable(
            "arraygrad.scipy.integrate.solve_ivp: dense_output and events have no rule: ask for t_eval, or solve "
            "without gradients"
        )
    f, parameters = lifted(fun, () if args is None else args)
    f, y0 = _vector(f), _initial(y0)
    arguments = Arguments((y0, *parameters))
    start, *rest = arguments.raw()
    start_time, end_time = (float(raw(t)) for t in t_span)
    given = len(() if args is None else args)
    jac = {"jac": plain(options.pop("jac"), rest[:given])} if "jac" in options else {}  # what was lifted is fun's alone
    result = integrate.solve_ivp(
        lambda t, y: raw_function("scipy.integrate.solve_ivp", lambda y: f(t, y, *rest), ())(y), (start_time, end_time),
        start, method, raw(t_eval), vectorized=vectorized, **options, **jac,
    )  # fmt: skip
    settings = {"method": method, "rtol": options.get("rtol", 1e-3) / 10.0, "atol": np.min(
        np.asarray(options.get("atol", 1e-6))) / 10.0}  # fmt: skip
    problem = _Problem(f, (start_time, end_time, result.t), result, arguments, settings)
    result.y = arguments.attach(problem)
    result.pop("sol", None)
    return result


@CHAPTER.composition("odeint", "y0 args", ADJOINT)
def _odeint(func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None,
            tcrit=None, h0=0.0, hmax=0.0, hmin=0.0, ixpr=0, mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0,
            tfirst=False):  # fmt: skip
    if tracked(t):
        raise TypeError("arraygrad.scipy.integrate.odeint: t requires grad, but times have no derivative here")
    if Dfun is not None:
        Dfun = plain(Dfun)
    given, parameters = lifted(func if tfirst else _swapped(func), args)
    f, y0 = _vector(given), _initial(y0)
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


def _swapped(func):
    def slope(t, y, *args):
        return func(y, t, *args)

    slope.__name__ = getattr(func, "__name__", "func")
    return slope
