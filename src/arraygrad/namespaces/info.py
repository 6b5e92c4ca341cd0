"""What a namespace says about dtypes and about itself: isdtype, can_cast, result_type, finfo, iinfo.

May import: core.exposed_memory, ops, core.tensor, namespaces.bind, namespaces.docstrings.
"""

from arraygrad.core.exposed_memory import raw_handle
from arraygrad.core.tensor import Tensor
from arraygrad.namespaces.bind import DTYPES
from arraygrad.namespaces.docstrings import documented
from arraygrad.ops._dtypes import FInfo, IInfo

__all__ = ["FInfo", "IInfo", "NamespaceInfo", "broadcast", "make_info", "unwrap"]


class NamespaceInfo:
    """What the standard's `__array_namespace_info__()` returns."""

    def __init__(self, raw):
        self._raw = raw.__array_namespace_info__()

    def capabilities(self):
        """dict of "boolean indexing", "data-dependent shapes" (bool) and "max dimensions" (int or None)."""
        return dict(self._raw.capabilities())

    def default_device(self):
        """The device on which arrays are made when none is named."""
        return self._raw.default_device()

    def devices(self):
        """tuple of all devices."""
        return tuple(self._raw.devices())

    def default_dtypes(self, *, device=None):
        """dict of the default dtype per kind: "real floating", "complex floating", "integral", "indexing"."""
        return dict(self._raw.default_dtypes(device=device))

    def dtypes(self, *, device=None, kind=None):
        """dict name -> dtype of the dtypes of a kind, or of a tuple of kinds (None: all), on a device."""
        found = self._raw.dtypes(device=device, kind=kind)
        return {name: dtype for name, dtype in found.items() if name in DTYPES}


def make_info(raw, module, choose=None):
    """dict of the functions about dtypes, over the raw namespace `raw`.

    `choose(*args)` returns the raw namespace for a call's arguments; None: always `raw`.
    """
    if choose is None:

        def choose(*args):
            return raw

    def isdtype(dtype, kind):
        """Whether `dtype` is of a kind: a dtype, "bool", "signed integer", "unsigned integer", "integral",
        "real floating", "complex floating", "numeric", or a tuple of such."""
        return bool(choose(dtype).isdtype(dtype, kind))

    def can_cast(from_, to, /):
        """Whether a dtype, or an array's, casts to the dtype `to` by the standard's promotion rules."""
        return bool(choose(from_, to).can_cast(unwrap(from_), to))

    def result_type(*arrays_and_dtypes):
        """The dtype that an operation on these arrays, dtypes and Python scalars would have."""
        return choose(*arrays_and_dtypes).result_type(*[unwrap(a) for a in arrays_and_dtypes])

    def broadcast_shapes(*shapes):
        """The shape, a tuple, to which the given shapes broadcast. Raises ValueError if they don't."""
        return broadcast(shapes)

    def finfo(type, /):
        """Limits of a floating-point dtype (or an array's) as Python floats: see FInfo."""
        dtype = _dtype_of(type)
        i = choose(type).finfo(dtype)
        return FInfo(
            int(i.bits),
            float(i.eps),
            float(i.max),
            float(i.min),
            float(i.smallest_normal),
            _own_dtype(choose(type), i.dtype),
        )

    def iinfo(type, /):
        """Limits of an integer dtype (or an array's) as Python ints: see IInfo."""
        dtype = _dtype_of(type)
        i = choose(type).iinfo(dtype)
        return IInfo(int(i.bits), int(i.max), int(i.min), _own_dtype(choose(type), i.dtype))

    functions = {f.__name__: f for f in (isdtype, can_cast, result_type, broadcast_shapes, finfo, iinfo)}
    for name, function in functions.items():
        function.__qualname__ = name
        function.__module__ = module
        function.__doc__ = documented(name, function.__doc__)
    return functions


def unwrap(value):
    """The raw array of a Tensor; anything else as it is."""
    return raw_handle(value) if isinstance(value, Tensor) else value


def broadcast(shapes):
    """The shape to which `shapes` broadcast.

    Raises
    ------
    ValueError
        If two lengths of one axis differ and neither is 1.
    """
    result = []
    for shape in shapes:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if len(shape) > len(result):
            result = [1] * (len(shape) - len(result)) + result
        offset = len(result) - len(shape)
        for i, n in enumerate(shape, offset):
            if result[i] == 1:
                result[i] = n
            elif n not in (1, result[i]):
                raise ValueError(
                    "broadcast_shapes: shapes " + ", ".join([str(tuple(s)) for s in shapes]) + " don't broadcast: "
                    f"axis {i - len(result)} has lengths {result[i]} and {n}"
                )
    return tuple(result)


def _dtype_of(value):
    # Dtypes of NumPy are classes with attributes of arrays, so an array is told by being none of a type.
    if isinstance(value, Tensor):
        return value.dtype
    is_array = not isinstance(value, type) and hasattr(value, "dtype") and hasattr(value, "shape")
    return value.dtype if is_array else value


def _own_dtype(xp, dtype):
    """The library's dtype object where its finfo() gives only a name or a part of it."""
    return getattr(xp, dtype) if isinstance(dtype, str) else dtype
