"""What stands in for functions that Numba compiles in adopted calls.

May import: adoption.exchange, adoption.code, adoption.table, autograd.closed_functions, autograd.source_locations,
core.containers, core.inplace, core.constructors, core.tensor, numpy_api.plainly, numpy_api.rearranging, the standard
library, numpy; Numba inside functions, where the program has loaded it.

Note [Compiled functions]
~~~~~~~~~~~~~~~~~~~~~~~~~
(1) Numba reads the globals and the closure of a function when it first compiles it for some types, and keeps what it
    made of them. While an adopted call runs, on any thread, these may hold stand-ins. So Numba is given a function of
    the same code over the real things while it compiles: also for the functions of Numba's that this one calls. Numba
    says itself when it compiles a function (the event numba:compile), so that it need not be called by a name that
    adoption exchanges: an object, a primitive or a solver may hold it. Ufuncs have no such event.
(2) Called without a gradient among its arguments, the compiled function runs on plain arrays. A Tensor among them is
    handed over as a copy of its array; if the function has written it, the Tensor is written, as by `t[...] = copy`.
(3) Called with a Tensor that requires grad, the Python function runs, and is recorded. A warning tells once that
    it is not compiled.
(4) A function of numba.vectorize or numba.guvectorize does the same (1, 3): its Python function runs for each element,
    or for each of the parts that its signature says, and dtypes and shapes are those that the compiled one gives.
    These read their arguments only, so a Tensor without a gradient is handed over as its array. One that is made
    while the call runs, or that a tuple or class holds, is found by the protocol of ufuncs.
(5) A numba.cfunc that is called runs as Python, without adoption too. What compiled code calls (`address`, `ctypes`)
    takes numbers.
(6) A primitive calls what it was made of without adoption (`called_plainly`): numbers are numbers, as in a plain call,
    and a ufunc is compiled over the real things.
Guarded by tests/adoption/test_numba_functions.py and test_numba_ufuncs.py.
"""

import contextlib
import functools
import itertools
import re
import sys
import threading
import types

import numpy

from arraygrad.adoption.code import names_in
from arraygrad.adoption.exchange import is_on, without
from arraygrad.adoption.table import MAKERS, REALS, stand_in_made
from arraygrad.autograd.closed_functions import contents_of
from arraygrad.autograd.source_locations import SourceLocation, warn_at
from arraygrad.core.constructors import asarray
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.inplace import as_scalar
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.plainly import set_compiled
from arraygrad.numpy_api.rearranging import Vectorize

__all__ = ["called_plainly", "install", "refresh"]

_compiling = threading.RLock()  # functions over the real things are in place
_listening: list = []  # the listener to Numba's events


def install():
    """Have what stands in for functions that Numba compiles made when adoption meets them."""
    MAKERS.append(_pair)
    set_compiled(_ufunc_made)


def refresh():
    """Listen to Numba's compilations (1) from when the program has loaded it. False: nothing new stands in."""
    events = sys.modules.get("numba.core.event")
    if events is not None and not _listening and _dispatchers():
        _listening.append(type("Compilations", (_Compilations, events.Listener), {})())
        events.register("numba:compile", _listening[0])
    return False


class _Compilations:
    """Has each function of Numba's be over the real things while it is compiled. Numba's lock is held."""

    def __init__(self):
        self.begun = []

    def on_start(self, event):
        self.begun.append(_over_the_real(event.data["dispatcher"]))
        self.begun[-1].__enter__()

    def on_end(self, event):
        self.begun.pop().__exit__(None, None, None)


def _ufunc_made(ufunc):
    """What stands in for a ufunc of Numba's; None for others. Numba asks the protocol: no name has to hold it (4)."""
    pair = _pair(ufunc)
    return pair[1] if pair is not None and isinstance(pair[1], _Ufunc) else None


def _pair(value):
    """(the dispatcher, what stands in for it) for a function that Numba compiles, else None."""
    if "numba" not in sys.modules:
        return None
    refresh()
    for kinds, made in ((_dispatchers(), _Compiled), (_kinds("dufunc.DUFunc"), _OfElements),
                        (_kinds("gufunc.GUFunc"), _OfParts), (_callbacks(), _Callback)):  # fmt: skip
        if kinds and isinstance(value, kinds):
            return stand_in_made(value, made)
    return None


