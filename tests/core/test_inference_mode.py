"""inference_mode (GM6), is_checkpoint_valid (GM7)."""

import asyncio
import subprocess
import sys
import threading

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import grad, is_checkpoint_valid

SAVED = "Inference tensors cannot be saved for backward"
WRITTEN = "Inplace update to inference tensor outside InferenceMode is not allowed"


def made_inside(data=(1.0, 2.0)):
    with ag.inference_mode():
        return ag.tensor(list(data))


def test_GM6_nothing_is_recorded():
    x = leaf([1.0, 2.0])
    with ag.inference_mode():
        y = x * 2.0
    assert not y.requires_grad
    assert y.grad_fn is None
    assert y.is_inference()
    same(y, [2.0, 4.0])


def test_GM6_tensors_made_outside_are_ordinary():
    made_inside()
    assert not leaf([1.0]).is_inference()
    assert not (ag.tensor([1.0]) * 2.0).is_inference()


def test_GM6_the_modes_are_set_and_restored():
    assert (ag.is_inference_mode_enabled(), ag.is_grad_enabled()) == (False, True)
    with ag.inference_mode():
        assert (ag.is_inference_mode_enabled(), ag.is_grad_enabled()) == (True, False)
        with ag.inference_mode(False):
            assert (ag.is_inference_mode_enabled(), ag.is_grad_enabled()) == (False, True)
        assert (ag.is_inference_mode_enabled(), ag.is_grad_enabled()) == (True, False)
    with ag.no_grad():
        with ag.inference_mode():
            pass
        assert (ag.is_inference_mode_enabled(), ag.is_grad_enabled()) == (False, False)
    assert ag.is_grad_enabled()


def test_GM6_the_mode_is_restored_after_an_error():
    with pytest.raises(KeyError), ag.inference_mode():
        raise KeyError
    assert not ag.is_inference_mode_enabled()
    assert ag.is_grad_enabled()


def test_GM6_enable_grad_inside_records_nothing():
    x = leaf([1.0])
    with ag.inference_mode(), ag.enable_grad():
        assert ag.is_grad_enabled()
        y = x * 2.0
        with ag.no_grad():
            assert not ag.is_grad_enabled()
        assert ag.is_grad_enabled()
    assert not y.requires_grad
    assert y.is_inference()
    assert ag.is_grad_enabled()


def test_GM6_saving_an_inference_tensor_is_refused():
    c, n = made_inside(), leaf([3.0, 4.0])
    with pytest.raises(RuntimeError, match=SAVED):
        n * c
    with pytest.raises(RuntimeError, match=SAVED):
        ag.multiply(c, n)
    with pytest.raises(RuntimeError, match=SAVED):
        ag.where(ag.asarray(np.array([True, False])), n, c) * c


def test_GM6_a_constant_that_is_not_saved_is_fine():
    c, n = made_inside(), leaf([3.0, 4.0])
    y = n + c
    assert y.requires_grad
    assert not y.is_inference()
    y.sum().backward()
    same(n.grad, [1.0, 1.0])


def test_GM6_a_copy_can_be_saved():
    c, n = made_inside(), leaf([3.0, 4.0])
    assert not c.copy().is_inference()
    (n * c.copy()).sum().backward()
    same(n.grad, [1.0, 2.0])


def test_GM6_operations_outside_give_ordinary_tensors():
    c = made_inside()
    assert not (c * c).is_inference()
    with ag.no_grad():
        assert not (c * c).is_inference()


def write_iadd(t):
    t += 1.0


def write_item(t):
    t[0] = 1.0


def write_item_of_a_view(t):
    t[:1][0] = 5.0


@pytest.mark.parametrize("write", [write_iadd, write_item, write_item_of_a_view])
@pytest.mark.parametrize("grad_mode", [True, False])
def test_GM6_writing_outside_is_refused_and_changes_nothing(write, grad_mode):
    c = made_inside()
    with pytest.raises(RuntimeError, match=WRITTEN), ag.set_grad_enabled(grad_mode):
        write(c)
    same(c, [1.0, 2.0])


@pytest.mark.parametrize("write", [write_iadd, write_item])
def test_GM6_writing_inside_is_allowed(write):
    with ag.inference_mode():
        c = ag.tensor([3.0, 4.0])
        write(c)
    assert c.is_inference()
    assert c.numpy()[0] in (1.0, 4.0)


def test_GM6_an_ordinary_tensor_written_inside_stays_ordinary():
    n = ag.tensor([1.0, 2.0])
    with ag.inference_mode():
        n += 1.0
    assert not n.is_inference()
    assert n.version == 1
    n += 1.0
    same(n, [3.0, 4.0])


