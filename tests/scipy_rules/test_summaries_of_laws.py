"""The class of summaries: mean, variance, entropy, median, moments and support of every distribution by its parameters.

Values are SciPy's. The derivative along a direction of all parameters is held to differences of SciPy's values, where
SciPy computes them quickly; those that SciPy integrates are drawn from.
"""

import warnings

import mpmath
import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.stats
from test_distributions import DISCRETE, HELD, INTEGERS, KINDS, SHAPES, WITHIN

import arraygrad as ag
from arraygrad.scipy import stats
from arraygrad.scipy._quadrature import expectation
from arraygrad.scipy.stats._univariate import FAMILIES

# Laws of which SciPy integrates the summaries, for seconds each.
SLOW = {"gompertz", "halfgennorm", "gennorm", "betanbinom", "zipf", "yulesimon", "levy_stable",
        "studentized_range", "kstwo", "ksone", "landau", "genhyperbolic", "vonmises", "dpareto_lognorm",
        "geninvgauss", "norminvgauss", "gausshyper", "jf_skew_t", "rel_breitwigner", "wrapcauchy", "vonmises_line",
        "kstwobign", "nchypergeom_fisher", "nchypergeom_wallenius", "truncweibull_min", "kappa4", "johnsonsb",
        "powernorm", "powerlognorm", "burr", "burr12", "exponweib", "exponpow", "nakagami", "foldcauchy",
        "tukeylambda", "irwinhall", "crystalball", "recipinvgauss", "genexpon"}  # fmt: skip
NAMES = [name for name, kind in KINDS.items() if kind != "multivariate" and name not in SLOW]
METHODS = ("mean", "var", "std", "entropy", "median", "support")


def parameters(name):
    """(all parameters, places of those with a derivative)."""
    discrete = KINDS[name] == "discrete"
    shapes = (DISCRETE if discrete else SHAPES).get(name, ())
    held = (INTEGERS if discrete else HELD).get(name, set())
    if name in WITHIN:
        held = set(range(len(shapes)))
    given = [*shapes, 2] if discrete else [*shapes, 0.3, 1.7]
    free = [i for i in range(len(shapes)) if i not in held]
    return given, free if discrete else [*free, len(shapes), len(shapes) + 1]


def total(found):
    return sum((i + 1.0) * one for i, one in enumerate(found)) if isinstance(found, tuple) else found


def hold(name, call, rtol=1e-6):
    """The derivative of `call(distribution, *parameters)` by each of the parameters."""
    given, free = parameters(name)

    def at(module, moved):
        values = list(given)
        for i, value in zip(free, moved, strict=True):
            values[i] = value
        return total(call(getattr(module, name), *values))

    x = np.array([float(given[i]) for i in free])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, found = ag.value_and_grad(lambda x: at(stats, [x[i] for i in range(len(free))]))(x)
        np.testing.assert_array_equal(np.asarray(value), np.asarray(at(scipy.stats, x)))
        for i in range(len(free)):
            h = 1e-3 * max(abs(x[i]), 0.1)
            ends = [float(at(scipy.stats, x + k * h * (np.arange(len(x)) == i))) for k in (1, -1, 2, -2)]
            expected = (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)
            if np.isfinite(expected):
                size = abs(expected) + np.max(np.abs(found)) + 1e-3 * np.max(np.abs(ends))
                assert abs(found[i] - expected) <= rtol * size, (name, i, found[i], expected)


@pytest.mark.parametrize("name", NAMES)
def test_summaries_are_differentiable_by_the_parameters(name):
    if not parameters(name)[1]:
        pytest.skip("no parameter has a derivative")
    for method in METHODS:
        if KINDS[name] == "discrete" and method in ("median", "support"):
            continue
        if method == "mean" and name in ("cauchy", "halfcauchy", "levy", "levy_l", "foldcauchy", "skewcauchy"):
            continue
        hold(name, lambda dist, *given, method=method: getattr(dist, method)(*given))


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "lognorm", "gumbel_r", "poisson", "binom", "nbinom"])
def test_moments_are_differentiable_by_the_parameters(name):
    hold(name, lambda dist, *given: dist.moment(3, *given))
    hold(name, lambda dist, *given: dist.stats(*given, moments="mvsk"))
    assert isinstance(getattr(stats, name)(*[ag.asarray(float(v)) for v in SHAPES.get(name, ())]).stats("mv")
                      if name in SHAPES else (0.0,), tuple)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shapes", "method"),
    [
        ("gamma", (2.3,), "entropy"), ("weibull_min", (1.7,), "var"), ("chi", (2.6,), "var"),
        ("truncnorm", (-0.7, 1.9), "mean"), ("genpareto", (-0.3,), "var"), ("poisson", (2.6,), "entropy"),
    ],
)  # fmt: skip
def test_second_derivatives_of_summaries(name, shapes, method):
    f = getattr(getattr(stats, name), method)
    x = np.array(shapes)
    found = np.asarray(ag.hessian(lambda v: f(*[v[i] for i in range(len(shapes))]))(x))
    slope = ag.grad(lambda v: f(*[v[i] for i in range(len(shapes))]))
    for i in range(len(shapes)):
        h = 1e-4 * (np.arange(len(shapes)) == i)
        expected = (np.asarray(slope(x + h)) - np.asarray(slope(x - h))) / 2e-4
        np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-12)


