# May cimport: engine.arrayops, core.op, core.value.
from libc.stdint cimport uint64_t
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase

# raw[key] as an array without axes, of its own memory, where ints name one real floating-point number; else None.
# `place` becomes the number of that element in row-major order, here and below.
ctypedef object (*read_ptr)(object raw, object key, uint64_t* place)
# The same for an element of double precision, which goes to `number`. False: anything else.
ctypedef bint (*read_number_ptr)(object raw, object key, uint64_t* place, double* number) noexcept
# raw[key] = value where the above serves raw[key], for a number or an array without axes of its dtype. False: anything
# else, and nothing was written. A value of None is not written: whether one would be.
ctypedef bint (*put_ptr)(object raw, object key, object value, uint64_t* place) except -1

cdef int serve(Backend backend, read_ptr read, read_number_ptr read_number, put_ptr put, GradMeta single_precision,
               GradMeta double_precision) except -1

cdef int use_operations(Op getitem, Op setitem) except -1
cdef TensorBase element(TensorBase t, object key)
cdef bint put_element(TensorBase t, object key, object value) except -1
