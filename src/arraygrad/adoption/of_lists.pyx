# What stands in for NumPy's functions in adopted calls: `numpy.sin([t, u])` takes a list of Tensors as one of numbers.
# May import: adoption.builtin_answers, adoption.objects, adoption.table, core.adopted, core.numpy_primitives,
# core.operands, core.protocols, core.tensor, core.value, ops, numpy, the standard library.
import copy
import types

import numpy

from cpython.exc cimport PyErr_ExceptionMatches, PyErr_Fetch, PyErr_NormalizeException, PyErr_Restore
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

from arraygrad.adoption.vectorcalls cimport (
    PyObject_Vectorcall, PyVectorcall_NARGS, arraygrad_serve_calls, named, positional, type_of,
)
from arraygrad.core.adopted cimport arraygrad_adopting
from arraygrad.core.numpy_primitives cimport refused
from arraygrad.core.operands cimport has_tensor
from arraygrad.core.protocols cimport function_of_arguments, ufunc_of_operands
from arraygrad.core.value cimport TensorBase

from arraygrad.adoption.builtin_answers import CLASSES, gathered, mark_scalar
from arraygrad.adoption.objects import UNASKED, asked_again, beside_unasked
from arraygrad.adoption.table import UFUNC_METHODS
from arraygrad.core.tensor import Tensor
from arraygrad.ops import OPS

# Note [Functions and lists]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~
# A function of NumPy's asks the protocol of each argument, but a list has none, and the Tensors in it are asked for
# numbers alone. So each function and ufunc has a stand-in, which makes arrays of lists and tuples that hold Tensors.
# (1) Of a ufunc only inputs are looked at: `out=(t,)` is a tuple of arrays, not an array.
# (2) These calls are the most frequent ones of all. So the stand-in hands its arguments on as it gets them, by the
#     vectorcall protocol, unless one is such a list: Cython's own way to call an object would build a tuple and a dict
#     first.
# (3) For what asks, it is what it stands for: `isinstance(f, numpy.ufunc)`, its attributes, the methods `reduce`,
#     `accumulate`, `reduceat`, `outer` and `at` of a ufunc, which take lists in the same way. A function in a class is
#     a method of its instances, a ufunc is not.
# (4) An array outside of adoption beside a list (`X * [t, u]`) calls the ufunc without its name, and is refused.
# (5) Of some named arguments NumPy asks nothing: `numpy.sum(a, initial=t)`. Beside a Tensor in one of them the
#     function's arrays are given as Tensors, which NumPy asks.
# (6) The real function runs once, unless it refused an object that gives a Tensor as its array: then it is called with
#     that array.
# (7) Ufuncs make scalars of Python's floats, operators do not, and the graph has the same node for both. So what the
#     ufunc of an operator makes without axes is marked: Note [Float or scalar of NumPy's] in
#     adoption/builtin_answers.pyx.
# (8) Most calls are given Tensors of class Tensor, plain arrays, and numbers, and nothing else. NumPy would find no
#     other class to ask, so the stand-in asks Tensor itself: Note [NumPy calls on Tensors], (6). Which arguments of a
#     function NumPy asks is known of the first one, and of the second one of products. After an error NumPy is called
#     nevertheless, which may have refused the call before it asked.
# Guarded by tests/adoption/test_ufuncs_of_lists.py, test_functions_of_lists.py and test_calls_handed_on.py.

cdef extern from "Python.h":
    PyTypeObject PyRange_Type
    PyTypeObject PyFloat_Type
    PyTypeObject PyLong_Type
    PyTypeObject PyBool_Type
    PyTypeObject PyTuple_Type
    Py_ssize_t PY_SSIZE_T_MAX

cdef frozenset ufunc_methods = UFUNC_METHODS
cdef frozenset unasked = UNASKED
cdef object tensor_type = Tensor
cdef object array_type = numpy.ndarray
cdef frozenset of_operators = frozenset(
    getattr(numpy, name, None) for op in OPS.values() if op.entry.operator for name in op.entry.numpy
)

cdef frozenset products = frozenset([
    numpy.dot, numpy.inner, numpy.outer, numpy.vdot, numpy.tensordot, numpy.kron, numpy.cross, numpy.convolve,
])


cdef bint _direct = True


def set_direct_calls(bint mode):
    """Turn direct calls of Tensor's protocol (8) on or off for the process; returns the mode before."""
    global _direct
    cdef bint previous = _direct
    _direct = mode
    return previous


