"""The memory of nodes: what weighs little, what is freed when, and what the garbage collector sees of it."""

import gc
import sys
import weakref

import numpy as np
import pytest

import arraygrad as ag

DEPTH = 50_000


def node_of(operation):
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    return operation(x).grad_fn


@pytest.mark.parametrize("operation", [lambda x: x + 1.0, lambda x: x - x, lambda x: -x], ids=["add", "sub", "neg"])
def test_a_node_that_keeps_nothing_is_shorter_than_one_that_does(operation):
    bare, whole = node_of(operation), node_of(lambda x: x * x)
    assert type(bare).__basicsize__ <= type(whole).__basicsize__ - 48
    assert isinstance(bare, type(whole))


def test_a_node_that_keeps_nothing_shows_nothing():
    node = node_of(lambda x: x + 1.0)
    assert node.saved == {}
    assert node.name() == "AddBackward"
    assert node.op_name == "add"
    ag.autograd.graph.summary(node)


def test_a_node_that_keeps_nothing_runs_again():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = (x + x - 3.0).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 4.0])


def test_nodes_cannot_be_made_by_their_class():
    cls = type(node_of(lambda x: x + 1.0))
    with pytest.raises(TypeError, match="is made by arraygrad's own functions"):
        cls.__new__(cls)


def test_blocks_that_are_used_again_begin_empty():
    for _ in range(3):
        nodes = [node_of(lambda x: x + 1.0) for _ in range(600)]
        nodes[0].metadata["mine"] = 1
        nodes[0].register_hook(lambda *args: None)
        del nodes
    for operation in (lambda x: x + 1.0, lambda x: x * x):
        node = node_of(operation)
        assert node.metadata == {}
        assert node.topological_nr == 1
        assert node.next_functions[0][0] is not None


def test_the_collector_sees_what_a_bare_node_holds():
    node = node_of(lambda x: x + 1.0)
    assert node.next_functions[0][0] in gc.get_referents(node)
    node.metadata["me"] = node
    alive = weakref.ref(node)
    del node
    assert alive() is not None
    gc.collect()
    assert alive() is None


def test_a_weak_reference_to_a_node_deep_in_a_graph_is_called_back():
    x = ag.tensor(1.0, requires_grad=True)
    y, found, called = x, [], []
    for k in range(DEPTH):
        y = y + 1.0
        if k % 10_000 == 0:
            found.append(weakref.ref(y.grad_fn, called.append))
    del y
    assert called == found[::-1]


def test_a_graph_that_a_finaliser_drops_while_another_is_freed_is_freed_too():
    class Holder:
        def __init__(self, held):
            self.held = held

        def __del__(self):
            self.held = None

    def chain(held):
        x = ag.tensor(1.0, requires_grad=True)
        y = x
        for k in range(DEPTH):
            y = y + 1.0
            if k == DEPTH // 2:
                y.grad_fn.metadata["held"] = Holder(held)
        return y

    inner = chain(None)
    alive = weakref.ref(inner.grad_fn)
    outer = chain(inner)
    del inner
    assert alive() is not None
    del outer
    assert alive() is None


def test_the_count_of_none_is_kept():
    def count():
        gc.collect()
        return sys.getrefcount(None)

    def work():
        x = ag.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(20_000):
            y = y + 1.0
            y = y * 1.0
        y.backward()

    work()
    before = count()
    work()
    assert abs(count() - before) < 1000


class Collections:
    """How often the collector ran within the block, its counts at zero at the start."""

    def __enter__(self):
        gc.collect()
        self.count = 0
        gc.callbacks.append(self.note)
        return self

    def __exit__(self, *error):
        gc.callbacks.remove(self.note)

    def note(self, phase, info):
        self.count += phase == "start"


def graph(n):
    x = ag.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(n):
        y = y * 1.0 + 1.0
    return x, y


ordinary = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="kept under the GIL")


@ordinary
def test_a_graph_that_is_made_and_freed_again_does_not_call_the_collector():
    graph(5_000)
    with Collections() as seen:
        for _ in range(3):
            graph(5_000)
    assert seen.count <= 1


@ordinary
def test_graphs_that_only_the_collector_frees_call_it():
    with Collections() as seen:
        for _ in range(40):
            x, y = graph(2_000)
            y.grad_fn.metadata["me"] = y
            del x, y
    assert seen.count > 3