def test_GM6_a_node_keeps_what_it_saved_when_the_mode_writes():
    x = leaf([2.0])
    h = x * 1.0
    y = h * h
    with ag.inference_mode():
        h += 5.0
    y.sum().backward()
    same(x.grad, [4.0])


def test_GM6_views_are_marked_as_what_they_show():
    c, n = made_inside(), ag.tensor([1.0, 2.0])
    assert c[:1].is_inference()
    assert c.detach().is_inference()
    with ag.inference_mode():
        assert not n[:1].is_inference()
        assert not n.detach().is_inference()


def test_GM6_a_view_made_inside_cannot_carry_a_recorded_write():
    base = leaf([1.0, 2.0]) * 1.0
    with ag.inference_mode():
        view = base[:1]
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
        view += 1.0


def test_GM6_a_view_made_inside_of_an_ordinary_tensor_is_one():
    x = leaf([1.0, 2.0, 3.0])
    b = x * 1.0
    with ag.inference_mode():
        v = b[:2]
        assert (v.requires_grad, v.is_leaf, v.is_inference()) == (True, True, False)
    assert v.requires_grad
    (v * v).sum().backward()
    same(x.grad, [2.0, 4.0, 0.0])


def test_GM6_a_view_of_such_a_view_too():
    x = leaf([1.0, 2.0, 3.0])
    with ag.inference_mode():
        v = x[:2][1:]
    w = v[...]
    (w * w + v).sum().backward()
    same(x.grad, [0.0, 5.0, 0.0])


def test_GM6_such_a_view_is_refused_after_its_base_was_written_outside():
    b = leaf([1.0, 2.0, 3.0]) * 1.0
    with ag.inference_mode():
        v = b[:2]
    b *= 5.0
    with pytest.raises(RuntimeError, match="created in inference mode and its base or another view"):
        v.grad_fn  # noqa: B018
    with pytest.raises(RuntimeError, match="created in inference mode and its base or another view"):
        v * v


def test_GM6_a_view_used_before_its_base_was_written_keeps_its_gradient():
    x = leaf([1.0, 2.0, 3.0])
    b = x * 1.0
    with ag.inference_mode():
        v = b[:2]
    y = v * v
    b *= 5.0
    y.sum().backward()
    same(x.grad, [2.0, 4.0, 0.0])


def test_GM6_a_view_of_a_constant_that_is_asked_to_require_grad_inside_is_a_leaf():
    n = ag.tensor([1.0, 2.0])
    with ag.inference_mode():
        v = n[:1]
        v.requires_grad_()
    (v * v).sum().backward()
    assert v.requires_grad
    same(v.grad, [2.0])


def test_GM6_a_gradient_of_a_function_that_makes_a_view_inside():
    def f(x):
        with ag.inference_mode():
            v = x[1:]
        return (v * v).sum()

    same(ag.grad(f)(np.array([1.0, 2.0, 3.0])), [0.0, 4.0, 6.0])


def test_GM6_a_view_of_a_constant_stays_a_constant():
    n = ag.tensor([1.0, 2.0])
    with ag.inference_mode():
        v = n[:1]
    assert not v.requires_grad
    assert not (v * v).requires_grad


def test_GM6_one_of_several_views_made_inside_is_refused_outside():
    b = leaf([[1.0], [2.0]]) * 1.0
    with ag.inference_mode():
        v, _ = ag.unstack(b)
        assert v.requires_grad
        same(v * 2.0, [2.0])
    with pytest.raises(RuntimeError, match="made in inference mode and is used outside"):
        v * 2.0
    with ag.no_grad():
        same(v * 2.0, [2.0])
    same(v.detach() * 2.0, [2.0])


def test_GM6_requires_grad_outside_is_refused():
    c = made_inside()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
        c.requires_grad_()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
        c.requires_grad = True
    c.requires_grad_(False)
    assert not c.requires_grad


def test_GM6_a_leaf_made_inside_is_ordinary_and_gets_its_gradient():
    with ag.inference_mode():
        w = ag.tensor([1.0, 2.0], requires_grad=True)
        v = ag.tensor([5.0]).requires_grad_()
    assert not w.is_inference()
    ((w * w).sum() + v.sum()).backward()
    same(w.grad, [2.0, 4.0])
    same(v.grad, [1.0])


def test_GM6_backward_inside_gives_ordinary_gradients():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with ag.inference_mode():
        y.backward(retain_graph=True)
        assert ag.is_inference_mode_enabled()
    assert not x.grad.is_inference()
    y.backward()
    same(x.grad, [4.0, 8.0])


