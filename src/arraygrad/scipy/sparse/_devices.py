"""Sparse matrices of other array libraries: where their elements stand is known on the host, values stay on the device.

May import: arraygrad, core.tensor, interop.transfer, scipy._guards, scipy._libraries, numpy, SciPy.

Note [Matrices on a device]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
A `Matrix` over CuPy has a Tensor of values on the device, and SciPy's matrix of the same structure on the host.
(1) What moves, chooses or sums elements is computed as for SciPy: its own function runs on the host's matrix, and the
    values are gathered on the device, by places that are copied there. To know which elements SciPy's result has, the
    values are copied to the host, so such an operation waits for the device.
(2) What computes with the values is asked of the library: products and systems get its own matrix, `native`. The rules
    that give its derivatives are the same operations as over NumPy.
(3) Where SciPy gives a numpy.matrix, cupyx gives an array with two axes, and so does a `Matrix` over it.
(4) Arrays of places that a structure needs again and again are kept beside it, for each device and stream: another
    stream would have to wait for the copy.
Guarded by tests/gpu/test_sparse.py.
"""

import copy
import functools
import importlib

import numpy as np

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.interop.transfer import to_backend
from arraygrad.scipy._guards import NotDifferentiable, raw
from arraygrad.scipy._libraries import chapter_of, host_array, is_foreign_matrix, library_of, namesake

__all__ = [
    "beside", "check_libraries", "host", "indices_of", "library_in", "native", "on_host_only", "placed",
    "structure_of", "sum_of_squares", "theirs", "zeros",
]  # fmt: skip

_INDICES: dict[str, tuple[str, ...]] = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
_ON_DEVICE = "_on_device"  # attribute of a structure: (name, device, stream) -> array


def host(value):
    """The numbers of a Tensor or an array as NumPy's, for decisions."""
    return host_array(raw(value))


def library_in(values):
    """The library of the first array or matrix among some values that is not NumPy's or SciPy's; None if none is."""
    for value in values:
        if isinstance(value, (list, tuple)):
            found = library_in(value)
        elif is_foreign_matrix(value):
            found = library_of((value.data,))
        else:
            found = library_of((getattr(value, "_values", value),))
        if found is not None:
            return found
    return None


def structure_of(matrix):
    """SciPy's matrix of the same structure as a library's own, to which a program may have given a Tensor of values.

    Waits for the device.
    """
    if isinstance(matrix.data, Tensor):
        matrix = copy.copy(matrix)
        matrix.data = raw(matrix.data)
    return matrix.get()


def check_libraries(name, *values):
    """Refuse arrays of two libraries in one operation."""
    arrays = [raw(v) for v in values if v is not None]
    kinds = {type(a).__module__.partition(".")[0] for a in arrays if getattr(a, "ndim", 0)}
    if len(kinds) > 1:
        raise TypeError(
            f"arraygrad.scipy.sparse: {name} of a matrix and an array of {' and '.join(sorted(kinds))}: move one of "
            "them (arraygrad.to_backend(x, 'cupy') or arraygrad.to_backend(x, 'numpy')), which keeps its "
            "gradient"
        )


def beside(values, places):
    """An array of places where the values lie."""
    array = raw(values)
    library = library_of((array,))
    if library is None:
        return places
    with array.device:
        return _arrays_of(library).asarray(places)


def _arrays_of(library):
    """The module of a library's arrays."""
    return importlib.import_module(library)


def zeros(values, n):
    """Zeros of the dtype of some values, beside them."""
    return ag.asarray(placed(np.zeros(n, dtype=values.dtype), values))


def placed(values, like):
    """Constant values of the host beside `like`."""
    library = library_of((like,))
    return values if library is None or library_of((values,)) else to_backend(values, library, raw(like).device)


# -- the library's own matrices ---------------------------------------------------------------------------------------


def indices_of(structure, values, name):
    """An array of indices of a structure beside the values, kept with the structure."""
    array = raw(values)
    xp = _arrays_of(library_of((array,)))
    kept = vars(structure).setdefault(_ON_DEVICE, {})
    with array.device:
        key = name, array.device.id, xp.cuda.get_current_stream().ptr
        if key not in kept:
            kept[key] = xp.asarray(getattr(structure, name))
        return kept[key]


def native(structure, values):
    """The library's own matrix of a structure and values on its device, which are copied where it may sort them."""
    library = library_of((values,))
    sparse = chapter_of(library, "sparse")
    if structure.format not in _INDICES:
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse: {sparse.__name__} has no matrices of format {structure.format!r}: take "
            "tocsr() first"
        )
    kind = "array" if type(structure).__name__.endswith("array") else "matrix"
    make = getattr(sparse, f"{structure.format}_{kind}")
    values = values.reshape(structure.data.shape)
    kept = vars(structure).setdefault(_ON_DEVICE, {})
    with values.device:
        key = "matrix", values.device.id, _arrays_of(library).cuda.get_current_stream().ptr
        if key not in kept:
            arrays = tuple(indices_of(structure, values, name) for name in _INDICES[structure.format])
            kept[key] = make((values, *_as_given(structure.format, arrays)), shape=structure.shape)
            if structure.format in ("csr", "csc"):
                kept[key].has_sorted_indices = bool(structure.has_sorted_indices)
                kept[key].has_canonical_format = bool(structure.has_canonical_format)
            kept[key].data = values[..., :0]
        made = copy.copy(kept[key])
        if structure.format in ("csr", "csc") and not structure.has_canonical_format:
            made.indices, made.indptr, values = made.indices.copy(), made.indptr.copy(), values.copy()
        elif structure.format == "coo":
            made.row, made.col, values = made.row.copy(), made.col.copy(), values.copy()
        made.data = values
        return made


def _as_given(format, arrays):
    return (arrays,) if format == "coo" else arrays


def theirs(name, own, like, given=()):
    """The function of scipy.sparse.linalg of a name for arrays like `like`: SciPy's `own`, or that of their library.

    Raises
    ------
    TypeError
        If the library has no such function, or no parameter that is `given`.
    """
    library = library_in((like,))
    return own if library is None else namesake(f"sparse.linalg.{name}", library, dict.fromkeys(given))


def on_host_only(name):
    """Decorator of a function of scipy.sparse.linalg that is computed by SciPy alone: it refuses other arrays."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            if library_in((*args, *kwargs.values())) is not None:
                raise NotDifferentiable(
                    f"arraygrad.scipy.sparse.linalg.{name}: it is computed by SciPy, on arrays of NumPy: move the "
                    "arguments there (S.get(), arraygrad.to_backend(x, 'numpy')), which keeps their gradients"
                )
            return function(*args, **kwargs)

        return call

    return decorate


def sum_of_squares(v):
    """The sum of the squares of absolute values of a raw array, as a number."""
    return float((abs(v) ** 2).sum())
