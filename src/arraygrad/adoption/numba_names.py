"""What stands in for functions that Numba compiles in adopted calls.

May import: adoption.exchange, adoption.code, adoption.table, autograd.closed_functions, autograd.python_numbers,
core.containers, core.tensor, the standard library, numpy; Numba inside functions, where the program has loaded it.

Note [Compiled functions]
~~~~~~~~~~~~~~~~~~~~~~~~~
(1) Numba reads the globals and the closure of a function when it first compiles it for some types, and keeps what it
    made of them. While an adopted call runs, on any thread, these may hold stand-ins. So Numba is given a function of
    the same code over the real things while it compiles: also for the functions of Numba's that this one calls.
(2) Called without a gradient among its arguments, the compiled function runs on plain arrays. A Tensor among them is
    handed over as a copy of its array; if the function has written it, the Tensor is written, as by `t[...] = copy`.
(3) Called with a Tensor that requires grad, the Python function runs, and is recorded. A warning tells once that
    it is not compiled.
Guarded by tests/adoption/test_numba_functions.py.
"""

import functools
import itertools
import sys
import threading
import types

import numpy

from arraygrad.adoption.code import names_in
from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.table import MAKERS, REALS, STAND_INS, stand_in
from arraygrad.autograd.closed_functions import contents_of
from arraygrad.autograd.python_numbers import Place, warn_at
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor

__all__ = ["install"]

_compiling = threading.RLock()  # functions over the real things are in place


def install():
    """Have what stands in for functions that Numba compiles made when adoption meets them."""
    MAKERS.append(_pair)


def _pair(value):
    """(the dispatcher, what stands in for it) for a function that Numba compiles, else None."""
    dispatchers = _dispatchers()
    if not dispatchers or not isinstance(value, dispatchers):
        return None
    pair = STAND_INS.get(id(value))
    if pair is None:
        stand_in(value, _Compiled(value))
        pair = STAND_INS[id(value)]
    return pair


def _dispatchers():
    """The classes of Numba's functions, () where the program has not loaded it."""
    module = sys.modules.get("numba.core.dispatcher")
    return () if module is None else (module.Dispatcher,)


class _Compiled:
    """See Note [Compiled functions]."""

    __slots__ = ("_real",)

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def __call__(self, *args, **kwargs):
        if not is_on():
            return _called(self._real, args, kwargs)
        leaves, structure = flatten((args, kwargs))
        tensors = [(i, leaf) for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        if any(t.requires_grad for _, t in tensors):
            return self._recorded(args, kwargs)
        if not tensors:
            return _called(self._real, args, kwargs)
        return self._on_arrays(leaves, structure, tensors)

    def _recorded(self, args, kwargs):
        place = Place(sys._getframe(2))
        warn_at(
            place,
            f"{place}: {self._real.py_func.__name__} is a function that Numba compiles, and an argument requires grad: "
            "its Python code runs in its place and is recorded, at the speed of Python. Where no gradient is wanted, "
            "give it arraygrad.stop_gradient(x)",
        )
        return self._real.py_func(*args, **kwargs)

    def _on_arrays(self, leaves, structure, tensors):
        first = {}  # one copy for one Tensor, however often it is given
        for i, t in tensors:
            first.setdefault(id(t), i)
        distinct = [(i, t) for i, t in tensors if first[id(t)] == i]
        if any(numpy.may_share_memory(a.array, b.array) for (_, a), (_, b) in itertools.combinations(distinct, 2)):
            raise TypeError(
                f"{self._real.py_func.__name__}: the function, which Numba compiles, is given several views of one "
                "array that was made in an adopted call, and what it writes into one would not show in the others: "
                "give it copies"
            )
        made = {i: numpy.array(t.array, order="K", copy=True) for i, t in distinct}
        copies = {i: made[first[id(t)]] for i, t in tensors}
        given = [copies[i] if i in copies else leaf for i, leaf in enumerate(leaves)]
        given = [one[()] if isinstance(one, numpy.ndarray) and i in copies and not one.ndim else one
                 for i, one in enumerate(given)]  # fmt: skip
        args, kwargs = unflatten(structure, given)
        found = _called(self._real, args, kwargs)
        for i, t in distinct:
            if t.ndim and copies[i].tobytes() != numpy.asarray(t.array, order="K").tobytes():
                t[...] = copies[i]
        return self._handed_back(found, tensors, copies)

    def _handed_back(self, found, tensors, copies):
        """The result, with Tensors in the places of arrays that are their copies."""
        parts, structure = flatten(found)
        for k, part in enumerate(parts):
            if not isinstance(part, numpy.ndarray) or not part.ndim:
                continue
            for i, t in tensors:
                if not copies[i].ndim or not numpy.may_share_memory(part, copies[i]):
                    continue
                if part.shape != t.shape or part.strides != copies[i].strides:
                    raise TypeError(
                        f"{self._real.py_func.__name__}: the function, which Numba compiles, returns a view of an "
                        "array that was made in an adopted call, and what is written into either would not show in the "
                        "other: return a copy, or give it arraygrad.stop_gradient(x).array"
                    )
                parts[k] = t
        return unflatten(structure, parts)


def _called(real, args, kwargs):
    """A call of a function of Numba's, compiled over the real things where it is compiled now (1)."""
    if not real._can_compile or (not kwargs and tuple(map(real.typeof_pyval, args)) in real.overloads):
        return real(*args, **kwargs)
    with _compiling:
        exchanged = []
        try:
            for one in _reached(real):
                exchanged.append((one._compiler, one._compiler.py_func))
                one._compiler.py_func = _over_real_things(one.py_func)
            return real(*args, **kwargs)
        finally:
            for compiler, function in exchanged:
                compiler.py_func = function


def _reached(real):
    """The function, and those of Numba's that its code names, and so on."""
    found, waiting = {}, [real]
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            f = one.py_func
            held = [f.__globals__[name] for name in names_in(f.__code__) if name in f.__globals__]
            held += [one for cell in f.__closure__ or () for one in contents_of(cell)]
            waiting += [thing for thing in map(_real, held) if isinstance(thing, _dispatchers())]
    return list(found.values())


def _real(value):
    known = REALS.get(id(value))
    return known[1] if known is not None and known[0] is value else value


def _over_real_things(f):
    """A function of the same code whose globals, closure and defaults hold no stand-ins."""
    space = dict(f.__globals__)
    for name in names_in(f.__code__):
        if name in space:
            space[name] = _real(space[name])
    cells = [types.CellType(*map(_real, contents_of(cell))) for cell in f.__closure__ or ()]
    made = types.FunctionType(_real(f.__code__), space, f.__name__, f.__defaults__, tuple(cells) or None)
    made.__kwdefaults__ = f.__kwdefaults__
    return functools.update_wrapper(made, f, updated=())
