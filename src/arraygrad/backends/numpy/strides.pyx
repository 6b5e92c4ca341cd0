# Views of plain arrays: other shapes, orders and directions of axes, repeats, windows; and the rules that undo them.
# May import: engine.arrayops, engine.node, core.op, backends.numpy.arrangements, backends.numpy.elementwise,
# backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.plans, backends.numpy.windows.
#
# An operation's row names its reader, which turns the parameters behind the array into a Show, out of its shape and
# strides alone. What NumPy would refuse, or reads in a way of its own, is declined. One forward makes all views; one
# rule gives a gradient the array's shape, or shows it the other way round. Padding by zeros is the other way round of
# a view: its forward fills, its rule shows.
# Guarded by tests/backends/test_fast_forward.py, test_fast_rules.py, test_fast_windows.py, test_fast_arrangements.py
# and test_fast_rearrangements.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.string cimport memcpy

from arraygrad.backends.numpy.arrangements cimport meta_saved, whole_number
from arraygrad.backends.numpy.elementwise cimport attach, set_out
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, copy_into, empty_c, mirrored, reshaped, strided, transposed, view_of, zeros_c,
)
from arraygrad.backends.numpy.loops cimport axis_mask, item_size
from arraygrad.backends.numpy.plans cimport Planned, planned_row, serve_plan
from arraygrad.backends.numpy.windows cimport windows_of
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op

cdef extern from "arrangements.hpp" namespace "arraygrad":
    void put_steps(Py_ssize_t item, const char* x, Py_ssize_t step, char* out, Py_ssize_t to_step,
                   Py_ssize_t n) noexcept

cdef enum:
    MOST_AXES = 8
    MOST_ROWS = 11

cdef enum Action:
    RESHAPED                # to `dims`, in row-major order
    FLATTENED               # copied into one dimension
    PERMUTED                # axes in the order `dims`
    MIRRORED                # along the axes in `mask`
    STRIDED                 # by `dims` and `strides`, from the first element on; read-only
    DIAGONAL                # `dims[0]` above the main one
    PADDED                  # a copy with `dims` zeros before and `strides` zeros behind along each axis; no view

cdef struct Show:
    Action action
    unsigned long long mask
    Py_ssize_t dims[MOST_AXES]
    Py_ssize_t strides[MOST_AXES]

# Reads an operation's parameters for an array. Returns how many axes the view has, -1: declined.
ctypedef int (*view_reader)(object args, const ArrayView* v, Show* s) except -2

# How a gradient of the view becomes the array's.
cdef enum Undone:
    OTHERWISE               # by another rule
    BY_SHAPE                # it gets the array's shape, which the node keeps
    BY_INVERSE              # it is shown the other way round
    BY_FILLING              # it is laid into zeros of the array's shape, which the node keeps
    BY_CUTTING              # its middle, of the array's shape

cdef struct ViewRow:
    view_reader read
    Undone undone


cdef int numbers_of(object given, Py_ssize_t* numbers) except -2:
    """Read an int, or a tuple of up to MOST_AXES ints; how many there are, -1: it is neither."""
    cdef int i
    if PyLong_CheckExact(given):
        numbers[0] = PyLong_AsSsize_t(given)
        return 1
    if type(given) is not tuple or len(<tuple>given) > MOST_AXES:
        return -1
    for i in range(<int>len(<tuple>given)):
        item = (<tuple>given)[i]
        if not PyLong_CheckExact(item):
            return -1
        numbers[i] = PyLong_AsSsize_t(item)
    return <int>len(<tuple>given)


# Readers

cdef tuple _flat = (-1,)


cdef int read_shape(object args, const ArrayView* v, Show* s) except -2:
    s.action = RESHAPED
    if args[2] is not None:
        s.action = FLATTENED
        return 1 if v.c_order and args[2] is True and args[1] == _flat else -1
    return numbers_of(args[1], s.dims)


cdef int read_order(object args, const ArrayView* v, Show* s) except -2:
    s.action = PERMUTED
    return v.ndim if type(args[1]) is tuple and numbers_of(args[1], s.dims) == v.ndim else -1


cdef int read_turned(object args, const ArrayView* v, Show* s) except -2:
    """The last two axes swapped."""
    cdef int i
    s.action = PERMUTED
    if v.ndim < 2:
        return -1
    for i in range(v.ndim):
        s.dims[i] = i
    s.dims[v.ndim - 2], s.dims[v.ndim - 1] = v.ndim - 1, v.ndim - 2
    return v.ndim


