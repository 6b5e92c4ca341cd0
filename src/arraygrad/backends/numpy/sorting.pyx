# Sorting of plain arrays: orders, sorted values, and where the gradient of a sorted array goes.
# May import: numpy (Python only), engine.node, backends.numpy.elementwise, backends.numpy.lanes,
# backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.ranks.
#
# Lines of float32, float64 and int64 are ordered by digits, or as words by NumPy's own sort: Note [Order by digits] in
# sorting.hpp. Results are NumPy's bit by bit. Where the order of equal elements could tell and NumPy's is not the
# stable one, NumPy's own call is made.
# A recorded sort leaves its order to its rule, behind the parameters in the node's `args`: it is freed with what the
# node saved. Few elements are sorted again instead, by ranks.pyx. Guarded by tests/backends/test_fast_sorting.py.
from libc.stdint cimport int64_t

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view, saved_value, set_out
from arraygrad.backends.numpy.lanes cimport Around, as_it_lies, laid_along, row_major
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_c, empty_dense, positions_of, view_of
from arraygrad.backends.numpy.loops cimport fast_enabled, item_size
from arraygrad.backends.numpy.ranks cimport is_short, sorted_short, unsorted
from arraygrad.engine.node cimport Frame, Node

cdef extern from "sorting.hpp" namespace "arraygrad":
    enum:
        HAS_TIES
        HAS_SPECIAL
        SORT_I64
        COLUMNS_AT_ONCE
        LINE_OF_WORDS
        ROOM_HERE
    struct Pieces:
        Py_ssize_t pieces, length
    Pieces pieces_of(Py_ssize_t n) noexcept
    int pack_lines(int kind, const char* x, char* words, char* spare, Around a, Pieces p, bint descending) noexcept
    int unpack_lines(int kind, const char* x, char* words, int64_t* order, char* values, char* spare, Around a,
                     Pieces p, int found, bint descending) noexcept
    int order_lines(int kind, const char* x, int64_t* order, char* values, char* room, Around a,
                    bint descending) noexcept
    Py_ssize_t sorting_room(Py_ssize_t n, Py_ssize_t inner) noexcept
    void put_along(Py_ssize_t item, const char* g, const int64_t* to, const int64_t* source, char* out,
                   Around a) noexcept
    bint put_first(int slot, const char* x, const int64_t* order, const char* g, Py_ssize_t m, char* out,
                   Py_ssize_t n) noexcept

cdef enum:
    MOST = 1 << 30              # elements of a line, whose places have 32 bits
    MOST_IN_PLACE = 256         # up to here NumPy sorts values as fast, which it does in place
    AS_WORDS = 33               # elements of an array from which on NumPy's sort of words pays for its call

cdef object _word = np.zeros((), np.uint64)
cdef object _place = np.zeros((), np.int64)


cdef int lines_of(object x, object axis, ArrayView* v, Around* a) except -2:
    """What order_lines calls the kind of a dense array with elements, and its lines along `axis`, an int.

    -1: its lines can't be ordered. Those of a column-major array are the lines of its transpose.
    """
    cdef Py_ssize_t size = 0
    cdef int kind = view_of(x, v)
    if kind < 0:
        if positions_of(x, &size) == NULL:
            return -1
        kind = SORT_I64
    elif real_view(x, v) < 0:
        return -1
    return kind if as_it_lies(v, axis, a) and a.n <= MOST else -1


cdef object room_for(Py_ssize_t words):
    return empty_c(_word, 1, &words)


cdef int ordered(int kind, const ArrayView* v, Around a, object order, object values, bint descending) except -1:
    """Write the stable order of all lines, and the values in that order, where they are asked for; bits of HAS_*.

    Both lie in memory as the array does.
    """
    cdef ArrayView o, w, r
    cdef Py_ssize_t dims[2]
    cdef int64_t* places = NULL
    cdef char* to = NULL
    cdef object room, spare
    cdef Pieces p
    cdef int found
    if order is not None:
        places = <int64_t*>positions_of(order, dims)
    if values is not None:
        view_of(values, &o)
        to = o.data
    if not 1 < a.n <= LINE_OF_WORDS or v.size < AS_WORDS:
        room = room_for(sorting_room(a.n, a.inner))
        view_of(room, &w)
        return order_lines(kind, v.data, places, to, w.data, a, descending)
    p = pieces_of(a.n)
    dims[0] = a.outer * a.inner * p.pieces
    dims[1] = p.length
    room = empty_c(_word, 2, dims)
    view_of(room, &w)
    spare = room_for(COLUMNS_AT_ONCE * a.n if p.pieces > 1 or a.inner > 1 else 1)
    view_of(spare, &r)
    found = pack_lines(kind, v.data, w.data, r.data, a, p, descending)
    room.sort()
    return unpack_lines(kind, v.data, w.data, places, to, r.data, a, p, found, descending)


