"""Beyond the standard: functions that users of NumPy expect next to it, each computed without overflow.

May import: ops.kinds, ops._helpers. Rules and forward functions use only the standard.
"""

from arraygrad.ops._helpers import expand_reduced
from arraygrad.ops.kinds import general, reduction, unary


def _finite_max(xp, x, axis):
    """The maximum along `axis`, kept, with zero in the place of an infinity (which would give inf - inf)."""
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.where(xp.isfinite(top), top, xp.zeros_like(top))


def _logsumexp(xp, x, axis, keepdims):
    top = _finite_max(xp, x, axis)
    result = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)) + top
    return result if keepdims else xp.reshape(result, xp.max(x, axis=axis).shape)


def _logsumexp_rule(xp, g, x, ans, axis, keepdims):
    ans = expand_reduced(xp, ans, x.shape, axis, keepdims)
    # Where the sum is log(0) every weight is zero: exp(-inf - -inf) would be nan.
    weights = xp.exp(x - xp.where(xp.isfinite(ans), ans, xp.zeros_like(ans)))
    return expand_reduced(xp, g, x.shape, axis, keepdims) * weights


def _softmax(xp, x, axis):
    e = xp.exp(x - _finite_max(xp, x, axis))
    return e / xp.sum(e, axis=axis, keepdims=True)


def _log_softmax(xp, x, axis):
    shifted = x - _finite_max(xp, x, axis)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def _sigmoid(xp, x):
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0 / (1.0 + e), e / (1.0 + e))


reduction(
    "logsumexp",
    _logsumexp_rule,
    forward=_logsumexp,
    doc="log(sum(exp(x))) over `axis` (None, an int or a tuple), real floating-point dtypes, without overflow: the "
    "maximum is taken out first. The gradient is softmax(x); it is zero where every element is -inf.",
)
general(
    "softmax",
    "x, /, *, axis=-1",
    forward=_softmax,
    x=lambda xp, g, ans, axis: ans * (g - xp.sum(g * ans, axis=axis, keepdims=True)),
    doc="exp(x) / sum(exp(x)) over `axis` (None, an int or a tuple), real floating-point dtypes, without overflow.",
)
general(
    "log_softmax",
    "x, /, *, axis=-1",
    forward=_log_softmax,
    x=lambda xp, g, ans, axis: g - xp.exp(ans) * xp.sum(g, axis=axis, keepdims=True),
    doc="log(softmax(x)) over `axis` (None, an int or a tuple), real floating-point dtypes; finite where softmax "
    "underflows to zero.",
)
unary(
    "sigmoid",
    lambda g, ans: g * (ans * (1.0 - ans)),
    forward=_sigmoid,
    doc="The logistic function 1 / (1 + exp(-x)), real floating-point dtypes, without overflow on either side.",
)
unary(
    "relu",
    lambda xp, g, x: xp.where(x > 0, g, xp.zeros_like(g)),
    forward=lambda xp, x: xp.where(x > 0, x, xp.zeros_like(x)) + xp.where(x != x, x, xp.zeros_like(x)),
    doc="max(x, 0), real dtypes; nan stays nan. The gradient at zero is zero, as in PyTorch.",
)
