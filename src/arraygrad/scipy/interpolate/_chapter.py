"""The chapter that functions and classes of scipy.interpolate are declared in, and what they share.

May import: arraygrad, core, scipy._declare, scipy._guards, numpy, SciPy.
"""

import functools
import warnings

import numpy as np
from scipy import interpolate

import arraygrad as ag
from arraygrad.core.containers import flatten
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import Chapter, guarded, raw
from arraygrad.scipy._guards import Fixed, NotDifferentiable
from arraygrad.scipy._values import at_value, like_plain, undefined_where

__all__ = [
    "CHAPTER",
    "NAMES",
    "Interpolant",
    "at_value",
    "constant_only",
    "floating",
    "has_tensor",
    "kept",
    "like_plain",
    "refuse_narrow",
    "shape_of",
    "undefined_where",
]

CHAPTER = Chapter("interpolate", interpolate)
NAMES = CHAPTER.names


def shape_of(a):
    return tuple(np.shape(raw(a)))


def floating(a):
    """A Tensor in double precision, as SciPy's interpolants compute."""
    a = ag.asarray(a)
    wanted = ag.complex128 if raw(a).dtype.kind == "c" else ag.float64
    return a if raw(a).dtype == wanted else ag.astype(a, wanted)


def real_points(a):
    """`floating` of points or sites. Of complex ones SciPy takes the real parts, and warns of it."""
    a = floating(a)
    if raw(a).dtype.kind != "c":
        return a
    warnings.warn(
        "Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=3
    )
    return ag.real(a)


@functools.cache
def _fitpack_casts():
    """Whether FITPACK's functions take the real parts of complex numbers, as before SciPy 1.18, which refuses them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            interpolate.splev(np.array([0.5 + 0.0j]), (np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4), 1))
        except TypeError:
            return False
    return True


def reals_of_fitpack(a):
    """`real_points` of what FITPACK reads, where this SciPy casts it; otherwise SciPy's error."""
    if np.asarray(raw(a)).dtype.kind == "c" and not _fitpack_casts():
        raise TypeError(
            "Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule 'safe'"
        )
    return real_points(a)


def refuse_narrow(name, nodes):
    """Refuse integers whose differences their own type does not hold: SciPy subtracts the nodes in it."""
    nodes = np.asarray(raw(nodes))
    if nodes.dtype.kind not in "iu" or nodes.ndim != 1:
        return
    wide = nodes.astype(float)
    if not np.array_equal(nodes[:, None] - nodes, wide[:, None] - wide) or not np.array_equal(-nodes, -wide):
        raise NotDifferentiable(
            f"arraygrad.scipy.interpolate.{name}: SciPy subtracts the nodes in their own type, {nodes.dtype}, which "
            "does not hold the differences: its values are not those of the polynomial. Pass them as floats"
        )


def kept(a):
    """A Tensor of floating-point numbers in their own precision."""
    a = ag.asarray(a)
    return a if raw(a).dtype.kind in "fc" else ag.astype(a, ag.float64)


def has_tensor(*values):
    return any(isinstance(leaf, Tensor) for leaf in flatten(values)[0])


def constant_only(name, parameter, value):
    """Refuse a parameter that has no rule."""
    if any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in flatten(value)[0]):
        raise TypeError(
            f"arraygrad.scipy.interpolate.{name}: argument '{parameter}' requires grad, but is not differentiable (it "
            "has no rule). Pass its detach() if no gradient is wanted"
        )
    return raw(value)


def _real(value):
    """A raw argument for SciPy's own class; the real function where an adopted call has what stands in for it."""
    return getattr(value, "stands_for", value) if callable(value) else raw(value)


class Interpolant(Fixed):
    """What our interpolants share: SciPy's own object of the same data, for what has no rule here."""

    _scipy_class = None

    def _remember(self, *args, **kwargs):
        self._args, self._kwargs = args, kwargs
        # Made at once, so that SciPy's own checks speak first.
        self._plain = self._scipy_class(*map(_real, args), **{k: _real(v) for k, v in kwargs.items()})

    @property
    def scipy_object(self):
        """SciPy's own interpolant of the plain data."""
        return self._plain

    def _is_plain(self, *values):
        """Whether nothing here is a Tensor, so that SciPy's own object answers."""
        return not has_tensor(self._args, self._kwargs, values)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._plain, name)
        held = (self._args, self._kwargs)
        kind = type(self).__name__
        if not callable(value):
            call = guarded(f"interpolate.{kind}.{name}", lambda held: value, "the attribute has no rule here")
            return call(held)
        call = guarded(
            f"interpolate.{kind}.{name}", lambda held, *a, **k: value(*a, **k), "the method has no rule here"
        )
        return lambda *a, **k: call(held, *a, **k)
