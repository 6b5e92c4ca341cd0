"""The language of the table's column `core`, and what follows from it: core axes, loops, and the shapes of results.

May import: ops._axes, ops._helpers; ops._padding and ops._products on first use.

A signature says which axes of its arrays an operation needs for one element, the core axes, and which it makes. All
other axes are loops: they broadcast, and come first. The language is that of NumPy's generalised universal functions
(https://numpy.org/doc/stable/reference/c-api/generalized-ufuncs.html, NEP 20), as `(m?,k),(k,n?)->(m?,n?)`:

- `n` is a length, the same wherever it stands; `3` a fixed one. `n?` may be missing: where an array has no such axis.
- `n*` is a group of axes: those that `axis` names (None: all), or without that parameter all that are left.
- A length of a result is an expression of lengths, static parameters and the functions of `HELPERS`: `n+m-1`. `*n`
  gives a group's lengths. `?` is a length that values decide, a bare `?` a shape that they, or a key, decide.
- `^(q)` is a result whose core axes come first, before the loops.
- `[(n)]` is a list of arrays or results; `n` is the list of their lengths then. `[...]` is one of arrays of any shape,
  and `[(n,n),(n)]` has elements with core axes of their own.
- `name(n)` names the parameter; without names the arrays are the operation's first parameters. None is no array.

Where an operation has a parameter `axis` or `axes`, the core axes stand there, counted as the entry's `counted` says,
and those of the result stand in their place. A single core axis with `axis=None` is the flattened array. Otherwise core
axes are the last ones.
"""

import functools
import math
import re
from typing import NamedTuple

from arraygrad.ops._axes import check_axes, from_end, keepdims_shape, normalize_axes
from arraygrad.ops._helpers import normalize_shape

__all__ = [
    "HELPERS",
    "Operand",
    "Result",
    "Structure",
    "axis_parameter",
    "core_axes",
    "read",
    "result_shapes",
    "structure_of",
    "text_of",
]


class Operand(NamedTuple):
    """An array parameter: its core axes in order; None for a list of arrays of any shapes, or of those in `parts`."""

    name: str
    dims: tuple[str, ...] | None
    listed: bool
    parts: tuple[tuple[str, ...], ...] = ()  # the core axes of each element of a list, where they have their own


class Result(NamedTuple):
    """A result: its core axes in order; None where values or a key decide all of its shape."""

    dims: tuple[str, ...] | None
    listed: bool
    first: bool


class Structure(NamedTuple):
    """A signature, read."""

    operands: tuple[Operand, ...]
    results: tuple[Result, ...]


def structure_of(entry):
    """The Structure of an entry of the table. ValueError for a signature that is not of the language, or names none.

    Of an elementwise function without a signature of its own it has one element of each parameter before `*`.
    """
    return read(entry.name, text_of(entry), _names(entry.signature))


def text_of(entry):
    """The signature of an entry's core axes as text, "" for one that takes no array."""
    if entry.core or entry.kind != "elementwise":
        return entry.core
    return ",".join(["()"] * len(_names(entry.signature.partition("*")[0]))) + "->()"


def axis_parameter(entry):
    """The name of the parameter that says where core axes stand, or None."""
    found = structure_of(entry)
    if entry.kind in ("scatter", "query", "call") or not (entry.counted == "result" or _has_core(found)):
        return None
    names = _names(entry.signature)
    for name in ("axis", "axes"):
        if name in names:
            used = any(re.search(rf"\b{name}\b", dim) for result in found.results for dim in result.dims or ())
            return None if used else name
    return None


@functools.cache
def read(name, text, names):
    """The Structure of the signature `text` of the operation `name`, whose parameters are the tuple `names`.

    Raises
    ------
    ValueError
        If it is not of the language, or has a name that is no parameter's.
    """
    if not text:
        return Structure((), ())
    left, arrow, right = text.partition("->")
    if not arrow:
        raise ValueError(f"operation {name!r}: {text!r} has no '->'")
    operands = []
    for place, part in enumerate(_split(left)):
        match = re.fullmatch(r"(\w*)(\[\.\.\.\]|\[\((.*)\)\]|\((.*)\))", part)
        if match is None or not (match[1] or place < len(names)):
            raise ValueError(f"operation {name!r}: {part!r} in {text!r} is no operand")
        own = match[1] or names[place]
        if own not in names:
            raise ValueError(f"operation {name!r}: {own!r} in {text!r} is no parameter, expected one of {names}")
        listed = match[2].startswith("[")
        if listed and match[3] and len(_split(match[2][1:-1])) > 1:
            parts = tuple([tuple(_split(dims[1:-1])) for dims in _split(match[2][1:-1])])
            operands.append(Operand(own, None, True, parts))
            continue
        dims = match[3] if listed else match[4]
        operands.append(Operand(own, None if dims is None else tuple(_split(dims)), listed))
    results = []
    for part in _split(right):
        match = re.fullmatch(r"\?|\[\((.*)\)\]|\^?\((.*)\)", part)
        if match is None:
            raise ValueError(f"operation {name!r}: {part!r} in {text!r} is no result")
        listed = part.startswith("[")
        dims = match[1] if listed else match[2]
        results.append(Result(None if dims is None else tuple(_split(dims)), listed, part.startswith("^")))
    return Structure(tuple(operands), tuple(results))


