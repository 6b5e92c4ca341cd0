"""Which rules of the user's own a graph holds: those of primitives and of custom Functions.

May import: autograd.custom_function, autograd.graph, autograd.primitive, autograd.source_locations, core.function,
core.tensor, engine.
"""

from __future__ import annotations

from arraygrad.autograd.graph import walk
from arraygrad.autograd.primitive import recorded_rules
from arraygrad.autograd.source_locations import short
from arraygrad.core.function import CustomNode
from arraygrad.core.tensor import gradient_edge
from arraygrad.engine.node import PyNode, function_of

__all__ = ["rules_behind", "told_rules"]


def rules_behind(tensors):
    """dict name -> place ("model.py:10") of every rule of the user's own in the graphs of the Tensors."""
    found = {}
    for node in walk([gradient_edge(t)[0] for t in tensors]):
        if isinstance(node, CustomNode):
            cls = getattr(type(node), "_function", None)
            if cls is not None and not cls.__module__.startswith("arraygrad."):
                found.setdefault(cls.__name__, _place(cls.__dict__.get("backward") or cls.__dict__.get("vjp")))
        elif type(node) is PyNode:
            known = recorded_rules(function_of(node))
            if known is not None:
                name, rules = known
                found.setdefault(name, next(filter(None, map(_place, rules)), ""))
    return found


def told_rules(tensors):
    """What a check that fails says of these rules, "" where there are none."""
    found = rules_behind(tensors)
    if not found:
        return ""
    named = ", ".join(f"{name} ({place})" if place else name for name, place in found.items())
    one = next(iter(found))
    return f"rules of your own in this graph: {named}. Check each alone, as in arraygrad.gradcheck({one}, [...])"


def _place(rule):
    code = getattr(getattr(rule, "__func__", rule), "__code__", None)
    return "" if code is None else f"{short(code.co_filename)}:{code.co_firstlineno}"