cdef int read_moved(object args, const ArrayView* v, Show* s) except -2:
    """Axes at the places `args[1]` moved to `args[2]`; the others keep their order."""
    cdef Py_ssize_t source[MOST_AXES]
    cdef Py_ssize_t target[MOST_AXES]
    cdef unsigned long long taken = 0, filled = 0
    cdef int i, k = 0, n = numbers_of(args[1], source)
    s.action = PERMUTED
    if n < 0 or numbers_of(args[2], target) != n:
        return -1
    for i in range(n):
        source[i] += v.ndim if source[i] < 0 else 0
        target[i] += v.ndim if target[i] < 0 else 0
        if not (0 <= source[i] < v.ndim and 0 <= target[i] < v.ndim) or (taken >> source[i]) & 1 \
                or (filled >> target[i]) & 1:
            return -1
        taken |= <unsigned long long>1 << source[i]
        filled |= <unsigned long long>1 << target[i]
        s.dims[target[i]] = source[i]
    for i in range(v.ndim):
        if (filled >> i) & 1:
            continue
        while (taken >> k) & 1:
            k += 1
        s.dims[i] = k
        k += 1
    return v.ndim


cdef int read_squeezed(object args, const ArrayView* v, Show* s) except -2:
    cdef int i, k = 0
    s.action = RESHAPED
    if args[1] is None or not axis_mask(args[1], v.ndim, &s.mask):
        return -1
    for i in range(v.ndim):
        if not (s.mask >> i) & 1:
            s.dims[k] = v.dims[i]
            k += 1
        elif v.dims[i] != 1:
            return -1
    return k


cdef int read_expanded(object args, const ArrayView* v, Show* s) except -2:
    cdef Py_ssize_t at
    cdef int i
    s.action = RESHAPED
    if v.ndim == MOST_AXES or not PyLong_CheckExact(args[1]):
        return -1
    at = PyLong_AsSsize_t(args[1])
    if at < 0:
        at += v.ndim + 1
    if not 0 <= at <= v.ndim:
        return -1
    for i in range(v.ndim):
        s.dims[i + (i >= at)] = v.dims[i]
    s.dims[at] = 1
    return v.ndim + 1


cdef int read_broadcast(object args, const ArrayView* v, Show* s) except -2:
    cdef int i, lead, nd = numbers_of(args[1], s.dims) if type(args[1]) is tuple else -1
    s.action = STRIDED
    lead = nd - v.ndim
    if lead < 0:
        return -1
    for i in range(nd):
        if s.dims[i] < 0:
            return -1
        s.strides[i] = 0
        if i >= lead:
            if v.dims[i - lead] == s.dims[i]:
                s.strides[i] = v.strides[i - lead] if s.dims[i] != 1 else 0
            elif v.dims[i - lead] != 1:
                return -1
    return nd


cdef int read_flipped(object args, const ArrayView* v, Show* s) except -2:
    s.action = MIRRORED
    return v.ndim if v.ndim and (args[1] is None or PyLong_CheckExact(args[1])) \
        and axis_mask(args[1], v.ndim, &s.mask) else -1


cdef int read_windows(object args, const ArrayView* v, Show* s) except -2:
    s.action = STRIDED
    return windows_of(args[1], args[2], v.ndim, v.dims, v.strides, s.dims, s.strides)


cdef int read_diagonal(object args, const ArrayView* v, Show* s) except -2:
    s.action = DIAGONAL
    return 1 if v.ndim == 2 and PyLong_CheckExact(args[1]) and numbers_of(args[1], s.dims) == 1 else -1


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


cdef int read_padded(object args, const ArrayView* v, Show* s) except -2:
    """The constant is no part of a node's parameters, and does not matter to the rule."""
    s.action = PADDED
    if v.ndim == 0 or args[3] is not None or type(args[2]) is not str or args[2] != "constant":
        return -1
    return v.ndim if widths_of(args[1], v.ndim, s.dims, s.strides) else -1


# Views

cdef tuple middle_of(int ndim, const Py_ssize_t* dims, const Py_ssize_t* before):
    """The key of an array within what it is padded to."""
    return tuple([slice(before[d], before[d] + dims[d]) for d in range(ndim)])


cdef object padded(object x, const ArrayView* v, const Show* s):
    """Zeros around a row-major array. None: declined."""
    cdef Py_ssize_t dims[MOST_AXES]
    cdef object out
    cdef int d
    if not v.c_order:
        return None
    for d in range(v.ndim):
        dims[d] = s.dims[d] + v.dims[d] + s.strides[d]
    out = zeros_c(x, v.ndim, dims)
    copy_into(out[middle_of(v.ndim, v.dims, s.dims)], x)
    return out


cdef object on_diagonal(object x, const ArrayView* v, Py_ssize_t k, GradMeta meta):
    """Zeros of a matrix's shape with x, a vector, on its k-th diagonal."""
    cdef ArrayView o
    cdef Py_ssize_t row = -k if k < 0 else 0, column = k if k > 0 else 0, item = item_size(v.slot)
    cdef object out = zeros_c(x, 2, meta.dims)
    view_of(out, &o)
    put_steps(item, v.data, v.strides[0], o.data + (row * meta.dims[1] + column) * item, (meta.dims[1] + 1) * item,
              max(0, min(v.dims[0], meta.dims[0] - row, meta.dims[1] - column)))
    return out


