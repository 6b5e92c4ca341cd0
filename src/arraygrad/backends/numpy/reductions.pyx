# Reductions and scans of plain float32 and float64 arrays, forward and backward; and division, whose gradient is a sum
# where the divisor was broadcast.
# May import: numpy (Python only), engine.*, core.op, backends.numpy.complex_rules, backends.numpy.dense_gradients,
# backends.numpy.elementwise, backends.numpy.lanes, backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.plans,
# backends.numpy.kernel_programs, backends.numpy.row_copies, backends.numpy.shapes.
#
# Note [Planned reductions]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# The catalogue in reductions.hpp has a row for each operation: its kernels of one pass (rows.hpp, extrema.hpp), what
# they read, what room they need. One forward and one rule serve them all.
# (1) `plan` turns an array and the axes that are reduced into Lines, out of shape, layout and axes alone: before x
#     along x behind elements in the order of the memory. A column-major array is gone through from its last axis on,
#     as its transpose would be. What is reduced to more than one axis lies row-major: that is served up to two axes.
# (2) What is asked for beside the axes is read by the parameters that the row names. Anything unusual is declined.
# (3) Results are NumPy's bit by bit: sums are added in the order of numpy.add.reduce, within rows by numpy.add's loop.
#     An array that no kernel serves goes to the ufunc's `reduce` where the row has one.
# Note [Compiled rules] in elementwise.pyx holds too. Guarded by tests/backends/test_fast_forward.py,
# test_fast_moments.py, test_fast_extrema.py, test_fast_rules.py, test_fast_scans.py, test_fast_softmax.py and
# test_fast_columns.py.
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact

import numpy as np

from arraygrad.backends.numpy.complex_rules cimport complex_quotient
from arraygrad.backends.numpy.dense_gradients cimport write_out_gradient
from arraygrad.backends.numpy.elementwise cimport (
    RuleKernel, attach, combined, computed, gradient_by, has_complex_result, into, kernel_named, narrow,
    narrow_product, negated, reads_repeats, real_view, saved_for, saved_value, set_out, set_outs, wants_gradient,
)
from arraygrad.backends.numpy.lanes cimport laid_along, row_major
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, copy_into, empty_c, empty_dense, reshaped, same_shape, strided, view_of, wrapped,
)
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, SUM_START, LoopSet, at_first_use, axis_mask, binary_loop, fast_enabled, is_captured, loop_set,
    not_captured, reduced_dims, report, unary_loop,
)
from arraygrad.backends.numpy.plans cimport Planned, planned_row, serve_plan
from arraygrad.backends.numpy.kernel_programs cimport ufunc_of
from arraygrad.backends.numpy.row_copies cimport write_repeats
from arraygrad.backends.numpy.shapes cimport buffer_for
from arraygrad.backends.numpy.single cimport is_single
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport sole_reader, waiting_gradient
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport Op, SAVE_ANS, SAVE_INPUT

