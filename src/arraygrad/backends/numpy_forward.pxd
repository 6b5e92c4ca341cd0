# May cimport: backends.numpy_loops.
from arraygrad.backends.numpy_loops cimport LoopSet

cdef object deviations(object x, object axis, Py_ssize_t* count)
cdef object product(const LoopSet* loops, object a, object b, object out)
