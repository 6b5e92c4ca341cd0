"""The ready queue's order (RQ) and what a call of execute() does (EX)."""

import gc
import itertools
import random
import threading
import weakref

import pytest
from engine_fakes import LAST, Box, BoxOps, capture, node, run, sink

from arraygrad.engine.engine import ReadyQueue, execute, queued_tasks
from arraygrad.engine.node import Edge


def drained(queue):
    return [queue.pop_for_test() for _ in range(len(queue))]


def test_RQ1_a_task_holds_what_it_was_given_until_it_is_popped():
    class Tag:
        pass

    queue, tag = ReadyQueue(), Tag()
    alive = weakref.ref(tag)
    queue.push_for_test(0, 0, tag=tag)
    del tag
    assert alive() is not None
    queue.pop_for_test()
    assert alive() is None


def test_RQ1_a_queue_that_goes_drops_its_tasks():
    class Tag:
        pass

    queue, tag = ReadyQueue(), Tag()
    alive = weakref.ref(tag)
    queue.push_for_test(0, 0, tag=tag)
    del tag, queue
    assert alive() is None


def test_RQ1_the_task_of_a_run_that_is_over_runs_nothing():
    # The failing node's siblings are queued when the run ends; the next run of this thread must not run them.
    log = []
    siblings = [node(f"s{i}", [], log=log, fn=lambda g: ()) for i in range(3)]

    def fail(g):
        raise ValueError("stop")

    top = node("top", [*siblings, node("fail", [], fn=fail)])
    with pytest.raises(ValueError, match="stop"):
        run([top], [1.0])
    run([node("next", [], fn=lambda g: ())], [1.0])
    assert log == []


def test_RQ2_shutdown_first_then_empty_then_deeper_then_higher_sequence():
    tasks = [
        ("shallow low", {"depth": 0, "seq": 1}),
        ("shallow high", {"depth": 0, "seq": 2}),
        ("deep low", {"depth": 3, "seq": 0}),
        ("deep high", {"depth": 3, "seq": 9}),
        ("empty", {"depth": 0, "seq": 0, "empty": True}),
        ("shutdown", {"depth": 0, "seq": 0, "shutdown": True}),
    ]
    for order in itertools.permutations(tasks):
        queue = ReadyQueue()
        for tag, task in order:
            queue.push_for_test(**task, tag=tag)
        assert drained(queue) == ["shutdown", "empty", "deep high", "deep low", "shallow high", "shallow low"]


def test_RQ2_a_dead_graph_task_counts_as_infinite_depth():
    queue = ReadyQueue()
    queue.push_for_test(2**40, LAST, tag="deep")
    queue.push_for_test(0, 0, dead=True, tag="dead")
    queue.push_for_test(0, 0, empty=True, tag="empty")
    assert drained(queue) == ["empty", "dead", "deep"]


def test_RQ2_accumulators_come_before_every_other_node_of_their_depth():
    queue = ReadyQueue()
    for seq in (5, LAST, 7, LAST - 1):
        queue.push_for_test(0, seq, tag=seq)
    assert drained(queue) == [LAST, LAST - 1, 7, 5]


def test_RQ2_a_long_random_sequence_comes_out_sorted():
    rng = random.Random(20261121)
    keys = [(rng.randrange(6), rng.randrange(2**63)) for _ in range(3000)]
    queue = ReadyQueue()
    for key in keys:
        queue.push_for_test(*key, tag=key)
    assert drained(queue) == sorted(keys, reverse=True)


def test_RQ2_pushes_between_pops_keep_the_order():
    queue = ReadyQueue()
    queue.push_for_test(0, 1, tag=1)
    queue.push_for_test(0, 3, tag=3)
    assert queue.pop_for_test() == 3
    queue.push_for_test(0, 2, tag=2)
    assert drained(queue) == [2, 1]


def test_RQ2_nodes_of_a_nested_run_come_before_those_of_the_outer_run():
    log = []
    inner = node("inner", [node("inner below", [], log=log, fn=lambda g: ())], log=log)
    for n in (inner, inner.next_functions[0][0]):
        n._set_sequence_nr(0)  # lower than everything outside: depth must decide

    def nest(g):
        run([inner], [1.0])
        return ()

    nester = node("nester", [], fn=nest)
    waiting = [node(f"waiting {i}", [], log=log, fn=lambda g: ()) for i in range(3)]
    nester._set_sequence_nr(LAST)
    run([node("top", [nester, *waiting])], [1.0])
    assert log[:2] == ["inner", "inner below"]
    assert len(log) == 5


def test_RQ3_the_length_counts_what_was_pushed_and_not_popped():
    queue = ReadyQueue()
    assert len(queue) == 0
    for i in range(4):
        queue.push_for_test(0, i, tag=i)
    queue.pop_for_test()
    assert len(queue) == 3


