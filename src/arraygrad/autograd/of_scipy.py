"""What to write in the place of a function or class of SciPy's own that was given a Tensor.

May import: autograd.source_locations, the standard library; arraygrad.scipy by its name, as SciPy is optional.
"""

import ast
import importlib
import importlib.util
import re
import sys
import types

from arraygrad.autograd.source_locations import object_of, parsed

__all__ = ["matrix_written", "way_out_of_scipy"]

_SCIPY = "arraygrad.scipy"


def way_out_of_scipy(called, adopting):
    """The text for SciPy's function, class or method `called` (None: not known), in or outside of adoption."""
    made = _made_outside(called)
    if made:
        name, call = made
        short = name.rpartition(".")[2]
        if adopting:
            where = f"make it inside of the function, {short}(...){call}, which is recorded"
            return f"This scipy.{name} is SciPy's own, made outside of the adopted function or by SciPy: {where}. "
        where = f"make it by arraygrad.scipy.{name}, or inside of the function of arraygrad.grad(f, adopt=True)"
        return f"This is an object of scipy.{name}, which takes no Tensor: {where}. "
    name, rule = _rule_of(called)
    base = None if name else _base_of(called)
    if base is not None:
        name, rule = base
        if not getattr(rule, "reason", ""):
            return (
                f"A class that is derived from scipy.{name} computes by SciPy's own methods, which take no Tensor: in "
                f"its place take one that keeps a {name.rpartition('.')[2]}(...), made in the function, in an "
                "attribute. That is recorded. "
            )
    text = "SciPy's own functions take no Tensor. "
    if rule is not None and getattr(rule, "reason", ""):
        reason = _with_rules(rule)
        way = "Take that; otherwise " if reason != rule.reason else "So "
        text += f"scipy.{name} has no derivative here: {reason}. {way}"
    elif rule is not None:
        text += f"Take arraygrad.scipy.{name}, which is recorded"
        if adopting:
            return (
                f"{text}. (Adoption exchanges the names in modules; this function came in another way, as an argument, "
                "or by a name that was bound anew.) "
            )
        return f"{text}, or call SciPy's in arraygrad.grad(f, adopt=True). "
    elif name:
        text += f"arraygrad.scipy has no rule for {name}: "
    elif not adopting:
        text += (
            "Most have a recorded namesake in arraygrad.scipy, which arraygrad.grad(f, adopt=True) calls; otherwise "
        )
    else:
        text += "Where arraygrad.scipy has a namesake, take that one; otherwise "
    return f"{text}compose the value of functions that are recorded, or define its derivative by arraygrad.primitive. "


def _made_outside(called):
    """(name below scipy, what is called of it) where an object is called whose class has rules; None elsewhere."""
    owner = getattr(called, "__self__", called)
    if isinstance(owner, (type, types.ModuleType)) or not type(owner).__module__.startswith("scipy."):
        return None
    parts = [part for part in type(owner).__module__.split(".") if not part.startswith("_")]
    module = sys.modules.get(".".join(parts))
    name = module is not None and _public(vars(module), type(owner))
    room = importlib.import_module(_SCIPY)
    if not name or parts[1] not in room.CHAPTERS or not room.serves(sys.modules["scipy"].__version__):
        return None
    full = ".".join([*parts[1:], name])
    importlib.import_module(f"{_SCIPY}.{parts[1]}")
    rule = importlib.import_module(f"{_SCIPY}._declare").REGISTRY.get(full)
    if rule is None or rule.reason or not isinstance(rule.function, type):
        return None
    return full, "(...)" if owner is called else f".{called.__name__}(...)"


def _base_of(called):
    """(name below scipy, rule) of the class of SciPy's whose method an object of a derived class has; or None."""
    module = getattr(called, "__module__", None) or ""
    owner = getattr(called, "__self__", None)
    chapter = module.partition(".")[2].partition(".")[0]
    names = vars(sys.modules.get(f"scipy.{chapter}") or types)
    found = [names.get(getattr(called, "__qualname__", "").partition(".")[0])]
    if owner is not None:
        found = [base for base in type(owner).__mro__ if base.__module__.startswith("scipy.")]
    for base in found:
        name = isinstance(base, type) and _public(names, base)
        if name and _namesake(chapter) is not None:
            full = f"{chapter}.{name}"
            rule = importlib.import_module(f"{_SCIPY}._declare").REGISTRY.get(full)
            return (full, rule) if rule is not None else None
    return None


