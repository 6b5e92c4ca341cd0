# Gradients of factorizations, determinants and equations of stacks of small real matrices, by loops of our own.
# May import: backends.numpy.ndarrays, backends.numpy.loops.
#
# The table's rules take ten to twenty calls of NumPy, each of which goes through the stack and calls LAPACK or BLAS for
# every small matrix. stacks.hpp takes one matrix after the other through the whole rule. It declines where something is
# not finite, singular or not of a size that pays: what is reported then, and what comes out, is the table's. Guarded by
# tests/backends/test_fast_stacks.py.
from arraygrad.backends.numpy.ndarrays cimport ArrayView, copy_into, empty_of, view_of
from arraygrad.backends.numpy.loops cimport FPE_DIVIDE, FPE_INVALID, FPE_OVER, SLOT_F64, fast_enabled, fp_begin, fp_end

cdef extern from "stacks.hpp" namespace "arraygrad" nogil:
    bint stack_determinant(int slot, const char* x, const char* g, char* out, Py_ssize_t count, Py_ssize_t n,
                           bint logarithm) noexcept
    bint stack_cholesky(int slot, const char* factor, const char* g, char* out, Py_ssize_t count, Py_ssize_t n,
                        bint upper) noexcept
    bint stack_solve(int slot, const char* x, const char* g, const char* ans, char* out_x, char* out_b,
                     Py_ssize_t count, Py_ssize_t n, Py_ssize_t columns) noexcept
    bint stack_qr(int slot, const char* q, const char* r, const char* g_q, const char* g_r, char* out,
                  Py_ssize_t count, Py_ssize_t m, Py_ssize_t n) noexcept
    bint stack_pinv(int slot, const char* p, const char* x, const char* g, char* out, Py_ssize_t count, Py_ssize_t m,
                    Py_ssize_t n) noexcept
    bint stack_svdvals(int slot, const char* x, const char* g, char* out, Py_ssize_t count, Py_ssize_t m,
                       Py_ssize_t n) noexcept
    bint stack_eigvalsh(int slot, const char* x, const char* g, char* out, Py_ssize_t count, Py_ssize_t n,
                        bint upper) noexcept

cdef enum:
    SERIOUS = FPE_DIVIDE | FPE_INVALID | FPE_OVER
    MOST_ROWS = 32      # of a matrix; for larger ones LAPACK and BLAS, which work in blocks, gain on a plain loop
    MOST_TURNED = 4     # rows of what Jacobi's methods decompose; of 16 rows LAPACK's take half their time


cdef object dense(object x, int slot, ArrayView* v):
    """A row-major array of that slot with its view: x itself or a copy. None: not one, or empty."""
    cdef object out = x
    if view_of(x, v) != slot or v.size == 0:
        return None
    if not v.c_order:
        out = empty_of(slot, v.ndim, v.dims, False)
        copy_into(out, x)
        view_of(out, v)
    return out


cdef inline int real_stack(object x, ArrayView* v) noexcept:
    """The slot of a stack of real matrices that is served, -1: of nothing that is."""
    cdef int slot = view_of(x, v) if fast_enabled() else -1
    return slot if 0 <= slot <= SLOT_F64 and v.ndim > 2 and v.size and v.dims[v.ndim - 1] <= MOST_ROWS \
        and v.dims[v.ndim - 2] <= MOST_ROWS else -1


cdef bint same(const ArrayView* a, const ArrayView* b, int axes) noexcept:
    """Whether arrays have the same length along the first axes."""
    cdef int i
    for i in range(axes):
        if a.dims[i] != b.dims[i]:
            return False
    return True


cdef object determinants_of_stack(object x, object g, bint logarithm):
    """The gradient of x for that of its determinants, or of their logarithms. None: declined."""
    cdef ArrayView v, w, o
    cdef int slot = real_stack(x, &v)
    cdef bint good
    cdef Py_ssize_t n
    if slot < 0 or v.dims[v.ndim - 1] != v.dims[v.ndim - 2]:
        return None
    x, g = dense(x, slot, &v), dense(g, slot, &w)
    if g is None or w.ndim != v.ndim - 2 or not same(&v, &w, w.ndim):
        return None
    out = empty_of(slot, v.ndim, v.dims, False)
    view_of(out, &o)
    n = v.dims[v.ndim - 1]
    with nogil:
        fp_begin()
        good = stack_determinant(slot, v.data, w.data, o.data, w.size, n, logarithm)
        good = not fp_end() & SERIOUS and good
    return out if good else None


