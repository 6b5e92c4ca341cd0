"""Initial value problems of ordinary differential equations, differentiated by their adjoint.

May import: implicit.collocation, implicit.common, implicit.lifting, implicit.runge_kutta, implicit.stores,
transforms.tracked_call, core.containers, transforms, numpy; scipy inside functions.

The steps of explicit Runge-Kutta methods are differentiated themselves (runge_kutta.py). For other methods the adjoint
equation is solved on the steps that the solver took (collocation.py), or, where these do not serve, integrated here.
Along the solution of y' = f(t, y, a) the gradient of a result by y(t), called p, satisfies p' = -(df/dy)^T p, and the
gradient by a grows by p^T df/da. Both are integrated backwards from one requested time to the one before, starting from
the solution there, with the same method and tolerances; at each requested time its gradient is added to p. The backward
problem is itself solved by `solve_ivp`: gradients of gradients come from its own adjoint.
"""

from __future__ import annotations

import math

import numpy

from arraygrad.core.constructors import asarray
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.collocation import noting
from arraygrad.implicit.common import Arguments, ConvergenceError, array_function, namespace_of, raw, solving
from arraygrad.implicit.lifting import lifted
from arraygrad.implicit.runge_kutta import recording
from arraygrad.implicit.stores import watching
from arraygrad.transforms.following import vjp
from arraygrad.transforms.tracked_call import function_name, meta_of

__all__ = ["solve_ivp"]

_NAME = "implicit.solve_ivp"


def solve_ivp(f, t_span, y0, args=(), *, t_eval=None, method="DOP853", rtol=1e-9, atol=1e-9, **options):
    """scipy.integrate.solve_ivp, differentiable in the initial values and the arguments.

    Parameters
    ----------
    f : callable
        `f(t, y, *args)`: dy/dt, of the shape (n,) of y, or a list of its n values. What its derivatives are wanted for
        is an argument, or is read besides: in its closure, an attribute of its object, a list, a global.
    t_span : pair of float
        First and last time.
    y0 : array or Tensor (n,)
        Initial values, real.
    args : tuple
        Further arguments of f: arrays, floats, Tensors or containers of them.
    t_eval : array_like of float (m,), optional
        Times of the solution to return, sorted from the first to the last; by default the last one alone. (SciPy's
        default, its own steps, depends on the values in a way that has no derivative.)
    method : str
        As in SciPy; "Radau", "BDF" or "LSODA" for stiff problems.
    rtol, atol : float
        As in SciPy, of the gradients too. Gradients are as good as both solutions: keep them small.
    **options
        `first_step`, `max_step`, `jac`, ... are passed on to SciPy for the forward solution; `events`, `dense_output`
        and `vectorized` are not taken.

    Returns
    -------
    scipy's OdeResult
        `t` (m,), and `y` (n, m), a Tensor if y0 or any of `args` is one; `nfev`, `status`, `message` and so on.

    Raises
    ------
    ConvergenceError
        If the solver fails; in backward, if it fails for the adjoint problem.
    TypeError
        If y0 is no real array, a time is a Tensor that requires grad, an option is not taken, or `f` depends on a
        Tensor that is not among its arguments.
    ValueError
        If the shapes of y0 or t_eval do not fit, or t_eval leaves t_span or is not sorted.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> decay = lambda rate: ag.implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), np.ones(1), (rate,)).y[0, 0]
    >>> round(float(ag.grad(decay)(2.0)), 6)        # d/dk exp(-k)
    -0.135335
    """
    refused = {"events", "dense_output", "vectorized"}.intersection(options)
    if refused:
        raise TypeError(
            f"{_NAME}: {', '.join(sorted(refused))} is not taken here: arraygrad.scipy.integrate.solve_ivp takes what "
            "SciPy's does, events and dense_output too, and is differentiated"
        )
    return _solve(f, t_span, _initial(y0), args, t_eval, {"method": method, "rtol": rtol, "atol": atol}, options)


