"""marray over Tensors: masked arrays whose data are Tensors; masked elements have no gradient.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

marray = pytest.importorskip("marray", reason="marray is not installed (pip install marray)")

VALUES = np.array([0.5, 1.5, -1.0, 2.0])
MASK = np.array([False, True, False, False])

FUNCTIONS = {
    "sum": lambda mx, m: mx.sum(m**2),
    "mean": lambda mx, m: mx.mean(mx.exp(m)),
    "var": lambda mx, m: mx.var(m),
    "prod": lambda mx, m: mx.prod(m),
    "max": lambda mx, m: mx.max(m),
    "sort": lambda mx, m: mx.sort(m),
    "cumulative_sum": lambda mx, m: mx.cumulative_sum(m) * m,
    "arithmetic": lambda mx, m: (m + 1) * 2 / m - m,
    "where": lambda mx, m: mx.where(m > 0, m * m, 0.0),
    "concat": lambda mx, m: mx.concat([m, m * 2]),
    "reshape": lambda mx, m: mx.reshape(m, (2, 2)) ** 2,
    "slice": lambda mx, m: m[1:] ** 3,
    "clip": lambda mx, m: mx.clip(m, 0.0, 1.0) * m,
    "matmul": lambda mx, m: m @ m,
}


@pytest.fixture(scope="module")
def mx():
    return marray.masked_namespace(ag.numpy)


def masked(mx, values):
    return mx.asarray(values, mask=ag.numpy.asarray(MASK))


def filled_sum(f, mx):
    """The sum of what is not masked in f's result, as a function of the data."""

    def total(values):
        result = f(mx, masked(mx, values))
        return ag.sum(ag.where(result.mask, 0.0, result.data))

    return total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_of_masked_data(mx, name):
    total = filled_sum(FUNCTIONS[name], mx)
    x = ag.tensor(VALUES, requires_grad=True)
    assert ag.gradcheck(total, (x,))
    (g,) = ag.autograd.grad(total(x), x)
    assert g[1].item() == 0.0
    assert g.numpy()[~MASK].any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_over_numpy(mx, name):
    plain = marray.masked_namespace(np)
    f = FUNCTIONS[name]
    result, expected = f(mx, masked(mx, ag.asarray(VALUES))), f(plain, plain.asarray(VALUES, mask=MASK))
    np.testing.assert_array_equal(result.mask.numpy(), expected.mask)
    keep = ~np.asarray(expected.mask)
    np.testing.assert_allclose(result.data.numpy()[keep], np.asarray(expected.data)[keep])


def test_data_stay_attached(mx):
    x = ag.tensor(VALUES, requires_grad=True)
    m = masked(mx, x)
    assert isinstance(m.data, ag.Tensor)
    assert m.data.requires_grad


def test_assignment_is_recorded(mx):
    x = ag.tensor(VALUES, requires_grad=True)
    m = masked(mx, x) * 1.0
    m[0] = m[3] * 2.0
    mx.sum(m).data.backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 3.0]


def test_transforms_give_raw_gradients(mx):
    found = ag.grad(lambda v: mx.mean(masked(mx, v) ** 2).data)(VALUES)
    np.testing.assert_allclose(found, np.where(MASK, 0.0, 2 * VALUES / 3))
