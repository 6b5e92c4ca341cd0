"""Hooks of tensors and nodes on arrays (HK1-HK5) and the order in which everything fires (CF1-CF5)."""

import gc
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, python_function, same

import arraygrad as ag
from arraygrad.autograd import backward, grad, graph


def test_CF1_tensor_hooks_then_retain_grad_then_node_prehooks_then_posthooks():
    log = []
    x = leaf(1.0)
    y = x * 2.0
    y.grad_fn.register_prehook(lambda outputs: log.append("pre") or (outputs[0] * 2.0,))
    y.retain_grad()
    y.register_hook(lambda g: log.append("tensor 1"))
    y.register_hook(lambda g: log.append("tensor 2") or g * 3.0)
    y.grad_fn.register_hook(lambda grads, outputs: log.append("post"))
    y.backward()
    assert log == ["tensor 1", "tensor 2", "pre", "post"]
    same(y.grad, 3.0)
    same(x.grad, 12.0)


def test_CF2_tensor_hooks_run_once_although_the_node_does_not_run():
    log = []
    y = leaf(1.0) * 2.0
    y.register_hook(lambda g: log.append("hook"))
    y.grad_fn.register_hook(lambda grads, outputs: log.append("ran"))
    grad(y * 3.0, y)
    assert log == ["hook"]


def test_CF2_tensor_hooks_run_once_if_the_node_is_captured_and_runs():
    log = []
    x = leaf(1.0)
    y = x * 2.0
    y.register_hook(lambda g: log.append("hook"))
    grad(y * 3.0, [y, x])
    assert log == ["hook"]


def test_CF2_hooks_of_tensors_off_the_path_do_not_run():
    log = []
    x, w = leaf(1.0), leaf(1.0)
    a, b = x * 2.0, w * 3.0
    a.register_hook(lambda g: log.append("a"))
    b.register_hook(lambda g: log.append("b"))
    grad(a + b, x)
    assert log == ["a"]


def test_CF3_posthooks_get_grad_inputs_and_grad_outputs():
    seen = []
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.grad_fn.register_hook(lambda grads, outputs: seen.append((grads, outputs)))
    y.backward(np.array([1.0, 10.0]))
    ((grads, outputs),) = seen
    same(grads[0], [3.0, 30.0])
    assert grads[1] is None
    same(outputs[0], [1.0, 10.0])


def test_CF4_the_order_at_a_leaf():
    log = []
    x = leaf(1.0)
    node = graph.get_gradient_edge(x).node
    node.register_hook(lambda grads, outputs: log.append(("post", grads)))
    x.register_post_accumulate_grad_hook(lambda t: log.append(("post accumulate", t.grad.item())))
    node.register_prehook(lambda outputs: log.append(("pre", outputs[0].item(), x.grad)))
    x.register_hook(lambda g: log.append(("tensor", g.item())) or g * 10.0)
    (x * 2.0).backward()
    assert log == [("tensor", 2.0), ("pre", 20.0, None), ("post accumulate", 20.0), ("post", ())]


def test_CF5_posthook_results_are_checked():
    def posthook(result):
        x = leaf([1.0, 2.0])
        y = x * 3.0
        y.grad_fn.register_hook(lambda grads, outputs: result(grads))
        y.sum().backward()
        return x.grad

    with pytest.raises(TypeError, match=r"^expected tuple, but hook returned 'Tensor'"):
        posthook(lambda grads: grads[0])
    with pytest.raises(RuntimeError, match=r"has returned an incorrect number of values \(got 1, but expected 2\)"):
        posthook(lambda grads: grads[:1])
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        posthook(lambda grads: (grads[0].sum(), None))
    with pytest.raises(RuntimeError, match="has changed the type of value"):
        posthook(lambda grads: (grads[0].astype(np.float32), None))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        posthook(lambda grads: (grads[0], grads[0]))
    assert posthook(lambda grads: (None, None)) is None


