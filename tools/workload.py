"""A short program that uses every part of the core, many times over: what leak checkers and valgrind run.

Prints how much its later rounds added to the process, and fails if objects pile up. No package but arraygrad, NumPy
and array_api_strict (for device threads) is imported, so that what a checker reports is ours.

    python tools/workload.py [ROUNDS]
"""

import gc
import os
import sys
import threading

import array_api_strict as strict
import numpy as np

import arraygrad as ag
from arraygrad.autograd import Function, graph
from arraygrad.engine.node import live_counts

ROUNDS = 30
SETTLED = 10  # rounds after which caches and pools have their size
BLOCKS_A_ROUND = 2  # what the interpreter itself may add (its free lists and caches move by some blocks)
MEMORY_BOUND = 16 << 20  # bytes that the process may grow after it has settled (fragmentation of the allocator)


def resident():
    """Bytes of memory that the process has, 0 where that is not to be had or a checker keeps what is freed."""
    if os.environ.get("PYTHONMALLOC") or not os.path.exists("/proc/self/statm"):
        return 0
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Cube(Function):
    """x**3 with a saved input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3.0 * x**2


def leaf(*shape):
    """A leaf of float64."""
    return ag.tensor(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape), requires_grad=True)


def operations():
    """Arithmetic, matrix products, reductions, indexing, casts, broadcasting; first and second derivatives."""
    x, w = leaf(4, 3), leaf(3, 2)
    y = ag.numpy.tanh(x @ w) * 2.0 - x[:, :1] / 3.0
    z = ag.numpy.concat([y, y[::-1]]).reshape((-1,)) ** 2
    z = z.astype(np.float32) if hasattr(z, "astype") else z
    total = z.sum() + ag.numpy.exp(x).mean() + ag.numpy.sort(w, axis=0).max()
    (gradient,) = ag.autograd.grad(total, x, create_graph=True)
    (gradient**2).sum().backward()
    total = None
    values = np.sin(x) + np.sum(w)
    values.sum().backward()
    ag.hessian(lambda t: (t * t * t).sum())(np.arange(3.0))
    ag.jvp(lambda t: t * t, (np.ones(3),), (np.ones(3),))


def writes():
    """In-place operators, written views, detached aliases, saved values that are protected."""
    x = leaf(5)
    y = x * 1.0
    z = y * y
    y += 1.0
    y[1:3] = x[:2] * 3.0
    view = y[::2]
    view *= 2.0
    (y.sum() + z.sum()).backward()
    with ag.no_grad():
        x -= 0.1 * x.grad
    x.grad = None


def callbacks():
    """Hooks of every kind, custom Functions, saved-tensor hooks, checkpoints, anomaly mode."""
    x = leaf(6)
    seen = []
    y = x * 2.0
    handle = y.register_hook(lambda g: g * 1.0)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))
    y.grad_fn.register_prehook(lambda grads: grads)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    with graph.saved_tensors_hooks(lambda t: t.numpy().copy(), lambda kept: ag.tensor(kept)):
        z = Cube.apply(y) + ag.checkpoint(lambda t: ag.numpy.sin(t) * t)(y)
    z.sum().backward(retain_graph=True)
    handle.remove()
    z.sum().backward()


def failures():
    """Errors of users: in rules, in hooks, in arguments; freed graphs."""

    def raises(g):
        raise ValueError("on purpose")

    x = leaf(3)
    y = x * 2.0
    y.register_hook(raises)
    for call in (
        lambda: y.sum().backward(),
        lambda: y.backward(),
        lambda: (x @ leaf(5)).sum(),
        lambda: x.reshape((7,)),
        lambda: ag.tensor(["text"], requires_grad=True),
        lambda: x.__iadd__(1.0),
        lambda: ag.autograd.grad(y.sum(), leaf(2)),
    ):
        try:
            call()
        except (ValueError, TypeError, RuntimeError, IndexError):
            continue
        raise AssertionError("an error was expected")


def deep():
    """A chain that a recursive release would not survive, and a graph that dies unused."""
    y = x = leaf(2)
    for _ in range(3000):
        y = y * 1.0
    y.sum().backward()
    z = x
    for _ in range(3000):
        z = z + 1.0
    del z
    y.register_hook(lambda g: y)  # a cycle: tensor, node, hooks, closure


def devices():
    """Two device threads, transfers, gradients that meet, an error there."""
    one, two = strict.Device("device1"), strict.Device("device2")
    x = ag.asarray(strict.asarray([1.0, 2.0], dtype=strict.float64), requires_grad=True)
    y = x.to_device(one) * 2.0
    z = x.to_device(two) * 3.0
    (y.to_device(two) * z).sum().backward()
    w = y * 1.0
    w.register_hook(lambda g: 1 / 0)
    try:
        w.sum().backward()
    except ZeroDivisionError:
        pass


def threads():
    """Four threads on one leaf and one trunk; what they made is freed by others."""
    x = leaf(3)
    trunk = x * 2.0
    barrier = threading.Barrier(4)
    made = []

    def work():
        barrier.wait()
        for _ in range(5):
            (trunk * 3.0).sum().backward(retain_graph=True)
        made.append(trunk * 5.0)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert x.grad.numpy().tolist() == [120.0] * 3


def nested():
    """A backward inside a backward's hook, three deep, and one on a device thread."""
    x = leaf(2)

    def inside(g, depth=3):
        with ag.enable_grad():
            u = leaf(2) * 2.0
        if depth:
            u.register_hook(lambda g: inside(g, depth - 1))
        u.backward(np.ones(2))

    y = x * 1.0
    y.register_hook(inside)
    y.sum().backward()


PARTS = (operations, writes, callbacks, failures, deep, devices, threads, nested)


def main(rounds):
    """Runs every part `rounds` times; returns the exit status."""
    for part in PARTS:
        part()
    gc.collect()
    before = None
    for i in range(rounds):
        for part in PARTS:
            part()
        gc.collect()
        if i == min(SETTLED, rounds // 2):
            before = sys.getallocatedblocks(), len(gc.get_objects()), live_counts(), resident()
    after = sys.getallocatedblocks(), len(gc.get_objects()), live_counts(), resident()
    counted = rounds - 1 - min(SETTLED, rounds // 2)
    blocks, objects = after[0] - before[0], after[1] - before[1]
    memory = after[3] - before[3]
    print(
        f"{rounds} rounds; the last {counted} added {blocks} blocks, {objects} objects, {memory} bytes to the process"
    )
    grown = {kind: n - before[2][kind] for kind, n in after[2].items() if n > before[2][kind]}
    if grown:
        print(f"engine objects that pile up: {grown}")
    if memory > MEMORY_BOUND or objects >= max(counted, 5) or blocks > BLOCKS_A_ROUND * max(counted, 20) or grown:
        print("that is a leak")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
