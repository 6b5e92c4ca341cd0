"""Adjoints of Fourier transforms.

May import: ops._axes, ops._helpers. Everything uses only the standard. The adjoint of a transform is the opposite
transform with the norm mirrored (the factor stays what it was), then cut or filled with zeros to the input's lengths.
"""

import operator

from arraygrad.ops._axes import at_axis, check_axes, from_start, normalize_axes
from arraygrad.ops._helpers import device_of

MIRRORED = {"backward": "forward", "forward": "backward", "ortho": "ortho", None: "forward"}  # None: by NumPy


def shift(xp, name, x, axes):
    """The library's shift of that name. Its axes are checked first: IndexError names the operation and the axis."""
    check_axes(name, axes, x.ndim)
    return getattr(xp.fft, name)(x, axes=axes)


def transform(xp, name, x, n, axis, norm):
    """The library's transform of that name along one axis, which is checked first, as in `shift`."""
    check_axes(name, axis, x.ndim)
    return getattr(xp.fft, name)(x, n=n, axis=axis, norm=norm)


def transform_n(xp, name, x, s, axes, norm):
    """The library's transform of that name over several axes, which are checked first, as in `shift`."""
    check_axes(name, axes, x.ndim)
    if s is not None and axes is None:  # the standard wants axes beside lengths
        axes = tuple(range(x.ndim - len(s), x.ndim))
    return getattr(xp.fft, name)(x, s=s, axes=axes, norm=norm)


def complex_adjoint(xp, opposite, g, shape, axis, norm):
    """Adjoint of fft (opposite: ifft) or ifft (opposite: fft) of an array of `shape`."""
    axis = from_start(axis, g.ndim)
    return fitted(xp, opposite(g, axis=axis, norm=MIRRORED[norm]), shape, (axis,))


def complex_adjoint_n(xp, opposite, g, shape, s, axes, norm):
    """Adjoint of fftn (opposite: ifftn) or ifftn (opposite: fftn) of an array of `shape`."""
    axes = transformed_axes(s, axes, g.ndim)
    return fitted(xp, opposite(g, axes=axes, norm=MIRRORED[norm]), shape, axes)


def rfft_adjoint(xp, g, shape, n, axis, norm):
    """Adjoint of rfft of a real array of `shape`: irfft doubles the inner frequencies, so they are halved first."""
    axis = from_start(axis, g.ndim)
    n = shape[axis] if n is None else operator.index(n)  # an int, of a truth value too
    halved = g * inner_weights(xp, g, n, axis, 0.5)
    return fitted(xp, xp.fft.irfft(halved, n=n, axis=axis, norm=MIRRORED[norm]), shape, (axis,))


def irfft_adjoint(xp, g, shape, axis, norm):
    """Adjoint of irfft from frequencies of `shape`: rfft with the inner frequencies doubled."""
    axis = from_start(axis, g.ndim)
    spectrum = xp.fft.rfft(g, axis=axis, norm=MIRRORED[norm])
    return fitted(xp, spectrum * inner_weights(xp, spectrum, g.shape[axis], axis, 2.0), shape, (axis,))


def rfftn_adjoint(xp, g, shape, s, axes, norm):
    """Adjoint of rfftn: the complex axes first, as irfft along the last ignores what is not Hermitian."""
    axes = transformed_axes(s, axes, g.ndim, half=True)
    last = -1 if s is None else tuple(s)[-1]
    last = shape[axes[-1]] if last == -1 else operator.index(last)  # which NumPy takes for the axis as it is
    if len(axes) > 1:
        g = xp.fft.ifftn(g, axes=axes[:-1], norm=MIRRORED[norm])
    halved = g * inner_weights(xp, g, last, axes[-1], 0.5)
    real = xp.fft.irfft(halved, n=last, axis=axes[-1], norm=MIRRORED[norm])
    return fitted(xp, real, shape, axes)


def irfftn_adjoint(xp, g, shape, s, axes, norm):
    """Adjoint of irfftn from frequencies of `shape`."""
    axes = transformed_axes(s, axes, g.ndim, half=True)
    spectrum = xp.fft.rfftn(g, axes=axes, norm=MIRRORED[norm])
    weighted = spectrum * inner_weights(xp, spectrum, g.shape[axes[-1]], axes[-1], 2.0)
    return fitted(xp, weighted, shape, axes)


def transformed_axes(s, axes, ndim, half=False):
    """The axes of a transform over several: all, or the last len(s), if not given.

    TypeError for axes that are named twice where lengths change, by `s` or to `half` a spectrum: the adjoint is no
    transform of that kind.
    """
    if axes is not None:
        found = normalize_axes(tuple(axes), ndim)
        if (half or s is not None) and len(set(found)) < len(found):
            raise TypeError(
                f"fftn: s={s} with axes={axes}, which are repeated, has no recorded gradient: transform one "
                f"axis at a time, by fft"
            )
        return found
    return tuple(range(ndim)) if s is None else tuple(range(ndim - len(s), ndim))


def inner_weights(xp, spectrum, n, axis, weight):
    """`weight` for the frequencies along `axis` that a half spectrum of length n // 2 + 1 leaves out, one for others.

    Those are all but the first and, for even n, the last. Real, of the spectrum's precision, shaped to broadcast.
    """
    number = n // 2 + 1
    alone = 2 if n % 2 == 0 and number > 1 else 1
    options = {"dtype": xp.real(spectrum).dtype, "device": device_of(spectrum)}
    parts = [xp.ones(1, **options), xp.full((number - alone,), weight, **options), xp.ones(alone - 1, **options)]
    return xp.reshape(xp.concat(parts), (number,) + (1,) * (spectrum.ndim - 1 - axis))


def fitted(xp, a, shape, axes):
    """`a` cut or filled with zeros at the end of each of `axes` to the lengths of `shape`."""
    for axis in axes:
        missing = shape[axis] - a.shape[axis]
        if missing < 0:
            a = a[at_axis(axis, slice(0, shape[axis]))]
        elif missing > 0:
            fill = a.shape[:axis] + (missing,) + a.shape[axis + 1 :]
            a = xp.concat([a, xp.zeros(fill, dtype=a.dtype, device=device_of(a))], axis=axis)
    return a
