"""The value of a NumPy call on Tensors is that of the plain call: dtype, shape, container, scalar or array, and bits.

The class: functions that are composed of recorded operations, which round or promote elsewhere than NumPy, in every
dtype, with parameters that few calls give. tests/fuzz/spellings/values_of_numpy.py generates its members.
"""

import dataclasses
import warnings
import zlib

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag
from arraygrad.core.inplace import is_scalar
from fuzz.spellings.spelling import check
from fuzz.spellings.values_of_numpy import DTYPES, OPERANDS, TEMPLATES, member

V = np.array([0.7, 2.3, -0.4, 1.6])
X = np.array([[1.3, 0.2, 2.45], [0.7, 1.9, -1.15]])
MASK = np.array([[True, False, True], [False, True, True]])


def leaf(a):
    return ag.tensor(np.array(a), requires_grad=True)


@pytest.mark.parametrize("call", TEMPLATES)
def test_values_are_those_of_the_plain_call(call):
    rng = np.random.default_rng(zlib.crc32(call.encode()))
    for i, dtype in enumerate(DTYPES):
        check(dataclasses.replace(member(rng, call, dtype, dtype if i % 2 else str(rng.choice(OPERANDS))), order=0))


@pytest.mark.parametrize("call", TEMPLATES)
def test_values_are_those_of_the_plain_call_where_nothing_is_recorded(call):
    rng = np.random.default_rng(zlib.crc32(call.encode()))
    with ag.no_grad():
        check(dataclasses.replace(member(rng, call, "float32", "float32"), order=0))


@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("way", ["function", "method"])
def test_spread_of_chosen_complex_numbers_is_real(name, way):
    z = leaf(X + 0.5j * X[::-1])
    found = getattr(np, name)(z, where=MASK) if way == "function" else getattr(z, name)(where=MASK)
    assert found.dtype == np.float64
    found.backward()
    parts = np.concatenate([z.numpy().real.ravel(), z.numpy().imag.ravel()])

    def plain(parts):
        return getattr(np, name)(parts[:6].reshape(2, 3) + 1j * parts[6:].reshape(2, 3), where=MASK)

    expected = central_differences(plain, parts)
    np.testing.assert_allclose(z.grad.numpy().ravel(), expected[:6] + 1j * expected[6:], rtol=1e-6, atol=1e-9)