cdef extern from "reductions.hpp" namespace "arraygrad":
    struct Lines:
        unsigned long long mask
        int slot
        bint turned, regular
        Py_ssize_t before, along, behind, size, results
    struct RowLoops:
        const LoopSet* add
        const LoopSet* exp
        const LoopSet* log
        const LoopSet* maximum
        const LoopSet* minimum
        double start
        Team* team
    ctypedef int (*row_kernel)(const RowLoops* f, const char* const* given, char* const* out, const Lines* l) noexcept
    enum Space:
        NO_ROOM
    enum Fold:
        NO_FOLD
        FOLD_ADD
    enum Parameters:
        AXIS
        AXIS_KEEPDIMS
        AXIS_DTYPE_KEEPDIMS
        AXIS_CORRECTION_KEEPDIMS
        AXIS_DTYPE_INITIAL
    enum Finish:
        AS_IT_IS
        MEAN
        VARIANCE
        DEVIATION
    enum Base:
        OF_INPUT
        OF_RESULT
        OF_GRADIENT
    enum:
        LOOP_EXP
        LOOP_MAXIMUM
        LOOP_MINIMUM
    struct RowStep:
        row_kernel kernel
        Space room
        int loops
        const char* name
        int declined
    struct Reduction:
        const char* operation
        Parameters parameters
        RowStep value
        bint keeps_shape
        Fold fold
        Py_ssize_t most
        Finish finish
        RowStep rule
        Base base
        const char* operands
        row_kernel adding
        bint any_axes, finite
    const Reduction* reduction_named(const char* operation) noexcept
    void plan_lines(const ArrayView* v, unsigned long long mask, Lines* l) noexcept
    Py_ssize_t room_for(const RowStep* s, const Lines* l) noexcept
    int run_rows_of(const RowStep* step, row_kernel kernel, const RowLoops* loops, const ArrayView* given, int n,
                    const ArrayView* out, char* room, Py_ssize_t room_size, const Lines* l, bint adds) noexcept
    bint looks_finite(int slot, const char* x, Py_ssize_t n) noexcept
    row_kernel quotients
    row_kernel backward_recurrence "arraygrad::reversed_recurrence"

cdef enum:
    MOST_AXES = 8
    MOST_ROWS = 16          # of the catalogue
    ONE_GO = 8192           # elements of NumPy's buffers, unless np.setbufsize changes that
    FILL_SIZE = 4096        # elements; up to here a constant gradient is written out, so that the next rule owns memory

cdef LoopSet* ADD = loop_set("add")
cdef LoopSet* SUBTRACT = loop_set("subtract")
cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* DIVIDE = loop_set("divide")
cdef RowLoops LOOPS         # but for `add` found by `has_loops`
LOOPS.add = ADD
LOOPS.start = SUM_START
LOOPS.team = team
cdef tuple _folds = (np.add.reduce, np.maximum.reduce, np.minimum.reduce, np.multiply.reduce)     # by Fold
_add = np.add
# at_first_use
cdef LoopSet* SQRT = NULL
cdef LoopSet* SQUARE = NULL
cdef int _whole = -1        # whether NumPy adds more than a buffer in one go; -1: not known yet
cdef int _products = -1     # whether numpy.square gives the bits of x * x; -1: not known yet


# What plans are made of

cdef bint added_whole(Py_ssize_t n) except -1:
    """Whether NumPy adds n elements in one go. Before 2.3 it took a buffer at a time, which rounds in another way."""
    global _whole
    if n <= ONE_GO:
        return True
    if _whole < 0:
        x = np.arange(0.1, 1000.1)
        size = np.setbufsize(16)
        try:
            small = _folds[0](x)
        finally:
            np.setbufsize(size)
        _whole = small == _folds[0](x)
    return _whole


cdef inline bint has_loops(int which, int slot) except -1:
    """Whether NumPy's loops that a kernel calls may be trusted."""
    if ADD.fn[slot] == NULL:
        return False
    if which & LOOP_EXP:
        if LOOPS.exp == NULL:
            LOOPS.log = loop_set("log")
            LOOPS.exp = loop_set("exp")
        return LOOPS.exp.fn[slot] != NULL and LOOPS.log.fn[slot] != NULL
    if which & LOOP_MAXIMUM:
        if LOOPS.maximum == NULL:
            LOOPS.maximum = loop_set("maximum")
        return LOOPS.maximum.fn[slot] != NULL
    if which & LOOP_MINIMUM:
        if LOOPS.minimum == NULL:
            LOOPS.minimum = loop_set("minimum")
        return LOOPS.minimum.fn[slot] != NULL
    return True


if FREE_THREADED:           # where many threads may be the first to ask
    at_first_use(&SQRT, "sqrt")
    at_first_use(&SQUARE, "square")
    squares_are_products()
    added_whole(ONE_GO + 1)
    for _loops in (LOOP_EXP, LOOP_MAXIMUM, LOOP_MINIMUM):
        has_loops(_loops, SLOT_F64)


