"""Faults on purpose: an exception at the n-th call of each kind of callback and of each thing the engine asks for.

`strike(kind, n)` runs one program in which the n-th occasion of that kind fails, and then checks what docs/reliability.md
promises: the fault itself reaches the caller, nothing is queued, no gradient is half there, the next run is right, and
nothing of the failed run stays alive. It raises AssertionError where that does not hold.

Imports of arraygrad: the public face, engine.engine, engine.pool.
"""

import gc
import random
import sys
import threading
import weakref
from collections import Counter
from contextlib import ExitStack, contextmanager

import numpy as np

import arraygrad as ag
from arraygrad.autograd import graph
from arraygrad.engine import engine

__all__ = ["KINDS", "Injected", "Injector", "campaign", "strike"]

WAIT_SECONDS = 60


class Injected(Exception):
    """The fault. It is of no type that the engine or NumPy would raise."""


class Injector:
    """Counts occasions of one kind and raises at the n-th (from 0)."""

    def __init__(self, kind, n, error=Injected):
        self.kind = kind
        self.n = n
        self.error = error
        self.seen = Counter()
        self.fired = False

    def __call__(self, kind):
        """An occasion of `kind` comes by."""
        number = self.seen[kind]
        self.seen[kind] += 1
        if kind == self.kind and number == self.n:
            self.fired = True
            raise self.error(f"{kind} {number}")


class _Cube(ag.autograd.Function):
    injector = None

    @staticmethod
    def forward(ctx, x):
        _Cube.injector("Function.forward")
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        _Cube.injector("Function.backward")
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class _Liar:
    """An array-like whose conversion fails."""

    def __init__(self, injector, values):
        self.injector = injector
        self.values = values

    def __array__(self, dtype=None, copy=None):
        self.injector("__array__")
        return np.asarray(self.values, dtype=dtype)


class _Last:
    """Something that a graph keeps alive, whose end is a call of Python code."""

    def __init__(self, injector):
        self.injector = injector

    def __call__(self, *args):
        """A hook that does nothing."""

    def __del__(self):
        self.injector("__del__")


def program(at):
    """Everything that calls back, in one graph of two leaves; returns (leaves, loss). `at(kind)` marks each occasion."""
    _Cube.injector = at
    x = ag.tensor(np.linspace(0.5, 1.5, 6), requires_grad=True)
    w = ag.tensor(np.linspace(-1.0, 1.0, 6), requires_grad=True)

    def noted(kind, result=None):
        def call(*args):
            at(kind)
            return args[0] if result == "same" else None

        return call

    def inner(t):
        at("checkpointed function")
        return ag.exp(t * 0.1) * t

    with ExitStack() as stack:
        stack.enter_context(graph.op_hooks(noted("op_hooks before"), noted("op_hooks after")))
        with graph.saved_tensors_hooks(noted("pack", "same"), noted("unpack", "same")):
            a = x * w + ag.sin(x)
        b = _Cube.apply(a)
        c = ag.checkpoint(inner)(b)
        d = c * 1.0
        d[1:3] = _Liar(at, [0.25, 0.5])
        d *= 2.0
        d.retain_grad()
        e = d.reshape(2, 3)
        e[0] += w[:3]
        loss = (e * e).mean() + ag.concat([b, d]).sum()
    a.register_hook(noted("tensor hook"))
    b.register_hook(noted("tensor hook"))
    d.register_hook(_Last(at))
    x.register_hook(noted("hook of a leaf"))
    loss.grad_fn.register_prehook(noted("node pre-hook"))
    b.grad_fn.register_hook(noted("node post-hook"))
    w.register_post_accumulate_grad_hook(noted("post-accumulate hook"))
    graph.register_multi_grad_hook([a, b], noted("multi-grad hook"))

    def queue(g):
        graph.queue_callback(noted("callback"))
        graph.queue_callback(noted("callback"))

    c.register_hook(queue)
    return (x, w), loss


