"""Where a program's time and memory go, by operation and by line: `autograd.graph.profile()`.

May import: core.op, core.tensor, engine.node, autograd.graph_hooks, autograd.source_locations, autograd.run_trace.
Calls are seen by hooks around operations, backward runs by the trace of nodes; a row joins an operation and its node.
Nodes take rising numbers as they are recorded: those from the number at which an operation began, up to that of the
next, belong to the line that called it.
"""

from __future__ import annotations

import bisect
import linecache
import sys
import time
from html import escape
from typing import NamedTuple

from arraygrad.autograd.graph_hooks import op_hooks
from arraygrad.autograd.run_trace import trace
from arraygrad.autograd.source_locations import own_frame, short
from arraygrad.core.numpy_primitives import NODE_NAMES
from arraygrad.core.op import node_names
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import take_sequence_nr

__all__ = ["LineRow", "LineTable", "ProfileRow", "profile"]

_TITLES = ("operation", "calls", "time", "made", "backward calls", "time", "saved")
_LINE_TITLES = ("line", *_TITLES[1:], "source")
# Nodes of no line: those recorded before, the inputs of a transform among them, and those of the leaves.
_EARLIER, _LEAVES = ("(before the first operation)", 0), ("(gradients of leaves)", 0)


class ProfileRow(NamedTuple):
    """What one operation took.

    Attributes
    ----------
    name : str
        Of the operation, or of a node that belongs to none ("AccumulateGrad").
    calls, nanoseconds, bytes_made : int
        Calls, their time, and the bytes of their results (views too).
    backward_calls, backward_nanoseconds, bytes_saved : int
        Nodes that backward runs executed, their time, and the bytes that they had saved.
    """

    name: str
    calls: int
    nanoseconds: int
    bytes_made: int
    backward_calls: int
    backward_nanoseconds: int
    bytes_saved: int


class LineRow(NamedTuple):
    """What one line of the program took.

    Attributes
    ----------
    filename : str
        In parentheses for what belongs to no line: what was recorded before, and the gradients of leaves.
    line : int
        0 for these.
    calls, nanoseconds, bytes_made : int
        Operations that the line called, their time, and the bytes of their results (views too).
    backward_calls, backward_nanoseconds, bytes_saved : int
        Nodes of these operations that backward runs executed, their time, and the bytes that they had kept.
    """

    filename: str
    line: int
    calls: int
    nanoseconds: int
    bytes_made: int
    backward_calls: int
    backward_nanoseconds: int
    bytes_saved: int

    @property
    def source(self):
        """The text of the line, "" where it is not known."""
        return linecache.getline(self.filename, self.line).strip() if self.line else ""

    @property
    def where(self):
        """`model.py:12`."""
        return f"{short(self.filename)}:{self.line}" if self.line else self.filename


class LineTable(tuple):
    """Tuple of LineRow, by total time, longest first; shown as a table, in notebooks too."""

    __slots__ = ()

    def __str__(self):
        return _text(_LINE_TITLES, self._lines())

    __repr__ = __str__

    def _repr_html_(self):
        return _html(_LINE_TITLES, self._lines())

    def _lines(self):
        return [(row.where, *_numbers(row[2:]), row.source[:60]) for row in self] + [
            ("total", *_numbers(_sums([row[2:] for row in self])), "")
        ]


