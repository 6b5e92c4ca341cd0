"""What NumPy does with a class that derives from numpy.ndarray, asked of NumPy itself on plain values.

May import: core.exposed_memory, core.tensor, the standard library, numpy. See Note [Classes derived from arrays] in
adoption/subclasses.py, (3) and (4).
"""

import functools
import threading
import warnings

import numpy

from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor

__all__ = ["Asked", "probe_of", "within"]

_running = threading.local()  # .asked: the Asked whose function runs on this thread


def _note(name, *what):
    asked = getattr(_running, "asked", None)
    if asked is not None:
        getattr(asked, name)(*what)


class Probe(numpy.ndarray):
    """A plain array in the place of an object of a derived class: it notes what NumPy calls."""

    _twin: type

    def __array_finalize__(self, obj):
        _note("finalized", self, obj)


def _wrap(self, array, context=None, return_scalar=False):
    found = numpy.ndarray.__array_wrap__(self, array, context, return_scalar)
    _note("wrapped", self, return_scalar, found)
    return found


def _of_ufuncs(self, ufunc, method, *inputs, **kwargs):
    _note("touches", "__array_ufunc__")
    plain = [x.view(numpy.ndarray) if isinstance(x, Probe) else x for x in inputs]
    return numpy.ndarray.__array_ufunc__(self.view(numpy.ndarray), ufunc, method, *plain, **kwargs)


def _tripwire(name):
    if name == "__array_ufunc__":
        return _of_ufuncs
    real = getattr(numpy.ndarray, name)

    def touched(self, *args, **kwargs):
        _note("touches", name)
        return real(self, *args, **kwargs)

    def read(self):
        _note("touches", name)
        return real.__get__(self)

    return touched if callable(real) else property(read)


@functools.lru_cache(1024)
def _class_of_probes(twin, overridden, wraps):
    members = {name: _tripwire(name) for name in overridden if getattr(numpy.ndarray, name) is not None}
    if wraps:
        members["__array_wrap__"] = _wrap
    members["__array_priority__"] = twin.__array_priority__
    members["_twin"] = twin
    return type(twin.__name__, (Probe,), members)


def probe_of(twin, tensor, overridden, wraps):
    """The values of an object, as a plain array that can't be written, in a class that notes what NumPy calls.

    `overridden`: names of arrays' members that the program's class has of its own; `wraps`: `__array_wrap__` is one.
    """
    return _to_read(raw_array(tensor)).view(_class_of_probes(twin, overridden, wraps))


def _to_read(array):
    found = numpy.asarray(array).view()
    found.flags.writeable = False
    return found


def within(x, change):
    """A list, tuple or dict with `change(item)` in the place of each item; anything else as it is."""
    if type(x) in (list, tuple):
        return type(x)([change(item) for item in x])
    if type(x) is dict:
        return {name: change(item) for name, item in x.items()}
    return x


class Asked:
    """A call of a NumPy function on such probes.

    Parameters
    ----------
    function : callable
    args, kwargs : tuple, dict
        With objects of class `held` and Tensors among them.
    probe : callable
        The probe of an object.
    held : type
    outer : str or None
        The member that NumPy asks for the call itself, which is no tripwire once.

    Attributes
    ----------
    result
        What it gave.
    writes : bool
        Whether it would write into an argument; then there is no result.
    touched : str
        The first member that the function called of those that the class overrides; "".
    wraps : list of (holder, return_scalar, result)
        Calls of `__array_wrap__`.
    """

    def __init__(self, function, args, kwargs, probe, held, outer):
        self.touched = ""
        self.writes = False
        self.wraps = []
        self.result = None
        self._parents = {}  # id -> (the array, what its __array_finalize__ was given)
        self._holders = {}  # id of a probe -> (it, the object)
        self._held = held
        self._probe = probe
        written = kwargs.get("out", ())
        self._written = written if isinstance(written, tuple) else (written,)
        args, kwargs = self._plain(args), self._plain(kwargs)
        self._outer = outer
        before = getattr(_running, "asked", None)
        _running.asked = self
        try:
            with numpy.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.result = function(*args, **kwargs)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            self.writes = True
        finally:
            _running.asked = before

    def _plain(self, x):
        if isinstance(x, self._held):
            for probe, holder in self._holders.values():
                if holder is x:
                    return probe
            probe = self._probe(x)
            if any(x is one for one in self._written):
                probe = probe.copy()
            self._holders[id(probe)] = (probe, x)
            return probe
        if type(x) is Tensor or type(x) is numpy.ndarray:
            written = any(x is one for one in self._written)
            raw = raw_array(x) if type(x) is Tensor else x
            return raw.copy() if written else _to_read(raw) if raw.ndim else raw
        return within(x, self._plain)

    # -- what the probes note ------------------------------------------------------------------------------------------

    def finalized(self, made, obj):
        self._parents[id(made)] = (made, obj)

    def wrapped(self, probe, scalar, found):
        self.wraps.append((self.given(probe), scalar, found))

    def touches(self, name):
        if name == self._outer:
            self._outer = None  # the call itself
        else:
            self.touched = self.touched or name

    # -- what there is to ask ------------------------------------------------------------------------------------------

    def is_probe(self, result):
        """Whether a result has the class of a probe."""
        return isinstance(result, Probe)

    def class_of(self, result):
        """The twin whose class a result has."""
        return type(result)._twin

    def given(self, result):
        """The object whose probe this is; None."""
        found = self._holders.get(id(result))
        return None if found is None or found[0] is not result else found[1]

    def parent(self, result):
        """What `__array_finalize__` of a result was given, an object, a plain array or None, and by how many steps."""
        steps = 0
        while True:
            steps += 1
            obj = self._parents[id(result)][1]
            if obj is None or not isinstance(obj, Probe):
                return obj, steps
            holder = self.given(obj)
            if holder is not None:
                return holder, steps
            result = obj
