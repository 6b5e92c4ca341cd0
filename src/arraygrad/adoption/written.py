"""Which arrays code writes into, by the names that it has for them.

May import: adoption.code, adoption.table, autograd.instructions, the standard library, numpy.

Note [Names that are written]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
An adopted call makes arrays recordable that were made before it, if its code writes into them (Note [Lent arrays] in
lent.py). Data that is only read stays plain: it costs nothing. So the instructions are asked what is written:
(1) `a[i] = x`, `a += x`, `out=a`, `np.add(x, y, a)`, and functions that write into an argument (`np.copyto(a, x)`,
    `np.add.at(a, i, x)`, `a.fill(x)`), where `a` is an attribute, a global, a variable of a closure, or an item of
    such.
(2) A local variable stands for what it was assigned from (`u = self.u`, `for row in self.rows`), a parameter for what
    calls of a function of that name hand over, and the result of such a function for what it returns.
(3) Names are compared as text, wherever they occur. So an array may be taken for a written one which is not; it is
    recordable then, with the same values. One that is missed stays plain, and a write into it is refused, as ever.
(4) Of the methods of classes only those count whose names the code says.
Guarded by tests/adoption/test_written_names.py.
"""

import builtins
import dis
import functools
import inspect
import math
import types

import numpy

from arraygrad.adoption.code import names_in
from arraygrad.adoption.table import CREATORS, LIKE
from arraygrad.autograd.instructions import start_of, steps_of

__all__ = ["WRITE_FIRST", "WRITE_SELF", "parameter", "targets_of", "without_parameters", "written"]

# Functions that write into their first argument, and methods that write into their object.
WRITE_FIRST = frozenset("copyto put place putmask put_along_axis fill_diagonal at shuffle".split())
WRITE_SELF = frozenset("fill put sort partition itemset setfield byteswap resize __setitem__ __iadd__".split())
_OUT_AT = {"dot": 2, "clip": 3}  # position of `out`, which ufuncs have behind their operands
# What these give is new memory: nothing of the program's is written through it. (A function of the program's own of
# such a name that gives an array from outside is missed: see 3.)
_FRESH = CREATORS | LIKE | {"array", "copy"}
# What these give may show the memory of what they take, or hold it.
_THROUGH = frozenset(
    """
    asarray asanyarray ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d ravel reshape squeeze transpose
    swapaxes moveaxis rollaxis expand_dims view diagonal split hsplit vsplit array_split enumerate zip reversed iter
    next list tuple get setdefault pop values items getattr
    """.split()
)
_SHOWN = frozenset(("T", "mT", "flat", "real", "imag", "base"))  # attributes that show the memory of an array
_LOCAL = frozenset(("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR"))
_NAME = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
_MEMBER = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"))
_STORES = frozenset(("STORE_FAST", "STORE_GLOBAL", "STORE_NAME", "STORE_DEREF"))
_CALLS = frozenset(("CALL", "CALL_KW"))
_NO_ARRAY = frozenset(("COMPARE_OP", "IS_OP", "CONTAINS_OP", "LOAD_CONST", "MAKE_FUNCTION", "LOAD_SMALL_INT"))
_ANY = ("parameter", None, None)  # the parameters of a function that is not known by a name
_NOTHING: frozenset = frozenset()
_MANY = 1 << 15


class _Unknown(Exception):
    """An operand that is not found: of a conditional expression."""


