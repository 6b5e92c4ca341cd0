"""Every ufunc, its keywords and methods on Tensors: NumPy's values, and derivatives as central differences.

Imports numpy_calls and the public names of arraygrad.
"""

import numpy as np
import pytest
from numpy_calls import ARRAYS, check_gradient, check_values, evaluate, params, raw

import arraygrad as ag

DIFFERENTIABLE = """
    m: np.cbrt(m)
    m: np.cbrt(-m)
    m: np.exp2(m)
    m: np.fabs(m - 0.5)
    m: np.deg2rad(m)
    m: np.degrees(m)
    m v: np.float_power(m, v)
    m v: np.fmax(m, v)
    m v: np.fmin(m, v)
    n v: np.fmax(n, v)
    n v: np.fmin(v, n)
    m v: np.fmod(5.3 * m, v)
    m v: np.fmod(-5.3 * m, v)
    m v: np.remainder(-5.3 * m, v)
    m v: np.divmod(5.3 * m, v)
    m: np.modf(5 * m)
    m: np.modf(-5 * m)
    m: np.frexp(m * 9)
    m: np.ldexp(m, [1, 2, -3])
    m v: np.logaddexp2(m, v)
    m v: np.logaddexp(m, v)
    m v: np.heaviside(np.where(m > 0.6, m, 0.0), v)
    m v: np.nextafter(m, v)
    m v: np.copysign(m, v - 0.3)
    m v: np.hypot(m, v)
    m v: np.arctan2(m, v)
    m v: np.matvec(m, v)
    c v: np.vecmat(v, c)
    c: np.vecmat(c[0], c)
    m v: np.vecdot(m, v)
    m: np.matmul(m, m)
    m: np.positive(m)
    c: np.abs(c)
    c: np.conjugate(c)
    c: np.exp(c)
    m: np.log(m, where=m > 0.5, out=np.zeros_like(m))
    m: np.sqrt(m - 0.5, where=m > 0.6, out=np.zeros_like(m))
    m v: np.add(m, v, where=[True, False, True], out=m * 2)
    m: np.exp(m, dtype=np.float64)
    m: np.add.reduce(m)
    m: np.add.reduce(m, axis=None, initial=3.0, where=m > 0.5)
    m: np.multiply.reduce(m, axis=1, keepdims=True)
    m: np.maximum.reduce(m, axis=0, initial=0.5)
    m: np.minimum.reduce(m, axis=(0, 1))
    m: np.logaddexp.reduce(m, axis=1)
    m: np.subtract.reduce(m, axis=0)
    m: np.divide.reduce(m, axis=1)
    m: np.hypot.reduce(m, axis=1, keepdims=True)
    m: np.power.reduce(m, axis=0)
    m: np.fmax.reduce(m, axis=1)
    m: np.add.accumulate(m, axis=1)
    m: np.multiply.accumulate(m)
    m: np.maximum.accumulate(m)
    m: np.subtract.accumulate(m, axis=1)
    w: np.add.reduceat(w, [0, 2, 1])
    m: np.multiply.reduceat(m, [0, 1], axis=1)
    v w: np.subtract.outer(v, w)
    v w: np.arctan2.outer(v, w)
    v w: np.multiply.outer(v, w)
"""

CONSTANT = """
    m: np.isfinite(m)
    m: np.signbit(m)
    m: np.floor(m)
    m: np.rint(m)
    m: np.spacing(m)
    m: np.logical_not(m)
    m v: np.greater.outer(m, v)
    m: np.logical_or.reduce(m, axis=0)
    m: np.logical_xor.reduce(m, axis=0)
    m v: np.equal(m, v)
"""

AT = [
    (np.add, [0, 2, 0], [1.0, 2.0, 4.0]),
    (np.subtract, [0, 2, 0], [1.0, 2.0, 4.0]),
    (np.multiply, [0, 2, 0], [3.0, 2.0, 4.0]),
    (np.maximum, [1, 1], [0.3, 0.8]),
    (np.power, [1, 0, 1], [2.0, 3.0, 1.5]),
]


@pytest.mark.parametrize(("call", "names"), params(DIFFERENTIABLE))
def test_ufunc_has_numpys_values_and_the_derivative_of_central_differences(call, names):
    check_gradient(call, names)


@pytest.mark.parametrize(("call", "names"), params(CONSTANT))
def test_piecewise_constant_ufunc_has_numpys_values(call, names):
    check_values(call, names)


@pytest.mark.parametrize("call", ["np.gcd(a, b)", "np.lcm(a, 6)", "np.bitwise_count(a)", "np.add.reduce(a)",
                                  "np.bitwise_or.reduce(a)", "np.heaviside(a, 0.5)", "np.fmod(-a, b)", "np.fmax(a, b)",
                                  "np.ldexp(a, b)"])  # fmt: skip
def test_integer_ufunc_has_numpys_values(call):
    a, b = np.asarray([4, 6, 9]), np.asarray([2, 4, 6])
    found = evaluate(call, {"a": ag.asarray(a), "b": b})
    expected = evaluate(call, {"a": a, "b": b})
    assert isinstance(found, ag.Tensor)
    assert raw(found).dtype == expected.dtype
    np.testing.assert_array_equal(raw(found), expected)


