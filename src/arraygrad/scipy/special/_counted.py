"""Factorials and their kin, polynomials as objects, and what is constant: zeros, nodes, numbers by their index.

May import: arraygrad, core.tensor, ops._special_rules, scipy._declare, scipy.special._chapter, numpy, SciPy. "DLMF" is
the NIST Digital Library of Mathematical Functions, by equation.
"""

import functools
import math
from typing import Any

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.ops._special_rules import digamma, digamma_rise
from arraygrad.scipy._declare import REGISTRY, Rule, constant, raw, refused
from arraygrad.scipy.special._chapter import CHAPTER, NAMES, declare

__all__ = []

PI = math.pi


def own(name):
    return NAMES[name]


# -- factorials -------------------------------------------------------------------------------------------------------

# A quotient of gamma functions is zero where a divisor has a pole, an integer below 1. Its logarithm has no slope
# there, so the gradient is that of the reflected form (DLMF 5.5.3): a sine that is zero times what is not.


def _pole(a):
    a = np.asarray(raw(a))
    return np.asarray((a <= 0) & (a == np.floor(a)))


def _sine(t):
    """sin(pi t) and its slope, exact at integers t."""
    whole = np.round(np.asarray(raw(t), dtype=float))
    sign = 1.0 - 2.0 * (whole % 2)
    turn = PI * (t - whole)
    return sign * ag.sin(turn), PI * sign * ag.cos(turn)


def _at_zeros(zero, found, formula, *arguments):
    """`found`, and `formula` of the arguments where `zero`."""
    zero = np.asarray(zero)
    if not zero.any():
        return found
    return ag.where(zero, formula(*[ag.where(zero, a, other) for a, other in arguments]), found)


def _binom_slopes(x, y):
    """Slopes of sin(pi (y - x)) B(x + 1, y - x) / pi, which is the binomial coefficient (DLMF 5.5.3, 5.12.1)."""
    sine, turning = _sine(y - x)
    product = ag.special.beta(x + 1.0, y - x) / PI
    by_x = product * (sine * (digamma(ag, x + 1.0) - digamma(ag, y - x)) - turning)
    by_y = product * (sine * (digamma(ag, y - x) - digamma(ag, y + 1.0)) + turning)
    return by_x, by_y


def _rest(a, b, total):
    """What rounding took of a + b, exactly (Moller 1965, Knuth); a constant."""
    a, b, total = [np.asarray(raw(t), dtype=float) for t in (a, b, total)]
    with np.errstate(all="ignore"):
        share = total - a
        rest = (a - (total - share)) + (b - share)
    return np.where(np.isfinite(rest), rest, 0.0)


def _numbers(*arguments):
    """Arguments as arrays of floats."""
    floats = [isinstance(a, Tensor) and a.array.dtype.kind == "f" for a in arguments]
    return [a if known else ag.asarray(a, dtype=ag.float64) for a, known in zip(arguments, floats, strict=True)]


def _beyond(x, y):
    """x - y + 1, and what rounding took of it."""
    difference = x - y
    total = difference + 1.0
    return total, _rest(x, -y, difference) + _rest(difference, 1.0, total)


def _binom_x(g, ans, x, y):
    x, y = _numbers(x, y)
    total, rest = _beyond(x, y)
    zero = _pole(raw(total) + rest)
    # from x - y + 1 up to x + 1
    found = -ans * digamma_rise(ag, x + 1.0, -ag.where(zero, 0.0, y), ag.where(zero, 1.0 + x, total), rest)
    return g * _at_zeros(zero, found, lambda x, y: _binom_slopes(x, y)[0], (x, 0.5), (y, 1.5))


def _binom_y(g, ans, x, y):
    x, y = _numbers(x, y)
    total, rest = _beyond(x, y)
    upper, lower = _pole(raw(total) + rest), _pole(y + 1.0)
    zero = upper | lower
    step = x - 2.0 * y
    found = ans * digamma_rise(ag, ag.where(zero, 1.0, y + 1.0), ag.where(zero, 0.0, step),
                               ag.where(zero, 1.0, total), np.where(zero, 0.0, rest))  # fmt: skip
    found = _at_zeros(upper, found, lambda x, y: _binom_slopes(x, y)[1], (x, 0.5), (y, 1.5))
    # The coefficient of x and y is that of x and x - y.
    return g * _at_zeros(lower, found, lambda x, y: -_binom_slopes(x, x - y)[1], (x, 0.5), (y, -1.0))


