"""Many threads on the same leaves, graphs, bases and hooks: nothing is lost, mixed up or freed too early.

The races these tests look for exist without the GIL; where there is one they run in small. A thread that hangs is
shown with the stacks of all.
"""

import faulthandler
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import backward, grad
from arraygrad.backends.numpy.ndarrays import pooled_bytes, set_memory_pool

FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()
THREADS = 4
ROUNDS = 400 if FREE_THREADED else 40
SCALE = int(os.environ.get("ARRAYGRAD_TEST_SCALE", "1"))  # tools/sanitize.sh: slower by so much
WATCHDOG_SECONDS = 100 * SCALE
TWICE = "Trying to backward through the graph a second time"

free_threaded_only = pytest.mark.skipif(not FREE_THREADED, reason="this Python has a GIL, which nothing can turn on")


@pytest.fixture(autouse=True)
def _watchdog():
    """Shows where every thread stands if a test hangs."""
    faulthandler.dump_traceback_later(WATCHDOG_SECONDS, exit=False)
    yield
    faulthandler.cancel_dump_traceback_later()


def leaf(data):
    """A leaf over a NumPy array."""
    return ag.tensor(data, requires_grad=True)


def test_AG10_graphs_on_one_leaf_come_and_go(together):
    # The leaf's accumulator dies with every graph while other threads look for it.
    x = leaf(np.zeros(3))

    def work(i):
        for _ in range(ROUNDS):
            y = x * 2.0
            y = y + x
            y.sum().backward()
            del y

    together(work, THREADS)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 3.0 * THREADS * ROUNDS))


