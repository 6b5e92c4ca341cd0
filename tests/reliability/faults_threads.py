"""No thread to be had, and Ctrl-C at random moments.

Imports of arraygrad: the public face, engine.engine, engine.pool, engine.lifecycle.
"""

import random
import signal
import sys
import threading
from contextlib import contextmanager

import array_api_strict as strict
import numpy as np
from faults_callbacks import EXPECTED, program
from faults_engine import Box, device_graph, workers
from injector import Injector, check_whole, kind

import arraygrad as ag
from arraygrad.engine import engine, lifecycle, pool
from arraygrad.engine.node import Edge

WAIT_SECONDS = 60
NESTED = 70  # more than fit on one thread's stack (RE2)


@contextmanager
def failing_starts(at):
    """Thread.start is an occasion while the block runs."""
    start = threading.Thread.start

    def failing(thread):
        if thread.name.startswith("arraygrad"):
            at("thread start")
        start(thread)

    threading.Thread.start = failing
    try:
        yield
    finally:
        threading.Thread.start = start


def no_thread(text):
    """What Python raises when the system gives no thread."""
    return RuntimeError(f"can't start new thread ({text})")


def end_idle_threads():
    """Ends the idle threads of the pools, so that the next run has to start one."""
    for each in list(pool._pools):
        while each._idle:
            worker = each._idle.pop()
            worker.offered["job"] = None
            worker.ready.release()
            worker.join(WAIT_SECONDS)
            assert not worker.is_alive()


def end_device_threads(keys):
    """Ends the threads of these devices, so that the next run has to start them."""
    for key in keys:
        worker = lifecycle.devices.pop(key, None)
        if worker is not None:
            worker.stop()
            worker.thread.join(WAIT_SECONDS)
            assert not worker.thread.is_alive()


def nest(depth):
    """backward inside of a hook, `depth` deep; returns the outermost leaf."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)

    def hook(g):
        if depth:
            with ag.enable_grad():
                nest(depth - 1)

    y = x * 2.0
    y.register_hook(hook)
    y.sum().backward()
    return x


def shared_work():
    """A backward whose branches are large enough for workers; returns its leaf."""
    big = ag.tensor(np.ones(50_000), requires_grad=True)
    with workers(2):
        parts = [ag.exp(big * k) for k in (0.1, 0.2, 0.3, 0.4)]
        (parts[0] + parts[1] + parts[2] + parts[3]).sum().backward()
    return big


def on_device():
    """A backward on a device other than the host; returns its leaf."""
    device = strict.Device("device1")
    x = ag.asarray(strict.asarray([3.0], device=device), requires_grad=True)
    ag.sum(x * x).backward()
    return x


@kind("thread start")
def strike_start(n):
    """A run nested too deep and a device need a thread: the error arrives. Shared host work goes on without."""
    at = Injector("thread start", 0, no_thread)
    which = n % 3
    error = None
    keys = [key for key in lifecycle.devices if "device1" in str(key)]
    if which == 2:
        end_device_threads(keys)
    else:
        end_idle_threads()
    with failing_starts(at):
        try:
            (lambda: nest(NESTED), shared_work, on_device)[which]()
        except RuntimeError as found:
            error = str(found)
    if which == 1:
        assert error is None, "shared host work needs no thread"
    else:
        assert at.fired
        assert error is not None
        assert "can't start new thread" in error
    assert engine.queued_tasks() == 0
    leaf = (lambda: nest(NESTED), shared_work, on_device)[which]()
    assert leaf.grad is not None
    return at.fired, [leaf]


# Ctrl-C

SIGNALS = hasattr(signal, "setitimer")


class Interrupted(KeyboardInterrupt):
    """What Ctrl-C raises, told apart from one of the user's own."""


def interrupted(seconds, function):
    """function() with a signal after `seconds`, whose handler raises as Ctrl-C's does; whether it arrived."""
    fired = False
    armed = True

    def handler(number, frame):
        nonlocal fired
        if armed:
            fired = True
            raise Interrupted

    def ignored(unraisable):
        # In a destructor Python can only report it. What a test runner keeps of the report holds the frames' objects.
        if unraisable.exc_type is not Interrupted:
            hook(unraisable)

    before = signal.signal(signal.SIGALRM, handler)
    hook, sys.unraisablehook = sys.unraisablehook, ignored
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)  # rings once
        function()
        armed = False
    except Interrupted:
        pass
    except RuntimeError as error:
        # What Python's threading makes of an interrupt while it waits for a thread to start.
        if not (isinstance(error.__context__, Interrupted) and "release unlocked lock" in str(error)):
            raise
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook
    return fired


def interrupt_program():
    """The graph that calls everything back."""
    leaves = []
    program(Injector(), leaves).backward()
    return leaves


def interrupt_deep():
    """Many compiled nodes, of which none runs Python code."""
    x = ag.tensor(np.ones(200), requires_grad=True)
    y = x
    for _ in range(200):
        y = y * 1.01
    y.sum().backward()
    return [x]


def interrupt_devices():
    """Nodes on device threads, between which the caller sleeps."""
    store = []
    engine.execute([Edge(device_graph(Injector(), store), 0)], [Box(1.0, "dev1")])
    assert sorted(store) == [("a", 8.0), ("b", 8.0)]
    return []


SCENES = {
    "callbacks": (interrupt_program, 4e-3),
    "compiled": (interrupt_deep, 1.5e-3),
    "devices": (interrupt_devices, 6e-3),
    "nested": (lambda: [nest(NESTED)], 12e-3),
    "workers": (lambda: [shared_work()], 12e-3),
}


def strike_interrupt(scene, n):
    """Ctrl-C at a moment given by n. The caller gets it, and whatever was already added to `.grad` is whole."""
    run, longest = SCENES[scene]
    seconds = 1e-6 + longest * random.Random(n).random()
    leaves = []

    def work():
        if scene == "callbacks":
            program(Injector(), leaves).backward()
        else:
            leaves.extend(run())

    fired = interrupted(seconds, work)
    assert engine.queued_tasks() == 0
    assert engine.current_graph_task_id() == -1
    engine.set_cpu_workers(0)
    if scene == "callbacks" and leaves:
        check_whole(leaves, EXPECTED, fired)
    run()  # the engine is usable, its threads too
    return fired, leaves


if SIGNALS:
    for _scene in SCENES:
        kind(f"Ctrl-C, {_scene}")(lambda n, scene=_scene: strike_interrupt(scene, n))
