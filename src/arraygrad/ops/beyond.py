"""Beyond the standard: functions that users of NumPy expect next to it, each computed without overflow.

May import: ops.kinds, ops._axes, ops._helpers, ops._norms; ops._einsum and ops._padding on first use. Rules and forward
functions use only the standard; einsum uses the library's own where there is one.
"""

import math

from arraygrad.ops import _norms
from arraygrad.ops._axes import expand_reduced, keepdims_shape, normalize_axes
from arraygrad.ops._helpers import is_complex
from arraygrad.ops.kinds import core, join, module_on_use, reduction, scan, unary, view

_einsum = module_on_use("arraygrad.ops._einsum")
_padding = module_on_use("arraygrad.ops._padding")


def _finite_max(xp, x, axis):
    """The maximum along `axis`, kept, with zero in the place of an infinity (which would give inf - inf)."""
    if _none_to_reduce(x, axis):
        return xp.zeros_like(xp.sum(x, axis=axis, keepdims=True), dtype=x.dtype)
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.where(xp.isfinite(top), top, xp.zeros_like(top))


def _none_to_reduce(x, axis):
    """Whether an axis to reduce has no elements: the sum is then 0, where NumPy knows no maximum."""
    return 0 in x.shape and 0 in [x.shape[i] for i in normalize_axes(axis, x.ndim) if 0 <= i < x.ndim]


def _real(xp, name, x):
    """Raises TypeError for a complex array: it has no order, and libraries would make one up."""
    if xp.isdtype(x.dtype, "complex floating"):
        raise TypeError(f"{name}: expected an array of a real dtype, found {x.dtype}; take its real part or its size")


def _logsumexp(xp, x, axis, keepdims):
    _real(xp, "logsumexp", x)
    if _none_to_reduce(x, axis):
        return xp.full_like(xp.sum(x, axis=axis, keepdims=keepdims), -math.inf, dtype=x.dtype)
    top = _finite_max(xp, x, axis)
    result = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)) + top
    return result if keepdims else xp.reshape(result, xp.max(x, axis=axis).shape)


def _logsumexp_rule(xp, g, x, ans, axis, keepdims):
    ans = expand_reduced(xp, ans, x.shape, axis, keepdims)
    # Where the sum is log(0) every weight is zero: exp(-inf - -inf) would be nan.
    nothing = ans == -math.inf
    weights = xp.exp(x - xp.where(nothing, 0.0, ans))
    # Large numbers leave no digits for the logarithm in ans: weights that should sum to one are scaled to do so.
    weights = weights / xp.where(nothing, 1.0, xp.sum(weights, axis=axis, keepdims=True))
    infinite = ans == math.inf
    if bool(xp.any(infinite)):  # inf - inf would be nan: the infinite elements share
        weights = xp.where(infinite, 0.0, weights)
        hit = xp.astype(infinite & (x == ans), weights.dtype)
        weights = weights + hit / xp.where(infinite, xp.sum(hit, axis=axis, keepdims=True), 1.0)
    return expand_reduced(xp, g, x.shape, axis, keepdims) * weights


def _softmax(xp, x, axis):
    _real(xp, "softmax", x)
    e = xp.exp(x - _finite_max(xp, x, axis))
    return e / xp.sum(e, axis=axis, keepdims=True)


def _log_softmax(xp, x, axis):
    _real(xp, "log_softmax", x)
    shifted = x - _finite_max(xp, x, axis)
    if _none_to_reduce(x, axis):
        return shifted
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def _relu(xp, x):
    _real(xp, "relu", x)
    return xp.where(x > 0, x, xp.where(x == x, xp.zeros_like(x), x))


def _sigmoid(xp, x):
    _real(xp, "sigmoid", x)
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, xp.ones_like(e), e) / (1.0 + e)


def _sigmoid_rule(xp, g, x, ans):
    # 1 - ans has no digits left where ans is near one; there it is ans * exp(-x).
    high = x > 0
    rest = xp.where(high, ans * xp.exp(xp.where(high, -x, 0.0)), 1.0 - ans)
    return g * (ans * rest)


