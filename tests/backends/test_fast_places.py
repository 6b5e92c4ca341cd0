"""Slices and gathers of one array: their gradients meet in one buffer, and are those of the plain path.

See Note [One buffer for many places] in backends/numpy/shapes.pyx. A sum may differ in the sign of a zero only.
"""

import sysconfig

import numpy as np
import pytest
from fast_path_cases import plain, quiet

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.table import try_rule
from arraygrad.ops import OPS

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
SHAPES = [(), (1,), (7,), (0,), (4, 5), (0, 3), (3, 1, 4), (2, 3, 2, 2)]
LAYOUTS = {
    "row-major": lambda a: a,
    "column-major": lambda a: a.copy(order="F"),
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1] if a.ndim else a,
}


def random_part(generator, length):
    kind = generator.integers(0, 4)
    if kind == 0 and length:
        return int(generator.integers(-length, length))
    if kind == 1:
        return slice(None, None, -1)
    start, stop = generator.integers(-length - 1, length + 2, 2)
    return slice(int(start), int(stop), int(generator.choice([1, 2, -1, 3])))


def random_key(generator, shape):
    parts = [random_part(generator, n) for n in shape[: generator.integers(0, len(shape) + 1)]]
    if generator.integers(0, 3) == 0:
        parts.insert(int(generator.integers(0, len(parts) + 1)), None)
    if generator.integers(0, 3) == 0:
        parts.append(Ellipsis)
    return parts[0] if len(parts) == 1 else tuple(parts)


def random_rows(generator, shape):
    if not shape or not shape[0]:
        return ...
    return generator.integers(-shape[0], shape[0], tuple(generator.integers(0, 4, generator.integers(1, 3))))


def summed(a, keys, weights, whole):
    """Gradient of the weighted sum of a[key] over all keys, plus that of the whole array where `whole` says so."""
    x = ag.asarray(a, requires_grad=True)
    pieces = [x[key] for key in keys]
    total = ag.sum(x * whole) if whole is not None else 0.0
    for piece, weight in zip(pieces, weights, strict=True):
        total = total + ag.sum(piece * weight)
    total.backward(np.ones_like(total.array))
    return x.grad.array


def check(a, keys, weights, whole=None):
    with quiet():
        got, expected = summed(a, keys, weights, whole), plain(summed, a, keys, weights, whole)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16"])
