"""How other libraries differ from arraygrad, and why: every known case, by library, operation and point.

The tests hold the table to the truth: a difference that is not here fails, and so does one that no longer exists. A
point is the label of a sample (tests/ops/samples) or of a point of `points.py`; None stands for all of an operation's.
`docs/derivatives.md` shows the table. Imports nothing.
"""

from dataclasses import dataclass
from math import inf as INF
from math import nan as NAN


@dataclass(frozen=True)
class Difference:
    """Both sides' gradients of the sum of the results, one for each array (None: too many to tell), and the reason."""

    ours: tuple | None
    theirs: tuple | None
    why: str


# (library, operation, point, order) -> Difference
DOCUMENTED: dict[tuple[str, str, str | None, int], Difference] = {}

# (library, operation, point) where a difference that is stated for the whole operation shows nothing
AGREEING: set[tuple[str, str, str]] = set()


def _differ(library, name, why, points, order=1):
    """Differences of one operation for one reason: point -> (ours, theirs), or None where the numbers say nothing."""
    for point, gradients in points.items():
        ours, theirs = gradients or (None, None)
        DOCUMENTED[library, name, point, order] = Difference(ours, theirs, why)


# -- PyTorch -----------------------------------------------------------------------------------------------------------

_differ("torch", "pow", "theirs drops the mixed derivative 1 / x1 at a zero exponent", {"exponent zero": None}, order=2)
_differ(
    "torch",
    "logaddexp",
    "inf - inf; ours shares between equal infinities",
    {"infinities": ([[0.5, 0, 1, 0.5, 0], [0.5, 1, 0, 0.5, 1]], [[NAN, 0, 1, NAN, 0], [NAN, 1, 0, NAN, 1]])},
)
_differ(
    "torch",
    "acosh",
    "theirs ignores the sign of the imaginary zero",
    {"branch cut": ([[1.154700538379j, -1.154700538379j]], [[1.154700538379j, 1.154700538379j]])},
)
_CUTS = ("both sides of the cuts", "branch cut")
for _name in ("asin", "acos", "asinh"):
    _differ("torch", _name, "theirs ignores the sign of a zero on a branch cut", dict.fromkeys(_CUTS))
for _name in ("asin", "acos", "atan", "asinh"):
    _differ("torch", _name, "the square of x overflows in theirs", {"far out": None})
