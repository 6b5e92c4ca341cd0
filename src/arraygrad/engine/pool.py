"""Threads that are lent for a piece of work and end by themselves when nobody needs them.

May import: nothing of arraygrad. The engine borrows them for two things: a backward call nested too deep for the stack
of its caller, and a share in the host work of one run (`set_cpu_workers`).
"""

from __future__ import annotations

import contextvars
import os
import threading
import weakref

__all__ = ["Job", "Pool"]

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()  # to be made anew in a forked child, where their threads do not exist


class Job:
    """Work handed to a thread of the pool, run in a copy of the context of whoever handed it over."""

    __slots__ = ("_done", "_work", "error")

    def __init__(self, work):
        self._work = contextvars.copy_context().run, work
        self._done = threading.Event()
        self.error = None

    def run(self):
        """Do the work; what it raises is kept for `wait`."""
        run, work = self._work
        self._work = None
        try:
            run(work)
        except BaseException as error:
            self.error = error
        finally:
            run = work = None  # nothing of the work outlives it here
            self._done.set()

    def wait(self):
        """Block until the work is done (signals are handled meanwhile) and raise what it raised."""
        self._done.wait()
        if self.error is not None:
            raise self.error


class _Worker(threading.Thread):
    def __init__(self, pool, number, job):
        super().__init__(name=f"{pool.name}_{number}", daemon=True)
        self.pool = pool
        self.job = job
        self.ready = threading.Semaphore(0)

    def run(self):
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

    def submit(self, work):
        """Hand `work()` to a thread; returns its Job. Raises RuntimeError if no thread can be started."""
        job = Job(work)
        with self._lock:
            worker = self._idle.pop() if self._idle else None
            if worker is None:
                self._started += 1
                worker = _Worker(self, self._started, job)
                worker.start()
                self._threads.add(worker)
            else:
                worker.job = job
                worker.ready.release()
        return job

    def _next(self, worker):
        """The worker's next job; None if it shall end."""
        with self._lock:
            if len(self._idle) >= self.keep:
                self._threads.discard(worker)
                return None
            self._idle.append(worker)
        if not worker.ready.acquire(timeout=self.idle_seconds):
            with self._lock:
                if worker in self._idle:
                    self._idle.remove(worker)
                    self._threads.discard(worker)
                    return None
            worker.ready.acquire()  # a job came in the very moment of giving up
        job, worker.job = worker.job, None
        return job

    def threads(self):
        """The threads that are alive: a list of threading.Thread."""
        with self._lock:
            return list(self._threads)


def _after_fork():
    for pool in list(_pools):
        pool._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
