"""Signal handlers that run a backward while arraygrad imports something for the first time.

A hook in sys.meta_path sends the signal at a chosen moment of the import, in a process of its own, so nothing is timed.
"""

import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signals")

PRELUDE = """
import importlib.machinery, os, signal, sys
import numpy as np
import arraygrad as ag

def work():
    m = ag.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (np.sum(np.linalg.det(m) * x) + ag.max(x) + np.median(x)).backward()
    assert np.allclose(x.grad.numpy(), [6.0, 7.0, 7.0]), x.grad
    assert np.allclose(m.grad.numpy(), [[18.0, 0.0], [0.0, 12.0]]), m.grad

handled = []

def handler(number, frame):
    work()
    handled.append(number)

class Hook:
    '''Sends a signal when a module is looked for, before its code runs, or after it ran.'''

    def __init__(self, name, moment, number=signal.SIGUSR1):
        self.name, self.moment, self.number = name, moment, number
        sys.meta_path.insert(0, self)

    def send(self):
        os.kill(os.getpid(), self.number)
        sum(range(1000))  # a handler would run here

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        if self.moment == "find":
            self.send()
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            if self.moment == "before":
                self.send()
            run(module)
            if self.moment == "after":
                self.send()

        spec.loader.exec_module = exec_module
        return spec
"""


def run(code, *args):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code), *args],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("moment", ["find", "before", "after"])
@pytest.mark.parametrize(
    "name",
    ["backends.numpy", "_protocols", "_numpy_functions", "_numpy_linalg", "_numpy_order", "_dispatch", "_creation"],
)
def test_a_handler_may_run_backward_where_the_first_one_is_still_being_imported(name, moment):
    run(
        """
        signal.signal(signal.SIGUSR1, handler)
        Hook("arraygrad." + sys.argv[1], sys.argv[2])
        work()
        assert handled == [signal.SIGUSR1], handled
        assert signal.getsignal(signal.SIGUSR1) is handler
        """,
        name,
        moment,
    )


def test_an_error_of_a_handler_reaches_who_asked_and_the_import_is_whole():
    run(
        """
        def fail(number, frame):
            raise KeyError("mine")

        signal.signal(signal.SIGUSR1, fail)
        Hook("arraygrad.backends.numpy", "before")
        try:
            work()
        except KeyError as error:
            assert error.args == ("mine",)
        else:
            raise AssertionError("no error")
        assert "arraygrad.backends.numpy" in sys.modules
        assert signal.getsignal(signal.SIGUSR1) is fail
        work()
        """
    )


def test_handlers_of_several_signals_all_run_though_one_raises():
    run(
        """
        def fail(number, frame):
            handled.append(number)
            raise KeyError("mine")

        signal.signal(signal.SIGUSR1, fail)
        signal.signal(signal.SIGUSR2, handler)
        Hook("arraygrad.backends.numpy", "before", signal.SIGUSR1)
        Hook("arraygrad.backends.numpy.rules", "find", signal.SIGUSR2)
        try:
            work()
        except KeyError:
            pass
        assert sorted(handled) == [signal.SIGUSR1, signal.SIGUSR2], handled
        """
    )


def test_control_c_does_not_wait():
    run(
        """
        Hook("arraygrad.backends.numpy", "before", signal.SIGINT)
        try:
            work()
        except KeyboardInterrupt:
            assert "arraygrad.backends.numpy" not in sys.modules
        else:
            raise AssertionError("no interrupt")
        work()
        """
    )


def test_a_handler_that_a_module_installs_while_it_is_imported_stays():
    run(
        """
        from arraygrad import _later

        def other(number, frame):
            handled.append("other")

        signal.signal(signal.SIGUSR1, handler)
        with _later.Importing():
            signal.signal(signal.SIGUSR1, other)
        assert signal.getsignal(signal.SIGUSR1) is other
        """
    )


def test_imports_of_other_threads_leave_handlers_alone():
    run(
        """
        import threading
        from arraygrad import _later

        signal.signal(signal.SIGUSR1, handler)

        def elsewhere():
            with _later.Importing():
                assert signal.getsignal(signal.SIGUSR1) is handler

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        """
    )
