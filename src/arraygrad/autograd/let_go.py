"""Tensors that refuse their gradient, and so may give their numbers away: what a solver tells a callback.

May import: autograd.graph, core.tensor.
"""

from arraygrad.autograd.graph import walk
from arraygrad.core.tensor import gradient_edge

__all__ = ["is_let_go", "let_go"]

_NODES: set[type] = set()  # classes of nodes; filled on import of what declares them


def let_go(function):
    """Decorator of a Function whose results refuse a gradient, and whose values may become numbers and plain arrays."""
    _NODES.add(function._node_class)
    return function


def is_let_go(t):
    """Whether every way from `t`, which requires grad, into its history ends at such a node."""
    if not _NODES:
        return False
    ends = lambda node: type(node) in _NODES
    return all(ends(node) or _goes_on(node) for node in walk([gradient_edge(t)[0]], ends))


def _goes_on(node):
    """False for leaves, and for the arguments of a transform, which lead nowhere."""
    return any(child is not None for child, _ in node.next_functions)
