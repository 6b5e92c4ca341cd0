"""Attributes of the user's own on a Tensor, and the way from a view to its base."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.core.tensor import Tensor


class Marker:
    pass


def test_any_name_can_be_put_on_a_tensor():
    t = leaf([1.0, 2.0])
    t.main_grad = ag.zeros(2)
    t.name = "weights"
    assert t.name == "weights"
    assert t.main_grad.shape == (2,)
    assert vars(t) == {"main_grad": t.main_grad, "name": "weights"}
    assert {"name", "main_grad"} <= set(dir(t))
    del t.name
    assert not hasattr(t, "name")
    with pytest.raises(AttributeError, match="no attribute 'name'"):
        del t.name
    with pytest.raises(AttributeError, match="no attribute 'name'"):
        t.name  # noqa: B018


def test_attributes_belong_to_one_tensor():
    t = leaf([1.0, 2.0])
    t.name = "t"
    for other in (leaf([1.0, 2.0]), t.detach(), t[0:1], t.copy(), t + 1, t.reshape(2, 1)):
        assert not hasattr(other, "name")
        assert vars(other) == {}


def test_attributes_stay_through_in_place_writes_and_backward():
    t = leaf([1.0, 2.0]) * 1.0
    t.name = "t"
    y = t
    y *= 3.0
    y[0] = 5.0
    y.sum().backward()
    assert y is t
    assert t.name == "t"


def test_properties_come_before_attributes_and_attributes_before_methods():
    t = leaf([1.0, 2.0])
    vars(t)["shape"] = "mine"
    assert t.shape == (2,)
    t.sum = "mine"
    assert t.sum == "mine"
    assert ag.sum(t).item() == 3.0
    assert leaf([1.0]).sum().shape == ()
    del t.sum
    assert t.sum().shape == ()


@pytest.mark.parametrize("name", ["shape", "dtype", "T", "grad_fn", "is_leaf", "strides", "base", "_base"])
def test_properties_without_a_setter_are_refused_as_before(name):
    t = leaf([1.0, 2.0])
    with pytest.raises(AttributeError):
        setattr(t, name, 1)
    assert vars(t) == {}


@pytest.mark.parametrize(("name", "way"), [("data", r"t\[...\]"), ("_grad", "set t.grad"), ("names", "no names")])
def test_names_whose_assignment_means_something_elsewhere_are_refused(name, way):
    t = leaf([1.0, 2.0])
    with pytest.raises(AttributeError, match=f"Tensor.{name} can't be set: .*{way}"):
        setattr(t, name, ag.zeros(2))


def test_properties_with_a_setter_still_check_what_they_get():
    t = leaf([1.0, 2.0])
    t.requires_grad = False
    t.grad = None
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor"):
        t.grad = 3
    with pytest.raises(AttributeError, match="not writable"):
        t.__class__ = int
    assert vars(t) == {}


def test_the_dict_can_be_replaced():
    t = leaf([1.0])
    t.__dict__ = {"a": 1}
    assert t.a == 1
    with pytest.raises(TypeError, match="__dict__ must be set to a dictionary, not a 'int'"):
        t.__dict__ = 3
    del t.__dict__
    assert vars(t) == {}
    assert not hasattr(t, "a")


def test_deepcopy_copies_the_attributes_and_knows_cycles():
    t = leaf([1.0, 2.0])
    t.list, t.me = [1], t
    other = copy.deepcopy(t)
    assert other.list == [1]
    assert other.list is not t.list
    assert other.me is other


@pytest.mark.parametrize("make", [lambda: leaf([1.0, 2.0]), lambda: leaf([1.0, 2.0]) * 2], ids=["leaf", "result"])
def test_copy_shares_the_attributes(make):
    t = make()
    t.list = [1]
    other = copy.copy(t)
    assert other.list is t.list
    assert vars(other) is not vars(t)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_the_attributes(protocol):
    t = leaf([1.0, 2.0])
    t.name, t.list = "t", [1]
    other = pickle.loads(pickle.dumps(t, protocol))
    assert vars(other) == {"name": "t", "list": [1]}
    assert other.requires_grad
    same(other, [1.0, 2.0])
    assert vars(pickle.loads(pickle.dumps(leaf([1.0]), protocol))) == {}


def test_cycles_through_attributes_are_collected():
    t = leaf([1.0, 2.0])
    t.marker, t.me, t.result = Marker(), t, t * 2
    gone = weakref.ref(t.marker)
    del t
    gc.collect()
    assert gone() is None


def test_a_long_chain_of_attributes_is_freed():
    t = leaf([1.0])
    for _ in range(100_000):
        t, previous = ag.asarray(np.ones(1)), t
        t.previous = previous
    del t, previous


def test_a_tensor_without_attributes_is_no_larger_and_keeps_the_ordinary_look_up():
    # In a process of its own: the look-up is replaced when the first attribute is set.
    code = """
import sys, ctypes
import arraygrad as ag
def look_up(cls):       # tp_getattro, the 18th slot after the object's head and its size
    words = ctypes.cast(id(cls), ctypes.POINTER(ctypes.c_void_p))
    return words[sys.getsizeof(object()) // 8 + 1 + 15]
t = ag.tensor([1.0], requires_grad=True)
t.requires_grad = False
t.grad = None
ag.exp(t).sum()
assert look_up(ag.Tensor) == look_up(object), "replaced too early"
t.name = 1
assert look_up(ag.Tensor) != look_up(object)
assert t.name == 1
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert Tensor.__dictoffset__ == 0


def test_a_view_knows_its_base():
    t = leaf([1.0, 2.0, 3.0, 4.0])
    v = t[0:2]
    w = v.reshape(2, 1)
    assert v.base is t
    assert w.base is t
    assert w._base is t
    assert t[1:][0:1].T.base is t
    assert v._is_view()
    assert w._is_view()
    assert t.base is None
    assert t._base is None
    assert not t._is_view()
    for other in (t.detach(), t + 1, t.copy(), t[[0, 1]]):
        assert other._base is None
        assert not other._is_view()


def test_a_view_of_a_constant_or_without_recording_knows_its_base():
    t = ag.tensor([1.0, 2.0, 3.0, 4.0])
    assert t[1:].base is t
    assert not t[1:].requires_grad
    x = leaf([1.0, 2.0])
    with ag.no_grad():
        v = x[0:1]
    assert v.base is x
    d = x.detach()
    assert d[0:1].base is d


def test_what_is_no_view_has_the_raw_arrays_base():
    raw = np.arange(4.0)
    assert ag.asarray(raw).base is None
    assert ag.asarray(raw[1:]).base is raw
    assert ag.asarray(raw[1:])._base is None


def test_numpy_tells_whether_tensors_share_memory():
    t = leaf([1.0, 2.0, 3.0, 4.0])
    for f in (np.shares_memory, np.may_share_memory):
        assert f(t, t[1:])
        assert f(t[0:3], t[2:4])
        assert f(t, t.array)
        assert f(t.detach(), t)
        assert not f(t[0:2], t[2:4])
        assert not f(t, t + 1)
        assert not f(t, np.ones(4))
