"""Every argument error of backward(), grad() and Tensor (AR1-AR21), with its text; and that it changes nothing."""

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import backward, grad

COMPLEX = np.array([1.0 + 2.0j, 3.0])


def test_AR1_a_tensor_that_does_not_require_grad():
    with pytest.raises(RuntimeError, match=r"^element 0 of tensors does not require grad and does not have a grad_fn"):
        ag.tensor(1.0).backward()
    with pytest.raises(RuntimeError, match=r"^element 0 of tensors does not require grad and does not have a grad_fn"):
        grad(ag.tensor(1.0), leaf(1.0))


def test_AR1_the_element_is_named():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"^element 1 of tensors does not require grad and does not have a grad_fn"):
        backward([x * 2.0, ag.tensor(1.0)])
    assert x.grad is None


def test_AR1_an_integer_tensor():
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        backward(ag.tensor(1))


def test_AR2_more_than_one_element_needs_a_gradient():
    with pytest.raises(RuntimeError, match=r"^grad can be implicitly created only for scalar outputs"):
        (leaf([1.0, 2.0]) * 2.0).backward()
    with pytest.raises(RuntimeError, match=r"^grad can be implicitly created only for scalar outputs"):
        grad(leaf([1.0, 2.0]) * 2.0, leaf(1.0))


def test_AR2_an_empty_tensor_needs_a_gradient():
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (leaf(np.ones((0,))) * 2.0).backward()


def test_AR3_a_complex_scalar_needs_a_gradient():
    with pytest.raises(
        RuntimeError, match=r"^grad can be implicitly created only for real scalar outputs but got complex128"
    ):
        leaf(COMPLEX).sum().backward()


def test_AR4_the_gradient_has_another_shape():
    y = leaf(np.ones((2, 2))) * 2.0
    with pytest.raises(RuntimeError) as info:
        y.backward(ag.tensor(np.ones(3)))
    assert str(info.value).startswith(
        "Mismatch in shape: grad_output[0] has a shape of (3,) and output[0] has a shape of (2, 2). "
    )
    assert "arraygrad.full_like(t, 1.0)" in str(info.value)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 2), (1, 2, 2), (2, 2, 1)])
def test_AR4_a_gradient_is_never_broadcast(shape):
    x = leaf(np.ones((2, 2)))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2.0).backward(ag.tensor(np.ones(shape)))
    assert x.grad is None


def test_AR4_the_second_pair_is_named():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"grad_output\[1\] has a shape of \(3,\) and output\[1\] has a"):
        grad([x * 2.0, x * 3.0], x, [np.ones(2), np.ones(3)])


def test_AR5_a_real_gradient_for_a_complex_output():
    with pytest.raises(RuntimeError) as info:
        (leaf(COMPLEX) * 2.0).backward(ag.tensor([1.0, 1.0]))
    assert str(info.value) == (
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[0] has a dtype of float64 and output[0] has a dtype of complex128."
    )


def test_AR5_a_complex_gradient_for_a_real_output():
    with pytest.raises(RuntimeError, match=r"^For complex Tensors, both grad_output and output are required to"):
        (leaf([1.0, 2.0]) * 2.0).backward(ag.tensor(COMPLEX))


def test_AR6_a_gradient_that_is_no_array():
    with pytest.raises(TypeError, match=r"^gradients can be either Tensors or None, but got float"):
        backward([leaf(1.0) * 2.0], [1.0])
    with pytest.raises(TypeError, match=r"^gradients can be either Tensors or None, but got str"):
        backward([leaf(1.0) * 2.0], ["1"])


def test_AR6_a_bare_float():
    with pytest.raises(TypeError, match="float"):
        backward(leaf(1.0) * 2.0, 2.0)
    with pytest.raises(TypeError, match="float"):
        (leaf(1.0) * 2.0).backward(2.0)


def test_AR7_the_counts_differ():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"^got 2 tensors and 1 gradients$"):
        backward([x * 2.0, x * 3.0], [ag.tensor(1.0)])
    with pytest.raises(RuntimeError, match=r"^got 2 tensors and 1 gradients$"):
        grad([x * 2.0, x * 3.0], x, [ag.tensor(1.0)])


