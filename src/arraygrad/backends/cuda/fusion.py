"""The table's elementwise rules and forwards as C++ text: what a fused kernel computes for each element.

May import: numpy (its dtypes, which CuPy shares) and the standard library.

Note [Fusion]
~~~~~~~~~~~~~
The table stays the only truth. A rule is a plain function of arrays and a namespace; here it is called once with
symbols for the arrays and with `TraceNamespace` for the namespace, and what it does to them is written down, one C++
statement per operation, each value once. So a kernel exists for whatever the table says, and changes with it.
(1) Types follow NumPy's promotion: arrays by their dtypes, Python numbers adapt. A kernel belongs to the dtypes that it
    was traced with; `xp.isdtype(x.dtype, ...)` in a rule is decided then.
(2) What is not elementwise (a reduction, indexing, a shape, the truth of an array) raises Untraceable, and the rule
    runs as it is. `xp.any(c)` alone counts as true: forwards ask it only to skip repairs where nothing is broken.
(3) Statements are those that both CUDA and a C++ compiler on the host understand, so that tests compile them there.
Guarded by tests/gpu/test_fusion.py: every kernel against the table's rule over NumPy.
"""

import math
import types

import numpy

__all__ = ["PREAMBLE", "Symbol", "Trace", "TraceNamespace", "Untraceable", "c_type"]


class Untraceable(TypeError):
    """A rule does something that is not elementwise, or has no counterpart in a kernel."""


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

# What C++ has no operator or function for. Names are ours, so that nothing of a library's is redefined.
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
    try:
        return _C_TYPES[numpy.dtype(dtype).char]
    except KeyError:
        raise Untraceable(f"kernels have no type for {dtype}") from None


class Trace:
    """What one kernel computes: its inputs, statements, and each value's name."""

    def __init__(self):
        self.inputs = []  # (name, dtype)
        self.lines = []
        self._known = {}

    def input(self, name, dtype):
        """A symbol for an array or scalar argument of the kernel."""
        c_type(dtype)
        self.inputs.append((name, numpy.dtype(dtype)))
        return Symbol(self, name, numpy.dtype(dtype))

    def value(self, expression, dtype):
        """The symbol of an expression; the same expression is computed once."""
        dtype = numpy.dtype(dtype)
        key = (expression, dtype.char)
        found = self._known.get(key)
        if found is None:
            name = f"v{len(self.lines)}"
            self.lines.append(f"const {c_type(dtype)} {name} = {expression};")
            found = self._known[key] = Symbol(self, name, dtype)
        return found

    def constant(self, number, dtype):
        """A Python number as a symbol of a dtype; it takes no statement."""
        return Symbol(self, _literal(number, numpy.dtype(dtype)), numpy.dtype(dtype))


def _literal(number, dtype):
    kind = c_type(dtype)
    if dtype.kind == "c":
        number = complex(number)
        part = numpy.dtype(dtype.char.lower())
        return f"{kind}({_literal(number.real, part)}, {_literal(number.imag, part)})"
    if dtype.kind == "f":
        number = float(number)
        if math.isinf(number):
            return f"{'-' if number < 0 else ''}ag_infinity<{kind}>()"
        return f"ag_nan<{kind}>()" if number != number else f"{kind}({number!r})"
    if dtype.kind == "b":
        return "true" if number else "false"
    if not isinstance(number, (bool, int)) or not numpy.iinfo(dtype).min <= number <= numpy.iinfo(dtype).max:
        raise Untraceable(f"{number!r} is no {dtype}")
    return f"static_cast<{kind}>({int(number)}LL)"


_NUMBERS = (bool, int, float, complex)


def _common(*operands):
    """The dtype that arrays and Python numbers are computed in together."""
    return numpy.result_type(*[o.dtype if isinstance(o, Symbol) else o for o in operands])


def _operator(pattern, *, result=None, inexact=False):
    """A method for a binary operator; `result` fixes the dtype of what comes out."""

    def method(self, other):
        if not isinstance(other, (Symbol, *_NUMBERS)):
            return NotImplemented
        return _binary(self.trace, pattern, self, other, result, inexact)

    def reflected(self, other):
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        return _binary(self.trace, pattern, other, self, result, inexact)

    return method, reflected


