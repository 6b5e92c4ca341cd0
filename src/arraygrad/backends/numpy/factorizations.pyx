# Factorizations, inverses and determinants of plain matrices and of stacks of them, by NumPy's own loops.
# May import: engine.node, core.op, backends.numpy.direct, backends.numpy.elementwise, backends.numpy.gufuncs,
# backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.stacks.
#
# Note [Loops of generalized ufuncs] in gufuncs.pyx says when they are used. What numpy.linalg raises an error for (a
# singular matrix, no convergence) its loops report as an invalid operation: these forwards decline, and NumPy raises.
from arraygrad.backends.numpy.direct cimport offer_direct
from arraygrad.backends.numpy.elementwise cimport attach, real_view, saved_for, set_out
from arraygrad.backends.numpy.gufuncs cimport (
    CHOLESKY_LO, CHOLESKY_UP, DET, EIGH_LO, EIGH_UP, EIGVALSH_LO, EIGVALSH_UP, INV, LSTSQ, SLOGDET, SOLVE, SOLVE_ONE,
    SVD_FULL, SVD_SMALL, Gufunc, captured_gufunc, gufunc, run,
)
from arraygrad.backends.numpy.ndarrays cimport ArrayView, copy_into, empty_of, transposed, view_of
from arraygrad.backends.numpy.loops cimport (
    FPE_DIVIDE, FPE_INVALID, FPE_OVER, SLOT_C64, SLOT_F32, SLOT_F64, dot, fast_enabled, fp_begin, fp_end, is_captured,
    item_size, not_captured, report,
)
from arraygrad.backends.numpy.stacks cimport determinants_of_stack, qr_of_stack
from arraygrad.core.op cimport SAVE_INPUT
from arraygrad.engine.node cimport Frame, Node

cdef extern from "matrices.hpp" namespace "arraygrad" nogil:
    void run_widen(const char* x, char* out, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t row_step,
                   Py_ssize_t column_step) noexcept
    void run_narrow(const char* x, char* out, Py_ssize_t n) noexcept
    void run_negate(int slot, char* x, Py_ssize_t n) noexcept
    void run_add(int slot, char* x, const char* y, Py_ssize_t n) noexcept
    void run_subtract(int slot, char* x, const char* y, Py_ssize_t n) noexcept
    void run_mirror_lower(int slot, char* x, Py_ssize_t n) noexcept
    bint run_substitute_rows(int slot, const char* r, char* rows, Py_ssize_t n, Py_ssize_t m) noexcept
    void run_svd_inner(int slot, const char* s, const char* g, const char* u, const char* v, char* out,
                       Py_ssize_t k) noexcept
    void run_outside(int slot, const char* g, char* x, const char* s, Py_ssize_t rows, Py_ssize_t columns,
                     bint by_row) noexcept
    void run_eigh_inner(int slot, const char* values, const char* g, char* turn, Py_ssize_t n) noexcept
    void run_scale_columns(int slot, const char* factors, const char* x, char* out, Py_ssize_t rows,
                           Py_ssize_t columns) noexcept
    void run_fold(int slot, const char* x, char* out, Py_ssize_t n, bint upper) noexcept
    void run_turned_times(int slot, const char* x, const char* g, const char* factor, char* out, Py_ssize_t n) noexcept
    bint run_well_conditioned(int slot, const char* x, const char* inverse, const char* det, Py_ssize_t n) noexcept

cdef enum:
    SERIOUS = FPE_DIVIDE | FPE_INVALID | FPE_OVER
    MOST_SUBSTITUTED = 64       # columns of a factor; for more a LAPACK call is faster than a plain loop
    MOST_AXES = 8
    MOST_ARRAYS = 4

# Stacks of matrices (..., m, n), and the dtype in which NumPy computes with them.
cdef struct Stack:
    int ndim
    Py_ssize_t dims[MOST_AXES]
    Py_ssize_t count, m, n
    int slot                    # of the argument and of its results
    int wide                    # of the computation


cdef object taken(object x, Stack* s, bint square):
    """The matrices in the precision of the computation: x itself or a copy. None: declined."""
    cdef ArrayView v
    cdef int i
    s.slot = view_of(x, &v)
    if s.slot < 0 or not 2 <= v.ndim <= MOST_AXES or v.size == 0 or v.ndim > 2 and not v.c_order:
        return None
    s.ndim = v.ndim
    s.count = 1
    for i in range(v.ndim):
        s.dims[i] = v.dims[i]
        if i < v.ndim - 2:
            s.count *= v.dims[i]
    s.m, s.n = v.dims[v.ndim - 2], v.dims[v.ndim - 1]
    if square and s.m != s.n:
        return None
    s.wide = s.slot | 1
    if s.wide == s.slot:
        return x
    return widened(x, &v)


