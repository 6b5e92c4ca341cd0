"""A signal handler that interrupts a backward pass finds the modes that the program has outside of it.

The class: the mode of the program (grad, no_grad) x what runs (compiled rules of arrays, single numbers). A handler
that interrupts Python code of a rule or a hook is run by Python itself, in the mode of that code.
"""

import os
import signal

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent by POSIX calls")
MODES = {"grad": (ag.enable_grad, True), "no_grad": (ag.no_grad, False)}


def chain(x, n):
    """A graph of n nodes of compiled rules."""
    for _ in range(n):
        x = x * 1.0000001
    return x


@pytest.fixture
def seen():
    """What a handler of SIGUSR1 saw: (grad mode, whether what it computes requires grad)."""
    found = []

    def handler(number, frame):
        t = ag.tensor(np.ones(2), requires_grad=True)
        found.append((ag.is_grad_enabled(), (t * 2).requires_grad))

    before = signal.signal(signal.SIGUSR1, handler)
    yield found
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(("mode", "recording"), MODES.values(), ids=MODES)
@pytest.mark.parametrize("shape", [(3,), ()])
def test_a_handler_finds_the_mode_of_the_program(seen, mode, recording, shape):
    x = ag.tensor(np.ones(shape), requires_grad=True)
    y = chain(x, 20000)
    timer = signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGUSR1))
    try:
        with mode():
            while len(seen) < 3:
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                y.backward(ag.ones(shape), retain_graph=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, timer)
    assert set(seen) == {(recording, recording)}
