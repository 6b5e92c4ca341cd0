# Where elements go and come from, of plain arrays: triangles, diagonals, shifts, differences, windows, choices; and the
# products and norms whose rules are such arrangements around one loop. Forwards and rules.
# May import: engine.arrayops, engine.node, engine.sharing, core.op, backends.numpy.elementwise, backends.numpy.lanes,
# backends.numpy.linalg, backends.numpy.loops, backends.numpy.reductions, backends.numpy.shapes.
#
# Forwards give NumPy's values, and results that lie as NumPy's; rules those of the table. None, or 0: declined.
# Guarded by tests/ops/test_fast_arrangements.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport int64_t

from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, saved_value, set_out, set_outs, wants_gradient
from arraygrad.backends.numpy.lanes cimport Around, as_it_lies, small_row_major
from arraygrad.backends.numpy.linalg cimport outer
from arraygrad.backends.numpy.loops cimport (
    ArrayView, LoopSet, binary_loop, bools_of, copy_into, dot, empty_c, empty_dense, fp_begin, fp_end, item_size,
    loop_set, positions_of, read_number, report, reshaped, same_shape, strided, transposed, view_of,
    wrapped, zeros_c, SLOT_F64,
)
from arraygrad.backends.numpy.reductions cimport summed
from arraygrad.backends.numpy.shapes cimport raw_of, rule_take
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport SAVE_INPUT

import numpy as np

cdef extern from "arrangements.hpp" namespace "arraygrad":
    struct Bounds:
        double low, high
        bint has_low, has_high
    void triangle(Py_ssize_t item, const char* x, char* out, Py_ssize_t outer, Py_ssize_t rows, Py_ssize_t columns,
                  Py_ssize_t k, bint lower) noexcept
    void put_steps(Py_ssize_t item, const char* x, Py_ssize_t step, char* out, Py_ssize_t to_step,
                   Py_ssize_t n) noexcept
    void shifted(Py_ssize_t item, const char* x, char* out, Around a, Py_ssize_t shift) noexcept
    void diff_gradient(int slot, const char* g, char* out, Around a) noexcept
    void take_along(Py_ssize_t item, const char* x, const int64_t* at, char* out, Around a, Py_ssize_t m) noexcept
    void add_at_places(int slot, const char* g, const int64_t* at, char* out, Around a, Py_ssize_t m) noexcept
    void add_along(int slot, const char* g, const int64_t* at, char* out, Around a, Py_ssize_t m) noexcept
    int add_strided(int slot, const char* g, char* out, const Py_ssize_t* dims, const Py_ssize_t* steps, int nd,
                    Py_ssize_t size, int along) noexcept
    void clipped(int slot, const char* x, char* out, Py_ssize_t n, Bounds b) noexcept
    void crossed(int slot, const char* a, const char* b, char* out, Py_ssize_t n) noexcept

cdef extern from "places.hpp" namespace "arraygrad":
    bint all_within(const int64_t* places, Py_ssize_t n, Py_ssize_t count) noexcept
    void share_choose(Team* team, Py_ssize_t item, const char* mask, const char* x, Py_ssize_t sx, const char* y,
                      Py_ssize_t sy, char* out, Py_ssize_t n) noexcept

cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* MAXIMUM = loop_set("maximum")
cdef LoopSet* MINIMUM = loop_set("minimum")
cdef LoopSet* DIVIDE = loop_set("divide")
cdef LoopSet* SUBTRACT = loop_set("subtract")
cdef object _float32 = np.float32
cdef object _float64 = np.float64
cdef object _dtype = np.dtype


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


# Casts and bounds

cdef object forward_astype(object args):
    cdef ArrayView v
    cdef object to = args[1]
    if real_view(args[0], &v) < 0 or args[2] is not True or args[3] is not None:
        return None
    if to is not _float32 and to is not _float64 and not (isinstance(to, _dtype) and to.char in "fd" and to.isnative):
        return None
    return args[0].astype(to)


cdef bint read_bounds(object low, object high, int slot, Bounds* b) except -1:
    """Bounds that are Python numbers or None; False: they are not, or do not fit."""
    cdef double number
    b.has_low = low is not None
    b.has_high = high is not None
    b.low = b.high = 0.0
    if b.has_low and not (read_number(low, slot, <char*>&number) and read_number(low, SLOT_F64, <char*>&b.low)):
        return False
    return not b.has_high or (read_number(high, slot, <char*>&number) and
                              read_number(high, SLOT_F64, <char*>&b.high))