def _solve(f, t_span, y0, args, t_eval, settings, options):
    """The same for initial values that may be complex, as those of an adjoint problem."""
    f = array_function(f)
    times = _times(t_span, t_eval)
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"{_NAME}: args must be a tuple of the arguments after y, as in (k,), got {type(args).__name__}"
        )
    given = f
    f, args = lifted(_NAME, f, args)
    arguments = Arguments((y0, *args))
    y0_raw, *rest = arguments.raw()
    with watching(_NAME, (given,), arguments.tensors):
        method, trajectory = noted(settings["method"]) if arguments.tensors else (settings["method"], None)
        options = {**settings, "method": method, **options}
        result = _integrate(f, times, t_eval is not None, y0_raw, rest, options)
    problem = _Problem(f, times, result, arguments, settings, trajectory, y0_raw.dtype)
    result.y = arguments.attach(problem)
    return result


def noted(method, beside=None):
    """(a class of SciPy's solvers that notes its steps, what has them then); (method, None) for an unknown one.

    `beside(t, y)` is told them as well.
    """
    found = recording(method, beside)
    return noting(method, beside) if found[1] is None else found


class _Problem:
    """A solved initial value problem as the node of its solution sees it.

    `trajectory` has the steps of the solver, None where they were not noted; `dtype` is what f is given states in, None
    for what SciPy gives it.
    """

    def __init__(self, f, times, result, arguments, settings, trajectory=None, dtype=None):
        self.trajectory, self.dtype = trajectory, dtype
        self.f = f
        self.times = times
        self.solution = result.y
        self.at = result.t
        self.arguments = arguments
        self.settings = settings

    def pull(self, g, y, arrays):
        """Gradients of (y0, *args): of the solver's steps, or the adjoint problem from the last time to the first."""
        if self.trajectory is not None and self.trajectory.serves(arrays):
            tolerance = float(numpy.min(self.settings["rtol"]))
            found = self.trajectory.pull(self.f, self.arguments, g, self.at, arrays, self.dtype, tolerance)
            if found is not None:
                return found
        xp = namespace_of(y)
        n = y.shape[0]
        differentiated = list(zip(self.arguments.positions(), arrays, strict=True))
        parameters = [array for position, array in differentiated if position != 0]
        sizes = [meta_of(a).size for a in parameters]
        adjoint = self._adjoint_equation(n)
        p = None  # gradient by y, just after time `upper`
        grown = [None] * len(parameters)
        stops = [float(t) for t in self.at]
        start = self.times[0]
        for k in range(len(stops) - 1, -1, -1):
            p = g[:, k] if p is None else p + g[:, k]
            lower = stops[k - 1] if k else start
            if lower == stops[k]:
                continue
            # Only the integral of p^T df/da is wanted of the third part, so each piece starts from zero.
            parts = [y[:, k], p]
            if sizes:
                parts.append(xp.zeros(sum(sizes), dtype=y.dtype))
            state = xp.concat(parts)
            end = _solve(adjoint, (stops[k], lower), state, tuple(parameters), None, self.settings, {}).y[:, -1]
            p = end[n : 2 * n]
            offset = 2 * n
            for i, (parameter, size) in enumerate(zip(parameters, sizes, strict=True)):
                piece = xp.reshape(end[offset : offset + size], tuple(parameter.shape))
                if meta_of(piece).is_complex and not meta_of(parameter).is_complex:
                    piece = xp.real(piece)
                grown[i] = piece if grown[i] is None else grown[i] + piece
                offset += size
        found = iter(grown)
        return [p if position == 0 else next(found) for position, _ in differentiated]

    def _adjoint_equation(self, n):
        """d/dt of (y, p, gradient of the parameters) as a function of (t, state, *parameters)."""
        f, arguments = self.f, self.arguments
        first = 0 in arguments.positions()

        def slope(t, state, *parameters):
            y, p = state[:n], state[n : 2 * n]
            sxp = namespace_of(state)

            def at(y, *parameters):
                arrays = (y, *parameters) if first else parameters
                _, *rest = arguments.rebuilt(arrays)
                return f(t, y, *rest)

            value, pull = vjp(at, y, *parameters)
            by_y, *by_parameters = pull(p)
            parts = [value, -by_y, *[-sxp.reshape(part, (-1,)) for part in by_parameters]]
            return sxp.concat([_same(part, state) for part in parts])

        return slope


