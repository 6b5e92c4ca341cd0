# Public functions, and what rules call on raw arrays: compiled closures, of which a call costs no frame of Python.
# May import: core.op, core.value, core.apply, core.views, core.written_scalars, engine.node.
import inspect

from cpython.object cimport PyObject
from libc.stdint cimport uint32_t

from arraygrad.engine.node cimport NODE_ASIDE
from arraygrad.core.apply cimport apply_op, binary, unary
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase, is_tensor
from arraygrad.core.views cimport beside, is_lone, shape_op
from arraygrad.core.written_scalars cimport let_items_be_written

cdef extern from "method_name.hpp" namespace "arraygrad":
    void name_method(PyObject* function, const char* name) except +


def unary_function(Op op, operand, bint arrays=False):
    """The function of `op`, which takes one array; `operand(x)` makes a Tensor of what is none, or lets it be.

    `arrays`, here and below: results without axes are arrays, as the standard has them (Note [Scalars], 5).
    """

    def function(x, /):
        if not is_tensor(x):
            x = operand(x)
        result = unary(op, x) if op.n_arrays == 1 else apply_op(op, (x,))       # those have several results
        return made(result) if arrays and not has_axes(result) else result

    name_method(<PyObject*>function, op.name.encode())
    return function


def binary_function(Op op, operands, bint arrays=False):
    """The function of `op`, which takes two arrays; `operands(pair)` makes Tensors of what can't stand beside one."""

    def function(*args, **kwargs):
        cdef object result, x1, x2
        if kwargs or len(args) != 2:
            op.bind(args, kwargs)               # raises: both are positional
        x1, x2 = args
        if op.n_arrays == 2 and (is_tensor(x1) and stands_beside(x2)
                                 or is_tensor(x2) and stands_beside(x1)):
            result = binary(op, x1, x2)
            if result is not NotImplemented:
                return made(result) if arrays and not has_axes(result) else result
        result = apply_op(op, operands(args))
        return made(result) if arrays else result

    name_method(<PyObject*>function, op.name.encode())
    return function


def general_function(Op op, tuple positions, operands, sequence, type ndarray, bint arrays=False):
    """The function of `op` with whatever signature it has.

    Parameters
    ----------
    op : Op
    positions : tuple
        Places of the parameters that are arrays.
    operands : callable
        operands(bound) makes arrays of the lists and lone scalars among them.
    sequence : callable or None
        sequence(bound) does so for the parameter that is a list of arrays.
    ndarray : type
        NumPy's class of arrays, beside which scalars stand as they are.
    """
    # f(t) with every other parameter at its default is the commonest call: no binding then.
    cdef tuple rest = None
    cdef Py_ssize_t place = <Py_ssize_t>op.inputs[0] if is_lone(op) else -1
    if positions and positions[0] == 0 and inspect.Parameter.empty not in op.defaults[1:]:
        rest = op.defaults[1:]

    def function(*args, **kwargs):
        cdef tuple bound
        cdef TensorBase out
        if rest is not None and not kwargs and len(args) == 1 and is_tensor(args[0]):
            result = shape_op(op, (args[0],) + rest)
            return made(result) if arrays and not has_axes(result) else result
        bound = op.bind(args, kwargs)
        if op.sequence >= 0 and not all_tensors(bound[op.sequence]):
            bound = sequence(bound)
        if place >= 0 and is_tensor(bound[place]):
            out = beside(op, bound, place)
            if out is not None:
                return made(out) if arrays else out
        if positions and not ready(bound, positions, ndarray):
            bound = operands(bound)
        result = shape_op(op, bound)
        return made(result) if arrays else result

    name_method(<PyObject*>function, op.name.encode())
    return function


def raw_function(Op op, Backend backend, library):
    """The function of `op` on raw arrays of `backend`: by a compiled forward, else by `library`'s function.

    `library` itself where there is no compiled forward.
    """
    # solve, and scattered sums: added up in another order than the library's. add: forwards call its `at`.
    if not op.fast_kind or op.multi or op.sequence >= 0 and op.name not in ("concat", "stack") \
            or op.name in ("solve", "add") or op.name.startswith("_"):
        return library

    def function_of_one(x, /):
        cdef uint32_t flags = 0
        cdef object out = backend.unary(op, x, &flags)
        return library(x) if out is None else out

    def function_of_two(x1, x2, /):
        cdef uint32_t flags = 0
        cdef object out = backend.binary(op, x1, x2, &flags)
        return library(x1, x2) if out is None else (<tuple>out)[0] if flags & NODE_ASIDE else out

    def function(*args, **kwargs):
        cdef object out = None
        try:
            out = backend.forward(op, op.bind(args, kwargs))
        except TypeError:
            pass                # the library's function says what is wrong, or takes it
        return library(*args, **kwargs) if out is None else out

    return function_of_one if op.n_arrays == 1 else function_of_two if op.n_arrays == 2 else function


cdef inline bint has_axes(object result) noexcept:
    return is_tensor(result) and (<TensorBase>result).value.meta.ndim > 0


cdef object made(object result):
    """What an operation made, as an array of the standard's."""
    if is_tensor(result):
        if (<TensorBase>result).value.meta.ndim == 0 and not (<TensorBase>result).array0d:
            let_items_be_written(<TensorBase>result)
    elif isinstance(result, tuple):
        for item in <tuple>result:
            made(item)
    return result


cdef inline bint stands_beside(object x) noexcept:
    """Whether `x` is what an operation takes as it is beside a Tensor."""
    return is_tensor(x) or type(x) is float or type(x) is int or type(x) is bool or type(x) is complex


cdef bint all_tensors(object items) noexcept:
    """Whether `items` is a list or tuple of nothing but Tensors."""
    if type(items) is list:
        for item in <list>items:
            if not is_tensor(item):
                return False
        return True
    if type(items) is tuple:
        for item in <tuple>items:
            if not is_tensor(item):
                return False
        return True
    return False


cdef bint ready(tuple bound, tuple positions, type ndarray) except -1:
    """Whether the parameters at `positions` are taken as they are: arrays of NumPy, plain or in Tensors, and numbers
    beside one of them, or Tensors of any library alone. May say no where it is so."""
    cdef bint found = False, numbers = False, foreign = False
    cdef object value
    for i in positions:
        value = bound[<Py_ssize_t>i]
        if is_tensor(value):
            found = True
            foreign = foreign or type((<TensorBase>value).value.raw) is not ndarray
        elif type(value) is ndarray:
            found = True
        elif stands_beside(value):
            numbers = True
        elif value is not None:
            return False
    return found and not (numbers and foreign)
