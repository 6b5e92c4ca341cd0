"""Version counters and in-place operations (VC1-VC4)."""

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag

IN_PLACE = {
    "iadd": lambda t: t.__iadd__(1.0),
    "isub": lambda t: t.__isub__(1.0),
    "imul": lambda t: t.__imul__(2.0),
    "itruediv": lambda t: t.__itruediv__(2.0),
    "ipow": lambda t: t.__ipow__(2.0),
    "setitem": lambda t: t.__setitem__(0, 5.0),
    "setitem all": lambda t: t.__setitem__(..., 5.0),
}


@pytest.fixture(params=IN_PLACE.values(), ids=IN_PLACE.keys())
def write(request):
    return request.param


def test_VC1_an_inplace_operation_bumps_by_one(write):
    t = ag.tensor([1.0, 2.0])
    assert t.version == 0
    write(t)
    assert t.version == 1
    write(t)
    assert t.version == 2


def test_VC1_operations_that_write_nothing_do_not_bump():
    t = ag.tensor([1.0, 2.0])
    _ = t + 1.0, t[0], t.sum(), ag.exp(t), t.reshape((2, 1))
    assert t.version == 0


def test_VC1_base_and_views_share_one_counter(write):
    t = ag.tensor([1.0, 2.0, 3.0])
    v = t[:2]
    w = v[:1]
    write(v)
    assert (t.version, v.version, w.version) == (1, 1, 1)
    write(t)
    assert (t.version, v.version, w.version) == (2, 2, 2)


def test_VC1_a_view_made_after_a_write_has_the_bases_version():
    t = ag.tensor([1.0, 2.0])
    t += 1.0
    assert t[:1].version == 1


def test_VC1_detach_shares_the_counter():
    t = ag.tensor([1.0, 2.0])
    d = t.detach()
    d += 1.0
    assert (t.version, d.version) == (1, 1)
    t += 1.0
    assert (t.version, d.version) == (2, 2)


def test_VC1_detach_shares_the_memory():
    t = ag.tensor([1.0, 2.0])
    t.detach()[0] = 9.0
    same(t, [9.0, 2.0])


def test_VC1_copies_have_a_counter_of_their_own():
    t = ag.tensor([1.0, 2.0])
    c = t.copy()
    c += 1.0
    assert (t.version, c.version) == (0, 1)
    same(t, [1.0, 2.0])


def test_VC1_new_results_have_a_counter_of_their_own():
    t = ag.tensor([1.0, 2.0])
    y = t * 2.0
    y += 1.0
    assert (t.version, y.version) == (0, 1)


def test_VC2_writes_under_no_grad_bump_too(write):
    x = leaf([1.0, 2.0])
    with ag.no_grad():
        write(x)
    assert x.version == 1
    assert x.is_leaf
    assert x.requires_grad


def test_VC2_a_write_under_no_grad_leaves_the_history_alone():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    node = y.grad_fn
    with ag.no_grad():
        y += 1.0
    assert y.grad_fn is node
    y.sum().backward()
    same(x.grad, [2.0, 2.0])


def test_VC3_a_leaf_that_requires_grad_cannot_be_written(write):
    x = leaf([1.0, 2.0])
    with pytest.raises(
        RuntimeError, match=r"(a view of )?a leaf Variable that requires grad is being used in an in-place operation"
    ):
        write(x)
    same(x, [1.0, 2.0])
    assert x.version == 0


def test_VC3_a_view_of_a_leaf_cannot_be_written(write):
    x = leaf([1.0, 2.0])
    v = x[:2]
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
    ):
        write(v)
    same(x, [1.0, 2.0])


def test_VC3_a_leaf_can_be_written_under_no_grad():
    x = leaf([1.0, 2.0])
    with ag.no_grad():
        x -= 0.5
    same(x, [0.5, 1.5])
    (x * x).sum().backward()
    same(x.grad, [1.0, 3.0])


def test_VC3_a_leaf_that_does_not_require_grad_can_be_written(write):
    write(ag.tensor([1.0, 2.0]))


def test_VC4_writing_a_value_that_requires_grad_makes_the_target_require_it():
    t, y = ag.tensor([0.0, 0.0, 0.0]), leaf(7.0)
    t[0] = y
    assert t.requires_grad
    assert not t.is_leaf
    (t * ag.tensor([2.0, 3.0, 4.0])).sum().backward()
    same(y.grad, 2.0)


def test_VC4_adding_a_value_that_requires_grad_moves_the_target_into_the_graph():
    t, y = ag.tensor([1.0, 2.0]), leaf([3.0, 4.0])
    t += y
    assert t.requires_grad
    assert t.grad_fn is not None
    (t * t).sum().backward()
    same(y.grad, [8.0, 12.0])


def test_VC4_writing_through_a_view_moves_the_base_into_the_graph():
    t, y = ag.tensor([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    v = t[1:]
    v *= y
    assert t.requires_grad
    t.sum().backward()
    same(y.grad, [2.0, 3.0])
    same(t.detach(), [1.0, 20.0, 60.0])


def test_VC4_under_no_grad_nothing_is_recorded():
    t, y = ag.tensor([0.0, 0.0]), leaf(7.0)
    with ag.no_grad():
        t[0] = y
    assert not t.requires_grad
    same(t, [7.0, 0.0])


def test_VC4_what_was_overwritten_gets_no_gradient():
    x, y = leaf([1.0, 2.0]), leaf(7.0)
    t = x * 1.0
    t[0] = y
    t.sum().backward()
    same(x.grad, [0.0, 1.0])
    same(y.grad, 1.0)


def test_VC4_an_integer_target_refuses_a_value_that_requires_grad():
    t = ag.tensor(np.array([1, 2]))
    with pytest.raises(TypeError):
        t[0] = leaf(7.0)
    same(t, [1, 2])


def test_VC4_inplace_arithmetic_returns_the_same_object():
    t = ag.tensor([1.0, 2.0])
    before = t
    t += 1.0
    assert t is before


def test_VC4_an_inplace_result_of_another_shape_is_refused():
    t = ag.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        t += ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    same(t, [1.0, 2.0])


def test_VC4_an_inplace_result_of_another_kind_is_refused():
    t = ag.tensor([1, 2])
    with pytest.raises(TypeError, match="dtype"):
        t += 0.5
    same(t, [1, 2])


def test_VC5_increment_version_takes_a_tensor_or_several():
    t, u = ag.tensor([1.0]), ag.tensor([2.0])
    ag.autograd.graph.increment_version(t)
    ag.autograd.graph.increment_version([t, u])
    assert (t.version, u.version) == (2, 1)
    with pytest.raises(TypeError, match="float"):
        ag.autograd.graph.increment_version([1.0])


@pytest.mark.usefixtures("refuse_overwriting")
def test_VC5_a_bumped_value_that_was_saved_is_refused():
    w, c = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    y = w * c
    c.array[0] = 100.0  # behind the graph's back
    ag.autograd.graph.increment_version(c)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
