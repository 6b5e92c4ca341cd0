"""einsum of NumPy's real arrays by plans that are found once, forward and backward (contractions.pyx)."""

import functools

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
from arraygrad.testing import gradcheck, gradgradcheck

CASES = [
    ("ij->ji", (3, 4)),
    ("ij", (3, 4)),
    ("ba", (3, 4)),
    ("ii->i", (4, 4)),
    ("ii", (4, 4)),
    ("iij->ij", (3, 3, 2)),
    ("iji->j", (3, 2, 3)),
    ("ij->i", (3, 4)),
    ("ij->", (3, 4)),
    ("...j->...", (2, 3, 4)),
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk->ki", (3, 4), (4, 5)),
    ("ij,kj", (3, 4), (5, 4)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk", (1, 3, 4), (6, 4, 5)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("ij,ij->i", (3, 4), (3, 4)),
    ("ij,j->i", (3, 4), (4,)),
    ("i,j->ij", (3,), (4,)),
    ("i,i", (3,), (3,)),
    ("ij,k->k", (3, 4), (2,)),
    ("ij,ij->i", (3, 4), (1, 4)),
    ("ii,ij->j", (3, 3), (3, 4)),
    (",ij->ij", (), (3, 4)),
    ("ijk,kl->ijl", (2, 0, 3), (3, 4)),
    ("ijk,kl->ijl", (2, 3, 0), (0, 4)),
    ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
    ("i,ij,j->", (3,), (3, 4), (4,)),
    ("ij,ij,ij->j", (3, 4), (3, 4), (3, 4)),
    ("ij,jk,kl,lm->im", (3, 4), (4, 2), (2, 5), (5, 3)),
    ("i,j,k->ijk", (2,), (3,), (4,)),
    ("ab,b,c->ac", (2, 3), (3,), (4,)),
    ("ij,i,i,i,i,i,i->j", (2, 3), (2,), (2,), (2,), (2,), (2,), (2,)),
]


def operands(shapes, dtype, order, seed=0):
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    if order == "F":
        return [np.array(x, order="F") for x in arrays]
    if order == "steps":  # every other element of a larger array, backwards
        made = [np.zeros([2 * n for n in x.shape], dtype)[(*(slice(None, None, -2),) * x.ndim, ...)] for x in arrays]
        for out, x in zip(made, arrays, strict=True):
            out[...] = x
        return made
    return arrays


def value_and_gradients(einsum, subscripts, arrays, tracked, **options):
    leaves = [ag.tensor(x, requires_grad=True) if k in tracked else x for k, x in enumerate(arrays)]
    out = einsum(subscripts, *leaves, **options)
    rng = np.random.default_rng(7)
    out.backward(rng.normal(size=out.shape).astype(out.dtype))
    return out.numpy(), [leaves[k].grad.numpy() for k in tracked]


def near(got, expected, dtype):
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    assert got.dtype == expected.dtype == dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F", "steps"])
@pytest.mark.parametrize(("subscripts", "shapes"), [(case[0], case[1:]) for case in CASES])
def test_values_and_gradients_are_those_of_the_plain_path(subscripts, shapes, order, dtype):
    arrays = operands(shapes, dtype, order)
    everything = tuple(range(len(arrays)))
    for einsum, options in ((ag.einsum, {}), (ag.einsum, {"optimize": False}), (np.einsum, {}),
                            (np.einsum, {"optimize": True})):  # fmt: skip
        for tracked in {everything, everything[:1], everything[-1:]}:
            for _ in range(2):  # the plan is found, then used
                got = value_and_gradients(einsum, subscripts, arrays, tracked, **options)
            value, gradients = plain(
                functools.partial(value_and_gradients, einsum, subscripts, arrays, tracked, **options)
            )
            near(got[0], value, dtype)
            near(got[0], np.asarray(np.einsum(subscripts, *arrays)), dtype)
            for one, expected in zip(got[1], gradients, strict=True):
                near(one, expected, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("subscripts", "shapes"), [(case[0], case[1:]) for case in CASES])
def test_numpys_spelling_has_numpys_bits(subscripts, shapes, dtype):
    arrays = operands(shapes, dtype, "C")
    tensors = [ag.tensor(x, requires_grad=True) for x in arrays]
    np.testing.assert_array_equal(np.einsum(subscripts, *tensors).numpy(), np.einsum(subscripts, *arrays))


@pytest.mark.parametrize(("subscripts", "shapes"), [(c[0], c[1:]) for c in CASES if all(all(s) for s in c[1:])])
def test_gradients_are_those_of_differences(subscripts, shapes):
    leaves = tuple([ag.tensor(x, requires_grad=True) for x in operands(shapes, "float64", "C")])
    assert gradcheck(lambda *xs: ag.einsum(subscripts, *xs), leaves)
    if sum(x.size for x in leaves) < 30:
        assert gradgradcheck(lambda *xs: ag.einsum(subscripts, *xs), leaves)


def test_one_text_serves_many_shapes_in_turn():
    for n in (*range(1, 40), *range(1, 40)):
        x, y = operands(((2, n), (n, 3)), "float64", "C", seed=n)
        got = value_and_gradients(ag.einsum, "ij,jk->ik", [x, y], (0, 1))
        np.testing.assert_allclose(got[0], x @ y, rtol=1e-12, atol=1e-12)
        g = np.random.default_rng(7).normal(size=(2, 3))
        np.testing.assert_allclose(got[1][0], g @ y.T, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(got[1][1], x.T @ g, rtol=1e-12, atol=1e-12)


def test_more_texts_than_are_kept():
    letters = "abcdefghijklmnopqrstuvwxyzABCD"
    x, y = operands(((2, 3), (3, 2)), "float64", "C")
    for i in letters:
        for j in letters:
            if i != j:
                got = ag.einsum(f"{i}{j},{j}Z->{i}Z", ag.asarray(x), y).numpy()
                np.testing.assert_allclose(got, x @ y, rtol=1e-12)


def test_what_does_not_fit_is_refused_each_time():
    x, y = (ag.tensor(a, requires_grad=True) for a in operands(((2, 3), (4, 2)), "float64", "C"))
    for einsum in (ag.einsum, np.einsum):
        for subscripts in ("ij,jk->ik", "ijk,jk->ik", "ij->ik", "ij,jk", "ij,jk->iik", "i1,jk->k"):
            for _ in range(2):
                with pytest.raises(ValueError, match="einsum"):
                    einsum(subscripts, x, y)


def test_other_operands_take_numpys_way():
    x = ag.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    for other in (np.arange(3), np.arange(3, dtype="float32"), np.arange(3) * 1j, np.array([True, False, True])):
        x.grad = None
        out = np.einsum("ij,j->i", x, other)
        expected = np.einsum("ij,j->i", x.numpy(), other)
        assert out.dtype == expected.dtype
        np.testing.assert_allclose(out.numpy(), expected)
        out.backward(np.ones(2, out.dtype))
        np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(np.conj(other).real.astype("f8"), (2, 3)))


def test_a_view_of_one_operand_can_be_written():
    x = ag.tensor(np.zeros((3, 3)), requires_grad=True)
    y = x * 1.0
    np.einsum("ii->i", y)[...] = ag.asarray([1.0, 2.0, 3.0])
    (y * np.arange(9.0).reshape(3, 3)).sum().backward()
    np.testing.assert_array_equal(y.numpy(), np.diag([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(x.grad.numpy(), np.arange(9.0).reshape(3, 3) * (1 - np.eye(3)))


def test_the_gradient_of_a_view_is_not_overwritten():
    x = ag.tensor(np.arange(4.0).reshape(2, 2), requires_grad=True)
    g = np.arange(4.0).reshape(2, 2)
    ag.einsum("ij->ji", x).backward(g)
    x.grad += 1.0
    np.testing.assert_array_equal(g, np.arange(4.0).reshape(2, 2))


def test_an_operand_that_was_written_afterwards_has_its_value_from_before():
    for subscripts in ("ij,jk->ik", "ij,ij->i", "ij,jk,kl->il"):
        leaves = [ag.tensor(np.ones((2, 2)), requires_grad=True) for _ in range(subscripts.count(",") + 1)]

        def gradients(write, leaves=leaves, subscripts=subscripts):
            computed = [x * 1.0 for x in leaves]
            out = ag.einsum(subscripts, *computed)
            if write:
                computed[1][0] = 5.0
            return [g.numpy() for g in ag.autograd.grad(out.sum(), leaves)]

        for got, expected in zip(gradients(True), gradients(False), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_a_constant_that_was_written_is_not_read():
    for subscripts in ("ij,jk->ik", "ij,ij->i"):
        x, constant = ag.tensor(np.ones((2, 2)), requires_grad=True), np.ones((2, 2))
        out = ag.einsum(subscripts, x, constant)
        constant[0, 0] = 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_hooks_of_saved_tensors_get_the_operands():
    seen = []

    def pack(x):
        seen.append(x.shape)
        return x.numpy().copy()

    x, y = (ag.tensor(a, requires_grad=True) for a in operands(((2, 3), (3, 4)), "float64", "C"))
    with ag.autograd.graph.saved_tensors_hooks(pack, ag.asarray):
        out = ag.einsum("ij,jk->ik", x, y)
    out.sum().backward()
    assert seen == [(2, 3), (3, 4)]
    np.testing.assert_allclose(x.grad.numpy(), np.ones((2, 4)) @ y.numpy().T)


def test_a_graph_runs_twice():
    x, y = (ag.tensor(a, requires_grad=True) for a in operands(((2, 3), (3, 4)), "float64", "C"))
    out = ag.einsum("ij,jk->ik", x, y).sum()
    out.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    out.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first)


def test_one_operand_twice_gets_both_gradients():
    x = ag.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    ag.einsum("ij,jk->ik", x, x).sum().backward()
    g = np.ones((3, 3))
    np.testing.assert_allclose(x.grad.numpy(), g @ x.numpy().T + x.numpy().T @ g)


@pytest.mark.parametrize("subscripts", ["...d->", "...d->d", "...->"])
def test_an_ellipsis_that_the_result_lacks_is_numpys_error(subscripts):
    for requires_grad in (True, False):
        x = ag.tensor(np.ones((2, 3)), requires_grad=requires_grad)
        with pytest.raises(ValueError, match=r"'\.\.\.'"):
            np.einsum(subscripts, x)
        y = ag.tensor(np.ones(1 if "d" in subscripts else ()), requires_grad=requires_grad)
        assert np.einsum(subscripts, y).numpy() == 1.0
    assert ag.einsum(subscripts, x).numpy().sum() == 6.0
