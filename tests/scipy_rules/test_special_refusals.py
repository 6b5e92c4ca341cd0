"""What scipy.special's functions refuse, and what their objects give: functions whose samples are elsewhere."""

import pickle

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.special

import arraygrad as ag
from arraygrad.scipy import special

POLYNOMIALS = {
    "legendre": (), "chebyt": (), "chebyu": (), "chebyc": (), "chebys": (), "laguerre": (), "hermite": (),
    "hermitenorm": (), "sh_legendre": (), "sh_chebyt": (), "sh_chebyu": (), "genlaguerre": (0.7,), "gegenbauer": (0.8,),
    "jacobi": (0.4, 0.7), "sh_jacobi": (2.4, 1.3),
}  # fmt: skip


@pytest.mark.parametrize("monic", [False, True], ids=["standard", "monic"])
@pytest.mark.parametrize("degree", [0, 1, 4])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_polynomial_object_is_differentiated_at_its_points(name, degree, monic):
    ours = getattr(special, name)(degree, *POLYNOMIALS[name], monic=monic)
    theirs = getattr(scipy.special, name)(degree, *POLYNOMIALS[name], monic=monic)
    np.testing.assert_array_equal(ours(0.3), theirs(0.3))
    value, slope = ag.value_and_grad(ours)(0.3)
    np.testing.assert_allclose(value, theirs(0.3), rtol=1e-12)
    np.testing.assert_allclose(slope, theirs.deriv()(0.3), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours))(0.3), theirs(0.3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: special.roots_jacobi(3, x, 0.5), "no rule in the parameters of their polynomial"),
        (lambda x: special.jacobi(3, x, 0.5), "its degree and parameters have no rule"),
        (lambda x: special.mathieu_cem(1, x, 30.0), "argument 'q' requires grad.*no derivative in the parameter"),
        (lambda x: special.pro_ang1(0, 1, x, 0.3), "argument 'c' requires grad"),
        (lambda x: special.pbdv(x, 0.3), "argument 'v' requires grad"),
        (lambda x: special.smirnov(x, 0.3), "a count"),
        (lambda x: special.factorial2(x, exact=False), "it is of integers"),
        (lambda x: special.ellip_harm(1.0, 2.0, 1, 1, x), "Lame's functions have no rule"),
        (lambda x: special.modfresnelp(-x)[0].real, "for x < 0 SciPy's values"),
        (lambda x: special.pbdv_seq(-2.3, x)[0], "leaves out a derivative"),
        (lambda x: special.pbdn_seq(2, x)[0].real, "no holomorphic function"),
        (lambda x: special.airye(x * 1j)[0].real, "no holomorphic function"),
        (lambda x: special.comb(x, 2, exact=True), "exact=True|argument"),
    ],
)
def test_what_has_no_derivative_is_refused_by_name(call, message):
    with pytest.raises(TypeError, match=message):
        ag.grad(lambda x: ag.sum(call(x)))(0.4)


@pytest.mark.parametrize(
    "function",
    [lambda q: special.mathieu_a(2, q), lambda q: special.mathieu_b(2, q), lambda c: special.pro_cv(1, 3, c)],
)
def test_a_first_derivative_that_is_a_number_refuses_a_second_one(function):
    assert np.isfinite(ag.grad(function)(0.7))
    with pytest.raises(TypeError, match="order: first"):
        ag.grad(ag.grad(function))(0.7)


def test_an_eigenvalue_that_is_none_is_refused_in_the_second_derivative():
    with pytest.raises(TypeError, match=r"needs cv = pro_cv"):
        ag.grad(lambda x: special.pro_ang1_cv(1, 3, 1.7, 9.0, x)[1])(0.4)


def test_no_solution_of_an_inverse_has_no_derivative():
    p = scipy.special.ncfdtr(1.7, 8.3, 1.3, 2.6)
    found = scipy.special.ncfdtridfn(1.0 - 1e-12, 8.3, 1.3, 2.6)
    assert not abs(scipy.special.ncfdtr(found, 8.3, 1.3, 2.6) - 1.0) < 1e-4
    assert np.isnan(ag.grad(lambda p: special.ncfdtridfn(p, 8.3, 1.3, 2.6))(1.0 - 1e-12))
    assert np.isfinite(ag.grad(lambda p: special.ncfdtrinc(1.7, 8.3, p, 2.6))(p))


def test_a_noncentrality_beyond_every_sum_is_refused():
    with pytest.raises(TypeError, match="noncentrality is so great"):
        ag.grad(lambda nc: special.chndtr(1e9, 3.0, nc))(1e9)


def test_rounding_and_zeros_are_constant():
    assert special.round(ag.tensor(2.4, requires_grad=True)) == 2.0
    np.testing.assert_array_equal(special.jn_zeros(0, 2), scipy.special.jn_zeros(0, 2))


@pytest.mark.parametrize("s", [1.4, 3.0, 0.3, -0.6])
@pytest.mark.parametrize("q", [0.3, 1.0, 4.5])
def test_the_zeta_function_has_mpmaths_derivative_in_its_exponent(s, q):
    mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")
    from arraygrad.scipy._zeta import zeta_slope

    expected = float(mpmath.zeta(s, q, derivative=1))
    np.testing.assert_allclose(float(zeta_slope(s, q).numpy()), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "gammaincinv", "gammainccinv"])
def test_a_shape_parameter_without_derivative_says_which_function_has_one(name):
    t = ag.tensor(0.7, requires_grad=True)
    for function in (getattr(ag.special, name), getattr(scipy.special, name)):
        with pytest.raises(TypeError, match=rf"arraygrad\.scipy\.special\.{name} has one.*adopt=True"):
            function(t, 0.4)
    getattr(special, name)(t, 0.4).backward()
    assert np.isfinite(t.grad.item())


def test_a_function_of_scipys_that_is_recorded_elsewhere_says_where():
    t = ag.tensor(0.7, requires_grad=True)
    with pytest.raises(TypeError, match=r"take arraygrad\.scipy\.special\.binom.*adopt=True"):
        scipy.special.binom(t, 0.4)
    special.binom(t, 0.4).backward()
    assert np.isfinite(t.grad.item())
