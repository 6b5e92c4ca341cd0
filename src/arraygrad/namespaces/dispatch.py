"""The standard's functions at top level: the backend comes from their arguments, NumPy where there are none.

May import: _first_use, backends, core.tensor, namespaces.bind, namespaces.creation, namespaces.info.
"""

from arraygrad import backends
from arraygrad._first_use import hints_of
from arraygrad.backends.numpy import BACKEND
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.namespaces import creation, info
from arraygrad.namespaces.bind import CONSTANTS, DTYPES, function_for, make_functions
from arraygrad.ops import OPS

__all__ = ["fill", "top_level"]

# Names of the main namespace that an extension shows too.
_SHARED = {
    "linalg": ("matmul", "matrix_transpose", "tensordot", "vecdot"),
    "special": ("erf", "gammaln", "logsumexp"),
}

# Libraries whose dtypes are told by the module of their type.
_LIBRARIES = frozenset(("numpy", "cupy", "torch", "jax", "dask", "array_api_strict"))


def _numpy():
    return BACKEND


def _choose(*args):
    """The raw namespace that serves dtypes and arrays: that of the first argument which says."""
    for arg in args:
        if isinstance(arg, Tensor):
            return backend_of(arg).xp
        owner = arg if isinstance(arg, type) else type(arg)
        root = owner.__module__.partition(".")[0]
        if root in _LIBRARIES:
            return backends.raw_namespace(root)
    return BACKEND.xp


def top_level():
    """dict name -> value of every one of `_bind.NAMES`."""
    contents = make_functions("", "arraygrad", _numpy)
    contents.update(info.make_info(BACKEND.xp, "arraygrad", _choose))
    contents.update(creation.make_creation(BACKEND.xp, "arraygrad", _numpy))
    contents.update(CONSTANTS)
    contents.update({name: getattr(BACKEND.xp, name) for name in DTYPES})
    del contents["asarray"]
    return contents


def fill(module_globals, extension):
    """Fill the module `arraygrad.linalg`, `arraygrad.fft` or `arraygrad.special`."""
    name = module_globals["__name__"]
    contents = make_functions(extension, name, _numpy)
    for shared in _SHARED.get(extension, ()):
        contents[shared] = function_for(OPS[shared], name, _numpy)
    contents.update(creation.make_creation(BACKEND.xp, name, _numpy, extension))
    module_globals.update(contents)
    module_globals["__all__"] = sorted(contents)
    module_globals["__dir__"] = lambda: module_globals["__all__"]
    module_globals["__getattr__"] = hints_of(name)
