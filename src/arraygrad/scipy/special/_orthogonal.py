"""Orthogonal polynomials and spherical harmonics, in the argument.

May import: arraygrad, autograd, scipy._conjugates, scipy._declare, scipy.special._chapter,
scipy.special._hypergeometric, numpy, SciPy. "DLMF" is the NIST Digital
Library of Mathematical Functions, by equation. Every derivative is a polynomial of the next family.
"""

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.autograd import Function
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import REGISTRY, formulas, parsed, raw
from arraygrad.scipy.special._chapter import NAMES, composition_of, declare
from arraygrad.scipy.special._hypergeometric import check_2f1_slope

__all__ = []

_WHY = dict.fromkeys(("n", "k", "m", "alpha", "beta"), "it has no rule")


def own(name):
    return NAMES[name]


def _degree(n):
    return np.asarray(raw(n))


def _lowered(function, n, *rest):
    """function(n - 1, ...), zero for n = 0."""
    n = _degree(n)
    return ag.where(n == 0, 0.0, function(np.where(n == 0, n, n - 1), *rest))


def _shifted(x):
    return 2.0 * x - 1.0


def _check(name, n, b, c, x):
    """Refuse complex x at which SciPy's values of these functions, 2F1(-n, b; c; (1 - x) / 2), contradict each other.

    Polynomials, of whole degrees, end before the terms at which SciPy's series fails.
    """
    x, n = np.asarray(raw(x)), np.asarray(raw(n))
    if x.dtype.kind != "c" or n.dtype.kind in "iu":
        return
    n, b, c, x = np.broadcast_arrays(n, raw(b), raw(c), x)
    broken = n != np.floor(n)
    if broken.any():
        n, b, c, z = n[broken], b[broken], c[broken], 0.5 * (1.0 - x[broken])
        why = "where c is 2a or 2b, or there for c + 1 with a + 1 and b + 1, of a = -n"
        check_2f1_slope(special.hyp2f1(-n, b, c, z), -n, b, c, z, name, why)


# Degrees below zero are those of another degree: P_(-n-1) = P_n, T_(-n) = T_n, U_(-n-2) = -U_n (DLMF 14.9.5, 18.5.1-2).


def _of_legendre(n, x):
    n = _degree(n)
    _check("eval_legendre", n, n + 1.0, 1.0, x)
    return _lowered(own("eval_gegenbauer"), np.where(n < 0, -n - 1, n), 1.5, x)


def _of_chebyt(n, x):
    n = np.abs(_degree(n))
    _check("eval_chebyt", n, n, 0.5, x)
    return n * _lowered(own("eval_chebyu"), n, x)


def _of_chebyu(n, x):
    n = _degree(n)
    _check("eval_chebyu", n, n + 2.0, 1.5, x)
    turned = n < -1
    slope = 2.0 * _lowered(own("eval_gegenbauer"), np.where(turned, -n - 2, np.where(n == -1, 0, n)), 2.0, x)
    return np.where(turned, -1.0, 1.0) * slope


def _of_gegenbauer(n, alpha, x):
    n = _degree(n)
    _check("eval_gegenbauer", n, n + 2.0 * raw(alpha), raw(alpha) + 0.5, x)
    return 2.0 * alpha * _lowered(own("eval_gegenbauer"), np.where(n == -1, 0, n), alpha + 1.0, x)


def _of_jacobi(n, alpha, beta, x):
    n = _degree(n)
    _check("eval_jacobi", n, n + alpha + beta + 1.0, alpha + 1.0, x)
    factor = 0.5 * (n + alpha + beta + 1.0)
    # The other one may have a pole where the factor is zero, and the polynomial no slope.
    alpha, beta = (np.where(factor == 0.0, 0.0, one + 1.0) for one in (alpha, beta))
    return factor * _lowered(own("eval_jacobi"), np.where(factor == 0.0, 1, n), alpha, beta, x)


