"""Differentiable Array-API namespaces over raw ones.

May import: backends, ops, core.tensor, namespaces.bind, namespaces.creation, namespaces.info, namespaces.largest.
Nothing here is imported by them.

Three views of one table:

- the public namespace, a module such as `arraygrad.numpy` (`build`, `namespace`);
- what rules see in a plain backward: raw functions and raw internal operations (`RuleNamespace`);
- what rules see with create_graph: the public functions and recorded internal operations (`GraphNamespace`).
"""

import functools
import importlib
import sys
import types

from arraygrad import backends
from arraygrad.core.calls import raw_function
from arraygrad.core.tensor import backend_of, install_methods, set_backend_namespaces
from arraygrad.namespaces.bind import CONSTANTS, DTYPES, function_for, make_functions
from arraygrad.ops import OPS

__all__ = [
    "API_VERSION",
    "EXTENSIONS",
    "array_namespace",
    "build",
    "build_extension",
    "install",
    "make_graph_namespace",
    "make_rule_namespace",
    "namespace",
]

API_VERSION = "2025.12"

EXTENSIONS = ("linalg", "fft")

# Extensions of the table that no library's namespace has: every function comes from its entry's forward.
OWN_EXTENSIONS = ("special",)

# Names in the main namespace that the standard repeats in linalg.
_ALSO_IN_LINALG = ("matmul", "matrix_transpose", "tensordot", "vecdot")

# Namespaces that import where their library is not installed (few machines have a GPU), and those that did so.
_READABLE = ("cupy",)
_absent: set[str] = set()

# library -> its public namespace; guarded by the GIL, a lost race builds the same module twice and keeps one.
_namespaces: dict[str, types.ModuleType] = {}


def namespace(module_or_name):
    """The differentiable namespace over an Array-API library, always the same module for the same library.

    Parameters
    ----------
    module_or_name
        A library ("torch"), or its namespace module: numpy, torch, jax.numpy, array_api_compat.cupy, ...

    Raises
    ------
    ImportError
        If no such library is installed.
    TypeError
        If it is no Array-API namespace.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import numpy as np
    >>> xp = ag.namespace(np)
    >>> xp is ag.namespace("numpy")
    True
    >>> xp.sin(np.array([0.0]))
    Tensor([0.])
    """
    library = _library_name(module_or_name)
    module = _namespaces.get(library)
    if module is not None:
        if library in _absent:
            backends.raw_namespace(library)  # raises: the module is there to be read only
        return module
    name = f"arraygrad.{library}"
    if backends.importable(name):
        if library in _READABLE:
            backends.raw_namespace(library)
        return importlib.import_module(name)
    raw = backends.raw_namespace(library)
    if not hasattr(raw, "asarray") or not hasattr(raw, "isdtype"):
        raise TypeError(
            f"arraygrad.namespace: {raw.__name__!r} is no Array-API namespace (it lacks asarray or isdtype)"
        )
    module = types.ModuleType(name, f"Differentiable Array-API namespace over {library}.")
    sys.modules[name] = module
    for extension in EXTENSIONS:
        if hasattr(raw, extension):
            part = types.ModuleType(f"{name}.{extension}", f"Differentiable {extension} functions over {library}.")
            build_extension(part.__dict__, library, extension)
            sys.modules[part.__name__] = part
            module.__dict__[extension] = part
    build(module.__dict__, library)
    return module


