"""Core axes of SciPy's functions: a formula is written for the last axes, whatever axes a call names or stacks.

May import: arraygrad, core.containers, ops._axes, ops.structure, scipy._guards, numpy.

A declaration says with `core`, in the language of ops/structure.py, which axes of its arguments one element of a result
needs. What it does not name is handed on as it is.

- Where SciPy's function has a parameter `axis` and the formula has none, the core axis of each argument stands there.
  The formula gets it as the last one, and what the signature says of the results goes back: their first core axis to
  where that of the arguments stood, further ones to the end. A bare `?` stays as it is.
- Otherwise core axes are the last ones, as of scipy.linalg's matrices: `a(n,n),b(n,k?)->(n,k?)`. The axes in front are
  those of a stack; they broadcast among the arguments, and are the first ones of every result. `b(n,k?)` is a vector
  where it has one axis or none, else a matrix; an argument with fewer axes than it needs gets axes of length one in
  front, as numpy.atleast_1d and atleast_2d give. Signatures hold for the elements of a tuple too: `[(n,n),(n)]`.
"""

import functools
import inspect
from dataclasses import dataclass

import numpy as np

import arraygrad as ag
from arraygrad.core.containers import flatten, unflatten
from arraygrad.ops._axes import from_end
from arraygrad.ops.structure import read
from arraygrad.scipy._guards import raw

__all__ = ["over_core"]


def over_core(formula, core, values, *, counted="first", each=False):
    """`formula` for every place of the core axes, and for stacks.

    Parameters
    ----------
    formula : callable
        A composition, or a rule, which has parameters `g` and `ans` for the gradients of the results and the results.
        It has a parameter for each argument that `core` names.
    core : str
        The signature.
    values : callable
        SciPy's function, whose `axis` the core axes stand at, if it has one.
    counted : str
        By what `axis` is counted, as ops/_axes.py says: "first" or "own".
    each : bool or callable
        Of stacks. True: the formula is for one matrix, and called for each of a stack. False: it takes leading axes
        itself, once they are equal in all arguments (but for those without core axes, which stay). In the place of
        vectors it is given matrices of one column then, where an argument may be either. A callable says which of both
        it is, given the arguments by name.

    Returns
    -------
    callable
        With the parameters of `formula`, and `axis`. Gradients that it gives have the common leading axes: they are
        summed where an argument has fewer.

    Raises
    ------
    TypeError
        If the formula lacks a parameter that `core` names.
    """
    names = tuple(inspect.signature(formula).parameters)
    try:
        structure = read(formula.__name__, core, names)
    except ValueError as error:
        raise TypeError(f"{formula.__name__}: expected a parameter of its own for each of {core!r}: {error}") from None
    axis = inspect.signature(values).parameters.get("axis")
    if axis is None or "axis" in names:
        return _over_stacks(formula, structure, each)
    return _along(formula, structure, axis.default, counted)


# -- along an axis ----------------------------------------------------------------------------------------------------


def _along(formula, structure, default, counted):
    signature = inspect.signature(formula)
    parameter = inspect.Parameter("axis", inspect.Parameter.KEYWORD_ONLY, default=default)
    of = structure.operands

    def over(*args, axis=default, **named):
        named = {**dict(zip(signature.parameters, args, strict=False)), **named}
        if axis is None and "g" not in named and len(of) == 1:  # the whole array is one vector
            whole = ag.asarray(named[of[0].name])
            found = formula(**{**named, of[0].name: ag.reshape(whole, (-1,))})
            return _each_result(structure, found, lambda a, _: ag.reshape(a, whole.shape) if a.shape else a)
        place = from_end(axis, np.ndim(raw(named[of[0].name])))

        def back(a, more):
            """A result with its core axis, in front of `more` of its own at the end, where that of the arguments is."""
            return _moved(a, -1 - more, (from_end(axis, a.ndim - more) if counted == "own" else place) - more)

        for operand in of:
            a = named.get(operand.name)
            if a is not None:
                named[operand.name] = _moved(ag.asarray(a), axis if counted == "own" else place, -1)
        if "g" not in named:
            return _each_result(structure, formula(**named), back)
        for key in ("g", "ans"):
            named[key] = _each_result(structure, named[key], lambda a, more: _moved(a, place - more, -1 - more))
        return _moved(formula(**named), -1, place)

    over.__name__, over.__doc__ = formula.__name__, formula.__doc__
    over.__signature__ = signature.replace(parameters=[*signature.parameters.values(), parameter])
    return over


def _moved(a, source, destination):
    return a if source == destination else ag.moveaxis(a, source, destination)


def _each_result(structure, found, function):
    """function(result, number of its core axes but one) of each result that has any."""
    if not isinstance(found, tuple):
        return _each_result(structure, (found,), function)[0]
    return tuple([
        function(a, len(result.dims) - 1) if a is not None and result.dims else a
        for a, result in zip(found, structure.results, strict=False)
    ])  # fmt: skip


# -- stacks -----------------------------------------------------------------------------------------------------------


def _over_stacks(formula, structure, each):
    counts = {operand.name: _counts(operand) for operand in structure.operands}

    @functools.wraps(formula)
    def over(*args, **named):
        named = {**dict(zip(("g", "ans"), args, strict=False)), **named}
        leaves = _leaves(named, counts)
        batch = np.broadcast_shapes(*[leaf.batch for leaf in leaves])
        if not batch and not any(leaf.lacks for leaf in leaves):
            return formula(**named)
        one_by_one = each(named) if callable(each) else each
        return _one_by_one(formula, named, leaves, batch) if one_by_one else _together(formula, named, leaves, batch)

    return over