_differ("torch", "atan2", "the square of the radius underflows in theirs", {"tiny": ([[0], [-1e200]], [[0], [0]])})
_differ(
    "torch",
    "hypot",
    "0 / 0; ours is the subgradient of least norm",
    {"origin": ([[0, 0], [0, -1]], [[NAN, 0], [NAN, -1]])},
)
_differ("torch", "abs", "the derivative of nan is nan in ours", {"nan": ([[NAN]], [[0]])})
_differ("torch", "sign", "0 / 0; ours is zero at zero", {"complex at zero": ([[0j, 0j]], [[NAN, 0j]])})
_differ("torch", "copysign", "inf / inf; ours is the sign", {"infinities": ([[-1, 1], [0, 0]], [[NAN, NAN], [0, 0]])})
_differ(
    "torch",
    "clip",
    "theirs loses the gradient where both bounds are equal; ours gives it to the bound that is met first",
    {"equal bounds": ([[0, 0], [1, 0], [0, 1]], [[0, 0], [0, 0], [0, 1]])},
)
_differ("torch", "clip", "nan comes from x and gets the gradient in ours", {"nan": ([[1]], [[0]])})
_differ(
    "torch",
    "cumulative_prod",
    "ours divides nothing, so inf * 0 shows where the formula has it",
    {"infinity and zero": ([[1, INF, NAN]], [[NAN, INF, 0]])},
)
_differ("torch", "linspace", "theirs detaches start and stop", {None: None})
_differ(
    "torch",
    "det",
    "theirs divides by the determinant: zero, nan or another value at a singular matrix; ours is the cofactors",
    {
        "singular": None,
        "singular 3 x 3": None,
        "one singular in a stack": None,
        "complex singular": None,
        "known": ([[[4, -2], [-2, 1]]], [[[0, 0], [0, 0]]]),
    },
)
_differ(
    "torch",
    "det",
    "theirs divides by the determinant: zero, nan or another value at a singular matrix; ours is the cofactors",
    dict.fromkeys(["zero matrix", "complex singular"]),
    order=2,
)
_differ(
    "torch",
    "slogdet",
    "both are infinite along the cofactors; the sign is that of a zero",
    {"singular": ([[[INF, -INF], [-INF, INF]]], [[[-INF, INF], [INF, -INF]]])},
)
_differ(
    "torch",
    "slogdet",
    "all cofactors are zero; theirs divides by them",
    {"zeros": ([[[0, 0], [0, 0]]], [[[NAN, NAN], [NAN, INF]]])},
)
_differ(
    "torch",
    "logsumexp",
    "inf - inf; ours is zero where the sum is log(0), and shared by infinite elements",
    {
        "all -inf": ([[0, 0, 0]], [[NAN, NAN, NAN]]),
        "inf": ([[1, 0, 0]], [[NAN, 0, 0]]),
        "two infinities in a row": ([[[0.5, 0.5], [0.5, 0.5]]], [[[NAN, NAN], [0.5, 0.5]]]),
        "+inf": ([[1, 0]], [[NAN, 0]]),
        "two infinities": ([[0.5, 0.5]], [[NAN, NAN]]),
    },
)
_differ(
    "torch",
    "logsumexp",
    "the result has lost the digits of log(2), which their weights exp(x - result) need",
    {"large": ([[0.5, 0.5]], [[1, 1]])},
)
_differ(
    "torch",
    "log_softmax",
    "nan of the infinite element reaches the others in theirs",
    {"+inf": ([[NAN, 1]], [[NAN, NAN]])},
)
_differ(
    "torch",
    "xlogy",
    "0 * inf at x = 0; ours is zero there",
    {"zeros": ([[0, 0.69314718056], [0, 0]], [[0, 0.69314718056], [NAN, 0]])},
)
_differ(
    "torch",
    "xlog1py",
    "0 * inf at x = 0; ours is zero there",
    {"zeros": ([[0, 0.69314718056], [0, 0]], [[0, 0.69314718056], [NAN, 0]])},
)
for _name in "j0 j1 y0 y1 k0 k1 k0e k1e".split():
    for _order in (1, 2):
        _points = dict.fromkeys(("real", "0-d", "further", "variant: 0-d"))
        _differ("torch", _name, "theirs has no derivative: the result is detached", _points, _order)
_differ("torch", "sinc", "0 / 0 at zero in their second derivative", {"further": None}, order=2)
_differ(
    "torch",
    "_setitem",
    "of values written to one place the last counts; theirs gives each of them the gradient",
    {
        "repeated integers": None,
        "integers of two axes": None,
        "pairs of integers": None,
        "broadcast integers": None,
        "integers and int": None,
        "integers and slice": None,
        "slice and integers": None,
        "the last counts": ([[1, 0], [0, 1]], [[1, 0], [1, 1]]),
    },
)

# -- JAX ---------------------------------------------------------------------------------------------------------------

