"""NumPy's ufuncs keep NumPy's precision: Python's scalars are weak, NumPy's are not, and float32 stays float32."""

import numpy as np
import pytest

import arraygrad as ag

X = np.asarray([0.3, 0.7], dtype=np.float32)
BINARY = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and getattr(np, name).nin == 2]
OTHERS = [0.5, 2, True, np.float32(2), np.float64(2), np.int64(2), np.float32([0.5, 2]), np.float64(0.5).reshape(())]


def results(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", ["float", "complex"])
@pytest.mark.parametrize("left", [True, False], ids=["tensor first", "tensor second"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_scalar_beside_single_precision_gives_numpys_dtype(name, kind, left):
    array = X if kind == "float" else (X + 1j * X[::-1]).astype(np.complex64)
    tensor = ag.asarray(array)
    compared = 0
    for other in OTHERS:
        try:
            expected = getattr(np, name)(*((array, other) if left else (other, array)))
        except TypeError:  # no such loop
            continue
        except ValueError:  # no such shapes
            continue
        found = getattr(np, name)(*((tensor, other) if left else (other, tensor)))
        for ours, theirs in zip(results(found), results(expected), strict=True):
            assert ours.dtype == np.asarray(theirs).dtype, f"{name} with {other!r}"
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5)
        compared += 1
    assert compared or kind == "complex" or name in INTEGERS


INTEGERS = {
    name for name in BINARY if not any(set("efdg") & set(signature[:2]) for signature in getattr(np, name).types)
} | {"matmul", "matvec", "vecmat", "vecdot", "ldexp"}


def test_where_keeps_single_precision():
    t = ag.tensor(X, requires_grad=True)
    mask = np.asarray([True, False])
    y = np.multiply(t, 2.0, where=mask, out=ag.asarray(np.zeros(2, dtype=np.float32)))
    assert y.dtype == np.float32
    (gradient,) = ag.autograd.grad(y.sum(), t)
    np.testing.assert_array_equal(gradient.numpy(), np.asarray([2.0, 0.0], dtype=np.float32))


def test_a_numpy_scalar_keeps_its_dtype_in_functions_too():
    t = ag.tensor(X)
    assert np.append(t, np.float32(2)).dtype == np.float32
    assert np.append(t, np.float64(2)).dtype == np.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda v: np.gradient(v, 0.5),
        lambda v: np.gradient(v, np.float64(0.5)),
        lambda v: np.select([[True, False]], [v], 0.5),
        lambda v: np.select([[True, False]], [v], 0),
        lambda v: np.select([[True, False]], [v], np.float64(0.5)),
        lambda v: np.choose([0, 1], [v, 0.5]),
        lambda v: np.linspace(v[0], 1.0, 3),
        lambda v: np.linspace(v, 1.0, 3),
        lambda v: np.linspace(v, np.float64(1.0), 3),
        lambda v: np.logspace(v[0], 1.0, 3),
    ],
)
def test_a_function_with_a_scalar_gives_numpys_dtype(call):
    found, expected = call(ag.asarray(X)), call(X)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
