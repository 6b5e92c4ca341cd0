"""Objects that keep arrays, which the program writes afterwards: what SciPy's object then computes, or a refusal.

Some of SciPy's objects hold the array that they were given, some a copy, and some both an array and what was computed
of it. Each is written in both directions: the array after the object was made, and the object's own array.
"""

import warnings

import numpy as np
import pytest
from plain_differences import differences

scipy = pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import interpolate, signal, sparse, stats
from scipy.sparse import linalg
from scipy.spatial.transform import Rotation, Slerp

import arraygrad as ag

SPREAD = np.array([[2.0, 0.3], [0.3, 1.5]])
POINT = np.array([0.3, 0.7])
PLACES = np.array([0.3, 2.2, 4.9])
GRID = np.arange(6.0)
VALUES = np.sin(GRID) + GRID + 0.3
PLANE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.4]])
INNER = np.array([[0.3, 0.3], [0.6, 0.7]])
A, B = np.array([[-1.0, 0.3], [0.2, -2.0]]), np.array([[1.0], [0.5]])
C, D = np.array([[0.3, 1.0]]), np.array([[0.1]])
TIMES = np.linspace(0.0, 1.0, 5)


def row(*numbers):
    return np.array(numbers)


def logpdf(made):
    return made.logpdf(POINT)


def step(made):
    return made.step(T=np.linspace(0.0, 1.0, 5))[1]


def at_frequencies(made):
    return abs(signal.freqresp(made, row(0.3, 1.0, 2.0))[1])


def at_places(made):
    return made(PLACES)


def at_column(made):
    return made(PLACES[:, None])


def dense(made):
    return made.toarray()


