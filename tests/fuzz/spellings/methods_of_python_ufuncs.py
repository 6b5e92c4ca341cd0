"""Methods of ufuncs that numpy.frompyfunc makes of Python's functions, whose arrays hold objects.

The class: `at` (indices of every kind, repeated ones too), `reduce`, `accumulate`, `reduceat`, `outer` and calls; one
to three axes, of both signs, masks, starts; double precision, real and complex.
"""

import numpy as np

import arraygrad as ag

from .spelling import Spelling

FUNCTIONS = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "a * a + b": lambda a, b: a * a + b,
    "a if a.real > b.real else b": lambda a, b: a if a.real > b.real else b,
}


def _numbers(rng, shape, complex_):
    found = rng.uniform(0.6, 1.5, size=shape) * rng.choice([-1.0, 1.0], size=shape)
    return np.asarray(found + 1j * rng.uniform(0.2, 0.9, size=shape) if complex_ else found)


def _indices(rng, n):
    """A key of an axis of so many elements, as text and object."""
    kind = str(rng.choice(["number", "list", "array", "slice", "mask", "dots"]))
    if kind == "number":
        return int(rng.integers(-n, n))
    if kind in ("list", "array"):
        found = rng.integers(-n, n, size=rng.integers(0, 5))
        return found if kind == "array" or not found.size else found.tolist()
    if kind == "slice":
        return slice(int(rng.integers(0, n)), None, int(rng.choice([1, 2])))
    return rng.random(n) < 0.5 if kind == "mask" else ...


def _in_one_array(objects, like):
    """The elements of an array of objects, of the recorded dtype; a result without axes is one of them."""
    objects = np.asarray(objects, dtype=object) if isinstance(objects, np.ndarray) else np.array([objects], object)
    return np.stack([np.asarray(one, like.dtype) for one in objects.reshape(-1)]).reshape(objects.shape)


def draw(rng):
    name = str(rng.choice(list(FUNCTIONS)))
    method = str(rng.choice(["at", "at", "reduce", "accumulate", "reduceat", "outer", "call"]))
    complex_ = bool(rng.random() < 0.3)
    shape = tuple(int(n) for n in rng.integers(1, 4, size=rng.integers(1, 4)))
    x = _numbers(rng, shape, complex_)
    axis = int(rng.integers(-x.ndim, x.ndim))
    ufunc, arrays, text = np.frompyfunc(FUNCTIONS[name], 2, 1), (x,), f"axis={axis}"
    if method == "at":
        key = _indices(rng, shape[0])
        rows = np.shape(x[key])
        arrays = (x, _numbers(rng, rows[int(rng.integers(len(rows) + 1)) :], complex_))
        text = repr(key)

        def call(x, b):
            y = x.copy()
            ufunc.at(y, key, b)
            return y

    elif method == "reduce":
        start = _numbers(rng, (), complex_).item()
        where = rng.random(shape) < 0.7 if rng.random() < 0.4 else True
        named = {"axis": axis, "keepdims": bool(rng.integers(2))}
        if where is not True or rng.random() < 0.4:
            named.update(initial=start, where=where)
        text = repr(named)
        call = lambda x: _in_one_array(ufunc.reduce(x, **named), x)
    elif method == "reduceat":
        parts = sorted({0, int(rng.integers(shape[axis]))})
        text = f"{parts}, axis={axis}"
        call = lambda x: _in_one_array(ufunc.reduceat(x, parts, axis=axis), x)
    elif method == "accumulate":
        call = lambda x: _in_one_array(ufunc.accumulate(x, axis=axis), x)
    else:
        other = _numbers(rng, shape[-1:], complex_)
        arrays = (x, other) if rng.random() < 0.5 else (other, x)
        function = ufunc.outer if method == "outer" else ufunc
        call = lambda a, b: _in_one_array(function(a, b), a)
    what = f"np.frompyfunc(lambda a, b: {name}, 2, 1).{method}({', '.join(map(repr, arrays))}, {text})"
    order = 1 if "if" in name else 2
    return Spelling(what, ag.adopt(call), call, arrays, order=order, rtol=1e-6, may_refuse=())
