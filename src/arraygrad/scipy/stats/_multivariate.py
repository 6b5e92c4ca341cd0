"""Distributions of vectors and matrices.

May import: arraygrad, scipy._declare, scipy._guards, scipy.stats._univariate, numpy, SciPy.

Sources: Gelman et al. (2013), Bayesian Data Analysis, appendix A ("BDA"); Muirhead (1982), Aspects of Multivariate
Statistical Theory. Covariances are read as SciPy reads them: the lower triangle alone.
"""

import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY, composed, parsed, raw, refused
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.stats._univariate import OBJECTS, Distribution

__all__ = []

LOG_2PI = math.log(2.0 * math.pi)


def _points(x, d):
    """(points (..., d), whether the last axis was added) as SciPy reads x for d dimensions."""
    x = ag.asarray(x)
    if x.ndim == 0:
        return ag.reshape(x, (1, 1))
    if x.ndim == 1:
        return x[:, None] if d == 1 else x[None, :]
    return x


def _squeezed(a):
    found = a
    while found.ndim and 1 in found.shape:
        found = ag.squeeze(found, axis=found.shape.index(1))
    return found


def _given(cov):
    """The matrix of an object that SciPy's covariances are given as."""
    return cov.covariance if isinstance(cov, stats.Covariance) else cov


def _covariance(cov, d):
    cov = ag.asarray(cov)
    if cov.ndim == 0:
        return cov * np.eye(d)
    if cov.ndim == 1:
        return ag.eye(cov.shape[0]) * cov[:, None]
    return cov


def _log_det(name, matrix):
    return 2.0 * ag.sum(ag.log(ag.linalg.diagonal(_lower_factor(name, matrix))))


def _read(matrix):
    """The symmetric matrix that SciPy makes of the lower triangle."""
    return ag.tril(matrix) + ag.matrix_transpose(ag.tril(matrix, k=-1))


def _lower_factor(name, matrix):
    try:
        return ag.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(
            f"arraygrad.scipy.stats.{name}: the covariance is singular, so the density has no derivative"
        ) from error


def _whitened(name, x, mean, cov):
    """(squared Mahalanobis distances, log of the determinant, d)."""
    sizes = [np.shape(raw(v))[-1] for v in (mean, cov) if v is not None and np.ndim(raw(v))]
    d = sizes[0] if sizes else (1 if np.ndim(raw(x)) < 2 else np.shape(raw(x))[-1])
    if not sizes and np.ndim(raw(x)) == 1 and mean is None:
        d = 1
    factor = _lower_factor(name, _covariance(1.0 if cov is None else cov, d))
    away = _points(x, d) - (0.0 if mean is None else mean)
    flat = ag.reshape(away, (-1, d))
    solved = ag.linalg.solve(factor, ag.matrix_transpose(flat))
    square = ag.reshape(ag.sum(solved * solved, axis=0), away.shape[:-1])
    return square, 2.0 * ag.sum(ag.log(ag.linalg.diagonal(factor))), d


def _inverse_on_support(name, cov, d):
    """(pseudo-inverse, log of the product of the eigenvalues, rank, projection beside the support) or None.

    None where SciPy finds no eigenvalue that is zero. A covariance of less than full rank is a constant: near by there
    are those of other ranks, which have other densities.
    """
    matrix = np.asarray(raw(_covariance(1.0 if cov is None else cov, d)), dtype=float)
    values, vectors = np.linalg.eigh(matrix)  # of the lower triangle
    zero = np.abs(values) <= 1e6 * np.finfo(float).eps * np.max(np.abs(values))
    if not zero.any():
        return None
    if isinstance(cov, ag.Tensor) and cov.requires_grad:
        raise NotDifferentiable(
            f"arraygrad.scipy.stats.{name}: the covariance requires grad and is singular. The density has no "
            "derivative by it, as the rank changes near by: pass its detach(), or add a small multiple of the identity"
        )
    kept, beside = vectors[:, ~zero], vectors[:, zero]
    return (kept / values[~zero]) @ kept.T, np.sum(np.log(values[~zero])), kept.shape[1], beside


