"""One execution: graph tasks (GT), dependencies (CD), exec info (EI), evaluation (EV), order (SQ2)."""

import gc
import random
import time
import weakref

import pytest
from engine_fakes import FLOAT, LAST, Box, BoxOps, capture, chain, node, run, sink

from arraygrad.engine import engine
from arraygrad.engine.engine import current_graph_task, current_graph_task_id, current_node
from arraygrad.engine.graph_task import current_graph_task_execution_order, current_graph_task_keep_graph


def tree(log):
    """o -> (a -> leaf, b -> leaf2), recorded in the order a, b, o; all log their names."""
    leaf, leaf2 = sink("leaf", log=log), sink("leaf2", log=log)
    a = node("a", [leaf], log=log)
    b = node("b", [leaf2], log=log)
    return node("o", [a, b], log=log), {"a": a, "b": b, "leaf": leaf, "leaf2": leaf2}


def test_SQ2_higher_sequence_numbers_run_first_and_leaves_at_once():
    log = []
    o, _ = tree(log)
    run([o], [1.0])
    assert log == ["o", "b", "leaf2", "a", "leaf"]


def test_SQ2_the_number_and_not_the_edge_order_decides():
    log = []
    o, n = tree(log)
    n["a"]._set_sequence_nr(LAST - 1)
    run([o], [1.0])
    assert log == ["o", "a", "leaf", "b", "leaf2"]


def test_GT1_ids_are_unique_and_increasing_and_minus_one_outside():
    ids = []
    top = node("top", [sink()], fn=lambda g: ids.append(current_graph_task_id()))
    for _ in range(3):
        run([top], [1.0], keep_graph=True)
    assert ids == sorted(set(ids))
    assert len(ids) == 3
    assert ids[0] > 0
    assert current_graph_task_id() == -1


def test_GT1_the_task_holds_the_modes_of_its_call():
    seen = []

    def look(g):
        task = current_graph_task()
        seen.append((task.keep_graph, task.create_graph, task.depth, task.exec_info_empty))

    end = sink()
    top = node("top", [end], fn=look)
    run([top], [1.0], keep_graph=True)
    run([top], [1.0])
    capture([top], [1.0], [end])
    assert seen == [(True, False, 0, True), (False, False, 0, True), (False, False, 0, False)]


def test_GT1_a_nested_run_is_one_deeper():
    depths = []
    inner = node("inner", [], fn=lambda g: depths.append(current_graph_task().depth) or ())

    def nest(g):
        depths.append(current_graph_task().depth)
        run([inner], [1.0])
        depths.append(current_graph_task().depth)
        return ()

    run([node("outer", [], fn=nest)], [1.0])
    assert depths == [0, 1, 0]


def test_GT2_the_running_node_is_outstanding_and_after_the_last_one_nothing_is():
    tasks, counts = [], []

    def look(g):
        tasks.append(current_graph_task())
        counts.append(tasks[-1].outstanding_tasks)
        return ()

    ends = [node(str(i), [], fn=look) for i in range(3)]
    run([node("top", ends)], [1.0])
    assert counts == [3, 2, 1]
    assert tasks[0].outstanding_tasks == 0


def test_GT3_final_callbacks_run_once_after_all_nodes():
    log = []

    def ask(g):
        engine.queue_callback(lambda: log.append("callback"))
        return g

    run([node("top", [node("mid", [sink("end", log=log)], log=log)], fn=ask)], [1.0])
    assert log == ["mid", "end", "callback"]


def test_GT3_a_callback_sees_its_graph_task():
    ids = []

    def ask(g):
        ids.append(current_graph_task_id())
        engine.queue_callback(lambda: ids.append(current_graph_task_id()))
        return ()

    run([node("top", [], fn=ask)], [1.0])
    assert ids[0] == ids[1] > 0


def test_GT4_the_result_is_delivered_once_complete():
    end = sink()
    mid = node("mid", [end], fn=lambda g: 2 * g)
    top = node("top", [mid, mid, end])
    assert capture([top], [1.0], [end, mid, top]) == (5.0, 2.0, 1.0)


def test_GT5_the_current_node_is_available_to_running_code():
    seen = []
    end = node("end", [], fn=lambda g: seen.append(current_node()) or ())
    top = node("top", [end], fn=lambda g: seen.append(current_node()) or g)
    run([top], [1.0])
    assert seen == [top, end]
    assert current_node() is None
    assert current_graph_task() is None


def test_GT5_hooks_see_the_node_they_belong_to():
    seen = []
    top = node("top", [sink()])
    top.register_prehook(lambda grads: seen.append(current_node()))
    top.register_hook(lambda grads, outputs: seen.append(current_node()))
    run([top], [1.0])
    assert seen == [top, top]


