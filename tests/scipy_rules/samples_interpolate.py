"""Samples of scipy.interpolate.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import sample, spread

XI = np.array([0.0, 0.7, 1.2, 2.1, 2.9, 3.6])
Y, ROWS = spread(6, seed=2), spread(6, 2, seed=3)
AT = np.array([0.31, 1.05, 2.4, 3.3])
BEYOND = np.array([-0.4, 1.05, 2.4, 4.1])
HOW = {"step": 2e-3, "loose": 1e-11}

for _name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator"):
    sample(f"interpolate.{_name}", XI, Y, AT, call=lambda f, x, y, at: f(x, y)(at), **HOW)
    sample(f"interpolate.{_name}", XI, ROWS.T, AT.reshape(2, 2), call=lambda f, x, y, at: f(x, y, axis=1)(at, 1), **HOW)
    sample(f"interpolate.{_name}", XI, Y, AT, call=lambda f, x, y, at: f(x, y).integrate(at[0], at[2]), **HOW)
    sample(f"interpolate.{_name}", XI, Y, AT, call=lambda f, x, y, at: f(x, y).antiderivative()(at), **HOW)
    sample(f"interpolate.{_name}", XI, Y, AT, call=lambda f, x, y, at: f(x, y).derivative()(at), **HOW)
for _bc in ("clamped", "natural", ((1, 0.3), (2, -0.4)), ("not-a-knot", "clamped")):
    sample("interpolate.CubicSpline", XI, Y, BEYOND, call=lambda f, x, y, at, bc=_bc: f(x, y, bc_type=bc)(at), **HOW)
sample("interpolate.CubicSpline", XI, Y[:5], BEYOND,
       call=lambda f, x, y, at: f(x, np.concatenate([y, y[:1]]), bc_type="periodic")(at), **HOW)  # fmt: skip
sample("interpolate.CubicSpline", XI[:3], Y[:3], AT[:2], call=lambda f, x, y, at: f(x, y)(at), **HOW)
sample("interpolate.CubicSpline interpolate.PchipInterpolator", XI[:2], Y[:2], AT[:1],
       call=lambda f, x, y, at: f(x, y)(at), **HOW)  # fmt: skip
sample("interpolate.Akima1DInterpolator", XI, Y, AT, call=lambda f, x, y, at: f(x, y, method="makima")(at), **HOW)
sample("interpolate.CubicHermiteSpline", XI, Y, ROWS[:, 0], AT, call=lambda f, x, y, s, at: f(x, y, s)(at), **HOW)
sample("interpolate.PPoly", spread(3, 5), XI, AT, call=lambda f, c, x, at: f(c, x)(at), **HOW)
sample("interpolate.pchip_interpolate", XI, Y, AT, **HOW)
sample("interpolate.interp1d", XI, Y, AT, call=lambda f, x, y, at: f(x, y)(at), **HOW)
sample("interpolate.interp1d", XI, ROWS, BEYOND, **HOW,
       call=lambda f, x, y, at: f(x, y, axis=0, fill_value="extrapolate")(at))  # fmt: skip
sample("interpolate.interp1d", XI, Y, BEYOND, **HOW,
       call=lambda f, x, y, at: f(x, y, bounds_error=False, fill_value=(0.3, 0.7))(at))  # fmt: skip
for _kind in ("nearest", "nearest-up", "previous", "next", "cubic", "quadratic", "slinear", 5):
    sample("interpolate.interp1d", ROWS.T, AT, call=lambda f, y, at, kind=_kind: f(XI, y, kind=kind)(at), **HOW)
for _kind in ("cubic", "quadratic", "slinear", 5):
    sample("interpolate.interp1d", XI, ROWS.T, AT, call=lambda f, x, y, at, kind=_kind: f(x, y, kind=kind)(at), **HOW)
sample("interpolate.make_interp_spline", XI, ROWS, BEYOND, call=lambda f, x, y, at: f(x, y)(at), **HOW)
sample("interpolate.make_interp_spline", XI, Y, BEYOND, 0.2, -0.3, **HOW,
       call=lambda f, x, y, at, a, b: f(x, y, bc_type=([(1, a)], [(1, b)]))(at, 1))  # fmt: skip
sample("interpolate.make_interp_spline", ROWS, BEYOND, call=lambda f, y, at: f(XI, y)(at), **HOW)
sample("interpolate.make_interp_spline", Y, AT, call=lambda f, y, at: f(XI, y, k=3, bc_type="natural")(at, 1), **HOW)
sample("interpolate.make_interp_spline", Y, AT, **HOW,
       call=lambda f, y, at: f(XI, y, bc_type=([(1, 0.2)], [(1, -0.3)])).integrate(at[0], at[3]))  # fmt: skip
KNOTS = np.r_[[0.0] * 4, 1.8, [3.6] * 4]
INSIDE = np.array([0.1, 0.7, 1.2, 2.1, 2.9, 3.5])
WEIGHTS = np.array([1.0, 0.7, 1.3, 0.9, 1.1, 0.8])
sample("interpolate.make_lsq_spline", INSIDE, Y, AT, 1.8, WEIGHTS, **HOW,
       call=lambda f, x, y, at, t, w: f(x, y, [0.0] * 4 + [t] + [3.6] * 4, w=w)(at))  # fmt: skip
sample("interpolate.BSpline", np.array([0.1, 0.8, 1.9, 2.6, 3.5]), spread(5), AT, **HOW,
       call=lambda f, t, c, at: f(np.concatenate([[0.0, 0.0], t, [3.6, 3.6]]), np.append(c, 0.3), 2)(at))  # fmt: skip
sample("interpolate.splrep", XI, Y, call=lambda f, x, y: f(x, y, k=4)[1], **HOW)
sample("interpolate.splrep", INSIDE, Y, 1.8, 0.0, 3.6, **HOW,
       call=lambda f, x, y, t, a, b: f(x, y, xb=a, xe=b, t=[t])[1])  # fmt: skip
sample("interpolate.InterpolatedUnivariateSpline", XI, Y, AT, call=lambda f, x, y, at: f(x, y)(at), **HOW)
sample("interpolate.UnivariateSpline", XI, Y, AT, call=lambda f, x, y, at: f(x, y, s=0, k=4)(at), **HOW)
sample("interpolate.LSQUnivariateSpline", INSIDE, Y, np.array([1.8]), AT, **HOW,
       call=lambda f, x, y, t, at: f(x, y, t, bbox=[0.0, 3.6])(at))  # fmt: skip
sample("interpolate.make_lsq_spline", Y, AT, call=lambda f, y, at: f(XI, y, KNOTS)(at), **HOW)
sample("interpolate.BSpline", spread(5), BEYOND, call=lambda f, c, at: f(KNOTS, c, 3)(at), **HOW)
sample("interpolate.BSpline", spread(2, 5), AT, call=lambda f, c, at: f(KNOTS, c, 3, axis=1).derivative()(at), **HOW)
sample("interpolate.splrep", Y, call=lambda f, y: f(XI, y)[1], **HOW)
sample("interpolate.splev", BEYOND, spread(9), call=lambda f, at, c: f(at, (KNOTS, c, 3)), **HOW)
for _ext in (1, 3):
    sample("interpolate.splev", BEYOND, spread(9), call=lambda f, at, c, ext=_ext: f(at, (KNOTS, c, 3), 1, ext), **HOW)
sample("interpolate.InterpolatedUnivariateSpline", Y, AT, call=lambda f, y, at: f(XI, y)(at), **HOW)
sample("interpolate.UnivariateSpline", Y, AT, call=lambda f, y, at: f(XI, y, s=0)(at, 1), **HOW)
sample("interpolate.UnivariateSpline", AT, call=lambda f, at: f(XI, Y, s=0.2)(at), **HOW)
sample("interpolate.LSQUnivariateSpline", Y, AT, call=lambda f, y, at: f(XI, y, [1.8])(at), **HOW)
Z = spread(6, 5, seed=4)
sample("interpolate.RectBivariateSpline", Z, AT, AT[:3] / 1.5, call=lambda f, z, x, y: f(XI, XI[:5], z)(x, y), **HOW)
sample("interpolate.RectBivariateSpline", Z, AT, AT / 1.5, **HOW,
       call=lambda f, z, x, y: f(XI, XI[:5], z, kx=2).ev(x, y, dx=1))  # fmt: skip

sample("interpolate.RectBivariateSpline", XI, XI[:5], Z, AT, AT[:3] / 1.5, **HOW,
       call=lambda f, a, b, z, x, y: f(a, b, z)(x, y))  # fmt: skip

PAIRS = np.stack([AT, AT[::-1] / 1.7], axis=1)
sample("interpolate.RegularGridInterpolator", XI, XI[:5], Z, PAIRS,
       call=lambda f, x, y, z, at: f((x, y), z)(at), **HOW)  # fmt: skip
sample("interpolate.RegularGridInterpolator", spread(6, 5, 2), PAIRS, **HOW,
       call=lambda f, z, at: f((XI, XI[:5]), z, method="nearest")(at))  # fmt: skip
sample("interpolate.interpn", Z, PAIRS, **HOW,
       call=lambda f, z, at: f((XI, XI[:5]), z, at + 2.0, bounds_error=False, fill_value=None))  # fmt: skip
CORNERS = np.array([[0.0, 0.0], [4.0, 0.2], [0.1, 4.0], [4.1, 3.9], [1.7, 2.2], [2.6, 0.9]])
sample("interpolate.LinearNDInterpolator", CORNERS, Y, PAIRS, call=lambda f, p, v, at: f(p, v)(at), **HOW)
sample("interpolate.griddata", CORNERS, ROWS, PAIRS, **HOW)
sample("interpolate.griddata", CORNERS, ROWS, PAIRS, call=lambda f, p, v, at: f(p, v, at, method="nearest"), **HOW)
for _kernel in ("linear", "thin_plate_spline", "cubic", "quintic"):
    sample("interpolate.RBFInterpolator", CORNERS, ROWS, PAIRS, step=2e-3, loose=1e-9,
           call=lambda f, y, d, at, kernel=_kernel: f(y, d, kernel=kernel)(at))  # fmt: skip
for _kernel in ("multiquadric", "inverse_multiquadric", "inverse_quadratic", "gaussian"):
    sample("interpolate.RBFInterpolator", CORNERS, Y, PAIRS, 0.1, 0.6, step=2e-3, loose=1e-9,
           call=lambda f, y, d, at, s, e, kind=_kernel: f(y, d, smoothing=s, kernel=kind, epsilon=e)(at))  # fmt: skip
sample("interpolate.KroghInterpolator interpolate.BarycentricInterpolator", XI, ROWS, AT,
       call=lambda f, x, y, at: f(x, y)(at), **HOW)  # fmt: skip
sample("interpolate.krogh_interpolate interpolate.barycentric_interpolate", XI, Y, AT, **HOW)

COEFFICIENTS = np.array([0.7, -1.1, 0.9, -0.6, 1.2])
CLOSE = {"step": 1e-3, "loose": 1e-9, "rtol": 1e-6}


def padded(c):
    """Coefficients as FITPACK keeps them."""
    return np.concatenate([c, np.zeros(4)])


sample(
    "interpolate.splder interpolate.splantider", COEFFICIENTS, call=lambda f, c: f((KNOTS, padded(c), 3))[1], **CLOSE
)
sample("interpolate.splder interpolate.splantider", COEFFICIENTS, AT, **CLOSE,
       call=lambda f, c, at: f((KNOTS, padded(c), 3), 2)[1][:5] * at[0])  # fmt: skip
for _a, _b in ((0.3, 2.9), (-0.5, 2.0), (1.0, 4.7)):
    sample("interpolate.splint", _a, _b, COEFFICIENTS, call=lambda f, a, b, c: f(a, b, (KNOTS, padded(c), 3)), **CLOSE)
sample("interpolate.spalde", 0.7, COEFFICIENTS, call=lambda f, x, c: f(x, (KNOTS, padded(c), 3)), **CLOSE)
sample("interpolate.spalde", AT, COEFFICIENTS, call=lambda f, x, c: tuple(f(x, (KNOTS, padded(c), 3))), **CLOSE)
sample("interpolate.insert", COEFFICIENTS, call=lambda f, c: f(0.9, (KNOTS, padded(c), 3), 2)[1], **CLOSE)
sample("interpolate.sproot", COEFFICIENTS, call=lambda f, c: f((KNOTS, padded(c), 3)), **CLOSE)
sample("interpolate.make_smoothing_spline", spread(7), AT,
       call=lambda f, y, at: f(np.append(XI, 4.4), y, lam=0.3)(at), **CLOSE)  # fmt: skip
sample("interpolate.make_splrep", Y, AT, call=lambda f, y, at: f(XI, y)(at), **CLOSE)
sample("interpolate.splprep", ROWS.T, call=lambda f, x: tuple(f([x[0], x[1]], u=XI, s=0)[0][1]), **CLOSE)
sample("interpolate.make_splprep", ROWS.T, AT, call=lambda f, x, at: f([x[0], x[1]], u=XI, s=0)[0](at), **CLOSE)
sample("interpolate.make_splrep", XI, Y, AT, call=lambda f, x, y, at: f(x, y)(at), **CLOSE)
sample("interpolate.splprep", ROWS.T, call=lambda f, x: tuple(f([x[0], x[1]], s=0)[0][1]), **CLOSE)
sample("interpolate.splprep", ROWS.T, XI, call=lambda f, x, u: tuple(f([x[0], x[1]], u=u, s=0)[0][1]), **CLOSE)
sample("interpolate.make_splprep", ROWS.T, AT, call=lambda f, x, at: f([x[0], x[1]], s=0)[0](at / 4.0), **CLOSE)
WAVE = np.array([0.7, -0.9, 0.8, -0.4, 0.6, 1.1])
for _name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator"):
    sample(f"interpolate.{_name}", XI, WAVE, call=lambda f, x, y: f(x, y).roots(), **CLOSE)
    sample(f"interpolate.{_name}", XI, WAVE, 0.1, call=lambda f, x, y, v: f(x, y).solve(v, extrapolate=False), **CLOSE)
sample("interpolate.InterpolatedUnivariateSpline", WAVE, call=lambda f, y: f(XI, y).roots(), **CLOSE)
sample("interpolate.InterpolatedUnivariateSpline", WAVE, 0.8, call=lambda f, y, x: f(XI, y).derivatives(x), **CLOSE)
sample("interpolate.BPoly", spread(4, 5), XI, BEYOND, call=lambda f, c, x, at: f(c, x)(at), **CLOSE)
sample("interpolate.BPoly", spread(3, 5, 2), XI, AT, call=lambda f, c, x, at: f(c, x).derivative()(at), **CLOSE)

MESH = (XI, XI[:5])
T2 = np.r_[[0.0] * 3, 1.2, 2.2, [3.6] * 3]
sample("interpolate.NdBSpline", spread(5, 5, 2), PAIRS, call=lambda f, c, at: f((KNOTS, T2), c, (3, 2))(at), **CLOSE)
sample("interpolate.NdBSpline", spread(5, 5), PAIRS, **CLOSE,
       call=lambda f, c, at: f((KNOTS, T2), c, (3, 2))(at, nu=(1, 1)))  # fmt: skip
sample("interpolate.NdBSpline", np.array([1.2, 2.2]), spread(5, 5), PAIRS, **CLOSE,
       call=lambda f, t, c, at: f((KNOTS, np.concatenate([[0.0] * 3, t, [3.6] * 3])), c, (3, 2))(at))  # fmt: skip
sample(
    "interpolate.NdPPoly", spread(3, 2, 5, 4, 2), *MESH, PAIRS, call=lambda f, c, x, y, at: f(c, (x, y))(at), **CLOSE
)
sample("interpolate.NdPPoly", spread(3, 3, 5, 4), PAIRS, call=lambda f, c, at: f(c, MESH)(at, nu=(1, 1)), **CLOSE)
for _method in ("slinear", "cubic", "cubic_legacy", "pchip"):
    sample("interpolate.RegularGridInterpolator", spread(6, 5, 2), PAIRS, step=1e-3, loose=1e-4, rtol=2e-5,
           call=lambda f, z, at, method=_method: f(MESH, z, method=method)(at))  # fmt: skip
sample("interpolate.interpn", spread(6, 5), PAIRS, step=1e-3, loose=1e-4, rtol=2e-5,
       call=lambda f, z, at: f(MESH, z, at, method="cubic"))  # fmt: skip
POINTS = np.random.default_rng(5).uniform(0.0, 4.0, size=(40, 2))
TABLE = (KNOTS, KNOTS, 3, 3)
sample("interpolate.bisplev", AT, AT[:3], spread(25), **CLOSE,
       call=lambda f, x, y, c: f(x, y, (KNOTS, KNOTS, c, 3, 3)))  # fmt: skip
sample(
    "interpolate.bisplev", AT, 0.7, spread(25), call=lambda f, x, y, c: f(x, y, (KNOTS, KNOTS, c, 3, 3), 1, 1), **CLOSE
)
WIDE = np.r_[[0.0] * 4, 1.8, [4.0] * 4]
sample("interpolate.bisplrep", spread(40), **CLOSE,
       call=lambda f, z: f(*POINTS.T, z, xb=0, xe=4, yb=0, ye=4, task=-1, tx=WIDE, ty=WIDE)[2])  # fmt: skip
sample("interpolate.LSQBivariateSpline", spread(40), AT, AT[:3], **CLOSE,
       call=lambda f, z, x, y: f(*POINTS.T, z, [1.8], [1.8])(x, y))  # fmt: skip
sample("interpolate.SmoothBivariateSpline", AT, AT / 1.3, **CLOSE,
       call=lambda f, x, y: f(*POINTS.T, spread(40), s=9.0).ev(x, y, dx=1))  # fmt: skip
ANGLES = np.linspace(0.3, 2.8, 7), np.linspace(0.0, 5.5, 8)
sample("interpolate.RectSphereBivariateSpline", spread(7, 8), AT[:3] / 1.3, AT, **CLOSE,
       call=lambda f, r, x, y: f(*ANGLES, r)(x, y))  # fmt: skip
ALL = [a.ravel() for a in np.meshgrid(*ANGLES, indexing="ij")]
sample("interpolate.LSQSphereBivariateSpline", spread(56), AT[:3] / 1.3, AT, **CLOSE,
       call=lambda f, r, x, y: f(*ALL, r, [0.9, 1.7], [1.5, 3.1, 4.7])(x, y))  # fmt: skip
sample("interpolate.SmoothSphereBivariateSpline", AT / 1.3, AT, **CLOSE,
       call=lambda f, x, y: f(*ALL, spread(56), s=9.0).ev(x, y))  # fmt: skip

sample("interpolate.FloaterHormannInterpolator", XI, ROWS, AT, call=lambda f, x, y, at: f(x, y, d=2)(at), **CLOSE)
sample(
    "interpolate.AAA",
    AT + 0.01,
    call=lambda f, at: f(np.linspace(0, 4, 30), np.exp(np.linspace(0, 4, 30)))(at),
    **CLOSE,
)
for _kind in ("multiquadric", "inverse", "gaussian", "linear", "cubic", "quintic", "thin_plate"):
    sample("interpolate.Rbf", *CORNERS.T, Y, *PAIRS.T, step=1e-3, loose=1e-7, rtol=2e-6,
           call=lambda f, x, y, d, u, v, kind=_kind: f(x, y, d, function=kind)(u, v))  # fmt: skip
sample("interpolate.Rbf", *CORNERS.T, ROWS, 0.8, 0.1, **CLOSE,
       call=lambda f, x, y, d, e, s: f(x, y, d, epsilon=e, smooth=s, mode="N-D")(*PAIRS.T))  # fmt: skip
sample("interpolate.NearestNDInterpolator", ROWS, call=lambda f, v: f(CORNERS, v)(PAIRS), **CLOSE)
sample("interpolate.CloughTocher2DInterpolator", ROWS, step=1e-2, loose=1e-5, rtol=1e-4,
       call=lambda f, v: f(CORNERS, v, tol=1e-12, maxiter=4000)(PAIRS))  # fmt: skip
sample("interpolate.lagrange", XI, Y, call=lambda f, x, w: f(x, w).c, **CLOSE)
sample("interpolate.lagrange", XI, Y, call=lambda f, x, w: (f(x, w)(1.3), f(x, w).deriv().integ()(0.7)), **CLOSE)
sample("interpolate.pade", Y, call=lambda f, a: (f(a, 2)[0].c, f(a, 2)[1].c), **CLOSE)
sample("interpolate.approximate_taylor_polynomial", 0.4, 1.3, step=1e-3, loose=1e-7, rtol=1e-5,
       call=lambda f, x, a: f(lambda at: np.sin(a * at), x, 3, 0.7, 5).c)  # fmt: skip