def _with_rules(rule):
    """Why there is no rule, with the full names of those functions in the text that have one."""
    rules = importlib.import_module(f"{_SCIPY}._declare").REGISTRY
    chapter = rule.name.rpartition(".")[0]

    def full(found):
        for name in (f"{chapter}.{found[0]}", found[0]):
            if name in rules and rules[name].of:
                return f"{_SCIPY}.{name}"
        return found[0]

    return re.sub(r"[A-Za-z_][\w.]*\w", full, rule.reason)


def _rule_of(called):
    """(name below scipy of what was called, its rule or our object); ("", None) where that can't be told."""
    owner = getattr(called, "__self__", called)
    if isinstance(owner, types.ModuleType):  # of a compiled function
        owner = called
    module = getattr(owner if isinstance(owner, type) else called, "__module__", None)
    chapter = module.split(".")[1:2] if isinstance(module, str) else []
    if not chapter:
        return "", None
    names = vars(sys.modules.get(f"scipy.{chapter[0]}") or types)
    if _public(names, owner) is None and not isinstance(owner, type) and owner is not called:
        owner = type(owner)  # a solver, an interpolant
    name = _public(names, owner)
    if name is None:
        name, inner = getattr(called, "__name__", None), getattr(owner, "__module__", None)
        public = owner is called and isinstance(inner, str) and "._" not in inner
        public = public and getattr(sys.modules.get(inner), str(name), None) is owner
        return _below_a_chapter(inner.partition(".")[2], name) if public else ("", None)
    full = f"{chapter[0]}.{name}" if owner is called else f"{chapter[0]}.{name}.{called.__name__}"
    ours = _namesake(chapter[0])
    if ours is None:
        return full, None
    rules = importlib.import_module(f"{_SCIPY}._declare").REGISTRY
    whole = rules.get(f"{chapter[0]}.{name}")
    if whole is not None and whole.reason:
        return whole.name, whole
    return full, rules.get(full) or (getattr(ours, "OBJECTS", {}).get(name) if owner is called else None)


def _below_a_chapter(inner, name):
    """What `_rule_of` gives for scipy.`inner`.`name`, as spatial.distance.pdist."""
    return f"{inner}.{name}", getattr(_namesake(inner), name, None)


def _namesake(inner):
    """Our module for scipy.`inner`; None where there is none, or not for SciPy's version."""
    room = importlib.import_module(_SCIPY)
    if inner.partition(".")[0] not in room.CHAPTERS or not room.serves(sys.modules["scipy"].__version__):
        return None
    full, whole = f"{_SCIPY}.{inner}", importlib.import_module(f"{_SCIPY}.{inner.partition('.')[0]}")
    if "." in inner and not hasattr(whole, "__path__"):  # a module without parts
        return None
    return importlib.import_module(full) if importlib.util.find_spec(full) is not None else None


def _public(names, owner):
    """The name that an object has among these names of a module; None: it has none."""
    for name in (getattr(owner, "name", None), getattr(owner, "__name__", None)):
        if isinstance(name, str) and names.get(name) is owner:
            return name
    return next((name for name, value in list(names.items()) if value is owner), None)


def matrix_written(expression, frame):
    """What to write in the place of `m.data[i] = t` of a sparse matrix of SciPy's own; "" of anything else."""
    node = parsed(expression)
    node = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(node, ast.Attribute) or node.attr != "data":
        return ""
    kind = type(object_of(node.value, frame))
    if not kind.__module__.startswith("scipy.sparse"):
        return ""
    name, made = ast.unparse(node.value), kind.__name__
    places = {"coo": f"({name}.row, {name}.col)", "dia": f"{name}.offsets"}
    data = f"(data, {places.get(made[:3], f'{name}.indices, {name}.indptr')})"
    return (
        "it is that of a sparse matrix of SciPy's own. Make a matrix of recorded values: data = "
        f"numpy.array({name}.data), write into data, then {name} = scipy.sparse.{made}({data}, shape={name}.shape). "
    )
