"""Bad input of every kind: what is refused, with which error, and that the message says what to do."""

import operator

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag


def test_an_object_array_is_refused():
    with pytest.raises(TypeError, match="object"):
        ag.asarray(np.array([1.0, None, "x"], dtype=object))
    with pytest.raises(TypeError, match="object"):
        ag.tensor(np.array([{}, []], dtype=object))


def test_a_ragged_list_is_refused():
    with pytest.raises((ValueError, TypeError), match=r"inhomogeneous|ragged|shape"):
        ag.tensor([[1.0, 2.0], [3.0]])


NO_ARRAYS = {"str": "text", "strs": ["a", "b"], "dict": {"a": 1}, "None": None, "object": object()}


@pytest.mark.parametrize("data", NO_ARRAYS.values(), ids=NO_ARRAYS.keys())
def test_what_is_no_array_is_refused(data):
    with pytest.raises((TypeError, ValueError)):
        ag.tensor(data)


def test_masked_arrays_and_matrices_are_refused_with_a_way_out():
    with pytest.raises(TypeError, match="filled"):
        ag.asarray(np.ma.masked_array([1.0, 2.0], mask=[True, False]))
    with pytest.raises(TypeError, match="asarray"):
        ag.asarray(np.ones((2, 2)).view(np.matrix))


def test_two_backends_in_one_operation_are_refused_and_both_named():
    strict = pytest.importorskip("array_api_strict")
    x, s = leaf([1.0, 2.0]), ag.asarray(strict.ones((2,)))
    for operation in (operator.add, operator.mul, operator.matmul, ag.atan2, lambda a, b: ag.concat([a, b])):
        with pytest.raises(TypeError, match=r"numpy.*array_api_strict|array_api_strict.*numpy"):
            operation(x, s)
    with pytest.raises(TypeError, match=r"numpy.*array_api_strict|array_api_strict.*numpy"):
        _ = x + strict.ones((2,))


def test_writing_a_value_of_another_backend_is_refused():
    strict = pytest.importorskip("array_api_strict")
    t = ag.tensor([1.0, 2.0])
    with pytest.raises(TypeError):
        t[0] = ag.asarray(strict.asarray(1.0))
    same(t, [1.0, 2.0])


