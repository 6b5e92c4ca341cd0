"""Higher derivatives of special functions at special points: zero, integers, ends of the domain.

The class: a function that is smooth at a point where its formula is not (it divides by x, chooses a constant, takes a
logarithm). Derivatives of orders one to three are those of the function's Taylor series, by mpmath; what has none
there is nan or infinite, never a number.
"""

import contextlib

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.scipy.special as special
from arraygrad.scipy import NotDifferentiable

mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(25):
        yield


def _struve(v):
    return lambda x: mpmath.struveh(v, x)


def _even(v):
    """gamma(v + 1) (x / 2)^-v J_v(x), entire."""
    return lambda x: mpmath.hyp0f1(v + 1, -x * x / 4)


def _sine(n, kind):
    """j_n or i_n as x^n times an entire function."""
    start = 1 / mpmath.fac2(2 * n + 1)
    sign = -1 if kind == "j" else 1
    return lambda x: start * x**n * mpmath.hyp0f1(n + 1.5, sign * x * x / 4)


def _ber(x):
    return mpmath.re(mpmath.besseli(0, x * mpmath.sqrt(1j)))


def _bei(x):
    return mpmath.im(mpmath.besseli(0, x * mpmath.sqrt(1j)))


# name -> (function, mpmath's, points)
CASES = {
    "shi": (lambda x: special.shichi(x)[0], mpmath.shi, (0.0, 0.5, -2.0)),
    "si": (lambda x: special.sici(x)[0], mpmath.si, (0.0, 0.5, 2.0)),
    "sinc": (special.sinc, lambda x: mpmath.sincpi(x), (0.0, 1.0, 0.25)),
    "exprel": (special.exprel, lambda x: mpmath.hyp1f1(1, 2, x), (0.0, 1.0, -1.0)),
    "spence": (special.spence, lambda z: mpmath.polylog(2, 1 - z), (1.0, 0.5)),
    "huber": (lambda r: special.huber(1.0, r), lambda r: r * r / 2, (0.0, 0.5, -0.5)),
    "pseudo_huber": (lambda r: special.pseudo_huber(2.0, r), lambda r: 2 * mpmath.sqrt(4 + r * r) - 4, (0.0, 1.0)),
    "rgamma": (special.rgamma, mpmath.rgamma, (0.0, -1.0, -2.0, 1.0, 0.5)),
    "beta, at a zero": (lambda x: special.beta(x, 0.5), lambda x: mpmath.beta(x, 0.5), (-0.5, -1.5, 0.5)),
    "beta, by b": (lambda x: special.beta(0.25, x), lambda x: mpmath.beta(0.25, x), (-0.25, -1.25, 2.0)),
    "gammainc": (
        lambda x: special.gammainc(3.0, x),
        lambda x: 1 - mpmath.exp(-x) * (1 + x + x * x / 2),
        (0.0, 1.0),
    ),
    "gammaincc": (lambda x: special.gammaincc(1.0, x), lambda x: mpmath.exp(-x), (0.0, 2.0)),
    "betainc": (
        lambda x: special.betainc(2.0, 3.0, x),
        lambda x: x**2 * (6 - 8 * x + 3 * x * x),
        (0.0, 1.0, 0.5),
    ),
    "spherical harmonic": (
        lambda x: ag.real(special.sph_harm_y(3, 2, x, 0.0)),
        lambda x: mpmath.sqrt(105 / (32 * mpmath.pi)) * mpmath.sin(x) ** 2 * mpmath.cos(x),
        (0.0, 1.0, 3.0),
    ),
    "lpmv": (lambda x: special.lpmv(0, 3, x), lambda x: (5 * x**3 - 3 * x) / 2, (1.0, -1.0, 0.5)),
    "besselpoly": (
        lambda a: special.besselpoly(a, 1.0, 0.0),
        lambda a: mpmath.nsum(lambda k: (-1) ** k * a ** (2 * k) / mpmath.factorial(k) ** 2 / (2 * k + 2), [0, 30]),
        (0.0, 0.5),
    ),
    "ber": (special.ber, _ber, (0.0, 0.5, 2.0)),
    "bei": (special.bei, _bei, (0.0, 0.5, -2.0)),
    "kelvin": (lambda x: ag.imag(special.kelvin(x)[0]), _bei, (0.0, 0.5)),
    "it2struve0": (
        lambda x: special.it2struve0(x),
        lambda x: 1 - 2 / mpmath.pi * mpmath.nsum(
            lambda k: (-1) ** k * x ** (2 * k + 1) / ((2 * k + 1) * mpmath.fac2(2 * k + 1) ** 2), [0, 20]),
        (0.0, 0.5),
    ),
    "riccati_jn": (lambda x: special.riccati_jn(3, x)[0][2], lambda x: x * _sine(2, "j")(x), (0.0, 0.5, 2.0)),
    **{
        f"spherical_{kind}n, order {n}": (
            lambda x, n=n, kind=kind: getattr(special, f"spherical_{kind}n")(n, x),
            _sine(n, kind),
            (0.0, 0.5, 2.0),
        )
        for kind in "ji"
        for n in range(4)
    },
    **{f"struve, order {v}": (lambda x, v=v: special.struve(v, x), _struve(v), (0.0, 0.5, 2.0)) for v in (0, 1, 2)},
    **{
        f"modstruve, order {v}": (
            lambda x, v=v: special.modstruve(v, x),
            lambda x, v=v: mpmath.struvel(v, x),
            (0.0, 0.5, 2.0),
        )
        for v in (0, 1)
    },
    **{f"lmbda, order {v}": (lambda x, v=v: special.lmbda(v, x)[0][-1], _even(v), (0.0, 0.5, 2.0)) for v in (1, 2)},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_orders_one_to_three(name):
    function, reference, points = CASES[name]
    for point in points:
        coefficients = _coefficients(reference, point)
        derivative = function
        for order in (1, 2, 3):
            derivative = ag.grad(derivative)
            expected = float(mpmath.factorial(order) * coefficients[order].real)
            assert derivative(point) == pytest.approx(expected, rel=1e-7, abs=1e-8), (point, order)


def _coefficients(reference, point):
    """Taylor coefficients by Cauchy's integral: no differences that cancel."""
    radius, n = mpmath.mpf("0.05"), 20
    values = [mpmath.mpmathify(reference(point + radius * mpmath.expjpi(2 * mpmath.mpf(k) / n))) for k in range(n)]
    if all(abs(v.imag) < 1e-20 for v in values):  # of real and imaginary parts, no holomorphic function
        return mpmath.taylor(reference, point, 3)
    return [
        sum(v * mpmath.expjpi(-2 * mpmath.mpf(k * order) / n) for k, v in enumerate(values)) / n / radius**order
        for order in range(4)
    ]


def test_derivatives_in_the_bound_of_huber():
    assert ag.grad(lambda d: special.huber(d, 3.0))(1.0) == 2.0
    assert ag.grad(ag.grad(lambda d: special.huber(d, 3.0)))(1.0) == -1.0
    assert ag.grad(lambda d: ag.grad(lambda r: special.huber(d, r))(-3.0))(1.0) == -1.0


HYPERGEOMETRIC = {
    "hyp0f1": (special.hyp0f1, mpmath.hyp0f1, [(1.5, 2.0), (0.5, -3.0), (2.0, -20.0), (-0.5, 1.0)]),
    "hyp1f1": (
        special.hyp1f1,
        mpmath.hyp1f1,
        [(1.0, 2.0, 0.5), (0.0, 1.5, 3.0), (-2.0, 1.0, 4.0), (2.5, -0.5, -8.0), (1.0, 1.0, 30.0), (3.0, 2.0, -40.0)],
    ),
    "hyp2f1": (
        special.hyp2f1,
        mpmath.hyp2f1,
        [(1.0, 2.0, 3.0, 0.5), (0.0, 0.5, 1.5, 0.9), (-2.0, 1.5, 0.5, -0.3), (0.7, 1.2, 2.1, -20.0)],
    ),
    "hyperu": (special.hyperu, mpmath.hyperu, [(1.0, 2.0, 0.5), (0.3, 0.5, 2.0), (2.5, -1.0, 10.0)]),
}


@pytest.mark.parametrize("name", HYPERGEOMETRIC)
def test_slopes_by_parameters_of_hypergeometric_functions(name):
    ours, theirs, points = HYPERGEOMETRIC[name]
    for point in points:
        for k in range(len(point) - 1):

            def along(p, k=k, point=point):
                return theirs(*[p if i == k else mpmath.mpf(v) for i, v in enumerate(point)])

            expected = float(mpmath.diff(along, point[k], h=mpmath.mpf(10) ** -10))
            assert ag.grad(ours, k)(*point) == pytest.approx(expected, rel=1e-7), (point, k)


@pytest.mark.parametrize(
    ("function", "point"),
    [
        (special.hyp1f1, (-60.3, 1.0, 60.0)),
        (special.hyp2f1, (1.0, 2.0, 3.0, 0.99999)),
        (special.hyperu, (-0.5, 1.0, 2.0)),
        (special.hyp0f1, (1.0, -1e5)),
    ],
)
def test_slopes_without_digits_are_refused(function, point):
    with pytest.raises(TypeError, match=r"digits|a > 0"):
        ag.grad(function)(*point)


def test_slopes_by_parameters_have_no_derivatives():
    with pytest.raises(TypeError, match="its derivative is known"):
        ag.grad(ag.grad(special.hyp1f1))(1.0, 2.0, 0.5)


def test_parameters_of_arrays():
    a, x = np.array([[0.5], [1.5]]), np.array([0.3, -2.0, 5.0])
    found = ag.grad(lambda a: np.sum(special.hyp1f1(a, 2.0, x)))(a)
    assert found.shape == a.shape
    expected = [sum(ag.grad(special.hyp1f1)(v, 2.0, t) for t in x) for v in a[:, 0]]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-13)


