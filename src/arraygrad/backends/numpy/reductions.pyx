# Reductions of plain float32 and float64 arrays, forward and backward: sums, means, variances and softmax;
# scans; and division, whose gradient is a sum where the divisor was broadcast.
# May import: numpy (Python only), engine.*, core.op, backends.numpy.dense_gradients, backends.numpy.elementwise,
# backends.numpy.lanes, backends.numpy.loops, backends.numpy.row_copies, backends.numpy.shapes.
#
# Results are NumPy's bit by bit: sums are added in the order of numpy.add.reduce, within rows by numpy.add's loop.
# Kernels of one pass are in rows.hpp; they serve row-major arrays reduced over their first or their last axes. See Note
# [Compiled rules] in elementwise.pyx.
# Guarded by tests/ops/test_fast_forward.py, test_fast_moments.py, test_fast_rules.py, test_fast_scans.py and
# test_fast_softmax.py.
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact

import numpy as np

from arraygrad.backends.numpy.dense_gradients cimport write_out_gradient
from arraygrad.backends.numpy.elementwise cimport (
    RuleKernel, combined, computed, gradient_by, into, kernel_named, narrow, narrow_product, negated, reads_repeats,
    real_view, saved_for, saved_value, set_out, set_outs, wants_gradient,
)
from arraygrad.backends.numpy.lanes cimport Around, as_it_lies, laid_along, row_major
from arraygrad.backends.numpy.loops cimport (
    FPE_INVALID, FPE_UNDER, SLOT_F64, SUM_START, ArrayView, LoopSet, Rows, at_first_use, axis_mask, binary_loop,
    copy_into, empty_c, empty_dense, fast_enabled, loop_set, reduce_by, reduced_dims, report,
    reshaped, same_shape, split_axes, strided, unary_loop, view_of, wrapped,
)
from arraygrad.backends.numpy.row_copies cimport write_repeats
from arraygrad.backends.numpy.shapes cimport buffer_for
from arraygrad.backends.numpy.single cimport is_single
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport sole_reader
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport SAVE_ANS, SAVE_INPUT

cdef extern from "rows.hpp" namespace "arraygrad":
    struct RowLoops:
        const LoopSet* exp
        const LoopSet* log
        const LoopSet* add
        double start
    ctypedef int (*row_kernel)(const RowLoops* f, int slot, const char* const* given, char* const* out,
                               const Rows* rows) noexcept
    row_kernel sum_squares, deviations, quotients
    row_kernel softmax, log_softmax, softmax_gradient, log_softmax_gradient, logsumexp, logsumexp_gradient
    row_kernel cumulative_sum, cumulative_prod, cumulative_sum_gradient, cumulative_prod_gradient, prod_gradient
    row_kernel backward_recurrence "arraygrad::reversed_recurrence"
    bint all_finite(int slot, const char* x, Py_ssize_t n) noexcept
    Py_ssize_t softmax_room(const Rows* rows) noexcept

cdef enum:
    BUFFER = 8192           # elements of NumPy's buffers, unless np.setbufsize changes that
    FILL_SIZE = 4096        # elements; up to here a constant gradient is written out, so that the next rule owns memory

cdef LoopSet* ADD = loop_set("add")
cdef LoopSet* SUBTRACT = loop_set("subtract")
cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* DIVIDE = loop_set("divide")
cdef RowLoops LOOPS         # exp and log by has_softmax
LOOPS.add = ADD
LOOPS.start = SUM_START
_add = np.add
_add_reduce = np.add.reduce
# at_first_use
cdef LoopSet* SQRT = NULL
cdef LoopSet* SQUARE = NULL
cdef int _whole = -1        # whether NumPy adds more than a buffer in one go; -1: not known yet
cdef int _products = -1     # whether numpy.square gives the bits of x * x; -1: not known yet
if FREE_THREADED:
    at_first_use(&SQRT, "sqrt")
    at_first_use(&SQUARE, "square")
    squares_are_products()
    added_whole(BUFFER + 1)
    has_softmax(SLOT_F64)


# A call of a kernel of rows

cdef struct Call:
    Rows rows
    unsigned long long mask         # the axes that are reduced
    int slot
    int n_given
    const char* given[3]
    char* made[2]


cdef bint begin(Call* c, object x, object axis, ArrayView* v) except -1:
    """A call on an array that is reduced over `axis`. False: no kernel serves that."""
    c.slot = real_view(x, v)
    c.n_given = 0
    return (c.slot >= 0 and v.ndim <= 8 and v.size > 0 and axis_mask(axis, v.ndim, &c.mask)
            and split_axes(x, c.mask, &c.rows) and ADD.fn[c.slot] != NULL)


