"""What a generated call is, and how it is held to its reference: values, first and second derivatives, refusals.

Imports of arraygrad: the public face; core.inplace, for whether a result without axes is a scalar.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

import arraygrad as ag
from arraygrad.core.inplace import is_scalar

from ..check import directional
from ..gradients import Mismatch, dot, random_direction


@dataclass(frozen=True)
class Spelling:
    """A call of a function of arrays.

    Parameters
    ----------
    what : str
        The call as a reader would write it, with its arguments: it is what a failure prints.
    ours : callable
        Takes one Tensor (or array) for each of `arrays`; returns an array, or a list, tuple or dict of arrays.
    plain : callable
        The same call on plain arrays, by NumPy, SciPy or a formula of the test's own. Differences are taken of it.
    arrays : tuple of array
        Those with floating-point or complex dtype are differentiated.
    order : int
        Derivatives up to this order are compared: 0, 1 or 2.
    rtol : float
        Of the derivative along a direction. For float32 and complex64 it is 1e-3 at least.
    value_rtol : float
        Of the values, relative to the largest.
    step : float
        The largest step of the differences.
    dtypes : bool
        Whether dtypes must be those of the plain call.
    may_refuse : tuple of exception types
        What `ours` may raise where the plain call answers. Without it, any exception is a failure.
    must_refuse : bool
        Where the plain call raises, ours must raise.
    bits : bool
        Whether values must be those of the plain call to the last bit, in containers of the same kind, and scalars
        where it gives scalars.
    refusals : str
        What the text of an exception of `ours` may hold where the plain call answers, as a regular expression.
    anywhere : bool
        Whether a point may be a kink or infinite: derivatives are compared where the differences of both sides agree,
        and those of the elements that are finite.
    may_be_nan : bool
        Whether a derivative may be nan at finite numbers: at a point where a formula divides by zero.
    """

    what: str
    ours: Callable
    plain: Callable
    arrays: tuple
    order: int = 1
    rtol: float = 1e-6
    value_rtol: float = 1e-10
    step: float = 1e-3
    dtypes: bool = True
    may_refuse: tuple = ()
    must_refuse: bool = True
    bits: bool = False
    refusals: str = ""
    anywhere: bool = False
    may_be_nan: bool = False


@dataclass
class Counts:
    calls: int = 0
    refused_by_both: int = 0
    refused: int = 0
    values: int = 0
    gradients: int = 0
    second: int = 0
    undecided: int = 0

    def line(self):
        return (
            f"{self.calls} calls, {self.values} values, {self.gradients} gradients, {self.second} second derivatives; "
            f"{self.refused_by_both} refused by both, {self.refused} by arraygrad alone, {self.undecided} undecided"
        )


def parts(result):
    """The arrays of a result, in order."""
    if isinstance(result, dict):
        return [part for key in sorted(result) for part in parts(result[key])]
    if isinstance(result, (list, tuple)):
        return [part for item in result for part in parts(item)]
    return [result]


def kind_of(result):
    """What a result is made of: containers by name, scalars and arrays."""
    if isinstance(result, (list, tuple)):
        return type(result).__name__, [kind_of(item) for item in result]
    if isinstance(result, ag.Tensor):
        return "scalar" if is_scalar(result) else "array"
    return "array" if isinstance(result, np.ndarray) else "scalar"


def raw(part):
    return part.numpy() if isinstance(part, ag.Tensor) else np.asarray(part)


def differentiable(array):
    return np.asarray(array).dtype.kind in "fc"


def quiet(function, *arguments):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*arguments)


def check(spelling, counts=None, seed=0):
    """Raises Mismatch where `ours` does not do what the plain call does."""
    counts = counts or Counts()
    counts.calls += 1
    rng = np.random.default_rng(seed)
    copies = [np.array(a, copy=True) for a in spelling.arrays]
    try:
        plain = quiet(spelling.plain, *copies)
        expected = [np.asarray(part) for part in parts(plain)]
    except Exception as error:
        return _refused(spelling, counts, error)
    try:
        tensors = _tensors(spelling.arrays)
        found = quiet(spelling.ours, *tensors)
        results = parts(found)
        if spelling.bits and kind_of(found) != kind_of(plain):
            raise Mismatch("value", f"{kind_of(found)}, of the plain call {kind_of(plain)}")
        _values(spelling, results, expected, counts)
        if spelling.order:
            quiet(_derivatives, spelling, tensors, results, counts, rng)
    except spelling.may_refuse:
        counts.refused += 1
    except Mismatch as error:
        raise Mismatch(error.what, f"{spelling.what}: {error}") from None
    except Exception as error:
        if spelling.refusals and re.search(spelling.refusals, str(error)):
            counts.refused += 1
            return
        raise Mismatch("refused", f"{spelling.what} raises {type(error).__name__}: {error}") from error


def _refused(spelling, counts, error):
    counts.refused_by_both += 1
    if not spelling.must_refuse:
        return
    try:
        found = quiet(spelling.ours, *_tensors(spelling.arrays))
    except Exception:
        return
    message = f"{spelling.what} gives {found}, where the plain call raises {type(error).__name__}: {error}"
    raise Mismatch("accepted", message)


def _tensors(arrays):
    return [ag.tensor(a, requires_grad=differentiable(a)) for a in arrays]


def _values(spelling, results, expected, counts):
    if len(results) != len(expected):
        raise Mismatch("value", f"{len(results)} results, of the plain call {len(expected)}")
    for ours, theirs in zip(map(raw, results), expected, strict=True):
        counts.values += 1
        if spelling.bits or spelling.anywhere:  # operations compute in the processor's byte order
            ours, theirs = (a.astype(a.dtype.newbyteorder("="), copy=False) for a in (ours, theirs))
        if ours.shape != theirs.shape or (spelling.dtypes and ours.dtype != theirs.dtype):
            raise Mismatch("value", f"{ours.dtype}{ours.shape}, of the plain call {theirs.dtype}{theirs.shape}")
        if spelling.bits and not _same_bits(ours, theirs):
            raise Mismatch("value", f"{ours.tolist()}, of the plain call {theirs.tolist()}, to the last bit")
        low = theirs.dtype in (np.dtype(np.float32), np.dtype(np.complex64), np.dtype(np.float16))
        rtol = max(spelling.value_rtol, 1e-4) if low else spelling.value_rtol
        if theirs.dtype.kind not in "fc":
            good = np.array_equal(ours, theirs)
        else:
            finite = np.abs(theirs[np.isfinite(theirs)])
            scale = np.max(finite, initial=0.0)
            good = np.allclose(ours, theirs, rtol=0.0, atol=rtol * scale, equal_nan=True)
        if not good:
            raise Mismatch("value", f"{ours.tolist()}, of the plain call {theirs.tolist()}")


def _same_bits(ours, theirs):
    """Equal numbers. A zero's sign counts but for complex numbers, whose rounding has none of its own."""
    if not np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "fc"):
        return False
    real = theirs.dtype.kind == "f"
    return not real or np.array_equal(np.signbit(ours) & ~np.isnan(ours), np.signbit(theirs) & ~np.isnan(theirs))


