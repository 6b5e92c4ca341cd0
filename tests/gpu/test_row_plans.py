"""Reductions whose launches are settled by the first call of a shape: the same as by CuPy's functions and the table.

Imports the public names of arraygrad and the CuPy backend's switches. Runs on a device, and on the stand-in by
test_device_tests.py.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(6)


OPERATIONS = {
    "sum": lambda x, axis, keepdims: ag.sum(x, axis=axis, keepdims=keepdims),
    "mean": lambda x, axis, keepdims: ag.mean(x, axis=axis, keepdims=keepdims),
    "max": lambda x, axis, keepdims: ag.max(x, axis=axis, keepdims=keepdims),
    "min": lambda x, axis, keepdims: ag.min(x, axis=axis, keepdims=keepdims),
    "logsumexp": lambda x, axis, keepdims: ag.logsumexp(x, axis=axis, keepdims=keepdims),
    "var": lambda x, axis, keepdims: ag.var(x, axis=axis, correction=1, keepdims=keepdims),
    "std": lambda x, axis, keepdims: ag.std(x, axis=axis, keepdims=keepdims),
}
SOFT = {
    "softmax": lambda x, axis: ag.softmax(x, axis=axis),
    "log_softmax": lambda x, axis: ag.log_softmax(x, axis=axis),
}
AXES = [None, 0, 1, -1, (0,), (1, 2), (0, 2), (0, 1, 2), (2, 1)]


def evaluated(function, array, g):
    """Value and gradient over the library of `array`."""
    x = ag.asarray(array, requires_grad=True)
    z = function(x)
    (found,) = ag.autograd.grad(z, [x], g(z.shape))
    return [a if type(a) is np.ndarray else a.get() for a in (z.array, found.array)]


def weights(shape):
    return np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)


def compare(cupy, switches, function, values, tolerance=1e-12):
    """By kernels, by CuPy's functions and over NumPy: all the same. Twice, as the second call finds what it needs."""
    expected = evaluated(function, values, lambda shape: weights(shape).astype(values.dtype))
    results = []
    for step in (None, None, *reversed(switches)):
        if step is not None:
            step(False)
        gradient = lambda shape: cupy.asarray(weights(shape).astype(values.dtype))
        results.append(evaluated(function, cupy.asarray(values), gradient))
    for result in results:
        for ours, numpys in zip(result, expected, strict=True):
            assert (ours.dtype, ours.shape) == (numpys.dtype, numpys.shape)
            np.testing.assert_allclose(ours, numpys, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", OPERATIONS)
def test_reductions_and_their_gradients(cupy, switches, name, keepdims, axis):
    values = RNG.normal(size=(3, 4, 5))
    compare(cupy, switches, lambda x: OPERATIONS[name](x, axis, keepdims), values)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", SOFT)
def test_softmax_and_its_gradient(cupy, switches, name, axis):
    compare(cupy, switches, lambda x: SOFT[name](x, axis), RNG.normal(size=(3, 4, 5)).astype(np.float32), 1e-5)


@pytest.mark.parametrize("name", [*OPERATIONS, *SOFT])
def test_arrays_that_are_not_row_major(cupy, switches, name):
    operation = (lambda x: OPERATIONS[name](x, 1, False)) if name in OPERATIONS else (lambda x: SOFT[name](x, 1))
    compare(cupy, switches, lambda x: operation(ag.permute_dims(x, (1, 0))[::2]), RNG.normal(size=(4, 6)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (1,)])
def test_sums_of_little(cupy, switches, shape):
    compare(cupy, switches, lambda x: ag.sum(x, axis=-1), np.ones(shape))


def test_an_axis_that_is_no_int_is_an_error_after_the_int_was_used(cupy, switches):
    x = ag.asarray(cupy.asarray(np.ones((2, 3))), requires_grad=True)
    ag.sum(x, axis=1)
    ag.sum(x, axis=(1,))
    for wrong in (1.0, (1.0,), 5, (0, 7)):
        with pytest.raises((TypeError, ValueError, IndexError)):
            ag.sum(x, axis=wrong)


def test_a_sums_gradient_is_written_by_nobody(cupy, switches):
    # It is a view that repeats one number: adding the second gradient to it in place would count it twelve times.
    x = ag.asarray(cupy.asarray(np.ones((3, 4))), requires_grad=True)
    for total in (lambda t: ag.sum(t), lambda t: ag.mean(t) * 12.0):
        y = x * 1.0
        (ag.sum(ag.sin(y)) + total(y) + ag.sum(y * y)).backward()
        np.testing.assert_allclose(x.grad.numpy(), np.full((3, 4), np.cos(1.0) + 1.0 + 2.0))
        x.grad = None
        total(x).backward()
        total(x).backward()
        np.testing.assert_allclose(x.grad.numpy(), np.full((3, 4), 2.0))
        x.grad = None


def test_an_array_of_another_device_is_left_to_cupy(cupy, switches):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("only one CUDA device")
    with cupy.cuda.Device(1):
        x = ag.asarray(cupy.asarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)
        expected = ag.logsumexp(x, axis=1).numpy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CuPy's, of the access that it has activated
            found = ag.logsumexp(x, axis=1)
    except ValueError:
        return  # CuPy refuses where the devices do not reach each other's memory
    np.testing.assert_allclose(found.numpy(), expected)


# Shapes and axes whose sums are split into parts: of equal size or not, next to other axes, many rows.
SPLIT = [((16384, 4), 0), ((4099, 3), 0), ((20000, 2), 0), ((2, 6000, 3), 1), ((70, 70, 5), (0, 1))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), SPLIT)
def test_few_columns_of_many_rows_are_summed_in_parts(cupy, switches, shape, axis, dtype):
    values = RNG.normal(size=shape).astype(dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-11
    for operation in ("sum", "mean"):
        expected = getattr(np, operation)(values, axis=axis, dtype="float64")
        x = ag.asarray(cupy.asarray(values), requires_grad=True)
        first, second = (getattr(ag, operation)(x, axis=axis) for _ in range(2))
        np.testing.assert_allclose(first.numpy(), expected, rtol=tolerance, atol=tolerance * 300)
        np.testing.assert_array_equal(first.numpy(), second.numpy())
        (found,) = ag.autograd.grad(ag.sum(first), [x])
        share = 1.0 if operation == "sum" else expected.size / values.size
        np.testing.assert_allclose(found.numpy(), np.full(shape, share, dtype), rtol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(16384, 4), (4099, 3), (2, 4096, 3)])
