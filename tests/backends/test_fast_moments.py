"""Variances, what they send back, and both gradients of a broadcast quotient, in one pass: held to the plain ways."""

import itertools

import numpy as np
import pytest
from fast_path_cases import DTYPES, SPECIAL, outcome, plain, quiet, recorded, same, values_of

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.table import try_rule
from arraygrad.ops import OPS
from arraygrad.testing import gradcheck, gradgradcheck

# Rows of less and more than what is worked on at a time, and sums that NumPy splits once and several times.
SHAPES = [(3, 2500), (2500, 3), (150, 140), (2, 1023), (1025, 2), (7, 5, 300), (1, 9), (9, 1), (30_001,), (5, 4, 3)]
SHAPES += [(11_000, 100)]  # leaves the caches: rows are added one by one
AXES = [None, 0, -1, (0, 1), (1, 2)]


def variance(x, axis, correction=0, keepdims=False):
    op = OPS["var"]
    return try_call(op, op.bind((x,), {"axis": axis, "correction": correction, "keepdims": keepdims}))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_variance_in_one_pass_is_numpys_bit_by_bit(dtype, shape, axis):
    if isinstance(axis, tuple) and max(axis) >= len(shape):
        axis = -1
    x = values_of(dtype)(shape) * np.exp(values_of(dtype, 7, -8, 8)(shape))
    for layout, keepdims in itertools.product((x, np.asfortranarray(x), x[..., ::-1]), (False, True)):
        same(variance(layout, axis, 0, keepdims), np.asarray(np.var(layout, axis=axis, keepdims=keepdims)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_give_numpys_variance(dtype):
    with quiet():
        x = np.array(list(itertools.product(SPECIAL, repeat=4))).astype(dtype)
        for axis in (0, 1):
            same(variance(x, axis), np.var(x, axis=axis))


@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("row", [[1e200, -1e200, 1.0], [np.inf, 1.0, 2.0], [1e308, 1e308, 1e308], [1.0, 2.0, 3.0]])
def test_floating_point_errors_of_a_variance_are_numpys(row, mode):
    x = np.array([row, [1.0, 2.0, 3.0]])
    with np.errstate(all=mode):
        for axis in (0, 1):
            got, expected = outcome(lambda a=axis: variance(x, a)), outcome(lambda a=axis: np.var(x, axis=a))
            assert [(kind, text.rsplit(" ", 1)[0]) for kind, text in got[1]] == [
                (kind, text.rsplit(" ", 1)[0])
                for kind, text in expected[1]  # the ufunc's name differs between versions
            ]


def moment_gradient(name, x, g, axis, correction, keepdims):
    t = ag.tensor(x, requires_grad=True)
    getattr(ag, name)(t, axis=axis, correction=correction, keepdims=keepdims).backward(g)
    return t.grad.numpy()


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["var", "std"])
def test_the_gradient_of_a_variance_is_the_tables(name, shape, axis):
    if isinstance(axis, tuple) and max(axis) >= len(shape):
        axis = -1
    for dtype, correction, keepdims in itertools.product(DTYPES, (0, 0.5), (False, True)):
        if dtype == "float32" and correction:
            continue
        x = values_of(dtype)(shape)
        with quiet():
            g = values_of(dtype, 5)(np.var(x, axis=axis, keepdims=keepdims).shape)
            for layout in (x, np.asfortranarray(x), x[..., ::-1]):
                args = (name, layout, g, axis, correction, keepdims)
                got, expected = moment_gradient(*args), plain(moment_gradient, *args)
                assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
                np.testing.assert_allclose(got, expected, rtol=1e-4 if dtype == "float32" else 1e-11, atol=1e-6)


DIVISORS = [((40, 30), (30,)), ((40, 30), (1, 30)), ((40, 30), (40, 1)), ((3, 2500), (3, 1)), ((3, 2500), (2500,))]
DIVISORS += [
    ((2, 3, 40), (2, 1, 1)),
    ((2, 3, 40), (40,)),
    ((2, 3, 40), (3, 40)),
    ((150, 140), ()),
    ((150, 140), (1, 1)),
]


@pytest.mark.parametrize("shapes", DIVISORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_both_gradients_of_a_broadcast_quotient_are_those_of_one_at_a_time(dtype, shapes):
    x1, x2 = (values_of(dtype, i, 0.5, 2)(shape) for i, shape in enumerate(shapes))
    g = values_of(dtype, 5)(shapes[0])
    node = recorded("divide", (x1, x2))[1].grad_fn
    both = try_rule(node, g.copy())
    same(both[0][0], try_rule(node, g.copy(), wanted=(True, False))[0][0])
    same(both[1][0], try_rule(node, g.copy(), wanted=(False, True))[1][0])
    assert both[0][1]
    assert both[1][1]


@pytest.mark.parametrize("shapes", DIVISORS)
def test_both_gradients_of_a_quotient_leave_a_gradient_alone_that_is_not_theirs(shapes):
    x1, x2 = (values_of("float64", i, 0.5, 2)(shape) for i, shape in enumerate(shapes))
    g = values_of("float64", 5)(shapes[0])
    kept = g.copy()
    node = recorded("divide", (x1, x2))[1].grad_fn
    fresh = try_rule(node, g)
    same(g, kept)
    assert not np.may_share_memory(fresh[0][0], g)
    inplace = try_rule(node, g, owned=True)
    assert inplace[0][0] is g
    same(inplace[0][0], fresh[0][0])
    same(inplace[1][0], fresh[1][0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_in_both_gradients_of_a_quotient_are_those_of_one_at_a_time(dtype):
    with quiet():
        x1, g = np.array(list(itertools.product(SPECIAL, SPECIAL))).astype(dtype).T.copy().reshape(2, -1, 12)
        for x2 in (np.array(SPECIAL, dtype), np.array(SPECIAL, dtype)[:, None]):
            node = recorded("divide", (x1, x2))[1].grad_fn
            both = try_rule(node, g.copy())
            same(both[0][0], try_rule(node, g.copy(), wanted=(True, False))[0][0])
            same(both[1][0], try_rule(node, g.copy(), wanted=(False, True))[1][0])


def test_an_overflow_in_either_gradient_of_a_quotient_is_reported():
    x1, x2, g = np.full((5, 4), 1e-10), np.full(4, 1e-200), np.full((5, 4), 1e200)
    with np.errstate(all="ignore"):
        node = recorded("divide", (x1, x2))[1].grad_fn
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        try_rule(node, g)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_normalisation_passes_gradcheck_twice(axis):
    def normalised(x):
        return (x - ag.mean(x, axis=axis, keepdims=True)) / ag.sqrt(ag.var(x, axis=axis, keepdims=True) + 0.1)

    x = ag.tensor(values_of("float64")((4, 5)), requires_grad=True)
    assert gradcheck(normalised, (x,))
    assert gradgradcheck(normalised, (x,))