def test_shapes_loc_and_scale_are_broadcast():
    a, loc, scale = np.array([[1.3], [2.4]]), np.array([0.1, 0.4, -0.3]), 1.7
    for method in ("mean", "var", "std", "entropy", "median"):
        ours, theirs = getattr(stats.gamma, method), getattr(scipy.stats.gamma, method)
        tensors = [ag.tensor(v, requires_grad=True) for v in (a, loc, scale)]
        found = ours(*tensors)
        np.testing.assert_array_equal(found.numpy(), theirs(a, loc, scale))
        gradients = ag.autograd.grad(found.sum(), tensors, allow_unused=True)
        for i, (g, value) in enumerate(zip(gradients, (a, loc, scale), strict=True)):
            h = 1e-5
            moved = [[v + k * h * (j == i) for j, v in enumerate((a, loc, scale))] for k in (1, -1)]
            expected = (np.sum(theirs(*moved[0])) - np.sum(theirs(*moved[1]))) / (2.0 * h)
            np.testing.assert_allclose(0.0 if g is None else g.numpy().sum(), expected, rtol=1e-6, atol=1e-8)
            assert g is None or g.shape == np.shape(value)


def test_parameters_that_do_not_count_have_their_shape():
    loc = np.zeros((2, 3))
    value, found = ag.value_and_grad(lambda s: stats.halfnorm.var(loc, s).sum())(1.9)
    np.testing.assert_allclose([value, found], [6 * 1.9**2 * (1 - 2 / np.pi), 12 * 1.9 * (1 - 2 / np.pi)], rtol=1e-12)


def test_a_frozen_distribution_hands_its_parameters_on():
    def f(a):
        law = stats.gamma(a, scale=2.0)
        mean, var = law.stats("mv")
        low, _high = law.support()
        return law.mean() + law.var() + law.entropy() + law.moment(2) + mean + var + low + 0.0 * a

    np.testing.assert_allclose(
        ag.grad(f)(3.0), 2.0 * (2.0 + 4.0) + 1.0 - 2.0 * scipy.special.polygamma(1, 3.0) + 4.0 * 7.0, rtol=1e-10
    )


def test_a_mean_that_does_not_exist_has_no_derivative():
    assert np.isnan(ag.grad(lambda b: stats.pareto.var(b))(1.5))


# -- densities with kinks: an integral over one has few digits, its derivatives fewer ----------------------------------


def entropy_of_a_trapezoid(c, d):
    """JKB 26: the logarithm of half the sum of both sides, and half of what the slopes' share of the area is."""
    return 0.5 * (1.0 - d + c) / (1.0 + d - c) + np.log(0.5 * (1.0 + d - c))


@pytest.mark.parametrize(("c", "d"), [(0.3, 0.7), (0.05, 0.95), (0.4, 0.41)])
def test_entropy_of_a_trapezoid(c, d):
    def ours(v):
        return stats.trapezoid.entropy(v[0], v[1])

    def formula(v):
        return entropy_of_a_trapezoid(v[0], v[1])

    at = np.array([c, d])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ag.grad(ours)(at), ag.grad(formula)(at), rtol=1e-9)
        np.testing.assert_allclose(ag.hessian(ours)(at), ag.hessian(formula)(at), rtol=1e-7)


@pytest.mark.parametrize(("c", "d"), [(0.0, 0.5), (0.2, 1.0), (0.5, 0.5)])
def test_a_side_without_length_is_refused(c, d):
    with pytest.raises(TypeError, match="has too few digits"):
        ag.grad(lambda v: stats.trapezoid.entropy(v[0], v[1]))(np.array([c, d]))


# By mpmath at 30 digits: derivatives by beta and m.
CRYSTAL_BALLS = {
    ("entropy", 2.0, 3.0): [-0.18259584396775070, -0.03603193945607467],
    ("mean", 2.0, 3.5): None, ("var", 1.2, 3.8): None, ("entropy", 0.7, 1.8): None,
}  # fmt: skip


