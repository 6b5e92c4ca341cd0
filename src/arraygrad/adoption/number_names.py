"""What stands in for math, cmath and a few builtins in adopted calls: numbers of recorded Tensors stay recorded.

May import: adoption.builtin_answers, adoption.exchange, adoption.objects, adoption.table, autograd.python_numbers,
autograd.stale_caches, core.tensor, ops, special, the standard library, numpy.

Note [Numbers that stay]
~~~~~~~~~~~~~~~~~~~~~~~~
(1) `float(t)`, `complex(t)` and the functions of math and cmath give 0-d Tensors for recorded Tensors of one element
    and double precision. The value is that of the real call, to rounding, and the real call comes first: what it
    raises is raised.
(2) In single precision they are refused as outside: a Python number is a double there and gives way to the dtype of
    the array beside it, which no Tensor does.
(3) What has no slope or decides a branch gives the plain value, as outside: `int`, `bool`, `round`, comparisons,
    floor, ceil, trunc, isnan, isfinite, isclose; `modf` and `frexp` keep the fraction.
(4) A number that stays computes like a scalar of NumPy. Where a Python float does not (it raises for a division by
    zero, is complex for a negative base), so does what the graph tells to be one: tensor_answers.py.
(5) `isinstance`, `type`, `hasattr` and `getattr` answer for a Tensor as for the value that it holds in a plain call;
    what asks for Tensors themselves is answered too. Where a float and a scalar of NumPy differ, and the graph does not
    tell which of them it is, the question is refused: Note [Float or scalar of NumPy's] in builtin_answers.pyx.
Guarded by tests/adoption/test_adopted_numbers.py.
"""

import cmath
import functools
import math
import operator
import typing

import numpy

from arraygrad import special
from arraygrad.adoption.builtin_answers import (
    CLASSES,
    called_number,
    called_type,
    getattr_,
    given_as_float,
    hasattr_,
    hash_,
    in_rows,
    isinstance_,
    made_float,
    number_of,
    recording,
    recording_first,
    stays,
    super_,
)
from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.objects import numbers_held
from arraygrad.adoption.table import stand_in, stand_in_for, stand_in_module
from arraygrad.autograd.python_numbers import one_element as element
from arraygrad.autograd.stale_caches import tell_equal
from arraygrad.core.tensor import Tensor
from arraygrad.ops import OPS

__all__ = ["Number", "derived", "install"]


# -- functions of math and cmath ---------------------------------------------------------------------------------------


def _number(x):
    """What the real call is given in the place of an argument."""
    return number_of(x) if isinstance(x, Tensor) else x


def _in_rows(x):
    return isinstance(x, Tensor) and in_rows(x)


def _numbers(x):
    """The numbers that the real call is given in the place of an argument: one, or that of each row."""
    return x.array.numbers() if _in_rows(x) else [_number(x)]


def _called_in_rows(real, args, kwargs):
    """The real call in each row, where it raises if it has no value there; the last result."""
    rows = [_numbers(x) for x in args]
    for i in range(max(map(len, rows))):
        plain = real(*[row[i % len(row)] for row in rows], **kwargs)
    return plain


def _of_one(real, rule):
    """A function of one number; `rule(t)` computes it of a 0-d Tensor."""
    return recording(real, rule, element, _operation(rule))


def _operation(rule):
    """The operation of the table that a function of one number is; None: none, or several."""
    if isinstance(rule, numpy.ufunc):
        found = [op for op in OPS.values() if rule.__name__ in op.entry.numpy]
    else:
        found = [OPS[rule.__name__]] if getattr(special, rule.__name__, None) is rule else []
    return found[0] if len(found) == 1 and len(found[0].params) == 1 else None


def _of_several(real, rule):
    """A function of numbers; `rule(*args)` computes it where at least one is a 0-d Tensor."""

    @functools.wraps(real)
    def function(*args, **kwargs):
        if not any(stays(x) for x in args):
            try:
                return real(*args, **kwargs)
            except TypeError as error:
                if not any(map(_in_rows, args)):
                    return function(*numbers_held(error, args, is_on()), **kwargs)
        if any(isinstance(x, Tensor) and x.requires_grad and not stays(x) for x in args):
            return real(*args, **kwargs)  # which refuses it
        try:
            plain = real(*[_number(x) for x in args], **kwargs)
        except TypeError as error:
            if not any(map(_in_rows, args)):
                return function(*numbers_held(error, args, is_on()), **kwargs)
            plain = _called_in_rows(real, args, kwargs)
        if plain is NotImplemented:  # of a method of `float`: the other operand's class computes
            return plain
        return made_float(rule(*[element(x) if isinstance(x, Tensor) else x for x in args], **kwargs))

    return function


