"""uncertainties: a NumPy function of numbers with errors, whose derivatives are exact. Needs uncertainties.

`uncertainties.wrap` takes a derivative for each argument, and differences where it has none.
"""

import functools

import numpy as np
import uncertainties

import arraygrad as ag


def with_errors(f, count):
    """`f` of `count` numbers, for numbers with errors."""

    def value(*args):
        return float(f(*args))

    def slope(position, *args):
        return float(ag.grad(f, position)(*map(float, args)))

    return uncertainties.wrap(value, [functools.partial(slope, position) for position in range(count)])


def period(length, gravity):
    """Of a pendulum, by steps: what has no formula is differentiated all the same."""
    angle, speed, elapsed, step = 0.5, 0.0, 0.0, 1e-3
    while angle > 0.0:
        speed = speed - step * gravity / length * np.sin(angle)
        angle = angle + step * speed
        elapsed += step
    return 4.0 * (elapsed - angle / speed)


if __name__ == "__main__":
    measured = with_errors(period, 2)(uncertainties.ufloat(1.0, 0.01), uncertainties.ufloat(9.81, 0.02))
    print(f"{measured:.2u} s")
