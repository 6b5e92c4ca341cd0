"""Arrays away from a sample: in any order, with ties, zeros, nan and infinities, in every precision. No class."""

import numpy as np

KINDS = ("normal", "normal", "wide", "unit", "grid", "grid", "zeros", "equal", "one tie", "sorted", "nan", "infinite")
DTYPES = ("f8", "f8", "f8", "f8", "f4", "c16", "c16", "c8", ">f8", "g")


def real(rng, shape, kind):
    """Real numbers of a kind."""
    if kind == "grid":
        return rng.integers(-2, 3, size=shape).astype(float)
    if kind == "equal":
        return np.full(shape, float(rng.choice([0.0, 1.0, -0.75])))
    if kind == "unit":
        return rng.uniform(0.02, 0.98, size=shape)
    values = np.asarray(1.5 * rng.normal(size=shape))
    if kind == "wide":
        values = np.asarray(np.exp(rng.normal(size=shape)))
    flat = values.reshape(-1)
    if not flat.size:
        return values
    if kind == "zeros":
        flat[rng.random(flat.size) < 0.4] = 0.0
    elif kind == "one tie":
        flat[-1] = flat[0]
    elif kind == "sorted":
        flat.sort()
    elif kind == "nan":
        flat[int(rng.integers(flat.size))] = np.nan
    elif kind == "infinite":
        flat[int(rng.integers(flat.size))] = rng.choice([np.inf, -np.inf])
    return values


def array(rng, shape, kind, dtype):
    values = real(rng, shape, kind)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * real(rng, shape, "normal" if kind in ("nan", "infinite", "wide") else kind)
    return np.asarray(values).astype(dtype)
