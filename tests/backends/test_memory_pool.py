"""The pool that results of compiled paths live in: what it keeps, gives back, and never mixes up."""

import os
import platform
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_loop
from arraygrad.backends.numpy.ndarrays import pool_counts, pooled_bytes, set_memory_pool
from arraygrad.ops import OPS

LIMIT = 8 << 20


@pytest.fixture(autouse=True)
def _own_pool():
    """Each test begins with an empty pool of 8 MB."""
    previous = set_memory_pool(0)
    set_memory_pool(LIMIT)
    yield
    set_memory_pool(0)
    set_memory_pool(previous)


def doubled(x):
    return try_loop(BACKEND, OPS["add"], x, x)[0]


def address(a):
    return a.__array_interface__["data"][0]


def test_freed_memory_is_used_again():
    x = np.ones(10_000)
    y = doubled(x)
    assert pooled_bytes() == 0
    where = address(y)
    del y
    assert pooled_bytes() >= x.nbytes
    assert address(doubled(x)) == where


def test_live_arrays_never_share_memory():
    x = np.arange(1000.0)
    live = [doubled(x) for _ in range(20)]
    del live[::2]
    live += [doubled(x) for _ in range(20)]
    assert len({address(a) for a in live}) == len(live)
    for a in live:
        np.testing.assert_array_equal(a, 2 * x)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 511, 512, 513, 5000, 100_000])
def test_blocks_of_every_size_hold_their_array(size):
    for _ in range(3):
        a, b = doubled(np.ones(size)), doubled(np.ones(size, np.float32))
        np.testing.assert_array_equal(a, np.full(size, 2.0))
        np.testing.assert_array_equal(b, np.full(size, 2.0, np.float32))
        del a, b


def test_no_more_than_the_limit_is_kept():
    live = [doubled(np.ones(100_000)) for _ in range(20)]
    live.clear()
    assert 0 < pooled_bytes() <= LIMIT
    set_memory_pool(1 << 20)
    assert pooled_bytes() <= 1 << 20


def test_a_limit_of_zero_keeps_nothing():
    set_memory_pool(0)
    doubled(np.ones(10_000))
    assert pooled_bytes() == 0


def test_a_negative_limit_is_refused():
    with pytest.raises(ValueError, match="expected a number of bytes, but got -1"):
        set_memory_pool(-1)


SPARED = 4 << 20  # bytes that stay, whatever is asked for


def test_other_sizes_give_way_to_a_new_one():
    live = [doubled(np.ones(100_000)) for _ in range(10)]
    live.clear()
    before = pooled_bytes()
    big = doubled(np.ones(1_000_000))
    assert before > SPARED
    assert pooled_bytes() <= max(before - big.nbytes, SPARED)


def test_arrays_of_two_sizes_in_turn_do_not_drive_each_other_out():
    def both():
        doubled(np.ones(40_000))
        doubled(np.ones(120_000))

    both()
    _, misses = pool_counts()
    both()
    assert pool_counts()[1] == misses


def test_results_own_their_memory_and_can_be_resized():
    y = doubled(np.ones(10_000))
    assert y.flags.owndata
    assert y.base is None
    y.resize(20_000, refcheck=False)
    np.testing.assert_array_equal(y[:10_000], 2.0)
    np.testing.assert_array_equal(y[10_000:], 0.0)
    del y
    np.testing.assert_array_equal(doubled(np.ones(20_000)), np.full(20_000, 2.0))


def test_tracemalloc_counts_live_results_and_not_the_pool():
    x = np.ones(100_000)
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        y = doubled(x)
        assert tracemalloc.get_traced_memory()[0] - base >= x.nbytes
        del y
        assert tracemalloc.get_traced_memory()[0] - base < x.nbytes
    finally:
        tracemalloc.stop()


def test_an_array_may_be_freed_on_another_thread():
    live = [doubled(np.ones(10_000))]
    thread = threading.Thread(target=live.clear)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(doubled(np.ones(10_000)), np.full(10_000, 2.0))


def test_threads_get_blocks_of_their_own():
    failures = []

    def work(value):
        x = np.full(5000, value)
        for _ in range(200):
            y = doubled(x)
            z = doubled(y)
            if not (y == 2 * value).all() or not (z == 4 * value).all():
                failures.append(value)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


needs_block_sizes = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc's malloc is asked how large a block is"
)


@needs_block_sizes
def test_sizes_that_hardly_differ_use_each_others_memory():
    larger, smaller = np.ones(514 * 512), np.ones(512 * 512)
    where = address(doubled(larger))
    for _ in range(3):
        assert address(doubled(smaller)) == where
        assert address(doubled(larger)) == where


@needs_block_sizes
def test_sizes_that_take_turns_are_served_without_the_c_library():
    def turn():
        live = [doubled(a) for a in sizes]
        del live[0]
        live.append(doubled(sizes[1]))

    sizes = [np.ones(514 * 256), np.ones(512 * 256)]
    for _ in range(4):
        turn()
    before = pool_counts()[1]
    turn()
    assert pool_counts()[1] == before


def test_a_much_smaller_request_leaves_a_free_block_alone():
    doubled(np.ones(100_000))
    x, before = np.ones(90_000), pool_counts()
    doubled(x)
    assert pool_counts() == (before[0], before[1] + 1)


def test_what_numpy_makes_for_a_large_operation_lives_in_the_pool():
    t = ag.tensor(np.random.default_rng(0).normal(size=(128, 128)), requires_grad=True)

    def run():
        out = ag.fft.rfftn(t)
        out.backward(out.detach())
        t.grad = None

    for _ in range(3):
        run()
    before = pool_counts()
    run()
    after = pool_counts()
    assert after[1] == before[1]
    assert after[0] >= before[0] + 2


def test_numpys_own_handler_is_back_after_an_operation_that_fails():
    t = ag.tensor(np.ones((128, 128)))
    for _ in range(2):
        with pytest.raises(IndexError):
            ag.fft.rfftn(t, axes=(5,))
    before = pool_counts()
    kept = np.ones(20_000)
    assert pool_counts() == before
    assert kept[0] == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from Linux's /proc")
def test_large_blocks_that_are_given_back_leave_the_process():
    def resident():
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    set_memory_pool(1 << 30)
    np.ones((31 << 20) // 8)  # once a block of 31 MB was freed, glibc puts smaller ones into its heap and keeps them
    x = np.ones(3 << 20)
    blocks = [doubled(x) for _ in range(4)]  # 24 MB each
    held = resident()
    del blocks[:3]  # the last one stays, so that nothing is at the end of the heap
    assert pooled_bytes() >= 3 * x.nbytes
    set_memory_pool(0)
    assert resident() < held - 2.5 * x.nbytes
