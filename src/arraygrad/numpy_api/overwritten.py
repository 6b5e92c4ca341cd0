"""What NumPy and SciPy leave in an argument that they may overwrite: `overwrite_input=True`, `overwrite_a=True`.

May import: core.barriers, core.convert, core.constructors, core.exposed_memory, core.containers, core.tensor,
engine.node, numpy_api.functions, numpy. `scipy` uses it too.

Note [Overwritten arguments]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Such a call may leave anything in the argument; what it is depends on dtype, layout and version. A node may have saved
the argument's content, so the recorded call overwrites nothing. NumPy's or SciPy's own call runs once more, on copies
of the arguments that lie in memory as they do, and says what the plain program would find there:
(1) The argument is as it was: nothing is done.
(2) The result lies in the argument's memory: it is written there, recorded, and the result is a view of it.
(3) Anything else: the content is written, with a node that refuses its gradient. So values are those of the plain
    program, and what reads the content gets words in the place of a wrong gradient.
(4) A plain array has no place for a recorded content: the call is refused. Of constants it gets what is left there.
A leaf that requires grad, outside of transforms, can't be written and stays as it was.
Guarded by tests/numpy_api/test_overwritten_arguments.py and tests/scipy_rules/test_what_scipy_overwrites.py.
"""

import functools
import inspect

import numpy

from arraygrad.core.barriers import delayed_error
from arraygrad.core.constructors import asarray
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.convert import place
from arraygrad.core.exposed_memory import raw_handle
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.numpy_api.functions import F

__all__ = ["minding_overwriting", "spend"]

_FLAG = "overwrite_"


def minding_overwriting(name, call, theirs, by_itself=False):
    """`call`, which records `theirs`, a function of NumPy's or SciPy's: Note [Overwritten arguments].

    `by_itself`: what is left in an argument depends on that argument alone. `call` is returned as it is if `theirs` has
    no parameter that allows overwriting.
    """
    if not _shows(theirs, _FLAG):
        return call
    try:
        signature = inspect.signature(theirs)
    except (TypeError, ValueError):
        return call
    names = list(signature.parameters)
    flags = {flag: _meant(flag.removeprefix(_FLAG), names) for flag in names if flag.startswith(_FLAG)}
    if not flags:
        return call
    first = min(map(names.index, flags))

    @functools.wraps(call)
    def minding(*args, **kwargs):
        if len(args) <= first and not any(key.startswith(_FLAG) for key in kwargs):
            return call(*args, **kwargs)
        if not any(isinstance(leaf, Tensor) for leaf in flatten((args, kwargs))[0]):
            return call(*args, **kwargs)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return call(*args, **kwargs)  # whose error says it in its own words
        given = bound.arguments
        chosen = {key: flag for flag, keys in flags.items() if given.get(flag) for key in keys}
        spent = {key: flag for key, flag in chosen.items() if isinstance(given.get(key), (Tensor, numpy.ndarray))}
        apart = signature.bind(*args, **kwargs)
        for flag in flags:
            apart.arguments.pop(flag, None)
        for key in spent:
            if isinstance(given[key], numpy.ndarray):
                apart.arguments[key] = given[key].copy()  # what nodes keep of it stays
        found = call(*apart.args, **apart.kwargs)
        return _left(name, theirs, bound, spent, found, by_itself) if spent else found

    return minding


def _shows(function, prefix):
    """Whether a parameter's name may begin so: the code tells it in a tenth of the time that a signature takes."""
    function = inspect.unwrap(getattr(function, "__func__", function), stop=lambda f: hasattr(f, "__signature__"))
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__signature__"):
        return True
    return any(name.startswith(prefix) for name in code.co_varnames)


def _meant(rest, names):
    """The parameters that a flag allows to overwrite: of `overwrite_a` a, of `overwrite_qru` Q, R and u."""
    if rest == "input":
        return names[:1]
    lower = {name.lower(): name for name in names}
    return [lower[rest.lower()]] if rest.lower() in lower else [lower[letter] for letter in rest.lower()]


