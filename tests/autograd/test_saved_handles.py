"""Handles of single saved values: `_saved_<name>`, `_raw_saved_<name>`, hooks registered on one of them (SV14)."""

import gc
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import Function, grad
from arraygrad.autograd.graph import SavedTensor, saved_tensors_hooks


def same_value(t):
    return t


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return 2 * g + 0 * x


def test_SV14_a_saved_value_is_an_attribute_of_its_node():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    node = (x * w).grad_fn
    assert node._saved_x1 is x
    assert node._saved_x2 is w
    assert {"_saved_x1", "_saved_x2", "_raw_saved_x1", "_raw_saved_x2"} <= set(dir(node))
    y = ag.exp(x)
    assert y.grad_fn._saved_ans is y


def test_SV14_static_parameters_are_attributes_without_a_handle():
    node = ag.stack([leaf([1.0]), leaf([2.0])], axis=1).grad_fn
    assert node._saved_axis == 1
    assert not hasattr(node, "_raw_saved_axis")


def test_SV14_a_name_that_no_rule_saves_is_refused_with_those_there_are():
    node = (leaf([1.0]) * leaf([2.0])).grad_fn
    with pytest.raises(AttributeError, match="MulBackward has _raw_saved_x1, _raw_saved_x2, _saved_x1, _saved_x2"):
        node._saved_self  # noqa: B018
    with pytest.raises(AttributeError, match="AddBackward has no saved values"):
        (leaf([1.0]) + leaf([2.0])).grad_fn._raw_saved_x1  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        node.nonsense  # noqa: B018


def test_SV14_pack_is_called_at_once_with_a_detached_tensor_and_recording_off():
    x = leaf([1.0, 2.0])
    y = x * x
    seen = []

    def pack(t):
        seen.append((t.requires_grad, t.grad_fn, ag.is_grad_enabled(), t.tolist()))
        return t * 2

    y.grad_fn._raw_saved_x1.register_hooks(pack, lambda t: t / 2)
    assert seen == [(False, None, False, [1.0, 2.0])]
    same(y.grad_fn._saved_x1, [1.0, 2.0])


@pytest.mark.parametrize(
    ("f", "name", "want"),
    [
        # unpack gives twice the value: the derivative with the saved value doubled, everything else as it was
        (lambda x: x * 3.0 * x, "x1", [3 * 2 + 3 * 2 * 2, 3 * 3 + 3 * 2 * 3]),
        (ag.sin, "x", [np.cos(4.0), np.cos(6.0)]),
        (ag.tanh, "ans", [1 - 4 * np.tanh(2.0) ** 2, 1 - 4 * np.tanh(3.0) ** 2]),
        (lambda x: x**3, "x1", [48.0, 108.0]),
    ],
    ids=["multiply", "sin", "tanh", "power"],
)
def test_SV14_compiled_rules_give_way_to_hooks(f, name, want):
    x = leaf([2.0, 3.0])
    y = f(x)
    getattr(y.grad_fn, f"_raw_saved_{name}").register_hooks(same_value, lambda t: 2 * t)
    y.sum().backward()
    got = x.grad.numpy()
    if name == "x1" and y.grad_fn.name() == "MulBackward":
        # x * 3 is x1 of the outer product: doubling it doubles the term of the second factor alone.
        want = [2 * 3 * 2.0 + 3 * 2.0, 2 * 3 * 3.0 + 3 * 3.0]
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_SV14_a_rule_with_something_kept_aside_gives_way_to_hooks():
    a = leaf([[3.0, 1.0], [1.0, 2.0]])
    b = leaf([1.0, 1.0])
    want = grad(ag.linalg.solve(a, b).sum(), [a, b])
    y = ag.linalg.solve(a, b)
    y.grad_fn._raw_saved_x1.register_hooks(lambda t: t * 2, lambda t: t / 2)
    for got, expected in zip(grad(y.sum(), [a, b]), want, strict=False):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-13)
    y = ag.cos(leaf(np.linspace(0.0, 1.0, 5000)))  # whose forward may leave its sines
    y.grad_fn._raw_saved_x.register_hooks(lambda t: t * 2, lambda t: t)
    got = y.grad_fn(ag.ones(5000))
    np.testing.assert_allclose(got.numpy(), -np.sin(2 * np.linspace(0.0, 1.0, 5000)), rtol=1e-12)


def test_SV14_unpack_runs_once_per_pass_for_its_value_alone():
    x, w = leaf([2.0]), leaf([3.0])
    y = x * w
    calls = []
    y.grad_fn._raw_saved_x1.register_hooks(same_value, lambda t: calls.append("x1") or t)
    y.grad_fn._raw_saved_x2.register_hooks(same_value, lambda t: calls.append("x2") or t)
    y.grad_fn._saved_x2  # noqa: B018
    assert calls == ["x2"]
    y.backward(ag.ones(1), retain_graph=True)
    assert sorted(calls) == ["x1", "x2", "x2"]


