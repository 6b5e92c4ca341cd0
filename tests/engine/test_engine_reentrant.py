"""Backward inside of backward, to any depth (RE), and final callbacks (FC)."""

import gc
import sys
import threading
import weakref

import pytest
from engine_fakes import Box, DeviceOps, capture, node, run, sink

from arraygrad.engine import engine
from arraygrad.engine.engine import queue_callback
from arraygrad.engine.pool import Job, Pool

LIMIT = 60


def nested(levels, seen, bottom=None):
    """A node that runs a graph with such a node in it, `levels` deep; `seen` lists (level, thread) on the way up."""

    def enter(g, level=levels):
        if level > 1:
            run([node(f"level{level - 1}", [], fn=lambda h: enter(h, level - 1))], [g])
        elif bottom is not None:
            bottom()
        seen.append((level, threading.current_thread()))
        return ()

    return node(f"level{levels}", [], fn=enter)


def test_RE1_a_nested_call_has_ended_before_the_node_goes_on():
    log = []

    def fn(g):
        run([node("inner", [sink("inner sink", log=log)], log=log)], [g])
        log.append("after")
        return (g,)

    run([node("outer", [sink("outer sink", log=log)], fn=fn)], [1.0])
    assert log == ["inner", "inner sink", "after", "outer sink"]


def test_RE1_inner_nodes_come_before_outer_ones_that_are_ready():
    log = []
    waiting = node("waiting", [], fn=lambda g: log.append("outer waits") or ())
    waiting._set_sequence_nr(0)

    def fn(g):
        run([node("inner", [sink(log=log)], log=log)], [g])
        return ()

    run([node("top", [node("reenters", [], fn=fn), waiting], fn=lambda g: (g, g))], [1.0])
    assert log == ["inner", "sink", "outer waits"]


def test_RE1_an_inner_run_for_a_node_that_it_does_not_reach_leaves_it_to_the_outer_run():
    log = []
    shared = node("shared", [sink("sink", log=log)], log=log)

    def fn(g):
        assert run([node("inner", [sink()])], [1.0], accumulate_grad=False, inputs=[shared]) == (None,)
        return (g,)

    run([node("outer", [node("reenters", [shared], fn=fn), shared], fn=lambda g: (g, g))], [1.0])
    assert log == ["shared", "sink"]
    assert run([shared], [2.0], accumulate_grad=False, inputs=[shared]) == (2.0,)


def test_RE2_up_to_sixty_levels_run_on_the_callers_thread():
    seen = []
    run([nested(60, seen)], [1.0])
    assert {thread for _, thread in seen} == {threading.current_thread()}


def test_RE2_deeper_levels_run_on_another_thread_while_the_caller_sleeps():
    seen = []
    run([nested(61, seen)], [1.0])
    assert len({thread for _, thread in seen}) == 2
    assert [level for level, _ in seen] == list(range(1, 62))


def test_RE2_the_other_thread_takes_over_the_callers_queue():
    # A task of the outer run that is ready in the queue comes after the nested run, wherever that is driven.
    log = []
    waiting = node("waiting", [], fn=lambda g: log.append("outer waits") or ())
    waiting._set_sequence_nr(0)

    def fn(g):
        run([nested(80, [], bottom=lambda: log.append("bottom"))], [g])
        return ()

    run([node("top", [node("reenters", [], fn=fn), waiting], fn=lambda g: (g, g))], [1.0])
    assert log == ["bottom", "outer waits"]


def test_RE2_the_other_thread_runs_all_nodes_of_a_run_not_only_its_root():
    got = []

    def level(depth):
        def enter(g):
            if depth:
                level(depth - 1)
            return (g,)

        run([node("root", [node("enters", [node("below", [sink(store=got)])], fn=enter)])], [float(depth)])

    level(LIMIT + 10)
    assert got == [float(depth) for depth in range(LIMIT + 11)]


def test_RE3_two_thousand_levels():
    seen = []
    limit = sys.getrecursionlimit()
    run([nested(2000, seen)], [1.0])
    assert len(seen) == 2000
    assert sys.getrecursionlimit() == limit


def test_RE4_threads_are_used_again():
    run([nested(400, [])], [1.0])
    first = []
    run([nested(130, first)], [1.0])
    second = []
    run([nested(130, second)], [1.0])
    assert {t for _, t in first} == {t for _, t in second}


