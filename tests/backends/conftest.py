"""Shows the helpers of this folder and the samples of tests/ops to its tests; what several of them begin and end with.

Imports of arraygrad: memory.
"""

import gc
import sys
from pathlib import Path

import pytest

from arraygrad import memory

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def own_pool():
    """A pool of 8 MB with nothing in it; nothing of other tests is freed meanwhile."""
    gc.collect()
    previous = memory.set_limit(0)
    memory.set_limit(8 << 20)
    yield
    memory.set_limit(0)
    memory.set_limit(previous)
