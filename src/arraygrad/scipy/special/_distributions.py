"""Distribution functions of scipy.special, their inverses, and their derivatives in shape parameters.

May import: arraygrad, scipy._declare, scipy._incomplete, scipy.special._chapter, numpy, SciPy.

Incomplete gamma and beta functions are differentiable in the end point by the density (DLMF 8.8.13, 8.17.1), in the
shape parameters by the integrals of `scipy._incomplete`.
"""

import math

import numpy as np

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import gradients_of_composition, raw
from arraygrad.scipy._incomplete import beta_tail, gamma_tail, lower_beta, lower_gamma, signed, t_tail, with_density
from arraygrad.scipy.special._chapter import NAMES, composition_of, declare

__all__ = []

PI = math.pi
exp, log, where = ag.exp, ag.log, ag.where


def _constant(*values):
    return not any(isinstance(v, Tensor) and v.requires_grad for v in values)


def _own(name):
    return NAMES[name]


# -- incomplete functions ---------------------------------------------------------------------------------------------


def _lower_gamma(a, x):
    return ag.special.gammainc(a, x) if _constant(a) else lower_gamma(a, x)


def _lower_beta(a, b, x, complement=None):
    if _constant(a, b):
        return ag.special.betainc(a, b, x)
    return lower_beta(a, b, x, complement)


_SHAPES = "DLMF 8.8.13; 8.2 in a"
_BETA = "DLMF 8.17.1; 8.17 in a and b"


@composition_of("gammainc", "a x", _SHAPES, same=False)
def _gammainc(a, x):
    return _lower_gamma(a, x)


@composition_of("gammaincc", "a x", _SHAPES, same=False)
def _gammaincc(a, x):
    return -_lower_gamma(a, x)


@composition_of("betainc", "a b x", _BETA, same=False)
def _betainc(a, b, x):
    return _lower_beta(a, b, x)


@composition_of("betaincc", "a b x", _BETA, same=False)
def _betaincc(a, b, x):
    return -_lower_beta(a, b, x)


def _of_shapes(of_shapes, g, density, *shapes):
    """Gradients of an inverse function x(p; shapes) in its shapes: -(dF/dshape) / density."""
    tensors = [s if isinstance(s, Tensor) else ag.asarray(float(s)) for s in shapes]
    return gradients_of_composition(lambda given: of_shapes(*given), -g / density, tensors)


def _gamma_density(a, x):
    endless = np.asarray(np.isposinf(raw(x)))
    if endless.any():
        return where(endless, 0.0, _gamma_density(a, where(endless, 1.0, x)))
    return exp(ag.special.xlogy(a - 1.0, x) - x - ag.gammaln(a))


def _beta_density(a, b, x):
    return exp(ag.special.xlogy(a - 1.0, x) + ag.special.xlog1py(b - 1.0, -x) - ag.special.betaln(a, b))


def _gamma_below(x, a):
    """gammainc but for a constant, with the density for its slope in x."""
    return with_density(lambda x, a: signed(*gamma_tail(a, x)), lambda x, a: _gamma_density(a, x), x, a)


def _beta_below(x, a, b):
    """betainc but for a constant, with the density for its slope in x."""
    return with_density(lambda x, a, b: signed(*beta_tail(a, b, x)), lambda x, a, b: _beta_density(a, b, x), x, a, b)


_INVERSE = "implicit: dx/dy = 1 / density, dx/da = -(dF/da) / density"
for _name, _sign in (("gammaincinv", 1.0), ("gammainccinv", -1.0)):
    declare(_name, "a, y", _INVERSE, y=lambda g, ans, a, s=_sign: g * s / _gamma_density(a, ans),
            a=lambda g, ans, a: _of_shapes(lambda a: _gamma_below(ans, a), g, _gamma_density(a, ans), a)[0],
            )  # fmt: skip
for _name, _sign in (("betaincinv", 1.0), ("betainccinv", -1.0)):
    declare(_name, "a, b, y", _INVERSE, y=lambda g, ans, a, b, s=_sign: g * s / _beta_density(a, b, ans),
            a=lambda g, ans, a, b: _of_shapes(
                lambda a: _beta_below(ans, a, b), g, _beta_density(a, b, ans), a)[0],
            b=lambda g, ans, a, b: _of_shapes(
                lambda b: _beta_below(ans, a, b), g, _beta_density(a, b, ans), b)[0],
            )  # fmt: skip

# -- the functions that Cephes names after distributions -----------------------------------------------------------


def _scaled(a, x, steep):
    """a x; where it is zero and the function of it has an infinite slope, a factor that is not zero is a constant."""
    ra, rx = np.asarray(raw(a)), np.asarray(raw(x))
    by_x, by_a = np.asarray(steep & (rx == 0)), np.asarray(steep & (ra == 0) & (rx != 0))
    if not (by_x.any() or by_a.any()):
        return a * x
    return where(by_x, ra * x, where(by_a, a * rx, a * x))


@composition_of("gdtr", "a b x", _SHAPES, same=False)
def _gdtr(a, b, x):
    return _lower_gamma(b, _scaled(a, x, np.asarray(raw(b)) < 1))


@composition_of("gdtrc", "a b x", _SHAPES, same=False)
def _gdtrc(a, b, x):
    return -_gdtr(a, b, x)


@composition_of("chdtr", "v x", _SHAPES, same=False)
def _chdtr(v, x):
    return _lower_gamma(0.5 * v, 0.5 * x)


@composition_of("chdtrc", "v x", _SHAPES, same=False)
def _chdtrc(v, x):
    return -_lower_gamma(0.5 * v, 0.5 * x)