def test_GM6_create_graph_inside_records():
    x = leaf([2.0])
    y = (x * x * x).sum()
    with ag.inference_mode():
        (g,) = grad(y, x, create_graph=True)
    assert g.requires_grad
    (h,) = grad(g.sum(), x)
    same(h, [12.0])


def test_GM6_the_mode_is_restored_after_a_failing_backward():
    y = (leaf([1.0]) * 2.0).sum()
    y.register_hook(lambda g: 1 / 0)
    with ag.inference_mode():
        with pytest.raises(ZeroDivisionError):
            y.backward()
        assert ag.is_inference_mode_enabled()


def test_GM6_decorator_with_and_without_parentheses():
    @ag.inference_mode
    def bare(x):
        return x * 2.0

    @ag.inference_mode()
    def called(x):
        return x * 2.0

    @ag.inference_mode(False)
    def left(x):
        return x * 2.0

    x = leaf([1.0])
    assert bare(x).is_inference()
    assert called(x).is_inference()
    with ag.inference_mode():
        assert left(x).requires_grad
    assert bare.__name__ == "bare"
    assert not ag.is_inference_mode_enabled()


def test_GM6_generators_and_coroutines_are_in_the_mode_only_while_they_run():
    @ag.inference_mode
    def steps():
        yield ag.is_inference_mode_enabled()
        yield ag.is_inference_mode_enabled()

    @ag.inference_mode
    async def later():
        await asyncio.sleep(0)
        return ag.is_inference_mode_enabled()

    for inside in steps():
        assert inside
        assert not ag.is_inference_mode_enabled()
    assert asyncio.run(later())
    assert not ag.is_inference_mode_enabled()


def test_GM6_a_new_thread_starts_outside():
    seen = []
    with ag.inference_mode():
        thread = threading.Thread(target=lambda: seen.append(ag.is_inference_mode_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_GM6_wrong_arguments():
    with pytest.raises(TypeError, match="inference_mode: mode must be True or False, got int"):
        ag.inference_mode(1)
    assert repr(ag.inference_mode()) == "inference_mode(True)"


def test_GM6_an_index_is_saved_too():
    with ag.inference_mode():
        index = ag.asarray(np.array([0]))
    with pytest.raises(RuntimeError, match=SAVED):
        leaf([1.0, 2.0])[index]


TORCH = """
import torch
with torch.inference_mode():
    c = torch.ones(2)
n = torch.ones(2, requires_grad=True)
for f in (lambda: n * c, lambda: c.add_(1), lambda: c.requires_grad_()):
    try:
        f()
    except RuntimeError as error:
        print(str(error)[:45])
print(c[:1].is_inference(), (c * 2).is_inference(), (n + c).requires_grad)
"""


def test_GM6_texts_begin_as_in_torch():
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, check=True)
    theirs = done.stdout.splitlines()
    c, n = made_inside(), leaf([1.0, 1.0])
    ours = []
    for f in (lambda: n * c, lambda: write_iadd(c), c.requires_grad_):
        with pytest.raises(RuntimeError) as caught:
            f()
        ours.append(str(caught.value)[:45])
    assert [*ours, f"{c[:1].is_inference()} {(c * 2.0).is_inference()} {(n + c).requires_grad}"] == theirs


# GM7


def test_GM7_valid_outside_and_in_a_plain_backward():
    seen = []
    y = leaf([1.0]) * 2.0
    y.register_hook(lambda g: seen.append(is_checkpoint_valid()))
    y.sum().backward()
    assert seen == [True]
    assert is_checkpoint_valid()


def test_GM7_not_valid_where_only_some_gradients_are_asked_for():
    x = leaf([1.0])
    y = x * 2.0
    seen = []
    y.register_hook(lambda g: seen.append(is_checkpoint_valid()))
    grad(y.sum(), x, retain_graph=True)
    y.sum().backward(inputs=[x])
    assert seen == [False, False]
    assert is_checkpoint_valid()


def test_GM7_every_backward_on_the_stack_counts():
    x = leaf([1.0])
    seen = []

    def inner():
        with ag.enable_grad():
            y = leaf([1.0]) * 2.0
            y.register_hook(lambda g: seen.append(is_checkpoint_valid()))
            y.sum().backward()

    a, b = x * 2.0, x * 3.0
    a.register_hook(lambda g: inner())
    b.register_hook(lambda g: inner())
    a.sum().backward()
    grad(b.sum(), x)
    assert seen == [True, False]
    inner()
    assert seen == [True, False, True]
