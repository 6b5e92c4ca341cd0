"""What stands in for SciPy in adopted calls: the functions of arraygrad.scipy, chapter by chapter as they are loaded.

May import: adoption.builtin_answers, adoption.either, adoption.exchange, adoption.code, adoption.table,
adoption.numpy_names, core.inplace, core.tensor, numpy, the standard library; arraygrad.scipy by its name, as SciPy is
optional.
"""

import functools
import importlib
import importlib.util
import sys
import types

import numpy

from arraygrad.adoption.builtin_answers import CLASSES, has_tensor, made_float
from arraygrad.adoption.code import imported, names_in
from arraygrad.adoption.either import Either, EitherClass
from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.numpy_names import module_of
from arraygrad.adoption.table import MAKERS, STAND_INS, stand_in
from arraygrad.core.inplace import read_apart
from arraygrad.core.tensor import Tensor

__all__ = ["MatrixClass", "install", "is_of_matrices", "load", "methods_of", "refresh"]

_ROOM = "arraygrad.scipy"
_done: set = set()  # chapters whose functions are in the table


def refresh():
    """Put what stands in for the chapters of SciPy that are loaded by now into the table; whether any was new."""
    if "scipy" not in sys.modules or _chapters() is None:
        return False
    new = [name for name in _chapters() if name not in _done and f"scipy.{name}" in sys.modules]
    for chapter in new:
        _done.add(chapter)
        _install(chapter)
    if new:
        scipy = sys.modules["scipy"]
        stand_in(scipy, module_of(scipy))
    return bool(new)


def load(code, namespace):
    """Load the chapters of SciPy that code will load when it runs: what stands in for them must be there by then.

    These are `from scipy.signal import freqz` in a function's body, and `scipy.signal` of a module whose chapters SciPy
    loads when they are asked for.
    """
    names, paths = names_in(code), _paths(code)
    scipy = sys.modules.get("scipy")
    if not paths and (scipy is None or not any(namespace.get(name) is scipy for name in names)):
        return
    wanted = names.union(*paths)
    chapters = importlib.import_module(_ROOM).CHAPTERS
    new = [name for name in chapters if name in wanted and f"scipy.{name}" not in sys.modules]
    if new and importlib.util.find_spec("scipy") is not None:
        for name in new:
            importlib.import_module(f"scipy.{name}")
        refresh()


def _of_a_proxy(value):
    """(it, what stands in for the module) of a module that loads another one of its name when it is asked; None else.

    Libraries make such objects, of a class derived from that of modules: `fftpack = LazyImport("scipy.fftpack")`.
    """
    if not isinstance(value, types.ModuleType) or type(value) is types.ModuleType:
        return None
    name = types.ModuleType.__getattribute__(value, "__dict__").get("__name__")
    if not isinstance(name, str) or name.partition(".")[0] not in ("numpy", "scipy"):
        return None
    if name not in sys.modules and importlib.util.find_spec(name) is not None:
        importlib.import_module(name)
        refresh()
    real = sys.modules.get(name)
    pair = STAND_INS.get(id(real))
    return None if pair is None or real is value else (value, pair[1])


def install():
    """Have proxies of modules of NumPy and SciPy found."""
    MAKERS.append(_of_a_proxy)


def _paths(code):
    """The names, taken apart, of the modules of SciPy that code imports."""
    paths = [name.split(".") for name in imported(code, None)]
    return [path for path in paths if path[0] == "scipy"]


@functools.cache
def _chapters():
    """Names of the chapters, None without arraygrad.scipy, or where SciPy is older than it needs."""
    if importlib.util.find_spec(_ROOM) is None:
        return None
    room = importlib.import_module(_ROOM)
    return room.CHAPTERS if room.serves(sys.modules["scipy"].__version__) else None


def methods_of(cls):
    """[(class, name, method, stand-in)] of the methods of SciPy's interpolants that take points, () of other classes.

    A program may have made the object before it is differentiated.
    """
    if not cls.__module__.startswith("scipy.interpolate") or not _chapters():
        return ()
    methods = importlib.import_module(f"{_ROOM}.interpolate._of_plain").METHODS
    return [method for known, found in methods.items() if issubclass(cls, known) for method in found]


