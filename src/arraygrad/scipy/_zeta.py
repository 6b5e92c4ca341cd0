"""Hurwitz' zeta function with recorded operations, differentiable in both arguments.

May import: arraygrad, autograd, scipy._declare, numpy.

By the sum formula of Euler and Maclaurin (DLMF 25.11.5): the first terms, the integral of the others, and corrections
with Bernoulli's numbers.
"""

import math

import numpy as np

import arraygrad as ag
from arraygrad.scipy._declare import gradients_of_composition, raw

__all__ = ["hurwitz", "zeta_slope"]

# B_2k / (2 k)! for k = 1 ... 12, DLMF 24.2.
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138,
    -236364091 / 2730,
)  # fmt: skip
_COEFFICIENTS = [b / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI, 1)]


def hurwitz(s, q):
    """The sum of (n + q)^-s over n = 0, 1, ..., continued to s > -2; q > 0."""
    s, q = ag.asarray(s), ag.asarray(q)
    size = np.abs(np.asarray(raw(s), dtype=float))
    terms = 12 + math.ceil(min(0.5 * np.max(size[np.isfinite(size)], initial=0.0), 200.0))
    first = ag.sum(ag.exp(-s[..., None] * ag.log(q[..., None] + np.arange(terms))), axis=-1)
    end = q + float(terms)
    logs = ag.log(end)
    total = first + ag.exp((1.0 - s) * logs) / (s - 1.0) + 0.5 * ag.exp(-s * logs)
    rising = s
    for k, c in enumerate(_COEFFICIENTS, 1):
        total = total + c * rising * ag.exp(-(s + (2.0 * k - 1.0)) * logs)
        rising = rising * (s + (2.0 * k - 1.0)) * (s + 2.0 * k)
    return total


def zeta_slope(s, q):
    """d/ds of `hurwitz`."""
    shape = np.broadcast_shapes(np.shape(raw(s)), np.shape(raw(q)))
    s, q = (ag.broadcast_to(v if isinstance(v, ag.Tensor) else ag.asarray(np.asarray(v, dtype=float)), shape)
            for v in (s, q))  # fmt: skip
    s = s if s.requires_grad else s.detach().requires_grad_()
    return gradients_of_composition(lambda given: hurwitz(given[0], q), ag.ones(shape, dtype=ag.float64), [s])[0]
