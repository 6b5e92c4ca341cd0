"""What several files of tests here begin and end with."""

import gc

import pytest

from arraygrad import memory


@pytest.fixture
def own_pool():
    """A pool of 8 MB with nothing in it; nothing of other tests is freed meanwhile."""
    gc.collect()
    previous = memory.set_limit(0)
    memory.set_limit(8 << 20)
    yield
    memory.set_limit(0)
    memory.set_limit(previous)
