"""Hooks over several tensors (HK7), around operations, on rebased tensors (HK6), and pickling (HK9)."""

import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import Function, backward, grad
from arraygrad.autograd.graph import op_hooks, register_multi_grad_hook

# HK6


def test_HK6_retain_grad_moves_to_the_new_history_and_hooks_stay_with_the_old():
    x = leaf([1.0])
    b = x * 2.0
    seen = []
    b.retain_grad()
    b.register_hook(lambda g: seen.append(g.item()))
    old = b.grad_fn
    b *= 10.0
    assert b.retains_grad
    assert b.grad_fn is not old
    b.sum().backward()
    same(b.grad, [1.0])
    assert seen == [10.0]


def test_HK6_writing_an_item_moves_it_too():
    b = leaf([1.0, 2.0]) * 1
    b.retain_grad()
    b[0] = 5.0
    b.sum().backward()
    same(b.grad, [1.0, 1.0])


def test_HK6_so_does_writing_through_a_view():
    b = leaf([1.0, 2.0]) * 1
    b.retain_grad()
    v = b[:1]
    v *= 3.0
    b.sum().backward()
    same(b.grad, [1.0, 1.0])


def test_HK6_a_view_keeps_retaining_when_its_base_is_written():
    b = leaf([1.0, 2.0]) * 1
    v = b[:1]
    v.retain_grad()
    b *= 3.0
    (v * 2.0).sum().backward()
    same(v.grad, [2.0])


def test_HK6_a_custom_function_that_writes_in_place_too():
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2.0
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    b = leaf([1.0]) * 1
    b.retain_grad()
    Doubled.apply(b)
    b.sum().backward()
    same(b.grad, [1.0])


# HK7


@pytest.fixture
def three():
    a, b, c = leaf([1.0]), leaf([2.0]), leaf([3.0])
    return a, b, c, a * b, b * c


def values(gradients):
    return [None if g is None else g.item() for g in gradients]


def test_HK7_all_calls_once_with_every_gradient(three):
    a, _, c, ab, bc = three
    seen = []
    register_multi_grad_hook((a, ab, c), lambda grads: seen.append(values(grads)))
    (ab + 2.0 * bc).backward()
    assert seen == [[2.0, 1.0, 4.0]]


def test_HK7_tensors_that_a_run_does_not_reach_give_none(three):
    a, _, c, ab, bc = three
    seen = []
    register_multi_grad_hook((a, ab, c, bc), lambda grads: seen.append(values(grads)))
    ab.backward(retain_graph=True)
    bc.backward(retain_graph=True)
    assert seen == [[2.0, 1.0, None, None], [None, None, 2.0, 1.0]]


def test_HK7_under_grad_only_what_the_pass_needs_counts(three):
    a, _, c, ab, bc = three
    seen = []
    register_multi_grad_hook((a, ab, c), lambda grads: seen.append(values(grads)))
    grad(ab + bc, [a], retain_graph=True)
    assert seen == [[2.0, 1.0, None]]
    backward(ab + bc, inputs=[c])
    assert seen[1:] == [[None, None, 2.0]]


def test_HK7_any_calls_once_with_the_first_gradient(three):
    a, _, c, ab, bc = three
    seen = []
    register_multi_grad_hook((a, c), lambda g: seen.append(g.item()), mode="any")
    (ab + bc).backward(retain_graph=True)
    assert len(seen) == 1
    (ab + bc).backward()
    assert len(seen) == 2


def test_HK7_what_it_returns_is_not_used(three):
    a, _, _, ab, _ = three
    register_multi_grad_hook((a,), lambda grads: ag.tensor([100.0]))
    ab.backward()
    same(a.grad, [2.0])


def test_HK7_remove_takes_it_away(three):
    a, _, _, ab, _ = three
    seen = []
    handle = register_multi_grad_hook((a, ab), seen.append)
    handle.remove()
    handle.remove()
    with register_multi_grad_hook((a, ab), seen.append):
        pass
    ab.backward()
    assert seen == []


def test_HK7_a_nested_run_counts_for_itself(three):
    a, b, _, ab, _ = three
    seen = []
    register_multi_grad_hook((a, b), lambda grads: seen.append(values(grads)))
    inner = a * b * 10.0

    def nested(g):
        inner.backward()

    ab.register_hook(nested)
    ab.backward()
    assert seen == [[20.0, 10.0], [2.0, 1.0]]


def test_HK7_a_failed_run_leaves_nothing_behind(three):
    a, b, _, ab, _ = three
    seen = []
    alive = []

    def fails(g):
        raise KeyError

    def watch(g):
        alive.append(weakref.ref(g))

    ab.register_hook(watch)
    handle = b.register_hook(fails)
    register_multi_grad_hook((ab, a, b), lambda grads: seen.append(values(grads)))
    with pytest.raises(KeyError):
        ab.backward(retain_graph=True)
    handle.remove()
    ab.backward()
    gc.collect()
    assert seen == [[1.0, 2.0, 1.0]]
    assert alive[0]() is None


