"""Splines made of others, of constants and later called with a Tensor, their zeros, and rare arguments."""

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
TABLE = np.cos(np.arange(6.0)).reshape(3, 2)


def test_extrema_are_zeros_of_the_derivative():
    agree(lambda y: (interpolate.CubicSpline(X, y).derivative().roots() * [1.0, 2.0, 3.0, 4.0]).sum(), Y)
    agree(lambda y: interpolate.PchipInterpolator(X, y).derivative().roots(extrapolate=False).sum(), Y[::-1])
    agree(lambda x: interpolate.CubicSpline(x, Y).derivative(2).solve(0.3, extrapolate=False).sum(), X)


def test_a_zero_that_is_a_jump_is_refused():
    def f(c, **how):
        return interpolate.PPoly(c, [0.0, 1.0, 2.0]).roots(**how).sum()

    c = np.array([[1.0, -1.0], [-2.0, 1.5]])
    assert f(c) == 1.0 + 2.5
    with pytest.raises(TypeError, match="pass discontinuity=False"):
        ag.grad(f, adopt=True)(c)
    agree(lambda c: f(c, discontinuity=False), c)


@pytest.mark.parametrize("at", [0.0, 1.3, 4.9])
def test_splines_of_degree_zero_and_periodic_ones(at):
    agree(lambda y: interpolate.make_interp_spline(X, y, k=0)(at), Y)
    agree(lambda y: interpolate.interp1d(X, y, kind="zero")(at), Y)
    for k in (1, 2, 3):
        if k != 2 or interpolate.make_interp_spline(X, Y, k=k) is not None:
            agree(lambda y, k=k: interpolate.make_interp_spline(X, np.append(y, y[0]), k, bc_type="periodic")(at)
                  if k > 1 else interpolate.make_interp_spline(X, np.append(y, y[0]), k)(at), Y[:5])  # fmt: skip


def test_several_orders_of_pchip_interpolate():
    agree(lambda y: interpolate.pchip_interpolate(X, y, 1.3, der=[0, 1])[1], Y)
    agree(lambda y: interpolate.pchip_interpolate(X, y, [1.3, 2.0], der=[0, 1])[0].sum(), Y)


def test_barycentric_interpolators_with_values_and_nodes_that_come_later():
    def later(y):
        made = interpolate.BarycentricInterpolator(X)
        made.set_yi(y)
        return made(1.3)

    def added(y):
        made = interpolate.BarycentricInterpolator(X[:3], y[:3])
        made.add_xi(X[3:], y[3:])
        return made(1.3)

    agree(later, Y)
    agree(added, Y)
    agree(lambda y: interpolate.BarycentricInterpolator(X, y, wi=np.cos(X))(1.3), Y)
    agree(lambda x: interpolate.BarycentricInterpolator(X, Y, wi=np.cos(X))(x), 1.3)


@pytest.mark.parametrize("at", [0.3, 1.3, 4.9, 5.4])
def test_splines_of_other_splines(at):
    agree(lambda y: interpolate.BSpline.from_power_basis(interpolate.CubicSpline(X, y))(at), Y)
    agree(lambda v: interpolate.BSpline.from_power_basis(interpolate.CubicSpline(X, Y))(v), at)
    agree(lambda c: interpolate.PPoly.from_bernstein_basis(interpolate.BPoly(c, [0, 1, 2]))(at), TABLE)
    agree(lambda v: interpolate.PPoly.from_bernstein_basis(interpolate.BPoly(TABLE, [0, 1, 2]))(v), at)
    agree(lambda c: interpolate.BPoly.from_power_basis(interpolate.PPoly(c, [0, 1, 2]))(at), TABLE)
    agree(lambda v: interpolate.BPoly.from_power_basis(interpolate.PPoly(TABLE, [0, 1, 2]))(v), at)
    agree(lambda v: interpolate.BPoly.from_derivatives([0, 1, 2], [[0.0, 1], [0.3, 2], [1.0, 0.2]])(v), at)
    agree(lambda c: (interpolate.BPoly(c, [0, 1, 2]).c * TABLE).sum(), TABLE)
    agree(lambda c: interpolate.PPoly.from_spline((T, np.append(c, [0.0] * 4), 3))(at), C)
    agree(lambda c: interpolate.PPoly.from_spline(interpolate.BSpline(T, c, 3))(at), C)
    agree(lambda v: interpolate.PPoly.from_spline(interpolate.splrep(X, Y))(v), at)
    agree(lambda c: interpolate.BSpline.construct_fast(T, c, 3)(at), C)
    agree(lambda c: interpolate.PPoly.construct_fast(c, np.arange(3.0))(at), TABLE)
    agree(lambda v: interpolate.BSpline.basis_element([0, 1, 2, 3.0, 5.0])(v), at)
    agree(lambda y: (interpolate.CubicSpline(X, y).c[:, 1] * Y[:4]).sum(), Y)
    agree(lambda c: (interpolate.BSpline(T, c, 3, axis=1).c[:, 1] * C).sum(), np.stack([C, C + 1.0]))


