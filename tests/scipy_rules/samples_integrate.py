"""Samples of scipy.integrate.

May import: numpy, scipy_samples, SciPy.
"""

import numpy as np
import scipy.stats
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
for _times in (np.array([0.1, 0.5, 0.9]), np.array([0.9, 0.2])):
    sample("integrate.odeint", np.array([0.8, 0.1]), _times, 1.7, **HOW,
           call=lambda f, y, t, k: f(lambda y, t, k: [y[1] * k, -y[0] * t], y, t, args=(k,), **ODE))  # fmt: skip

# what the solution reaches at other times, and when something happens


def falling(t, y, g):
    return np.stack([y[1], -g - 0.1 * y[1]])


def ground(t, y, g):
    return y[0] - 0.05 * g


ground.terminal = True
DROP = np.array([2.0, 0.3])
sample("integrate.solve_ivp", DROP, 1.7, **HOW, call=lambda f, y, g: f(
    falling, (0.0, 0.9), y, args=(g,), dense_output=True, **ODE).sol(np.array([0.7, 0.2])))  # fmt: skip
sample("integrate.solve_ivp", DROP, 1.7, 0.4, **{**HOW, "loose": 1e-6}, call=lambda f, y, g, t: f(
    falling, (0.0, 0.9), y, args=(g,), dense_output=True, **ODE).sol(t))  # fmt: skip
sample("integrate.solve_ivp", DROP, 1.7, **{**HOW, "loose": 1e-6, "second": False}, call=lambda f, y, g: f(
    falling, (0.0, 9.0), y, args=(g,), events=ground, **ODE).t_events[0])  # fmt: skip
sample("integrate.solve_ivp", DROP, 1.7, **{**HOW, "loose": 1e-6, "second": False}, call=lambda f, y, g: f(
    falling, (0.0, 1.0), y, args=(g,), events=[lambda t, y, g: y[0] - 1.6, ground], **ODE).y_events[0])  # fmt: skip


def box(x, p):
    return np.exp(-p * x[..., 0]) * np.cos(x[..., 1] * p)


sample("integrate.cubature", np.array([0.1, 0.3]), np.array([1.2, 2.0]), 0.8, **TIGHT,
       call=lambda f, a, b, p: f(box, a, b, args=(p,)).estimate)  # fmt: skip
sample("integrate.cubature", 0.8, **TIGHT, call=lambda f, p: f(
    lambda x: np.stack([box(x, p), box(x, 2.0 * p)], -1), [0.0, 0.0], [1.0, 2.0], rule="genz-malik",
    rtol=1e-6).estimate)  # fmt: skip


def points():
    return scipy.stats.qmc.Halton(2, rng=3)


sample("integrate.qmc_quad", np.array([0.1, 0.3]), np.array([1.2, 2.0]), 0.8, **TIGHT, call=lambda f, a, b, p: tuple(f(
    lambda x: box(np.stack([x[0], x[1]], -1), p), a, b, n_points=32, n_estimates=3, qrng=points())))  # fmt: skip
sample("integrate.qmc_quad", 0.8, 0.4, **TIGHT, call=lambda f, p, b: f(
    lambda x: np.exp(-p * x[0] * x[1]), [0.0, b], [-1.0, 2.0 * b], n_points=32, qrng=points()).integral)  # fmt: skip
sample("integrate.tanhsinh", 0.2, np.array([1.1, 1.7]), 0.8, np.array([1.2, 0.4]), **TIGHT,
       call=lambda f, a, b, p, q: f(
           lambda x, p, q: np.exp(-p * x) * np.sin(q * x), a, b, args=(p, q)).integral)  # fmt: skip
sample("integrate.nsum", np.array([2.2, 3.1]), **TIGHT,
       call=lambda f, p: f(lambda k, p: k**-p, 1, np.inf, args=(p,)).sum)  # fmt: skip
sample("integrate.nsum", 0.8, **TIGHT, call=lambda f, p: f(lambda k, p: np.exp(-p * k), 1, 9, args=(p,)).sum)
NEST = {"step": 2e-3, "rtol": 1e-6, "loose": 1e-7, "second": False}
sample("integrate.tplquad", 0.2, 0.8, **NEST, call=lambda f, a, p: f(
    lambda z, y, x: p * x * y * z * p, a, 0.9, 0.0, lambda x: 1.0 + x, 0.0, lambda x, y: x + y)[0])  # fmt: skip
sample("integrate.nquad", 0.2, 0.9, 0.8, **TIGHT, call=lambda f, a, b, p: f(
    lambda x, y, p: np.exp(-p * x * y), [(0.0, 1.5), (a, b)], args=(p,))[0])  # fmt: skip
sample("integrate.newton_cotes", np.array([0.8, 2.3]), **TIGHT,
       call=lambda f, inner: f(np.concatenate([[0.0], inner, [3.0]])))  # fmt: skip
sample("integrate.newton_cotes", np.array([0.8, 2.3, 3.1]), **TIGHT,
       call=lambda f, inner: f(np.concatenate([[0.0], inner, [4.0]])))  # fmt: skip