cdef inline bint plan(const ArrayView* v, unsigned long long mask, const RowStep* step, bint keeps_shape,
                      bint any_axes, Lines* l) except -1:
    """How a kernel goes through an array over the axes in `mask`. False: it does not serve that."""
    if step.kernel == NULL or mask == 0 or v.size == 0 or not (v.c_order or v.f_order) \
            or not has_loops(step.loops, v.slot):
        return False
    plan_lines(v, mask, l)
    return (l.regular or any_axes) and (keeps_shape or not l.turned or v.ndim <= 2 or l.results == 1)


cdef inline int run(const RowStep* step, row_kernel kernel, const ArrayView* given, int n, object out, const Lines* l,
                    bint adds=False) except -1:
    """Run a kernel of n arrays that writes one, or adds to it; returns the error bits."""
    cdef ArrayView r, s
    cdef Py_ssize_t room = 0
    cdef object space
    view_of(out, &r)
    s.data = NULL
    if step.room != NO_ROOM:
        room = room_for(step, l)
        space = empty_c(out, 1, &room)
        view_of(space, &s)
    return run_rows_of(step, kernel, &LOOPS, given, n, &r, s.data, room, l, adds)


cdef inline object value_by(const RowStep* step, object x, const ArrayView* second, const Lines* l, const ArrayView* v,
                            bint keeps_shape, bint keepdims):
    """What a kernel of x, and of an array in the form of the result, writes. None: declined, or with such an error."""
    cdef ArrayView given[2]
    cdef Py_ssize_t dims[MOST_AXES]
    cdef int n_dims, errors
    cdef object out
    given[0] = v[0]
    if second != NULL:
        given[1] = second[0]
    if keeps_shape:
        out = empty_dense(x)
    else:
        n_dims = reduced_dims(v.ndim, v.dims, l.mask, keepdims, dims)
        out = empty_c(x, n_dims, dims)
    errors = run(step, step.kernel, given, 1 if second == NULL else 2, out, l)
    if errors & step.declined:
        return None
    report(step.name, errors)
    return out


# Values

cdef object reduced(const Reduction* r, object x, object axis, bint keepdims, Py_ssize_t* count):
    """The kernel of the row, or NumPy's `reduce`, and the number of elements in each result. None: declined."""
    cdef ArrayView v
    cdef Lines l
    cdef unsigned long long mask
    cdef int slot = real_view(x, &v), d
    cdef object out
    if slot < 0 or v.ndim > MOST_AXES or not axis_mask(axis, v.ndim, &mask):
        return None
    count[0] = 1
    for d in range(v.ndim):
        if (mask >> d) & 1:
            count[0] *= v.dims[d]
    if v.size <= r.most and (r.fold != FOLD_ADD or added_whole(v.size)) \
            and plan(&v, mask, &r.value, r.keeps_shape, False, &l):
        out = value_by(&r.value, x, NULL, &l, &v, r.keeps_shape, keepdims)
        if out is not None:
            return out
    return None if r.fold == NO_FOLD else wrapped(_folds[<int>r.fold](x, axis, None, None, keepdims))


cdef object forward_reduction(const void* row, object args):
    cdef const Reduction* r = <const Reduction*>row
    cdef Py_ssize_t count = 0
    cdef object keepdims = False, axis = args[1], out
    if r.parameters == AXIS_KEEPDIMS:
        keepdims = args[2]
    elif r.parameters == AXIS_DTYPE_KEEPDIMS:
        if args[2] is not None:
            return None
        keepdims = args[3]
    elif r.parameters == AXIS_CORRECTION_KEEPDIMS:
        return spread_of(r, args)
    elif r.parameters == AXIS_DTYPE_INITIAL and not is_plain_scan(args[0], args):
        return None
    if keepdims is not True and keepdims is not False:
        return None                     # NumPy decides on other flags
    out = reduced(r, args[0], axis, keepdims, &count)
    if r.finish == AS_IT_IS or out is None:
        return out
    return None if count == 0 else binary_loop(DIVIDE, out, count, out)         # NumPy warns of the mean of nothing