declare("eval_legendre", "n, x", "DLMF 18.9.15", refuse=_WHY, x=lambda g, n, x: g * conj(_of_legendre(n, x)))
declare("eval_gegenbauer", "n, alpha, x", "DLMF 18.9.19", refuse=_WHY,
        x=lambda g, n, alpha, x: g * conj(_of_gegenbauer(n, alpha, x)))  # fmt: skip
declare("eval_chebyt", "n, x", "DLMF 18.9.21", refuse=_WHY, x=lambda g, n, x: g * conj(_of_chebyt(n, x)))
declare("eval_chebyu", "n, x", "DLMF 18.7.4, 18.9.19", refuse=_WHY, x=lambda g, n, x: g * conj(_of_chebyu(n, x)))
declare("eval_jacobi", "n, alpha, beta, x", "DLMF 18.9.15", refuse=_WHY,
        x=lambda g, n, alpha, beta, x: g * conj(_of_jacobi(n, alpha, beta, x)))  # fmt: skip
declare("eval_laguerre", "n, x", "DLMF 18.9.23", refuse=_WHY,
        x=lambda g, n, x: -g * conj(_lowered(own("eval_genlaguerre"), n, 1.0, x)))  # fmt: skip
declare("eval_genlaguerre", "n, alpha, x", "DLMF 18.9.23", refuse=_WHY,
        x=lambda g, n, alpha, x: -g * conj(_lowered(own("eval_genlaguerre"), n, alpha + 1.0, x)))  # fmt: skip
declare("eval_hermite", "n, x", "DLMF 18.9.25", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * _degree(n) * _lowered(own("eval_hermite"), n, x))  # fmt: skip
declare("eval_hermitenorm", "n, x", "DLMF 18.9.27", refuse=_WHY,
        x=lambda g, n, x: g * _degree(n) * _lowered(own("eval_hermitenorm"), n, x))  # fmt: skip
declare("eval_sh_legendre", "n, x", "DLMF 18.9.15 at 2 x - 1", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * conj(_of_legendre(n, _shifted(x))))  # fmt: skip
declare("eval_sh_chebyt", "n, x", "DLMF 18.9.21 at 2 x - 1", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * conj(_of_chebyt(n, _shifted(x))))  # fmt: skip

if hasattr(special, "sph_harm_y"):

    def _turn(phi):
        return ag.exp(-1j * phi)

    def _harmonic_theta(n, m, theta, phi):
        """Half of sqrt((n - m) (n + m + 1)) e^(-i phi) Y_n^(m+1) - sqrt((n + m) (n - m + 1)) e^(i phi) Y_n^(m-1).

        DLMF 14.10 for theta in [0, pi]; nothing is divided by the sine, which is zero at the poles.
        SciPy's values depend on cos(theta) alone: beyond, they are those of the angle in [0, pi] that has it.
        """
        side = np.where(np.sin(np.asarray(raw(theta))) < 0, -1.0, 1.0)
        n, m = np.asarray(n), np.asarray(m)
        up = np.sqrt(np.maximum((n - m) * (n + m + 1.0), 0.0))
        down = np.sqrt(np.maximum((n + m) * (n - m + 1.0), 0.0))
        above = own("sph_harm_y")(n, np.where(m < n, m + 1, m), theta, phi)
        below = own("sph_harm_y")(n, np.where(m > -n, m - 1, m), theta, phi)
        return 0.5 * side * (up * _turn(phi) * above - down * _turn(-phi) * below)

    NAMES["sph_harm_y"] = formulas(
        "special.sph_harm_y", special.sph_harm_y, "DLMF 14.30.1, 14.10.4", "n, m, theta, phi, *, diff_n=0",
        refuse=_WHY,
        theta=lambda g, n, m, theta, phi: ag.real(ag.conj(g) * _harmonic_theta(n, m, theta, phi)),
        phi=lambda g, ans, m: ag.real(ag.conj(g) * (1j * np.asarray(m)) * ans),
    )  # fmt: skip