declare("binom", "x, y", "DLMF 5.2.2; 5.5.3 at its zeros", x=_binom_x, y=_binom_y)


def _poch_slopes(z, m):
    """Slopes of sin(pi z) gamma(1 - z) gamma(z + m) / pi, which is gamma(z + m) / gamma(z)."""
    sine, turning = _sine(z)
    product = ag.special.gamma(1.0 - z) * ag.special.gamma(z + m) / PI
    return product * (sine * (digamma(ag, z + m) - digamma(ag, 1.0 - z)) + turning), product * sine * digamma(ag, z + m)


def _poch_found(ans, z, m):
    """(the value, z + m, what rounding took of it): the value that is known lacks digits beside a pole of gamma(z + m).

    There it is pi / (sin(pi (z + m)) gamma(1 - z - m) gamma(z)) (DLMF 5.5.3), for arguments whose gamma is finite.
    """
    total = z + m
    rest = _rest(z, m, total)
    at = np.asarray(raw(total))
    distance = np.abs((at - np.round(at)) + rest)
    small = (np.abs(at) < 100.0) & (np.abs(np.asarray(raw(z))) < 100.0)
    beside = np.asarray((at < -0.5) & (distance > 0) & (distance < 0.01) & small)
    if beside.any():
        p, q = ag.where(beside, z, 1.0), ag.where(beside, total, -0.5)
        whole = np.round(np.asarray(raw(q)))
        sine = (1.0 - 2.0 * (whole % 2)) * ag.sin(PI * ((q - whole) + np.where(beside, rest, 0.0)))
        ans = ag.where(beside, PI * ag.special.rgamma(p) * ag.special.rgamma(1.0 - q) / sine, ans)
    return ans, total, rest


def _poch_z(g, ans, z, m):
    z, m = _numbers(z, m)
    zero = _pole(z) & ~_pole(z + m)
    ans, total, rest = _poch_found(ans, z, m)
    found = ans * digamma_rise(ag, ag.where(zero, 1.0, z), ag.where(zero, 0.0, m), ag.where(zero, 1.0, total),
                               np.where(zero, 0.0, rest))  # fmt: skip
    return g * _at_zeros(zero, found, lambda z, m: _poch_slopes(z, m)[0], (z, 0.0), (m, 1.5))


def _poch_m(g, ans, z, m):
    z, m = _numbers(z, m)
    zero = _pole(z) & ~_pole(z + m)
    ans, total, rest = _poch_found(ans, z, m)
    found = ans * digamma(ag, total, rest)
    both = np.asarray(_pole(z) & _pole(total))  # beside such an m the function is zero
    if both.any():
        found = ag.where(both, np.nan, found)
    return g * _at_zeros(zero, found, lambda z, m: _poch_slopes(z, m)[1], (z, 0.0), (m, 1.5))


declare("poch", "z, m", "DLMF 5.2.5; 5.5.3 at its zeros", z=_poch_z, m=_poch_m)


def _counted(n, k, formula):
    """`formula` where SciPy does not say zero."""
    inside = np.asarray((raw(k) <= np.asarray(raw(n))) & (np.asarray(raw(n)) >= 0) & (np.asarray(raw(k)) >= 0))
    return ag.where(inside, formula(ag.where(inside, n, 2.0), ag.where(inside, k, 1.0)), 0.0)


def _with_repetition(n, k):
    """The coefficient of n + k - 1 and k, at all arguments; SciPy says one at n = k = 0, and beside it zero in k."""
    alone = np.asarray((np.asarray(raw(n)) == 0) & (np.asarray(raw(k)) == 0))
    found = own("binom")(ag.where(alone, 2.0, n + k - 1.0), ag.where(alone, 1.0, k))
    jump = 1.0 + 0.0 * ag.sqrt(ag.abs(ag.where(alone, k, 1.0)))  # its slope in k is nan
    return ag.where(alone, jump, found)


@CHAPTER.by_composition("comb", "N k", "DLMF 5.2.2")
def _comb(N, k, repetition=False):
    if repetition:
        return _with_repetition(*_numbers(N, k))
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


# The class has no public name, and an instance of it needs scipy.linalg, which takes a tenth of a second to load.
_Polynomial: Any = getattr(special._orthogonal, "orthopoly1d", None) or type(special.legendre(1))


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