def called_plainly(function, args, kwargs):
    """Call a function as if no adopted call were running, compiled over the real things where Numba compiles it (1)."""
    while type(function) is functools.partial:
        args, kwargs, function = (*function.args, *args), {**function.keywords, **kwargs}, function.func
    pair = _pair(function)
    other = function if pair is None else pair[1]  # a partial may hold what stands in
    if isinstance(other, _OfNumba):
        args, kwargs = tuple(map(_number, args)), {key: _number(value) for key, value in kwargs.items()}
    return without(other, args, kwargs)


def _number(value):
    """The number that an array without axes holds, which Tensors that are numbers are over."""
    return value[()] if isinstance(value, numpy.ndarray) and not value.ndim else value


def _kinds(name):
    """The class of this name below numba.np.ufunc, () where the program has not loaded it."""
    module, _, name = name.rpartition(".")
    module = sys.modules.get(f"numba.np.ufunc.{module}")
    return () if module is None else (getattr(module, name),)


def _callbacks():
    module = sys.modules.get("numba.core.ccallback")
    return () if module is None else (module.CFunc,)


def _dispatchers():
    """The classes of Numba's functions, () where the program has not loaded it."""
    module = sys.modules.get("numba.core.dispatcher")
    return (module.Dispatcher,) if hasattr(module, "Dispatcher") else ()


def _note(function, frame):
    """Tell once that a function runs as Python (3)."""
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("arraygrad", "numba"):
        frame = frame.f_back  # Numba's call of the protocol
    place = SourceLocation(frame)
    warn_at(
        place,
        f"{place}: {function.__name__} is a function that Numba compiles, and an argument requires grad: its Python "
        "code runs in its place and is recorded, at the speed of Python. Where no gradient is wanted, give it "
        "arraygrad.stop_gradient(x)",
    )


class _OfNumba:
    """What stands in for an object of Numba's, with its attributes."""

    __slots__ = ("_real",)

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)


class _Compiled(_OfNumba):
    """See Note [Compiled functions]."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        if not is_on():
            return self._real(*args, **kwargs)
        leaves, structure = flatten((args, kwargs))
        tensors = [(i, leaf) for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        if any(t.requires_grad for _, t in tensors):
            return self._recorded(args, kwargs)
        if not tensors:
            return self._real(*args, **kwargs)
        return self._on_arrays(leaves, structure, tensors)

    def _recorded(self, args, kwargs):
        _note(self._real.py_func, sys._getframe(2))
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
        found = self._real(*args, **kwargs)
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


class _Ufunc(_OfNumba):
    """What numba.vectorize and numba.guvectorize make (4)."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)] if is_on() else []
        if not any(t.requires_grad for t in tensors):
            if not tensors:
                return self._plain(args, kwargs)
            raws, named = [_raw(a) for a in args], {key: _raw(value) for key, value in kwargs.items()}
            outs = [a for a in (*args[self._real.nin :], kwargs.get("out")) if isinstance(a, Tensor)]
            if not outs:
                return _as_tensors(self._plain(raws, named))
            named.pop("out", None)
            return _written(outs, self._plain(raws[: self._real.nin], named))
        if kwargs.keys() - {"out"}:
            raise TypeError(
                f"{self._function().__name__}: Numba's ufunc is recorded without keywords, but got "
                f"{', '.join(sorted(kwargs.keys() - {'out'}))}: leave them out"
            )
        _note(self._function(), sys._getframe(1))
        outs = [*args[self._real.nin :], *([kwargs["out"]] if kwargs.get("out") is not None else [])]
        return self._recorded(args[: self._real.nin], outs)

    def _plain(self, args, kwargs):
        """A call of the compiled function, compiled over the real things."""
        with _over_the_real(self._dispatcher()):
            return self._real(*args, **kwargs)


class _OfElements(_Ufunc):
    __slots__ = ()

    def _dispatcher(self):
        return self._real._dispatcher

    def _function(self):
        return self._real._dispatcher.py_func

    def _recorded(self, args, outs):
        plain = self._plain([_raw(a) for a in args], {})
        found = Vectorize(self._function(), otypes=[plain.dtype])(*args)
        if outs:
            return _written(outs, found)
        return found if isinstance(plain, numpy.ndarray) or not isinstance(found, Tensor) else as_scalar(found)


