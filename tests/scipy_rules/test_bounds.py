"""Solutions at their bounds: they follow a bound that is active, and what else is free follows with them.

May import: arraygrad, numpy, pytest, SciPy.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import interpolate, optimize, stats

TARGET = np.array([1.0, 1.5])
START = np.array([-1.0, 0.0])
COUPLED = np.array([[2.0, 0.6], [0.3, 1.0]])


def of_minimize_scalar(u):
    return optimize.minimize_scalar(lambda x: (x - 1.0) ** 2, bounds=(0, u), method="bounded").x


def of_minimize(u):
    return optimize.minimize(lambda x: ((x - 1.0) ** 2).sum(), np.array([0.1]), bounds=[(0, u)]).x[0]


def of_least_squares(u):
    return optimize.least_squares(lambda x: x - 1.0, [0.1], bounds=(0, u)).x[0]


def of_least_squares_by_lists(u):
    return optimize.least_squares(lambda x: x - 1.0, [0.1], bounds=([0], [u])).x[0]


def of_lsq_linear(u):
    return optimize.lsq_linear(np.eye(2), np.ones(2), bounds=(0, u)).x[0]


SOLVERS = [of_minimize_scalar, of_minimize, of_least_squares, of_least_squares_by_lists, of_lsq_linear]


@pytest.mark.parametrize("solution", SOLVERS)
def test_a_solution_at_its_bound_follows_the_bound(solution):
    assert ag.grad(solution)(0.5) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("solution", SOLVERS)
def test_a_solution_inside_does_not_depend_on_the_bound(solution):
    assert ag.grad(solution)(3.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("bounded", [
    lambda u: optimize.minimize(
        lambda x: ((COUPLED @ x - TARGET) ** 2).sum(), START, bounds=[(None, u), (None, None)], tol=1e-12).x,
    lambda u: optimize.least_squares(
        lambda x: COUPLED @ x - TARGET, START, bounds=(-np.inf, [u, np.inf]), xtol=1e-14).x,
    lambda u: optimize.lsq_linear(COUPLED, TARGET, bounds=(-np.inf, [u, np.inf])).x,
], ids=["minimize", "least_squares", "lsq_linear"])  # fmt: skip
def test_free_elements_follow_an_active_bound_by_their_own_equation(bounded):
    # With x0 = u the other element is c.(t - u a) / c.c, for the columns a and c of the matrix.
    a, c = COUPLED.T
    found = ag.jacobian(bounded)(-0.5)
    np.testing.assert_allclose(found, [1.0, -(c @ a) / (c @ c)], rtol=1e-6)


def test_at_a_bound_the_function_of_one_variable_does_not_matter():
    found = ag.grad(lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2, bounds=(0, 0.5), method="bounded").x)
    assert found(1.0) == pytest.approx(0.0, abs=1e-12)
    assert found(0.3) == pytest.approx(1.0, abs=1e-9)
    assert found(0.49999) == pytest.approx(1.0, abs=1e-9)


def test_bounds_without_a_rule_are_refused():
    with pytest.raises(TypeError, match="curve_fit: bounds require grad"):
        ag.grad(lambda u: optimize.curve_fit(lambda x, a: a * x, np.ones(3), np.ones(3), bounds=(0, u))[0][0])(0.5)
    with pytest.raises(TypeError, match="linprog: bounds require grad"):
        ag.grad(lambda u: optimize.linprog(np.array([-1.0]), bounds=[(0, u)]).fun)(0.5)


def test_the_smoothing_of_a_spline_is_refused():
    x = np.linspace(0.0, 6.0, 15)
    with pytest.raises(TypeError, match="UnivariateSpline: argument 's' requires grad"):
        ag.grad(lambda s: interpolate.UnivariateSpline(x, np.sin(x), s=s)(3.3))(3.0)


def test_densities_with_bessel_functions_have_their_slope_at_zero():
    assert ag.grad(lambda b: stats.rice.logpdf(0.5, b))(0.0) == pytest.approx(0.0, abs=1e-15)
    assert ag.grad(lambda b: stats.rice.pdf(0.5, b))(0.0) == pytest.approx(0.0, abs=1e-15)
    assert ag.grad(lambda k: stats.vonmises.logpdf(0.7, k))(0.0) == pytest.approx(np.cos(0.7), rel=1e-14)
    # Far from zero the scaled function is used: d log I0(z) / dz is 1 - 1 / (2 z) + O(z^-2).
    assert ag.grad(lambda k: stats.vonmises.logpdf(0.0, k))(1e4) == pytest.approx(0.5e-4, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "y", "before", "shape", "after"),
    [
        ("beta", 0.0, (), 1.0, (1.0,)), ("beta", 1.0, (2.0,), 1.0, ()), ("gamma", 0.0, (), 1.0, ()),
        ("chi2", 0.0, (), 2.0, ()), ("nakagami", 0.0, (), 0.5, ()), ("weibull_min", 0.0, (), 1.0, ()),
        ("powerlaw", 0.0, (), 1.0, ()),
    ],
)  # fmt: skip
def test_where_a_density_jumps_in_its_shape_the_slope_is_not_finite(name, y, before, shape, after):
    # The density at the end is 0 for a greater shape and infinite for a smaller one.
    for method in ("logpdf", "pdf"):
        f = getattr(getattr(stats, name), method)
        assert ag.grad(lambda s: f(y, *before, s, *after))(shape) == -np.inf  # noqa: B023
        inside = np.array([y, 0.3])
        found = ag.grad(lambda s: f(inside, *before, s, *after)[1])(shape)  # noqa: B023
        ends = [f(0.3, *before, shape + h, *after) for h in (1e-5, -1e-5)]
        np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("lognorm", (0.7,)), ("weibull_min", (1.7,)), ("beta", (2.1, 3.3)), ("invgauss", (0.8,)), ("ncx2", (2.7, 1.8)),
        ("johnsonsb", (0.4, 1.6)), ("gamma", (2.3,)), ("burr", (2.8, 2.2)), ("dpareto_lognorm", (0.2, 0.7, 2.2, 1.6)),
    ],
)  # fmt: skip
def test_at_an_end_that_no_shape_moves_nothing_depends_on_the_shapes(name, shapes):
    for method in ("cdf", "sf", "logsf", "pdf"):
        f = getattr(getattr(stats, name), method)
        both = np.array([0.0, 0.6])
        places = tuple(range(len(shapes)))
        at_end = ag.grad(lambda *s: f(both, *s)[0], argnums=places)(*shapes)  # noqa: B023
        np.testing.assert_array_equal(at_end, 0.0)
        inside = ag.grad(lambda *s: f(both, *s)[1], argnums=places)(*shapes)  # noqa: B023
        alone = ag.grad(lambda *s: f(0.6, *s), argnums=places)(*shapes)  # noqa: B023
        np.testing.assert_allclose(inside, alone, rtol=1e-12)
        again = ag.grad(ag.grad(lambda s: f(both, s, *shapes[1:])[0]))(shapes[0])  # noqa: B023
        assert again == 0.0


def test_at_an_end_that_a_shape_moves_the_logarithm_of_nothing_has_no_slope():
    for name, x, shapes in (("truncnorm", -0.7, (-0.7, 1.9)), ("tukeylambda", -1.0 / 0.3, (0.3,))):
        assert np.isneginf(getattr(stats, name).logcdf(x, *shapes))
        assert np.isnan(ag.grad(lambda a: getattr(stats, name).logcdf(x, a, *shapes[1:]))(shapes[0]))  # noqa: B023


@pytest.mark.parametrize("skew", [0.0, 1e-7, 1e-3, 0.49, 0.51, -0.3])
def test_pearsons_third_distribution_is_smooth_where_it_is_normal(skew):
    # The slope of the log-density in the skew is (y^3 - 3 y) / 6 at zero, and continuous there.
    found = ag.grad(lambda s: stats.pearson3.logpdf(0.8, s))(skew)
    near = ag.grad(lambda s: stats.pearson3.logpdf(0.8, s))(skew + 1e-6)
    if abs(skew) < 1e-6:
        assert found == pytest.approx((0.8**3 - 2.4) / 6.0, rel=1e-6)
    assert near == pytest.approx(found, rel=1e-5)
    f = stats.pearson3.logpdf
    if abs(skew) > 0.1:
        assert found == pytest.approx((f(0.8, skew + 1e-5) - f(0.8, skew - 1e-5)) / 2e-5, rel=1e-6)
