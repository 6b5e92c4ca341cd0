# Compiled backward rules of slices and gathers: what was taken from places is added to them again.
# May import: numpy (Python only), engine.*, core.op, core.value, backends.numpy.loops, backends.numpy.elementwise.
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t

from arraygrad.backends.numpy.elementwise cimport saved_value, real_view, set_out, wants_gradient
from arraygrad.backends.numpy.loops cimport (
    NOGIL_SIZE, SLOT_F64, ArrayView, LoopSet, binary_loop, empty_c, fp_begin, fp_end, item_size, loop_set, positions_of,
    report, same_shape, view_of, zeros_c,
)
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport waiting_gradient
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.value cimport Value

import numpy as np

cdef extern from *:
    """
    #include <cstdlib>
    #include <cstring>
    // Add n rows of `inner` elements at `places` of an array of `count` rows. Places were checked.
    template <typename T>
    static inline void add_rows_of(T* out, const int64_t* places, const T* g, Py_ssize_t n, Py_ssize_t inner,
                                   Py_ssize_t count) {
        for (Py_ssize_t k = 0; k < n; k++) {
            int64_t at = places[k] < 0 ? places[k] + count : places[k];
            T* row = out + at * inner;
            const T* from = g + k * inner;
            for (Py_ssize_t i = 0; i < inner; i++) row[i] += from[i];
        }
    }
    static inline void add_rows(int f64, char* out, const int64_t* places, const char* g, Py_ssize_t n,
                                Py_ssize_t inner, Py_ssize_t count) {
        if (f64) add_rows_of((double*)out, places, (const double*)g, n, inner, count);
        else add_rows_of((float*)out, places, (const float*)g, n, inner, count);
    }
    // The same where nothing is in `out` yet: each row of it is written once, by the first row of g that goes there
    // (plus zero, which has a sign) or with zeros. `seen`: a byte for each row of out, all zero.
    template <typename T>
    static inline void place_rows_of(T* out, const int64_t* places, const T* g, Py_ssize_t n, Py_ssize_t inner,
                                     Py_ssize_t count, char* seen) {
        for (Py_ssize_t k = 0; k < n; k++) {
            int64_t at = places[k] < 0 ? places[k] + count : places[k];
            T* row = out + at * inner;
            const T* from = g + k * inner;
            if (seen[at]) for (Py_ssize_t i = 0; i < inner; i++) row[i] += from[i];
            else for (Py_ssize_t i = 0; i < inner; i++) row[i] = from[i] + T(0);
            seen[at] = 1;
        }
        for (Py_ssize_t k = 0; k < count;) {
            if (seen[k]) { k++; continue; }
            const Py_ssize_t from = k;
            while (k < count && !seen[k]) k++;
            std::memset((void*)(out + from * inner), 0, (size_t)((k - from) * inner) * sizeof(T));
        }
    }
    static inline bool place_rows(int f64, char* out, const int64_t* places, const char* g, Py_ssize_t n,
                                  Py_ssize_t inner, Py_ssize_t count) {
        char* seen = (char*)std::calloc((size_t)count + 1, 1);
        if (!seen) return false;
        if (f64) place_rows_of((double*)out, places, (const double*)g, n, inner, count, seen);
        else place_rows_of((float*)out, places, (const float*)g, n, inner, count, seen);
        std::free(seen);
        return true;
    }
    // out = the rows of x at `places`, of `bytes` each.
    static inline void take_rows(const char* x, const int64_t* places, char* out, Py_ssize_t n, Py_ssize_t bytes,
                                 Py_ssize_t count) {
        for (Py_ssize_t k = 0; k < n; k++) {
            const char* row = x + (places[k] < 0 ? places[k] + count : places[k]) * bytes;
            if (bytes == 8) std::memcpy(out + k * 8, row, 8);           // one load and one store, no call
            else if (bytes == 4) std::memcpy(out + k * 4, row, 4);
            else std::memcpy(out + k * bytes, row, (size_t)bytes);
        }
    }
    static inline bool all_within(const int64_t* places, Py_ssize_t n, Py_ssize_t count) {
        bool good = true;
        for (Py_ssize_t k = 0; k < n; k++) good &= places[k] >= -count && places[k] < count;
        return good;
    }
    """
    void add_rows(bint f64, char* out, const int64_t* places, const char* g, Py_ssize_t n, Py_ssize_t inner,
                  Py_ssize_t count) noexcept nogil
    void take_rows(const char* x, const int64_t* places, char* out, Py_ssize_t n, Py_ssize_t bytes,
                   Py_ssize_t count) noexcept nogil
    bint place_rows(bint f64, char* out, const int64_t* places, const char* g, Py_ssize_t n, Py_ssize_t inner,
                    Py_ssize_t count) noexcept nogil
    bint all_within(const int64_t* places, Py_ssize_t n, Py_ssize_t count) noexcept nogil

cdef LoopSet* ADD = loop_set("add")
cdef object _add = np.add


# Note [One buffer for many places]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The gradient of x[key] is zero but for a region. Made as an array of its own for each of n slices of one array, it
# costs n times the whole. So the first rule makes such an array, which the engine then holds alone in the slot of the
# node it leads to, and every later one adds its region to what waits there (waiting_gradient) and returns None, an
# undefined gradient, which counts as delivered. For slices the sums are those of the plain way, element by element and
# in the same order; only a negative zero outside of the region stays one, where adding zero would make it positive.
# Rows of a gather that may meet do not join: added one by one to what waits, they would round otherwise than their sum.
# Guarded by tests/ops/test_fast_places.py.
cdef bint is_basic(object key) noexcept:
    """Whether a key names each element at most once: ints, slices, ... and None."""
    if type(key) is tuple:
        for item in <tuple>key:
            if not (PyLong_CheckExact(item) or type(item) is slice or item is Ellipsis or item is None):
                return False
        return True
    return PyLong_CheckExact(key) or type(key) is slice or key is Ellipsis or key is None


