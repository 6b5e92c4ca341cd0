"""Results written into memory that the same call reads.

May import: core.containers, core.convert, core.exposed_memory, core.tensor, numpy. `scipy` uses it too.

Note [Overlapping results]
~~~~~~~~~~~~~~~~~~~~~~~~~~
Ufuncs and most functions of NumPy read all of their arguments as they were before the call, if out= overlaps one of
them; some (`concatenate`, `ptp`, `ndarray.flat`) write while they read. What is recorded has read all first. So where
memory is shared, the function runs twice on random numbers: on arrays that overlap as these do, and on arrays apart. If
what they write differs, the call is refused. (The numbers at hand would not do: where they are equal by chance, values
agree and derivatives do not.)
Guarded by tests/numpy_api/test_overlapping_results.py.
"""

import numpy

from arraygrad.core.convert import place
from arraygrad.core.exposed_memory import raw_handle
from arraygrad.core.tensor import Tensor

__all__ = ["refuse_overlap"]


def refuse_overlap(name, function, target, args, kwargs):
    """Raise TypeError if `function(target, *args, **kwargs)` reads what it has written to `target`."""
    if not isinstance(target, Tensor) or not target.ndim:
        return
    from arraygrad.core.containers import flatten  # which takes more modules than anything else here

    leaves, structure = flatten(((target, *args), kwargs))
    arrays = [raw_handle(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    written = raw_handle(target)
    if type(written) is not numpy.ndarray or written.dtype.kind not in "fc":
        return
    shared = [i for i, a in enumerate(arrays) if type(a) is numpy.ndarray and numpy.may_share_memory(a, written)]
    if len(shared) < 2:
        return
    together = _random([arrays[i] for i in shared])
    if together is None or not _alike(function, structure, arrays, shared, together):
        raise TypeError(
            f"{place()}: {name} reads what it has written already, as the array that it writes into overlaps one that "
            "it reads: what it computes follows the order in which NumPy goes through memory, which is not recorded. "
            "Give it a copy to read, x.copy(), or take the result without writing it there"
        )


def _random(arrays):
    """Arrays of random numbers that overlap in memory as these do; None where their dtypes differ."""
    dtype = arrays[0].dtype
    if any(a.dtype != dtype for a in arrays):
        return None
    bounds = [numpy.lib.array_utils.byte_bounds(a) for a in arrays]
    low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
    numbers = numpy.random.default_rng(0).uniform(0.5, 1.5, (high - low) // numpy.dtype("f4").itemsize + 2)
    memory = numbers.astype(dtype)
    if (high - low) % dtype.itemsize or any((a.ctypes.data - low) % dtype.itemsize for a in arrays):
        return None
    return [numpy.ndarray(a.shape, dtype, memory, a.ctypes.data - low, a.strides) for a in arrays]


def _alike(function, structure, arrays, shared, together):
    """Whether the function writes the same into arrays that overlap as into arrays apart."""
    from arraygrad.core.containers import unflatten

    apart = [a.copy(order="K") for a in together]
    written = []
    for given in (apart, together):
        leaves = list(arrays)
        for i, array in zip(shared, given, strict=True):
            leaves[i] = array
        args, kwargs = unflatten(structure, leaves)
        try:
            with numpy.errstate(all="ignore"):
                function(*args, **kwargs)
        except Exception:
            return given is apart  # its own error comes from the call
        written.append(given[0])
    return numpy.array_equal(*written, equal_nan=True)
