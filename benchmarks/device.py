"""`python -m benchmarks --device cuda`: the same work on one GPU by arraygrad over CuPy, PyTorch and JAX.

May import: environment; arraygrad, NumPy, CuPy and the peers inside functions, once it is known that they are there.

Every library's gradients are compared with arraygrad's over NumPy first; one that gives others is not timed. Times are
CUDA events around several runs, after warm-up; the median of the rounds counts. PyTorch runs eagerly, JAX jitted,
single precision stays single (no TF32) everywhere.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

ROUNDS, RUNS = 9, 20
QUICK_ROUNDS, QUICK_RUNS = 3, 5
WARM_UP = 5
TOLERANCE = 2e-3
"""Of single precision sums over 10^7 elements, relative to the size of the gradient."""

BAR = 1.1
"""Times PyTorch's on the same device."""


class Work:
    """One workload: NumPy arrays in, a loss by any namespace, gradients of all arrays out."""

    def __init__(self, name: str, title: str, leaves: Callable[[bool], list], loss: Callable) -> None:
        self.name, self.title, self.leaves, self.loss = name, title, leaves, loss


def mlp_leaves(quick: bool) -> list:
    """x, y and the weights of 784-1024-1024-10, batch 1024, float32."""
    import numpy as np

    rng = np.random.default_rng(0)
    sizes = [784, 1024, 1024, 10]
    arrays = [rng.normal(size=(1024, 784)), np.eye(10)[rng.integers(0, 10, 1024)]]
    for n, m in itertools.pairwise(sizes):
        arrays += [rng.normal(size=(n, m)) * (2 / n) ** 0.5, np.zeros(m)]
    return [a.astype(np.float32) for a in arrays]


def mlp_loss(f: Any, x, y, *weights):
    """Mean cross entropy."""
    for i in range(0, len(weights), 2):
        x = x @ weights[i] + weights[i + 1]
        if i + 2 < len(weights):
            x = f.relu(x)
    return -f.sum(y * f.log_softmax(x)) / y.shape[0]


CHAIN_STEPS = 10


def chain_leaves(quick: bool) -> list:
    """10^7 numbers (10^5 if quick), float32."""
    import numpy as np

    return [np.random.default_rng(1).normal(size=10**5 if quick else 10**7).astype(np.float32)]


def chain_loss(f: Any, x):
    """50 elementwise operations, and a sum."""
    for _ in range(CHAIN_STEPS):
        x = f.tanh(f.sin(x) * 0.9 + 0.1) * 1.1
    return f.sum(x)


WORKS = (
    Work("mlp", "MLP 784-1024-1024-10, batch 1024", mlp_leaves, mlp_loss),
    Work("chain", f"chain of {5 * CHAIN_STEPS} elementwise operations, 10^7 elements", chain_leaves, chain_loss),
)


class Functions:
    """What the losses call, under one set of names."""

    def __init__(self, **functions: Callable) -> None:
        vars(self).update(functions)


def _arraygrad(work: Work, arrays: list) -> Callable[[], list]:
    import cupy

    import arraygrad as ag

    f = Functions(relu=ag.relu, sum=ag.sum, log_softmax=ag.log_softmax, tanh=ag.tanh, sin=ag.sin)
    gradients = ag.grad(lambda *a: work.loss(f, *a), argnums=tuple(range(len(arrays))))
    raw = [cupy.asarray(a) for a in arrays]
    return lambda: list(gradients(*raw))


def _torch(work: Work, arrays: list) -> Callable[[], list]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    f = Functions(
        relu=torch.relu,
        sum=torch.sum,
        log_softmax=lambda x: torch.log_softmax(x, -1),
        tanh=torch.tanh,
        sin=torch.sin,
    )
    leaves = [torch.from_numpy(a).cuda().requires_grad_() for a in arrays]
    return lambda: list(torch.autograd.grad(work.loss(f, *leaves), leaves))


def _jax(work: Work, arrays: list) -> Callable[[], list]:
    import jax

    jax.config.update("jax_default_matmul_precision", "highest")
    f = Functions(
        relu=jax.nn.relu, sum=jax.numpy.sum, log_softmax=jax.nn.log_softmax, tanh=jax.numpy.tanh, sin=jax.numpy.sin
    )
    device = jax.devices("gpu")[0]
    raw = [jax.device_put(a, device) for a in arrays]
    gradients = jax.jit(jax.grad(lambda *a: work.loss(f, *a), argnums=tuple(range(len(arrays)))))
    return lambda: list(jax.block_until_ready(gradients(*raw)))


LIBRARIES = {"arraygrad": _arraygrad, "torch": _torch, "jax": _jax}


