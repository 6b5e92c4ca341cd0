"""The bar of long loops: not where nobody looks, and nothing where tqdm is missing."""

import io
import sys

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import _progress as progress


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


def cubes(x):
    return x**3


CALLS = {
    "jacobian": (lambda progress: ag.jacobian(cubes, progress=progress)(np.ones(4)), 4, "rows"),
    "jacobian in chunks": (lambda progress: ag.jacobian(cubes, chunk_size=3, progress=progress)(np.ones(4)), 4, "rows"),
    "jacobian one by one": (
        lambda progress: ag.jacobian(cubes, chunk_size=1, progress=progress)(np.ones(4)),
        4,
        "rows",
    ),
    "jacobian of complex": (lambda progress: ag.jacobian(cubes, progress=progress)(np.ones(3) + 1j), 3, "rows"),
    "jacfwd": (lambda progress: ag.jacfwd(cubes, progress=progress)(np.ones(4)), 4, "columns"),
    "hessian": (lambda progress: ag.hessian(lambda x: np.sum(cubes(x)), progress=progress)(np.ones(4)), 4, "rows"),
    "gradcheck": (lambda progress: ag.gradcheck(cubes, [np.ones(4)], progress=progress), 4, "differences"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_moves_its_bar_to_the_end_and_gives_the_same(name, monkeypatch):
    call, steps, title = CALLS[name]
    seen = []

    class Bar:
        def __init__(self, total, title, unit):
            seen.append((total, title))

        def __enter__(self):
            return self

        def __exit__(self, *exc):
            pass

        def update(self, n=1):
            seen.append(n)

    plain = call(False)
    assert seen == []
    for module in ("transforms.gradients", "testing.gradients"):
        monkeypatch.setattr(f"arraygrad.{module}.progress_bar", Bar)
    followed = call(True)
    assert np.array_equal(plain, followed)
    assert seen[0] == (steps, title)
    assert sum(seen[1:]) == steps