def _integrate(f, times, at_times, y0, args, options):
    try:
        from scipy.integrate import solve_ivp as scipy_ivp
    except ImportError as error:
        raise ImportError(f"{_NAME} needs SciPy: pip install scipy") from error

    dtype, shape = y0.dtype, y0.shape
    with solving(_NAME, f, args) as right_side:

        def slope(t, y):
            value = right_side(t, y if y.dtype == dtype else y.astype(dtype))
            found = value.shape if isinstance(value, numpy.ndarray) else numpy.shape(value)
            if found != shape:
                raise ValueError(
                    f"{_NAME}: '{function_name(f)}' must return dy/dt of the shape of y0, {shape}, got {found}"
                )
            return value

        result = scipy_ivp(slope, (times[0], times[1]), y0, t_eval=times[2], **options)
    if not result.success:
        raise ConvergenceError(f"{_NAME}: the solver failed at t = {result.t[-1:]}: {result.message}")
    y = numpy.asarray(result.y, dtype=y0.dtype)
    if not numpy.all(numpy.isfinite(y)):
        raise ConvergenceError(f"{_NAME}: the solution is not finite")
    if not at_times:
        result.t, y = result.t[-1:], y[:, -1:]
    result.y = numpy.ascontiguousarray(y)
    return result


def _times(t_span, t_eval):
    for what, value in (("t_span", t_span), ("t_eval", t_eval)):
        leaves = value if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves):
            raise TypeError(
                f"{_NAME}: {what} requires grad, but times have no derivative here: solve over a scaled time, with the "
                "length of the interval among the arguments"
            )
    first, last = (float(raw(t)) for t in t_span)
    if not (math.isfinite(first) and math.isfinite(last)):
        raise ValueError(f"{_NAME}: t_span must be finite, got {t_span}")
    if t_eval is None:
        return first, last, None
    at = numpy.asarray(raw(t_eval), dtype=numpy.float64)
    if at.ndim != 1 or not at.size:
        raise ValueError(f"{_NAME}: t_eval must be one-dimensional with at least one time, got shape {at.shape}")
    steps = numpy.diff(at) * (1.0 if last >= first else -1.0)
    if numpy.any(steps <= 0.0) or min(at[0], at[-1]) < min(first, last) or max(at[0], at[-1]) > max(first, last):
        raise ValueError(f"{_NAME}: t_eval must be sorted from t_span[0] to t_span[1] and lie between them")
    return first, last, at


def _initial(y0):
    value = raw(y0)
    if isinstance(value, (list, tuple)):
        y0 = value = numpy.asarray(value, dtype=numpy.float64)
    if not isinstance(value, numpy.ndarray):
        raise TypeError(
            f"{_NAME}: y0 must be a list, an array of NumPy or a Tensor over one, as in [1.0], got "
            f"{type(value).__name__}"
        )
    if value.dtype.kind != "f":
        if value.dtype.kind == "c":
            raise TypeError(f"{_NAME}: y0 is complex: solve for the real and imaginary part instead")
        y0 = value.astype(numpy.float64)
    if value.ndim != 1:
        raise ValueError(f"{_NAME}: y0 must be one-dimensional, got shape {value.shape}")
    return y0


def _same(part, state):
    """`part` in the form of `state`: an array of its dtype; a derivative that is zero comes as a raw array."""
    if isinstance(state, Tensor):
        return part if isinstance(part, Tensor) else asarray(numpy.asarray(part, dtype=state.dtype))
    return numpy.asarray(raw(part), dtype=state.dtype)
