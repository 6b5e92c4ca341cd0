# What nodes keep of a call's static arguments: one list for all calls with equal ones.
# May import: engine.free_threading, core.op.
#
# Note [Interned arguments]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# A loop asks for the same places in every pass: `u[1:-1, 2:]`, `x.sum(axis=0)`. A node that kept the caller's key would
# keep a list, a tuple and two slices for it. The garbage collector visits each as it visits the node, and each is an
# allocation that makes the collector run. In stencil programs they were more than half of what it saw.
# (1) A list of None, booleans, ints, floats, text, `...`, slices of ints and tuples of these is kept once, and nodes
#     with equal ones have it. The table is direct-mapped: a list that gives way belongs to the nodes that have it.
# (2) Items are equal if their types are the same and their values too; texts have to be one object. 0.0 is not -0.0.
# (3) Nobody changes a list that is a node's `args`. `keep_behind` makes a new one.
# Not where Python has no GIL: threads would write to the lists' reference counts together.
# Guarded by tests/core/test_interned_arguments.py.
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.core.op cimport Op

cdef extern from "Python.h":
    ctypedef struct SliceObject "PySliceObject":
        PyObject* start
        PyObject* stop
        PyObject* step
    ctypedef struct PyTypeObject
    PyTypeObject* Py_TYPE(PyObject* x) noexcept
    Py_ssize_t Py_SIZE(PyObject* x) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject* items, Py_ssize_t i) noexcept
    PyObject* PyList_GET_ITEM(PyObject* items, Py_ssize_t i) noexcept
    double PyFloat_AS_DOUBLE(PyObject* x) noexcept
    long PyLong_AsLongAndOverflow(PyObject* number, int* overflow) noexcept    # of an int
    PyTypeObject* SLICE "(&PySlice_Type)"
    PyTypeObject* TUPLE "(&PyTuple_Type)"
    PyTypeObject* FLOAT "(&PyFloat_Type)"
    PyTypeObject* BOOL "(&PyBool_Type)"
    PyTypeObject* TEXT "(&PyUnicode_Type)"
    PyObject* NONE "Py_None"
    PyObject* DOTS "Py_Ellipsis"

cdef enum:
    PLACES = 1024                       # a power of two; 300 KB where all are taken by keys of two slices
    LONGEST = 16                        # longer tuples are kept as they are

cdef list _known = [None] * PLACES
cdef bint _shared = not FREE_THREADED


def set_shared_arguments(bint enabled):
    """Let nodes with equal static arguments keep one list, or one each.

    Parameters
    ----------
    enabled : bool

    Returns
    -------
    bool
        What held before.
    """
    global _shared
    before = _shared
    _shared = enabled and not FREE_THREADED
    return before


cdef inline uint64_t mixed(uint64_t h, uint64_t x) noexcept:
    return (h ^ x) * <uint64_t>0x9E3779B97F4A7C15


cdef inline bint is_index_part(PyObject* item, uint64_t* h) noexcept:
    cdef int overflow = 0
    if item == NONE:
        h[0] = mixed(h[0], 1 << 40)
        return True
    if not PyLong_CheckExact(<object>item):
        return False
    h[0] = mixed(h[0], <uint64_t>PyLong_AsLongAndOverflow(item, &overflow))
    return not overflow


cdef bint is_plain_part(PyObject* item, uint64_t* h, bint nested) noexcept:
    """Whether an argument may be shared; mixes its content into `h`."""
    cdef SliceObject* region
    cdef Py_ssize_t i
    cdef uint64_t bits
    cdef double x
    if Py_TYPE(item) == SLICE:
        region = <SliceObject*>item
        h[0] += 7
        return is_index_part(region.start, h) and is_index_part(region.stop, h) and is_index_part(region.step, h)
    if is_index_part(item, h):
        return True
    if Py_TYPE(item) == TUPLE:
        if nested or Py_SIZE(item) > LONGEST:
            return False
        h[0] = mixed(h[0], <uint64_t>Py_SIZE(item) + 11)
        for i in range(Py_SIZE(item)):
            if not is_plain_part(PyTuple_GET_ITEM(item, i), h, True):
                return False
        return True
    if Py_TYPE(item) == FLOAT:
        x = PyFloat_AS_DOUBLE(item)
        memcpy(&bits, &x, sizeof(x))
        h[0] = mixed(h[0], bits)
        return True
    h[0] = mixed(h[0], <uint64_t><size_t>item)
    return Py_TYPE(item) == BOOL or Py_TYPE(item) == TEXT or item == DOTS


cdef bint same(PyObject* a, PyObject* b) noexcept:
    """Whether two arguments that may be shared are equal (2)."""
    cdef SliceObject* p
    cdef SliceObject* q
    cdef Py_ssize_t i
    cdef int overflow = 0
    cdef double x, y
    if a == b:
        return True
    if Py_TYPE(a) != Py_TYPE(b):
        return False
    if Py_TYPE(a) == SLICE:
        p, q = <SliceObject*>a, <SliceObject*>b
        return same(p.start, q.start) and same(p.stop, q.stop) and same(p.step, q.step)
    if Py_TYPE(a) == TUPLE:
        if Py_SIZE(a) != Py_SIZE(b):
            return False
        for i in range(Py_SIZE(a)):
            if not same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)):
                return False
        return True
    if Py_TYPE(a) == FLOAT:
        x, y = PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b)
        return memcmp(&x, &y, sizeof(x)) == 0
    if not PyLong_CheckExact(<object>a):
        return False
    return PyLong_AsLongAndOverflow(a, &overflow) == PyLong_AsLongAndOverflow(b, &overflow)


cdef list interned_args(Op op, tuple args):
    """The list that nodes keep of a call with these arguments: the static ones at their places, else None.

    None where some static argument may not be shared.
    """
    cdef uint64_t h = <uint64_t>len(args)
    cdef Py_ssize_t i
    cdef list found, static
    if not _shared:
        return None
    for i in op.static_positions:
        if not is_plain_part(PyTuple_GET_ITEM(<PyObject*>args, i), &h, False):
            return None
        h = mixed(h, <uint64_t>i)
    h ^= h >> 32
    h ^= h >> 16
    found = _known[h & (PLACES - 1)]
    if found is not None and len(found) == len(args) and holds(found, args, op.static_positions):
        return found
    static = [None] * len(args)
    for i in op.static_positions:
        static[i] = args[i]
    _known[h & (PLACES - 1)] = static
    return static


cdef bint holds(list found, tuple args, tuple positions) except -1:
    """Whether a list has the arguments of these positions, which rise, at their places and None at the others."""
    cdef Py_ssize_t i, k = 0, next = positions[0]
    for i in range(len(found)):
        if i != next:
            if found[i] is not None:
                return False
            continue
        if not same(PyList_GET_ITEM(<PyObject*>found, i), PyTuple_GET_ITEM(<PyObject*>args, i)):
            return False
        k += 1
        next = positions[k] if k < len(positions) else -1
    return True
