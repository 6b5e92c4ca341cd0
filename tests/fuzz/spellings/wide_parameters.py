"""Distribution functions with parameters over orders of magnitude, at points where they have digits of both tails.

The class: functions of scipy.special and laws of scipy.stats of two to four parameters, each parameter drawn by its
logarithm; slopes in all of them by differences of SciPy's values.
"""

import importlib

import numpy as np
import scipy.special as special
import scipy.stats as stats

from arraygrad.scipy import NotDifferentiable

from .spelling import Spelling

CALLS = 120
UNDECIDED = 0.4  # values of the noncentral laws have few digits
# name -> (ranges of the parameters, the place of the point among the arguments, its quantile)
OF_SPECIAL = {
    "nctdtr": (((0.5, 300.0), (-40.0, 40.0)), 2, lambda q, df, nc: stats.nct.ppf(q, df, nc)),
    "chndtr": (((0.3, 300.0), (0.01, 300.0)), 0, lambda q, df, nc: stats.ncx2.ppf(q, df, nc)),
    "ncfdtr": (((0.5, 100.0), (0.5, 300.0), (0.01, 100.0)), 3, lambda q, a, b, nc: stats.ncf.ppf(q, a, b, nc)),
    "stdtr": (((0.2, 1e9),), 1, lambda q, df: stats.t.ppf(q, df)),
    "gammainc": (((0.05, 1e4),), 1, lambda q, a: special.gammaincinv(a, q)),
    "gammaincc": (((0.05, 1e4),), 1, lambda q, a: special.gammaincinv(a, q)),
    "betainc": (((0.05, 1e3), (0.05, 1e3)), 2, lambda q, a, b: special.betaincinv(a, b, q)),
    "fdtr": (((0.3, 1e3), (0.3, 1e3)), 2, lambda q, a, b: stats.f.ppf(q, a, b)),
    "chdtr": (((0.1, 1e4),), 1, lambda q, v: stats.chi2.ppf(q, v)),
    "owens_t": (((0.05, 4.0),), 1, lambda q, h: 4.0 * q),
}
LAWS = {
    "nct": ((0.5, 300.0), (-40.0, 40.0)), "ncx2": ((0.3, 300.0), (0.01, 300.0)), "t": ((0.2, 1e9),),
    "ncf": ((0.5, 100.0), (0.5, 300.0), (0.01, 100.0)), "gamma": ((0.05, 1e4),), "beta": ((0.05, 1e3), (0.05, 1e3)),
    "f": ((0.3, 1e3), (0.3, 1e3)), "invgauss": ((0.01, 50.0),), "genextreme": ((-3.0, 3.0),), "rice": ((0.01, 30.0),),
    "skewnorm": ((-30.0, 30.0),), "vonmises": ((0.01, 500.0),), "burr": ((0.2, 50.0), (0.2, 50.0)),
    "jf_skew_t": ((0.5, 50.0), (0.5, 50.0)),
}  # fmt: skip


def _drawn(rng, low, high):
    if low > 0:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return float(np.sign(rng.uniform(-1, 1)) * np.exp(rng.uniform(np.log(0.05), np.log(high))))


def draw(rng):
    q = float(rng.uniform(0.02, 0.98))
    if rng.random() < 0.6:
        name = str(rng.choice(list(OF_SPECIAL)))
        ranges, place, quantile = OF_SPECIAL[name]
        given = [_drawn(rng, *bounds) for bounds in ranges]
        with np.errstate(all="ignore"):
            given.insert(place, float(quantile(q, *given)))
        path = f"special.{name}"
    else:
        law, method = str(rng.choice(list(LAWS))), str(rng.choice(["cdf", "sf", "logcdf", "logsf"]))
        shapes = [_drawn(rng, *bounds) for bounds in LAWS[law]]
        with np.errstate(all="ignore"):
            given = [float(getattr(stats, law).ppf(q, *shapes)), *shapes]
        path = f"stats.{law}.{method}"
    share = {"stats.beta": 0, "special.betainc": 2}.get(".".join(path.split(".")[:2]))
    if share is not None and given[share] > 0.98:
        return draw(rng)  # a step would leave the support
    # Arguments as factors of their own size: a step of the differences is relative.
    sizes = [a if np.isfinite(a) and a else 1.0 for a in given]
    units = tuple(np.asarray(a / size) for a, size in zip(given, sizes, strict=True))

    def call(package):
        def run(*units):
            module, *names = path.split(".")
            function = importlib.import_module(f"{package}.{module}")
            for name in names:
                function = getattr(function, name)
            return function(*[unit * size for unit, size in zip(units, sizes, strict=True)])

        return run

    what = f"{path}({', '.join(map(repr, given))}), each argument as a factor of its size"
    return Spelling(
        what, call("arraygrad.scipy"), call("scipy"), units, rtol=1e-4, value_rtol=1e-9, dtypes=False,
        may_refuse=(NotDifferentiable,), must_refuse=False,
    )  # fmt: skip