def _normal(x, mean, cov, allow_singular=False):
    if allow_singular:
        sizes = [np.shape(raw(v))[-1] for v in (mean, cov) if v is not None and np.ndim(raw(v))]
        d = sizes[0] if sizes else 1
        found = _inverse_on_support("multivariate_normal", cov, d) if sizes else None
        if found is not None:
            inverse, log_det, rank, beside = found
            away = _points(x, d) - (0.0 if mean is None else mean)
            square = ag.sum(ag.matmul(away, inverse) * away, axis=-1)
            # Beside the support the logarithm is -inf near by too.
            off = np.linalg.norm(np.asarray(raw(away)) @ beside, axis=-1) >= 1e3 * 1e6 * np.finfo(float).eps
            density = -0.5 * (rank * LOG_2PI + log_det + square)
            return _squeezed(ag.where(np.asarray(off), -np.inf, density))
    square, log_det, d = _whitened("multivariate_normal", x, mean, cov)
    return _squeezed(-0.5 * (d * LOG_2PI + log_det + square))


def _dimension(loc, spread):
    return np.shape(raw(spread))[-1] if np.ndim(raw(spread)) else 1 if loc is None else np.size(raw(loc))


def _located(loc, spread):
    """The mean as an object of SciPy's holds it: a vector."""
    d = _dimension(loc, spread)
    return ag.zeros(d) if loc is None else ag.reshape(ag.asarray(loc), (-1,))


def _spread(loc, spread):
    """The covariance as an object of SciPy's holds it: a matrix."""
    return _covariance(ag.asarray(1.0 if spread is None else spread), _dimension(loc, spread))


def _normal_entropy(mean, cov):
    d = np.shape(raw(cov))[-1] if np.ndim(raw(cov)) else 1 if mean is None else np.size(raw(mean))
    return 0.5 * (d * (LOG_2PI + 1.0) + _log_det("multivariate_normal", _covariance(cov, d)))


# Parameters whose arrays SciPy's frozen distributions hold themselves: what is written there later counts. Of others
# they have computed what they need (factors of covariances).
_HELD = {
    "multivariate_normal": frozenset(("mean",)),
    "multivariate_t": frozenset(("loc", "df")),
    "dirichlet": frozenset(("alpha",)),
    "dirichlet_multinomial": frozenset(("alpha",)),
    "matrix_normal": frozenset(("mean",)),
    "matrix_t": frozenset(("mean", "row_spread", "col_spread")),
    "normal_inverse_gamma": frozenset(("mu", "lmbda", "a", "b")),
    "poisson_binom": frozenset(("p", "loc")),
}


def _declare(name, formulas, signature, of, source, refuse=None, without=(), attributes=None):
    """A distribution of which `formulas` gives methods by name; "pdf" follows from "logpdf", "pmf" from "logpmf".

    `attributes`: those of the frozen distribution by name, each a formula in its parameters.
    """
    dist = getattr(stats, name, None)
    if dist is None:
        return
    methods = {}
    for method, (formula, parameters) in formulas.items():
        text = signature if parameters is None else parameters
        named = parsed(text)
        kept = " ".join(key for key in of.split() if key in named.parameters)

        def call(formula=formula, **given):
            return formula(**given)

        call.__signature__ = named
        methods[method] = composed(
            f"stats.{name}.{method}", getattr(dist, method), kept, source, refuse=refuse, inert="allow_singular seed"
        )(call)
        REGISTRY[f"stats.{name}.{method}"].signature = named
    for method, reason in without:
        if hasattr(dist, method):
            methods[method] = refused(f"stats.{name}.{method}", getattr(dist, method), reason)
    OBJECTS[name] = Distribution(name, methods, "multivariate", attributes, _HELD.get(name, frozenset()))


def _both(kind, formula):
    """The logarithm of a density, and the density."""
    return {f"log{kind}": (formula, None), kind: (lambda **given: ag.exp(formula(**given)), None)}


# -- normal and t -----------------------------------------------------------------------------------------------------

_declare(
    "multivariate_normal",
    {
        **_both("pdf", lambda x, mean=None, cov=1, allow_singular=False, **_: _normal(
            x, mean, _given(cov), allow_singular or isinstance(cov, stats.Covariance))),
        "entropy": (lambda mean=None, cov=1: _normal_entropy(mean, _given(cov)), "mean=None, cov=1"),
    },
    "x, mean=None, cov=1, allow_singular=False", "x mean cov", "BDA",
    without=[("cdf", "its derivative has no rule"), ("logcdf", "its derivative has no rule")],
    attributes={
        "mean": lambda mean=None, cov=1, *_, **__: _located(mean, _given(cov)),
        "cov": lambda mean=None, cov=1, *_, **__: _spread(mean, _given(cov)),
    },
)  # fmt: skip


