"""The class of arguments that SciPy takes by a former name, which its signatures do not show.

The reference is SciPy's own function, and differences of it. One list says how each is called; a walk over SciPy's
public modules finds those that it lacks.
"""

import importlib
import pkgutil

import numpy as np
import pytest

scipy = pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from scipy import stats

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY
from arraygrad.scipy._signatures import former_names

X = np.array([0.1, 0.52, -0.3, 1.25])
Y = np.array([0.34, -0.27, 0.45, 2.0])

# Name below scipy: (the call by the former name, that by the present one).
CALLS = {
    "stats.moment": (lambda x: stats.moment(x, moment=3), lambda x: stats.moment(x, order=3)),
    "stats.ks_1samp": (
        lambda x: stats.ks_1samp(x, stats.norm.cdf, mode="exact")[:2],
        lambda x: stats.ks_1samp(x, stats.norm.cdf, method="exact")[:2],
    ),
    "stats.ks_2samp": (
        lambda x: stats.ks_2samp(x, Y, mode="asymp").statistic_location,
        lambda x: stats.ks_2samp(x, Y, method="asymp").statistic_location,
    ),
    "stats.kstest": (
        lambda x: stats.kstest(x, stats.norm.cdf, mode="exact")[:2],
        lambda x: stats.kstest(x, stats.norm.cdf, method="exact")[:2],
    ),
    "stats.wilcoxon": (
        lambda x: stats.wilcoxon(x, Y, mode="exact")[0] + x[0] ** 2,
        lambda x: stats.wilcoxon(x, Y, method="exact")[0] + x[0] ** 2,
    ),
}


def weighted(result):
    parts = result if isinstance(result, tuple) else (result,)
    return sum((i + 1.0) * part for i, part in enumerate(parts))


@pytest.mark.parametrize("name", CALLS)
def test_a_former_name_means_the_present_one(name):
    former, present = CALLS[name]
    value, gradient = ag.value_and_grad(lambda x: weighted(former(x)))(X)
    np.testing.assert_allclose(value, weighted(present(X)), rtol=1e-12)
    step = 1e-6
    slopes = [(weighted(present(X + step * e)) - weighted(present(X - step * e))) / (2 * step) for e in np.eye(X.size)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: stats.moment(x, moment=3, order=3),
        lambda x: stats.ks_1samp(x, stats.norm.cdf, mode="exact", method="exact")[0],
    ],
)
def test_both_names_are_refused_as_scipy_does(call):
    with pytest.raises(TypeError, match="multiple values"):
        call(X)
    with pytest.raises(TypeError, match="two values of one argument"):
        ag.grad(call)(X)


def public_modules():
    for module in pkgutil.iter_modules(scipy.__path__):
        if module.ispkg and not module.name.startswith("_") and module.name not in ("misc", "odr"):  # deprecated
            yield module.name


def test_the_list_is_whole():
    found = set()
    for module in public_modules():
        of = importlib.import_module(f"scipy.{module}")
        found |= {f"{module}.{name}" for name in dir(of) if former_names(getattr(of, name))}
    served = {name for name in found & REGISTRY.keys() if REGISTRY[name].constant or not REGISTRY[name].reason}
    assert served == CALLS.keys()
