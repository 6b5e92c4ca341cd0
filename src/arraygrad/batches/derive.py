"""What an operation does to rows of arrays, derived from its entry in the table: Note [Batches] in values.py.

May import: batches.values, batches.keys, core.op (as ops.OPS), ops, core.tensor (NumPy's backend), numpy.

An operation on arrays, some of which have an axis of rows in front, is one call of the same operation on NumPy's arrays
with other static parameters. Which they are follows from the signature of core axes (`ops.structure`):

- core axes are counted from the end, so that rows in front move none; what has fewer loops than others gets ones behind
  the rows; optional core axes get length one and are taken out of the result;
- an operation on all axes (`n*` without `axis`) has shapes, axes or widths among its parameters, which follow from the
  function of `structure.HELPERS` in which they stand (WHOLE);
- products by labels have one label more, keys one index more (`keys.py`).

What is not derived is done row by row, and stacked: ROW_BY_ROW says what and why.
"""

from __future__ import annotations

import collections
import functools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy

from arraygrad.batches import keys
from arraygrad.batches.values import Batched, NoBatch, run
from arraygrad.core.tensor import backend_of
from arraygrad.ops import OPS, _einsum, _padding, _products
from arraygrad.ops._axes import from_end
from arraygrad.ops._helpers import normalize_shape
from arraygrad.ops.structure import axis_parameter, core_axes, result_shapes, structure_of

__all__ = ["COMPOSED", "ROW_BY_ROW", "apply", "one_by_one", "plain_call", "rows_of"]

_VALUES_DECIDE = "values decide the shape of a result, which may be another one in each row"
# Operations whose batches are loops over the rows, and why.
ROW_BY_ROW: dict[str, str] = {
    "nonzero": _VALUES_DECIDE,
    "unique_values": _VALUES_DECIDE,
    "unique_counts": _VALUES_DECIDE,
    "unique_inverse": _VALUES_DECIDE,
    "unique_all": _VALUES_DECIDE,
    "_strided": "strides in bytes are those of one row's memory",
    "from_dlpack": "an exporter is no array",
    "_to_backend": "the result belongs to another library",
    "_implicit": "its problem holds one solution",
}
# Parameters in which rows are done one by one, and why.
PARAMETERS: dict[tuple[str, str], str] = {
    ("searchsorted", "x1"): "NumPy searches one table at a time",
    ("searchsorted", "sorter"): "NumPy searches one table at a time",
    ("isin", "x2"): "NumPy looks into one set at a time",
    ("repeat", "repeats"): _VALUES_DECIDE,
    ("pad", "constant_values"): "its values stand by axis, where rows would be one more",
    ("_segment_sums", "starts"): _VALUES_DECIDE,
    ("_segment_folds", "starts"): _VALUES_DECIDE,
}
# Operations whose forward is run on rows step by step: it is composed of others, of which NumPy takes no stacks.
COMPOSED: dict[str, str] = {
    "linspace": "its ends may be arrays of no axis alone",
    "arange": "as linspace",
    "_convolve": "NumPy's convolve takes no stacks",
    "_correlate": "as _convolve",
}
# axis=None is the flattened array, though the signature has a group of axes.
_FLATTENED = ("roll",)
# axis=None is the flattened array, whatever its number of dimensions.
_FLATTENS = ("sort", "argsort", "argmax", "argmin", "repeat", *_FLATTENED)
# Array parameters that the signature does not name: their core axes.
_BESIDE: dict[tuple[str, str], int] = {("pinv", "rtol"): 0, ("matrix_rank", "rtol"): 0}
# Rows of one operand are further columns of its last core axis where the others are one matrix.
_PRODUCTS = ("matmul", "solve")

PLAIN = backend_of(numpy.zeros(1)).rule_xp


# -- calls of NumPy's -------------------------------------------------------------------------------------------------


