"""What a transform returns: a callable with the name of the user's function, which pickles where that function does.

May import: core.tensor, transforms.tracked_call, numpy, the standard library.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types

import numpy

from arraygrad.core.tensor import Tensor
from arraygrad.transforms.tracked_call import TrackedCall, function_name

__all__ = [
    "Names", "Transformed", "accepts", "chosen", "exact", "flag", "given_at_once", "instead", "one_by_one",
    "track_call",
]  # fmt: skip


class Transformed:
    """The function that a transform makes of the user's. Subclasses compute in `__call__`.

    Parameters
    ----------
    transform : callable
        The public transform: called with the user's function and `options` it makes the same again.
    original : callable
        The user's function.
    function : callable
        What is tracked: the same, or what calls it adopted.
    which : int, tuple of int or Names
        What is differentiated.
    options : dict
        The transform's other arguments, by name.
    """

    adopts_itself = True  # a transform of it need not adopt it

    def __init__(self, transform, original, function, which, **options):
        functools.update_wrapper(self, original)
        self._transform = transform
        self._original = original
        self._f = function
        self._which = which
        self._options = options

    def made_over(self, original):
        """What the transform makes of another function, with the same options: closed_functions.py."""
        return self._transform(original, **self._options)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self):
        return _again, (self._transform, self._original, self._options)

    def __repr__(self):
        return f"<{self._transform.__name__} of {self._original!r}>"


# What may stand beside a transform's function in arithmetic that was meant for its result.
_NO_OPERANDS: tuple = (
    int, float, complex, numpy.ndarray, numpy.generic, Tensor, Transformed, types.FunctionType, types.NoneType
)  # fmt: skip


def _without_arithmetic(name, sign):
    """The method of Transformed for an operator: it raises the TypeError that Python would, with what to write."""

    def method(self, other=None):
        if not isinstance(other, _NO_OPERANDS):
            return NotImplemented  # another library's object may know what to do
        call = f"{self._transform.__name__}(f)"
        way = f"a {sign} {call}(x)" if name[0] == "r" else f"{call}(x) {sign} a"
        way = f"{sign}{call}(x)" if name == "neg" else way
        raise TypeError(f"{call} is a function, which has no arithmetic: call it first, {way}")

    return method


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@"}.items():
    setattr(Transformed, f"__{_name}__", _without_arithmetic(_name, _sign))
    setattr(Transformed, f"__r{_name}__", _without_arithmetic(f"r{_name}", _sign))
setattr(Transformed, "__neg__", _without_arithmetic("neg", "-"))  # noqa: B010


def instead(name, f):
    """What was meant by a transform of something that is no function."""
    if f is None:
        return (
            f": give the function first, {name}(f, argnums=1); as a decorator with options, "
            f"@functools.partial({name}, argnums=1)"
        )
    if isinstance(f, Tensor) and name == "grad":
        return ": of a Tensor that was computed arraygrad.autograd.grad(output, inputs) is the gradient"
    return f": give the function itself and call what comes back, {name}(f)(x)"


def given_at_once(name):
    """What to write where a transform was given the arguments of its function."""
    arguments = "x, vector" if name == "hvp" else "x"
    return f"{name}(f) is a function, which takes the arguments of f: {name}(f)({arguments})"


def flag(name, has_aux):
    """`has_aux` as a bool. Raises TypeError for what is none: an argument of the function, most often."""
    if not isinstance(has_aux, (bool, int, numpy.bool_)):
        kind = type(has_aux).__name__
        raise TypeError(f"{name}: has_aux must be True or False, got {kind}; {given_at_once(name)}")
    return bool(has_aux)


@contextlib.contextmanager
def one_by_one(name, primals):
    """Say in a TypeError that arguments are given one by one, where the only one is a tuple."""
    try:
        yield
    except TypeError as error:
        if len(primals) == 1 and type(primals[0]) is tuple:
            text = str(error).rstrip(".")
            error.args = (f"{text}. {name} takes the arguments of f one by one, not as a tuple: {name}(f, x)",)
        raise


def exact(transform):
    """Decorate a transform that takes what it does not know as `*more` and `**unknown`, to name what was meant."""
    signature = inspect.signature(transform)
    known = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    known[0] = known[0].replace(default=inspect.Parameter.empty)
    transform.__signature__ = signature.replace(parameters=known)
    return transform


def _again(transform, function, options):
    """What a pickle calls."""
    return transform(function, **options)


class Names:
    """Parameters that are differentiated, by name."""

    __slots__ = ("names", "single")

    def __init__(self, argnames):
        self.single = isinstance(argnames, str)
        self.names = (argnames,) if self.single else tuple(argnames)


def chosen(name, argnums, argnames):
    """What `argnums` and `argnames` choose: the former, or Names.

    Raises
    ------
    TypeError
        If both are given, or either is of the wrong kind.
    """
    if argnames is None:
        if (
            isinstance(argnums, bool)
            or not isinstance(argnums, (int, tuple, list))
            or (not isinstance(argnums, int) and any(isinstance(i, bool) or not isinstance(i, int) for i in argnums))
        ):
            given = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
            if all(isinstance(item, str) for item in given):
                way = f"arguments are chosen by their names with argnames={argnums!r}"
            else:
                way = given_at_once(name)
            raise TypeError(f"{name}: argnums must be an int or a tuple of ints, got {argnums!r}; {way}")
        return argnums
    if type(argnums) is not int or argnums != 0:
        raise TypeError(f"{name}: choose the arguments by argnums or by argnames, not by both")
    given = (argnames,) if isinstance(argnames, str) else argnames
    if not isinstance(given, (tuple, list)) or not all(isinstance(item, str) for item in given):
        raise TypeError(f"{name}: argnames must be a name or a tuple of names, got {argnames!r}")
    if len(set(given)) != len(given):
        raise ValueError(f"{name}: argnames {argnames!r} names an argument twice")
    return Names(argnames)


def track_call(name, function, args, kwargs, which, has_aux=False):
    """A TrackedCall of the function, called with these arguments."""
    if type(which) is not Names:
        return TrackedCall(name, function, args, which).call(kwargs, has_aux)
    call = _ByName(name, function, which, args, kwargs)
    values = tuple([call.values[item] for item in which.names])
    return TrackedCall(name, call, values, 0 if which.single else tuple(range(len(values)))).call(None, has_aux)


class _ByName:
    """A function of the arguments that are chosen by name; all others are those of one call.

    They may be given by position or by keyword there, or be left out where they have a default.
    """

    def __init__(self, name, function, which, args, kwargs):
        self.values = {}
        self._function = function
        self._which = which
        self._args = args
        self._kwargs = kwargs
        self._at = {}  # name -> its position in args
        self.__name__ = function_name(function)
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(item, inspect.Parameter.POSITIONAL_OR_KEYWORD) for item in which.names]
        )
        parameters = _parameters(function)
        positional = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        for item in which.names:
            parameter = parameters.get(item)
            if item in positional[: len(args)]:
                self._at[item] = positional.index(item)
                self.values[item] = args[self._at[item]]
            elif item in kwargs:
                self.values[item] = kwargs[item]
            elif parameter is not None and parameter.default is not parameter.empty:
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    raise TypeError(f"{name}: '{self.__name__}' was called without {item!r}; give it by position")
                self.values[item] = parameter.default
            elif parameter is not None and parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(f"{name}: {item!r} of '{self.__name__}' stands for any number of arguments")
            elif parameter is None and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
                known = ", ".join(map(repr, parameters)) or "none"
                raise TypeError(f"{name}: '{self.__name__}' has no parameter {item!r}; its parameters are {known}")
            else:
                raise TypeError(f"{name}: '{self.__name__}' was called without {item!r}")
        if hasattr(function, "differentiates"):
            self.differentiates = True

    def __call__(self, *values):
        args, kwargs = list(self._args), dict(self._kwargs)
        for item, value in zip(self._which.names, values, strict=True):
            if item in self._at:
                args[self._at[item]] = value
            else:
                kwargs[item] = value
        return self._function(*args, **kwargs)


def _parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled, and does not say
        return {}


def accepts(function, args, kwargs):
    """Whether the function can be called so; True where it does not say."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except ValueError:  # compiled
        return True
    except TypeError:
        return False
    return True
