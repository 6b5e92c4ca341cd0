"""Samples of scipy.optimize.

May import: numpy, scipy_samples, SciPy.
"""

import numpy as np
import scipy.optimize
from scipy_samples import sample, spread

HOW = {"loose": 1e-7, "step": 2e-3, "rtol": 1e-5, "rtol2": 1e-4}


def cubic(x, a, b):
    return x**3 + a * x - b


for _name in ("brentq", "brenth", "ridder", "bisect", "toms748"):
    sample(f"optimize.{_name}", 1.3, 2.2, **HOW,
           call=lambda f, a, b: f(cubic, 0.0, 3.0, args=(a, b), xtol=1e-13))  # fmt: skip
sample("optimize.brentq", 1.3, 2.2, **HOW, call=lambda f, a, b: f(lambda x: cubic(x, a, b), 0.0, 3.0, xtol=1e-13))
sample("optimize.newton", 1.3, 2.2, **HOW,
       call=lambda f, a, b: f(cubic, 1.0, fprime=lambda x, a, b: 3.0 * x**2 + a, args=(a, b), tol=1e-13))  # fmt: skip
sample("optimize.newton", np.array([1.3, 1.7]), 2.2, **HOW,
       call=lambda f, a, b: f(cubic, np.ones(2), args=(a, b), tol=1e-13))  # fmt: skip
sample("optimize.root_scalar", 1.3, 2.2, **HOW,
       call=lambda f, a, b: f(cubic, args=(a, b), bracket=(0.0, 3.0), xtol=1e-13).root)  # fmt: skip
sample("optimize.elementwise.find_root", np.array([1.3, 1.7]), 2.2, **HOW,
       call=lambda f, a, b: f(cubic, (0.0, 3.0), args=(a, b)).x)  # fmt: skip
sample("optimize.elementwise.find_root", 1.3, np.array([[2.2], [2.9]]), **HOW, call=lambda f, a, b: f(
    lambda x, b: cubic(x, a, b), (np.zeros(2), 3.0), args=(b,)).x)  # fmt: skip


def system(x, a):
    return np.stack([x[0] ** 3 + a[0] * x[1] - 1.0, x[1] ** 3 - a[1] * x[0] + 0.3])


sample("optimize.root", np.array([0.8, 0.6]), **HOW, call=lambda f, a: f(system, np.ones(2), args=(a,), tol=1e-12).x)
sample("optimize.fsolve", np.array([0.8, 0.6]), **HOW, call=lambda f, a: f(system, np.ones(2), args=(a,), xtol=1e-12))
sample("optimize.fixed_point", np.array([0.8, 0.6]), **HOW,
       call=lambda f, a: f(lambda x, a: np.cos(a * x), np.ones(2), args=(a,), xtol=1e-13))  # fmt: skip


def bowl(x, a):
    return np.sum((x - a) ** 2) + 0.3 * np.sum((x - 1.0) ** 4) + 0.2 * x[0] * x[1] * a[1]


sample("optimize.minimize", np.array([0.8, 1.6]), loose=1e-5, step=1e-2, rtol=1e-4, rtol2=1e-3,
       call=lambda f, a: (lambda r: (r.x, r.fun))(f(bowl, np.zeros(2), args=(a,), tol=1e-10)))  # fmt: skip
sample("optimize.minimize", np.array([0.8, 1.6]), loose=1e-5, step=1e-2, rtol=1e-4, rtol2=1e-3,
       call=lambda f, a: f(lambda x: bowl(x, a), np.zeros(2), bounds=[(None, 0.4), (0.0, None)]).x)  # fmt: skip
sample("optimize.minimize_scalar", 0.8, loose=1e-6, step=1e-2, rtol=1e-4, rtol2=1e-3,
       call=lambda f, a: f(lambda x, a: (x - a) ** 2 + 0.1 * x**4, args=(a,), tol=1e-12).x)  # fmt: skip
sample("optimize.elementwise.find_minimum", np.array([0.8, 1.7]), loose=1e-6, step=1e-2, rtol=1e-4, rtol2=1e-3,
       call=lambda f, a: (lambda r: (r.x, r.f_x))(f(
           lambda x, a: (x - a) ** 2 + 0.1 * x**4, (-1.0, 0.4, 3.0), args=(a,))))  # fmt: skip
