"""`--history NAME`: the tables of a run, kept in benchmarks/history/ beside those of earlier changes.

May import: the standard library.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "history"


def is_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is not None


def write(name: str, report: dict[str, Any], folder: Path = FOLDER, day: datetime.date | None = None) -> Path:
    """Write the tables of `report`, with what they were measured on, to `folder`/NAME.txt; an older one is replaced."""
    told = report["environment"]
    kept = [
        f"{(day or datetime.date.today()).isoformat()}, {told['cpu'] or told['machine']}, Python {told['python']}",
        ", ".join(f"{library} {version}" for library, version in told["versions"].items()),
        f"clock: {report['clock']}" + ", quick" * report["quick"] + ", settled malloc" * report["settled"],
        "",
        *report["lines"],
    ]
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.txt"
    path.write_text("\n".join(line.rstrip() for line in kept) + "\n", encoding="utf-8")
    return path
