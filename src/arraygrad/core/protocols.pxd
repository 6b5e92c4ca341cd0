# May cimport: nothing.

cdef object array_ufunc(object ufunc, object method, tuple inputs, dict kwargs)
cdef object array_function(object func, object types, object args, object kwargs)