declare("eval_chebyc", "n, x", "DLMF 18.9.21 at x / 2", refuse=_WHY,
        x=lambda g, n, x: g * conj(_of_chebyt(n, 0.5 * x)))  # fmt: skip
declare("eval_chebys", "n, x", "DLMF 18.7.4, 18.9.19 at x / 2", refuse=_WHY,
        x=lambda g, n, x: 0.5 * g * conj(_of_chebyu(n, 0.5 * x)))  # fmt: skip
declare("eval_sh_chebyu", "n, x", "DLMF 18.7.4, 18.9.19 at 2 x - 1", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * conj(_of_chebyu(n, _shifted(x))))  # fmt: skip
declare("eval_sh_jacobi", "n, p, q, x", "DLMF 18.9.15 at 2 x - 1", refuse={**_WHY, "p": "it has no rule",
        "q": "it has no rule"}, x=lambda g, n, p, q, x: g * conj(_shifted_jacobi(n, p, q, x)))  # fmt: skip


def _shifted_jacobi(n, p, q, x):
    """Of P_n^(p - q, q - 1)(2 x - 1) by the binomial coefficient of 2 n + p - 1 over n."""
    n, p, q = _degree(n), np.asarray(raw(p), dtype=float), np.asarray(raw(q), dtype=float)
    _check("eval_sh_jacobi", n, n + p, p - q + 1.0, _shifted(raw(x)))
    lowered = _lowered(own("eval_jacobi"), n, p - q + 1.0, q, _shifted(x))
    return (n + p) / special.binom(2.0 * n + p - 1.0, n) * lowered


@composition_of("assoc_laguerre", "x", "DLMF 18.9.23", refuse=_WHY)
def _assoc_laguerre(x, n, k=0.0):
    return own("eval_genlaguerre")(n, k, x)


def _lpmv(g, ans, m, v, x):
    """(1 - x^2) P' = -sqrt(1 - x^2) P^(m+1) - m x P^m; at the ends by DLMF 18.9.15 for m = 0."""
    m, v = np.asarray(raw(m), dtype=float), np.asarray(raw(v), dtype=float)
    end = np.asarray(np.abs(np.asarray(raw(x))) == 1.0)
    inner = ag.where(end, 0.5, x)
    rest = 1.0 - inner * inner
    slope = -own("lpmv")(m + 1.0, v, inner) / ag.sqrt(rest) - m * inner / rest * ag.where(end, 1.0, ans)
    known = np.asarray(end & (m == 0) & ((np.asarray(raw(x)) == 1.0) | (v == np.floor(v))))
    if known.any():  # of the polynomials, and on the right of all degrees
        slope = ag.where(known, _lowered(own("eval_gegenbauer"), v, 1.5, ag.where(known, x, 0.0)), slope)
    return g * ag.where(np.asarray(end & ~known), np.nan, slope)


declare("lpmv", "m, v, x", "DLMF 14.10.1, 14.10.4", refuse={**_WHY, "v": "it has no rule"}, x=_lpmv)

if hasattr(special, "sph_harm_y_all"):

    def _of_all(n, m, ndim):
        """Degrees and orders of all results, with axes for the angles."""
        degrees = np.arange(int(n) + 1).reshape((-1, 1) + (1,) * ndim)
        orders = np.concatenate([np.arange(int(m) + 1), np.arange(-int(m), 0)]).reshape((1, -1) + (1,) * ndim)
        return degrees, orders

    def _all_theta(g, n, m, theta, phi):
        degrees, orders = _of_all(n, m, np.ndim(raw(g)) - 2)
        return ag.real(ag.conj(g) * _harmonic_theta(degrees, orders, theta, phi))

    def _all_phi(g, ans, n, m):
        _, orders = _of_all(n, m, np.ndim(raw(g)) - 2)
        return ag.real(ag.conj(g) * (1j * orders) * ans)

    NAMES["sph_harm_y_all"] = formulas(
        "special.sph_harm_y_all", special.sph_harm_y_all, "DLMF 14.30.1, 14.10.4", "n, m, theta, phi, *, diff_n=0",
        refuse=_WHY, theta=_all_theta, phi=_all_phi,
    )  # fmt: skip

