"""Threads that are lent for a piece of work and end by themselves when nobody needs them.

May import: nothing of arraygrad. The engine borrows them for two things: a backward call nested too deep for the stack
of its caller, and a share in the host work of one run (`set_cpu_workers`).
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
import threading
import weakref

__all__ = ["NESTED", "WORKERS", "Job", "Pool"]

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()  # to be made anew in a forked child, where their threads do not exist


class Job:
    """Work to be handed to a thread of a pool, run in a copy of the context of whoever made it.

    It runs at most once: whoever claims it first, the thread that runs it or the one that takes it back.
    """

    __slots__ = ("_claim", "_done", "_over", "_work", "error")

    def __init__(self, work):
        self._work = contextvars.copy_context().run, work
        self._done = threading.Lock()  # held until the job is done: releasing it needs no memory
        self._done.acquire()
        self._over = False
        self._claim = threading.Lock()
        self.error = None

    def run(self):
        """Do the work; what it raises is kept for `wait`."""
        if not self._claim.acquire(blocking=False):
            return
        run, work = self._work
        self._work = None
        try:
            run(work)
        except BaseException as error:
            self.error = error
        finally:
            run = work = None  # nothing of the work outlives it here
            self._over = True
            self._done.release()

    def cancel(self):
        """Take the job back; False if it runs already, or has run."""
        return self._claim.acquire(blocking=False)

    def wait(self):
        """Block until the work is done (signals are handled meanwhile) and raise what it raised."""
        if not self._over:  # else an interrupted call may hold the lock: Note [Pools and Ctrl-C], 1
            self._done.acquire()
            self._done.release()
        if self.error is not None:
            raise self.error


# Note [Pools and Ctrl-C]
# ~~~~~~~~~~~~~~~~~~~~~~~
# (1) From Python 3.14 on, Ctrl-C may come between the call of a lock's __enter__ and the block of its `with`, and the
#     lock is held for ever. So what the main thread calls takes no lock: each step is one operation of a list, a dict
#     or a lock, whole by itself, and an interrupt between two of them leaves a pool that works.
# (2) Who takes a worker out of `_idle` is the only one to offer it a job. An offer and the end of a worker meet in
#     `offered`, which is set once: to the job, or to None by a worker that has waited long enough.
# (3) A worker that was taken and got no job, or was not woken, because who took it was interrupted, wakes up by itself
#     when it has been idle for long enough. A job that was taken back meanwhile does nothing.
# Guarded by test_RE4_an_interrupt_at_any_instruction_leaves_a_pool_that_works.


class _Worker(threading.Thread):
    def __init__(self, pool, number, job):
        super().__init__(name=f"{pool.name}_{number}", daemon=True)
        self.pool = pool
        self.offered = {"job": job}
        self.ready = threading.Lock()  # released to wake the worker up
        self.ready.acquire()

    def run(self):
        self.pool._threads.add(self)
        try:
            job = self.offered.pop("job")
            while job is not None:
                job.run()
                job = None
                job = self.pool._next(self)
        finally:
            self.pool._threads.discard(self)


class Pool:
    """Pool(name, idle_seconds=5.0, keep=8)

    A thread is started when no idle one is left. At most `keep` threads stay idle, each for at most `idle_seconds`.
    """

    def __init__(self, name, idle_seconds=5.0, keep=8):
        self.name = name
        self.idle_seconds = idle_seconds
        self.keep = keep
        self._reset()
        _pools.add(self)

    def _reset(self):
        self._idle = []  # the last to become idle is the first to work again
        self._threads = set()
        self._numbers = itertools.count(1)

    def submit(self, job):
        """Hand a Job to a thread, and return it. Raises RuntimeError if none can be started.

        Ctrl-C may end this call at any point: the job may run or not, which `Job.cancel` tells.
        """
        while True:
            worker = None
            with contextlib.suppress(IndexError):  # none is idle
                worker = self._idle.pop()
            if worker is None:
                _Worker(self, next(self._numbers), job).start()
                return job
            if worker.offered.setdefault("job", job) is job:
                with contextlib.suppress(RuntimeError):  # it is awake already
                    worker.ready.release()
                return job

    def _next(self, worker):
        """The worker's next job; None if it shall end. Runs in the worker's thread, which no signal interrupts."""
        while True:
            self._idle.append(worker)
            crowded = len(self._idle) > self.keep
            woken = not crowded and worker.ready.acquire(timeout=self.idle_seconds)
            try:
                self._idle.remove(worker)
            except ValueError:  # somebody took it
                job = worker.offered.setdefault("job", None)
                if job is not None:
                    worker.offered.clear()
                return job
            if not woken:
                return None
            # woken late, for a job that it had found by itself: once more

    def threads(self):
        """The threads that are alive: a list of threading.Thread."""
        return list(self._threads)


NESTED = Pool("arraygrad_nested")
WORKERS = Pool("arraygrad_worker")


def _after_fork():
    for pool in list(_pools):
        pool._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