cdef inline bint is_plain_scan(object x, object args) except -1:
    """Whether a cumulative function got nothing but one axis, or none for an array of one."""
    cdef ArrayView v
    return args[2] is None and args[3] is False and (
        PyLong_CheckExact(args[1]) or args[1] is None and view_of(x, &v) >= 0 and v.ndim == 1)


cdef const Reduction* TOTAL = reduction_named("sum")


cdef object summed(object x, object axis, bint keepdims, Py_ssize_t* count):
    """Sum over `axis` of a float32 or float64 array and the number of elements in each sum. None: declined."""
    return reduced(TOTAL, x, axis, keepdims, count)


cdef object means(object x, object axis, Py_ssize_t* count):
    """Means over `axis`, which keep it as an axis of one element. None: declined."""
    cdef object mean = summed(x, axis, True, count)
    if mean is None or count[0] == 0:
        return None
    return binary_loop(DIVIDE, mean, count[0], mean)


# Variances

cdef bint squares_are_products() except -1:
    """Whether numpy.square and numpy.multiply, of which NumPy's var calls one, have the bits of one's own product."""
    global _products
    if _products < 0:
        x = np.arange(0.1, 100.1)
        y = x.astype(np.float32)
        _products = np.array_equal(np.square(x), x * x) and np.array_equal(np.square(y), y * y)
    return _products


cdef object product(const LoopSet* loops, object a, object b, object out):
    """A binary ufunc of plain arrays by direct loop or, where their layouts have none in common, by NumPy's call."""
    cdef object result = binary_loop(loops, a, b, out)
    return ufunc_of(loops, a, b) if result is None else result


cdef object squared(object dev):
    """dev * dev in its own memory, in the name of the ufunc that NumPy's var calls."""
    cdef object result = unary_loop(at_first_use(&SQUARE, "square"), dev, dev)
    return wrapped((<object>SQUARE.ufunc)(dev, dev)) if result is None else result


cdef object spread_of(const Reduction* r, object args):
    """A variance or a standard deviation: sums of (x - mean)^2, in one pass where a kernel serves that."""
    cdef ArrayView v, m
    cdef Lines l
    cdef unsigned long long mask
    cdef Py_ssize_t count = 0, ignored = 0
    cdef object mean, dev, out = None, x = args[0], correction = args[2]
    if not (PyFloat_CheckExact(correction) or PyLong_CheckExact(correction)):
        return None
    if args[3] is not True and args[3] is not False or not squares_are_products():
        return None
    mean = means(x, args[1], &count)
    if mean is None or not count - correction > 0:
        return None                     # NumPy warns of too few degrees of freedom
    view_of(x, &v)
    axis_mask(args[1], v.ndim, &mask)
    if added_whole(v.size) and plan(&v, mask, &r.value, False, False, &l) and view_of(mean, &m) == v.slot:
        out = value_by(&r.value, x, &m, &l, &v, False, args[3])
    if out is None:
        dev = product(SUBTRACT, x, mean, None)
        dev = squared(dev)
        out = summed(dev, args[1], args[3], &ignored)
    out = binary_loop(DIVIDE, out, count - correction, out)
    return out if r.finish == VARIANCE or out is None else unary_loop(at_first_use(&SQRT, "sqrt"), out, out)


cdef const RuleKernel* SCALED = kernel_named("std", "scaled")       # the gradient over the deviation


