# NumPy's protocols on Tensors, compiled: what a plain call needs no Python frame for.
# May import: engine.*, op, value, nodes, apply. (Handlers of everything else register themselves here.)
#
# Note [NumPy calls on Tensors]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# (1) A ufunc that is one operation of the table, called with one or two operands and nothing else, takes the operators'
#     path: `np.add(a, t)` costs what `a + t` does.
# (2) Where nothing is recorded (no Tensor among the arguments requires grad, or grad mode is off), or the result has no
#     derivative anyway, and the arrays are NumPy's own, NumPy's function runs on the raw arrays and its results are
#     wrapped. Only functions whose results never share memory with their arguments are served so (`free`, `constant`):
#     views have a history to keep.
# (3) Functions of shape that are a method of Tensor with the same parameters are that method, and so are reductions of
#     floating-point Tensors that are told nothing but axis, ddof and keepdims, recorded or not: those methods are
#     faster than NumPy's function.
# (4) Everything else goes to the handlers, in Python.
# Guarded by tests/protocols/test_overhead_paths.py.
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport thread_state
from arraygrad.apply cimport binary, refresh, unary
from arraygrad.op cimport Op
from arraygrad.value cimport Backend, TensorBase, new_tensor, registered

cdef extern from "Python.h":
    object PyObject_Call(object function, object args, PyObject* kwargs)

cdef object _ufunc_handler = None
cdef object _function_handler = None
cdef dict _ufunc_ops = {}
cdef dict _free = {}
cdef dict _constant = {}
cdef dict _methods = {}
cdef dict _direct = {}
cdef dict _reductions = {}
cdef object _three = frozenset()
cdef object _ndarray = None
cdef object _generic = None


def set_protocol_handlers(array_ufunc, array_function, dict ufunc_ops, dict reductions, dict direct, dict methods,
                          dict free, dict constant, three, ndarray, generic):
    """Serve NumPy's protocols.

    Parameters
    ----------
    array_ufunc, array_function : callable
        array_ufunc(ufunc, method, inputs, kwargs), array_function(func, types, args, kwargs).
    ufunc_ops : dict
        ufunc -> Op, for ufuncs whose plain calls are an operation on one or two arrays.
    free, constant : dict
        NumPy function -> its implementation on arrays, for functions whose results share no memory with their
        arguments: `free` where nothing is recorded, `constant` always, as their results have no derivative.
    methods : dict
        As `free`, for functions that are a method of the array they are given first.
    reductions, direct : dict
        NumPy function -> method of Tensor with the same parameters (axis, ddof and keepdims, of `reductions`).
    three : frozenset
        NumPy functions of which the third parameter is an array that is read.
    ndarray, generic : type
        NumPy's classes of arrays and scalars.
    """
    global _ufunc_handler, _function_handler, _ufunc_ops, _reductions, _direct, _methods, _free, _constant
    global _three, _ndarray, _generic
    _ufunc_ops = ufunc_ops
    _ufunc_handler = array_ufunc
    _function_handler = array_function
    _reductions = reductions
    _direct = direct
    _methods = methods
    _free = free
    _constant = constant
    _three = three
    _ndarray = ndarray
    _generic = generic


cdef object array_ufunc(object ufunc, object method, tuple inputs, dict kwargs):
    cdef PyObject* found
    cdef Op op
    cdef object result
    if not kwargs and method == "__call__":
        found = PyDict_GetItem(_ufunc_ops, ufunc)
        if found is not NULL:                                               # (1)
            op = <Op>found
            result = unary(op, inputs[0]) if op.n_arrays == 1 else binary(op, inputs[0], inputs[1])
            if result is not NotImplemented:
                return result
    return _ufunc_handler(ufunc, method, inputs, kwargs)                    # (4)


