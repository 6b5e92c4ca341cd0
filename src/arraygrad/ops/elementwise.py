"""Elementwise functions.

May import: ops.kinds, ops._elementwise (repairs of forward values), ops._helpers. Rules use only the standard.
The derivatives are textbook calculus; what is chosen at ties, kinks and poles is said per function and follows
PyTorch, except where a finite subgradient exists and PyTorch gives nan.
"""

import math

from arraygrad.ops import _elementwise as repaired
from arraygrad.ops._helpers import at_kinks
from arraygrad.ops.kinds import binary, elementwise, unary, zero, zero_rule

LN2 = math.log(2.0)
LN10 = math.log(10.0)

# -- arithmetic -------------------------------------------------------------------------------------------------------

binary(
    "add",
    x1=lambda g: g,
    x2=lambda g: g,
    operator="add",
    derivative="linear",
    numpy=("add",),
    doc="Sum x1 + x2. Numeric arrays or Python scalars, broadcast against each other.",
)
binary(
    "subtract",
    x1=lambda g: g,
    x2=lambda g: -g,
    operator="sub",
    node="Sub",
    derivative="linear",
    numpy=("subtract",),
    doc="Difference x1 - x2. Numeric arrays or Python scalars, broadcast against each other.",
)
binary(
    "multiply",
    x1=lambda g, x2: g * x2,
    x2=lambda g, x1: g * x1,
    derivative="multilinear",
    operator="mul",
    node="Mul",
    numpy=("multiply",),
    doc="Product x1 * x2. Numeric arrays or Python scalars, broadcast against each other.",
)
binary(
    "divide",
    x1=lambda g, x2: g / x2,
    x2=lambda g, ans, x2: -g * ans / x2,
    operator="truediv",
    node="Div",
    numpy=("divide", "true_divide"),
    doc="Quotient x1 / x2 of floating-point arrays or Python scalars. Poles give infinite gradients.",
)
zero(
    "floor_divide",
    "x1, x2, /",
    forward=repaired.floor_divide,
    operator="floordiv",
    numpy=("floor_divide",),
    doc="Largest integer not above x1 / x2, real dtypes. Where exactly one operand is infinite the value is that of "
    "x1 / x2, as the standard asks. Piecewise constant: its gradients are zeros, at the jumps too.",
)


def _remainder_x2(xp, g, x1, x2):
    return -g * xp.floor_divide(x1, x2)


binary(
    "remainder",
    x1=lambda g: g,
    x2=_remainder_x2,
    operator="mod",
    numpy=("remainder", "mod"),
    doc="Remainder of x1 / x2 with the sign of x2, real dtypes: x1 - x2 * floor(x1 / x2). At the jumps the quotient "
    "is taken as constant.",
)


# p * x ** (p - 1) for numbers p of which that is a few products and roots: NumPy's power takes ten times as long.
# Reciprocals come first: products would overflow where the power underflows.
def _pow_minus_2(xp, g, x):
    r = 1.0 / x
    return g * (-2.0 * (r * r * r))


def _pow_minus_1(xp, g, x):
    r = 1.0 / x
    return g * -(r * r)


def _pow_5(xp, g, x):
    square = x * x
    return g * (5.0 * (square * square))


POW_NUMBERS = {
    -2: _pow_minus_2,
    -1: _pow_minus_1,
    -0.5: lambda xp, g, x: g * (-0.5 / x / xp.sqrt(x)),
    0.5: lambda xp, g, x: g * (0.5 / xp.abs(xp.sqrt(x))),  # of -0.0 as of 0.0
    1.5: lambda xp, g, x: g * (1.5 * xp.sqrt(x)),
    2.5: lambda xp, g, x: g * (2.5 * (x * xp.sqrt(x))),
    4: lambda xp, g, x: g * (4.0 * (x * x * x)),
    5: _pow_5,
}


# x2 * x1 ** (x2 - 1), and for x2 == 0, where 1 / x1 may overflow, x2 / x1 * x1 ** x2: zero whatever x1 is, and yet with
# the mixed second derivative 1 / x1. Both parts are changed before they divide, nothing is masked afterwards: the rule
# is differentiated again, where 0 * inf would return. At 0 ** 0 nothing is divided by infinity, of which CuPy's complex
# quotient makes nan. Why xp.pow and not `**`: Note [Powers] in backends/numpy/powers.pyx.
def pow_x1(xp, g, x1, x2):
    number_of = getattr(xp, "_library_number", None)
    by_number = POW_NUMBERS.get(None if number_of is None else number_of(x2))
    if by_number is not None and xp.isdtype(x1.dtype, "real floating"):
        return by_number(xp, g, x1)
    constant = x2 == 0
    flat = constant & ((x1 == 0) | (x1 != x1))
    factor = xp.where(flat, 0.0, x2) / xp.where(constant & ~flat, x1, 1.0)
    return g * (factor * xp.pow(x1, xp.where(constant, x2, x2 - 1)))