def test_SV14_second_derivatives_go_through_an_unpacked_value():
    x = leaf([2.0])
    y = x**3
    y.grad_fn._raw_saved_x1.register_hooks(lambda t: t.numpy().copy(), lambda a: a)
    (first,) = grad(y, x, grad_outputs=ag.ones(1), create_graph=True)
    (second,) = grad(first, x, grad_outputs=ag.ones(1))
    same(second, [12.0])


def test_SV14_the_array_is_freed_when_a_hook_keeps_something_else():
    x = leaf(np.ones(100))
    inner = x * 2.0
    y = inner * inner
    y.grad_fn._raw_saved_x1.register_hooks(lambda t: None, lambda _: ag.ones(100))
    y.grad_fn._raw_saved_x2.register_hooks(lambda t: None, lambda _: ag.ones(100))
    gone = weakref.ref(inner.array)
    del inner
    gc.collect()
    assert gone() is None


def test_SV14_only_one_pair_of_hooks_is_allowed():
    y = leaf([1.0]) * leaf([2.0])
    y.grad_fn._raw_saved_x1.register_hooks(same_value, same_value)
    with pytest.raises(RuntimeError, match="only one pair of hooks is allowed at a time"):
        y.grad_fn._raw_saved_x1.register_hooks(same_value, same_value)
    with saved_tensors_hooks(same_value, same_value):
        y = ag.exp(leaf([1.0]))
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        y.grad_fn._raw_saved_ans.register_hooks(same_value, same_value)


def test_SV14_freed_values_take_no_hooks():
    y = leaf([1.0]) * leaf([2.0])
    handle = y.grad_fn._raw_saved_x1
    y.backward(ag.ones(1))
    for h in (handle, y.grad_fn._raw_saved_x1):
        with pytest.raises(RuntimeError, match="after it has been freed"):
            h.register_hooks(same_value, same_value)
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        y.grad_fn._saved_x1  # noqa: B018
    with pytest.raises(RuntimeError, match="already been freed"):
        handle.unpack()


def test_SV14_what_is_no_array_takes_no_hooks():
    x = leaf([1.0])
    node = (x * 2).grad_fn
    assert node._saved_x1 is None
    assert node._saved_x2 == 2
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        node._raw_saved_x1.register_hooks(same_value, same_value)
    with pytest.raises(RuntimeError, match="x2 is a Python number"):
        node._raw_saved_x2.register_hooks(same_value, same_value)


def test_SV14_hooks_are_two_callables():
    handle = (leaf([1.0]) * leaf([2.0])).grad_fn._raw_saved_x1
    with pytest.raises(TypeError, match="expected two callables, pack and unpack, but got int"):
        handle.register_hooks(same_value, 1)
    with pytest.raises(TypeError):
        handle.register_hooks(same_value)
    with pytest.raises(TypeError, match="is made by arraygrad"):
        SavedTensor()
    with pytest.raises(TypeError, match="is made by arraygrad"):
        SavedTensor.__new__(SavedTensor)


def test_SV14_a_pack_hook_that_fails_leaves_the_value_as_it_was():
    x = leaf([2.0])
    y = x * x
    with pytest.raises(ZeroDivisionError):
        y.grad_fn._raw_saved_x1.register_hooks(lambda t: 1 / 0, same_value)
    with pytest.raises(TypeError):
        y.grad_fn._raw_saved_x1.register_hooks(lambda t, more: t, same_value)

    def double_in_place(t):
        t *= 2
        return t

    inner = x * 1.0
    z = inner * inner
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        z.grad_fn._raw_saved_x1.register_hooks(double_in_place, same_value)
    y.backward(ag.ones(1))
    same(x.grad, [4.0])


def test_SV14_what_unpack_returns_is_checked():
    x = leaf([2.0])
    y = x * x
    y.grad_fn._raw_saved_x1.register_hooks(same_value, lambda t: 1)
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result"):
        y.backward(ag.ones(1))


def test_SV14_an_overwritten_value_takes_no_hooks(refuse_overwriting):
    x = leaf([2.0])
    inner = x * 1.0
    y = inner * inner
    handle = y.grad_fn._raw_saved_x1
    inner += 1.0
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        handle.register_hooks(same_value, same_value)


def test_SV14_a_value_overwritten_before_is_packed_as_it_was_saved():
    x = leaf([2.0])
    inner = x * 1.0
    y = inner * inner
    handle = y.grad_fn._raw_saved_x1
    inner += 1.0
    packed = []
    handle.register_hooks(lambda t: packed.append(t.tolist()) or t, same_value)
    assert packed == [[2.0]]
    y.backward(ag.ones(1))
    same(x.grad, [4.0])