cdef object widened(object x, const ArrayView* v):
    """A row-major copy in double precision."""
    cdef ArrayView o
    cdef object out = empty_of(v.slot | 1, v.ndim, v.dims, False)
    if v.slot == SLOT_F32 and (v.ndim == 2 or v.c_order):
        view_of(out, &o)
        if v.c_order:
            run_widen(v.data, o.data, 1, v.size, 0, 4)
        else:
            run_widen(v.data, o.data, v.dims[0], v.dims[1], v.strides[0], v.strides[1])
    else:
        copy_into(out, x)
    return out


cdef inline int real_of(int slot) noexcept:
    return slot - SLOT_C64 if slot >= SLOT_C64 else slot


cdef object made(Stack* s, int slot, int ndim, Py_ssize_t m, Py_ssize_t n):
    """An array for a result that has `ndim` axes of its own, for each matrix of the stack."""
    if ndim == 2:
        s.dims[s.ndim - 2], s.dims[s.ndim - 1] = m, n
    elif ndim == 1:
        s.dims[s.ndim - 2] = m
    return empty_of(slot, s.ndim - 2 + ndim, s.dims, False)


cdef object narrowed(object out, int slot):
    """A result in the precision of the argument, which NumPy rounds it to at the end."""
    cdef ArrayView v, o
    cdef object narrow
    if view_of(out, &v) == slot:
        return out
    narrow = empty_of(slot, v.ndim, v.dims, False)
    if slot == SLOT_F32 and v.slot == SLOT_F64 and v.c_order:
        view_of(narrow, &o)
        fp_begin()
        run_narrow(v.data, o.data, v.size)
        report("cast", fp_end())
    else:
        copy_into(narrow, out)
    return narrow


cdef int launch(int which, Stack* s, tuple arrays, const int* cores, const Py_ssize_t* sizes, int n_sizes) except -2:
    """Run a loop on arrays with so many core axes each; the errors that it raised, -1: there is no such loop."""
    cdef const Gufunc* g = gufunc(which, s.wide)
    cdef ArrayView v
    cdef char* args[MOST_ARRAYS]
    cdef Py_ssize_t steps[3 * MOST_ARRAYS]
    cdef Py_ssize_t dims[1 + 4]
    cdef ArrayView views[MOST_ARRAYS]
    cdef Py_ssize_t step
    cdef int i, k, n = <int>len(arrays), at = n
    if g == NULL:
        return -1
    dims[0] = s.count
    for i in range(n_sizes):
        dims[1 + i] = sizes[i]
    for i in range(n):
        view_of(arrays[i], &v)
        views[i] = v
        args[i] = v.data
        step = item_size(v.slot)
        for k in range(v.ndim - cores[i], v.ndim):
            steps[at] = v.strides[k]
            step *= v.dims[k]
            at += 1
        steps[i] = step if s.count > 1 else 0
    if is_captured():
        return captured_gufunc(g, views, n, 2 if which == SOLVE or which == SOLVE_ONE else 1, dims, 1 + n_sizes, steps,
                               at)
    return run(g, args, dims, steps, s.count * s.m * s.n * s.n)


cdef bint failed(int errors) noexcept:
    return errors < 0 or errors & FPE_INVALID != 0


cdef int TWO[2]
cdef int TWO_ONE[2]
cdef int TWO_NONE[3]
cdef int TWO_TWO_ONE_TWO[4]
cdef int TWO_ONE_TWO[3]
cdef int TWO_ONE_ONE[3]
cdef int THREE_TWOS[3]
TWO[:] = [2, 2]
TWO_ONE[:] = [2, 1]
TWO_NONE[:] = [2, 0, 0]
TWO_TWO_ONE_TWO[:] = [2, 2, 1, 2]
TWO_ONE_TWO[:] = [2, 1, 2]
TWO_ONE_ONE[:] = [2, 1, 1]
THREE_TWOS[:] = [2, 2, 2]


# Inverses, determinants, equations

cdef object square_of(object x, int which):
    """A square matrix for each."""
    cdef Stack s
    cdef object a = taken(x, &s, True), out
    if a is None:
        return None
    out = made(&s, s.wide, 2, s.n, s.n)
    return None if failed(launch(which, &s, (a, out), TWO, &s.n, 1)) else narrowed(out, s.slot)


