"""The NumPy backend's compiled backward rules, each held to the table's rule, bit by bit.

Both do the same arithmetic in the same order. Only matrix products, variances and the gradients of broadcast
divisors may round apart.
"""

import itertools
import warnings

import numpy as np
import pytest
from fast_path_cases import (
    BINARY_RULES,
    DENSE,
    DTYPES,
    OTHER,
    SPECIAL,
    UNARY_RULES,
    gradients,
    outcome,
    plain,
    quiet,
    recorded,
    same,
    values_of,
)

from arraygrad.backends.numpy.table import try_rule
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS


def rule(name, operands, g, *, params=(), **how):
    _, out = recorded(name, operands, params)
    return try_rule(out.grad_fn, g, **how)


GRADIENTS = {
    "fresh": lambda g: g,
    "repeated": lambda g: np.broadcast_to(g.ravel()[:1].reshape(()) if g.size else np.ones((), g.dtype), g.shape),
    "strided": lambda g: np.repeat(g[..., None], 2, axis=-1)[..., 0],
}


@pytest.mark.parametrize("layout", [*DENSE, "every second", "columns", "permuted"])
@pytest.mark.parametrize("name", UNARY_RULES)
def test_a_unary_rule_gives_the_tables_gradient(name, layout):
    low, high = (1.1, 3.0) if name == "acosh" else (-0.9, 0.9)
    for dtype, kind in itertools.product(DTYPES, GRADIENTS.values()):
        x = {**DENSE, **OTHER}[layout](values_of(dtype, low=low, high=high))
        g = kind(values_of(dtype, 5)(x.shape))
        with quiet():
            (got,), (expected,) = gradients(name, (x,), g), plain(gradients, name, (x,), g)
        same(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY_RULES)
def test_a_unary_rule_gives_the_tables_gradient_for_special_values(name, dtype):
    with quiet():
        x, g = np.array(list(itertools.product(SPECIAL, SPECIAL))).astype(dtype).T.copy()
        (got,), (expected,) = gradients(name, (x,), g), plain(gradients, name, (x,), g)
    same(got, expected)