class _OfParts(_Ufunc):
    __slots__ = ()

    def _dispatcher(self):
        return self._real._dispatcher

    def _function(self):
        return self._real.gufunc_builder.py_func

    def _recorded(self, args, outs):
        real = self._real
        cores = [re.findall(r"\w+", part) for part in re.findall(r"\(([^)]*)\)", real.signature)]
        raws = [_raw(a) for a in args]
        plains = self._plain([*raws, *[numpy.array(_raw(out)) for out in outs]], {})
        several = isinstance(plains, tuple)
        plains = plains if several else (plains,)
        if real.is_dynamic:
            plains = [numpy.array(_raw(out)) for out in outs]  # copies: a held array is told of a recorded write
        loop = numpy.shape(plains[0])[: numpy.ndim(plains[0]) - len(cores[real.nin])]
        types = None if real.is_dynamic else real.gufunc_builder._sigs[0].args if real.gufunc_builder._sigs else None
        given = []
        for i, a in enumerate(args):
            a = a if isinstance(a, Tensor) else numpy.asarray(a)
            core = tuple(a.shape[a.ndim - len(cores[i]) :]) if cores[i] else ()
            a = numpy.broadcast_to(a, (*loop, *core))
            # An argument without axes is a number, or an array of one element where the program has said so.
            as_array = not cores[i] and types is not None and getattr(types[i], "ndim", 0) == 1
            given.append(a.reshape((*loop, 1)) if as_array else a)
        made = [asarray(numpy.zeros((*numpy.shape(p), *(() if cores[real.nin + i] else (1,))), p.dtype))
                for i, p in enumerate(plains)]  # fmt: skip
        for i, out in enumerate(outs):
            made[i][...] = out if cores[real.nin + i] else out.reshape(made[i].shape)
        for index in numpy.ndindex(*loop):
            # Each call gets arrays of its own: parts of an array without axes in front would be scalars.
            parts = [one[(*index, Ellipsis)] for one in made]
            self._function()(*[a[index] for a in given], *parts)
        found = [one.reshape(numpy.shape(p)) for one, p in zip(made, plains, strict=True)]
        found = [as_scalar(one) if not one.ndim else one for one in found]
        if outs:
            for out, one in zip(outs, found, strict=True):
                out[...] = one
            found = outs
        return tuple(found) if several else found[0]


def _raw(value):
    if isinstance(value, Tensor):
        return value.array if value.ndim else value.array[()]
    return value


def _written(outs, found):
    for out, one in zip(outs, found if isinstance(found, tuple) else (found,), strict=True):
        out[...] = one
    return outs[0] if len(outs) == 1 else tuple(outs)


def _as_tensors(found):
    """Arrays that a call has made, as what can be written."""
    if isinstance(found, tuple):
        return tuple(map(_as_tensors, found))
    return asarray(found) if isinstance(found, numpy.ndarray) and found.dtype.kind in "fc" else found


class _Callback(_OfNumba):
    """What numba.cfunc makes (5)."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        return self._real._pyfunc(*args, **kwargs)

    @property
    def ctypes(self):
        """The function that compiled code calls, which refuses Tensors that require grad."""
        real = self._real

        def call(*args):
            if any(isinstance(a, Tensor) and a.requires_grad for a in args):
                name = real._pyfunc.__name__
                raise TypeError(
                    f"{name}.ctypes: compiled code takes numbers, and an argument requires grad: call {name}(x) "
                    "itself, which runs as Python and is recorded, or give float(arraygrad.stop_gradient(x))"
                )
            return real.ctypes(*[a.item() if isinstance(a, Tensor) else a for a in args])

        return call if is_on() else real.ctypes


@contextlib.contextmanager
def _over_the_real(real):
    """While it lasts, a function of Numba's, and those that its code names, are over the real things (1)."""
    with _compiling:
        exchanged = []
        try:
            for one in _reached(real):
                holder = getattr(one, "_compiler", one)  # of a ufunc the dispatcher compiles
                exchanged.append((holder, holder.py_func))
                holder.py_func = _over_real_things(one.py_func)
            yield
        finally:
            for holder, function in exchanged:
                holder.py_func = function


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
            held = list(map(_real, held))
            waiting += [thing for thing in held if isinstance(thing, _dispatchers())]
            waiting += [thing._dispatcher for thing in held if isinstance(thing, _kinds("dufunc.DUFunc"))]
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
