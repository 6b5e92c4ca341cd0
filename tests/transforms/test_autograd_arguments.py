"""AR1-AR14, AR21, EX4: what backward() and grad() refuse, in which words, and that nothing has changed then."""

import re
import warnings
from types import MappingProxyType

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import autograd
from arraygrad.autograd import functions


@pytest.fixture
def x():
    return ag.tensor([1.0, 2.0], requires_grad=True)


def raises(error, text):
    return pytest.raises(error, match=f"^{re.escape(text)}")


# AR1-AR7: outputs and their gradients


def test_AR1_backward_of_a_tensor_without_graph():
    with raises(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        ag.tensor([1.0]).sum().backward()


def test_AR1_names_the_element(x):
    with raises(RuntimeError, "element 1 of tensors does not require grad and does not have a grad_fn"):
        autograd.backward([x.sum(), ag.tensor(1.0)])
    assert x.grad is None


def test_AR1_holds_for_grad_too(x):
    with raises(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        autograd.grad(ag.tensor(1.0), x)


def test_AR2_non_scalar_without_gradient(x):
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (x * 2.0).backward()
    assert x.grad is None


def test_AR2_empty_tensor_without_gradient():
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (ag.tensor(np.zeros(0), requires_grad=True) * 2.0).backward()


def test_AR3_complex_scalar_without_gradient():
    z = ag.tensor(1.0 + 1.0j, requires_grad=True)
    with raises(RuntimeError, "grad can be implicitly created only for real scalar outputs but got complex128"):
        (z * 2.0).backward()


def test_AR4_gradient_of_another_shape():
    x = ag.tensor(np.ones((2, 2)), requires_grad=True)
    text = "Mismatch in shape: grad_output[0] has a shape of (3,) and output[0] has a shape of (2, 2)."
    with raises(RuntimeError, text):
        (x * 2.0).backward(ag.tensor([1.0, 1.0, 1.0]))


def test_AR4_a_gradient_that_would_broadcast_is_refused(x):
    with raises(RuntimeError, "Mismatch in shape: grad_output[0] has a shape of () and"):
        (x * 2.0).backward(ag.tensor(1.0))


@pytest.mark.parametrize(("dtype", "gradient"), [(float, 1j), (complex, 1.0)])
def test_AR5_complex_against_real(dtype, gradient):
    x = ag.tensor(np.ones((), dtype=dtype), requires_grad=True)
    text = "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype"
    with raises(RuntimeError, text):
        (x * 2.0).backward(ag.tensor(gradient))


def test_AR6_gradient_of_another_type_in_the_list(x):
    with raises(TypeError, "gradients can be either Tensors or None, but got float"):
        autograd.backward([x.sum()], [1.0])


def test_AR6_bare_float(x):
    with raises(TypeError, "expected an array or a Tensor, got float"):
        x.sum().backward(1.0)


def test_AR7_fewer_gradients_than_tensors(x):
    with raises(RuntimeError, "got 2 tensors and 1 gradients"):
        autograd.backward([x.sum(), x.sum()], [ag.tensor(1.0)])


def test_AR21_extra_gradients_raise(x):
    with raises(RuntimeError, "got 1 tensors and 2 gradients"):
        autograd.grad(x.sum(), x, [ag.tensor(1.0), ag.tensor(2.0)])


def test_gradient_of_another_backend_is_refused(x):
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    with pytest.raises(TypeError, match="backend"):
        (x * 2.0).backward(strict.ones(2))


def test_something_that_is_no_tensor_as_output():
    with raises(RuntimeError, "element 0 of tensors tuple is neither a Tensor nor a GradientEdge"):
        autograd.backward([np.ones(2)], [None])


# AR8-AR12: inputs


@pytest.mark.parametrize("inputs", [[], {}, ()], ids=repr)
def test_AR8_no_inputs(x, inputs):
    with raises(RuntimeError, "`inputs` argument to `backward()` cannot be empty."):
        autograd.backward(x.sum(), inputs=inputs)
    with raises(RuntimeError, "`inputs` argument to `grad()` cannot be empty."):
        autograd.grad(x.sum(), inputs)


def test_other_mappings_than_dict_are_refused(x):
    text = "`inputs` argument to `grad()` must be a dict, not mappingproxy. Other Mapping types are not supported."
    with raises(TypeError, text):
        autograd.grad(x.sum(), MappingProxyType({"x": x}))


def test_AR9_input_without_requires_grad(x):
    constant = ag.tensor([1.0, 1.0])
    with raises(RuntimeError, "One of the differentiated Tensors does not require grad"):
        autograd.grad((x * constant).sum(), constant)
    with raises(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
        autograd.backward((x * constant).sum(), inputs=[x, constant])
    assert x.grad is None


def test_AR9_changes_nothing_of_the_inputs_before(x):
    middle = x * 2.0
    with raises(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
        autograd.backward(middle.sum(), inputs=[middle, ag.tensor(1.0)])
    middle.sum().backward()
    assert not middle.retains_grad


def test_AR10_unused_input(x):
    other = ag.tensor([1.0], requires_grad=True)
    text = (
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if "
        "this is the desired behavior."
    )
    with raises(RuntimeError, text):
        autograd.grad(x.sum(), [x, other])


def test_AR11_allow_unused_false_with_materialize_grads(x):
    text = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
    with raises(ValueError, text):
        autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


@pytest.mark.parametrize("call", [autograd.grad, lambda y, i: autograd.backward(y, inputs=i)], ids=["grad", "backward"])
def test_AR12_non_tensor_input(x, call):
    with raises(RuntimeError, "all inputs have to be Tensors or GradientEdges, but got float"):
        call(x.sum(), [2.0])


# AR14 and that a refused call leaves the graph usable


def test_AR14_second_backward(x):
    y = (x * x).sum()
    y.backward()
    with raises(RuntimeError, "Trying to backward through the graph a second time"):
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_refused_gradient_leaves_the_graph_as_it_was(x):
    y = x * x
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(ag.tensor([1.0]))
    y.backward(ag.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 4.0]


# EX4


def test_EX4_backward_with_create_graph_warns_once(x, monkeypatch):
    monkeypatch.setattr(functions, "_warned_create_graph", False)
    with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True will create a reference cycle"):
        (x * x).sum().backward(create_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x * x).sum().backward(create_graph=True)
    x.grad = None


def test_EX4_grad_with_create_graph_does_not_warn(x, monkeypatch):
    monkeypatch.setattr(functions, "_warned_create_graph", False)
    autograd.grad((x * x).sum(), x, create_graph=True)


def test_EX4_a_refused_call_does_not_warn(x, monkeypatch):
    monkeypatch.setattr(functions, "_warned_create_graph", False)
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * x).backward(create_graph=True)