def test_RQ3_an_empty_queue_gives_no_task():
    with pytest.raises(IndexError, match="empty"):
        ReadyQueue().pop_for_test()


def test_RQ3_the_queue_of_this_thread_is_empty_outside_of_backward():
    seen = []
    ends = [node(str(i), [], fn=lambda g: seen.append(queued_tasks()) or ()) for i in range(3)]
    run([node("top", ends)], [1.0])
    assert seen == [2, 1, 0]
    assert queued_tasks() == 0


def test_RQ4_every_calling_thread_has_a_queue_of_its_own():
    # The worker looks at its queue while this thread's run has two nodes waiting.
    seen = {}

    def look(g):
        worker = threading.Thread(target=lambda: seen.update(worker=queued_tasks()))
        worker.start()
        worker.join()
        seen["here"] = queued_tasks()
        return ()

    last = node("last", [], fn=look)
    last._set_sequence_nr(LAST)
    run([node("top", [last, *[node(str(i), [], fn=lambda g: ()) for i in range(2)]])], [1.0])
    assert seen == {"worker": 0, "here": 2}


def test_RQ4_a_nested_run_uses_the_same_queue():
    seen = []
    inner = node("inner", [], fn=lambda g: seen.append(queued_tasks()) or ())
    nester = node("nester", [], fn=lambda g: run([inner], [1.0]))
    nester._set_sequence_nr(LAST)
    run([node("top", [nester, node("waits", [], fn=lambda g: ())])], [1.0])
    assert seen == [1]


def test_RQ5_nodes_on_the_host_run_on_the_calling_thread():
    names = []
    work = node("work", [sink()], fn=lambda g: names.append(threading.current_thread()) or g)
    caller = threading.Thread(target=run, args=([node("top", [work])], [1.0]))
    caller.start()
    caller.join()
    assert names == [caller]


def test_EX1_a_bad_root_gradient_is_found_before_anything_runs():
    log = []
    meta = BoxOps().meta_on(None)
    roots = [node("a", [], log=log, metas=(meta,)), node("b", [], log=log, metas=(meta,))]
    with pytest.raises(RuntimeError, match="got str but expected Box"):
        run(roots, [Box(1.0), "wrong"])
    assert log == []


def test_EX1_root_gradients_are_made_to_match_the_roots_metadata():
    got = []
    run([node("top", [], fn=lambda g: got.append(g) or ())], [3])
    assert got == [3.0]
    assert type(got[0]) is float


def test_EX1_a_root_gradient_that_is_wrong_is_no_functions_fault():
    meta = BoxOps().meta_on(None)
    with pytest.raises(RuntimeError) as info:
        run([node("top", [], metas=(meta,))], ["wrong"])
    assert not str(info.value).startswith("Function")


def test_EX1_grad_without_inputs_is_an_error():
    with pytest.raises(RuntimeError, match="grad requires non-empty inputs"):
        capture([sink()], [1.0], [])


def test_EX1_an_undefined_root_gradient_is_accepted():
    got = []
    run([node("top", [sink(store=got)])], [None])
    assert got == [None]


def test_EX2_the_call_returns_when_everything_has_run():
    log = []
    top = sink("end", log=log)
    for i in range(200):
        top = node(str(i), [top], log=log)
    run([top], [1.0])
    assert len(log) == 201


def test_EX2_nothing_of_a_run_outlives_it():
    meta = BoxOps().meta_on(None)
    alive = []

    def make(g):
        new = Box(g.value)
        alive.append(weakref.ref(new))
        return new

    end = node("end", [], fn=lambda g: (), metas=(meta,))
    top = node("top", [node("mid", [end], fn=make, metas=(meta,))], fn=make, metas=(meta,))
    run([top], [Box(1.0)], keep_graph=True)
    assert [ref() for ref in alive] == [None, None]


def test_EX2_captured_gradients_belong_to_the_caller_alone():
    meta = BoxOps().meta_on(None)
    end = sink(meta=meta)
    top = node("top", [end], fn=lambda g: Box(g.value), metas=(meta,))
    (got,) = capture([top], [Box(1.0)], [end], keep_graph=True)
    alive = weakref.ref(got)
    del got
    assert alive() is None


def test_EX3_roots_must_be_edges():
    with pytest.raises(TypeError):
        execute([sink()], [1.0])
    assert execute([Edge(sink(), 0)], [1.0]) == ()


def test_EX_a_run_makes_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        run([node("top", [sink()])], [1.0])
        n = node("top", [sink()])
        alive = weakref.ref(n)
        run([n], [1.0])
        del n
        assert alive() is None
    finally:
        gc.enable()
