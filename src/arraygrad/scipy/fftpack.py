"""scipy.fftpack: transforms in the conventions of the older module, and operators on periodic series.

May import: arraygrad, scipy._declare, scipy.fft, numpy, SciPy.

The transforms are those of `scipy.fft` with other packings and norms. The operators (`diff`, `hilbert`, ...) multiply
the Fourier coefficients of a series by a function of the frequency, which their parameters change, too.
"""

import numpy as np
from scipy import fftpack as _fftpack

import arraygrad as ag
from arraygrad.scipy import fft as _transforms
from arraygrad.scipy._declare import REGISTRY, Chapter, mirror, raw

__all__: list[str] = []

_CHAPTER = Chapter("fftpack", _fftpack)
_NAMES = _CHAPTER.names
_OF_MATRICES = "transposed matrices (Martucci 1994)"
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}

# -- Fourier transforms -----------------------------------------------------------------------------------------------


def _floating(x):
    x = ag.asarray(x)
    return x if raw(x).dtype.kind in "fc" else ag.astype(x, ag.float64)


def _one(name):
    @_CHAPTER.by_composition(name, "x", "the table")
    def formula(x, n=None, axis=-1):
        return getattr(ag.fft, name)(_floating(x), n=n, axis=axis)


def _sizes(x, shape, axes):
    """(sizes, axes) as the module reads them: a size of -1 or None is that of x."""
    if axes is None:
        count = x.ndim if shape is None else len(np.atleast_1d(shape))
        axes = range(x.ndim - count, x.ndim)
    axes = tuple(int(a) for a in np.atleast_1d(axes))
    if shape is None:
        return tuple(x.shape[a] for a in axes), axes
    sizes = shape if isinstance(shape, (list, tuple)) else np.atleast_1d(shape)
    return tuple(x.shape[a] if n is None or n == -1 else int(n) for n, a in zip(sizes, axes, strict=True)), axes


def _several(name, axes=None):
    default, function = axes, getattr(ag.fft, name.rstrip("2n") + "n")

    @_CHAPTER.by_composition(name, "x", "the table")
    def formula(x, shape=None, axes=default):
        x = _floating(x)
        sizes, axes = _sizes(x, shape, axes)
        return function(x, s=sizes, axes=axes)


for _name in ("fft", "ifft"):
    _one(_name)
for _name in ("fftn", "ifftn"):
    _several(_name)
for _name in ("fft2", "ifft2"):
    _several(_name, (-2, -1))


@_CHAPTER.by_composition("rfft", "x", "the table, packed", core="x(m)->(n or m)")
def _rfft(x, n=None):
    x = _floating(x)
    size = x.shape[-1] if n is None else int(n)
    found = ag.fft.rfft(x, n=n)
    pairs = ag.reshape(ag.stack([ag.real(found), ag.imag(found)], axis=-1), (*found.shape[:-1], -1))
    kept = [0, *range(2, size + 1)]  # the first coefficient is real, so is the last of an even number
    return ag.take(pairs, np.array(kept), axis=-1)


@_CHAPTER.by_composition("irfft", "x", "the table, packed", core="x(m)->(n or m)")
def _irfft(x, n=None):
    x = _floating(x)
    have, size = x.shape[-1], x.shape[-1] if n is None else int(n)
    if size < have:
        x = x[..., :size]
    missing = max(size - have, 0) + (size + 1) % 2  # an even number has a real coefficient at its end
    zero = ag.zeros((*x.shape[:-1], 1), dtype=x.dtype)
    parts = ag.concat([x[..., :1], zero, x[..., 1:], *[zero] * missing], axis=-1)
    pairs = ag.reshape(parts, (*x.shape[:-1], -1, 2))
    return ag.fft.irfft(pairs[..., 0] + 1j * pairs[..., 1], n=size, axis=-1)


# -- cosine and sine transforms ---------------------------------------------------------------------------------------


def _trigonometric(name, inverse):
    def one(x, type, n, axis, norm):
        return REGISTRY[f"fft.{name}"].function(_floating(x), type, n=n, axis=axis, norm=norm)

    @_CHAPTER.by_composition(name, "x", _OF_MATRICES)
    def formula(x, type=2, n=None, axis=-1, norm=None):
        return one(x, type, n, axis, norm)

    @_CHAPTER.by_composition(inverse, "x", _OF_MATRICES)
    def of_inverse(x, type=2, n=None, axis=-1, norm=None):
        return one(x, _INVERSE[type], n, axis, norm)

    def over_axes(types):
        def formula(x, type=2, shape=None, axes=None, norm=None):
            x = _floating(x)
            for n, axis in zip(*_sizes(x, shape, axes), strict=True):
                x = one(x, types[type], n, axis, norm)
            return x

        return formula

    _CHAPTER.by_composition(f"{name}n", "x", _OF_MATRICES)(over_axes({t: t for t in _INVERSE}))
    _CHAPTER.by_composition(f"{inverse}n", "x", _OF_MATRICES)(over_axes(_INVERSE))


