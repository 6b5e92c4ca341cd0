# Joins of plain arrays, and their gradients.
# May import: engine.arrayops, engine.node, core.op, backends.numpy.arrangements, backends.numpy.elementwise,
# backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.plans.
#
# Values, dtype and layout are NumPy's bit by bit. Served are arrays of one dtype that all lie row-major or all
# column-major. None, or 0: declined. Guarded by tests/backends/test_fast_joins.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport uint32_t

from arraygrad.backends.numpy.arrangements cimport Around, around, axis_of
from arraygrad.backends.numpy.elementwise cimport attach, saved_value, set_out
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_c, reshaped, transposed, view_of
from arraygrad.backends.numpy.loops cimport item_size
from arraygrad.backends.numpy.plans cimport Planned, planned_row, serve_plan
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op

cdef extern from "joins.hpp" namespace "arraygrad":
    void copy_rows_apart(char* out, Py_ssize_t to_step, const char* x, Py_ssize_t step, Py_ssize_t row,
                         Py_ssize_t n) noexcept

cdef object _all = slice(None)


# Joins

cdef bint CONCATENATED = False, STACKED = True          # rows of `forward_join`
cdef Planned PLANNED[2]


cdef object forward_join(const void* row, object args):
    return joined(args[0], args[1], (<const bint*>row)[0])


cdef int attach_joins(dict ops, list forwards, list done) except -1:
    """Give the joins their plans and rules."""
    PLANNED[0].forward = PLANNED[1].forward = forward_join
    PLANNED[0].row, PLANNED[1].row = &CONCATENATED, &STACKED
    if serve_plan(ops, "concat", ("arrays", "axis"), &PLANNED[0], forwards):
        attach(ops, "concat", rule_join, ("arrays_meta",), done)
    if serve_plan(ops, "stack", ("arrays", "axis"), &PLANNED[1], forwards):
        attach(ops, "stack", rule_join, (), done)
    return 0


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


cdef int unstacked(Frame f, const ArrayView* g, int axis) except -1:
    """The part of each of the arrays that were stacked, as a view."""
    cdef Py_ssize_t k
    cdef tuple before = (_all,) * axis
    cdef list pieces = []
    for k in range(g.dims[axis]):
        pieces.append(f.grad[k, ...] if g.ndim == 1 else f.grad[k] if axis == 0 else f.grad[(*before, k)])
    f.set_outs(pieces)
    return 1


cdef int rule_join(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef int k = 0
    if view_of(f.grad, &g) < 0 or not axis_of((<list>node.args)[1], g.ndim, &k):
        return 0
    return unstacked(f, &g, k) if (<const bint*>planned_row(<Op>node.op))[0] else cut_all(node, f, k)
