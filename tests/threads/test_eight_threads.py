"""Eight threads at once; signals in the middle of a backward; asyncio tasks and contexts beside threads.

The figures that threads compute are compared with the same work done one after another.
"""

import asyncio
import contextvars
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.engine.node import PyNode

THREADS = 8
ROUNDS = 25
LIMIT = 60


def leaf(data):
    """A leaf over a NumPy array."""
    return ag.tensor(np.asarray(data, dtype=float), requires_grad=True)


def model(x, w, i):
    """A graph that depends on the thread: matrix products, views, a branch, an in-place write."""
    y = ag.numpy.tanh(x @ w) * (i + 1.0)
    z = y * 1.0
    z[0] = z[1] * 2.0
    return (z[:2].sum() if i % 2 else z.sum()) + (w * w).mean()


def test_eight_threads_on_graphs_of_their_own_compute_what_one_does(together):
    data = [np.linspace(-1.0, 1.0, 12).reshape(4, 3) * (i + 1) for i in range(THREADS)]
    weights = np.linspace(0.1, 0.9, 6).reshape(3, 2)

    def work(i):
        found = []
        for _ in range(ROUNDS):
            x, w = leaf(data[i]), leaf(weights)
            model(x, w, i).backward()
            found.append((x.grad.numpy(), w.grad.numpy()))
        return found

    expected = [work(i)[0] for i in range(THREADS)]
    for i, found in enumerate(together(work, THREADS)):
        for pair in found:
            np.testing.assert_array_equal(pair[0], expected[i][0])
            np.testing.assert_array_equal(pair[1], expected[i][1])


def test_eight_threads_on_shared_weights_add_up_to_the_sum_of_all(together):
    weights = np.linspace(0.1, 0.9, 6).reshape(3, 2)
    data = np.arange(12.0).reshape(4, 3) / 8.0

    def work(i, w):
        for _ in range(ROUNDS):
            model(leaf(data), w, i).backward()

    one = leaf(weights)
    for i in range(THREADS):
        work(i, one)
    shared = leaf(weights)
    together(lambda i: work(i, shared), THREADS)
    np.testing.assert_allclose(shared.grad.numpy(), one.grad.numpy(), rtol=1e-12)


def test_eight_threads_on_one_graph_each_get_its_whole_gradient(together):
    x = leaf([1.0, 2.0, 3.0])
    y = ag.numpy.exp(x) * x
    for _ in range(20):
        y = y * 1.0 + x * 0.0
    total = y.sum()
    expected = np.exp(x.numpy()) * (1.0 + x.numpy())

    def work(i):
        return [ag.autograd.grad(total, x, retain_graph=True)[0].numpy() for _ in range(ROUNDS)]

    for found in together(work, THREADS):
        for gradient in found:
            np.testing.assert_allclose(gradient, expected, rtol=1e-14)
    assert x.grad is None


def test_eight_threads_take_second_derivatives_of_shared_leaves(together):
    x = leaf([0.5, 1.5])

    def work(i):
        for _ in range(ROUNDS):
            (first,) = ag.autograd.grad((x**3).sum(), x, create_graph=True)
            (second,) = ag.autograd.grad(first.sum(), x)
            np.testing.assert_allclose(second.numpy(), 6.0 * x.numpy())
        return True

    assert together(work, THREADS) == [True] * THREADS


def test_grad_modes_of_eight_threads_stay_apart_while_they_record_on_one_leaf(together):
    x = leaf([1.0, 2.0])

    def work(i):
        for _ in range(ROUNDS):
            if i % 2:
                with ag.no_grad():
                    assert not (x * 2.0).requires_grad
            else:
                (x * 2.0).sum().backward()
            assert ag.is_grad_enabled()

    together(work, THREADS)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(2, 2.0 * ROUNDS * THREADS / 2))


def test_graphs_are_freed_by_other_threads_while_the_collector_runs(together):
    x = leaf(np.ones(4))
    made = [[] for _ in range(THREADS)]

    def work(i):
        for _ in range(ROUNDS):
            y = x * float(i + 1)
            y.register_hook(lambda g, y=y: g)  # a cycle
            made[i].append(y)
            made[(i + 1) % THREADS].clear()
            if i == 0:
                gc.collect()

    together(work, THREADS)
    x.grad = None
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 2.0))


# Signals

needs_signals = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this platform has no interval timer")


@needs_signals
def test_a_signal_handler_runs_a_backward_of_its_own_in_the_middle_of_another():
    x = leaf([1.0, 2.0])
    y = x
    for _ in range(200):
        y = y * 1.0
    inside = []

    def handler(number, frame):
        with ag.enable_grad():
            t = leaf([3.0])
            (t * t).sum().backward()
        inside.append((ag.autograd.graph.current_node() is not None, t.grad.numpy().tolist()))

    sent = []

    def hook(g):
        if not sent:
            sent.append(True)
            signal.raise_signal(signal.SIGUSR1)
        return g

    y.register_hook(hook)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        y.sum().backward()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [gradient for _, gradient in inside] == [[6.0]]
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])


