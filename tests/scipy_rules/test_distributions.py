"""Every declared method of every distribution is held to differences of SciPy's values, first and second order."""

import numpy as np
import pytest
from scipy_differences import check

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.stats

import arraygrad as ag
from arraygrad.scipy import stats
from arraygrad.scipy._declare import REGISTRY

SHAPES = {
    "gamma": (2.3,), "chi2": (3.4,), "chi": (2.6,), "invgamma": (2.2,), "gengamma": (1.8, 1.4), "loggamma": (1.7,),
    "nakagami": (1.3,), "beta": (2.1, 3.3), "betaprime": (2.2, 3.1), "f": (3.2, 5.4), "t": (4.3,), "lognorm": (0.7,),
    "fatiguelife": (0.8,), "johnsonsu": (0.4, 1.6), "johnsonsb": (0.4, 1.6), "powernorm": (2.3,),
    "powerlognorm": (2.3, 0.7), "foldnorm": (1.3,), "skewnorm": (1.4,), "invgauss": (0.8,), "truncnorm": (-0.7, 1.9),
    "weibull_min": (1.7,), "weibull_max": (1.7,), "invweibull": (2.7,), "exponweib": (1.6, 1.4), "exponpow": (1.6,),
    "pareto": (2.4,), "lomax": (2.4,), "genpareto": (0.3,), "genextreme": (-0.2,), "burr12": (1.8, 2.2),
    "burr": (2.8, 2.2), "fisk": (2.4,), "gompertz": (0.7,), "genlogistic": (1.6,), "powerlaw": (1.7,),
    "bradford": (1.2,), "loguniform": (0.6, 3.4), "truncexpon": (2.6,), "triang": (0.45,), "gennorm": (1.6,),
    "halfgennorm": (1.6,), "dgamma": (1.8,), "dweibull": (1.8,), "loglaplace": (2.3,), "laplace_asymmetric": (1.4,),
    "vonmises": (1.6,), "rice": (0.9,), "exponnorm": (0.8,), "norminvgauss": (1.6, 0.5), "recipinvgauss": (0.8,),
    "crystalball": (1.2, 2.8), "argus": (1.3,), "kappa3": (1.4,), "mielke": (2.1, 1.9),
}  # fmt: skip
DISCRETE = {
    "poisson": (2.6,), "binom": (6, 0.35), "bernoulli": (0.35,), "geom": (0.35,), "nbinom": (2.7, 0.4),
    "planck": (0.6,), "betabinom": (6, 1.4, 2.3), "logser": (0.6,), "dlaplace": (0.8,), "skellam": (2.2, 1.4),
}  # fmt: skip
INTEGERS = {"binom": {0}, "betabinom": {0}}

METHODS = [tuple(name.split(".")[1:]) for name, rule in REGISTRY.items()
           if name.startswith("stats.") and name.count(".") == 2 and rule.gradients is not None]  # fmt: skip
KINDS = {name: one.kind for name, one in stats.OBJECTS.items()}
CONTINUOUS = [pair for pair in METHODS if KINDS[pair[0]] == "continuous"]
COUNTED = [pair for pair in METHODS if KINDS[pair[0]] == "discrete"]


def places(theirs, shapes):
    """Points with the probabilities 0.17, 0.41 and 0.83 below them."""
    return np.asarray(theirs.ppf([0.17, 0.41, 0.83], *shapes))


@pytest.mark.parametrize(("name", "method"), CONTINUOUS)
def test_continuous_method_is_differentiable_in_every_argument(name, method):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    shapes = [np.asarray(s) for s in SHAPES.get(name, ())]
    tail = [np.asarray(0.3), np.asarray(1.7)]
    if method in ("mean", "var", "std", "entropy"):
        check(ours, theirs, [*shapes, *tail], step=3e-3)
        return
    x = places(getattr(scipy.stats, name), shapes)
    first = np.array([0.13, 0.41, 0.86]) if method in ("ppf", "isf") else tail[0] + tail[1] * x
    # SciPy finds some quantiles by iteration, and computes some tails by quadrature.
    loose = method in ("ppf", "isf")
    # The second order of what follows from these: of a few distributions.
    second = method in ("logpdf", "cdf", "logsf", "ppf") or name in ("norm", "gamma", "beta", "t", "foldnorm")
    check(ours, theirs, [first, *shapes, *tail], step=2e-3, rtol=2e-6 if loose else 1e-7, second=second)


@pytest.mark.parametrize(("name", "method"), [p for p in CONTINUOUS if p[1] in ("logpdf", "logcdf", "ppf")])
def test_continuous_method_serves_numbers_as_it_does_arrays(name, method):
    ours, shapes = getattr(getattr(stats, name), method), SHAPES.get(name, ())
    x = 0.3 if method in ("ppf", "isf") else float(places(getattr(scipy.stats, name), shapes)[1])
    several = [ag.tensor(np.full(2, v), requires_grad=True) for v in (x, *shapes)]
    single = [ag.tensor(v, requires_grad=True) for v in (x, *shapes)]
    of_several = ag.autograd.grad(ours(*several).sum(), several)
    for g, expected in zip(ag.autograd.grad(ours(*single), single), of_several, strict=True):
        np.testing.assert_allclose(g.numpy(), expected.numpy()[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "method"), COUNTED)
def test_discrete_method_is_differentiable_in_its_real_arguments(name, method):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    fixed = INTEGERS.get(name, set())
    shapes = DISCRETE[name]
    real = [np.asarray(s) for i, s in enumerate(shapes) if i not in fixed]
    k = np.array([1.0, 2.0, 4.0])
    if name == "bernoulli":
        k = np.array([0.0, 1.0]) if method.endswith("pmf") else np.zeros(1)

    def called(f):
        def call(*given):
            given = iter(given)
            values = [s if i in fixed else next(given) for i, s in enumerate(shapes)]
            return f(*values) if method in ("mean", "var") else f(k, *values)

        return call

    check(called(ours), called(theirs), real, step=2e-3, rtol=1e-7)


def test_every_distribution_with_shapes_has_a_sample():
    need = {name for name, kind in KINDS.items() if kind != "multivariate" and getattr(scipy.stats, name).shapes}
    assert need == {*SHAPES, *DISCRETE}