def expected(work: Work, arrays: list) -> list:
    """The gradients by arraygrad over NumPy."""
    import arraygrad as ag

    f = Functions(relu=ag.relu, sum=ag.sum, log_softmax=ag.log_softmax, tanh=ag.tanh, sin=ag.sin)
    return list(ag.grad(lambda *a: work.loss(f, *a), argnums=tuple(range(len(arrays))))(*arrays))


def on_host(array: Any) -> Any:
    """A NumPy array of any library's result."""
    import numpy as np

    if hasattr(array, "get") and type(array).__module__.partition(".")[0] == "cupy":
        return array.get()
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


def worst(found: Sequence, wanted: Sequence) -> float:
    """The largest distance of two lists of gradients, relative to the size of each: roots of sums of squares.

    Where rounding puts one relu of millions on the other side of its kink, single elements differ by far.
    """
    import numpy as np

    def size(array: Any) -> float:
        return float(np.sqrt(np.sum(np.square(np.abs(array), dtype=np.float64))))

    return float(np.max([size(on_host(a) - b) / max(size(b), 1e-30) for a, b in zip(found, wanted, strict=True)]))


def milliseconds(run: Callable[[], list], rounds: int, runs: int) -> float:
    """Median time of one run, by CUDA events."""
    import cupy

    for _ in range(WARM_UP):
        run()
    cupy.cuda.Device().synchronize()
    times = []
    for _ in range(rounds):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(runs):
            run()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) / runs)
    return statistics.median(times)


def missing() -> str | None:
    """Why nothing can be measured here, or None."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed: pip install 'arraygrad[cupy12x]' (or cupy13x)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import cupy

            count = cupy.cuda.runtime.getDeviceCount()
        except Exception as error:  # CuPy's own error types exist only where it imports
            return f"no CUDA device: {type(error).__name__}: {error}"
    return None if count else "no CUDA device: CuPy counts 0"


def describe() -> dict[str, Any]:
    """Device and versions, for the result file and docs/gpu.md."""
    import cupy

    from .environment import describe as machine

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    name = properties["name"]
    return {
        **machine(),
        "device": name.decode() if isinstance(name, bytes) else name,
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
    }


def main(device: str, *, peers: Sequence[str] | None, names: Sequence[str], quick: bool, json_file: str | None) -> int:
    """Print the table for one device. 0: measured; 1: arraygrad failed or gave wrong gradients; 2: no device."""
    if device != "cuda":
        print(f"--device {device}: only 'cuda' is known (CPU figures need no --device)", file=sys.stderr)
        return 2
    reason = missing()
    if reason is not None:
        print(f"--device cuda: {reason}", file=sys.stderr)
        return 2
    works = [w for w in WORKS if not names or any(w.name.startswith(name) for name in names)]
    if not works:
        print(f"no workload of --device cuda begins with {', '.join(names)}: mlp, chain", file=sys.stderr)
        return 2
    libraries = ["arraygrad", *(p for p in ("torch", "jax") if peers is None or p in peers)]
    report: dict[str, Any] = {"environment": describe(), "quick": quick, "rows": []}
    print(f"{report['environment']['device']}; forward + backward, ms; ratios over PyTorch, lower is better")
    print(f"{'workload':60} " + " ".join(f"{name:>16}" for name in libraries), flush=True)
    failed = False
    for work in works:
        arrays = work.leaves(quick)
        wanted = expected(work, arrays)
        row: dict[str, Any] = {"name": work.name, "title": work.title, "ms": {}, "problems": {}}
        for name in libraries:
            try:
                run = LIBRARIES[name](work, arrays)
                difference = worst(run(), wanted)
                if not difference < TOLERANCE:
                    raise ValueError(f"gradients differ by {difference:.2g}")
                row["ms"][name] = milliseconds(run, *((QUICK_ROUNDS, QUICK_RUNS) if quick else (ROUNDS, RUNS)))
            except Exception as error:  # a peer that is missing or fails is a remark in the table
                row["problems"][name] = f"{type(error).__name__}: {error}"
        print(line(row, libraries), flush=True)
        report["rows"].append(row)
        failed |= "arraygrad" in row["problems"]
    for row in report["rows"]:
        for name, problem in row["problems"].items():
            print(f"{row['name']}, {name}: {problem}", file=sys.stderr)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=1)
    return 1 if failed else 0


def line(row: dict[str, Any], libraries: Sequence[str]) -> str:
    """One line of the table; arraygrad's says whether it is within the bar."""
    base = row["ms"].get("torch")
    cells = []
    for name in libraries:
        time = row["ms"].get(name)
        if time is None:
            cells.append(f"{'-':>16}")
            continue
        ratio = (
            "" if base is None else f" ({time / base:.2f}{'!' if name == 'arraygrad' and time > BAR * base else ''})"
        )
        cells.append(f"{f'{time:.3f}{ratio}':>16}")
    return f"{row['title']:60} " + " ".join(cells)
