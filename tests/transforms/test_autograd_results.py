"""TL1-TL6, GR1-GR5, ED4, EI: what backward() and grad() compute, keep and return."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import autograd
from arraygrad.autograd import functions
from arraygrad.autograd.graph import GradientEdge, get_gradient_edge


@pytest.fixture
def x():
    return ag.tensor([1.0, 2.0], requires_grad=True)


def test_backward_adds_to_the_gradient_of_leaves(x):
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_gradient_may_be_a_raw_array(x):
    (x * x).backward(np.array([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


def test_gradient_is_cast_to_the_dtype_of_its_tensor():
    x = ag.tensor(np.ones(2, dtype=np.float32), requires_grad=True)
    (x * 2).backward(np.array([1.0, 2.0]))
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [2.0, 4.0]


def test_IB4_given_gradients_are_not_changed(x):
    given = np.array([1.0, 1.0])
    (x * 1.0).backward(given)
    (x * 1.0).backward(given)
    assert given.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [2.0, 2.0]


def test_GR3_the_same_tensor_twice_counts_twice():
    x = ag.tensor(2.0, requires_grad=True)
    y = x * x
    autograd.backward([y, y], [ag.tensor(1.0), ag.tensor(10.0)])
    assert x.grad.item() == 44.0


def test_GR4_a_leaf_may_be_an_output(x):
    (g,) = autograd.grad(x, x, np.array([3.0, 4.0]))
    assert g.tolist() == [3.0, 4.0]


def test_GR5_backward_of_nothing_does_nothing():
    autograd.backward([])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_TL5_default_gradient_has_the_dtype_of_its_tensor(dtype):
    x = ag.tensor(np.full((1, 1), 3.0, dtype=dtype), requires_grad=True)
    seen = []
    y = x * 1.0
    y.register_hook(seen.append)
    y.backward()
    assert (seen[0].dtype, seen[0].shape, seen[0].item()) == (dtype, (1, 1), 1.0)


def test_TL1_retain_graph_defaults_to_create_graph(x):
    y = (x * x).sum()
    autograd.grad(y, x, create_graph=True)
    autograd.grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        autograd.grad(y, x)


def test_TL1_create_graph_without_retain_graph_frees(x):
    y = (x * x).sum()
    autograd.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_retain_graph_allows_a_second_run(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_TL2_gradients_of_gradients(x):
    y = (x**4).sum()
    (g,) = autograd.grad(y, x, create_graph=True)
    (h,) = autograd.grad(g.sum(), x, create_graph=True)
    (k,) = autograd.grad(h.sum(), x)
    assert h.tolist() == [12.0, 48.0]
    assert k.tolist() == [24.0, 48.0]
    assert not k.requires_grad


def test_TL2_backward_with_create_graph(x, monkeypatch):
    monkeypatch.setattr(functions, "_warned_create_graph", True)
    (x**3).sum().backward(create_graph=True)
    g, x.grad = x.grad, None
    g.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    x.grad = None


def test_TL3_backward_with_inputs_changes_only_these():
    a, b = ag.tensor(2.0, requires_grad=True), ag.tensor(3.0, requires_grad=True)
    (a * b).backward(inputs=[a])
    assert (a.grad.item(), b.grad) == (3.0, None)


def test_TL3_unreachable_inputs_get_nothing(x):
    other = ag.tensor(1.0, requires_grad=True)
    x.sum().backward(inputs=[x, other])
    assert other.grad is None


def test_TL3_input_that_is_no_leaf_retains_its_gradient(x):
    middle = x * 3.0
    (middle * middle).sum().backward(inputs=middle)
    assert middle.grad.tolist() == [6.0, 12.0]
    assert x.grad is None
    assert middle.retains_grad


def test_TL3_inputs_may_be_a_dict(x):
    (x * x).sum().backward(inputs={"x": x})
    assert x.grad.tolist() == [2.0, 4.0]


def test_TL4_grad_does_not_touch_gradients_of_leaves(x):
    (g,) = autograd.grad((x * x).sum(), x)
    assert g.tolist() == [2.0, 4.0]
    assert x.grad is None


def test_TL4_dict_inputs_give_a_dict(x):
    other = ag.tensor(1.0, requires_grad=True)
    found = autograd.grad((x * other).sum(), {"x": x, "other": other})
    assert list(found) == ["x", "other"]
    assert (found["x"].tolist(), found["other"].item()) == ([1.0, 1.0], 3.0)


def test_TL4_unused_input_may_give_none(x):
    other = ag.tensor(1.0, requires_grad=True)
    _, unused = autograd.grad(x.sum(), [x, other], allow_unused=True)
    assert unused is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_TL4_materialize_gives_zeros(x, create_graph):
    other = ag.tensor(np.ones((2, 1), dtype=np.float32), requires_grad=True)
    _, unused = autograd.grad(x.sum(), [x, other], materialize_grads=True, create_graph=create_graph)
    assert (unused.shape, unused.dtype, unused.requires_grad) == ((2, 1), np.float32, create_graph)
    assert unused.tolist() == [[0.0], [0.0]]


def test_EI2_the_same_input_twice_gives_two_results(x):
    first, second = autograd.grad((x * x).sum(), [x, x])
    assert first.tolist() == second.tolist() == [2.0, 4.0]


def test_grad_of_an_intermediate_result(x):
    middle = x * 3.0
    (g,) = autograd.grad((middle * middle).sum(), middle)
    assert g.tolist() == [6.0, 12.0]


def test_results_have_the_dtype_and_shape_of_their_inputs():
    x = ag.tensor(np.ones((3, 1), dtype=np.float32), requires_grad=True)
    y = x + ag.tensor(np.ones((1, 4)))
    (g,) = autograd.grad(y.sum(), x)
    assert (g.shape, g.dtype) == ((3, 1), np.float32)
    assert g.tolist() == [[4.0]] * 3


# ED4: GradientEdge


def test_ED4_edge_as_output_and_input(x):
    middle = x * 3.0
    y = (middle * middle).sum()
    edge_in, edge_out = get_gradient_edge(middle), get_gradient_edge(y)
    (g,) = autograd.grad(edge_out, edge_in, retain_graph=True)
    assert g.tolist() == [6.0, 12.0]
    (g,) = autograd.grad([edge_out], [edge_in], ag.tensor(2.0))
    assert g.tolist() == [12.0, 24.0]


def test_ED4_edge_as_root_of_backward(x):
    autograd.backward(get_gradient_edge((x * x).sum()))
    assert x.grad.tolist() == [2.0, 4.0]


def test_ED4_edge_as_input_of_backward(x):
    other = ag.tensor(1.0, requires_grad=True)
    autograd.backward((x * other).sum(), inputs=get_gradient_edge(x))
    assert x.grad.tolist() == [1.0, 1.0]
    assert other.grad is None


def test_ED4_edge_needs_a_gradient_unless_it_is_a_scalar(x):
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        autograd.grad(get_gradient_edge(x * 2.0), x)


def test_ED4_edge_as_unused_input_cannot_be_materialized(x):
    other = get_gradient_edge(ag.tensor(1.0, requires_grad=True) * 2.0)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        autograd.grad(x.sum(), [x, other], materialize_grads=True)


def test_ED4_edge_keeps_meaning_the_old_value_after_an_in_place_change(x):
    middle = x * 3.0
    edge = get_gradient_edge(middle)
    middle *= 10.0
    (g,) = autograd.grad(middle.sum(), edge)
    assert g.tolist() == [10.0, 10.0]


def test_ED5_edge_keeps_the_graph_alive(x):
    edge = get_gradient_edge((x * x).sum())
    assert isinstance(edge, GradientEdge)
    autograd.backward([edge], [ag.tensor(1.0)])
    assert x.grad.tolist() == [2.0, 4.0]


# TL6: is_grads_batched


def test_TL6_results_are_stacked(x):
    y = x * x
    (rows,) = autograd.grad(y, x, np.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_TL6_frees_the_graph_after_the_last(x):
    y = x * x
    autograd.grad(y, x, np.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_TL6_with_create_graph(x):
    y = x**3
    (rows,) = autograd.grad(y, x, np.eye(2), is_grads_batched=True, create_graph=True)
    (g,) = autograd.grad(rows.sum(), x)
    assert g.tolist() == [6.0, 12.0]


def test_TL6_batched_gradients_may_require_grad(x):
    v = ag.tensor(np.eye(2), requires_grad=True)
    (rows,) = autograd.grad(x * x, x, v, is_grads_batched=True, create_graph=True)
    (g,) = autograd.grad(rows.sum(), v)
    assert g.tolist() == [[2.0, 4.0], [2.0, 4.0]]


def test_TL6_of_a_scalar_output(x):
    (rows,) = autograd.grad((x * x).sum(), x, np.array([1.0, 2.0, 3.0]), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 4.0], [4.0, 8.0], [6.0, 12.0]]


def test_TL6_empty_batch(x):
    (rows,) = autograd.grad(x * x, x, np.zeros((0, 2)), is_grads_batched=True)
    assert rows.shape == (0, 2)


def test_TL6_unused_inputs(x):
    other = ag.tensor([1.0, 1.0, 1.0], requires_grad=True)
    rows, unused = autograd.grad(
        x * x, [x, other], np.eye(2), is_grads_batched=True, allow_unused=True, retain_graph=True
    )
    assert unused is None
    rows, unused = autograd.grad(x * x, [x, other], np.eye(2), is_grads_batched=True, materialize_grads=True)
    assert (rows.shape, unused.shape) == ((2, 2), (2, 3))


def test_TL6_shape_errors(x):
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret the first dimension"):
        autograd.grad(x * x, x, np.eye(3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="must have the same length"):
        autograd.grad([x * x, x * x], x, [np.eye(2), np.ones((3, 2))], is_grads_batched=True)
    with pytest.raises(RuntimeError, match="needs a gradient for every output"):
        autograd.grad(x.sum(), x, is_grads_batched=True)
