"""Spline coefficients of signals and images, smoothing filters of both directions, and peaks.

May import: arraygrad, scipy._declare, scipy.signal, numpy, SciPy.

The filters are linear along each axis: their matrix is SciPy's own result for the unit vectors, so that boundary
conditions and truncated sums are SciPy's.
"""

import numpy as np
from scipy import signal as _signal

import arraygrad as ag
from arraygrad.scipy._axes import back, own
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, shape_of

__all__ = []

UNSER = "linear; Unser et al. (1993)"


def _along(function, x, axis=-1):
    """A linear filter of vectors, given by SciPy's function, along an axis."""
    unit = np.stack([np.asarray(function(row)) for row in np.eye(shape_of(x)[axis])])
    return back(ag.matmul(*own(axis, x), ag.asarray(unit)), axis)


@CHAPTER.by_composition("cspline1d", "signal", UNSER)
def _cspline1d(signal, lamb=0.0):
    return _along(lambda v: _signal.cspline1d(v, lamb), ag.asarray(signal) + 0.0)


@CHAPTER.by_composition("qspline1d", "signal", UNSER)
def _qspline1d(signal, lamb=0.0):
    return _along(lambda v: _signal.qspline1d(v, lamb), ag.asarray(signal) + 0.0)


@CHAPTER.by_composition("symiirorder1", "signal c0", UNSER)
def _symiirorder1(signal, c0, z1, precision=-1.0):
    return _along(lambda v: _signal.symiirorder1(v, 1.0, z1, precision), ag.asarray(signal) + 0.0) * c0


@CHAPTER.by_composition("symiirorder2", "input", UNSER)
def _symiirorder2(input, r, omega, precision=-1.0):
    return _along(lambda v: _signal.symiirorder2(v, r, omega, precision), ag.asarray(input) + 0.0)


def _precision(x, precision):
    if 0.0 <= precision < 1.0:
        return precision
    return 1e-3 if raw(x).dtype in (np.float32, np.complex64) else 1e-6


@CHAPTER.by_composition("cspline2d", "signal", UNSER)
def _cspline2d(signal, lamb=0.0, precision=-1.0):
    x = ag.asarray(signal) + 0.0
    precision = _precision(x, precision)
    pole = -2.0 + np.sqrt(3.0)
    if lamb <= 1.0 / 144.0:
        step = lambda v: _signal.symiirorder1(v, -6.0 * pole, pole, precision)
    else:
        r, omega = _smoothing_pole(lamb)
        step = lambda v: _signal.symiirorder2(v, r, omega, precision)
    return _along(step, _along(step, x), 0)


def _smoothing_pole(lamb):
    try:
        from scipy.signal._spline_filters import compute_root_from_lambda
    except ImportError:
        raise NotDifferentiable("arraygrad.scipy.signal.cspline2d: with this SciPy lamb=0 has derivatives") from None
    return compute_root_from_lambda(lamb)


@CHAPTER.by_composition("qspline2d", "signal", UNSER)
def _qspline2d(signal, lamb=0.0, precision=-1.0):
    x = ag.asarray(signal) + 0.0
    precision = _precision(x, precision)
    pole = -3.0 + 2.0 * np.sqrt(2.0)
    step = lambda v: _signal.symiirorder1(v, -8.0 * pole, pole, precision)
    return _along(step, _along(step, x), 0)


@CHAPTER.by_composition("sepfir2d", "input hrow hcol", "definition")
def _sepfir2d(input, hrow, hcol):
    x = ag.asarray(input)
    for taps, axis in ((hrow, 1), (hcol, 0)):
        taps = ag.asarray(taps)
        half = shape_of(taps)[0] // 2
        padded = np.pad(x, [(half, half) if i == axis else (0, 0) for i in range(2)], mode="symmetric")
        shape = (1, -1) if axis else (-1, 1)
        x = NAMES["fftconvolve"](padded, ag.reshape(taps, shape), mode="valid", axes=axis)
    return x


@CHAPTER.by_composition("spline_filter", "Iin", UNSER)
def _spline_filter(Iin, lmbda=5.0):
    x = ag.asarray(Iin)
    if raw(x).dtype.kind == "c":
        raise NotDifferentiable("arraygrad.scipy.signal.spline_filter: real images have derivatives")
    taps = (np.array([1.0, 4.0, 1.0], dtype=np.float32) / 6.0).astype(float)
    return _sepfir2d(_cspline2d(x, lmbda), taps, taps)


def _cubic(away):
    size = ag.abs(away)
    values = np.asarray(raw(size))
    near = 2.0 / 3.0 - 0.5 * size * size * (2.0 - size)
    return ag.where(values < 1.0, near, ag.where(values < 2.0, (2.0 - size) ** 3 / 6.0, 0.0))


