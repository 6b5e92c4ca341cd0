"""Bessel functions and their kin, in the argument; those that are integrals of one sign in the order, too.

May import: arraygrad, core.tensor, scipy._conjugates, scipy._declare, scipy.special._chapter, numpy, SciPy. "DLMF" is
the NIST Digital Library of Mathematical Functions, by equation.
"""

import math

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import formulas, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.special._chapter import NAMES, composition_of, declare

__all__ = []

PI = math.pi
_ORDER = dict.fromkeys(("v", "n"), "arraygrad has no derivative in the order of a Bessel function")


def own(name):
    return NAMES[name]


def _half_difference(name):
    """(C(v - 1, z) - C(v + 1, z)) / 2, of J, Y and Hankel's functions."""
    return lambda g, v, z: g * conj(0.5 * (own(name)(v - 1.0, z) - own(name)(v + 1.0, z)))


for _name in ("hankel1", "hankel2"):
    declare(_name, "v, z", "DLMF 10.6.1", refuse=_ORDER, z=_half_difference(_name))

# Scaled functions: exp(-|Im z|) for J and Y is a constant factor for real z.


def _scaled_real(name):
    def rule(g, v, z):
        if np.asarray(raw(z)).dtype.kind == "c":
            raise NotDifferentiable(
                f"arraygrad.scipy.special.{name}: of a complex argument it is no holomorphic function: multiply the "
                "unscaled one by exp(-abs(imag(z)))"
            )
        return g * 0.5 * (own(name)(v - 1.0, z) - own(name)(v + 1.0, z))

    return rule


for _name in ("jve", "yve"):
    declare(_name, "v, z", "DLMF 10.6.1", refuse=_ORDER, z=_scaled_real(_name))
for _name, _turn in (("hankel1e", -1j), ("hankel2e", 1j)):
    declare(_name, "v, z", "DLMF 10.6.1", refuse=_ORDER,
            z=lambda g, ans, v, z, name=_name, turn=_turn: g * conj(
                0.5 * (own(name)(v - 1.0, z) - own(name)(v + 1.0, z)) + turn * ans))  # fmt: skip

# Derivatives of order n, by the order above.
for _name in ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"):
    NAMES[_name] = formulas(
        f"special.{_name}", getattr(special, _name), "DLMF 10.6.7, 10.29.5", "v, z, n=1",
        refuse={**_ORDER, "n": "the number of derivatives"},
        z=lambda g, v, z, n=1, name=_name: g * conj(own(name)(v, z, n + 1)),
    )  # fmt: skip

# Struve's functions.
declare("struve", "v, x", "DLMF 11.4.27", refuse=_ORDER,
        x=lambda g, ans, v, x: g * _struve_slope("struve", -1.0, ans, v, x))  # fmt: skip
declare("modstruve", "v, x", "DLMF 11.4.29", refuse=_ORDER,
        x=lambda g, ans, v, x: g * _struve_slope("modstruve", 1.0, ans, v, x))  # fmt: skip


def _struve_slope(name, sign, ans, v, x):
    """H_(v-1) - v / x H_v; near zero, where the two cancel in derivatives, by the power series, DLMF 11.2.1, 11.2.2."""
    small = np.asarray(np.abs(raw(x)) < 1.0)
    if not small.any():
        return own(name)(v - 1.0, x) - v / x * ans
    away = ag.where(small, 1.0, x)
    far = own(name)(v - 1.0, away) - v / away * ans
    order = np.asarray(raw(v), dtype=float)
    first = np.where(order == -1.0, 1, 0)  # its first term is a constant, without a slope
    near = ag.where(small, x, 0.0)
    series = _struve_series(sign, order, near * near, first, lambda n: 2.0 * n + order + 1.0)
    return ag.where(small, near ** (order + 2.0 * first) * series, far)