class _Reading:
    """What one code object writes (`targets`), and from what its names get their values (`sources`).

    A name is a text; a local variable (id of the code, its name); the parameters of functions of one name,
    by position, `self` not counted, and by keyword ("parameter", name, 0).
    """

    def __init__(self, code):
        self.code = code
        self.targets = set()
        self.sources = {}
        self._id = id(code)
        self._steps = steps_of(code)
        for i, step in enumerate(self._steps):
            try:
                self._look(i, step)
            except (_Unknown, IndexError):
                if step.opname in ("STORE_SUBSCR", "STORE_SLICE"):  # a[i if b else j] = x: all that stands in its line
                    line = [k for k, other in enumerate(self._steps[:i]) if other.line == step.line]
                    self.targets |= self._loaded(line[0], i) if line else set()
        n = code.co_argcount + code.co_kwonlyargcount
        bound = n > 0 and code.co_varnames[0] in ("self", "cls")
        for k, name in enumerate(code.co_varnames[:n]):
            given = {("parameter", code.co_name, k - bound), ("parameter", code.co_name, name), _ANY}
            self._gets((self._id, name), given)
            if name in code.co_cellvars:
                self._gets(name, given)

    def _gets(self, name, sources):
        if sources:
            self.sources.setdefault(name, set()).update(sources)

    def _start(self, end):
        """Where the instructions begin that push the value which is topmost before instruction `end`."""
        start = start_of(self._steps, end)
        if start is None:
            raise _Unknown
        return start

    def _look(self, i, step):
        name = step.opname
        if name in ("STORE_SUBSCR", "STORE_SLICE"):
            self._item(i, 2 if name == "STORE_SLICE" else 1)
        elif name == "BINARY_OP" and step.argrepr.endswith("="):
            right = self._start(i)
            self.targets |= self._of(self._start(right), right)
        elif name in _CALLS:
            self._call(i)
        elif name in _STORES:
            end = self._value_end(i)
            if end is not None:
                self._gets(self._name_of(step), self._of(self._start(end), end))
        elif name == "STORE_ATTR" and self._steps[i - 1].opname != "SWAP":
            owner = self._start(i)
            end = owner - 1 if self._steps[owner - 1].opname == "COPY" else owner
            self._gets(step.argval, self._of(self._start(end), end))
        elif name in ("UNPACK_SEQUENCE", "SWAP"):
            self._unpacked(i, step)
        elif name in ("RETURN_VALUE", "YIELD_VALUE"):
            self._gets(self.code.co_name, self._of(self._start(i), i))

    def _item(self, i, keys):
        """`container[key] = value`, and `container[key] += value`."""
        steps = self._steps
        end = i
        if steps[i - 1].opname == "SWAP":
            while steps[end - 1].opname == "SWAP":
                end -= 1
            end = self._start(end - 1) - 1  # behind the copies of container and key; at `end` the item is taken
            while steps[end - 1].opname == "COPY":
                end -= 1
        key, last = end - 1, steps[end - 1]
        for _ in range(keys):
            end = self._start(end)
        start = self._start(end)
        container = self._of(start, end)
        self.targets |= container
        if end == key and last.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and type(last.argval) in (str, int):
            self._held(container, start, type(last.argval) is str)

    def _held(self, container, end, by_text):
        """`container[0] = value` of a list or dict, which holds the value from then on.

        A value is a name, an item of a dict, or what a call gives. Items by a number (`a[0] = b[1]`) are numbers more
        often than arrays, and data that is only read is to stay plain; those that a dict is given (`d["a"] = b[1]`)
        count.
        """
        last = self._steps[end - 1]
        if last.opname == "BINARY_SUBSCR" or (last.opname == "BINARY_OP" and last.argrepr == "[]"):
            key = self._steps[end - 2]
            is_value = by_text or (isinstance(key.argval, str) and key.opname == "LOAD_CONST")
        else:
            is_value = last.opname in _LOCAL or last.opname in _NAME | _MEMBER | _CALLS
        if is_value:
            for name in container:
                self._gets(name, self._of(self._start(end), end))

    def _value_end(self, i):
        """The end of the instructions that make the value of an assignment; None where `_unpacked` tells it."""
        steps, first = self._steps, i
        while steps[first - 1].opname in _STORES:  # `a, b = c, d` stores what was pushed last first
            first -= 1
        if steps[first - 1].opname == "FOR_ITER":
            return first - 2 if first == i and steps[first - 2].opname == "GET_ITER" else None
        if steps[first - 1].opname in ("UNPACK_SEQUENCE", "SWAP"):
            return None
        end = first
        for _ in range(i - first):
            end = self._start(end)
        return end

    def _unpacked(self, i, step):
        """`a, b = c, d`, `a, b = c` and `for a, b in c`."""
        steps, n = self._steps, step.arg
        stores = steps[i + 1 : i + 1 + n]
        if step.opname == "SWAP" and n > 3:
            return
        before = steps[i - 1]
        found = []
        if step.opname == "SWAP" or (before.opname in ("BUILD_TUPLE", "BUILD_LIST") and before.arg == n):
            end = i if step.opname == "SWAP" else i - 1
            for _ in range(n):
                start = self._start(end)
                found.insert(0, self._of(start, end))
                end = start
        else:
            end = i - 2 if before.opname == "FOR_ITER" and steps[i - 2].opname == "GET_ITER" else i
            found = [self._of(self._start(end), end)] * n
        if all(store.opname in _STORES for store in stores):
            for store, sources in zip(stores, found, strict=False):
                self._gets(self._name_of(store), sources)
            return
        either = set().union(*found)  # self.a, items[0] = items[0], self.a
        for k in range(i + 1, len(steps)):
            store = steps[k]
            if not n or store.line != step.line:
                return
            n -= store.opname.startswith("STORE_")
            if store.opname in _STORES:
                self._gets(self._name_of(store), either)
            elif store.opname == "STORE_ATTR":
                self._gets(store.argval, either)
            elif store.opname == "STORE_SUBSCR":
                end = self._start(k)
                for name in self._of(self._start(end), end):
                    self._gets(name, either)

    def _name_of(self, step):
        return (self._id, step.argval) if step.opname.startswith(("STORE_FAST", "LOAD_FAST")) else step.argval

    def _of(self, start, end):
        """Names of what the value of these instructions may be, or show the memory of."""
        steps = self._steps
        last = steps[end - 1]
        if last.opname in _LOCAL or last.opname in _NAME:
            return {self._name_of(last)}
        if last.opname in _MEMBER:
            return {last.argval, *(self._of(start, end - 1) if last.argval in _SHOWN else ())}
        if last.opname == "BINARY_SUBSCR" or (last.opname == "BINARY_OP" and last.argrepr == "[]"):
            return self._of(start, self._start(end - 1))
        if last.opname == "BINARY_SLICE":
            return self._of(start, self._start(self._start(end - 1)))
        if last.opname == "BINARY_OP":
            if not last.argrepr.endswith("="):
                return _NOTHING
            right = self._start(end - 1)
            return self._of(self._start(right), right)
        if last.opname == "COPY":  # a = b = value
            return self._of(self._start(end - 1), end - 1)
        if last.opname in _NO_ARRAY or last.opname.startswith("UNARY"):
            return _NOTHING
        if last.opname in ("BUILD_LIST", "BUILD_TUPLE"):
            found, end = set(), end - 1
            for _ in range(last.arg):
                at = self._start(end)
                found |= self._of(at, end)
                end = at
            return found
        if last.opname in _CALLS:
            name, args, _, receiver = self._called(end - 1)
            if name in _FRESH:
                return _NOTHING
            found = {name} if name is not None else set()
            if name is None or name in _THROUGH:
                for part in (*args, receiver):
                    if part is not None:
                        found |= self._of(*part)
                if name == "getattr" and len(args) > 1 and steps[args[1][1] - 1].opname == "LOAD_CONST":
                    found.add(steps[args[1][1] - 1].argval)
            return found
        return self._loaded(start, end)

    def _loaded(self, start, end):
        steps = self._steps[start:end]
        return {self._name_of(s) for s in steps if s.opname in _LOCAL or s.opname in _NAME or s.opname in _MEMBER}

    def _called(self, at):
        """(name of what a call calls or None, its arguments, names of the last of them, the object of a method)."""
        steps, end, names = self._steps, at, self._steps[at].keywords
        args = []
        for _ in range(steps[at].arg):
            start = self._start(end)
            args.insert(0, (start, end))
            end = start
        while steps[end - 1].opname == "PUSH_NULL":
            end -= 1
        callee = steps[end - 1]
        receiver = None
        if callee.opname in _MEMBER:
            receiver = (self._start(end - 1), end - 1)
        name = callee.argval if callee.opname in _MEMBER or callee.opname in _NAME else None
        return name, args, names, receiver

    def _call(self, at):
        name, args, names, receiver = self._called(at)
        plain = args[: len(args) - len(names)]
        for key, part in zip(names, args[len(plain) :], strict=True):
            if key == "out":
                self.targets |= self._of(*part)
        if name in WRITE_FIRST and plain:
            self.targets |= self._of(*plain[0])
        if name in WRITE_SELF and receiver is not None:
            self.targets |= self._of(*receiver)
        ufunc = vars(numpy).get(name)
        behind = ufunc.nin if isinstance(ufunc, numpy.ufunc) else _OUT_AT.get(name, len(plain))
        for part in plain[behind:]:
            self.targets |= self._of(*part)
        if name is None or not _is_library(name):
            for k, part in enumerate(args):
                at = k if k < len(plain) else names[k - len(plain)]
                try:
                    self._gets(_ANY if name is None else ("parameter", name, at), self._of(*part))
                except _Unknown:
                    continue


