"""What is PyTorch's own: its graph, its views, its devices.

Imports the public names of arraygrad, tensor.
"""

import operator

import numpy as np
import pytest
from libraries import leaf, numpy_of, require

import arraygrad as ag
from arraygrad.core.tensor import backend_of

torch = require("torch") if __import__("importlib").util.find_spec("torch") else None
pytestmark = pytest.mark.skipif(torch is None, reason="PyTorch is not installed (pip install torch)")

REFUSED = "torch tensor that requires grad can't be used here.*detach.*interop"


@pytest.mark.parametrize(
    "use",
    [
        lambda p: ag.asarray(p),
        lambda p: ag.asarray(torch.ones(2)) * p,
        lambda p: p * ag.asarray(torch.ones(2)),
        lambda p: ag.torch.sum(p),
        lambda p: ag.grad(lambda v: ag.torch.sum(v * p))(torch.ones(2)),
        lambda p: ag.torch.stack([ag.asarray(torch.ones(2)), p]),
    ],
)
def test_tensor_with_a_graph_of_its_own_is_refused(use):
    with pytest.raises(TypeError, match=REFUSED):
        use(torch.ones(2, requires_grad=True))


def test_gradient_with_a_graph_of_its_own_is_refused():
    x = leaf("torch", [1.0, 2.0])
    y = x * 2.0
    with pytest.raises((TypeError, RuntimeError), match=REFUSED):
        y.backward(torch.ones(2, dtype=torch.float64, requires_grad=True))


def test_parameter_without_grad_is_a_plain_tensor():
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    assert ag.asarray(parameter).array is parameter


def test_subclass_with_operations_of_its_own_is_refused():
    class Units(torch.Tensor):
        pass

    with pytest.raises(TypeError, match=r"Units is a subclass of torch\.Tensor"):
        ag.asarray(torch.ones(2).as_subclass(Units))


def test_slices_are_views():
    x = leaf("torch", [1.0, 2.0, 3.0])
    y = x * 1.0
    y[1:][0] = x[0] * 10.0
    np.testing.assert_array_equal(numpy_of(y), [1.0, 10.0, 3.0])
    ag.sum(y).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [11.0, 0.0, 1.0])


def test_saved_values_are_copied_before_they_are_overwritten():
    x = leaf("torch", [1.0, 2.0])
    y = x * 1.0
    z = ag.sum(y * y)
    y[0] = 100.0
    z.backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [2.0, 4.0])


def test_device_keys_tell_devices_apart():
    backend = backend_of(torch.ones(1))
    assert backend.device_key(torch.device("cpu")) is None
    assert backend.device_key(torch.device("cuda", 1)) == ("torch", "cuda", 1)
    assert backend.device_key(torch.device("meta")) == ("torch", "meta")


def test_graph_over_shapes_only_computes_nothing():
    x = ag.asarray(torch.ones(3, device="meta"), requires_grad=True)
    y = ag.sum(ag.exp(x) * x)
    assert y.device == torch.device("meta")
    y.backward()
    assert (x.grad.shape, x.grad.device) == ((3,), torch.device("meta"))


def test_to_device_is_recorded():
    x = leaf("torch", [1.0, 2.0])
    y = x.to_device("meta")
    assert y.device == torch.device("meta")
    assert "ToDevice" in y.grad_fn.name()


def test_half_precision_has_gradients_of_its_own_dtype():
    x = ag.asarray(torch.tensor([1.0, 2.0], dtype=torch.float16), requires_grad=True)
    ag.sum(x * x).backward()
    assert x.grad.dtype is torch.float16


def test_values_that_numpy_has_no_dtype_for_come_out_wider():
    x = ag.asarray(torch.tensor([1.0, 2.5], dtype=torch.bfloat16), requires_grad=True)
    ag.sum(x * x).backward()
    assert x.grad.dtype is torch.bfloat16
    assert x.grad.numpy().tolist() == [2.0, 5.0]


def test_no_library_warning_when_devices_are_listed():
    assert torch.device("cpu") in ag.torch.__array_namespace_info__().devices()


@pytest.mark.parametrize("name", ["mul", "add", "matmul", "lt", "eq"])
def test_a_tensor_beside_a_torch_tensor_is_told_of_the_two_libraries(name):
    t, raw = ag.tensor([1.0, 2.0], requires_grad=True), torch.ones(2, dtype=torch.float64)
    for a, b in ((t, raw), (raw, t)):
        with pytest.raises(TypeError, match=r"operands on two backends, numpy and torch"):
            getattr(operator, name)(a, b)


def test_a_tensor_is_not_written_in_place_by_a_torch_tensor():
    t = ag.tensor([1.0, 2.0])
    with pytest.raises(TypeError, match=r"operands on two backends, numpy and torch"):
        t += torch.ones(2, dtype=torch.float64)
    assert t.tolist() == [1.0, 2.0]


def test_a_torch_tensor_that_requires_grad_is_refused_beside_a_tensor():
    t = ag.asarray(torch.ones(2))
    with pytest.raises(TypeError, match="a torch tensor that requires grad can't be used here"):
        t * torch.nn.Parameter(torch.ones(2))


def test_a_slice_with_a_negative_step_names_flip():
    t = ag.asarray(torch.ones(3))
    with pytest.raises(ValueError, match=r"arraygrad\.flip"):
        t[::-1]
    with pytest.raises(ValueError, match=r"arraygrad\.flip"):
        t[None, 2:0:-1]
