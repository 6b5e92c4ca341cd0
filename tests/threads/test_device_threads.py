"""Backward over array_api_strict's pretended devices: where nodes run (RQ, TI, TM), in which order, errors (ER)."""

import gc
import signal
import threading
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import backward, grad, graph
from arraygrad.engine import engine
from arraygrad.engine.threads import device_threads

strict = pytest.importorskip("array_api_strict")

HOST = strict.Device("CPU_DEVICE")
ONE = strict.Device("device1")
TWO = strict.Device("device2")
LIMIT = 60


def leaf(data, device=HOST):
    """A leaf on a device."""
    return ag.asarray(strict.asarray(data, dtype=strict.float64, device=device), requires_grad=True)


def values(t):
    """The values of a Tensor on any device."""
    return np.asarray(t.detach().to_device(HOST).array)


def thread_name(device):
    """Name of a device's engine thread; of this thread for the host."""
    if device == HOST:
        return threading.current_thread().name
    return "arraygrad_autograd_array_api_strict_" + ("device1" if device == ONE else "device2")


def across(x):
    """host -> device1 -> device2 -> host; every tensor on the way, by name."""
    t = {"x": x, "a": x.to_device(ONE)}
    t["b"] = t["a"] * t["a"]
    t["c"] = t["b"].to_device(TWO)
    t["d"] = ag.exp(t["c"])
    t["e"] = t["d"].to_device(HOST)
    t["f"] = t["e"].sum()
    return t


def test_RQ5_every_node_runs_on_the_thread_of_its_device():
    seen = {}
    x = leaf([0.5, -0.25])
    tensors = across(x)
    for name, t in tensors.items():
        t.register_hook(lambda g, name=name: seen.update({name: (threading.current_thread().name, g.device)}))
    tensors["f"].backward()
    for name, t in tensors.items():
        assert seen[name] == (thread_name(t.device), t.device), name
    np.testing.assert_allclose(values(x.grad), 2 * np.array([0.5, -0.25]) * np.exp(np.array([0.25, 0.0625])))


def test_RQ5_nodes_know_their_device():
    tensors = across(leaf([1.0]))
    assert tensors["b"].grad_fn.device == ("array_api_strict", "device1")
    assert tensors["d"].grad_fn.device == ("array_api_strict", "device2")
    assert tensors["f"].grad_fn.device is None


def test_RQ6_devices_are_keyed_by_backend_and_name():
    across(leaf([1.0]))["f"].backward()
    threads = device_threads()
    assert {("array_api_strict", "device1"), ("array_api_strict", "device2")} <= set(threads)
    assert threads["array_api_strict", "device1"] is not threads["array_api_strict", "device2"]


def test_RQ4_all_runs_use_the_same_threads():
    seen = set()
    for _ in range(5):
        x = leaf([1.0], ONE)
        y = x * x
        y.register_hook(lambda g: seen.add(threading.current_thread()))
        y.backward()
    assert seen == {device_threads()["array_api_strict", "device1"]}


def test_RQ2_on_a_device_later_recorded_nodes_run_first():
    order = []
    x, w = leaf(0.5, ONE), leaf(0.25, ONE)
    a, b = ag.sin(x), ag.cos(w)
    o = a * b
    for name, t in (("a", a), ("b", b), ("o", o), ("x", x), ("w", w)):
        t.register_hook(lambda g, name=name: order.append(name))
    o.backward()
    assert order == ["o", "b", "w", "a", "x"]


def test_RQ2_branches_on_two_devices_keep_their_own_order():
    order = {ONE: [], TWO: []}
    leaves, parts = [], []
    for device in (ONE, TWO):
        for i in range(4):
            x = leaf(float(i), device)
            y = ag.sin(x)
            y.register_hook(lambda g, d=device, i=i: order[d].append(i))
            leaves.append(x)
            parts.append(y)
    roots = [ag.stack(parts[:4]).sum(), ag.stack(parts[4:]).sum()]
    backward(roots)
    assert order == {ONE: [3, 2, 1, 0], TWO: [3, 2, 1, 0]}
    for i, x in enumerate(leaves):
        np.testing.assert_allclose(values(x.grad), np.cos(i % 4))


def test_EX3_a_root_on_a_device_runs_there():
    seen = []
    y = leaf(3.0, TWO) * 2.0
    y.register_hook(lambda g: seen.append(threading.current_thread().name))
    y.backward()
    assert seen == [thread_name(TWO)]