def _install(chapter):
    ours = importlib.import_module(f"{_ROOM}.{chapter}")
    declared = importlib.import_module(f"{_ROOM}._declare").REGISTRY
    prefix = f"{chapter}."
    objects = getattr(ours, "OBJECTS", {})
    found = {name.removeprefix(prefix): rule.function for name, rule in declared.items() if name.startswith(prefix)}
    found = {name: function for name, function in found.items() if name.partition(".")[0] not in objects}
    for name, value in (*found.items(), *objects.items()):
        owner = sys.modules[f"scipy.{chapter}"]
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part, None)
        real = getattr(owner, last, None)
        if real is None or value is None or real is value:
            continue
        if isinstance(value, types.FunctionType):
            stand_in(real, _gate(real, value))
        elif isinstance(real, type):
            stand_in(real, (MatrixClass if is_of_matrices(real) else EitherClass)(real, value))
        elif not isinstance(value, type):
            stand_in(real, Either(real, value))
    CLASSES.update({id(cls): counts_as for cls, counts_as in getattr(ours, "KINDS", {}).items()})
    for name, module in list(sys.modules.items()):
        if name.startswith(f"scipy.{chapter}.") and "._" not in name and isinstance(module, types.ModuleType):
            stand_in(module, module_of(module))
    stand_in(sys.modules[f"scipy.{chapter}"], module_of(sys.modules[f"scipy.{chapter}"]))


class MatrixClass(EitherClass):
    """A class of sparse matrices. One of ours is an instance where its plain matrix, of its values' library, is one."""

    __slots__ = ()

    def __instancecheck__(self, obj):
        counts_as = CLASSES.get(id(type(obj)))
        return isinstance(obj, self._real) if counts_as is None else issubclass(counts_as(obj), self._real)

    def _classes(self):
        return (self._real,)


def is_of_matrices(cls):
    """Whether a class of SciPy's, or of another library with its names, is one of sparse matrices."""
    return hasattr(cls, "tocsr") or cls.__name__ in ("spmatrix", "sparray")


def _gate(real, ours):
    """Ours in adopted calls, SciPy's own elsewhere."""
    if isinstance(real, numpy.ufunc):
        return _of_ufunc(real, ours)

    gives_floats = real.__name__ in _FLOATS

    @functools.wraps(real)
    def function(*args, **kwargs):
        if not is_on():
            return real(*args, **kwargs)
        found = ours(*args, **kwargs)
        if gives_floats:
            made_float(found[0] if type(found) is tuple else found)
        return found

    function.stands_for = real  # SciPy's classes compare what they are given: RegularGridInterpolator(solver=spsolve)
    return function


# Functions whose results, or the first of them, are Python's floats, and no scalars of NumPy's.
_FLOATS = frozenset("quad dblquad nquad tplquad brentq brenth bisect ridder splint".split())


def _of_ufunc(real, ours):
    """The same for a ufunc of scipy.special, with its attributes and methods; results are written into `out`."""

    @functools.wraps(real)
    def function(*args, **kwargs):
        if not is_on():
            return real(*args, **kwargs)
        out = args[real.nin :] or kwargs.get("out")
        out = out if out is None or isinstance(out, tuple) else (out,)
        if out is None or not any(isinstance(target, Tensor) for target in out) or "where" in kwargs:
            return ours(*args, **kwargs)
        kwargs.pop("out", None)
        found = ours(*read_apart(args[: real.nin], out), **kwargs)
        several = isinstance(found, tuple)
        results = list(found) if several else [found]
        for i, target in enumerate(out):
            if target is not None:
                numpy.copyto(target, results[i])
                results[i] = target
        return tuple(results) if several else results[0]

    for name in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature"):
        setattr(function, name, getattr(real, name))
    for name in ("outer", "reduce", "accumulate", "reduceat", "at"):
        setattr(function, name, _method(real, name, ours))
    return function


def _method(real, name, ours):
    @functools.wraps(getattr(real, name))
    def method(*args, **kwargs):
        if not is_on() or not has_tensor([*args, *kwargs.values()]):
            return getattr(real, name)(*args, **kwargs)
        if name == "outer" and len(args) == 2 and not kwargs:
            a, b = args
            return ours(numpy.reshape(a, numpy.shape(a) + (1,) * numpy.ndim(b)), b)
        raise TypeError(
            f"scipy.special.{real.__name__}.{name}: this method of a ufunc has no rule for Tensors: write it with "
            f"calls of {real.__name__}(...) itself, which is recorded"
        )

    return method
