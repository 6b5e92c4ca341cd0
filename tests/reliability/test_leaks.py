"""Nothing leaks: workloads repeated leave as many objects, references and bytes as there were.

Where this Python counts references (`sys.gettotalrefcount`, debug builds), their total is held too; everywhere the
objects that the collector knows, the blocks of Python's allocator, the references of what every graph shares, and what
tracemalloc sees.
"""

import copy
import gc
import pickle
import sys
import sysconfig
import tracemalloc
import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import graph
from arraygrad.core.tensor import backend_of
from arraygrad.engine.node import live_counts


class Square(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.kept = [x]
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2.0 * x


def leaf(n=8):
    return ag.tensor(np.linspace(0.5, 1.5, n).astype(np.float32), requires_grad=True)


def forward_and_backward():
    x, w = leaf(), leaf()
    (ag.exp(x * w) @ ag.sin(w) + (x / 2.0).sum()).backward()
    (x * w).sum().backward()


def forward_only():
    (leaf() * 2.0).reshape(2, 4).sum()


def second_derivative():
    x = leaf()
    (g,) = ag.autograd.grad((x**3).sum(), [x], create_graph=True)
    ag.autograd.grad(g.sum(), [x])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * x).sum().backward(create_graph=True)


def views_and_writes():
    x = leaf()
    y = x * 1.0
    v = y.reshape(2, 4)[:, ::2]
    v += 1.0
    y[2:4] = x[:2]
    y *= y.detach()
    (v.T.sum() + y.sum()).backward()


def hooks():
    x = leaf()
    y = x * 2.0
    handles = [
        y.register_hook(lambda g: g * 1.0),
        x.register_post_accumulate_grad_hook(lambda t: None),
        y.grad_fn.register_hook(lambda gi, go: None),
        graph.register_multi_grad_hook([x, y], lambda gs: None),
    ]
    y.retain_grad()
    with graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t), graph.op_hooks(None, lambda *a: None):
        z = y * y
    z.sum().backward()
    handles[0].remove()


def custom_functions():
    x = leaf()
    y = Square.apply(x)
    ag.checkpoint(lambda t: ag.sin(t) * t)(y).sum().backward()


def errors():
    x = leaf()
    y = x * 2.0

    def fail(g):
        raise ValueError("on purpose")

    y.register_hook(fail)
    with pytest.raises(ValueError, match="on purpose"):
        (y * y).sum().backward()
    with pytest.raises(ValueError, match=r"mismatch"):
        x @ leaf(3)
    with pytest.raises(TypeError):
        x * np.array(["a"] * 8)
    z = (x * x).sum()
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()
    with pytest.raises(TypeError):
        np.asarray(x)


def pickles_and_copies():
    x = leaf()
    pickle.loads(pickle.dumps(x))
    copy.copy(x)
    copy.deepcopy([x, {"again": x}])


def protocols():
    x = leaf()
    y = np.exp(x) + np.where(x.detach().array > 1, x, 0.0)
    np.sum(np.concatenate([y, np.multiply(x, 2.0)])).backward()
    np.from_dlpack(x.detach())
    memoryview(x.detach().numpy())


def transforms():
    ag.value_and_grad(lambda p: (p["a"] * p["b"]).sum())({"a": np.ones(4), "b": np.ones(4)})
    ag.jacobian(lambda t: t * t)(np.ones(3))
    ag.hvp(lambda t: (t**3).sum())(np.ones(3), np.ones(3))


def constants():
    x, a = leaf(), np.ones(8)
    y = (x * a).sum()
    a[0] = 2.0
    with pytest.raises(RuntimeError, match="modified"):
        y.backward()


def device_threads():
    strict = pytest.importorskip("array_api_strict")
    x = ag.asarray(strict.asarray([1.0, 2.0], device=strict.Device("device1")), requires_grad=True)
    ag.sum(x * x * x).backward()


