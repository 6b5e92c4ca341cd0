# Nested containers of arrays: taken apart into a list of leaves, and put together again.
# May import: nothing of arraygrad. dict, list, tuple, named tuples, dataclasses, classes of attrs, SimpleNamespace and
# what the program registers are containers; whatever else is a leaf, unless optree is in use and knows its type
# (`optree.register_pytree_node`).
cimport cython
from cpython.object cimport PyObject, PyTypeObject

import copy
import dataclasses
import inspect
import sys
import types
from collections import OrderedDict, defaultdict
from types import SimpleNamespace

cdef extern from "Python.h":
    Py_ssize_t PySequence_Fast_GET_SIZE(object items)
    PyObject* PySequence_Fast_GET_ITEM(object items, Py_ssize_t i)
    PyTypeObject* type_of "Py_TYPE" (PyObject* o) noexcept
    int Py_EnterRecursiveCall(const char* where)        # not zero: with an exception set
    void Py_LeaveRecursiveCall()

__all__ = [
    "LEAF", "Structure", "align", "flatten", "leaf_names", "note_leaf_type", "register_container", "stands_for",
    "unflatten",
]

# Types of which most leaves are, told by one look.
cdef set LEAF_TYPES = {float, int, complex, bool, str, bytes, type(None)}
cdef tuple _counted = tuple([tuple(range(n)) for n in range(17)])      # the keys of short lists


# class -> names of the attributes that hold the children; None: all that an instance has in its __dict__
cdef dict _registered = {SimpleNamespace: None}


def note_leaf_type(cls):
    """Objects of exactly this type are leaves."""
    LEAF_TYPES.add(cls)


def register_container(cls, fields=None):
    """Have the transforms take instances of a class apart, as they do dicts and dataclasses.

    What is put together again is a copy (`copy.copy`) with other values in its attributes; `__init__` is not called.

    Parameters
    ----------
    cls : type
        A class of the program's own. Its subclasses are registered by themselves.
    fields : iterable of str, optional
        Names of the attributes that are taken apart; all others stay as they are. By default all that an instance
        holds in its `__dict__`.

    Returns
    -------
    type
        `cls`, so that this decorates it.

    Raises
    ------
    TypeError
        If `cls` is no class, is a container or a kind of array already, or `fields` are no names.

    Examples
    --------
    >>> import arraygrad as ag
    >>> @ag.register_container
    ... class Layer:
    ...     def __init__(self, weight, bias):
    ...         self.weight, self.bias = weight, bias
    >>> gradient = ag.grad(lambda layer: layer.weight * layer.bias)(Layer(2.0, 5.0))
    >>> type(gradient).__name__, gradient.weight, gradient.bias
    ('Layer', 5.0, 2.0)
    """
    cdef tuple names = None
    if not isinstance(cls, type):
        raise TypeError(f"register_container: expected a class, got {type(cls).__name__}")
    if cls in LEAF_TYPES or issubclass(cls, (dict, list, tuple, int, float, complex, str, bytes, type)):
        raise TypeError(f"register_container: {cls.__name__} is a container, a number or an array already")
    if fields is not None:
        names = tuple(fields) if not isinstance(fields, str) else (fields,)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"register_container: fields must be names of attributes, got {name!r}")
    elif not cls.__dictoffset__:
        raise TypeError(f"register_container: instances of {cls.__name__} have no __dict__, so name the attributes "
                        f"that are taken apart, register_container({cls.__name__}, fields=('w',))")
    _registered[cls] = names
    return cls


cdef tuple counted(Py_ssize_t n):
    return <tuple>_counted[n] if n < 17 else tuple(range(n))


