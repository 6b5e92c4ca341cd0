# Which Tensors without axes are Python numbers in a plain call, and what their comparisons give.
# May import: core.operands, core.value.
#
# Note [Python's numbers]
# ~~~~~~~~~~~~~~~~~~~~~~~
# A number that was a Python float is a Tensor without axes, as is a scalar of NumPy's. They differ in what comparisons
# give: of floats a bool, of scalars numpy.bool, and `(x > 1.0) + (x > 2.0)` is 2 of the one and True of the other; only
# of the one `(x > 1.0) is True`, and `(x > 1.0) - (x < 1.0)` is a number. So TensorBase.python is set in a transform's
# arguments that are numbers, in what float() and math make (adoption/builtin_answers.pyx), and here in what Python's
# operators make of such numbers and no others. In adopted calls comparisons of them give bool.
# Where a Python number raises a TypeError and an array without axes does not, `x[0]`, `x @ y`, `[1.0] + x`,
# `x < [1.0]`, and an order of complex numbers, it raises the same: code for numbers and sequences goes on with the
# branch that it has.
# What is not known to be a Python number may be one, and its comparisons give numpy.bool.
# Guarded by tests/adoption/test_comparisons_of_numbers.py.
from cpython.object cimport PyObject

from arraygrad.core.operands cimport is_like_scalar
from arraygrad.core.value cimport Backend, TensorBase, is_tensor

from arraygrad.core.operands import WIDER

cdef extern from "adopted.hpp" nogil:
    PyObject* arraygrad_adopting


cdef inline bint is_number(object x) noexcept:
    if is_tensor(x):
        return (<TensorBase>x).python
    return type(x) is float or type(x) is int or type(x) is bool or type(x) is complex


def is_python(TensorBase t not None):
    """Whether a Tensor is known to be a Python number in a plain call."""
    return bool(t.python)


def made_python(TensorBase t not None):
    """`t`, noted as a Python number."""
    t.python = True
    return t


cdef inline str name_of(object x):
    if is_tensor(x):
        return "complex" if (<TensorBase>x).value.meta.is_complex else "float"
    return type(x).__name__


cdef object number_of_numbers(object other, object result):
    """`result` of an operator on a Python number, which is one if `other` is. Raises TypeError for a list or tuple."""
    if is_tensor(result):
        if is_number(other):
            (<TensorBase>result).python = True
        elif arraygrad_adopting != NULL and (type(other) is list or type(other) is tuple):
            raise TypeError(f"unsupported operand type(s): 'float' and '{type(other).__name__}'")
    return result


cdef object truth_of_numbers(object other, object result):
    """What a comparison gives of a Python number with `other`."""
    if arraygrad_adopting == NULL or not is_tensor(result):
        return result
    if is_number(other):
        return True if result else False    # by bool(result): whoever records the program sees that it looks
    return False if type(other) is list or type(other) is tuple else result


cdef object order_of_numbers(TensorBase t, object other, object result):
    """As before, of `<` and its like. Raises TypeError for a list or tuple, and of complex numbers."""
    if arraygrad_adopting == NULL:
        return result
    if type(other) is list or type(other) is tuple or is_number(other) and "complex" in (name_of(t), name_of(other)):
        raise TypeError(f"order is not supported between instances of '{name_of(t)}' and '{name_of(other)}'")
    return truth_of_numbers(other, result)


cdef bint is_sequence_beside_a_fraction(TensorBase t, object other):
    return (arraygrad_adopting != NULL and t.value.meta.is_floating
            and (t.python or is_like_scalar(t, <Backend>t.value.meta.ops)))


cdef int is_no_array(TensorBase t, object other) except -1:
    """Raise what a Python number raises where it is asked for items, `other` None, or multiplied by `@`."""
    if arraygrad_adopting == NULL:
        return 0
    if other is None:
        raise TypeError(f"'{name_of(t)}' object is not subscriptable")
    if is_number(other):
        raise TypeError(f"unsupported operand type(s) for @: '{name_of(t)}' and '{name_of(other)}'")
    return 0


cdef tuple beside_narrow(object a, object b):
    """The operands with a Python number in the precision of what it stands beside; None: as they are.

    A Python float beside an array or scalar of single or half precision takes that, as in a plain call (NEP 50).
    """
    cdef TensorBase t
    cdef bint on_left = is_tensor(a) and (<TensorBase>a).python
    cdef object other = b if on_left else a
    t = <TensorBase>(a if on_left else b)
    if is_tensor(other) and (<TensorBase>other).python or not (<Backend>t.value.meta.ops).scalars:
        return None
    dtype = getattr(other, "dtype", None)
    if dtype is None or str(dtype) not in WIDER:
        return None
    if t.value.meta.is_complex:
        wanted = "complex64"
    else:
        wanted = "float16" if str(dtype) == "float16" else "float32"
    if str(t.value.meta.dtype) == wanted:
        return None
    narrow = t.astype(wanted)
    return (narrow, b) if on_left else (a, narrow)