cdef object slope_of_squares(Node node, Frame f, const ArrayView* x, unsigned long long mask, bint root):
    """What the gradient is for each (x - mean): twice of it over N - correction, or of a root's. None: declined."""
    cdef Py_ssize_t dims[MOST_AXES]
    cdef Py_ssize_t count = 1
    cdef int d
    cdef object correction = (<list>node.args)[2], g = f.grad
    if not (PyFloat_CheckExact(correction) or PyLong_CheckExact(correction)):
        return None
    for d in range(x.ndim):
        dims[d] = 1 if (mask >> d) & 1 else x.dims[d]
        if (mask >> d) & 1:
            count *= x.dims[d]
    if root:
        g = computed(SCALED, g, saved_for(node, SAVE_ANS, -1), None, None, False, None)
    if g is None or not count - correction > 0:
        return None
    return binary_loop(MULTIPLY, reshaped(g, x.ndim, dims), (1.0 if root else 2.0) / (count - correction), None)


# Gradients

cdef inline bint asked_for(const Reduction* r, object x, list args) except -1:
    """Whether the parameters are those that the rule is for."""
    if r.parameters == AXIS_DTYPE_INITIAL:
        return is_plain_scan(x, args)
    return r.parameters != AXIS_DTYPE_KEEPDIMS or args[2] is None


cdef inline object operand(Node node, Frame f, char letter, object base, const ArrayView* v, const Lines* l,
                           ArrayView* o):
    """What a kernel reads (Reduction.operands), in the form that it reads it in, and its view. None: declined."""
    cdef Py_ssize_t count = 0
    cdef object out
    if letter == c"x" or letter == c"y":
        o[0] = v[0]
        return base
    if letter == c"l":
        out = laid_along(f.grad, base)
        return None if view_of(out, o) < 0 else out
    if letter == c"g":
        if real_view(f.grad, o) != v.slot or not same_shape(o, v) or not (o.f_order if l.turned else o.c_order):
            return None
        return f.grad
    if letter == c"m":
        out = means(base, (<list>node.args)[1], &count)
    elif letter == c"v" or letter == c"d":
        out = slope_of_squares(node, f, v, l.mask, letter == c"d")
    else:
        out = f.grad if letter == c"r" else saved_for(node, SAVE_ANS, -1)
    if real_view(out, o) != v.slot or o.size != l.results:
        return None
    if not o.c_order:
        out = row_major(out)
        view_of(out, o)
    return out


cdef inline object buffer_like(Node node, const ArrayView* v):
    """The gradient that waits at edge 0, if it is a large row-major array of the shape and dtype in `v`, else None."""
    cdef ArrayView w
    cdef object out = None if v.size <= FILL_SIZE else waiting_gradient(node)
    if out is None or view_of(out, &w) != v.slot or not w.c_order or not w.writeable:
        return None
    return out if same_shape(v, &w) else None


cdef int rule_reduction(Node node, Frame f) except -1:
    cdef const Reduction* r = <const Reduction*>planned_row(<Op>node.op)
    cdef ArrayView v, o
    cdef Lines l
    cdef unsigned long long mask = 0
    cdef ArrayView given[3]
    cdef int k = 0, errors
    cdef list args = <list>node.args
    cdef object base, out = None, read = None, beside = None    # what is read beside the base
    if r.base == OF_INPUT:
        base = saved_for(node, SAVE_INPUT, 0)
    else:
        write_out_gradient(f)
        base = saved_for(node, SAVE_ANS, -1) if r.base == OF_RESULT else f.grad
    if real_view(base, &v) < 0 or v.ndim > MOST_AXES or not asked_for(r, base, args) \
            or not axis_mask(args[1], v.ndim, &mask):
        return 0
    if not plan(&v, mask, &r.rule, r.keeps_shape, r.any_axes, &l):
        if r.base == OF_INPUT and not v.c_order:
            base = row_major(base)
            view_of(base, &v)
        if v.slot < 0 or not v.c_order or not plan(&v, mask, &r.rule, r.keeps_shape, r.any_axes, &l):
            return 0 if r.finish == AS_IT_IS else deviations_by_parts(node, f, r, base, &v, mask)
    while r.operands[k] != 0:
        out = operand(node, f, r.operands[k], base, &v, &l, &o)
        if out is None or r.finite and r.operands[k] == c"a" and not looks_finite(o.slot, o.data, o.size):
            return 0
        given[k] = o
        if out is not base:
            beside, read = read, out
        k += 1
    out = buffer_like(node, &v) if r.adding != NULL and not l.turned else None
    if out is not None:
        report(r.rule.name, run(&r.rule, r.adding, given, k, out, &l, True))
        return 1
    out = place_for(f, base, base if read is None else read) if r.keeps_shape else empty_dense(base)
    errors = run(&r.rule, r.rule.kernel, given, k, out, &l)
    beside = read = None                    # which held what was read
    if errors & r.rule.declined:
        return 0
    report(r.rule.name, errors)
    return 1 + set_out(f, 0, out, True)


