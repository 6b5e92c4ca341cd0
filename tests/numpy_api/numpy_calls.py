"""Calls of NumPy's functions, written out, with the arrays they are made on, for values and derivatives.

Imports numpy. `check` holds one call to NumPy's values on the raw arrays and to central differences of them.
"""

import re

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.inplace import is_scalar

M = np.asarray([[0.31, 0.62, 0.93], [0.24, 0.55, 0.86], [1.17, 0.78, 0.49]])
V = np.asarray([0.7, 0.15, 0.43])
W = np.asarray([0.2, 1.3, 0.65, 0.81])
S = M @ M.T + np.eye(3)
T3 = np.sin(np.arange(24.0)).reshape(2, 3, 4) + 0.1 * np.cos(np.arange(24.0) ** 2).reshape(2, 3, 4)
N = M.copy()
N[0, 1] = N[2, 2] = np.nan
N.flags.writeable = False
C = M + 1j * (M.T - 0.2)
ARRAYS = {"m": M, "v": V, "w": W, "s": S, "t": T3, "n": N, "c": C}
STEP = 1e-6


def params(text):
    """Parameters of a test from lines `names: call`."""
    found = []
    for line in text.strip().splitlines():
        names, _, call = line.strip().partition(": ")
        lacks = [name for name in re.findall(r"np\.(\w+)", call) if not hasattr(np, name)]
        marks = [pytest.mark.skip(reason=f"NumPy {np.__version__} has no {', '.join(lacks)}")] if lacks else []
        found.append(pytest.param(call, names.split(), id=call, marks=marks))
    return found


def evaluate(call, arrays):
    return eval(call, {"np": np, **arrays})


def parts(result):
    """The arrays in a result, in order."""
    if isinstance(result, list | tuple):
        return [part for item in result for part in parts(item)]
    return [result]


def raw(result):
    return result.numpy() if isinstance(result, ag.Tensor) else np.asarray(result)


def check_values(call, names):
    """The call on Tensors has NumPy's values, shapes and dtypes; returns the Tensors and the parts of the result."""
    arrays = {name: ARRAYS[name].copy() for name in names}
    tensors = {name: ag.tensor(ARRAYS[name], requires_grad=True) for name in names}
    expected, found = parts(evaluate(call, arrays)), parts(evaluate(call, tensors))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert raw(a).shape == np.shape(b)
        assert raw(a).dtype == np.asarray(b).dtype
        if raw(a).dtype.kind in "biufc":
            np.testing.assert_allclose(raw(a), b, rtol=1e-11, atol=1e-12)
        else:
            assert raw(a) == b
        if isinstance(a, ag.Tensor) and a.ndim == 0:
            assert is_scalar(a) == isinstance(b, np.generic), "an in-place operator would act on other names, or not"
    return tensors, found


def total(results, weights):
    """A real number that every part has a part in, each element with a weight of its own."""
    finite = [np.where(np.isfinite(r), r, 0) for r in results]
    return sum(float(np.sum(r.real * w) + np.sum(r.imag * w * 0.7)) for r, w in zip(finite, weights, strict=True))


def check_gradient(call, names, atol=2e-7):
    """The call's derivatives are those of central differences of NumPy's own function."""
    tensors, found = check_values(call, names)
    recorded = [i for i, part in enumerate(found) if isinstance(part, ag.Tensor) and part.requires_grad]
    assert recorded, "nothing in the result is recorded"
    random = np.random.default_rng(7)
    weights = [random.uniform(0.5, 1.5, size=raw(found[i]).shape) for i in recorded]
    value = 0.0
    for i, w in zip(recorded, weights, strict=True):
        part = found[i]
        finite = np.isfinite(raw(part))
        kept = ag.where(finite, part, 0.0)
        value = value + (ag.real(kept) * w).sum()
        if np.iscomplexobj(raw(part)):
            value = value + (ag.imag(kept) * w * 0.7).sum()
    gradients = ag.autograd.grad(value, [tensors[name] for name in names], materialize_grads=True)

    def at(changed, array):
        arrays = {name: ARRAYS[name].copy() for name in names}
        arrays[changed] = array
        results = parts(evaluate(call, arrays))
        return total([np.asarray(results[i]) for i in recorded], weights)

    for name, gradient in zip(names, gradients, strict=True):
        origin = ARRAYS[name]
        expected = np.zeros_like(origin)
        for index in np.ndindex(origin.shape):
            for direction in (1.0, 1j) if np.iscomplexobj(origin) else (1.0,):
                if not np.isfinite(origin[index]):
                    continue
                high, low = origin.copy(), origin.copy()
                high[index] += STEP * direction
                low[index] -= STEP * direction
                expected[index] += direction * (at(name, high) - at(name, low)) / (2 * STEP)
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-6, atol=atol * max(1, np.abs(expected).max()))
