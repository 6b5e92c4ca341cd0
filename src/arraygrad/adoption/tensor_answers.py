"""What a Tensor answers in adopted calls where no name could hold a stand-in: see Note [Questions of the program].

Note [Files of adoption] in __init__.py names the files beside it.

May import: adoption.builtin_answers, adoption.exchange, adoption.reach, autograd.instructions, the standard library,
numpy.

The instruction that asks says whether the program asks: `x.__class__`, `case float():` and `x.shape` of code that
adoption may reach, and a `functools.singledispatch`, get the answer of the plain value. What is asked by libraries, and
by compiled code that the program calls, gets that of a Tensor.
Guarded by tests/adoption/test_adopted_answers.py.
"""

import abc
import functools
import operator
import re
import sys
import threading

import numpy

from arraygrad._hints import set_refused
from arraygrad.adoption.builtin_answers import (
    is_python_number,
    made_float,
    no_attribute,
    number_in,
    plain_type,
    raw_of,
    refuse_open,
    twin_type,
    type_of,
)
from arraygrad.adoption.exchange import TEXTS, is_on
from arraygrad.adoption.reach import adoptable
from arraygrad.autograd.instructions import steps_of
from arraygrad.core.adopted import note_quiet
from arraygrad.core.convert import known_refusal
from arraygrad.core.tensor import Tensor

__all__ = ["ask_attribute", "class_of", "dispatches_tensors", "of_numbers", "text_of"]

_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_QUESTIONS = _ATTRIBUTE | {"MATCH_CLASS"}
_programs: dict = {}  # id of a code object -> (it, the places of its instructions, none where it can't ask)
_MANY = 4096  # so many of these are kept
_TEXTS = 2048
_LONG = 4096  # characters: the words of longer texts are not kept
_BRACKETS = re.compile(r"[\[\](){},:;=%]+|array|tensor")
_DISPATCHERS = vars(functools)
# They call a program's functions: numpy.vectorize(str)(x), CACHE[str(x)].
_FOR_PROGRAMS = frozenset(("arraygrad.numpy_api.rearranging", "arraygrad.adoption.filled_caches"))
_ABSTRACT = abc.ABCMeta.__instancecheck__.__code__
_OPERATORS = {
    "truediv": operator.truediv, "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
}  # fmt: skip
_SPELLED = {  # the operator, and NumPy's function
    "truediv": ("/", "divide"), "floordiv": ("//", "floor_divide"), "mod": ("%", "remainder"), "pow": ("**", "power"),
}  # fmt: skip
# The types of NumPy's that a match tells from a Python number.
_SCALARS = frozenset(
    (numpy.float64, numpy.complex128, numpy.floating, numpy.complexfloating, numpy.inexact, numpy.number, numpy.generic)
)
_SCALAR_NAMES = frozenset(kind.__name__ for kind in _SCALARS) | {"double", "float_", "cdouble"}


def _asking(frame):
    """(frame, index of the instruction that it is at), None where that is no code of the program."""
    while frame is not None and frame.f_code.co_filename.endswith(".pyx"):
        frame = frame.f_back  # a build with line events has frames of its own
    if frame is None:
        return None
    code = frame.f_code
    known = _programs.get(id(code))
    if known is None or known[0] is not code:
        if len(_programs) > _MANY:
            _programs.clear()
        asks = adoptable(frame.f_globals) and any(step.opname in _QUESTIONS for step in steps_of(code))
        known = _programs[id(code)] = (code, {s.offset: i for i, s in enumerate(steps_of(code))} if asks else {})
    at = known[1].get(frame.f_lasti)
    return None if at is None else (frame, at)


def class_of(t):
    """What `t.__class__` is: the plain type where the program asks, be it by a `case` of a match."""
    if not is_on():
        return type(t)
    frame = sys._getframe(1)
    if frame.f_globals is _DISPATCHERS and not dispatches_tensors(frame):
        return type_of(t, frame)
    abstract = frame.f_code is _ABSTRACT  # the class of a `case` may be an abstract one
    asking = _asking(frame.f_back if abstract else frame)
    if asking is not None:
        frame, at = asking
        step = steps_of(frame.f_code)[at]
        if step.opname == "MATCH_CLASS":
            return _matched(t, frame, at)
        if not abstract and step.opname in _ATTRIBUTE and step.argval == "__class__":
            return type_of(t, frame)
    if not abstract and frame.f_globals is not _DISPATCHERS:
        note_quiet(frame, True)
    return type(t)


def dispatches_tensors(frame):
    """Whether a function of functools that asks for a class is no single dispatch, or has a function for Tensors."""
    dispatch = frame.f_locals.get("dispatch")
    if "registry" in getattr(getattr(dispatch, "__code__", None), "co_freevars", ()):
        registry = dispatch.__closure__[dispatch.__code__.co_freevars.index("registry")].cell_contents
    else:
        holder = frame.f_locals.get("self", frame.f_locals.get("dispatcher"))
        holder = getattr(holder, "_unbound", holder)  # from Python 3.14 a bound singledispatchmethod stands between
        registry = getattr(getattr(holder, "dispatcher", holder), "registry", None)
    return registry is None or Tensor in registry


