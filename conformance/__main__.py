"""`python -m conformance --suite PATH`: the public Array-API test suite against arraygrad's namespaces.

May import: every module of this package.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from . import table
from .backends import BACKENDS, Backend, expectations
from .checkout import HOW_TO_GET_ONE, problem
from .suite import Run, SuiteError, run

EXAMPLES = 100
"""The suite's own default: inputs per test."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m conformance",
        description="Run a checkout of data-apis/array-api-tests against a namespace of arraygrad and print the score "
        "beside that of the anchor, the library's own namespace.",
    )
    parser.add_argument("tests", nargs="*", metavar="TEST",
                        help="tests of the suite as pytest names them; none: all of them")  # fmt: skip
    parser.add_argument("--suite", type=Path, metavar="PATH", help="the checkout; without it: how to get one")
    parser.add_argument("--backend", choices=tuple(BACKENDS), default="numpy", help="default: numpy")
    parser.add_argument("--examples", type=int, default=EXAMPLES, metavar="N",
                        help=f"inputs drawn per test; default: {EXAMPLES}")  # fmt: skip
    parser.add_argument("--seed", type=int, action="append", metavar="N",
                        help="of the random inputs; may be given several times, one run each; default: 0")  # fmt: skip
    parser.add_argument(
        "--requires-grad",
        action="store_true",
        help="create every floating array with requires_grad=True: recording must change no value",
    )
    parser.add_argument("--version", metavar="V", help="version of the standard, as 2024.12; default: the newest")
    parser.add_argument("--no-anchor", action="store_true", help="leave the anchor out, which takes half the time")
    parser.add_argument("--verbose", action="store_true", help="show the suite's own output")
    parser.add_argument("--json", metavar="FILE", help="also write every score and failure to FILE")
    options = parser.parse_args(arguments)
    if options.examples < 1:
        parser.error("--examples needs at least 1")
    options.seed = options.seed or [0]
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """0: no failure that is not expected; 1: some; 2: the suite could not be run."""
    options = parse(arguments)
    if options.suite is None:
        print(HOW_TO_GET_ONE, file=sys.stderr)
        return 2
    backend = BACKENDS[options.backend]
    wrong = problem(options.suite) or _unavailable(backend)
    if wrong is not None:
        print(wrong, file=sys.stderr)
        return 2

    rows = []
    print(table.header(), flush=True)
    for seed in options.seed:
        try:
            rows.append(one_row(backend, options, seed))
        except SuiteError as error:
            print(error, file=sys.stderr)
            return 2
        print(table.line(rows[-1]), flush=True)
    for row in rows:
        for text in table.details(row):
            print(text if len(rows) == 1 else f"seed {row.seed}: {text}")
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return 1 if any(row.ours.failed for row in rows) else 0


def one_row(backend: Backend, options: argparse.Namespace, seed: int) -> table.Row:
    """Our run, and the anchor's with the same settings."""

    def score(module, expected, verbose):
        what = Run(module, options.examples, seed, options.version, options.tests, tuple(backend.environment.items()))
        return run(options.suite, what, expected, verbose)

    module = backend.recording_module if options.requires_grad else backend.module
    expected = expectations(backend.name, options.version, options.requires_grad)
    ours = score(module, expected, options.verbose)
    anchor = None if options.no_anchor else score(backend.anchor, (), False)
    return table.Row(backend.name, options.requires_grad, options.examples, seed, ours, anchor)


def _unavailable(backend: Backend) -> str | None:
    """Why this backend cannot be tested here, or None."""
    if importlib.util.find_spec("arraygrad") is None:
        return "arraygrad is not importable: install it, or set PYTHONPATH=src after building in place"
    missing = backend.missing()
    if missing:
        return f"--backend {backend.name} needs {', '.join(missing)}, which cannot be imported here"
    if backend.name == "cupy":
        import cupy

        try:
            cupy.cuda.runtime.getDeviceCount()
        except Exception as error:  # CuPy's own error types exist only where it imports
            return f"--backend cupy needs a CUDA device: {type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    raise SystemExit(main())
