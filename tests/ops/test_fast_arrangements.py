"""Compiled forwards and rules of triangles, diagonals, shifts, differences, windows and choices.

Each serves plain arrays, gives what the plain path gives, and leaves to it whatever it can't read. Random calls and
layouts of the same operations are in test_fast_everywhere.py.
"""

import numpy as np
import pytest
from fast_path_cases import gradients, outcome, plain, quiet, recorded, same

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_call, try_loop
from arraygrad.backends.numpy.table import SCIPY, try_rule
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS

PLACES = np.array([[2, 0, -1], [1, 1, 1], [0, 2, -3]])
MASK = np.array([[True, False, True], [False, False, True], [True, True, False]])

# Operation, shapes of its array operands, where those stand among its parameters, and the others.
CASES = {
    "astype to single": ("astype", [(3, 4)], lambda x: (x, np.float32)),
    "astype to double": ("astype", [(5,)], lambda x: (x, np.dtype("float64"))),
    "clip": ("clip", [(3, 4)], lambda x: (x, -0.5, 1)),
    "clip from below": ("clip", [(7,)], lambda x: (x, 0.0, None)),
    "cross": ("cross", [(4, 3), (4, 3)], lambda x, y: (x, y)),
    "cross, one": ("cross", [(3,), (3,)], lambda x, y: (x, y, 0)),
    "diff": ("diff", [(3, 5)], lambda x: (x,)),
    "diff, first axis": ("diff", [(4, 3, 2)], lambda x: (x, 0)),
    "moveaxis": ("moveaxis", [(2, 3, 4)], lambda x: (x, 0, -1)),
    "moveaxis, to the front": ("moveaxis", [(2, 3, 4)], lambda x: (x, 2, 0)),
    "outer": ("outer", [(4,), (3,)], lambda x, y: (x, y)),
    "pad": ("pad", [(3, 4)], lambda x: (x, 2)),
    "pad by pairs": ("pad", [(3, 4)], lambda x: (x, ((0, 1), (2, 0)))),
    "roll": ("roll", [(3, 4)], lambda x: (x, 5)),
    "roll along an axis": ("roll", [(3, 4, 2)], lambda x: (x, -1, 1)),
    "take_along_axis": ("take_along_axis", [(3, 3)], lambda x: (x, PLACES)),
    "take_along_axis, fewer": ("take_along_axis", [(3, 3)], lambda x: (x, PLACES[:1].copy(), 0)),
    "tensordot": ("tensordot", [(2, 3, 4), (3, 4, 5)], lambda x, y: (x, y, 2)),
    "tensordot, no axes": ("tensordot", [(2, 3), (4,)], lambda x, y: (x, y, 0)),
    "tensordot, all axes": ("tensordot", [(2, 3), (2, 3)], lambda x, y: (x, y, 2)),
    "tensordot, axes in pairs": ("tensordot", [(3, 4, 5), (4, 3, 2)], lambda x, y: (x, y, ((0, 1), (1, 0)))),
    "tensordot, axes in lists": ("tensordot", [(3, 4, 5), (5, 2, 3)], lambda x, y: (x, y, ([-1, 0], [0, -1]))),
    "tensordot, one axis of each": ("tensordot", [(3, 4, 2), (5, 4)], lambda x, y: (x, y, (1, 1))),
    "tensordot, all axes in pairs": ("tensordot", [(3, 4), (4, 3)], lambda x, y: (x, y, ((0, 1), (1, 0)))),
    "tensordot, pairs of none": ("tensordot", [(3, 4), (2,)], lambda x, y: (x, y, ((), ()))),
    "trace": ("trace", [(3, 5)], lambda x: (x, 1)),
    "tril": ("tril", [(2, 3, 4)], lambda x: (x, -1)),
    "sums at places": ("_getitem_adjoint", [(9,)], lambda x: (x, (4,), PLACES.ravel())),
    "rows at places": ("_getitem_adjoint", [(3, 3, 2)], lambda x: (x, (3, 2), PLACES)),
    "rows added at places": ("_add_at", [(3, 2), (3, 3, 2)], lambda x, y: (x, PLACES, y)),
    "elements added at places": ("_add_at", [(3, 4), (3, 3)], lambda x, y: (x, (PLACES, 1), y)),
    "convolve": ("_convolve", [(6,), (4,)], lambda x, y: (x, y)),
    "convolve, longer second": ("_convolve", [(3,), (20,)], lambda x, y: (x, y)),
    "correlate": ("_correlate", [(6,), (4,)], lambda x, y: (x, y)),
    "correlate, long": ("_correlate", [(30,), (14,)], lambda x, y: (x, y)),
    "windows": ("_windows", [(6, 5)], lambda x: (x, (2, 3), (0, 1))),
    "windows twice along one axis": ("_windows", [(9,)], lambda x: (x, (2, 3), (0, 0))),
    "triu": ("triu", [(4, 3)], lambda x: (x, 1)),
}
RULES_ONLY = {
    "diagonal": ("diagonal", [(3, 5)], lambda x: (x, -1)),
    "diagonal beyond": ("diagonal", [(3, 3)], lambda x: (x, 7)),
    "stack": ("stack", [(3, 2)] * 3, lambda *arrays: (list(arrays), 1)),
    "where": ("where", [(3, 3), (3, 3)], lambda x, y: (MASK, x, y)),
    "vecdot": ("vecdot", [(3, 4), (3, 4)], lambda x, y: (x, y)),
    "vecdot, first axis": ("vecdot", [(3, 4), (3, 4)], lambda x, y: (x, y, -2)),
    "norm": ("norm", [(3, 4)], lambda x: (x,)),
    "norm of zeros": ("norm", [(1, 1)], lambda x: (x * 0.0,)),
    "matrix norm": ("matrix_norm", [(3, 4)], lambda x: (x,)),
    "vector norm": ("vector_norm", [(3, 4)], lambda x: (x, None, True)),
}
NO_RULE = ("astype", "clip")  # astype hands the gradient on, and clip's is the table's
DTYPES = ("float32", "float64")
PRODUCTS = ("outer", "tensordot", "norm", "_convolve", "_correlate")  # BLAS rounds as it is called


