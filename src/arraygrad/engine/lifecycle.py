"""The engine's device threads over the life of a process: forks and the end of the interpreter.

May import: nothing of arraygrad. The engine keeps its table of device threads here; each has `stop()` and `thread`.
"""

import _thread  # threading would be imported for a lock alone
import atexit
import os
import time
from collections.abc import Callable
from typing import Any

__all__ = ["devices", "devices_lock", "on_fork", "shutdown_seconds", "stop_devices", "thread_name"]

devices: dict[Any, Any] = {}  # device key -> DeviceThread; changed under devices_lock()
on_fork: list[
    Callable[[], list[Any]]
] = []  # called in a forked child, after the table was emptied; what they return is never destroyed
_lock = _thread.allocate_lock()
_left_behind: list[Any] = []  # what a fork made unusable but must not be destroyed


def devices_lock():
    """The lock held while device threads are started."""
    return _lock


def thread_name(key):
    """Name of the thread of the device `key`."""
    return "arraygrad_autograd_" + ("_".join(str(part) for part in key) if isinstance(key, tuple) else str(key))


def shutdown_seconds():
    """How long the end of the interpreter waits for device threads that still compute, in all.

    ARRAYGRAD_SHUTDOWN_SECONDS, or 10 (the default of PyTorch's TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT).
    """
    try:
        return float(os.environ.get("ARRAYGRAD_SHUTDOWN_SECONDS") or 10.0)
    except ValueError:
        return 10.0


@atexit.register
def stop_devices():
    """Tell the device threads to end and wait for them. One that computes longer is a daemon, and is left behind."""
    deadline = time.monotonic() + shutdown_seconds()
    workers = list(devices.values())
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.thread.join(max(0.0, deadline - time.monotonic()))


def _after_fork_in_child():
    """Forget the threads, which only the parent has: new ones start in the child when they are needed.

    Their queues may be locked, or waited for, by threads that don't exist any more. They are kept for ever, because
    destroying a condition variable that has waiters blocks.
    """
    global _lock
    _lock = _thread.allocate_lock()
    _left_behind.append(dict(devices))
    devices.clear()
    _left_behind.extend(renew() for renew in on_fork)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
