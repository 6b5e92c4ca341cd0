"""Kernels that reduce rows, compiled for the host with real threads and barriers: the values are the table's.

Imports ops, backends.rows and the NumPy backend's namespaces. No GPU is needed.
"""

import ctypes
import math

import numpy as np
import pytest
from host_kernels import COMPILER, compile_text, row_text

import arraygrad as ag
from arraygrad.backends.cuda.rows import KERNELS, LONG, layout, reduced_shape
from arraygrad.core.tensor import backend_of
from arraygrad.ops import OPS

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

XP = backend_of(ag.asarray(np.ones(1))).rule_xp
INF = math.inf

# Shapes and axes: one row, rows that fill no block, long rows, rows that are not next to each other, several axes.
LAYOUTS = [((5,), 0), ((3, 7), -1), ((70, 3), 1), ((2, 300), 1), ((4, 6, 5), 1), ((2, 3, 4), (1, 2)), ((3, 4), None)]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")
    texts = [row_text(name, dtype) for name in (*KERNELS, "sum_part", "mean_of_parts") for dtype in ("f4", "f8")]
    return compile_text(texts, tmp_path_factory.mktemp("rows"))


def launch(library, name, axis, arrays, out_shape, freedom=None, apart=1):
    """The result of a kernel on NumPy arrays, the first of full shape that it has giving the layout.

    With `apart=0` only the first element of a gradient is read.
    """
    like = max(arrays, key=lambda a: a.size)
    (rows, n, inner), (wide, deep), blocks = layout(like.shape, axis)
    out = np.full(out_shape, 777.0, dtype=like.dtype)
    pointers = [np.ascontiguousarray(a).ctypes.data_as(ctypes.c_void_p) for a in arrays]
    extra = [ctypes.c_longlong(apart)] if "_backward" in name else []
    extra += [] if freedom is None else [ctypes.c_double(freedom)]
    function = getattr(library, f"r_{name}_{like.dtype.char}")
    sizes = [ctypes.c_longlong(v) for v in (rows, n, inner)]
    function(blocks, wide, deep, *pointers, out.ctypes.data_as(ctypes.c_void_p), *extra, *sizes)
    return out


def values(shape, dtype, seed=3):
    """Numbers with ties among them."""
    return np.random.default_rng(seed).integers(-6, 6, shape).astype(dtype) / 2


