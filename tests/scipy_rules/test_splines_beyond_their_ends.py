"""Splines outside of their interval, periodic ones, decreasing or equal abscissas, and what SciPy solves roughly."""

import itertools
import warnings

import numpy as np
import pytest
from plain_slopes import agree

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import interpolate

import arraygrad as ag

X = np.array([0.0, 1.0, 2.5, 3.0, 4.2, 5.0])
Y = np.array([0.3, 1.2, -0.4, 0.8, 2.0, 1.1])
T = np.array([0.0, 0, 0, 0, 1, 2, 3, 3, 3, 3])
C = np.array([1.0, 0.3, -1.0, 2.0, 0.5, 0.7])
LIMITS = [(0.1, 7.0), (-1.0, 4.0), (4.0, -1.0), (0.4, 2.2), (5.2, 8.1), (-7.3, -5.1), (2.9, 3.2)]


@pytest.mark.parametrize(("a", "b"), LIMITS)
@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
def test_integrals_of_b_splines_and_polynomials(a, b, extrapolate):
    def by_keyword(c):
        return interpolate.BSpline(T, c, 3).integrate(a, b, extrapolate=extrapolate)

    def of_the_object(c):
        return interpolate.BSpline(T, c, 3, extrapolate=extrapolate).integrate(a, b)

    def between(ends):
        return interpolate.BSpline(T, 1.0 * C, 3, extrapolate=extrapolate).integrate(ends[0], ends[1])

    agree(by_keyword, C)
    agree(of_the_object, C)
    agree(between, np.array([a, b]))
    if extrapolate:  # SciPy's is nan outside
        agree(lambda y: interpolate.CubicSpline(X, y).integrate(a, b, extrapolate=extrapolate), Y)
        agree(lambda x: interpolate.CubicSpline(x, Y, extrapolate=extrapolate).integrate(a, b), X)
        agree(lambda e: interpolate.CubicSpline(X, Y, extrapolate=extrapolate).integrate(e[0], e[1]), np.array([a, b]))


@pytest.mark.parametrize("x", [0.3, 2.9, 3.4, -0.2])
def test_the_antiderivative_of_a_periodic_spline_ends_with_its_period(x):
    def periodic(c):
        return interpolate.BSpline(T, c, 3, extrapolate="periodic").antiderivative()(x)

    def cubic(y):
        ends = np.concatenate([y, y[:1]])
        return interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], ends, bc_type="periodic").antiderivative()(x)

    for f, at in ((periodic, C), (cubic, Y[:3])):
        value, _ = ag.value_and_grad(f, adopt=True)(at)
        np.testing.assert_allclose(value, f(at))
        assert np.isnan(value) == (not 0 <= x <= 3)
        if 0 <= x <= 3:
            agree(f, at)


@pytest.mark.parametrize("ext", [0, "zeros", 3, "const"])
@pytest.mark.parametrize("x", [-0.5, 0.7, 5.5])
def test_splines_of_fitpack_keep_their_rule_outside(ext, x):
    def spline(y):
        return interpolate.UnivariateSpline(X, y, s=0, ext=ext)

    for f in (
        lambda y: spline(y).derivative()(x),
        lambda y: spline(y).derivative(2).antiderivative()(x),
        lambda y: spline(y).antiderivative()(x),
        lambda y: spline(y).integral(x, 2.0),
        lambda y: spline(y).integral(6.0, x),
        lambda y: interpolate.InterpolatedUnivariateSpline(X, y, ext=ext).derivative()(x),
    ):
        agree(f, Y)
    agree(lambda b: spline(Y).integral(b, 2.0), x)
    agree(lambda b: spline(Y).derivative()(b), x)


def test_fitpacks_derivatives_refuse_places_outside():
    with pytest.raises(TypeError, match="Invalid input data"):
        ag.grad(lambda y: interpolate.UnivariateSpline(X, y, s=0).derivatives(7.0).sum(), adopt=True)(Y)


def test_a_smoothing_spline_of_a_tensor_that_needs_no_gradient_smooths():
    from arraygrad.scipy import interpolate as ours

    y = np.sin(np.arange(20.0)) + 0.3 * np.cos(np.arange(20.0) ** 2)
    found = ours.UnivariateSpline(np.arange(20.0), ag.asarray(y), s=1.0)(ag.asarray(2.3))
    np.testing.assert_allclose(found.numpy(), interpolate.UnivariateSpline(np.arange(20.0), y, s=1.0)(2.3))