def _struve_series(sign, v, u, first=0, weight=lambda n: 1.0):
    """H_v(x) / x^(v + 1 + 2 first) as a series in u = x^2 from a term on, with weights for the terms."""
    total = 0.0
    for k in range(11, -1, -1):
        n = first + k
        terms = 0.5 ** (2.0 * n + v + 1.0) * special.rgamma(n + 1.5) * special.rgamma(n + v + 1.5)
        total = total * u + sign**n * weight(n) * terms
    return total


def struve_over(x):
    """H_0(x) / x, by its power series near zero."""
    small = np.asarray(np.abs(raw(x)) < 1.0)
    near = ag.where(small, x, 0.0)
    away = ag.where(small, 1.0, x)
    return ag.where(small, _struve_series(-1.0, 0.0, near * near), own("struve")(0.0, away) / away)


# Airy's functions: Ai, Ai', Bi, Bi'.


def _airy(g, ans, z):
    slopes = (ans[1], z * ans[0], ans[3], z * ans[2])
    parts = [gi * conj(slope) for gi, slope in zip(g, slopes, strict=True) if gi is not None]
    return sum(parts[1:], parts[0])


declare("airy", "z", "DLMF 9.2.1", z=_airy)

# Spherical Bessel functions.


def _spherical(name, below, above):
    """DLMF 10.51.1, 10.51.4: (2 n + 1) f_n' = below n f_(n-1) + above (n + 1) f_(n+1), which divides by no argument."""

    def rule(g, n, z, derivative=False):
        function = own(name)
        n = np.asarray(n)
        lower = below * n * function(np.where(n == 0, n, n - 1), z, derivative=derivative)
        upper = above * (n + 1.0) * function(n + 1, z, derivative=derivative)
        return g * conj((lower + upper) / (2.0 * n + 1.0))

    NAMES[name] = formulas(
        f"special.{name}", getattr(special, name), "DLMF 10.51.1, 10.51.4", "n, z, derivative=False",
        refuse=_ORDER, z=rule,
    )  # fmt: skip


_spherical("spherical_jn", 1.0, -1.0)
_spherical("spherical_yn", 1.0, -1.0)
_spherical("spherical_in", 1.0, 1.0)
_spherical("spherical_kn", -1.0, -1.0)

# Kelvin functions, whose second derivatives follow from x^2 w'' + x w' - (i x^2 + 0) w = 0 (DLMF 10.61.3).


def over_argument(slope, x):
    """slope / x for slope = ber'(x) + i bei'(x); near zero by the power series of I0(x sqrt(i)), DLMF 10.65.1."""
    small = np.asarray(np.abs(raw(x)) < 1.0)
    u, total = ag.where(small, x, 0.0) ** 2, 0.0
    for k in range(9, 0, -1):
        total = total * u + 2.0 * k * 0.25**k / math.factorial(k) ** 2 * 1j**k
    return ag.where(small, total + 0.0 * u, slope / ag.where(small, 1.0, x))


def _kelvin(name, other, sign, part=None):
    """`name`' is `name`p; `name`p' = sign * other - name' / x. `part` takes `name` of ber + i bei."""
    declare(name, "x", "DLMF 10.61.3", x=lambda g, x: g * own(f"{name}p")(x))

    def divided(slope, x):
        if part is None:
            return slope / x
        near = part(over_argument(0.0 * slope, x))
        small = np.asarray(np.abs(raw(x)) < 1.0)
        return ag.where(small, near, slope / ag.where(small, 1.0, x))

    declare(f"{name}p", "x", "DLMF 10.61.3, 10.65.1", x=lambda g, ans, x: g * (sign * own(other)(x) - divided(ans, x)))


_kelvin("ber", "bei", -1.0, ag.real)
_kelvin("bei", "ber", 1.0, ag.imag)
_kelvin("ker", "kei", -1.0)
_kelvin("kei", "ker", 1.0)


# The order of K. exp(x) K(v, x) is the integral of exp(-x (cosh t - 1)) cosh(v t) over t > 0 (DLMF 10.32.9). It is
# analytic and of one sign, so that the trapezoidal rule has all digits and loses none.

