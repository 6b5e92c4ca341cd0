"""Containers with fields that have no derivative: integers, masks and indices, text, None, in every kind of container.

The class: kinds of containers x values of such fields x transforms. The field is in the call what it is, and None (for
integers) or itself in the gradient; what may be meant as a floating-point number is refused.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import types
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import arraygrad as ag


@dataclasses.dataclass
class Open:
    w: np.ndarray
    extra: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: np.ndarray
    extra: object


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    w: np.ndarray
    extra: object


class Named(NamedTuple):
    w: np.ndarray
    extra: object


@ag.register_container
class Registered:
    def __init__(self, w, extra):
        self.w, self.extra = w, extra


@dataclasses.dataclass
class Annotated:
    rate: float
    steps: int
    width: int | None = None
    scale: complex = 1.0


KINDS = {
    "dataclass": Open,
    "frozen": Frozen,
    "slots": Slotted,
    "named tuple": Named,
    "registered": Registered,
    "namespace": lambda w, extra: types.SimpleNamespace(w=w, extra=extra),
    "dict": lambda w, extra: {"w": w, "extra": extra},
    "nested": lambda w, extra: {"w": w, "extra": Open(np.float32(2.0), (extra,))},
}
FIELDS = {
    "int": 3,
    "zero": 0,
    "numpy int": np.int64(3),
    "numpy bool": np.bool_(True),
    "indices": np.array([1, 0]),
    "mask": np.array([True, False]),
    "int tensor": ag.asarray(np.array([1, 0])),
    "sizes": [3, 4],
    "shape": (2, 1),
    "text": "relu",
    "none": None,
    "bool": True,
    "function": np.tanh,
}
WHOLE = ("int", "zero", "numpy int", "numpy bool", "indices", "mask", "int tensor")


def field(tree, name):
    return tree[name] if isinstance(tree, dict) else getattr(tree, name)


def innermost(tree):
    extra = field(tree, "extra")
    return extra.extra[0] if type(extra) is Open and type(tree) is dict else extra


@pytest.mark.parametrize("which", FIELDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_field_stays_in_the_call_and_is_none_in_the_gradient(kind, which):
    seen = []

    def loss(p):
        seen.append(innermost(p))
        return (field(p, "w") ** 2).sum()

    tree = KINDS[kind](np.array([1.0, -2.0]), FIELDS[which])
    value, gradient = ag.value_and_grad(loss)(tree)
    assert value == 5.0
    assert seen[0].__class__ is type(FIELDS[which])  # in the call a ufunc has a stand-in, which says its class
    assert np.all(seen[0] == FIELDS[which])
    assert type(gradient) is type(tree)
    np.testing.assert_array_equal(field(gradient, "w"), [2.0, -4.0])
    expected = None if which in WHOLE else [None, None] if which == "sizes" else FIELDS[which]
    if which == "shape":
        expected = (None, None)
    assert innermost(gradient) == expected
    # One step of descent leaves the field as it is.
    stepped = ag.tree_map(lambda p, g: p - 0.5 * g, tree, gradient)
    np.testing.assert_array_equal(field(stepped, "w"), [0.0, 0.0])
    assert np.all(innermost(stepped) == FIELDS[which])
    # The leaves of both correspond.
    leaves, structure = ag.tree_flatten(tree)
    assert len(leaves) == len(ag.tree_leaves(gradient)) == structure.n_leaves
    again = ag.tree_unflatten(structure, leaves)
    assert innermost(again) is innermost(tree) or which in ("sizes", "shape")
    assert ag.tree_flatten(again)[1] == structure
    integers = which in ("int", "zero", "numpy int", "sizes", "shape")
    with pytest.warns(UserWarning, match="no part of the vector") if integers else contextlib.nullcontext():
        vector, back = ag.ravel_tree(tree)
    np.testing.assert_array_equal(field(back(2 * vector), "w"), [2.0, -4.0])
    assert np.all(innermost(back(vector)) == FIELDS[which])


@pytest.mark.parametrize("transform", ["jacobian", "jacfwd", "hessian", "hvp", "vjp", "jvp", "linearize"])
def test_every_transform_takes_such_fields(transform):
    tree = Frozen(np.array([1.0, 2.0]), 3)

    def f(p):
        return (p.w**p.extra).sum()

    if transform in ("jacobian", "jacfwd"):
        found = getattr(ag, transform)(f)(tree)
        np.testing.assert_allclose(found.w, [3.0, 12.0])
        assert found.extra is None
    elif transform == "hessian":
        np.testing.assert_allclose(ag.hessian(f)(tree).w.w, [[6.0, 0.0], [0.0, 12.0]])
    elif transform == "hvp":
        found = ag.hvp(f)(tree, ag.tree_map(np.ones_like, tree))
        np.testing.assert_allclose(found.w, [6.0, 12.0])
    elif transform == "vjp":
        value, pull = ag.vjp(f, tree)
        (found,) = pull(1.0)
        np.testing.assert_allclose(found.w, [3.0, 12.0])
        assert (value, found.extra) == (9.0, None)
    else:
        direction = Frozen(np.ones(2), None)
        if transform == "jvp":
            _, tangent = ag.jvp(f, (tree,), (direction,))
        else:
            tangent = ag.linearize(f, tree)[1](direction)
        assert tangent == pytest.approx(15.0)


def test_second_derivatives_and_nested_transforms_keep_such_fields():
    def inner(p):
        return ag.grad(lambda q: (q.w**q.extra).sum())(p).w.sum()

    found = ag.grad(inner)(Frozen(np.array([1.0, 2.0]), 3))
    np.testing.assert_allclose(found.w, [6.0, 12.0])
    assert found.extra is None


@pytest.mark.parametrize(
    ("tree", "name"),
    [
        ([1.0, 2], r"p\[1\]"),
        ((np.float64(1.0), 2), r"p\[1\]"),
        ({"w": [1.0, 2]}, r"p\['w'\]\[1\]"),
        (Annotated(1, 2), r"p\.rate"),
        (Annotated(1.0, 2, scale=2), r"p\.scale"),
        ({"n": 3}, r"p\['n'\]"),
        (Open(np.arange(3), 3), r"p\.w"),
        ([1, 2], r"p\[0\]"),
    ],
)
def test_an_integer_that_may_be_meant_as_a_float_is_refused_by_its_name(tree, name):
    with pytest.raises(TypeError, match=rf"grad: argument 0 \({name}\) is an integer or boolean"):
        ag.grad(lambda p: 0.0)(tree)


def test_the_refused_integer_written_as_the_error_says_is_differentiated():
    with pytest.raises(TypeError, match=r"write 3\.0 instead of 3"):
        ag.grad(lambda p: p.rate**2)(Annotated(3, 2))
    found = ag.grad(lambda p: p.rate**p.steps)(Annotated(3.0, 2))
    assert (found.rate, found.steps, found.width) == (6.0, None, None)


def test_one_of_several_arguments_with_integers_alone_is_refused():
    with pytest.raises(TypeError, match=r"argument 1 \(n\['k'\]\) is an integer"):
        ag.grad(lambda p, n: p, argnums=(0, 1))(1.0, {"k": 2})


# tree_flatten, tree_leaves, tree_unflatten


def test_the_structure_holds_what_is_no_leaf_and_says_so():
    leaves, structure = ag.tree_flatten({"a": [1.0, "x"], "n": 3, "t": ag.asarray(np.ones(2))})
    assert leaves[0] == 1.0
    assert isinstance(leaves[1], ag.Tensor)
    assert repr(structure) == "TreeStructure({'a': [*, 'x'], 'n': 3, 't': *})"


def test_structures_are_equal_where_nesting_and_what_they_hold_are():
    def of(tree):
        return ag.tree_flatten(tree)[1]

    base = {"w": 1.0, "n": 3, "i": np.array([1, 2])}
    assert of(base) == of({"i": np.array([1, 2]), "n": 3, "w": 5.0})
    assert of(base) != of({**base, "n": 4})
    assert of(base) != of({**base, "n": 3.0})
    assert of(base) != of({**base, "n": True})
    assert of(base) != of({**base, "i": np.array([1, 3])})
    assert of(base) != of({**base, "i": np.array([1, 2], dtype=np.int32)})
    assert of(base) != of({**base, "i": np.array([[1, 2]])})
    assert of([1.0]) != of((1.0,))
    assert of(1.0) != 1.0


def test_structures_pickle_and_have_no_hash():
    leaves, structure = ag.tree_flatten({"w": [1.0, (2.0,)], "n": 3})
    again = pickle.loads(pickle.dumps(structure))
    assert again == structure
    assert ag.tree_unflatten(again, leaves) == {"w": [1.0, (2.0,)], "n": 3}
    with pytest.raises(TypeError, match="unhashable"):
        hash(structure)


def test_a_leaf_alone_and_an_empty_tree_flatten():
    assert ag.tree_leaves(2.0) == [2.0]
    assert ag.tree_leaves(3) == []
    assert ag.tree_leaves({}) == ag.tree_leaves(None) == []
    assert ag.tree_unflatten(ag.tree_flatten(())[1], []) == ()


def test_leaves_may_be_anything_and_are_recorded_in_a_transform():
    leaves, structure = ag.tree_flatten({"w": np.ones(2), "b": 2.0})
    assert ag.tree_unflatten(structure, ["x", None]) == {"w": "x", "b": None}

    def loss(*given):
        p = ag.tree_unflatten(structure, given)
        return (p["w"] * p["b"]).sum()

    found = ag.grad(loss, argnums=(0, 1))(*leaves)
    np.testing.assert_array_equal(found[0], [2.0, 2.0])
    assert found[1] == 2.0


def test_wrong_calls_of_unflatten_say_what_to_do():
    leaves, structure = ag.tree_flatten([1.0, 2.0])
    with pytest.raises(ValueError, match=r"tree_unflatten: TreeStructure\(\[\*, \*\]\) has 2 leaves, got 3"):
        ag.tree_unflatten(structure, [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="the structure comes first"):
        ag.tree_unflatten(leaves, structure)


@pytest.mark.parametrize("transform", [ag.hessian, lambda f: ag.jacobian(ag.grad(f)), lambda f: ag.jacfwd(ag.grad(f))])
@pytest.mark.parametrize("extra", [None, "text", b"bytes"])
@pytest.mark.parametrize("kind", [lambda w, e: {"w": w, "e": e}, lambda w, e: (w, e), lambda w, e: [[w], e], Open])
def test_a_second_derivative_has_no_block_where_there_is_no_number(kind, extra, transform):
    w = np.array([1.0, 2.0])

    def weights(p):
        return (
            p.w if isinstance(p, Open) else p["w"] if isinstance(p, dict) else p[0][0] if isinstance(p, list) else p[0]
        )

    def others(p):
        return p.extra if isinstance(p, Open) else p["e"] if isinstance(p, dict) else p[1]

    found = transform(lambda p: np.sum(weights(p) ** 3))(kind(w, extra))
    np.testing.assert_allclose(weights(weights(found)), np.diag(6.0 * w))
    assert others(found) == extra
    assert others(weights(found)) == extra


# Vectors of containers with integers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [1, 0, -2, np.int64(3)])
def test_a_vector_without_an_integer_says_so(kind, value):
    tree = KINDS[kind](np.array([1.0, 2.0]), value)
    with pytest.warns(UserWarning, match=f"is the integer {value} and no part of the vector: write {value}.0") as told:
        vector, _ = ag.ravel_tree(tree)
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        followed = KINDS[kind](np.array([1.0, 2.0]), float(value))  # write 1.0
        assert ag.ravel_tree(followed)[0].size == vector.size + 1


@pytest.mark.parametrize("tree", [{"a": 1, "b": 2}, [3], {"a": [1, {"b": 2}]}, Open(1, 2), (np.int64(3),)])
def test_a_vector_of_integers_alone_is_refused(tree):
    with pytest.raises(TypeError, match=r"is the integer \d and no part of the vector: write \d.0"):
        ag.ravel_tree(tree)


def test_a_field_that_is_annotated_as_an_integer_is_not_told_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vector, back = ag.ravel_tree(Annotated(1.0, 3, 4))
    assert vector.size == 2
    assert back(vector) == Annotated(1.0, 3, 4)