@pytest.mark.parametrize("other", ["text", ["a", None], object(), {}], ids=["str", "list", "object", "dict"])
def test_operands_that_are_no_arrays_are_refused(other):
    x = leaf([1.0, 2.0])
    for operation in (operator.add, operator.mul, operator.truediv, operator.matmul):
        with pytest.raises(TypeError):
            operation(x, other)
        with pytest.raises(TypeError):
            operation(other, x)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match="broadcast"):
        _ = leaf([1.0, 2.0]) + leaf([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "convert",
    [np.asarray, np.array, lambda t: np.asarray(t, dtype=np.float64), memoryview, np.from_dlpack],
    ids=["asarray", "array", "asarray dtype", "memoryview", "from_dlpack"],
)
def test_implicit_conversion_of_a_tensor_that_requires_grad_is_refused(convert):
    with pytest.raises(TypeError):
        convert(leaf([1.0, 2.0]))
    with pytest.raises(TypeError):
        convert(leaf([1.0, 2.0]) * 2.0)


def test_the_refusal_names_the_ways_out():
    with pytest.raises(TypeError, match=r"detach") as info:
        np.asarray(leaf([1.0, 2.0]))
    assert "numpy()" in str(info.value)


def test_implicit_conversion_of_a_constant_works():
    t = ag.tensor([1.0, 2.0])
    same(np.asarray(t), [1.0, 2.0])
    same(np.asarray(leaf([1.0, 2.0]).detach()), [1.0, 2.0])


def test_explicit_conversion_always_works():
    y = leaf([1.0, 2.0]) * 2.0
    same(y.numpy(), [2.0, 4.0])
    assert y.tolist() == [2.0, 4.0]
    assert y.sum().item() == 6.0


def test_writing_into_the_converted_array_cannot_reach_a_leaf_silently():
    x = leaf([1.0, 2.0])
    assert isinstance(x.detach(), ag.Tensor)
    assert not x.detach().requires_grad


@pytest.mark.parametrize(
    ("convert", "expected"),
    [(float, 2.0), (int, 2), (bool, True), (complex, 2 + 0j)],
    ids=["float", "int", "bool", "complex"],
)
@ag.number_policy("off")
def test_python_conversions_give_the_value_of_one_element(convert, expected):
    for t in (leaf(2.0), leaf([2.0]), leaf([[2.0]]), leaf(1.0) * 2.0):
        got = convert(t)
        assert got == expected
        assert type(got) is type(expected)


@pytest.mark.parametrize("convert", [float, int, bool, complex], ids=["float", "int", "bool", "complex"])
@pytest.mark.parametrize("data", [[1.0, 2.0], []], ids=["two", "none"])
def test_python_conversions_refuse_other_sizes(convert, data):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        convert(leaf(np.array(data)))


def test_an_integer_tensor_is_an_index_and_others_are_not():
    assert [10, 20, 30][ag.tensor(1)] == 20
    assert list(range(ag.tensor(3))) == [0, 1, 2]
    with pytest.raises(TypeError):
        _ = [10, 20][leaf(1.0)]
    with pytest.raises(TypeError):
        operator.index(ag.tensor([1, 2]))


def test_a_number_is_looked_for_among_the_elements():
    t = leaf([1.0, 2.0]) * 2.0
    assert 4.0 in t
    assert 3.0 not in t


def test_a_complex_tensor_is_no_float():
    with pytest.raises(TypeError):
        float(leaf(np.array(1.0 + 2.0j)))


def test_item_needs_one_element():
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        leaf([1.0, 2.0]).item()


def test_a_0d_tensor_has_no_length_and_no_elements():
    with pytest.raises(TypeError, match="0-d"):
        len(leaf(1.0))
    with pytest.raises(TypeError, match="0-d"):
        iter(leaf(1.0))


def test_length_and_iteration_go_over_the_first_axis_and_are_recorded():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    first, second = x
    (first * 2.0 + second * 3.0).sum().backward()
    same(x.grad, [[2.0, 2.0], [3.0, 3.0]])


def test_iteration_ends():
    assert [float(t) for t in ag.tensor([1.0, 2.0, 3.0])] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("key", [5, -3, (0, 0), "a", 1.5], ids=["too high", "too low", "too many", "str", "float"])
def test_bad_indices_are_refused(key):
    x = leaf([1.0, 2.0])
    with pytest.raises((IndexError, TypeError)):
        _ = x[key]
    t = ag.tensor([1.0, 2.0])
    with pytest.raises((IndexError, TypeError, ValueError)):
        t[key] = 1.0
    same(t, [1.0, 2.0])
    assert t.version == 0


def test_an_index_that_requires_grad_is_refused():
    with pytest.raises((TypeError, IndexError)):
        _ = leaf([1.0, 2.0])[leaf(1.0)]


def test_unknown_attributes_that_are_read_and_unknown_arguments_are_refused():
    x = leaf([1.0])
    with pytest.raises(AttributeError):
        _ = x.no_such_thing
    with pytest.raises(AttributeError):
        x.shape = (1, 1)
    with pytest.raises(TypeError):
        ag.exp(x, x)
    with pytest.raises(TypeError):
        ag.exp()
    with pytest.raises(TypeError):
        ag.sum(x, no_such_argument=1)


def test_an_axis_that_does_not_exist_is_refused():
    with pytest.raises((IndexError, ValueError)):
        leaf([1.0, 2.0]).sum(axis=3)


def test_a_tensor_cannot_be_made_by_its_class():
    with pytest.raises(TypeError, match=r"asarray|tensor"):
        ag.Tensor([1.0])


def test_hooks_must_be_callable():
    with pytest.raises(TypeError):
        leaf([1.0]).register_hook(3)


def test_a_failed_operation_leaves_the_graph_alone():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    node = y.grad_fn
    with pytest.raises(ValueError, match="broadcast"):
        _ = y + leaf([1.0, 2.0, 3.0])
    assert y.grad_fn is node
    y.sum().backward()
    same(x.grad, [2.0, 2.0])


def test_nan_and_inf_pass_through():
    x = leaf([np.nan, np.inf, -np.inf])
    (x * 2.0).sum().backward()
    same(x.grad, [2.0, 2.0, 2.0])


def test_empty_tensors_work():
    x = leaf(np.ones((0, 3)))
    (x * 2.0).sum().backward()
    assert x.grad.shape == (0, 3)
