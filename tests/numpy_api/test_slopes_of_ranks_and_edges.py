"""Stands for the class: arguments that choose places and yet have a slope.

The fraction q of a quantile, between elements, and the ends of bins of one width: of histograms in one and several
dimensions, by the data and by range=, of constant and of empty data, with bins= of all kinds. References: central
differences, and formulas.
Imports of arraygrad: the public face only.
"""

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.array([1.0, 2.5, 4.7, 3.3, 0.2])
Y = np.array([3.0, 1.0, 2.0, 0.4, 0.9])
METHODS = (
    "linear", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf", "inverted_cdf",
    "averaged_inverted_cdf", "closest_observation", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


def weighted(edges):
    return np.sum(edges * np.arange(1.0, edges.shape[0] + 1))


def agree(f, x, plain=None):
    np.testing.assert_allclose(ag.grad(f)(x), central_differences(plain or f, x), rtol=1e-6, atol=1e-6)


# -- quantiles by q ----------------------------------------------------------------------------------------------------


def test_between_elements_the_slope_is_their_difference_times_that_of_the_rank():
    x = np.array([1.0, 2.0, 4.0])
    assert ag.grad(lambda q: np.quantile(x, q))(0.3) == 2.0
    assert ag.grad(lambda q: np.percentile(x, q))(30.0) == pytest.approx(0.02)
    assert ag.grad(lambda q: np.nanquantile(np.array([1.0, np.nan, 2.0, 4.0]), q))(0.3) == 2.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_every_method(name, method):
    scale = 100.0 if "percent" in name else 1.0
    a = np.stack([X, 2.0 * Y, X - Y])
    if name.startswith("nan"):
        a[1, 2] = np.nan
    q = np.array([0.03, 0.31, 0.57, 0.98]) * scale

    def f(q):
        return weighted(getattr(np, name)(a, q, axis=-1, method=method) @ np.arange(1.0, 4.0))

    agree(f, q)


def test_at_an_element_the_slope_is_the_mean_of_both_sides():
    x = np.array([1.0, 2.0, 4.0])
    slope = ag.grad(lambda q: np.quantile(x, q))
    assert [slope(q) for q in (0.0, 0.5, 1.0)] == [2.0, 3.0, 4.0]


def test_the_mixed_derivative_by_q_and_the_elements():
    def f(v):
        return np.quantile(v[1:], v[0])

    hessian = ag.hessian(f)(np.array([0.3, 1.0, 2.0, 4.0]))
    np.testing.assert_allclose(hessian, hessian.T)
    np.testing.assert_allclose(hessian[0], [0.0, -2.0, 2.0, 0.0])


def test_weights_and_q_of_a_step_have_no_slope():
    w = np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    assert ag.grad(lambda q: np.quantile(X, q, weights=w, method="inverted_cdf"))(0.3) == 0.0
    assert ag.grad(lambda w: np.quantile(X, 0.3, weights=w, method="inverted_cdf"))(w).tolist() == [0.0] * 5


def test_beside_an_infinite_element_q_is_refused():
    with np.errstate(all="ignore"), pytest.raises(TypeError, match="infinite"):
        ag.grad(lambda q: np.quantile(np.array([1.0, np.inf]), q))(0.3)


# -- edges -------------------------------------------------------------------------------------------------------------


def test_edges_of_constant_data():
    for x in ([2.0], [2.0, 2.0]):
        x = np.array(x)
        assert ag.grad(lambda x: np.histogram_bin_edges(x, 4).sum())(x).sum() == 5.0
        assert ag.grad(lambda x: np.histogram(x, 3)[1].sum())(x).sum() == 4.0
        assert ag.grad(lambda x: np.histogram2d(x, x, 2)[2].sum())(x).sum() == 3.0


@pytest.mark.parametrize(
    "bins", [1, 4, np.int64(3), "auto", "fd", "sqrt", "scott", "rice", "sturges", "doane", "stone"]
)
def test_edges_by_the_data(bins):
    agree(lambda x: weighted(np.histogram_bin_edges(x, bins)), X)
    agree(lambda x: weighted(np.histogram(x, bins)[1]), X)
    agree(lambda x: weighted(np.histogram(x, bins, density=True)[0]), X)


@pytest.mark.parametrize("ends", [(0.1, 5.0), (-1.0, 2.0), (2.0, 2.0)])
def test_edges_by_the_ends_of_range(ends):
    ends = np.array(ends)
    for f in (
        lambda r, x: np.histogram_bin_edges(x, 4, range=(r[0], r[1])),
        lambda r, x: np.histogram(x, 4, range=(r[0], r[1]))[1],
        lambda r, x: np.histogram2d(x, Y, (2, 3), range=[(r[0], r[1]), (0, 4)])[1],
    ):
        found = ag.grad(lambda r, f=f: weighted(f(r, ag.asarray(X))))(ends)
        k = f(ends, X).shape[0]
        share = np.linspace(0.0, 1.0, k) @ np.arange(1.0, k + 1)
        np.testing.assert_allclose(found, [k * (k + 1) / 2 - share, share])


def test_edges_that_are_given_pass_through():
    edges = np.array([0.0, 2.0, 3.0, 5.0])
    agree(lambda b: weighted(np.histogram(X, b)[1]), edges)
    agree(lambda b: weighted(np.histogram(X, b, density=True)[0]), edges)
    edges = np.array([0.0, 1.6, 3.1, 5.0])
    agree(lambda b: np.sum(np.histogram2d(X, Y, b, density=True)[0] * np.arange(9.0).reshape(3, 3)), edges)
    agree(lambda b: np.sum(np.histogram2d(X, Y, [b, edges], density=True)[0] * np.arange(9.0).reshape(3, 3)), edges)


def test_edges_of_several_dimensions():
    agree(lambda x: weighted(np.histogram2d(x, Y, (3, 2))[1]), X)
    agree(lambda y: weighted(np.histogram2d(X, y, (3, 2))[2]), Y)
    agree(lambda y: np.sum(np.histogram2d(X, y, (2, 3), density=True)[0] * np.arange(6.0).reshape(2, 3)), Y)

    def f(s):
        return sum(weighted(e) for e in np.histogramdd(s.reshape(5, 2), (2, 3))[1])

    agree(f, np.stack([X, Y], 1).ravel())


def test_edges_of_no_data_are_constants():
    edges = np.histogram_bin_edges(ag.asarray(np.zeros(0), requires_grad=True), 2)
    assert edges.tolist() == [0.0, 0.5, 1.0]