def test_SV14_a_hook_may_keep_what_it_is_given_of_an_array_that_the_program_writes():
    x, a = leaf([1.0, 1.0]), np.array([2.0, 3.0])
    node = (x * a).grad_fn
    node._raw_saved_x2.register_hooks(same_value, same_value)
    a[:] = 100.0
    same(node(ag.ones(2))[0], [2.0, 3.0])


def test_SV14_what_was_written_before_the_hooks_came_is_still_refused():
    x, a = leaf([1.0, 1.0]), np.array([2.0, 3.0])
    node = (x * a).grad_fn
    a[:] = 100.0
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        node._raw_saved_x2.register_hooks(same_value, same_value)


def test_SV14_hooks_of_values_over_pytorch():
    torch = pytest.importorskip("torch")
    x = ag.asarray(torch.tensor([1.0, 2.0], dtype=torch.float64), requires_grad=True)
    y = x * torch.tensor([3.0, 4.0], dtype=torch.float64)
    y.grad_fn._raw_saved_x2.register_hooks(lambda t: t.numpy().copy(), torch.from_numpy)
    y.sum().backward()
    same(x.grad, [3.0, 4.0])


def test_SV14_arrays_without_hooks_are_compared_as_before():
    p, q = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    a, b = ag.asarray(p, requires_grad=True), ag.asarray(q, requires_grad=True)
    for written, refused in ((p, False), (q, True)):
        node = (a * b).grad_fn
        node._raw_saved_x1.register_hooks(lambda t: t.copy(), same_value)
        written += 1.0
        if refused:
            with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
                node(ag.ones(2))
        else:
            same(node(ag.ones(2))[1], [2.0, 3.0])


def test_SV14_several_saved_arrays_have_a_tuple_of_handles():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    out = ag.einsum("i,i->i", x, y)
    found = [name for name in dir(out.grad_fn) if name.startswith("_raw_saved_")]
    handles = [getattr(out.grad_fn, name) for name in found]
    several = [h for h in handles if isinstance(h, tuple)]
    assert several
    assert all(isinstance(item, SavedTensor) for item in several[0])
    several[0][0].register_hooks(lambda t: t * 2, lambda t: t)
    out.sum().backward()
    same(y.grad, [2.0, 4.0])
    same(x.grad, [3.0, 4.0])


def test_SV14_several_results_have_a_tuple_of_handles():
    a = leaf([[2.0, 1.0], [1.0, 3.0]])
    values, vectors = ag.linalg.eigh(a)
    handles = values.grad_fn._raw_saved_ans
    assert isinstance(handles, tuple)
    assert len(handles) == 2
    want = grad(values[0], a)[0].numpy()
    values, vectors = ag.linalg.eigh(a)
    values.grad_fn._raw_saved_ans[1].register_hooks(lambda t: t.numpy().copy(), same_value)
    same(values.grad_fn._saved_ans[1], vectors.numpy())
    np.testing.assert_array_equal(grad(values[0], a)[0].numpy(), want)


def test_SV14_custom_functions_have_handles():
    x = leaf([1.0, 2.0])
    y = Double.apply(x)
    handles = y.grad_fn._raw_saved_tensors
    assert len(handles) == 2
    assert all(isinstance(h, SavedTensor) for h in handles)
    assert handles[0].unpack() is x
    assert handles[1].unpack() is None
    calls = []
    handles[0].register_hooks(lambda t: calls.append("pack") or t, lambda t: calls.append("unpack") or t)
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        handles[1].register_hooks(same_value, same_value)
    y.sum().backward()
    assert calls == ["pack", "unpack"]
    same(x.grad, [2.0, 2.0])
    with pytest.raises(RuntimeError, match="already been freed"):
        y.grad_fn._raw_saved_tensors  # noqa: B018
    with pytest.raises(RuntimeError, match="after it has been freed"):
        handles[0].register_hooks(same_value, same_value)


def test_SV14_a_custom_function_that_saves_nothing_has_no_handles():
    class Nothing(Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    assert Nothing.apply(leaf([1.0])).grad_fn._raw_saved_tensors == ()


def test_SV14_a_rule_that_runs_lets_nobody_change_what_it_reads():
    x, w = leaf([2.0]), leaf([3.0])
    y = x * w
    node = y.grad_fn
    node._raw_saved_x1.register_hooks(
        same_value, lambda t: node._raw_saved_x2.register_hooks(same_value, same_value) or t
    )
    with pytest.raises(RuntimeError, match=r"\(x2\) that backward is using"):
        y.backward(ag.ones(1))


def test_SV14_a_cycle_through_a_hook_is_collected():
    x = leaf([2.0])
    y = x * x
    node = y.grad_fn
    marker = Double.__new__(Double)
    node._raw_saved_x1.register_hooks(lambda t, node=node, marker=marker: (t, node, marker), lambda kept: kept[0])
    gone = weakref.ref(marker)
    del y, node, marker
    gc.collect()
    assert gone() is None
