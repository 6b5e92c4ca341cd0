"""B-splines in their abscissae, knots, data and points, of every spelling, by central differences of the plain call."""

import warnings

import numpy as np
import pytest
from plain_slopes import agree

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import interpolate

import arraygrad as ag

X = np.array([0.0, 0.7, 1.2, 2.1, 2.9, 3.6, 4.4])
Y = np.array([0.3, 1.2, -0.4, 0.8, 2.0, 1.1, -0.6])
AT = np.array([0.31, 1.05, 2.45, 4.1])
W = np.array([0.9, -0.7, 1.1, 0.5])


def spelt():
    """{name: function of abscissae, values and points}, all of one degree at a time."""
    found = {}
    for kind in ("zero", "slinear", "quadratic", "cubic", 4, 5):
        found[f"interp1d {kind}"] = lambda x, y, at, kind=kind: interpolate.interp1d(x, y, kind=kind)(at)
    for k in range(6):
        found[f"make_interp_spline {k}"] = lambda x, y, at, k=k: interpolate.make_interp_spline(x, y, k=k)(at)
        found[f"periodic {k}"] = lambda x, y, at, k=k: interpolate.make_interp_spline(
            x, np.append(y[:-1], y[0]), k=k, bc_type="periodic"
        )(at)
    for k in range(1, 6):
        inner = X[2:4] + 0.13 if k < 5 else X[2:3] + 0.13
        knots = np.concatenate([[-0.1] * (k + 1), inner, [4.6] * (k + 1)])
        found[f"splrep {k}"] = lambda x, y, at, k=k: interpolate.splev(at, interpolate.splrep(x, y, k=k))
        found[f"splrep of an interval {k}"] = lambda x, y, at, k=k: interpolate.splev(
            at, interpolate.splrep(x, y, k=k, s=0, xb=-0.3, xe=5.0)
        )
        found[f"splrep of knots {k}"] = lambda x, y, at, k=k, inner=inner: interpolate.splev(
            at, interpolate.splrep(x, y, np.cos(X) + 1.1, k=k, t=inner)
        )
        found[f"InterpolatedUnivariateSpline {k}"] = lambda x, y, at, k=k: interpolate.InterpolatedUnivariateSpline(
            x, y, k=k
        )(at)
        found[f"UnivariateSpline {k}"] = lambda x, y, at, k=k: interpolate.UnivariateSpline(x, y, k=k, s=0)(at)
        found[f"UnivariateSpline of an interval {k}"] = lambda x, y, at, k=k: interpolate.UnivariateSpline(
            x, y, bbox=[-0.2, None], k=k, s=0, ext="const"
        )(at)
        found[f"LSQUnivariateSpline {k}"] = lambda x, y, at, k=k, inner=inner: interpolate.LSQUnivariateSpline(
            x, y, inner, w=np.sin(X) + 1.5, k=k
        )(at)
        found[f"make_lsq_spline {k}"] = lambda x, y, at, k=k, knots=knots: interpolate.make_lsq_spline(
            x, y, knots, k, w=np.sin(X) + 1.5
        )(at)
        found[f"splprep {k}"] = lambda x, y, at, k=k: interpolate.splev(
            at / 5.0, interpolate.splprep([x, y], k=k, s=0)[0]
        )[1]
        found[f"splprep of a parameter {k}"] = lambda x, y, at, k=k: interpolate.splev(
            at, interpolate.splprep([y, y**2], u=x, k=k, s=0)[0]
        )[1]
        found[f"make_splrep {k}"] = lambda x, y, at, k=k: interpolate.make_splrep(x, y, k=k)(at)
        found[f"make_splprep {k}"] = lambda x, y, at, k=k: interpolate.make_splprep([x, y], k=k)[0](at / 5.0)[1]
        found[f"make_splprep of a parameter {k}"] = lambda x, y, at, k=k: interpolate.make_splprep([y, y**2], u=x, k=k)[
            0
        ](at)[1]
    bounds = {
        "natural": "natural", "clamped": "clamped", "pairs": ([(1, 0.3)], [(2, -0.1)]),
        "mixed": ("natural", [(1, 0.7)]), "start": ([(2, 0.2), (1, 0.4)], None), "end": (None, [(1, 0.2), (2, 0.1)]),
    }  # fmt: skip
    for name, bc in bounds.items():
        found[f"make_interp_spline, {name}"] = lambda x, y, at, bc=bc: interpolate.make_interp_spline(x, y, bc_type=bc)(
            at
        )
    quintic = ([(1, 0.3), (2, 0.2)], [(3, 0.1), (4, -0.3)])
    found["make_interp_spline 5, pairs"] = lambda x, y, at: interpolate.make_interp_spline(x, y, 5, bc_type=quintic)(at)
    given = np.concatenate([[-0.1] * 4, X[2:-2] + 0.11, [4.6] * 4])
    found["make_interp_spline of knots"] = lambda x, y, at: interpolate.make_interp_spline(x, y, t=given)(at)
    found["from_power_basis"] = lambda x, y, at: interpolate.BSpline.from_power_basis(interpolate.CubicSpline(x, y))(at)
    found["from_power_basis, natural"] = lambda x, y, at: interpolate.BSpline.from_power_basis(
        interpolate.CubicSpline(x, y, bc_type="natural"), "natural"
    )(at)
    found["from_spline"] = lambda x, y, at: interpolate.PPoly.from_spline(interpolate.splrep(x, y))(at)
    found["a spline of FITPACK's tuple"] = lambda x, y, at: interpolate.BSpline(*interpolate.splrep(x, y))(at)
    found["a copy by tck"] = lambda x, y, at: interpolate.BSpline(*interpolate.make_interp_spline(x, y).tck)(at)
    return found