def build(module_globals, library):
    """Fill a module with the differentiable namespace over `library`.

    The module gets every function of the standard and of the table, the constants, the library's own dtypes,
    `__array_namespace_info__`, `__array_api_version__`, `__all__` and `__dir__`. Its extensions (linalg, fft) are
    submodules that the module itself imports.
    """
    from arraygrad.namespaces import creation
    from arraygrad.namespaces import info as _info

    name = module_globals["__name__"]
    raw = _raw_or_absent(library)
    default = _default_backend(raw)
    contents = make_functions("", name, default, arrays=True)
    contents.update(_info.make_info(raw, name))
    contents.update(creation.make_creation(raw, name, default))
    contents.update(CONSTANTS)
    contents.update({dtype: getattr(raw, dtype) for dtype in DTYPES if hasattr(raw, dtype)})
    _finish(module_globals, contents)
    info = _info.NamespaceInfo(raw)

    def __array_namespace_info__():
        return info

    __array_namespace_info__.__doc__ = "What the namespace and its library can do: devices, dtypes, capabilities."
    __array_namespace_info__.__module__ = name
    module_globals["__array_namespace_info__"] = __array_namespace_info__
    module_globals["__array_api_version__"] = API_VERSION
    module_globals.setdefault("__getattr__", functools.partial(lazy_part, name))
    parts = [extension for extension in EXTENSIONS if extension in module_globals]
    module_globals["__all__"] = sorted([*contents, *parts, "__array_api_version__", "__array_namespace_info__"])
    _namespaces[library] = sys.modules[name]


def lazy_part(namespace_name, name):
    """The attribute `special` of a namespace, imported on first use: a module's __getattr__.

    SciPy looks for it: with SCIPY_ARRAY_API=1 scipy.special.erf(t) calls t.__array_namespace__().special.erf(t).

    Raises
    ------
    AttributeError
        For every other name.
    """
    if name == "special":
        return importlib.import_module("arraygrad.special")
    raise AttributeError(f"module {namespace_name!r} has no attribute {name!r}")


def build_extension(module_globals, library, extension):
    """Fill the module of one extension ("linalg" or "fft") of the namespace over `library`."""
    from arraygrad.namespaces import creation

    name = module_globals["__name__"]
    raw = _raw_or_absent(library)
    default = _default_backend(raw)
    contents = make_functions(extension, name, default, arrays=True)
    if extension == "linalg":
        for shared in _ALSO_IN_LINALG:
            if shared in OPS:
                contents[shared] = function_for(OPS[shared], name, default, arrays=True)
    contents.update(creation.make_creation(raw, name, default, extension))
    _finish(module_globals, contents)
    module_globals["__all__"] = sorted(contents)


def make_rule_namespace(raw, backend=None):
    """The namespace that forwards and rules get with raw arrays; by compiled forwards where `backend` has some."""
    return RuleNamespace(raw, backend=backend)


def make_graph_namespace(get_public, backend):
    """The namespace that rules get with Tensors (create_graph); `get_public` returns the public namespace."""
    return GraphNamespace(get_public, backend)


class RuleNamespace:
    """Raw namespace plus the table's internal operations (`_name`) on raw arrays, each made when first asked for.

    A public operation that the raw namespace lacks comes from its entry's forward; one that it has stays the raw
    function, because forwards that repair a function call it.
    """

    _at_kinks = None  # recorded rules have one

    def __init__(self, raw, extension="", root=None, backend=None):
        self._raw = raw
        self._backend = backend
        self._extension = extension
        self._root = self if root is None else root
        self._lacking = {}  # name -> how many operations there were when it was not found

    def __getattr__(self, name):
        if self._lacking.get(name) == len(OPS):
            raise self._missing(name)
        if self._extension == "" and name in EXTENSIONS:
            value = RuleNamespace(getattr(self._raw, name), name, self, self._backend)
        elif self._extension == "" and name in OWN_EXTENSIONS:
            value = RuleNamespace(types.ModuleType(f"{self._raw.__name__}.{name}"), name, self, self._backend)
        else:
            value = getattr(self._raw, name, None)
            if value is None:
                value = self._from_table(name)
            op = OPS.get(name)
            if self._backend is not None and op is not None and op.entry.extension == self._extension:
                value = raw_function(op, self._backend, value)
        self.__dict__[name] = value
        return value

    def _missing(self, name):
        return AttributeError(f"{self._raw.__name__!r} has no {name!r}, and the table has no forward for it")

    def _from_table(self, name):
        op = OPS.get(name)
        if op is None or op.entry.forward is None or op.entry.extension != self._extension:
            self._lacking[name] = len(OPS)
            raise self._missing(name)
        forward, bind, xp = op.entry.forward, op.bind, self._root
        n = len(op.params) if op.var_positional < 0 else -1  # how many arguments are bound as they stand

        def function(*args, **kwargs):
            if kwargs or len(args) != n:
                args = bind(args, kwargs)
            return forward(xp, *args)

        function.__name__ = function.__qualname__ = name
        return function