cdef inline object place_for(Frame f, object like, object g):
    """The memory of the gradient that is read, if that is the engine's or a copy, else a new array."""
    cdef ArrayView v
    view_of(g, &v)
    return g if v.writeable and (f.owned or g is not f.grad) else empty_dense(like)


cdef int deviations_by_parts(Node node, Frame f, const Reduction* r, object x, const ArrayView* v,
                             unsigned long long mask) except -1:
    """The gradient of a variance over axes apart from each other."""
    cdef Py_ssize_t count = 0
    cdef object out, mean = means(x, (<list>node.args)[1], &count), g = None
    if mean is not None:
        g = slope_of_squares(node, f, v, mask, r.finish == DEVIATION)
    if g is None:
        return 0
    out = product(SUBTRACT, x, mean, None)
    return 1 + set_out(f, 0, product(MULTIPLY, out, g, out), True)


# The gradients of sums

cdef object spread(Node node, object g, GradMeta meta, unsigned long long reduced):
    """g repeated over the reduced axes of the shape in `meta`: a new array or, where it is large and constant or where
    it goes to a rule that reads it so, a view of `g`."""
    cdef ArrayView v, r
    cdef Py_ssize_t strides[8]
    cdef Py_ssize_t size = 1, i
    cdef int axis = 0, d
    cdef bint constant = True, keepdims
    cdef Node child
    cdef object out, view
    view_of(g, &v)
    keepdims = v.ndim == meta.ndim
    for d in range(meta.ndim):
        size *= meta.dims[d]
        if (reduced >> d) & 1:
            strides[d] = 0
            axis += keepdims
        else:
            if axis >= v.ndim or v.dims[axis] != meta.dims[d]:
                return None
            strides[d] = v.strides[axis]
            constant = constant and meta.dims[d] == 1
            axis += 1
    if axis != v.ndim:
        return None
    if size > FILL_SIZE:
        view = strided(g, meta.ndim, meta.dims, strides)
        if constant:
            return view
        child = sole_reader(node)
        if child is not None and reads_repeats(child):
            return view
    out = empty_c(g, meta.ndim, meta.dims)
    if constant and not is_captured():
        view_of(out, &r)
        if v.slot == SLOT_F64:
            for i in range(size):
                (<double*>r.data)[i] = (<double*>v.data)[0]
        else:
            for i in range(size):
                (<float*>r.data)[i] = (<float*>v.data)[0]
        return out
    if size <= FILL_SIZE:
        view = strided(g, meta.ndim, meta.dims, strides)
    view_of(view, &r)
    if not write_repeats(&r, out):
        copy_into(out, view)
    return out


cdef bint added_to_waiting(Node node, GradMeta meta, object g, unsigned long long reduced) except -1:
    """Add g, repeated over the reduced axes, to the gradient that waits where it goes; see shapes.pyx."""
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef int axis = 0, d
    cdef object out = buffer_for(node, meta, g)
    if out is None or view_of(out, &v) < 0 or v.size <= FILL_SIZE:
        return False
    view_of(g, &v)
    if v.ndim != meta.ndim:
        for d in range(meta.ndim):
            dims[d] = 1
            if not (reduced >> d) & 1:
                if axis >= v.ndim or v.dims[axis] != meta.dims[d]:
                    return False
                dims[d] = v.dims[axis]
                axis += 1
        if axis != v.ndim:
            return False
        g = reshaped(g, meta.ndim, dims)
        view_of(g, &v)
    for d in range(meta.ndim):
        if v.dims[d] != (1 if (reduced >> d) & 1 else meta.dims[d]):
            return False
    if binary_loop(ADD, out, g, out) is None:
        not_captured("a sum in place")
        _add(out, g, out)
    return True