@pytest.mark.parametrize("x", [0.3, 1.0, 1.4, 2.0, 2.6, -0.3])
def test_polynomials_between_decreasing_breakpoints(x):
    c, breaks = np.array([[1.0, 2.0], [0.5, 0.3]]), np.array([2.0, 1.0, 0.0])
    agree(lambda c: interpolate.PPoly(c, breaks)(x), c)
    agree(lambda c: interpolate.PPoly(c, breaks).derivative()(x), c)
    agree(lambda c: interpolate.PPoly(c, breaks).antiderivative()(x), c)
    agree(lambda c: interpolate.PPoly(c, breaks).integrate(x, 1.7), c)
    agree(lambda c: interpolate.PPoly(c, breaks, extrapolate="periodic")(x), c)
    if x not in breaks:
        agree(lambda b: interpolate.PPoly(c, b)(x), breaks)
        agree(lambda v: interpolate.PPoly(c, breaks)(v), x)


@pytest.mark.parametrize("kind", ["previous", "next", "nearest", "linear"])
@pytest.mark.parametrize("x", [-1.0, 0.4, 9.0])
def test_interp1d_beyond_its_data(kind, x):
    def f(y):
        return interpolate.interp1d(X, y, kind=kind, fill_value="extrapolate")(x)

    if np.isnan(f(Y)):
        assert np.isnan(ag.value_and_grad(f, adopt=True)(Y)[0])
    else:
        agree(f, Y)


@pytest.mark.parametrize("x", [[0.0, 1, 1, 2], [0.0, 1, 1, 1], [0.0, 0, 1, 2]])
@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
def test_interp1d_of_equal_abscissas_takes_the_value_that_scipy_takes(x, at):
    agree(lambda y: interpolate.interp1d(x, y)(at), np.array([1.0, 2.0, 5.0, 3.0]))
    if x[1]:  # SciPy's rows go another way, and divide by zero at the start
        agree(lambda y: interpolate.interp1d(x, y[None, :])(at)[0], np.array([1.0, 2.0, 5.0, 3.0]))


@pytest.mark.parametrize(
    ("y", "method"),
    [(np.ones(7), "akima"), (np.ones(7), "makima"), (np.arange(7.0), "akima"), (0.1 * np.arange(7.0), "akima"),
     ([0.0, 1, 2, 3, 7, 1, 2], "akima"), ([0.0, 1, 4, 7, 2, 1, 3], "makima")],
)  # fmt: skip
def test_akimas_slopes_have_no_derivative_at_equal_slopes(method, y):
    y = np.asarray(y, dtype=float)

    def f(y):
        return interpolate.Akima1DInterpolator(np.arange(7.0), y, method=method)(2.3)

    with pytest.warns(RuntimeWarning, match="Akima1DInterpolator: no derivative at equal slopes"):
        value, gradient = ag.value_and_grad(f, adopt=True)(y)
    np.testing.assert_allclose(value, f(y))
    assert np.all(np.isnan(gradient[[2, 3]]))


def test_the_modified_slopes_of_linear_data_have_a_derivative():
    agree(lambda y: interpolate.Akima1DInterpolator(np.arange(7.0), y, method="makima")(2.3), np.arange(7.0), rtol=1e-3)