def _binary(trace, pattern, a, b, result=None, inexact=False):
    dtype = _common(a, b)
    if inexact and dtype.kind in "biu":
        dtype = numpy.dtype("float64")
    if dtype.kind == "b" and result is None:
        raise Untraceable("arithmetic of booleans")
    if dtype.kind == "c" and ("<" in pattern or ">" in pattern):
        raise Untraceable("complex numbers have no order")
    a, b = _cast(trace, a, dtype), _cast(trace, b, dtype)
    return trace.value(pattern.format(a=a.code, b=b.code), result or dtype)


def _cast(trace, x, dtype):
    dtype = numpy.dtype(dtype)
    if not isinstance(x, Symbol):
        return trace.constant(x, dtype)
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise Untraceable("a complex number as a real one")
    if dtype.kind == "c":
        part = numpy.dtype(dtype.char.lower())
        kind = c_type(part)
        if x.dtype.kind == "c":
            parts = f"static_cast<{kind}>({x.code}.real()), static_cast<{kind}>({x.code}.imag())"
        else:
            parts = f"static_cast<{kind}>({x.code}), {kind}(0)"
        return trace.value(f"{c_type(dtype)}({parts})", dtype)
    if dtype.kind == "b":
        return trace.value(f"{x.code} != {c_type(x.dtype)}(0)", dtype)
    return trace.value(f"static_cast<{c_type(dtype)}>({x.code})", dtype)