cdef object determinant(object x):
    cdef Stack s
    cdef object a = taken(x, &s, True), out
    cdef int errors
    if a is None:
        return None
    out = made(&s, s.wide, 0, 0, 0)
    errors = launch(DET, &s, (a, out), TWO_NONE, &s.n, 1)
    if errors < 0:
        return None
    report("det", errors)
    return narrowed(out, s.slot)


cdef object sign_and_size(object x):
    cdef Stack s
    cdef object a = taken(x, &s, True), sign, size
    cdef int errors
    if a is None:
        return None
    sign = made(&s, s.wide, 0, 0, 0)
    size = made(&s, real_of(s.wide), 0, 0, 0)
    errors = launch(SLOGDET, &s, (a, sign, size), TWO_NONE, &s.n, 1)
    if errors < 0:
        return None
    report("slogdet", errors)
    return narrowed(sign, s.slot), narrowed(size, real_of(s.slot))


cdef object solution(object x, object right):
    """One equation of each dtype, of one right side or several."""
    cdef Stack s
    cdef ArrayView b
    cdef Py_ssize_t sizes[2]
    cdef object a, out
    cdef int errors
    if view_of(right, &b) < 0 or not 1 <= b.ndim <= 2 or b.size == 0:
        return None
    a = taken(x, &s, True)
    if a is None or s.ndim != 2 or s.slot != b.slot or b.dims[0] != s.n:
        return None
    if s.wide != s.slot:
        out = empty_of(s.wide, b.ndim, b.dims, False)
        copy_into(out, right)
        right = out
    out = empty_of(s.wide, b.ndim, b.dims, False)
    sizes[0], sizes[1] = s.n, b.dims[1] if b.ndim == 2 else 0
    if b.ndim == 2:
        errors = launch(SOLVE, &s, (a, right, out), THREE_TWOS, sizes, 2)
    else:
        errors = launch(SOLVE_ONE, &s, (a, right, out), TWO_ONE_ONE, sizes, 1)
    return None if failed(errors) else narrowed(out, s.slot)


# Eigenvalues

cdef object pairs_of(object x, int which):
    cdef Stack s
    cdef object a = taken(x, &s, True), values, vectors
    if a is None:
        return None
    vectors = made(&s, s.wide, 2, s.n, s.n)
    values = made(&s, real_of(s.wide), 1, s.n, 0)
    if failed(launch(which, &s, (a, values, vectors), TWO_ONE_TWO, &s.n, 1)):
        return None
    return narrowed(values, real_of(s.slot)), narrowed(vectors, s.slot)


cdef object values_of(object x, int which):
    cdef Stack s
    cdef object a = taken(x, &s, True), values
    if a is None:
        return None
    values = made(&s, real_of(s.wide), 1, s.n, 0)
    if failed(launch(which, &s, (a, values), TWO_ONE, &s.n, 1)):
        return None
    return narrowed(values, real_of(s.slot))


# Singular values

cdef tuple decomposed(object x, bint full):
    """(U, S, Vh) in the precision of the computation, None: declined."""
    cdef Stack s
    cdef object a = taken(x, &s, False), u, values, vh
    cdef Py_ssize_t k
    if a is None:
        return None
    cdef Py_ssize_t sizes[3]
    k = min(s.m, s.n)
    sizes[0], sizes[1], sizes[2] = s.m, s.n, k
    u = made(&s, s.wide, 2, s.m, s.m if full else k)
    vh = made(&s, s.wide, 2, s.n if full else k, s.n)
    values = made(&s, real_of(s.wide), 1, k, 0)
    if failed(launch(SVD_FULL if full else SVD_SMALL, &s, (a, u, values, vh), TWO_TWO_ONE_TWO, sizes, 3)):
        return None
    return narrowed(u, s.slot), narrowed(values, real_of(s.slot)), narrowed(vh, s.slot)


# What the operations are: the places in gufuncs.pyx of the loops that they call.
_LISTED = (
    ("inv", ("x",), INV),
    ("cholesky", ("x", "upper"), CHOLESKY_LO),
    ("det", ("x",), DET),
    ("slogdet", ("x",), SLOGDET),
    ("solve", ("x1", "x2"), SOLVE),
    ("eigh", ("x",), EIGH_LO),
    ("_eigh_upper", ("x",), EIGH_UP),
    ("eigvalsh", ("x",), EIGVALSH_LO),
    ("_eigvalsh_upper", ("x",), EIGVALSH_UP),
    ("svd", ("x", "full_matrices"), SVD_SMALL),
)


