"""The static graph: nodes (ND), edges (ED), topological (TN) and sequence numbers (SQ), input metadata (IM)."""

import copy
import gc
import threading
import weakref

import pytest
from engine_fakes import FLOAT, FLOATS, LAST, BoxOps, DeviceOps, FloatOps, capture, node, run, sink

from arraygrad.engine.arrayops import GradMeta
from arraygrad.engine.node import Edge, Node, PyNode


def test_ND1_a_node_takes_one_gradient_per_input_and_returns_one_per_edge():
    end = sink()
    many = node("many", [end, end, end], fn=lambda a, b: (a, b, a + b), metas=(FLOAT, FLOAT))
    assert len(many.input_metadata) == 2
    assert many(2.0, 3.0) == (2.0, 3.0, 5.0)
    assert len(many.next_functions) == 3


def test_ND2_calling_by_hand_works_outside_backward():
    assert node("double", [sink()], fn=lambda g: 2 * g)(4.0) == 8.0


def test_ND2_one_result_is_unpacked_from_its_tuple():
    assert node("one", [sink()], fn=lambda g: (g,))(4.0) == 4.0


def test_ND2_none_is_allowed_in_each_slot():
    seen = []
    two = node("two", [sink()], fn=lambda a, b: seen.append((a, b)), metas=(FLOAT, FLOAT))
    two(None, 1.0)
    two(1.0, None)
    assert seen == [(None, 1.0), (1.0, None)]


@pytest.mark.parametrize("count", [0, 2, 3])
def test_ND2_a_wrong_count_is_a_type_error(count):
    with pytest.raises(TypeError, match=f"expected 1 arguments, got {count} instead"):
        node("one", [sink()])(*[1.0] * count)


def test_ND2_calling_by_hand_runs_no_hooks_and_no_other_node():
    log = []
    one = node("one", [sink(log=log)])
    one.register_prehook(lambda grads: log.append("pre"))
    one.register_hook(lambda grads, outputs: log.append("post"))
    assert one(1.0) == 1.0
    assert log == []


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_ND3_nodes_cannot_be_copied(copier):
    with pytest.raises(TypeError):
        copier(sink())


def test_ND3_identity_is_the_key():
    a, b = sink("same"), sink("same")
    assert a != b
    assert {a: 1, b: 2}[b] == 2


def test_ND3_the_base_class_cannot_be_instantiated():
    with pytest.raises(TypeError, match="recorded operations"):
        Node()


def test_ND4_next_functions_yields_the_same_node_objects_each_time():
    a, b = sink("a"), node("b", [sink()], metas=(FLOAT, FLOAT))
    top = node("top", [a, (b, 1)])
    assert top.next_functions == ((a, 0), (b, 1))
    assert top.next_functions[1][0] is b


def test_ND6_an_invalid_edge_is_none_and_receives_nothing():
    got = []
    top = node("top", [None, sink(store=got)], fn=lambda g: (10 * g, g))
    assert top.next_functions[0] == (None, 0)
    run([top], [1.0])
    assert got == [1.0]


def test_ND9_saved_values_are_released_right_after_the_node_ran():
    log = []
    last = node("last", [sink()], log=log, release=lambda: log.append("release last"))
    first = node("first", [last], log=log, release=lambda: log.append("release first"))
    run([first], [1.0])
    assert log == ["first", "release first", "last", "release last"]


def test_ND9_a_kept_graph_releases_nothing():
    log = []
    top = node("top", [sink()], release=lambda: log.append("release"))
    run([top], [1.0], keep_graph=True)
    assert log == []


def test_ND9_deleting_a_node_drops_what_it_holds():
    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)
    top = PyNode("top", lambda g, held=held: None, edges=())
    del held
    assert alive() is not None
    del top
    assert alive() is None


def test_ND10_the_constructor_records_the_creating_thread():
    made = []
    worker = threading.Thread(target=lambda: made.append(sink()))
    worker.start()
    worker.join()
    here = sink()
    assert made[0].creating_thread != here.creating_thread
    assert sink().creating_thread == here.creating_thread


