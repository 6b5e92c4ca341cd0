"""Tails of the gamma and beta distributions as integrals of their densities, differentiable in every parameter.

May import: arraygrad, autograd, scipy._declare, numpy.

SciPy's incomplete functions have no derivative in their shape parameters in closed form. Written as integrals with the
factor of the end point taken out,

    gammainc(a, x)  = x^a e^-x / gamma(a)         * integral of exp(x (1 - e^-v) - a v)        over v > 0
    gammaincc(a, x) = x^(a-1) e^-x / gamma(a)     * integral of (1 + v / x)^(a-1) e^-v         over v > 0
    betainc(a, b, x) = x^a (1-x)^(b-1) / B(a, b)  * integral of e^(-a v) ((1 - x e^-v) / (1 - x))^(b-1) over v > 0

(DLMF 8.2.1, 8.2.2, 8.17.1 with t = x e^-v and t = x + v), the integrands are positive and smooth, so that the double
exponential rule (Takahasi and Mori 1974, v = exp(t - exp(-t))) gives them, and their derivatives of any order, to
nearly all digits. The smaller of the two tails is integrated: its logarithm keeps relative accuracy where it is tiny.

These formulas are for the shape parameters. In the end point a tail's derivative is the density, of every order and at
every point: `with_density` takes it from there.
"""

import functools
import math

import numpy as np

import arraygrad as ag
from arraygrad.autograd import Function
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import gradients_of_composition, raw

__all__ = [
    "beta_tail",
    "gamma_tail",
    "log_other",
    "lower_beta",
    "lower_gamma",
    "moved_end",
    "signed",
    "t_tail",
    "with_density",
]

STEP = 1.0 / 8.0  # 1 / 6 has errors near 1e-11 for shapes up to 3000
_T = np.arange(-3.6, 8.5, STEP)
NODES = np.exp(_T - np.exp(-_T))
WEIGHTS = STEP * NODES * (1.0 + np.exp(-_T))


def _float(value):
    return np.asarray(raw(value), dtype=np.float64)


class _FromItself(Function):
    """Zero: the integral of density(t, *shapes) from y to y, arrays of one shape.

    Its derivative in y is the density. In a shape it is the same integral of the density's derivative, zero again, so
    that mixed derivatives of every order follow. The density is evaluated only where they are asked for.
    """

    @staticmethod
    def forward(ctx, density, y, *shapes):
        ctx.density = density
        ctx.save_for_backward(y, *shapes)
        return ag.zeros_like(y)

    @staticmethod
    def backward(ctx, g):
        y, *shapes = ctx.saved_tensors
        needs = ctx.needs_input_grad
        with np.errstate(all="ignore"):
            found = [_counted(g, ctx.density, y, *shapes) if needs[1] else None]
        for i, need in enumerate(needs[2:]):
            slope = _slope_of(ctx.density, i)
            found.append(_counted(g, functools.partial(_FromItself.apply, slope), y, *shapes) if need else None)
        return (None, *found)


def _counted(g, factor, y, *shapes):
    """g * factor(y, *shapes), zero where g is. There the factor is only g's derivative: the largest number if infinite.

    Elements of which nothing depends have zeros for g, and for its derivatives, whatever the factor's are.
    """
    with ag.zero_annihilates():
        value = factor(y, *shapes)
        lost = np.asarray((np.asarray(raw(g)) == 0.0) & ~np.isfinite(raw(value)))
        if lost.any():
            value = ag.where(lost, np.finfo(np.asarray(raw(value)).dtype).max, value)
        return g * value


def _slope_of(density, i):
    """The derivative of density(y, *shapes) in the shape number i, element by element."""

    def slope(y, *shapes):
        def call(given):
            return density(y, *shapes[:i], given[0], *shapes[i + 1 :])

        found = gradients_of_composition(call, ag.ones_like(y), [shapes[i]])[0]
        return ag.zeros_like(y) if found is None else found

    return slope