def _of_iterables(real, rule):
    """A function of sequences of numbers; `rule(*lists)` where one holds a recorded Tensor."""

    @functools.wraps(real)
    def function(*args, **kwargs):
        if not is_on():
            return real(*args, **kwargs)
        lists = [list(x) if not isinstance(x, Tensor) or x.ndim else x for x in args]
        flat = [x for items in lists if isinstance(items, list) for x in items if isinstance(x, Tensor)]
        if not any(stays(x) for x in flat) or any(x.requires_grad and not stays(x) for x in flat):
            return real(*lists, **kwargs)
        real(*[[_number(x) for x in items] for items in lists], **kwargs)
        made = rule(*[[element(x) if isinstance(x, Tensor) else x for x in items] for items in lists], **kwargs)
        return made if rule in _BY_OPERATORS else made_float(made)

    return function


def _of_plain(real):
    """A function of numbers whose result has no slope: that of the plain values (3)."""

    @functools.wraps(real)
    def function(*args, **kwargs):
        if not is_on():
            return real(*args, **kwargs)
        return real(*[_number(x) if type(x) is Tensor and x.size == 1 else x for x in args], **kwargs)

    return function


def _of_close(real):
    """`math.isclose` and its like, where equal values are told as those of a comparison are: Note [Stale caches]."""
    plain = _of_plain(real)

    @functools.wraps(real)
    def function(*args, **kwargs):
        found = plain(*args, **kwargs)
        if found and is_on() and len(args) == 2 and any(type(x) is Tensor for x in args):
            if operator.eq(*[_number(x) if type(x) is Tensor and x.size == 1 else x for x in args]):
                tell_equal(*args, by_program=True)
        return found

    return function


def _moved(value, *slopes):
    """A number of exactly this value, with these slopes: pairs (slope, 0-d Tensor)."""
    return sum((slope * (t - t.detach()) for slope, t in slopes if isinstance(t, Tensor)), 0.0) + value


def _power(x, y):
    return numpy.power(x, y)


def _log(x, base=math.e):
    if base is math.e:
        return numpy.log(x)
    return numpy.log(x) / (numpy.log(base) if isinstance(base, Tensor) else math.log(base))


def _hypot(*coordinates):
    if len(coordinates) == 1:
        return abs(coordinates[0])
    return functools.reduce(numpy.hypot, coordinates)


def _dist(p, q):
    return _hypot(*[a - b for a, b in zip(p, q, strict=True)])


def _prod(items, *, start=1):
    # Python multiplies, so the product of NumPy's scalars is one: operators tell that, and 1 says nothing.
    return functools.reduce(operator.mul, items if type(start) is int and start == 1 else [start, *items])


def _fmod(x, y):
    value = math.fmod(_number(x), _number(y))
    return _moved(value, (1.0, x), (-round((_number(x) - value) / _number(y)), y))


def _remainder(x, y):
    value = math.remainder(_number(x), _number(y))
    return _moved(value, (1.0, x), (-round((_number(x) - value) / _number(y)), y))


def _modf(x):
    fraction, whole = math.modf(_number(x))
    return _moved(fraction, (1.0, x)), whole


def _frexp(x):
    fraction, exponent = math.frexp(_number(x))
    return _moved(fraction, (2.0**-exponent, x)), exponent


def _ldexp(x, i):
    return x * 2.0**i


def _sumprod(p, q):
    return functools.reduce(operator.add, [a * b for a, b in zip(p, q, strict=True)])


_ONE = {
    "acos": numpy.arccos, "acosh": numpy.arccosh, "asin": numpy.arcsin, "asinh": numpy.arcsinh, "atan": numpy.arctan,
    "atanh": numpy.arctanh, "cbrt": numpy.cbrt, "cos": numpy.cos, "cosh": numpy.cosh, "degrees": numpy.degrees,
    "erf": special.erf, "erfc": special.erfc,
    "exp": numpy.exp, "exp2": numpy.exp2, "expm1": numpy.expm1, "fabs": numpy.absolute,
    "gamma": special.gamma, "lgamma": special.gammaln, "log10": numpy.log10, "log1p": numpy.log1p, "log2": numpy.log2,
    "modf": _modf, "radians": numpy.radians, "sin": numpy.sin, "sinh": numpy.sinh, "sqrt": numpy.sqrt,
    "tan": numpy.tan, "tanh": numpy.tanh,
}  # fmt: skip
_SEVERAL = {
    "atan2": numpy.arctan2, "copysign": numpy.copysign, "fma": lambda x, y, z: x * y + z, "fmod": _fmod,
    "frexp": _frexp, "hypot": _hypot, "ldexp": _ldexp, "log": _log, "pow": _power, "remainder": _remainder,
}  # fmt: skip
_ITERABLES = {"dist": _dist, "fsum": sum, "prod": _prod, "sumprod": _sumprod}
_BY_OPERATORS = (_prod, _sumprod)  # whose results are what Python's operators make of the numbers
_PREDICATES = ("isclose", "isfinite", "isinf", "isnan")


