"""`python -m benchmarks.operations [--size N]`: what single operations cost beside the same call on raw arrays.

For each operation on N x N float64 matrices (8 unless told otherwise): the bare NumPy call, the recorded call, their
difference, and the part of backward that is the operation's own (backward() less that of one `t + raw`). It is not a
table of ratios with bars: it shows which operations take a slow path. Times are of this process's running only.
May import: environment first, then numpy and arraygrad.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import environment

CALLS, ROUNDS = 2000, 9


def cost(run: Callable[[], Any]) -> float:
    """Nanoseconds per call, the fastest of some rounds: other processes only ever add time."""
    run()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for _ in range(CALLS):
            run()
        best = min(best, (time.thread_time_ns() - start) / CALLS)
    return best


def cases(n: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """name: (on raw arrays, on Tensors)."""
    import numpy as np

    import arraygrad as ag
    import arraygrad.numpy as an

    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.5, 1.5, (2, n, n))
    row, vector = rng.normal(size=(2, n))
    mask = a > 1
    index = rng.integers(0, n, n)
    t, u, r = (ag.tensor(raw, requires_grad=True) for raw in (a, b, row))
    return {
        "t + t": (lambda: a + b, lambda: t + u),
        "t + raw": (lambda: a + b, lambda: t + b),
        "raw + t": (lambda: a + b, lambda: a + u),
        "t + row": (lambda: a + row, lambda: t + r),
        "t * raw": (lambda: a * b, lambda: t * b),
        "t * 2.0": (lambda: a * 2.0, lambda: t * 2.0),
        "1 - t": (lambda: 1 - a, lambda: 1 - t),
        "t / t": (lambda: a / b, lambda: t / u),
        "t / row": (lambda: a / row, lambda: t / r),
        "t ** 2": (lambda: a**2, lambda: t**2),
        "-t": (lambda: -a, lambda: -t),
        "t @ t": (lambda: a @ b, lambda: t @ u),
        "t @ raw": (lambda: a @ b, lambda: t @ b),
        "raw @ t": (lambda: a @ b, lambda: a @ u),
        "exp": (lambda: np.exp(a), lambda: an.exp(t)),
        "log": (lambda: np.log(a), lambda: an.log(t)),
        "sqrt": (lambda: np.sqrt(a), lambda: an.sqrt(t)),
        "tanh": (lambda: np.tanh(a), lambda: an.tanh(t)),
        "log1p": (lambda: np.log1p(a), lambda: an.log1p(t)),
        "numpy's tanh": (lambda: np.tanh(a), lambda: np.tanh(t)),
        "maximum(t, 0)": (lambda: np.maximum(a, 0), lambda: an.maximum(t, 0)),
        "where": (lambda: np.where(mask, a, b), lambda: an.where(mask, t, u)),
        "sum": (lambda: np.sum(a), lambda: an.sum(t)),
        "sum axis": (lambda: np.sum(a, axis=0), lambda: an.sum(t, axis=0)),
        "t.sum()": (lambda: a.sum(), lambda: t.sum()),
        "mean axis": (lambda: np.mean(a, axis=0), lambda: an.mean(t, axis=0)),
        "var axis": (lambda: np.var(a, axis=0), lambda: an.var(t, axis=0)),
        "max axis": (lambda: np.max(a, axis=1), lambda: an.max(t, axis=1)),
        "t[2]": (lambda: a[2], lambda: t[2]),
        "t[:, 1:]": (lambda: a[:, 1:], lambda: t[:, 1:]),
        "t[index]": (lambda: a[index], lambda: t[index]),
        "t.T": (lambda: a.T, lambda: t.T),
        "reshape": (lambda: np.reshape(a, (-1,)), lambda: an.reshape(t, (-1,))),
        "concat": (lambda: np.concat([a, b]), lambda: an.concat([t, u])),
        "stack": (lambda: np.stack([a, b]), lambda: an.stack([t, u])),
        "solve": (lambda: np.linalg.solve(a, vector), lambda: an.linalg.solve(t, vector)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operations", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only operations whose names begin so")
    parser.add_argument("--size", type=int, default=8, help="side of the matrices")
    options = parser.parse_args(arguments)
    environment.pin_threads()
    chosen = {
        name: calls
        for name, calls in cases(options.size).items()
        if not options.names or any(name.startswith(n) for n in options.names)
    }

    def backward_of(run: Callable[[], Any]) -> Callable[[], Any]:
        seed = _ones_like(run())
        return lambda: run().backward(seed)

    plain = cases(options.size)["t + raw"][1]
    fixed = cost(backward_of(plain)) - cost(plain)
    print(f"backward() of t + raw: {fixed:.0f} ns")
    print(f"{'operation':16} {'numpy':>7} {'recorded':>9} {'over':>7} {'backward':>9}   ns")
    for name, (raw, tensor) in chosen.items():
        bare, recorded = cost(raw), cost(tensor)
        own = cost(backward_of(tensor)) - recorded - fixed
        print(f"{name:16} {bare:7.0f} {recorded:9.0f} {recorded - bare:7.0f} {own:9.0f}", flush=True)
    return 0


def _ones_like(tensor: Any) -> Any:
    import numpy as np

    import arraygrad as ag

    return ag.asarray(np.ones(tensor.shape))


if __name__ == "__main__":
    raise SystemExit(main())
