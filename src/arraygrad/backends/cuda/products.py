"""Products of matrices: what CuPy's functions would copy first, and what they refuse while a stream captures.

May import: backends.cuda.prepared, numpy, importlib. CuPy is handed in as a module. The CUDA text compiles as C++ too,
for tests.

cuBLAS reads either matrix as it is or transposed. `cupy.matmul` of stacks uses none of this and makes a contiguous copy
of a transposed stack; `Products.batched` asks cuBLAS for the same without one.

CuPy calls no cuBLAS while a stream captures (it raises NotImplementedError); there matrices have a kernel of ours. A
block of 16 x 16 threads computes as many elements, of tiles of both matrices in shared memory. Either matrix may be
any view: its strides are arguments. This is slower than cuBLAS, by far where that has tensor cores.
"""

import importlib

import numpy

from arraygrad.backends.cuda.prepared import Gemm, RowLauncher

__all__ = ["Products", "source"]

TILE = 16

_TEXT = r"""
extern "C" __global__ void arraygrad_product(const REAL* a, const REAL* b, REAL* out, const long long rows,
    const long long columns, const long long depth, const long long a_row, const long long a_column,
    const long long b_row, const long long b_column) {
  __shared__ REAL left[TILE][TILE + 1], right[TILE][TILE + 1];
  const long long across = (columns + TILE - 1) / TILE;
  const long long row = blockIdx.x / across * TILE + threadIdx.y;
  const long long column = blockIdx.x % across * TILE + threadIdx.x;
  REAL sum = REAL(0);
  for (long long at = 0; at < depth; at += TILE) {
    const long long k_left = at + threadIdx.x, k_right = at + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < rows && k_left < depth ? a[row * a_row + k_left * a_column] : REAL(0);
    right[threadIdx.y][threadIdx.x] =
        column < columns && k_right < depth ? b[k_right * b_row + column * b_column] : REAL(0);
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < columns) out[row * columns + column] = sum;
}
"""


def source(dtype):
    """The CUDA text for float32 or float64; the kernel is called `arraygrad_product`."""
    kind = {"f": "float", "d": "double"}[numpy.dtype(dtype).char]
    return _TEXT.replace("REAL", kind).replace("TILE", str(TILE))


_LARGEST = 0x7FFFFFFF  # of a number that cuBLAS takes


class _Stacks:
    """What `cupy.matmul` calls for stacks, found when it is first needed: that loads cuBLAS."""

    def __init__(self):
        self.cublas = importlib.import_module("cupy_backends.cuda.libs.cublas")
        self.handle = importlib.import_module("cupy.cuda.device").get_cublas_handle
        self.type_of = importlib.import_module("cupy._core._dtype").to_cuda_dtype
        self.factors = {c: (numpy.ones(1, c), numpy.zeros(1, c)) for c in "fdFD"}


class Products:
    """Products(cupy, launcher): `matmul(a, b)` of two matrices within a capture, `batched` of stacks outside."""

    def __init__(self, cupy, launcher):
        self._cupy, self._launcher = cupy, launcher
        self._launchers = {}
        self._stacks = None
        self.gemm = Gemm(cupy)

    def fits(self, a, b):
        """Whether `batched` serves: two stacks of as many matrices, of one dtype, in one piece, here, none empty."""
        if not self.gemm.serves or type(a) is not self._cupy.ndarray or type(b) is not self._cupy.ndarray:
            return False
        if a.ndim < 3 or a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype:
            return False
        if a.dtype.char not in "fdFD" or not a.size or not b.size or max(*a.shape, *b.shape, a.size) > _LARGEST:
            return False
        here = self._cupy.cuda.runtime.getDevice()
        return a.data.device_id == here == b.data.device_id and None not in (_row_major(a), _row_major(b))

    def batched(self, a, transposes_a, b, transposes_b):
        """Products of two stacks of matrices that fit, each as it is or transposed in its last two axes."""
        a, turned = _row_major(a)
        transposes_a ^= turned
        b, turned = _row_major(b)
        transposes_b ^= turned
        (rows, depth), (inner, columns) = a.shape[-2:], b.shape[-2:]
        step_a, step_b = depth, columns
        if transposes_a:
            rows, depth = depth, rows
        if transposes_b:
            inner, columns = columns, inner
        if inner != depth:
            raise ValueError(f"matmul: {depth} columns of the first matrices meet {inner} rows of the second")
        if self._stacks is None:
            self._stacks = _Stacks()
        stacks, kind = self._stacks, a.dtype.char
        out = self._cupy.ndarray((*a.shape[:-2], rows, columns), a.dtype)
        one, zero = stacks.factors[kind]
        number, size = stacks.type_of(a.dtype), out.size // (rows * columns)
        stacks.cublas.gemmStridedBatchedEx(  # of what it reads column by column: the transposes, in the other order
            stacks.handle(), int(transposes_b), int(transposes_a), columns, rows, depth, one.ctypes.data,
            b.data.ptr, number, step_b, b.shape[-1] * b.shape[-2],
            a.data.ptr, number, step_a, a.shape[-1] * a.shape[-2],
            zero.ctypes.data, out.data.ptr, number, columns, rows * columns, size, number,
            stacks.cublas.CUBLAS_GEMM_DEFAULT,
        )  # fmt: skip
        return out

    def matmul(self, a, b):
        """a @ b for two real matrices of one dtype, in whatever order; None for any other arrays."""
        if a.ndim != 2 or b.ndim != 2 or a.dtype != b.dtype or a.dtype.char not in "fd" or a.shape[1] != b.shape[0]:
            return None
        if not a.size or not b.size:
            return None
        launcher = self._launchers.get(a.dtype)
        if launcher is None:
            launcher = RowLauncher(self._launcher, source(a.dtype), "arraygrad_product")
            self._launchers[a.dtype] = launcher
        (rows, depth), columns = a.shape, b.shape[1]
        out = self._cupy.ndarray((rows, columns), a.dtype)
        strides = [step // a.itemsize for step in (*a.strides, *b.strides)]
        blocks = -(-rows // TILE) * -(-columns // TILE)
        launcher(blocks, (TILE, TILE), [a, b, out, rows, columns, depth, *strides], 0)
        return out


def _row_major(a):
    """(row-major matrices over the memory of `a`, whether they are its transposes); None: it is in no piece."""
    if a.flags.c_contiguous:
        return a, False
    turned = a.swapaxes(-1, -2)
    return (turned, True) if turned.flags.c_contiguous else None
