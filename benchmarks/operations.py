"""`python -m benchmarks.operations [NAME ...]`: what each public function costs beside the same call on raw arrays.

Every function of the table, and every one of NumPy's beyond it, that has a derivative: on 8 x 8 arrays and on arrays of
100,000 elements, row-major and transposed, float64 and float32. Shown are the bare call, how much longer the recorded
one takes (over), and the part of backward that is the function's own: backward() less that of one `t + raw`. Worst
first. It is no table of ratios with bars: it shows which functions take a slow path. Times are of this thread's running
only, the fastest of many short turns that the variants take.
May import: environment first, then numpy, arraygrad and calls.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from . import environment

SIDES = {"small": 8, "large": 316}
ROUNDS = 7
ROUND_NS = 1_500_000
"""About how long one variant runs in one round."""
TURNS = 6
"""Turns that the variants take in one round. What slows a machine lasts longer than a turn, so each variant has turns
without it: of a call of 100 us, a turn that was slowed by one percent would hide or feign what recording costs."""


def least(runs: Sequence[Callable[[], Any]], rounds: int = ROUNDS) -> list[float]:
    """Microseconds per call of each, the fastest of its turns: other processes only ever add time."""
    calls, best = [], [float("inf")] * len(runs)
    turns = rounds * TURNS
    for run in runs:
        run()
        start = time.thread_time_ns()
        run()
        once = max(200, time.thread_time_ns() - start)
        calls.append(max(1, int(ROUND_NS / TURNS / once)))
        turns = min(turns, rounds * max(1, int(ROUND_NS / once)))
    for _ in range(turns):
        for i, run in enumerate(runs):
            repeat = range(calls[i])
            start = time.thread_time_ns()
            for _ in repeat:
                run()
            best[i] = min(best[i], (time.thread_time_ns() - start) / calls[i] / 1e3)
    return best


def outputs(result: Any) -> list[Any]:
    """The Tensors of a result that have a gradient."""
    import arraygrad as ag

    several = result if isinstance(result, (tuple, list)) else [result]
    return [t for t in several if isinstance(t, ag.Tensor) and t.requires_grad]


def bind(row: Any, kit: Any) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    """(bare call, recorded call, recorded call and backward) of a row on the arrays of a kit."""
    import numpy as np

    import arraygrad as ag

    call, leaves = row.case(kit)
    tensors = [ag.asarray(a, requires_grad=True) for a in leaves]
    bare, ours = row.bare, row.ours
    first = outputs(call(ours, *tensors))
    seeds = [ag.asarray(np.ones(t.shape, t.dtype)) for t in first]

    def run_bare() -> Any:
        return call(bare, *leaves)

    def record() -> Any:
        return call(ours, *tensors)

    if len(first) == 1 and isinstance(record(), ag.Tensor):
        seed = seeds[0]

        def run_backward() -> None:
            call(ours, *tensors).backward(seed)

    else:

        def run_backward() -> None:
            ag.autograd.backward(outputs(call(ours, *tensors)), seeds)

    return run_bare, record, run_backward


def measure(row: Any, kit: Any, fixed: float, rounds: int = ROUNDS) -> dict[str, float]:
    """bare, over, backward of a row, in microseconds; `fixed` is what one backward() costs before any rule."""
    bare, recorded, both = least(bind(row, kit), rounds)
    return {"bare": bare, "over": recorded - bare, "backward": both - recorded - fixed}


def fixed_cost(kit: Any, rounds: int = ROUNDS) -> float:
    """Microseconds of backward() through one `t + raw`."""
    from . import calls

    row = next(row for row in calls.rows() if row.name == "t + raw")
    _, recorded, both = least(bind(row, kit), rounds)
    return both - recorded


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operations", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only functions whose names begin so")
    parser.add_argument("--size", choices=("small", "large", "both"), default="both")
    parser.add_argument("--layout", choices=("row-major", "transposed", "both"), default="both")
    parser.add_argument("--dtype", choices=("float64", "float32", "both"), default="both")
    parser.add_argument("--most", type=int, metavar="N", help="show the N worst of each table only")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", metavar="FILE", help="also write every number to FILE")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    environment.pin_threads()
    warnings.simplefilter("ignore")  # domains and deprecations: the arguments are the same on both sides
    from . import calls

    wanted = [r for r in calls.rows() if not options.names or any(r.name.startswith(n) for n in options.names)]
    report = []
    for size in ("small", "large") if options.size == "both" else (options.size,):
        for layout in ("row-major", "transposed") if options.layout == "both" else (options.layout,):
            for dtype in ("float64", "float32") if options.dtype == "both" else (options.dtype,):
                kit = calls.Kit(SIDES[size], layout == "transposed", dtype)
                fixed = fixed_cost(kit, options.rounds)
                found = [(row.name, measure(row, kit, fixed, options.rounds)) for row in wanted]
                title = f"{size} ({SIDES[size]} x {SIDES[size]}), {layout}, {dtype}"
                show(title, fixed, found, options.most)
                report += [{"name": name, "size": size, "layout": layout, "dtype": dtype, **r} for name, r in found]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=0)
    return 0


def show(title: str, fixed: float, found: list[tuple[str, dict[str, float]]], most: int | None) -> None:
    """Print a table: what records worst first, and of what follows what has the dearest backward."""
    print(f"{title}; backward() of t + raw: {fixed:.2f}; microseconds")
    for key in ("over", "backward"):
        print(f"{'worst ' + key:38} {'bare':>9} {'over':>9} {'backward':>9} {'backward / bare':>16}")
        for name, r in sorted(found, key=lambda item: -item[1][key])[:most]:
            ratio = r["backward"] / r["bare"]
            print(f"{name:38} {r['bare']:9.2f} {r['over']:9.2f} {r['backward']:9.2f} {ratio:16.2f}", flush=True)
        print()


if __name__ == "__main__":
    raise SystemExit(main())
