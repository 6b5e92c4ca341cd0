"""Kernels over rows that compute their elements first, compiled for the host with real threads and barriers.

Imports ops, backends.cuda's row_texts, rows and fused, and the NumPy backend's namespaces. No GPU is needed.
"""

import ctypes

import numpy as np
import pytest
from host_kernels import COMPILER, compile_text, row_text

import arraygrad as ag
from arraygrad.backends.cuda.fused import trace_chain
from arraygrad.backends.cuda.row_texts import gathered_text_of, mapped_text_of, scatter_fits, scattered_text_of
from arraygrad.backends.cuda.rows import layout
from arraygrad.core.tensor import backend_of
from arraygrad.ops import OPS

pytestmark = pytest.mark.slow

XP = backend_of(ag.asarray(np.ones(1))).rule_xp
LONG = np.dtype("int64")
DTYPES = ["f4", "f8"]
TAIL = [("negative", None), ("divide", "right"), ("multiply", "left")]


def texts(dtype):
    """(name, text) of each kernel."""
    real = np.dtype(dtype)
    spec = trace_chain([OPS["multiply"]], [real, real])
    for row in ("log_softmax", "log_softmax_backward", "softmax", "logsumexp", "sum"):
        tail = TAIL if row == "sum" else []
        name = f"multiply_{row}"
        yield name, mapped_text_of(f"arraygrad_{name}", spec, "cs", 2, False, row, tail)
    yield "gather_mean", gathered_text_of("arraygrad_gather_mean", real, LONG, 2, "mean", TAIL)
    for row in (None, "log_softmax_backward", "softmax_backward"):
        name = f"scatter_{row or 'rows'}"
        yield name, scattered_text_of(f"arraygrad_{name}", real, LONG, 2, row)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")
    found = [row_text(name, dtype, text) for dtype in DTYPES for name, text in texts(dtype)]
    return compile_text(found, tmp_path_factory.mktemp("row_texts"))


def launch(library, name, dtype, found, arrays, numbers):
    """Run a kernel on arrays and ints and floats of its type."""
    sizes, (wide, deep), blocks = found
    real = {"f4": ctypes.c_float, "f8": ctypes.c_double}[dtype]
    given = [ctypes.c_longlong(v) if type(v) is int else real(v) for v in (*numbers, *sizes)]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
    return getattr(library, f"r_{name}_{np.dtype(dtype).char}"), (blocks, wide, deep, *pointers, *given)


def close(found, expected, dtype):
    """Equal but for rounding."""
    np.testing.assert_allclose(found, expected, rtol=3e-5 if dtype == "f4" else 1e-12, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ["log_softmax", "log_softmax_backward", "softmax", "logsumexp", "sum"])
@pytest.mark.parametrize("shape", [(6, 5), (1, 300), (70, 3)])
def test_a_map_and_its_rows(library, shape, row, dtype):
    rng = np.random.default_rng(1)
    x, weights, ans = (rng.normal(size=s).astype(dtype) for s in (shape, shape[1:], shape))
    kept, out = np.full(shape, 777.0, dtype), np.full(shape, 777.0, dtype)
    found = layout(shape, None if row == "sum" else 1)
    tail = [np.full(1, 777.0, dtype) for _ in TAIL] if row == "sum" else []
    read = [ans] if row == "log_softmax_backward" else []
    numbers = [-4.0, 3.0] if row == "sum" else []
    function, arguments = launch(
        library, f"multiply_{row}", dtype, found, [x, weights, kept, *read, out, *tail], numbers
    )
    strides = np.array([*shape, 0, 1], dtype=np.int64)  # extents, then how the weights lie
    function(*arguments, strides.ctypes.data_as(ctypes.c_void_p))
    close(kept, x * weights, dtype)
    if row == "sum":
        total = kept.sum(dtype=np.float64)
        close(out.ravel()[0], total, dtype)
        close(np.concatenate(tail), [-total, -total / -4.0, 3.0 * (-total / -4.0)], dtype)
    elif row == "log_softmax_backward":
        close(out, OPS["log_softmax"].rules[0](XP, kept, ans, 1), dtype)
    elif row == "logsumexp":
        close(out.ravel()[: shape[0]], np.log(np.exp(kept.astype(np.float64)).sum(1)), dtype)
    else:
        close(out, OPS[row].entry.forward(XP, kept, 1), dtype)


INDICES = {
    "one for each row": lambda rng, n, m: (np.arange(n), rng.integers(0, m, n)),
    "in another order": lambda rng, n, m: (rng.permutation(n), rng.integers(-m, m, n)),
    "more than once": lambda rng, n, m: (rng.integers(-n, n, 40), rng.integers(-m, 2 * m, 40)),
    "one element": lambda rng, n, m: (np.full(9, n - 1), np.full(9, m - 1)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", [None, "log_softmax", "softmax"])
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("shape", [(6, 5), (70, 3), (2, 300)])
def test_elements_that_are_added_at_indices_and_their_rows(library, shape, kind, row, dtype):
    rng = np.random.default_rng(2)
    rows, columns = (np.ascontiguousarray(i, dtype=np.int64) for i in INDICES[kind](rng, *shape))
    ans, found = rng.normal(size=shape).astype(dtype), layout(shape, 1)
    name = f"scatter_{f'{row}_backward' if row else 'rows'}"
    for apart in (1, 0):
        x = rng.normal(size=rows.size).astype(dtype)
        kept, out = np.full(shape, 777.0, dtype), np.full(shape, 777.0, dtype)
        arrays = [x, rows, columns, kept, *([ans, out] if row else [])]
        function, arguments = launch(library, name, dtype, found, arrays, [shape[0], rows.size, apart])
        function(*arguments)
        expected = np.zeros(shape, dtype)
        np.add.at(expected, (rows % shape[0], columns % shape[1]), x if apart else x[0])
        close(kept, expected, dtype)
        if row:
            close(out, OPS[row].rules[0](XP, kept, ans, 1), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_that_are_taken_and_their_mean(library, dtype):
    rng = np.random.default_rng(3)
    x, rows, columns = rng.normal(size=(6, 5)).astype(dtype), rng.integers(-6, 6, 70), rng.integers(0, 5, 70)
    kept, out = np.full(70, 777.0, dtype), np.full(1, 777.0, dtype)
    tail = [np.full(1, 777.0, dtype) for _ in TAIL]
    function, arguments = launch(
        library, "gather_mean", dtype, layout((70,), 0), [x, rows, columns, kept, out, *tail], [2.0, 0.5, 6, 5]
    )
    function(*arguments)
    np.testing.assert_array_equal(kept, x[rows, columns])
    mean = kept.mean(dtype=np.float64)
    close(np.concatenate([out, *tail]), [mean, -mean, -mean / 2.0, -mean / 4.0], dtype)


def test_a_launch_does_not_look_through_more_indices_than_pay():
    assert scatter_fits(layout((64, 10), 1), 64)
    assert scatter_fits(layout((1024, 1000), 1), 1024)
    assert not scatter_fits(layout((2, 3), 1), 3000)
    assert not scatter_fits(layout((100_000, 10), 1), 2000)
