"""What an operation does to rows of arrays, derived from its entry in the table.

Note [Small programs] in program/values.py says what stands for them.

May import: batches.shapes, batches.keys, program, ops, numpy.

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

import math
import re
from collections.abc import Callable
from typing import Any

import numpy

from arraygrad.batches import keys
from arraygrad.batches.shapes import is_array, lifted, own_rows, reshaped, shape_of, with_rows
from arraygrad.ops import OPS, _einsum, _padding, _products
from arraygrad.ops._axes import from_end
from arraygrad.ops._helpers import normalize_shape
from arraygrad.ops.structure import axis_parameter, core_axes, result_shapes, structure_of
from arraygrad.program.calls import batched_in, filled, hand_in, rows_of, template_of, wrapped
from arraygrad.program.form import Plans
from arraygrad.program.namespace import namespace
from arraygrad.program.plain import PLAIN, plain_call
from arraygrad.program.values import Batched, NoBatch, Tape, mapped, run

__all__ = ["ALONE", "COMPOSED", "PARAMETERS", "ROW_BY_ROW", "apply_on_rows", "namespace", "one_by_one"]

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
# Those whose rows are not even done one by one here, and whose rules have no form for rows.
ALONE = frozenset(["_implicit", "_to_backend", "from_dlpack"])
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


# -- one operation ----------------------------------------------------------------------------------------------------


def apply_on_rows(op, bound: tuple, n: int) -> Any:
    """An operation on bound arguments, of which some have n rows: `program.calls.apply`.

    The calls of array functions that it takes are kept, and replayed for arguments of the same kinds: Note [Small
    programs] (3) in program/values.py. A tape gets them one by one.
    """
    values = list(bound)
    arrays: list[Any] = []
    plan = CALLS.find(op, n, values, (), arrays)
    if plan is None:
        return _planned(op, bound, n) if all(_is_plannable(arg) for arg in bound) else derived(op, bound, n)
    if plan.program is None or any(one.tape is not None for one in batched_in(values)):
        return derived(op, bound, n)
    made = [Batched(one, n) for one in plan.program.replay(arrays)]
    return wrapped(op, made if op.entry.results is not None else made[0])


CALLS = Plans(namespace)  # a plan without a program: values are read, or a result is the same in all rows
_LARGEST_CONSTANTS = 1 << 16  # bytes of arrays that a program may hold
_STATIC = frozenset([float, complex, int, str, bool, type(None), type(Ellipsis)])


def _is_plannable(arg: Any) -> bool:
    """Whether an argument may be part of a plan: a Batched without a tape, or what is compared."""
    if type(arg) is Batched:
        return arg.tape is None
    if type(arg) in (list, tuple):
        return all(_is_plannable(one) for one in arg)
    if type(arg) is slice:
        return all(type(one) in _STATIC for one in (arg.start, arg.stop, arg.step))
    return type(arg) in _STATIC or isinstance(arg, numpy.dtype)


def _planned(op, bound: tuple, n: int) -> Any:
    """The operation; what it calls is kept."""
    tape, inputs, program = Tape(), [], None

    def taped(arg):
        if type(arg) is not Batched:
            return mapped(arg, taped)
        inputs.append(Batched(arg.values, arg.rows, tape))
        return inputs[-1]

    try:
        made = derived(op, tuple([taped(arg) for arg in bound]), n)
    except NoBatch:
        made = derived(op, bound, n)
    else:
        found = list(made) if op.entry.results is not None else [made]
        if all(type(one) is Batched and one.rows == n for one in found):
            program = tape.program(inputs, found, _LARGEST_CONSTANTS)
        found = [Batched(one.values, one.rows) if type(one) is Batched else one for one in found]
        made = wrapped(op, found if op.entry.results is not None else found[0])
    CALLS.keep(op, n, list(bound), (), program)
    return made


def derived(op, bound: tuple, n: int) -> Any:
    """An operation on bound arguments, of which some have n rows, as its entry says."""
    where = {op.params[i] for i, arg in enumerate(bound) if batched_in(arg) and rows_of(batched_in(arg)) is not None}
    if op.name in ROW_BY_ROW or any((op.name, name) in PARAMETERS for name in where):
        return one_by_one(op, bound, n)
    if op.name in COMPOSED:
        operands = zip(structure_of(op.entry).operands, bound, strict=False)
        if any(len(shape_of(x)) > len(operand.dims or ()) for operand, x in operands):
            return one_by_one(op, bound, n)
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
    return wrapped(op, made)


def one_by_one(op, bound: tuple, n: int) -> Any:
    """The operation in each row, and the results stacked. NoBatch where they have several shapes or dtypes."""
    template, found = template_of(bound)
    call = plain_call(op)
    have = [one.rows is not None for one in found]
    several = op.entry.results is not None
    if not n or op.name in ALONE:
        raise NoBatch(f"{op.name}: {ROW_BY_ROW.get(op.name, 'no row to do by itself')}")

    def function(*values):
        made = []
        for i in range(n):
            given = [value[i] if rows else value for value, rows in zip(values, have, strict=True)]
            one = call(*[filled(arg, given) for arg in template])
            made.append([numpy.asarray(part) for part in one] if several else [numpy.asarray(one)])
        for parts in zip(*made, strict=True) if len({len(one) for one in made}) == 1 else [made]:
            if len({(getattr(part, "shape", None), getattr(part, "dtype", None)) for part in parts}) > 1:
                raise NoBatch(f"{op.name}: results of several shapes")
        if len({len(one) for one in made}) > 1:
            raise NoBatch(f"{op.name}: several numbers of results")
        stacked = [numpy.stack(parts) for parts in zip(*made, strict=True)]
        return stacked if several else stacked[0]

    return wrapped(op, run(function, list(found), n, several))


def _elementwise(op, bound: tuple, n: int) -> Any:
    """A function of the same element of each array: arrays with rows get as many dimensions as the largest."""
    arrays = [i for i, arg in enumerate(bound) if is_array(arg)]
    ndim = max([bound[i].ndim for i in arrays])
    return run(plain_call(op), [lifted(arg, ndim) for arg in bound], n, op.entry.results is not None)


# -- by the signature of core axes -------------------------------------------------------------------------------------


def _by_structure(op, bound: tuple, n: int, where: set[str]) -> Any:
    """The operation by its signature; None where rows are to be done one by one."""
    entry = op.entry
    found = structure_of(entry)
    values = dict(zip(op.params, bound, strict=True))
    names = [operand.name for operand in found.operands]
    if not where <= {*names, *[name for own, name in _BESIDE if own == entry.name]}:
        return None
    shapes = {name: shape_of(values[name]) for name in names if values[name] is not None}
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
        if name not in _FLATTENS and len(shape_of(values[first.name])) != 1 and not group:
            return None
        shape = (math.prod(values[first.name].shape),)
        given[first.name] = reshaped(with_rows(values[first.name], n), shape)
        axes = {**axes, first.name: (-1,)}
        changed = True
    if along is not None and group and not flat and not axes[first.name]:
        given[first.name] = reshaped(with_rows(values[first.name], n), (*values[first.name].shape, 1))
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
    beside = [other for own, other in _BESIDE if own == name and is_array(values[other])]
    cores = {**{operand.name: len(axes[operand.name]) for operand in arrays}, **dict.fromkeys(beside, 0)}
    given.update({other: values[other] for other in beside})
    if any(own_rows(given[other]) is not None for other in beside):
        given = {key: with_rows(x, n) if is_array(x) else x for key, x in given.items()}
    loops = max([len(shape_of(x)) - cores[key] for key, x in given.items() if x is not None])
    given = {key: lifted(x, loops + cores[key]) for key, x in given.items()}
    if name in _PRODUCTS:
        folded = _folded(op, given, n)
        if folded is not None:
            return _fitted(folded, expected, n, changed)
    bound = {**values, **given}
    if along is not None:
        bound[along] = _axis_from_end(op, values, along, axes[first.name], changed)
    made = run(plain_call(op), [bound[param] for param in op.params], n, entry.results is not None)
    return _fitted(made, expected, n, changed)


def _axis_from_end(op, values, along, own, changed):
    """The axis parameter, counted from the end: as it was given, but for None."""
    given = values[along]
    if given is None or changed:
        (dims,) = [operand.dims for operand in structure_of(op.entry).operands[:1]]
        return own if dims and dims[0].endswith("*") and op.name not in _FLATTENED else own[0]
    ndim = len(shape_of(values[structure_of(op.entry).operands[0].name]))
    return _ended(given, ndim)


def _explicit(x: Any, dims: tuple[str, ...], n_own: int) -> Any:
    """`x`, whose last axes are those of `dims` that are not optional, with optional ones of length one."""
    shape = shape_of(x)
    loops, core = shape[: len(shape) - n_own], iter(shape[len(shape) - n_own :])
    full = (*loops, *[1 if dim.endswith("?") else next(core) for dim in dims])
    return reshaped(x, full) if type(x) is Batched else numpy.reshape(x, full)


def _all_with_rows(given, values, axes, n) -> bool:
    """Gives all operands rows; one without axes gets those of the largest, with length one along the core axis."""
    ndim = max([len(shape_of(x)) for x in given.values()])
    largest = next(shape_of(x) for x in given.values() if len(shape_of(x)) == ndim)
    along = next(own for own in axes.values() if own)
    for name, x in given.items():
        if not is_array(x):
            continue
        if len(shape_of(x)) == ndim:
            given[name] = with_rows(x, n)
        elif not shape_of(x):
            shape = tuple([1 if i - ndim == along[0] else length for i, length in enumerate(largest)])
            given[name] = with_rows(x, n, shape)
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
    bound = {**values, **{key: lifted(x, ndim) for key, x in moved.items()}, along: -1}
    made = run(plain_call(op), [bound[param] for param in op.params], n)
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
        reshaped(one, tuple(shape)) if shape is not None and None not in shape else one
        for one, shape in zip(made if several else [made], expected, strict=True)
    ]
    return each if several else each[0]


def _folded(op, given, n: int) -> Any:
    """A product of matrices, or a system, of which one operand is one matrix: rows are further columns of the other.

    A stack of thin products costs a call of BLAS for each. None where both are stacks.
    """
    a, b = [given[operand.name] for operand in structure_of(op.entry).operands]
    if 0 in shape_of(a) or 0 in shape_of(b) or not n:
        return None
    if own_rows(a) is None and math.prod(shape_of(a)[:-2]) == 1:
        return _times_stack(op, a, b, n)
    if own_rows(b) is None and math.prod(shape_of(b)[:-2]) == 1 and op.name == "matmul":
        return _stack_times(op, a, b, n)
    return None


def _times_stack(op, matrix: Any, stack: Batched, n: int) -> Batched:
    """matmul or solve of one matrix and a stack (rows, ..., k, p)."""
    call, shape, square = plain_call(op), stack.shape, shape_of(matrix)[-2:]
    if shape[-1] == 1 and op.name == "matmul":  # a vector in each: (rows, k) @ (k, m)
        flat, result = (-1, shape[-2]), (n, *shape[:-2], square[0], 1)
        return run(lambda y, x: call(x.reshape(flat), y.reshape(square).T).reshape(result), [matrix, stack], n)
    whole = (shape[-2], -1)

    def columns(y, x):
        moved = numpy.moveaxis(x, -2, 0)
        found = call(y.reshape(square), moved.reshape(whole))
        return numpy.moveaxis(found.reshape((len(found), *moved.shape[1:])), 0, -2)

    return run(columns, [matrix, stack], n)


def _stack_times(op, stack: Batched, matrix: Any, n: int) -> Batched:
    """matmul of a stack (rows, ..., m, k) and one matrix."""
    call, shape, square = plain_call(op), stack.shape, shape_of(matrix)[-2:]
    flat, result = (-1, shape[-1]), (n, *shape[:-1], square[1])
    return run(lambda x, y: call(x.reshape(flat), y.reshape(square)).reshape(result), [stack, matrix], n)


# -- of all axes ------------------------------------------------------------------------------------------------------


def _of_all_axes(op, values, n: int) -> Any:
    """An operation on all axes of one array: its parameters get the axis of rows, as WHOLE says of their helper."""
    found = structure_of(op.entry)
    (result,) = found.results
    match = re.fullmatch(r"\*(\w+)(?:\(.*\))?", (result.dims or ("?",))[0])
    name = found.operands[0].name
    if match and match[1] in _RESHAPED and type(values[name]) is Batched:
        own = values[name].shape
        try:
            (shape,) = result_shapes(op.entry, {name: own}, values)
        except (IndexError, ValueError):
            return None
        if match[1] == "reshaped":
            open_ended = -1 in normalize_shape(values["shape"]) and not math.prod(own)  # an error of NumPy's
            right = math.prod(shape) == math.prod(own) and not open_ended
        else:
            right = [length for length in shape if length != 1] == [length for length in own if length != 1]
        return reshaped(values[name], tuple(shape)) if right or shape == own else None
    rewrite = WHOLE.get(match[1]) if match else None
    if rewrite is None or len(found.operands) > 1 or type(values[name]) is not Batched:
        return None
    x, changes = rewrite(values[name], values, n)
    bound = {**values, **changes, name: x}
    return run(plain_call(op), [bound[param] for param in op.params], n)


def _to_shape(x, values, n):
    shape = normalize_shape(values["shape"])
    return lifted(x, len(shape)), {"shape": (n, *shape)}


def _ended(given: Any, ndim: int) -> Any:
    """An axis, or several, counted from the end."""
    if isinstance(given, (tuple, list)):
        return tuple([from_end(axis, ndim) for axis in given])
    return from_end(given, ndim)


def _from_end(*names):
    return lambda x, values, n: (x, {name: _ended(values[name], x.ndim) for name in names})


def _permuted(x, values, n):
    axes = values["axes"]
    axes = tuple(range(x.ndim))[::-1] if axes is None else tuple(axes)
    if len(axes) != x.ndim:
        raise ValueError(f"permute_dims: axes={axes} of an array of {x.ndim} dimensions")
    return x, {"axes": (0, *[from_end(axis, x.ndim) + x.ndim + 1 for axis in axes])}


def _tiled(x, values, n):
    repetitions = normalize_shape(values["repetitions"])
    ndim = max(x.ndim, len(repetitions))
    return lifted(x, ndim), {"repetitions": (1, *(1,) * (ndim - len(repetitions)), *repetitions)}


def _padded(x, values, n):
    changes = {"pad_width": [(0, 0), *_padding._widths(values["pad_width"], x.ndim)]}
    fill = values["constant_values"]
    if numpy.ndim(fill) > 1:  # by axis, of which rows are the first
        changes["constant_values"] = numpy.concatenate([numpy.zeros_like(fill, shape=(1, 2)),
                                                        numpy.broadcast_to(fill, (x.ndim, 2))])  # fmt: skip
    return x, changes


# Functions of ops.structure.HELPERS of which the result's shape says all.
_RESHAPED = ("reshaped", "expanded", "squeezed")
# Function of ops.structure.HELPERS in a result's signature (or the parameter that is its shape) -> what the array and
# the parameters that stand in it are with an axis of rows in front.
WHOLE: dict[str, Callable] = {
    "sized": _to_shape,
    "permuted": _permuted,
    "moved": _from_end("source", "destination"),
    "tiled": _tiled,
    "padded": _padded,
    "windowed": _from_end("axes"),
}


# -- lists, labels, and what is filled ---------------------------------------------------------------------------------


def _concat(op, values, n):
    arrays = [with_rows(x, n) for x in values["arrays"]]
    axis = values["axis"]
    if axis is None:
        arrays, axis = [reshaped(x, (x.size,)) for x in arrays], -1
    else:
        axis = from_end(axis, arrays[0].ndim)
        if len({x.ndim for x in arrays}) > 1:
            return None
    return _joined(op, arrays, axis, n)


def _stack(op, values, n):
    arrays = [with_rows(x, n) for x in values["arrays"]]
    return _joined(op, arrays, from_end(values["axis"], arrays[0].ndim + 1), n)


def _joined(op, arrays, axis, n):
    call = plain_call(op)
    return run(lambda *each: call(list(each), axis), arrays, n)


def _broadcast_arrays(op, values, n):
    arrays = values["arrays"]
    shape = numpy.broadcast_shapes(*[shape_of(x) for x in arrays])
    return [with_rows(x, n, shape) for x in arrays]


def _meshgrid(op, values, n):
    arrays = [with_rows(x, n) for x in values["arrays"]]
    order = list(range(len(arrays)))
    if values["indexing"] == "xy" and len(arrays) > 1:
        order[:2] = [1, 0]
    elif values["indexing"] not in ("xy", "ij"):
        return None
    lengths = [0] * len(arrays)
    for x, at in zip(arrays, order, strict=True):
        lengths[at] = x.size
    spread = [
        reshaped(x, tuple([x.size if i == at else 1 for i in range(len(arrays))]))
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
    shape = normalize_shape(values["shape"]) if x is None else shape_of(x)
    dtype = values["dtype"] if values["dtype"] is not None or x is None else x.dtype
    if shape_of(value):
        return None
    if own_rows(value) is None:
        options = {} if dtype is None else {"dtype": dtype}
        return run(lambda a: PLAIN.full(shape, a, **options), [value], None)
    whole, value = (n, *shape), lifted(value, len(shape))
    return run(lambda a: numpy.array(numpy.broadcast_to(a, whole), dtype=dtype), [value], n)


def _letter(text: str) -> str:
    return next(letter for letter in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if letter not in text)


def _labelled(op, subscripts, arrays, n, **options):
    """The einsum of arrays, with a label for rows."""
    inputs, output = _einsum._read(subscripts, tuple([len(shape_of(x)) for x in arrays]))
    text = _einsum._text(inputs, output)
    rows = _letter(text)
    terms, _, result = text.partition("->")
    terms = [rows + term if own_rows(x) is not None else term for term, x in zip(terms.split(","), arrays, strict=True)]
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
    n_a, n_b = len(shape_of(a)), len(shape_of(b))
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
    if any(shape_of(a)[i] != shape_of(b)[j] for i, j in zip(summed_a, summed_b, strict=True)):
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
hand_in(apply_on_rows)
