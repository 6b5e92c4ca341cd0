"""Masked arrays and pandas' and xarray's objects in adopted functions: refused by words that name a way out that works.

The class: an object that holds plain numbers (numpy.ma, pandas, xarray) x how a Tensor meets it (made of it, an operand
on either side, stored into it, an argument of a function of its library). Each refusal names the line and says what to
write; the ways out that it names are followed to gradients.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([1.0, 2.0, 3.0])
MASK = np.array([False, True, False])
M = np.ma.array([4.0, 5.0, 6.0], mask=MASK)


def stored(x):
    m = np.ma.zeros(3)
    m[0] = x[0]
    return m.sum()


REFUSED = {
    "on the left": lambda x: (M * x).sum(),
    "on the right": lambda x: (x * M).sum(),
    "a number": lambda x: (x.sum() * M).sum(),
    "plus an element": lambda x: (M + x[0]).mean(),
    "stored": stored,
    "multiply": lambda x: np.sum(np.multiply(M, x)),
    "a fit": lambda x: np.ma.polyfit(X, np.ma.array(x, mask=MASK), 1).sum(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_masked_arrays_are_refused_with_a_way_out(name):
    with pytest.raises(TypeError, match=r"test_masked_and_labelled_arrays\.py:\d+, in .*masked array") as caught:
        ag.grad(REFUSED[name])(X)
    assert "m.filled(0.0)" in str(caught.value) or "x.filled(0.0)" in str(caught.value)


def test_the_ways_out_of_masked_arrays():
    assert np.array_equal(ag.grad(lambda x: np.where(MASK, 0.0, x).sum())(X), [1.0, 0.0, 1.0])
    assert np.array_equal(ag.grad(lambda x: x[~MASK].mean())(X), [0.5, 0.0, 0.5])
    assert np.array_equal(ag.grad(lambda x: (x * M.filled(0.0)).sum())(X), [4.0, 0.0, 6.0])
    assert np.array_equal(ag.grad(lambda x: x[~M.mask].sum() * M.sum())(X), [10.0, 0.0, 10.0])
    assert np.array_equal(ag.grad(lambda x: np.ma.array(x, mask=MASK).sum())(X), [1.0, 0.0, 1.0])
    assert np.array_equal(ag.grad(lambda x: np.ma.masked_where(x == 2.0, x).sum())(X), [1.0, 0.0, 1.0])
    assert np.array_equal(ag.grad(lambda x: np.ma.multiply(M, x).sum())(X), [4.0, 0.0, 6.0])


def into_a_series(x, s, pd):
    s = s.copy()
    s[0] = x[0]
    return s.sum()


OF_PANDAS = {
    "made": lambda x, s, pd: pd.Series(x).sum(),
    "on the left": lambda x, s, pd: (s * x).sum(),
    "on the right": lambda x, s, pd: (x * s).sum(),
    "stored": into_a_series,
    "a column": lambda x, s, pd: pd.DataFrame({"a": s}).assign(b=x)["b"].sum(),
}


@pytest.mark.parametrize("name", OF_PANDAS)
def test_series_are_refused_with_a_way_out(name):
    pd = pytest.importorskip("pandas")
    s = pd.Series([4.0, 5.0, 6.0])
    with pytest.raises(TypeError, match=r"test_masked_and_labelled_arrays\.py:\d+, in .*series\.to_numpy\(\)"):
        ag.grad(lambda x: OF_PANDAS[name](x, s, pd))(X)


def test_the_ways_out_of_series():
    pd = pytest.importorskip("pandas")
    s = pd.Series([4.0, 5.0, 6.0])
    assert np.array_equal(ag.grad(lambda x: (x * s.to_numpy()).sum())(X), [4.0, 5.0, 6.0])
    assert np.array_equal(ag.grad(lambda x: x[(s > 4.5).to_numpy()].sum())(X), [0.0, 1.0, 1.0])
    made = pd.Series(ag.grad(lambda x: (x * s.to_numpy()).sum())(X), s.index)
    assert made.sum() == 15.0


def test_the_ways_out_of_data_arrays():
    xr = pytest.importorskip("xarray")
    data = xr.DataArray([4.0, 5.0, 6.0], dims="t")
    assert np.array_equal(ag.grad(lambda x: (x * data.values).sum())(X), [4.0, 5.0, 6.0])
    assert np.array_equal(ag.grad(lambda x: xr.DataArray(x, dims="t").sum().item())(X), np.ones(3))
