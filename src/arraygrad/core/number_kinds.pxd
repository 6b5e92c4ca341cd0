# May cimport: core.value.
from arraygrad.core.value cimport TensorBase, is_tensor

cdef tuple beside_narrow(object a, object b)
cdef object number_of_numbers(object other, object result)
cdef object truth_of_numbers(object other, object result)
cdef object order_of_numbers(TensorBase t, object other, object result)
cdef bint is_sequence_beside_a_fraction(TensorBase t, object other)
cdef int is_no_array(TensorBase t, object other) except -1


cdef inline object as_number(TensorBase t, object other, object result):
    """`result` of an operator of Python's on `t` and `other`, which is a Python number if both are."""
    return number_of_numbers(other, result) if t.python else result


cdef inline bint is_repeated(TensorBase t, object other):
    """Whether `other` is a list or tuple, which no number but a whole one multiplies: of scalars of NumPy's, too."""
    return (type(other) is list or type(other) is tuple) and is_sequence_beside_a_fraction(t, other)


cdef inline object as_truth(TensorBase t, object other, object result):
    """`result` of a comparison of `t` with `other`: a bool in adopted calls, if both are Python numbers."""
    return truth_of_numbers(other, result) if t.python else result


cdef inline object as_order(TensorBase t, object other, object result):
    """As `as_truth`, of `<` and its like."""
    return order_of_numbers(t, other, result) if t.python else result
