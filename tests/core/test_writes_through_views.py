"""After a write in place: on what a base and its views depend, hooks and retained gradients (VW1, VW2, HK5, HK6).

Each test runs on PyTorch too, where it is installed.
"""

import pytest
from tensor_helpers import leaf, same

import arraygrad as ag


@pytest.fixture
def made(lib):
    """(library, leaf, base, its view of the first two elements)."""
    x = lib.leaf([1.0, 2.0, 3.0])
    b = x * 1
    return lib, x, b, b[:2]


def test_VW2_what_a_written_view_is_used_for_depends_on_its_base(made):
    lib, x, b, v = made
    v *= 2
    assert lib.grads(v.sum(), b, v, x) == [[1.0, 1.0, 0.0], [1.0, 1.0], [2.0, 2.0, 0.0]]


def test_VW2_the_base_does_not_depend_on_the_written_view(made):
    lib, x, b, v = made
    v *= 2
    assert lib.grads((b * b).sum(), b, v, x) == [[4.0, 8.0, 6.0], None, [8.0, 16.0, 6.0]]


def test_VW2_uses_of_the_base_and_of_the_view_meet_in_the_base(made):
    lib, x, b, v = made
    v *= 2
    loss = (b * b).sum() + (v * v * v).sum()
    assert lib.grads(loss, b, v, x) == [[16.0, 56.0, 6.0], [12.0, 48.0], [32.0, 112.0, 6.0]]


def test_VW2_a_view_of_a_view_depends_on_the_base(made):
    lib, x, b, v = made
    w = v[1:]
    w *= 2
    assert lib.grads((w * w).sum(), b, w, x) == [[0.0, 8.0, 0.0], [8.0], [0.0, 16.0, 0.0]]


def test_VW2_a_view_of_a_written_view_depends_on_the_base(made):
    lib, x, b, v = made
    w = v[1:]
    v *= 2
    assert lib.grads((w * w).sum(), b, w, x) == [[0.0, 8.0, 0.0], [8.0], [0.0, 16.0, 0.0]]


def test_VW2_the_view_between_does_not_depend_on_the_one_that_was_written(made):
    lib, x, b, v = made
    w = v[1:]
    w *= 2
    assert lib.grads((v * v).sum(), b, v, w, x) == [[2.0, 8.0, 0.0], [2.0, 8.0], None, [2.0, 16.0, 0.0]]


def test_VW2_another_view_does_not_depend_on_the_written_one(made):
    lib, x, b, v = made
    w = b[1:]
    v *= 2
    assert lib.grads((w * w).sum(), b, v, w, x) == [[0.0, 8.0, 6.0], None, [8.0, 6.0], [0.0, 16.0, 6.0]]


def test_VW2_a_write_of_constants_leaves_the_view_in_the_graph(made):
    lib, x, b, v = made
    v[...] = 7.0
    assert v.requires_grad
    assert lib.grads((v * v).sum() + b.sum(), b, v, x) == [[15.0, 15.0, 1.0], [14.0, 14.0], [0.0, 0.0, 1.0]]


def test_VW2_a_constant_base_depends_on_what_was_written(lib):
    b, y = lib.constant([1.0, 2.0, 3.0]), lib.leaf([5.0, 6.0])
    v = b[:2]
    v *= y
    assert lib.grads((v * v).sum(), b, v, y) == [[10.0, 24.0, 0.0], [10.0, 24.0], [10.0, 48.0]]


def test_VW2_a_value_computed_between_two_writes_keeps_its_own_history(made):
    lib, x, b, v = made
    v *= 2
    y = v * 1
    v *= 3
    assert lib.grads((v * v).sum() + y.sum(), b, v, y, x) == [
        [12.0, 24.0, 0.0], [12.0, 24.0], [1.0, 1.0], [74.0, 146.0, 0.0],
    ]  # fmt: skip


def test_VW2_backward_to_the_base_alone_stops_there(made):
    lib, x, b, v = made
    v *= 2
    (v * v).sum().backward(inputs=[b])
    assert lib.values(b.grad) == [4.0, 8.0, 0.0]
    assert x.grad is None


