# May cimport: engine.arrayops, engine.node, core.nodes, core.op, backends.cuda.constants, backends.cuda.gathers,
# backends.cuda.matrices, backends.cuda.prepared.
from libc.stdint cimport uint64_t

from arraygrad.backends.cuda.constants cimport Constants
from arraygrad.backends.cuda.gathers cimport Gathers
from arraygrad.backends.cuda.matrices cimport CudaMatrices
from arraygrad.backends.cuda.prepared cimport Elementwise, Summed
from arraygrad.core.nodes cimport OpNode
from arraygrad.core.op cimport Op
from arraygrad.engine.node cimport Node


cdef class CudaGradients(CudaMatrices):
    """CudaGradients"""
    cdef object kernels                 # ElementwiseKernels: traces, and the way without prepared kernels
    cdef object row_kernels             # RowKernels
    cdef readonly Gathers gathers
    cdef Constants constants
    cdef dict keeping                   # Elementwise -> the Summed that writes what it adds up
    cdef tuple known_sum                # (gradient, shape, the sum over what was broadcast from that shape), or None
    cdef dict mapping                   # (Elementwise, operation over rows) -> MappedRows: it computes both
    cdef dict row_ways                  # (shape, axis) -> how a kernel over rows goes through it, or None
    cdef tuple known_rows               # (gradient, Op of the node that it goes to, the gradient of that), or None
    cdef dict sum_layouts               # (shape, what it is summed to) -> how a kernel over rows goes through it, None
    cdef dict fills                     # dtype.char -> Elementwise

    cdef object stream_here(self)
    cdef list with_sums(self, tuple sums, object g, list saved, list targets)
    cdef list with_next(self, Elementwise kernel, list arguments, object g, uint64_t wanted, list targets)
    cdef list with_rows(self, OpNode child, Elementwise kernel, list arguments, object g, Py_ssize_t k, list targets)
    cdef object with_rows_at(self, object g, tuple shape, object key)
    cdef object known_gradient(self, Op op, object g)
    cdef object waiting(self, object dtype, tuple shape)
    cdef list with_bias(self, Node child, Elementwise kernel, list arguments, object g, list targets)
    cdef object sum_layout(self, tuple key)
    cdef object summed_by(self, Summed kernel, list arguments, tuple full, tuple shape, tuple found)
    cdef object in_parts(self, Summed kernel, list arguments, tuple full, tuple shape, tuple layout, dict rest,
                         object parts)
    cdef list of_constant(self, Op op, object g, uint64_t wanted, list saved, list targets)
    cdef list constant_list(self, list numbers, object dtype, tuple shape)
    cdef object constant(self, double number, object dtype, tuple shape)
    cdef object fill_kernel(self, object dtype)


cdef double product(double a, double b, bint single) noexcept
cdef double quotient(double a, double b, bint single) noexcept
