"""`vjp` takes as cotangent what the function returns: NumPy's named tuples, a plain tuple for a named one.

Imports the public names of arraygrad. The gradient is held to central differences of the weighted sum.
"""

from collections import namedtuple

import numpy as np
import pytest

import arraygrad as ag

MATRIX = np.array([[2.0, 0.5, 0.25], [0.75, 3.0, -0.5], [0.125, -0.625, 5.0]])


def symmetric(x):
    return (x + x.T) / 2


FUNCTIONS = {
    "eigh": lambda x: np.linalg.eigh(symmetric(x)),
    "svd": lambda x: np.linalg.svd(x),
    "slogdet": lambda x: np.linalg.slogdet(x),
    "qr": lambda x: np.linalg.qr(x),
    "unique_counts": lambda x: np.unique_counts(x),
    "unique_inverse": lambda x: np.unique_inverse(x),
    "unique_all": lambda x: np.unique_all(x),
    "unique": lambda x: np.unique(x, return_counts=True),
    "divmod": lambda x: np.divmod(x, 1.7),
    "in a dict": lambda x: {"a": np.linalg.slogdet(x), "b": [np.linalg.slogdet(x.T * 2.0), x]},
}


def leaves(tree):
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, list | tuple) else [tree]


def rebuilt(tree, change):
    """`tree` with change(container, items) in place of each list, tuple and named tuple."""
    if isinstance(tree, dict):
        return {key: rebuilt(item, change) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return change(tree, [rebuilt(item, change) for item in tree])
    return tree


def plain(tree, items):
    return items if isinstance(tree, list) else tuple(items)


def other_class(tree, items):
    if hasattr(tree, "_fields"):
        return namedtuple("Other", tree._fields)(*items)
    return plain(tree, items)


def difference(f, cotangent):
    """Central differences of the sum of the floating-point results, weighted by the cotangent."""

    def total(x):
        pairs = zip(leaves(f(x)), leaves(cotangent), strict=True)
        return sum(np.sum(a * np.asarray(w)) for a, w in pairs if np.asarray(a).dtype.kind == "f")

    found = np.zeros_like(MATRIX)
    for i in np.ndindex(MATRIX.shape):
        step = np.zeros_like(MATRIX)
        step[i] = 1e-6
        found[i] = (total(MATRIX + step) - total(MATRIX - step)) / 2e-6
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("form", ["what vjp returned", "what NumPy returns", "tuples", "another class"])
def test_a_cotangent_may_be_what_the_function_itself_returns(name, form):
    f = FUNCTIONS[name]
    value, pull = ag.vjp(f, MATRIX)
    raw = f(MATRIX)
    cotangent = {
        "what vjp returned": value,
        "what NumPy returns": raw,
        "tuples": rebuilt(value, plain),
        "another class": rebuilt(raw, other_class),
    }[form]
    (found,) = pull(cotangent)
    np.testing.assert_allclose(found, difference(f, cotangent), atol=2e-6)


def test_the_same_for_tensors_in_their_graph():
    x = ag.tensor(MATRIX, requires_grad=True)
    _, pull = ag.vjp(np.linalg.slogdet, x)
    (found,) = pull(np.linalg.slogdet(x))
    np.testing.assert_allclose(found.numpy(), np.linalg.slogdet(MATRIX)[1] * np.linalg.inv(MATRIX).T)


def test_a_named_tuple_stands_for_a_tuple():
    Pair = namedtuple("Pair", "a b")
    _, pull = ag.vjp(lambda x: (x**2, 3.0 * x), np.array([1.0, 2.0]))
    assert pull(Pair(np.ones(2), np.ones(2)))[0].tolist() == [5.0, 7.0]


def test_tangents_too():
    Pair, Other = namedtuple("Pair", "a b"), namedtuple("Other", "a b")
    point = Pair(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    for tangent in (Pair(np.ones(2), np.zeros(2)), Other(np.ones(2), np.zeros(2)), (np.ones(2), np.zeros(2))):
        assert ag.jvp(lambda p: p.a * p.b, (point,), (tangent,))[1].tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "cotangent",
    [
        (1.0,),
        (1.0, 1.0, 1.0),
        [1.0, 1.0],
        namedtuple("Swapped", "logabsdet sign")(1.0, 1.0),
        namedtuple("More", "sign logabsdet rest")(1.0, 1.0, 1.0),
        {"sign": 1.0, "logabsdet": 1.0},
        (1.0, (1.0,)),
        1.0,
    ],
    ids=repr,
)
def test_what_is_nested_otherwise_is_refused(cotangent):
    _, pull = ag.vjp(np.linalg.slogdet, MATRIX)
    with pytest.raises(TypeError, match="nested as SlogdetResult"):
        pull(cotangent)
    _, pull = ag.vjp(lambda x: {"a": np.linalg.slogdet(x)}, MATRIX)
    with pytest.raises(TypeError, match="nested as"):
        pull({"a": cotangent})
    with pytest.raises(TypeError, match="nested as"):
        pull({"b": (1.0, 1.0)})