def test_VW2_a_view_of_a_written_view_depends_on_it():
    # PyTorch has no view but of the base, so there the one between drops out.
    x = leaf([1.0, 2.0, 3.0])
    b = x * 1.0
    v = b[:2]
    w = v[1:]
    w *= 2.0
    (g,) = ag.autograd.grad((w * w).sum(), v)
    same(g, [0.0, 8.0])


# Hooks


def noted(lib, t, name, seen):
    t.register_hook(lambda g: seen.append((name, lib.values(g))))


def test_HK6_a_hook_on_a_base_sees_what_arrives_through_its_written_view(made):
    lib, x, b, v = made
    v *= 2
    b.register_hook(lambda g: g * 10)
    (v * v).sum().backward()
    assert lib.values(x.grad) == [80.0, 160.0, 0.0]


def test_HK6_hooks_put_on_after_the_write_see_gradients_of_the_new_values(made):
    lib, _x, b, v = made
    v *= 2
    seen = []
    noted(lib, b, "b", seen)
    noted(lib, v, "v", seen)
    ((b * b).sum() + (v * v).sum()).backward()
    assert seen == [("v", [4.0, 8.0]), ("b", [8.0, 16.0, 6.0])]


def test_HK6_a_hook_put_on_a_base_before_sees_the_gradient_of_the_old_value(made):
    lib, _x, b, v = made
    seen = []
    noted(lib, b, "b", seen)
    v *= 2
    (v * v).sum().backward()
    assert seen == [("b", [8.0, 16.0, 0.0])]


def unreachable(_):
    raise AssertionError("this hook's history is not part of the graph any more")


def test_HK6_a_hook_put_on_a_view_before_it_was_written_is_passed_by(made):
    lib, x, b, v = made
    v.register_hook(unreachable)
    v *= 2
    ((b * b).sum() + (v * v).sum()).backward()
    assert lib.values(x.grad) == [16.0, 32.0, 6.0]


def test_HK6_so_is_one_on_a_view_between(made):
    lib, x, b, v = made
    w = v[1:]
    v.register_hook(unreachable)
    w.register_hook(unreachable)
    w *= 2
    ((b * b).sum() + (w * w).sum()).backward()
    assert lib.values(x.grad) == [2.0, 32.0, 6.0]


def test_HK6_so_is_one_on_another_view(made):
    lib, x, b, v = made
    w = b[:2]
    w.register_hook(unreachable)
    v *= 2
    (w * w).sum().backward()
    assert lib.values(x.grad) == [8.0, 16.0, 0.0]


def test_HK6_such_a_hook_still_sees_what_was_computed_before_the_write(made):
    lib, x, _b, v = made
    seen = []
    noted(lib, v, "v", seen)
    y = v * 3
    v *= 2
    (y.sum() + v.sum()).backward()
    assert seen == [("v", [3.0, 3.0])]
    assert lib.values(x.grad) == [5.0, 5.0, 0.0]


def test_HK6_a_hook_on_a_view_is_passed_by_where_items_of_it_are_set(made):
    lib, x, _b, v = made
    v.register_hook(unreachable)
    v[0] = v.detach()[1] * 5
    (v * v).sum().backward()
    assert lib.values(x.grad) == [0.0, 4.0, 0.0]


# Retained gradients


def test_HK5_what_a_view_retains_moves_on_when_it_is_written(made):
    lib, x, b, v = made
    b.retain_grad()
    v.retain_grad()
    v *= 2
    (v * v).sum().backward()
    assert lib.values([b.grad, v.grad, x.grad]) == [[4.0, 8.0, 0.0], [4.0, 8.0], [8.0, 16.0, 0.0]]


def test_HK5_a_written_view_that_is_not_used_again_retains_nothing(made):
    lib, x, b, v = made
    b.retain_grad()
    v.retain_grad()
    v *= 2
    (b * b).sum().backward()
    assert lib.values([b.grad, x.grad]) == [[4.0, 8.0, 6.0], [8.0, 16.0, 6.0]]
    assert v.retains_grad
    assert v.grad is None


def test_HK5_all_that_retain_get_the_gradients_of_the_new_values(made):
    lib, x, b, v = made
    w = b[1:]
    for t in (b, v, w):
        t.retain_grad()
    v *= 2
    ((b * b).sum() + (v * v).sum() + (w * w).sum()).backward()
    assert lib.values([b.grad, v.grad, w.grad]) == [[8.0, 24.0, 12.0], [4.0, 8.0], [8.0, 6.0]]
    assert lib.values(x.grad) == [16.0, 48.0, 12.0]


