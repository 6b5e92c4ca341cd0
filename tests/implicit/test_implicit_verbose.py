"""`verbose=True`: what is told while an equation is solved; solutions and gradients are those without it."""

import re

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.implicit import watching

pytest.importorskip("scipy")


@pytest.mark.parametrize(
    ("problem", "f", "said"),
    [
        (ag.implicit.root, lambda x, a: x * x - a, "largest residual"),
        (ag.implicit.minimize, lambda x, a: (x * x - a) ** 2, "value"),
        (ag.implicit.fixed_point, lambda x, a: (x + a / x) / 2, "last change"),
    ],
    ids=["root", "minimize", "fixed_point"],
)
def test_the_last_line_says_how_often_the_function_was_called(problem, f, said, capsys):
    plain = ag.grad(lambda a: problem(f)(1.5, a))(2.0)
    assert capsys.readouterr().err == ""
    told = ag.grad(lambda a: problem(f, verbose=True)(1.5, a))(2.0)
    lines = capsys.readouterr().err.splitlines()
    assert told == plain
    assert len(lines) == 1
    found = re.fullmatch(
        rf"implicit\.{problem.__name__}: solved, (\d+) calls of the function in \d+\.\d s, {said} (\S+)", lines[0]
    )
    assert int(found[1]) > 1
    assert abs(float(found[2])) < 1e-6


def test_a_line_comes_every_two_seconds(monkeypatch, capsys):
    clock = iter(np.arange(0.0, 10.0, 0.5))
    monkeypatch.setattr(watching.time, "monotonic", lambda: float(next(clock)))
    watched = watching.Watched("f", lambda x: x, "largest", lambda value, x: value)
    for _ in range(8):
        watched(np.array([3.0, -4.0]))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["f: solving", "f: solving"]
    assert lines[0].endswith("largest 4")


def test_a_solver_of_the_users_own_is_watched_too(capsys):
    def bisect(fun, x0):
        low, high = 0.0, 4.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if fun(np.asarray(middle)) < 0 else (low, middle)
        return np.asarray(low)

    solve = ag.implicit.root(lambda x, a: x * x - a, bisect, verbose=True)
    assert solve(1.0, 2.0) == pytest.approx(np.sqrt(2.0))
    assert "60 calls" in capsys.readouterr().err
