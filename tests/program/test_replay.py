"""Recorded programs: a replay gives the bits of a plain run, or the function runs as ever.

Note [Captured programs] in program/replay.py, Note [Captured kernels] in backends/numpy/capture.hpp.
"""

import threading
import warnings

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as xp
from arraygrad.backends.numpy.kernel_programs import KernelProgram
from arraygrad.program.replay import capture, plainly


def gradient(f, seed=None):
    """Value and gradients of f, as a function of Tensors that gives Tensors."""

    def run(*given):
        leaves = [x.detach().requires_grad_() for x in given]
        y = f(*leaves)
        y.backward(seed)
        return [y.detach(), *[x.grad for x in leaves]]

    return run


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()


def moved(arrays, seed):
    """Other values of the same shapes, dtypes and orders."""
    rng = np.random.default_rng(seed)
    made = [np.empty_like(a) for a in arrays]
    for out, a in zip(made, arrays, strict=True):
        out[...] = a * (1 + 0.1 * rng.normal(size=a.shape))
    return made


def check(function, arrays, calls=0):
    """A replay of the function that has bits of plain runs for several values, and at most so many calls of Python."""
    replay = capture(function, arrays, moved(arrays, 1))
    assert replay.failure is None
    for values in (arrays, *(moved(arrays, seed) for seed in (2, 3, 4))):
        same(replay(*values), plainly(function, values))
    assert (replay.replayed, replay.fallen_back) == (4, 0)
    assert replay.counts["calls"] <= calls, replay
    assert replay.counts["compiled"] > 0
    return replay


def normal(*shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# The named workloads


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(1,), (), (100,), (7, 5), (30_000,)])
def test_a_chain_of_elementwise_operations(shape, dtype):
    a, b, seed = (normal(*shape, seed=k, dtype=dtype) for k in (1, 2, 3))
    seed = ag.asarray(np.asarray(seed))

    def f(y):
        for _ in range(3):
            y = xp.tanh(xp.exp(xp.sin((y + b) * a)))
        return y

    check(gradient(f, seed), [np.asarray(normal(*shape, seed=4, dtype=dtype))])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_multilayer_perceptron(dtype):
    x = normal(4, 3, dtype=dtype)
    targets = np.eye(3, dtype=dtype)[[0, 2, 1, 1]]

    def f(w1, b1, w2, b2, w3, b3):
        h = xp.maximum(x @ w1 + b1, 0)
        h = xp.maximum(h @ w2 + b2, 0)
        return -xp.sum(xp.log_softmax(h @ w3 + b3, axis=1) * targets) / 4

    shapes = [(3, 8), (8,), (8, 8), (8,), (8, 3), (3,)]
    check(gradient(f), [normal(*s, seed=k, dtype=dtype) for k, s in enumerate(shapes)])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_lstm(dtype):
    n, zero = 4, np.zeros((2, 4), dtype)
    steps = list(normal(5, 2, 3, dtype=dtype))
    seed = ag.asarray(normal(2, 4, seed=9, dtype=dtype))

    def f(w, u, b):
        h = c = zero
        for x in steps:
            z = x @ w + h @ u + b
            s = xp.sigmoid(z[:, : 3 * n])
            c = s[:, n : 2 * n] * c + s[:, :n] * xp.tanh(z[:, 3 * n :])
            h = s[:, 2 * n :] * xp.tanh(c)
        return h

    shapes = [(3, 16), (4, 16), (16,)]
    check(gradient(f, seed), [normal(*s, seed=k, dtype=dtype) for k, s in enumerate(shapes)])


def test_a_kalman_filter():
    n, m = 4, 2
    observe, measured = normal(m, n, seed=1), list(normal(6, m, seed=2))
    noise, error, start, spread = 0.1 * np.eye(n), 0.5 * np.eye(m), np.zeros(n), np.eye(n)

    def f(transition):
        x, p, loss = start, spread, 0.0
        for z in measured:
            x = transition @ x
            p = transition @ p @ transition.T + noise
            inverse = xp.linalg.inv(observe @ p @ observe.T + error)
            gain = p @ observe.T @ inverse
            e = z - observe @ x
            x = x + gain @ e
            p = p - gain @ observe @ p
            loss = loss + xp.sum(e * (inverse @ e))
        return loss

    check(gradient(f), [np.eye(n) + 0.1 * normal(n, n)], calls=len(measured))  # the rule of inv