CALLBACKS = (
    "Function.forward",
    "Function.backward",
    "__array__",
    "checkpointed function",
    "op_hooks before",
    "op_hooks after",
    "pack",
    "unpack",
    "tensor hook",
    "hook of a leaf",
    "node pre-hook",
    "node post-hook",
    "post-accumulate hook",
    "multi-grad hook",
    "callback",
)
# Of these the run itself is over, or the gradients were already added: `.grad` may be there (ER4).
AFTER_ACCUMULATION = {"callback", "post-accumulate hook"}

_expected = None


def check_usable():
    """Nothing is queued and a good run gives what it always gave."""
    global _expected
    assert engine.queued_tasks() == 0
    assert engine.current_graph_task_id() == -1 if hasattr(engine, "current_graph_task_id") else True
    assert ag.is_grad_enabled()
    leaves, loss = program(Injector(None, 0))
    loss.backward()
    got = [t.grad.array.copy() for t in leaves]
    if _expected is None:
        _expected = got
    for a, b in zip(got, _expected, strict=True):
        np.testing.assert_array_equal(a, b)


def strike_callback(kind, n):
    """The n-th callback of `kind` raises."""
    at = Injector(kind, n)
    leaves, loss = (), None
    try:
        leaves, loss = program(at)
        loss.backward()
    except Injected as error:
        assert at.fired
        assert str(error).startswith(kind)
        if kind not in AFTER_ACCUMULATION:
            whole = [leaf.grad for leaf in leaves]
            assert all(g is None or np.isfinite(g.array).all() for g in whole)
    else:
        assert not at.fired, f"{kind} {n} raised, but the call returned"
    return at.fired, [*leaves, *([] if loss is None else [loss])]


def strike_del(n):
    """`__del__` of what a graph keeps raises: Python reports it as unraisable, the engine goes on."""
    seen = []
    old, sys.unraisablehook = sys.unraisablehook, seen.append
    at = Injector("__del__", n)
    try:
        leaves, loss = program(at)
        loss.backward()
        del loss
        gc.collect()
    finally:
        sys.unraisablehook = old
    assert at.fired == bool(seen)
    return at.fired, list(leaves)


# What the engine asks of arrays

METHODS = ("add", "add_into", "clone", "zeros", "ones", "conform", "matches", "meta", "wrap_raw", "asarray", "has_nan")


@contextmanager
def failing_methods(backend, at):
    """Every method of a backend written in Python is an occasion while the block runs."""
    for name in METHODS:
        method = getattr(backend, name)

        def call(*args, name=name, method=method, **kwargs):
            at("backend method")
            return method(*args, **kwargs)

        setattr(backend, name, call)
    try:
        yield
    finally:
        for name in METHODS:
            delattr(backend, name)


def strict_program():
    """A graph over array_api_strict with a fan-in, broadcasting, a reduction and a write in place."""
    import array_api_strict as strict

    x = ag.asarray(strict.asarray([1.0, 2.0, 3.0]), requires_grad=True)
    w = ag.asarray(strict.asarray([[0.5], [1.5]]), requires_grad=True)
    y = x * w
    z = y * 1.0
    z[0, :] = x
    return (x, w), lambda: ag.sum(z * y + ag.exp(y))


def strike_backend(n):
    """The n-th call of a backend's method raises, as an allocation that fails would."""
    import array_api_strict as strict

    backend = ag.tensor(strict.asarray([1.0])).grad_fn or engine_backend(strict.asarray([1.0]))
    leaves, make = strict_program()
    at = Injector("backend method", n, MemoryError)
    try:
        with failing_methods(backend, at):
            make().backward()
    except MemoryError:
        assert at.fired
    else:
        assert not at.fired, f"backend method {n} raised, but the call returned"
    assert engine.queued_tasks() == 0
    leaves2, make = strict_program()
    make().backward()
    np.testing.assert_allclose(np.asarray(leaves2[0].grad.array._array), STRICT_X)
    return at.fired, list(leaves)


def engine_backend(raw):
    """The backend of a raw array."""
    from arraygrad.tensor import backend_of

    return backend_of(raw)


def _strict_expected():
    x, w = np.array([1.0, 2.0, 3.0]), np.array([[0.5], [1.5]])
    y = x * w
    z = np.vstack([x, y[1]])
    dy = z + np.exp(y)
    dy[1] += y[1]
    return (dy * w).sum(0) + y[0]


