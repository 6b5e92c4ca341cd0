# What nodes of single numbers and of single elements keep in the place of Values and keys.
# May import: engine.arrayops, engine.free_threading, engine.node, core.op, core.value.
from libc.stdint cimport uint64_t

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport gate_closed
from arraygrad.engine.node cimport Node, put_saved, NODE_BARE, NODE_ELEMENT, NODE_NUMBER
from arraygrad.core.op cimport Op, SAVE_ANS
from arraygrad.core.value cimport new_tensor


# Note [Saved numbers]
# ~~~~~~~~~~~~~~~~~~~~
# A rule on numbers (NODE_NUMBER) needs no more of a computed operand, or of the result, than a double. So a node keeps
# a Python float, and a place in the place of a key, and not the Value and its array: half of the memory that a graph of
# numbers takes. Leaves are kept as Values. Whoever else looks at what a node keeps asks for all of it first, by
# `spell_out`. A float is the program's own constant where no edge leads to its operand.
# Guarded by tests/backends/test_number_gradients.py.
cdef int spell_out(Node node) except -1:
    """Let a node keep Values and a key, as others do. What the key was for each axis counts from the front."""
    cdef Op op = <Op>node.op
    cdef GradMeta meta
    cdef uint64_t rest
    cdef list kept
    cdef object slot
    cdef Py_ssize_t k
    if not node.flags & (NODE_ELEMENT | NODE_NUMBER) or node.flags & NODE_BARE or gate_closed(&node.gate):
        return 0
    if not node.flags & NODE_ELEMENT:
        for k in range(op.n_saves):
            slot = node.s0 if k == 0 else node.s1 if k == 1 else node.s2
            if type(slot) is float and (op.save_kind[k] == SAVE_ANS or is_edge(node, op.inputs.index(op.save_pos[k]))):
                meta = node.meta_at(0)
                slot = new_tensor(meta.ops.number(slot), meta).value
                put_saved(node, k, slot)
    elif node.args is None:
        meta = <GradMeta>node.s0 if node.flags & NODE_NUMBER else <GradMeta>node.meta     # of what is read, or written
        rest = node.print
        kept = [None] * meta.ndim
        for k in range(meta.ndim - 1, -1, -1):
            kept[k] = rest % <uint64_t>meta.dims[k]
            rest //= <uint64_t>meta.dims[k]
        node.args = [None] * len(op.params)
        node.args[op.static_positions[0]] = kept[0] if meta.ndim == 1 else tuple(kept)
    return 0


cdef inline bint is_edge(Node node, Py_ssize_t k):
    return k < node.n_edges and node.edge_node(k) is not None
