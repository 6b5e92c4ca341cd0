"""Faults in what the engine asks of others: nodes written in Python, arrays, devices, streams, events.

Imports of arraygrad: engine.arrayops, engine.engine, engine.node; array_api_strict and the public face for arrays.
"""

import sys
from contextlib import contextmanager
from pathlib import Path

import array_api_strict as strict
import numpy as np
from injector import Injected, Injector, check_whole, kind

import arraygrad as ag
from arraygrad.core.tensor import backend_of
from arraygrad.engine import engine
from arraygrad.engine.arrayops import ArrayOps
from arraygrad.engine.node import Edge, PyNode

sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))

from engine_fakes import LAST, Box, DeviceOps, FakeRuntime

# Devices, with fakes

DEVICE_KINDS = (
    "rule of a node", "release of a node", "pre-hook on a device", "post-hook on a device", "device enter",
    "device leave", "current stream", "event record", "event wait", "stream wait", "gradient check", "gradient sum",
    "gradient conform",
)  # fmt: skip


class _Runtime(FakeRuntime):
    """A runtime whose calls may fail."""

    at = staticmethod(Injector())

    def enter(self, device_key, stream):
        self.at("device enter")
        return super().enter(device_key, stream)

    def leave(self, token):
        super().leave(token)
        self.at("device leave")
        return 0

    def current_stream(self, device_key):
        self.at("current stream")
        return super().current_stream(device_key)

    def record_event(self, stream):
        self.at("event record")
        return super().record_event(stream)

    def wait_event(self, stream, event):
        self.at("event wait")
        return super().wait_event(stream, event)

    def wait_stream(self, waiting, producer):
        self.at("stream wait")
        return super().wait_stream(waiting, producer)


class _Ops(DeviceOps):
    """Boxes on devices, whose methods may fail."""

    def __init__(self, at):
        runtime = _Runtime()
        runtime.at = at
        ArrayOps.__init__(self, "fake", runtime)
        self.calls = []
        self.log = runtime.log
        self.at = at

    def matches(self, meta, grad):
        self.at("gradient check")
        return super().matches(meta, grad)

    def conform(self, meta, grad, realify):
        self.at("gradient conform")
        if isinstance(grad, float):
            grad = Box(grad, meta.device_key)
        return super().conform(meta, grad, realify)

    def add(self, a, b):
        self.at("gradient sum")
        return super().add(a, b)

    def add_into(self, a, b):
        self.at("gradient sum")
        return super().add_into(a, b)


def device_graph(at, store):
    """A diamond over three devices with two streams each; leaves put (name, gradient) into `store`. Returns its root.

    Four ways lead to each of two leaves, so that gradients meet in threes and fours, and change devices and streams.
    """
    ops = _Ops(at)

    def node(name, targets, device, stream, as_float=False):
        def rule(g):
            at("rule of a node")
            return tuple(g.value if as_float else Box(g.value, where) for _, where in targets)

        made = PyNode(
            name,
            rule,
            edges=tuple(Edge(target, 0) for target, _ in targets),
            metas=(ops.meta_on(device, stream),),
            release=lambda: at("release of a node"),
        )
        made.register_prehook(lambda grads: at("pre-hook on a device"))
        made.register_hook(lambda grad_inputs, grad_outputs: at("post-hook on a device"))
        return made

    def leaf(name, device, stream):
        def take(g):
            store.append((name, g.value))
            return ()

        made = PyNode(name, take, metas=(ops.meta_on(device, stream),))
        made._set_sequence_nr(LAST)
        return made

    a, b = leaf("a", "dev0", "s0"), leaf("b", None, None)
    low = [node(f"low{i}", [(a, "dev0"), (b, None)], f"dev{i % 3}", f"s{i % 2}", as_float=i == 1) for i in range(4)]
    middle = [node(f"middle{i}", [(m, f"dev{k % 3}") for k, m in enumerate(low)], None, None) for i in range(2)]
    return node("top", [(m, None) for m in middle], "dev1", "s1")


