"""What the host does for a launch, without the device's time: launches do nothing here.

    tools/host_cuda/run PREFIX python tools/host_cuda/host_time.py            # prepared launches, as they come
    tools/host_cuda/run PREFIX python tools/host_cuda/host_time.py --plain    # after set_prepared(False)

Each row is the least of many runs of processor time, in microseconds and in calls of a bare `cupy.ElementwiseKernel`.
"""

import functools
import itertools
import os
import sys
import time

if os.environ.get("HOST_CUDA_LAUNCH") != "nothing":
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "HOST_CUDA_LAUNCH": "nothing"})

import cupy
import host_cuda
import numpy as np

import arraygrad as ag
from arraygrad.backends.cupy import set_prepared

ROUNDS = 150


def least(run, number):
    """Microseconds of one run: the least of many rounds of `number` runs."""
    for _ in range(number):
        run()
    times = []
    for _ in range(ROUNDS):
        before = time.thread_time_ns()
        for _ in range(number):
            run()
        times.append((time.thread_time_ns() - before) / number)
    return min(times) / 1000


def small(n=8, dtype="float64"):
    """A small array."""
    return cupy.zeros(n, dtype=dtype)


def mlp(batch=1024, sizes=(784, 1024, 1024, 10)):
    """(loss of x, y and the leaves, leaves): mean cross entropy of a network, float32, classes one-hot."""
    rng = np.random.default_rng(0)
    x = cupy.asarray(rng.normal(size=(batch, sizes[0])).astype(np.float32))
    y = cupy.asarray(np.eye(sizes[-1])[rng.integers(0, sizes[-1], batch)].astype(np.float32))
    leaves = []
    for n, m in itertools.pairwise(sizes):
        for values in (rng.normal(size=(n, m)) * (2 / n) ** 0.5, np.zeros(m)):
            leaves.append(ag.asarray(cupy.asarray(values.astype(np.float32)), requires_grad=True))

    def loss():
        h = x
        for i in range(0, len(leaves), 2):
            h = h @ leaves[i] + leaves[i + 1]
            if i + 2 < len(leaves):
                h = ag.relu(h)
        return -ag.sum(y * ag.log_softmax(h)) / batch

    return loss, leaves


def small_steps(batch=64, sizes=(784, 128, 10)):
    """Steps of a network of two layers by name: a spelling of its loss, and how its parameters are updated."""
    rng = np.random.default_rng(0)
    x = cupy.asarray(rng.normal(size=(batch, sizes[0])).astype(np.float32))
    classes = rng.integers(0, sizes[-1], batch)
    rows, labels = cupy.arange(batch), cupy.asarray(classes)
    one_hot = cupy.asarray(np.eye(sizes[-1], dtype=np.float32)[classes])

    def made():
        shapes = [shape for n, m in itertools.pairwise(sizes) for shape in ((n, m), (m,))]
        return [ag.asarray(cupy.asarray(rng.normal(size=s).astype(np.float32) / 9), requires_grad=True) for s in shapes]

    def scores(leaves):
        w, b, v, c = leaves
        return ag.relu(x @ w + b) @ v + c

    def by_logsumexp(leaves):
        z = scores(leaves)
        return ag.mean(ag.logsumexp(z, axis=1) - z[rows, labels])

    losses = {
        "one-hot": lambda leaves: -ag.sum(one_hot * ag.log_softmax(scores(leaves))) / batch,
        "log_softmax[rows, labels]": lambda leaves: -(ag.log_softmax(scores(leaves))[rows, labels]).mean(),
        "logsumexp - z[rows, labels]": by_logsumexp,
    }

    def stepped(loss, update, leaves):
        loss(leaves).backward()
        update(leaves)

    def statements(leaves):
        with ag.no_grad():
            for p in leaves:
                p -= 0.01 * p.grad
                p.grad = None

    def at_once(leaves):
        ag.autograd.add_scaled(leaves, [p.grad for p in leaves], -0.01)
        for p in leaves:
            p.grad = None

    steps = {}
    for (spelling, loss), update in itertools.product(losses.items(), (statements, at_once)):
        how = "p -= rate * g" if update is statements else "add_scaled"
        steps[f"{spelling}, {how}"] = functools.partial(stepped, loss, update, made())
    return steps


def main():
    """Print the table."""
    set_prepared("--plain" not in sys.argv)
    bare = cupy.ElementwiseKernel("T a, T b", "T c", "c = a * b", "host_time_bare")
    a, b = small(), small()
    unit = least(lambda: bare(a, b), 300)
    print(f"{'a bare ElementwiseKernel':72} {unit:7.2f} us")

    def row(title, run, number=300, over=1):
        took = least(run, number) / over
        print(f"{title:72} {took:7.2f} us {took / unit:7.2f} bare calls", flush=True)

    t, u = (ag.asarray(small(), requires_grad=True) for _ in range(2))
    row("forward of a recorded operation: ag.sin(t)", lambda: ag.sin(t))
    row("forward of a recorded operation: t * u", lambda: t * u)

    def chain():
        x = t
        for _ in range(110):
            x = ag.sin(x)
        x.backward(a)
        t.grad = None

    row("forward and backward of one operation, in a chain of 110", chain, 4, 110)
    gradient = ag.grad(lambda x: ag.sum(ag.sin(x)))
    row("a whole call of grad of one operation", lambda: gradient(a), 100)
    loss, leaves = mlp()

    def step():
        loss().backward()
        for p in leaves:
            p.grad = None

    row("MLP 784-1024-1024-10, forward", loss, 20)
    row("MLP 784-1024-1024-10, forward and backward", step, 20)

    def updated():
        loss().backward()
        with ag.no_grad():
            for p in leaves:
                p -= 0.01 * p.grad
                p.grad = None

    row("the same, and each parameter updated by p -= 0.01 * p.grad", updated, 20)

    def updated_at_once():
        loss().backward()
        ag.autograd.add_scaled(leaves, [p.grad for p in leaves], -0.01)
        for p in leaves:
            p.grad = None

    row("the same, and all parameters updated by autograd.add_scaled", updated_at_once, 20)
    for name, small_step in small_steps().items():
        for _ in range(3):
            small_step()
        host_cuda.reset_counters()
        small_step()
        row(f"MLP 784-128-10, {name}, {host_cuda.counters()['launch']} launches", small_step, 20)

    w = [p.array for p in leaves]
    x = cupy.zeros((1024, 784), np.float32)
    h, o = cupy.zeros((1024, 1024), np.float32), cupy.zeros((1024, 10), np.float32)

    def products():
        x @ w[0], h @ w[2], h @ w[4]
        o @ w[4].T, h.T @ o, h @ w[2].T, h.T @ h, x.T @ h

    row("its eight products by CuPy", products, 20)


if __name__ == "__main__":
    main()
