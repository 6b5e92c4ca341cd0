"""cuBLAS for the stand-in for CuPy, as CuPy's modules export it to Cython: functions under names with C signatures.

`products` gets one dict for each product of two matrices: what cuBLAS was asked. `compute_types` is what CuPy was told
to compute in. Imported by stand_in.
"""

import ctypes
import sys
import types

import happens_before
import numpy as np
from stand_in import _at_addresses, here, launches
from stand_in_kernels import array_at

products = []  # one dict for each product of two matrices
compute_types = {}  # dtype.char -> CuPy's COMPUTE_TYPE_*; 1 where none is set


def _exported(name, signature, result, *parameters):
    """A module's `__pyx_capi__` with one Python function as a C function."""

    def wrap(function):
        pointer = ctypes.PYFUNCTYPE(result, *parameters)(function)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        text = signature.encode()
        _exported.kept += [pointer, text]
        return {name: new(ctypes.cast(pointer, ctypes.c_void_p), text, None)}

    return wrap


_exported.kept = []
_int, _size, _object = ctypes.c_int, ctypes.c_size_t, ctypes.py_object


@_exported("get_cublas_handle", "intptr_t (int __pyx_skip_dispatch)", ctypes.c_ssize_t, _int)
def _device_exports(skip):
    return 1


@_exported("get_compute_type", "PyObject *(PyObject *, int __pyx_skip_dispatch)", _object, _object, _int)
def _linalg_exports(dtype, skip):
    return compute_types.get(dtype.char, 1)


@_exported(
    "gemmEx",
    "PyObject *(intptr_t, int, int, int, int, int, size_t, size_t, int, int, size_t, int, int, size_t, size_t, int, "
    "int, int, int, int __pyx_skip_dispatch)",
    *(_object, ctypes.c_ssize_t, _int, _int, _int, _int, _int, _size, _size, _int, _int, _size, _int, _int, _size),
    *(_size, _int, _int, _int, _int, _int),
)
def _cublas_exports(handle, ta, tb, m, n, k, one, a, kind, lda, b, _, ldb, zero, c, __, ldc, compute, algorithm, skip):
    dtype = np.dtype({0: "f", 1: "d", 4: "F", 5: "D"}[kind])
    assert (array_at(one, 1, dtype)[0], array_at(zero, 1, dtype)[0]) == (1, 0)
    products.append({"flags": (ta, tb), "sizes": (m, n, k), "compute": compute, "algorithm": algorithm})
    _multiply(ta, tb, m, n, k, a, lda, b, ldb, c, ldc, dtype)
    launches.append("gemmEx")
    memories = [_at_addresses[address] for address in (a, b, c)]
    happens_before.ran("gemmEx", here(), memories[:2], memories[2:])


def _multiply(ta, tb, m, n, k, a, lda, b, ldb, c, ldc, dtype):
    """c = a b of matrices that are stored column by column, `ld` apart."""

    def matrix(address, rows, columns, step):
        assert step >= rows
        flat = array_at(address, step * (columns - 1) + rows, dtype)
        return np.lib.stride_tricks.as_strided(flat, (rows, columns), (dtype.itemsize, step * dtype.itemsize))

    left = matrix(a, k, m, lda).T if ta else matrix(a, m, k, lda)
    right = matrix(b, n, k, ldb).T if tb else matrix(b, k, n, ldb)
    matrix(c, m, n, ldc)[...] = left @ right


def _strided_batched(
    handle, ta, tb, m, n, k, one, a, kind, lda, sa, b, _, ldb, sb, zero, c, __, ldc, sc, count, compute, algorithm
):
    """cupy_backends.cuda.libs.cublas.gemmStridedBatchedEx."""
    dtype = np.dtype({0: "f", 1: "d", 4: "F", 5: "D"}[kind])
    for i in range(count):
        at = [address + i * step * dtype.itemsize for address, step in ((a, sa), (b, sb), (c, sc))]
        _multiply(ta, tb, m, n, k, at[0], lda, at[1], ldb, at[2], ldc, dtype)
    launches.append("gemmStridedBatchedEx")
    memories = [_at_addresses[address] for address in (a, b, c)]
    happens_before.ran("gemmStridedBatchedEx", here(), memories[:2], memories[2:])


def _module(name, **names):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(names)


_module("cupy.cuda.device", __pyx_capi__=_device_exports, get_compute_capability=lambda: "90", get_cublas_handle=int)
_module("cupy._core._routines_linalg", __pyx_capi__=_linalg_exports)
_module("cupy._core._dtype", to_cuda_dtype=lambda dtype: {"f": 0, "d": 1, "F": 4, "D": 5}[dtype.char])
_module(
    "cupy_backends.cuda.libs.cublas",
    __pyx_capi__=_cublas_exports,
    gemmStridedBatchedEx=_strided_batched,
    CUBLAS_GEMM_DEFAULT=-1,
)
