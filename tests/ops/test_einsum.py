"""Einstein summation: values against numpy.einsum on two libraries, gradients, reading of subscripts, refusals.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

strict = pytest.importorskip("array_api_strict")

SUBSCRIPTS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ba", (2, 3)), ("ij->", (2, 3)), ("ii", (3, 3)),
    ("ii->i", (3, 3)), ("iij->ji", (2, 2, 3)), ("ijij->ji", (2, 3, 2, 3)), ("iii", (3, 3, 3)), ("i,j", (2,), (3,)),
    ("i,i", (3,), (3,)), (",", (), ()), ("i,->i", (3,), ()), ("ij,kj,lj->ikl", (2, 3), (4, 3), (5, 3)),
    ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 2), (2, 3)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("...ij,...jk", (2, 1, 2, 3), (4, 3, 2)), ("...i->i...", (2, 3, 4)),
    ("...->...", (2, 3)), ("...ii->...i", (2, 3, 3)), ("i...j,...->ij...", (2, 3, 4, 2), (3, 4)),
    ("...,...", (2, 1), (3,)), ("ij,jk->ik", (1, 3), (3, 1)), ("ij,ij->ij", (1, 3), (2, 1)),
    ("ij,jk->ik", (2, 0), (0, 3)), (" i j , j k -> i k ", (2, 3), (3, 4)), ("Ab,bA->A", (2, 3), (3, 2)),
    ("aij,bij,ab->", (2, 3, 4), (5, 3, 4), (2, 5)),
    ("ii,jj->ij", (2, 2), (3, 3)), ("ij,i,j->", (2, 3), (2,), (3,)), ("...i,...i,...i->...", (2, 3), (1, 3), (3,)),
]  # fmt: skip


def arrays(shapes, dtype=np.float64):
    rng = np.random.default_rng(5)
    return [np.asarray(rng.uniform(-1, 1, shape), dtype) for shape in shapes]


@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal"])
@pytest.mark.parametrize(("subscripts", *["shapes"]), [(s, shapes) for s, *shapes in SUBSCRIPTS], ids=str)
def test_value_is_numpys(subscripts, shapes, optimize):
    given = arrays(shapes)
    expected = np.einsum(subscripts, *given)
    np.testing.assert_allclose(ag.einsum(subscripts, *given, optimize=optimize).array, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("subscripts", *["shapes"]), [(s, shapes) for s, *shapes in SUBSCRIPTS], ids=str)
def test_contraction_over_the_standard_equals_numpys_value_and_gradients(subscripts, shapes):
    given = arrays(shapes)
    theirs = [ag.tensor(a, requires_grad=True) for a in given]
    ours = [ag.asarray(strict.asarray(a), copy=True).requires_grad_() for a in given]
    a, b = ag.einsum(subscripts, *theirs), ag.einsum(subscripts, *ours)
    np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12, atol=1e-14)
    (a * a).sum().backward()
    (b * b).sum().backward()
    for t, o in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(o.grad.numpy(), t.grad.numpy(), rtol=1e-12, atol=1e-14)
        assert o.grad.shape == t.shape


@pytest.mark.parametrize("make", [np.asarray, strict.asarray], ids=["numpy", "strict"])
def test_ellipsis_that_the_result_lacks_is_summed(make):
    # NumPy refuses this, PyTorch sums
    a, b = arrays([(2, 3, 4), (2, 1, 4)])
    x = ag.asarray(make(a), copy=True).requires_grad_()
    y = ag.einsum("b...,b...->b", x, ag.asarray(make(b)))
    np.testing.assert_allclose(y.numpy(), (a * b).sum((1, 2)))
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(b, a.shape))


def test_gradient_of_a_matrix_product_is_that_of_matmul():
    a, b = arrays([(2, 3), (3, 4)])
    x, y = ag.tensor(a, requires_grad=True), ag.tensor(b, requires_grad=True)
    ag.einsum("ij,jk->ik", x, y).sum().backward()
    np.testing.assert_allclose(x.grad.array, np.broadcast_to(b.sum(1), (2, 3)))
    np.testing.assert_allclose(y.grad.array, np.broadcast_to(a.sum(0)[:, None], (3, 4)))


def test_gradient_of_a_trace_is_the_identity():
    x = ag.tensor(arrays([(3, 3)])[0], requires_grad=True)
    ag.einsum("ii", x).backward()
    np.testing.assert_array_equal(x.grad.array, np.eye(3))


def test_gradient_of_a_nan_beside_the_diagonal_is_zero():
    x = ag.tensor([[1.0, np.nan], [np.nan, 2.0]], requires_grad=True)
    ag.einsum("ii->", x * x).backward()
    np.testing.assert_array_equal(np.diag(x.grad.array), [2.0, 4.0])


def test_one_tensor_as_several_operands_has_the_sum_of_their_gradients():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.einsum("i,i,i->", x, x, x).backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_single_precision_and_complex_dtypes_stay():
    a, b = arrays([(2, 3), (3, 2)], np.float32)
    x = ag.tensor(a, requires_grad=True)
    y = ag.einsum("ij,jk->ik", x, b)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == np.float32
    z = ag.tensor(a + 1j * a, requires_grad=True)
    assert ag.einsum("ij,jk->ik", z, b).dtype == np.complex64


def test_integer_operands_are_constants():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.einsum("i,i->", x, np.asarray([3, 4])).backward()
    assert x.grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(("subscripts", "shape"), [("ij->ji", (2, 3)), ("ii->i", (2, 2)), ("ij", (2, 3)), ("...", 2)])
@pytest.mark.parametrize("make", [np.asarray, strict.asarray], ids=["numpy", "strict"])
def test_what_is_written_into_the_result_is_seen_by_the_operand_and_its_gradient_where_they_share_memory(
    subscripts, shape, make
):
    x = ag.asarray(make(np.ones(shape)), copy=True, requires_grad=True)
    t = x * 1.0
    y = ag.einsum(subscripts, t)
    y[...] = 5.0
    shares = np.shares_memory(y.numpy(), t.numpy())
    assert shares or make is not np.asarray
    assert ag.max(t).item() == (5.0 if shares else 1.0)
    (gradient,) = ag.autograd.grad(t.sum(), x)
    np.testing.assert_array_equal(gradient.numpy(), np.where(t.numpy() == 5.0, 0.0, 1.0))


def test_numpys_function_on_tensors_is_recorded_in_both_its_forms():
    a, b = arrays([(2, 3), (3, 4)])
    x = ag.tensor(a, requires_grad=True)
    expected = np.einsum("ij,jk->ki", a, b)
    for y in (
        np.einsum("ij,jk->ki", x, b),
        np.einsum("ij,jk->ki", x, b, optimize=True),
        np.einsum(x, [0, 1], b, [1, 2], [2, 0]),
        np.einsum(x, [..., 1], b, [1, 2], [2, ...]),
        np.einsum(a, [0, 1], ag.tensor(b, requires_grad=True), [1, 2], [2, 0]),
    ):
        assert y.requires_grad
        np.testing.assert_allclose(y.detach().array, expected)
    np.testing.assert_allclose(np.einsum(x, [0, 1], b, [1, 2]).detach().array, np.einsum("ij,jk", a, b))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a, b: ag.einsum("ij", a, b), ValueError, r"'ij' has subscripts for 1 operands, but 2 were given"),
        (lambda a, b: ag.einsum("ijk,jk", a, b), ValueError, r"operand 0 has 2 dimensions, but .* 'ijk' name 3"),
        (lambda a, b: ag.einsum("i,jk", a, b), ValueError, r"operand 0 has 2 dimensions, but .* 'i' name 1"),
        (lambda a, b: ag.einsum("ij,jk->im", a, b), ValueError, r"label 'm' of the result is in no operand"),
        (lambda a, b: ag.einsum("ij,jk->ii", a, b), ValueError, r"label 'i' of the result is there more than once"),
        (lambda a, b: ag.einsum("i1,jk", a, b), ValueError, r"expected letters, .* got 'i1'"),
        (lambda a, b: ag.einsum("......,jk", a, b), ValueError, r"expected letters, one '\.\.\.' in a term"),
        (lambda a, b: ag.einsum(a, b), TypeError, r"subscripts must be a str such as 'ij,jk->ik', got ndarray"),
        (lambda a, b: np.einsum("ij,jk", a, b, dtype=np.float32), TypeError, r"numpy\.einsum: casting='safe'"),
        (lambda a, b: np.einsum(a, [0, 99], b, [1, 2]), ValueError, r"numpy\.einsum: .* from 0 to 51 .* \[0, 99\]"),
    ],
)
def test_wrong_subscripts_are_named(call, error, message):
    a, b = arrays([(2, 3), (3, 4)])
    with pytest.raises(error, match=message):
        call(ag.tensor(a, requires_grad=True), ag.tensor(b))


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="length 3, but another with the same label 'j' has 2"):
        ag.einsum("ij,jk", strict.ones((2, 2)), strict.ones((3, 2)))
    with pytest.raises(ValueError, match="lengths 1 and 3 of one operand have the label 'i'"):
        ag.einsum("ii", strict.ones((1, 3)))
