"""Filters and transformations that call a function of the program's: it is given Tensors, and what it does is recorded.

May import: arraygrad, scipy._declare, scipy.ndimage, numpy.
"""

import numpy as np

import arraygrad as ag
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.ndimage._chapter import CHAPTER, NAMES, axes_of, shape_of
from arraygrad.scipy.ndimage._filters import windows_of

__all__ = []


def _floating(name, input):
    a = ag.asarray(input)
    if raw(a).dtype.kind not in "fc":
        raise NotDifferentiable(f"arraygrad.scipy.ndimage.{name}: images of floats have derivatives")
    return a


def _given(found, output):
    """The result as `output` says: in that array, or of that dtype."""
    if output is None:
        return found
    if isinstance(output, (ag.Tensor, np.ndarray)):
        output[...] = found
        return output
    return ag.asarray(found).astype(np.dtype(output))


@CHAPTER.composition("generic_filter", "input closure", "the function itself")
def _generic_filter(input, function, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0,
                    extra_arguments=(), extra_keywords=None, *, axes=None):  # fmt: skip
    a = _floating("generic_filter", input)
    windows = windows_of(a, size, footprint, mode, cval, origin, axes)
    rows = ag.reshape(windows, (-1, shape_of(windows)[-1]))
    further = extra_keywords or {}
    found = [ag.asarray(function(rows[i], *extra_arguments, **further)) for i in range(shape_of(rows)[0])]
    return _given(ag.reshape(ag.stack([ag.reshape(one, ()) for one in found]), shape_of(a)), output)


@CHAPTER.composition("vectorized_filter", "input closure", "the function itself")
def _vectorized_filter(input, function, *, size=None, footprint=None, output=None, mode="reflect", cval=None,
                       origin=None, axes=None, batch_memory=None):  # fmt: skip
    a = _floating("vectorized_filter", input)
    if mode == "valid":
        raise NotDifferentiable("arraygrad.scipy.ndimage.vectorized_filter: mode='valid' has no rule")
    origin, cval = 0 if origin is None else origin, 0.0 if cval is None else cval
    windows = windows_of(a, size, footprint, mode, cval, origin, axes)
    if footprint is not None:
        return _given(function(windows, axis=-1), output)
    count = len(axes_of(axes, a.ndim))
    sizes = tuple(int(n) for n in np.broadcast_to(size, count))
    windows = ag.reshape(windows, (*shape_of(a), *sizes))
    return _given(function(windows, axis=tuple(range(-count, 0)) if count > 1 else -1), output)


@CHAPTER.composition("geometric_transform", "input closure", "Unser et al. (1993)")
def _geometric_transform(input, mapping, output_shape=None, output=None, order=3, mode="constant", cval=0.0,
                         prefilter=True, extra_arguments=(), extra_keywords=None):  # fmt: skip
    a = _floating("geometric_transform", input)
    shape = shape_of(a) if output_shape is None else tuple(output_shape)
    further = extra_keywords or {}
    places = [mapping(at, *extra_arguments, **further) for at in np.ndindex(*shape)]
    rows = ag.stack([ag.stack([ag.astype(ag.asarray(c), ag.float64) for c in place]) for place in places], axis=1)
    coordinates = ag.reshape(rows, (a.ndim, *shape))
    found = NAMES["map_coordinates"](a, coordinates, order=order, mode=mode, cval=cval, prefilter=prefilter)
    return _given(found, output)
