# Several results at once, of plain arrays: unstack, broadcast_arrays and meshgrid.
# May import: backends.numpy.loops.
#
# Results are what NumPy's functions give, with their flags, without the Python that these are written in.
# Guarded by tests/ops/test_several_views.py and, where they are no views, tests/ops/test_fast_functions.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.backends.numpy.loops cimport ArrayView, empty_c, item_size, strided, transposed, view_of

cdef extern from "joins.hpp" namespace "arraygrad" nogil:
    void cycle(char* out, Py_ssize_t bytes, const char* x, Py_ssize_t of) noexcept
    void copy_rows_apart(char* out, Py_ssize_t to_step, const char* x, Py_ssize_t step, Py_ssize_t row,
                         Py_ssize_t n) noexcept

cdef enum:
    LONG_COPY = 1 << 18         # bytes; a shorter one is done sooner than the GIL is given up and taken again


cdef object forward_unstack(object args):
    cdef ArrayView v
    cdef Py_ssize_t axes[8]
    cdef Py_ssize_t axis, i
    cdef object x = args[0]
    if view_of(x, &v) < 0 or not 2 <= v.ndim <= 8 or not PyLong_CheckExact(args[1]):
        return None
    axis = PyLong_AsSsize_t(args[1])
    if axis < 0:
        axis += v.ndim
    if not 0 <= axis < v.ndim:
        return None
    if axis:
        axes[0] = axis
        for i in range(1, v.ndim):
            axes[i] = i - 1 if i <= axis else i
        x = transposed(x, axes)
    return tuple([x[i] for i in range(v.dims[axis])])


cdef object forward_broadcast_arrays(object args):
    """numpy.broadcast_arrays of plain arrays: themselves where all have one shape, else views of them."""
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t strides[8]
    cdef tuple items = tuple(args[0])           # a list may change meanwhile
    cdef int nd = 0, i, lead
    cdef bint same = True
    cdef object x, out, flags
    cdef list views
    for x in items:
        if view_of(x, &v) < 0 or v.ndim > 8:
            return None
        nd = max(nd, v.ndim)
    for i in range(nd):
        dims[i] = 1
    for x in items:
        view_of(x, &v)
        lead = nd - v.ndim
        same = same and lead == 0
        for i in range(v.ndim):
            if v.dims[i] != 1 and dims[lead + i] not in (1, v.dims[i]):
                return None                     # NumPy says that they don't fit
            if v.dims[i] != 1:
                dims[lead + i] = v.dims[i]
    for x in items:
        view_of(x, &v)
        for i in range(nd):
            same = same and v.dims[i] == dims[i]
    if same:
        return items
    views = []
    for x in items:
        view_of(x, &v)
        lead = nd - v.ndim
        for i in range(nd):
            strides[i] = 0 if i < lead or v.dims[i - lead] != dims[i] or dims[i] == 1 else v.strides[i - lead]
        out = strided(x, nd, dims, strides)
        if v.writeable and x.flags._writeable_no_warn:      # as NumPy: it warns of a write
            flags = out.flags
            flags.writeable = True
            flags._warn_on_write = True
        views.append(out)
    return tuple(views)


cdef object forward_meshgrid(object args):
    """numpy.meshgrid of vectors: each repeated along the others' axes."""
    cdef ArrayView v, o
    cdef Py_ssize_t dims[8]
    cdef tuple items = tuple(args[0])           # a list may change meanwhile
    cdef int n = <int>len(items), i, own, first = 0
    cdef Py_ssize_t inner, d
    cdef list out = []
    cdef object indexing = args[1]
    if type(indexing) is not str or indexing != "xy" and indexing != "ij" or not 0 < n <= 8:
        return None
    if indexing == "xy" and n > 1:
        first = 1                               # the first two axes are exchanged
    for i in range(n):
        if view_of(items[i], &v) < 0 or v.ndim != 1 or v.size == 0:
            return None
        dims[first - i if i <= first else i] = v.size
    for i in range(n):
        view_of(items[i], &v)
        own = first - i if i <= first else i
        inner = item_size(v.slot)
        for d in range(own + 1, n):
            inner *= dims[d]
        out.append(empty_c(items[i], n, dims))
        view_of(out[i], &o)
        if o.size * item_size(v.slot) < LONG_COPY:
            spread(&v, o.data, o.size * item_size(v.slot), inner)
        else:
            with nogil:
                spread(&v, o.data, o.size * item_size(v.slot), inner)
    return tuple(out)


cdef void spread(const ArrayView* v, char* out, Py_ssize_t bytes, Py_ssize_t inner) noexcept nogil:
    """Each element of a vector repeated to `inner` bytes, and the whole again and again."""
    cdef Py_ssize_t item = item_size(v.slot), block = v.size * inner, k
    if inner == item:
        copy_rows_apart(out, item, v.data, v.strides[0], item, v.size)
    else:
        for k in range(v.size):
            cycle(out + k * inner, inner, v.data + k * v.strides[0], item)
    cycle(out + block, bytes - block, out, block)
