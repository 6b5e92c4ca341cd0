# NumPy's protocols on Tensors, compiled: what a plain call needs no Python frame for.
# May import: engine.*, core.op, core.operands, core.value, core.nodes, core.apply, core.convert, core.decisions,
# core.protocol_shapes, core.numpy_primitives, core.ufunc_methods.
# (Handlers of everything else register themselves.)
#
# Note [NumPy calls on Tensors]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# (1) A ufunc that is one operation of the table, called with one or two operands and nothing else, takes the operators'
#     path: `np.add(a, t)` costs what `a + t` does. Methods of such ufuncs that are one operation too are bound in C
#     (ufunc_methods.pyx).
# (2) Where nothing is recorded (no Tensor among the arguments requires grad, or grad mode is off), or the result has no
#     derivative anyway, and the arrays are NumPy's own, NumPy's function runs on the raw arrays and its results are
#     wrapped. Only functions whose results never share memory with their arguments are served so (`free`, `constant`):
#     views have a history to keep. Functions that return a view for some arguments (`fresh`) are, where they did not.
#     So are ufuncs that the table has, in all their methods but `at`, which writes.
# (3) Functions of shape are table operations whose parameters are bound here (protocol_shapes.pyx), or a method of
#     Tensor with the same parameters, and so are reductions of floating-point Tensors that are told nothing but axis,
#     ddof and keepdims, recorded or not: those methods are faster than NumPy's function.
# (4) Calls that are recorded go to Note [NumPy primitives] where the function or ufunc is known there. All others go
#     to the handlers, in Python.
# (5) NumPy finds Tensor.__array_ufunc__ and Tensor.__array_function__ as C functions that take their arguments where
#     NumPy has put them: a method that Cython makes would copy them to a tuple and a dict first. NumPy itself takes
#     290 to 350 ns to find and call them; 250 are left of the 300 that a call may cost beyond the raw one where it
#     repeats all of NumPy's own work, and more where a direct loop does.
# (6) In an adopted call NumPy's functions have stand-ins, which spare those 290 to 350 ns: where the arguments are such
#     that NumPy would ask no other class than Tensor, they call what (1) and (4) say (Note [Functions and lists], 8).
# set_compiled_protocols(False) leaves (4) alone. Guarded by tests/numpy_api/test_overhead_paths.py.
cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport ThreadState, thread_state
from arraygrad.core.convert cimport are_two_keys
from arraygrad.core.decisions cimport ordered_by
from arraygrad.core.apply cimport binary, refresh, unary
from arraygrad.core.op cimport Op
from arraygrad.core.operands cimport array_of_list
from arraygrad.core.protocol_shapes cimport einsum, shape_function, shape_ptr, takes_lists
from arraygrad.core.numpy_primitives cimport NumpyPrimitive, primitive_call, refused
from arraygrad.core.ufunc_methods cimport ufunc_method
from arraygrad.core.value cimport Backend, TensorBase, is_tensor, new_tensor, registered

from arraygrad.engine.node import keep_for_ever

cdef extern from "Python.h":
    ctypedef object (*PyCFunction)(object, object)
    ctypedef struct PyMethodDef:
        const char* ml_name
        PyCFunction ml_meth
        int ml_flags
        const char* ml_doc
    enum:
        METH_FASTCALL
        METH_KEYWORDS
        PY_VECTORCALL_ARGUMENTS_OFFSET
    object PyDescr_NewMethod(PyTypeObject* cls, PyMethodDef* method)
    void PyType_Modified(PyTypeObject* cls)
    bint PyType_IsSubtype(PyTypeObject* a, PyTypeObject* b)
    object PyObject_Call(object function, object args, PyObject* kwargs)
    object PyObject_VectorcallDict(PyObject* function, PyObject** args, size_t n, PyObject* kwargs)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i)

    ctypedef struct TypeObject "PyTypeObject":
        PyObject* tp_dict
    PyTypeObject* Py_TYPE(object o)

cdef enum:
    MAX_ARGS = 8            # positional arguments of a call that is served without a tuple
    READS_ALL = 100

cdef enum Kind:
    NOT_RAW = 0             # never run on raw arrays
    FREE = 1
    FRESH = 2
    CONSTANT = 3