@pytest.mark.parametrize("name", UNARY_RULES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_unary_rule_serves_every_dense_layout_and_overwrites_an_owned_gradient(dtype, name):
    for layout in DENSE.values():
        x = layout(values_of(dtype, low=0.1, high=0.9))
        g = x.copy(order="K")
        kept = g.copy()
        with quiet():
            ((fresh, owned),) = rule(name, (x,), g)
            assert owned
            assert not np.may_share_memory(fresh, g)
            same(g, kept)
            ((inplace, owned),) = rule(name, (x,), g, owned=True)
        assert owned
        assert inplace is g
        same(inplace, fresh)


@pytest.mark.parametrize("layout", [*DENSE, "every second", "columns", "permuted"])
@pytest.mark.parametrize("name", BINARY_RULES)
def test_a_binary_rule_gives_the_tables_gradients(name, layout):
    make = {**DENSE, **OTHER}[layout]
    for dtype, kind in itertools.product(DTYPES, GRADIENTS.values()):
        x1, x2 = make(values_of(dtype, 1)), make(values_of(dtype, 2))
        g = kind(values_of(dtype, 5)(x1.shape))
        for operands in ((x1, x2), (x1, 2.5), (3, x2)):
            with quiet():
                got, expected = gradients(name, operands, g), plain(gradients, name, operands, g)
            assert len(got) == len(expected) == sum(isinstance(x, np.ndarray) for x in operands)
            for a, b in zip(got, expected, strict=True):
                same(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY_RULES)
def test_a_binary_rule_gives_the_tables_gradients_for_special_values(name, dtype):
    with quiet():
        x1, x2, g = np.array(list(itertools.product(SPECIAL, SPECIAL, SPECIAL))).astype(dtype).T.copy()
        for a, b in zip(gradients(name, (x1, x2), g), plain(gradients, name, (x1, x2), g), strict=True):
            same(a, b)


BROADCASTS = [
    *[((4, 5), (5,)), ((4, 5), ()), ((1,), (4, 5)), ((4, 1), (1, 5)), ((3,), (1,)), ((4, 5), (4, 1))],
    *[((2, 3, 4), (3, 4)), ((2, 3, 4), (2, 1, 1)), ((2, 3, 4), (2, 1, 4)), ((0, 3), (3,)), ((150, 140), (140,))],
]


# Binary rules that have no other compiled form than the table's kernels.
WRITTEN_RULES = ("atan2", "copysign", "hypot", "logaddexp", "pow", "remainder")


@pytest.mark.parametrize("name", ["maximum", "minimum", *WRITTEN_RULES])
def test_a_kernel_of_the_table_serves_operands_that_broadcast(name):
    for shapes in BROADCASTS[:6]:
        x1, x2 = (values_of("float64", i, 0.5, 2)(n) for i, n in enumerate(shapes))
        _, out = recorded(name, (x1, x2))
        assert try_rule(out.grad_fn, values_of("float64", 5)(out.shape)) is not None


@pytest.mark.parametrize("shapes", BROADCASTS)
@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("float32", "float32"), ("float32", "float64")])
@pytest.mark.parametrize("name", [*BINARY_RULES, *WRITTEN_RULES])
def test_broadcast_and_mixed_operands_have_the_tables_gradients(name, dtypes, shapes):
    for order in (1, -1):
        x1, x2 = (values_of(d, i, 0.5, 2)(n) for i, (d, n) in enumerate(zip(dtypes, shapes[::order], strict=True)))
        shape = np.broadcast_shapes(*shapes)
        for kind in GRADIENTS.values():
            g = kind(values_of(np.result_type(*dtypes), 5, 0.5, 2)(shape))
            got, expected = gradients(name, (x1, x2), g), plain(gradients, name, (x1, x2), g)
            for a, b, x in zip(got, expected, (x1, x2), strict=True):
                assert (a.shape, a.dtype) == (x.shape, x.dtype)
                # Divides the sum, where the table sums quotients; has powers of operands that are repeated, of which
                # NumPy's loops may round the last bit otherwise.
                if (name == "divide" and x.shape != shape) or name == "pow":
                    np.testing.assert_allclose(a, b, rtol=20 * np.finfo(a.dtype).eps)
                else:
                    same(a, b)


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("name", BINARY_RULES)
def test_a_binary_rule_writes_the_owned_gradient_only_for_its_last_edge(name, wanted):
    x1, x2, g = (values_of("float64", i)((3, 4)) for i in range(3))
    expected = rule(name, (x1, x2), g.copy(), wanted=wanted)
    got = rule(name, (x1, x2), g, owned=True, wanted=wanted)
    for (a, owned), (b, _), want in zip(got, expected, wanted, strict=True):
        if not want:
            assert a is None
            assert not owned
            continue
        same(a, b)
    if all(wanted):
        assert not (got[0][1] and got[1][1] and np.may_share_memory(got[0][0], got[1][0]))
        assert got[0][1] or name == "add"
    else:
        assert got[wanted.index(True)] == (g, True) or got[wanted.index(True)][0] is g


@pytest.mark.parametrize("number", [2, 3, -1, -2, 4, 0, 1, 2.0, 0.5, -0.5, 2.5, 1.0, 0.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_power_has_the_tables_gradient(dtype, number):
    with quiet():
        for x in (values_of(dtype)((6, 5)), np.array(SPECIAL).astype(dtype), np.ones((), dtype)):
            g = values_of(dtype, 4)(x.shape)
            (got,), (expected,) = gradients("pow", (x, number), g), plain(gradients, "pow", (x, number), g)
            same(got, expected)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1,), ()])
@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_have_the_tables_gradient(dtype, name, axis, keepdims):
    x = values_of(dtype)((2, 3, 4))

    def run():
        t = wrap_raw(x, requires_grad=True)
        op = OPS[name]
        out = apply_op(op, op.bind((t,), {"axis": axis, "keepdims": keepdims}))
        out.backward(wrap_raw(values_of(dtype, 3)(out.shape)))
        return out.array, t.grad.array

    for got, expected in zip(run(), plain(run), strict=True):
        same(got, expected)


