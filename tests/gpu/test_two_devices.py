"""Operands on several devices outside of `with Device`: CuPy computes on the current one, gradients go to each operand.

Powers of zero and sums at repeated places are here too, in which CuPy's own functions are not NumPy's.
"""

import importlib

import numpy as np
import pytest

import arraygrad as ag

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:The device where the array resides")]

FORMULAS = {
    "a square": lambda a, b: b**2,
    "a product": lambda a, b: a * b,
    "a matrix product": lambda a, b: a @ b,
    "a view": lambda a, b: b[:, 0] * a[0],
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_go_to_the_device_of_their_operand(cupy, two_devices, name, create_graph):
    def gradients(a, b):
        found = ag.autograd.grad(ag.sum(FORMULAS[name](a, b)), [a, b], create_graph=create_graph, allow_unused=True)
        if create_graph:
            squares = sum([ag.sum(g.to_device(a.device) ** 2) for g in found if g is not None and g.requires_grad])
            found = ag.autograd.grad(squares, [a, b], allow_unused=True)
        return found

    x, y = np.array([[1.0, 2.0], [3.0, 0.5]]), np.array([[0.3, -1.0], [2.0, 4.0]])
    wanted = gradients(ag.asarray(x, requires_grad=True), ag.asarray(y, requires_grad=True))
    a = ag.asarray(cupy.asarray(x), requires_grad=True)
    with cupy.cuda.Device(1):
        b = ag.asarray(cupy.asarray(y), requires_grad=True)
        cupy.cuda.Device(1).synchronize()  # as for CuPy alone: device 0 does not wait for what made b
    for found, expected, device in zip(gradients(a, b), wanted, (0, 1), strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            assert found.device == cupy.cuda.Device(device)
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("kinds", ["Dd", "DD", "zero"])
def test_powers_of_a_complex_zero(cupy, switches, kinds, fused):
    switches[0](fused)
    powers = np.array([0.0, 1.0, 2.0, 3.0])

    def gradients(xp):
        b = ag.asarray(xp.asarray(powers.astype(kinds[-1] if kinds != "zero" else "d")), requires_grad=True)
        if kinds == "zero":
            return 0j**b, ag.autograd.grad(ag.sum(ag.real(0j**b)), [b])
        a = ag.asarray(xp.zeros(4, dtype=kinds[0]), requires_grad=True)
        return a**b, ag.autograd.grad(ag.sum(ag.real(a**b)), [a, b])

    expected, wanted = gradients(np)
    found, given = gradients(cupy)
    np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
    for one, other in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
def test_sums_at_places_add_to_what_is_there(cupy, dtype):
    add_at = importlib.import_module("arraygrad.ops._scatter").add_at
    x = np.arange(1.0, 4.0).astype(dtype) * (1 + (2j if dtype[0] == "c" else 0))
    places, values = np.array([0, 0, 2]), np.array([1.0, 2.0, 5.0]).astype(dtype)
    xp = ag.asarray(cupy.ones(1)).__array_namespace__()
    assert xp is ag.cupy
    raw = importlib.import_module("arraygrad.backends.cupy").raw_namespace()
    found = add_at(raw, cupy.asarray(x), cupy.asarray(places), cupy.asarray(values))
    expected = x.copy()
    np.add.at(expected, places, values)
    np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_build_for_processors_alone_gets_a_copy_on_the_host(cupy, library):
    module = pytest.importorskip(library)
    if library == "jax":
        module.config.update("jax_enable_x64", True)
        has_gpus = module.default_backend() != "cpu"
    else:
        has_gpus = module.cuda.is_available()
    if has_gpus:
        pytest.skip(f"this {library} has a device")
    t = ag.asarray(cupy.arange(3.0), requires_grad=True)
    moved = ag.to_backend(t * 2.0, library)
    ag.sum(moved**2).backward()
    np.testing.assert_array_equal(np.asarray(moved.detach().array), [0.0, 2.0, 4.0])
    assert type(t.grad.array) is cupy.ndarray
    np.testing.assert_array_equal(t.grad.numpy(), [0.0, 8.0, 16.0])
