"""Recorded values that an adopted program stores into arrays of whole numbers: cut off as in a plain call, and told."""

import warnings

import numpy as np
import pytest

import arraygrad as ag

X = np.array([1.7, -2.3, 3.9])
OUTSIDE = np.array([[1, 2], [3, 4]])


class Case:
    """Data of a power-flow case: a table that was written with whole numbers."""

    def __init__(self):
        self.table = np.array([[1, 2, 3], [4, 5, 6]])


def element(x):
    a = np.zeros(3, dtype=int)
    a[0] = x[0]
    return a


def row(x):
    c = Case()
    c.table[1] = x * 2.0
    return c.table


def indices(x):
    c = Case()
    c.table[[0, 1], 1] = x[:2]
    return c.table


def mask(x):
    a = np.arange(3)
    a[x > 0.0] = x[x > 0.0]
    return a


def of_bytes(x):
    a = np.zeros(3, dtype=np.int8)
    a[...] = x
    return a


def copied(x):
    a = OUTSIDE.copy()
    a[0, 0] = x.sum()
    return a


def truths(x):
    a = np.zeros(3, dtype=bool)
    a[1:] = x[1:]
    return a


def in_a_dict(x):
    case = {"gen": np.array([[1, 2], [3, 4]])}
    case["gen"][[0, 1], 1] = x[:2]
    return case["gen"]


def in_nested_containers(x):
    name, k = "gen", 1
    case = {"order": [{name: (None, np.array([1, 2]))}]}
    case["order"][-1][name][k][0] = x[2]
    return case["order"][0]["gen"][1]


def in_a_dict_of_an_attribute(x):
    case = Case()
    case.parts = {2: case.table}
    case.parts[2][0][1:] = x[:2]
    return case.table


STORES = [element, row, indices, mask, of_bytes, copied, truths]
STORES += [in_a_dict, in_nested_containers, in_a_dict_of_an_attribute]


@pytest.mark.parametrize("store", STORES)
def test_value_and_gradient_are_the_plain_ones(store):
    def f(x):
        return store(x).sum() * (x**2).sum()

    with pytest.warns(UserWarning, match=r"test_stores_into_integers\.py:\d+, in .*cuts off its fraction.*constant"):
        value, grad = ag.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(grad, store(X).sum() * 2.0 * X)


@pytest.mark.parametrize("store", STORES)
def test_the_way_out_of_the_warning(store):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ag.grad(lambda x: store(ag.stop_gradient(x)).sum() * x.sum())(X)
    np.testing.assert_array_equal(found, np.full(3, float(store(X).sum())))


@pytest.mark.filterwarnings("ignore:.*cuts off its fraction")
def test_a_result_that_is_cut_off_as_a_whole_is_refused():
    with pytest.raises(TypeError, match=r"left the graph: .*written into an array of dtype int64"):
        ag.grad(lambda x: float(element(x)[0]) * 2.0)(X)


def test_not_where_nothing_is_adopted():
    with pytest.raises(TypeError, match="floating-point dtype"):
        ag.grad(lambda x: element(x)[0] * x[0], adopt=False)(X)


class Table(dict):
    """A container whose items are made when they are asked for."""

    def __getitem__(self, key):
        return self.setdefault(key + 1, np.zeros(2))


def test_what_a_container_of_the_programs_own_holds_is_not_looked_up():
    def f(x):
        table = Table({0: np.array([1, 2])})
        table[0][1] = x[0]
        return table[0].sum()

    np.testing.assert_array_equal(ag.grad(f)(X), [1.0, 0.0, 0.0])
