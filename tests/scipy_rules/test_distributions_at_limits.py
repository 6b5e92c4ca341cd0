"""The class of limits: shape parameters that are small, large or zero, and points where a density has a kink or a zero.

References are mpmath's, closed formulas, and distributions that are equal in the limit.
"""

import warnings

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")
import scipy.stats

import arraygrad as ag
from arraygrad.scipy import special, stats


def nth(f, n):
    for _ in range(n):
        f = ag.grad(f)
    return f


def argus_log_density(y, chi):
    h = chi * chi / 2
    norm = mpmath.quad(lambda s: s * s * mpmath.exp(-h * s * s), [0, 1])
    return mpmath.log(y) + mpmath.log(1 - y * y) / 2 - h * (1 - y * y) - mpmath.log(norm)


def argus_cdf(y, chi):
    h = chi * chi / 2
    return 1 - mpmath.gammainc(1.5, 0, h * (1 - y * y)) / mpmath.gammainc(1.5, 0, h)


@pytest.mark.parametrize("chi", [3e-6, 1e-5, 1e-4, 0.1, 2.7, 2.9, 8.0])
def test_argus_by_a_small_and_a_large_shape(chi):
    y = 0.5
    with mpmath.workdps(40):
        step = mpmath.mpf(chi) * mpmath.mpf(10) ** -12
        half, at = mpmath.mpf(y), mpmath.mpf(chi)
        of_log = float(mpmath.diff(lambda c: argus_log_density(half, c), at, h=step))
        of_cdf = float(mpmath.diff(lambda c: argus_cdf(half, c), at, h=step))
        density = float(mpmath.exp(argus_log_density(half, at)))
    np.testing.assert_allclose(ag.grad(lambda c: stats.argus.logpdf(y, c))(chi), of_log, rtol=1e-9)
    np.testing.assert_allclose(ag.grad(lambda c: stats.argus.cdf(y, c))(chi), of_cdf, rtol=1e-9)
    np.testing.assert_allclose(ag.grad(lambda y: stats.argus.cdf(y, chi))(y), density, rtol=1e-12)


