"""Programs that compute number by number: value and gradient by `value_and_grad`, over the plain run of the program.

The programs are written for NumPy and math, and know nothing of gradients: a Kalman filter whose products are loops
over elements of 4 x 4 arrays, Burgers' equation by a stencil that writes one element at a time, Runge-Kutta steps on
plain numbers, and Black-Scholes prices one after another, by NumPy's functions and by those of math. The values and the
gradients in one direction (central differences) are checked first.
May import: numpy, harness.
"""

from __future__ import annotations

import math
import statistics

import numpy as np

from ..harness import CLOCKS, calibrate, sample

LIBRARIES = ("arraygrad",)


def kalman(transition, start, noise, error, measured):
    n = len(start)
    x, covariance, total = start * 1.0, np.eye(n) * (1.0 + 0.0 * noise), 0.0
    for z in measured:
        y, half, whole = x * 0.0, transition * 0.0, transition * 0.0
        for i in range(n):
            for j in range(n):
                y[i] += transition[i, j] * x[j]
                for k in range(n):
                    half[i, j] += transition[i, k] * covariance[k, j]
        for i in range(n):
            for j in range(n):
                s = noise if i == j else 0.0
                for k in range(n):
                    s = s + half[i, k] * transition[j, k]
                whole[i, j] = s
        spread, miss = whole[0, 0] + error, z - y[0]
        for i in range(n):
            x[i] = y[i] + whole[i, 0] / spread * miss
        for i in range(n):
            for j in range(n):
                covariance[i, j] = whole[i, j] - whole[i, 0] / spread * whole[0, j]
        total = total + miss * miss / spread + np.log(spread)
    return total


def burgers(u, viscosity):
    n, dt = len(u), 0.001
    dx = 2 * math.pi / n
    for _ in range(5):
        new = u * 1.0
        for i in range(1, n - 1):
            new[i] = (
                u[i] - u[i] * dt / dx * (u[i] - u[i - 1]) + viscosity * dt / dx**2 * (u[i + 1] - 2 * u[i] + u[i - 1])
            )
        u = new
    return (u * u).sum()


def runge_kutta(x, y, a, b, c):
    h = 0.01

    def rate(x, y):
        return a * x - b * x * y, c * x * y - y

    for _ in range(60):
        k1, l1 = rate(x, y)
        k2, l2 = rate(x + h / 2 * k1, y + h / 2 * l1)
        k3, l3 = rate(x + h / 2 * k2, y + h / 2 * l2)
        k4, l4 = rate(x + h * k3, y + h * l3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        y = y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return x * y


def prices(log, exp, sqrt, below):
    """The sum of the prices of calls, with these functions."""

    def total(spots, strikes, times, rate, volatility):
        found = 0.0
        for s, k, t in zip(spots, strikes, times, strict=True):
            spread = volatility * sqrt(t)
            d = (log(s / k) + (rate + volatility * volatility / 2) * t) / spread
            found = found + s * below(d) - k * exp(-rate * t) * below(d - spread)
        return found

    return total


def _below(x):
    return 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def _below_math(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2.0)))


def programs(name: str):
    """The function, its arguments, and which of them are differentiated."""
    rng = np.random.default_rng(21)
    if name == "kalman":
        transition = np.eye(4) + np.diag([0.1] * 3, 1)
        return kalman, (transition, rng.normal(size=4), 0.1, 0.5, rng.normal(size=8).tolist()), (0, 1, 2, 3)
    if name == "burgers":
        return burgers, (np.sin(np.linspace(0, 6, 60)), 0.07), (0, 1)
    if name == "runge-kutta":
        return runge_kutta, (1.0, 0.5, 1.1, 0.4, 0.3), (0, 1, 2, 3, 4)
    arrays = [rng.uniform(80, 120, 50), rng.uniform(80, 120, 50), rng.uniform(0.5, 2, 50)]
    if name == "prices":
        return prices(np.log, np.exp, np.sqrt, _below), (*arrays, 0.05, 0.2), (0, 1, 2, 3, 4)
    lists = [a.tolist() for a in arrays]
    functions = (math.log, math.exp, math.sqrt, _below_math)
    return prices(*functions), (*lists, 0.05, 0.2), (0, 1, 2, 3, 4)


NAMES = ("kalman", "burgers", "runge-kutta", "prices", "prices-math")


def moved(args, argnums, along, step):
    """The arguments with the differentiated ones moved by `step` along a direction."""

    def add(a, d):
        return [x + step * y for x, y in zip(a, d, strict=True)] if isinstance(a, list) else a + step * d

    return [add(a, along[argnums.index(i)]) if i in argnums else a for i, a in enumerate(args)]


def check(function, args, argnums, value, gradients) -> None:
    """Raise ValueError where the value or the gradient is not that of the plain run."""
    rng = np.random.default_rng(4)
    along = [rng.normal(size=np.shape(args[i])) for i in argnums]
    step = 1e-6
    up, down = (function(*moved(args, argnums, along, s)) for s in (step, -step))
    slope = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(gradients, along, strict=True))
    if not np.isclose(value, function(*args), rtol=1e-12) or not np.isclose(slope, (up - down) / (2 * step), rtol=1e-4):
        raise ValueError(f"{function.__name__}: value or gradient differs from the plain run's")


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """Per program: how many times the plain run its value and gradient take."""
    import arraygrad as ag

    now, found = CLOCKS[clock], {}
    for key in NAMES:
        function, args, argnums = programs(key)
        both = ag.value_and_grad(function, argnums=argnums)
        check(function, args, argnums, *both(*args))

        def run(function=function, args=args):
            function(*args)

        def derive(both=both, args=args):
            both(*args)

        loops, often = calibrate(derive, 20_000_000, now), calibrate(run, 20_000_000, now)
        ratios = []
        for _ in range(5 if quick else 15):
            ratios.append(sample(derive, loops, now) / loops / (sample(run, often, now) / often))
        found[key] = statistics.median(ratios)
    return found