_differ("jax", "divide", "x2 ** 2 underflows in theirs", {"tiny": ([[1e200], [-1e200]], [[1e200], [-INF]])})
_differ(
    "jax",
    "pow",
    "theirs takes 0 * inf at (0, 0)",
    {
        "at zero": ([[0, 0, 1, 0], [0, 0, 0, 0.69314718056]], [[NAN, 0, 1, 0], [0, 0, 0, 0.69314718056]]),
        "complex at zero": ([[0j, 0j], [0j, 0j]], [[NAN, 0j], [0j, 0j]]),
    },
)
_differ(
    "jax",
    "pow",
    "inf * log(0): ours is -inf, the limit",
    {"zero base negative exponent": ([[-INF, -INF], [-INF, -INF]], [[-INF, -INF], [NAN, NAN]])},
)
_differ(
    "jax",
    "pow",
    "theirs takes 0 * inf, and subnormal numbers for 0",
    {
        "exponent zero, where 1 / x1 overflows": (
            [[0, 0, 0], [-713.801378828, NAN, INF]],
            [[NAN, NAN, 0], [0, 0, INF]],
        ),
    },
)
_differ(
    "jax",
    "sqrt",
    "theirs loses the sign of the imaginary zero",
    {"branch cut": ([[0.353553390593j, -0.353553390593j]], [[0.353553390593j, 0.353553390593j]])},
)
_differ(
    "jax",
    "logaddexp",
    "inf - inf; ours shares between equal infinities, and the larger infinity gets all",
    {
        "infinities": (
            [[0.5, 0, 1, 0.5, 0], [0.5, 1, 0, 0.5, 1]],
            [[NAN, 0, 1, 1, 2.71828182846], [NAN, 1, 2.71828182846, 1, 1]],
        )
    },
)
for _name in ("asin", "acos", "asinh"):
    _differ("jax", _name, "theirs ignores the sign of a zero on a branch cut", dict.fromkeys(_CUTS))
_differ("jax", "acosh", "theirs ignores the sign of a zero on a branch cut", {_CUTS[0]: None})
_differ(
    "jax",
    "logaddexp",
    "the result has lost the digits of log(2), which their weights exp(x - result) need",
    {"large": ([[0.5, 1], [0.5, 0]], [[1, 1], [1, 0]])},
)
_differ("jax", "acosh", "theirs is on the wrong branch in the left half plane", {"complex": None})
_differ("jax", "atan2", "0 / 0; ours is zero", {"origin": ([[0, 0.5], [0, 0]], [[NAN, 0.5], [NAN, 0]])})
_differ("jax", "atan2", "the square of the radius underflows in theirs", {"tiny": ([[0], [-1e200]], [[NAN], [-INF]])})
_differ(
    "jax",
    "hypot",
    "theirs is another subgradient; ours is the one of least norm",
    {"origin": ([[0, 0], [0, -1]], [[0.5, 0], [0.5, -1]])},
)
_differ(
    "jax",
    "hypot",
    "theirs is computed through squares and quotients, which overflow, underflow or meet inf / inf",
    {
        "infinities": ([[NAN, 0, NAN], [0, NAN, NAN]], [[NAN, NAN, NAN], [NAN, NAN, NAN]]),
        "huge": ([[0.707106781187], [0.707106781187]], [[1.06066017178], [1.06066017178]]),
        "tiny": ([[1], [0]], [[NAN], [NAN]]),
    },
)
_differ("jax", "abs", "theirs takes the slope on the right; ours is zero", {"at zero": ([[0, -1]], [[1, -1]])})
_differ("jax", "abs", "the derivative of nan is nan in ours", {"nan": ([[NAN]], [[-1]])})
_differ("jax", "sign", "theirs is zero for complex x too", {"complex": None})
_differ("jax", "sign", "theirs is zero for complex x too", {"complex": None}, order=2)
_differ(
    "jax",
    "copysign",
    "theirs takes the sign of x2 alone; ours is zero at zero",
    {"at zero": ([[0, -1, -1], [0, 0, 0]], [[-1, -1, -1], [0, 0, 0]])},
)
_differ(
    "jax",
    "maximum",
    "theirs drops the gradient where an operand is nan; PyTorch's and ours passes it",
    {"nan": ([[1, 1], [1, 1]], [[0, 0], [0, 0]])},
)
_differ(
    "jax",
    "minimum",
    "theirs drops the gradient where an operand is nan; PyTorch's and ours passes it",
    {"nan": ([[1, 1], [1, 1]], [[0, 0], [0, 0]])},
)
_differ(
    "jax",
    "clip",
    "theirs shares between x and an equal bound; in ours, as in PyTorch, the value belongs to x",
    {
        "at the bounds": ([[1, 1]], [[0.5, 0.5]]),
        "equal bounds": ([[0, 0], [1, 0], [0, 1]], [[0, 0], [0.5, 0], [0.5, 1]]),
        "at an array's bounds": ([[1, 1], [0, 0], [0, 0]], [[0.5, 0.5], [0.5, 0], [0, 0.5]]),
    },
)
_differ("jax", "clip", "nan comes from x and gets the gradient in ours", {"nan": ([[1]], [[0]])})
_differ("jax", "relu", "nan comes from x and gets the gradient in ours", {"nan": ([[1]], [[0]])})
_differ(
    "jax", "var", "inf - inf of one element reaches the others in theirs", {"infinity": ([[NAN, -INF]], [[NAN, NAN]])}
)
_differ(
    "jax",
    "std",
    "0 / 0 of a constant; ours is zero",
    {
        "constant": ([[0, 0, 0]], [[NAN, NAN, NAN]]),
        "one constant row": ([[[0, 0], [-0.5, 0.5]]], [[[NAN, NAN], [-0.5, 0.5]]]),
        "complex constant": ([[0j, 0j]], [[NAN, NAN]]),
    },
)
_differ(
    "jax",
    "sort",
    "theirs reverses the ascending order, ours keeps the order of equal elements",
    {"descending ties": ([[1, 3, 2]], [[2, 3, 1]])},
)
for _name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
    _differ("jax", _name, "theirs has no derivative: zeros", {None: None})
    AGREEING.add(("jax", _name, "variant: empty"))
