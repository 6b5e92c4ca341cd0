"""Device threads on three fake devices: routing (RQ4-RQ6, EX3), threads (TI), their loop (TM), errors (ER2, ER7)."""

import gc
import sys
import threading
import weakref

import pytest
from engine_fakes import Box, DeviceOps, capture, chain, node, run, sink

from arraygrad.engine import engine
from arraygrad.engine.threads import device_threads

DEVICES = ("dev0", "dev1", "dev2")
LIMIT = 30  # seconds until a thread that should come counts as lost


@pytest.fixture
def ops():
    return DeviceOps()


def place(name, device, nexts, ops, where, fn=None, stream=None):
    """A node on a device that notes (name, thread name) in `where` and hands Boxes of the target devices on."""

    def apply(g):
        where.append((name, threading.current_thread().name))
        if fn is not None:
            return fn(g)
        outs = []
        for target in nexts:
            meta = target.input_metadata[0]
            outs.append(Box(g.value, meta.device_key))
        return tuple(outs)

    return node(name, nexts, fn=apply, metas=(ops.meta_on(device, stream),))


def thread_of(device):
    return f"arraygrad_autograd_{device}"


def test_RQ5_each_node_runs_on_its_devices_thread(ops):
    where = []
    end = place("end", None, [], ops, where)
    nodes = [place(d, d, [end], ops, where) for d in DEVICES]
    run([place("top", None, nodes, ops, where)], [Box(1.0)])
    here = threading.current_thread().name
    assert dict(where) == {"top": here, "end": here, **{d: thread_of(d) for d in DEVICES}}
    assert where[0][0] == "top"
    assert where[-1][0] == "end"


def test_RQ4_the_thread_of_a_device_serves_all_runs(ops):
    threads = []
    for _ in range(3):
        run(
            [
                node(
                    "n", [], fn=lambda g: threads.append(threading.current_thread()) or (), metas=(ops.meta_on("dev1"),)
                )
            ],
            [Box(1.0, "dev1")],
        )
    assert len(set(threads)) == 1
    assert threads[0] is device_threads()["dev1"]


def test_RQ4_calls_from_two_threads_share_the_device_thread(ops):
    threads = []

    def call():
        run(
            [
                node(
                    "n", [], fn=lambda g: threads.append(threading.current_thread()) or (), metas=(ops.meta_on("dev1"),)
                )
            ],
            [Box(1.0, "dev1")],
        )

    callers = [threading.Thread(target=call) for _ in range(2)]
    for c in callers:
        c.start()
    for c in callers:
        c.join(LIMIT)
    assert threads == [device_threads()["dev1"]] * 2


def test_RQ2_ready_nodes_of_a_device_run_in_order_of_sequence(ops):
    where = []
    # While the device's thread is held in `busy`, all others become ready behind it.
    ready = threading.Event()

    def hold(g):
        assert ready.wait(LIMIT)
        return ()

    nodes = [place(f"n{i}", "dev1", [], ops, where) for i in range(5)]
    release = node("release", [], fn=lambda g: ready.set() or (), metas=(ops.meta_on(None),))
    release._set_sequence_nr(0)  # the host's last node
    busy = place("busy", "dev1", [], ops, where, fn=hold)
    feed = node(
        "feed",
        [nodes[i] for i in (2, 0, 4, 1, 3)] + [release],
        fn=lambda g: (Box(1.0, "dev1"),) * 5 + (Box(1.0),),
        metas=(ops.meta_on(None),),
    )
    top = node("top", [busy, feed], fn=lambda g: (Box(1.0, "dev1"), Box(1.0)), metas=(ops.meta_on(None),))
    run([top], [Box(1.0)])
    assert [name for name, _ in where] == ["busy", "n4", "n3", "n2", "n1", "n0"]


def test_RQ5_with_multithreading_disabled_everything_runs_on_the_caller(ops):
    where = []
    top = place("top", "dev0", [place("end", "dev1", [], ops, where)], ops, where)
    before = engine.set_multithreading(False)
    try:
        run([top], [Box(1.0, "dev0")])
    finally:
        engine.set_multithreading(before)
    assert {thread for _, thread in where} == {threading.current_thread().name}


