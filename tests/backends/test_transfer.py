"""`to_backend`: one backward crosses libraries; memory, dtypes, devices and writes at the crossing.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest
from libraries import leaf, numpy_of, raw, require

import arraygrad as ag

LIBRARIES = ["numpy", "torch", "jax", "dask", "array_api_strict"]
PAIRS = [(a, b) for a in LIBRARIES for b in LIBRARIES if a != b]
X = np.array([[0.5, -1.0], [2.0, 3.0]])


def need(*libraries):
    for library in libraries:
        if library != "numpy":
            require(library) if library != "array_api_strict" else pytest.importorskip(library)


def made(library, values, dtype="float64"):
    """A leaf over any of the libraries."""
    if library == "array_api_strict":
        xp = ag.array_api_strict
        return xp.asarray(np.asarray(values).tolist(), dtype=getattr(xp, dtype), requires_grad=True)
    return leaf(library, values, dtype)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_gradient_goes_back_the_same_way(source, target):
    need(source, target)
    x = made(source, X)
    y = ag.to_backend(x * 2.0, target)
    assert y.__array_namespace__().__name__ == f"arraygrad.{target}"
    np.testing.assert_array_equal(numpy_of(y), 2 * X)
    ag.sum(y**2).backward()
    assert type(x.grad.array) is type(x.array)
    np.testing.assert_allclose(numpy_of(x.grad), 8 * X)


def test_one_backward_crosses_numpy_torch_and_jax():
    need("torch", "jax")
    x = ag.tensor(X, requires_grad=True)
    y = ag.torch.sin(ag.to_backend(x * x, "torch"))
    z = ag.jax.sum(ag.jax.exp(ag.to_backend(y, "jax")))
    ag.to_backend(z, "numpy").backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(np.sin(X * X)) * np.cos(X * X) * 2 * X)


@pytest.mark.parametrize("target", ["torch", "jax", "dask", "array_api_strict"])
def test_second_derivative_crosses_too(target):
    need(target)
    f = lambda x: ag.to_backend(ag.sum(ag.exp(ag.to_backend(x * x, target))), "numpy")
    assert ag.gradgradcheck(f, (ag.tensor(X / 4, requires_grad=True),))


@pytest.mark.parametrize("target", ["torch", "jax", "dask"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64", "bool"])
def test_dtype_stays(target, dtype):
    need(target)
    t = ag.to_backend(np.ones((2, 2), dtype=dtype), target)
    assert str(t.dtype).endswith(dtype)
    assert ag.to_backend(t, "numpy").dtype == np.dtype(dtype)


def test_jax_without_64_bits_refuses_them():
    jax = require("jax")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(TypeError, match=r"JAX has no float64 now.*jax_enable_x64"):
            ag.to_backend(np.ones(2), "jax")
        assert ag.to_backend(np.ones(2, dtype=np.float32), "jax").dtype == np.float32
    finally:
        jax.config.update("jax_enable_x64", True)


def test_raw_array_gives_a_tensor_that_requires_no_grad():
    need("torch")
    t = ag.to_backend(np.ones(2), "torch")
    assert isinstance(t, ag.Tensor)
    assert not t.requires_grad


def test_tensor_that_is_there_comes_back_as_itself():
    t = ag.tensor([1.0], requires_grad=True)
    assert ag.to_backend(t, "numpy") is t


def test_transfer_to_a_device_of_the_same_library_is_to_device():
    strict = pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.ones(2, requires_grad=True)
    moved = ag.to_backend(t, "array_api_strict", strict.Device("device1"))
    assert moved.device == strict.Device("device1")
    moved.sum().backward()
    assert t.grad.device == strict.Device("CPU_DEVICE")


def test_gradient_goes_back_to_the_device_it_came_from():
    strict = pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.ones(2, device=strict.Device("device1"), requires_grad=True)
    ag.to_backend(t * 2.0, "numpy").sum().backward()
    assert t.grad.device == strict.Device("device1")
    assert numpy_of(t.grad.to_device(strict.Device("CPU_DEVICE"))).tolist() == [2.0, 2.0]


def test_integers_and_booleans_cross_without_a_graph():
    need("torch")
    t = ag.to_backend(ag.asarray(np.arange(3)), "torch")
    assert not t.requires_grad
    assert t.tolist() == [0, 1, 2]


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="expected an array or a Tensor"):
        ag.to_backend("text", "numpy")
    with pytest.raises(TypeError, match="name of an array library, got module"):
        ag.to_backend(np.ones(1), np)


def test_unknown_library_is_an_import_error():
    with pytest.raises(ImportError, match="no_such_library"):
        ag.to_backend(np.ones(1), "no_such_library")


def test_operation_on_two_libraries_names_the_way_out():
    need("torch")
    with pytest.raises(TypeError, match=r"numpy and torch.*arraygrad\.to_backend\(x, 'numpy'\)"):
        ag.tensor([1.0]) + leaf("torch", [1.0])


# -- memory and writes -------------------------------------------------------------------------------------------------


def test_numpy_and_torch_share_memory():
    need("torch")
    array = np.ones(3)
    t = ag.to_backend(array, "torch")
    array[0] = 5.0
    assert t.tolist() == [5.0, 1.0, 1.0]
    assert np.shares_memory(ag.to_backend(t, "numpy").array, array)


def test_what_comes_to_jax_is_a_copy():
    need("jax")
    array = np.ones(3)
    t = ag.to_backend(array, "jax")
    array[0] = 5.0
    assert t.tolist() == [1.0, 1.0, 1.0]


def test_what_leaves_jax_cannot_change_it():
    need("jax", "torch")
    source = raw("jax", [1.0, 2.0])
    t = ag.to_backend(source, "torch")
    t[0] = 5.0
    n = ag.to_backend(source, "numpy")
    with pytest.raises(ValueError, match="read-only"):
        n[0] = 5.0
    assert np.asarray(source).tolist() == [1.0, 2.0]


def test_write_on_the_other_side_is_recorded_for_both():
    need("torch")
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    here = x * 1.0
    there = ag.to_backend(here, "torch")
    there[0] = there[1] * 10.0
    assert here.tolist() == [20.0, 2.0, 3.0]
    (here**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 2 * 20.0 * 10.0 + 4.0, 6.0])


def test_write_on_this_side_is_recorded_for_both():
    need("torch")
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    here = x * 1.0
    there = ag.to_backend(here, "torch")
    here[0] = here[1] * 10.0
    assert there.tolist() == [20.0, 2.0, 3.0]
    ag.sum(there**2).backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 2 * 20.0 * 10.0 + 4.0, 6.0])


def test_saved_values_are_protected_from_writes_on_the_other_side():
    need("torch")
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    here = x * 1.0
    there = ag.to_backend(here, "torch")
    z, u = (here * here).sum(), ag.sum(there * there)
    there[0] = 100.0
    here[1] = 200.0
    (z + ag.to_backend(u, "numpy")).backward()
    np.testing.assert_allclose(x.grad.numpy(), [4.0, 8.0])


def test_read_only_and_reversed_arrays_cross_by_a_copy():
    need("torch")
    array = np.arange(3.0)
    array.flags.writeable = False
    assert ag.to_backend(array, "torch").tolist() == [0.0, 1.0, 2.0]
    assert ag.to_backend(np.arange(3.0)[::-1], "torch").tolist() == [2.0, 1.0, 0.0]


def test_an_unknown_library_is_told_the_names():
    with pytest.raises(ImportError, match=r"no array library 'tensorflo': give 'numpy', 'torch', 'jax'"):
        ag.to_backend(np.ones(1), "tensorflo")
    with pytest.raises(TypeError, match="'json' is no array library"):
        ag.to_backend(np.ones(1), "json")
