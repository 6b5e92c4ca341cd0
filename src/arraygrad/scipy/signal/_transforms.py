"""Transforms of signals beside the plain spectra: on other contours, back from segments, of uneven samples.

May import: arraygrad, core.tensor, ops, scipy._declare, scipy.signal, numpy, SciPy.
"""

import math

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.ops import OPS
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, is_complex, shape_of
from arraygrad.scipy.signal._spectra import _segments, real_window
from arraygrad.scipy.signal._waveforms import window_of

__all__ = []

RABINER = "Rabiner et al. (1969)"
ALLEN = "Allen and Rabiner (1977)"

# -- the chirp z-transform --------------------------------------------------------------------------------------------

_CONTOUR = "the contour is constant"


@CHAPTER.by_rule("czt", "x", RABINER, core="x(n)->(m or n)", refuse={"w": _CONTOUR, "a": _CONTOUR})
def _czt(g, ans, x, m=None, w=None, a=1 + 0j):
    # y_k = sum_n x_n a^-n w^(n k): the conjugate transpose is such a transform of g, with factors behind it.
    n = shape_of(x)[-1]
    m = n if m is None else m
    w = np.exp(-2j * math.pi / m) if w is None else w
    return NAMES["czt"](g, n, np.conj(w)) * np.conj(complex(a)) ** -np.arange(n)


@CHAPTER.by_composition("zoom_fft", "x", RABINER, core="x(n)->(m or n)")
def _zoom_fft(x, fn, m=None, fs=2, endpoint=False):
    m = shape_of(x)[-1] if m is None else m
    low, high = (0.0, float(fn)) if np.size(fn) == 1 else (float(f) for f in fn)
    scale = (high - low) * m / (fs * (m - 1)) if endpoint else (high - low) / fs
    start = np.exp(2j * math.pi * low / fs)
    return NAMES["czt"](x, m, np.exp(-2j * math.pi * scale / m), start)


def _transform(name, function):
    theirs = getattr(signal, name, None)
    if theirs is None:
        return

    class Transform(theirs):
        """SciPy's transform of given size; of a Tensor it is recorded."""

        def __init__(self, n, *args, **kwargs):
            super().__init__(n, *args, **kwargs)
            self._given, self._options = args, kwargs

        def __call__(self, x, *, axis=-1):
            if not isinstance(x, Tensor):
                return super().__call__(x, axis=axis)
            if shape_of(x)[axis] != self.n:
                raise ValueError(f"{name} is defined for length {self.n}, not {shape_of(x)[axis]}")
            return NAMES[function](x, *self._given, **self._options, axis=axis)

    Transform.__name__ = Transform.__qualname__ = name
    CHAPTER.object(name, "x", RABINER)(Transform)


_transform("CZT", "czt")
_transform("ZoomFFT", "zoom_fft")

# -- analytic signals -------------------------------------------------------------------------------------------------


@CHAPTER.by_composition("hilbert2", "x", "Hahn (1996)")
def _hilbert2(x, N=None, axes=(-2, -1)):
    x = ag.asarray(x)
    sizes = tuple(shape_of(x)[a] for a in axes) if N is None else tuple(int(n) for n in np.broadcast_to(N, 2))
    impulse = np.zeros(sizes)
    impulse[0, 0] = 1.0
    weights = np.fft.fft2(signal.hilbert2(impulse)).real.round()  # what SciPy keeps and doubles
    x = ag.moveaxis(x, axes, (-2, -1))
    spectrum = ag.fft.fftn(x, s=sizes, axes=(-2, -1)) * weights
    return ag.moveaxis(ag.fft.ifftn(spectrum, axes=(-2, -1)), (-2, -1), axes)


