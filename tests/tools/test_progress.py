"""The bar of long loops: not where nobody looks, and nothing where tqdm is missing."""

import io
import sys

import pytest

from arraygrad.tools import progress


def test_without_tqdm_there_is_no_bar(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress.progress(3, "steps") as bar:
        bar.update()
    assert capsys.readouterr() == ("", "")


def test_a_file_gets_no_bar(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(progress, "DELAY", 0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress(3, "steps") as bar:
        for _ in range(3):
            bar.update()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("delay", "shown"), [(0, True), (3600, False)], ids=["late", "soon"])
def test_a_terminal_gets_a_bar_where_it_takes_long(monkeypatch, delay, shown):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(progress, "DELAY", delay)
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress(3, "steps") as bar:
        for _ in range(3):
            bar.update()
    assert ("steps" in stream.getvalue()) is shown
