"""Errors during a run (ER) and the checks of what nodes return (VO), on floats and boxes."""

import _thread
import gc
import operator
import signal
import threading
import weakref

import pytest
from engine_fakes import FLOAT, Box, BoxOps, capture, node, run, sink

from arraygrad.engine import engine
from arraygrad.engine.arrayops import InvalidGradient
from arraygrad.engine.node import PyNode


class Special(Exception):
    """An error of the tests' own."""


def failing(name="bad", nexts=(), error=Special, **kwargs):
    def fail(g):
        raise error("stop")

    return node(name, list(nexts), fn=fail, **kwargs)


def test_ER1_the_original_exception_object_is_raised_in_the_caller():
    error = Special("mine")

    def fails_here(g):
        raise error

    with pytest.raises(Special) as info:
        run([node("top", [node("bad", [], fn=fails_here)])], [1.0])
    assert info.value is error
    assert "fails_here" in [entry.name for entry in info.traceback]


def test_ER1_the_first_error_wins_and_no_further_node_runs():
    log = []

    def fail(name, error):
        def fn(g):
            log.append(name)
            raise error(name)

        return node(name, [], fn=fn)

    second, first = fail("second", ValueError), fail("first", Special)
    with pytest.raises(Special, match="first"):
        run([node("top", [second, first, sink("end", log=log)], fn=lambda g: (g, g, None))], [1.0])
    assert log in (["first"], ["end", "first"])


@pytest.mark.parametrize("kind", ["rule", "prehook", "posthook", "callback", "release"])
def test_ER1_an_error_in_any_place_ends_the_run_the_same_way(kind):
    def fail(*args):
        raise Special(kind)

    log = []
    low = node("low", [sink("end", log=log)], log=log)
    top = node("top", [low], fn=fail if kind == "rule" else None, release=fail if kind == "release" else None)
    if kind == "prehook":
        top.register_prehook(fail)
    if kind == "posthook":
        top.register_hook(fail)
    if kind == "callback":
        top.register_prehook(lambda outputs: engine.queue_callback(fail))
    with pytest.raises(Special, match=kind):
        run([top], [1.0])
    assert log == (["low", "end"] if kind == "callback" else [])
    assert engine.queued_tasks() == 0
    assert engine.current_graph_task_id() == -1
    assert engine.current_node() is None


def test_ER1_an_error_while_gradients_are_added_ends_the_run():
    class BadAdd(BoxOps):
        def add(self, a, b):
            raise Special("add")

    join = sink("join", meta=BadAdd().meta_on(None))
    with pytest.raises(Special, match="add"):
        run([node("top", [join, join], metas=(BoxOps().meta_on(None),))], [Box(1.0)])


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, StopIteration, GeneratorExit])
def test_ER2_every_type_of_exception_is_kept(error):
    with pytest.raises(error):
        run([failing(error=error)], [1.0])


def test_ER2_an_error_in_a_final_callback_arrives_and_stops_the_later_ones():
    log = []

    def bad():
        raise KeyError("callback")

    def ask(g):
        engine.queue_callback(bad)
        engine.queue_callback(lambda: log.append("later"))
        return g

    with pytest.raises(KeyError, match="callback"):
        run([node("top", [sink()], fn=ask)], [1.0])
    assert log == []


def test_ER3_the_engine_is_usable_after_an_error():
    got = []
    for _ in range(5):
        with pytest.raises(Special):
            run([node("top", [failing(), sink()])], [1.0])
        run([node("top", [sink(store=got)])], [1.0])
    assert got == [1.0] * 5


def test_ER3_the_state_of_the_thread_is_restored_after_a_nested_error():
    seen = []

    def nest(g):
        before = (engine.current_graph_task_id(), engine.current_node())
        with pytest.raises(Special):
            run([failing()], [1.0])
        seen.append(before == (engine.current_graph_task_id(), engine.current_node()))
        return ()

    run([node("outer", [], fn=nest)], [1.0])
    assert seen == [True]
    assert engine.current_graph_task_id() == -1


def test_ER3_the_same_graph_runs_after_an_error_in_it():
    fail, got = [True], []
    end = sink(store=got)

    def sometimes(g):
        if fail[0]:
            raise Special("stop")
        return g

    bad = node("bad", [end], fn=sometimes)
    top = node("top", [bad, end, end])
    with pytest.raises(Special):
        run([top], [1.0], keep_graph=True)
    fail[0] = False
    run([top], [1.0], keep_graph=True)
    assert got == [3.0]


def test_ER4_what_already_happened_stays():
    got, released = [], []
    early = sink(store=got)
    bad = failing(release=lambda: released.append("bad"))
    early_branch = node("early", [early], release=lambda: released.append("early"))
    with pytest.raises(Special):
        run([node("top", [bad, early_branch], release=lambda: released.append("top"))], [5.0])
    assert got == [5.0]
    assert released == ["top", "early"]


def test_ER7_a_failed_run_leaves_nothing_queued():
    log = []
    queued = [node(f"q{i}", [], log=log, fn=lambda g: ()) for i in range(4)]
    with pytest.raises(Special):
        run([node("top", [*queued, failing()])], [1.0])
    assert engine.queued_tasks() == 0
    assert log == []


