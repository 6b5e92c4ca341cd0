"""Saved-tensor hooks: which values go through them, when, and what comes back (SV9-SV15)."""

import gc
import os
import threading
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import Function, grad
from arraygrad.autograd.graph import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    save_on_disk,
    saved_tensors_hooks,
)


class Counting:
    """Hooks that keep a copy and count their calls."""

    def __init__(self):
        self.packed = []
        self.unpacked = 0

    def pack(self, t):
        self.packed.append(t)
        return t.copy()

    def unpack(self, t):
        self.unpacked += 1
        return t

    def __call__(self):
        return saved_tensors_hooks(self.pack, self.unpack)


def identity(t):
    return t


def reciprocal_function():
    """1 / x with its result saved, as a custom Function."""

    class Reciprocal(Function):
        @staticmethod
        def forward(ctx, x):
            y = 1.0 / x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            _, y = ctx.saved_tensors
            return -g * y * y

    return Reciprocal.apply


PROGRAMS = {
    "exp saves its result": ag.exp,
    "multiply saves both": lambda x: x * x,
    "power": lambda x: x**3.0,
    "chain": lambda x: ag.sin(ag.exp(x) * x) / x,
    "matmul": lambda x: x @ ag.reshape(x, (3, 1)),
    "concat": lambda x: ag.concat([x * x, x]) ** 2.0,
    "max": lambda x: ag.max(x * x),
    "index": lambda x: (x * x)[np.array([0, 0, 2])],
    "take": lambda x: ag.take(x * x, ag.tensor([0, 2, 2])),
    "several results": lambda x: ag.linalg.qr(ag.reshape(ag.concat([x, x * x, x + 1.0]), (3, 3))).R,
    "constant array": lambda x: x * np.array([1.0, 2.0, 3.0]),
    "function": lambda x: reciprocal_function()(x) * x,
    "in place": lambda x: _in_place(x),
    "where": lambda x: ag.where(x > 1.0, ag.exp(x), x * x),
}


def _in_place(x):
    y = x * x
    y[1:] *= y[:-1] * 2.0
    y += x
    return y**2.0


@pytest.fixture(params=PROGRAMS.values(), ids=PROGRAMS.keys())
def program(request):
    return request.param


DATA = np.array([0.5, 1.5, 2.0])


@pytest.mark.filterwarnings("ignore:grad. the result of .* does not depend on the arguments")  # linear, twice
@pytest.mark.parametrize("order", [1, 2])
def test_SV9_gradients_are_the_same_with_hooks(program, order):
    def run(x):
        return ag.sum(program(x))

    derivative = ag.grad(run)
    if order == 2:
        first = derivative

        def derivative(x):
            return ag.grad(lambda x: ag.sum(first(x) ** 2.0))(x)

    expected = derivative(DATA)
    counting = Counting()
    with counting():
        found = derivative(DATA)
    assert len(counting.packed) > 0
    assert counting.unpacked > 0
    if program is PROGRAMS["several results"]:
        # The rule of qr solves equations. With hooks no factors are kept: the transposed one is decomposed anew.
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)


# SV9: the stack


def test_SV9_the_innermost_hooks_count():
    outer, inner = Counting(), Counting()
    x = leaf([1.0])
    with outer():
        with inner():
            ag.exp(x)
        ag.sin(x)
    ag.cos(x)
    assert (len(outer.packed), len(inner.packed)) == (1, 1)


def test_SV9_hooks_are_captured_when_a_value_is_saved():
    x = leaf([1.0])
    with saved_tensors_hooks(identity, lambda t: t * 10.0):
        y = x * x
    with saved_tensors_hooks(identity, lambda t: t * 1000.0):
        y.backward()
    same(x.grad, [20.0])


def test_SV9_hooks_belong_to_their_thread():
    counting = Counting()
    x = leaf([1.0])
    with counting():
        thread = threading.Thread(target=lambda: ag.exp(x))
        thread.start()
        thread.join()
    assert counting.packed == []


def test_SV9_leaving_by_an_error_restores_the_hooks():
    counting = Counting()
    with pytest.raises(KeyError), counting():
        raise KeyError
    ag.exp(leaf([1.0]))
    assert counting.packed == []


def test_SV9_one_object_may_be_entered_twice():
    counting = Counting()
    hooks = counting()
    x = leaf([1.0])
    with hooks, hooks:
        ag.exp(x)
    ag.exp(x)
    assert len(counting.packed) == 1


def test_SV9_hooks_must_be_callable():
    with pytest.raises(TypeError, match="unpack must be callable, got NoneType"):
        saved_tensors_hooks(identity, None)


