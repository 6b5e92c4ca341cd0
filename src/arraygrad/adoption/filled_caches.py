"""Caches whose keys are whole numbers or text that is made of a value: what an earlier call has put there is told.

May import: adoption.exchange, adoption.text_names, autograd.equal_by_chance, autograd.python_numbers,
autograd.source_locations, autograd.stale_caches, core.convert, core.exposed_memory, core.tensor, the standard library,
numpy.

Note [Filled caches]
~~~~~~~~~~~~~~~~~~~~
`k = int(x * 1e6)`, `if k not in CACHE: CACHE[k] = x * x`: the key holds no gradient, and what an earlier call has put
there is a constant. A Tensor as a key of a cache meets no equal one (Note [Keys that are equal]), so such a cache
computes anew and says nothing.
(1) The code of a function that fills a dict under such a key, and reads the dict, is rewritten (Note [Code that is
    rewritten]): `int(...)` and its like, in the key, note what they make of a followed Tensor. Numbers in text are
    noted anyhow: Note [Numbers read from text].
(2) What is found in a dict under a noted key, and is no value that the running transform follows, is told.
(3) What is computed of the key alone has no other derivative: `CACHE[k] = table(k)` says nothing. Nor do lists and
    arrays that are indexed by such a number, nor dicts that the function makes itself, but as in (4).
(4) What is found under a key that several values have made, and is followed, is told if these have different
    derivatives: Note [Values that are equal by chance]. So the calls that make text and hashes of a key, f-strings and
    `'%g' % x` are rewritten as well.
(5) A key may be made in any other way: text of a list, joined or cut text, digests, functions of the program. So where
    the dict is asked, the followed values in the names that its key is computed from are noted, and (4) is asked of
    those that were noted under an equal key before.
Guarded by tests/adoption/test_filled_caches.py.
"""

import ast
import itertools
import sys

import numpy

from arraygrad.adoption.exchange import TEXTS, is_on
from arraygrad.adoption.text_names import numbers_written
from arraygrad.autograd.equal_by_chance import looks_of
from arraygrad.autograd.python_numbers import is_followed
from arraygrad.autograd.source_locations import SourceLocation, warn_at
from arraygrad.autograd.stale_caches import looked_at, looks_of_newest, tell_twins
from arraygrad.core.convert import RUNNING
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor

__all__ = [
    "Caches", "asked_for", "item", "key_made", "looked_up", "place_of", "text_made",
]  # fmt: skip

# Names of functions that make whole numbers and text, of which keys are made.
_CUTS = frozenset("ceil floor int rint round trunc".split())
_TEXTS = frozenset("format hash repr str".split())
_LOOKS = frozenset(("get", "setdefault", "pop"))
_OF_SHAPE = frozenset("dtype id len ndim shape size type".split())  # what these give says nothing of a value
_PLAIN = (float, complex, numpy.floating, numpy.complexfloating)
_MANY = 4096
_MAKERS = 4  # so many values that made one key are kept, of so many keys
_MADE = 256
_keys: dict = {}  # a key -> id of the transform that ran when it was made of a followed value


def place_of(node):
    """The syntax of a name, attribute or item as text, the same where it is read and where it is written."""
    return ast.dump(node).replace("Store()", "Load()")


