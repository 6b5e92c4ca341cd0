"""What a program keeps of an adopted call: afterwards it is what a plain call leaves, numbers and arrays.

May import: adoption.bindings, adoption.builtin_answers, adoption.code, adoption.exchange, adoption.lent,
adoption.places, autograd.instructions, core.adopted, core.convert, core.write_protection, core.tensor, the standard
library, numpy.

Note [What the program keeps]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
`TABLE["z"] = float(x * x)` puts a Tensor into the program's dict. A plain call leaves a float there, and the plain
program may ask it for what only a float has. So when the transform has computed, such places hold plain values again.
(1) Which: Tensors that were made in the adopted call, and those that the transform handed over. A Tensor that was there
    before is the program's own. A program whose code makes Tensors itself (`ag.tensor(...)`) keeps them.
(2) When: a Tensor that an adopted call makes is counted while it is alive (core/adopted.hpp), so a call that keeps none
    ends without a search: none but its result is left, and its arguments have no more references than before.
    The search comes when the outermost transform has looked at what the function returned, which may hold the same
    lists. A function that backward calls again (Note [Called later] in exchange.pyx) may read what the program has
    kept: the search waits while such a function is alive. While calls overlap on several threads it waits for the last
    of them to end; what a call that begins meanwhile makes has another number and stays.
(3) Only where the call is all of what a transform follows, as arrays are lent: Note [Lent arrays], 4.
(4) Where: in the places that places.py finds, in deques, sets, keys of dicts and arrays of objects. A tuple is made
    anew, and put into the place that holds it. Not in generators, objects of libraries and weak references.
(5) The search of a large program takes long. So the places of the last search of a function are looked at first, and
    what else their containers hold: a list grows by one number a call. If that has found as many Tensors as the call
    has left there is no search, but for the calls 1, 4, 16 and so on, as another place may have come since. What a
    search has not found is where none can, and is not waited for.
(6) As what: the type that it has in a plain call. Where that may be a Python number or a scalar of NumPy's, and is not
    known, it is a scalar, which is a float too.
Guarded by tests/adoption/test_kept_values.py.
"""

import collections
import itertools
import types

import numpy

from arraygrad.adoption.bindings import attributes_of, real_of
from arraygrad.adoption.builtin_answers import is_python_number, plain_type, raw_of
from arraygrad.adoption.code import names_in
from arraygrad.adoption.exchange import kept_functions, set_keeping
from arraygrad.adoption.lent import transforms_are_whole
from arraygrad.adoption.places import Walk, get, put
from arraygrad.autograd.instructions import steps_of
from arraygrad.core.adopted import KEPT, calls_run, is_made, note_as_made, set_settling
from arraygrad.core.convert import RUNNING
from arraygrad.core.tensor import Tensor
from arraygrad.core.write_protection import hand_back

__all__ = ["forget", "install"]

_MOST_WAITING = 16
_MOST_KNOWN = 8  # functions whose places are known
_MOST_HOLDERS = 64
_last: dict = {}  # id of code -> _Last
_is_on = False


def set_kept_plain(on):
    """Whether calls leave plain values. Off by default: a function that a solver calls again would read other ones."""
    global _is_on
    _is_on = bool(on)


# What of arraygrad's names gives plain values for plain ones.
_OF_PLAIN_PROGRAMS = frozenset(
    """
    Tensor adopt checkpoint elementwise_grad enable_grad grad gradcheck hessian hvp implicit jacfwd jacobian jacrev
    jvp
    linearize no_grad primitive set_adoption set_number_policy stop_gradient value_and_grad vjp zero_annihilates
    """.split()
)
# Modules of the standard library whose objects hold values for a program.
_CONTAINERS_OF_PYTHON = frozenset(("argparse", "collections", "functools", "queue", "types"))
_NO_CONTAINERS = (Tensor, numpy.ndarray, numpy.generic, int, float, complex, str, bytes, types.NoneType)