cdef object forward_matrix(int which, object args):
    """The operation that calls a loop of numpy.linalg. None: declined."""
    cdef object x = args[0]
    if which == INV:
        return square_of(x, INV)
    if which == EIGH_LO or which == EIGH_UP:
        return pairs_of(x, which)
    if which == EIGVALSH_LO or which == EIGVALSH_UP:
        return values_of(x, which)
    if which == DET:
        return determinant(x)
    if which == SLOGDET:
        return sign_and_size(x)
    if which == SOLVE:
        return solution(x, args[1])
    if args[1] is not True and args[1] is not False:        # `upper` or `full_matrices`
        return None
    if which == CHOLESKY_LO:
        return square_of(x, CHOLESKY_UP if args[1] is True else CHOLESKY_LO)
    return decomposed(x, args[1] is True)


cdef int attach_factorizations(dict ops, list forwards, list done) except -1:
    """Give the operations that call a loop of numpy.linalg their forward, and the determinant its rule."""
    for name, params, which in _LISTED:
        offer_direct(ops, name, forward_matrix, which, params, forwards)
    attach(ops, "det", rule_det, ("x",), done)
    return 0


# Least squares

def least_squares(a, b, rcond):
    """What numpy.linalg.lstsq gives for one real matrix, its rank as an int. None: declined.

    `rcond` is a float, or None.
    """
    cdef const Gufunc* g = gufunc(LSTSQ, SLOT_F64)
    cdef ArrayView v, w, o
    cdef Py_ssize_t dims[5]
    cdef Py_ssize_t steps[16]
    cdef Py_ssize_t shape[2]
    cdef char* args[7]
    cdef double share
    cdef int rank = 0, slot = real_view(a, &v)
    cdef object solution, residuals, singular
    if not fast_enabled() or g == NULL or slot < 0 or view_of(b, &w) != slot or v.ndim != 2 \
            or not 1 <= w.ndim <= 2 or v.size == 0 or w.size == 0 or v.dims[0] != w.dims[0]:
        return None
    if rcond is None:
        share = 2.0 ** -52 * max(v.dims[0], v.dims[1])
    elif type(rcond) is float:
        share = rcond
    else:
        return None
    if slot == SLOT_F32:
        a, b = widened(a, &v), widened(b, &w)
        view_of(a, &v)
        view_of(b, &w)
    shape[0], shape[1] = v.dims[1], w.dims[1] if w.ndim == 2 else 1
    solution = empty_of(SLOT_F64, w.ndim, shape, False)
    residuals = empty_of(SLOT_F64, 1, &shape[1], False)
    dims[0], dims[1], dims[2], dims[3], dims[4] = 1, v.dims[0], v.dims[1], shape[1], min(v.dims[0], v.dims[1])
    singular = empty_of(SLOT_F64, 1, &dims[4], False)
    for i in range(7):
        steps[i] = 0
    steps[7], steps[8] = v.strides[0], v.strides[1]
    steps[9], steps[10] = w.strides[0], w.strides[1] if w.ndim == 2 else 8
    steps[11], steps[12], steps[13], steps[14] = 8 * shape[1], 8, 8, 8
    args[0], args[1], args[2], args[5] = v.data, w.data, <char*>&share, <char*>&rank
    view_of(solution, &o)
    args[3] = o.data
    view_of(residuals, &o)
    args[4] = o.data
    view_of(singular, &o)
    args[6] = o.data
    if failed(run(g, args, dims, steps, v.size * v.dims[1])):
        return None
    if rank != v.dims[1] or v.dims[0] <= v.dims[1]:
        shape[1] = 0
        residuals = empty_of(SLOT_F64, 1, &shape[1], False)
    if slot == SLOT_F32:
        return narrowed(solution, slot), narrowed(residuals, slot), rank, narrowed(singular, slot)
    return solution, residuals, rank, singular


# Gradients of one real matrix (of stacks: stacks.pyx)
#
# What the table's rules compute in ten to twenty calls of NumPy. Floating-point errors (equal values, infinities) are
# left to those rules, so that what is reported and what comes out is theirs.

cdef int plain_slot(tuple arrays) noexcept:
    """The slot of real arrays of one dtype, None among them left out; -1: others."""
    cdef ArrayView v
    cdef int slot = -1, here
    for array in arrays:
        if array is None:
            continue
        here = view_of(array, &v)
        if here < 0 or here > SLOT_F64 or slot >= 0 and here != slot or v.size == 0 or v.ndim > 2:
            return -1
        slot = here
    return slot


