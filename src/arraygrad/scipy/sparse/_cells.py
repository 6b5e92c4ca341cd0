"""LIL and DOK matrices: recorded matrices that a program writes element by element.

May import: arraygrad, core.tensor, scipy._guards, scipy.sparse, numpy, SciPy.
"""

import operator

import numpy as np
from scipy import sparse

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._guards import raw
from arraygrad.scipy.sparse._coordinates import coordinates_of, find_places, gathered, is_tracked
from arraygrad.scipy.sparse._grids import dense_of
from arraygrad.scipy.sparse._matrix import Matrix, is_sparse, refuse
from arraygrad.scipy.sparse._matrix_base import entries, kind_of_matrix, matched, set_class

__all__ = ["Cells", "Keyed"]


class Cells(Matrix):
    """A LIL matrix: single elements are kept one by one until another operation wants them as arrays."""

    _cells = None  # place -> number or 0-d Tensor
    _index = None  # places of the elements of the pattern, sorted, and their values

    def _cell(self, key):
        """The place of a single element, None for any other index."""
        if not isinstance(key, tuple) or len(key) != self.ndim:
            return None
        place = 0
        for one, n in zip(key, self.shape, strict=True):
            try:
                i = operator.index(raw(one))
            except TypeError:
                return None
            if isinstance(one, (bool, np.bool_)):
                return None
            if not -n <= i < n:
                raise IndexError(f"index ({i}) out of range")
            place = place * n + i % n
        return place

    def __getitem__(self, key):
        place = self._cell(key)
        if place is None:
            self._settle()
            return super().__getitem__(key)
        if self._cells and place in self._cells:
            return self._cells[place]
        if self._index is None:
            self._index = entries(self) if self._cells is None else self._settled_entries()
        places, values = self._index
        at, known = find_places(np.array([place]), places)
        return values[int(at[0])] if known[0] else self._structure.dtype.type(0)

    def _settled_entries(self):
        cells, self._cells = self._cells, None
        found = entries(self)
        self._cells = cells
        return found

    def __setitem__(self, key, value):
        place = None if is_sparse(value) else self._cell(key)
        value = value if place is None else dense_of(value)
        if place is None or np.size(raw(value)) != 1:
            self._settle()
            super().__setitem__(key, value)
            return
        if isinstance(value, Tensor):
            if value.ndim:
                value = ag.reshape(value, ())
            if value.dtype != self._structure.dtype:
                if is_tracked(value) and self._structure.dtype.kind not in "fc":
                    refuse(f"a matrix of {self._structure.dtype} takes no value that requires grad: it has",
                            "dtype=float")  # fmt: skip
                if value.dtype.kind == "c" and self._structure.dtype.kind != "c":
                    refuse("a complex value in a real matrix has", "dtype=complex")
                value = value.astype(self._structure.dtype)
        else:
            value = self._structure.dtype.type(np.asarray(value).reshape(()))
        if self._cells is None:
            self._cells = {}
        self._cells[place] = value

    def _settle(self):
        if not self._cells:
            super()._settle()
            return
        cells, self._cells = self._cells, None
        written = np.fromiter(cells, dtype=np.int64, count=len(cells))
        values = ag.stack([ag.asarray(v) for v in cells.values()])
        places, own = entries(self)
        kept = np.flatnonzero(~np.isin(places, written))
        places = np.concatenate([places[kept], written])
        values = ag.concat([gathered(own, kept), values.astype(self._structure.dtype)])
        order = np.argsort(places)
        places, values = places[order], gathered(values, order)
        plain = getattr(sparse, f"csr_{kind_of_matrix(self)}")(self.shape, dtype=self._structure.dtype)
        nonzero = np.flatnonzero(raw(values))
        coords = coordinates_of(places[nonzero], self.shape)
        plain = type(plain)((raw(values)[nonzero], coords), shape=self.shape).asformat(self.format)
        self._replace(matched(plain, places, values))

    def _replace(self, other):
        super()._replace(other)
        self._cells = self._index = None


class Keyed(Cells, dict):
    """A DOK matrix: besides, a mapping of coordinates to elements."""

    __hash__ = object.__hash__  # type: ignore[misc, assignment]  # of the object, as SciPy's matrices

    def __init__(self, *args, **kwargs):
        Matrix.__init__(self, *args, **kwargs)

    def __len__(self):
        return self.nnz

    def __iter__(self):
        return iter(self.keys())

    def __contains__(self, key):
        return key in self.pattern

    def keys(self):
        """Coordinates of the elements."""
        self._settle()
        places, _ = entries(self)
        return list(zip(*[c.tolist() for c in coordinates_of(places, self.shape)], strict=True))

    def values(self):
        """The elements in the order of `keys`."""
        self._settle()
        _, values = entries(self)
        return [values[i] for i in range(values.shape[0])]

    def items(self):
        """Pairs of coordinates and elements."""
        return list(zip(self.keys(), self.values(), strict=True))

    def get(self, key, default=0.0):
        """An element, `default` where there is none."""
        return self[key] if key in self.pattern else default


def _no_mapping(name):
    def method(self, *args, **kwargs):
        refuse(f"{name} of a dok matrix whose values require grad has", "assignment of elements")

    method.__name__ = name
    setattr(Keyed, name, method)


for _name in ("pop", "popitem", "setdefault", "update", "clear", "fromkeys", "__delitem__", "__or__", "__ior__",
              "__ror__", "__reversed__"):  # fmt: skip
    _no_mapping(_name)
set_class("lil", Cells)
set_class("dok", Keyed)