def argsort(x, axis=-1):
    """numpy.argsort(x, axis, kind="stable") of an array of NumPy's."""
    cdef ArrayView v
    cdef Around a
    cdef object order
    cdef int kind = lines_of(x, axis, &v, &a) if fast_enabled() else -1
    if kind < 0 or not v.c_order:
        return np.argsort(x, axis, kind="stable")
    order = empty_c(_place, v.ndim, v.dims)
    ordered(kind, &v, a, order, None, False)
    return order


cdef object forward_sort(object args):
    """The sorted values; where a fifth argument asks for it, (values, their order). None: declined."""
    cdef ArrayView v
    cdef Around a
    cdef int kind
    cdef bint asked = len(<tuple>args) > 4
    cdef object order = None, values, descending = args[2], stable = args[3]
    if not (descending is True or descending is False) or not (stable is True or stable is False):
        return None
    if descending is False and is_short(args[0], args[1]):
        values = None if asked else sorted_short(args)
        if asked or values is not None:
            return values
    kind = lines_of(args[0], args[1], &v, &a)
    if kind < 0 or not asked and (stable is False or a.n <= MOST_IN_PLACE):
        return None
    if asked:
        order = empty_c(_place, 1, &v.size)
    values = empty_dense(args[0])
    if ordered(kind, &v, a, order, values, descending) & HAS_SPECIAL and (descending or stable is False):
        if not asked:
            return None             # NumPy's order of zeros and nan is another
        np.copyto(values, args[0])
        values.sort(args[1], "stable" if stable else None)
        if descending:
            values[...] = np.flip(values, args[1])
    return (values, order) if asked else values


cdef object order_of(object x, object axis, bint descending):
    """The stable order of the lines of a dense array, as that lies in memory; None: declined."""
    cdef ArrayView v
    cdef Around a
    cdef object order
    cdef int kind = lines_of(x, axis, &v, &a)
    if kind < 0:
        return None
    order = empty_c(_place, 1, &v.size)
    ordered(kind, &v, a, order, None, descending)
    return order


cdef object put_back(object g, object x, object axis, object to, object source):
    """The gradient of a dense real array x: g[source] at the places `to` of each line along `axis`. None: declined."""
    cdef ArrayView v, r, o
    cdef Around a
    cdef Py_ssize_t size = 0
    cdef const int64_t* places
    cdef const int64_t* taken = NULL
    cdef object out
    cdef int slot = lines_of(x, axis, &v, &a)
    g = laid_along(g, x) if slot >= 0 and to is not None else None
    if g is None:
        return None
    view_of(g, &r)
    out = empty_dense(x)
    view_of(out, &o)
    if source is not None:
        taken = positions_of(source, &size)
    places = positions_of(to, &size)
    put_along(item_size(slot), r.data, places, taken, o.data, a)
    return out


cdef object dense(object x):
    """A real array that lines can be read of: itself, or a copy. None: it is no plain one."""
    cdef ArrayView v
    return None if real_view(x, &v) < 0 else x if v.c_order or v.f_order else row_major(x)


cdef int rule_sort(Node node, Frame f) except -1:
    """The gradient goes to where the elements came from."""
    cdef list args = <list>node.args
    cdef object x = dense(saved_value(node, 0)), out = None
    if x is None or args[2] is not True and args[2] is not False:
        return 0
    if len(args) == 4 and args[2] is False and is_short(x, args[1]):
        out = unsorted(x, None, f.grad, args[1])
    if out is None:
        out = put_back(f.grad, x, args[1], args[4] if len(args) > 4 else order_of(x, args[1], args[2]), None)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


def partition_gradient(g, a, ans, axis):
    """The gradient of what was partitioned: the k-th of equal elements is the k-th of them after it. None: declined."""
    cdef object out
    if not fast_enabled() or axis is None:
        return None
    out = unsorted(a, ans, g, axis)
    if out is not None:
        return out
    a = dense(a)
    ans = None if a is None else laid_along(ans, a)
    return None if ans is None else put_back(g, a, axis, order_of(a, axis, False), order_of(ans, axis, False))


# Distinct values

cdef object put_at_first(object g, object x):
    """Zeros with g, one for each distinct value of x, where that occurs first. None: declined."""
    cdef ArrayView v, r, o
    cdef Around a
    cdef Py_ssize_t n
    cdef const int64_t* places = NULL
    cdef object order, out
    x, g = row_major(x), row_major(g)
    if x is None or g is None or real_view(g, &r) != real_view(x, &v) or not 0 < v.size <= MOST:
        return None
    if v.size > ROOM_HERE:
        a.outer = a.inner = 1
        a.n = n = v.size
        order = empty_c(_place, 1, &n)
        ordered(v.slot, &v, a, order, None, False)
        places = positions_of(order, &n)
    out = empty_c(x, v.ndim, v.dims)
    view_of(out, &o)
    return out if put_first(v.slot, v.data, places, r.data, r.size, o.data, v.size) else None


def distinct_gradient(g, x):
    """Zeros with g, one for each distinct value of x, where that occurs first. None: declined."""
    return put_at_first(g, x) if fast_enabled() else None
