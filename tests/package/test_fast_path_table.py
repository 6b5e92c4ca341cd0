"""The table of fast paths in docs/performance.md: switches and tests exist, and no test is left out."""

import re
from pathlib import Path

import pytest

import arraygrad as ag

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "performance.md").read_text()
ROWS = re.findall(r"^\| (.+) \| `([\w.]+)\((.*)\)` \| `(tests/[\w/]+\.py)` \|$", PAGE, re.MULTILINE)


def sources_of(first):
    """The text of the module that a row names: the package's face, a module of it, or one of its backends."""
    package = ROOT / "src" / "arraygrad"
    places = [package, package / "backends"]
    folders = first.replace(".", "/")
    found = [p / f"{folders}{suffix}" for p in places for suffix in (".py", ".pyx", "/__init__.py")]
    return [path.read_text() for path in found if path.exists()]


def test_the_table_is_there():
    assert len(ROWS) >= 15


@pytest.mark.parametrize(("path", "name", "argument", "test"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_the_switch_and_the_test_of_a_fast_path_exist(path, name, argument, test):
    module, _, function = name.rpartition(".")
    if module == "ag":
        assert callable(getattr(ag, function))
    else:
        assert any(f"def {function}(" in text for text in sources_of(module)), f"there is no {name}"
    assert (ROOT / test).exists(), test
    text = (ROOT / test).read_text()
    beside = (ROOT / test).parent / "fast_path_cases.py"
    text += beside.read_text() if "fast_path_cases" in text else ""
    assert function in text, f"{test} does not use the switch {name}"


def test_every_file_of_tests_for_fast_paths_stands_in_the_table():
    named = {test for *_, test in ROWS}
    assert {f"tests/backends/{path.name}" for path in (ROOT / "tests" / "backends").glob("test_fast_*.py")} <= named


def test_tests_that_source_files_name_exist():
    named = {}
    for path in sorted((ROOT / "src").rglob("*.*")):
        if path.suffix in (".py", ".pyx", ".hpp"):
            named.update(dict.fromkeys(re.findall(r"tests/\w+/\w+\.py", path.read_text()), path.name))
    assert named
    assert not {name: path for name, path in named.items() if not (ROOT / name).exists()}