SPELT = spelt()
GIVEN = {"x": X, "y": Y, "at": AT}


def of_one_vector(f, names):
    """(a number made of f as a function of one vector, the vector): the arrays of these names, one after another."""
    parts = [GIVEN[name] for name in names]
    ends = np.cumsum([0, *[part.size for part in parts]])

    def number(z):
        now = {**GIVEN, **{name: z[a:b] for name, a, b in zip(names, ends, ends[1:], strict=False)}}
        return (W * f(now["x"], now["y"], now["at"])).sum()

    return number, np.concatenate(parts)


@pytest.mark.parametrize("names", [("x",), ("x", "y", "at")], ids=" ".join)
@pytest.mark.parametrize("name", SPELT)
def test_every_spelling_in_the_abscissae(name, names):
    agree(*of_one_vector(SPELT[name], names), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in SPELT if not name.endswith(("0", "1", "zero", "slinear"))])
def test_second_derivatives_in_the_abscissae(name):
    number, z = of_one_vector(SPELT[name], ("x", "y", "at"))
    along = np.cos(3.0 * np.arange(z.size))

    def curvature(h):
        return (number(z + h * along) - 2.0 * number(z) + number(z - h * along)) / h**2

    slope = ag.grad(number, adopt=True)
    found = ag.grad(lambda z: (slope(z) * along).sum(), adopt=True)(z) @ along
    np.testing.assert_allclose(found, (4.0 * curvature(5e-4) - curvature(1e-3)) / 3.0, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", SPELT)
def test_values_are_scipys(name):
    number, z = of_one_vector(SPELT[name], ("x", "y", "at"))
    np.testing.assert_allclose(float(ag.value_and_grad(number, adopt=True)(z)[0]), number(z), rtol=1e-14, atol=1e-14)


# -- knots ------------------------------------------------------------------------------------------------------------

C = np.array([0.7, -1.1, 0.9, -0.6, 1.2, 0.4])


def spline(k, moved, c=C, **how):
    t = np.concatenate([[0.1 * moved[0]] * (k + 1), moved[1 : 6 - k], [4.2 * moved[0]] * (k + 1)])
    return interpolate.BSpline(t, c, k, **how)


MOVED = np.array([1.05, 0.9, 1.7, 2.3, 3.2, 3.9])
OF_KNOTS = {
    "values": lambda s, v: W @ s(v),
    "slopes": lambda s, v: W @ s(v, 1),
    "curvatures": lambda s, v: W @ s(v, nu=2),
    "beyond": lambda s, v: W @ s(v * 2.0 - 3.0),
    "no extrapolation": lambda s, v: W @ s(v, extrapolate=False),
    "periodic": lambda s, v: W @ s(v * 4.0 - 5.0, extrapolate="periodic"),
    "derivative": lambda s, v: W @ s.derivative()(v),
    "antiderivative": lambda s, v: W @ s.antiderivative(2)(v),
    "derivative of the antiderivative": lambda s, v: W @ s.antiderivative().derivative(2)(v),
    "integral": lambda s, v: s.integrate(v[0], v[2]),
    "integral beyond": lambda s, v: s.integrate(-v[0], 2.0 * v[3]),
    "integral without extrapolation": lambda s, v: s.integrate(-v[0], 2.0 * v[3], extrapolate=False),
    "integral over periods": lambda s, v: s.integrate(-3.0 * v[0], 5.0 * v[3], extrapolate="periodic"),
    "tck": lambda s, v: W @ interpolate.splev(v, s.tck),
    "splev": lambda s, v: W @ interpolate.splev(v, s, 1),
    "splev, zeros": lambda s, v: W @ interpolate.splev(2.0 * v, (s.t, s.c, s.k), ext=1),
    "splev, const": lambda s, v: W @ interpolate.splev(2.0 * v, (s.t, s.c, s.k), ext=3),
    "splint": lambda s, v: interpolate.splint(v[0], v[2], s),
    "splint beyond": lambda s, v: interpolate.splint(-v[0], 3.0 * v[2], (s.t, s.c, s.k)),
    "splder": lambda s, v: W @ interpolate.splev(v, interpolate.splder(s)),
    "splantider": lambda s, v: W @ interpolate.splantider(s)(v),
    "knots of the derivative": lambda s, v: (interpolate.splder(s).t ** 2).sum(),
    "from_spline": lambda s, v: W @ interpolate.PPoly.from_spline(s)(v),
}


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", OF_KNOTS)
def test_b_splines_in_their_knots(name, k):
    if k == 1 and name in ("curvatures", "derivative of the antiderivative", "splev, zeros"):
        k = 4
    f = OF_KNOTS[name]
    if name in ("no extrapolation", "splev, zeros"):  # no place near an end
        at = np.array([0.8, 1.55, 1.95, 1.99])
    else:
        at = AT
    agree(lambda moved: f(spline(k, moved), at), MOVED, rtol=1e-5, atol=1e-6)
    agree(lambda z: f(spline(k, z[:6], z[6:12]), z[12:]), np.concatenate([MOVED, C, at]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*OF_KNOTS, "sproot"])
def test_second_derivatives_in_the_knots(name):
    at = np.array([0.8, 1.55, 1.95, 1.99]) if name in ("no extrapolation", "splev, zeros") else AT

    def number(z):
        if name == "sproot":
            return (interpolate.sproot(spline(3, z[:6], z[6:12])) ** 2).sum()
        return OF_KNOTS[name](spline(4, z[:6], z[6:12]), z[12:])

    z = np.concatenate([MOVED, C, at])
    along = np.cos(3.0 * np.arange(z.size)) / 4.0

    def curvature(h):
        return (number(z + h * along) - 2.0 * number(z) + number(z - h * along)) / h**2

    slope = ag.grad(number, adopt=True)
    found = ag.grad(lambda z: (slope(z) * along).sum(), adopt=True)(z) @ along
    np.testing.assert_allclose(found, (4.0 * curvature(5e-4) - curvature(1e-3)) / 3.0, rtol=1e-4, atol=1e-4)


def test_zeros_in_the_knots():
    agree(lambda z: (interpolate.sproot(spline(3, z[:6], z[6:])) ** 2).sum(), np.concatenate([MOVED, C]))
    agree(lambda x: (interpolate.InterpolatedUnivariateSpline(x, Y).roots() ** 2).sum(), X)


def test_all_derivatives_at_a_point_in_the_knots():
    agree(lambda m: (interpolate.spalde(0.77, spline(3, m).tck) * np.arange(1.0, 5.0)).sum(), MOVED)
    agree(lambda x: (interpolate.UnivariateSpline(x, Y, s=0).derivatives(0.77) * W).sum(), X)


def test_one_b_spline_in_its_knots():
    agree(lambda t: interpolate.BSpline.basis_element(t)(1.3) ** 2, np.array([0.0, 0.7, 1.1, 2.0, 3.1]))


FITTED = {
    "derivative": lambda s: s.derivative()(1.3),
    "antiderivative": lambda s: s.antiderivative()(1.3),
    "integral": lambda s: s.integral(0.3, 2.2) + s.integral(-1.0, 9.0),
    "beyond": lambda s: s(5.7) + s(-0.4, nu=1),
    "zeros": lambda s: s(5.7, ext="zeros") + s(2.2, ext=1),
    "const": lambda s: s(5.7, ext=3) + s(-2.2, ext="const"),
    "get_knots": lambda s: (s.get_knots() ** 2).sum(),
    "get_coeffs": lambda s: (s.get_coeffs() ** 2).sum(),
}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", FITTED)
def test_splines_of_fitpack_in_the_abscissae(name, k):
    f = FITTED[name]
    agree(lambda x: f(interpolate.UnivariateSpline(x, Y, k=k, s=0)), X)
    agree(lambda x: f(interpolate.InterpolatedUnivariateSpline(x, Y, k=k)), X)
    agree(lambda t: f(interpolate.LSQUnivariateSpline(X, Y, t, k=k)), np.array([1.9]))
    agree(lambda e: f(interpolate.LSQUnivariateSpline(X, Y, [1.9], bbox=e, k=k)), np.array([-0.1, 4.7]))
    agree(lambda w: f(interpolate.LSQUnivariateSpline(X, Y, [1.9], w=w, k=k)), np.cos(X) + 1.3)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_fits_in_knots_and_weights(k):
    def fit(z):
        t = np.concatenate([[z[0]] * (k + 1), z[1:2], [z[2]] * (k + 1)])
        return W @ interpolate.make_lsq_spline(X, Y, t, k, z[3:])(AT)

    agree(fit, np.concatenate([[-0.1, 1.83, 4.6], np.cos(X) + 1.3]), rtol=1e-5, atol=1e-6)
    agree(
        lambda t: W @ interpolate.splev(AT, interpolate.splrep(X, Y, t=t, k=k)), np.array([1.83]), rtol=1e-5, atol=1e-6
    )
    agree(lambda e: W @ interpolate.splev(AT, interpolate.splrep(X, Y, xb=e[0], xe=e[1], k=k)), np.array([-0.1, 4.6]))


def test_the_ends_derivatives_in_their_values():
    def f(v):
        made = interpolate.make_interp_spline(X, Y, bc_type=([(1, v[0])], [(2, v[1])]))
        return W @ made(AT)

    agree(f, np.array([0.3, -0.2]))
    rows = np.stack([Y, Y[::-1]])
    agree(
        lambda v: (interpolate.make_interp_spline(X, rows, axis=1, bc_type=([(1, v)], [(2, v)]))(AT) * W).sum(), W[:2]
    )
    agree(
        lambda y: (interpolate.make_interp_spline(X, y, axis=1, bc_type=([(1, W[:2])], [(2, W[:2])]))(AT) * W).sum(),
        rows,
    )


# -- several dimensions -----------------------------------------------------------------------------------------------

SECOND = X[:6] ** 1.5
TABLE = np.sin(np.add.outer(X, 2.0 * X[:6]))
OUTER = np.outer(W, W[::-1])


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_surfaces_in_the_abscissae(k):
    def surface(z, **how):
        return interpolate.RectBivariateSpline(z[:7], z[7:], TABLE, kx=k, ky=k, **how)

    z = np.concatenate([X, SECOND])
    agree(lambda z: (surface(z)(AT, 0.5 * AT) * OUTER).sum(), z)
    agree(lambda z: W @ surface(z).ev(2.0 * AT - 3.0, 4.0 * AT - 5.0), z)
    if k > 1:
        agree(lambda z: W @ surface(z, bbox=[-0.1, None, z[7] - 0.2, 11.0]).ev(AT, AT, dy=1), z)
    agree(lambda v: (surface(z * v[0])(AT, 0.5 * AT * v[1]) * OUTER).sum(), np.array([1.03, 0.97]))


@pytest.mark.parametrize("method", ["slinear", "cubic", "quintic", "cubic_legacy"])
def test_splines_of_grids_in_the_grid(method):
    # SciPy's iterations have a tolerance, which differences would show.
    how = {} if method.endswith("legacy") else {"solver_args": {"atol": 1e-13, "rtol": 1e-13}}

    def number(x, y, at):
        made = interpolate.RegularGridInterpolator((x, y), TABLE, method=method, **how)
        return W @ made(at)

    at = np.stack([AT, 0.5 * AT], axis=1)
    agree(lambda x: number(x, SECOND, at), X, rtol=1e-5)
    agree(lambda y: number(X, y, at), SECOND, rtol=1e-5)
    agree(lambda s: number(X * s, SECOND * s, at), 1.04, rtol=1e-5)


def test_products_of_b_splines_in_their_knots():
    c = np.cos(np.arange(30.0)).reshape(5, 6)

    def number(z, nu=None):
        t = (np.concatenate([[-0.1] * 4, z[:1], [4.6] * 4]), np.concatenate([[0.0] * 3, z[1:4], [4.6] * 3]))
        return W @ interpolate.NdBSpline(t, c, (3, 2))(np.stack([AT, AT[::-1]], axis=1), nu=nu)

    z = np.array([1.83, 0.9, 1.7, 2.3])
    agree(number, z)
    agree(lambda z: number(z, (1, 1)), z)

    def of_tuples(z):
        tx = np.concatenate([[-0.1] * 4, z[:1], [4.6] * 4])
        ty = np.concatenate([[0.0] * 3, z[1:], [4.0] * 3])
        return (interpolate.bisplev(AT, 1.2 * AT, (tx, ty, c.ravel(), 3, 2)) * OUTER).sum()

    agree(of_tuples, z)


# -- shapes, dtypes, order --------------------------------------------------------------------------------------------

ROWS = np.stack([Y, Y[::-1] + 0.2, 0.3 * Y**2])
REAL_ALONE = ("periodic", "complex")  # SciPy drops the imaginary part
ALONG = {
    "interp1d": lambda x, y, axis: interpolate.interp1d(x, y, kind="cubic", axis=axis)(AT),
    "interp1d, quadratic": lambda x, y, axis: interpolate.interp1d(x, y, kind="quadratic", axis=axis)(AT.reshape(2, 2)),
    "make_interp_spline": lambda x, y, axis: interpolate.make_interp_spline(x, y, axis=axis, bc_type="natural")(AT),
    "periodic": lambda x, y, axis: interpolate.make_interp_spline(
        x, np.take(y, [0, 1, 2, 3, 4, 5, 0], axis=axis), axis=axis, bc_type="periodic"
    )(AT),
    "make_lsq_spline": lambda x, y, axis: interpolate.make_lsq_spline(
        x, y, [-0.1] * 4 + [1.9] + [5.0] * 4, axis=axis
    ).derivative()(AT),
}  # fmt: skip


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in ALONG for kind in ("real", "complex") if (name, kind) != REAL_ALONE]
)
def test_rows_and_complex_values(name, axis, kind):
    rows = ROWS if axis == 1 else np.stack([ROWS, ROWS[::-1] - 0.1], axis=1)
    rows = np.moveaxis(rows, -1, axis) if axis != 1 else rows
    rows = rows * (1.0 + 0.5j) + 0.2j if kind == "complex" else rows

    def number(x, y):
        found = ALONG[name](x, y, axis)
        weights = np.cos(np.arange(found.size)).reshape(found.shape)
        return (np.real(found) * weights).sum() + (np.imag(found) * weights**2).sum() if kind == "complex" else (
            found * weights).sum()  # fmt: skip

    agree(lambda x: number(x, rows), X)
    agree(lambda s: number(X * s, rows * s), 1.07)
    gradient = ag.grad(lambda y: number(X + 0.0 * np.real(y).sum(), y), adopt=True)(rows)
    np.testing.assert_allclose(gradient, ag.grad(lambda y: number(X, y), adopt=True)(rows), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["interp1d cubic", "interp1d quadratic", "make_interp_spline 3", "splrep 3",
                                  "splprep 2", "UnivariateSpline 4", "make_lsq_spline 2", "periodic 3"])  # fmt: skip
