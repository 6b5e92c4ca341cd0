"""Stands for the class: NumPy's functions of two arrays and an axis, whatever numbers of dimensions these have.

Operands of other numbers of dimensions, exchanged operands, axes of both signs and out of bounds, axes of length one
and none, complex numbers, second order: each member is held to NumPy's value, shape, dtype and refusal, and its
derivatives to differences. `tests/fuzz/spellings/axes_of_numpys_pairs.py` draws further members at random.
Imports of arraygrad: the public face, and ops._axes, which counts.
"""

import itertools
import warnings

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as agnp
from arraygrad.ops._axes import counted_by, from_end, not_enlarged, positions
from fuzz.spellings.arrays_of_numpy import spelling
from fuzz.spellings.spelling import Counts, check

SHAPES = ((), (3,), (1,), (0,), (2, 3), (3, 2), (1, 3), (2, 1, 3), (2, 3, 3), (3, 2, 0))
AXES = (None, *range(-4, 4))


def values(shape, dtype="float64", seed=0):
    rng = np.random.default_rng([seed, *shape])
    found = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype == "complex128" else 0)
    return np.asarray(found).astype(dtype)


def held(name, function, *arrays, **options):
    counts = Counts()
    check(spelling(name, function, arrays, options, order=2, rtol=1e-5), counts)
    return counts


def pairs():
    return itertools.product(SHAPES, SHAPES)


# -- the cases that were wrong -----------------------------------------------------------------------------------------


def test_trapezoid_of_points_of_other_dimensions():
    y = np.arange(8.0).reshape(2, 2, 2) ** 2
    x = np.array([[0.0, 1.0], [2.0, 5.0]])
    assert np.trapezoid(ag.asarray(y, requires_grad=True), x, axis=-2).tolist() == [[4, 20], [52, 148]]
    assert np.trapezoid(ag.asarray(y, requires_grad=True), x, axis=-1).tolist() == [[0.5, 19.5], [20.5, 127.5]]
    y, x = np.array([1.0, 2.0, 3.0]), np.arange(1.0, 7.0).reshape(3, 2)
    assert np.trapezoid(ag.asarray(y, requires_grad=True), x).tolist() == [4, 4, 4]


def test_vecdot_counts_by_each_operand():
    a = np.arange(8.0).reshape(2, 2, 2)
    for vecdot in (np.linalg.vecdot, np.vecdot, ag.vecdot):
        assert ag.grad(lambda b, f=vecdot: f(a, b, axis=1)[0, 1])(np.ones((2, 2))).tolist() == [[0, 0], [1, 3]]
        assert ag.grad(lambda b, f=vecdot: f(a, b, axis=0)[0, 1])(np.ones((2, 2))).tolist() == [[0, 1], [0, 5]]


