"""Dtypes of scipy.special's functions of float32 Tensors are those of SciPy's own results; gradients keep float32."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.special

import arraygrad as ag
from arraygrad.scipy import special

X = np.array([0.25, 0.75], np.float32)
OTHERS = {
    "float": 0.5, "int": 1, "bool": True, "float64": np.float64(0.5), "array": np.array([0.5, 1.5]),
    "without axes": np.array(0.5), "single": np.float32(0.5), "half": np.float16(0.5), "byte": np.int8(1),
    "long": np.int64(1), "list": [0.5, 0.25],
}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", "beta betaln xlogy xlog1py binom poch gammainc betaincc rel_entr kl_div".split())
def test_a_number_beside_single_precision_gives_scipys_dtype(name, other):
    theirs, ours, other = getattr(scipy.special, name), getattr(special, name), OTHERS[other]
    for place in range(theirs.nin):
        t = ag.tensor(X, requires_grad=True)
        arguments = [t if i == place else other for i in range(theirs.nin)]
        expected = theirs(*[X if i == place else other for i in range(theirs.nin)])
        found = ours(*arguments)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.detach().numpy(), expected)
        found.sum().backward()
        assert t.grad.dtype == np.float32


@pytest.mark.parametrize("n", [1, np.int8(1), np.int64(1), True])
@pytest.mark.parametrize("name", ["yn", "kn", "expn", "polygamma", "jv", "kv"])
def test_an_order_beside_single_precision_gives_scipys_dtype(name, n):
    expected = getattr(scipy.special, name)(n, X)
    t = ag.tensor(X, requires_grad=True)
    found = getattr(special, name)(n, t)
    assert found.dtype == expected.dtype
    # SciPy computes zeta in single precision for an order of few bits, and widens what it finds
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6 if name == "polygamma" else 0.0)
    found.sum().backward()
    assert t.grad.dtype == np.float32


@pytest.mark.parametrize("call", [lambda f, x: f("polygamma")(0, x), lambda f, x: f("multigammaln")(x + 2.0, 3)])
def test_what_scipy_computes_in_single_precision_and_widens_is_so(call):
    expected = call(lambda name: getattr(scipy.special, name), X)
    t = ag.tensor(X, requires_grad=True)
    found = call(lambda name: getattr(special, name), t)
    assert found.dtype == expected.dtype == np.float64
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6)
    found.sum().backward()
    assert t.grad.dtype == np.float32


def test_functions_of_every_library_keep_the_precision_of_the_arrays():
    assert ag.special.xlogy(ag.tensor(X), 0.5).dtype == np.float32


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", "beta betaln xlogy xlog1py gammainc gammaincc rel_entr kl_div jv kv".split())
def test_scipys_own_names_give_a_tensor_of_scipys_dtype(name, other, requires_grad):
    function, other = getattr(scipy.special, name), OTHERS[other]
    for place in (1,) if name in ("gammainc", "gammaincc", "jv", "kv") else (0, 1):
        t = ag.tensor(X, requires_grad=requires_grad)
        expected = function(*[X if i == place else other for i in range(2)])
        found = function(*[t if i == place else other for i in range(2)])
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.detach().numpy(), expected)
        if requires_grad:
            found.sum().backward()
            assert t.grad.dtype == np.float32


@pytest.mark.parametrize("n", [1, np.int8(1), np.int64(1), True])
@pytest.mark.parametrize("name", ["yn", "kn", "expn"])
def test_scipys_own_names_give_scipys_dtype_beside_an_order(name, n):
    function = getattr(scipy.special, name)
    t = ag.tensor(X, requires_grad=True)
    found, expected = function(n, t), function(n, X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.detach().numpy(), expected)
    found.sum().backward()
    assert t.grad.dtype == np.float32
