"""The sections of device_quarter.sh: checks and times that only a GPU has, each in a process of its own, as one JSON.

    python tools/device_quarter.py [--seconds 545] [--out FILE] [SECTION...]

A section is a function without arguments that returns what it found, a dict for JSON. It raises AssertionError for what
is wrong, and Missing where the device or the machine has not the means for it.
"""

import argparse
import datetime
import importlib
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SECONDS = 545
"""Of all sections together, what came before (wheels, a build) counted in."""

RNG = np.random.default_rng(0)


class Missing(Exception):
    """The device or the machine has not the means for a section."""


def libraries():
    """(cupy, arraygrad)."""
    try:
        import cupy
    except ImportError as error:
        raise Missing(f"no CuPy: {error}") from error
    if not cupy.cuda.is_available():
        raise Missing("no CUDA device")
    return cupy, importlib.import_module("arraygrad")


def emulated():
    """The module host_cuda, where the device lies in host memory; else None."""
    try:
        found = importlib.import_module("host_cuda")
    except ImportError:
        return None
    return found if hasattr(found, "counters") else None  # the folder beside this file is found under that name, too


def close(found, wanted, tolerance):
    """Hold arrays to others by the root of the sum of squares of their difference; returns it over that of `wanted`."""
    found, wanted = (np.asarray(a.get() if hasattr(a, "get") else a) for a in (found, wanted))
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    error = np.linalg.norm((found.astype(kind) - wanted).ravel()) / max(
        np.linalg.norm(wanted.astype(kind).ravel()), 1e-30
    )
    assert error <= tolerance, f"{error} away, where {tolerance} is allowed"
    return float(error)


def times(cupy, run, rounds=9, runs=20):
    """(device, host) microseconds of one run: the median of rounds by events, the least of the host's own time."""
    if emulated() is not None:
        rounds, runs = 1, 2
    for _ in range(3):
        run()
    device, host = [], []
    for _ in range(rounds):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.Device().synchronize()
        begin.record()
        before = time.thread_time_ns()
        for _ in range(runs):
            run()
        host.append((time.thread_time_ns() - before) / runs / 1000)
        end.record()
        end.synchronize()
        device.append(cupy.cuda.get_elapsed_time(begin, end) * 1000 / runs)
    return {"device_us": round(float(np.median(device)), 2), "host_us": round(min(host), 2)}


def both(cupy, ag, function, *arrays, tolerance=1e-9):
    """Value and gradients of a real loss over CuPy, held to those over NumPy; the largest error."""
    names = tuple(range(len(arrays)))
    found = ag.value_and_grad(function, argnums=names)(*[cupy.asarray(a) for a in arrays])
    wanted = ag.value_and_grad(function, argnums=names)(*arrays)
    errors = [close(found[0], wanted[0], tolerance)]
    errors += [close(a, b, tolerance) for a, b in zip(found[1], wanted[1], strict=True)]
    return max(errors)


def mlp(cupy, ag, batch=1024, sizes=(784, 1024, 1024, 10)):
    """(loss, leaves) of a network with mean cross entropy, float32."""
    if emulated() is not None:
        batch, sizes = 32, (16, 32, 32, 10)
    x = cupy.asarray(RNG.normal(size=(batch, sizes[0])).astype(np.float32))
    y = cupy.asarray(np.eye(sizes[-1], dtype=np.float32)[RNG.integers(0, sizes[-1], batch)])
    leaves = []
    for n, m in itertools.pairwise(sizes):
        for values in (RNG.normal(size=(n, m)) * (2 / n) ** 0.5, np.zeros(m)):
            leaves.append(ag.asarray(cupy.asarray(values.astype(np.float32)), requires_grad=True))

    def loss():
        h = x
        for i in range(0, len(leaves), 2):
            h = h @ leaves[i] + leaves[i + 1]
            if i + 2 < len(leaves):
                h = ag.relu(h)
        return -ag.sum(y * ag.log_softmax(h)) / batch

    return loss, leaves


