# May cimport: nothing.
from cpython.object cimport PyObject

cdef object array_ufunc(object ufunc, object method, tuple inputs, dict kwargs)
cdef object array_function(object func, object types, object args, object kwargs)
cdef object ufunc_of_operands(PyObject* ufunc, PyObject** operands, Py_ssize_t n)
cdef object function_of_arguments(object function, tuple args, dict kwargs)
