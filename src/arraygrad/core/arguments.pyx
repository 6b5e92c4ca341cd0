# The arguments of a call: whose arrays they are, which are no arrays, and the raw arrays in the place of Tensors.
# May import: core.op, core.operands, core.value.
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from arraygrad.core.op cimport Op
from arraygrad.core.operands cimport has_tensor, mixed
from arraygrad.core.value cimport Backend, TensorBase, find_backend, is_tensor, raw_now, registered, value_now

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char* where) except *       # not zero is an error: 1 or -1
    void Py_LeaveRecursiveCall()


cdef Backend _several = Backend.__new__(Backend)
# What backend_in gives where numbers of NumPy's may stand beside another library's arrays.
several = _several


cdef Backend backend_in(object args, Op op):
    """The backend of the Tensors among the arguments (inside lists and tuples too), None if there are none.

    `several` where NumPy's and another's stand there: numbers may move (Note [Numbers that move]).
    """
    cdef Backend found = None
    cdef Backend other
    for arg in args:
        if is_tensor(arg):
            other = <Backend>value_now(<TensorBase>arg).meta.ops
        elif type(arg) is tuple or type(arg) is list:
            Py_EnterRecursiveCall(b" in lists that hold lists")
            try:
                other = backend_in(arg, op)
            finally:
                Py_LeaveRecursiveCall()
        else:
            continue
        if found is None:
            found = other
        elif other is not None and other is not found:
            if found is not _several and other is not _several and found.scalars == other.scalars:
                raise mixed(op, found, other)
            return _several
    return found


cdef Backend raw_backend_in(object args):
    """The backend of the first raw array among the arguments."""
    cdef Backend found
    for arg in args:
        if type(arg) is tuple or type(arg) is list:
            found = raw_backend_in(arg)
            if found is not None:
                return found
        elif registered(type(arg)) is not None:
            return registered(type(arg))
        elif hasattr(type(arg), "__array_namespace__") or hasattr(type(arg), "__array_interface__"):
            return find_backend(arg)
    return None


cdef object to_raw(object arg):
    """An argument with every Tensor in it replaced by its raw array."""
    if is_tensor(arg):
        return raw_now(<TensorBase>arg)
    if type(arg) is tuple:
        return tuple([to_raw(item) for item in arg]) if has_tensor(arg) else arg
    if type(arg) is list:
        return [to_raw(item) for item in arg] if has_tensor(arg) else arg
    if type(arg) is slice and (isinstance(arg.start, TensorBase) or isinstance(arg.stop, TensorBase)
                               or isinstance(arg.step, TensorBase)):
        return slice(*[s.__index__() if is_tensor(s) else s for s in (arg.start, arg.stop, arg.step)])
    return arg


cdef tuple raw_arguments(tuple args):
    """The arguments with every Tensor in them replaced by its raw array."""
    cdef Py_ssize_t i, n = len(args)
    cdef tuple raws = PyTuple_New(n)
    cdef object raw
    for i in range(n):
        raw = raw_argument(args[i])
        Py_INCREF(raw)
        PyTuple_SET_ITEM(raws, i, raw)
    return raws