class GraphNamespace:
    """Public namespace plus the table's internal operations (`_name`) as recorded functions."""

    def __init__(self, get_public, backend):
        self._get_public = get_public
        self._backend = backend

    def __getattr__(self, name):
        if name == "_at_kinks":
            value = _at_kinks(self)
        elif name.startswith("_") and not name.startswith("__"):
            op = OPS.get(name)
            if op is None:
                raise AttributeError(f"the table has no internal operation {name!r}")
            value = function_for(op, __name__, lambda: self._backend)
        elif name in OWN_EXTENSIONS:
            value = types.SimpleNamespace(**make_functions(name, f"arraygrad.{name}", lambda: self._backend))
        else:
            value = getattr(self._get_public(), name)
        self.__dict__[name] = value
        return value


def _at_kinks(xp):
    """What recorded rules of norms do where those are zero: Note [Kinks] in kinks.py. Imported on first use."""
    from arraygrad.namespaces.kinks import at_kinks

    return functools.partial(at_kinks, xp)


def array_namespace(self, /, *, api_version=None):
    """The differentiable namespace of this tensor's backend, always the same module.

    Raises ValueError if `api_version` is newer than the version of the standard that it follows.
    """
    if api_version is not None and api_version > API_VERSION:
        raise ValueError(
            f"__array_namespace__: version {api_version} of the array API is not supported, {API_VERSION} is"
        )
    found = namespace(backend_of(self).name)
    if sys._getframe(1).f_globals.get("__name__", "").startswith("scipy."):
        from arraygrad.namespaces.largest import asks_for_logsumexp, with_largest

        if asks_for_logsumexp(sys._getframe(1)):
            return with_largest(found)  # Note [Largest elements taken apart] in largest.py
    return found


def install():
    """Give every backend, old and new, its namespaces, and Tensor the method that names them."""
    array_namespace.__name__ = "__array_namespace__"
    array_namespace.__qualname__ = "Tensor.__array_namespace__"
    install_methods({"__array_namespace__": array_namespace})
    backends.set_namespace_hook(_attach)


def _attach(backend, library):
    """Give a backend its namespaces; the public one is imported when somebody asks for it."""
    set_backend_namespaces(
        backend,
        make_rule_namespace(backend.xp, backend if library == "numpy" else None),
        make_graph_namespace(lambda: namespace(library), backend),
        None,
    )


def _default_backend(raw):
    """Function that returns the backend of the arrays `raw` makes, found when first asked for."""
    found = []

    def default():
        if not found:
            found.append(backend_of(raw.asarray([0.0])))
        return found[0]

    return default


def _raw_or_absent(library):
    """The raw namespace; for a library that can be read without being installed, what stands for it."""
    try:
        return backends.raw_namespace(library)
    except ImportError as error:
        if library not in _READABLE:
            raise
        _absent.add(library)
        from arraygrad.backends.absent import AbsentLibrary

        return AbsentLibrary(library, error, DTYPES)


def _finish(module_globals, contents):
    module_globals.update(contents)
    module_globals["__dir__"] = lambda: module_globals["__all__"]


def _library_name(module_or_name):
    name = module_or_name if isinstance(module_or_name, str) else module_or_name.__name__
    for prefix in ("array_api_compat.", "arraygrad."):
        name = name.removeprefix(prefix)
    return {"jax.numpy": "jax", "dask.array": "dask"}.get(name, name)
