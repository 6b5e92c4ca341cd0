"""Runs the tests that a first environment skipped in a second one, which has the packages that they lacked there.

    pytest -p tests.skipped --skipped-to FILE        writes what was skipped, a line for each: a test, or a whole file
    pytest -p tests.skipped --only-from FILE [DIR]   runs what FILE lists, and all that is in DIR

May import: pytest.
"""

from pathlib import Path

import pytest

SKIPPED = pytest.StashKey[set[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options; one run takes one of them."""
    group = parser.getgroup("tests that were skipped")
    group.addoption("--skipped-to", metavar="FILE", help="write the node ids of the tests that this run skips")
    group.addoption("--only-from", metavar="FILE", help="run the tests that FILE lists, and those of the given folders")


def pytest_configure(config: pytest.Config) -> None:
    """Gives the files of the list as arguments, so that no others are collected."""
    config.stash[SKIPPED] = set()
    if config.getoption("only_from"):
        listed = Path(config.getoption("only_from")).read_text().split("\n")
        files = sorted({line.partition("::")[0] for line in listed if line})
        # Without folders the arguments are those of the configuration: all tests.
        folders = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
        config.args[:] = [*folders, *(name for name in files if not within(name, folders))]


def within(nodeid: str, folders: list[str]) -> bool:
    """Whether the test, or the file, lies in one of the folders."""
    return any(nodeid == folder or nodeid.startswith(folder.rstrip("/") + "/") for folder in folders)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests of the listed files that are not listed themselves."""
    if not config.getoption("only_from"):
        return
    listed = set(Path(config.getoption("only_from")).read_text().split("\n"))
    whole = {line for line in listed if "::" not in line}
    folders = [arg for arg in config.args if arg not in whole and not arg.endswith(".py")]
    stay, left = [], []
    for item in items:
        chosen = item.nodeid in listed or item.nodeid.partition("::")[0] in whole or within(item.nodeid, folders)
        (stay if chosen else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = stay


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Listens to the reports where they all arrive: in the process that was started, and not in its workers."""
    if session.config.getoption("skipped_to") and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Listener(session.config))


class Listener:
    """Keeps what was skipped, and writes it at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that was skipped, by a mark or while it ran. One that fails as expected is reported so, too."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self.config.stash[SKIPPED].add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that was skipped whole."""
        if report.skipped:
            self.config.stash[SKIPPED].add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Writes the list."""
        lines = sorted(self.config.stash[SKIPPED])
        Path(self.config.getoption("skipped_to")).write_text("".join(f"{line}\n" for line in lines))
