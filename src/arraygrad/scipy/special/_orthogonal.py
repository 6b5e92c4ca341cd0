"""Orthogonal polynomials and spherical harmonics, in the argument.

May import: arraygrad, scipy._declare, scipy.special._chapter, numpy, SciPy. "DLMF" is the NIST Digital Library of
Mathematical Functions, by equation. Every derivative is a polynomial of the next family.
"""

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.scipy._declare import formulas, raw
from arraygrad.scipy.special._chapter import NAMES, declare

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


declare("eval_legendre", "n, x", "DLMF 18.9.15", refuse=_WHY,
        x=lambda g, n, x: g * _lowered(own("eval_gegenbauer"), n, 1.5, x))  # fmt: skip
declare("eval_gegenbauer", "n, alpha, x", "DLMF 18.9.19", refuse=_WHY,
        x=lambda g, n, alpha, x: 2.0 * g * alpha * _lowered(own("eval_gegenbauer"), n, alpha + 1.0, x))  # fmt: skip
declare("eval_chebyt", "n, x", "DLMF 18.9.21", refuse=_WHY,
        x=lambda g, n, x: g * _degree(n) * _lowered(own("eval_chebyu"), n, x))  # fmt: skip
declare("eval_chebyu", "n, x", "DLMF 18.7.4, 18.9.19", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * _lowered(own("eval_gegenbauer"), n, 2.0, x))  # fmt: skip
declare("eval_jacobi", "n, alpha, beta, x", "DLMF 18.9.15", refuse=_WHY,
        x=lambda g, n, alpha, beta, x: 0.5 * g * (_degree(n) + alpha + beta + 1.0) * _lowered(
            own("eval_jacobi"), n, alpha + 1.0, beta + 1.0, x))  # fmt: skip
declare("eval_laguerre", "n, x", "DLMF 18.9.23", refuse=_WHY,
        x=lambda g, n, x: -g * _lowered(own("eval_genlaguerre"), n, 1.0, x))  # fmt: skip
declare("eval_genlaguerre", "n, alpha, x", "DLMF 18.9.23", refuse=_WHY,
        x=lambda g, n, alpha, x: -g * _lowered(own("eval_genlaguerre"), n, alpha + 1.0, x))  # fmt: skip
declare("eval_hermite", "n, x", "DLMF 18.9.25", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * _degree(n) * _lowered(own("eval_hermite"), n, x))  # fmt: skip
declare("eval_hermitenorm", "n, x", "DLMF 18.9.27", refuse=_WHY,
        x=lambda g, n, x: g * _degree(n) * _lowered(own("eval_hermitenorm"), n, x))  # fmt: skip
declare("eval_sh_legendre", "n, x", "DLMF 18.9.15 at 2 x - 1", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * _lowered(own("eval_gegenbauer"), n, 1.5, 2.0 * x - 1.0))  # fmt: skip
declare("eval_sh_chebyt", "n, x", "DLMF 18.9.21 at 2 x - 1", refuse=_WHY,
        x=lambda g, n, x: 2.0 * g * _degree(n) * _lowered(own("eval_chebyu"), n, 2.0 * x - 1.0))  # fmt: skip

if hasattr(special, "sph_harm_y"):

    def _turn(phi):
        return ag.exp(-1j * phi)

    def _harmonic_theta(n, m, theta, phi):
        """m cot(theta) Y_n^m + sqrt((n - m) (n + m + 1)) e^(-i phi) Y_n^(m+1) (DLMF 14.10 for theta)."""
        n, m = np.asarray(n), np.asarray(m)
        factor = np.sqrt(np.maximum((n - m) * (n + m + 1.0), 0.0))
        value = own("sph_harm_y")(n, m, theta, phi)
        above = own("sph_harm_y")(n, np.where(m < n, m + 1, m), theta, phi)
        return m * ag.cos(theta) / ag.sin(theta) * value + factor * _turn(phi) * above

    NAMES["sph_harm_y"] = formulas(
        "special.sph_harm_y", special.sph_harm_y, "DLMF 14.30.1, 14.10.4", "n, m, theta, phi, *, diff_n=0",
        refuse=_WHY,
        theta=lambda g, n, m, theta, phi: ag.real(ag.conj(g) * _harmonic_theta(n, m, theta, phi)),
        phi=lambda g, ans, m: ag.real(ag.conj(g) * (1j * np.asarray(m)) * ans),
    )  # fmt: skip

if hasattr(special, "legendre_p"):
    NAMES["legendre_p"] = formulas(
        "special.legendre_p", special.legendre_p, "DLMF 18.9.15", "n, z, *, diff_n=0", refuse=_WHY,
        z=lambda g, n, z: g * _lowered(own("eval_gegenbauer"), n, 1.5, z),
    )  # fmt: skip