@pytest.mark.parametrize("seed", range(12))
def test_slices_of_one_array_give_the_plain_gradient(seed, dtype, layout):
    generator = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    a = LAYOUTS[layout](generator.normal(size=shape).astype(dtype))
    keys = [random_key(generator, shape) for _ in range(6)]
    weights = [np.asarray(generator.normal(size=a[key].shape)).astype(dtype) for key in keys]
    check(a, keys, weights)
    check(a, keys, weights, np.asarray(generator.normal(size=shape)).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("index", ["int64", "int32", "list"])
@pytest.mark.parametrize("seed", range(8))
def test_gathers_of_one_array_give_the_plain_gradient(seed, index, dtype):
    generator = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    a = np.asarray(generator.normal(size=shape)).astype(dtype)
    keys = [random_rows(generator, shape) for _ in range(4)] + [random_key(generator, shape)]
    if index == "list":
        keys = [key.tolist() if isinstance(key, np.ndarray) and key.size else key for key in keys]
    else:
        keys = [key.astype(index) if isinstance(key, np.ndarray) else key for key in keys]
    # Whole numbers: rows that meet are added one by one to what waits, in the plain path first to each other.
    weights = [generator.integers(-9, 9, a[key].shape).astype(dtype) for key in keys]
    check(a, keys, weights)


LARGE = [(4096,), (64, 70), (16, 16, 17), (3, 2000), (1024, 1031)]  # more than PARTIAL_SIZE bytes, STREAMED_SIZE


def large_key(generator, shape):
    """Regions that follow each other, overlap, leave gaps, are one element, or empty."""
    kind = generator.integers(0, 5)
    if kind == 0:
        return random_key(generator, shape)
    start, stop = np.sort(generator.integers(0, shape[0] + 1, 2)).tolist()
    if kind == 1:
        return tuple(int(generator.integers(0, n)) for n in shape)
    if kind == 2:
        return (Ellipsis, slice(0, shape[-1] // 2))
    return slice(start, stop) if kind == 3 else start - shape[0] if start < shape[0] else slice(0, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16"])
@pytest.mark.parametrize("seed", range(24))
def test_slices_of_a_large_array_give_the_plain_gradient(seed, dtype):
    generator = np.random.default_rng(seed)
    shape = LARGE[seed % len(LARGE)]
    a = LAYOUTS[list(LAYOUTS)[seed % 3]](generator.normal(size=shape).astype(dtype))
    keys = [large_key(generator, shape) for _ in range(1 + seed % 7)]
    weights = [np.asarray(generator.normal(size=a[key].shape)).astype(dtype) for key in keys]
    check(a, keys, weights)
    check(a, keys, weights, np.asarray(generator.normal(size=shape)).astype(dtype))


@pytest.mark.parametrize("order", ["forwards", "backwards", "every second first"])
def test_slices_that_tile_a_large_array_give_each_its_gradient(order):
    n, size = 40, 200
    places = {
        "forwards": range(n),
        "backwards": range(n)[::-1],
        "every second first": [*range(0, n, 2), *range(1, n, 2)],
    }
    x = ag.asarray(np.zeros(n * size), requires_grad=True)
    weights = np.random.default_rng(0).normal(size=(n, size))
    total = 0.0
    for k in places[order]:
        total = total + ag.sum(x[k * size : (k + 1) * size] * weights[k])
    total.backward()
    np.testing.assert_array_equal(x.grad.array, weights.ravel())


def test_a_part_of_a_large_array_that_no_slice_names_gets_zeros():
    for key in (slice(5, 9), slice(4090, None), slice(0, 3), slice(8, 2, -2), slice(3, 3)):
        x = ag.asarray(np.zeros(4096), requires_grad=True)
        np.full(4096, np.nan)  # memory that is handed out again is not zero
        x[key].sum().backward()
        expected = np.zeros(4096)
        expected[key] = 1.0
        np.testing.assert_array_equal(x.grad.array, expected)


@pytest.mark.parametrize("looks", ["gradient asked for", "hook on the array", "sum", "gather"])
def test_whoever_looks_at_a_gradient_of_slices_sees_all_of_it(looks):
    leaf = ag.asarray(np.zeros(4096), requires_grad=True)
    x, seen = leaf * 2.0, []
    y = ag.sum(x[10:20]) + ag.sum(x[4000:4010] * 3.0)
    expected = np.zeros(4096)
    expected[10:20], expected[4000:4010] = 1.0, 3.0
    if looks == "gradient asked for":
        (got,) = ag.autograd.grad(y, [x])
        np.testing.assert_array_equal(got.array, expected)
        return
    if looks == "hook on the array":
        x.register_hook(lambda g: seen.append(g.array.copy()))
    elif looks == "sum":
        y = y + ag.sum(x)
        expected += 1.0
    else:
        y = y + ag.sum(x[np.array([3, 10, 5000 - 4096])])
        expected[[3, 10, 904]] += 1.0
    y.backward()
    np.testing.assert_array_equal(leaf.grad.array, 2.0 * expected)
    if seen:
        np.testing.assert_array_equal(seen[0], expected)


def test_a_run_that_fails_amid_slices_leaves_nothing_behind():
    leaf = ag.asarray(np.zeros(4096), requires_grad=True)
    x = leaf * 1.0
    pieces = [x[:100], x[100:200], x[200:300]]
    handle = pieces[0].register_hook(lambda g: 1 / 0)
    y = sum(ag.sum(piece) for piece in pieces)
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    np.testing.assert_array_equal(leaf.grad.array, np.arange(4096) < 300)


def test_special_values_are_those_of_the_plain_path():
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e308, 5e-324])
    a = np.arange(7.0)
    keys = [slice(None), slice(None, None, -1), np.array([0, 0, 5, 5, -1]), slice(1, 4)]
    check(a, keys, [special, special, special[[0, 1, 5, 5, 2]], special[:3]])


def test_an_overflow_of_rows_that_meet_is_reported():
    x = ag.asarray(np.zeros((2, 1)), requires_grad=True)
    y = x[np.array([1, 1])]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        y.backward(np.full((2, 1), 1.5e308))


@pytest.mark.parametrize("axis", [0, 1, -1, -2, None])
def test_take_gives_the_plain_gradient(axis):
    a = np.arange(12.0) if axis is None else np.arange(12.0).reshape(4, 3)
    indices = np.array([0, 2, 2, -1])

    def gradient():
        x = ag.asarray(a, requires_grad=True)
        y = ag.take(x, indices, axis=axis)
        z = ag.take(x, ag.asarray(indices), axis=axis)
        ag.sum(y * y + 2.0 * z).backward()
        return x.grad.array

    np.testing.assert_array_equal(gradient(), plain(gradient))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_places_of_several_dimensions_have_numpys_elements_and_the_plain_gradient(axis, dtype):
    a = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(dtype)
    for indices in (np.array([[0, 2, 2], [-1, 1, 0]]), np.array([[[1]], [[-3]]]), np.zeros((0, 2), np.int64)):
        g = np.random.default_rng(1).normal(size=np.take(a, indices, axis).shape).astype(dtype)

        def gradient(indices=indices, g=g):
            x = ag.asarray(a, requires_grad=True)
            y = np.take(x, indices, axis)
            np.testing.assert_array_equal(y.numpy(), np.take(a, indices, axis))
            y.backward(g)
            return x.grad.numpy()

        assert gradient().dtype == dtype
        np.testing.assert_array_equal(gradient(), plain(gradient))


def test_places_along_any_axis_have_a_compiled_rule():
    x = ag.asarray(np.random.default_rng(0).normal(size=(4, 3, 5)), requires_grad=True)
    for axis in range(3):
        y = ag.take(x, np.array([0, 2, 2, -1]), axis=axis)
        assert try_rule(y.grad_fn, np.ones(y.shape)) is not None


def test_an_index_that_changes_after_the_gather_counts_as_it_was():
    x = ag.asarray(np.arange(4.0), requires_grad=True)
    index = np.array([0, 1])
    y = x[index]
    index[:] = 99
    y.backward(np.ones(2))
    assert x.grad.array.tolist() == [1.0, 1.0, 0.0, 0.0]


def leaf_and_slices():
    x = ag.asarray(np.arange(6.0), requires_grad=True)
    return x, x[1:4] * 2.0, x[3:] * 3.0


def test_a_hook_of_a_slices_node_sees_the_whole_gradient_it_returns():
    _, y, z = leaf_and_slices()
    seen = []
    y.grad_fn.next_functions[0][0].register_hook(lambda outs, _: seen.append(outs[0].array.copy()))
    ag.sum(y).backward(retain_graph=True)
    (ag.sum(y) + ag.sum(z)).backward()
    assert [s.tolist() for s in seen] == [[0.0, 2.0, 2.0, 2.0, 0.0, 0.0]] * 2


def test_a_hook_of_the_array_sees_the_sum():
    x, y, z = leaf_and_slices()
    seen = []
    x.register_hook(lambda g: seen.append(g.array.tolist()))
    (ag.sum(y) + ag.sum(z)).backward()
    assert seen == [[0.0, 2.0, 2.0, 5.0, 3.0, 3.0]]


def test_a_gradient_given_by_the_user_is_not_written():
    x = ag.asarray(np.arange(6.0), requires_grad=True)
    h = x * 1.0
    given = np.ones(6)
    ag.autograd.backward([h, ag.sum(h[2:4])], [given, None])
    assert given.tolist() == [1.0] * 6
    assert x.grad.array.tolist() == [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]


def test_a_gradient_that_exists_is_added_to():
    x, y, z = leaf_and_slices()
    for _ in range(2):
        (ag.sum(y) + ag.sum(z)).backward(retain_graph=True)
    assert x.grad.array.tolist() == [0.0, 4.0, 4.0, 10.0, 6.0, 6.0]


def test_gradients_of_slices_for_some_inputs_only():
    x, y, z = leaf_and_slices()
    (g,) = ag.autograd.grad(ag.sum(y) + ag.sum(z), x)
    assert g.array.tolist() == [0.0, 2.0, 2.0, 5.0, 3.0, 3.0]
    assert x.grad is None


def test_second_derivatives_of_slices():
    x = ag.asarray(np.arange(1.0, 7.0), requires_grad=True)
    (g,) = ag.autograd.grad(ag.sum(x[1:4] ** 3) + ag.sum(x[3:] ** 3), x, create_graph=True)
    ag.sum(g).backward()
    assert x.grad.array.tolist() == [0.0, 12.0, 18.0, 48.0, 30.0, 36.0]


def test_a_nested_run_over_the_same_array_keeps_its_own_sum():
    x, y, z = leaf_and_slices()
    inner = []
    other = ag.sum(z)
    y.register_hook(lambda g: inner.append(ag.autograd.grad(other, x, retain_graph=True)[0].array.tolist()))
    (ag.sum(y) + ag.sum(z)).backward(retain_graph=True)
    assert inner == [[0.0, 0.0, 0.0, 3.0, 3.0, 3.0]]
    assert x.grad.array.tolist() == [0.0, 2.0, 2.0, 5.0, 3.0, 3.0]


def test_a_node_called_by_hand_within_a_run_returns_its_gradient():
    _, y, z = leaf_and_slices()
    node = z.grad_fn.next_functions[0][0]
    found = []
    y.register_hook(lambda g: found.append(node(ag.asarray(np.ones(3))).array.tolist()))
    (ag.sum(y) + ag.sum(z)).backward()
    assert found == [[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]]


def test_outside_of_a_run_a_rule_makes_its_own_array():
    _, y, _ = leaf_and_slices()
    node = y.grad_fn.next_functions[0][0]
    ((g, owned),) = try_rule(node, np.ones(3))[:1]
    assert owned
    assert g.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]


def test_places_out_of_bounds_are_left_to_the_table():
    x = ag.asarray(np.arange(3.0), requires_grad=True)
    node = x[np.array([0, 2])].grad_fn
    assert try_rule(node, np.ones(3)) is None


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL gradients do not join what waits")
def test_a_slice_leaves_what_waits_outside_of_its_region_as_it_is():
    x = ag.asarray(np.ones(4), requires_grad=True)
    piece = x[1:3]
    whole = x * np.array([-0.0, -0.0, -0.0, -0.0])
    (ag.sum(whole) + ag.sum(piece)).backward()
    assert np.signbit(x.grad.array).tolist() == [True, False, False, True]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(7,), (7, 1), (7, 3), (7, 2, 3), (300, 100)])