def _complex_of_one(name):
    function = getattr(numpy, {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
                               "atan": "arctan", "atanh": "arctanh"}.get(name, name))  # fmt: skip
    return lambda x: function(_as_complex(x))


def _as_complex(x):
    return x.astype(numpy.complex128) if isinstance(x, Tensor) else complex(x)


def _complex_log(z, base=math.e):
    found = numpy.log(_as_complex(z))
    return found if base is math.e else found / numpy.log(_as_complex(base))


def _phase(z):
    z = _as_complex(z)
    return numpy.arctan2(z.imag, z.real)


def _rect(r, phi):
    return r * numpy.cos(phi) + 1j * (r * numpy.sin(phi))


_COMPLEX_ONE = {
    name: _complex_of_one(name)
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log10", "sin", "sinh",
                 "sqrt", "tan", "tanh")
}  # fmt: skip
_COMPLEX_ONE["phase"] = _phase
_COMPLEX_ONE["polar"] = lambda z: (abs(_as_complex(z)), _phase(z))
_COMPLEX_SEVERAL = {"log": _complex_log, "rect": _rect}


# -- builtins ----------------------------------------------------------------------------------------------------------


class Number(type):
    """The type of what stands in for a type of numbers: like the real type, but for calls with recorded Tensors."""

    __call__ = called_number

    def __instancecheck__(cls, obj):
        return type.__instancecheck__(cls, obj) if cls._recorded is None else isinstance_(obj, cls._real)

    def __subclasscheck__(cls, other):
        return type.__subclasscheck__(cls, other) if cls._recorded is None else issubclass(other, cls._real)

    def __eq__(cls, other):
        if other is cls or (cls._recorded is not None and other is cls._real):
            return True
        return NotImplemented  # as of any class: a dtype says itself whether it is equal, also in `dtype in (float,)`

    def __ne__(cls, other):
        return not cls == other

    def __hash__(cls):
        return type.__hash__(cls) if cls._recorded is None else hash(cls._real)

    def __or__(cls, other):
        return (cls if cls._recorded is None else cls._real) | other

    def __ror__(cls, other):
        return other | (cls if cls._recorded is None else cls._real)

    def __repr__(cls):
        return type.__repr__(cls) if cls._recorded is None else repr(cls._real)


def _float_of(*args):
    if len(args) == 1 and stays(args[0]) and args[0].dtype.kind == "f":
        float(_number(args[0]))
        return given_as_float(args[0], element(args[0]))
    return None


def _complex_of(real=0, imag=0):
    if not is_on() or not all(
        stays(x) if isinstance(x, Tensor) else isinstance(x, int | float | complex) for x in (real, imag)
    ):
        return None
    first, second = [element(x) if isinstance(x, Tensor) else x for x in (real, imag)]
    if type(imag) is int and imag == 0:
        return given_as_float(real, _as_complex(first)) if isinstance(real, Tensor) else complex(real)
    return made_float(_as_complex(first) + 1j * second)


class _TypeName(type):
    """The type of what stands in for `type`."""

    _type = None  # the stand-in itself
    __call__ = called_type

    def __instancecheck__(cls, obj):
        return isinstance(obj, type) if cls is _type else type.__instancecheck__(cls, obj)

    def __subclasscheck__(cls, other):
        return issubclass(other, type) if cls is _type else type.__subclasscheck__(cls, other)

    def __eq__(cls, other):
        return True if other is cls or (cls is _type and other is type) else NotImplemented

    def __ne__(cls, other):
        return not cls == other

    def __hash__(cls):
        return hash(type) if cls is _type else type.__hash__(cls)

    def __repr__(cls):
        return repr(type) if cls is _type else type.__repr__(cls)


