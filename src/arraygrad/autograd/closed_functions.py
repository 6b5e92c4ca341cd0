"""Copies of functions over closures of their own, and what code names.

May import: the standard library. Note [Kept functions] in kept_functions.py says what the copies are for.
"""

import dis
import functools
import types

__all__ = ["closed", "compares_itself", "contents_of", "function_over", "names_in", "names_of", "written_cells"]

_MOST = 100  # so many functions are followed


def compares_itself(f):
    """Whether `kept` made it: what holds it leaves the copy and the comparison to it."""
    return getattr(f, "compares_itself", False) is True


def names_of(code):
    """Names of the globals that code, and functions in it, load."""
    return names_in(code)[0]


@functools.lru_cache(maxsize=512)
def names_in(code):
    """Names of the globals and attributes that code, and functions in it, load, and of the cells that it writes."""
    loaded, attributes, written = set(), set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(instruction.argval)
        elif instruction.opname in ("STORE_DEREF", "DELETE_DEREF"):
            written.add(instruction.argval)
        elif isinstance(instruction.argval, types.CodeType):
            inner = names_in(instruction.argval)
            loaded |= inner[0]
            attributes |= inner[1]
            written |= inner[2]
    return frozenset(loaded), frozenset(attributes), frozenset(written)


def closed(f):
    """A copy of a function, and of those that it holds, over closures of their own; see Note [Kept functions]."""
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
    if isinstance(f, (functools.partial, types.MethodType)):
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
    if not isinstance(f, types.FunctionType) or not _encloses(f, set()):
        return f  # a program may compare it by `is`
    # A cell that is not assigned yet is shared: it will be, by the program.
    return function_over(
        f,
        lambda cell: id(cell) not in written and bool(contents_of(cell)),
        lambda one: _copied(one, written, copies),
        copies,
    )


def function_over(f, is_own, of, copies, space=None):
    """A copy of a function over cells of its own.

    Parameters
    ----------
    f : function
    is_own : callable
        Whether the copy has a cell of its own for a cell of the closure; if not they share it.
    of : callable
        What the copy holds in such a cell, and in the defaults, in the place of what the function does.
    copies : dict
        The copy is noted here by the id of the function before `of` is called: a function may hold itself.
    space : dict, optional
        The globals of the copy.
    """
    closure = f.__closure__ or ()
    cells = [types.CellType() if is_own(cell) else cell for cell in closure]
    made = types.FunctionType(
        f.__code__, f.__globals__ if space is None else space, f.__name__, None, tuple(cells) or None
    )
    copies[id(f)] = made
    made.__dict__.update(f.__dict__)
    made.__qualname__, made.__doc__, made.__module__ = f.__qualname__, f.__doc__, f.__module__
    for cell, old in zip(cells, closure, strict=True):
        if cell is not old:
            cell.cell_contents = of(old.cell_contents)
    made.__defaults__ = f.__defaults__ and tuple([of(one) for one in f.__defaults__])
    made.__kwdefaults__ = f.__kwdefaults__ and {key: of(one) for key, one in f.__kwdefaults__.items()}
    return made


def contents_of(cell):
    """What the cell of a closure holds, as a list; an empty one where the variable is not assigned yet."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []
