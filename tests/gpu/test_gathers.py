"""Indexing by integer arrays, and what adds at such indices: one launch each, with the results of NumPy's.

Runs on a device. Imports the public names of arraygrad.
"""

import importlib

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

X = np.arange(24.0).reshape(4, 3, 2) / 7.0 - 1.0
FIRST, SECOND = np.array([0, -1, 2, 2, 0]), np.array([1, 1, -3, 0, 1])
KEYS = {
    "rows": lambda i, j: i,
    "rows by two axes of indices": lambda i, j: i[:4].reshape(2, 2),
    "pairs": lambda i, j: (i, j),
    "single elements": lambda i, j: (i, j, i % 2),
    "int32": lambda i, j: i.astype("int32"),
    "none": lambda i, j: i[:0],
    "two shapes": lambda i, j: (i[:, None], j),
    "a slice among them": lambda i, j: (i, slice(None), j % 2),
    "with steps": lambda i, j: i[::2],
}
LAUNCHED = ("rows", "rows by two axes of indices", "pairs", "single elements", "int32")


def gradient(xp, x, key, make=lambda a: a):
    """The gradient of a function that takes elements more than once."""
    i, j = xp.asarray(FIRST), xp.asarray(SECOND)

    def f(x):
        taken = make(x)[key(i, j)]
        return ag.sum(taken * taken) + ag.sum(ag.sin(taken))

    return ag.grad(f)(x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", KEYS)
def test_gradients_are_those_over_numpy(cupy, name, dtype):
    x = X.astype(dtype)
    real = (lambda t: t) if dtype[0] == "f" else ag.real
    expected = gradient(np, x, KEYS[name], real)
    found = gradient(cupy, cupy.asarray(x), KEYS[name], real)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.get(), expected, rtol=2e-6 if dtype == "float32" else 1e-12, atol=1e-6)


@pytest.mark.parametrize("name", KEYS)
def test_values_are_those_of_cupys_indexing(cupy, name):
    x, key = cupy.asarray(X), KEYS[name](cupy.asarray(FIRST), cupy.asarray(SECOND))
    assert (ag.asarray(x)[key].array == x[key]).all()


@pytest.mark.parametrize("name", KEYS)
def test_second_derivatives(cupy, name):
    def curvature(xp, x):
        return ag.grad(lambda x: ag.sum(gradient(xp, x, KEYS[name]) ** 2))(x)

    np.testing.assert_allclose(curvature(cupy, cupy.asarray(X)).get(), curvature(np, X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", KEYS)
def test_kernels_serve_what_they_are_made_for_and_decline_the_rest(cupy, name):
    x, key = cupy.asarray(X), KEYS[name](cupy.asarray(FIRST), cupy.asarray(SECOND))
    gathers = importlib.import_module("arraygrad.backends.cupy").BACKEND.gathers
    taken = gathers.taken(x, key)
    assert (taken is not None) == (name in (*LAUNCHED, "none"))
    if taken is not None:
        spread = cupy.broadcast_to(cupy.asarray(2.0), taken.shape)
        added = [gathers.added(g, x.shape, key) for g in (cupy.ones(taken.shape), spread)]
        np.testing.assert_allclose(added[1].get(), 2.0 * added[0].get())


def test_without_prepared_kernels_the_gradients_are_the_same(cupy):
    found = gradient(cupy, cupy.asarray(X), KEYS["pairs"])
    set_prepared = importlib.import_module("arraygrad.backends.cupy").set_prepared
    before = set_prepared(False)
    try:
        plain = gradient(cupy, cupy.asarray(X), KEYS["pairs"])
    finally:
        set_prepared(before)
    np.testing.assert_allclose(found.get(), plain.get(), rtol=1e-15)


def test_a_cross_entropy_of_labels_is_two_launches_and_one_back(cupy):
    host = pytest.importorskip("host_cuda", reason="launches are counted by the emulated device")
    x = ag.asarray(cupy.asarray(X.reshape(8, 3)), requires_grad=True)
    rows, labels = cupy.arange(8), cupy.asarray([0, 2, 1, 1, 0, 2, 2, 0])

    def step():
        x.grad = None
        loss = -ag.mean(ag.log_softmax(x)[rows, labels])
        loss.backward()

    step()
    host.reset_counters()
    step()
    # log_softmax; gather, mean and negative; scatter and the gradient of log_softmax; what it begins with is a constant
    assert host.counters()["launch"] == 3
    over_numpy = ag.grad(lambda x: -np.mean(ag.log_softmax(x)[rows.get(), labels.get()]))(X.reshape(8, 3))
    np.testing.assert_allclose(x.grad.numpy(), over_numpy, rtol=1e-13)


@pytest.mark.parametrize("name", ["take", "roll"])
def test_boolean_indices_and_shifts_count_as_numbers(cupy, name):
    def f(x, xp):
        which = xp.asarray([True, False])
        return np.sum((np.take(x, which, 0) if name == "take" else np.roll(x, which[:1], 0)) ** 2 * xp.asarray([1, 2]))

    expected = ag.grad(lambda x: f(x, np))(X[:2, 0])
    found = ag.grad(lambda x: f(x, cupy))(cupy.asarray(X[:2, 0]))
    np.testing.assert_allclose(found.get(), expected, rtol=1e-13)
    difference = [f(X[:2, 0] + h * np.eye(2), np) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(np.sum(expected * np.eye(2)), (difference[0] - difference[1]) / 2e-6, rtol=1e-6)