def test_a_gather_gives_numpys_rows(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for places in ([0, 6, 6, 3], [-1, 0, -7], [[1, 2], [5, 5]], np.zeros((0,), "int64"), np.zeros((2, 0), "int64")):
        index = np.array(places, "int64")
        for name, args in (("_getitem", (x, index)), ("take", (x, index, 0 if x.ndim > 1 else None))):
            got = try_call(OPS[name], args)
            assert got.flags.c_contiguous
            assert (got.shape, got.dtype) == (x[index].shape, x.dtype)
            assert got.tobytes() == x[index].tobytes()
    many = np.random.default_rng(1).integers(-shape[0], shape[0], 500)
    assert try_call(OPS["_getitem"], (x, many)).tobytes() == x[many].tobytes()


def test_gathers_that_are_no_rows_are_left_to_numpy():
    x, index = np.arange(12.0).reshape(4, 3), np.array([0, 2])
    for name, args in [
        ("take", (x, index, 1)),
        ("take", (x, index, None)),
        ("take", (x, np.array([4]), 0)),
        ("take", (x.astype("float16"), index, 0)),
        ("take", (np.zeros((50, 30)).T, index, 0)),  # too large for a copy
        ("take", (x, index.astype("int32"), 0)),
        ("take", (np.zeros((0, 3)), np.zeros(0, "int64"), 0)),
    ]:
        assert try_call(OPS[name], args) is None
    for key in (index, np.array([True, False, True, False]), np.array(2), index.astype("int8"), [0, 2], np.int64(1)):
        np.testing.assert_array_equal(ag.asarray(x.T.copy().T)[key].numpy(), x[key])
    for places in (np.array([4]), np.array([-5])):
        with pytest.raises(IndexError, match="out of bounds"):
            ag.asarray(x)[places]
        with pytest.raises(IndexError):
            ag.take(ag.asarray(x), places, axis=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("inner", [1, 5, 64])
def test_rows_that_are_written_once_are_the_sums_of_the_table(inner, dtype):
    rng = np.random.default_rng(3)
    x, index = rng.normal(size=(1000, inner)).astype(dtype), rng.integers(-1000, 1000, 700)
    g = rng.choice([np.nan, np.inf, -0.0, 0.0, 1.5, -2.5, 1e-310], (700, inner)).astype(dtype)

    def gradient():
        t = ag.tensor(x, requires_grad=True)
        t[index].backward(g)
        return t.grad.numpy()

    with np.errstate(all="ignore"):
        got, expected = gradient(), plain(gradient)
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(10))
def test_elements_that_several_arrays_of_integers_name_have_the_plain_gradient(seed, dtype):
    generator = np.random.default_rng(seed)
    shape = [(5, 4), (3, 4, 2), (2, 3, 4, 2)][seed % 3]
    a = np.asarray(generator.normal(size=shape)).astype(dtype)
    n = generator.choice([0, 1, 7])
    named = generator.integers(2, len(shape) + 1)
    arrays = [generator.integers(-m, m, n if seed % 2 else (2, n)) for m in shape[:named]]
    mixed = (*arrays[:-1], int(arrays[-1].flat[0]) if n else 0)
    keys = [tuple(arrays), mixed, tuple(x[..., :1] if i else x for i, x in enumerate(arrays)), (slice(None), arrays[1])]
    weights = [generator.integers(-9, 9, a[key].shape).astype(dtype) for key in keys]
    check(a, keys, weights)


def test_the_compiled_rule_serves_arrays_of_integers_of_one_shape_and_ints():
    x = ag.tensor(np.ones((3, 4)), requires_grad=True)
    i = np.array([0, 2, -1])
    for key in ((i, i), (i, 1), (-1, i), (i, i.astype("int32")), (i, np.int8(1))):
        assert try_rule(x[key].grad_fn, np.ones(3)) is not None
    for key in ((i, i[:1]), (i[:1], i)):
        assert try_rule(x[key].grad_fn, np.ones(3)) is None
    (found,) = try_rule(x[i, 1].grad_fn, np.array([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(found[0], [[0, 1, 0, 0], [0, 0, 0, 0], [0, 110, 0, 0]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("seed", range(10))
def test_several_arrays_of_integers_give_numpys_elements(seed, dtype):
    generator = np.random.default_rng(seed)
    shape = [(5, 4), (3, 4, 2), (2, 3, 4, 2)][seed % 3]
    x = generator.normal(size=shape).astype(dtype)
    named = int(generator.integers(2, len(shape) + 1))
    arrays = [generator.integers(-m, m, (4,) if seed % 2 else (2, 3)) for m in shape[:named]]
    for key in (tuple(arrays), (*arrays[:-1], int(arrays[-1].flat[0])), (int(arrays[0].flat[0]), *arrays[1:])):
        got = try_call(OPS["_getitem"], (x, key))
        assert got.flags.c_contiguous
        assert (got.shape, got.dtype) == (x[key].shape, x.dtype)
        assert got.tobytes() == x[key].tobytes()


def test_several_arrays_of_integers_that_are_not_served_are_left_to_numpy():
    x, i = np.arange(12.0).reshape(3, 4), np.array([0, 2])
    none = np.zeros(0, "int64")
    for key in ((i, i[:1]), (i.astype("int8"), i), (i[::-1], i), ([0, 2], i), (i, slice(None)), (none, 1), (i, True)):
        np.testing.assert_array_equal(ag.asarray(x)[key].numpy(), x[key])
    np.testing.assert_array_equal(ag.asarray(x.T)[i, i].numpy(), x.T[i, i])
    for key in ((i, np.array([4, 0])), (np.array([0, -4]), i), (i, 4), (i, -5), (i, 1 << 80), (i, i, i)):
        with pytest.raises(IndexError):
            x[key]
        with pytest.raises(IndexError):
            ag.asarray(x)[key]


MASKED = [(7,), (4, 5), (3, 1, 4), (2, 3, 2, 2), (0, 3), (40, 50)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", MASKED)
def test_a_mask_gives_numpys_elements(shape, dtype):
    generator = np.random.default_rng(1)
    x = generator.normal(size=shape).astype(dtype)
    for axes in range(1, len(shape) + 1):
        for share in (0.0, 0.4, 1.0):
            mask = generator.uniform(size=shape[:axes]) < share
            got = try_call(OPS["_getitem"], (x, mask))
            assert got.flags.c_contiguous
            assert (got.shape, got.dtype) == (x[mask].shape, x.dtype)
            assert got.tobytes() == x[mask].tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", MASKED)
def test_masks_of_one_array_give_the_plain_gradient(shape, dtype, layout):
    generator = np.random.default_rng(2)
    a = LAYOUTS[layout](generator.normal(size=shape).astype(dtype))
    keys = [generator.uniform(size=shape[:axes]) < 0.5 for axes in range(1, len(shape) + 1)]
    keys += [LAYOUTS[layout](keys[-1]), keys[-1] & False, keys[-1] | True]
    weights = [generator.integers(-9, 9, a[key].shape).astype(dtype) for key in keys]
    check(a, keys, weights)
    check(a, keys, weights, generator.integers(-9, 9, shape).astype(dtype))


def test_the_compiled_rule_serves_masks():
    x = ag.tensor(np.ones((2, 3)), requires_grad=True)
    mask = np.array([[True, False, True], [False, True, False]])
    (found,) = try_rule(x[mask].grad_fn, np.array([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(found[0], [[1, 0, 10], [0, 100, 0]])
    (found,) = try_rule(x[np.array([False, True])].grad_fn, np.array([[1.0, 10.0, 100.0]]))
    np.testing.assert_array_equal(found[0], [[0, 0, 0], [1, 10, 100]])


def test_a_mask_that_changes_after_the_choice_counts_as_it_was():
    x, mask = ag.tensor(np.ones(3), requires_grad=True), np.array([True, False, True])
    y = x[mask]
    mask[:] = [False, True, True]
    ag.sum(y).backward()
    assert x.grad.numpy().tolist() == [1.0, 0.0, 1.0]


def test_masks_that_do_not_fit_are_numpys_error():
    a = np.ones((2, 3))
    for mask in (np.ones(3, bool), np.ones((2, 2), bool), np.ones((2, 3, 1), bool)):
        with pytest.raises(IndexError):
            a[mask]
        with pytest.raises(IndexError):
            ag.asarray(a, requires_grad=True)[mask]


COLUMNS = {
    "one": lambda t: t[:, 1] ** 2,
    "the last": lambda t: t[..., -1] ** 3,
    "two beside each other": lambda t: t[:, 1:3] ** 2,
    "every second": lambda t: t[:, ::2] ** 2,
    "backwards": lambda t: t[:, ::-2] ** 2,
    "of some rows": lambda t: t[5:-3:2, 1] ** 2,
    "rows backwards": lambda t: t[::-1, 1:3] ** 2,
    "one after the other": lambda t: t[:, 0] * t[:, 1] + t[:, 2] * t[:, 3],
    "the last first": lambda t: t[:, 3] * t[:, 3] - t[:, 0],
    "columns and rows": lambda t: np.sum(t[:, 1]) * np.sum(t[7]) + t[:, 1:3],
    "many": lambda t: t.reshape(200, -1)[:, 3:60] ** 2,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_a_large_matrix_are_written_with_zeros_between(name, dtype):
    x = np.random.default_rng(0).normal(size=(4000, 4)).astype(dtype)
    if dtype == "complex128":
        x *= 1 - 2j

    def gradients():
        found = []
        for f in (lambda y: y, lambda y: y * y):
            t = ag.asarray(x, requires_grad=True)
            np.sum(np.real(f(COLUMNS[name](t)))).backward()
            found.append(t.grad.numpy())
        return found

    for got, expected in zip(gradients(), plain(gradients), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4 if dtype == "float32" else 1e-12)