def _counts(operand):
    """The numbers of core axes that an argument may have; for each of its elements, where they differ."""
    return [
        sorted({len(dims), sum([not dim.endswith("?") for dim in dims])}) for dims in operand.parts or [operand.dims]
    ]


@dataclass
class _Leaf:
    """An array among the arguments: which one it is, its core axes, and those in front of them."""

    name: str
    place: int
    array: object
    core: int
    several: bool  # whether it may have another number of core axes

    @property
    def shape(self):
        return np.shape(raw(self.array))

    @property
    def batch(self):
        return self.shape[: max(len(self.shape) - self.core, 0)]

    @property
    def lacks(self):
        return len(self.shape) < self.core

    def is_vector(self):
        return self.several and self.core == 1

    def with_core(self):
        """The array with all of its core axes."""
        if not self.lacks:
            return self.array
        return np.reshape(self.array, (1,) * (self.core - len(self.shape)) + self.shape)

    def spread(self, batch):
        array = self.with_core()
        shape = batch + np.shape(raw(array))[len(self.batch) :]
        return array if np.shape(raw(array)) == shape else np.broadcast_to(array, shape)


def _leaves(named, counts):
    found = []
    for name, of_elements in counts.items():
        value = named.get(name)
        if value is None:
            continue
        parts = flatten(value)[0] if isinstance(value, (tuple, list)) else [value]
        for place, part in enumerate(parts):
            count = of_elements[place if len(of_elements) > 1 else 0]
            if part is None:
                continue
            ndim = np.ndim(raw(part))
            core = min([n for n in count if n >= ndim], default=count[-1])
            found.append(_Leaf(name, place, part, core, len(count) > 1))
    return found


def _with_leaves(named, leaves, arrays):
    """The arguments with other arrays in the places of the leaves."""
    named = dict(named)
    for leaf, array in zip(leaves, arrays, strict=True):
        value = named[leaf.name]
        if isinstance(value, (tuple, list)):
            parts, structure = flatten(value)
            parts[leaf.place] = array
            named[leaf.name] = unflatten(structure, parts)
        else:
            named[leaf.name] = array
    return named


def _mapped(function, result):
    """function(array) of each array of a result: one, a tuple or list, or a dict of gradients by argument."""
    if isinstance(result, dict):
        return {key: _mapped(function, value() if callable(value) else value) for key, value in result.items()}
    if isinstance(result, (tuple, list)):
        return tuple([_mapped(function, part) for part in result])
    return None if result is None else function(result)


# -- all at once ------------------------------------------------------------------------------------------------------


def _together(formula, named, leaves, batch):
    vectors = bool(batch) and any(leaf.is_vector() for leaf in leaves)
    arrays = []
    for leaf in leaves:
        array = leaf.spread(batch) if leaf.core else leaf.array
        arrays.append(ag.expand_dims(ag.asarray(array), axis=-1) if vectors and leaf.is_vector() else array)
    given = _with_leaves(named, leaves, arrays)
    if not vectors:
        return formula(**given)
    for key in ("g", "ans"):
        if key in given:
            given[key] = _mapped(lambda a: ag.expand_dims(a, axis=-1), given[key])
    found = formula(**given)
    names = {leaf.name for leaf in leaves if leaf.is_vector()}
    if isinstance(found, dict):  # gradients: those of the vectors have a column too many
        return {key: _mapped(_column, {key: value})[key] if key in names else value for key, value in found.items()}
    return _mapped(_column, found)


def _column(a):
    return a[..., 0]


# -- one by one -------------------------------------------------------------------------------------------------------


def _one_by_one(formula, named, leaves, batch):
    count = int(np.prod(batch))
    rows = [_rows(leaf.spread(batch), len(batch)) if leaf.batch else [leaf.with_core()] * count for leaf in leaves]
    of_results = {key: _parts(named[key], len(batch)) for key in ("g", "ans") if key in named}
    found = []
    for i in range(count):
        given = _with_leaves(named, leaves, [row[i] for row in rows])
        given.update({key: take(i) for key, take in of_results.items()})
        found.append(_mapped(ag.asarray, formula(**given)))
    return _stacked(found, batch)


def _rows(a, ndim):
    """The elements of a stack with so many leading axes."""
    shape = np.shape(raw(a))
    flat = np.reshape(a, (int(np.prod(shape[:ndim])), *shape[ndim:]))
    return list(ag.unstack(flat)) if isinstance(a, ag.Tensor) else list(flat)


def _parts(value, ndim):
    """take(i): of the results, or of their gradients, those of the i-th element of the stack."""
    if isinstance(value, (tuple, list)):
        parts = [None if part is None else _rows(part, ndim) for part in value]
        return lambda i: tuple([None if part is None else part[i] for part in parts])
    rows = _rows(value, ndim)
    return lambda i: rows[i]


def _stacked(found, batch):
    """One result of those of all elements."""
    first = found[0]
    if isinstance(first, dict):
        return {key: _stacked([one[key] for one in found], batch) for key in first}
    if isinstance(first, tuple):
        return tuple([_stacked(list(parts), batch) for parts in zip(*found, strict=True)])
    if first is None:
        return None
    whole = ag.stack(found)
    return ag.reshape(whole, batch + tuple(whole.shape[1:]))