# Methods of `float` and `complex` that the class is asked for, `float.__mul__(x, y)`, and what they compute.
_OPERATIONS: dict = {
    name: getattr(operator, name)
    for name in ("add", "floordiv", "mod", "mul", "pow", "sub", "truediv", "abs", "neg", "pos", "lt", "le", "gt", "ge")
}
_OPERATIONS |= {"divmod": divmod, "round": round}
_REVERSED = ("add", "divmod", "floordiv", "mod", "mul", "pow", "sub", "truediv")
_WITHOUT_SLOPE = ("__bool__", "__ceil__", "__floor__", "__int__", "__trunc__", "is_integer")
_REFUSED = ("as_integer_ratio", "hex")  # what is made of these is a number again, without a gradient


def _of_operands(operation, number, swapped):
    """The rule of an operator that is called as a method of the type `number`."""

    def rule(*args):
        converted = [_as_number(x, number) for x in args]
        return operation(*reversed(converted)) if swapped else operation(*converted)

    return rule


def _as_number(x, number):
    """An operand as a number of the type that computes, and of no class derived from it."""
    if isinstance(x, Tensor):
        return _float_of(x) if number is float else _complex_of(x)
    return x if type(x) in (int, float, complex) else number(x)


def _as_of_the_tensor(real):
    """A method of a number, called by the class: a Tensor has its own answer, which may be an error."""

    @functools.wraps(real)
    def method(x, /, *args):
        return getattr(x, real.__name__)(*args) if type(x) is Tensor and is_on() else real(x, *args)

    return method


def _methods(real):
    """dict name -> what stands in for the methods of `float` or `complex`."""
    made = {}
    for name, operation in _OPERATIONS.items():
        made[f"__{name}__"] = functools.partial(_of_several, rule=_of_operands(operation, real, False))
    for name in _REVERSED:
        made[f"__r{name}__"] = functools.partial(_of_several, rule=_of_operands(_OPERATIONS[name], real, True))
    made.update(dict.fromkeys(_WITHOUT_SLOPE, _of_plain))
    made.update(dict.fromkeys(_REFUSED, _as_of_the_tensor))
    found = {name: vars(real)[name] for name in made if name in vars(real)}
    for name, method in found.items():
        stand_in(method, made[name](method))
    return {name: stand_in_for(method) for name, method in found.items()}


def _stand_in_type(real, made):
    names = {"_real": real, "_recorded": staticmethod(made), "dtype": numpy.dtype(real), "__module__": "builtins",
             "__slots__": (), "__doc__": real.__doc__, "__init_subclass__": classmethod(derived)}  # fmt: skip
    return Number(real.__name__, (real,), {**_methods(real), **names})


def derived(cls, **kwargs):
    """A class of the program's own that names a stand-in for a type of numbers as its base: it is a plain one."""
    cls._recorded = None


_type: typing.Any = None
_type = _TypeName("type", (type,), {"__module__": "builtins", "__doc__": type.__doc__})
_TypeName._type = _type
_float = _stand_in_type(float, _float_of)
_complex = _stand_in_type(complex, _complex_of)


# -- the names ---------------------------------------------------------------------------------------------------------


def install():
    """Put what stands in for math, cmath, their functions and builtins into the table."""
    for module, of_one, of_several in ((math, _ONE, _SEVERAL), (cmath, _COMPLEX_ONE, _COMPLEX_SEVERAL)):
        for kind, rules in ((_of_one, of_one), (_of_several, of_several), (_of_iterables, _ITERABLES)):
            for name, rule in rules.items():
                real = vars(module).get(name)  # some are of later versions of Python
                if real is not None:
                    stand_in(real, kind(real, rule))
        if module is math:
            stand_in(math.log, recording_first(math.log, stand_in_for(math.log), _operation(numpy.log)))
        for name in _PREDICATES:
            stand_in(vars(module)[name], (_of_close if name == "isclose" else _of_plain)(vars(module)[name]))
        stand_in_module(module)
    CLASSES[id(Number)] = lambda cls: type  # `type(dtype) is type`
    for other, real in (
        (isinstance_, isinstance), (hasattr_, hasattr), (hash_, hash), (getattr_, getattr), (super_, super),
    ):  # fmt: skip
        other.__name__ = other.__qualname__ = real.__name__
        other.__doc__ = real.__doc__
    for real, other in (
        (float, _float), (complex, _complex), (type, _type), (isinstance, isinstance_), (hasattr, hasattr_),
        (hash, hash_), (getattr, getattr_), (super, super_),
    ):  # fmt: skip
        stand_in(real, other)
