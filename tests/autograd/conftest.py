"""Makes the helpers of the tensor tests importable here."""

import sys
from pathlib import Path

import pytest

import arraygrad as ag

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))


@pytest.fixture
def refuse_overwriting():
    """In-place writes to saved values are refused in backward, as in torch, instead of copied before."""
    previous = ag.set_saved_mutation("error")
    yield
    ag.set_saved_mutation(previous)