_EXPONENT = 45.0  # what is smaller than the largest by exp(-45) counts for nothing
_FEWEST, _MOST = 64, 4096


def _nodes(v, x):
    """Nodes and weights, and the largest exponent, for arrays v >= 0 and x > 0; nodes have the last axis.

    With t = t0 + s, where sinh t0 = v / x, the exponent is largest at s = 0, and less than that by
    w (cosh s - 1) + v (sinh s - s), w = hypot(v, x): at least w (cosh s - 1) on the right, v (exp(-|s|) - 1 + |s|) on
    the left.
    """
    w, middle = np.hypot(v, x), np.arcsinh(v / x)
    right = middle + np.arccosh(1.0 + _EXPONENT / w)
    near = np.sqrt(3.0 * _EXPONENT / np.maximum(v, 1e-3))
    left = np.maximum(0.0, middle - np.where(near <= 1.0, near, _EXPONENT / np.maximum(v, 1e-3) + 1.0))
    # The error is exp(-pi^2 / step) for the width pi / 2 of the strip, and exp(-2 pi^2 / (w step^2)) for a bell.
    steps = (right - left) / np.minimum(0.2, 0.5 / np.sqrt(w))
    n = int(np.clip(np.ceil(np.max(steps, initial=_FEWEST)), _FEWEST, _MOST))
    t = left[..., None] + (right - left)[..., None] * (np.arange(n + 1) / n)
    weights = np.where(t == 0.0, 0.5, 1.0) * ((right - left) / n)[..., None]
    return t, weights, v * middle - 2.0 * x * np.sinh(middle / 2.0) ** 2


def _by_order(name, v, x):
    """K(v, x), times exp(x) for "kve", as a function of v and x both, by the integral; its value is SciPy's."""
    plain = np.asarray(getattr(special, name)(raw(v), raw(x)))
    order, argument = np.broadcast_arrays(np.asarray(raw(v), float), np.asarray(raw(x), float))
    if not np.all(argument > 0.0):
        raise NotDifferentiable(
            f"arraygrad.scipy.special.{name}: the order requires grad, so x must be positive in all places: write "
            "numpy.where(x > 0, x, 1.0) for x, and choose what stands in the other places by numpy.where"
        )
    t, weights, largest = _nodes(np.abs(order), argument)
    given = plain.dtype
    v, x = (ag.astype(ag.asarray(a), ag.float64) for a in (v, x))
    inner = -2.0 * ag.expand_dims(x, axis=-1) * np.sinh(t / 2.0) ** 2 - largest[..., None]
    along = ag.expand_dims(v, axis=-1) * t
    # cosh(v t), whose slope keeps its digits for small v t, but overflows for large.
    small = np.abs(order[..., None] * t) < 1.0
    near = 2.0 * ag.exp(inner) * ag.cosh(ag.where(small, along, 0.0))
    along = ag.where(small, 0.0, along)
    total = ag.sum(weights * ag.where(small, near, ag.exp(inner + along) + ag.exp(inner - along)), axis=-1)
    if name == "kv":
        total = total * ag.exp(argument - x)
    return ag.astype(total * (plain.astype(float) / raw(total)), given)


def _of_order(name):
    in_argument = NAMES[name]

    @composition_of(name, "v z", "DLMF 10.29.1; 10.32.9 in v", same=False)
    def function(v, z):
        if not (isinstance(v, Tensor) and v.requires_grad):
            return in_argument(v, z)
        if np.asarray(raw(z)).dtype.kind == "c":
            raise NotDifferentiable(
                f"arraygrad.scipy.special.{name}: of a complex argument it has no derivative in the order here: give "
                "it a real one, or integrate exp(-z * cosh(t)) * cosh(v * t) over t > 0 by scipy.integrate.quad"
            )
        return _by_order(name, v, z)


_of_order("kv")
_of_order("kve")
