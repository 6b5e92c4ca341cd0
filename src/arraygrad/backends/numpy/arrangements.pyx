# Where elements go, of plain arrays: casts, choices, the rule of gathers; and products of vectors, whose rule is such
# an arrangement around one loop.
# May import: engine.arrayops, engine.node, engine.sharing, core.op, backends.numpy.dense_gradients,
# backends.numpy.elementwise, backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.plans,
# backends.numpy.shapes.
#
# Forwards give NumPy's values, and results that lie as NumPy's; rules those of the table. None, or 0: declined.
# Guarded by tests/backends/test_fast_arrangements.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport int64_t

from arraygrad.backends.numpy.dense_gradients cimport write_out_gradient
from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, saved_value, set_out, set_outs, wants_gradient
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, bools_of, copy_into, empty_c, positions_of, reshaped, same_shape, view_of,
)
from arraygrad.backends.numpy.loops cimport LoopSet, binary_loop, fp_begin, fp_end, item_size, loop_set, report
from arraygrad.backends.numpy.plans cimport planned_row
from arraygrad.backends.numpy.shapes cimport ALONG_AXIS, BY_KEY, BY_PLACES, Gathering, raw_of, region_rule, rows_added
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport Op, SAVE_INPUT, SAVE_META

import numpy as np

cdef extern from "arrangements.hpp" namespace "arraygrad":
    void add_at_places(int slot, const char* g, const int64_t* at, char* out, Around a, Py_ssize_t m) noexcept
    void add_along(int slot, const char* g, const int64_t* at, char* out, Around a, Py_ssize_t m) noexcept

cdef extern from "gather_scatter.hpp" namespace "arraygrad":
    bint all_within(const int64_t* places, Py_ssize_t n, Py_ssize_t count) noexcept
    void share_choose(Team* team, Py_ssize_t item, const char* mask, const char* x, Py_ssize_t sx, const char* y,
                      Py_ssize_t sy, char* out, Py_ssize_t n) noexcept

cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef object _float32 = np.float32
cdef object _float64 = np.float64
cdef object _dtype = np.dtype
cdef object _all = slice(None)


# What an operation was asked for

cdef bint whole_number(object value, Py_ssize_t* number) except -1:
    if not PyLong_CheckExact(value):
        return False
    number[0] = PyLong_AsSsize_t(value)
    return True


cdef bint axis_of(object value, int ndim, int* axis) except -1:
    """Read an axis out of `ndim`, which may count from the end; False: it is no such number."""
    cdef Py_ssize_t number
    if not whole_number(value, &number) or not -ndim <= number < ndim:
        return False
    axis[0] = <int>(number + ndim if number < 0 else number)
    return True


cdef Around around(const Py_ssize_t* dims, int ndim, int axis) noexcept:
    cdef Around a
    cdef int d
    a.outer = a.inner = 1
    a.n = dims[axis]
    for d in range(ndim):
        if d < axis:
            a.outer *= dims[d]
        elif d > axis:
            a.inner *= dims[d]
    return a


cdef GradMeta meta_saved(Node node, int k):
    """The metadata in slot k of a node, of at most eight axes, else None."""
    cdef object slot = saved_value(node, k)
    return <GradMeta>slot if type(slot) is GradMeta and (<GradMeta>slot).ndim <= 8 else None


cdef object given(Node node, int k):
    return (<list>node.args)[k]


# Casts and choices

cdef object forward_astype(object args):
    cdef ArrayView v
    cdef object to = args[1]
    if real_view(args[0], &v) < 0 or args[2] is not True or args[3] is not None:
        return None
    if to is not _float32 and to is not _float64 and not (isinstance(to, _dtype) and to.char in "fd" and to.isnative):
        return None
    return args[0].astype(to)


cdef int rule_where(Node node, Frame f) except -1:
    """The gradient where the condition holds, or where it does not, and zeros elsewhere."""
    cdef ArrayView c, g, o
    cdef double zero[2]
    cdef object out0 = None, out1 = None
    cdef int slot = view_of(f.grad, &g)
    if slot < 0 or not g.c_order or not bools_of(raw_of(given(node, 0)), &c) or not c.c_order or not same_shape(&c, &g):
        return 0
    zero[0] = zero[1] = 0.0
    if wants_gradient(node, f, 0):
        out0 = empty_c(f.grad, g.ndim, g.dims)
        view_of(out0, &o)
        share_choose(team, item_size(slot), c.data, g.data, 1, <char*>zero, 0, o.data, g.size)
    if wants_gradient(node, f, 1):
        out1 = empty_c(f.grad, g.ndim, g.dims)
        view_of(out1, &o)
        share_choose(team, item_size(slot), c.data, <char*>zero, 0, g.data, 1, o.data, g.size)
    return set_outs(f, out0, out1)


cdef object row_major_of(object x):
    """A plain array, copied if it is not row-major."""
    cdef ArrayView v
    cdef object out
    view_of(x, &v)
    if v.c_order:
        return x
    out = empty_c(x, v.ndim, v.dims)
    copy_into(out, x)
    return out


# Along one axis

