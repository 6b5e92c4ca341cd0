"""Prepared kernels give what CuPy's own machinery gives, whatever the layout, the dtype and the way they are launched.

Imports the public names of arraygrad and the CuPy backend's switches. Runs on a device, and on the stand-in by
test_device_tests.py.
"""

import threading

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(3)
DTYPES = ("float16", "float32", "float64", "complex64", "complex128")


@pytest.fixture
def switches():
    """(set_prepared, set_narrow, launcher), all set back afterwards."""
    from arraygrad.backends.cuda.prepared import set_narrow
    from arraygrad.backends.cupy import BACKEND, set_prepared

    narrow, direct, prepared = set_narrow(0), BACKEND.launcher.direct, set_prepared(True)
    set_narrow(narrow)
    yield set_prepared, set_narrow, BACKEND.launcher
    set_narrow(narrow)
    set_prepared(prepared)
    BACKEND.launcher.direct = direct


# Pairs of operands, made of NumPy arrays; each is told by what is done to an array of the first shape.
LAYOUTS = {
    "same shape": ((3, 4), (3, 4), None),
    "row": ((3, 4), (4,), None),
    "column": ((3, 4), (3, 1), None),
    "both spread": ((3, 1), (1, 4), None),
    "axes of one": ((2, 1, 3), (1, 2, 1, 1), None),
    "0-d": ((3, 4), (), None),
    "two of 0-d": ((), (), None),
    "one element": ((1, 1), (3,), None),
    "middle axis": ((2, 3, 4), (2, 1, 4), None),
    "four axes": ((2, 3, 2, 3), (3, 1, 3), None),
    "transposed": ((4, 3), (3, 4), lambda a: a.T),
    "slice": ((6, 8), (3, 4), lambda a: a[::2, 1:8:2]),
    "reversed": ((3, 4), (3, 4), lambda a: a[::-1, ::-1]),
    "permuted": ((2, 3, 4), (4, 2, 3), lambda a: a.transpose(2, 0, 1)),
    "empty": ((0, 4), (4,), None),
}
OPERATIONS = {
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / (y + 3.0),
    "add": lambda x, y: x + y,
    "composed": lambda x, y: ag.tanh(x) * 2.0 - y * x + 1,
}


def numbers(shape, dtype):
    values = RNG.uniform(0.5, 2.0, shape)
    return (values + 1j * RNG.uniform(-1.0, 1.0, shape) if dtype[0] == "c" else values).astype(dtype)


def both_gradients(cupy, function, x, y, view):
    """Value and gradients over CuPy, as NumPy arrays, and whether the value is row-major."""
    a = ag.asarray(cupy.asarray(x), requires_grad=True)
    b = ag.asarray(cupy.asarray(y), requires_grad=True)
    z = function(a if view is None else view(a), b)
    g = cupy.asarray(np.linspace(1.0, 2.0, z.size).reshape(z.shape).astype(z.dtype))
    found = ag.autograd.grad(z, [a, b], g)
    return [t.numpy() for t in (z, *found)], z.array.flags.c_contiguous


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_and_gradients_are_those_without_prepared_kernels(cupy, switches, layout, operation, dtype):
    set_prepared = switches[0]
    first, second, view = LAYOUTS[layout]
    x, y = numbers(first, dtype), numbers(second, dtype)
    found, ordered = both_gradients(cupy, OPERATIONS[operation], x, y, view)
    set_prepared(False)
    expected, as_ordered = both_gradients(cupy, OPERATIONS[operation], x, y, view)
    assert ordered == as_ordered
    tolerance = {"float16": 4e-3, "float32": 2e-6, "complex64": 4e-6}.get(dtype, 1e-14)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float32", "complex128"), ("complex64", "float64")])
def test_operands_of_two_dtypes_give_what_numpy_gives(cupy, switches, dtypes):
    x, y = numbers((3, 4), dtypes[0]), numbers((4,), dtypes[1])
    (z, gx, gy), _ = both_gradients(cupy, OPERATIONS["multiply"], x, y, None)
    a, b = ag.asarray(x, requires_grad=True), ag.asarray(y, requires_grad=True)
    expected = a * b
    g = np.linspace(1.0, 2.0, expected.size).reshape(expected.shape).astype(expected.dtype)
    ga, gb = ag.autograd.grad(expected, [a, b], g)
    for ours, theirs in ((z, expected), (gx, ga), (gy, gb)):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5)


@pytest.mark.parametrize("number", [2, 2.5, -3, True, 0, 1j, 10**20, float("inf"), float("nan")])
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers_take_part_as_over_numpy(cupy, switches, number, dtype):
    x = numbers((5,), dtype)
    if dtype == "float16" and number == 10**20:
        pytest.skip("too large for half precision: NumPy warns, CuPy does not")
    if dtype[0] == "c" and number == float("inf"):
        pytest.skip("a complex number over infinity is NaN in CuPy, 0 in NumPy")
    for function in (lambda t: t * number, lambda t: number - t, lambda t: t / (2 + number)):
        with np.errstate(all="ignore"):
            expected = function(ag.asarray(x))
            found = function(ag.asarray(cupy.asarray(x)))
            assert found.dtype == expected.dtype
            tolerance = {"float16": 4e-3, "float32": 2e-6, "complex64": 4e-6}.get(dtype, 1e-13)
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=tolerance)