# What -> (make the object of the array, use it, the array, the attribute that holds it).
OBJECTS = {
    "norm.loc": (lambda y: stats.norm(loc=y, scale=1.2), logpdf, row(0.1, 0.2), None),
    "norm.scale": (lambda y: stats.norm(0.1, y), logpdf, row(0.7, 1.2), None),
    "gamma": (stats.gamma, logpdf, row(1.1, 2.0), None),
    "gamma.cdf": (stats.gamma, lambda made: made.cdf(POINT), row(1.1, 2.0), None),
    "beta": (lambda y: stats.beta(y, 2.0), lambda made: made.ppf(POINT), row(1.1, 2.0), None),
    "truncnorm": (lambda y: stats.truncnorm(y, 2.0), logpdf, row(-1.1, -2.0), None),
    "expon.mean": (lambda y: stats.expon(scale=y), lambda made: made.mean(), row(1.1, 2.0), None),
    "poisson": (stats.poisson, lambda made: made.logpmf([1, 2]), row(1.1, 2.0), None),
    "binom": (lambda y: stats.binom(3, y), lambda made: made.pmf([1, 2]), row(0.4, 0.3), None),
    "multivariate_normal.mean": (lambda y: stats.multivariate_normal(y, SPREAD), logpdf, row(0.1, 0.2), "mean"),
    "multivariate_normal.cov": (lambda y: stats.multivariate_normal(np.zeros(2), y), logpdf, SPREAD, None),
    "multivariate_normal of numbers": (
        lambda y: stats.multivariate_normal([y[0], y[1]], SPREAD), logpdf, row(0.1, 0.2), None,
    ),
    "multivariate_t.loc": (lambda y: stats.multivariate_t(y, SPREAD, 3.0), logpdf, row(0.1, 0.2), "loc"),
    "multivariate_t.shape": (lambda y: stats.multivariate_t(np.zeros(2), y, 3.0), logpdf, SPREAD, None),
    "dirichlet": (stats.dirichlet, lambda made: made.logpdf(row(0.3, 0.7)), row(1.1, 2.0), "alpha"),
    "multinomial": (lambda y: stats.multinomial(3, y), lambda made: made.logpmf([1, 2]), row(0.3, 0.7), None),
    "dirichlet_multinomial": (
        lambda y: stats.dirichlet_multinomial(y, 3), lambda made: made.logpmf([1, 2]), row(1.3, 0.7), None,
    ),
    "wishart": (lambda y: stats.wishart(4.0, y), lambda made: made.logpdf(SPREAD), SPREAD, None),
    "invwishart": (lambda y: stats.invwishart(4.0, y), lambda made: made.logpdf(SPREAD), SPREAD, None),
    "matrix_normal.mean": (
        lambda y: stats.matrix_normal(y, SPREAD, SPREAD), lambda made: made.logpdf(SPREAD), 0.1 * SPREAD, "mean",
    ),
    "matrix_normal.rowcov": (
        lambda y: stats.matrix_normal(None, y, SPREAD), lambda made: made.logpdf(SPREAD), SPREAD, None,
    ),
    "gaussian_kde": (stats.gaussian_kde, lambda made: made(POINT), row(0.1, 0.2, 0.7, 1.1), None),
    "gaussian_kde.weights": (
        lambda y: stats.gaussian_kde([0.1, 0.2, 0.7], weights=y), lambda made: made(POINT), row(0.1, 0.2, 0.7), None,
    ),
    "StateSpace.A": (lambda y: signal.StateSpace(y, B, C, D), at_frequencies, A, "A"),
    "StateSpace.B": (lambda y: signal.StateSpace(A, y, C, D), lambda made: signal.step(made, T=TIMES)[1], B, "B"),
    "StateSpace.C": (lambda y: signal.lti(A, B, y, D), step, C, "C"),
    "StateSpace.D": (lambda y: signal.lti(A, B, C, y), step, D, "D"),
    "dlti": (lambda y: signal.dlti(y, B, C, D, dt=0.1), lambda made: made.step(n=4)[1][0], 0.3 * A, "A"),
    "TransferFunction.num": (
        lambda y: signal.TransferFunction(y, [2.0, 3.0, 1.0]), at_frequencies, row(1.1, 2.0), None,
    ),
    "TransferFunction.den": (lambda y: signal.TransferFunction([1.0], y), at_frequencies, row(1.1, 2.0, 0.7), None),
    "lti.num": (lambda y: signal.lti(y, [1.0, 3.0, 1.0]), step, row(1.1, 2.0), None),
    "ZerosPolesGain.zeros": (lambda y: signal.ZerosPolesGain(y, [-2.0, -3.0], 2.0), at_frequencies, row(-1.1), "zeros"),
    "ZerosPolesGain.poles": (lambda y: signal.ZerosPolesGain([-1.0], y, 2.0), at_frequencies, row(-1.1, -2.0), "poles"),
    "interp1d": (lambda y: interpolate.interp1d(GRID, y), at_places, VALUES, None),
    "interp1d, no copy": (lambda y: interpolate.interp1d(GRID, y, copy=False), at_places, VALUES, None),
    "interp1d of places": (lambda y: interpolate.interp1d(y, VALUES), at_places, GRID, None),
    "CubicSpline": (lambda y: interpolate.CubicSpline(GRID, y), at_places, VALUES, None),
    "PPoly.c": (lambda y: interpolate.PPoly(y, GRID[:4]), at_places, VALUES.reshape(2, 3), "c"),
    "PPoly.x": (lambda y: interpolate.PPoly(VALUES.reshape(2, 3), y), at_places, 1.0 * GRID[:4], "x"),
    "BPoly.c": (lambda y: interpolate.BPoly(y, GRID[:4]), at_places, VALUES.reshape(2, 3), "c"),
    "BSpline.c": (lambda y: interpolate.BSpline(np.arange(9.0), y, 2), at_places, VALUES, "c"),
    "NdBSpline": (lambda y: interpolate.NdBSpline((np.arange(9.0),), y, 2), at_column, VALUES, None),
    "NdPPoly": (lambda y: interpolate.NdPPoly(y, (GRID[:4],)), at_column, VALUES.reshape(2, 3), "c"),
    "PchipInterpolator": (lambda y: interpolate.PchipInterpolator(GRID, y), at_places, VALUES, None),
    "Akima1DInterpolator": (lambda y: interpolate.Akima1DInterpolator(GRID, y), at_places, VALUES, None),
    "CubicHermiteSpline": (lambda y: interpolate.CubicHermiteSpline(GRID, VALUES, y), at_places, VALUES, None),
    "RegularGridInterpolator": (
        lambda y: interpolate.RegularGridInterpolator((GRID,), y), at_column, VALUES, "values",
    ),
    "RegularGridInterpolator, cubic": (
        lambda y: interpolate.RegularGridInterpolator((GRID,), y, method="cubic"), at_column, VALUES, None,
    ),
    "UnivariateSpline": (lambda y: interpolate.UnivariateSpline(GRID, y, s=0), at_places, VALUES, None),
    "LinearNDInterpolator": (
        lambda y: interpolate.LinearNDInterpolator(PLANE, y), lambda made: made(INNER), VALUES[:5], None,
    ),
    "CloughTocher2DInterpolator": (
        lambda y: interpolate.CloughTocher2DInterpolator(PLANE, y), lambda made: made(INNER), VALUES[:5], None,
    ),
    "NearestNDInterpolator": (
        lambda y: interpolate.NearestNDInterpolator(PLANE, y), lambda made: made(INNER), VALUES[:5], None,
    ),
    "RBFInterpolator": (lambda y: interpolate.RBFInterpolator(PLANE, y), lambda made: made(INNER), VALUES[:5], None),
    "Rbf": (lambda y: interpolate.Rbf(GRID, y), at_places, VALUES, None),
    "BarycentricInterpolator": (lambda y: interpolate.BarycentricInterpolator(GRID, y), at_places, VALUES, None),
    "KroghInterpolator": (lambda y: interpolate.KroghInterpolator(GRID, y), at_places, VALUES, None),
    "RectBivariateSpline": (
        lambda y: interpolate.RectBivariateSpline([0.0, 1.0], [0.0, 1.0, 2.0], y, kx=1, ky=2),
        lambda made: made.ev(0.3, 1.2), VALUES.reshape(2, 3), None,
    ),
    "csr_array": (lambda y: sparse.csr_array((y, [1, 0], [0, 1, 2]), shape=(2, 2)), dense, row(1.0, 2.0), "data"),
    "csc_matrix": (lambda y: sparse.csc_matrix((y, [1, 0], [0, 1, 2]), shape=(2, 2)), dense, row(1.0, 2.0), "data"),
    "coo_array": (lambda y: sparse.coo_array((y, ([0, 1], [1, 0]))), dense, row(1.0, 2.0), "data"),
    "coo_array of a matrix": (sparse.coo_array, dense, SPREAD, "data"),
    "bsr_array": (lambda y: sparse.bsr_array((y, [0], [0, 1]), shape=(2, 2)), dense, SPREAD[None], "data"),
    "dia_array": (lambda y: sparse.dia_array((y, [0, 1]), shape=(2, 2)), dense, SPREAD, "data"),
    "diags_array": (sparse.diags_array, dense, row(1.0, 2.0), "data"),
    "aslinearoperator": (linalg.aslinearoperator, lambda made: made @ POINT, SPREAD, None),
    "splu": (
        lambda y: linalg.splu(sparse.csc_array((y, [0, 1], [0, 1, 2]), shape=(2, 2))),
        lambda made: made.solve(POINT), row(1.0, 2.0), None,
    ),
    "Rotation": (lambda y: Rotation.from_rotvec(y), lambda made: made.as_matrix(), row(0.1, 0.2, 0.3), None),
    "Slerp": (
        lambda y: Slerp(y, Rotation.from_rotvec([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])),
        lambda made: made(0.7).as_matrix(), row(0.1, 1.3), None,
    ),
    "poly1d": (np.poly1d, at_places, row(1.0, 2.0), "coeffs"),
    "Polynomial": (np.polynomial.Polynomial, at_places, row(1.0, 2.0), "coef"),
}  # fmt: skip


