"""Gradients of sums, which repeat along axes: rules of elementwise operations read them so, bit by bit as written out.

See backends/numpy/repeats.hpp.
"""

import sysconfig

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain, quiet, same, values_of

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad import memory
from arraygrad.backends.numpy.table import try_rule
from arraygrad.engine import sharing

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
SHAPE = (3, 50, 60, 3)
AXES = [-1, 0, 1, (1, 2), (2, 3), (0, 1), (1, 2, 3), (0, 2), (0, 3), None]
OPERATIONS = {
    "exp": lambda x, y: an.exp(x),
    "sin": lambda x, y: an.sin(x),
    "sqrt": lambda x, y: an.sqrt(x),
    "abs": lambda x, y: an.abs(x),
    "tanh": lambda x, y: an.tanh(x),
    "sigmoid": lambda x, y: ag.special.expit(x),
    "square": lambda x, y: x**2,
    "power": lambda x, y: x**2.5,
    "power of an array": lambda x, y: x**y,
    "by itself": lambda x, y: x * x,
    "product": lambda x, y: x * y,
    "product with a number": lambda x, y: x * 2.5,
    "product with a row": lambda x, y: x * y[:1, :1, :1],
    "power of a row": lambda x, y: x ** y[:1, :1, :1],
    "quotient": lambda x, y: x / y,
    "difference": lambda x, y: x - y,
}


def gradients(operation, axis, keepdims, arrays, mean=False):
    x, y = (ag.tensor(a, requires_grad=True) for a in arrays)
    middle = OPERATIONS[operation](x + 0.0, y + 0.0)
    out = (an.mean if mean else an.sum)(middle, axis=axis, keepdims=keepdims)
    g = np.linspace(-1.0, 2.0, out.size).reshape(out.shape).astype(arrays[0].dtype)
    out.backward(ag.tensor(g))
    return [t.grad.array for t in (x, y) if t.grad is not None]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_gradients_of_sums_are_those_of_the_plain_path(operation, axis):
    for dtype in DTYPES:
        arrays = [values_of(dtype, seed, 0.2, 3.0)(SHAPE) for seed in (0, 1)]
        for keepdims, mean in ((False, False), (True, True)):
            got = gradients(operation, axis, keepdims, arrays, mean)
            expected = plain(gradients, operation, axis, keepdims, arrays, mean)
            assert len(got) == len(expected)
            for a, b in zip(got, expected, strict=True):
                if operation in ("product with a row", "power of a row", "quotient", "power"):
                    assert (a.dtype, a.shape) == (b.dtype, b.shape)
                    np.testing.assert_allclose(a, b, rtol=1e-12 if dtype == "float64" else 2e-5)
                else:
                    same(a, b)


@pytest.mark.parametrize("axis", [-1, 0, 1, (0, 1)], ids=str)
def test_the_gradient_of_a_sum_of_squares_is_that_of_the_formula(axis):
    a = values_of("float64")((70, 40, 5))
    g = values_of("float64", 7)(np.sum(a, axis=axis).shape)
    x = ag.tensor(a, requires_grad=True)
    an.sum((x + 0.0) ** 2, axis=axis).backward(ag.tensor(g))
    np.testing.assert_allclose(x.grad.array, 2 * a * np.expand_dims(g, axis), rtol=1e-15)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: np.repeat(a, 2, -1)[..., ::2], lambda a: a[::-1]])
def test_operands_of_other_layouts_give_the_same(layout):
    arrays = [layout(values_of("float64", seed, 0.2, 3.0)((40, 50, 3))) for seed in (0, 1)]
    for operation in ("exp", "by itself", "product", "power of an array"):
        for axis in (-1, 0):

            def run(operation=operation, axis=axis):
                x, y = (ag.tensor(a, requires_grad=True) for a in arrays)
                an.sum(OPERATIONS[operation](x, y), axis=axis).sum().backward()
                return x.grad.array

            np.testing.assert_allclose(run(), plain(run), rtol=1e-14)


def requests(function):
    function()
    before = memory.statistics()
    function()
    after = memory.statistics()
    return sum(after[k] - before[k] for k in ("hits", "misses"))


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL another thread may deliver a gradient there too")
def test_such_a_gradient_is_not_written_out():
    a, g = values_of("float64", 0, 0.2, 3.0)((50, 40, 3)), ag.tensor(np.ones((50, 40)))

    def run(watched):
        x = ag.tensor(a, requires_grad=True)
        middle = an.exp(x)
        if watched:
            middle.register_hook(lambda g: None)
        an.sum(middle, axis=-1).backward(g)

    assert requests(lambda: run(False)) == requests(lambda: run(True)) - 1


def test_whoever_looks_at_the_gradient_gets_an_array_of_its_own():
    a = values_of("float64", 0, 0.2, 3.0)((50, 40, 3))
    g = values_of("float64", 1)((50, 40))
    x, seen = ag.tensor(a, requires_grad=True), []
    middle = an.exp(x)
    middle.register_hook(lambda g: seen.append(g.array))
    out = an.sum(middle, axis=-1)
    (captured,) = ag.autograd.grad(out, [middle], [ag.tensor(g)])
    middle = an.exp(x)
    middle.retain_grad()
    an.sum(middle, axis=-1).backward(ag.tensor(g))
    for array in (captured.array, middle.grad.array, *seen):
        assert array.shape == a.shape
        np.testing.assert_array_equal(array, np.repeat(g[..., None], 3, -1))
    assert captured.array.strides == a.strides
    captured.array[0] = 7.0
    np.testing.assert_array_equal(g, values_of("float64", 1)((50, 40)))


