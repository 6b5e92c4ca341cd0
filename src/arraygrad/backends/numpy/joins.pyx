# Joins, insertions and repetitions of plain arrays: forwards and rules of the table, and NumPy's functions without
# NumPy's Python wrappers.
# May import: numpy (Python only), engine.arrayops, engine.node, backends.numpy.arrangements,
# backends.numpy.dense_gradients, backends.numpy.elementwise, backends.numpy.loops.
#
# Each function has the parameters of NumPy's and gives its values, dtype and layout bit by bit. Served are row-major
# arrays of one dtype; what is not served goes to NumPy's implementation, errors among it, and so does everything with
# set_fast_paths(False). Guarded by tests/ops/test_fast_joins.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from arraygrad.backends.numpy.arrangements cimport Around, around, axis_of, whole_number
from arraygrad.backends.numpy.dense_gradients cimport write_out_gradient
from arraygrad.backends.numpy.elementwise cimport saved_value, set_out, wants_gradient
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, ArrayView, LoopSet, copy_into, empty_c, fast_enabled, item_size, loop_set, new_number, read_number,
    reduce_by, reshaped, strided, transposed, view_of, wrapped, zeros_c,
)
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

import numpy as np

cdef extern from "arrangements.hpp" namespace "arraygrad":
    void put_steps(Py_ssize_t item, const char* x, Py_ssize_t step, char* out, Py_ssize_t to_step,
                   Py_ssize_t n) noexcept

cdef extern from "joins.hpp" namespace "arraygrad":
    void cycle(char* out, Py_ssize_t bytes, const char* x, Py_ssize_t of) noexcept
    void copy_rows_apart(char* out, Py_ssize_t to_step, const char* x, Py_ssize_t step, Py_ssize_t row,
                         Py_ssize_t n) noexcept

cdef LoopSet* ADD = loop_set("add")
cdef object _add_reduce = np.add.reduce
cdef object _all = slice(None)


cdef object own(str name):
    """NumPy's function of that name without another look for Tensors."""
    function = getattr(np, name)
    return getattr(function, "_implementation", function)


cdef object _vstack = own("vstack")
cdef object _hstack = own("hstack")
cdef object _dstack = own("dstack")
cdef object _column_stack = own("column_stack")
cdef object _block = own("block")
cdef object _append = own("append")
cdef object _insert = own("insert")
cdef object _delete = own("delete")
cdef object _resize = own("resize")
cdef object _full_like = own("full_like")
cdef object _diag = own("diag")
cdef object _diagflat = own("diagflat")


# Joins

cdef object forward_concat(object args):
    return joined(args[0], args[1], False)


cdef object forward_stack(object args):
    return joined(args[0], args[1], True)


cdef object joined(object pieces, object axis, bint stacked):
    """Arrays one after another along `axis`, which is a new one where they are `stacked`. None: declined.

    Served are row-major arrays, and column-major ones, which are joined as their transposes are: NumPy's result has
    their order, with a new axis innermost if it is no first one. An axis of length one would leave that open.
    """
    cdef ArrayView first, v
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t lengths[8]
    cdef Py_ssize_t at, outer = 1, rest = 1, total = 0, chunk, item, k, width
    cdef int i, slot, nd, axes, place
    cdef bint columns
    cdef object out
    cdef char* target
    cdef tuple items
    if type(pieces) is list:
        items = tuple(<list>pieces)             # nobody changes it meanwhile
    elif type(pieces) is tuple:
        items = <tuple>pieces
    else:
        return None
    if not items or not PyLong_CheckExact(axis):
        return None
    slot = view_of(items[0], &first)
    nd = first.ndim + stacked if slot >= 0 else 0
    if not 1 <= nd <= 8:
        return None
    at = PyLong_AsSsize_t(axis)
    if at < 0:
        at += nd
    if not 0 <= at < nd:
        return None
    axes = first.ndim
    columns = first.f_order and not first.c_order
    place = <int>at
    if columns:                                 # axes are counted from behind
        place = axes - 1 - place if not stacked else axes if place else 0
    for i in range(axes):
        lengths[i] = first.dims[axes - 1 - i if columns else i]
    for k in range(len(items)):
        if view_of(items[k], &v) != slot or v.ndim != axes or not (v.f_order if columns else v.c_order):
            return None
        for i in range(axes):
            width = v.dims[axes - 1 - i if columns else i]
            if width != lengths[i] and (stacked or i != place) or columns and width < 2:
                return None
            if i == place and not stacked:
                total += width
        total += stacked
    for i in range(axes):
        if i < place:
            dims[i] = lengths[i]
            outer *= dims[i]
        elif stacked or i > place:
            dims[i + stacked] = lengths[i]
            rest *= lengths[i]
    dims[place] = total
    out = empty_c(items[0], nd, dims)
    view_of(out, &v)
    target = v.data
    item = rest * item_size(slot)
    width = total * item
    for k in range(len(items)):
        view_of(items[k], &v)
        chunk = item if stacked else v.dims[at] * item
        copy_rows_apart(target, width, v.data, chunk, chunk, outer)
        target += chunk
    if not columns:
        return out
    if not stacked:
        return transposed(out, NULL)
    for i in range(nd):
        dims[i] = place if i == at else axes - 1 - (i if i < at else i - 1) + (at == 0)
    return transposed(out, dims)


