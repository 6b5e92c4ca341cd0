"""Dead arrays that are handed out again: only those that nobody can tell from new ones, and never two at a time."""

import sys
import sysconfig
import tracemalloc
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import memory
from arraygrad.engine.node import is_debug_build

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
keeps = pytest.mark.skipif(
    FREE_THREADED or is_debug_build(), reason="arrays are kept on builds with the GIL, and not in debug builds"
)


pytestmark = pytest.mark.usefixtures("own_pool")


def made(shape=(7,), dtype=np.float64):
    """A Tensor over an array of the pool's."""
    x = ag.asarray(np.ones(shape, dtype))
    return x + x


def test_an_array_that_only_a_tensor_held_is_handed_out_again():
    t = made()
    before = id(t.array) if not (FREE_THREADED or is_debug_build()) else None
    del t
    other = made()
    np.testing.assert_array_equal(other.array, np.full(7, 2.0))
    assert before is None or id(other.array) == before


@keeps
@pytest.mark.parametrize("shape", [(), (1,), (64,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_what_is_kept_has_its_dtype_and_shape(shape, dtype):
    t = made(shape, dtype)
    kept = id(t.array)
    del t
    different = made((11,), dtype), made(shape, np.float32 if dtype is not np.float32 else np.float64)
    assert kept not in [id(d.array) for d in different]
    again = made(shape, dtype)
    assert id(again.array) == kept
    assert again.array.shape == shape
    assert again.array.dtype == dtype
    np.testing.assert_array_equal(again.array, np.full(shape, 2, dtype))


@keeps
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (4, 4)])
def test_column_major_arrays_are_kept_apart_from_row_major_ones(shape):
    columns = ag.asarray(np.asfortranarray(np.ones(shape)))
    t = columns + columns
    kept = id(t.array)
    del t
    rows = made(shape)
    assert id(rows.array) != kept
    assert rows.array.flags.c_contiguous
    again = columns + columns
    assert id(again.array) == kept
    assert again.array.flags.f_contiguous
    assert again.array.flags.owndata
    assert again.array.strides == np.asfortranarray(np.ones(shape)).strides
    np.testing.assert_array_equal(again.array, np.full(shape, 2.0))


@pytest.mark.parametrize(
    "hold",
    [
        lambda a: a,
        lambda a: a[1:],
        lambda a: a.T,
        lambda a: memoryview(a),
        lambda a: weakref.ref(a),
        lambda a: a.view(np.int64),
        lambda a: np.lib.stride_tricks.as_strided(a, (2,), (8,)),
    ],
    ids=["itself", "view", "transposed", "memoryview", "weakref", "other-dtype", "strided"],
)
def test_what_somebody_holds_is_not_handed_out(hold):
    t = made()
    held = hold(t.array)
    where = t.array.__array_interface__["data"][0]
    del t
    others = [made() for _ in range(80)]
    if isinstance(held, weakref.ref):
        assert held() is None
    else:
        assert where not in [o.array.__array_interface__["data"][0] for o in others]


def _shape(a):
    a.shape = (1, 7)


def _strides(a):
    a.strides = (0,)


def _dtype(a):
    a.dtype = np.int64


@pytest.mark.parametrize(
    "change",
    [lambda a: a.setflags(write=False), _shape, _strides, _dtype, lambda a: a.resize(20, refcheck=False)],
    ids=["read-only", "shape", "strides", "dtype", "resized"],
)
@pytest.mark.filterwarnings("ignore:Setting the (shape|strides|dtype):DeprecationWarning")
def test_what_was_changed_in_place_is_not_taken_for_new(change):
    t = made()
    change(t.array)
    del t
    for _ in range(3):
        new = made()
        assert new.array.shape == (7,)
        assert new.array.strides == (8,)
        assert new.array.dtype == np.float64
        assert new.array.flags.writeable
        assert new.array.flags.owndata
        np.testing.assert_array_equal(new.array, np.full(7, 2.0))


def test_an_array_of_the_users_is_never_handed_out():
    a = np.ones(7)
    where = a.__array_interface__["data"][0]
    t = ag.asarray(a)
    del a
    del t
    assert where not in [made().array.__array_interface__["data"][0] for _ in range(3)]


def test_live_results_never_share_memory():
    rng = np.random.default_rng(0)
    live = {}
    for i in range(3000):
        n = int(rng.integers(1, 6))
        live[i] = (made((n,)) * float(i), n)
        if rng.random() < 0.8:
            del live[int(rng.choice(list(live)))]
    places = [t.array.__array_interface__["data"][0] for t, _ in live.values()]
    assert len(set(places)) == len(places) > 100
    for i, (t, n) in live.items():
        np.testing.assert_array_equal(t.array, np.full(n, 2.0 * i))


@keeps
def test_they_count_as_memory_of_the_pool_and_leave_with_it():
    t = made((100,))
    hits = memory.statistics()["hits"]
    del t
    assert memory.statistics()["cached"] >= 800
    t = made((100,))
    assert memory.statistics()["hits"] > hits
    del t
    memory.empty_cache()
    assert memory.statistics()["cached"] == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (5,)])
