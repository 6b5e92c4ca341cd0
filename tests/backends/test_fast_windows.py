"""Sliding windows: products with a vector, gradients that are added back, outer products (arrangements.hpp)."""

import numpy as np
import pytest
from fast_path_cases import plain, quiet, same

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_loop
from arraygrad.ops import OPS
from arraygrad.testing import gradcheck, gradgradcheck

windows_of = np.lib.stride_tricks.sliding_window_view


def values(shape, dtype, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "width"), [(9, 2), (9, 8), (40, 3), (700, 16), (3000, 5), (2000, 300)])
def test_a_product_of_windows_and_a_vector_is_numpys_bit_by_bit(n, width, dtype):
    for step in (1, 2):
        x, w = windows_of(values(n, dtype), width)[::step], values(width, dtype, 1)
        if len(x) < 2 or step >= width:
            continue
        got = try_loop(BACKEND, OPS["matmul"], x, w)[0]
        same(got, np.matmul(x, w))


def test_matrices_that_blas_reads_and_other_operands_are_left_to_it():
    line, w = values(50, "float64"), values(8, "float64", 1)
    x = windows_of(line, 8)
    for a, b in ((x.copy(), w), (x[:, ::-1], w), (x[:1], w), (x.T, values(43, "float64")), (x, w[::-1]),
                 (x, w.astype("float32")), (windows_of(line, 4)[::4], w[:4])):  # fmt: skip
        got = an.matmul(ag.asarray(a), b).numpy()
        np.testing.assert_array_equal(got, np.matmul(a, b))
    with pytest.raises(ValueError, match="matmul"):
        an.matmul(ag.asarray(x), values(7, "float64"))


def test_special_values_in_windows_are_numpys():
    line = values(60, "float64")
    line[[3, 20, 40]] = [np.nan, np.inf, -0.0]
    w = np.array([1.0, -0.0, 0.0, 2.0])
    with quiet():
        same(an.matmul(ag.asarray(windows_of(line, 4)), w).numpy(), np.matmul(windows_of(line, 4), w))


def test_an_overflow_of_a_product_with_windows_is_reported():
    x = windows_of(np.full(40, 1e308), 4)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in matmul"):
        an.matmul(ag.asarray(x), np.ones(4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "width"), [(9, 2), (40, 3), (700, 16), (3000, 5), (2000, 300)])
def test_gradients_of_such_a_product_are_those_of_the_plain_path(n, width, dtype):
    x, w = values(n, dtype), values(width, dtype, 1)
    g = values(n - width + 1, dtype, 2)

    def gradients():
        a, b = ag.asarray(x, requires_grad=True), ag.asarray(w, requires_grad=True)
        an.matmul(windows_of(a, width), b).backward(g)
        return a.grad.numpy(), b.grad.numpy()

    for got, expected in zip(gradients(), plain(gradients), strict=True):
        assert got.dtype == dtype
        scale = np.abs(expected).max() * (1e-5 if dtype == "float32" else 1e-13)
        np.testing.assert_allclose(got, expected, rtol=0, atol=scale)


