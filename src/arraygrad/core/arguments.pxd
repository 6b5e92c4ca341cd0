# May cimport: core.op, core.value.
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject

from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase, is_tensor, raw_now

cdef extern from "Python.h":
    ctypedef struct SliceObject "PySliceObject":
        PyObject* start
        PyObject* stop
        PyObject* step


cdef Backend backend_in(object args, Op op)
cdef Backend raw_backend_in(object args)
cdef object to_raw(object arg)
cdef tuple raw_arguments(tuple args)


cdef inline bint is_index(object arg) noexcept:
    return PyLong_CheckExact(arg) or arg is None


cdef inline bint is_static(object arg) noexcept:
    """Whether an argument is one of the common ones that are no array: a number, None, text, a slice of ints, ..."""
    cdef SliceObject* region
    if type(arg) is slice:
        region = <SliceObject*>arg
        return is_index(<object>region.start) and is_index(<object>region.stop) and is_index(<object>region.step)
    return is_index(arg) or arg is True or arg is False or arg is Ellipsis or type(arg) is str or type(arg) is float


cdef inline bint all_static(tuple args) noexcept:
    """Whether all arguments but the first are no arrays and hold none. May say no where it is so."""
    cdef Py_ssize_t i
    for i in range(1, len(args)):
        arg = args[i]
        if type(arg) is tuple:
            for item in <tuple>arg:
                if not is_static(item):
                    return False
        elif not is_static(arg):
            return False
    return True


cdef inline object raw_argument(object arg):
    """`to_raw`, without a call for the commonest arguments."""
    if is_tensor(arg):
        return raw_now(<TensorBase>arg)
    return arg if is_static(arg) else to_raw(arg)