def test_SV9_disabled_hooks_cannot_be_entered():
    with disable_saved_tensors_hooks("not in here"):
        with pytest.raises(RuntimeError, match="not in here"), saved_tensors_hooks(identity, identity):
            pass
        with disable_saved_tensors_hooks("nor here"):
            pass
    with saved_tensors_hooks(identity, identity):
        pass


def test_SV9_disabling_active_hooks_raises():
    counting = Counting()
    with counting():
        with pytest.raises(RuntimeError, match="too late"), disable_saved_tensors_hooks("too late"):
            pass
        ag.exp(leaf([1.0]))
    assert len(counting.packed) == 1


def test_SV9_values_are_saved_as_usual_while_hooks_are_disabled():
    x = leaf([2.0])
    with disable_saved_tensors_hooks("no"):
        y = x * x
    y.backward()
    same(x.grad, [4.0])


def test_SV9_operations_recorded_in_backward_follow_the_hooks_around_the_call():
    x = leaf([2.0])
    y = ag.exp(x)
    counting = Counting()
    with counting():
        (g,) = grad(y.sum(), x, create_graph=True)
    recorded = len(counting.packed)
    assert recorded > 0
    grad(g.sum(), x)
    assert counting.unpacked > 0


def test_SV9_also_on_device_threads():
    xp = pytest.importorskip("array_api_strict")
    device = xp.Device("device1")
    x = ag.asarray(xp.asarray([2.0], device=device), requires_grad=True)
    y = x * x
    counting = Counting()
    with counting():
        (g,) = grad(y, x, ag.asarray(xp.asarray([1.0], device=device)), create_graph=True)
    assert len(counting.packed) > 0
    (h,) = grad(g, x, ag.asarray(xp.asarray([1.0], device=device)))
    np.testing.assert_array_equal(h.numpy(), [2.0])


# SV10: the calls


def test_SV10_pack_runs_once_per_saved_value_without_grad_mode():
    calls = []

    def pack(t):
        calls.append((t.requires_grad, ag.is_grad_enabled()))
        return t

    x = leaf([1.0])
    with saved_tensors_hooks(pack, identity):
        x * x
        assert calls == [(False, False)] * 2
        x + x
        assert len(calls) == 2
        with ag.no_grad():
            x * x
    assert len(calls) == 2


def test_SV10_grad_mode_is_restored_after_an_error_in_pack():
    def pack(t):
        raise KeyError("mine")

    with saved_tensors_hooks(pack, identity), pytest.raises(KeyError, match="mine"):
        ag.exp(leaf([1.0]))
    assert ag.is_grad_enabled()


def test_SV10_an_error_in_pack_leaves_an_inplace_target_as_it_was():
    def pack(t):
        raise KeyError("mine")

    y = leaf([1.0, 2.0]) * 1
    with saved_tensors_hooks(pack, identity), pytest.raises(KeyError):
        y *= y
    same(y, [1.0, 2.0])


def test_SV10_unpack_runs_per_access():
    counting = Counting()
    x = leaf([1.0])
    with counting():
        y = ag.exp(x)
    same(y.grad_fn.saved["ans"], y.numpy())
    same(y.grad_fn.saved["ans"], y.numpy())
    assert counting.unpacked == 2
    y.backward(retain_graph=True)
    assert counting.unpacked == 3


def test_SV10_unpack_runs_once_where_two_rules_need_one_value():
    counting = Counting()
    x, z = leaf([1.0]), leaf([2.0])
    with counting():
        y = ag.logaddexp(x, z)
    y.backward()
    assert counting.unpacked == len(counting.packed)


def test_SV10_what_pack_returned_comes_to_unpack():
    marker = object()
    x = leaf([3.0])
    seen = []

    def unpack(kept):
        seen.append(kept)
        return ag.tensor([3.0])

    with saved_tensors_hooks(lambda t: marker, unpack):
        y = x * x
    y.backward()
    assert seen == [marker, marker]
    same(x.grad, [6.0])


def test_SV10_a_raw_array_may_be_returned():
    x = leaf([3.0])
    with saved_tensors_hooks(lambda t: t.numpy().copy(), identity):
        y = x * x
    y.backward()
    same(x.grad, [6.0])


def test_SV10_so_may_a_numpy_scalar():
    x = leaf(3.0)
    with saved_tensors_hooks(lambda t: t.numpy() * 1.0, identity):
        y = x * x
    y.backward()
    same(x.grad, 6.0)


def test_SV10_something_else_is_refused():
    x = leaf([3.0])
    with saved_tensors_hooks(identity, lambda t: "text"):
        y = x * x
    with pytest.raises(TypeError, match=r"saved tensor unpack_hook expected to be a Tensor but got.*type.*str"):
        y.backward()


