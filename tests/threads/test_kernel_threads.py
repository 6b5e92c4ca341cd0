"""Kernels shared by several threads (Note [Shared kernels]): results, errors and warnings are those of one thread.

Arrays here are small, and the pool is told that sharing pays for them and that there are enough cores. What a process
does at its end and after a fork is tested in processes of their own (test_kernel_threads_processes.py).
"""

import _thread
import ctypes
import platform
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.table import BINARY_LOOPS, UNARY_LOOPS
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import apply_op
from arraygrad.engine import sharing
from arraygrad.engine.threads import helper_threads
from arraygrad.ops import OPS

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-310, 3e38, -2.5, 0.5, 5e-324, 1e5, -700.0])
LIMIT = 60
REAL = ("float32", "float64")
EVERY = (*REAL, "complex64", "complex128")


@pytest.fixture(autouse=True)
def _pool():
    """Three threads, four cores, and kernels are shared from NOGIL_SIZE elements on."""
    cores, divisor = sharing.set_cores(4), sharing.set_divisor(1000)
    idle = sharing.set_idle_milliseconds(5000)
    with ag.set_num_threads(3):
        sharing.busy_threads()
        yield
    sharing.set_cores(cores)
    sharing.set_divisor(divisor)
    sharing.set_idle_milliseconds(idle)
    assert sharing.busy_threads()[1] == 0
    wait_until(lambda: sharing.in_other_threads() == 0)  # a worker leaves a moment after its run has ended


def wait_until(condition):
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0)  # lets others run


def bits(found):
    if isinstance(found, (tuple, list)):
        return [bits(one) for one in found]
    raw = found.array if isinstance(found, ag.Tensor) else found
    return raw.dtype, raw.shape, raw.strides, raw.tobytes()


def alone_and_shared(function):
    """The results of function() by one thread and by several; the latter really were called."""
    sharing.busy_threads()
    with np.errstate(all="ignore"):
        with ag.set_num_threads(1):
            alone = function()
        assert sharing.busy_threads()[0] == 0
        shared = function()
    assert sharing.busy_threads()[0] > 1, "nothing was shared"
    return alone, shared


def same_bits(function):
    alone, shared = alone_and_shared(function)
    assert bits(shared) == bits(alone)


def values(rng, dtype, size=None):
    """Random numbers with special ones among them; the size, and where the memory begins, are random as well."""
    size = size or int(rng.integers(20_000, 70_000))
    offset = int(rng.integers(0, 17))
    x = rng.normal(size=size + offset) * 10 ** rng.uniform(-2, 2)
    x[rng.integers(0, size, 200)] = rng.choice(SPECIAL, 200)
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind == "c":
            x = x + 1j * np.roll(x, 1)
        return x.astype(dtype)[offset:]


def with_gradients(name, *operands, params=()):
    def run():
        inputs = [wrap_raw(x, requires_grad=True) if isinstance(x, np.ndarray) else x for x in operands]
        op = OPS[name]
        out = apply_op(op, op.bind((*inputs, *params), {}))
        seed = np.cos(np.arange(out.size)).reshape(out.shape).astype(out.dtype)
        if out.requires_grad:
            out.backward(wrap_raw(seed))
        return [out, *(t.grad for t in inputs if isinstance(t, ag.Tensor) and t.grad is not None)]

    return run


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", UNARY_LOOPS)
def test_functions_of_one_operand_and_their_gradients_are_those_of_one_thread(name, dtype):
    rng = np.random.default_rng(len(name))
    for _ in range(3):
        same_bits(with_gradients(name, values(rng, dtype)))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", [*BINARY_LOOPS, "pow"])
def test_functions_of_two_operands_and_their_gradients_are_those_of_one_thread(name, dtype):
    rng = np.random.default_rng(len(name))
    for _ in range(2):
        x = values(rng, dtype)
        same_bits(with_gradients(name, x, values(rng, dtype, x.size)))
        same_bits(with_gradients(name, x, 2.5))


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("name", ["exp", "sin", "multiply", "add", "negative", "sqrt"])
def test_complex_functions_are_those_of_one_thread(name, dtype):
    rng = np.random.default_rng(7)
    x = values(rng, dtype)
    operands = (x, values(rng, dtype, x.size)) if name in BINARY_LOOPS else (x,)
    same_bits(with_gradients(name, *operands))


