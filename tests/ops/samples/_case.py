"""What a sample is, and the numbers samples are made of.

May import: numpy. A sample's arrays are float64 or complex128; tests convert them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """One way to call an operation.

    `call(xp, *arrays)` gives an array or a tuple of arrays. `expected`, where given, are the gradients of the sum of
    the results, for kinks and ties where a finite difference means nothing; `second` those of the sum of these
    gradients. `order` is how often the call may be differentiated there; `single` says that it also makes sense in
    single precision, `standard` that the standard allows the call: some libraries, array_api_strict among them, refuse
    what it leaves open.
    """

    label: str
    call: Callable
    arrays: tuple
    expected: tuple | None = None
    second: tuple | None = None
    order: int = 2
    single: bool = True
    standard: bool = True


def case(label: str, call: Callable, *arrays, **options) -> Case:
    """A Case of arrays (or nested lists)."""
    return Case(label, call, tuple(_inexact(a) for a in arrays), **options)


def kink(label: str, call: Callable, arrays, expected, second=None, **options) -> Case:
    """A Case at a kink or tie: `expected`, and `second` where given, hold one gradient for each of `arrays`."""
    expected = tuple(_inexact(e) for e in expected)
    second = None if second is None else tuple(_inexact(e) for e in second)
    return Case(label, call, tuple(_inexact(a) for a in arrays), expected, second, **options)


def _inexact(a):
    a = np.array(a)
    return a if a.dtype.kind in "fc" else a.astype(np.float64)


def real(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Distinct random numbers of `shape`, at least 0.03 of the range apart, in random order."""
    n = int(np.prod(shape))
    rng = np.random.default_rng([seed, n, 7])
    steps = (np.arange(n) + 0.5 + 0.2 * rng.uniform(-1, 1, n)) / max(n, 1)
    return np.reshape(low + (high - low) * rng.permutation(steps), shape)


def away(*shape: int, low: float = 0.3, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Random numbers of both signs whose size is between `low` and `high`."""
    sign = np.random.default_rng([seed, 11]).choice([-1.0, 1.0], size=shape)
    return real(*shape, low=low, high=high, seed=seed) * sign


def cplx(*shape: int, low: float = -1.5, high: float = 1.5, seed: int = 0) -> np.ndarray:
    """Random complex numbers, both parts between `low` and `high`."""
    return real(*shape, low=low, high=high, seed=seed) + 1j * real(*shape, low=low, high=high, seed=seed + 100)


def matrices(*shape: int, seed: int = 0, complex: bool = False) -> np.ndarray:
    """Well-conditioned square matrices (..., n, n): random ones plus a multiple of the identity."""
    a = cplx(*shape, seed=seed) if complex else real(*shape, seed=seed)
    return a + 2.5 * np.eye(shape[-1])


def hermitian(xp, x):
    """x + x^H: the samples of Hermitian functions go through it, so that every perturbation is Hermitian."""
    return x + adjoint(xp, x)


def positive(xp, x):
    """x x^H + 1, Hermitian positive definite, from the square x."""
    return xp.matmul(x, adjoint(xp, x)) + xp.eye(x.shape[-1], dtype=x.dtype)


def adjoint(xp, x):
    """Conjugate transpose."""
    x = xp.matrix_transpose(x)
    return xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x
