# What stands in for NumPy's ufuncs in adopted calls: `numpy.sin([t, u])` takes a list of Tensors as one of numbers.
# May import: adoption.answers, adoption.objects, core.adopted, numpy, the standard library.
import copy

import numpy

from cpython.exc cimport PyErr_ExceptionMatches, PyErr_Fetch, PyErr_Restore
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

from arraygrad.core.adopted cimport arraygrad_adopting

from arraygrad.adoption.answers import CLASSES, gathered
from arraygrad.adoption.objects import asked_again

# Note [Ufuncs and lists]
# ~~~~~~~~~~~~~~~~~~~~~~~
# A ufunc asks the protocol of each argument, but a list has none, and the Tensors in it are asked for numbers alone. So
# each ufunc of NumPy's has a stand-in, which makes arrays of lists and tuples that hold Tensors.
# (1) Only inputs are looked at: `out=(t,)` is a tuple of arrays, not an array.
# (2) Calls of ufuncs are the most frequent ones of all. So the stand-in hands its arguments on as it gets them, by the
#     vectorcall protocol, unless one is a list or tuple: Cython's own way to call an object would build a tuple and a
#     dict first.
# (3) For what asks, it is a ufunc: `isinstance(f, numpy.ufunc)`, its attributes, its methods `reduce`, `accumulate`,
#     `reduceat`, `outer` and `at`, which take lists in the same way.
# (4) An array outside of adoption beside a list (`X * [t, u]`) calls the ufunc without its name, and is refused.
# Guarded by tests/adoption/test_ufuncs_of_lists.py.

cdef extern from *:
    """
    static void arraygrad_serve_calls(PyTypeObject* cls, Py_ssize_t at) {
      cls->tp_vectorcall_offset = at;
      cls->tp_call = PyVectorcall_Call;
      cls->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
      PyType_Modified(cls);
    }
    static CYTHON_INLINE PyTypeObject* arraygrad_type_of(PyObject* x) { return Py_TYPE(x); }
    """
    void arraygrad_serve_calls(PyTypeObject* cls, Py_ssize_t at)
    PyTypeObject* arraygrad_type_of(PyObject* x) noexcept

cdef extern from "Python.h":
    PyTypeObject PyList_Type
    PyTypeObject PyTuple_Type
    PyObject* PyObject_Vectorcall(PyObject* function, PyObject** args, size_t nargsf, PyObject* names)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) noexcept

cdef frozenset methods = frozenset(("accumulate", "at", "outer", "reduce", "reduceat"))
cdef frozenset plain = frozenset((numpy.ndarray, float, int, complex, bool, numpy.float64))


cdef class Ufunc:
    """What stands in for a ufunc: Note [Ufuncs and lists]."""
    cdef void* called
    cdef object real
    cdef dict methods                       # name -> what stands in for the method
    cdef Py_ssize_t inputs

    def __init__(self, real):
        self.called = <void*>serve
        self.real = real
        self.inputs = real.nin
        self.methods = {}

    @property
    def __class__(self):
        """The class of the real one."""
        return numpy.ufunc

    @property
    def __doc__(self):                      # the class has one of its own
        return self.real.__doc__

    @property
    def __module__(self):
        return getattr(self.real, "__module__", "numpy")

    def __getattr__(self, name):
        if name in methods:
            if name not in self.methods:
                self.methods[name] = method_of(self.real, name)
            return self.methods[name]
        return getattr(self.real, name)

    def __eq__(self, other):
        return other is self or other is self.real

    def __hash__(self):
        return hash(self.real)

    def __repr__(self):
        return repr(self.real)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return copy.copy, (self.real,)


def method_of(ufunc, name):
    """What stands in for a method of a ufunc."""
    real = getattr(ufunc, name)

    def method(*args, **kwargs):
        return real(*args, **kwargs) if arraygrad_adopting == NULL else of_lists(real, args, kwargs, ufunc.nin + 1)
    method.__name__ = name
    method.__qualname__ = f"ufunc.{name}"
    method.__doc__ = real.__doc__
    return method


cdef PyObject* serve(PyObject* this, PyObject** args, size_t nargsf, PyObject* names) except NULL:
    """Ufunc.__call__, as the vectorcall protocol has it (2)."""
    cdef Ufunc self = <Ufunc>this
    cdef PyTypeObject* kind
    cdef PyObject *found, *kind_raised = NULL, *error = NULL, *trace = NULL
    cdef Py_ssize_t i, given = PyVectorcall_NARGS(nargsf)
    if arraygrad_adopting != NULL:
        for i in range(given):
            kind = arraygrad_type_of(args[i])
            if kind == &PyList_Type or kind == &PyTuple_Type:
                return called_slowly(self, args, given, names)
    found = PyObject_Vectorcall(<PyObject*>self.real, args, nargsf, names)
    if found != NULL or arraygrad_adopting == NULL:
        return found
    if not PyErr_ExceptionMatches(TypeError) and not PyErr_ExceptionMatches(ValueError):
        return NULL
    PyErr_Fetch(&kind_raised, &error, &trace)           # code that asks may not run over an error
    if holds_objects(args, given):
        Py_XDECREF(kind_raised)
        Py_XDECREF(error)
        Py_XDECREF(trace)
        return called_slowly(self, args, given, names)
    PyErr_Restore(kind_raised, error, trace)
    return NULL


cdef bint holds_objects(PyObject** args, Py_ssize_t given) except -1:
    """Whether one of the arguments may be an object that gives a Tensor as its array."""
    cdef Py_ssize_t i
    for i in range(given):
        if type(<object>args[i]) not in plain and hasattr(type(<object>args[i]), "__array__"):
            return True
    return False


cdef PyObject* called_slowly(Ufunc self, PyObject** args, Py_ssize_t given, PyObject* names) except NULL:
    cdef Py_ssize_t i
    cdef tuple keys = () if names == NULL else <tuple>names
    cdef dict kwargs = {keys[i]: <object>args[given + i] for i in range(len(keys))}
    made = of_lists(self.real, tuple([<object>args[i] for i in range(given)]), kwargs, self.inputs)
    Py_INCREF(made)
    return <PyObject*>made


cdef object of_lists(object function, tuple args, dict kwargs, Py_ssize_t inputs):
    """A ufunc, or a method of one, of lists that hold Tensors among its inputs, and of objects that hold them."""
    cdef list given = [gathered(x) for x in args[:inputs]]
    given += args[inputs:]
    try:
        return function(*given, **kwargs)
    except (TypeError, ValueError) as error:
        found, kwargs = asked_again(error, given, kwargs)
    return function(*found, **kwargs)


def install(stand_in):
    """Give each ufunc that numpy shows a stand-in, by `stand_in(real, other)`."""
    for real in {id(value): value for value in vars(numpy).values() if type(value) is numpy.ufunc}.values():
        stand_in(real, Ufunc(real))
    CLASSES[id(Ufunc)] = lambda ufunc: numpy.ufunc


cdef Ufunc one = Ufunc(numpy.sin)
arraygrad_serve_calls(<PyTypeObject*>Ufunc, <char*>&one.called - <char*><void*>one)
