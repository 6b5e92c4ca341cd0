"""Samples of scipy.optimize.

May import: numpy, scipy_samples.
"""

import numpy as np
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
