"""Makes the helpers beside these tests importable and resets what tests switch."""

import sys
from pathlib import Path

import pytest

import arraygrad as ag

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def refuse_overwriting():
    """In-place writes to saved values are refused in backward, as in torch, instead of copied before."""
    previous = ag.set_saved_mutation("error")
    yield
    ag.set_saved_mutation(previous)


@pytest.fixture(params=["arraygrad", "torch"])
def lib(request):
    """The library that a test runs on: what the test expects holds for both."""
    from peer import Library

    return Library(request.param)
