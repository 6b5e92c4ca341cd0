"""What objects of SciPy's hand out is recorded where it depends on a Tensor, or refused by name: never a constant."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import spatial, stats

import arraygrad as ag
from arraygrad.scipy import NotDifferentiable

P = np.array([[0.1, 0.7], [0.4, 0.2], [0.9, 0.5], [0.3, 0.35]])
X = np.array([0.3, 1.2, 0.7, -0.4])
W = np.array([0.3, 0.5, 0.2, 0.4])


def spread(p):
    return p.T @ p + np.eye(2)


def weighted(a):
    a = np.ravel(a)
    return np.sum(a * np.cos(np.arange(a.shape[0]) + 0.3))


MADE = {
    "normal": (lambda p: stats.multivariate_normal(p[0], spread(p)), P, "mean cov"),
    "normal, one number": (lambda c: stats.multivariate_normal([0.0, 1.0], c), 1.3, "mean cov"),
    "t": (lambda p: stats.multivariate_t(p[0], spread(p), 2.0 + p[0, 0]), P, "loc shape df"),
    "wishart": (lambda p: stats.wishart(3.0 + p[0, 0], spread(p)), P, "scale C log_det_scale df"),
    "inverse wishart": (lambda p: stats.invwishart(3.0, spread(p)), P, "scale C log_det_scale"),
    "dirichlet": (lambda a: stats.dirichlet(a), W, "alpha"),
    "multinomial": (lambda p: stats.multinomial(4, np.stack([p, 1 - p])), 0.3, "p"),
    "matrix normal": (lambda p: stats.matrix_normal(p, rowcov=1.0 + p[0, 0]), P, "mean rowcov"),
    "von Mises": (lambda k: stats.vonmises_fisher([0.0, 0.0, 1.0], k), 1.3, "kappa"),
    "kde": (lambda x: stats.gaussian_kde(x), X, "dataset covariance cho_cov inv_cov log_det"),
    "kde, weights": (
        lambda w: stats.gaussian_kde(P.T, weights=w),
        W,
        "weights neff factor covariance cho_cov inv_cov log_det scotts_factor silverman_factor covariance_factor",
    ),
    "kde, bandwidth": (lambda b: stats.gaussian_kde(X, bw_method=b), 0.4, "factor covariance cho_cov"),
    "tree": (lambda p: spatial.KDTree(p), P, "data mins maxes"),
}  # fmt: skip

CASES = [(key, name) for key, (_, _, names) in MADE.items() for name in names.split()]


@pytest.mark.parametrize(("key", "name"), CASES, ids=lambda v: v)
def test_an_attribute_beside_what_is_recorded_has_its_gradient(key, name):
    make, x, _ = MADE[key]

    def f(x):
        value = getattr(make(x), name)
        return weighted(value() if callable(value) else value) + np.sum(x)

    holds(f, x)


REFUSED = {
    "shape_info": lambda p: stats.multivariate_t(p[0], spread(p), 3.0).shape_info.log_pdet,
    "cov_object": lambda p: stats.multivariate_normal(p[0], spread(p)).cov_object.log_pdet,
    "a": lambda p: stats.truncnorm(p[0, 0], 2.0).a,
    "sparse_distance_matrix": lambda p: spatial.KDTree(p).sparse_distance_matrix(spatial.KDTree(P), 9.0)[0, 1],
    "count_neighbors": lambda p: spatial.KDTree(P).count_neighbors(spatial.KDTree(P), 0.5, weights=(p[:, 0], p[:, 1])),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_attribute_without_a_formula_is_refused_by_name(name):
    with pytest.raises(NotDifferentiable, match=rf"{name}: it depends on what the object was made of"):
        ag.grad(lambda p: REFUSED[name](p) + np.sum(p), adopt=True)(P)


def test_counts_text_and_fixed_ends_are_handed_out():
    def f(p):
        normal, tree, kde = stats.multivariate_normal(p[0], spread(p)), spatial.KDTree(p), stats.gaussian_kde(p.T)
        assert (normal.dim, tree.n, tree.m, kde.d, kde.n) == (2, 4, 2, 2, 4)
        assert tree.count_neighbors(spatial.KDTree(P), 0.5) > 0
        assert stats.gamma(p[0, 0]).a == 0.0
        return np.sum(p)

    ag.grad(f, adopt=True)(P)


def halved(w):
    k = stats.gaussian_kde(P.T, weights=w)
    k.set_bandwidth(k.factor / 2)
    return k([0.3, 0.4])[0]


def own_factor(w):
    k = stats.gaussian_kde(P.T, weights=w)
    k.covariance_factor = lambda: w[0] * 2.0
    k._compute_covariance()
    return k([0.3, 0.4])[0]


BANDWIDTHS = {
    "set from its own factor": (halved, W),
    "a function of the object": (lambda w: stats.gaussian_kde(X, lambda k: 0.5 * k.neff**-0.2, weights=w)(0.3)[0], W),
    "covariance_factor replaced": (own_factor, W),
    "a recorded number": (lambda b: stats.gaussian_kde(X, bw_method=b)(0.3)[0], 0.4),
    "a recorded number, logarithm": (lambda b: stats.gaussian_kde(X, bw_method=2.0 * b).logpdf(0.3)[0], 0.4),
    "silverman": (lambda w: stats.gaussian_kde(P.T, "silverman", weights=w)([0.3, 0.4])[0], W),
}


@pytest.mark.parametrize(("f", "x"), BANDWIDTHS.values(), ids=BANDWIDTHS)
def test_a_bandwidth_of_a_density_estimate(f, x):
    holds(f, x)


def test_an_estimate_inside_of_an_integral_of_another_is_differentiated():
    fixed = stats.gaussian_kde(X[:3])
    holds(lambda x: stats.gaussian_kde(X).integrate_kde(stats.gaussian_kde(x)), X)
    kde = ag.scipy.stats.gaussian_kde(ag.asarray(X))
    assert float(kde.integrate_kde(fixed)) == pytest.approx(stats.gaussian_kde(X).integrate_kde(fixed))


@pytest.mark.parametrize("kind", ["KDTree", "cKDTree"])
@pytest.mark.parametrize("boxsize", [1.0, [1.0, 0.0], [1.0, 2.0]])
def test_distances_in_a_periodic_box_go_by_the_nearest_image(kind, boxsize):
    holds(lambda x: getattr(spatial, kind)(P, boxsize=boxsize).query(x)[0], np.array([0.97, 0.93]))
    holds(lambda p: np.sum(spatial.KDTree(p, boxsize=boxsize).query([[0.97, 0.93], [2.9, 0.05]], k=2)[0]), P)


def test_a_box_that_requires_grad_is_refused():
    with pytest.raises(NotDifferentiable, match="data has a derivative"):
        ag.grad(lambda b: spatial.KDTree(P, boxsize=b).query([0.97, 0.93])[0], adopt=True)(1.0)


def test_a_covariance_object_and_an_entropy():
    diagonal = stats.Covariance.from_diagonal([1.0, 2.0])
    holds(lambda x: stats.multivariate_normal.logpdf(x, cov=diagonal), np.array([0.3, 0.4]))
    holds(lambda m: stats.multivariate_normal(m, diagonal).logpdf([0.1, 0.2]), np.array([0.3, 0.4]))
    holds(lambda k: stats.vonmises_fisher([0.0, 0.0, 1.0], k).entropy(), 2.0)


@pytest.mark.parametrize("name", ["wishart", "invwishart"])
def test_the_triangle_of_a_point_that_is_read(name):
    scale = np.array([[1.0, 0.3], [0.3, 2.0]])
    holds(lambda x: getattr(stats, name).logpdf(x, 3.3, scale), 1.2 * scale)
    holds(lambda s: getattr(stats, name).logpdf(1.2 * scale, 3.3, s), scale)
