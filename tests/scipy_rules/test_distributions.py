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
    "crystalball": (1.2, 2.8), "argus": (1.3,), "kappa3": (1.4,), "mielke": (2.1, 1.9), "ncx2": (2.7, 1.8),
    "ncf": (3.4, 6.2, 1.3), "nct": (4.3, 0.6), "erlang": (3.0,), "rdist": (2.6,), "jf_skew_t": (2.4, 1.7),
    "pearson3": (0.7,), "geninvgauss": (1.3, 0.9), "genhyperbolic": (0.6, 1.7, -0.4),
    "gausshyper": (1.7, 2.3, 1.2, 0.8), "alpha": (1.6,), "foldcauchy": (1.3,), "skewcauchy": (0.3,),
    "dpareto_lognorm": (0.2, 0.7, 2.2, 1.6),
    "genexpon": (0.8, 1.2, 0.7), "genhalflogistic": (0.6,), "kappa4": (0.3, 0.4), "reciprocal": (0.6, 3.4),
    "truncpareto": (1.4, 4.3), "truncweibull_min": (1.6, 0.3, 2.1), "trapezoid": (0.25, 0.6), "wrapcauchy": (0.4,),
    "vonmises_line": (1.6,), "rel_breitwigner": (1.8,), "tukeylambda": (0.3,), "ksone": (3,), "kstwo": (5,),
    "levy_stable": (1.6, 0.3), "studentized_range": (3.0, 9.0), "irwinhall": (4,),
}  # fmt: skip
# Where the distributions are that SciPy measures: (start, length).
WITHIN = {"landau": (0.0, 2.0), "kstwo": (0.3, 0.2), "levy_stable": (-0.5, 2.0), "studentized_range": (1.0, 3.0),
          "irwinhall": (1.0, 2.0)}  # fmt: skip
# Shape parameters without a derivative.
HELD = {"ksone": {0}, "erlang": {0}}
# The density jumps at multiples of 1/3.
STEPS = {"ksone": 2e-4}
# SciPy integrates these numerically, or finds their quantiles roughly: how far differences of its values go.
ROUGH = {"genhyperbolic": 1e-5}
DISCRETE = {
    "poisson": (2.6,), "binom": (6, 0.35), "bernoulli": (0.35,), "geom": (0.35,), "nbinom": (2.7, 0.4),
    "planck": (0.6,), "betabinom": (6, 1.4, 2.3), "logser": (0.6,), "dlaplace": (0.8,), "skellam": (2.2, 1.4),
    "betanbinom": (4, 3.3, 2.4), "boltzmann": (0.4, 9), "yulesimon": (2.3,), "zipf": (2.6,), "zipfian": (1.3, 9),
    "nchypergeom_fisher": (20, 7, 9, 1.7), "nchypergeom_wallenius": (20, 7, 9, 1.7),
}  # fmt: skip
INTEGERS = {
    "binom": {0}, "betabinom": {0}, "betanbinom": {0}, "boltzmann": {1}, "zipfian": {1},
    "nchypergeom_fisher": {0, 1, 2}, "nchypergeom_wallenius": {0, 1, 2},
}  # fmt: skip

# Methods of the parameters alone: test_summaries_of_laws.py.
SUMMARIES = ("mean", "var", "std", "entropy", "moment", "stats", "support")
METHODS = [tuple(name.split(".")[1:]) for name, rule in REGISTRY.items()
           if name.startswith("stats.") and name.count(".") == 2 and rule.gradients is not None
           and name.rpartition(".")[2] not in SUMMARIES]  # fmt: skip
KINDS = {name: one.kind for name, one in stats.OBJECTS.items()}
CONTINUOUS = [pair for pair in METHODS if KINDS[pair[0]] == "continuous"]
MEASURED = [pair for pair in CONTINUOUS if REGISTRY[".".join(["stats", *pair])].order == "first"]
CONTINUOUS = [pair for pair in CONTINUOUS if pair not in MEASURED]
# SciPy takes half a minute for one of these; their rule is that of the other distributions.
MEASURED = [
    pair for pair in MEASURED if pair[0] not in ("levy_stable", "studentized_range") or pair[1] in ("cdf", "sf")
]
COUNTED = [pair for pair in METHODS if KINDS[pair[0]] == "discrete"]


