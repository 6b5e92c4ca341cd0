"""Values that a program keeps from an earlier call, and compares with one that is differentiated.

May import: autograd.equal_by_chance, autograd.graph, autograd.python_numbers, autograd.source_locations, core.convert,
core.exposed_memory, core.tensor, the standard library, numpy.

Note [Stale caches]
~~~~~~~~~~~~~~~~~~~
`if self.last != x: self.kept = f(x); self.last = x` computes f(x) anew for another x only. If the object has seen the
same value in an earlier call, what it keeps is a constant, and the gradient through f is lost without a trace. So a
transform warns where a value that it follows is found equal to one that it does not follow (Note [Values that are
equal] in core/decisions.pyx). It says nothing of
(1) a number that stands in the comparison (`x == 0.7`), and of 0, 1 and infinities wherever they come from: a program
    asks for special points;
(2) two values that are both followed, of which one is computed from the other, or which have the same derivative: the
    step before of an iteration. Others are told in other words: Note [Values that are equal by chance];
(3) `x` and what `stop_gradient(x)`, `x.detach()` or `x.numpy()` show of the same memory;
(4) more than the first few comparisons at one place in one trace, as each look walks over a graph.
The same holds of `abs(x - self.last) > 1e-9` and `norm(x - self.last) > 0`: a size that is exactly zero, which is
compared with a bound that is not followed. The graph tells whether it is that of a difference from a constant, which
is all that no running transform follows: plain values, what is detached, and what a call that has ended has kept.
(5) a check of a constructor, `if abs(det - self.n) > 1e-4: raise`, also in a function that does nothing but compare:
    the object is made in the call, so it has kept nothing before.
(6) `norm(x - self.last) == 0` asks the same where the code, or what has called it, keeps values. Elsewhere it asks for
    a point where a formula has a kink.
(7) values without a slope: a column of numbers in a matrix of which another column is followed.
Guarded by tests/adoption/test_caches_of_one_value.py and test_columns_without_slope.py.
"""

import ast
import dis
import sys

import numpy

from arraygrad.autograd.equal_by_chance import are_twins, has_slope, looks_of, share_memory
from arraygrad.autograd.graph import walk
from arraygrad.autograd.python_numbers import is_followed, number_warnings_are_off
from arraygrad.autograd.source_locations import (
    SourceLocation,
    is_ours,
    object_of,
    own_frame,
    parsed,
    source_of,
    syntax_of_function,
    warn_at,
)
from arraygrad.core.convert import RUNNING
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, edge_of

__all__ = [
    "LOOKS",
    "is_from_a_constant",
    "looked_at",
    "looks_of_newest",
    "tell_equal",
    "tell_near",
    "tell_twins",
    "warn_of_cache",
]

LOOKS = 3
_MANY = 1024
_checks: dict = {}  # (code, line) -> whether it only checks


def looked_at(frame):
    """The program's frame that compares, if a transform runs whose values it may ask of: (4)."""
    if number_warnings_are_off() or not RUNNING:
        return None
    frame = own_frame(frame)
    looks = looks_of_newest()
    key = (frame.f_code, frame.f_lasti)
    looks[key] = looks.get(key, 0) + 1
    return None if looks[key] > LOOKS else frame


def looks_of_newest():
    """The same as `looks_of`, of the innermost trace."""
    return looks_of(list(RUNNING.values())[-1])


def tell_equal(a, b, by_program=False):
    """`a` and `b`, of which one is a Tensor that requires grad, were compared and are equal: warn of (1) to (4).

    `by_program`: the caller stands in for a function of Python's that the program has called.
    """
    frame = looked_at(sys._getframe(1))
    if frame is None:
        return
    if is_followed(a) and is_followed(b):
        if by_program or not is_ours(sys._getframe(1)):
            tell_twins(a, b, frame)
        return
    if _is_special(b if isinstance(a, Tensor) else a):
        if not is_ours(sys._getframe(1)):
            _tell_zero(*((a, b) if isinstance(a, Tensor) else (b, a)), frame)
        return
    if _names_a_number(frame):
        return
    found = [is_followed(x) for x in (a, b)]
    if found[0] == found[1] or share_memory(a, b) or _is_check_of_constructor(frame):
        return
    if has_slope(a if found[0] else b):
        _warn(frame)


def tell_twins(a, b, frame):
    """Warn of two values that are equal by chance, which the program at a frame takes for one; whether it does."""
    told = are_twins(a, b) and not _is_check(frame)
    if told:
        place = SourceLocation(frame)
        warn_at(
            place,
            f"{place}: two values that are being differentiated are equal here, and have different derivatives. If "
            "something that was computed for one of them is used for the other, as from a cache, the gradient of the "
            "other flows to the wrong one; and a branch that holds only where they are equal has its own derivative, "
            "not that of the formula around it. Differentiate at values that are not equal (x + 1e-9 * "
            "numpy.arange(x.size)), leave the cache out, or compare arraygrad.stop_gradient(x), without this warning.",
        )
    return told


def _is_check(frame):
    """Whether what a frame compares is only checked: by `assert`, or an `if` that raises."""
    code, line = frame.f_code, frame.f_lineno
    found = _checks.get((code, line))
    if found is None:
        if len(_checks) > _MANY:
            _checks.clear()
        tree, first = syntax_of_function(code)
        at = line - first + 1
        found = _checks[code, line] = tree is not None and any(
            isinstance(node, ast.Assert) or (isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise))
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt)
            and node.lineno <= at <= (node.test if isinstance(node, ast.If) else node).end_lineno
        )
    return found