cdef bint give(Call* c, object x, ArrayView* v) noexcept:
    """The next array that the kernel reads. False: it is no dense one of the dtype."""
    if real_view(x, v) != c.slot or not (v.c_order or c.n_given == 0 and v.f_order):
        return False
    c.given[c.n_given] = v.data
    c.n_given += 1
    return True


cdef int run(Call* c, row_kernel kernel, object out, object second=None) noexcept:
    """Run a kernel that writes one array, or two; returns the error bits."""
    cdef ArrayView r
    view_of(out, &r)
    c.made[0] = r.data
    if second is not None:
        view_of(second, &r)
        c.made[1] = r.data
    return kernel(&LOOPS, c.slot, c.given, c.made, &c.rows)


cdef object place_for(Frame f, const ArrayView* g, object like):
    """The gradient's own memory, if that is the engine's and holds the result; else a new array."""
    return f.grad if f.owned and g.writeable and g.c_order else empty_dense(like)


# Sums

cdef bint added_whole(Py_ssize_t n) except -1:
    """Whether NumPy adds n elements in one go. Before 2.3 it took a buffer at a time, which rounds in another way."""
    global _whole
    if n <= BUFFER:
        return True
    if _whole < 0:
        x = np.arange(0.1, 1000.1)
        size = np.setbufsize(16)
        try:
            small = _add_reduce(x)
        finally:
            np.setbufsize(size)
        _whole = small == _add_reduce(x)
    return _whole


cdef bint squares_are_products() except -1:
    """Whether numpy.square and numpy.multiply, of which NumPy's var calls one, have the bits of one's own product."""
    global _products
    if _products < 0:
        x = np.arange(0.1, 100.1)
        y = x.astype(np.float32)
        _products = np.array_equal(np.square(x), x * x) and np.array_equal(np.square(y), y * y)
    return _products


cdef object summed(object x, object axis, bint keepdims, Py_ssize_t* count):
    """Sum over `axis` of a float32 or float64 array and the number of elements in each sum. None: declined."""
    cdef ArrayView v
    cdef unsigned long long mask
    cdef int slot = view_of(x, &v), d
    cdef object out
    if slot < 0 or slot > SLOT_F64 or v.ndim > 8 or not axis_mask(axis, v.ndim, &mask):
        return None
    count[0] = 1
    for d in range(v.ndim):
        if (mask >> d) & 1:
            count[0] *= v.dims[d]
    out = reduce_by(ADD, x, mask, keepdims) if added_whole(v.size) else None
    return wrapped(_add_reduce(x, axis, None, None, keepdims)) if out is None else out


cdef object forward_sum(object args):
    cdef Py_ssize_t count = 0
    if args[2] is not None or args[3] is not True and args[3] is not False:
        return None                 # NumPy decides on other flags
    return summed(args[0], args[1], args[3], &count)


cdef object forward_mean(object args):
    cdef Py_ssize_t count = 0
    cdef object keepdims = args[2], out
    if keepdims is not True and keepdims is not False:
        return None
    out = summed(args[0], args[1], keepdims, &count)
    if out is None or count == 0:
        return None                 # NumPy warns of the mean of nothing
    return binary_loop(DIVIDE, out, count, out)


cdef object means(object x, object axis, Py_ssize_t* count):
    """Means over `axis`, which keep it as an axis of one element. None: declined."""
    cdef object mean = summed(x, axis, True, count)
    if mean is None or count[0] == 0:
        return None
    return binary_loop(DIVIDE, mean, count[0], mean)


# Variances

cdef object product(const LoopSet* loops, object a, object b, object out):
    """A binary ufunc of plain arrays by direct loop or, where their layouts have none in common, by NumPy's call."""
    cdef object result = binary_loop(loops, a, b, out)
    return wrapped((<object>loops.ufunc)(a, b)) if result is None else result


cdef object squared(object dev):
    """dev * dev in its own memory, in the name of the ufunc that NumPy's var calls."""
    cdef object result = unary_loop(at_first_use(&SQUARE, "square"), dev, dev)
    return wrapped((<object>SQUARE.ufunc)(dev, dev)) if result is None else result


cdef object forward_var(object args):
    cdef Py_ssize_t count = 0, ignored = 0
    cdef object mean, dev, out, correction = args[2]
    if not (PyFloat_CheckExact(correction) or PyLong_CheckExact(correction)):
        return None
    if args[3] is not True and args[3] is not False or not squares_are_products():
        return None
    mean = means(args[0], args[1], &count)
    if mean is None or not count - correction > 0:
        return None                 # NumPy warns of too few degrees of freedom
    out = squares(args[0], mean, args[1], args[3])
    if out is None:
        dev = product(SUBTRACT, args[0], mean, None)
        dev = squared(dev)
        out = summed(dev, args[1], args[3], &ignored)
    return binary_loop(DIVIDE, out, count - correction, out)


