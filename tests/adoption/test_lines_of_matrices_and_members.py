"""Refusals of numpy.matrix beside Tensors name file and line; the truth value of an array names the way to find one.

The class: operators, functions, views and writes of a matrix x adoption; `in` and the methods of containers that
compare by ==. The ways that the errors name are taken, and give the gradient.
"""

import collections
import re

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")
M = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
MATRICES = {
    "matrix * array": lambda x: (M * np.stack([[x], [x]])).sum(),
    "matrix * number": lambda x: (M * x).sum(),
    "number * matrix": lambda x: (x * M).sum(),
    "array @ matrix": lambda x: (np.stack([x, x]) @ M).sum(),
    "matrix + number": lambda x: (M + x).sum(),
    "number - matrix": lambda x: (x - M).sum(),
    "matrix / number": lambda x: (M / x).sum(),
    "dot": lambda x: np.dot(M, np.stack([x, x])).sum(),
    "multiply": lambda x: np.multiply(M, x).sum(),
    "maximum": lambda x: np.maximum(M, x).sum(),
    "where": lambda x: np.where(M > 1.0, x, M).sum(),
    "view": lambda x: np.stack([x, x]).view(np.matrix).sum(),
    "made": lambda x: np.matrix(np.stack([x, x])).sum(),
    "asmatrix": lambda x: np.asmatrix(np.stack([x, x])).sum(),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("adopt", [True, False])
def test_refusal_of_a_matrix_names_the_line(name, adopt):
    line = MATRICES[name].__code__.co_firstlineno
    with pytest.raises(TypeError, match=rf"{re.escape(__file__.rpartition('/')[2])}:{line}, in <lambda>: .*"):
        ag.grad(MATRICES[name], adopt=adopt)(1.3)


def test_way_out_of_matrices():
    def f(x):
        a = np.asarray(M)
        return (a @ np.stack([[x], [x]])).sum() + (a * x).sum()

    assert ag.grad(f)(1.3) == 20.0


def arrays(x):
    return [np.stack([x, 1.0 * x]), np.stack([2.0 * x, x]), np.stack([x, 3.0 * x])]


MEMBERS = {
    "in a list": lambda x, t, held: t in held,
    "not in": lambda x, t, held: t not in held,
    "in a tuple": lambda x, t, held: t in tuple(held),
    "in a deque": lambda x, t, held: t in collections.deque(held),
    "index": lambda x, t, held: held.index(t),
    "remove": lambda x, t, held: held.remove(t),
    "count": lambda x, t, held: held.count(t),
    "equal lists": lambda x, t, held: held == [1.0 * one for one in held],
    "in values": lambda x, t, held: t in dict(enumerate(held)).values(),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_truth_value_names_the_way_to_find_an_array(name):
    def f(x):
        held = arrays(x)
        MEMBERS[name](x, held[2], held)
        return x

    with pytest.raises(ValueError, match=r"any\(t is other for other in others\)"):
        ag.grad(f)(1.3)


def test_way_to_find_an_array():
    def f(x):
        held = arrays(x)
        t = held[2]
        held = [other for other in held if other is not t] if any(t is other for other in held) else []
        return np.sum(held[0]) + np.sum(held[1])

    assert ag.grad(f)(1.3) == 5.0
