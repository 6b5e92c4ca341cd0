"""Divergences between two distributions that are given as positive numbers with any sums.

May import: arraygrad, numpy. SciPy's values come from SciPy; of these formulas the derivatives are taken. Near equal
distributions differ by less than the rounding errors of the shares x = p / sum(p) and y = q / sum(q), so x - y is
computed of p - q, single precision in double.
"""

import numpy

import arraygrad as ag

__all__ = ["jensen_shannon", "relative_entropy"]

_NEAR = 0.5  # differences up to this share of the numbers are served by the series' formulas


def _shares(p, q, axis):
    """x, y, and x - y = ((p - q) sum(q) - q sum(p - q)) / (sum(p) sum(q))."""
    p, q = (_wide(ag.asarray(v)) for v in (p, q))
    sums = [ag.sum(v, axis=axis, keepdims=True) for v in (p, q)]
    away = p - q
    extra = ag.sum(away, axis=axis, keepdims=True) if p.shape == q.shape else sums[0] - sums[1]
    return p / sums[0], q / sums[1], (away * sums[1] - q * extra) / (sums[0] * sums[1])


def _wide(x):
    return x.astype(numpy.float64) if x.dtype in (numpy.float32, numpy.float16) else x


def _chosen(near, formula, away, size):
    """formula(away, size) where `near` holds, elsewhere of numbers where its derivatives are finite."""
    return formula(ag.where(near, away, 0.0), ag.where(near, size, 1.0))


def jensen_shannon(p, q, axis):
    """(terms of the divergence, x - y): x log(x / m) + y log(y / m) with m = (x + y) / 2.

    With t = (x - y) / (x + y) that is m (2 t atanh(t) + log(1 - t^2)).
    """
    x, y, away = _shares(p, q, axis)
    middle = 0.5 * (x + y)
    near = _plain(ag.abs(away)) < 2.0 * _NEAR * _plain(middle)

    def series(away, middle):
        t = 0.5 * away / middle
        return middle * (2.0 * t * ag.atanh(t) + ag.log1p(-t * t))

    far = ag.special.rel_entr(ag.where(near, 1.0, x), ag.where(near, 1.0, middle))
    far = far + ag.special.rel_entr(ag.where(near, 1.0, y), ag.where(near, 1.0, middle))
    return ag.where(near, _chosen(near, series, away, middle), far), away


def relative_entropy(p, q, axis):
    """Terms of the relative entropy: x log(x / y) - x + y, the sum of which is that of x log(x / y).

    With u = (x - y) / y that is y ((1 + u) log(1 + u) - u).
    """
    x, y, away = _shares(p, q, axis)
    near = _plain(ag.abs(away)) < _NEAR * _plain(y)

    def series(away, y):
        u = away / y
        return y * ((1.0 + u) * ag.log1p(u) - u)

    far = ag.special.kl_div(ag.where(near, 1.0, x), ag.where(near, 1.0, y))
    return ag.where(near, _chosen(near, series, away, y), far)


def _plain(x):
    return ag.stop_gradient(x)
