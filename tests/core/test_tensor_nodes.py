"""Nodes of recorded operations: by hand (ND2), identity (ND4), slots (ND5-ND7), edges (ED2-ED5), metadata (IM1)."""

import threading
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, nodes_of, python_function, same

import arraygrad as ag
from arraygrad.autograd import graph
from arraygrad.core.tensor import backend_of
from arraygrad.engine.node import Edge

LAST = 2**64 - 1


def test_ND1_a_node_has_one_input_per_output_of_its_operation():
    x = leaf([[1.0, 2.0], [3.0, 5.0]])
    assert len((x * x).grad_fn.input_metadata) == 1
    q, r = ag.linalg.qr(x)
    assert q.grad_fn is r.grad_fn
    assert len(q.grad_fn.input_metadata) == 2
    assert (q.output_nr, r.output_nr) == (0, 1)


def test_ND2_a_node_can_be_called_by_hand():
    x = leaf([1.0, 2.0])
    got = (x * x).grad_fn(ag.tensor([1.0, 10.0]))
    same(got[0], [1.0, 20.0])
    same(got[1], [1.0, 20.0])


def test_ND2_one_output_is_unpacked():
    x = leaf([1.0, 2.0])
    y = ag.sin(x)
    got = y.grad_fn(ag.tensor([1.0, 1.0]))
    assert isinstance(got, ag.Tensor)
    np.testing.assert_allclose(got.numpy(), np.cos([1.0, 2.0]))


def test_ND2_calling_by_hand_does_not_accumulate_or_free():
    x = leaf([1.0, 2.0])
    y = ag.exp(x)
    for _ in range(2):
        y.grad_fn(ag.tensor([1.0, 1.0]))
    assert x.grad is None
    y.sum().backward()


def test_ND2_none_is_an_undefined_gradient():
    assert ag.exp(leaf([1.0])).grad_fn(None) is None


@pytest.mark.parametrize("count", [0, 2])
def test_ND2_a_wrong_count_of_gradients_is_a_type_error(count):
    node = (leaf([1.0]) * 2.0).grad_fn
    with pytest.raises(TypeError, match=f"expected 1 arguments, got {count} instead"):
        node(*[ag.tensor([1.0])] * count)


def test_ND4_grad_fn_is_the_same_object_each_time():
    y = leaf([1.0]) * 2.0
    assert y.grad_fn is y.grad_fn
    z = y + 1.0
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert z.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0]


def test_ND4_a_leafs_accumulator_is_the_same_object_while_alive():
    x = leaf([1.0])
    a, b = x * 2.0, x * 3.0
    assert a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[0][0]


@pytest.mark.parametrize("other", [5, 5.0, True, np.float64(5.0)], ids=["int", "float", "bool", "numpy scalar"])
def test_ND5_a_scalar_operand_owns_a_slot(other):
    x = leaf([1.0])
    assert (x + other).grad_fn.next_functions[1] == (None, 0)
    reversed_edges = (other - x).grad_fn.next_functions
    assert len(reversed_edges) == 2
    assert reversed_edges[0] == (None, 0)


def test_ND6_an_input_that_does_not_require_grad_gives_an_invalid_edge():
    x, c = leaf([1.0]), ag.tensor([2.0])
    assert (c * x).grad_fn.next_functions[0] == (None, 0)
    assert (x * c).grad_fn.next_functions[1] == (None, 0)
    assert c.grad is None


def test_ND6_nothing_is_recorded_if_no_input_requires_grad():
    y = ag.tensor([1.0]) * 2.0
    assert y.grad_fn is None
    assert not y.requires_grad
    assert y.is_leaf


def test_ND6_what_is_not_needed_is_not_saved():
    x, c = leaf([1.0]), ag.tensor([2.0])
    assert (x * c).grad_fn.saved["x1"] is None
    assert (x * c).grad_fn.saved["x2"] is c


@pytest.fixture
def products(monkeypatch):
    """(a, b, calls): two strict matrices that require grad; rules note each matrix product in `calls`."""
    strict = pytest.importorskip("array_api_strict")
    a, b = (ag.asarray(strict.ones((2, 2), dtype=strict.float64), requires_grad=True) for _ in range(2))
    rules, calls = backend_of(a).rule_xp, []
    original = rules.matmul

    def counted(x1, x2):
        calls.append((x1, x2))
        return original(x1, x2)

    monkeypatch.setattr(rules, "matmul", counted)
    return a, b, calls


def test_ND7_grad_computes_only_the_wanted_gradient(products):
    a, b, calls = products
    y = (a @ b).sum()
    calls.clear()
    ag.autograd.grad(y, a, retain_graph=True)
    assert len(calls) == 1
    ag.autograd.grad(y, [a, b])
    assert len(calls) == 3