def _widened(array):
    """Numbers of at least double precision; those that have more keep it, as the function may be another in double."""
    return array.astype(np.result_type(array.dtype, np.float64)) if array.dtype.kind in "fc" else array.copy()


def _weights(rng, expected):
    return [random_direction(rng, part.shape, part.dtype.kind == "c") for part in expected]


def _objective(results, weights):
    """The sum of the real inner products of results and weights; nan where a result is not finite or has another shape.

    The shape moves with the values where a rule chooses how many there are (bins="stone").
    """
    if any(np.shape(part) != np.shape(w) for part, w in zip(results, weights, strict=True)):
        return np.longdouble("nan")
    return sum((dot(w, _kept(part, w)) for part, w in zip(results, weights, strict=True)), np.longdouble(0))


def _kept(part, weights):
    """Zeros where a weight is zero, so that what is not finite there does not count."""
    return np.where(weights == 0, 0, part)


def _where_finite(weights, array):
    return np.where(np.isfinite(array), weights, 0)


def _floating(results):
    return [part for part in map(np.asarray, results) if part.dtype.kind in "fc"]


def _gradients(spelling, tensors, results, weights, create_graph=False):
    """The gradient by each differentiated array; zeros where the result does not depend on it."""
    inputs = [t for t in tensors if t.requires_grad]
    roots = [
        (part, w)
        for part, w in zip([p for p in results if raw(p).dtype.kind in "fc"], weights, strict=True)
        if isinstance(part, ag.Tensor) and part.requires_grad
    ]
    found = [None] * len(inputs)
    if roots and inputs:
        found = quiet(
            lambda: ag.autograd.grad(
                [part for part, _ in roots],
                inputs,
                [ag.asarray(w.astype(raw(part).dtype)) for part, w in roots],
                allow_unused=True,
                create_graph=create_graph,
            )
        )
    for t, g in zip(inputs, found, strict=True):
        if g is not None and (g.shape, g.dtype) != (t.shape, t.dtype):
            raise Mismatch("gradient", f"is {g.dtype}{g.shape} for an array of {t.dtype}{t.shape}")
    return inputs, [
        ag.asarray(np.zeros(t.shape, t.dtype)) if g is None else g for t, g in zip(inputs, found, strict=True)
    ]


def smooth(function, steps):
    """`directional` where both sides have that slope, up to a thousandth; otherwise nan."""
    function = cache(function)
    value, error = directional(function, steps[:2])
    h = steps[1]
    at = function(0.0)
    sides = [(18 * function(s) - 9 * function(2 * s) + 2 * function(3 * s) - 11 * at) / (6 * s) for s in (h, -h)]
    spread = max(abs(side - value) for side in sides)
    error += 4e-16 * abs(at) / h  # rounding
    return value if spread <= 1e-3 * max(abs(value), 1e-2) else np.longdouble("nan"), error


