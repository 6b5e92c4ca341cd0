# May cimport: core.op, core.value.
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase

cdef object other_operand(Op op, object x, Backend backend)
cdef object strange_operand(Op op, object x, TensorBase t, bint on_left, bint* done)
cdef bint is_like_scalar(TensorBase t, Backend backend)
cdef bint rebinds(TensorBase t)
cdef tuple of_one_library(Op op, TensorBase a, TensorBase b)
cdef object mixed(Op op, Backend a, Backend b)
cdef object array_of_list(object items, Backend backend)
cdef object listed(object items)
cdef int check_operand(Op op, object arg, Backend backend) except -1
cdef bint is_numpy_scalar(object obj) except -1
cdef bint spread(object items, Py_ssize_t level, list lengths, list parts) except -1
cdef bint has_tensor(object items) except -1
cdef bint nested(bint (*question)(object) except -1, object item) except -1
