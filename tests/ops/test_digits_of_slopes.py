"""Slopes of elementwise functions keep their digits over the whole range of numbers, in both precisions.

The class: a function of one number whose derivative is positive far out (tails, beside ends of the domain, large
arguments), where a formula of the result cancels or a square overflows. The reference is mpmath. Functions of which
docs/numerics.md says that their slope has an absolute error only, `tanh` and `softmax`, are held to that.
"""

import numpy as np
import pytest

import arraygrad as ag

mp = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")


@pytest.fixture(autouse=True)
def _forty_digits():
    with mp.workdps(40):
        yield


def _sizes(low, high):
    return [m * 10.0**e for e in range(low, high, 7) for m in (1.0, 3.7)]


_WIDE = [s * x for x in _sizes(-300, 300) for s in (1.0, -1.0)]
_MODERATE = [s * x for x in (*_sizes(-30, 0), *np.linspace(0.1, 80.0, 33)) for s in (1.0, -1.0)]
_INSIDE = [s * (1.0 - d) for d in (1e-7, 1e-4, 0.1, 0.5, 0.9, 0.9999) for s in (1.0, -1.0)]
_BEYOND = [1.0 + d for d in (1e-7, 1e-4, 0.1, 1.0, 40.0, 1e10, 1e150)]
_RIGHT = [x for x in _WIDE if x > 0]


def _beside(f, number):
    """A function of two numbers, with the second one a constant."""
    return lambda x: f(x, ag.asarray(np.full(x.shape, number, x.dtype)))


# name -> (function, slope by mpmath, points)
SLOPES = {
    "exp": (np.exp, mp.exp, [*_MODERATE, -300.0, 300.0]),
    "exp2": (np.exp2, lambda x: mp.mpf(2) ** x * mp.log(2), _MODERATE),
    "expm1": (np.expm1, mp.exp, [*_MODERATE, -300.0, 300.0]),
    "log": (np.log, lambda x: 1 / x, _RIGHT),
    "log1p": (np.log1p, lambda x: 1 / (1 + x), [*_RIGHT, *_INSIDE]),
    "log2": (np.log2, lambda x: 1 / (x * mp.log(2)), _RIGHT),
    "log10": (np.log10, lambda x: 1 / (x * mp.log(10)), _RIGHT),
    "sqrt": (np.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), _RIGHT),
    "cbrt": (np.cbrt, lambda x: 1 / (3 * mp.cbrt(x) ** 2), _RIGHT),
    "square": (np.square, lambda x: 2 * x, _WIDE),
    "reciprocal": (np.reciprocal, lambda x: -1 / x**2, _WIDE),
    "sin": (np.sin, mp.cos, _MODERATE),
    "cos": (np.cos, lambda x: -mp.sin(x), _MODERATE),
    "tan": (np.tan, lambda x: mp.sec(x) ** 2, _MODERATE),
    "arcsin": (np.arcsin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)), _INSIDE),
    "arccos": (np.arccos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x)), _INSIDE),
    "arctan": (np.arctan, lambda x: 1 / (1 + x * x), _WIDE),
    "sinh": (np.sinh, mp.cosh, _MODERATE),
    "cosh": (np.cosh, mp.sinh, _MODERATE),
    "arcsinh": (np.arcsinh, lambda x: 1 / mp.sqrt(1 + x * x), _WIDE),
    "arccosh": (np.arccosh, lambda x: 1 / mp.sqrt((x - 1) * (x + 1)), _BEYOND),
    "arctanh": (np.arctanh, lambda x: 1 / ((1 - x) * (1 + x)), _INSIDE),
    "sigmoid": (ag.sigmoid, lambda x: mp.exp(-x) / (1 + mp.exp(-x)) ** 2, _MODERATE),
    "logaddexp": (_beside(np.logaddexp, 0.0), lambda x: 1 / (1 + mp.exp(-x)), _MODERATE),
    "hypot": (_beside(np.hypot, 3.0), lambda x: x / mp.sqrt(x * x + 9), _WIDE),
    "arctan2": (_beside(np.arctan2, 3.0), lambda x: 3 / (x * x + 9), _WIDE),
    "i0": (np.i0, lambda x: mp.besseli(1, x), _MODERATE),
    **{
        f"power {p}": (lambda x, p=p: x**p, lambda x, p=p: mp.mpf(p) * x ** (mp.mpf(p) - 1), _RIGHT)
        for p in (-2, -1, -0.5, 0.5, 1.5, 2.5, 3, 3.25, 4, 5)
    },
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_have_all_their_digits(name, dtype):
    function, slope, points = SLOPES[name]
    limits = np.finfo(dtype)
    least, most, eps = float(limits.tiny), float(limits.max), float(limits.eps)
    x = np.array([p for p in points if least < abs(p) < most], dtype=dtype)
    with np.errstate(all="ignore"):
        found = ag.grad(lambda x: np.sum(function(x)))(x)
    assert found.dtype == dtype
    for at, ours in zip(x, found, strict=True):
        try:
            expected = slope(mp.mpf(float(at)))
        except ZeroDivisionError:
            continue  # an end of the domain, to which single precision rounds
        if least < abs(expected) < most:
            assert abs(float(ours) - expected) <= 16 * eps * abs(expected), float(at)
        elif abs(expected) <= least:
            assert abs(float(ours)) <= 2 * least, float(at)
        else:
            assert np.isinf(ours), float(at)