def test_RQ6_devices_of_different_backends_have_threads_of_their_own():
    where, one, two = [], DeviceOps(), DeviceOps()
    a = node("a", [], fn=lambda g: where.append(threading.current_thread()) or (), metas=(one.meta_on(("one", 0)),))
    b = node("b", [], fn=lambda g: where.append(threading.current_thread()) or (), metas=(two.meta_on(("two", 0)),))
    top = node("top", [a, b], fn=lambda g: (Box(1.0, ("one", 0)), Box(1.0, ("two", 0))), metas=(one.meta_on(None),))
    run([top], [Box(1.0)])
    assert set(where) == {device_threads()["one", 0], device_threads()["two", 0]}
    assert len(set(where)) == 2
    assert {t.name for t in where} == {"arraygrad_autograd_one_0", "arraygrad_autograd_two_0"}


def test_EX3_the_root_runs_on_its_devices_thread(ops):
    where = []
    run([place("root", "dev2", [], ops, where)], [Box(1.0, "dev2")])
    assert where == [("root", thread_of("dev2"))]


def test_GR2_roots_on_devices_run_on_their_threads(ops):
    where = []
    run([place(d, d, [], ops, where) for d in DEVICES], [Box(1.0, d) for d in DEVICES])
    assert dict(where) == {d: thread_of(d) for d in DEVICES}


def test_TI1_threads_are_daemons_named_after_their_device(ops):
    run([place("n", "dev1", [], ops, [])], [Box(1.0, "dev1")])
    thread = device_threads()["dev1"]
    assert thread.daemon
    assert thread.is_alive()
    assert thread.name == "arraygrad_autograd_dev1"


def test_TI2_a_graph_on_the_host_starts_no_thread(ops):
    before = threading.enumerate()
    run([place("top", None, [place("end", None, [], ops, [])], ops, [])], [Box(1.0)])
    assert threading.enumerate() == before


def test_TI3_a_device_thread_keeps_one_python_thread_state(ops):
    local, seen = threading.local(), []

    def look(g):
        seen.append(getattr(local, "count", 0))
        local.count = seen[-1] + 1
        return ()

    for _ in range(3):
        run([node("n", [], fn=look, metas=(ops.meta_on("dev1"),))], [Box(1.0, "dev1")])
    assert seen == [0, 1, 2]


def test_TI4_the_caller_does_all_work_on_the_host_also_from_another_thread(ops):
    where = []
    end = place("end", None, [], ops, where)
    device = place("device", "dev1", [end], ops, where)
    caller = threading.Thread(target=run, args=([place("top", None, [device], ops, where)], [Box(1.0)]), name="caller")
    caller.start()
    caller.join(LIMIT)
    assert where == [("top", "caller"), ("device", thread_of("dev1")), ("end", "caller")]


def test_TM1_the_caller_may_run_tasks_of_another_run_in_its_queue():
    # A nested run drives the queue that also holds the outer run's nodes; it stops when its own run is complete.
    log = []
    inner = node("inner", [], log=log, fn=lambda g: ())
    nester = node("nester", [], fn=lambda g: run([inner], [1.0]))
    nester._set_sequence_nr(2**64 - 1)
    run([node("top", [nester, node("outer", [], log=log, fn=lambda g: ())])], [1.0])
    assert log == ["inner", "outer"]


def test_TM2_device_and_stream_are_current_while_a_node_runs(ops):
    seen = []

    def look(g):
        seen.append(ops.runtime.current())
        return ()

    run([node("n", [], fn=look, metas=(ops.meta_on("dev1", "s7"),))], [Box(1.0, "dev1")])
    assert seen == [("dev1", "s7")]


def test_TM2_every_enter_is_left_on_the_same_thread(ops):
    where = []
    end = place("end", None, [], ops, where)
    nodes = [place(d, d, [end], ops, where, stream=f"s-{d}") for d in DEVICES]
    run([place("top", None, nodes, ops, where)], [Box(1.0)])
    entered = [(what[1], what[2], what[-1]) for what in ops.log if what[0] == "enter"]
    left = [(*what[1], what[-1]) for what in ops.log if what[0] == "leave"]
    assert sorted(entered) == sorted(left) == sorted((d, f"s-{d}", thread_of(d)) for d in DEVICES)


def test_TM2_the_device_is_left_when_a_node_fails(ops):
    def fail(g):
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        run([node("n", [], fn=fail, metas=(ops.meta_on("dev1", "s"),))], [Box(1.0, "dev1")])
    assert [what[0] for what in ops.log] == ["enter", "leave"]


def test_TM2_the_graph_task_is_current_on_device_threads(ops):
    ids = []

    def look(device, nexts):
        def fn(g):
            ids.append((engine.current_graph_task_id(), engine.current_node().name()))
            return tuple(Box(1.0, n.input_metadata[0].device_key) for n in nexts)

        return node(str(device), nexts, fn=fn, metas=(ops.meta_on(device),))

    end = look("dev2", [])
    run([look(None, [look("dev1", [end])])], [Box(1.0)])
    assert [name for _, name in ids] == ["None", "dev1", "dev2"]
    assert len({task for task, _ in ids}) == 1


