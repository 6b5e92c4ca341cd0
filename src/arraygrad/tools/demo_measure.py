"""How the demo measures a gradient: against central differences, against one written by hand, and in time.

May import: NumPy.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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


@dataclass
class Ratio:
    """Time of one way to a gradient over that by hand: seconds of a call, median of the rounds' ratios, quartiles."""

    seconds: float
    median: float
    low: float
    high: float

    @property
    def spread(self) -> str:
        """The quartiles in brackets."""
        return f"[{self.low:.2f} {self.high:.2f}]"


def beside_hand(
    ways: dict[str, Callable[[], Any]], by_hand: Callable[[], Any], rounds: int, sample: float
) -> tuple[float, dict[str, Ratio]]:
    """Seconds of a call by hand, and the Ratio of each way to it.

    A sample calls one function again and again for `sample` seconds, a round takes one sample of each, in rotating
    order, and gives one ratio. Processor time of this thread is counted: what else the machine does matters little.
    """
    functions = {"": by_hand, **ways}
    for function in functions.values():
        function()  # warm up
    times: dict[str, list[float]] = {name: [] for name in functions}
    order = list(functions)
    for _ in range(rounds):
        for name in order:
            times[name].append(_seconds(functions[name], sample))
        order.append(order.pop(0))
    found = {}
    for name in ways:
        ratios = sorted(ours / hand for ours, hand in zip(times[name], times[""], strict=True))
        quarter = len(ratios) // 4
        middle = statistics.median(ratios)
        found[name] = Ratio(statistics.median(times[name]), middle, ratios[quarter], ratios[-1 - quarter])
    return statistics.median(times[""]), found


def _seconds(function: Callable[[], Any], sample: float) -> float:
    """Mean seconds of a call, over calls for `sample` seconds and at least two."""
    calls, begin = 0, time.thread_time()
    while True:
        function()
        calls += 1
        passed = time.thread_time() - begin
        if calls > 1 and passed >= sample:
            return passed / calls
