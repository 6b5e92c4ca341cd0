"""Functions that are given to SciPy's solvers: what they depend on besides their arguments becomes arguments.

May import: autograd.kept_functions, core.containers, core.tensor, engine, scipy._guards.

A solver calls a function many times on raw arrays, and the gradient comes from the solved equation. A Tensor in the
function's closure or among its defaults is found and handed over as one more argument; one that is found nowhere (in an
attribute, a global) is refused by `raw_function`, as its gradient would be lost.
"""

import functools
import operator
import types

from arraygrad.autograd.kept_functions import kept
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._guards import parts_of, raw

__all__ = ["lifted", "plain", "tracked"]

_DEPTH = 4


def tracked(tree):
    """Whether a Tensor in it requires grad while that is recorded."""
    return is_grad_enabled() and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in flatten(tree)[0])


def lifted(name, f, args=()):
    """(function(variables, *all), all): `f` as a function of its arguments and of the Tensors in its closure.

    The function may be kept for backward, which calls it as `kept` says; `name`, of the solver, is for its errors.
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    held = []
    _collect(f, held, _DEPTH)
    if not held:
        return kept(f, name, args), args
    n, ids = len(held), [id(t) for t in held]

    def bind(f):
        make = _maker(f, frozenset(ids), _DEPTH)

        def function(*given):  # the variables first, what was in the closure last
            return make(dict(zip(ids, given[-n:], strict=True)))(*given[:-n])

        return function

    return kept(f, name, args, bind), (*args, *held)


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


def _maker(f, ids, depth):
    """(values) -> `f` with `values[id]` in the places of the Tensors with these ids; None where it holds none of them.

    Other cells of closures stay as they are: what the function stores in them (`nonlocal n`) is seen by the program.
    """
    if not depth:
        return None
    if isinstance(f, functools.partial):
        parts = [_maker(f.func, ids, depth), _part_maker(f.args, ids, depth), _part_maker(f.keywords, ids, depth)]
        if parts == [None] * 3:
            return None
        old = (f.func, f.args, f.keywords)

        def make(values):
            func, args, keywords = (o if m is None else m(values) for o, m in zip(old, parts, strict=True))
            return functools.partial(func, *args, **keywords)

        return make
    if not isinstance(f, types.FunctionType):
        return None
    cells = list(f.__closure__ or ())
    contents = parts_of(f)  # of the cells, then the defaults
    makers = [(i, m) for i, m in enumerate(_part_maker(part, ids, depth) for part in contents) if m is not None]
    if not makers:
        return None
    code, space, name, n = f.__code__, f.__globals__, f.__name__, len(cells)

    def make(values):
        others, defaults, keywords = cells[:], f.__defaults__, f.__kwdefaults__
        for i, maker in makers:
            other = maker(values)
            if i < n:
                others[i] = types.CellType(other)
            elif i == n:
                defaults = other
            else:
                keywords = other
        made = types.FunctionType(code, space, name, defaults, tuple(others) or None)
        made.__kwdefaults__ = keywords
        return made

    return make


def _part_maker(part, ids, depth):
    """The same for what a function holds: a leaf, or a container of leaves."""
    leaves, structure = flatten(part)
    makers = [
        operator.itemgetter(id(leaf)) if isinstance(leaf, Tensor) and id(leaf) in ids else
        _maker(leaf, ids, depth - 1) if isinstance(leaf, (types.FunctionType, functools.partial)) else None
        for leaf in leaves
    ]  # fmt: skip
    if not any(makers):
        return None
    if len(leaves) == 1 and leaves[0] is part:
        return makers[0]
    return lambda values: unflatten(
        structure, [leaf if m is None else m(values) for leaf, m in zip(leaves, makers, strict=True)]
    )


def plain(f, args=()):
    """A callback that helps the solver alone (a Jacobian, say): its results as raw arrays, without a gradient."""
    if not callable(f):
        return f

    def call(*given):
        return raw(f(*given, *[raw(a) for a in args]))

    return call
