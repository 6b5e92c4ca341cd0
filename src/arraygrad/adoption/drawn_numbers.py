"""What stands in for the methods of NumPy's random generators in adopted calls: their parameters have derivatives.

May import: adoption.exchange, adoption.table, core.tensor, numpy_api.arrays, numpy_api.functions, the standard library,
numpy.

Note [Drawn numbers]
~~~~~~~~~~~~~~~~~~~~
A program that draws with a generator of its own, and starts it anew for each call, is a function of the parameters of
what it draws: `rng.normal(mu, sigma, n)` is `mu + sigma * z` with the same z. That formula is recorded (the "pathwise"
or "reparameterised" gradient: Mohamed et al., Monte Carlo Gradient Estimation in Machine Learning, JMLR 21, 2020,
section 5). The generator draws z itself, from the law with the parameters 0 and 1, and takes from its stream what the
plain call takes: what is drawn next, and the values, are those of the plain program.
(1) A trial on another generator, with the plain values, raises what NumPy raises and tells the shape of the result.
(2) Recorded are the laws whose numbers are smooth functions of the parameters for a fixed stream. Draws by rejection
    (the shapes of gamma, beta, Student's t) jump, and counts have no derivative: NumPy's method refuses the Tensor.
(3) `choice`, `permutation`, `permuted` and `shuffle` move the elements of a Tensor: the generator moves their places.
(4) `numpy.random.normal` and its like are bound methods, for which another function stands in. No name holds a method
    of a generator of the program's own: code that calls one is rewritten (Note [Code that is rewritten]).
Guarded by tests/adoption/test_drawn_numbers.py.
"""

import functools
import sys
import types

import numpy

from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.table import MAKERS, stand_in_for, stand_in_made
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.arrays import array, holds_tensors
from arraygrad.numpy_api.functions import plain_values

__all__ = ["DRAWS", "called", "install"]

_NONE = object()


def _shifted(draw, loc, scale):
    return loc + scale * draw(0.0, 1.0)


def _scaled(draw, scale):
    return scale * draw(1.0)


def _between(draw, low, high):
    return low + (high - low) * draw(0.0, 1.0)


def _lognormal(draw, mean, sigma):
    return numpy.exp(mean + sigma * draw.by("normal")(0.0, 1.0))


def _gamma(draw, shape, scale):
    return NotImplemented if _is_recorded(shape) else scale * draw(shape, 1.0)


def _weibull(draw, a):
    return draw.by("standard_exponential")() ** (1.0 / a)


def _pareto(draw, a):
    return numpy.expm1(draw.by("standard_exponential")() / a)


def _triangular(draw, left, mode, right):
    u = draw.by("uniform")(0.0, 1.0)
    base = right - left
    low = left + numpy.sqrt(u * ((mode - left) * base))
    high = right - numpy.sqrt((1.0 - u) * ((right - mode) * base))
    return numpy.where(u <= plain_values((mode - left) / base), low, high)


def _multivariate_normal(draw, mean, cov, **options):
    if _is_recorded(cov):
        return NotImplemented
    return mean + draw(numpy.zeros(numpy.shape(mean)), cov, **options)


# Name of a method -> (its parameters before `size`, with their defaults; what it gives by draws of a standard law).
_LAWS = {
    "normal": ({"loc": 0.0, "scale": 1.0}, _shifted),
    "laplace": ({"loc": 0.0, "scale": 1.0}, _shifted),
    "logistic": ({"loc": 0.0, "scale": 1.0}, _shifted),
    "gumbel": ({"loc": 0.0, "scale": 1.0}, _shifted),
    "uniform": ({"low": 0.0, "high": 1.0}, _between),
    "exponential": ({"scale": 1.0}, _scaled),
    "rayleigh": ({"scale": 1.0}, _scaled),
    "lognormal": ({"mean": 0.0, "sigma": 1.0}, _lognormal),
    "gamma": ({"shape": _NONE, "scale": 1.0}, _gamma),
    "weibull": ({"a": _NONE}, _weibull),
    "pareto": ({"a": _NONE}, _pareto),
    "triangular": ({"left": _NONE, "mode": _NONE, "right": _NONE}, _triangular),
    "multivariate_normal": ({"mean": _NONE, "cov": _NONE}, _multivariate_normal),
}


def _choice(generator, a, size=None, replace=True, p=None, axis=0, **options):
    if _is_recorded(p):
        return NotImplemented
    places = generator.choice(a.shape[axis], size, replace, p, **options)
    return numpy.take(a, places, axis) if numpy.ndim(places) or a.ndim > 1 else a[int(places)]