cdef enum Form:
    ARRAY                                   # a list is an array
    ARRAY_OR_RANGE                          # a range is one, too
    SEQUENCE                                # each item of a list is an array


cdef class OfLists:
    """What stands in for a function: Note [Functions and lists]."""
    cdef void* called
    cdef object real
    cdef Py_ssize_t inputs                  # how many arguments may be lists of Tensors; if without end, named ones too
    cdef Form form                          # what a list among them is
    cdef bint is_operator                   # the ufunc of an operator of Python's (7)
    cdef bint is_product                    # a function that asks its first two arguments (8)
    cdef bint is_ufunc

    def __cinit__(self):
        self.called = <void*>serve

    def __init__(self, real, Py_ssize_t inputs, Form form=ARRAY):
        self.real = real
        self.inputs = inputs
        self.form = form

    @property
    def __class__(self):
        """The class of the real one."""
        return type(self.real)

    @property
    def __module__(self):
        return getattr(self.real, "__module__", "numpy")

    def __getattr__(self, name):
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


cdef class Function(OfLists):
    """What stands in for a function of NumPy's that has a protocol."""
    @property
    def __doc__(self):                      # each class has one of its own, also without a text
        return self.real.__doc__

    def __init__(self, real, bint of_ranges=False, bint of_sequences=False):
        cdef Form form = SEQUENCE if of_sequences else ARRAY_OR_RANGE if of_ranges else ARRAY
        OfLists.__init__(self, real, PY_SSIZE_T_MAX, form)
        self.is_product = real in products

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)


cdef class Ufunc(OfLists):
    """What stands in for a ufunc."""
    cdef dict methods                       # name -> what stands in for the method

    @property
    def __doc__(self):                      # each class has one of its own, also without a text
        return self.real.__doc__

    def __init__(self, real):
        OfLists.__init__(self, real, real.nin)
        self.methods = {}
        self.is_ufunc = True
        self.is_operator = real in of_operators

    def __getattr__(self, name):
        if name in ufunc_methods:
            if name not in self.methods:
                self.methods[name] = method_of(self.real, name)
            return self.methods[name]
        return getattr(self.real, name)


def method_of(ufunc, name):
    """What stands in for a method of a ufunc."""
    real = getattr(ufunc, name)

    def method(*args, **kwargs):
        if arraygrad_adopting == NULL:
            return real(*args, **kwargs)
        return of_lists(real, args, kwargs, ufunc.nin + 1, ARRAY)
    method.__name__ = name
    method.__qualname__ = f"ufunc.{name}"
    method.__doc__ = real.__doc__
    return method


cdef PyObject* serve(PyObject* this, PyObject** args, size_t nargsf, PyObject* names) except NULL:
    """OfLists.__call__, as the vectorcall protocol has it (2)."""
    cdef OfLists self = <OfLists>this
    cdef PyTypeObject* kind
    cdef PyObject* found
    cdef Py_ssize_t i, given = PyVectorcall_NARGS(nargsf), inputs = given
    if arraygrad_adopting != NULL:
        if asks_only_tensors(self, args, given, names):
            try:
                made = (ufunc_of_operands(<PyObject*>self.real, args, given) if self.is_ufunc else
                        function_of_arguments(self.real, positional(args, given), named(args, given, names)))
            except (TypeError, ValueError):             # NumPy says what is wrong
                made = refused
            if made is not refused and made is not NotImplemented:
                return given_away(marked(self, made))
        if inputs > self.inputs:
            inputs = self.inputs
        elif names != NULL and self.inputs == PY_SSIZE_T_MAX:
            inputs += len(<tuple>names)
        for i in range(inputs):
            kind = type_of(args[i])
            if isinstance(<object>args[i], (list, tuple)):      # named tuples too
                if has_tensor(<object>args[i]):
                    return called_with_lists(self, args, given, names)
            elif kind == &PyRange_Type and self.form == ARRAY_OR_RANGE:
                return called_with_lists(self, args, given, names)
            elif i >= given and kind == <PyTypeObject*>tensor_type and (<tuple>names)[i - given] in unasked:
                return called_with_lists(self, args, given, names)
    found = PyObject_Vectorcall(<PyObject*>self.real, args, nargsf, names)
    if found == NULL and arraygrad_adopting != NULL and (
        PyErr_ExceptionMatches(TypeError) or PyErr_ExceptionMatches(ValueError)
    ):
        return called_again(self, args, given, names)
    if found != NULL:
        marked(self, <object>found)
    return found