def test_a_limit_of_zero_keeps_none(shape, dtype):
    t = made(shape, dtype)
    u = t > 1.0
    del t, u
    memory.set_limit(0)
    t = made(shape, dtype)
    u = t > 1.0
    del t, u
    assert memory.statistics()["cached"] == 0


@keeps
def test_shapes_that_are_not_asked_for_any_more_leave():
    for n in range(1, 500):
        live = [made((n,)) for _ in range(5)]
        del live
    for _ in range(80):  # those of the slot's former shape go one by one
        t = made((7,))
        kept = id(t.array)
        del t
    assert id(made((7,)).array) == kept


@keeps
def test_tracemalloc_counts_live_results_and_not_what_is_kept():
    made((500,))
    tracemalloc.start()
    try:
        live = [made((500,)) for _ in range(10)]
        during = tracemalloc.get_traced_memory()[0]
        assert during >= 10 * 4000
        del live
        assert tracemalloc.get_traced_memory()[0] < during - 9 * 4000
    finally:
        tracemalloc.stop()


def test_gradients_are_the_same_with_and_without_them():
    x = ag.tensor(np.linspace(-1, 1, 50), requires_grad=True)

    def gradient():
        x.grad = None
        y = x
        for _ in range(5):
            y = ag.tanh(ag.exp(ag.sin(y * 1.5)) * x)
        y.sum().backward()
        return x.grad.numpy().copy()

    first = [gradient() for _ in range(3)]
    memory.set_limit(0)
    without = gradient()
    for g in first:
        np.testing.assert_array_equal(g, without)


# Gradients that the engine lets go of: Note [Dead gradients].

HELD = [lambda g: g, lambda g: g.array, lambda g: g.array[1:], lambda g: memoryview(g.array), lambda g: g[2:]]


def products(shape=(7,)):
    """A leaf and x * c + x * d, whose two gradients meet in the leaf."""
    x = ag.tensor(np.ones((7,)), requires_grad=True)
    y, z = x * np.full(shape, 2.0), x * np.full(shape, 3.0)
    return x, y, z, y + z


@keeps
def test_a_gradient_that_was_added_to_another_is_handed_out_again():
    _, y, z, total = products()
    seen = []
    for t in (y, z):
        t.grad_fn.register_hook(lambda new, _: seen.append(id(new[0].array)))
    total.backward(ag.asarray(np.ones(7)))
    assert len(seen) == 2
    assert seen[1] in [id(t.array) for t in [made(), made()]]


@keeps
def test_a_gradient_that_a_rule_has_read_is_handed_out_again():
    x = ag.tensor(np.ones(7), requires_grad=True)
    y = x * np.full(7, 2.0)
    z = ag.concat([y, y])  # its rule makes views, which are added to a new array
    seen = []
    y.register_hook(lambda g: seen.append(id(g.array)))
    z.backward(ag.asarray(np.ones(14)))
    assert seen[0] in [id(t.array) for t in [made(), made(), made()]]


@pytest.mark.parametrize("hold", HELD, ids=["Tensor", "array", "view", "memoryview", "Tensor-view"])
@pytest.mark.parametrize("shape", [(7,), (3, 7)], ids=["same", "summed"])
@pytest.mark.parametrize("where", ["tensor-hook", "node-hook", "node-pre-hook", "leaf-hook"])
def test_a_gradient_that_a_hook_holds_stays_as_it_is(where, shape, hold):
    x, y, z, total = products(shape)
    held = []

    def keep(g):
        held.append((hold(g), np.array(hold(g))))

    if where == "leaf-hook":
        x.register_hook(keep)
    for t in (y, z):
        if where == "tensor-hook":
            t.register_hook(keep)
        elif where == "node-hook":
            t.grad_fn.register_hook(lambda new, _: keep(new[0]))
        elif where == "node-pre-hook":
            t.grad_fn.register_prehook(lambda grads: keep(grads[0]))
    total.backward(ag.asarray(np.ones(shape)))
    others = [ag.asarray(np.zeros(s)) + 5.0 for s in ((7,), (3, 7), (6,), (5,), (1, 7)) for _ in range(40)]
    assert held
    for kept, content in held:
        np.testing.assert_array_equal(np.array(kept), content)
    del others


