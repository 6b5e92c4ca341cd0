"""Copies of functions of the program, with other values in places that they read.

May import: adoption.namespaces, autograd.closed_functions, autograd.function_snapshots, core.containers, core.tensor,
numpy.

Note [What a function reads] in lifting.py and Note [What calls leave] in carried.py say what they are for.
"""

import collections
import copy
import enum
import functools
import operator
import types

import numpy

from arraygrad.adoption.namespaces import PASSING
from arraygrad.autograd.closed_functions import called_by
from arraygrad.autograd.function_snapshots import contents_of, function_over, names_of, written_cells
from arraygrad.core.containers import flatten
from arraygrad.core.tensor import Tensor

__all__ = ["Copier", "Copies", "Walk", "attributes_of", "is_recorded", "live_contents", "shared_attributes"]

_LISTS = (list, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_MOST = 5000  # so many things are followed
_FEW = 256  # items of a container that is no log
# Objects of these are not copied: what they hold stays.
_LIBRARIES = frozenset(["numpy", "scipy", "arraygrad", "builtins", "array_api_compat"])
_MUTABLE = (numpy.ndarray, Tensor, list, dict, set, collections.deque)


def is_recorded(leaf):
    """Whether it is a Tensor that requires grad."""
    return isinstance(leaf, Tensor) and leaf.requires_grad


class Walk:
    """What a function leads to, and who holds it.

    Parameters
    ----------
    f : callable
    left_out : set of int
        Ids of cells that are not followed.
    shared : bool
        Objects lead to the arrays and containers of their classes, too, and long containers to nothing: they are logs.
    """

    def __init__(self, f, left_out=frozenset(), shared=False):
        self.holders = {}  # id -> ids of those that hold it
        self.things = [f]  # all but Tensors and arrays
        self.arrays = {}  # id -> Tensor that requires no grad, or array of NumPy
        self.labels = {}  # id -> what the program calls it
        self._left_out, self._shared = left_out, shared
        seen = {id(f)}
        at = 0
        while at < len(self.things) and len(seen) < _MOST:
            one = self.things[at]
            at += 1
            for label, part in self._parts(one):
                self.holders.setdefault(id(part), []).append(id(one))
                if id(part) in seen:
                    continue
                if isinstance(part, (numpy.ndarray, Tensor)):
                    if not is_recorded(part):
                        self.arrays[id(part)] = part
                elif type(part) not in _PLAIN:
                    seen.add(id(part))
                    self.things.append(part)
                self.labels.setdefault(id(part), label or self.labels.get(id(one), ""))

    def leading(self, ids):
        """Ids of these things, and of what leads to them."""
        found, waiting = set(ids), list(ids)
        while waiting:
            for holder in self.holders.get(waiting.pop(), ()):
                if holder not in found:
                    found.add(holder)
                    waiting.append(holder)
        return found

    def _parts(self, one):
        """(name, what a thing holds that may be copied)."""
        if isinstance(one, types.FunctionType):
            names = one.__code__.co_freevars
            parts = [
                (name, cell)
                for name, cell in zip(names, one.__closure__ or (), strict=True)
                if id(cell) not in self._left_out
            ]
            parts += [("", one.__defaults__), ("", one.__kwdefaults__)]
            space = one.__globals__
            if space.get("__name__", "").partition(".")[0] not in _LIBRARIES:
                parts += [(name, space[name]) for name in names_of(one.__code__) if name in space]
            return parts
        if isinstance(one, types.MethodType):
            return [("self", one.__self__), ("", one.__func__)]
        if isinstance(one, functools.partial):
            return [("", one.func), ("", one.args), ("", one.keywords)]
        if called_by(one) is not None:
            return [("", called_by(one))]
        if self._shared and type(one) in (*_LISTS, *_DICTS, set) and len(one) > _FEW:
            return []
        if isinstance(one, (types.CellType, tuple)) or type(one) in _LISTS or type(one) is set:
            return [("", part) for part in (contents_of(one) if isinstance(one, types.CellType) else one)]
        if type(one) in _DICTS:
            return [("", part) for part in one.values()]
        if hasattr(type(one), "__del__"):
            return []  # the end of a copy would close what the object holds
        name = self.labels.get(id(one)) or type(one).__name__
        held = attributes_of(one)
        parts = [(f"{name}.{key}", part) for key, part in held.items()]
        if self._shared:
            parts += [(f"{name}.{key}", part) for key, part in shared_attributes(one, held).items()]
        return parts


_PLAIN = frozenset((float, int, complex, str, bytes, bool, type(None), numpy.float64, numpy.float32, type, type(len)))


def _is_same(before, now):
    """Whether contents, a dict or a sequence, are the very same things in the same places."""
    if isinstance(before, dict):
        return before.keys() == now.keys() and all(value is now[key] for key, value in before.items())
    return len(before) == len(now) and all(map(operator.is_, before, now))


class Copies:
    """Copies of what leads from a function to some Tensors: Note [What a function reads], 1."""

    def __init__(self, f, tensors):
        self.ids = [id(t) for t in tensors]
        walk = Walk(f, written_cells(f))
        self._alive = walk.things
        self.leading = walk.leading(self.ids)

    def of(self, one, values):
        """`one` with these values in the places of the Tensors; the very same where it leads to none of them."""
        return self.copier(values).of(one)

    def copier(self, values):
        """What copies, with these values in the places of the Tensors."""
        return Copier(self, dict(zip(self.ids, values, strict=True)))

    def leads(self, one):
        return id(one) in self.leading

    def contents(self, one, variant):
        """What the copy of a thing holds."""
        return live_contents(one)

    def space(self, f, variant):
        """{name: value} of the globals of a copied function that are others than the function's."""
        space = f.__globals__
        names = [name for name in names_of(f.__code__) if name in space and self.leads(space[name])]
        return {name: space[name] for name in names}


class Copier:
    """One copy of everything, so that what was one thing is one thing again.

    `made`: {id: copy}, of those that are there already; `variant` is for `plan.contents`.
    """

    def __init__(self, plan, made, variant=None):
        self.plan, self.made, self.variant = plan, made, variant
        self.spaces = {}
        self.filled = []  # (thing, its copy, what the copy was given)

    def of(self, one):
        if id(one) in self.made:
            return self.made[id(one)]
        if not self.plan.leads(one):
            return one
        if isinstance(one, types.FunctionType):
            return self._function(one)
        if isinstance(one, types.MethodType):
            return types.MethodType(self.of(one.__func__), self.of(one.__self__))
        if isinstance(one, functools.partial):
            return type(one)(self.of(one.func), *self.of(one.args), **self.of(one.keywords))
        if called_by(one) is not None:
            made = self.made[id(one)] = one.made_over(self.of(called_by(one)))
            return made
        if isinstance(one, tuple):
            parts = [self.of(part) for part in one]
            return type(one)._make(parts) if hasattr(type(one), "_make") else type(one)(parts)
        return self._thing(one)

    def changed(self):
        """Whether a copy holds other things than it was given."""
        return any(not _is_same(given, live_contents(made)) for _, made, given in self.filled)

    def _thing(self, one):
        kind = type(one)
        contents = self.plan.contents(one, self.variant)
        if contents is None:
            return one
        listed = kind in _LISTS or kind is set
        made = self.made[id(one)] = copy.copy(one) if listed or kind in _DICTS else _shell(one)
        if listed:
            made.clear()
            given = [self.of(part) for part in contents]
            made.update(given) if kind is set else made.extend(given)
        elif kind in _DICTS:
            made.clear()
            given = {key: self.of(part) for key, part in contents.items()}
            made.update(given)
        else:
            given = {}
            for name, part in contents.items():
                if not self._is_computed_again(one, name, part):
                    given[name] = self.of(part)
                    object.__setattr__(made, name, given[name])
        self.filled.append((one, made, given))
        return made

    def _is_computed_again(self, one, name, part):
        """Whether an attribute is what a cached property has computed of the Tensors since: of their old values."""
        return (
            isinstance(getattr(type(one), name, None), functools.cached_property)
            and not self.plan.leads(part)
            and any(map(is_recorded, flatten(part)[0]))
        )

    def _function(self, f):
        values = self.plan.space(f, self.variant)
        space = f.__globals__
        if values and space.get("__name__", "").partition(".")[0] not in _LIBRARIES:
            if id(space) not in self.spaces:
                self.spaces[id(space)] = dict(space) | {PASSING: None}
            space = self.spaces[id(space)]
        else:
            values, space = {}, self.spaces.get(id(space), space)
        made = function_over(f, self.plan.leads, self.of, self.made, space, self._cell)
        for name, value in values.items():
            space[name] = self.of(value)
        made.__dict__ = f.__dict__  # what a function keeps on itself, `f.calls += 1`, is found by the program
        return made

    def _cell(self, old, new):
        """Fill the copy of a cell."""
        contents = self.plan.contents(old, self.variant)
        given = [self.of(part) for part in contents]
        for part in given:
            new.cell_contents = part
        self.filled.append((old, new, given))


def live_contents(one):
    """What a thing holds now: a dict of attributes or items, a list of items, a tuple of those of a set; or None."""
    kind = type(one)
    if kind is types.CellType:
        return contents_of(one)
    if kind is set:
        return tuple(one)
    if kind in _LISTS:
        return list(one)
    if kind in _DICTS:
        return dict(one)
    if isinstance(one, (type, types.FunctionType, types.MethodType, functools.partial, tuple)):
        return None
    return attributes_of(one) if _has_attributes(one) else None


def _shell(one):
    """An object of the same class, without attributes: no code of the program runs."""
    return types.SimpleNamespace() if type(one) is types.SimpleNamespace else object.__new__(type(one))


def _has_attributes(one):
    cls = type(one)
    if cls is types.SimpleNamespace:
        return True
    library = cls.__module__.partition(".")[0] in _LIBRARIES
    return not (isinstance(one, type) or library or hasattr(cls, "__del__")) and _made_of_object(cls)


def attributes_of(one):
    """{name: value} of what an object of a program's class holds, in its dict and its slots; {} for anything else."""
    cls = type(one)
    if cls is types.SimpleNamespace:
        return vars(one)
    if not _has_attributes(one):
        return {}
    held = getattr(one, "__dict__", None)
    found = dict(held) if type(held) is dict else {}
    for name, member in _slots(cls):
        if name not in found:
            try:
                found[name] = member.__get__(one)
            except AttributeError:  # not assigned
                continue
    return found


def _slots(cls):
    return [
        (name, member)
        for base in cls.__mro__
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    ]


def shared_attributes(one, own):
    """{name: value} of the arrays and containers that the class of an object holds, where the object has none."""
    cls = type(one)
    if not _has_attributes(one) or not hasattr(one, "__dict__") or cls is types.SimpleNamespace:
        return {}
    found = {}
    for base in cls.__mro__[:-1]:
        for name, value in list(vars(base).items()):
            if isinstance(value, _MUTABLE) and name not in own and name not in found and not name.startswith("__"):
                found[name] = value
    return found


@functools.lru_cache(maxsize=1024)
def _made_of_object(cls):
    """Whether a class and its bases are made by `class` statements, so that its objects are no more than attributes.

    Compiled code may make classes with the same flag. Those have a compiled `__new__` of their own. Members of an
    enumeration are compared by `is`.
    """
    if issubclass(cls, enum.Enum) or cls.__flags__ & _NEVER_MADE:
        return False
    return all(
        base is object
        or (base.__flags__ & _MADE_BY_CLASS and not isinstance(vars(base).get("__new__"), types.BuiltinFunctionType))
        for base in cls.__mro__
    )


_MADE_BY_CLASS, _NEVER_MADE = 1 << 9, 1 << 7  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_DISALLOW_INSTANTIATION