def test_a_b_spline_of_a_cubic_spline_with_rows():
    agree(lambda c: (interpolate.BSpline.design_matrix([0.3, 1.3], T, 3).toarray() @ c).sum(), C)
    with pytest.raises(TypeError, match="argument 'x' requires grad"):
        ag.grad(lambda x: interpolate.BSpline.design_matrix(x, T, 3).toarray().sum(), adopt=True)(np.array([0.3]))
    agree(lambda x: interpolate.BSpline.from_power_basis(interpolate.CubicSpline(x, Y))(1.3), X)


@pytest.mark.parametrize("at", [0.3, 1.3, 4.9])
def test_splines_of_constants_are_called_with_a_tensor(at):
    agree(lambda t: interpolate.make_interp_spline(X, Y)(t), at)
    agree(lambda t: interpolate.make_interp_spline(X, np.stack([Y, Y[::-1]]), axis=1)(t).sum(), at)
    agree(lambda t: interpolate.make_lsq_spline(X, Y, [0.0] * 3 + [2.0] + [5.0] * 3, 2)(t), at)
    agree(lambda t: interpolate.make_smoothing_spline(X, Y, lam=0.3)(t), at)
    agree(lambda t: interpolate.CubicSpline(X, Y).integrate(0, t), at)
    agree(lambda t: interpolate.CubicSpline(X, Y).derivative()(t), at)
    agree(lambda t: interpolate.CubicSpline(X, Y).antiderivative()(t), at)
    agree(lambda t: interpolate.BSpline(T, C, 3).integrate(0, t), at)
    agree(lambda t: interpolate.BSpline(T, C, 3).derivative()(t), at)
    agree(lambda t: interpolate.UnivariateSpline(X, Y).derivative()(t), at)
    agree(lambda t: t * interpolate.CubicSpline(X, Y).derivative().roots().sum(), at)


@pytest.mark.parametrize("made", [lambda y: interpolate.make_interp_spline(X, y), lambda y: interpolate.splrep(X, y)])
def test_functions_of_fitpack_take_splines_that_hold_tensors(made):
    def number(spline, at):
        return spline(at) if callable(spline) else interpolate.splev(at, spline)

    for f in (
        lambda y: interpolate.splev(1.3, made(y)),
        lambda y: number(interpolate.splder(made(y)), 1.3),
        lambda y: number(interpolate.splantider(made(y)), 1.3),
        lambda y: interpolate.splint(0.2, 1.3, made(y)),
        lambda y: number(interpolate.insert(1.3, made(y)), 1.1),
        lambda y: interpolate.sproot(made(y)).sum(),
    ):
        agree(f, Y)
        agree(lambda s, f=f: s * f(Y), 0.3)
    agree(lambda t: interpolate.splev(t, made(Y)), 1.3)


def test_a_spline_of_constants_answers_plain_places_as_scipys():
    from arraygrad.scipy import interpolate as ours

    assert type(ours.make_interp_spline(X, Y)(0.3)) is type(interpolate.make_interp_spline(X, Y)(0.3))
    assert type(ours.CubicSpline(X, Y).derivative()(0.3)) is np.ndarray
    for name in ("basis_element", "from_power_basis"):
        given = {"basis_element": [0.0, 1, 2, 3], "from_power_basis": ours.CubicSpline(X, Y)}[name]
        assert type(getattr(ours.BSpline, name)(given)(0.3)) is np.ndarray