_trigonometric("dct", "idct")
_trigonometric("dst", "idst")

# -- operators on periodic series -------------------------------------------------------------------------------------


class _Frequencies:
    """The frequencies of a series of n numbers, whole, with 1 for 0, and where they count.

    The functions of the frequency are odd, times the imaginary unit, or even. The coefficient at the highest frequency
    of an even number of points belongs to k and -k at once, where an odd function is taken to be zero.
    """

    def __init__(self, x, period):
        n = x.shape[0]
        whole = np.round(np.fft.fftfreq(n) * n)
        self.first = whole == 0
        self.last = (np.abs(whole) * 2 == n) & ~self.first
        self.k = np.where(self.first, 1.0, whole)
        self.scale = 1.0 if period is None else 2.0 * np.pi / period

    def odd(self, values):
        """i times values, zero at the frequencies 0 and n/2."""
        return 1j * (ag.asarray(values) * ~(self.first | self.last))

    def even(self, values, first=0.0):
        """values, `first` at the frequency 0."""
        return ag.asarray(values) * ~self.first + first * self.first


def _multiplied(x, factors):
    found = ag.fft.ifft(factors * ag.fft.fft(x))
    return found if raw(x).dtype.kind == "c" else ag.real(found)


@_CHAPTER.by_composition("diff", "x period", "definition (multipliers)")
def _diff(x, order=1, period=None):
    x = _floating(x)
    if order == 0:
        return x
    at = _Frequencies(x, period)
    powers = at.k ** float(order) * (1.0, 1.0, -1.0, -1.0)[order % 4]
    factors = at.odd(powers) if order % 2 else at.even(powers * ~at.last)
    return _multiplied(x, factors * at.scale**order)


def _operator(name, of, factors):
    """`factors(at, ...)`: the multipliers, of the frequencies times 2 pi / period."""
    taken = of.split()[1:]

    if "a" in taken and "b" in taken:

        def formula(x, a, b, period=None):
            x = _floating(x)
            at = _Frequencies(x, period)
            return _multiplied(x, factors(at, at.k * (at.scale * a), at.k * (at.scale * b), a, b))
    elif "h" in taken:

        def formula(x, h, period=None):
            x = _floating(x)
            at = _Frequencies(x, period)
            return _multiplied(x, factors(at, at.k * (at.scale * h)))
    elif "a" in taken:

        def formula(x, a, period=None):
            x = _floating(x)
            at = _Frequencies(x, period)
            return _multiplied(x, factors(at, at.k * (at.scale * a)))
    else:

        def formula(x):
            x = _floating(x)
            return _multiplied(x, factors(_Frequencies(x, None)))

    _CHAPTER.by_composition(name, of, "definition (multipliers)")(formula)


_operator("hilbert", "x", lambda at: at.odd(np.sign(at.k)))
_operator("ihilbert", "x", lambda at: at.odd(-np.sign(at.k)))
_operator("tilbert", "x h period", lambda at, h: at.odd(1.0 / ag.tanh(h)))
_operator("itilbert", "x h period", lambda at, h: at.odd(-ag.tanh(h)))
_operator("cs_diff", "x a b period", lambda at, a, b, *_: at.odd(-ag.cosh(a) / ag.sinh(b)))
_operator("sc_diff", "x a b period", lambda at, a, b, *_: at.odd(ag.sinh(a) / ag.cosh(b)))
_operator("ss_diff", "x a b period", lambda at, a, b, one, other: at.even(ag.sinh(a) / ag.sinh(b), one / other))
_operator("cc_diff", "x a b period", lambda at, a, b, *_: at.even(ag.cosh(a) / ag.cosh(b), 1.0))
# SciPy adds the sine at the highest frequency of an even number of points.
_operator(
    "shift",
    "x a period",
    lambda at, a: at.even(ag.cos(a), 1.0) + at.odd(ag.sin(a)) + ag.sin(a * (at.last * np.sign(at.k))),
)

# -- frequencies ------------------------------------------------------------------------------------------------------


@_CHAPTER.by_composition("rfftfreq", "d", "definition")
def _rfftfreq(n, d=1.0):
    return _fftpack.rfftfreq(n) / ag.asarray(d)


_CHAPTER.constants("next_fast_len")
# NumPy's and scipy.fft's own functions, which take Tensors.
_NAMES.update({name: getattr(_transforms, name) for name in ("fftfreq", "fftshift", "ifftshift")})

globals().update(_NAMES)

__getattr__, __dir__ = mirror(globals(), _fftpack)
