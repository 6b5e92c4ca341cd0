"""Expressions: what an elementwise rule or forward of the table computes for one element, as a small typed graph.

May import: numpy (its dtypes and their promotion) and the standard library.

Note [Expressions]
~~~~~~~~~~~~~~~~~~
The table stays the only truth. A rule is a plain function of arrays and a namespace. It is called once with symbols for
the arrays and with `ExpressionNamespace` for the namespace, and what it does to them is traced: inputs, constants and
operations, each value once. From the graph come CUDA's kernels (backends/cuda/fusion.py, at run time) and those of the
CPU (backends/numpy/kernels.py, when the package is built). So a kernel exists for whatever the table says.
(1) Types follow NumPy's promotion: arrays by their dtypes, Python numbers adapt. A graph belongs to the dtypes that it
    was traced with; `xp.isdtype(x.dtype, ...)` in a rule is decided then.
(2) What is not elementwise (a reduction, indexing, a shape, the truth of an array) raises Untraceable, and the rule
    runs as it is. `xp.any(c)` alone counts as true: forwards ask it only to skip repairs where nothing is broken.
(3) The graph says what is computed, not how: the names of operations are those of the standard, `cast`, and `**` for
    Python's operator, which libraries may compute otherwise than their function `pow`.
(4) Little is simplified, and nothing that would change a bit of a result: a choice by a constant, a division by one,
    and whether an input that is given as `nonzero` is zero.
Guarded by tests/gpu/test_fusion.py: every kernel against the table's rule.
"""

import math
import types

import numpy

__all__ = ["Expression", "ExpressionNamespace", "Symbol", "Untraceable", "cast"]

# dtypes that kernels know: no float16, no long double, no objects.
_DTYPES = frozenset("?bBhHiIlLqQfdFD")
_NUMBERS = (bool, int, float, complex)


class Untraceable(TypeError):
    """A rule does something that is not elementwise, or has no counterpart in a kernel."""


def known_dtype(dtype):
    """The dtype as one of NumPy's; Untraceable for one that kernels do not know."""
    try:
        found = numpy.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.char not in _DTYPES:
        raise Untraceable(f"kernels have no type for {dtype}")
    return found


class Expression:
    """The values that are traced together: symbols of one graph.

    Attributes
    ----------
    inputs : list of Symbol
    """

    def __init__(self):
        self.inputs = []
        self._known = {}

    def input(self, name, dtype, *, nonzero=False):
        """A symbol for an array or scalar argument. `nonzero`: none of its elements is zero."""
        found = Symbol(self, "input", known_dtype(dtype), (), (name, nonzero))
        self.inputs.append(found)
        return found

    def constant(self, number, dtype):
        """A Python number as a symbol of a dtype."""
        dtype = known_dtype(dtype)
        if dtype.kind in "iu" and not (
            isinstance(number, (bool, int)) and numpy.iinfo(dtype).min <= number <= numpy.iinfo(dtype).max
        ):
            raise Untraceable(f"{number!r} is no {dtype}")
        number = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[dtype.kind](number)
        return self._once("constant", dtype, (), number)

    def operation(self, name, dtype, *operands):
        """The symbol of an operation on symbols; the same operation on the same symbols is one value."""
        return self._once(name, known_dtype(dtype), operands, None)

    def _once(self, name, dtype, operands, detail):
        key = (name, dtype.char, repr(detail), *[id(operand) for operand in operands])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Symbol(self, name, dtype, operands, detail)
        return found


def in_order(results, leaves=()):
    """All values that some symbols are computed of, each after its operands. Nothing behind `leaves` is looked at."""
    found, seen = [], {id(leaf) for leaf in leaves}

    def visit(symbol):
        if id(symbol) not in seen:
            seen.add(id(symbol))
            for operand in symbol.operands:
                visit(operand)
            found.append(symbol)

    for result in results:
        visit(result)
    return found


def _common(*operands):
    """The dtype that arrays and Python numbers are computed in together."""
    return numpy.result_type(*[o.dtype if isinstance(o, Symbol) else o for o in operands])


def _operator(name, *, result=None, inexact=False):
    """A method for a binary operator, and its reflection; `result` fixes the dtype of what comes out."""

    def method(self, other):
        if not isinstance(other, (Symbol, *_NUMBERS)):
            return NotImplemented
        return _binary(self.expression, name, self, other, result, inexact)

    def reflected(self, other):
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        return _binary(self.expression, name, other, self, result, inexact)

    return method, reflected


_ORDERED = ("less", "less_equal", "greater", "greater_equal")


