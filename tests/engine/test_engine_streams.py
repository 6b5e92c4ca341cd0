"""Streams (ST): who waits for whom, at which moment, and what is kept until then. The runtime is a recording fake."""

import gc
import threading
import weakref

import pytest
from engine_fakes import Box, DeviceOps, capture, node, run, sink

from arraygrad.engine import engine
from arraygrad.engine.engine import queue_callback


@pytest.fixture
def ops():
    return DeviceOps()


def events(ops, *kinds):
    """The log without thread names, only entries of these kinds."""
    return [entry[:-1] for entry in ops.log if entry[0] in kinds]


def on(ops, device, stream):
    """Metadata of a node on a device and stream."""
    return (ops.meta_on(device, stream),)


def passing(name, nexts, ops, device, stream, log=None):
    """A node on a stream that hands its gradient on, as a new Box."""

    def fn(g):
        if log is not None:
            log.append((name, ops.runtime.current()))
        return tuple(Box(g.value, e[1] if isinstance(e, tuple) else device) for e in nexts)

    return node(name, [e[0] if isinstance(e, tuple) else e for e in nexts], fn=fn, metas=on(ops, device, stream))


def end(name, ops, device, stream, store=None):
    """An accumulator on a stream."""
    return sink(name, store=store, meta=ops.meta_on(device, stream))


def test_ST1_a_node_runs_on_the_stream_of_its_forward_and_the_threads_own_is_restored(ops):
    where = []
    leaf = end("leaf", ops, "dev0", "s1")
    run([passing("a", [passing("b", [leaf], ops, "dev0", "s2", where)], ops, "dev0", "s1", where)], [Box(1.0, "dev0")])
    assert where == [("a", ("dev0", "s1")), ("b", ("dev0", "s2"))]
    entered = sum(e[0] == "enter" for e in ops.log)
    assert entered == sum(e[0] == "leave" for e in ops.log) >= 3


def test_ST2_nothing_is_recorded_while_one_stream_does_everything(ops):
    with_stream = passing("a", [end("leaf", ops, "dev0", "s1")], ops, "dev0", "s1")
    before = ops.runtime.enter("dev0", "s1")
    try:
        run([with_stream], [Box(1.0, "dev0")])
    finally:
        ops.runtime.leave(before)
    assert events(ops, "record", "wait") == []


def test_ST2_a_gradient_that_changes_streams_is_waited_for_by_its_consumer(ops):
    low = passing("low", [end("leaf", ops, "dev0", "s2")], ops, "dev0", "s2")
    before = ops.runtime.enter("dev0", "s1")
    try:
        run([passing("top", [low], ops, "dev0", "s1")], [Box(1.0, "dev0")])
    finally:
        ops.runtime.leave(before)
    log = events(ops, "enter", "record", "wait")
    made = log.index(("record", "s1"))
    waited = log.index(("wait", "s2", ("event", "s1")))
    assert made < waited
    # It waits when the consumer runs, on the consumer's stream: after that was entered.
    assert log.index(("enter", "dev0", "s2")) < waited


def test_ST2_other_work_of_the_consumers_stream_is_not_held_up(ops):
    # "slow" on s1 feeds "late" on s2, but "early", on s2 as well, runs before "late" and waits for nothing.
    order = []
    late = passing("late", [end("l", ops, "dev0", "s2")], ops, "dev0", "s2", order)
    early = passing("early", [end("e", ops, "dev0", "s2")], ops, "dev0", "s2", order)
    slow = passing("slow", [late], ops, "dev0", "s1", order)
    top = passing("top", [slow, early], ops, "dev0", "s2", order)
    early._set_sequence_nr(slow.sequence_nr)
    slow._set_sequence_nr(slow.sequence_nr + 1000)
    top._set_sequence_nr(slow.sequence_nr + 1000)
    late._set_sequence_nr(0)
    before = ops.runtime.enter("dev0", "s2")
    try:
        run([top], [Box(1.0, "dev0")])
    finally:
        ops.runtime.leave(before)
    assert [name for name, _ in order] == ["top", "slow", "early", "late"]
    log = [e[:-1] for e in ops.log]
    wait = log.index(("wait", "s2", ("event", "s1")))
    assert sum(e == ("enter", "dev0", "s2") for e in log[:wait]) >= 4  # caller, top, early, its leaf, late


def test_ST2_sums_of_several_streams_are_made_on_the_consumers_stream_after_all_events(ops):
    got = []
    leaf = end("leaf", ops, "dev0", "s0", got)
    parts = [passing(f"p{i}", [leaf], ops, "dev0", f"s{i}") for i in (1, 2, 3)]
    run([passing("top", parts, ops, "dev0", "s1")], [Box(2.0, "dev0")])
    assert [g.value for g in got] == [6.0]
    waits = [e[2] for e in events(ops, "wait") if e[1] == "s0"]
    assert sorted(waits) == [("event", "s1"), ("event", "s2"), ("event", "s3")]


def test_ST2_the_callers_gradient_comes_from_the_callers_stream(ops):
    before = ops.runtime.enter("dev0", "mine")
    try:
        run([passing("top", [end("leaf", ops, "dev0", "s1")], ops, "dev0", "s1")], [Box(1.0, "dev0")])
    finally:
        ops.runtime.leave(before)
    assert ("wait", "s1", ("event", "mine")) in events(ops, "wait")


