"""Even functions of norms that are zero in some places: gradients, and second derivatives at the kinks.

The class: a norm of rows, columns, matrices or single numbers, the size of complex numbers, a standard deviation, a
distance, of which some are zero; a smooth even function of it; every axis of both signs, kept or not.
"""

import numpy as np
import scipy.spatial.distance as theirs

import arraygrad.scipy.spatial.distance as ours

from .spelling import Spelling

EVEN = {
    "n ** 2": lambda n: n**2,
    "n * n": lambda n: n * n,
    "np.square(n)": np.square,
    "n ** 3": lambda n: n**3,
    "np.exp(-n * n)": lambda n: np.exp(-n * n),
    "(1 + n) * np.exp(-n)": lambda n: (1.0 + n) * np.exp(-n),
    "np.sqrt(1 + n ** 2)": lambda n: np.sqrt(1.0 + n**2),
    "np.cos(n)": np.cos,
}


def draw(rng):
    name = str(rng.choice(list(EVEN)))
    even = EVEN[name]
    shape = tuple(int(n) for n in rng.choice([1, 2, 3], size=rng.integers(1, 4)))
    x = rng.normal(size=shape)
    if rng.random() < 0.2:
        x = x.astype(np.float32)
    axis = int(rng.integers(-x.ndim, x.ndim))
    keepdims = bool(rng.integers(2))
    lost = rng.random(shape) < rng.choice([0.3, 1.0])
    kind = str(rng.choice(["norm", "all", "matrix", "hypot", "abs", "complex", "std", "cdist"]))
    if kind in ("norm", "std"):
        rows = np.all(lost, axis=axis, keepdims=True) | (rng.random() < 0.5)
        x = np.where(rows, x.dtype.type(0.25 if kind == "std" else 0.0), x)
    elif kind in ("all", "matrix"):
        x = np.zeros_like(x)
    else:
        x = np.where(lost, x.dtype.type(0), x)
    arrays = (x,)
    text = f"axis={axis}, keepdims={keepdims}"
    if kind == "norm":
        calls = (lambda x: even(np.linalg.norm(x, axis=axis, keepdims=keepdims)),) * 2
    elif kind == "all":
        calls = (lambda x: even(np.linalg.norm(x, keepdims=keepdims)),) * 2
    elif kind == "matrix":
        x = arrays[0].reshape(-1, 1, shape[-1])
        arrays = (x,)
        calls = (lambda x: even(np.linalg.matrix_norm(x, keepdims=keepdims)),) * 2
    elif kind == "hypot":
        y = np.where(lost, x.dtype.type(0), rng.normal(size=shape).astype(x.dtype))
        if rng.random() < 0.5:  # broadcast over axes in front, and over others
            y = y[(0,) * int(rng.integers(y.ndim + 1))]
            y = y[tuple([slice(0, 1) if rng.random() < 0.3 else slice(None) for _ in range(np.ndim(y))])]
        arrays = (x, np.asarray(y)) if rng.random() < 0.5 else (np.asarray(y), x)
        calls = (lambda x, y: even(np.hypot(x, y)),) * 2
    elif kind == "abs":
        size = (np.abs, np.fabs, lambda x: np.copysign(x, -1.0))[int(rng.integers(3))]
        calls = (lambda x: even(size(x)),) * 2
    elif kind == "complex":
        arrays = (x * (0.6 - 0.8j),)
        calls = (lambda x: even(np.abs(x)),) * 2
    elif kind == "std":
        calls = (lambda x: even(np.std(x, axis=axis, keepdims=keepdims)),) * 2
    else:
        x = np.asarray(x.reshape(-1, shape[-1]), dtype=np.float64)
        arrays = (x, x[rng.permutation(len(x))])
        metric = str(rng.choice(["euclidean", "minkowski"]))
        text = repr(metric)
        calls = tuple(lambda x, y, module=module: even(module.cdist(x, y, metric)) for module in (ours, theirs))
    what = f"n = {kind} of {arrays!r}, {text}; {name}"
    return Spelling(what, *calls, arrays, order=2, rtol=1e-5)