def _binary(expression, name, a, b, result=None, inexact=False):
    dtype = _common(a, b)
    if inexact and dtype.kind in "biu":
        dtype = numpy.dtype("float64")
    if dtype.kind == "b" and result is None:
        raise Untraceable("arithmetic of booleans")
    if dtype.kind == "c" and name in _ORDERED:
        raise Untraceable("complex numbers have no order")
    a, b = cast(expression, a, dtype), cast(expression, b, dtype)
    if name == "divide" and b.operation == "constant" and b.detail == 1:
        return a
    if name == "equal" and b.operation == "constant" and b.detail == 0 and a.operation == "input" and a.detail[1]:
        return expression.constant(False, "bool")
    return expression.operation(name, result or dtype, a, b)


def cast(expression, x, dtype):
    """A symbol or a Python number as a symbol of a dtype."""
    dtype = numpy.dtype(dtype)
    if not isinstance(x, Symbol):
        return expression.constant(x, dtype)
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise Untraceable("a complex number as a real one")
    return expression.operation("cast", dtype, x)


class Symbol:
    """One value of an expression: stands for an array while a rule is traced.

    Attributes
    ----------
    operation : str
        "input", "constant", or what is done to the operands.
    dtype : numpy.dtype
    operands : tuple of Symbol
    detail
        A constant's number; an input's name, and whether it is never zero.
    """

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    device = None

    def __init__(self, expression, operation, dtype, operands, detail):
        self.expression, self.operation, self.dtype = expression, operation, dtype
        self.operands, self.detail = operands, detail

    @property
    def name(self):
        """An input's name."""
        return self.detail[0]

    def __repr__(self):
        told = self.detail if self.operation == "constant" else ", ".join(map(repr, self.operands))
        return self.name if self.operation == "input" else f"{self.operation}({told})"

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide", inexact=True)
    __lt__, _ = _operator("less", result="bool")
    __le__, _ = _operator("less_equal", result="bool")
    __gt__, _ = _operator("greater", result="bool")
    __ge__, _ = _operator("greater_equal", result="bool")
    __eq__, _ = _operator("equal", result="bool")
    __ne__, _ = _operator("not_equal", result="bool")

    def __and__(self, other):
        return _logical(self, "logical_and", other)

    def __or__(self, other):
        return _logical(self, "logical_or", other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self):
        if self.dtype.kind != "b":
            raise Untraceable("bits of numbers")
        return self.expression.operation("logical_not", "bool", self)

    def __neg__(self):
        if self.dtype.kind in "bu":
            raise Untraceable(f"negation of {self.dtype}")
        return self.expression.operation("negative", self.dtype, self)

    def __pos__(self):
        return self

    def __abs__(self):
        if self.dtype.kind == "c":
            return self.expression.operation("abs", self.dtype.char.lower(), self)
        if self.dtype.kind == "f":
            return self.expression.operation("abs", self.dtype, self)
        raise Untraceable(f"abs of {self.dtype}")

    def __pow__(self, other):
        return _two_inexact(self.expression, "**", self, other, complex_too=True)

    def __rpow__(self, other):
        return _two_inexact(self.expression, "**", other, self, complex_too=True)

    def __floordiv__(self, other):
        return _two_inexact(self.expression, "floor_divide", self, other)

    def __rfloordiv__(self, other):
        return _two_inexact(self.expression, "floor_divide", other, self)

    def __mod__(self, other):
        return _two_inexact(self.expression, "remainder", self, other)

    def __rmod__(self, other):
        return _two_inexact(self.expression, "remainder", other, self)

    def __bool__(self):
        raise Untraceable("the truth of an array")


def _logical(a, name, other):
    if isinstance(other, bool):
        other = a.expression.constant(other, "bool")
    if not isinstance(other, Symbol) or a.dtype.kind != "b" or other.dtype.kind != "b":
        raise Untraceable("bits of numbers")
    for known, rest in ((a, other), (other, a)):
        if known.operation == "constant":
            return rest if known.detail == (name == "logical_and") else known
    return a.expression.operation(name, "bool", a, other)


def _two_inexact(expression, name, a, b, complex_too=False):
    dtype = _common(a, b)
    square = name == "**" and type(b) is int and b == 2
    if dtype.kind not in ("fc" if complex_too else "f") and not square:
        raise Untraceable(f"{name} of {dtype}")
    return _binary(expression, name, a, b)


class _PerhapsTrue:
    """The answer to `xp.any`: see Note [Expressions] (2)."""

    def __bool__(self):
        return True


