"""The engine's invariants under stress (INV1 to INV5, INV7; INV6 stands in test_engine_workers).

Random graphs over the host and three devices, nested runs, errors in every kind of callback, four calling threads,
with and without CPU workers.

Arithmetic is on whole numbers, so every sum is exact and the expected gradients are the same in any order.
"""

import faulthandler
import gc
import random
import sys
import threading

import pytest
from engine_fakes import Box, DeviceOps, run, sink

from arraygrad.autograd import set_cpu_workers
from arraygrad.engine import engine
from arraygrad.engine.arrayops import GradMeta
from arraygrad.engine.node import Edge, PyNode, is_grad_enabled

RUNS = 10_500  # in all, over the threads and both cases
THREADS = 4
WATCHDOG = 240  # seconds until all stacks are printed and the process ends
DEVICES = [None, "dev0", "dev1", "dev2"]
FAULTS = ["rule", "pre", "post", "callback", "add", "conform", "enter", "nested"]


class Fault(Exception):
    """What is raised on purpose."""


class CountedBox(Box):
    """A Box that counts how many of it are alive."""

    __slots__ = ()
    alive = 0
    lock = threading.Lock()

    def __init__(self, value, device=None):
        super().__init__(value, device)
        with CountedBox.lock:
            CountedBox.alive += 1

    def __del__(self):
        with CountedBox.lock:
            CountedBox.alive -= 1


class Ops(DeviceOps):
    """DeviceOps whose additions and device changes fail when asked to."""

    def __init__(self):
        super().__init__()
        self.fault = None
        enter = self.runtime.enter

        def failing_enter(device_key, stream):
            self.check("enter")
            return enter(device_key, stream)

        self.runtime.enter = failing_enter

    def meta_on(self, device, stream=None):
        """Metadata of gradients that are worth a CPU worker."""
        return GradMeta(self, (1 << 15,), float, device=device, device_key=device, stream=stream)

    def check(self, kind):
        """Raise the planned error if it is of this kind; it is raised once."""
        fault = self.fault
        if fault is not None and fault[0] == kind:
            self.fault = None
            raise fault[1]

    def add(self, a, b):
        self.check("add")
        return CountedBox(a.value + b.value, a.device)

    def add_into(self, a, b):
        self.check("add")
        a.value += b.value
        return a

    def clone(self, array, like):
        return CountedBox(array.value, array.device)