@pytest.mark.parametrize("dtype", REAL)
def test_every_layout_gives_the_results_of_one_thread(dtype):
    rng = np.random.default_rng(3)
    matrix = values(rng, dtype, 150 * 301).reshape(150, 301)
    row, column = values(rng, dtype, 301), values(rng, dtype, 150)[:, None]
    for a, b in (
        (matrix, matrix[::-1].copy()),
        (matrix.T, matrix.copy().T),
        (matrix, row),
        (row, matrix),
        (matrix, column),
        (column, matrix),
        (matrix, matrix.dtype.type(3)),
    ):
        for name in ("add", "multiply", "divide", "maximum"):
            same_bits(with_gradients(name, a, b))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("p", [2, 3, -1.5, 0.5])
def test_powers_are_those_of_one_thread(p, dtype):
    same_bits(with_gradients("pow", values(np.random.default_rng(4), dtype), p))


@pytest.mark.parametrize("dtype", REAL)
def test_sigmoid_where_and_comparisons_are_those_of_one_thread(dtype):
    rng = np.random.default_rng(5)
    x = values(rng, dtype)
    y = values(rng, dtype, x.size)
    t, u = ag.asarray(x), ag.asarray(y)
    same_bits(with_gradients("sigmoid", x))
    same_bits(lambda: ag.where(t > u, t, u))
    same_bits(lambda: ag.where(t > u, t, 1.5))
    for compare in (lambda: t < u, lambda: t == u, lambda: t >= 0.25, lambda: u != t, lambda: 1.0 > t):
        same_bits(compare)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [(300, 200), (3, 20_001), (20_001, 3)])
def test_sums_within_rows_are_those_of_one_thread(shape, dtype):
    x = ag.asarray(values(np.random.default_rng(6), dtype, shape[0] * shape[1]).reshape(shape))
    same_bits(lambda: ag.sum(x, axis=1))


def test_sums_of_everything_and_over_rows_stay_with_one_thread():
    x = ag.asarray(np.random.default_rng(0).normal(size=(300, 200)))
    for axis in (None, 0):
        with ag.set_num_threads(1):
            alone = ag.sum(x, axis=axis)
        assert bits(ag.sum(x, axis=axis)) == bits(alone)
    assert sharing.busy_threads()[0] == 0


@pytest.mark.parametrize("size", [20_000, 24_576, 24_577, 28_671, 28_672, 28_673, 36_864 + 63, 40_960 - 1])
@pytest.mark.parametrize("name", ["exp", "sin", "tanh", "log"])
def test_where_pieces_end_makes_no_difference(name, size):
    x = values(np.random.default_rng(size), "float32", size)
    same_bits(with_gradients(name, x))


def test_arrays_without_elements_and_below_the_size_are_served_by_the_caller():
    for shape in ((0,), (0, 30_000), (1,), (3, 4)):
        ag.exp(ag.asarray(np.ones(shape)))
    assert sharing.busy_threads()[0] == 0


def test_small_work_is_never_shared():
    sharing.set_divisor(1)
    small, larger = ag.asarray(np.ones(32_000, np.float32)), ag.asarray(np.ones(500_000))
    ag.exp(small)
    larger + larger
    assert sharing.busy_threads()[0] == 0
    ag.exp(larger)
    assert sharing.busy_threads()[0] == 3


# Floating-point errors


