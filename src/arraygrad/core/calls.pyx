# Public functions of one array: compiled closures, of which a call costs no frame of Python and no tuple.
# May import: core.op, core.value, core.apply.
from cpython.object cimport PyObject

from arraygrad.core.apply cimport apply_op, unary
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase

cdef extern from "method_name.hpp" namespace "arraygrad":
    void name_method(PyObject* function, const char* name) except +


def unary_function(Op op, operand):
    """The function of `op`, which takes one array; `operand(x)` makes a Tensor of what is none, or lets it be."""

    def function(x, /):
        if not isinstance(x, TensorBase):
            x = operand(x)
        return unary(op, x) if op.n_arrays == 1 else apply_op(op, (x,))     # those have several results

    name_method(<PyObject*>function, op.name.encode())
    return function