cdef object squares(object x, object mean, object axis, bint keepdims):
    """Sums of (x - mean)^2 over `axis`, in one pass. None: declined, or with an error that the plain way reports."""
    cdef ArrayView v, m
    cdef Call c
    cdef Py_ssize_t dims[8]
    cdef int n_dims
    cdef object out
    if not begin(&c, x, axis, &v) or not added_whole(v.size) or not give(&c, x, &v) or not give(&c, mean, &m):
        return None
    n_dims = reduced_dims(v.ndim, v.dims, c.mask, keepdims, dims)
    out = empty_c(x, n_dims, dims)
    return None if run(&c, sum_squares, out) else out


cdef object forward_std(object args):
    cdef object out = forward_var(args)
    return None if out is None else unary_loop(at_first_use(&SQRT, "sqrt"), out, out)


cdef int spread_deviations(Node node, Frame f, object g, double factor) except -1:
    """out0 = factor * g * (x - mean) / (N - correction)."""
    cdef ArrayView x, v, m
    cdef Call c
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t count = 0
    cdef unsigned long long mask = 0
    cdef int i
    cdef object saved = saved_for(node, SAVE_INPUT, 0), axis = (<list>node.args)[1], mean, out
    cdef object correction = (<list>node.args)[2]
    if real_view(g, &v) < 0 or real_view(saved, &x) != v.slot or x.ndim > 8 or not axis_mask(axis, x.ndim, &mask):
        return 0
    if not (PyFloat_CheckExact(correction) or PyLong_CheckExact(correction)):
        return 0
    for i in range(x.ndim):
        dims[i] = 1 if (mask >> i) & 1 else x.dims[i]
    mean = means(saved, axis, &count)
    if mean is None or not count - correction > 0:
        return 0
    g = binary_loop(MULTIPLY, reshaped(g, x.ndim, dims), factor / (count - correction), None)
    if g is None:
        return 0
    if not begin(&c, saved, axis, &x) or not give(&c, saved, &x) or not give(&c, mean, &m) or not give(&c, g, &v):
        out = product(SUBTRACT, saved, mean, None)
        return 1 + set_out(f, 0, product(MULTIPLY, out, g, out), True)
    out = empty_dense(saved)
    report("multiply", run(&c, deviations, out))
    return 1 + set_out(f, 0, out, True)


cdef int rule_var(Node node, Frame f) except -1:
    return spread_deviations(node, f, f.grad, 2.0)


cdef const RuleKernel* SCALED = kernel_named("std", "scaled")       # the gradient over the deviation


cdef int rule_std(Node node, Frame f) except -1:
    cdef object scaled = computed(SCALED, f.grad, saved_for(node, SAVE_ANS, -1), None, None, False, None)
    return 0 if scaled is None else spread_deviations(node, f, scaled, 1.0)


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
    if constant:
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
        _add(out, g, out)
    return True


cdef int reduced_by(Node node, Frame f, bint mean) except -1:
    cdef ArrayView g, r
    cdef GradMeta meta
    cdef unsigned long long mask = 0
    cdef object slot, out, grad = f.grad
    cdef Py_ssize_t count = 1
    cdef int d
    slot = saved_value(node, 0)
    if type(slot) is not GradMeta or real_view(grad, &g) < 0:
        return 0
    meta = <GradMeta>slot
    if meta.ndim > 8 or not axis_mask((<list>node.args)[1], meta.ndim, &mask):
        return 0
    if mean:
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
    view_of(out, &r)
    return 1 + set_out(f, 0, out, r.writeable)


cdef int rule_sum(Node node, Frame f) except -1:
    return reduced_by(node, f, False)

cdef int rule_mean(Node node, Frame f) except -1:
    return reduced_by(node, f, True)


# softmax, log_softmax and logsumexp

cdef bint has_softmax(int slot) except -1:
    """Whether NumPy's loops for exp and log may be trusted."""
    if LOOPS.exp == NULL:
        LOOPS.log = loop_set("log")
        LOOPS.exp = loop_set("exp")
    return LOOPS.exp.fn[slot] != NULL and LOOPS.log.fn[slot] != NULL