def test_gradients_of_repeated_operands_are_summed_in_parts(cupy, switches, shape, dtype):
    x, g = (RNG.normal(size=shape).astype(dtype) for _ in range(2))
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    for operation in (lambda a, b: a + b, lambda a, b: a * b):
        found = []
        for convert in (cupy.asarray, np.asarray):
            w = ag.asarray(convert(np.ones(shape[-1:], dtype)), requires_grad=True)
            z = operation(convert(x), w)
            found.append(ag.autograd.grad(z, [w], convert(g))[0].numpy())
        np.testing.assert_allclose(*found, rtol=tolerance, atol=tolerance * 10)


def test_a_sum_in_parts_is_two_launches_and_a_bias_of_a_thousand_rows_one(cupy, switches):
    host = pytest.importorskip("host_cuda")

    def launches(shape):
        x = ag.asarray(cupy.ones(shape))
        ag.sum(x, axis=0)
        host.reset_counters()
        ag.sum(x, axis=0)
        return host.counters().get("launch", 0)

    assert [launches(shape) for shape in ((16384, 4), (1024, 1024), (1024, 10))] == [2, 1, 1]


def test_parts_depend_on_the_shape_alone():
    from arraygrad.backends.cuda.rows import divided, layout, share_of

    whole = layout((16384, 4), 0, True)
    assert (whole[0], share_of(whole)) == ((4, 16384, 4), 2048)
    assert divided(whole)[0][0] == (4 * 8, 2048, 4)
    assert divided(layout((16411, 4), 0, True)) is None  # a prime number of rows has no equal parts
    assert layout((10**6, 4), 0) is None
    assert share_of(layout((10**6, 4), 0, True)) * 264 >= 10**6
    assert layout((10**6,), None, True) is None