REAL_DTYPE = {
    "prod": lambda t: ag.prod(t, dtype=ag.float64),
    "cumulative_prod": lambda t: np.cumulative_prod(t, dtype="f8"),
    "multiply.accumulate": lambda t: np.multiply.accumulate(t, dtype="f8"),
    "cumulative_sum": lambda t: np.cumulative_sum(t, dtype="f8"),
    "sum": lambda t: np.sum(t, dtype="f8"),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("f", REAL_DTYPE.values(), ids=REAL_DTYPE)
def test_a_fold_of_complex_numbers_in_a_real_dtype_depends_on_their_real_parts(f):
    z = np.array([1 + 1j, 2 - 0.5j, 0.5 + 2j])
    weights = np.array([1.0, 3.0, 0.5])

    def gradient(x):
        t = leaf(x)
        (f(t) * weights).sum().backward()
        return t.grad.numpy()

    np.testing.assert_allclose(gradient(z), gradient(z.real), rtol=1e-14)


def test_points_of_a_histogram_that_are_a_plain_array_stand_in_rows():
    points = np.array([[0.0, 1.0], [2.0, 2.0]])  # as many points as coordinates: the transposed array is one, too
    w = leaf([1.5, 4.0])
    counts, edges = np.histogramdd(points, (2, 3), weights=w)
    expected, places = np.histogramdd(points, (2, 3), weights=w.numpy())
    np.testing.assert_array_equal(counts.numpy(), expected)
    for ours, theirs in zip(edges, places, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    (counts * np.arange(6.0).reshape(2, 3)).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [0.0, 5.0])


REAL = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 0.25, 1.0]])
TURNS = np.array([[0.0, -1.0], [1.0, 0.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
@pytest.mark.parametrize("matrix", [REAL, np.stack([REAL, REAL + np.eye(3)]), TURNS], ids=["real", "stack", "turns"])
def test_eigenvalues_are_real_where_numpys_are(matrix, dtype):
    a = matrix.astype(dtype)
    t = ag.tensor(a, requires_grad=a.dtype.kind in "fc")
    for name in ("eigvals", "eig"):
        ours, theirs = getattr(np.linalg, name)(t), getattr(np.linalg, name)(a)
        ours, theirs = ([ours], [theirs]) if name == "eigvals" else (ours, theirs)
        for o, p in zip(ours, theirs, strict=True):
            assert o.dtype == p.dtype
            np.testing.assert_array_equal(o.numpy(), p)


def test_gradient_of_real_eigenvalues():
    weights = np.array([1.0, 2.0, 5.0])
    t = leaf(REAL)
    (np.linalg.eigvals(t).real * weights).sum().backward()
    expected = central_differences(lambda a: np.sum(np.linalg.eigvals(a.reshape(3, 3)).real * weights), REAL.ravel())
    np.testing.assert_allclose(t.grad.numpy().ravel(), expected, rtol=1e-6, atol=1e-8)


def legendre_roots(c):
    return np.polynomial.legendre.legroots(c)


def test_roots_of_a_series_are_real_in_adopted_code_too():
    kept = []

    def f(c):
        roots = legendre_roots(c)
        kept.append(roots.dtype)
        return np.sum(roots.real * np.arange(3.0))

    c = np.array([0.1, -1.5, 0.2, 1.0])
    found = ag.grad(f, adopt=True)(c)
    expected = np.complex128 if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else np.float64
    assert legendre_roots(c).dtype == expected
    assert kept[0] == expected
    np.testing.assert_allclose(
        found, central_differences(lambda c: np.sum(legendre_roots(c).real * np.arange(3.0)), c), rtol=1e-5
    )


NAMES = {
    "qr": lambda s: np.linalg.qr(s),
    "svd": lambda s: np.linalg.svd(s),
    "svd of a Hermitian matrix": lambda s: np.linalg.svd(s, hermitian=True),
    "eigh": lambda s: np.linalg.eigh(s),
    "eigh of the upper triangle": lambda s: np.linalg.eigh(s, "U"),
    "eig": lambda s: np.linalg.eig(s),
    "slogdet": lambda s: np.linalg.slogdet(s),
}


@pytest.mark.parametrize("f", NAMES.values(), ids=NAMES)
def test_named_results_are_called_as_numpys(f):
    s = REAL @ REAL.T
    ours, theirs = f(leaf(s)), f(s)
    assert type(ours).__name__ == type(theirs).__name__
    assert type(ours)._fields == type(theirs)._fields


def test_the_rank_of_least_squares_is_numpys_integer():
    for a in (REAL, REAL[:, :2], REAL[:2]):
        b = np.arange(1.0, len(a) + 1)
        assert type(np.linalg.lstsq(leaf(a), b)[2]) is type(np.linalg.lstsq(a, b)[2])


BEGINNINGS = {
    "max": lambda x: np.max(x, axis=0, initial=np.float64(0.5), where=MASK),
    "min": lambda x: np.min(x, initial=np.float64(0.5)),
    "prod": lambda x: np.prod(x, axis=1, initial=np.float64(0.5)),
    "nansum": lambda x: np.nansum(x, initial=np.float64(0.5)),
    "multiply.reduce": lambda x: np.multiply.reduce(x, initial=np.float64(0.5)),
    "maximum.reduce": lambda x: np.maximum.reduce(x, initial=np.float64(0.5)),
}


@pytest.mark.parametrize("f", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_beginning_does_not_widen_a_reduction(f):
    x = X.astype(np.float32)
    found, expected = f(leaf(x)), f(x)
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(found.numpy(), expected)
    assert is_scalar(found) == isinstance(expected, np.generic)


def test_a_remainder_is_as_long_as_numpys():
    u, v = V.astype(np.float32), np.array([3.3, 0.7], np.float32)
    quotient, rest = np.polydiv(leaf(u), leaf(v))
    expected = np.polydiv(u, v)
    np.testing.assert_array_equal(rest.numpy(), expected[1])
    np.testing.assert_array_equal(quotient.numpy(), expected[0])
    t = leaf(u)
    np.polydiv(t, v)[1][-1].backward()
    x = V.astype(float)
    slopes = central_differences(lambda u: np.polydiv(u, v.astype(float))[1][-1], x)
    np.testing.assert_allclose(t.grad.numpy(), slopes, rtol=1e-4)


WARNS = {
    "cov": (lambda x: np.cov(x[:, :1]), "Degrees of freedom"),
    "nanmean": (lambda x: np.nanmean(x * np.nan, where=MASK), "Mean of empty slice"),
    "nanvar": (lambda x: np.nanvar(x[:1, :1], ddof=1, where=True, dtype="f8"), "Degrees of freedom"),
    "polyfit": (lambda x: np.polyfit(np.ones(3), x[0], 1, w=[1.0, 1.0, 1.0]), "poorly conditioned"),
}


@pytest.mark.parametrize(("f", "text"), WARNS.values(), ids=WARNS)
def test_a_warning_comes_once(f, text):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(leaf(X))
    assert len([w for w in caught if text in str(w.message)]) == 1


def test_a_division_by_zero_is_told_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.gradient(leaf(V), np.array([0.0, 1.0, 1.0, 2.0]))
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        np.gradient(V, np.array([0.0, 1.0, 1.0, 2.0]))
    assert [str(w.message) for w in caught] == [str(w.message) for w in expected]


def test_the_argument_stays_as_it_is():
    x = leaf(X)
    found = np.nan_to_num(x, nan=np.float64(0.5))
    assert found is not x
    for f in (np.sort_complex, np.sinc, np.cov, np.poly, lambda x: np.dot(x, 2.0)):
        f(x[0] if f is np.poly else x)
    np.testing.assert_array_equal(x.numpy(), X)
    p = ag.asarray(V)
    np.polyint(p, 0)[...] = 1.0  # NumPy gives the array itself
    np.testing.assert_array_equal(p.numpy(), np.ones(4))
