"""Modes that hold in a block of code: entered and left whole, whatever interrupts."""

import random
import signal
import threading

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import graph
from arraygrad.engine.modes import Mode

INTERRUPTS = 60


def state():
    """What the modes set, and what shows that none of them is left."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    packed = (x * x).grad_fn
    return (
        ag.is_grad_enabled(),
        ag.is_inference_mode_enabled(),
        ag.autograd.is_multithreading_enabled(),
        ag.autograd.is_anomaly_enabled(),
        type(packed).__name__,
    )


def entered(mode):
    def run():
        with mode():
            pass

    return run


def decorated(mode):
    return mode()(lambda: None)


def generated():
    @ag.no_grad()
    def numbers():
        yield 1

    return lambda: list(numbers())


SEEN = []
PLACES = {
    "no_grad": entered(ag.no_grad),
    "no_grad, decorated": decorated(ag.no_grad),
    "no_grad, a generator": generated(),
    "inference_mode": entered(ag.inference_mode),
    "zero_annihilates": entered(ag.zero_annihilates),
    "saved_tensors_hooks": entered(lambda: graph.saved_tensors_hooks(SEEN.append, lambda t: t)),
    "disable_saved_tensors_hooks": entered(lambda: graph.disable_saved_tensors_hooks("not here")),
    "op_hooks": entered(lambda: graph.op_hooks(lambda name, args: SEEN.append(name))),
    "number_policy": entered(lambda: ag.number_policy("off")),
    "grad": lambda: ag.grad(lambda t: t * t)(1.0),
    "checkpoint": lambda: ag.checkpoint(lambda t: t * t)(ag.tensor(1.0, requires_grad=True)).backward(),
}


class Interrupted(KeyboardInterrupt):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals are timed by POSIX calls")
@pytest.mark.parametrize("name", PLACES)
def test_an_interrupt_at_any_moment_leaves_no_mode_behind(name):
    run = PLACES[name]
    run()
    expected = state()
    SEEN.clear()
    armed = False

    def handler(number, frame):
        if armed:
            raise Interrupted

    rng = random.Random(name)
    errors = np.geterr()
    before = signal.signal(signal.SIGALRM, handler)
    fired = 0
    try:
        for _ in range(INTERRUPTS):
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 3e-4 * rng.random())
                while True:
                    run()
            except Interrupted:
                fired += 1
            finally:
                armed = False
            np.seterr(**errors)  # NumPy's errstate, which checkpoints enter, is Python code and may stay behind
            found = SEEN.copy()
            assert state() == expected
            assert found == SEEN, "hooks are active"
            with graph.saved_tensors_hooks(lambda t: t, lambda t: t):  # refused where hooks are still disabled
                pass
            t = ag.tensor(1.0, requires_grad=True)
            with pytest.warns(UserWarning, match="float"):
                float(t * 1.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                assert np.isnan(ag.grad(lambda x: np.where(x > 0, np.log(x), 0.0))(0.0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert fired == INTERRUPTS


def test_a_mode_restores_what_its_switch_returned():
    calls = []

    def switch(value):
        calls.append(value)
        return f"before {value}"

    with Mode(switch, "a"):
        calls.append("block")
    assert calls == ["a", "block", "before a"]


def test_a_mode_has_another_way_back_if_it_is_given_one():
    calls = []
    with Mode(lambda value: "token", 1, calls.append):
        assert calls == []
    assert calls == ["token"]


def test_a_mode_is_entered_several_times_over():
    level = [0]

    def switch(value):
        before = level[0]
        level[0] = value
        return before

    mode = Mode(switch, 5)
    with mode:
        with mode:
            assert level == [5]
        assert level == [5]
    assert level == [0]
    with mode:
        assert level == [5]
    assert level == [0]


def test_a_mode_that_acts_at_once_is_undone_by_its_first_block_or_by_undo():
    level = [0]

    def switch(value):
        before = level[0]
        level[0] = value
        return before

    mode = Mode(switch, 5, now=True)
    assert level == [5]
    with mode:
        assert level == [5]
    assert level == [0]
    mode.undo()
    assert level == [0]
    Mode(switch, 7, now=True).undo()
    assert level == [0]


def test_leaving_a_mode_that_was_not_entered_is_an_error_but_where_it_acted_at_once():
    with pytest.raises(RuntimeError, match="a block was left that was not entered"):
        ag.no_grad().__exit__(None, None, None)
    assert ag.is_grad_enabled()
    mode = ag.set_grad_enabled(False)
    mode.__exit__(None, None, None)
    assert ag.is_grad_enabled()


def test_modes_of_threads_are_their_own():
    found = []

    def run():
        found.append(ag.is_grad_enabled())

    with ag.no_grad():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert found == [True]