def test_cov_of_two_vectors_by_columns():
    a = ag.asarray(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    assert np.cov(a, a, rowvar=False).tolist() == [[1, 1], [1, 1]]
    with pytest.raises(ValueError, match="must match"):
        np.cov(a.reshape(1, 3), a.reshape(1, 3), rowvar=False)


def test_a_base_of_logspace_broadcasts_with_the_ends():
    found = np.logspace(0, ag.asarray(np.array([1.0, 2.0]), requires_grad=True), 2, base=np.array([[1.0, 2], [3, 4]]))
    assert found.tolist() == [[[1, 1], [1, 1]], [[1, 4], [3, 16]]]


def test_a_mean_may_have_more_axes_than_the_array():
    a, mean = np.zeros((0, 3)), np.zeros((2, 0, 3))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # no degrees of freedom
        assert np.isnan(np.var(ag.asarray(a, requires_grad=True), mean=mean).numpy())
    a, mean = values((2, 3)), values((2, 1, 1))
    held("np.var", lambda a, m: np.var(a, axis=-1, mean=m), a, mean)
    held("np.std", lambda a, m: np.std(a, axis=1, mean=m), a, mean)
    with pytest.raises(ValueError, match="mean="):  # NumPy writes the deviations into the array
        np.nanvar(ag.asarray(a, requires_grad=True), axis=-1, mean=mean)


def test_a_mean_of_a_plain_array_that_numpy_does_not_see_is_refused_with_the_way_out():
    a, mean = np.array([1.0, 2.0, 3.0]), ag.asarray(np.asarray(1.0), requires_grad=True)
    for name in ("nanvar", "nanstd"):
        with pytest.raises(TypeError, match=rf"arraygrad\.numpy\.{name}"):
            getattr(np, name)(a, mean=mean)
        assert getattr(agnp, name)(a, mean=mean).requires_grad


def test_vectors_of_two_have_a_cross_product():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for lengths in itertools.product((2, 3), (2, 3)):
            for dtype in ("float64", "complex128"):
                a, b = values((4, lengths[0])), values((lengths[1], 1, 4), dtype)
                held("np.cross", np.cross, a, b, axisb=0)
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        try:
            np.cross(np.ones(2), np.ones(2))
        except ValueError:  # from NumPy 2.5 on
            plain = None
    context = pytest.raises(ValueError, match="3-dimensional vectors") if plain is None else (
        pytest.warns(DeprecationWarning, match="2-dimensional vectors")
    )  # fmt: skip
    with context:
        np.cross(ag.asarray(np.ones(2), requires_grad=True), np.ones(2))


def test_take_of_an_array_without_axes():
    t = ag.asarray(np.asarray(3.0), requires_grad=True)
    for mode, axis in itertools.product(("raise", "wrap", "clip"), (0, -1, None)):
        assert np.take(t, [0, -1], axis=axis, mode=mode).tolist() == [3.0, 3.0]
    with pytest.raises(np.exceptions.AxisError):
        np.take(t, 0, axis=1, mode="clip")


def test_an_average_broadcasts_nothing_into_its_weights():
    a, w = np.ones((2, 3)), np.array([1.0, 2.0, 3.0])
    held("np.average", lambda a, w: np.average(a, axis=1, weights=w, returned=True), a, w)
    with pytest.raises(ZeroDivisionError):
        np.average(ag.asarray(np.zeros((0, 2)), requires_grad=True), axis=0, weights=np.zeros(0))


# -- the class ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["trapezoid", "linalg.vecdot", "vecdot", "linalg.cross", "cross"])
def test_an_axis_of_every_pair(name, dtype):
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    counts, rng = Counts(), np.random.default_rng(7)
    for first, second in pairs():
        axis = AXES[rng.integers(len(AXES))]
        arrays = values(first, dtype), values(second, seed=1)
        options = {} if axis is None else {"axis": axis}
        check(spelling(f"np.{name}", function, arrays, options, order=2, rtol=1e-5), counts)
    assert counts.gradients > 5


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "max", "min", "var", "any", "nansum", "nanmean", "nanmax", "nanvar"]
)
def test_a_mask_must_not_enlarge_the_array(name):
    initial = {"initial": -9.0} if name in ("max", "nanmax") else {"initial": 9.0} if name == "min" else {}
    for first, second in pairs():
        mask = np.random.default_rng(3).random(second) < 0.7

        def masked(a, mask=mask):
            return getattr(np, name)(a, axis=-1, where=mask, **initial)

        check(spelling(f"np.{name}(where={mask!r})", masked, (values(first),), order=1, rtol=1e-5))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin"])
def test_what_a_reduction_begins_with_is_a_number(name):
    a = ag.asarray(np.ones((2, 3)), requires_grad=True)
    for initial in (np.ones(3), np.ones((2, 1)), [1.0, 2.0]):
        with pytest.raises(ValueError, match="must be a number"):
            getattr(np, name)(a, initial=initial)
    assert getattr(np, name)(a.astype(np.float32), initial=np.asarray(1.0)).dtype == np.float32