def test_ND10_the_constructor_stores_edges_of_every_form():
    end = sink()
    top = PyNode("top", lambda g: None, edges=(Edge(end, 0), (end, 0), None, Edge(None, 0)))
    assert top.next_functions == ((end, 0), (end, 0), (None, 0), (None, 0))


def test_ND11_a_node_has_its_name():
    assert node("MulBackward", []).name() == "MulBackward"
    assert "MulBackward" in repr(node("MulBackward", []))


def test_ND11_metadata_is_a_dict_of_the_node():
    a, b = sink(), sink()
    a.metadata["who"] = "a"
    assert a.metadata == {"who": "a"}
    assert b.metadata == {}


def test_ND11_input_metadata_gives_shape_dtype_and_device():
    meta = GradMeta(FLOATS, (2, 3), float, device="dev1", device_key="dev1")
    got = sink(meta=meta).input_metadata[0]
    assert (got.shape, got.dtype, got.device, got.ndim, got.size) == ((2, 3), float, "dev1", 2, 6)


def test_ND11_metadata_must_be_metadata():
    with pytest.raises(TypeError, match="PyNode metas must be GradMeta or None, but got tuple"):
        PyNode("bad", lambda g: None, metas=((2, 3),))


def test_ED1_an_edge_is_a_node_and_an_input_number():
    end = sink()
    edge = Edge(end, 3)
    assert edge.node is end
    assert edge.input_nr == 3


def test_ED1_an_edge_without_a_node_is_invalid():
    assert not Edge(None, 0)
    assert Edge(sink(), 0)


def test_ED1_equality_and_hash_are_over_both_parts():
    a, b = sink(), sink()
    assert Edge(a, 1) == Edge(a, 1)
    assert hash(Edge(a, 1)) == hash(Edge(a, 1))
    assert Edge(a, 1) != Edge(a, 2)
    assert Edge(a, 1) != Edge(b, 1)
    assert len({Edge(a, 1), Edge(a, 1), Edge(a, 2)}) == 2
    assert Edge(a, 1) != (a, 1)


def test_ED3_edges_into_one_slot_are_summed_before_the_node_runs():
    seen = []
    join = node("join", [], fn=lambda g: seen.append(g) or ())
    run([node("top", [join, join, join], fn=lambda g: (g, 10 * g, 100 * g))], [1.0])
    assert seen == [111.0]


def test_ED3_different_slots_are_kept_apart():
    seen = []
    join = node("join", [], fn=lambda a, b: seen.append((a, b)) or (), metas=(FLOAT, FLOAT))
    run([node("top", [(join, 1), (join, 0), (join, 1)], fn=lambda g: (g, 10 * g, 100 * g))], [1.0])
    assert seen == [(10.0, 101.0)]


def test_ED3_a_slot_without_an_edge_is_undefined():
    seen = []
    join = node("join", [], fn=lambda a, b, c: seen.append((a, b, c)) or (), metas=(FLOAT, FLOAT, FLOAT))
    run([node("top", [(join, 1)])], [1.0])
    assert seen == [(None, 1.0, None)]


def test_ED5_an_edge_keeps_its_graph_alive():
    end = sink()
    alive = weakref.ref(end)
    edge = Edge(node("top", [end]), 0)
    del end
    assert alive() is not None
    del edge
    assert alive() is None


def test_TN1_leaves_have_zero_and_others_the_longest_path():
    a = sink()
    b = node("b", [a])
    c = node("c", [b])
    top = node("top", [a, c, b, None])
    assert [n.topological_nr for n in (a, b, c, top)] == [0, 1, 2, 3]


def test_TN1_invalid_edges_do_not_count():
    assert node("top", [None, None]).topological_nr == 0


def test_TN1_only_the_longest_path_counts_with_more_than_two_edges():
    long = node("3", [node("2", [node("1", [sink()])])])
    assert node("top", [sink(), sink(), long, sink()]).topological_nr == 4


