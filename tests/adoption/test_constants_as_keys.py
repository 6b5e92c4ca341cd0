"""Elements of arrays that an adopted call makes are keys of dicts and items of sets by value, as NumPy's scalars are.

The class: arrays of constants (made by creation functions, lists, unique, round) x what is made of their elements
(sets, frozensets, displays, dict.fromkeys, Counter, dicts by loops, comprehensions and zip, tuples of them) x how they
are looked up (by Python numbers, by other elements, by subset and intersection). Value and gradient are those of the
plain call.
"""

import collections
import math

import numpy as np
import pytest

import arraygrad as ag

ARRAYS = {
    "array": lambda: np.array([0.0, 1.0, 1.0, 2.0]),
    "linspace": lambda: np.linspace(0.0, 3.0, 4),
    "zeros": lambda: np.zeros(3),
    "arange": lambda: np.arange(3.0),
    "integers": lambda: np.arange(4),
    "unique": lambda: np.unique(np.array([2.0, 1.0, 2.0])),
    "rounded": lambda: np.round(np.array([0.1, 1.2, 0.9]), 0),
    "float32": lambda: np.array([0.5, 1.0, 0.5], dtype=np.float32),
    "complex": lambda: np.array([1.0 + 1.0j, 1.0 + 1.0j, 2.0]),
    "truth values": lambda: np.array([True, False, True]),
    "written": lambda: _written(),
    "rows": lambda: np.eye(2)[0],
    "sums": lambda: np.array([1.0, 2.0]) + 1.0,
}


def _written():
    a = np.zeros(3)
    a[1] = 1.0
    return a


def _grouped(a):
    groups = collections.defaultdict(list)
    for key in a:
        groups[key].append(1)
    return max(map(len, groups.values()))


def _numbered(a):
    index = {}
    for key in a:
        index.setdefault((key, 1.0), len(index))
    return sum(index[key, 1.0] for key in a)


def _filled(a):
    found = {}
    for key in a:
        found[key] = found.get(key, 0) + 1
    return found[a[0]] + 10 * len(found)


USES = {
    "set": lambda a: len(set(a)),
    "frozenset": lambda a: len(frozenset(a)),
    "display": lambda a: len({*a}),
    "comprehension": lambda a: len({2 * v for v in a}),
    "fromkeys": lambda a: len(dict.fromkeys(a)),
    "Counter": lambda a: collections.Counter(a)[1.0],
    "most common": lambda a: collections.Counter(a).most_common(1)[0][1],
    "defaultdict": _grouped,
    "positions": lambda a: {v: i for i, v in enumerate(a)}.get(1.0, 7),
    "zip": lambda a: 3 if dict(zip(a, "abcdef", strict=False)).get(1.0) == "b" else 5,
    "subset": lambda a: 3 if set(a) <= {0, 1} else 5,
    "issubset": lambda a: 3 if set(a).issubset({0.0, 1.0, 0.5}) else 5,
    "intersection": lambda a: len({1.0}.intersection(a)) + len(set(a) & {1.0, 2.0}),
    "equal sets": lambda a: 3 if set(a) == {0.0, 1.0} else 5,
    "in": lambda a: 3 if 1.0 in set(a) else 5,
    "in a set of numbers": lambda a: sum(v in {0.0, 1.0} for v in a),
    "get": lambda a: sum({0.0: 1.0, 1.0: 2.0}.get(v, 0.25) for v in a),
    "tuples": lambda a: len({(v, 2.0 * v) for v in a}),
    "numbered": _numbered,
    "filled": _filled,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("array", ARRAYS)
def test_constants_are_keys_by_value(array, use):
    def function(x):
        return (1.0 + USES[use](ARRAYS[array]())) * x

    expected = function(2.0)
    assert ag.value_and_grad(function)(2.0) == (expected, expected / 2.0)
    assert function(2.0) == expected


def test_rows_of_a_matrix():
    def function(x):
        rows = {tuple(row) for row in np.eye(2)}
        return x * len(set(map(tuple, np.eye(3)))) + (x if (1.0, 0.0) in rows else 3.0 * x)

    assert ag.value_and_grad(function)(2.0) == (8.0, 4.0)


def test_nan_is_no_key_of_another_nan():
    def function(x):
        return x * len(set(np.array([math.nan, math.nan, 1.0])))

    assert ag.value_and_grad(function)(2.0) == (function(2.0), 3.0)


def test_leaves_are_keys_by_identity():
    a, b = ag.tensor(2.0), ag.tensor(2.0)
    assert len({a, b}) == 2
    assert ag.adopt(lambda: len({a, b}))() == 2