@pytest.mark.parametrize("K", [1e-6, 1e-4, 1e-2, 0.5, 40.0])
@pytest.mark.parametrize("y", [-3.0, 0.2, 4.0])
def test_exponnorm_towards_the_normal_distribution(y, K):
    def log_density(y, K):
        z = (1 / K - y) / mpmath.sqrt(2)
        return -mpmath.log(K) + 1 / (2 * K * K) - y / K + mpmath.log(mpmath.erfc(z) / 2)

    with mpmath.workdps(60):
        at = [mpmath.mpf(y), mpmath.mpf(K)]
        by_y = float(mpmath.diff(lambda y: log_density(y, at[1]), at[0], h=mpmath.mpf(10) ** -12))
        by_k = float(mpmath.diff(lambda K: log_density(at[0], K), at[1], h=at[1] * mpmath.mpf(10) ** -12))
    np.testing.assert_allclose(ag.grad(lambda y: stats.exponnorm.logpdf(y, K))(y), by_y, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ag.grad(lambda K: stats.exponnorm.logpdf(y, K))(K), by_k, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("b", [1e-6, 0.03, 0.5])
def test_gausshyper_of_a_small_shape(b):
    def log_norm(b):
        return mpmath.log(mpmath.beta(1.7, b) * mpmath.hyp2f1(1.2, 1.7, 1.7 + b, -0.8))

    with mpmath.workdps(40):
        at = mpmath.mpf(b)
        expected = float(mpmath.log(1 - mpmath.mpf(0.3)) - mpmath.diff(log_norm, at, h=at * mpmath.mpf(10) ** -10))
    np.testing.assert_allclose(
        ag.grad(lambda b: stats.gausshyper.logpdf(0.3, 1.7, b, 1.2, 0.8))(b), expected, rtol=1e-8
    )


CENTRES = [
    # name, shapes, method, derivatives of the first, second and third order at loc
    ("logistic", (), "logpdf", (0.0, -0.5, 0.0)),
    ("logistic", (), "pdf", (0.0, -0.125, 0.0)),
    ("hypsecant", (), "logpdf", (0.0, -1.0, 0.0)),
    ("gennorm", (2.0,), "logpdf", (0.0, -2.0)),
    ("gennorm", (4.0,), "logpdf", (0.0, 0.0, 0.0)),
    ("gennorm", (1.5,), "logpdf", (0.0, -np.inf)),
    ("laplace", (), "logpdf", (0.0, np.nan)),
    ("laplace_asymmetric", (1.4,), "logpdf", (0.0, np.nan)),
    ("gennorm", (1.0,), "logpdf", (0.0, np.nan)),
    ("dgamma", (4.0,), "pdf", (0.0, 0.0)),
    ("dgamma", (3.0,), "pdf", (0.0, 0.5)),
    ("dgamma", (4.0,), "cdf", (0.0, 0.0, 0.0)),
    ("dgamma", (1.0,), "logpdf", (0.0, np.nan)),
    ("dweibull", (5.0,), "pdf", (0.0, 0.0, 0.0)),
    ("dweibull", (3.0,), "pdf", (0.0, 3.0)),
    ("gamma", (3.5,), "pdf", (0.0, 0.0)),
    ("gamma", (5.0,), "pdf", (0.0, 0.0, 0.0)),
    ("chi2", (9.0,), "pdf", (0.0, 0.0, 0.0)),
    ("beta", (3.5, 2.0), "pdf", (0.0, 0.0)),
    ("weibull_min", (4.5,), "pdf", (0.0, 0.0, 0.0)),
    ("maxwell", (), "pdf", (0.0, 2.0 * np.sqrt(2.0 / np.pi))),
]


@pytest.mark.parametrize(("name", "shapes", "method", "expected"), CENTRES)
def test_derivatives_at_loc(name, shapes, method, expected):
    f = getattr(getattr(stats, name), method)
    for loc in (0.0, 1.5):
        found = [nth(lambda x: f(x, *shapes, loc=loc), n + 1)(loc) for n in range(len(expected))]  # noqa: B023
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        # By loc the signs of odd orders change.
        found = [nth(lambda m: f(1.0 * loc, *shapes, loc=m), n + 1)(loc) for n in range(len(expected))]  # noqa: B023
        signed = [(-1) ** (n + 1) * e for n, e in enumerate(expected)]
        np.testing.assert_allclose(np.abs(found), np.abs(signed), rtol=1e-9, atol=1e-12)


def test_a_density_with_zeros_by_its_shapes():
    x = np.array([-1.0, 0.0, 0.7])
    found = ag.grad(lambda a: stats.dgamma.pdf(x, a).sum())(4.0)
    h = 1e-5
    expected = np.sum(scipy.stats.dgamma.pdf(x, 4.0 + h) - scipy.stats.dgamma.pdf(x, 4.0 - h)) / (2.0 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("skew", [0.0, 1e-7, 1e-5, -1e-5, 1e-3])
def test_pearson3_near_the_normal_distribution(skew):
    # At zero the derivative is that of the Edgeworth series, -(x^2 - 1) phi(x) / 6.
    expected = -(0.25 - 1.0) * scipy.stats.norm.pdf(0.5) / 6.0
    np.testing.assert_allclose(ag.grad(lambda s: stats.pearson3.cdf(0.5, s))(skew), expected, rtol=1e-4)


def test_noncentral_distributions_without_noncentrality_are_the_central_ones():
    for i in range(2):
        for method in ("cdf", "sf", "logpdf"):

            def of(dist, *more, i=i, method=method):
                return ag.grad(
                    lambda v: getattr(dist, method)(0.8, *[*[3.0, 6.0][:i], v, *[3.0, 6.0][i + 1 :]], *more)
                )([3.0, 6.0][i])

            np.testing.assert_allclose(of(stats.ncf, 0.0), of(stats.f), rtol=1e-10)
    np.testing.assert_allclose(ag.grad(lambda nc: stats.ncx2.cdf(0.8, 3.0, nc))(0.0), -scipy.stats.chi2.pdf(0.8, 5.0))
    found = ag.grad(lambda nc: stats.ncf.cdf(0.8, 3.0, 6.0, nc))(0.0)
    h = 1e-4
    values = [scipy.stats.ncf.cdf(0.8, 3.0, 6.0, k * h) for k in (1, 2, 3)]
    start = scipy.stats.f.cdf(0.8, 3.0, 6.0)
    np.testing.assert_allclose(
        found, (-11 * start + 18 * values[0] - 9 * values[1] + 2 * values[2]) / (6 * h), rtol=1e-6
    )


@pytest.mark.parametrize("c", [0.0, 1.0])
def test_triang_with_its_peak_at_an_end(c):
    x = 0.9
    inner = 1.0 if c == 0.0 else -1.0
    np.testing.assert_allclose(ag.grad(lambda c: stats.triang.logpdf(x, c))(c), inner)
    h = 1e-7 * inner
    expected = (scipy.stats.triang.cdf(x, c + h) - scipy.stats.triang.cdf(x, c)) / h
    np.testing.assert_allclose(ag.grad(lambda c: stats.triang.cdf(x, c))(c), expected, rtol=1e-5)


def test_beta_at_a_zero_has_its_second_derivatives():
    found = np.asarray(ag.hessian(lambda v: special.beta(v[0], v[1]))(np.array([0.5, -0.5])))
    h = 1e-4
    beta = scipy.special.beta
    mixed = (beta(0.5 + h, -0.5 + h) - beta(0.5 + h, -0.5 - h) - beta(0.5 - h, -0.5 + h) + beta(0.5 - h, -0.5 - h)) / (
        4.0 * h * h
    )
    np.testing.assert_allclose(found, found.T, rtol=1e-10)
    np.testing.assert_allclose(found[0, 1], mixed, rtol=1e-5)


# -- singular covariances, kernel density estimates -------------------------------------------------------------------


def test_a_singular_covariance():
    cov = np.diag([1.0, 0.0])
    found = ag.grad(lambda x: stats.multivariate_normal.logpdf(x, np.zeros(2), cov, allow_singular=True))
    np.testing.assert_allclose(found(np.array([0.5, 0.0])), [-0.5, 0.0])
    frozen = ag.grad(lambda m: stats.multivariate_normal(m, cov, allow_singular=True).logpdf([0.5, 0.0]))
    np.testing.assert_allclose(frozen(np.zeros(2)), [0.5, 0.0])
    v = np.array([[1.0, 0.3], [0.2, -0.7], [0.5, 0.4]])
    along = lambda module, s: module.multivariate_normal.pdf(v @ s, np.zeros(3), v @ v.T, allow_singular=True)
    s, h = np.array([0.3, 0.7]), 1e-5
    expected = [(along(scipy.stats, s + h * e) - along(scipy.stats, s - h * e)) / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(ag.grad(lambda s: along(stats, s))(s), expected, rtol=1e-7)
    with pytest.raises(TypeError, match="the covariance requires grad and is singular"):
        ag.grad(lambda c: stats.multivariate_normal.logpdf(np.zeros(2), np.zeros(2), c, allow_singular=True))(cov)
    whole = np.array([[2.0, 0.3], [0.3, 1.0]])
    allowed, plain = (
        ag.grad(lambda c: stats.multivariate_normal.logpdf([0.5, 1.0], None, c, allow_singular=singular))(whole)  # noqa: B023
        for singular in (True, False)
    )
    np.testing.assert_array_equal(allowed, plain)


ESTIMATES = {
    "integrate_box_1d": (1, lambda kde, other: kde.integrate_box_1d(-0.3, 0.9)),
    "integrate_box": (1, lambda kde, other: kde.integrate_box([-0.3], [0.9])),
    "integrate_gaussian": (1, lambda kde, other: kde.integrate_gaussian(0.3, 0.5)),
    "integrate_gaussian in two dimensions": (
        2, lambda kde, other: kde.integrate_gaussian([0.3, 0.1], np.array([[1.0, 0.2], [0.2, 0.7]]))),
    "integrate_kde": (1, lambda kde, other: kde.integrate_kde(other)),
    "integrate_kde in two dimensions": (2, lambda kde, other: kde.integrate_kde(other)),
}  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATES)
def test_integrals_of_a_kernel_density_estimate(name):
    d, call = ESTIMATES[name]
    rng = np.random.default_rng(3)
    data, weights = rng.normal(size=(d, 9)), rng.uniform(0.5, 1.5, size=9)
    away, by = rng.normal(size=(d, 9)), rng.uniform(-0.4, 0.4, size=9)

    def at(module, t):
        kde = module.gaussian_kde(data + t * away, weights=weights + t * by)
        return call(kde, module.gaussian_kde(1.1 * data + t * away))

    value, found = ag.value_and_grad(lambda t: at(stats, t))(0.0)
    np.testing.assert_allclose(value, at(scipy.stats, 0.0), rtol=1e-12)
    np.testing.assert_allclose(found, (at(scipy.stats, 1e-5) - at(scipy.stats, -1e-5)) / 2e-5, rtol=1e-7)


def test_float32_stays_float32_at_a_zero():
    x = ag.tensor(np.array([0.0, 0.5], np.float32), requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = ag.autograd.grad(stats.dgamma.pdf(x, 4.0).sum(), [x])[0]
    assert g.numpy().dtype == np.float32
    assert g.numpy()[0] == 0.0


@pytest.mark.parametrize("shapes", [(2.31, 0.9), (1.5, 0.7), (0.8, 2.7), (3.0, 0.8)])
@pytest.mark.parametrize("law", ["burr12", "burr", "mielke"])
def test_entropies_of_tails_that_fall_slowly(law, shapes):
    """Their integrals reach places of which the power in the density overflows."""
    shapes = np.array(shapes if law == "burr12" else shapes[::-1])
    theirs = getattr(scipy.stats, law).entropy
    found = ag.grad(lambda v: getattr(stats, law).entropy(v[0], v[1]))(shapes)
    for i, unit in enumerate(np.eye(2) * 1e-4):
        difference = (theirs(*(shapes + unit)) - theirs(*(shapes - unit))) / 2e-4
        assert found[i] == pytest.approx(difference, rel=1e-5)
