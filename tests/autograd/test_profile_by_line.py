"""Time and memory by the line that called the operations: `profile().by_line`, and `python -m arraygrad profile`."""

import inspect
import textwrap

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.tools.command_line import main


def layer(x, w):
    product = x @ w
    return np.tanh(product)


def loss(w, x):
    hidden = layer(x, w)
    rows = np.zeros(3)
    for i in range(3):
        rows[i] = np.sum(hidden[i] ** 2)
    return rows.sum() + np.mean(hidden)


W, X = np.full((4, 5), 0.1), np.ones((3, 4))


def line_of(text):
    """The number of the line of this file that holds `text`."""
    lines, _ = inspect.findsource(inspect.getmodule(loss))
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def by_text(profile):
    return {row.source: row for row in profile.by_line}


def sums(rows):
    return [sum(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("adopt", [True, False], ids=["adopted", "plain"])
def test_operations_belong_to_the_line_that_calls_them(adopt):
    f = loss if adopt else lambda w, x: np.sum(layer(x, w))
    with ag.autograd.graph.profile() as p:
        ag.grad(f, adopt=adopt)(W, X)
    rows = by_text(p)
    assert rows["product = x @ w"].calls == rows["product = x @ w"].backward_calls == 1
    assert rows["return np.tanh(product)"].bytes_made == 3 * 5 * 8
    assert rows["return np.tanh(product)"].line == line_of("return np.tanh(product)")
    assert rows["return np.tanh(product)"].filename == __file__
    if adopt:
        assert rows["rows[i] = np.sum(hidden[i] ** 2)"].calls == 12
        assert rows["rows[i] = np.sum(hidden[i] ** 2)"].backward_calls == 12


def test_lines_and_operations_add_up_to_the_same():
    with ag.autograd.graph.profile() as p:
        ag.grad(loss)(W, X)
        ag.hessian(lambda x: np.sum(x**3))(np.ones(3))
    assert sums([row[1:] for row in p.rows]) == sums([row[2:] for row in p.by_line])
    times = [row.nanoseconds + row.backward_nanoseconds for row in p.by_line]
    assert times == sorted(times, reverse=True)


def test_what_belongs_to_no_line():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    before = x * 2.0
    with ag.autograd.graph.profile() as p:
        (before * before).sum().backward()
    rows = {row.where: row for row in p.by_line if not row.line}
    assert rows["(before the first operation)"].backward_calls == 1
    assert rows["(gradients of leaves)"].backward_calls == 1


def test_an_operation_that_raises_leaves_the_others_in_their_lines():
    with ag.autograd.graph.profile() as p:
        x = ag.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(ValueError, match="matmul"):
            x @ np.ones(3)
        y = (x * 2.0).sum()
        y.backward()
    assert by_text(p)["y = (x * 2.0).sum()"].calls == 2
    assert sums([row[1:] for row in p.rows]) == sums([row[2:] for row in p.by_line])


def test_a_block_without_operations_shows_zeros():
    with ag.autograd.graph.profile() as p:
        pass
    assert p.by_line == ()
    assert "total" in str(p.by_line)
    assert "total" in p.by_line._repr_html_()


def test_tables_show_the_source_and_escape_it():
    with ag.autograd.graph.profile() as p:
        x = ag.tensor([1.0, 2.0], requires_grad=True)
        z = ag.where(x < 1.5, x, 2.0 * x).sum()
    assert "z = ag.where(x < 1.5, x, 2.0 * x).sum()" in str(p.by_line)
    assert "x &lt; 1.5" in p.by_line._repr_html_()
    assert z.shape == ()


MODEL = """
import numpy as np

def loss(w, x):
    hidden = np.tanh(x @ w)
    return np.sum(hidden**2)

def several(w):
    return {"a": np.exp(w), "b": w.sum()}
"""


@pytest.mark.parametrize(
    ("name", "shapes", "shown"),
    [("loss", ["4", "3x4"], "hidden = np.tanh(x @ w)"), ("several", ["3"], '"a": np.exp(w)'), ("loss", None, "total")],
    ids=["scalar", "container", "numbers"],
)
@pytest.mark.parametrize("adopt", ["--adopt", "--no-adopt"])
def test_the_command_prints_the_lines_of_a_users_function(tmp_path, capsys, name, shapes, shown, adopt):
    path = tmp_path / f"profiled_{name}.py"
    path.write_text(textwrap.dedent(MODEL).replace("x @ w", "x @ w" if shapes else "x * w"))
    options = ["--shapes", *shapes] if shapes else []
    assert main(["profile", f"{path}:{name}", *options, "--operations", adopt]) == 0
    printed = capsys.readouterr().out
    assert shown in printed
    assert "value and gradient" in printed
    assert "operation" in printed


def test_the_command_says_where_there_is_no_function(tmp_path, capsys):
    (tmp_path / "profiled_none.py").write_text("x = 1\n")
    assert main(["profile", f"{tmp_path / 'profiled_none.py'}:loss"]) == 2
    assert "has no function loss" in capsys.readouterr().err
