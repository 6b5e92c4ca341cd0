"""The namespace of Batched: every function of the table.

May import: program.values, program.calls, program.plain, ops, numpy. Rules and forwards get it as `xp`, arrays as
`__array_namespace__()`.
"""

from __future__ import annotations

from typing import Any

import numpy

from arraygrad.ops import OPS
from arraygrad.program.calls import apply, batched_in
from arraygrad.program.plain import PLAIN, plain_call
from arraygrad.program.values import Batched, serve

__all__ = ["Namespace", "namespace"]

_EXTENSIONS = ("linalg", "fft", "special")
_ALSO_IN_LINALG = ("matmul", "matrix_transpose", "tensordot", "vecdot")
# What the library's namespace has besides functions of arrays, of which any may be asked for.
_PLAIN = frozenset(
    "pi e inf nan newaxis bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 "
    "isdtype finfo iinfo broadcast_shapes".split()
)


class Namespace:
    """The functions of the table (internal ones too), and the dtypes and constants of NumPy's namespace.

    Nothing else: a function that NumPy alone has knows no rows.
    """

    _at_kinks = None  # traced rules have one

    def __init__(self, extension: str = "") -> None:
        self._extension = extension
        self.__name__ = f"{__name__}.{extension}".rstrip(".")

    def __getattr__(self, name: str) -> Any:
        if not self._extension and name in _EXTENSIONS:
            value: Any = Namespace(name)
        elif not self._extension and name in _PLAIN:
            value = getattr(PLAIN, name)
        else:
            op = OPS.get(name)
            also = self._extension == "linalg" and name in _ALSO_IN_LINALG
            if op is None or (op.entry.extension != self._extension and not also):
                raise AttributeError(f"rows of arrays have no function {name!r}")
            value = _function(op)
        self.__dict__[name] = value
        return value


def _function(op):
    bind = op.bind

    def function(*args, **kwargs):
        bound = bind(args, kwargs)
        if batched_in(bound):
            return apply(op, bound)
        return _constant(plain_call(op)(*bound))

    function.__name__ = function.__qualname__ = op.name
    return function


def _constant(made):
    """Arrays that are the same in all rows, as Batched."""
    if isinstance(made, (numpy.ndarray, numpy.generic)):
        return Batched(numpy.asarray(made), None)
    if type(made) in (list, tuple):
        return type(made)([_constant(one) for one in made])
    return made


namespace = Namespace()
serve(namespace)