class Graph:
    """A random graph with integer factors on its edges, and the gradients its sinks should get."""

    def __init__(self, rng, ops):
        self.ops = ops
        self.rng = rng
        self.got = {}
        self.lock = threading.Lock()
        count = rng.randint(1, 12)
        self.sinks = []
        nodes = []
        for k in range(rng.randint(1, 3)):
            device = rng.choice(DEVICES)
            end = PyNode(f"sink{k}", lambda g, k=k: self.take(k, g), metas=(ops.meta_on(device),))
            end._set_sequence_nr(2**64 - 1)
            self.sinks.append(end)
            nodes.append((end, device, None))
        self.nodes = []
        for i in range(count):
            device = rng.choice(DEVICES)
            targets = [rng.choice(nodes) for _ in range(rng.randint(1, 4))]
            factors = [rng.randint(-3, 3) for _ in targets]
            made = PyNode(
                f"n{i}",
                self.rule(i, targets, factors),
                edges=[Edge(t[0], 0) for t in targets],
                metas=(ops.meta_on(device),),
            )
            nodes.append((made, device, (targets, factors)))
            self.nodes.append(nodes[-1])
        self.root, self.device, _ = self.nodes[-1]
        self.expected = self.evaluate()
        self.victim = rng.randrange(count)
        self.nested = rng.randrange(count) if rng.random() < 0.3 else None
        self.hooks = 0
        self.task = None

    def evaluate(self):
        """The sinks' gradients for root gradient 1, computed straight from the factors."""
        arriving = {id(self.root): 1}
        for node, _, below in reversed(self.nodes):
            g = arriving.get(id(node))
            if g is None:
                continue
            for (target, _, _), factor in zip(*below, strict=True):
                arriving[id(target)] = arriving.get(id(target), 0) + g * factor
        return {k: arriving[id(s)] for k, s in enumerate(self.sinks) if id(s) in arriving}

    def take(self, k, g):
        with self.lock:
            assert k not in self.got, "a sink ran twice"
            self.got[k] = g.value
        return ()

    def rule(self, i, targets, factors):
        def apply(g):
            assert not is_grad_enabled()
            assert engine.current_node() is self.nodes[i][0]
            if self.task is None:
                self.task = engine.current_graph_task()
            assert engine.current_graph_task() is self.task
            assert self.task.outstanding_tasks >= 1
            if i == self.victim:
                self.ops.check("rule")
                fault = self.ops.fault
                if fault is not None and fault[0] == "callback":
                    engine.queue_callback(lambda: self.ops.check("callback"))
                if fault is not None and fault[0] == "conform":
                    fault[1].args = ("conform",)
                    self.ops.fault = None
                    return (CountedBox(1, "nowhere"),) * len(targets)
            if i == self.nested:
                got = []

                def inner(h):
                    self.ops.check("nested")
                    return (CountedBox(h.value * 2, None),)

                end = sink(store=got, meta=self.ops.meta_on(None))
                run([PyNode("inner", inner, edges=[Edge(end, 0)], metas=(self.ops.meta_on(None),))], [CountedBox(7)])
                assert [box.value for box in got] == [14]
            return tuple(
                CountedBox(g.value * factor, device) for (_, device, _), factor in zip(targets, factors, strict=True)
            )

        return apply

    def add_hooks(self):
        """Hooks of every kind that change nothing, and raise if that was planned."""
        node = self.nodes[self.victim][0]

        def check(kind):
            self.hooks += 1
            self.ops.check(kind)

        node.register_prehook(lambda grads: check("pre"))
        node.register_hook(lambda grad_inputs, grad_outputs: check("post"))

    def once(self, keep):
        """One run with a check of everything that must hold after it; whether it raised the planned error."""
        self.got = {}
        self.task = None
        before = engine.current_graph_task_id(), engine.current_node(), is_grad_enabled()
        fault = self.ops.fault
        raised = None
        try:
            run([Edge(self.root, 0)], [CountedBox(1, self.device)], keep_graph=keep)
        except Exception as error:
            raised = error
        # INV4, INV3: this thread's state is as before, nothing is left in its queue.
        assert (engine.current_graph_task_id(), engine.current_node(), is_grad_enabled()) == before
        assert engine.queued_tasks() == 0
        # INV1
        if self.task is not None:
            assert self.task.outstanding_tasks == 0
            self.task = None
        if raised is None:
            assert self.got == self.expected
        elif fault is not None and fault[0] == "conform":
            assert "nowhere" in str(raised)
        else:
            assert fault is not None
            assert raised is fault[1], raised  # INV7: the very exception
        if raised is not None:
            raised.__traceback__ = None
            raised.__context__ = None
        return raised is not None


def campaign(seed, runs, counts):
    """`runs` runs on random graphs; counts errors by kind."""
    rng = random.Random(seed)
    done = 0
    while done < runs:
        ops = Ops()
        graph = Graph(rng, ops)
        graph.add_hooks()
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.5:
                kind = rng.choice(FAULTS)
                ops.fault = (kind, Fault(kind))
                if graph.once(keep=True):
                    counts[kind] = counts.get(kind, 0) + 1
                ops.fault = None
                done += 1
            # INV4: after whatever happened the next run is good.
            assert not graph.once(keep=True)
            done += 1
    counts["runs"] = counts.get("runs", 0) + done


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.timeout(WATCHDOG + 60)
def test_INV1_outstanding_tasks_and_all_other_invariants_hold_under_stress(workers):
    faulthandler.dump_traceback_later(WATCHDOG, exit=True, file=sys.__stderr__)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    counts = [{} for _ in range(THREADS)]
    errors = []

    def work(i):
        try:
            campaign(1000 * workers + i, RUNS // (2 * THREADS) + 1, counts[i])
        except BaseException as error:
            errors.append(error)

    gc.collect()
    alive = CountedBox.alive
    try:
        with set_cpu_workers(workers):
            threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
    finally:
        sys.setswitchinterval(interval)
        faulthandler.cancel_dump_traceback_later()
    if errors:
        raise errors[0]
    assert sum(c["runs"] for c in counts) >= RUNS // 2
    seen = set().union(*counts) - {"runs"}
    assert seen >= {"rule", "pre", "post", "callback", "add", "conform", "enter", "nested"}
    # Device threads may hold their last gradient for a moment longer: give each one node to do.
    settle()
    gc.collect()
    assert CountedBox.alive == alive


def test_INV3_nothing_is_left_in_any_queue_after_a_run_on_devices():
    rng = random.Random(5)
    for _ in range(50):
        ops = Ops()
        graph = Graph(rng, ops)
        assert not graph.once(keep=True)
        assert engine.queued_tasks() == 0


def settle():
    """Let every device thread finish what it holds."""
    ops = DeviceOps()
    for device in DEVICES[1:]:
        run([sink(meta=ops.meta_on(device))], [Box(1.0, device)])
