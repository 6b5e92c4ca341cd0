"""Roots (GR), requested inputs (EI) and the options of backward() and grad() (TL)."""

import warnings

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import backward, functions, grad, graph

# backward(create_graph=True) warns once in a process (EX4); which test comes first does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:Using backward.* with create_graph=True:UserWarning")


def test_GR1_the_gradient_goes_to_the_slot_of_the_output():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    x = leaf(a)
    _, logdet = ag.linalg.slogdet(x)
    assert logdet.output_nr == 1
    logdet.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.linalg.inv(a).T)


def test_GR1_several_roots_are_summed():
    x = leaf([1.0, 2.0])
    backward([(x * 2.0).sum(), (x * 3.0).sum()])
    same(x.grad, [5.0, 5.0])


def test_GR3_the_same_tensor_twice_counts_twice():
    x = leaf(2.0)
    y = x * x
    backward([y, y], [ag.tensor(1.0), ag.tensor(10.0)])
    same(x.grad, 44.0)


def test_GR4_a_leaf_may_be_a_root():
    x = leaf([1.0, 2.0])
    x.backward(ag.tensor([3.0, 4.0]))
    same(x.grad, [3.0, 4.0])


def test_GR4_the_gradient_of_a_tensor_with_respect_to_itself():
    x = leaf([1.0, 2.0])
    same(grad(x, x, ag.tensor([3.0, 4.0]))[0], [3.0, 4.0])
    y = x * 2.0
    same(grad(y, y, ag.tensor([3.0, 4.0]))[0], [3.0, 4.0])


def test_GR5_no_roots_do_nothing():
    assert backward([]) is None


def test_EI2_the_same_input_twice_gives_two_results():
    x = leaf([1.0, 2.0])
    a, b = grad((x * x).sum(), [x, x])
    same(a, [2.0, 4.0])
    same(b, [2.0, 4.0])


def test_EI2_intermediate_results_are_inputs_too():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    z = (y * y).sum()
    gx, gy, gz = grad(z, [x, y, z])
    same(gx, [18.0, 36.0])
    same(gy, [6.0, 12.0])
    same(gz, 1.0)


def test_EI3_backward_runs_the_node_of_an_input_that_is_no_leaf():
    ran = []
    x = leaf([1.0])
    y = x * 2.0
    y.grad_fn.register_prehook(lambda outputs: ran.append("backward"))
    (y * 3.0).backward(inputs=[y])
    assert ran == ["backward"]
    assert x.grad is None


def test_EI3_grad_does_not_run_the_node_of_an_input():
    ran = []
    y = leaf([1.0]) * 2.0
    y.grad_fn.register_prehook(lambda outputs: ran.append("grad"))
    grad(y * 3.0, y)
    assert ran == []


def test_EI4_two_inputs_on_one_path_are_both_found():
    x = leaf(2.0)
    y = x * 3.0
    z = y * 5.0
    gy, gx = grad(z, [y, x])
    same(gy, 5.0)
    same(gx, 15.0)


def test_EI5_an_input_without_an_accumulator_is_unused():
    x, never = leaf(1.0), leaf(1.0)
    assert grad(x * 2.0, never, allow_unused=True) == (None,)
    gx, gn = grad(x * 2.0, [x, never], allow_unused=True)
    same(gx, 2.0)
    assert gn is None


def test_EI5_null_edges_are_no_match_for_an_unused_input():
    x, never = leaf(1.0), leaf(1.0)
    y = x * ag.tensor(2.0)  # has an invalid edge
    assert grad(y, never, allow_unused=True) == (None,)
    never.requires_grad_()
    y2 = x * 2.0
    y2.backward(inputs=[never])
    assert never.grad is None
    assert x.grad is None


def test_EI6_branches_that_are_not_needed_are_not_freed():
    x, w = leaf(1.0), leaf(1.0)
    a, b = ag.exp(x), ag.exp(w)
    grad(a + b, w)
    assert a.grad_fn.saved["ans"] is not None
    with pytest.raises(RuntimeError, match="second time"):
        _ = b.grad_fn.saved["ans"]


def test_GT7_a_captured_leaf_cannot_be_asked_about():
    x = leaf(1.0)
    y = x * 2.0
    edge = graph.get_gradient_edge(x)
    y.register_hook(lambda g: graph.will_execute(edge.node) and None)
    with pytest.raises(RuntimeError, match=r"A leaf node was passed to .*will_execute.* but we are currently running"):
        grad(y, x)


def test_EI7_captures_see_tensor_hooks_and_not_node_prehooks():
    x = leaf(1.0)
    y = x * 2.0
    y.register_hook(lambda g: g * 5.0)
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 7.0,))
    (gy,) = grad(y * 3.0, y, retain_graph=True)
    same(gy, 15.0)
    gy, gx = grad(y * 3.0, [y, x])
    same(gy, 15.0)
    same(gx, 2.0 * 7.0 * 15.0)


def test_EI7_captured_leaves_see_their_hooks():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 5.0)
    same(grad(x * 2.0, x)[0], 10.0)
    assert x.grad is None


def test_TL1_retain_graph_defaults_to_create_graph():
    x = leaf(2.0)
    y = x * x
    grad(y, x, create_graph=True)
    grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x)


def test_TL1_retain_graph_can_be_refused_with_create_graph():
    x = leaf(2.0)
    y = x * x
    grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x)


def test_TL2_gradients_of_gradients_to_any_order():
    x = leaf(2.0)
    g = x * x * x * x
    values = []
    for _ in range(4):
        (g,) = grad(g, x, create_graph=True)
        values.append(g.item())
    assert values == [32.0, 48.0, 48.0, 24.0]
    assert not g.requires_grad  # the fourth derivative depends on nothing any more