def test_single_precision_stays(name):
    x, y = X.astype(np.float32), Y.astype(np.float32)
    value, gradients = ag.value_and_grad(lambda x, y: (W * SPELT[name](x, y, AT)).sum(), argnums=(0, 1), adopt=True)(
        x, y
    )
    assert np.asarray(value).dtype == (W * SPELT[name](x, y, AT)).dtype
    assert [np.asarray(g).dtype for g in gradients] == [np.float32, np.float32]
    expected = ag.grad(lambda x: (W * SPELT[name](x, y.astype(float), AT)).sum(), adopt=True)(x.astype(float))
    np.testing.assert_allclose(gradients[0], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["zero", "slinear", "quadratic", "cubic", 5])
def test_abscissae_that_interp1d_sorts(kind):
    order = np.array([3, 1, 6, 0, 4, 2, 5])

    def f(z, **how):
        return W @ interpolate.interp1d(z[:7], z[7:], kind=kind, **how)(AT)

    agree(f, np.concatenate([X[order], Y[order]]))
    z = np.concatenate([X, Y])
    np.testing.assert_allclose(
        ag.grad(f, adopt=True)(z), ag.grad(lambda z: f(z, assume_sorted=True), adopt=True)(z), rtol=1e-12
    )


@pytest.mark.parametrize(
    "how", [{"fill_value": "extrapolate"}, {"bounds_error": False, "fill_value": (0.3, 0.7)}, {"bounds_error": False}]
)
@pytest.mark.parametrize("kind", ["slinear", "quadratic", "cubic"])
def test_interp1d_beyond_the_abscissae(kind, how):
    def f(x, at):
        return np.where(np.isnan(found := interpolate.interp1d(x, Y, kind=kind, **how)(at)), 0.0, found).sum()

    agree(lambda x: f(x, np.array([-0.3, 0.4, 2.6, 5.1])), X)
    with pytest.raises(ValueError, match="below the interpolation range"):
        ag.grad(lambda x: interpolate.interp1d(x, Y, kind=kind)(-1.0), adopt=True)(X)


