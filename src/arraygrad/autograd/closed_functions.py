"""Copies of functions over closures of their own, and what code names.

May import: autograd.instructions, the standard library. Note [Function snapshots] in function_snapshots.py says what
the copies are for.
"""

import functools
import itertools
import types

from arraygrad.autograd.instructions import steps_of

__all__ = [
    "LOGS", "called_by", "closed", "compares_itself", "contents_of", "function_over", "hands_self_on", "names_in",
    "names_of", "written_cells",
]  # fmt: skip

_MOST = 100  # so many functions are followed


def compares_itself(f):
    """Whether `kept` made it: what holds it leaves the copy and the comparison to it."""
    try:
        return getattr(f, "compares_itself", False) is True
    except Exception:  # an object whose attributes are items, which raises what a dict does
        return False


def called_by(f):
    """The function of the program that an object of a transform calls; None of anything else.

    Such an object has `made_over(g)`: the same of another function.
    """
    return f.__wrapped__ if hasattr(type(f), "made_over") else None


def names_of(code):
    """Names of the globals that code, and functions in it, load."""
    return names_in(code)[0]


_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
# Methods by which code writes to a container, or a log, and reads nothing of it.
LOGS = frozenset(["append", "extend", "add", "update", "insert", "write", "clear", "debug", "info", "warning"])


def _writes(following):
    """Whether the instructions after the one that loads something write to it and read nothing of it."""
    names = [step.opname for step in following]
    if names and names[0] in _ATTRIBUTES:
        return following[0].argval in LOGS
    return names[1:] == ["STORE_SUBSCR"] and names[0].startswith("LOAD_")


@functools.lru_cache(maxsize=512)
def names_in(code):
    """Names in code and in functions in it: (globals that are loaded, attributes that are, cells that are written,
    attributes of which something is read: not only `self.log.append(y)`, `self.found[key] = y`).
    """
    loaded, attributes, written, read = set(), set(), set(), set()
    found = [step for step in steps_of(code) if step.opname != "PUSH_NULL"]
    for at, instruction in enumerate(found):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.add(instruction.argval)
        elif instruction.opname in _ATTRIBUTES:
            attributes.add(instruction.argval)
            if not _writes(found[at + 1 : at + 3]):
                read.add(instruction.argval)
        elif instruction.opname in ("STORE_DEREF", "DELETE_DEREF"):
            written.add(instruction.argval)
        elif isinstance(instruction.argval, types.CodeType):
            for names, inner in zip((loaded, attributes, written, read), names_in(instruction.argval), strict=True):
                names |= inner
    return frozenset(loaded), frozenset(attributes), frozenset(written), frozenset(read)


@functools.lru_cache(maxsize=512)
def hands_self_on(code):
    """Whether code, or functions in it, do more with a variable `self` than take and set its attributes.

    It may be called then: by its name, or as an argument of another function.
    """
    found = [step for step in steps_of(code) if step.opname != "PUSH_NULL"]
    for instruction, following in itertools.zip_longest(found, found[1:]):
        if isinstance(instruction.argval, types.CodeType):
            if hands_self_on(instruction.argval):
                return True
        elif instruction.argval == "self" and instruction.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
            if following is None or following.opname not in (*_ATTRIBUTES, "STORE_ATTR", "DELETE_ATTR"):
                return True
    return False


def closed(f):
    """A copy of a function, and of those that it holds, over closures of their own; see Note [Function snapshots]."""
    written, reached = set(), {}
    _reach(f, written, reached)
    return _copied(f, written, {}) if any(reached.values()) else f


def written_cells(f):
    """Ids of the cells that a function, and those that it holds, write (`nonlocal n`)."""
    written = set()
    _reach(f, written, {})
    return written


