"""deepcopy, copy, pickle, weak references, what is freed when (CP1-CP5)."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import graph

# backward(create_graph=True) warns once in a process (EX4); which test comes first does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:Using backward.* with create_graph=True:UserWarning")


@pytest.fixture
def no_collector():
    """Nothing is freed by the collector while the test runs."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_CP1_deepcopy_copies_a_leaf_with_its_flags_and_gradient():
    x = leaf(np.array([1.0, 2.0], dtype=np.float32))
    (x * 3.0).sum().backward()
    c = copy.deepcopy(x)
    assert c is not x
    assert c.requires_grad
    assert c.is_leaf
    same(c, [1.0, 2.0], dtype=np.float32)
    same(c.grad, [3.0, 3.0], dtype=np.float32)
    assert not np.shares_memory(c.array, x.array)
    assert not np.shares_memory(c.grad.array, x.grad.array)


def test_CP1_deepcopy_of_a_leaf_without_gradient():
    assert copy.deepcopy(leaf([1.0])).grad is None
    assert not copy.deepcopy(ag.tensor([1.0])).requires_grad


def test_CP1_deepcopy_refuses_results():
    with pytest.raises(
        RuntimeError,
        match=r"Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol",
    ):
        copy.deepcopy(leaf([1.0]) * 2.0)


def test_CP1_deepcopy_respects_the_memo():
    x = leaf([1.0])
    a, b = copy.deepcopy([x, x])
    assert a is b
    c = copy.deepcopy({"x": x, "list": [x]})
    assert c["x"] is c["list"][0]


def test_CP1_a_deep_copy_is_a_leaf_of_its_own():
    x = leaf([1.0])
    c = copy.deepcopy(x)
    (c * 2.0).backward()
    assert x.grad is None
    same(c.grad, [2.0])


def test_CP1_hooks_are_not_copied():
    log = []
    x = leaf([1.0])
    x.register_hook(lambda g: log.append("hook"))
    (copy.deepcopy(x) * 2.0).backward()
    assert log == []


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_CP2_pickle_keeps_values_and_flags_and_drops_the_gradient(protocol):
    x = leaf(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    x.sum().backward()
    c = pickle.loads(pickle.dumps(x, protocol=protocol))
    same(c, x.array, dtype=np.float32)
    assert c.requires_grad
    assert c.is_leaf
    assert c.grad is None
    assert not pickle.loads(pickle.dumps(ag.tensor([1]), protocol=protocol)).requires_grad


def test_CP2_a_result_unpickles_as_a_leaf():
    y = leaf([1.0, 2.0]) * 2.0
    with pytest.warns(UserWarning, match="its values go along and its history does not"):
        c = pickle.loads(pickle.dumps(y))
    assert c.requires_grad
    assert c.is_leaf
    same(c, [2.0, 4.0])


def test_CP2_one_tensor_in_a_pickle_twice_stays_one():
    x = leaf([1.0])
    a, b = pickle.loads(pickle.dumps([x, x]))
    assert a is b


def test_CP3_tensors_and_nodes_are_weakly_referenceable(no_collector):
    x = leaf([1.0])
    y = x * 2.0
    t, n = weakref.ref(y), weakref.ref(y.grad_fn)
    a = weakref.ref(graph.get_gradient_edge(x).node)
    assert t() is y
    assert n() is y.grad_fn
    del y
    assert t() is None
    assert n() is None
    assert a() is None


def test_CP3_nodes_and_tensors_may_be_keys():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    table = {x: "x", y: "y", y.grad_fn: "node"}
    assert table[x] == "x"
    assert table[y.grad_fn] == "node"
    assert len(table) == 3


def test_CP4_a_cycle_of_leaf_gradient_and_graph_is_collected():
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    assert x.grad.requires_grad
    alive = [weakref.ref(x), weakref.ref(x.grad), weakref.ref(x.grad.grad_fn), weakref.ref(x.grad.array)]
    del x
    gc.collect()
    assert [ref() for ref in alive] == [None] * 4


def test_CP4_a_cycle_over_several_leaves_is_collected():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x * w * x).sum().backward(create_graph=True)
    alive = [weakref.ref(t) for t in (x, w, x.grad, w.grad)]
    del x, w
    gc.collect()
    assert [ref() for ref in alive] == [None] * 4


def test_CP4_a_cycle_through_node_metadata_is_collected():
    y = leaf([1.0]) * 2.0
    y.grad_fn.metadata["tensor"] = y
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None


def test_CP4_a_cycle_through_a_post_accumulate_hook_is_collected():
    x = leaf([1.0])
    x.register_post_accumulate_grad_hook(lambda t, x=x: None)
    (x * 2.0).backward()
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_CP4_what_was_collected_in_part_of_a_cycle_leaves_the_rest_usable():
    x = leaf(2.0)
    (x * x).backward(create_graph=True)
    g = x.grad
    gc.collect()
    (h,) = ag.autograd.grad(g, x)
    same(h, 2.0)


def test_CP5_freeing_the_result_frees_the_graph_at_once(no_collector):
    x = leaf([1.0, 2.0])
    a = ag.exp(x)
    b = ag.sin(a)
    out = (a * b).sum()
    refs = [weakref.ref(t.grad_fn) for t in (a, b, out)] + [weakref.ref(a.array), weakref.ref(b.array)]
    del a, b
    assert all(ref() is not None for ref in refs)
    del out
    assert [ref() for ref in refs] == [None] * 5


def test_CP5_the_graph_is_freed_at_once_after_backward(no_collector):
    x = leaf([1.0, 2.0])
    out = (ag.exp(x) * x).sum()
    node = weakref.ref(out.grad_fn)
    out.backward()
    del out
    assert node() is None


def test_CP5_a_leaf_is_freed_at_once(no_collector):
    x = leaf([1.0, 2.0])
    (x * 2.0).sum().backward()
    alive, g = weakref.ref(x), weakref.ref(x.grad)
    del x
    assert alive() is None
    assert g() is None


def test_CP5_grad_leaves_no_cycle(no_collector):
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    (g,) = ag.autograd.grad(y, x, create_graph=True)
    refs = [weakref.ref(y.grad_fn), weakref.ref(g.grad_fn), weakref.ref(g)]
    del y, g
    assert [ref() for ref in refs] == [None] * 3