def reduced(name, x, **kwargs):
    t = wrap_raw(x, requires_grad=True)
    op = OPS[name]
    out = apply_op(op, op.bind((t,), kwargs))
    out.backward(wrap_raw(values_of(x.dtype, 3)(out.shape)))
    return t.grad.array


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1, 2), (0, 2), ()])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_have_the_tables_gradient_at_ties_too(name, axis, keepdims):
    for dtype in DTYPES:
        x = np.round(values_of(dtype, low=0, high=4)((3, 4, 5)))  # many ties
        y = x.copy()
        y[1, 2, 3] = np.nan
        for array in (x, y, np.asfortranarray(x)):
            with quiet():
                got = reduced(name, array, axis=axis, keepdims=keepdims)
                same(got, plain(lambda a=array: reduced(name, a, axis=axis, keepdims=keepdims)))


@pytest.mark.parametrize("correction", [0, 1, 0.5])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (1, 2), (0, 2)])
@pytest.mark.parametrize("name", ["var", "std"])
def test_variances_have_the_tables_gradient(name, axis, correction):
    for dtype, keepdims in itertools.product(DTYPES, (False, True)):
        x = values_of(dtype)((3, 4, 5))
        x[0] = 1.5  # a constant part
        how = {"axis": axis, "correction": correction, "keepdims": keepdims}
        for array in (x, np.asfortranarray(x)):
            got, expected = reduced(name, array, **how), plain(lambda a=array, h=how: reduced(name, a, **h))
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(got, expected, rtol=0, atol=scale * 8 * np.finfo(dtype).eps)


def test_the_deviation_of_a_constant_has_a_zero_gradient():
    same(reduced("std", np.full((3, 2), 1.5), axis=0), np.zeros((3, 2)))


