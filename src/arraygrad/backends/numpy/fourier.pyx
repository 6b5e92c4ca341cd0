# Rules of real Fourier transforms over several axes, and of the complex products that stand between them.
# May import: engine.arrayops, engine.node, engine.sharing, core.op, backends.numpy.elementwise,
# backends.numpy.loops, backends.numpy.spectra.
from arraygrad.backends.numpy.elementwise cimport saved_for, saved_value, set_out, set_outs, wants_gradient
from arraygrad.backends.numpy.loops cimport (
    SLOT_C64, SLOT_C128, SLOT_F32, SLOT_F64, ArrayView, empty_dense, report, common_step, view_of,
)
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport SAVE_INPUT

from arraygrad.backends.numpy import spectra
from arraygrad.backends.numpy.loops import swap_memory_handler


cdef extern from "complex_product.hpp" namespace "arraygrad":
    void run_weigh(int slot, char* x, Py_ssize_t rows, Py_ssize_t length, Py_ssize_t start, Py_ssize_t end,
                   double factor) noexcept
    int share_conjugate_product(Team* team, int slot, const char* g, const char* y, char* out, Py_ssize_t n) noexcept


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


cdef int by_spectra(Node node, Frame f, str function) except -1:
    """The rule of a transform whose gradient a function of `spectra` gives."""
    cdef object shape
    cdef list args = <list>node.args
    shape = shape_kept(node, f)
    if shape is None:
        return 0
    return 1 + set_out(f, 0, pooled(getattr(spectra, function),
                                    (f.grad, shape, args[1], args[2], args[3], weigh_rows)), True)


cdef object conjugate_product(object g, object y, bint overwrite):
    """g * conj(y) for complex arrays of one dtype, shape and layout without gaps; None: declined."""
    cdef ArrayView vg, vy, r
    cdef int slot = view_of(g, &vg)
    cdef object out
    if view_of(y, &vy) != slot or vg.ndim != vy.ndim or not (vg.c_order or vg.f_order) or common_step(&vy, &vg) != 1:
        return None
    out = g if overwrite and vg.writeable else empty_dense(g)
    view_of(out, &r)
    report("multiply", share_conjugate_product(team, slot, vg.data, vy.data, r.data, vg.size))
    return out


cdef int complex_products(Node node, Frame f) except -1:
    """The rule of multiply where the gradient is complex: one pass, where the table's conjugates twice."""
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    cdef object out0 = None, out1 = None
    cdef ArrayView g
    if view_of(f.grad, &g) < SLOT_C64:
        return 0
    if first:
        out0 = conjugate_product(f.grad, saved_for(node, SAVE_INPUT, 1), f.owned and not second)
        if out0 is None:
            return 0
    if second:
        out1 = conjugate_product(f.grad, saved_for(node, SAVE_INPUT, 0), f.owned and not first)
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)
