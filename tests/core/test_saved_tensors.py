"""What nodes keep of the forward (SV1-SV6, SV16): default copies what is overwritten, "error" is torch's behaviour."""

import gc
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag

TWICE = "Trying to backward through the graph a second time"


def test_SV1_an_input_overwritten_in_place_keeps_its_saved_value():
    w = leaf([1.0, 2.0])
    c = ag.tensor([3.0, 4.0])
    y = w * c
    c += 100.0
    y.sum().backward()
    same(w.grad, [3.0, 4.0])
    same(c, [103.0, 104.0])


def test_SV1_a_result_overwritten_in_place_keeps_its_saved_value():
    x = leaf([0.0, 1.0])
    y = ag.exp(x)
    y += 5.0
    (y * 1.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.0, 1.0]))


def test_SV1_overwriting_an_element_keeps_the_saved_value():
    w = leaf([1.0, 2.0])
    c = ag.tensor([3.0, 4.0])
    y = w * c
    c[0] = 50.0
    y.sum().backward()
    same(w.grad, [3.0, 4.0])


def test_SV1_overwriting_through_a_view_keeps_the_saved_value():
    w = leaf([1.0, 2.0])
    c = ag.tensor([3.0, 4.0])
    y = w * c
    v = c[:1]
    v *= 0.0
    y.sum().backward()
    same(w.grad, [3.0, 4.0])
    same(c, [0.0, 4.0])


def test_SV1_overwriting_the_base_keeps_a_saved_view():
    w = leaf([1.0])
    c = ag.tensor([3.0, 4.0])
    y = w * c[:1]
    c *= 0.0
    y.sum().backward()
    same(w.grad, [3.0])


def test_SV1_overwriting_twice_keeps_each_saved_value():
    w = leaf([1.0, 2.0])
    c = ag.tensor([3.0, 4.0])
    a = w * c
    c *= 10.0
    b = w * c
    c *= 10.0
    (a + b).sum().backward()
    same(w.grad, [33.0, 44.0])
    same(c, [300.0, 400.0])


def test_SV1_overwriting_what_nobody_saved_copies_nothing():
    c = ag.tensor([3.0, 4.0])
    before = c.array
    c += 1.0
    assert c.array is before


def test_SV1_the_users_own_array_is_still_the_one_written():
    a = np.array([3.0, 4.0])
    c = ag.asarray(a)
    y = leaf([1.0, 2.0]) * c
    c += 1.0
    assert c.array is a
    same(a, [4.0, 5.0])
    assert y.grad_fn is not None


@pytest.mark.usefixtures("refuse_overwriting")
@pytest.mark.parametrize(
    "overwrite",
    [
        lambda c: c.__iadd__(1.0),
        lambda c: c.__setitem__(0, 1.0),
        lambda c: c[:1].__imul__(2.0),
        lambda c: c.detach().__iadd__(1.0),
    ],
    ids=["iadd", "setitem", "view", "detached"],
)
def test_SV1_in_error_mode_backward_names_versions(overwrite):
    w = leaf([[1.0, 2.0, 3.0]])
    c = ag.tensor([[3.0, 4.0, 5.0]])
    y = w * c
    overwrite(c)
    with pytest.raises(
        RuntimeError,
        match=r"one of the variables needed for gradient computation has been modified by an inplace operation: "
        r"\[.*float64.*\(1, 3\)\].* is at version 1; expected version 0 instead\. Hint: ",
    ):
        y.sum().backward()


@pytest.mark.usefixtures("refuse_overwriting")
def test_SV1_in_error_mode_a_saved_result_names_its_node():
    y = ag.exp(leaf([[1.0, 2.0]]))
    y += 1.0
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: .*Exp.* is at version 1; expected"):
        y.sum().backward()


@pytest.mark.usefixtures("refuse_overwriting")
def test_SV1_in_error_mode_reading_the_saved_value_raises_too():
    y = ag.exp(leaf([1.0, 2.0]))
    y += 1.0
    node = y.grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _ = node.saved["ans"]


@pytest.mark.usefixtures("refuse_overwriting")
def test_SV1_in_error_mode_overwriting_what_is_not_needed_is_fine():
    x = leaf([1.0, 2.0])
    y = x + 1.0
    y *= 2.0
    y.sum().backward()
    same(x.grad, [2.0, 2.0])


@pytest.mark.usefixtures("refuse_overwriting")
def test_SV1_in_error_mode_a_value_saved_after_the_write_is_good():
    w = leaf([1.0, 2.0])
    c = ag.tensor([3.0, 4.0])
    c += 1.0
    (w * c).sum().backward()
    same(w.grad, [4.0, 5.0])


def test_SV1_the_mode_is_checked_and_returned():
    assert ag.set_saved_mutation("error") == "copy"
    assert ag.set_saved_mutation("copy") == "error"
    with pytest.raises(ValueError, match="expected 'copy' or 'error', but got 'maybe'"):
        ag.set_saved_mutation("maybe")


def test_SV2_an_input_is_saved_as_the_same_object():
    x, c = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    assert ag.sin(x).grad_fn.saved["x"] is x
    assert (x * c).grad_fn.saved["x2"] is c