COMPLEX = {
    "exp": mp.exp,
    "expm1": mp.exp,
    "sinh": mp.cosh,
    "arctan": lambda z: 1 / ((1 - 1j * z) * (1 + 1j * z)),
    "arctanh": lambda z: 1 / ((1 - z) * (1 + z)),
    "arcsinh": lambda z: 1 / (mp.sqrt(1 - 1j * z) * mp.sqrt(1 + 1j * z)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_slopes_have_all_their_digits(name):
    z = np.array([0.5 + 0.25j, -40.0 + 1j, 30.0 - 2j, 1e-5 + 1e-7j, -3.0 - 0.5j])
    found = ag.grad(lambda z: np.sum(np.real(getattr(np, name)(z))))(z)
    for at, ours in zip(z, found, strict=True):
        expected = mp.conj(COMPLEX[name](mp.mpc(at)))
        assert abs(mp.mpc(ours) - expected) <= 1e-13 * abs(expected), at


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_slope_of_tanh_has_an_absolute_error(dtype):
    x = np.array(_MODERATE, dtype=dtype)
    found = ag.grad(lambda x: np.sum(np.tanh(x)))(x)
    expected = np.array([float(mp.sech(mp.mpf(float(at))) ** 2) for at in x])
    assert np.max(np.abs(found - expected)) <= 2 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_gradient_of_softmax_has_an_absolute_error(dtype):
    x = np.array([50.0, 0.0, 49.0], dtype=dtype)
    found = ag.grad(lambda x: ag.softmax(x)[0])(x)
    shares = [mp.exp(mp.mpf(float(at))) for at in x]
    shares = [s / sum(shares) for s in shares]
    expected = [float(shares[0] * ((i == 0) - s)) for i, s in enumerate(shares)]
    assert np.max(np.abs(found - expected)) <= 2 * np.finfo(dtype).eps


PRODUCTS = [
    ([1e13, 1e13, 1e13, 1e13, 0.0, 0.0], [0.0] * 6),
    ([1e13, 0.0, 1e13, 1e13, 1e13], [0.0, np.inf, 0.0, 0.0, 0.0]),
    ([0.0, 1e30, 1e30, 0.0], [0.0] * 4),
    ([1e30, 1e30, 0.0, 1e-30], [0.0, 0.0, np.inf, 0.0]),
    ([np.inf, 0.0, 2.0], [0.0, np.inf, np.nan]),
]


@pytest.mark.parametrize(("x", "expected"), PRODUCTS)
def test_products_that_overflow_beside_zeros(x, expected):
    x = np.array(x, dtype=np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ag.grad(np.prod)(x), np.float32(expected))
        rows = ag.grad(lambda x: np.sum(np.prod(x, axis=0)))(np.stack([x, x], axis=1))
    np.testing.assert_array_equal(rows, np.float32(np.stack([expected, expected], axis=1)))