def steps(ag, loss, leaves):
    """The step by name: without an update, updated by statements, updated at once."""

    def backward():
        loss().backward()

    def cleared():
        backward()
        for p in leaves:
            p.grad = None

    def statements():
        backward()
        with ag.no_grad():
            for p in leaves:
                p -= 0.01 * p.grad
                p.grad = None

    def at_once():
        backward()
        ag.autograd.add_scaled(leaves, [p.grad for p in leaves], -0.01)
        for p in leaves:
            p.grad = None

    return {"no update": cleared, "p -= rate * g": statements, "add_scaled": at_once}


# Sections


def environment():
    """What was measured on."""
    cupy, ag = libraries()
    found = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "device": found["name"].decode(),
        "multiprocessors": found.get("multiProcessorCount"),
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "emulated": emulated() is not None,
        "versions": {"cupy": cupy.__version__, "numpy": np.__version__, "arraygrad": ag.__version__,
                     "python": sys.version.split()[0]},
    }  # fmt: skip


def launch_counts():
    """Kernels of a network's step: by torch's profiler, which sees all of the process; by counters where emulated."""
    cupy, ag = libraries()
    host, counted = emulated(), {}
    if host is None:
        try:
            torch = importlib.import_module("torch")
            torch.zeros(1, device="cuda")
        except (ImportError, RuntimeError, AssertionError) as error:
            raise Missing(f"launches are counted by torch's profiler: {error}") from error
    for name, step in steps(ag, *mlp(cupy, ag)).items():
        for _ in range(3):
            step()
        cupy.cuda.Device().synchronize()
        if host is not None:
            host.reset_counters()
            step()
            counted[name] = host.counters().get("launch", 0)
            continue
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            step()
            cupy.cuda.Device().synchronize()
        kernels = [e.key for e in profile.key_averages() for _ in range(e.count) if "Memcpy" not in e.key]
        counted[name] = len(kernels)
        counted[f"{name}: kernels"] = sorted(kernels)[:60]
    return counted


def step_times():
    """Device and host time of a network's step."""
    cupy, ag = libraries()
    return {name: times(cupy, step) for name, step in steps(ag, *mlp(cupy, ag)).items()}


def loss_spellings():
    """Steps of a network whose softmax cross-entropy is spelled in three ways: the same gradients; times."""
    cupy, ag = libraries()
    found = {}
    for batch, sizes in (
        ((8, (6, 5, 4)),) if emulated() is not None else ((64, (784, 128, 10)), (8192, (784, 1024, 10)))
    ):
        x = cupy.asarray(RNG.normal(size=(batch, sizes[0])).astype(np.float32))
        classes = RNG.integers(0, sizes[-1], batch)
        rows, labels = cupy.arange(batch), cupy.asarray(classes)
        one_hot = cupy.asarray(np.eye(sizes[-1], dtype=np.float32)[classes])
        shapes = [shape for n, m in itertools.pairwise(sizes) for shape in ((n, m), (m,))]
        start = [cupy.asarray((RNG.normal(size=shape) * 0.1).astype(np.float32)) for shape in shapes]
        losses = {
            "one-hot": lambda z, y=one_hot, n=batch: -ag.sum(y * ag.log_softmax(z)) / n,
            "log_softmax at labels": lambda z, i=rows, j=labels: -(ag.log_softmax(z)[i, j]).mean(),
            "logsumexp": lambda z, i=rows, j=labels: ag.mean(ag.logsumexp(z, axis=1) - z[i, j]),
        }
        expected = None
        for name, loss in losses.items():
            leaves = [ag.asarray(a.copy(), requires_grad=True) for a in start]

            def value(leaves=leaves, loss=loss, x=x):
                w, b, v, c = leaves
                return loss(ag.relu(x @ w + b) @ v + c)

            for _ in range(3):  # from the second on, the map is computed with the sum before it
                gradients = [g.numpy() for g in ag.autograd.grad(value(), leaves)]
                expected = gradients if expected is None else expected
                for g, wanted in zip(gradients, expected, strict=True):
                    close(g, wanted, 1e-4)
            for how, step in steps(ag, value, leaves).items():
                found[f"{sizes}, batch {batch}, {name}, {how}"] = times(cupy, step)
    return found


