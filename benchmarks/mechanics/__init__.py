"""Figures of the graph's mechanics: memory per node, fixed costs, imports. Each is found in a fresh process.

A probe is a function (library, quick, clock) -> {key: number}; a figure names a probe and a key of its result. Fresh
processes keep memory figures free of what ran before, and turn a crash into a line of the table.
May import: the files beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import (
    backward_call,
    deep_chain,
    element_loops,
    imports,
    kernel_threads,
    ode_gradients,
    peak_memory,
    protocols,
    recording,
    threads,
    two_threads,
    workers,
)

PROBES: dict[str, Callable[[str, bool, str], dict[str, float]]] = {
    "deep-chain": deep_chain.probe,
    "recording": recording.probe,
    "element-loops": element_loops.probe,
    "ode-gradients": ode_gradients.probe,
    "protocols": protocols.probe,
    "backward-call": backward_call.probe,
    "peak-memory": peak_memory.probe,
    "two-threads": two_threads.probe,
    "threads": threads.probe,
    "workers": workers.probe,
    "kernel-threads": kernel_threads.probe,
    "import": imports.probe,
}

PROBED: dict[str, tuple[str, ...]] = {
    "deep-chain": deep_chain.LIBRARIES,
    "recording": recording.LIBRARIES,
    "element-loops": element_loops.LIBRARIES,
    "ode-gradients": ode_gradients.LIBRARIES,
    "protocols": protocols.LIBRARIES,
    "backward-call": backward_call.LIBRARIES,
    "peak-memory": peak_memory.LIBRARIES,
    "two-threads": two_threads.LIBRARIES,
    "threads": threads.LIBRARIES,
    "workers": workers.LIBRARIES,
    "kernel-threads": kernel_threads.LIBRARIES,
    "import": imports.LIBRARIES,
}
"""Who can be asked. `hand` is the hand-written NumPy gradient."""


@dataclass(frozen=True)
class Figure:
    """One row of the second table. higher: more is better; bar None: reported only."""

    name: str
    probe: str
    key: str
    unit: str
    bar: float | None
    moonshot: float | None
    title: str
    higher: bool = False


FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        Figure("deep-chain-survives", "deep-chain", "nodes", "nodes", 1e6, 1e6,
               "chain of additions of 0-d: recorded, differentiated and freed", higher=True),
        Figure("bytes-per-node", "deep-chain", "bytes", "B", 150, 100, "memory of a recorded node that saves nothing"),
        Figure("backward-per-node", "deep-chain", "backward", "ns", 500, 300, "backward of the chain, per node"),
        Figure("free-per-node", "deep-chain", "free", "ns", 40, 25, "freeing the chain, per node"),
        Figure("recording-overhead", "recording", "overhead", "ns", 150, 60,
               "x + c and x * c recorded, over the bare NumPy call, size 1"),
        Figure("numpy-function-excess", "protocols", "excess", "ns", 300, 150,
               "NumPy's function on a Tensor, nothing recorded, over the raw call, size 8: mean of all below"),
        Figure("numpy-function-units", "protocols", "units", "x", 1.0, 0.5, "the same, in units of a raw a + a"),
        *(
            Figure(f"numpy-{call}-{mode}", "protocols", f"{mode}-{call}-ns", "ns", 300, 150,
                   f"{statement}: " + ("Tensors that do not require grad" if mode == "plain" else "under no_grad"))
            for call, statement in protocols.CALLS.items()
            for mode in protocols.MODES
        ),
        Figure("backward-call", "backward-call", "fixed", "us", 5, 2, "one backward() of one node and one leaf"),
        Figure("peak-memory", "peak-memory", "peak", "MB", 80, 70,
               "peak above inputs, MLP 784-1024-1024-10, batch 4096, float32"),
        Figure("two-threads", "two-threads", "throughput", "x", 1.6, 1.8,
               "two threads, each its own backward, over one thread", higher=True),
        Figure("threads", "threads", "throughput", "x", *((1.6, 1.8) if threads.free_threaded() else (None, None)),
               "two threads, each its own graph of twenty small operations, over one thread", higher=True),
        Figure("workers", "workers", "gain", "x", None, None,
               "backward of three independent branches of matrix products, without CPU workers over with two",
               higher=True),
        Figure("kernel-threads-1m", "kernel-threads", "1m", "x", None, None,
               "chain of a million float32, forward and backward: one thread over two that share kernels", higher=True),
        Figure("kernel-threads-10m", "kernel-threads", "10m", "x", None, None, "the same with ten millions",
               higher=True),
        *(
            Figure(f"loop-{name}", "element-loops", name, "x", 25 if "prices" in name else 12, 8,
                   "number by number: value and gradient over the plain run")
            for name in element_loops.NAMES
        ),
        *(
            Figure(f"ode-{name}", "ode-gradients", name, "x", 4, 2,
                   "a pendulum by SciPy's solver: value and gradient over the solution, by method and requested times")
            for name in ode_gradients.NAMES
        ),
        Figure("import", "import", "time", "ms", 30, 15, "import after NumPy is there"),
    )
}  # fmt: skip
