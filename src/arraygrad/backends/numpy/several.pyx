# Several views at once, of plain arrays: unstack and broadcast_arrays.
# May import: backends.numpy.loops.
#
# Results are what NumPy's functions give, with their flags, without the Python that these are written in.
# Guarded by tests/ops/test_several_views.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.backends.numpy.loops cimport ArrayView, strided, transposed, view_of


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
