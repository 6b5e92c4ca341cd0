"""Waveforms and windows, in time and in what shapes them.

May import: arraygrad, scipy._declare, scipy.signal._chapter, numpy, SciPy. The source of each is its definition;
windows: Harris (1978).
"""

import math

import numpy as np
from scipy import signal
from scipy.signal import windows

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import Chapter, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER

__all__ = ["WINDOWS", "window_of"]

DEFINITION = "definition"
HARRIS = "Harris (1978)"
TURN = 2.0 * math.pi

# -- waveforms --------------------------------------------------------------------------------------------------------


@CHAPTER.by_composition("chirp", "t f0 t1 f1 phi", DEFINITION)
def _chirp(t, f0, t1, f1, method="linear", phi=0, vertex_zero=True, complex=False):
    t, f0, t1, f1 = (ag.asarray(v) for v in (t, f0, t1, f1))
    kind = method[:3]
    if kind in ("lin", "li"):
        cycles = f0 * t + 0.5 * (f1 - f0) / t1 * t * t
    elif kind in ("qua", "q"):
        rate = (f1 - f0) / (t1 * t1)
        cycles = f0 * t + rate * t**3 / 3.0 if vertex_zero else f1 * t + rate * ((t1 - t) ** 3 - t1**3) / 3.0
    elif float(raw(f0)) == float(raw(f1)):
        raise NotDifferentiable("arraygrad.scipy.signal.chirp: equal frequencies have derivatives for 'linear'")
    elif kind in ("log", "lo"):
        scale = t1 / ag.log(f1 / f0)
        cycles = scale * f0 * (ag.exp(t / scale) - 1.0)
    else:
        pole = f1 * t1 / (f1 - f0)
        cycles = -pole * f0 * ag.log(ag.abs(1.0 - t / pole))
    phase = TURN * cycles + ag.asarray(phi) * (math.pi / 180.0)
    return ag.cos(phase) + 1j * ag.sin(phase) if complex else ag.cos(phase)


@CHAPTER.by_composition("sweep_poly", "t poly phi", DEFINITION)
def _sweep_poly(t, poly, phi=0):
    t = ag.asarray(t)
    poly = ag.asarray(poly.coeffs if isinstance(poly, np.poly1d) else poly)
    n = poly.shape[0]
    cycles = 0.0
    for i in range(n):
        cycles = cycles * t + poly[i] / (n - i)
    return ag.cos(TURN * cycles * t + ag.asarray(phi) * (math.pi / 180.0))


@CHAPTER.by_composition("gausspulse", "t fc bw bwr tpr", DEFINITION)
def _gausspulse(t, fc=1000, bw=0.5, bwr=-6, tpr=-60, retquad=False, retenv=False):
    fc, bw, bwr, tpr = (ag.asarray(v) for v in (fc, bw, bwr, tpr))
    decibel = math.log(10.0) / 20.0
    rate = -((math.pi * fc * bw) ** 2) / (4.0 * decibel * bwr)
    if isinstance(t, str):
        return ag.sqrt(-decibel * tpr / rate)
    t = ag.asarray(t)
    envelope = ag.exp(-rate * t * t)
    angle = TURN * fc * t
    found = [envelope * ag.cos(angle)]
    if retquad:
        found.append(envelope * ag.sin(angle))
    if retenv:
        found.append(envelope)
    return tuple(found) if len(found) > 1 else found[0]


@CHAPTER.by_composition("sawtooth", "t width", "by pieces")
def _sawtooth(t, width=1):
    t, width = ag.broadcast_arrays(ag.asarray(t) + 0.0, ag.asarray(width) + 0.0)
    values, shares = np.asarray(raw(t)), np.asarray(raw(width))
    t = t - TURN * np.floor(values / TURN)
    rising = np.asarray(raw(t)) < TURN * shares
    valid = (shares >= 0) & (shares <= 1)
    up = t / (math.pi * ag.where(rising, width, 1.0)) - 1.0
    down = (math.pi * (width + 1.0) - t) / (math.pi * (1.0 - ag.where(rising, 0.0, width)))
    return ag.where(valid, ag.where(rising, up, down), np.nan)


@CHAPTER.by_composition("gauss_spline", "x", "Bouma et al. (2007)", refuse={"n": "an integer"})
def _gauss_spline(x, n):
    spread = (n + 1) / 12.0
    x = ag.asarray(x)
    return ag.exp(-x * x / (2.0 * spread)) / math.sqrt(TURN * spread)


@CHAPTER.by_composition("vectorstrength", "events period", DEFINITION)
def _vectorstrength(events, period):
    events, period = ag.asarray(events), ag.asarray(period)
    single = period.ndim == 0
    angle = TURN * events / ag.reshape(period, (-1, 1))
    real, imaginary = ag.mean(ag.cos(angle), axis=1), ag.mean(ag.sin(angle), axis=1)
    strength, phase = ag.sqrt(real * real + imaginary * imaginary), ag.atan2(imaginary, real)
    return (strength[0], phase[0]) if single else (strength, phase)


CHAPTER.constants("square")  # constant by pieces

# -- windows ----------------------------------------------------------------------------------------------------------

_WINDOWS = Chapter("signal.windows", windows)
WINDOWS = _WINDOWS.names


def _places(M, sym):
    """Places from the middle, of one window element each; one further is cut of a periodic window."""
    n = M if sym else M + 1
    return np.arange(n) - 0.5 * (n - 1), 0.5 * (n - 1)


