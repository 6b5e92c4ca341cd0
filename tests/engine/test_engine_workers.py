"""Host work shared by several threads (WK1), and sums that do not depend on their timing (INV6)."""

import random
import threading

import pytest
from engine_fakes import Box, DeviceOps, FloatOps, node, run, sink

from arraygrad.autograd import set_cpu_workers, set_deterministic
from arraygrad.engine import engine
from arraygrad.engine.arrayops import GradMeta

LIMIT = 60
LARGE = (1 << 20,)  # what metadata say; the gradients are floats


@pytest.fixture
def large():
    """Metadata that make a node worth a thread."""
    return GradMeta(FloatOps("float"), LARGE, float)


def branches(count, meet, end, large, log):
    """Independent nodes, each of which waits until `count` threads are at one."""

    def work(g):
        log.append(threading.current_thread())
        meet.wait(LIMIT)
        return (g,)

    return [node(f"branch{i}", [end], fn=work, metas=(large,)) for i in range(count)]


def test_WK1_independent_nodes_run_at_the_same_time(large):
    log, got = [], []
    meet = threading.Barrier(3)  # passed only if three threads are in nodes at the same time
    parts = branches(3, meet, sink(store=got), large, log)
    with set_cpu_workers(2):
        run([node("top", parts, metas=(large,))], [1.0])
    assert len(set(log)) == 3
    assert got == [3.0]


def test_WK1_small_nodes_stay_on_the_caller():
    log, got = [], []
    parts = [
        node(f"b{i}", [sink(store=got)], fn=lambda g: log.append(threading.current_thread()) or (g,)) for i in range(5)
    ]
    with set_cpu_workers(4):
        run([node("top", parts)], [1.0])
    assert set(log) == {threading.current_thread()}
    assert got == [1.0] * 5


def test_WK1_off_by_default(large):
    log = []
    parts = [
        node(f"b{i}", [], fn=lambda g: log.append(threading.current_thread()) or (), metas=(large,)) for i in range(5)
    ]
    run([node("top", parts, metas=(large,))], [1.0])
    assert set(log) == {threading.current_thread()}


def test_WK1_an_error_on_a_worker_reaches_the_caller_and_nothing_stays_queued(large):
    meet = threading.Barrier(2)
    caller = threading.current_thread()

    def work(g):
        meet.wait(LIMIT)
        if threading.current_thread() is not caller:
            raise ValueError("on a worker")
        return ()

    parts = [node(f"b{i}", [], fn=work, metas=(large,)) for i in range(2)]
    with set_cpu_workers(1), pytest.raises(ValueError, match="on a worker"):
        run([node("top", parts, metas=(large,))], [1.0])
    assert engine.queued_tasks() == 0


def test_WK1_workers_know_the_run_they_work_for(large):
    meet = threading.Barrier(2)
    ids = []

    def work(g):
        meet.wait(LIMIT)
        ids.append((engine.current_graph_task_id(), engine.current_node().name()))
        return ()

    parts = [node(f"b{i}", [], fn=work, metas=(large,)) for i in range(2)]
    with set_cpu_workers(1):
        run([node("top", parts, metas=(large,))], [1.0])
    assert len({run_id for run_id, _ in ids}) == 1
    assert sorted(name for _, name in ids) == ["b0", "b1"]


def test_WK1_a_run_nested_in_a_workers_node(large):
    meet = threading.Barrier(2)
    got = []

    def work(g):
        meet.wait(LIMIT)
        run([node("inner", [sink(store=got)], metas=(large,))], [g])
        return ()

    parts = [node(f"b{i}", [], fn=work, metas=(large,)) for i in range(2)]
    with set_cpu_workers(1):
        run([node("top", parts, metas=(large,))], [1.0])
    assert got == [1.0, 1.0]


