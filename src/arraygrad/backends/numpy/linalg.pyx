# Products of matrices, factorizations and linear equations of plain arrays: forwards and rules.
# May import: numpy (Python only), engine.arrayops, engine.node, core.op, backends.numpy.elementwise,
# backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.kernel_programs, backends.numpy.small_products,
# backends.numpy.stacks, backends.numpy.triangular.
#
# Note [Factors that are kept]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# NumPy's solve decomposes the matrix, and forgets the factors. Where LAPACK's routines are at hand (lapack.hpp), solve
# calls the two that NumPy's own does, one after the other, so that values are NumPy's, and the node keeps the factors
# (NODE_ASIDE): backward then substitutes twice a triangle instead of decomposing the transposed matrix. The factors are
# freed with what the node saved; nothing is kept of what is not recorded. They belong to the matrix as it was, whatever
# is written into it later. Guarded by tests/backends/test_fast_factors.py.
from libc.math cimport isfinite
from libc.stdint cimport int64_t

import os

import numpy as np

from arraygrad.backends.numpy import triangular

from arraygrad.backends.numpy.elementwise cimport (
    real_view, saved_for, set_out, set_outs, wants_gradient,
)
from arraygrad.backends.numpy.ndarrays cimport ArrayView, copy_into, empty_c, reshaped, transposed, view_of
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, LoopSet, binary_loop, dot, has_products, item_size, loop_set, not_captured, report, unary_loop,
)
from arraygrad.backends.numpy.kernel_programs cimport ufunc_of
from arraygrad.backends.numpy.small_products cimport small_product
from arraygrad.backends.numpy.stacks cimport cholesky_of_stack, solutions_of_stack
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node, NODE_ASIDE
from arraygrad.core.op cimport SAVE_ANS, SAVE_INPUT, SAVE_META

cdef extern from "lapack.hpp" namespace "arraygrad" nogil:
    struct Lapack:
        pass
    const Lapack* find_lapack(const char* path) noexcept
    bint run_decompose(const Lapack* l, int slot, char* a, int64_t* pivots, Py_ssize_t n) noexcept
    bint run_substitute(const Lapack* l, int slot, const char* a, const int64_t* pivots, char* b, Py_ssize_t n,
                        Py_ssize_t columns, bint turned) noexcept
    bint run_factor_gradient(const Lapack* l, int slot, const char* factor, char* work, Py_ssize_t n) noexcept


cdef extern from "arrangements.hpp" namespace "arraygrad":
    int outer_product(int slot, const char* a, const char* b, char* out, Py_ssize_t n, Py_ssize_t m) noexcept
    int slide_product(int slot, const char* x, const char* w, char* out, Py_ssize_t rows, Py_ssize_t width,
                      Py_ssize_t step) noexcept
    int slide_adjoint(int slot, const char* x, const char* g, char* out, char* part, Py_ssize_t rows, Py_ssize_t width,
                      Py_ssize_t step) noexcept

cdef enum:
    MOST_AXES = 8

cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* NEGATIVE = loop_set("negative")
cdef const Lapack* _lapack = NULL
cdef bint _sought = False
cdef bint _used = True
cdef int _slides = -1       # whether NumPy's products with windows are slide_product's; -1: not known yet


# Products

cdef bint fit_together(const ArrayView* a, const ArrayView* b) noexcept:
    """Whether `dot` takes two arrays of one dtype as numpy.matmul does."""
    if a.ndim == 0 or b.ndim == 0 or a.size == 0 or b.size == 0 \
            or a.dims[a.ndim - 1] != b.dims[0 if b.ndim == 1 else b.ndim - 2]:
        return False
    if a.ndim <= 2:
        return b.ndim <= 2 and is_readable(a, b.ndim) and is_readable(b, a.ndim)
    if a.ndim > 8 or not has_products(a.slot) or not in_stack(a):
        return False
    if b.ndim == 2:
        return b.c_order or b.f_order
    return b.ndim == a.ndim and in_stack(b) and same_leading(a, b)


cdef bint is_readable(const ArrayView* x, int beside) noexcept:
    """Whether BLAS can read a vector or matrix beside one of so many axes: vectors beside a matrix may have gaps."""
    return x.c_order or x.f_order or (x.ndim == 1 and beside == 2 and x.strides[0] > 0
                                      and x.strides[0] % item_size(x.slot) == 0)


