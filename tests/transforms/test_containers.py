"""Containers: what flatten takes apart, unflatten puts together again."""

import dataclasses
import pickle
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.containers import LEAF, align, flatten, leaf_names, unflatten
from arraygrad.transforms.tracked_call import TrackedCall

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: object
    bias: object = 0.0


@dataclasses.dataclass(frozen=True)
class Strict:
    value: float

    def __post_init__(self):
        if not isinstance(self.value, float):
            raise TypeError("only floats")


class Tagged(dict):
    tag = "none"


TREES = [
    1.5,
    None,
    [],
    (),
    {},
    [1, [2, 3], (4,)],
    (1, {"b": 2, "a": (3, 4)}),
    Point(1, [2, 3]),
    Layer(1, {"k": 2}),
    OrderedDict(b=1, a=2),
    {1: "x", (2, 3): "y"},
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_unflatten_rebuilds_what_flatten_took_apart(tree):
    leaves, structure = flatten(tree)
    again = unflatten(structure, leaves)
    assert again == tree
    assert type(again) is type(tree)


def test_leaves_of_a_dict_come_in_its_own_order():
    assert flatten({"b": 1, "a": 2})[0] == [1, 2]


def test_dicts_with_other_key_order_have_equal_structures():
    assert flatten({"b": 1, "a": [2, 3]})[1] == flatten({"a": [0, 0], "b": 0})[1]


def test_align_reorders_leaves_by_key():
    leaves, structure = flatten({"b": 1, "a": [2, {"d": 3, "c": 4}]})
    wanted = flatten({"a": [0, {"c": 0, "d": 0}], "b": 0})[1]
    assert align(structure, leaves, wanted) == [2, 4, 3, 1]


@pytest.mark.parametrize(
    ("first", "second"),
    [([1], (1,)), ({"a": 1}, {"b": 1}), ([1, 2], [1]), (Point(1, 2), (1, 2)), ([1], [[1]]), (1, [1])],
    ids=repr,
)
def test_different_containers_have_different_structures(first, second):
    assert flatten(first)[1] != flatten(second)[1]


def test_defaultdict_keeps_its_factory():
    tree = defaultdict(list, a=1.0)
    leaves, structure = flatten(tree)
    again = unflatten(structure, leaves)
    assert again["missing"] == []


def test_dict_subclass_keeps_its_attributes():
    tree = Tagged(a=1.0)
    tree.tag = "kept"
    _, structure = flatten(tree)
    again = unflatten(structure, [2.0])
    assert (type(again), again.tag, again["a"], tree["a"]) == (Tagged, "kept", 2.0, 1.0)


def test_dataclass_is_rebuilt_without_its_own_checks():
    _, structure = flatten(Strict(1.0))
    assert unflatten(structure, ["anything"]).value == "anything"


def test_dataclass_class_is_a_leaf():
    assert flatten(Layer)[0] == [Layer]


def test_unflatten_does_not_change_the_original():
    tree = Layer([1, 2])
    _, structure = flatten(tree)
    unflatten(structure, [7, 8, 9])
    assert tree.weight == [1, 2]


@pytest.mark.parametrize("leaves", [[1], [1, 2, 3]])
def test_wrong_number_of_leaves_raises(leaves):
    _, structure = flatten([0, 0])
    with pytest.raises(ValueError, match="has 2 leaves, got"):
        unflatten(structure, leaves)


def test_leaf_names_read_like_code():
    tree = {"w": [0, Point(0, 0)], "layer": Layer(0)}
    assert leaf_names(flatten(tree)[1], "p") == [
        "p['w'][0]",
        "p['w'][1].x",
        "p['w'][1].y",
        "p['layer'].weight",
        "p['layer'].bias",
    ]


def test_repr_of_a_structure_shows_containers_and_stars():
    assert repr(flatten({"a": [1, (2,)], "b": Point(1, 2)})[1]) == "{'a': [*, (*,)], 'b': Point(x=*, y=*)}"


def test_type_registered_with_optree_is_a_container():
    optree = pytest.importorskip("optree", reason="optree, which is optional, is not installed")

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    everywhere = optree.registry.__GLOBAL_NAMESPACE
    optree.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, c: Pair(*c), namespace=everywhere)
    leaves, structure = flatten([Pair(1.0, {"k": 2.0})])
    again = unflatten(structure, [10 * leaf for leaf in leaves])
    assert (again[0].a, again[0].b) == (10.0, {"k": 20.0})


def test_a_list_that_holds_itself_is_an_error_and_not_a_crash():
    endless = [1.0]
    endless.append(endless)
    with pytest.raises(RecursionError):
        flatten(endless)
    nested = 1.0
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(RecursionError):
        flatten(nested)


def test_a_structure_that_was_pickled_takes_leaves_apart_and_together_as_before():
    tree = {"a": [1.0, (2.0, 3.0)], "b": 4.0}
    leaves, structure = flatten(tree)
    copied = pickle.loads(pickle.dumps(structure))
    assert copied == structure
    assert copied.n_leaves == 4
    assert unflatten(copied, leaves) == tree
    assert unflatten(pickle.loads(pickle.dumps(LEAF)), [1.0]) == 1.0


def test_numbers_look_once_for_the_arrays_beside_them(monkeypatch):
    looked = []
    beside = TrackedCall.arrays_beside
    monkeypatch.setattr(TrackedCall, "arrays_beside", lambda self: looked.append(1) or beside(self))
    found = ag.grad(lambda *numbers: sum(numbers[1:]) * numbers[0][0], argnums=tuple(range(1, 40)))(
        np.float32([2.0]), *[0.5] * 39
    )
    assert found == (2.0,) * 39
    assert len(looked) == 1