def test_AG10_the_accumulator_that_two_threads_find_is_one(together):
    x = leaf(1.0)
    for _ in range(ROUNDS // 4):
        graphs = together(lambda i, x=x: x * 2.0, THREADS)
        assert len({id(y.grad_fn.next_functions[0][0]) for y in graphs}) == 1
        del graphs


def test_AG10_gradients_are_read_and_dropped_while_others_add(together):
    x = leaf(np.zeros(2))
    seen = []

    def work(i):
        for _ in range(ROUNDS):
            if i == 0:
                x.grad = None
            elif i == 1:
                g = x.grad
                if g is not None:
                    seen.append(g.array[0])
            else:
                (x * 1.0).sum().backward()

    together(work, THREADS)
    assert all(v == int(v) and 1 <= v <= 2 * ROUNDS for v in seen)


@pytest.mark.filterwarnings("ignore:.*create_graph")  # once per process: not every time for this test
def test_AG10_recorded_gradients_of_one_leaf_lose_no_update(together):
    x = leaf(np.array([1.0, 2.0]))
    rounds = ROUNDS // 8

    def work(i):
        for _ in range(rounds):
            backward((x * x * x).sum(), create_graph=True)

    together(work, THREADS)
    np.testing.assert_allclose(x.grad.detach().numpy(), THREADS * rounds * 3 * np.array([1.0, 4.0]))
    (second,) = grad(x.grad.sum(), x)
    np.testing.assert_allclose(second.numpy(), THREADS * rounds * 6 * np.array([1.0, 2.0]))
    x.grad = None


def test_ND14_runs_through_one_graph_while_its_tensors_go(together):
    # Second-order runs take what nodes saved as Tensors, which the threads drop at the same time.
    for _ in range(ROUNDS // 8):
        x = leaf(np.array([0.5, 1.5]))
        holders = [[] for _ in range(THREADS)]
        y = ag.exp(x)
        z = y * y
        for held in holders:
            held.append(y)
        top = z.sum()
        del y, z

        def work(i, x=x, top=top, holders=holders):
            holders[i].clear()
            (first,) = grad(top, x, create_graph=True)
            (second,) = grad(first.sum(), x, retain_graph=True)
            return second.numpy()

        for got in together(work, THREADS):
            np.testing.assert_allclose(got, 4 * np.exp(2 * np.array([0.5, 1.5])))


@pytest.mark.parametrize("size", [2, 60_000])
def test_ND14_one_graph_is_run_and_freed_by_all(together, size):
    # The large arrays are computed without the GIL, so that on every Python one run frees what another's rule reads.
    rounds = ROUNDS // 10 if size == 2 else 10
    for _ in range(rounds):
        x = leaf(np.full(size, 0.5))
        y = ag.tanh(x) * ag.exp(x)
        y = y * x / (x + 2.0)
        top = y.sum()
        del y

        def work(i, x=x, top=top):
            try:
                return grad(top, x)[0].numpy()
            except RuntimeError as error:
                if not str(error).startswith(TWICE):
                    raise
                return None

        results = [g for g in together(work, THREADS) if g is not None]
        for g in results:
            np.testing.assert_array_equal(g, results[0])


def test_ND14_trunks_are_shared_by_many_runs_at_once(together):
    x = leaf(np.array([0.5, 1.5]))
    trunk = x
    for _ in range(20):
        trunk = ag.tanh(trunk) + trunk * 0.5
    heads = [(trunk * float(i + 1)).sum() for i in range(THREADS)]
    want = [grad(head, x, retain_graph=True)[0].numpy() for head in heads]

    def work(i):
        return [grad(heads[i], x, retain_graph=True)[0].numpy() for _ in range(ROUNDS // 8)]

    for i, results in enumerate(together(work, THREADS)):
        for got in results:
            np.testing.assert_array_equal(got, want[i])


def test_INV4_runs_that_fail_leave_other_runs_of_the_graph_alone(together):
    x = leaf(np.array([0.5, 1.5]))
    y = ag.exp(x) * 2.0
    top = (y * y).sum()
    want = grad(top, x, retain_graph=True)[0].numpy()
    failing = threading.local()

    def hook(g):
        if getattr(failing, "now", False):
            raise ValueError("stop")

    y.register_hook(hook)

    def work(i):
        failing.now = i % 2 == 0
        for _ in range(ROUNDS // 8):
            if failing.now:
                with pytest.raises(ValueError, match="stop"):
                    grad(top, x, retain_graph=True)
            else:
                np.testing.assert_array_equal(grad(top, x, retain_graph=True)[0].numpy(), want)

    together(work, THREADS)


def test_hooks_come_and_go_while_the_graph_runs(together):
    x = leaf(1.0)
    y = x * 3.0
    counts = [0] * THREADS

    def work(i):
        for _ in range(ROUNDS // 4):
            if i % 2:
                handles = [y.register_hook(lambda g: None), x.register_post_accumulate_grad_hook(lambda t: None)]
                handles.append(y.grad_fn.register_prehook(lambda g: None))
                for handle in handles:
                    handle.remove()
            else:
                assert grad(y, x, retain_graph=True)[0].item() == 3.0
                counts[i] += 1

    together(work, THREADS)
    assert counts == [ROUNDS // 4 if i % 2 == 0 else 0 for i in range(THREADS)]


def test_views_of_one_base_are_written_by_several_threads(together):
    # Nothing is recorded for the base, but a node has saved its content: it must find that content.
    for _ in range(ROUNDS // 20):
        w = leaf(np.ones(4 * THREADS))
        base = ag.tensor(np.arange(4.0 * THREADS))
        product = (w * base).sum()
        before = base.numpy().copy()

        def work(i, base=base):
            part = base[4 * i : 4 * i + 4]
            for _ in range(5):
                part *= 2.0
                part += 1.0

        together(work, THREADS)
        np.testing.assert_array_equal(base.numpy(), before * 32 + 31)
        assert base.version == 10 * THREADS
        product.backward()
        np.testing.assert_array_equal(w.grad.numpy(), before)


def test_recorded_writes_through_views_of_one_base_all_count(together):
    for _ in range(ROUNDS // 20):
        x = leaf(np.ones(4 * THREADS))
        base = x * 1.0

        def work(i, base=base):
            part = base[4 * i : 4 * i + 4]
            for _ in range(3):
                part *= float(i + 2)

        together(work, THREADS)
        base.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.repeat([(i + 2.0) ** 3 for i in range(THREADS)], 4))


def test_SV1_writes_to_separate_tensors_do_not_meet(together):
    def work(i):
        x = leaf(np.full(3, float(i + 1)))
        t = x * 1.0
        for _ in range(ROUNDS // 4):
            t = t * 1.0
            saved = t * t
            t += 1.0
            saved.sum().backward(retain_graph=True)
            x.grad = None
            t = x * 1.0
        return t.numpy()[0]

    assert together(work, THREADS) == [float(i + 1) for i in range(THREADS)]


def test_views_of_one_tensor_are_made_and_dropped_by_all(together):
    base = ag.tensor(np.arange(8.0))

    def work(i):
        for k in range(ROUNDS):
            view = base[k % 8 :]
            assert view.array[0] == k % 8
            assert view.detach().version == 0

    together(work, THREADS)


def test_arrays_are_freed_by_other_threads_than_made_them(together):
    limit = set_memory_pool(1 << 20)
    try:
        lists = [[] for _ in range(THREADS)]
        constants = [ag.tensor(np.full(64, float(i))) for i in range(THREADS)]

        def work(i):
            for k in range(ROUNDS):
                lists[i].append(constants[i] + float(k))
                other = lists[(i + 1) % THREADS]
                if other:
                    t = other.pop()
                    assert t.array[0] - (i + 1) % THREADS == int(t.array[0]) - (i + 1) % THREADS

        together(work, THREADS)
        lists.clear()
        gc.collect()
        assert pooled_bytes() <= (THREADS + 1) << 20
    finally:
        set_memory_pool(0)
        assert pooled_bytes() == 0
        set_memory_pool(limit)


def test_handles_are_removed_once(together):
    x = leaf(1.0)
    for _ in range(ROUNDS // 8):
        handle = x.register_hook(lambda g: g * 2.0)
        together(lambda i, handle=handle: handle.remove(), THREADS)
        assert grad(x * 1.0, x)[0].item() == 1.0


@free_threaded_only
def test_importing_arraygrad_leaves_the_gil_off():
    code = (
        "import sys, arraygrad, arraygrad.transforms, arraygrad.testing, arraygrad.autograd.graph\n"
        "assert not sys._is_gil_enabled()\n"
        "compiled = [m for n, m in sys.modules.items() if n.startswith('arraygrad') and"
        " str(getattr(m, '__file__', '')).endswith(('.so', '.pyd'))]\n"
        "print(len(compiled) > 15)"
    )
    # Without the declaration Python turns the GIL on, and warns.
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
