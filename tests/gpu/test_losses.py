"""Softmax cross-entropy as users spell it: values and gradients against the formula, and against NumPy at special rows.

Runs on a device, and on the stand-in by test_device_tests.py. Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

RNG = np.random.default_rng(5)


def one_hot(z, labels):
    """The classes as rows of zeros and a one, in the library and dtype of z."""
    xp = z.__array_namespace__()
    return xp.astype(xp.expand_dims(labels, axis=-1) == xp.arange(z.shape[1]), z.dtype)


SPELLINGS = {
    "rows of log_softmax": lambda z, rows, labels: -(ag.log_softmax(z)[rows, labels]).mean(),
    "one-hot times log_softmax": lambda z, rows, labels: -ag.sum(one_hot(z, labels) * ag.log_softmax(z)) / z.shape[0],
    "one-hot, rows summed": lambda z, rows, labels: -(one_hot(z, labels) * ag.log_softmax(z)).sum(axis=1).mean(),
    "logsumexp": lambda z, rows, labels: ag.mean(ag.logsumexp(z, axis=1) - z[rows, labels]),
    "log of softmax": lambda z, rows, labels: -ag.mean(ag.log(ag.softmax(z, axis=1)[rows, labels])),
    "log_softmax times a number": lambda z, rows, labels: ag.sum(ag.log_softmax(z)[rows, labels]) * (-1.0 / z.shape[0]),
}
SHAPES = [(1, 5), (6, 1), (1, 1), (6, 5), (64, 10), (3, 700), (300, 3)]
LONG = (3, 100_000)


def over(xp, spelling, values, labels):
    """(loss, gradient) over a library."""
    rows = xp.arange(values.shape[0])
    found = ag.value_and_grad(lambda z: SPELLINGS[spelling](z, rows, xp.asarray(labels)))(xp.asarray(values))
    return [np.asarray(a.get() if hasattr(a, "get") else a) for a in found]


def formula(values, labels):
    """The same in double precision, by the definition."""
    z = values.astype(np.float64)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p, rows = e / e.sum(axis=1, keepdims=True), np.arange(len(z))
    gradient = p.copy()
    gradient[rows, labels] -= 1.0
    loss = -(z - z.max(axis=1, keepdims=True) - np.log(e.sum(axis=1, keepdims=True)))[rows, labels].mean()
    return loss, gradient / len(z)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("shape", [*SHAPES, LONG])
def test_loss_and_gradient_are_those_of_the_formula(cupy, shape, spelling, dtype):
    values = (RNG.normal(size=shape) * 3.0).astype(dtype)
    labels = RNG.integers(0, shape[1], shape[0])
    tolerance = {"rtol": 2e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-14}
    for found, expected in zip(over(cupy, spelling, values, labels), formula(values, labels), strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, **tolerance)


SPECIAL = {
    "ties": np.zeros((4, 6)),
    "-inf among them": np.where(np.arange(24).reshape(4, 6) % 5 == 1, -np.inf, 0.5),
    "a row of -inf": np.where(np.arange(4)[:, None] == 2, -np.inf, np.linspace(-1, 1, 6)),
    "one inf": np.where(np.arange(24).reshape(4, 6) == 8, np.inf, 0.25),
    "two of inf": np.where(np.arange(24).reshape(4, 6) // 2 == 4, np.inf, 0.25),
    "nan": np.where(np.arange(24).reshape(4, 6) == 15, np.nan, 0.25),
    "large": np.linspace(-1e30, 1e30, 24).reshape(4, 6),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("kind", SPECIAL)
def test_special_rows_are_as_over_numpy(cupy, switches, kind, spelling, dtype):
    values, labels = SPECIAL[kind].astype(dtype), np.array([1, 2, 0, 5])
    expected = over(np, spelling, values, labels)
    for step in (None, *reversed(switches)):
        if step is not None:
            step(False)
        for found, wanted in zip(over(cupy, spelling, values, labels), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("spelling", list(SPELLINGS)[:5])
def test_no_rows(cupy, spelling):
    for found, wanted in zip(
        *[over(xp, spelling, np.zeros((0, 4)), np.zeros(0, dtype=int)) for xp in (cupy, np)], strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("shape", [(1, 4), (5, 1), (6, 5)])
def test_second_derivatives_are_differences_of_the_gradient(cupy, shape, spelling):
    values, v = RNG.normal(size=shape), RNG.normal(size=shape)
    labels = RNG.integers(0, shape[1], shape[0])
    rows, places = cupy.arange(shape[0]), cupy.asarray(labels)

    def along(z):
        return ag.sum(ag.grad(lambda z: SPELLINGS[spelling](z, rows, places))(z) * cupy.asarray(v))

    step = 1e-5
    ahead, behind = (formula(values + s * v, labels)[1] for s in (step, -step))
    found = ag.grad(along)(cupy.asarray(values)).get()
    np.testing.assert_allclose(found, (ahead - behind) / (2 * step), atol=1e-9)