def test_ER7_gradients_of_queued_and_waiting_nodes_are_dropped():
    meta = BoxOps().meta_on(None)
    alive = []

    def make(g):
        boxes = tuple(Box(float(i)) for i in range(3))
        alive.extend(map(weakref.ref, boxes))
        return boxes

    join = node("join", [], metas=(meta,))
    bad = failing(nexts=[join], metas=(meta,))
    bad_fed = node("queued", [], metas=(meta,))
    top = node("top", [bad_fed, join, bad], fn=make, metas=(meta,))
    with pytest.raises(Special) as info:
        run([top], [Box(1.0)], keep_graph=True)
    del info
    gc.collect()
    assert [ref() for ref in alive] == [None, None, None]
    assert top.next_functions[1][0] is join  # the graph itself is alive


def test_ER7_a_failed_nested_run_leaves_the_outer_runs_tasks():
    log = []

    def nest(g):
        with pytest.raises(Special):
            run([node("inner", [failing(), node("inner queued", [], log=log)])], [1.0])
        return ()

    nester = node("nester", [], fn=nest)
    nester._set_sequence_nr(2**64 - 1)
    others = [node(f"o{i}", [], log=log, fn=lambda g: ()) for i in range(2)]
    run([node("top", [nester, *others])], [1.0])
    assert sorted(n for n in log if n.startswith("o")) == ["o0", "o1"]


def test_ER8_an_interrupt_is_seen_within_a_few_hundred_nodes():
    # Every node below is a C function, so no Python code notices the signal: the engine itself has to look.
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are handled on the main thread only")
    ran = []
    end = sink()
    for _ in range(5000):
        end = PyNode("c", operator.pos, edges=((end, 0),), metas=(None,))
    # `ran.append` is a C function as well: it gives an undefined gradient, with which the rest goes on.
    counted = end
    for _ in range(5000):
        counted = PyNode("count", ran.append, edges=((counted, 0),), metas=(None,))
    interrupt = PyNode("interrupt", _thread.interrupt_main, metas=(None,))
    top = node("top", [interrupt, counted], fn=lambda g: (int(signal.SIGINT), 1), metas=(None,))
    interrupt._set_sequence_nr(2**64 - 1)
    with pytest.raises(KeyboardInterrupt):
        run([top], [1.0])
    assert 0 < len(ran) <= 1000
    assert engine.queued_tasks() == 0


def test_VO1_too_few_gradients_are_an_error():
    top = node("Bad", [sink(), sink()], fn=lambda g: (g,))
    with pytest.raises(
        RuntimeError, match=r"function Bad returned an incorrect number of gradients \(expected 2, got 1\)"
    ):
        run([top], [1.0])


def test_VO1_too_many_gradients_are_an_error():
    top = node("Bad", [sink()], fn=lambda g: (g, g, g))
    with pytest.raises(
        RuntimeError, match=r"function Bad returned an incorrect number of gradients \(expected 1, got 3\)"
    ):
        run([top], [1.0])


def test_VO1_extra_trailing_none_is_dropped():
    got = []
    run([node("top", [sink(store=got)], fn=lambda g: (g, None, None))], [1.0])
    assert got == [1.0]


def test_VO1_extra_none_before_a_gradient_is_an_error():
    with pytest.raises(RuntimeError, match="expected 1, got 3"):
        run([node("top", [sink()], fn=lambda g: (g, None, g))], [1.0])


def test_VO2_an_undefined_gradient_is_always_accepted():
    got = []
    run([node("top", [sink(store=got), sink(store=got)], fn=lambda g: (None, None))], [1.0])
    assert got == [None, None]


def test_VO3_a_gradient_that_cannot_match_names_function_and_index():
    top = node("Bad", [sink(), sink()], fn=lambda g: (g, "text"))
    with pytest.raises(
        RuntimeError, match="Function Bad returned an invalid gradient at index 1 - got str but expected float"
    ):
        run([top], [1.0])


def test_VO3_invalid_gradients_are_runtime_errors_of_their_own_type():
    assert issubclass(InvalidGradient, RuntimeError)
    with pytest.raises(InvalidGradient):
        run([node("Bad", [sink()], fn=lambda g: "text")], [1.0])


def test_VO4_a_gradient_is_cast_to_what_the_target_expects():
    got = []
    run([node("top", [sink(store=got)], fn=lambda g: 3)], [1.0])
    assert type(got[0]) is float


def test_VO4_a_python_function_may_not_give_a_complex_gradient_to_a_real_input():
    with pytest.raises(RuntimeError, match=r"Function Bad returned an invalid gradient at index 0 - got \(1\+2j\)"):
        run([node("Bad", [sink()], fn=lambda g: 1 + 2j)], [1.0])


def test_VO6_root_gradients_get_the_same_checks_without_a_function():
    with pytest.raises(RuntimeError, match=r"^got str but expected float"):
        run([node("top", [])], ["text"])


def test_VO7_a_gradient_for_an_invalid_edge_is_ignored():
    got = []
    run([node("top", [None, sink(store=got)], fn=lambda g: ("anything", g))], [1.0])
    assert got == [1.0]


def test_VO_checks_hold_for_captures_too():
    end = sink()
    assert capture([node("top", [end], fn=lambda g: 3)], [1.0], [end]) == (3.0,)
    with pytest.raises(InvalidGradient):
        capture([node("top", [end], fn=lambda g: "text")], [1.0], [end])


def test_a_gradient_reaches_the_right_slot_after_a_failed_run():
    seen = []
    join = node("join", [], fn=lambda a, b: seen.append((a, b)) or (), metas=(FLOAT, FLOAT))
    bad = failing(nexts=[(join, 1)])
    top = node("top", [(join, 0), bad])
    with pytest.raises(Special):
        run([top], [1.0], keep_graph=True)
    run([node("again", [(join, 1)])], [4.0])
    assert seen == [(None, 4.0)]
