# NumPy's functions that are no operation of the table, recorded as one node each; and those that are one under other
# names, bound to it in C.
# May import: engine.*, core.op, core.operands, core.value, core.arguments, core.nodes, core.apply,
# core.decisions, core.saved_variables, core.views.
#
# Note [NumPy primitives]
# ~~~~~~~~~~~~~~~~~~~~~~~
# What a function of NumPy's computes can be composed of operations of the table, and is so in numpy_api: for every
# library, every dtype and every parameter. That costs a node, an array and a call for each operation. Here everyday
# calls are served, on arrays of float32 and float64:
# (1) NumPy's own function runs on the raw arrays, so the values are NumPy's, and one node is made. Its rules stand in
#     numpy_api/primitives.py, written as those of the table: on raw arrays in a plain backward pass, on Tensors under
#     create_graph. A rule costs about what its NumPy calls cost. Plain arrays of other dtypes reach it in the Tensors'
#     own: differences of unsigned integers would wrap around.
# (2) A function that is an operation of the table is bound to that: parameters by NumPy's names, constants for the
#     rest.
#     Lists of plain numbers in the place of an array are made one first, as NumPy does.
# (3) What is not served (refused) goes to the composed function: other dtypes and libraries, parameters that the rule
#     does not know, Tensors that require grad where it has no derivative, results that share memory with an argument.
# (4) Hooks around operations are told of the call as of one operation, since that is what runs: what is observed is
#     what is recorded without them. Of a call that turns out not to be served they are told as of one that raises, and
#     then of the operations that it is composed of.
# Guarded by tests/numpy_api/test_numpy_primitives.py, which compares both ways.
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport ThreadState, thread_state
from arraygrad.core.decisions cimport decided_by
from arraygrad.core.apply cimport apply_op, observed_call, record, refresh, unary, wants_grad
from arraygrad.core.arguments cimport is_static, raw_argument, to_raw
from arraygrad.core.op cimport Op, bind_plain
from arraygrad.core.operands cimport array_of_list
from arraygrad.core.value cimport Backend, TensorBase, is_tensor, new_tensor, registered
from arraygrad.core.views cimport beside, is_lone

from arraygrad.engine.node import keep_for_ever

cdef extern from "Python.h":
    enum:
        PY_VECTORCALL_ARGUMENTS_OFFSET
    object PyObject_VectorcallDict(PyObject* function, PyObject** args, size_t n, PyObject* kwargs)

cdef enum:
    MAX_ARGS = 8                # positional arguments of a call that is made without a tuple

NODE_NAMES = {}                         # name of a recorded function, as hooks are told it -> name of its nodes

cdef object refused = object()
cdef object _ndarray = None
cdef object _generic = None
cdef dict _no_keywords = {}

cdef enum:
    BOOL = 0                    # NPY_BOOL
    FLOAT = 11                  # NPY_FLOAT; NPY_DOUBLE follows
    LONGDOUBLE = 13             # NPY_LONGDOUBLE; NPY_CFLOAT follows
    CDOUBLE = 15                # NPY_CDOUBLE


