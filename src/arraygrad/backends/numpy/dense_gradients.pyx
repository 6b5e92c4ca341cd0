# The gradient of a rule as an array without gaps.
# May import: engine.node, backends.numpy.elementwise, backends.numpy.ndarrays.
#
# What arrives from a sum of a large result is one number, repeated by strides of zero. Elementwise rules read it so.
# Rules that move elements want them in memory; without this they would leave it to the table's, which take many times
# as long. Guarded by tests/backends/test_fast_repeats.py.
from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.ndarrays cimport ArrayView, copy_into, empty_c
from arraygrad.engine.node cimport Frame


cdef int write_out_gradient(Frame f) except -1:
    """Make a plain real gradient that lies neither row-major nor column-major a row-major copy, which is the rule's."""
    cdef ArrayView g
    cdef object dense
    if real_view(f.grad, &g) < 0 or g.c_order or g.f_order or g.ndim > 8:
        return 0
    dense = empty_c(f.grad, g.ndim, g.dims)
    copy_into(dense, f.grad)
    f.grad, f.owned = dense, True
    return 0
