# Products of stacks of small matrices of plain float32 and float64 arrays, for gradients.
# May import: backends.numpy.elementwise, backends.numpy.ndarrays, backends.numpy.loops.
#
# NumPy's matmul calls BLAS, or a loop for any strides, for each matrix: 60 to 150 ns, of which three by three matrices
# need 10. Sums are in another order than BLAS's, so values of recorded operations are never computed so.
# Guarded by tests/backends/test_fast_small_products.py.
from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_c, view_of
from arraygrad.backends.numpy.loops cimport item_size, report

cdef extern from "small_products.hpp" namespace "arraygrad":
    struct SmallProduct:
        Py_ssize_t n, rows, inner, columns
        Py_ssize_t a[3]
        Py_ssize_t b[3]
    int run_small_products(int slot, const char* a, const char* b, char* out, const SmallProduct& p) noexcept

cdef enum:
    LARGEST = 8             # rows, columns and terms of a sum up to which that is faster than BLAS
    MANY = 16               # matrices from which on it pays


cdef bint read_stack(const ArrayView* v, Py_ssize_t* count, Py_ssize_t* steps) noexcept:
    """How many matrices a stack has, and its steps in elements. False: those in front have no step in common."""
    cdef int d
    cdef Py_ssize_t item = item_size(v.slot), step = 0
    count[0] = 1
    for d in range(v.ndim - 3, -1, -1):
        if v.dims[d] == 1:
            continue
        if count[0] == 1:
            step = v.strides[d]
        elif v.strides[d] != step * count[0]:
            return False
        count[0] *= v.dims[d]
    steps[0] = step
    steps[1], steps[2] = v.strides[v.ndim - 2], v.strides[v.ndim - 1]
    for d in range(3):
        if steps[d] % item:
            return False
        steps[d] //= item
    return True


cdef object small_product(object a, object b):
    """The product of two stacks of small matrices with the same axes in front, row-major. None: others."""
    cdef ArrayView v, w, o
    cdef SmallProduct p
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t count = 0
    cdef int d, slot = real_view(a, &v)
    cdef object out
    if slot < 0 or real_view(b, &w) != slot or not 3 <= v.ndim <= 8 or w.ndim != v.ndim or v.size == 0 or w.size == 0:
        return None
    p.rows, p.inner, p.columns = v.dims[v.ndim - 2], v.dims[v.ndim - 1], w.dims[v.ndim - 1]
    if p.inner != w.dims[v.ndim - 2] or p.inner > LARGEST or (p.rows > LARGEST or p.columns > LARGEST) and p.inner > 1:
        return None
    for d in range(v.ndim - 2):
        if v.dims[d] != w.dims[d]:
            return None
        dims[d] = v.dims[d]
    if not read_stack(&v, &p.n, p.a) or not read_stack(&w, &count, p.b) or p.n < MANY:
        return None
    dims[v.ndim - 2], dims[v.ndim - 1] = p.rows, p.columns
    out = empty_c(a, v.ndim, dims)
    view_of(out, &o)
    report("matmul", run_small_products(slot, v.data, w.data, o.data, p))
    return out
