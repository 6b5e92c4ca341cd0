"""tree_map, ravel_tree, and containers that the program registers."""

import dataclasses
import types
from collections import namedtuple

import numpy as np
import pytest
from scipy.optimize import minimize

import arraygrad as ag

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Pair:
    left: object
    right: object


class Layer:
    def __init__(self, weight, bias, name="layer"):
        self.weight, self.bias, self.name = weight, bias, name


class Scaled:
    __slots__ = ("factor", "offset", "unit")

    def __init__(self, factor, offset, unit):
        self.factor, self.offset, self.unit = factor, offset, unit


class Tracked:
    """Keeps what it was not asked for, and counts how often it was made."""

    made = 0

    def __init__(self, value):
        type(self).made += 1
        self.value = value
        self.steps = 7


ag.register_container(Layer)
ag.register_container(Scaled, fields=("factor", "offset"))
ag.register_container(Tracked, fields="value")


# tree_map


def test_a_map_keeps_the_structure():
    tree = {"a": [1.0, (2.0, 3.0)], "b": Point(4.0, Pair(5.0, 6.0))}
    assert ag.tree_map(lambda x: 10 * x, tree) == {
        "a": [10.0, (20.0, 30.0)],
        "b": Point(40.0, Pair(50.0, 60.0)),
    }


def test_a_map_of_several_trees_gets_the_leaves_side_by_side():
    assert ag.tree_map(lambda a, b, c: a + b * c, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]) == [16.0, 26.0]


def test_dicts_of_another_order_and_other_named_tuples_stand_for_each_other():
    other = namedtuple("Other", "x y")
    assert ag.tree_map(lambda a, b: a - b, {"p": 1.0, "q": 2.0}, {"q": 5.0, "p": 3.0}) == {"p": -2.0, "q": -3.0}
    assert ag.tree_map(lambda a, b: a - b, Point(1.0, 2.0), other(3.0, 5.0)) == Point(-2.0, -3.0)


def test_what_is_no_number_stays_as_it_is_and_the_function_never_sees_it():
    seen = []
    tree = {"w": 1.0, "name": "net", "seed": None, "on": True, "act": np.sin.__call__, "kind": int}
    out = ag.tree_map(lambda x: seen.append(x) or -x, tree)
    assert out == {**tree, "w": -1.0}
    assert seen == [1.0]


def test_a_step_of_descent_by_a_map_lowers_the_loss():
    params = {"w": np.array([1.0, -2.0]), "b": 0.5, "name": "net"}

    def loss(p):
        return np.sum(p["w"] ** 2) + p["b"] ** 2

    stepped = ag.tree_map(lambda p, g: p - 0.1 * g, params, ag.grad(loss)(params))
    np.testing.assert_allclose(stepped["w"], [0.8, -1.6])
    assert stepped["b"] == pytest.approx(0.4)
    assert loss(stepped) < loss(params)


def test_trees_that_differ_are_refused_with_both_structures():
    with pytest.raises(ValueError, match=r"tree_map: tree 1 must be nested as \[\*, \*\], got \[\*\]"):
        ag.tree_map(lambda a, b: a, [1.0, 2.0], [1.0])


def test_a_leaf_alone_is_a_tree():
    assert ag.tree_map(lambda a, b: a * b, 3.0, 4.0) == 12.0


# ravel_tree


def tree():
    return {
        "w": np.arange(6.0).reshape(2, 3),
        "b": [7.0, np.float64(8.0)],
        "k": None,
        "p": Point(np.array(9.0), "text"),
    }


def test_a_vector_holds_the_leaves_in_order_and_goes_back():
    vector, back = ag.ravel_tree(tree())
    np.testing.assert_array_equal(vector, np.arange(6.0).tolist() + [7.0, 8.0, 9.0])
    again = back(vector)
    np.testing.assert_array_equal(again["w"], tree()["w"])
    assert again["b"] == [7.0, 8.0]
    assert [type(x) for x in again["b"]] == [float, np.float64]
    assert again["k"] is None
    assert again["p"].y == "text"
    assert again["p"].x.shape == ()


def test_a_vector_is_a_copy():
    given = tree()
    vector, back = ag.ravel_tree(given)
    vector[:] = -1
    assert given["w"][0, 0] == 0
    assert back(vector)["w"][1, 2] == -1