WINDOWS = {
    "a line": ((4100,), (16,), (0,)),
    "one window": ((7,), (7,), (0,)),
    "of one element": ((30,), (1,), (0,)),
    "wide": ((900,), (500,), (0,)),
    "rows": ((4, 600), (5,), (1,)),
    "columns": ((600, 4), (5,), (0,)),
    "images": ((30, 40), (3, 4), (0, 1)),
    "images, axes exchanged": ((30, 40), (3, 4), (1, 0)),
    "stacks of images": ((3, 20, 25), (5, 2), (1, 2)),
    "one axis twice": ((50,), (4, 3), (0, 0)),
    "one axis twice and another": ((6, 50), (4, 3, 2), (1, 1, 0)),
    "negative axes": ((6, 50), (4,), (-1,)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", WINDOWS)
def test_the_gradient_of_windows_is_the_plain_one_bit_by_bit(case, dtype):
    shape, lengths, axes = WINDOWS[case]
    x = values(shape, dtype)
    g = values(windows_of(x, lengths, axes).shape, dtype, 1)

    def gradient():
        t = ag.asarray(x, requires_grad=True)
        windows_of(t, lengths, axes).backward(g)
        return t.grad.numpy()

    same(gradient(), plain(gradient))


def test_an_overflow_of_windows_that_are_added_is_reported():
    t = ag.asarray(np.zeros(400), requires_grad=True)
    y = windows_of(t, 2)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        y.backward(np.full(y.shape, 1e308))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_outer_products_are_numpys_bit_by_bit(dtype):
    for n, m in ((1, 1), (3, 5), (4000, 16), (16, 4000), (7, 0)):
        a, b = values(n, dtype), values(m, dtype, 1)
        a[:1], b[:1] = np.inf, -0.0
        with quiet():
            same(an.outer(ag.asarray(a), b).numpy(), np.outer(a, b))
            same(an.outer(ag.asarray(np.repeat(a, 2)[::2]), b).numpy(), np.outer(a, b))
    large = np.full(3, np.finfo(dtype).max)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in multiply"):
        an.outer(ag.asarray(large), large)


def test_first_and_second_derivatives_are_those_of_differences():
    given = [ag.asarray(values(n, "float64", i), requires_grad=True) for i, n in enumerate((7, 3))]

    def f(x, w):
        return an.matmul(windows_of(x * x, 3), w)

    assert gradcheck(f, given)
    assert gradgradcheck(f, given)


def small_windows(x):
    return windows_of(x, 16)


def image_windows(x):
    return windows_of(x, (2, 3))


KEYS = {
    "every window of a hop": np.s_[::16],
    "overlapping ones": np.s_[3:-5:4],
    "one after the other": np.s_[5:900],
    "backwards": np.s_[::-3],
    "backwards within the windows": np.s_[::4, ::-2],
    "a column": np.s_[:, 3],
    "one window": np.s_[7],
    "a new axis": np.s_[::8, None, 2:9],
    "none": np.s_[5:5],
    "an ellipsis": np.s_[..., ::5],
}
IMAGE_KEYS = {
    "pooled": np.s_[::2, ::3],
    "overlapping": np.s_[::2, 1:],
    "backwards": np.s_[::-1, ::-3, :, ::-1],
    "one row": np.s_[4],
    "a corner": np.s_[:, :, 0, 0],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("make", "shape", "key"),
    [(small_windows, (1500,), key) for key in KEYS.values()]
    + [(image_windows, (40, 50), key) for key in IMAGE_KEYS.values()],
    ids=[*KEYS, *(f"images, {name}" for name in IMAGE_KEYS)],
)
def test_the_gradient_of_a_slice_of_windows_is_the_plain_one_bit_by_bit(make, shape, key, dtype):
    x = values(shape, dtype)
    chosen = make(x)[key]
    g = values(chosen.shape, dtype, 1)
    if g.size:
        g.flat[0], g.flat[-1] = np.inf, -0.0

    def gradient():
        t = ag.asarray(x, requires_grad=True)
        with quiet():
            make(t)[key].backward(g)
        return t.grad.numpy()

    same(gradient(), plain(gradient))
    g = np.swapaxes(values(chosen.shape[::-1], dtype, 1).T, 0, 0)
    same(gradient(), plain(gradient))


def line_windows(t):
    return windows_of(t, 8)


def wide_image_windows(t):
    return windows_of(t, (3, 5))


RNG = np.random.default_rng(3)
AT, ACROSS = RNG.integers(-70, 70, 50), RNG.integers(0, 60, 50)
PLACES = {
    "places": (line_windows, (3000,), AT),
    "places in two axes": (line_windows, (3000,), AT.reshape(5, 10)),
    "one of them alone": (line_windows, (3000,), AT[:1]),
    "one named again and again": (line_windows, (3000,), np.full(20, 7)),
    "a list": (line_windows, (3000,), [3, -2, 3]),
    "rows of images": (wide_image_windows, (80, 90), AT),
    "pixels of images": (wide_image_windows, (80, 90), (AT, ACROSS)),
    "pixels of a row": (wide_image_windows, (80, 90), (4, ACROSS)),
    "elements of windows": (wide_image_windows, (80, 90), (AT, ACROSS, ACROSS % 3, 2)),
    "a mask": (line_windows, (3000,), np.arange(2993) % 100 < 3),
    "of another order": (lambda t: wide_image_windows(t.T), (90, 80), (AT, ACROSS)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PLACES)
def test_the_gradient_of_windows_at_places_is_the_plain_one(name, dtype):
    make, shape, key = PLACES[name]
    x = values(shape, dtype)
    g = values(make(x)[key].shape, dtype, 1)

    def gradients():
        found = []
        for weights in (g, np.asfortranarray(g), np.broadcast_to(np.asarray(0.5, dtype), g.shape)):
            t = ag.asarray(x, requires_grad=True)
            make(t)[key].backward(weights)
            found.append(t.grad.numpy())
        return found

    for got, expected in zip(gradients(), plain(gradients), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 if dtype == "float32" else 1e-13)


def test_several_gathers_of_windows_and_others_of_their_gradients():
    x = values(3000, "float64")

    def gradients():
        t = ag.asarray(x, requires_grad=True)
        w = line_windows(t)
        (np.sum(w[AT] ** 2) + np.sum(w[AT[:9]] ** 3) + np.sum(w[::16] ** 2) + np.sum(w) + np.sum(t * t)).backward()
        seen = []
        u = ag.asarray(x, requires_grad=True)
        w = line_windows(u)
        w.register_hook(lambda g: seen.append(g.numpy().copy()))
        np.sum(w[AT] ** 2).backward()
        return [t.grad.numpy(), u.grad.numpy(), *seen]

    for got, expected in zip(gradients(), plain(gradients), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_an_overflow_of_windows_at_places_is_reported():
    t = ag.asarray(np.zeros(3000), requires_grad=True)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        line_windows(t)[np.array([5, 6])].backward(np.full((2, 8), 1.7e308))


def test_places_that_are_not_there_are_numpys_error():
    t = ag.asarray(np.zeros(3000), requires_grad=True)
    with pytest.raises(IndexError):
        line_windows(t)[np.array([2993])]


def test_whoever_looks_at_the_gradient_of_all_windows_finds_it_whole():
    x = values(1500, "float64")
    g = values(windows_of(x, 16)[::4].shape, "float64", 1)
    whole = np.zeros(windows_of(x, 16).shape)
    whole[::4] = g
    seen = []

    def gradients(look):
        t = ag.asarray(x, requires_grad=True)
        w = windows_of(t, 16)
        look(w)
        y = w[::4]
        return t, w, y

    t, w, y = gradients(lambda w: w.retain_grad())
    y.backward(g)
    same(w.grad.numpy(), whole)
    expected = t.grad.numpy()
    t, w, y = gradients(lambda w: w.register_hook(lambda grad: seen.append(grad.numpy().copy())))
    y.backward(g)
    same(seen[0], whole)
    same(t.grad.numpy(), expected)
    t, w, y = gradients(lambda w: None)
    found = ag.autograd.grad(y, [w, t], ag.asarray(g))
    same(found[0].numpy(), whole)
    same(found[1].numpy(), expected)


def test_several_slices_of_the_same_windows_are_added():
    x = values(1500, "float64")

    def gradient():
        t = ag.asarray(x, requires_grad=True)
        w = windows_of(t, 16)
        (w[::4].sum() * 2 + (w[1::7] * w[2::7]).sum() + w[3].sum() + w[:, 0] @ w[:, 5]).backward()
        return t.grad.numpy()

    same(gradient(), plain(gradient))


def test_slices_of_complex_windows_and_of_windows_of_windows():
    def gradient():
        t = ag.asarray(x, requires_grad=True)
        (np.abs(windows_of(t, 16)[::8]) ** 2).sum().backward()
        return t.grad.numpy()

    x = values(1500, "float64") + 1j * values(1500, "float64", 1)
    np.testing.assert_allclose(gradient(), plain(gradient))

    def twice():
        t = ag.asarray(x, requires_grad=True)
        (windows_of(windows_of(t, 8)[::2], 4, axis=0)[::3] ** 2).sum().backward()
        return t.grad.numpy()

    x = values(1500, "float64")
    np.testing.assert_allclose(twice(), plain(twice))


def test_derivatives_of_slices_of_windows_are_those_of_differences():
    t = ag.asarray(values(200, "float64"), requires_grad=True)

    def f(x):
        return (windows_of(x, 20)[::9, ::-2] ** 3).sum()

    assert gradcheck(f, (t,))
    assert gradgradcheck(f, (t,))
