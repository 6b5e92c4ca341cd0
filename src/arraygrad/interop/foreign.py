"""What the two foreign libraries have in common: a call of another library's function as one node of our graph.

May import: autograd.primitive, autograd.source_locations, core.containers, core.exposed_memory, engine, core.graph_ops,
core.constructors, core.tensor, interop.transfer, the standard library.

Note [Foreign functions]
~~~~~~~~~~~~~~~~~~~~~~~~
A Foreign wraps `run(leaves, wanted)`, which calls the other library's function on its own arrays and returns the
results together with `pull`: gradients of the results -> gradients of the wanted leaves.
(1) The arguments are moved to that library by recorded transfers, the results back to where the first argument was.
(2) In a plain backward run the node calls `pull`. The other library's graph is kept until ours is freed.
(3) If an argument was overwritten since, the values that the other library sees may be the new ones (memory is shared
    between libraries): the function is evaluated again with what the node has kept.
(4) In a run with create_graph the node calls `gradient`, the function (leaves, gradients) -> gradients of the wanted
    leaves, as a Foreign again: that makes every order of derivatives.
Guarded by tests/interop/.
"""

from __future__ import annotations

import sys

from arraygrad.autograd.primitive import FREED
from arraygrad.autograd.source_locations import SourceLocation, warn_at
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.exposed_memory import note_holder
from arraygrad.core.graph_ops import Kept, attach_node
from arraygrad.core.tensor import Tensor, backend_of, edge_of, metadata_of
from arraygrad.engine.modes import Mode
from arraygrad.engine.node import PyNode, is_grad_enabled, set_grad_mode
from arraygrad.interop.transfer import to_backend

__all__ = ["Foreign", "array_leaves", "call", "is_array", "warn_of_constants"]


class Foreign:
    """One function of another library on a flat list of its arrays.

    Attributes
    ----------
    library : str
        Its backend's name.
    name : str
        For the node.
    """

    library = ""
    name = "Foreign"

    def run(self, leaves, wanted):
        """(results, pull) of raw arrays; `wanted` are the positions to differentiate, `pull` is None if there are none.

        `pull(gradients)` takes one raw gradient per result (None for integers) and returns one per wanted leaf.
        """
        raise TypeError(f"{type(self).__name__} must define run(leaves, wanted)")

    def gradient(self, n, wanted, given):
        """The Foreign of (n leaves, then the gradients of the results numbered `given`) -> gradients of `wanted`."""
        raise TypeError(f"{type(self).__name__} must define gradient(n, wanted, given)")


def call(foreign, tensors):
    """Results, Tensors of the foreign library, of a Foreign on Tensors of that library; recorded."""
    recording = is_grad_enabled()
    wanted = [i for i, t in enumerate(tensors) if recording and t.requires_grad]
    raws = [t.array for t in tensors]
    arrays, pull = foreign.run(raws, wanted)
    results = tuple([wrap_raw(a) for a in arrays])
    if not wanted:  # the function may keep what it returned
        for t in results:
            note_holder(t)
    if not wanted or not any(metadata_of(r).is_floating for r in results):
        return results
    metas = [metadata_of(r) for r in results]
    state = [[Kept(t) for t in tensors], raws, pull]

    def backward(*grads):
        if not state:
            raise RuntimeError(FREED)
        kept, seen, pull = state
        if any(isinstance(g, Tensor) for g in grads):
            return _recorded_gradient(foreign, kept, wanted, metas, grads)
        now = [k.array() for k in kept]
        if any(a is not b for a, b in zip(now, seen, strict=True)):  # (3)
            _, pull = foreign.run(now, wanted)
        grads = [
            None if not meta.is_floating else meta.ops.zeros(meta) if g is None else g
            for g, meta in zip(grads, metas, strict=True)
        ]
        return tuple(pull(grads))

    node = PyNode(f"{foreign.name}Backward", backward, [edge_of(tensors[i]) for i in wanted], metas, state.clear)
    attach_node(node, results)
    return results


def _recorded_gradient(foreign, kept, wanted, metas, grads):
    """Gradients as Tensors with a history of their own (4)."""
    given = [i for i, g in enumerate(grads) if g is not None]
    again = foreign.gradient(len(kept), tuple(wanted), tuple(given))
    with Mode(set_grad_mode, True):
        return tuple(call(again, [k.tensor() for k in kept] + [grads[i] for i in given]))


def warn_of_constants(name, library, ways):
    """Warn, at the user's line, that a function's results depend on none of its differentiated arguments.

    `ways`: what in a function of `library` does that.
    """
    place = SourceLocation(sys._getframe(1))
    warn_at(
        place,
        f"{place}: {library}'s function '{name}' is differentiated, but its results do not depend on its arguments, so "
        f"that the gradient is zero: {ways}. The arguments are {library}'s own arrays already: compute with them as "
        "they are. Where a constant is meant, give the function arraygrad.stop_gradient(x), without this warning",
    )


def is_array(value):
    """Whether a leaf of a container is an array of some library or a Tensor."""
    if isinstance(value, Tensor):
        return True
    if isinstance(value, (int, float, complex, str, bytes, type(None), type)):
        return False
    try:
        return backend_of(value) is not None
    except TypeError:
        return False


def array_leaves(args, kwargs, library):
    """The arrays in a call's arguments as Tensors of `library`, what rebuilds the call, and the first array's library.

    Returns
    -------
    tensors : list of Tensor
    rebuild : callable
        `rebuild(arrays)` is the (args, kwargs) with other arrays in their places.
    home : str or None
        Library of the first array.
    """
    leaves, structure = flatten((tuple(args), dict(kwargs)))
    at = [i for i, leaf in enumerate(leaves) if is_array(leaf)]
    tensors = [to_backend(leaves[i], library) for i in at]
    home = backend_of(leaves[at[0]]).name if at else None

    def rebuild(arrays):
        filled = list(leaves)
        for i, array in zip(at, arrays, strict=True):
            filled[i] = array
        return unflatten(structure, filled)

    return tensors, rebuild, home