@pytest.mark.parametrize("kind", ["slinear", "cubic"])
def test_equal_abscissae_are_scipys_error(kind):
    with pytest.raises(ValueError, match="Expect x to not have duplicates"):
        ag.grad(lambda x: interpolate.interp1d(x, Y, kind=kind)(1.0), adopt=True)(np.round(X))


@pytest.mark.parametrize("place", ["x", "y"])
@pytest.mark.parametrize("kind", ["quadratic", "cubic"])
def test_a_nan_in_the_table_makes_nan_as_scipys_does(kind, place):
    x, y = X.copy(), np.stack([Y, Y])
    (x if place == "x" else y[0])[-1] = np.nan

    def f(x, y):
        return interpolate.interp1d(x, y, kind=kind, bounds_error=False)(AT)[1].sum()

    assert np.isnan(f(x, y))
    value, gradients = ag.value_and_grad(f, argnums=(0, 1), adopt=True)(x, y)
    assert np.isnan(value)
    assert np.all(np.isnan(gradients[0]))
    assert np.all(np.isnan(gradients[1][1]))


@pytest.mark.parametrize("at", [0.31, 4.1])
def test_a_nan_in_the_table_of_degree_one_stays_at_its_interval(at):
    y = np.append(np.nan, Y[1:])
    number = lambda x: interpolate.interp1d(x, y, kind="slinear")(at)
    if np.isnan(number(X)):
        assert np.isnan(ag.value_and_grad(number, adopt=True)(X)[0])
    else:
        agree(number, X)