reduction(
    "logsumexp",
    x=_logsumexp_rule,
    forward=_logsumexp,
    folds="logaddexp",
    doc="log(sum(exp(x))) over `axis` (None, an int or a tuple), real floating-point dtypes, without overflow: the "
    "maximum is taken out first; -inf over no elements. The gradient is softmax(x); it is zero where every element is "
    "-inf, and shared evenly by elements that are inf.",
)
scan(
    "softmax",
    "x, /, *, axis=-1",
    core="(n*)->(*n)",
    forward=_softmax,
    x=lambda xp, g, ans, axis: ans * (g - xp.sum(g * ans, axis=axis, keepdims=True)),
    doc="exp(x) / sum(exp(x)) over `axis` (None, an int or a tuple), real floating-point dtypes, without overflow.",
)
scan(
    "log_softmax",
    "x, /, *, axis=-1",
    core="(n*)->(*n)",
    forward=_log_softmax,
    x=lambda xp, g, ans, axis: g - xp.exp(ans) * xp.sum(g, axis=axis, keepdims=True),
    doc="log(softmax(x)) over `axis` (None, an int or a tuple), real floating-point dtypes; finite where softmax "
    "underflows to zero.",
)
unary(
    "sigmoid",
    _sigmoid_rule,
    forward=_sigmoid,
    doc="The logistic function 1 / (1 + exp(-x)), real floating-point dtypes, without overflow on either side. The "
    "derivative has all its digits on both sides, too.",
)
unary(
    "relu",
    lambda xp, g, x: xp.where(x <= 0, xp.zeros_like(g), g),
    forward=_relu,
    doc="max(x, 0), real dtypes; nan stays nan. The gradient at zero is zero, at nan it is passed on, as in PyTorch.",
)

_EINSUM = (
    "The sum of products that `subscripts` name, as numpy.einsum: one term of labels for each operand, '...' for axes "
    "that broadcast, repeated labels for diagonals, '->' and the labels of the result (without it: those that appear "
    "once, in alphabetical order). A transpose or a diagonal of one operand is a view of it where the library makes "
    "one, as NumPy does. Any number of operands, numeric dtypes. `optimize` is NumPy's: True finds an order "
    "of pairwise products for two operands or more. Each operand's gradient is the einsum of the result's with the "
    "other operands. Raises ValueError for subscripts that do not fit the operands."
)
core(
    "einsum",
    "subscripts, /, *operands, optimize=True",
    core="[...]->?",
    derivative="multilinear",
    forward=lambda xp, subscripts, operands, optimize: _einsum.forward(xp, subscripts, operands, optimize),
    operands=lambda xp, g, subscripts, operands, optimize: _einsum.rule(xp, g, subscripts, operands, optimize),
    sequence="operands",
    may_view=True,  # of a transpose or a diagonal of one operand: see note_views
    numpy=("einsum",),
    doc=_EINSUM,
)
core(
    "_einsum",
    "subscripts, /, *operands, optimize=True",
    core="[...]->?",
    derivative="multilinear",
    forward=lambda xp, subscripts, operands, optimize: _einsum.forward(xp, subscripts, operands, optimize),
    operands=lambda xp, g, subscripts, operands, optimize: _einsum.rule(xp, g, subscripts, operands, optimize),
    sequence="operands",
    node="Einsum",
    doc="`einsum`, for rules: some libraries' own function of that name has other parameters.",
)
view(
    "_einsum_view",
    "x, subscripts, /",
    core="(n*)->?",
    forward=lambda xp, x, subscripts: _einsum.forward(xp, subscripts, (x,), False),
    x=lambda xp, g, x_shape, subscripts: _einsum.view_rule(xp, g, x_shape, subscripts),
    may_view=True,
    node="Einsum",
    doc="`einsum` of one operand as the view that it may be: how a write into the one reaches the other.",
)