@pytest.mark.parametrize("empty", [[], (), {}], ids=["list", "tuple", "dict"])
def test_AR8_no_inputs(empty):
    with pytest.raises(RuntimeError) as info:
        (leaf(1.0) * 2.0).backward(inputs=empty)
    assert str(info.value) == "`inputs` argument to `backward()` cannot be empty."
    with pytest.raises(RuntimeError) as info:
        grad(leaf(1.0) * 2.0, empty)
    assert str(info.value) == "`inputs` argument to `grad()` cannot be empty."


def test_AR9_an_input_that_does_not_require_grad():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"^One of the differentiated Tensors does not require grad"):
        grad(x * 2.0, [x, ag.tensor(1.0)])
    with pytest.raises(RuntimeError, match=r"^can't retain_grad on Tensor that has requires_grad=False"):
        (x * 2.0).backward(inputs=[x, ag.tensor(1.0)])
    assert x.grad is None


def test_AR10_an_unused_input_is_named_by_its_index():
    x, unused = leaf(1.0), leaf(1.0)
    for inputs, i in (([unused], 0), ([x, unused], 1)):
        with pytest.raises(RuntimeError) as info:
            grad(x * 2.0, inputs)
        assert str(info.value) == (
            f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )


def test_AR10_a_copy_is_not_the_tensor_itself():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad((x * 2.0).sum(), x[:1])


def test_AR11_allow_unused_contradicts_materialize_grads():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="materialize_grads") as info:
        grad(x * 2.0, x, allow_unused=False, materialize_grads=True)
    assert str(info.value) == (
        "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
    )


@pytest.mark.parametrize("bad", [1.0, "x", None], ids=["float", "str", "None"])
def test_AR12_an_input_that_is_no_tensor(bad):
    with pytest.raises(
        RuntimeError, match=f"^all inputs have to be Tensors or GradientEdges, but got {type(bad).__name__}"
    ):
        grad(leaf(1.0) * 2.0, [bad])
    with pytest.raises(
        RuntimeError, match=f"^all inputs have to be Tensors or GradientEdges, but got {type(bad).__name__}"
    ):
        (leaf(1.0) * 2.0).backward(inputs=[bad])


def test_AR12_a_raw_array_is_no_input():
    a = np.array([1.0, 2.0])
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got ndarray"):
        grad((leaf([1.0, 2.0]) * a).sum(), [a])


def test_AR13_none_for_an_output_of_several_elements():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"only for scalar outputs|gradients tuple is None"):
        backward([x * 2.0], [None])


def test_AR13_none_for_a_scalar_output_means_one():
    x = leaf([1.0, 2.0])
    backward([(x * 2.0).sum(), x * 3.0], [None, ag.tensor([1.0, 10.0])])
    same(x.grad, [5.0, 32.0])


def test_AR14_a_second_backward():
    y = ag.exp(leaf(1.0))
    y.backward()
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        y.backward()


INTEGERS = [1, [1, 2], True, np.array([1, 2], dtype=np.uint8)]


@pytest.mark.parametrize("data", INTEGERS, ids=["int", "list", "bool", "uint8"])
def test_AR15_integers_cannot_require_grad(data):
    for make in (ag.tensor, ag.asarray):
        with pytest.raises(
            RuntimeError, match=r"^Only Tensors of floating point and complex dtype can require gradients"
        ):
            make(data, requires_grad=True)
    t = ag.tensor(data)
    with pytest.raises(RuntimeError, match=r"^[oO]nly Tensors of floating point.* dtype can require gradients"):
        t.requires_grad_()
    with pytest.raises(RuntimeError, match=r"^[oO]nly Tensors of floating point.* dtype can require gradients"):
        t.requires_grad = True
    assert not t.requires_grad


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_AR15_floating_point_and_complex_can(dtype):
    assert ag.tensor(np.ones(2, dtype=dtype), requires_grad=True).requires_grad
    t = ag.tensor(np.ones(2, dtype=dtype))
    assert t.requires_grad_() is t
    assert t.requires_grad