cdef enum Lift:                     # where axes of length 1 are put
    ROWS = 1                        # a vector is a row
    COLUMNS = 2                     # a vector is a column
    DEPTH = 3                       # a vector is a row, a matrix has a third axis
    NOTHING = 4


cdef object together(object array, ArrayView* v):
    """A vector without gaps: a copy where it has some. `v` becomes its view."""
    cdef object copy
    if v.c_order:
        return array
    copy = empty_c(array, 1, v.dims)
    copy_into(copy, array)
    view_of(copy, v)
    return copy


cdef object lifted(object array, int lift):
    """The array with the axes that a join gives it; None: it is not served."""
    cdef ArrayView v
    cdef Py_ssize_t dims[3]
    if view_of(array, &v) < 0 or v.ndim == 0:
        return None
    if v.ndim == 1:
        array = together(array, &v)
    if v.ndim >= (3 if lift == DEPTH else 2) or lift == NOTHING:
        return array
    dims[0] = dims[1] = dims[2] = 1
    if lift == DEPTH and v.ndim == 2:
        dims[0], dims[1] = v.dims[0], v.dims[1]
    else:
        dims[0 if lift == COLUMNS else 1] = v.dims[0]
    return reshaped(array, 3 if lift == DEPTH else 2, dims)


cdef object joined_as(object arrays, int lift, object axis):
    """Arrays in a list or tuple, joined along `axis`; None: declined."""
    cdef list pieces
    cdef object piece
    if not fast_enabled() or type(arrays) is not list and type(arrays) is not tuple:
        return None
    pieces = []
    for array in arrays:
        piece = lifted(array, lift)
        if piece is None:
            return None
        pieces.append(piece)
    return joined(pieces, axis, False)


def vstack(tup, *, dtype=None, casting="same_kind"):
    """numpy.vstack of plain arrays."""
    out = joined_as(tup, ROWS, 0) if dtype is None and casting == "same_kind" else None
    return _vstack(tup, dtype=dtype, casting=casting) if out is None else out


def hstack(tup, *, dtype=None, casting="same_kind"):
    """numpy.hstack of plain arrays."""
    cdef ArrayView v
    cdef object out = None
    if dtype is None and casting == "same_kind" and (type(tup) is list or type(tup) is tuple) and tup \
            and view_of(tup[0], &v) >= 0:
        out = joined_as(tup, NOTHING, 1 if v.ndim > 1 else 0)
    return _hstack(tup, dtype=dtype, casting=casting) if out is None else out


def dstack(tup):
    """numpy.dstack of plain arrays."""
    cdef ArrayView v
    cdef object out = None
    if (type(tup) is list or type(tup) is tuple) and tup and view_of(tup[0], &v) >= 0 and v.ndim == 2 \
            and fast_enabled():
        out = joined(tup, 2, True)
    if out is None:
        out = joined_as(tup, DEPTH, 2)
    return _dstack(tup) if out is None else out


def column_stack(tup):
    """numpy.column_stack of plain arrays."""
    out = joined_as(tup, COLUMNS, 1)
    return _column_stack(tup) if out is None else out


cdef enum:
    MOST_DEPTH = 8                  # of nested lists, and axes


