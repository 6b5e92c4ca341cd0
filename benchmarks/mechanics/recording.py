"""What recording adds to a NumPy call: x + c and x * c, size 1, float64, x requires grad, c raw; mean of the two.

Recorded and bare calls are timed in interleaved rounds; the overhead is the difference. It holds the result Tensor and
the node, made and freed. It is below zero where the recorded call reaches NumPy's loops by a shorter way than NumPy.
May import: numpy, libraries, harness.
"""

from __future__ import annotations

import gc
import statistics
import timeit

import numpy as np

from ..harness import CLOCKS
from ..libraries import LIBRARIES as CLASSES

LIBRARIES = ("arraygrad", "torch", "autograd", "mygrad")
STATEMENTS = ("x + c", "x * c")
LOOPS = 20_000


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """overhead: ns per operation. recorded, bare: the two sides."""
    library, now = CLASSES[name](), CLOCKS[clock]
    raw, c = np.asarray([1.5]), np.asarray([0.5])
    if name == "autograd":
        timers = _autograd_timers(library, raw, c, now)
    else:
        scope = {"x": library.leaf(raw), "c": library.constant(c)}
        timers = _timers(scope, now)
    bare_timers = _timers({"x": raw, "c": c}, now)
    recorded, bare = [], []
    for _ in range(5 if quick else 15):
        recorded.append(sum(_ns(t) for t in timers) / len(timers))
        bare.append(sum(_ns(t) for t in bare_timers) / len(bare_timers))
    overhead = statistics.median(r - b for r, b in zip(recorded, bare, strict=True))
    return {"overhead": overhead, "recorded": statistics.median(recorded), "bare": statistics.median(bare)}


def _timers(scope: dict, now) -> list[timeit.Timer]:
    # timeit switches the collector off; users have it on.
    return [timeit.Timer(s, "gc.enable()", now, globals={"gc": gc, **scope}) for s in STATEMENTS]


def _ns(timer: timeit.Timer) -> float:
    """Nanoseconds per execution, the loop's own 7 included on both sides."""
    return timer.timeit(LOOPS) / LOOPS


def _autograd_timers(library, raw: np.ndarray, c: np.ndarray, now) -> list[timeit.Timer]:
    from autograd.core import VJPNode
    from autograd.tracer import new_box

    return _timers({"x": new_box(raw, 0, VJPNode.new_root()), "c": c}, now)
