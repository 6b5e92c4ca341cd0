"""What backward runs did, node by node: `autograd.graph.trace()`.

May import: engine. The engine calls one function after each node while a trace is on; without one it looks at a
single field per run.
"""

from __future__ import annotations

import os
import threading
from typing import NamedTuple

from arraygrad.engine.engine import set_tracer

__all__ = ["NodeEvent", "trace"]


class NodeEvent(NamedTuple):
    """One node that was executed.

    Attributes
    ----------
    name : str
        The node's name, e.g. "MulBackward".
    sequence_nr : int
        Its number of recording.
    run : int
        Id of the backward run.
    thread : str
        Name of the thread that executed it.
    device : object
        Key of its device; None is the host.
    start, end : int
        Nanoseconds of `time.perf_counter_ns`. Runs that a node starts itself lie within its own time.
    bytes_saved : int
        Bytes of the arrays it kept from the forward pass, when it started. An array that several nodes keep counts for
        each.
    bytes_freed : int
        How many of them it let go (0 where the graph is retained).

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.autograd.graph.trace() as t:
    ...     x.sum().backward()
    >>> [event.name for event in t.events]
    ['SumBackward', 'AccumulateGrad']
    """

    name: str
    sequence_nr: int
    run: int
    thread: str
    device: object
    start: int
    end: int
    bytes_saved: int
    bytes_freed: int


class trace:
    """Record every node that backward runs execute in this block, on whatever thread.

    Attributes
    ----------
    events : list of NodeEvent
        In order of completion.

    Raises
    ------
    RuntimeError
        On entering, if another trace is on: there is one for the process.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.autograd.graph.trace() as t:
    ...     (x * x).sum().backward()
    >>> [event.name for event in t.events]
    ['SumBackward', 'MulBackward', 'AccumulateGrad']
    """

    def __init__(self):
        self.events = []

    def __enter__(self):
        previous = set_tracer(self._note)
        if previous is not None:
            set_tracer(previous)
            raise RuntimeError("trace: another trace is on; end it first (there is one for the whole process)")
        return self

    def __exit__(self, *exc):
        set_tracer(None)

    def _note(self, name, sequence_nr, run, device, start, end, saved, freed):
        thread = threading.current_thread().name
        self.events.append(NodeEvent(name, sequence_nr, run, thread, device, start, end, saved, freed))

    def export(self, path):
        """Write the events as a trace file that Perfetto (ui.perfetto.dev) and chrome://tracing open.

        Parameters
        ----------
        path : str or path-like
            Of the JSON file, in the Trace Event Format: complete events ("ph": "X") with times in microseconds, one row
            per thread.
        """
        start = min((event.start for event in self.events), default=0)
        threads = {}
        records = []
        for event in sorted(self.events, key=lambda event: event.start):
            if event.thread not in threads:
                threads[event.thread] = len(threads) + 1
                records.append(
                    {
                        "ph": "M",
                        "name": "thread_name",
                        "pid": os.getpid(),
                        "tid": threads[event.thread],
                        "args": {"name": event.thread},
                    }
                )
            records.append(
                {
                    "ph": "X",
                    "name": event.name,
                    "cat": "backward",
                    "pid": os.getpid(),
                    "tid": threads[event.thread],
                    "ts": (event.start - start) / 1000,
                    "dur": (event.end - event.start) / 1000,
                    "args": {
                        "sequence_nr": event.sequence_nr,
                        "run": event.run,
                        "device": "host" if event.device is None else str(event.device),
                        "bytes_saved": event.bytes_saved,
                        "bytes_freed": event.bytes_freed,
                    },
                }
            )
        import json  # here: importing arraygrad has no need of it

        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": records, "displayTimeUnit": "ns"}, file)