def _window(name, of, source=HARRIS):
    def declare(formula):
        def whole(M, *args, sym=True, **further):
            if M <= 1:
                return sum(0.0 * ag.asarray(a) for a in args) + np.ones(M)
            found = formula(*_places(M, sym), *args, **further)
            return found if sym else found[:-1]

        _WINDOWS.by_composition(name, of, source)(_spelled(name, whole))
        return formula

    return declare


def _spelled(name, whole):
    """`whole` with the parameters of each window spelled out, as declarations read them."""
    spelled = {
        "kaiser": lambda M, beta, sym=True: whole(M, beta, sym=sym),
        "gaussian": lambda M, std, sym=True: whole(M, std, sym=sym),
        "general_gaussian": lambda M, p, sig, sym=True: whole(M, p, sig, sym=sym),
        "general_cosine": lambda M, a, sym=True: whole(M, a, sym=sym),
        "general_hamming": lambda M, alpha, sym=True: whole(M, alpha, sym=sym),
        "exponential": lambda M, center=None, tau=1.0, sym=True: whole(M, tau, sym=sym, center=center),
        "tukey": lambda M, alpha=0.5, sym=True: whole(M, alpha, sym=sym),
    }
    return spelled[name]


@_window("kaiser", "beta")
def _kaiser(t, half, beta):
    beta = ag.asarray(beta) + 0.0
    share = np.sqrt(np.maximum(1.0 - (t / half) ** 2, 0.0))
    return ag.special.i0(beta * share) / ag.special.i0(beta)


@_window("gaussian", "std")
def _gaussian(t, half, std):
    return ag.exp(-0.5 * (t / ag.asarray(std)) ** 2)


@_window("general_gaussian", "p sig")
def _general_gaussian(t, half, p, sig):
    away = ag.abs(t / ag.asarray(sig))
    zero = np.asarray(raw(away)) == 0
    power = ag.where(zero, 0.0, ag.where(zero, 1.0, away) ** (2.0 * ag.asarray(p)))
    return ag.exp(-0.5 * power)


@_window("general_cosine", "a")
def _general_cosine(t, half, a):
    a = ag.asarray(a)
    angle = math.pi * t / half
    return sum(a[k] * np.cos(k * angle) for k in range(a.shape[0]))


@_window("general_hamming", "alpha")
def _general_hamming(t, half, alpha):
    alpha = ag.asarray(alpha)
    return alpha + (1.0 - alpha) * np.cos(math.pi * t / half)


@_window("exponential", "tau center")
def _exponential(t, half, tau, center=None):
    away = t if center is None else t + half - ag.asarray(center)
    return ag.exp(-ag.abs(ag.asarray(away)) / ag.asarray(tau))


@_window("tukey", "alpha", "Harris (1978); by pieces")
def _tukey(t, half, alpha):
    alpha = ag.asarray(alpha)
    value = float(raw(alpha))
    if value <= 0 or value >= 1:
        kept = np.ones(t.size) if value <= 0 else 0.5 * (1.0 + np.cos(math.pi * t / half))
        return kept + 0.0 * alpha
    edge = half - np.abs(t)  # from the nearer end
    width = math.floor(0.5 * value * (t.size - 1))
    tapered = np.minimum(np.arange(t.size), np.arange(t.size)[::-1]) <= width
    taper = 0.5 * (1.0 + ag.cos(math.pi * (edge / (alpha * half) - 1.0)))
    return ag.where(tapered, taper, 1.0)


_NO_RULE = "the shape's derivative has no rule; kaiser, gaussian, tukey and the general windows have one"
_WINDOWS.no_rule(_NO_RULE, "chebwin", "dpss", "taylor", "kaiser_bessel_derived")
_WINDOWS.constants("boxcar", "triang", "parzen", "bohman", "blackman", "nuttall", "blackmanharris", "flattop",
                   "bartlett", "barthann", "hamming", "cosine", "hann", "lanczos")  # fmt: skip


def window_of(window, n, periodic=True):
    """A window by its name, or by its name and parameters, which may be Tensors."""
    if isinstance(window, tuple) and any(isinstance(part, Tensor) for part in window):
        return _get_window(window, n, periodic)
    if isinstance(window, (str, tuple, float, int)):
        return signal.get_window(window, n, periodic)
    return ag.asarray(window)


_ALIASES = {"ksr": "kaiser", "gauss": "gaussian", "gss": "gaussian", "general gaussian": "general_gaussian",
            "general_gauss": "general_gaussian", "ggs": "general_gaussian", "general cosine": "general_cosine",
            "general hamming": "general_hamming", "poisson": "exponential", "exponential": "exponential",
            "tuk": "tukey"}  # fmt: skip


def _get_window(window, Nx, fftbins=True):
    if not isinstance(window, tuple):
        name, parameters = "kaiser", (window,)
    else:
        name, *parameters = window
    for ending, periodic in (("_periodic", True), ("_symmetric", False)):
        if name.endswith(ending):
            name, fftbins = name.removesuffix(ending), periodic
    name = _ALIASES.get(name, name)
    if name not in WINDOWS:
        raise NotDifferentiable(f"arraygrad.scipy.signal.get_window: no derivative is known for {name!r}")
    return WINDOWS[name](Nx, *parameters, sym=not fftbins)


CHAPTER.by_composition("get_window", "window", HARRIS)(_get_window)
_WINDOWS.by_composition("get_window", "window", HARRIS)(_get_window)
