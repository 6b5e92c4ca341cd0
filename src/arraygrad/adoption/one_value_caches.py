"""Caches of one value, by the form of their code: what an earlier call has put there is told where it is used again.

May import: adoption.exchange, adoption.filled_caches, autograd.instructions, autograd.python_numbers,
autograd.source_locations, autograd.stale_caches, core.convert, core.exposed_memory, core.tensor, the standard library,
numpy.

Note [Caches of one value]
~~~~~~~~~~~~~~~~~~~~~~~~~~
`if <test of self.last and x>: self.last = x; self.kept = f(x)`, and `self.kept` is read afterwards. The test may be of
any kind: text, hashes, sets, signs, functions of libraries. So not the comparison is looked at (Note [Stale caches] has
those that are told anywhere) but what the test decides:
(1) An `if` whose test reads a place that outlives the call (an attribute, a global or nonlocal name, an item), whose
    body fills this place and another one that the function reads, keeps a value where the test fails. An `if` that
    returns such a place, which statements elsewhere fill, keeps one where the test holds. Its test goes through
    `asked` (Note [Code that is rewritten]).
(2) That is told if what is kept holds numbers that no running transform follows, and what the place of the test would
    get is followed and has the value that the place has. A record of the best value so far is another thing: its
    values differ.
(3) Where the place would get a key, text or a hash that is made in the assignment, the test has to ask for equality.
(4) stop_gradient or detach in what is put there says that a constant is meant.
(5) A loop that ends where `abs(new - self.z)` is below a bound, and that keeps its iterate in `self.z`, ends at its
    first step where an earlier call has left the solution there: its gradient is that of one step.
Guarded by tests/adoption/test_caches_of_one_value.py.
"""

import ast
import sys

import numpy

from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.filled_caches import place_of
from arraygrad.autograd.instructions import steps_of
from arraygrad.autograd.python_numbers import is_followed
from arraygrad.autograd.source_locations import object_of
from arraygrad.autograd.stale_caches import LOOKS, is_from_a_constant, looked_at, looks_of_newest, warn_of_cache
from arraygrad.core.convert import RUNNING
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor

__all__ = ["OneValue", "asked", "may_keep"]

_KEPT = (ast.Attribute, ast.Name, ast.Subscript)
_CONSTANTS = frozenset(("stop_gradient", "detach"))
_NEAR = 1e-6
_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_STORES = {"STORE_ATTR": "LOAD_ATTR", "STORE_GLOBAL": "LOAD_GLOBAL", "STORE_DEREF": "LOAD_DEREF"}


def may_keep(code):
    """Whether code stores a place that outlives its call, and reads one of that name."""
    steps = steps_of(code)
    stored = {(_STORES[step.opname], step.argval) for step in steps if step.opname in _STORES}
    return any((step.opname, step.argval) in stored for step in steps)


class _Cache:
    """What is looked at where a test says that a value is kept.

    Attributes
    ----------
    misses : bool
        What the test says where the value is computed anew.
    places : list of (syntax of a place that the test reads, syntax of what is put there)
    values : list of syntax of places whose values are used
    parts : list of syntax of what the places are computed from
    asks_equality : bool
    """

    __slots__ = ("asks_equality", "misses", "parts", "places", "values")

    def __init__(self, hit, places, values, parts, asks_equality):
        self.misses, self.places, self.values = not hit, places, values
        self.parts, self.asks_equality = parts, asks_equality


