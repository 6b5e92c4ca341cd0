# May cimport: engine.node, engine.arrayops.
from libc.stdint cimport uint32_t, uint64_t
from arraygrad.engine.node cimport Frame, Node

# A compiled backward rule: reads f.grad (input 0's gradient, a plain array that matches the node's metadata) and the
# node's saved slots, sets f.out0 / f.out1 and f.out_owned. Returns 1 when done, 0 to decline (the table's rule runs).
ctypedef int (*rule_ptr)(Node node, Frame f) except -1
# The same for a node with NODE_NUMBER: the gradient of each edge that leads somewhere goes to out[0] and out[1].
ctypedef bint (*number_ptr)(Node node, double g, double* out) noexcept
cdef class Op

# The forward of one or two single numbers of double precision (the second is ignored by functions of one). False: an
# error of floating point is possible; nothing was reported.
ctypedef bint (*number_value_ptr)(Op op, double x, double y, double* out) noexcept

# What a rule's parameter is filled with (Op.plans).
cdef enum PlanKind:
    PLAN_G = 0              # gradient of the result
    PLAN_XP = 1             # namespace
    PLAN_SAVED = 2          # saved value; index: slot
    PLAN_SHAPE = 3          # shape out of a saved GradMeta; index: slot
    PLAN_DTYPE = 4
    PLAN_DEVICE = 5
    PLAN_STATIC = 6         # other parameter of the call; index: position in the call

cdef enum SaveKind:
    SAVE_INPUT = 0          # the array of parameter `pos`
    SAVE_ANS = 1            # the result
    SAVE_META = 2           # GradMeta of parameter `pos` (its shape and dtype; the array is not kept)

cdef enum:
    MAX_SAVES = 8
    MAX_PARAMS = 16


cdef class Op:
    """A table entry, compiled to slots."""
    cdef readonly object entry              # the table's Entry
    cdef readonly str name                  # "multiply"
    cdef readonly str node_name             # "MulBackward"
    cdef readonly str kind
    cdef readonly int index                 # position in the table: key of a backend's function list
    cdef readonly tuple params              # every parameter, in order
    cdef readonly tuple defaults            # their defaults (inspect.Parameter.empty: required)
    cdef readonly int n_posonly             # positional-only parameters come first
    cdef readonly int n_positional          # positional-only plus positional-or-keyword
    cdef readonly dict positions            # name -> index in params
    cdef readonly tuple inputs              # indices of the parameters that have a rule, in order
    cdef readonly tuple others              # indices of the parameters that have none
    cdef int n_inputs                       # the same as C numbers, which hot paths read
    cdef int n_others
    cdef int input_at[MAX_PARAMS]
    cdef int other_at[MAX_PARAMS]
    cdef readonly tuple rules               # per entry of `inputs`: the rule
    cdef readonly tuple plans               # per entry of `inputs`: tuple of (what, index) for its arguments
    cdef readonly tuple saves               # names of what is saved, e.g. ("ans", "x2", "x_shape")
    cdef readonly int sequence              # index of the parameter that is a list of arrays, -1: none
    cdef readonly bint differentiable
    cdef readonly bint elementwise          # each element of a gradient depends on one element of `g`
    cdef readonly bint zero                 # derivative zero everywhere it exists
    cdef readonly bint holomorphic          # rule is wrapped in conj for complex arrays
    cdef readonly bint may_view             # the result may share the first input's memory
    cdef readonly bint shows                # made in one step where its parameters are plain: core/views.pyx
    cdef readonly bint multi                # result is a tuple
    cdef readonly bint transfers            # the result belongs to another library than the argument
    cdef readonly bint single               # one result, of one array that is the first of several parameters
    cdef readonly bint checks_others        # a parameter without a rule may stand where a gradient would be dropped
    cdef readonly bint named                # the results come in a named tuple: result_type_of
    cdef readonly bint makes_arrays         # its 0-d results are arrays in NumPy, where others are scalars
    cdef bint bare                          # its nodes keep nothing: bare nodes (engine/node_memory.hpp)
    cdef bint promotes                      # two arrays, computed in the dtype that both are promoted to
    cdef int n_arrays                       # 1 or 2: parameters are exactly that many arrays; 0: other
    cdef int n_saves
    cdef int save_kind[MAX_SAVES]
    cdef int save_pos[MAX_SAVES]
    cdef uint64_t save_for[MAX_SAVES]       # bit k: wanted by the rule of inputs[k]
    cdef readonly bint saves_in_list        # more than three: s0 is a list
    cdef readonly bint keeps_args           # some rule asks for a static parameter: the node keeps the call's
    cdef readonly tuple static_positions    # which
    cdef readonly int var_positional        # index of the *args parameter, -1: none
    # compiled half, filled by backends.numpy.table
    cdef rule_ptr fast_rule                 # NULL: none
    cdef number_ptr number_rule             # NULL: none
    cdef number_value_ptr number_value      # NULL: none; only with a number_rule
    cdef void* loops                        # backend's own table, NULL: none
    cdef readonly int fast_kind             # backend's own code for how to call it
    cdef bint complex_rule                  # the compiled rule serves complex results too
    cdef Op by_operator                     # what Python's operator calls, None: this one (Note [Powers])
    cdef bint leaves                        # recorded: its compiled forward may leave something for the rule
    cdef bint reads_repeats                 # the compiled rule reads a gradient that repeats over axes as it is

    cpdef tuple bind(self, tuple args, dict kwargs)


cdef Op named_op(str name)
cdef Op folding_op(str ufunc, str kind)
cdef tuple bind_plain(Op op, tuple args, dict kwargs)
cdef object result_type_of(Op op)
