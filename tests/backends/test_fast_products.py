"""Compiled products and norms of backends/numpy, held to NumPy's bit by bit."""

import itertools

import numpy as np
import pytest
from fast_path_cases import DTYPES, gradients, outcome, plain, same, values_of

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.table import try_rule
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS

REAL = ("float32", "float64")
PAIRS = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((5, 3), (3,)),
    ((1, 3), (3,)),
    ((5, 1), (1,)),
    ((1,), (1,)),
    ((300,), (300,)),
    ((200, 300), (300,)),
    ((300,), (300, 200)),
    ((4, 2, 3), (4, 3, 5)),
    ((4, 1, 3), (4, 3, 1)),
    ((1, 2, 3), (1, 3, 2)),
    ((2, 4, 2, 3), (2, 4, 3, 5)),
    ((4, 2, 3), (3, 5)),
    ((8, 40, 30), (8, 30, 50)),
]
SHAPES = [(1,), (7,), (300,), (3, 4), (8, 8), (1, 5), (40, 50), (2, 3, 4), (3, 1, 5)]


def call(name, *args, **kwargs):
    op = OPS[name]
    return try_call(op, op.bind(args, kwargs))


def spread(dtype, shape, seed=0):
    """Large and small magnitudes mixed, so that the order of additions counts."""
    values = values_of(dtype, seed)(shape) * np.exp(values_of(dtype, seed + 7, -4, 4)(shape))
    return np.asarray(values, dtype)


def as_array(result, dtype):
    return np.asarray(result, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=str)
def test_product_of_vectors_matrices_and_stacks_is_numpys(dtype, first, second):
    a, b = spread(dtype, first), spread(dtype, second, 1)
    same(call("matmul", a, b), as_array(np.matmul(a, b), dtype))


@pytest.mark.parametrize(
    ("first", "second"),
    [((2, 3), (4, 2)), ((4, 2, 3), (3, 3, 5)), ((4, 2, 3), (4, 5, 3)), ((3,), (2,)), ((2, 3), (4, 3, 5)), ((0,), (0,))],
    ids=str,
)
def test_shapes_that_the_loop_does_not_serve_are_left_to_numpy(first, second):
    assert call("matmul", np.ones(first), np.ones(second)) is None