def _student(x, loc=None, shape=1, df=1, **_):
    if np.any(np.isinf(np.asarray(raw(df), dtype=float))):
        return _normal(x, loc, shape)
    square, log_det, d = _whitened("multivariate_t", x, loc, shape)
    half = 0.5 * (df + d)
    found = ag.gammaln(half) - ag.gammaln(0.5 * df) - 0.5 * d * ag.log(df * math.pi) - 0.5 * log_det
    return _squeezed(found - half * ag.log1p(square / df))


_declare("multivariate_t", _both("pdf", _student), "x, loc=None, shape=1, df=1, allow_singular=False",
         "x loc shape df", "BDA", without=[("cdf", "its derivative has no rule")],
         attributes={
             "loc": lambda loc=None, shape=1, *_, **__: _located(loc, shape),
             "shape": lambda loc=None, shape=1, *_, **__: _spread(loc, shape),
             "df": lambda loc=None, shape=1, df=1, *_, **__: df,
         })  # fmt: skip

# -- simplex and counts -----------------------------------------------------------------------------------------------


def _dirichlet(x, alpha):
    x, alpha = ag.asarray(x), ag.asarray(alpha)
    if x.shape[0] + 1 == alpha.shape[0]:  # the last one is left out
        x = ag.concat([x, 1.0 - ag.sum(x, axis=0, keepdims=True)], axis=0)
    beta = ag.sum(ag.gammaln(alpha)) - ag.gammaln(ag.sum(alpha))
    power = ag.reshape(alpha - 1.0, (-1,) + (1,) * (x.ndim - 1))
    return ag.sum(ag.special.xlogy(power, x), axis=0) - beta


_declare("dirichlet", {
    **_both("pdf", _dirichlet),
    "mean": (lambda alpha: ag.asarray(alpha) / ag.sum(ag.asarray(alpha)), "alpha"),
    "var": (lambda alpha: _dirichlet_var(ag.asarray(alpha)), "alpha"),
    "entropy": (lambda alpha: _dirichlet_entropy(ag.asarray(alpha)), "alpha"),
}, "x, alpha", "x alpha", "BDA", attributes={"alpha": lambda alpha, *_, **__: ag.asarray(alpha)})  # fmt: skip


def _dirichlet_var(alpha):
    total = ag.sum(alpha)
    return alpha * (total - alpha) / (total * total * (total + 1.0))


def _dirichlet_entropy(alpha):
    total = ag.sum(alpha)
    beta = ag.sum(ag.gammaln(alpha)) - ag.gammaln(total)
    digamma = ag.special.digamma
    return beta + (total - alpha.shape[0]) * digamma(total) - ag.sum((alpha - 1.0) * digamma(alpha))


