"""A loop over a Tensor takes each item when it is asked for, as over NumPy's arrays: it sees what it writes ahead.

The class: ways to iterate (for, enumerate, zip, map, iter and next, generators, reversed, .flat, pairwise) x vectors,
matrices and transposed ones x writes ahead of the loop. Value and gradient are those of the plain call.
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.8, 0.5, 0.6, -0.3])


def enumerated(y):
    for i, v in enumerate(y):
        if i + 1 < len(y):
            y[i + 1] += 0.5 * v
    return (y**2).sum()


def zipped(y):
    total = 0.0
    for i, (a, b) in enumerate(zip(y, y[1:], strict=False)):  # noqa: RUF007
        y[i + 1] = a * b
        total = total + np.sum(a * b)
    return total


def nexts(y):
    items = iter(y)
    first = next(items)
    y[1] = first * 3.0
    return np.sum(next(items) * first) + np.sum(next(items))


def mapped(y):
    total = 0.0
    for i, v in enumerate(map(np.sin, y)):
        if i + 1 < len(y):
            y[i + 1] = v * 2.0
        total = total + np.sum(v)
    return total


def generated(y):
    total = 0.0
    for i, v in enumerate(2.0 * v for v in y):
        if i + 1 < len(y):
            y[i + 1] = y[i + 1] * v
        total = total + np.sum(v)
    return total


def backwards(y):
    total = 0.0
    for i, v in enumerate(reversed(y)):
        if i + 1 < len(y):
            y[len(y) - 2 - i] += v * v
        total = total + np.sum(v)
    return total


def pairs(y):
    total = 0.0
    for i, (a, b) in enumerate(itertools.pairwise(y)):
        total = total + np.sum(a * b)
        if i + 2 < len(y):
            y[i + 2] = y[i + 2] + a
    return total


def flat(y):
    total, n = 0.0, 0
    for v in y.flat:
        n += 1
        total = total + v * v
        if n < y.size:
            y.flat[n] = v * 1.5 + y.flat[n]
    return total


LOOPS = (enumerated, zipped, nexts, mapped, generated, backwards, pairs, flat)
ARRAYS = {
    "vector": lambda x: x * 1.0,
    "matrix": lambda x: np.reshape(x * 1.0, (4, 1)) * np.array([1.0, 2.0]),
    "transposed": lambda x: (np.reshape(x * 1.0, (1, 4)) * np.array([[1.0], [2.0]])).T,
    "filled": lambda x: _filled(x),
    "view": lambda x: np.concatenate([x, x])[::2] * 1.0,
}


def _filled(x):
    y = np.zeros(4)
    y[:] = x
    return y


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_sees_what_it_writes_ahead(loop, array):
    def function(x):
        return loop(ARRAYS[array](x))

    value, found = ag.value_and_grad(function)(X)
    assert value == pytest.approx(function(X), rel=1e-14)
    step = 1e-6
    expected = [(function(X + d) - function(X - d)) / (2.0 * step) for d in step * np.eye(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_step_by_step():
    x = ag.tensor(X, requires_grad=True)
    enumerated(x * 1.0).backward()
    np.testing.assert_allclose(x.grad.numpy(), [3.08125, 2.9625, 2.325, 0.45])


def test_what_an_iterator_is():
    t = ag.tensor(X)
    items = iter(t)
    assert iter(items) is items
    assert [float(v) for v in items] == X.tolist()
    assert list(items) == []
    assert items.__length_hint__() == 0
    first, *rest = t
    assert float(first) == 0.8
    assert len(rest) == 3
    with pytest.raises(TypeError, match="0-d"):
        iter(ag.tensor(1.0))
