"""arraygrad.memory: NumPy's own arrays in the pool, its limit, its statistics."""

import contextvars
import threading

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import memory

SIZE = 50_000


pytestmark = pytest.mark.usefixtures("own_pool")


def address(a):
    return a.__array_interface__["data"][0]


def test_an_array_that_numpy_makes_in_the_block_leaves_its_memory_to_the_next():
    with memory.pool():
        a = np.empty(SIZE)
        where = address(a)
        del a
        assert memory.statistics()["cached"] >= SIZE * 8
        assert address(np.empty(SIZE)) == where


def test_after_the_block_numpy_allocates_as_before():
    with memory.pool():
        pass
    before = memory.statistics()
    np.empty(SIZE)
    assert memory.statistics() == before


def test_blocks_stand_within_each_other():
    with memory.pool():
        with memory.pool():
            pass
        before = memory.statistics()["misses"]
        np.empty(SIZE)
        assert memory.statistics()["misses"] == before + 1


def test_an_array_of_the_block_lives_on_after_it():
    with memory.pool():
        a = np.arange(float(SIZE))
    b = np.arange(float(SIZE))
    memory.empty_cache()
    np.testing.assert_array_equal(a, b)
    del a
    assert memory.statistics()["cached"] >= SIZE * 8


def test_an_array_of_the_block_grows_and_zeros_are_zeros():
    with memory.pool():
        dirty = np.full(SIZE, 7.0)
        del dirty
        np.testing.assert_array_equal(np.zeros(SIZE), np.full(SIZE, 0.0))
        a = np.arange(10.0)
        a.resize(SIZE)
        np.testing.assert_array_equal(a[:10], np.arange(10.0))
        assert not a[10:].any()


def test_the_blocks_limit_holds_in_the_block_only():
    with memory.pool(limit=1000):
        assert memory.get_limit() == 1000
        np.empty(SIZE)
        assert memory.statistics()["cached"] <= 1000
    assert memory.get_limit() == 8 << 20


def test_the_switch_says_what_was_before_and_is_put_back():
    assert memory.set_pool(True) is False
    try:
        assert memory.set_pool(True) is True
        before = memory.statistics()["misses"]
        np.empty(SIZE)
        assert memory.statistics()["misses"] == before + 1
    finally:
        assert memory.set_pool(False) is True
    assert memory.set_pool(False) is False
    before = memory.statistics()
    np.empty(SIZE)
    assert memory.statistics() == before


def test_the_switch_holds_for_its_own_context():
    contextvars.copy_context().run(memory.set_pool, True)
    assert memory.set_pool(False) is False


def test_another_thread_allocates_as_before():
    seen = []
    with memory.pool():
        before = memory.statistics()["misses"]

        def work():
            np.empty(SIZE)
            seen.append(memory.statistics()["misses"])

        thread = threading.Thread(target=work, context=contextvars.Context()) if _takes_context() else None
        if thread is None:
            thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [before]


def _takes_context():
    return "context" in threading.Thread.__init__.__code__.co_varnames


def test_hits_and_misses_are_counted():
    with memory.pool():
        first = memory.statistics()
        np.empty(SIZE)
        np.empty(SIZE)
        second = memory.statistics()
    assert second["misses"] == first["misses"] + 1
    assert second["hits"] == first["hits"] + 1


def test_empty_cache_gives_everything_back_and_says_how_much():
    with memory.pool():
        np.empty(SIZE)
    assert memory.empty_cache() >= SIZE * 8
    assert memory.statistics()["cached"] == 0
    assert memory.get_limit() == 8 << 20


def test_gradients_in_the_block_are_those_outside():
    x = np.linspace(-1, 1, SIZE)

    def gradient():
        t = ag.tensor(x, requires_grad=True)
        ag.sum(ag.tanh(t * t) + t).backward()
        return t.grad.numpy()

    expected = gradient()
    with memory.pool():
        np.testing.assert_array_equal(gradient(), expected)


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "1 MB"])
def test_a_limit_is_a_number_of_bytes(wrong):
    error = ValueError if wrong == -1 and not isinstance(wrong, bool) else TypeError
    with pytest.raises(error, match="number of bytes"):
        memory.set_limit(wrong)
    with pytest.raises(error, match=r"memory\.pool: expected `limit`"):
        memory.pool(wrong)


def test_the_switch_takes_a_bool():
    with pytest.raises(TypeError, match="expected `mode` as True or False, but got int"):
        memory.set_pool(1)
