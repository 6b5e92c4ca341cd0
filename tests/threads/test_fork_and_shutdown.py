"""fork before, between and during runs (FK1, FK2, WK7); the interpreter's end with idle and busy threads (SD1-SD3).

Every test is a process of its own with a time limit: what would go wrong is a hang, an abort or a message at exit.
"""

import os
import subprocess
import sys
import textwrap

import pytest
from forked import IN_CHILD, needs_fork

pytest.importorskip("array_api_strict")

LIMIT = 60

PRELUDE = (
    IN_CHILD
    + """
import atexit, gc, os, sys, threading, time, warnings
import numpy as np
import array_api_strict as strict
import arraygrad as ag
from arraygrad.autograd import GradientEdge, backward, graph
from arraygrad.engine.threads import device_threads
from arraygrad.engine.node import PyNode
from arraygrad.core.tensor import backend_of, gradient_edge

warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
LIMIT = 30
ONE = strict.Device("device1")
HOST = strict.Device("CPU_DEVICE")


def leaf(device=ONE):
    return ag.asarray(strict.asarray([1.0, 2.0], dtype=strict.float64, device=device), requires_grad=True)


def check_device():
    x = leaf()
    (x * x).sum().backward()
    assert np.asarray(x.grad.to_device(HOST).array).tolist() == [2.0, 4.0]


def check_host():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.numpy().tolist() == [2.0, 4.0]


def on_device(rule):
    x = leaf()
    node = PyNode("Special", rule, edges=[gradient_edge(x)], metas=(backend_of(x).meta(x.array),))
    return lambda: backward(GradientEdge(node, 0), strict.ones((2,), dtype=strict.float64, device=ONE))

"""
)


