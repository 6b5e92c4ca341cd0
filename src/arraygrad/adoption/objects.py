"""Objects of the program's that give a Tensor as their array or number, where compiled code asks them for it.

May import: core.convert, core.inplace, core.operands, core.constructors, core.tensor, the standard library, numpy.

Note [Objects that hold Tensors]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
NumPy calls an object's `__array__`, and Python its `__float__`, in compiled code that takes no Tensor from it: an error
that names Tensor's class or "not producing an array". A stand-in that gets it asks the objects among its arguments
itself, and computes with the arrays and numbers that they give. So nothing is asked twice but where the real call has
failed, and calls without such objects cost nothing. In the same way a sequence of another class (a deque, a named
tuple, a class derived from list) is given as the list that it holds. What is no stand-in (compiled code, ufuncs outside
of numpy) fails: `TrackedCall.explain` says how to write it.
Guarded by tests/adoption/test_objects_that_hold_tensors.py.
"""

import collections

import numpy

from arraygrad.core.constructors import asarray
from arraygrad.core.convert import RUNNING
from arraygrad.core.inplace import is_scalar
from arraygrad.core.operands import held_array, held_number
from arraygrad.core.tensor import Tensor

__all__ = ["UNASKED", "asked_again", "beside_unasked", "number_held", "numbers_held"]

_DEPTH = 32  # how deep lists are looked into


def asked_again(error, args, kwargs, adopting=True):
    """(args, kwargs) with the arrays and numbers that objects among them hold; raises `error` if that is no remedy."""
    if not adopting or not (_gave_a_tensor(error) or _REFUSED in str(error)):
        raise error
    found = []
    args = [_without_objects(x, found, 0) for x in args]
    kwargs = {name: _without_objects(x, found, 0) for name, x in kwargs.items()}
    if not found:
        raise error
    _forget_refusal(error)
    return args, kwargs


def _forget_refusal(error):
    """Have the transforms forget what was refused: it is done in another way."""
    for trace in list(RUNNING.values()):
        if trace.refused is error:
            trace.refusals.pop(str(error), None)
            trace.refused = next(reversed(trace.refusals.values()), None)


# Arguments that NumPy does not look for a protocol in. Functions that write into their arguments have none of them.
UNASKED = frozenset((
    "initial", "mean", "constant_values", "end_values", "left", "right", "period", "nan", "posinf", "neginf", "default",
))  # fmt: skip
# Names of a function's first argument.
_FIRST = ("a", "x", "array", "condlist")


def beside_unasked(args, kwargs):
    """(args, kwargs) of a function, its arrays as Tensors where one is in an argument that NumPy asks nothing of.

    NumPy asks the arrays. Not so where the function writes into one of its arguments.
    """
    if kwargs.get("out") is not None or kwargs.get("copy", True) is False:
        return args, kwargs
    if not any(isinstance(kwargs[name], Tensor) for name in UNASKED.intersection(kwargs)):
        return args, kwargs
    named = {key: _as_tensors(x, True) if key in _FIRST else x for key, x in kwargs.items()}
    return [_as_tensors(x, i == 0) for i, x in enumerate(args)], named


def _as_tensors(x, first):
    """An array, and the arrays in a list, as Tensors; the first argument may be a number or a list of numbers."""
    if type(x) is list or type(x) is tuple:
        items = [_as_tensors(item, False) for item in x]
        if any(new is not old for new, old in zip(items, x, strict=True)):
            return type(x)(items)
        return _as_tensors(numpy.asarray(x), False) if first and x else x
    if first and isinstance(x, int | float | complex):
        x = numpy.asarray(x)
    return asarray(x) if isinstance(x, numpy.ndarray) and x.dtype.kind in "biufc" else x


def number_held(error, x, adopting=True):
    """The 0-d Tensor that an object gives as its number, by `__float__` or `__complex__`; else raises `error`."""
    if not adopting or isinstance(x, Tensor) or not _gave_a_tensor(error):
        raise error
    made = held_number(x)
    if type(made) is Tensor and not made.ndim and is_scalar(made):
        return made
    raise error


def numbers_held(error, args, adopting=True):
    """The arguments with such numbers in the places of the objects that hold them; else raises `error`."""
    found = [x if isinstance(x, _NO_OBJECTS) else number_held(error, x, adopting) for x in args]
    if all(new is old for new, old in zip(found, args, strict=True)):
        raise error
    return found


_NO_OBJECTS = (Tensor, int, float, complex, str, numpy.generic, list, tuple)


_REFUSED = "would drop its gradient silently"  # NumPy has asked a Tensor in a sequence for its array


def _gave_a_tensor(error):
    text = str(error)
    return (
        "__array__ method not producing an array" in text
        or ("returned non-" in text and "Tensor" in text)
        or "so no array library is known to serve it" in text
    )


def _without_objects(x, found, depth):
    if type(x) is list or type(x) is tuple:
        return type(x)([_without_objects(item, found, depth + 1) for item in x]) if depth < _DEPTH else x
    if isinstance(x, Tensor | numpy.ndarray | numpy.generic):
        return x
    if isinstance(x, _SEQUENCES) and _holds_tensor(x, depth):
        found.append(x)
        return [_without_objects(item, found, depth + 1) for item in x]
    made = held_array(x)
    if made is None and not hasattr(type(x), "__array__"):
        made = held_number(x)
    if made is None:
        return x
    found.append(x)
    return made


# What NumPy takes for arrays beside lists and tuples, and their like of other names.
_SEQUENCES = (list, tuple, collections.deque, collections.UserList)


def _holds_tensor(items, depth):
    return depth < _DEPTH and any(
        isinstance(item, Tensor) or (isinstance(item, _SEQUENCES) and _holds_tensor(item, depth + 1)) for item in items
    )
