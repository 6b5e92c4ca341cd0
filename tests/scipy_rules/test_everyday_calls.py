"""Everyday calls of SciPy's functions, recorded as one node: SciPy's bits, and the derivatives of the declared way."""

import importlib
import warnings

import numpy as np
import pytest

scipy = pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.stats as theirs

import arraygrad as ag
from arraygrad.scipy import fft, integrate, linalg, ndimage, signal, special, stats
from arraygrad.scipy._declare import REGISTRY
from arraygrad.scipy._everyday import Agreeing, set_everyday_calls
from arraygrad.scipy.spatial import distance
from arraygrad.scipy.stats._everyday import COMMON, COUNTS
from arraygrad.testing import gradcheck


@pytest.fixture
def declared():
    """A function that calls another one in the declared way."""

    def call(f):
        before = set_everyday_calls(False)
        try:
            return f()
        finally:
            set_everyday_calls(before)

    return call


def numbers(*shape, seed=0, dtype="float64"):
    rng = np.random.default_rng([seed, *shape])
    real = rng.normal(size=shape)
    return (real + 1j * rng.normal(size=shape)).astype(dtype) if dtype.startswith("complex") else real.astype(dtype)


def outcome(f, arrays, second=True):
    """(value, gradients, gradients by create_graph, second derivatives, warnings) of a weighted sum of f's results.

    No second derivatives where `second` is False, nothing by create_graph where it is None.
    """
    given = [ag.tensor(a, requires_grad=True) for a in arrays]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = f(*given)
    weights = numbers(*value.shape, seed=5, dtype=str(value.dtype))
    found = ag.autograd.grad([value], given, [ag.asarray(weights)], retain_graph=True, allow_unused=True)
    again = twice = []
    if second is not None:
        again = ag.autograd.grad([value], given, [ag.asarray(weights)], create_graph=True, allow_unused=True)
        parts = [(abs(g) ** 2).sum() for g in again if g is not None and g.requires_grad]
        twice = ag.autograd.grad(sum(parts), given, allow_unused=True) if parts and second else []
    plain = [[None if g is None else g.detach().numpy() for g in some] for some in (found, again, twice)]
    return value.detach().numpy(), *plain, [str(one.message) for one in caught]


def same(f, *arrays, declared, tolerance=1e-10, second=True):
    ours, other = outcome(f, arrays, second), declared(lambda: outcome(f, arrays, second))
    assert ours[0].dtype == other[0].dtype
    assert ours[0].shape == other[0].shape
    assert ours[0].tobytes() == other[0].tobytes()
    assert ours[4] == other[4]
    for left, right in zip(ours[1:4], other[1:4], strict=True):
        for one, two in zip(left, right, strict=True):
            assert (one is None) == (two is None)
            if one is not None:
                assert one.dtype == two.dtype
                assert one.shape == two.shape
                scale = max(1e-30, np.abs(two[np.isfinite(two)]).max(initial=0.0))
                close = 1e-4 if one.dtype.char in "fF" else tolerance
                np.testing.assert_allclose(one / scale, two / scale, rtol=close, atol=close)


