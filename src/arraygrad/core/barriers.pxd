# May cimport: engine.*, core.value.
from libc.stdint cimport uint64_t

from arraygrad.engine.node cimport Node
from arraygrad.core.value cimport TensorBase


cdef TensorBase alias(TensorBase t)
cdef list followed_gradients(object grads)
cdef tuple checked_record(Node node, str name, tuple values, list followed, uint64_t since, bint whole)
cdef object checked_hook(Node node, str hook, object result, TensorBase value, list followed, uint64_t since)
