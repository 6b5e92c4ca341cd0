"""Records of Tensors: numpy.rec.fromarrays of arrays of which some are recorded, and arrays of tuples with Tensors.

May import: core.constructors, core.tensor, numpy_api.functions, numpy.

Guarded by tests/numpy_api/test_records.py.
"""

import numpy

from arraygrad.core.constructors import asarray
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.functions import plain_values

__all__ = ["Record", "Records", "fromarrays", "of_rows"]


class Records:
    """What numpy.rec.fromarrays gives for Tensors: an array for each field, `r.name` and `r["name"]`.

    Memory of NumPy's records holds no gradient. So this is no numpy.ndarray: it is indexed and its fields are written,
    and nothing else is done with it as a whole.

    Attributes
    ----------
    dtype : numpy.dtype
    shape : tuple of int
    ndim, size : int
    """

    def __init__(self, fields):
        object.__setattr__(self, "_fields", fields)

    @property
    def dtype(self):
        return numpy.dtype([(name, field.dtype) for name, field in self._fields.items()])

    @property
    def shape(self):
        return next(iter(self._fields.values())).shape

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(numpy.prod(self.shape))

    def __len__(self):
        return len(next(iter(self._fields.values())))

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getattr__(self, name):
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(
                f"records of Tensors have no attribute {name!r}: their fields are {', '.join(self._fields)}, and each "
                f"is an array, r.{next(iter(self._fields))}"
            ) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __getitem__(self, key):
        if isinstance(key, str):
            if key not in self._fields:
                raise ValueError(f"no field of name {key}")
            return self._fields[key]
        if isinstance(key, list) and all(isinstance(one, str) for one in key):
            return Records({name: self[name] for name in key})
        places = key if isinstance(key, tuple) else (key,)
        if len(places) == self.ndim and all(isinstance(one, _INTEGERS) and not isinstance(one, bool) for one in places):
            return Record({name: field[(*places, ...)] for name, field in self._fields.items()})
        return Records({name: field[key] for name, field in self._fields.items()})

    def __setitem__(self, key, value):
        if isinstance(key, str):
            self[key][...] = value
            return
        values = [value[name] for name in self._fields] if isinstance(value, Records) else value
        for field, one in zip(self._fields.values(), values, strict=True):
            field[key] = one

    def copy(self):
        """Records of copies of the fields."""
        return Records({name: field.copy() for name, field in self._fields.items()})

    def field(self, attr):
        """The field of a name, or of a number."""
        return self[attr] if isinstance(attr, str) else list(self._fields.values())[attr]

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "records of Tensors are no array, as its memory would hold no gradient: take their fields, "
            f"r.{next(iter(self._fields))}; arraygrad.stop_gradient of each where only the values are meant"
        )

    def __repr__(self):
        fields = ", ".join(f"{name}={field!r}" for name, field in self._fields.items())
        return f"<arraygrad records {fields}>"


class Record(Records):
    """One of them: a view, as in NumPy. What is read of it are scalars."""

    def __len__(self):
        return len(self._fields)

    def __iter__(self):
        return (field[()] for field in self._fields.values())

    def __getattr__(self, name):
        return super().__getattr__(name)[()]

    def _name(self, key):
        return list(self._fields)[key] if isinstance(key, _INTEGERS) else key

    def __getitem__(self, key):
        found = super().__getitem__(self._name(key))
        return found if isinstance(found, Records) else found[()]

    def __setitem__(self, key, value):
        name = self._name(key)
        if name not in self._fields:
            raise ValueError(f"no field of name {name}")
        self._fields[name][...] = value

    def item(self):
        """The fields as a tuple."""
        return tuple(self)


_INTEGERS = (int, numpy.integer)


def of_rows(rows, dtype):
    """numpy.array(rows, dtype) of tuples, some with Tensors, and a dtype with fields; None of other rows.

    `Records` where one of the Tensors requires grad, else an array of NumPy.
    """
    if not isinstance(rows, list) or not all(type(row) is tuple for row in rows):
        return None
    dtype = numpy.dtype(dtype)
    plain = numpy.array([tuple(map(plain_values, row)) for row in rows], dtype)  # which checks
    if not any(isinstance(x, Tensor) and x.requires_grad for row in rows for x in row):
        return plain
    return fromarrays([[row[i] for row in rows] for i in range(len(dtype.names))], dtype=plain.dtype)


def fromarrays(arrays, dtype=None, shape=None, formats=None, names=None, titles=None, aligned=False, byteorder=None):
    """numpy.rec.fromarrays of arrays and Tensors: `Records` of copies."""
    plain = numpy.rec.fromarrays(
        [plain_values(a) for a in arrays],
        *(dtype, shape, formats, names, titles, aligned, byteorder),
    )  # which checks
    fields = {}
    for name, array in zip(plain.dtype.names, arrays, strict=True):
        kind = plain.dtype[name]
        if isinstance(array, (list, tuple)) and any(isinstance(x, Tensor) for x in array):
            array = asarray(array)
        if not isinstance(array, Tensor):
            fields[name] = plain[name].copy()
            continue
        if kind.subdtype is not None or kind.kind not in "fc":
            raise TypeError(
                f"numpy.rec.fromarrays: the field {name} has the dtype {kind}, which holds no gradient: keep the array "
                "beside the records, or give it a floating-point dtype"
            )
        fields[name] = array.copy() if array.dtype == kind else array.astype(kind)
    return Records(fields)
