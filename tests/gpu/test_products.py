"""Products of matrices and stacks on CuPy: asked of cuBLAS directly they are what CuPy's own functions give.

Imports the public names of arraygrad and the CuPy backend's switches. Runs on a device, and on the stand-in by
test_device_tests.py.
"""

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(5)


@pytest.fixture
def set_prepared():
    from arraygrad.backends.cupy import set_prepared

    before = set_prepared(True)
    yield set_prepared
    set_prepared(before)


def turned(cupy, a):
    """An array of the same values whose transpose is in one piece."""
    return cupy.asarray(np.ascontiguousarray(np.swapaxes(a, -1, -2))).swapaxes(-1, -2)


def sliced(cupy, a):
    """An array of the same values with gaps between its elements."""
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1] + 1), a.dtype)
    wide[..., 1::2] = a
    return cupy.asarray(wide)[..., 1::2]


LAYOUTS = {"row-major": lambda cupy, a: cupy.asarray(a), "transposed": turned, "sliced": sliced}
SHAPES = {
    "matrices": ((5, 3), (3, 4)),
    "a row": ((1, 3), (3, 4)),
    "a column": ((5, 3), (3, 1)),
    "depth one": ((5, 1), (1, 4)),
    "one number": ((1, 3), (3, 1)),
    "a square": ((3, 3), (3, 3)),
    "stacks": ((2, 5, 3), (2, 3, 4)),
    "stacks of stacks": ((2, 2, 5, 3), (2, 2, 3, 4)),
    "stacks of rows": ((2, 1, 3), (2, 3, 1)),
    "a stack of one": ((1, 5, 3), (1, 3, 4)),
    "broadcast stacks": ((2, 1, 5, 3), (3, 3, 4)),
    "a stack and a matrix": ((2, 5, 3), (3, 4)),
    "a matrix and a stack": ((5, 3), (2, 3, 4)),
    "a matrix and a vector": ((5, 3), (3,)),
    "a vector and a stack": ((3,), (2, 3, 4)),
}


def numbers(shape, dtype):
    values = RNG.uniform(-1.0, 1.0, shape)
    return (values + 1j * RNG.uniform(-1.0, 1.0, shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def evaluated(first, second, g):
    """Product and gradients, as NumPy arrays."""
    a, b = ag.asarray(first, requires_grad=True), ag.asarray(second, requires_grad=True)
    z = a @ b
    arrays = [t.array for t in (z, *ag.autograd.grad(z, [a, b], g))]
    return [array if isinstance(first, np.ndarray) and not hasattr(first, "get") else array.get() for array in arrays]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("layouts", ["row-major row-major", "transposed row-major", "row-major transposed",
                                     "transposed transposed", "sliced row-major", "transposed sliced"])  # fmt: skip
@pytest.mark.parametrize("name", SHAPES)
def test_products_and_their_gradients_are_those_of_cupys_functions(cupy, set_prepared, name, layouts, dtype):
    x, y = (numbers(shape, dtype) for shape in SHAPES[name])
    arrays = [
        LAYOUTS[layout](cupy, a) if a.ndim > 1 else cupy.asarray(a)
        for layout, a in zip(layouts.split(), (x, y), strict=True)
    ]
    g = numbers((x @ y).shape, dtype)
    found = evaluated(*arrays, cupy.asarray(g))
    expected = evaluated(x, y, g)
    set_prepared(False)
    plain = evaluated(*arrays, cupy.asarray(g))
    tolerance = 2e-6 if dtype == "float32" else 1e-14
    for ours, theirs, numpys in zip(found, plain, expected, strict=True):
        assert ours.dtype == theirs.dtype == numpys.dtype
        assert ours.shape == theirs.shape == numpys.shape
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(ours, numpys, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shapes", [((0, 3), (3, 4)), ((5, 0), (0, 4)), ((2, 0, 3), (2, 3, 4)), ((0, 2, 3), (0, 3, 4))])
def test_products_of_nothing(cupy, set_prepared, shapes):
    x, y = (numbers(shape, "float64") for shape in shapes)
    g = numbers((x @ y).shape, "float64")
    for ours, numpys in zip(
        evaluated(cupy.asarray(x), cupy.asarray(y), cupy.asarray(g)), evaluated(x, y, g), strict=True
    ):
        np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize("shapes", [((5, 3), (4, 3)), ((2, 5, 3), (2, 4, 3)), ((2, 5, 3), (3, 3, 4))])
def test_what_does_not_fit_is_an_error(cupy, set_prepared, shapes):
    x, y = (ag.asarray(turned(cupy, numbers(shape, "float64"))) for shape in shapes)
    with pytest.raises(ValueError):  # noqa: PT011  (CuPy's words)
        x @ y


def test_the_gradients_of_a_product_are_laid_out_as_its_matrices_would_be(cupy, set_prepared):
    a, b = (ag.asarray(turned(cupy, numbers(s, "float64")), requires_grad=True) for s in ((5, 3), (3, 4)))
    (a @ b).backward(cupy.asarray(np.ones((5, 4))))
    np.testing.assert_allclose(a.grad.numpy(), np.ones((5, 4)) @ b.numpy().T)
    np.testing.assert_allclose(b.grad.numpy(), a.numpy().T @ np.ones((5, 4)))


def test_stacks_and_their_gradients_copy_nothing(cupy, set_prepared):
    host = pytest.importorskip("host_cuda")
    a, b = (ag.asarray(cupy.asarray(numbers(s, "float64")), requires_grad=True) for s in ((2, 5, 3), (2, 4, 3)))
    g = cupy.asarray(numbers((2, 5, 4), "float64"))

    def counted():
        host.reset_counters()
        ag.autograd.grad(a @ b.mT, [a, b], g)
        found = host.counters()
        return found.get("launch", 0) + found.get("on_device", 0)

    counted()
    assert counted() == 3  # cuBLAS's products; neither a kernel nor a copy runs beside them
    set_prepared(False)
    assert counted() > 3
