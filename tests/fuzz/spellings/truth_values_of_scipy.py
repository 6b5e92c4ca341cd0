"""Truth values in the place of integers: degrees, counts, lengths and axes of SciPy's functions.

The class: every sample of tests/scipy_rules x every 0 and 1 that its call hands over, alone or in a tuple: False and
True stand there. Further calls have a length or a degree of one. SciPy takes most of them for numbers; where it raises,
ours may take them. Other integers stay what they are: SciPy's own code does not survive every number.
"""

import functools
import importlib

import numpy as np

from arraygrad.scipy import NotDifferentiable

from . import perturbed_samples
from .options_of_scipy import NO_OPTIONS, REFUSALS
from .perturbed_samples import named, numbers_in
from .spelling import Spelling

CALLS = 100
# SciPy's own values hold memory that nothing was written to.
LEFT_OUT = ("signal.resample_poly", "interpolate.insert")


class Given:
    """A function that gets a truth value in the place of one of the integers 0 and 1 among its arguments."""

    def __init__(self, function, place):
        self.function, self.place, self.seen = function, place, 0

    def __call__(self, *args, **kwargs):
        self.seen = 0
        args = [self._of(arg) for arg in args]
        return self.function(*args, **{key: self._of(arg) for key, arg in kwargs.items()})

    def __getattr__(self, name):
        return getattr(self.function, name)

    def _of(self, arg, depth=0):
        if type(arg) in (tuple, list) and depth < 2:
            return type(arg)([self._of(item, depth + 1) for item in arg])
        if type(arg) is not int or arg not in (0, 1):
            return arg
        self.seen += 1
        return bool(arg) if self.seen - 1 == self.place else arg


X, KNOTS = np.cos(np.arange(6.0)), np.arange(6.0)
# Name -> call of a vector that hands over a 1.
MORE = {
    **dict.fromkeys(
        "signal.resample signal.hilbert fft.fft fft.ifft fft.rfft fft.hfft fft.ihfft fft.dct fft.dst fftpack.fft "
        "fftpack.rfft fftpack.dct".split(), lambda f, x: f(x, n=1) if "fft" in f.__name__ else f(x, 1)),
    "fft.irfft": lambda f, x: f(x, 3, axis=0),
    "special.sph_harm_y": lambda f, x: f(1, 0, 0.2, x),
    "special.jn_zeros": lambda f, x: f(1, 2) * x[:2],
    "special.gegenbauer": lambda f, x: f(1, 0.3)(x),
    "interpolate.splev": lambda f, x: f(0.3, (KNOTS, x, 1)),
    "interpolate.splint": lambda f, x: f(0.3, 2.7, (KNOTS, x, 1)),
    "interpolate.splder": lambda f, x: f((KNOTS, x, 1), 1)[1],
    "interpolate.splantider": lambda f, x: f((KNOTS, x, 1), 1)[1],
    "interpolate.make_interp_spline": lambda f, x: f(KNOTS, x, 1)(1.3),
    "signal.savgol_filter": lambda f, x: f(x, 3, 1),
    "signal.detrend": lambda f, x: f(x[:, None], 0),
    "ndimage.spline_filter1d": lambda f, x: f(x, 3, 0),
    "stats.moment": lambda f, x: f(x, 1),
    "stats.trim_mean": lambda f, x: f(x, 0.2, 0),
    "linalg.hankel": lambda f, x: f(x),
    "integrate.simpson": lambda f, x: f(x, dx=1),
}  # fmt: skip


@functools.cache
def members():
    """(name, call, arrays, place of the integer)."""
    perturbed_samples.samples()  # reads them
    samples = importlib.import_module("scipy_samples").SAMPLES
    samples = [*samples, *[(name, call, [X], {}) for name, call in MORE.items()]]
    found, known = [], set()
    for name, call, arrays, _ in samples:
        if name.startswith((*NO_OPTIONS, *LEFT_OUT)):
            continue
        try:
            given = Given(named("scipy", name), -1)
            call(given, *[a.copy() for a in arrays])
        except Exception:  # not in this release, or not with these parameters
            continue
        for place in range(min(given.seen, 8)):
            if (name, place, given.seen, len(arrays)) not in known:
                known.add((name, place, given.seen, len(arrays)))
                found.append((name, call, arrays, place))
    return found


def member(name, call, arrays, place):
    def of(root):
        return lambda *given: numbers_in(call(Given(named(root, name), place), *given))

    return Spelling(
        f"{name}, a truth value for its integer {place} of {[a.tolist() for a in arrays]}", of("arraygrad.scipy"),
        of("scipy"), tuple([a.copy() for a in arrays]), rtol=1e-5, value_rtol=1e-8, step=1e-4, dtypes=False,
        must_refuse=False, may_refuse=(NotDifferentiable,), refusals=REFUSALS, anywhere=True, may_be_nan=True,
    )  # fmt: skip


def draw(rng):
    every = members()
    return member(*every[int(rng.integers(len(every)))])
