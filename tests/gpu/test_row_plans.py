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
