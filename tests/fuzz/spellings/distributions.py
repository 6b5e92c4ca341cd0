"""Methods of SciPy's distributions: ordinary, whole and extreme shape parameters, broadcast against points, loc and
scale; numbers and arrays, both precisions, second order. Summaries of the parameters alone are among the methods.
"""

import numpy as np
import scipy.stats

from .spelling import Spelling

# Name: (where each shape parameter is drawn from). Of these SciPy's values have all their digits.
POSITIVE, WIDE = (0.6, 4.0), (0.2, 30.0)
LAWS = {
    "norm": (), "logistic": (), "hypsecant": (), "gumbel_r": (), "cauchy": (), "expon": (), "rayleigh": (),
    "maxwell": (), "halfnorm": (), "gamma": (WIDE,), "chi2": (WIDE,), "beta": (WIDE, WIDE), "t": (WIDE,),
    "f": (WIDE, WIDE), "lognorm": (POSITIVE,), "weibull_min": (POSITIVE,), "pareto": (POSITIVE,), "lomax": (POSITIVE,),
    "genextreme": ((-0.4, 0.4),), "genpareto": ((-0.4, 0.4),), "gennorm": (POSITIVE,), "dgamma": (WIDE,),
    "dweibull": (POSITIVE,), "invgamma": (WIDE,), "fisk": (POSITIVE,), "burr12": (POSITIVE, POSITIVE),
    "genlogistic": (WIDE,), "powerlaw": (POSITIVE,), "triang": ((0.0, 1.0),), "loglaplace": (POSITIVE,),
    "skewnorm": ((-5.0, 5.0),), "exponnorm": (POSITIVE,), "invgauss": (POSITIVE,), "truncnorm": ((-2.0, 0.0), WIDE),
    "laplace_asymmetric": (POSITIVE,), "johnsonsu": ((-2.0, 2.0), POSITIVE), "argus": (POSITIVE,),
}  # fmt: skip
AT = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
OF = ("mean", "var", "std", "entropy", "median")
# SciPy's own values of these have fewer digits, by iteration or quadrature.
ROUGH = {"skewnorm", "argus", "exponnorm", "truncnorm", "invgauss", "genextreme", "genpareto", "johnsonsu"}


def _drawn(rng, bounds, shape):
    low, high = bounds
    values = rng.uniform(low, high, size=shape)
    if rng.random() < 0.3 and low > 0:
        values = np.ceil(values)
    return values


def _is_near_an_end(law, x, parameters, place):
    """Whether differences of second order reach over, or near to, an end of the support, where densities have poles."""
    z = (x - place[0]) / place[1]
    return any(np.any(np.abs(z - end) < 1e-2) for end in law.support(*parameters))


def draw(rng):
    name = str(rng.choice(list(LAWS)))
    theirs = getattr(scipy.stats, name)
    summary = rng.random() < 0.2
    method = str(rng.choice(OF if summary else AT))
    if name in ("dgamma", "dweibull") and method == "median":  # the density is zero there: no derivative of a quantile
        method = "mean"
    shapes = [(), (3,), (2, 1), (2, 3), (1,)]

    def shape():
        return shapes[rng.integers(len(shapes))] if rng.random() < 0.5 else ()

    parameters = [_drawn(rng, bounds, shape()) for bounds in LAWS[name]]
    place = [rng.uniform(-1.0, 1.0, size=shape()), rng.uniform(0.5, 2.0, size=shape())]
    given = [*parameters, *place]
    if not summary:
        q = rng.uniform(0.05, 0.95, size=shape())
        if name in ("dgamma", "dweibull"):  # densities with a pole or a zero in the middle
            q = np.where(np.abs(q - 0.5) < 0.2, q + 0.25, q)
        point = q if method in ("ppf", "isf") else theirs.ppf(q, *parameters) * place[1] + place[0]
        given = [np.asarray(point), *given]
    dtype = np.float32 if rng.random() < 0.15 and not summary and method in ("pdf", "cdf", "sf") else np.float64
    arrays = tuple([np.asarray(a, dtype) for a in given])

    def call(module):
        return lambda *arrays: getattr(getattr(module, name), method)(*arrays)

    import arraygrad.scipy.stats as ours

    at_end = not summary and method not in ("ppf", "isf") and _is_near_an_end(theirs, arrays[0], parameters, place)
    rough = name in ROUGH or method in ("ppf", "isf") or summary
    from arraygrad.scipy._guards import NotDifferentiable

    second = dtype is np.float64 and name not in ROUGH and not at_end
    return Spelling(
        f"stats.{name}.{method}({', '.join(map(repr, arrays))})", call(ours), call(scipy.stats), arrays,
        order=2 if second else 1, rtol=1e-4 if rough else 1e-5, dtypes=False,
        may_refuse=(NotDifferentiable,) if summary else (),
    )  # fmt: skip