@functools.cache
def _library_names():
    return (
        frozenset((*dir(numpy), *dir(numpy.ndarray), *dir(numpy.ufunc), *dir(numpy.linalg), *dir(math), *dir(builtins)))
        - _THROUGH
    )


def _is_library(name):
    """Whether a function of this name is mostly NumPy's, math's or a builtin."""
    return name in _library_names()


_readings: dict = {}  # id of a code object -> its _Reading


def _reading(code):
    known = _readings.get(id(code))
    if known is None or known.code is not code:
        if len(_readings) > _MANY:
            _readings.clear()
        known = _readings[id(code)] = _Reading(code)
    return known


def targets_of(code):
    """What a code object writes into: texts, and (id of the code, name) of local variables."""
    return _reading(code).targets if _may_write(code) else _NOTHING


def _may_write(code):
    """Whether code has an instruction, or names a function, that writes into an array; few have, and are read then."""
    steps = code.co_code
    if not _WRITING.isdisjoint(steps[::2]) or not _WRITING_NAMES.isdisjoint(code.co_names):
        return True
    if any(type(constant) is tuple and "out" in constant for constant in code.co_consts):  # names of keywords
        return True
    return any(steps[i] == _BINARY_OP and steps[i + 1] >= _IN_PLACE for i in range(0, len(steps), 2))