def test_a_heat_stencil_in_place():
    seed = ag.asarray(normal(20, seed=1))

    def f(start):
        u = start * 1.0
        for _ in range(5):
            u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return u

    check(gradient(f, seed), [normal(20)])


def test_a_heat_stencil_in_two_dimensions():
    seed = ag.asarray(normal(8, 9, seed=1))

    def f(start):
        u = start * 1.0
        for _ in range(3):
            u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        return u

    check(gradient(f, seed), [normal(8, 9)])


def test_a_loop_on_numbers():
    def f(a, w, c):
        for _ in range(5):
            slope = -c * w - xp.sin(a)
            a, w = a + 0.05 * w, w + 0.05 * slope / (1.0 + a * a)
        return a * a + xp.sqrt(w * w + 1.0)

    check(gradient(f), [np.array(1.0), np.array(0.2), np.array(0.3)])


def test_single_elements():
    def f(x):
        total = x[0] * 2.0
        for i in range(1, 6):
            total = total * x[i] + xp.exp(x[i])
        return total

    check(gradient(f), [normal(6)], calls=12)


def test_a_second_derivative():
    def f(x):
        leaf = x.detach().requires_grad_()
        (g,) = ag.autograd.grad(xp.sum(xp.exp(xp.sin(leaf))), [leaf], create_graph=True)
        return ag.autograd.grad(xp.sum(g * g), [leaf])

    check(f, [normal(9)])


# What is no kernel


def test_what_no_kernel_computes_is_a_call():
    replay = capture(lambda x: xp.concat([x, x * 2.0]) + 1.0, [normal(5)], [normal(5, seed=1)])
    assert replay.failure is None
    assert replay.counts["calls"] == 1
    for seed in range(2, 5):
        same(replay(normal(5, seed=seed)), [np.concatenate([x := normal(5, seed=seed), x * 2.0]) + 1.0])
    assert (replay.replayed, replay.fallen_back) == (3, 0)


def test_a_call_whose_result_has_another_shape_runs_the_function():
    def f(x):
        return x[x > 0] * 2.0

    replay = capture(f, [np.array([1.0, -1.0, 2.0])], [np.array([3.0, -1.0, 2.5])])
    assert replay.failure is None
    for values in ([4.0, -2.0, 3.0], [4.0, 2.0, 3.0], [-1.0, -1.0, -1.0], [1.0, 1.0, -3.0]):
        same(replay(np.array(values)), plainly(f, [np.array(values)]))
    assert (replay.replayed, replay.fallen_back) == (2, 2)


def test_an_error_of_a_call_is_raised():
    def f(x):
        return xp.linalg.cholesky(x)

    replay = capture(f, [np.eye(3)], [2.0 * np.eye(3)])
    with pytest.raises(np.linalg.LinAlgError):
        replay(-np.eye(3))
    same(replay(4.0 * np.eye(3)), [2.0 * np.eye(3)])


# Values that leave


def test_a_branch_is_a_guard():
    def f(x):
        return xp.sum(x * x) if bool(xp.sum(x) > 0) else xp.sum(x * x * x)

    run = gradient(f)
    replay = capture(run, [np.array([1.0, 2.0])], [np.array([2.0, 3.0])])
    assert replay.failure is None
    assert replay.counts["guards"] >= 1
    same(replay(np.array([3.0, 4.0])), plainly(run, [np.array([3.0, 4.0])]))
    assert (replay.replayed, replay.fallen_back) == (1, 0)
    same(replay(np.array([-3.0, -4.0])), plainly(run, [np.array([-3.0, -4.0])]))
    assert (replay.replayed, replay.fallen_back) == (1, 1)


@pytest.mark.parametrize("leave", [float, lambda t: t.item(), lambda t: t.tolist(), complex, lambda t: int(t) * 1.5])
def test_a_number_that_left_is_a_guard(leave):
    def f(x):
        number = leave(xp.sum(x.detach()))
        return xp.sum(x * (number.real if isinstance(number, complex) else number))

    run = gradient(f)
    replay = capture(run, [np.array([1.0, 2.0])])
    assert replay.failure is None
    for values in ([1.0, 2.0], [5.0, 2.5], [1.0, 2.0]):
        same(replay(np.array(values)), plainly(run, [np.array(values)]))
    assert (replay.replayed, replay.fallen_back) == (2, 1)