def test_TL2_create_graph_works_through_backward():
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.backward()
    same(x.grad, 12.0)


def test_TL2_a_gradient_penalty():
    w, x = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (w * x * x).sum()
    (gx,) = grad(y, x, create_graph=True)
    penalty = (gx * gx).sum()  # sum (2 w x)^2
    penalty.backward()
    same(w.grad, 8.0 * np.array([1.0, 2.0]) * np.array([9.0, 16.0]))
    same(x.grad, 8.0 * np.array([1.0, 4.0]) * np.array([3.0, 4.0]))


def test_TL2_without_create_graph_gradients_do_not_require_grad():
    x = leaf(2.0)
    (g,) = grad(x * x, x)
    assert not g.requires_grad
    assert g.grad_fn is None


def test_TL3_backward_with_inputs_changes_only_these():
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=[x])
    same(x.grad, 3.0)
    assert w.grad is None


def test_TL3_unreachable_inputs_stay_silently_none():
    x, other = leaf(2.0), leaf(3.0)
    (x * x).backward(inputs=[x, other])
    same(x.grad, 4.0)
    assert other.grad is None


def test_TL3_an_input_that_is_no_leaf_keeps_its_gradient():
    x = leaf(2.0)
    y = x * 3.0
    (y * y).backward(inputs=[y], retain_graph=True)
    same(y.grad, 12.0)
    assert x.grad is None
    (y * 5.0).backward()  # the semantics of retain_grad stay
    same(y.grad, 17.0)


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x,
        lambda x: [x],
        lambda x: (x,),
        lambda x: {"x": x},
        lambda x: graph.get_gradient_edge(x),
        lambda x: [graph.get_gradient_edge(x)],
        lambda x: iter([x]),
    ],
    ids=["tensor", "list", "tuple", "dict", "edge", "list of edges", "iterator"],
)
def test_TL3_inputs_come_in_every_form(form):
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=form(x))
    same(x.grad, 3.0)
    assert w.grad is None


def test_TL4_grad_never_touches_grad():
    x, w = leaf(2.0), leaf(3.0)
    w.grad = ag.tensor(7.0)
    grad(x * w, [x, w])
    assert x.grad is None
    same(w.grad, 7.0)


def test_TL4_grad_returns_a_tuple_and_a_dict_for_a_dict():
    x, w = leaf(2.0), leaf(3.0)
    result = grad(x * w, [x, w], retain_graph=True)
    assert type(result) is tuple
    result = grad(x * w, {"x": x, "w": w})
    assert type(result) is dict
    assert list(result) == ["x", "w"]
    same(result["x"], 3.0)
    same(result["w"], 2.0)


def test_TL4_unused_inputs_can_be_allowed_or_materialized():
    x, unused = leaf(2.0), leaf(np.ones((2, 3), dtype=np.float32))
    assert grad(x * x, [x, unused], allow_unused=True)[1] is None
    zeros = grad(x * x, [x, unused], materialize_grads=True)[1]
    same(zeros, np.zeros((2, 3)), dtype=np.float32)
    assert not zeros.requires_grad


def test_TL4_materialized_zeros_require_grad_with_create_graph():
    x, unused = leaf(2.0), leaf([1.0])
    assert grad(x * x, [x, unused], materialize_grads=True, create_graph=True)[1].requires_grad


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_TL5_the_default_gradient_is_ones_of_the_outputs_shape_and_dtype(dtype, shape):
    x = leaf(np.full(shape, 2.0, dtype=dtype))
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append((g.shape, g.dtype, g.item())))
    y.backward()
    assert seen == [(shape, np.dtype(dtype), 1.0)]
    same(x.grad, np.full(shape, 4.0), dtype=dtype)


def test_TL5_gradients_are_cast_to_the_outputs_dtype():
    x = leaf(np.ones(2, dtype=np.float32))
    for g in (ag.tensor(np.array([1, 2])), ag.tensor(np.array([1.0, 2.0])), np.array([1.0, 2.0])):
        (got,) = grad(x * 3.0, x, g)
        same(got, [3.0, 6.0], dtype=np.float32)


def test_TL6_batched_gradients_give_stacked_results():
    x = leaf([1.0, 2.0, 3.0])
    y = x * x
    (jacobian,) = grad(y, x, ag.tensor(np.eye(3)), is_grads_batched=True)
    same(jacobian, np.diag([2.0, 4.0, 6.0]))


def test_TL_mixed_dtypes_each_get_their_own():
    x, w = leaf(np.ones(2, dtype=np.float32)), leaf(np.ones(2))
    (x * w).sum().backward()
    assert x.grad.dtype == np.float32
    assert w.grad.dtype == np.float64


def test_EX4_backward_with_create_graph_warns_once_in_a_process(monkeypatch):
    monkeypatch.setattr(functions, "_warned_create_graph", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            x = leaf(2.0)
            (x * x).backward(create_graph=True)
    assert [w.category for w in caught] == [UserWarning]
    assert str(caught[0].message).startswith(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient"
    )
    assert "until the garbage collector next runs" in str(caught[0].message)
    assert "leak" not in str(caught[0].message)
    assert caught[0].filename == __file__


def test_EX4_grad_with_create_graph_does_not_warn(monkeypatch):
    monkeypatch.setattr(functions, "_warned_create_graph", False)
    x = leaf(2.0)
    grad(x * x, x, create_graph=True)  # warnings are errors here
