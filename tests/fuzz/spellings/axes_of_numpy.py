"""NumPy's functions of one array along an axis: axes of both signs, axes of length one and none, both precisions."""

import numpy as np

from .spelling import Spelling

FUNCTIONS = ("sum", "mean", "max", "cumsum", "diff", "sort", "median")


def draw(rng):
    shape = tuple(int(n) for n in rng.choice([1, 2, 3], size=rng.integers(1, 4)))
    x = rng.normal(size=shape).astype(rng.choice(["float64", "float32"]))
    name = str(rng.choice(FUNCTIONS))
    axis = int(rng.integers(-x.ndim, x.ndim))

    def call(x):
        return getattr(np, name)(x, axis=axis)

    return Spelling(f"np.{name}({x!r}, axis={axis})", call, call, (x,), order=2)
