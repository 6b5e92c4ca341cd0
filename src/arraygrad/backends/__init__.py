"""Which backend serves which array: the lazy registry behind `core.tensor.backend_of`.

May import: engine.node, core.tensor, and the modules of this package when an array of their library is first seen.

The core keeps a dict from array type to Backend. For a type it does not know it calls `backend_for` once; what that
returns is registered, so an array library is imported by whoever makes its arrays and never by arraygrad. A module
here named as the library (`numpy`, `array_api_strict` in `strict`) knows its quirks; any other library whose arrays
speak the Array API is served by `generic`. Begin with `generic.py`, then `torch.py`.
"""

import importlib
import numbers
from collections.abc import Iterator
from datetime import timedelta

from arraygrad.core.tensor import register_backend, set_backend_finder
from arraygrad.engine.node import keep_package_for_ever

__all__ = ["backend_for", "library_of", "raw_namespace", "set_namespace_hook"]

# Root module of an array's type -> library, where the two differ.
_ROOTS = {"jaxlib": "jax"}

# Library -> module of this package that knows it.
_MODULES = {
    "array_api_strict": "strict",
    "cupy": "cupy",
    "dask": "dask",
    "jax": "jax",
    "numpy": "numpy",
    "torch": "torch",
}

# Library -> its Array-API namespace, where that is not the library's own top-level module.
_NAMESPACES = {
    "cupy": "array_api_compat.cupy",
    "torch": "array_api_compat.torch",
    "dask": "array_api_compat.dask.array",
    "jax": "jax.numpy",
}

# Library -> what `pip install 'arraygrad[...]'` calls it.
_EXTRAS = {
    "array_api_strict": "strict",
    "cupy": "cupy12x] or arraygrad[cupy13x",
    "dask": "dask",
    "jax": "jax",
    "torch": "torch",
}

# Arrays of these do not say `__array_namespace__` themselves.
_WITHOUT_METHOD = frozenset(("cupy", "torch", "dask"))

_namespace_hook = None
_attached: list[tuple] = []  # (backend, library) of every backend so far


def set_namespace_hook(hook):
    """Set hook(backend, library), which gives each backend, old and new, the namespaces that rules and users see."""
    global _namespace_hook
    _namespace_hook = hook
    for backend, library in _attached:
        hook(backend, library)


def backend_for(obj):
    """The Backend that serves arrays of type(obj), made and registered if need be.

    Raises
    ------
    TypeError
        If `obj` is no array, or an array that can't be differentiated as it is (a masked array, numpy.matrix or
        another subclass of numpy.ndarray; objects instead of numbers). The text names the class and the way out.
    """
    cls = type(obj)
    library = library_of(cls)
    if library is None:
        raise TypeError(_no_array(obj))
    if library == "autograd":
        raise TypeError(
            f"{cls.__module__}.{cls.__qualname__} is a value that HIPS autograd follows, and arraygrad's functions are "
            "not known to it: take the gradient by arraygrad.grad(f)(x), which follows functions of both"
        )
    own = _module_for(library)
    if own is not None:
        return own.register(obj)
    from arraygrad.backends import generic

    return generic.register(obj, library, raw_namespace(library))


def attach(backend, library, array_type):
    """Register `backend` for `array_type` and give it its namespaces. For the modules of this package."""
    keep_package_for_ever("arraygrad")
    _attached.append((backend, library))
    if _namespace_hook is not None:
        _namespace_hook(backend, library)
    register_backend(array_type, backend)  # last: from here on other threads find it
    return backend


def importable(name):
    """Whether there is a module of that name, without importing it (what it is in, is imported)."""
    from importlib.util import find_spec

    return find_spec(name) is not None


def library_of(cls):
    """Name of the array library that `cls` belongs to ("numpy", "torch", ...), or None if it is no array type."""
    for base in cls.__mro__:
        root = base.__module__.partition(".")[0]
        if base.__name__ == "ndarray" and root == "numpy":
            return "numpy"
        library = _ROOTS.get(root, root)
        if library in _WITHOUT_METHOD and base.__name__ in ("ndarray", "Tensor", "Array"):
            return library
    if hasattr(cls, "__array_namespace__") and not _is_scalar_type(cls):
        root = cls.__module__.partition(".")[0]
        return _ROOTS.get(root, root)
    return None


def raw_namespace(library):
    """The library's own Array-API namespace, array-api-compat's where it has one.

    Raises
    ------
    ImportError
        If the library, or array-api-compat where that is needed, is not installed.
    """
    if library in _EXTRAS and not importable(library):
        raise ImportError(
            f"arraygrad.{library} needs {library}, which is not installed: pip install arraygrad[{_EXTRAS[library]}]",
            name=library,
        )
    own = _module_for(library)
    if own is not None:
        return own.raw_namespace()
    if library in _NAMESPACES:
        return importlib.import_module(_NAMESPACES[library])
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise ImportError(
            f"there is no array library {library!r}: give 'numpy', 'torch', 'jax', 'cupy', 'dask', 'array_api_strict', "
            "or the name of another module that follows the Array API standard",
            name=library,
        ) from None


def _module_for(library):
    """The module of this package that knows `library`, or None."""
    return importlib.import_module(f"{__name__}.{_MODULES[library]}") if library in _MODULES else None


def _is_scalar_type(cls):
    # NumPy's scalars have __array_namespace__ too, but they are constants of whatever backend they meet.
    return any(base.__module__ == "numpy" and base.__name__ == "generic" for base in cls.__mro__)


def _no_array(obj):
    cls = type(obj)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    if isinstance(obj, list | tuple):
        return (
            f"expected an array or a Tensor, got a {name}: make it one with arraygrad.asarray(...) (nested lists of "
            "Tensors are stacked)"
        )
    if isinstance(obj, str | bytes):
        return f"expected an array or a Tensor of numbers, got a {name}"
    if cls.__module__.partition(".")[0] == "pandas" and cls.__name__ == "DataFrame":
        return (
            f"expected an array or a Tensor, got {name}: pass its values, df.to_numpy(), or a dict of its columns, "
            "{name: df[name].to_numpy() for name in df}"
        )
    if isinstance(obj, numbers.Number):
        return f"expected an array or a Tensor, got {name}: give it as a float, float(x)"
    if isinstance(obj, timedelta):
        return f"expected an array or a Tensor, got {name}: give it as a number, x.total_seconds()"
    if isinstance(obj, range | set | frozenset):
        return f"expected an array or a Tensor, got {name}: make an array of it, numpy.array(list(x), dtype=float)"
    if isinstance(obj, Iterator):
        return f"expected an array or a Tensor, got {name}: an iterator runs once; make a list of it, list(x)"
    if cls.__module__.startswith("scipy.sparse"):
        return (
            f"expected an array or a Tensor, got {name}: pass its values, matrix.data, and make the matrix of them in "
            "the function, csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape), which is recorded; "
            "matrix.toarray() is dense, and matrix @ x a product that is recorded"
        )
    if cls.__module__.partition(".")[0] == "pandas":
        return f"expected an array or a Tensor, got {name}: pass its values, {cls.__name__.lower()}.to_numpy()"
    if cls.__module__.partition(".")[0] == "xarray":
        return (
            f"expected an array or a Tensor, got {name}: pass its array, x.data, and give it its labels in the "
            "function, x.copy(data=t), which is recorded"
        )
    return (
        f"expected an array or a Tensor, got {name}: it has no __array_namespace__, so no array library is known to "
        "serve it; convert it to a NumPy, CuPy, PyTorch, JAX or other Array-API array first"
    )


set_backend_finder(backend_for)