def test_RE4_an_idle_thread_ends_by_itself():
    pool = Pool("test_pool", idle_seconds=0.01)
    pool.submit(Job(lambda: None)).wait()
    for thread in pool.threads():
        thread.join(LIMIT)
    assert pool.threads() == []


def test_RE4_only_so_many_threads_stay_idle():
    pool = Pool("test_pool", idle_seconds=60, keep=2)
    gate = threading.Barrier(6)
    jobs = [pool.submit(Job(lambda: gate.wait(LIMIT))) for _ in range(5)]
    before = pool.threads()
    gate.wait(LIMIT)
    for job in jobs:
        job.wait()
    pool.submit(Job(lambda: None)).wait()
    ended = [thread for thread in before if thread not in pool.threads()]
    for thread in ended:
        thread.join(LIMIT)
    assert len(before) == 5
    assert len(pool.threads()) <= 3


def test_RE4_an_interrupt_at_any_instruction_leaves_a_pool_that_works():
    def interrupted(number, work):
        """work(), with KeyboardInterrupt before its instruction of that number; whether it came to that."""
        seen = 0

        def trace(frame, event, arg):
            nonlocal seen
            if frame.f_code.co_filename != pool_file:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                seen += 1
                if seen == number:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(previous)
        return False

    pool_file = Pool.submit.__code__.co_filename
    errors = []

    def examine():
        for idle in (False, True):
            number = 0
            came = True
            while came:
                number += 1
                assert number < 1000
                pool = Pool("test_pool", idle_seconds=0.01)
                if idle:
                    pool.submit(Job(lambda: None)).wait()
                ran = []
                job = Job(lambda ran=ran: ran.append(1))
                came = interrupted(number, lambda pool=pool, job=job: pool.submit(job).wait())
                if not job.cancel():
                    job.wait()
                assert len(ran) <= 1
                pool.submit(Job(lambda ran=ran: ran.append(2))).wait()
                assert ran[-1] == 2
                for thread in pool.threads():
                    thread.join(LIMIT)
                assert pool.threads() == []

    def note():
        try:
            examine()
        except BaseException as error:
            errors.append(error)

    # In a thread of its own: such an exception may leave the one that the interpreter is handling behind.
    thread = threading.Thread(target=note)
    thread.start()
    thread.join(10 * LIMIT)
    assert errors == []
    assert not thread.is_alive()


def test_RE4_what_a_pool_is_given_runs_in_the_callers_context():
    import contextvars

    mark = contextvars.ContextVar("mark", default="unset")
    mark.set("set")
    found = []
    Pool("test_pool", idle_seconds=0.01).submit(Job(lambda: found.append(mark.get()))).wait()
    assert found == ["set"]


def test_RE4_an_error_of_the_work_reaches_whoever_waits_for_it():
    def work():
        raise KeyError("work")

    job = Pool("test_pool", idle_seconds=0.01).submit(Job(work))
    with pytest.raises(KeyError, match="work"):
        job.wait()


@pytest.mark.parametrize("levels", [2, 61, 130])
def test_RE5_an_inner_error_can_be_caught_where_the_inner_call_was_made(levels):
    caught = []
    got = []

    def fail():
        raise ValueError("at the bottom")

    def fn(g):
        try:
            run([nested(levels, [], bottom=fail)], [g])
        except ValueError as error:
            caught.append(str(error))
        return (g,)

    run([node("outer", [sink(store=got)], fn=fn)], [2.0])
    assert caught == ["at the bottom"]
    assert got == [2.0]


def test_RE5_an_error_rises_through_threads():
    def fail():
        raise ValueError("at the bottom")

    with pytest.raises(ValueError, match="at the bottom"):
        run([nested(200, [], bottom=fail)], [1.0])
    assert engine.queued_tasks() == 0