@functools.cache
def plain_call(op) -> Callable:
    """The operation on NumPy's arrays: a function of all its parameters in order."""
    entry = op.entry
    owner = getattr(PLAIN, entry.extension) if entry.extension else PLAIN
    function = getattr(owner, op.name)
    n, listed, names, defaults = op.n_positional, op.var_positional, op.params, op.defaults
    if n == len(names) and listed < 0:
        return function

    def call(*bound):
        positional = bound[:n] if listed < 0 else (*bound[:listed], *bound[listed])
        named = {
            names[i]: bound[i]
            for i in range(n + (listed >= 0), len(names))
            if listed >= 0 or bound[i] is not defaults[i]
        }
        return function(*positional, **named)

    return call


def _called(op, bound, arrays: list[int]) -> Callable:
    """A function of the arrays that stand at `arrays` among the bound arguments, the others being as they are."""
    call = plain_call(op)
    if len(arrays) == len(bound):
        return call
    template = list(bound)
    for i in arrays:
        template[i] = None

    def function(*values):
        filled = template.copy()
        for i, value in zip(arrays, values, strict=True):
            filled[i] = value
        return call(*filled)

    return function


def _wrap(op, made: Any) -> Any:
    """Results that are Batched in a tuple, named as the operation's, or the one result."""
    if not isinstance(made, (list, tuple)):
        return made
    if op.entry.results != ("*",):
        return _results(op)(*made)
    return tuple(made)


@functools.cache
def _results(op) -> Callable:
    return collections.namedtuple(op.name.strip("_"), op.entry.results)  # type: ignore[misc]


# -- rows ------------------------------------------------------------------------------------------------------------


def batched_in(value: Any) -> list[Batched]:
    """The Batched in an argument: itself, in a list, in a key."""
    if type(value) is Batched:
        return [value]
    if type(value) in (list, tuple):
        return [found for one in value for found in batched_in(one)]
    if type(value) is slice:
        return [found for one in (value.start, value.stop, value.step) for found in batched_in(one)]
    return []


def rows_of(arrays: list[Batched]) -> int | None:
    """How many rows arrays have together. ValueError where they differ."""
    found = {one.rows for one in arrays if one.rows is not None}
    if len(found) > 1:
        raise ValueError(f"arrays of {sorted(found)} rows in one operation")
    return found.pop() if found else None


def _lifted(x: Any, ndim: int) -> Any:
    """`x` with ones behind its rows, of `ndim` dimensions in a row."""
    if type(x) is not Batched or x.rows is None or x.ndim >= ndim:
        return x
    return _reshaped(x, (1,) * (ndim - x.ndim) + x.shape)


def _reshaped(x: Batched, shape: tuple[int, ...]) -> Batched:
    """`x` with another shape in each row."""
    if x.shape == shape:
        return x
    whole = shape if x.rows is None else (x.rows, *shape)
    return run(lambda a: numpy.reshape(a, whole), [x], x.rows)


def _with_rows(x: Any, n: int, shape: tuple[int, ...] | None = None) -> Batched:
    """`x` (an array, a number or a Batched) with an axis of `n` rows, broadcast to `shape` in each."""
    x = x if type(x) is Batched else Batched(numpy.asarray(x), None)
    if shape is None:
        shape = x.shape
    if x.rows is not None and x.shape == shape:
        return x
    x = _lifted(x, len(shape))
    whole = (n, *shape)
    return run(lambda a: numpy.broadcast_to(a, whole), [x], n)


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if hasattr(x, "shape") else ()


def _is_array(x: Any) -> bool:
    return type(x) is Batched or isinstance(x, numpy.ndarray)


# -- one operation ----------------------------------------------------------------------------------------------------