RING = [
    *[(1.3, 0.5, 2.0), (2.3, 1.5, 3.0), (1.5, 2.3, 3.0), (0.7, 1.4, 2.2), (2.4, 1.5, 3.0), (3.1, 2.0, 4.0)],
    *[(1.3, 0.5, 2.05), (-0.6, 1.2, 0.8), (2.0, 0.75, 3.5)],
]


@pytest.mark.parametrize("angle", [0.25, 1.0 / 3.0, 0.4, -1.0 / 3.0])
@pytest.mark.parametrize("radius", [0.92, 1.0, 1.08])
@pytest.mark.parametrize(("a", "b", "c"), RING)
def test_2f1_near_the_sixth_root_of_one_is_right_or_refused(a, b, c, radius, angle):
    """SciPy's series there ends too early for some parameters, as for c = 2b."""
    z = np.asarray(radius * np.exp(1j * np.pi * angle))
    found = None
    with contextlib.suppress(NotDifferentiable):
        found = ag.grad(lambda z: special.hyp2f1(a, b, c, z).real)(z)
    if found is None:
        with pytest.raises(NotDifferentiable, match="contradict"):
            ag.grad(lambda z: special.hyp2f1(a, b, c, z).real)(z)
        return
    slope = complex(a * b / c * mpmath.hyp2f1(a + 1, b + 1, c + 1, complex(z)))
    assert abs(np.conj(found) - slope) <= 1e-5 * abs(slope)


def test_2f1_is_refused_there_for_few_parameters():
    generator = np.random.default_rng(3)
    for _ in range(300):
        a, b = generator.uniform(-3.0, 5.0, 2)
        c = generator.uniform(0.3, 5.0)
        z = np.asarray(generator.uniform(0.8, 1.2) * np.exp(1j * np.pi * generator.uniform(-0.5, 0.5)))
        assert np.isfinite(ag.grad(lambda z, a=a, b=b, c=c: special.hyp2f1(a, b, c, z).real)(z))