def outcome(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function()
        except FloatingPointError as error:
            return str(error)
    return sorted((w.category, str(w.message)) for w in caught)


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
@pytest.mark.parametrize("place", [0, 29_999, 59_999])
@pytest.mark.parametrize(
    ("name", "value"), [("exp", 1e5), ("log", 0.0), ("log", -1.0), ("sqrt", -1.0), ("exp", -1e5), ("square", 1e300)]
)
def test_floating_point_errors_are_reported_as_by_one_thread(name, value, place, mode):
    x = np.ones(60_000)
    x[place] = value
    run = with_gradients(name, x)
    with np.errstate(all=mode):
        with ag.set_num_threads(1):
            alone = outcome(run)
        assert outcome(run) == alone
        assert bool(alone) == (mode != "ignore")
    assert sharing.busy_threads()[0] > 1


def test_errors_of_different_pieces_come_together():
    x = np.ones(60_000)
    x[0], x[-1] = 0.0, -1.0
    with np.errstate(all="warn"):
        found = outcome(lambda: ag.log(ag.asarray(x)))
    assert [text for _, text in found] == ["divide by zero encountered in log", "invalid value encountered in log"]


def test_a_helper_leaves_no_errors_of_an_earlier_kernel():
    bad, good = ag.asarray(np.full(60_000, -1.0)), ag.asarray(np.ones(60_000))
    with np.errstate(all="ignore"):
        for _ in range(20):
            ag.log(bad)
    with np.errstate(all="raise"):
        for _ in range(20):
            ag.log(good)
            ag.exp(good)


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="the number of FE_UPWARD is Linux's"
)
def test_helpers_round_as_the_caller_does():
    libm = ctypes.CDLL("libm.so.6")
    rng = np.random.default_rng(0)
    x, y = ag.asarray(rng.normal(size=60_000)), ag.asarray(rng.normal(size=60_000))
    nearest = (x + y).array
    assert libm.fesetround(0x800) == 0
    try:
        alone, shared = alone_and_shared(lambda: x + y)
    finally:
        libm.fesetround(0)
    assert bits(shared) == bits(alone)
    assert (shared.array >= nearest).all()
    assert (shared.array > nearest).any()
    assert bits(x + y) == bits(nearest)


# How many


def test_one_thread_is_the_default():
    code = "import arraygrad as ag; assert ag.get_num_threads() == 1"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=LIMIT)


def test_with_brings_the_previous_number_back():
    ag.set_num_threads(2)
    with ag.set_num_threads(5):
        assert ag.get_num_threads() == 5
    assert ag.get_num_threads() == 2
    ag.set_num_threads(3)


@pytest.mark.parametrize("n", [1.5, "2", None, True])
def test_a_number_of_threads_that_is_no_int_is_refused(n):
    with pytest.raises(TypeError, match=r"set_num_threads: expected `n` as a number of threads, an int, but got "):
        ag.set_num_threads(n)
    assert ag.get_num_threads() == 3


@pytest.mark.parametrize("n", [0, -1, 4097, 10**30])
def test_a_number_of_threads_out_of_range_is_refused(n):
    with pytest.raises(ValueError, match=rf"set_num_threads: expected .* from 1 to 4096, but got {n}"):
        ag.set_num_threads(n)
    assert ag.get_num_threads() == 3


def test_numpys_integers_are_numbers_of_threads():
    with ag.set_num_threads(np.int64(2)):
        assert ag.get_num_threads() == 2


def test_no_more_threads_are_used_than_there_are_cores():
    x = ag.asarray(np.ones(60_000))
    with ag.set_num_threads(100):
        sharing.set_cores(2)
        ag.exp(x)
        assert sharing.busy_threads()[0] == 2
        sharing.set_cores(1)
        ag.exp(x)
        assert sharing.busy_threads()[0] == 1


def test_python_threads_share_one_bound(together):
    x = values(np.random.default_rng(1), "float64", 60_000)
    with np.errstate(all="ignore"):
        expected = np.sin(x).tobytes()

    def work(_):
        with np.errstate(all="ignore"):
            for _ in range(50):
                assert ag.sin(ag.asarray(x)).array.tobytes() == expected

    together(work, 4)
    most, busy = sharing.busy_threads()
    assert 2 <= most <= 6  # helpers leave at their next piece once there are too many callers
    assert busy == 0
    assert sharing.helpers() <= 2


def test_changing_the_number_while_kernels_run_changes_no_result(together):
    x = values(np.random.default_rng(1), "float64", 60_000)
    with np.errstate(all="ignore"):
        expected = np.exp(x).tobytes()

    def work(i):
        with np.errstate(all="ignore"):
            for k in range(60):
                if i == 0:
                    sharing.set_num_threads(1 + k % 4)
                assert ag.exp(ag.asarray(x)).array.tobytes() == expected

    together(work, 3)


# Together with what else has threads


