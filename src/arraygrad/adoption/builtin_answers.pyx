# What an adopted call answers often: isinstance, type, hasattr, float; what a number is in a plain call.
# Note [Files of adoption] in __init__.py names the files beside it.
# May import: adoption.exchange, adoption.objects, core.adopted, autograd.instructions, autograd.source_locations,
# engine.node, core.apply, core.convert, core.op, core.value, core.operands, core.constructors, core.tensor, numpy, the
# standard library.
import functools
import sys
import types

import numpy

from libc.stdint cimport uint16_t

from arraygrad.core.adopted cimport arraygrad_adopting
from arraygrad.core.apply cimport unary
from arraygrad.core.op cimport Op
from arraygrad.core.operands cimport has_tensor as list_has_tensor
from arraygrad.core.operands cimport rebinds
from arraygrad.core.value cimport TensorBase
from arraygrad.engine.node cimport NODE_PYTHON, Node, thread_state

from arraygrad.adoption.exchange import TEXTS
from arraygrad.adoption.objects import number_held, numbers_held
from arraygrad.autograd.instructions import steps_of
from arraygrad.autograd.source_locations import SourceLocation, warn_at
from arraygrad.core.convert import RUNNING
from arraygrad.core.constructors import asarray
from arraygrad.core.operands import WIDER
from arraygrad.core.tensor import Tensor, gradient_edge

cdef object array_type = numpy.ndarray
cdef object dtype_type = numpy.dtype
cdef object real_double = numpy.dtype("float64")
cdef object complex_double = numpy.dtype("complex128")
cdef object tensor_type = Tensor
cdef object union_type = types.UnionType
cdef frozenset own_types = frozenset(Tensor.__mro__)


cdef object plain(TensorBase t):
    if t.value.meta.ndim == 0 and rebinds(t) and isinstance(t.value.meta.dtype, dtype_type):
        return t.value.meta.dtype.type
    return type(t.value.raw)


def plain_type(t):
    """The type that the value of a Tensor has in a plain call."""
    return plain(t)


def has_tensor(items):
    """Whether a nested list or tuple holds a Tensor."""
    return list_has_tensor(items)


def is_floating(TensorBase t):
    """Whether a Tensor has a dtype with a derivative."""
    return t.value.meta.is_floating


cdef bint holds_numbers(object items) except -1:
    """Whether a nested list holds a Tensor with a derivative: lists of conditions and indices mean something else."""
    cdef object kind
    for item in items:
        kind = type(item)
        if kind is float:
            continue
        if isinstance(item, TensorBase):
            if (<TensorBase>item).value.meta.is_floating:
                return True
        elif isinstance(item, (list, tuple)) and holds_numbers(item):
            return True
    return False


def gathered(data):
    """A nested list or tuple that holds Tensors as one Tensor; anything else as it is."""
    if isinstance(data, (list, tuple)) and list_has_tensor(data) and holds_numbers(data):
        return asarray(data)
    return data


def recording(function, rule, element, op=None):
    """A function of one number that `rule(t)` computes of a 0-d Tensor: Note [Numbers that stay].

    `op` is the operation of the table that the rule is, if it is one.
    """
    cdef Op direct = op

    @functools.wraps(function)
    def call(x, /):
        if type(x) is not tensor_type:
            try:
                return function(x)
            except TypeError as error:
                x = number_held(error, x, arraygrad_adopting != NULL)
        if not is_kept(x) and not in_rows(x):
            return function(x)
        check(function, x)
        if direct is not None and is_number(x):
            return made_float(unary(direct, x))
        return made_float(rule(element(x)))
    return call


def recording_first(function, several, op):
    """A function whose calls with one number are the operation `op`, and all others `several`."""
    cdef Op direct = op

    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) == 1 and not kwargs and type(args[0]) is tensor_type and is_kept(args[0]) and is_number(args[0]):
            check(function, args[0])
            return made_float(unary(direct, args[0]))
        return several(*args, **kwargs)
    return call


cdef bint is_number(TensorBase t):
    """Whether a recorded Tensor has no axes and is a scalar as it is."""
    return t.value.meta.ndim == 0 and rebinds(t) and is_double(t)


