"""python -m tests.reliability --faults N: N injected faults of every kind, with what is checked after each.

Run it from the repository's root, with the package importable. Exit status 1 at the first promise that does not hold.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from injector import campaign


def main():
    """Prints how many faults of each kind were injected."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("--faults", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    start = time.monotonic()

    def report(total, done):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{total} faults, {time.monotonic() - start:.0f} s, peak {peak} MB", flush=True)

    try:
        done = campaign(arguments.faults, arguments.seed, report)
    except AssertionError as error:
        print(f"FAILED: {error}")
        raise
    for kind, count in sorted(done.items()):
        print(f"{count:8} {kind}")
    print(
        f"{sum(done.values()):8} in {time.monotonic() - start:.0f} s; after each the engine was usable, nothing leaked"
    )


if __name__ == "__main__":
    main()
