"""The class of points outside of a distribution's support: every continuous distribution, side and method.

Density and tails are constant there, so every derivative is zero, in the point and in the parameters.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import scipy.stats

import arraygrad as ag
from arraygrad.scipy import stats
from arraygrad.scipy.stats._univariate import FAMILIES

METHODS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")
SHAPES = {"truncnorm": (-1.0, 2.0), "loguniform": (0.5, 3.0), "reciprocal": (0.5, 3.0), "trapezoid": (0.2, 0.8),
          "jf_skew_t": (2.0, 3.0), "triang": (0.3,), "genhyperbolic": (0.5, 1.5, 0.4), "norminvgauss": (1.5, 0.5),
          "truncpareto": (1.8, 5.0), "levy_stable": (1.8, 0.3), "vonmises_line": (0.7,), "kappa4": (0.1, 0.2),
          "truncweibull_min": (2.5, 0.2, 1.7), "burr": (2.0, 1.5), "gausshyper": (1.5, 2.5, 2.0, 0.7),
          "erlang": (3.0,)}  # fmt: skip
OF_ONE = {"pearson3": (-2.0, -0.5, 0.3, 2.0, 3.0), "genextreme": (-0.3, 0.4), "genpareto": (-0.4, 0.4)}


def ends(name, shapes):
    if name == "pearson3":  # SciPy calls all numbers its support
        end = -2.0 / shapes[0]
        return (end, np.inf) if shapes[0] > 0 else (-np.inf, end)
    return getattr(scipy.stats, name).support(*shapes)


def members():
    for name, family in FAMILIES.items():
        given = [SHAPES.get(name, (1.7,) * len(family.keys))] if name not in OF_ONE else [(s,) for s in OF_ONE[name]]
        for shapes in given:
            for end, side in zip(ends(name, shapes), (-1.0, 1.0), strict=True):
                if np.isfinite(end):
                    yield name, shapes, float(end), side


MEMBERS = list(members())


def test_there_are_many():
    assert len(MEMBERS) > 60


@pytest.mark.parametrize(("name", "shapes", "end", "side"), MEMBERS)
def test_every_derivative_outside_is_zero(name, shapes, end, side):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    loc, scale = 0.3, 1.7
    refused = FAMILIES[name].keys if name == "erlang" else ()
    for method in METHODS:
        if not hasattr(ours, method) or method not in ours._methods:
            continue
        for away in (0.25, 3.0):
            x = (end + away * side) * scale + loc
            keys = ("x", *FAMILIES[name].keys, "loc", "scale")
            given = [
                ag.tensor(v, requires_grad=key not in refused)
                for v, key in zip((x, *shapes, loc, scale), keys, strict=True)
            ]
            found = getattr(ours, method)(*given)
            np.testing.assert_array_equal(found.numpy(), getattr(theirs, method)(x, *shapes, loc, scale))
            wanted = [t for t in given if t.requires_grad]
            if not found.requires_grad:
                continue
            for gradient in ag.autograd.grad(found, wanted, allow_unused=True):
                assert gradient is None or gradient.numpy() == 0.0, (method, x)