def test_TM3_gradients_are_dropped_before_the_call_returns(ops):
    alive = []

    def make(g):
        new = Box(2.0, "dev2")
        alive.append(weakref.ref(new))
        return new

    end = node("end", [], fn=lambda g: (), metas=(ops.meta_on("dev2"),))
    top = node("top", [end], fn=make, metas=(ops.meta_on("dev1"),))
    g = Box(1.0, "dev1")
    alive.append(weakref.ref(g))
    run([top], [g], keep_graph=True)
    del g
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        # An object whose last reference another thread drops waits for the thread that made it, which sleeps here.
        gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_TM3_what_a_device_thread_captured_belongs_to_the_caller_alone(ops):
    end = node("end", [], fn=lambda g: (), metas=(ops.meta_on("dev2"),))
    top = node("top", [end], fn=lambda g: Box(2.0, "dev2"), metas=(ops.meta_on("dev1"),))
    (got,) = capture([top], [Box(1.0, "dev1")], [end], keep_graph=True)
    assert got.value == 2.0
    alive = weakref.ref(got)
    del got
    gc.collect()
    assert alive() is None


def test_TM3_a_device_thread_keeps_no_result_that_leads_nowhere(ops):
    # Both edges of `top` are invalid: its results have no target.
    alive = []

    def make(g):
        new = [Box(1.0, "dev1"), Box(2.0, "dev1")]
        alive.extend(map(weakref.ref, new))
        return tuple(new)

    run([node("top", [None, None], fn=make, metas=(ops.meta_on("dev1"),))], [Box(1.0, "dev1")])
    assert [ref() for ref in alive] == [None, None]


def test_TM3_a_host_run_keeps_no_result_that_leads_nowhere():
    alive = []

    def make(g):
        new = [Box(1.0), Box(2.0), Box(3.0)]
        alive.extend(map(weakref.ref, new))
        return tuple(new)

    seen = []
    end = node("end", [], fn=lambda g: seen.append([ref() for ref in alive]) or (), metas=(None,))
    run([node("top", [end, node("makes", [None, None, None], fn=make, metas=(None,))], metas=(None,))], [Box(1.0)])
    assert seen == [[None, None, None]]


def test_TM3_the_last_node_on_a_device_wakes_the_caller(ops):
    # The caller has nothing to do from the start: it sleeps until dev1's thread has finished 200 nodes.
    where = []
    top = place("0", "dev1", [], ops, where)
    for i in range(1, 200):
        top = place(str(i), "dev1", [top], ops, where)
    run([top], [Box(1.0, "dev1")])
    assert len(where) == 200


def test_TM4_after_an_error_on_a_device_no_further_node_runs(ops):
    where = []

    def fail(g):
        raise ValueError("stop")

    queued = [place(f"queued {i}", "dev1", [], ops, where) for i in range(5)]
    bad = node("bad", [], fn=fail, metas=(ops.meta_on("dev1"),))
    feed = node("feed", [*queued, bad], fn=lambda g: (g,) * 6, metas=(ops.meta_on("dev1"),))
    with pytest.raises(ValueError, match="stop"):
        run([feed], [Box(1.0, "dev1")])
    assert where == []


def test_TM4_a_node_that_ends_after_an_error_elsewhere_hands_nothing_on(ops):
    # dev1's node ends only when dev0's has failed: its three gradients must go nowhere and be kept nowhere.
    log, alive, tasks = [], [], []
    started = threading.Event()

    def fail(g):
        assert started.wait(LIMIT)
        raise ValueError("stop")

    def late(g):
        started.set()
        task = engine.current_graph_task()
        waiting = threading.Event()
        for _ in range(LIMIT * 1000):
            if task.error is not None:
                break
            waiting.wait(0.001)
        tasks.append(task.error)
        boxes = tuple(Box(float(i), "dev1") for i in range(3))
        alive.extend(map(weakref.ref, boxes))
        return boxes

    ends = [place(f"end {i}", "dev1", [], ops, log) for i in range(3)]
    slow = node("slow", ends, fn=late, metas=(ops.meta_on("dev1"),))
    bad = node("bad", [], fn=fail, metas=(ops.meta_on("dev0"),))
    top = node("top", [slow, bad], fn=lambda g: (Box(1.0, "dev1"), Box(1.0, "dev0")), metas=(ops.meta_on(None),))
    with pytest.raises(ValueError, match="stop") as info:
        run([top], [Box(1.0)], keep_graph=True)
    assert tasks == [info.value]
    del info
    tasks.clear()
    gc.collect()
    assert log == []
    assert [ref() for ref in alive] == [None, None, None]


