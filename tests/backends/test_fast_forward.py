"""The NumPy backend's compiled sums, products, shapes and broadcasts, held to NumPy's own functions bit by bit."""

import itertools
import warnings

import numpy as np
import pytest
from fast_path_cases import DTYPES, SPECIAL, ordinary, outcome, plain, quiet, same, values_of

import arraygrad as ag
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_call, try_loop
from arraygrad.ops import OPS

SHAPES = [
    (),
    (1,),
    (7,),
    (129,),
    (1000,),
    (30_001,),
    (3, 4),
    (5, 1),
    (1, 6),
    (2, 3, 4),
    (40, 50),
    (3, 1, 5),
    (2, 3, 4, 5),
]
AXES = [None, 0, -1, 1, (0, 1), (0, -1), (1, 2), (0, 2), ()]


def call(name, *args, **kwargs):
    op = OPS[name]
    return try_call(op, op.bind(args, kwargs))


def arrays(dtype, shape):
    """Row-major, column-major, strided, and row-major with large and small magnitudes mixed (so that order counts)."""
    values = values_of(dtype)
    spread = np.asarray(values(shape) * np.exp(values_of(dtype, 7, -8, 8)(shape)), dtype)
    yield spread
    yield np.asfortranarray(spread)
    if shape:
        yield np.repeat(spread, 2, axis=-1)[..., ::2]


