"""Injected faults, a fixed part of what `python -m tests.reliability --faults N` does for long."""

import faults_callbacks
import faults_engine
import faults_memory
import faults_threads
import pytest
from injector import KINDS, Injector, campaign, check_nothing_left, check_usable, check_whole, strike

pytestmark = [pytest.mark.keeps_objects, pytest.mark.filterwarnings("ignore::UserWarning")]

CALLED_BACK = [*faults_callbacks.CALLBACKS, "__del__", *faults_engine.DEVICE_KINDS, "backend method"]
MEMORY = [name for name in KINDS if name.startswith("no memory")]


def every_place(name, limit, step=1, misses_allowed=8):
    """Strikes at each place in turn until there are no more; how many faults there were."""
    fired = misses = n = 0
    references = []
    while misses < misses_allowed and n < limit:
        came, more = strike(name, n)
        references += more
        fired += came
        misses = 0 if came else misses + 1
        n += step
    check_nothing_left(references)
    check_usable()
    return fired


@pytest.mark.parametrize("name", CALLED_BACK)
def test_an_error_in_every_call_of_a_callback_in_turn(name):
    assert every_place(name, 400) >= 2


@pytest.mark.skipif(not faults_memory.AVAILABLE, reason="this Python has no _testcapi.set_nomemory")
@pytest.mark.parametrize("name", MEMORY)
def test_every_allocation_in_turn_fails(name):
    assert every_place(name, 250 if "create_graph" not in name else 60, misses_allowed=20) >= 10


def test_no_thread_can_be_started():
    assert every_place("thread start", 6) >= 4


@pytest.mark.skipif(not faults_threads.SIGNALS, reason="signals are timed by POSIX calls")
@pytest.mark.parametrize("scene", list(faults_threads.SCENES))
def test_an_interrupt_at_any_moment(scene):
    references = []
    for n in range(40):
        references += strike(f"Ctrl-C, {scene}", n)[1]
    check_nothing_left(references)
    check_usable()


def test_faults_of_all_kinds_mixed():
    done = campaign(300, seed=1, every=25)
    assert done.total() == 300


def test_the_checks_see_half_a_gradient():
    at = Injector()
    leaves = []
    faults_callbacks.program(at, leaves).backward()
    leaves[0].grad.array[0] += 1.0
    with pytest.raises(AssertionError, match="half a gradient"):
        check_whole(leaves, faults_callbacks.EXPECTED, failed=False)


def test_the_checks_see_what_stays_alive():
    import weakref

    import arraygrad as ag

    t = ag.tensor([1.0])
    with pytest.raises(AssertionError, match="outlive"):
        check_nothing_left([weakref.ref(t)])
