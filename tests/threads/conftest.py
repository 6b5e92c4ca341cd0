"""Fixtures of the tests with several threads. No test here sleeps to wait for a thread: barriers and events decide."""

import sys
import threading

import pytest

LIMIT = 60  # seconds until a thread that should come counts as lost


@pytest.fixture(autouse=True)
def _switch_often():
    """Threads take turns after microseconds instead of milliseconds, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def together():
    """together(function, n): run function(index) on n threads that start at once; returns results in order.

    The first exception of a thread is raised.
    """

    def start(function, n):
        barrier = threading.Barrier(n)
        results, errors = [None] * n, []

        def work(i):
            try:
                barrier.wait(LIMIT)
                results[i] = function(i)
            except BaseException as error:
                errors.append(error)
                barrier.abort()

        threads = [threading.Thread(target=work, args=(i,), name=f"worker {i}") for i in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(LIMIT)
            assert not t.is_alive(), "a thread did not end"
        if errors:
            raise errors[0]
        return results

    return start