def test_SV10_errors_in_unpack_come_through():
    def unpack(t):
        raise KeyError("mine")

    x = leaf([3.0])
    with saved_tensors_hooks(identity, unpack):
        y = x * x
    with pytest.raises(KeyError, match="mine"):
        y.backward()


def test_SV10_the_array_itself_is_not_kept():
    x = leaf(np.ones(1000))
    with saved_tensors_hooks(lambda t: t.shape, lambda shape: np.ones(shape)):
        b = x * 2.0
        y = b * b
    array = weakref.ref(b.array)
    del b
    gc.collect()
    assert array() is None
    y.sum().backward()


def test_SV11_a_pack_hook_that_writes_its_input_is_refused():
    def pack(t):
        t *= 2.0
        return t

    x = leaf([1.0])
    b = x * 1
    with saved_tensors_hooks(pack, identity), pytest.raises(RuntimeError, match="pack hook is modifying its input in"):
        b * b


# SV12


def test_SV12_unpacked_values_stand_where_the_originals_did():
    x = leaf([5.0])
    with saved_tensors_hooks(lambda t: t * 2.0, identity):
        y = x**3.0
    (g,) = grad(y.sum(), x, create_graph=True)
    same(g, [3.0 * 10.0**2])  # as documented for hooks that change the value
    with saved_tensors_hooks(identity, identity):
        z = x**3.0
    (g,) = grad(z.sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
    same(h, [30.0])


def test_SV12_no_version_check_is_made(refuse_overwriting):
    x = leaf([2.0])
    b = x * 1
    with saved_tensors_hooks(lambda t: t.copy(), identity):
        y = b * b
    b += 100.0
    y.backward()
    same(x.grad, [4.0])


def test_SV12_a_hook_that_returns_its_input_is_safe_from_later_writes():
    x = leaf([2.0])
    b = x * 1
    with saved_tensors_hooks(identity, identity):
        y = b * b
    b += 100.0
    y.backward()
    same(x.grad, [4.0])


def test_SV12_saved_for_backward_of_functions_is_reattached():
    f = reciprocal_function()
    with saved_tensors_hooks(lambda t: t.copy(), identity):
        assert ag.grad(ag.grad(f))(2.0) == pytest.approx(0.25)


# SV13


def test_SV13_scalars_never_reach_pack():
    counting = Counting()
    x = leaf([2.0])
    with counting():
        y = x * 3.0
        z = x**2.0
    assert all(isinstance(t, ag.Tensor) and t.shape == (1,) for t in counting.packed)
    (y + z).backward()
    same(x.grad, [7.0])


# SV15


def test_SV15_hooks_entered_and_left_within_unpack():
    counting = Counting()

    def unpack(t):
        with counting():
            ag.exp(leaf([1.0]))
        return t

    x = leaf([2.0])
    with saved_tensors_hooks(identity, unpack):
        y = x * x
    grad(y, x, create_graph=True)
    grad(y, x)
    assert len(counting.packed) == 2  # create_graph: one exp per unpack; none is recorded in the plain run
    ag.exp(x)
    assert len(counting.packed) == 2


def test_SV15_hooks_entered_in_unpack_and_never_left_end_with_the_run():
    counting = Counting()
    left_open = []

    def unpack(t):
        left_open.append(counting())
        left_open[-1].__enter__()
        return t

    x = leaf([2.0])
    with saved_tensors_hooks(identity, unpack):
        y = x * x
    y.backward()
    ag.exp(x)
    assert counting.packed == []
    for hooks in reversed(left_open):
        hooks.__exit__()
    ag.exp(x)
    assert counting.packed == []


def stack_is_empty():
    """Hooks can be disabled only where none are active."""
    with disable_saved_tensors_hooks("hooks are active"):
        return True


def test_SV15_the_same_hooks_entered_again_in_unpack_do_not_stay_on_the_thread():
    def unpack(t):
        hooks.__enter__()
        return t

    hooks = saved_tensors_hooks(identity, unpack)
    x = leaf([2.0])
    with hooks:
        (x * x).backward()
    same(x.grad, [4.0])
    assert stack_is_empty()


def test_SV15_nor_does_anything_of_them_leak():
    def scope():
        def unpack(t):
            alive().__enter__()
            return t

        hooks = saved_tensors_hooks(identity, unpack)
        alive = weakref.ref(hooks)
        x = leaf([2.0])
        with hooks:
            (x * x).backward()
        return weakref.ref(unpack)

    gc.disable()
    try:
        assert scope()() is None
    finally:
        gc.enable()


def test_SV15_hooks_left_in_unpack_are_there_again_after_the_run():
    def unpack(t):
        inner.__exit__()
        return t

    inner = saved_tensors_hooks(identity, unpack)
    for _ in range(10):
        with saved_tensors_hooks(identity, identity):
            inner.__enter__()
            x = leaf([2.0])
            ag.sin(x).backward()
            np.testing.assert_allclose(x.grad.numpy(), np.cos([2.0]))
    for _ in range(10):
        inner.__exit__()
    assert stack_is_empty()


def test_SV15_hooks_left_in_unpack_more_often_than_entered():
    def unpack(t):
        for _ in range(3):
            hooks.__exit__()
        return t

    hooks = saved_tensors_hooks(identity, unpack)
    x = leaf([2.0])
    with hooks:
        y = x * x
    y.backward()
    same(x.grad, [4.0])
    assert stack_is_empty()
    counting = Counting()
    with counting():
        ag.exp(x)
    assert len(counting.packed) == 1


def test_SV15_hooks_that_were_left_too_often_leave_those_around_them_active():
    counting = Counting()

    def unpack(t):
        hooks.__exit__()
        return t

    hooks = saved_tensors_hooks(identity, unpack)
    x = leaf([2.0])
    with hooks:
        y = x * x
    with counting():
        y.backward()
        ag.exp(x)
    assert len(counting.packed) == 1


def test_SV15_nothing_leaks():
    class Thing:
        pass

    thing = Thing()
    alive = weakref.ref(thing)
    x = leaf([2.0])
    with saved_tensors_hooks(lambda t, thing=thing: (t.copy(), thing), lambda kept: kept[0]):
        y = x * x
    del thing
    assert alive() is not None
    y.backward()
    gc.collect()
    assert alive() is None


# Hooks that come with the package


def test_save_on_cpu_moves_device_values_to_the_host_and_back():
    xp = pytest.importorskip("array_api_strict")
    device = xp.Device("device1")
    x = ag.asarray(xp.asarray([1.0, 2.0], device=device), requires_grad=True)
    with save_on_cpu():
        y = x * x
    y.backward(xp.asarray([1.0, 1.0], device=device))
    assert x.grad.device == device
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


def test_save_on_cpu_keeps_host_values_as_they_are():
    x = leaf([3.0])
    with save_on_cpu():
        y = x * x
    y.backward()
    same(x.grad, [6.0])


def files(path):
    return sorted(os.listdir(path))


def test_save_on_disk_reads_back_the_same_values(tmp_path, program):
    expected = ag.grad(lambda x: ag.sum(program(x)))(DATA)
    with save_on_disk(tmp_path):
        found = ag.grad(lambda x: ag.sum(program(x)))(DATA)
    np.testing.assert_array_equal(found, expected)
    gc.collect()
    assert files(tmp_path) == []


@pytest.mark.parametrize("data", [np.float32(2.0), np.ones((0, 3)), np.asfortranarray(np.arange(6.0).reshape(2, 3))])
def test_save_on_disk_keeps_shape_and_dtype(tmp_path, data):
    x = leaf(np.asarray(data))
    with save_on_disk(tmp_path):
        y = x * x
    y.sum().backward()
    assert x.grad.dtype == x.dtype
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.asarray(data))