def _permutation(generator, x, axis=0):
    return numpy.take(x, generator.permutation(x.shape[axis]), axis)


def _permuted(generator, x, *, axis=None, out=None):
    if out is not None:
        return NotImplemented
    return x.ravel()[generator.permuted(numpy.arange(x.size).reshape(x.shape), axis=axis)]


def _shuffle(generator, x, axis=0):
    places = numpy.arange(x.shape[axis])
    generator.shuffle(places)
    x[...] = numpy.take(x, places, axis)


_MOVES = {"choice": _choice, "permutation": _permutation, "permuted": _permuted, "shuffle": _shuffle}
# Names of methods that code is rewritten for.
DRAWS = frozenset((*_LAWS, *_MOVES))


def install():
    """Have what stands in for the functions of numpy.random made when adoption meets them."""
    MAKERS.append(_pair)


def _pair(value):
    if type(value) is types.MethodType and value.__name__ in DRAWS and type(value.__self__) is _legacy():
        return stand_in_made(value, _of_method)
    return None


def _legacy():
    random = sys.modules.get("numpy.random")
    return None if random is None else random.RandomState


def _of_method(method):
    @functools.wraps(method)
    def call(*args, **kwargs):
        return called(method.__self__, method.__name__, *args, **kwargs)

    return call


def called(holder, name, *args, **kwargs):
    """`holder.name(*args, **kwargs)`, recorded where a generator is given a parameter that is."""
    if is_on() and holds_tensors((args, tuple(kwargs.values()))):
        random = sys.modules.get("numpy.random")
        generator = random.mtrand._rand if holder is random else holder
        if random is not None and type(generator) in (random.Generator, random.RandomState):
            found = _drawn(generator, name, args, kwargs)
            if found is not NotImplemented:
                return found
    return getattr(holder, name)(*args, **kwargs)


def _drawn(generator, name, args, kwargs):
    if name == "shuffle" and not isinstance(args[0] if args else kwargs.get("x"), Tensor):
        return NotImplemented  # a list: NumPy exchanges its items
    args, kwargs = [_tensor(arg) for arg in args], {key: _tensor(value) for key, value in kwargs.items()}
    if not any(map(_is_recorded, [*args, *kwargs.values()])):
        return NotImplemented
    plain_args, plain_kwargs = plain_values(args), plain_values(kwargs)
    other = _other(type(generator))
    if name in _MOVES:
        if not isinstance(args[0] if args else kwargs.get("a", kwargs.get("x")), Tensor):
            return NotImplemented
        getattr(other, name)(
            *[one.copy() if isinstance(one, numpy.ndarray) else one for one in plain_args], **plain_kwargs
        )
        return _MOVES[name](generator, *args, **kwargs)
    trial = getattr(other, name)(*plain_args, **plain_kwargs)  # (1)
    parameters, formula = _LAWS[name]
    given = dict(zip((*parameters, "size"), args, strict=False)) | kwargs
    size = given.pop("size", None)
    draw = _Draw(generator, name, size if name == "multivariate_normal" else _size_of(trial, size))
    found = formula(draw, **{key: _wide(value) for key, value in {**parameters, **given}.items()})
    if found is NotImplemented or type(trial) is not float:
        return found
    return stand_in_for(float)(found)


def _size_of(trial, size):
    return None if size is None and isinstance(trial, float) else numpy.shape(trial)


class _Draw:
    """A method of a generator, for draws of one size."""

    def __init__(self, generator, name, size):
        self._generator, self._name, self._size = generator, name, size

    def __call__(self, *args, **options):
        return getattr(self._generator, self._name)(*args, size=self._size, **options)

    def by(self, name):
        return _Draw(self._generator, name, self._size)


@functools.cache
def _other(kind):
    """A generator of the program's kind that nobody else draws from."""
    return numpy.random.RandomState(0) if kind is numpy.random.RandomState else numpy.random.default_rng(0)


def _is_recorded(value):
    return isinstance(value, Tensor) and value.requires_grad


def _tensor(value):
    """A list or tuple that holds Tensors as one Tensor."""
    return array(value) if isinstance(value, list | tuple) and holds_tensors(value) else value


def _wide(value):
    """A parameter of float64, as NumPy computes with."""
    return value.astype(float) if isinstance(value, Tensor) and value.dtype != float else value