def test_TN2_a_path_implies_a_greater_number():
    nodes = [sink()]
    for i in range(1, 40):
        nodes.append(node(str(i), [nodes[(i * 7) % i], nodes[i // 2]]))
    for n in nodes:
        for child, _ in n.next_functions:
            assert n.topological_nr > child.topological_nr


def test_TN3_a_node_with_a_parent_cannot_change_its_edges():
    inner = node("inner", [sink()])
    node("outer", [inner])
    with pytest.raises(RuntimeError, match="Cannot update a node's topological_nr after it already has a parent"):
        inner.__init__("again", lambda g: g, edges=(Edge(sink(), 0),))


def test_TN4_backward_recomputes_no_topological_number():
    a, b = sink("a"), sink("b")
    top = node("top", [node("mid", [a]), b])
    before = [n.topological_nr for n in (a, b, top)]
    run([top], [1.0])
    assert [n.topological_nr for n in (a, b, top)] == before == [0, 0, 2]


def test_SQ1_numbers_grow_in_order_of_construction():
    numbers = [node(str(i), []).sequence_nr for i in range(50)]
    assert numbers == sorted(set(numbers))


def test_SQ3_the_number_can_be_set():
    n = node("n", [])
    n._set_sequence_nr(LAST)
    assert n.sequence_nr == LAST
    n._set_sequence_nr(7)
    assert n.sequence_nr == 7


def test_SQ4_one_counter_serves_all_threads():
    # Two threads take turns: the numbers follow the order of construction in the whole process.
    made, turns = [], [threading.Semaphore(1), threading.Semaphore(0)]

    def build(me):
        for _ in range(20):
            turns[me].acquire()
            made.append(node("n", []).sequence_nr)
            turns[1 - me].release()

    workers = [threading.Thread(target=build, args=(i,)) for i in (0, 1)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert made == sorted(set(made))
    assert len(made) == 40


def test_SQ4_a_graph_built_by_two_threads_runs_in_order_of_construction():
    order, branches, gate = [], {}, threading.Event()

    def first():
        branches["first"] = node("first", [sink()], log=order)
        gate.set()

    def second():
        gate.wait()
        branches["second"] = node("second", [sink()], log=order)

    workers = [threading.Thread(target=f) for f in (second, first)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    run([node("top", [branches["first"], branches["second"]])], [1.0])
    assert order == ["second", "first"]  # higher number first


def test_IM1_each_input_records_what_its_gradient_must_look_like():
    ops = DeviceOps()
    meta = ops.meta_on("dev1", stream="s1")
    n = node("n", [], metas=(FLOAT, meta))
    assert n.input_metadata == (FLOAT, meta)
    assert n.input_metadata[1].stream == "s1"


def test_IM1_an_input_that_is_no_tensor_is_a_placeholder():
    assert node("n", [], metas=(FLOAT, None)).input_metadata == (FLOAT, None)


def test_IM2_the_device_is_the_first_input_that_is_not_on_the_host():
    ops = BoxOps()
    host, one, two = ops.meta_on(None), ops.meta_on("dev1"), ops.meta_on("dev2")
    assert node("n", [], metas=(host, None, two, one)).device == "dev2"
    assert node("n", [], metas=(one,)).device == "dev1"


def test_IM2_without_a_device_input_the_device_is_the_host():
    assert node("n", [], metas=(FLOAT, None)).device is None
    assert node("n", [], metas=(None,)).device is None
    assert node("n", [], metas=()).device is None


def test_IM3_a_node_runs_on_the_stream_of_its_first_device_input():
    ops = DeviceOps()
    seen = []
    n = node(
        "n",
        [],
        fn=lambda a, b: seen.append(ops.runtime.current()) or (),
        metas=(ops.meta_on(None), ops.meta_on("dev1", stream="forward stream")),
    )
    run([node("top", [n], metas=(ops.meta_on(None),), fn=lambda g: None)], [None])
    assert seen == [("dev1", "forward stream")]


def test_nodes_are_weakly_referenceable_and_collectable():
    class Ops(FloatOps):
        pass

    n = node("n", [sink()])
    n.metadata["self"] = n  # a cycle
    alive = weakref.ref(n)
    del n
    gc.collect()
    assert alive() is None


def test_the_engine_runs_without_any_metadata():
    got = []
    end = sink(store=got, meta=None)
    assert run([node("top", [end], metas=(None,))], ["anything"]) == ()
    assert got == ["anything"]
    assert capture([node("top", [end], metas=(None,))], ["any"], [end]) == ("any",)
