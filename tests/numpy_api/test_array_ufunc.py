"""NumPy ufuncs on Tensors (`__array_ufunc__`): values, gradients, operands, methods, what is refused and how.

Imports the public names of arraygrad.
"""

import re

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.numpy_api.handlers import ufuncs

X = np.asarray([[0.3, 0.6, 0.9], [0.2, 0.5, 0.8]])
Y = np.asarray([[0.7, 0.4, 0.1], [1.2, 1.5, 0.8]])

FLOAT_UNARY = sorted(
    "absolute arccos arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad exp exp2 expm1 fabs floor "
    "isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg reciprocal rint sign signbit sin "
    "sinh sqrt square tan tanh trunc".split()
)
FLOAT_BINARY = sorted(
    "add arctan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and "
    "logical_or logical_xor maximum minimum multiply nextafter not_equal power remainder subtract float_power".split()
)
INT_BINARY = "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()
WITHOUT_GRADIENT = {
    "isfinite",
    "isinf",
    "isnan",
    "logical_not",
    "signbit",
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "not_equal",
}


def tensor(a=X):
    return ag.tensor(a, requires_grad=True)


@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_unary_ufunc_has_numpys_values(name):
    ufunc = getattr(np, name)
    result = ufunc(tensor())
    assert isinstance(result, ag.Tensor)
    np.testing.assert_allclose(result.numpy(), ufunc(X), rtol=1e-15)
    assert result.requires_grad == (name not in WITHOUT_GRADIENT)


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_binary_ufunc_has_numpys_values_with_the_tensor_on_either_side(name):
    ufunc = getattr(np, name)
    for a, b in ((tensor(X), tensor(Y)), (tensor(X), Y), (X, tensor(Y))):
        result = ufunc(a, b)
        assert isinstance(result, ag.Tensor)
        np.testing.assert_array_equal(result.numpy(), ufunc(X, Y))
        assert result.requires_grad == (name not in WITHOUT_GRADIENT)


@pytest.mark.parametrize("name", INT_BINARY)
def test_integer_ufunc_has_numpys_values(name):
    ufunc = getattr(np, name)
    a, b = np.asarray([1, 2, 3]), np.asarray([2, 1, 1])
    np.testing.assert_array_equal(ufunc(ag.asarray(a), b).numpy(), ufunc(a, b))
    np.testing.assert_array_equal(np.invert(ag.asarray(a)).numpy(), ~a)


def test_every_ufunc_of_the_table_is_served():
    for name in [*FLOAT_UNARY, *FLOAT_BINARY, *INT_BINARY, "invert", "matmul", "vecdot", "arccosh", "divmod"]:
        assert getattr(np, name) in ufuncs()


def test_gradient_flows_through_a_ufunc():
    t = tensor()
    np.exp(t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), np.exp(X))


def test_array_on_the_left_gives_a_recorded_tensor():
    t = tensor(Y)
    result = X + t
    assert isinstance(result, ag.Tensor)
    (X * t).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), X)


def test_matrix_product_with_an_array_on_the_left():
    t = tensor(Y)
    result = X.T @ t
    np.testing.assert_allclose(result.numpy(), X.T @ Y)
    result.sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), X @ np.ones((3, 3)))


@pytest.mark.parametrize("scalar", [np.float64(2.0), np.float32(2.0), np.int64(2), 2.0, 2])
def test_scalar_on_the_left_gives_a_recorded_tensor(scalar):
    t = tensor()
    result = scalar * t
    assert isinstance(result, ag.Tensor)
    assert result.dtype == np.float64
    result.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.full(X.shape, 2.0))


def test_comparison_with_an_array_on_the_left():
    result = X < tensor(Y)
    assert isinstance(result, ag.Tensor)
    np.testing.assert_array_equal(result.numpy(), X < Y)


def test_lists_are_operands_of_a_ufunc():
    np.testing.assert_array_equal(np.add(tensor(), [1.0, 2.0, 3.0]).numpy(), X + [1.0, 2.0, 3.0])


def test_in_place_write_of_a_tensor_into_an_array_is_refused_with_advice():
    a = X.copy()
    with pytest.raises(TypeError, match=r"numpy\.add: a Tensor can't be written into a plain array.*x = x \+ t"):
        a += tensor()
    np.testing.assert_array_equal(a, X)
    with pytest.raises(TypeError, match="can't be written into"):
        np.add(tensor(), 1.0, out=a)


def test_out_is_a_tensor_that_is_written_and_recorded():
    t, out = tensor(), ag.asarray(np.zeros_like(X))
    assert np.multiply(t, 2.0, out=out) is out
    np.testing.assert_array_equal(out.numpy(), 2 * X)
    out.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.full(X.shape, 2.0))