class Caches:
    """The caches that a function fills, as the syntax of the function tells."""

    def __init__(self, nodes):
        self._assigned = {}  # name -> what is assigned to it
        filled = []  # (syntax of the dict, of the key, of the value)
        looked = set()
        for node in nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        self._assigned.setdefault(target.id, []).append(node.value)
                    elif isinstance(target, ast.Subscript):
                        filled.append((target.value, target.slice, node.value))
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) in _LOOKS and node.args:
                looked.add(place_of(node.func.value))
                if node.func.attr == "setdefault" and len(node.args) == 2:
                    filled.append((node.func.value, *node.args))
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                looked.add(place_of(node.comparators[0]))
            elif isinstance(node, ast.Try):
                looked.update(place_of(part.value) for part in ast.walk(node) if isinstance(part, ast.Subscript))
        # How those are written -> (whether constants in them are not looked at: the function itself makes the dict, or
        # its keys are made in other ways than (1); the names and attributes that keys are computed from (5)).
        self.dicts = {}
        self.keys = set()  # ids of the syntax of calls that make keys
        for holder, key, value in filled:
            text = place_of(holder)
            made = self._made(key)
            if text not in looked or self._is_of_key(value, key):
                continue
            places = self._places(key)
            if made or places:
                is_new, known = self.dicts.get(text, (True, ()))
                is_new = is_new and (not made or self._is_new(holder))
                self.dicts[text] = is_new, tuple(dict.fromkeys((*known, *places)))
                self.keys.update(map(id, made))

    def _places(self, key):
        """The names and attributes, as tuples of names, that a key is computed from by calls or operators (5)."""
        found = []
        waiting = list(dict.fromkeys(self._computed(key)))
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Call):
                if _name_called(node) not in _OF_SHAPE:
                    waiting += [*node.args, *[one.value for one in node.keywords]]
                    waiting += [node.func.value] if isinstance(node.func, ast.Attribute) else []
            elif isinstance(node, ast.Name | ast.Attribute):
                place = _path(node)
                if place is not None and not _OF_SHAPE.intersection(place[1:]):
                    found.append(place)
                elif place is None and node.attr not in _OF_SHAPE:
                    waiting.append(node.value)
            else:
                waiting += ast.iter_child_nodes(node)
        return found

    def _computed(self, key):
        """The parts of a key, and of what its names are assigned from, that are more than a name or a constant."""
        waiting, known = [key], set()
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name):
                if node.id not in known:
                    known.add(node.id)
                    waiting += self._assigned.get(node.id, ())
            elif isinstance(node, ast.Tuple):
                waiting += node.elts
            elif not isinstance(node, ast.Constant):
                yield node
                waiting += [one for one in ast.walk(node) if isinstance(one, ast.Name) and one is not node]

    def _parts(self, node):
        """The syntax of an expression, with that of what its names are assigned from."""
        yield from ast.walk(node)
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                for value in self._assigned.get(part.id, ()):
                    yield from ast.walk(value)

    def _made(self, key):
        """The calls and texts in a key that hold no gradient."""
        return [
            part
            for part in self._parts(key)
            if isinstance(part, ast.JoinedStr)
            or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod))
            or (isinstance(part, ast.Call) and _name_called(part) in _CUTS | _TEXTS)
        ]

    def _is_new(self, holder):
        """Whether the function itself makes what it fills."""
        if not isinstance(holder, ast.Name):
            return False
        made = self._assigned.get(holder.id, ())
        return any(
            isinstance(value, ast.Dict | ast.DictComp | ast.List | ast.ListComp)
            or (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("dict", "list"))
            for value in made
        )

    def _is_of_key(self, value, key):
        """Whether a value is computed of the key alone (3)."""
        if isinstance(value, ast.Name) and value.id in self._assigned:
            value = ast.Tuple(self._assigned[value.id], ast.Load())
        called = {id(node.func) for node in ast.walk(value) if isinstance(node, ast.Call)}
        calls = [part for part in self._parts(key) if isinstance(part, ast.Call)]
        inner = {id(part) for made in [*calls, *self._made(key)] for part in ast.walk(made)}  # what the key is made of
        of_key = {part.id for part in ast.walk(key) if isinstance(part, ast.Name) and id(part) not in inner} | {"self"}
        named = {part.id for part in ast.walk(value) if isinstance(part, ast.Name) and id(part) not in called}
        of_modules = {
            part.value.id
            for part in ast.walk(value)
            if isinstance(part, ast.Attribute) and id(part) in called and isinstance(part.value, ast.Name)
        }
        return bool(named & of_key) and named <= of_key | of_modules


