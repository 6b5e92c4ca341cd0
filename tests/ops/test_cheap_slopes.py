"""Slopes that are computed by fewer or other functions than their usual formula: every digit, at every magnitude.

References are the usual formulas in longdouble, special values those of the usual formula in the array's own dtype.
Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

POWERS = [-2, -1, -0.5, 0.5, 1.5, 2.5, 4, 5, -2.0, 4.0, 3, 2, -3, 1.7]
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def magnitudes(dtype, n, seed):
    """Positive numbers over the whole range of a dtype."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    return np.ldexp(rng.uniform(0.5, 1, n), rng.integers(info.minexp - 10, info.maxexp, n)).astype(dtype)


def slopes(f, *arrays):
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    with np.errstate(all="ignore"):
        y = f(*leaves)
        y.backward(ag.asarray(np.ones(y.shape, y.dtype)))
    return [t.grad.numpy() for t in leaves]


def assert_digits(found, expected, ulps):
    """`expected` is in longdouble. Subnormal results have fewer digits, and where it overflows so may the slope."""
    info = np.finfo(found.dtype)
    bound = ulps * info.eps * np.abs(expected) + 2 * ulps * np.longdouble(info.smallest_subnormal)
    ordinary = np.abs(expected) < np.longdouble(info.max) * (1 - ulps * info.eps)
    error = np.abs(found[ordinary].astype(np.longdouble) - expected[ordinary])
    assert (error <= bound[ordinary]).all(), found[ordinary][error > bound[ordinary]]
    assert np.isinf(found[np.abs(expected) > np.longdouble(info.max) * (1 + ulps * info.eps)]).all()


@DTYPES
@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("write", [lambda x, p: x**p, np.power, lambda x, p: ag.pow(x, ag.asarray(p, dtype=x.dtype))])
def test_a_power_by_a_number(write, p, dtype):
    x = magnitudes(dtype, 4000, 1)
    with np.errstate(all="ignore"):
        expected = p * np.power(x.astype(np.longdouble), np.longdouble(p - 1))
    (found,) = slopes(lambda t: write(t, p), x)
    # numpy.power of float32 is good to a few units of the last place, and to fewer far from one
    assert_digits(found, expected, 8 if dtype == np.float64 else 40)
    if p == int(p):
        (found,) = slopes(lambda t: write(t, p), -x)
        assert_digits(found, expected if p % 2 else -expected, 8 if dtype == np.float64 else 40)


@DTYPES
@pytest.mark.parametrize("p", POWERS)
def test_a_power_by_a_number_at_special_values(p, dtype):
    x = np.array([0.0, -0.0, np.inf, np.nan, -1.0, -2.5, 1.0, 5e-324, -5e-324], dtype)
    with np.errstate(all="ignore"):
        expected = (p * np.power(x, dtype(p - 1))).astype(dtype)
    (found,) = slopes(lambda t: t**p, x)
    # A subnormal number has too few digits for the products.
    np.testing.assert_allclose(found[:7], expected[:7], rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(found[:3]), np.signbit(expected[:3]))


@pytest.mark.parametrize("p", [-2, -1, -0.5, 0.5, 1.5, 2.5, 4, 5])
def test_a_power_that_over_or_underflows_warns_of_its_slope_alone(p):
    for x in (1e-200, 1e-40, 1e40, 1e200):
        t = ag.tensor(np.full(20, x), requires_grad=True)
        with np.errstate(all="ignore"):
            y = t**p
            slope = p * np.float64(x) ** (p - 1)
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            if np.isinf(slope):
                with pytest.raises(FloatingPointError, match="overflow"):
                    y.backward(ag.asarray(np.ones(20)))
            else:
                y.backward(ag.asarray(np.ones(20)))


@DTYPES
def test_the_exponents_own_slope_beside_that_of_the_base(dtype):
    rng = np.random.default_rng(4)
    x = rng.uniform(0.1, 3, 50).astype(dtype)
    for p in (0.5, -1.0, 4.0, 1.7):
        base, exponent = slopes(lambda t, e: t**e, x, np.array(p, dtype))
        wide = x.astype(np.longdouble)
        np.testing.assert_allclose(base, p * wide ** (p - 1), rtol=20 * np.finfo(dtype).eps)
        np.testing.assert_allclose(exponent, (wide**p * np.log(wide)).sum(), rtol=200 * np.finfo(dtype).eps)


@DTYPES
def test_a_number_to_the_power_of_an_array(dtype):
    x = np.random.default_rng(5).uniform(-3, 3, (7, 30)).astype(dtype)
    for b in (2, 2.0, 0.5, 10, 1):
        (found,) = slopes(lambda t, b=b: b**t, x)
        expected = np.longdouble(b) ** x.astype(np.longdouble) * np.log(np.longdouble(b))
        np.testing.assert_allclose(found, expected, rtol=20 * np.finfo(dtype).eps)
    with np.errstate(all="ignore"):
        assert np.isnan(slopes(lambda t: (-2.0) ** t, np.array([2.0, 3.0], dtype))[0]).all()
        np.testing.assert_array_equal(slopes(lambda t: 0.0**t, np.array([2.0, 3.0], dtype))[0], 0)


