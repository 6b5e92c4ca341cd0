"""Roots and fixed points.

May import: scipy._declare, scipy.optimize._chapter, numpy, SciPy.
"""

import numpy as np
from scipy import optimize

from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.optimize._chapter import CHAPTER, IMPLICIT, Problem, recorded_result

__all__ = []


def _bracketing(name):
    @CHAPTER.composition(name, "args", IMPLICIT)
    def solver(f, a, b, args=(), **options):
        problem = Problem(name, f, args)
        if name == "toms748":
            options.pop("k", None)
        found = getattr(optimize, name)(problem.raw, raw(a), raw(b), (), **raw(options))
        if options.get("full_output"):
            return _with_report(problem.solution(found[0]), found[1])
        return problem.solution(found)


for _name in ("brentq", "brenth", "ridder", "bisect", "toms748"):
    _bracketing(_name)


@CHAPTER.composition("newton", "args", IMPLICIT)
def _newton(func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0,
            full_output=False, disp=True):  # fmt: skip
    problem = Problem("newton", func, args, start=x0)
    found = optimize.newton(problem.raw, np.asarray(raw(x0))[()], problem.helper(fprime), (), raw(tol), maxiter,
                            problem.helper(fprime2), raw(x1), raw(rtol), full_output, disp)  # fmt: skip
    if not full_output:
        return problem.solution(found)
    root = problem.solution(found[0])
    if hasattr(found, "_fields"):  # of several equations: root, converged, zero_der
        return type(found)(root, *found[1:])
    return _with_report(root, found[1])


def _with_report(root, report):
    """(root, SciPy's report of it), in which the root stands again."""
    report.root = root
    return root, report


@CHAPTER.composition("root_scalar", "args", IMPLICIT)
def _root_scalar(f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None,
                 rtol=None, maxiter=None, options=None):  # fmt: skip
    if fprime is True:
        raise NotDifferentiable("arraygrad.scipy.optimize.root_scalar: pass fprime as a function")
    problem = Problem("root_scalar", f, args, start=x0)
    result = optimize.root_scalar(
        problem.raw, (), method, raw(bracket), problem.helper(fprime), problem.helper(fprime2), raw(x0), raw(x1),
        raw(xtol), raw(rtol), maxiter, raw(options),
    )  # fmt: skip
    result.root = problem.solution(result.root)
    return result


@CHAPTER.composition("root", "args", IMPLICIT)
def _root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    f = (lambda *given: fun(*given)[0]) if jac is True else fun
    problem = Problem("root", f, args, lists=True, start=x0)
    jac = None if jac is True else problem.helper(jac)
    result = optimize.root(problem.raw, raw(x0), (), method, jac, tol, problem.telling(callback), options)
    shape = np.shape(result.x)
    if np.shape(problem.raw(result.x)) != shape:
        x = problem.solution(result.x, lambda x, *args: problem.f(x, *args).reshape(shape))
    else:
        x = problem.solution(result.x)
    return recorded_result(result, x=x, fun=problem.f(x, *problem.parameters).reshape(np.shape(result.fun)))


@CHAPTER.composition("fsolve", "args", IMPLICIT)
def _fsolve(func, x0, args=(), fprime=None, full_output=0, col_deriv=0, xtol=1.49012e-8, maxfev=0, band=None,
            epsfcn=None, factor=100, diag=None):  # fmt: skip
    if full_output:
        raise NotDifferentiable("arraygrad.scipy.optimize.fsolve: full_output has no rule; use root")
    problem = Problem("fsolve", func, args, lists=True, start=x0)
    x = optimize.fsolve(problem.raw, raw(x0), (), problem.helper(fprime), 0, col_deriv, xtol, maxfev, band, epsfcn,
                        factor, diag)  # fmt: skip
    if np.shape(problem.raw(x)) != np.shape(x):
        return problem.solution(x, lambda x, *args: problem.f(x, *args).reshape(np.shape(raw(x))))
    return problem.solution(x)


@CHAPTER.composition("fixed_point", "args", IMPLICIT)
def _fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    problem = Problem("fixed_point", func, args, lists=True, start=x0)
    x = optimize.fixed_point(problem.raw, raw(x0), (), xtol, maxiter, method)
    return problem.solution(x, lambda x, *args: problem.f(x, *args) - x)


def _nonlinear(name):
    @CHAPTER.composition(name, "closure", IMPLICIT)
    def solver(F, xin, *args, **options):
        problem = Problem(name, F, lists=True)
        if "callback" in options:
            options["callback"] = problem.telling(options["callback"])
        x = getattr(optimize, name)(problem.raw, raw(xin), *args, **options)
        return problem.solution(x)


for _name in ("anderson", "broyden1", "broyden2", "diagbroyden", "excitingmixing", "linearmixing", "newton_krylov"):
    _nonlinear(_name)