def _is_check_of_constructor(frame):
    """Whether what a frame compares is only checked by a constructor, itself or through functions that compare (5)."""
    for _ in range(_CALLERS):
        if frame is None:
            return False
        code = frame.f_code
        if code.co_name in _CONSTRUCTORS:
            return _is_check(frame)
        if any(opcode in _KEEPS for opcode in code.co_code[::2]) or not _PUTS.isdisjoint(code.co_names):
            return False
        frame = frame.f_back
    return False


_CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__"))
_CALLERS = 3


def _tell_zero(size, zero, frame):
    """A size was found equal to a number such as zero (6)."""
    if isinstance(zero, Tensor) or numpy.any(_raw(zero)) or not size.requires_grad or not _fills(frame):
        return
    if not _subtracts_a_number(frame) and is_from_a_constant(size):
        _warn(frame)


def _fills(frame):
    """Whether code at a place, or what has called it, keeps values that outlive its call: (6)."""
    for _ in range(3):
        if frame is None:
            return False
        code = frame.f_code
        if any(opcode in _KEEPS for opcode in code.co_code[::2]) or not _PUTS.isdisjoint(code.co_names):
            return True
        frame = frame.f_back
    return False


_KEEPS = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR"))
_PUTS = frozenset(("append", "setattr", "setdefault", "update"))


def warn_of_cache(frame):
    """Warn of a cache that is asked at a place, unless this trace has told of one: it may be the same."""
    if not any(_TOLD in looks_of(trace) for trace in list(RUNNING.values())):
        _warn(frame)


_TOLD = "told"  # a key beside the places that were looked at


def _warn(frame):
    for trace in list(RUNNING.values()):
        looks_of(trace)[_TOLD] = 1
    place = SourceLocation(frame)
    warn_at(
        place,
        f"{place}: a value that is being differentiated is compared with one that is not, and is equal to it. If "
        "something that was computed for that value is used again, as from a cache, it is a constant: its part of the "
        "gradient is missing. Empty the cache at the beginning of the function that is differentiated "
        "(self.last = None), or make the object anew in it. Where nothing is used again, compare "
        "arraygrad.stop_gradient(x), without this warning.",
    )


_SIZES = frozenset(
    """
    AbsBackward SumBackward MaxBackward MeanBackward SqrtBackward SquareBackward MulBackward PowBackward
    NormBackward VectorNormBackward MatrixNormBackward GetitemBackward ReshapeBackward ConjBackward RealBackward
    MaximumBackward HypotBackward VecdotBackward MatmulBackward FloatPowerBackward FabsBackward EinsumBackward
    DotBackward NegBackward StackBackward
    """.split()
)
_STEPS = 12  # nodes of a graph, from a size to the differences


def tell_near(x, bound):
    """`x`, which requires grad and is zero, was compared with a bound: warn if it is a difference from a constant."""
    if is_ours(sys._getframe(1)):  # formulas of rules and libraries ask for the places where they have a kink
        return
    frame = looked_at(sys._getframe(1))
    if frame is None or _subtracts_a_number(frame) or not is_from_a_constant(x) or not is_followed(x):
        return
    if _is_check_of_constructor(frame):
        return
    _warn(frame)


def is_from_a_constant(x):
    """Whether a size is that of a difference between a value that is followed and one that is not."""
    ends = {edge.node for trace in list(RUNNING.values()) for edge in trace.edges}
    waiting, seen = [edge_of(x).node], {}
    while waiting:
        node = waiting.pop()
        if len(seen) > _STEPS:
            return False
        if id(node) in seen:
            continue
        seen[id(node)] = node
        name = node.name()
        below = [one for one, _ in node.next_functions]
        followed = [one for one in below if one is not None and not ends.isdisjoint(walk([one]))]
        if not followed:
            return False
        if name == "SubBackward":
            if len(followed) == len(below):
                return False
        elif name == "DivBackward":  # a part of a size that is followed, too, or of one that is not
            if below[0] not in followed:
                return False
            waiting.append(below[0])
        elif name in _SIZES:
            waiting += followed
        else:
            return False
    return True


def _subtracts_a_number(frame):
    """Whether the comparison at the place of a frame has a difference from a number that is written out."""
    node = parsed(source_of(frame.f_code, frame.f_lasti, frame.f_globals))
    return node is not None and any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Sub)
        and any(isinstance(side, ast.Constant) for side in (part.left, part.right))
        and not any(_divides_names(side, frame) for side in (part.left, part.right))
        for part in ast.walk(node)
    )


def _divides_names(node, frame):
    """Whether syntax is that of `x / self.last`, which is compared with one, and not that of two followed values."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
        return False
    sides = node.left, node.right
    if any(isinstance(side, ast.Constant) for side in sides):
        return False
    values = [object_of(side, frame) for side in sides]
    return not all(isinstance(value, Tensor) and is_followed(value) for value in values)


def _is_special(value):
    values = numpy.asarray(_raw(value))
    return values.dtype.kind in "biufc" and bool(((values == 0) | (numpy.abs(values) == 1) | numpy.isinf(values)).all())


def _names_a_number(frame):
    """Whether the comparison at the place of a frame has a number written out on one of its sides."""
    node = parsed(source_of(frame.f_code, frame.f_lasti, frame.f_globals))
    return isinstance(node, ast.Compare) and any(
        isinstance(side.operand if isinstance(side, ast.UnaryOp) else side, ast.Constant)
        for side in (node.left, *node.comparators)
    )


def _raw(x):
    return raw_array(x) if isinstance(x, Tensor) else x
