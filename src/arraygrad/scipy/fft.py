"""scipy.fft: Fourier transforms by the table's entries, cosine and sine transforms by their transposes.

May import: arraygrad, ops, scipy._declare, scipy._everyday, numpy, SciPy.

The matrices of type II and III are each other's transposes but for a factor 2 at one element, I and IV are their own
(with the same at the ends, for I); "ortho" makes them orthogonal (Martucci 1994).
"""

import numpy as np
from scipy import fft as _fft

import arraygrad as ag
from arraygrad.ops import OPS
from arraygrad.ops._axes import along, at_axis, from_start
from arraygrad.scipy._declare import Chapter, mirror, raw
from arraygrad.scipy._everyday import everyday
from arraygrad.scipy._guards import holds_tensor

__all__ = ["backend"]

_CHAPTER = Chapter("fft", _fft)
_NAMES = _CHAPTER.names

# -- Fourier transforms -----------------------------------------------------------------------------------------------


def _one(name):
    function = getattr(ag.fft, name)

    @_CHAPTER.by_composition(name, "x", "the table")
    def formula(x, n=None, axis=-1, norm=None):
        return function(_floating(x), n=n, axis=axis, norm=norm or "backward")


def _floating(x):
    x = ag.asarray(x)
    return x if raw(x).dtype.kind in "fc" else ag.astype(x, ag.float64)


def _axes_of(x, s, axes):
    """(sizes, axes) as SciPy reads them."""
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    axes = tuple(int(a) for a in np.atleast_1d(axes))
    return s, axes