def memory_async_pool():
    """Gradients with the driver's stream-ordered pool in the place of CuPy's, on two streams."""
    cupy, ag = libraries()
    before = cupy.cuda.get_allocator()
    try:
        pool = cupy.cuda.MemoryAsyncPool()
        cupy.cuda.set_allocator(pool.malloc)
        cupy.empty(16)
    except Exception as error:
        cupy.cuda.set_allocator(before)
        raise Missing(f"MemoryAsyncPool: {error}") from error
    try:
        x = RNG.normal(size=(256, 64)) / 16  # where softmax has a slope
        errors = []
        for stream in (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.null):
            with stream:
                for _ in range(20):
                    errors.append(both(cupy, ag, lambda x: ag.sum(ag.tanh(x @ x.T) * ag.softmax(x @ x.T)), x))
                stream.synchronize()
        return {"runs": len(errors), "largest_error": max(errors)}
    finally:
        cupy.cuda.Device().synchronize()
        cupy.cuda.set_allocator(before)


def half_products():
    """Products of float16 matrices and stacks, and their gradients, against float64."""
    cupy, ag = libraries()
    found = {}
    for a, b in (((64, 128), (128, 32)), ((3, 17, 33), (3, 33, 5)), ((2, 8, 16), (16, 4)), ((7,), (7, 3))):
        x, y = (RNG.uniform(-1, 1, shape).astype(np.float16) for shape in (a, b))
        values = []
        for convert, kind in ((cupy.asarray, np.float16), (np.asarray, np.float64)):
            t, u = (ag.asarray(convert(z.astype(kind)), requires_grad=True) for z in (x, y))
            try:
                z = t @ u
                values.append([r.numpy() for r in (z, *ag.autograd.grad(ag.sum(z * z), [t, u]))])
            except Exception as error:
                if emulated() is not None:
                    raise Missing(f"float16: {type(error).__name__}: {error}") from error
                raise
        found[f"{a} @ {b}"] = max(close(p, q, 3e-2) for p, q in zip(*values, strict=True))
    return found


def solver_batches():
    """Factorisations of stacks small and large: cuSOLVER's batched functions have limits of their own."""
    cupy, ag = libraries()
    la, found = ag.linalg, {}
    functions = {
        "solve": lambda a: ag.sum(la.solve(a, ag.sum(a, axis=-1, keepdims=True)) * 1.5 + a[..., :1]),
        "inv": lambda a: ag.sum(la.inv(a) ** 2),
        "cholesky": lambda a: ag.sum(la.cholesky(a) ** 3),
        "eigvalsh": lambda a: ag.sum(la.eigvalsh(a) ** 3),
        "svdvals": lambda a: ag.sum(la.svdvals(a) ** 3),
        "qr": lambda a: ag.sum(la.qr(a)[1] ** 2 * a),
        "slogdet": lambda a: ag.sum(la.slogdet(a)[1]),
    }
    sizes = ((1, 2), (3, 33), (40, 5)) if emulated() is not None else ((1, 2), (3, 33), (40, 5), (1000, 8), (70000, 2))
    wrong = []
    for name, f in functions.items():
        for n, k in sizes:
            r = RNG.normal(size=(n, k, k))
            a = r @ np.swapaxes(r, -1, -2) + k * np.eye(k) * np.arange(1, k + 1)
            try:
                found[f"{name} {n} x {k} x {k}"] = both(cupy, ag, f, a, tolerance=1e-6)
            except Exception as error:
                found[f"{name} {n} x {k} x {k}"] = f"{type(error).__name__}: {error}"[:300]
                wrong.append(f"{name} {n} x {k} x {k}")
    assert not wrong, json.dumps({"wrong": wrong, "found": found})
    return found


def fft_inputs():
    """Transforms leave their input and saved values as they are: cuFFT's own from complex to real write over theirs."""
    cupy, ag = libraries()
    found = {}
    x = RNG.normal(size=(6, 10)) + 1j * RNG.normal(size=(6, 10))
    names = ("fft", "ifft", "fftn", "ifftn", "hfft", "irfft", "irfftn", "rfft", "rfftn", "ihfft")
    for name in names:
        values = x.real if name in ("rfft", "rfftn", "ihfft") else x
        a = cupy.asarray(values)
        t = ag.asarray(a, requires_grad=True)
        transform = getattr(ag.fft, name)
        y = transform(t)
        np.testing.assert_array_equal(a.get(), values, err_msg=f"{name} wrote over its input")
        g = cupy.asarray(np.ones(y.shape, y.dtype))
        (first,) = ag.autograd.grad(y, t, g, retain_graph=True)
        (second,) = ag.autograd.grad(y, t, g)
        np.testing.assert_array_equal(g.get(), np.ones(y.shape), err_msg=f"the rule of {name} wrote over its gradient")
        np.testing.assert_array_equal(first.numpy(), second.numpy())
        n = ag.asarray(values.copy(), requires_grad=True)
        z = transform(n)
        (wanted,) = ag.autograd.grad(z, n, np.ones(z.shape, z.dtype))
        pairs = ((y, z), (first, wanted))
        found[name] = max(close(a.numpy(), b.numpy(), 1e-10) for a, b in pairs)
    return found


