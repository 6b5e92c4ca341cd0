"""Stands for the class: options of SciPy's functions that few calls give.

Voronoi cells of farthest sites, estimates of errors beside a function of a matrix, axis=None, samples that are said to
be sorted, complex output of real input, tables that a correction makes independent, responses at one time.
References: SciPy's plain call, and central differences of it.
Imports of arraygrad: the public face only.
"""

import inspect
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial
import scipy.stats
from plain_differences import differences

import arraygrad as ag
import arraygrad.scipy.linalg
import arraygrad.scipy.ndimage
import arraygrad.scipy.signal
import arraygrad.scipy.spatial
import arraygrad.scipy.stats

ours = arraygrad.scipy


def weighted(a):
    flat = np.real(np.reshape(a, -1))
    return np.sum(flat * np.cos(np.arange(flat.shape[0])))


def agree(f, x, rtol=1e-6, atol=1e-7):
    """f(module, x) of ours has the value and the gradient of SciPy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, gradient = ag.value_and_grad(lambda x: f(ours, x), adopt=False)(x)
        np.testing.assert_allclose(float(value), float(f(scipy, x)), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(gradient, differences(lambda x: f(scipy, x), x, 1e-4), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("furthest", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_vertices_of_voronoi_cells_of_nearest_and_of_farthest_sites(dimensions, furthest, seed):
    points = np.random.default_rng(seed).normal(size=(8, dimensions))
    plain = scipy.spatial.Voronoi(points, furthest_site=furthest)
    t = ag.tensor(points, requires_grad=True)
    found = ours.spatial.Voronoi(t, furthest_site=furthest)
    np.testing.assert_allclose(found.vertices.numpy(), plain.vertices, rtol=1e-6)
    if np.abs(plain.vertices).max() > 20.0:  # differences tell little of vertices far away
        return
    weighted(found.vertices).backward()
    expected = differences(lambda x: weighted(scipy.spatial.Voronoi(x, furthest_site=furthest).vertices), points, 1e-6)
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-4, atol=1e-4)


MATRIX = np.eye(3) + 0.2 * np.sin(np.arange(9.0)).reshape(3, 3)


@pytest.mark.parametrize("name", ["logm", "sqrtm"])
@pytest.mark.parametrize("options", [{}, {"disp": True}, {"disp": False}])
def test_functions_of_matrices_with_an_estimate_of_their_error(name, options):
    if not options.keys() <= inspect.signature(getattr(scipy.linalg, name)).parameters.keys():
        with pytest.raises(TypeError, match="disp"):  # SciPy 1.18 has no estimate
            getattr(ours.linalg, name)(ag.tensor(MATRIX, requires_grad=True), **options)
        return

    def f(module, x):
        found = getattr(module.linalg, name)(x, **options)
        return weighted(found[0] if isinstance(found, tuple) else found)

    agree(f, MATRIX)


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_a_constant_is_taken_off_all_axes(shape, axis):
    x = np.sin(np.arange(float(np.prod(shape))) ** 2).reshape(shape)
    agree(lambda module, x: weighted(module.signal.detrend(x, axis=axis, type="constant")), x)


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("base", [None, 2.0])
def test_a_distance_of_distributions_over_all_axes(shape, axis, keepdims, base):
    n = int(np.prod(shape))
    other = 1.5 + np.cos(np.arange(float(n))).reshape(shape)
    x = 1.2 + np.sin(np.arange(float(n)) ** 2).reshape(shape)

    def f(module, x):
        found = module.spatial.distance.jensenshannon(x, other, base, axis=axis, keepdims=keepdims)
        assert np.shape(found) == np.shape(scipy.spatial.distance.jensenshannon(
            np.asarray(x.detach() if isinstance(x, ag.Tensor) else x), other, base, axis=axis, keepdims=keepdims
        ))  # fmt: skip
        return weighted(found)

    agree(f, x)


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("order", [None, 1, 2, 3, 4, [1, 3]])
@pytest.mark.parametrize("standardize", [False, True])
def test_moments_of_what_is_said_to_be_sorted(is_sorted, order, standardize):
    x = np.array([0.3, 2.0, 1.1, 4.7, 2.9, 3.3])
    agree(lambda module, x: weighted(np.stack(list(np.atleast_1d(module.stats.lmoment(
        x, order, sorted=is_sorted, standardize=standardize
    )))) if order is None or isinstance(order, list) else module.stats.lmoment(
        x, order, sorted=is_sorted, standardize=standardize)), x)  # fmt: skip


@pytest.mark.parametrize("order", [0, 1])  # of higher order SciPy has none
@pytest.mark.parametrize("output", [np.float32, np.float64, np.complex128])
def test_a_spline_filter_of_real_input_into_complex_output(order, output):
    x = np.cos(np.arange(20.0) ** 2).reshape(4, 5)
    agree(lambda module, x: weighted(module.ndimage.spline_filter1d(x, order, axis=0, output=output)), x,
          1e-3, 1e-3)  # fmt: skip


@pytest.mark.parametrize("table", [[[14.6, 18.2], [10.9, 14.6]], [[9.0, 12.0], [8.0, 10.4]], [[3.0, 9.0], [8.0, 2.0]]])
@pytest.mark.parametrize("lambda_", [None, "log-likelihood", 0.5])
@pytest.mark.parametrize("correction", [False, True])
def test_tables_that_a_correction_makes_independent(table, lambda_, correction):
    def f(module, x):
        found = module.stats.chi2_contingency(x, correction, lambda_)
        return 0.3 * found.pvalue + found.statistic + weighted(found.expected_freq)

    agree(f, np.array(table))


@pytest.mark.parametrize("correction", [False, True])
def test_tables_of_single_precision_are_compared_in_double(correction):
    table = np.array([[9.0, 12.0], [8.0, 10.4]], np.float32)
    found = ours.stats.chi2_contingency(ag.tensor(table, requires_grad=True), correction)
    plain = scipy.stats.chi2_contingency(table, correction)
    for name in ("statistic", "pvalue", "expected_freq"):
        assert getattr(found, name).dtype == np.asarray(getattr(plain, name)).dtype


@pytest.mark.parametrize("name", ["dimpulse", "dstep"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_response_at_one_time_is_scipys(name, n):
    system = (np.array([0.2, 0.6]), np.array([-0.7, -0.3]), 1.3, 0.1)
    plain = getattr(scipy.signal, name)(system, n=n)[1][0]
    found = getattr(ours.signal, name)((ag.tensor(system[0], requires_grad=True), *system[1:]), n=n)[1][0]
    np.testing.assert_allclose(found.numpy(), plain, rtol=1e-10)


@pytest.mark.parametrize("lambda_", ["pearson", "log-likelihood", "cressie-read", 0.5, 2, 1.5, 3])
@pytest.mark.parametrize("places", [[0], [1, 3], [0, 1, 2]])
def test_classes_in_which_nothing_was_observed(lambda_, places):
    observed = np.array([3.0, 1.5, 4.0, 2.5])
    observed[places] = 0.0

    def f(module, x):
        expected = x * (np.sum(observed) / np.sum(x))
        return module.stats.power_divergence(observed, expected, lambda_=lambda_).statistic

    agree(f, np.array([2.0, 1.0, 3.0, 2.6]))


def test_a_score_of_no_observations_is_scipys():
    x = np.array([-4.5, 0.5, 4.0])
    found = ours.stats.scoreatpercentile(ag.tensor(x, requires_grad=True), 30, (1.0, 2.0), "lower", 0)
    np.testing.assert_array_equal(
        ag.asarray(found).detach().numpy(), scipy.stats.scoreatpercentile(x, 30, (1.0, 2.0), "lower", 0)
    )


@pytest.mark.parametrize("weighted_by", [None, np.float32, np.float64])
@pytest.mark.parametrize("method", ["evaluate", "pdf", "logpdf"])
@pytest.mark.parametrize("bandwidth", [None, 0.5, "silverman"])
def test_densities_of_single_precision_are_computed_in_double(weighted_by, method, bandwidth):
    rng = np.random.default_rng(0)
    data, points = rng.normal(size=(2, 6)).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32)
    weights = None if weighted_by is None else np.abs(rng.normal(size=6)).astype(weighted_by)
    plain = getattr(scipy.stats.gaussian_kde(data, bandwidth, weights), method)(points)
    found = getattr(ours.stats.gaussian_kde(ag.tensor(data, requires_grad=True), bandwidth, weights), method)(points)
    assert found.dtype == plain.dtype
    np.testing.assert_allclose(found.detach().numpy(), plain, rtol=1e-5)
