# What names are bound to, and places of stand-ins. May cimport: nothing of arraygrad.
from cpython.object cimport PyObject, PyTypeObject


cdef struct Entry:
    PyObject* value         # what is bound there; NULL: any object of the kind
    PyTypeObject* kind
    PyObject* inner         # the Watch of it; NULL: what it holds does not matter
    PyObject* key           # in a dict, and the offset of the item there: it is found without a search
    Py_ssize_t at


cdef class Watch:
    cdef Entry* entries
    cdef Py_ssize_t size
    cdef object kind        # the type of what is watched
    cdef object root        # the very object, or a weak reference to it; None: any of the type
    cdef bint weak
    cdef bint namespace     # a dict in which the code of functions looks names up
    cdef list keys          # of a dict
    cdef list kept          # what the entries point to

    cdef bint same(self, object found) except -1
    cdef bint same_items(self, object items) except -1
    cdef bint same_held(self, object found) except -1
    cdef bint alike(self, Watch old) except -1
    cdef bint tells(self) except -1


cdef class Patch:
    cdef object __weakref__
    cdef object holder      # it, or a weak reference to it
    cdef bint weak
    cdef object key
    cdef object thing
    cdef object other
    cdef readonly bint loose
    cdef bint light         # the exchange there makes nothing, so that no code can run in it
    cdef public Py_ssize_t users

    cpdef put(self)
    cpdef take_back(self)
    cdef object held_by(self)
    cdef int swap(self, object old, object new) except -1


cdef bint plain_to(object argument, int depth) except -1
cdef object items_of(object found)