def nearly(a, b):
    """The same but for the last bits, which depend on the order of additions."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_allclose(a, b, rtol=8 * np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0)


# Before 2.4 NumPy adds long arrays with gaps in another order.
SAME_SUM = same if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else nearly


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "var", "std"])
def test_a_reduction_gives_numpys_result(name, shape):
    for dtype, axis, keepdims in itertools.product(DTYPES, AXES, [False, True]):
        for x in arrays(dtype, shape):
            try:
                expected = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
            except (np.exceptions.AxisError, ValueError):
                continue  # no such axis, or one named twice
            got = call(name, x, axis=axis, keepdims=keepdims)
            if shape or axis in (None, ()):  # NumPy has an axis 0 even of no axes
                try:
                    SAME_SUM(got, expected)
                except AssertionError as error:
                    raise AssertionError(f"{dtype}, strides {x.strides}, {axis=}, {keepdims=}") from error


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_special_values_are_numpys(dtype):
    with quiet():
        for values in ((-0.0,), (-0.0, -0.0), (0.0, -0.0), SPECIAL, (np.inf, -np.inf), (np.nan,)):
            x = np.array(values).astype(dtype)
            same(call("sum", x), np.asarray(np.sum(x)))
            rows = np.stack([x, x])
            same(call("sum", rows, axis=0), np.sum(rows, axis=0))
            same(call("sum", rows, axis=1), np.sum(rows, axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_special_values_are_numpys(name, dtype):
    with quiet():
        for values in ((-0.0,), (0.0, -0.0), (-0.0, 0.0) * 9, SPECIAL, (np.inf, -np.inf), (np.nan, -np.nan, 1.0) * 11):
            x = np.array(values).astype(dtype)
            for a in (x, np.stack([x, x[::-1], x]), np.stack([x, -x]).T.copy()):
                for axis in (None, *range(a.ndim)):
                    same(call(name, a, axis=axis), np.asarray(getattr(np, name)(a, axis=axis)))


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("sum", (np.ones((2, 3)),), {"axis": 2}),
        ("sum", (np.ones((2, 3)),), {"axis": (0, 0)}),
        ("sum", (np.ones((2, 3)),), {"dtype": np.float32}),
        ("sum", (np.ones((2, 3), int),), {}),
        ("mean", (np.ones((0, 3)),), {}),
        ("var", (np.ones(1),), {"correction": 1}),
        ("std", (np.ones(3),), {"correction": np.float64(1)}),
        ("max", (np.ones(3, int),), {}),
        ("reshape", (np.ones((2, 3)), (3, 2)), {"copy": True}),
        ("reshape", (np.ones((2, 3)), [3, 2]), {}),
        ("permute_dims", (np.ones((2, 3)), (0,)), {}),
        ("matmul", (np.ones((2, 3)), np.ones((2, 3))), {}),
        ("matmul", (np.ones((2, 3)), np.ones((3, 2), np.float32)), {}),
        ("matmul", (np.ones((2, 3)), np.ones(2)), {}),
        ("matmul", (np.ones((1, 2, 3)), np.ones(3)), {}),
        ("matmul", (np.ones(3), np.ones(())), {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_compiled_forward_does_not_serve_is_left_to_numpy(name, args, kwargs):
    assert call(name, *args, **kwargs) is None


@pytest.mark.parametrize("correction", [0, 1, 1.5])
@pytest.mark.parametrize("name", ["var", "std"])
def test_corrected_variances_are_numpys(name, correction):
    for dtype in DTYPES:
        x = values_of(dtype)((6, 5))
        for axis in (None, 0, 1):
            expected = np.asarray(getattr(np, name)(x, axis=axis, correction=correction))
            same(call(name, x, axis=axis, correction=correction), expected)


def test_an_empty_sum_is_zero():
    same(call("sum", np.ones((0, 3))), np.zeros(()))
    same(call("sum", np.ones((0, 3)), axis=0), np.zeros(3))


@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("values", [(1e308, 1e308), (np.inf, -np.inf), (1.0, 2.0)])
def test_floating_point_errors_of_sums_are_numpys(name, values, mode):
    x = np.array(values)
    with np.errstate(all=mode):
        got, errors = outcome(lambda: call(name, x))
        expected, expected_errors = outcome(lambda: np.asarray(getattr(np, name)(x)))
    assert errors == expected_errors
    if expected is not None:
        same(got, expected)


MATRICES = [(2, 2, 2), (3, 4, 5), (17, 9, 33), (64, 64, 64), (8, 300, 2)]
MATRICES += [(1, 1, 1), (1, 5, 1), (7, 1, 9), (9, 31, 1), (1, 31, 9), (30, 1, 1), (1, 1, 30), (1, 40, 1)]


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
@pytest.mark.parametrize("orders", list(itertools.product("CF", "CF")))
@pytest.mark.parametrize("shape", MATRICES)
def test_a_matrix_product_gives_numpys_result(shape, orders, dtype):
    m, k, n = shape
    a, b = values_of(dtype, 1)((m, k)), values_of(dtype, 2)((k, n))
    if dtype.startswith("complex"):
        a, b = a * (1 - 2j), b * 1j + a.ravel()[0]
    a, b = np.array(a, dtype, order=orders[0]), np.array(b, dtype, order=orders[1])
    same(call("matmul", a, b), np.matmul(a, b))
    a.ravel()[0], b.ravel()[-1] = -0.0, np.nan
    with quiet():
        same(call("matmul", a, b), np.matmul(a, b))


VECTORS = [((4,), (4,)), ((1,), (1,)), ((700,), (700,)), ((3, 4), (4,)), ((1, 5), (5,)), ((6, 1), (1,)), ((4,), (4, 5))]
VECTORS += [((5,), (5, 1)), ((1,), (1, 6)), ((33, 17), (17,)), ((33,), (33, 17)), ((2, 900), (900,))]


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shapes", VECTORS)
def test_a_product_with_a_vector_gives_numpys_result(shapes, order, dtype):
    a, b = (values_of(dtype, i)(shape) for i, shape in enumerate(shapes))
    if dtype.startswith("complex"):
        a, b = a * (1 - 2j), b * 1j + a.ravel()[0]
    a, b = np.array(a, dtype, order=order), np.array(b, dtype, order=order)
    same(call("matmul", a, b), np.asarray(np.matmul(a, b)))
    a.ravel()[0], b.ravel()[-1] = -0.0, np.nan
    with quiet():
        same(call("matmul", a, b), np.asarray(np.matmul(a, b)))


def test_products_without_elements_and_with_gaps_are_left_to_numpy():
    a = values_of("float64")((6, 4))
    for x1, x2 in [
        (a[:0], a.T),
        (a[:, :0], a[:0]),
        (a[::2], a.T),
        (a, a.T[:, ::2]),
        (a, a[0, ::2]),
        (a[::2][None], a.T),
    ]:
        assert call("matmul", x1, x2) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_product_of_a_matrix_with_its_transpose_gives_numpys_result(dtype):
    a = values_of(dtype)((20, 7))
    same(call("matmul", a, a.T), np.matmul(a, a.T))
    same(call("matmul", a.T, a), np.matmul(a.T, a))


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("reshape", ((6, 4),), lambda x: x.reshape(6, 4)),
        ("reshape", (-1,), lambda x: x.reshape(-1)),
        ("reshape", ((2, -1),), lambda x: x.reshape(2, -1)),
        ("permute_dims", ((2, 0, 1),), lambda x: x.transpose(2, 0, 1)),
        ("permute_dims", ((-1, 0, 1),), lambda x: x.transpose(2, 0, 1)),
        ("_getitem", (1,), lambda x: x[1]),
        ("_getitem", ((slice(None), 0, slice(1, None)),), lambda x: x[:, 0, 1:]),
    ],
    ids=lambda value: "" if callable(value) else repr(value),
)
def test_shape_operations_give_views_as_numpy_does(name, args, expected):
    x = values_of("float64")((2, 3, 4))
    got = call(name, x, *args)
    same(got, expected(x))
    assert got.strides == expected(x).strides
    assert np.shares_memory(got, x)


def layouts(dtype):
    """Arrays of many shapes, orders and gaps; one that can't be written."""
    values = values_of(dtype)
    yield values((5,))
    yield values((5,))[::-1]
    yield values((6,))[::2]
    yield values((3, 4))
    yield values((3, 4)).T
    yield values((4, 6))[::2, ::3]
    yield values((2, 3, 4))[:, ::-1]
    yield values((1, 4))
    yield values((0, 4))
    yield values((3, 1, 0))
    locked = values((3, 4))
    locked.flags.writeable = False
    yield locked


