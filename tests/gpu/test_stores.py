"""Writes of Tensors into arrays of CuPy's that were there before the call: refused, with ways out that are right."""

import types

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu


def write_all(kept, x):
    kept.a[:] = x


def write_part(kept, x):
    kept.a[1] = x[0]


def write_by_an_array(kept, x):
    kept.a[kept.places] = x


# What writes x into an array of two rows, and the derivative by it of the sum of the array's cubes.
STORES = [(write_all, lambda x: 6 * x**2), (write_part, lambda x: [6 * x[0] ** 2, 0]),
          (write_by_an_array, lambda x: 3 * x**2)]  # fmt: skip


@pytest.mark.parametrize(("write", "derivative"), STORES)
def test_a_store_into_an_array_made_before_names_the_ways_out(cupy, write, derivative):
    def kept():
        return types.SimpleNamespace(a=cupy.array([[2.0, 3.0], [4.0, 5.0]]), places=cupy.array([1]))

    def as_it_stands(x):
        write(before, x)
        return cupy.sum(before.a**3)

    def with_a_copy(x):
        before.a = ag.asarray(before.a, copy=True)
        write(before, x)
        return cupy.sum(before.a**3)

    def made_inside(x):
        made = types.SimpleNamespace(a=cupy.array([[2.0, 3.0], [4.0, 5.0]]), places=cupy.array([1]))
        write(made, x)
        return cupy.sum(made.a**3)

    x, before = np.array([0.7, 1.3]), kept()
    with pytest.raises(TypeError, match=r"x = arraygrad\.asarray\(x, copy=True\), or make the array inside"):
        ag.grad(as_it_stands)(cupy.asarray(x))
    for way in (with_a_copy, made_inside):
        before = kept()
        np.testing.assert_allclose(ag.grad(way)(cupy.asarray(x)).get(), derivative(x), rtol=1e-12)