def by_columns(x):
    """The same stack of matrices, each of them column-major."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("first", "second"), [pair for pair in PAIRS if len(pair[0]) > 2], ids=str)
def test_products_of_stacks_of_column_major_matrices_are_numpys(dtype, first, second):
    a, b = spread(dtype, first), spread(dtype, second, 1)
    for x, y in ((by_columns(a), by_columns(b)), (a, by_columns(b)), (by_columns(a), b)):
        got = call("matmul", x, y)
        assert got is not None
        same(got, as_array(np.matmul(x, y), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_a_matrix_and_a_vector_with_gaps_are_numpys(dtype):
    a, v = spread(dtype, (40, 30)), spread(dtype, (120,), 1)
    for m in (a, by_columns(a)):
        for args in ((m, v[:60:2]), (v[:120:3], m), (m, v[1:90:3])):
            got = call("matmul", *args)
            assert got is not None
            same(got, as_array(np.matmul(*args), dtype))
    assert call("matmul", a, v[29::-1]) is None
    assert call("matmul", a, np.broadcast_to(v[:1], (30,))) is None


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["matmul", "vecdot"])
def test_derivatives_of_products_of_column_major_arrays_are_those_of_the_plain_path(dtype, name):
    if not hasattr(np, name):
        pytest.skip("NumPy has it from 2.2 on")
    a, b, v = spread(dtype, (3, 4, 4)), spread(dtype, (3, 4, 4), 1), spread(dtype, (24,), 2)[::2].reshape(3, 4)
    pairs = {
        "matmul": [(by_columns(a), by_columns(b)), (a, by_columns(b)), (by_columns(a)[0], v[:, 0].repeat(8)[::6])],
        "vecdot": [(by_columns(a[0]), by_columns(b[0])), (a[0], by_columns(b[0])), (by_columns(a[0]), v[0])],
    }[name]
    for operands in pairs:

        def derivatives(operands=operands):
            x, y = (ag.asarray(o, requires_grad=True) for o in operands)
            out = getattr(np, name)(x, y)
            grads = ag.autograd.grad((out * out).sum(), (x, y), create_graph=True)
            second = ag.autograd.grad(sum((g * g).sum() for g in grads), (x, y))
            return [out.detach().array, *(t.detach().array for t in (*grads, *second))]

        for got, expected in zip(derivatives(), plain(derivatives), strict=True):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            size = float(abs(expected).max())
            np.testing.assert_allclose(got, expected, rtol=0, atol=size * (1e-4 if dtype == "float32" else 1e-12))


def test_stacks_with_gaps_are_left_to_numpy():
    a = np.ones((4, 2, 6))[..., ::2]
    assert call("matmul", a, np.ones((4, 3, 5))) is None


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("first", "second"), [pair for pair in PAIRS if len(pair[0]) > 2], ids=str)
def test_gradient_of_a_product_of_stacks_is_that_of_the_rule_in_the_table(dtype, first, second):
    a, b = spread(dtype, first), spread(dtype, second, 1)
    shape = np.matmul(a, b).shape
    whole = spread(dtype, shape, 2)
    turned = np.ascontiguousarray(whole.swapaxes(-1, -2)).swapaxes(-1, -2)
    repeated = np.broadcast_to(whole[..., :1], shape)
    for g in (whole, turned, repeated):
        ours, others = gradients("matmul", (a, b), g), plain(gradients, "matmul", (a, b), g)
        for got, expected in zip(ours, others, strict=True):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            size = float(abs(expected).max())
            np.testing.assert_allclose(got, expected, rtol=0, atol=size * (1e-4 if dtype == "float32" else 1e-12))


TALL_AND_WIDE = [
    ((4, 2, 3), (3, 5)),
    ((4, 1, 3), (3, 1)),
    ((2, 4, 5, 3), (3, 2)),
    ((20, 20, 1, 6), (6, 6)),
    ((4, 2, 3), (3,)),
    ((2, 3, 1, 4), (4,)),
    ((2, 3), (4, 3, 5)),
    ((1, 3), (4, 3, 1)),
    ((5, 3), (2, 4, 3, 1)),
]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("first", "second"), TALL_AND_WIDE, ids=str)
def test_gradient_of_a_stack_and_one_matrix_or_vector_is_that_of_the_rule_in_the_table(dtype, first, second):
    operands = [values_of(dtype, 1)(first), values_of(dtype, 2)(second)]
    shape = np.matmul(*operands).shape
    wide = values_of(dtype, 3)((*shape, 2))
    one = values_of(dtype, 4)((1,))[0]

    def gradients_of(which, g, whole):
        inputs = [ag.tensor(x, requires_grad=i in which) for i, x in enumerate(operands)]
        out = apply_op(OPS["matmul"], tuple(inputs))
        if not whole:
            assert try_rule(out.grad_fn, g) is not None
        return [t.array for t in ag.autograd.grad(out, [inputs[i] for i in which], ag.asarray(g))]

    for g in (wide[..., 0].copy(), wide[..., 0], np.broadcast_to(one, shape), np.asfortranarray(wide[..., 1])):
        for which in ((0, 1), (0,), (1,)):
            got, expected = gradients_of(which, g, False), plain(gradients_of, which, g, True)
            for x, y in zip(got, expected, strict=True):
                assert (x.dtype, x.shape) == (y.dtype, y.shape) == (np.dtype(dtype), y.shape)
                np.testing.assert_allclose(x, y, rtol=3e-5 if dtype == "float32" else 1e-12, atol=1e-5)


@pytest.mark.parametrize(("first", "second"), TALL_AND_WIDE, ids=str)
def test_gradient_of_a_stack_in_another_layout_and_one_matrix(first, second):
    x1, x2 = values_of("float64", 1)(first), values_of("float64", 2)(second)
    w = values_of("float64", 3)(np.matmul(x1, x2).shape)

    def gradients_of(a, b):
        left, right = ag.asarray(a, requires_grad=True), ag.asarray(b, requires_grad=True)
        return [t.array for t in ag.autograd.grad(np.matmul(left, right), (left, right), ag.asarray(w))]

    for a, b in (
        (np.asfortranarray(x1), np.asfortranarray(x2)),
        (np.repeat(x1, 2, axis=-1)[..., ::2], x2[::-1]),
        (x1[::-1], np.repeat(x2, 2, axis=0)[::2]),
        (np.broadcast_to(x1[:1], x1.shape), np.broadcast_to(x2[..., :1], x2.shape)),
    ):
        for got, expected in zip(gradients_of(a, b), plain(gradients_of, a, b), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    assert ag.gradcheck(np.matmul, (ag.tensor(x1, requires_grad=True), ag.tensor(x2, requires_grad=True)))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_norm_is_numpys(dtype, shape):
    x = spread(dtype, shape)
    for a, keepdims in itertools.product((x, np.asfortranarray(x)), (False, True)):
        same(call("norm", a, keepdims=keepdims), as_array(np.linalg.norm(a, keepdims=keepdims), dtype))
        for axis in (*range(len(shape)), *[p for p in ((0, 1), (-1, 0)) if len(shape) > 1]):
            got = call("norm", a, axis=axis, keepdims=keepdims)
            same(got, as_array(np.linalg.norm(a, axis=axis, keepdims=keepdims), dtype))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) == 2], ids=str)
def test_a_frobenius_norm_without_axes_is_numpys(dtype, shape):
    for a in (spread(dtype, shape), np.asfortranarray(spread(dtype, shape))):
        same(call("norm", a, "fro"), as_array(np.linalg.norm(a, "fro"), dtype))


def norm_of(name, x, keywords):
    """A recorded norm, and its argument."""
    t = ag.asarray(x, requires_grad=True)
    return apply_op(OPS[name], OPS[name].bind((t,), keywords)), t


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_of_norms_of_lengths_and_sizes_are_the_tables(dtype, shape):
    x = values_of(dtype, 1)(shape)
    x[x > 2.5] = 0.0
    x[0] = 0.0  # some norms are zero
    kept = [{"keepdims": False}, {"keepdims": True}]
    cases = [("vector_norm", {"axis": axis, "ord": ord, **k}) for axis in (None, 0, -1) for ord in (1, 2) for k in kept]
    cases += [("norm", {"axis": axis, **k}) for axis in (None, 0, -1) for k in kept]
    cases += [("norm", {"axis": axis, "ord": ord}) for axis in (0, -1) for ord in (1, 2)]
    if len(shape) == 2:
        cases += [("norm", {"ord": "fro", "axis": axis, **k}) for axis in (None, (0, 1)) for k in kept]
        cases += [("matrix_norm", k) for k in kept]

    def gradient(name, a, keywords):
        out, t = norm_of(name, a, keywords)
        out.backward(values_of(dtype, 2)(out.shape))
        return t.grad.numpy()

    for name, keywords in cases:
        for a in (x, np.asfortranarray(x)):
            out, _ = norm_of(name, a, keywords)
            assert try_rule(out.grad_fn, values_of(dtype, 2)(out.shape)) is not None
            got = gradient(name, a, keywords)
            assert got.dtype == dtype
            expected = plain(gradient, name, a, keywords)  # of a norm that adds in another order
            np.testing.assert_allclose(got, expected, rtol=20 * np.finfo(dtype).eps)


def test_other_norms_have_no_compiled_rule():
    x = np.arange(1.0, 7.0).reshape(2, 3)
    for name, keywords in (("norm", {"ord": 1}), ("vector_norm", {"ord": 3}), ("matrix_norm", {"ord": 1})):
        out, _ = norm_of(name, x, keywords)
        assert try_rule(out.grad_fn, np.ones(out.shape)) is None


def test_other_norms_are_left_to_numpy():
    x = np.ones((2, 3))
    assert call("norm", x, 1) is None
    assert call("norm", x, None, (0, 1, 0)) is None
    assert call("norm", x.astype(complex)) is None


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 0.0, 1e-300, 1e300])
def test_norms_of_special_values_and_what_they_report_are_numpys(dtype, special):
    with np.errstate(all="ignore"):
        x = np.array([[special, 1.0], [2.0, special]], dtype)
    got, expected = outcome(lambda: call("norm", x)), outcome(lambda: np.linalg.norm(x))
    same(got[0], as_array(expected[0], dtype))
    assert got[1] == expected[1]