cdef int depth_of(object arrays, int* ndim, int level) except -2:
    """How many lists lie in each other around each array, and the most axes of one; -1: not served."""
    cdef ArrayView v
    cdef int depth = -1, found
    if type(arrays) is not list:
        if view_of(arrays, &v) < 0:
            return -1
        ndim[0] = max(ndim[0], v.ndim)
        return 0
    if not arrays or level == MOST_DEPTH:
        return -1
    for item in <list>arrays:
        found = depth_of(item, ndim, level + 1)
        if found < 0 or depth >= 0 and found != depth:
            return -1
        depth = found
    return depth + 1


cdef object block_of(object arrays, int left, int ndim):
    """A block of `ndim` axes: `left` lists lie in each other."""
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef list pieces
    cdef object piece
    cdef int d
    if left == 0:
        view_of(arrays, &v)
        if v.ndim == 1:
            arrays = together(arrays, &v)
        if v.ndim == ndim:
            return arrays
        for d in range(ndim):
            dims[d] = v.dims[d + v.ndim - ndim] if d >= ndim - v.ndim else 1
        return reshaped(arrays, ndim, dims)
    pieces = []
    for item in <list>arrays:
        piece = block_of(item, left - 1, ndim)
        if piece is None:
            return None
        pieces.append(piece)
    return joined(pieces, ndim - left, False)


def block(arrays):
    """numpy.block of plain arrays in lists."""
    cdef object out = None
    cdef int ndim = 0, depth
    if type(arrays) is list and fast_enabled():
        depth = depth_of(arrays, &ndim, 0)
        ndim = max(depth, ndim)
        if depth > 0 and ndim <= MOST_DEPTH:
            out = block_of(arrays, depth, ndim)
    return _block(arrays) if out is None else out


cdef object flat(object array, int slot):
    """An array, or a number beside one of that slot, as a vector; None: declined."""
    cdef ArrayView v
    cdef Py_ssize_t one = 1
    if type(array) is float and slot == SLOT_F64:
        return reshaped(new_number(array), 1, &one)
    if view_of(array, &v) < 0:
        return None
    if v.ndim != 1:
        array = reshaped(array, 1, &v.size)     # a view, with gaps too, where there can be one
        view_of(array, &v)
    return together(array, &v)


def append(arr, values, axis=None):
    """numpy.append of plain arrays."""
    cdef ArrayView v
    cdef object out = None, first, second
    if fast_enabled():
        if axis is None:
            first = flat(arr, -1)
            second = None if first is None else flat(values, view_of(first, &v))
            if second is not None:
                out = joined((first, second), 0, False)
        elif view_of(arr, &v) >= 0 and v.ndim == 1:
            out = joined_as((arr, values), NOTHING, axis)
        else:
            out = joined((arr, values), axis, False)
    return _append(arr, values, axis) if out is None else out


# The gradients of what was joined

cdef enum:
    SHORT = 4096                    # bytes; a view costs more than a copy of as many, which the engine may keep


cdef bint cut(Frame f, const ArrayView* g, int axis, Py_ssize_t start, Py_ssize_t n, GradMeta meta, list pieces,
              int edge) except -1:
    """Give an edge, or `pieces`, n places of the gradient along an axis, in the shape of what was joined."""
    cdef ArrayView v
    cdef Around a = around(g.dims, g.ndim, axis)
    cdef Py_ssize_t row = n * a.inner * item_size(g.slot), behind = a.n * a.inner * item_size(g.slot)
    cdef object key, piece
    if g.c_order and (a.outer > 1 or row < SHORT):
        piece = empty_c(f.grad, meta.ndim, meta.dims)
        view_of(piece, &v)
        copy_rows_apart(v.data, row, g.data + start * a.inner * item_size(g.slot), behind, row, a.outer)
        if pieces is None:
            set_out(f, edge, piece, True)
        else:
            pieces.append(piece)
        return True
    key = slice(start, start + n)
    piece = f.grad[key if axis == 0 else (_all,) * axis + (key,)]
    if g.ndim != meta.ndim:
        piece = reshaped(piece, meta.ndim, meta.dims)
    if pieces is None:
        set_out(f, edge, piece, False)
    else:
        pieces.append(piece)
    return False