def _linear(function, direction, steps, rng):
    """Whether slopes of two directions add up: they do not where more than two elements are equal."""
    for _ in range(3):
        other = _where_finite(random_direction(rng, direction.shape, direction.dtype.kind == "c"), direction)
        other = np.where(direction == 0, 0, other)
        found = [smooth(partial(function, d=d), steps)[0] for d in (direction, other, direction + other)]
        if not abs(found[0] + found[1] - found[2]) <= 1e-3 * max(*map(abs, found), 1e-2):
            return False
    return True


def _derivatives(spelling, tensors, results, counts, rng):
    floating = [raw(part) for part in results if raw(part).dtype.kind in "fc"]
    weights = list(map(_where_finite, _weights(rng, floating), floating))
    inputs, gradients = _gradients(spelling, tensors, results, weights, create_graph=spelling.order > 1)
    places = [i for i, a in enumerate(spelling.arrays) if differentiable(a)]
    directions = list(map(_where_finite, _weights(rng, list(map(raw, inputs))), map(raw, inputs)))
    low = any(a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1) < 8 for a in map(raw, inputs))
    wide = [_widened(np.asarray(a)) for a in spelling.arrays]

    def moved(h, place, d):
        arrays = [a.copy() for a in wide]
        arrays[place] = arrays[place] + float(h) * d
        return arrays

    finite = all(np.all(np.isfinite(a)) for a in [*floating, *filter(differentiable, spelling.arrays)])
    steps = [spelling.step, spelling.step / 4, spelling.step / 16]
    slopes = smooth if spelling.anywhere else directional
    for place, gradient, direction in zip(places, gradients, directions, strict=True):

        def value(h, d, place=place):
            try:
                near = quiet(spelling.plain, *moved(h, place, d))
            except Exception:
                if not spelling.anywhere:
                    raise
                return np.longdouble("nan")  # beyond the end of what the function takes
            return _objective(_floating(parts(near)), weights)

        counts.gradients += 1
        linear = spelling.anywhere and partial(_linear, value, direction, steps, rng)
        expected = slopes(partial(value, d=direction), steps)
        _compare(
            "gradient", spelling, f"of argument {place}", gradient, direction, *expected, low, counts,
            finite=finite, linear=linear,
        )  # fmt: skip
    if spelling.order < 2 or low or not inputs:
        return
    second_weights = list(map(_where_finite, _weights(rng, list(map(raw, inputs))), map(raw, gradients)))
    finite = finite and all(np.all(np.isfinite(raw(g))) for g in gradients)
    kept = [(g, w) for g, w in zip(gradients, second_weights, strict=True) if g.requires_grad]
    found = [None] * len(inputs)
    if kept:
        found = quiet(
            lambda: ag.autograd.grad(
                [g for g, _ in kept], inputs, [ag.asarray(w.astype(g.dtype)) for g, w in kept], allow_unused=True
            )
        )
    for place, second, like, direction in zip(places, found, inputs, directions, strict=True):

        def slope(h, d, place=place):
            near = _tensors(moved(h, place, d))
            try:
                results = parts(quiet(spelling.ours, *near))
            except Exception:
                if not spelling.anywhere:
                    raise
                return np.longdouble("nan")
            if [p.shape for p in map(raw, results) if p.dtype.kind in "fc"] != [w.shape for w in weights]:
                return np.longdouble("nan")
            return _objective([g.numpy() for g in _gradients(spelling, near, results, weights)[1]], second_weights)

        counts.second += 1
        second = ag.asarray(np.zeros(like.shape, like.dtype)) if second is None else second
        linear = spelling.anywhere and partial(_linear, slope, direction, steps, rng)
        expected = slopes(partial(slope, d=direction), [4 * s for s in steps])
        _compare(
            "second derivative", spelling, f"of argument {place}", second, direction, *expected, low, counts, 10,
            finite=finite, linear=linear,
        )  # fmt: skip


def _compare(
    what, spelling, which, gradient, direction, expected, error, low, counts, looser=1, finite=True, linear=None
):
    gradient = _kept(raw(gradient), direction)
    ours = dot(gradient, direction)
    size = max(np.sum(np.abs(gradient) * np.abs(direction)), abs(expected)) if gradient.size else abs(expected)
    rtol = looser * (max(spelling.rtol, 1e-3) if low else spelling.rtol)
    if np.isnan(ours) and (not finite or (spelling.anywhere and spelling.may_be_nan)):
        counts.undecided += 1  # it says so itself
        return
    if low and not np.isfinite(ours) and abs(expected) > float(np.finfo(np.float32).max):
        counts.undecided += 1  # single precision holds no such slope, and says so
        return
    if not np.isfinite(expected) or error > 1e-4 * max(size if np.isfinite(size) else 0.0, abs(expected), 1e-3):
        counts.undecided += 1
        return
    size = size if np.isfinite(size) else abs(expected)  # an infinite slope is near no other
    if not abs(ours - expected) <= rtol * max(size, 1e-2) + 10 * error:
        if linear and not linear():
            counts.undecided += 1
            return
        raise Mismatch(
            what,
            f"{which} along a direction is {float(ours)!r}, by differences {float(expected)!r} "
            f"(+- {float(error):.1g}); gradient {gradient.tolist()}, direction {direction.tolist()}",
        )
