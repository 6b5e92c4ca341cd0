"""autograd.add_scaled: updates of many parameters, in place and unrecorded. Over CuPy: tests/gpu/test_updates.py."""

import numpy as np
import pytest

import arraygrad as ag


def test_it_has_the_values_of_statements_and_records_nothing():
    values = [np.array([1.0, 2.0]), np.array([[3.0], [4.0]]), np.array([5])]
    p, q, n = (ag.asarray(v, requires_grad=v.dtype.kind == "f") for v in values)
    before = p.array
    ag.autograd.add_scaled([p, q, n], [np.array([1.0, 1.0]), ag.asarray([[2.0]]), 3], 2)
    assert (p.tolist(), q.tolist(), n.tolist()) == ([3.0, 4.0], [[7.0], [8.0]], [11])
    assert p.array is before
    assert (p.grad_fn, p.requires_grad, p.version) == (None, True, 1)
    assert ag.is_grad_enabled()


def test_none_leaves_a_target_as_it_is():
    p = ag.asarray([1.0], requires_grad=True)
    ag.autograd.add_scaled([p], [p.grad], -0.1)
    assert (p.tolist(), p.version) == ([1.0], 0)


def test_a_step_of_gradient_descent():
    w = ag.asarray([1.0, -2.0], requires_grad=True)
    ag.sum(w * w).backward()
    ag.autograd.add_scaled((w,), (w.grad,), -np.float64(0.25))
    assert w.tolist() == [0.5, -1.0]


def test_the_same_target_twice_is_updated_twice():
    p = ag.asarray([1.0], requires_grad=True)
    ag.autograd.add_scaled([p, p], [p, p], 1.0)
    assert p.tolist() == [4.0]


def test_values_that_nodes_have_saved_stay():
    p = ag.asarray([1.0, 2.0], requires_grad=True)
    loss = ag.sum(p * p)
    ag.autograd.add_scaled([p], [p.detach()], 1.0)
    loss.backward()
    assert p.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("targets", "terms", "factor", "error", "words"),
    [
        ([[1.0]], [[1.0], [1.0]], 1.0, ValueError, "1 targets, but 2 terms"),
        ([[1.0]], ["x"], 1.0, TypeError, r"terms\[0\] is no Tensor or array of numpy"),
        ([[1.0]], [np.ones(3)], 1.0, ValueError, r"shape \(3,\) does not fit targets\[0\] of shape \(1,\)"),
        ([[1.0]], [np.ones((1, 1))], 1.0, ValueError, "does not fit"),
        ([[1.0]], [np.ones(1)], "x", TypeError, "expected a number as factor, got str"),
        ([[1.0]], [np.ones(1)], 1j, TypeError, "can't be written into dtype float64"),
    ],
)
def test_errors_say_what_was_found(targets, terms, factor, error, words):
    tensors = [ag.asarray(t, requires_grad=True) for t in targets]
    with pytest.raises(error, match=words):
        ag.autograd.add_scaled(tensors, [ag.asarray(t) if isinstance(t, list) else t for t in terms], factor)
    assert [t.tolist() for t in tensors] == targets
    assert ag.is_grad_enabled()


def test_what_is_no_tensor_and_what_is_never_written_is_refused():
    with pytest.raises(TypeError, match=r"targets\[0\] is no Tensor but ndarray"):
        ag.autograd.add_scaled([np.ones(2)], [np.ones(2)])
    with pytest.raises(TypeError, match="a computed Tensor without axes is a scalar"):
        ag.autograd.add_scaled([ag.sum(ag.asarray([1.0, 2.0]))], [1.0])


def test_arrays_of_jax_are_refused_in_words():
    jax = pytest.importorskip("jax.numpy")
    with pytest.raises(TypeError, match="arrays of jax are never written: write t = t"):
        ag.autograd.add_scaled([ag.asarray(jax.ones(2))], [1.0])


def test_arrays_of_torch_are_updated():
    torch = pytest.importorskip("torch")
    p = ag.asarray(torch.tensor([1.0, 2.0]), requires_grad=True)
    ag.autograd.add_scaled([p], [torch.tensor([1.0, 1.0])], -0.5)
    assert p.numpy().tolist() == [0.5, 1.5]