@cython.auto_pickle(False)
cdef class Structure:
    """What is left of a container when its leaves are taken out. Compares equal where leaves can be exchanged.

    Attributes
    ----------
    kind : str
        "leaf", "dict", "list", "tuple", "named tuple", "dataclass" (any that is made of attributes) or "optree".
    type : type or None
        Class of the container; None for a leaf.
    keys : tuple
        Keys, field names or indices of the children.
    children : tuple of Structure
    """

    def __init__(self, kind, container_type, tuple keys, tuple children, original=None):
        cdef Structure child
        self.kind = kind
        self.type = container_type
        self.keys = keys
        self.children = children
        self.original = original  # what rebuilding needs besides the children
        self.n_leaves = 0 if children or kind != "leaf" else 1
        self.flat = container_type is list or container_type is tuple
        for child in children:
            self.n_leaves += child.n_leaves
            self.flat = self.flat and child is leaf_structure

    def __reduce__(self):
        return Structure, (self.kind, self.type, self.keys, self.children, self.original)

    def __eq__(self, other):
        if not isinstance(other, Structure):
            return NotImplemented
        if self is other:
            return True
        if self.kind != other.kind or self.type is not other.type or len(self.keys) != len(other.keys):
            return False
        if self.kind == "dict":  # the order of keys is no part of a dict's identity
            if set(self.keys) != set(other.keys):
                return False
            theirs = dict(zip(other.keys, other.children, strict=True))
            return all(child == theirs[key] for key, child in zip(self.keys, self.children, strict=True))
        return self.keys == other.keys and self.children == other.children

    __hash__ = None

    def __repr__(self):
        if self.kind == "leaf":
            return "*"
        inside = [repr(child) for child in self.children]
        if self.kind == "list":
            return f"[{', '.join(inside)}]"
        if self.kind == "tuple":
            return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
        if self.kind == "dict":
            return "{" + ", ".join(f"{key!r}: {text}" for key, text in zip(self.keys, inside, strict=True)) + "}"
        pairs = ", ".join(f"{key}={text}" for key, text in zip(self.keys, inside, strict=True))
        return f"{self.type.__name__}({pairs})"


cdef Structure leaf_structure = Structure("leaf", None, (), ())
LEAF = leaf_structure
# Those of short lists and tuples of leaves, which are all alike.
cdef tuple _flat_lists = tuple([Structure("list", list, _counted[n], (leaf_structure,) * n) for n in range(17)])
cdef tuple _flat_tuples = tuple([Structure("tuple", tuple, _counted[n], (leaf_structure,) * n) for n in range(17)])


def flatten(tree):
    """(leaves, structure) of a nested container.

    Parameters
    ----------
    tree : object
        Nested dicts, lists, tuples, named tuples, instances of dataclasses, of attrs' classes, of SimpleNamespace and
        of registered classes; anything else is a leaf, None too. Dicts are taken in their own order.

    Returns
    -------
    leaves : list
    structure : Structure
        `unflatten(structure, leaves)` is an equal container.

    Examples
    --------
    >>> from arraygrad.core.containers import flatten, unflatten
    >>> leaves, structure = flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> leaves
    [1.0, 2.0, 3.0]
    >>> unflatten(structure, [10 * leaf for leaf in leaves])
    {'w': [10.0, 20.0], 'b': 30.0}
    """
    cdef list leaves = []
    return leaves, flatten_into(tree, leaves)


def unflatten(Structure structure not None, leaves):
    """The container with `structure` and the given leaves (an iterable of exactly as many as it has).

    Raises
    ------
    ValueError
        If the number of leaves differs.
    """
    cdef list items = list(leaves)
    cdef Py_ssize_t at = 0
    if structure is leaf_structure and len(items) == 1:
        return items[0]
    if len(items) != structure.n_leaves:
        raise ValueError(f"unflatten: the structure {structure!r} has {structure.n_leaves} leaves, got {len(items)}")
    return unflatten_from(structure, items, &at)