@pytest.mark.parametrize(
    "leave", [lambda t: t.numpy(), lambda t: t.array, np.asarray, lambda t: np.from_dlpack(t), lambda t: t.array[0]]
)
def test_memory_that_leaves_is_not_recorded(leave):
    def f(x):
        return xp.sum(x * leave(x.detach()))

    run = gradient(f)
    replay = capture(run, [np.array([1.0, 2.0])], [np.array([1.5, 2.0])])
    assert replay.failure is not None
    same(replay(np.array([5.0, 2.5])), plainly(run, [np.array([5.0, 2.5])]))


def right_for(function, examples, others):
    """A recording, if there is one, gives bits of plain runs for other values as well."""
    replay = capture(function, *examples)
    with np.errstate(all="ignore"):
        for values in others:
            same(replay(*values), plainly(function, values))
    return replay


def test_an_exponent_in_an_array_is_no_constant():
    run = gradient(lambda x, p: xp.sum(x**p))
    base = np.array([1.5, 2.5])
    right_for(run, [[base, np.array(2.0)]], [[base, np.array(q)] for q in (3.0, 2.0, 0.5, 1.0, 0.0)])


def test_a_rule_that_looks_whether_values_are_finite_is_a_guard():
    run = gradient(lambda x: xp.sum(xp.logsumexp(x, axis=1)))
    inf = np.inf
    others = [[np.array([[1.0, inf], [0.0, 2.0]])], [np.array([[-inf, -inf], [0.0, 2.0]])], [normal(2, 2)]]
    replay = right_for(run, [[normal(2, 2)], [normal(2, 2, seed=1)]], others)
    assert replay.failure is not None or replay.replayed >= 1


def test_a_decision_of_numpys_is_no_constant():
    def f(x):
        return x * 2.0 if np.allclose(x.detach(), np.ones(2)) else x * 3.0

    right_for(f, [[np.ones(2)]], [[np.ones(2)], [np.zeros(2)]])


def test_gradients_by_a_transform_are_recorded():
    def f(x):
        value, slope = ag.value_and_grad(lambda a: xp.sum(xp.sin(a) * a))(x)
        return [value, slope]

    replay = right_for(f, [[normal(5)], [normal(5, seed=1)]], [[normal(5, seed=k)] for k in (2, 3)])
    assert replay.failure is None
    assert replay.replayed == 2


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("name", ["max", "min", "prod", "var", "std", "softmax", "mean", "cumulative_prod"])
def test_reductions(name, n):
    def f(x):
        return xp.sum(getattr(xp, name)(x, axis=1) * 1.5)

    values = [normal(3, n, seed=k) for k in range(6)]
    right_for(gradient(f), [[values[0]], [values[1]]], [[v] for v in values])


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "solve", "eigh", "svd", "slogdet"])
def test_linear_algebra(name):
    def f(x):
        a = x @ x.T + 3.0 * np.eye(4)
        made = getattr(xp.linalg, name)(*([a, x] if name == "solve" else [a]))
        return sum([xp.sum(one * one) for one in (made if isinstance(made, tuple) else (made,))])

    values = [normal(4, 4, seed=k) for k in range(4)]
    right_for(gradient(f), [[values[0]], [values[1]]], [[v] for v in values])


def test_a_rule_of_the_table_keeps_its_bits():
    run = gradient(lambda x: xp.sum(ag.special.kn(2, x)))
    values = [np.linspace(0.5, 5.0, 40) * s for s in (1.0, 1.1, 1.2, 0.9)]
    right_for(run, [[values[0]], [values[1]]], [[v] for v in values])


# What can't be recorded runs as ever


def test_random_numbers_are_not_recorded():
    rng = np.random.default_rng(0)
    replay = capture(lambda x: x * rng.normal(size=2), [np.array([1.0, 2.0])])
    assert replay.failure is not None
    first, second = (replay(np.array([1.0, 2.0]))[0] for _ in range(2))
    assert not np.array_equal(first, second)


def test_a_counter_is_not_recorded():
    count = iter(range(100))
    replay = capture(lambda x: x * float(next(count)), [np.array([1.0, 2.0])])
    assert replay.failure is not None
    (first,), (second,) = (replay(np.array([1.0, 1.0])) for _ in range(2))
    same([second], [first + 1.0])


def test_an_array_that_is_kept_is_not_recorded():
    kept = []

    def f(x):
        kept.append(x * 2.0)
        return x * 3.0

    replay = capture(f, [np.array([1.0, 2.0])])
    assert replay.failure is not None
    replay(np.array([5.0, 5.0]))
    same([kept[0].numpy()], [np.array([2.0, 4.0])])


