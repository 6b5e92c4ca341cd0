"""Whether a folder is a usable checkout of the suite, and how to get one.

May import: nothing of this package.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

HOW_TO_GET_ONE = """\
conformance needs a checkout of the public Array-API test suite, which is not part of arraygrad:

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    python -m pip install pytest hypothesis pytest-json-report ndindex array-api-strict
    python -m conformance --suite array-api-tests

The suite reads the standard's own text, its submodule `array-api`; in a checkout that lacks it run
`git submodule update --init`."""

# Module -> distribution that has it. The suite can't be collected without any of them.
NEEDED = {
    "pytest": "pytest", "hypothesis": "hypothesis", "pytest_jsonreport": "pytest-json-report", "ndindex": "ndindex",
}  # fmt: skip


def problem(suite: Path) -> str | None:
    """What keeps the suite in this folder from running, in a sentence that says what to do; None if nothing does."""
    if not suite.is_dir():
        return f"{suite} is no folder"
    if not (suite / "array_api_tests").is_dir() or not (suite / "conftest.py").is_file():
        return f"{suite} is no checkout of array-api-tests: it lacks array_api_tests/ or conftest.py"
    if not (suite / "array-api" / "src" / "array_api_stubs").is_dir():
        return f"{suite} lacks its submodule array-api: run `git submodule update --init` in it"
    missing = [distribution for module, distribution in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        return f"the suite needs {', '.join(missing)}: python -m pip install {' '.join(missing)}"
    return None