cdef object forward_clip(object args):
    cdef ArrayView x, o
    cdef Bounds b
    cdef object out
    cdef int slot = real_view(args[0], &x)
    if slot < 0 or not (x.c_order or x.f_order) or not read_bounds(args[1], args[2], slot, &b):
        return None
    if not b.has_low or not b.has_high:     # one bound: NumPy calls these
        return binary_loop(MAXIMUM, args[0], args[1], None) if b.has_low else \
            binary_loop(MINIMUM, args[0], args[2], None) if b.has_high else None
    out = empty_dense(args[0])
    view_of(out, &o)
    clipped(slot, x.data, o.data, x.size, b)
    return out


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


# Triangles and diagonals

cdef object triangle_of(object x, object diagonal, bint lower):
    cdef ArrayView v, o
    cdef Py_ssize_t k, rows, columns
    cdef object out
    if view_of(x, &v) >= 0 and not v.c_order and v.ndim == 2:
        x = small_row_major(x)              # NumPy's result is row-major, too
    if view_of(x, &v) < 0 or not v.c_order or not 2 <= v.ndim <= 8 or not whole_number(diagonal, &k):
        return None
    out = empty_c(x, v.ndim, v.dims)
    view_of(out, &o)
    rows = v.dims[v.ndim - 2]
    columns = v.dims[v.ndim - 1]
    if v.size:
        triangle(item_size(v.slot), v.data, o.data, v.size // (rows * columns), rows, columns, k, lower)
    return out


cdef object forward_tril(object args):
    return triangle_of(args[0], args[1], True)


cdef object forward_triu(object args):
    return triangle_of(args[0], args[1], False)


cdef int rule_tril(Node node, Frame f) except -1:
    cdef object out = triangle_of(f.grad, given(node, 1), True)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef int rule_triu(Node node, Frame f) except -1:
    cdef object out = triangle_of(f.grad, given(node, 1), False)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


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


cdef object forward_trace(object args):
    """The elements of the diagonal, which are few, added as numpy.add.reduce adds them where they lie."""
    cdef ArrayView v, d
    cdef Py_ssize_t offset, rows, columns, n, size, count = 0
    cdef object diagonal
    cdef char* place
    cdef int slot = real_view(args[0], &v)
    if slot < 0 or v.ndim != 2 or not PyLong_CheckExact(args[1]) or args[2] is not None:
        return None
    offset = PyLong_AsSsize_t(args[1])
    rows, columns = v.dims[0] + min(offset, 0), v.dims[1] - max(offset, 0)
    n = min(rows, columns)
    if n <= 0:
        return None
    diagonal = empty_c(args[0], 1, &n)
    view_of(diagonal, &d)
    size = item_size(slot)
    place = v.data - min(offset, 0) * v.strides[0] + max(offset, 0) * v.strides[1]
    put_steps(size, place, v.strides[0] + v.strides[1], d.data, size, n)
    return summed(diagonal, 0, False, &count)


cdef int rule_trace(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef object out
    if view_of(f.grad, &g) < 0 or g.ndim != 0:
        return 0
    out = on_diagonal(node, f, 0)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


# Padding with zeros

cdef tuple middle_of(object width, const Py_ssize_t* dims, int ndim, Py_ssize_t* padded):
    """The key of an array within what it is padded to, of the shape `padded`, or None: no such widths."""
    cdef Py_ssize_t before, after
    cdef list key = []
    cdef object pair
    cdef int d
    cdef bint each = type(width) is tuple and len(<tuple>width) == ndim and type((<tuple>width)[0]) is tuple
    for d in range(ndim):
        pair = (<tuple>width)[d] if each else width
        if PyLong_CheckExact(pair):
            before = after = PyLong_AsSsize_t(pair)
        elif type(pair) is not tuple or len(<tuple>pair) != 2 or not whole_number((<tuple>pair)[0], &before) \
                or not whole_number((<tuple>pair)[1], &after):
            return None
        if before < 0 or after < 0:
            return None
        padded[d] = before + dims[d] + after
        key.append(slice(before, before + dims[d]))
    return tuple(key)


cdef object forward_pad(object args):
    cdef ArrayView v
    cdef Py_ssize_t padded[8]
    cdef object out
    cdef tuple key
    if view_of(args[0], &v) < 0 or not v.c_order or not 1 <= v.ndim <= 8 or args[3] is not None:
        return None
    if type(args[2]) is not str or args[2] != "constant":
        return None
    key = middle_of(args[1], v.dims, v.ndim, padded)
    if key is None:
        return None
    out = zeros_c(args[0], v.ndim, padded)
    copy_into(out[key], args[0])
    return out


cdef int rule_pad(Node node, Frame f) except -1:
    """The middle of the gradient, as a view."""
    cdef ArrayView g
    cdef Py_ssize_t padded[8]
    cdef GradMeta meta = meta_saved(node, 0)
    cdef object mode = given(node, 2)
    cdef tuple key
    cdef int d
    if meta is None or meta.ndim == 0 or node.e1 is not None or type(mode) is not str or mode != "constant" \
            or view_of(f.grad, &g) < 0 or g.ndim != meta.ndim:
        return 0
    key = middle_of(given(node, 1), meta.dims, meta.ndim, padded)
    if key is None:
        return 0
    for d in range(g.ndim):
        if g.dims[d] != padded[d]:
            return 0
    return 1 + set_out(f, 0, f.grad[key], False)


# Along one axis

cdef object rolled(object x, object shift, object axis, bint back):
    cdef ArrayView v, o
    cdef Py_ssize_t places
    cdef Around a
    cdef object out
    if view_of(x, &v) >= 0 and not v.c_order and axis is None:
        x = small_row_major(x)              # in whose order elements move, and NumPy's result lies
    if view_of(x, &v) < 0 or v.ndim == 0 or v.ndim > 8 or v.size == 0 or not whole_number(shift, &places):
        return None
    if axis is None and v.c_order:
        a.outer = a.inner = 1
        a.n = v.size
    elif axis is None or not as_it_lies(&v, axis, &a):
        return None
    places = places % a.n
    if places < 0:
        places += a.n
    if back and places:
        places = a.n - places
    out = empty_dense(x)
    view_of(out, &o)
    shifted(item_size(v.slot), v.data, o.data, a, places)
    return out


cdef object forward_roll(object args):
    return rolled(args[0], args[1], args[2], False)


cdef int rule_roll(Node node, Frame f) except -1:
    cdef object out = rolled(f.grad, given(node, 1), given(node, 2), True)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef object forward_diff(object args):
    """First differences: one subtraction of two parts of the array, as NumPy has it."""
    cdef ArrayView v
    cdef int axis
    cdef tuple before
    cdef object later, earlier, out
    if real_view(args[0], &v) < 0 or v.ndim == 0 or not axis_of(args[1], v.ndim, &axis) or args[2] != 1 \
            or not PyLong_CheckExact(args[2]) or args[3] is not None or args[4] is not None:
        return None
    before = (slice(None),) * axis
    later = args[0][(*before, slice(1, None))]
    earlier = args[0][(*before, slice(None, -1))]
    out = binary_loop(SUBTRACT, later, earlier, None)
    return wrapped((<object>SUBTRACT.ufunc)(later, earlier)) if out is None else out


cdef int rule_diff(Node node, Frame f) except -1:
    cdef ArrayView g, o
    cdef GradMeta meta = meta_saved(node, 0)
    cdef int axis, slot = real_view(f.grad, &g)
    cdef Around a
    cdef object out
    if slot < 0 or meta is None or not g.c_order or g.ndim != meta.ndim or given(node, 2) != 1 or g.size == 0:
        return 0
    if not PyLong_CheckExact(given(node, 2)) or not axis_of(given(node, 1), meta.ndim, &axis):
        return 0
    a = around(meta.dims, meta.ndim, axis)
    if node.e1 is not None or node.edge_node(2) is not None or a.n != g.dims[axis] + 1:
        return 0                            # something was joined to it
    out = empty_c(f.grad, meta.ndim, meta.dims)
    view_of(out, &o)
    fp_begin()
    diff_gradient(slot, g.data, o.data, a)
    report("subtract", fp_end())
    return 1 + set_out(f, 0, out, True)


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


cdef object forward_take_along_axis(object args):
    cdef ArrayView v, o
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t m = 0
    cdef const int64_t* at
    cdef int axis, d
    cdef object x = args[0], out
    if view_of(x, &v) >= 0 and not v.c_order:
        x = small_row_major(x)              # NumPy's result lies as the indices, row-major ones
    if view_of(x, &v) < 0 or not v.c_order or not 1 <= v.ndim <= 8 or not axis_of(args[2], v.ndim, &axis):
        return None
    at = places_along(args[1], v.dims, v.ndim, axis, &m)
    if at == NULL:
        return None
    for d in range(v.ndim):
        dims[d] = m if d == axis else v.dims[d]
    out = empty_c(x, v.ndim, dims)
    view_of(out, &o)
    take_along(item_size(v.slot), v.data, at, o.data, around(v.dims, v.ndim, axis), m)
    return out


cdef int rule_take_along_axis(Node node, Frame f) except -1:
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


cdef int rule_take_along_any(Node node, Frame f) except -1:
    """`take` along the first axis is that of rows (shapes.pyx); here along the others."""
    cdef ArrayView g, o
    cdef GradMeta meta = meta_saved(node, 0)
    cdef Py_ssize_t m = 0
    cdef const int64_t* at
    cdef Around a
    cdef int axis, slot
    cdef object out
    if rule_take(node, f):
        return 1
    slot = real_view(f.grad, &g)
    if slot < 0 or meta is None or not g.c_order or not 0 < meta.ndim <= 8 \
            or not axis_of(given(node, 2), meta.ndim, &axis):
        return 0
    at = positions_of(raw_of(given(node, 1)), &m)
    a = around(meta.dims, meta.ndim, axis)
    if at == NULL or not all_within(at, m, a.n) or g.size != a.outer * m * a.inner:
        return 0
    out = empty_c(f.grad, meta.ndim, meta.dims)
    view_of(out, &o)
    fp_begin()
    add_at_places(slot, g.data, at, o.data, a, m)
    report("add", fp_end())
    return 1 + set_out(f, 0, out, True)


cdef object axis_moved(object x, object source, object destination):
    cdef ArrayView v
    cdef Py_ssize_t axes[8]
    cdef int start, to, d, k = 0
    if view_of(x, &v) < 0 or v.ndim > 8 or not axis_of(source, v.ndim, &start) or not axis_of(destination, v.ndim, &to):
        return None
    for d in range(v.ndim):
        if d == to:
            axes[d] = start
            continue
        if k == start:
            k += 1
        axes[d] = k
        k += 1
    return transposed(x, axes)


cdef object forward_moveaxis(object args):
    return axis_moved(args[0], args[1], args[2])


cdef int rule_moveaxis(Node node, Frame f) except -1:
    cdef object out = axis_moved(f.grad, given(node, 2), given(node, 1))
    return 0 if out is None else 1 + set_out(f, 0, out, f.owned)


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


cdef object forward_windows(object args):
    """A read-only view, of each window's first element on; what NumPy would refuse is declined."""
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t strides[8]
    cdef Py_ssize_t length
    cdef object lengths = args[1], axes = args[2]
    cdef int axis, d, nd
    if view_of(args[0], &v) < 0 or type(lengths) is not tuple or type(axes) is not tuple \
            or len(<tuple>lengths) != len(<tuple>axes) or v.ndim + len(<tuple>axes) > 8:
        return None
    nd = v.ndim
    for d in range(v.ndim):
        dims[d] = v.dims[d]
        strides[d] = v.strides[d]
    for d in range(<int>len(<tuple>axes)):
        if not axis_of((<tuple>axes)[d], v.ndim, &axis) or not whole_number((<tuple>lengths)[d], &length):
            return None
        dims[axis] -= length - 1
        if length < 1 or dims[axis] < 1:
            return None
        dims[nd] = length
        strides[nd] = v.strides[axis]
        nd += 1
    return strided(args[0], nd, dims, strides)


cdef int rule_windows(Node node, Frame f) except -1:
    """Gradients of windows added to the elements that they show, in the order of the windows."""
    cdef ArrayView g, o
    cdef GradMeta meta = meta_saved(node, 0)
    cdef Py_ssize_t steps[16]
    cdef Py_ssize_t step = 1
    cdef int axis = 0, along = -1, d, slot = real_view(f.grad, &g)
    cdef object axes = given(node, 2), out
    if slot < 0 or meta is None or not g.c_order or type(axes) is not tuple or g.ndim != meta.ndim + len(<tuple>axes) \
            or g.ndim > 16:
        return 0
    for d in range(meta.ndim - 1, -1, -1):
        steps[d] = step
        step *= meta.dims[d]
    for d in range(len(<tuple>axes)):
        if not axis_of((<tuple>axes)[d], meta.ndim, &axis):
            return 0
        along = axis
        steps[meta.ndim + d] = steps[axis]
    if steps[axis] != 1 or (<tuple>axes).count(axis) + (<tuple>axes).count(axis - meta.ndim) != 1:
        along = -1
    out = zeros_c(f.grad, meta.ndim, meta.dims)
    view_of(out, &o)
    report("add", add_strided(slot, g.data, o.data, g.dims, steps, g.ndim, g.size, along))
    return 1 + set_out(f, 0, out, True)


# Products and norms

cdef object forward_outer(object args):
    cdef ArrayView a, b
    if real_view(args[0], &a) < 0 or real_view(args[1], &b) != a.slot or a.ndim != 1 or b.ndim != 1:
        return None
    return outer(args[0], args[1])


cdef int rule_outer(Node node, Frame f) except -1:
    cdef ArrayView g, a
    cdef int slot = real_view(f.grad, &g)
    cdef object out0 = None, out1 = None, x
    if slot < 0 or g.ndim != 2 or g.size == 0:
        return 0
    if wants_gradient(node, f, 0):
        x = saved_for(node, SAVE_INPUT, 1)
        if real_view(x, &a) != slot or a.ndim != 1:
            return 0
        out0 = dot(f.grad, x)
    if wants_gradient(node, f, 1):
        x = saved_for(node, SAVE_INPUT, 0)
        if real_view(x, &a) != slot or a.ndim != 1:
            return 0
        out1 = dot(f.grad, x, 1)
    return set_outs(f, out0, out1)


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


cdef int rule_vecdot(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef int slot = real_view(f.grad, &g)
    cdef object out0 = None, out1 = None, axis = given(node, 2)
    if slot < 0:
        return 0
    if wants_gradient(node, f, 0):
        out0 = along_axis(f.grad, saved_for(node, SAVE_INPUT, 1), slot, axis)
        if out0 is None:
            return 0
    if wants_gradient(node, f, 1):
        out1 = along_axis(f.grad, saved_for(node, SAVE_INPUT, 0), slot, axis)
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)


cdef object cross_of(object a, object b):
    """Cross products of vectors along the last axis of row-major arrays of one shape. None: declined."""
    cdef ArrayView u, v, o
    cdef object out
    if real_view(a, &u) < 0 or real_view(b, &v) != u.slot or not u.c_order or not v.c_order or not same_shape(&u, &v) \
            or u.ndim == 0 or u.ndim > 8 or u.dims[u.ndim - 1] != 3:
        return None
    out = empty_c(a, u.ndim, u.dims)
    view_of(out, &o)
    fp_begin()
    crossed(u.slot, u.data, v.data, o.data, u.size // 3)
    report("multiply", fp_end())
    return out


cdef object forward_cross(object args):
    cdef ArrayView v
    if view_of(args[0], &v) < 0 or not PyLong_CheckExact(args[2]) or args[2] != -1 and args[2] != v.ndim - 1:
        return None
    if v.c_order:
        return cross_of(args[0], args[1])
    x1, x2 = small_row_major(args[0]), small_row_major(args[1])     # NumPy's result is row-major, too
    return None if x1 is None or x2 is None else cross_of(x1, x2)


cdef int rule_cross(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef object out0 = None, out1 = None
    if real_view(f.grad, &g) < 0 or given(node, 2) != -1 and given(node, 2) != g.ndim - 1:
        return 0
    if wants_gradient(node, f, 0):
        out0 = cross_of(saved_for(node, SAVE_INPUT, 1), f.grad)
        if out0 is None:
            return 0
    if wants_gradient(node, f, 1):
        out1 = cross_of(f.grad, saved_for(node, SAVE_INPUT, 0))
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)