cdef object cholesky_of_stack(object factor, object g, bint upper):
    """The gradient of the triangle of cholesky's argument that was read. None: declined."""
    cdef ArrayView v, w, o
    cdef int slot = real_stack(factor, &v)
    cdef bint good
    cdef Py_ssize_t n
    if slot < 0:
        return None
    factor, g = dense(factor, slot, &v), dense(g, slot, &w)
    if g is None or w.ndim != v.ndim or not same(&v, &w, w.ndim):
        return None
    out = empty_of(slot, v.ndim, v.dims, False)
    view_of(out, &o)
    n = v.dims[v.ndim - 1]
    with nogil:
        fp_begin()
        good = stack_cholesky(slot, v.data, w.data, o.data, v.size // (n * n), n, upper)
        good = not fp_end() & SERIOUS and good
    return out if good else None


cdef tuple solutions_of_stack(object x, object g, object ans, bint first, bint second):
    """(gradient of x, gradient of the right sides) of ans = solve(x, right sides), those that are wanted.

    None: declined, which right sides that are vectors, or fewer or more than the matrices, are.
    """
    cdef ArrayView v, w, a, o
    cdef int slot = real_stack(x, &v)
    cdef char* at_x = NULL
    cdef char* at_b = NULL
    cdef char* at_ans = NULL
    cdef bint good
    cdef Py_ssize_t n, columns
    cdef object out_x = None, out_b = None
    if slot < 0 or v.dims[v.ndim - 1] != v.dims[v.ndim - 2]:
        return None
    x, g = dense(x, slot, &v), dense(g, slot, &w)
    n = v.dims[v.ndim - 1]
    if g is None or w.ndim != v.ndim or not same(&v, &w, w.ndim - 1) or w.dims[w.ndim - 1] > 2 * MOST_ROWS:
        return None
    columns = w.dims[w.ndim - 1]
    if first:
        ans = dense(ans, slot, &a)
        if ans is None or a.ndim != w.ndim or not same(&a, &w, w.ndim):
            return None
        at_ans = a.data
        out_x = empty_of(slot, v.ndim, v.dims, False)
        view_of(out_x, &o)
        at_x = o.data
    if second:
        out_b = empty_of(slot, w.ndim, w.dims, False)
        view_of(out_b, &o)
        at_b = o.data
    with nogil:
        fp_begin()
        good = stack_solve(slot, v.data, w.data, at_ans, at_x, at_b, v.size // (n * n), n, columns)
        good = not fp_end() & SERIOUS and good
    return (out_x, out_b) if good else None


cdef object qr_of_stack(object g_q, object g_r, object q, object r):
    """The gradient of matrices with at least as many rows as columns for those of their factors. None: declined."""
    cdef ArrayView v, w, o
    cdef int slot = real_stack(q, &v)
    cdef char* at_q = NULL
    cdef char* at_r = NULL
    cdef bint good
    cdef Py_ssize_t m, n
    if slot < 0:
        return None
    m, n = v.dims[v.ndim - 2], v.dims[v.ndim - 1]
    if g_q is not None:
        g_q = dense(g_q, slot, &o)
        if g_q is None or o.ndim != v.ndim or not same(&o, &v, o.ndim):
            return None
        at_q = o.data
    q, r = dense(q, slot, &v), dense(r, slot, &w)
    if r is None or w.ndim != v.ndim or w.dims[w.ndim - 2] != n or w.dims[w.ndim - 1] != n \
            or not same(&v, &w, w.ndim - 2):
        return None
    if g_r is not None:
        g_r = dense(g_r, slot, &o)
        if g_r is None or o.ndim != w.ndim or not same(&o, &w, o.ndim):
            return None
        at_r = o.data
    out = empty_of(slot, v.ndim, v.dims, False)
    view_of(out, &o)
    with nogil:
        fp_begin()
        good = stack_qr(slot, v.data, w.data, at_q, at_r, o.data, v.size // (m * n), m, n)
        good = not fp_end() & SERIOUS and good
    return out if good else None


def pinv_gradient(g, p, x):
    """The gradient of x for that of its pseudo-inverse p, where they are stacks of small matrices. None: declined."""
    cdef ArrayView v, w, a, o
    cdef int slot = real_stack(x, &v)
    cdef bint good
    cdef Py_ssize_t m, n
    if slot < 0:
        return None
    m, n = v.dims[v.ndim - 2], v.dims[v.ndim - 1]
    x, p, g = dense(x, slot, &v), dense(p, slot, &w), dense(g, slot, &a)
    if p is None or g is None or w.ndim != v.ndim or a.ndim != v.ndim or not same(&w, &a, w.ndim) \
            or not same(&v, &w, w.ndim - 2) or w.dims[w.ndim - 2] != n or w.dims[w.ndim - 1] != m:
        return None
    out = empty_of(slot, v.ndim, v.dims, False)
    view_of(out, &o)
    with nogil:
        fp_begin()
        good = stack_pinv(slot, w.data, v.data, a.data, o.data, v.size // (m * n), m, n)
        good = not fp_end() & SERIOUS and good
    return out if good else None


def svdvals_gradient(g, x):
    """The gradient of x for that of its singular values, where x is a stack of tiny matrices. None: declined."""
    cdef ArrayView v, w, o
    cdef int slot = real_stack(x, &v)
    cdef bint good
    cdef Py_ssize_t m, n
    if slot < 0 or min(v.dims[v.ndim - 1], v.dims[v.ndim - 2]) > MOST_TURNED:
        return None
    m, n = v.dims[v.ndim - 2], v.dims[v.ndim - 1]
    x, g = dense(x, slot, &v), dense(g, slot, &w)
    if g is None or w.ndim != v.ndim - 1 or not same(&v, &w, w.ndim - 1):
        return None
    out = empty_of(slot, v.ndim, v.dims, False)
    view_of(out, &o)
    with nogil:
        fp_begin()
        good = stack_svdvals(slot, v.data, w.data, o.data, v.size // (m * n), m, n)
        good = not fp_end() & SERIOUS and good
    return out if good else None


def eigvalsh_gradient(g, x, bint upper):
    """The gradient of the triangle that was read for that of a symmetric stack's eigenvalues. None: declined."""
    cdef ArrayView v, w, o
    cdef int slot = real_stack(x, &v)
    cdef bint good
    cdef Py_ssize_t n
    if slot < 0 or v.dims[v.ndim - 1] > MOST_TURNED:
        return None
    n = v.dims[v.ndim - 1]
    x, g = dense(x, slot, &v), dense(g, slot, &w)
    if g is None or w.ndim != v.ndim - 1 or not same(&v, &w, w.ndim):
        return None
    out = empty_of(slot, v.ndim, v.dims, False)
    view_of(out, &o)
    with nogil:
        fp_begin()
        good = stack_eigvalsh(slot, v.data, w.data, o.data, v.size // (n * n), n, upper)
        good = not fp_end() & SERIOUS and good
    return out if good else None
