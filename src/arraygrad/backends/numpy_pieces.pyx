# Compiled ways of joining many small arrays: the forward of stack, the rule of concat.
# May import: numpy (Python only), engine.arrayops, engine.node, backends.numpy_loops, backends.numpy_elementwise.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.backends.numpy_elementwise cimport kept
from arraygrad.backends.numpy_loops cimport ArrayView, reshaped, same_shape, view_of
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

import numpy as np

cdef object _concatenate = np.concatenate


cdef object forward_stack(object args):
    """Row-major arrays of one shape and dtype along a new first axis: joined along their own first, which is the same.

    numpy.stack makes a view of each array first, at three times the cost of joining them.
    """
    cdef ArrayView first, v
    cdef Py_ssize_t dims[8]
    cdef int d
    arrays = args[0]
    if not (type(arrays) is list or type(arrays) is tuple) or not arrays:
        return None
    if not PyLong_CheckExact(args[1]) or args[1] != 0:
        return None
    if view_of(arrays[0], &first) < 0 or not 1 <= first.ndim <= 7:
        return None
    for a in arrays:
        if view_of(a, &v) != first.slot or not v.c_order or not same_shape(&v, &first):
            return None
    dims[0] = len(arrays)
    for d in range(first.ndim):
        dims[d + 1] = first.dims[d]
    return reshaped(_concatenate(arrays), first.ndim + 1, dims)


cdef int rule_concat(Node node, Frame f) except -1:
    """Each array's part of the gradient, as a view."""
    cdef ArrayView g
    cdef Py_ssize_t start = 0, stop, axis
    cdef object slot = kept(node, 0), static = (<list>node.args)[1]
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