class Symbol:
    """One value of a kernel: stands for an array while a rule is traced."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    device = None

    def __init__(self, trace, code, dtype):
        self.trace, self.code, self.dtype = trace, code, dtype

    __add__, __radd__ = _operator("{a} + {b}")
    __sub__, __rsub__ = _operator("{a} - {b}")
    __mul__, __rmul__ = _operator("{a} * {b}")
    __truediv__, __rtruediv__ = _operator("{a} / {b}", inexact=True)
    __lt__, _ = _operator("{a} < {b}", result="bool")
    __le__, _ = _operator("{a} <= {b}", result="bool")
    __gt__, _ = _operator("{a} > {b}", result="bool")
    __ge__, _ = _operator("{a} >= {b}", result="bool")
    __eq__, _ = _operator("{a} == {b}", result="bool")
    __ne__, _ = _operator("{a} != {b}", result="bool")

    def __and__(self, other):
        return _logical(self, "&&", other)

    def __or__(self, other):
        return _logical(self, "||", other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self):
        if self.dtype.kind != "b":
            raise Untraceable("bits of numbers")
        return self.trace.value(f"!{self.code}", "bool")

    def __neg__(self):
        if self.dtype.kind in "bu":
            raise Untraceable(f"negation of {self.dtype}")
        return self.trace.value(f"-{self.code}", self.dtype)

    def __pos__(self):
        return self

    def __abs__(self):
        if self.dtype.kind == "c":
            return self.trace.value(f"abs({self.code})", self.dtype.char.lower())
        if self.dtype.kind == "f":
            return self.trace.value(f"fabs({self.code})", self.dtype)
        raise Untraceable(f"abs of {self.dtype}")

    def __pow__(self, other):
        if type(other) is int and other == 2:
            return self * self
        return _two_inexact(self.trace, "pow({a}, {b})", self, other, complex_too=True)

    def __rpow__(self, other):
        return _two_inexact(self.trace, "pow({a}, {b})", other, self, complex_too=True)

    def __floordiv__(self, other):
        return _two_inexact(self.trace, "ag_floor_divide({a}, {b})", self, other)

    def __rfloordiv__(self, other):
        return _two_inexact(self.trace, "ag_floor_divide({a}, {b})", other, self)

    def __mod__(self, other):
        return _two_inexact(self.trace, "ag_remainder({a}, {b})", self, other)

    def __rmod__(self, other):
        return _two_inexact(self.trace, "ag_remainder({a}, {b})", other, self)

    def __bool__(self):
        raise Untraceable("the truth of an array")


def _logical(a, sign, other):
    if isinstance(other, bool):
        other = a.trace.constant(other, "bool")
    if not isinstance(other, Symbol) or a.dtype.kind != "b" or other.dtype.kind != "b":
        raise Untraceable("bits of numbers")
    return a.trace.value(f"{a.code} {sign} {other.code}", "bool")


def _two_inexact(trace, pattern, a, b, complex_too=False):
    dtype = _common(a, b)
    if dtype.kind not in ("fc" if complex_too else "f"):
        raise Untraceable(f"{pattern.partition('(')[0]} of {dtype}")
    return _binary(trace, pattern, a, b)


class _PerhapsTrue:
    """The answer to `xp.any`: see Note [Fusion] (2)."""

    def __bool__(self):
        return True


# Functions of one inexact number: name in the standard -> name in C++, and whether C++ has it for complex numbers.
_UNARY = {
    "exp": ("exp", True),
    "log": ("log", True),
    "log10": ("log10", True),
    "log2": ("log2", False),
    "log1p": ("log1p", False),
    "expm1": ("expm1", False),
    "sqrt": ("sqrt", True),
    "sin": ("sin", True),
    "cos": ("cos", True),
    "tan": ("tan", True),
    "asin": ("asin", True),
    "acos": ("acos", True),
    "atan": ("atan", True),
    "sinh": ("sinh", True),
    "cosh": ("cosh", True),
    "tanh": ("tanh", True),
    "asinh": ("asinh", True),
    "acosh": ("acosh", True),
    "atanh": ("atanh", True),
    "floor": ("floor", False),
    "ceil": ("ceil", False),
    "trunc": ("trunc", False),
    "round": ("rint", False),
    "erf": ("erf", False),
    "erfc": ("erfc", False),
    "gammaln": ("lgamma", False),
    "_cbrt": ("cbrt", False),
}

_BINARY = {
    "hypot": "hypot({a}, {b})",
    "atan2": "atan2({a}, {b})",
    "copysign": "copysign({a}, {b})",
    "nextafter": "nextafter({a}, {b})",
    "maximum": "ag_maximum({a}, {b})",
    "minimum": "ag_minimum({a}, {b})",
    "floor_divide": "ag_floor_divide({a}, {b})",
    "remainder": "ag_remainder({a}, {b})",
}

_OPERATORS = {
    "add": "__add__",
    "subtract": "__sub__",
    "multiply": "__mul__",
    "divide": "__truediv__",
    "pow": "__pow__",
    "less": "__lt__",
    "less_equal": "__le__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "logical_and": "__and__",
    "logical_or": "__or__",
}


class TraceNamespace:
    """The namespace that a traced rule gets: the elementwise functions, on symbols.

    `fallback(name)` gives a function of the table for a name that is not here (an entry's forward, to be traced in its
    turn), or None.
    """

    bool = numpy.dtype("bool")
    int32 = numpy.dtype("int32")
    int64 = numpy.dtype("int64")
    float32 = numpy.dtype("float32")
    float64 = numpy.dtype("float64")
    complex64 = numpy.dtype("complex64")
    complex128 = numpy.dtype("complex128")
    e, inf, nan, pi = math.e, math.inf, math.nan, math.pi

    def __init__(self, trace, fallback=None):
        self._trace = trace
        self._fallback = fallback
        self.special = self

    def __getattr__(self, name):
        if name in _UNARY:
            target, complex_too = _UNARY[name]
            return lambda x: self._one(target, x, complex_too)
        if name in _BINARY:
            return lambda a, b: _two_inexact(self._trace, _BINARY[name], a, b)
        if name in _OPERATORS:
            return lambda a, b: self._operated(_OPERATORS[name], a, b)
        found = None if self._fallback is None or name.startswith("__") else self._fallback(name)
        if found is None:
            raise Untraceable(f"kernels have no {name}")
        return lambda *args, **kwargs: found(self, *args, **kwargs)

    def _one(self, target, x, complex_too):
        if not isinstance(x, Symbol) or x.dtype.kind not in ("fc" if complex_too else "f"):
            raise Untraceable(f"{target} of {getattr(x, 'dtype', type(x).__name__)}")
        return self._trace.value(f"{target}({x.code})", x.dtype)

    def _operated(self, method, a, b):
        if not isinstance(a, Symbol):
            if not isinstance(b, Symbol):
                raise Untraceable("numbers alone")
            a = self._trace.constant(a, _common(a, b))
        return getattr(a, method)(b)

    def any(self, x, **kwargs):
        """True: see Note [Fusion] (2)."""
        return _PerhapsTrue()

    def where(self, condition, x1, x2):
        """One of two values."""
        if not isinstance(condition, Symbol):
            raise Untraceable("a choice by no array")
        dtype = _common(x1, x2)
        a, b = _cast(self._trace, x1, dtype), _cast(self._trace, x2, dtype)
        return self._trace.value(f"{condition.code} ? {a.code} : {b.code}", dtype)

    def abs(self, x):
        """Absolute value, real for complex numbers."""
        return abs(x)

    def negative(self, x):
        """-x."""
        return -x

    def positive(self, x):
        """x itself."""
        return x

    def square(self, x):
        """x * x."""
        return x * x

    def reciprocal(self, x):
        """1 / x."""
        return 1 / x

    def logical_not(self, x):
        """Complement of a boolean."""
        return ~x

    def sign(self, x):
        """Sign as NumPy's: that of a complex number is x / abs(x)."""
        if x.dtype.kind == "c":
            size = abs(x)
            return self.where(size == 0, 0.0, x / self.where(size == 0, 1.0, size))
        return self._one("ag_sign", x, False)

    def real(self, x):
        """Real part."""
        return self._trace.value(f"{x.code}.real()", x.dtype.char.lower()) if x.dtype.kind == "c" else x

    def imag(self, x):
        """Imaginary part of a complex number."""
        if x.dtype.kind != "c":
            raise Untraceable("the imaginary part of a real number")
        return self._trace.value(f"{x.code}.imag()", x.dtype.char.lower())

    def conj(self, x):
        """Complex conjugate; a real number itself."""
        return self._trace.value(f"conj({x.code})", x.dtype) if x.dtype.kind == "c" else x

    def _parts(self, name, x, joined):
        if x.dtype.kind == "c":
            return self._trace.value(f"{name}({x.code}.real()) {joined} {name}({x.code}.imag())", "bool")
        if x.dtype.kind != "f":
            raise Untraceable(f"{name} of {x.dtype}")
        return self._trace.value(f"static_cast<bool>({name}({x.code}))", "bool")

    def isnan(self, x):
        """Whether x, or a part of it, is not a number."""
        return self._parts("isnan", x, "||")

    def isinf(self, x):
        """Whether x, or a part of it, is infinite."""
        return self._parts("isinf", x, "||")

    def isfinite(self, x):
        """Whether x, and all its parts, are finite."""
        return self._parts("isfinite", x, "&&")

    def signbit(self, x):
        """Whether the sign bit is set."""
        if x.dtype.kind != "f":
            raise Untraceable(f"signbit of {x.dtype}")
        return self._trace.value(f"static_cast<bool>(signbit({x.code}))", "bool")

    def zeros_like(self, x, **kwargs):
        """Zero, of x's dtype."""
        return self._trace.constant(0, kwargs.get("dtype") or x.dtype)

    def ones_like(self, x, **kwargs):
        """One, of x's dtype."""
        return self._trace.constant(1, kwargs.get("dtype") or x.dtype)

    def asarray(self, x, *, dtype=None, device=None, copy=None):
        """A number of a dtype, or a symbol as it is."""
        if isinstance(x, Symbol):
            return x if dtype is None else _cast(self._trace, x, dtype)
        if dtype is None or not isinstance(x, _NUMBERS):
            raise Untraceable("an array of unknown dtype")
        return self._trace.constant(x, dtype)

    def astype(self, x, dtype, *, copy=True, device=None):
        """x of another dtype."""
        return _cast(self._trace, x, dtype)

    def isdtype(self, dtype, kind):
        """As the standard's."""
        return numpy.isdtype(numpy.dtype(dtype), kind)

    def finfo(self, dtype):
        """Limits of a floating-point dtype, as Python numbers."""
        limits = numpy.finfo(dtype)
        names = ("eps", "max", "min", "smallest_normal")
        return types.SimpleNamespace(bits=limits.bits, **{name: float(getattr(limits, name)) for name in names})

    def result_type(self, *operands):
        """The dtype of several together."""
        return _common(*operands)