STRICT_X = _strict_expected()


# Threads


@contextmanager
def failing_starts(at):
    """Thread.start is an occasion while the block runs."""
    start = threading.Thread.start

    def failing(thread):
        if thread.name.startswith("arraygrad"):
            at("thread start")
        start(thread)

    threading.Thread.start = failing
    try:
        yield
    finally:
        threading.Thread.start = start


def no_thread(text):
    """What Python raises when the system gives no thread."""
    return RuntimeError(f"can't start new thread ({text})")


def strike_start(n):
    """No thread for a run that is nested too deep, for shared host work, or for a device: a clear error, or without."""
    at = Injector("thread start", 0, no_thread)
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    which = n % 3
    old_pools = engine_pools()
    try:
        with failing_starts(at):
            if which == 0:
                nest(x, 70)
            elif which == 1:
                with ag.autograd.set_cpu_workers(2):
                    big = ag.tensor(np.ones(50_000), requires_grad=True)
                    parts = [ag.exp(big * k) for k in (0.1, 0.2, 0.3, 0.4)]
                    (parts[0] + parts[1] + parts[2] + parts[3]).sum().backward()
                    assert big.grad is not None
            else:
                on_device()
    except RuntimeError as error:
        assert "can't start new thread" in str(error)
        assert which != 1, "shared host work goes on without a thread"
    finally:
        del old_pools
    assert engine.queued_tasks() == 0
    nest(ag.tensor([1.0], requires_grad=True), 70)
    return at.fired, [x]


def engine_pools():
    """Ends the idle threads of the pools, so that the next run has to start one."""
    from arraygrad.engine import pool

    for each in list(pool._pools):
        with each._lock:
            idle, each._idle = each._idle, []
            for worker in idle:
                each._threads.discard(worker)
                worker.job = None
        for worker in idle:
            worker.ready.release()
        for worker in idle:
            worker.join(WAIT_SECONDS)


def nest(x, depth):
    """backward inside of a hook, `depth` deep."""

    def hook(g):
        if depth:
            nest(ag.tensor([1.0], requires_grad=True), depth - 1)

    y = x * 2.0
    y.register_hook(hook)
    y.sum().backward()


def on_device():
    """A backward on a device that has no thread yet."""
    import array_api_strict as strict

    used = {key[1] for key in engine.device_threads()}
    free = [name for name in ("device1", "device2") if name not in used]
    if not free:
        return
    x = ag.asarray(strict.asarray([1.0], device=strict.Device(free[0])), requires_grad=True)
    ag.sum(x * x).backward()


KINDS = {kind: (lambda n, kind=kind: strike_callback(kind, n)) for kind in CALLBACKS}
KINDS["__del__"] = strike_del
KINDS["backend method"] = strike_backend
KINDS["thread start"] = strike_start


def strike(kind, n):
    """One fault. Returns (whether the occasion came, weak references to what must be gone)."""
    fired, objects = KINDS[kind](n)
    references = [weakref.ref(t) for t in objects]
    references += [weakref.ref(t.grad_fn) for t in objects if t.grad_fn is not None]
    return fired, references


def campaign(count, seed=0, report=None, kinds=None):
    """`count` faults of random kinds and places; returns a Counter by kind. AssertionError at the first that fails."""
    rng = random.Random(seed)
    done = Counter()
    kinds = list(KINDS if kinds is None else kinds)
    alive = []
    limits = {}  # kind -> how many occasions there are
    while sum(done.values()) < count:
        kind = rng.choice(kinds)
        n = rng.randrange(limits.get(kind, 60))
        fired, references = strike(kind, n)
        if not fired:
            limits[kind] = max(1, min(n, limits.get(kind, 60)))
            continue
        done[kind] += 1
        alive += references
        total = sum(done.values())
        if total % 50 == 0 or total == count:
            check_usable()
            gc.collect()
            left = [r() for r in alive if r() is not None]
            assert not left, f"{len(left)} objects outlive their failed run, e.g. {left[0]!r}"
            alive = []
        if report is not None and total % 1000 == 0:
            report(total, done)
    return done
