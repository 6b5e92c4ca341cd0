"""Inverses of distribution functions in each of their arguments; noncentral distributions; Kolmogorov and Smirnov.

May import: arraygrad, scipy._declare, scipy._noncentral, scipy._quadrature, scipy.special._chapter and _distributions,
numpy, SciPy. "DLMF" is the NIST Digital Library of Mathematical Functions, by equation.

An inverse u solves F(..., u, ...) = p: du/dp = 1 / F_u and du/da = -F_a / F_u. The slopes of F are those of a formula
with recorded operations, so that every order follows.
"""

import inspect
import math

import numpy as np
import scipy  # which loads scipy.stats when it is asked for: most programs need none of it
from scipy import special

import arraygrad as ag
from arraygrad.scipy._declare import gradients_of_composition, raw
from arraygrad.scipy._incomplete import beta_tail, gamma_tail, signed, t_tail
from arraygrad.scipy._noncentral import ncf_log_density, nct_tail, ncx2_log_density
from arraygrad.scipy._quadrature import tail_of_density
from arraygrad.scipy.special._chapter import NAMES, composition_of, declare

__all__ = []

PI = math.pi
exp, log, where = ag.exp, ag.log, ag.where
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def own(name):
    return NAMES[name]


def _real(value):
    return ag.asarray(np.asarray(value, dtype=float)) if not isinstance(value, ag.Tensor) else value


def slopes(function, given, wanted):
    """Derivatives of `function(**given)`, elementwise, in the arguments `wanted`: a list, shaped as the broadcast."""
    shape = np.broadcast_shapes(*[np.shape(raw(v)) for v in given.values()])
    given = {key: ag.broadcast_to(_real(value), shape) for key, value in given.items()}

    def of(tensors):
        return function(**{**given, **dict(zip(wanted, tensors, strict=True))})

    tensors = [given[key] if given[key].requires_grad else given[key].detach().requires_grad_() for key in wanted]
    found = gradients_of_composition(of, ag.ones(shape, dtype=ag.float64), tensors)
    return [ag.zeros(shape) if one is None else one for one in found]


def _named(parameters, rule):
    """The rule with the parameters that `formulas` reads."""
    rule.__signature__ = inspect.Signature([inspect.Parameter(p, _POSITIONAL) for p in parameters])
    return rule


def distribution(name, signature, source, function):
    """A distribution function by a formula for what it differs from by a constant; differentiable in all arguments."""
    keys = [key.strip() for key in signature.split(",")]

    def partial(key):
        return _named(["g", *keys], lambda g, **given: g * slopes(function, given, [key])[0])

    declare(name, signature, source, **{key: partial(key) for key in keys})


def inverse(name, signature, solved, value, source, function, forward=None):
    """An inverse of `function` in its argument `solved`; `value` names where the probability stands.

    `forward` is SciPy's distribution function with the parameters of `function`: where the result is no solution (the
    end of an interval that SciPy searches), gradients are nan.
    """
    keys = [key.strip() for key in signature.split(",")]
    others = [key for key in keys if key != value]
    order = list(inspect.signature(function).parameters)

    def solution(ans, given):
        """The arguments of `function`, and a factor that is nan where they solve nothing."""
        found = {**{key: given[key] for key in others}, solved: ans}
        if forward is None:
            return found, 1.0
        with np.errstate(all="ignore"):
            wanted = np.asarray(raw(given[value]), dtype=float)
            residue = forward(*[np.asarray(raw(found[key]), dtype=float) for key in order]) - wanted
        # SciPy's solver may have few digits of a small tail; at an end all that agrees by chance is that it is small
        digits = np.where(_is_end(ans), np.minimum(wanted, 1.0 - wanted), 1.0)
        right = np.abs(np.asarray(residue)) < 1e-4 * digits
        return found, 1.0 if np.all(right) else np.where(right, 1.0, np.nan)

    def of_value(g, ans, **given):
        found, mark = solution(ans, given)
        (slope,) = slopes(function, found, [solved])
        return g * mark / slope

    def of_other(key):
        def rule(g, ans, **given):
            found, mark = solution(ans, given)
            moved, slope = slopes(function, found, [key, solved])
            return -g * mark * moved / slope

        return _named(["g", "ans", *keys], rule)

    by = {value: _named(["g", "ans", *keys], of_value), **{key: of_other(key) for key in others}}
    declare(name, signature, source, **by)


