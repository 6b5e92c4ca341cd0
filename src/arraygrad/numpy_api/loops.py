"""Objects of NumPy's that loop over the elements of arrays, of Tensors: numpy.broadcast and numpy.ndenumerate.

May import: core.tensor, numpy_api.functions, the standard library, numpy.

Guarded by tests/numpy_api/test_loops_over_elements.py.
"""

import itertools

import numpy

from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.functions import plain_values

__all__ = ["Broadcast", "Enumerated"]


class Broadcast:
    """numpy.broadcast of arrays, some of which are Tensors: the elements of these are recorded.

    Attributes
    ----------
    shape : tuple of int
    ndim, nd, size, numiter, index : int
        As of numpy.broadcast.
    """

    def __new__(cls, *arrays):
        shown = numpy.broadcast(*[plain_values(a) for a in arrays])  # which raises for shapes that do not fit
        if not any(isinstance(a, Tensor) for a in arrays):
            return shown
        self = super().__new__(cls)
        self.shape, self.size = shown.shape, shown.size
        self.ndim = self.nd = shown.ndim
        self.numiter = shown.numiter
        self._arrays = [a if isinstance(a, Tensor) else numpy.asarray(a) for a in arrays]
        self._spread = None
        self.index = 0
        return self

    @property
    def iters(self):
        """An iterator over the elements of each array that are left, in the order of the loop."""
        return tuple([self._left(a) for a in self._broadcast()])

    def _left(self, array):
        yield from itertools.islice(_elements(array), self.index, None)

    def _broadcast(self):
        if self._spread is None:
            self._spread = [numpy.broadcast_to(a, self.shape) for a in self._arrays]
        return self._spread

    def reset(self):
        """Begin the loop again."""
        self.index = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.index >= self.size:
            raise StopIteration
        place = tuple([int(i) for i in numpy.unravel_index(self.index, self.shape)])
        found = tuple([a[place] for a in self._broadcast()])
        self.index += 1
        return found


def _elements(array):
    for place in numpy.ndindex(array.shape):
        yield array[place]


class Enumerated:
    """numpy.ndenumerate of a Tensor: pairs of an index and the element there, which is recorded."""

    def __new__(cls, arr):
        if not isinstance(arr, Tensor):
            return numpy.ndenumerate(arr)
        self = super().__new__(cls)
        self._array = arr
        self._places = iter(numpy.ndindex(arr.shape))
        return self

    @property
    def iter(self):
        """An iterator over the elements."""
        return _elements(self._array)

    def __iter__(self):
        return self

    def __next__(self):
        place = next(self._places)
        return place, self._array[place]