def _names(signature):
    """Names of the parameters in a signature's text."""
    texts = [part.partition("=")[0].strip().lstrip("*") for part in signature.split(",")]
    return tuple([text for text in texts if text not in ("", "/")])


def _split(text):
    """The parts of a text between the commas that stand in no brackets."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += letter in "([" or -(letter in ")]")
        if letter == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [*parts, part.strip()] if part.strip() or parts else []


def _has_core(structure):
    return any(operand.dims for operand in structure.operands)


# -- where core axes stand --------------------------------------------------------------------------------------------


def core_axes(entry, shapes, values):
    """Where the core axes of each array stand.

    Parameters
    ----------
    entry : Entry
    shapes : dict
        Parameter -> shape of its array; a list of shapes where it is a list of arrays. Without those that are None.
    values : dict
        Parameter -> value, of the static ones. Those that are missing have no value.

    Returns
    -------
    dict
        Parameter -> tuple of axes, counted from the end, in the order of the signature; None: the array is flattened
        first. Of a list of arrays a list of such tuples.

    Raises
    ------
    IndexError
        For an axis that an array does not have.
    ValueError
        For an array with fewer axes than it needs, or numbers of dimensions that have to agree and do not.
    """
    structure, name = structure_of(entry), axis_parameter(entry)
    found = {}
    first = None
    for operand in structure.operands:
        shape = shapes.get(operand.name)
        if shape is None or operand.dims is None:
            continue
        each = list(shape) if operand.listed else [shape]
        axes = []
        for one in each:
            if first is None:
                first = len(one)
            axes.append(_axes_of(entry, operand, len(one), first, name, values))
        found[operand.name] = axes if operand.listed else axes[0]
    return found


def _axes_of(entry, operand, ndim, first, name, values):
    """The core axes of an operand of `ndim` dimensions; `first` is that of the first operand."""
    dims = operand.dims
    by_first = entry.counted == "first" and operand != structure_of(entry).operands[0]
    if not dims or (entry.counted == "equal" and not ndim):  # a number stands for one element
        return ()
    if name is None or entry.counted == "result" or by_first:
        return _last_axes(entry, operand, ndim)
    axis = values.get(name)
    if len(dims) == 1 and not dims[0].endswith("*"):
        if axis is None:
            return None
        if entry.counted == "equal" and ndim != first:
            raise ValueError(f"{entry.name}: {operand.name} has {ndim} dimensions, where {first} are expected")
        return (_counted(entry, axis, ndim),)
    lengths = values.get("s")
    if axis is None and lengths is not None:
        return tuple(range(-len(lengths), 0))
    if axis is None:
        return tuple(range(-ndim, 0))
    named = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(dict.fromkeys([_counted(entry, one, ndim) for one in named]))


def _counted(entry, axis, ndim):
    check_axes(entry.name, axis, ndim)
    return from_end(axis, ndim)


def _last_axes(entry, operand, ndim):
    """The last axes, as many as the operand has; a group takes all that are left."""
    dims = operand.dims
    if any(dim.endswith("*") for dim in dims):
        if ndim < len(dims) - 1:
            raise ValueError(f"{entry.name}: {operand.name} needs {len(dims) - 1} axes or more, found {ndim}")
        return tuple(range(-ndim, 0))
    fewest = sum([not dim.endswith("?") for dim in dims])
    if ndim < fewest:
        raise ValueError(f"{entry.name}: {operand.name} needs {fewest} axes or more, found {ndim}")
    return tuple(range(-(len(dims) if ndim >= len(dims) else fewest), 0))


# -- shapes of results ------------------------------------------------------------------------------------------------


def result_shapes(entry, shapes, values):
    """The shapes of an operation's results, without computing them.

    Parameters are those of `core_axes`.

    Returns
    -------
    tuple
        A shape for each result of the signature, a list of shapes where that is a list. A length that values decide is
        None, and so is a shape that they, or a key, decide.

    Raises
    ------
    IndexError
        For an axis that an array does not have.
    ValueError
        For lengths that have to agree and do not, and loops that do not broadcast.
    """
    structure = structure_of(entry)
    axes = core_axes(entry, shapes, values)
    lengths, loops, missing = {}, [], set()
    for operand in structure.operands:
        shape = shapes.get(operand.name)
        if operand.dims is None:
            continue
        if shape is None:
            for dim in operand.dims:
                lengths.setdefault(dim.rstrip("?*"), 0)
            continue
        if not operand.listed:
            loops.append(_bind(entry, operand, shape, axes[operand.name], lengths, missing))
            continue
        each = []
        for one, own in zip(shape, axes[operand.name], strict=True):
            each.append({})
            loops.append(_bind(entry, operand, one, own, each[-1], missing))
        lengths.update({dim.rstrip("?*"): [one[dim.rstrip("?*")] for one in each] for dim in operand.dims})
    loop = _broadcast(entry, loops)
    known = {**HELPERS, **shapes, **values, **lengths}
    found = []
    for result in structure.results:
        if result.dims is None:
            found.append(None)
        elif not result.listed:
            core = _evaluated(result, known, missing)
            if result.first:
                found.append(core + _placed(entry, shapes, values, axes, loop, ()))
            else:
                found.append(_placed(entry, shapes, values, axes, loop, core))
        else:
            found.append(_list_of(entry, shapes, values, axes, loop, result, known, missing))
    return tuple(found)


def _bind(entry, operand, shape, axes, lengths, missing):
    """Binds the lengths of an operand's core axes to their names; returns its loops."""
    if axes is None:
        axes, shape = (-1,), (math.prod(shape),)
    ndim = len(shape)
    core = [shape[axis] for axis in axes]
    loop = [n for i, n in enumerate(shape) if i - ndim not in axes]
    dims = operand.dims
    if not core and entry.counted == "equal" and len(dims) == 1:
        core = [1]
    group = [i for i, dim in enumerate(dims) if dim.endswith("*")]
    if group:
        (at,) = group
        rest = len(core) - (len(dims) - 1)
        bound = [*core[:at], tuple(core[at : at + rest]), *core[at + rest :]]
    else:
        lacking = len(dims) - len(core)
        kept = [dim for dim in dims if not (lacking and dim.endswith("?"))]
        missing.update([dim[:-1] for dim in dims if dim not in kept])
        dims, bound = kept, core
    for dim, n in zip(dims, bound, strict=True):
        name = dim.rstrip("?*")
        wanted = int(name) if name.isdecimal() else lengths.setdefault(name, n)
        if wanted != n:
            raise ValueError(f"{entry.name}: the core axis {name} of {operand.name} has length {n}, expected {wanted}")
    return tuple(loop)


