# Which operation has which direct loop, and compiled forwards of operations that are not elementwise: sums, means,
# variances, extrema, matrix products, shapes, indexing.
# May import: numpy (Python only), engine.free_threading, core.op, backends.numpy.compare, backends.numpy.joins,
# backends.numpy.loops, backends.numpy.places.
#
# Each forward gets the operation's parameters in order and answers for exact ndarrays of float32 or float64 and the
# usual static parameters; None: declined, NumPy's own function runs. Results are NumPy's bit by bit: sums use the loop
# of numpy.add in the order in which numpy.add.reduce would.
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_CheckExact

import numpy as np

from arraygrad.backends.numpy.loops cimport (
    KIND_BINARY, KIND_OPERATOR_POWER, KIND_POWER, KIND_UNARY, NOGIL_SIZE, SLOT_F64, SUM_START, ArrayView, LoopSet,
    at_first_use, axis_mask, binary_loop, dot, empty_c, forward_ptr, loop_set, reduce_by, reshaped, set_forward,
    split_axes, strided, transposed, unary_loop, view_of, wrapped,
)
from arraygrad.backends.numpy.compare cimport (
    forward_equal, forward_greater, forward_greater_equal, forward_isfinite, forward_isinf, forward_isnan, forward_less,
    forward_less_equal, forward_logical_and, forward_logical_or, forward_not_equal,
)
from arraygrad.backends.numpy.joins cimport forward_concat, forward_stack, forward_where
from arraygrad.backends.numpy.places cimport rows_at
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.core.op cimport Op

cdef extern from "moments.hpp" namespace "arraygrad" nogil:
    int run_squares(const LoopSet* add, int slot, const char* x, const char* mean, char* out, Py_ssize_t outer,
                    Py_ssize_t inner, bint leading, double start) noexcept

cdef enum:
    BUFFER = 8192           # elements of NumPy's buffers, unless np.setbufsize changes that

cdef LoopSet* ADD = loop_set("add")
cdef LoopSet* SUBTRACT = loop_set("subtract")
cdef LoopSet* DIVIDE = loop_set("divide")
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

cdef object _all = slice(None)
cdef object _backwards = slice(None, None, -1)
_maximum_reduce = np.maximum.reduce
_minimum_reduce = np.minimum.reduce


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
    if args[2] is not None:
        return None
    return summed(args[0], args[1], args[3], &count)


cdef object forward_mean(object args):
    cdef Py_ssize_t count = 0
    cdef object out = summed(args[0], args[1], args[2], &count)
    if out is None or count == 0:
        return None                 # NumPy warns of the mean of nothing
    return binary_loop(DIVIDE, out, count, out)


cdef object means(object x, object axis, Py_ssize_t* count):
    """Means over `axis`, which keep it as an axis of one element. None: declined."""
    cdef object mean = summed(x, axis, True, count)
    if mean is None or count[0] == 0:
        return None
    return binary_loop(DIVIDE, mean, count[0], mean)


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
    if not squares_are_products():
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
    cdef ArrayView v, m, r
    cdef unsigned long long mask = 0
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t outer, inner
    cdef bint leading
    cdef int d, k = 0, errors
    cdef object out
    view_of(x, &v)
    if not (v.c_order or v.f_order) or not added_whole(v.size) or ADD.fn[v.slot] == NULL \
            or not axis_mask(axis, v.ndim, &mask) or not split_axes(x, mask, &outer, &inner, &leading) \
            or view_of(mean, &m) != v.slot or not m.c_order:
        return None
    for d in range(v.ndim):
        if keepdims or not (mask >> d) & 1:
            dims[k] = 1 if (mask >> d) & 1 else v.dims[d]
            k += 1
    out = empty_c(x, k, dims)
    view_of(out, &r)
    if v.size < NOGIL_SIZE:
        errors = run_squares(ADD, v.slot, v.data, m.data, r.data, outer, inner, leading, SUM_START)
    else:
        with nogil:
            errors = run_squares(ADD, v.slot, v.data, m.data, r.data, outer, inner, leading, SUM_START)
    return None if errors else out


cdef object forward_std(object args):
    cdef object out = forward_var(args)
    return None if out is None else unary_loop(at_first_use(&SQRT, "sqrt"), out, out)


cdef object extremum(object reduce, object args):
    cdef ArrayView v
    if view_of(args[0], &v) < 0:
        return None
    return wrapped(reduce(args[0], args[1], None, None, args[2]))


cdef object forward_max(object args):
    return extremum(_maximum_reduce, args)


cdef object forward_min(object args):
    return extremum(_minimum_reduce, args)


cdef object forward_matmul(object args):
    """Products of two matrices: numpy.matmul's own loop, without the ufunc's dispatch."""
    cdef ArrayView a, b
    cdef object x1 = args[0], x2 = args[1]
    if view_of(x1, &a) < 0 or view_of(x2, &b) != a.slot or a.ndim != 2 or b.ndim != 2 or a.dims[1] != b.dims[0] \
            or not (a.c_order or a.f_order) or not (b.c_order or b.f_order) or a.size == 0 or b.size == 0:
        return None
    return dot(x1, x2)