cdef int check(function, TensorBase t) except -1:
    """Call the real function of math, which raises where it has no value; of an array of several rows for each row."""
    if in_rows(t):
        for number in t.value.raw.numbers():
            function(number)
    else:
        function(number_of(t))
    return 0


cpdef bint in_rows(TensorBase t) except -1:
    """Whether it is a number in each of several rows: Note [Small programs] in program/values.py."""
    return type(t.value.raw) is not array_type and t.value.meta.size == 1 and hasattr(t.value.raw, "numbers")


def number_of(TensorBase t):
    """What the real function of math is given: the plain number, an array where there are axes."""
    return t.value.raw if t.value.meta.ndim else t.value.raw.item()


def stays(t):
    """Whether a number made of this argument stays recorded: Note [Numbers that stay], 2."""
    return type(t) is tensor_type and is_kept(t)


cdef bint is_kept(TensorBase t) except -1:
    if arraygrad_adopting == NULL or not thread_state().grad_mode or t.value.meta.size != 1:
        return False
    if not (t.tracked if t.extra is None else t.requires_grad):
        return False
    return is_double(t) or str(t.value.meta.dtype) in WIDER


cdef bint is_double(TensorBase t) except -1:
    dtype = t.value.meta.dtype
    return dtype is real_double or dtype is complex_double or dtype == real_double or dtype == complex_double


# Note [Float or scalar of NumPy's]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# `x` is a float in a plain call where it was handed over as one, or where math or float() made it, and numpy.float64
# where NumPy computed it. Both are 0-d Tensors here. Where a question has two answers, the graph tells:
# (0) What is known to be a Python number says so: Note [Python's numbers] in core/number_kinds.pyx.
# (1) A leaf is what the caller handed over. What math and float() make has a mark on its node, and so has what the
#     ufunc of an operator makes, numpy.add(x, y): a scalar of NumPy's, also of floats.
# (2) What Python's operators make is a scalar of NumPy's if one of the operands is, a float if all are; a constant
#     operand is not in the graph, so this may stay open.
# (3) An open question is refused, not guessed. For an attribute, `hasattr(x, "shape")`, the answer is that of a scalar,
#     with a warning.
cdef enum:
    NODE_FLOAT = 8192           # bits of Node.flags that the engine does not use: surely a float;
    NODE_SCALAR = 24576         # surely a scalar of NumPy's
    OPEN = 0
    FLOAT = 1
    SCALAR = 2
    OF_OPERANDS = 3
    MOST_ASKED = 256

cdef frozenset operators = frozenset(
    f"{name}Backward"
    for name in "Add Sub Mul Div Pow Neg Pos Abs Remainder FloorDivide Copy Real Imag ImagOfReal".split()
)
cdef frozenset of_one = frozenset(f"{name}Backward" for name in "Neg Pos Abs Copy Real Imag ImagOfReal".split())
cdef frozenset twins = frozenset((float, complex, numpy.float64, numpy.complex128, numpy.floating, numpy.float32,
                                  numpy.complexfloating, numpy.inexact, numpy.number, numpy.generic))

cdef frozenset twin_names = frozenset(twin.__name__ for twin in twins)
# What a scalar of NumPy's has and a number of Python's lacks.
cdef dict lacking = {twin: frozenset(dir(scalar)) - frozenset(dir(twin))
                     for twin, scalar in ((float, numpy.float64), (complex, numpy.complex128))}


def made_float(made):
    """What math or float() made anew, marked as a float (1); also those in a tuple."""
    if type(made) is tuple:
        for item in made:
            made_float(item)
    elif type(made) is tensor_type and (<TensorBase>made).grad_fn_ is not None:
        mark(<TensorBase>made, NODE_FLOAT)
        (<TensorBase>made).python = True
    return made


def mark_scalar(TensorBase made):
    """Mark what the ufunc of an operator made (1)."""
    if made.grad_fn_ is not None:
        mark(made, NODE_SCALAR)


cdef int mark(TensorBase t, unsigned int what) except -1:
    t.grad_fn_.flags = <uint16_t>(t.grad_fn_.flags & ~NODE_SCALAR | what)
    return 0


def given_as_float(TensorBase t, TensorBase made):
    """The Tensor `made` that float(t) gives, marked: anew, or the same Tensor where that is a float (2)."""
    if made is not t:
        return made_float(made)
    return t if t.python or (t.grad_fn_ is None and origin(t) == FLOAT) else made_float(t.copy())


