"""NumPy's functions of shape, joining and splitting on Tensors, with NumPy's signatures.

May import: core.exposed_memory, ops._axes, numpy_api.functions, numpy.
"""

import itertools
import operator

import numpy

from arraygrad.core.exposed_memory import raw_handle
from arraygrad.core.tensor import Tensor
from arraygrad.namespaces.bind import to_tensor
from arraygrad.numpy_api.functions import (
    OUT,
    F,
    axes_of,
    backend_among,
    beside,
    host,
    implements,
    refuse,
    tensor_among,
    tensor_of,
    tensors,
)
from arraygrad.ops._axes import at_axis, lengths, no_truth_values

__all__: list[str] = []


@implements("reshape")
def _reshape(a, /, shape, order="C", *, copy=None):
    return tensor_of(a).reshape(shape, order=order, copy=copy)


@implements("ravel")
def _ravel(a, order="C"):
    return tensor_of(a).ravel(order)


@implements("transpose", "permute_dims")
def _transpose(a, axes=None):
    return tensor_of(a).transpose(axes)


@implements("matrix_transpose")
def _matrix_transpose(x, /):
    return F["matrix_transpose"](tensor_of(x))


@implements("swapaxes")
def _swapaxes(a, axis1, axis2):
    return tensor_of(a).swapaxes(axis1, axis2)


@implements("moveaxis")
def _moveaxis(a, source, destination):
    return F["moveaxis"](tensor_of(a), _static(source), _static(destination))


@implements("squeeze")
def _squeeze(a, axis=None):
    return tensor_of(a).squeeze(axis)


@implements("expand_dims")
def _expand_dims(a, axis):
    a = tensor_of(a)
    if not isinstance(axis, list | tuple):
        return F["expand_dims"](a, axis)
    for position in sorted(axes_of(axis, a.ndim + len(axis))):
        a = F["expand_dims"](a, position)
    return a


@implements("broadcast_to")
def _broadcast_to(array, shape, subok=False):
    no_truth_values(shape)
    return F["broadcast_to"](tensor_of(array), lengths(shape))


@implements("broadcast_arrays")
def _broadcast_arrays(*args, subok=False):
    return F["broadcast_arrays"](*tensors(*args))


@implements("flip")
def _flip(m, axis=None):
    return F["flip"](tensor_of(m), axis=axis)


@implements("flipud")
def _flipud(m):
    return F["flip"](tensor_of(m), axis=0)


@implements("fliplr")
def _fliplr(m):
    return F["flip"](tensor_of(m), axis=1)


