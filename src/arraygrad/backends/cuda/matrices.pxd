# May cimport: engine.arrayops, core.value, backends.cuda.prepared.
from libc.stdint cimport uint64_t

from arraygrad.backends.cuda.prepared cimport Gemm, Launcher
from arraygrad.core.value cimport Backend


cdef class CudaMatrices(Backend):
    """CudaMatrices"""
    cdef readonly Launcher launcher
    cdef public bint prepared           # set_prepared
    cdef object products                # Products
    cdef readonly Gemm gemm
    cdef dict codes                     # id of a dtype that is known -> its letter

    cdef int letter(self, object dtype) except -1
    cdef bint are_matrices(self, object a, object b) except -1
    cdef object product(self, object a, bint transposes_a, object b, bint transposes_b, tuple shape)
    cdef object multiplied(self, object a, bint transposes_a, object b, bint transposes_b, tuple shape)
    cdef object stacks(self, object a, object b)
    cdef list product_rules(self, object g, uint64_t wanted, list saved)
    cdef list stack_rules(self, object g, uint64_t wanted, list saved)