@pytest.mark.parametrize("layout", ["row", "column", "transposed", "middle axis", "reversed"])
def test_wide_indices_give_what_narrow_ones_give(cupy, switches, layout):
    _, set_narrow, _ = switches
    first, second, view = LAYOUTS[layout]
    x, y = numbers(first, "float32"), numbers(second, "float32")
    narrow, _ = both_gradients(cupy, OPERATIONS["composed"], x, y, view)
    set_narrow(1)
    wide, _ = both_gradients(cupy, OPERATIONS["composed"], x, y, view)
    for a, b in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("layout", ["same shape", "row", "transposed", "empty"])
def test_direct_calls_give_what_pythons_give(cupy, switches, layout):
    launcher = switches[2]
    first, second, view = LAYOUTS[layout]
    x, y = numbers(first, "complex64"), numbers(second, "complex64")
    as_found, _ = both_gradients(cupy, OPERATIONS["composed"], x, y, view)
    launcher.direct = False
    by_python, _ = both_gradients(cupy, OPERATIONS["composed"], x, y, view)
    for a, b in zip(as_found, by_python, strict=True):
        np.testing.assert_array_equal(a, b)


def test_direct_calls_are_found_in_cupy(cupy, switches):
    if "stand-in" in cupy.__version__:
        pytest.skip("the stand-in exports nothing to Cython code")
    assert switches[2].can_be_direct


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 5)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_of_products_are_those_over_numpy(cupy, switches, first, second, dtype, transposed):
    x, y = numbers(first, dtype), numbers(second, dtype)
    turned = transposed and len(first) == len(second) == 2

    def gradients(convert):
        a, b = ag.asarray(convert(x), requires_grad=True), ag.asarray(convert(y), requires_grad=True)
        z = (b.T @ a.T) if turned else a @ b
        g = np.linspace(1.0, 2.0, z.size).reshape(z.shape).astype(dtype)
        return [t.numpy() for t in (z, *ag.autograd.grad(z, [a, b], convert(g)))]

    for ours, theirs in zip(gradients(cupy.asarray), gradients(np.asarray), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((3, 4), (4,)),
        ((3, 4), (3, 1)),
        ((3, 4), (1, 1)),
        ((3, 4), ()),
        ((2, 3, 4), (3, 4)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (2, 1, 4)),
        ((2, 3, 4), (1, 3, 1)),
        ((2, 1, 4), (1, 1, 4)),
        ((300, 70), (70,)),
        ((70, 300), (70, 1)),
        ((0, 4), (4,)),
        ((20000, 3), (3,)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_gradients_are_summed_over_broadcast_axes(cupy, switches, shape, target, dtype):
    x, y = numbers(shape, dtype), numbers(target, dtype)
    b = ag.asarray(cupy.asarray(y), requires_grad=True)
    z = cupy.asarray(x) + b
    z.backward(cupy.asarray(x))
    axes = tuple(i for i in range(len(shape)) if i < len(shape) - len(target))
    expected = x.astype("complex128" if dtype[0] == "c" else "float64").sum(axis=axes)
    expected = expected.sum(axis=tuple(i for i, n in enumerate(target) if n == 1), keepdims=True)
    assert b.grad.dtype == np.dtype(dtype)
    assert b.grad.shape == target
    np.testing.assert_allclose(b.grad.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1, 2), (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_and_means_are_those_over_numpy(cupy, switches, name, axis, keepdims):
    x = numbers((3, 5, 4), "float32")
    expected = getattr(ag, name)(ag.asarray(x), axis=axis, keepdims=keepdims)
    t = ag.asarray(cupy.asarray(x), requires_grad=True)
    found = getattr(ag, name)(t, axis=axis, keepdims=keepdims)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    ag.sum(found).backward()
    scale = found.size / x.size if name == "mean" else 1.0
    np.testing.assert_allclose(t.grad.numpy(), np.full(x.shape, scale, "float32"), rtol=1e-6)


def test_a_long_sum_of_single_precision_keeps_its_precision(cupy, switches):
    x = np.full((16000, 3), 0.1, dtype="float32")
    b = ag.asarray(cupy.zeros(3, dtype="float32"), requires_grad=True)
    (cupy.asarray(x) + b).backward(cupy.asarray(x))
    np.testing.assert_allclose(b.grad.numpy(), np.full(3, x[:, 0].astype("float64").sum()), rtol=2e-7)


def test_accumulation_writes_no_array_of_the_programs(cupy, switches):
    x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
    g = cupy.asarray([10.0, 20.0])
    z = x + x * 1.0
    z.backward(g)
    assert g.get().tolist() == [10.0, 20.0]
    assert x.grad.numpy().tolist() == [20.0, 40.0]
    (x * 1.0).backward(g)
    assert x.grad.numpy().tolist() == [30.0, 60.0]


def test_threads_may_launch_at_once(cupy, switches):
    failures = []

    def work(k):
        try:
            for i in range(20):
                x = ag.asarray(cupy.full(7, k + i / 32), requires_grad=True)
                ag.sum(x * (k + 2.0) + x * x).backward()
                np.testing.assert_array_equal(x.grad.numpy(), np.full(7, k + 2.0 + 2 * (k + i / 32)))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_each_device_has_its_own_function(cupy, switches):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one device only")
    for number in (0, 1, 0):
        with cupy.cuda.Device(number):
            x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            y = ag.exp(x) * 2.0
            ag.sum(y).backward()
        assert int(y.array.device) == int(x.grad.array.device) == number
        np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, 2.0]))
