"""Files of expected failures: which test fails, and whose fault it is.

May import: nothing of this package.

A file holds groups. Comment lines name a fault, and the tests below them, one a line, fail because of it; an empty line
ends the group. A test is named as pytest prints it. Without brackets it stands for all its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Expectation:
    """One test that is expected to fail, and why."""

    test: str
    reason: str

    def covers(self, nodeid: str) -> bool:
        """Whether `nodeid` is this test, or one of its parameters where none is named."""
        return nodeid == self.test or nodeid.startswith(self.test + "[")


def read(path: Path) -> list[Expectation]:
    """The expectations of one file.

    Raises
    ------
    ValueError
        If an entry has no reason above it, or stands twice.
    """
    found: dict[str, Expectation] = {}
    reason: list[str] = []
    in_group = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if line.startswith("#"):
            if in_group:
                reason, in_group = [], False
            reason.append(line.lstrip("# "))
        elif not line:
            reason, in_group = [], False
        elif not reason:
            raise ValueError(f"{path.name}, line {number}: {line} has no reason; write `# whose fault it is` above it")
        elif line in found:
            raise ValueError(f"{path.name}, line {number}: {line} is expected to fail twice")
        else:
            found[line] = Expectation(line, " ".join(reason))
            in_group = True
    return list(found.values())
