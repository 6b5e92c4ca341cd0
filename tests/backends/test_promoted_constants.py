"""Small plain arrays of narrower dtypes beside a Tensor are promoted once, before the operation.

Values and gradients are those of the path without compiled loops, where NumPy converts in each call.
"""

import operator

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths

OPERATIONS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "remainder": operator.mod,
    "matmul": operator.matmul,
    "maximum": np.maximum,
    "hypot": np.hypot,
    "arctan2": np.arctan2,
    "copysign": np.copysign,
}
PAIRS = [
    ("float64", d) for d in ("bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32")
] + [("float32", d) for d in ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "int64", "float64")]
SMALL, LARGE = 6, 70  # sides of matrices: the larger ones have more elements than are promoted
LAYOUTS = {
    "dense": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "row": lambda a: a[0],
    "number": lambda a: a[0, 1:2].reshape(()),
}


def results(f, x, constant, on_left):
    """Value, gradient and gradient of the gradient's weighed sum."""
    t = ag.tensor(x, requires_grad=True)
    y = f(constant, t) if on_left else f(t, constant)
    (first,) = ag.autograd.grad(
        (y * np.arange(1.0, y.size + 1.0, dtype=y.dtype).reshape(y.shape)).sum(), [t], create_graph=True
    )
    second = ag.autograd.grad((first * first).sum(), [t], allow_unused=True)[0] if first.requires_grad else None
    return y.detach().numpy(), first.detach().numpy(), np.zeros(1) if second is None else second.numpy()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("own", "other"), PAIRS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_gradients_are_those_of_the_plain_path(name, own, other, layout):
    rng = np.random.default_rng(3)
    for side in (SMALL, LARGE) if layout == "dense" and other in ("int64", "int8") else (SMALL,):
        x = rng.uniform(0.5, 1.5, (side, side)).astype(own)
        constant = LAYOUTS[layout](rng.integers(1, 4, (side, side)).astype(other))
        if name == "matmul" and constant.ndim == 0:
            continue
        for on_left in (False, True):
            found = results(OPERATIONS[name], x, constant, on_left)
            before = set_fast_paths(False)
            try:
                expected = results(OPERATIONS[name], x, constant, on_left)
            finally:
                set_fast_paths(before)
            tolerance = 1e-12 if own == "float64" else 3e-6
            for one, plain in zip(found, expected, strict=True):
                assert one.dtype == plain.dtype
                np.testing.assert_allclose(one, plain, rtol=tolerance, atol=tolerance)
            raw = OPERATIONS[name](constant, x) if on_left else OPERATIONS[name](x, constant)
            assert found[0].dtype == raw.dtype
            assert found[0].strides == raw.strides
            np.testing.assert_array_equal(found[0], raw) if name != "matmul" else None


def test_a_promoted_constant_that_is_written_afterwards_changes_no_gradient():
    x, c = ag.tensor(np.array([2.0, 3.0]), requires_grad=True), np.array([5, 7])
    y = (x * c).sum()
    c[:] = 1
    y.backward()
    assert x.grad.numpy().tolist() == [5.0, 7.0]
