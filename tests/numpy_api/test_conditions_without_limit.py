"""Condition numbers that are not finite: NumPy's values of them, and the slopes of the other matrices of a stack.

The class: norms x dtypes x singular matrices and matrices with infinite elements or nan, alone and in a stack. NumPy
raises for none of them, whatever its inverses and singular values do (those of 2.5 raise).
"""

import numpy as np
import pytest

import arraygrad as ag

REGULAR = np.array([[1.2, -0.7, 0.5], [0.4, 2.1, -0.9], [-1.1, 0.6, 0.8]])
NORMS = [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"]


def with_one(value):
    matrix = REGULAR.copy()
    matrix[0, 1] = value
    return matrix


WITHOUT = {
    "inf": with_one(np.inf),
    "-inf": with_one(-np.inf),
    "nan": with_one(np.nan),
    "singular": np.ones((3, 3)),
    "zero": np.zeros((3, 3)),
}


def plain(x, p):
    with np.errstate(all="ignore"):
        return np.linalg.cond(x, p)


def numbers_or_skip(x, p):
    try:
        return plain(x, p)
    except np.linalg.LinAlgError as error:
        pytest.skip(f"NumPy: {error}")


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
@pytest.mark.parametrize("p", NORMS, ids=str)
@pytest.mark.parametrize("kind", WITHOUT)
def test_alone(kind, p, dtype):
    x = WITHOUT[kind].astype(dtype)
    expected = numbers_or_skip(x, p)
    t = ag.tensor(x, requires_grad=True)
    with np.errstate(all="ignore"):
        found = np.linalg.cond(t, p)
        found.backward()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    assert np.isfinite(expected) or not np.isfinite(t.grad.numpy()).all()


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
@pytest.mark.parametrize("p", NORMS, ids=str)
@pytest.mark.parametrize("kind", WITHOUT)
@pytest.mark.parametrize("place", [0, 1])
def test_in_a_stack(kind, p, dtype, place):
    x = np.stack([REGULAR, REGULAR])
    x[place] = WITHOUT[kind]
    x = x.astype(dtype)
    expected = numbers_or_skip(x, p)
    t = ag.tensor(x, requires_grad=True)
    with np.errstate(all="ignore"):
        found = np.linalg.cond(t, p)
        found.sum().backward()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    direction = np.cos(np.arange(9.0) ** 2).reshape(3, 3)
    step = 1e-6
    slope = (plain(REGULAR + step * direction, p) - plain(REGULAR - step * direction, p)) / (2 * step)
    gradient = t.grad.numpy()
    np.testing.assert_allclose((gradient[1 - place] * direction).sum(), slope, rtol=1e-6 if dtype in "f8 c16" else 1e-3)
    assert np.isfinite(expected[place]) or not np.isfinite(gradient[place]).all()