cdef object forward_reshape(object args):
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef object shape = args[1]
    cdef int i
    if args[2] is not None or view_of(args[0], &v) < 0:
        return None
    if PyLong_CheckExact(shape):
        dims[0] = PyLong_AsSsize_t(shape)
        return reshaped(args[0], 1, dims)
    if type(shape) is not tuple or len(<tuple>shape) > 8:
        return None
    for i in range(len(<tuple>shape)):
        item = (<tuple>shape)[i]
        if not PyLong_CheckExact(item):
            return None
        dims[i] = PyLong_AsSsize_t(item)
    return reshaped(args[0], <int>len(<tuple>shape), dims)


cdef object forward_permute_dims(object args):
    cdef ArrayView v
    cdef Py_ssize_t axes[8]
    cdef object order = args[1]
    cdef int i
    if view_of(args[0], &v) < 0 or type(order) is not tuple or len(<tuple>order) != v.ndim or v.ndim > 8:
        return None
    for i in range(v.ndim):
        item = (<tuple>order)[i]
        if not PyLong_CheckExact(item):
            return None
        axes[i] = PyLong_AsSsize_t(item)
    return transposed(args[0], axes)


cdef object forward_matrix_transpose(object args):
    cdef ArrayView v
    cdef Py_ssize_t axes[8]
    cdef int i
    if view_of(args[0], &v) < 0 or not 2 <= v.ndim <= 8:
        return None
    for i in range(v.ndim):
        axes[i] = i
    axes[v.ndim - 1], axes[v.ndim - 2] = v.ndim - 2, v.ndim - 1
    return transposed(args[0], axes)


cdef object forward_getitem(object args):
    cdef ArrayView v
    cdef object out
    if view_of(args[0], &v) < 0:
        return None
    if PyTuple_CheckExact(args[1]) or PySlice_Check(args[1]) or PyLong_CheckExact(args[1]):
        return wrapped(args[0][args[1]])
    out = rows_at(args[0], args[1])
    return wrapped(args[0][args[1]]) if out is None else out


cdef object forward_take(object args):
    cdef ArrayView v
    cdef object axis = args[2]
    if view_of(args[0], &v) < 0 or not (PyLong_CheckExact(axis) and (axis == 0 or axis == -v.ndim)
                                        or axis is None and v.ndim == 1):
        return None
    return rows_at(args[0], args[1])


cdef object forward_squeeze(object args):
    cdef ArrayView v
    cdef unsigned long long mask
    cdef Py_ssize_t dims[8]
    cdef int i, k = 0
    if view_of(args[0], &v) < 0 or v.ndim > 8 or args[1] is None or not axis_mask(args[1], v.ndim, &mask):
        return None
    for i in range(v.ndim):
        if not (mask >> i) & 1:
            dims[k] = v.dims[i]
            k += 1
        elif v.dims[i] != 1:
            return None
    return reshaped(args[0], k, dims)


cdef object forward_expand_dims(object args):
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t at
    cdef int i
    if view_of(args[0], &v) < 0 or v.ndim > 7 or not PyLong_CheckExact(args[1]):
        return None
    at = PyLong_AsSsize_t(args[1])
    if at < 0:
        at += v.ndim + 1
    if not 0 <= at <= v.ndim:
        return None
    for i in range(v.ndim):
        dims[i + (i >= at)] = v.dims[i]
    dims[at] = 1
    return reshaped(args[0], v.ndim + 1, dims)


cdef object forward_broadcast_to(object args):
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t strides[8]
    cdef object shape = args[1]
    cdef int i, lead
    if view_of(args[0], &v) < 0 or type(shape) is not tuple or not v.ndim <= len(<tuple>shape) <= 8:
        return None
    lead = <int>len(<tuple>shape) - v.ndim
    for i in range(<int>len(<tuple>shape)):
        item = (<tuple>shape)[i]
        if not PyLong_CheckExact(item):
            return None
        dims[i] = PyLong_AsSsize_t(item)
        if dims[i] < 0:
            return None
        strides[i] = 0
        if i >= lead:
            if v.dims[i - lead] == dims[i]:
                strides[i] = v.strides[i - lead] if dims[i] != 1 else 0
            elif v.dims[i - lead] != 1:
                return None
    return strided(args[0], <int>len(<tuple>shape), dims, strides)


cdef object forward_flip(object args):
    cdef ArrayView v
    cdef Py_ssize_t axis
    if view_of(args[0], &v) < 0 or v.ndim == 0:
        return None
    if args[1] is None:
        return args[0][(_backwards,) * v.ndim]
    if not PyLong_CheckExact(args[1]):
        return None
    axis = PyLong_AsSsize_t(args[1])
    if axis < 0:
        axis += v.ndim
    return args[0][(_all,) * axis + (_backwards,)] if 0 <= axis < v.ndim else None


