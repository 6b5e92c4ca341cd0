"""Inputs that the tests of the NumPy backend's compiled half share: layouts, special values, and exact comparison.

May import: numpy, arraygrad.backends, arraygrad.ops, arraygrad.core.tensor.
"""

import warnings

import numpy as np

import arraygrad.backends.numpy  # noqa: F401  its loops and rules are attached when it is loaded
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.backends.numpy.table import UNARY_LOOPS
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS

DTYPES = ("float32", "float64")
UNARY_RULES = sorted(name for name in UNARY_LOOPS if OPS[name].elementwise and name != "sign")
BINARY_RULES = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-310, 3e38, -2.5, 0.5, 5e-324)

# A layout makes an array of its shape out of random values. Those that a loop can walk as one run come first.
DENSE = {
    "size 1": lambda values: values((1,)),
    "0-d": lambda values: values(()),
    "empty": lambda values: values((0, 3)),
    "1-d": lambda values: values((37,)),
    "row-major": lambda values: values((5, 7)),
    "column-major": lambda values: values((7, 5)).T,
    "3-d": lambda values: values((2, 3, 4)),
    "contiguous slice": lambda values: values((40,))[3:30],
    "long": lambda values: values((20_011,)),
}
# These are left to NumPy.
OTHER = {
    "every second": lambda values: values((40,))[::2],
    "reversed": lambda values: values((9,))[::-1],
    "columns": lambda values: values((6, 8))[:, 1:5],
    "permuted": lambda values: values((2, 3, 4)).transpose(1, 0, 2),
    "byte-swapped": lambda values: values((6,)).astype(values((1,)).dtype.newbyteorder()),
    "unaligned": lambda values: unaligned(values((6,))),
}


def unaligned(a):
    raw = np.empty(a.nbytes + 1, np.uint8)
    out = raw[1:].view(a.dtype)
    out[...] = a
    return out


def values_of(dtype, seed=0, low=-2.0, high=3.0):
    generator = np.random.default_rng(seed)
    return lambda shape: generator.uniform(low, high, shape).astype(dtype)


def same(a, b):
    """Exact ndarrays of one dtype, shape and layout, equal bit by bit (nan equals nan)."""
    assert type(a) is type(b) is np.ndarray
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)
    if a.dtype.kind == "c":
        return same(a.real, b.real), same(a.imag, b.imag)
    zero = (a == 0) & (b == 0)
    np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))
    return None


def plain(function, *args):
    """A function's result with loops and rules switched off."""
    previous = set_fast_paths(False)
    try:
        return function(*args)
    finally:
        set_fast_paths(previous)


def ordinary(name, *operands):
    """The operation by NumPy's ordinary call: with NumPy's result type a 0-d array."""
    entry = OPS[name].entry
    return np.asarray(getattr(np, entry.numpy[0])(*operands))


def quiet():
    return np.errstate(all="ignore")


def recorded(name, operands, params=()):
    """The result of a recorded operation: every array operand requires grad."""
    inputs = [
        wrap_raw(x, requires_grad=True) if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x for x in operands
    ]
    op = OPS[name]
    return inputs, apply_op(op, op.bind((*inputs, *params), {}))


def gradients(name, operands, g, params=()):
    """The gradients of all array operands for the gradient g of the result."""
    inputs, out = recorded(name, operands, params)
    out.backward(wrap_raw(g))
    return [t.grad.array for t in inputs if hasattr(t, "grad") and t.grad is not None]


def outcome(function):
    """(the result, the errors it warned of or raised) of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function()
        except FloatingPointError as error:
            return None, [(FloatingPointError, str(error))]
    return result, sorted((w.category, str(w.message)) for w in caught)