@needs_signals
def test_a_timer_that_fires_all_the_time_disturbs_nothing():
    fired = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: fired.append(leaf([1.0]) * 2.0))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(100000):
            x = leaf([1.0, 2.0])
            y = x
            for _ in range(50):
                y = y * 1.0
            (y * y).sum().backward()
            assert x.grad.numpy().tolist() == [2.0, 4.0]
            if len(fired) >= 20:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(fired) >= 20


@needs_signals
def test_an_exception_of_a_signal_handler_ends_the_backward_and_the_next_one_works():
    class Stop(Exception):
        pass

    def handler(number, frame):
        raise Stop

    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = y * 2.0
    z.register_hook(lambda g: signal.raise_signal(signal.SIGUSR1))
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Stop):
            z.sum().backward()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert x.grad is None
    (x * 3.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])


# Daemon threads and the end of the process


def test_eight_daemon_threads_inside_nodes_do_not_keep_the_process():
    # Every one of them is inside a rule that waits for ever when the interpreter ends.
    body = """
        import threading
        import numpy as np
        import arraygrad as ag

        inside = threading.Barrier(9)

        def work():
            x = ag.tensor(np.ones(2), requires_grad=True)
            y = x * 2.0
            def wait(g):
                inside.wait(30)
                threading.Event().wait()
            y.register_hook(wait)
            y.sum().backward()

        for _ in range(8):
            threading.Thread(target=work, daemon=True).start()
        inside.wait(30)
        print("exits")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "exits", "")


# asyncio and contexts


def test_tasks_that_await_between_recording_and_backward_keep_their_graphs():
    async def work(i):
        x = leaf([1.0, 2.0])
        y = x * float(i)
        await asyncio.sleep(0)
        z = (y * y).sum()
        await asyncio.sleep(0)
        z.backward()
        return x.grad.numpy().tolist()

    async def main():
        return await asyncio.gather(*[work(i) for i in range(THREADS)])

    assert asyncio.run(main()) == [[2.0 * i * i, 4.0 * i * i] for i in range(THREADS)]


def test_decorated_coroutines_have_their_modes_while_others_record():
    x = leaf([1.0])

    @ag.no_grad
    async def quiet():
        seen = []
        for _ in range(5):
            seen.append((x * 2.0).requires_grad)
            await asyncio.sleep(0)
        return seen

    async def loud():
        seen = []
        for _ in range(5):
            seen.append((x * 2.0).requires_grad)
            await asyncio.sleep(0)
        return seen

    async def main():
        return await asyncio.gather(quiet(), loud(), quiet(), loud())

    assert asyncio.run(main()) == [[False] * 5, [True] * 5, [False] * 5, [True] * 5]
    assert ag.is_grad_enabled()


def test_a_cancelled_coroutine_leaves_no_mode_behind():
    @ag.no_grad
    async def quiet():
        await asyncio.Event().wait()

    async def main():
        task = asyncio.ensure_future(quiet())
        await asyncio.sleep(0)
        assert ag.is_grad_enabled()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ag.is_grad_enabled()

    assert asyncio.run(main())


def test_work_given_to_threads_from_a_task_starts_with_recording_on():
    async def main():
        with ag.no_grad():
            task = asyncio.to_thread(ag.is_grad_enabled)
        return await task

    assert asyncio.run(main())


def test_context_variables_of_a_task_are_seen_by_its_hooks():
    name = contextvars.ContextVar("name", default="nobody")

    async def work(i):
        name.set(f"task {i}")
        seen = []
        x = leaf([1.0])
        y = x * 2.0
        y.register_hook(lambda g: seen.append(name.get()))
        await asyncio.sleep(0)
        y.sum().backward()
        return seen

    async def main():
        return await asyncio.gather(*[work(i) for i in range(4)])

    assert asyncio.run(main()) == [[f"task {i}"] for i in range(4)]
    assert name.get() == "nobody"


def test_anomaly_mode_of_one_context_is_not_seen_in_another():
    inside = contextvars.copy_context()
    inside.run(ag.autograd.set_detect_anomaly, True)
    assert inside.run(ag.autograd.is_anomaly_enabled)
    assert not ag.autograd.is_anomaly_enabled()


def test_each_thread_waits_for_its_own_result_only():
    # Seven threads are inside a rule that waits; the eighth's backward ends all the same.
    inside, go = threading.Barrier(THREADS), threading.Event()

    def work():
        def rule(g):
            inside.wait(LIMIT)
            go.wait(LIMIT)
            return g

        node = PyNode("waits", rule, edges=[ag.autograd.graph.get_gradient_edge(leaf([1.0]))], metas=(None,))
        ag.autograd.backward(ag.autograd.GradientEdge(node, 0), np.ones(1))

    threads = [threading.Thread(target=work) for _ in range(THREADS - 1)]
    for thread in threads:
        thread.start()
    inside.wait(LIMIT)
    x = leaf([1.0, 2.0])
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])
    go.set()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
