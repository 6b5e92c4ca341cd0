# distutils: language = c++
# Evaluations of a right side by a solver that tells no steps, noted as plain numbers: odeint of SciPy.
# May import: numpy (Python only), backends.numpy.ndarrays, backends.numpy.loops.
#
# A solver in C calls a Python function many times for little work, so a note in Python costs as much as the evaluation.
# Guarded by tests/implicit/test_noted_calls.py.
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_AsDouble, PyLong_CheckExact
from cpython.object cimport PyObject, PyObject_CallObject
from cpython.tuple cimport PyTuple_CheckExact
from libcpp.vector cimport vector

import numpy as np

from arraygrad.backends.numpy.ndarrays cimport ArrayView, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F64

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object o)
    Py_ssize_t PySequence_Fast_GET_SIZE(object o)

cdef object FLOAT64 = np.float64
cdef object FLOATS = (float, np.float64)
cdef object ARRAY = np.ndarray


cdef class NotedCalls:
    """A right side that notes where it is evaluated and what it gives.

    A point that is not behind the ones noted before takes the place of all that are not before it: a solver comes back
    to them where it rejects a step, or corrects one. So what is left are the last evaluations, in the order of time.

    Parameters
    ----------
    f : callable
        f(t, y, *rest), or f(y, t, *rest) where `state_first`: an array of so many floats as the state, or a list.
    size : int
        Of the state.
    state_first : bool
    backwards : bool
        Time decreases.

    Attributes
    ----------
    plain : bool
        All results were arrays, or lists and tuples of numbers, of the size of the state.
    count : int
        How often it was called.
    """

    cdef object f
    cdef Py_ssize_t n
    cdef bint state_first
    cdef double way
    cdef vector[double] times, states, slopes
    cdef public bint plain
    cdef readonly Py_ssize_t count

    def __init__(self, f, Py_ssize_t size, bint state_first, bint backwards):
        self.f, self.n, self.state_first, self.way = f, size, state_first, -1.0 if backwards else 1.0
        self.plain, self.count = True, 0

    def __call__(self, *given):
        found = PyObject_CallObject(self.f, given)
        self.count += 1
        if self.plain and not self.noted(given, found):
            self.plain = False
        return found

    cdef bint noted(self, tuple given, found) except -1:
        """Whether a call could be noted."""
        cdef ArrayView v
        cdef Py_ssize_t i, n = self.n, at
        cdef double t
        time = given[1] if self.state_first else given[0]
        state = given[0] if self.state_first else given[1]
        if type(time) not in FLOATS or view_of(state, &v) != SLOT_F64 or v.size != n or not v.c_order:
            return False
        t = PyFloat_AS_DOUBLE(time)
        while not self.times.empty() and not self.way * self.times.back() < self.way * t:
            self.times.pop_back()
        at = self.times.size()
        self.times.push_back(t)
        self.states.resize(at * n)
        self.slopes.resize(at * n)
        for i in range(n):
            self.states.push_back((<double*>v.data)[i])
        if PyList_CheckExact(found) or PyTuple_CheckExact(found):
            if PySequence_Fast_GET_SIZE(found) != n:
                return False
            for i in range(n):
                one = <object>PySequence_Fast_ITEMS(found)[i]
                if PyFloat_CheckExact(one) or type(one) is FLOAT64:
                    self.slopes.push_back(PyFloat_AS_DOUBLE(one))
                elif PyLong_CheckExact(one):
                    self.slopes.push_back(PyLong_AsDouble(one))
                else:
                    return False
            return True
        if type(found) is not ARRAY:
            return False
        if view_of(found, &v) != SLOT_F64 or not v.c_order:
            if found.dtype.kind not in "fiub":
                return False
            found = np.array(found, dtype=float)
            if view_of(found, &v) != SLOT_F64:
                return False
        if v.size != n:
            return False
        for i in range(n):
            self.slopes.push_back((<double*>v.data)[i])
        return True

    def points(self):
        """(times (m,), states (m, n), slopes (m, n)) of the evaluations that are left."""
        m = self.times.size()
        return (
            np.frombuffer(bytes_of(self.times), float), np.frombuffer(bytes_of(self.states), float).reshape(m, self.n),
            np.frombuffer(bytes_of(self.slopes), float).reshape(m, self.n),
        )


cdef object bytes_of(vector[double]& numbers):
    return PyBytes_FromStringAndSize(<const char*>numbers.data(), numbers.size() * sizeof(double))