def test_GT5_the_current_node_is_restored_after_a_nested_run():
    seen = []
    inner = node("inner", [], fn=lambda g: seen.append(current_node().name()) or ())

    def nest(g):
        run([inner], [1.0])
        seen.append(current_node().name())
        return ()

    run([node("outer", [], fn=nest)], [1.0])
    assert seen == ["inner", "outer"]


def test_GT7_will_execute_says_what_this_run_will_run():
    o, n = tree([])
    n["elsewhere"] = sink("elsewhere")
    seen = []

    def look(outputs):
        seen.append([name for name, x in n.items() if engine.will_execute(x)])

    o.register_prehook(look)
    run([o], [1.0], keep_graph=True)
    run([o], [1.0], keep_graph=True, inputs=[n["leaf"]])
    capture([o], [1.0], [n["leaf"]])
    assert seen == [["a", "b", "leaf", "leaf2"], ["a", "leaf"], ["a"]]


def test_GT7_will_execute_needs_a_running_backward():
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        engine.will_execute(sink())


def order_seen(top):
    """A list that the order predicted while `top` runs is put into, as names."""
    seen = []
    top.register_prehook(lambda outputs: seen.extend(n.name() for n in current_graph_task_execution_order()))
    return seen


def random_graph(seed, log):
    """A root over a random graph of 30 nodes and 5 leaves, and all of them; each logs its name when it runs."""
    chance = random.Random(seed)
    nodes = [sink(f"leaf{i}", log=log) for i in range(5)]
    for i in range(30):
        nodes.append(node(f"n{i}", chance.sample(nodes[-12:], chance.randint(1, 4)), log=log))
        if chance.random() < 0.2:
            nodes[-1]._set_sequence_nr(LAST - chance.randint(0, 3))
    return nodes[-1], nodes


@pytest.mark.parametrize("seed", range(20))
def test_GT6_the_predicted_order_is_the_one_that_runs(seed):
    log = []
    top, nodes = random_graph(seed, log)
    seen = order_seen(top)
    run([top], [1.0], keep_graph=True)
    assert seen == log
    assert len(set(log)) == len(log)
    del seen[:], log[:]
    run([top], [1.0], keep_graph=True, inputs=[nodes[seed % 5]])
    assert seen == log


def test_GT6_it_is_the_whole_runs_whenever_it_is_asked_for():
    log = []
    o, n = tree(log)
    seen = [order_seen(o), order_seen(n["a"])]
    run([o], [1.0])
    assert seen == [log, log] == [["o", "b", "leaf2", "a", "leaf"]] * 2


def test_GT6_several_roots():
    log = []
    leaf = sink("leaf", log=log)
    a, b, c = (node(name, [leaf], log=log) for name in "abc")
    seen = order_seen(c)
    run([a, c, b], [1.0, 1.0, 1.0])
    assert seen == log == ["c", "b", "a", "leaf"]


def test_GT6_what_is_only_captured_is_there_and_nothing_behind_it():
    o, n = tree([])
    seen = order_seen(o)
    capture([o], [1.0], [n["a"]])
    assert seen == ["o", "a"]


def test_GT6_a_run_inside_of_a_run_has_an_order_of_its_own():
    log = []
    inner, _ = tree(log)
    seen = order_seen(inner)
    outer = node("outer", [sink("end")], fn=lambda g: (run([inner], [1.0]) and None) or (g,))
    outside = order_seen(outer)
    run([outer], [1.0])
    assert seen == log
    assert outside == ["outer", "end"]


def test_GT6_two_runs_in_one_graph():
    log = []
    o, n = tree(log)
    seen = order_seen(n["leaf"])
    started = []

    def again(outputs):
        if not started:
            started.append(True)
            run([o], [1.0], keep_graph=True)

    n["b"].register_prehook(again)
    run([o], [1.0], keep_graph=True)
    assert seen == ["o", "b", "leaf2", "a", "leaf"] * 2


def test_GT6_only_within_a_backward_of_one_thread():
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        current_graph_task_execution_order()
    top = node("top", [sink()])
    seen = order_seen(top)
    previous = engine.set_cpu_workers(1)
    try:
        with pytest.raises(RuntimeError, match="expects the current backward to be executed with multithreading disab"):
            run([top], [1.0], keep_graph=True)
        was = engine.set_multithreading(False)
        try:
            run([top], [1.0])
        finally:
            engine.set_multithreading(was)
    finally:
        engine.set_cpu_workers(previous)
    assert seen == ["top", "sink"]


def test_GT5_a_run_says_whether_it_keeps_its_graph():
    seen = []
    top = node("top", [sink()], fn=lambda g: seen.append(current_graph_task_keep_graph()) or (g,))
    run([top], [1.0], keep_graph=True)
    run([top], [1.0])
    assert seen == [True, False]
    assert current_graph_task_keep_graph() is True