# Where x1 == 0 and x2 >= 0 the result counts as flat in x2, and log(x1) as 0. From x2 == 1 on it counts as 1: there ans
# is zero, and the mixed second derivative becomes that of the rule above.
def pow_x2(xp, g, ans, x1, x2):
    if xp.isdtype(ans.dtype, "complex floating") and not xp.isdtype(x1.dtype, "complex floating"):
        x1 = xp.astype(x1, ans.dtype)  # a negative number has a complex logarithm
    origin, power = x1 == 0, xp.real(x2)
    logs = xp.log(xp.where(origin & (power >= 0), 1.0, x1))
    return g * (ans * xp.where(origin & (power >= 1), 1.0, logs))


binary(
    "pow",
    x1=pow_x1,
    x2=pow_x2,
    operator="pow",
    numpy=("power", "pow"),
    doc="Power x1 ** x2. x1 gets x2 * x1 ** (x2 - 1), zero where x2 == 0; x2 gets ans * log(x1), zero where x1 == 0 "
    "and x2 >= 0, and nan where x1 is negative and both are real. 0 ** 0 counts as a constant in second derivatives "
    "too: the mixed one at (0, 1) is 1, in both orders.",
)
unary(
    "negative",
    lambda g: -g,
    operator="neg",
    node="Neg",
    derivative="linear",
    numpy=("negative",),
    doc="Negation -x, numeric dtypes.",
)
unary(
    "positive",
    lambda g: g,
    operator="pos",
    node="Pos",
    derivative="linear",
    numpy=("positive",),
    doc="The value +x, numeric dtypes.",
)
unary(
    "reciprocal",
    lambda g, ans: -g * ans * ans,
    numpy=("reciprocal",),
    doc="Reciprocal 1 / x, floating-point dtypes. At zero the gradient is -inf.",
)
unary("square", lambda g, x: 2 * g * x, numpy=("square",), doc="Square x * x, numeric dtypes.")
unary(
    "sqrt",
    lambda g, ans: 0.5 * g / ans,
    numpy=("sqrt",),
    doc="Principal square root, floating-point dtypes. At zero the gradient is inf.",
)

# -- exponential and logarithm ----------------------------------------------------------------------------------------

unary("exp", lambda g, ans: g * ans, numpy=("exp",), doc="Exponential e ** x, floating-point dtypes.")
unary(
    "expm1",
    lambda xp, g, x: g * xp.exp(x),  # ans + 1 has no digits left where ans is near -1
    forward=repaired.expm1,
    numpy=("expm1",),
    doc="e ** x - 1, exact near zero, floating-point dtypes. Complex infinities follow the standard's special cases.",
)
unary("log", lambda g, x: g / x, numpy=("log",), doc="Natural logarithm, floating-point dtypes.")
unary("log1p", lambda g, x: g / (1 + x), numpy=("log1p",), doc="log(1 + x), exact near zero, floating-point dtypes.")
unary("log2", lambda g, x: g / (x * LN2), numpy=("log2",), doc="Logarithm to base 2, floating-point dtypes.")
unary("log10", lambda g, x: g / (x * LN10), numpy=("log10",), doc="Logarithm to base 10, floating-point dtypes.")


# The share of x is 1 / (1 + exp(other - x)), through the exponential of a number that is not positive. The result plays
# no part: exp(x - ans) would lose the digits that ans has lost, all of them from 1e16 on. Equal infinities, whose
# difference would be nan, share evenly.
def logaddexp_share(xp, g, x, other, log_of_base=None):
    equal = (x == other) & xp.isinf(x)
    ahead = xp.where(equal, 0.0, x) - xp.where(equal, 0.0, other)
    leads = ahead > 0
    behind = xp.where(leads, -ahead, ahead)
    e = xp.exp(behind if log_of_base is None else behind * log_of_base)
    return g * (xp.where(leads, 1.0, e) / (1.0 + e))


binary(
    "logaddexp",
    x1=lambda xp, g, x1, x2: logaddexp_share(xp, g, x1, x2),
    x2=lambda xp, g, x1, x2: logaddexp_share(xp, g, x2, x1),
    numpy=("logaddexp",),
    doc="log(exp(x1) + exp(x2)) without overflow, real floating-point dtypes. Equal infinities share the gradient "
    "evenly (PyTorch and JAX give nan there).",
)

