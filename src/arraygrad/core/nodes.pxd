# May cimport: engine.*, core.op, core.value.
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Node, NodeHooks, NodeKind, ThreadState, settle, track
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase, Value


cdef class OpNode(Node):
    pass


cdef inline bint is_unobserved(const ThreadState* ts) noexcept:
    """Whether nothing looks on at this thread's operations, so that quick paths may serve them.

    Not where hooks are around operations or around what nodes save, and not in inference mode.
    """
    return ts.op_hooks == NULL and ts.saved_hooks == NULL and not ts.inference


cdef str BACKWARD_TWICE
cdef NodeKind op_kind, bare_kind     # the nodes of operations; of those whose rules keep nothing (Op.bare)
cdef OpNode new_op_node(Op op, object meta, uint32_t flags)
cdef inline bint finish(OpNode node) noexcept:
    """Note that a node has all that it will keep. Returns whether the garbage collector sees it."""
    if (<Op>node.op).index >= 0:
        return settle(node)
    track(<PyObject*>node)              # the rules of others' functions may hold anything
    return True

cdef int attach(TensorBase out, OpNode node) except -1
cdef object handles()
cdef object raw_of(object saved, OpNode node)
cdef object saved_slot(OpNode node, Py_ssize_t k)
cdef object shown_slot(OpNode node, Op op, Py_ssize_t k)
cdef int check_constants(OpNode node, Op op) except -1
cdef int drop_saved(OpNode node) except -1
cdef object unpack(OpNode node, Op op, Py_ssize_t k, Backend backend, GradMeta meta, bint graph)
cdef object metadata(object slot, int what, bint is_meta, GradMeta result)
cdef TensorBase attached(Value v, Node source, int nr)
cdef int keep_values(object saved, object stream, list found) except -1
