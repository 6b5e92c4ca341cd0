# May cimport: engine.arrayops, engine.node, core.op, backends.numpy.ndarrays, backends.numpy.loops.
from arraygrad.backends.numpy.ndarrays cimport ArrayView
from arraygrad.backends.numpy.loops cimport LoopSet
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op, rule_ptr

cdef extern from "rules.hpp" namespace "arraygrad" nogil:
    enum:
        MOST_OPERANDS
    struct Step:
        const char* name
        int loop
        int n_read
        signed char read[8]
    struct RuleKernel:
        const char* operation
        const char* name
        const char* reads[4]
        int n_operands
        const Step* steps
        int n_steps
        bint pairs
        bint dear
        bint is_complex
    struct Operand:
        const char* data
        Py_ssize_t step
        Py_ssize_t bytes

# The kernels of an operation's first two rules, and in which slots the node keeps what they read besides the gradient.
cdef struct OpKernels:
    const RuleKernel* kernel[2]
    const RuleKernel* complex_kernel[2]
    signed char slots[2][3]
    bint single                 # one edge, whose gradient is computed

# The last step of a kernel, by itself.
cdef struct OneStep:
    RuleKernel kernel
    Step step

cdef bint wants_gradient(Node node, Frame f, int i) noexcept
cdef object saved_value(Node node, int k)
cdef object saved_for(Node node, int kind, int pos)
cdef int real_view(object a, ArrayView* v) noexcept
cdef bint is_number(object x) noexcept
cdef bint has_complex_result(Node node) noexcept
cdef bint reads_repeats(Node node) noexcept
cdef GradMeta narrow(Node node, Frame f, int i)
cdef object combined(const LoopSet* loops, object g, object other, bint overwrite)
cdef object into(const LoopSet* loops, object a, object other)
cdef object negated(object a)
cdef object narrow_product(Node node, Frame f, int i, object other)
cdef int set_out(Frame f, int i, object out, bint owned) except -1
cdef int set_outs(Frame f, object out0, object out1) except -1
cdef object gradient_by(Frame f, const RuleKernel* k, object a, object b, object c, bint overwrite, Node last)
cdef int pair_rule(Frame f, const RuleKernel* k, object saved, Node last) except -1
cdef object forward_of_table(Op op, object x)
cdef object gradient_of_edge(Node node, Frame f, int edge)
cdef object computed(const RuleKernel* k, object x, object a, object b, object c, bint overwrite, Node last)
cdef int rule_of_table(Node node, Frame f) except -1
cdef int rule_pass(Node node, Frame f) except -1
cdef const RuleKernel* kernel_named(str operation, str name) except NULL
cdef int last_step(OneStep* last, const RuleKernel* k) except -1
cdef int attach(dict ops, str name, rule_ptr rule, tuple saves, list done) except -1
cdef int attach_elementwise(dict ops, list done) except -1
cdef int attach_kernels(dict ops, list forwards, list done) except -1
