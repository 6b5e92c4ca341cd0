# May cimport: backends.numpy.loops.
from arraygrad.backends.numpy.loops cimport LoopSet

cdef object settled(object out, object function, tuple args)
cpdef object by_door(object function, tuple args)
cdef bint noted_loop(const LoopSet* loops, tuple args, object out) except -1
cdef object ufunc_of(const LoopSet* loops, object a, object b)
cdef bint noted_in_place(const LoopSet* loops, object a, object b) except -1
cdef bint noted_write(object raw, object key, object value) except -1