def test_RE6_an_outer_error_while_an_inner_run_is_on_another_device():
    ops = DeviceOps()
    failed, started = threading.Event(), threading.Event()
    made = []

    def inner(g):
        started.set()
        assert failed.wait(LIMIT)  # the outer run has failed by now
        box = Box(5.0, "dev1")
        made.append(weakref.ref(box))
        return (box,)

    def reenter(g):
        end = sink(meta=ops.meta_on("dev1"))
        run([node("inner", [end], fn=inner, metas=(ops.meta_on("dev1"),))], [Box(1.0, "dev1")])
        return ()

    def fail(g):
        assert started.wait(LIMIT)
        failed.set()
        raise ValueError("outer")

    parts = [node("reenters", [], fn=reenter, metas=(ops.meta_on("dev0"),)), node("fails", [], fn=fail)]
    top = node("top", parts, fn=lambda g: (Box(1.0, "dev0"), 1.0))
    with pytest.raises(ValueError, match="outer"):
        run([top], [1.0])
    run([sink(meta=ops.meta_on("dev0"))], [Box(1.0, "dev0")])  # the thread of dev0 has gone on
    gc.collect()
    assert [ref() for ref in made] == [None]


def test_RE7_thread_state_is_as_before_after_deep_nesting():
    ids = []

    def fn(g):
        before = engine.current_graph_task_id(), engine.current_node()
        run([nested(130, [])], [g])
        ids.append(before == (engine.current_graph_task_id(), engine.current_node()))
        return ()

    run([node("outer", [], fn=fn)], [1.0])
    assert ids == [True]
    assert engine.current_graph_task_id() == -1
    assert engine.current_node() is None


def test_RE7_captures_of_a_run_driven_elsewhere_come_back():
    found = []

    def bottom():
        leaf = sink()
        found.extend(capture([node("mid", [leaf], fn=lambda g: (g * 3.0,))], [2.0], [leaf]))

    run([nested(90, [], bottom=bottom)], [1.0])
    assert found == [6.0]


def test_RE8_a_run_leaves_a_stack_that_is_short_of_python_frames():
    # Few levels, but each with many Python frames: half of the recursion limit is reached long before 60 levels.
    threads = set()

    def dig(frames, then):
        return then() if frames == 0 else dig(frames - 1, then)

    def enter(g, level):
        threads.add(threading.current_thread())
        if level:
            dig(
                sys.getrecursionlimit() // 30,
                lambda: run([node("deep", [], fn=lambda h: enter(h, level - 1))], [g]),
            )
        return ()

    run([node("top", [], fn=lambda g: enter(g, 40))], [1.0])
    assert len(threads) > 1


def test_FC1_a_callback_needs_a_running_backward():
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue_callback(lambda: None)


def test_FC2_callbacks_run_in_order_before_the_call_returns_and_may_add_more():
    log = []

    def first():
        log.append("first")
        queue_callback(lambda: log.append("added"))

    def fn(g):
        queue_callback(first)
        queue_callback(lambda: log.append("second"))
        return (g,)

    run([node("n", [sink(log=log)], fn=fn)], [1.0])
    assert log == ["sink", "first", "second", "added"]


def test_FC2_callbacks_belong_to_the_run_they_were_queued_in():
    log = []

    def inner(g):
        queue_callback(lambda: log.append("inner callback"))
        return ()

    def outer(g):
        queue_callback(lambda: log.append("outer callback"))
        run([node("inner", [], fn=inner)], [g])
        log.append("inner run over")
        return ()

    run([node("outer", [], fn=outer)], [1.0])
    assert log == ["inner callback", "inner run over", "outer callback"]


def test_FC3_an_error_in_a_callback_stops_the_later_ones_and_fails_the_call():
    log = []

    def fail():
        raise KeyError("callback")

    def fn(g):
        queue_callback(fail)
        queue_callback(lambda: log.append("later"))
        return ()

    with pytest.raises(KeyError, match="callback"):
        run([node("n", [], fn=fn)], [1.0])
    assert log == []


def test_INV5_the_sleeping_parent_has_handed_its_queue_over():
    # While a run is driven elsewhere, the thread that called it runs nothing of that queue.
    ran = []

    def bottom():
        end = node("end", [], fn=lambda g: ran.append(threading.current_thread()) or ())
        run([node("mid", [end], fn=lambda g: ran.append(threading.current_thread()) or (g,))], [1.0])

    run([nested(100, [], bottom=bottom)], [1.0])
    assert len(ran) == 2
    assert len(set(ran)) == 1
    assert ran[0] is not threading.current_thread()
