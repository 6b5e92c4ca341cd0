"""Integrals of gradients, which may be singular where the function is not.

May import: scipy.integrate._at_nodes, numpy, SciPy.

A gradient under an integral often has a singularity that its function lacks: that of sqrt(r**2 - t**2) in r is infinite
at t = r. SciPy's rule for arrays (`quad_vec`) halves intervals towards such a point and stops where they can be halved
no more: the value of the last one is then wrong or not finite, and it may report success. QUADPACK's QAGS (`quad`)
extrapolates towards the singularity and says where an integral diverges. So one integral of all components is tried
first, and where it ran into a singularity each component is integrated by itself. A gradient that neither can integrate
is nan, with a warning.

Source: R. Piessens, E. de Doncker-Kapenga, C. W. Ueberhuber, D. K. Kahaner, QUADPACK, Springer 1983.
"""

import warnings

import numpy as np
from scipy import integrate

from arraygrad.scipy.integrate._at_nodes import Nodes

__all__ = ["MATH_ERRORS", "ROUNDED", "ROUNDING", "integral_of_a_gradient", "warn"]

_SINGULAR = 5  # points at which an interval is divided because a node was there
# What functions of numbers raise where they have no value; NumPy's have infinite values or nan there.
MATH_ERRORS = (ZeroDivisionError, OverflowError, ValueError)

_SUBSTITUTE = (
    "If the function is singular at a limit that depends on the same argument, write the integral with constant "
    "limits: x = a + (b - a) * u with u from 0 to 1"
)
# An interval this small beside the whole says that the rule has followed a singularity to the end of the precision.
_SMALLEST = 2.0**-30
# Intervals of one integral, and how large its error may be where rounding keeps it above the tolerance
# (of the integral of the absolute value).
_LIMIT, ROUNDED = 1000, 1e-7
# Intervals after which one looks for the first time: halving towards a singularity takes 30 of them to get to
# _SMALLEST, and quad_vec would go on there until _LIMIT.
_FIRST_LIMIT = 64
ROUNDING = 2  # quad_vec's status: rounding errors keep the tolerance from being reached


def warn(name, what, advice=_SUBSTITUTE):
    """Warn that a gradient of the integral `name` is nan."""
    warnings.warn(f"{name}: {what}, so the gradient is nan. {advice}", integrate.IntegrationWarning, stacklevel=2)


def no_value(error):
    """Whether the error is what a function of numbers raises where it has no value, as at a singularity."""
    return not isinstance(error, ValueError) or "math domain error" in str(error) or "math range error" in str(error)


def integral_of_a_gradient(name, f, a, b, tolerances, points=None, slopes=None):
    """The integral of f over [a, b].

    Parameters
    ----------
    name : str
        The function of SciPy that is differentiated, for the warning.
    f : callable
        f(x) for a float x: an array of the same shape for all x, real or complex.
    a, b : float
        The limits; they may be infinite.
    tolerances : dict
        epsabs and epsrel.
    points : sequence of float, optional
        Where f may have a jump or a singularity.
    slopes : Slopes, optional
        What gives values of f at many numbers.

    Returns
    -------
    array
        Of the shape of f(x); nan, with an `IntegrationWarning`, in the components that do not converge.
    """
    inside = None if points is None else [float(x) for x in points if min(a, b) < x < max(a, b)]
    inside = inside or None
    if a == b:
        return np.zeros_like(np.asarray(f(a)))
    with np.errstate(all="ignore"):
        for limit in (_FIRST_LIMIT, _LIMIT):
            try:
                found, error, info = integrate.quad_vec(
                    Nodes(f, slopes, a, b, inside), a, b, points=inside, limit=limit, full_output=True, **tolerances
                )
            except MATH_ERRORS as error:
                if not no_value(error):
                    raise
                break
            ends = np.asarray(info.intervals)
            width = np.abs(ends[:, 1] - ends[:, 0]).min(initial=np.inf)
            if width <= _SMALLEST * (ends.max() - ends.min()):
                break
            settled = info.success or (info.status == ROUNDING and error <= ROUNDED * np.nansum(np.abs(info.integrals)))
            if settled:
                if np.all(np.isfinite(found)):
                    return np.asarray(found)
                break
        return _by_component(name, f, a, b, tolerances, inside)


def _first(at, a, b):
    """The number of components of f, at the first point within [a, b] where it has a value."""
    if np.isfinite(a) and np.isfinite(b):
        points = [a + (b - a) * u for u in (0.37, 0.5, 0.81)]
    else:
        points = [a + 1.3, a + 11.0] if np.isfinite(a) else [b - 1.3, b - 11.0] if np.isfinite(b) else [0.3, -1.7]
    for x in points[:-1]:
        try:
            return len(at(x))
        except MATH_ERRORS as error:
            if not no_value(error):
                raise
    return len(at(points[-1]))


class _NotFinite(Exception):
    """The integrand is infinite or nan at x."""

    def __init__(self, x):
        super().__init__(x)
        self.x = x


def _component(f, a, b, tolerances, points):
    """(the integral of a function of a number, the reason why it does not converge or "")."""

    def finite(x):
        value = f(x)
        if not np.isfinite(value):
            raise _NotFinite(x)
        return value

    try:
        value, error, info, *said = integrate.quad(finite, a, b, full_output=1, limit=_LIMIT, points=points or None,
                                                   **tolerances)  # fmt: skip
    except MATH_ERRORS as problem:
        if not no_value(problem):
            raise
        return np.nan, f"{type(problem).__name__}: {problem}"
    reason = " ".join(str(said[0]).split()) if said else ""
    if "oundoff" in reason and error <= ROUNDED * np.abs(info["rlist"][: info["last"]]).sum():
        reason = ""
    return value, reason


def _by_component(name, f, a, b, tolerances, points):
    """The integral of f, component by component."""
    values = {}
    form = None

    def at(x):
        nonlocal form
        value = values.get(x)
        if value is None:
            form = np.asarray(f(x))
            flat = np.ravel(form)
            value = flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat
            values[x] = value
        return value

    n = _first(at, a, b)
    found = np.empty(n)
    for i in range(n):
        divided, reason = set(points or ()), "?"
        for _ in range(_SINGULAR if np.isfinite(a) and np.isfinite(b) else 1):
            try:
                found[i], reason = _component(lambda x, i=i: at(x)[i], a, b, tolerances, sorted(divided))
                break
            except _NotFinite as problem:  # a node may be just where f is singular: the interval is divided there
                reason = f"it is not finite at {problem.x:g}"
                if problem.x in divided:
                    break
                divided.add(problem.x)
        if reason:
            warn(name, f"the integral of its derivative from {a:g} to {b:g} does not converge ({reason})")
            found[i] = np.nan
    if np.iscomplexobj(form):
        found = found.view(np.complex128)
    return found.reshape(form.shape)