cdef inline object marked(OfLists self, object found):
    """What a call gives, noted as a scalar where it is one: (7)."""
    if self.is_operator and type(found) is tensor_type and (<TensorBase>found).value.meta.ndim == 0:
        mark_scalar(found)
    return found


cdef bint asks_only_tensors(OfLists self, PyObject** args, Py_ssize_t given, PyObject* names) except -1:
    """Whether NumPy would ask Tensor alone: (8)."""
    cdef PyTypeObject* kind
    cdef bint first = False
    cdef Py_ssize_t i
    if given < 1 or given > 2 or not _direct:
        return False
    if self.is_ufunc and (names != NULL or given != self.inputs):
        return False
    for i in range(given):
        kind = type_of(args[i])
        if kind == <PyTypeObject*>tensor_type:
            first = first or i == 0 or self.is_ufunc or self.is_product
        elif kind == <PyTypeObject*>array_type or kind == &PyFloat_Type or kind == &PyLong_Type:
            pass
        elif self.is_ufunc or i == 0 or not (kind == &PyTuple_Type and not has_tensor(<object>args[i])):
            return False
    if names != NULL and first:
        for i in range(len(<tuple>names)):
            name = (<tuple>names)[i]
            kind = type_of(args[given + i])
            if name != "axis" and name != "keepdims":
                return False
            if kind != &PyLong_Type and kind != &PyBool_Type and kind != &PyTuple_Type:
                return False
    return first


cdef PyObject* called_with_lists(OfLists self, PyObject** args, Py_ssize_t given, PyObject* names) except NULL:
    return given_away(of_lists(
        self.real, positional(args, given), named(args, given, names), self.inputs, self.form
    ))


cdef PyObject* called_again(OfLists self, PyObject** args, Py_ssize_t given, PyObject* names) except NULL:
    """After an error: a call with the arrays that objects among the arguments give (6), or the error."""
    cdef PyObject* kind = NULL
    cdef PyObject* error = NULL
    cdef PyObject* trace = NULL
    PyErr_Fetch(&kind, &error, &trace)      # code that asks may not run over an error
    PyErr_NormalizeException(&kind, &error, &trace)
    try:
        found, kwargs = asked_again(<object>error, positional(args, given), named(args, given, names))
    except BaseException as raised:
        if raised is not <object>error:
            Py_XDECREF(kind)
            Py_XDECREF(error)
            Py_XDECREF(trace)
            raise
        found = None
    if found is None:
        PyErr_Restore(kind, error, trace)
        return NULL
    Py_XDECREF(kind)
    Py_XDECREF(error)
    Py_XDECREF(trace)
    return given_away(of_lists(self.real, tuple(found), kwargs, self.inputs, self.form))


cdef PyObject* given_away(object made):
    Py_INCREF(made)
    return <PyObject*>made


cdef object of_lists(object function, tuple args, dict kwargs, Py_ssize_t inputs, Form form):
    """A function of lists that hold Tensors among its inputs, and of objects that hold them."""
    cdef list given = [array_of(x, form) for x in args[:inputs]]
    given += args[inputs:]
    if inputs == PY_SSIZE_T_MAX:
        kwargs = {name: array_of(x, form) for name, x in kwargs.items()}
    if kwargs:
        given, kwargs = beside_unasked(given, kwargs)
    try:
        return function(*given, **kwargs)
    except (TypeError, ValueError) as error:
        found, kwargs = asked_again(error, given, kwargs)
    return of_lists(function, tuple(found), kwargs, inputs, form)


cdef object array_of(object x, Form form):
    if form == SEQUENCE and isinstance(x, (list, tuple)):
        return [gathered(item) for item in x] if isinstance(x, list) else tuple([gathered(item) for item in x])
    return numpy.asarray(x) if form == ARRAY_OR_RANGE and type(x) is range else gathered(x)


def install(stand_in):
    """Give each ufunc that numpy shows a stand-in, by `stand_in(real, other)`."""
    for real in {id(value): value for value in vars(numpy).values() if type(value) is numpy.ufunc}.values():
        stand_in(real, Ufunc(real))
    for kind in (Function, Ufunc):
        CLASSES[id(kind)] = real_class


def real_class(OfLists other):
    """What `type` says of a stand-in: the class of the real one."""
    return type(other.real)


cdef int serve_calls() except -1:
    cdef OfLists one
    for one in (Function(numpy.mean), Ufunc(numpy.sin)):
        arraygrad_serve_calls(type_of(<PyObject*>one), <char*>&one.called - <char*><void*>one)
    return 0


serve_calls()
