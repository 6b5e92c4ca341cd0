"""Orders and sorted values by digits and by words (backends/numpy/sorting.hpp): NumPy's bit by bit; gradients."""

import numpy as np
import pytest
from fast_path_cases import plain, same

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.backends.numpy.sorting import argsort
from arraygrad.backends.numpy.table import try_rule
from arraygrad.testing import gradcheck, gradgradcheck

# Around what insertion, words, words in pieces, and digits of two widths begin with.
SIZES = [1, 2, 3, 31, 32, 33, 100, 256, 257, 300, 513, 1025, 2048, 2049, 4095, 5000, 20000]
DTYPES = ["float32", "float64", "int64"]


def special(n, generator):
    values = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1.0, -1.0, 1.7e308, 2.0**-1022]
    return generator.choice(values, n)


def clustered(n, generator):
    """Groups of numbers that share their leading bits, and one far away."""
    x = 1.0 + generator.normal(size=n) * np.finfo(float).eps * 8
    x[n // 2] = 1e300
    x[n // 3] = 0.0
    return x


# What sorts differently on its way: many distinct leading bits or few, ties, runs, a range that one element stretches.
DATA = {
    "normal": lambda n, generator: generator.normal(size=n),
    "narrow": lambda n, generator: np.exp(generator.normal(size=n) / max(n, 2)),
    "clustered": clustered,
    "many ties": lambda n, generator: np.floor(generator.normal(size=n) * 3),
    "two values": lambda n, generator: generator.choice([2.5, -2.5], n),
    "equal": lambda n, generator: np.full(n, 3.0),
    "in order": lambda n, generator: np.sort(generator.normal(size=n)),
    "backwards": lambda n, generator: np.sort(generator.normal(size=n))[::-1].copy(),
    "nearly in order": lambda n, generator: np.arange(n) + 3 * generator.normal(size=n),
    "round numbers of both signs": lambda n, generator: generator.integers(-40, 40, n) * 0.25,
    "close together": lambda n, generator: 1.7e9 + generator.integers(0, 50, n) * 2.0**-22,
    "all magnitudes": lambda n, generator: np.exp(40 * generator.normal(size=n)) * generator.choice([1, -1], n),
    "some nan": lambda n, generator: np.where(generator.random(n) < 0.1, np.nan, generator.normal(size=n)),
    "special": special,
}


def values_of(kind, shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    n = int(np.prod(shape))
    x = DATA[kind](n, generator)
    if dtype == "int64":
        with np.errstate(invalid="ignore", over="ignore"):
            x = np.clip(np.nan_to_num(x) * 1e6, -(2.0**62), 2.0**62).astype(np.int64)
        if n > 3:
            x[:4] = [np.iinfo(np.int64).min, np.iinfo(np.int64).max, -1, 0]
    else:
        with np.errstate(over="ignore", under="ignore"):
            x = x.astype(dtype)
    return x.reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", DATA)
def test_the_order_is_numpys_stable_one(kind, dtype):
    for n in SIZES:
        x = values_of(kind, (n,), dtype, seed=n)
        got = argsort(x)
        assert got.dtype == np.intp
        np.testing.assert_array_equal(got, np.argsort(x, kind="stable"))


def bits(a):
    """The bytes of an array, without the signs of nan, which NumPy's vector sorts drop."""
    return np.where(np.isnan(a), a.dtype.type(np.nan), a).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", DATA)
def test_sorted_values_are_numpys_bit_by_bit(kind, dtype):
    for n in SIZES:
        x = values_of(kind, (n,), dtype, seed=n)
        for stable in (True, False):
            for descending in (False, True):
                t = ag.asarray(x, requires_grad=True)
                options = {"descending": descending, "stable": stable}
                expected = plain(lambda x=x, options=options: ag.sort(ag.asarray(x), **options).numpy())
                if not descending:
                    assert bits(expected) == bits(np.sort(x, kind="stable" if stable else None))
                for array in (t, t.detach()):
                    got = ag.sort(array, **options).numpy()
                    assert bits(got) == bits(expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 40), (300, 3), (1, 7), (7, 1), (3, 20, 9), (2, 300, 17), (4, 1, 3), (3, 2100)])
def test_every_axis_is_sorted_by_itself(shape, dtype):
    for kind in ("normal", "many ties", "special", "clustered", "close together"):
        x = values_of(kind, shape, dtype)
        for axis in range(-len(shape), len(shape)):
            np.testing.assert_array_equal(argsort(x, axis), np.argsort(x, axis, kind="stable"))
            if dtype != "int64":
                got = an.sort(ag.asarray(x, requires_grad=True), axis=axis)
                assert got.numpy().tobytes() == np.sort(x, axis, kind="stable").tobytes()


def test_orders_of_ties_that_need_not_be_stable_are_numpys():
    for kind in ("many ties", "special", "normal", "two values"):
        x = values_of(kind, (3000,), "float64")
        np.testing.assert_array_equal(np.argsort(ag.asarray(x)).numpy(), np.argsort(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["normal", "many ties", "special", "clustered"])
def test_the_gradient_of_a_sorted_array_is_the_plain_one(kind, dtype):
    for shape, axis, order in (
        ((5000,), 0, "C"),
        ((40, 70), 0, "C"),
        ((40, 70), 1, "C"),
        ((6, 5, 4), 1, "C"),
        ((6, 5, 4), -1, "F"),
        ((3, 600, 2), 1, "F"),
        ((700, 3), -2, "F"),
    ):
        x = np.array(values_of(kind, shape, dtype), order=order)
        g = np.random.default_rng(9).normal(size=shape).astype(dtype)
        for descending in (False, True):
            for stable in (False, True):

                def gradient(x=x, g=g, axis=axis, descending=descending, stable=stable):
                    t = ag.asarray(x, requires_grad=True)
                    ag.sort(t, axis=axis, descending=descending, stable=stable).backward(g)
                    return t.grad.numpy()

                same(gradient(), plain(gradient))


def test_other_layouts_have_the_plain_gradient():
    x, g = values_of("many ties", (30, 40), "float64"), values_of("normal", (30, 40), "float64", 1)
    for lay_out in (np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2], lambda a: a[::-1], lambda a: a.T.copy().T):

        def gradient(lay_out=lay_out):
            t = ag.asarray(lay_out(x), requires_grad=True)
            ag.sort(t, axis=0).backward(lay_out(g))
            return t.grad.numpy()

        np.testing.assert_array_equal(gradient(), plain(gradient))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_recorded_values_of_column_major_arrays_are_numpys(dtype):
    for shape in ((40, 70), (6, 5, 40), (300, 3)):
        for kind in ("normal", "special", "some nan", "round numbers of both signs"):
            x = np.asfortranarray(values_of(kind, shape, dtype))
            for axis in range(-len(shape), len(shape)):
                for stable in (False, True):
                    t = ag.asarray(x, requires_grad=True)
                    got = ag.sort(t, axis=axis, stable=stable).numpy()
                    assert bits(got) == bits(np.sort(x, axis, "stable" if stable else None))
                    assert got.strides == x.strides


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", DATA)
def test_the_gradient_of_distinct_values_goes_to_the_first_of_each(kind, dtype):
    for shape in ((1,), (40,), (30, 17), (5000,)):
        x = values_of(kind, shape, dtype)
        g = np.random.default_rng(3).normal(size=ag.unique_values(ag.asarray(x)).shape).astype(dtype)

        def gradient(x=x, g=g):
            t = ag.asarray(x, requires_grad=True)
            ag.unique_values(t).backward(g)
            return t.grad.numpy()

        same(gradient(), plain(gradient))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_kth_of_equal_elements_is_the_kth_of_them_in_a_partition(dtype):
    for shape, axis in (((9, 6), 1), ((1500,), 0), ((40, 300), 1), ((300, 40), 0), ((3, 300, 4), 1)):
        for kind in ("normal", "many ties", "two values"):
            x = values_of(kind, shape, dtype)
            g = np.random.default_rng(4).normal(size=shape).astype(dtype)
            for order in "CF" if len(shape) < 3 else "C":
                t = ag.asarray(np.array(x, order=order), requires_grad=True)
                y = np.partition(t, shape[axis] // 2, axis)
                np.testing.assert_array_equal(y.numpy(), np.partition(np.array(x, order=order), shape[axis] // 2, axis))
                y.backward(g)
                expected = np.empty_like(x)
                before, after = [np.argsort(a, axis, "stable") for a in (x, y.numpy())]
                np.put_along_axis(expected, before, np.take_along_axis(g, after, axis), axis)
                np.testing.assert_array_equal(t.grad.numpy(), expected)


def test_the_order_that_the_forward_leaves_and_one_found_by_the_rule_are_the_same():
    x, g = values_of("many ties", (500,), "float64"), values_of("normal", (500,), "float64", 1)
    t = ag.asarray(x, requires_grad=True)
    left = try_rule(ag.sort(t).grad_fn, g)
    before = set_fast_paths(False)
    y = ag.sort(t)
    set_fast_paths(before)
    with ag.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
        packed = ag.sort(t)
    np.testing.assert_array_equal(left[0][0], plain(lambda: ag.autograd.grad(y, t, g)[0].numpy()))
    np.testing.assert_array_equal(left[0][0], ag.autograd.grad(packed, t, g)[0].numpy())


def test_what_is_written_after_the_sort_does_not_count():
    t = ag.asarray(values_of("normal", (500,), "float64"), requires_grad=True)
    u = t * 1
    y = ag.sort(u)
    expected = np.argsort(np.argsort(t.numpy())).astype(float)
    u[...] = 0.0
    y.backward(np.arange(500.0))
    np.testing.assert_array_equal(t.grad.numpy(), expected)


def test_dtypes_without_an_order_by_digits_are_left_to_numpy():
    for dtype in ("float16", "int32", "uint8", ">f8", "complex64"):
        x = np.random.default_rng(0).integers(0, 9, 50).astype(dtype)
        np.testing.assert_array_equal(argsort(x), np.argsort(x, kind="stable"))
    for x, axis in ((np.zeros((3, 0)), 0), (np.zeros((3, 3)).T[:, ::2], 0), (np.zeros(3), None)):
        np.testing.assert_array_equal(argsort(x, axis), np.argsort(x, axis, kind="stable"))


def test_an_axis_that_is_not_there_is_refused():
    for function in (ag.sort, ag.argsort):
        with pytest.raises(IndexError, match="axis 2 is out of bounds"):
            function(ag.asarray(np.ones((3, 3)), requires_grad=True), axis=2)


def test_first_and_second_derivatives_are_those_of_differences():
    x = ag.asarray(np.random.default_rng(0).uniform(0.3, 1.7, (3, 5)), requires_grad=True)
    for axis in (0, 1):
        for descending in (False, True):

            def f(t, axis=axis, descending=descending):
                s = ag.sort(t, axis=axis, descending=descending)
                return s * s * s

            assert gradcheck(f, (x,))
            assert gradgradcheck(f, (x,))


@pytest.mark.parametrize("name", ["median", "quantile", "percentile", "nanmedian", "nanquantile"])
def test_statistics_of_ranks_have_the_plain_gradient(name):
    for kind in ("normal", "many ties"):
        x = values_of(kind, (300, 4), "float64")
        for axis in (None, 0):

            def gradient(x=x, axis=axis):
                t = ag.asarray(x, requires_grad=True)
                extra = () if name.endswith("median") else ((30,) if name == "percentile" else (0.3,))
                y = getattr(np, name)(t, *extra, axis=axis)
                (y * y).sum().backward()
                return t.grad.numpy()

            np.testing.assert_array_equal(gradient(), plain(gradient))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [2, 300])
def test_descending_values_lie_as_ascending_ones_do_however_they_are_computed(n, order):
    x = np.array(np.random.default_rng(n).normal(size=(n, 3)), order=order)
    for array in (ag.asarray(x), ag.asarray(x, requires_grad=True)):
        found = ag.sort(array, axis=0, descending=True)
        assert found.detach().numpy().strides == x.strides
        assert plain(lambda a=array: ag.sort(a, axis=0, descending=True)).detach().numpy().strides == x.strides