_differ("jax", "arange", "theirs takes start and step as constants", {None: None})
_differ(
    "jax",
    "slogdet",
    "all cofactors are zero; theirs divides by them",
    {"zeros": ([[[0, 0], [0, 0]]], [[[NAN, NAN], [NAN, NAN]]])},
)
_differ(
    "jax",
    "cholesky",
    "theirs symmetrizes x first; ours, as NumPy, reads the lower triangle",
    {
        "not symmetric": (
            [[[0.255833636801, 0.195439507585], [0.195439507585, 0.316227766017]]],
            [[[NAN, NAN], [NAN, NAN]]],
        )
    },
)
_differ(
    "jax",
    "matrix_norm",
    "theirs divides 0 / 0, or takes slope 1 for abs at zero; ours is zero for elements that are zero",
    {
        "zero matrix": ([[[0, 0], [0, 0]]], [[[NAN, NAN], [NAN, NAN]]]),
        "zeros, ord=fro": ([[[0, 0], [0, 0]]], [[[NAN, NAN], [NAN, NAN]]]),
        "zeros, ord=1": ([[[0, 0], [0, 0]]], [[[0.25, 0.25], [0.25, 0.25]]]),
        "identity, ord=1": ([[[0.5, 0], [0, 0.5]]], [[[0.5, 0.5], [0.5, 0.5]]]),
        "zeros, ord=-1": ([[[0, 0], [0, 0]]], [[[0.5, 0.5], [0.5, 0.5]]]),
        "identity, ord=-1": ([[[0.5, 0], [0, 0.5]]], [[[0.5, 0.5], [0.5, 0.5]]]),
        "zeros, ord=inf": ([[[0, 0], [0, 0]]], [[[0.25, 0.25], [0.25, 0.25]]]),
        "identity, ord=inf": ([[[0.5, 0], [0, 0.5]]], [[[0.5, 0.5], [0.5, 0.5]]]),
        "zeros, ord=-inf": ([[[0, 0], [0, 0]]], [[[0.5, 0.5], [0.5, 0.5]]]),
        "identity, ord=-inf": ([[[0.5, 0], [0, 0.5]]], [[[0.5, 0.5], [0.5, 0.5]]]),
    },
)
_differ(
    "jax",
    "matrix_norm",
    "theirs shares the tie of the values twice",
    {"zeros, ord=2": ([[[0.5, 0], [0, 0.5]]], [[[0.25, 0], [0, 0.25]]])},
)
_differ(
    "jax",
    "vector_norm",
    "theirs divides 0 / 0, or takes slope 1 for abs at zero; ours is zero for elements that are zero",
    {
        "zero vector": ([[0, 0]], [[NAN, NAN]]),
        "a zero, ord=1": ([[0, -1]], [[1, -1]]),
        "a zero, ord=0.5": ([[0, -1]], [[INF, -1]]),
        "a zero, ord=-1": ([[0, 0]], [[NAN, 0]]),
        "zero vector, ord=3": ([[0, 0]], [[NAN, NAN]]),
        "zeros, ord=0.5": ([[0, 0]], [[NAN, NAN]]),
        "one zero, ord=0.5": ([[0, -1]], [[INF, -1]]),
        "zeros, ord=1": ([[0, 0]], [[1, 1]]),
        "one zero, ord=1": ([[0, -1]], [[1, -1]]),
        "zeros, ord=1.5": ([[0, 0]], [[NAN, NAN]]),
        "zeros, ord=2": ([[0, 0]], [[NAN, NAN]]),
        "zeros, ord=3": ([[0, 0]], [[NAN, NAN]]),
        "zeros, ord=-1": ([[0, 0]], [[NAN, NAN]]),
        "one zero, ord=-1": ([[0, 0]], [[NAN, 0]]),
        "zeros, ord=inf": ([[0, 0]], [[0.25, 0.25]]),
        "zeros, ord=-inf": ([[0, 0]], [[0.5, 0.5]]),
        "one zero, ord=-inf": ([[0, 0]], [[1, 0]]),
        "complex zeros, ord=2": ([[0j, 0j]], [[NAN, NAN]]),
        "complex zeros, ord=3": ([[0j, 0j]], [[NAN, NAN]]),
    },
)
_differ(
    "jax",
    "logsumexp",
    "inf - inf; ours is zero where the sum is log(0), and shared by infinite elements",
    {
        "all -inf": ([[0, 0, 0]], [[NAN, NAN, NAN]]),
        "inf": ([[1, 0, 0]], [[NAN, 0, 0]]),
        "two infinities in a row": ([[[0.5, 0.5], [0.5, 0.5]]], [[[NAN, NAN], [0.5, 0.5]]]),
        "+inf": ([[1, 0]], [[NAN, 0]]),
        "two infinities": ([[0.5, 0.5]], [[NAN, NAN]]),
    },
)
_differ(
    "jax",
    "log_softmax",
    "nan of the infinite element reaches the others in theirs",
    {"+inf": ([[NAN, 1]], [[NAN, NAN]])},
)
_differ("jax", "norm", "0 / 0; ours is zero", {"zero": ([[[0, 0], [0, 0]]], [[[NAN, NAN], [NAN, NAN]]])})
_differ("jax", "beta", "theirs has nine digits where a is much larger than b", {"far": None})
_differ("jax", "beta", "theirs has nine digits where a is much larger than b", {"far": None}, order=2)
_differ("jax", "betaln", "theirs has nine digits where a is much larger than b", {"far": None}, order=2)
_differ("jax", "log_ndtr", "theirs has seven digits far out", {"further": None}, order=2)
_differ("jax", "i0", "theirs takes slope 1 for abs at zero; i0 is even, its slope is zero", {"further": None})
_differ("jax", "i0", "theirs takes slope 1 for abs at zero; i0 is even, its slope is zero", {"further": None}, order=2)
_differ("jax", "i1", "theirs takes slope 1 for abs at zero", {"further": None}, order=2)
_differ(
    "jax",
    "xlogy",
    "0 * log(0) is zero with its gradient in ours, as in PyTorch",
    {"zeros": ([[0, 0.69314718056], [0, 0]], [[-INF, 0.69314718056], [NAN, 0]])},
)
_differ(
    "jax",
    "xlog1py",
    "0 * log(0) is zero with its gradient in ours, as in PyTorch",
    {"zeros": ([[0, 0.69314718056], [0, 0]], [[-INF, 0.69314718056], [NAN, 0]])},
)
_differ(
    "jax",
    "rel_entr",
    "at x = 0 ours is the slope on the right, -inf",
    {"zeros": ([[0, -INF], [0, 0]], [[0, 0], [0, 0]])},
)
_differ(
    "jax",
    "kl_div",
    "at x = 0 ours is the slope on the right, -inf",
    {"zeros": ([[0, -INF], [1, 1]], [[-1, -1], [1, 1]])},
)
_differ("jax", "expn", "theirs is nan at some points", dict.fromkeys(["order 0: real", "order 0: real"]))