cdef object array_function(object func, object types, object args, object kwargs):
    cdef PyObject* found
    cdef bint recording = False
    cdef void* like = NULL                  # borrowed: metadata of a Tensor among the arguments
    cdef object raws, given, raw
    if type(args) is not tuple or not (<tuple>args):
        return _function_handler(func, types, args, kwargs)
    found = PyDict_GetItem(_free, func)
    if found is not NULL:
        recording = thread_state().grad_mode
    else:
        found = PyDict_GetItem(_reductions, func)
        if found is not NULL and len(<tuple>args) <= 2 and is_floating((<tuple>args)[0]) and plain_keywords(kwargs):
            return PyObject_Call(<object>found, args, <PyObject*>kwargs if kwargs else NULL)    # (3)
        found = PyDict_GetItem(_methods, func)
        if found is NULL:
            found = PyDict_GetItem(_constant, func)
        elif isinstance((<tuple>args)[0], TensorBase):
            recording = thread_state().grad_mode
        else:
            found = NULL
    if found is not NULL and len(<tuple>args) > 2 and may_write(func, <tuple>args):
        found = NULL
    if found is not NULL:
        raws = raw_of(args, recording, &like)
        if raws is not _refused:
            if not kwargs:
                return wrapped(PyObject_Call(<object>found, raws, NULL), like)        # (2)
            given = {}
            for key, value in (<dict>kwargs).items():
                raw = raw_of(value, recording, &like)
                if raw is _refused or (key == "out" and value is not None):
                    break
                given[key] = raw
            else:
                return wrapped(PyObject_Call(<object>found, raws, <PyObject*>given), like)
    elif not kwargs:
        found = PyDict_GetItem(_direct, func)
        if found is not NULL and isinstance((<tuple>args)[0], TensorBase):
            return PyObject_Call(<object>found, args, NULL)                 # (3)
    return _function_handler(func, types, args, kwargs)                     # (4)


cdef bint may_write(object func, tuple args) except -1:
    """Whether a Tensor stands where functions have `out`: writing into it takes more than its memory."""
    cdef Py_ssize_t i
    for i in range(2, len(args)):
        if isinstance(args[i], TensorBase) and (i > 2 or func not in _three):
            return True
    return False


cdef bint is_floating(object arg) noexcept:
    return isinstance(arg, TensorBase) and (<TensorBase>arg).value.meta.is_floating


cdef bint plain_keywords(object kwargs) except -1:
    """Whether all keywords are those that reductions of Tensors have as well."""
    if kwargs:
        for key in <dict>kwargs:
            if key != "axis" and key != "keepdims" and key != "ddof":
                return False
    return True


cdef object _refused = object()


cdef object raw_of(object arg, bint recording, void** like):
    """An argument with every Tensor in it replaced by its raw array; _refused if one is recorded or not NumPy's."""
    cdef TensorBase t
    cdef list items
    cdef tuple pair
    cdef object raw
    cdef Py_ssize_t i
    if isinstance(arg, TensorBase):
        t = <TensorBase>arg
        if type(t.value.raw) is not _ndarray:
            return _refused
        if recording:
            if t.extra is not None:
                refresh(t)
            if t.tracked:
                return _refused
        like[0] = <void*>t.value.meta
        return t.value.raw
    if type(arg) is tuple:
        items = None
        pair = <tuple>arg
        for i in range(len(pair)):
            raw = raw_of(pair[i], recording, like)
            if raw is _refused:
                return _refused
            if raw is not pair[i]:
                if len(pair) == 1:
                    return (raw,)
                if items is None:
                    items = list(pair)
                items[i] = raw
        return arg if items is None else tuple(items)
    if type(arg) is list:
        items = (<list>arg).copy()
        for i in range(len(items)):
            raw = raw_of(items[i], recording, like)
            if raw is _refused:
                return _refused
            items[i] = raw
        return items
    return arg


cdef object wrapped(object result, void* like):
    """Arrays and NumPy's scalars as Tensors, also in tuples and lists; anything else as it is."""
    cdef Backend backend
    if type(result) is _ndarray:
        if like is NULL:
            backend = registered(_ndarray)
            return new_tensor(result, backend.meta(result))
        backend = <Backend>(<GradMeta>like).ops
        return new_tensor(result, backend.meta_like(result, <GradMeta>like, None))
    if isinstance(result, _generic):
        return wrapped(registered(_ndarray).wrap_raw(result), like)
    if type(result) is tuple:
        return tuple([wrapped(item, like) for item in result])
    if type(result) is list:
        return [wrapped(item, like) for item in result]
    return result