def apply(op, bound: tuple) -> Any:
    """An operation of the table on bound arguments, of which some are Batched: its results, Batched.

    Raises
    ------
    NoBatch
        If its rows are to be done one by one and give arrays of several shapes or dtypes, or if a value is read.
    ValueError
        For arrays of several numbers of rows; and the errors of the operation itself.
    """
    found = batched_in(list(bound))
    if op.entry.kind == "query":
        return plain_call(op)(*[_dtype_of(arg) for arg in bound])
    n = rows_of(found)
    if n is None:
        return _everywhere(op, bound)
    where = {op.params[i] for i, arg in enumerate(bound) if batched_in(arg) and rows_of(batched_in(arg)) is not None}
    if op.name in ROW_BY_ROW or any((op.name, name) in PARAMETERS for name in where):
        return one_by_one(op, bound, n)
    if op.name in COMPOSED:
        operands = zip(structure_of(op.entry).operands, bound, strict=False)
        if any(len(_shape(x)) > len(operand.dims or ()) for operand, x in operands):
            return one_by_one(op, bound, n)
        from arraygrad.batches.namespace import namespace

        return op.entry.forward(namespace, *bound)
    own = _OWN.get(op.name)
    if own is not None:
        made = own(op, dict(zip(op.params, bound, strict=True)), n)
    elif op.entry.kind == "elementwise" and not op.entry.core:
        made = _elementwise(op, bound, n)
    else:
        made = _by_structure(op, bound, n, where)
    if made is None:
        return one_by_one(op, bound, n)
    return _wrap(op, made)


def _dtype_of(arg: Any) -> Any:
    if type(arg) is Batched:
        return arg.dtype
    return [_dtype_of(one) for one in arg] if type(arg) in (list, tuple) and batched_in(arg) else arg


def _everywhere(op, bound: tuple) -> Any:
    """The operation on arrays that are the same in all rows."""
    template, found = _template(bound)
    call = plain_call(op)

    def function(*values):
        return call(*[_filled(arg, values) for arg in template])

    return _wrap(op, run(function, list(found), None, op.entry.results is not None))


def _template(bound: tuple) -> tuple[list, list[Batched]]:
    """Arguments with a _Place for each Batched in them, and these."""
    found: list[Batched] = []

    def numbered(arg):
        if type(arg) is Batched:
            found.append(arg)
            return _Place(len(found) - 1)
        if type(arg) in (list, tuple):
            return type(arg)([numbered(one) for one in arg])
        if type(arg) is slice:
            return slice(*[numbered(one) for one in (arg.start, arg.stop, arg.step)])
        return arg

    return [numbered(arg) for arg in bound], found


class _Place(int):
    """Where an array stands among those of a call."""


def _filled(arg: Any, values: Any) -> Any:
    if type(arg) is _Place:
        return values[arg]
    if type(arg) in (list, tuple):
        return type(arg)([_filled(one, values) for one in arg])
    if type(arg) is slice:
        return slice(*[_filled(one, values) for one in (arg.start, arg.stop, arg.step)])
    return arg


def one_by_one(op, bound: tuple, n: int) -> Any:
    """The operation in each row, and the results stacked. NoBatch where they have several shapes or dtypes."""
    template, found = _template(bound)
    call = plain_call(op)
    have = [one.rows is not None for one in found]
    several = op.entry.results is not None
    if not n or op.name in ("_to_backend", "from_dlpack", "_implicit"):
        raise NoBatch(f"{op.name}: {ROW_BY_ROW.get(op.name, 'no row to do by itself')}")

    def function(*values):
        made = []
        for i in range(n):
            given = [value[i] if rows else value for value, rows in zip(values, have, strict=True)]
            one = call(*[_filled(arg, given) for arg in template])
            made.append([numpy.asarray(part) for part in one] if several else [numpy.asarray(one)])
        for parts in zip(*made, strict=True) if len({len(one) for one in made}) == 1 else [made]:
            if len({(getattr(part, "shape", None), getattr(part, "dtype", None)) for part in parts}) > 1:
                raise NoBatch(f"{op.name}: results of several shapes")
        if len({len(one) for one in made}) > 1:
            raise NoBatch(f"{op.name}: several numbers of results")
        stacked = [numpy.stack(parts) for parts in zip(*made, strict=True)]
        return stacked if several else stacked[0]

    return _wrap(op, run(function, list(found), n, several))


