# May cimport: backends.numpy.loops.
from arraygrad.backends.numpy.loops cimport loop_fn


cdef enum:
    MOST_OPERANDS = 4       # of a ufunc, results included
    MOST_LOOPS = 16         # of a ufunc


# The loops of one ufunc, by operand types.
cdef class UfuncLoops:
    cdef object ufunc
    cdef object reference           # what gives the same values, and is asked whether the loops do
    cdef int nin, nout, n_loops
    cdef const char* name
    cdef signed char types[MOST_LOOPS][MOST_OPERANDS]
    cdef signed char trusted[MOST_LOOPS]
    cdef loop_fn fn[MOST_LOOPS]
    cdef void* data[MOST_LOOPS]


cdef UfuncLoops loops_of(object ufunc, object reference=*)
cdef object run_loops(UfuncLoops u, object a, object b, object c)
