# The compiled rule of concat: many small arrays.
# May import: engine.arrayops, engine.node, backends.numpy.loops, backends.numpy.elementwise.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.backends.numpy.elementwise cimport saved_value
from arraygrad.backends.numpy.loops cimport ArrayView, view_of
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node


cdef int rule_concat(Node node, Frame f) except -1:
    """Each array's part of the gradient, as a view."""
    cdef ArrayView g
    cdef Py_ssize_t start = 0, stop, axis
    cdef object slot = saved_value(node, 0), static = (<list>node.args)[1]
    cdef tuple before
    cdef list pieces = []
    if not (type(slot) is list or type(slot) is tuple) or not PyLong_CheckExact(static) or view_of(f.grad, &g) < 0:
        return 0
    axis = PyLong_AsSsize_t(static)
    if axis < 0:
        axis += g.ndim
    if not 0 <= axis < g.ndim:
        return 0
    before = (slice(None),) * axis
    for meta in slot:
        if type(meta) is not GradMeta or (<GradMeta>meta).ndim != g.ndim:
            return 0
        stop = start + (<GradMeta>meta).dims[axis]
        pieces.append(f.grad[slice(start, stop) if axis == 0 else before + (slice(start, stop),)])
        start = stop
    f.set_outs(pieces)
    return 1