cdef int origin(TensorBase t) except -1:
    """FLOAT, SCALAR or OPEN: what a recorded 0-d Tensor is in a plain call."""
    if not t.tracked:
        return SCALAR
    if t.python:
        return FLOAT
    return origin_of(gradient_edge(t)[0])


cdef int origin_of(Node start) except -1:
    """What the node's value is. Each node is asked once, so many at most; what is FLOAT is marked so."""
    cdef dict known = {}
    cdef list waiting = [start]
    cdef Node node
    while waiting:
        node = waiting[-1]
        if node not in known and len(known) == MOST_ASKED:
            return OPEN
        if known.get(node, OF_OPERANDS) == OF_OPERANDS:
            known[node] = own_origin(node) if node not in known else origin_by_operands(node, known, waiting)
            if known[node] == FLOAT:
                node.flags = <uint16_t>(node.flags & ~NODE_SCALAR | NODE_FLOAT)
        else:
            waiting.pop()
    return known[start]


cdef int own_origin(Node node) except -1:
    """What a node says by itself; OF_OPERANDS: that depends on what it was computed of."""
    if node.flags & (NODE_SCALAR | NODE_PYTHON):
        marks = node.flags & NODE_SCALAR
        return FLOAT if marks == NODE_FLOAT else SCALAR if marks == NODE_SCALAR else OPEN
    name = node.name()
    if name.startswith("AccumulateGrad"):
        for trace in list(RUNNING.values()):
            for edge, (kind, _) in zip(trace.edges, trace.live()):
                if edge.node is node:
                    return FLOAT if kind == 3 else SCALAR if kind == 1 or kind == 2 else OPEN   # NUMBER, RAW, SCALAR
        return OPEN
    return OF_OPERANDS if name in operators else SCALAR


cdef int origin_by_operands(Node node, dict known, list waiting) except -1:
    """What an operator made: (2). An operand that is not known yet is appended."""
    cdef Node operand
    cdef int found, floats = 0
    for operand in (node.e0, node.e1):
        found = OPEN if operand is None else known.get(operand, OF_OPERANDS)
        if found == OF_OPERANDS:
            waiting.append(operand)
        if found == OF_OPERANDS or found == SCALAR or node.name() in of_one:
            return found
        floats += found == FLOAT
    return FLOAT if floats == 2 else OPEN


cdef object twin_of(object kind):
    """The Python type whose values a 0-d Tensor of this plain type may stand for; None where there is none."""
    if kind is numpy.float64 or kind is numpy.float32:
        return float
    return complex if kind is numpy.complex128 or kind is numpy.complex64 else None


def isinstance_(obj, class_or_tuple, /):
    """What stands in for isinstance."""
    if arraygrad_adopting == NULL or type(obj) is not tensor_type:
        if isinstance(obj, class_or_tuple):
            return True
        if arraygrad_adopting != NULL and id(type(obj)) in CLASSES:
            return issubclass(CLASSES[id(type(obj))](obj), class_or_tuple)
        return False
    kind = plain(obj)
    cdef bint found = issubclass(kind, class_or_tuple)
    twin = twin_of(kind)
    if twin is not None and class_or_tuple is not twin and issubclass(twin, class_or_tuple) != found:
        if names_tensors(class_or_tuple):
            return True
        return found == (known_origin(obj, twin, "isinstance(x, ...) of these classes") == SCALAR)
    return found or names_tensors(class_or_tuple)


cdef int known_origin(TensorBase t, object twin, str what) except -1:
    cdef int found = origin(t)
    if found == OPEN:
        raise TypeError(
            f"{SourceLocation(sys._getframe(0))}: {what} differs between a Python {twin.__name__} and a scalar of "
            "NumPy's, and which of them this Tensor is in a plain call is not known in an adopted one. "
            f"isinstance(x, {twin.__name__}) is True of both in double precision; {twin.__name__}(x) of a new number "
            f"and math's functions make a {twin.__name__}, numpy.asarray(x)[()] makes a scalar of NumPy's"
        )
    return found


