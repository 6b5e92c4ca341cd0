"""The pool that arrays of the NumPy backend live in: what it keeps, its limit, and NumPy's own arrays in it too.

May import: backends.numpy.ndarrays.

Freed memory that goes back to the system costs page faults when it is asked for again, ten times the arithmetic of a
large array. What arraygrad's compiled paths make lives in a pool that keeps it. `pool()` has every array that NumPy
makes do so as well (NEP 49): results of other functions, temporaries, the arrays of the user's own code.
"""

from __future__ import annotations

import contextvars

from arraygrad.backends.numpy.ndarrays import (
    pool_counts,
    pool_limit,
    pooled_bytes,
    set_memory_pool,
    swap_memory_handler,
)

__all__ = ["empty_cache", "get_limit", "pool", "set_limit", "set_pool", "statistics"]

# What set_pool(True) took the place of, in the context (PEP 567) that called it; None: nothing to put back.
_before = contextvars.ContextVar("arraygrad.memory.set_pool", default=None)


class pool:
    """A block in which every array that NumPy makes lives in the pool.

    Arrays may leave the block and live on; freed, their memory returns to the pool. It holds for the thread (or task,
    PEP 567) that runs the block. Blocks may stand within each other.

    Parameters
    ----------
    limit : int, optional
        Bytes of freed memory that are kept at most while the block runs, for the whole process.

    Raises
    ------
    TypeError
        If `limit` is no int.
    ValueError
        If it is negative.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import numpy as np
    >>> with ag.memory.pool(limit=1 << 20):
    ...     total = float(np.ones(1000).sum())
    >>> total
    1000.0
    """

    def __init__(self, limit=None):
        self.limit = None if limit is None else _checked("pool", limit)
        self._entered = []

    def __enter__(self):
        before = None if self.limit is None else set_memory_pool(self.limit)
        self._entered.append((before, swap_memory_handler()))
        return self

    def __exit__(self, *exc):
        limit, handler = self._entered.pop()
        swap_memory_handler(handler)
        if limit is not None:
            set_memory_pool(limit)


def set_pool(mode):
    """Have NumPy's own arrays live in the pool from now on (True), or no longer; returns the mode before.

    For the thread that calls it: NumPy keeps its allocator per context, so each thread says it for itself. What
    compiled paths make lives there either way.

    Raises
    ------
    TypeError
        If `mode` is no bool.

    Examples
    --------
    >>> import arraygrad as ag
    >>> before = ag.memory.set_pool(True)
    >>> ag.memory.set_pool(before)
    True
    """
    if not isinstance(mode, bool):
        raise TypeError(f"memory.set_pool: expected `mode` as True or False, but got {type(mode).__name__}")
    before = _before.get()
    if mode and before is None:
        _before.set(swap_memory_handler())
    elif not mode and before is not None:
        swap_memory_handler(before)
        _before.set(None)
    return before is not None


def set_limit(limit):
    """Keep at most `limit` bytes of freed memory (0: none); returns the limit before. 128 MB unless told otherwise.

    On free-threaded Python each thread has a pool of its own, which keeps at most so much.

    Raises
    ------
    TypeError
        If `limit` is no int.
    ValueError
        If it is negative.

    Examples
    --------
    >>> import arraygrad as ag
    >>> before = ag.memory.set_limit(64 << 20)
    >>> ag.memory.get_limit() >> 20
    64
    >>> ag.memory.set_limit(before) >> 20
    64
    """
    return set_memory_pool(_checked("set_limit", limit))


def get_limit():
    """How many bytes of freed memory are kept at most.

    128 MB unless `set_limit` said otherwise.

    Examples
    --------
    >>> import arraygrad as ag
    >>> isinstance(ag.memory.get_limit(), int)
    True
    """
    return pool_limit()


def empty_cache():
    """Give all memory that is kept back to the C library; returns how many bytes that were.

    Examples
    --------
    >>> import arraygrad as ag
    >>> freed = ag.memory.empty_cache()
    >>> ag.memory.statistics()["cached"]
    0
    """
    kept = pooled_bytes()
    set_memory_pool(set_memory_pool(0))
    return kept


def statistics():
    """What the pool has done and holds.

    Returns
    -------
    dict
        "cached": bytes of freed memory kept now; "limit": bytes that may be; "hits": requests that kept memory served,
        "misses": requests that the C library served, both since the process began.

    Examples
    --------
    >>> import arraygrad as ag
    >>> sorted(ag.memory.statistics())
    ['cached', 'hits', 'limit', 'misses']
    """
    hits, misses = pool_counts()
    return {"cached": pooled_bytes(), "limit": get_limit(), "hits": hits, "misses": misses}


def _checked(name, limit):
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"memory.{name}: expected `limit` as a number of bytes, but got {type(limit).__name__}")
    if limit < 0:
        raise ValueError(f"memory.{name}: expected `limit` as a number of bytes, but got {limit}")
    return limit