cdef bint in_stack(const ArrayView* x) noexcept:
    """Whether matrices lie one behind the other, each of them row-major or column-major."""
    cdef int i
    cdef Py_ssize_t step, item = item_size(x.slot)
    if x.c_order:
        return True
    if x.strides[x.ndim - 2] != item or x.strides[x.ndim - 1] != x.dims[x.ndim - 2] * item:
        return False
    step = x.dims[x.ndim - 2] * x.dims[x.ndim - 1] * item
    for i in range(x.ndim - 3, -1, -1):
        if x.strides[i] != step:
            return False
        step *= x.dims[i]
    return True


cdef bint same_leading(const ArrayView* a, const ArrayView* b) noexcept:
    """Whether the axes before the last two are the same."""
    cdef int i
    for i in range(a.ndim - 2):
        if a.dims[i] != b.dims[i]:
            return False
    return True


cdef object forward_matmul(object args):
    """Products of vectors, matrices and stacks of them: numpy.matmul's own loop, without the ufunc's dispatch.

    Those of windows and a vector have a loop of their own.
    """
    cdef ArrayView a, b
    cdef object x1 = args[0], x2 = args[1]
    if view_of(x1, &a) < 0 or view_of(x2, &b) != a.slot:
        return None
    if a.slot <= SLOT_F64 and slides(&a) and b.ndim == 1 and b.c_order and b.dims[0] == a.dims[1] and slides_as_numpy():
        return slid(x1, &a, &b)
    return dot(x1, x2) if fit_together(&a, &b) else None


cdef bint slides(const ArrayView* a) noexcept:
    """Whether the rows of a matrix are windows of one line that overlap: BLAS can't read it, and NumPy is slow."""
    cdef Py_ssize_t item = item_size(a.slot)
    return (a.ndim == 2 and a.strides[1] == item and 0 < a.strides[0] < a.dims[1] * item and a.strides[0] % item == 0
            and a.dims[0] > 1 and a.dims[1] > 1)