def test_akimas_slopes_far_from_a_tie_keep_their_derivative():
    y = np.array([0.0, 1.0, 2.0, 3.0, 7.0, 1.0, 2.0, 5.0, 4.0, 4.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.grad(lambda y: interpolate.Akima1DInterpolator(np.arange(10.0), y)(6.4), adopt=True)(y)
    agree(lambda y: interpolate.Akima1DInterpolator(np.arange(10.0), y)(6.4), y)


@pytest.mark.parametrize("method", ["cubic", "quintic", "slinear"])
def test_values_of_grid_splines_are_scipys(method):
    grid = np.linspace(0, 1, 7)
    table = np.sin(np.add.outer(3 * grid, 5 * grid**2))

    def f(v, at=((0.3, 0.4), (0.5, 1.4))):
        made = interpolate.RegularGridInterpolator((grid, grid), v, method=method, bounds_error=False, fill_value=None)
        return made(at).sum()

    value, gradient = ag.value_and_grad(f, adopt=True)(table)
    assert value == pytest.approx(f(table), rel=1e-14)
    np.testing.assert_allclose((gradient * table).sum(), f(table), rtol=1e-3)  # linear; SciPy solves to a tolerance


def test_values_of_clough_tocher_are_scipys_and_a_rough_tolerance_is_refused():
    places = np.random.default_rng(0).uniform(size=(9, 2))
    values = places[:, 0] ** 2

    def f(v, **how):
        return interpolate.CloughTocher2DInterpolator(places, v, **how)([[0.4, 0.5]])[0]

    value, gradient = ag.value_and_grad(f, adopt=True)(values)
    assert value == pytest.approx(f(values), rel=1e-14)
    np.testing.assert_allclose(gradient @ values, f(values), rtol=1e-5)
    for how in ({"tol": 0.1}, {"maxiter": 2}):
        with pytest.raises(TypeError, match="pass tol=1e-06 or less and maxiter=400 or more"):
            ag.grad(lambda v, how=how: f(v, **how), adopt=True)(values)


PERIODIC = {
    "BSpline": lambda y, k: interpolate.BSpline(np.arange(y.size + k + 1.0), y, k, extrapolate="periodic"),
    "BSpline of uneven knots": lambda y, k: interpolate.BSpline(
        np.cumsum(1.0 + 0.3 * np.sin(np.arange(y.size + k + 1.0))), y, k, extrapolate="periodic"
    ),
    "make_interp_spline": lambda y, k: interpolate.make_interp_spline(
        np.append(X, 5.5), np.concatenate([y, y[:1]]), k, bc_type="periodic"
    ),
    "PPoly": lambda y, k: interpolate.PPoly(
        np.stack([y * (i + 1.0) for i in range(k + 1)]), np.append(X, 5.5), extrapolate="periodic"
    ),
    "CubicSpline": lambda y, k: interpolate.CubicSpline(
        np.append(X, 5.5), np.concatenate([y, y[:1]]), bc_type="periodic"
    ),
}
STEPS = np.polynomial.legendre.leggauss(12)


def by_quadrature(spline, a, b):
    """The integral between a and b of a piecewise polynomial, exact between its breakpoints of all periods."""
    knots = np.unique(spline.t[spline.k : spline.t.size - spline.k] if hasattr(spline, "t") else spline.x)
    period = knots[-1] - knots[0]
    breaks = np.concatenate([knots + n * period for n in range(-30, 31)])
    low, high = min(a, b), max(a, b)
    breaks = np.unique(np.concatenate([[low], breaks[(breaks > low) & (breaks < high)], [high]]))
    total = 0.0
    for left, right in itertools.pairwise(breaks):
        places = 0.5 * (left + right) + 0.5 * (right - left) * STEPS[0]
        total += 0.5 * (right - left) * STEPS[1] @ spline(places)
    return total if a < b else -total


@pytest.mark.parametrize("kind", PERIODIC)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize(("a", "b"), [*LIMITS, (2.0, 3.5), (0.0, 5.0), (-1.3, 17.2), (12.0, 3.0)])
def test_integrals_of_periodic_splines_by_quadrature(kind, k, a, b):
    def integral(y):
        return PERIODIC[kind](y, k).integrate(a, b)

    value, gradient = ag.value_and_grad(integral, adopt=True)(Y)
    # The integral is linear in y: its slopes are the integrals of the splines of the unit vectors.
    expected = [by_quadrature(PERIODIC[kind](unit, k), a, b) for unit in np.eye(Y.size)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(value, np.asarray(expected) @ Y, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", PERIODIC)
@pytest.mark.parametrize("k", [2, 3])
def test_antiderivatives_of_periodic_splines_by_quadrature(kind, k):
    def between(y):
        spline = PERIODIC[kind](y, k)
        knots = spline.t[k : spline.t.size - k] if hasattr(spline, "t") else spline.x
        whole = spline.antiderivative()
        return whole(0.3 * knots[0] + 0.7 * knots[-1]) - whole(knots[1])

    def expected(y):
        spline = PERIODIC[kind](y, k)
        knots = spline.t[k : spline.t.size - k] if hasattr(spline, "t") else spline.x
        return by_quadrature(spline, knots[1], 0.3 * knots[0] + 0.7 * knots[-1])

    gradient = ag.grad(between, adopt=True)(Y)
    np.testing.assert_allclose(gradient, [expected(unit) for unit in np.eye(Y.size)], rtol=1e-9, atol=1e-11)