def _left(name, theirs, bound, spent, found, by_itself):
    """The result `found` of a call, after what `theirs` leaves in the arguments `spent` has been written there."""
    leaves, structure = flatten((bound.args, bound.kwargs))
    arrays = [raw_handle(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    if any(
        isinstance(leaf, Tensor) and type(array) is not numpy.ndarray
        for leaf, array in zip(leaves, arrays, strict=True)
    ):
        return found  # of another library, whose functions write over nothing of ours
    copies = [_of_same_layout(array) if type(array) is numpy.ndarray else array for array in arrays]
    args, kwargs = unflatten(structure, copies)
    with numpy.errstate(all="ignore"):  # the call has said it
        plain = theirs(*args, **kwargs)
    recorded = not by_itself and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves)
    parts = list(found) if isinstance(found, (tuple, list)) else [found]
    theirs_parts = list(plain) if isinstance(plain, (tuple, list)) else [plain]
    for key, flag in spent.items():
        target = bound.arguments[key]
        at = next(i for i, leaf in enumerate(leaves) if leaf is target)
        before, after = arrays[at], copies[at]
        if isinstance(target, Tensor) and target.is_leaf and target.requires_grad and is_grad_enabled():
            continue
        shared = [i for i, part in enumerate(theirs_parts) if _shares(part, after)]
        if not shared and numpy.array_equal(before, after, equal_nan=True):
            continue  # (1)
        if type(target) is numpy.ndarray:
            if recorded:
                raise _refusal(name, key, flag)  # (4)
            target[...] = after
            continue
        places = {i: _place_in(after, theirs_parts[i], name, key, flag) for i in shared}
        if not any(part.size == after.size for part in map(theirs_parts.__getitem__, shared)):
            spend(target, after, _words(name, key, flag))  # (3)
        for i, (turned, at) in places.items():
            parts[i] = _written_through(target, turned, at, asarray(parts[i]))  # (2)
    if isinstance(found, (tuple, list)):
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return parts[0]


def _of_same_layout(array):
    """A copy that lies in memory as the array does: what is overwritten depends on strides, too."""
    if array.flags.c_contiguous or array.flags.f_contiguous or not array.size:
        return array.copy(order="K")
    low, high = numpy.lib.array_utils.byte_bounds(array)
    memory = numpy.empty(high - low, numpy.uint8)
    found = numpy.ndarray(array.shape, array.dtype, memory, array.ctypes.data - low, array.strides)
    numpy.copyto(found, array)
    found.flags.writeable = array.flags.writeable
    return found


def _shares(part, array):
    return isinstance(part, numpy.ndarray) and numpy.may_share_memory(part, array)


def _lies_as(part, array):
    return (part.ctypes.data, part.shape, part.strides, part.dtype) == (
        array.ctypes.data,
        array.shape,
        array.strides,
        array.dtype,
    )


def _place_in(after, part, name, key, flag):
    """(whether it lies transposed, its slices): where `part` lies in the copy `after`."""
    for turned in (False, True) if after.ndim > 1 else (False,):
        whole, at = after.T if turned else after, []
        offset = part.ctypes.data - whole.ctypes.data
        if part.ndim != whole.ndim or min(whole.strides, default=1) <= 0:
            continue
        starts = {}
        for axis in sorted(range(whole.ndim), key=lambda i: -whole.strides[i]):
            starts[axis], offset = divmod(offset, whole.strides[axis])
        at = tuple([slice(starts[axis], starts[axis] + n) for axis, n in enumerate(part.shape)])
        if _lies_as(whole[at], part):
            return turned, at
    raise TypeError(
        f"{place()}: {name}: with {flag}=True a part of the result lies in the memory of {key}, in another shape, "
        f"where what is written into one of them is not recorded in the other: leave {flag} out"
    )


def _written_through(target, turned, at, part):
    """The recorded result `part`, written into the memory of `target`: a view of it."""
    view = (target.T if turned else target)[at]
    view[...] = part
    return view


def spend(target, after, words):
    """Write what the call left, with a gradient that is refused."""
    content = F["where"](numpy.zeros(after.shape, bool), target, asarray(after))
    if content.requires_grad:
        content.register_hook(_refusing(words))
    target[...] = content


def _refusing(words):
    """A hook that lets zeros pass: of a content that is written anew nothing depends on what the call left."""

    def refuse_what_is_not_zero(g):
        if numpy.any(raw_handle(g)):
            raise RuntimeError(words)
        # What is linear in the gradient may be differentiated by it, at zero (forward mode).
        return delayed_error(words, g)[0] if g.requires_grad and is_grad_enabled() else g

    return refuse_what_is_not_zero


def _words(name, key, flag):
    return (
        f"{place()}: {name} was called with {flag}=True, so the content of {key} afterwards is what the call left "
        f"there, which has no derivative: leave {flag} out, or give the call {key}.copy()"
    )


def _refusal(name, key, flag):
    return TypeError(
        f"{place()}: {name}: with {flag}=True the call would leave in {key}, a plain array, what depends on an "
        f"argument that requires grad, and the array holds no gradient: leave {flag} out"
    )
