"""What keeps a gradient from being lost: SciPy's functions without a rule refuse Tensors that require grad.

May import: autograd.closed_functions, core.containers, core.constructors, core.tensor, engine, numpy_api.overwritten,
scipy._libraries, numpy. Functions among the arguments are looked at too: SciPy calls them on raw arrays, and takes a
Tensor's value without its gradient.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys
import types

import numpy

from arraygrad.autograd.closed_functions import called_by
from arraygrad.core.constructors import asarray
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.convert import known_refusal
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.numpy_api.overwritten import minding_overwriting
from arraygrad.scipy._libraries import library_of, namesake

__all__ = [
    "Fixed",
    "Guarded",
    "NotDifferentiable",
    "guarded",
    "handed_out",
    "holds_numbers",
    "holds_tensor",
    "kind_of",
    "mirror",
    "raw",
    "taken_down",
    "watched",
]


class NotDifferentiable(TypeError):
    """A gradient was asked through something of SciPy's that has no rule: a function, an argument, an option."""

    __module__ = "arraygrad.scipy"  # where programs find it, and what tracebacks show


class Fixed:
    """Base of recorded objects that are what they were made of: a program can't set their attributes.

    SciPy's own objects look at some of theirs in each call. A recorded one would go on with what it was given, so value
    and gradient would be those of another object.
    """

    def __setattr__(self, name, value):
        if not name.startswith("_") and not sys._getframe(1).f_globals.get("__name__", "").startswith("arraygrad."):
            setter = getattr(getattr(type(self), name, None), "fset", None)
            if setter is None:
                kind = type(self).__name__
                raise AttributeError(
                    f"{kind}.{name} can't be set: the recorded object is what it was made of, and {name} is read when "
                    f"it is made. Make a new {kind}"
                )
        object.__setattr__(self, name, value)


def taken_down(value):
    """The value as it is now: its arrays and Tensors are copied, which the program may write later."""
    leaves, structure = flatten(value)
    copies = [
        leaf.copy() if type(leaf) is numpy.ndarray
        else asarray(leaf, copy=True) if isinstance(leaf, Tensor) and leaf.ndim else leaf
        for leaf in leaves
    ]  # fmt: skip
    return unflatten(structure, copies)


def raw(value):
    """The raw arrays of the Tensors in a value, which may be a container; SciPy's object for one of ours."""
    if hasattr(type(value), "scipy_object"):
        return value.scipy_object
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, (tuple, list, dict)):
        leaves, structure = flatten(value)
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            return unflatten(structure, [raw(leaf) for leaf in leaves])
    return value


def helping(value):
    """`raw`, and the plain matrix of a recorded sparse one: of what helps a solver alone, no result depends on it."""
    return value.pattern if is_recorded_matrix(value) else raw(value)


def is_recorded_matrix(value):
    """Whether it is a sparse matrix with a Tensor of values, of scipy.sparse's room."""
    return hasattr(type(value), "pattern")


def kind_of(a):
    """NumPy's letter for the kind of an array's dtype, of any library."""
    dtype = getattr(raw(a), "dtype", None)
    if dtype is None:
        return "c" if isinstance(a, complex) else "f"
    return getattr(dtype, "kind", "c" if "complex" in str(dtype) else "f" if "float" in str(dtype) else "i")


def holds_tensor(tree, grad=False):
    return any(isinstance(leaf, Tensor) and (not grad or leaf.requires_grad) for leaf in flatten(tree)[0])