def test_HK7_runs_in_two_threads_count_apart():
    x = leaf(np.ones(3))
    seen = []
    ys = [x * 2.0 for _ in range(8)]
    register_multi_grad_hook((x,), lambda grads: seen.append(1))
    start = threading.Barrier(8)

    def work(y):
        start.wait()
        y.sum().backward()

    threads = [threading.Thread(target=work, args=(y,)) for y in ys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8


def test_HK7_bad_arguments():
    x = leaf([1.0])
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got foo"):
        register_multi_grad_hook((x,), print, mode="foo")
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        register_multi_grad_hook((ag.tensor([1.0]),), print)
    with pytest.raises(TypeError, match="expected Tensors, got int"):
        register_multi_grad_hook((3,), print)


def test_HK8_a_multi_hook_that_refers_to_its_tensors_is_collectable():
    x = leaf([1.0])
    register_multi_grad_hook((x,), lambda grads, x=x: None)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


# HK9


def test_HK9_pickling_a_tensor_with_hooks_warns():
    x = leaf([1.0])
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match=r"backward hook <function .*> on tensor will not be serialized"):
        copy = pickle.loads(pickle.dumps(x))
    copy.backward()
    same(copy.grad, [1.0])


@pytest.mark.filterwarnings("ignore:a Tensor that was computed is pickled")
def test_HK9_so_does_a_result_with_hooks_but_not_for_those_of_its_neighbours():
    a, b = ag.unstack(leaf([1.0, 2.0]))
    a.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        pickle.dumps(a)
    pickle.dumps(b)  # a warning would be an error


# Hooks around operations


def names(program):
    seen = []
    with op_hooks(lambda name, args: seen.append(f"<{name}"), lambda name, args, result: seen.append(f"{name}>")):
        program()
    return seen


def test_op_hooks_are_called_around_each_operation():
    x = leaf([1.0, 2.0])
    assert names(lambda: ag.exp(x) * 2.0) == ["<exp", "exp>", "<multiply", "multiply>"]


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (lambda x: np.sin(x), "sin"),
        (lambda x: 2.0 - x, "subtract"),
        (lambda x: x.sum(), "sum"),
        (lambda x: ag.concat([x, x]), "concat"),
        (lambda x: x[0], "_getitem"),
        (lambda x: x.copy(), "_copy"),
        (lambda x: x.detach().__setitem__(0, 1.0), "_setitem"),
        (lambda x: ag.norm(x), "norm"),
    ],
)
def test_op_hooks_name_the_operation(program, name):
    assert names(lambda: program(leaf([1.0, 2.0]))) == [f"<{name}", f"{name}>"]


def test_op_hooks_get_arguments_and_the_recorded_result():
    x = leaf([1.0, 2.0])
    seen = []
    with op_hooks(after=lambda name, args, result: seen.append((args, result))):
        y = x * 3.0
    assert seen[0][0][0] is x
    assert seen[0][0][1] == 3.0
    assert seen[0][1] is y
    assert y.requires_grad


def test_op_hooks_see_custom_functions_as_one_operation():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0 + x * 0.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    assert names(lambda: Twice.apply(leaf([1.0]))) == ["<Twice", "Twice>"]


def test_op_hooks_nest_and_do_not_see_their_own_operations():
    x = leaf([1.0])
    seen = []
    outer = op_hooks(lambda *_: seen.append("outer before"), lambda *_: seen.append("outer after"))
    inner = op_hooks(lambda *_: seen.append(ag.exp(x) is None), lambda *_: seen.append("inner after"))
    with outer, inner:
        ag.exp(x)
    assert seen == ["outer before", False, "inner after", "outer after"]
    ag.exp(x)
    assert len(seen) == 4


def test_op_hooks_see_what_a_recorded_backward_does():
    x = leaf([1.0])
    y = ag.exp(x)
    assert names(lambda: grad(y, x, retain_graph=True)) == []
    assert "<multiply" in names(lambda: grad(y, x, create_graph=True))


def test_op_hooks_belong_to_their_thread():
    def other():
        thread = threading.Thread(target=lambda: ag.exp(leaf([1.0])))
        thread.start()
        thread.join()

    assert names(other) == []


def test_an_error_in_an_op_hook_leaves_the_operation_and_the_hooks_stay():
    x = leaf([1.0])

    def fails(name, args):
        raise KeyError("mine")

    with op_hooks(before=fails):
        for _ in range(2):
            with pytest.raises(KeyError, match="mine"):
                ag.exp(x)
    ag.exp(x)


def test_op_hooks_must_be_callable():
    with pytest.raises(TypeError, match="op_hooks: after must be callable or None, got int"):
        op_hooks(after=3)
