# Gradients of linear interpolation between knots, in one pass over plain arrays.
# May import: numpy (Python only), backends.numpy.elementwise, backends.numpy.ndarrays, backends.numpy.loops.
#
# They are those of numpy_api.primitive_rules. None: declined. set_fast_paths(False) leaves them alone.
# Guarded by tests/backends/test_fast_functions.py.
import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_c, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F64, fast_enabled, report

cdef extern from "calculus.hpp" namespace "arraygrad":
    int between_knots(const double* x, Py_ssize_t m, const double* knots, const double* values, Py_ssize_t n,
                      const double* g, double* to_x, double* to_knots, double* to_values) noexcept

cdef object _double = np.float64
cdef object _doubles = np.zeros(0)


def interp_gradients(g, x, knots, values, bint to_x=False, bint to_knots=False, bint to_values=False):
    """The gradient of one of the arrays of numpy.interp, as float64; that of `values` does not need them.

    None: declined.
    """
    cdef ArrayView r, p, k, w, o
    cdef double* targets[3]
    if not fast_enabled():
        return None
    if type(x) is float or type(x) is int:
        return None
    x, knots = as_doubles(x), as_doubles(knots)
    values = knots if values is None else as_doubles(values)
    if x is None or knots is None or values is None or real_view(g, &r) != SLOT_F64:
        return None
    g = as_doubles(g)                       # that of a sum repeats one number
    view_of(g, &r)
    view_of(x, &p)
    view_of(knots, &k)
    view_of(values, &w)
    if p.size != r.size or k.size < 2 or k.ndim != 1 or w.size != k.size:
        return None
    out = empty_c(_doubles, p.ndim if to_x else 1, p.dims if to_x else k.dims)
    view_of(out, &o)
    targets[0] = targets[1] = targets[2] = NULL
    targets[0 if to_x else 1 if to_knots else 2] = <double*>o.data
    report("divide", between_knots(<double*>p.data, p.size, <double*>k.data, <double*>w.data, k.size,
                                   <double*>r.data, targets[0], targets[1], targets[2]))
    return out


cdef object as_doubles(object x):
    """A plain array as row-major float64; None: it is none."""
    cdef ArrayView v
    if real_view(x, &v) < 0:
        return None
    return x if v.slot == SLOT_F64 and v.c_order else x.astype(_double, "C")
