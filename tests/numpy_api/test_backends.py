"""Which arrays become Tensors, which are refused and how; the generic backend's metadata, gradients and memory.

Imports the public names of arraygrad, tensor, backends and engine.arrayops.
"""

import gc
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.tensor import backend_of
from arraygrad.engine.arrayops import InvalidGradient

strict = pytest.importorskip("array_api_strict")
xp = ag.array_api_strict


@pytest.fixture
def backend():
    return backend_of(strict.asarray([0.0]))


# -- refused -----------------------------------------------------------------------------------------------------------


class Units(np.ndarray):
    """A subclass of numpy.ndarray."""


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (np.ma.masked_array([1.0], [True]), r"numpy\.ma\.\w*\.?MaskedArray can't be differentiated.*filled"),
        (np.zeros(2).view(Units), r"Units is a subclass of numpy\.ndarray.*numpy\.asarray\(x\)"),
        (np.asarray([None, 1.0]), r"dtype object"),
        ("text", r"array or a Tensor of numbers, got a str"),
        (object(), r"expected an array or a Tensor, got object: it has no __array_namespace__"),
        ({1.0}, r"expected an array or a Tensor, got set"),
    ],
)
def test_what_is_no_plain_array_is_refused_with_the_way_out(obj, text):
    with pytest.raises(TypeError, match=text):
        ag.asarray(obj)


def test_matrix_is_refused_with_the_way_out():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0]])
    with pytest.raises(TypeError, match=r"matrix can't be differentiated: its \* is a matrix product"):
        ag.asarray(matrix)


def test_refused_types_stay_refused_as_operands():
    with pytest.raises(TypeError, match="MaskedArray can't be differentiated"):
        ag.ones(2) * np.ma.masked_array([1.0, 2.0], [True, False])


# -- metadata ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "is_complex", "is_floating"),
    [("float32", False, True), ("complex128", True, True), ("int64", False, False), ("bool", False, False)],
)
def test_meta_says_shape_dtype_and_kind(backend, dtype, is_complex, is_floating):
    meta = backend.meta(strict.zeros((2, 3), dtype=getattr(strict, dtype)))
    assert (meta.shape, meta.dtype) == ((2, 3), getattr(strict, dtype))
    assert (meta.is_complex, meta.is_floating) == (is_complex, is_floating)


def test_the_host_has_no_device_key_and_other_devices_have_their_name(backend):
    assert backend.meta(strict.ones(1)).device_key is None
    for name in ("device1", "device2"):
        meta = backend.meta(strict.ones(1, device=strict.Device(name)))
        assert meta.device_key == ("array_api_strict", name)
        assert meta.device == strict.Device(name)


# -- gradients ---------------------------------------------------------------------------------------------------------


def test_matches_compares_shape_dtype_and_device(backend):
    meta = backend.meta(strict.zeros((2, 3)))
    assert backend.matches(meta, strict.ones((2, 3)))
    assert not backend.matches(meta, strict.ones((3, 2)))
    assert not backend.matches(meta, strict.ones((2, 3), dtype=strict.float32))
    assert not backend.matches(meta, strict.ones((2, 3), device=strict.Device("device1")))
    assert not backend.matches(meta, np.ones((2, 3)))


def test_conform_sums_over_broadcast_axes(backend):
    g = backend.conform(backend.meta(strict.zeros((1, 3))), strict.ones((4, 2, 3)), False)
    assert backend.matches(backend.meta(strict.zeros((1, 3))), g)
    assert np.asarray(g._array).tolist() == [[8.0] * 3]


def test_conform_casts_without_widening(backend):
    meta = backend.meta(strict.zeros(3, dtype=strict.float32))
    assert backend.matches(meta, backend.conform(meta, strict.ones((2, 3)), False))
    assert backend.matches(meta, backend.conform(meta, strict.ones((3,), dtype=strict.int8), False))


def test_conform_takes_the_real_part_where_it_is_asked_to(backend):
    meta = backend.meta(strict.zeros(2))
    g = strict.asarray([1 + 2j, 3 - 1j])
    assert np.asarray(backend.conform(meta, g, True)._array).tolist() == [1.0, 3.0]
    with pytest.raises(InvalidGradient, match="expected real"):
        backend.conform(meta, g, False)