def stands_for(structure, wanted):
    """Whether leaves of `structure` can be taken for those of `wanted`: equal, but for the classes of named tuples.

    Where there is a named tuple, one of another class with the same fields will do (NumPy's EighResult for ours), and a
    plain tuple; a named tuple will do for a plain one.
    """
    kinds = {structure.kind, wanted.kind}
    if "named tuple" not in kinds or not kinds <= {"tuple", "named tuple"}:
        if structure.kind != wanted.kind or structure.type is not wanted.type:
            return False
        if structure.kind == "dict":
            theirs = dict(zip(wanted.keys, wanted.children, strict=True))
            return theirs.keys() == set(structure.keys) and all(
                stands_for(child, theirs[key]) for key, child in zip(structure.keys, structure.children, strict=True)
            )
        if structure.keys != wanted.keys:
            return False
    elif len(structure.keys) != len(wanted.keys) or (len(kinds) == 1 and structure.keys != wanted.keys):
        return False
    return all(map(stands_for, structure.children, wanted.children))


def align(structure, leaves, wanted):
    """`leaves` of `structure`, which stands for `wanted`, in the order of `wanted` (that of dicts may differ)."""
    order = []
    _order(structure, wanted, 0, order)
    return [leaves[position] for position in order]


def leaf_names(structure, name):
    """A name for each leaf, as one would write it: `params['w'][0]`, `point.x`."""
    if structure.kind == "leaf":
        return [name]
    names = []
    for key, child in zip(structure.keys, structure.children, strict=True):
        if structure.kind in ("named tuple", "dataclass"):
            names += leaf_names(child, f"{name}.{key}")
        else:
            names += leaf_names(child, f"{name}[{key!r}]")
    return names


def _is_namedtuple(tree):
    return isinstance(tree, tuple) and hasattr(tree, "_fields") and hasattr(tree, "_make")


cdef Structure flatten_into(object tree, list leaves):
    """The structure of a container, whose leaves are appended to `leaves`."""
    cdef object kind = type(tree)
    if kind is list or kind is tuple:
        if all_leaves(tree):
            leaves += tree
            return <Structure>(_flat_lists if kind is list else _flat_tuples)[len(tree)]
        if kind is list:
            return Structure("list", kind, counted(len(<list>tree)), _flatten_all(<list>tree, leaves))
        return Structure("tuple", kind, counted(len(<tuple>tree)), _flatten_all(<tuple>tree, leaves))
    if kind in LEAF_TYPES:
        leaves.append(tree)
        return leaf_structure
    if isinstance(tree, dict):
        original = tree.default_factory if isinstance(tree, defaultdict) else None
        if kind not in (dict, OrderedDict, defaultdict):
            original = tree
        return Structure("dict", kind, tuple(tree), _flatten_all(tree.values(), leaves), original)
    if _is_namedtuple(tree):
        return Structure("named tuple", kind, tree._fields, _flatten_all(tree, leaves))
    if isinstance(tree, (list, tuple)):
        # A subclass may need arguments that can't be guessed: list and tuple themselves take an iterable.
        name = "list" if isinstance(tree, list) else "tuple"
        return Structure(name, kind, tuple(range(len(tree))), _flatten_all(tree, leaves))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple([field.name for field in dataclasses.fields(tree)])
        return _of_attributes(tree, kind, names, leaves)
    if kind in _registered:
        names = _registered[kind]
        return _of_attributes(tree, kind, tuple(sorted(vars(tree))) if names is None else names, leaves)
    if "__attrs_attrs__" in vars(kind):
        return _of_attributes(tree, kind, tuple([field.name for field in kind.__attrs_attrs__]), leaves)
    optree = sys.modules.get("optree")  # a type can only be registered with optree once that is imported
    if optree is not None and kind.__module__ != "builtins":
        return _flatten_registered(optree, tree, leaves)
    leaves.append(tree)
    return leaf_structure


cdef bint all_leaves(object items) except -1:
    """Whether a list or tuple is short, and its items are of the types of which most leaves are."""
    cdef Py_ssize_t i, n = PySequence_Fast_GET_SIZE(items)
    cdef PyTypeObject* kind
    cdef PyTypeObject* before = NULL            # most are of one type, which is looked up once
    if n > 16:
        return False
    for i in range(n):
        kind = type_of(PySequence_Fast_GET_ITEM(items, i))
        if kind != before and <object>kind not in LEAF_TYPES:
            return False
        before = kind
    return True


