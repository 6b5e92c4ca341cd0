"""The class of recorded values that stand in an argument in which NumPy looks for no protocol, beside plain arrays.

The reference is the plain call and differences of it, for arrays and lists, both precisions, all axes.
"""

import numpy as np
import pytest

import arraygrad as ag

GAPS = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, 1.0]])
ROWS = np.array([[1.0, 2.5, 3.0], [2.0, 5.0, 1.0]])
ROW = np.array([1.0, 4.0, 2.0, 7.0])
MEANS = np.array([[2.0], [2.5]])

CALLS = {
    "pad": lambda a, m: np.pad(a, 2, constant_values=m),
    "pad, pairs": lambda a, m: np.pad(a, ((1, 2),) * np.ndim(a), constant_values=(m, 2 * m)),
    "nan_to_num": lambda a, m: np.nan_to_num(np.where(np.asarray(a) > 2, np.nan, a), nan=m),
    "nan_to_num, inf": lambda a, m: np.nan_to_num(np.where(np.asarray(a) > 2, np.inf, a), posinf=m, neginf=2 * m),
    "select": lambda a, m: np.select([np.asarray(a) > 5, np.asarray(a) > 3], [np.asarray(a), np.ones(np.shape(a))],
                                     default=m),
}  # fmt: skip
REDUCTIONS = ("sum", "prod", "max", "min", "amax", "amin", "nansum", "nanprod", "nanmax", "nanmin")
UFUNCS = ("add", "multiply", "maximum", "minimum", "logaddexp", "hypot")


def holds(f, m=1.2, rtol=1e-6):
    value = f(m)
    found = ag.jacobian(lambda m: f(m) + m)(m) - 1.0
    step = 1e-6
    slope = (np.asarray(f(m + step), float) - np.asarray(f(m - step), float)) / (2 * step)
    np.testing.assert_allclose(found, slope, rtol=rtol, atol=1e-7)
    kept = ag.vjp(lambda m: f(m) + m, m)[0] - m
    np.testing.assert_allclose(np.asarray(kept, float), np.asarray(value, float), rtol=1e-12)
    assert np.shape(kept) == np.shape(value)


@pytest.mark.parametrize("array", [ROW, ROWS, ROW.tolist(), ROWS.tolist(), tuple(ROW.tolist())], ids=repr)
@pytest.mark.parametrize("name", CALLS)
def test_a_number_beside_arrays(name, array):
    holds(lambda m: CALLS[name](array, m))


@pytest.mark.parametrize("array", [ROWS, ROWS.tolist(), GAPS, np.arange(6).reshape(2, 3)], ids=["rows", "list", "gaps",
                                                                                            "whole"])  # fmt: skip
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_start_of_a_reduction(name, axis, array):
    if array is GAPS and not name.startswith("nan"):
        array = ROWS
    reduce_ = getattr(np, name)
    far = 9.0 if "max" in name else 0.5 if "min" in name else 1.0
    holds(lambda m: reduce_(array, axis=axis, initial=far * m))
    holds(lambda m: reduce_(array, axis=axis, initial=0.9 * m, keepdims=True))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", UFUNCS)
def test_the_start_of_a_ufuncs_reduction(name, axis):
    for array in (ROWS, ROWS.tolist()):
        holds(lambda m, array=array: getattr(np, name).reduce(array, axis=axis, initial=1.1 * m))


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("array", [GAPS, GAPS.tolist()], ids=["array", "list"])
@pytest.mark.parametrize("name", ["nanstd", "nanvar", "std", "var"])
def test_means_that_are_given(name, array, ddof):
    array = array if name.startswith("nan") else ROWS
    holds(lambda m: getattr(np, name)(array, axis=1, keepdims=True, mean=m * MEANS, ddof=ddof))


@pytest.mark.parametrize("points", [[-1.0, 0.5, 9.0], np.array([-1.0, 0.5, 9.0]), -0.5], ids=repr)
def test_ends_of_interpolations(points):
    holds(lambda m: np.interp(points, [0.0, 1.0, 2.0], [3.0, 4.0, 5.0], left=m, right=2 * m) + 0.0 * m)


def test_periods_of_interpolations():
    holds(lambda m: np.interp([0.3, 2.0], [0.0, 1.0, 2.0], [3.0, 4.0, 5.5], period=3 * m))


def test_what_writes_into_plain_arrays_is_refused():
    held = GAPS.copy()
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(lambda m: (np.nan_to_num(held, copy=False, nan=m), m)[1])(1.2)
    np.testing.assert_array_equal(held, GAPS)


def test_an_error_of_the_call_itself_stays():
    with pytest.raises(ValueError, match="axis"):
        ag.grad(lambda m: np.sum(ROWS, axis=7, initial=m).sum())(1.2)
