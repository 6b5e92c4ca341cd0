# May cimport: core.op, backends.cuda.ahead, backends.cuda.gradients, backends.cuda.prepared, backends.cuda.row_plans.
from arraygrad.backends.cuda.ahead cimport Ahead
from arraygrad.backends.cuda.gradients cimport CudaGradients
from arraygrad.backends.cuda.prepared cimport Elementwise
from arraygrad.backends.cuda.row_plans cimport RowPlans
from arraygrad.core.op cimport Op

cdef frozenset SCALED


cdef class AheadPlan:
    """How a launch goes on to what follows it; `layout` None: it has no rows, `kernel` None: it is not for a kernel."""
    cdef tuple steps, first, second     # what follows, the shapes of two operands
    cdef bytes key                      # their types
    cdef object kernel                  # Elementwise or MappedRows
    cdef object layout
    cdef tuple full, shape              # of the launch's own value, of that of its rows
    cdef object row
    cdef tuple tail, numbers

    cdef bint serves(self, bytes key, tuple first, tuple second) except -1


cdef class CudaFollowing(CudaGradients):
    """CudaFollowing"""
    cdef RowPlans row_plans
    cdef Ahead ahead
    cdef dict chains                    # (key of types, index of an operation, what follows) -> Elementwise, MappedRows
    cdef dict plans_ahead               # what tells a launch -> AheadPlan

    cdef object reduced(self, Op op, tuple args)
    cdef object gathered(self, Op op, object x, object key)
    cdef AheadPlan keep_plan(self, object told, tuple steps, bytes key)
    cdef object biased(self, Op op, Elementwise kernel, bytes key, object a, object b)
    cdef int plan_sum(self, AheadPlan plan, Op op, object a, object b) except -1
    cdef int plan_rows(self, AheadPlan plan, object chain, tuple first, tuple second) except -1
    cdef object of_rows(self, Op op, Elementwise kernel, bytes key, object a, object b)
    cdef int plan_total(self, AheadPlan plan, Op op, object a, object b) except -1
    cdef object scaled(self, Op op, Elementwise kernel, object a, object b, bint right)