@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f4", "f8")])
def test_each_leaf_gets_its_dtype_back(dtypes):
    given = [np.ones(2, dtypes[0]), np.ones(3, dtypes[1])]
    vector, back = ag.ravel_tree(given)
    assert vector.dtype == np.result_type(*dtypes)
    assert [a.dtype for a in back(vector)] == [np.dtype(d) for d in dtypes]


def test_python_numbers_take_the_precision_of_the_arrays():
    vector, back = ag.ravel_tree({"a": np.ones(2, "f4"), "b": 0.25})
    assert vector.dtype == np.float32
    assert back(vector)["b"] == 0.25
    assert type(back(vector)["b"]) is float


def test_complex_leaves_make_a_complex_vector():
    given = [np.array([1 + 2j]), 3 - 1j]
    vector, back = ag.ravel_tree(given)
    np.testing.assert_array_equal(vector, [1 + 2j, 3 - 1j])
    assert back(vector)[1] == 3 - 1j


def test_the_gradient_of_a_function_of_the_vector_is_the_vector_of_the_gradient():
    given = tree()

    def loss(t):
        return np.sum(np.sin(t["w"])) * t["b"][0] + t["b"][1] ** 2 * t["p"].x

    vector, back = ag.ravel_tree(given)
    found = ag.grad(lambda v: loss(back(v)))(vector)
    expected, _ = ag.ravel_tree(ag.grad(loss)(given))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_tree_of_tensors_makes_a_recorded_vector():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    vector, back = ag.ravel_tree({"w": w, "b": 3.0})
    assert isinstance(vector, ag.Tensor)
    (vector * vector).sum().backward()
    np.testing.assert_array_equal(w.grad.array, [2.0, 4.0])
    assert isinstance(back(vector)["w"], ag.Tensor)
    assert isinstance(back(vector.detach().numpy())["w"], np.ndarray)


def test_scipys_minimize_solves_for_a_container():
    def loss(p):
        return np.sum((p["w"] - np.array([1.0, 2.0])) ** 2) + (p["b"] + 3.0) ** 2

    start, back = ag.ravel_tree({"w": np.zeros(2), "b": 0.0})
    found = minimize(ag.value_and_grad(lambda v: loss(back(v))), start, jac=True)
    solution = back(found.x)
    np.testing.assert_allclose(solution["w"], [1.0, 2.0], atol=1e-6)
    assert solution["b"] == pytest.approx(-3.0, abs=1e-6)


@pytest.mark.parametrize("empty", [[], {}, [None, "text"]])
def test_a_tree_without_numbers_is_an_empty_vector(empty):
    vector, back = ag.ravel_tree(empty)
    assert vector.shape == (0,)
    assert back(vector) == empty


def test_a_leaf_alone_is_a_vector():
    vector, back = ag.ravel_tree(np.ones((2, 2)))
    assert vector.shape == (4,)
    np.testing.assert_array_equal(back(3 * vector), np.full((2, 2), 3.0))
    vector, back = ag.ravel_tree(2.5)
    assert back(vector) == 2.5


@pytest.mark.parametrize("leaf", [3, np.arange(3), np.array(True)])
def test_an_integer_alone_is_refused_by_its_name(leaf):
    with pytest.raises(TypeError, match=r"ravel_tree: tree is an integer or boolean"):
        ag.ravel_tree(leaf)


def test_an_integer_beside_floats_in_a_list_is_refused_by_its_name():
    with pytest.raises(TypeError, match=r"ravel_tree: tree\['w'\]\[1\] is an integer or boolean"):
        ag.ravel_tree({"w": [1.0, 3]})


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"ravel_tree: tree\[1\] is no array"):
        ag.ravel_tree([1.0, object()])


def test_real_and_complex_leaves_are_not_mixed():
    with pytest.raises(TypeError, match="real and complex leaves"):
        ag.ravel_tree([np.ones(2), np.ones(2) * 1j])


def test_a_complex_vector_is_refused_for_a_real_tree():
    vector, back = ag.ravel_tree([np.ones(2)])
    with pytest.raises(TypeError, match="the vector is complex"):
        back(vector * 1j)


@pytest.mark.parametrize("bad", [np.ones(2), np.ones((3, 1)), [1.0, 2.0, 3.0]])
def test_a_vector_of_another_length_is_refused(bad):
    _, back = ag.ravel_tree([np.ones(3)])
    with pytest.raises(ValueError, match="expected a vector of 3 numbers"):
        back(bad)


def test_arrays_of_two_libraries_are_refused():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="arrays of two libraries"):
        ag.ravel_tree([np.ones(2), strict.ones(2)])