def test_HK5_a_view_of_a_view_too(made):
    lib, x, b, v = made
    w = v[1:]
    for t in (b, v, w):
        t.retain_grad()
    w *= 2
    ((b * b).sum() + (v * v).sum() + (w * w).sum()).backward()
    assert lib.values([b.grad, w.grad]) == [[4.0, 24.0, 6.0], [8.0]]
    assert lib.values(x.grad) == [4.0, 48.0, 6.0]


def test_HK5_retain_grad_asked_for_after_the_write(made):
    lib, _x, b, v = made
    v *= 2
    b.retain_grad()
    v.retain_grad()
    ((b * b).sum() + (v * v).sum()).backward()
    assert lib.values([b.grad, v.grad]) == [[8.0, 16.0, 6.0], [4.0, 8.0]]


def test_HK5_a_tensor_that_is_no_view_retains_the_gradient_of_its_last_value(lib):
    x = lib.leaf([1.0, 2.0])
    y = x * 1
    y.retain_grad()
    y *= 3
    y.retain_grad()
    y *= 5
    (y * y).sum().backward()
    assert lib.values([y.grad, x.grad]) == [[30.0, 60.0], [450.0, 900.0]]


def test_HK5_a_view_retains_through_a_function_that_writes_it(lib):
    class Doubled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            with lib.module.no_grad():
                t *= 2
            ctx.mark_dirty(t)
            ctx.save_for_backward(t)
            return t

        @staticmethod
        def backward(ctx, g):
            (t,) = ctx.saved_tensors
            return g * 2 + t * 0

    x = lib.leaf([1.0, 2.0, 3.0])
    b = x * 1
    v = b[:2]
    v.retain_grad()
    assert Doubled.apply(v) is v
    (v * v).sum().backward()
    assert lib.values([v.grad, x.grad]) == [[4.0, 8.0], [8.0, 16.0, 0.0]]


# Those who ask for a history


def test_a_view_that_moved_into_the_graph_is_shown_with_its_history():
    b = ag.tensor([1.0, 2.0])
    v = b[:1]
    v *= leaf([3.0])
    assert repr(v) == "Tensor([3.], grad_fn=<GetitemBackward>)"


def test_a_view_whose_history_is_not_known_can_be_shown():
    b = leaf([1.0, 2.0]) * 1.0
    with ag.no_grad():
        v = b[:1]
    b *= 2.0
    assert repr(v) == "Tensor([2.], grad_fn=<Invalid>)"


class Held(ag.autograd.Function):
    """A Function of x that keeps, and may return, a tensor that is none of its arguments."""

    held = None

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, Held.held)
        return x * Held.held.detach()

    @staticmethod
    def backward(ctx, g):
        _, held = ctx.saved_tensors
        return g * held


def test_a_function_saves_a_written_view_from_outside_with_its_history(monkeypatch):
    y = leaf([3.0])
    b = ag.tensor([1.0, 2.0])
    v = b[:1]
    v *= y
    monkeypatch.setattr(Held, "held", v)
    x = leaf([5.0])
    (g,) = ag.autograd.grad(Held.apply(x), x, create_graph=True)
    same(g, [3.0])
    (h,) = ag.autograd.grad(g, y)
    same(h, [1.0])


def test_a_checkpoint_takes_a_written_view_with_its_history(lib):
    y = lib.leaf([3.0])
    b = lib.constant([1.0, 2.0])
    v = b[:1]
    v *= y
    if lib.name == "torch":
        from torch.utils.checkpoint import checkpoint

        z = checkpoint(lambda t: t * t, v, use_reentrant=False)
    else:
        z = ag.checkpoint(lambda t: t * t)(v)
    assert lib.grads(z.sum(), b, v, y) == [[6.0, 0.0], [6.0], [6.0]]


def test_a_copy_of_a_written_view_has_its_history():
    y = leaf([3.0])
    b = ag.tensor([1.0, 2.0])
    for copied in (lambda t: t.copy(), lambda t: ag.asarray(t, copy=True), lambda t: ag.stack([t])[0]):
        v = b.copy()[:1]
        v *= y
        (g,) = ag.autograd.grad(copied(v).sum(), y)
        same(g, [1.0])
