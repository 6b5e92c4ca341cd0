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
sample("interpolate.make_interp_spline", ROWS, BEYOND, call=lambda f, y, at: f(XI, y)(at), **HOW)
sample("interpolate.make_interp_spline", Y, AT, call=lambda f, y, at: f(XI, y, k=3, bc_type="natural")(at, 1), **HOW)
sample("interpolate.make_interp_spline", Y, AT, **HOW,
       call=lambda f, y, at: f(XI, y, bc_type=([(1, 0.2)], [(1, -0.3)])).integrate(at[0], at[3]))  # fmt: skip
KNOTS = np.r_[[0.0] * 4, 1.8, [3.6] * 4]
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
