"""Functions of nested containers: `tree_map`, `tree_flatten` and its kin, `ravel_tree`, and the registration of the
program's own containers.

May import: core.containers, core.tensor, transforms.tracked_call, transforms.whole, numpy.
"""

from __future__ import annotations

import warnings

import numpy

from arraygrad.core.containers import LEAF, align, flatten, leaf_names, register_container, stands_for, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.transforms.tracked_call import give_back, meta_of
from arraygrad.transforms.tracked_call_base import NUMBER, RAW, SCALAR, TENSOR
from arraygrad.transforms.whole import STATIC_TYPES, is_count, is_static, is_whole, may_stay

__all__ = ["ravel_tree", "register_container", "tree_flatten", "tree_leaves", "tree_map", "tree_unflatten"]


def tree_map(function, tree, *others):
    """The container of `function`'s results for the leaves of `tree`.

    Parameters
    ----------
    function : callable
        Called with one leaf of each tree. None, bools, text, bytes, classes and functions belong to the structure, as
        in gradients: they stay as they are in `tree`, and `function` is not called. Nor is it for an integer, or an
        array of integers or truth values, beside None in another tree, as gradients have it there.
    tree : object
        Nested dicts, lists, tuples, named tuples, instances of dataclasses, attrs' classes, SimpleNamespace and
        registered classes.
    *others
        Containers of the same structure; dicts may have another order, and named tuples another class.

    Returns
    -------
    object
        A container of the structure of `tree`.

    Raises
    ------
    TypeError
        If `function` is none.
    ValueError
        If the structure of another tree differs.

    Examples
    --------
    >>> import arraygrad as ag
    >>> params = {"w": [1.0, 2.0], "b": 0.5, "name": "layer"}
    >>> gradient = ag.grad(lambda p: p["w"][0] * p["w"][1] + p["b"])(params)
    >>> ag.tree_map(lambda p, g: p - 0.1 * g, params, gradient)
    {'w': [0.8, 1.9], 'b': 0.4, 'name': 'layer'}
    """
    if not callable(function):
        kind = type(function).__name__
        raise TypeError(f"tree_map: the function comes first, tree_map(function, tree), got {kind}")
    leaves, structure = flatten(tree)
    columns = [leaves]
    for k, other in enumerate(others, 1):
        theirs, own = flatten(other)
        if not stands_for(own, structure):
            raise ValueError(f"tree_map: tree {k} must be nested as {structure!r}, got {own!r}")
        columns.append(align(own, theirs, structure))
    return unflatten(structure, [_mapped(function, *row) for row in zip(*columns, strict=True)])


def _mapped(function, leaf, *others):
    if is_static(leaf) or (any(other is None for other in others) and is_whole(leaf)):
        return leaf
    return function(leaf, *others)