def test_a_tree_of_another_library_stays_in_it():
    strict = pytest.importorskip("array_api_strict")
    vector, back = ag.ravel_tree({"w": strict.ones((2, 2)), "b": 3.0})
    assert type(vector) is type(strict.ones(1))
    assert back(vector)["w"].shape == (2, 2)
    assert back(vector)["b"] == 3.0


# Containers of the program's own


def test_a_namespace_is_a_container():
    point = types.SimpleNamespace(x=2.0, y=np.array([3.0, 4.0]), label="p")
    g = ag.grad(lambda p: p.x * np.sum(p.y))(point)
    assert type(g) is types.SimpleNamespace
    assert (g.x, g.label) == (7.0, "p")
    np.testing.assert_array_equal(g.y, [2.0, 2.0])
    assert point.x == 2.0


def test_a_registered_class_is_taken_apart_and_put_together_without_its_init():
    before = Tracked.made
    g = ag.grad(lambda t: t.value**2 * t.steps)(Tracked(3.0))
    assert Tracked.made == before + 1
    assert (type(g), g.value, g.steps) == (Tracked, 42.0, 7)


def test_all_attributes_of_a_registered_class_are_children_by_default():
    g = ag.grad(lambda m: np.sum(m.weight) * m.bias)(Layer(np.array([1.0, 2.0]), 5.0))
    np.testing.assert_array_equal(g.weight, [5.0, 5.0])
    assert (g.bias, g.name) == (3.0, "layer")


def test_a_class_with_slots_is_registered_by_its_fields():
    g = ag.grad(lambda s: s.factor * s.offset)(Scaled(2.0, 5.0, 10))
    assert (g.factor, g.offset, g.unit) == (5.0, 2.0, 10)


def test_attributes_may_have_been_set_in_another_order():
    one, other = Layer(1.0, 2.0), Layer(3.0, 4.0)
    other.weight = other.__dict__.pop("weight")
    assert vars(ag.tree_map(lambda a, b: a - b, one, other)) == {"weight": -2.0, "bias": -2.0, "name": "layer"}


def test_a_registered_class_nests_in_tangents_and_cotangents():
    value, tangent = ag.jvp(lambda m: Layer(m.weight * m.bias, m.bias), (Layer(2.0, 3.0),), (Layer(1.0, 0.0),))
    assert (value.weight, value.bias) == (6.0, 3.0)
    assert (tangent.weight, tangent.bias) == (3.0, 0.0)


def test_integer_attributes_alone_are_refused_by_their_name():
    with pytest.raises(TypeError, match=r"m\.bias\) is an integer"):
        ag.grad(lambda m: m.weight)(Layer(1, 2))


def test_a_class_that_is_not_registered_is_refused():
    class Plain:
        def __init__(self):
            self.a = 1.0

    with pytest.raises(TypeError, match="can't be differentiated"):
        ag.grad(lambda p: p.a)(Plain())


def test_a_subclass_is_registered_by_itself():
    class Deeper(Layer):
        pass

    with pytest.raises(TypeError, match="can't be differentiated"):
        ag.grad(lambda p: p.weight)(Deeper(1.0, 2.0))


def test_a_registration_decorates_its_class():
    @ag.register_container
    class Decorated:
        def __init__(self):
            self.a = 3.0

    assert ag.grad(lambda d: d.a**2)(Decorated()).a == 6.0


@pytest.mark.parametrize("bad", [dict, list, float, np.ndarray, Point, ag.Tensor, "text"])
def test_what_is_a_container_or_a_number_can_not_be_registered(bad):
    with pytest.raises(TypeError, match="register_container"):
        ag.register_container(bad)


def test_fields_are_names():
    with pytest.raises(TypeError, match="names of attributes"):
        ag.register_container(Layer, fields=[1])


def test_a_class_of_attrs_is_a_container():
    # As attrs writes it: the fields stand in __attrs_attrs__, and a frozen class refuses to be assigned to.
    class Model:
        __attrs_attrs__ = (types.SimpleNamespace(name="a"), types.SimpleNamespace(name="b"))

        def __init__(self, a, b):
            vars(self).update(a=a, b=b)

        def __setattr__(self, name, value):
            raise AttributeError("frozen")

    g = ag.grad(lambda m: m.a * np.sum(m.b))(Model(2.0, np.array([1.0, 3.0])))
    assert g.a == 4.0
    np.testing.assert_array_equal(g.b, [2.0, 2.0])