def test_GR2_roots_on_several_devices():
    x, w = leaf([1.0, 2.0], ONE), leaf([3.0, 4.0], TWO)
    backward([(x * x).sum(), (w * w).sum(), leaf(1.0) * 2.0])
    np.testing.assert_array_equal(values(x.grad), [2.0, 4.0])
    np.testing.assert_array_equal(values(w.grad), [6.0, 8.0])
    assert x.grad.device == ONE
    assert w.grad.device == TWO


def test_TI2_a_graph_on_the_host_starts_no_thread():
    before = (threading.enumerate(), device_threads())
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    y = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.exp(y).sum().backward()
    assert (threading.enumerate(), device_threads()) == before


def test_TI4_a_user_thread_does_its_own_host_work():
    seen = []
    x = leaf([1.0])
    a = x * 2.0
    b = a.to_device(ONE)
    c = b.to_device(HOST) * 3.0
    for t in (a, b, c, x):
        t.register_hook(lambda g: seen.append(threading.current_thread().name))
    caller = threading.Thread(target=lambda: c.backward(), name="the caller")
    caller.start()
    caller.join(LIMIT)
    assert seen == ["the caller", thread_name(ONE), "the caller", "the caller"]


@pytest.mark.parametrize("create_graph", [False, True])
def test_TM2_the_grad_mode_on_device_threads_is_create_graph(create_graph):
    seen = []
    x = leaf([1.0], ONE)
    y = x * x
    y.register_hook(lambda g: seen.append((threading.current_thread().name, ag.is_grad_enabled())))
    for mode in (True, False):
        with ag.set_grad_enabled(mode):
            grad(y.sum() if mode else y, x, None if mode else y.detach(), create_graph=create_graph, retain_graph=True)
            assert ag.is_grad_enabled() is mode
    assert seen == [(thread_name(ONE), create_graph)] * 2


def test_TM2_the_graph_task_is_the_same_on_all_threads():
    ids = []
    tensors = across(leaf([1.0]))
    for t in tensors.values():
        t.register_hook(lambda g: ids.append(graph.current_graph_task_id()))
    tensors["f"].backward()
    assert len(ids) == len(tensors)
    assert len(set(ids)) == 1


def test_TL2_second_derivatives_across_devices():
    x = leaf([0.5, 2.0])
    y = (x.to_device(ONE) * x.to_device(ONE)).to_device(TWO)
    (g,) = grad((y * y).to_device(HOST).sum(), x, create_graph=True)
    np.testing.assert_allclose(values(g), 4 * np.array([0.5, 2.0]) ** 3)
    (h,) = grad(g.sum(), x)
    np.testing.assert_allclose(values(h), 12 * np.array([0.5, 2.0]) ** 2)


def test_TL3_requested_inputs_on_devices():
    x, w = leaf([1.0, 2.0], ONE), leaf([3.0, 4.0], TWO)
    z = (x.to_device(TWO) * w).to_device(HOST).sum()
    gx, gw = grad(z, [x, w], retain_graph=True)
    assert (gx.device, gw.device) == (ONE, TWO)
    np.testing.assert_array_equal(values(gx), [3.0, 4.0])
    np.testing.assert_array_equal(values(gw), [1.0, 2.0])
    z.backward(inputs=[w])
    assert x.grad is None
    np.testing.assert_array_equal(values(w.grad), [1.0, 2.0])


def test_IB6_gradients_from_two_devices_meet_in_one_leaf():
    for _ in range(30):
        x = leaf([1.0, 2.0])
        a = x.to_device(ONE) * 2.0
        b = x.to_device(TWO) * 3.0
        c = x * 5.0
        (a.to_device(HOST) + b.to_device(HOST) + c).sum().backward()
        np.testing.assert_array_equal(values(x.grad), [10.0, 10.0])


def test_AG8_a_leaf_on_a_device_accumulates_on_its_thread():
    seen = []
    x = leaf([1.0], ONE)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(threading.current_thread().name))
    for _ in range(3):
        (x * 2.0).backward(x.detach())
    np.testing.assert_array_equal(values(x.grad), [6.0])
    assert seen == [thread_name(ONE)] * 3


class Special(Exception):
    """An error of the tests' own."""


