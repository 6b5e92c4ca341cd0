"""Minima, least squares and fits: the gradient is zero at the solution, or the solution lies at a bound.

May import: arraygrad, implicit, transforms, scipy._declare, scipy._values, scipy.optimize, numpy, SciPy. Which
bounds are active is taken as locally constant, as a minimiser strictly at a bound stays there.
"""

import inspect

import numpy as np
from scipy import optimize

import arraygrad as ag
from arraygrad.implicit.common import Arguments
from arraygrad.implicit.problems import _Root  # type: ignore[attr-defined]  # private: not in the stub
from arraygrad.scipy._callbacks import tracked
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable, helping
from arraygrad.scipy._values import at_value
from arraygrad.scipy.optimize._chapter import AT_BOUND, CHAPTER, IMPLICIT, TOLERANCE, Problem, recorded_result
from arraygrad.scipy.optimize._constrained import Constraints, multipliers, stationary
from arraygrad.transforms.following import grad, jacobian, vjp

__all__ = []

# Fields that say how the search went.
TIMES = ("execution_time",)


def _limits(bounds, shape):
    """(low, high) of the variables, as arrays or Tensors; None without bounds."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):
        pair = (bounds.lb, bounds.ub)
    else:
        pair = [
            [free if b[i] is None else b[i] for b in bounds] for i, free in ((0, -np.inf), (1, np.inf))
        ]  # fmt: skip
    return _spread(pair, shape)


def _spread(pair, shape):
    """A pair of bounds, each for all variables."""
    return tuple([
        ag.broadcast_to(ag.astype(ag.asarray(b), ag.float64), shape) if tracked((b,)) else
        np.broadcast_to(np.asarray(raw(b), dtype=float), shape)
        for b in pair
    ])  # fmt: skip


def _recorded(limits):
    """The bounds that a solution depends on: none of constants."""
    return limits if limits is not None and tracked(limits) else ()


class _Active:
    """Which elements of a solution are at a bound, and x minus that bound."""

    def __init__(self, x, limits, mask=None):
        self.mask, self.below, self.recorded = np.zeros(np.shape(x), dtype=bool), None, False
        if limits is None:
            return
        self.recorded = bool(_recorded(limits))
        self.low, self.high = (np.asarray(raw(b)) for b in limits)
        with np.errstate(invalid="ignore"):
            below = np.isfinite(self.low) & (np.abs(x - self.low) <= AT_BOUND * (1.0 + np.abs(self.low)))
            above = np.isfinite(self.high) & (np.abs(x - self.high) <= AT_BOUND * (1.0 + np.abs(self.high)))
        if mask is not None:  # what the solver itself says
            below, above = below | (mask < 0), above | (mask > 0)
        self.mask, self.below = below | above, below

    def residual(self, found, x, args):
        """`found`, the distance to the bound in its place where that is active."""
        if not np.any(self.mask):
            return found
        low, high = args[:2] if self.recorded else (self.low, self.high)
        low, high = (
            ag.where(np.asarray(here), b, 0.0) for here, b in ((self.below, low), (self.mask & ~self.below, high))
        )
        return ag.where(np.asarray(self.mask), x - low - high, found)


def _stationary(f, active):
    """The residual: the gradient, and x minus the bound where it is active."""

    def residual(x, *args):
        return active.residual(grad(f)(x, *args), x, args)

    return residual


@CHAPTER.composition("minimize", "args bounds constraints", IMPLICIT)
def _minimize(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
              callback=None, options=None):  # fmt: skip
    held = Constraints(constraints)
    limits = _limits(bounds, np.shape(np.atleast_1d(raw(x0))))
    f = (lambda *given: fun(*given)[0]) if jac is True else fun
    problem = Problem("minimize", f, args, _recorded(limits), start=x0)
    if jac is True:
        both = Problem("minimize", fun, args)
        function = lambda x: tuple(raw(part) for part in both.f(x, *both.plain))
    else:
        function = lambda x: np.asarray(problem.raw(x)).reshape(())[()]
    result = optimize.minimize(
        function, raw(x0), (), method, jac if jac is True or isinstance(jac, str) else problem.helper(jac),
        hess if isinstance(hess, str) else problem.helper(hess), problem.helper(hessp),
        None if limits is None else optimize.Bounds(*raw(limits)), held.plain, tol, problem.telling(callback),
        options,
    )  # fmt: skip
    scalar = lambda x, *args: ag.reshape(ag.asarray(problem.f(x, *args)), ())
    if held:
        x = _constrained(problem, limits, held, np.asarray(result.x, dtype=float))
        if x is None:
            return result
    else:
        x = problem.solution(result.x, _stationary(scalar, _Active(result.x, limits)))
    fun = ag.astype(ag.asarray(scalar(x, *problem.parameters)), np.asarray(result.fun).dtype)
    return recorded_result(result, kept=TIMES, x=x, fun=fun)


def _constrained(problem, limits, held, x):
    """The minimum of a problem under constraints, recorded; None where it depends on nothing that is followed."""
    parameters = (*problem.parameters, *held.parameters)
    if not tracked(parameters):
        return None
    arguments, own = Arguments(parameters), len(problem.parameters)

    def every(x, *args):
        value = ag.reshape(ag.asarray(problem.f(x, *args[:own])), (1,))
        return ag.concat([value, *held.values(x, args[own:])])

    at_bounds = _Active(x, limits)
    active, found, scales = multipliers(every, arguments.raw(), x, held, at_bounds.mask)
    residual = stationary(every, active, scales, at_bounds, x.size)
    root = _Root(problem.name, residual, np.concatenate([x, found]), arguments, None, TOLERANCE)
    return arguments.attach(root)[: x.size]


@CHAPTER.composition("minimize_scalar", "args bounds", IMPLICIT)
def _minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    limits = None if bounds is None else _spread(bounds, ())
    problem = Problem("minimize_scalar", fun, args, _recorded(limits))
    result = optimize.minimize_scalar(problem.raw, raw(bracket), raw(bounds), (), method, tol, options)
    x = np.asarray(result.x, dtype=float)
    side = None if limits is None else _side(problem, x, raw(limits))
    x = problem.solution(x, _stationary(problem.f, _Active(x, limits, side)))
    return recorded_result(result, x=x, fun=problem.f(x, *problem.parameters))


def _side(problem, x, limits):
    """-1 or 1 where the minimum is at the lower or upper bound, which the search by sections only approaches; else 0.

    The function falls towards that bound as far as the bound itself.
    """
    for side, bound in zip((-1, 1), limits, strict=True):
        if abs(x - bound) <= TOLERANCE * (1.0 + abs(bound)):
            slope = raw(grad(lambda x: problem.f(x, *problem.plain))(np.asarray(bound, dtype=float)))
            if side * slope < 0.0:
                return np.asarray(side)
    return np.asarray(0)


# -- least squares ----------------------------------------------------------------------------------------------------


def _normal_equations(f, active=None):
    """J^T r of the residuals f, and x minus the bound where it is active."""

    def residual(x, *args):
        value, pull = vjp(lambda x: f(x, *args), x)
        found = pull(value)[0]
        return found if active is None else active.residual(found, x, args)

    return residual


@CHAPTER.composition("least_squares", "args bounds", IMPLICIT)
def _least_squares(fun, x0, jac="2-point", bounds=(-np.inf, np.inf), method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8,
                   x_scale=None, loss="linear", f_scale=1.0, diff_step=None, tr_solver=None, tr_options=None,
                   jac_sparsity=None, max_nfev=None, verbose=0, args=(), kwargs=None, **further):  # fmt: skip
    if loss != "linear":
        raise NotDifferentiable(f"arraygrad.scipy.optimize.least_squares: loss={loss!r} has no rule")
    f = fun if not kwargs else (lambda x, *args: fun(x, *args, **kwargs))
    limits = _spread((bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds, np.shape(np.atleast_1d(raw(x0))))
    problem = Problem("least_squares", f, args, _recorded(limits), lists=True, start=(x0, x_scale))
    bounds = tuple(raw(limits))
    options = {} if x_scale is None else {"x_scale": raw(x_scale)}
    if "callback" in further:
        further["callback"] = problem.telling(further["callback"])
    result = optimize.least_squares(
        problem.raw, raw(x0), jac if isinstance(jac, str) else problem.helper(jac), bounds, method, ftol, xtol, gtol,
        diff_step=diff_step, tr_solver=tr_solver, tr_options=tr_options or {}, jac_sparsity=helping(jac_sparsity),
        max_nfev=max_nfev, verbose=verbose, **options, **further,
    )  # fmt: skip
    x = problem.solution(result.x, _normal_equations(problem.f, _Active(result.x, limits, result.active_mask)))
    value = problem.f(x, *problem.parameters)
    cost = 0.5 * ag.sum(ag.asarray(value) ** 2)
    return recorded_result(result, kept=("active_mask",), x=x, fun=value, cost=cost)


@CHAPTER.composition("leastsq", "args", IMPLICIT)
def _leastsq(func, x0, args=(), Dfun=None, full_output=False, **options):
    if full_output:
        raise NotDifferentiable("arraygrad.scipy.optimize.leastsq: full_output has no rule; use least_squares")
    problem = Problem("leastsq", func, args, lists=True, start=x0)
    x, flag = optimize.leastsq(problem.raw, raw(x0), (), problem.helper(Dfun), False, **options)
    return problem.solution(x, _normal_equations(problem.f)), flag


@CHAPTER.composition("curve_fit", "xdata ydata sigma", IMPLICIT)
def _curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None,
               bounds=(-np.inf, np.inf), method=None, jac=None, *, full_output=False, nan_policy=None,
               **options):  # fmt: skip
    if full_output or nan_policy is not None:
        raise NotDifferentiable("arraygrad.scipy.optimize.curve_fit: full_output and nan_policy have no rule")
    if sigma is not None and np.ndim(raw(sigma)) != 1:
        raise NotDifferentiable("arraygrad.scipy.optimize.curve_fit: sigma as a vector has a derivative")

    def residuals(p, xdata, ydata, *sigma):
        left = f(xdata, *[p[i] for i in range(p.shape[0])]) - ydata
        return left / sigma[0] if sigma else left

    data = tuple(ag.asarray(a) if tracked(a) else np.asarray(raw(a)) for a in (xdata, ydata))
    weights = () if sigma is None else (sigma,)
    problem = Problem("curve_fit", residuals, (*data, *weights))
    plain = problem.plain
    start = _start(f, p0)
    pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if tracked(tuple(pair)):
        raise NotDifferentiable(
            "arraygrad.scipy.optimize.curve_fit: bounds require grad, and have no rule here; least_squares has one"
        )

    def model(x, *p):
        return problem.raw(np.asarray(p)) * (plain[2] if weights else 1.0) + plain[1]

    found, spread = optimize.curve_fit(model, plain[0], plain[1], start, plain[2] if weights else None,
                                  absolute_sigma, bounds=raw(bounds), method=method, jac=jac, **options)  # fmt: skip
    limits = _spread(pair, found.shape)
    popt = problem.solution(found, _normal_equations(problem.f, _Active(found, limits)))
    popt = ag.asarray(popt)
    slopes = jacobian(lambda p: problem.f(p, *problem.parameters))(popt)
    pcov = ag.linalg.inv(ag.matmul(ag.matrix_transpose(slopes), slopes))
    if not absolute_sigma:
        left = problem.f(popt, *problem.parameters)
        pcov = pcov * (ag.sum(left * left) / (left.shape[0] - popt.shape[0]))
    # SciPy has the slopes by differences; where it can't tell the covariance (inf) ours stays.
    near = np.allclose(np.asarray(raw(pcov)), spread, rtol=1e-2, atol=1e-6 * np.max(np.abs(spread)))
    return popt, at_value(pcov, spread) if near else pcov


def _start(f, p0):
    if p0 is not None:
        return np.atleast_1d(np.asarray(raw(p0), dtype=float))
    return np.ones(len(inspect.signature(f).parameters) - 1)


# -- minimisers of other names ----------------------------------------------------------------------------------------


def _minimiser(name):
    """`name(f, ...)` that returns x alone, x in front of a tuple, or a result with x."""
    theirs = getattr(optimize, name, None)
    if theirs is None:
        return
    parameters = tuple(inspect.signature(theirs).parameters)

    @CHAPTER.composition(name, "args", IMPLICIT)
    def solver(*given, **options):
        options.update(zip(parameters, given, strict=False))
        function = options.pop(parameters[0])
        if options.get("constraints") or any(options.get(key) for key in _CONSTRAINTS):
            raise NotDifferentiable(f"arraygrad.scipy.optimize.{name}: constraints have no rule")
        if options.get("full_output") or options.get("retall") or options.get("vectorized"):
            raise NotDifferentiable(
                f"arraygrad.scipy.optimize.{name}: full_output, retall and vectorized have no rule; use minimize"
            )
        # Some of SciPy's names take a function that returns (value, gradient). SciPy's search gets both; the derivative
        # of the solution follows from the value alone, by the implicit function theorem at the point that was found.
        both = name in _WITH_GRADIENT and options.get("fprime") is None and not options.get("approx_grad")
        f = (lambda *given: function(*given)[0]) if both else function
        problem = Problem(name, f, options.pop("args", ()), start=options.get("x0"))
        bounds = options.get("bounds") if "bounds" in parameters else options.get("ranges")
        if tracked((bounds, options.get("x1"), options.get("x2"))):
            raise NotDifferentiable(
                f"arraygrad.scipy.optimize.{name}: bounds require grad; minimize has a rule for them"
            )
        for key in _HELPERS:
            if callable(options.get(key)):
                options[key] = problem.helper(options[key])
        if "callback" in options:
            options["callback"] = problem.telling(options["callback"])
        if both:
            pair = Problem(name, function, problem.given)
            target = lambda x: tuple(raw(part) for part in pair.f(x, *pair.plain))
        else:
            target = lambda x: float(np.asarray(problem.raw(x)).reshape(()))
        result = theirs(target, **{key: raw(value) for key, value in options.items()})
        shape = (-1,) if name == "brute" else None  # of one variable it returns a number, but calls with a vector
        scalar = lambda x, *args: ag.reshape(
            ag.asarray(problem.f(x if shape is None else ag.reshape(x, shape), *args)), ()
        )
        found = result[0] if isinstance(result, tuple) else getattr(result, "x", result)
        limits = _limits(bounds, np.shape(found)) if "bounds" in parameters and bounds is not None else None
        if name == "fminbound":
            limits = _spread((options["x1"], options["x2"]), ())
        x = problem.solution(found, _stationary(scalar, _Active(np.asarray(found), limits)))
        if isinstance(result, tuple):  # (x, f, information)
            if isinstance(result[-1], dict):
                result[-1].pop("grad", None)
            return (x, scalar(x, *problem.parameters) if len(result) == 3 and name == "fmin_l_bfgs_b" else result[1],
                    *result[2:])  # fmt: skip
        if not hasattr(result, "x"):
            return x
        return recorded_result(result, kept=TIMES, x=x, fun=scalar(x, *problem.parameters))


_WITH_GRADIENT = ("fmin_l_bfgs_b", "fmin_tnc")
_HELPERS = ("fprime", "fhess", "fhess_p")
_CONSTRAINTS = ("eqcons", "ieqcons", "f_eqcons", "f_ieqcons", "cons")

for _name in ("fmin", "fmin_bfgs", "fmin_cg", "fmin_cobyla", "fmin_l_bfgs_b", "fmin_ncg", "fmin_powell", "fmin_slsqp",
              "fmin_tnc", "fminbound", "brent", "golden", "brute", "basinhopping", "differential_evolution", "shgo",
              "dual_annealing", "direct"):  # fmt: skip
    _minimiser(_name)