def places(theirs, shapes):
    """Points with the probabilities 0.17, 0.41 and 0.83 below them."""
    return np.asarray(theirs.ppf([0.17, 0.41, 0.83], *shapes))


def with_held(f, name):
    """(f as a function of its other arguments, these): shape parameters without a derivative stay numbers."""
    held, shapes = HELD.get(name, set()), SHAPES.get(name, ())
    free = [np.asarray(s) for i, s in enumerate(shapes) if i not in held]

    def call(x, *given):
        given = iter(given)
        return f(x, *[s if i in held else next(given) for i, s in enumerate(shapes)], *given)

    return call, free


@pytest.mark.parametrize(("name", "method"), CONTINUOUS)
def test_continuous_method_is_differentiable_in_every_argument(name, method):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    shapes = [np.asarray(s) for s in SHAPES.get(name, ())]
    tail = [np.asarray(0.3), np.asarray(1.7)]
    x = places(getattr(scipy.stats, name), shapes)
    first = np.array([0.13, 0.41, 0.86]) if method in ("ppf", "isf") else tail[0] + tail[1] * x
    # SciPy finds some quantiles by iteration, and computes some tails by quadrature.
    rtol = ROUGH.get(name, 2e-6 if method in ("ppf", "isf") else 1e-7)
    # The second order of what follows from these: of a few distributions.
    second = method in ("logpdf", "cdf", "logsf", "ppf") or name in ("norm", "gamma", "beta", "t", "foldnorm")
    ours, free = with_held(ours, name)
    check(ours, with_held(theirs, name)[0], [first, *free, *tail], step=STEPS.get(name, 2e-3), rtol=rtol, second=second)


@pytest.mark.parametrize(("name", "method"), MEASURED)
def test_tails_of_a_measured_density_have_its_values_for_slopes(name, method):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    inverse = method in ("ppf", "isf")
    with_shapes = lambda f: lambda x, loc, scale: f(x, *SHAPES.get(name, ()), loc, scale)
    at = [0.3 if inverse else 0.4 + 1.1 * float(scipy.stats.uniform.ppf(0.35, *WITHIN[name])), 0.4, 1.1]
    found = ag.grad(with_shapes(ours), argnums=(0, 1, 2))(*at)
    h = 5e-3
    for i, g in enumerate(found):
        ends = [with_shapes(theirs)(*[v + k * h * (j == i) for j, v in enumerate(at)]) for k in (1, -1, 2, -2)]
        expected = (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)
        np.testing.assert_allclose(g, expected, rtol=1e-4 if method == "isf" else 2e-6)  # SciPy's quantiles are rough
    with pytest.raises(TypeError, match="order: first"):
        ag.grad(ag.grad(lambda x: with_shapes(ours)(x, *at[1:])))(at[0])
    for shape in SHAPES.get(name, ())[:1]:
        with pytest.raises(TypeError, match="requires grad"):
            ag.grad(lambda shape: ours(at[0], shape, *SHAPES[name][1:]))(float(shape))


@pytest.mark.parametrize(("name", "method"), [p for p in CONTINUOUS if p[1] in ("logpdf", "logcdf", "ppf")])
def test_continuous_method_serves_numbers_as_it_does_arrays(name, method):
    ours, shapes = getattr(getattr(stats, name), method), SHAPES.get(name, ())
    x = 0.3 if method in ("ppf", "isf") else float(places(getattr(scipy.stats, name), shapes)[1])
    ours, free = with_held(ours, name)
    several = [ag.tensor(np.full(2, v), requires_grad=True) for v in (x, *free)]
    single = [ag.tensor(float(v), requires_grad=True) for v in (x, *free)]
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
            return f(k, *values)

        return call

    check(called(ours), called(theirs), real, step=2e-3, rtol=1e-7)


def test_every_distribution_with_shapes_has_a_sample():
    need = {name for name, kind in KINDS.items() if kind != "multivariate" and getattr(scipy.stats, name).shapes}
    assert need == {*SHAPES, *DISCRETE}