# -- Legendre functions with their derivatives: SciPy has two, the differential equation gives the others ------------


class _Ladder(Function):
    """The k-th derivative as SciPy computes it, for k < 3; its own derivative is the next one."""

    @staticmethod
    def forward(ctx, family, k, z):
        ctx.family, ctx.k = family, k
        ctx.save_for_backward(z)
        return ag.asarray(family.values(k, np.asarray(raw(z))))

    @staticmethod
    def backward(ctx, g):
        (z,) = ctx.saved_tensors
        return None, None, g * conj(ctx.family.rung(ctx.k + 1, z))


class _Legendre:
    """A family of Legendre functions of z, or of theta with z = cos(theta), with fixed degrees and orders."""

    def __init__(self, function, ndim, every, angle, n, m, options):
        self.function, self.angle, self.options = function, angle, options
        self.given = (n, m) if m is not None else (n,)
        order = 0 if m is None else m
        if every:
            n, order = np.arange(int(n) + 1.0), np.arange(-int(order), int(order) + 1.0)
            order = np.concatenate([order[order >= 0], order[order < 0]])
            n = n.reshape((-1,) + (1,) * (ndim if m is None else 1 + ndim))
            order = order.reshape((-1,) + (1,) * ndim) if m is not None else 0.0
        self.product, self.square = n * (n + 1.0), np.asarray(order, dtype=float) ** 2

    def values(self, k, z):
        return np.asarray(self.function(*self.given, z, diff_n=k, **self.options))[k]

    def rung(self, k, z):
        if k < 3:
            return _Ladder.apply(self, k, z)
        # The differential equation (DLMF 14.2.2), differentiated once.
        y, first, second = (_Ladder.apply(self, i, z) for i in range(3))
        if self.angle:
            sine, cosine = ag.sin(z), ag.cos(z)
            turn = self.square / (sine * sine)
            slope = (1.0 / (sine * sine) - self.product + turn) * first
            return slope - cosine / sine * second - 2.0 * turn * cosine / sine * y
        rest = 1.0 - z * z
        turn = self.square / rest
        return (4.0 * z * second - (self.product - 2.0 - turn) * first + 2.0 * turn * z / rest * y) / rest


def _legendre(name, source, every, angle=False, orders=True, branches=False):
    function = getattr(special, name, None)
    if function is None:
        return
    variable = "theta" if angle else "z"
    signature = ("n, m" if orders else "n") + f", {variable}, *, diff_n=0"
    signature += ", branch_cut=2, norm=False" if branches else ""

    def rule(g, n, m=None, z=None, theta=None, diff_n=0, branch_cut=2, norm=False):
        point = theta if angle else z
        options = {"branch_cut": branch_cut, "norm": norm} if branches else {}
        family = _Legendre(function, np.ndim(raw(point)), every, angle, raw(n), raw(m), options)
        total = 0.0
        for k in range(int(diff_n) + 1):
            total = total + g[k] * conj(family.rung(k + 1, point))
        return total

    NAMES[name] = formulas(f"special.{name}", function, source, signature, refuse=_WHY, **{variable: rule})
    # Here the derivatives are among the results.
    REGISTRY[f"special.{name}"].known = frozenset(parsed(signature).parameters)


_legendre("legendre_p", "DLMF 14.2.1", False, orders=False)
_legendre("legendre_p_all", "DLMF 14.2.1", True, orders=False)
_legendre("assoc_legendre_p", "DLMF 14.2.2", False, branches=True)
_legendre("assoc_legendre_p_all", "DLMF 14.2.2", True, branches=True)
_legendre("sph_legendre_p", "DLMF 14.2.2 for z = cos(theta)", False, angle=True)
_legendre("sph_legendre_p_all", "DLMF 14.2.2 for z = cos(theta)", True, angle=True)
