"""Random calls of the NumPy backend's compiled forwards: NumPy's values bit by bit, its dtypes, errors and warnings.

Shapes (some without elements), strides, byte orders, alignments, dtypes, broadcasts, axes, nan, infinities, zeros of
both signs and numbers that overflow are drawn at random.
"""

import warnings

import numpy as np
import pytest
from fast_path_cases import plain, unaligned

from arraygrad.backends.numpy.table import BINARY_LOOPS, UNARY_LOOPS
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-310, 3e38, 5e-324, 2.5, 1e300, 100.0])
NUMBERS = [2, 2.5, -1, 0, 1e300, float("nan"), 3, 0.5, 2**60, True, -0.0]
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "var", "std")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
CASES = 150

exact_sums = np.lib.NumpyVersion(np.__version__) >= "2.4.0"  # before, NumPy adds arrays with gaps in another order


def random_array(rng, shape, dtype):
    a = rng.normal(size=shape) * 10 ** rng.uniform(-3, 3)
    a = np.where(rng.random(shape) < rng.choice([0, 0.3]), rng.choice(SPECIAL, size=shape), a)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, size=shape), rng.normal(size=shape))
    return laid_out(rng, np.asarray(a).astype(dtype))


def laid_out(rng, a):
    """`a` in a random layout."""
    kind = rng.integers(0, 9)
    if kind == 1:
        return np.asfortranarray(a)
    if kind == 2 and a.ndim:
        out = np.zeros(tuple(2 * n for n in a.shape), a.dtype)[(slice(None, None, 2),) * a.ndim]
        out[...] = a
        return out
    if kind == 3 and a.ndim:
        return a[::-1]
    if kind == 4 and a.ndim > 1:
        return np.swapaxes(np.ascontiguousarray(np.swapaxes(a, 0, -1)), 0, -1)
    if kind == 5 and a.ndim and len(a):
        return np.broadcast_to(a[:1], a.shape)
    if kind == 6:
        return a.astype(a.dtype.newbyteorder())
    if kind == 7:
        return unaligned(a.ravel()).reshape(a.shape)
    if kind == 8 and a.size:
        return np.broadcast_to(a.reshape(-1)[0], a.shape)
    return a


def random_axis(rng, ndim):
    if ndim == 0 or rng.random() < 0.3:
        return None
    if rng.random() < 0.7:
        return int(rng.integers(-ndim, ndim))
    return tuple(int(axis) for axis in rng.permutation(ndim)[: rng.integers(1, ndim + 1)])


def random_call(rng, name):
    """(arguments, keywords) of an operation."""
    ndim = int(rng.integers(0, 4))
    shape = tuple(
        int(n) for n in rng.choice([0, 1, 2, 3, 5, 8, 17], size=ndim, p=[0.05, 0.2, 0.2, 0.2, 0.15, 0.15, 0.05])
    )
    dtype = rng.choice(["f", "d", "F", "D"], p=[0.35, 0.35, 0.15, 0.15])
    x = random_array(rng, shape, dtype)
    if name in UNARY_LOOPS or name in ("isnan", "isinf", "isfinite", "sigmoid"):
        return (x,), {}
    axis = random_axis(rng, ndim)
    if name in REDUCTIONS:
        more = {"correction": float(rng.choice([0, 1, 0.5]))} if name in ("var", "std") else {}
        return (x,), {"axis": axis, "keepdims": bool(rng.integers(2)), **more}
    second = dtype if rng.random() < 0.85 else rng.choice(["f", "d", "F", "D"])
    if name in ("concat", "stack"):
        arrays = [x, random_array(rng, shape, dtype), random_array(rng, shape, second)]
        return (arrays,), {"axis": axis if isinstance(axis, int) else 0}
    if name == "matmul":
        return (x, random_array(rng, shape[::-1] if ndim == 2 else shape, second)), {}
    other = shape[int(rng.integers(0, ndim + 1)) :] if rng.random() < 0.3 else shape
    other = tuple(1 if rng.random() < 0.25 else n for n in other)
    y = random_array(rng, other, second) if rng.random() < 0.75 else NUMBERS[rng.integers(len(NUMBERS))]
    if name == "where":
        return (laid_out(rng, rng.random(shape) < 0.5), x, y), {}
    return ((x, y) if rng.random() < 0.8 else (y, x)), {}


def outcome(name, args, kwargs):
    """(bits, warnings) of a call, or (the error's type, its text)."""

    def tensor(value):
        if isinstance(value, list):
            return [tensor(one) for one in value]
        return wrap_raw(value) if isinstance(value, np.ndarray) else value

    op = OPS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            out = apply_op(op, op.bind(tuple(map(tensor, args)), kwargs)).array
        except (ValueError, TypeError, OverflowError) as error:
            return type(error), str(error)
    return bits(out), sorted({str(w.message) for w in caught})


def bits(a):
    """What two equal arrays have in common: dtype, shape, and bytes, where one nan is as another."""
    plainly = np.ascontiguousarray(a.astype(a.dtype.newbyteorder("="))).reshape(-1)
    parts = plainly.view(plainly.real.dtype) if plainly.dtype.kind == "c" else plainly
    if parts.dtype.kind == "f":
        parts = np.where(np.isnan(parts), np.array(np.nan, parts.dtype), parts)
    return a.dtype.newbyteorder("="), a.shape, parts.tobytes()


def told(value):
    if isinstance(value, list):
        return [told(one) for one in value]
    return (value.dtype.str, value.shape, value.strides) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    "name",
    [
        *UNARY_LOOPS, *BINARY_LOOPS, *COMPARISONS, "pow", "where", "concat", "stack", "isnan", "isinf", "isfinite",
        "sigmoid", "matmul", *REDUCTIONS,
    ],
)  # fmt: skip
def test_random_calls_give_what_numpys_own_give(name):
    if name in REDUCTIONS and not exact_sums:
        pytest.skip("this NumPy adds arrays with gaps in an order of its own")
    rng = np.random.default_rng([ord(letter) for letter in name])
    with np.errstate(all="ignore"):
        calls = [random_call(rng, name) for _ in range(CASES)]
    for args, kwargs in calls:
        got, expected = outcome(name, args, kwargs), plain(outcome, name, args, kwargs)
        assert got == expected, (told(list(args)), kwargs)