def test_ER2_an_error_on_a_device_thread_reaches_the_caller_with_type_and_traceback(ops):
    class Special(Exception):
        pass

    error = Special("there")

    def failing_function(g):
        raise error

    with pytest.raises(Special) as info:
        run([node("n", [], fn=failing_function, metas=(ops.meta_on("dev1"),))], [Box(1.0, "dev1")])
    assert info.value is error
    assert "failing_function" in [entry.name for entry in info.traceback]


def test_ER2_an_error_in_a_final_callback_of_a_device_run_reaches_the_caller(ops):
    def callback():
        raise KeyError("callback")

    def ask(g):
        engine.queue_callback(callback)
        return ()

    with pytest.raises(KeyError, match="callback"):
        run([node("n", [], fn=ask, metas=(ops.meta_on("dev1"),))], [Box(1.0, "dev1")])


def test_ER3_the_device_thread_serves_again_after_an_error(ops):
    def fail(g):
        raise ValueError("stop")

    where = []
    for _ in range(3):
        with pytest.raises(ValueError, match="stop"):
            run([node("n", [], fn=fail, metas=(ops.meta_on("dev1"),))], [Box(1.0, "dev1")])
        run([place("after", "dev1", [], ops, where)], [Box(1.0, "dev1")])
    assert where == [("after", thread_of("dev1"))] * 3


def test_ER7_a_failed_run_on_devices_leaves_no_gradient(ops):
    alive = []

    def make(g):
        boxes = tuple(Box(1.0, d) for d in DEVICES)
        alive.extend(map(weakref.ref, boxes))
        return boxes

    def fail(g):
        raise ValueError("stop")

    ends = [node(d, [], fn=fail, metas=(ops.meta_on(d),)) for d in DEVICES]
    top = node("top", ends, fn=make, metas=(ops.meta_on(None),))
    with pytest.raises(ValueError, match="stop") as info:
        run([top], [Box(1.0)])
    del info
    gc.collect()
    assert [ref() for ref in alive] == [None, None, None]


def test_a_wrong_device_is_refused_on_the_device_thread(ops):
    end = node("end", [], metas=(ops.meta_on("dev2"),))
    top = node("Move", [end], fn=lambda g: g, metas=(ops.meta_on("dev1"),))
    with pytest.raises(
        RuntimeError, match=r"Function Move returned an invalid gradient at index 0 - expected device dev2 but got dev1"
    ):
        run([top], [Box(1.0, "dev1")])


def test_IB6_gradients_of_two_devices_meet_by_the_operations_of_the_receiver(ops):
    got = []
    join = node("join", [], fn=lambda g: got.append(g.value) or (), metas=(ops.meta_on("dev0"),))
    sides = [node(d, [join], fn=lambda g: Box(g.value, "dev0"), metas=(ops.meta_on(d),)) for d in ("dev1", "dev2")]
    for _ in range(50):
        run(
            [node("top", sides, fn=lambda g: (Box(1.0, "dev1"), Box(2.0, "dev2")), metas=(ops.meta_on(None),))],
            [Box(1.0)],
            keep_graph=True,
        )
    assert got == [3.0] * 50


def test_TM5_a_run_nested_in_a_device_node_does_its_host_work_on_that_thread(ops):
    where = []

    def nest(g):
        run([place("inner", None, [], ops, where)], [Box(1.0)])
        return ()

    run([node("outer", [], fn=nest, metas=(ops.meta_on("dev1"),))], [Box(1.0, "dev1")])
    assert where == [("inner", thread_of("dev1"))]


def test_a_long_way_to_and_fro_between_devices_arrives(ops):
    got = []
    end = sink(store=got, meta=ops.meta_on(None))
    top = end
    for i in range(60):
        top = place(str(i), DEVICES[i % 3], [top], ops, [])
    run([top], [Box(1.0, DEVICES[59 % 3])])
    assert [g.value for g in got] == [1.0]


def test_a_deep_graph_with_one_device_node_works(ops):
    where = []
    got = []
    end = chain(2000, sink(store=got))
    device = node(
        "device",
        [end],
        fn=lambda g: where.append(threading.current_thread().name) or g.value,
        metas=(ops.meta_on("dev1"),),
    )
    run([node("top", [device], fn=lambda g: Box(g, "dev1"))], [1.0])
    assert got == [1.0]
    assert where == [thread_of("dev1")]
