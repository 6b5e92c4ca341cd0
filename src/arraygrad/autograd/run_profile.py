"""Where a program's time and memory go, operation by operation: `autograd.graph.profile()`.

May import: core.op, core.tensor, autograd.graph_hooks, autograd.run_trace. Calls are seen by hooks around operations,
backward runs by the trace of nodes; a row joins an operation and its node.
"""

from __future__ import annotations

import time
from html import escape
from typing import NamedTuple

from arraygrad.autograd.graph_hooks import op_hooks
from arraygrad.autograd.run_trace import trace
from arraygrad.core.op import node_names
from arraygrad.core.recorded import NODE_NAMES
from arraygrad.core.tensor import Tensor

__all__ = ["ProfileRow", "profile"]

_TITLES = ("operation", "calls", "time", "made", "backward calls", "time", "saved")


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


class profile:
    """Measure the operations of this thread, and the backward runs of all threads, in this block.

    Shown as a table, in notebooks too, the operations that took longest first. Times are of the host: what a device
    computes later is not in them. Measuring makes a call some microseconds longer.

    Attributes
    ----------
    rows : list of ProfileRow
        By total time, longest first.

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
        self._started.append((name, time.perf_counter_ns()))

    def _after(self, name, args, result):
        end = time.perf_counter_ns()
        # Operations that raised have left their start behind.
        while self._started:
            started, start = self._started.pop()
            if started == name:
                break
        else:
            return
        row = self._forward.setdefault(name, [0, 0, 0])
        row[0] += 1
        row[1] += end - start
        row[2] += _bytes(result)

    @property
    def rows(self):
        backward = {}
        for event in list(self._trace.events):
            row = backward.setdefault(event.name, [0, 0, 0])
            row[0] += 1
            row[1] += event.end - event.start
            row[2] += event.bytes_saved
        nodes = {**node_names(), **NODE_NAMES}
        rows = []
        for name, forward in self._forward.items():
            found = backward.pop(nodes.get(name, f"{name}Backward"), [0, 0, 0])
            rows.append(ProfileRow(name, *forward, *found))
        rows += [ProfileRow(name, 0, 0, 0, *found) for name, found in backward.items()]
        return sorted(rows, key=lambda row: (-row.nanoseconds - row.backward_nanoseconds, row.name))

    def _table(self):
        """Lines of texts, with one of totals."""
        rows = self.rows
        total = ProfileRow("total", *[sum(column) for column in list(zip(*rows, strict=True))[1:]] or [0] * 6)
        return [
            (
                row.name,
                f"{row.calls:,}",
                _duration(row.nanoseconds),
                _size(row.bytes_made),
                f"{row.backward_calls:,}",
                _duration(row.backward_nanoseconds),
                _size(row.bytes_saved),
            )
            for row in (*rows, total)
        ]

    def __str__(self):
        table = [_TITLES, *self._table()]
        widths = [max(len(line[i]) for line in table) for i in range(len(_TITLES))]
        return "\n".join(
            "  ".join(
                text.ljust(width) if i == 0 else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in table
        )

    __repr__ = __str__

    def _repr_html_(self):
        head = "".join(f"<th>{escape(title)}</th>" for title in _TITLES)
        *lines, total = self._table()
        body = "".join(f"<tr>{_cells(line)}</tr>" for line in lines)
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody><tfoot><tr>{_cells(total)}</tr></tfoot></table>"
        )


def _cells(line):
    name, *numbers = line
    cells = "".join(f'<td style="text-align: right">{escape(text)}</td>' for text in numbers)
    return f'<td style="text-align: left">{escape(name)}</td>{cells}'


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
