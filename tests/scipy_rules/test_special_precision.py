"""Derivatives of special functions and of noncentral tails, held to mpmath's functions at forty digits."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")
import scipy.stats

import arraygrad as ag
from arraygrad.scipy import special, stats

# Name -> (function of mpmath, arguments, the argument that moves).
PARTNERS = {
    "pbdv": (lambda v, x: mpmath.pcfd(v, x), (1.3, 0.8), 1),
    "pbvv": (lambda v, x: mpmath.pcfv(-v - 0.5, x), (1.3, 0.8), 1),
    "pbwa": (lambda a, x: mpmath.pcfw(a, x), (0.7, 0.8), 1),
    "elliprg": (mpmath.elliprg, (1.3, 2.4, 0.6), 0),
    "elliprj": (mpmath.elliprj, (1.3, 2.4, 0.6, 3.1), 3),
    "elliprj at equal arguments": (mpmath.elliprj, (1.3, 2.4, 0.6, 1.3), 3),
    "elliprd at equal arguments": (mpmath.elliprd, (1.3, 2.4, 1.3), 2),
    "elliprc at equal arguments": (mpmath.elliprc, (1.3, 1.3), 1),
    "ellipj": (lambda u, m: mpmath.ellipfun("sn", u, m=m), (0.8, 0.6), 1),
    "eval_sh_chebyu": (lambda n, x: mpmath.chebyu(n, 2 * x - 1), (4, 0.3), 1),
    "lpmv": (lambda m, v, x: mpmath.legenp(v, m, x), (1, 2.5, 0.4), 2),
    "comb": (mpmath.binomial, (5.3, 2.2), 0),
    "factorial": (mpmath.factorial, (3.4,), 0),
    "powm1": (lambda x, y: x**y - 1, (1.7, 0.4), 1),
    "zetac": (lambda x: mpmath.zeta(x) - 1, (2.7,), 0),
    "zeta": (mpmath.zeta, (2.7, 0.6), 0),
    "besselpoly": (lambda a, k, v: mpmath.quad(lambda t: t**k * mpmath.besselj(v, 2 * a * t), [0, 1]),
                   (0.8, 0.7, 1.4), 0),
    "itstruve0": (lambda x: mpmath.quad(lambda t: mpmath.struveh(0, t), [0, x]), (1.7,), 0),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTNERS)
def test_slope_is_that_of_mpmaths_function(case):
    reference, arguments, place = PARTNERS[case]
    ours = getattr(special, case.split(" ", maxsplit=1)[0])

    def moved(f, x):
        return f(*arguments[:place], x, *arguments[place + 1 :])

    def first(result):
        return result[0] if isinstance(result, tuple) else result

    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -10
        x = mpmath.mpf(arguments[place])
        low, middle, high = (moved(reference, x + k * h) for k in (-1, 0, 1))
        slope, second = float((high - low) / (2 * h)), float((high - 2 * middle + low) / h**2)
    found = ag.grad(lambda x: first(moved(ours, x)))
    np.testing.assert_allclose(found(arguments[place]), slope, rtol=1e-8)
    np.testing.assert_allclose(ag.grad(found)(arguments[place]), second, rtol=1e-6, atol=1e-9)


def pseudo_huber(delta, r):
    return delta**2 * (mpmath.sqrt(1 + (r / delta) ** 2) - 1)


# Name -> (function of mpmath, points where a difference of two terms has few digits or none).
NEARLY_EQUAL = {
    "gamma": (mpmath.gamma, [(-1 + 1e-10,), (-3 - 1e-8,), (1e-12,), (-0.3,)]),
    "gammaln": (lambda x: mpmath.log(abs(mpmath.gamma(x))), [(-1 + 1e-10,), (-3 - 1e-8,), (-7.5,)]),
    "beta": (mpmath.beta, [(1e-12, 2.0), (1e-12, 0.5), (1e-12, 1e-12), (5.0, 1e-9), (-1 + 1e-10, 2.5), (1e3, 1e-9),
                           (0.5, -0.5 + 1e-10), (-1.5, 1e-12), (3.0, -2 + 1e-9)]),
    "betaln": (lambda a, b: mpmath.log(mpmath.beta(a, b)), [(1e-12, 2.0), (14.0, 1e-9), (5.0, 1e-9)]),
    "poch": (lambda z, m: mpmath.gammaprod([z + m], [z]),
             [(1e-6, 2.0), (-1 + 1e-12, 2.5), (-3 + 1e-10, 5.0), (-3 + 1e-10, 2.0), (-2 + 1e-9, 1e-8), (-2 + 1e-8, 0.0),
              (-2 + 1e-10, -1.0), (0.3, -0.3 + 1e-10), (5.5, 1e-9), (1e8, 0.5), (1e10, 3.0), (1e3, 1e-9),
              (-0.7, -2.3 + 1e-9), (0.3, -3.3 + 1e-9), (-7.2, 3.1), (2.5, -1.75)]),
    "binom": (mpmath.binomial,
              [(1e-10, 0.5), (1e-10, 1.0), (1e-10, 2.0), (0.0, 0.5), (0.0, 1.0), (1e-9, 3.0), (3 + 1e-9, 5.0),
               (3.0, 5 + 1e-9), (2.0, -1 + 1e-10), (1e9, 2.0), (5.5, 1e-10), (1e-9, 1e-9), (-0.5 + 1e-10, 1.5),
               (1e10, 1e-8), (-3 + 1e-9, 2.0), (100.0, 1e-12), (-7.2, 3.1)]),
    "pseudo_huber": (pseudo_huber, [(1.0, 1e-3), (1.0, 1e-9), (1e6, 1.0), (1e-9, 1.0), (1.0, -1e-4), (2.0, 3.0)]),
    "agm": (mpmath.agm, [(1.0, 1e-10), (1.0, 1e-200), (1.0, 1 + 1e-9), (1e-3, 1.0), (3.0, 1.0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", NEARLY_EQUAL)
def test_slopes_keep_nine_digits_where_terms_are_nearly_equal(name):
    reference, points = NEARLY_EQUAL[name]
    for at in points:
        leaves = [ag.tensor(v, requires_grad=True) for v in at]
        with np.errstate(all="ignore"):
            getattr(special, name)(*leaves).backward()
        for place, leaf in enumerate(leaves):
            with mpmath.workdps(500 if 0 < min(map(abs, at)) < 1e-20 else 80):
                h = mpmath.mpf(10) ** -25 * min([abs(mpmath.mpf(v)) for v in at if v])
                high, low = [
                    reference(*[mpmath.mpf(v) + side * h * (i == place) for i, v in enumerate(at)]) for side in (1, -1)
                ]
                expected = float((high - low) / (2 * h))
            np.testing.assert_allclose(leaf.grad.item(), expected, rtol=1e-9, err_msg=f"{at} {place}")


@pytest.mark.parametrize("name", NEARLY_EQUAL)
def test_slopes_of_an_array_are_those_of_its_elements(name):
    points = NEARLY_EQUAL[name][1]
    columns = [ag.tensor(np.array(column), requires_grad=True) for column in zip(*points, strict=True)]
    with np.errstate(all="ignore"):
        getattr(special, name)(*columns).sum().backward()
        for row, at in enumerate(points):
            leaves = [ag.tensor(v, requires_grad=True) for v in at]
            getattr(special, name)(*leaves).backward()
            for column, leaf in zip(columns, leaves, strict=True):
                np.testing.assert_allclose(column.grad.numpy()[row], leaf.grad.item(), rtol=1e-12)


def test_slopes_at_the_ends_of_means_and_losses():
    for name, at, expected in (
        ("agm", (1.0, 0.0), (0.0, np.inf)), ("agm", (0.0, 2.0), (np.inf, 0.0)), ("agm", (0.0, 0.0), (np.nan, np.nan)),
        ("pseudo_huber", (0.0, 2.0), (2.0, 0.0)), ("pseudo_huber", (0.0, 0.0), (0.0, 0.0)),
        ("pseudo_huber", (-1.0, 1.0), (np.nan, np.nan)), ("poch", (0.0, 0.0), (0.0, np.nan)),
    ):  # fmt: skip
        leaves = [ag.tensor(v, requires_grad=True) for v in at]
        with np.errstate(all="ignore"):
            getattr(special, name)(*leaves).backward()
        np.testing.assert_equal([t.grad.item() for t in leaves], expected, err_msg=f"{name} {at}")


def mixture(x, df, nc):
    """The noncentral chi-square distribution function: Poisson weights times central ones."""
    half = nc / 2
    return mpmath.nsum(
        lambda j: (
            mpmath.exp(-half + j * mpmath.log(half) - mpmath.loggamma(j + 1))
            * mpmath.gammainc(df / 2 + j, 0, x / 2, regularized=True)
        ),
        [0, mpmath.inf],
        method="d",
    )


@pytest.mark.parametrize(("x", "df", "nc"), [(0.05, 0.2, 0.3), (3.0, 2.7, 1.8), (40.0, 5.0, 12.0), (2.0, 9.0, 6.0)])
def test_a_noncentral_chi_square_tail_has_right_slopes(x, df, nc):
    found = ag.grad(stats.ncx2.cdf, argnums=(0, 1, 2))(x, df, nc)
    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -10
        at = [mpmath.mpf(v) for v in (x, df, nc)]
        expected = [
            float((mixture(*[v + h * (i == j) for j, v in enumerate(at)])
                   - mixture(*[v - h * (i == j) for j, v in enumerate(at)])) / (2 * h)) for i in range(3)
        ]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize(("t", "df", "nc"), [(0.7, 4.3, 0.6), (-2.0, 1.2, 1.0), (6.0, 30.0, 3.0), (0.0, 0.6, -0.4)])
def test_a_noncentral_t_tail_has_right_slopes(t, df, nc):
    def reference(t, df, nc):
        # P((Z + nc) / R <= t) over the density of R, the root of a chi-square variable by its degrees of freedom.
        norm = 2 * (df / 2) ** (df / 2) / mpmath.gamma(df / 2)
        return norm * mpmath.quad(
            lambda r: r ** (df - 1) * mpmath.exp(-df * r * r / 2) * mpmath.ncdf(t * r - nc),
            [0, 0.25, 0.5, 1, 1.5, 2, 4, 12],
        )

    found = ag.grad(stats.nct.cdf, argnums=(0, 1, 2))(t, df, nc)
    with mpmath.workdps(30):
        h = mpmath.mpf(10) ** -8
        at = [mpmath.mpf(v) for v in (t, df, nc)]
        expected = [
            float((reference(*[v + h * (i == j) for j, v in enumerate(at)])
                   - reference(*[v - h * (i == j) for j, v in enumerate(at)])) / (2 * h)) for i in range(3)
        ]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("order", [0.0, 0.4, 3.2, 25.0, -1.7])
@pytest.mark.parametrize("z", [1e-3, 0.6, 5.0, 300.0])
def test_the_bessel_function_of_densities_has_right_slopes_in_its_order(order, z):
    from arraygrad.scipy.stats._further import log_bessel_k

    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -10
        reference = lambda v, z: mpmath.log(mpmath.besselk(v, z))
        slopes = [
            float((reference(mpmath.mpf(order) + h * (1 - i), mpmath.mpf(z) + h * i)
                   - reference(mpmath.mpf(order) - h * (1 - i), mpmath.mpf(z) - h * i)) / (2 * h)) for i in range(2)
        ]  # fmt: skip
        value = float(reference(order, z))
    found = ag.value_and_grad(lambda v, z: log_bessel_k(v, z), argnums=(0, 1))(np.float64(order), np.float64(z))
    np.testing.assert_allclose(float(found[0]), value, rtol=1e-12)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("share", [1e-9, 1e-3, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("name", ["gamma", "beta", "pareto", "t", "lognorm", "weibull_min"])
def test_a_tail_by_quadrature_is_that_by_its_closed_form(name, share):
    # The rule that other distributions need, on those that do not need it: light, heavy and bounded tails.
    from arraygrad.scipy._quadrature import tail_of_density

    shapes = {"gamma": (0.6,), "beta": (0.7, 1.8), "pareto": (0.8,), "t": (1.3,), "lognorm": (1.2,),
              "weibull_min": (0.6,)}[name]  # fmt: skip
    theirs, ours = getattr(scipy.stats, name), getattr(stats, name)
    y = float(theirs.ppf(share, *shapes))

    def tail(*s):
        density = lambda y, *s: ours.logpdf(y, *s)
        lower, found = tail_of_density(density, np.asarray(y), s, theirs.cdf, theirs.sf, *theirs.support(*shapes))
        return found * 1.0 if lower else found

    places = tuple(range(len(shapes)))
    method = "logcdf" if share < 0.5 else "logsf"
    expected = ag.grad(lambda *s: getattr(ours, method)(y, *s), argnums=places)(*shapes)
    np.testing.assert_allclose(ag.grad(tail, argnums=places)(*map(np.float64, shapes)), expected, rtol=1e-6)


def test_a_tail_that_does_not_agree_with_scipys_value_is_nan():
    from arraygrad.scipy._quadrature import tail_of_density

    def half(y, a):
        return 0.5 * scipy.stats.gamma.cdf(y, a)

    right = tail_of_density(stats.gamma.logpdf, np.array([0.7]), (2.3,), scipy.stats.gamma.cdf, scipy.stats.gamma.sf,
                            0.0, np.inf)  # fmt: skip
    np.testing.assert_allclose(right[1].numpy(), scipy.stats.gamma.logcdf(0.7, 2.3), rtol=1e-10)

    def lost(a):
        return tail_of_density(stats.gamma.logpdf, 0.7, (a,), half, scipy.stats.gamma.sf, 0.0, np.inf)[1]

    assert np.isnan(ag.grad(lost)(np.float64(2.3)))
    assert ag.grad(lambda a: 0.0 * lost(a) + a)(np.float64(2.3)) == 1.0