@pytest.mark.parametrize("workers", [1, 3])
def test_WK1_many_runs_one_after_another(large, workers):
    with set_cpu_workers(workers):
        for _ in range(200):
            got = []
            end = sink(store=got)
            parts = [node(f"b{i}", [end], metas=(large,)) for i in range(4)]
            run([node("top", parts, metas=(large,))], [1.0])
            assert got == [4.0]


def test_WK1_bad_numbers_are_refused():
    with pytest.raises(ValueError, match="n must be 0 or more, got -1"):
        set_cpu_workers(-1)
    with pytest.raises(TypeError):
        set_cpu_workers(1.5)


def uneven(seed):
    """Gradients whose float sum depends on the order of addition."""
    rng = random.Random(seed)
    return [rng.uniform(-1, 1) * 10.0 ** rng.randint(-8, 8) for _ in range(9)]


def fan(ops, values, delays, got):
    """Nodes on three devices that give `values` to one slot of a host node, each after its delay's event."""
    end = sink(store=got, meta=ops.meta_on(None))
    parts = []
    for i, value in enumerate(values):
        parts.append(
            node(
                f"p{i}",
                [end],
                fn=lambda g, i=i, value=value: delays(i) or (Box(value),),
                metas=(ops.meta_on(f"dev{i % 3}"),),
            )
        )
    return node("top", parts, fn=lambda g: tuple(Box(1.0, f"dev{i % 3}") for i in range(9)), metas=(ops.meta_on(None),))


def turns(order):
    """A function that lets the parts on three devices go on in the given order of devices."""
    done = [threading.Event() for _ in range(3)]
    left = [3, 3, 3]

    def wait(i):
        device = i % 3
        place = order.index(device)
        if place:
            assert done[order[place - 1]].wait(LIMIT)
        left[device] -= 1
        if not left[device]:
            done[device].set()

    return wait


def test_INV6_a_sum_from_several_devices_does_not_depend_on_their_timing():
    values = uneven(1)
    sums = set()
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        got = []
        run([fan(DeviceOps(), values, turns(order), got)], [Box(1.0)])
        sums.add(got[0].value)
    # What one thread computes: by falling number of recording.
    expected = values[8]
    for value in values[7::-1]:
        expected += value
    assert sums == {expected}


def test_INV6_it_is_the_same_without_device_threads():
    values = uneven(2)
    threaded, alone = [], []
    run([fan(DeviceOps(), values, turns([2, 0, 1]), threaded)], [Box(1.0)])
    before = engine.set_multithreading(False)
    try:
        run([fan(DeviceOps(), values, lambda i: None, alone)], [Box(1.0)])
    finally:
        engine.set_multithreading(before)
    assert threaded[0].value == alone[0].value


def test_INV6_switched_off_gradients_are_added_as_they_arrive():
    ops = DeviceOps()
    added = threading.Event()
    add, add_into = ops.add, ops.add_into
    seen = []

    class Noting(DeviceOps):
        def add(self, a, b):
            added.set()
            return add(a, b)

        def add_into(self, a, b):
            added.set()
            return add_into(a, b)

    def last_one_waits(i):
        if i == 8:
            seen.append(added.wait(LIMIT))

    got = []
    with set_deterministic(False):
        run([fan(Noting(), uneven(4), last_one_waits, got)], [Box(1.0)])
    assert seen == [True]


def test_INV6_with_cpu_workers_sums_are_those_of_one_thread(large):
    values = uneven(3)

    def once():
        got = []
        end = sink(store=got)
        parts = [node(f"p{i}", [end], fn=lambda g, v=v: (v,), metas=(large,)) for i, v in enumerate(values)]
        run([node("top", parts, metas=(large,))], [1.0])
        return got[0]

    alone = once()
    with set_cpu_workers(3):
        assert {once() for _ in range(50)} == {alone}


def test_INV6_the_switch_wants_a_bool():
    with pytest.raises(TypeError, match="mode must be True or False, got int"):
        set_deterministic(1)