class _Settling(Walk):
    """The walk that puts plain values into the places of Tensors."""

    depth = 64
    objects = 1 << 16
    items = 1 << 16

    def __init__(self):
        super().__init__(())
        self._given = {}  # id of a Tensor or tuple -> (it, what stands in its place)
        self.holders = []  # (holder, key) of places that were written
        self.tensors = {}  # id of each Tensor that was found -> how often

    def may_be_key(self, key):
        return not isinstance(key, Tensor)  # the key is there: its own hash finds it

    def item(self, holder, key, value, depth, named):
        if isinstance(value, tuple | frozenset | Tensor):
            other = self._plain(value, depth)
            if other is not value and holder is not None:
                try:
                    put(holder, key, other)
                except (AttributeError, TypeError):  # a place that can't be written: of a compiled class, for one
                    return
                self.holders.append((holder, key))
        else:
            super().item(holder, key, value, depth, named)

    def array(self, holder, key, value, named):
        if value.dtype.hasobject and value.dtype == object and id(value) not in self._seen:
            self._seen[id(value)] = True
            self._kept.append(value)
            for k, item in enumerate(value.flat):
                self.item(value if value.flags.writeable else None, k, item, 0, False)

    def visit(self, value, depth=0, named=False):
        kind = type(value)
        if hasattr(kind, "__recorded__"):  # an object of an array's class: Note [Classes derived from arrays]
            return
        if id(value) not in self._seen:
            if issubclass(kind, dict):
                self._keys(value, depth)
            elif issubclass(kind, set):
                self._set(value, depth)
            elif issubclass(kind, collections.deque):
                for k, item in enumerate(list(collections.deque.__iter__(value))):
                    self.item(value, k, item, depth + 1, False)
        super().visit(value, depth, named)

    def object(self, obj, depth):
        super().object(obj, depth)
        attributes = attributes_of(obj) if type(obj).__module__ in _CONTAINERS_OF_PYTHON else None
        if attributes is not None:
            self.entries(attributes, depth)

    def _plain(self, value, depth):
        """What stands for a value that can't be changed itself; the value where nothing in it was made in the call."""
        if isinstance(value, Tensor):
            self.tensors[id(value)] = self.tensors.get(id(value), 0) + 1
        known = self._given.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, Tensor):
            made = _plain_value(value) if is_made(value) else value
        elif depth > self.depth or not _is_builtin(value):
            super().item(None, None, value, depth, False)
            return value
        else:
            made = self._of_items(value, depth)
        self._given[id(value)] = (value, made)
        return made

    def _of_items(self, value, depth):
        base = tuple if isinstance(value, tuple) else frozenset
        if base.__len__(value) > self.items:
            return value
        items = list(base.__iter__(value))
        plain = [self._part(item, depth + 1) for item in items]
        if all(new is old for new, old in zip(plain, items, strict=True)):
            return value
        made = base.__new__(type(value), plain)
        attributes = attributes_of(value)
        if attributes:
            vars(made).update(attributes)
        return made

    def _part(self, item, depth):
        """An item of a tuple, set or key."""
        if isinstance(item, tuple | frozenset | Tensor):
            return self._plain(item, depth)
        super().item(None, None, item, depth, False)
        return item

    def _keys(self, items, depth):
        """Give a dict plain keys, in its order; of equal ones the last value stays, as where a program writes twice."""
        base = collections.OrderedDict if isinstance(items, collections.OrderedDict) else dict
        if not any(isinstance(key, Tensor | tuple | frozenset) for key in dict.__iter__(items)):
            return
        pairs = list(base.items(items))
        plain = [(self._part(key, depth + 1), value) for key, value in pairs]
        if any(new is not old for (new, _), (old, _) in zip(plain, pairs, strict=True)):
            base.clear(items)
            for key, value in plain:
                base.__setitem__(items, key, value)
            self.holders.append((items, None))

    def _set(self, items, depth):
        found = list(set.__iter__(items))
        plain = [self._part(item, depth + 1) for item in found]
        if any(new is not old for new, old in zip(plain, found, strict=True)):
            set.clear(items)
            set.update(items, plain)
            self.holders.append((items, None))

    def again(self, holders):
        """Look at places that were written before, and at what else their containers hold."""
        for holder, key in holders:
            if isinstance(holder, list | set | collections.deque) or (
                isinstance(holder, dict) and "__name__" not in holder  # it is no namespace
            ):
                if isinstance(holder, dict):
                    self._keys(holder, self.depth)
                elif isinstance(holder, set):
                    self._set(holder, self.depth)
                    continue
                pairs = dict.items(holder) if isinstance(holder, dict) else enumerate(holder)
                for k, value in list(pairs):
                    if isinstance(value, Tensor | tuple | frozenset):
                        self.item(holder, k, value, self.depth, False)
            else:
                value = holder.flat[key] if type(holder) is numpy.ndarray else get(holder, key)
                if isinstance(value, Tensor | tuple | frozenset):
                    self.item(holder, key, value, self.depth, False)


