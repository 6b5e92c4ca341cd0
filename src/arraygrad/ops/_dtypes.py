"""Limits of dtypes as the standard describes them: Python numbers, for a dtype or an array.

May import: the standard library only.
"""

from typing import Any, NamedTuple


class FInfo(NamedTuple):
    """Limits of a floating-point dtype; those of a complex dtype are those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


class IInfo(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: Any


def finfo(xp, type_):
    """The library's finfo with Python floats, whatever numbers the library uses."""
    info = xp.finfo(_dtype_of(type_))
    return FInfo(
        int(info.bits), float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), info.dtype
    )


def iinfo(xp, type_):
    """The library's iinfo with Python ints."""
    info = xp.iinfo(_dtype_of(type_))
    return IInfo(int(info.bits), int(info.max), int(info.min), info.dtype)


def _dtype_of(type_):
    # NumPy's scalar types are classes with a `dtype` descriptor: having the attribute does not make them arrays
    return type_.dtype if not isinstance(type_, type) and hasattr(type_, "dtype") else type_