cdef object _ufunc_handler = None
cdef object _function_handler = None
cdef dict _ufunc_ops = {}
cdef dict _functions = {}
cdef dict _primitives = {}              # function or ufunc -> NumpyPrimitive; what is imported later joins then
cdef dict _ufuncs = None                # ufuncs that the table has; asked for when one is called that is no operation
cdef object _known_ufuncs = None
cdef object _all_primitives = None       # None: _primitives is filled
cdef object _handlers = None
cdef bint _filled = False               # everything above is what _handlers() returns
cdef object _ndarray = None
cdef PyTypeObject* _generic = NULL
cdef PyTypeObject* _tensor = NULL
cdef bint _compiled = True


@cython.final
@cython.internal
cdef class Served:
    """How one NumPy function is served."""
    cdef int kind
    cdef bint reduction             # `tensor_method` is a reduction,
    cdef bint slower                # which is called where something is recorded only
    cdef bint scalar                # `implementation` gives 0-d arrays where NumPy gives scalars: Note [Scalars]
    cdef Py_ssize_t reads           # so many leading arguments are read, never written
    cdef object implementation      # on raw arrays, None: `method` alone
    cdef object method              # of numpy.ndarray with the same parameters: spares NumPy's Python wrapper
    cdef object tensor_method       # of Tensor with the same parameters
    cdef Op op                      # its forward may be compiled; its parameters are the function's first ones
    cdef bint contracts             # it is numpy.einsum
    cdef NumpyPrimitive primitive         # how a call is recorded: Note [NumPy primitives]; None: it is not
    cdef shape_ptr shape            # binds arguments of a function of shape, NULL: it is none


def set_compiled_protocols(bint mode):
    """Turn what is compiled of NumPy's protocols on or off for the process; returns the mode before.

    Off, the handlers of `numpy_api.handlers` serve every call.
    """
    global _compiled
    cdef bint previous = _compiled
    _compiled = mode
    return previous


def set_protocol_handlers(type tensor, handlers, ndarray, generic):
    """Serve NumPy's protocols.

    Parameters
    ----------
    tensor : type
        Tensor, whose protocol methods become compiled ones.
    handlers : callable
        Called when NumPy first asks, as importing arraygrad has no need of what it returns:
        array_ufunc(ufunc, method, inputs, kwargs) and array_function(func, types, args, kwargs); a function that
        returns a container of all ufuncs that the table has; one that returns what add_primitives takes; a
        dict ufunc -> Op, for ufuncs whose plain calls are an operation on one or two arrays; a dict NumPy function ->
        dict of what is known of it:
        free, fresh, constant (its implementation on arrays): run where nothing is recorded, for functions whose
        results share no memory with their arguments, or may share it; `constant` always, as their results have no
        derivative. method: as `free`, a method of the array that is given first. reduction, slower, direct: method of
        Tensor with the same parameters (axis, ddof and keepdims, of reductions; `slower` ones are called where
        something is recorded). op: the operation whose parameters are the
        function's first ones. shape: name of the function of shape. contracts: it is numpy.einsum. reads: how many
        leading arguments are arrays that are read (2 where it is not said).
    ndarray, generic : type
        NumPy's classes of arrays and scalars.
    """
    global _handlers, _ndarray, _generic, _tensor
    cdef dict namespace
    _handlers = handlers
    _ndarray = ndarray
    _generic = <PyTypeObject*>generic
    _tensor = <PyTypeObject*>tensor
    if FREE_THREADED:           # where many threads may be the first to ask
        fill()
    keep_for_ever(generic)
    namespace = <dict>(<TypeObject*>_tensor).tp_dict
    namespace["__array_ufunc__"] = PyDescr_NewMethod(_tensor, &_ufunc_method)                   # (5)
    namespace["__array_function__"] = PyDescr_NewMethod(_tensor, &_function_method)
    PyType_Modified(_tensor)


cdef int fill() except -1:
    """Take the handlers. A lost race does so twice, without replacing anything: others may hold what is there."""
    global _filled, _ufunc_handler, _function_handler, _known_ufuncs, _all_primitives
    cdef dict ufunc_ops, functions
    _ufunc_handler, _function_handler, _known_ufuncs, _all_primitives, ufunc_ops, functions = _handlers()
    keep_for_ever(_ufunc_handler, _function_handler, _known_ufuncs)
    for ufunc, op in ufunc_ops.items():
        _ufunc_ops.setdefault(ufunc, op)
    add_protocol_functions(functions)
    _filled = True
    return 0


