"""Samples of scipy.spatial.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import A, X, positive_definite, sample, spread

P, Q = spread(4, 3, seed=1), spread(5, 3, seed=2)
U = spread(4, low=0.35, high=1.85, seed=6)
for _name in "euclidean sqeuclidean cityblock cosine canberra braycurtis correlation minkowski".split():
    sample(f"spatial.distance.{_name}", U, A, step=1e-3)
    sample(f"spatial.distance.{_name}", U, A, X, call=lambda f, u, v, w: f(u, v, w=w), step=1e-3)
    sample("spatial.distance.cdist", P, Q, call=lambda f, x, y, name=_name: f(x, y, name), step=1e-3)
    sample("spatial.distance.pdist", P, call=lambda f, x, name=_name: f(x, name), step=1e-3)
for _name in "dice hamming jaccard rogerstanimoto russellrao sokalsneath yule".split():
    sample(f"spatial.distance.{_name}", U, A, X, step=1e-3)
    sample(f"spatial.distance.{_name}", X, call=lambda f, w: f(U > 1.0, A > 1.0, w), step=1e-3)
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


def unit(v):
    return v / np.sqrt((v * v).sum())


CLOSE = {"step": 1e-3, "loose": 1e-9, "rtol": 1e-6}
sample("spatial.geometric_slerp", spread(3), spread(3, seed=5), spread(4), **CLOSE,
       call=lambda f, a, b, t: f(unit(a), unit(b), t))  # fmt: skip
sample(
    "spatial.distance.directed_hausdorff", spread(4, 3), spread(5, 3, seed=2), call=lambda f, u, v: f(u, v)[0], **CLOSE
)
for _d in (2, 3):
    sample("spatial.ConvexHull", spread(9, _d), call=lambda f, p: (f(p).volume, f(p).area), **CLOSE)

VECTORS, POINTS = spread(4, 3, low=-1.5, high=1.5), spread(4, 3, seed=5)
TINY = VECTORS * np.array([[1e-3], [1e-5], [1.0], [0.0]])
sample("spatial.transform.Rotation", spread(4, 4), POINTS, call=lambda f, q, v: f.from_quat(q).apply(v), **CLOSE)
sample(
    "spatial.transform.Rotation", VECTORS, POINTS, call=lambda f, r, v: f.from_rotvec(r).apply(v, inverse=True), **CLOSE
)
sample("spatial.transform.Rotation", VECTORS, call=lambda f, r: f.from_rotvec(r).as_matrix(), **CLOSE)
sample("spatial.transform.Rotation", TINY, step=1e-4, loose=1e-9, rtol=1e-6,
       call=lambda f, r: f.from_rotvec(r).as_rotvec())  # fmt: skip
sample(
    "spatial.transform.Rotation",
    VECTORS,
    call=lambda f, r: (f.from_rotvec(r).inv() * f.from_rotvec(r[::-1] * 0.5)).as_quat(canonical=True),
    **CLOSE,
)
sample("spatial.transform.Rotation", VECTORS, **CLOSE,
       call=lambda f, r: f.from_matrix(f.from_rotvec(r).as_matrix()).as_quat(canonical=True))  # fmt: skip
sample("spatial.transform.Rotation", 0.4 * VECTORS, call=lambda f, p: (
    f.from_mrp(p).as_mrp(), f.from_mrp(p).magnitude()), **CLOSE)  # fmt: skip
for _seq in ("xyz", "ZYX", "zxz", "XYX", "yxz", "YZY"):
    sample("spatial.transform.Rotation", 0.5 + 0.4 * VECTORS, **CLOSE,
           call=lambda f, a, seq=_seq: f.from_euler(seq, a).as_matrix())  # fmt: skip
    sample("spatial.transform.Rotation", 0.5 + 0.3 * VECTORS, **CLOSE,
           call=lambda f, r, seq=_seq: f.from_rotvec(r).as_euler(seq, degrees=True))  # fmt: skip
sample("spatial.transform.Rotation", 0.3, call=lambda f, a: f.from_euler("z", a).as_matrix(), **CLOSE)
sample("spatial.transform.Rotation", 0.5 * VECTORS, call=lambda f, r: f.from_rotvec(r).mean().as_matrix(), **CLOSE)


def rotations(r):
    from scipy.spatial import transform as theirs

    from arraygrad.scipy.spatial import transform as ours

    return (theirs if isinstance(r, np.ndarray) else ours).Rotation.from_rotvec(r)


sample("spatial.transform.Slerp", VECTORS, np.array([0.3, 1.7, 2.2]), **CLOSE,
       call=lambda f, r, t: f([0.0, 1.0, 2.0, 3.0], rotations(r))(t).as_matrix())  # fmt: skip
sample("spatial.procrustes", P, spread(4, 3, seed=9), **CLOSE)
sample("spatial.Voronoi", spread(9, 2), call=lambda f, p: f(p).vertices, step=1e-4, rtol=1e-5, loose=1e-7, rtol2=1e-3)
sample("spatial.HalfspaceIntersection", np.array([[-1.0, 0.1], [0.2, -1.1], [1.0, 1.3]]), **CLOSE, call=lambda f, a: f(
    np.concatenate([a, -np.ones((3, 1))], axis=1), np.array([0.1, 0.1])).intersections)  # fmt: skip
