"""The texts of prepared kernels, compiled for the host: whatever the layout, they compute what NumPy does.

Imports ops, ops.expression, backends.cuda.fused, backends.cuda.rows and backends.cuda.texts. No GPU is needed.
"""

import ctypes

import numpy as np
import pytest
from host_kernels import COMPILER, compile_text, prepared_text, sum_text

from arraygrad.backends.cuda.fused import trace_forward
from arraygrad.backends.cuda.rows import broadcast_layout
from arraygrad.backends.cuda.texts import text_of
from arraygrad.ops import OPS

SHAPE = (3, 4, 5)
N = 60
# kinds -> the axes of the launch and, for each strided operand, a view of SHAPE.
BASE = np.random.default_rng(2).uniform(0.5, 2.0, (6, 8, 10))
CASES = {
    "cc": (),
    "co": (),
    "oc": (),
    "cv": (),
    "cs": (lambda a: np.broadcast_to(a[0, 0, :5], SHAPE),),
    "sc": (lambda a: a[::2, ::2, ::2],),
    "ss": (lambda a: a[:3, :4, :5].transpose(0, 1, 2)[::-1, :, ::-1], lambda a: np.broadcast_to(a[:3, :1, :1], SHAPE)),
    "os": (lambda a: a[1:4, 2:6, 3:8],),
}
pytestmark = pytest.mark.slow

DTYPES = ("float32", "complex128")
NUMBERED = [(kinds, dtype, wide) for kinds in CASES for dtype in DTYPES for wide in (False, True)]


def spec(dtype):
    return trace_forward(OPS["multiply"], [np.dtype(dtype)] * 2)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")
    texts = [prepared_text(i, spec(d), kinds, 3 if "s" in kinds else 0, w) for i, (kinds, d, w) in enumerate(NUMBERED)]
    return compile_text(texts, tmp_path_factory.mktemp("prepared"))


@pytest.mark.parametrize(("number", "case"), list(enumerate(NUMBERED)), ids=[f"{k}-{d}-{w}" for k, d, w in NUMBERED])
def test_a_prepared_kernel_multiplies_whatever_the_layout(library, number, case):
    kinds, dtype, _ = case
    base = BASE.astype(dtype)
    views = iter(CASES[kinds])
    operands, arguments, strides = [], [], []
    for kind in kinds:
        if kind == "s":
            operand = next(views)(base)
            strides += [step // operand.itemsize for step in operand.strides]
        else:
            operand = {"c": base[:3, :4, :5].copy(), "o": base[2, 2, 2:3].copy(), "v": np.asarray(1.25, dtype)}[kind]
        operands.append(operand)
        if kind == "v":
            arguments.append({"f": ctypes.c_float(1.25)}.get(operand.dtype.char))
        else:
            arguments.append(ctypes.c_void_p(operand.__array_interface__["data"][0]))
    if None in arguments:
        pytest.skip("ctypes passes no complex numbers by value")
    out = np.full(SHAPE, np.nan, dtype)
    arguments += [ctypes.c_void_p(out.ctypes.data), ctypes.c_longlong(N)]
    if strides:
        layout = (ctypes.c_longlong * (3 + len(strides)))(*SHAPE, *strides)
        arguments.append(ctypes.cast(layout, ctypes.c_void_p))
    # Fewer threads than elements, so that each takes several.
    getattr(library, f"p{number}")(ctypes.c_uint(2), ctypes.c_uint(8), *arguments)
    np.testing.assert_allclose(out, np.broadcast_to(operands[0] * operands[1], SHAPE), rtol=1e-6)


# shape of the product, of what it is summed to, and a view of the second factor (None: in one piece)
SUMS = [
    ((6, 5), (5,), None),
    ((300, 4), (4,), lambda a: a.T),
    ((4, 300), (4, 1), None),
    ((4, 6, 5), (4, 1, 5), lambda a: a[:, ::-1]),
    ((70, 3), (), lambda a: np.broadcast_to(a[:1], (70, 3))),
]


@pytest.fixture(scope="module")
def sums(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")
    texts = [
        sum_text(f"{i}{d[-2:]}", spec(d), "cc" if view is None else "cs", 0 if view is None else len(shape))
        for i, (shape, _, view) in enumerate(SUMS)
        for d in ("float32", "float64")
    ]
    return compile_text(texts, tmp_path_factory.mktemp("sums"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", range(len(SUMS)))
def test_a_kernel_sums_the_products_that_it_computes(sums, number, dtype):
    shape, target, view = SUMS[number]
    rng = np.random.default_rng(number)
    first = rng.uniform(0.5, 2.0, shape).astype(dtype)
    second = rng.uniform(0.5, 2.0, shape[::-1] if number == 1 else shape).astype(dtype)
    factor = second if view is None else view(second)
    (rows, n, inner), (wide, deep), blocks = broadcast_layout(shape, target)
    out = np.full(target, np.nan, dtype)
    arguments = [ctypes.c_void_p(a.__array_interface__["data"][0]) for a in (first, factor, out)]
    arguments += [ctypes.c_longlong(m) for m in (rows, n, inner)]
    if view is not None:
        layout = [*shape, *[step // factor.itemsize for step in factor.strides]]
        layout = (ctypes.c_longlong * len(layout))(*layout)
        arguments.append(ctypes.cast(layout, ctypes.c_void_p))
    getattr(sums, f"t{number}{dtype[-2:]}")(blocks, wide, deep, *arguments)
    axes = tuple(range(len(shape) - len(target))) + tuple(
        i + len(shape) - len(target) for i, m in enumerate(target) if m == 1
    )
    expected = (first * factor).sum(axis=axes, dtype="float64").reshape(target)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_indices_have_as_many_bits_as_they_need():
    narrow, wide = (text_of("k", spec("float32"), "cs", 2, w) for w in (False, True))
    assert "unsigned int rest_" in narrow
    assert "unsigned long long rest_" in wide


def test_only_kernels_of_complex_numbers_read_their_header():
    assert "complex.cuh" in text_of("k", spec("complex64"), "cc")
    assert "complex" not in text_of("k", spec("float32"), "cc")
