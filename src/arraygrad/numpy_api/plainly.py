"""Calls that no gradient reaches: NumPy's own function computes them, of plain arrays.

May import: core.inplace, core.constructors, core.tensor, numpy.

A function that is not recorded is refused with a Tensor. In an adopted call `numpy.zeros(3)` is a Tensor too, though
the program knows nothing of it, and where none of the arguments requires grad there is no gradient to lose: the
function gets the plain arrays that they would be. It may not write them, as nodes keep their memory.
"""

import numpy

from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.convert import known_refusal
from arraygrad.core.inplace import as_scalar
from arraygrad.core.tensor import Tensor

__all__ = [
    "adopting", "are_plain", "computed_plainly", "implementation", "plain_call", "set_adoption", "set_compiled",
    "stand_in_of",
]  # fmt: skip

_adopting = None  # whether this thread runs an adopted call; see set_adoption
_compiled = None  # what records another library's ufunc; see set_compiled


def implementation(function):
    """What runs a NumPy function on arrays, without another look for Tensors."""
    return getattr(function, "_implementation", function)


def set_adoption(question):
    """Have `question()` say whether this thread runs an adopted call."""
    global _adopting
    _adopting = question


def adopting():
    """Whether this thread runs an adopted call."""
    return _adopting is not None and _adopting()


def set_compiled(stand_in):
    """Have `stand_in(ufunc)` give what records a ufunc of another library's in an adopted call, None: nothing does."""
    global _compiled
    _compiled = stand_in


def stand_in_of(ufunc):
    """What records a ufunc of another library's, wherever the program holds it; None outside of adopted calls."""
    if type(ufunc) is numpy.ufunc or _compiled is None or _adopting is None or not _adopting():
        return None
    return _compiled(ufunc)


def computed_plainly(function, args, kwargs, refusal):
    """What `function` makes of the arguments as plain arrays; raises `refusal()` where a gradient may be lost.

    Raises
    ------
    ValueError
        By the function, if it writes an argument.
    """
    if _adopting is None or not _adopting() or "out" in kwargs:
        raise refusal()
    found = []
    args = _plain(args, found)
    kwargs = _plain(kwargs, found)
    if any(t.requires_grad for t in found):
        raise known_refusal(found, refusal())
    return _shown(function(*args, **kwargs), [numpy.asarray(t) for t in found])


def _plain(value, found, depth=8):
    """Arguments with arrays that can't be written in the places of Tensors, which are noted."""
    kind = type(value)
    if isinstance(value, Tensor):
        found.append(value)
        if value.requires_grad:
            return value
        array = numpy.asarray(value).view()
        array.flags.writeable = False
        return array
    if depth and kind in (list, tuple):
        return kind([_plain(item, found, depth - 1) for item in value])
    if depth and kind is dict:
        return {key: _plain(item, found, depth - 1) for key, item in value.items()}
    return value


def _shown(made, given):
    """A new array with a derivative as a Tensor, which can be written; one over memory of an argument as it is."""
    if type(made) is tuple:
        return tuple([_shown(item, given) for item in made])
    if type(made) is not numpy.ndarray or made.dtype.kind not in "fc" or not made.ndim:
        return made
    return made if any(numpy.may_share_memory(made, array) for array in given) else wrap_raw(made)


# What arguments without a Tensor are made of. A callable may hold Tensors, and so may an array of objects.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type, slice, range, type(Ellipsis), numpy.generic)
_CONTAINERS = (list, tuple)


def are_plain(value):
    """Whether an argument is a plain array, a number, a name or None, or a list, tuple or dict of such."""
    kind = type(value)
    if kind is numpy.ndarray:
        return value.dtype.kind != "O"
    if kind in _CONTAINERS:
        return all(map(are_plain, value))
    if kind is dict:
        return all(map(are_plain, value.values()))
    return isinstance(value, (*_PLAIN, numpy.dtype, type(numpy._NoValue)))


def plain_call(theirs, args, kwargs):
    """NumPy's own call of arguments that are plain, with Tensors over its arrays of numbers."""
    return _as_tensors(theirs(*args, **kwargs))


def _as_tensors(made):
    if isinstance(made, tuple | list):
        items = [_as_tensors(item) for item in made]
        return type(made)(*items) if hasattr(made, "_fields") else type(made)(items)
    if type(made) not in (numpy.ndarray, *_NUMBERS) or made.dtype.kind not in "biufc":
        return made
    return as_scalar(asarray(made), type(made) is not numpy.ndarray)


_NUMBERS = tuple({numpy.dtype(code).type for code in "?bhilqpBHILQPefdgFDG"})
