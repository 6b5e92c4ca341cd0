"""The table of idioms in docs/reliability.md: each line does to a gradient what the table says, and none lies."""

import pytest
from idioms import in_a_transform, read, step_by_step

ROWS = read()
OUTCOMES = {"recorded", "constant", "number", "text", "constant where asked"}


def test_the_table_has_every_kind_of_line():
    assert len(ROWS) >= 80
    assert len({code for code, *_ in ROWS}) == len(ROWS)
    for _, inside, plain, outside in ROWS:
        for outcome in (inside, plain, outside):
            assert outcome.removesuffix(", with a warning") in OUTCOMES or outcome.startswith("refused: ")
        # A number that leaves a transform has lost its gradient.
        assert not inside.startswith("number")
        assert not plain.startswith("number")


@pytest.mark.parametrize(("code", "inside", "plain", "outside"), ROWS, ids=[code for code, *_ in ROWS])
def test_line_does_what_the_table_says(code, inside, plain, outside):
    found, message = in_a_transform(code)
    assert found == inside, message
    found, message = in_a_transform(code, adopt=False)
    assert found == plain, message
    found, message = step_by_step(code)
    assert found == outside, message


def test_adoption_loses_nothing():
    """What is right with adopt=False is right without it, in every row of the table."""
    for code, inside, plain, _ in ROWS:
        if not plain.startswith("refused"):
            assert inside.removesuffix(", with a warning") == plain.removesuffix(", with a warning"), code


# What Python or NumPy itself refuses before it asks a Tensor for anything.
THEIRS = ("Fraction", "Decimal", "__add__", "hex", "json", "memoryview", "nditer")
REFUSED = [
    (code, adopt)
    for code, inside, plain, _ in ROWS
    for outcome, adopt in ((inside, None), (plain, False))
    if outcome.startswith("refused") and not any(word in code for word in THEIRS)
]


@pytest.mark.parametrize(("code", "adopt"), REFUSED)
def test_refusal_speaks_of_gradients_and_names_a_way_out(code, adopt):
    _, message = in_a_transform(code, adopt)
    assert "gradient" in message
    assert any(
        way in message
        for way in ("Use ", "Leave ", "make the target", "asarray", "detach", "stop_gradient", "compose", "write x")
    )
