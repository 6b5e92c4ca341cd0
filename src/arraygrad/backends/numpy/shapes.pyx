# Slices, gathers, choices and sums at places of plain arrays, forward and backward: where elements go.
# May import: numpy (Python only), engine.*, core.op, core.value, backends.numpy.choices,
# backends.numpy.dense_gradients, backends.numpy.elementwise, backends.numpy.lanes, backends.numpy.ndarrays,
# backends.numpy.loops, backends.numpy.kernel_programs, backends.numpy.plans, backends.numpy.regions,
# backends.numpy.row_copies, backends.numpy.single, backends.numpy.windows.
#
# Forwards copy bytes or make views, so values are NumPy's. None: declined.
# Guarded by tests/backends/test_fast_places.py, test_fast_pieces.py, test_fast_setitem.py and test_fast_forward.py,
# sums in place by tests/numpy_api/test_sums_at_places.py.
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_AsSsize_t, PyLong_CheckExact
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_CheckExact
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from arraygrad.backends.numpy.choices cimport at_mask, spread_by_mask
from arraygrad.backends.numpy.dense_gradients cimport write_out_gradient
from arraygrad.backends.numpy.elementwise cimport real_view, saved_value, set_out, wants_gradient
from arraygrad.backends.numpy.lanes cimport small_row_major
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, bools_of, cloned, copy_into, empty_c, empty_of, is_scalar, positions_of, same_shape, view_of, wrapped,
    zeros_c,
)
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, LoopSet, binary_loop, is_captured, item_size, loop_set, not_captured, read_number, report,
)
from arraygrad.backends.numpy.kernel_programs cimport noted_in_place
from arraygrad.backends.numpy.plans cimport Planned, planner_ptr, serve_plan
from arraygrad.backends.numpy.regions cimport begin_partial, write_region
from arraygrad.backends.numpy.row_copies cimport SMALL
from arraygrad.backends.numpy.single cimport element_at, finite_sum
from arraygrad.backends.numpy.windows cimport leads_to_windows, leave_region
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport partial_gradient, waiting_gradient
from arraygrad.engine.input_buffer cimport PartialGradient
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Value

import numpy as np

cdef extern from "gather_scatter.hpp" namespace "arraygrad":
    int put_rows(int slot, char* out, const int64_t* places, const char* g, Py_ssize_t n, Py_ssize_t inner,
                 Py_ssize_t count, bint fresh) noexcept
    void take_rows(const char* x, const int64_t* places, char* out, Py_ssize_t n, Py_ssize_t bytes,
                   Py_ssize_t count) noexcept
    bint all_within(const int64_t* places, Py_ssize_t n, Py_ssize_t count) noexcept
    void share_choose(Team* team, Py_ssize_t item, const char* mask, const char* x, Py_ssize_t sx, const char* y,
                      Py_ssize_t sy, char* out, Py_ssize_t n) noexcept

cdef LoopSet* ADD = loop_set("add")
cdef object _add = np.add


# Slices and gathers

# Note [One buffer for many places]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The gradient of x[key] is zero but for a region. Made as an array of its own for each of n slices of one array, it
# costs n times the whole. So the first rule makes such an array, which the engine then holds alone in the slot of the
# node it leads to, and every later one adds its region to what waits there (waiting_gradient) and returns None, an
# undefined gradient, which counts as delivered. For slices the sums are those of the plain way, element by element and
# in the same order; only a negative zero stays one where adding zero would make it positive.
# A large array is not even filled with zeros first: what waits is a PartialGradient, of which one stretch of memory has
# been written. Slices that follow each other, forwards or backwards, lengthen it and are copied; others have the gap
# filled with zeros. Whatever else looks at the gradient finishes it. So slices that tile an array cost one pass.
# Rows of a gather that may meet do not join: added one by one to what waits, they would round otherwise than their sum.
# Guarded by tests/backends/test_fast_places.py.
cdef bint is_basic(object key) noexcept:
    """Whether a key names each element at most once: ints, slices, ... and None."""
    if type(key) is tuple:
        for item in <tuple>key:
            if not (PyLong_CheckExact(item) or type(item) is slice or item is Ellipsis or item is None):
                return False
        return True
    return PyLong_CheckExact(key) or type(key) is slice or key is Ellipsis or key is None


cdef void rows_of(const Py_ssize_t* dims, int ndim, int lead, Py_ssize_t* count, Py_ssize_t* inner) noexcept:
    """How many rows an array has over its first `lead` axes, and the elements of each."""
    cdef int d
    count[0] = inner[0] = 1
    for d in range(lead):
        count[0] *= dims[d]
    for d in range(lead, ndim):
        inner[0] *= dims[d]