sample("optimize.elementwise.bracket_root", np.array([1.3, 1.7]), 2.2, **HOW,
       call=lambda f, a, b: f(cubic, 0.1, args=(a, b)).f_bracket)  # fmt: skip
sample("optimize.elementwise.bracket_minimum", np.array([0.8, 1.7]), **HOW, call=lambda f, a: f(
    lambda x, a: (x - a) ** 2 + 0.1 * x**4, 0.1, args=(a,)).f_bracket)  # fmt: skip
T = np.linspace(0.0, 2.0, 7)


def decay(t, p, q):
    return p * np.exp(-q * t)


DATA = decay(T, 1.7, 0.8) + 0.05 * np.cos(7.0 * T)
FIT = {"loose": 1e-6, "step": 1e-2, "rtol": 1e-4, "rtol2": 1e-3}
sample("optimize.least_squares", DATA, **FIT, call=lambda f, y: (lambda r: (r.x, r.cost))(
    f(lambda p, y: decay(T, p[0], p[1]) - y, np.ones(2), args=(y,), xtol=1e-13, ftol=1e-13, gtol=1e-13)))  # fmt: skip
sample("optimize.leastsq", DATA, **FIT, call=lambda f, y: f(
    lambda p, y: decay(T, p[0], p[1]) - y, np.ones(2), args=(y,), xtol=1e-13, ftol=1e-13)[0])  # fmt: skip
sample("optimize.curve_fit", T, DATA, spread(7), **{**FIT, "second": False},
       call=lambda f, t, y, s: f(decay, t, y, sigma=s, xtol=1e-13, ftol=1e-13))  # fmt: skip
BOX = np.array([[1.0, 0.4], [0.3, 1.0], [0.2, 0.1]])
sample("optimize.nnls", BOX, np.array([1.0, 0.8, 0.5]))
sample("optimize.nnls", BOX, np.array([1.0, -0.8, 0.5]))
sample("optimize.lsq_linear", BOX, np.array([1.0, 0.8, 0.5]), loose=1e-9,
       call=lambda f, a, b: f(a, b, bounds=([0.0, 0.0], [0.5, 2.0]), method="bvls").x)  # fmt: skip
sample("optimize.linprog", np.array([-1.0, -2.0]), BOX[:2], np.array([1.0, 0.8]), loose=1e-9,
       call=lambda f, c, a, b: (lambda r: (r.x, r.fun))(f(c, a, b)))  # fmt: skip
sample("optimize.rosen", spread(4))


def valley(x, a):
    return (x[0] - a[0]) ** 2 + 0.5 * (x[1] - a[1] * x[0]) ** 2 + 0.1 * x[0] ** 4


def slope_of(x, a):
    inner = x[1] - a[1] * x[0]
    return np.stack([2.0 * (x[0] - a[0]) - a[1] * inner + 0.4 * x[0] ** 3, inner])


PAIR = np.array([1.3, 0.7])
LOOSE = {"loose": 1e-2, "step": 2e-3, "rtol": 1e-4, "rtol2": 1e-3}  # a solution of few digits
FIRST = {**LOOSE, "second": False}
sample("optimize.fmin", PAIR, **FIRST, call=lambda f, a: f(valley, np.ones(2), (a,), 1e-9, 1e-12, disp=0))
sample("optimize.fmin_powell", PAIR, **FIRST, call=lambda f, a: f(valley, np.ones(2), (a,), 1e-9, 1e-14, disp=0))
sample("optimize.fmin_bfgs optimize.fmin_cg", PAIR, **LOOSE,
       call=lambda f, a: f(valley, np.ones(2), slope_of, (a,), gtol=1e-9, disp=0))  # fmt: skip
sample(
    "optimize.fmin_ncg",
    PAIR,
    **LOOSE,
    call=lambda f, a: f(valley, np.ones(2), slope_of, args=(a,), avextol=1e-11, disp=0),
)
sample(
    "optimize.fmin_cobyla", PAIR, **FIRST, call=lambda f, a: f(valley, np.ones(2), [], (a,), rhoend=1e-8, maxfun=9000)
)
sample("optimize.fmin_slsqp", PAIR, **FIRST,
       call=lambda f, a: f(valley, np.ones(2), fprime=slope_of, args=(a,), acc=1e-14, iprint=0))  # fmt: skip
