"""`python -m tests.fuzz.spellings --minutes 10 --seed 1`: generated calls of every class until the time is over.

Exit status 0 where every call agreed with its reference, 1 where one did not. A failure prints its class and its seed,
with which `--only CLASS --seed SEED --calls 1` repeats it.
"""

import argparse
import sys
import time

from ..gradients import Mismatch
from .classes import classes, drawn
from .spelling import Counts, check


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.spellings", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="the first call's seed; the others follow")
    parser.add_argument("--calls", type=int, default=None, help="stop after so many of each class")
    parser.add_argument("--only", action="append", help="a class; may be given several times")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many failures")
    options = parser.parse_args(arguments)
    found = {name: module for name, module in classes().items() if not options.only or name in options.only}
    counts = {name: Counts() for name in found}
    end, seed, failures = time.monotonic() + 60 * options.minutes, options.seed, 0
    while time.monotonic() < end and failures < options.failures:
        if options.calls is not None and seed >= options.seed + options.calls:
            break
        for name, module in found.items():
            try:
                check(drawn(name, module, seed), counts[name], seed)
            except Mismatch as error:
                failures += 1
                print(f"\n=== failure {failures}: class {name}, seed {seed}\n{error}", flush=True)
        seed += 1
    for name, count in counts.items():
        print(f"{name}: {count.line()}")
    total = sum(count.calls for count in counts.values())
    print(f"seeds {options.seed}..{seed - 1}: {total} calls of {len(found)} classes; {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