cdef object forward_diagonal(object args):
    cdef ArrayView v
    if view_of(args[0], &v) < 0 or v.ndim != 2 or not PyLong_CheckExact(args[1]):
        return None
    return args[0].diagonal(args[1])


# Operation of the table -> ufunc.
UNARY_LOOPS = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "exp": "exp", "expm1": "expm1", "floor": "floor",
    "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "negative": "negative",
    "reciprocal": "reciprocal", "round": "rint", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}
BINARY_LOOPS = {
    "add": "add", "atan2": "arctan2", "copysign": "copysign", "divide": "divide", "hypot": "hypot",
    "logaddexp": "logaddexp", "maximum": "maximum", "minimum": "minimum", "multiply": "multiply",
    "subtract": "subtract",
}


def install(dict ops):
    """Give the operations of the table (name -> Op) their direct loops and compiled forwards.

    Operations that are not in the table are passed over. Returns the names of those that are there.
    """
    cdef Op op, twin
    cdef list done = []
    for table, kind in ((UNARY_LOOPS, KIND_UNARY), (BINARY_LOOPS, KIND_BINARY), (("pow",), KIND_POWER)):
        for name in table:
            if name in ops:
                op = ops[name]
                op.fast_kind = kind     # the loops follow at the first call: use_loops
                if FREE_THREADED:       # where many threads may be the first
                    use_loops(op)
                if kind == KIND_POWER:
                    twin = op.by_operator
                    twin.fast_kind = KIND_OPERATOR_POWER
                    if FREE_THREADED:
                        use_loops(twin)
                done.append(name)
    offer(ops, "sum", forward_sum, ("x", "axis", "dtype", "keepdims"), done)
    offer(ops, "mean", forward_mean, ("x", "axis", "keepdims"), done)
    offer(ops, "var", forward_var, ("x", "axis", "correction", "keepdims"), done)
    offer(ops, "std", forward_std, ("x", "axis", "correction", "keepdims"), done)
    offer(ops, "max", forward_max, ("x", "axis", "keepdims"), done)
    offer(ops, "min", forward_min, ("x", "axis", "keepdims"), done)
    offer(ops, "matmul", forward_matmul, ("x1", "x2"), done)
    offer(ops, "reshape", forward_reshape, ("x", "shape", "copy"), done)
    offer(ops, "permute_dims", forward_permute_dims, ("x", "axes"), done)
    offer(ops, "matrix_transpose", forward_matrix_transpose, ("x",), done)
    offer(ops, "squeeze", forward_squeeze, ("x", "axis"), done)
    offer(ops, "expand_dims", forward_expand_dims, ("x", "axis"), done)
    offer(ops, "broadcast_to", forward_broadcast_to, ("x", "shape"), done)
    offer(ops, "flip", forward_flip, ("x", "axis"), done)
    offer(ops, "diagonal", forward_diagonal, ("x", "offset"), done)
    offer(ops, "where", forward_where, ("condition", "x1", "x2"), done)
    offer(ops, "concat", forward_concat, ("arrays", "axis"), done)
    offer(ops, "stack", forward_stack, ("arrays", "axis"), done)
    offer(ops, "equal", forward_equal, ("x1", "x2"), done)
    offer(ops, "not_equal", forward_not_equal, ("x1", "x2"), done)
    offer(ops, "less", forward_less, ("x1", "x2"), done)
    offer(ops, "less_equal", forward_less_equal, ("x1", "x2"), done)
    offer(ops, "greater", forward_greater, ("x1", "x2"), done)
    offer(ops, "greater_equal", forward_greater_equal, ("x1", "x2"), done)
    offer(ops, "logical_and", forward_logical_and, ("x1", "x2"), done)
    offer(ops, "logical_or", forward_logical_or, ("x1", "x2"), done)
    offer(ops, "isnan", forward_isnan, ("x",), done)
    offer(ops, "isinf", forward_isinf, ("x",), done)
    offer(ops, "isfinite", forward_isfinite, ("x",), done)
    offer(ops, "_getitem", forward_getitem, ("x", "key"), done)
    offer(ops, "take", forward_take, ("x", "indices", "axis"), done)
    return done


cdef int use_loops(Op op) except -1:
    """Find the loops of an operation whose `fast_kind` says that it has some."""
    name = "power" if op.name == "pow" else (BINARY_LOOPS if op.fast_kind == KIND_BINARY else UNARY_LOOPS)[op.name]
    # Where the table repairs NumPy's values, it does so for complex arrays.
    op.loops = loop_set(name, op.entry.forward is not None)
    return 0


cdef int offer(dict ops, str name, forward_ptr forward, tuple params, list done) except -1:
    cdef Op op
    if name in ops:
        op = ops[name]
        if op.params == params:
            set_forward(op, forward)
            done.append(name)
    return 0
