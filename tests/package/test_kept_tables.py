"""`python -m benchmarks --history NAME` keeps a run's tables, with what they were measured on."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks import kept
from benchmarks.__main__ import parse

REPORT = {
    "environment": {"cpu": "a processor", "machine": "x", "python": "3.11", "versions": {"numpy": "2"}},
    "clock": "cpu",
    "quick": True,
    "settled": False,
    "lines": ["header  ", "chain 0.5"],
}


def test_a_table_is_written_with_what_it_was_measured_on(tmp_path):
    path = kept.write("first", REPORT, tmp_path / "history", datetime.date(2026, 1, 2))
    assert path.read_text().splitlines() == [
        "2026-01-02, a processor, Python 3.11",
        "numpy 2",
        "clock: cpu, quick",
        "",
        "header",
        "chain 0.5",
    ]


def test_a_table_of_the_same_name_is_replaced(tmp_path):
    kept.write("first", REPORT, tmp_path)
    path = kept.write("first", {**REPORT, "lines": ["other"]}, tmp_path)
    assert path.read_text().endswith("\n\nother\n")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["", "../up", "a b", ".hidden", "a/b"])
def test_a_name_that_is_no_file_name_is_refused(name, capsys):
    with pytest.raises(SystemExit):
        parse(["--history", name])
    assert "--history needs a name" in capsys.readouterr().err


def test_kept_tables_are_of_that_form():
    for path in kept.FOLDER.glob("*"):
        assert kept.is_name(path.stem)
        assert "arraygrad" in path.read_text(encoding="utf-8")
