"""What every test shares: the kind of build in pytest's header, `gpu` tests, and the debug build's check for leaks.

Imports of arraygrad: engine.node (its live-object counters), tools (where tests find the tools of the repository).
"""

import functools
import gc
import signal
import sys
import threading
import time
import warnings
import zlib
from pathlib import Path

import pytest

import arraygrad.tools
from arraygrad.engine.node import is_debug_build, live_counts

# A worker thread drops its last reference a moment after the caller has its result. Only a leaking test waits so long.
LEAK_GRACE_SECONDS = 2.0

# A wheel holds no tools that only the repository needs.
TOOLS = str(Path(__file__).parents[1] / "src" / "arraygrad" / "tools")
if TOOLS not in arraygrad.tools.__path__:
    arraygrad.tools.__path__.append(TOOLS)

# A test of fewer cases than this is run in all of them by `--thin`.
FEW_CASES = 12


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--thin N`: of tests of many cases only each Nth is run, for a build whose results another run has compared."""
    parser.addoption("--thin", type=int, default=1, metavar="N", help="of tests of many cases, run one case in N")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what `--thin` says. Which cases stay goes by their names: no combination of parameters is favoured."""
    thin = config.getoption("thin")
    if thin <= 1:
        return
    cases: dict[str, int] = {}
    for item in items:
        cases[case_family(item)] = cases.get(case_family(item), 0) + 1
    stay, left = [], []
    for item in items:
        few = cases[case_family(item)] < FEW_CASES
        (stay if few or zlib.crc32(item.nodeid.encode()) % thin == 0 else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = stay


def case_family(item: pytest.Item) -> str:
    """The name of the test that the item is a case of."""
    return item.nodeid.partition("[")[0]


def pytest_configure() -> None:
    """Interrupts are on, also where a shell started pytest in the background and so had them ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collecting the tests makes a million objects that live until the end: no garbage is looked for among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        leave_to_the_end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None):
    """The reports of a file's tests live until the end too."""
    result = yield
    # Here nothing holds the values of the test's fixtures any more: they are not kept out with the rest.
    if nextitem is None or nextitem.path != item.path:
        leave_to_the_end()
    return result


def leave_to_the_end() -> None:
    """Takes all that is alive out of the garbage collector's sight.

    pytest keeps the items and reports of all tests, and the modules they import. Each collection that a test asks for
    would visit them: without this, half of the suite's time.
    """
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    """The kind of build under test."""
    return "arraygrad build: " + ("debug (asserts, live-object counters)" if is_debug_build() else "release")


@functools.cache
def missing_gpu() -> str | None:
    """Why `gpu` tests cannot run here, or None where they can."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import cupy

            count = cupy.cuda.runtime.getDeviceCount()
        except ImportError:
            return "CuPy is not installed"
        except Exception as error:  # CuPy's own error types exist only where it imports
            return f"no CUDA device: {type(error).__name__}: {error}"
    return None if count else "no CUDA device: CuPy counts 0"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips `gpu` tests, with the reason, where there is no device."""
    if item.get_closest_marker("gpu") is not None and (reason := missing_gpu()) is not None:
        pytest.skip(reason)


# The leak check. What a fixture of wider scope holds is alive before the test begins, because such fixtures are set up
# before this one: it is no leak of the test's. What the test's own fixtures hold is let go before the count.

BEFORE = pytest.StashKey[dict[str, int]]()
FAILED = pytest.StashKey[bool]()


@pytest.fixture(autouse=True)
def _threads_of_other_tests_are_not_seen(monkeypatch):
    """A pool that another test has left counts as no thread of the program (Note [Lent arrays] in adoption/lent.py)."""
    frames, own = sys._current_frames, threading.get_ident()
    left = frames().keys() - {own}
    monkeypatch.setattr(sys, "_current_frames", lambda: {k: v for k, v in frames().items() if k not in left})


@pytest.fixture(autouse=True)
def _count_live_objects(request: pytest.FixtureRequest) -> None:
    """Counts the live engine objects before the test (debug builds)."""
    counts = live_counts()
    if counts and request.node.get_closest_marker("keeps_objects") is None:
        # No collection here: the check after the test before left no garbage, and each one costs as much as a test.
        request.node.stash[BEFORE] = counts


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Remembers that a test failed: its traceback keeps its objects alive, which is no leak."""
    report = yield
    if report.failed or report.skipped:
        item.stash[FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item):
    """After each test of a debug build, as many engine objects are alive as before it."""
    result = yield
    before = item.stash.get(BEFORE, None)
    if before is not None and not item.stash.get(FAILED, False):
        # pytest keeps the values of finished fixtures until after this hook.
        getattr(item, "funcargs", {}).clear()
        leaked = leaked_since(before)
        if leaked:
            kinds = ", ".join(f"{count} {kind}" for kind, count in leaked.items())
            pytest.fail(f"still alive after the test: {kinds}. Mark it keeps_objects if that is meant.", pytrace=False)
    return result


def leaked_since(before: dict[str, int]) -> dict[str, int]:
    """How many more objects of each kind are alive than `before`, once garbage is collected."""
    deadline = time.monotonic() + LEAK_GRACE_SECONDS
    while True:
        leaked = {kind: now - before[kind] for kind, now in live_counts().items() if now > before[kind]}
        if not leaked or time.monotonic() > deadline:
            return leaked
        gc.collect()
        time.sleep(0.01)
