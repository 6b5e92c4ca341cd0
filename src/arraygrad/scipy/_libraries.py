"""SciPy's functions in other array libraries: cupyx.scipy has namesakes, which compute on CuPy's arrays.

May import: core.tensor; CuPy by its name, once a program has arrays of it.

Note [Namesakes]
~~~~~~~~~~~~~~~~
A declared function has its values from the function of that name in the library of its arrays, and its derivative from
the rule that is declared, which is made of operations that every backend has.
(1) Which library it is, is looked up once, in the call: `namesake`. What the library lacks is refused by name.
(2) Parameters that the namesake lacks are refused by name. Where its default is another one than SciPy's, the rule gets
    what the call means: SciPy's default is passed on.
    Functions of ours that ask the library of their arrays themselves (`serve`) are called as they are.
(3) A rule that asks NumPy or SciPy for something on the way cannot do so for arrays on a device. It runs on the host
    then, on recorded copies of what it needs (`_on_host`): its result is the same, of every order.
(4) Sparse matrices: Note [Matrices on a device] in sparse/_devices.py.
(5) A composition that asks NumPy or SciPy for something on the way runs on the host, too (`composed_on`).
(6) Namesakes that write over what they are given get copies: what backward reads stays, as do the program's arrays.
Guarded by tests/gpu/test_namesakes.py, and by every sample of SciPy's functions in tests/gpu/test_cupyx_samples.py.
"""

import functools
import importlib
import inspect
import sys

from arraygrad.core.tensor import Tensor

__all__ = [
    "chapter_of", "host_array", "is_foreign", "is_foreign_matrix", "library_of", "loaded_arrays", "namesake",
    "other_names", "same_memory", "serve",
]  # fmt: skip

# Library of arrays -> the package with SciPy's names, and its chapters whose functions are called.
_PACKAGES: dict[str, tuple[str, frozenset]] = {
    "cupy": (
        "cupyx.scipy",
        frozenset("fft fftpack interpolate linalg ndimage signal sparse spatial special stats".split()),
    ),
}
# Names of parameters that say how something is computed, or that nothing depends on.
_UNSEEN = frozenset(
    "check_finite overwrite_a overwrite_b overwrite_x workers plan driver lapack_driver casting order subok".split()
)

# Functions of cupyx that write over arrays of floating point that they are given: (6).
_OVERWRITES = frozenset(("signal.chirp", "signal.sweep_poly", "stats.entropy"))

# Functions of ours whose values are computed for arrays of every library here.
_served: dict = {}


def serve(name, function):
    """Register the values of a declared function of ours, which asks the library of its arrays itself."""
    _served[name] = function


def is_foreign(leaf):
    """Whether a value is an array that SciPy does not take: of a library with a package of SciPy's names."""
    return type(leaf).__module__.partition(".")[0] in _PACKAGES and hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def is_foreign_matrix(value):
    """Whether a value is a sparse matrix of such a library."""
    module = type(value).__module__
    return any(module.startswith(f"{package}.sparse") for package, _ in _PACKAGES.values()) and hasattr(value, "tocsr")


def loaded_arrays():
    """The modules of those libraries' arrays that the program has loaded."""
    return [sys.modules[name] for name in _PACKAGES if name in sys.modules]


def library_of(leaves):
    """The library of the first such array among some values (`is_foreign`); None where there is none."""
    for leaf in leaves:
        array = leaf.array if isinstance(leaf, Tensor) else leaf
        if is_foreign(array):
            return type(array).__module__.partition(".")[0]
    return None


def namesake(name, library, given, signature=None):
    """The function of dotted name `name` below scipy in the package of `library`, for a call with the keywords `given`.

    Parameters
    ----------
    given : dict
        The arguments by the names of SciPy's parameters.
    signature : inspect.Signature, optional
        SciPy's.

    Returns
    -------
    callable
        Of the same arguments.

    Raises
    ------
    TypeError
        If the package has no such function, or it lacks a parameter that is given.
    """
    if name in _served:
        return _served[name]
    package, chapters = _PACKAGES[library]
    chapter, _, rest = name.partition(".")
    found = _find(package, chapter, rest) if chapter in chapters else None
    if found is None:
        raise TypeError(
            f"arraygrad.scipy.{name}: its values are computed by SciPy, on arrays of NumPy, and {package} is not asked "
            f"for it: move the arguments there (arraygrad.to_backend(x, 'numpy')), which keeps their gradients"
        )
    theirs = _parameters(found)
    if theirs is None:
        return found
    if name in _OVERWRITES:
        found = _on_copies(found)
    names = {} if signature is None else other_names(signature.parameters, theirs)
    lacking = [key for key in given if names.get(key, key) not in theirs and key not in _UNSEEN]
    if lacking:
        raise TypeError(
            f"arraygrad.scipy.{name}: {package}.{name} has no parameter {', '.join(lacking)}: leave it out, or move "
            "the arguments to NumPy (arraygrad.to_backend(x, 'numpy')), which keeps their gradients"
        )
    return functools.partial(_called, name, found, names, _other_defaults(theirs, names, signature))