def _probabilities(p):
    """SciPy replaces the last probability by what is left of one."""
    p = ag.asarray(p)
    return ag.concat([p[..., :-1], 1.0 - ag.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)


def _multinomial(x, n, p):
    x, p, n = ag.asarray(x), _probabilities(p), ag.asarray(n)
    count = ag.astype(x, ag.float64)
    return ag.gammaln(ag.astype(n, ag.float64) + 1.0) + ag.sum(
        ag.special.xlogy(count, p) - ag.gammaln(count + 1.0), axis=-1
    )


_declare("multinomial", _both("pmf", _multinomial), "x, n, p", "p", "BDA",
         refuse={"x": "counts are integers", "n": "an integer"},
         attributes={"p": lambda n, p, *_, **__: _probabilities(p)})  # fmt: skip


def _dirichlet_multinomial(x, alpha, n):
    x, alpha = ag.asarray(x), ag.asarray(alpha)
    total = ag.sum(alpha, axis=-1)
    x, n = ag.astype(x, ag.float64), ag.astype(ag.asarray(n), ag.float64)
    found = ag.gammaln(total) + ag.gammaln(n + 1.0) - ag.gammaln(n + total)
    return found + ag.sum(ag.gammaln(x + alpha) - ag.gammaln(alpha) - ag.gammaln(x + 1.0), axis=-1)


_declare("dirichlet_multinomial", _both("pmf", _dirichlet_multinomial), "x, alpha, n", "alpha", "BDA",
         refuse={"x": "counts are integers", "n": "an integer"},
         attributes={"alpha": lambda alpha, n, *_, **__: ag.asarray(alpha)})  # fmt: skip

# -- matrices ---------------------------------------------------------------------------------------------------------


def _matrix(a, p):
    a = ag.asarray(a)
    return a * np.eye(p) if a.ndim == 0 else ag.eye(a.shape[0]) * a[:, None] if a.ndim == 1 else a


def _log_multigamma(a, p):
    from arraygrad.scipy.special import multigammaln

    return multigammaln(a, p)


def _matrices(x):
    """SciPy keeps matrices along the last axis: (..., p, p) of (p, p, ...)."""
    x = ag.asarray(x)
    if x.ndim < 2:
        return _matrix(x, 1) if x.ndim == 0 else x[:, None, None]
    return ag.moveaxis(x, (0, 1), (-2, -1)) if x.ndim > 2 else x


def _wishart(x, df, scale):
    x = _matrices(x)
    p = max(x.shape[-1], np.shape(raw(scale))[0] if np.ndim(raw(scale)) else 1)
    scale = _read(_matrix(scale, p))
    # The determinant of x is read from one triangle, by Cholesky; the trace from all of x.
    log_x, log_scale = ag.linalg.slogdet(_read(x))[1], ag.linalg.slogdet(scale)[1]
    trace = ag.linalg.trace(ag.linalg.solve(scale, x))
    norm = 0.5 * df * (p * math.log(2.0) + log_scale) + _log_multigamma(0.5 * df, p)
    return _squeezed(0.5 * (df - p - 1.0) * log_x - 0.5 * trace - norm)


def _invwishart(x, df, scale):
    x = _read(_matrices(x))  # by Cholesky throughout
    p = max(x.shape[-1], np.shape(raw(scale))[0] if np.ndim(raw(scale)) else 1)
    scale = _read(_matrix(scale, p))
    log_x, log_scale = ag.linalg.slogdet(x)[1], ag.linalg.slogdet(scale)[1]
    trace = ag.linalg.trace(ag.linalg.solve(x, ag.broadcast_to(scale, x.shape)))
    norm = 0.5 * df * p * math.log(2.0) + _log_multigamma(0.5 * df, p)
    return _squeezed(0.5 * df * log_scale - 0.5 * (df + p + 1.0) * log_x - 0.5 * trace - norm)


def _scale(df, scale=None, *_, **__):
    scale = ag.asarray(1.0 if scale is None else scale)
    return _matrix(scale, 1)


_OF_SCALE = {
    "df": lambda df, scale=None, *_, **__: df,
    "scale": _scale,
    "C": lambda *given, **named: ag.linalg.cholesky(_scale(*given, **named)),
    "log_det_scale": lambda *given, **named: _log_det("wishart", _scale(*given, **named)),
}

_declare("wishart", _both("pdf", _wishart), "x, df, scale", "x df scale", "Muirhead (1982), 3.2", attributes=_OF_SCALE)
_declare("invwishart", _both("pdf", _invwishart), "x, df, scale", "x df scale", "BDA", attributes=_OF_SCALE)


def _sides(mean, row, col):
    """The two covariances as an object of SciPy's holds them: matrices."""
    shape = (None, None) if mean is None else np.shape(raw(mean))
    return [
        _matrix(a, n if n is not None else np.shape(raw(a))[-1] if np.ndim(raw(a)) else 1)
        for a, n in zip((row, col), shape, strict=True)
    ]


def _middle(mean, row, col):
    return ag.zeros([m.shape[-1] for m in _sides(mean, row, col)]) if mean is None else ag.asarray(mean)


def _matrix_normal(X, mean=None, rowcov=1, colcov=1):
    X = ag.asarray(X)
    n, p = X.shape[-2:]
    row, col = _read(_matrix(rowcov, n)), _read(_matrix(colcov, p))
    away = X - (0.0 if mean is None else mean)
    inner = ag.matmul(ag.linalg.solve(row, away), ag.linalg.inv(col))
    square = ag.sum(away * inner, axis=(-2, -1))
    dets = p * ag.linalg.slogdet(row)[1] + n * ag.linalg.slogdet(col)[1]
    return -0.5 * (n * p * LOG_2PI + dets + square)


_declare("matrix_normal", _both("pdf", _matrix_normal), "X, mean=None, rowcov=1, colcov=1", "X mean rowcov colcov",
         "Dawid (1981)", attributes={
             "rowcov": lambda mean=None, rowcov=1, colcov=1, *_, **__: _sides(mean, rowcov, colcov)[0],
             "colcov": lambda mean=None, rowcov=1, colcov=1, *_, **__: _sides(mean, rowcov, colcov)[1],
             "mean": lambda mean=None, rowcov=1, colcov=1, *_, **__: _middle(mean, rowcov, colcov),
         })  # fmt: skip


def _vonmises_fisher(x, mu, kappa):
    mu = ag.asarray(mu)
    half = 0.5 * mu.shape[0]
    norm = (half - 1.0) * ag.log(kappa) - half * LOG_2PI - ag.log(ag.special.ive(half - 1.0, kappa)) - kappa
    return norm + kappa * ag.vecdot(ag.asarray(x), mu)


def _vonmises_fisher_entropy(mu, kappa):
    # -E log f = -norm - kappa E(x . mu), and that mean is the ratio of two Bessel functions.
    mu = ag.asarray(mu)
    order = 0.5 * mu.shape[0]
    mean = ag.special.ive(order, kappa) / ag.special.ive(order - 1.0, kappa)
    return -_vonmises_fisher(ag.zeros(mu.shape[0]), mu, kappa) - kappa * mean


_declare("vonmises_fisher", {
    **_both("pdf", _vonmises_fisher),
    "entropy": (lambda mu, kappa: _vonmises_fisher_entropy(mu, kappa), "mu, kappa"),
}, "x, mu, kappa", "x mu kappa", "Mardia and Jupp (2000), 9.3", attributes={
    "mu": lambda mu=None, kappa=1, *_, **__: ag.asarray(mu),
    "kappa": lambda mu=None, kappa=1, *_, **__: kappa,
})  # fmt: skip


def _matrix_t(X, mean=None, row_spread=1, col_spread=1, df=1):
    X = ag.asarray(X)
    n, p = X.shape[-2:]
    row, col = _read(_matrix(row_spread, n)), _read(_matrix(col_spread, p))
    away = X - (0.0 if mean is None else mean)
    inner = ag.matmul(ag.linalg.solve(row, away), ag.matmul(ag.linalg.inv(col), ag.matrix_transpose(away)))
    half = 0.5 * (df + n + p - 1.0)
    norm = _log_multigamma(half, n) - _log_multigamma(half - 0.5 * p, n) - 0.5 * n * p * math.log(math.pi)
    norm = norm - 0.5 * p * ag.linalg.slogdet(row)[1] - 0.5 * n * ag.linalg.slogdet(col)[1]
    return norm - half * ag.linalg.slogdet(np.eye(n) + inner)[1]


_declare("matrix_t", _both("pdf", _matrix_t), "X, mean=None, row_spread=1, col_spread=1, df=1",
         "X mean row_spread col_spread df", "Gupta and Nagar (2000), 4")  # fmt: skip


def _normal_inverse_gamma(x, s2, mu=0, lmbda=1, a=1, b=1):
    square = lmbda * (ag.asarray(x) - mu) ** 2
    norm = 0.5 * ag.log(ag.asarray(lmbda) + 0.0) - 0.5 * LOG_2PI + a * ag.log(ag.asarray(b) + 0.0)
    return norm - ag.gammaln(ag.asarray(a) + 0.0) - (a + 1.5) * ag.log(s2) - (b + 0.5 * square) / s2


_declare("normal_inverse_gamma", _both("pdf", _normal_inverse_gamma), "x, s2, mu=0, lmbda=1, a=1, b=1",
         "x s2 mu lmbda a b", "BDA")  # fmt: skip


def _poisson_binomial(k, p):
    """log of the probability of k successes, by adding one trial after the other."""
    p = ag.asarray(p)
    n = p.shape[0]
    found = ag.ones(1)
    for i in range(n):
        zero = ag.zeros(1)
        found = ag.concat([found, zero]) * (1.0 - p[i]) + ag.concat([zero, found]) * p[i]
    return found


def _poisson_binomial_pmf(k, p, loc=0):
    k = np.asarray(raw(k)) - np.asarray(raw(loc))
    all_of = _poisson_binomial(k, p)
    inside = np.asarray((k >= 0) & (k < all_of.shape[0]) & (k == np.floor(k)))
    return ag.where(inside, ag.take(all_of, np.where(inside, k, 0).astype(int)), 0.0)


def _poisson_binomial_cdf(k, p, loc=0):
    k = np.floor(np.asarray(raw(k)) - np.asarray(raw(loc)))
    sums = ag.cumulative_sum(_poisson_binomial(k, p))
    inside = np.asarray((k >= 0) & (k < sums.shape[0] - 1))
    return ag.where(inside, ag.take(sums, np.where(inside, k, 0).astype(int)), 1.0 * (k >= 0))


_declare("poisson_binom", {
    "pmf": (_poisson_binomial_pmf, None),
    "logpmf": (lambda **given: ag.log(_poisson_binomial_pmf(**given)), None),
    "cdf": (_poisson_binomial_cdf, None),
    "sf": (lambda **given: 1.0 - _poisson_binomial_cdf(**given), None),
}, "k, p, loc=0", "p", "Hong (2013)", refuse={"k": "an integer", "loc": "an integer"})  # fmt: skip
