"""docs/engine.md and the tests name the same statements."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "engine.md"
ROW = re.compile(r"^\| ([A-Z]{2,3}\d+) \| [^|]+ \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
NAME = re.compile(r"^ *def test_([A-Z]{2,3}\d+)_", re.MULTILINE)
CHAPTERS = ("engine", "core", "threads", "autograd")


def statements_tested():
    """Statement -> set of the test folders that have a test of it."""
    found = {}
    for chapter in CHAPTERS:
        for path in (TESTS / chapter).glob("test_*.py"):
            for statement in NAME.findall(path.read_text(encoding="utf-8")):
                found.setdefault(statement, set()).add(chapter)
    return found


def rows():
    """Statement -> (state, folders named) of the page."""
    table = {}
    for statement, state, tests in ROW.findall(PAGE.read_text(encoding="utf-8")):
        assert statement not in table, f"{statement} stands twice"
        table[statement] = (state.strip(), {t.strip() for t in tests.split(",") if t.strip()})
    return table


@pytest.fixture(autouse=True)
def _page():
    if not PAGE.exists():
        pytest.skip("docs/ is not beside the tests (an installed copy)")


def test_every_row_names_the_folders_that_test_it():
    tested = statements_tested()
    wrong = {}
    for statement, (state, folders) in rows().items():
        if state == "later":
            want = set()
        elif folders == {"inside"}:
            continue
        else:
            want = tested.get(statement, set())
            if not want:
                wrong[statement] = "no test"
        if folders != want:
            wrong[statement] = f"the page says {sorted(folders)}, the tests are in {sorted(want)}"
    assert wrong == {}


def test_every_statement_with_a_test_has_a_row():
    missing = set(statements_tested()) - set(rows())
    assert missing == set()


def test_every_state_is_one_of_the_five():
    states = {state.split(":")[0].split(";")[0] for state, _ in rows().values()}
    assert states <= {"torch", "better", "differs", "inside", "later"}
