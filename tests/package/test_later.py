"""Modules that are imported when they are first used: `arraygrad._later`, and what `import arraygrad` leaves out."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest
from sources import PACKAGE, imports_of, module_name

from arraygrad._later import later


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a module of that name where import finds it, and forgets it after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def written(name, text):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        names.append(name)
        return name

    yield written
    for name in names:
        sys.modules.pop(name, None)


def test_nothing_is_imported_before_something_is_asked_for(write):
    name = write("later_unused", "VALUE = 1")
    module = later(name)
    assert repr(module) == "<module 'later_unused', imported when it is first used>"
    assert name not in sys.modules


def test_what_is_asked_for_is_the_modules_own(write):
    name = write("later_plain", "VALUE = 1")
    module = later(name)
    assert module.VALUE == 1
    sys.modules[name].VALUE = 2
    assert module.VALUE == 2


def test_a_name_that_the_module_lacks_raises_as_the_module_does(write):
    module = later(write("later_poor", ""))
    for _ in range(2):
        with pytest.raises(AttributeError, match="module 'later_poor' has no attribute 'VALUE'"):
            _ = module.VALUE


@pytest.mark.parametrize("kind", ["ImportError", "KeyboardInterrupt", "MemoryError"])
def test_an_import_that_failed_is_tried_again(write, monkeypatch, kind):
    monkeypatch.setenv("LATER_FAILS", kind)
    name = write(
        f"later_{kind.lower()}",
        """
        import builtins, os
        if os.environ.get("LATER_FAILS"):
            raise getattr(builtins, os.environ["LATER_FAILS"])("not now")
        VALUE = 1
        """,
    )
    module = later(name)
    for _ in range(2):
        with pytest.raises(BaseException, match="not now") as caught:
            _ = module.VALUE
        assert type(caught.value).__name__ == kind
    monkeypatch.delenv("LATER_FAILS")
    assert module.VALUE == 1


def test_threads_that_ask_at_once_get_one_module(write):
    name = write("later_shared", "MADE = object()")
    module = later(name)
    together = threading.Barrier(8)
    found = []

    def ask():
        together.wait()
        found.append(module.MADE)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [module.MADE] * 8


PRELUDE = """
import importlib.machinery, os, sys, threading, warnings
from arraygrad import _later

warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of forks beside threads
begun, forking = threading.Event(), threading.Event()

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, Slow) if name == "later_slow" else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        begun.set()
        forking.wait()
        work()
        module.VALUE = 1

sys.meta_path.insert(0, Slow)
module = _later.later("later_slow")
thread = threading.Thread(target=lambda: module.VALUE)
"""


def run_forking(code):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_an_import_that_another_thread_is_in():
    run_forking(
        """
        def work():
            sum(range(3_000_000))  # what a fork that does not wait would come before

        os.register_at_fork(before=forking.set)  # runs before those that were registered earlier
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            os._exit(0 if _later.later("later_slow").VALUE == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
        """
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_goes_on_where_the_import_waits_for_the_fork():
    run_forking(
        """
        taken = threading.RLock()

        def work():
            with taken:
                pass

        # Runs before those that were registered earlier, so that the import waits for the fork, and the fork for it.
        os.register_at_fork(before=taken.acquire, after_in_parent=taken.release, after_in_child=taken.release)
        _later.FORK_SECONDS = 0.01
        taken.acquire()
        thread.start()
        begun.wait()
        forking.set()
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        taken.release()
        thread.join()
        assert module.VALUE == 1
        """
    )


def test_import_and_a_first_gradient_load_no_module_of_rules():
    rules = set()
    for path in sorted((PACKAGE / "ops").glob("*.py")):
        rules |= {found.target for found in imports_of(path) if "_later" in path.read_text()}
    rules = {name for name in rules if name.startswith("arraygrad.ops._")} - {"arraygrad.ops._helpers"}
    assert len(rules) > 10
    code = """
        import sys, arraygrad as ag
        x = ag.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        ((x * x).sum() + (x @ x.T).mean() + x[0].max()).backward()
        print(*sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert sorted(rules & set(done.stdout.split())) == []


def test_every_module_named_to_later_exists():
    named = {found.target for path in PACKAGE.rglob("*.py") for found in imports_of(path)}
    files = {module_name(path) for suffix in (".py", ".pyx") for path in PACKAGE.rglob(f"*{suffix}")}
    assert {name for name in named if name.startswith("arraygrad.ops._")} <= files