# -- both --------------------------------------------------------------------------------------------------------------

for _name in ("max", "min"):
    _shared = ([[0, 1, 0]], [[NAN, NAN, NAN]])
    _differ("torch", _name, "ours goes to the elements that are nan, as that of torch.max", {"nan": _shared})
    _differ("jax", _name, "ours goes to the elements that are nan", {"nan": _shared})
for _library, _name, _point in (
    (library, name, point)
    for library in ("torch", "jax")
    for name, points in (
        ("cholesky", ("stored below", "stored above", "one triangle", "not symmetric")),
        ("eigh", ("stored below", "vectors of the identity")),
        ("eigvalsh", ("stored below",)),
    )
    for point in points
):
    for _order in (1, 2) if _point.startswith("stored") else (1,):
        _why = "theirs is Hermitian; ours is that of the triangle that is read, as differences have it"
        _differ(_library, _name, _why, {_point: None}, order=_order)

# (library, operation, point) -> why the values themselves differ
VALUES = {
    **{
        ("jax", name, point): "theirs takes the mean of both triangles"
        for name, point in (
            ("cholesky", "stored below"),
            ("cholesky", "stored above"),
            ("cholesky", "one triangle"),
            ("eigh", "stored below"),
            ("eigvalsh", "stored below"),
        )
    },
    **{
        ("jax", name, "both sides of the cuts"): "theirs ignores the sign of a zero on a branch cut"
        for name in ("asin", "acos", "asinh", "acosh")
    },
    ("torch", "pow", "complex at zero"): "theirs takes 0 ** 0 as exp(0 * log(0))",
    ("jax", "beta", "far"): "theirs has eight digits where x1 is much larger than x2",
}

