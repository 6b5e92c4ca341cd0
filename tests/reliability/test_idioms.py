"""The table of idioms in docs/reliability.md: each line does to a gradient what the table says, and none lies."""

import pytest
from idioms import in_a_transform, read, step_by_step

ROWS = read()
OUTCOMES = {"recorded", "constant", "number", "text", "constant where asked"}


def test_the_table_has_every_kind_of_line():
    assert len(ROWS) >= 80
    assert len({code for code, _, _ in ROWS}) == len(ROWS)
    for _, inside, outside in ROWS:
        for outcome in (inside, outside):
            assert outcome.removesuffix(", with a warning") in OUTCOMES or outcome.startswith("refused: ")
        # A number that leaves a transform has lost its gradient.
        assert not inside.startswith("number")


@pytest.mark.parametrize(("code", "inside", "outside"), ROWS, ids=[code for code, _, _ in ROWS])
def test_line_does_what_the_table_says(code, inside, outside):
    found, message = in_a_transform(code)
    assert found == inside, message
    found, message = step_by_step(code)
    assert found == outside, message


@pytest.mark.parametrize(("code", "inside"), [(code, inside) for code, inside, _ in ROWS], ids=[row[0] for row in ROWS])
def test_adoption_loses_nothing_and_lies_nowhere(code, inside):
    found, message = in_a_transform(code, adopt=True)
    assert found.removesuffix(", with a warning") in OUTCOMES - {"number"} or found.startswith("refused: "), message
    if not inside.startswith("refused"):
        assert found.removesuffix(", with a warning") == inside.removesuffix(", with a warning"), message


REFUSED = [(code, inside) for code, inside, _ in ROWS if inside.startswith("refused")]
# What Python or NumPy itself refuses before it asks a Tensor for anything.
THEIRS = ("Fraction", "Decimal", "__add__", "hex", "json", "memoryview", "nditer")


@pytest.mark.parametrize("code", [code for code, _ in REFUSED if not any(word in code for word in THEIRS)])
def test_refusal_speaks_of_gradients_and_names_a_way_out(code):
    _, message = in_a_transform(code)
    assert "gradient" in message
    assert any(
        way in message for way in ("Use ", "Leave ", "make the target", "asarray", "detach", "compose", "write x")
    )