cdef object slid(object x, const ArrayView* a, const ArrayView* w):
    cdef ArrayView o
    cdef object out = empty_c(x, 1, a.dims)
    view_of(out, &o)
    report("matmul", slide_product(a.slot, a.data, w.data, o.data, a.dims[0], a.dims[1],
                                   a.strides[0] // item_size(a.slot)))
    return out


cdef bint slides_as_numpy() except -1:
    """Whether numpy.matmul adds up the products of such a matrix and a vector one by one, as slide_product does."""
    global _slides
    cdef ArrayView a, w
    if _slides < 0:
        same = True
        for dtype in (np.float32, np.float64):
            line, vector = np.linspace(-1.3, 2.9, 57).astype(dtype), np.linspace(0.7, -0.4, 17).astype(dtype)
            matrix = np.lib.stride_tricks.sliding_window_view(line, 17)
            view_of(matrix, &a)
            view_of(vector, &w)
            same = same and slid(matrix, &a, &w).tobytes() == np.matmul(matrix, vector).tobytes()
        _slides = same
    return _slides


cdef object slid_back(object x, const ArrayView* a, object grad):
    """The transpose of such a matrix times a vector. None: declined."""
    cdef ArrayView g, o, p
    cdef object out, part
    if real_view(grad, &g) != a.slot or g.ndim != 1 or not g.c_order:
        return None
    out = empty_c(grad, 1, &a.dims[1])
    part = empty_c(grad, 1, &a.dims[1])
    view_of(out, &o)
    view_of(part, &p)
    report("matmul", slide_adjoint(a.slot, a.data, g.data, o.data, p.data, a.dims[0], a.dims[1],
                                   a.strides[0] // item_size(a.slot)))
    return out


# Gradients of products

cdef object outer(object a, object b):
    """Outer product of two plain vectors of one dtype; of a number and a vector their product."""
    cdef ArrayView v, w, o
    cdef Py_ssize_t dims[2]
    cdef object column = a, out
    cdef int slot = view_of(a, &v)
    view_of(b, &w)
    if 0 <= slot <= SLOT_F64 and v.ndim == w.ndim == 1 and v.c_order and w.c_order:
        dims[0] = v.size
        dims[1] = w.size
        out = empty_c(a, 2, dims)
        view_of(out, &o)
        report("multiply", outer_product(slot, v.data, w.data, o.data, v.size, w.size))
        return out
    if v.ndim:
        dims[0] = v.size
        dims[1] = 1
        column = reshaped(a, 2, dims)
    out = binary_loop(MULTIPLY, column, b, None)
    return ufunc_of(MULTIPLY, column, b) if out is None else out


cdef object for_blas(object x, const ArrayView* v):
    """A matrix as BLAS can read it: itself, or a row-major copy of one whose rows overlap or have gaps within."""
    cdef Py_ssize_t item = item_size(v.slot)
    cdef object out
    if v.ndim != 2 or v.strides[1] == item and v.strides[0] >= v.dims[1] * item \
            or v.strides[0] == item and v.strides[1] >= v.dims[0] * item:
        return x
    out = empty_c(x, 2, v.dims)
    copy_into(out, x)
    return out


cdef int rule_matmul(Node node, Frame f) except -1:
    cdef ArrayView g, a, b
    cdef object x1, x2, out0 = None, out1 = None
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    cdef int slot = real_view(f.grad, &g), n1, n2
    if slot < 0:
        return 0
    n1 = n2 = -1
    if first:
        x2 = saved_for(node, SAVE_INPUT, 1)
        if real_view(x2, &b) != slot:
            return 0
        n2 = b.ndim
        x2 = for_blas(x2, &b)
        n1 = rank(saved_for(node, SAVE_META, 0))
    if second:
        x1 = saved_for(node, SAVE_INPUT, 0)
        if real_view(x1, &a) != slot:
            return 0
        n1 = a.ndim
        out1 = slid_back(x1, &a, f.grad) if slides(&a) else None
        if out1 is None:
            x1 = for_blas(x1, &a)
        n2 = rank(saved_for(node, SAVE_META, 1))
    if n1 == n2 > 2:
        return stacks_rule(f, x1 if second else None, x2 if first else None)
    if n1 > 2 and 1 <= n2 <= 2 and n1 + n2 - 2 == g.ndim:
        return tall_rule(f, x1 if second and out1 is None else None, x2 if first else None, n2)
    if n1 == 2 and 2 < n2 == g.ndim <= 8:
        return wide_rule(f, x1 if second else None, x2 if first else None)
    if not 1 <= n1 <= 2 or not 1 <= n2 <= 2 or n1 + n2 - 2 != g.ndim:
        return 0
    if first:
        if n2 == 1:
            out0 = outer(f.grad, x2)
        else:
            out0 = dot(f.grad, x2, 2) if n1 == 2 else dot(x2, f.grad)
    if second and out1 is None:
        if n1 == 2:
            out1 = dot(x1, f.grad, 1)
        else:
            out1 = outer(x1, f.grad) if n2 == 2 else outer(f.grad, x1)
    return set_outs(f, out0, out1)


cdef int stacks_rule(Frame f, object x1, object x2) except -1:
    """rule_matmul for two stacks of matrices with the same leading axes. None: its gradient is not wanted."""
    cdef ArrayView g, v
    cdef object out0 = None, out1 = None
    view_of(f.grad, &g)
    if not has_products(g.slot) or g.ndim > 8:
        return 0
    if x2 is not None:
        if view_of(x2, &v) != g.slot or v.ndim != g.ndim or not same_leading(&v, &g) or v.size == 0:
            return 0
        x2 = turned(x2, v.ndim)
        out0 = small_product(f.grad, x2)
        if out0 is None:
            out0 = dot(f.grad, x2)
    if x1 is not None:
        if view_of(x1, &v) != g.slot or v.ndim != g.ndim or not same_leading(&v, &g) or v.size == 0:
            return 0
        x1 = turned(x1, v.ndim)
        out1 = small_product(x1, f.grad)
        if out1 is None:
            out1 = dot(x1, f.grad)
    return set_outs(f, out0, out1)


cdef int tall_rule(Frame f, object x1, object x2, int n2) except -1:
    """rule_matmul for a stack of matrices times one matrix or vector: the stack is one tall matrix.

    None: its gradient is not wanted.
    """
    cdef ArrayView g, v
    cdef Py_ssize_t dims[MOST_AXES]
    cdef object out0 = None, out1 = None, tall
    cdef int i, lead = 0
    cdef Py_ssize_t rows = 1
    view_of(f.grad, &g)
    lead = g.ndim - n2 + 1
    if lead >= MOST_AXES or g.size == 0:
        return 0
    for i in range(lead):
        dims[i] = g.dims[i]
        rows *= g.dims[i]
    tall = rows_from(f.grad, rows, g.dims[lead] if n2 == 2 else 0)
    if x2 is not None:
        if view_of(x2, &v) != g.slot or v.size == 0:
            return 0
        dims[lead] = v.dims[0]
        out0 = reshaped(dot(tall, x2, 2) if n2 == 2 else outer(tall, x2), lead + 1, dims)
    if x1 is not None:
        if view_of(x1, &v) != g.slot or v.size == 0:
            return 0
        out1 = dot(rows_from(x1, rows, v.dims[lead]), tall, 1)
    return set_outs(f, out0, out1)


cdef object rows_from(object x, Py_ssize_t rows, Py_ssize_t columns):
    """An array as a matrix of so many rows that BLAS can read, as a vector with 0 columns."""
    cdef Py_ssize_t dims[2]
    cdef ArrayView v
    dims[0], dims[1] = rows, columns
    x = reshaped(x, 2 if columns else 1, dims)
    view_of(x, &v)
    return for_blas(x, &v)


cdef int wide_rule(Frame f, object x1, object x2) except -1:
    """rule_matmul for one matrix times a stack of matrices. None: its gradient is not wanted."""
    cdef ArrayView g, v
    cdef object out0 = None, out1 = None
    view_of(f.grad, &g)
    if not has_products(g.slot) or g.size == 0:
        return 0
    if x2 is not None:
        if view_of(x2, &v) != g.slot or v.ndim != g.ndim or not same_leading(&v, &g) or v.size == 0:
            return 0
        out0 = dot(side_by_side(f.grad, &g), side_by_side(x2, &v), 2)
    if x1 is not None:
        out1 = np.matmul(transposed(x1, NULL), f.grad)
    return set_outs(f, out0, out1)


cdef object side_by_side(object x, const ArrayView* v):
    """The matrices of a stack as one, each to the right of the last."""
    cdef Py_ssize_t axes[MOST_AXES]
    cdef Py_ssize_t dims[2]
    cdef int i
    axes[0] = v.ndim - 2
    for i in range(v.ndim - 2):
        axes[i + 1] = i
    axes[v.ndim - 1] = v.ndim - 1
    dims[0] = v.dims[v.ndim - 2]
    dims[1] = v.size // dims[0]
    x = transposed(x, axes)
    return reshaped(x, 2, dims)


cdef object turned(object x, int ndim):
    """A stack of matrices with each of them transposed."""
    cdef Py_ssize_t axes[8]
    cdef int i
    for i in range(ndim):
        axes[i] = i
    axes[ndim - 1], axes[ndim - 2] = ndim - 2, ndim - 1
    return transposed(x, axes)


cdef inline int rank(object meta) noexcept:
    return (<GradMeta>meta).ndim if type(meta) is GradMeta else -1


# LAPACK

def use_lapack(bint mode):
    """Whether LAPACK's own routines may be called where they are found; returns the mode before. For tests."""
    global _used
    cdef bint previous = _used
    _used = mode
    return previous


def has_lapack():
    """Whether LAPACK's own routines were found. The first call looks for them."""
    return lapack() != NULL


cdef const Lapack* lapack() except? NULL:
    """The routines that NumPy's linear algebra was linked with, or NULL."""
    global _lapack, _sought
    if not _sought:
        import numpy.linalg

        module = getattr(numpy.linalg, "_umath_linalg", None)
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            _lapack = find_lapack(os.fsencode(path))
        _sought = True
    return _lapack if _used else NULL


cdef object columns_of(object x):
    """A copy of a matrix, or of a vector, in column-major order, as LAPACK has it: its transpose, row-major."""
    cdef ArrayView v
    cdef Py_ssize_t dims[2]
    cdef object out
    view_of(x, &v)
    dims[0] = v.dims[v.ndim - 1]
    dims[1] = v.dims[0]
    out = empty_c(x, v.ndim, dims)
    copy_into(out if v.ndim == 1 else transposed(out, NULL), x)
    return out


cdef object rows_of(object x):
    """The transpose of what columns_of made, row-major."""
    cdef ArrayView v
    cdef Py_ssize_t dims[2]
    cdef object out
    view_of(x, &v)
    if v.ndim == 1:
        return x
    dims[0] = v.dims[1]
    dims[1] = v.dims[0]
    out = empty_c(x, 2, dims)
    copy_into(out, transposed(x, NULL))
    return out


cdef object forward_solve(object args):
    """(the solution, [None, None, factors, pivots]) for one matrix. None: declined (NumPy's own call, or its error)."""
    cdef ArrayView a, b, v, p
    cdef object x1 = args[0], x2 = args[1], factors, out
    cdef int slot = real_view(x1, &a)
    cdef Py_ssize_t n, columns
    cdef bint solved
    # NumPy decomposes single precision in double: those are left to it.
    if slot != SLOT_F64 or a.ndim != 2 or a.size == 0 or a.dims[0] != a.dims[1] or real_view(x2, &b) != slot \
            or not 1 <= b.ndim <= 2 or b.dims[0] != a.dims[0] or b.size == 0 or lapack() == NULL:
        return None
    n = a.dims[0]
    columns = 1 if b.ndim == 1 else b.dims[1]
    factors = columns_of(x1)
    out = columns_of(x2)
    pivots = bytearray(8 * n)
    view_of(factors, &v)
    view_of(out, &p)
    cdef int64_t* at = <int64_t*><char*>pivots
    not_captured("a factorization")
    with nogil:
        solved = run_decompose(_lapack, slot, v.data, at, n) and \
            run_substitute(_lapack, slot, v.data, at, p.data, n, columns, False)
    return (rows_of(out), [None, None, factors, pivots]) if solved else None


cdef bint is_finite(object x) except -1:
    """Whether all elements of a plain array are finite."""
    cdef ArrayView v
    cdef Py_ssize_t i
    if view_of(x, &v) != SLOT_F64 or not (v.c_order or v.f_order):
        return bool(np.isfinite(x).all())
    for i in range(v.size):
        if not isfinite((<double*>v.data)[i]):
            return False
    return True


cdef object substituted(Node node, object g):
    """The transposed equation solved by the factors that the node keeps. None: it keeps none, or g is not finite."""
    cdef ArrayView v, w
    cdef object factors, pivots, out
    cdef bint solved
    if not node.flags & NODE_ASIDE or node.args is None or _lapack == NULL or not is_finite(g):
        return None
    factors = (<list>node.args)[2]
    pivots = (<list>node.args)[3]
    if not is_finite(factors):              # what NumPy makes of infinities is its own
        return None
    out = columns_of(g)
    view_of(factors, &v)
    view_of(out, &w)
    cdef int64_t* at = <int64_t*><char*>(<bytearray>pivots)
    not_captured("a factorization")
    with nogil:
        solved = run_substitute(_lapack, v.slot, v.data, at, w.data, v.dims[0], w.size // v.dims[0], True)
    return rows_of(out) if solved else None


cdef object gradient_by_lapack(object factor, object g, bint upper):
    """The gradient of the triangle of cholesky's argument that was read. None: declined."""
    cdef ArrayView l, w
    cdef object work
    cdef bint done
    if lapack() == NULL or real_view(factor, &l) < 0:
        return None
    if upper:
        factor = columns_of(factor)
        work = columns_of(g)
    else:
        work = empty_c(g, 2, l.dims)
        copy_into(work, g)
        if not l.c_order:
            factor = rows_of(columns_of(factor))
    view_of(factor, &l)
    view_of(work, &w)
    not_captured("a factorization")
    with nogil:
        done = run_factor_gradient(_lapack, l.slot, l.data, w.data, l.dims[0])
    if not done:
        return None
    return rows_of(work) if upper else work


cdef int rule_cholesky(Node node, Frame f) except -1:
    """One inverse of a triangle and products, where the table's rule solves twice as if the factor were any matrix."""
    cdef ArrayView l, g
    cdef object factor, upper = (<list>node.args)[1]
    cdef int slot
    factor = saved_for(node, SAVE_ANS, -1)
    slot = real_view(factor, &l)
    if slot < 0 or l.ndim < 2 or l.size == 0 or real_view(f.grad, &g) != slot or g.ndim != l.ndim:
        return 0
    if upper is not True and upper is not False:
        return 0
    if l.ndim > 2:
        out = cholesky_of_stack(factor, f.grad, upper)
        return 0 if out is None else 1 + set_out(f, 0, out, True)
    out = gradient_by_lapack(factor, f.grad, upper)
    if out is None:
        out = triangular.cholesky_gradient(factor, f.grad, upper)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef int rule_solve(Node node, Frame f) except -1:
    """The transposed equation solved once for both gradients."""
    cdef ArrayView a, x, g
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    cdef object matrix = saved_for(node, SAVE_INPUT, 0), ans = saved_for(node, SAVE_ANS, -1) if first else None
    cdef object out0 = None, out1
    cdef int slot = real_view(matrix, &a)
    cdef tuple both
    if slot >= 0 and a.ndim > 2:
        both = solutions_of_stack(matrix, f.grad, ans, first, second)
        return 0 if both is None else set_outs(f, both[0], both[1])
    if slot < 0 or a.ndim != 2 or a.size == 0 or real_view(f.grad, &g) != slot or not 1 <= g.ndim <= 2:
        return 0
    if first and (real_view(ans, &x) != slot or x.ndim != g.ndim):
        return 0
    out1 = substituted(node, f.grad)
    if out1 is None:
        out0, out1 = triangular.solve_gradients(matrix, f.grad, ans)
    elif first:
        out0 = outer(out1, ans) if g.ndim == 1 else dot(out1, ans, 2)
        negated = unary_loop(NEGATIVE, out0, out0)
        out0 = np.negative(out0, out0) if negated is None else negated
    return set_outs(f, out0, out1 if second else None)
