# May cimport: backends.numpy.loops, core.op.
from arraygrad.backends.numpy.loops cimport LoopSet, forward_ptr
from arraygrad.core.op cimport Op

cdef int use_loops(Op op) except -1
cdef object means(object x, object axis, Py_ssize_t* count)
cdef object product(const LoopSet* loops, object a, object b, object out)
cdef int offer(dict ops, str name, forward_ptr forward, tuple params, list done) except -1
cdef bint added_whole(Py_ssize_t n) except -1
