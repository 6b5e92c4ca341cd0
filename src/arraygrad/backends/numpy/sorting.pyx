# Sorting of plain arrays: orders, sorted values, and where the gradient of a sorted array goes.
# May import: numpy (Python only), engine.node, backends.numpy.elementwise, backends.numpy.loops, backends.numpy.ranks.
#
# Lines of float32, float64 and int64 are ordered by digits, several times as fast as NumPy's stable sorts and, for
# orders, than its others: Note [Order by digits] in sorting.hpp. Results are NumPy's bit by bit. Where the order of
# equal elements could tell and NumPy's is not the stable one, NumPy's own call is made.
# A recorded sort of long lanes leaves its order to its rule, behind the parameters in the node's `args`: it is freed
# with what the node saved. Short lanes are those of ranks.pyx. Guarded by tests/ops/test_fast_sorting.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport int64_t

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view, saved_value, set_out
from arraygrad.backends.numpy.loops cimport (
    ArrayView, copy_into, empty_c, fast_enabled, item_size, positions_of, same_shape, view_of,
)
from arraygrad.backends.numpy.ranks cimport is_short, sorted_short, unsorted
from arraygrad.engine.node cimport Frame, Node

cdef extern from "sorting.hpp" namespace "arraygrad":
    enum:
        HAS_TIES
        HAS_SPECIAL
        SORT_I64
    int order_lines(int kind, const char* x, int64_t* order, char* values, char* room, Py_ssize_t outer, Py_ssize_t n,
                    Py_ssize_t inner, bint descending) noexcept
    Py_ssize_t sorting_room(Py_ssize_t n, Py_ssize_t inner) noexcept
    void put_along(Py_ssize_t item, const char* g, const int64_t* order, char* out, Py_ssize_t outer, Py_ssize_t n,
                   Py_ssize_t inner) noexcept

cdef enum:
    MOST = 1 << 30              # elements of a line, whose places have 32 bits
    FEW = 256                   # up to here NumPy sorts values as fast, which it does in place

cdef object _word = np.zeros((), np.float64)
cdef object _place = np.zeros((), np.int64)


# The lines of an array along an axis: `outer` times n elements, `inner` elements apart.
cdef struct Lines:
    int kind
    Py_ssize_t outer, n, inner


cdef bint lines_of(object x, object axis, ArrayView* v, Lines* lines) except -1:
    """Whether lines along `axis` can be ordered: of a row-major array with elements, by an int."""
    cdef Py_ssize_t at
    cdef Py_ssize_t size = 0
    cdef int d
    lines.kind = view_of(x, v)
    if lines.kind < 0:
        if positions_of(x, &size) == NULL:
            return False
        lines.kind = SORT_I64
    elif real_view(x, v) < 0:
        return False
    if not v.c_order or v.ndim == 0 or v.size == 0 or v.ndim > 8 or not PyLong_CheckExact(axis):
        return False
    at = PyLong_AsSsize_t(axis)
    if not -v.ndim <= at < v.ndim:
        return False
    if at < 0:
        at += v.ndim
    lines.outer = lines.inner = 1
    lines.n = v.dims[at]
    for d in range(v.ndim):
        if d < at:
            lines.outer *= v.dims[d]
        elif d > at:
            lines.inner *= v.dims[d]
    return lines.n <= MOST


cdef int ordered(const ArrayView* v, const Lines* lines, object order, object values, bint descending) except -1:
    """Write the stable order of all lines, and the values in that order, where they are asked for; bits of HAS_*."""
    cdef ArrayView o, room_view
    cdef Py_ssize_t room_size = sorting_room(lines.n, lines.inner)
    cdef object room = empty_c(_word, 1, &room_size)
    cdef int64_t* places = NULL
    cdef char* to = NULL
    view_of(room, &room_view)
    if order is not None:
        places = <int64_t*>positions_of(order, &room_size)
    if values is not None:
        view_of(values, &o)
        to = o.data
    return order_lines(lines.kind, v.data, places, to, room_view.data, lines.outer, lines.n, lines.inner, descending)


def argsort(x, axis=-1):
    """numpy.argsort(x, axis, kind="stable") of an array of NumPy's."""
    cdef ArrayView v
    cdef Lines lines
    cdef object order
    if not fast_enabled() or not lines_of(x, axis, &v, &lines):
        return np.argsort(x, axis, kind="stable")
    order = empty_c(_place, v.ndim, v.dims)
    ordered(&v, &lines, order, None, False)
    return order


cdef object forward_argsort(object args):
    """The order along an axis. None: declined, as is one that is not asked to be stable where elements tie."""
    cdef ArrayView v
    cdef Lines lines
    cdef object order, descending = args[2], stable = args[3]
    if not (descending is True or descending is False) or not (stable is True or stable is False) \
            or not lines_of(args[0], args[1], &v, &lines):
        return None
    order = empty_c(_place, v.ndim, v.dims)
    return order if not ordered(&v, &lines, order, None, descending) & HAS_TIES or stable else None


cdef object forward_sort(object args):
    """The sorted values; where a fifth argument asks for it, (values, their order). None: declined."""
    cdef ArrayView v
    cdef Lines lines
    cdef int found
    cdef bint asked = len(<tuple>args) > 4
    cdef object order = None, values, descending = args[2], stable = args[3]
    if not (descending is True or descending is False) or not (stable is True or stable is False):
        return None
    if descending is False and is_short(args[0], args[1]):
        values = None if asked else sorted_short(args)
        if asked or values is not None:
            return values
    if not lines_of(args[0], args[1], &v, &lines):
        return None
    if not asked and (stable is False or lines.n <= FEW):
        return None
    if asked:
        order = empty_c(_place, v.ndim, v.dims)
    values = empty_c(args[0], v.ndim, v.dims)
    found = ordered(&v, &lines, order, values, descending)
    if found & HAS_SPECIAL and (descending or stable is False):
        return None             # NumPy's order of zeros and nan is another
    return (values, order) if asked else values


cdef object row_major(object x, const ArrayView* v):
    cdef object out
    if v.c_order:
        return x
    out = empty_c(x, v.ndim, v.dims)
    copy_into(out, x)
    return out


cdef int rule_sort(Node node, Frame f) except -1:
    """The gradient goes to where the elements came from."""
    cdef ArrayView x, g, o
    cdef Lines lines
    cdef Py_ssize_t size = 0
    cdef list args = <list>node.args
    cdef object saved = saved_value(node, 0), out, order, grad
    cdef int slot = real_view(saved, &x)
    if slot < 0 or real_view(f.grad, &g) != slot or not same_shape(&x, &g) or args[2] is not True and \
            args[2] is not False:
        return 0
    if len(args) == 4 and args[2] is False:
        out = unsorted(saved, None, f.grad, args[1])
        if out is not None:
            return 1 + set_out(f, 0, out, True)
    saved = row_major(saved, &x)
    if not lines_of(saved, args[1], &x, &lines):
        return 0
    if len(args) > 4:
        order = args[4]
    else:
        order = empty_c(_place, x.ndim, x.dims)
        ordered(&x, &lines, order, None, args[2])
    grad = row_major(f.grad, &g)
    view_of(grad, &g)
    out = empty_c(grad, x.ndim, x.dims)
    view_of(out, &o)
    put_along(item_size(slot), g.data, positions_of(order, &size), o.data, lines.outer, lines.n, lines.inner)
    return 1 + set_out(f, 0, out, True)
