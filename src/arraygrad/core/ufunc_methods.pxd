# May cimport: core.op.
from cpython.object cimport PyObject
from arraygrad.core.op cimport Op

cdef object ufunc_method(object ufunc, object method, Op op, PyObject** args, Py_ssize_t n, PyObject* names)
