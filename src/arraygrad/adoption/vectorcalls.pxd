# Classes whose instances are called by the vectorcall protocol: arguments are handed on as they come, without a tuple
# and a dict. Cython has no way to say so for a class.
# May import: the standard library.

from cpython.object cimport PyObject, PyTypeObject

cdef extern from *:
    """
    // Have `cls` called by the function whose pointer each instance holds at this offset.
    static CYTHON_INLINE void arraygrad_serve_calls(PyTypeObject* cls, Py_ssize_t at) {
      cls->tp_vectorcall_offset = at;
      cls->tp_call = PyVectorcall_Call;
      cls->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
      PyType_Modified(cls);
    }
    """
    void arraygrad_serve_calls(PyTypeObject* cls, Py_ssize_t at)

cdef extern from "Python.h":
    PyTypeObject* type_of "Py_TYPE" (PyObject* x) noexcept
    # The second one is for code that has to run after an error too: `finally` is passed by where the pointer is NULL.
    PyObject* PyObject_Vectorcall(PyObject* function, PyObject** args, size_t nargsf, PyObject* names)
    object vectorcall "PyObject_Vectorcall" (PyObject* function, PyObject** args, size_t nargsf, PyObject* names)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) noexcept


cdef inline tuple positional(PyObject** args, Py_ssize_t given):
    """The positional arguments of a call."""
    cdef Py_ssize_t i
    return tuple([<object>args[i] for i in range(given)])


cdef inline dict named(PyObject** args, Py_ssize_t given, PyObject* names):
    """The named arguments of a call with so many positional ones."""
    cdef Py_ssize_t i
    cdef tuple keys = () if names == NULL else <tuple>names
    return {keys[i]: <object>args[given + i] for i in range(len(keys))}
