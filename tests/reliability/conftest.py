"""Makes the modules beside these tests importable, and a fixture of several files."""

import sys
from pathlib import Path

import pytest

import arraygrad as ag

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def default_modes():
    """Ends with the default modes of what is done about arrays that change."""
    yield
    ag.set_constant_check("sample")
    ag.set_saved_mutation("copy")