def raws(shapes, dtype, seed=0):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape).astype(dtype) for shape in shapes]


def bound(op, values):
    """All parameters of an operation in order, defaults for those that are not given."""
    parameters = list(op.signature.parameters.values())
    return (*values, *[p.default for p in parameters[len(values) :]])


def agree(got, expected, name):
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if name in PRODUCTS:
        eps = 64 * np.finfo(got.dtype).eps
        np.testing.assert_allclose(got, expected, rtol=eps, atol=eps)
    else:
        same(np.ascontiguousarray(got), np.ascontiguousarray(expected))


def run(name, arguments, g):
    """[the result, the gradients of its operands] for a gradient of the result."""
    op = OPS[name]
    leaves = []

    def leaf(x):
        if isinstance(x, list):
            return [leaf(item) for item in x]
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            leaves.append(ag.asarray(x, requires_grad=True))
            return leaves[-1]
        return x

    y = apply_op(op, bound(op, [leaf(x) for x in arguments]))
    y.backward(ag.asarray(g(y.shape).astype(y.dtype)))
    return [y.numpy(), *[t.grad.numpy() for t in leaves]], y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [*CASES, *RULES_ONLY])
def test_values_and_gradients_are_those_of_the_plain_path(case, dtype):
    name, shapes, arguments = {**CASES, **RULES_ONLY}[case]
    for seed in range(3):
        given = arguments(*raws(shapes, dtype, seed))

        def g(shape, seed=seed):
            return np.random.default_rng(seed + 9).normal(size=shape)

        got, _ = run(name, given, g)
        expected, _ = plain(run, name, given, g)
        for a, b in zip(got, expected, strict=True):
            agree(a, b, name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_a_compiled_forward_serves_plain_arrays(case, dtype):
    name, shapes, arguments = CASES[case]
    op = OPS[name]
    assert try_call(op, bound(op, arguments(*raws(shapes, dtype)))) is not None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [c for c in (*CASES, *RULES_ONLY) if c.split()[0] not in NO_RULE])
def test_a_compiled_rule_serves_plain_arrays(case, dtype):
    name, shapes, arguments = {**CASES, **RULES_ONLY}[case]
    op = OPS[name]
    given = [
        [ag.asarray(item, requires_grad=True) for item in x]
        if isinstance(x, list)
        else ag.asarray(x, requires_grad=True)
        if isinstance(x, np.ndarray) and x.dtype.kind == "f"
        else x
        for x in arguments(*raws(shapes, dtype))
    ]
    y = apply_op(op, bound(op, given))
    assert try_rule(y.grad_fn, np.ones(y.shape, dtype)) is not None