def add_protocol_functions(dict functions):
    """Serve more of NumPy's functions: dict of function -> what is known of it, as set_protocol_handlers has it."""
    cdef Served s
    for function, known in functions.items():
        s = Served.__new__(Served)
        s.kind = CONSTANT if "constant" in known else FREE if "free" in known or "method" in known else \
            FRESH if "fresh" in known else NOT_RAW
        s.implementation = known.get("constant", known.get("free", known.get("fresh")))
        s.method = known.get("method")
        s.slower = "slower" in known
        s.reduction = s.slower or "reduction" in known
        s.tensor_method = known.get("reduction", known.get("slower", known.get("direct")))
        s.op = known.get("op")
        s.shape = shape_function(known.get("shape"))
        s.reads = known.get("reads", 2)
        s.contracts = "contracts" in known
        s.scalar = known.get("scalar", False)
        _functions.setdefault(function, s)
        keep_for_ever(s, s.implementation, s.method, s.tensor_method)


def add_primitives(dict functions):
    """Record calls of functions and ufuncs as Note [NumPy primitives] says: dict of function -> NumpyPrimitive."""
    cdef Served s
    for function, primitive in functions.items():
        _primitives.setdefault(function, primitive)
        s = _functions.setdefault(function, Served.__new__(Served))
        if s.primitive is None:
            s.primitive = <NumpyPrimitive?>primitive
        keep_for_ever(s)


cdef int fill_primitives() except -1:
    global _all_primitives
    if _all_primitives is not None:
        add_primitives(_all_primitives())
        _all_primitives = None
    return 0


cdef object by_primitive(PyObject* function, tuple args, object kwargs):
    """The result of a ufunc that is recorded as Note [NumPy primitives] says, else `refused`."""
    cdef PyObject* found
    if _all_primitives is not None:
        fill_primitives()
    found = PyDict_GetItemWithError(_primitives, <object>function)
    return refused if found is NULL else primitive_call(<NumpyPrimitive>found, args, kwargs)


def numpy_function(function, handler, bint is_ufunc):
    """What a namespace shows of NumPy's function or ufunc: its calls on Tensors are those of NumPy's protocols.

    `handler` takes calls without Tensors, and what is served in no other way.
    """
    def called(*args, **kwargs):
        cdef object result
        if not _filled:
            fill()
        if _compiled and holds_tensor(<tuple>args):
            if not is_ufunc:
                return array_function(function, (), args, kwargs)
            if not kwargs:
                result = by_primitive(<PyObject*>function, <tuple>args, None)
                if result is not refused:
                    return result
        return handler(*args, **kwargs)

    return called


cdef bint holds_tensor(tuple args) except -1:
    """Whether one of the first two arguments is a Tensor, or a list that begins with one."""
    cdef Py_ssize_t i
    for i in range(min(len(args), 2)):
        arg = args[i]
        if is_tensor(arg):
            return True
        if (type(arg) is list or type(arg) is tuple) and len(arg) and is_tensor(arg[0]):
            return True
    return False


def is_served(function):
    """Whether something is known of a NumPy function."""
    return function in _functions


cdef object ufunc_of_operands(PyObject* ufunc, PyObject** operands, Py_ssize_t n):
    """The result of a ufunc that is called with nothing but operands: (1), (4); `refused` where it is not served so."""
    cdef PyObject* found
    cdef Op op
    cdef object result, first, second
    cdef Py_ssize_t i
    if not _compiled:
        return refused
    if not _filled:
        fill()
    found = PyDict_GetItemWithError(_ufunc_ops, <object>ufunc)
    if found is NULL:                                                       # (4)
        return by_primitive(
            ufunc, (<object>operands[0],) if n == 1 else (<object>operands[0], <object>operands[1]) if n == 2
            else tuple([<object>operands[i] for i in range(n)]), None)
    op = <Op>found                                                          # (1)
    if n == 1 and op.n_arrays == 1:
        return unary(op, <object>operands[0])
    if n == 2 and op.n_arrays == 2:
        if is_tensor(<object>operands[0]) and is_tensor(<object>operands[1]):
            return binary(op, <object>operands[0], <object>operands[1])
        if (is_keyed(operands[0]) or is_keyed(operands[1])) and op.name == "equal" and (
                meets_another_key(operands[0], operands[1]) or meets_another_key(operands[1], operands[0])):
            return False
        first = operand(operands[0], operands[1])
        second = operand(operands[1], operands[0])
        result = NotImplemented if first is None or second is None else binary(op, first, second)
        if result is not NotImplemented or has_ufunc(operands[0]) and has_ufunc(operands[1]):
            return result                                                   # the other class decides
    return refused