cdef object dense(object x, ArrayView* v):
    """A row-major array with its view: x itself or a copy."""
    cdef int slot = view_of(x, v)
    cdef object out = x
    if not v.c_order:
        out = empty_of(slot, v.ndim, v.dims, False)
        copy_into(out, x)
        view_of(out, v)
    return out


cdef object product(object a, object b, bint turn_a, bint turn_b):
    """a @ b, of transposed matrices where it says so."""
    return dot(transposed(a, NULL) if turn_a else a, transposed(b, NULL) if turn_b else b)


def qr_gradient(g_q, g_r, q, r):
    """The gradient of a matrix with at least as many rows as columns for those of its factors. None: declined."""
    cdef ArrayView v, w, o, t
    cdef object lower = None, other, total, factor
    cdef bint done
    if r.ndim > 2:
        return qr_of_stack(g_q, g_r, q, r)
    cdef int slot = plain_slot((g_q, g_r, q, r)) if fast_enabled() else -1
    if slot < 0 or g_q is None and g_r is None or r.ndim != 2:
        return None
    factor = dense(r, &v)
    if v.dims[0] != v.dims[1] or v.dims[1] > MOST_SUBSTITUTED:
        return None
    q = dense(q, &w)
    if g_r is not None:
        g_r = dense(g_r, &o)
        lower = product(factor, g_r, False, True)
    if g_q is not None:
        g_q = dense(g_q, &o)
        other = product(g_q, q, True, False)
        view_of(other, &o)
        if lower is None:
            not_captured("a matrix in place")
            run_negate(slot, o.data, o.size)
            lower = other
        else:
            view_of(lower, &t)
            run_subtract(slot, t.data, o.data, t.size)
    view_of(lower, &o)
    fp_begin()
    not_captured("a matrix in place")
    run_mirror_lower(slot, o.data, v.dims[1])
    total = product(q, lower, False, False)
    view_of(total, &o)
    if g_q is not None:
        view_of(g_q, &t)
        run_add(slot, o.data, t.data, o.size)
    done = run_substitute_rows(slot, v.data, o.data, v.dims[1], w.dims[0])
    return None if fp_end() & SERIOUS or not done else total


cdef object outside(int slot, object turn, object g, const char* values, Py_ssize_t rows, Py_ssize_t columns,
                    bint by_row):
    """What g asks of vectors beyond those that are kept, in the memory of `turn`. None: with an error."""
    cdef ArrayView a, b
    view_of(turn, &a)
    view_of(g, &b)
    fp_begin()
    not_captured("a matrix in place")
    run_outside(slot, b.data, a.data, values, rows, columns, by_row)
    return None if fp_end() & SERIOUS else turn


def svd_gradient(g_u, g_s, g_vh, u, s, vh):
    """The gradient of a matrix for those of its first min(m, n) singular vectors and values. None: declined."""
    cdef ArrayView v, a, b, c
    cdef object turn_u = None, turn_v = None, inner, out, side
    cdef Py_ssize_t m, n, k
    cdef int slot = plain_slot((g_u, g_s, g_vh, u, s, vh)) if fast_enabled() else -1
    cdef char* at_u = NULL
    cdef char* at_v = NULL
    cdef char* at_s = NULL
    if slot < 0 or u.ndim != 2:
        return None
    u = dense(u, &v)
    m, k = v.dims[0], v.dims[1]
    vh = dense(vh, &v)
    n = v.dims[1]
    s = dense(s, &v)
    fp_begin()
    if g_u is not None:
        g_u = dense(g_u, &a)
        turn_u = product(u, g_u, True, False)
        view_of(turn_u, &a)
        at_u = a.data
    if g_vh is not None:
        g_vh = dense(g_vh, &b)
        turn_v = product(vh, g_vh, False, True)
        view_of(turn_v, &b)
        at_v = b.data
    if g_s is not None:
        g_s = dense(g_s, &c)
        at_s = c.data
    cdef Py_ssize_t shape[2]
    shape[0] = shape[1] = k
    inner = empty_of(slot, 2, shape, False)
    view_of(inner, &c)
    fp_begin()
    run_svd_inner(slot, v.data, at_s, at_u, at_v, c.data, k)
    if fp_end() & SERIOUS:
        return None
    out = product(product(u, inner, False, False), vh, False, False)
    view_of(out, &c)
    if g_u is not None and m > k:
        side = outside(slot, product(u, turn_u, False, False), g_u, v.data, m, k, False)
        if side is None:
            return None
        side = product(side, vh, False, False)
        view_of(side, &a)
        not_captured("a matrix in place")
        run_add(slot, c.data, a.data, c.size)
    if g_vh is not None and n > k:
        side = outside(slot, product(turn_v, vh, True, False), g_vh, v.data, k, n, True)
        if side is None:
            return None
        side = product(u, side, False, False)
        view_of(side, &a)
        not_captured("a matrix in place")
        run_add(slot, c.data, a.data, c.size)
    return out


