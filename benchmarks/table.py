"""The two tables as text: ratios over hand, and figures of the graph's mechanics.

May import: harness, mechanics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .harness import Row, Spread


def duration(ns: float) -> str:
    """Three digits and a unit; only the scale matters."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def verdict(value: float, bar: float, moonshot: float, *, higher: bool = False) -> str:
    if higher:
        value, bar, moonshot = -value, -bar, -moonshot
    if value <= moonshot:
        return "MOONSHOT"
    return "yes" if value <= bar else "no"


def _ratio(spread: Spread) -> str:
    return f"{spread.median:.2f}" if spread.median < 10 else f"{spread.median:.0f}"


def ratio_header(peers: Sequence[str]) -> str:
    columns = f"{'workload':18} {'hand':>8} {'arraygrad':>9} {'[quartiles]':14} {'bar':>5} {'moon':>5} {'reached':8}"
    return columns + "".join(f" {p:>9}" for p in peers)


def ratio_line(row: Row, peers: Sequence[str]) -> str:
    """One line of the table of ratios; why a cell is empty follows below the line."""
    own = row.ratios.get("arraygrad")
    if own:
        cells = f"{_ratio(own):>9} {f'[{own.low:.2f} {own.high:.2f}]':14}"
        reached = verdict(own.median, row.bar, row.moonshot)
    else:
        cells, reached = f"{'-':>9} {'':14}", "-"
    line = f"{row.name:18} {duration(row.hand_ns):>8} {cells} {row.bar:5.2f} {row.moonshot:5.2f} {reached:8}"
    for peer in peers:
        mark = "*" if peer in row.notes else ""
        line += f" {_ratio(row.ratios[peer]) + mark if peer in row.ratios else '-':>9}"
    for name, why in [*row.problems.items(), *row.notes.items()]:
        if name == "arraygrad" or not why.startswith("not timed"):
            line += f"\n    {name}: {why}"
    return line


def figure_header(names: Sequence[str]) -> str:
    columns = f"{'figure':22} {'unit':>5} {'arraygrad':>9} {'[quartiles]':17} {'bar':>6} {'moon':>6} {'reached':8}"
    return columns + "".join(f" {n:>9}" for n in names)


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figure_line(figure, found: dict[str, Spread], problems: dict[str, str], names: Sequence[str]) -> str:
    """One line of the table of figures."""
    own = found.get("arraygrad")
    if own:
        cells = f"{number(own.median):>9} {f'[{number(own.low)} {number(own.high)}]':17}"
    else:
        cells = f"{'-':>9} {'':17}"
    if figure.bar is None:
        bars, reached = f"{'-':>6} {'-':>6}", "-"
    else:
        bars = f"{figure.bar:6g} {figure.moonshot:6g}"
        reached = verdict(own.median, figure.bar, figure.moonshot, higher=figure.higher) if own else "-"
    line = f"{figure.name:22} {figure.unit:>5} {cells} {bars} {reached:8}"
    for name in names:
        line += f" {number(found[name].median) if name in found else '-':>9}"
    for name, why in problems.items():
        line += f"\n    {name}: {why}"
    return line
