"""The table of scores as text.

May import: suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .suite import Score


@dataclass(frozen=True)
class Row:
    """One line: what was run, our score, and the anchor's where it was run."""

    backend: str
    requires_grad: bool
    examples: int
    seed: int
    ours: Score
    anchor: Score | None = None


def header() -> str:
    return (
        f"{'backend':17} {'grad':4} {'examples':>8} {'seed':>4} {'passed':>6} {'failed':>6} {'expected':>8} "
        f"{'skipped':>7} {'time':>8} | {'anchor: passed':>14} {'failed':>6} {'skipped':>7} {'time':>8}"
    )


def line(row: Row) -> str:
    ours = row.ours
    text = (
        f"{row.backend:17} {'yes' if row.requires_grad else 'no':4} {row.examples:8} {row.seed:4} {ours.passed:6} "
        f"{len(ours.failed):6} {len(ours.expected):8} {ours.skipped:7} {duration(ours.seconds):>8} |"
    )
    if row.anchor is None:
        return f"{text} {'-':>14}"
    anchor = row.anchor
    return f"{text} {anchor.passed:14} {len(anchor.failed):6} {anchor.skipped:7} {duration(anchor.seconds):>8}"


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s"


def details(row: Row) -> Sequence[str]:
    """Lines below the table: every unexpected failure, and expectations that no test bears out."""
    anchor = {} if row.anchor is None else row.anchor.failed
    found = [
        f"FAILED {test}: {message}{' (and on the anchor)' if test in anchor else ''}"
        for test, message in row.ours.failed.items()
    ]
    found.extend(f"passed although expected to fail: {test}" for test in row.ours.unneeded)
    found.extend(f"expected to fail, but no test of this checkout: {test}" for test in row.ours.unknown)
    return found