def weighed(a):
    a = np.asarray(a)
    return (np.sin(a) * np.arange(1, 1 + a.size).reshape(a.shape)).sum()


def the_array_is_written(x, make, use, attribute):
    y = x * 1.0
    made = make(y)
    y[...] = x * (1.0 + 0.02 * np.cos(1.0 + np.arange(x.size))).reshape(x.shape)
    return weighed(use(made)) + weighed(y)


def one_element_is_written(x, make, use, attribute):
    y = x * 1.0
    made = make(y)
    before = weighed(use(made))
    y[..., -1:] *= 1.0 + 0.01 * x.ravel()[0]
    return weighed(use(made)) * before + weighed(y)


def the_attribute_is_written(x, make, use, attribute):
    y = x * 1.0
    made = make(y)
    getattr(made, attribute)[...] *= 1.0 + 0.01 * x.ravel()[0]
    return weighed(use(made)) + weighed(y)


if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 18):
    del OBJECTS["multinomial"]  # it is nan where shares do not sum to one, so differences tell nothing
CASES = [
    (what, program)
    for what, (*_, attribute) in OBJECTS.items()
    for program in (the_array_is_written, one_element_is_written, the_attribute_is_written)
    if attribute is not None or program is not the_attribute_is_written
]


@pytest.mark.parametrize(("what", "program"), CASES, ids=[f"{what}-{p.__name__}" for what, p in CASES])
def test_an_array_that_an_object_keeps(what, program):
    make, use, at, attribute = OBJECTS[what]

    def f(x):
        return program(x, make, use, attribute)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = f(at.copy())
        except ValueError as error:  # SciPy itself refuses what has been written, or gives a read-only array
            pytest.skip(f"the plain call: {error}")
        try:
            value, gradient = ag.value_and_grad(f, adopt=True)(at.copy())
        except (TypeError, RuntimeError, AttributeError, ValueError) as error:
            assert what in REFUSED, f"{type(error).__name__}: {error}"  # noqa: PT017
            assert REFUSED[what] in str(error)  # noqa: PT017
            return
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        np.testing.assert_allclose(gradient, differences(f, at), rtol=1e-5, atol=1e-7)


# Words of the refusals.
REFUSED = {
    "gaussian_kde": "the data set of scipy.stats.gaussian_kde was written",
    "CloughTocher2DInterpolator": "the values of scipy.interpolate.CloughTocher2DInterpolator was written",
    "aslinearoperator": "the matrix of scipy.sparse.linalg.aslinearoperator was written",
    "Slerp": "would drop its gradient",
    "NdPPoly": "the attribute has no rule here",
    "RegularGridInterpolator": "the attribute has no rule here",
}