# -- trigonometric and hyperbolic -------------------------------------------------------------------------------------


# Of complex x the rules below do not take the square: it overflows to nan + nan j from 1e154 on, long before the
# derivative is zero. On a branch cut the sign of an imaginary zero says which side x is on: `x - -1` keeps it, where
# `x + 1` and `1 - x` make -0.0 + 0.0 = 0.0 of it. Both square roots are on the principal branch, as is their product.
# 1 - x * x of real x is a product, which keeps its digits near the ends of the domain. At the ends one factor is zero,
# and the gradient that arrives in a second derivative infinite: there the difference stands, with derivative -2 * x.
def _asin(xp, g, x):
    if xp.isdtype(x.dtype, "complex floating"):
        return g / xp.sqrt(-(x - 1)) / xp.sqrt(x - -1)
    end = (x == 1) | (x == -1)
    one = xp.where(end, x, 1.0)
    return g / xp.sqrt(xp.where(end, 1 - one * one, (1 - x) * (1 + x)))


def _acosh(xp, g, x):
    if xp.isdtype(x.dtype, "complex floating"):
        return g / xp.sqrt(x - 1) / xp.sqrt(x - -1)
    end = x == 1
    one = xp.where(end, x, 1.0)
    return g / (xp.sqrt(xp.where(end, one * one - 1, x - 1)) * xp.sqrt(xp.where(end, 1.0, x + 1)))


def _atanh(xp, g, x):
    end = (x == 1) | (x == -1)
    one = xp.where(end, x, 1.0)
    return g / xp.where(end, 1 - one * one, (1 - x) * (1 + x))


def _atan(xp, g, x):
    return g / (1 + 1j * x) / (1 - 1j * x) if xp.isdtype(x.dtype, "complex floating") else g / (1 + x * x)


def _asinh(xp, g, x):
    far = xp.abs(x) > 1e9  # there sqrt(x * x + 1) is x, or -x, in every precision, and the square may overflow
    near = xp.where(far, 0.0, x)
    return g / xp.where(far, xp.where(xp.signbit(xp.real(x)), -x, x), xp.sqrt(near * near - -1))


unary("sin", lambda xp, g, x: g * xp.cos(x), numpy=("sin",), doc="Sine, floating-point dtypes.")
unary("cos", lambda xp, g, x: -g * xp.sin(x), numpy=("cos",), doc="Cosine, floating-point dtypes.")
unary("tan", lambda g, ans: g * (1 + ans * ans), numpy=("tan",), doc="Tangent, floating-point dtypes.")
unary(
    "asin",
    _asin,
    numpy=("arcsin", "asin"),
    doc="Principal inverse sine, floating-point dtypes. At -1 and 1 the gradient is inf.",
)
unary(
    "acos",
    lambda xp, g, x: -_asin(xp, g, x),
    numpy=("arccos", "acos"),
    doc="Principal inverse cosine, floating-point dtypes. At -1 and 1 the gradient is -inf.",
)
unary("atan", _atan, numpy=("arctan", "atan"), doc="Inverse tangent, floating-point dtypes.")
unary("sinh", lambda xp, g, x: g * xp.cosh(x), numpy=("sinh",), doc="Hyperbolic sine, floating-point dtypes.")
unary("cosh", lambda xp, g, x: g * xp.sinh(x), numpy=("cosh",), doc="Hyperbolic cosine, floating-point dtypes.")
unary(
    "tanh",
    lambda g, ans: g * (1 - ans * ans),
    forward=repaired.tanh,
    numpy=("tanh",),
    doc="Hyperbolic tangent, floating-point dtypes. Complex infinities follow the standard's special cases.",
)
unary(
    "asinh",
    _asinh,
    numpy=("arcsinh", "asinh"),
    doc="Inverse hyperbolic sine, floating-point dtypes.",
)
unary(
    "acosh",
    # two square roots: sqrt(x * x - 1) is on the wrong branch in the left half of the complex plane
    _acosh,
    numpy=("arccosh", "acosh"),
    doc="Principal inverse hyperbolic cosine, floating-point dtypes. At 1 the gradient is inf.",
)
unary(
    "atanh",
    _atanh,
    numpy=("arctanh", "atanh"),
    doc="Inverse hyperbolic tangent, floating-point dtypes. At -1 and 1 the gradient is inf.",
)


