# dead_gradients.hpp as compiled modules see it: Note [Dead gradients].
# May cimport: engine.node.
from cpython.object cimport PyObject

from arraygrad.engine.node cimport Frame

cdef extern from "dead_gradients.hpp":
    # A local variable that counts its reference is None afterwards, or the gradient in a Frame.
    void let_go "ARRAYGRAD_LET_GO" (object grad, bint (*recycle)(PyObject*) noexcept) noexcept
    void let_go_of_grad "ARRAYGRAD_LET_GO_OF_GRAD" (Frame f, bint (*recycle)(PyObject*) noexcept) noexcept