@implements("rot90")
def _rot90(m, k=1, axes=(0, 1)):
    m = tensor_of(m)
    axes = tuple(axes)
    no_truth_values(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if not all(-m.ndim <= i < m.ndim for i in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    a, b = [operator.index(i) % m.ndim for i in axes]
    turns = k % 4
    if turns == 0:
        return m[...]
    if turns == 2:
        return F["flip"](m, axis=(a, b))
    if turns == 1:
        return F["flip"](m, axis=b).swapaxes(a, b)
    return F["flip"](m.swapaxes(a, b), axis=b)


@implements("roll")
def _roll(a, shift, axis=None):
    return F["roll"](tensor_of(a), _static(shift), axis=axis)


@implements("repeat")
def _repeat(a, repeats, axis=None):
    if isinstance(repeats, list | tuple):
        repeats = tensors(repeats, a)[0]
    return tensor_of(a).repeat(repeats, axis=axis)


@implements("tile")
def _tile(A, reps):
    return F["tile"](tensor_of(A), lengths(reps))


@implements("ix_")
def _ix_(*args):
    plain = numpy.ix_(*[host(arg) for arg in args])  # or NumPy's error; truth values become positions
    return tuple(
        [
            tensor_of(arg).reshape(mesh.shape) if _recorded(arg) else _positions(mesh, args)
            for arg, mesh in zip(args, plain, strict=True)
        ]
    )


def _recorded(arg):
    return backend_among((arg,)) is not None and tensor_of(arg).requires_grad


def _positions(mesh, args):
    like = tensor_among(args)
    return mesh if like is None else beside(mesh, like)


@implements("atleast_1d")
def _atleast_1d(*arys):
    found = [t.reshape(1) if t.ndim == 0 else t for t in map(tensor_of, arys)]
    return found[0] if len(found) == 1 else tuple(found)


@implements("atleast_2d")
def _atleast_2d(*arys):
    found = [t.reshape((1,) * (2 - t.ndim) + t.shape) if t.ndim < 2 else t for t in map(tensor_of, arys)]
    return found[0] if len(found) == 1 else tuple(found)


@implements("atleast_3d")
def _atleast_3d(*arys):
    def lift(t):
        if t.ndim >= 3:
            return t
        return t.reshape((1, -1, 1)) if t.ndim < 2 else t.reshape((*t.shape, 1))

    found = [lift(tensor_of(t)) for t in arys]
    return found[0] if len(found) == 1 else tuple(found)


# -- joining -----------------------------------------------------------------------------------------------------------


def _pieces(name, arrays, dtype, casting):
    """The arrays to join as Tensors, cast to `dtype` if given. TypeError where `casting` does not allow the cast."""
    pieces = F["unstack"](arrays) if isinstance(arrays, Tensor) else tensors(*arrays)
    if dtype is None and casting in ("same_kind", "unsafe"):
        return pieces
    common = dtype if dtype is not None else F["result_type"](*pieces)
    for t in pieces:
        if not numpy.can_cast(host(t).dtype, common, casting):
            raise TypeError(
                f"numpy.{name}: Cannot cast array data from {t.dtype} to {numpy.dtype(common)} according to the rule "
                f"{casting!r}: cast with t.astype(dtype)"
            )
    return pieces if dtype is None else [t.astype(dtype) for t in pieces]


@implements("concatenate", "concat")
def _concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    refuse("concatenate", out=(out, OUT))
    return F["concat"](_pieces("concatenate", arrays, dtype, casting), axis=axis)


@implements("stack")
def _stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    refuse("stack", out=(out, OUT))
    return F["stack"](_pieces("stack", arrays, dtype, casting), axis=axis)


@implements("vstack", "row_stack")
def _vstack(tup, *, dtype=None, casting="same_kind"):
    return F["concat"]([_atleast_2d(t) for t in _pieces("vstack", tup, dtype, casting)], axis=0)


@implements("hstack")
def _hstack(tup, *, dtype=None, casting="same_kind"):
    pieces = [_atleast_1d(t) for t in _pieces("hstack", tup, dtype, casting)]
    return F["concat"](pieces, axis=0 if pieces[0].ndim == 1 else 1)


@implements("dstack")
def _dstack(tup):
    return F["concat"]([_atleast_3d(t) for t in _pieces("dstack", tup, None, "same_kind")], axis=2)


@implements("column_stack")
def _column_stack(tup):
    pieces = [_atleast_1d(t) for t in _pieces("column_stack", tup, None, "same_kind")]
    return F["concat"]([t.reshape((-1, 1)) if t.ndim == 1 else t for t in pieces], axis=1)


@implements("append")
def _append(arr, values, axis=None):
    arr, values = tensors(arr, values)
    if axis is None:
        arr, values, axis = arr.ravel(), values.ravel(), 0
    return F["concat"]([arr, values], axis=axis)


# -- splitting ---------------------------------------------------------------------------------------------------------


def _sections(indices_or_sections):
    """A number of sections as an int, also one in an array without axes; places to cut at as they are."""
    try:
        len(indices_or_sections)
    except TypeError:
        return int(indices_or_sections)
    return indices_or_sections


@implements("array_split")
def _array_split(ary, indices_or_sections, axis=0):
    ary = tensor_of(ary)
    axis = operator.index(axis)
    n = ary.shape[axis]
    axis %= ary.ndim
    indices_or_sections = _sections(indices_or_sections)
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        size, extra = divmod(n, indices_or_sections)
        cuts = [0]
        for i in range(indices_or_sections):
            cuts.append(cuts[-1] + size + (i < extra))
    else:
        cuts = [0, *[operator.index(i) for i in indices_or_sections], n]
    return [ary[at_axis(axis, slice(a, b))] for a, b in itertools.pairwise(cuts)]


@implements("split")
def _split(ary, indices_or_sections, axis=0):
    if isinstance(_sections(indices_or_sections), int) and tensor_of(ary).shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _array_split(ary, indices_or_sections, axis)


def _check_splits(name, ary, least):
    """NumPy's error for arrays of too few axes."""
    if tensor_of(ary).ndim < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")


@implements("hsplit")
def _hsplit(ary, indices_or_sections):
    _check_splits("hsplit", ary, 1)
    return _split(ary, indices_or_sections, 0 if tensor_of(ary).ndim == 1 else 1)


@implements("vsplit")
def _vsplit(ary, indices_or_sections):
    _check_splits("vsplit", ary, 2)
    return _split(ary, indices_or_sections, 0)


@implements("dsplit")
def _dsplit(ary, indices_or_sections):
    _check_splits("dsplit", ary, 3)
    return _split(ary, indices_or_sections, 2)


@implements("unstack")
def _unstack(x, /, *, axis=0):
    return F["unstack"](tensor_of(x), axis=axis)


# -- triangles and diagonals -------------------------------------------------------------------------------------------


@implements("tril")
def _tril(m, k=0):
    return F["tril"](tensor_of(m), k=k)


@implements("triu")
def _triu(m, k=0):
    return F["triu"](tensor_of(m), k=k)


@implements("diagonal")
def _diagonal(a, offset=0, axis1=0, axis2=1):
    return tensor_of(a).diagonal(offset, axis1, axis2)


@implements("trace")
def _trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    refuse("trace", out=(out, OUT))
    return tensor_of(a).trace(offset, axis1, axis2, dtype)


@implements("diag")
def _diag(v, k=0):
    v = tensor_of(v)
    if v.ndim == 2:
        return v.diagonal(k)
    if v.ndim != 1:
        raise ValueError(f"numpy.diag: expected one or two dimensions, got shape {v.shape}")
    n = v.shape[0] + abs(k)
    xp = backend_among((v,)).xp
    # A column of v chosen by a mask, not multiplied: inf and nan stay on the diagonal.
    column = v.reshape((-1, 1))
    if k:
        rest = F["broadcast_to"](column.detach()[:0].sum(), (abs(k), 1))  # zeros
        column = F["concat"]([column, rest] if k > 0 else [rest, column], axis=0)
    mask = to_tensor(xp.astype(xp.eye(n, k=k), xp.bool))
    return F["where"](mask, column, 0.0)


@implements("meshgrid")
def _meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    xi = tensors(*xi)
    if not sparse and (copy or not all(isinstance(raw_handle(x), numpy.ndarray) for x in xi)):
        return F["meshgrid"](*xi, indexing=indexing)
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = 1, 0
    grids = [x.reshape([-1 if axis == i else 1 for i in range(len(xi))]) for x, axis in zip(xi, order, strict=True)]
    if not sparse:  # views, which NumPy lets the program write through
        shape = numpy.broadcast_shapes(*[grid.shape for grid in grids])
        return tuple([_spread(grid, shape) for grid in grids])
    return tuple([grid.copy() for grid in grids]) if copy else grids  # a list, as NumPy's


def _spread(grid, shape):
    """A view of `shape`, as numpy.broadcast_arrays gives it: what is written into one place is seen in its row."""
    return grid if grid.shape == shape else F["broadcast_to"](grid, shape)


def _static(value):
    return tuple(value) if isinstance(value, list) else value