cdef Py_ssize_t size_of(GradMeta meta) noexcept:
    cdef Py_ssize_t size = 1
    cdef int d
    for d in range(meta.ndim):
        size *= meta.dims[d]
    return size


cdef int cut_all(Node node, Frame f, int axis) except -1:
    """The part of each of the arrays in the first slot; 0: declined."""
    cdef ArrayView g
    cdef Py_ssize_t start = 0, behind, n
    cdef object slot = saved_value(node, 0)
    cdef list pieces = []
    cdef uint32_t owned = 0
    cdef int i = 0
    if not (type(slot) is list or type(slot) is tuple) or view_of(f.grad, &g) < 0 or axis >= g.ndim or g.size == 0 \
            or g.ndim > 8:
        return 0
    behind = g.size // g.dims[axis]
    for meta in slot:
        if type(meta) is not GradMeta or (<GradMeta>meta).ndim > 8 or size_of(<GradMeta>meta) % behind:
            return 0
        start += size_of(<GradMeta>meta) // behind
    if start != g.dims[axis]:
        return 0
    start = 0
    for meta in slot:
        n = size_of(<GradMeta>meta) // behind
        if cut(f, &g, axis, start, n, <GradMeta>meta, pieces, -1) and i < 2:
            owned |= <uint32_t>1 << i
        start += n
        i += 1
    f.set_outs(pieces)
    f.out_owned |= owned
    return 1