def type_of(TensorBase t, frame):
    """What stands in for type(t): the plain type. An open one is refused where the frame compares it."""
    kind = plain(t)
    twin = twin_of(kind)
    if twin is None:
        return kind
    cdef int found = origin(t)
    if found == OPEN and compares(frame):
        known_origin(t, twin, "type(x)")
    return twin if found == FLOAT else kind


def called_type(cls, *args, **kwargs):
    """What a call of the stand-in for `type`, or of a class made by it, gives: `type` where it is the stand-in."""
    if cls._type is not cls:
        return type.__call__(cls, *args, **kwargs)
    if len(args) == 1 and not kwargs:
        if arraygrad_adopting != NULL and isinstance(args[0], TensorBase):
            return type_of(args[0], sys._getframe(0))      # compiled: the stand-in for `type` has no frame
        kind = type(args[0])
        if arraygrad_adopting != NULL and id(kind) in CLASSES:
            return CLASSES[id(kind)](args[0])
        return kind
    return type(*args, **kwargs)


cpdef number_in(str text):
    """The number that a text is, None where it is none."""
    for kind in (float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


cpdef tell_text(text):
    """Warn if a number is read from text, or bytes, that an adopted call has made of a Tensor."""
    if arraygrad_adopting == NULL or not TEXTS:
        return
    number = number_in(str(text) if isinstance(text, str) else bytes(text).decode("ascii", "replace"))
    parts = (number.real, number.imag) if isinstance(number, complex) else ()
    if number in TEXTS or any([part in TEXTS and part not in (0.0, 1.0, -1.0) for part in parts]):
        warn_of_text(sys._getframe(0))


cpdef warn_of_text(frame):
    """Warn that a number is read at the place of a frame from text that was made of a Tensor."""
    at = SourceLocation(frame)
    warn_at(at, f"{at}: a number is read from text that was made of a Tensor, and has no gradient: compute with the "
                "Tensor itself, or make the text of arraygrad.stop_gradient(x)")


# id of a class of ours -> a function of its object: the class of SciPy's that it counts as
CLASSES = {}


def called_number(cls, *args, **kwargs):
    """What a call of the stand-in for float or complex, or of a class that is derived from it, gives."""
    made = cls._recorded
    if made is None:                            # a class that the program derives from it
        return type.__call__(cls, *args, **kwargs)
    for x in args:
        if type(x) is tensor_type or type(x) is list or type(x) is tuple:
            number = made(*args, **kwargs)
            if number is not None:
                return number
        elif isinstance(x, (str, bytes, bytearray)):
            tell_text(x)
    try:
        return cls._real(*args, **kwargs)
    except TypeError as error:
        args = tuple(numbers_held(error, args, arraygrad_adopting != NULL))
    return called_number(cls, *args, **kwargs)


cdef bint compares(object frame) except -1:
    """Whether the instruction that a frame is at calls type(x) for a comparison with a type that has a twin."""
    cdef list steps = steps_of(frame.f_code)
    at = next((i for i, s in enumerate(steps) if s.offset >= frame.f_lasti), len(steps))
    end = next((i for i in range(at, min(at + 12, len(steps)))
                if steps[i].opname in ("IS_OP", "COMPARE_OP", "CONTAINS_OP")), None)
    if end is None:
        return False
    for i in range(max(0, at - 6), end):
        step = steps[i]
        if step.opname in ("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME") and any(
                step.argval == twin.__name__ for twin in twins):
            return True
        if i > at and step.opname == "LOAD_CONST" and step.argval in twin_names:    # type(x).__name__ == "float"
            return True
        if step.opname in ("LOAD_FAST", "LOAD_DEREF") and i > at:
            value = frame.f_locals.get(step.argval)
            if isinstance(value, type) and value in twins:
                return True
    return False


cdef bint names_tensors(object classes) except -1:
    """Whether a class, or one of a tuple or union of classes, is Tensor or a class that it derives from."""
    if isinstance(classes, tuple):
        for one in <tuple>classes:
            if names_tensors(one):
                return True
        return False
    if type(classes) is union_type:
        return names_tensors(classes.__args__)
    return classes in own_types


cdef bint lacks(TensorBase t, str name) except -1:
    """Whether the plain value of a Tensor has no attribute of this name, though the Tensor has one."""
    kind = plain(t)
    if not has_attribute(kind, name) and (name.startswith("__") or hasattr(tensor_type, name)):
        return True                             # detach, numpy, requires_grad: code for PyTorch too asks for them
    twin = twin_of(kind)
    if twin is None or name not in lacking[twin]:
        return False
    cdef int found = origin(t)
    if found == OPEN:                           # both branches of such code serve mostly: told, not refused
        at = SourceLocation(sys._getframe(0))
        warn_at(at, f"{at}: a Python {twin.__name__} has no attribute {name!r}, a scalar of NumPy's has, and which of "
                    "them this Tensor is in a plain call is not known in an adopted one: the answer is that of a "
                    f"scalar of NumPy's. isinstance(x, {twin.__name__}) is True of both")
    return found == FLOAT


cdef dict _instances = {}               # plain type -> one of its values


cdef bint has_attribute(object kind, str name) except -1:
    """Whether values of a plain type have an attribute: a type has more of them, as __dict__."""
    if kind is not numpy.ndarray and not issubclass(kind, numpy.number):
        return hasattr(kind, name)
    if kind not in _instances:
        _instances[kind] = numpy.empty(0) if kind is numpy.ndarray else kind(0)
    return hasattr(_instances[kind], name)


def hasattr_(obj, name, /):
    """What stands in for hasattr: a Tensor has what its plain value has, and what the program has given it."""
    if arraygrad_adopting != NULL and type(obj) is tensor_type and isinstance(name, str):
        return not lacks(obj, name) and (has_attribute(plain(obj), name) or hasattr(obj, name))
    return hasattr(obj, name)


def hash_(obj, /):
    """What stands in for hash: that of the plain value, of which an array has none."""
    if arraygrad_adopting != NULL and type(obj) is tensor_type:
        raw = (<TensorBase>obj).value.raw
        return hash(raw if plain(obj) is type(raw) else raw[()])
    return hash(obj)


def getattr_(obj, name, /, *default):
    """What stands in for getattr: as hasattr."""
    if arraygrad_adopting != NULL and type(obj) is tensor_type and isinstance(name, str):
        if name == "__class__":
            return type_of(obj, sys._getframe(0))
        if lacks(obj, name):
            if default:
                return default[0]
            raise no_attribute(obj, name)
        if default and has_attribute(plain(obj), name):
            return getattr(obj, name)           # refused, if a Tensor has no such attribute
    return getattr(obj, name, *default)


cdef object real_super = super
cdef object super_object = super.__dict__["__self__"].__get__
cdef object super_class = super.__dict__["__thisclass__"].__get__
_of_super = None                        # see set_of_super


def set_of_super(function):
    """Have `function(found, cls, obj)` say what super is of a class that derives from numpy.ndarray."""
    global _of_super
    _of_super = function


def super_(*args):
    """What stands in for super. Compiled, so that super() finds the frame of the method that calls it."""
    found = real_super(*args)
    if arraygrad_adopting == NULL:
        return found
    obj = super_object(found)
    if id(type(obj)) in CLASSES or (isinstance(obj, type) and issubclass(obj, numpy.ndarray)):
        return _of_super(found, super_class(found), obj)
    return found


def no_attribute(TensorBase t, name):
    """The error for an attribute that the plain value of a Tensor lacks."""
    kind = plain(t)
    return AttributeError(f"{(twin_of(kind) or kind).__name__!r} object has no attribute {name!r}, and in an adopted "
                          "call this Tensor answers as its plain value. numpy.asarray(x) has what an array has",
                          name=name, obj=t)


def is_python_number(TensorBase t):
    """Whether a Tensor is a Python number in a plain call: True, False, or None where the graph does not tell."""
    if t.value.meta.ndim or not rebinds(t) or twin_of(plain(t)) is None:
        return False
    cdef int found = origin(t)
    return None if found == OPEN else found == FLOAT


def raw_of(TensorBase t):
    """The raw array, only looked at."""
    return t.value.raw


def twin_type(t):
    """The Python type whose values a 0-d Tensor may stand for; None: there is none."""
    return twin_of(plain(t))


def refuse_open(TensorBase t, str what):
    """Refuse a question that a Python number and a scalar of NumPy's answer differently."""
    known_origin(t, twin_of(plain(t)), what)
