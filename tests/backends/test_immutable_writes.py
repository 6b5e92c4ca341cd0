"""Writes into Tensors over libraries whose arrays never change (JAX) or must not (dask): new arrays, same graph.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest
from libraries import leaf, numpy_of, raw, require

import arraygrad as ag

LIBRARIES = ["jax", "dask"]
A = [[1.0, 2.0], [3.0, 4.0]]


@pytest.fixture(params=LIBRARIES)
def library(request):
    require(request.param)
    return request.param


def test_write_leaves_the_raw_array_as_it_was(library):
    array = raw(library, A)
    t = ag.asarray(array)
    t[0, :] = 7.0
    np.testing.assert_array_equal(numpy_of(array), A)
    np.testing.assert_array_equal(numpy_of(t), [[7.0, 7.0], [3.0, 4.0]])


def test_write_is_recorded(library):
    x = leaf(library, A)
    y = x * 1.0
    y[0, :] = y[1, :] * 2.0
    ag.sum(y**2).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [[0.0, 0.0], [30.0, 40.0]])


def test_in_place_operator_is_recorded(library):
    x = leaf(library, A)
    y = x * 1.0
    y *= x
    ag.sum(y).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [[2.0, 4.0], [6.0, 8.0]])


def test_write_into_a_part_reaches_the_whole(library):
    x = leaf(library, A)
    y = x * 1.0
    y[0][1:] = x[1, 1] * 2.0
    np.testing.assert_array_equal(numpy_of(y), [[1.0, 8.0], [3.0, 4.0]])
    ag.sum(y**2).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [[2.0, 0.0], [6.0, 2 * 8.0 * 2 + 8.0]])


def test_in_place_operator_on_a_part_gives_it_an_array_of_its_own(library):
    x = leaf(library, A)
    row = x[0]
    row += 10.0
    row[0] = 0.0
    np.testing.assert_array_equal(numpy_of(x), A)
    np.testing.assert_array_equal(numpy_of(row), [0.0, 12.0])
    ag.sum(row * row).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [[0.0, 24.0], [0.0, 0.0]])


def test_in_place_operator_on_an_item_reaches_the_whole(library):
    x = leaf(library, A)
    y = x * 1.0
    y[0] += 10.0
    np.testing.assert_array_equal(numpy_of(y), [[11.0, 12.0], [3.0, 4.0]])
    ag.sum(y * y).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), 2 * numpy_of(y))


def test_what_a_node_saved_is_not_changed_by_a_later_write(library):
    x = leaf(library, A)
    y = x * 1.0
    z = ag.sum(y * y)
    y[0, :] = 0.0
    z.backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [[2.0, 4.0], [6.0, 8.0]])


def test_leaf_that_requires_grad_is_not_written(library):
    x = leaf(library, A)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x[0, 0] = 1.0
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0][0] = 1.0
    np.testing.assert_array_equal(numpy_of(x), A)


def test_a_part_is_a_value_of_its_own(library):
    x = leaf(library, A)
    y = x * 1.0
    row = y[0]
    row.detach()
    row += 1.0
    y[0, :] = 0.0
    np.testing.assert_array_equal(numpy_of(row), [2.0, 3.0])
    ag.sum(row * row).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [[4.0, 6.0], [0.0, 0.0]])


def test_gradients_accumulate_without_changing_the_first(library):
    x = leaf(library, A)
    ag.sum(x * 2.0).backward()
    first = x.grad.array
    ag.sum(x * 3.0).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), np.full((2, 2), 5.0))
    np.testing.assert_array_equal(numpy_of(first), np.full((2, 2), 2.0))