def test_GT5_a_task_that_is_over_holds_no_graph():
    kept = []
    marker = type("Marker", (), {})()
    top = node("top", [sink()], fn=lambda g, marker=marker: kept.append(current_graph_task()) or (g,))
    gone = weakref.ref(marker)
    run([top], [1.0])
    del top, marker
    gc.collect()
    assert gone() is None
    assert len(kept) == 1


@pytest.mark.parametrize("edges", [1, 2, 3, 70])
def test_CD1_every_edge_is_counted(edges):
    seen = []
    join = node("join", [], fn=lambda g: seen.append(g) or ())
    run([node("top", [join] * edges)], [1.0])
    assert seen == [float(edges)]


def test_CD1_edges_from_every_reachable_node_are_counted():
    seen = []
    join = node("join", [], fn=lambda g: seen.append(g) or ())
    a = node("a", [join])
    b = node("b", [a, join])
    run([node("top", [b, a, join])], [1.0])
    assert seen == [4.0]


def test_CD1_a_kept_graph_is_counted_anew_each_time():
    seen = []
    join = node("join", [], fn=lambda g: seen.append(g) or ())
    top = node("top", [join, join])
    for _ in range(3):
        run([top], [1.0], keep_graph=True)
    assert seen == [2.0, 2.0, 2.0]


def test_CD1_nodes_above_the_root_do_not_count():
    seen = []
    join = node("join", [], fn=lambda g: seen.append(g) or ())
    mid = node("mid", [join])
    above = node("above", [mid, join])
    run([mid], [1.0])
    assert seen == [1.0]
    assert above.next_functions[0][0] is mid


def test_CD2_nothing_below_the_lowest_input_is_looked_at():
    # The part below is 5 000 times as long as the part above: if it were walked it would show.
    def seconds(below):
        mid = node("mid", [chain(below, sink())])
        top = chain(10, mid)

        def once():
            start = time.perf_counter()
            capture([top], [1.0], [mid], keep_graph=True)
            return time.perf_counter() - start

        return min(once() for _ in range(7))

    assert seconds(50_000) < 20 * seconds(1)


def test_CD2_a_branch_below_the_lowest_input_still_delivers_to_higher_ones():
    end = sink()
    low = node("low", [end])
    high = node("high", [node("between", [low])])
    top = node("top", [low, high])
    assert capture([top], [1.0], [high, low]) == (1.0, 2.0)


def test_CD3_an_edge_that_was_not_counted_is_an_error():
    # A node that is initialised again while it is being run has edges that nobody counted.
    other = sink("other")

    def rewrite(g):
        top.__init__("top", rewrite, edges=((other, 0),), metas=(FLOAT,))
        return (g,)

    top = node("top", [], fn=rewrite)
    with pytest.raises(RuntimeError, match="dependency not found for other"):
        run([top], [1.0])


def test_CD4_undefined_results_still_count_down():
    seen = []
    join = node("join", [], fn=lambda a, b: seen.append((a, b)) or (), metas=(FLOAT, FLOAT))
    run([node("top", [(join, 0), (join, 1), (join, 0)], fn=lambda g: (g, None, None))], [1.0])
    assert seen == [(1.0, None)]


def test_EI1_a_plain_backward_runs_everything_reachable():
    log = []
    o, _ = tree(log)
    run([o], [1.0])
    assert sorted(log) == ["a", "b", "leaf", "leaf2", "o"]


def test_EI2_only_nodes_with_a_needed_node_below_run():
    log = []
    o, n = tree(log)
    assert capture([o], [3.0], [n["leaf2"]]) == (3.0,)
    assert log == ["o", "b"]


def test_EI2_a_captured_node_runs_if_something_below_is_needed():
    log = []
    o, n = tree(log)
    assert capture([o], [3.0], [n["a"], n["leaf"]]) == (3.0, 3.0)
    assert log == ["o", "a"]


def test_EI2_the_same_input_twice_gives_two_results():
    o, n = tree([])
    assert capture([o], [3.0], [n["leaf"], n["leaf"]]) == (3.0, 3.0)


def test_EI2_each_slot_of_a_node_is_an_input_of_its_own():
    join = node("join", [], metas=(FLOAT, FLOAT))
    top = node("top", [(join, 0), (join, 1)], fn=lambda g: (g, 10 * g))
    assert capture([top], [1.0], [(join, 1), (join, 0)]) == (10.0, 1.0)


def test_EI2_an_undefined_gradient_is_captured_as_none():
    end = sink()
    assert capture([node("top", [end], fn=lambda g: None)], [1.0], [end]) == (None,)


def test_EI2_an_input_that_is_not_reached_is_none():
    assert capture([node("top", [sink()])], [1.0], [sink("elsewhere")]) == (None,)