# Functions of one inexact number, by whether complex numbers have them in kernels.
_UNARY = {
    **dict.fromkeys("exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split(), True),
    **dict.fromkeys("log2 log1p expm1 floor ceil trunc round erf erfc gammaln _cbrt".split(), False),
}
_BINARY = frozenset("hypot atan2 copysign nextafter maximum minimum floor_divide remainder".split())
_OPERATORS = {
    "add": "__add__",
    "subtract": "__sub__",
    "multiply": "__mul__",
    "divide": "__truediv__",
    "less": "__lt__",
    "less_equal": "__le__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "logical_and": "__and__",
    "logical_or": "__or__",
}


class ExpressionNamespace:
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
    _at_kinks = None  # traced rules have one

    def __init__(self, expression, fallback=None):
        self._expression = expression
        self._fallback = fallback
        self.special = self

    def __getattr__(self, name):
        if name in _UNARY:
            return lambda x: self._one(name, x, _UNARY[name])
        if name in _BINARY:
            return lambda a, b: _two_inexact(self._expression, name, a, b)
        if name in _OPERATORS:
            return lambda a, b: self._operated(_OPERATORS[name], a, b)
        if name.startswith("_library_"):  # what some libraries' raw namespaces have
            raise AttributeError(name)
        found = None if self._fallback is None or name.startswith("__") else self._fallback(name)
        if found is None:
            raise Untraceable(f"kernels have no {name}")
        return lambda *args, **kwargs: found(self, *args, **kwargs)

    def _one(self, name, x, complex_too):
        if not isinstance(x, Symbol) or x.dtype.kind not in ("fc" if complex_too else "f"):
            raise Untraceable(f"{name} of {getattr(x, 'dtype', type(x).__name__)}")
        return self._expression.operation(name, x.dtype, x)

    def _operated(self, method, a, b):
        if not isinstance(a, Symbol):
            if not isinstance(b, Symbol):
                raise Untraceable("numbers alone")
            a = self._expression.constant(a, _common(a, b))
        return getattr(a, method)(b)

    def any(self, x, **kwargs):
        """True: see Note [Expressions] (2)."""
        return _PerhapsTrue()

    def where(self, condition, x1, x2):
        """One of two values."""
        if not isinstance(condition, Symbol):
            raise Untraceable("a choice by no array")
        dtype = _common(x1, x2)
        a, b = cast(self._expression, x1, dtype), cast(self._expression, x2, dtype)
        if condition.operation == "constant":
            return a if condition.detail else b
        return self._expression.operation("where", dtype, condition, a, b)

    def pow(self, x1, x2):
        """x1 to the power x2, by the library's function."""
        return _two_inexact(self._expression, "pow", x1, x2, complex_too=True)

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
        """x * x, by the library's function."""
        return self._expression.operation("square", x.dtype, x)

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
        return self._one("sign", x, False)

    def real(self, x):
        """Real part."""
        return self._expression.operation("real", x.dtype.char.lower(), x) if x.dtype.kind == "c" else x

    def imag(self, x):
        """Imaginary part of a complex number."""
        if x.dtype.kind != "c":
            raise Untraceable("the imaginary part of a real number")
        return self._expression.operation("imag", x.dtype.char.lower(), x)

    def conj(self, x):
        """Complex conjugate; a real number itself."""
        return self._expression.operation("conj", x.dtype, x) if x.dtype.kind == "c" else x

    def _test(self, name, x, kinds="fc"):
        if x.dtype.kind not in kinds:
            raise Untraceable(f"{name} of {x.dtype}")
        return self._expression.operation(name, "bool", x)

    def isnan(self, x):
        """Whether x, or a part of it, is not a number."""
        return self._test("isnan", x)

    def isinf(self, x):
        """Whether x, or a part of it, is infinite."""
        return self._test("isinf", x)

    def isfinite(self, x):
        """Whether x, and all its parts, are finite."""
        return self._test("isfinite", x)

    def signbit(self, x):
        """Whether the sign bit is set."""
        return self._test("signbit", x, "f")

    def zeros_like(self, x, **kwargs):
        """Zero, of x's dtype."""
        return self._expression.constant(0, kwargs.get("dtype") or x.dtype)

    def ones_like(self, x, **kwargs):
        """One, of x's dtype."""
        return self._expression.constant(1, kwargs.get("dtype") or x.dtype)

    def asarray(self, x, *, dtype=None, device=None, copy=None):
        """A number of a dtype, or a symbol as it is."""
        if isinstance(x, Symbol):
            return x if dtype is None else cast(self._expression, x, dtype)
        if dtype is None or not isinstance(x, _NUMBERS):
            raise Untraceable("an array of unknown dtype")
        return self._expression.constant(x, dtype)

    def astype(self, x, dtype, *, copy=True, device=None):
        """x of another dtype."""
        return cast(self._expression, x, dtype)

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