@contextmanager
def workers(n):
    """`n` further threads for host work inside."""
    before = engine.set_cpu_workers(n)
    try:
        yield
    finally:
        engine.set_cpu_workers(before)


def strike_device(name, n):
    """On the caller's thread (even n), or on device threads (odd n), occasion n // 2 raises."""
    threads, n = n % 2 == 1, n // 2
    at = Injector(name, n)
    store = []
    root = device_graph(at, store)
    caught = None
    before = engine.set_multithreading(threads)
    try:
        engine.execute([Edge(root, 0)], [Box(1.0, "dev1")])
    except Injected as error:
        caught = str(error)
    finally:
        engine.set_multithreading(before)
    assert (caught is not None) == at.fired, f"{name} {n}: raised and did not arrive"
    assert all(entry in (("a", 8.0), ("b", 8.0)) for entry in store), f"part of a gradient arrived: {store}"
    assert at.fired or sorted(store) == [("a", 8.0), ("b", 8.0)]
    assert engine.queued_tasks() == 0
    # The same graph is good for another run.
    at.kind = None
    del store[:]
    engine.execute([Edge(root, 0)], [Box(1.0, "dev1")])
    assert sorted(store) == [("a", 8.0), ("b", 8.0)]
    return at.fired, [root, *(e[0] for e in root.next_functions)]


for _name in DEVICE_KINDS:
    kind(_name)(lambda n, name=_name: strike_device(name, n))


# Arrays, of a backend written in Python

METHODS = (
    "add", "add_into", "clone", "zeros", "ones", "conform", "matches", "meta", "wrap_raw", "asarray", "has_nan", "call",
    "scalar", "exclusive", "same_layout", "write", "can_write",
)  # fmt: skip


@contextmanager
def failing_methods(backend, at):
    """Every method of a backend written in Python is an occasion while the block runs."""
    for name in METHODS:
        method = getattr(backend, name, None)
        if method is None:
            continue

        def call(*args, method=method, **kwargs):
            at("backend method")
            return method(*args, **kwargs)

        setattr(backend, name, call)
    try:
        yield
    finally:
        for name in METHODS:
            backend.__dict__.pop(name, None)


def strict_leaves():
    """Two leaves over array_api_strict."""
    x = ag.asarray(strict.asarray([1.0, 2.0, 3.0]), requires_grad=True)
    w = ag.asarray(strict.asarray([[0.5], [1.5]]), requires_grad=True)
    return x, w


def strict_loss(x, w):
    """A fan-in, broadcasting, a reduction and a write in place."""
    y = x * w
    z = y * 1.0
    z[0, :] = x
    return ag.sum(z * y + ag.exp(y))


def _strict_expected():
    x, w = strict_leaves()
    strict_loss(x, w).backward()
    return [np.asarray(t.grad.array._array) for t in (x, w)]


STRICT_EXPECTED = _strict_expected()


@kind("backend method")
def strike_backend(n):
    """The n-th call of a backend's method raises MemoryError, as an allocation that fails would; atomic for odd n."""
    atomic, n = n % 2 == 1, n // 2
    leaves = strict_leaves()
    backend = backend_of(leaves[0].array)
    at = Injector("backend method", n, MemoryError)
    failed = False
    try:
        with failing_methods(backend, at):
            ag.autograd.backward(strict_loss(*leaves), atomic=atomic)
    except MemoryError:
        failed = True
    assert failed == at.fired, f"backend method {n}: raised and did not arrive"
    assert engine.queued_tasks() == 0
    if atomic and failed:
        assert all(leaf.grad is None for leaf in leaves)
    else:
        check_whole(leaves, STRICT_EXPECTED, failed)
    good = strict_leaves()
    strict_loss(*good).backward()
    check_whole(good, STRICT_EXPECTED, False)
    return at.fired, list(leaves)