cdef Structure _of_attributes(object tree, object kind, tuple names, list leaves):
    return Structure("dataclass", kind, names, _flatten_all([getattr(tree, name) for name in names], leaves), tree)


cdef int enter() except -1:
    return -1 if Py_EnterRecursiveCall(" in a nested container") else 0


cdef tuple _flatten_all(object items, list leaves):
    enter()
    try:
        return tuple([flatten_into(item, leaves) for item in items])
    finally:
        Py_LeaveRecursiveCall()


cdef Structure _flatten_registered(object optree, object tree, list leaves):
    try:
        children, metadata, entries, rebuild = optree.tree_flatten_one_level(tree, none_is_leaf=True)
    except ValueError:  # no registered container
        leaves.append(tree)
        return leaf_structure
    return Structure("optree", type(tree), tuple(entries), _flatten_all(children, leaves), (rebuild, metadata))


cdef object unflatten_from(Structure structure, list leaves, Py_ssize_t* at):
    """The container made of the leaves from number `at` on, which is moved behind them."""
    cdef object kind = structure.kind
    cdef Structure child
    cdef list items
    if structure is leaf_structure:
        at[0] += 1
        return leaves[at[0] - 1]
    if structure.flat:
        at[0] += structure.n_leaves
        if structure.type is tuple and structure.n_leaves == len(leaves):
            return tuple(leaves)
        items = leaves[at[0] - structure.n_leaves:at[0]]
        return items if structure.type is list else tuple(items)
    if kind == "leaf":
        at[0] += 1
        return leaves[at[0] - 1]
    items = []
    for child in structure.children:
        items.append(unflatten_from(child, leaves, at))
    cls = structure.type
    if kind == "list" or kind == "tuple":
        return items if cls is list else cls(items)
    if kind == "dict":
        if cls is dict or cls is OrderedDict:
            return cls(zip(structure.keys, items, strict=True))
        if cls is defaultdict:
            return cls(structure.original, zip(structure.keys, items, strict=True))
        tree = copy.copy(structure.original)
        for key, item in zip(structure.keys, items, strict=True):
            tree[key] = item
        return tree
    if kind == "named tuple":
        return cls._make(items)
    if kind == "dataclass":
        # A copy with its fields replaced: __init__ and __post_init__ may convert or check what they are given, which
        # is right for the user's own values but not for Tensors and gradients in their place.
        tree = copy.copy(structure.original)
        forget_cached(tree, structure.keys)
        for key, item in zip(structure.keys, items, strict=True):
            object.__setattr__(tree, key, item)
        return tree
    rebuild, metadata = structure.original
    return rebuild(metadata, items)


cdef tuple _OF_CLASSES = (types.FunctionType, classmethod, staticmethod, type)


cdef int forget_cached(object tree, object names) except -1:
    """Remove what descriptors such as functools.cached_property have computed of the fields that are replaced."""
    cdef object held = getattr(tree, "__dict__", None)
    if type(held) is not dict or len(<dict>held) <= len(names):
        return 0
    for key in [key for key in <dict>held if key not in names]:
        made = inspect.getattr_static(type(tree), key, None)
        if isinstance(made, _OF_CLASSES) or not hasattr(type(made), "__get__"):
            continue
        if not hasattr(type(made), "__set__"):          # what the instance holds hides it
            del (<dict>held)[key]
    return 0


def _order(structure, wanted, start, order):
    """Append where the leaves of `wanted` stand among those of `structure`, whose first leaf is number `start`."""
    if structure.kind == "leaf":
        order.append(start)
        return
    at = {}
    keys = structure.keys if structure.kind == "dict" else wanted.keys  # anything else is in order
    for key, child in zip(keys, structure.children, strict=True):
        at[key] = (child, start)
        start += child.n_leaves
    for key, child in zip(wanted.keys, wanted.children, strict=True):
        mine, position = at[key]
        _order(mine, child, position, order)