def _elementwise(op, bound: tuple, n: int) -> Any:
    """A function of the same element of each array: arrays with rows get as many dimensions as the largest."""
    arrays = [i for i, arg in enumerate(bound) if _is_array(arg)]
    ndim = max([bound[i].ndim for i in arrays])
    given = [_lifted(bound[i], ndim) for i in arrays]
    several = op.entry.results is not None
    return run(_called(op, bound, arrays), given, n, several)


# -- by the signature of core axes -------------------------------------------------------------------------------------


def _by_structure(op, bound: tuple, n: int, where: set[str]) -> Any:
    """The operation by its signature; None where rows are to be done one by one."""
    entry = op.entry
    found = structure_of(entry)
    values = dict(zip(op.params, bound, strict=True))
    names = [operand.name for operand in found.operands]
    if not where <= {*names, *[name for own, name in _BESIDE if own == entry.name]}:
        return None
    shapes = {name: _shape(values[name]) for name in names if values[name] is not None}
    statics = {name: _released(value) for name, value in values.items() if name not in names}
    values.update({name: value for name, value in statics.items() if (entry.name, name) not in _BESIDE})
    along = axis_parameter(entry)
    grouped = {operand.name for operand in found.operands if any(dim.endswith("*") for dim in operand.dims or ())}
    if along is None and grouped & where:
        return _of_all_axes(op, values, n)
    try:
        expected = result_shapes(entry, shapes, statics)
        axes = core_axes(entry, shapes, statics)
    except (IndexError, ValueError):  # rows one by one give the operation's own answer, or its own error
        return None
    return _by_loops(op, values, n, found, along, axes, expected)


def _released(value: Any) -> Any:
    """A parameter that is no operand: an array that is the same in all rows, as NumPy's."""
    if type(value) in (list, tuple) and batched_in(value):
        return type(value)([_released(one) for one in value])
    return value.one() if type(value) is Batched and value.rows is None else value


def _by_loops(op, values, n, found, along, axes, expected) -> Any:
    entry, name = op.entry, op.name
    arrays = [operand for operand in found.operands if values[operand.name] is not None]
    first = arrays[0]
    group = first.dims and first.dims[0].endswith("*")
    changed = False
    given: dict[str, Any] = {}
    flat = along is not None and (
        axes[first.name] is None
        or (group and values[along] is None and (name in _FLATTENED or (name == "norm" and len(axes[first.name]) > 2)))
    )
    if flat:
        if name not in _FLATTENS and len(_shape(values[first.name])) != 1 and not group:
            return None
        shape = (math.prod(values[first.name].shape),)
        given[first.name] = _reshaped(_with_rows(values[first.name], n), shape)
        axes = {**axes, first.name: (-1,)}
        changed = True
    if along is not None and group and not flat and not axes[first.name]:
        given[first.name] = _reshaped(_with_rows(values[first.name], n), (*values[first.name].shape, 1))
        axes = {**axes, first.name: (-1,)}
        changed = True
    for operand in arrays:
        x = given.setdefault(operand.name, values[operand.name])
        dims, own = operand.dims, axes[operand.name]
        if len(own) < len(dims) and any(dim.endswith("?") for dim in dims):
            given[operand.name] = _explicit(x, dims, len(own))
            axes = {**axes, operand.name: tuple(range(-len(dims), 0))}
            changed = True
    if entry.counted == "equal":
        if not _all_with_rows(given, values, axes, n):
            return None
    elif len({axes[operand.name] for operand in arrays if axes[operand.name]}) > 1 and along is not None:
        return _cores_at_the_end(op, values, given, n, arrays, along, axes, expected)
    beside = [other for own, other in _BESIDE if own == name and _is_array(values[other])]
    cores = {**{operand.name: len(axes[operand.name]) for operand in arrays}, **{other: 0 for other in beside}}
    given.update({other: values[other] for other in beside})
    if any(_rows(given[other]) is not None for other in beside):
        given = {key: _with_rows(x, n) if _is_array(x) else x for key, x in given.items()}
    loops = max([len(_shape(x)) - cores[key] for key, x in given.items() if x is not None])
    given = {key: _lifted(x, loops + cores[key]) for key, x in given.items()}
    if name in _PRODUCTS:
        folded = _folded(op, given, loops, n)
        if folded is not None:
            return _fitted(folded, expected, n, changed)
    bound = {**values, **given}
    if along is not None:
        bound[along] = _axis_from_end(op, values, along, axes[first.name], changed)
    order = tuple([bound[param] for param in op.params])
    places = [op.params.index(key) for key, x in given.items() if _is_array(x)]
    several = entry.results is not None
    made = run(_called(op, order, places), [order[i] for i in places], n, several)
    return _fitted(made, expected, n, changed)


