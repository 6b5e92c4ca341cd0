"""Derivatives of special functions at their zeros, at ends of their arguments and where a search ends.

They are held to differences of mpmath's functions at forty digits, on the side where those exist.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")
import scipy.special

import arraygrad as ag
from arraygrad.scipy import special

INF = np.inf


def _poch(z, m):
    return mpmath.gammaprod([z + m], [z])


def _lower(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True) if a > 0 else 1 - mpmath.gammainc(a, x, regularized=True)


def _beta(a, b, x):
    if a == 0 or b == 0:
        return mpmath.mpf(b != 0)
    return mpmath.betainc(a, b, 0, x, regularized=True)


def _voigt(x, sigma, gamma):
    sigma = abs(sigma)
    if sigma == 0:
        return gamma / mpmath.pi / (x * x + gamma * gamma)
    z = mpmath.mpc(x, gamma) / (sigma * mpmath.sqrt(2))
    return mpmath.re(mpmath.exp(-z * z) * mpmath.erfc(-1j * z)) / (sigma * mpmath.sqrt(2 * mpmath.pi))


def _boxcox(x, lmbda):
    return (x**lmbda - 1) / lmbda


# Name -> (function of mpmath, points with the side on which each argument moves: 0 for both, None for neither).
CASES = {
    "binom": (mpmath.binomial, [((-0.5, 1.5), (0, 0)), ((1.0, 2.0), (0, 0)), ((3.0, 5.0), (0, 0)),
                                ((2.0, -1.0), (0, 0)), ((-2.5, 0.5), (0, 0)), ((3.5, 8.5), (0, 0)),
                                ((0.25, -3.0), (0, 0))]),
    "poch": (_poch, [((0.0, 2.0), (0, 0)), ((-1.0, 2.5), (0, 0)), ((-3.0, 5.0), (0, 0)), ((-3.0, 2.0), (0, None)),
                     ((-2.0, 0.0), (0, None)), ((-4.0, -1.0), (0, None))]),
    "beta": (mpmath.beta, [((-0.5, 0.5), (0, 0)), ((-0.5, -0.5), (0, 0)), ((1.75, -2.75), (0, 0)),
                           ((-2.0, 1.0), (0, None)), ((-3.0, 2.0), (0, None))]),
    "gammainc": (_lower, [((1.0, 0.0), (0, 1)), ((2.0, 0.0), (0, 1)), ((0.0, 2.0), (1, 0)), ((0.0, 0.3), (1, 0))]),
    "betainc": (_beta, [((1.0, 2.0, 0.0), (0, 0, 1)), ((2.0, 1.0, 1.0), (0, 0, -1)), ((2.0, 3.0, 1.0), (0, 0, -1)),
                        ((0.0, 2.0, 0.5), (1, 0, 0)), ((2.0, 0.0, 0.3), (0, 1, 0))]),
    "voigt_profile": (_voigt, [((0.5, 0.0, 1.0), (0, 1, 0)), ((-2.0, 0.0, 0.3), (0, 1, 0)),
                               ((0.0, 0.0, 1.0), (0, 1, 0)), ((0.5, 0.0, 0.0), (0, None, 1)),
                               ((0.7, 1e-6, 0.4), (0, 0, 0)), ((3.0, 0.05, 0.2), (0, 0, 0)),
                               ((0.5, 1.0, 0.0), (0, 0, 1)), ((30.0, 0.7, 2.0), (0, 0, 0))]),
    "boxcox": (_boxcox, [((0.0, 0.5), (None, 0)), ((0.0, 2.0), (None, 0))]),
    "elliprc": (mpmath.elliprc, [((0.0, 0.5), (None, 0)), ((0.0, 2.0), (None, 0))]),
    "elliprd": (mpmath.elliprd, [((0.0, 0.5, 1.0), (None, 0, 0)), ((0.5, 0.0, 0.5), (0, None, 0))]),
    "struve": (mpmath.struveh, [((0.0, 0.0), (None, 1)), ((1.0, 0.0), (None, 1)), ((2.0, 0.0), (None, 1))]),
    "modstruve": (mpmath.struvel, [((0.0, 0.0), (None, 1)), ((1.0, 0.0), (None, 1))]),
}  # fmt: skip


def slope_of(function, at, place, side):
    h = mpmath.mpf(10) ** -14

    def moved(k):
        arguments = [mpmath.mpf(v) + (k * h if i == place else 0) for i, v in enumerate(at)]
        return function(*arguments)

    if side:
        return (-3 * moved(0) + 4 * moved(side) - moved(2 * side)) / (2 * side * h)
    return (moved(1) - moved(-1)) / (2 * h)


@pytest.mark.parametrize("name", CASES)
def test_gradients_at_zeros_and_ends_are_those_of_mpmath(name):
    reference, points = CASES[name]
    ours = getattr(special, name)
    for at, sides in points:
        places = [i for i, side in enumerate(sides) if side is not None]
        leaves = [ag.tensor(v, requires_grad=i in places) for i, v in enumerate(at)]
        ours(*leaves).backward()
        for place in places:
            with mpmath.workdps(60):
                expected = float(slope_of(reference, at, place, sides[place]))
            found = leaves[place].grad.item()
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=f"{at} {place}")


@pytest.mark.parametrize("name", CASES)
def test_a_point_of_that_kind_does_not_change_the_others(name):
    points = [at for at, _ in CASES[name][1]]
    regular = {"betainc": (1.5, 2.5, 0.4), "voigt_profile": (0.3, 1.1, 0.7), "elliprd": (0.4, 1.2, 2.0)}
    regular = regular.get(name, (1.3, 0.6))
    found = []
    for rows in ([regular], [*points, regular]):
        leaves = [ag.tensor(np.array(column), requires_grad=True) for column in zip(*rows, strict=True)]
        if name in ("struve", "modstruve"):
            leaves[0] = leaves[0].detach()
        getattr(special, name)(*leaves).sum().backward()
        found.append([t.grad.numpy()[-1] for t in leaves if t.requires_grad])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def test_second_derivatives_at_zeros_are_those_of_mpmath():
    points = [("binom", (-0.5, 1.5)), ("binom", (2.0, -1.0)), ("poch", (-3.0, 5.0)), ("voigt_profile", (0.5, 0.0, 1.0))]
    for name, at in points:
        ours, reference = getattr(special, name), CASES[name][0]
        place = 1 if name == "voigt_profile" else 0
        if at == (2.0, -1.0):
            place = 1

        def one(x, ours=ours, at=at, place=place):
            return ours(*at[:place], x, *at[place + 1 :])

        with mpmath.workdps(60):
            h = mpmath.mpf(10) ** -12

            def moved(k, reference=reference, at=at, place=place, h=h):
                return reference(*[mpmath.mpf(v) + (k * h if i == place else 0) for i, v in enumerate(at)])

            expected = float((moved(1) - 2 * moved(0) + moved(-1)) / h**2)
        np.testing.assert_allclose(ag.grad(ag.grad(one))(at[place]), expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "at"),
    [("gammainc", (INF, 2.0)), ("gammainc", (2.0, INF)), ("gammaincc", (INF, 2.0)), ("betainc", (INF, 2.0, 0.5)),
     ("betainc", (2.0, INF, 0.5)), ("stdtr", (2.0, INF)), ("stdtr", (2.0, -INF)), ("chdtr", (3.0, INF)),
     ("fdtr", (2.0, 3.0, INF)), ("voigt_profile", (INF, 1.0, 1.0))],
)  # fmt: skip
def test_what_is_constant_at_infinity_has_gradients_zero(name, at):
    function = getattr(special, name)
    leaves = [ag.tensor(v, requires_grad=True) for v in at]
    function(*leaves).backward()
    assert [t.grad.item() for t in leaves] == [0.0] * len(at)
    for place, value in enumerate(at):
        assert ag.grad(lambda x, i=place: function(*at[:i], x, *at[i + 1 :]))(value) == 0.0


def test_students_distribution_is_the_normal_one_in_the_limit():
    density = np.exp(-0.125) / np.sqrt(2.0 * np.pi)
    assert ag.grad(special.stdtr, argnums=(0, 1))(INF, 0.5) == (0.0, pytest.approx(density, rel=1e-14))
    at = scipy.special.stdtrit(INF, 0.7)
    assert ag.grad(lambda p: special.stdtrit(INF, p))(0.7) == pytest.approx(
        np.sqrt(2.0 * np.pi) * np.exp(0.5 * at * at), rel=1e-12
    )


def test_an_incomplete_function_that_is_nan_has_gradients_nan():
    for name, at in (("gammainc", (-1.0, 2.0)), ("gammainc", (2.0, -1.0)), ("betainc", (1.0, -1.0, 0.5))):
        leaves = [ag.tensor(np.array([v, 0.5]), requires_grad=True) for v in at]
        found = getattr(special, name)(*leaves)
        assert np.isnan(found.detach().numpy()).tolist() == [True, False]
        found.sum().backward()
        for t in leaves:
            assert np.isnan(t.grad.numpy()).tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "at"),
    [("pdtrik", (1e-3, 10.0)), ("pdtrik", (1e-9, 10.0)), ("pdtrik", (0.1, 2.0)), ("bdtrik", (1e-9, 20.0, 0.3)),
     ("nbdtrik", (1e-9, 10.0, 0.3)), ("stdtridf", (1e-7, -4.9)), ("fdtridfd", (1e-9, 24.0, 3.0))],
)  # fmt: skip
def test_where_a_search_ends_the_gradient_is_nan_or_that_of_the_solution(name, at):
    if name == "fdtridfd":
        at = (24.0, 7e-6, 0.1)
    function = getattr(special, name)
    value = float(getattr(scipy.special, name)(*at))
    leaves = [ag.tensor(v, requires_grad=True) for v in at]
    function(*leaves).backward()
    solved = name == "pdtrik" and abs(scipy.special.gammaincc(value + 1.0, at[1]) - at[0]) < 1e-9
    for t in leaves:
        assert np.isfinite(t.grad.item()) == solved


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_rows_without_elements_give_what_scipy_gives(name, axis, shape):
    t = ag.tensor(np.zeros(shape), requires_grad=True)
    try:
        expected = np.asarray(getattr(scipy.special, name)(np.zeros(shape), axis=axis))
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            getattr(special, name)(t, axis=axis)
        return
    found = getattr(special, name)(t, axis=axis)
    np.testing.assert_array_equal(found.detach().numpy(), expected)
    found.sum().backward()
    assert t.grad.shape == shape


def _slope(function, arguments, k):
    """The derivative in the k-th argument, by differences a 10^-20 part of it apart."""
    with mpmath.workdps(60):
        step = mpmath.mpf(arguments[k]) / mpmath.mpf(10) ** 20
        up, down = ([mpmath.mpf(v) + (s * step if i == k else 0) for i, v in enumerate(arguments)] for s in (1, -1))
        return float((function(*up) - function(*down)) / (2 * step))


@pytest.mark.parametrize("x", [1e-3, 0.1, 0.999, 1.0, 1.001, 20.0])
@pytest.mark.parametrize("a", [1e-8, 1e-5, 1e-3, 0.0999, 0.1, 0.7])
def test_incomplete_gamma_functions_of_small_shapes(a, x):
    expected = _slope(_lower, (a, x), 0)
    np.testing.assert_allclose(ag.grad(lambda a: special.gammainc(a, x))(a), expected, rtol=1e-9)
    np.testing.assert_allclose(ag.grad(lambda a: special.gammaincc(a, x))(a), -expected, rtol=1e-9)


@pytest.mark.parametrize("x", [1e-4, 0.4, 0.5, 0.6, 0.999])
@pytest.mark.parametrize("b", [1e-4, 1e-3, 0.05, 0.1, 2.0])
@pytest.mark.parametrize("a", [1e-4, 1e-3, 0.05, 0.1, 2.0])
def test_incomplete_beta_functions_of_small_shapes(a, b, x):
    found = ag.grad(lambda a, b: special.betainc(a, b, x), argnums=(0, 1))(a, b)
    for k in range(2):
        np.testing.assert_allclose(found[k], _slope(_beta, (a, b, x), k), rtol=1e-8)
