"""Samples of scipy.integrate.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import M, sample, spread

Y, X8 = spread(8, seed=1), np.cumsum(spread(8, seed=2))
for _n in (7, 8, 4):
    sample("integrate.trapezoid integrate.simpson integrate.cumulative_trapezoid", Y[:_n], X8[:_n])
    sample("integrate.trapezoid integrate.simpson", Y[:_n], 0.3, call=lambda f, y, dx: f(y, dx=dx))
    sample("integrate.cumulative_simpson", Y[:_n], X8[:_n], call=lambda f, y, x: f(y, x=x, initial=0.0))
sample("integrate.cumulative_simpson integrate.cumulative_trapezoid", M, 0.3, call=lambda f, y, dx: f(y, dx=dx, axis=0))
sample("integrate.cumulative_trapezoid", M, call=lambda f, y: f(y, initial=0))
sample("integrate.trapezoid integrate.simpson", M, np.cumsum(M, axis=0), call=lambda f, y, x: f(y, x=x, axis=0))
sample("integrate.romb", spread(3, 9), 0.3, call=lambda f, y, dx: f(y, dx))
TIGHT = {"loose": 1e-7, "step": 2e-3, "rtol": 1e-6}


def waves(x, p, q):
    return np.exp(-p[0] * x) * np.cos(p[1] * x + q)


sample("integrate.quad", 0.2, 1.7, np.array([0.8, 1.4]), 0.3, **TIGHT,
       call=lambda f, a, b, p, q: f(waves, a, b, (p, q))[0])  # fmt: skip
sample("integrate.quad", 0.2, np.array([0.8, 1.4]), **TIGHT,
       call=lambda f, a, p: f(lambda x: waves(x, p, 0.2), a, np.inf, epsabs=1e-11, epsrel=1e-11)[0])  # fmt: skip
sample("integrate.quad_vec", 0.2, 1.7, np.array([0.8, 1.4]), **TIGHT,
       call=lambda f, a, b, p: f(lambda x: np.exp(-p * x) * x, a, b)[0])  # fmt: skip
sample("integrate.fixed_quad", 0.2, 1.7, 0.8, call=lambda f, a, b, p: f(lambda x: np.exp(-p * x), a, b)[0])
sample("integrate.dblquad", 0.2, 0.9, 0.8, step=2e-3, rtol=1e-6, loose=1e-7, second=False,
       call=lambda f, a, b, p: f(lambda y, x: np.exp(-p * x * y), a, b, 0.0, lambda x: 1.0 + x)[0])  # fmt: skip


def spring(t, y, k, c):
    return [y[1], -k * y[0] - c * y[1]]


def swinging(t, y, k):
    return np.stack([y[1], -k[0] * np.sin(y[0]) - k[1] * y[1]])


HOW = {"loose": 1e-7, "step": 2e-3, "rtol": 1e-5, "rtol2": 1e-4}
ODE = {"rtol": 1e-10, "atol": 1e-10}
TIMES = np.array([0.0, 0.4, 0.9])
sample("integrate.solve_ivp", np.array([0.8, 0.1]), 1.7, 0.3, **HOW,
       call=lambda f, y, k, c: f(spring, (0.0, 0.9), y, t_eval=TIMES, args=(k, c), **ODE).y)  # fmt: skip
sample("integrate.solve_ivp", np.array([0.8, 0.1]), np.array([1.7, 0.3]), **{**HOW, "second": False},
       call=lambda f, y, k: f(
           lambda t, y: swinging(t, y, k), (0.0, 0.9), y, method="DOP853", **ODE).y[:, -1])  # fmt: skip
sample("integrate.odeint", np.array([0.8, 0.1]), np.array([1.7, 0.3]), **{**HOW, "second": False},
       call=lambda f, y, k: f(swinging, y, TIMES, args=(k,), tfirst=True, **ODE))  # fmt: skip
