"""What NumPy's functions cost on a Tensor, where nothing is recorded, over the same call on the raw array.

Eight elements (4 x 4 of the matrices), float64. Results are compared first. Raw and Tensor calls are timed in
interleaved rounds; each round gives one difference, of which the median counts, so that what slows the machine for a
moment slows both sides of a difference. Besides nanoseconds the excess is given in units of a reference:
`a + a` of the same raw array, in the same rounds.
May import: numpy, harness, arraygrad.
"""

from __future__ import annotations

import gc
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from ..harness import CLOCKS

LIBRARIES = ("arraygrad",)
CALLS = {
    "sin": "np.sin(x)",
    "add": "np.add(x, y)",
    "sum": "np.sum(x)",
    "mean": "np.mean(x)",
    "where": "np.where(m, x, y)",
    "concatenate": "np.concatenate([x, y])",
    "multiply": "np.multiply(x, y)",
    "exp": "np.exp(x)",
    "max": "np.max(x)",
    "stack": "np.stack([x, y])",
    "dot": "np.dot(A, A)",
    "matmul": "np.matmul(A, A)",
    "reshape": "np.reshape(x, (2, 4))",
    "transpose": "np.transpose(A)",
    "clip": "np.clip(x, 0.6, 1.2)",
    "norm": "np.linalg.norm(x)",
    "cumsum": "np.cumsum(x)",
    "broadcast_to": "np.broadcast_to(x, (3, 8))",
    "greater": "np.greater(x, y)",
}
LOOPS = 400
MODES = ("plain", "no_grad")
"""plain: Tensors that do not require grad. no_grad: Tensors that do, with grad mode off."""


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """excess: ns, the mean of the calls' medians; worst: the dearest call's. MODE-CALL-ns, -units: each.

    Raises AssertionError if a call on Tensors differs from the raw call.
    """
    import arraygrad as ag

    now = CLOCKS[clock]
    x, y = np.linspace(0.5, 1.5, 8), np.linspace(2.0, 3.0, 8)
    arrays = {"x": x, "y": y, "A": np.linspace(-1.0, 1.0, 16).reshape(4, 4)}
    raw = {"np": np, "m": x > 1, **arrays}
    found: dict[str, float] = {}
    for mode in MODES:
        given = {key: ag.asarray(a, requires_grad=mode == "no_grad") for key, a in arrays.items()}
        tensors = {"np": np, "m": ag.asarray(x > 1), **given}
        with ag.set_grad_enabled(mode == "plain"):
            for call, statement in CALLS.items():
                _compare(statement, raw, tensors)
                excess, reference = _excess(statement, raw, tensors, 15 if quick else 45, now)
                found[f"{mode}-{call}-ns"] = excess
                found[f"{mode}-{call}-units"] = excess / reference
    excesses = [value for key, value in found.items() if key.endswith("-ns")]
    units = [value for key, value in found.items() if key.endswith("-units")]
    return {"excess": statistics.mean(excesses), "worst": max(excesses), "units": statistics.mean(units), **found}


def _compare(statement: str, raw: dict[str, Any], tensors: dict[str, Any]) -> None:
    expected, result = eval(statement, raw), eval(statement, tensors)
    assert not isinstance(result, np.ndarray), f"{statement}: expected a Tensor"
    np.testing.assert_array_equal(result.numpy(), expected)


def _excess(
    statement: str, raw: dict[str, Any], tensors: dict[str, Any], rounds: int, now: Callable[[], int]
) -> tuple[float, float]:
    """ns by which the call on Tensors is dearer than the raw one, and ns of the reference."""
    # timeit switches the collector off; users have it on.
    timers = [timeit.Timer(s, "gc.enable()", now, globals={"gc": gc, **scope})
              for s, scope in ((statement, raw), (statement, tensors), ("x + x", raw))]  # fmt: skip
    taken = [[t.timeit(LOOPS) / LOOPS for t in timers] for _ in range(rounds)]
    return statistics.median([ours - bare for bare, ours, _ in taken]), statistics.median([r for _, _, r in taken])
