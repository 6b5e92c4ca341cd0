# What an adopted call does often: whether this thread runs one, what isinstance, type and hasattr answer, the exchange
# of names. May import: engine.node, core.value, core.operands, core.tensor, numpy, the standard library.
import types

import numpy

from arraygrad.core.operands cimport rebinds
from arraygrad.core.value cimport TensorBase
from arraygrad.engine.node cimport thread_state

from arraygrad.core.tensor import Tensor

cdef extern from *:
    """
    // Whether the calls of this thread are adopted. A thread that such a call starts is not.
    static thread_local int arraygrad_adopting = 0;
    """
    int arraygrad_adopting

cdef object dtype_type = numpy.dtype
cdef object real_double = numpy.dtype("float64")
cdef object complex_double = numpy.dtype("complex128")
cdef object tensor_type = Tensor
cdef object union_type = types.UnionType
cdef frozenset own_types = frozenset(Tensor.__mro__)


def switch(bint on):
    """Have the calls of this thread be adopted or not; returns what was before."""
    global arraygrad_adopting
    cdef bint before = arraygrad_adopting
    arraygrad_adopting = on
    return before


def is_on():
    """Whether this thread runs an adopted call."""
    return arraygrad_adopting != 0


def exchange(list places, bint back):
    """Put stand-ins into places (dict, key, real thing, stand-in), or the real things back, where the others are."""
    cdef dict holder
    cdef tuple place
    cdef object found
    for place in places:
        holder = <dict>place[0]
        found = holder.get(place[1])            # the program may have put something else there
        if back:
            if found is place[3]:
                holder[place[1]] = place[2]
        elif found is place[2]:
            holder[place[1]] = place[3]


cdef object plain(TensorBase t):
    if t.value.meta.ndim == 0 and rebinds(t) and isinstance(t.value.meta.dtype, dtype_type):
        return t.value.meta.dtype.type
    return type(t.value.raw)


def plain_type(t):
    """The type that the value of a Tensor has in a plain call."""
    return plain(t)


def stays(t):
    """Whether a number made of this argument stays recorded: Note [Numbers that stay], 2."""
    if not arraygrad_adopting or type(t) is not tensor_type or not thread_state().grad_mode:
        return False
    if not t.requires_grad or (<TensorBase>t).value.meta.size != 1:
        return False
    dtype = (<TensorBase>t).value.meta.dtype
    return dtype is real_double or dtype is complex_double or dtype == real_double or dtype == complex_double


def isinstance_(obj, class_or_tuple, /):
    """What stands in for isinstance."""
    if not arraygrad_adopting or type(obj) is not tensor_type:
        return isinstance(obj, class_or_tuple)
    return issubclass(plain(obj), class_or_tuple) or names_tensors(class_or_tuple)


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


def hasattr_(obj, name, /):
    """What stands in for hasattr: of the special methods, a Tensor has those that its plain value has."""
    if arraygrad_adopting and type(obj) is tensor_type and name.startswith("__") and not hasattr(plain(obj), name):
        return False
    return hasattr(obj, name)