def make_primitive(entry, function, ndarray, generic, target=None, places=(), settle=None, ndims=(), numbers=(),
                   dtypes="fd", last=0, mask=-1, any_result=False, other=None):
    """How a function is recorded: see Note [NumPy primitives].

    Parameters
    ----------
    entry : Entry
        NumPy's parameters as far as they are served, with rules of those that have a derivative (none with `target`).
    function : callable
        NumPy's function, without another look for Tensors.
    ndarray, generic : type
        NumPy's classes of arrays and scalars.
    target : Op
        The operation of the table that the function is, with `places`: for each of its parameters the place of one of
        NumPy's, such a place and the types that are served there, or a tuple of a constant. Arrays are then those of
        NumPy's parameters that stand before "/". A place without types is one of an operand: a constant array that
        stands there is promoted to the dtype of the others.
    settle : callable
        settle(result, args) makes of a result of `target` without axes what NumPy gives.
    ndims : tuple of int
        Number of axes of each of the arrays, in order, that are served; -1: any, as of those that are not named.
    numbers : tuple of int
        Places of parameters that are served as plain numbers only.
    dtypes : str
        Dtypes of Tensors that are served, by NumPy's letters.
    last : int
        Length of the arrays' last axis that is served; 0: any.
    mask : int
        Place of a parameter that is an array of truth values.
    any_result : bool
        NumPy's result may have another dtype than the arrays.
    other : NumpyPrimitive
        What is asked where this one does not serve a call.
    """
    global _ndarray, _generic
    cdef NumpyPrimitive r = NumpyPrimitive.__new__(NumpyPrimitive)
    _ndarray, _generic = ndarray, generic
    r.op = Op(entry, -1)
    r.function = function
    r.target = target
    r.places = tuple(places)
    if target is not None:
        check_places(r, mask)
    r.settle = settle
    for i in range(MAX_PARAMS):
        r.ndims[i] = <signed char>ndims[i] if i < len(ndims) else -1
    r.numbers = 0
    for i in numbers:
        r.numbers |= 1 << <int>i
    r.alone = target is not None and len(r.op.params) == 1 and r.op.sequence < 0 and r.places == (0,) \
        and r.target.n_arrays == 1 and last == 0
    r.lone = <int>target.inputs[0] if target is not None and is_lone(target) else -1
    for letter in dtypes:
        r.dtypes |= 1 << "fdFD".index(letter)
    r.arrays = 0
    for i in r.op.inputs if target is None else range(r.op.n_posonly):
        if i != r.op.sequence:
            r.arrays |= 1 << <int>i
    r.last = last
    r.mask = mask
    r.any_result = any_result
    r.other = other
    keep_for_ever(r, r.op, r.function, r.places, r.settle)
    NODE_NAMES[r.op.name] = r.op.node_name
    return r


cdef object check_places(NumpyPrimitive r, int mask):
    """TypeError for a row of a table that hands over too few parameters, or numbers where operands are promoted."""
    cdef Py_ssize_t i
    cdef object place
    if len(r.places) != len(r.target.params):
        raise TypeError(f"{r.op.name}: {len(r.places)} places for the {len(r.target.params)} parameters of "
                        f"{r.target.name}")
    for i in range(len(r.places)):
        place = r.places[i]
        if type(place) is int and place != mask and (
                place >= r.op.n_posonly or not r.target.elementwise and i not in r.target.inputs):
            raise TypeError(f"{r.op.name}: {r.target.params[i]!r} of {r.target.name} is no operand, whose arrays are "
                            f"promoted to the dtype of the others: give its place the types that are served there")


cdef object primitive_call(NumpyPrimitive r, tuple args, object kwargs):
    """The result of a call, recorded; `refused` where it is not served."""
    cdef tuple bound
    cdef object result = refused
    cdef ThreadState* ts = thread_state()
    if not ts.grad_mode:
        return refused
    if r.alone and len(args) == 1 and not kwargs and is_tensor(args[0]):
        result = by_one(r, args)
        r = r.other
    while r is not None and result is refused:
        args = unlisted(r, args)
        bound = bind_plain(r.op, args, <dict>kwargs if kwargs else _no_keywords)
        if bound is not None:                   # else there are parameters that are not served, or wrong ones
            result = by_target(r, args, bound) if r.target is not None else by_numpy(r, args, kwargs, bound)
        r = r.other
    return result


def call_primitive(NumpyPrimitive r not None, tuple args not None, dict kwargs not None):
    """What `primitive_call` gives; None where the call is not served."""
    cdef object result = primitive_call(r, args, kwargs)
    return None if result is refused else result


cdef tuple unlisted(NumpyPrimitive r, tuple args):
    """The positional arguments with lists of plain numbers that stand for arrays as arrays, as NumPy makes them."""
    cdef Py_ssize_t i
    cdef list given = None
    cdef object array
    for i in range(min(len(args), MAX_ARGS)):
        if (type(args[i]) is list or type(args[i]) is tuple) and (r.arrays >> i) & 1:
            array = array_of_list(args[i], registered(_ndarray))
            if array is None:
                return args
            if given is None:
                given = list(args)
            given[i] = array
    return args if given is None else tuple(given)