@functools.cache
def _on_copies(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        args = [a.copy() if is_foreign(a) else a for a in args]
        return function(*args, **{key: value.copy() if is_foreign(value) else value for key, value in kwargs.items()})

    return call


def _called(name, function, names, defaults, *args, **kwargs):
    theirs = _parameters(function)
    kwargs = {names.get(key, key): value for key, value in kwargs.items()}
    kwargs = {key: value for key, value in kwargs.items() if key in theirs or key not in _UNSEEN}
    args = [_window(value) for value in args]
    kwargs = {key: _window(value) for key, value in kwargs.items()}
    given = {*list(theirs)[: len(args)], *kwargs}
    kwargs.update((key, value) for key, value in defaults.items() if key not in given)
    try:
        return function(*args, **kwargs)
    except (ImportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "installed" not in str(error):
            raise
        raise TypeError(
            f"arraygrad.scipy.{name}: {function.__module__} can't compute it here ({error}): move the arguments to "
            "NumPy (arraygrad.to_backend(x, 'numpy')), which keeps their gradients"
        ) from error


def _window(value):
    """A window's name without the suffix that SciPy 1.17 has for what other libraries take a name alone for."""
    if isinstance(value, str):
        return value.removesuffix("_periodic")
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        return (_window(value[0]), *value[1:])
    return value


def other_names(ours, theirs):
    """dict of the names of parameters that stand at the same place under another name in the namesake."""
    pairs = zip(ours, theirs, strict=False)
    return {key: other for key, other in pairs if key != other and key not in theirs and other not in ours}


def chapter_of(library, chapter):
    """The module of a chapter of SciPy's names in the package of a library."""
    return importlib.import_module(f"{_PACKAGES[library][0]}.{chapter}")


@functools.cache
def _find(package, chapter, rest):
    *inner, last = rest.split(".")
    owner = None
    for path in (".".join([package, chapter, *inner]), f"{package}.{chapter}"):  # a module, or an object of one
        try:
            owner = importlib.import_module(path)
        except ImportError:
            continue
        for part in inner if path.endswith(f".{chapter}") and inner else ():
            owner = getattr(owner, part, None)
        break
    found = getattr(owner, last, None)
    return found if callable(found) else None


@functools.cache
def _parameters(function):
    """The parameters of a function by name; None where it has no signature to read, as a ufunc."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    kinds = {p.kind for p in found.values()}
    return None if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} else dict(found)


def _other_defaults(theirs, names, signature):
    """SciPy's defaults of parameters for which the namesake has another one, by the namesake's names."""
    found = {}
    for own, parameter in () if signature is None else signature.parameters.items():
        key = names.get(own, own)
        other = theirs.get(key)
        if key == "fs" and parameter.default is None:  # which is the library's own number
            continue
        if other is None or key in _UNSEEN or parameter.default is parameter.empty or other.default is other.empty:
            continue
        default = _window(parameter.default)
        if isinstance(default, _PLAIN) and _differ(default, other.default):
            found[key] = default
    return found


# Defaults that can be passed on: others are marks of SciPy's, for what is not given.
_PLAIN = (bool, int, float, complex, str, tuple, type(None))


def _differ(a, b):
    return type(a) is not type(b) or a != b


def host_array(a):
    """An array of such a library as NumPy's, for decisions; anything else as it is."""
    return a.get() if is_foreign(a) else a


def same_memory(out, held):
    """Whether an array of such a library may share memory with one of `held`."""
    module = sys.modules[type(out).__module__.partition(".")[0]]
    return any(is_foreign(a) and module.may_share_memory(out, a) for a in held)