def test_conform_refuses_a_shape_that_cannot_be_summed(backend):
    with pytest.raises(InvalidGradient, match=r"got \[5\] but expected shape compatible with \[2, 3\]"):
        backend.conform(backend.meta(strict.zeros((2, 3))), strict.ones(5), False)
    with pytest.raises(InvalidGradient, match=r"got \[1, 3\] but expected shape compatible with \[2, 3\]"):
        backend.conform(backend.meta(strict.zeros((2, 3))), strict.ones((1, 3)), False)


def test_conform_moves_a_scalar_gradient_and_refuses_a_larger_one(backend):
    device = strict.Device("device1")
    meta = backend.meta(strict.asarray(0.0, device=device))
    assert backend.conform(meta, strict.asarray(2.0), False).device == device
    with pytest.raises(InvalidGradient, match=r"expected device .*device1.* but got .*CPU_DEVICE"):
        backend.conform(backend.meta(strict.zeros(2, device=device)), strict.ones(2), False)


def test_conform_names_what_is_no_array(backend):
    with pytest.raises(InvalidGradient, match=r"expected array_api_strict\S* but got numpy\.ndarray"):
        backend.conform(backend.meta(strict.zeros(2)), np.ones(2), False)


def test_python_number_conforms_to_a_scalar(backend):
    meta = backend.meta(strict.asarray(1.0, dtype=strict.float32))
    assert backend.matches(meta, backend.conform(meta, 2.0, False))


def test_has_nan(backend):
    assert backend.has_nan(strict.asarray([1.0, float("nan")]))
    assert not backend.has_nan(strict.asarray([1.0, float("inf")]))
    assert not backend.has_nan(strict.asarray([1, 2]))


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1"])
def test_zeros_and_ones_match_the_metadata(backend, device):
    meta = backend.meta(strict.zeros((2,), dtype=strict.float32, device=strict.Device(device)))
    for made in (backend.zeros(meta), backend.ones(meta)):
        assert backend.matches(meta, made)


def test_add_into_writes_into_the_first(backend):
    a, b = strict.asarray([1.0, 2.0]), strict.asarray([3.0, 4.0])
    assert backend.add_into(a, b) is a
    assert np.asarray(a._array).tolist() == [4.0, 6.0]


# -- memory ------------------------------------------------------------------------------------------------------------


def test_views_share_memory_and_copies_do_not(backend):
    a = strict.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert backend.shares_memory(a[:, ::-1], a)
    assert backend.shares_memory(a[1, :], a)
    assert not backend.shares_memory(a[0, :], a[1, :])
    assert not backend.shares_memory(backend.clone(a, a), a)
    assert not backend.shares_memory(strict.zeros(0), a)


def test_write_through_a_view_is_recorded():
    base, value = xp.zeros(3), xp.asarray(2.0, requires_grad=True)
    base[1:][0] = value * 3
    xp.sum(base).backward()
    assert base.tolist() == [0.0, 6.0, 0.0]
    assert float(value.grad) == 3.0


# -- devices and graphs ------------------------------------------------------------------------------------------------


def test_gradient_keeps_the_device():
    t = xp.asarray([1.0, 2.0], device=strict.Device("device1"), requires_grad=True)
    xp.sum(xp.linalg.vector_norm(t) * t).backward()
    assert t.grad.device == strict.Device("device1")


def test_mixing_devices_is_refused_by_the_library():
    a, b = xp.ones(2), xp.ones(2, device=strict.Device("device1"))
    with pytest.raises(ValueError, match="different devices"):
        a + b


def test_to_device_is_recorded_and_the_gradient_moves_back():
    t = xp.ones(2, requires_grad=True)
    moved = t.to_device(strict.Device("device1"))
    assert moved.device == strict.Device("device1")
    xp.sum(moved * 3.0).backward()
    assert t.grad.device == strict.Device("CPU_DEVICE")
    assert t.grad.tolist() == [3.0, 3.0]


def test_a_stream_for_a_copy_is_refused_where_there_are_none():
    t = ag.asarray(np.ones(2), requires_grad=True)
    with pytest.raises(ValueError, match="stream"):
        t.to_device("cpu", stream=3)


def test_graph_over_another_library_is_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        t = xp.ones(2, requires_grad=True)
        result = xp.sum(xp.exp(t) * t)
        node = weakref.ref(result.grad_fn)
        del result
        assert node() is None
    finally:
        gc.enable()
