"""Random graphs against sums over paths: every mode of a run gives the same gradients (INV2, CD1, EI4, ED3)."""

import random
import threading

import pytest
from engine_fakes import FLOAT, Box, DeviceOps, capture, run

from arraygrad.engine import engine
from arraygrad.engine.node import Edge, PyNode

SEEDS = range(25)
PLACES = (None, "dev0", "dev1", "dev2")


class Graph:
    """A random graph of `n` nodes with 1-3 inputs and 0-5 weighted edges (the root has 6).

    `place` (None: floats on the host) gives the devices of Boxes; weights are small integers, so sums are exact and
    `expected` is what each slot must receive.
    """

    def __init__(self, seed, n=60, ops=None):
        rng = random.Random(seed)
        self.ran = [0] * n
        self.lock = threading.Lock()
        self.ops = ops
        self.nodes, self.edges, self.metas = [], [], []
        for i in range(n):
            slots = rng.randint(1, 3)
            where = rng.choice(PLACES) if ops else None
            metas = [ops.meta_on(where) if ops else FLOAT for _ in range(slots)]
            edges = []
            fan = 6 if i == n - 1 else rng.randint(0, 5) if i else 0
            for _ in range(fan):
                j = rng.randrange(max(0, i - 12), i)
                edges.append((j, rng.randrange(len(self.metas[j])), rng.randint(-3, 3), rng.randrange(slots)))
            self.metas.append(metas)
            self.edges.append(edges)
            nexts = [Edge(self.nodes[j], slot) for j, slot, _, _ in edges]
            self.nodes.append(PyNode(f"n{i}", self.rule(i), edges=nexts, metas=metas))
        self.root_slot = rng.randrange(len(self.metas[-1]))

    def rule(self, i):
        """Each edge carries its weight times the gradient of one input; undefined stays undefined."""

        def fn(*grads):
            with self.lock:
                self.ran[i] += 1
            outs = []
            for j, _, weight, source in self.edges[i]:
                g = grads[source]
                outs.append(None if g is None else self.make(weight * self.value(g), j))
            return tuple(outs)

        return fn

    def make(self, value, j):
        """A gradient for node j."""
        return Box(value, self.metas[j][0].device_key) if self.ops else value

    @staticmethod
    def value(g):
        """The number in a gradient."""
        return g.value if isinstance(g, Box) else g

    def expected(self):
        """Per node the list of what its inputs must receive (None: undefined), computed edge by edge in order."""
        got = [[None] * len(metas) for metas in self.metas]
        got[-1][self.root_slot] = 1.0
        for i in reversed(range(len(self.nodes))):
            for j, slot, weight, source in self.edges[i]:
                if got[i][source] is not None:
                    got[j][slot] = (got[j][slot] or 0.0) + weight * got[i][source]
        return got

    def reachable(self):
        """Indices of the nodes that the root leads to."""
        found, stack = {len(self.nodes) - 1}, [len(self.nodes) - 1]
        while stack:
            for j, _, _, _ in self.edges[stack.pop()]:
                if j not in found:
                    found.add(j)
                    stack.append(j)
        return found

    @property
    def root(self):
        """Where a run starts."""
        return [(self.nodes[-1], self.root_slot)]

    def start(self):
        """The gradient a run starts from."""
        return [self.make(1.0, len(self.nodes) - 1)]

    def captured(self, inputs):
        """What grad() gives for (node, slot) indices."""
        result = capture(self.root, self.start(), [(self.nodes[i], s) for i, s in inputs], keep_graph=True)
        return [None if g is None else self.value(g) for g in result]


@pytest.mark.parametrize("seed", SEEDS)
def test_INV2_every_reachable_node_runs_exactly_once(seed):
    graph = Graph(seed)
    reachable = graph.reachable()
    for runs in (1, 2):
        run(graph.root, graph.start(), keep_graph=True)
        assert graph.ran == [runs if i in reachable else 0 for i in range(len(graph.nodes))]


