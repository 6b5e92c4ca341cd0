"""Solutions of a differential equation: value and gradient of a function of SciPy's solution, over the solution alone.

A pendulum of two parameters, by each method of solve_ivp and by odeint, at 12 and at 200 requested times. The gradient
is compared with central differences first.
May import: numpy, scipy, harness.
"""

from __future__ import annotations

import statistics

import numpy as np

from ..harness import CLOCKS, calibrate, sample

LIBRARIES = ("arraygrad",)
METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "odeint")
TIMES = (12, 200)
NAMES = tuple(f"{method.lower()}-{count}" for method in METHODS for count in TIMES)
START, PARAMETERS = np.array([1.2, 0.0]), np.array([1.9, 0.1])


def pendulum(t, y, frequency, damping):
    return [y[1], -(frequency**2) * np.sin(y[0]) - damping * y[1]]


def loss(method: str, count: int, tolerance: float = 1e-7):
    """The sum of the squared angles at so many times, as a function of the parameters."""
    from scipy import integrate

    times, how = np.linspace(0.5, 6.0, count), {"rtol": tolerance, "atol": tolerance}

    def function(parameters):
        args = (parameters[0], parameters[1])
        if method == "odeint":
            y = integrate.odeint(pendulum, START, np.append(0.0, times), args, tfirst=True, **how)[1:, 0]
        else:
            y = integrate.solve_ivp(pendulum, (0.0, 6.0), START, method, times, args=args, **how).y[0]
        return np.sum(y**2)

    return function


def check(method: str, count: int, gradient) -> None:
    """Raise ValueError where the gradient is not that of the equation."""
    exact = loss("DOP853", count, 1e-12)
    expected = [(exact(PARAMETERS + d) - exact(PARAMETERS - d)) / 2e-4 for d in 1e-4 * np.eye(2)]
    if not np.allclose(gradient, expected, rtol=1e-4):
        raise ValueError(f"{method}, {count} times: the gradient differs from differences of solutions")


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """Per method and number of times: how many times the solution its value and gradient take."""
    import arraygrad as ag

    now, found = CLOCKS[clock], {}
    for method in METHODS:
        for count in TIMES:
            function = loss(method, count)
            both = ag.value_and_grad(function)
            check(method, count, both(PARAMETERS)[1])

            def run(function=function):
                function(PARAMETERS)

            def derive(both=both):
                both(PARAMETERS)

            loops, often = calibrate(derive, 20_000_000, now), calibrate(run, 20_000_000, now)
            ratios = []
            for _ in range(3 if quick else 9):
                ratios.append(sample(derive, loops, now) / loops / (sample(run, often, now) / often))
            found[f"{method.lower()}-{count}"] = statistics.median(ratios)
    return found
