"""Compiled rules of real Fourier transforms over several axes, and of complex products: close to the table's rules."""

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
from arraygrad import numpy as xp
from arraygrad.backends.numpy.table import try_rule


def complex_values(shape, dtype="complex128", seed=0):
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype)


def gradients(function, arrays, g):
    leaves = [ag.asarray(a, requires_grad=True) for a in arrays]
    out = function(*leaves)
    out.backward(np.asarray(g(out.shape), out.dtype))
    return [leaf.grad.numpy() for leaf in leaves]


def agree(function, arrays, g):
    for got, expected in zip(gradients(function, arrays, g), plain(gradients, function, arrays, g), strict=True):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        tolerance = 1e-12 if got.dtype.itemsize // (1 + (got.dtype.kind == "c")) == 8 else 1e-5
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


CASES = [
    ((4, 6), None, None), ((4, 7), None, None), ((5, 1), None, None), ((1, 2), None, None), ((4, 6), None, (1, 0)),
    ((4, 6), None, (0,)), ((3, 4, 5), None, (0, 2)), ((3, 4, 5), None, (2, 1)), ((4, 6), (6, 4), (0, 1)),
    ((4, 6), (3, 9), (0, 1)), ((8,), None, None), ((3, 4, 5), None, (-1,)),
]  # fmt: skip


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_gradient_of_rfftn_is_the_tables(case, dtype, norm):
    shape, s, axes = case
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    agree(lambda t: xp.fft.rfftn(t, s=s, axes=axes, norm=norm), [x], complex_values)


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_gradient_of_irfftn_is_the_tables(case, dtype, norm):
    shape, s, axes = case
    if s is None and shape[axes[-1] if axes else -1] == 1:
        s = tuple(2 if i == len(shape) - 1 else n for i, n in enumerate(shape))
        axes = axes or tuple(range(len(shape)))
    g = lambda n: np.random.default_rng(2).normal(size=n)
    agree(lambda t: xp.fft.irfftn(t, s=s, axes=axes, norm=norm), [complex_values(shape, dtype)], g)


def test_the_rules_of_transforms_leave_the_gradient_as_it_is():
    for name, x in (("rfftn", np.ones((4, 6))), ("irfftn", complex_values((4, 4))), ("rfftn", np.ones(6))):
        out = getattr(xp.fft, name)(ag.tensor(x, requires_grad=True))
        g = complex_values(out.shape).astype(out.dtype) if name == "rfftn" else np.ones(out.shape)
        kept = g.copy()
        assert try_rule(out.grad_fn, g) is not None
        np.testing.assert_array_equal(g, kept)


SHAPES = [(3, 4), (), (0, 3), (1,), (30_000,)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_gradients_of_complex_products_are_the_tables(dtype):
    for shape in SHAPES:
        x, y = complex_values(shape, dtype, 1), complex_values(shape, dtype, 2)
        for product in (lambda a, b: a * b, lambda a, b: a * b * a, lambda a, b, y=y: (a * a) * (b * y)):
            agree(product, [x, y], complex_values)
    x, y = complex_values((4, 6), dtype), complex_values((6,), dtype)
    agree(lambda a, b: a * b, [x, y], complex_values)
    agree(lambda a, b: a * b, [x.T.copy().T, x], complex_values)
    agree(lambda a, b: a * b, [x[:, ::2], x[:, 1::2]], complex_values)
    agree(lambda a, b: a * b, [x, x.real.copy()], complex_values)


def test_complex_products_of_nan_and_infinities_are_not_finite_where_the_tables_are_not():
    x = np.array([np.nan, np.inf, 1, complex(0, np.inf), complex(np.nan, 1)])
    with np.errstate(all="ignore"):
        got = gradients(lambda a, b: a * b, [x, x[::-1].copy()], np.ones)
        expected = plain(gradients, lambda a, b: a * b, [x, x[::-1].copy()], np.ones)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))


def test_an_owned_gradient_of_a_complex_product_is_overwritten_for_its_only_edge():
    x, y = complex_values((4,), seed=1), complex_values((4,), seed=2)
    node = (ag.tensor(x, requires_grad=True) * y).grad_fn
    g = complex_values((4,))
    expected = g * y.conj()
    ((out, owned), *_) = try_rule(node, g, owned=True)
    assert out is g
    assert owned
    np.testing.assert_allclose(out, expected)
