"""Central differences beside a gradient, for `python -m arraygrad check`.

May import: core.containers, _progress, numpy.

The function is given as `loss(leaves) -> float` over host arrays; complex leaves are pairs of real components.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from arraygrad._progress import progress

__all__ = ["Difference", "compare"]

# More components than this are sampled: all of a small argument, so many of a large one, and random directions.
MOST_COMPONENTS = 48
DIRECTIONS = 8


@dataclass
class Difference:
    """One derivative twice: `found` by arraygrad, `expected` by central differences along a direction or component."""

    leaf: int
    index: tuple | None  # None: a random direction of the whole leaf
    part: str  # "", "real" or "imaginary"
    found: float
    expected: float
    left: float  # one-sided differences
    right: float
    error: float  # |found - expected| relative to the larger one, or to the gradient's root mean square
    noise: float  # what rounding can make of it, in the same measure

    def kink(self):
        """Whether the one-sided differences disagree by more than noise, and the gradient lies between them."""
        low, high = sorted((self.left, self.right))
        size = max(abs(low), abs(high), 1e-300)
        slack = 0.05 * (high - low) + 1e-6 * size
        return high - low > 1e-3 * size and low - slack <= self.found <= high + slack


def compare(loss, leaves, gradients, rng, step):
    """A Difference per tested component and direction of every leaf.

    Parameters
    ----------
    loss : callable
        `loss(list of host arrays) -> float`.
    leaves, gradients : list of numpy.ndarray
        float64 or complex128, of equal shapes. The gradient of a complex leaf is dL/d(Re) + i dL/d(Im).
    rng : numpy.random.Generator
    step : float
        Relative to the size of the component, or 1 where that is smaller.
    """
    with progress(sum(map(_count, leaves)), "differences") as bar:
        return _compared(loss, leaves, gradients, rng, step, bar)


def _compared(loss, leaves, gradients, rng, step, bar):
    found = []
    value = loss(leaves)
    for i, (leaf, gradient) in enumerate(zip(leaves, gradients, strict=True)):
        if not leaf.size:
            continue
        parts = _components(gradient)
        scale = float(numpy.sqrt(numpy.mean(parts**2)))
        for direction, index, part in _directions(leaf, rng):
            bar.update()
            h = step * max(1.0, float(numpy.max(numpy.abs(leaf[index]))) if index is not None else _size(leaf))
            above, below = (
                loss([moved if k == i else other for k, other in enumerate(leaves)])
                for moved in (leaf + h * direction, leaf - h * direction)
            )
            analytic = float(numpy.sum(parts * _components(numpy.broadcast_to(direction, leaf.shape))))
            expected = (above - below) / (2.0 * h)
            size = max(abs(analytic), abs(expected), scale, numpy.finfo(float).tiny)
            found.append(
                Difference(
                    leaf=i,
                    index=index,
                    part=part,
                    found=analytic,
                    expected=expected,
                    left=(value - below) / h,
                    right=(above - value) / h,
                    error=abs(analytic - expected) / size,
                    noise=4.0 * numpy.finfo(float).eps * max(abs(value), abs(above), abs(below)) / h / size,
                )
            )
    return found


def _size(leaf):
    return float(numpy.sqrt(numpy.mean(numpy.abs(leaf) ** 2)))


def _components(array):
    array = numpy.ascontiguousarray(array)
    return (array.view(array.real.dtype) if array.dtype.kind == "c" else array).reshape(-1)


def _count(leaf):
    """How many directions `_directions` gives."""
    parts = 2 if leaf.dtype.kind == "c" else 1
    return parts * min(leaf.size, MOST_COMPONENTS) + DIRECTIONS * (leaf.size > MOST_COMPONENTS)


def _directions(leaf, rng):
    """(direction, index, part): unit arrays for components, random ones for the whole leaf if it is large."""
    units = ((1.0, "real"), (1j, "imaginary")) if leaf.dtype.kind == "c" else ((1.0, ""),)
    chosen = range(leaf.size)
    if leaf.size > MOST_COMPONENTS:
        chosen = sorted(rng.choice(leaf.size, size=MOST_COMPONENTS, replace=False))
        for _ in range(DIRECTIONS):
            direction = rng.standard_normal(leaf.shape)
            if leaf.dtype.kind == "c":
                direction = direction + 1j * rng.standard_normal(leaf.shape)
            yield direction / numpy.linalg.norm(direction.ravel()), None, ""
    for flat in chosen:
        index = tuple(int(k) for k in numpy.unravel_index(flat, leaf.shape))
        for unit, part in units:
            direction = numpy.zeros_like(leaf)
            direction[index] = unit
            yield direction, index, part