def _matched(t, frame, at):
    """The plain type, for the instruction that matches it with a class."""
    number = is_python_number(t)
    if number:
        return twin_type(t)
    if number is None:
        named = steps_of(frame.f_code)[at - 2].argval  # the class, and the names of its attributes, come before
        value = frame.f_locals.get(named, frame.f_globals.get(named))
        if named in _SCALAR_NAMES or (isinstance(value, type) and value in _SCALARS):
            refuse_open(t, f"case {named}()")
    return plain_type(t)


def ask_attribute(t, name):
    """Refuse an attribute that the program asks of what is a Python number in a plain call."""
    if not is_on():
        return
    asking = _asking(sys._getframe(1))
    if asking is not None:
        step = steps_of(asking[0].f_code)[asking[1]]
        if step.opname in _ATTRIBUTE and step.argval == name and is_python_number(t):
            raise no_attribute(t, name)


def _lacks(t, name, error):
    """The error for an attribute that a Tensor lacks; its plain value may have it, and the program catch the error."""
    return known_refusal((t,), error) if is_on() and hasattr(plain_type(t), name) else error


set_refused(_lacks)


def text_of(t, shown):
    """`str(t)`, or `repr(t)` if `shown`: of the plain value. None: that of the Tensor."""
    if not is_on():
        return None
    asker = sys._getframe(1).f_globals.get("__name__", "")
    if asker.partition(".")[0] == "arraygrad" and asker not in _FOR_PROGRAMS:
        return None
    raw = raw_of(t)
    if not isinstance(raw, numpy.ndarray):
        return None
    value = raw[()] if not raw.ndim and isinstance(plain_type(t), type) and plain_type(t) is not numpy.ndarray else raw
    if shown and isinstance(value, numpy.generic) and is_python_number(t) is not False:
        value = value.item()
    text = repr(value) if shown else str(value)
    if t.requires_grad:
        note_text(text)
    return text


def note_text(text):
    """Note the text of a number, or of an array of few, which float() warns of: what it reads has no gradient."""
    if not is_on():
        return
    words = _BRACKETS.sub(" ", text).split() if len(text) <= _LONG else ()
    here = threading.get_ident()
    for word in (text, text.replace(",", ""), *words[:_TEXTS]):
        number = number_in(word)
        if number is not None:
            TEXTS[number] = here
    while len(TEXTS) > _TEXTS:
        TEXTS.pop(next(iter(TEXTS), None), None)  # the oldest; another thread may have removed it


def of_numbers(name, a, b):
    """What an operator gives for two Python numbers where NumPy's scalars give something else; None where they do not.

    Raises
    ------
    ZeroDivisionError, OverflowError
        As Python does.
    TypeError
        If it is not known whether the operands are Python's numbers, and these alone raise, or have a complex power.
    """
    if not is_on():
        return None
    y = _value(b)
    if y is None or (y and name != "pow"):
        return None
    x = _value(a)
    if x is None:
        return None
    try:
        made = _OPERATORS[name](x, y)
    except (ZeroDivisionError, OverflowError) as error:
        known = _are_python_numbers(a, b)
        if known:
            raise
        if known is None:
            sign, function = _SPELLED[name]
            raise TypeError(
                f"{x} {sign} {y} raises {type(error).__name__} for Python's floats and gives inf or nan for scalars of "
                "NumPy's, and which of them the operands are in a plain call is not known in an adopted one. Test the "
                f"operands before, as by `if y == 0`, or use numpy.{function}(x, y) for inf or nan"
            ) from None
        return None
    if not isinstance(made, complex):
        return None
    known = _are_python_numbers(a, b)
    if known is None:
        raise TypeError(
            f"{x} ** {y} is complex for Python's floats and nan for scalars of NumPy's, and which of them the operands "
            "are in a plain call is not known in an adopted one. Use complex(x) ** y for the complex number, "
            "numpy.power(x, y) for nan"
        )
    if not known:
        return None
    return made_float((a.astype(numpy.complex128) if isinstance(a, Tensor) else complex(a)) ** b)


def _value(x):
    """The value of a real number of Python's, or of a Tensor that may be one; None for anything else."""
    if isinstance(x, Tensor):
        raw = raw_of(x)
        plain = isinstance(raw, numpy.ndarray) and raw.ndim == 0 and raw.dtype == numpy.float64
        return raw.item() if plain else None
    return x if type(x) in (int, float, bool) else None


def _are_python_numbers(*operands):
    """Whether all operands are Python's numbers in a plain call; None where that is not known."""
    found = [is_python_number(x) if isinstance(x, Tensor) else True for x in operands]
    return False if False in found else None if None in found else True