@pytest.mark.parametrize(("method", "beta", "m"), CRYSTAL_BALLS)
def test_summaries_of_a_gaussian_with_a_tail_of_a_power(method, beta, m):
    expected = CRYSTAL_BALLS[method, beta, m]
    at = np.array([beta, m])
    if expected is None:
        f, h = getattr(scipy.stats.crystalball, method), 2e-3
        expected = [
            (8.0 * (f(*(at + e)) - f(*(at - e))) - (f(*(at + 2 * e)) - f(*(at - 2 * e)))) / (12.0 * h)
            for e in h * np.eye(2)
        ]  # fmt: skip
    found = ag.grad(lambda v: getattr(stats.crystalball, method)(v[0], v[1]))(at)
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("a", [0.5, -0.3])
def test_entropy_of_a_skew_cauchy_law_does_not_depend_on_the_skew(a):
    assert abs(ag.grad(stats.skewcauchy.entropy)(a)) < 1e-9


def test_moments_of_a_beta_negative_binomial_law():
    """Its tail is a power, of which a sum has few digits: the formulas of JKK 6."""
    for method in ("mean", "var", "std"):
        f, at, h = getattr(scipy.stats.betanbinom, method), np.array([9.3, 1.4]), 1e-3
        found = ag.grad(lambda v, method=method: getattr(stats.betanbinom, method)(5, v[0], v[1]))(at)
        ends = [[f(5, *(at + k * e)) for k in (1, -1, 2, -2)] for e in h * np.eye(2)]
        expected = [(8.0 * (e[0] - e[1]) - (e[2] - e[3])) / (12.0 * h) for e in ends]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("place", [0.2, 0.31, 0.5, 0.8])
def test_an_integral_over_a_kink_is_seen_by_its_derivatives(place):
    """Divided elsewhere than at the kinks the value of this mean has six digits, and its derivatives have four."""
    c, d = (ag.tensor(v, requires_grad=True) for v in (0.3, 0.7))
    found, size = expectation(
        lambda t, logs: -logs, FAMILIES["trapezoid"].logpdf, [c, d], [np.asarray(place)], np.zeros(()), np.ones(())
    )
    assert float(found.detach()) == pytest.approx(entropy_of_a_trapezoid(0.3, 0.7), rel=1e-3)
    assert size == 0.0


# -- sums over laws of counts: of what is beyond the last place, and of places without probability ---------------------

# Laws of counts: shapes, those without a derivative, the places that hold all of the law to the last bits.
COUNTS = {
    ("zipf", (6.6,), ()): (1, 20_000),
    ("zipf", (12.0,), ()): (1, 2000),
    ("zipfian", (6.6, 1000), (1,)): (1, 1001),
    ("zipfian", (3.2, 10_000), (1,)): (1, 10_001),
    ("yulesimon", (9.0,), ()): (1, 20_000),
    ("yulesimon", (14.5,), ()): (1, 20_000),
    ("betanbinom", (5, 9.3, 1.4), (0,)): (0, 20_000),
    ("betanbinom", (50, 12.3, 30.4), (0,)): (0, 20_000),
    ("skellam", (15.0, 8.0), ()): (-150, 200),
    ("skellam", (200.0, 8.0), ()): (-150, 600),
    ("skellam", (0.01, 0.02), ()): (-60, 60),
    ("poisson", (0.6,), ()): (0, 200),
    ("geom", (0.01,), ()): (1, 6000),
    ("nbinom", (0.3, 0.01), ()): (0, 9000),
    ("logser", (0.9,), ()): (1, 900),
    ("planck", (4.0,), ()): (0, 200),
    ("dlaplace", (0.8,), ()): (-300, 300),
    ("boltzmann", (0.001, 3000), (1,)): (0, 3000),
    ("betabinom", (5, 2.3, 0.63), (0,)): (0, 6),
}


def long_sum(name, shapes, places, method):
    """By all places, of SciPy's probabilities."""
    k = np.arange(*places, dtype=float)
    with np.errstate(all="ignore"):
        logs = getattr(scipy.stats, name).logpmf(k, *shapes)
    p = np.exp(logs)
    if method == "entropy":
        return -np.sum(p * np.where(p > 0.0, logs, 0.0))
    mean = np.sum(p * k)
    if method == "mean":
        return mean
    central = [np.sum(p * (k - mean) ** n) for n in (2, 3)]
    return central[0] if method == "var" else central[1] / central[0] ** 1.5


@pytest.mark.parametrize("method", ["mean", "var", "entropy", "skew"])
@pytest.mark.parametrize("law", COUNTS, ids=lambda law: f"{law[0]}{law[1]}")
def test_sums_over_counts_have_all_their_digits(law, method):
    name, shapes, held = law
    dist = getattr(stats, name)
    for i in [i for i in range(len(shapes)) if i not in held]:

        def at(t, i=i):
            return [t if j == i else v for j, v in enumerate(shapes)]

        def ours(t, at=at):
            return dist.stats(*at(t), moments="s") if method == "skew" else getattr(dist, method)(*at(t))

        def plain(t, at=at):
            return long_sum(name, at(t), COUNTS[law], method)

        known = plain(shapes[i])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == "entropy" and abs(dist.entropy(*shapes) - known) > 1e-4 * abs(known):  # SciPy's has no digits
                with pytest.raises(TypeError, match="has too few digits"):
                    ag.grad(ours)(shapes[i])
                continue
            found = ag.grad(ours)(shapes[i])
        h = 1e-3 * shapes[i]
        ends = [plain(shapes[i] + k * h) for k in (1, -1, 2, -2)]
        expected = (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)
        assert abs(found - expected) <= 1e-7 * max(abs(expected), 1e-6) + 1e-9 * abs(known) / shapes[i]


def zeta_ratio(n):
    return lambda a: mpmath.zeta(a - n) / mpmath.zeta(a)


@pytest.mark.parametrize(("a", "method"), [(2.1, "mean"), (2.5, "mean"), (3.3, "var"), (6.6, "var"), (6.6, "entropy")])
def test_slow_powers_against_the_zeta_function(a, method):
    """First and second derivative, of sums of which a million terms have few digits."""
    formula = {
        "mean": zeta_ratio(1),
        "var": lambda a: zeta_ratio(2)(a) - zeta_ratio(1)(a) ** 2,
        "entropy": lambda a: mpmath.log(mpmath.zeta(a)) - a * mpmath.zeta(a, derivative=1) / mpmath.zeta(a),
    }[method]

    def ours(a):
        return getattr(stats.zipf, method)(a)

    with mpmath.workdps(30):
        expected = [float(mpmath.diff(formula, mpmath.mpf(a), n)) for n in (1, 2)]
    np.testing.assert_allclose([ag.grad(ours)(a), ag.hessian(ours)(a)], expected, rtol=1e-9)


@pytest.mark.parametrize(("a", "method"), [(2.05, "mean"), (3.05, "var")])
def test_a_sum_that_probabilities_do_not_complete_is_refused(a, method):
    with pytest.raises(TypeError, match="has too few digits"):
        ag.grad(lambda a: getattr(stats.zipf, method)(a))(a)


@pytest.mark.parametrize("name", ["genextreme", "genpareto"])
@pytest.mark.parametrize("c", [-0.34, -0.05, -0.0055, -1e-4, 0.0, 1e-7, 0.003, 0.35])
def test_entropies_of_extreme_values_near_the_shape_zero(name, c):
    """The support ends at 1 / c, so that integrals over it lose digits; the entropies are linear in c."""
    gradient = ag.grad(lambda v: getattr(stats, name).entropy(v[0], 0.4, v[1]))(np.array([c, 1.7]))
    plain, step = getattr(scipy.stats, name).entropy, 1e-3
    slope = (plain(c + step) - plain(c - step)) / (2.0 * step)
    np.testing.assert_allclose(gradient, [slope, 1.0 / 1.7], rtol=1e-9)


@pytest.mark.parametrize("name", ["gamma", "norm", "beta", "poisson", "geom"])
@pytest.mark.parametrize("given", [{}, {"moments": "mv"}, {"moments": "m"}], ids=str)
def test_moments_by_default_are_mean_and_variance(name, given):
    shapes = {"gamma": (2.1,), "norm": (0.3, 1.2), "beta": (2.0, 3.0), "poisson": (1.7,), "geom": (0.3,)}[name]

    def f(*s):
        found = getattr(scipy.stats, name).stats(*s, **given)
        return found[0] + 2.0 * found[1] if isinstance(found, tuple) else found * 1.0

    value, gradient = ag.value_and_grad(f, argnums=tuple(range(len(shapes))))(*shapes)
    assert value == pytest.approx(f(*shapes), rel=1e-12)
    h = 1e-6
    for i, found in enumerate(gradient):
        low, high = ([s + sign * h * (i == j) for j, s in enumerate(shapes)] for sign in (-1, 1))
        assert found == pytest.approx((f(*high) - f(*low)) / (2 * h), rel=1e-6, abs=1e-8)
