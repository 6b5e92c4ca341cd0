"""Roots in the complex plane: SciPy's without a gradient, refused with one. Imports of arraygrad: the public face."""

import numpy as np
import pytest
from scipy import optimize

import arraygrad as ag
import arraygrad.scipy


def square(x, c):
    return x**2 + c


def slope(x, c):
    return 2.0 * x


CALLS = {
    "secant": lambda module, start, c: module.newton(square, start, args=(c,)),
    "newton": lambda module, start, c: module.newton(square, start, slope, args=(c,)),
    "root_scalar": lambda module, start, c: module.root_scalar(square, args=(c,), method="newton", fprime=slope,
                                                               x0=start).root,
}  # fmt: skip
STARTS = {
    "number": 1 + 1j,
    "array without axes": np.asarray(1 + 1j),
    "several": np.array([1 + 1j, 2 - 1j]),
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_complex_roots_are_not_cut_to_their_real_parts(call, start):
    if call is CALLS["root_scalar"]:
        start = np.ravel(start)[0]  # it takes one
    expected = call(optimize, start, 2.0)
    np.testing.assert_array_equal(call(arraygrad.scipy.optimize, start, 2.0), expected)
    found = call(arraygrad.scipy.optimize, start, ag.asarray(2.0))
    np.testing.assert_array_equal(np.asarray(found), expected)
    with pytest.raises(TypeError, match="complex solution"):
        call(arraygrad.scipy.optimize, start, ag.tensor(2.0, requires_grad=True))
    with ag.no_grad():
        found = call(arraygrad.scipy.optimize, start, ag.tensor(2.0, requires_grad=True))
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_real_roots_keep_their_gradient(call):
    c = ag.tensor(-2.0, requires_grad=True)
    (g,) = ag.autograd.grad(call(arraygrad.scipy.optimize, 1.0, c), [c])
    assert g.item() == pytest.approx(-0.5 / np.sqrt(2.0))
