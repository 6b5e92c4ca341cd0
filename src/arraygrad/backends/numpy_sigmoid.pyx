# The logistic function, forward and backward in one pass each, for plain float32 and float64 arrays.
# May import: engine.node, engine.sharing, op, backends.numpy_loops, backends.numpy_elementwise.
from arraygrad.backends.numpy_elementwise cimport find, real_view, set_out, wants
from arraygrad.backends.numpy_loops cimport (
    NOGIL_SIZE, ArrayView, LoopSet, copy_into, empty_c, empty_dense, loop_set, report, steps, view_of,
)
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.op cimport SAVE_ANS, SAVE_INPUT

cdef extern from "sigmoid.hpp" namespace "arraygrad" nogil:
    void run_sigmoid(const LoopSet* exp, int slot, const char* x, char* out, Py_ssize_t n, int* first,
                     int* second) noexcept
    void run_sigmoid_rule(const LoopSet* exp, int slot, const char* g, Py_ssize_t sg, const char* x, const char* y,
                          char* out, Py_ssize_t n, int* first, int* second) noexcept
    void share_sigmoid(Team* team, const LoopSet* exp, int slot, const char* x, char* out, Py_ssize_t n, int* first,
                       int* second) noexcept
    void share_sigmoid_rule(Team* team, const LoopSet* exp, int slot, const char* g, Py_ssize_t sg, const char* x,
                            const char* y, char* out, Py_ssize_t n, int* first, int* second) noexcept

cdef LoopSet* EXP = loop_set("exp")


cdef bint row_major_with_gaps(const ArrayView* x) noexcept:
    """Whether strides only fall, as in the columns of a row-major matrix: NumPy's result is row-major then."""
    cdef int d
    for d in range(x.ndim):
        if x.strides[d] <= 0 or d and x.strides[d] > x.strides[d - 1]:
            return False
    return True


cdef object without_gaps(object array, ArrayView* x):
    """The array, or a row-major copy of its columns; `x` becomes its view. None: neither."""
    cdef object copy
    if x.c_order or x.f_order:
        return array
    if not row_major_with_gaps(x):
        return None
    copy = empty_c(array, x.ndim, x.dims)
    copy_into(copy, array)
    view_of(copy, x)
    return copy


cdef object forward_sigmoid(object args):
    cdef ArrayView x, r
    cdef int slot = real_view(args[0], &x), first = 0, second = 0
    cdef object out, dense
    if slot < 0 or EXP.fn[slot] == NULL:
        return None
    dense = without_gaps(args[0], &x)
    if dense is None:
        return None
    out = dense if dense is not args[0] else empty_dense(dense)
    view_of(out, &r)
    if x.size < NOGIL_SIZE:
        run_sigmoid(EXP, slot, x.data, r.data, x.size, &first, &second)
    else:
        with nogil:
            share_sigmoid(team, EXP, slot, x.data, r.data, x.size, &first, &second)
    if first:
        report("exp", first)
    if second:
        report("divide", second)
    return out


cdef int rule_sigmoid(Node node, Frame f) except -1:
    cdef ArrayView g, x, y, r
    cdef int slot, sg, first = 0, second = 0
    cdef object saved, out, dense
    if not wants(node, f, 0):
        return 1
    saved = find(node, SAVE_INPUT, 0)
    slot = real_view(saved, &x)
    if slot < 0 or EXP.fn[slot] == NULL:
        return 0
    dense = without_gaps(saved, &x)
    if dense is None:
        return 0
    if real_view(find(node, SAVE_ANS, -1), &y) != slot or steps(&y, &x) != 1 or y.ndim != x.ndim:
        return 0
    if real_view(f.grad, &g) != slot or g.ndim != x.ndim:
        return 0
    sg = steps(&g, &x)
    if sg < 0:
        return 0
    out = f.grad if f.owned and sg == 1 and g.writeable else empty_dense(dense)
    view_of(out, &r)
    if x.size < NOGIL_SIZE:
        run_sigmoid_rule(EXP, slot, g.data, sg, x.data, y.data, r.data, x.size, &first, &second)
    else:
        with nogil:
            share_sigmoid_rule(team, EXP, slot, g.data, sg, x.data, y.data, r.data, x.size, &first, &second)
    if first:
        report("exp", first)
    if second:
        report("multiply", second)
    return 1 + set_out(f, 0, out, True)