def test_ND7_an_input_that_does_not_require_grad_costs_no_rule(products):
    a, b, calls = products
    y = (a @ b.detach()).sum()
    calls.clear()
    y.backward()
    assert len(calls) == 1


def test_ND7_backward_with_inputs_skips_the_others(products):
    a, b, calls = products
    y = (a @ b).sum()
    calls.clear()
    y.backward(inputs=[b])
    assert len(calls) == 1
    assert a.grad is None


def test_ND9_saved_values_are_freed_after_backward():
    x = leaf([1.0, 2.0])
    y = ag.exp(x)
    z = ag.exp(y)
    alive = weakref.ref(y.array)
    del y
    assert alive() is not None
    z.sum().backward()
    assert alive() is None


def test_ND9_retain_graph_keeps_saved_values():
    x = leaf([1.0, 2.0])
    y = ag.exp(x)
    y.sum().backward(retain_graph=True)
    same(y.grad_fn.saved["ans"], y.array)


def test_ND10_nodes_know_the_thread_that_made_them():
    x, made = leaf([1.0]), []
    worker = threading.Thread(target=lambda: made.append(x * 2.0))
    worker.start()
    worker.join()
    assert made[0].grad_fn.creating_thread != (x * 2.0).grad_fn.creating_thread


def test_ND11_nodes_are_named_after_their_operation():
    x = leaf([1.0, 2.0])
    assert (x * x).grad_fn.name() == "MulBackward"
    assert ag.exp(x).grad_fn.name() == "ExpBackward"
    assert ag.autograd.graph.get_gradient_edge(x).node.name() == "AccumulateGrad"


def test_ND11_metadata_belongs_to_the_node():
    y = leaf([1.0]) * 2.0
    y.grad_fn.metadata["key"] = 7
    assert y.grad_fn.metadata == {"key": 7}


def test_ND12_what_has_no_derivative_raises_and_names_the_operation():
    # torch raises when such a node runs; here nothing is recorded that would have to fail later (api: never silently).
    x, correction = leaf([1.0, 2.0, 5.0]), leaf(1.0)
    with pytest.raises((NotImplementedError, TypeError), match=r"var.*'correction' requires grad.*no derivative"):
        ag.var(x, correction=correction)


def test_ND12_without_a_gradient_to_lose_it_is_an_ordinary_call():
    x = leaf([1.0, 2.0, 5.0])
    assert ag.var(x, correction=1.0).requires_grad
    with ag.no_grad():
        assert not ag.var(x, correction=leaf(1.0)).requires_grad


def test_ED2_the_edge_of_a_result_is_its_node_and_output_number():
    y = leaf([1.0]) * 2.0
    assert graph.get_gradient_edge(y) == (y.grad_fn, 0)
    _, r = ag.linalg.qr(leaf([[1.0, 2.0], [3.0, 5.0]]))
    assert graph.get_gradient_edge(r) == (r.grad_fn, 1)


def test_ED2_the_edge_of_a_leaf_is_its_accumulator():
    x = leaf([1.0])
    y = x * 2.0
    edge = graph.get_gradient_edge(x)
    assert edge.output_nr == 0
    assert edge.node is y.grad_fn.next_functions[0][0]


def test_ED2_a_tensor_that_does_not_require_grad_has_no_edge():
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge"):
        graph.get_gradient_edge(ag.tensor([1.0]))


def test_ED3_all_uses_of_a_value_are_summed():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    (y * y + y + y.sum()).sum().backward()
    # d/dy_i (sum y^2 + sum y + 2 * sum y) = 2 y_i + 3
    same(x.grad, 2 * (2 * np.array([2.0, 4.0]) + 3))


def test_ED3_outputs_of_one_operation_are_kept_apart():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    x = leaf(a)
    w, _ = ag.linalg.eigh(x)
    (gw,) = ag.autograd.grad(w.sum(), x, retain_graph=True)
    np.testing.assert_allclose(gw.numpy(), np.eye(2), atol=1e-12)  # the sum of eigenvalues is the trace


def test_ED4_an_edge_is_an_output_of_grad_and_backward():
    x = leaf([1.0, 2.0])
    edge = graph.get_gradient_edge(x * 3.0)
    (g,) = ag.autograd.grad(edge, x, ag.tensor([1.0, 10.0]), retain_graph=True)
    same(g, [3.0, 30.0])
    ag.autograd.backward([edge], [ag.tensor([1.0, 1.0])])
    same(x.grad, [3.0, 3.0])


