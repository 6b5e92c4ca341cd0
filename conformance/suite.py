"""One run of the suite in a process of its own, and its result.

May import: expected; arraygrad._progress inside a function.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .expected import Expectation

ROOT = Path(__file__).resolve().parents[1]

# Of pytest's report only outcomes and messages are read; the rest would be hundreds of megabytes.
_OMIT = ("collectors", "log", "streams", "traceback", "keywords", "warnings")


class SuiteError(RuntimeError):
    """The suite itself did not run: nothing was collected, or pytest stopped."""


@dataclass(frozen=True)
class Run:
    """What to run: a namespace in the suite's notation, and the suite's settings."""

    module: str
    examples: int
    seed: int
    version: str | None = None
    tests: Sequence[str] = ()
    """Tests of the suite, as pytest names them; none: all."""
    environment: tuple[tuple[str, str], ...] = ()

    def command(self, report: Path) -> list[str]:
        """pytest's command line, for a process whose working directory is the checkout."""
        return [
            sys.executable, "-m", "pytest", *(self.tests or ["array_api_tests"]), "-q", "--tb=short",
            "-p", "no:cacheprovider", "--disable-deadline", f"--max-examples={self.examples}",
            f"--hypothesis-seed={self.seed}", "--json-report", f"--json-report-file={report}", "--json-report-omit",
            *_OMIT,
        ]  # fmt: skip

    def process_environment(self, scratch: Path) -> dict[str, str]:
        """This process's environment with the run's own settings; nothing is written into the checkout."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ARRAY_API_TESTS_")}
        environment.update(self.environment)
        environment["ARRAY_API_TESTS_MODULE"] = self.module
        if self.version is not None:
            environment["ARRAY_API_TESTS_VERSION"] = self.version
        # conformance.recording is imported by the suite's process, whose working directory is the checkout.
        paths = [str(ROOT), *[p for p in environment.get("PYTHONPATH", "").split(os.pathsep) if p]]
        environment["PYTHONPATH"] = os.pathsep.join([os.path.abspath(p) for p in paths])
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch)
        return environment


@dataclass(frozen=True)
class Score:
    """Result of one run."""

    passed: int
    failed: dict[str, str]
    """Test -> first line of its message, of failures that nobody expects."""
    expected: dict[str, str]
    """Test -> the backend's fault, of failures that are expected."""
    unneeded: tuple[str, ...]
    """Expectations whose tests ran and passed."""
    unknown: tuple[str, ...]
    """Expectations that are no tests of this checkout (where all tests were run)."""
    skipped: int
    seconds: float


def run(suite: Path, what: Run, expectations: Sequence[Expectation] = (), verbose: bool = False) -> Score:
    """Run the suite in the checkout `suite` and score it against the expectations.

    Raises
    ------
    SuiteError
        If pytest did not get as far as running tests. The text holds the end of its output.
    """
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        report = scratch / "report.json"
        started = time.perf_counter()
        status, output = _follow(what.command(report), suite, what.process_environment(scratch), verbose, what.module)
        seconds = time.perf_counter() - started
        results = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
    # 0: all passed, 1: some failed; anything else is no result.
    if status not in (0, 1) or not results.get("tests"):
        end = "\n".join(output.strip().splitlines()[-25:])
        raise SuiteError(f"the suite did not run on {what.module} (pytest's status {status}):\n{end}")
    return score(results, expectations, seconds, whole=not what.tests)


def _follow(
    command: list[str], folder: Path, environment: dict[str, str], verbose: bool, title: str
) -> tuple[int, str]:
    """pytest's exit status and output; shows how far it is, or with `verbose` lets it show its output itself."""
    if verbose:
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode, ""
    from arraygrad._progress import progress  # here: that arraygrad is missing is told by the command

    lines = []
    # What pytest writes comes line by line, each with the percentage of tests that are done.
    environment = {**environment, "PYTHONUNBUFFERED": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = 0
    with (
        subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes) as process,
        progress(100, title, "%") as bar,
    ):
        for line in process.stdout or ():
            lines.append(line)
            if found := re.search(r"\[ *(\d+)%\]$", line.rstrip()):
                bar.update(max(0, int(found[1]) - done))
                done = max(done, int(found[1]))
    return process.returncode, "".join(lines)


def score(results: dict, expectations: Sequence[Expectation], seconds: float, whole: bool = True) -> Score:
    """The score that pytest's report (a dict as pytest-json-report writes it) amounts to.

    `whole` says that all tests of the suite were asked for, so that an expectation without a test is a mistake.
    """
    passed = skipped = 0
    failed: dict[str, str] = {}
    expected: dict[str, str] = {}
    known: set[Expectation] = set()
    ran: set[Expectation] = set()
    hit: set[Expectation] = set()
    for test in results["tests"]:
        covering = [e for e in expectations if e.covers(test["nodeid"])]
        known.update(covering)
        if test["outcome"] == "skipped":
            skipped += 1
            continue
        ran.update(covering)
        if test["outcome"] in ("passed", "xpassed"):
            passed += 1
        elif covering:
            hit.update(covering)
            expected[test["nodeid"]] = covering[0].reason
        else:
            failed[test["nodeid"]] = _message(test)
    unneeded = tuple([e.test for e in expectations if e in ran and e not in hit])
    unknown = tuple([e.test for e in expectations if whole and e not in known])
    return Score(passed, failed, expected, unneeded, unknown, skipped, seconds)


def _message(test: dict) -> str:
    """First line of what a failed test raised."""
    for phase in ("call", "setup", "teardown"):
        crash = test.get(phase, {}).get("crash")
        if crash:
            lines = crash.get("message", "").strip().splitlines()
            return lines[0] if lines else "no message"
    return test["outcome"]
