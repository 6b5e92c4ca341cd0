"""What the table says of a fold: `reduce` of a ufunc is the reduction that names it, `accumulate` the scan.

The class: every operation that folds, times axes of both signs and None, times one to three dimensions.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.ops.kinds import TABLE, folding

REDUCTIONS, SCANS = folding("reduction"), folding("scan")
RNG = np.random.default_rng(3)


def axes_of(ndim):
    return range(-ndim, ndim)


CASES = [
    (ufunc, "reduce", ndim, axis) for ufunc in REDUCTIONS for ndim in (1, 2, 3) for axis in (None, *axes_of(ndim))
] + [(ufunc, "accumulate", ndim, axis) for ufunc in SCANS for ndim in (1, 2, 3) for axis in axes_of(ndim)]


def test_no_two_operations_of_a_kind_fold_with_one_ufunc():
    named = [(entry.folds, entry.kind) for entry in TABLE.values() if entry.folds]
    assert len(set(named)) == len(named)
    assert {kind for _, kind in named} == {"reduction", "scan"}
    assert all(isinstance(getattr(np, ufunc), np.ufunc) for ufunc, _ in named)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(("ufunc", "method", "ndim", "axis"), CASES)
def test_methods_of_ufuncs_are_the_operations_that_fold(ufunc, method, ndim, axis, recorded):
    x = RNG.uniform(0.5, 1.5, (2, 3, 4)[:ndim])
    if axis is None or method == "accumulate":
        options = [{}]
    else:
        options = [{}, {"keepdims": True}]
    for more in options:
        call = getattr(getattr(np, ufunc), method)
        expected = call(x, axis=axis, **more)
        found = call(ag.tensor(x, requires_grad=recorded), axis=axis, **more)
        assert isinstance(found, ag.Tensor)
        assert found.shape == np.shape(expected)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-14)
        assert found.requires_grad == (recorded and ufunc not in ("logical_and", "logical_or"))


@pytest.mark.parametrize(("ufunc", "method", "ndim", "axis"), [case for case in CASES if "logical" not in case[0]])
def test_their_gradients_are_those_of_differences(ufunc, method, ndim, axis):
    x = RNG.permutation(24).reshape(2, 3, 4)[(0,) * (3 - ndim)] / 10.0 + 0.5  # no ties
    call = getattr(getattr(np, ufunc), method)
    weights = RNG.normal(size=np.shape(call(x, axis=axis)))

    def f(x):
        return np.sum(call(x, axis=axis) * weights)

    e, expected = 1e-5, np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = e
        expected[i] = (f(x + step) - f(x - step)) / (2 * e)
    np.testing.assert_allclose(ag.grad(f)(x), expected, rtol=1e-6, atol=1e-8)
