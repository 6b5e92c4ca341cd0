"""Tensors made apart over one raw array know of each other's writes; elements that share memory are not written."""

import gc

import numpy as np
import pytest

import arraygrad as ag

MODIFIED = "has been modified by an inplace operation"


pytestmark = pytest.mark.usefixtures("default_modes")


def leaf(n=3):
    return ag.tensor(np.linspace(0.5, 1.5, n), requires_grad=True)


def buffers():
    whole = bytearray(48)
    return np.frombuffer(whole), np.frombuffer(whole)


PAIRS = {
    "the same array": lambda a: (a, a),
    "array and view": lambda a: (a, a[:]),
    "view and array": lambda a: (a[:], a),
    "views that overlap": lambda a: (a[:4], a[1:5]),
    "reversed": lambda a: (a, a[::-1]),
    "another shape": lambda a: (a, a.reshape(2, 3)),
    "two frombuffer": lambda a: buffers(),
    "memoryview": lambda a: (a, np.asarray(memoryview(a))),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_a_write_through_one_tensor_protects_what_was_saved_of_the_other(pair):
    ag.set_constant_check("off")  # nothing is compared: the write itself has to be known
    first, second = pair(np.arange(6.0))
    a, b = ag.asarray(first), ag.asarray(second)
    x = ag.tensor(np.ones(second.shape), requires_grad=True)
    expected = second.copy()
    y = (x * b).sum()
    a += 1
    y.backward()
    np.testing.assert_array_equal(x.grad.array, expected)
    assert b.version == 1


def test_a_write_through_one_tensor_is_an_error_in_that_mode():
    ag.set_saved_mutation("error")
    raw = np.arange(3.0)
    a, b, x = ag.asarray(raw), ag.asarray(raw), leaf()
    y = (x * b).sum()
    a += 1
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.backward()


def test_asarray_of_memory_that_a_tensor_gave_away_shares_its_storage():
    ag.set_constant_check("off")
    t, x = ag.tensor([1.0, 2.0, 3.0]), leaf()
    y = (x * t).sum()
    u = ag.asarray(t.array)
    u *= 10
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 2.0, 3.0])
    assert t.version == 1


def test_arrays_of_their_own_share_nothing():
    a, b = ag.asarray(np.arange(3.0)), ag.asarray(np.arange(3.0))
    a += 1
    assert (a.version, b.version) == (1, 0)


def test_a_copy_shares_nothing():
    raw = np.arange(3.0)
    a, b = ag.asarray(raw), ag.asarray(raw, copy=True)
    a += 1
    assert b.version == 0


def test_tensors_over_one_array_may_come_and_go_in_any_order():
    ag.set_constant_check("off")
    rng = np.random.default_rng(0)
    raws = [np.arange(6.0) for _ in range(40)]
    living = []
    for _ in range(3000):
        if living and rng.random() < 0.5:
            living.pop(int(rng.integers(0, len(living))))
        else:
            k = int(rng.integers(0, len(raws)))
            living.append((k, ag.asarray(raws[k][int(rng.integers(0, 3)) :])))
        if rng.random() < 0.05:
            k, t = living[int(rng.integers(0, len(living)))] if living else (0, ag.asarray(raws[0]))
            others = [u for j, u in living if j == k and u is not t]
            before = [u.version for u in others]
            t += 1
            assert [u.version for u in others] == [v + 1 for v in before]
    living.clear()
    gc.collect()


def test_a_transform_over_an_array_that_the_function_writes_is_refused():
    x = np.array([1.0, 2.0, 3.0])

    def f(t):
        y = (t * t).sum()
        x[:] = 0.0
        return y

    with pytest.raises(RuntimeError, match=MODIFIED):
        ag.grad(f)(x)


def test_one_array_given_twice_to_a_transform_is_known_as_one():
    x = np.array([1.0, 2.0, 3.0])

    def f(a, b):
        y = (a * b).sum()
        with ag.no_grad():
            a *= 5
        return y

    ga, gb = ag.grad(f, argnums=(0, 1))(x, x)
    np.testing.assert_array_equal(ga, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(gb, [1.0, 2.0, 3.0])


# -- elements that share memory ---------------------------------------------------------------------------------------

as_strided = np.lib.stride_tricks.as_strided


def windows():
    return as_strided(np.arange(6.0), (4, 3), (8, 8))


def repeated():
    return as_strided(np.arange(3.0), (4, 3), (0, 8))


def sheared():
    return as_strided(np.arange(40.0), (5, 3), (16, 32))


OVERLAPPING = {"windows": windows, "repeated": repeated, "sheared": sheared}

PLAIN = {
    "transposed": lambda: np.arange(12.0).reshape(3, 4).T,
    "steps": lambda: np.arange(60.0).reshape(6, 10)[::2, 1::3],
    "reversed": lambda: np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    "interleaved": lambda: as_strided(np.arange(40.0), (5, 2), (16, 8)),
    "sheared without overlap": lambda: as_strided(np.arange(40.0), (3, 2), (24, 16)),
    "diagonal": lambda: as_strided(np.arange(16.0), (4,), (40,)),
}


def add_to_first(t, value):
    t[0] += value


WRITES = {
    "t += x": lambda t, x: t.__iadd__(x),
    "t[...] = x": lambda t, x: t.__setitem__(..., x),
    "t[0] = x[0]": lambda t, x: t.__setitem__(0, x[0]),
    "t[0] += x[0]": lambda t, x: add_to_first(t, x[0]),
    "np.add(out=t)": lambda t, x: np.add(t, x, out=t),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("make", OVERLAPPING.values(), ids=OVERLAPPING)
def test_a_recorded_write_where_elements_share_memory_is_refused(make, write):
    raw = make()
    before = raw.copy()
    t, x = ag.asarray(raw), ag.tensor(np.ones(raw.shape), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"more than one element.*copy"):
        write(t, x)
    np.testing.assert_array_equal(raw, before)
    assert t.version == 0


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_a_recorded_write_through_odd_strides_gives_the_gradient(make, write):
    raw = make().copy() if make is PLAIN["diagonal"] else make()
    shape = raw.shape
    x = ag.tensor(np.ones(shape), requires_grad=True)
    t = ag.asarray(raw)
    del raw
    write(t, x)
    (t * 2.0).sum().backward()
    expected = np.zeros(shape)
    if write in (WRITES["t[0] = x[0]"], WRITES["t[0] += x[0]"]):
        expected[0] = 2.0
    else:
        expected[...] = 2.0
    np.testing.assert_array_equal(x.grad.array, expected)


@pytest.mark.parametrize("make", OVERLAPPING.values(), ids=OVERLAPPING)
def test_elements_that_share_memory_are_read_like_any(make):
    raw = make()
    t = ag.asarray(raw, requires_grad=True)
    (t * t).sum().backward()
    np.testing.assert_array_equal(t.grad.array, 2 * raw)
