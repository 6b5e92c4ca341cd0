"""Two threads, each with its own graph of about twenty small operations: runs per second over those of one thread.

A run records the graph and runs it backward. 2 is perfect; what is lost on free-threaded Python is what the threads
write that both of them use. Where there is a GIL the figure is reported without a bar: about 1 is all there is.
A round is thrown away if other programs had the cores: two threads that only count, before and after it, and the one
thread that is measured alone, must have run all the time. (Whether the two threads that are measured waited is never
asked: it may have been for each other.)
May import: numpy, arraygrad inside functions.
"""

from __future__ import annotations

import statistics
import sys
import threading
from collections.abc import Callable
from time import perf_counter, thread_time

import numpy as np

LIBRARIES = ("hand", "arraygrad")

WINDOW_S = 0.006
"""One timing; short, so that some fall between the moments when other programs run."""
SECONDS, QUICK_SECONDS = 20.0, 5.0
ENOUGH, NEEDED = 25, 5
"""Undisturbed rounds after which to stop, and without which all rounds count."""
UNDISTURBED = 0.95
"""Share of the elapsed time that a thread must have run."""

STEPS = 4


def free_threaded() -> bool:
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.normal(size=8), draw.normal(size=8)


def by_hand(x0: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Gradient of the sum of what `recorded` computes."""
    y, kept = x0, []
    for _ in range(STEPS):
        t = np.tanh(y * 1.1)
        y = t + y
        kept.append(t)
        y = y * c - y
    g = np.ones(8)
    for t in reversed(kept):
        g = g * c - g
        g = g * (1 - t * t) * 1.1 + g
    return g


def run_of(name: str, seed: int) -> Callable[[], np.ndarray]:
    x0, c = data(seed)
    if name == "hand":
        return lambda: by_hand(x0, c)
    import arraygrad as ag

    x, factor = ag.tensor(x0, requires_grad=True), ag.tensor(c)

    def run() -> np.ndarray:
        x.grad = None
        y = x
        for _ in range(STEPS):
            y = ag.tanh(y * 1.1) + y
            y = y * factor - y
        y.sum().backward()
        return x.grad.array

    return run


def count() -> None:
    n = 0.0
    for k in range(300):
        n = n * 0.5 + k


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """throughput: median over undisturbed rounds, by the clock on the wall whatever `clock` says; rounds: how many."""
    runs = [run_of(name, seed) for seed in (1, 2)]
    for seed, run in zip((1, 2), runs, strict=True):
        np.testing.assert_allclose(run(), by_hand(*data(seed)), rtol=1e-12)
    loops, counts = loops_for(runs[0]), loops_for(count)
    everything, undisturbed = [], []
    end = perf_counter() + (QUICK_SECONDS if quick else SECONDS)
    while perf_counter() < end and len(undisturbed) < ENOUGH:
        before = together([count, count], counts)
        one = together(runs[:1], loops)
        two = together(runs, loops)
        after = together([count, count], counts)
        everything.append(2 * one[0] / two[0])
        if min(before[1], one[1], after[1]) > UNDISTURBED:
            undisturbed.append(everything[-1])
    chosen = undisturbed if len(undisturbed) >= NEEDED else everything
    return {"throughput": statistics.median(chosen), "rounds": len(undisturbed)}


def loops_for(run: Callable[[], object]) -> int:
    run()
    start, n = perf_counter(), 0
    while perf_counter() - start < 0.05:
        run()
        n += 1
    return max(1, int(n * WINDOW_S / 0.05))


def together(runs: list[Callable[[], object]], loops: int) -> tuple[float, float]:
    """(Seconds per thread for `loops` runs on each of some threads at once, the least share of it that one ran.)"""
    barrier = threading.Barrier(len(runs))
    elapsed, shares = [0.0] * len(runs), [0.0] * len(runs)

    def work(i: int) -> None:
        barrier.wait()
        for _ in range(3):
            runs[i]()  # both are awake before the clock starts
        start, used = perf_counter(), thread_time()
        for _ in range(loops):
            runs[i]()
        used, elapsed[i] = thread_time() - used, perf_counter() - start
        shares[i] = used / elapsed[i]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(elapsed) / len(runs), min(shares)
