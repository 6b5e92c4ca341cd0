"""How the demo measures a gradient: against central differences, against one written by hand, and in time.

May import: NumPy.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# Length of the step along a unit direction. Rounding errs by about 1e-16 * loss / STEP, the third derivative by
# STEP^2 / 6 times itself: at 1e-4 both are small beside 1e-9 for losses of size one in float64.
STEP = 1e-4


def against_differences(
    loss: Callable[[np.ndarray], float],
    point: np.ndarray,
    gradient: np.ndarray,
    rng: np.random.Generator,
    n_directions: int,
    n_coordinates: int,
) -> float:
    """Largest relative difference between gradient @ d and the central difference of `loss` along d.

    `point` and `gradient` are (size,) float64; d runs over `n_directions` random unit vectors and `n_coordinates`
    random coordinate axes (all of them if there are no more). Relative to the larger of the two, or to the gradient's
    root mean square where both are smaller: a coordinate that hardly matters would otherwise measure only rounding.
    """
    floor = float(np.linalg.norm(gradient)) / np.sqrt(gradient.size)
    differences = []
    for direction in _directions(point.size, rng, n_directions, n_coordinates):
        expected = (loss(point + STEP * direction) - loss(point - STEP * direction)) / (2.0 * STEP)
        found = float(gradient @ direction)
        differences.append(abs(found - expected) / max(abs(found), abs(expected), floor, np.finfo(float).tiny))
    return float(np.max(differences))  # NaN if any is, unlike max()


def _directions(size: int, rng: np.random.Generator, n_directions: int, n_coordinates: int) -> Iterator[np.ndarray]:
    for _ in range(n_directions):
        direction = rng.normal(size=size)
        yield direction / np.linalg.norm(direction)
    for index in rng.choice(size, size=min(size, n_coordinates), replace=False):
        direction = np.zeros(size)
        direction[index] = 1.0
        yield direction


def against_hand(gradient: np.ndarray, by_hand: np.ndarray) -> float:
    """Largest difference between two gradients (size,), relative to the largest entry of the second."""
    return float(np.max(np.abs(gradient - by_hand)) / np.max(np.abs(by_hand)))


def time_beside_hand(
    ours: Callable[..., Any], by_hand: Callable[..., Any], arguments: tuple[Any, ...], rounds: int
) -> tuple[float, float]:
    """Median seconds of ours(*arguments) and by_hand(*arguments), called in turn so that both see the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for function in (ours, by_hand):  # warm up
        function(*arguments)
    for number in range(rounds):
        # Who goes first alternates: the second finds the data in the cache.
        for which in (0, 1) if number % 2 else (1, 0):
            begin = time.perf_counter()
            (ours, by_hand)[which](*arguments)
            times[which].append(time.perf_counter() - begin)
    return statistics.median(times[0]), statistics.median(times[1])
