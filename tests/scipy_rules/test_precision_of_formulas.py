"""Where SciPy gives float64 for arguments in float32, gradients are computed in float64, too.

Formulas in float32 left its range where SciPy's value was right: gradients of distances were 0 at 1e-23 and at 1e22.
The class: functions that compute in float64 whatever they get x magnitudes near both ends of what float32 holds;
tests/fuzz/spellings/magnitudes_in_float32.py draws further members.
"""

import numpy as np
import pytest

spatial = pytest.importorskip("scipy.spatial", reason="SciPy, which is optional, is not installed")
from scipy.spatial import distance

import arraygrad as ag

METRICS = ("euclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")


def _calls():
    weights = np.array([0.5, 1.0, 2.0, 0.25])
    for name in METRICS:
        yield f"cdist {name}", lambda x, y, m=name: distance.cdist(x, y, m)
        yield f"weighted cdist {name}", lambda x, y, m=name: distance.cdist(x, y, m, w=weights)
        yield f"pdist {name}", lambda x, y, m=name: distance.pdist(x, m)
        yield name, lambda x, y, m=name: getattr(distance, m)(x[0], y[0])
        yield f"weighted {name}", lambda x, y, m=name: getattr(distance, m)(x[0], y[0], weights)
    for p in (1.5, 3, 20):
        yield f"cdist minkowski {p}", lambda x, y, p=p: distance.cdist(x, y, "minkowski", p=p)
        yield f"distance_matrix {p}", lambda x, y, p=p: spatial.distance_matrix(x, y, p)
        yield f"minkowski_distance {p}", lambda x, y, p=p: spatial.minkowski_distance(x, y[0], p)
    yield "seuclidean", lambda x, y: distance.cdist(x, y, "seuclidean", V=weights)
    yield "mahalanobis", lambda x, y: distance.cdist(x, y, "mahalanobis", VI=np.diag(weights))
    yield "directed_hausdorff", lambda x, y: distance.directed_hausdorff(x, y)[0]
    yield "KDTree", lambda x, y: spatial.KDTree(x).query(y)[0]


CALLS = dict(_calls())
# SciPy 1.18 deprecates distance_matrix and minkowski_distance.
pytestmark = pytest.mark.filterwarnings("ignore:`(distance_matrix|minkowski_distance(_p)?)` is deprecated")


def _gradients(call, x, y):
    value, pull = ag.vjp(lambda x, y: np.sum(call(x, y)), x, y)
    return value, pull(type(value)(1.0))


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("size", [1e-23, 1.0, 1e22])
def test_float32_far_from_one_has_the_gradient_of_float64(what, size):
    rng = np.random.default_rng(3)
    x, y = ((rng.normal(size=(n, 4)) * size).astype(np.float32) for n in (3, 2))
    wide = x.astype(float), y.astype(float)
    with np.errstate(all="ignore"):
        plain, exact = (np.sum(CALLS[what](*arrays)) for arrays in ((x, y), wide))
    if not (np.isfinite(exact) and np.isclose(plain, exact, rtol=1e-4, atol=0.0)):
        pytest.skip("SciPy itself leaves the range")
    value, found = _gradients(CALLS[what], x, y)
    assert value == plain
    _, expected = _gradients(CALLS[what], *wide)
    for one, right in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, right, rtol=1e-4, atol=1e-4 * np.abs(right).max())


def test_the_distance_at_1e_minus_23():
    x = np.array([3e-23, 4e-23], np.float32)
    if distance.euclidean(x, np.zeros(2, np.float32)) > 5.1e-23:
        pytest.skip("from SciPy 1.18 on euclidean computes in float32, which holds one digit of these squares")
    np.testing.assert_allclose(ag.grad(lambda x: distance.euclidean(x, np.zeros(2, np.float32)))(x), [0.6, 0.8], 1e-6)
    second = ag.hessian(lambda x: distance.sqeuclidean(x, np.zeros(2, np.float32)))(x)
    np.testing.assert_allclose(second, 2.0 * np.eye(2))
