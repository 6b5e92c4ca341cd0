# Where elements go and come from, of plain arrays: casts, choices, diagonals, padding, places along an axis, pieces of
# stacks; and products of vectors, whose rule is such an arrangement around one loop. Forwards and rules.
# May import: engine.arrayops, engine.node, engine.sharing, core.op, backends.numpy.dense_gradients,
# backends.numpy.elementwise, backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.shapes.
#
# Forwards give NumPy's values, and results that lie as NumPy's; rules those of the table. None, or 0: declined.
# Guarded by tests/backends/test_fast_arrangements.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport int64_t

from arraygrad.backends.numpy.dense_gradients cimport write_out_gradient
from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, saved_value, set_out, set_outs, wants_gradient
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, bools_of, copy_into, empty_c, positions_of, reshaped, same_shape, view_of, zeros_c,
)
from arraygrad.backends.numpy.loops cimport LoopSet, binary_loop, fp_begin, fp_end, item_size, loop_set, report
from arraygrad.backends.numpy.shapes cimport raw_of, region_rule, rows_added
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport SAVE_INPUT, SAVE_META

import numpy as np

cdef extern from "arrangements.hpp" namespace "arraygrad":
    void put_steps(Py_ssize_t item, const char* x, Py_ssize_t step, char* out, Py_ssize_t to_step,
                   Py_ssize_t n) noexcept
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


# Diagonals

cdef object on_diagonal(Node node, Frame f, Py_ssize_t step):
    """Zeros of a matrix's shape with g on the diagonal; its elements are `step` bytes apart. None: declined."""
    cdef ArrayView g, o
    cdef Py_ssize_t k, row, column, n
    cdef GradMeta meta = meta_saved(node, 0)
    cdef object out
    if meta is None or meta.ndim != 2 or not whole_number(given(node, 1), &k):
        return None
    view_of(f.grad, &g)
    row = -k if k < 0 else 0
    column = k if k > 0 else 0
    n = min(meta.dims[0] - row, meta.dims[1] - column)
    out = zeros_c(f.grad, 2, meta.dims)
    view_of(out, &o)
    if n > 0:
        put_steps(item_size(g.slot), g.data, step, o.data + (row * meta.dims[1] + column) * item_size(g.slot),
                  (meta.dims[1] + 1) * item_size(g.slot), n)
    return out


