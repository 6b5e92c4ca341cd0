"""Slopes of logcdf and logsf where the logarithm of the tail is far below zero.

The class: the slope is the density divided by the tail, and the logarithms of both are numbers like -1e8, or -1e3 in
single precision, whose difference has few digits or none. Every law here has a tail whose logarithm mpmath knows in
closed form; its derivatives are taken in fifty digits.
"""

import numpy as np
import pytest

import arraygrad as ag

mpmath = pytest.importorskip("mpmath")
stats = pytest.importorskip("scipy.stats")

mp = mpmath.mp


def log_erfc(u):
    return mp.log(mp.erfc(u) / 2)


# Name, method -> (shapes, log of the tail in standard form, the point at which that is about -v).
LAWS = {
    ("gumbel_l", "logsf"): ((), lambda y: -mp.exp(y), lambda v: np.log(v)),
    ("gumbel_r", "logcdf"): ((), lambda y: -mp.exp(-y), lambda v: -np.log(v)),
    ("norm", "logcdf"): ((), lambda y: log_erfc(-y / mp.sqrt(2)), lambda v: -np.sqrt(2 * v)),
    ("norm", "logsf"): ((), lambda y: log_erfc(y / mp.sqrt(2)), lambda v: np.sqrt(2 * v)),
    ("expon", "logsf"): ((), lambda y: -y, lambda v: v),
    ("logistic", "logsf"): ((), lambda y: -mp.log1p(mp.exp(y)), lambda v: v),
    ("rayleigh", "logsf"): ((), lambda y: -y * y / 2, lambda v: np.sqrt(2 * v)),
    ("weibull_min", "logsf"): ((1.7,), lambda y, c: -(y**c), lambda v: v ** (1 / 1.7)),
    ("weibull_max", "logcdf"): ((1.7,), lambda y, c: -((-y) ** c), lambda v: -(v ** (1 / 1.7))),
    ("powernorm", "logsf"): ((1.3,), lambda y, c: c * log_erfc(y / mp.sqrt(2)), lambda v: np.sqrt(2 * v / 1.3)),
}
LOC, SCALE = 0.25, 1.75
SIZES = (1e3, 3e5, 3e6, 1e8, 1e12)
CASES = [pytest.param(*law, id="-".join(law)) for law in LAWS]


def case(name, method, size):
    shapes, log_tail, point = LAWS[name, method]
    return shapes, log_tail, float(point(size)) * SCALE + LOC


def exact(log_tail, order):
    """The mixed derivative of this order in the arguments (x, *shapes, loc, scale), in fifty digits."""

    def value(x, *rest):
        *shapes, loc, scale = rest
        return log_tail((x - loc) / scale, *shapes)

    def at(*args):
        with mp.workdps(50 + 30):
            return float(mp.diff(value, tuple(map(mp.mpf, args)), order))

    return at


@pytest.mark.parametrize(("name", "method"), CASES)
def test_first_derivatives(name, method):
    function = getattr(getattr(stats, name), method)
    for size in SIZES:
        shapes, log_tail, x = case(name, method, size)
        args = (x, *shapes, LOC, SCALE)
        found = ag.grad(lambda *args: function(*args), argnums=tuple(range(len(args))))(*args)
        for i, slope in enumerate(found):
            order = tuple(int(i == j) for j in range(len(args)))
            np.testing.assert_allclose(slope, exact(log_tail, order)(*args), rtol=1e-6, err_msg=f"{size} {i}")


@pytest.mark.parametrize(("name", "method"), CASES)
def test_second_derivatives_in_the_point(name, method):
    function = getattr(getattr(stats, name), method)
    for size in SIZES:
        shapes, log_tail, x = case(name, method, size)
        args = (x, *shapes, LOC, SCALE)
        first = ag.grad(lambda x, rest=args[1:]: function(x, *rest))
        wanted = exact(log_tail, (2, *[0] * (len(args) - 1)))(*args)
        scale = abs(exact(log_tail, (1, *[0] * (len(args) - 1)))(*args) / max(abs(x - LOC), SCALE))
        np.testing.assert_allclose(ag.grad(first)(x), wanted, rtol=1e-4, atol=1e-4 * scale, err_msg=str(size))


@pytest.mark.parametrize(("name", "method"), [p for p in CASES if LAWS[p.values][0]])
def test_mixed_derivatives_in_the_point_and_the_shape(name, method):
    function = getattr(getattr(stats, name), method)
    for size in SIZES:
        shapes, log_tail, x = case(name, method, size)
        args = (x, *shapes, LOC, SCALE)
        order = (1, 1, 0, 0)
        wanted = exact(log_tail, order)(*args)
        for inner, outer in ((0, 1), (1, 0)):
            first = ag.grad(lambda *args: function(*args), argnums=inner)
            np.testing.assert_allclose(ag.grad(first, argnums=outer)(*args), wanted, rtol=1e-4, err_msg=str(size))


@pytest.mark.parametrize("array", [False, True], ids=["number", "array"])
@pytest.mark.parametrize(("name", "method"), CASES)
def test_single_precision(name, method, array):
    function = getattr(getattr(stats, name), method)
    for size in (1e3, 1e5, 3e6):
        shapes, log_tail, x = case(name, method, size)
        args = [np.float32(v) for v in (x, *shapes, LOC, SCALE)]
        wanted = exact(log_tail, (1, *[0] * (len(args) - 1)))(*map(float, args))
        if array:
            args[0] = args[0].reshape(1)
        found = ag.grad(lambda x, rest=args[1:]: function(x, *rest).sum())(args[0])
        assert np.asarray(found).dtype == np.float32
        np.testing.assert_allclose(np.ravel(found)[0], wanted, rtol=1e-5, err_msg=str(size))
