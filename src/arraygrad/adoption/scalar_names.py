"""What stands in for NumPy's types of scalars in adopted calls: `numpy.float64(t)` of a Tensor stays recorded.

May import: adoption.builtin_answers, adoption.exchange, adoption.number_names, adoption.table, core.inplace,
core.tensor, numpy.

Note [Types of scalars that stay]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) A call with a floating-point or complex Tensor, or a list of such, is a cast, as NumPy's is of an array: an array of
    that dtype, the array itself where it has it, a scalar where there are no axes. A complex Tensor does not become a
    real one.
(2) The stand-in is a class derived from the real type and equal to it, so that it is a dtype, a key and a class to
    compare with as the real one is.
(3) What code compares by `is` is another object than its stand-in. Where any code that the call reaches compares one
    of these types so (`type(x) is np.float64`), a module has stand-ins for them only if its code uses them up, so that
    nobody gets one who could compare it: type_uses.py. Nor has one where a function imports numpy in its body. There a
    call with a Tensor is refused, as outside of adoption.
Guarded by tests/adoption/test_scalar_types.py and test_types_beside_comparisons.py.
"""

import types

import numpy

from arraygrad.adoption.builtin_answers import gathered, is_floating, raw_of
from arraygrad.adoption.exchange import makes_tensors
from arraygrad.adoption.number_names import Number, derived
from arraygrad.adoption.table import SCALAR_TYPES, WITHOUT_SCALAR_TYPES, stand_in, stands_for
from arraygrad.core.inplace import as_scalar
from arraygrad.core.tensor import Tensor

__all__ = ["install", "leave_out"]

_TYPES: tuple[type, ...] = (numpy.float32, numpy.float64, numpy.complex64, numpy.complex128)


def _cast(real):
    """What a call of `real` with arguments, one of them a Tensor, gives; None: what the real call does."""
    dtype = numpy.dtype(real)

    def cast(*args, **kwargs):
        if len(args) != 1 or kwargs or not makes_tensors():
            return None
        t = gathered(args[0])
        if not isinstance(t, Tensor) or not is_floating(t) or not isinstance(raw_of(t), numpy.ndarray):
            return None
        if t.dtype.kind == "c" != dtype.kind:
            return None
        found = t if t.dtype == dtype else t.astype(dtype)
        return found if found.ndim else as_scalar(found.copy() if found is t else found, False)[()]

    return cast


def _stand_in_type(real):
    return Number(real.__name__, (real,), {"_real": real, "_recorded": staticmethod(_cast(real)), "__slots__": (),
                                           "__module__": "numpy", "__doc__": real.__doc__,
                                           "__init_subclass__": classmethod(derived)})  # fmt: skip


def install():
    """Put what stands in for the types of scalars into the table. Before numpy, which shows them."""
    for real in _TYPES:
        stand_in(real, _stand_in_type(real))
        SCALAR_TYPES.add(id(real))


def leave_out(module):
    """Note a module that stands in for numpy: without the types of scalars it is another one (3)."""
    other = types.ModuleType(module.__name__, module.__doc__)
    vars(other).update(vars(module))
    for name, value in vars(numpy).items():
        if id(value) in SCALAR_TYPES:
            setattr(other, name, value)
    WITHOUT_SCALAR_TYPES[id(module)] = other
    stands_for(other, numpy)
    return other
