"""Threads that are lent for a piece of work and end by themselves when nobody needs them.

May import: nothing of arraygrad. The engine borrows them for two things: a backward call nested too deep for the stack
of its caller, and a share in the host work of one run (`set_cpu_workers`).
"""

from __future__ import annotations

import contextvars
import os
import threading
import weakref

__all__ = ["NESTED", "WORKERS", "Job", "Pool"]

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()  # to be made anew in a forked child, where their threads do not exist


class Job:
    """Work to be handed to a thread of a pool, run in a copy of the context of whoever made it.

    It runs at most once: whoever claims it first, the thread that runs it or the one that takes it back.
    """

    __slots__ = ("_claim", "_done", "_work", "error")

    def __init__(self, work):
        self._work = contextvars.copy_context().run, work
        self._done = threading.Lock()  # held until the job is done: releasing it needs no memory
        self._done.acquire()
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
            self._done.release()

    def cancel(self):
        """Take the job back; False if it runs already, or has run."""
        return self._claim.acquire(blocking=False)

    def wait(self):
        """Block until the work is done (signals are handled meanwhile) and raise what it raised."""
        with self._done:
            pass
        if self.error is not None:
            raise self.error


class _Worker(threading.Thread):
    def __init__(self, pool, number, job):
        super().__init__(name=f"{pool.name}_{number}", daemon=True)
        self.pool = pool
        self.job = job
        self.ready = threading.Semaphore(0)

    def run(self):
        self.pool._threads.add(self)
        job, self.job = self.job, None
        while job is not None:
            job.run()
            job = None
            job = self.pool._next(self)


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
        self._lock = threading.Lock()
        self._idle = []  # the last to become idle is the first to work again
        self._threads = set()
        self._started = 0

    def submit(self, job):
        """Hand a Job to a thread, and return it. Raises RuntimeError if none can be started.

        Ctrl-C may end this call at any point: the job may run or not, which `Job.cancel` tells. A worker that was not
        woken stays among the idle ones.
        """
        with self._lock:
            if self._idle:
                worker = self._idle[-1]
                worker.job = job
                worker.ready.release()
                self._idle.pop()
            else:
                self._started += 1
                _Worker(self, self._started, job).start()
        return job

    def _next(self, worker):
        """The worker's next job; None if it shall end."""
        with self._lock:
            if len(self._idle) >= self.keep:
                self._threads.discard(worker)
                return None
            self._idle.append(worker)
        woken = worker.ready.acquire(timeout=self.idle_seconds)
        with self._lock:
            if worker in self._idle:  # nobody wanted it, or who did was interrupted
                self._idle.remove(worker)
            job, worker.job = worker.job, None
            if job is None:
                self._threads.discard(worker)
            elif not woken:
                worker.ready.acquire(blocking=False)  # a job came in the very moment of giving up
        return job

    def threads(self):
        """The threads that are alive: a list of threading.Thread."""
        with self._lock:
            return list(self._threads)


NESTED = Pool("arraygrad_nested")
WORKERS = Pool("arraygrad_worker")


def _after_fork():
    for pool in list(_pools):
        pool._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