cdef object rows_at(object x, object places, object shaped, int lead):
    """Rows of a row-major array, over its first `lead` axes, at integers, without NumPy's iterator. None: declined.

    The result has the shape of `shaped` before that of a row.
    """
    cdef ArrayView v, p, r
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t n = 0, count = 1, inner = 1
    cdef const int64_t* at = positions_of(places, &n)
    cdef int slot = view_of(x, &v), d
    cdef object out
    if at == NULL or slot < 0 or not v.c_order or v.ndim == 0 or v.size == 0:
        return None
    view_of(shaped, &p)
    if p.ndim == 0 or p.ndim + v.ndim - lead > 8:
        return None
    rows_of(v.dims, v.ndim, lead, &count, &inner)
    if not all_within(at, n, count):
        return None                         # places out of bounds are NumPy's error
    for d in range(p.ndim):
        dims[d] = p.dims[d]
    for d in range(lead, v.ndim):
        dims[p.ndim + d - lead] = v.dims[d]
    out = empty_c(x, p.ndim + v.ndim - lead, dims)
    view_of(out, &r)
    take_rows(v.data, at, r.data, n, inner * item_size(slot), count)
    return out


cdef object gathered(object x, object key):
    """x[key] of a row-major array for arrays of int64 of one shape, and ints, in its first axes. None: declined."""
    cdef ArrayView v
    cdef object places
    if type(key) is not tuple:
        places = raw_of(key)
        return rows_at(x, places, places, 1)
    if view_of(x, &v) >= 0 and not v.c_order and len(<tuple>key) == v.ndim:
        x = small_row_major(x)
    if view_of(x, &v) < 0 or not v.c_order:
        return None
    places = flat_places(<tuple>key, v.dims, v.ndim)
    return None if places is None else rows_at(x, places, raw_of(first_places(key)), <int>len(<tuple>key))


cdef object buffer_for(Node node, GradMeta meta, object grad):
    """The gradient that waits at the node's edge, if it is a plain array of the right shape and dtype, else None."""
    cdef ArrayView g, w
    cdef int d
    cdef object waiting = waiting_gradient(node)
    if waiting is None or view_of(waiting, &w) < 0 or view_of(grad, &g) != w.slot or not w.writeable:
        return None
    if w.ndim != meta.ndim:
        return None
    for d in range(w.ndim):
        if w.dims[d] != meta.dims[d]:
            return None
    return waiting


cdef int region_rule(Node node, Frame f) except -1:
    """The rule of x[key] for slices, elements, masks, and rows over the first axes. 0: declined."""
    cdef ArrayView g, r
    cdef object slot, out, region, key = (<list>node.args)[1]
    cdef PartialGradient partial
    cdef GradMeta meta
    cdef int found
    slot = saved_value(node, 0)
    if type(slot) is not GradMeta or (<GradMeta>slot).ndim > 8 or view_of(f.grad, &g) < 0:
        return 0
    meta = <GradMeta>slot
    if g.ndim == 0 and g.slot <= SLOT_F64 and not is_captured():
        found = element_rule(node, f, meta, key, &g)
        if found:
            return 1
    if type(key) is tuple and not is_basic(key):
        return rows_added(node, f, meta, flat_places(<tuple>key, meta.dims, meta.ndim), <int>len(<tuple>key))
    if not is_basic(key):
        out = spread_by_mask(f.grad, raw_of(key), meta)
        return rows_added(node, f, meta, key, 1) if out is None else 1 + set_out(f, 0, out, True)
    partial = partial_gradient(node)
    if partial is not None and partial.low >= 0 and write_region(partial, key, f.grad):
        return 1
    out = buffer_for(node, meta, f.grad)
    if out is None:
        if leave_region(node, meta, key, f.grad) or begin_partial(node, meta, key, f.grad):
            return 1
        out = zeros_c(f.grad, meta.ndim, meta.dims)
        put_at(out, key, f.grad)
        return 1 + set_out(f, 0, out, True)
    region = region_at(out, key) if is_captured() else out[key]
    if view_of(region, &r) < 0:             # one element: a NumPy scalar, no view
        out[key] = region + f.grad
    elif not same_shape(&r, &g):
        return 0
    elif binary_loop(ADD, region, f.grad, region) is None and not noted_in_place(ADD, region, f.grad):
        _add(region, f.grad, region)
    return 1


cdef int put_at(object array, object key, object value) except -1:
    """array[key] = value, an array of the dtype."""
    if is_captured():
        return copy_into(region_at(array, key), value)
    array[key] = value
    return 0


