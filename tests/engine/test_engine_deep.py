"""Deep graphs (DG) of Python nodes: built, run, partly run and freed without recursion."""

import random
import weakref

import pytest
from engine_fakes import capture, chain, node, run, sink

DEPTH = 150_000


def test_DG1_a_deep_chain_of_python_nodes_runs():
    got = []
    run([chain(DEPTH, sink(store=got))], [1.0])
    assert got == [1.0]


def test_DG1_a_deep_chain_is_freed():
    end = sink()
    alive = weakref.ref(end)
    top = chain(DEPTH, end)
    del end
    assert top.topological_nr == DEPTH
    del top
    assert alive() is None


def test_DG1_a_deep_chain_is_freed_after_it_ran():
    end = sink()
    alive = weakref.ref(end)
    top = chain(DEPTH, end)
    del end
    run([top], [1.0])
    del top
    assert alive() is None


def test_DG1_a_deep_chain_that_ran_in_part_is_freed():
    end = sink()
    alive = weakref.ref(end)
    middle = chain(DEPTH // 2, end)
    top = chain(DEPTH // 2, middle)
    del end
    assert capture([top], [1.0], [middle]) == (1.0,)
    del top, middle
    assert alive() is None


def test_DG1_a_deep_chain_that_failed_half_way_is_freed():
    def fail(g):
        raise ValueError("stop")

    end = sink()
    alive = weakref.ref(end)
    top = chain(DEPTH // 2, node("bad", [chain(DEPTH // 2, end)], fn=fail))
    del end
    with pytest.raises(ValueError, match="stop") as info:
        run([top], [1.0])
    del info, top
    assert alive() is None


@pytest.mark.parametrize("edges", [2, 3, 5])
def test_DG1_a_complicated_deep_graph_runs_and_is_freed(edges):
    # Every node leads to several of the last ones, some of them twice.
    rng = random.Random(11)
    first = sink()
    alive = weakref.ref(first)
    last = [first] * 6
    del first
    for i in range(DEPTH // 3):
        nexts = [last[-1], *(rng.choice(last) for _ in range(edges - 1))]
        made = node("n", nexts, fn=(lambda g, edges=edges: (g,) + (None,) * (edges - 1)) if i % 2 else None)
        last = [*last[1:], made]
    top = last[-1]
    del last, nexts, made
    run([top], [0.0])
    del top
    assert alive() is None


def test_DG1_a_wide_graph_runs_and_is_freed():
    got = []
    end = sink(store=got)
    alive = weakref.ref(end)
    top = node("top", [node("n", [end]) for _ in range(20_000)])
    del end
    run([top], [1.0])
    assert got == [20_000.0]
    del top
    assert alive() is None


def test_DG2_dependencies_and_needed_nodes_are_found_without_recursion():
    end = sink()
    top = chain(DEPTH, end)
    assert capture([top], [1.0], [end], keep_graph=True) == (1.0,)
    assert capture([top], [1.0], [sink("elsewhere")], keep_graph=True) == (None,)


def test_DG2_next_functions_can_be_walked():
    n, steps = chain(1000, sink()), 0
    while n.next_functions:
        n = n.next_functions[0][0]
        steps += 1
    assert steps == 1000


def test_DG3_many_deep_graphs_one_after_another_leave_nothing():
    alive = []
    for _ in range(5):
        end = sink()
        alive.append(weakref.ref(end))
        top = chain(DEPTH // 5, end)
        del end
        del top
    assert [ref() for ref in alive] == [None] * 5