cdef bint is_served(NumpyPrimitive r, object x, Py_ssize_t place, void** meta, bint* tracked) except -1:
    """Whether `x` can be served as an array: a Tensor over one of NumPy's (noted in `tracked`), such one, a number."""
    cdef TensorBase t
    cdef GradMeta m
    cdef int ndim = r.ndims[place]
    if not is_tensor(x):
        if type(x) is _ndarray:
            return ndim < 0 or x.ndim == ndim
        return ndim <= 0 and (type(x) is float or type(x) is int)
    t = <TensorBase>x
    m = t.value.meta
    if type(t.value.raw) is not _ndarray or not FLOAT <= m.typenum <= CDOUBLE or ndim >= 0 and m.ndim != ndim:
        return False
    if m.typenum == LONGDOUBLE or not (r.dtypes >> (m.typenum - FLOAT - (m.typenum > LONGDOUBLE))) & 1:
        return False
    if t.extra is not None:
        refresh(t)
    tracked[0] = tracked[0] or t.tracked
    if meta[0] == NULL:
        meta[0] = <void*>m                      # borrowed: the Tensor is among the arguments
    return m.typenum == (<GradMeta>meta[0]).typenum         # what mixed dtypes give and get back is composed


cdef bint is_mask(object x) except -1:
    """Whether `x` is an array of truth values, or a Tensor over one."""
    if is_tensor(x):
        return (<TensorBase>x).value.meta.typenum == BOOL and type((<TensorBase>x).value.raw) is _ndarray
    return type(x) is _ndarray and x.dtype.char == "?"


cdef object by_one(NumpyPrimitive r, tuple args):
    """`by_target` for one Tensor and nothing else."""
    cdef void* meta = NULL
    cdef bint tracked = False
    cdef object result
    if not is_served(r, args[0], 0, &meta, &tracked) or not tracked:
        return refused
    result = unary(r.target, args[0])
    return result if (<TensorBase>result).value.meta.ndim > 0 else r.settle(r.function, result, args)


cdef object by_target(NumpyPrimitive r, tuple args, tuple bound):
    cdef void* first = NULL
    cdef bint tracked = False
    cdef Py_ssize_t i
    cdef object result
    cdef list given = []
    for i in range(r.op.n_posonly):
        if i == r.mask:
            if not is_mask(bound[i]):
                return refused
        elif i == r.op.sequence:
            if type(bound[i]) is not list and type(bound[i]) is not tuple or not bound[i]:
                return refused
            for item in bound[i]:
                if type(item) is float or type(item) is int or not is_served(r, item, i, &first, &tracked):
                    return refused
        elif not is_served(r, bound[i], i, &first, &tracked):
            return refused
        elif r.last and (not bound[i].ndim or bound[i].shape[-1] != r.last):
            return refused
    if not tracked:
        return refused
    for place in r.places:
        if type(place) is int:
            value = bound[<Py_ssize_t>place]
            if type(value) is _ndarray and place != r.mask:
                value = (<Backend>(<GradMeta>first).ops).promoted(value, <GradMeta>first)
            given.append(value)
        elif len(<tuple>place) == 1:
            given.append((<tuple>place)[0])
        else:
            value = bound[<Py_ssize_t>(<tuple>place)[0]]
            if type(value) not in (<tuple>place)[1]:
                return refused
            if type(value) is _ndarray and (not value.ndim or value.dtype.kind not in "iu"):
                return refused                  # places
            given.append(value)
    bound = tuple(given)
    result = beside(r.target, bound, r.lone) if r.lone >= 0 and is_tensor(bound[r.lone]) else None
    if result is None:
        result = apply_op(r.target, bound)
    if is_tensor(result) and (<TensorBase>result).value.meta.ndim > 0:
        return result
    return r.settle(r.function, result, args)