class profile:
    """Measure the operations of this thread, and the backward runs of all threads, in this block.

    Shown as a table, in notebooks too, the operations that took longest first. Times are of the host: what a device
    computes later is not in them. Measuring makes a call some microseconds longer.

    Attributes
    ----------
    rows : list of ProfileRow
        By operation; by total time, longest first.
    by_line : LineTable
        By line of the program: the innermost that is neither arraygrad's nor NumPy's, SciPy's, pandas's or Python's
        own.

    Raises
    ------
    RuntimeError
        On entering, if a trace or another profile is on.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.autograd.graph.profile() as p:
    ...     (ag.exp(x) * x).sum().backward()
    >>> sorted((row.name, row.calls, row.backward_calls) for row in p.rows)
    [('AccumulateGrad', 0, 1), ('exp', 1, 1), ('multiply', 1, 1), ('sum', 1, 1)]
    """

    def __init__(self):
        self._forward = {}  # name -> [calls, nanoseconds, bytes]
        self._started = []
        self._of_lines = {}  # (filename, line) -> [calls, nanoseconds, bytes]
        self._clock, self._places = [], []  # numbers of nodes, rising, and the line of those from each of them on
        self._trace = trace()
        self._hooks = op_hooks(self._before, self._after)

    def __enter__(self):
        self._trace.__enter__()
        self._hooks.__enter__()
        return self

    def __exit__(self, *exc):
        self._hooks.__exit__(*exc)
        self._trace.__exit__(*exc)

    def _before(self, name, args):
        frame = own_frame(sys._getframe(1))
        place = (frame.f_code.co_filename, frame.f_lineno)
        if not self._places or self._places[-1] != place:
            self._clock.append(take_sequence_nr())
            self._places.append(place)
        self._started.append((name, place, time.perf_counter_ns()))

    def _after(self, name, args, result):
        end = time.perf_counter_ns()
        # Operations that raised have left their start behind.
        while self._started:
            started, place, start = self._started.pop()
            if started == name:
                break
        else:
            return
        made = _bytes(result)
        for row in (self._forward.setdefault(name, [0, 0, 0]), self._of_lines.setdefault(place, [0, 0, 0])):
            row[0] += 1
            row[1] += end - start
            row[2] += made

    def _backward(self, of):
        """{of(event): [nodes, nanoseconds, bytes that they had kept]} of backward runs."""
        found = {}
        for event in list(self._trace.events):
            row = found.setdefault(of(event), [0, 0, 0])
            row[0] += 1
            row[1] += event.end - event.start
            row[2] += event.bytes_saved
        return found

    def _place_of(self, event):
        """The line that a node belongs to."""
        if event.name == "AccumulateGrad":
            return _LEAVES
        at = bisect.bisect_right(self._clock, event.sequence_nr) - 1
        return self._places[at] if at >= 0 else _EARLIER

    @property
    def by_line(self):
        """LineTable: the same numbers, by the line of the program that called the operation."""
        backward = self._backward(self._place_of)
        places = dict.fromkeys((*self._of_lines, *backward))
        rows = [
            LineRow(*place, *self._of_lines.get(place, (0, 0, 0)), *backward.get(place, (0, 0, 0))) for place in places
        ]
        return LineTable(sorted(rows, key=lambda row: (-row.nanoseconds - row.backward_nanoseconds, row[:2])))

    @property
    def rows(self):
        backward = self._backward(lambda event: event.name)
        nodes = {**node_names(), **NODE_NAMES}
        rows = []
        for name, forward in self._forward.items():
            found = backward.pop(nodes.get(name, f"{name}Backward"), [0, 0, 0])
            rows.append(ProfileRow(name, *forward, *found))
        rows += [ProfileRow(name, 0, 0, 0, *found) for name, found in backward.items()]
        return sorted(rows, key=lambda row: (-row.nanoseconds - row.backward_nanoseconds, row.name))

    def _lines(self):
        """Lines of texts, with one of totals."""
        return [(row.name, *_numbers(row[1:])) for row in self.rows] + [
            ("total", *_numbers(_sums([row[1:] for row in self.rows])))
        ]

    def __str__(self):
        return _text(_TITLES, self._lines())

    __repr__ = __str__

    def _repr_html_(self):
        return _html(_TITLES, self._lines())


def _sums(rows):
    return [sum(column) for column in zip(*rows, strict=True)] or [0] * 6


def _numbers(row):
    """The texts of calls, time and bytes forward, and of the same backward."""
    calls, took, made, backward_calls, backward_took, saved = row
    return (
        f"{calls:,}", _duration(took), _size(made), f"{backward_calls:,}", _duration(backward_took), _size(saved),
    )  # fmt: skip


def _text(titles, lines):
    """A table: the first column, and those of words behind the numbers, stand to the left."""
    table = [titles, *lines]
    widths = [max(len(line[i]) for line in table) for i in range(len(titles))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if i in (0, 7) else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


def _html(titles, lines):
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    *lines, total = lines
    body = "".join(f"<tr>{_cells(line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody><tfoot><tr>{_cells(total)}</tr></tfoot></table>"


def _cells(line):
    sides = ["left", *["right"] * 6, "left"]
    return "".join(
        f'<td style="text-align: {side}">{escape(text)}</td>' for side, text in zip(sides, line, strict=False)
    )


def _bytes(result):
    if isinstance(result, tuple | list):
        return sum(map(_bytes, result))
    return getattr(result, "nbytes", 0) if isinstance(result, Tensor) else 0


def _duration(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return (
                f"{nanoseconds / size:.3g} {unit}" if nanoseconds < 999 * size else f"{nanoseconds / size:.0f} {unit}"
            )
    return f"{nanoseconds} ns"


def _size(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
