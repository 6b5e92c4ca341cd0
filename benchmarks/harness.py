"""Timing and checking: interleaved rounds of every implementation of one workload, each compared with hand first.

A sample is one implementation called `loops` times between two readings of the clock, garbage collector on, as users
have it. A round takes one sample of every implementation, in rotating order, and gives one ratio over hand for each:
what slows the machine for a moment slows both sides of a ratio. Reported are the median and quartiles of the ratios.
May import: numpy, workload, libraries.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import repeat
from time import perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

from .libraries import Library
from .workload import Data, Run, Workload

SAMPLE_NS = 8_000_000
"""A sample lasts at least this long: the clock's own cost (50 ns) and a scheduler tick (4 ms) stay small in it."""

ROUNDS = 25
BUDGET_NS = 12_000_000_000
"""Rounds of one workload stop when they have taken this long (never before MIN_ROUNDS)."""
MIN_ROUNDS = 7

SETTLING_BYTES = 31 << 20
"""Just under glibc's largest dynamic mmap threshold (32 MiB, DEFAULT_MMAP_THRESHOLD_MAX)."""

QUICK_SAMPLE_NS, QUICK_ROUNDS, QUICK_BUDGET_NS = 3_000_000, 7, 2_500_000_000

TOLERANCE = {"f": 2e-3, "d": 1e-8}
"""Largest error over the largest magnitude of hand's result. float32: sums over 10 000 terms in another order."""


class WrongResult(Exception):
    """An implementation disagrees with hand: it is not timed."""


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass
class Row:
    """What was found for one workload. ratios: over hand. problems: why an implementation has none."""

    name: str
    title: str
    bar: float
    moonshot: float
    hand_ns: float = 0.0
    rounds: int = 0
    ratios: dict[str, Spread] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def check(results: Sequence[np.ndarray], expected: Sequence[np.ndarray], what: str) -> str:
    """Compares [value, *gradients] with hand's. Returns a note on dtypes that differ, "" if none.

    Raises WrongResult on a missing result, another shape, or an error beyond TOLERANCE.
    """
    if len(results) != len(expected):
        raise WrongResult(f"{what}: {len(results)} results, hand has {len(expected)}")
    note = ""
    for i, (r, h) in enumerate(zip(results, expected, strict=True)):
        which = "value" if i == 0 else f"gradient {i - 1}"
        h = np.asarray(h)
        if r.shape != h.shape:
            raise WrongResult(f"{what}: {which} has shape {r.shape}, hand's {h.shape}")
        scale = float(np.max(np.abs(h))) or 1.0
        error = float(np.max(np.abs(r - h))) / scale
        if not error <= TOLERANCE[h.dtype.char]:
            raise WrongResult(f"{what}: {which} is off by {error:.2g} of its largest element")
        if r.dtype != h.dtype:
            note = f"{h.dtype} became {r.dtype}"
    return note


def results_of(run: Run, library: Library) -> list[np.ndarray]:
    return [library.to_numpy(r) for r in run()]


CLOCKS: dict[str, Callable[[], int]] = {"wall": perf_counter_ns, "cpu": process_time_ns}
"""cpu: time this process was running, for machines that others use as well. Everything here runs on one thread."""


def sample(run: Callable[[], Any], loops: int, clock: Callable[[], int] = perf_counter_ns) -> int:
    """Nanoseconds of `loops` calls."""
    iterations = repeat(None, loops)
    start = clock()
    for _ in iterations:
        run()
    return clock() - start


def calibrate(run: Callable[[], Any], sample_ns: int, clock: Callable[[], int] = perf_counter_ns) -> int:
    """How many calls make one sample. The first calls warm caches up and are not counted."""
    run()
    loops = 1
    while True:
        taken = sample(run, loops, clock)
        if taken >= sample_ns:
            return loops
        loops = max(2 * loops, min(int(loops * sample_ns / max(taken, 1)) + 1, 100 * loops))


def interleave(
    runs: dict[str, Callable[[], Any]],
    rounds: int,
    sample_ns: int,
    budget_ns: int,
    clock: Callable[[], int] = perf_counter_ns,
) -> dict[str, list[float]]:
    """Nanoseconds per call of every run, one list entry per round; the lists have equal length."""
    loops = {name: calibrate(run, sample_ns, clock) for name, run in runs.items()}
    names = list(runs)
    taken: dict[str, list[float]] = {name: [] for name in names}
    start = perf_counter_ns()
    for i in range(rounds):
        turn = i % len(names)
        for name in names[turn:] + names[:turn]:
            taken[name].append(sample(runs[name], loops[name], clock) / loops[name])
        if i + 1 >= MIN_ROUNDS and perf_counter_ns() - start > budget_ns:
            break
    return taken


def measure(
    workload: Workload,
    libraries: Sequence[Library],
    *,
    rounds: int | None = None,
    quick: bool = False,
    clock: str = "wall",
    settled: bool = False,
) -> Row:
    """One row of the table. A library that fails or is wrong becomes an entry of `problems`; the others are timed."""
    row = Row(workload.name, workload.title, workload.bar, workload.moonshot)
    data = workload.data()
    runs: dict[str, Run] = {"hand": workload.hand(data)}
    expected = [np.array(r) for r in runs["hand"]()]
    for library in libraries:
        if library.name in workload.without:
            row.problems[library.name] = "not timed: " + workload.without[library.name]
            continue
        try:
            run = workload.run_of(library, data)
            note = check(results_of(run, library), expected, library.name)
        except WrongResult as error:
            row.problems[library.name] = f"WRONG: {error}"
        except Exception as error:  # whatever a library raises, the other columns are still wanted
            row.problems[library.name] = f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            runs[library.name] = run
            if note:
                row.notes[library.name] = note
    _check_untouched(data, workload)
    if settled:
        settle_allocator()
    gc.collect()
    taken = interleave(
        runs,
        rounds or (QUICK_ROUNDS if quick else ROUNDS),
        QUICK_SAMPLE_NS if quick else SAMPLE_NS,
        QUICK_BUDGET_NS if quick else BUDGET_NS,
        CLOCKS[clock],
    )
    hand = taken.pop("hand")
    row.hand_ns, row.rounds = statistics.median(hand), len(hand)
    row.ratios = {name: Spread.of([t / h for t, h in zip(times, hand, strict=True)]) for name, times in taken.items()}
    return row


def settle_allocator() -> None:
    """Bring glibc's malloc into the state it has in any process that has freed one array of 31 MiB.

    Before that, memory that becomes free at the heap's end goes back to the kernel beyond 128 KiB and costs page faults
    on its next use. Who pays depends on what else lives on the heap, so rows of large arrays differ widely between the
    two states (the chain at 10 000 and 1 000 000 elements: 1.75 and 0.98 of hand in one build). Therefore it is asked
    for by name, and never the default: a bar has to be reached in the state in which a process starts.
    """
    block = np.empty(SETTLING_BYTES, np.uint8)
    del block


def _check_untouched(data: Data, workload: Workload) -> None:
    """Hand overwrites only what is its own: a run that changed its inputs would time something else the next time."""
    fresh = workload.data()
    for i, (a, b) in enumerate(zip(data.leaves, fresh.leaves, strict=True)):
        if not np.array_equal(a, b):
            raise WrongResult(f"{workload.name}: a run changed leaf {i}")
