# What rewritten code does with an array that it has just made: (1) of Note [Code that is rewritten] in
# adoption/rewritten.py. Compiled, because such code may pass each number of a loop through it.
# May import: adoption.exchange, core.constructors, core.inplace, numpy (Python only), the standard library.
import weakref

import numpy

from arraygrad.adoption.exchange import makes_tensors
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.inplace import as_scalar

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object o)

cdef object _ndarray = numpy.ndarray
# What is counted for a value that nothing holds, and for an array that nothing but its view holds; see `set_counts`.
cdef Py_ssize_t _alone = -1
cdef Py_ssize_t _alone_shown = -1


def set_counts(Py_ssize_t alone, Py_ssize_t alone_shown):
    """Set how many references `references` and `references_shown` count for what nothing holds."""
    global _alone, _alone_shown
    _alone = alone
    _alone_shown = alone_shown


def references(value, into=None):
    """How many references there are to an argument of a function that is called as `fresh` is."""
    return Py_REFCNT(value)


def references_shown(value, into=None):
    """The same of the array that the argument shows."""
    return _references_of_base(value)


cdef Py_ssize_t _references_of_base(object array) except -1:
    base = array.base
    return Py_REFCNT(base)


def fresh(value, into=None):
    """A Tensor over an array that nothing else holds; anything else as it is, and what is stored `into` an array."""
    if type(value) is not _ndarray or Py_REFCNT(value) != _alone or not makes_tensors():
        return value
    if into is not None and hasattr(into, "__array__"):
        return value
    if value.dtype.char not in "fdFD" or not value.flags.writeable or weakref.getweakrefcount(value):
        return value
    if not value.flags.owndata:
        base = value.base
        if type(base) is not _ndarray or not base.flags.owndata or weakref.getweakrefcount(base):
            return value
        del base
        if _references_of_base(value) != _alone_shown:
            return value
    made = wrap_raw(value)
    return made if made.ndim else as_scalar(made, False)