def with_density(tail, density, y, *shapes):
    """tail(y, *shapes), with the derivative density(y, *shapes) in y.

    The tail's own formula is one in the shapes: it may be constant in y at a point, or know no derivative there.
    """
    if not (isinstance(y, Tensor) and y.requires_grad):
        return tail(y, *shapes)
    found = tail(y.detach(), *shapes)
    return found + moved_end(density, y, *shapes)


def moved_end(density, y, *shapes):
    """Zero with the derivative density(y, *shapes) in y, see `_FromItself`."""
    if not (isinstance(y, Tensor) and y.requires_grad):
        return 0.0
    return _FromItself.apply(density, *ag.broadcast_arrays(y, *[ag.asarray(s, dtype=y.dtype) for s in shapes]))


def gamma_tail(a, x):
    """(lower, log of the tail): gammainc(a, x) where `lower`, gammaincc(a, x) elsewhere. nan outside a > 0, x > 0."""
    ra, rx = np.broadcast_arrays(_float(a), _float(x))
    valid = (ra > 0) & (rx > 0) & np.isfinite(rx) & np.isfinite(ra)
    valid = np.asarray(valid)
    lower = np.asarray(rx <= np.maximum(ra, 1.0))
    a = ag.where(valid, a, 1.0)
    x = ag.where(valid, x, 1.0)
    ra, rx = np.where(valid, ra, 1.0), np.where(valid, rx, 1.0)
    # Widths of the integrands; constants, as an integral does not depend on how it is substituted.
    below = 1.0 / (np.maximum(ra - rx, 0.0) + np.sqrt(np.minimum(ra, rx)) + ra / (1.0 + ra))
    above = 1.0 / (np.abs(1.0 - (ra - 1.0) / rx) + np.sqrt(np.abs(ra - 1.0)) / rx)
    width = np.where(lower, below, np.minimum(above, 1.0 + np.sqrt(ra)))
    v = width[..., None] * NODES
    a_, x_ = a[..., None], x[..., None]
    low, up = lower[..., None], ~lower[..., None]
    inner = ag.where(low, -np.expm1(-v) * x_ - a_ * v, (a_ - 1.0) * ag.log1p(v / ag.where(up, x_, 1.0)) - v)
    integral = ag.sum(ag.exp(inner) * (width[..., None] * WEIGHTS), axis=-1)
    power = ag.where(lower, a, a - 1.0)
    log_tail = power * ag.log(x) - x - ag.gammaln(a) + ag.log(integral)
    return lower, ag.where(valid, log_tail, np.nan)


def beta_tail(a, b, x, complement=None):
    """(lower, log of the tail): betainc(a, b, x) where `lower`, betaincc(a, b, x) elsewhere. nan outside 0 < x < 1.

    `complement` is 1 - x, where it is known better than that difference.
    """
    complement = 1.0 - x if complement is None else complement
    ra, rb, rx, rz = np.broadcast_arrays(_float(a), _float(b), _float(x), _float(complement))
    valid = (ra > 0) & (rb > 0) & (rx > 0) & (rz > 0) & np.isfinite(ra) & np.isfinite(rb)
    valid = np.asarray(valid)
    ra, rb, rx = (np.where(valid, r, s) for r, s in ((ra, 1.0), (rb, 1.0), (rx, 0.5)))
    a, b, x, complement = (ag.where(valid, r, s) for r, s in ((a, 1.0), (b, 1.0), (x, 0.5), (complement, 0.5)))
    lower = np.asarray(rx <= ra / (ra + rb))
    # The upper tail is the lower one of 1 - x with a and b exchanged (DLMF 8.17.4).
    p, q = ag.where(lower, a, b), ag.where(lower, b, a)
    y, z = ag.where(lower, x, complement), ag.where(lower, complement, x)
    rp, rq, ry, rz = (_float(t) for t in (p, q, y, z))
    slope = np.abs(-rp + (rq - 1.0) * ry / rz)
    width = (1.0 / (slope + np.sqrt(np.abs(rq - 1.0) * ry) / rz))[..., None]
    v = width * NODES
    ratio = ag.log1p((y / z)[..., None] * -np.expm1(-v))
    integral = ag.sum(ag.exp((q - 1.0)[..., None] * ratio - p[..., None] * v) * (width * WEIGHTS), axis=-1)
    log_y, log_z = _log_of_share(y, z), _log_of_share(z, y)
    log_tail = p * log_y + (q - 1.0) * log_z - ag.special.betaln(a, b) + ag.log(integral)
    return lower, ag.where(valid, log_tail, np.nan)