def test_a_write_into_what_the_function_closes_over_is_not_recorded():
    state = ag.asarray(np.zeros(2))

    def f(x):
        state[...] = state + x
        return state * 1.0

    replay = capture(f, [np.array([1.0, 2.0])])
    assert replay.failure is not None
    before = state.numpy().copy()
    same(replay(np.array([1.0, 1.0])), [before + 1.0])


def test_an_error_of_the_function_is_raised():
    def f(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        capture(f, [np.zeros(2)])


def test_arrays_with_gaps_are_refused():
    with pytest.raises(TypeError, match="without gaps"):
        capture(lambda x: x * 2.0, [np.zeros(6)[::2]])


def test_other_shapes_dtypes_and_orders_run_the_function():
    def f(x):
        return xp.sum(x * x, axis=0)

    replay = capture(f, [normal(3, 4)], [normal(3, 4, seed=1)])
    assert replay.failure is None
    for value in (normal(4, 4), normal(3, 4, dtype="float32"), np.asfortranarray(normal(3, 4)), normal(3, 8)[:, ::2]):
        same(replay(value), plainly(f, [value]))
    assert (replay.replayed, replay.fallen_back) == (0, 4)
    same(replay(normal(3, 4)), plainly(f, [normal(3, 4)]))
    assert replay.replayed == 1


def test_column_major_inputs_are_recorded_as_they_lie():
    def f(x):
        return xp.sum(xp.exp(x) * x, axis=0)

    check(f, [np.asfortranarray(normal(3, 4))])


# Errors, results, threads


def test_errors_of_floating_point_are_reported_as_ever():
    def f(x):
        return xp.log(x)

    replay = capture(f, [np.array([1.0, 2.0])])
    assert replay.failure is None
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        replay(np.array([0.0, 2.0]))
    assert (replay.replayed, replay.fallen_back) == (0, 1)
    with np.errstate(all="ignore"):
        same(replay(np.array([0.0, -2.0])), plainly(f, [np.array([0.0, -2.0])]))
    assert (replay.replayed, replay.fallen_back) == (1, 1)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="invalid value encountered in log"):
        replay(np.array([1.0, -2.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(replay(np.array([3.0, 2.0])), plainly(f, [np.array([3.0, 2.0])]))


def test_results_are_new_arrays():
    replay = capture(lambda x: [x * 2.0, x], [np.array([1.0, 2.0])])
    assert replay.failure is None
    given = np.array([3.0, 4.0])
    first = replay(given)
    kept = [a.copy() for a in first]
    second = replay(np.array([5.0, 6.0]))
    same(first, kept)
    for a in (*first, *second):
        assert a.flags.writeable
        assert not np.shares_memory(a, given)
        a[...] = 0
    same(replay(given), kept)


def test_constants_are_those_of_the_recording():
    scale = np.array([2.0, 3.0])
    replay = capture(lambda x: x * scale, [np.array([1.0, 2.0])])
    assert replay.failure is None
    scale[...] = 0
    same(replay(np.array([1.0, 1.0])), [np.array([2.0, 3.0])])


def test_threads_get_their_own_results():
    run = gradient(lambda x: xp.sum(xp.exp(xp.sin(x)) * x))
    replay = capture(run, [normal(2000)], [normal(2000, seed=1)])
    assert replay.failure is None
    expected = [plainly(run, [normal(2000, seed=k)]) for k in range(4)]
    found = [[] for _ in range(4)]

    def work(k):
        for _ in range(50):
            found[k].append(replay(normal(2000, seed=k)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        assert len(found[k]) == 50
        for results in found[k]:
            same(results, expected[k])


def test_one_recording_at_a_time():
    first, second = KernelProgram(), KernelProgram()
    first.begin([])
    try:
        with pytest.raises(RuntimeError, match="one at a time"):
            second.begin([])
    finally:
        first.end()


def test_other_threads_are_not_recorded():
    recorded = KernelProgram()
    recorded.begin([])
    try:
        found = []
        t = threading.Thread(target=lambda: found.append((ag.asarray(np.ones(3)) * 2.0).numpy()))
        t.start()
        t.join()
    finally:
        recorded.end()
    assert recorded.steps == []
    same(found, [np.full(3, 2.0)])