def test_EI3_backward_runs_an_input_node_and_grad_does_not():
    for accumulate_grad, expected in ((True, ["o", "a"]), (False, ["o"])):
        log = []
        o, n = tree(log)
        run([o], [1.0], accumulate_grad=accumulate_grad, inputs=[n["a"]])
        assert log == expected


def test_EI3_backward_with_inputs_returns_nothing_captured():
    o, n = tree([])
    assert run([o], [1.0], inputs=[n["leaf"]]) in ((), (None,))


def test_EI4_two_inputs_on_one_path_are_both_found():
    end = sink()
    low = node("low", [end], fn=lambda g: 3 * g)
    high = node("high", [low], fn=lambda g: 5 * g)
    assert capture([node("top", [high], fn=lambda g: 7 * g)], [1.0], [low, high, end]) == (35.0, 7.0, 105.0)


def test_EI4_a_need_found_by_a_longer_path_reaches_every_node_on_it():
    end, other = sink(), sink("other")
    shared = node("shared", [other, end])
    left, right = node("left", [shared]), node("right", [shared, other])
    assert capture([node("top", [other, left, right])], [1.0], [end]) == (2.0,)


def test_EI4_finding_the_needed_nodes_does_not_recurse():
    end = sink()
    assert capture([chain(100_000, end)], [1.0], [end]) == (1.0,)


def test_EI6_branches_that_are_not_needed_are_neither_run_nor_freed():
    freed, log = [], []
    leaf, leaf2 = sink("leaf"), sink("leaf2")
    a = node("a", [leaf], log=log, release=lambda: freed.append("a"))
    b = node("b", [leaf2], log=log, release=lambda: freed.append("b"))
    capture([node("o", [a, b])], [1.0], [leaf2])
    assert log == freed == ["b"]


def test_EI7_captures_are_taken_before_node_prehooks():
    end = sink()
    mid = node("mid", [end])
    mid.register_prehook(lambda grads: (7 * grads[0],))
    assert capture([node("top", [mid])], [1.0], [mid, end]) == (1.0, 7.0)


def test_EI7_prehooks_of_a_captured_node_that_does_not_run_are_not_called():
    log = []
    mid = node("mid", [sink()])
    mid.register_prehook(lambda grads: log.append("pre"))
    assert capture([node("top", [mid])], [1.0], [mid]) == (1.0,)
    assert log == []


def test_EV1_a_node_is_released_before_its_gradients_are_handed_on():
    log = []
    meta = BoxOps().meta_on(None)

    class Watch(BoxOps):
        def add(self, a, b):
            log.append("add")
            return super().add(a, b)

    join = node("join", [], fn=lambda g: (), metas=(Watch().meta_on(None),))
    top = node("top", [join, join], metas=(meta,), release=lambda: log.append("release"))
    run([top], [Box(1.0)])
    assert log == ["release", "add"]


def test_EV2_targets_that_are_not_needed_get_no_gradient():
    ops = BoxOps()
    meta = ops.meta_on(None)
    unwanted, wanted = sink("unwanted", meta=meta), sink("wanted", meta=meta)
    top = node("top", [unwanted, unwanted, wanted], metas=(meta,))
    g = Box(1.0)
    assert capture([top], [g], [wanted]) == (g,)
    assert ops.calls == []


def test_EV2_a_complete_target_is_queued_for_its_turn():
    # The second edge completes `low` while `high`, recorded later, is still waiting: high goes first.
    log = []
    low = node("low", [], log=log, fn=lambda g: ())
    high = node("high", [], log=log, fn=lambda g: ())
    run([node("top", [low, high])], [1.0])
    assert log == ["high", "low"]


def test_EV3_a_node_runs_once_per_run_after_all_its_edges_delivered():
    seen = []
    bottom = node("bottom", [], fn=lambda g: seen.append(g) or ())
    layer = bottom
    for _ in range(10):  # a ladder of diamonds: 2**10 paths
        layer = node("top", [node("left", [layer]), node("right", [layer])])
    run([layer], [1.0])
    assert seen == [1024.0]


def test_EV3_a_node_that_is_reached_early_waits_for_a_late_edge():
    log = []
    join = node("join", [], log=log, fn=lambda g: ())
    late = chain(20, node("late", [join], log=log))
    run([node("top", [join, late])], [1.0])
    assert log == ["late", "join"]


def test_two_nested_runs_over_one_graph_keep_their_own_counts():
    got = []
    join = node("join", [], fn=lambda g: got.append(g) or ())
    inner = node("inner", [join, join])

    def nest(g):
        run([inner], [1.0], keep_graph=True)
        return g, g

    run([node("outer", [inner, join], fn=nest)], [10.0], keep_graph=True)
    assert got == [2.0, 30.0]