_IMPLICIT = "implicit: dF = 0 for the argument found"


def _is_end(ans):
    """Where a result may be the end of an interval that SciPy searches: zero, or a power of ten such as 1e100."""
    size = np.abs(np.asarray(raw(ans), dtype=float))
    with np.errstate(all="ignore"):
        power = np.log10(size)
    return (size == 0) | ((np.abs(power) > 2.5) & (np.abs(power - np.round(power)) < 1e-9))


# -- gamma, chi-square, Poisson ---------------------------------------------------------------------------------------


def _gamma(a, b, x):
    return signed(*gamma_tail(b, a * x))


inverse("gdtria", "p, b, x", "a", "p", f"{_IMPLICIT}; DLMF 8.2", _gamma, special.gdtr)
inverse("gdtrib", "a, p, x", "b", "p", f"{_IMPLICIT}; DLMF 8.2", _gamma, special.gdtr)
inverse("gdtrix", "a, b, p", "x", "p", f"{_IMPLICIT}; DLMF 8.2", _gamma, special.gdtr)
inverse("chdtriv", "p, x", "v", "p", f"{_IMPLICIT}; DLMF 8.2",
        lambda v, x: signed(*gamma_tail(0.5 * v, 0.5 * x)), special.chdtr)  # fmt: skip
inverse("pdtrik", "p, m", "k", "p", f"{_IMPLICIT}; DLMF 8.4.10",
        lambda k, m: -signed(*gamma_tail(k + 1.0, m)), lambda k, m: special.gammaincc(k + 1.0, m))  # fmt: skip

# -- beta, binomial, F, t ---------------------------------------------------------------------------------------------


def _beta(a, b, x):
    return signed(*beta_tail(a, b, x))


def _binomial(k, n, p):
    return -signed(*beta_tail(k + 1.0, n - k, p))


def _negative_binomial(k, n, p):
    return signed(*beta_tail(n, k + 1.0, p))


def _fisher(dfn, dfd, x):
    below = dfd + dfn * x
    return signed(*beta_tail(0.5 * dfn, 0.5 * dfd, dfn * x / below, dfd / below))


inverse("btdtria", "p, b, x", "a", "p", f"{_IMPLICIT}; DLMF 8.17", _beta, special.betainc)
inverse("btdtrib", "a, p, x", "b", "p", f"{_IMPLICIT}; DLMF 8.17", _beta, special.betainc)
_VALUE = {  # SciPy's own functions truncate counts
    "binomial": lambda k, n, p: special.betaincc(k + 1.0, n - k, p),
    "negative binomial": lambda k, n, p: special.betainc(n, k + 1.0, p),
}
inverse("bdtrik", "y, n, p", "k", "y", f"{_IMPLICIT}; DLMF 8.17.5", _binomial, _VALUE["binomial"])
inverse("bdtrin", "k, y, p", "n", "y", f"{_IMPLICIT}; DLMF 8.17.5", _binomial, _VALUE["binomial"])
inverse("nbdtrik", "y, n, p", "k", "y", f"{_IMPLICIT}; DLMF 8.17.24", _negative_binomial, _VALUE["negative binomial"])
inverse("nbdtrin", "k, y, p", "n", "y", f"{_IMPLICIT}; DLMF 8.17.24", _negative_binomial, _VALUE["negative binomial"])
inverse("fdtri", "dfn, dfd, p", "x", "p", f"{_IMPLICIT}; DLMF 8.17", _fisher, special.fdtr)
inverse("fdtridfd", "dfn, p, x", "dfd", "p", f"{_IMPLICIT}; DLMF 8.17", _fisher, special.fdtr)
inverse("stdtridf", "p, t", "df", "p", f"{_IMPLICIT}; DLMF 8.17", lambda df, t: signed(*t_tail(df, t)), special.stdtr)


