"""Fourier transforms.

May import: ops.kinds; ops._fourier on first use. Rules use only the standard. The transforms are linear over the
complex numbers (hfft and ihfft over the reals), their rules are the adjoints: no conjugation by the engine.
"""

from arraygrad.ops.kinds import creation, module_on_use, transform

_fourier = module_on_use("arraygrad.ops._fourier")

ONE = "x, /, *, n=None, axis=-1, norm='backward'"
MANY = "x, /, *, s=None, axes=None, norm='backward'"
_SIZE = "`n` cuts or fills the axis with zeros first"
_SIZES = "`s` cuts or fills the axes with zeros first; `axes` None: all, or the last len(s)"
_NORM = "`norm` puts the factor 1/n on the 'backward' or 'forward' transform, or its root on both ('ortho')."


def _forward(name, signature):
    if signature is ONE:
        return lambda xp, x, n, axis, norm: _fourier.transform(xp, name, x, n, axis, norm)
    if signature is MANY:
        return lambda xp, x, s, axes, norm: _fourier.transform_n(xp, name, x, s, axes, norm)
    return lambda xp, x, axes: _fourier.shift(xp, name, x, axes)


def _transform(name, signature, rule, doc, core):
    options = {"x": rule, "extension": "fft", "numpy": (f"fft.{name}",), "doc": doc, "core": core}
    transform(name, signature, forward=_forward(name, signature), **options)


_transform(
    "fft",
    ONE,
    lambda xp, g, x_shape, axis, norm: _fourier.complex_adjoint(xp, xp.fft.ifft, g, x_shape, axis, norm),
    f"Discrete Fourier transform along `axis`; {_SIZE}. {_NORM}",
    "(m)->(n or m)",
)
_transform(
    "ifft",
    ONE,
    lambda xp, g, x_shape, axis, norm: _fourier.complex_adjoint(xp, xp.fft.fft, g, x_shape, axis, norm),
    f"Inverse discrete Fourier transform along `axis`; {_SIZE}. {_NORM}",
    "(m)->(n or m)",
)
_transform(
    "fftn",
    MANY,
    lambda xp, g, x_shape, s, axes, norm: _fourier.complex_adjoint_n(xp, xp.fft.ifftn, g, x_shape, s, axes, norm),
    f"Discrete Fourier transform over several axes; {_SIZES}. {_NORM}",
    "(m*)->(*(s or m))",
)
_transform(
    "ifftn",
    MANY,
    lambda xp, g, x_shape, s, axes, norm: _fourier.complex_adjoint_n(xp, xp.fft.fftn, g, x_shape, s, axes, norm),
    f"Inverse discrete Fourier transform over several axes; {_SIZES}. {_NORM}",
    "(m*)->(*(s or m))",
)
_transform(
    "rfft",
    ONE,
    lambda xp, g, x_shape, n, axis, norm: _fourier.rfft_adjoint(xp, g, x_shape, n, axis, norm),
    f"Discrete Fourier transform of a real array along `axis`: the n // 2 + 1 first frequencies; {_SIZE}. {_NORM}",
    "(m)->((n or m)//2+1)",
)
_transform(
    "irfft",
    ONE,
    lambda xp, g, x_shape, axis, norm: _fourier.irfft_adjoint(xp, g, x_shape, axis, norm),
    f"Real array of length n (2 * (m - 1) if None) from its m first frequencies along `axis`. {_NORM} The imaginary "
    "parts of the first and, for even n, the last frequency do not count: they get a zero gradient.",
    "(m)->(n or 2*(m-1))",
)
_transform(
    "rfftn",
    MANY,
    lambda xp, g, x_shape, s, axes, norm: _fourier.rfftn_adjoint(xp, g, x_shape, s, axes, norm),
    f"Discrete Fourier transform of a real array over several axes, the last of them halved; {_SIZES}. {_NORM}",
    "(m*)->(*halved(s or m))",
)
_transform(
    "irfftn",
    MANY,
    lambda xp, g, x_shape, s, axes, norm: _fourier.irfftn_adjoint(xp, g, x_shape, s, axes, norm),
    f"Real array from its frequencies over several axes, the last of them halved: inverse of rfftn. {_NORM}",
    "(m*)->(*(s or doubled(m)))",
)
_transform(
    "hfft",
    ONE,
    lambda xp, g, x_shape, axis, norm: xp.conj(_fourier.irfft_adjoint(xp, g, x_shape, axis, _fourier.MIRRORED[norm])),
    f"Real spectrum of length n (2 * (m - 1) if None) of a Hermitian-symmetric array given by its first m elements. "
    f"{_NORM}",
    "(m)->(n or 2*(m-1))",
)
_transform(
    "ihfft",
    ONE,
    lambda xp, g, x_shape, n, axis, norm: _fourier.rfft_adjoint(
        xp, xp.conj(g), x_shape, n, axis, _fourier.MIRRORED[norm]
    ),
    f"First n // 2 + 1 elements of the Hermitian-symmetric array whose spectrum is the real x; {_SIZE}. {_NORM}",
    "(m)->((n or m)//2+1)",
)
_transform(
    "fftshift",
    "x, /, *, axes=None",
    lambda xp, g, axes: xp.fft.ifftshift(g, axes=axes),
    "The zero frequency moved to the middle of `axes` (None: all, an int or a tuple).",
    "(m*)->(*m)",
)
_transform(
    "ifftshift",
    "x, /, *, axes=None",
    lambda xp, g, axes: xp.fft.fftshift(g, axes=axes),
    "The zero frequency moved from the middle of `axes` to their beginning: inverse of fftshift.",
    "(m*)->(*m)",
)
creation(
    "fftfreq",
    "n, /, *, d=1.0, dtype=None, device=None",
    core="->(n)",
    extension="fft",
    doc="Frequencies of a transform of length n for samples d apart.",
)
creation(
    "rfftfreq",
    "n, /, *, d=1.0, dtype=None, device=None",
    core="->(n//2+1)",
    extension="fft",
    doc="The n // 2 + 1 frequencies of a real transform of length n for samples d apart.",
)
