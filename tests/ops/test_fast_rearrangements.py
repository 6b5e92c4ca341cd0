"""NumPy's functions that join, insert and repeat, compiled: values, layouts, warnings and errors are NumPy's own; and
their rules are the plain ones."""

import numpy as np
import pytest
from fast_path_cases import values_of
from numpy_outcomes import LAYOUTS, outcome

import arraygrad as ag
from arraygrad.backends.numpy import joins
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.numpy_api import recorded
from arraygrad.ops import OPS

DTYPES = ("float32", "float64", "complex64", "complex128", "int64")
LISTS = ("vstack", "hstack", "dstack", "column_stack", "block")


def arrays(dtype, *shapes):
    return [np.asarray(values_of(dtype, i)(shape)) for i, shape in enumerate(shapes)]


def held(name, *args, **kwargs):
    """The compiled function gives what NumPy's gives."""
    ours, numpys = outcome(getattr(joins, name), *args, **kwargs), outcome(getattr(np, name), *args, **kwargs)
    assert ours == numpys, f"{name} of {args}, {kwargs}"


# Thousands of combinations take less time in loops than as tests of their own.
JOINED = [
    [(3,), (3,)],
    [(3,), (2,)],
    [(2, 3), (2, 3)],
    [(2, 3), (4, 3)],
    [(2, 3), (2, 1)],
    [(3,), (2, 3)],
    [(3,), (3, 2)],
    [(2, 3, 4), (2, 3, 4)],
    [(2, 3), (2, 3, 4)],
    [(1, 1), (1, 1), (1, 1)],
    [(0, 3), (2, 3)],
    [(0,), (0,)],
    [(), ()],
    [(), (2,)],
    [(2, 3)],
    [],
]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_joined_is_numpys(name, dtype, layout):
    for shapes in JOINED:
        pieces = [LAYOUTS[layout](a) for a in arrays(dtype, *shapes)]
        held(name, pieces)
        held(name, tuple(pieces))


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "pieces",
    [
        [np.ones(2), np.ones(2, np.float32)],
        [np.ones(2), [1.0, 2.0]],
        [1.0, 2.0],
        np.ones((2, 3)),
        [np.ones((1, 1), object), np.ones((1, 1))],
        [np.ma.ones(2), np.ma.ones(2)],
        [np.ones(2, ">f8"), np.ones(2)],
    ],
    ids=str,
)
def test_what_joins_otherwise_is_numpys_own(name, pieces):
    held(name, pieces)


@pytest.mark.parametrize("kwargs", [{"dtype": np.float32}, {"casting": "no"}, {"dtype": int}, {"casting": "nothing"}])
@pytest.mark.parametrize("name", ["vstack", "hstack"])
def test_keywords_of_a_join_mean_what_they_mean_to_numpy(name, kwargs):
    held(name, [np.ones(2), np.ones(2)], **kwargs)


@pytest.mark.parametrize(
    "nested",
    [
        lambda a, b: [[a, a], [a, a]],
        lambda a, b: [[a, b], [b, a]],
        lambda a, b: [[[a]], [[a]]],
        lambda a, b: [a, [a]],
        lambda a, b: [],
        lambda a, b: [[], [a]],
        lambda a, b: [[a, 1.0], [0, a]],
        lambda a, b: (a, b),
        lambda a, b: [[a, b]],
        lambda a, b: [[[[[[[[[a]]]]]]]]],
        lambda a, b: a,
        lambda a, b: [[a.T, a.T]],
    ],
)
def test_a_block_of_nested_lists_is_numpys(nested):
    a, b = arrays("float64", (2, 2), (2, 3))
    held("block", nested(a, b))
    held("block", nested(a[0], b[:, 0]))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "other", "axis"),
    [
        ((3,), (2,), None),
        ((2, 3), (4,), None),
        ((2, 3), (2, 3), 0),
        ((2, 3), (2, 1), -1),
        ((2, 3), (2, 1), 0),
        ((2, 3), (2, 3), 2),
        ((), (), None),
        ((0,), (2,), None),
        ((2, 3), (3,), 0),
    ],
)
def test_what_is_appended_is_numpys(layout, dtype, shape, other, axis):
    a, b = [LAYOUTS[layout](x) for x in arrays(dtype, shape, other)]
    held("append", a, b, axis)
    held("append", a, 2.5, axis)
    held("append", a, [1, 2], axis=axis)
    held("append", a, 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "axis"), [((4,), None), ((4,), 0), ((2, 3), None), ((2, 3, 4), 1), ((3, 2), -2), ((3,), 1)]
)
def test_what_is_inserted_and_deleted_is_numpys(layout, dtype, shape, axis):
    (a,) = [LAYOUTS[layout](x) for x in arrays(dtype, shape)]
    given = arrays(dtype, (), (1,), (3,), (2, 1), (2, 2), (2, 3, 4), (1, 2, 1, 1))
    for obj in (0, 1, -1, 2, 3, 4, -5, 10**30, True, [1], slice(0, 2), np.int64(1), 1.0):
        held("delete", a, obj, axis)
        for values in (2.5, 3, 1e300, 10**30, *given):
            held("insert", a, obj, values, axis)


def test_values_of_another_dtype_are_inserted_as_numpy_does():
    for values in (np.ones(2, np.float32), np.ones(2, complex), np.ones(2, int), "a"):
        held("insert", np.arange(3.0), 1, values)
        held("insert", np.arange(3.0, dtype=np.float32), 1, values)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (0,), (1,)])
