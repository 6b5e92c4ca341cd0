"""Who makes a node of an operation, and which forwards and rules are written by hand, are what the docs say."""

import re

from sources import PACKAGE, ROOT

ROOM = PACKAGE / "backends" / "numpy"
BY_HAND = re.compile(r"^cdef (?:object|int) ((?:forward|rule)_\w+)\(", re.MULTILINE)


def callers(name):
    """Modules that call a function, once for each call."""
    found = []
    for path in PACKAGE.rglob("*.pyx"):
        lines = [line for line in path.read_text().splitlines() if not re.match(r"\s*#|cdef \w+ new_", line)]
        found += [path.relative_to(PACKAGE).as_posix()] * len(re.findall(rf"\b{name}\(", "\n".join(lines)))
    return sorted(found)


def test_four_functions_begin_nodes_of_operations_and_one_makes_them_of_parts():
    assert callers("new_op_node") == [
        *["core/apply.pyx", "core/apply.pyx", "core/elements.pyx", "transforms/tracked_call_base.pyx"],
    ]
    assert callers("new_node_of") == ["core/number_ops.pyx"]


def test_the_docs_count_what_is_written_by_hand():
    here = {path.stem: len(BY_HAND.findall(path.read_text())) for path in ROOM.glob("*.pyx")}
    text = (ROOT / "docs" / "performance.md").read_text()
    section = text.split("### Why a forward or a rule is written by hand")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \| (\d+) \|", section, re.MULTILINE)
    listed = set()
    for files, count in rows:
        stems = re.findall(r"`(\w+)`", files)
        assert sum(here[stem] for stem in stems) == int(count), files
        listed.update(stems)
    assert {stem for stem, count in here.items() if count} == listed
    assert f"{sum(here.values())} functions of `backends/numpy`" in section