def failing_hook(error):
    def raises_on_the_device(g):
        raise error

    return raises_on_the_device


@pytest.mark.parametrize("where", ["tensor hook", "prehook", "posthook", "post accumulate"])
def test_ER2_errors_on_device_threads_reach_the_caller_with_type_and_traceback(where):
    error = Special(where)
    x = leaf([1.0], ONE)
    y = x * 2.0

    def raises_on_the_device(*args):
        assert threading.current_thread().name == thread_name(ONE)
        raise error

    if where == "tensor hook":
        y.register_hook(raises_on_the_device)
    elif where == "prehook":
        y.grad_fn.register_prehook(raises_on_the_device)
    elif where == "posthook":
        y.grad_fn.register_hook(raises_on_the_device)
    else:
        x.register_post_accumulate_grad_hook(raises_on_the_device)
    with pytest.raises(Special) as info:
        y.to_device(HOST).backward()
    assert info.value is error
    assert "raises_on_the_device" in [entry.name for entry in info.traceback]


def test_ER3_the_devices_serve_again_after_an_error():
    for _ in range(5):
        x = leaf([1.0], ONE)
        y = x * 2.0
        handle = y.register_hook(failing_hook(Special("stop")))
        with pytest.raises(Special):
            y.to_device(TWO).to_device(HOST).backward(retain_graph=True)
        handle.remove()
        y.to_device(TWO).to_device(HOST).backward()
        np.testing.assert_array_equal(values(x.grad), [2.0])
    assert engine.queued_tasks() == 0


def test_ER7_a_failed_run_on_devices_keeps_no_gradient():
    alive = []
    x = leaf([1.0], ONE)
    y = x * 2.0
    z = y.to_device(TWO) * 3.0
    z.register_hook(lambda g: alive.append(weakref.ref(g.array)))
    y.register_hook(failing_hook(Special("stop")))
    with pytest.raises(Special) as info:
        z.to_device(HOST).backward(retain_graph=True)
    del info
    gc.collect()
    assert [ref() is None for ref in alive] == [True]


def test_ER8_an_interrupt_reaches_a_caller_that_waits_for_a_device():
    log = []
    x = leaf([1.0], ONE)
    a = x * 2.0
    b = a * 3.0
    main = threading.main_thread()
    if threading.current_thread() is not main:
        pytest.skip("signals are handled on the main thread only")

    def interrupt(g):
        task = engine.current_graph_task()
        signal.pthread_kill(main.ident, signal.SIGINT)
        turn = threading.Event()
        for _ in range(LIMIT * 1000):
            if task.error is not None:
                break
            turn.wait(0.001)

    b.register_hook(interrupt)
    a.register_hook(lambda g: log.append("a"))
    with pytest.raises(KeyboardInterrupt):
        b.backward()
    assert log == []
    assert x.grad is None


def test_with_multithreading_disabled_devices_run_on_the_caller():
    seen = set()
    tensors = across(leaf([1.0]))
    for t in tensors.values():
        t.register_hook(lambda g: seen.add(threading.current_thread().name))
    before = engine.set_multithreading(False)
    try:
        tensors["f"].backward()
    finally:
        engine.set_multithreading(before)
    assert seen == {threading.current_thread().name}


def test_nothing_of_a_device_run_outlives_it():
    x = leaf([1.0, 2.0], ONE)
    shown = []
    y = x * x
    y.register_hook(lambda g: shown.append(weakref.ref(g.array)))
    z = y.to_device(TWO)
    z.register_hook(lambda g: shown.append(weakref.ref(g.array)))
    (g,) = grad(z.to_device(HOST).sum(), x)
    refs = [*shown, weakref.ref(g.array)]
    del g
    gc.collect()
    assert [ref() is None for ref in refs] == [True] * 3


def test_a_backward_inside_a_device_hook_works():
    seen = []

    def hook(g):
        with ag.enable_grad():
            w, v = leaf(3.0, ONE), leaf(2.0, TWO)
            (w * w).backward()
            (v * v * v).backward()
        seen.extend([float(w.grad), float(v.grad)])

    x = leaf([1.0], ONE)
    y = x * 2.0
    y.register_hook(hook)
    y.to_device(HOST).backward()
    assert seen == [6.0, 12.0]
    np.testing.assert_array_equal(values(x.grad), [2.0])