def cub_reductions():
    """Reductions with CUB and without: the same values and gradients, the same bits each time."""
    cupy, ag = libraries()
    core = importlib.import_module("cupy._core")
    before, found = core.get_routine_accelerators(), {}
    x = RNG.normal(size=(40, 300) if emulated() is not None else (4096, 3000))
    functions = {
        "sum": ag.sum, "mean": ag.mean, "max": ag.max, "prod": lambda t: ag.prod(t * 0 + 1.0001), "var": ag.var,
        "sum of rows": lambda t: ag.sum(ag.sum(t, axis=1) ** 2), "argmax": lambda t: ag.sum(t[ag.argmax(t, axis=0), 0]),
        "cumulative_sum": lambda t: ag.sum(ag.cumulative_sum(t, axis=1) ** 2) * 1e-3,
    }  # fmt: skip
    try:
        for name, f in functions.items():
            for accelerators in ([], ["cub"]):
                core.set_routine_accelerators(accelerators)
                core.set_reduction_accelerators(accelerators)
                found[f"{name} {accelerators}"] = both(cupy, ag, f, x, tolerance=1e-8)
                values = {float(f(ag.asarray(cupy.asarray(x)))) for _ in range(3)}
                assert len(values) == 1, f"{name}: {values}"
    except Exception as error:
        if emulated() is not None and accelerators:
            raise Missing(f"CUB: {type(error).__name__}: {error}") from error
        raise
    finally:
        core.set_routine_accelerators(before)
        core.set_reduction_accelerators(before)
    return found


def capture():
    """A network's step as a graph: three launches are three steps, and what a launch takes."""
    cupy, ag = libraries()
    loss, leaves = mlp(cupy, ag)
    start = [p.array.copy() for p in leaves]
    step = steps(ag, loss, leaves)["add_scaled"]

    def reset():
        with ag.no_grad():
            for p, values in zip(leaves, start, strict=True):
                p[...] = values

    for _ in range(3):
        step()
    wanted = [p.numpy().copy() for p in leaves]
    reset()
    with ag.cupy.capture() as graph:
        step()
    for _ in range(3):
        graph.launch()
    cupy.cuda.Device().synchronize()
    error = max(close(p.numpy(), w, 1e-3) for p, w in zip(leaves, wanted, strict=True))
    return {"error": error, "launch": times(cupy, graph.launch), "step": times(cupy, step)}


def sums():
    """Sums over the first axis: time beside CuPy's own, the same bits each time."""
    cupy, ag = libraries()
    found = {}
    shapes = ((1024, 1024), (1024, 10), (16384, 4), (16411, 3))
    for shape in shapes if emulated() is not None else (*shapes, (1000000, 4), (100000, 64)):
        x = cupy.asarray(RNG.normal(size=shape).astype(np.float32))
        t = ag.asarray(x)
        first, second = ag.sum(t, axis=0).numpy(), ag.sum(t, axis=0).numpy()
        np.testing.assert_array_equal(first, second)
        close(first, x.get().sum(axis=0, dtype=np.float64), 1e-5)
        ours, own = times(cupy, lambda t=t: ag.sum(t, axis=0)), times(cupy, lambda x=x: x.sum(axis=0))
        found[str(shape)] = {"arraygrad": ours, "CuPy": own}
    return found