cdef object shown(object x, const ArrayView* v, const Show* s, int nd):
    cdef ArrayView o
    cdef object out
    cdef int d
    if s.action == RESHAPED:
        return reshaped(x, nd, s.dims)
    if s.action == PERMUTED:
        return transposed(x, s.dims)
    if s.action == STRIDED:
        return strided(x, nd, s.dims, s.strides)
    if s.action == DIAGONAL:
        return x.diagonal(s.dims[0])
    if s.action == PADDED:
        return padded(x, v, s)
    if s.action == MIRRORED:
        for d in range(nd):
            if (s.mask >> d) & 1:
                x = mirrored(x, d)
        return x
    out = empty_c(x, 1, &v.size)
    view_of(out, &o)
    memcpy(o.data, v.data, v.size * item_size(v.slot))
    return out


cdef object forward_view(const void* row, object args):
    cdef ArrayView v
    cdef Show s
    cdef int nd
    if view_of(args[0], &v) < 0 or v.ndim > MOST_AXES:
        return None
    nd = (<const ViewRow*>row).read(args, &v, &s)
    return None if nd < 0 else shown(args[0], &v, &s, nd)


cdef int rule_view(Node node, Frame f) except -1:
    cdef const ViewRow* row = <const ViewRow*>planned_row(<Op>node.op)
    cdef ArrayView g
    cdef Show s
    cdef Py_ssize_t axes[MOST_AXES]
    cdef int d
    cdef GradMeta meta = None
    if view_of(f.grad, &g) < 0 or g.ndim > MOST_AXES:
        return 0
    if row.undone != BY_INVERSE:
        meta = meta_saved(node, 0)
        if meta is None:
            return 0
    if row.undone == BY_SHAPE:
        return 1 + set_out(f, 0, reshaped(f.grad, meta.ndim, meta.dims), f.owned)
    if row.undone == BY_FILLING:
        if g.ndim != 1 or meta.ndim != 2 or not whole_number((<list>node.args)[1], &s.dims[0]):
            return 0
        return 1 + set_out(f, 0, on_diagonal(f.grad, &g, s.dims[0], meta), True)
    if row.undone == BY_CUTTING:
        if node.e1 is not None or g.ndim != meta.ndim or row.read(node.args, &g, &s) != g.ndim:
            return 0
        return 1 + set_out(f, 0, f.grad[middle_of(g.ndim, meta.dims, s.dims)], False)
    # A node that keeps nothing has no place for parameters: Note [Bare nodes] in engine/node_memory.hpp.
    if row.read(None if (<Op>node.op).bare else node.args, &g, &s) != g.ndim:
        return 0
    if s.action == PERMUTED:
        memcpy(axes, s.dims, sizeof(axes))
        for d in range(g.ndim):
            s.dims[axes[d] + g.ndim if axes[d] < 0 else axes[d]] = d
    return 1 + set_out(f, 0, shown(f.grad, &g, &s, g.ndim), f.owned and s.action == PERMUTED)


# Into the table

cdef ViewRow ROWS[MOST_ROWS]
cdef Planned PLANNED[MOST_ROWS]


cdef int serve(int k, dict ops, str name, tuple params, view_reader read, Undone undone, list forwards,
               list done) except -1:
    ROWS[k].read = read
    ROWS[k].undone = undone
    PLANNED[k].forward = forward_view
    PLANNED[k].row = &ROWS[k]
    if serve_plan(ops, name, params, &PLANNED[k], forwards) and undone != OTHERWISE:
        attach(ops, name, rule_view, () if undone == BY_INVERSE else ("x_meta",), done)
    return 0


cdef int attach_views(dict ops, list forwards, list done) except -1:
    """Give the operations that show an array otherwise their plans and rules."""
    serve(0, ops, "reshape", ("x", "shape", "copy"), read_shape, BY_SHAPE, forwards, done)
    serve(1, ops, "expand_dims", ("x", "axis"), read_expanded, BY_SHAPE, forwards, done)
    serve(2, ops, "squeeze", ("x", "axis"), read_squeezed, BY_SHAPE, forwards, done)
    serve(3, ops, "permute_dims", ("x", "axes"), read_order, BY_INVERSE, forwards, done)
    serve(4, ops, "flip", ("x", "axis"), read_flipped, BY_INVERSE, forwards, done)
    serve(5, ops, "broadcast_to", ("x", "shape"), read_broadcast, OTHERWISE, forwards, done)
    serve(6, ops, "_windows", ("x", "lengths", "axes"), read_windows, OTHERWISE, forwards, done)
    serve(7, ops, "diagonal", ("x", "offset"), read_diagonal, BY_FILLING, forwards, done)
    serve(8, ops, "matrix_transpose", ("x",), read_turned, BY_INVERSE, forwards, done)
    serve(10, ops, "pad", ("x", "pad_width", "mode", "constant_values"), read_padded, BY_CUTTING, forwards, done)
    serve(9, ops, "moveaxis", ("x", "source", "destination"), read_moved, BY_INVERSE, forwards, done)
    return 0