def test_several_gradients_that_meet_are_added():
    a = values_of("float64", 0, 0.2, 3.0)((50, 40, 3))

    def run():
        x = ag.tensor(a, requires_grad=True)
        middle = an.exp(x)
        (an.sum(middle, axis=-1).sum() + an.sum(middle, axis=0).sum() * 2.0 + middle.sum()).backward()
        return x.grad.array

    same(run(), plain(run))


@pytest.mark.parametrize("axis", [-1, 0, 1], ids=str)
def test_errors_are_those_of_the_plain_path(axis):
    a = values_of("float64")((40, 50, 3))
    a[3] = 0.0

    def run():
        x = ag.tensor(a, requires_grad=True)
        with quiet():
            out = an.sum(an.sqrt(an.abs(x)), axis=axis)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError) as caught:
            out.backward(ag.tensor(np.ones(out.shape)))
        return str(caught.value)

    assert run() == plain(run)


@pytest.mark.parametrize("axis", [-1, 0, 1], ids=str)
def test_several_threads_give_the_same(axis):
    cores, divisor = sharing.set_cores(4), sharing.set_divisor(1000)
    a = values_of("float64", 0, 0.2, 3.0)((300, 50, 7))
    try:
        found = []
        for threads in (1, 3):
            with ag.set_num_threads(threads):
                for operation in ("exp", "by itself", "tanh"):
                    found.append(gradients(operation, axis, False, (a, a))[0])
    finally:
        sharing.set_cores(cores)
        sharing.set_divisor(divisor)
    for one, three in zip(found[:3], found[3:], strict=True):
        same(one, three)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shapes", [((60, 1, 3), (1, 50, 3)), ((1, 50, 9), (60, 1, 9)), ((5, 20, 1, 3), (20, 40, 3)), ((60, 1), (1, 70))]
)
def test_both_operands_of_a_difference_of_pairs_get_numpys_sums(shapes, dtype):
    arrays = [values_of(dtype, seed)(shape) for seed, shape in enumerate(shapes)]
    g = values_of(dtype, 5)(np.broadcast_shapes(*shapes))
    for sign, combine in ((1, np.add), (-1, np.subtract)):
        x, y = (ag.tensor(a, requires_grad=True) for a in arrays)
        combine(x, y).backward(ag.tensor(g))
        for t, factor in ((x, 1), (y, sign)):
            lead = g.ndim - t.ndim
            axes = tuple(d for d in range(g.ndim) if d < lead or t.shape[d - lead] != g.shape[d])
            expected = np.add.reduce(g, axis=axes, keepdims=True).reshape(t.shape)
            same(t.grad.array, expected if factor == 1 else -expected)


MOVED = {
    "repeat": lambda x: an.repeat(x, 3, axis=1),
    "tile": lambda x: an.tile(x, (2, 1)),
    "cumulative_sum": lambda x: an.cumulative_sum(x, axis=1),
    "tril": lambda x: an.tril(x),
    "triu": lambda x: an.triu(x, k=2),
    "roll": lambda x: an.roll(x, 3, axis=0),
    "diff": lambda x: an.diff(x, axis=0),
    "take_along_axis": lambda x: an.take_along_axis(x, np.argsort(x.detach().numpy(), axis=1), axis=1),
    "softmax": lambda x: ag.softmax(x, axis=1),
    "log_softmax": lambda x: ag.log_softmax(x, axis=1),
    "rows": lambda x: x[np.array([3, 1, -4, 3] * 40)],
    "elements": lambda x: x[np.arange(80).repeat(60), np.arange(4800) % 90],
    "outer": lambda x: an.outer(x[0], x[1]),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "max": lambda x: an.max(an.repeat(x, 2, axis=0), axis=(0, 1), keepdims=True) * x,
    "clip": lambda x: np.clip(x, x.detach().numpy()[:1], 0.5),
    "interp": lambda x: np.interp(x, np.linspace(-2.0, 2.0, 9), np.cos(np.arange(9.0))),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_number_for_all_serves_rules_that_move_elements(name):
    x = np.random.default_rng(0).normal(size=(80, 90))

    def gradient(total):
        t = ag.asarray(x, requires_grad=True)
        total(MOVED[name](t)).backward()
        return t.grad.numpy()

    got = gradient(np.sum)
    assert got.flags.c_contiguous
    np.testing.assert_allclose(got, gradient(lambda y: np.sum(y * np.ones(y.shape))), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got, plain(lambda: gradient(np.sum)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["cumulative_sum", "rows"])
def test_such_rules_do_not_decline_one_number_for_all(name):
    y = MOVED[name](ag.asarray(np.random.default_rng(0).normal(size=(80, 90)), requires_grad=True))
    assert try_rule(y.grad_fn, np.broadcast_to(np.asarray(2.0), y.shape)) is not None