@pytest.mark.parametrize("seed", SEEDS)
def test_EI4_all_inputs_at_once_get_their_sums_over_paths(seed):
    graph = Graph(seed)
    inputs = [(i, s) for i, metas in enumerate(graph.metas) for s in range(len(metas))]
    want = graph.expected()
    assert graph.captured(inputs) == [want[i][s] for i, s in inputs]


@pytest.mark.parametrize("seed", SEEDS)
def test_EI4_some_inputs_get_the_same_and_only_what_is_needed_runs(seed):
    graph = Graph(seed)
    rng = random.Random(seed)
    want = graph.expected()
    for _ in range(5):
        chosen = rng.sample(range(len(graph.nodes)), 3)
        inputs = [(i, rng.randrange(len(graph.metas[i]))) for i in chosen]
        graph.ran[:] = [0] * len(graph.nodes)
        assert graph.captured(inputs) == [want[i][s] for i, s in inputs]
        # A node runs if it is reachable and an edge of it leads (over any path) to an input.
        leads = set()
        for i in range(len(graph.nodes)):
            if any(j in leads or j in chosen for j, _, _, _ in graph.edges[i]):
                leads.add(i)
        assert graph.ran == [int(i in leads and i in graph.reachable()) for i in range(len(graph.nodes))]


@pytest.mark.parametrize("seed", range(8))
def test_INV2_holds_on_devices_too(seed):
    graph = Graph(seed, ops=DeviceOps())
    inputs = [(i, s) for i, metas in enumerate(graph.metas) for s in range(len(metas))]
    want = graph.expected()
    for _ in range(3):
        assert graph.captured(inputs) == [want[i][s] for i, s in inputs]
    graph.ran[:] = [0] * len(graph.nodes)
    run(graph.root, graph.start(), keep_graph=True)
    reachable = graph.reachable()
    assert graph.ran == [int(i in reachable) for i in range(len(graph.nodes))]


@pytest.mark.parametrize("devices", [False, True], ids=["host", "devices"])
def test_INV2_holds_for_two_threads_in_one_graph(devices):
    for seed in range(6):
        graph = Graph(seed, ops=DeviceOps() if devices else None)
        inputs = [(i, s) for i, metas in enumerate(graph.metas) for s in range(len(metas))]
        want = graph.expected()
        barrier, results = threading.Barrier(2), [None, None]

        def work(k, graph=graph, inputs=inputs, barrier=barrier, results=results):
            barrier.wait(30)
            results[k] = [graph.captured(inputs) for _ in range(5)]

        threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(30)
        assert results == [[[want[i][s] for i, s in inputs]] * 5] * 2


@pytest.mark.parametrize("seed", range(8))
def test_INV4_a_failing_node_anywhere_leaves_the_graph_good_for_the_next_run(seed):
    graph = Graph(seed)
    rng = random.Random(seed)
    inputs = [(i, s) for i, metas in enumerate(graph.metas) for s in range(len(metas))]
    want = graph.expected()

    def fail(outputs):
        raise ZeroDivisionError

    for victim in rng.sample(sorted(graph.reachable()), 5):
        with graph.nodes[victim].register_prehook(fail), pytest.raises(ZeroDivisionError):
            run(graph.root, graph.start(), keep_graph=True)
        assert engine.queued_tasks() == 0
        assert engine.current_graph_task_id() == -1
    assert graph.captured(inputs) == [want[i][s] for i, s in inputs]


@pytest.mark.parametrize("seed", range(6))
def test_INV2_a_run_nested_in_any_node_of_its_own_graph(seed):
    # The nested run meets nodes that the outer run has stamped, counted and half fed.
    graph = Graph(seed)
    inputs = [(i, s) for i, metas in enumerate(graph.metas) for s in range(len(metas))]
    want = [graph.expected()[i][s] for i, s in inputs]
    rng = random.Random(seed)
    nested = []
    inner = sorted(i for i in graph.reachable() if graph.edges[i])
    handles = []
    for victim in rng.sample(inner, 3):
        depth = []

        def nest(outputs, depth=depth):
            if not depth:
                depth.append(1)
                nested.append(graph.captured(inputs))

        handles.append(graph.nodes[victim].register_prehook(nest))
    outer = graph.captured(inputs)
    assert outer == want
    assert nested == [want] * 3