def _several(name, axes=None):
    function = getattr(ag.fft, name[:-1] + "n")
    default = axes

    @_CHAPTER.by_composition(name, "x", "the table")
    def formula(x, s=None, axes=default, norm=None):
        x = _floating(x)
        s, axes = _axes_of(x, s, axes)
        return function(x, s=None if s is None else tuple(int(n) for n in np.atleast_1d(s)), axes=axes,
                        norm=norm or "backward")  # fmt: skip


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _one(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _several(_name)
for _name in ("fft2", "ifft2", "rfft2", "irfft2"):
    _several(_name, (-2, -1))


def _shift(name):
    @_CHAPTER.by_composition(name, "x", "the table")
    def formula(x, axes=None):
        return getattr(ag.fft, name)(ag.asarray(x), axes=axes)


_shift("fftshift")
_shift("ifftshift")

# Everyday calls take the table's own rules, whose parameters are these but for norm=None.

_EVERY = {"dtypes": "fdFD", "any_result": True}
_ONE, _MANY = "x, n=None, axis=-1, norm='backward'", "x, s=None, axes=None, norm='backward'"


def _table_rule(name, params):
    """The rule of the table's transform, where SciPy's parameters are those of the table's."""
    rule = OPS[name].entry.rules["x"]
    asked = rule.__code__.co_varnames[: rule.__code__.co_argcount]

    def of_one(xp, g, x_shape, n, axis, norm):
        given = {"xp": xp, "g": g, "x_shape": x_shape, "n": n, "axis": axis, "norm": norm or "backward"}
        return rule(*[given[key] for key in asked])

    def of_several(xp, g, x_shape, s, axes, norm):
        s = None if s is None else tuple(int(n) for n in np.atleast_1d(s))
        axes = None if axes is None else tuple(int(a) for a in np.atleast_1d(axes))
        given = {"xp": xp, "g": g, "x_shape": x_shape, "s": s, "axes": axes, "norm": norm or "backward"}
        return rule(*[given[key] for key in asked])

    return of_one if params == _ONE else of_several


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    everyday(f"fft.{_name}", _ONE, rules={"x": _table_rule(_name, _ONE)}, like=_name, **_EVERY)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    everyday(f"fft.{_name}", _MANY, rules={"x": _table_rule(_name, _MANY)}, like=_name, **_EVERY)

# -- cosine and sine transforms ---------------------------------------------------------------------------------------

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


# What orthogonalize=True multiplies by the square root of 2 in the input, and divides by it in the result.
_ORTHOGONAL_IN = {("dct", 1): ("first", "last"), ("dct", 3): ("first",), ("dst", 3): ("last",)}
_ORTHOGONAL_OUT = {("dct", 1): ("first", "last"), ("dct", 2): ("first",), ("dst", 2): ("last",)}


def _ends(n, axis, ndim, **factors):
    """Factors along an axis: `first` and `last` at its ends."""
    weights = np.ones(n)
    weights[0] *= factors.get("first", 1.0)
    weights[-1] *= factors.get("last", 1.0)
    return weights.reshape(along(n, axis, ndim))


def _transposed(name, g, type, axis, norm, orthogonalize):
    """The transposed matrix times g."""
    function = _NAMES[name]
    if raw(g).dtype.kind == "c":
        orthogonalize = None  # SciPy reads the argument for real input only, and g is complex where the input is
    if norm == "ortho" and orthogonalize in (None, True):
        return function(g, _INVERSE[type], axis=axis, norm="ortho")
    n, ndim = raw(g).shape[axis], g.ndim
    if orthogonalize:
        after = _ends(n, axis, ndim, **dict.fromkeys(_ORTHOGONAL_IN.get((name, type), ()), 2.0**0.5))
        before = _ends(n, axis, ndim, **dict.fromkeys(_ORTHOGONAL_OUT.get((name, type), ()), 0.5**0.5))
        return _transposed(name, g * before, type, axis, norm, False) * after
    further = {"axis": axis, "norm": norm}
    if norm == "ortho":
        further["orthogonalize"] = False
    cosine = name == "dct"
    place = "first" if cosine else "last"
    if type == 2:
        return function(g * _ends(n, axis, ndim, **{place: 2.0}), 3, **further)
    if type == 3:
        return function(g, 2, **further) * _ends(n, axis, ndim, **{place: 0.5})
    if type == 1 and cosine:
        doubled = g * _ends(n, axis, ndim, first=2.0, last=2.0)
        return function(doubled, 1, **further) * _ends(n, axis, ndim, first=0.5, last=0.5)
    return function(g, type, **further)


def _sized(x, n, axis):
    """x cut to n elements along an axis, or filled with zeros."""
    have = raw(x).shape[axis]
    if n is None or n == have:
        return x
    axis = from_start(axis, x.ndim)
    if n < have:
        return x[at_axis(axis, slice(n))]
    pad = ag.pad if isinstance(x, ag.Tensor) else np.pad
    return pad(x, tuple((0, n - have) if i == axis else (0, 0) for i in range(x.ndim)))


def _declare(name, inverse):
    @_CHAPTER.by_rule(name, "x", "transposed matrices (Martucci 1994)")
    def rule(g, ans, x, type=2, n=None, axis=-1, norm=None, orthogonalize=None):
        have = raw(x).shape[axis]
        return _sized(_transposed(name, g, type, axis, norm, orthogonalize), have, axis)

    @_CHAPTER.by_composition(inverse, "x", "transposed matrices (Martucci 1994)")
    def formula(x, type=2, n=None, axis=-1, norm=None, orthogonalize=None):
        x = _sized(_floating(x), n, axis)
        return _NAMES[name](x, _INVERSE[type], axis=axis, norm=_SWAPPED[norm], orthogonalize=orthogonalize)

    def back(g, x_shape, type, axis, norm, orthogonalize):
        return _sized(_transposed(name, g, type, axis, norm, orthogonalize), x_shape[axis], axis)

    def back_of_inverse(g, x_shape, type, axis, norm, orthogonalize):
        return back(g, x_shape, _INVERSE[type], axis, _SWAPPED[norm], orthogonalize)

    signature = "x, type=2, n=None, axis=-1, norm=None, *, orthogonalize=None"
    everyday(f"fft.{name}", signature, rules={"x": back}, dtypes="fdFD")
    everyday(f"fft.{inverse}", signature, rules={"x": back_of_inverse}, dtypes="fdFD")

    def over_axes(function):
        def formula(x, type=2, s=None, axes=None, norm=None, orthogonalize=None):
            x = _floating(x)
            s, axes = _axes_of(x, s, axes)
            for i, axis in enumerate(axes):
                n = None if s is None else int(np.atleast_1d(s)[i])
                x = _NAMES[function](x, type, n=n, axis=axis, norm=norm, orthogonalize=orthogonalize)
            return x

        return formula

    for function in (name, inverse):
        _CHAPTER.by_composition(f"{function}n", "x", "transposed matrices (Martucci 1994)")(over_axes(function))


_declare("dct", "idct")
_declare("dst", "idst")

# -- several axes of Hermitian spectra, logarithmic grids -------------------------------------------------------------

_CONJUGATED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hermitian(name, axes=None):
    default, back = axes, name.startswith("i")
    function = ag.fft.rfftn if back else ag.fft.irfftn

    @_CHAPTER.by_composition(name, "x", "the table, of the conjugate")
    def formula(x, s=None, axes=default, norm=None):
        x = _floating(x)
        s, axes = _axes_of(x, s, axes)
        s = None if s is None else tuple(int(n) for n in np.atleast_1d(s))
        found = function(x if back else ag.conj(x), s=s, axes=axes, norm=_CONJUGATED[norm])
        return ag.conj(found) if back else found


_hermitian("hfftn")
_hermitian("ihfftn")
_hermitian("hfft2", (-2, -1))
_hermitian("ihfft2", (-2, -1))


def _logarithmic(name, parameter):
    fixed = dict.fromkeys(("dln", "mu", "offset", "bias"), "the grid is constant here")

    def formula(x, dln, mu, offset=0.0, bias=0.0):
        x = ag.asarray(x)
        unit = getattr(_fft, name)(np.eye(raw(x).shape[-1]), dln, mu, offset, bias)
        return ag.matmul(x, ag.asarray(unit))

    def of_a(a, dln, mu, offset=0.0, bias=0.0):
        return formula(a, dln, mu, offset, bias)

    def of_A(A, dln, mu, offset=0.0, bias=0.0):
        return formula(A, dln, mu, offset, bias)

    _CHAPTER.by_composition(name, parameter, "Hamilton (2000); linear", refuse=fixed)({"a": of_a, "A": of_A}[parameter])


_logarithmic("fht", "a")
_logarithmic("ifht", "A")
_CHAPTER.constants("next_fast_len", "prev_fast_len", "get_workers")
_CHAPTER.no_rule("the grid is constant here", "fhtoffset")
_CHAPTER.classes("it sets how transforms run", "set_backend", "skip_backend", "set_global_backend", "register_backend",
                 "set_workers")  # fmt: skip


def _frequencies(name):
    @_CHAPTER.by_composition(name, "d", "definition")
    def formula(n, d=1.0):
        return getattr(_fft, name)(n) / ag.asarray(d)


_frequencies("fftfreq")
_frequencies("rfftfreq")

# -- SciPy's backend protocol -----------------------------------------------------------------------------------------


class backend:
    """A backend of SciPy's own protocol: `with scipy.fft.set_backend(arraygrad.scipy.fft.backend):`.

    In it scipy.fft's functions of a Tensor are those here; others go on to SciPy's next backend.
    """

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method, args, kwargs):
        ours = _NAMES.get(method.__name__)
        return ours(*args, **kwargs) if ours is not None and holds_tensor((args, kwargs)) else NotImplemented


globals().update(_NAMES)

__getattr__, __dir__ = mirror(globals(), _fft)
