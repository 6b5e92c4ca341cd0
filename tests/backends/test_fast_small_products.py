"""Gradients of products of many small matrices (small_products.hpp), beside the plain path and scalars by hand."""

import numpy as np
import pytest
from fast_path_cases import plain, same

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.testing import gradcheck, gradgradcheck

EINSUMS = {
    "nij,nj->ni": ((40, 3, 4), (40, 4)),
    "ni,nij->nj": ((40, 3), (40, 3, 2)),
    "nij,njk->nik": ((40, 3, 4), (40, 4, 2)),
    "nij,nkj->nik": ((40, 3, 4), (40, 2, 4)),
    "nij,njk->kin": ((40, 3, 4), (40, 4, 2)),
    "ni,nj->nij": ((40, 3), (40, 5)),
    "nij,nij->n": ((40, 3, 4), (40, 3, 4)),
    "ni,ni->n": ((40, 3), (40, 3)),
    "n,nij->nij": ((40,), (40, 3, 3)),
    "abij,abjk->abik": ((6, 7, 2, 3), (6, 7, 3, 2)),
    "bnhd,bmhd->bhnm": ((6, 5, 4, 3), (6, 2, 4, 3)),
    "nij,jk->nik": ((40, 3, 4), (4, 2)),
    "ij,jk->ik": ((40, 4), (4, 30)),
    "nij,nj->i": ((40, 3, 4), (40, 4)),
    "nii,ni->n": ((40, 3, 3), (40, 3)),
    "ni,nj->n": ((40, 3), (40, 5)),
    "nij,njk->nik, wide": ((20, 9, 4), (20, 4, 12)),
    "nij,njk->nik, few": ((5, 3, 3), (5, 3, 3)),
    "nij,njk->nik, empty": ((0, 3, 3), (0, 3, 3)),
}
LAYOUTS = ["rows", "columns", "every second", "backwards", "repeated"]


def values(shape, dtype, layout="rows", seed=0):
    rng = np.random.default_rng(seed)
    if layout == "columns":
        return np.asfortranarray(rng.normal(size=shape).astype(dtype))
    if layout == "every second":
        return rng.normal(size=(2 * shape[0], *shape[1:])).astype(dtype)[::2]
    if layout == "backwards":
        return rng.normal(size=shape).astype(dtype)[..., ::-1]
    if layout == "repeated":
        return np.broadcast_to(rng.normal(size=shape[1:]).astype(dtype), shape)
    return rng.normal(size=shape).astype(dtype)


def gradients(f, a, b, weights):
    tensors = [ag.asarray(x, requires_grad=True) for x in (a, b)]
    y = f(*tensors)
    y.backward(weights(y.numpy()))
    return [t.grad.numpy() for t in tensors]


def close(got, expected, dtype):
    for one, other in zip(got, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape) == (dtype, other.shape)
        scale = np.abs(other).max(initial=1.0) * (1e-5 if dtype == "float32" else 1e-13)
        np.testing.assert_allclose(one, other, rtol=0, atol=scale)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EINSUMS)
def test_gradients_of_einsum_are_those_of_the_plain_path(name, dtype, layout):
    subscripts = name.partition(", ")[0] if name.count(",") > 1 else name
    a, b = [values(shape, dtype, layout, k) for k, shape in enumerate(EINSUMS[name])]
    for weights in (np.cos, lambda y: np.broadcast_to(np.asarray(0.5, y.dtype), y.shape)):
        got = gradients(lambda x, y: np.einsum(subscripts, x, y), a, b, weights)
        close(got, plain(lambda: gradients(lambda x, y: np.einsum(subscripts, x, y), a, b, weights)), dtype)  # noqa: B023


PRODUCTS = {
    "matmul": (np.matmul, (40, 3, 4), (40, 4, 2)),
    "matmul of columns": (np.matmul, (40, 3, 4), (40, 4, 1)),
    "matmul, two axes in front": (np.matmul, (5, 8, 3, 4), (5, 8, 4, 2)),
    "matmul, long sums": (np.matmul, (40, 3, 9), (40, 9, 3)),
    "matvec": (an.matvec if hasattr(an, "matvec") else getattr(np, "matvec", None), (40, 3, 4), (40, 4)),
    "vecmat": (an.vecmat if hasattr(an, "vecmat") else getattr(np, "vecmat", None), (40, 3), (40, 3, 4)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_of_products_are_those_of_the_plain_path(name, dtype, layout):
    f, first, second = PRODUCTS[name]
    if f is None:
        pytest.skip("this NumPy has no such function")
    a, b = values(first, dtype, layout), values(second, dtype, layout, 1)
    close(gradients(f, a, b, np.sin), plain(lambda: gradients(f, a, b, np.sin)), dtype)


def test_values_stay_numpys():
    a, b = values((50, 3, 3), "float64"), values((50, 3, 3), "float64", seed=1)
    t = ag.asarray(a, requires_grad=True)
    same(np.matmul(t, b).numpy(), np.matmul(a, b))
    same(np.einsum("nij,njk->nik", t, b).numpy(), np.einsum("nij,njk->nik", a, b))
    same(np.einsum("nij,nj->ni", t, b[:, 0]).numpy(), np.einsum("nij,nj->ni", a, b[:, 0]))


def test_an_overflow_is_reported():
    a = ag.asarray(np.full((20, 2, 2), 1e200), requires_grad=True)
    y = np.matmul(a, np.full((20, 2, 2), 1e-200))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        (y * 1e300).backward(np.full((20, 2, 2), 1e300))


def test_first_and_second_derivatives_are_those_of_differences():
    a, b = [ag.asarray(values(s, "float64", seed=k), requires_grad=True) for k, s in enumerate([(16, 2, 3), (16, 3)])]
    for f in (lambda x, y: np.einsum("nij,nj->ni", x, y) ** 2, lambda x, y: np.matmul(x, y[..., None]) ** 2):
        assert gradcheck(f, (a, b))
        assert gradgradcheck(f, (a, b))
