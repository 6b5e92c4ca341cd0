"""Rows of arrays in other shapes.

May import: program.values, numpy.
"""

from __future__ import annotations

from typing import Any

import numpy

from arraygrad.program.values import Batched, run

__all__ = ["is_array", "lifted", "own_rows", "reshaped", "shape_of", "with_rows"]


def own_rows(x: Any) -> int | None:
    return x.rows if type(x) is Batched else None


def is_array(x: Any) -> bool:
    return type(x) is Batched or isinstance(x, numpy.ndarray)


def shape_of(x: Any) -> tuple[int, ...]:
    return x.shape if hasattr(x, "shape") else ()


def lifted(x: Any, ndim: int) -> Any:
    """`x` with ones behind its rows, of `ndim` dimensions in a row."""
    if type(x) is not Batched or x.rows is None or x.ndim >= ndim:
        return x
    return reshaped(x, (1,) * (ndim - x.ndim) + x.shape)


def reshaped(x: Batched, shape: tuple[int, ...]) -> Batched:
    """`x` with another shape in each row."""
    if x.shape == shape:
        return x
    whole = shape if x.rows is None else (x.rows, *shape)
    return run(lambda a: a.reshape(whole), [x], x.rows)


def with_rows(x: Any, n: int, shape: tuple[int, ...] | None = None) -> Batched:
    """`x` (an array, a number or a Batched) with an axis of `n` rows, broadcast to `shape` in each."""
    x = x if type(x) is Batched else Batched(numpy.asarray(x), None)
    if shape is None:
        shape = x.shape
    if x.rows is not None and x.shape == shape:
        return x
    x = lifted(x, len(shape))
    whole = (n, *shape)
    return run(lambda a: numpy.broadcast_to(a, whole), [x], n)
