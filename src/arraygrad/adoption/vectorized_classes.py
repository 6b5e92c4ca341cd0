"""Classes that a program derives from numpy.vectorize.

May import: adoption.exchange, numpy_api.rearranging, numpy.

numpy.vectorize has a stand-in, but a class that the program has derived from it before the call derives from NumPy's.
Its objects are called by NumPy's `__call__`, which has another function in its place while adopted calls run that lead
to such a class; in other threads this is NumPy's.
Guarded by tests/adoption/test_classes_derived_from_vectorize.py.
"""

import functools

import numpy

from arraygrad.adoption.exchange import is_on
from arraygrad.numpy_api.rearranging import of_a_derived_class

__all__ = ["METHODS"]

_real = numpy.vectorize.__call__


@functools.wraps(_real)
def _call(self, *args, **kwargs):
    return (of_a_derived_class if is_on() else _real)(self, *args, **kwargs)


# (class, name, method, stand-in), as `methods_of` in scipy_names gives those of SciPy's classes.
METHODS = [(numpy.vectorize, "__call__", _real, _call)]