def test_SV2_a_saved_result_equals_it_and_has_its_node():
    y = ag.exp(leaf([1.0, 2.0]))
    saved = y.grad_fn.saved["ans"]
    same(saved, y.array)
    assert saved.grad_fn is y.grad_fn
    assert saved.requires_grad


def test_SV2_a_saved_result_makes_no_cycle():
    gc.collect()
    gc.disable()
    try:
        y = ag.exp(leaf([1.0, 2.0]))
        node, array = weakref.ref(y.grad_fn), weakref.ref(y.array)
        del y
        assert node() is None
        assert array() is None
    finally:
        gc.enable()


def test_SV2_a_saved_input_outlives_its_tensor():
    x = leaf([1.0, 2.0])
    c = x * 3.0
    y = ag.sin(c)
    del c
    saved = y.grad_fn.saved["x"]
    same(saved, [3.0, 6.0])
    assert saved.grad_fn is y.grad_fn.next_functions[0][0]


def test_SV2_reading_saved_values_changes_nothing():
    x = leaf([1.0, 2.0])
    y = ag.exp(x)
    for _ in range(3):
        assert set(y.grad_fn.saved) == {"ans"}
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]))


def test_SV3_a_saved_result_shares_the_version_counter():
    y = ag.exp(leaf([1.0, 2.0]))
    saved = y.grad_fn.saved["ans"]
    assert saved.version == y.version == 0


def test_SV4_a_second_backward_is_refused():
    y = ag.exp(leaf([1.0, 2.0])).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=TWICE) as info:
        y.backward()
    assert str(info.value).startswith(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward."
    )


def test_SV4_a_second_grad_is_refused():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    ag.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match=TWICE):
        ag.autograd.grad(y, x)


def test_SV4_saved_values_cannot_be_read_after_they_were_freed():
    y = ag.exp(leaf([1.0, 2.0]))
    y.sum().backward()
    with pytest.raises(RuntimeError, match=TWICE):
        _ = y.grad_fn.saved["ans"]


def test_SV4_the_part_that_was_not_run_can_still_run():
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    a, b = ag.exp(x), ag.exp(w)
    ag.autograd.grad((a + b).sum(), x)
    b.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.exp([1.0, 2.0]))
    with pytest.raises(RuntimeError, match=TWICE):
        a.sum().backward()


def test_SV4_retain_graph_allows_any_number_of_runs():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    same(x.grad, [6.0, 12.0])


def test_SV4_create_graph_keeps_the_graph():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    ag.autograd.grad(y, x, create_graph=True)
    y.backward()
    same(x.grad, [2.0, 4.0])


def test_SV4_the_value_itself_stays_after_the_graph_was_freed():
    y = ag.exp(leaf([0.0]))
    y.sum().backward()
    same(y, [1.0])


@pytest.mark.parametrize(
    "operation",
    [lambda x: x + x, lambda x: x - 1.0, lambda x: -x, lambda x: x.sum(), lambda x: x.reshape((2, 1)), lambda x: x[0]],
    ids=["add", "subtract", "negative", "sum", "reshape", "getitem"],
)
def test_SV5_what_saves_nothing_runs_again_without_retain_graph(operation):
    x = leaf([1.0, 2.0])
    y = operation(x)
    for _ in range(2):
        y.backward(ag.tensor(np.ones(y.shape)))
    assert x.grad is not None


def test_SV5_a_constant_factor_is_no_saved_tensor_of_the_graph():
    # The node keeps a Python scalar: that is freed like everything else, so a second run is refused as in torch.
    x = leaf([1.0, 2.0])
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match=TWICE):
        y.sum().backward()


def test_SV6_what_is_not_needed_reads_back_as_none():
    x, c = leaf([1.0]), ag.tensor([2.0])
    assert (c * x).grad_fn.saved["x2"] is None
    assert (c * x).grad_fn.saved["x1"] is c


def test_SV6_an_optional_parameter_that_was_not_given_reads_back_as_none():
    x = leaf([1.0, 2.0])
    saved = x.sum().grad_fn.saved
    assert all(value is None or not isinstance(value, ag.Tensor) for value in saved.values())


def test_SV16_saved_values_are_released_one_node_at_a_time():
    x = leaf([0.1, 0.2])
    alive, nodes, y = [], [], x
    for _ in range(4):
        y = ag.exp(y)
        alive.append(weakref.ref(y.array))
        nodes.append(y.grad_fn)
    seen = []
    for n in nodes:
        n.register_prehook(lambda grads: seen.append(sum(ref() is not None for ref in alive)))
    top = y.sum()
    del y
    top.backward()
    assert seen == [4, 3, 2, 1]
    assert [ref() for ref in alive] == [None] * 4


def test_SV_the_saved_mapping_is_read_only():
    y = ag.exp(leaf([1.0]))
    saved = y.grad_fn.saved
    try:
        saved["ans"] = 3.0
    except TypeError:
        pass
    same(y.grad_fn.saved["ans"], y.array)
