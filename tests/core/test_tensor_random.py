"""Random programs: a plain backward (compiled rules, gradients overwritten and stolen) against the table alone.

The reference is the same run with create_graph=True: every rule from the table, on Tensors, nothing in place.
"""

import random

import numpy as np
import pytest
from tensor_helpers import leaf

import arraygrad as ag
from arraygrad.autograd import grad

SEEDS = range(40)

UNARY = [
    lambda x: -x,
    lambda x: x * 0.5,
    lambda x: 0.5 - x,
    lambda x: x + 1.0,
    lambda x: x / 2.0,
    lambda x: x**2 * 0.1,
    lambda x: x * x * 0.1,
    ag.tanh,
    ag.sin,
    ag.cos,
    lambda x: ag.exp(x * 0.1),
    ag.abs,
    lambda x: ag.sqrt(x * x + 1.0),
    lambda x: ag.reshape(x, (4, 3)).reshape((3, 4)),
    lambda x: ag.permute_dims(ag.permute_dims(x, (1, 0)) * 0.5, (1, 0)),
    lambda x: x + x.sum() * 0.01,
    lambda x: x - x.mean(axis=0),
    lambda x: x * x.sum(axis=1, keepdims=True) * 0.1,
    lambda x: ag.concat([x[1:], x[:1]], axis=0),
    lambda x: ag.broadcast_to(x[:1], (3, 4)) + 0.0,
    lambda x: x @ ag.permute_dims(x, (1, 0)) @ x * 0.02,
    lambda x: ag.where(x > 0.0, x, x * 0.1),
    lambda x: ag.flip(x, axis=1),
    lambda x: +x,
]
BINARY = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y * 0.2,
    lambda x, y: x / (y * y + 1.0),
    ag.maximum,
    ag.minimum,
    lambda x, y: ag.stack([x, y]).sum(axis=0) * 0.5,
    lambda x, y: x + y[0],
    lambda x, y: ag.where(x > y, x, y * 0.5),
    lambda x, y: x * y.sum(axis=0) * 0.1,
]


def written(x, y):
    """x with a row overwritten in place, and y added in place."""
    z = x * 1.0
    z[0] = y[1]
    z += y * 0.5
    return z


def program(seed, dtype, hooks):
    """(leaves, result) of a random program over two leaves; `hooks` is called with every value on the way."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    leaves = [leaf(numbers.normal(size=(3, 4)).astype(dtype)) for _ in range(2)]
    values = list(leaves)
    for _ in range(25):
        recent = values[-5:]
        kind = rng.random()
        if kind < 0.5:
            new = rng.choice(UNARY)(rng.choice(recent))
        elif kind < 0.95:
            new = rng.choice(BINARY)(rng.choice(recent), rng.choice(values))
        else:
            new = written(rng.choice(recent), rng.choice(recent))
        if rng.random() < 0.2:
            hooks(new)
        values.append(new)
    total = values[-1].sum()
    for v in values[-6:-1] + leaves:
        total = total + (v * 0.1).sum()
    return leaves, total


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", SEEDS)
def test_AG6_plain_and_recorded_backward_agree(seed, dtype):
    leaves, total = program(seed, dtype, lambda t: None)
    want = grad(total, leaves, create_graph=True)
    got = grad(total, leaves, retain_graph=True)
    total.backward()
    tolerance = {"rtol": 1e-10, "atol": 1e-10} if dtype is np.float64 else {"rtol": 2e-4, "atol": 2e-4}
    for x, w, g in zip(leaves, want, got, strict=True):
        assert g.dtype == dtype
        np.testing.assert_allclose(g.numpy(), w.numpy(), **tolerance)
        np.testing.assert_array_equal(x.grad.numpy(), g.numpy())


@pytest.mark.parametrize("seed", SEEDS)
def test_AG6_gradients_that_hooks_were_shown_never_change(seed):
    shown = []

    def watch(t):
        t.register_hook(lambda g: shown.append((g, g.numpy().copy())))

    leaves, total = program(seed, np.float64, watch)
    total.backward(retain_graph=True)
    first = [x.grad.numpy().copy() for x in leaves]
    total.backward()
    for g, then in shown:
        np.testing.assert_array_equal(g.numpy(), then)
    for x, once in zip(leaves, first, strict=True):
        np.testing.assert_array_equal(x.grad.numpy(), once + once)


@pytest.mark.parametrize("seed", SEEDS)
def test_AG6_saved_values_never_change(seed):
    # Running a kept graph again must give the same bits: nothing that a node keeps was overwritten.
    leaves, total = program(seed, np.float64, lambda t: None)
    runs = [grad(total, leaves, retain_graph=True) for _ in range(3)]
    for again in runs[1:]:
        for a, b in zip(runs[0], again, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
