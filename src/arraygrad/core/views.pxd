# May cimport: core.op, core.value.
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase

cdef int use_shapes(Op getitem, Op permute_dims) except -1
cdef int serve_views(Backend backend, bint (*enabled)() noexcept) except -1
cpdef object shape_op(Op op, tuple args)
cdef object key_of(TensorBase t, object key)
cdef object indexed(TensorBase t, object key)
cdef object transposed(TensorBase t)
cdef bint is_lone(Op op) noexcept
cdef TensorBase beside(Op op, tuple args, Py_ssize_t place)
cdef int set_shape(TensorBase t, object shape) except -1