@CHAPTER.by_composition("envelope", "z", "Marple (1999)", core="z(n)->(n_out or n)")
def _envelope(z, bp_in=(1, None), n_out=None, squared=False, residual="lowpass"):
    n = shape_of(z)[-1]
    n_out = n if n_out is None else n_out
    scale = n_out / n
    start = -(n // 2) if bp_in[0] is None else bp_in[0]
    stop = (n + 1) // 2 if bp_in[1] is None else bp_in[1]
    complex_input = is_complex(z)
    spectrum = ag.fft.fft(z)
    if not complex_input:
        weights = np.zeros(n)
        weights[: n // 2 + 1] = 1.0
        if start > 0:
            weights[start:stop] *= 2.0
        elif stop > 0:
            weights[1:stop] *= 2.0
        spectrum = spectrum * weights
    # SciPy's slices: one from below zero that ends there is empty, one that begins there is of all.
    around = start <= 0 < stop
    inside = np.fft.fftshift(np.arange(n))[start + n // 2 : stop + n // 2] if around else np.arange(n)[start:stop]
    band = ag.take(spectrum, inside, axis=-1)
    width = [(0, 0)] * (z.ndim - 1)
    count = min(inside.size, n_out)
    band = ag.pad(band[..., :count], (*width, (0, n_out - count)))
    base = ag.fft.ifft(band) * scale
    found = ag.real(base) ** 2 + ag.imag(base) ** 2 if squared else ag.abs(base)
    if residual is None:
        return found
    kept = np.ones(n)
    if around:
        kept[:stop], kept[start:] = 0.0, 0.0
    else:
        kept[start:stop] = 0.0
    if residual == "lowpass":
        if stop > 0:
            kept[stop : (n + 1) // 2] = 0.0
        else:
            kept[start:], kept[: (n + 1) // 2] = 0.0, 0.0
    if complex_input:
        if n_out != n:
            raise NotDifferentiable("arraygrad.scipy.signal.envelope: residual=None has derivatives of another n_out")
        rest = ag.fft.ifft(spectrum * kept)
    else:
        m = min(n, n_out)
        if n_out != n and m % 2 == 0:
            kept[m // 2] *= 2.0 if n_out < n else 0.5
        half = (spectrum * kept)[..., : m // 2 + 1]
        rest = scale * ag.fft.irfft(half, n=n_out)
    return ag.stack([ag.astype(found, ag.complex128) if complex_input else found, rest])


# -- spectra of uneven samples ----------------------------------------------------------------------------------------


@CHAPTER.by_composition("lombscargle", "x y freqs weights", "Zechmeister and Kuerster (2009)")
def _lombscargle(x, y, freqs, precenter=False, normalize=False, weights=None, floating_mean=False):
    if precenter is True:
        y = y - ag.mean(y)
    x, y, freqs = (ag.astype(ag.asarray(v), ag.float64) for v in (x, y, freqs))
    weights = ag.asarray(np.ones(shape_of(y)[0])) if weights is None else ag.asarray(weights)
    weights = weights / ag.sum(weights)
    angle = ag.reshape(freqs, (-1, 1)) * x
    c, s = ag.cos(angle), ag.sin(angle)

    def mean(v):
        return ag.sum(weights * v, axis=-1)

    yc, ys, cc, ss, cs = mean(y * c), mean(y * s), mean(c * c), mean(s * s), mean(c * s)
    if floating_mean:
        mc, ms, my = mean(c), mean(s), mean(y)
        yc, ys = yc - my * mc, ys - my * ms
        cc, ss, cs = cc - mc * mc, ss - ms * ms, cs - mc * ms
    # The sum of squares that a cosine and a sine explain.
    determinant = cc * ss - cs * cs
    power = (ss * yc * yc - 2.0 * cs * yc * ys + cc * ys * ys) / determinant
    kind = {False: "power", True: "normalize"}.get(normalize, normalize)
    if kind == "power":
        return 0.5 * shape_of(y)[0] * power
    if kind == "normalize":
        whole = mean(y * y)
        return power / (whole - mean(y) ** 2 if floating_mean else whole)
    # amplitude and phase, of the angles from which no cross term is left
    tau = 0.5 * ag.atan2(2.0 * cs, cc - ss)
    ct, st = ag.cos(tau), ag.sin(tau)
    c_, s_ = yc * ct + ys * st, ys * ct - yc * st
    cc_, ss_ = cc * ct * ct + 2.0 * cs * ct * st + ss * st * st, cc * st * st - 2.0 * cs * ct * st + ss * ct * ct
    a, b = c_ / cc_, s_ / ss_
    return (a + 1j * b) * (ct + 1j * st)


# -- back from segments -----------------------------------------------------------------------------------------------


def _overlapped(parts, starts, count):
    """The sum of segments (..., segments, length), each at its place, along `count` elements."""
    *outer, segments, length = shape_of(parts)
    places = (np.asarray(starts)[:, None] + np.arange(length)).ravel()
    inside = np.flatnonzero((places >= 0) & (places < count))
    values = ag.take(ag.reshape(parts, (-1, segments * length)), inside, axis=1)
    found = apply_op(OPS["_take_adjoint"], (values, places[inside], (shape_of(values)[0], count), 1))
    return ag.reshape(found, (*outer, count))


@CHAPTER.by_composition("istft", "Zxx", ALLEN)
def _istft(Zxx, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, input_onesided=True,
           boundary=True, time_axis=-1, freq_axis=-2, scaling="spectrum"):  # fmt: skip
    z = ag.asarray(Zxx)
    time_axis, freq_axis = time_axis % z.ndim, freq_axis % z.ndim
    bins = shape_of(z)[freq_axis]
    usual = 2 * (bins - 1) if input_onesided else bins
    length = usual if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = length if input_onesided and length == usual + 1 else usual
    step = length - (length // 2 if noverlap is None else int(noverlap))
    z = ag.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    window = real_window(window_of(window, length))
    parts = ag.fft.irfft(z, n=nfft) if input_onesided else ag.fft.ifft(z, n=nfft)
    scale = np.sum(window) if scaling == "spectrum" else math.sqrt(fs * np.sum(window * window))
    parts = parts[..., :length] * (window * scale)
    segments = shape_of(z)[-2]
    count, starts = length + (segments - 1) * step, np.arange(segments) * step
    norm = np.zeros(count)
    for start in starts:
        norm[start : start + length] += window * window
    found = _overlapped(parts, starts, count) / np.where(norm > 1e-10, norm, 1.0)
    if boundary:
        found = found[..., length // 2 : count - length // 2]
    return None, ag.moveaxis(found, -1, time_axis - (freq_axis < time_axis)) if found.ndim > 1 else found


_PADS = {"zeros": {"mode": "constant"}, "edge": {"mode": "edge"}, "even": {"mode": "reflect"},
         "odd": {"mode": "reflect", "reflect_type": "odd"}}  # fmt: skip

if hasattr(signal, "ShortTimeFFT"):

    @CHAPTER.object("ShortTimeFFT", "x", ALLEN)
    class ShortTimeFFT(signal.ShortTimeFFT):
        """scipy.signal.ShortTimeFFT, whose transforms of Tensors are recorded; the window is constant."""

        def stft(self, x, p0=None, p1=None, *, k_offset=0, padding="zeros", axis=-1):
            """The transform of segments."""
            return self.stft_detrend(x, None, p0, p1, k_offset=k_offset, padding=padding, axis=axis)

        def stft_detrend(self, x, detr, p0=None, p1=None, *, k_offset=0, padding="zeros", axis=-1):
            """The transform of segments without their trends."""
            if not isinstance(x, Tensor):
                return super().stft_detrend(x, detr, p0, p1, k_offset=k_offset, padding=padding, axis=axis)
            if self.onesided_fft and is_complex(x):
                raise ValueError(f"a complex signal needs another fft_mode than {self.fft_mode!r}")
            x = ag.moveaxis(x, axis, -1)
            n = shape_of(x)[-1]
            p0, p1 = self.p_range(n, p0, p1)
            first = p0 * self.hop - self.m_num_mid + k_offset
            last = first + (p1 - p0) * self.hop + self.m_num
            x = x[..., max(first, 0) : min(last, n)]
            width = [(0, 0)] * (x.ndim - 1) + [(-min(first, 0), max(last - n, 0))]
            parts = _segments(np.pad(x, width, **_PADS[padding]), self.m_num, self.hop)[..., : p1 - p0, :]
            if isinstance(detr, str):
                parts = NAMES["detrend"](parts, axis=-1, type=detr)
            elif detr is not None:
                parts = detr(parts)
            found = ag.matrix_transpose(self._spectrum(parts * np.conj(self.win)))
            return ag.moveaxis(found, -2, axis if axis >= 0 else axis - 1) if x.ndim > 1 else found

        def spectrogram(self, x, y=None, detr=None, *, p0=None, p1=None, k_offset=0, padding="zeros", axis=-1):
            """The squared magnitude, or the product with the conjugate of another one."""
            if not isinstance(x, Tensor) and not isinstance(y, Tensor):
                return super().spectrogram(x, y, detr, p0=p0, p1=p1, k_offset=k_offset, padding=padding, axis=axis)
            options = {"p0": p0, "p1": p1, "k_offset": k_offset, "padding": padding, "axis": axis}
            found = self.stft_detrend(ag.asarray(x), detr, **options)
            if y is None or y is x:
                return ag.real(found) ** 2 + ag.imag(found) ** 2
            return found * ag.conj(self.stft_detrend(ag.asarray(y), detr, **options))

        def istft(self, S, k0=0, k1=None, *, f_axis=-2, t_axis=-1):
            """The signal of a transform."""
            if not isinstance(S, Tensor):
                return super().istft(S, k0, k1, f_axis=f_axis, t_axis=t_axis)
            like = super().istft(raw(S), k0, k1, f_axis=f_axis, t_axis=t_axis)
            f_axis, t_axis = f_axis % S.ndim, t_axis % S.ndim
            S = ag.moveaxis(S, (t_axis, f_axis), (-2, -1))
            past = shape_of(S)[-2] + self.p_min
            k1 = (past - 1) * self.hop + self.m_num - self.m_num_mid if k1 is None else k1
            q0 = k0 // self.hop + (self.p_min if k0 >= 0 else 0)
            q1 = min(self.p_max(k1), past)
            parts = self._segments_of(S[..., q0 - self.p_min : q1 - self.p_min, :]) * self.dual_win
            found = _overlapped(parts, np.arange(q0, q1) * self.hop - self.m_num_mid - k0, k1 - k0)
            if found.ndim > 1:
                found = ag.moveaxis(found, -1, f_axis if f_axis < found.ndim else t_axis)
            return found if found.shape == like.shape else ag.reshape(found, like.shape)

        def _doubling(self):
            """What frequencies of both signs count in a one-sided spectrum."""
            weights = np.ones(self.f_pts)
            if self.fft_mode == "onesided2X":
                stop = -1 if self.mfft % 2 == 0 else None
                weights[1:stop] = math.sqrt(2.0) if self.scaling == "psd" else 2.0
            return weights

        def _shift(self):
            return None if self.phase_shift is None else (self.phase_shift + self.m_num_mid) % self.m_num

        def _spectrum(self, x):
            if self.phase_shift is not None:
                more = max(self.mfft - shape_of(x)[-1], 0)
                x = ag.roll(ag.pad(x, (*[(0, 0)] * (x.ndim - 1), (0, more))), -self._shift(), axis=-1)
            if self.onesided_fft:
                return ag.fft.rfft(x, n=self.mfft) * self._doubling()
            found = ag.fft.fft(x, n=self.mfft)
            return ag.fft.fftshift(found, axes=-1) if self.fft_mode == "centered" else found

        def _segments_of(self, S):
            if self.onesided_fft:
                x = ag.fft.irfft(S / self._doubling(), n=self.mfft)
            else:
                x = ag.fft.ifft(ag.fft.ifftshift(S, axes=-1) if self.fft_mode == "centered" else S, n=self.mfft)
            if self.phase_shift is not None:
                x = ag.roll(x, self._shift(), axis=-1)
            return x[..., : self.m_num]


CHAPTER.no_rule("windows are constant here", "closest_STFT_dual_window")
