"""What stands in for compiled functions that take plain arrays alone: torch.from_numpy, OpenCV's, those of extensions.

May import: adoption.exchange, adoption.table, core.containers, core.exports, core.constructors, core.tensor, the
standard library, numpy; libraries where the program has loaded them.

Note [Functions of extensions]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A compiled function may ask for the type numpy.ndarray, and then takes no Tensor: `torch.from_numpy`, all of OpenCV,
Cython's `numpy.ndarray` arguments.
(1) Without a gradient among its arguments it gets the plain arrays that these would be, over the same memory (Note
    [Memory that others read] in core/exports.pyx). So what it writes shows, and what keeps the memory is watched.
(2) A result that is one of these arrays is its Tensor again, a new array becomes a Tensor that can be written, and
    one over the memory of an argument stays an array.
(3) With a gradient among them the function is called as it is: one of plain Python objects may be recorded, and any
    other refuses the Tensor. It is called from a frame that counts as the program's, so that what no gradient reaches
    among its arguments still shows its memory, and the one that requires grad is what is refused.
(4) Modules of extensions, and the libraries named here, have modules that stand in for them, in which their compiled
    functions do this. Classes are the real ones.
Guarded by tests/adoption/test_functions_of_extensions.py.
"""

import functools
import importlib.machinery
import sys
import types

import numpy

from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.table import MAKERS, STAND_INS, stand_in_made
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.exports import plain_array
from arraygrad.core.tensor import Tensor

__all__ = ["install", "refresh"]

# Libraries whose functions take plain arrays: all that are compiled, or those of these names.
_ALL: frozenset = frozenset()
_NAMED = {"cv2": _ALL, "torch": frozenset(("from_numpy",))}
# Packages whose extensions see Tensors as they are: these have rules, or stand-ins of their own.
_OTHERS = frozenset("arraygrad numpy scipy cupy cupyx jax jaxlib numba llvmlite torch".split())
PASSES_ERRORS_ON = True  # an error that arises here is that of the function called
_SUFFIXES = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_COMPILED = (types.BuiltinFunctionType,)
_OF_CYTHON = frozenset(("cython_function_or_method", "fused_cython_function", "_cython_3_0.cython_function_or_method"))


def install():
    """Have what stands in for compiled functions made when adoption meets them."""
    MAKERS.append(_pair)


def refresh():
    """Put what stands in for those libraries of `_NAMED` that are loaded by now into the table; whether any was new."""
    new = [name for name in _NAMED if name in sys.modules and id(sys.modules[name]) not in STAND_INS]
    for name in new:
        _pair(sys.modules[name])
    return bool(new)


def _pair(value):
    """(it, what stands in for it) for a compiled function, or a module of such, else None."""
    if type(value) is types.ModuleType:
        wanted = value.__name__ in _NAMED or _is_extension(value)
        return stand_in_made(value, _module_of) if wanted else None
    if _is_compiled(value) and _takes_arrays(value):
        return stand_in_made(value, _on_arrays)
    return None


def _is_compiled(value):
    return type(value) in _COMPILED or type(value).__name__ in _OF_CYTHON


def _is_extension(module):
    """Whether a module is compiled, and neither the standard library's nor of `_OTHERS`."""
    file = getattr(module, "__file__", None)
    top = module.__name__.partition(".")[0]
    return (
        isinstance(file, str) and file.endswith(_SUFFIXES) and top not in _OTHERS and top not in sys.stdlib_module_names
    )


def _takes_arrays(function):
    """Whether a compiled function belongs to such a module."""
    if _is_named(function):
        return True
    holder = getattr(function, "__self__", None)
    if not isinstance(holder, types.ModuleType):
        if holder is not None:  # a method
            return False
        holder = sys.modules.get(getattr(function, "__module__", None) or "")
    return holder is not None and _is_extension(holder)


def _is_named(function):
    """Whether a library of `_NAMED` shows the function under its name."""
    name = getattr(function, "__name__", "")
    return any(
        library in sys.modules and (names is _ALL or name in names) and vars(sys.modules[library]).get(name) is function
        for library, names in _NAMED.items()
    )


def _module_of(real):
    """A module with the names of `real` and stand-ins among them."""
    module = types.ModuleType(real.__name__, real.__doc__)
    names = _NAMED.get(real.__name__, _ALL)
    for name, value in list(vars(real).items()):
        if _is_compiled(value) and (not names or name in names):
            value = stand_in_made(value, _on_arrays)[1]
        vars(module)[name] = value
    module.__getattr__ = lambda name: getattr(real, name)
    return module


# Its name is not arraygrad's: core.exports asks for that of the frame that calls compiled code (5 there).
_as_program = types.FunctionType(
    (lambda real, args, kwargs: real(*args, **kwargs)).__code__, {"__name__": "program", "PASSES_ERRORS_ON": True}
)


def _on_arrays(real):
    """A function that gives `real` plain arrays in the places of Tensors, where it can (1)."""

    @functools.wraps(real)
    def call(*args, **kwargs):
        if not is_on():
            return real(*args, **kwargs)
        leaves, structure = flatten((args, kwargs))
        given = {}
        for leaf in leaves:
            if isinstance(leaf, Tensor) and id(leaf) not in given:
                array = plain_array(leaf)
                if array is None:
                    return _as_program(real, args, kwargs)  # (3)
                given[id(leaf)] = (leaf, array)
        if not given:
            return real(*args, **kwargs)
        leaves = [given[id(leaf)][1] if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        leaves = [leaf[()] if type(leaf) is numpy.ndarray and not leaf.ndim else leaf for leaf in leaves]
        args, kwargs = unflatten(structure, leaves)
        return _shown(real(*args, **kwargs), list(given.values()))

    return call


def _shown(made, given):
    """What a function has made of plain arrays (2)."""
    if type(made) in (tuple, list):
        return type(made)([_shown(item, given) for item in made])
    if type(made) is not numpy.ndarray:
        return made
    for t, array in given:
        if made is array:
            return t
        if numpy.may_share_memory(made, array):
            return made
    return wrap_raw(made) if made.dtype.kind in "fc" and made.ndim else made