def described(a, x):
    """What there is to see of a view of `x`, or of a copy (of no elements: without its strides)."""
    strides = a.strides if a.size or a.base is x else None
    return a.tobytes(), a.dtype, a.shape, strides, a.flags.writeable, np.shares_memory(a, x), a.base is x


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_a_reversed_axis_is_the_view_that_numpy_makes(dtype):
    for x in layouts(dtype):
        for axis in range(-x.ndim, x.ndim):
            found = call("flip", x, axis=axis)
            assert described(found, x) == described(np.flip(x, axis), x), (x.shape, x.strides, axis)


def moves(ndim):
    """All (source, destination) of up to three axes, of both signs, ints and tuples."""
    axes = range(-ndim, ndim)
    for k in range(min(ndim, 3) + 1):
        for source in itertools.permutations(range(ndim), k):
            for target in itertools.permutations(range(ndim), k):
                yield source, tuple([axis - ndim if i % 2 else axis for i, axis in enumerate(target)])
    yield from itertools.product(axes, axes)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_moved_axes_are_the_view_that_numpy_makes(dtype):
    for x in layouts(dtype):
        for source, target in moves(x.ndim):
            found = call("moveaxis", x, source, target)
            assert described(found, x) == described(np.moveaxis(x, source, target), x), (x.shape, source, target)
        if x.ndim >= 2:
            assert described(call("matrix_transpose", x), x) == described(np.matrix_transpose(x), x)


@pytest.mark.parametrize(("source", "target"), [((0, 0), (0, 1)), ((0, 1), (1, 1)), ((0,), (0, 1)), (3, 0), (0, -4)])
def test_axes_that_numpy_does_not_move_are_refused(source, target):
    with pytest.raises(ValueError, match=r"axis|axes|source"):
        np.moveaxis(ag.asarray(np.zeros((2, 3, 4)), requires_grad=True), source, target)