def nested_runs():
    x = leaf()
    y = x * 2.0
    y.register_hook(lambda g: ag.enable_grad()(forward_and_backward)())
    y.sum().backward()


def shared_host_work():
    before = ag.autograd.set_cpu_workers(2)
    previous = before if isinstance(before, int) else 0
    try:
        big = ag.tensor(np.ones(20_000), requires_grad=True)
        (ag.exp(big * 0.1) + ag.exp(big * 0.2) + ag.exp(big * 0.3)).sum().backward()
    finally:
        ag.autograd.set_cpu_workers(previous)


WORKLOADS = [
    forward_and_backward, forward_only, second_derivative, views_and_writes, hooks, custom_functions, errors,
    pickles_and_copies, protocols, transforms, constants, device_threads, nested_runs, shared_host_work,
]  # fmt: skip


def shared_references():
    """References to objects that every graph shares: one too many or too few per run adds up here."""
    backend = backend_of(np.ones(1))
    # (Not float64: np.ones, np.zeros and np.empty of some versions of NumPy keep a reference to it.)
    shared = [None, True, False, (), backend, np.float64, np.dtype("f4"), np.ndarray, ag.Tensor, 0.0]
    # Of immortal objects (Python 3.12 and later) the count says nothing, and never changes.
    return [sys.getrefcount(o) for o in shared]


def counts():
    gc.collect()
    total = sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else 0
    return len(gc.get_objects()), sys.getallocatedblocks(), total, sum(live_counts().values())


REPEATS = 40
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def growth(workload):
    """What REPEATS runs leave: a text that names what grew, empty if nothing did."""
    objects, blocks, references, alive = counts()
    shared = shared_references()
    for _ in range(REPEATS):
        workload()
    objects_now, blocks_now, references_now, alive_now = counts()
    drift = [now - before for now, before in zip(shared_references(), shared, strict=True)]
    # A leak of one object per run is REPEATS objects; less is the noise of caches and threads.
    grown = {
        "objects": objects_now - objects >= REPEATS // 2,
        # Without the GIL Python frees memory when no thread can be reading it any more: some is always on its way.
        "blocks of memory": not FREE_THREADED and blocks_now - blocks >= REPEATS * 3 // 4,
        "references": references_now - references >= REPEATS * 3 // 4,
        "engine objects": alive_now > alive,
        f"references to shared objects, by {drift}": max(map(abs, drift)) >= REPEATS // 2,
    }
    return ", ".join(what for what, grew in grown.items() if grew)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda f: f.__name__)
def test_a_workload_repeated_leaves_nothing_behind(workload):
    for _ in range(10):  # caches fill, modules are imported
        workload()
    # What leaks grows each time; a cache that fills does not, nor do jobs that threads of the pool are about to end.
    grown = [growth(workload) for _ in range(2)]
    while grown[-1] and len(grown) < 30:
        grown.append(growth(workload))
    assert grown[-1] == ""


def test_the_count_sees_a_leak_of_one_object_per_run():
    kept = []
    gc.collect()
    objects, *_ = counts()
    for _ in range(10 * REPEATS):
        kept.append([leaf()])
    # Threads of earlier tests may end meanwhile, with some dozens of objects.
    assert counts()[0] - objects >= 8 * REPEATS


def test_memory_that_tracemalloc_sees_stays_bounded():
    for workload in WORKLOADS:
        workload()
    tracemalloc.start()
    try:
        for workload in WORKLOADS:
            workload()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(10):
            for workload in WORKLOADS:
                workload()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100_000


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")
def test_resident_memory_stays_bounded():
    def run():
        x = ag.tensor(np.ones(100_000), requires_grad=True)
        y = x * 2.0
        y[1:] = x[1:]
        (y * np.ones(100_000)).sum().backward()

    for _ in range(50):
        run()
    before = resident_bytes()
    for _ in range(300):  # a leaked array each would be 240 MB
        run()
    assert resident_bytes() - before < 40_000_000