def _norm_kind(x_ndim, axis, ord):
    """("vector", axis for vector_norm, ord) or ("matrix", (row axis, column axis), ord) for numpy.linalg.norm."""
    if axis is None and ord is None:
        return "vector", None, 2
    axes = tuple(range(x_ndim)) if axis is None else normalize_axes(axis, x_ndim)
    if any(a < 0 for a in axes):  # no axis at all: the library raises its error for what was given
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) == 1:
        return "vector", axes[0], 2 if ord is None else ord
    if len(axes) != 2:
        raise ValueError(
            f"norm: expected one axis or two with ord={ord!r}, found {len(axes)}: give axis=, or ord=None without "
            "axis= for the 2-norm of all elements"
        )
    if axes[0] == axes[1]:
        raise ValueError(f"norm: the two axes must differ, got axis={axis!r}")
    return "matrix", axes, "fro" if ord is None or ord == "f" else ord


def _norm(xp, x, ord, axis, keepdims):
    own = getattr(xp.linalg, "norm", None)  # NumPy's sums the squares of all complex numbers in an order of its own
    if own is not None and axis is None and is_complex(xp, x.dtype):
        return own(x, ord, axis, keepdims)
    kind, axes, ord = _norm_kind(x.ndim, axis, ord)
    if kind == "vector":
        return xp.linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    moved = x if axes == (x.ndim - 2, x.ndim - 1) else xp.moveaxis(x, axes, (-2, -1))
    result = xp.linalg.matrix_norm(moved, ord=ord)
    return xp.reshape(result, keepdims_shape(x.shape, axes)) if keepdims else result


def _norm_rule(xp, g, x, ans, ord, axis, keepdims):
    kind, axes, ord = _norm_kind(x.ndim, axis, ord)
    if kind == "vector":
        return _norms.vector_norm(xp, g, x, ans, axes, keepdims, ord)
    if keepdims:
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        g, ans = xp.reshape(g, shape), xp.reshape(ans, shape)
    if axes == (x.ndim - 2, x.ndim - 1):
        return _norms.matrix_norm(xp, g, x, ans, False, ord)
    moved = _norms.matrix_norm(xp, g, xp.moveaxis(x, axes, (-2, -1)), ans, False, ord)
    return xp.moveaxis(moved, (-2, -1), axes)


reduction(
    "norm",
    "x, ord=None, axis=None, keepdims=False",
    forward=_norm,
    x=_norm_rule,
    holomorphic=False,
    numpy=("linalg.norm",),
    doc="The vector or matrix norm, as numpy.linalg.norm, floating-point dtypes: of all elements (no ord, no axis), of "
    "vectors along one axis, of matrices along two. Derivatives as those of `linalg.vector_norm` and "
    "`linalg.matrix_norm`; zero where a 2-norm is zero. Raises ValueError for other numbers of axes.",
)
join(
    "pad",
    "x, /, pad_width, mode='constant', *, constant_values=None",
    core="(n*)->(*padded(n, pad_width))",
    forward=lambda xp, *args: _padding.forward(xp, *args),
    x=lambda xp, g, x_shape, pad_width, mode: _padding.gradient_of_x(xp, g, x_shape, pad_width, mode),
    constant_values=lambda xp, g, x_shape, pad_width: _padding.gradient_of_values(xp, g, x_shape, pad_width),
    makes_arrays=True,
    numpy=("pad",),
    doc="x with elements added at the ends of its axes, as numpy.pad: `pad_width` is an int, (before, after), a list "
    "of such pairs for each axis, or a dict of them by axis; `mode` is 'constant', 'edge', 'reflect', 'symmetric' or "
    "'wrap', all numeric dtypes. `constant_values` (None: zero) may be an array that broadcasts to (x.ndim, 2), and "
    "has a gradient. The gradient of elements that were repeated is summed. Raises ValueError for any other mode.",
)
