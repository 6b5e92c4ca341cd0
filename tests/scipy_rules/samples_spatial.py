"""Samples of scipy.spatial.

May import: numpy, scipy_samples.
"""

from scipy_samples import A, X, positive_definite, sample, spread

P, Q = spread(4, 3, seed=1), spread(5, 3, seed=2)
U = spread(4, low=0.35, high=1.85, seed=6)
for _name in "euclidean sqeuclidean cityblock cosine canberra braycurtis correlation minkowski".split():
    sample(f"spatial.distance.{_name}", U, A, step=1e-3)
    sample(f"spatial.distance.{_name}", U, A, X, call=lambda f, u, v, w: f(u, v, w=w), step=1e-3)
    sample("spatial.distance.cdist", P, Q, call=lambda f, x, y, name=_name: f(x, y, name), step=1e-3)
    sample("spatial.distance.pdist", P, call=lambda f, x, name=_name: f(x, name), step=1e-3)
sample("spatial.distance.chebyshev", U, A, step=1e-3)
sample("spatial.distance.minkowski", U, A, call=lambda f, u, v: f(u, v, 3.5), step=1e-3)
sample("spatial.distance.cdist", P, Q, spread(3), call=lambda f, x, y, w: f(x, y, "minkowski", p=3, w=w), step=1e-3)
sample("spatial.distance.seuclidean", U, A, X)
sample("spatial.distance.mahalanobis", U[:3], A[:3], positive_definite(3), step=1e-3)
sample("spatial.distance.jensenshannon", U, A)
sample("spatial.distance.jensenshannon", P, spread(4, 3, seed=8), call=lambda f, p, q: f(p, q, base=2.0, axis=1))
sample("spatial.distance.squareform", spread(6))
sample("spatial.distance.squareform", spread(4), call=lambda f, x: f(x[:, None] * x[None, :], checks=False))
sample("spatial.distance_matrix spatial.minkowski_distance spatial.minkowski_distance_p", P, spread(4, 3, seed=8),
       call=lambda f, x, y: f(x, y, p=3), step=1e-3)  # fmt: skip