@pytest.mark.parametrize(
    ("keywords", "advice"),
    [({"subok": None}, "leave"), ({"signature": "d->d"}, "leave")],
)
def test_keyword_without_a_counterpart_is_refused_with_advice(keywords, advice):
    (key,) = keywords
    with pytest.raises(TypeError, match=rf"numpy\.exp: {key}= is not supported for Tensors.*{advice}"):
        np.exp(tensor(), **keywords)


CASTS = {
    "number": lambda x, **k: np.multiply(x, 2.0, **k),
    "integer": lambda x, **k: np.multiply(x, 2, **k),
    "integers": lambda x, **k: np.multiply(np.arange(1, 4), x, **k),
    "one": lambda x, **k: np.sin(x, **k),
    "float32": lambda x, **k: np.add(x, x, dtype=np.float32, **k),
    "out": lambda x, **k: np.add(x, x, out=x * 0.0, **k),
    "product": lambda x, **k: np.matmul(np.ones((2, 3)), x, **k),
    "two results": lambda x, **k: np.modf(x, **k)[0],
    "NumPy's number": lambda x, **k: np.add(np.float32(1.0), x, **k),
}


@pytest.mark.parametrize("call", CASTS)
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_casting_allows_what_numpy_allows(casting, call):
    x = np.array([0.5, 1.25, 2.0])
    t = ag.tensor(x, requires_grad=True)
    try:
        expected = CASTS[call](x, casting=casting)
    except TypeError as error:
        with pytest.raises(TypeError, match=re.escape(str(error))):
            CASTS[call](t, casting=casting)
        return
    found, usual = CASTS[call](t, casting=casting), CASTS[call](t)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(
        ag.autograd.grad(found.sum(), t)[0].numpy(), ag.autograd.grad(usual.sum(), t)[0].numpy()
    )


def test_a_cast_that_no_gradient_passes_is_refused():
    with pytest.raises(TypeError, match="casting='unsafe' allows a cast that no gradient passes"):
        np.floor_divide(tensor(), 2.0, casting="unsafe", dtype=int)


def test_keywords_at_their_default_are_accepted():
    np.testing.assert_allclose(np.exp(tensor(), where=True, casting="same_kind", order="K").numpy(), np.exp(X))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or"])
@pytest.mark.parametrize("keywords", [{}, {"axis": 1}, {"axis": None}, {"axis": 1, "keepdims": True}])
def test_reduce_has_numpys_values(name, keywords):
    ufunc = getattr(np, name)
    np.testing.assert_allclose(ufunc.reduce(tensor(), **keywords).numpy(), ufunc.reduce(X, **keywords))


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_accumulate_has_numpys_values(name):
    ufunc = getattr(np, name)
    np.testing.assert_allclose(ufunc.accumulate(tensor(), axis=1).numpy(), ufunc.accumulate(X, axis=1))


def test_outer_has_numpys_values():
    np.testing.assert_allclose(np.subtract.outer(tensor(), Y[0]).numpy(), np.subtract.outer(X, Y[0]))
    np.testing.assert_allclose(np.subtract.outer(X[0], tensor(Y)).numpy(), np.subtract.outer(X[0], Y))


def test_gradient_flows_through_reduce():
    t = tensor()
    np.multiply.reduce(t, axis=None).backward()
    np.testing.assert_allclose(t.grad.numpy(), X.prod() / X)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda t: np.isnat(t), "numpy.isnat"),
    ],
)
def test_ufunc_without_a_counterpart_is_refused_with_the_way_out(call, name):
    with pytest.raises(TypeError, match=rf"{name} is not differentiated by arraygrad.*t\.numpy\(\)"):
        call(tensor())


def test_ufunc_runs_on_the_tensors_own_backend():
    strict = pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.asarray([0.5, 1.0], device=strict.Device("device1"), requires_grad=True)
    result = np.exp(t)
    assert type(result.array) is type(t.array)
    assert result.device == strict.Device("device1")
    ag.sum(result).backward()
    assert t.grad.device == strict.Device("device1")


def test_numpy_array_beside_a_tensor_of_another_backend_is_refused():
    pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.asarray([0.5, 1.0])
    with pytest.raises(TypeError, match=r"array_api_strict.*numpy|numpy.*array_api_strict"):
        np.add(np.ones(2), t)


@pytest.mark.parametrize(
    "product",
    [lambda t: np.float64(2.0) * t, lambda t: t * np.float64(2.0), lambda t: ag.multiply(np.float64(2.0), t)],
    ids=["left", "right", "function"],
)
def test_numpy_scalar_times_a_tensor_of_another_backend(product):
    pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.asarray([0.5, 1.0], dtype=ag.array_api_strict.float32)
    result = product(t)
    assert isinstance(result, ag.Tensor)
    assert result.dtype == ag.array_api_strict.float32
    assert result.tolist() == [1.0, 2.0]


def test_numpy_scalar_as_one_branch_of_another_backend():
    pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.asarray([0.5, 1.0])
    assert ag.where(t > 0.6, t, np.float64(0.0)).tolist() == [0.0, 1.0]