def _broadcast(entry, shapes):
    found = []
    for n in range(1, 1 + max(map(len, shapes), default=0)):
        lengths = {shape[-n] for shape in shapes if n <= len(shape)}
        if len(lengths - {1}) > 1:
            raise ValueError(f"{entry.name}: loops of shapes {', '.join(map(str, shapes))} do not broadcast")
        found.append(max(lengths - {1}, default=1))
    return tuple(reversed(found))


def _evaluated(result, known, missing):
    """The core lengths of a result."""
    found = []
    for dim in result.dims:
        if dim.endswith("?"):
            if dim[:-1] not in missing:
                found.append(known[dim[:-1]] if dim[:-1] else None)
        else:
            value = _evaluate(dim.lstrip("*"), known)
            found += value if dim.startswith("*") else [value]
    return tuple(found)


def _evaluate(text, known):
    return known[text] if text in known else eval(_code(text), {"__builtins__": {}}, known)


@functools.cache
def _code(text):
    return compile(text, "<signature>", "eval")


def _list_of(entry, shapes, values, axes, loop, result, known, missing):
    """The shapes of a list of results: as many as there are arrays or axes, or as the core axis is long."""
    (operand,) = structure_of(entry).operands
    own = shapes[operand.name]
    if operand.listed:
        core = _evaluated(result, known, missing)
        return [_placed(entry, shapes, values, axes, loop, core)] * len(own)
    if operand.dims[0].endswith("*"):
        return [_evaluated(result, known, missing)] * len(own)
    (axis,) = axes[operand.name]
    return [loop] * own[axis]


