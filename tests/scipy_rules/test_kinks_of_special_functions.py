"""Second derivatives of special functions at zero: those of the function, nan where its slope jumps."""

import warnings

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import special

import arraygrad as ag

FUNCTIONS = {
    "i0e": special.i0e,
    "ive of order 0": lambda x: special.ive(0, x),
    "ive of order 0.0": lambda x: special.ive(0.0, x),
    "i0e of a product": lambda x: special.i0e(3.0 * x),
    "i0e plus a line": lambda x: special.i0e(x) + x,
    "exponential of i0e": lambda x: np.exp(special.i0e(x)),
    "square of i0e less 1": lambda x: (special.i0e(x) - 1.0) ** 2,
    "i0": special.i0,
    "i1": special.i1,
    "iv of order 2": lambda x: special.iv(2, x),
    "ive of order 3": lambda x: special.ive(3, x),
    "jve of order 0": lambda x: special.jve(0, x),
    "jv of order 0": lambda x: special.jv(0, x),
    "spherical_in": lambda x: special.spherical_in(0, x),
    "spherical_jn": lambda x: special.spherical_jn(1, x),
    "erfcx": special.erfcx,
    "log_ndtr": special.log_ndtr,
    "dawsn": special.dawsn,
    "exprel": special.exprel,
    "huber": lambda x: special.huber(1.0, x),
    "pseudo_huber": lambda x: special.pseudo_huber(1.0, x),
    "modstruve": lambda x: special.modstruve(0, x),
    "struve": lambda x: special.struve(1, x),
    "voigt_profile": lambda x: special.voigt_profile(x, 1.0, 1.0),
    "log_expit": special.log_expit,
    "ellipk": special.ellipk,
    "sinc": np.sinc,
}


def one_sided(f, h):
    """(slope, second derivative) at zero from the side of h."""
    at = [float(f(np.float64(k * h))) for k in range(6)]
    slope = (-137 * at[0] + 300 * at[1] - 300 * at[2] + 200 * at[3] - 75 * at[4] + 12 * at[5]) / (60 * h)
    second = (45 * at[0] - 154 * at[1] + 214 * at[2] - 156 * at[3] + 61 * at[4] - 10 * at[5]) / (12 * h * h)
    return slope, second


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_second_derivative_at_zero(name):
    f = FUNCTIONS[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        (right, above), (left, below) = one_sided(f, 2e-3), one_sided(f, -2e-3)
        found = float(ag.hessian(f, adopt=True)(0.0))
        slope = float(ag.grad(f, adopt=True)(0.0))
    np.testing.assert_allclose(slope, 0.5 * (left + right), atol=1e-6)
    if abs(left - right) > 1e-4:
        assert np.isnan(found)
    else:
        np.testing.assert_allclose(found, above, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found, below, rtol=1e-4, atol=1e-4)