def test_AR16_a_result_cannot_stop_requiring_grad():
    y = leaf(1.0) * 2.0
    text = (
        "^you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
        r"subgraph that doesn't require differentiation use var_no_grad = var.detach\(\)\."
    )
    with pytest.raises(RuntimeError, match=text):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match=text):
        y.requires_grad = False
    assert y.requires_grad


def test_AR16_setting_true_on_a_result_does_nothing():
    y = leaf(1.0) * 2.0
    node = y.grad_fn
    assert y.requires_grad_(True) is y
    assert y.grad_fn is node


def test_AR17_a_gradient_that_is_no_tensor():
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match=r"^assigned grad expected to be a Tensor or None but got grad of type int"):
        x.grad = 3
    assert x.grad is None


def test_AR17_a_gradient_of_another_size():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"^attempting to assign a gradient of size"):
        x.grad = ag.tensor([1.0, 2.0, 3.0])


def test_AR17_a_gradient_of_another_dtype():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"^attempting to assign a gradient with dtype"):
        x.grad = ag.tensor(np.ones(2, dtype=np.float32))


def test_AR17_a_gradient_on_another_device():
    strict = pytest.importorskip("array_api_strict")
    x = ag.asarray(strict.ones((2,), device=strict.Device("device1")), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^attempting to assign a gradient with device"):
        x.grad = ag.asarray(strict.ones((2,)))


def test_AR17_a_tensor_as_its_own_gradient():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"^can't assign .* as its own grad"):
        x.grad = x


def test_AR17_a_gradient_can_be_assigned_and_taken_away():
    x = leaf([1.0, 2.0])
    g = ag.tensor([1.0, 2.0])
    x.grad = g
    assert x.grad is g
    x.grad = None
    assert x.grad is None


def test_AR18_a_hook_on_a_tensor_that_does_not_require_grad():
    with pytest.raises(RuntimeError, match=r"^cannot register a hook on a tensor that doesn't require gradient"):
        ag.tensor(1.0).register_hook(lambda g: None)
    with pytest.raises(RuntimeError, match=r"^can't retain_grad on Tensor that has requires_grad=False"):
        ag.tensor(1.0).retain_grad()


def test_AR19_numpy_of_a_tensor_that_requires_grad_is_explicit_and_works():
    # torch refuses t.numpy() here; arraygrad's method is explicit and detaches. The implicit ways refuse instead.
    x = leaf([1.0, 2.0])
    same(x.numpy(), [1.0, 2.0])
    with pytest.raises(TypeError, match=r"detach|numpy\(\)"):
        np.asarray(x)


def test_AR20_reading_grad_of_a_result_warns():
    y = leaf(1.0) * 2.0
    with pytest.warns(UserWarning, match="^The .grad attribute of a Tensor that is not a leaf Tensor is being acce"):
        assert y.grad is None


def test_AR20_no_warning_with_retain_grad_or_for_leaves():
    x = leaf(1.0)
    y = x * 2.0
    y.retain_grad()
    assert y.grad is None
    assert x.grad is None
    assert ag.tensor(1.0).grad is None


def test_AR21_extra_gradients_are_refused():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"^got 1 tensors and 2 gradients$"):
        grad(x * 2.0, x, [np.ones(2), np.ones(2)])
    with pytest.raises(RuntimeError, match=r"^got 1 tensors and 2 gradients$"):
        backward(x * 2.0, [np.ones(2), np.ones(2)])
    assert x.grad is None


def test_AR_an_argument_error_changes_nothing():
    x = leaf([1.0, 2.0])
    y = ag.exp(x)
    for call in (
        lambda: y.backward(),
        lambda: y.backward(np.ones(3)),
        lambda: y.backward(np.ones(2), inputs=[]),
        lambda: grad(y, [x, ag.tensor(1.0)], np.ones(2)),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert x.grad is None
    y.backward(np.ones(2))
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]))


def test_AR_a_gradient_of_another_backend_is_refused():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match=r"backend|array_api_strict"):
        (leaf([1.0, 2.0]) * 2.0).backward(strict.ones((2,)))
