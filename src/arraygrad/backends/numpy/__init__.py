"""Backend of numpy.ndarray: the raw namespace, and the compiled loops that serve it.

May import: core.number_ops, backends.numpy.array_ops, backends.numpy.direct, backends.numpy.ranks,
backends.numpy.table, ops, the package's own registry, numpy; array-api-compat for what NumPy lacks. Begin with
`elementwise.pyx` (Note [Compiled rules]) and `kernels.py`.
"""

import importlib
import types

import numpy

from arraygrad.backends import attach
from arraygrad.backends.numpy import factorizations, stacks
from arraygrad.backends.numpy.array_ops import NumpyOps
from arraygrad.backends.numpy.direct import computed_only_where, holds_nowhere, is_moderate, no_negative, raw_functions
from arraygrad.backends.numpy.reductions import reversed_recurrence
from arraygrad.backends.numpy.sorting import distinct_gradient
from arraygrad.backends.numpy.table import install
from arraygrad.core.number_ops import serve_scalars
from arraygrad.ops import OPS

__all__ = ["BACKEND", "raw_namespace", "register"]

# NumPy's own function differs from the standard here (missing keywords or results), array-api-compat's does not.
# Everything else is taken from NumPy directly: importing array-api-compat's NumPy module costs more than NumPy itself.
_COMPAT = {
    "": frozenset(
        (
            "argsort",
            "sort",
            "nonzero",
            "count_nonzero",
            "unique_values",
            "finfo",
            "iinfo",
            "take_along_axis",
        )
    ),
    "linalg": frozenset(("eig", "eigvals", "pinv")),
    "fft": frozenset(("fftfreq", "rfftfreq")),
}


class RawNumpy(types.ModuleType):
    """NumPy as an Array-API namespace: its own functions, array-api-compat's where they differ from the standard."""

    def __init__(self, extension=""):
        super().__init__(".".join(filter(None, ("numpy", extension))), "NumPy as raw Array-API namespace.")
        self.__dict__["_extension"] = extension
        if not extension:
            self.__dict__["linalg"] = RawNumpy("linalg")
            self.__dict__["fft"] = RawNumpy("fft")

    def __getattr__(self, name):
        extension = self.__dict__["_extension"]
        # numpy.fft and numpy.linalg are looked up here and not kept: NumPy imports them on first use.
        owner = getattr(numpy, extension) if extension else numpy
        if name in _COMPAT[extension] or not hasattr(owner, name):
            if name.startswith("__") and name not in ("__array_api_version__", "__array_namespace_info__"):
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            owner = importlib.import_module(".".join(filter(None, ("array_api_compat.numpy", extension))))
        value = getattr(owner, name)
        self.__dict__[name] = value
        return value

    def __dir__(self):
        return dir(getattr(numpy, self._extension) if self._extension else numpy)


def _repeated(x, starts, n, axis):
    """The element of its segment for each of n places along the axis, zero before the first segment."""
    out = numpy.repeat(x, numpy.diff(starts, append=n), axis)
    if not starts[0]:
        return out
    before = [(0, 0)] * x.ndim
    before[axis] = (int(starts[0]), 0)
    return numpy.pad(out, before)


_raw = RawNumpy()
_raw.__dict__["_library_eigh_upper"] = lambda x: numpy.linalg.eigh(x, UPLO="U")
_raw.__dict__["_library_distinct_gradient"] = distinct_gradient
_raw.__dict__["_library_reversed_recurrence"] = reversed_recurrence
_raw.__dict__["_library_repeated"] = _repeated
_raw.__dict__["_library_ufunc"] = lambda name: getattr(numpy, name)
_raw.__dict__["_library_eigvalsh_upper"] = lambda x: numpy.linalg.eigvalsh(x, UPLO="U")
_raw.__dict__["_library_holds_nowhere"] = holds_nowhere
_raw.__dict__["_library_is_moderate"] = is_moderate
_raw.__dict__["_library_no_negative"] = no_negative
_raw.__dict__["_library_computed_only_where"] = computed_only_where
_raw.__dict__["_library_number"] = lambda x: float(x) if x.ndim == 0 and x.dtype.kind in "fiu" else None


def raw_namespace():
    """NumPy's namespace as the table's forwards and rules see it."""
    return _raw


BACKEND = NumpyOps("numpy", _raw, numpy.ndarray, True)
install(OPS, BACKEND)
serve_scalars(numpy.float64, BACKEND.meta(numpy.zeros(())), BACKEND.meta(numpy.zeros((), complex)))
for _extension in ("linalg", "fft"):
    getattr(_raw, _extension).__dict__.update(raw_functions(OPS, _extension))
# What rules may ask for: the gradient of one plain matrix, or None.
for _name in ("qr", "svd", "eigh", "triangle", "slogdet"):
    _raw.__dict__[f"_{_name}_gradient"] = getattr(factorizations, f"{_name}_gradient")
for _name in ("pinv", "svdvals", "eigvalsh"):
    _raw.__dict__[f"_{_name}_gradient"] = getattr(stacks, f"{_name}_gradient")
_raw.__dict__["_solve_triangular"] = None  # NumPy has none
attach(BACKEND, "numpy", numpy.ndarray)


def register(obj):
    """The backend of numpy.ndarray; subclasses of it are refused.

    A masked array or a matrix gives other values than a plain array for the same call, and a subclass may do
    anything: a recorded derivative would be that of the plain array. Hence TypeError, with the way out.
    """
    cls = type(obj)
    if cls is numpy.ndarray:
        return BACKEND
    name = f"{cls.__module__}.{cls.__qualname__}"
    if isinstance(obj, numpy.ma.MaskedArray):
        raise TypeError(
            f"{name} can't be differentiated: operations skip its masked elements, which no derivative of arraygrad "
            "does; give x.filled(value), or x.data and a mask to arraygrad.where"
        )
    if isinstance(obj, numpy.matrix):
        raise TypeError(
            f"{name} can't be differentiated: its * is a matrix product; give numpy.asarray(x), which shares its "
            "memory, and write @ for products"
        )
    if cls.__module__.partition(".")[0] == "astropy":
        raise TypeError(
            f"{name} can't be differentiated: its unit is no part of a derivative; give its numbers, q.to_value(unit), "
            "and give the result its unit outside of the function"
        )
    raise TypeError(
        f"{name} is a subclass of numpy.ndarray whose operations arraygrad does not know; give numpy.asarray(x), "
        "which shares its memory"
    )