# part / (x1 ** 2 + x2 ** 2). Both are divided by the larger one, so that no square is lost: a hypotenuse, which would
# serve too, takes a loop of NumPy's ten times the time of these quotients.
def _atan2_part(xp, g, part, x1, x2):
    a, b = xp.abs(x1), xp.abs(x2)
    larger = xp.where(a > b, a, b)
    size = xp.where((larger == 0) | (larger == math.inf), 1.0, larger)
    u, v = x1 / size, x2 / size
    squares = u * u + v * v
    found = g * (part / size / xp.where(squares == 0, 1.0, squares) / size)
    return at_kinks(xp, found, g, part, larger, square=False)


binary(
    "atan2",
    x1=lambda xp, g, x1, x2: _atan2_part(xp, g, x2, x1, x2),
    x2=lambda xp, g, x1, x2: _atan2_part(xp, -g, x1, x1, x2),  # x1 may be unsigned
    numpy=("arctan2", "atan2"),
    doc="Angle of the point (x2, x1), real floating-point dtypes. At the origin the gradients are zero.",
)


def _hypot_part(xp, g, x, ans):
    origin = ans == 0
    return at_kinks(xp, g * (xp.where(origin, 0.0, x) / xp.where(origin, 1.0, ans)), g, x, ans)


binary(
    "hypot",
    x1=lambda xp, g, x1, ans: _hypot_part(xp, g, x1, ans),
    x2=lambda xp, g, x2, ans: _hypot_part(xp, g, x2, ans),
    numpy=("hypot",),
    doc="sqrt(x1 ** 2 + x2 ** 2) without overflow, real floating-point dtypes. At the origin the gradients are zero, "
    "the minimum-norm subgradient (PyTorch: nan).",
)

# -- sign, size and parts ---------------------------------------------------------------------------------------------

unary(
    "abs",
    lambda xp, g, x: at_kinks(xp, g * xp.sign(x), g, x, x, straight=xp.isdtype(x.dtype, "real floating")),
    holomorphic=False,
    operator="abs",
    numpy=("absolute", "abs"),
    doc="Absolute value, numeric dtypes; real for complex input. The gradient is g * x / abs(x), and zero at zero.",
)


def _sign(xp, g, x, ans):
    if not xp.isdtype(ans.dtype, "complex floating"):
        return xp.zeros_like(g)
    size = xp.abs(x)
    at_zero = size == 0
    part = (g - xp.real(g * xp.conj(ans)) * ans) / xp.where(at_zero, 1.0, size)
    return xp.where(at_zero, 0.0, part)


unary(
    "sign",
    _sign,
    forward=repaired.sign,
    holomorphic=False,
    numpy=("sign",),
    doc="Sign: -1, 0, 1, or x / abs(x) for complex x. Real x gets a gradient of zeros; complex x gets the part of g "
    "orthogonal to the sign, over abs(x), and zero at zero.",
)
unary(
    "conj",
    lambda xp, g: xp.conj(g),
    holomorphic=False,
    method=True,
    may_view=True,
    derivative="linear",
    numpy=("conjugate", "conj"),
    doc="Complex conjugate; real arrays as they are.",
)
unary(
    "real",
    lambda g: g,
    holomorphic=False,
    may_view=True,
    derivative="linear",
    numpy=("real",),
    doc="Real part, a real array; real arrays as they are.",
)
unary(
    "imag",
    lambda xp, g, x_dtype: xp.astype(g, x_dtype) * 1j if xp.isdtype(x_dtype, "complex floating") else xp.zeros_like(g),
    holomorphic=False,
    may_view=True,
    derivative="linear",
    numpy=("imag",),
    doc="Imaginary part of a complex array, a real array. The gradient is i * g.",
)


def _copysign(xp, g, x1, x2):
    slope = xp.copysign(xp.ones_like(x2), x2) * xp.sign(x1)
    return at_kinks(xp, g * slope, g, x1, x1, straight=True)


binary(
    "copysign",
    x1=_copysign,
    x2=zero_rule,
    holomorphic=False,
    numpy=("copysign",),
    doc="The size of x1 with the sign of x2, real floating-point dtypes. At x1 == 0 the gradient is zero, as is that "
    "of x2 everywhere.",
)
binary(
    "nextafter",
    x1=lambda g: g,
    x2=zero_rule,
    holomorphic=False,
    numpy=("nextafter",),
    doc="The next number after x1 towards x2, real floating-point dtypes. x1 gets g, x2 zeros, as in PyTorch.",
)

# -- choice -----------------------------------------------------------------------------------------------------------

