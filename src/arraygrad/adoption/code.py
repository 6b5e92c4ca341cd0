"""What the code of a function says: the names that it looks up, what it imports, and itself with other imports.

May import: adoption.table, autograd.instructions, the standard library.
"""

import dis
import itertools
import re
import sys
import types

from arraygrad.adoption.table import STAND_IN_MODULES, stands_for
from arraygrad.autograd.instructions import is_called, steps_of

__all__ = [
    "IS_OP", "SEARCHES", "beside_comparisons", "compared_globals", "handed_over", "imported", "imported_at_once",
    "importing_stand_ins", "names_in", "takes_attribute_of", "unknown_comparison", "uses_array_type",
]  # fmt: skip

_IMPORT = dis.opmap["IMPORT_NAME"]
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
IS_OP = dis.opmap["IS_OP"]
_MANY = 1 << 15  # so many code objects are kept
_ITEMS = 256  # how many values beside an `in` or `==` are looked at


_named: dict = {}  # id of a code object -> (it, the names in it)


def names_in(code):
    """All names that code, and code of functions in it, looks up, be it as globals or attributes."""
    known = _named.get(id(code))
    if known is not None and known[0] is code:
        return known[1]
    names = frozenset(code.co_names).union(
        *[names_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    )
    if len(_named) > _MANY:
        _named.clear()
    _named[id(code)] = (code, names)
    return names


def imported(code, package):
    """Names of the modules that the body of a function of a package, and of functions in it, imports."""
    names = set()
    if _IMPORT in code.co_code[::2]:
        steps = steps_of(code)
        for i, step in enumerate(steps):
            if step.opcode == _IMPORT:
                names |= _imported_by(steps, i, package)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(imported(constant, package))
    return names


def _imported_by(steps, i, package):
    """Names of the modules that an instruction imports; what is imported from a package may be one."""
    name, level, wanted = steps[i].argval, steps[i - 2].argval, steps[i - 1].argval
    if isinstance(level, int) and level and package:
        name = ".".join([*package.split(".")[: -level + 1 or None], *filter(None, [name])])
    return {name, *[f"{name}.{part}" for part in wanted or () if part != "*"]}


def imported_at_once(code, package):
    """Names of the modules that the body of a function imports whatever happens: before any branch, and in no `try`."""
    if _IMPORT not in code.co_code[::2]:
        return set()
    entries = dis.Bytecode(code).exception_entries
    end = min([step.offset for step in steps_of(code) if step.opcode in _JUMPS], default=len(code.co_code))
    end = min([end, *[entry.start for entry in entries]])
    names = set()
    steps = steps_of(code)
    for i, step in enumerate(steps):
        if step.opcode == _IMPORT and step.offset < end:
            names |= _imported_by(steps, i, package)
    return names


def _tells_identity(code):
    """Whether code, or code of functions in it, compares anything but constants by `is`."""
    for before, step in itertools.pairwise(steps_of(code)):
        if step.opname == "IS_OP" and before.opname != "LOAD_CONST":
            return True
    return any(_tells_identity(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


def _other_than_called(code):
    """Names of the modules that code imports something of, which it does anything with but call it.

    What has no stand-in is the same object either way, and does not count: classes of warnings and errors.
    """
    bound, module = {}, None  # a name -> the module that it is from
    found = set()
    steps = steps_of(code)
    for i, step in enumerate(steps):
        if step.opcode == _IMPORT:
            module = step.argval
            if steps[i + 1].opname != "IMPORT_FROM":
                found.add(module)
        elif step.opname == "IMPORT_FROM":
            if _is_same_either_way(module, step.argval):
                continue
            bound[steps[i + 1].argval] = module
            if steps[i + 1].opname != "STORE_FAST":
                found.add(module)
        elif step.argval in bound and step.opname.startswith("LOAD_FAST") and not is_called(steps, i):
            found.add(bound[step.argval])
        elif step.opname.startswith("LOAD_FAST") and type(step.argval) is tuple:  # several by one instruction
            found.update([bound[name] for name in step.argval if name in bound])
    return found


def _is_same_either_way(module, name):
    """Whether a name of a module is the same object in what stands in for the module."""
    real, other = [sys.modules.get(one) for one in (module, STAND_IN_MODULES.get(module))]
    missing = object()
    found = getattr(real, name, missing)
    return found is not missing and getattr(other, name, None) is found


_KNOWN = ("LOAD_CONST", "LOAD_COMMON_CONSTANT", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_NAME")


def unknown_comparison(code, namespace):
    """The first instruction that compares by `is` what is neither a constant nor a global, nor `self` or its class.

    None where code has none. An attribute of a global module or class is known as well. So are the classes that methods
    made by `dataclass` compare. Functions in the code are not looked at.
    """
    if IS_OP not in code.co_code[::2] or code.co_qualname.startswith("__create_fn__."):
        return None
    steps = steps_of(code)
    for i, step in enumerate(steps):
        if step.opcode == IS_OP and steps[i - 1].opname not in _KNOWN:
            at = i - 1
            if steps[at].opname == "LOAD_ATTR" and steps[at].argval == "__class__":
                at -= 1
            if not _is_self(steps[at]) and not _is_member(steps, i - 1, namespace):
                return step
    return None


def _is_self(step):
    """Whether an instruction loads the local variable `self`."""
    return step.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) and step.argval == "self"


def _is_member(steps, at, namespace):
    """Whether an instruction loads an attribute, or one of an attribute and so on, of a global module or class."""
    end = at
    while at and steps[at].opname == "LOAD_ATTR":
        at -= 1
    if at == end or steps[at].opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
        return False
    value = namespace.get(steps[at].argval)
    for step in steps[at + 1 : end + 1]:
        if not isinstance(value, type | types.ModuleType) or step.argval not in vars(value):
            return False
        value = vars(value)[step.argval]
    return True


_LOADS = ("LOAD_", "BUILD_")
_EQUAL = bytes((dis.opmap["COMPARE_OP"], dis.opmap["CONTAINS_OP"]))
_BARE = bytes(dis.opmap[name] for name in ("CACHE", "NOP", "PRECALL") if name in dis.opmap)
_NAMES = b"[" + b"".join(re.escape(bytes((dis.opmap[n],))) for n in ("LOAD_GLOBAL", "LOAD_NAME")) + b"]"
_SUBSCRIPTS = frozenset((dis.opmap.get("BINARY_SUBSCR", dis.opmap["BINARY_OP"]),))  # since 3.14 an operator
_READ = b"".join(
    re.escape(bytes((c,))) for n, c in dis.opmap.items() if c < 256 and (n.startswith(_LOADS) or c in _SUBSCRIPTS)
)
# The opcodes of a global that is compared by `==`, `in` or `is`; what `dis` says of each takes much longer.
_MAY_COMPARE = re.compile(
    _NAMES + b"(?:[" + _READ + b"]*[" + re.escape(_EQUAL) + b"]|.{0,3}" + re.escape(bytes((IS_OP,))) + b")", re.DOTALL
)


SEARCHES = frozenset(("count", "index", "remove"))  # methods of lists and tuples that compare


def takes_attribute_of(code, name):
    """Whether code, or code of functions in it, takes an attribute of what a global holds: `super.__setattr__`."""
    if name not in names_in(code):
        return False
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    return any(
        before.opname in loads and before.argval == name and after.opname in ("LOAD_ATTR", "LOAD_METHOD")
        for before, after in itertools.pairwise(steps_of(code))
    ) or any(takes_attribute_of(one, name) for one in code.co_consts if isinstance(one, types.CodeType))


def compared_globals(code):
    """(instruction, all instructions, index of the one that loads a global) for each global that one compares.

    Also where a method of SEARCHES is taken of it.
    """
    searches = not SEARCHES.isdisjoint(code.co_names)
    if not searches and not _MAY_COMPARE.search(code.co_code[::2].translate(None, _BARE)):
        return
    steps = steps_of(code)
    for i, step in enumerate(steps):
        if searches and _names(step, SEARCHES) and steps[i - 1].opcode in _NAMING:
            yield step, steps, i - 1
        if step.opcode != IS_OP and step.opcode not in _EQUAL:
            continue
        for j in range(i - 1, max(-1, i - (5 if step.opcode == IS_OP else _ITEMS)), -1):
            if steps[j].opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                yield step, steps, j
            elif step.opcode != IS_OP and not (steps[j].opname.startswith(_LOADS) or steps[j].opcode in _SUBSCRIPTS):
                break


_NAMING = frozenset(dis.hasname)
_ENDS = ("STORE_", "POP_", "RETURN_", "FOR_ITER")  # instructions that end an expression


def _names(step, names):
    return step.opcode in _NAMING and step.argval in names


def beside_comparisons(code, names):
    """Which of the names code loads in an expression that compares something by `is`, `in`, `==` or `!=`."""
    found = set()
    ops = code.co_code[::2]
    if not names or not any(op in ops for op in (IS_OP, *_EQUAL)):
        return found
    loaded = []
    before = None
    for step in steps_of(code):
        if _names(step, names) and (before is None or before.argval != "len"):
            loaded.append(step.argval)
        elif step.opcode == IS_OP or (step.opcode in _EQUAL and step.argval not in ("<", "<=", ">", ">=")):
            found.update(loaded)
        elif step.opname.startswith(_ENDS):
            loaded.clear()
        before = step
    return found


_uses: dict = {}  # id of a code object -> (it, how it uses numpy.ndarray)


def uses_array_type(code):
    """How code, and code of functions in it, uses a name or attribute `ndarray`: (whether it calls it, does more).

    To take a method of it counts as a call."""
    if "ndarray" not in names_in(code):
        return False, False
    known = _uses.get(id(code))
    if known is not None and known[0] is code:
        return known[1]
    calls = more = False
    steps = steps_of(code)
    for i, step in enumerate(steps):
        if step.opcode in dis.hasname and step.argval == "ndarray":
            called = is_called(steps, i) or _takes_a_method(steps[i + 1])
            calls, more = calls or called, more or not called
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = uses_array_type(constant)
            calls, more = calls or inner[0], more or inner[1]
    if len(_uses) > _MANY:
        _uses.clear()
    _uses[id(code)] = (code, (calls, more))
    return calls, more


def _takes_a_method(step):
    """Whether an instruction takes an attribute that the stand-in for numpy.ndarray has: `numpy.ndarray.sum`."""
    return step.opname in ("LOAD_ATTR", "LOAD_METHOD") and (step.argval == "__new__" or step.argval not in _OF_OBJECTS)


_OF_OBJECTS = frozenset(dir(object))


_handed: dict = {}  # id of a code object -> (it, the names that it hands over)


def handed_over(code):
    """Names that code, and code of functions in it, loads as values, which may get anywhere: three sets.

    Globals that it neither calls nor asks for a name (`lib.f(np)`, `xp = np`, `dtype=float`); attributes that it
    neither calls nor asks (`apply(np.sum)`); and all attributes and imported names that it does not call.
    """
    known = _handed.get(id(code))
    if known is not None and known[0] is code:
        return known[1]
    steps = steps_of(code)
    names, values, attributes = set(), set(), set()
    for i, step in enumerate(steps):
        if step.opname == "IMPORT_FROM":
            attributes.add(step.argval)
        elif step.opcode in dis.hasname and step.opname.startswith("LOAD_") and not is_called(steps, i):
            asked = steps[i + 1].opname in ("LOAD_ATTR", "LOAD_METHOD")
            if "ATTR" in step.opname or "METHOD" in step.opname:
                attributes.add(step.argval)
                if not asked:
                    values.add(step.argval)
            elif not asked:
                names.add(step.argval)
    inner = [handed_over(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    found = tuple(frozenset(own).union(*more) for own, *more in zip((names, values, attributes), *inner, strict=True))
    if len(_handed) > _MANY:
        _handed.clear()
    _handed[id(code)] = (code, found)
    return found


_importing: dict = {}  # id of a code object -> (it, the code that imports stand-ins, how many modules had some)


def importing_stand_ins(code):
    """The code with `import numpy` as an import of what stands in for it; the code itself if it has none such."""
    known = _importing.get(id(code))
    if known is not None and known[0] is code and known[2] == len(STAND_IN_MODULES):
        return known[1]
    constants = tuple([importing_stand_ins(c) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    other = code
    if any(new is not old for new, old in zip(constants, code.co_consts, strict=True)):
        other = code.replace(co_consts=constants)
    if _IMPORT in code.co_code[::2]:
        uses = {}
        for step in steps_of(code):
            if step.opcode in dis.hasname:
                uses.setdefault(step.argval, set()).add(step.opcode)
        # What is compared by `is` would be another object than its stand-in, which a name of a part may be bound to.
        # So is not what the code does nothing with but call it.
        parts = frozenset() if not _tells_identity(code) else _other_than_called(code)
        names = tuple(
            [
                STAND_IN_MODULES[name]
                if name in STAND_IN_MODULES and uses.get(name) == {_IMPORT} and ("." not in name or name not in parts)
                else name
                for name in code.co_names
            ]
        )
        if names != code.co_names:
            other = other.replace(co_names=names)
    if other is not code:
        stands_for(other, code)
    if len(_importing) > _MANY:
        _importing.clear()
    _importing[id(code)] = (code, other, len(STAND_IN_MODULES))
    return other