def test_what_is_resized_is_numpys(layout, dtype, shape):
    (a,) = [LAYOUTS[layout](x) for x in arrays(dtype, shape)]
    for new in (7, (4, 4), (2, 1), [3, 5], (), (0, 2), (-1,), (2.0,), np.int64(3), (1 << 62, 4), (3,) * 9):
        if np.prod(new, dtype=float) < 1e6:
            held("resize", a, new)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_put_on_a_diagonal_is_numpys(layout, dtype):
    for x in arrays(dtype, (3,), (0,), (1,), (2, 3), (), (2, 2, 2)):
        a = LAYOUTS[layout](x)
        for k in (0, 1, -2, 5, 1.0, None, True):
            held("diagflat", a, k)
            held("diag", a, k)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (0,), (2, 3), (), (2, 1, 2)])
def test_copies_are_numpys(layout, dtype, shape):
    (a,) = [LAYOUTS[layout](x) for x in arrays(dtype, shape)]
    for reps in ((2,), (1,), (0,), (2, 1), (1, 3, 2), (), (2, 2, 2, 2)):
        got = try_call(OPS["tile"], (a, reps))
        if got is not None:
            assert outcome(lambda got=got: got) == outcome(np.tile, a, reps)
    got = try_call(OPS["full_like"], (a, np.asarray(2.5, a.dtype), None, None))
    if got is not None:
        assert outcome(lambda: got) == outcome(np.full, a.shape, np.asarray(2.5, a.dtype))
    held("full_like", a, np.asarray(2.5, a.dtype))
    held("full_like", a, 2.5)


def test_copies_of_row_major_arrays_are_compiled():
    assert try_call(OPS["tile"], (np.ones((2, 3)), (2, 1))) is not None
    assert try_call(OPS["full_like"], (np.ones((2, 3)), np.asarray(2.0), None, None)) is not None


def test_without_fast_paths_numpys_functions_run():
    before = set_fast_paths(False)
    try:
        assert joins.vstack([np.ones(2), np.ones(2)]).shape == (2, 2)
        held("block", [[np.ones(2)], [np.ones(2)]])
        held("insert", np.ones(3), 1, 2.0)
        held("delete", np.ones(3), 1)
        held("resize", np.ones(3), 5)
        held("diagflat", np.ones(3))
        held("append", np.ones(3), 1.0)
    finally:
        set_fast_paths(before)


RULES = {
    "vstack": (lambda x, y: np.vstack([x, y]), [(3,), (2, 3)]),
    "vstack of three": (lambda x, y, z: np.vstack([x, y, z]), [(3,), (2, 3), (1, 3)]),
    "vstack, a constant": (lambda x: np.vstack([np.ones((2, 3)), x]), [(2, 3)]),
    "hstack": (lambda x, y: np.hstack([x, y]), [(2, 3), (2, 1)]),
    "hstack of vectors": (lambda x, y: np.hstack([x, y]), [(3,), (4,)]),
    "hstack of long rows": (lambda x, y: np.hstack([x, y]), [(700,), (900,)]),
    "hstack of three": (lambda x, y, z: np.hstack([x, y, z]), [(2, 3), (2, 1), (2, 2)]),
    "dstack": (lambda x, y: np.dstack([x, y]), [(3,), (1, 3, 2)]),
    "column_stack": (lambda x, y: np.column_stack([x, y]), [(3,), (3, 2)]),
    "block": (lambda x, y: np.block([x, y]), [(3,), (2,)]),
    "append": (np.append, [(2, 3), (2,)]),
    "append along an axis": (lambda x, y: np.append(x, y, axis=1), [(2, 3), (2, 2)]),
    "append to a constant": (lambda y: np.append(ag.tensor(np.ones((2, 3))), y, axis=-1), [(2, 2)]),
    "diag": (lambda x: np.diag(x, -1), [(3,)]),
    "diagflat": (lambda x: np.diagflat(x, 2), [(2, 3)]),
    "tile": (lambda x: np.tile(x, (2, 3, 1)), [(2, 4)]),
    "tile once": (lambda x: np.tile(x, (1, 1, 1)), [(2, 4)]),
    "tile of a number": (lambda x: np.tile(x, (3,)), [()]),
    "repeat": (lambda x: np.repeat(x, 3, axis=1), [(2, 4)]),
    "repeat all": (lambda x: np.repeat(x, 2), [(2, 4)]),
    "full_like": (lambda x: ag.full_like(np.ones((2, 3)), x), [()]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("call", "shapes"), RULES.values(), ids=RULES)
def test_gradients_are_those_of_the_plain_rules(call, shapes, dtype, layout):
    def run():
        leaves = [ag.tensor(a, requires_grad=True) for a in arrays(dtype, *shapes)]
        result = call(*leaves)
        weights = LAYOUTS[layout](np.cos(np.arange(result.size)).reshape(result.shape).astype(dtype))
        return [g.numpy() for g in ag.autograd.grad(result, leaves, ag.asarray(weights))]

    ours = run()
    before = set_fast_paths(False)
    try:
        plain = run()
    finally:
        set_fast_paths(before)
    for a, b in zip(ours, plain, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-13)


def test_functions_with_a_compiled_rule_have_it():
    from arraygrad.backends.numpy.table import attach_recorded

    names = "append block column_stack diag diagflat dstack full_like hstack vstack".split()
    made = recorded.functions(lambda *args: None)
    assert all(attach_recorded(name, made[getattr(np, name)]) for name in names)


def test_gradients_of_joined_arrays_do_not_share_memory():
    x, y = [ag.tensor(a, requires_grad=True) for a in arrays("float64", (3,), (3,))]
    g = ag.tensor(np.ones((2, 3)))
    a, b = ag.autograd.grad(np.vstack([x, y]), [x, y], g)
    a[...] = 5.0
    np.testing.assert_array_equal(b.numpy(), np.ones(3))
    np.testing.assert_array_equal(g.numpy(), np.ones((2, 3)))
