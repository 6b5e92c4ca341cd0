"""What a Tensor answers otherwise than its plain value where no adopted call runs: the program is told of it.

May import: adoption.builtin_answers, adoption.exchange, adoption.tensor_answers, adoption.reach,
autograd.source_locations, autograd.python_numbers, the standard library, numpy.

`isinstance(x, float)` of a Tensor is False, and the program goes on in another branch than in a plain call: the value
and the gradient are those of another function. Without adoption no name can hold a stand-in that answers as for the
plain value. But `isinstance` reads `__class__` of what is no instance by its type, and `hasattr(x, "shape")` reads the
attribute: so the question is seen, and a warning says so where the plain value answers otherwise.

The instruction that asks says whether the program asks. What libraries ask is theirs: their answer for a Tensor is the
one that their code is written for. What was found of an instruction is kept, so that a loop asks once.
Guarded by tests/adoption/test_unadopted_questions.py.
"""

import ast
import builtins
import functools
import linecache
import sys
import types

import numpy

from arraygrad.adoption.builtin_answers import is_python_number, plain_type, twin_type
from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.reach import adoptable
from arraygrad.adoption.tensor_answers import dispatches_tensors
from arraygrad.autograd.python_numbers import followed_by
from arraygrad.autograd.source_locations import SourceLocation, warn_at
from arraygrad.core.adopted import note_quiet
from arraygrad.core.tensor import Tensor

__all__ = ["tell_attribute", "tell_class"]

_MANY = 4096  # so many instructions are known
_known: dict = {}  # (code, offset of an instruction) -> what it asks: a tuple of classes, their syntax, _NOTHING
_NOTHING = object()  # it asks nothing of the object's class
_ISSCALAR = getattr(numpy.isscalar, "__wrapped__", numpy.isscalar).__code__
_DISPATCHERS = vars(functools)
_LACKED = ("shape", "ndim", "size", "dtype")


def tell_class(t):
    """Warn if the program asks for the class of `t`, which requires grad, and its plain value answers otherwise."""
    if is_on():
        return
    frame = _python(sys._getframe(1))
    if frame is None:
        return
    if frame.f_globals is _DISPATCHERS:
        _tell_dispatch(t, frame)
        return
    while frame.f_code.co_name in ("__instancecheck__", "__subclasshook__") and not adoptable(frame.f_globals):
        frame = frame.f_back  # an abstract class, a protocol
        if frame is None:
            return
    if frame.f_code is _ISSCALAR:
        frame = frame.f_back
        if frame is not None and adoptable(frame.f_globals):
            _compare(t, frame, None)
        return
    if not adoptable(frame.f_globals):
        return
    asked = _asked(frame)
    if asked is _NOTHING:
        note_quiet(frame, False)
    else:
        _compare(t, frame, _classes(asked, frame) if isinstance(asked, ast.expr) else asked)


def tell_attribute(t, name):
    """Warn if the program tries whether `t`, which requires grad, has an attribute that a Python number lacks."""
    if is_on():
        return
    frame = _python(sys._getframe(1))
    if frame is None or not adoptable(frame.f_globals) or not _tries(frame):
        return
    if is_python_number(t) and followed_by(t):
        _warn(t, frame, f"a Tensor has an attribute {name!r}, which the Python number lacks that it is in a plain call")


def _python(frame):
    """The innermost frame of Python code."""
    while frame is not None and frame.f_code.co_filename.endswith(".pyx"):
        frame = frame.f_back  # a build with line events has frames of its own
    return frame


# -- what an instruction asks ------------------------------------------------------------------------------------------


def _asked(frame):
    """The classes that the instruction asks for, which a frame is at; their syntax where a call sets them; _NOTHING."""
    key = (frame.f_code, frame.f_lasti)
    known = _known.get(key)
    if known is None:
        if len(_known) > _MANY:
            _known.clear()
        known = _known[key] = _look(frame)
    return known


def _look(frame):
    node = _node(frame)
    if node is None:  # no source
        return _named(frame.f_code, frame) if "isinstance" in frame.f_code.co_names else _NOTHING
    if isinstance(node, ast.Attribute):
        return (type,) if node.attr == "__class__" else _NOTHING
    if not isinstance(node, ast.Call):
        return _NOTHING
    called = _value(node.func, frame)
    if isinstance(called, type) and "MATCH_CLASS" in _operation(frame):
        return (called,)
    if called is not isinstance:
        text = ast.dump(node)
        return _named(frame.f_code, frame) if "'isinstance'" in text else _NOTHING
    if len(node.args) != 2:
        return _NOTHING
    inner = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
    code = frame.f_code
    if inner & {*code.co_varnames, *code.co_freevars, *code.co_cellvars}:
        return node.args[1]
    return _classes(node.args[1], frame)


def _classes(node, frame):
    """The second argument of the isinstance that a frame is at, as a tuple."""
    found = _flat(_value(node, frame))
    return (numpy.generic, numpy.ndarray, float, complex) if None in found else found  # not known: as good as told