def test_HK1_hooks_run_in_order_and_see_earlier_results():
    seen = []
    x = leaf(1.0)
    x.register_hook(lambda g: seen.append(g.item()) or g + 1.0)
    x.register_hook(lambda g: seen.append(g.item()))
    x.register_hook(lambda g: seen.append(g.item()) or g * 10.0)
    (x * 2.0).backward()
    assert seen == [2.0, 3.0, 3.0]
    same(x.grad, 30.0)


def test_HK1_a_hook_on_an_intermediate_result_changes_what_flows_on():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.register_hook(lambda g: g * 5.0)
    y.sum().backward()
    same(x.grad, [10.0, 10.0])


def test_HK1_a_hook_gets_a_tensor_and_may_return_a_raw_array():
    seen = []
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: seen.append(type(g)) or np.array([7.0, 8.0]))
    x.sum().backward()
    assert seen == [ag.Tensor]
    same(x.grad, [7.0, 8.0])


def test_HK1_a_removed_hook_does_not_run():
    log = []
    x = leaf(1.0)
    first = x.register_hook(lambda g: log.append("first"))
    x.register_hook(lambda g: log.append("second"))
    first.remove()
    x.backward()
    assert log == ["second"]


def test_HK1_a_hook_can_remove_itself_while_it_runs():
    log = []
    x = leaf(1.0)

    def once(g):
        log.append("once")
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(lambda g: log.append("always"))
    x.backward()
    x.backward()
    assert log == ["once", "always", "always"]


def test_HK1_a_hook_added_in_backward_to_a_node_not_yet_run_is_honoured():
    x = leaf(1.0)
    y = x * 2.0
    z = y * 3.0
    z.register_hook(lambda g: y.register_hook(lambda g: g * 100.0) and None)
    z.backward()
    same(x.grad, 600.0)


def test_HK1_a_hook_on_a_result_of_several_outputs_sees_only_its_own():
    seen = []
    x = leaf([[2.0, 0.0], [0.0, 3.0]])
    sign, logdet = ag.linalg.slogdet(x)
    logdet.register_hook(lambda g: seen.append(g.item()))
    (logdet * 5.0).backward()
    assert seen == [5.0]
    assert sign is not None


def test_HK2_on_a_leaf_it_fires_once_with_the_summed_gradient_before_accumulation():
    seen = []
    x = leaf(1.0)
    x.grad = ag.tensor(100.0)
    x.register_hook(lambda g: seen.append((g.item(), x.grad.item())))
    (x * 2.0 + x * 3.0 + x).backward()
    assert seen == [(6.0, 100.0)]
    same(x.grad, 106.0)


def test_HK2_on_an_intermediate_result_it_fires_once_with_the_sum():
    seen = []
    y = leaf(1.0) * 1.0
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2.0 + y * 3.0).backward()
    assert seen == [5.0]


def hooked(hook):
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.register_hook(hook)
    y.sum().backward()


def test_HK3_a_hook_may_not_change_the_size():
    def shrinks(g):
        return g.sum()

    with pytest.raises(RuntimeError, match=r"^hook 'shrinks' has changed the size of value"):
        hooked(shrinks)


def test_HK3_a_hook_may_not_change_the_type():
    def narrows(g):
        return g.astype(np.float32)

    with pytest.raises(
        RuntimeError, match=r"^hook 'narrows' has changed the type of value \(was float64 got float32\)"
    ):
        hooked(narrows)


def test_HK3_a_hook_may_not_return_a_number():
    with pytest.raises(TypeError, match=r"^expected (Variable|Tensor), but hook returned 'int'"):
        hooked(lambda g: 3)


def test_HK3_undefined_gradients_are_shown_as_none_and_cannot_be_replaced():
    seen = []

    def shown(hook):
        x = leaf([[2.0, 0.0], [0.0, 3.0]])
        w, v = ag.linalg.eigh(x)
        v.register_hook(hook)
        w.sum().backward()
        return x.grad

    assert shown(seen.append) is not None
    assert seen == [None]
    with pytest.raises(RuntimeError, match=r"^can't replace a None gradient with a non-None value"):
        shown(lambda g: ag.tensor(np.ones((2, 2))))


