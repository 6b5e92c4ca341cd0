"""Methods of plain arrays that are given a Tensor: each is right, or refused with what to write, which is right."""

import numpy as np
import pytest

import arraygrad as ag

X = np.arange(12.0).reshape(4, 3) / 7.0
T = np.array([0.3, 0.4, 0.5])

# method -> calls of it with a Tensor: of values, of places, of limits.
CALLS = {
    "all": [lambda X, t: X.all(where=t > 0.35) * t[0]],
    "any": [lambda X, t: X.any(where=t > 0.35) * t[0]],
    "argmax": [lambda X, t: X.argmax(axis=_whole(t)[1]).sum() * t[0]],
    "argpartition": [lambda X, t: X.argpartition(_whole(t)[1]).sum() * t[0]],
    "choose": [lambda X, t: np.array([0, 1, 0]).choose([t, 2.0 * t]).sum()],
    "clip": [
        lambda X, t: (X.clip(t[0], t[2]) ** 2).sum(), lambda X, t: (X.clip(min=t) ** 2).sum(),
        lambda X, t: (X.clip(max=t) ** 2).sum(), lambda X, t: (X.clip(0.2, t) ** 2).sum(),
        lambda X, t: (X.clip(t, np.inf) ** 2).sum(),
    ],
    "compress": [lambda X, t: X.compress(t > 0.35, axis=1).sum() * t[0]],
    "diagonal": [lambda X, t: X.diagonal(_whole(t)[1]).sum() * t[0]],
    "dot": [lambda X, t: (X.dot(t) ** 2).sum(), lambda X, t: X[0].dot(t)],
    "fill": [lambda X, t: _changed(X, lambda Y: Y.fill(t[0]))],
    "item": [lambda X, t: X.item(_whole(t)[1]) * t[0]],
    "max": [lambda X, t: X.max(initial=5.0 * t[0]) ** 2],
    "mean": [lambda X, t: X.mean(where=t > 0.35) * t[0]],
    "min": [lambda X, t: X.min(initial=-t[0]) ** 2],
    "partition": [lambda X, t: _changed(X, lambda Y: Y.partition(_whole(t)[1])) * t[0]],
    "prod": [lambda X, t: X[1:].prod(initial=t[0])],
    "put": [lambda X, t: _changed(X, lambda Y: Y.put([0, 1], t[:2])),
            lambda X, t: _changed(X, lambda Y: Y.put(_whole(t), 2.0)) * t[0]],
    "repeat": [lambda X, t: X.repeat(_whole(t), axis=1).sum() * t[0]],
    "reshape": [lambda X, t: X.reshape(_whole(t)[2] + 4, 2).sum() * t[0]],
    "resize": [lambda X, t: np.array(X).reshape(-1)[: _whole(t)[2] + 1].sum() * t[0]],
    "round": [lambda X, t: X.round(_whole(t)[1]).sum() * t[0]],
    "searchsorted": [lambda X, t: X[0].searchsorted(t).sum() * t[0]],
    "setfield": [lambda X, t: _changed(X, lambda Y: Y.setfield(t[0], np.float64))],
    "std": [lambda X, t: X.std(ddof=t[0])],
    "sum": [lambda X, t: X.sum(initial=t[0]), lambda X, t: X.sum(where=t > 0.35) * t[0]],
    "swapaxes": [lambda X, t: X.swapaxes(_whole(t)[0], _whole(t)[1]).sum() * t[0]],
    "take": [lambda X, t: X.take(_whole(t)).sum() * t[0]],
    "trace": [lambda X, t: X.trace(_whole(t)[1]) * t[0]],
    "var": [lambda X, t: X.var(ddof=t[0])],
    "__setitem__": [lambda X, t: _changed(X, lambda Y: Y.__setitem__(0, t))],
    "__getitem__": [lambda X, t: X.__getitem__(_whole(t)[1]).sum() * t[0]],
    "__matmul__": [lambda X, t: (X @ t).sum()],
    "__pow__": [lambda X, t: (X**t).sum()],
}  # fmt: skip

# What the errors say, followed.
WAYS_OUT = {
    "dot": lambda X, t: (np.dot(X, t) ** 2).sum() + (X @ t).sum(),
    "searchsorted": lambda X, t: np.searchsorted(X[0], t).sum() * t[0],
    "choose": lambda X, t: np.choose(np.array([0, 1, 0]), [t, 2.0 * t]).sum(),
    "put": lambda X, t: _in_copy(X, lambda Y: Y.__setitem__((0, slice(0, 2)), t[:2])),
    "fill": lambda X, t: _in_copy(X, lambda Y: Y.__setitem__(Ellipsis, t[0])),
    "sum": lambda X, t: X.sum() + t[0],
    "prod": lambda X, t: X[1:].prod() * t[0],
    "max": lambda X, t: np.maximum(X.max(), 5.0 * t[0]) ** 2,
    "min": lambda X, t: np.minimum(X.min(), -t[0]) ** 2,
    "var": lambda X, t: ((X - X.mean()) ** 2).sum() / (X.size - t[0]),
    "std": lambda X, t: np.sqrt(((X - X.mean()) ** 2).sum() / (X.size - t[0])),
}


def _whole(t):
    """Places that are computed of what is differentiated: 0, 1, 2."""
    return (0.0 * t + [0.0, 1.0, 2.0]).astype(int)


def _changed(X, change):
    Y = X.copy()
    change(Y)
    return (Y**2).sum()


def _in_copy(X, change):
    Y = ag.asarray(X, copy=True)
    change(Y)
    return (Y**2).sum()


def slopes(call, h=1e-6):
    return [(float(call(X, T + h * d)) - float(call(X, T - h * d))) / (2 * h) for d in np.eye(3)]


def outcome(call, adopt):
    """(gradient, text of the refusal)"""
    try:
        return ag.grad(call, adopt=adopt)(T), ""
    except TypeError as error:
        return None, str(error)


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in CALLS.items() for call in calls])
def test_right_or_refused_with_a_way_out(name, call, adopt):
    found, refusal = outcome(lambda t: call(X, t), adopt)
    if refusal:
        assert f"An array's method {name} takes no Tensor: " in refusal
    else:
        np.testing.assert_allclose(found, slopes(call), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize("name", WAYS_OUT)
def test_ways_out(name, adopt):
    def plain(X, t):
        return WAYS_OUT[name](X, t)

    found = ag.grad(lambda t: plain(X, t), adopt=adopt)(T)
    steps = []
    for d in np.eye(3):
        up, down = (float(np.asarray(plain(X, T + sign * 1e-6 * d))) for sign in (1, -1))
        steps.append((up - down) / 2e-6)
    np.testing.assert_allclose(found, steps, rtol=1e-5, atol=1e-7)
