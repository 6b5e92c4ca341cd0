"""What a call of NumPy's function on plain arrays gives, so that a compiled one can be held to it bit by bit.

May import: numpy.
"""

import warnings

import numpy as np

LAYOUTS = {
    "row-major": lambda a: a,
    "column-major": lambda a: np.asfortranarray(a),
    "with gaps": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1] if a.ndim else a,
}


def outcome(function, *args, **kwargs):
    """(dtype, shape, strides, bytes, writeable, warnings) of a result, or (class and text of the error, warnings)."""
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            return type(error), str(error), said(seen)
    return *described(result), said(seen)


def said(seen):
    return [(w.category, str(w.message)) for w in seen]


def described(result):
    if isinstance(result, tuple):
        return tuple(described(item) for item in result)
    if not isinstance(result, np.ndarray):
        return type(result), np.asarray(result).tobytes()
    # Of an axis of one place, and of no elements, a step says nothing.
    strides = [step for step, n in zip(result.strides, result.shape, strict=True) if n > 1 and result.size]
    return result.dtype, result.shape, strides, result.tobytes(), result.flags.writeable