class TreeStructure:
    """What `tree_flatten` leaves of a container: its nesting, and what it holds beside the leaves.

    Two are equal if the containers are nested alike and hold equal things beside the leaves.
    """

    __slots__ = ("_kept", "_structure")

    def __init__(self, structure, kept):
        self._structure = structure
        self._kept = kept  # per leaf of the nesting: (what stays,), or () for a leaf

    @property
    def n_leaves(self):
        """How many leaves the container has."""
        return self._kept.count(())

    def __eq__(self, other):
        if not isinstance(other, TreeStructure):
            return NotImplemented
        return self._structure == other._structure and all(
            map(_alike, self._kept, align(other._structure, other._kept, self._structure))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return f"TreeStructure({unflatten(self._structure, [_Shown(kept) for kept in self._kept])!r})"

    def __reduce__(self):
        return TreeStructure, (self._structure, self._kept)


class _Shown:
    """What the text of a structure shows in the place of a leaf."""

    def __init__(self, kept):
        self._kept = kept

    def __repr__(self):
        return repr(*self._kept) if self._kept else "*"


def _alike(kept, other):
    """Whether what two containers hold at one place is equal; of arrays type, dtype and all elements."""
    if not kept or not other:
        return kept == other
    (one,), (two,) = kept, other
    if type(one) is not type(two):
        return False
    if isinstance(one, STATIC_TYPES) or not hasattr(one, "shape"):
        return one is two or bool(one == two)
    one, two = (x.detach().array if isinstance(x, Tensor) else x for x in (one, two))
    return one.dtype == two.dtype and one.shape == two.shape and bool((one == two).all())


def tree_flatten(tree):
    """The leaves of a container, and its structure.

    Parameters
    ----------
    tree : object
        A container as of `tree_map`. Leaves are what has a derivative: Tensors, arrays and numbers of floating-point
        dtypes, and objects that are not known. All else belongs to the structure: None, bools, text, bytes, classes,
        functions, integers, and arrays of integers or truth values. So the leaves of parameters and those of their
        gradient correspond. Dicts are taken in their own order, which is not sorted.

    Returns
    -------
    leaves : list
    structure : TreeStructure
        For `tree_unflatten`. Compares equal (`==`) where containers are nested alike and hold equal things beside the
        leaves.

    Examples
    --------
    >>> import arraygrad as ag
    >>> leaves, structure = ag.tree_flatten({"w": [1.0, 2.0], "n": 3, "name": "layer"})
    >>> leaves
    [1.0, 2.0]
    >>> structure
    TreeStructure({'w': [*, *], 'n': 3, 'name': 'layer'})
    >>> ag.tree_unflatten(structure, [10.0, 20.0])
    {'w': [10.0, 20.0], 'n': 3, 'name': 'layer'}
    """
    found, structure = flatten(tree)
    kept = [(leaf,) if is_static(leaf) or is_whole(leaf) else () for leaf in found]
    return [leaf for leaf, stays in zip(found, kept, strict=True) if not stays], TreeStructure(structure, kept)


def tree_leaves(tree):
    """The leaves of a container, in order: the first result of `tree_flatten`.

    Parameters
    ----------
    tree : object

    Returns
    -------
    list

    Examples
    --------
    >>> import arraygrad as ag
    >>> params = {"w": [1.0, 2.0], "b": 0.5}
    >>> gradient = ag.grad(lambda p: p["w"][0] * p["w"][1] + p["b"])(params)
    >>> sum(g**2 for g in ag.tree_leaves(gradient))
    6.0
    """
    return tree_flatten(tree)[0]


def tree_unflatten(structure, leaves):
    """The container with a structure and the given leaves.

    Parameters
    ----------
    structure : TreeStructure
        Of `tree_flatten`. What it holds beside the leaves is in the container as it is, not a copy.
    leaves : iterable
        Of any objects, as many as the structure has leaves.

    Returns
    -------
    object
        Instances of classes are copies with other values in their fields; `__init__` is not called.

    Raises
    ------
    TypeError
        If `structure` is none.
    ValueError
        If the number of leaves differs.

    Examples
    --------
    >>> import arraygrad as ag
    >>> leaves, structure = ag.tree_flatten((1.0, {"b": 2.0}))
    >>> ag.tree_unflatten(structure, [-leaf for leaf in leaves])
    (-1.0, {'b': -2.0})
    """
    if not isinstance(structure, TreeStructure):
        raise TypeError(
            f"tree_unflatten: expected the structure that tree_flatten returned, got {type(structure).__name__}; the "
            "structure comes first, tree_unflatten(structure, leaves)"
        )
    given = list(leaves)
    if len(given) != structure.n_leaves:
        raise ValueError(f"tree_unflatten: {structure!r} has {structure.n_leaves} leaves, got {len(given)}")
    rest = iter(given)
    return unflatten(structure._structure, [kept[0] if kept else next(rest) for kept in structure._kept])


def ravel_tree(tree):
    """All numbers of a container as one vector, and the function that makes a container of such a vector.

    For solvers that know vectors alone, as those of SciPy. Inside a transform the vector of a Tensor is a Tensor, and
    so are the leaves of what `back` returns for one.

    Parameters
    ----------
    tree : object
        A container as of `tree_map`, whose leaves are arrays of one library, Tensors and Python floats or complex
        numbers. What belongs to the structure stays in it, as in `tree_flatten`: integers, too. A warning tells
        of integers, which may be meant as 3.0, but for fields that a class annotates as integers.

    Returns
    -------
    vector : array or Tensor
        Of the dtype that all leaves fit into.
    back : callable
        `back(vector)` has the structure, shapes and dtypes of `tree`. Python numbers are Python numbers again, unless
        the vector is a Tensor.

    Raises
    ------
    TypeError
        If the tree holds integers and nothing else, a leaf is no array, real and complex leaves are mixed, or the
        leaves are of several libraries.
        By `back`: if a vector for a real tree is complex.
    ValueError
        By `back`: if the vector has another length.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> vector, back = ag.ravel_tree({"w": np.array([[1.0, 2.0]]), "b": 3.0})
    >>> vector
    array([1., 2., 3.])
    >>> back(2 * vector)
    {'w': array([[2., 4.]]), 'b': 6.0}
    >>> ag.grad(lambda v: back(v)["w"].sum() * back(v)["b"])(vector)
    array([3., 3., 3.])
    """
    leaves, structure = flatten(tree)
    static = [
        is_static(leaf) or (is_whole(leaf) and may_stay(structure, leaves, i)) for i, leaf in enumerate(leaves)
    ]  # fmt: skip
    parts = [_Part(leaf, structure, i) for i, leaf in enumerate(leaves) if not static[i]]
    kept = [leaf if stays else None for leaf, stays in zip(leaves, static, strict=True)]
    _tell_of_integers(leaves, structure, static, not parts)
    if not parts:
        return numpy.zeros(0), lambda vector: _checked(vector, 0) and unflatten(structure, kept)
    ops = next((part.meta.ops for part in parts if part.kind != NUMBER), parts[0].meta.ops)
    for part in parts:
        if part.meta.ops is not ops and part.kind != NUMBER:
            raise TypeError(f"ravel_tree: arrays of two libraries, {ops.name} and {part.meta.ops.name}")
        if part.meta.is_complex != parts[0].meta.is_complex:
            raise TypeError("ravel_tree: real and complex leaves can't share a vector; use a vector of real numbers")
    # Python numbers adapt to the arrays beside them, as in NumPy's arithmetic: they have no part in the vector's dtype,
    # library or device. Each leaf keeps its own dtype in `parts`, by which `back` casts its piece again.
    arrays = [part.meta.dtype for part in parts if part.kind != NUMBER]
    dtype = ops.xp.result_type(*arrays) if arrays else parts[0].meta.dtype
    device = next((part.meta.device for part in parts if part.kind != NUMBER), None)
    recorded = any(part.kind == TENSOR for part in parts)
    xp = _space(next(part.value for part in parts if part.kind == TENSOR)) if recorded else ops.xp
    pieces = []
    for part in parts:
        value = xp.asarray(part.value, dtype=dtype, device=device) if part.kind in (NUMBER, SCALAR) else part.value
        value = xp.astype(value, dtype) if value.dtype != dtype else value
        pieces.append(xp.reshape(value, (-1,)))
        part.value = None  # `back` lives on, and is not to keep the leaves alive
    vector = xp.concat(pieces)
    size = sum(part.meta.size for part in parts)
    is_complex = parts[0].meta.is_complex

    def back(vector):
        """The container of a vector."""
        _checked(vector, size)
        meta = meta_of(vector)
        if meta.is_complex and not is_complex:
            raise TypeError("ravel_tree: the vector is complex, but the leaves of the tree are real")
        space = _space(vector) if isinstance(vector, Tensor) else meta.ops.xp
        found, at, part = list(kept), 0, None
        for part in parts:
            piece = space.reshape(vector[at : at + part.meta.size], part.meta.shape)
            if part.kind != NUMBER and part.meta.ops is meta.ops and meta.dtype != part.meta.dtype:
                piece = space.astype(piece, part.meta.dtype)
            at += part.meta.size
            if not isinstance(piece, Tensor):
                piece = give_back(RAW if part.kind == TENSOR else part.kind, piece, part.meta)
            found[part.index] = piece
        return found[0] if structure is LEAF else unflatten(structure, found)

    return vector, back


def _tell_of_integers(leaves, structure, static, alone):
    """Warn of integers that are no part of a vector.

    Raises
    ------
    TypeError
        If an integer is there and nothing is part of the vector (`alone`).
    """
    found = [
        i
        for i, leaf in enumerate(leaves)
        if static[i] and isinstance(leaf, (int, numpy.integer)) and not (is_static(leaf) or is_count(structure, i))
    ]
    if not found:
        return
    names = leaf_names(structure, "tree")
    told = [f"{names[i]} is the integer {leaves[i]} and no part of the vector: write {leaves[i]}.0" for i in found]
    if alone:
        raise TypeError(
            f"ravel_tree: {told[0]} if it is meant as a number that varies; nothing else in the tree is part of it, "
            "as an integer has no derivative"
        )
    more = f" (and {len(told) - 3} more integers)" if len(told) > 3 else ""
    warnings.warn(
        f"ravel_tree: {'; '.join(told[:3])}{more}. An integer that is a count or an index stays as it is without this "
        "warning where it is kept out of the tree",
        UserWarning,
        stacklevel=3,
    )


class _Part:
    """A leaf that holds numbers: its kind, its metadata, and where it stands."""

    __slots__ = ("index", "kind", "meta", "value")

    def __init__(self, leaf, structure, index):
        self.index = index
        self.value = leaf
        if isinstance(leaf, Tensor):
            self.kind = TENSOR
        elif isinstance(leaf, numpy.generic):
            self.kind = SCALAR
        else:
            self.kind = NUMBER if isinstance(leaf, (int, float, complex)) else RAW
        try:
            self.meta = meta_of(numpy.asarray(leaf) if self.kind == NUMBER else leaf)
        except TypeError as error:
            raise TypeError(f"ravel_tree: {leaf_names(structure, 'tree')[index]} is no array: {error}") from error
        if not self.meta.is_floating:
            raise TypeError(
                f"ravel_tree: {leaf_names(structure, 'tree')[index]} is an integer or boolean ({self.meta.dtype}), "
                "which has no derivative: give a floating-point value, or keep it out of the tree"
            )


def _space(tensor):
    """The namespace of a Tensor's library, differentiable."""
    return tensor.__array_namespace__()


def _checked(vector, size):
    shape = getattr(vector, "shape", None)
    if shape is None or tuple(shape) != (size,):
        raise ValueError(f"ravel_tree: expected a vector of {size} numbers, got shape {shape}")
    return True
