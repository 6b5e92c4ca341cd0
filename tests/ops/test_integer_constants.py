"""Constants of other dtypes beside a Tensor: an integer must not overflow in a rule, nor a narrow float round there.

Imports arraygrad.ops and core.apply: each operation of two arrays is run as the table has it.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.apply import apply_op
from arraygrad.ops import OPS

DTYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64, np.bool_]
X = np.array([0.3, 0.6, 0.9, 1.7, 0.45])
# Their sums, products and negatives need more than 8 bits, or a sign.
INTEGERS = [3, 100, 7, 1, 0]
WEIGHTS = np.arange(1.0, 6.0)


def derivatives(op, constant, place):
    """First and second derivative in the other argument; None for what the operation has not."""
    t = ag.tensor(X, requires_grad=True)
    args = (constant, t) if place == 0 else (t, constant)
    result = apply_op(op, op.bind(args, {}))
    if not result.requires_grad:
        return None
    (first,) = ag.autograd.grad(result, [t], np.ones(result.shape), create_graph=True)
    second = None
    if first.requires_grad:
        (second,) = ag.autograd.grad(first, [t], WEIGHTS, allow_unused=True)
    return first.detach().numpy(), None if second is None else second.numpy()


def operations():
    """Operations that take a float64 array and an int64 constant, and have a derivative then."""
    for name, op in sorted(OPS.items()):
        for place in (0, 1):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # poles, and integer orders given as floats
                    if derivatives(op, ag.asarray(np.array(INTEGERS, np.int64)), place) is not None:
                        yield name, place
            except (TypeError, ValueError, IndexError, RuntimeError, AttributeError):
                continue


OPERATIONS = list(operations())


def test_the_operations_that_are_compared_are_those_of_two_arrays():
    names = {name for name, _ in OPERATIONS}
    assert {"add", "atan2", "divide", "hypot", "logaddexp", "multiply", "pow", "remainder"} <= names


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize(("name", "place"), OPERATIONS, ids=lambda v: str(v))
def test_a_constant_of_a_small_integer_dtype_gives_the_derivatives_of_the_same_int64(name, place, dtype):
    constant = np.array(INTEGERS).astype(dtype)
    try:
        found = derivatives(OPS[name], ag.asarray(constant), place)
    except TypeError:  # some take integers and no truth values, and numbers of repeats are no uint64
        assert dtype is np.bool_ or name == "repeat"
        return
    expected = derivatives(OPS[name], ag.asarray(constant.astype(np.int64)), place)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)


NUMBERS = np.array([3.1, 10.7, 7.3, 1.9, 0.6])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize(("name", "place"), OPERATIONS, ids=lambda v: str(v))
def test_a_constant_of_lower_precision_gives_the_derivatives_of_the_same_numbers(name, place, dtype):
    constant = NUMBERS.astype(dtype)
    if name == "full_like":
        pytest.skip("the result has the constant's dtype")
    try:
        found = derivatives(OPS[name], ag.asarray(constant), place)
    except (TypeError, IndexError):  # places and counts are integers
        pytest.skip("takes no floating-point constant")
    expected = derivatives(OPS[name], ag.asarray(constant.astype(np.float64)), place)
    for one, other in zip(found or (None,), expected or (None,), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