sample("optimize.fmin_l_bfgs_b", PAIR, **FIRST,
       call=lambda f, a: f(valley, np.ones(2), slope_of, (a,), pgtol=1e-10, factr=1.0)[0])  # fmt: skip
sample("optimize.fmin_l_bfgs_b", PAIR, **FIRST,
       call=lambda f, a: f(lambda x, a: (valley(x, a), slope_of(x, a)), np.ones(2), None, (a,), pgtol=1e-10,
                           factr=1.0, bounds=[(0.0, 0.5), (None, None)])[0])  # fmt: skip
sample("optimize.fmin_tnc", PAIR, **FIRST,
       call=lambda f, a: f(valley, np.ones(2), slope_of, (a,), messages=0, ftol=1e-16, xtol=1e-12,
                           pgtol=1e-12)[0])  # fmt: skip


def hollow(x, a):
    return (x - a) ** 2 + 0.1 * x**4


sample("optimize.fminbound", 1.3, **LOOSE, call=lambda f, a: f(hollow, 0.0, 4.0, (a,), xtol=1e-10))
sample("optimize.brent optimize.golden", 1.3, **LOOSE, call=lambda f, a: f(hollow, (a,), tol=1e-10))
BOX = [(-1.0, 3.0), (-1.0, 3.0)]
COARSE = {"loose": 1e-2, "step": 5e-2, "rtol": 3e-2, "second": False}


def polished(f, x, args, **_):
    return scipy.optimize.minimize(f, x, args, "Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})


sample("optimize.brute", PAIR, **FIRST, call=lambda f, a: f(valley, tuple(BOX), (a,), Ns=9, finish=polished))
sample("optimize.shgo", PAIR, **FIRST, call=lambda f, a: f(valley, BOX, args=(a,)).x)
sample("optimize.direct", PAIR, **COARSE,
       call=lambda f, a: f(valley, BOX, args=(a,), vol_tol=1e-24, len_tol=1e-12, maxiter=4000).x)  # fmt: skip
sample("optimize.differential_evolution", PAIR, **COARSE,
       call=lambda f, a: f(valley, BOX, args=(a,), rng=np.random.default_rng(0), tol=1e-9).x)  # fmt: skip
sample("optimize.dual_annealing", PAIR, **FIRST,
       call=lambda f, a: f(valley, BOX, args=(a,), rng=np.random.default_rng(0), maxiter=20).x)  # fmt: skip
sample("optimize.basinhopping", PAIR, **FIRST,
       call=lambda f, a: f(lambda x: valley(x, a), np.ones(2), niter=2, rng=np.random.default_rng(0)).x)  # fmt: skip
for _name in ("anderson", "broyden1", "broyden2", "diagbroyden", "newton_krylov"):
    sample(f"optimize.{_name}", 0.3, **FIRST,
           call=lambda f, a: f(lambda x: x - a * np.cos(x), np.zeros(2), f_tol=1e-11))  # fmt: skip
sample("optimize.excitingmixing optimize.linearmixing", 0.3, **FIRST,
       call=lambda f, a: f(lambda x: a * np.cos(x) - x, np.zeros(2), alpha=0.7, f_tol=1e-11,
                           line_search=None))  # fmt: skip
sample("optimize.rosen_der optimize.rosen_hess", spread(4))
sample("optimize.rosen_hess_prod", spread(4), spread(4, seed=3))
sample("optimize.isotonic_regression", np.array([1.2, 0.7, 1.9, 1.4, 2.6, 2.4]), spread(6), step=1e-3, rtol=1e-6,
       call=lambda f, y, w: f(y, weights=w).x)  # fmt: skip
sample("optimize.approx_fprime", spread(3), 0.7, step=1e-2, loose=1e-6, rtol=1e-5, rtol2=1e-4,
       call=lambda f, x, a: f(x, lambda x: np.exp(-a * x).sum(), 1e-4))  # fmt: skip
sample("optimize.quadratic_assignment", spread(4, 4), spread(4, 4, seed=3), step=1e-4, call=lambda f, a, b: f(a, b).fun)
