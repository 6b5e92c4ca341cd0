"""The class of mixed derivatives: the Hessian of every function of two or more parameters is symmetric.

Members: every method of every continuous distribution at a centre, an end or another special point;
every function of scipy.special with two or more differentiable arguments, at whole numbers, halves and zeros. Where an
element of the Hessian is not finite there is nothing to compare.
"""

import warnings
import zlib

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.stats
from test_distributions import CONTINUOUS, HELD, SHAPES

import arraygrad as ag
from arraygrad.scipy import special, stats
from arraygrad.scipy._declare import REGISTRY

NAMES = sorted({name for name, _ in CONTINUOUS if SHAPES.get(name) and name not in HELD})
SPECIAL = [
    name for name, rule in REGISTRY.items()
    if name.startswith("special.") and len(rule.of) > 1 and not rule.reason and rule.signature is not None
    and name not in ("special.logsumexp", "special.comb")
]  # fmt: skip


def hold(f, at, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(ag.hessian(f)(np.asarray(at)))
    known = np.isfinite(found) & np.isfinite(found.T)
    size = np.max(np.abs(found[known]), initial=1e-3)
    np.testing.assert_allclose(found[known], found.T[known], rtol=2e-6, atol=1e-9 * size, err_msg=what)


@pytest.mark.parametrize("name", NAMES)
def test_hessians_of_distributions(name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    shapes = [float(s) for s in SHAPES[name]]
    theirs = getattr(scipy.stats, name)
    low, high = theirs.support(*shapes)
    special_points = [v for v in (0.0, 1.0, -1.0, low, high, shapes[0], -shapes[0]) if low <= v <= high]
    special_points = [v for v in special_points if np.isfinite(v)]
    for method in [method for owner, method in CONTINUOUS if owner == name]:
        f = getattr(getattr(stats, name), method)
        inverse = method in ("ppf", "isf")
        points = [0.5] if inverse else rng.choice(special_points or [theirs.ppf(0.37, *shapes)], 1)
        for x in points:
            hold(lambda v: f(*[v[i] for i in range(len(shapes) + 1)]), [float(x), *shapes], f"{name}.{method} {x}")  # noqa: B023


@pytest.mark.parametrize("df", [0.3, 1.0, 3.0, 40.0])
def test_the_centre_of_students_distribution(df):
    # d/dt d/ddf of the distribution function is d/ddf of the density.
    for function in (stats.t.cdf, lambda t, df: special.stdtr(df, t)):
        found = np.asarray(ag.hessian(lambda v: function(v[1], v[0]))(np.array([df, 0.0])))  # noqa: B023
        h = 1e-4
        expected = (scipy.stats.t.pdf(0.0, df + h) - scipy.stats.t.pdf(0.0, df - h)) / (2.0 * h)
        np.testing.assert_allclose(found, [[0.0, expected], [expected, 0.0]], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", SPECIAL)
def test_hessians_of_special_functions(name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rule = REGISTRY[name]
    keys = [key for key in rule.signature.parameters if key != "out"]
    free = [key for key in keys if key in rule.of]
    held = 0
    for _ in range(30):
        values = dict(zip(keys, rng.choice([0.0, 1.0, 0.5, 2.0, -0.5, 3.0, -1.0, 0.3], len(keys)), strict=True))
        values = {key: v if key in free or v % 1 else int(v) for key, v in values.items()}
        if values.get("p") == 0.0 and "btdtri" in name:  # every value is a solution
            continue

        def f(v, values=values):
            found = rule.function(*{**values, **{key: v[i] for i, key in enumerate(free)}}.values())
            return found[0] if isinstance(found, (tuple, list)) else found

        try:
            hold(f, [values[key] for key in free], f"{name} {values}")
        except (TypeError, ValueError):
            continue
        held += 1
        if held == 4:
            break