cdef object function_of_arguments(object function, tuple args, dict kwargs):
    """The result of a function of NumPy's on these arguments, `refused` where nothing is known of it: (6)."""
    if not _compiled:
        return refused
    if not _filled:
        fill()
    if PyDict_GetItemWithError(_functions, function) is NULL:
        return refused
    return array_function(function, (), args, kwargs)


cdef object ufunc_entry(object self, PyObject** args, Py_ssize_t n, PyObject* names):
    """Tensor.__array_ufunc__(ufunc, method, *inputs, **kwargs)."""
    cdef PyObject* found
    cdef object result
    cdef dict kwargs
    cdef Py_ssize_t i
    if n < 2:
        raise TypeError(f"Tensor.__array_ufunc__() takes a ufunc and the name of its method, but {n} positional "
                        f"arguments were given")
    if not _filled:
        fill()
    if names == NULL and _compiled and is_call(<object>args[1]):
        result = ufunc_of_operands(args[0], args + 2, n - 2)
        if result is not refused:
            return result
    elif _compiled and type(<object>args[1]) is str and thread_state().grad_mode:
        found = PyDict_GetItemWithError(_ufunc_ops, <object>args[0])
        if found is not NULL:                                               # (1)
            result = ufunc_method(<object>args[0], <object>args[1], <Op>found, args, n, names)
            if result is not NotImplemented:
                return result
    kwargs = {}
    if names != NULL:
        for i in range(len(<tuple>names)):
            kwargs[(<tuple>names)[i]] = <object>args[n + i]
    return array_ufunc(<object>args[0], <object>args[1], tuple([<object>args[i] for i in range(2, n)]), kwargs)


cdef object function_entry(object self, PyObject** args, Py_ssize_t n, PyObject* names):
    """Tensor.__array_function__(func, types, args, kwargs)."""
    cdef list given
    cdef Py_ssize_t i
    if n == 4 and names == NULL:
        return array_function(<object>args[0], <object>args[1], <object>args[2], <object>args[3])
    given = [<object>args[i] for i in range(n)]
    for name in ("func", "types", "args", "kwargs")[n:]:
        for i in range(0 if names == NULL else len(<tuple>names)):
            if (<tuple>names)[i] == name:
                given.append(<object>args[n + i])
    if len(given) != 4 or n + (0 if names == NULL else len(<tuple>names)) != 4:
        raise TypeError("Tensor.__array_function__() takes func, types, args and kwargs")
    return array_function(given[0], given[1], given[2], given[3])


cdef PyMethodDef _ufunc_method, _function_method
_ufunc_method.ml_name = "__array_ufunc__"
_ufunc_method.ml_meth = <PyCFunction><void*>ufunc_entry
_ufunc_method.ml_doc = "__array_ufunc__($self, ufunc, method, /, *inputs, **kwargs)\n--\n\n"
_function_method.ml_name = "__array_function__"
_function_method.ml_meth = <PyCFunction><void*>function_entry
_function_method.ml_doc = "__array_function__($self, func, types, args, kwargs)\n--\n\n"
_ufunc_method.ml_flags = _function_method.ml_flags = METH_FASTCALL | METH_KEYWORDS


cdef inline bint is_call(object method) noexcept:
    """Whether the name of a ufunc's method, a text that NumPy makes anew for each call, is "__call__"."""
    return type(method) is str and PyUnicode_GET_LENGTH(method) == 8 and PyUnicode_READ_CHAR(method, 0) == c"_"


cdef inline object operand(PyObject* x, PyObject* other):
    """An operand of a ufunc: a list of plain numbers beside a Tensor of NumPy's as an array, None for other lists."""
    if type(<object>x) is list or type(<object>x) is tuple:
        if is_tensor(<object>other) and type((<TensorBase>other).value.raw) is _ndarray:
            return array_of_list(<object>x, registered(_ndarray))
        return None
    return <object>x


cdef bint has_ufunc(PyObject* x) except -1:
    return hasattr(type(<object>x), "__array_ufunc__")


cdef object array_ufunc(object ufunc, object method, tuple inputs, dict kwargs):
    cdef object result
    if _compiled and (not kwargs or plain_ufunc_keywords(kwargs)) and method != "at":
        result = raw_ufunc(ufunc, method, inputs, kwargs)                   # (2)
        if result is not _refused:
            return result
    return _ufunc_handler(ufunc, method, inputs, kwargs)                    # (4)