M = numbers(4, 6)
SYMMETRIC = M @ M.T + 4.0 * np.eye(4)
SQUARE = numbers(4, 4, seed=1) + 3.0 * np.eye(4)
VECTOR, COLUMNS = numbers(4, seed=2), numbers(4, 3, seed=2)
LONG = numbers(12, seed=3)
CALLS = {
    "fft": (lambda x: fft.fft(x), M),
    "fft of complex numbers": (lambda x: fft.fft(x, 5, axis=0, norm="ortho"), M + 0.5j * M**2),
    "ifft": (lambda x: fft.ifft(x, norm="forward"), M + 0.5j * M**2),
    "rfft": (lambda x: fft.rfft(x), M),
    "rfft of fewer": (lambda x: fft.rfft(x, 5, norm=None), M),
    "irfft": (lambda x: fft.irfft(x, 7), M + 0.5j * M**2),
    "hfft": (lambda x: fft.hfft(x), M + 0.5j * M**2),
    "ihfft": (lambda x: fft.ihfft(x, axis=0), M),
    "fftn": (lambda x: fft.fftn(x, (3, 5), [1, 0]), M),
    "ifftn": (lambda x: fft.ifftn(x), M),
    "rfftn": (lambda x: fft.rfftn(x, axes=-1), M),
    "irfftn": (lambda x: fft.irfftn(x, s=[4, 5]), M + 0.5j * M**2),
    **{f"dct {type}": (lambda x, type=type: fft.dct(x, type, norm="ortho"), M) for type in (1, 2, 3, 4) if type != 1},
    "dct of more": (lambda x: fft.dct(x, n=9, axis=0), M),
    "idct": (lambda x: fft.idct(x, 3, n=3), M),
    "dst": (lambda x: fft.dst(x, 1), M),
    "idst": (lambda x: fft.idst(x), M),
    "inv": (lambda a: linalg.inv(a), SQUARE),
    "det": (lambda a: linalg.det(a), SQUARE),
    "det of a singular matrix": (lambda a: linalg.det(a), np.outer(VECTOR, VECTOR)),
    "solve": (lambda a, b: linalg.solve(a, b), SQUARE, VECTOR),
    "solve of columns": (lambda a, b: linalg.solve(a, b), SQUARE, COLUMNS),
    "cholesky": (lambda a: linalg.cholesky(a), SYMMETRIC),
    "cholesky, lower": (lambda a: linalg.cholesky(a, lower=True), SYMMETRIC),
    "cholesky, by place": (lambda a: linalg.cholesky(a, True), SYMMETRIC),
    "cho_solve": (lambda c, b: linalg.cho_solve((c, True), b), SQUARE, VECTOR),
    "cho_solve, upper": (lambda c, b: linalg.cho_solve((c, False), b), SQUARE, COLUMNS),
    "cho_solve of a transposed factor": (lambda c, b: linalg.cho_solve((c.T, True), b), SQUARE, COLUMNS),
    **{
        f"solve_triangular {trans} {lower} {unit}": (
            lambda a, b, trans=trans, lower=lower, unit=unit: linalg.solve_triangular(a, b, trans, lower, unit),
            SQUARE, VECTOR if trans == 0 else COLUMNS,
        )
        for trans in (0, 1, "N", "T") for lower in (False, True) for unit in (False, True)
    },
    "solve_triangular of a transposed matrix": (
        lambda a, b: linalg.solve_triangular(a.T, b, lower=True), SQUARE, VECTOR
    ),
    "logsumexp": (lambda a: special.logsumexp(a), M),
    "logsumexp of rows": (lambda a: special.logsumexp(a, axis=1, keepdims=True), M),
    "logsumexp of ties": (lambda a: special.logsumexp(a, 0), np.round(M)),
    "logsumexp of weights": (lambda a: special.logsumexp(a, b=np.arange(6.0)), M),
    "lfilter": (lambda x: signal.lfilter([0.2, 0.3], [2.0, -0.4, 0.1], x), M),
    "lfilter's coefficients": (lambda b, a, x: signal.lfilter(b, a, x), LONG[:3], np.array([1.7, -0.4]), LONG),
    "lfilter of few": (lambda b, a, x: signal.lfilter(b, a, x), LONG[:5], np.array([1.7, -0.4, 0.2, 0.1]), LONG[:3]),
    "sosfilt": (lambda x: signal.sosfilt([[0.2, 0.3, 0.1, 1.0, -0.4, 0.1]], x), M),
    **{
        f"{name} {mode} {n}": (
            lambda x, y, name=name, mode=mode: getattr(signal, name)(x, y, mode), LONG[:n], numbers(5, seed=4)
        )
        for name in ("convolve", "fftconvolve") for mode in ("full", "same", "valid") for n in (3, 5, 8)
    },
    **{
        f"convolve2d {mode} {boundary} {size}": (
            lambda x, y, mode=mode, boundary=boundary: signal.convolve2d(x, y, mode, boundary),
            numbers(7, 8), numbers(*size, seed=6),
        )
        for mode in ("full", "same", "valid") for boundary in ("fill", "symm") for size in ((3, 2), (4, 5), (1, 1))
    },
    "convolve2d of large arrays": (lambda x, y: signal.convolve2d(x, y, "valid"), numbers(60, 70), numbers(3, 4)),
    "convolve2d, full, of large arrays": (lambda x, y: signal.convolve2d(x, y), numbers(60, 70), numbers(3, 4)),
    "convolve2d, same, of large arrays": (lambda x, y: signal.convolve2d(x, y, "same"), numbers(60, 70), numbers(3, 4)),
    "convolve2d by a larger filter": (lambda x, y: signal.convolve2d(x, y), numbers(2, 8), numbers(3, 4)),
    "gaussian_filter": (lambda x: ndimage.gaussian_filter(x, (0.8, 1.3), mode=["wrap", "mirror"]), M),
    "gaussian_filter, by place": (lambda x: ndimage.gaussian_filter(x, 0.8, 1, None, "nearest"), M),
    "correlate": (lambda x, w: ndimage.correlate(x, w, mode="constant", cval=2.0), M, COLUMNS),
    "uniform_filter": (lambda x: ndimage.uniform_filter(x, size=(3, 2)), M),
    "trapezoid": (lambda y: integrate.trapezoid(y, dx=0.3, axis=0), M),
    "trapezoid at places": (lambda y, x: integrate.trapezoid(y, x), LONG, np.sort(numbers(12, seed=7))),
    "trapezoid of rows at places": (lambda y, x: integrate.trapezoid(y, x=x), M, np.sort(numbers(6, seed=7))),
    "simpson": (lambda y: integrate.simpson(y, dx=0.3, axis=0), M),
    **{
        f"simpson at {n} places": (
            lambda y, x: integrate.simpson(y, x=x), LONG[:n], np.linspace(0, 1, n) ** 2 + np.arange(n)
        )
        for n in (2, 3, 4, 5, 12)
    },
    "cdist": (lambda x, y: distance.cdist(x, y), M, numbers(3, 6)),
    "cdist of a point with itself": (lambda x, y: distance.cdist(x, y), M, M[:2].copy()),
    "cdist, squared": (lambda x, y: distance.cdist(x, y, "sqeuclidean"), M, numbers(3, 6)),
    "pdist": (lambda x: distance.pdist(x, "cityblock"), M),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["double", "single"])