@composition_of("nrdtrimn", "p std x", "definition, by ndtri")
def _nrdtrimn(p, std, x):
    return x - std * ag.special.ndtri(p)


@composition_of("nrdtrisd", "mn p x", "definition, by ndtri")
def _nrdtrisd(mn, p, x):
    return (x - mn) / ag.special.ndtri(p)


# -- noncentral distributions -----------------------------------------------------------------------------------------


def _noncentral_chi2(x, df, nc):
    law = scipy.stats.ncx2
    return signed(*tail_of_density(ncx2_log_density, x, (df, nc), law.cdf, law.sf, 0.0, np.inf))


def _noncentral_f(dfn, dfd, nc, f):
    law = scipy.stats.ncf
    return signed(*tail_of_density(ncf_log_density, f, (dfn, dfd, nc), law.cdf, law.sf, 0.0, np.inf))


def _noncentral_t(df, nc, t):
    return signed(*nct_tail(t, df, nc))


_CHI2, _F, _T = "JKB 29, a mixture of central ones", "JKB 30, a mixture of central ones", "JKB 31, by quadrature"
declare("chndtr", "x, df, nc", _CHI2, x=lambda g, x, df, nc: g * exp(ncx2_log_density(x, df, nc)),
        df=lambda g, x, df, nc: g * slopes(_noncentral_chi2, {"x": x, "df": df, "nc": nc}, ["df"])[0],
        nc=lambda g, x, df, nc: -g * exp(ncx2_log_density(x, df + 2.0, nc)))  # fmt: skip
inverse("chndtridf", "x, p, nc", "df", "p", f"{_IMPLICIT}; {_CHI2}", _noncentral_chi2, special.chndtr)
inverse("chndtrinc", "x, df, p", "nc", "p", f"{_IMPLICIT}; {_CHI2}", _noncentral_chi2, special.chndtr)
inverse("chndtrix", "p, df, nc", "x", "p", f"{_IMPLICIT}; {_CHI2}", _noncentral_chi2, special.chndtr)
distribution("ncfdtr", "dfn, dfd, nc, f", _F, _noncentral_f)
inverse("ncfdtri", "dfn, dfd, nc, p", "f", "p", f"{_IMPLICIT}; {_F}", _noncentral_f, special.ncfdtr)
inverse("ncfdtridfd", "dfn, p, nc, f", "dfd", "p", f"{_IMPLICIT}; {_F}", _noncentral_f, special.ncfdtr)
inverse("ncfdtridfn", "p, dfd, nc, f", "dfn", "p", f"{_IMPLICIT}; {_F}", _noncentral_f, special.ncfdtr)
inverse("ncfdtrinc", "dfn, dfd, p, f", "nc", "p", f"{_IMPLICIT}; {_F}", _noncentral_f, special.ncfdtr)
distribution("nctdtr", "df, nc, t", _T, _noncentral_t)
inverse("nctdtridf", "p, nc, t", "df", "p", f"{_IMPLICIT}; {_T}", _noncentral_t, special.nctdtr)
inverse("nctdtrinc", "df, p, t", "nc", "p", f"{_IMPLICIT}; {_T}", _noncentral_t, special.nctdtr)
inverse("nctdtrit", "df, nc, p", "t", "p", f"{_IMPLICIT}; {_T}", _noncentral_t, special.nctdtr)

# -- Kolmogorov's and Smirnov's statistics, Tukey's lambda ------------------------------------------------------------


def kolmogorov_density(x):
    """Minus the slope of special.kolmogorov: two series, one of which converges fast (Feller 1948)."""
    far = np.asarray(np.asarray(raw(x)) > 0.9)
    alive = np.asarray(np.asarray(raw(x)) > 0.03)
    large, small = where(far, x, 1.0)[..., None], where(np.asarray(alive & ~far), x, 0.5)[..., None]
    k = np.arange(1.0, 9.0)
    beyond = 8.0 * ag.sum((-1.0) ** (k - 1.0) * k * k * large * exp(-2.0 * k * k * large * large), axis=-1)
    c = (2.0 * k - 1.0) ** 2 * PI * PI / 8.0
    terms = (2.0 * c / small**4 - 1.0 / small**2) * exp(-c / small**2)
    below = math.sqrt(2.0 * PI) * ag.sum(terms, axis=-1)
    return where(far, beyond, where(alive, below, 0.0))