def guarded(name, function, reason):
    """SciPy's own function for constants; it refuses a Tensor that requires grad."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if is_grad_enabled() and holds_tensor((args, kwargs), grad=True):
            text = (
                f"arraygrad.scipy.{name}: an argument requires grad, but {reason}. Pass its detach() if no gradient is "
                "wanted, or compose the function of others"
            )
            raise known_refusal(flatten((args, kwargs))[0], NotDifferentiable(text))
        plain = watched(name, [raw(a) for a in (*args, *kwargs.values())], reason)
        library = library_of(plain)
        return (function if library is None else namesake(name, library, kwargs))(
            *plain[: len(args)], **dict(zip(kwargs, plain[len(args) :], strict=True))
        )

    return minding_overwriting(f"scipy.{name}", call, function)


def holds_numbers(value):
    """Whether a value holds finite floating-point numbers, or is an object of SciPy's, which may hold some.

    Integers, text, truth values and infinities do not change with what they were computed from.
    """
    for leaf in flatten(value)[0]:
        if isinstance(leaf, (float, complex)):
            if math.isfinite(abs(leaf)):
                return True
        elif isinstance(leaf, numpy.ndarray):
            if leaf.dtype.kind == "O":
                if any(holds_numbers(one) for one in leaf.ravel().tolist() if one is not leaf):
                    return True
            elif leaf.dtype.kind in "fc" and numpy.any(numpy.isfinite(leaf)):
                return True
        elif isinstance(leaf, numpy.generic):
            if leaf.dtype.kind in "fc" and numpy.isfinite(leaf):
                return True
        elif type(leaf).__module__.partition(".")[0] == "scipy":
            return True
    return False


def handed_out(name, value, held, instead=""):
    """An attribute of SciPy's object that was made of the raw values of `held`.

    Parameters
    ----------
    name : str
        Of the attribute, below arraygrad.scipy.
    held : tree
        What the object was made of. Where a Tensor in it requires grad, numbers are refused: they depend on it, and
        would be constants unseen.
    instead : str
        What has a rule.
    """
    if is_grad_enabled() and holds_tensor(held, grad=True) and holds_numbers(value):
        raise NotDifferentiable(
            f"arraygrad.scipy.{name}: it depends on what the object was made of, which requires grad, but the "
            f"attribute has no rule here{': ' if instead else ''}{instead}. Make the object of detach() if no gradient "
            "is wanted"
        )
    return value


# -- functions among the arguments ------------------------------------------------------------------------------------


def watched(name, values, reason="", leaks=None):
    """The values, callables among them replaced by ones that refuse to hand a Tensor that requires grad to SciPy.

    `reason`: why the function that takes them has no rule; "" if it has one. `leaks`: a list that is told of a refusal.
    """
    leaks = [] if leaks is None else leaks
    return [
        _watching(name, v, reason, leaks) if isinstance(v, _CALLBACKS) or called_by(v) is not None else v
        for v in values
    ]


_CALLBACKS = (types.FunctionType, types.MethodType, functools.partial)


def _watching(name, f, reason, leaks):
    @functools.wraps(f)
    def call(*args, **kwargs):
        result = f(*args, **kwargs)
        if is_grad_enabled() and holds_tensor(result, grad=True):
            leaks.append(f)
            text = f"arraygrad.scipy.{name}: '{getattr(f, '__name__', type(f).__name__)}' depends on a Tensor that "
            if reason:
                raise NotDifferentiable(f"{text}requires grad, but {reason}. Return its detach() if none is wanted")
            raise TypeError(
                f"{text}requires grad and is not among its arguments, so its gradient would be lost: pass it in args. "
                "Of an object that holds it (an interpolant, a distribution, a model) pass what it is made of, and "
                "make it in the function"
            )
        return raw(result)

    return call


class Guarded:
    """An object of SciPy's that is called and has methods (a distribution without rules): its own for constants.

    Calls and methods refuse a Tensor that requires grad. It counts as an instance of SciPy's class.
    """

    def __init__(self, name, value, reason):
        vars(self).update(_name=name, scipy_object=value, _reason=reason)

    # `raw` looks for it on the class.
    scipy_object = None

    __class__ = property(lambda self: type(self.scipy_object))

    def __call__(self, *args, **kwargs):
        return guarded(self._name, self.scipy_object.__call__, self._reason)(*args, **kwargs)

    def __getattr__(self, name):
        value = getattr(vars(self)["scipy_object"], name)
        if not callable(value) or name.startswith("__"):
            return value
        return guarded(f"{self._name}.{name}", value, self._reason)

    def __dir__(self):
        return dir(self.scipy_object)

    def __repr__(self):
        return f"<arraygrad.scipy.{self._name}: SciPy's, without a derivative>"

    def __reduce__(self):
        return _reached, tuple(self._name.rsplit(".", 1))


def _reached(chapter, name):
    return getattr(importlib.import_module(f"arraygrad.scipy.{chapter}"), name)


def _submodule(module, name):
    """A module of SciPy's that SciPy leaves to be imported (`optimize.elementwise`), None where there is none."""
    try:
        return importlib.import_module(f"{module.__name__}.{name}")
    except ModuleNotFoundError:
        return None


def mirror(namespace, module):
    """`__getattr__` and `__dir__` of a chapter: names that it does not define are SciPy's.

    Functions refuse Tensors that require grad. Classes and constants are SciPy's own objects; a Tensor that requires
    grad refuses to be converted by them.
    """
    chapter = namespace["__name__"].partition("arraygrad.scipy.")[2]

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        try:
            value = getattr(module, name)
        except AttributeError:
            value = _submodule(module, name)
            if value is None:
                raise AttributeError(
                    f"module {namespace['__name__']!r} has no attribute {name!r}: nor has SciPy"
                ) from None
        if callable(value) and not isinstance(value, type):
            with_methods = type(value).__module__.startswith("scipy.")
            value = (Guarded if with_methods else guarded)(f"{chapter}.{name}", value, "the function has no rule here")
        namespace[name] = value
        return value

    def __dir__():
        return sorted({*dir(module), *[name for name in namespace if not name.startswith("_")]})

    return __getattr__, __dir__