@pytest.mark.parametrize("case", CASES)
def test_transposed_and_strided_arrays_give_the_plain_result(case):
    name, shapes, arguments = CASES[case]
    for lay_out in (np.asfortranarray, lambda a: np.repeat(a, 2, axis=-1)[..., ::2], lambda a: a[::-1]):
        given = arguments(*[lay_out(a) for a in raws(shapes, "float64")])
        got, _ = run(name, given, np.ones)
        expected, _ = plain(run, name, given, np.ones)
        for a, b in zip(got, expected, strict=True):
            agree(a, b, name)


@pytest.mark.parametrize("name", sorted(SCIPY))
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_ufunc_of_scipy_serves_plain_arrays_with_the_plain_paths_values(name, dtype):
    pytest.importorskip("scipy.special")
    operands = [np.array([[0.3, np.nan, -0.5], [np.inf, 1.0, 0.0]]).astype(dtype)] * OPS[name].entry.signature.count(
        "x"
    )
    with quiet():
        got, expected = try_loop(BACKEND, OPS[name], *operands)[0], plain(values, name, operands)
    same(got, expected)


def values(name, operands):
    return recorded(name, operands)[1].numpy()


def test_windows_that_do_not_fit_are_numpys_error():
    x = recorded("square", [np.zeros(3)])[1]
    for lengths, axis in ((4, None), (-1, None), ((2, 3), (0, 0)), (2, 1)):
        with pytest.raises((ValueError, IndexError)):
            np.lib.stride_tricks.sliding_window_view(x, lengths, axis)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.0, 2.0])


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.0, None), (None, -0.0), (2, -1), (float("nan"), 1.0), (-1, 1e39)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_clip_treats_nan_and_crossed_bounds_as_numpy_does(dtype, bounds):
    x = SPECIAL.astype(dtype)
    with quiet():
        expected = np.clip(x, *bounds)
        _, out = recorded("clip", [x], bounds)
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out.numpy(), expected)


def test_differences_of_special_values_keep_the_signs_of_zeros():
    g = SPECIAL[1:].copy()
    with quiet():
        same(gradients("diff", [SPECIAL], g)[0], plain(gradients, "diff", [SPECIAL], g)[0])


@pytest.mark.parametrize("indices", [[[0, 5]], [[0, -4]]])
def test_places_beyond_the_axis_are_numpys_error(indices):
    with pytest.raises(IndexError):
        an.take_along_axis(recorded("square", [np.zeros((1, 3))])[1], np.array(indices), axis=1)


def test_lengths_that_do_not_match_are_numpys_error():
    with pytest.raises(ValueError, match="tensordot: axes=1 pairs lengths"):
        an.tensordot(recorded("square", [np.zeros((2, 3))])[1], np.zeros((2, 3)), axes=1)


@pytest.mark.parametrize("axes", [((0, 0), (1, 1)), ((0,), (0, 1)), (0, 0, 1), ((5,), (1,)), ((0,), (0.0,)), "01", -1])
def test_axes_that_cannot_be_paired_are_left_to_numpy(axes):
    assert try_call(OPS["tensordot"], (np.ones((2, 3)), np.ones((3, 2)), axes)) is None


@pytest.mark.parametrize("axes", [((0, 2), (1, 0)), [[2], [0]], ((-1, 0), (0, -2)), ((), ())])
def test_sums_over_paired_axes_of_any_layout_are_numpys(axes):
    generator = np.random.default_rng(4)
    x, y = generator.normal(size=(4, 3, 5)), generator.normal(size=(5, 4, 2))
    for a in (x, np.asfortranarray(x), x[:, ::-1], np.repeat(x, 2, axis=1)[:, ::2]):
        for b in (y, y.swapaxes(0, 2).copy().swapaxes(0, 2)):
            got, expected = try_call(OPS["tensordot"], (a, b, axes)), np.tensordot(a, b, axes)
            assert got.strides == expected.strides
            same(got, expected)


def test_an_overflow_on_the_way_is_reported_in_both_paths():
    def overflow():
        return gradients("diff", [np.zeros(3)], np.array([1.7e308, -1.7e308]))

    with np.errstate(over="raise"):
        assert outcome(overflow)[1] == plain(outcome, overflow)[1] != []


def test_second_derivatives_are_those_of_the_plain_path():
    def second():
        x = ag.asarray(np.arange(1.0, 10.0).reshape(3, 3), requires_grad=True)
        y = an.sum(an.roll(an.tril(x**3), 1, axis=0) * an.diff(x**2, axis=0)[:1]) + an.linalg.vector_norm(x)
        (g,) = ag.autograd.grad(y, [x], create_graph=True)
        (h,) = ag.autograd.grad(an.sum(g * g), [x])
        return h.numpy()

    np.testing.assert_allclose(second(), plain(second), rtol=1e-13)