def _is_builtin(value):
    """Whether a tuple or frozenset can be made anew by its builtin class: not those of C code, as os.stat_result."""
    base = tuple if isinstance(value, tuple) else frozenset
    return type(value) is base or bool(type(value).__flags__ & (1 << 9))  # made by `class`


def _plain_value(t):
    """What a Tensor is in a plain call."""
    raw = raw_of(t)
    if type(raw) is not numpy.ndarray:
        return raw
    if raw.ndim or plain_type(t) is numpy.ndarray:
        hand_back(t)
        return raw
    return raw.item() if is_python_number(t) else raw[()]


def _note(function, names, args, kwargs, functions, left):
    """Note an adopted call that has left Tensors: what it reaches is looked through by `_settle`.

    `functions`: how many functions were kept to be called later when it began. `left`: how many Tensors it has left,
    and how many references to its arguments.
    """
    if (
        not _is_on
        or not transforms_are_whole()
        or not next(iter(RUNNING.values())).plain
        or _makes_tensors(function, names)
    ):
        return
    for argument in (*args, *kwargs.values()):
        _note_arguments(argument, 4)
    roots = [a for a in (*args, *kwargs.values()) if not isinstance(a, _NO_CONTAINERS)]
    del KEPT[:-_MOST_WAITING]
    ids = frozenset(id(one) for one in _tensors_in((*args, *kwargs.values()), 4))
    KEPT.append((function, roots, [(one.namespace, one.looked_up()) for one in names], functions, left, ids))


def _tensors_in(arguments, depth):
    for argument in arguments:
        if isinstance(argument, Tensor):
            yield argument
        elif depth and type(argument) in (list, tuple, dict):
            yield from _tensors_in(argument.values() if type(argument) is dict else argument, depth - 1)


def _note_arguments(argument, depth):
    """Note what a transform has handed over as made in the call."""
    if isinstance(argument, Tensor):
        if argument.requires_grad:
            note_as_made(argument)
    elif depth and type(argument) in (list, tuple, dict):
        for part in argument.values() if type(argument) is dict else argument:
            _note_arguments(part, depth - 1)


def _makes_tensors(function, names):
    """Whether code of the call names something of arraygrad's that makes Tensors of plain values."""
    owns = [own for own in map(_own_names, names) if own]
    return bool(owns) and any(_uses(code, own) for code in _said(function, names) for own in owns)


def _own_names(names):
    """{name: value} of what is arraygrad's in a namespace."""
    own = {}
    for name in names.looked_up():
        value = real_of(names.namespace.get(name))
        module = value.__name__ if type(value) is types.ModuleType else getattr(type(value), "__module__", None)
        if isinstance(value, type | types.FunctionType):
            module = value.__module__
        if isinstance(module, str) and module.partition(".")[0] == "arraygrad":
            own[name] = value
    return own


