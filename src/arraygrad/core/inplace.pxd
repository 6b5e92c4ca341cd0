# May cimport: engine.*, core.op, core.value, core.nodes, core.apply.
from arraygrad.engine.node cimport Node
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase

cdef int adopt(TensorBase t, Node node, int nr) except -1
cdef int array_written(TensorBase t, object value) except -1
cdef int check_inplace(TensorBase t, bint recorded, object what) except -1
cdef object inplace(TensorBase t, Op op, object other)
cdef int setitem(TensorBase t, object key, object value) except -1
cdef int refuse_scalar(TensorBase t) except -1