def script(body, status=0, output="", errors="", env=None):
    """Run a script after PRELUDE; check its exit status, what it printed and that it complained of nothing."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, **(env or {})},
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (status, output, errors)


# FK1, FK2


@needs_fork
def test_FK1_host_runs_before_a_fork_do_not_matter():
    script("""
        check_host()
        in_child(check_host)
        check_host()
    """)


@needs_fork
def test_FK1_a_fork_before_the_first_run():
    script("""
        in_child(lambda: (check_host(), check_device()))
        check_device()
    """)


@needs_fork
def test_FK1_device_threads_start_anew_in_the_child():
    script("""
        check_device()
        before = dict(device_threads())
        def child():
            assert device_threads() == {}
            check_device()
            assert device_threads().keys() == before.keys()
            assert all(device_threads()[k] is not before[k] for k in before)
            assert all(t.is_alive() for t in device_threads().values())
        in_child(child)
        assert device_threads() == before
        check_device()
    """)


@needs_fork
def test_FK1_a_fork_between_runs_and_a_fork_of_the_child():
    script("""
        check_device()
        def child():
            check_device()
            in_child(lambda: (check_device(), check_host()))
            check_device()
        in_child(child)
        in_child(child)
        check_device()
    """)


@needs_fork
def test_FK1_a_child_that_exits_in_the_ordinary_way():
    script(
        """
        check_device()
        if os.fork() == 0:
            check_device()
            print("child", flush=True)
            sys.exit(0)
        os.wait()
        check_device()
        print("parent")
    """,
        output="child\nparent",
    )


@needs_fork
def test_FK1_multiprocessing_with_fork():
    script("""
        import multiprocessing
        check_device()
        process = multiprocessing.get_context("fork").Process(target=check_device)
        process.start()
        process.join(LIMIT)
        assert process.exitcode == 0
    """)


@needs_fork
def test_FK1_a_fork_inside_a_host_run():
    script("""
        x = ag.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3.0
        def hook(g):
            global pid
            pid = os.fork()
        y.register_hook(hook)
        (y * y).sum().backward()
        assert x.grad.numpy().tolist() == [18.0, 36.0]
        check_host()
        check_device()
        if pid == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    """)


@needs_fork
def test_FK1_a_fork_inside_a_run_with_device_threads_is_an_error_in_the_child():
    script("""
        x = leaf(HOST)
        a = x.to_device(ONE)
        b = (a * 3.0).to_device(HOST)
        y = b * 2.0
        def hook(g):
            global pid
            pid = os.fork()
        y.register_hook(hook)               # on the caller, before the device's nodes
        try:
            y.sum().backward()
            assert pid != 0
        except RuntimeError as error:
            assert pid == 0 and "forked in the middle of this backward" in str(error), error
        else:
            assert x.grad.array[0] == 6.0
        check_host()
        check_device()
        if pid == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    """)


@needs_fork
def test_FK1_a_fork_while_a_device_thread_is_busy():
    script("""
        started, go = threading.Event(), threading.Event()
        def rule(g):
            started.set()
            go.wait(LIMIT)
            return g
        caller = threading.Thread(target=on_device(rule))
        caller.start()
        started.wait(LIMIT)
        in_child(lambda: (check_host(), check_device()))
        go.set()
        caller.join(LIMIT)
        check_device()
    """)


@needs_fork
def test_FK2_the_locks_of_leaves_are_free_in_the_child():
    # A thread of the parent is inside the accumulation into a leaf when the process forks.
    script("""
        x = ag.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        (x * x).sum().backward()            # now the leaf has its lock
        from arraygrad.core import leaf_locks
        (lock,) = leaf_locks._leaf_locks
        held, go = threading.Event(), threading.Event()
        def hold():
            with lock:
                held.set()
                go.wait(LIMIT)
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(LIMIT)
        def child():
            (x * x).sum().backward()
            assert x.grad.numpy().tolist() == [6.0, 12.0]
        in_child(child)
        go.set()
        thread.join(LIMIT)
    """)


@needs_fork
def test_FK2_modes_of_the_forking_thread_stay_in_the_child():
    script("""
        check_device()
        def child():
            assert not ag.is_grad_enabled()
            with ag.enable_grad():
                check_device()
        with ag.no_grad():
            in_child(child)
    """)


# SD1


def test_SD1_idle_device_threads_end_with_the_process():
    script(
        """
        check_device()
        atexit.register(lambda: print(threading.active_count()))
        """,
        output="2",  # atexit goes backwards: the engine has not stopped its thread yet
    )


def test_SD1_device_threads_are_stopped_and_joined():
    script("""
        from arraygrad.engine import lifecycle
        check_device()
        (thread,) = device_threads().values()
        lifecycle.stop_devices()
        assert not thread.is_alive()
    """)


def test_SD1_a_busy_device_thread_is_waited_for():
    script(
        """
        started, go = threading.Event(), threading.Event()
        def rule(g):
            started.set()
            go.wait(LIMIT)
            print("finished", flush=True)
            return g
        threading.Thread(target=on_device(rule), daemon=True).start()
        started.wait(LIMIT)
        atexit.register(go.set)             # runs before the engine's
        """,
        output="finished",
    )


def test_SD1_one_that_never_ends_is_left_after_the_limit():
    script(
        """
        started = threading.Event()
        def rule(g):
            started.set()
            threading.Event().wait()
        threading.Thread(target=on_device(rule), daemon=True).start()
        started.wait(LIMIT)
        print("exits")
        """,
        output="exits",
        env={"ARRAYGRAD_SHUTDOWN_SECONDS": "0.2"},
    )


def test_SD1_one_that_computes_for_ever_is_left_too():
    script(
        """
        started = threading.Event()
        def rule(g):
            started.set()
            while True:
                pass
        threading.Thread(target=on_device(rule), daemon=True).start()
        started.wait(LIMIT)
        print("exits")
        """,
        output="exits",
        env={"ARRAYGRAD_SHUTDOWN_SECONDS": "0.2"},
    )


def test_SD1_the_limit_is_for_all_threads_together_and_has_a_default(monkeypatch):
    from arraygrad.engine import lifecycle

    monkeypatch.delenv("ARRAYGRAD_SHUTDOWN_SECONDS", raising=False)
    assert lifecycle.shutdown_seconds() == 10.0
    for text, seconds in (("2.5", 2.5), ("", 10.0), ("soon", 10.0)):
        monkeypatch.setenv("ARRAYGRAD_SHUTDOWN_SECONDS", text)
        assert lifecycle.shutdown_seconds() == seconds


@pytest.mark.parametrize("where", ["host", "device"])
def test_SD1_a_daemon_thread_in_the_middle_of_backward(where):
    script(
        f"""
        started = threading.Event()
        x = leaf({"ONE" if where == "device" else "HOST"})
        def work():
            while True:
                y = x
                for _ in range(100):
                    y = y * 1.0 + 0.0
                y.sum().backward()
                started.set()
        threading.Thread(target=work, daemon=True).start()
        started.wait(LIMIT)
        print("exits")
        """,
        output="exits",
        env={"ARRAYGRAD_SHUTDOWN_SECONDS": "1"},
    )


def test_SD1_a_thread_that_is_no_daemon_finishes_its_backward():
    script(
        """
        started, go = threading.Event(), threading.Event()
        def rule(g):
            started.set()
            go.wait(LIMIT)
            return g
        backward_of = on_device(rule)
        def work():
            backward_of()
            print("done", flush=True)
        threading.Thread(target=work).start()
        started.wait(LIMIT)
        go.set()
        """,
        output="done",
    )


def test_SD1_an_exit_inside_a_hook():
    script(
        """
        y = leaf() * 2.0
        y.register_hook(lambda g: sys.exit(5))
        y.sum().backward()
        """,
        status=5,
    )


def test_SD1_a_backward_at_exit():
    script(
        """
        def last():
            check_host()
            check_device()
            print("ran")
        atexit.register(last)
        check_device()
        """,
        output="ran",
    )


def test_SD1_a_backward_after_the_threads_were_stopped():
    # Registered before the engine's handler, so that it runs after it.
    script(
        """
        def last():
            check_host()
            with ag.autograd.set_multithreading_enabled(False):
                check_device()
            print("ran")
        from arraygrad.engine import lifecycle
        check_device()
        atexit.unregister(lifecycle.stop_devices)
        atexit.register(last)
        atexit.register(lifecycle.stop_devices)
        """,
        output="ran",
    )


# SD2, SD3


def test_SD2_graphs_hooks_and_modes_that_outlive_everything():
    script("""
        class Loud:
            def __call__(self, g):
                return g
            def __del__(self):
                self.touched = ag
        x, d = ag.tensor([1.0], requires_grad=True), leaf()
        y, z = ag.exp(x) * x, (d * d).sum()
        for t in (x, y, d, z):
            t.register_hook(Loud())
        y.sum().backward(retain_graph=True)
        z.backward(retain_graph=True)
        y.grad_fn.metadata["circle"] = y
        ag.autograd.set_detect_anomaly(True)
        w = ag.sin(y)
        sys.kept_for_ever = (x, y, z, w, y.grad_fn)
        import builtins
        builtins.kept_for_ever = w
    """)


def test_SD2_a_cycle_of_leaf_and_gradient_at_exit():
    script("""
        warnings.simplefilter("ignore")
        x = ag.tensor([1.0], requires_grad=True)
        (x * x * x).sum().backward(create_graph=True)
        gc.disable()
    """)


def test_SD3_graphs_freed_by_many_threads_while_others_run():
    script("""
        def work():
            for _ in range(30):
                x = leaf(HOST)
                y = x
                for _ in range(200):
                    y = y * 1.0
                y.sum().backward()
                del x, y
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join(LIMIT)
        assert not any(t.is_alive() for t in threads)
    """)


def test_SD3_the_last_reference_dies_on_a_device_thread():
    script("""
        freed = threading.Event()
        class Witness:
            def __del__(self):
                freed.set()
        def build():
            y = leaf()
            for _ in range(1000):
                y = y * 1.0
            y.grad_fn.metadata["witness"] = Witness()
            return [y]
        box = build()
        def rule(g):
            box.clear()
            return g
        on_device(rule)()
        assert freed.wait(LIMIT)
    """)


def test_SD3_a_graph_of_a_hundred_thousand_nodes_at_exit():
    script("""
        y = ag.tensor([1.0], requires_grad=True)
        for _ in range(100_000):
            y = y * 1.0
    """)
