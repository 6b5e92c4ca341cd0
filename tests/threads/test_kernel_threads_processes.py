"""Threads that share kernels, over forks and at the end of a process: each test is a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest
from forked import IN_CHILD, needs_fork

LIMIT = 60

PRELUDE = (
    IN_CHILD
    + """
import os, signal, sys, threading, time, warnings
import numpy as np
import arraygrad as ag
from arraygrad.engine import sharing

warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
sharing.set_cores(4)
sharing.set_divisor(1000)
ag.set_num_threads(3)
x = np.linspace(0.1, 1.0, 60_000)


def check():
    sharing.busy_threads()
    assert ag.exp(ag.asarray(x)).array.tobytes() == np.exp(x).tobytes()
    assert sharing.busy_threads() == (3, 0)
    assert sharing.helpers() == 2

"""
)


def run(code, status=0):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == status, done.stderr
    return done


def test_the_process_ends_with_idle_helpers():
    assert run("check()").stderr == ""


def test_the_process_ends_while_a_daemon_thread_computes():
    code = """
        seen = threading.Event()
        def work():
            t = ag.asarray(x)
            while True:
                ag.exp(t)
                seen.set()
        threading.Thread(target=work, daemon=True).start()
        assert seen.wait(30)
        """
    assert run(code).stderr == ""


def test_kernels_at_the_end_of_the_process_run_on_their_caller():
    code = """
        import atexit
        def last():
            assert sharing.helpers() == 0
            assert ag.exp(ag.asarray(x)).array.tobytes() == np.exp(x).tobytes()
            assert sharing.busy_threads()[1] == 0
            print("last")
        check()
        atexit._run_exitfuncs()
        last()
        """
    assert run(code).stdout == "last\n"


@needs_fork
def test_a_forked_child_starts_threads_of_its_own():
    run("check(); in_child(check); check()")


@needs_fork
def test_a_child_forked_before_the_first_kernel_shares_kernels():
    run("in_child(check); check()")


@needs_fork
def test_a_child_forked_while_kernels_run_computes_and_ends():
    code = """
        stop = threading.Event()
        def work():
            t = ag.asarray(x)
            while not stop.is_set():
                ag.exp(t)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads: t.start()
        for _ in range(10):
            in_child(check)
        stop.set()
        for t in threads: t.join()
        check()
        """
    run(code)


@needs_fork
def test_a_child_of_a_child_computes():
    run("check(); in_child(lambda: (check(), in_child(check)))")


@pytest.mark.skipif(not hasattr(os, "kill") or sys.platform == "win32", reason="signals are POSIX's")
def test_ctrl_c_goes_to_python_and_ends_the_process_as_usual():
    code = """
        check()
        threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        t = ag.asarray(x)
        while True:
            ag.exp(t)
        """
    done = run(code, -2)
    assert "KeyboardInterrupt" in done.stderr


def test_a_thread_that_the_system_refuses_is_done_without():
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "RLIMIT_AS") or not sys.platform.startswith("linux"):
        pytest.skip("address space can be limited on Linux")
    code = """
        import resource
        t = ag.asarray(x)
        ag.set_num_threads(1)
        ag.exp(t)
        ag.set_num_threads(3)
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (4 << 20), resource.RLIM_INFINITY))  # a stack needs 8 MB
        assert ag.exp(t).array.tobytes() == np.exp(x).tobytes()
        assert sharing.helpers() == 0, sharing.helpers()
        """
    run(code)