cdef const int64_t* places_along(object indices, const Py_ssize_t* dims, int ndim, int axis, Py_ssize_t* m) noexcept:
    """Places along an axis for each element of an array of the same other axes; NULL: they are none, or out of it."""
    cdef ArrayView p
    cdef Py_ssize_t n = 0
    cdef const int64_t* at = positions_of(indices, &n)
    cdef int d
    if at == NULL:
        return NULL
    view_of(indices, &p)
    if p.ndim != ndim:
        return NULL
    for d in range(ndim):
        if d != axis and p.dims[d] != dims[d]:
            return NULL
    m[0] = p.dims[axis]
    return at if all_within(at, n, dims[axis]) else NULL


cdef int added_along(Frame f, GradMeta meta, object indices, int axis, bint each) except -1:
    """out0 = zeros with g added at places along an axis: the same for all lines, or `each` line's own. 0: declined."""
    write_out_gradient(f)
    cdef ArrayView g, o
    cdef Py_ssize_t m = 0
    cdef const int64_t* at
    cdef Around a = around(meta.dims, meta.ndim, axis)
    cdef int slot = real_view(f.grad, &g)
    cdef object grad, out
    if slot < 0:
        return 0
    indices = raw_of(indices)
    if each:
        at = places_along(indices, meta.dims, meta.ndim, axis, &m)
    else:
        at = positions_of(indices, &m)
        if at != NULL and not all_within(at, m, a.n):
            at = NULL
    if at == NULL or g.size != a.outer * m * a.inner:
        return 0
    grad = row_major_of(f.grad)             # NumPy lays out x[:, i] with the places first
    view_of(grad, &g)
    out = empty_c(grad, meta.ndim, meta.dims)
    view_of(out, &o)
    fp_begin()
    if each:
        add_along(slot, g.data, at, o.data, a, m)
    else:
        add_at_places(slot, g.data, at, o.data, a, m)
    report("add", fp_end())
    return 1 + set_out(f, 0, out, True)


cdef object one_index(object key, int ndim, int* axis):
    """The array of integers in x[:, i], x[..., i] or x[:, i, :], and its axis. None: another key."""
    cdef object part, indices = None
    cdef int d = 0
    if type(key) is not tuple or len(<tuple>key) > ndim + 1:
        return None
    for part in <tuple>key:
        if part is Ellipsis:
            d += ndim - <int>len(<tuple>key) + 1
            continue
        if type(part) is slice:
            if part != _all:
                return None
        elif part is None or indices is not None or type(part) is int:
            return None                     # None is an axis of the gradient and none of the array
        else:
            indices, axis[0] = part, d
        d += 1
    return indices if axis[0] < ndim else None


cdef int rule_gather(Node node, Frame f) except -1:
    """Zeros of the array's shape with the gradient added where elements came from. Slices and rows are in shapes.pyx.
    """
    cdef Gathering how = (<const Gathering*>planned_row(<Op>node.op))[0]
    cdef GradMeta meta
    cdef object indices
    cdef int axis = 0
    if how == BY_KEY and region_rule(node, f):
        return 1
    meta = meta_saved(node, 0)
    if meta is None or meta.ndim == 0:
        return 0
    indices = given(node, 1)
    if how == BY_KEY:
        indices = one_index(indices, meta.ndim, &axis)
    elif given(node, 2) is None:
        indices = indices if how == BY_PLACES and meta.ndim == 1 else None
    elif not axis_of(given(node, 2), meta.ndim, &axis):
        return 0
    if indices is None:
        return 0
    if how == BY_PLACES and axis == 0 and rows_added(node, f, meta, indices, 1):
        return 1
    return added_along(f, meta, indices, axis, how == ALONG_AXIS)


# Products

cdef object along_axis(object g, object x, int slot, object axis):
    """g, with an axis put in, times x. None: declined."""
    cdef ArrayView v, w
    cdef Py_ssize_t dims[8]
    cdef int at, d
    cdef object wide, out
    if real_view(x, &w) != slot or view_of(g, &v) < 0 or v.ndim > 7 or not axis_of(axis, v.ndim + 1, &at):
        return None
    for d in range(v.ndim):
        dims[d + (d >= at)] = v.dims[d]
    dims[at] = 1
    wide = reshaped(g, v.ndim + 1, dims)
    out = binary_loop(MULTIPLY, wide, x, None)
    return (<object>MULTIPLY.ufunc)(wide, x) if out is None else out


cdef bint is_one_place(Node node, int i, object axis, object x, object g):
    """Whether `axis` is one place, from the end, of operand `i`, of the other one `x` and of `g` with an axis more."""
    cdef Py_ssize_t ndim
    if x is None:                               # not as NumPy's array
        return False
    ndim = x.ndim
    return axis < 0 or ndim == g.ndim + 1 and ndim == (<GradMeta>saved_for(node, SAVE_META, i)).ndim


cdef int rule_vecdot(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef int slot = real_view(f.grad, &g)
    cdef object out0 = None, out1 = None, x, axis = given(node, 2)
    if slot < 0 or not PyLong_CheckExact(axis):
        return 0
    if wants_gradient(node, f, 0):
        x = saved_for(node, SAVE_INPUT, 1)
        out0 = along_axis(f.grad, x, slot, axis) if is_one_place(node, 0, axis, x, f.grad) else None
        if out0 is None:
            return 0
    if wants_gradient(node, f, 1):
        x = saved_for(node, SAVE_INPUT, 0)
        out1 = along_axis(f.grad, x, slot, axis) if is_one_place(node, 1, axis, x, f.grad) else None
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)
