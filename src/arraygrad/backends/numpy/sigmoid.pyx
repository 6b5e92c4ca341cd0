# softmax and log_softmax, forward and backward, and the values of the logistic function and relu, in one pass each, for
# plain float32 and float64 arrays.
# May import: engine.free_threading, engine.node, engine.sharing, core.op, backends.numpy.loops,
# backends.numpy.elementwise.
from arraygrad.backends.numpy.elementwise cimport saved_for, real_view, set_out, wants_gradient, without_gaps
from arraygrad.backends.numpy.loops cimport (
    FPE_UNDER, NOGIL_SIZE, SUM_START, ArrayView, LoopSet, axis_mask, empty_c, empty_dense, loop_set, report,
    same_shape, split_axes, view_of,
)
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport SAVE_ANS

cdef extern from "sigmoid.hpp" namespace "arraygrad" nogil:
    void run_sigmoid(const LoopSet* exp, int slot, const char* x, char* out, Py_ssize_t n, int* first,
                     int* second) noexcept
    void share_sigmoid(Team* team, const LoopSet* exp, int slot, const char* x, char* out, Py_ssize_t n, int* first,
                       int* second) noexcept

cdef extern from "softmax.hpp" namespace "arraygrad" nogil:
    struct RowLoops:
        const LoopSet* exp
        const LoopSet* log
        const LoopSet* add
    Py_ssize_t softmax_room(Py_ssize_t outer, Py_ssize_t inner) noexcept
    int run_softmax(const RowLoops* f, int slot, bint logarithm, char* x, char* out, char* work, Py_ssize_t outer,
                    Py_ssize_t inner, double start) noexcept
    int run_softmax_rule(const RowLoops* f, int slot, bint logarithm, const char* g, char* y, char* out, char* work,
                         Py_ssize_t outer, Py_ssize_t inner, double start) noexcept
    void run_relu(int slot, const char* x, char* out, Py_ssize_t n) noexcept

cdef LoopSet* EXP = NULL
cdef RowLoops ROWS


cdef int find_loops() except -1:
    """Find EXP and ROWS: asked by whoever needs them first."""
    global EXP
    ROWS.exp = loop_set("exp")
    ROWS.log = loop_set("log")
    ROWS.add = loop_set("add")
    EXP = loop_set("exp")
    return 0


if FREE_THREADED:       # see at_first_use
    find_loops()


cdef object forward_sigmoid(object args):
    cdef ArrayView x, r
    cdef int slot = real_view(args[0], &x), first = 0, second = 0
    cdef object out, dense
    if EXP == NULL:
        find_loops()
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


# Within rows

cdef bint rows_of(object x, const ArrayView* v, object axis, Py_ssize_t* outer, Py_ssize_t* inner) except -1:
    """Whether a row-major array is normalised within rows: over its last axes, or over all."""
    cdef unsigned long long mask = 0
    cdef bint leading = False
    if EXP == NULL:
        find_loops()
    return (v.c_order and 0 < v.ndim <= 8 and v.size > 0 and axis_mask(axis, v.ndim, &mask)
            and split_axes(x, mask, outer, inner, &leading) and not leading
            and EXP.fn[v.slot] != NULL and ROWS.log.fn[v.slot] != NULL and ROWS.add.fn[v.slot] != NULL)


cdef object normalised(object args, bint logarithm):
    """softmax or log_softmax within rows. None: declined, or with an error that the plain way reports."""
    cdef ArrayView x, r, w
    cdef Py_ssize_t outer = 0, inner = 0, room
    cdef int slot = real_view(args[0], &x), errors
    cdef object out, work
    if slot < 0 or not rows_of(args[0], &x, args[1], &outer, &inner):
        return None
    out = empty_dense(args[0])
    room = softmax_room(outer, inner)
    work = empty_c(args[0], 1, &room)
    view_of(out, &r)
    view_of(work, &w)
    if x.size < NOGIL_SIZE:
        errors = run_softmax(&ROWS, slot, logarithm, x.data, r.data, w.data, outer, inner, SUM_START)
    else:
        with nogil:
            errors = run_softmax(&ROWS, slot, logarithm, x.data, r.data, w.data, outer, inner, SUM_START)
    if errors & ~FPE_UNDER:
        return None
    if errors:
        report("exp", errors)
    return out


cdef object forward_softmax(object args):
    return normalised(args, False)


cdef object forward_log_softmax(object args):
    return normalised(args, True)


cdef int by_rows(Node node, Frame f, bint logarithm) except -1:
    cdef ArrayView g, y, r, w
    cdef Py_ssize_t outer = 0, inner = 0, room
    cdef int slot, errors
    cdef object out, work, ans
    if not wants_gradient(node, f, 0):
        return 1
    ans = saved_for(node, SAVE_ANS, -1)
    slot = real_view(ans, &y)
    if slot < 0 or real_view(f.grad, &g) != slot or not g.c_order or not same_shape(&g, &y) \
            or not rows_of(ans, &y, (<list>node.args)[1], &outer, &inner):
        return 0
    out = f.grad if f.owned and g.writeable else empty_dense(ans)
    room = softmax_room(outer, inner)
    work = empty_c(ans, 1, &room)
    view_of(out, &r)
    view_of(work, &w)
    if y.size < NOGIL_SIZE:
        errors = run_softmax_rule(&ROWS, slot, logarithm, g.data, y.data, r.data, w.data, outer, inner, SUM_START)
    else:
        with nogil:
            errors = run_softmax_rule(&ROWS, slot, logarithm, g.data, y.data, r.data, w.data, outer, inner, SUM_START)
    if errors:
        report("subtract" if logarithm else "multiply", errors)
    return 1 + set_out(f, 0, out, True)


cdef int rule_softmax(Node node, Frame f) except -1:
    return by_rows(node, f, False)


cdef int rule_log_softmax(Node node, Frame f) except -1:
    return by_rows(node, f, True)


cdef object forward_relu(object args):
    cdef ArrayView x, r
    cdef int slot = real_view(args[0], &x)
    cdef object out
    if slot < 0 or not (x.c_order or x.f_order):
        return None
    out = empty_dense(args[0])
    view_of(out, &r)
    if x.size < NOGIL_SIZE:
        run_relu(slot, x.data, r.data, x.size)
    else:
        with nogil:
            run_relu(slot, x.data, r.data, x.size)
    return out