def updates():
    """Updates of 60 parameters at once and one by one."""
    cupy, ag = libraries()
    size = 16 if emulated() is not None else 512
    leaves = [ag.asarray(cupy.ones((size, size), np.float32), requires_grad=True) for _ in range(60)]
    terms = [ag.asarray(cupy.ones((size, size), np.float32)) for _ in leaves]

    def statements():
        with ag.no_grad():
            for p, g in zip(leaves, terms, strict=True):
                p -= 1e-6 * g

    return {
        "add_scaled": times(cupy, lambda: ag.autograd.add_scaled(leaves, terms, -1e-6)),
        "statements": times(cupy, statements),
    }


def stress():
    """Random programs on streams, for a minute."""
    libraries()
    minutes = "0.1" if emulated() is not None else "1"
    done = subprocess.run([sys.executable, "tests/gpu/stress.py", "--minutes", minutes], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-1500:]
    return {"told": done.stdout.strip().splitlines()[-1]}


def tests():
    """Tests for a device, as many files as there is time for."""
    libraries()
    try:
        importlib.import_module("pytest")
    except ImportError as error:
        raise Missing(f"no pytest: {error}") from error
    left, found = float(os.environ.get("DEVICE_QUARTER_LEFT", "60")), {}
    end, wrong = time.time() + left - 10, []
    names = "constants computed_ahead losses parameter_updates row_plans summed in_place cupy products graphs prepared"
    for name in f"{names} sparse".split():
        if (emulated() is not None and name != "constants") or end - time.time() < 15:
            found[name] = "no time"
            continue
        options = ("-q", "-m", "gpu", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *options, f"tests/gpu/test_{name}.py"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=end - time.time())
        except subprocess.TimeoutExpired:
            found[name] = "no time"
            continue
        found[name] = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else done.stdout[-1500:]
        if done.returncode:
            wrong.append(name)
    assert not wrong, json.dumps({"wrong": wrong, "found": found})
    return found


# Section -> seconds that it may take at most.
SECTIONS = {
    environment: 30, launch_counts: 45, step_times: 45, loss_spellings: 45, sums: 45, updates: 30,
    memory_async_pool: 40, half_products: 40, solver_batches: 60, fft_inputs: 40, cub_reductions: 50, capture: 40,
    stress: 90, tests: 200,
}  # fmt: skip


def run_one(name):
    """A section in this process; prints its JSON as the last line."""
    section = {s.__name__: s for s in SECTIONS}[name]
    try:
        told = {"state": "right", "found": section()}
    except Missing as error:
        told = {"state": "not on this device", "why": str(error)[:600]}
    except Exception as error:
        told = {"state": "wrong", "why": f"{type(error).__name__}: {error}"[:4000]}
    print(json.dumps(told, default=str))


def main():
    """Run the sections and write what they found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--began", type=float, default=time.time())
    parser.add_argument("--out", type=Path, default=Path("benchmarks/history/device-quarter.json"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("sections", nargs="*", choices=[[], *[s.__name__ for s in SECTIONS]], metavar="SECTION")
    options = parser.parse_args()
    if options.one:
        run_one(options.one)
        return 0
    report = {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "sections": {}}
    for section, most in SECTIONS.items():
        name = section.__name__
        if options.sections and name not in options.sections:
            continue
        # Emulated kernels are compiled by a C++ compiler, each for a second or more.
        left = min(most if emulated() is None else 600, options.seconds - (time.time() - options.began))
        before = time.time()
        if left < 10:
            told = {"state": "no time"}
        else:
            try:
                done = subprocess.run(
                    [sys.executable, __file__, "--one", name], capture_output=True, text=True, timeout=left,
                    env={**os.environ, "DEVICE_QUARTER_LEFT": str(left)},
                )  # fmt: skip
                lines = done.stdout.strip().splitlines()
                ended = {"state": "wrong", "why": f"ended with {done.returncode}: {done.stderr[-1500:]}"}
                told = json.loads(lines[-1]) if done.returncode == 0 and lines else ended
            except subprocess.TimeoutExpired:
                told = {"state": "no time", "why": f"more than {left:.0f} seconds"}
        told["seconds"] = round(time.time() - before, 1)
        report["sections"][name] = told
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n")
        print(f"{name:18} {told['state']:20} {told['seconds']:6} s  {str(told.get('why', ''))[:300]}", flush=True)
    return int(any(told["state"] == "wrong" for told in report["sections"].values()))


if __name__ == "__main__":
    sys.exit(main())