def _said(function, names):
    """The code of namespaces that a function may run: its own, and that of functions whose names it says, and so on.

    All that was seen there where the function is no function of Python's.
    """
    rest = [code for one in names for code in one.comparing()]
    start = getattr(getattr(function, "__func__", function), "__code__", None)
    if start is None:
        return rest
    kept, said = [start], set(names_in(start))
    while True:
        more = [code for code in rest if code.co_name in said or code.co_name.startswith("__")]
        if not more:
            return kept
        kept += more
        rest = [code for code in rest if code not in more]
        said.update(*[names_in(code) for code in more])


def _uses(code, own):
    """Whether code uses one of these names of arraygrad's for more than what plain programs use it for."""
    if own.keys().isdisjoint(code.co_names):
        return False
    steps = steps_of(code)
    for step, after in itertools.pairwise(steps):
        value = own.get(step.argval) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else None
        if value is None:
            continue
        name = getattr(value, "__name__", type(value).__name__)
        if type(value) is types.ModuleType:
            name = after.argval if after.opname in ("LOAD_ATTR", "LOAD_METHOD") else None
        if name not in _OF_PLAIN_PROGRAMS and not hasattr(value, "adopts_itself"):
            return True
    return False


def _settle():
    """Put plain values into the places of what ended calls have left, as far as nothing needs it any more."""
    if RUNNING or calls_run():
        return
    ready = [one for one in KEPT if one[3] >= kept_functions()]
    KEPT[:] = [one for one in KEPT if one not in ready]
    for function, roots, namespaces, _, left, arguments in ready:
        code = getattr(getattr(function, "__func__", function), "__code__", function)
        known = _last.pop(id(code), None)
        known = _Last(code) if known is None or known.code is not code else known
        known.calls += 1
        walk = _Settling()
        walk.again(known.holders)
        if known.is_due() or not known.is_all(walk, left, arguments):
            found = walk.tensors
            walk = _Settling()
            walk.namespaces(namespaces)
            for root in (function, *roots):
                walk.item(None, None, root, 0, False)
            for one, times in found.items():
                walk.tensors[one] = walk.tensors.get(one, 0) + times
            known.note(walk, left, arguments)
        _last[id(code)] = known
        while len(_last) > _MOST_KNOWN:
            del _last[next(iter(_last))]


class _Last:
    """Where the last search has found what calls of some code had left (5)."""

    def __init__(self, code):
        self.code = code
        self.calls = 0
        self.holders = []
        self._never = (0, 0)  # how many Tensors, and references to arguments, a search does not find

    def is_due(self):
        """Whether this is one of the calls 1, 4, 16, 64, ..."""
        return self.calls & (self.calls - 1) == 0 and self.calls.bit_length() % 2 == 1

    @staticmethod
    def _count(walk, arguments):
        own = sum(times for one, times in walk.tensors.items() if one in arguments)
        return len(walk.tensors.keys() - arguments), own

    def is_all(self, walk, left, arguments):
        """Whether the places that were known have held all that a call has left."""
        found = self._count(walk, arguments)
        return all(n + never >= wanted for n, never, wanted in zip(found, self._never, left, strict=True))

    def note(self, walk, left, arguments):
        found = self._count(walk, arguments)
        self._never = tuple([max(0, wanted - n) for n, wanted in zip(found, left, strict=True)])
        places = {(id(holder), key if type(key) is str else None): (holder, key) for holder, key in walk.holders}
        self.holders = [*places.values(), *self.holders][:_MOST_HOLDERS]


def forget():
    """Forget where calls have left Tensors: `adopt.clear()`."""
    _last.clear()


def install():
    """Have transforms leave plain values."""
    set_keeping(_note)
    set_settling(_settle)
