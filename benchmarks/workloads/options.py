"""Black-Scholes prices of 10 000 options, and their sensitivities to price, volatility and rate.

May import: numpy, scipy where an array library has no erf of its own, workload.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload

ROOT_HALF, ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(2 * math.pi)


def make(n: int) -> Data:
    rng = np.random.default_rng(28)
    spot, vol = rng.uniform(80, 120, n), rng.uniform(0.1, 0.4, n)
    rate = rng.uniform(0.01, 0.05, n)
    constants = SimpleNamespace(strike=rng.uniform(80, 120, n), time=rng.uniform(0.5, 2.0, n))
    return Data([spot, vol, rate], constants, np.ones(n))


def formula(library, data):
    xp = library.xp
    strike, time = (library.constant(a) for a in (data.constants.strike, data.constants.time))
    root = library.constant(np.sqrt(data.constants.time))

    def cdf(x):
        return 0.5 * (1.0 + library.erf(x * ROOT_HALF))

    def f(spot, vol, rate):
        width = vol * root
        d1 = (xp.log(spot / strike) + (rate + 0.5 * vol * vol) * time) / width
        return spot * cdf(d1) - strike * xp.exp(-rate * time) * cdf(d1 - width)

    return f


def hand(data: Data) -> Run:
    from scipy.special import erf

    spot, vol, rate = data.leaves
    strike, time, seed = data.constants.strike, data.constants.time, data.seed
    root = np.sqrt(time)

    def run():
        width = vol * root
        d1 = vol * vol
        d1 *= 0.5
        d1 += rate
        d1 *= time
        d1 += np.log(spot / strike)
        d1 /= width
        delta = d1 * ROOT_HALF
        erf(delta, delta)
        delta += 1.0
        delta *= 0.5
        second = (d1 - width) * ROOT_HALF
        erf(second, second)
        second += 1.0
        second *= 0.5
        second *= strike
        second *= np.exp(-rate * time)
        value = spot * delta
        value -= second
        # The terms of d1's own change cancel: delta, vega and rho.
        d1 *= d1
        d1 *= -0.5
        vega = np.exp(d1, d1)
        vega *= spot
        vega *= root
        vega *= 1 / ROOT_TWO_PI
        vega *= seed
        second *= time
        second *= seed
        delta *= seed
        return [value, delta, vega, second]

    return run


WORKLOADS = [
    Workload(
        name="options",
        title="Black-Scholes prices of 10 000 options, 3 sensitivities, float64",
        bar=1.5,
        moonshot=1.1,
        data=lambda: make(10_000),
        tiny=lambda: make(3),
        formula=formula,
        hand=hand,
        without={"mygrad": "no erf"},
    )
]
