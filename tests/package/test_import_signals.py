"""What a signal handler or a fork finds in the middle of an import that arraygrad makes while the program runs.

Operators, methods, gradients, and NumPy's ufuncs, reductions and functions of shape import nothing. The rest of NumPy's
functions, gradients with create_graph and the functions of the package import a module on their first use, as in any
package: a handler that needs the same module in that moment gets an error, and a forked child can't finish what another
thread had begun to import. Held here: nothing wrong is kept of it, and what imports nothing goes on working.

A hook in sys.meta_path acts at a chosen moment of the import, so nothing is timed. Each case is a process that has
imported the package and nothing else: a child forked from one that did.
"""

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import os, signal, sys, threading, warnings
from importlib.machinery import PathFinder
import numpy as np
import arraygrad as ag

warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of forks beside threads

def plain():
    x = ag.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    y = (x * x).sum() + (x @ x.T).mean() + x[0].max() + np.sin(x).sum()
    y.backward()
    expected = 2 * x.numpy() + np.cos(x.numpy()) + x.numpy().sum(axis=0) / 2 + [[0, 1], [0, 0]]
    assert np.allclose(x.grad.numpy(), expected), x.grad

def work():
    m = ag.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (np.sum(np.linalg.det(m) * x) + ag.max(x) + np.median(x)).backward()
    assert np.allclose(x.grad.numpy(), [6.0, 7.0, 7.0]), x.grad
    assert np.allclose(m.grad.numpy(), [[18.0, 0.0], [0.0, 12.0]]), m.grad
    (g,) = ag.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (h,) = ag.autograd.grad(g.sum(), x)
    assert np.allclose(h.numpy(), [6.0, 12.0, 18.0]), h

class Hook:
    '''Calls `act` when a module is looked for, before its code runs, or after it ran.'''

    def __init__(self, name, moment, act):
        self.name, self.moment, self.act = "arraygrad." + name, moment, act
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        if self.moment == "find":
            sys.meta_path.remove(self)
            self.act()
            return None
        spec = PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            sys.meta_path.remove(self)
            if self.moment == "before":
                self.act()
            run(module)
            if self.moment == "after":
                self.act()

        spec.loader.exec_module = exec_module
        return spec

def in_children(function, cases):
    '''Calls the function with each case, in a forked child each; all must end well.'''
    for case in cases:
        child = os.fork()
        if child == 0:
            try:
                function(*case)
                sys.stderr.flush()
                os._exit(0)
            except BaseException:
                import traceback
                print(case, traceback.format_exc(), file=sys.stderr, flush=True)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0, case
"""

NAMES = [
    "numpy_api.gathered", "numpy_api.functions", "numpy_api.linalg", "numpy_api.statistics", "numpy",
]  # fmt: skip


def run(code, *args):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code), *args],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_operators_gradients_ufuncs_and_reductions_import_nothing():
    run(
        """
        before = set(sys.modules)
        plain()
        x = ag.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
        np.add(np.exp(x), 1.0).sum().backward(inputs=[x])
        (g,) = ag.autograd.grad(np.sum(np.reshape(x, 4) * 2.0, axis=0) / np.mean(x), x)
        float(g.sum())
        assert sorted(set(sys.modules) - before) == []
        """
    )


def test_rules_of_the_table_import_nothing():
    run(
        """
        x = ag.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
        v = ag.tensor([0.5, 1.5, 2.5, 4.0], requires_grad=True)
        linalg, fft = ag.linalg, ag.fft
        y = linalg.cholesky(x).sum() + linalg.solve(x, x).sum() + linalg.eigh(x)[0].sum() + linalg.svdvals(x).sum()
        y = y + ag.abs(fft.rfft(v)).sum() + ag.cumulative_prod(v).sum() + ag.take(v, ag.asarray([0, 1])).sum()
        before = set(sys.modules)
        y.backward()
        assert sorted(name for name in set(sys.modules) - before if name.startswith("arraygrad")) == []
        """
    )


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
@pytest.mark.parametrize("moment", ["find", "before", "after"])
def test_a_handler_in_the_middle_of_an_import_leaves_nothing_wrong(moment):
    run(
        """
        handled = []

        def handler(number, frame):
            plain()  # imports nothing: right at any moment
            try:
                work()
                handled.append("right")
            except AttributeError as error:
                assert "partially initialized module" in str(error), error
                handled.append("refused")

        def send():
            os.kill(os.getpid(), signal.SIGUSR1)
            sum(range(1000))  # a handler would run here

        def case(name):
            signal.signal(signal.SIGUSR1, handler)
            Hook(name, sys.argv[1], send)
            work()
            assert len(handled) == 1, handled
            work()

        in_children(case, [[name] for name in sys.argv[2:]])
        """,
        moment,
        *NAMES,
    )


@needs_fork
def test_an_interrupted_import_is_tried_again():
    run(
        """
        def interrupt():
            raise KeyboardInterrupt

        def case(name):
            Hook(name, "before", interrupt)
            try:
                work()
            except KeyboardInterrupt:
                assert "arraygrad." + name not in sys.modules
            else:
                raise AssertionError("no interrupt")
            work()

        in_children(case, [[name] for name in sys.argv[1:]])
        """,
        *NAMES,
    )


@needs_fork
def test_a_child_forked_in_the_middle_of_an_import_computes_what_imports_nothing():
    run(
        """
        begun, forked = threading.Event(), threading.Event()

        def hold():
            begun.set()
            forked.wait()

        Hook("numpy_api.linalg", "before", hold)
        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            plain()
            os._exit(0)
        forked.set()
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
        work()
        """
    )
