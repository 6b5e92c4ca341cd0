"""Functions that are given to SciPy's solvers: what they depend on besides their arguments becomes arguments.

May import: core.containers, core.tensor, engine, scipy._guards.

A solver calls a function many times on raw arrays, and the gradient comes from the solved equation. A Tensor in the
function's closure or among its defaults is found and handed over as one more argument; one that is found nowhere (in an
attribute, a global) is refused by `raw_function`, as its gradient would be lost.
"""

import functools
import types

from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.later import called_later
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._guards import parts_of, raw

__all__ = ["lifted", "plain", "tracked"]

_DEPTH = 4


def tracked(tree):
    """Whether a Tensor in it requires grad while that is recorded."""
    return is_grad_enabled() and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in flatten(tree)[0])


def lifted(f, args=()):
    """(function(variables, *all), all): `f` as a function of its arguments and of the Tensors in its closure.

    The function may be kept for backward: it is called as `called_later` says.
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    held = []
    _collect(f, held, _DEPTH)
    if not held:
        return called_later(f), args
    n = len(held)

    def function(*given):  # the variables first, what was in the closure last
        values = dict(zip([id(t) for t in held], given[-n:], strict=True))
        return _rebuilt(f, values, _DEPTH)(*given[:-n])

    function.__name__ = getattr(f, "__name__", type(f).__name__)
    return called_later(function), (*args, *held)


def _collect(f, held, depth):
    if not depth:
        return
    for part in parts_of(f):
        for leaf in flatten(part)[0]:
            if isinstance(leaf, Tensor) and leaf.requires_grad and is_grad_enabled():
                if not any(leaf is one for one in held):
                    held.append(leaf)
            elif isinstance(leaf, (types.FunctionType, functools.partial)):
                _collect(leaf, held, depth - 1)


def _rebuilt(f, values, depth):
    """`f` with other values in the places of the Tensors it holds."""
    if not depth:
        return f

    def other(part):
        leaves, structure = flatten(part)
        return unflatten(structure, [
            values.get(id(leaf), leaf) if isinstance(leaf, Tensor) else
            _rebuilt(leaf, values, depth - 1) if isinstance(leaf, (types.FunctionType, functools.partial)) else leaf
            for leaf in leaves
        ])  # fmt: skip

    if isinstance(f, functools.partial):
        return functools.partial(_rebuilt(f.func, values, depth), *other(f.args), **other(f.keywords))
    if not isinstance(f, types.FunctionType):
        return f
    cells = []
    for cell in f.__closure__ or ():
        try:
            cells.append(types.CellType(other(cell.cell_contents)))
        except ValueError:
            cells.append(cell)
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__, other(f.__defaults__), tuple(cells) or None)
    made.__kwdefaults__ = other(f.__kwdefaults__)
    return made


def plain(f, args=()):
    """A callback that helps the solver alone (a Jacobian, say): its results as raw arrays, without a gradient."""
    if not callable(f):
        return f

    def call(*given):
        return raw(f(*given, *[raw(a) for a in args]))

    return call
