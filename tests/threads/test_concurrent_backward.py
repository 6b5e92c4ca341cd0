"""backward() on several threads at once: separate graphs, shared leaves (AG10), shared graphs (ND14), devices (RQ4)."""

import sys
import threading

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import backward, grad
from arraygrad.engine import engine

LIMIT = 60
THREADS = 4
TWICE = "Trying to backward through the graph a second time"


@pytest.fixture
def restless():
    """Threads change as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def leaf(data):
    """A leaf over a NumPy array."""
    return ag.tensor(data, requires_grad=True)


def test_separate_graphs_do_not_disturb_each_other(together):
    def work(i):
        results = []
        for k in range(30):
            x = leaf(np.full(5, float(i + 1)))
            y = x
            for _ in range(10):
                y = ag.tanh(y) * float(k + 1)
            (g,) = grad(y.sum(), x)
            results.append(g.numpy())
        return results

    expected = [work(i) for i in range(THREADS)]
    for got, want in zip(together(work, THREADS), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_AG10_accumulation_into_one_leaf_loses_no_update(together):
    x = leaf(np.zeros(50))
    rounds = 200

    def work(i):
        for _ in range(rounds):
            (x * float(i + 1)).sum().backward()

    together(work, THREADS)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(50, rounds * sum(range(1, THREADS + 1))))


def test_AG10_large_arrays_lose_no_update(together):
    # Large enough that the additions themselves run without the GIL.
    x = leaf(np.zeros(300_000))
    rounds = 20

    def work(i):
        for _ in range(rounds):
            (x * float(i + 1)).sum().backward()

    together(work, THREADS)
    assert np.unique(x.grad.numpy()).tolist() == [rounds * sum(range(1, THREADS + 1))]


def test_AG10_the_first_gradients_of_a_leaf_lose_no_update(together):
    # Every round starts without .grad: all threads want to be the one that sets it.
    for _ in range(50):
        x = leaf(np.zeros(3))

        def work(i, x=x):
            (x * 1.0).sum().backward()

        together(work, THREADS)
        np.testing.assert_array_equal(x.grad.numpy(), np.full(3, THREADS))


def test_AG10_a_scalar_leaf_loses_no_update(together):
    x = leaf(0.0)

    def work(i):
        for _ in range(300):
            (x * 1.0).backward()

    together(work, THREADS)
    assert x.grad.item() == 300.0 * THREADS


def test_AG10_hooks_see_every_gradient_once(together):
    x = leaf(0.0)
    counts, lock = [0, 0], threading.Lock()

    def count(k):
        def hook(_):
            with lock:
                counts[k] += 1

        return hook

    x.register_hook(count(0))
    x.register_post_accumulate_grad_hook(count(1))
    together(lambda i: [(x * 1.0).backward() for _ in range(100)], THREADS)
    assert counts == [100 * THREADS] * 2


def test_ND14_a_shared_graph_gives_every_thread_its_gradient(together):
    x = leaf(np.array([0.5, 1.5]))
    y = (ag.exp(x) * x).sum()
    want = grad(y, x, retain_graph=True)[0].numpy()

    def work(i):
        return [grad(y, x, retain_graph=True)[0].numpy() for _ in range(50)]

    for results in together(work, THREADS):
        for got in results:
            np.testing.assert_array_equal(got, want)
    assert x.grad is None


def test_ND14_two_runs_that_are_inside_one_graph_at_once_keep_apart():
    # Both threads are held in the top node until both are there: from then on each node belongs to two runs.
    x = leaf(np.array([1.0, 2.0]))
    y = x * 3.0
    z = (y * y + y).sum()
    inside = threading.Barrier(2)
    results = {}

    def meet(g):
        inside.wait(LIMIT)

    z.register_hook(meet)

    def work(name, scale):
        results[name] = grad(z, [x, y], ag.tensor(scale), retain_graph=True)

    threads = [threading.Thread(target=work, args=(name, scale)) for name, scale in (("a", 1.0), ("b", 10.0))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(LIMIT)
    dy = 2 * np.array([3.0, 6.0]) + 1
    for name, scale in (("a", 1.0), ("b", 10.0)):
        gx, gy = results[name]
        np.testing.assert_array_equal(gy.numpy(), scale * dy)
        np.testing.assert_array_equal(gx.numpy(), scale * 3 * dy)


def test_ND14_two_backwards_inside_one_graph_at_once_both_accumulate():
    x = leaf(np.array([1.0, 2.0]))
    y = x * 3.0
    z = (y * y + y).sum()
    inside = threading.Barrier(2)

    def meet(g):
        inside.wait(LIMIT)

    y.register_hook(meet)
    threads = [threading.Thread(target=z.backward, kwargs={"retain_graph": True}) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(LIMIT)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * 3 * (2 * np.array([3.0, 6.0]) + 1))


def test_ND14_a_run_that_fails_inside_a_shared_graph_leaves_the_other_alone():
    x = leaf(np.array([1.0, 2.0]))
    y = x * 3.0
    z = (y * y).sum()
    inside = threading.Barrier(2)
    results = {}

    def hook(g):
        inside.wait(LIMIT)
        if threading.current_thread().name == "fails":
            raise ValueError("stop")

    y.register_hook(hook)

    def work():
        try:
            results[threading.current_thread().name] = grad(z, x, retain_graph=True)[0].numpy()
        except ValueError as error:
            results[threading.current_thread().name] = str(error)

    threads = [threading.Thread(target=work, name=name) for name in ("fails", "works")]
    for t in threads:
        t.start()
    for t in threads:
        t.join(LIMIT)
    assert results["fails"] == "stop"
    np.testing.assert_array_equal(results["works"], [18.0, 36.0])


def test_ND14_freeing_a_shared_graph_never_mixes_with_running_it(together):
    # Without retain_graph each run either finds everything or is refused as a whole: no crash, no wrong value.
    for _ in range(40):
        x = leaf(np.array([0.5, 1.5]))
        y = x
        for _ in range(10):
            y = ag.tanh(y)
        total = y.sum()

        def work(i, total=total, x=x):
            try:
                return grad(total, x)[0].numpy()
            except RuntimeError as error:
                if not str(error).startswith(TWICE):
                    raise
                return None

        results = [r for r in together(work, THREADS) if r is not None]
        assert results
        for r in results:
            np.testing.assert_array_equal(r, results[0])


def test_graphs_that_share_a_trunk_run_together(together):
    x = leaf(np.array([0.5, 1.5]))
    trunk = ag.exp(x)
    heads = [(trunk * float(i + 1)).sum() for i in range(THREADS)]
    together(lambda i: heads[i].backward(retain_graph=True), THREADS)
    np.testing.assert_allclose(x.grad.numpy(), 10.0 * np.exp([0.5, 1.5]))


def test_building_graphs_on_shared_leaves_is_safe(together):
    x = leaf(np.array([0.5, 1.5]))

    def work(i):
        nodes = []
        for _ in range(200):
            nodes.append((x * 2.0).grad_fn.next_functions[0][0])
        return len(set(nodes))

    assert all(count >= 1 for count in together(work, THREADS))
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


def test_SQ4_sequence_numbers_of_all_threads_are_distinct(together):
    x = leaf(1.0)
    numbers = together(lambda i: [(x * 2.0).grad_fn.sequence_nr for _ in range(200)], THREADS)
    assert all(n == sorted(n) for n in numbers)
    assert len(set().union(*numbers)) == 200 * THREADS


def test_GT1_runs_of_all_threads_have_distinct_ids(together):
    def work(i):
        ids = []
        x = leaf(1.0)
        x.register_hook(lambda g: ids.append(engine.current_graph_task_id()))
        for _ in range(50):
            (x * 2.0).backward()
        return ids

    ids = together(work, THREADS)
    assert len(set().union(*ids)) == 50 * THREADS


def test_GM1_grad_modes_of_threads_are_their_own(together):
    x = leaf(1.0)

    def work(i):
        seen = []
        for k in range(200):
            mode = (i + k) % 2 == 0
            with ag.set_grad_enabled(mode):
                seen.append((x * 2.0).requires_grad is mode)
        return all(seen) and ag.is_grad_enabled()

    assert all(together(work, THREADS))


def test_an_error_in_one_thread_stays_there(together):
    class Mine(Exception):
        pass

    def work(i):
        x = leaf(1.0)
        y = x * 2.0
        if i % 2:

            def fail(g):
                raise Mine(i)

            y.register_hook(fail)
            for _ in range(30):
                with pytest.raises(Mine) as info:
                    y.backward(retain_graph=True)
                assert info.value.args == (i,)
            return None
        for _ in range(30):
            y.backward(retain_graph=True)
        return x.grad.item()

    assert together(work, THREADS) == [60.0, None, 60.0, None]


def strict_leaf(data, device):
    strict = pytest.importorskip("array_api_strict")
    return ag.asarray(strict.asarray(data, dtype=strict.float64, device=strict.Device(device)), requires_grad=True)


def test_RQ4_many_callers_share_the_device_threads(together):
    strict = pytest.importorskip("array_api_strict")
    one, two, host = (strict.Device(name) for name in ("device1", "device2", "CPU_DEVICE"))

    def work(i):
        results = []
        for _ in range(10):
            x = strict_leaf([1.0, 2.0], "CPU_DEVICE")
            y = x.to_device(one if i % 2 else two) * float(i + 1)
            z = (y * y).to_device(two if i % 2 else one).to_device(host)
            (g,) = grad(z.sum(), x)
            results.append(np.asarray(g.array))
        return results

    for i, results in enumerate(together(work, THREADS)):
        for got in results:
            np.testing.assert_array_equal(got, 2 * (i + 1) ** 2 * np.array([1.0, 2.0]))


def test_AG10_a_leaf_on_a_device_loses_no_update(together):
    strict = pytest.importorskip("array_api_strict")
    x = strict_leaf([0.0, 0.0], "device1")

    def work(i):
        for _ in range(25):
            (x * 2.0).to_device(strict.Device("CPU_DEVICE")).sum().backward()

    together(work, THREADS)
    got = np.asarray(x.grad.to_device(strict.Device("CPU_DEVICE")).array)
    np.testing.assert_array_equal(got, [2.0 * 25 * THREADS] * 2)


def test_AG10_two_devices_deliver_into_one_leaf_at_once():
    strict = pytest.importorskip("array_api_strict")
    host = strict.Device("CPU_DEVICE")
    x = strict_leaf([1.0, 2.0], "CPU_DEVICE")
    parts = []
    for k in range(20):
        parts.append((x.to_device(strict.Device(f"device{k % 2 + 1}")) * float(k)).to_device(host))
    backward([p.sum() for p in parts])
    np.testing.assert_array_equal(np.asarray(x.grad.array), [190.0, 190.0])


@pytest.mark.parametrize("recorded", [(), (0, 1, 2, 3), (1, 3)], ids=["plain", "create_graph", "both"])
@pytest.mark.parametrize("library", ["numpy", "array_api_strict"])
@pytest.mark.filterwarnings("ignore:Using backward.* with create_graph=True:UserWarning")
def test_AG10_no_way_of_accumulating_loses_an_update(together, restless, library, recorded):
    # The strict backend is Python throughout: threads change between any two steps of an accumulation.
    xp = pytest.importorskip(library)
    for _ in range(60):
        x = ag.asarray(xp.zeros((3,), dtype=xp.float64), requires_grad=True)

        def work(i, x=x):
            for _ in range(3):
                (x * 1.0).sum().backward(create_graph=i in recorded)

        together(work, THREADS)
        np.testing.assert_array_equal(np.asarray(x.grad.detach().array), [3.0 * THREADS] * 3)
