# Rules of real Fourier transforms.
# May import: engine.arrayops, engine.node, backends.numpy.elementwise, backends.numpy.loops, backends.numpy.spectra.
from cpython.long cimport PyLong_CheckExact

from arraygrad.backends.numpy.elementwise cimport saved_value, set_out
from arraygrad.backends.numpy.loops cimport SLOT_C64, SLOT_C128, SLOT_F32, SLOT_F64, ArrayView, view_of
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

from arraygrad.backends.numpy import spectra
from arraygrad.backends.numpy.loops import swap_memory_handler


cdef extern from "weights.hpp" namespace "arraygrad":
    void run_weigh(int slot, char* x, Py_ssize_t rows, Py_ssize_t length, Py_ssize_t start, Py_ssize_t end,
                   double factor) noexcept


cdef object pooled(object function, tuple args):
    """function(*args), while every array that NumPy makes lives in the pool."""
    cdef object handler = swap_memory_handler()
    try:
        return function(*args)
    finally:
        swap_memory_handler(handler)


def weigh_rows(spectrum, Py_ssize_t start, Py_ssize_t end, double factor):
    """Multiply frequencies of the last axis, from `start` to `end`, in place. False: declined, no plain rows.

    The factor is a power of two, so that nothing is to be reported but what the transform itself would meet.
    """
    cdef ArrayView v
    cdef int slot = view_of(spectrum, &v)
    if slot < SLOT_C64 or not v.c_order or not v.writeable or v.ndim == 0 or v.size == 0 or end > v.dims[v.ndim - 1]:
        return False
    if start < end:
        run_weigh(slot, v.data, v.size // v.dims[v.ndim - 1], v.dims[v.ndim - 1], start, end, factor)
    return True


cdef object shape_kept(Node node, Frame f):
    """The shape of the transform's input, or None: not kept, or nothing that the rules of this file serve."""
    cdef ArrayView g
    cdef object slot = saved_value(node, 0)
    cdef int found = view_of(f.grad, &g)
    if type(slot) is not GradMeta or not (found == SLOT_F32 or found == SLOT_F64 or found == SLOT_C64
                                          or found == SLOT_C128):
        return None
    return (<GradMeta>slot).shape_tuple()


cdef int rule_rfftn(Node node, Frame f) except -1:
    return by_spectra(node, f, "rfftn_gradient")


cdef int rule_irfftn(Node node, Frame f) except -1:
    return by_spectra(node, f, "irfftn_gradient")


cdef int rule_rfft(Node node, Frame f) except -1:
    return along_one(node, f, "rfftn_gradient")


cdef int rule_irfft(Node node, Frame f) except -1:
    return along_one(node, f, "irfftn_gradient")


cdef int along_one(Node node, Frame f, str function) except -1:
    """The rule of a transform along one axis, as one of several."""
    cdef list args = <list>node.args
    cdef object shape = shape_kept(node, f)
    if shape is None or not PyLong_CheckExact(args[2]) or args[1] is not None and not PyLong_CheckExact(args[1]):
        return 0
    return 1 + set_out(f, 0, pooled(getattr(spectra, function),
                                    (f.grad, shape, None if args[1] is None else (args[1],), (args[2],), args[3],
                                     weigh_rows)), True)


cdef int by_spectra(Node node, Frame f, str function) except -1:
    """The rule of a transform whose gradient a function of `spectra` gives."""
    cdef object shape
    cdef list args = <list>node.args
    shape = shape_kept(node, f)
    if shape is None:
        return 0
    return 1 + set_out(f, 0, pooled(getattr(spectra, function),
                                    (f.grad, shape, args[1], args[2], args[3], weigh_rows)), True)