@pytest.mark.parametrize("name", ["norm", "gamma", "beta"])
def test_interval_is_recorded_by_the_quantiles(name):
    shapes = SHAPES.get(name, ())

    def ends(c, *shapes):
        low, high = getattr(stats, name).interval(c, *shapes, loc=0.3)
        again = getattr(stats, name)(*shapes, loc=0.3).interval(c)
        assert (float(low), float(high)) == (float(again[0]), float(again[1]))
        return low * 2.0 + high

    plain = getattr(scipy.stats, name).interval(0.8, *shapes, loc=0.3)
    assert stats_interval(name, [0.8], shapes) == [plain]
    with ag.number_policy("off"):
        found = ag.grad(ends, argnums=tuple(range(1 + len(shapes))))(0.8, *shapes)
    for i, g in enumerate(found):
        args = [0.8, *shapes]
        moved = [args[:i] + [args[i] + h] + args[i + 1 :] for h in (1e-6, -1e-6)]
        above, below = (getattr(scipy.stats, name).interval(*a, loc=0.3) for a in moved)
        expected = ((above[0] - below[0]) * 2.0 + above[1] - below[1]) / 2e-6
        np.testing.assert_allclose(g, expected, rtol=1e-6)


def stats_interval(name, confidences, shapes):
    low, high = getattr(stats, name).interval(confidences, *shapes, loc=0.3)
    return list(zip(low, high, strict=True))


def test_interval_outside_of_probabilities_is_refused_as_by_scipy():
    with pytest.raises(ValueError, match="between 0 and 1 inclusive"):
        stats.norm.interval(1.5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a: stats.gamma.expect(lambda x: x, args=(a,)), "integrate.quad of the function times pdf has one"),
        (lambda a: stats.gamma.rvs(a), r"ppf\(u\) of uniform numbers u has one"),
    ],
)
def test_a_method_without_a_rule_says_what_has_one(call, text):
    with pytest.raises(TypeError, match=text):
        ag.grad(lambda a: np.sum(call(a)[0]))(2.0)


STANDARD = [
    (name, shapes, method)
    for name, shapes in [
        ("norm", ()),
        ("logistic", ()),
        ("t", (4.0,)),
        ("gamma", (2.3,)),
        ("beta", (2.0, 3.0)),
        ("expon", ()),
    ]
    for method in ("_pdf", "_logpdf", "_cdf", "_sf", "_logcdf", "_logsf", "_ppf", "_isf")
]


@pytest.mark.parametrize(("name", "shapes", "method"), STANDARD)
def test_methods_of_the_standard_form_are_recorded_within_the_support(name, shapes, method):
    at = np.array([0.3, 0.6])

    def f(x, *s):
        return np.sum(getattr(getattr(scipy.stats, name), method)(x, *s))

    value, gradient = ag.value_and_grad(f, argnums=tuple(range(1 + len(shapes))))(at, *shapes)
    assert value == pytest.approx(f(at, *shapes), rel=1e-9)
    h = 1e-6
    for i, found in enumerate(gradient[0]):
        step = h * (np.arange(2) == i)
        assert found == pytest.approx((f(at + step, *shapes) - f(at - step, *shapes)) / (2 * h), rel=1e-6, abs=1e-8)
    for i, found in enumerate(gradient[1:]):
        low, high = ([s + sign * h * (i == j) for j, s in enumerate(shapes)] for sign in (-1, 1))
        assert found == pytest.approx((f(at, *high) - f(at, *low)) / (2 * h), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("name", "method", "x"), [("expon", "_pdf", -1.0), ("gamma", "_cdf", -0.5), ("norm", "_ppf", 1.5)]
)
def test_beyond_the_support_the_public_method_is_named(name, method, x):
    shapes = (2.3,) if name == "gamma" else ()
    with pytest.raises(ag.scipy.NotDifferentiable, match=rf"support.*use {method[1:]}"):
        ag.grad(lambda x: getattr(getattr(scipy.stats, name), method)(x, *shapes))(x)
    found = ag.grad(lambda x: getattr(getattr(scipy.stats, name), method[1:])(x, *shapes))(x)
    assert found == 0.0 or np.isnan(found)