PRODUCTS = {
    "matmul": [((2, 2), (2, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((0, 3), (3, 1))],  # noqa: E501
    "matvec": [((2, 3), (3,)), ((5, 2, 3), (3,)), ((2, 3), (5, 3)), ((0, 3), (3,)), ((2, 0), (0,))],
    "vecmat": [((3,), (3, 2)), ((5, 3), (3, 2)), ((3,), (5, 3, 2)), ((0,), (0, 2))],
    "vecdot": [((3,), (3,)), ((5, 3), (3,)), ((3,), (4, 5, 3)), ((0,), (2, 0))],
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_with_axes(name):
    """Each operand's core axes are moved to other places, and named there from both ends."""
    function, rng = getattr(np, name), np.random.default_rng(2)
    cores = {"matmul": (2, 2), "matvec": (2, 1), "vecmat": (1, 2), "vecdot": (1, 1)}[name]
    for first, second in PRODUCTS[name]:
        for dtype in ("float64", "complex128"):
            arrays, axes = [], []
            for shape, core in zip((first, second), cores, strict=True):
                core = min(core, len(shape))
                places = rng.permutation(len(shape))[:core]
                arrays.append(np.moveaxis(values(shape, dtype), range(-core, 0), places))
                axes.append(tuple([int(p) - len(shape) * int(rng.integers(2)) for p in places]))
            made = function(values(first), values(second))
            core = np.ndim(made) - len(
                np.broadcast_shapes(first[: len(first) - cores[0]], second[: len(second) - cores[1]])
            )
            out = [int(p) - np.ndim(made) * int(rng.integers(2)) for p in rng.permutation(np.ndim(made))[:core]]
            held(f"np.{name}", function, *arrays, axes=[*axes, tuple(out)])


def test_products_refuse_axes_as_numpy_does():
    a, b = ag.asarray(np.ones((2, 3)), requires_grad=True), np.ones((3, 2))
    with pytest.raises(np.exceptions.AxisError):
        np.matmul(a, b, axes=[(0, 2), (0, 1), (0, 1)])
    with pytest.raises(TypeError, match="keepdims"):
        np.matmul(a, b, keepdims=True)
    held("np.vecdot", np.vecdot, values((2, 3)), values((3,)), keepdims=True)
    with pytest.raises(ValueError, match="tensorsolve"):
        np.linalg.tensorsolve(ag.asarray(np.ones((2, 2)), requires_grad=True), np.ones(2), axes=(-1,))


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack"])
def test_casting_of_joins(name):
    arrays = np.ones(2), np.ones(2)
    for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
        held(f"np.{name}", lambda *a, c=casting: getattr(np, name)(a, casting=c), *arrays)
    single = ag.asarray(np.ones(2, np.float32), requires_grad=True)
    with pytest.raises(TypeError, match="'equiv'"):
        getattr(np, name)([single, np.ones(2)], casting="equiv")


def test_the_codes():
    assert positions("own", 1, 2, 3) == (-1, -2)
    assert positions("equal", 0, 2, 2) == (-2, -2)
    assert positions("first", 1, 3, 1) == (-2,)
    assert positions("joint", 1, 1, 3) == positions("ones", 1, 1, 3) == (-2, -2)
    assert positions("result", 0, 4) == (-4,)
    assert counted_by("raw", 1, 2) == (1, 2)
    assert [from_end(i, 3) for i in range(-3, 3)] == [-3, -2, -1, -3, -2, -1]
    for code, ndims in (("own", (1, 3)), ("first", (1, 3)), ("joint", (1, 1))):
        with pytest.raises(IndexError, match="axis 1 is out of bounds for an array of 1 dimensions"):
            positions(code, 1, *ndims)
    with pytest.raises(ValueError, match="same number of dimensions"):
        positions("equal", 0, 1, 2)
    with pytest.raises(ValueError, match="counts no axis"):
        positions("fixed", 0, 1)
    not_enlarged("f", "where=", (2, 3), (1, 3))
    with pytest.raises(ValueError, match="where="):
        not_enlarged("f", "where=", (1, 3), (2, 3))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize(
    "a",
    [np.array([[np.nan - 0.7j, 0.4 + 2j]]), np.array([[np.inf, 1.0], [2.0, 3.0]], np.float32), np.ones((2, 3))],
    ids=["complex nan", "float32 infinity", "ones"],
)
def test_counts_of_an_average_are_those_of_any_values(a, axis, keepdims):
    count = np.average(a, axis=axis, returned=True, keepdims=keepdims)[1]
    mean, found = np.average(ag.asarray(a, requires_grad=True), axis=axis, returned=True, keepdims=keepdims)
    assert not found.requires_grad
    assert mean.requires_grad
    assert (found.dtype, found.shape) == (count.dtype, np.shape(count))
    np.testing.assert_array_equal(found.numpy(), count)
