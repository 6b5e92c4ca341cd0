"""Compiled ways of joining arrays, of squares, and of reductions that meet another gradient: each as the plain path."""

import itertools

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain, same, values_of

import arraygrad as ag

SHAPES = [(3,), (1,), (0,), (2, 3), (0, 3), (2, 0), (2, 3, 4)]
LAYOUTS = {
    "row-major": lambda a: a,
    "column-major": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1],
}


def gradients(function, arrays, g=None):
    """[value, *gradients] of a function of several Tensors."""
    leaves = [ag.asarray(a, requires_grad=True) for a in arrays]
    out = function(leaves)
    out.backward(np.cos(np.arange(out.size)).reshape(out.shape).astype(out.dtype) if g is None else g(out))
    return [out.numpy(), *[leaf.grad.numpy() for leaf in leaves]]


def agree(function, arrays, g=None):
    with np.errstate(all="ignore"):
        for got, expected in zip(gradients(function, arrays, g), plain(gradients, function, arrays, g), strict=True):
            same(got, expected)
            assert got.strides == expected.strides or got.size <= 1


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [0, -1, 1, -2])
@pytest.mark.parametrize("name", ["stack", "concat"])
def test_joined_arrays_have_the_plain_values_and_gradients(name, axis, layout):
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        if not -len(shape) <= axis < len(shape):
            continue
        arrays = [LAYOUTS[layout](values_of(dtype, i)(shape)) for i in range(4)]
        agree(lambda leaves: getattr(ag, name)(leaves, axis=axis), arrays)


@pytest.mark.parametrize("kind", ["int64", "bool", "complex128", ">f8"])
def test_other_dtypes_are_joined_as_by_numpy(kind):
    arrays = [np.arange(4).astype(kind), np.arange(4, 8).astype(kind)]
    for name in ("stack", "concat"):
        got = getattr(ag, name)([ag.asarray(a) for a in arrays]).numpy()
        expected = getattr(np, name)(arrays)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_arrays_of_two_dtypes_are_joined_as_by_numpy():
    agree(lambda leaves: ag.stack(leaves), [np.ones(3, "float32"), np.ones(3, "float64")])
    agree(lambda leaves: ag.concat(leaves), [np.ones(3, "float32"), np.ones(2, "float64")])


def test_arrays_of_two_shapes_are_refused_as_by_numpy():
    with pytest.raises(ValueError, match="same shape"):
        ag.stack([ag.tensor(np.ones(3)), ag.tensor(np.ones(2))])


def test_concat_of_lengths_that_differ_and_of_no_length():
    agree(lambda leaves: ag.concat(leaves), [np.arange(float(n)) for n in (3, 0, 1, 5)])
    agree(lambda leaves: ag.concat(leaves, axis=1), [np.ones((2, n)) for n in (3, 0, 1, 5)])
    agree(lambda leaves: ag.concat(leaves, axis=None), [np.ones((2, n)) for n in (3, 0, 1, 5)])


def test_one_array_may_be_joined_with_itself():
    agree(lambda leaves: ag.concat([leaves[0], leaves[0]]) + ag.stack([leaves[0]] * 2).reshape(-1), [np.arange(3.0)])


@pytest.mark.parametrize("special", [np.nan, np.inf, -0.0, 1e308, 3e38, 5e-324])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_square_written_as_a_product_has_the_plain_gradient(dtype, special):
    with np.errstate(all="ignore"):
        x = np.concatenate([values_of(dtype, 1)((40,)), np.array([special, -special]).astype(dtype)])
    agree(lambda leaves: leaves[0] * leaves[0], [x])
    agree(lambda leaves: (leaves[0] + 1) * leaves[0], [x])
    agree(lambda leaves: (lambda t: t * t + t * t)(leaves[0] * 2), [x])


def test_a_squares_node_called_by_hand_or_watched_gives_both_products():
    t = ag.tensor([1.0, 10.0], requires_grad=True)
    node = (t * t).grad_fn
    for given in node(ag.asarray([1.0, 2.0])):
        np.testing.assert_array_equal(given.numpy(), [1.0, 20.0])
    y = t * t
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append([None if g is None else g.numpy() for g in inputs]))
    y.backward(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(seen, [[[1.0, 20.0], [1.0, 20.0]]])
    np.testing.assert_array_equal(t.grad.numpy(), [2.0, 40.0])


def test_a_square_of_what_was_written_since_is_refused():
    t = ag.tensor(np.ones(3), requires_grad=True) * 1
    y = t * t
    t += 1
    y.backward(np.ones(3))  # each node keeps the values it computed with
    same(y.numpy(), np.ones(3))


@pytest.mark.parametrize("shape", [(80, 90), (9000,), (20, 20, 20), (90, 1, 90)])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_reductions_gradient_joins_one_that_waits(name, axis, shape, dtype):
    x = np.round(values_of(dtype, 3)(shape), 2)  # ties for max and min
    reduced = getattr(ag, name)
    for keepdims in (False, True):

        def minus(leaves):
            t = ag.sin(leaves[0])
            return t * 3 - reduced(t, axis=axis, keepdims=True)

        def plus(leaves, keepdims=keepdims):
            t = ag.exp(leaves[0])
            return ag.sum(t * 3) + ag.sum(reduced(t, axis=axis, keepdims=keepdims) * 2)

        agree(minus, [x])
        agree(plus, [x])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_maximums_gradient_joins_what_waits_at_few_and_at_many_places(dtype):
    x = values_of(dtype, 3)((90, 150))
    x[1] = 2.0  # all tie
    x[2, ::40] = 9.0
    x[3, [0, 63, 64, 149]] = 9.0
    x[4, 149] = 9.0
    for weight in (1.0, -2.0, np.inf, np.nan, 0.0):

        def f(leaves, weight=weight):
            t = ag.exp(leaves[0])
            return ag.sum(t * 3) + ag.sum(ag.max(t, axis=1) * weight) + ag.sum(ag.min(t, axis=1) * 2)

        with np.errstate(all="ignore"):
            agree(f, [x])


def test_a_softmax_written_out_has_the_plain_gradient():
    for dtype in DTYPES:
        x = values_of(dtype, 2)((70, 80))
        x[3, 4], x[5, 6], x[7] = np.nan, np.inf, 0

        def softmax(leaves):
            e = ag.exp(leaves[0] - ag.max(leaves[0], axis=1, keepdims=True))
            return e / ag.sum(e, axis=1, keepdims=True)

        with np.errstate(all="ignore"):
            got, expected = gradients(softmax, [x]), plain(gradients, softmax, [x])
        same(got[0], expected[0])
        # the gradient of a divisor that was broadcast is summed before it is divided
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-3, atol=1e-6)
