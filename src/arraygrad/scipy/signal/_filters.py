"""Recursive filters: in the signal, the coefficients and the initial conditions.

May import: arraygrad, scipy._conjugates, scipy._declare, scipy.signal._chapter, numpy, SciPy.

With a0 = 1 the result solves sum_k a_k y[n-k] = sum_k b_k x[n-k] + zi[n]. The adjoint of that triangular system is the
same recursion run backwards: w = lfilter(1, a, g reversed) reversed. Then x gets the correlation of w with b, b_k gets
sum_n w[n] x[n-k], a_k gets -sum_n w[n] y[n-k], and zi[n] gets w[n] (Giles 2008 for a triangular system; Yu and Fazekas
2024 for the filter).
"""

import itertools

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import REGISTRY, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, is_complex, shape_of

__all__ = []

SOURCE = "the triangular system of the recursion (Giles 2008)"


def _run(b, a, x, zi):
    """y along the last axis, for a[0] = 1."""
    if zi is None:
        return signal.lfilter(b, a, x)
    shape = (*np.broadcast_shapes(x.shape[:-1], zi.shape[:-1]), zi.shape[-1])
    need = max(len(a), len(b)) - 1
    return signal.lfilter(b, a, x, zi=np.broadcast_to(zi, shape)[..., :need])[0]


def _lagged(w, x, taps):
    """sum_n w[n] conj(x[n-k]) for every tap k, over all signals."""
    n = shape_of(x)[-1]
    found = []
    for k in range(taps):
        if k < n:
            found.append(ag.sum(w[..., k:] * conj(x[..., : n - k])))
        else:
            found.append(ag.asarray(np.zeros(())))
    return ag.stack(found)


@ruled("signal._recursion", _run, "b a x zi", SOURCE)
def _recursion(g, ans, b, a, x, zi, needs):
    one = np.ones(1)
    a, b, x = ag.asarray(a), ag.asarray(b), ag.asarray(x)
    w = ag.flip(_recursion(one, conj(a), ag.flip(g, axis=-1), None), axis=-1)
    found = {
        "x": lambda: ag.flip(_recursion(conj(b), one, ag.flip(w, axis=-1), None), axis=-1),
        "b": lambda: _lagged(w, x, shape_of(b)[0]),
        "a": lambda: -_lagged(w, ans, shape_of(a)[0]),
    }
    if zi is not None:
        n, order = shape_of(x)[-1], shape_of(zi)[-1]
        found["zi"] = w[..., :order] if n >= order else ag.pad(w, (*[(0, 0)] * (w.ndim - 1), (0, order - n)))
    return found


REGISTRY.pop("signal._recursion")  # no function of SciPy's


def _normalized(b, a):
    """b and a as vectors, divided by a[0]."""
    b, a = (ag.reshape(ag.asarray(c), (-1,)) for c in (b, a))
    b, a = (c if raw(c).dtype.kind in "fc" else ag.astype(c, ag.float64) for c in (b, a))
    first = a[0]
    a_rest = a[1:] / first
    return b / first, ag.concat([ag.asarray(np.ones(1, dtype=raw(a_rest).dtype)), a_rest])


def _final(b, a, x, y, zi):
    """The conditions that the recursion ends with: what the past puts into the equations that follow."""
    n, order = shape_of(x)[-1], max(shape_of(a)[0], shape_of(b)[0]) - 1
    found = []
    for k in range(order):
        total = ag.zeros_like(y[..., 0]) if n else 0.0
        for j in range(k + 1, order + 1):
            place = n + k - j
            if place >= 0:
                if j < shape_of(b)[0]:
                    total = total + b[j] * x[..., place]
                if j < shape_of(a)[0]:
                    total = total - a[j] * y[..., place]
        if n + k < order:
            total = total + zi[..., n + k]
        found.append(total)
    return ag.stack(found, axis=-1)


@CHAPTER.by_composition("lfilter", "b a x zi", SOURCE, core="x(n),zi(k)->(n),(k)")
def _lfilter(b, a, x, zi=None):
    b, a = _normalized(b, a)
    y = _recursion(b, a, x, zi)
    return y if zi is None else (y, _final(b, a, x, y, zi))


@CHAPTER.by_composition("lfilter_zi", "b a", "Gustafsson (1996)")
def _lfilter_zi(b, a):
    b, a = _normalized(b, a)
    order = max(shape_of(a)[0], shape_of(b)[0])
    b, a = (ag.pad(c, ((0, order - shape_of(c)[0]),)) for c in (b, a))
    step = b[1:] - a[1:] * b[0]
    first = ag.sum(step) / (1.0 + ag.sum(a[1:]))
    before_a = ag.concat([a[:1], a[:1] + ag.cumulative_sum(a[1:])[:-1]]) if order > 1 else a[:0]
    before_b = ag.concat([ag.zeros_like(b[:1]), ag.cumulative_sum(step)[:-1]]) if order > 1 else b[:0]
    return before_a * first - before_b


@CHAPTER.by_composition("lfiltic", "b a y x", "definition")
def _lfiltic(b, a, y, x=None):
    b, a = _normalized(b, a)
    order = max(shape_of(a)[0], shape_of(b)[0]) - 1
    y = ag.asarray(y)
    x = ag.asarray(np.zeros(order) if x is None else x)
    found = []
    for k in range(order):
        total = 0.0 * ag.sum(b) + 0.0 * ag.sum(a)
        for j in range(k + 1, order + 1):
            place = j - k - 1
            if j < shape_of(b)[0] and place < shape_of(x)[0]:
                total = total + b[j] * x[place]
            if j < shape_of(a)[0] and place < shape_of(y)[0]:
                total = total - a[j] * y[place]
        found.append(total)
    return ag.stack(found)