def _axis_from_end(op, values, along, own, changed):
    """The axis parameter, counted from the end: as it was given, but for None."""
    given = values[along]
    if given is None or changed:
        (dims,) = [operand.dims for operand in structure_of(op.entry).operands[:1]]
        return own if dims and dims[0].endswith("*") and op.name not in _FLATTENED else own[0]
    ndim = len(_shape(values[structure_of(op.entry).operands[0].name]))
    return _ended(given, ndim)


def _explicit(x: Any, dims: tuple[str, ...], n_own: int) -> Any:
    """`x`, whose last axes are those of `dims` that are not optional, with optional ones of length one."""
    shape = _shape(x)
    loops, core = shape[: len(shape) - n_own], iter(shape[len(shape) - n_own :])
    full = (*loops, *[1 if dim.endswith("?") else next(core) for dim in dims])
    return _reshaped(x, full) if type(x) is Batched else numpy.reshape(x, full)


def _all_with_rows(given, values, axes, n) -> bool:
    """Gives all operands rows; one without axes gets those of the largest, with length one along the core axis."""
    ndim = max([len(_shape(x)) for x in given.values()])
    largest = next(_shape(x) for x in given.values() if len(_shape(x)) == ndim)
    along = next(own for own in axes.values() if own)
    for name, x in given.items():
        if not _is_array(x):
            continue
        if len(_shape(x)) == ndim:
            given[name] = _with_rows(x, n)
        elif not _shape(x):
            shape = tuple([1 if i - ndim == along[0] else length for i, length in enumerate(largest)])
            given[name] = _with_rows(x, n, shape)
        else:
            return False
    return True


def _cores_at_the_end(op, values, given, n, arrays, along, axes, expected) -> Any:
    """The operation with the one core axis of each operand moved to its end; the result's is moved back."""
    moved = {}
    for operand in arrays:
        (axis,) = axes[operand.name]
        x = given[operand.name]
        x = x if type(x) is Batched else Batched(numpy.asarray(x), None)
        moved[operand.name] = run(lambda a, axis=axis: numpy.moveaxis(a, axis, -1), [x], x.rows)
    ndim = max([x.ndim for x in moved.values()])
    order = tuple([{**values, **{k: _lifted(x, ndim) for k, x in moved.items()}, along: -1}[p] for p in op.params])
    places = [op.params.index(key) for key in moved]
    made = run(_called(op, order, places), [order[i] for i in places], n)
    (shape,) = expected
    if len(shape) < ndim:
        return made
    back = from_end(values[along], len(shape))
    return run(lambda a: numpy.moveaxis(a, -1, back), [made], n)