def test_save_on_disk_deletes_files_when_values_are_released(tmp_path):
    x = leaf([3.0])
    with save_on_disk(tmp_path):
        y = x * x
    assert len(files(tmp_path)) == 2
    y.backward(retain_graph=True)
    assert len(files(tmp_path)) == 2
    y.backward()
    assert files(tmp_path) == []
    same(x.grad, [12.0])


def test_save_on_disk_deletes_files_when_the_graph_dies(tmp_path):
    with save_on_disk(tmp_path):
        y = ag.exp(leaf([3.0]))
    assert len(files(tmp_path)) == 1
    del y
    assert files(tmp_path) == []


def test_save_on_disk_leaves_nothing_behind_after_an_error(tmp_path, monkeypatch):
    def full(handle):
        close(handle)
        (path,) = files(tmp_path)
        (tmp_path / path).unlink()
        (tmp_path / path).mkdir()  # cannot be written
        broken.append(tmp_path / path)

    close, broken = os.close, []
    x = leaf([1.0])
    with save_on_disk(tmp_path):
        monkeypatch.setattr(os, "close", full)
        with pytest.raises(OSError, match="directory"):
            ag.exp(x)
        monkeypatch.undo()
        broken[0].rmdir()
        y = ag.exp(x)
        assert len(files(tmp_path)) == 1
    del y
    assert files(tmp_path) == []


def test_save_on_disk_needs_a_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save_on_disk(tmp_path / "nowhere")