def test_ST2_two_devices_wait_for_each_other(ops):
    far = passing("far", [end("leaf", ops, "dev1", "t")], ops, "dev1", "t")
    run([passing("near", [(far, "dev1")], ops, "dev0", "s")], [Box(1.0, "dev0")])
    assert ("wait", "t", ("event", "s")) in events(ops, "wait")


def test_ST3_what_another_stream_uses_is_kept_until_the_maker_waits_for_it(ops):
    made = []
    alive_at_wait = []
    leaf = end("leaf", ops, "dev0", "s2")
    low = passing("low", [leaf], ops, "dev0", "s2")

    def fn(g):
        box = Box(g.value, "dev0")
        made.append(weakref.ref(box))
        return (box,)

    top = node("top", [low], fn=fn, metas=on(ops, "dev0", "s1"))
    note = ops.runtime.note

    def noting(*what):
        note(*what)
        if what == ("wait", "s1", ("event", "s2")):
            alive_at_wait.append(made[0]() is not None)

    ops.runtime.note = noting
    run([top], [Box(1.0, "dev0")])
    assert alive_at_wait == [True]
    gc.collect()
    assert made[0]() is None


def test_ST4_the_callers_stream_waits_for_every_stream_on_which_the_run_ended(ops):
    a = passing("a", [end("la", ops, "dev0", "s1")], ops, "dev0", "s1")
    b = passing("b", [end("lb", ops, "dev0", "s2")], ops, "dev0", "s2")
    before = ops.runtime.enter("dev0", "mine")
    try:
        run([passing("top", [a, b], ops, "dev0", "s1")], [Box(1.0, "dev0")])
    finally:
        ops.runtime.leave(before)
    waits = {e[2] for e in events(ops, "wait") if e[1] == "mine"}
    assert {("event", "s1"), ("event", "s2")} <= waits


def test_ST4_captures_count_as_ends(ops):
    leaf = end("leaf", ops, "dev0", "s1")
    before = ops.runtime.enter("dev0", "mine")
    try:
        found = capture([passing("top", [leaf], ops, "dev0", "s2")], [Box(1.0, "dev0")], [leaf])
    finally:
        ops.runtime.leave(before)
    assert found[0].value == 1.0
    assert ("wait", "mine", ("event", "s1")) in events(ops, "wait")


def test_ST4_also_after_an_error(ops):
    def fail(g):
        raise ValueError("on s2")

    a = passing("a", [end("la", ops, "dev0", "s1")], ops, "dev0", "s1")
    b = node("b", [], fn=fail, metas=on(ops, "dev0", "s2"))
    b._set_sequence_nr(0)
    before = ops.runtime.enter("dev0", "mine")
    try:
        with pytest.raises(ValueError, match="on s2"):
            run([passing("top", [a, b], ops, "dev0", "s1")], [Box(1.0, "dev0")])
    finally:
        ops.runtime.leave(before)
    assert ("wait", "mine", ("event", "s1")) in events(ops, "wait")


def test_ST4_callbacks_run_on_the_callers_streams(ops):
    seen = []

    def fn(g):
        queue_callback(lambda: seen.append(ops.runtime.current()))
        return ()

    before = ops.runtime.enter("dev0", "mine")
    try:
        run([node("n", [], fn=fn, metas=on(ops, "dev0", "s1"))], [Box(1.0, "dev0")])
    finally:
        ops.runtime.leave(before)
    assert seen == [("dev0", "mine")]


def test_ST5_the_host_asks_no_runtime_for_streams(ops):
    run([node("n", [sink(meta=ops.meta_on(None))], metas=(ops.meta_on(None),))], [Box(1.0)])
    assert ops.log == []


def test_ST5_streams_work_without_device_threads(ops):
    low = passing("low", [end("leaf", ops, "dev0", "s2")], ops, "dev0", "s2")
    before = engine.set_multithreading(False)
    try:
        run([passing("top", [low], ops, "dev0", "s1")], [Box(1.0, "dev0")])
    finally:
        engine.set_multithreading(before)
    assert ("wait", "s2", ("event", "s1")) in events(ops, "wait")


def test_ST6_a_node_over_several_devices_has_one_stream_and_waits_for_the_others(ops):
    where = []
    leaf = end("leaf", ops, "dev0", "s")
    both = node(
        "both",
        [leaf],
        fn=lambda a, b: where.append(ops.runtime.current()) or (Box(a.value + b.value, "dev0"),),
        metas=(ops.meta_on("dev0", "s"), ops.meta_on("dev1", "t")),
    )
    near = passing("near", [(both, "dev0")], ops, "dev0", "s")
    far = node(
        "far",
        [(both, 1)],
        fn=lambda g: (Box(g.value, "dev1"),),
        metas=on(ops, "dev1", "t"),
    )
    run([near, far], [Box(1.0, "dev0"), Box(2.0, "dev1")])
    assert where == [("dev0", "s")]
    assert ("wait", "s", ("event", "t")) in events(ops, "wait")


def test_ST8_each_engine_thread_sets_its_own_device_and_stream(ops):
    # Current devices and streams belong to a thread: what the caller has entered says nothing about a device's thread.
    seen = {}

    def fn(g):
        seen[threading.current_thread().name] = ops.runtime.current()
        return ()

    before = ops.runtime.enter("dev0", "callers")
    try:
        run([node("n", [], fn=fn, metas=on(ops, "dev1", "t"))], [Box(1.0, "dev1")])
    finally:
        ops.runtime.leave(before)
    (found,) = seen.values()
    assert found == ("dev1", "t")
    assert threading.current_thread().name not in seen