cdef bint along(Call* c, object x, object axis, ArrayView* v) except -1:
    """Whether a row-major array is normalised within rows (over its last axes, or over all), or along one axis."""
    if begin(c, x, axis, v) and v.c_order and v.ndim > 0 and not c.rows.leading:
        return has_softmax(c.slot)
    c.mask = 0
    if not PyLong_CheckExact(axis) or not begin_scan(c, x, axis, v) or not v.c_order:
        return False
    c.mask = 1ULL << (axis if axis >= 0 else axis + v.ndim)
    return has_softmax(c.slot)


cdef object working_space(Call* c, object like):
    cdef Py_ssize_t room = softmax_room(&c.rows)
    return empty_c(like, 1, &room)


cdef object normalised(object args, row_kernel kernel):
    """softmax or log_softmax. None: declined, or with an error that the plain way reports."""
    cdef ArrayView x
    cdef Call c
    cdef int errors
    cdef object out
    if not along(&c, args[0], args[1], &x) or not give(&c, args[0], &x):
        return None
    out = empty_dense(args[0])
    errors = run(&c, kernel, out, working_space(&c, out))
    if errors & ~FPE_UNDER:
        return None
    report("exp", errors)
    return out


cdef object forward_softmax(object args):
    return normalised(args, softmax)


cdef object forward_log_softmax(object args):
    return normalised(args, log_softmax)


cdef int normalised_rule(Node node, Frame f, row_kernel kernel, const char* name) except -1:
    cdef ArrayView g, y
    cdef Call c
    cdef object ans = saved_for(node, SAVE_ANS, -1), out
    write_out_gradient(f)
    if not along(&c, ans, (<list>node.args)[1], &y) or not give(&c, f.grad, &g) or not g.c_order \
            or not same_shape(&g, &y) or not give(&c, ans, &y):
        return 0
    out = place_for(f, &g, ans)
    report(name, run(&c, kernel, out, working_space(&c, ans)))
    return 1 + set_out(f, 0, out, True)


cdef int rule_softmax(Node node, Frame f) except -1:
    return normalised_rule(node, f, softmax_gradient, "multiply")


cdef int rule_log_softmax(Node node, Frame f) except -1:
    return normalised_rule(node, f, log_softmax_gradient, "subtract")


cdef object forward_logsumexp(object args):
    """None: declined, or with an error that the plain way reports."""
    cdef ArrayView x
    cdef Call c
    cdef Py_ssize_t dims[8]
    cdef int errors, n_dims
    cdef object out
    if not along(&c, args[0], args[1], &x) or not give(&c, args[0], &x):
        return None
    n_dims = reduced_dims(x.ndim, x.dims, c.mask, args[2], dims)
    out = empty_c(args[0], n_dims, dims)
    errors = run(&c, logsumexp, out, working_space(&c, out))
    if errors & ~FPE_UNDER:
        return None
    report("exp", errors)
    return out


cdef int rule_logsumexp(Node node, Frame f, object saved, object axis, bint turned) except -1:
    cdef ArrayView x, ans, g
    cdef Call c
    cdef object out
    if not along(&c, saved, axis, &x) or not give(&c, saved, &x) \
            or not give(&c, saved_for(node, SAVE_ANS, -1), &ans) or not give(&c, f.grad, &g) \
            or not all_finite(c.slot, ans.data, ans.size):
        return 0
    out = empty_dense(saved)
    report("exp", run(&c, logsumexp_gradient, out, working_space(&c, saved)))
    return 1 + set_out(f, 0, out, True)


# Scans

cdef bint begin_scan(Call* c, object x, object axis, ArrayView* v) except -1:
    """A call on a dense array that is gone through along `axis`: an int, or None for all axes. False: another."""
    cdef Around a
    c.slot = real_view(x, v)
    c.n_given = 0
    c.rows.leading = False
    if axis is None:
        c.rows.outer = c.rows.behind = 1
        c.rows.inner = v.size
        return c.slot >= 0 and v.c_order and 0 < v.ndim <= 8 and v.size > 0
    if c.slot < 0 or not as_it_lies(v, axis, &a):
        return False
    c.rows.outer, c.rows.inner, c.rows.behind = a.outer, a.n, a.inner
    return True


cdef bint plain_scan(object x, object args) except -1:
    """Whether a cumulative function got nothing but an axis, or none for an array of one."""
    cdef ArrayView v
    return args[2] is None and args[3] is False and (args[1] is not None or view_of(x, &v) >= 0 and v.ndim == 1)


cdef object accumulated(object x, object axis, bint product):
    """NumPy's accumulate along an axis, without a step through memory between one addition and the next."""
    cdef ArrayView v
    cdef Call c
    cdef object out
    if axis is None and (view_of(x, &v) < 0 or v.ndim != 1) or not begin_scan(&c, x, axis, &v) or not give(&c, x, &v):
        return None
    out = empty_dense(x)
    report("accumulate", run(&c, cumulative_prod if product else cumulative_sum, out))
    return out


