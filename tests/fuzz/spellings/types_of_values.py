"""Values that transforms return: of the type, dtype and shape of the plain call, for random compositions.

The class: a chain of operators, NumPy functions, indices and reductions x Python floats, scalars and arrays of both
precisions x transform.
"""

import numpy as np

import arraygrad as ag

from .spelling import Spelling

ANY = {
    "x * 1.5": lambda x: x * 1.5,
    "2.0 - x": lambda x: 2.0 - x,
    "x * x": lambda x: x * x,
    "-x": lambda x: -x,
    "abs(x)": abs,
    "x / 3": lambda x: x / 3,
    "np.sin(x)": np.sin,
    "np.exp(-x)": lambda x: np.exp(-x),
    "np.where(x > 0, x, 0.5 * x)": lambda x: np.where(x > 0, x, 0.5 * x),
    "np.sum(x)": np.sum,
    "np.mean(x)": np.mean,
    "np.max(x)": np.max,
    "np.ravel(x)": np.ravel,
    "np.reshape(x, (-1,))[0]": lambda x: np.reshape(x, (-1,))[0],
    "np.reshape(x, (-1,))[0, ...]": lambda x: np.reshape(x, (-1,))[0, ...],
    "np.expand_dims(x, 0)": lambda x: np.expand_dims(x, 0),
    "np.linalg.norm(np.ravel(x))": lambda x: np.linalg.norm(np.ravel(x)),
    "np.ravel(x) @ np.ravel(x)": lambda x: np.ravel(x) @ np.ravel(x),
    "np.cumsum(x)[-1]": lambda x: np.cumsum(x)[-1],
    "np.hypot(x, 2.0)": lambda x: np.hypot(x, 2.0),
}
TRANSFORMS = {
    "vjp": lambda f, x: ag.vjp(f, x)[0],
    "jvp": lambda f, x: ag.jvp(f, (x,), (x,))[0],
    "linearize": lambda f, x: ag.linearize(f, x)[0],
    "grad's auxiliary data": lambda f, x: ag.grad(lambda x: (np.sum(x), f(x)), has_aux=True)(x)[1],
}
# Operators of Python keep a float where NumPy's function of the same operation makes a scalar; the graph does not tell.
OPERATORS = frozenset(("x * 1.5", "2.0 - x", "x * x", "-x", "abs(x)", "x / 3"))


def draw(rng):
    steps = [str(s) for s in rng.choice(list(ANY), size=rng.integers(1, 5))]
    shape = tuple(int(n) for n in rng.choice([1, 2, 3], size=rng.integers(0, 3)))
    x = np.asarray(rng.uniform(0.5, 2.0, size=shape), dtype=rng.choice(["float64", "float32"]))
    form = str(rng.choice(["array", "scalar", "float"])) if not shape else "array"
    if form == "float":
        x = x.astype(np.float64)
    transform = str(rng.choice(list(TRANSFORMS)))

    def f(x):
        for step in steps:
            x = ANY[step](x)
        return x

    def argument(x):
        return float(x) if form == "float" else x[()] if form == "scalar" else x

    def ours(x):
        given = argument(x.numpy().copy())
        expected, found = f(given), TRANSFORMS[transform](f, given)
        if type(found) is not type(expected):
            raise AssertionError(f"{transform} gives {found!r}, of the plain call {expected!r}")
        if np.shape(found) != np.shape(expected) or np.asarray(found).dtype != np.asarray(expected).dtype:
            raise AssertionError(f"{transform} gives {found!r}, of the plain call {expected!r}")
        return f(x)

    # Differences are taken in double precision: there the plain value has another dtype.
    what = f"{transform} of {' then '.join(steps)} at the {form} {x!r}"
    return Spelling(what, ours, f, (x,), order=1, dtypes=x.dtype == np.float64)