def _path(node):
    """The names of `a.b.c`, None of what is no name or attribute of one."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else None


def _name_called(node):
    func = getattr(node, "func", None)
    return getattr(func, "id", getattr(func, "attr", None))


def key_made(function, *args, **kwargs):
    """What a function makes of its arguments, noted as a key where one of them is followed (1)."""
    made = function(*args, **kwargs)
    if RUNNING and is_on():
        _note(made, args)
    return made


def text_made(text, *values):
    """A text that is made of values, noted as a key in the same way."""
    if RUNNING and is_on():
        _note(text, values)
    return text


def _note(made, values):
    values = [value for value in values if is_followed(value)]
    if not values:
        return
    if len(_keys) > _MANY:
        _keys.clear()
    try:
        trace = next(reversed(RUNNING.values()))
        if not isinstance(made, str):  # the numbers of texts are noted anyhow
            _keys[made] = id(trace)
    except (TypeError, StopIteration, RuntimeError):  # it is no key, or a transform of another thread has ended
        return
    makers = looks_of(trace).setdefault(_KEYS, {})
    if len(makers) < _MADE or made in makers:
        known = makers.setdefault(made, [])
        known += [value for value in values if not any(value is one for one in known)][: _MAKERS - len(known)]


_KEYS = "keys made"  # beside the places that a trace has looked at: {key: the values that it was made of}


def item(is_new, places, holder, key):
    """`holder[key]`; see `Caches.dicts`."""
    found = holder[key]
    if RUNNING and isinstance(holder, dict):
        _tell(found, key, is_new, places, holder, sys._getframe(1))
    return found


def looked_up(is_new, places, method, key, *default):
    """`holder.get(key)` and its like."""
    found = method(key, *default)
    holder = getattr(method, "__self__", None)
    if RUNNING and isinstance(holder, dict):
        _tell(found, key, is_new, places, holder, sys._getframe(1))
    return found


def asked_for(places, key, holder):
    """`key in holder`."""
    found = key in holder
    if RUNNING and isinstance(holder, dict) and is_on():
        _others(places, holder, key, sys._getframe(1))
    return found


def _tell(found, key, is_new, places, holder, frame):
    if not is_on():
        return
    pairs = _others(places, holder, key, frame)
    if any(map(is_followed, found if isinstance(found, list | tuple) else [found])):
        if not _tell_of_others(key, frame) and pairs and (own := looked_at(frame)) is not None:
            any(tell_twins(first, other, own) for first, other in pairs)
        return
    if is_new or not _is_noted(key) or not _is_constant(found):
        return
    at = SourceLocation(frame)
    warn_at(
        at,
        f"{at}: a cache holds a value of an earlier call, under a key that was made of what is being differentiated. "
        "The key holds no gradient, and what is found there is a constant: its part of the gradient is missing. Empty "
        "the cache where the function begins, or make it there; arraygrad.stop_gradient(x) in the key where a constant "
        "is meant",
    )


def _tell_of_others(key, frame):
    """What is found under a key is followed: warn if it may be that of another value which made the key (4)."""
    if isinstance(key, tuple):
        return any(_tell_of_others(part, frame) for part in key)
    try:
        first, *others = looks_of_newest().get(_KEYS, {}).get(key, ())
    except (TypeError, ValueError, IndexError):  # no key, no maker, another thread's call ended
        return False
    if others and (own := looked_at(frame)) is not None:
        return any(tell_twins(first, other, own) for other in others)
    return False


def _others(places, holder, key, frame):
    """Pairs of equal values of which the second is in a place now, and the first was when the key was asked for (5)."""
    if not places or isinstance(key, Tensor):
        return []
    names = frame.f_locals
    now = [(place, value) for place in places for value in _followed_in(_value_of(place, names))]
    if not now:
        return []
    try:
        asked = looks_of_newest().setdefault(_PLACES, {})
        at = id(holder), key
        if at not in asked and len(asked) >= _MADE:
            return []
        before = asked.setdefault(at, [])
    except (TypeError, IndexError):  # it is no key, or a transform of another thread has ended
        return []
    pairs = [
        (one, value)
        for place, value in now
        for other, one in before
        if other == place and one is not value and _are_equal(one, value)
    ]
    new = [(place, value) for place, value in now if not any(value is one for _, one in before)]
    before += new[: _MAKERS * len(places) - len(before)]
    return pairs


_PLACES = "places of keys"  # beside `_KEYS`: {(id of a dict, key): [(place, value), ...]}
_ITEMS = 16  # so many values of a container or object


def _value_of(place, names):
    """What a name and attributes of it hold, as far as that is known without running code."""
    value = names.get(place[0])
    for name in place[1:]:
        value = getattr(value, "__dict__", {}).get(name)
    return value


def _followed_in(value, depth=2):
    """The followed values in containers and objects that are nested so deep."""
    if isinstance(value, Tensor):
        return [value] if is_followed(value) else []
    if not depth or isinstance(value, type | str | bytes):
        return []
    if isinstance(value, list | tuple | set | frozenset):
        parts = itertools.islice(value, _ITEMS)
    else:
        named = value if isinstance(value, dict) else getattr(value, "__dict__", {})
        parts = itertools.islice(named.values(), _ITEMS)
    return [one for part in list(parts) for one in _followed_in(part, depth - 1)]


def _are_equal(a, b):
    a, b = raw_array(a), raw_array(b)
    return type(a) is type(b) is numpy.ndarray and a.shape == b.shape and bool((a == b).all())


def _is_noted(key):
    if isinstance(key, tuple):
        return any(map(_is_noted, key))
    if isinstance(key, str):
        return bool(TEXTS) and any(number in TEXTS for number in numbers_written(key))
    if isinstance(key, Tensor):
        return False
    try:
        trace = _keys.get(key)
    except TypeError:
        return False
    return trace is not None and any(id(one) == trace for one in list(RUNNING.values()))


def _is_constant(found):
    """Whether a value has numbers, and none that a running transform follows."""
    if isinstance(found, list | tuple):
        return any(map(_is_constant, found)) and not any(map(is_followed, found))
    if isinstance(found, Tensor):
        return found.dtype.kind in "fc" and not is_followed(found)
    return isinstance(found, _PLAIN) or (isinstance(found, numpy.ndarray) and found.dtype.kind in "fc")
