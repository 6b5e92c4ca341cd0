"""Products of matrices while a stream captures: CuPy calls no cuBLAS then (it raises NotImplementedError).

May import: backends.cuda.prepared, numpy. CuPy is handed in as a module. The CUDA text compiles as C++ too, for tests.

A block of 16 x 16 threads computes as many elements, of tiles of both matrices in shared memory. Either matrix may be
any view: its strides are arguments. This is slower than cuBLAS, by far where that has tensor cores.
"""

import numpy

from arraygrad.backends.cuda.prepared import RowLauncher

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


class Products:
    """Products(cupy, launcher): `matmul(a, b)` of two matrices."""

    def __init__(self, cupy, launcher):
        self._cupy, self._launcher = cupy, launcher
        self._launchers = {}

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