cdef inline bint meets_another_key(PyObject* x, PyObject* other) except -1:
    """Whether `x` is a Tensor that was hashed, and an equal number of NumPy's, a key of a dict, is another key."""
    return is_keyed(x) and are_two_keys(<TensorBase>x, <object>other)


cdef inline bint is_keyed(PyObject* x) noexcept:
    return is_tensor(<object>x) and (<TensorBase>x).keyed


cdef object raw_ufunc(object ufunc, object method, tuple inputs, dict kwargs):
    """A ufunc of the table on the raw arrays of its arguments, where nothing is recorded; else _refused."""
    global _ufuncs
    cdef void* like = NULL
    cdef ThreadState* ts = thread_state()
    cdef object raws, function
    if ts.op_hooks != NULL:
        return _refused
    raws = raw_of(inputs, ts.grad_mode, &like)
    if raws is _refused or like is NULL:
        return _refused
    if _ufuncs is None:
        _ufuncs = _known_ufuncs()
    if ufunc not in _ufuncs:
        return _refused
    function = ufunc if is_call(method) else getattr(ufunc, method)
    return wrapped(PyObject_Call(function, raws, <PyObject*>kwargs if kwargs else NULL), like)


cdef bint plain_ufunc_keywords(dict kwargs) except -1:
    """Whether all keywords are those that choose an axis or a shape and hold no Tensor."""
    for key in kwargs:
        if key != "axis" and key != "keepdims":
            return False
    return True


cdef object array_function(object func, object types, object args, object kwargs):
    cdef PyObject* found
    cdef Served s
    cdef object result, first
    if not _filled:
        fill()
    if not _compiled or type(args) is not tuple or not (<tuple>args):
        return _function_handler(func, types, args, kwargs)
    found = PyDict_GetItemWithError(_functions, func)
    if found is NULL and _all_primitives is not None:
        fill_primitives()
        found = PyDict_GetItemWithError(_functions, func)
    if found is NULL:
        return _function_handler(func, types, args, kwargs)                 # (4)
    s = <Served>found
    first = (<tuple>args)[0]
    if s.shape is not NULL and not kwargs and (is_tensor(first) or takes_lists(s.shape)):
        result = s.shape(<tuple>args)                                       # (3)
        if result is not NotImplemented:
            return result
    if s.contracts:
        result = einsum(<tuple>args, kwargs)                                # (3)
        if result is not NotImplemented:
            return result
    if s.kind != NOT_RAW and (not s.reduction or s.slower or not is_reduction(<tuple>args, kwargs)) \
            and (s.kind == CONSTANT or not holds_tracked(<tuple>args)):
        result = raw_function(s, <tuple>args, <dict>kwargs if kwargs else None)                 # (2)
        if result is not _refused:
            if s.kind == CONSTANT:
                ordered_by(func.__name__, <tuple>args, <dict>kwargs if kwargs else None, result)
            return result
    if s.tensor_method is not None and (is_reduction(<tuple>args, kwargs) if s.reduction else not kwargs
                                        and is_tensor(first)):
        return PyObject_Call(s.tensor_method, args, <PyObject*>kwargs if kwargs else NULL)      # (3)
    if _all_primitives is not None:
        fill_primitives()
    if s.primitive is not None:
        result = primitive_call(s.primitive, <tuple>args, kwargs)             # (4)
        if result is not refused:
            return result
    return _function_handler(func, types, args, kwargs)


cdef inline bint holds_tracked(tuple args) noexcept:
    """Whether something is recorded, told by an argument that is a Tensor: `raw_function` would decline."""
    cdef Py_ssize_t i
    if thread_state().grad_mode:
        for i in range(len(args)):
            if is_tensor(args[i]) and (<TensorBase>args[i]).tracked:
                return True
    return False


cdef bint is_reduction(tuple args, object kwargs) except -1:
    """Whether a floating-point Tensor is to be reduced, and nothing but axis, ddof and keepdims is said."""
    return len(args) <= 2 and is_floating(args[0]) and plain_keywords(kwargs)