def eigh_gradient(g_l, g_v, values, v, upper):
    """The gradient of the triangle of a symmetric matrix that was read. None: declined."""
    cdef ArrayView w, a, o
    cdef object turn
    cdef char* at_l = NULL
    cdef int slot = plain_slot((g_l, g_v, values, v)) if fast_enabled() else -1
    if slot < 0 or v.ndim != 2:
        return None
    v = dense(v, &w)
    values = dense(values, &w)
    if g_l is not None:
        g_l = dense(g_l, &a)
        at_l = a.data
    if g_v is None:
        view_of(v, &a)
        turn = empty_of(slot, 2, a.dims, False)
        view_of(turn, &o)
        run_scale_columns(slot, at_l, a.data, o.data, a.dims[0], a.dims[1])
        return triangle_gradient(product(turn, v, False, True), upper)
    g_v = dense(g_v, &a)
    turn = product(v, g_v, True, False)
    view_of(turn, &a)
    fp_begin()
    not_captured("a matrix in place")
    run_eigh_inner(slot, w.data, at_l, a.data, w.size)
    if fp_end() & SERIOUS:
        return None
    return triangle_gradient(product(product(v, turn, False, False), v, False, True), upper)


def triangle_gradient(gradient, upper):
    """The gradient of a symmetric matrix as that of one triangle. None: declined."""
    cdef ArrayView v, o
    cdef object out
    cdef int slot = plain_slot((gradient,)) if fast_enabled() else -1
    if slot < 0 or view_of(gradient, &v) != slot or v.ndim != 2 or not v.c_order or v.dims[0] != v.dims[1]:
        return None
    out = empty_of(slot, 2, v.dims, False)
    view_of(out, &o)
    fp_begin()
    run_fold(slot, v.data, o.data, v.dims[0], upper)
    return None if fp_end() & SERIOUS else out


def slogdet_gradient(g, x):
    """The gradient of a real matrix for that of its determinant's logarithm. None: declined, singular ones as well."""
    cdef ArrayView v, o, w
    cdef object inverse, out
    if x.ndim > 2:
        return None if g is None else determinants_of_stack(x, g, True)
    cdef int slot = plain_slot((g, x)) if fast_enabled() and g is not None else -1
    if slot < 0 or x.ndim != 2 or g.ndim != 0:
        return None
    inverse = square_of(x, INV)
    if inverse is None:
        return None
    view_of(inverse, &v)
    view_of(g, &w)
    out = empty_of(slot, 2, v.dims, False)
    view_of(out, &o)
    fp_begin()
    run_turned_times(slot, v.data, w.data, NULL, o.data, v.dims[0])
    return None if fp_end() & SERIOUS else out


cdef int rule_det(Node node, Frame f) except -1:
    """g det(x) inv(x)^T, where that keeps half of the digits: the table's rule takes cofactors for other matrices."""
    cdef ArrayView v, o, w, d
    cdef object x = saved_for(node, SAVE_INPUT, 0), inverse, det
    cdef int slot = real_view(x, &v)
    if slot >= 0 and v.ndim > 2:
        inverse = determinants_of_stack(x, f.grad, False)
        return 0 if inverse is None else 1 + set_out(f, 0, inverse, True)
    if slot < 0 or v.ndim != 2 or v.size == 0 or real_view(f.grad, &w) != slot or w.ndim != 0:
        return 0
    det = determinant(x)
    inverse = square_of(x, INV)
    if det is None or inverse is None:
        return 0
    x = dense(x, &v)
    view_of(inverse, &o)
    view_of(det, &d)
    if not run_well_conditioned(slot, v.data, o.data, d.data, v.dims[0]):
        return 0
    cdef object out = empty_of(slot, 2, v.dims, False)
    view_of(out, &v)
    fp_begin()
    run_turned_times(slot, o.data, w.data, d.data, v.data, v.dims[0])
    return 0 if fp_end() & SERIOUS else 1 + set_out(f, 0, out, True)
