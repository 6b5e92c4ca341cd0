# May cimport: engine.*, core.op, core.value, core.nodes.
from libc.stdint cimport uint64_t
from arraygrad.engine.node cimport Node
from arraygrad.core.nodes cimport OpNode
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, Extra, TensorBase

cpdef object apply_op(Op op, tuple args, Backend backend=*)
cdef object unary(Op op, object x)
cdef object run_one(Op op, tuple args, TensorBase t)
cdef object observed_call(object name, tuple args, object call)
cdef object binary(Op op, object a, object b)
cdef int record(Op op, tuple args, object result, Backend backend) except -1
cdef int connect(OpNode node, TensorBase t) except -1
cdef int refresh(TensorBase t) except -1
cdef int keep_retaining(TensorBase t, Node node, int nr) except -1
cdef OpNode filled(Op op, tuple args, object result, uint64_t needs, Backend backend)
cdef OpNode view_node(TensorBase t, Extra e)
cdef bint basic_key(object key) except -1
cdef bint wants_grad(object arg) except -1
cdef tuple reversed_axes(int ndim)
