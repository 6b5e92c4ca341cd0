"""numpy.emath on Tensors: functions of real numbers that are complex where these leave the domain.

May import: numpy_api.functions, numpy. As NumPy's own: the argument becomes complex as a whole where one real element
lies outside. The gradient of a real argument is the real part of the complex one's.
"""

import numpy

from arraygrad.numpy_api.functions import backend_among, host, implements, tensor_of

__all__: list[str] = []

_SINGLE = frozenset(numpy.dtype(code) for code in "bBhH?fF")


def _complex_where(x, outside):
    """x, complex where a real element of it is `outside`."""
    values = host(x)
    if values.dtype.kind not in "biufc" or not numpy.any(numpy.isreal(values) & outside(values)):
        return x
    return x.astype(numpy.complex64 if values.dtype in _SINGLE else numpy.complex128)


def _below_zero(x):
    return x < 0 if x.dtype.kind != "c" else x.real < 0


def _beyond_one(x):
    return abs(x) > 1


def _of(function, outside):
    @implements(f"lib.scimath.{function.__name__}")
    def call(x):
        return function(_complex_where(_tensor(x), outside))


def _tensor(x):
    return tensor_of(x) if backend_among((x,)) is not None else numpy.asarray(x)


for _name in ("sqrt", "log", "log2", "log10"):
    _of(getattr(numpy, _name), _below_zero)
for _name in ("arccos", "arcsin", "arctanh"):
    _of(getattr(numpy, _name), _beyond_one)


@implements("lib.scimath.logn")
def _logn(n, x):
    x, n = (_complex_where(_tensor(a), _below_zero) for a in (x, n))
    return numpy.log(x) / numpy.log(n)


@implements("lib.scimath.power")
def _power(x, p):
    x, p = _complex_where(_tensor(x), _below_zero), _tensor(p)
    values = host(p)
    if numpy.any(numpy.isreal(values) & _below_zero(values)):
        p = p * 1.0
    return numpy.power(x, p)