@pytest.mark.parametrize(("ufunc", "index", "values"), AT, ids=lambda p: getattr(p, "__name__", None))
def test_at_writes_once_for_every_time_an_element_is_named(ufunc, index, values):
    expected = ARRAYS["v"].copy()
    ufunc.at(expected, index, values)
    t, b = ag.tensor(ARRAYS["v"], requires_grad=True), ag.tensor(values, requires_grad=True)
    target = t * 1
    ufunc.at(target, index, b)
    np.testing.assert_allclose(target.numpy(), expected)
    weights = np.asarray([1.0, 2.0, 3.0])
    gradients = ag.autograd.grad((target * weights).sum(), (t, b))

    def value(v, b):
        v = v.copy()
        ufunc.at(v, index, b)
        return (v * weights).sum()

    for which, gradient in enumerate(gradients):
        arrays = [ARRAYS["v"], np.asarray(values)]
        for i in range(arrays[which].size):
            shifted = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[which][i] += step
                shifted.append(value(*moved))
            np.testing.assert_allclose(gradient.numpy()[i], (shifted[0] - shifted[1]) / 2e-6, rtol=1e-6, atol=1e-8)


def test_at_of_a_ufunc_of_one_operand():
    t = ag.tensor(ARRAYS["v"], requires_grad=True) * 1
    np.exp.at(t, [0, 0])
    np.testing.assert_allclose(t.numpy(), [np.exp(np.exp(0.7)), 0.15, 0.43])


def test_at_on_a_plain_array_is_refused_and_changes_nothing():
    a = np.zeros(3)
    with pytest.raises(
        TypeError, match=r"numpy\.add\.at: a Tensor can't be written into a plain array.*asarray\(x, copy=True\)"
    ):
        np.add.at(a, [0], ag.tensor([1.0], requires_grad=True))
    np.testing.assert_array_equal(a, 0)


def test_where_without_out_leaves_zeros():
    t = ag.tensor([0.5, 2.0], requires_grad=True)
    result = np.log(t, where=np.asarray([False, True]))
    assert result.tolist() == [0.0, np.log(2.0)]
    result.sum().backward()
    assert t.grad.tolist() == [0.0, 0.5]


def test_where_keeps_what_is_not_chosen_out_of_the_derivative():
    t = ag.tensor([0.0, 4.0], requires_grad=True)
    np.sqrt(t, where=t > 0, out=ag.asarray(np.zeros(2))).sum().backward()
    assert t.grad.tolist() == [0.0, 0.25]


def test_dtype_casts_the_operands():
    t = ag.tensor([0.5, 2.0], requires_grad=True)
    result = np.exp(t, dtype=np.float32)
    assert result.dtype == np.float32
    result.sum().backward()
    assert t.grad.dtype == np.float64


def test_several_results_are_written_to_out():
    t = ag.tensor([1.5, -2.25], requires_grad=True)
    fraction, whole = ag.asarray(np.zeros(2)), ag.asarray(np.zeros(2))
    found = np.modf(t, out=(fraction, whole))
    assert found[0] is fraction
    assert found[1] is whole
    fraction.sum().backward()
    assert t.grad.tolist() == [1.0, 1.0]


def test_reduce_with_where_and_no_neutral_element_needs_initial():
    with pytest.raises(ValueError, match=r"numpy\.maximum\.reduce: where= needs initial="):
        np.maximum.reduce(ag.asarray([1.0]), where=[False])


def test_function_writes_its_result_to_out():
    t, out = ag.tensor([1.0, 2.0], requires_grad=True), ag.asarray(np.zeros(()))
    assert np.sum(t, out=out) is out
    out.backward()
    assert t.grad.tolist() == [1.0, 1.0]


def test_function_with_a_plain_array_as_out_is_refused_with_advice():
    out = np.zeros(())
    with pytest.raises(TypeError, match=r"numpy\.sum: a Tensor can't be written into a plain array.*asarray"):
        np.sum(ag.tensor([1.0], requires_grad=True), out=out)
    assert out == 0


def test_ufuncs_of_scipy_run_where_they_have_a_rule_and_are_refused_otherwise():
    special = pytest.importorskip("scipy.special")
    t = ag.tensor([0.5, 1.5], requires_grad=True)
    special.gammaln(t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), special.digamma([0.5, 1.5]))
    with pytest.raises(TypeError, match=r"airy was called with a Tensor.*scipy\.special\.airy.*t\.numpy\(\)"):
        special.airy(t)


def test_cube_root_is_exact_and_infinitely_steep_at_zero():
    t = ag.tensor([0.0, 64.0], requires_grad=True)
    result = np.cbrt(t)
    assert result.tolist() == [0.0, 4.0]
    with np.errstate(divide="ignore"):
        result.sum().backward()
    assert t.grad.tolist() == [np.inf, 1 / 48]
