# May cimport: core.op, engine.arrayops.
from arraygrad.core.op cimport Op
from arraygrad.engine.arrayops cimport GradMeta


cdef class RowPlans:
    """RowPlans(kernels, array_type, spread)"""
    cdef object kernels                 # RowKernels: makes the plans
    cdef object array_type
    cdef object spread                  # the library's broadcast_to
    cdef dict forms                     # name of an operation -> what its parameters and saved values are for
    cdef dict plans                     # what a launch depends on -> RowPlan or None
    cdef dict spreads                   # (shape, axis, keepdims) -> how a sum's gradient gets its shape

    cdef object forward(self, Op op, tuple args)
    cdef object rule(self, Op op, object g, list saved, list statics, object held)
    cdef object summed(self, object grad, tuple target)
    cdef object spread_back(self, object g, GradMeta meta, object axis, object keepdims)
    cdef Py_ssize_t joined(self, GradMeta meta, object axis) except -1
    cdef object planned(self, tuple key)