def _fitted(made: Any, expected, n: int, changed: bool) -> Any:
    """Results with the shapes that the signature derives, where axes of length one were put in."""
    if not changed:
        return made
    several = isinstance(made, list)
    each = [
        _reshaped(one, tuple(shape)) if shape is not None and None not in shape else one
        for one, shape in zip(made if several else [made], expected, strict=True)
    ]
    return each if several else each[0]


def _folded(op, given, loops: int, n: int) -> Any:
    """A product of matrices, or a system, of which one operand is one matrix: rows are further columns of the other.

    A stack of thin products costs a call of BLAS for each. None where both are stacks.
    """
    a, b = [given[operand.name] for operand in structure_of(op.entry).operands]
    for matrix, stack, left in ((a, b, False), (b, a, True)):
        if _rows(matrix) is not None or math.prod(_shape(matrix)[:-2]) != 1:
            continue
        if (op.name == "solve" and left) or _rows(stack) is None:
            continue
        shape = stack.shape
        m = _shape(matrix)[-1] if left or op.name == "solve" else _shape(matrix)[-2]
        square = _shape(matrix)[-2:]
        call = plain_call(op)
        if left:  # (rows, ..., k, m) @ (m, p)
            whole, result = (-1, shape[-1]), (n, *shape[:-1], m)
            if 0 in shape or not n:
                return None
            return run(
                lambda x, y: call(x.reshape(whole), y.reshape(square)).reshape(result), [stack, matrix], n
            )
        whole, result = (shape[-2], -1), (*shape[:-2], shape[-1])
        if 0 in shape or not n:
            return None
        if shape[-1] == 1 and op.name == "matmul":  # (m, k) @ (rows, ..., k, 1): (rows, k) @ (k, m)
            result = (n, *shape[:-2], m, 1)
            return run(
                lambda x, y: call(x.reshape(-1, shape[-2]), y.reshape(square).T).reshape(result), [stack, matrix], n
            )

        def columns(x, y):
            moved = numpy.moveaxis(x, -2, 0)
            found = call(y.reshape(square), moved.reshape(whole))
            return numpy.moveaxis(found.reshape((found.shape[0], *moved.shape[1:])), 0, -2)

        return run(columns, [stack, matrix], n)
    return None


def _rows(x: Any) -> int | None:
    return x.rows if type(x) is Batched else None


# -- of all axes ------------------------------------------------------------------------------------------------------


def _of_all_axes(op, values, n: int) -> Any:
    """An operation on all axes of one array: its parameters get the axis of rows, as WHOLE says of their helper."""
    found = structure_of(op.entry)
    (result,) = found.results
    match = re.fullmatch(r"\*(\w+)(?:\(.*\))?", (result.dims or ("?",))[0])
    rewrite = WHOLE.get(match[1]) if match else None
    name = found.operands[0].name
    if rewrite is None or len(found.operands) > 1 or type(values[name]) is not Batched:
        return None
    x, changes = rewrite(values[name], values, n)
    bound = {**values, **changes, name: x}
    order = tuple([bound[param] for param in op.params])
    return run(_called(op, order, [op.params.index(name)]), [x], n)


def _to_shape(x, values, n):
    shape = normalize_shape(values["shape"])
    return _lifted(x, len(shape)), {"shape": (n, *shape)}