@DTYPES
def test_the_slopes_of_atan2(dtype):
    y = magnitudes(dtype, 6000, 2) * np.sign(np.random.default_rng(6).normal(size=6000)).astype(dtype)
    with np.errstate(all="ignore"):
        near = np.ldexp(y, np.random.default_rng(7).integers(-30, 30, 6000))
    for x in (magnitudes(dtype, 6000, 3), near, -near, y, -y):
        with np.errstate(all="ignore"):
            wide_y, wide_x = y.astype(np.longdouble), x.astype(np.longdouble)
            square = wide_x * wide_x + wide_y * wide_y  # a longdouble has the exponents for it
            expected = wide_x / square, -wide_y / square
        usable = np.isfinite(wide_x) & np.isfinite(wide_y) & (square > 0)
        for found, e in zip(slopes(np.arctan2, y, x), expected, strict=True):
            if np.finfo(np.longdouble).maxexp > 2 * np.finfo(dtype).maxexp:
                assert_digits(found[usable], e[usable], 8)


@DTYPES
def test_the_slopes_of_atan2_at_special_points(dtype):
    y, x = np.array([[0, 0], [-0.0, 0], [0, -0.0], [1, 0], [0, 2], [0, -2], [np.inf, 1], [1, np.inf]], dtype).T
    dy, dx = slopes(np.arctan2, y, x)
    np.testing.assert_array_equal(dy[:6], np.array([0, 0, 0, 0, 0.5, -0.5], dtype))
    np.testing.assert_array_equal(dx[:6], np.array([0, 0, 0, -1, 0, 0], dtype))
    assert dy[6] == 0
    assert dx[7] == 0


EXPIT_LAYOUTS = {
    "row-major": lambda x: x,
    "column-major": lambda x: x.reshape(100, -1, order="F"),
    "every second": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1],
    "few": lambda x: x[:50],
}


@DTYPES
@pytest.mark.parametrize("layout", EXPIT_LAYOUTS)
@pytest.mark.parametrize("middle", [-8.0, 0.0, 1.0, 8.0])  # hardly any element near one, some, and nearly all
def test_the_slope_of_expit(middle, layout, dtype):
    pytest.importorskip("scipy")
    x = EXPIT_LAYOUTS[layout](np.random.default_rng(9).normal(middle, 3.0, 8000).astype(dtype))
    given = x.copy()
    (found,) = slopes(ag.special.expit, x)
    e = np.exp(-np.abs(x.astype(np.longdouble)))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, e / (1 + e) ** 2, rtol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(x, given)


@DTYPES
def test_the_slope_of_expit_at_special_values(dtype):
    pytest.importorskip("scipy")
    x = np.zeros(5000, dtype)
    x[:6] = np.inf, -np.inf, np.nan, -0.0, 1000.0, -1000.0
    (found,) = slopes(ag.special.expit, x)
    np.testing.assert_array_equal(found[:7], np.array([0, 0, np.nan, 0.25, 0, 0, 0.25], dtype))


def test_second_derivatives_of_powers_and_angles():
    rng = np.random.default_rng(8)
    x, y = rng.uniform(0.5, 2, (2, 9))
    for p in POWERS:
        t = ag.tensor(x, requires_grad=True)
        (g,) = ag.autograd.grad((t**p).sum(), [t], create_graph=True)
        (h,) = ag.autograd.grad(g.sum(), [t])
        np.testing.assert_allclose(h.numpy(), p * (p - 1) * x ** (p - 2.0), rtol=1e-13)
    s, t = (ag.tensor(a, requires_grad=True) for a in (y, x))
    (g,) = ag.autograd.grad(np.arctan2(s, t).sum(), [s], create_graph=True)
    ours = [h.numpy() for h in ag.autograd.grad(g.sum(), [s, t])]
    r4 = (x * x + y * y) ** 2
    np.testing.assert_allclose(ours[0], -2 * x * y / r4, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ours[1], (y * y - x * x) / r4, rtol=1e-12, atol=1e-13)
    equal = ag.tensor([0.7, -0.7], requires_grad=True), ag.tensor([0.7, 0.7], requires_grad=True)
    (g,) = ag.autograd.grad(np.arctan2(*equal).sum(), [equal[0]], create_graph=True)
    np.testing.assert_allclose(ag.autograd.grad(g.sum(), [equal[1]])[0].numpy(), [0, 0], atol=1e-15)