cdef int rule_repeated(Node node, Frame f) except -1:
    """The gradient of a sum or a mean."""
    cdef const Reduction* r = <const Reduction*>planned_row(<Op>node.op)
    cdef ArrayView g, o
    cdef GradMeta meta
    cdef unsigned long long mask = 0
    cdef object slot = saved_value(node, 0), out, grad = f.grad
    cdef Py_ssize_t count = 1
    cdef int d
    if type(slot) is not GradMeta or real_view(grad, &g) < 0:
        return 0
    meta = <GradMeta>slot
    if meta.ndim > 8 or not axis_mask((<list>node.args)[1], meta.ndim, &mask):
        return 0
    if r.finish == MEAN:
        for d in range(meta.ndim):
            if (mask >> d) & 1:
                count *= meta.dims[d]
        if count == 0:
            return 0
        grad = binary_loop(DIVIDE, grad, count, None)
        if grad is None:
            return 0
    if added_to_waiting(node, meta, grad, mask):
        return 1
    out = spread(node, grad, meta, mask)
    if out is None:
        return 0
    view_of(out, &o)
    return 1 + set_out(f, 0, out, o.writeable)


# Recurrences, for rules of the table

def reversed_recurrence(x, g):
    """s with s[k] = g[k] + x[k + 1] * s[k + 1] along the last axis of plain arrays. None: declined."""
    cdef ArrayView v, w, o
    cdef Lines l
    cdef const char* given[2]
    cdef char* made[1]
    cdef object out
    if not fast_enabled():
        return None
    x, g = row_major(x), row_major(g)
    if x is None or g is None or view_of(x, &v) != view_of(g, &w) or not same_shape(&v, &w) or v.size == 0 \
            or v.ndim == 0:
        return None
    plan_lines(&v, 1ULL << (v.ndim - 1), &l)
    out = empty_dense(x)
    view_of(out, &o)
    given[0], given[1], made[0] = v.data, w.data, o.data
    not_captured("a recurrence")
    report("multiply", backward_recurrence(&LOOPS, given, made, &l))
    return out


# Division

cdef const RuleKernel* QUOTIENT = kernel_named("divide", "x2")      # of the quotient and the divisor


cdef int rule_divide(Node node, Frame f) except -1:
    cdef object out0 = None, out1 = None, ans, divisor = saved_for(node, SAVE_INPUT, 1)
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    if has_complex_result(node):
        return complex_quotient(node, f)
    if second:
        ans = saved_for(node, SAVE_ANS, -1)
        if not is_single(f.grad):
            if first and both_quotients(node, f, ans, divisor):
                return 1
            out1 = narrow_quotient(node, f, ans, divisor)
    if first:
        out0 = combined(DIVIDE, f.grad, divisor, f.owned and (not second or out1 is not None))
        if out0 is None:
            return 0
    if second and out1 is None:
        out1 = gradient_by(f, QUOTIENT, ans, divisor, None, True, node)
        if out1 is None:
            out1 = quotient_by_parts(f, ans, divisor)
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)