cdef int rule_diagonal(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef object out
    if view_of(f.grad, &g) < 0 or g.ndim != 1:
        return 0
    out = on_diagonal(node, f, g.strides[0])
    return 0 if out is None else 1 + set_out(f, 0, out, True)


# Padding

cdef bint widths_of(object width, int ndim, Py_ssize_t* before, Py_ssize_t* after) except -1:
    """Read pad_width: an int, a pair, or a pair for each axis. False: another form, which the table's own way reads."""
    cdef object pair
    cdef int d
    cdef bint each = type(width) in (tuple, list) and len(width) == ndim and type(width[0]) in (tuple, list)
    for d in range(ndim):
        pair = width[d] if each else width
        if PyLong_CheckExact(pair):
            before[d] = after[d] = PyLong_AsSsize_t(pair)
        elif type(pair) not in (tuple, list) or len(pair) != 2 or not whole_number(pair[0], &before[d]) \
                or not whole_number(pair[1], &after[d]):
            return False
        if before[d] < 0 or after[d] < 0:
            return False
    return True


cdef tuple middle_of(int ndim, const Py_ssize_t* dims, const Py_ssize_t* before):
    """The key of an array within what it is padded to."""
    return tuple([slice(before[d], before[d] + dims[d]) for d in range(ndim)])


cdef object forward_pad(object args):
    cdef ArrayView v
    cdef Py_ssize_t before[8]
    cdef Py_ssize_t after[8]
    cdef Py_ssize_t padded[8]
    cdef object out
    cdef int d
    if view_of(args[0], &v) < 0 or not v.c_order or not 1 <= v.ndim <= 8 or args[3] is not None:
        return None
    if type(args[2]) is not str or args[2] != "constant" or not widths_of(args[1], v.ndim, before, after):
        return None
    for d in range(v.ndim):
        padded[d] = before[d] + v.dims[d] + after[d]
    out = zeros_c(args[0], v.ndim, padded)
    copy_into(out[middle_of(v.ndim, v.dims, before)], args[0])
    return out


cdef int rule_pad(Node node, Frame f) except -1:
    """The middle of the gradient, as a view, where zeros were added."""
    cdef ArrayView g
    cdef Py_ssize_t before[8]
    cdef Py_ssize_t after[8]
    cdef GradMeta meta = meta_saved(node, 0)
    cdef int d
    if meta is None or meta.ndim == 0 or node.e1 is not None or type(given(node, 2)) is not str \
            or given(node, 2) != "constant" or view_of(f.grad, &g) < 0 or g.ndim != meta.ndim \
            or not widths_of(given(node, 1), g.ndim, before, after):
        return 0
    for d in range(g.ndim):
        if g.dims[d] != before[d] + meta.dims[d] + after[d]:
            return 0
    return 1 + set_out(f, 0, f.grad[middle_of(g.ndim, meta.dims, before)], False)


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


cdef int rule_take_along_axis(Node node, Frame f) except -1:
    write_out_gradient(f)
    cdef ArrayView g, o
    cdef GradMeta meta = meta_saved(node, 0)
    cdef Py_ssize_t m = 0
    cdef const int64_t* at
    cdef int axis, slot = real_view(f.grad, &g)
    cdef object indices = raw_of(given(node, 1)), out
    if slot < 0 or meta is None or not g.c_order or meta.ndim == 0 or not axis_of(given(node, 2), meta.ndim, &axis):
        return 0
    at = places_along(indices, meta.dims, meta.ndim, axis, &m)
    if at == NULL:
        return 0
    out = empty_c(f.grad, meta.ndim, meta.dims)
    view_of(out, &o)
    fp_begin()
    add_along(slot, g.data, at, o.data, around(meta.dims, meta.ndim, axis), m)
    report("add", fp_end())
    return 1 + set_out(f, 0, out, True)


cdef int added_along(Frame f, GradMeta meta, object indices, int axis) except -1:
    """out0 = zeros with g added at the integers along an axis; 0: declined."""
    cdef ArrayView g, o
    cdef Py_ssize_t m = 0
    cdef const int64_t* at
    cdef Around a
    cdef int slot = real_view(f.grad, &g)
    cdef object grad, out
    if slot < 0:
        return 0
    at = positions_of(raw_of(indices), &m)
    a = around(meta.dims, meta.ndim, axis)
    if at == NULL or not all_within(at, m, a.n) or g.size != a.outer * m * a.inner:
        return 0
    grad = row_major_of(f.grad)             # NumPy lays out x[:, i] with the places first
    view_of(grad, &g)
    out = empty_c(grad, meta.ndim, meta.dims)
    view_of(out, &o)
    fp_begin()
    add_at_places(slot, g.data, at, o.data, a, m)
    report("add", fp_end())
    return 1 + set_out(f, 0, out, True)


cdef int rule_take(Node node, Frame f) except -1:
    cdef GradMeta meta = meta_saved(node, 0)
    cdef object axis = given(node, 2)
    cdef int at = 0
    if meta is None or meta.ndim == 0 or (meta.ndim != 1 if axis is None else not axis_of(axis, meta.ndim, &at)):
        return 0
    if at == 0 and rows_added(node, f, meta, given(node, 1), 1):
        return 1
    return 0 if axis is None else added_along(f, meta, given(node, 1), at)


cdef int rule_getitem(Node node, Frame f) except -1:
    """Slices and rows are in shapes.pyx; here x[:, i], x[..., i] and x[:, i, :], where i is an array of integers."""
    cdef GradMeta meta
    cdef object key, part, indices = None
    cdef int axis = 0, d = 0
    if region_rule(node, f):
        return 1
    meta = meta_saved(node, 0)
    key = given(node, 1)
    if type(key) is not tuple or meta is None or len(<tuple>key) > meta.ndim + 1:
        return 0
    for part in <tuple>key:
        if part is Ellipsis:
            d += meta.ndim - <int>len(<tuple>key) + 1
            continue
        if type(part) is slice:
            if part != _all:
                return 0
        elif part is None or indices is not None or type(part) is int:
            return 0                        # None is an axis of the gradient and none of the array
        else:
            indices, axis = part, d
        d += 1
    return 0 if indices is None or axis >= meta.ndim else added_along(f, meta, indices, axis)


cdef int rule_stack(Node node, Frame f) except -1:
    """Each array's part of the gradient, as a view."""
    cdef ArrayView g
    cdef int axis
    cdef Py_ssize_t k
    cdef tuple before
    cdef list pieces = []
    if view_of(f.grad, &g) < 0 or g.ndim < 1 or not axis_of(given(node, 1), g.ndim, &axis):
        return 0
    before = (slice(None),) * axis
    for k in range(g.dims[axis]):
        pieces.append(f.grad[k, ...] if g.ndim == 1 else f.grad[k] if axis == 0 else f.grad[(*before, k)])
    f.set_outs(pieces)
    return 1


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