binary(
    "maximum",
    x1=lambda xp, g, x1, x2: xp.where(x1 == x2, g / 2, xp.where(x1 < x2, 0.0, g)),
    x2=lambda xp, g, x1, x2: xp.where(x1 == x2, g / 2, xp.where(x2 < x1, 0.0, g)),
    holomorphic=False,
    numpy=("maximum",),
    doc="The larger of x1 and x2, real dtypes; nan if either is. Ties share the gradient evenly.",
)
binary(
    "minimum",
    x1=lambda xp, g, x1, x2: xp.where(x1 == x2, g / 2, xp.where(x1 > x2, 0.0, g)),
    x2=lambda xp, g, x1, x2: xp.where(x1 == x2, g / 2, xp.where(x2 > x1, 0.0, g)),
    holomorphic=False,
    numpy=("minimum",),
    doc="The smaller of x1 and x2, real dtypes; nan if either is. Ties share the gradient evenly.",
)


def _between_equal_bounds(xp, x, min, max):
    """Where x is the one finite number that it is limited to: the result is constant in x."""
    return (x == min) & (x == max) & (xp.abs(x) < math.inf)


def _clip_x(xp, g, x, min, max):
    if min is not None:
        g = xp.where(x < min, 0.0, g)
    if max is not None:
        g = xp.where(x > max, 0.0, g)
    if min is not None and max is not None:
        g = xp.where(_between_equal_bounds(xp, x, min, max), 0.0, g)
    return g


def _clip_min(xp, g, x, min, max):
    chosen = x < min if max is None else (x < min) & (min <= max)
    return xp.where(chosen, g, 0.0)


def _clip_max(xp, g, x, min, max):
    chosen = x > max if min is None else (x > max) | (max < min) | _between_equal_bounds(xp, x, min, max)
    return xp.where(chosen, g, 0.0)


elementwise(
    "clip",
    "x, /, min=None, max=None",
    x=_clip_x,
    min=_clip_min,
    max=_clip_max,
    holomorphic=False,
    method=True,
    numpy=("clip",),
    doc="x limited to at least `min` and at most `max`: arrays that broadcast against x, Python scalars or None; real "
    "dtypes. A value at a bound belongs to x, at two equal bounds to max. Where min > max the result, and the "
    "gradient, are those of max.",
)

# -- rounding: piecewise constant -------------------------------------------------------------------------------------

zero("ceil", "x, /", numpy=("ceil",), doc="Smallest integer not below x, real dtypes. Its gradient is zeros.")
zero("floor", "x, /", numpy=("floor",), doc="Largest integer not above x, real dtypes. Its gradient is zeros.")
zero("trunc", "x, /", numpy=("trunc",), doc="x rounded towards zero, real dtypes. Its gradient is zeros.")
zero(
    "round",
    "x, /",
    method=True,
    numpy=("round",),
    doc="x rounded to the nearest integer, halves to even, numeric dtypes. Its gradient is zeros.",
)

# -- no derivative: comparisons, logic, bits --------------------------------------------------------------------------


def _relation(name, operator, symbol, *numpy):
    doc = f"Elementwise x1 {symbol} x2: a boolean array, without a derivative."
    elementwise(name, "x1, x2, /", operator=operator, numpy=numpy, doc=doc)


_relation("equal", "eq", "==", "equal")
_relation("not_equal", "ne", "!=", "not_equal")
_relation("less", "lt", "<", "less")
_relation("less_equal", "le", "<=", "less_equal")
_relation("greater", "gt", ">", "greater")
_relation("greater_equal", "ge", ">=", "greater_equal")
_relation("logical_and", None, "and", "logical_and")
_relation("logical_or", None, "or", "logical_or")
_relation("logical_xor", None, "xor", "logical_xor")


def _bits(name, operator, symbol, *numpy):
    doc = f"Bitwise x1 {symbol} x2 of integer (or boolean, except for shifts) arrays, without a derivative."
    elementwise(name, "x1, x2, /", operator=operator, numpy=numpy, doc=doc)


_bits("bitwise_and", "and", "&", "bitwise_and")
_bits("bitwise_or", "or", "|", "bitwise_or")
_bits("bitwise_xor", "xor", "^", "bitwise_xor")
_bits("bitwise_left_shift", "lshift", "<<", "left_shift", "bitwise_left_shift")
_bits("bitwise_right_shift", "rshift", ">>", "right_shift", "bitwise_right_shift")
elementwise(
    "bitwise_invert",
    "x, /",
    operator="invert",
    numpy=("invert", "bitwise_not", "bitwise_invert"),
    doc="Bitwise complement ~x of integer or boolean arrays, without a derivative.",
)


def _test(name, what):
    elementwise(name, "x, /", numpy=(name,), doc=f"Whether each element {what}: a boolean array.")


_test("isfinite", "is finite")
_test("isinf", "is infinite")
_test("isnan", "is not a number")
_test("signbit", "has its sign bit set (negative numbers and -0.0)")
_test("logical_not", "is false")