def test_nothing_is_shared_while_other_threads_compute_anyway():
    x = ag.asarray(np.ones(60_000))
    sharing.in_other_threads(1)
    try:
        ag.exp(x)
        assert sharing.busy_threads()[0] == 1
    finally:
        sharing.in_other_threads(-1)
    ag.exp(x)
    assert sharing.busy_threads()[0] == 3


def test_products_of_matrices_are_counted_and_counted_out():
    a = ag.asarray(np.ones((64, 64)), requires_grad=True)
    (a @ a).sum().backward()
    assert sharing.in_other_threads() == 0


def branches(seen=None):
    leaves = [ag.tensor(np.linspace(0.1 + i, 1.0, 40_000), requires_grad=True) for i in range(6)]
    total = None
    for x in leaves:
        y = ag.tanh(ag.exp(ag.sin(x * 1.5)))
        if seen is not None:
            y.register_hook(lambda g: seen.add(threading.current_thread().name))
        total = y if total is None else total + y
    total.backward(ag.ones_like(total))
    return [x.grad for x in leaves]


def test_workers_of_a_run_and_kernels_give_the_results_of_one_thread():
    with ag.set_num_threads(1):
        alone = branches()
    with ag.autograd.set_cpu_workers(2):
        for _ in range(10):
            assert bits(branches()) == bits(alone)


def test_the_number_of_threads_bounds_the_workers_of_a_run():
    before = set(helper_threads())
    with ag.set_num_threads(2), ag.autograd.set_cpu_workers(8):
        for _ in range(10):
            seen = set()
            branches(seen)
            assert len(seen) <= 2
    workers = [t for t in set(helper_threads()) - before if t.name.startswith("arraygrad_worker")]
    assert len(workers) <= 2  # one at a time; a second may have been started before the first came back


def test_a_hook_may_run_shared_kernels_inside_a_run():
    inner = ag.tensor(np.linspace(0.1, 1.0, 30_000), requires_grad=True)
    x = ag.tensor(np.linspace(0.1, 1.0, 30_000), requires_grad=True)
    y = ag.exp(x)

    def hook(g):
        with ag.enable_grad():
            ag.exp(inner).sum().backward()

    y.register_hook(hook)
    ag.sin(y).sum().backward()
    assert bits(inner.grad)[-1] == np.exp(inner.array).tobytes()


# Life


def test_helpers_end_when_they_are_idle_and_start_again():
    x = ag.asarray(np.ones(60_000))
    ag.exp(x)
    wait_until(lambda: sharing.helpers() == 2)
    sharing.set_idle_milliseconds(1)
    ag.exp(x)  # wakes them: from now on they wait for a millisecond
    wait_until(lambda: sharing.helpers() == 0)
    assert ag.exp(x).array.tobytes() == np.exp(x.array).tobytes()
    assert sharing.busy_threads()[0] == 3


def test_a_thread_that_cannot_be_started_is_done_without_and_tried_again():
    sharing.set_idle_milliseconds(1)
    x = ag.asarray(np.ones(60_000))
    ag.exp(x)
    wait_until(lambda: sharing.helpers() == 0)
    sharing.busy_threads()
    sharing.fail_starts(1)
    assert ag.exp(x).array.tobytes() == np.exp(x.array).tobytes()
    assert sharing.busy_threads()[0] == 1
    sharing.set_idle_milliseconds(5000)

    def shared_again():
        ag.exp(x)
        return sharing.busy_threads()[0] == 3

    assert not shared_again()  # it waits a second
    wait_until(shared_again)


def test_an_error_in_a_run_leaves_the_pool_usable():
    x = ag.tensor(np.full(60_000, -1.0), requires_grad=True)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="sqrt"):
        ag.sqrt(x)
    y = ag.exp(x)
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    same_bits(with_gradients("exp", np.linspace(0, 1, 60_000)))


def test_ctrl_c_is_seen_between_kernels():
    x = ag.asarray(np.linspace(0, 1, 60_000))
    started = threading.Event()

    def compute():
        for _ in range(1_000_000):
            ag.exp(x)
            started.set()

    def interrupt():
        started.wait(LIMIT)
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            compute()
    finally:
        thread.join(LIMIT)
    assert sharing.busy_threads()[1] == 0
    assert ag.exp(x).array.tobytes() == np.exp(x.array).tobytes()
