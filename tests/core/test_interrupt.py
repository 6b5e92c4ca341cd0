"""Ctrl-C in the middle of a long backward (ER8, WK8)."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.engine import engine

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent by POSIX calls")


class Clock:
    """Sends SIGINT once `nodes` nodes have run, and tells how many ran in all."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.ran = 0

    def __call__(self, *args):
        self.ran += 1
        if self.ran == self.nodes:
            signal.raise_signal(signal.SIGINT)


def test_WK8_it_is_seen_within_a_few_compiled_nodes():
    # The signal arrives while compiled rules run: no Python code of a node sees it, the engine has to look.
    x = ag.tensor(np.ones(300_000), requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * 1.0001
    loss = y.sum()
    pid = os.getpid()
    sent = []

    def press():
        started.wait(60)
        sent.append(time.perf_counter())
        os.kill(pid, signal.SIGINT)

    started = threading.Event()
    y.register_hook(lambda g: started.set())
    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
    presser.join(60)
    assert sent
    assert x.grad is None
    assert engine.queued_tasks() == 0


def test_WK8_the_graph_is_usable_afterwards():
    x = ag.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(100):
        y = y * 2.0
    y.register_hook(Clock(1))
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward()
    z = x * 3.0
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0])


def test_WK8_few_nodes_run_after_the_signal():
    order = []

    def slow(g):
        order.append(len(order))
        if len(order) == 10:
            # Set the flag that a signal sets, without Python handling it at once: by the C function.
            signal.raise_signal(signal.SIGINT)
        return (g,)

    from arraygrad.engine.engine import execute
    from arraygrad.engine.node import Edge, PyNode

    end = PyNode("end", lambda g: ())
    for _ in range(200):
        end = PyNode("n", slow, edges=(Edge(end, 0),))
    with pytest.raises(KeyboardInterrupt):
        execute([Edge(end, 0)], [1.0])
    assert len(order) <= 18
