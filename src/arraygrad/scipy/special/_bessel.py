"""Bessel functions and their kin, in the argument.

May import: arraygrad, scipy._declare, scipy.special._chapter, numpy, SciPy. "DLMF" is the NIST Digital Library of
Mathematical Functions, by equation.
"""

import math

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.scipy._declare import formulas, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.special._chapter import NAMES, declare

__all__ = []

PI = math.pi
_ORDER = dict.fromkeys(("v", "n"), "arraygrad has no derivative in the order of a Bessel function")


def own(name):
    return NAMES[name]


def _conj(a):
    return ag.conj(a) if np.asarray(raw(a)).dtype.kind == "c" else a


def _half_difference(name):
    """(C(v - 1, z) - C(v + 1, z)) / 2, of J, Y and Hankel's functions."""
    return lambda g, v, z: g * _conj(0.5 * (own(name)(v - 1.0, z) - own(name)(v + 1.0, z)))


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
            z=lambda g, ans, v, z, name=_name, turn=_turn: g * _conj(
                0.5 * (own(name)(v - 1.0, z) - own(name)(v + 1.0, z)) + turn * ans))  # fmt: skip

# Derivatives of order n, by the order above.
for _name in ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"):
    NAMES[_name] = formulas(
        f"special.{_name}", getattr(special, _name), "DLMF 10.6.7, 10.29.5", "v, z, n=1",
        refuse={**_ORDER, "n": "the number of derivatives"},
        z=lambda g, v, z, n=1, name=_name: g * _conj(own(name)(v, z, n + 1)),
    )  # fmt: skip

# Struve's functions.
declare("struve", "v, x", "DLMF 11.4.27", refuse=_ORDER,
        x=lambda g, ans, v, x: g * _struve_slope("struve", -1.0, ans, v, x))  # fmt: skip
declare("modstruve", "v, x", "DLMF 11.4.29", refuse=_ORDER,
        x=lambda g, ans, v, x: g * _struve_slope("modstruve", 1.0, ans, v, x))  # fmt: skip


def _struve_slope(name, sign, ans, v, x):
    zero = np.asarray(np.asarray(raw(x)) == 0)
    if not zero.any():
        return own(name)(v - 1.0, x) - v / x * ans
    away = own(name)(v - 1.0, x) - v / ag.where(zero, 1.0, x) * ans
    near = ag.where(zero, x, 0.0)  # DLMF 11.4.26, 11.4.30
    power = (0.5 * near) ** v * special.rgamma(np.asarray(raw(v)) + 1.5) / math.sqrt(PI)
    return ag.where(zero, 0.5 * (own(name)(v - 1.0, near) + sign * own(name)(v + 1.0, near) + power), away)


# Airy's functions: Ai, Ai', Bi, Bi'.


def _airy(g, ans, z):
    slopes = (ans[1], z * ans[0], ans[3], z * ans[2])
    parts = [gi * _conj(slope) for gi, slope in zip(g, slopes, strict=True) if gi is not None]
    return sum(parts[1:], parts[0])


declare("airy", "z", "DLMF 9.2.1", z=_airy)

# Spherical Bessel functions.


def _spherical(name, sign, other):
    """DLMF 10.51.2: f_n' = sign f_(n+1) + n / z f_n."""

    def rule(g, n, z, derivative=False):
        function = own(name)
        n = np.asarray(n)
        if not derivative:
            return g * _conj(function(n, z, derivative=True))
        # The second derivative from the differential equation, DLMF 10.47.1 and 10.47.2.
        turn = n * (n + 1.0) / (z * z)
        return g * _conj((turn + other) * function(n, z) - 2.0 / z * function(n, z, derivative=True))

    NAMES[name] = formulas(
        f"special.{name}", getattr(special, name), "DLMF 10.47.1, 10.47.2, 10.51.2", "n, z, derivative=False",
        refuse=_ORDER, z=rule,
    )  # fmt: skip


_spherical("spherical_jn", -1.0, -1.0)
_spherical("spherical_yn", -1.0, -1.0)
_spherical("spherical_in", 1.0, 1.0)
_spherical("spherical_kn", -1.0, 1.0)

# Kelvin functions, whose second derivatives follow from x^2 w'' + x w' - (i x^2 + 0) w = 0 (DLMF 10.61.3).


def _kelvin(name, other, sign):
    """`name`' is `name`p; `name`p' = sign * other - name' / x."""
    declare(name, "x", "DLMF 10.61.3", x=lambda g, x: g * own(f"{name}p")(x))
    declare(f"{name}p", "x", "DLMF 10.61.3", x=lambda g, ans, x: g * (sign * own(other)(x) - ans / x))


_kelvin("ber", "bei", -1.0)
_kelvin("bei", "ber", 1.0)
_kelvin("ker", "kei", -1.0)
_kelvin("kei", "ker", 1.0)