CAST = "its engine does not take the real part of a complex gradient where the forward cast a real array"
NO_DERIVATIVE = "has no derivative"
NOT_THERE = "takes no such argument"

# library -> (operation, point or None) -> (order from which on it cannot be asked, 0 for the value; why)
LACKING = {
    "torch": {
        ("floor_divide", None): (1, NO_DERIVATIVE),
        ("sum", "dtype"): (1, CAST),
        ("prod", "dtype"): (1, CAST),
        ("cumulative_prod", "dtype"): (1, CAST),
        ("trace", "dtype"): (1, CAST),
        ("where", "complex and real"): (1, CAST),
        ("std", "correction=1.5"): (0, NOT_THERE),
        **{
            ("std", f"variant: {{'correction': {correction}}}, {arrays}"): (0, NOT_THERE)
            for correction in (0.5, 1.5)
            for arrays in ("axes", "complex")
        },
        **{
            (name, "variant: no rows"): (0, "refuses transforms of no rows")
            for name in "fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn".split()
        },
        ("where", "variant: complex, broadcast"): (1, CAST),
        ("unique_values", "variant: complex"): (0, NOT_THERE),
        ("unique_counts", "variant: complex"): (0, NOT_THERE),
        ("unique_inverse", "variant: complex"): (0, NOT_THERE),
        ("softmax", "variant: axis=None, (2, 3)"): (0, NOT_THERE),
        ("softmax", "variant: axis=(0, -1), (2, 3, 2)"): (0, NOT_THERE),
        ("log_softmax", "variant: axis=None, (2, 3)"): (0, NOT_THERE),
        ("log_softmax", "variant: axis=(0, -1), (2, 3, 2)"): (0, NOT_THERE),
        ("roll", "1, axis=(0, 1)"): (0, NOT_THERE),
        ("unique_values", None): (1, NO_DERIVATIVE),
        ("unique_counts", None): (1, NO_DERIVATIVE),
        ("unique_inverse", None): (1, NO_DERIVATIVE),
        ("unique_all", None): (0, "not there"),
        ("full", None): (1, NOT_THERE),
        ("full_like", None): (1, NOT_THERE),
        ("arange", None): (1, NOT_THERE),
        ("pinv", "differentiable rtol"): (1, NO_DERIVATIVE),
        ("qr", "complete tall, first columns"): (1, NO_DERIVATIVE),
        ("softmax", "axis=(0, 2)"): (0, NOT_THERE),
        ("softmax", "axis=None"): (0, NOT_THERE),
        ("log_softmax", "axis=(0, 2)"): (0, NOT_THERE),
        ("log_softmax", "axis=None"): (0, NOT_THERE),
        ("erf", "complex"): (0, "real numbers only"),
        ("erfc", "complex"): (0, "real numbers only"),
        ("loggamma", "complex"): (0, "real numbers only"),
        ("_getitem", "backwards"): (0, NOT_THERE),
        ("_setitem", "backwards"): (0, NOT_THERE),
    },
    "jax": {
        ("nextafter", None): (1, NO_DERIVATIVE),
        ("permute_dims", "(-1, 0)"): (0, NOT_THERE),
        ("permute_dims", "(1, -1, 0)"): (0, NOT_THERE),
        ("det", "0 x 0"): (1, "its rule indexes an empty axis"),
        ("det", "variant: 0 x 0"): (1, "its rule indexes an empty axis"),
        ("svd", "S alone"): (1, "full_matrices=True has no derivative"),
        ("svd", "U alone"): (1, "full_matrices=True has no derivative"),
        ("svd", "Vh alone"): (1, "full_matrices=True has no derivative"),
        ("svd", "full, first vectors of tall"): (1, "full_matrices=True has no derivative"),
        ("svd", "full, first vectors of wide"): (1, "full_matrices=True has no derivative"),
        ("svd", "variant: no matrices"): (1, "full_matrices=True has no derivative"),
        ("eig", None): (1, NO_DERIVATIVE),
        ("eigvals", None): (2, "has no second derivative"),
        ("loggamma", "complex"): (1, NO_DERIVATIVE),
        ("erf", "complex"): (0, "real numbers only"),
        ("erfc", "complex"): (0, "real numbers only"),
        ("exp1", "complex"): (0, "real numbers only"),
        ("expi", "complex"): (0, "real numbers only"),
        ("exp1", None): (2, "has no second derivative"),
        ("expn", None): (2, "has no second derivative"),
        ("pad", "constant, complex"): (0, NOT_THERE),
    },
}

# library -> function of the table that it does not have -> why
NOT_SHARED = {
    "torch": dict.fromkeys(
        "gamma rgamma beta betaln gammaincinv gammainccinv betainc betaincc betaincinv gammasgn erfcinv erfi dawsn jv "
        "yn yv iv ive kn kv kve rel_entr kl_div exp1 expi expn".split(),
        "has no such function",
    )
    | {"pad": "pads by other arguments, and repeats only the last axes of some ranks"},
    "jax": dict.fromkeys(
        "rgamma gammaincinv gammainccinv betaincc betaincinv erfcinv erfi j0 j1 jv y0 y1 yn yv iv ive k0 k1 k0e k1e kn "
        "kv kve".split(),
        "has no such function",
    ),
}