cdef object by_numpy(NumpyPrimitive r, tuple args, object kwargs, tuple bound):
    cdef Op op = r.op
    cdef void* first = NULL
    cdef GradMeta meta
    cdef bint tracked = False
    cdef Backend backend
    cdef object result, out
    cdef list pieces, shows
    cdef dict given = None
    cdef Py_ssize_t i, k
    for k in range(op.n_inputs):
        i = op.input_at[k]
        value = bound[i]
        if i == op.sequence:
            if type(value) is not list and type(value) is not tuple or not value:
                return refused
            for item in value:
                if type(item) is float or type(item) is int or not is_served(r, item, k, &first, &tracked):
                    return refused
        elif not is_served(r, value, k, &first, &tracked):
            return refused
    if not tracked:
        return refused
    for k in range(op.n_others):
        i = op.other_at[k]
        value = bound[i]
        if type(value) is not _ndarray and not is_static(value) and wants_grad(value):
            return refused                      # the composed function says what can't be differentiated
        if (r.numbers >> i) & 1 and type(value) is not float and type(value) is not int:
            return refused
    if thread_state().op_hooks != NULL:
        result = observed_call(op.name, bound, lambda: unless_refused(by_numpy(r, args, kwargs, bound)))
        return refused if result is NotImplemented else result
    meta = <GradMeta>first
    if kwargs:
        given = {key: to_raw(value) for key, value in (<dict>kwargs).items()}
    result = called(r.function, args, given)
    backend = <Backend>meta.ops
    bound = widened(r, bound, meta)
    if op.multi:
        if type(result) is not tuple:
            return refused
        pieces = []
        shows = []
        for piece in <tuple>result:
            if type(piece) is int or not r.any_result and isinstance(piece, _generic) and piece.dtype.kind == "i":
                # no array: a rank
                shows.append(piece)
                continue
            out = shown(r, piece, meta, backend, args)
            if out is None:
                return refused
            pieces.append(out)
            shows.append(out)
        record(op, bound, tuple(pieces), backend)
        return tuple(shows)
    else:
        out = shown(r, result, meta, backend, args)
        if out is None:
            return refused
    record(op, bound, out, backend)
    if op.name == "heaviside":          # its second operand has a slope, what decides is the first one
        decided_by(bound[0], result)
    return out


cdef object unless_refused(object result):
    """NotImplemented, of which hooks are not told, for a call that is not served."""
    return NotImplemented if result is refused else result


cdef tuple widened(NumpyPrimitive r, tuple bound, GradMeta meta):
    """What rules get: plain arrays of other numbers in the gradients' precision, where differences don't overflow."""
    cdef Py_ssize_t i, k
    cdef list given = None
    cdef object value
    for k in range(r.op.n_inputs):
        i = r.op.input_at[k]
        value = bound[i]
        if type(value) is _ndarray and value.dtype != meta.dtype and value.dtype.kind in "biuf":
            if given is None:
                given = list(bound)
            given[i] = value.astype("f8" if r.any_result else meta.dtype.char.lower())
    return bound if given is None else tuple(given)


cdef TensorBase shown(NumpyPrimitive r, object result, GradMeta meta, Backend backend, tuple args):
    """What NumPy's function gave as a Tensor, None if it is no array of its own."""
    cdef TensorBase t
    if type(result) is _ndarray:
        if not backend.owns_memory(result) and shares(backend, result, args):
            return None
        t = new_tensor(result, backend.meta_like(result, meta, None))
        t.array0d = True                        # Note [Scalars]: what NumPy gives says it
    elif isinstance(result, _generic):
        result = backend.wrap_raw(result)
        t = new_tensor(result, backend.meta_like(result, meta, None))
        t.array0d = False
    else:
        return None
    return t if r.any_result or t.value.meta.typenum == meta.typenum else None


cdef bint shares(Backend backend, object array, object arg) except -1:
    """Whether an array may lie in the memory of one in `arg`."""
    if is_tensor(arg):
        arg = (<TensorBase>arg).value.raw
    if type(arg) is _ndarray:
        return array is arg or backend.shares_memory(array, arg)
    if type(arg) is list or type(arg) is tuple:
        for item in arg:
            if shares(backend, array, item):
                return True
    return False


cdef object called(object function, tuple args, dict kwargs):
    """function(*args, **kwargs) of the raw arrays of Tensors in `args`."""
    cdef PyObject* vector[MAX_ARGS + 1]
    cdef Py_ssize_t n = len(args), i, done = 0
    cdef object raw
    cdef PyObject* keywords = NULL
    if kwargs is not None:
        keywords = <PyObject*>kwargs
    if n > MAX_ARGS:
        return function(*[to_raw(value) for value in args], **(kwargs or {}))
    try:
        for i in range(n):
            raw = raw_argument(args[i])
            Py_INCREF(raw)
            vector[i + 1] = <PyObject*>raw
            done += 1
        raw = None
        return PyObject_VectorcallDict(<PyObject*>function, vector + 1, <size_t>n | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                       keywords)
    finally:
        for i in range(done):
            Py_DECREF(<object>vector[i + 1])
