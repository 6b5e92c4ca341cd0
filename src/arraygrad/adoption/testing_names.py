"""What stands in for the checks of numpy.testing in adopted calls: they compare plain values.

May import: adoption.exchange, adoption.table, numpy_api.functions, the standard library, numpy.

A check says nothing of a gradient, and has no result that one could flow through. NumPy imports numpy.testing where it
is first used, so the stand-ins are made when adoption meets the functions or the module.
Guarded by tests/adoption/test_checks_of_numpy.py.
"""

import functools
import sys
import types

from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.table import MAKERS, stand_in_made
from arraygrad.numpy_api.functions import plain_values

__all__ = ["install", "testing"]

_NAME = "numpy.testing"
_CHECKS = frozenset(
    """
    assert_allclose assert_almost_equal assert_approx_equal assert_array_almost_equal assert_array_almost_equal_nulp
    assert_array_equal assert_array_less assert_array_max_ulp assert_equal
    """.split()
)


def install():
    """Have what stands in for the checks made when adoption meets them."""
    MAKERS.append(_pair)


def testing(module):
    """What stands in for the module numpy.testing."""
    return stand_in_made(module, _module)[1]


def _pair(value):
    if isinstance(value, types.FunctionType):
        if value.__name__ in _CHECKS and value.__module__.startswith(_NAME):
            return stand_in_made(value, _of_values)
    elif isinstance(value, types.ModuleType) and value is sys.modules.get(_NAME):
        return stand_in_made(value, _module)
    return None


def _module(real):
    other = types.ModuleType(real.__name__, real.__doc__)
    vars(other).update(vars(real))
    for name in _CHECKS & set(vars(real)):
        setattr(other, name, stand_in_made(getattr(real, name), _of_values)[1])
    return other


def _of_values(real):
    @functools.wraps(real)
    def check(*args, **kwargs):
        if is_on():
            args = [plain_values(arg) for arg in args]
            kwargs = {key: plain_values(value) for key, value in kwargs.items()}
        return real(*args, **kwargs)

    return check
