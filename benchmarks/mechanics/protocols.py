"""What NumPy's functions cost on a Tensor, where nothing is recorded, over the same call on the raw array.

Eight elements, float64. Results are compared first. Raw and Tensor calls are timed in interleaved rounds of which each
takes the fastest, so that another process on the machine is in neither. Besides nanoseconds the excess is given as a
share of the raw call, and in units of a reference: `a + a` of the same raw array, in the same round.
May import: numpy, harness, arraygrad.
"""

from __future__ import annotations

import gc
import statistics
import timeit

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
}
LOOPS = 400
MODES = ("plain", "no_grad")
"""plain: Tensors that do not require grad. no_grad: Tensors that do, with grad mode off."""


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """excess: ns, the mean over calls. worst: that of the dearest call. CALL-ns, CALL-ratio, CALL-units: each call.

    Raises AssertionError if a call on Tensors differs from the raw call.
    """
    import arraygrad as ag

    now = CLOCKS[clock]
    x, y = np.linspace(0.5, 1.5, 8), np.linspace(2.0, 3.0, 8)
    raw = {"np": np, "x": x, "y": y, "m": x > 1}
    found: dict[str, float] = {}
    for mode in MODES:
        x_, y_ = [ag.asarray(a, requires_grad=mode == "no_grad") for a in (x, y)]
        tensors = {"np": np, "x": x_, "y": y_, "m": ag.asarray(x > 1)}
        with ag.set_grad_enabled(mode == "plain"):
            for call, statement in CALLS.items():
                _compare(statement, raw, tensors)
                bare, ours, reference = _fastest(statement, raw, tensors, 30 if quick else 150, now)
                found[f"{mode}-{call}-ns"] = ours - bare
                found[f"{mode}-{call}-ratio"] = (ours - bare) / bare
                found[f"{mode}-{call}-units"] = (ours - bare) / reference
    excesses = [value for key, value in found.items() if key.endswith("-ns")]
    units = [value for key, value in found.items() if key.endswith("-units")]
    return {"excess": statistics.mean(excesses), "worst": max(excesses), "units": statistics.mean(units), **found}


def _compare(statement: str, raw: dict, tensors: dict) -> None:
    expected, result = eval(statement, raw), eval(statement, tensors)
    assert not isinstance(result, np.ndarray), f"{statement}: expected a Tensor"
    np.testing.assert_array_equal(result.numpy(), expected)


def _fastest(statement: str, raw: dict, tensors: dict, rounds: int, now) -> tuple[float, float, float]:
    """ns of the raw call, of the call on Tensors and of the reference, each the fastest of its samples."""
    # timeit switches the collector off; users have it on.
    timers = [timeit.Timer(s, "gc.enable()", now, globals={"gc": gc, **scope})
              for s, scope in ((statement, raw), (statement, tensors), ("x + x", raw))]  # fmt: skip
    best = [float("inf")] * 3
    for _ in range(rounds):
        best = [min(b, t.timeit(LOOPS) / LOOPS) for b, t in zip(best, timers, strict=True)]
    return best[0], best[1], best[2]