def _at(x):
    return ag.asarray(x)


declare("kolmogorov", "y", "Feller (1948)", y=lambda g, y: -g * kolmogorov_density(_at(y)))
declare("kolmogi", "p", f"{_IMPLICIT}; Feller (1948)", p=lambda g, ans: -g / kolmogorov_density(_at(ans)))


def smirnov_density(n, d):
    """Minus the slope of special.smirnov: of the sum of Birnbaum and Tingey (1951), term by term."""
    n = np.floor(np.asarray(raw(n), dtype=float))
    shape = np.broadcast_shapes(n.shape, np.shape(raw(d)))
    n, d = np.broadcast_to(n, shape)[..., None], ag.broadcast_to(ag.asarray(d), shape)[..., None]
    j = np.arange(0.0, np.max(n, initial=1.0) + 1.0)
    inside = np.asarray((np.asarray(raw(d)) > 0) & (np.asarray(raw(d)) < 1) & (n >= 1))
    d = where(inside, d, 0.5)
    rest = 1.0 - d - j / n
    alive = np.asarray((np.asarray(raw(rest)) > 0) & (j <= n))
    rest, grown = where(alive, rest, 0.5), d + j / n
    chosen = special.gammaln(n + 1.0) - special.gammaln(j + 1.0) - special.gammaln(np.maximum(n - j, 0.0) + 1.0)
    logs = chosen + (j - 1.0) * log(grown) + (n - j) * log(rest)
    slope = 1.0 + d * ((j - 1.0) / grown - (n - j) / rest)
    total = ag.sum(where(np.asarray(alive), exp(where(alive, logs, -np.inf)) * slope, 0.0), axis=-1)
    return where(np.asarray(inside[..., 0]), -total, 0.0)


declare("smirnov", "n, d", "Birnbaum and Tingey (1951)", refuse={"n": "a count"},
        d=lambda g, n, d: -g * smirnov_density(n, d))  # fmt: skip
declare("smirnovi", "n, p", f"{_IMPLICIT}; Birnbaum and Tingey (1951)", refuse={"n": "a count"},
        p=lambda g, ans, n: -g / smirnov_density(n, ans))  # fmt: skip


def tukey_density(f, shape):
    """Density of Tukey's lambda distribution where its distribution function is `f`: of x = (f^s - (1 - f)^s) / s."""
    return 1.0 / (f ** (shape - 1.0) + (1.0 - f) ** (shape - 1.0))


def tukey_shift(f, shape):
    """dx/dshape at a constant f: (f^s log f - (1 - f)^s log(1 - f)) / s - x / s, by its series near s = 0."""
    near = np.asarray(np.abs(np.asarray(raw(shape), dtype=float)) < 1e-2) & np.ones(np.shape(raw(f)), dtype=bool)
    u, v = log(f), ag.log1p(-f)
    s = where(near, shape, 0.0)
    total = sum(s**k * (u ** (k + 2) - v ** (k + 2)) * ((k + 1.0) / math.factorial(k + 2)) for k in range(6))
    away = where(near, 1.0, shape)
    return where(near, total, (f**away * (away * u - 1.0) - (1.0 - f) ** away * (away * v - 1.0)) / (away * away))


def _tukey_inside(ans):
    inside = np.asarray((np.asarray(raw(ans)) > 0) & (np.asarray(raw(ans)) < 1))
    return inside, where(inside, ans, 0.5)


def _tukey_x(g, ans, lmbda):
    inside, f = _tukey_inside(ans)
    return where(inside, g * tukey_density(f, lmbda), 0.0)


def _tukey_lambda(g, ans, lmbda):
    inside, f = _tukey_inside(ans)
    return where(inside, -g * tukey_density(f, lmbda) * tukey_shift(f, lmbda), 0.0)


declare("tklmbda", "x, lmbda", "implicit: the quantile is (p^l - (1 - p)^l) / l", x=_tukey_x, lmbda=_tukey_lambda)
