# May cimport: engine.*, core.op, core.value, core.nodes.
from libc.stdint cimport uint64_t
from arraygrad.engine.node cimport Node
from arraygrad.core.nodes cimport OpNode
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase

cdef bint hooks_for_saved() noexcept
cdef int save(OpNode node, Op op, object args, object result, uint64_t needs, Backend backend) except -1
cdef int save_plain(OpNode node, Op op, object a, object b, TensorBase out, uint64_t needs, Backend backend) except -1
cdef object frozen(object arg)
cdef int keep_args(OpNode node, Op op, object args) except -1
cdef int keep_aside(Node node, object aside) except -1
cdef int keep_behind(Node node, object left) except -1
