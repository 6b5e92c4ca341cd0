"""Functions that SciPy computes in float64, of arguments in float32 near the ends of its range.

The class: distances between vectors and of all pairs, by metric, with and without weights, of magnitudes between 1e-26
and 1e25. The reference is the same call in float64.
"""

import importlib

from .spelling import Spelling
from .swapped_products import one_of

CALLS = 40


def draw(rng):
    size = float(10.0 ** rng.uniform(-26, 25))
    metric = one_of(rng, "euclidean", "cityblock", "cosine", "correlation", "canberra", "minkowski", "seuclidean")
    n, m, k = (int(v) for v in rng.integers(2, 5, 3))
    x, y = (rng.normal(size=(rows, k + 1)) + 3.0 for rows in (n, m))
    more = {"V": rng.uniform(0.5, 2.0, k + 1)} if metric == "seuclidean" else {}
    if metric == "minkowski":
        more["p"] = float(one_of(rng, 1.5, 3.0, 6.0))
    if metric != "seuclidean" and rng.random() < 0.4:
        more["w"] = rng.uniform(0.5, 2.0, k + 1)
    single = metric in ("euclidean", "cityblock", "canberra") and rng.random() < 0.4
    degree = 0.0 if metric in ("cosine", "correlation", "canberra") else 1.0

    def call(package, dtype):
        def call(x, y):
            distance = importlib.import_module(f"{package}.spatial.distance")
            x, y = ((a * size).astype(dtype) for a in (x, y))
            found = getattr(distance, metric)(x[0], y[0], **more) if single else distance.cdist(x, y, metric, **more)
            return found * size**-degree

        return call

    what = f"scipy.spatial.distance {metric}{' of two' if single else ''} at {size:.1e}, {list(more)}"
    return Spelling(what, call("arraygrad.scipy", "float32"), call("scipy", "float64"), (x, y), order=1, rtol=3e-3,
                    value_rtol=1e-3, dtypes=False)  # fmt: skip