def _reach(f, written, reached):
    """Note the ids of cells that the functions held by `f` write, and which functions have closures."""
    if id(f) in reached or len(reached) > _MOST or compares_itself(f):
        return
    if called_by(f) is not None:
        reached[id(f)], held_ones = False, [called_by(f)]
    elif isinstance(f, (functools.partial, types.MethodType)):
        reached[id(f)] = False
        held_ones = [f.__func__] if isinstance(f, types.MethodType) else [f.func, *f.args, *f.keywords.values()]
    elif isinstance(f, types.FunctionType):
        reached[id(f)] = bool(f.__closure__)
        held_ones = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
        stores = names_in(f.__code__)[2]
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            if name in stores:
                written.add(id(cell))
            held_ones += contents_of(cell)
    else:
        return
    for one in held_ones:
        _reach(one, written, reached)


def _encloses(f, seen):
    """Whether a function, or one that it holds, has a closure."""
    if id(f) in seen:
        return False
    seen.add(id(f))
    if isinstance(f, functools.partial):
        return any(_encloses(one, seen) for one in (f.func, *f.args, *f.keywords.values()))
    if isinstance(f, types.MethodType):
        return _encloses(f.__func__, seen)
    if called_by(f) is not None:
        return _encloses(called_by(f), seen)
    if not isinstance(f, types.FunctionType):
        return False
    return bool(f.__closure__) or any(
        _encloses(one, seen) for one in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    )


def _copied(f, written, copies):
    if id(f) in copies:
        return copies[id(f)]
    if len(copies) > _MOST or compares_itself(f):
        return f
    if isinstance(f, functools.partial) and type(f) is functools.partial:
        args = [_copied(one, written, copies) for one in f.args]
        keywords = {key: _copied(one, written, copies) for key, one in f.keywords.items()}
        copies[id(f)] = functools.partial(_copied(f.func, written, copies), *args, **keywords)
        return copies[id(f)]
    if isinstance(f, types.MethodType):
        copies[id(f)] = types.MethodType(_copied(f.__func__, written, copies), f.__self__)
        return copies[id(f)]
    if called_by(f) is not None and _encloses(f, set()):
        copies[id(f)] = f.made_over(_copied(called_by(f), written, copies))
        return copies[id(f)]
    if not isinstance(f, types.FunctionType) or not _encloses(f, set()):
        return f  # a program may compare it by `is`
    # A cell that is not assigned yet is shared: it will be, by the program.
    return function_over(
        f,
        lambda cell: id(cell) not in written and bool(contents_of(cell)),
        lambda one: _copied(one, written, copies),
        copies,
    )


def function_over(f, is_own, of, copies, space=None, fill=None):
    """A copy of a function over cells of its own.

    Parameters
    ----------
    f : function
    is_own : callable
        Whether the copy has a cell of its own for a cell of the closure; if not they share it.
    of : callable
        What the copy holds in such a cell, and in the defaults, in the place of what the function does.
    copies : dict
        The copy is noted here by the id of the function before `of` is called: a function may hold itself. So are its
        cells: functions that share a cell share its copy.
    space : dict, optional
        The globals of the copy.
    fill : callable, optional
        fill(cell, new), in the place of `of` for what the new cell holds.
    """
    closure = f.__closure__ or ()
    fresh, cells = [], []
    for cell in closure:
        new = copies.get(id(cell), cell)
        if new is cell and is_own(cell):
            new = copies[id(cell)] = types.CellType()
            fresh.append((cell, new))
        cells.append(new)
    made = types.FunctionType(
        f.__code__, f.__globals__ if space is None else space, f.__name__, None, tuple(cells) or None
    )
    copies[id(f)] = made
    made.__dict__.update(f.__dict__)
    made.__qualname__, made.__doc__, made.__module__ = f.__qualname__, f.__doc__, f.__module__
    for old, new in fresh:
        if fill is not None:
            fill(old, new)
        else:
            new.cell_contents = of(old.cell_contents)
    made.__defaults__ = f.__defaults__ and tuple([of(one) for one in f.__defaults__])
    made.__kwdefaults__ = f.__kwdefaults__ and {key: of(one) for key, one in f.__kwdefaults__.items()}
    return made


def contents_of(cell):
    """What the cell of a closure holds, as a list; an empty one where the variable is not assigned yet."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []
