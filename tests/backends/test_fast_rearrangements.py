"""Gradients of NumPy's functions that join, insert and repeat: those of the plain path."""

import numpy as np
import pytest
from fast_path_cases import values_of
from numpy_outcomes import LAYOUTS

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths


def arrays(dtype, *shapes):
    return [np.asarray(values_of(dtype, i)(shape)) for i, shape in enumerate(shapes)]


RULES = {
    "vstack": (lambda x, y: np.vstack([x, y]), [(3,), (2, 3)]),
    "vstack of three": (lambda x, y, z: np.vstack([x, y, z]), [(3,), (2, 3), (1, 3)]),
    "vstack, a constant": (lambda x: np.vstack([np.ones((2, 3)), x]), [(2, 3)]),
    "hstack": (lambda x, y: np.hstack([x, y]), [(2, 3), (2, 1)]),
    "hstack of vectors": (lambda x, y: np.hstack([x, y]), [(3,), (4,)]),
    "hstack of long rows": (lambda x, y: np.hstack([x, y]), [(700,), (900,)]),
    "hstack of three": (lambda x, y, z: np.hstack([x, y, z]), [(2, 3), (2, 1), (2, 2)]),
    "dstack": (lambda x, y: np.dstack([x, y]), [(3,), (1, 3, 2)]),
    "column_stack": (lambda x, y: np.column_stack([x, y]), [(3,), (3, 2)]),
    "block": (lambda x, y: np.block([x, y]), [(3,), (2,)]),
    "append": (np.append, [(2, 3), (2,)]),
    "append along an axis": (lambda x, y: np.append(x, y, axis=1), [(2, 3), (2, 2)]),
    "append to a constant": (lambda y: np.append(ag.tensor(np.ones((2, 3))), y, axis=-1), [(2, 2)]),
    "diag": (lambda x: np.diag(x, -1), [(3,)]),
    "diagflat": (lambda x: np.diagflat(x, 2), [(2, 3)]),
    "tile": (lambda x: np.tile(x, (2, 3, 1)), [(2, 4)]),
    "tile once": (lambda x: np.tile(x, (1, 1, 1)), [(2, 4)]),
    "tile of a number": (lambda x: np.tile(x, (3,)), [()]),
    "repeat": (lambda x: np.repeat(x, 3, axis=1), [(2, 4)]),
    "repeat all": (lambda x: np.repeat(x, 2), [(2, 4)]),
    "full_like": (lambda x: ag.full_like(np.ones((2, 3)), x), [()]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("call", "shapes"), RULES.values(), ids=RULES)
def test_gradients_are_those_of_the_plain_rules(call, shapes, dtype, layout):
    def run():
        leaves = [ag.tensor(a, requires_grad=True) for a in arrays(dtype, *shapes)]
        result = call(*leaves)
        weights = LAYOUTS[layout](np.cos(np.arange(result.size)).reshape(result.shape).astype(dtype))
        return [g.numpy() for g in ag.autograd.grad(result, leaves, ag.asarray(weights))]

    ours = run()
    before = set_fast_paths(False)
    try:
        plain = run()
    finally:
        set_fast_paths(before)
    for a, b in zip(ours, plain, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-13)


def test_gradients_of_joined_arrays_do_not_share_memory():
    x, y = [ag.tensor(a, requires_grad=True) for a in arrays("float64", (3,), (3,))]
    g = ag.tensor(np.ones((2, 3)))
    a, b = ag.autograd.grad(np.vstack([x, y]), [x, y], g)
    a[...] = 5.0
    np.testing.assert_array_equal(b.numpy(), np.ones(3))
