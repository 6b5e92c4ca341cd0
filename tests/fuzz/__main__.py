"""`python -m tests.fuzz --minutes 10 --seed 1`: random programs until the time is over, then what was compared.

Exit status 0 where everything agreed, 1 where something did not. Every failure is printed as a small script.
"""

import argparse
import importlib.util
import sys
import time
import traceback

from arraygrad._progress import progress

from .check import Checker
from .generate import Generator
from .gradients import Mismatch
from .machines import HELPERS
from .program import Invalid
from .shrink import shrink


def failure(checker, program, thorough=False):
    """What is wrong with a program: a short name of the kind, or None; the exception beside it."""
    try:
        checker.check(program, thorough)
    except Invalid:
        return None, None
    except Mismatch as error:
        return error.what, error
    except Exception as error:  # whatever arraygrad raises for a program that NumPy runs is a failure
        return type(error).__name__ + str(error)[:20], error
    return None, None


def torch_is_there():
    return bool(importlib.util.find_spec("torch") and importlib.util.find_spec("array_api_compat"))


def report(torch, program, kind, error, number):
    print(f"\n=== failure {number}: {kind}, seed {program.seed}", flush=True)
    quiet = Checker(torch=torch)
    small = (
        shrink(program, lambda p: failure(quiet, p, thorough=True)[0]) if failure(quiet, program, True)[0] else program
    )
    error = failure(quiet, small, True)[1] or error
    print("".join(traceback.format_exception(error)[-6:]) if not isinstance(error, Mismatch) else error)
    print(small.source(HELPERS), flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed; the others follow")
    parser.add_argument("--programs", type=int, default=None, help="stop after so many")
    parser.add_argument("--torch", choices=["auto", "yes", "no"], default="auto", help="PyTorch as second reference")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many failures")
    options = parser.parse_args(arguments)
    torch = options.torch == "yes" or (options.torch == "auto" and torch_is_there())
    checker = Checker(torch=torch)
    end, seed, failures, kinds = time.monotonic() + 60 * options.minutes, options.seed, 0, {}
    said = time.monotonic()
    with progress(options.programs, "programs", "program") as bar:
        while time.monotonic() < end and failures < options.failures:
            if options.programs is not None and seed >= options.seed + options.programs:
                break
            bar.update()
            program = Generator(seed).program()
            seed += 1
            if program is None:
                continue
            kind, error = failure(checker, program)
            if kind is not None:
                failures += 1
                kinds[kind] = kinds.get(kind, 0) + 1
                if kinds[kind] <= 3:
                    report(torch, program, kind, error, failures)
            if time.monotonic() > said + 60:
                said = time.monotonic()
                print(f"... seed {seed}: {checker.counts.line()}; {failures} failures", flush=True)
    print(f"seeds {options.seed}..{seed - 1}: {checker.counts.line()}; {failures} failures {kinds or ''}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