cdef object region_at(object array, object key):
    """array[key] for a basic key, as a view also of one element, which a capture notes as any region."""
    if key is Ellipsis or type(key) is tuple and any([part is Ellipsis for part in key]):
        return array[key]
    return array[(key if type(key) is tuple else (key,)) + (Ellipsis,)]


cdef int element_rule(Node node, Frame f, GradMeta meta, object key, const ArrayView* g) except -1:
    """region_rule for one real number: its gradient is added where it waits, or stands in zeros. 0: declined."""
    cdef ArrayView r
    cdef char* place
    cdef object out = None if is_captured() else buffer_for(node, meta, f.grad)
    cdef bint waiting = out is not None
    if not waiting:
        out = zeros_c(f.grad, meta.ndim, meta.dims)
    view_of(out, &r)
    place = element_at(&r, key)
    if place == NULL:
        return 0
    if not waiting:
        memcpy(place, g.data, item_size(g.slot))
        return 1 + set_out(f, 0, out, True)
    return finite_sum[double](place, g.data) if g.slot == SLOT_F64 else finite_sum[float](place, g.data)


cdef int rule_setitem(Node node, Frame f) except -1:
    """The region of the gradient for what was written, and zeros there for the array: in place if that may be."""
    cdef ArrayView g, r
    cdef char* place
    cdef object key = (<list>node.args)[1], region, out
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    if view_of(f.grad, &g) < 0 or not is_basic(key):
        return 0
    place = element_at(&g, key) if g.slot <= SLOT_F64 and not is_captured() else NULL
    if place != NULL:                       # one real number
        if second:
            out = empty_c(f.grad, 0, NULL)
            view_of(out, &r)
            memcpy(r.data, place, item_size(g.slot))
            set_out(f, 1, out, True)
        if first:
            out = f.grad if f.owned and g.writeable else cloned(f.grad, f.grad)
            view_of(out, &r)
            memset(element_at(&r, key), 0, item_size(g.slot))
            set_out(f, 0, out, True)
        return 1
    if second:
        region = region_at(f.grad, key) if is_captured() else f.grad[key]
        set_out(f, 1, wrapped(region) if is_scalar(region) else cloned(region, region), True)
    if first:
        out = f.grad if f.owned and g.writeable else cloned(f.grad, f.grad)
        if is_captured():
            put_at(out, key, np.zeros((), out.dtype))
        else:
            out[key] = 0
        set_out(f, 0, out, True)
    return 1


cdef bint all_different(const int64_t* at, Py_ssize_t n) noexcept:
    """Whether n places rise or fall all the way, and so name no row twice."""
    cdef Py_ssize_t k
    cdef bint up = n > 1 and at[1] > at[0]
    for k in range(1, n):
        if at[k] == at[k - 1] or (at[k] > at[k - 1]) != up:
            return False
    # a negative place counts from the end, and may name what another does
    return n <= 1 or (at[0] >= 0) == (at[n - 1] >= 0)


# How an operation names the elements that it gathers: `x[key]`, `take`, `take_along_axis`.
cdef Gathering ITEM = BY_KEY, TAKEN = BY_PLACES, ALONG = ALONG_AXIS
cdef Planned GATHERS[3]


cdef object forward_gather(const void* row, object args):
    """The elements of an array that a key or places name. None: declined."""
    cdef ArrayView v
    cdef Gathering how = (<const Gathering*>row)[0]
    cdef object x = args[0], axis
    if how == BY_KEY:
        return None if view_of(x, &v) < 0 else item_of(x, args[1])
    if how == ALONG_AXIS:
        return None
    axis = args[2]
    if view_of(x, &v) >= 0 and not v.c_order:
        x = small_row_major(x)              # NumPy's result is row-major, too
    if view_of(x, &v) < 0 or not (PyLong_CheckExact(axis) and (axis == 0 or axis == -v.ndim)
                                  or axis is None and v.ndim == 1):
        return None
    return gathered(x, args[1])


cdef object item_of(object x, object key):
    """x[key] of a plain array."""
    cdef object out = None
    if PyTuple_CheckExact(key):
        if not is_basic(key):
            out = gathered(x, key)
    elif not PySlice_Check(key) and not PyLong_CheckExact(key):
        out = gathered(x, key)
        if out is None:
            out = at_mask(x, key)
    if out is None and is_captured() and is_basic(key):
        out = x[key]
        return cloned(region_at(x, key), out) if is_scalar(out) else out
    return wrapped(x[key]) if out is None else out


cdef object raw_of(object slot):
    """An array as the rule may use it, None: it was overwritten since."""
    if type(slot) is not Value:
        return slot
    return None if (<Value>slot).overwritten else (<Value>slot).raw