def test_a_call_is_that_of_the_declared_way(name, dtype, declared):
    f, *arrays = CALLS[name]
    if dtype == "single":
        arrays = [a.astype(np.complex64 if a.dtype.kind == "c" else np.float32) for a in arrays]
    # What is not smooth has no second derivative to compare.
    same(f, *arrays, declared=declared, second="with itself" not in name)


@pytest.mark.parametrize("name", [name for name in CALLS if "itself" not in name and "ties" not in name])
def test_gradients_are_those_of_finite_differences(name):
    f, *arrays = CALLS[name]
    assert gradcheck(f, tuple([ag.tensor(a, requires_grad=True) for a in arrays]))


def test_the_calls_here_are_recorded_as_one_node_of_the_table():
    """All but those that name what is not served: weights, a result's place, places beside rows."""
    declared = {"logsumexp of weights", "gaussian_filter, by place"}
    for name, (f, *arrays) in CALLS.items():
        found = f(*[ag.tensor(a, requires_grad=True) for a in arrays])
        kind = type(found.grad_fn).__name__
        assert (kind != "OpNode") == (name in declared or name == "trapezoid of rows at places"), (name, kind)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_arrays_of_any_layout(order, declared):
    wide = numbers(8, 12, seed=8)
    x = {"C": wide[:4, :6].copy(), "F": np.asfortranarray(wide[:4, :6]), "strided": wide[::-2, ::2]}[order]
    for f in (
        lambda x: fft.rfft(x), lambda x: special.logsumexp(x, 0), lambda x: signal.convolve2d(x, M[:2, :2]),
        lambda x: ndimage.gaussian_filter(x, 1.0), lambda x: distance.pdist(x), lambda x: linalg.inv(x[:, :4]),
        lambda x: linalg.solve_triangular(x[:, :4], VECTOR, lower=True), lambda x: stats.norm.logpdf(x, 0.3, 2.0),
    ):  # fmt: skip
        same(f, x, declared=declared)


# -- distributions ----------------------------------------------------------------------------------------------------


def shapes_of(law, draw):
    return [draw(k) for k, _ in enumerate(filter(None, (law.shapes or "").split(",")))]