@pytest.mark.parametrize("name", ["real", "imag"])
@pytest.mark.parametrize("dtype", [*DTYPES, "complex128"])
def test_numpys_parts_of_a_tensor_are_its_own(dtype, name):
    for x in (*layouts(dtype), np.asarray(values_of(dtype)((1,))[0])):
        t = ag.asarray(x.copy(), requires_grad=True)
        found, expected = getattr(np, name)(t), getattr(t, name)
        same(found.detach().numpy(), expected.detach().numpy())
        assert (found is t) == (expected is t)
        assert found.grad_fn is None or found.grad_fn.name() == expected.grad_fn.name()
        same(found.detach().numpy(), np.asarray(getattr(np, name)(x)))
        if found.size:
            assert np.shares_memory(found.detach().array, t.detach().array) == (x.dtype.kind == "c" or name == "real")


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_a_raveled_tensor_shares_memory_where_numpys_array_does(dtype):
    for x in layouts(dtype):
        found, expected = np.ravel(ag.asarray(x, requires_grad=True)).detach().array, np.ravel(x)
        assert described(found, x)[:-1] == described(expected, x)[:-1], (x.shape, x.strides)


def test_impossible_shapes_raise_numpys_error():
    with pytest.raises(ValueError, match="cannot reshape array of size 6"):
        call("reshape", np.ones((2, 3)), (4, 2))
    with pytest.raises(IndexError, match="out of bounds"):
        call("_getitem", np.ones(3), 5)


def test_one_element_by_index_is_a_zero_dimensional_array():
    same(call("_getitem", np.arange(3.0), 1), np.asarray(1.0))


BROADCASTS = [
    ((5, 7), (7,)),
    ((5, 7), (1, 7)),
    ((5, 7), (5, 1)),
    ((2, 3, 8), (3, 8)),
    ((2, 3, 8), (2, 1, 1)),
    ((2, 3, 8), (2, 3, 1)),
    ((300, 100), (100,)),
    ((1, 9), (9,)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", BROADCASTS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum"])
def test_rows_and_columns_broadcast_as_numpys(name, shapes, dtype):
    a, b = values_of(dtype, 1)(shapes[0]), values_of(dtype, 2)(shapes[1])
    for x, y in ((a, b), (b, a)):
        got, _ = try_loop(BACKEND, OPS[name], x, y)
        assert got is not None
        same(got, ordinary(name, x, y))


UNSERVED = [((4, 3), (3,)), ((4, 3), (4, 1)), ((2, 3, 4), (2, 1, 4)), ((0, 5), (5,)), ((4, 1), (1, 5))]


@pytest.mark.parametrize("shapes", UNSERVED)
def test_other_broadcasts_are_left_to_numpy(shapes):
    a, b = (np.ones(shape) for shape in shapes)
    assert try_loop(BACKEND, OPS["add"], a, b)[0] is None
    assert try_loop(BACKEND, OPS["add"], a.T.copy().T, b)[0] is None


def test_floating_point_errors_in_any_row_are_reported():
    x = np.ones((3, 8))
    x[1, 2] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        try_loop(BACKEND, OPS["divide"], np.ones(8), x)


def test_the_switch_turns_compiled_forwards_off():
    assert plain(call, "sum", np.ones(3)) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(call("sum", np.ones(3)), np.asarray(3.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1000, 1), (8, 1), (1, 16, 1), (9, 1, 1)])
def test_one_column_is_added_pairwise_as_numpy_does(shape, dtype):
    x = values_of(dtype, 4, -1e3, 1e3)(shape)
    for name in ("sum", "mean"):
        for axis in (0, tuple(range(len(shape) - 1))):
            with quiet():
                got = call(name, x, axis=axis)
            assert got is not None
            SAME_SUM(got, ordinary(name, x, axis))


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_floating_point_errors_of_a_matrix_product_are_reported_once_and_as_numpys(dtype, orders):
    a = np.array(values_of(dtype, 1)((5, 8)), order=orders[0])
    b = np.array(values_of(dtype, 2)((8, 4)), order=orders[1])
    a[0, 0], a[0, 1], b[:2] = np.inf, -np.inf, 1.0
    a[1, 1], b[1, 1] = np.finfo(dtype).max, 1e10
    with np.errstate(all="warn"):
        got, expected = outcome(lambda: call("matmul", a, b)), outcome(lambda: np.matmul(a, b))
    same(got[0], expected[0])
    assert got[1] == expected[1]
    assert all("matmul" in text for _, text in got[1])
    assert got[1]