# -- forwards and backwards -------------------------------------------------------------------------------------------


def _extended(x, padtype, length):
    """x with `length` elements more at both ends of the last axis."""
    if not length or padtype is None:
        return x
    first, last = x[..., :1], x[..., -1:]
    left, right = ag.flip(x[..., 1 : length + 1], axis=-1), ag.flip(x[..., -length - 1 : -1], axis=-1)
    if padtype == "odd":
        left, right = 2.0 * first - left, 2.0 * last - right
    elif padtype == "constant":
        left, right = first + 0.0 * raw(left), last + 0.0 * raw(right)
    return ag.concat([left, x, right], axis=-1)


def _both_ways(x, padtype, length, run):
    """`run(x, first)` forwards and backwards over the extended signal."""
    extended = _extended(x, padtype, length)
    forward = run(extended, extended[..., :1])
    backward = run(ag.flip(forward, axis=-1), forward[..., -1:])
    found = ag.flip(backward, axis=-1)
    return found[..., length : shape_of(found)[-1] - length] if length else found


@CHAPTER.by_composition("filtfilt", "b a x", SOURCE, core="x(n)->(n)")
def _filtfilt(b, a, x, padtype="odd", padlen=None, method="pad"):
    if method != "pad":
        raise NotDifferentiable("arraygrad.scipy.signal.filtfilt: the derivative is known for method='pad'")
    b, a = _normalized(b, a)
    taps = max(shape_of(a)[0], shape_of(b)[0])
    length = 0 if padtype is None else 3 * taps if padlen is None else padlen
    zi = _lfilter_zi(b, a)
    return _both_ways(x, padtype, length,
                      lambda x, first: _recursion(b, a, x, zi * first) if taps > 1 else b[0] * x)  # fmt: skip


def _sections(sos):
    sos = ag.asarray(sos)
    return [_normalized(sos[i, :3], sos[i, 3:]) for i in range(shape_of(sos)[0])]


@CHAPTER.by_composition("sosfilt", "sos x zi", SOURCE, core="x(n),zi(2)->(n),(2)")
def _sosfilt(sos, x, zi=None):
    ends = []
    for i, (b, a) in enumerate(_sections(sos)):
        y = _recursion(b, a, x, None if zi is None else zi[i])
        if zi is not None:
            ends.append(_final(b, a, x, y, zi[i]))
        x = y
    return x if zi is None else (x, ag.stack(ends))


@CHAPTER.by_composition("sosfilt_zi", "sos", "Gustafsson (1996)")
def _sosfilt_zi(sos):
    scale, found = 1.0, []
    for b, a in _sections(sos):
        found.append(scale * _lfilter_zi(b, a))
        scale = scale * ag.sum(b) / ag.sum(a)
    return ag.stack(found)


@CHAPTER.by_composition("sosfiltfilt", "sos x", SOURCE, core="x(n)->(n)")
def _sosfiltfilt(sos, x, padtype="odd", padlen=None):
    coefficients = np.asarray(raw(sos))
    taps = 2 * coefficients.shape[0] + 1
    taps -= min(int(np.sum(coefficients[:, 2] == 0)), int(np.sum(coefficients[:, 5] == 0)))
    length = 0 if padtype is None else 3 * taps if padlen is None else padlen
    zi = _sosfilt_zi(sos)

    def run(x, first):
        for i, (b, a) in enumerate(_sections(sos)):
            x = _recursion(b, a, x, zi[i] * first)
        return x

    return _both_ways(x, padtype, length, run)


# -- smoothing and trends ---------------------------------------------------------------------------------------------

_EDGES = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}


@CHAPTER.by_composition("savgol_filter", "x", "Savitzky and Golay (1964)", core="x(n)->(n)")
def _savgol(x, window_length, polyorder, deriv=0, delta=1.0, mode="interp", cval=0.0):
    if is_complex(x):
        x = ag.real(x)  # SciPy filters the real part alone, with a warning
    half = window_length // 2
    before = (window_length - 1) // 2  # of an even window one element less lies before the place than after it
    weights = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    if mode != "interp":
        further = {"constant_values": cval} if mode == "constant" else {}
        width = [(0, 0)] * (x.ndim - 1) + [(before, half)]
        x = np.pad(x, width, mode=_EDGES[mode], **further)
    shape = (1,) * (x.ndim - 1) + (-1,)
    inner = NAMES["fftconvolve"](x, weights.reshape(shape), mode="valid", axes=-1)
    if mode == "interp":
        # At the edges the polynomial of the outermost window is evaluated: a small linear map of that window.
        unit = signal.savgol_filter(np.eye(window_length), window_length, polyorder, deriv, delta, axis=0)
        left = ag.matmul(x[..., None, :window_length], unit[:half].T)[..., 0, :]
        right = ag.matmul(x[..., None, -window_length:], unit[window_length - half :].T)[..., 0, :]
        inner = ag.concat([left, inner[..., half - before :], right], axis=-1)
    return inner


@CHAPTER.by_composition("detrend", "data", "the normal equations", core="data(n)->(n)", inert="overwrite_data")
def _detrend(data, type="linear", bp=0):
    if type in ("constant", "c"):
        return data - ag.mean(data, axis=-1, keepdims=True)
    n = shape_of(data)[-1]
    breaks = np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]])).astype(int)
    parts = []
    for start, stop in itertools.pairwise(breaks):
        m = stop - start
        basis, _ = np.linalg.qr(np.stack([np.ones(m), np.arange(1, m + 1) / m], axis=1))
        part = data[..., start:stop]
        parts.append(part - ag.matmul(ag.matmul(part, basis), basis.T))
    return ag.concat(parts, axis=-1)


CHAPTER.constants("argrelmax", "argrelmin", "argrelextrema", "choose_conv_method")