@pytest.mark.parametrize("method", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
@pytest.mark.parametrize("name", COMMON)
def test_a_distribution_has_scipys_bits(name, method, declared):
    law, ours = getattr(theirs, name), getattr(getattr(stats, name), method, None)
    if f"stats.{name}.{method}" not in REGISTRY:
        pytest.skip("it has no rule")
    u = np.linspace(0.05, 0.95, 7)
    rng = np.random.default_rng(3)
    for shapes in (shapes_of(law, lambda k: 1.7 + 0.3 * k), shapes_of(law, lambda k: rng.uniform(0.7, 3.0, size=7))):
        shapes = [np.asarray(shape) for shape in shapes]
        first, n = [np.ravel(shape)[0] for shape in shapes], len(shapes)
        inside = law.ppf(u, *shapes)
        points = (inside, np.asarray(law.ppf(0.3, *first)), np.append(inside[:-1], np.nan), inside - 3.0)
        for x in points:
            for loc, scale in ((0, 1), (np.asarray(0.3), np.asarray(2.0)), (0.1, u + 0.5), (0, -1.0)):
                rest = [value for value in (loc, scale) if isinstance(value, np.ndarray)]

                def f(x, *given, loc=loc, scale=scale, n=n):
                    left = iter(given[n:])
                    return ours(x, *given[:n], *[next(left) if np.ndim(v) or isinstance(v, np.ndarray) else v
                                                 for v in (loc, scale)])  # fmt: skip

                arrays = [np.asarray(x, dtype=float), *shapes, *rest]
                same(f, *arrays, declared=declared, second=None)
                plain = getattr(law, method)(np.asarray(x)[()], *shapes, loc, scale)
                value = f(*[ag.tensor(a, requires_grad=True) for a in arrays]).detach().numpy()
                assert value.tobytes() == np.asarray(plain).tobytes()


@pytest.mark.parametrize("name", COUNTS)
def test_masses_have_scipys_bits(name, declared):
    shapes = (0.3, np.array([0.2, 0.3, 0.4, 0.7])) if name != "poisson" else (2.5, np.array([0.5, 1.0, 2.0, 3.0]), 0.0)
    points = (np.array([0, 1, 1, 0]), np.ones(4), np.array([1.0, 1.5, 0.0, 1.0]), np.array([3, 1, 9, 1]), 1, 0)
    for method in ("logpmf", "pmf"):
        ours, law = getattr(getattr(stats, name), method), getattr(getattr(theirs, name), method)
        for k in points:
            for p in shapes:
                for loc in (0, -1, 1):
                    same(lambda p, k=k, loc=loc, ours=ours: ours(k, p, loc=loc), np.asarray(p), declared=declared,
                         second=None)  # fmt: skip
                    value = ours(k, ag.tensor(p, requires_grad=True), loc=loc).detach().numpy()
                    assert value.tobytes() == np.asarray(law(k, p, loc=loc)).tobytes()


def test_second_derivatives_of_a_log_density(declared):
    x = numbers(5) + 4.0
    same(lambda x, m, s: stats.norm.logpdf(x, m, s), x, np.asarray(0.3), np.asarray(1.3), declared=declared)
    same(lambda x, a, s: stats.gamma.logpdf(x, a, scale=s), x, np.asarray(2.3), np.asarray(1.3), declared=declared)
    same(lambda x, s: stats.expon.pdf(x, scale=s), x, np.asarray(1.3), declared=declared)


# -- what is left to the declared way ---------------------------------------------------------------------------------


def test_what_has_no_rule_is_refused_as_before():
    one, x = ag.tensor(1.0, requires_grad=True), ag.tensor(LONG, requires_grad=True)
    with pytest.raises(TypeError, match="argument 'k' requires grad"):
        stats.poisson.logpmf(one, 2.0)
    with pytest.raises(TypeError, match="argument 'k' requires grad"):
        stats.poisson.logpmf(k=one, mu=ag.tensor(2.0, requires_grad=True))
    with pytest.raises(TypeError, match="argument 'n' requires grad"):
        fft.fft(x, one)
    with pytest.raises(TypeError, match="unexpected keyword"):
        fft.fft(x, m=3)


def test_a_constant_that_is_written_before_backward_is_noticed():
    x, kernel = ag.tensor(LONG, requires_grad=True), LONG[:3].copy()
    found = signal.convolve(x, kernel)
    kernel *= 2.0
    with pytest.raises(RuntimeError, match="written"):
        found.sum().backward()


def test_values_that_are_not_scipys_are_not_used():
    whole = Agreeing(lambda x: x + 1.0, lambda x: x + (1.0 if x[0] == 0.0 else 2.0))
    assert whole(np.array([0.0]))[0] == 1.0
    assert whole.agrees
    assert whole(np.array([1.0]))[0] == 2.0
    assert not whole.agrees
    assert whole(np.array([3.0]))[0] == 4.0


def test_every_everyday_function_is_called_here():
    served = {name for name, rule in REGISTRY.items() if rule.quick is not None and not name.startswith("stats.")}
    spelled = {name.split(" ")[0].strip(",").removesuffix("'s") for name in CALLS}
    of_one_kind = "correlate convolve correlate1d convolve1d gaussian_filter1d gaussian_laplace uniform_filter1d sobel"
    of_one_kind += " prewitt laplace correlate2d idct dst"
    missing = {name.rpartition(".")[2] for name in served} - spelled - set(of_one_kind.split())
    assert missing == set()
    assert importlib.import_module("arraygrad.scipy.ndimage") is ndimage