cdef int rule_concat(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef int k = 0
    if view_of(f.grad, &g) < 0 or not axis_of((<list>node.args)[1], g.ndim, &k):
        return 0
    return cut_all(node, f, k)


cdef int rule_vstack(Node node, Frame f) except -1:
    return cut_all(node, f, 0)


cdef int rule_hstack(Node node, Frame f) except -1:
    cdef ArrayView g
    return cut_all(node, f, 1 if view_of(f.grad, &g) >= 0 and g.ndim > 1 else 0)


cdef int rule_dstack(Node node, Frame f) except -1:
    return cut_all(node, f, 2)


cdef int rule_column_stack(Node node, Frame f) except -1:
    return cut_all(node, f, 1)


cdef int rule_block(Node node, Frame f) except -1:
    cdef ArrayView g
    return cut_all(node, f, g.ndim - 1) if view_of(f.grad, &g) >= 0 and g.ndim else 0


cdef int rule_append(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef object first = saved_value(node, 0), second = saved_value(node, 1), axis = (<list>node.args)[2]
    cdef Py_ssize_t n
    cdef int k = 0
    if view_of(f.grad, &g) < 0 or g.size == 0 or g.ndim > 8:
        return 0
    if axis is not None and not axis_of(axis, g.ndim, &k):
        return 0
    # What leads nowhere kept no metadata.
    if type(first) is GradMeta and (<GradMeta>first).ndim <= 8:
        n = size_of(<GradMeta>first) // (g.size // g.dims[k])
    elif type(second) is GradMeta and (<GradMeta>second).ndim <= 8:
        n = g.dims[k] - size_of(<GradMeta>second) // (g.size // g.dims[k])
    else:
        return 0
    if wants_gradient(node, f, 0) and (type(first) is not GradMeta or (<GradMeta>first).ndim > 8) \
            or wants_gradient(node, f, 1) and (type(second) is not GradMeta or (<GradMeta>second).ndim > 8):
        return 0
    if wants_gradient(node, f, 0):
        cut(f, &g, k, 0, n, <GradMeta>first, None, 0)
    if wants_gradient(node, f, 1):
        cut(f, &g, k, n, g.dims[k] - n, <GradMeta>second, None, 1)
    return 1


# Insertions and what is left out

cdef object by_rows(object arr, object axis, ArrayView* v, Around* a, int* k, bint* turned):
    """A row-major array to work on, around whose k-th axis `a` tells how it lies; None: declined.

    `turned`: it is the transpose of a column-major one. Without an axis it is a vector.
    """
    turned[0] = False
    k[0] = 0
    if not fast_enabled() or view_of(arr, v) < 0 or v.ndim == 0 or v.ndim > 8:
        return None
    if axis is None and v.ndim > 1:
        arr = reshaped(arr, 1, &v.size)
        view_of(arr, v)
    elif axis is not None and not axis_of(axis, v.ndim, k):
        return None
    if v.ndim == 1:
        arr = together(arr, v)
    elif not v.c_order:
        if not v.f_order:
            return None
        turned[0] = True
        arr = transposed(arr, NULL)
        k[0] = v.ndim - 1 - k[0]
        view_of(arr, v)
    a[0] = around(v.dims, v.ndim, k[0])
    return arr


cdef bint is_place(object obj, Py_ssize_t n, Py_ssize_t* index) except -1:
    """Whether an int names one of n places, from either end."""
    if not PyLong_CheckExact(obj) or not -n <= obj < n:
        return False
    index[0] = obj
    if index[0] < 0:
        index[0] += n
    return True


cdef object opened(object arr, const ArrayView* v, int axis, Py_ssize_t n):
    """An uninitialised array like `arr` with n places along the axis, or a vector of n."""
    cdef Py_ssize_t dims[8]
    cdef int d
    for d in range(v.ndim):
        dims[d] = v.dims[d]
    dims[axis] = n
    return empty_c(arr, v.ndim, dims)


def delete(arr, obj, axis=None):
    """numpy.delete of plain arrays."""
    cdef ArrayView v, o
    cdef Around a
    cdef Py_ssize_t index = 0, row, item
    cdef object base, out
    cdef bint turned = False
    cdef int k = 0
    base = by_rows(arr, axis, &v, &a, &k, &turned)
    if base is None or not is_place(obj, a.n, &index):
        return _delete(arr, obj, axis)
    out = opened(base, &v, k, a.n - 1)
    view_of(out, &o)
    row = a.inner * item_size(v.slot)
    item = index * row
    copy_rows_apart(o.data, (a.n - 1) * row, v.data, a.n * row, item, a.outer)
    copy_rows_apart(o.data + item, (a.n - 1) * row, v.data + item + row, a.n * row, (a.n - 1) * row - item, a.outer)
    return transposed(out, NULL) if turned else out


cdef object inserted(object values, const ArrayView* w, int ndim, int axis):
    """What is assigned where `values`, with axes in front, are inserted: their first axis becomes `axis`."""
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t order[8]
    cdef int d
    for d in range(ndim):
        dims[d] = w.dims[d + w.ndim - ndim] if d >= ndim - w.ndim else 1
        order[d] = d + 1 if d < axis else 0 if d == axis else d
    if w.ndim != ndim:
        values = reshaped(values, ndim, dims)
    return transposed(values, order) if axis else values


def insert(arr, obj, values, axis=None):
    """numpy.insert of plain arrays."""
    cdef ArrayView v, w, o
    cdef Around a
    cdef double number[2]
    cdef Py_ssize_t index = 0, row, i, more = 1
    cdef object base, out
    cdef bint filled, turned = False
    cdef int k = 0
    base = by_rows(arr, axis, &v, &a, &k, &turned)
    if base is None or not (PyLong_CheckExact(obj) and obj == a.n or is_place(obj, a.n, &index)):
        return _insert(arr, obj, values, axis)
    if obj == a.n:
        index = a.n
    filled = read_number(values, v.slot, <char*>number)
    if not filled:
        if view_of(values, &w) != v.slot or w.ndim > v.ndim:
            return _insert(arr, obj, values, axis)
        if w.ndim == v.ndim:
            more = w.dims[0]
    out = opened(base, &v, k, a.n + more)
    view_of(out, &o)
    row = a.inner * item_size(v.slot)
    copy_rows_apart(o.data, (a.n + more) * row, v.data, a.n * row, index * row, a.outer)
    copy_rows_apart(o.data + (index + more) * row, (a.n + more) * row, v.data + index * row, a.n * row,
                    (a.n - index) * row, a.outer)
    if filled:
        for i in range(a.outer):
            cycle(o.data + (i * (a.n + 1) + index) * row, row, <char*>number, item_size(v.slot))
    elif k == 0 and w.c_order and w.size == more * a.inner and not turned:
        memcpy(o.data + index * row, w.data, more * row)
    if turned:
        out = transposed(out, NULL)
        k = v.ndim - 1 - k
    if not filled and (turned or k or not w.c_order or w.size != more * a.inner):
        key = slice(index, index + more)
        out[key if k == 0 else (_all,) * k + (key,)] = inserted(values, &w, v.ndim, k)
    return out


# Repetitions

def resize(a, new_shape):
    """numpy.resize of plain arrays."""
    cdef ArrayView v, o
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t size = 1
    cdef int d, nd
    cdef tuple shape = (new_shape,) if PyLong_CheckExact(new_shape) else tuple(new_shape) \
        if type(new_shape) is list or type(new_shape) is tuple else None
    if shape is None or not fast_enabled() or view_of(a, &v) < 0 or v.size == 0 or len(shape) > 8:
        return _resize(a, new_shape)
    elements = flat(a, -1)
    view_of(elements, &v)
    nd = <int>len(shape)
    for d in range(nd):
        if not PyLong_CheckExact(shape[d]) or not 0 < shape[d] < 1 << 40 or size > 1 << 40:
            return _resize(a, new_shape)
        dims[d] = shape[d]
        size *= dims[d]
    out = empty_c(a, nd, dims)
    view_of(out, &o)
    cycle(o.data, size * item_size(v.slot), v.data, v.size * item_size(v.slot))
    return out


cdef object forward_tile(object args):
    """numpy.tile; None: declined."""
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t lengths[16]
    cdef Py_ssize_t steps[16]
    cdef object reps = args[1], out
    cdef int d, nd, lead, count
    cdef bint once = True
    if view_of(args[0], &v) < 0 or type(reps) is not tuple or len(<tuple>reps) > 8 or v.ndim > 8:
        return None
    count = <int>len(<tuple>reps)
    nd = max(v.ndim, count)
    for d in range(nd):
        lengths[2 * d] = 1
        if d >= nd - count:
            number = (<tuple>reps)[d - nd + count]
            if not PyLong_CheckExact(number) or not 0 <= number < 1 << 40:
                return None
            lengths[2 * d] = number
            once = once and lengths[2 * d] == 1
        lead = d - nd + v.ndim
        lengths[2 * d + 1] = v.dims[lead] if lead >= 0 else 1
        steps[2 * d] = 0
        steps[2 * d + 1] = v.strides[lead] if lead >= 0 else 0
        dims[d] = lengths[2 * d] * lengths[2 * d + 1]
    if once and not v.c_order:
        return None                             # a copy that keeps its order
    out = empty_c(args[0], nd, dims)
    copy_into(reshaped(out, 2 * nd, lengths), strided(args[0], 2 * nd, lengths, steps))
    return out


cdef object summed(object g, int ndim, const Py_ssize_t* dims, unsigned long long mask):
    """g in another shape, summed over the axes in `mask`."""
    cdef object out
    g = reshaped(g, ndim, dims)
    out = reduce_by(ADD, g, mask, False)
    if out is None:
        out = wrapped(_add_reduce(g, tuple([d for d in range(ndim) if (mask >> d) & 1])))
    return out


cdef int rule_tile(Node node, Frame f) except -1:
    """The sum over the copies."""
    cdef ArrayView g
    cdef Py_ssize_t dims[16]
    cdef unsigned long long mask = 0
    cdef object slot = saved_value(node, 0), reps = (<list>node.args)[1], out
    cdef GradMeta meta
    cdef int d, lead, nd = 0
    write_out_gradient(f)
    if type(slot) is not GradMeta or (<GradMeta>slot).ndim > 8 or view_of(f.grad, &g) < 0 or type(reps) is not tuple:
        return 0
    meta = <GradMeta>slot
    if g.ndim > 8 or g.size == 0:
        return 0
    for d in range(g.ndim):
        lead = d - g.ndim + meta.ndim
        dims[nd] = g.dims[d] // meta.dims[lead] if lead >= 0 else g.dims[d]
        if dims[nd] != 1:
            mask |= 1ULL << nd
            nd += 1
        if lead >= 0:
            dims[nd] = meta.dims[lead]
            nd += 1
    if mask == 0:
        return 1 + set_out(f, 0, reshaped(f.grad, meta.ndim, meta.dims), f.owned)
    out = summed(f.grad, nd, dims, mask)
    return 1 + set_out(f, 0, reshaped(out, meta.ndim, meta.dims), True)


cdef int rule_repeat(Node node, Frame f) except -1:
    """The sum over the copies of each element."""
    cdef ArrayView g
    cdef Py_ssize_t dims[16]
    cdef Py_ssize_t n
    cdef object slot = saved_value(node, 0), repeats = (<list>node.args)[1], axis = (<list>node.args)[2], out
    cdef GradMeta meta
    cdef int d, k = 0, nd
    write_out_gradient(f)
    if type(slot) is not GradMeta or (<GradMeta>slot).ndim > 8 or view_of(f.grad, &g) < 0 or g.size == 0:
        return 0
    meta = <GradMeta>slot
    if not PyLong_CheckExact(repeats) or not 0 < repeats <= g.size:
        return 0
    n = repeats
    if axis is None or meta.ndim == 0:
        dims[0], dims[1] = g.size // n, n
        nd = 2
    elif axis_of(axis, meta.ndim, &k):
        for d in range(meta.ndim):
            dims[d + (d > k)] = meta.dims[d]
        dims[k + 1] = n
        nd = meta.ndim + 1
    else:
        return 0
    out = summed(f.grad, nd, dims, 1ULL << (k + 1))
    return 1 + set_out(f, 0, reshaped(out, meta.ndim, meta.dims), True)


cdef object forward_full_like(object args):
    """An array filled with the value of one without axes, of the same dtype. None: declined."""
    cdef ArrayView v, x, o
    cdef object out
    if args[2] is not None or args[3] is not None or view_of(args[0], &v) < 0 or view_of(args[1], &x) != v.slot \
            or x.ndim or v.ndim > 8:
        return None
    out = empty_c(args[0], v.ndim, v.dims)
    view_of(out, &o)
    cycle(o.data, v.size * item_size(v.slot), x.data, item_size(v.slot))
    return out


def full_like(a, fill_value):
    """numpy.full_like of plain arrays."""
    cdef ArrayView v
    cdef object out = forward_full_like((a, fill_value, None, None)) if fast_enabled() and view_of(a, &v) >= 0 \
        and v.c_order else None
    return _full_like(a, fill_value) if out is None else out


# Diagonals

cdef enum:
    MOST_OFFSET = 1 << 28           # what is farther off has no memory: NumPy says so


cdef object diagonal_of(object v, object k):
    """Zeros with the elements of `v` on the k-th diagonal; None: declined."""
    cdef ArrayView x, o
    cdef Py_ssize_t dims[2]
    cdef Py_ssize_t offset = 0, item
    cdef object out
    if not fast_enabled() or view_of(v, &x) < 0 or not whole_number(k, &offset) \
            or not -MOST_OFFSET < offset < MOST_OFFSET or not (x.ndim == 1 or x.ndim and x.c_order):
        return None
    dims[0] = dims[1] = x.size + (offset if offset > 0 else -offset)
    out = zeros_c(v, 2, dims)
    view_of(out, &o)
    item = item_size(x.slot)
    put_steps(item, x.data, x.strides[0] if x.ndim == 1 else item,
              o.data + item * (offset if offset > 0 else -offset * dims[0]), item * (dims[0] + 1), x.size)
    return out


def diag(v, k=0):
    """numpy.diag of plain arrays."""
    cdef ArrayView x
    cdef object out = diagonal_of(v, k) if view_of(v, &x) >= 0 and x.ndim == 1 else None
    return _diag(v, k) if out is None else out


def diagflat(v, k=0):
    """numpy.diagflat of plain arrays."""
    cdef object out = diagonal_of(v, k)
    return _diagflat(v, k) if out is None else out


cdef int rule_diag(Node node, Frame f) except -1:
    cdef ArrayView g
    if view_of(f.grad, &g) < 0 or g.ndim != 2 or not PyLong_CheckExact((<list>node.args)[1]):
        return 0
    return 1 + set_out(f, 0, f.grad.diagonal((<list>node.args)[1]), False)


cdef int rule_diagflat(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef object slot = saved_value(node, 0)
    if type(slot) is not GradMeta or (<GradMeta>slot).ndim > 8 or view_of(f.grad, &g) < 0 or g.ndim != 2 \
            or not PyLong_CheckExact((<list>node.args)[1]):
        return 0
    return 1 + set_out(f, 0, reshaped(f.grad.diagonal((<list>node.args)[1]), (<GradMeta>slot).ndim,
                                      (<GradMeta>slot).dims), False)
