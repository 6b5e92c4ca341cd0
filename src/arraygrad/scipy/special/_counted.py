"""Factorials and their kin, polynomials as objects, and what is constant: zeros, nodes, numbers by their index.

May import: arraygrad, core.tensor, scipy._declare, scipy.special._chapter, numpy, SciPy. "DLMF" is the NIST Digital
Library of Mathematical Functions, by equation.
"""

import functools
from typing import Any

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, Rule, constant, raw, refused
from arraygrad.scipy.special._chapter import CHAPTER, NAMES

__all__ = []


def own(name):
    return NAMES[name]


# -- factorials -------------------------------------------------------------------------------------------------------


def _counted(n, k, formula):
    """`formula` where SciPy does not say zero."""
    inside = np.asarray((raw(k) <= np.asarray(raw(n))) & (np.asarray(raw(n)) >= 0) & (np.asarray(raw(k)) >= 0))
    return ag.where(inside, formula(ag.where(inside, n, 2.0), ag.where(inside, k, 1.0)), 0.0)


@CHAPTER.by_composition("comb", "N k", "DLMF 5.2.2")
def _comb(N, k, repetition=False):
    if repetition:
        return _comb(N + k - 1.0, k)
    return _counted(N, k, lambda n, k: own("binom")(n, k))


@CHAPTER.by_composition("perm", "N k", "DLMF 5.2.5")
def _perm(N, k):
    return _counted(N, k, lambda n, k: own("poch")(n - k + 1.0, k))


@CHAPTER.by_composition("factorial", "n", "DLMF 5.4.1")
def _factorial(n):
    inside = np.asarray(np.asarray(raw(n)) >= 0)
    return ag.where(inside, ag.special.gamma(ag.where(inside, n, 1.0) + 1.0), 0.0)


@CHAPTER.by_composition("diric", "x", "definition, a sum of cosines", refuse={"n": "a count"})
def _diric(x, n):
    n = np.asarray(raw(n), dtype=float)
    k = np.arange(float(np.max(n, initial=1.0)))
    angle = (k - 0.5 * (n[..., None] - 1.0)) * ag.asarray(x)[..., None]
    return ag.sum(ag.where(np.asarray(k < n[..., None]), ag.cos(angle), 0.0), axis=-1) / n


# -- polynomials as objects -------------------------------------------------------------------------------------------


_Polynomial: Any = type(special.legendre(1))


class orthopoly1d(_Polynomial):
    """SciPy's orthogonal polynomial; its values at a Tensor are recorded."""

    def __call__(self, v):
        if not isinstance(v, Tensor):
            return super().__call__(v)
        function, arguments = self._of
        # Where no zero is: the value by that of the family is the factor of this one.
        beyond = 1.0 + float(np.max(np.real(self.weights[:, 0]), initial=1.0)) if len(self.weights) else 2.0
        theirs = getattr(special, function)(*arguments, beyond)
        return own(function)(*arguments, v) * float(super().__call__(beyond) / theirs)

    def __reduce__(self):
        return _remade, (self._of[0].removeprefix("eval_"), *self._of[1], self._monic)


def _remade(name, *arguments):
    return NAMES[name](*arguments)


def _polynomial(name, *parameters):
    theirs = getattr(special, name, None)
    if theirs is None:
        return

    @functools.wraps(theirs)
    def made(*args, **kwargs):
        args, kwargs = [raw(a) for a in args], {key: raw(value) for key, value in kwargs.items()}
        found = theirs(*args, **kwargs)
        given = dict(zip((*parameters, "monic"), args, strict=False)) | kwargs
        found.__class__ = orthopoly1d
        found._of = (f"eval_{name}", tuple([given[key] for key in parameters]))
        found._monic = bool(given.get("monic", False))
        return found

    guarded = refused(f"special.{name}", made, "its degree and parameters have no rule; its points have one")
    NAMES[name] = guarded
    REGISTRY[f"special.{name}"] = Rule(
        f"special.{name}", ("points",), f"as eval_{name}", "any", theirs, guarded
    )  # fmt: skip


for _name in ("legendre", "chebyt", "chebyu", "chebyc", "chebys", "laguerre", "hermite", "hermitenorm", "sh_legendre",
              "sh_chebyt", "sh_chebyu"):  # fmt: skip
    _polynomial(_name, "n")
_polynomial("genlaguerre", "n", "alpha")
_polynomial("gegenbauer", "n", "alpha")
_polynomial("jacobi", "n", "alpha", "beta")
_polynomial("sh_jacobi", "n", "p", "q")

# -- constants --------------------------------------------------------------------------------------------------------

_OF_INTEGERS = """
    ai_zeros bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros kei_zeros keip_zeros ker_zeros kerp_zeros kelvin_zeros
    erf_zeros fresnel_zeros fresnelc_zeros fresnels_zeros jn_zeros jnp_zeros jnyn_zeros jnjnp_zeros yn_zeros ynp_zeros
    y0_zeros y1_zeros y1p_zeros bernoulli euler stirling2 roots_legendre roots_chebyt roots_chebyu roots_chebyc
    roots_chebys roots_laguerre roots_hermite roots_hermitenorm roots_sh_legendre roots_sh_chebyt roots_sh_chebyu
    p_roots t_roots u_roots c_roots s_roots l_roots h_roots he_roots ps_roots ts_roots us_roots round
""".split()

for _name in _OF_INTEGERS:
    if hasattr(special, _name):
        NAMES[_name] = constant(f"special.{_name}", getattr(special, _name))


def _without(reason, *names):
    for name in names:
        if hasattr(special, name):
            NAMES[name] = refused(f"special.{name}", getattr(special, name), reason)


_without("nodes and weights have no rule in the parameters of their polynomial",
         "roots_jacobi", "roots_genlaguerre", "roots_gegenbauer", "roots_sh_jacobi", "j_roots", "la_roots", "cg_roots",
         "js_roots")  # fmt: skip
_without("it is of integers; use gamma for real numbers", "factorial2", "factorialk")
_without("Lame's functions have no rule", "ellip_harm", "ellip_harm_2", "ellip_normal")
_without("Fourier coefficients of Mathieu functions have no rule", "mathieu_even_coef", "mathieu_odd_coef")
_without("characteristic values in a sequence have no rule; use pro_cv or obl_cv", "pro_cv_seq", "obl_cv_seq")