cdef bint both_quotients(Node node, Frame f, object ans, object divisor) except -1:
    """g / divisor, and -g * ans / divisor as narrow_quotient has it, in one pass over g. False: declined."""
    cdef ArrayView g, y, z, o, t
    cdef Lines l
    cdef const char* given[3]
    cdef char* made[2]
    cdef GradMeta meta = narrow(node, f, 1)
    cdef unsigned long long mask = 0
    cdef int d, lead, slot
    cdef object out, total
    if meta is None:
        return False
    write_out_gradient(f)
    slot = real_view(f.grad, &g)
    if slot < 0 or not g.c_order or g.size == 0 or g.ndim > MOST_AXES or real_view(ans, &y) != slot or not y.c_order \
            or not same_shape(&g, &y) or real_view(divisor, &z) != slot or not z.c_order or z.ndim != meta.ndim \
            or ADD.fn[slot] == NULL:
        return False
    lead = g.ndim - z.ndim
    for d in range(g.ndim):
        if d >= lead and z.dims[d - lead] == g.dims[d]:
            continue
        if d >= lead and z.dims[d - lead] != 1:
            return False
        mask |= 1ULL << d
    for d in range(z.ndim):
        if meta.dims[d] != z.dims[d]:
            return False
    plan_lines(&g, mask, &l)
    if not l.regular:
        return False
    total = empty_dense(divisor)
    out = f.grad if f.owned and g.writeable else empty_dense(f.grad)
    view_of(out, &o)
    view_of(total, &t)
    given[0], given[1], given[2] = g.data, y.data, z.data
    made[0], made[1] = o.data, t.data
    not_captured("a quotient summed on its way")
    report("divide", quotients(&LOOPS, given, made, &l))
    return set_outs(f, out, negated(into(DIVIDE, total, divisor)))


cdef object narrow_quotient(Node node, Frame f, object ans, object divisor):
    """-g * ans / divisor summed over the divisor's broadcast axes: the sum of g * ans, divided once. None: declined."""
    cdef ArrayView d, r
    cdef object out = narrow_product(node, f, 1, ans)
    if out is None or view_of(out, &r) < 0 or real_view(divisor, &d) != r.slot or not same_shape(&d, &r) \
            or not d.c_order:
        return None
    return negated(into(DIVIDE, out, divisor))


cdef object quotient_by_parts(Frame f, object ans, object divisor):
    """-g * ans / divisor where the divisor is broadcast. None: declined."""
    cdef ArrayView g, z
    cdef object out
    # Ask first: once the product may stand in the gradient's memory there is no way back.
    if real_view(f.grad, &g) < 0 or real_view(divisor, &z) != g.slot or not (g.c_order or g.f_order):
        return None
    out = combined(MULTIPLY, f.grad, ans, f.owned)
    if out is None:
        return None
    return negated(combined(DIVIDE, out, divisor, True))


# Into the table

cdef Planned PLANNED[MOST_ROWS]
cdef tuple _parameters = (                  # by Parameters
    ("x", "axis"), ("x", "axis", "keepdims"), ("x", "axis", "dtype", "keepdims"),
    ("x", "axis", "correction", "keepdims"), ("x", "axis", "dtype", "include_initial"),
)
# Operation -> what its nodes have to keep for the rule.
cdef dict _kept = {
    "sum": ("x_meta",), "mean": ("x_meta",), "var": ("x",), "std": ("x", "ans"), "max": ("x", "ans"),
    "min": ("x", "ans"), "prod": ("x",), "logsumexp": ("x", "ans"), "softmax": ("ans",), "log_softmax": ("ans",),
    "cumulative_sum": (), "cumulative_prod": ("x",),
}


cdef int attach_reductions(dict ops, list forwards, list done) except -1:
    """Give the operations of the catalogue their plans and rules."""
    cdef const Reduction* r
    cdef int k
    for k, name in enumerate(_kept):
        r = reduction_named(name.encode())
        PLANNED[k].forward = forward_reduction
        PLANNED[k].row = r
        if serve_plan(ops, name, _parameters[<int>r.parameters], &PLANNED[k], forwards):
            attach(ops, name, rule_repeated if r.rule.kernel == NULL else rule_reduction, _kept[name], done)
    attach(ops, "divide", rule_divide, ("x2", "ans"), done)
    return 0