@composition_of("pdtr", "m", "DLMF 8.4.10, 8.8.14", same=False, refuse={"k": "a count"})
def _pdtr(k, m):
    return -ag.special.gammainc(np.floor(raw(k)) + 1.0, m)


@composition_of("pdtrc", "m", "DLMF 8.4.10, 8.8.14", same=False, refuse={"k": "a count"})
def _pdtrc(k, m):
    return ag.special.gammainc(np.floor(raw(k)) + 1.0, m)


@composition_of("bdtr", "p", "DLMF 8.17.5", same=False, refuse={"k": "a count", "n": "a count"})
def _bdtr(k, n, p):
    k = np.floor(raw(k))
    return -ag.special.betainc(k + 1.0, np.maximum(n - k, 1e-300), p) * (k < np.asarray(n))


@composition_of("bdtrc", "p", "DLMF 8.17.5", same=False, refuse={"k": "a count", "n": "a count"})
def _bdtrc(k, n, p):
    return -_bdtr(k, n, p)


@composition_of("nbdtr", "p", "DLMF 8.17.24", same=False, refuse={"k": "a count", "n": "a count"})
def _nbdtr(k, n, p):
    return ag.special.betainc(np.asarray(n, dtype=float), np.asarray(k) + 1.0, p)


@composition_of("nbdtrc", "p", "DLMF 8.17.24", same=False, refuse={"k": "a count", "n": "a count"})
def _nbdtrc(k, n, p):
    return -_nbdtr(k, n, p)


@composition_of("fdtr", "dfn dfd x", _BETA, same=False)
def _fdtr(dfn, dfd, x):
    endless = np.asarray(np.isposinf(raw(x)))
    if endless.any():
        return where(endless, 0.0, _fdtr(dfn, dfd, where(endless, 1.0, x)))
    start = _scaled(dfn, x, np.asarray(raw(dfn)) < 2)
    below = dfd + start
    return _lower_beta(0.5 * dfn, 0.5 * dfd, _scaled(start, 1.0 / below, np.asarray(raw(dfn)) < 2), dfd / below)


@composition_of("fdtrc", "dfn dfd x", _BETA, same=False)
def _fdtrc(dfn, dfd, x):
    return -_fdtr(dfn, dfd, x)


def _t_density(df, t):
    normal = np.asarray(np.isposinf(raw(df)))
    if normal.any():
        limit = exp(-0.5 * t * t) / math.sqrt(2.0 * PI)
        return where(normal, limit, _t_density(where(normal, 1.0, df), t))
    return exp(-0.5 * (df + 1.0) * ag.log1p(t * t / df) - ag.special.betaln(0.5 * df, 0.5) - 0.5 * log(df))


def _t_below(t, df):
    """Student's tail of df but for a constant, with the density for its slope in t."""
    return with_density(lambda t, df: _t_of_df(df, t), lambda t, df: _t_density(df, t), t, df)


def _t_of_df(df, t):
    """Student's tail of df; constant in it for infinite df or t."""
    still = np.asarray((np.isposinf(raw(df)) & ~np.isnan(raw(t))) | (np.isinf(raw(t)) & (np.asarray(raw(df)) > 0)))
    if still.any():
        return where(still, 0.0, _t_of_df(where(still, 1.0, df), where(still, 0.5, t)))
    return signed(*t_tail(df, t))


declare("stdtr", "df, t", "DLMF 8.17 with x = df / (df + t^2)", t=lambda g, df, t: g * _t_density(df, t),
        df=lambda g, df, t: _of_shapes(lambda df: _t_below(t, df), g, -1.0, df)[0])  # fmt: skip
declare("stdtrit", "df, p", _INVERSE, p=lambda g, ans, df: g / _t_density(df, ans),
        df=lambda g, ans, df: _of_shapes(lambda df: _t_below(ans, df), g, _t_density(df, ans), df)[0])  # fmt: skip
declare("chdtri", "v, p", _INVERSE, p=lambda g, ans, v: -2.0 * g / _gamma_density(0.5 * v, 0.5 * ans),
        v=lambda g, ans, v: _of_shapes(
            lambda v: _gamma_below(0.5 * ans, 0.5 * v), g, 0.5 * _gamma_density(0.5 * v, 0.5 * ans), v)[0],
        )  # fmt: skip


declare("pdtri", "k, y", _INVERSE, y=lambda g, ans, k: -g / _gamma_density(np.trunc(raw(k)) + 1.0, ans),
        refuse={"k": "a count"})  # fmt: skip
declare("bdtri", "k, n, y", _INVERSE,
        y=lambda g, ans, k, n: -g / _beta_density(np.floor(raw(k)) + 1.0, n - np.floor(raw(k)), ans),
        refuse={"k": "a count", "n": "a count"})  # fmt: skip
declare("nbdtri", "k, n, y", _INVERSE,
        y=lambda g, ans, k, n: g / _beta_density(np.asarray(n, dtype=float), np.asarray(k) + 1.0, ans),
        refuse={"k": "a count", "n": "a count"})  # fmt: skip


declare("ndtri_exp", "y", _INVERSE,
        y=lambda g, ans, y: g * exp(y + 0.5 * ans * ans) * math.sqrt(2.0 * PI))  # fmt: skip
declare("owens_t", "h, a", "Owen (1956)",
        h=lambda g, h, a: -g * exp(-0.5 * h * h) / math.sqrt(2.0 * PI) * (ag.special.ndtr(h * a) - 0.5),
        a=lambda g, h, a: g * exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * PI * (1.0 + a * a)))  # fmt: skip