def test_the_table_of_interp1d_is_recorded():
    agree(lambda x: (interpolate.interp1d(x, Y, kind="cubic").x ** 2).sum(), X[::-1].copy())
    agree(lambda y: (interpolate.interp1d(X, y, axis=0).y ** 2 * ROWS.T).sum(), ROWS.T.copy())


def test_a_table_of_elements():
    agree(lambda a: interpolate.make_interp_spline([0.0, a, 2.0, 3.0, 4.0], Y[:5])(1.3), 1.1)
    agree(lambda a: interpolate.interp1d([0.0, a, 2.0, 3.0, 4.0], Y[:5], kind="quadratic")(1.3), 1.1)
    agree(lambda a: interpolate.BSpline([0, 0, 0, a, 3, 3, 3.0], Y[:4], 2)(1.3), 1.1)


# -- what is refused, and the way out ---------------------------------------------------------------------------------

INNER = np.array([1.9])
WHOLE = np.array([-0.1] * 4 + [1.9] + [4.6] * 4)
TCK = (WHOLE, np.concatenate([C[:5], np.zeros(4)]), 3)
# (what is refused, the words, the way out)
REFUSED = {
    "a smoothing spline": (
        lambda x: interpolate.UnivariateSpline(x, Y)(1.3),
        r"x requires grad, but a smoothing spline's knots depend on it.*LSQUnivariateSpline\(x, y, t\)",
        lambda x: interpolate.LSQUnivariateSpline(x, Y, INNER)(1.3),
    ),
    "a smoothing spline with s": (
        lambda x: interpolate.UnivariateSpline(x, Y, s=0.5)(1.3),
        "the derivative is known for s=0",
        lambda x: interpolate.UnivariateSpline(x, Y, s=0)(1.3),
    ),
    "splrep with s": (
        lambda x: interpolate.splev(1.3, interpolate.splrep(x, Y, s=0.5)),
        "the derivative is known for s=0, and for inner knots t that you choose",
        lambda x: interpolate.splev(1.3, interpolate.splrep(x, Y, t=INNER)),
    ),
    "splrep with weights": (
        lambda x: interpolate.splev(1.3, interpolate.splrep(x, Y, w=np.cos(X) + 1.3)),
        "the derivative is known for s=0",
        lambda x: interpolate.splev(1.3, interpolate.splrep(x, Y, w=np.cos(X) + 1.3, s=0)),
    ),
    "periodic splines of recorded complex values": (
        lambda x: np.real(interpolate.make_interp_spline(X, np.append(x[:6], x[0]) * 1j, bc_type="periodic")(1.3)),
        "SciPy drops the imaginary part of complex y.*make a spline of the real part and one of the imaginary part",
        lambda x: interpolate.make_interp_spline(X, np.append(x[:6], x[0]), bc_type="periodic")(1.3),
    ),
    "splrep that goes on with knots": (
        lambda x: interpolate.splev(1.3, interpolate.splrep(x, Y, task=1, s=0.1)),
        "the derivative is known for s=0, and for inner knots t",
        lambda x: interpolate.splev(1.3, interpolate.splrep(x, Y, task=-1, t=INNER)),
    ),
    "smoothing surfaces": (
        lambda x: interpolate.RectBivariateSpline(x, SECOND, TABLE, s=0.1)(1.3, 1.1)[0, 0],
        "RectBivariateSpline: the derivative is known for s=0",
        lambda x: interpolate.RectBivariateSpline(x, SECOND, TABLE, s=0)(1.3, 1.1)[0, 0],
    ),
    "periodic splines of FITPACK": (
        lambda x: interpolate.splev(1.3, interpolate.splrep(x, np.append(Y[:6], Y[0]), per=1)),
        r'without full_output and per;.*make_interp_spline\(x, y, k, bc_type="periodic"\)',
        lambda x: interpolate.splev(
            1.3, interpolate.make_interp_spline(x, np.append(Y[:6], Y[0]), 3, bc_type="periodic")
        ),
    ),
    "splprep with s": (
        lambda x: interpolate.splprep([x, Y], s=0.1)[0][1][0][1],
        r"the derivative is known for s=0, and for make_lsq_spline\(x, y, t\)",
        lambda x: interpolate.splprep([x, Y], s=0)[0][1][0][1],
    ),
    "make_smoothing_spline": (
        lambda x: interpolate.make_smoothing_spline(x, Y, lam=0.1)(1.3),
        r"x requires grad, but has no rule here; make_lsq_spline\(x, y, t\).*make_interp_spline\(x, y\)",
        lambda x: interpolate.make_lsq_spline(x, Y, WHOLE)(1.3) + interpolate.make_interp_spline(x, Y)(1.3),
    ),
    "knots without an abscissa between them, of which SciPy makes nan": (
        lambda x: interpolate.make_lsq_spline(x, Y, [-0.1] * 3 + [2.2, 2.3, 2.4, 2.5] + [4.6] * 3, 2)(1.3),
        "make_lsq_spline: abscissae, knots or weights require grad, but SciPy has made another.*an abscissa, of a wei",
        lambda x: interpolate.make_lsq_spline(x, Y, [-0.1] * 3 + [0.9, 1.8, 2.4, 3.2] + [4.6] * 3, 2)(1.3),
    ),
    "weights of zero": (
        lambda x: interpolate.LSQUnivariateSpline(x, Y, INNER, w=[0.0, 0, 0, 0, 0, 1, 1])(1.3),
        "LSQUnivariateSpline: abscissae, knots or weights require grad, but SciPy has made another.*other than zero",
        lambda x: interpolate.LSQUnivariateSpline(x, Y, INNER, w=[0.1, 1, 0, 1, 1, 1, 1])(1.3),
    ),
    "periodic splines of complex values": (
        lambda x: np.real(interpolate.make_interp_spline(x, np.append(Y[:6], Y[0]) * 1j, bc_type="periodic")(1.3)),
        "SciPy drops the imaginary part of complex y.*make a spline of the real part and one of the imaginary part",
        lambda x: interpolate.make_interp_spline(x, np.append(Y[:6], Y[0]), bc_type="periodic")(1.3),
    ),
    "knots that are inserted": (
        lambda x: interpolate.splev(1.3, interpolate.insert(1.1, (TCK[0] * x[5] / X[5], *TCK[1:]))),
        "insert: the knots require grad.*splev, splder and splint of the spline as it is",
        lambda x: interpolate.splev(1.3, (TCK[0] * x[5] / X[5], *TCK[1:])),
    ),
    "make_splrep with s": (
        lambda x: interpolate.make_splrep(x, Y, s=0.5)(1.3),
        r"the derivative is known for s=0, and for make_lsq_spline\(x, y, t\)",
        lambda x: interpolate.make_splrep(x, Y, s=0)(1.3) + interpolate.make_lsq_spline(x, Y, WHOLE)(1.3),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_a_way_out_that_works(name):
    call, words, way_out = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError, match=words):
            ag.grad(call, adopt=True)(X)
    agree(way_out, X, rtol=1e-5)