def _to_reshaped(x, values, n):
    shape = normalize_shape(values["shape"])
    known = math.prod([length for length in shape if length != -1])
    if known and math.prod(x.shape) % known == 0:
        shape = tuple([math.prod(x.shape) // known if length == -1 else length for length in shape])
    if math.prod(shape) != math.prod(x.shape) or -1 in shape:
        raise ValueError(f"cannot reshape array of size {math.prod(x.shape)} into shape {values['shape']}")
    return x, {"shape": (n, *shape)}


def _ended(given: Any, ndim: int) -> Any:
    """An axis, or several, counted from the end."""
    if isinstance(given, (tuple, list)):
        return tuple([from_end(axis, ndim) for axis in given])
    return from_end(given, ndim)


def _from_end(*names):
    return lambda x, values, n: (x, {name: _ended(values[name], x.ndim) for name in names})


def _expanded(x, values, n):
    given = values["axis"]
    return x, {"axis": _ended(given, x.ndim + (len(given) if isinstance(given, (tuple, list)) else 1))}


def _permuted(x, values, n):
    axes = values["axes"]
    axes = tuple(range(x.ndim))[::-1] if axes is None else tuple(axes)
    if len(axes) != x.ndim:
        raise ValueError(f"permute_dims: axes={axes} of an array of {x.ndim} dimensions")
    return x, {"axes": (0, *[from_end(axis, x.ndim) + x.ndim + 1 for axis in axes])}


def _tiled(x, values, n):
    repetitions = normalize_shape(values["repetitions"])
    ndim = max(x.ndim, len(repetitions))
    return _lifted(x, ndim), {"repetitions": (1, *(1,) * (ndim - len(repetitions)), *repetitions)}


def _padded(x, values, n):
    changes: dict[str, Any] = {"pad_width": [(0, 0), *_padding._widths(values["pad_width"], x.ndim)]}
    fill = values["constant_values"]
    if numpy.ndim(fill) > 1:  # by axis, of which rows are the first
        changes["constant_values"] = numpy.concatenate([numpy.zeros_like(fill, shape=(1, 2)),
                                                        numpy.broadcast_to(fill, (x.ndim, 2))])  # fmt: skip
    return x, changes


# Function of ops.structure.HELPERS in a result's signature (or the parameter that is its shape) -> what the array and
# the parameters that stand in it are with an axis of rows in front.
WHOLE: dict[str, Callable] = {
    "sized": _to_shape,
    "reshaped": _to_reshaped,
    "expanded": _expanded,
    "squeezed": _from_end("axis"),
    "permuted": _permuted,
    "moved": _from_end("source", "destination"),
    "tiled": _tiled,
    "padded": _padded,
    "windowed": _from_end("axes"),
}


# -- lists, labels, and what is filled ---------------------------------------------------------------------------------


def _concat(op, values, n):
    arrays = [_with_rows(x, n) for x in values["arrays"]]
    axis = values["axis"]
    if axis is None:
        arrays, axis = [_reshaped(x, (x.size,)) for x in arrays], -1
    else:
        axis = from_end(axis, arrays[0].ndim)
        if len({x.ndim for x in arrays}) > 1:
            return None
    return _joined(op, arrays, axis, n)


def _stack(op, values, n):
    arrays = [_with_rows(x, n) for x in values["arrays"]]
    return _joined(op, arrays, from_end(values["axis"], arrays[0].ndim + 1), n)


def _joined(op, arrays, axis, n):
    call = plain_call(op)
    return run(lambda *each: call(list(each), axis), arrays, n)


def _broadcast_arrays(op, values, n):
    arrays = values["arrays"]
    shape = numpy.broadcast_shapes(*[_shape(x) for x in arrays])
    return [_with_rows(x, n, shape) for x in arrays]


def _meshgrid(op, values, n):
    arrays = [_with_rows(x, n) for x in values["arrays"]]
    order = list(range(len(arrays)))
    if values["indexing"] == "xy" and len(arrays) > 1:
        order[:2] = [1, 0]
    elif values["indexing"] not in ("xy", "ij"):
        return None
    lengths = [0] * len(arrays)
    for x, at in zip(arrays, order, strict=True):
        lengths[at] = x.size
    spread = [
        _reshaped(x, tuple([x.size if i == at else 1 for i in range(len(arrays))]))
        for x, at in zip(arrays, order, strict=True)
    ]
    whole = (n, *lengths)
    return [run(lambda a: numpy.broadcast_to(a, whole), [x], n) for x in spread]


def _like(op, values, n):
    """zeros_like and its kin: the same in all rows, whatever x holds."""
    x = values["x"]
    options = {key: value for key, value in values.items() if key != "x" and value is not None}
    function = getattr(PLAIN, op.name.removesuffix("_like"))
    return Batched(function(x.shape, **{"dtype": x.dtype, **options}), None)


def _full(op, values, n):
    value, x = values["fill_value"], values.get("x")
    shape = normalize_shape(values["shape"]) if x is None else _shape(x)
    dtype = values["dtype"] if values["dtype"] is not None or x is None else x.dtype
    if _shape(value):
        return None
    if _rows(value) is None:
        options = {} if dtype is None else {"dtype": dtype}
        return run(lambda a: PLAIN.full(shape, a, **options), [value], None)
    whole, value = (n, *shape), _lifted(value, len(shape))
    return run(lambda a: numpy.array(numpy.broadcast_to(a, whole), dtype=dtype), [value], n)


def _letter(text: str) -> str:
    return next(letter for letter in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if letter not in text)


def _labelled(op, subscripts, arrays, n, **options):
    """The einsum of arrays, with a label for rows."""
    inputs, output = _einsum._read(subscripts, tuple([len(_shape(x)) for x in arrays]))
    text = _einsum._text(inputs, output)
    rows = _letter(text)
    terms, _, result = text.partition("->")
    terms = [rows + term if _rows(x) is not None else term for term, x in zip(terms.split(","), arrays, strict=True)]
    whole = f"{','.join(terms)}->{rows}{result}"
    call = plain_call(OPS["_einsum"])
    return run(lambda *each: call(whole, each, True), list(arrays), n)


def _einsum_of(op, values, n):
    return _labelled(op, values["subscripts"], values["operands"], n)


def _einsum_view(op, values, n):
    return _labelled(op, values["subscripts"], [values["x"]], n)


def _product(op, values, n):
    """tensordot, inner and outer: labels for the free axes of both and for those that are summed."""
    a, b = values["x1"], values["x2"]
    n_a, n_b = len(_shape(a)), len(_shape(b))
    axes = {"outer": 0, "_inner": ((n_a - 1,), (n_b - 1,))}.get(op.name, values.get("axes"))
    if op.name == "outer":  # of the flattened arrays, in NumPy
        if n_a != 1 or n_b != 1:
            return None
    summed_a, _, summed_b, free_b = _products.split_axes(axes, n_a, n_b)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY"
    if n_a + n_b > len(letters):
        return None
    of_a = letters[:n_a]
    of_b = {axis: of_a[other] for axis, other in zip(summed_b, summed_a, strict=True)}
    of_b.update(dict(zip(free_b, letters[n_a:], strict=False)))
    if any(_shape(a)[i] != _shape(b)[j] for i, j in zip(summed_a, summed_b, strict=True)):
        return None
    text = "".join([of_b[i] for i in range(n_b)])
    out = "".join([of_a[i] for i in range(n_a) if i not in summed_a]) + "".join([of_b[i] for i in free_b])
    return _labelled(op, f"{of_a},{text}->{out}", [a, b], n)


_OWN: dict[str, Callable] = {
    "concat": _concat,
    "stack": _stack,
    "broadcast_arrays": _broadcast_arrays,
    "meshgrid": _meshgrid,
    "zeros_like": _like,
    "ones_like": _like,
    "empty_like": _like,
    "full": _full,
    "full_like": _full,
    "einsum": _einsum_of,
    "_einsum": _einsum_of,
    "_einsum_view": _einsum_view,
    "tensordot": _product,
    "_inner": _product,
    "outer": _product,
    "_getitem": keys.getitem,
    "_getitem_adjoint": keys.getitem_adjoint,
    "_add_at": keys.put,
    "_setitem": keys.put,
    "take": keys.take,
    "_take_adjoint": keys.take_adjoint,
    "_take_along_axis_adjoint": keys.take_along_axis_adjoint,
}
