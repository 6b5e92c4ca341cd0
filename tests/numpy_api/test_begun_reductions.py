"""Sums and products with initial= and where= have NumPy's bits, and the gradient of differences."""

import warnings

import numpy as np
import pytest

import arraygrad as ag

RNG = np.random.default_rng(11)
CALLS = {
    "sum": lambda x, i: np.sum(x, initial=i),
    "prod": lambda x, i: np.prod(x, initial=i),
    "sum of columns": lambda x, i: np.sum(x.reshape(-1, 2), axis=0, initial=i),
    "product of rows": lambda x, i: np.prod(x.reshape(-1, 2), axis=1, initial=i, keepdims=True),
    "sum of both": lambda x, i: np.sum(x.reshape(-1, 2), axis=(0, 1), initial=i),
    "add.reduce": lambda x, i: np.add.reduce(x.reshape(-1, 2), initial=i),
    "add.reduce where": lambda x, i: np.add.reduce(x, where=(x > 0.0), initial=i),
    "multiply.reduce": lambda x, i: np.multiply.reduce(x, initial=i),
    "multiply.reduce where": lambda x, i: np.multiply.reduce(
        x.reshape(2, -1), axis=1, where=[[True], [False]], initial=i
    ),
    "method": lambda x, i: x.prod(initial=i),
    "where": lambda x, i: np.sum(x, where=x > 0.0) * i,
    "where, rows": lambda x, i: np.prod(x.reshape(-1, 2), axis=0, where=[True, False]) * i,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_bits_are_numpys(name, dtype):
    for n in (2, 6, 20, 70, 300):
        x, i = RNG.normal(size=n).astype(dtype), dtype(RNG.normal())
        plain = CALLS[name](x, i)
        for start in (i, ag.tensor(i, requires_grad=True)):
            found = CALLS[name](ag.tensor(x, requires_grad=True), start).detach()
            assert found.dtype == plain.dtype
            np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_is_that_of_differences(name):
    x, i = RNG.normal(size=6), np.array(RNG.normal())
    ag.gradcheck(lambda x, i: CALLS[name](x, i[()]).sum(), (x, i))


# Folds of chosen elements, by the elements and by `initial`, which is what comes out where none is chosen.
FOLDS = {
    **{f"{name}.reduce": getattr(np, name).reduce
       for name in "maximum minimum fmax fmin hypot logaddexp add multiply subtract divide".split()},
    **{name: getattr(np, name) for name in ("max", "min", "nanmax", "nanmin", "sum", "prod", "nansum", "nanprod")},
    "method max": lambda x, **options: x.max(**options),
    "method min": lambda x, **options: x.min(**options),
}  # fmt: skip
MASKS = {
    "columns": np.array([True, False, True]),
    "rows": np.array([[False], [True], [True]]),
    "some": np.array([[True, False, False], [False, False, True], [True, False, True]]),
    "none": np.zeros((3, 3), bool),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("initial", [-7.3, 0.4, 9.1])
@pytest.mark.parametrize("name", FOLDS)
def test_folds_of_chosen_elements_begin_with_a_recorded_number(name, initial, mask):
    x = np.array([[0.35, -1.2, 2.1], [-0.6, 1.4, 0.9], [1.7, -2.3, 0.55]])
    options = [{"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": -1}]
    if name not in ("subtract.reduce", "divide.reduce"):
        options.append({"axis": None})
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of logarithms of sums of nothing
        for given in options:

            def fold(x, i, given=given):
                return FOLDS[name](x, where=MASKS[mask], initial=i[()], **given)

            np.testing.assert_allclose(
                fold(ag.tensor(x), ag.tensor(initial)).numpy(), fold(x, np.array(initial)), 1e-13
            )
            ag.gradcheck(fold, (x, np.array(initial)))
            ag.gradgradcheck(fold, (x, np.array(initial)))
