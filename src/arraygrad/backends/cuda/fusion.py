"""CUDA's text of expressions: what a fused kernel computes for each element.

May import: ops.expression, numpy (its dtypes, which CuPy shares) and the standard library.

One C++ statement per value of the graph (Note [Expressions] in ops/expression.py). Statements are those that both CUDA
and a C++ compiler on the host understand, so that tests compile them there.
Guarded by tests/gpu/test_fusion.py: every kernel against the table's rule over NumPy.
"""

import math

import numpy

from arraygrad.ops.expression import in_order, known_dtype

__all__ = ["PREAMBLE", "c_type", "statements"]

_C_TYPES = {
    "?": "bool",
    "b": "signed char",
    "B": "unsigned char",
    "h": "short",
    "H": "unsigned short",
    "i": "int",
    "I": "unsigned int",
    "l": "long long",
    "L": "unsigned long long",
    "q": "long long",
    "Q": "unsigned long long",
    "f": "float",
    "d": "double",
    "F": "complex<float>",
    "D": "complex<double>",
}

# What C++ has no operator or function for. Names are ours, so that nothing of a library's is redefined. A complex `pow`
# is the exponential of a logarithm, which is infinite at zero; NumPy gives 0 ** p as 1 for p = 0, and 0 for Re p > 0.
PREAMBLE = r"""
template <typename T> __device__ inline T ag_infinity() { return static_cast<T>(__longlong_as_double(0x7ff0000000000000LL)); }
template <typename T> __device__ inline T ag_nan() { return static_cast<T>(__longlong_as_double(0x7ff8000000000000LL)); }
template <typename T> __device__ inline T ag_sign(T x) { return x != x ? x : static_cast<T>((x > T(0)) - (x < T(0))); }
template <typename T> __device__ inline T ag_maximum(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; }
template <typename T> __device__ inline T ag_minimum(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; }
template <typename T> __device__ inline T ag_remainder(T a, T b) {
  T rest = fmod(a, b);
  if (rest == T(0)) return copysign(T(0), b);
  return (rest < T(0)) != (b < T(0)) ? rest + b : rest;
}
template <typename T> __device__ inline T ag_power_of_zero(T x, T p) {
  if (p == T(0)) return T(1);
  if (x == T(0) && p.real() > 0) return T(0);
  return pow(x, p);
}
template <typename T> __device__ inline T ag_floor_divide(T a, T b) {
  if (b == T(0)) return a / b;
  const T rest = fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != T(0) && (rest < T(0)) != (b < T(0))) quotient -= T(1);
  if (quotient == T(0)) return copysign(T(0), a / b);
  const T whole = floor(quotient);
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}
"""  # noqa: E501


def c_type(dtype):
    """The C++ type of a dtype; Untraceable for one that kernels do not know (float16, long double, objects)."""
    return _C_TYPES[known_dtype(dtype).char]


def _literal(number, dtype):
    kind = c_type(dtype)
    if dtype.kind == "c":
        part = numpy.dtype(dtype.char.lower())
        return f"{kind}({_literal(number.real, part)}, {_literal(number.imag, part)})"
    if dtype.kind == "f":
        if math.isinf(number):
            return f"{'-' if number < 0 else ''}ag_infinity<{kind}>()"
        return f"ag_nan<{kind}>()" if number != number else f"{kind}({number!r})"
    if dtype.kind == "b":
        return "true" if number else "false"
    return f"static_cast<{kind}>({number}LL)"


# Operations by their names, for the texts of their operands; what is not here is a function of that name.
_TEXT = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "logical_and": "{} && {}",
    "logical_or": "{} || {}",
    "logical_not": "!{}",
    "negative": "-{}",
    "square": "{0} * {0}",
    "where": "{} ? {} : {}",
    "pow": "pow({}, {})",
    "floor_divide": "ag_floor_divide({}, {})",
    "remainder": "ag_remainder({}, {})",
    "maximum": "ag_maximum({}, {})",
    "minimum": "ag_minimum({}, {})",
    "sign": "ag_sign({})",
    "round": "rint({})",
    "gammaln": "lgamma({})",
    "_cbrt": "cbrt({})",
    "real": "{}.real()",
    "imag": "{}.imag()",
    "signbit": "static_cast<bool>(signbit({}))",
}
_JOINED = {"isnan": "||", "isinf": "||", "isfinite": "&&"}  # how the parts of a complex number are


def _text(value, names):
    """The C++ expression of a value."""
    operation, operands = value.operation, value.operands
    code = [names[id(operand)] for operand in operands]
    if operation == "cast":
        return _cast(operands[0].dtype, value.dtype, code[0])
    if operation in ("pow", "**"):
        square = operands[1].operation == "constant" and operands[1].detail == 2
        power = "ag_power_of_zero({}, {})" if value.dtype.kind == "c" else _TEXT["pow"]
        return (_TEXT["square"] if square else power).format(*code)
    if operation == "abs":
        return f"{'abs' if operands[0].dtype.kind == 'c' else 'fabs'}({code[0]})"
    if operation in _JOINED:
        if operands[0].dtype.kind == "c":
            return f"{operation}({code[0]}.real()) {_JOINED[operation]} {operation}({code[0]}.imag())"
        return f"static_cast<bool>({operation}({code[0]}))"
    pattern = _TEXT.get(operation)
    return f"{operation}({', '.join(code)})" if pattern is None else pattern.format(*code)


def _cast(source, target, code):
    if target.kind == "c":
        kind = c_type(target.char.lower())
        if source.kind == "c":
            return f"{c_type(target)}(static_cast<{kind}>({code}.real()), static_cast<{kind}>({code}.imag()))"
        return f"{c_type(target)}(static_cast<{kind}>({code}), {kind}(0))"
    return f"{code} != {c_type(source)}(0)" if target.kind == "b" else f"static_cast<{c_type(target)}>({code})"


def statements(results):
    """(statements that compute some symbols, the text of each symbol, the names of the inputs that are read)."""
    names, lines, read = {}, [], set()
    for value in in_order(results):
        if value.operation == "input":
            names[id(value)] = value.name
            read.add(value.name)
        elif value.operation == "constant":
            names[id(value)] = _literal(value.detail, value.dtype)
        else:
            name = names[id(value)] = f"v{len(lines)}"
            lines.append(f"const {c_type(value.dtype)} {name} = {_text(value, names)};")
    return lines, [names[id(result)] for result in results], read