def _log_of_share(x, complement):
    """log(x), near one by what it lacks: a great power of x has the digits of that."""
    near = np.asarray(_float(x) > 0.5)
    return ag.where(near, ag.log1p(-ag.where(near, complement, 0.5)), ag.log(ag.where(near, 0.5, x)))


def t_tail(df, y):
    """(lower, log of the tail) of Student's t: half of the beta tail at df / (df + y^2), on the side of y."""
    rdf, ry = np.broadcast_arrays(_float(df), _float(y))
    near = np.asarray((rdf > 1e6) & (np.abs(ry) < np.minimum(rdf, 1e9) ** 0.25 / 6.0))
    if near.any():  # the slope in df is a difference of numbers that agree in nearly all digits
        log_near = _log_tail_near_normal(ag.where(near, df, 1e9), ag.where(near, y, 0.5))
        log_tail = t_tail(ag.where(near, 1.0, df), ag.where(near, 0.5, y))[1]
        return ry < 0, ag.where(near, log_near, log_tail)
    square = y * y
    inner, log_inner = beta_tail(0.5 * df, 0.5, df / (df + square), square / (df + square))
    log_inner = ag.where(inner, log_inner, log_other(ag.where(inner, -1.0, log_inner)))
    return np.asarray(_float(y) < 0), log_inner - math.log(2.0)


def _log_tail_near_normal(df, y):
    """Of Student's t, by powers of 1 / df around the normal tail (Abramowitz and Stegun 26.7)."""
    size = np.where(_float(y) < 0, -1.0, 1.0) * y
    square = size * size
    second = (((3.0 * square - 7.0) * square - 5.0) * square - 3.0) / 96.0
    more = size * ((square + 1.0) / 4.0 + second / df) / df
    log_normal = ag.special.log_ndtr(-size)
    return log_normal + ag.log1p(ag.exp(-0.5 * square - 0.5 * math.log(2.0 * math.pi) - log_normal) * more)


def signed(lower, log_tail):
    """What differs from the lower tail by a constant, 0 or 1: the lower tail, or minus the upper one."""
    tail = ag.exp(ag.where(np.asarray(np.isnan(raw(log_tail))), -np.inf, log_tail))
    return ag.where(lower, tail, -tail)


# -- with the ends of the arguments, where the tails above are nan ----------------------------------------------------

SMALL = 0.1  # a shape parameter that is increased by one
TERMS = 6  # of a power series at its centre: as many derivatives are exact


def lower_gamma(a, x):
    """What differs from gammainc(a, x) by a constant, at x = 0 and a = 0 too; nan where gammainc is."""
    ra, rx = np.broadcast_arrays(_float(a), _float(x))
    found = signed(*gamma_tail(a, x))
    wrong = np.asarray(~((ra >= 0) & (rx >= 0)) | ((ra == 0) & (rx == 0)) | (np.isinf(ra) & np.isinf(rx)))
    start = np.asarray((rx == 0) & (ra > 0) & np.isfinite(ra))
    # The integral of the lower tail falls off as slowly as e^(-a v): for small a it is that of a + 1, and a step.
    least = np.where(rx <= 1.0, SMALL, np.nextafter(0.0, 1.0))
    flat = np.asarray((ra >= 0) & (ra < least) & (rx > 0) & np.isfinite(rx))
    if start.any():
        found = ag.where(start, _gamma_start(ag.where(start, a, 1.0), ag.where(start, x, 0.0)), found)
    if flat.any():  # DLMF 8.8.5
        p, y = ag.where(flat, a, 0.0), ag.where(flat, x, 1.0)
        step = ag.exp(p * ag.log(y) - y - ag.gammaln(p + 1.0))
        found = ag.where(flat, signed(*gamma_tail(p + 1.0, y)) + step, found)
    return _unless(wrong, found, a, x)


