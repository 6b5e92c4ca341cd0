# Norms of plain arrays, vectors' and matrices': forwards and rules.
# May import: engine.free_threading, engine.node, core.op, backends.numpy.elementwise, backends.numpy.lanes,
# backends.numpy.linalg, backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.reductions.
#
# Values are those of numpy.linalg.norm, computed as it does. None: declined.
# Guarded by tests/backends/test_fast_products.py.
from cpython.long cimport PyLong_CheckExact

from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, set_out
from arraygrad.backends.numpy.lanes cimport row_major
from arraygrad.backends.numpy.linalg cimport is_int
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_c, reshaped, transposed, view_of, wrapped
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, LoopSet, at_first_use, binary_loop, fp_begin, fp_end, loop_set, product_of, report, unary_loop,
)
from arraygrad.backends.numpy.reductions cimport summed
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op, SAVE_ANS, SAVE_INPUT

cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* SQRT = NULL                   # at_first_use
cdef LoopSet* SIGN = NULL                   # the same
if FREE_THREADED:
    at_first_use(&SQRT, "sqrt")
    at_first_use(&SIGN, "sign")


cdef object root(object total):
    """The square root of what was just computed, in its memory."""
    cdef object out = unary_loop(at_first_use(&SQRT, "sqrt"), total, total)
    return wrapped((<object>SQRT.ufunc)(total)) if out is None else out


cdef object root_of_squares(object x, object axis, object keepdims):
    """sqrt(sum(x * x)) over axes, as numpy.linalg.norm has it where it is told the axes. None: declined."""
    cdef Py_ssize_t count = 0
    cdef object total = binary_loop(MULTIPLY, x, x, None)
    if total is not None:
        total = summed(total, axis, keepdims, &count)
    return None if total is None else root(total)


cdef object with_axes(object number, int ndim):
    """An array of one element with so many axes."""
    cdef Py_ssize_t ones[8]
    cdef int i
    for i in range(ndim):
        ones[i] = 1
    return reshaped(number, ndim, ones)


cdef object length(object x, const ArrayView* v, bint keepdims):
    """sqrt(x . x) of all elements, as numpy.linalg.norm has it where it is told nothing. None: declined."""
    cdef Py_ssize_t n = v.size
    cdef object out
    if not (v.c_order or v.f_order) or n == 0 or v.ndim > 8:
        return None
    if not v.c_order:
        x = transposed(x, NULL)                 # in the order of the memory
    if v.ndim != 1:
        x = reshaped(x, 1, &n)
    out = root(wrapped(product_of(x, x)))
    return with_axes(out, v.ndim) if keepdims else out


cdef object forward_norm(object args):
    cdef ArrayView v
    cdef object x = args[0], order = args[1], axis = args[2], keepdims = args[3]
    if real_view(x, &v) < 0 or v.ndim == 0 or keepdims is not True and keepdims is not False:
        return None
    if axis is None:
        if order is None or v.ndim == 1 and is_int(order, 2) or v.ndim == 2 and type(order) is str and order == "fro":
            return length(x, &v, keepdims)
        return None
    if PyLong_CheckExact(axis):
        return root_of_squares(x, axis, keepdims) if order is None or is_int(order, 2) else None
    if type(axis) is tuple and len(<tuple>axis) == 2 and (order is None or type(order) is str and order == "fro"):
        return root_of_squares(x, axis, keepdims)
    return None


cdef enum:
    OTHER_NORM = 0
    LENGTH = 1                  # the root of the sum of squares
    SUM_OF_SIZES = 2


cdef object axis_of_norm(Node node):
    """The axis that vector_norm, matrix_norm or norm was told, if that is one."""
    cdef str name = (<Op>node.op).name
    cdef object axis = None if name == "matrix_norm" else (<list>node.args)[1 if name == "vector_norm" else 2]
    return axis if PyLong_CheckExact(axis) else None


cdef int norm_of(Node node, int ndim) except -1:
    """What vector_norm, matrix_norm or norm was asked for."""
    cdef str name = (<Op>node.op).name
    cdef list args = <list>node.args
    cdef object order = args[3 if name == "vector_norm" else 2 if name == "matrix_norm" else 1]
    cdef bint is_vector = name == "vector_norm" or name == "norm" and (PyLong_CheckExact(args[2])
                                                                       or args[2] is None and ndim == 1)
    if order is None or is_vector and is_int(order, 2) or type(order) is str and order == "fro":
        return LENGTH
    return SUM_OF_SIZES if is_vector and is_int(order, 1) else OTHER_NORM


cdef object quotients(object g, object ans, int ndim, const Py_ssize_t* dims):
    """g / ans, zero where ans is: there it is as far from every side. Row-major arrays of `dims`."""
    cdef ArrayView v, w, o
    cdef Py_ssize_t i
    cdef object out = empty_c(ans, ndim, dims)
    view_of(g, &v)
    view_of(ans, &w)
    view_of(out, &o)
    fp_begin()
    for i in range(w.size):
        if w.slot == SLOT_F64:
            (<double*>o.data)[i] = (<double*>v.data)[i] / (<double*>w.data)[i] if (<double*>w.data)[i] else 0.0
        else:
            (<float*>o.data)[i] = (<float*>v.data)[i] / (<float*>w.data)[i] if (<float*>w.data)[i] else 0.0
    report("divide", fp_end())
    return out


cdef int rule_norm(Node node, Frame f) except -1:
    """g x / norm, or g times the signs of x, of all elements or along one axis."""
    cdef ArrayView x, g, a
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t kept = 1
    cdef object saved = saved_for(node, SAVE_INPUT, 0), ans = row_major(saved_for(node, SAVE_ANS, -1))
    cdef object grad = row_major(f.grad), axis, factor, out
    cdef int slot = real_view(saved, &x), d, kind
    if slot < 0 or x.size == 0 or not 0 < x.ndim <= 8 or real_view(grad, &g) != slot or real_view(ans, &a) != slot \
            or a.size != g.size:
        return 0
    kind = norm_of(node, x.ndim)
    axis = axis_of_norm(node)
    for d in range(x.ndim):
        dims[d] = x.dims[d] if axis is not None and d != (axis if axis >= 0 else axis + x.ndim) else 1
        kept *= dims[d]
    if kind == OTHER_NORM or a.size != kept:
        return 0
    if kind == LENGTH:
        out = saved
        factor = quotients(grad, ans, x.ndim if axis is not None else 0, dims)
    else:
        out = unary_loop(at_first_use(&SIGN, "sign"), saved, None)
        factor = reshaped(grad, x.ndim if axis is not None else 0, dims)
        if out is None:
            return 0
    saved = binary_loop(MULTIPLY, factor, out, None)
    return 1 + set_out(f, 0, (<object>MULTIPLY.ufunc)(factor, out) if saved is None else saved, True)