cdef object flat_places(tuple key, const Py_ssize_t* dims, int ndim):
    """The places that arrays of int64 of one shape, and ints, name in an array's first axes, as one. None: declined."""
    cdef ArrayView p, first
    cdef Py_ssize_t n = -1, m = 0, k, place
    cdef const int64_t* at
    cdef int64_t* to
    cdef object out = None, part, like = None
    cdef int d, beyond
    if len(key) > ndim:
        return None
    for part in key:
        part = raw_of(part)
        if PyLong_CheckExact(part):
            continue
        if positions_of(part, &m) == NULL:
            return None
        view_of(part, &p)
        if like is None:
            like, first, n = part, p, m
        elif not same_shape(&p, &first):
            return None
    if n <= 0:
        return None
    out = empty_c(like, 1, &n)
    to = <int64_t*><void*>positions_of(out, &m)
    memset(to, 0, n * sizeof(int64_t))
    for d in range(len(key)):
        part = raw_of(key[d])
        at = NULL
        place = beyond = 0
        if PyLong_CheckExact(part):
            place = PyLong_AsLongLongAndOverflow(part, &beyond)
            if beyond:
                return None
        else:
            at = positions_of(part, &m)
        for k in range(n):
            if at != NULL:
                place = at[k]
            if not -dims[d] <= place < dims[d]:
                return None
            to[k] = to[k] * dims[d] + (place if place >= 0 else place + dims[d])
    return out


cdef int rows_added(Node node, Frame f, GradMeta meta, object places, int lead) except -1:
    """out0 = zeros with the rows of g added at the rows, over `lead` axes, that integers name; 0: declined."""
    cdef ArrayView g, r
    cdef Py_ssize_t n = 0, inner = 1, count = 1
    cdef const int64_t* at
    cdef object out
    cdef bint waiting
    cdef int errors
    places = raw_of(places)
    write_out_gradient(f)
    at = positions_of(places, &n)
    if at == NULL or meta.ndim == 0 or real_view(f.grad, &g) < 0 or not g.c_order:
        return 0
    rows_of(meta.dims, meta.ndim, lead, &count, &inner)
    if g.size != n * inner or not all_within(at, n, count):
        return 0
    if leads_to_windows(node) and leave_region(node, meta, [places, lead], f.grad):
        return 1
    out = buffer_for(node, meta, f.grad) if all_different(at, n) else None
    waiting = out is not None
    if waiting:
        view_of(out, &r)
        waiting = r.c_order
    if not waiting:
        out = empty_c(f.grad, meta.ndim, meta.dims)
        view_of(out, &r)
    not_captured("sums at places")
    errors = put_rows(g.slot, r.data, at, g.data, n, inner, count, not waiting)
    if errors < 0:
        return 0
    report("add", errors)
    return 1 if waiting else 1 + set_out(f, 0, out, True)


cdef bint add_at(object x, object key, object value) except -1:
    """x[key] += value in x's memory, once for every time an element is named. False: declined."""
    return scattered(x, key, value, False)


cdef bint scattered(object x, object key, object value, bint fresh) except -1:
    """`add_at`; nobody has written into an array that is `fresh`, which counts as zeros."""
    cdef ArrayView v, p, w
    cdef Py_ssize_t n = 0, inner = 1, count = 1
    cdef const int64_t* at
    cdef object places = key
    cdef int d, errors, lead = 1, slot = real_view(x, &v)
    if slot < 0 or not v.c_order or not v.writeable or not 1 <= v.ndim <= 8 or real_view(value, &w) != slot \
            or not w.c_order:
        return False
    if type(key) is tuple:
        lead = <int>len(<tuple>key)
        places = flat_places(<tuple>key, v.dims, v.ndim)
    at = positions_of(places, &n)
    if at == NULL:
        return False
    rows_of(v.dims, v.ndim, lead, &count, &inner)
    view_of(first_places(key), &p)
    if w.ndim != p.ndim + v.ndim - lead or not all_within(at, n, count):
        return False                        # NumPy repeats what is smaller, and knows the errors
    for d in range(w.ndim):
        if w.dims[d] != (p.dims[d] if d < p.ndim else v.dims[d - p.ndim + lead]):
            return False
    not_captured("sums at places")
    errors = put_rows(slot, v.data, at, w.data, n, inner, count, fresh)
    if errors < 0:
        return False
    report("add", errors)
    return True


cdef object first_places(object key):
    """The first array of a key."""
    if type(key) is tuple:
        for part in <tuple>key:
            if not PyLong_CheckExact(part):
                return part
    return key