_WRITING = frozenset(dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap)
_BINARY_OP = dis.opmap["BINARY_OP"]
_IN_PLACE = next(
    step.arg for step in dis.get_instructions(compile("a += b", "", "exec")) if step.opname == "BINARY_OP"
)  # the first of them
_UFUNCS = [name for name, value in vars(numpy).items() if isinstance(value, numpy.ufunc)]
_WRITING_NAMES = frozenset((*WRITE_FIRST, *WRITE_SELF, *_OUT_AT, *_UFUNCS))


def _with_inner(codes):
    found, waiting = {}, list(codes)
    while waiting:
        code = waiting.pop()
        if id(code) not in found:
            found[id(code)] = code
            waiting += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [code for code in found.values() if code.co_flags & inspect.CO_OPTIMIZED]  # a class defines what it names


def written(codes, called=(), classes=()):
    """Names of the attributes, globals, cells and items that code writes arrays through: see above.

    Parameters
    ----------
    codes : iterable of code
        Of all functions and methods that a call reaches.
    called : iterable of code
        Of those that are called anyhow: the function itself.
    classes : iterable of str
        Names of classes, whose calls call `__init__`.

    Returns
    -------
    frozenset of str
        Also what `parameter` gives.
    """
    codes = _said(_with_inner(codes), {id(code) for code in called})
    readings = [_reading(code) for code in codes]
    found = set().union(*[reading.targets for reading in readings])
    if not found:
        return _NOTHING
    sources = {}
    for reading in readings:
        for name, given in reading.sources.items():
            sources.setdefault(name, set()).update(given)
    known = {code.co_name for code in codes}
    for key in [key for key in sources if isinstance(key, tuple) and key[0] == "parameter" and key[1] is not None]:
        if key[1] in classes:
            sources.setdefault(("parameter", "__init__", key[2]), set()).add(key)
        elif key[1] not in known:  # a function under another name
            sources.setdefault(_ANY, set()).add(key)
    waiting = list(found)
    while waiting:
        for name in sources.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    named = [name for name in found if isinstance(name, tuple) and name[0] == "parameter" and isinstance(name[2], str)]
    return frozenset((*[name for name in found if isinstance(name, str)], *[f"{one[1]}({one[2]})" for one in named]))


def without_parameters(names, code):
    """The `names` of `written` but for the parameters of a function."""
    return frozenset(name for name in names if not name.startswith(f"{code.co_name}("))


def parameter(code, name):
    """What stands among the names of `written` for a parameter, whose default may be an array."""
    return f"{code.co_name}({name})"


def _said(codes, called):
    """The code that may run: all but methods whose names nothing says (4)."""
    kept = [code for code in codes if id(code) in called or not _is_method(code)]
    rest = [code for code in codes if id(code) not in called and _is_method(code)]
    said = set().union(*[names_in(code) for code in kept])
    while True:
        more = [code for code in rest if code.co_name in said]
        if not more:
            return kept
        kept += more
        rest = [code for code in rest if code.co_name not in said]
        said.update(*[names_in(code) for code in more])


def _is_method(code):
    owner, _, name = code.co_qualname.rpartition(".")
    return bool(owner) and not owner.endswith("<locals>") and not (name.startswith("__") and name.endswith("__"))
