"""The matrices here are small: one BLAS thread is faster than several, where it can be asked for.

May import: threadpoolctl, where it is installed (scikit-learn brings it).
"""

import contextlib
import importlib.util

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    limits = contextlib.nullcontext()
    if importlib.util.find_spec("threadpoolctl") is not None:
        import threadpoolctl

        limits = threadpoolctl.threadpool_limits(1)
    with limits:
        yield
