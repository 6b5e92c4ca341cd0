"""python -m tests.reliability --faults N: N injected faults of every kind, with what is checked after each.

Run it from the repository's root, with the package importable. Exit status 1 at the first promise that does not hold.
"""

import argparse
import faulthandler
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import faults_callbacks  # noqa: F401
import faults_engine  # noqa: F401
import faults_memory  # noqa: F401
import faults_threads  # noqa: F401
from injector import KINDS, campaign

# Nothing here takes a second: half a minute without a fault is a hang, and every thread's stack is shown.
HANG_SECONDS = 30


def main():
    """Prints how many faults of each kind were injected."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("--faults", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="only kinds whose name contains this")
    arguments = parser.parse_args()
    start = time.monotonic()

    def report(total, done):
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        if total % 1000 == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{total} faults, {time.monotonic() - start:.0f} s, peak {peak} MB", flush=True)

    faulthandler.enable()
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    kinds = [name for name in KINDS if arguments.kind in name]
    done = campaign(arguments.faults, arguments.seed, report, kinds)
    faulthandler.cancel_dump_traceback_later()
    for kind, count in sorted(done.items()):
        print(f"{count:8} {kind}")
    seconds = time.monotonic() - start
    print(
        f"{done.total():8} faults of {len(done)} kinds in {seconds:.0f} s: no hang, nothing leaked, the engine usable"
    )


if __name__ == "__main__":
    main()
