"""What notebooks show: Tensors with their facts, tables of what a run took."""

from xml.etree import ElementTree

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import graph


def shown(value):
    """The text of the HTML, which is well-formed, without its tags."""
    return " ".join("".join(ElementTree.fromstring(value._repr_html_()).itertext()).split())


def test_a_tensor_is_shown_with_its_facts():
    text = shown(ag.tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3), requires_grad=True))
    assert text == "Tensor: shape 2 x 3 dtype float32 device cpu requires_grad=True[[0., 1., 2.], [3., 4., 5.]]"


def test_a_computed_tensor_is_shown_with_its_node():
    x = ag.tensor(2.0, requires_grad=True)
    assert shown(ag.exp(x) * 0.0) == "Tensor: shape scalar dtype float64 device cpu grad_fn=<MulBackward>0."


def test_a_constant_is_shown_without_a_node():
    assert shown(ag.tensor([1, 2])) == "Tensor: shape 2 dtype int64 device cpu[1, 2]"


def test_a_large_tensor_is_shown_abridged():
    assert "..." in shown(ag.zeros((1000, 1000)))


def test_showing_a_tensor_gives_nothing_away():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = ag.exp(x)
    before = y.version
    y._repr_html_()
    assert y.version == before
    assert x._repr_html_().startswith("<div>")


def test_the_text_of_a_tensor_is_as_before():
    assert repr(ag.tensor([[1.0], [2.0]])) == "Tensor([[1.],\n        [2.]])"


# profile


@pytest.fixture
def profiled():
    x = ag.tensor(np.ones(1000), requires_grad=True)
    with graph.profile() as profile:
        for _ in range(3):
            (ag.exp(x) * x).sum().backward()
    return profile


def test_a_profile_counts_calls_and_nodes(profiled):
    counts = {row.name: (row.calls, row.backward_calls) for row in profiled.rows}
    assert counts == {"exp": (3, 3), "multiply": (3, 3), "sum": (3, 3), "AccumulateGrad": (0, 3)}


def test_a_profile_measures_bytes(profiled):
    rows = {row.name: row for row in profiled.rows}
    assert rows["exp"].bytes_made == 3 * 8000
    assert rows["exp"].bytes_saved == 3 * 8000  # its result
    assert rows["multiply"].bytes_saved == 3 * 2 * 8000  # both operands
    assert rows["sum"].bytes_made == 3 * 8


def test_a_profile_measures_time(profiled):
    assert sum(row.nanoseconds for row in profiled.rows) > 0
    assert sum(row.backward_nanoseconds for row in profiled.rows) > 0
    assert [row.nanoseconds for row in profiled.rows if not row.calls] == [0]
    total = [row.nanoseconds + row.backward_nanoseconds for row in profiled.rows]
    assert total == sorted(total, reverse=True)


def test_a_profile_is_a_table_with_totals(profiled):
    lines = str(profiled).splitlines()
    assert lines[0].split()[:2] == ["operation", "calls"]
    assert len(lines) == 2 + len(profiled.rows)
    assert len(set(map(len, lines))) == 1
    assert lines[-1].split()[:2] == ["total", "9"]
    assert "total" in shown(profiled)


def test_a_profile_joins_a_function_of_the_users_with_its_node():
    class Double(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    x = ag.tensor([1.0], requires_grad=True)
    with graph.profile() as profile:
        Double.apply(x).backward()
    rows = {row.name: row for row in profile.rows}
    assert (rows["Double"].calls, rows["Double"].backward_calls) == (1, 1)


def test_an_operation_that_raises_is_not_counted():
    with graph.profile() as profile, pytest.raises(ValueError, match="shape"):
        ag.reshape(ag.ones(3), (2, 2))
    assert [row for row in profile.rows if row.calls] == []


def test_an_empty_profile_is_a_table_too():
    with graph.profile() as profile:
        pass
    assert str(profile).splitlines()[-1].split() == ["total", "0", "0", "ns", "0", "B", "0", "0", "ns", "0", "B"]


def test_two_profiles_at_once_are_refused():
    with graph.profile(), pytest.raises(RuntimeError, match="another trace is on"), graph.profile():
        pass
