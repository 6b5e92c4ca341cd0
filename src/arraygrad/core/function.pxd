# May cimport: engine.*.
from arraygrad.engine.node cimport Node


cdef class SavedSlot:
    cdef object value           # Value or Packed
    cdef Node source            # None: this node (output >= 0), or nowhere
    cdef int nr
    cdef int output             # which output it is, -1: none
    cdef bint array0d           # of the Tensor: Note [Scalars]


cdef class CustomNode(Node):
    cdef object dirty           # of mark_dirty, mark_non_differentiable; only until forward is done,
    cdef object fixed           # but then `fixed` is the set of outputs that get no zeros either, or None
    cdef bint materialize
    cdef bint materialize_fixed
    cdef tuple watched          # (reader, seen) of what backward reads besides its arguments, or None: set_function
    cdef object later           # what calls a recorded backward: `calling`, adopted if apply was called so
    # Node's payload: op is the Function class, s0 a list of SavedSlot or None, s1 what save_for_backward was given
    # (until forward is done), then Contents of the raw arrays among ctx's attributes, s2 what needs_input_grad was in
    # forward, args which arguments of forward are tensors.
