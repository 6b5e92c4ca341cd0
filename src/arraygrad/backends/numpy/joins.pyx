# Compiled forwards of operations that put elements of several arrays into one: where, concat, stack.
# May import: engine.sharing, core.op, backends.numpy.loops.
#
# They copy bytes, so values are NumPy's. Served are exact row-major ndarrays of one floating dtype (view_of), whose
# result is row-major in NumPy as well; None: declined. Guarded by tests/ops/test_fast_joins.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.string cimport memcpy

from arraygrad.backends.numpy.loops cimport (
    NOGIL_SIZE, ArrayView, bools_of, empty_c, item_size, read_number, same_shape, view_of,
)
from arraygrad.engine.sharing cimport Team, team

cdef extern from "choice.hpp" namespace "arraygrad" nogil:
    void choose(Py_ssize_t item, const char* mask, const char* x, Py_ssize_t sx, const char* y, Py_ssize_t sy,
                char* out, Py_ssize_t n)
    void share_choose(Team* team, Py_ssize_t item, const char* mask, const char* x, Py_ssize_t sx, const char* y,
                      Py_ssize_t sy, char* out, Py_ssize_t n)


cdef object forward_where(object args):
    cdef ArrayView c, x, y, o
    cdef double numbers[4]
    cdef object out, like = args[1]
    cdef int sx, sy, slot = view_of(args[1], &x)
    cdef Py_ssize_t item, size
    if not bools_of(args[0], &c) or not c.c_order or c.ndim > 8:
        return None
    if slot < 0:
        like = args[2]
        slot = view_of(args[2], &y)
        if slot < 0:
            return None
    sx = operand(args[1], &x, slot, &c, <char*>numbers)
    sy = operand(args[2], &y, slot, &c, <char*>(numbers + 2))
    if sx < 0 or sy < 0:
        return None
    out = empty_c(like, c.ndim, c.dims)
    view_of(out, &o)
    item = item_size(slot)
    size = c.size
    if size < NOGIL_SIZE:
        choose(item, c.data, x.data, sx, y.data, sy, o.data, size)
    else:
        with nogil:
            share_choose(team, item, c.data, x.data, sx, y.data, sy, o.data, size)
    return out


cdef int operand(object value, ArrayView* v, int slot, const ArrayView* mask, char* number) except -2:
    """Step in elements with which an operand goes along with the mask: 1, 0 (one value), or -1: neither."""
    cdef int found = view_of(value, v)
    if found == slot:
        if v.c_order and same_shape(v, mask):
            return 1
        return 0 if v.size == 1 and v.ndim == 0 else -1
    if found >= 0 or not read_number(value, slot, number):
        return -1
    v.data = number
    return 0


cdef object forward_concat(object args):
    return joined(args[0], args[1], False)


cdef object forward_stack(object args):
    return joined(args[0], args[1], True)


cdef object joined(object pieces, object axis, bint stacked):
    """Row-major arrays one after another along `axis`, which is a new one where they are `stacked`."""
    cdef ArrayView first, v
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t at, outer = 1, rest = 1, total = 0, chunk, item, k, row, width
    cdef int i, slot, nd
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
    for k in range(len(items)):
        if view_of(items[k], &v) != slot or not v.c_order or v.ndim != first.ndim:
            return None
        for i in range(v.ndim):
            if v.dims[i] != first.dims[i] and (stacked or i != at):
                return None
        total += 1 if stacked else v.dims[at]
    for i in range(first.ndim):
        if i < at:
            dims[i] = first.dims[i]
            outer *= dims[i]
        elif stacked or i > at:
            dims[i + stacked] = first.dims[i]
            rest *= first.dims[i]
    dims[at] = total
    out = empty_c(items[0], nd, dims)
    view_of(out, &v)
    target = v.data
    item = rest * item_size(slot)
    width = total * item
    for k in range(len(items)):
        view_of(items[k], &v)
        chunk = item if stacked else v.dims[at] * item
        if outer == 1:
            memcpy(target, v.data, chunk)
        else:
            for row in range(outer):
                memcpy(target + row * width, v.data + row * chunk, chunk)
        target += chunk
    return out
