"""Stacks of matrices and vectors: how the leading axes of the arguments of a function of scipy.linalg are counted.

May import: arraygrad, core.containers, scipy._guards, numpy.

A function of scipy.linalg takes arrays with so many core axes each, the last ones. The axes before them are those of a
stack; they broadcast among the arguments, and are the first ones of every result. A declaration says how many core axes
each argument has, in a text such as "a:2 b:1|2":

- `b:1|2`: a vector where the argument has one axis or none, else a matrix. `q:0|2` likewise: a number or a matrix.
- `lu_and_piv:2,1`: of the elements of a tuple. One count holds for all elements (`arrs:2`), and `c_and_lower:2,-`
  leaves the second one as it is.

An argument with fewer axes than those gets axes of length one in front, as numpy.atleast_1d and atleast_2d give.
"""

import functools
import inspect
from dataclasses import dataclass

import numpy as np

import arraygrad as ag
from arraygrad.core.containers import flatten, unflatten
from arraygrad.scipy._guards import raw

__all__ = ["over_stacks"]


def over_stacks(formula, core, each=False):
    """`formula` for stacks of its arguments.

    Parameters
    ----------
    formula : callable
        A composition, or a rule, which has parameters `g` and `ans` for the gradients of the results and the results.
        It has a parameter for each argument that `core` names.
    core : str
        How many core axes each argument has.
    each : bool or callable
        True: the formula is for one matrix, and called for each of a stack. False: it takes leading axes itself, once
        they are equal in all arguments (but for those without core axes, which stay). In the place of vectors it is
        given matrices of one column then, where an argument may be either. A callable says which of both it is, given
        the arguments by name.

    Returns
    -------
    callable
        With the signature of `formula`. Gradients that it gives have the common leading axes: they are summed where an
        argument has fewer.
    """
    counts = _parsed(core)
    missing = counts.keys() - inspect.signature(formula).parameters.keys()
    if missing:
        raise TypeError(f"{formula.__name__}: expected a parameter for each of {core!r}, but lacks {sorted(missing)}")

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


def _parsed(core):
    """{argument: ((counts of its first element), ...)}"""
    found = {}
    for part in core.split():
        name, _, counts = part.partition(":")
        found[name] = [None if one == "-" else sorted(map(int, one.split("|"))) for one in counts.split(",")]
    return found


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
            if part is None or count is None:
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
