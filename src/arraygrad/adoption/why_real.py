"""Why a name is the real thing in an adopted call, for the refusal of a gradient that its stand-in would have kept.

May import: adoption.exchange, adoption.code, adoption.identity_comparisons, adoption.table, autograd.source_locations,
the standard library, numpy.

A comparison by `is` needs the real thing (Note [What adoption reaches], 5), and nobody sees it from the line that is
refused: it may be in another module. So it is looked for when a refusal is written, and named with its line.
Guarded by tests/adoption/test_why_real.py.
"""

import ast
import builtins
import types

import numpy

from arraygrad.adoption.code import unknown_comparison
from arraygrad.adoption.exchange import running
from arraygrad.adoption.identity_comparisons import codes_of, compared_at, keys_in
from arraygrad.adoption.table import SCALAR_TYPES, STAND_INS
from arraygrad.autograd.source_locations import short, source_of

__all__ = ["why_numpy_is_kept", "why_real"]


def why_real(expression, frame):
    """What to say of an expression that names real things which a comparison keeps; "" where there is none."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        real = _named(node, frame)
        pair = STAND_INS.get(id(real))
        if pair is not None and pair[0] is real:
            found = _comparisons(id(real), frame, True)
            if found:
                return f"In this call {ast.unparse(node)} is the real one, not the recorded one, as {_told(*found)}"
    return ""


def why_numpy_is_kept(frame):
    """What to say where numpy itself made a plain array because a comparison keeps it; "" where there is none."""
    found = _comparisons(id(numpy), frame, False)
    return f"numpy is the real one in this call and makes plain arrays, as {_told(*found)}" if found else ""


def _named(node, frame):
    """What a name, or a dotted name below a module, stands for; None for anything else."""
    if isinstance(node, ast.Attribute):
        module = _named(node.value, frame)
        return vars(module).get(node.attr) if isinstance(module, types.ModuleType) else None
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in space:
                return space[node.id]
    return None


def _comparisons(real, frame, reached):
    """(a comparison that keeps a real thing in the globals of a frame, the package that lies apart from all); or None.

    A comparison is (namespace, file and line, what stands there, what to write). `reached`: only if an adopted call
    that runs reaches these globals.
    """
    namespace = frame.f_globals
    for names in running():
        here = [one for one in names if one.namespace is namespace]
        if reached and not here:
            continue
        found = list(_of_code(real, namespace, frame.f_code)) if here else []
        for one in names:
            for code in one.comparing():
                found += _of_code(real, one.namespace, code)
            if real in one.keys():
                found.append((one.namespace, "", "a dict or set among its globals has it as a key", _KEYS))
        for code in codes_of(namespace) if here else ():
            found += _of_code(real, namespace, code)
        if here and real in keys_in(namespace):
            found.append((namespace, "", "a dict or set among its globals has it as a key", _KEYS))
        if found:
            return found[0], _apart([space for space, *_ in found], namespace)
    return None


_KEYS = "Let the keys be names, as text"


def _of_code(real, namespace, code):
    """The comparisons of a real thing in code, and in code of functions in it."""
    found = [(step, ids) for step, ids in compared_at(namespace, code) if real in ids]
    if real in SCALAR_TYPES and not found:
        found = [(step, SCALAR_TYPES) for step in [unknown_comparison(code, namespace)] if step is not None]
    for step, ids in found:
        lines = [line for start, end, line in code.co_lines() if start <= step.offset < end]
        where = f"{short(code.co_filename)}:{lines[0]}, in {code.co_qualname}" if lines else code.co_qualname
        yield namespace, where, source_of(code, step.offset, namespace), _in_its_place(real, ids)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _of_code(real, namespace, constant)


def _in_its_place(real, ids):
    """What to write in the place of a comparison of the real things with these ids, one of which is `real`."""
    if real in SCALAR_TYPES:
        return f"Write x.dtype == numpy.{STAND_INS[real][0].__name__} there, and == between types in the place of `is`"
    things = [STAND_INS[one][0] for one in ids]  # of a function also the modules that show it
    thing = next((one for one in things if not isinstance(one, types.ModuleType)), STAND_INS[real][0])
    if isinstance(thing, types.ModuleType):
        return f"Write xp.__name__ == {thing.__name__!r} there"
    if isinstance(thing, type):
        return f"Write isinstance(x, {thing.__name__}) there"
    return f"Write f.__name__ == {getattr(thing, '__name__', '')!r} there"


def _apart(spaces, namespace):
    """The package or module of a namespace to name in adopt= so that no comparison in `spaces` holds; "": none."""
    own = namespace.get("__name__") or ""
    compared = [space.get("__name__") or "" for space in spaces]
    for name in (own.partition(".")[0], own):
        if name and not any(other == name or other.startswith(f"{name}.") for other in compared):
            return name
    return ""


def _told(comparison, package):
    """The comparison, and what to write."""
    space, where, source, way = comparison
    module = space.get("__name__") or "a module"
    text = f"code that the call reaches compares it ({where or module}{': ' * bool(source)}{source}). {way}"
    if package:
        text += f"; or leave the module {module} out, by naming what is to be reached, adopt=({package!r},)"
    return f"{text}. "