class OneValue:
    """The caches of one value in a function, by the ids of the syntax of their tests: `tests`."""

    def __init__(self, nodes):
        self.tests = {}
        outer = {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
        self._outer = outer
        self._assigned = {}  # local name -> what is assigned to it
        filled = []  # (id of the statement, dump of the place, the place, the value)
        for node in nodes:
            for target, value in _assignments(node):
                if self._outlives(target):
                    filled.append((id(node), place_of(target), target, value))
                elif isinstance(target, ast.Name):
                    self._assigned.setdefault(target.id, []).append(value)
        if not filled:
            return
        for node in nodes:
            if isinstance(node, ast.If):
                self._note(node, nodes, filled)
            elif isinstance(node, ast.While | ast.For):
                self._note_ends(node, {text for _, text, _, _ in filled})

    def _outlives(self, target):
        if isinstance(target, ast.Name):
            return target.id in self._outer
        return isinstance(target, _KEPT)

    def _note(self, node, nodes, filled):
        read = {place_of(part) for part in self._parts(node.test) if isinstance(part, _KEPT)}
        if not any(text in read for _, text, _, _ in filled):
            return
        inside = {id(part) for statement in node.body for part in ast.walk(statement)}
        within = [one for one in filled if one[0] in inside]
        others = [one for one in filled if one[0] not in inside]
        returns = isinstance(node.body[-1], ast.Return)
        filled, hit = (others, True) if returns and not within else (within, False)
        places = [(place, value) for _, text, place, value in filled if text in read]
        if not places:
            return
        tested = {id(part) for part in ast.walk(node.test)}
        used = [
            place_of(part)
            for part in nodes
            if isinstance(part, _KEPT)
            and isinstance(part.ctx, ast.Load)
            and id(part) not in tested
            and ((id(part) in inside) == hit)
        ]
        together = {place_of(place) for place, value in places if isinstance(value, ast.Tuple | ast.List | ast.Dict)}
        values = [place for _, text, place, _ in filled if (text not in read or text in together) and text in used]
        if not values:
            return
        parts = [part for _, value in places for part in self._parts(value)]
        if any(getattr(part, "attr", getattr(part, "id", None)) in _CONSTANTS for part in parts):  # (4)
            return
        equality = any(
            isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq | ast.NotEq)
            for part in self._parts(node.test)
        )
        self.tests[id(node.test)] = _Cache(hit, places, values, [p for p in parts if isinstance(p, _KEPT)], equality)

    def _note_ends(self, loop, filled):
        """The tests that end a loop of a function that keeps its iterate: (5)."""
        if not any(place_of(part) in filled for part in ast.walk(loop) if isinstance(part, _KEPT)):
            return
        ends = [(loop.test, False)] if isinstance(loop, ast.While) else []
        for node in ast.walk(loop):
            if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Break | ast.Return):
                ends.append((node.test, True))
        for test, hit in ends:
            if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _BOUNDS) or id(test) in self.tests:
                continue
            sides = [
                (part.left, part.right)
                for part in self._parts(test)
                if isinstance(part, ast.BinOp)
                and isinstance(part.op, ast.Sub)
                and all(isinstance(side, _KEPT) for side in (part.left, part.right))
            ]
            sizes = [part for part in ast.walk(test) if isinstance(part, ast.Name)]
            if any(place_of(side) in filled for pair in sides for side in pair):
                self.tests[id(test)] = _Cache(hit, sides, sizes, None, False)

    def _parts(self, node, depth=3):
        """The syntax of an expression, with that of what its names are assigned from."""
        for part in ast.walk(node):
            yield part
            if depth and isinstance(part, ast.Name):
                for value in self._assigned.get(part.id, ()):
                    yield from self._parts(value, depth - 1)


def _assignments(node):
    """Pairs (target, value) of a statement."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        targets = [node.target]
    else:
        return
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            values = getattr(node.value, "elts", ())
            for i, one in enumerate(target.elts):
                yield one, values[i] if len(values) == len(target.elts) else node.value
        else:
            yield target, node.value


def asked(answer, cache):
    """`answer`, that of the test of a cache."""
    if not RUNNING:
        return answer
    try:
        if answer is cache.misses or bool(answer) is cache.misses:
            return answer
        looks = next(reversed(RUNNING)).looked
        count = looks.get(cache, 0)
    except AttributeError:  # nothing was looked at yet
        count = 0
    except (TypeError, ValueError, RuntimeError, StopIteration):  # the `if` will raise it; another thread's call ended
        return answer
    if count < LOOKS and is_on():
        looks_of_newest()[cache] = count + 1
        _look(cache, sys._getframe(1))
    return answer


def _look(cache, here):
    frame = looked_at(here)
    if frame is not None and cache.parts is None:
        if any(_ends_at_once(*pair, cache.values, frame) for pair in cache.places):
            warn_of_cache(frame)
        return
    if frame is None or not any(_is_followed(object_of(part, frame)) for part in cache.parts):
        return
    if not any(_is_constant(object_of(place, frame)) for place in cache.values):
        return
    if any(_is_same(object_of(place, frame), value, cache, frame) for place, value in cache.places):
        warn_of_cache(frame)


def _ends_at_once(left, right, sizes, frame):
    """Whether the difference of two places is small, and one of them is of an earlier call: (5)."""
    a, b = [object_of(side, frame) for side in (left, right)]
    if not all(isinstance(one, Tensor | float | numpy.floating | numpy.ndarray) for one in (a, b)):
        return False
    largest = numpy.max(numpy.abs(numpy.asarray(_raw(b))), initial=0.0)
    for one in sizes:  # of what was computed before the place was written
        size = object_of(one, frame)
        if isinstance(size, Tensor) and _is_followed(size) and is_from_a_constant(size):
            return bool(numpy.all(numpy.abs(_raw(size)) <= _NEAR * largest))
    if _is_followed(a) == _is_followed(b) or numpy.shape(_raw(a)) != numpy.shape(_raw(b)):
        return False
    return bool(numpy.max(numpy.abs(numpy.asarray(_raw(a)) - _raw(b)), initial=0.0) <= _NEAR * largest)


def _is_same(kept, syntax, cache, frame):
    """Whether a place has the value that it would get: (2), (3)."""
    if kept is None:
        return False
    if isinstance(syntax, ast.Tuple | ast.List):
        if not isinstance(kept, tuple | list) or len(kept) != len(syntax.elts):
            return False
        return any(_is_same(one, part, cache, frame) for one, part in zip(kept, syntax.elts, strict=True))
    if isinstance(kept, Tensor) and _is_followed(kept):
        return False
    if isinstance(syntax, ast.IfExp):
        return any(_is_same(kept, one, cache, frame) for one in (syntax.body, syntax.orelse))
    while isinstance(syntax, ast.Call):
        if len(syntax.args) == 1:
            syntax = syntax.args[0]
        elif not syntax.args and isinstance(syntax.func, ast.Attribute):
            syntax = syntax.func.value
        else:
            return False
    new = object_of(syntax, frame)
    if isinstance(kept, str | bytes | int) or new is None:
        return new == kept if isinstance(new, str | bytes | int) else cache.asks_equality
    if isinstance(new, Tensor) and not _is_followed(new):
        return False
    a, b = [numpy.asarray(_raw(one)) for one in (new, kept)]
    if a.shape != b.shape or a.dtype.kind not in "fciu" or b.dtype.kind not in "fciu" or not a.size:
        return cache.asks_equality and isinstance(kept, tuple)
    return bool(numpy.all(numpy.abs(a - b) <= _NEAR * numpy.abs(b)))


def _raw(x):
    if isinstance(x, Tensor):
        return raw_array(x)
    return [_raw(one) for one in x] if isinstance(x, list | tuple) else x


def _is_followed(x):
    if isinstance(x, list | tuple):
        return any(map(_is_followed, x[:8]))
    return is_followed(x)


def _is_constant(x):
    """Whether a value has numbers, and none that a running transform follows."""
    if isinstance(x, list | tuple):
        return any(map(_is_constant, x[:8])) and not _is_followed(x)
    if isinstance(x, dict):
        return _is_constant(list(x.values()))
    if isinstance(x, Tensor):
        return x.dtype.kind in "fc" and not _is_followed(x)
    if isinstance(x, numpy.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, float | complex | numpy.floating | numpy.complexfloating)