def close(found, expected, dtype):
    """Equal but for rounding; nan is nan."""
    np.testing.assert_allclose(found, expected, rtol=3e-5 if dtype == "f4" else 1e-12, atol=1e-6, equal_nan=True)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_and_its_gradient(library, name, shape, axis, dtype):
    x, g = values(shape, dtype), values(shape, dtype, 4)
    ans = OPS[name].entry.forward(XP, x, axis)
    close(launch(library, name, axis, [x], shape), ans, dtype)
    expected = OPS[name].rules[0](XP, g, ans, axis)
    close(launch(library, f"{name}_backward", axis, [g, ans], shape), expected, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
def test_logsumexp_and_its_gradient(library, shape, axis, dtype):
    x = values(shape, dtype)
    ans = np.asarray(OPS["logsumexp"].entry.forward(XP, x, axis, True))
    close(launch(library, "logsumexp", axis, [x], ans.shape), ans, dtype)
    g = values(ans.shape, dtype, 5)
    expected = OPS["logsumexp"].rules[0](XP, g, x, ans, axis, True)
    close(launch(library, "logsumexp_backward", axis, [g, x, ans], shape), expected, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("name", [name for name in KERNELS if name.endswith("_backward")])
def test_a_gradient_may_be_one_number_everywhere(library, name, shape, axis, dtype):
    x, free = values(shape, dtype), {"freedom": 3.0} if name[:3] in ("var", "std") else {}
    reduced = name not in ("softmax_backward", "log_softmax_backward")
    ans = values(reduced_shape(shape, axis, True), dtype, 5) if reduced else values(shape, dtype, 6)
    others = {"var_backward": [x], "softmax_backward": [ans], "log_softmax_backward": [ans]}.get(name, [x, ans])
    g = np.full(ans.shape, -0.75, dtype=dtype)
    expected = launch(library, name, axis, [g, *others], shape, **free)
    g.reshape(-1)[1:] = 55.0
    np.testing.assert_array_equal(launch(library, name, axis, [g, *others], shape, **free, apart=0), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [name for name in KERNELS if name.endswith("_added")])
def test_a_gradient_may_be_added_to_what_is_there(library, name, dtype):
    shape, axis = (70, 3), 1
    x, free = values(shape, dtype), {"freedom": 3.0} if name[:3] in ("var", "std") else {}
    plain = name.removesuffix("_added")
    reduced = plain not in ("softmax_backward", "log_softmax_backward")
    g, ans = (values(reduced_shape(shape, axis, True) if reduced else shape, dtype, seed) for seed in (5, 6))
    others = {"var_backward": [x], "softmax_backward": [ans], "log_softmax_backward": [ans]}.get(plain, [x, ans])
    expected = launch(library, plain, axis, [g, *others], shape, **free) + np.array(777.0, dtype=dtype)
    close(launch(library, name, axis, [g, *others], shape, **free), expected, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("correction", [0.0, 1.0])
def test_variance_and_deviation_and_their_gradients(library, shape, axis, dtype, correction):
    x = values(shape, dtype)
    x.reshape(-1)[: x.shape[-1]] = 1.5  # a row without deviation
    n = math.prod(shape) // math.prod(reduced_shape(shape, axis, True))
    var = np.asarray(np.var(x, axis=axis, correction=correction, keepdims=True))
    std = np.sqrt(var)
    g = values(var.shape, dtype, 6)
    free = n - correction
    close(launch(library, "var", axis, [x], var.shape, free), var, dtype)
    close(launch(library, "std", axis, [x], var.shape, free), std, dtype)
    expected = OPS["var"].rules[0](XP, g, x, axis, correction, True)
    close(launch(library, "var_backward", axis, [g, x], shape, free), expected, dtype)
    expected = OPS["std"].rules[0](XP, g, x, std, axis, correction, True)
    close(launch(library, "std_backward", axis, [g, x, std], shape, free), expected, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("name", ["max", "min"])
def test_gradient_of_an_extremum_is_shared_by_ties(library, name, shape, axis, dtype):
    x = values(shape, dtype)
    ans = np.asarray(getattr(np, name)(x, axis=axis, keepdims=True))
    g = values(ans.shape, dtype, 6)
    expected = OPS[name].rules[0](XP, g, x, ans, axis, True)
    close(launch(library, "extremum_backward", axis, [g, x, ans], shape), expected, dtype)


@pytest.mark.parametrize(
    "row",
    [
        [-INF, -INF, -INF],
        [INF, 1.0, INF],
        [INF, -INF, 0.0],
        [math.nan, 1.0, 2.0],
        [1e30, 1e30, -1e30],
        [0.0, -INF, 0.0],
    ],
)
def test_rows_of_infinities_and_nans(library, row):
    x, g = np.asarray([row, [1.0, 2.0, 3.0]]), np.asarray([[0.5], [2.0]])
    ans = OPS["logsumexp"].entry.forward(XP, x, 1, True)
    close(launch(library, "logsumexp", 1, [x], ans.shape), ans, "f8")
    expected = OPS["logsumexp"].rules[0](XP, g, x, ans, 1, True)
    close(launch(library, "logsumexp_backward", 1, [g, x, ans], x.shape), expected, "f8")
    close(launch(library, "softmax", 1, [x], x.shape), OPS["softmax"].entry.forward(XP, x, 1), "f8")
    close(launch(library, "log_softmax", 1, [x], x.shape), OPS["log_softmax"].entry.forward(XP, x, 1), "f8")
    top = np.max(x, axis=1, keepdims=True)
    expected = OPS["max"].rules[0](XP, g, x, top, 1, True)
    close(launch(library, "extremum_backward", 1, [g, x, top], x.shape), expected, "f8")


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((2, 3, 4), (0, 2)), ((3, 0), 1), ((4,), 1), ((4,), "x"), ((2, 2), (0, 0)), ((), None), ((1, LONG + 1), 1)],
)
def test_what_no_launch_fits_is_declined(shape, axis):
    assert layout(shape, axis) is None


@pytest.mark.parametrize(("shape", "axis"), [*LAYOUTS, ((1024, 10), 1), ((100, LONG), 1), ((8, 9, 1000), 1)])
def test_a_launch_covers_every_row_once_and_fits_a_block(shape, axis):
    (rows, n, inner), (wide, deep), blocks = layout(shape, axis)
    assert rows * n == math.prod(shape)
    assert rows % inner == 0
    assert (blocks - 1) * wide < rows <= blocks * wide
    assert wide * deep <= 256
    assert wide & (wide - 1) == deep & (deep - 1) == 0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("outer", "n", "inner", "share"), [(1, 10, 3, 4), (2, 12, 5, 4), (3, 7, 1, 7), (1, 300, 2, 64)]
)
def test_parts_of_rows_add_up_to_the_sum_and_the_mean(library, outer, n, inner, share, dtype):
    x = values((outer, n, inner), dtype)
    parts = -(-n // share)
    out = np.full((outer, parts, inner), 777.0, dtype=dtype)
    sizes = [ctypes.c_longlong(v) for v in (outer * inner, n, inner, share)]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, out)]
    function = getattr(library, f"r_sum_part_{np.dtype(dtype).char}")
    function(-(-outer * parts * inner // 4), 4, 8, *pointers, *sizes)
    close(out, np.stack([x[:, k : k + share].sum(1) for k in range(0, n, share)], axis=1), dtype)
    mean = launch(library, "mean_of_parts", 1, [out], (outer, inner), float(n))
    close(mean, x.mean(axis=1), dtype)