def _placed(entry, shapes, values, axes, loop, core):
    """The shape of a result: its core axes in the place of those of the operands."""
    name = axis_parameter(entry)
    operand = structure_of(entry).operands[0] if structure_of(entry).operands else None
    kept = values.get("keepdims") and not core
    if name is None:
        return loop + ((1,) * len(operand.dims) if kept else core)
    if entry.counted == "result":
        at = _counted(entry, values[name], len(loop) + 1) % (len(loop) + 1)
        return loop[:at] + core + loop[at:]
    first, own = shapes[operand.name], axes[operand.name]
    if operand.listed:
        first, own = first[0], own[0]
    if kept:
        return keepdims_shape(first, own)
    if own is None:  # the flattened array
        return core
    if entry.counted == "first":
        at = own[0] % len(first)
        return loop[:at] + core + loop[at:]
    if not core:
        return loop
    ndim = len(loop) + len(core)
    if entry.counted == "own" and len(structure_of(entry).operands) > 1:
        own = (_counted(entry, values[name], ndim),)  # as each operand counts, so does the result
    places = dict(zip([axis % ndim for axis in own], core, strict=True))
    rest = iter(loop)
    return tuple([places[i] if i in places else next(rest) for i in range(ndim)])


# -- what the expressions of signatures call --------------------------------------------------------------------------


def _reshaped(lengths, shape):
    shape = normalize_shape(shape)
    known = math.prod([n for n in shape if n != -1])
    return tuple([math.prod(lengths) // max(known, 1) if n == -1 else n for n in shape])


def _expanded(lengths, axis):
    axes = normalize_axes(axis, len(lengths) + (len(axis) if isinstance(axis, (tuple, list)) else 1))
    rest = iter(lengths)
    return tuple([1 if i in axes else next(rest) for i in range(len(lengths) + len(axes))])


def _squeezed(lengths, axis):
    axes = normalize_axes(axis, len(lengths))
    return tuple([n for i, n in enumerate(lengths) if i not in axes])


def _permuted(lengths, axes):
    return tuple([lengths[axis] for axis in (range(len(lengths))[::-1] if axes is None else axes)])


def _moved(lengths, source, destination):
    ndim = len(lengths)
    source, destination = normalize_axes(source, ndim), normalize_axes(destination, ndim)
    places = dict(zip(destination, source, strict=True))
    rest = iter([i for i in range(ndim) if i not in source])
    return tuple([lengths[places[i] if i in places else next(rest)] for i in range(ndim)])


def _tiled(lengths, repetitions):
    repetitions = normalize_shape(repetitions)
    ndim = max(len(lengths), len(repetitions))
    lengths, repetitions = [(1,) * (ndim - len(part)) + tuple(part) for part in (lengths, repetitions)]
    return tuple([n * m for n, m in zip(lengths, repetitions, strict=True)])


def _repeated(length, repeats):
    if not getattr(repeats, "ndim", 0) and hasattr(repeats, "__index__"):
        return length * int(repeats)
    counts = [int(n) for n in repeats]
    return length * counts[0] if len(counts) == 1 else sum(counts)


def _windowed(lengths, windows, axes):
    found = list(lengths)
    for axis, n in zip(normalize_axes(axes, len(lengths)), windows, strict=True):
        found[axis] -= n - 1
    return (*found, *windows)


def _meshed(lengths, indexing):
    return (*lengths[1::-1], *lengths[2:]) if indexing == "xy" else tuple(lengths)


def _padded(lengths, pad_width):
    from arraygrad.ops._padding import padded_shape

    return padded_shape(lengths, pad_width)


def _contracted(lengths1, lengths2, axes):
    from arraygrad.ops._products import split_axes

    _, free1, _, free2 = split_axes(axes, len(lengths1), len(lengths2))
    return (*[lengths1[i] for i in free1], *[lengths2[i] for i in free2])


HELPERS = {
    "abs": abs,
    "len": len,
    "max": max,
    "min": min,
    "prod": math.prod,
    "sum": sum,
    "contracted": _contracted,
    "convolved": lambda m, n, mode: {"full": m + n - 1, "same": max(m, n)}.get(mode, max(m, n) - min(m, n) + 1),
    "diagonal": lambda m, n, offset: max(min(m + min(offset, 0), n - max(offset, 0)), 0),
    "doubled": lambda lengths: (*lengths[:-1], 2 * (lengths[-1] - 1)),
    "expanded": _expanded,
    "halved": lambda lengths: (*lengths[:-1], lengths[-1] // 2 + 1),
    "meshed": _meshed,
    "moved": _moved,
    "padded": _padded,
    "permuted": _permuted,
    "repeated": _repeated,
    "reshaped": _reshaped,
    "sized": normalize_shape,
    "squeezed": _squeezed,
    "tiled": _tiled,
    "windowed": _windowed,
}