def _gamma_start(a, x):
    """DLMF 8.7.1, for x = 0 and its derivatives."""
    total = 1.0
    for k in range(TERMS, 0, -1):
        total = 1.0 + x / (a + k) * total
    return x**a * ag.exp(-x - ag.gammaln(a + 1.0)) * total


def lower_beta(a, b, x, complement=None):
    """What differs from betainc(a, b, x) by a constant, at x = 0, x = 1, a = 0 and b = 0 too; nan where betainc is."""
    z = 1.0 - x if complement is None else complement
    ra, rb, rx, rz = np.broadcast_arrays(_float(a), _float(b), _float(x), _float(z))
    found = signed(*beta_tail(a, b, x, z))
    inside = (rx > 0) & (rz > 0)
    shapes = (ra > 0) & (rb > 0) & np.isfinite(ra) & np.isfinite(rb)
    wrong = ~((ra >= 0) & (rb >= 0) & (rx >= 0) & (rz >= 0)) | ((ra == 0) & (rb == 0)) | (np.isinf(ra) & np.isinf(rb))
    # As in lower_gamma; and the integrand has a peak of width 1 - x where the other shape is small.
    with np.errstate(invalid="ignore"):
        lower = rx * (ra + rb) <= ra
    finite = inside & np.isfinite(ra) & np.isfinite(rb) & ((ra > 0) | (rb > 0))
    of_a = finite & (ra >= 0) & (ra < SMALL) & (lower | (rz > 0.5) | (ra == 0))
    of_b = finite & (rb >= 0) & (rb < SMALL) & (~lower | (rx > 0.5) | (rb == 0))
    ends = (
        ((rx == 0) & shapes, lambda a, b, x, z: _beta_start(a, b, x, z)),
        ((rz == 0) & shapes, lambda a, b, x, z: -_beta_start(b, a, z, x)),
        # DLMF 8.17.20, 8.17.21
        (of_a & ~of_b, lambda a, b, x, z: signed(*beta_tail(a + 1.0, b, x, z)) + _beta_step(a, b, x, z)),
        (of_b & ~of_a, lambda a, b, x, z: signed(*beta_tail(a, b + 1.0, x, z)) - _beta_step(b, a, z, x)),
        (of_a & of_b, lambda a, b, x, z: signed(*beta_tail(a + 1.0, b + 1.0, x, z)) + _beta_step(a, b + 1.0, x, z)
         - _beta_step(b, a, z, x)),
    )  # fmt: skip
    for mask, formula in ends:
        mask = np.asarray(mask)
        if mask.any():
            at = [ag.where(mask, value, other) for value, other in ((a, 1.0), (b, 1.0), (x, 0.5), (z, 0.5))]
            found = ag.where(mask, formula(*at), found)
    return _unless(np.asarray(wrong), found, a, b, x)


def _beta_start(a, b, x, z):
    """DLMF 8.17.8, for x = 0 and its derivatives."""
    total = 1.0
    for k in range(TERMS, 0, -1):
        total = 1.0 + x * (a + b + (k - 1.0)) / (a + k) * total
    return x**a * z**b * ag.exp(ag.gammaln(a + b) - ag.gammaln(a + 1.0) - ag.gammaln(b)) * total


def _beta_step(a, b, x, z):
    return ag.exp(a * ag.log(x) + b * ag.log(z) + ag.gammaln(a + b) - ag.gammaln(a + 1.0) - ag.gammaln(b))


def _unless(wrong, found, *arguments):
    """`found`, nan with gradients nan where `wrong`."""
    if not wrong.any():
        return found
    return ag.where(wrong, 0.0, found) + np.where(wrong, np.nan, 0.0) * sum(arguments[1:], arguments[0])


def log_other(log_tail):
    """The logarithm of the other tail."""
    return ag.log1p(-ag.exp(log_tail))