cdef object forward_cumulative_sum(object args):
    return accumulated(args[0], args[1], False) if args[2] is None and args[3] is False else None


cdef object forward_cumulative_prod(object args):
    return accumulated(args[0], args[1], True) if args[2] is None and args[3] is False else None


cdef object one_step(Call* c, object like):
    return empty_c(like, 1, &c.rows.behind)


cdef int rule_cumulative_sum(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef Call c
    cdef object out
    write_out_gradient(f)
    if not plain_scan(f.grad, node.args) or not begin_scan(&c, f.grad, (<list>node.args)[1], &g) \
            or not give(&c, f.grad, &g):
        return 0
    out = place_for(f, &g, f.grad)
    report("add", run(&c, cumulative_sum_gradient, out))
    return 1 + set_out(f, 0, out, True)


cdef int rule_cumulative_prod(Node node, Frame f) except -1:
    cdef ArrayView x, g
    cdef Call c
    cdef object saved = saved_for(node, SAVE_INPUT, 0), grad, out
    if not plain_scan(saved, node.args) or not begin_scan(&c, saved, (<list>node.args)[1], &x) \
            or not give(&c, saved, &x):
        return 0
    grad = laid_along(f.grad, saved)
    if grad is None:
        return 0
    view_of(grad, &g)
    c.given[1] = g.data
    out = place_for(f, &g, saved) if grad is f.grad else grad
    report("multiply", run(&c, cumulative_prod_gradient, out, one_step(&c, saved)))
    return 1 + set_out(f, 0, out, True)


def reversed_recurrence(x, g):
    """s with s[k] = g[k] + x[k + 1] * s[k + 1] along the last axis of plain arrays. None: declined."""
    cdef ArrayView v, r
    cdef Call c
    cdef object out
    if not fast_enabled():
        return None
    x, g = row_major(x), row_major(g)
    if x is None or g is None or not begin_scan(&c, x, -1, &v) or not give(&c, x, &v) or not give(&c, g, &r) \
            or not same_shape(&v, &r):
        return None
    out = empty_dense(x)
    report("multiply", run(&c, backward_recurrence, out))
    return out


cdef int rule_prod(Node node, Frame f, object saved, object axis, bint turned) except -1:
    """Over one axis, or all."""
    cdef ArrayView x, g
    cdef Call c
    cdef object out
    cdef int errors
    if (<list>node.args)[2] is not None or not begin_scan(&c, saved, axis, &x) or not x.c_order \
            or not give(&c, saved, &x) or not give(&c, f.grad, &g) or g.size != c.rows.outer * c.rows.behind:
        return 0
    out = empty_dense(saved)
    errors = run(&c, prod_gradient, out, one_step(&c, saved))
    if errors & FPE_INVALID:                # the table's rule tells overflow beside zeros from infinities
        return 0
    report("multiply", errors)
    return 1 + set_out(f, 0, out, True)


# Division

cdef const RuleKernel* QUOTIENT = kernel_named("divide", "x2")      # of the quotient and the divisor


cdef int rule_divide(Node node, Frame f) except -1:
    cdef object out0 = None, out1 = None, ans, divisor = saved_for(node, SAVE_INPUT, 1)
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
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
    cdef ArrayView g, y, z
    cdef Call c
    cdef GradMeta meta = narrow(node, f, 1)
    cdef int d, lead
    cdef object out, total
    if meta is not None:
        write_out_gradient(f)
    c.slot = real_view(f.grad, &g)
    c.n_given = 0
    c.mask = 0
    if meta is None or c.slot < 0 or not g.c_order or g.size == 0 or g.ndim > 8 or not give(&c, f.grad, &g) \
            or not give(&c, ans, &y) or not same_shape(&g, &y) or not give(&c, divisor, &z) or z.ndim != meta.ndim \
            or ADD.fn[c.slot] == NULL:
        return False
    lead = g.ndim - z.ndim
    for d in range(g.ndim):
        if d >= lead and z.dims[d - lead] == g.dims[d]:
            continue
        if d >= lead and z.dims[d - lead] != 1:
            return False
        c.mask |= 1ULL << d
    for d in range(z.ndim):
        if meta.dims[d] != z.dims[d]:
            return False
    if not split_axes(f.grad, c.mask, &c.rows):
        return False
    total = empty_dense(divisor)
    out = place_for(f, &g, f.grad)
    report("divide", run(&c, quotients, out, total))
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