def _flat(classes):
    if isinstance(classes, (tuple, list, set, frozenset)):
        return tuple(one for part in classes for one in _flat(part))
    if isinstance(classes, types.UnionType):
        return _flat(classes.__args__)
    return (classes,) if isinstance(classes, type) or classes is None else ()


def _named(code, frame):
    """All classes that a function names at all: where it is not known which of them are asked for."""
    names = (*code.co_names, *code.co_varnames, *code.co_freevars)
    found = [_lookup(name, frame) for name in names]
    found += [getattr(numpy, name) for name in names if isinstance(getattr(numpy, name, None), type)]
    return tuple(one for value in found if value is not None for one in _flat(value) if one is not None)


def _node(frame):
    """The syntax of the expression that a frame is computing; None: its source is not known."""
    try:
        first, last, start, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    except IndexError:
        return None
    if None in (first, last, start, end):
        return None
    lines = [linecache.getline(frame.f_code.co_filename, n, frame.f_globals).encode() for n in range(first, last + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1][:end]  # columns count bytes
    lines[0] = lines[0][start:]
    try:
        return ast.parse(b"(" + b"".join(lines) + b"\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _operation(frame):
    import dis

    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti:
            return step.opname
    return ""


def _value(node, frame):
    """The value of an expression of names, attributes, tuples and unions; None where it is not known."""
    if isinstance(node, ast.Name):
        return _lookup(node.id, frame)
    if isinstance(node, ast.Attribute):
        holder = _value(node.value, frame)
        if holder is None or isinstance(holder, Tensor):
            return None
        return getattr(holder, node.attr, None)
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_value(item, frame) for item in node.elts)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        holder = _value(node.value, frame)
        return holder.get(node.slice.value) if type(holder) is dict else None
    if isinstance(node, ast.Call) and _value(node.func, frame) in (tuple, list, set) and len(node.args) == 1:
        return _value(node.args[0], frame)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.Add)):
        return (_value(node.left, frame), _value(node.right, frame))
    return None


def _lookup(name, frame):
    for space in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name in space:
            return space[name]
    return None


def _tries(frame):
    """Whether the instruction that a frame is at survives a missing attribute: hasattr, getattr, within a `try`."""
    key = (frame.f_code, frame.f_lasti, "tries")
    if key not in _known:
        if len(_known) > _MANY:
            _known.clear()
        node = _node(frame)
        called = _value(node.func, frame) if isinstance(node, ast.Call) else None
        _known[key] = called in (hasattr, getattr) or (
            isinstance(node, ast.Attribute) and node.attr in _LACKED and _is_in_try(frame)
        )
    return _known[key]


def _is_in_try(frame):
    """Whether an exception that the instruction raises is handled in the same function."""
    table = getattr(frame.f_code, "co_exceptiontable", b"")
    if not table:
        return False
    import dis

    return any(
        entry.start <= frame.f_lasti < entry.end and not entry.lasti
        for entry in dis.Bytecode(frame.f_code).exception_entries
    )


# -- what the plain value answers --------------------------------------------------------------------------------------


def _plain_types(t):
    """The classes that the value of `t` may have in a plain call."""
    number, kind = is_python_number(t), plain_type(t)
    if number is False:
        return (kind,)
    return (twin_type(t),) if number else (kind, twin_type(t))


def _answer(kind, classes):
    try:
        return issubclass(kind, classes)
    except TypeError:  # a protocol with attributes
        return None


def _compare(t, frame, classes):
    """Warn if the plain value is an instance of the classes, or a scalar (None), and a Tensor not, or vice versa."""
    kinds = _plain_types(t)
    if classes is None:
        if not any(issubclass(kind, (float, complex, numpy.generic)) for kind in kinds):
            return
        told = "numpy.isscalar is False of a Tensor, and True of the number that it is in a plain call"
    elif classes == (type,):
        told = f"the class of a Tensor is Tensor, not {_names(kinds)} as in a plain call"
    else:
        ours = _answer(Tensor, classes)
        differing = [kind for kind in kinds if _answer(kind, classes) not in (ours, None)]
        if ours is None or not differing:
            return
        told = f"isinstance is {ours} of a Tensor, and {not ours} of {_names(differing)}, which it is in a plain call"
    if followed_by(t):
        _warn(t, frame, told)


def _names(kinds):
    return " or ".join(
        f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else f"a Python {kind.__name__}" for kind in kinds
    )


def _tell_dispatch(t, frame):
    """A function that functools chooses by the class."""
    if dispatches_tensors(frame):
        return
    place = frame.f_back
    if place is not None and adoptable(place.f_globals) and followed_by(t):
        kinds = _names(_plain_types(t))
        _warn(
            t, place, f"functools chooses the function for a Tensor, not that for {kinds}, which it is in a plain call"
        )


def _warn(t, frame, told):
    at = SourceLocation(frame)
    warn_at(
        at,
        f"{at}: {told}, so the program may take another branch than a plain call, and have another value and gradient. "
        "With adopt=True, as in arraygrad.grad(f, adopt=True), a Tensor answers as its plain value; "
        "isinstance(x, arraygrad.Tensor) asks for a Tensor",
    )
