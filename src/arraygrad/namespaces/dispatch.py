"""The standard's functions at top level: the backend comes from their arguments, NumPy where there are none.

May import: _first_use, backends, core.tensor, namespaces.bind; namespaces.creation and namespaces.info on first use.
"""

import functools

from arraygrad import backends
from arraygrad._first_use import hints_of
from arraygrad.backends.numpy import BACKEND
from arraygrad.core.tensor import Tensor, backend_of
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


def top_level(name):
    """The value of one of `bind.NAMES`, made anew: the package keeps it when it is first asked for."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in DTYPES:
        return getattr(BACKEND.xp, name)
    op = OPS[name]
    chapter = "data_type" if name == "broadcast_shapes" else op.entry.chapter
    return _written(chapter).get(name) or function_for(op, "arraygrad", _numpy)


@functools.cache
def _written(chapter):
    """dict name -> function, of those of a chapter that are written out, not made of their entries."""
    if chapter == "creation":
        from arraygrad.namespaces import creation

        return creation.make_creation(BACKEND.xp, "arraygrad", _numpy)
    if chapter == "data_type":
        from arraygrad.namespaces import info

        return info.make_info(BACKEND.xp, "arraygrad", _choose)
    return {}


def fill(module_globals, extension):
    """Fill the module `arraygrad.linalg`, `arraygrad.fft` or `arraygrad.special`."""
    from arraygrad.namespaces import creation

    name = module_globals["__name__"]
    contents = make_functions(extension, name, _numpy)
    for shared in _SHARED.get(extension, ()):
        contents[shared] = function_for(OPS[shared], name, _numpy)
    contents.update(creation.make_creation(BACKEND.xp, name, _numpy, extension))
    module_globals.update(contents)
    module_globals["__all__"] = sorted(contents)
    module_globals["__dir__"] = lambda: module_globals["__all__"]
    module_globals["__getattr__"] = hints_of(name)