@pytest.mark.parametrize("shape", [(7,), (3, 7)], ids=["same", "summed"])
def test_a_gradient_that_a_function_has_made_and_holds_stays_as_it_is(shape):
    held = []

    class Twice(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            made_here = [(g * 2.0).numpy(), (g * 3.0).numpy()]
            held.extend(made_here)
            return tuple(ag.asarray(a) for a in made_here)

    x = ag.tensor(np.ones(7), requires_grad=True)
    y = ag.tensor(np.ones(shape), requires_grad=True)
    (Twice.apply(x, y) + Twice.apply(x, y)).sum().backward()
    others = [ag.asarray(np.zeros(s)) + 5.0 for s in ((7,), (3, 7)) for _ in range(40)]
    for array, factor in zip(held, (2.0, 3.0, 2.0, 3.0), strict=True):
        np.testing.assert_array_equal(array, np.full(shape, factor))
    del others


STEPS = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: ag.sin(a) - b, lambda a, b: a / (2.0 + b * b)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_random_graphs_are_the_same_with_and_without_them(seed, dtype):
    def gradients():
        rng = np.random.default_rng(seed)
        leaves = [ag.tensor(rng.normal(size=s).astype(dtype), requires_grad=True) for s in ((4,), (3, 4), (3, 1), ())]
        values = list(leaves)
        for _ in range(25):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            values.append(STEPS[rng.integers(4)](a, b))
        total = sum(ag.real(v).sum() for v in values)
        found = ag.autograd.grad(total, leaves, retain_graph=True)
        total.backward()
        return [np.array(g) for g in (*found, *[leaf.grad for leaf in leaves])]

    first = [gradients() for _ in range(3)]
    memory.set_limit(0)
    without = gradients()
    for found in first:
        for g, expected in zip(found, without, strict=True):
            np.testing.assert_array_equal(g, expected)


def test_an_exception_on_its_way_survives_the_end_of_a_tensor():
    def fails():
        t = made()
        u = t * 2.0
        raise ValueError(f"of {u.shape}")

    for _ in range(3):
        with pytest.raises(ValueError, match="of"):
            fails()
    assert sys.exc_info() == (None, None, None)


def _copies(y):
    """The copies of indices that the node of x[...] keeps."""
    key = y.grad_fn.saved["key"]
    return list(key) if isinstance(key, tuple) else [key]


@keeps
@pytest.mark.parametrize("ends", ["dies", "runs"])
@pytest.mark.parametrize("several", [False, True])
def test_copies_of_indices_are_handed_out_again_when_their_node_lets_go(several, ends):
    x, places = ag.tensor(np.ones((8, 8)), requires_grad=True), np.array([2, 0, 1])
    key = (places, places) if several else places
    y = x[key]
    before = {id(copy) for copy in _copies(y)}
    if ends == "runs":
        ag.sum(y).backward()
    y = None
    assert {id(copy) for copy in _copies(x[key])} == before


def test_copies_of_indices_that_somebody_holds_stay_as_they_are():
    x, places = ag.tensor(np.ones((8, 8)), requires_grad=True), np.array([2, 0, 1])
    y = x[places, places]
    held = _copies(y)
    ag.sum(y).backward()
    del y
    others = [x[places + 1, places + 2] for _ in range(3)]
    assert [copy.tolist() for copy in held] == [[2, 0, 1]] * 2
    assert [copy.tolist() for copy in _copies(others[0])] == [[3, 1, 2], [4, 2, 3]]


def test_an_index_of_the_program_is_never_kept_for_others():
    x, places = ag.tensor(np.ones((8, 8)), requires_grad=True), np.array([2, 0, 1])
    for _ in range(3):
        ag.sum(x[places]).backward()
        y = x[places + 1]
        assert places.tolist() == [2, 0, 1]
        assert not any(np.shares_memory(places, copy) for copy in _copies(y))