cdef object rows_at(object x, object places):
    """x[places] of a row-major array for a row-major array of int64, without NumPy's iterator. None: declined."""
    cdef ArrayView v, p, r
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t n = 0, bytes
    cdef const int64_t* at = positions_of(places, &n)
    cdef int slot = view_of(x, &v), d
    cdef object out
    if at == NULL or slot < 0 or not v.c_order or v.ndim == 0 or v.size == 0:
        return None
    view_of(places, &p)
    if p.ndim == 0 or p.ndim + v.ndim - 1 > 8 or not all_within(at, n, v.dims[0]):
        return None                         # places out of bounds are NumPy's error
    for d in range(p.ndim):
        dims[d] = p.dims[d]
    for d in range(1, v.ndim):
        dims[p.ndim + d - 1] = v.dims[d]
    out = empty_c(x, p.ndim + v.ndim - 1, dims)
    view_of(out, &r)
    bytes = v.size // v.dims[0] * item_size(slot)
    if r.size < NOGIL_SIZE:
        take_rows(v.data, at, r.data, n, bytes, v.dims[0])
    else:
        with nogil:
            take_rows(v.data, at, r.data, n, bytes, v.dims[0])
    return out


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


cdef int rule_getitem(Node node, Frame f) except -1:
    cdef ArrayView g, r
    cdef object slot, out, region, key = (<list>node.args)[1]
    cdef GradMeta meta
    if not wants_gradient(node, f, 0):
        return 1
    slot = saved_value(node, 0)
    if type(slot) is not GradMeta or (<GradMeta>slot).ndim > 8 or view_of(f.grad, &g) < 0:
        return 0
    meta = <GradMeta>slot
    if not is_basic(key):
        return rows_added(node, f, meta, key)
    out = buffer_for(node, meta, f.grad)
    if out is None:
        out = zeros_c(f.grad, meta.ndim, meta.dims)
        out[key] = f.grad
        return 1 + set_out(f, 0, out, True)
    region = out[key]
    if view_of(region, &r) < 0:             # one element: a NumPy scalar, no view
        out[key] = region + f.grad
    elif not same_shape(&r, &g):
        return 0
    elif binary_loop(ADD, region, f.grad, region) is None:
        _add(region, f.grad, region)
    return 1


cdef int rule_take(Node node, Frame f) except -1:
    cdef object slot, axis = (<list>node.args)[2]
    cdef GradMeta meta
    if not wants_gradient(node, f, 0):
        return 1
    slot = saved_value(node, 0)
    if type(slot) is not GradMeta or (<GradMeta>slot).ndim > 8:
        return 0
    meta = <GradMeta>slot
    if axis is None:
        if meta.ndim != 1:
            return 0
    elif not PyLong_CheckExact(axis) or axis != 0 and axis != -meta.ndim:
        return 0
    return rows_added(node, f, meta, (<list>node.args)[1])


cdef bint all_different(const int64_t* at, Py_ssize_t n) noexcept:
    """Whether n places rise or fall all the way, and so name no row twice."""
    cdef Py_ssize_t k
    cdef bint up = n > 1 and at[1] > at[0]
    for k in range(1, n):
        if at[k] == at[k - 1] or (at[k] > at[k - 1]) != up:
            return False
    # a negative place counts from the end, and may name what another does
    return n <= 1 or (at[0] >= 0) == (at[n - 1] >= 0)


cdef bint rows_into(const ArrayView* g, const ArrayView* r, const int64_t* at, Py_ssize_t n, Py_ssize_t inner,
                    Py_ssize_t count, bint waiting, int* errors) noexcept nogil:
    """Add rows of g to what is in r (`waiting`), or to zeros. False: no memory, nothing done."""
    cdef bint placed = True
    fp_begin()
    if waiting:
        add_rows(g.slot == SLOT_F64, r.data, at, g.data, n, inner, count)
    else:
        placed = place_rows(g.slot == SLOT_F64, r.data, at, g.data, n, inner, count)
    errors[0] = fp_end()
    return placed


cdef int rows_added(Node node, Frame f, GradMeta meta, object places) except -1:
    """out0 = zeros with the rows of g added at the rows that an array of integers names; 0: declined."""
    cdef ArrayView g, r
    cdef Py_ssize_t n = 0, inner = 1
    cdef const int64_t* at
    cdef object out
    cdef bint waiting, placed
    cdef int d, errors = 0
    if type(places) is Value:
        if (<Value>places).overwritten:
            return 0
        places = (<Value>places).raw
    at = positions_of(places, &n)
    if at == NULL or meta.ndim == 0 or real_view(f.grad, &g) < 0 or not g.c_order:
        return 0
    for d in range(1, meta.ndim):
        inner *= meta.dims[d]
    if g.size != n * inner or not all_within(at, n, meta.dims[0]):
        return 0
    out = buffer_for(node, meta, f.grad) if all_different(at, n) else None
    waiting = out is not None
    if waiting:
        view_of(out, &r)
        waiting = r.c_order
    if not waiting:
        out = empty_c(f.grad, meta.ndim, meta.dims)
        view_of(out, &r)
    if g.size < NOGIL_SIZE:
        placed = rows_into(&g, &r, at, n, inner, meta.dims[0], waiting, &errors)
    else:
        with nogil:
            placed = rows_into(&g, &r, at, n, inner, meta.dims[0], waiting, &errors)
    if not placed:
        return 0
    if errors:
        report("add", errors)
    return 1 if waiting else 1 + set_out(f, 0, out, True)
