# Threads that share the elements of one kernel: how many there may be, and their life over forks and the process's end.
# May import: nothing of arraygrad. How they work: Note [Shared kernels] in sharing.hpp.
import atexit
import os

cdef extern from *:
    """
    namespace arraygrad { static Team* new_team() { return new Team; } }
    """
    Team* new_team "arraygrad::new_team"()

team = new_team()


def set_num_threads(int n):
    """Let up to `n` threads share a kernel; returns the previous number."""
    if n < 1:
        raise ValueError(f"set_num_threads: expected `n` as a number of threads, 1 or more, but got {n}")
    previous = team.threads.load()
    team.threads.store(n)
    return previous


def get_num_threads():
    """How many threads may share a kernel."""
    return team.threads.load()


def _usable_cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _after_fork():
    team.renew()


def _at_exit():
    with nogil:
        team.stop()


team.cores.store(_usable_cores())
atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# For tests

def set_cores(int n):
    """Have the pool believe that there are `n` cores; returns what it believed."""
    previous = team.cores.load()
    team.cores.store(n)
    return previous


def set_divisor(int n):
    """Have kernels shared that are `n` times smaller than those for which it pays; returns what was set."""
    previous = team.divisor.load()
    team.divisor.store(n)
    return previous


def set_idle_milliseconds(int n):
    """Have helpers end after so long without work; returns what was set."""
    previous = team.idle_milliseconds.load()
    team.idle_milliseconds.store(n)
    return previous


def fail_starts(int n):
    """Have the next `n` starts of a thread fail."""
    team.failing.store(n)


def helpers():
    """How many helper threads live."""
    return team.living()


def busy_threads():
    """(the most threads that were in large kernels at one time since the last call, how many are now)."""
    cdef int most = 0, busy = 0
    team.counts(&most, &busy)
    return most, busy


def in_other_threads(int change=0):
    """Add to the number of things under way that have threads of their own; returns it."""
    if change:
        team.elsewhere.store(team.elsewhere.load() + change)
    return team.elsewhere.load()