cdef object raw_function(Served s, tuple args, dict kwargs):
    """A function on the raw arrays of its arguments, where nothing is recorded; else _refused."""
    cdef PyObject* vector[MAX_ARGS + 1]
    cdef void* like = NULL                  # borrowed: metadata of a Tensor among the arguments
    cdef ThreadState* ts = thread_state()
    cdef bint recording = s.kind != CONSTANT and ts.grad_mode
    cdef Py_ssize_t n = len(args), i, done = 0
    cdef object raw, result = _refused
    cdef dict given = kwargs
    cdef PyObject* keywords = NULL
    if n > MAX_ARGS or ts.op_hooks is not NULL or (n > s.reads and may_write(args, s.reads)):
        return _refused
    if kwargs is not None:
        for key, value in kwargs.items():
            raw = raw_of(value, recording, &like)
            if raw is _refused or (value is not None and key == "out"):
                return _refused
            if raw is not value:
                if given is kwargs:
                    given = kwargs.copy()
                given[key] = raw
        keywords = <PyObject*>given
    try:
        for i in range(n):
            raw = raw_of(args[i], recording, &like)
            if raw is _refused:
                return _refused
            Py_INCREF(raw)
            vector[i + 1] = <PyObject*>raw
            done += 1
        if s.op is not None and keywords == NULL:
            result = by_forward(s.op, vector + 1, n, like)
        if result is _refused:
            if s.method is not None and is_tensor(args[0]) and plain_keywords(given):
                raw = s.method
            elif s.implementation is not None:
                raw = s.implementation
            else:
                return _refused
            result = PyObject_VectorcallDict(<PyObject*>raw, vector + 1, <size_t>n | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                             keywords)
            if s.kind == FRESH and shares(result, vector + 1, n):
                return _refused
        result = wrapped(result, like)
        if s.scalar and is_tensor(result):
            (<TensorBase>result).array0d = False
        return result
    finally:
        for i in range(done):
            Py_DECREF(<object>vector[i + 1])


cdef object by_forward(Op op, PyObject** raws, Py_ssize_t n, void* like):
    """The raw result of an operation's compiled forward for its first parameters; _refused: there is none for them."""
    cdef Py_ssize_t i
    cdef list bound
    cdef object result
    if like is NULL or n > len(op.params):
        return _refused
    bound = list(op.defaults)
    for i in range(n):
        bound[i] = <object>raws[i]
    result = (<Backend>(<GradMeta>like).ops).forward(op, bound)
    return _refused if result is None else result


cdef bint shares(object result, PyObject** raws, Py_ssize_t n) except -1:
    """Whether an array in `result` may lie in the memory of one among the arguments."""
    cdef Py_ssize_t i
    if type(result) is tuple or type(result) is list:
        for item in result:
            if shares(item, raws, n):
                return True
        return False
    if type(result) is not _ndarray:
        return False
    for i in range(n):
        if overlaps(result, <object>raws[i]):
            return True
    return False


cdef bint overlaps(object array, object arg) except -1:
    if type(arg) is _ndarray:
        return array is arg or registered(_ndarray).shares_memory(array, arg)
    if type(arg) is tuple or type(arg) is list:
        for item in arg:
            if overlaps(array, item):
                return True
    return False


cdef bint may_write(tuple args, Py_ssize_t reads) except -1:
    """Whether a Tensor stands where functions have `out`: writing into it takes more than its memory."""
    cdef Py_ssize_t i
    for i in range(reads, len(args)):
        if is_tensor(args[i]):
            return True
    return False


cdef bint is_floating(object arg) noexcept:
    return is_tensor(arg) and (<TensorBase>arg).value.meta.is_floating


cdef bint plain_keywords(object kwargs) except -1:
    """Whether all keywords are those that methods have as well."""
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
    if type(arg) is _ndarray or type(arg) is float or type(arg) is int or arg is None:
        return arg
    if is_tensor(arg):
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
        items = (<list>arg)[:]
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
    cdef TensorBase t
    if type(result) is _ndarray:
        if like is NULL:
            backend = registered(_ndarray)
            t = new_tensor(result, backend.meta(result))
        else:
            backend = <Backend>(<GradMeta>like).ops
            t = new_tensor(result, backend.meta_like(result, <GradMeta>like, None))
        t.array0d = True                    # Note [Scalars]: what NumPy gives says it
        return t
    if PyType_IsSubtype(Py_TYPE(result), _generic):
        t = <TensorBase>wrapped(registered(_ndarray).wrap_raw(result), like)
        t.array0d = False
        return t
    if type(result) is tuple:
        return tuple([wrapped(item, like) for item in result])
    if type(result) is list:
        return [wrapped(item, like) for item in result]
    return result
