# May cimport: engine.node, core.op, backends.numpy.loops.
from arraygrad.backends.numpy.loops cimport ArrayView, LoopSet
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport rule_ptr

cdef bint wants(Node node, Frame f, int i) noexcept
cdef object kept(Node node, int k)
cdef object find(Node node, int kind, int pos)
cdef int real_view(object a, ArrayView* v) noexcept
cdef bint is_number(object x) noexcept
cdef object result_memory(Frame f, const ArrayView* g, int sg, object like)
cdef int set_out(Frame f, int i, object out, bint owned) except -1
cdef int by_product(Node node, Frame f, object factor, int kernel) except -1
cdef int by_chain(Node node, Frame f, const LoopSet* function, int product) except -1
cdef object over_nonzero(object a, object b)
cdef int attach(dict ops, str name, rule_ptr rule, tuple saves, list done) except -1
cdef int attach_complex(rule_ptr rule) except -1
cdef int attach_elementwise(dict ops, list done) except -1
