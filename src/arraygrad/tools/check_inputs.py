"""The function to check and what it is called with, for `python -m arraygrad check`.

May import: arraygrad's core.containers, numpy.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

import numpy

from arraygrad.core.containers import flatten

__all__ = ["CannotCheck", "differentiated", "load", "make_inputs"]


class CannotCheck(RuntimeError):
    """There is nothing to check: no such module or function, or no inputs for it."""


def load(target):
    """(function, dotted name of its module) of MODULE:FUNCTION; MODULE may be a path that ends with .py.

    The current folder is looked in first, as by `python -m`.

    Raises
    ------
    CannotCheck
        If the target has another form, or there is no such module or function.
    """
    module_name, colon, name = target.rpartition(":")
    if not colon or not module_name or not name:
        raise CannotCheck(f"expected MODULE:FUNCTION, as in package.model:loss or model.py:loss, got {target!r}")
    module = _module(module_name)
    found = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise CannotCheck(f"module {module.__name__} has no function {name}") from None
    if not callable(found):
        raise CannotCheck(f"{target} is no function but {type(found).__name__}")
    return found, module.__name__


def _module(name):
    if name.endswith(".py"):
        path = Path(name).resolve()
        if not path.is_file():
            raise CannotCheck(f"there is no file {name}")
        loaded = sys.modules.get(path.stem)
        if loaded is not None and getattr(loaded, "__file__", None) == str(path):
            return loaded
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise CannotCheck(f"there is no module {error.name}") from error


def make_inputs(function, options):
    """(args, kwargs) as the command line asks for them.

    `options.inputs` names a function that makes them, `options.shapes` their shapes; without both, every required
    positional parameter is a float.

    Raises
    ------
    CannotCheck
        If the factory's result is no tuple of arguments, or the parameters cannot be known.
    """
    rng = numpy.random.default_rng(options.seed)
    if options.inputs is not None:
        target = options.inputs if ":" in options.inputs else f"{options.target.rpartition(':')[0]}:{options.inputs}"
        factory, _ = load(target)
        made = factory(rng) if inspect.signature(factory).parameters else factory()
        kwargs = {}
        if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], tuple) and isinstance(made[1], dict):
            made, kwargs = made
        if not isinstance(made, tuple):
            raise CannotCheck(f"{target} must return a tuple of arguments (or of a tuple and a dict), got {type(made)}")
        return made, kwargs
    shapes = options.shapes
    if shapes is None:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise CannotCheck(
                f"the parameters of {options.target} cannot be known: give --shapes or --inputs"
            ) from None
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        shapes = [() for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
        if not shapes:
            raise CannotCheck(f"{options.target} has no required parameter: give --shapes or --inputs")
    low, high = options.range
    dtype = numpy.dtype(options.dtype)
    return tuple([_random(rng, shape, dtype, low, high) for shape in shapes]), {}


def _random(rng, shape, dtype, low, high):
    value = rng.uniform(low, high, size=shape)
    if dtype.kind == "c":
        value = value + 1j * rng.uniform(low, high, size=shape)
    return numpy.asarray(value).astype(dtype)


def differentiated(function, args):
    """Positions of the arguments that hold floating-point numbers and no integers.

    Raises
    ------
    CannotCheck
        If there is none.
    """
    found = tuple([i for i, arg in enumerate(args) if _is_floating(arg)])
    if not found:
        raise CannotCheck(
            f"no argument of {getattr(function, '__name__', function)} holds floating-point numbers (and no integers)"
        )
    return found


def _is_floating(arg):
    kinds = set()
    for leaf in flatten(arg)[0]:
        if isinstance(leaf, bool):
            continue
        if isinstance(leaf, (int, float, complex)):
            kinds.add("i" if isinstance(leaf, int) else "f")
            continue
        dtype = getattr(leaf, "dtype", None)
        if dtype is not None:
            text = str(dtype)
            kinds.add("f" if "float" in text or "complex" in text else "i")
    return "f" in kinds and "i" not in kinds