def _quadratic(away):
    size = ag.abs(away)
    values = np.asarray(raw(size))
    return ag.where(values < 0.5, 0.75 - size * size, ag.where(values < 1.5, 0.5 * (size - 1.5) ** 2, 0.0))


def _evaluation(name, basis, reach, count):
    @CHAPTER.by_composition(name, "cj newx dx x0", "definition")
    def formula(cj, newx, dx=1.0, x0=0):
        cj = ag.asarray(cj)
        at = (ag.asarray(newx) - x0) / dx
        n = shape_of(cj)[0]
        for _ in range(int(np.max(np.abs(np.asarray(raw(at))), initial=0.0)) + 2):  # mirrored at both ends
            values = np.asarray(raw(at))
            below, above = values < 0, values > n - 1
            if not (np.any(below) or np.any(above)):
                break
            at = ag.where(below, -at, ag.where(above, 2.0 * (n - 1) - at, at))
        first = np.floor(np.asarray(raw(at)) - reach).astype(int) + 1
        total = 0.0
        for i in range(count):
            place = first + i
            taken = ag.reshape(ag.take(cj, np.clip(place, 0, n - 1).ravel()), place.shape)
            total = total + taken * basis(at - place)
        return total


_evaluation("cspline1d_eval", _cubic, 2.0, 4)
_evaluation("qspline1d_eval", _quadratic, 1.5, 3)

# -- peaks ------------------------------------------------------------------------------------------------------------

SELECTED = "by selection"


def _prominences(x, peaks, left, right):
    bases = ag.maximum(ag.take(x, left), ag.take(x, right))
    return ag.take(x, peaks) - bases


@CHAPTER.by_composition("peak_prominences", "x", SELECTED)
def _peak_prominences(x, peaks, wlen=None):
    _, left, right = _signal.peak_prominences(raw(x), raw(peaks), wlen)
    return _prominences(ag.asarray(x), np.asarray(raw(peaks)), left, right), None, None


def _crossing(x, peaks, ends, height, direction):
    """Where the line between two samples crosses the height, away from each peak."""
    values, level = np.asarray(raw(x)), np.asarray(raw(height))
    places = np.array(peaks, dtype=int)
    for j, end in enumerate(ends):
        while places[j] != end and level[j] < values[places[j]]:
            places[j] += direction
    below = values[places] < level
    low = ag.take(x, places)
    high = ag.take(x, np.where(below, places - direction, places))
    share = (height - low) / ag.where(below, high - low, 1.0)
    return places - direction * ag.where(below, share, 0.0)


def _widths(x, peaks, rel_height, prominences, left, right):
    height = ag.take(x, peaks) - prominences * rel_height
    first, last = _crossing(x, peaks, left, height, -1), _crossing(x, peaks, right, height, 1)
    return last - first, height, first, last


@CHAPTER.by_composition("peak_widths", "x rel_height prominence_data", SELECTED)
def _peak_widths(x, peaks, rel_height=0.5, prominence_data=None, wlen=None):
    x, peaks = ag.asarray(x), np.asarray(raw(peaks))
    if prominence_data is None:
        _, left, right = _signal.peak_prominences(raw(x), peaks, wlen)
        prominence_data = _prominences(x, peaks, left, right), left, right
    prominences, left, right = prominence_data
    return _widths(x, peaks, rel_height, ag.asarray(prominences), np.asarray(left), np.asarray(right))


@CHAPTER.composition("find_peaks", "x", SELECTED + "; which peaks there are is constant")
def _find_peaks(x, height=None, threshold=None, distance=None, prominence=None, width=None, wlen=None, rel_height=0.5,
                plateau_size=None):  # fmt: skip
    x = ag.asarray(x)
    conditions = [raw(c) for c in (height, threshold, distance, prominence, width, wlen, rel_height, plateau_size)]
    peaks, plain = _signal.find_peaks(raw(x), *conditions)
    found = dict(plain)
    taken = ag.take(x, peaks)
    if "peak_heights" in found:
        found["peak_heights"] = taken
    for side, key in ((-1, "left_thresholds"), (1, "right_thresholds")):
        if key in found:
            found[key] = taken - ag.take(x, peaks + side)
    if "prominences" in found:
        found["prominences"] = _prominences(x, peaks, found["left_bases"], found["right_bases"])
    if "widths" in found:
        keys = ("widths", "width_heights", "left_ips", "right_ips")
        data = (found["prominences"], found["left_bases"], found["right_bases"])
        found.update(zip(keys, _widths(x, peaks, rel_height, *data), strict=True))
    for key, value in found.items():
        if value is not plain[key] and raw(value).dtype != plain[key].dtype:
            found[key] = ag.astype(value, plain[key].dtype)  # SciPy measures in double precision
    return peaks, found