def test_HK3_a_hook_that_raises_fails_the_call_unchanged():
    error = ValueError("mine")

    def raises(g):
        raise error

    with pytest.raises(ValueError, match="mine") as info:
        hooked(raises)
    assert info.value is error


def test_HK3_hooks_are_recorded_with_create_graph():
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)  # grad = 2 x * x
    (g,) = grad(y, x, create_graph=True)
    same(g, 18.0)
    (h,) = grad(g, x)
    same(h, 12.0)


def test_HK4_node_hooks_on_arrays():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2.0,))
    y.grad_fn.register_hook(lambda grads, outputs: (grads[0] + 1.0, None))
    y.sum().backward()
    same(x.grad, [7.0, 7.0])


def test_HK4_errors_of_node_prehooks():
    def prehook(result):
        y = leaf([1.0, 2.0]) * 3.0
        y.grad_fn.register_prehook(lambda outputs: result(outputs))
        y.sum().backward()

    with pytest.raises(TypeError, match=r"^expected tuple, but hook returned 'Tensor'"):
        prehook(lambda outputs: outputs[0])
    with pytest.raises(
        RuntimeError, match=r"hook '<lambda>' has returned an incorrect number of values \(got 2, but expected 1\)"
    ):
        prehook(lambda outputs: outputs * 2)
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        prehook(lambda outputs: (outputs[0].sum(),))
    with pytest.raises(TypeError, match=r"expected (Variable|Tensor), but hook returned 'int'"):
        prehook(lambda outputs: (3,))


def test_HK5_retain_grad_keeps_the_gradient_of_a_result():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.retain_grad()
    (y * y).sum().backward()
    same(y.grad, [6.0, 12.0])
    same(x.grad, [18.0, 36.0])


def test_HK5_retain_grad_is_a_no_op_on_leaves_and_when_repeated():
    x = leaf([1.0])
    x.retain_grad()
    y = x * 2.0
    y.retain_grad()
    y.retain_grad()
    y.backward()
    same(x.grad, [2.0])
    same(y.grad, [1.0])


def test_HK5_later_gradients_are_added_out_of_place():
    y = leaf([1.0, 2.0]) + 0.0
    y.retain_grad()
    z = y.sum()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward()
    assert y.grad is not first
    same(first, [1.0, 1.0])
    same(y.grad, [2.0, 2.0])


def test_HK5_the_first_gradient_is_a_copy():
    g = ag.tensor([1.0, 10.0])
    y = leaf([1.0, 2.0]) + 0.0
    y.retain_grad()
    y.backward(g)
    assert not np.shares_memory(y.grad.array, g.array)
    assert y.grad.array.flags["C_CONTIGUOUS"]


@pytest.mark.parametrize("first", ["hook", "retain"])
def test_HK5_it_sees_tensor_hooks_whatever_the_order_of_registration(first):
    y = leaf([1.0]) * 1.0
    if first == "retain":
        y.retain_grad()
    y.register_hook(lambda g: g * 7.0)
    if first == "hook":
        y.retain_grad()
    y.backward()
    same(y.grad, [7.0])


def test_HK5_the_tensor_is_held_weakly():
    y = leaf([1.0]) * 2.0
    z = y * 3.0
    y.retain_grad()
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None
    z.backward()


def test_HK8_hook_closures_die_with_their_tensor():
    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)
    x = leaf([1.0])
    x.register_hook(lambda g, held=held: None)
    del held
    assert alive() is not None
    del x
    gc.collect()
    assert alive() is None


def test_HK8_a_cycle_through_a_hook_is_collected():
    x = leaf([1.0])
    x.register_hook(lambda g, x=x: None)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None
    y = leaf([1.0]) * 2.0
    y.register_hook(lambda g, y=y: None)
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None


def test_hooks_of_python_functions_outputs():
    seen = []
    x = leaf([1.0, 2.0])
    edge = python_function(lambda g: g * 2.0, x)
    edge.node.register_prehook(lambda outputs: seen.append(outputs[0].tolist()))
    backward([edge], [np.array([1.0, 3.0])])
    assert seen == [[1.0, 3.0]]
    same(x.grad, [2.0, 6.0])
