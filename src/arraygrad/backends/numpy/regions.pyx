# A gradient of which regions are written one after the other: Note [One buffer for many places] in shapes.pyx.
# May import: numpy (Python only), engine.arrayops, engine.evaluate, engine.input_buffer, engine.node,
# backends.numpy.ndarrays, backends.numpy.loops.
# Guarded by tests/backends/test_fast_places.py.
from libc.string cimport memcpy, memset

import numpy as np

from arraygrad.backends.numpy.ndarrays cimport ArrayView, copy_into, empty_c, same_shape, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F64, LoopSet, binary_loop, is_captured, item_size, loop_set
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport leave_partial
from arraygrad.engine.input_buffer cimport PartialGradient
from arraygrad.engine.node cimport Node

cdef extern from "gather_scatter.hpp" namespace "arraygrad":
    void copy_past_caches(char* out, const char* x, size_t bytes) noexcept
    void put_gapped(Py_ssize_t item, char* out, const char* g, Py_ssize_t count, Py_ssize_t columns, Py_ssize_t row,
                    Py_ssize_t step, Py_ssize_t from_row, Py_ssize_t from_step) noexcept

cdef LoopSet* ADD = loop_set("add")
cdef object _add = np.add

cdef enum:
    # Bytes from which on a gradient is not filled with zeros before its first region is written: the object that tells
    # what was written costs as much as filling about that many.
    PARTIAL_SIZE = 1 << 14
    # ... and from which on it will have left the caches before it is read: twice what cores have for themselves.
    STREAMED_SIZE = 1 << 22
    # Columns up to which they are written one after the other, a few rows at a time.
    MOST_COLUMNS = 16


cdef object finish(PartialGradient p):
    cdef ArrayView v
    cdef Py_ssize_t size
    view_of(p.array, &v)
    size = v.size * item_size(v.slot)
    memset(v.data, 0, p.low)
    memset(v.data + p.high, 0, size - p.high)
    p.low, p.high = 0, size
    return p.array


cdef int put(const ArrayView* whole, object region, const ArrayView* r, object grad, const ArrayView* g) except -1:
    if g.c_order and whole.size * item_size(r.slot) >= STREAMED_SIZE:
        copy_past_caches(r.data, g.data, r.size * item_size(r.slot))
    elif g.c_order:
        memcpy(r.data, g.data, r.size * item_size(r.slot))
    else:
        copy_into(region, grad)
    return 0


cdef bint put_columns(const ArrayView* r, const ArrayView* g) noexcept:
    """Write some columns of a row-major matrix, or one, with zeros between them. False: declined."""
    cdef Py_ssize_t columns = r.dims[1] if r.ndim == 2 else 1, step = r.strides[1] if r.ndim == 2 else 0
    if r.c_order or not 1 <= r.ndim <= 2 or r.slot > SLOT_F64 or step < 0 or columns > MOST_COLUMNS \
            or r.strides[0] < (columns - 1) * step + item_size(r.slot):
        return False
    put_gapped(item_size(r.slot), r.data, g.data, r.dims[0], columns, r.strides[0], step, g.strides[0],
               g.strides[1] if g.ndim == 2 else 0)
    return True


cdef bint write_region(PartialGradient p, object key, object grad) except -1:
    """Add `grad` to a region of a gradient that is written in part. False: declined."""
    cdef ArrayView g, r, whole
    cdef Py_ssize_t low = 0, high, step
    cdef object region
    cdef int d
    region = p.array[key]
    view_of(p.array, &whole)
    if view_of(region, &r) < 0 or view_of(grad, &g) != r.slot or not same_shape(&r, &g):
        return False
    if r.size == 0:
        return True
    low = r.data - whole.data
    high = low + item_size(r.slot)
    for d in range(r.ndim):
        step = r.strides[d] * (r.dims[d] - 1)
        if step < 0:
            low += step
        else:
            high += step
    if p.low == p.high:                     # nothing is written yet
        if put_columns(&r, &g):
            p.low, p.high = low, high
            return True
        p.low = p.high = low
    if r.c_order and low >= p.high:
        memset(whole.data + p.high, 0, low - p.high)
        put(&whole, region, &r, grad, &g)
        p.high = high
        return True
    if r.c_order and high <= p.low:
        put(&whole, region, &r, grad, &g)
        memset(whole.data + high, 0, p.low - high)
        p.low = low
        return True
    if low < p.low:
        memset(whole.data + low, 0, p.low - low)
        p.low = low
    if high > p.high:
        memset(whole.data + p.high, 0, high - p.high)
        p.high = high
    if binary_loop(ADD, region, grad, region) is None:
        _add(region, grad, region)
    return True


cdef bint begin_partial(Node node, GradMeta meta, object key, object grad) except -1:
    """Begin the gradient of a large array with its first region. False: it can't be written in part."""
    cdef PartialGradient p
    cdef ArrayView g
    cdef Py_ssize_t size = item_size(view_of(grad, &g))
    cdef int d
    for d in range(meta.ndim):
        size *= meta.dims[d]
    if size < PARTIAL_SIZE or is_captured():
        return False
    p = PartialGradient.__new__(PartialGradient)
    p.array = empty_c(grad, meta.ndim, meta.dims)
    p.finish = finish
    return write_region(p, key, grad) and leave_partial(node, p)