def test_ED4_an_edge_is_an_input_of_grad_and_backward():
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    y = x * 3.0
    z = (y * y * w).sum()
    (g,) = ag.autograd.grad(z, graph.get_gradient_edge(y), retain_graph=True)
    same(g, [6.0, 24.0])
    z.backward(inputs=[graph.get_gradient_edge(x)])
    same(x.grad, [18.0, 72.0])
    assert w.grad is None


def test_ED4_an_edge_of_one_element_needs_no_gradient():
    x = leaf(2.0)
    ag.autograd.backward(graph.get_gradient_edge(x * x))
    same(x.grad, 4.0)


def test_ED4_an_edge_taken_before_an_inplace_change_means_the_old_value():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    before = graph.get_gradient_edge(y)
    y *= 5.0
    after = graph.get_gradient_edge(y)
    assert before != after
    z = y.sum()
    old, new = ag.autograd.grad(z, [before, after])
    same(old, [5.0, 5.0])
    same(new, [1.0, 1.0])


def test_ED4_what_is_neither_tensor_nor_edge_is_refused():
    with pytest.raises((RuntimeError, AssertionError), match="element 0 of tensors tuple is neither a Tensor nor"):
        ag.autograd.backward(["text"])
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got str"):
        ag.autograd.grad(leaf(1.0) * 2.0, ["text"])


def test_ED4_an_edge_cannot_be_materialized():
    x, unused = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        ag.autograd.grad(x * 2.0, [graph.get_gradient_edge(unused)], materialize_grads=True)


def test_ED5_an_edge_keeps_its_graph_alive_but_not_the_value():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    edge = graph.get_gradient_edge(y)
    array = weakref.ref(y.array)
    del y
    assert array() is None
    ag.autograd.backward([edge], [ag.tensor([1.0, 1.0])])
    same(x.grad, [3.0, 3.0])


def test_ED5_edges_compare_and_hash_by_node_and_number():
    y = leaf([1.0]) * 2.0
    a, b = graph.get_gradient_edge(y), graph.get_gradient_edge(y)
    assert a == b
    assert len({a, b}) == 1
    assert Edge(*a) == Edge(*b)


def test_TN1_topological_numbers_of_a_computation():
    x = leaf(1.0)
    y = x * 2.0
    z = y + x
    assert graph.get_gradient_edge(x).node.topological_nr == 0
    assert y.grad_fn.topological_nr == 1
    assert z.grad_fn.topological_nr == 2


def test_TN1_many_inputs_count_by_the_deepest():
    x = leaf([1.0])
    deep = ((x * 2.0) * 2.0) * 2.0
    assert ag.concat([x, x, deep, x]).grad_fn.topological_nr == 4
    assert ag.concat([deep, x]).grad_fn.topological_nr == 4


def test_SQ1_accumulators_have_the_highest_number():
    x = leaf([1.0])
    assert graph.get_gradient_edge(x).node.sequence_nr == LAST
    assert (x * 2.0).grad_fn.sequence_nr < LAST


def test_SQ1_operations_are_numbered_as_they_are_recorded():
    x = leaf([1.0])
    numbers = [(x * float(i)).grad_fn.sequence_nr for i in range(20)]
    assert numbers == sorted(set(numbers))


def test_SQ2_the_later_branch_runs_first():
    order = []
    x, w = leaf(1.0), leaf(1.0)
    a, b = ag.sin(x), ag.cos(w)
    o = a * b
    for name, t in (("a", a), ("b", b), ("o", o), ("x", x), ("w", w)):
        t.register_hook(lambda g, name=name: order.append(name))
    o.backward()
    assert order == ["o", "b", "w", "a", "x"]


def test_IM1_a_node_records_shape_dtype_and_device_of_the_forward_result():
    x = leaf(np.ones((2, 3), dtype=np.float32))
    meta = (x * 2.0).sum(axis=0).grad_fn.input_metadata[0]
    assert meta.shape == (3,)
    assert meta.dtype == np.float32
    assert meta.device_key is None


def test_IM1_metadata_survives_the_value():
    y = leaf(np.ones((2, 3))) * 2.0
    node = y.grad_fn
    del y
    assert node.input_metadata[0].shape == (2, 3)


def test_python_nodes_and_operations_make_one_graph():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    edge = python_function(lambda g: g * 10.0, y)
    ag.autograd.backward([edge], [ag.tensor([1.0, 1.0])])
    same(x.grad, [30.0, 30.0])


def test_the_graph_of_an_expression_has_the_nodes_of_its_operations():
    x = leaf([1.0, 2.0])
    assert set(nodes_of(ag.exp(x * 2.0).sum())) == {"SumBackward", "ExpBackward", "MulBackward", "AccumulateGrad"}