cdef bint ADDED = False, SPREAD = True                  # rows of `forward_scatter`
cdef Planned SCATTERS[2]


cdef object forward_scatter(const void* row, object args):
    """Rows added at places: to a copy of an array, or to zeros of a shape. None: declined."""
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef object out, shape = args[1]
    cdef int d
    if real_view(args[0], &v) < 0:
        return None
    if not (<const bint*>row)[0]:
        out = cloned(args[0], args[0])
        return out if add_at(out, args[1], args[2]) else None
    if type(shape) is not tuple or not 1 <= len(<tuple>shape) <= 8:
        return None
    for d in range(<int>len(<tuple>shape)):
        if not PyLong_CheckExact((<tuple>shape)[d]):
            return None
        dims[d] = PyLong_AsSsize_t((<tuple>shape)[d])
    out = empty_c(args[0], <int>len(<tuple>shape), dims)
    return out if scattered(out, args[2], args[0], True) else None


cdef int rule_scatter(Node node, Frame f) except -1:
    """The gradient as it is for what was added to, if anything was, and its rows at the places for what was put there.
    """
    cdef ArrayView g
    cdef int put = (<Op>node.op).n_inputs - 1
    cdef object out = None
    if real_view(f.grad, &g) < 0 or g.ndim > 8:
        return 0
    if wants_gradient(node, f, put):
        out = gathered(f.grad, (<list>node.args)[1 if put else 2])
        if out is None:
            return 0
        set_out(f, put, out, True)
    if put and wants_gradient(node, f, 0):
        set_out(f, 0, f.grad, f.owned)
    return 1


cdef int serve_row(dict ops, str name, tuple params, planner_ptr forward, const void* row, Planned* p,
                   list forwards) except -1:
    p.forward, p.row = forward, row
    serve_plan(ops, name, params, p, forwards)
    return 0


cdef int attach_places(dict ops, list forwards) except -1:
    """Give gathers and scatters their plans."""
    serve_row(ops, "_getitem", ("x", "key"), forward_gather, &ITEM, &GATHERS[0], forwards)
    serve_row(ops, "take", ("x", "indices", "axis"), forward_gather, &TAKEN, &GATHERS[1], forwards)
    serve_row(ops, "take_along_axis", ("x", "indices", "axis"), forward_gather, &ALONG, &GATHERS[2], forwards)
    serve_row(ops, "_add_at", ("x", "key", "value"), forward_scatter, &ADDED, &SCATTERS[0], forwards)
    serve_row(ops, "_getitem_adjoint", ("x", "shape", "key"), forward_scatter, &SPREAD, &SCATTERS[1], forwards)
    return 0


# Choices

cdef object chosen(object args):
    cdef ArrayView c, x, y, o
    cdef double numbers[4]
    cdef object out
    cdef int sx, sy, slot = view_of(args[1], &x)
    if not bools_of(args[0], &c) or not (c.c_order or c.f_order) or c.ndim > 8:
        return None
    if slot < 0:
        slot = view_of(args[2], &y)
        if slot < 0:
            return None
    sx = operand(args[1], &x, slot, &c, <char*>numbers)
    sy = operand(args[2], &y, slot, &c, <char*>(numbers + 2))
    if sx < 0 or sy < 0:
        return None
    out = empty_of(slot, c.ndim, c.dims, not c.c_order)
    view_of(out, &o)
    share_choose(team, item_size(slot), c.data, x.data, sx, y.data, sy, o.data, c.size)
    return out


cdef object forward_where(object args):
    """Where the mask and the arrays lie in one order; of small arrays beside a row-major mask copies that do.

    NumPy's result is row-major where orders differ.
    """
    cdef ArrayView c, v
    cdef list turned
    cdef int i
    cdef object out = chosen(args)
    if out is not None or not bools_of(args[0], &c) or not c.c_order or c.size > SMALL:
        return out
    turned = list(args)
    for i in range(1, 3):
        if view_of(args[i], &v) >= 0 and not v.c_order:
            turned[i] = small_row_major(args[i])
            if turned[i] is None:
                return None
    return chosen(turned)


cdef int operand(object value, ArrayView* v, int slot, const ArrayView* mask, char* number) except -2:
    """Step in elements with which an operand goes along with the mask: 1, 0 (one value), or -1: neither."""
    cdef int found = view_of(value, v)
    if found == slot:
        if (v.c_order and mask.c_order or v.f_order and mask.f_order) and same_shape(v, mask):
            return 1
        return 0 if v.size == 1 and v.ndim == 0 else -1
    if found >= 0 or not read_number(value, slot, number):
        return -1
    v.data = number
    return 0