@pytest.mark.parametrize("size", [0, 1, 10, 4096, 4097, 50_000])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_full_reductions_of_every_size_have_the_tables_gradient(name, size):
    def run():
        t = wrap_raw(values_of("float32")((size,)), requires_grad=True)
        u = t * 2.0
        op = OPS[name]
        with warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")  # the mean of nothing
            apply_op(op, op.bind((u,), {})).backward()
        return t.grad.array

    same(run(), plain(run))


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4, 5)),
        ((4,), (4,)),
        ((1, 4), (4, 1)),
        ((0, 4), (4, 2)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (2, 4, 5)),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrix_products_have_the_tables_gradients(dtype, shapes):
    a, b = (values_of(dtype, i)(shape) for i, shape in enumerate(shapes))
    g = values_of(dtype, 3)(np.matmul(a, b).shape)
    for g_ in (g, np.broadcast_to(np.ones((), dtype), g.shape)):
        got, expected = gradients("matmul", (a, b), g_), plain(gradients, "matmul", (a, b), g_)
        for x, y in zip(got, expected, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("reshape", ((6, 4),)),
        ("reshape", ((-1,),)),
        ("expand_dims", (1,)),
        ("permute_dims", ((2, 0, 1),)),
        ("permute_dims", ((-1, 0, 1),)),
        ("matrix_transpose", ()),
        ("moveaxis", (0, -1)),
        ("moveaxis", ((-1, 0), (0, 1))),
        ("moveaxis", ((0, 1, 2), (1, 2, 0))),
        ("broadcast_to", ((5, 2, 3, 4),)),
        ("astype", (np.float32,)),
        ("_getitem", (0,)),
        ("_getitem", ((slice(None), -1),)),
        ("_getitem", ((Ellipsis, slice(None, None, 2), None),)),
        ("_getitem", (np.array([0, 0, 1]),)),
        ("_getitem", (np.array([True, False]),)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", GRADIENTS)
def test_shape_operations_have_the_tables_gradient(name, params, kind):
    x = values_of("float64")((2, 3, 4))
    g = recorded(name, (x,), params)[1].array
    g = GRADIENTS[kind](values_of(g.dtype, 3)(g.shape))
    same(gradients(name, (x,), g, params)[0], plain(gradients, name, (x,), g, params)[0])


def test_a_rule_declines_other_dtypes_and_complex_gradients():
    x = np.ones(3)
    assert rule("sin", (x,), np.ones(3, np.float32)) is None
    assert rule("sin", (x,), np.ones(3, complex)) is None
    assert rule("multiply", (x, x), np.ones(3, np.float32)) is None
    assert rule("multiply", (x, 2), np.ones(3, complex)) is None
    assert rule("divide", (x, x), np.ones(3, complex)) is None
    assert rule("matmul", (np.ones((2, 2)), np.ones((2, 2))), np.ones((2, 2), np.float32)) is None


HALF = np.full((2, 2), 0.5)
RULES = {
    **{name: ((np.full((2, 2), 1.5 if name == "acosh" else 0.5),), ()) for name in UNARY_RULES},
    **dict.fromkeys((*BINARY_RULES, "matmul"), ((HALF, HALF), ())),
    "pow": ((HALF, 3), ()),
    **dict.fromkeys(("sum", "mean", "positive", "_copy"), ((HALF,), ())),
    "reshape": ((HALF,), ((4,),)),
    "expand_dims": ((HALF,), (0,)),
    "squeeze": ((HALF[:, :1],), (1,)),
    "broadcast_to": ((HALF,), ((3, 2, 2),)),
    "permute_dims": ((HALF,), ((1, 0),)),
    "matrix_transpose": ((HALF,), ()),
    "moveaxis": ((HALF,), (0, 1)),
    "astype": ((HALF,), (np.float32,)),
    "_getitem": ((HALF,), (0,)),
}


@pytest.mark.parametrize("name", RULES)
def test_the_operation_has_a_compiled_rule(name):
    operands, params = RULES[name]
    _, out = recorded(name, operands, params)
    assert try_rule(out.grad_fn, np.ones(out.shape, out.dtype)) is not None


@pytest.mark.parametrize("depth", [1, 2, 7])
def test_a_chain_has_the_tables_gradient(depth):
    def run():
        t = wrap_raw(values_of("float64")((4, 3)), requires_grad=True)
        y = t
        for _ in range(depth):
            y = apply_op(OPS["tanh"], (y * t + 1.5,)) * apply_op(OPS["sin"], (y,)) - y / (t * t + 2)
        apply_op(OPS["sum"], OPS["sum"].bind((y,), {})).backward()
        return y.array, t.grad.array

    for got, expected in zip(run(), plain(run), strict=True):
        same(got, expected)


def test_the_users_gradient_is_never_written():
    x, g = np.ones(4), np.full(4, 3.0)
    t = wrap_raw(x, requires_grad=True)
    apply_op(OPS["sin"], (t * 2.0,)).backward(wrap_raw(g))
    same(g, np.full(4, 3.0))
    same(x, np.ones(4))


@pytest.mark.parametrize(
    ("name", "operands", "g"),
    [
        ("log", (np.array([0.0, 1.0]),), np.array([1.0, 1.0])),
        ("sqrt", (np.array([0.0, 1.0]),), np.array([1.0, 1.0])),
        ("multiply", (np.array([1e300]), np.array([1.0])), np.array([1e300])),
        ("divide", (np.array([1.0]), np.array([1e-200])), np.array([1e200])),
        ("sin", (np.array([2.0]),), np.array([np.inf])),
        ("maximum", (np.array([np.nan]), np.array([1.0])), np.array([1.0])),
        ("abs", (np.array([np.nan]),), np.array([1.0])),
    ],
)
def test_floating_point_errors_of_rules_are_the_tables(name, operands, g):
    with np.errstate(all="warn", under="ignore"):
        _, errors = outcome(lambda: gradients(name, operands, g))
        _, expected = outcome(lambda: plain(gradients, name, operands, g))
    assert {text.split(" encountered")[0] for _, text in errors} == {
        text.split(" encountered")[0] for _, text in expected
    }
