# Compiled backward rules of elementwise operations on plain float32 and float64 arrays, and what all such rules use.
# May import: engine.arrayops, engine.free_threading, engine.graph_task, engine.node, engine.sharing, core.op,
# core.value, backends.numpy.contents, backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.kernel_programs,
# backends.numpy.row_copies, backends.numpy.single.
#
# Note [Compiled rules]
# ~~~~~~~~~~~~~~~~~~~~~
# The table's rule is the truth; a compiled one computes the same formula, in the same order of operations (but for
# matrix products, complex ones, variances and the gradients of broadcast divisors), in one pass.
# Elementwise rules are kernels that setup.py writes out of the table (rule_of_table); what is written by hand here and
# in the modules above adds shapes: operands that are broadcast, gradients that are handed on, sums on the way.
# (1) It looks at everything it uses (dtype, layout, what the node kept) and declines (returns 0, nothing done) whatever
#     it does not serve; then the table's rule runs.
# (2) The gradient's own memory takes the result if the engine owns it (Frame.owned), at every size: the last thing a
#     rule does with a gradient is to overwrite it, so a rule that declines has not touched it.
# (3) out_owned is set for what this call made or overwrote. A gradient passed on to one edge stays owned; passed on to
#     two it is nobody's.
# (4) Results have the shape of the operation's result, and the engine sums them over broadcast axes; or the rule sums
#     on its way where that saves a pass through memory (multiply, subtract, divide), in numpy.add.reduce's order.
# (5) Floating-point errors are reported as np.errstate says, in the name of the ufunc that the table's rule calls.
# (6) A large result that finds no room in the gradient takes that of a saved array which nothing but this rule will
#     read (is_dying): new memory would push out of the caches what the next rule reads.
# Guarded by tests/backends/test_fast_rules.py, tests/backends/test_dying_arrays.py, and for kernels of the table by
# tests/backends/test_fast_kernels.py.
from libc.stdint cimport uint32_t
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Calloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

from arraygrad.backends.numpy.contents cimport owns
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, empty_c, empty_dense, same_shape, common_step, view_of, zeros_for,
)
from arraygrad.backends.numpy.loops cimport (
    KIND_NONE, KIND_TABLE, SLOT_F64, SUM_START, LoopSet, binary_loop, broadcast_mask, loop_set, not_captured,
    read_number, report, sum_of_products, sum_to, unary_loop,
)
from arraygrad.backends.numpy.kernel_programs cimport ufunc_of
from arraygrad.backends.numpy.row_copies cimport (
    Repeats, is_mixed, is_repeats, made_row_major, spread, without_gaps, written_out,
)
from arraygrad.backends.numpy.single cimport is_single, single_loop
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, gate_close
from arraygrad.engine.graph_task cimport GraphTask
from arraygrad.engine.node cimport (
    NODE_CONSTANT, NODE_FAST, NODE_PACKED, NODE_SAVES, Frame, Node, ThreadState, thread_state,
)
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport Op, SAVE_INPUT, rule_ptr
from arraygrad.core.value cimport Value

cdef extern from "shared_rules.hpp" namespace "arraygrad":
    int share_rule(Team* team, const RuleKernel* k, const LoopSet* const* loops, int slot, const Operand* given,
                   char* out, Py_ssize_t n) noexcept
    int lay_out(const RuleKernel* k, const ArrayView* v, int slot, Operand* given) noexcept
    int share_pair(Team* team, const RuleKernel* k, const LoopSet* const* loops, int slot, const char* g,
                   Py_ssize_t sg, const ArrayView* y, char* out) noexcept
    int share_rule_of_repeats(Team* team, const RuleKernel* k, const LoopSet* const* loops, int slot, Operand* given,
                              const Repeats& repeats, char* out, Py_ssize_t n) noexcept

cdef extern from "shared_loops.hpp" namespace "arraygrad":
    struct SumsBothWays:
        pass
    bint sums_both_ways(const ArrayView* v, unsigned long long over, unsigned long long within,
                        SumsBothWays* s) noexcept
    int share_sums_both_ways(const LoopSet* add, int slot, char* x, char* over, char* within, const SumsBothWays& s,
                             double begin) noexcept

# In what setup.py wrote: Note [Kernels of the table] in backends/numpy/kernels.py.
cdef extern from "rules.hpp" namespace "arraygrad" nogil:
    enum:
        MOST_LOOPS
    const RuleKernel* table_kernels
    const char* const* table_loops
    const int n_table_kernels
    const int n_table_loops
    const char* table_digest

cdef LoopSet* ADD = loop_set("add")
cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* DIVIDE = loop_set("divide")
cdef LoopSet* NEGATIVE = loop_set("negative")

# NumPy's loops that kernels call, found when they are first needed.
cdef LoopSet* loops[MOST_LOOPS]
# By the index of an operation in the table: the kernels of its rules, by edge. Filled at the import of the backend.
cdef OpKernels* kernels_of_ops = NULL
cdef int n_ops = 0

if FREE_THREADED:           # where many threads may be the first to ask
    for _number in range(n_table_loops):
        loops[_number] = loop_set(table_loops[_number].decode())


# What the engine wants and what the node kept

cdef bint wants_gradient(Node node, Frame f, int i) noexcept:
    return (node.e0 if i == 0 else node.e1) is not None and (f.needs >> i) & 1


cdef object saved_value(Node node, int k):
    """Slot `k` as the rule may use it: raw array, number or GradMeta; None: nothing there, or overwritten since."""
    cdef object slot
    if (<Op>node.op).saves_in_list:
        slot = (<list>node.s0)[k]
    else:
        slot = node.s0 if k == 0 else node.s1 if k == 1 else node.s2
    if type(slot) is Value:
        return None if (<Value>slot).overwritten else (<Value>slot).raw
    return slot


cdef object saved_for(Node node, int kind, int pos):
    """What the node kept of one kind (SaveKind) for the parameter at `pos` (-1: the result), as `saved_value` does."""
    cdef Op op = <Op>node.op
    cdef int k
    for k in range(op.n_saves):
        if op.save_kind[k] == kind and op.save_pos[k] == pos:
            return saved_value(node, k)
    return None


cdef enum:
    LARGE = 4096            # elements, from which on memory costs more than a look at who holds it


cdef bint is_dying(Node node, object raw) noexcept:
    """Whether nobody but the running rule of `node`, in one variable, will ever read an array that the node saved.

    The run frees what the node saved as soon as the rule is done, and no other has a reference. If so the node refuses
    other rules from here on (Note [Gates] in engine/free_threading.hpp): call it where the rule can't decline any more.
    """
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    cdef PyObject* slots[3]
    cdef PyObject* value = NULL
    cdef Py_ssize_t count = 0
    cdef int i
    if FREE_THREADED or node is None or ts.task == NULL or ts.node != <void*>node or node.hooks is not None:
        return False
    task = <GraphTask>ts.task
    if task.keep_graph or task.careful or task.own_queue or task.shared or task.anomaly or node.gate != 1 \
            or node.flags & (NODE_SAVES | NODE_PACKED | NODE_CONSTANT) != NODE_SAVES or (<Op>node.op).saves_in_list \
            or Py_REFCNT(raw) != 2 or not owns(raw):
        return False
    slots[0], slots[1], slots[2] = <PyObject*>node.s0, <PyObject*>node.s1, <PyObject*>node.s2
    for i in range(3):
        if type(<object>slots[i]) is Value and (<Value>slots[i]).raw is raw:
            if value != NULL and slots[i] != value:
                return False
            value = slots[i]
            count += 1
    if value == NULL or Py_REFCNT(<object>value) != count or not is_private(<Value>value):
        return False
    gate_close(&node.gate)
    return True


cdef bint is_private(Value v) noexcept:
    """Whether no Tensor shows a Value, and no other one and nothing of the program's shares its memory."""
    return v.tensor == NULL and v.storage is None and v.owner == 0 \
        and not (v.overwritten or v.exposed or v.inference or v.kept_by_hook)


cdef int real_view(object a, ArrayView* v) noexcept:
    """Fill `v`; returns the slot of a plain float32 or float64 array, else -1."""
    cdef int slot = view_of(a, v)
    return slot if slot <= SLOT_F64 else -1


cdef bint is_number(object x) noexcept:
    return PyFloat_CheckExact(x) or PyLong_CheckExact(x)


cdef int set_out(Frame f, int i, object out, bint owned) except -1:
    if i == 0:
        f.out0 = out
    else:
        f.out1 = out
    if owned:
        f.out_owned |= <uint32_t>1 << i
    return 0


cdef int set_outs(Frame f, object out0, object out1) except -1:
    """The gradients of both edges, made by this rule (None: not asked for). Returns 1: not declined."""
    if out0 is not None:
        set_out(f, 0, out0, True)
    if out1 is not None:
        set_out(f, 1, out1, True)
    return 1


# Rules that are kernels of the table

cdef int operand_view(object x, int slot, ArrayView* v, double* storage) except -2:
    """Fill `v` from a plain array or a number of the slot's dtype; returns the slot, -1 for anything else."""
    cdef int found = view_of(x, v)
    if found >= 0 or not is_number(x) or not read_number(x, slot, <char*>storage):
        return found
    v.data = <char*>storage
    v.ndim = -1                 # not the shape of any array
    v.size = 1
    v.slot = slot
    v.c_order = v.f_order = True
    return slot


cdef bint has_loops(const RuleKernel* k, int slot) except -1:
    """Whether NumPy's loops that a kernel calls are there and may be trusted."""
    cdef int s, loop
    for s in range(k.n_steps):
        loop = k.steps[s].loop
        if loop < 0:
            continue
        if loops[loop] == NULL:
            loops[loop] = loop_set(table_loops[loop].decode())
        if loops[loop].fn[slot] == NULL:
            return False
    return True


cdef object computed(const RuleKernel* k, object x, object a, object b, object c, bint overwrite, Node last):
    """A kernel of the array x and the values a, b, c, as far as it reads that many. None: declined.

    Each is a plain array of the result's shape, one value that stands for all elements, or a number. `overwrite`: the
    result may take the memory of x. `last`: the running node, if its rule needs nothing any more of what the node saved
    and has one variable for each of a, b and c; else None.
    """
    cdef ArrayView v[MOST_OPERANDS]
    cdef ArrayView r
    cdef Operand given[MOST_OPERANDS]
    cdef double number[2 * MOST_OPERANDS]
    cdef Repeats repeats
    cdef int like, n = k.n_operands, slot = view_of(x, &v[0]), errors
    cdef bint repeated = False
    cdef object out, dense_a = None, dense_b = None         # not to a and b, which hold no reference of their own
    if slot < 0 or (slot > SLOT_F64) != k.is_complex or (k.n_steps > 1 or k.steps.loop >= 0) and not has_loops(k, slot):
        return None
    if n > 1:
        if operand_view(a, slot, &v[1], &number[2]) != slot:
            return None
        if k.dear and not (v[1].c_order or v[1].f_order) and same_shape(&v[0], &v[1]):
            dense_a = without_gaps(a, &v[1])
    if n > 2:
        if operand_view(b, slot, &v[2], &number[4]) != slot:
            return None
        if k.dear and not (v[2].c_order or v[2].f_order) and same_shape(&v[0], &v[2]):
            dense_b = without_gaps(b, &v[2])
    if n > 3 and operand_view(c, slot, &v[3], &number[6]) != slot:
        return None
    like = lay_out(k, v, slot, given)
    if like < 0 and is_mixed(v, n):
        return computed(
            k, made_row_major(x, &v[0]), made_row_major(a, &v[1]) if n > 1 else a,
            made_row_major(b, &v[2]) if n > 2 else b, made_row_major(c, &v[3]) if n > 3 else c, overwrite, None)
    if like < 0:
        if slot > SLOT_F64 or not is_repeats(&v[0], &repeats) or repeats.times == v[0].size:
            return None
        v[0].c_order = repeated = True          # as the kernel goes through it
        v[0].f_order = False
        like = lay_out(k, v, slot, given)
        if like <= 0:
            return computed(k, written_out(x), a, b, c, True, last)
    if overwrite and given[0].step == 1 and v[0].writeable and not repeated:
        out = x
    elif like == 0:
        out = empty_dense(x)
    elif v[like].size >= LARGE and v[like].writeable and (
            is_dying(last, a) if like == 1 else is_dying(last, b) if like == 2 else is_dying(last, c)):
        out = a if like == 1 else b if like == 2 else c
    elif like == 1:
        out = empty_dense(a if dense_a is None else dense_a)
    else:
        out = empty_dense(c if like == 3 else b if dense_b is None else dense_b)
    view_of(out, &r)
    if repeated:
        errors = share_rule_of_repeats(team, k, <const LoopSet* const*>loops, slot, given, repeats, r.data, r.size)
    else:
        errors = share_rule(team, k, <const LoopSet* const*>loops, slot, given, r.data, r.size)
    if errors:
        report_steps(k, errors)
    return out


cdef object gradient_by(Frame f, const RuleKernel* k, object a, object b, object c, bint overwrite, Node last):
    """A kernel of the gradient and the values a, b, c, in the gradient's memory if that is the engine's, or else in
    that of a value that `last` alone holds, as `computed` has it."""
    return computed(k, f.grad, a, b, c, overwrite and f.owned, last)


cdef object forward_of_table(Op op, object x):
    """The value of a composed operation by the kernel of its formula. None: declined."""
    cdef ArrayView v
    cdef object dense
    if real_view(x, &v) < 0:
        return None
    dense = without_gaps(x, &v)
    if dense is None:
        return None
    return computed(<const RuleKernel*>op.loops, dense, None, None, None, dense is not x, None)


cdef int report_steps(const RuleKernel* k, int errors) except -1:
    """Report the errors of a kernel, four bits to a step."""
    cdef int s
    for s in range(k.n_steps):
        if errors >> 4 * s & 15:
            report(k.steps[s].name, errors >> 4 * s & 15)
    return 0


cdef object gradient(Node node, Frame f, const RuleKernel* const* found, const OpKernels* kernels, int edge,
                     bint overwrite, Node last):
    """The gradient of an edge by its kernel, of what the node kept. None: declined. `last`: as `computed` has it."""
    cdef const RuleKernel* k = found[edge]
    cdef const signed char* slots = kernels.slots[edge]
    cdef object a, b, c, out
    if k == NULL:
        return None
    a = saved_value(node, slots[0]) if k.n_operands > 1 else None
    b = saved_value(node, slots[1]) if k.n_operands > 2 else None
    c = saved_value(node, slots[2]) if k.n_operands > 3 else None
    out = gradient_by(f, k, a, b, c, overwrite, last)
    if out is None and k.n_operands > 2:        # of several operands one may have been broadcast
        out = gradient_by(f, k, spread(a, f.grad), spread(b, f.grad), spread(c, f.grad), overwrite, None)
    return out


cdef object gradient_of_edge(Node node, Frame f, int edge):
    """The gradient of an edge by its kernel, the node's gradient being left as it is. None: declined."""
    cdef const OpKernels* kernels = &kernels_of_ops[(<Op>node.op).index]
    return gradient(node, f, kernels.kernel, kernels, edge, False, None)


cdef int pair_rule(Frame f, const RuleKernel* k, object saved, Node last) except -1:
    """The gradient of the only edge by a kernel of `saved`, as gradient_by has it; the caller has no variable of it.
    """
    cdef ArrayView g, y, r
    cdef int sg, slot, errors
    cdef object out
    slot = real_view(saved, &y)
    if slot < 0 or real_view(f.grad, &g) != slot or g.ndim != y.ndim or k.n_steps > 1 and not has_loops(k, slot):
        return 0
    if not (y.c_order or y.f_order):
        out = gradient_by(f, k, saved, None, None, True, last)
        return 0 if out is None else 1 + set_out(f, 0, out, True)
    sg = common_step(&g, &y)
    if sg < 0:
        out = gradient_by(f, k, saved, None, None, True, last)
        return 0 if out is None else 1 + set_out(f, 0, out, True)
    if f.owned and sg == 1 and g.writeable:
        out = f.grad
    elif y.size >= LARGE and y.writeable and is_dying(last, saved):
        out = saved
    else:
        out = empty_dense(saved)
    view_of(out, &r)
    errors = share_pair(team, k, <const LoopSet* const*>loops, slot, g.data, sg, &y, r.data)
    if errors:
        report_steps(k, errors)
    return 1 + set_out(f, 0, out, True)


cdef int rule_of_table(Node node, Frame f) except -1:
    """The kernels that setup.py wrote of the operation's rules."""
    cdef const OpKernels* kernels = &kernels_of_ops[(<Op>node.op).index]
    cdef object out
    if has_complex_result(node):
        return by_kernels(node, f, kernels.complex_kernel, kernels)
    if not kernels.single:
        return by_kernels(node, f, kernels.kernel, kernels)
    if kernels.kernel[0].n_operands == 2:
        return pair_rule(f, kernels.kernel[0], saved_value(node, kernels.slots[0][0]), node)
    out = gradient(node, f, kernels.kernel, kernels, 0, True, node)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef bint has_complex_result(Node node) noexcept:
    return node.meta is not None and type(node.meta) is GradMeta and (<GradMeta>node.meta).is_complex


cdef bint reads_repeats(Node node) noexcept:
    """Whether the compiled rule of a node reads a gradient that repeats over axes as it is: no rule has to hand it on,
    or to sum it."""
    cdef Op op
    if type(node.op) is not Op or not node.flags & NODE_FAST or type(node.meta) is not GradMeta:
        return False
    op = <Op>node.op
    if (<GradMeta>node.meta).is_complex:
        return False
    if op.fast_rule == rule_of_table:
        return kernels_of_ops[op.index].single
    return op.reads_repeats and has_shape_of(node, saved_for(node, SAVE_INPUT, 0)) \
        and has_shape_of(node, saved_for(node, SAVE_INPUT, 1))


cdef bint has_shape_of(Node node, object saved) noexcept:
    """Whether an operand that is kept has the shape of the node's result, or is a number."""
    cdef GradMeta meta = <GradMeta>node.meta
    cdef ArrayView v
    cdef int d
    if saved is None or is_number(saved):
        return True
    if real_view(saved, &v) < 0 or v.ndim != meta.ndim:
        return False
    for d in range(v.ndim):
        if v.dims[d] != meta.dims[d]:
            return False
    return True


cdef int by_kernels(Node node, Frame f, const RuleKernel* const* found, const OpKernels* kernels) except -1:
    """The same for two edges, or one that gets the gradient as it is."""
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    # The gradient may be handed on to one edge, or overwritten for the last one.
    cdef bint passed0 = first and found[0] != NULL and found[0].n_steps == 0
    cdef bint passed1 = second and found[1] != NULL and found[1].n_steps == 0
    cdef object out0 = None, out1 = None
    if first and not passed0:
        out0 = gradient(node, f, found, kernels, 0, not second, None if second else node)
        if out0 is None:
            return 0
    if second and not passed1:
        out1 = gradient(node, f, found, kernels, 1, not passed0, node)
        if out1 is None:
            return 0
    if first:
        set_out(f, 0, f.grad if passed0 else out0, f.owned and not passed1 if passed0 else True)
    if second:
        set_out(f, 1, f.grad if passed1 else out1, f.owned and not passed0 if passed1 else True)
    return 1


cdef const RuleKernel* kernel_named(str operation, str name) except NULL:
    """The kernel of a rule; KeyError if the table has none."""
    cdef int i
    for i in range(n_table_kernels):
        if table_kernels[i].operation.decode() == operation and table_kernels[i].name.decode() == name \
                and not table_kernels[i].is_complex:
            return &table_kernels[i]
    raise KeyError(f"{operation} has no kernel of {name}")


cdef int last_step(OneStep* last, const RuleKernel* k) except -1:
    """The last step of a kernel as a kernel of its own, of the gradient and what the step before it gives."""
    cdef int r
    last.step = k.steps[k.n_steps - 1]
    if last.step.loop >= 0 or last.step.read[0] != 0 or last.step.n_read > MOST_OPERANDS:
        raise ValueError(f"the kernel of {k.operation.decode()} does not end with arithmetic on the gradient")
    for r in range(last.step.n_read):
        last.step.read[r] = r
    last.kernel = k[0]
    last.kernel.steps = &last.step
    last.kernel.n_steps = 1
    last.kernel.n_operands = last.step.n_read
    return 0


# Elementwise, linear

cdef int rule_pass(Node node, Frame f) except -1:
    """The gradient as it is: add, casts, broadcasting."""
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    if first and second and type(node.meta) is GradMeta and (<GradMeta>node.meta).ndim > 2 \
            and summed_both_ways(node, f):
        return 1
    if first:
        set_out(f, 0, f.grad, f.owned and not second)
    if second:
        set_out(f, 1, f.grad, f.owned and not first)
    return 1


cdef object negated_gradient(Frame f):
    """-g, in its own memory if that may be written. None: declined."""
    cdef ArrayView g
    if real_view(f.grad, &g) < 0:
        return None
    return unary_loop(NEGATIVE, f.grad, f.grad if f.owned and g.writeable else None)


cdef int rule_zeros(Node node, Frame f) except -1:
    """Zeros for each operand, as zero_rule of the table has it."""
    cdef ArrayView g
    cdef int i
    if real_view(f.grad, &g) < 0 or type(node.meta) is not GradMeta or (<GradMeta>node.meta).ndim > 8:
        return 0
    for i in range(2):
        if wants_gradient(node, f, i):
            set_out(f, i, zeros_for(<GradMeta>node.meta), True)
    return 1


cdef int rule_subtract(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef GradMeta meta
    cdef object out = None
    cdef bint first = wants_gradient(node, f, 0)
    if not wants_gradient(node, f, 1):
        return 1 + set_out(f, 0, f.grad, f.owned)
    if real_view(f.grad, &g) < 0:
        return 0
    if first and g.ndim > 2 and summed_both_ways(node, f):
        return 1 + set_out(f, 1, negated(f.out1), True)
    # A broadcast operand: the sum is negated, not the sum's terms.
    meta = narrow(node, f, 1) if g.ndim else None
    if meta is not None:
        out = sum_to(f.grad, meta)
        if out is not None:
            out = negated(out)
    if out is None:
        out = unary_loop(NEGATIVE, f.grad, None) if first else negated_gradient(f)
    if out is None:
        return 0
    if first:
        set_out(f, 0, f.grad, f.owned)
    return 1 + set_out(f, 1, out, True)


cdef bint summed_both_ways(Node node, Frame f) except -1:
    """The gradient summed for both edges in one pass, where one operand was broadcast along the first axes and the
    other along the next, as in x[:, None] - x[None]. False: declined."""
    cdef ArrayView g, r0, r1
    cdef SumsBothWays sums
    cdef GradMeta meta0, meta1
    cdef unsigned long long mask0 = 0, mask1 = 0
    cdef int slot = real_view(f.grad, &g)
    cdef bint over0
    cdef object out0, out1
    if slot < 0 or g.size < LARGE or not g.c_order or ADD.fn[slot] == NULL:
        return False
    meta0, meta1 = narrow(node, f, 0), narrow(node, f, 1)
    if meta0 is None or meta1 is None or not broadcast_mask(f.grad, meta0, &mask0) \
            or not broadcast_mask(f.grad, meta1, &mask1):
        return False
    over0 = sums_both_ways(&g, mask0, mask1, &sums)
    if not over0 and not sums_both_ways(&g, mask1, mask0, &sums):
        return False
    out0 = empty_c(f.grad, meta0.ndim, meta0.dims)
    out1 = empty_c(f.grad, meta1.ndim, meta1.dims)
    view_of(out0, &r0)
    view_of(out1, &r1)
    report("add", share_sums_both_ways(ADD, slot, g.data, r0.data if over0 else r1.data, r1.data if over0 else r0.data,
                                       sums, SUM_START))
    return set_outs(f, out0, out1)


cdef GradMeta narrow(Node node, Frame f, int i):
    """The metadata of where edge `i` leads if the gradient has to be summed over broadcast axes for it, else None."""
    cdef Node child = node.e0 if i == 0 else node.e1
    cdef GradMeta meta = child.meta_at(node.n0 if i == 0 else node.n1)
    cdef ArrayView g
    cdef int d
    if meta is None or meta.ndim > 8 or view_of(f.grad, &g) < 0:
        return None
    if meta.ndim == g.ndim:
        for d in range(g.ndim):
            if g.dims[d] != meta.dims[d]:
                return meta
        return None
    return meta


# Elementwise, two operands

cdef object combined(const LoopSet* loops, object g, object other, bint overwrite):
    """loops(g, other) for a plain gradient and a plain array or a number, else None: declined."""
    cdef ArrayView v[2]
    cdef object out
    if real_view(g, &v[0]) < 0:
        return None
    if not is_number(other):
        if real_view(other, &v[1]) != v[0].slot:
            return None
        if is_mixed(v, 2):
            overwrite = overwrite or not v[0].c_order           # a copy of it then
            g, other = made_row_major(g, &v[0]), made_row_major(other, &v[1])
    out = binary_loop(loops, g, other, g if overwrite and v[0].writeable else None)
    if out is None and loops == MULTIPLY and not v[0].c_order and not v[0].f_order:
        out = computed(PRODUCT, g, other, None, None, False, None)
    if out is None:
        # No common run through memory, or a number that does not fit: NumPy's own call.
        out = ufunc_of(loops, g, other)
    return out


# What is computed further is in a layout of NumPy's choice, which a direct loop may decline: NumPy's own call then.

cdef object into(const LoopSet* loops, object a, object other):
    """loops(a, other) in the memory of `a`, a plain array that nobody else holds."""
    cdef object out = binary_loop(loops, a, other, a)
    if out is None:
        not_captured("a ufunc in place")
        return (<object>loops.ufunc)(a, other, a)
    return out


cdef object negated(object a):
    """-a in the memory of `a`, a plain array that nobody else holds."""
    cdef object out = unary_loop(NEGATIVE, a, a)
    if out is None:
        not_captured("a ufunc in place")
        return (<object>NEGATIVE.ufunc)(a, a)
    return out


cdef object narrow_product(Node node, Frame f, int i, object other):
    """g * other summed over broadcast axes to where edge `i` leads, if that is to be and takes one pass, else None."""
    cdef ArrayView g, o
    cdef GradMeta meta = narrow(node, f, i)
    if meta is None or real_view(f.grad, &g) < 0 or real_view(other, &o) != g.slot:
        return None
    return sum_of_products(f.grad, other, meta)


cdef const RuleKernel* TWICE = kernel_named("multiply", "both")
cdef const RuleKernel* PRODUCT = kernel_named("multiply", "x1")


cdef int rule_multiply(Node node, Frame f) except -1:
    cdef object out0 = None, out1 = None
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    if has_complex_result(node):
        return rule_of_table(node, f)
    if first and second and node.e0 is node.e1 and node.n0 == node.n1 and unobserved(node):
        return gradient_of_square(node, f)
    if is_single(f.grad):
        if first:
            out0 = single_loop(MULTIPLY, f.grad, saved_for(node, SAVE_INPUT, 1),
                               f.grad if f.owned and not second else None)
        if second and (not first or out0 is not None):
            out1 = single_loop(MULTIPLY, f.grad, saved_for(node, SAVE_INPUT, 0), f.grad if f.owned else None)
            if out1 is None:
                out0 = None
        if out0 is not None or out1 is not None:
            return set_outs(f, out0, out1)
    # Edges to broadcast operands come first: they leave the gradient as it is, for the other one to overwrite.
    if first:
        out0 = narrow_product(node, f, 0, saved_for(node, SAVE_INPUT, 1))
    if second:
        out1 = narrow_product(node, f, 1, saved_for(node, SAVE_INPUT, 0))
    if first and out0 is None:
        out0 = combined(MULTIPLY, f.grad, saved_for(node, SAVE_INPUT, 1), f.owned and (not second or out1 is not None))
        if out0 is None:
            return 0
    if second and out1 is None:
        out1 = combined(MULTIPLY, f.grad, saved_for(node, SAVE_INPUT, 0), f.owned)
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)


cdef bint unobserved(Node node) noexcept:
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    if ts.task == NULL or ts.node != <void*>node or node.hooks is not None or node.e0.g0 is not None:
        return False
    task = <GraphTask>ts.task
    return not (task.careful or task.own_queue or task.shared or task.anomaly)


cdef int gradient_of_square(Node node, Frame f) except -1:
    """x * x: both products are the same one, and so their sum goes to one edge at once; the other gets nothing.

    Only where no gradient waits there yet: the two would be added to it one by one, which rounds otherwise. And only in
    a run where nobody looks at what the node itself returns.
    """
    cdef object x = saved_for(node, SAVE_INPUT, 1), out
    if x is None or x is not saved_for(node, SAVE_INPUT, 0):
        return 0
    out = gradient_by(f, TWICE, x, None, None, True, node)
    if out is None:
        out = combined(MULTIPLY, f.grad, x, f.owned)
        if out is None:
            return 0
        out = into(ADD, out, out)
    return 1 + set_out(f, 0, out, True)


# For tests

def kernel_names():
    """(operation, parameter) of each kernel that setup.py wrote of the table."""
    return [(table_kernels[i].operation.decode(), table_kernels[i].name.decode()) for i in range(n_table_kernels)
            if not table_kernels[i].is_complex]


def complex_kernel_names():
    """The same for complex dtypes."""
    return [(table_kernels[i].operation.decode(), table_kernels[i].name.decode()) for i in range(n_table_kernels)
            if table_kernels[i].is_complex]


def kernels_digest():
    """A digest of the text of the kernels: it tells whether they are those of the table as it stands."""
    return table_digest.decode()


def rule_by_hand(Op op):
    """Whether an operation has a compiled rule that does more than run its kernels of the table."""
    return op.fast_rule != NULL and op.fast_rule != rule_of_table


# Into the table

cdef int attach(dict ops, str name, rule_ptr rule, tuple saves, list done) except -1:
    """Give an operation its rule, if its nodes keep what the rule expects. Returns 1: done."""
    cdef Op op
    if name not in ops:
        return 0
    op = ops[name]
    if op.saves != saves:
        return 0
    op.fast_rule = rule
    done.append(name)
    return 1


cdef int attach_kernels(dict ops, list forwards, list done) except -1:
    """Give every operation of the table its kernels, and the rule that runs them if it has no other."""
    cdef const RuleKernel* k
    cdef OpKernels* kernels
    cdef Op op
    cdef int i, r, edge
    global kernels_of_ops, n_ops
    if kernels_of_ops == NULL:          # it stays: what rules read is never moved
        n_ops = max([(<Op>op).index for op in ops.values()]) + 1
        kernels_of_ops = <OpKernels*>PyMem_Calloc(n_ops, sizeof(OpKernels))
        if kernels_of_ops == NULL:
            raise MemoryError
    for i in range(n_table_kernels):
        k = &table_kernels[i]
        name = k.name.decode()
        if k.operation.decode() not in ops:
            continue
        op = ops[k.operation.decode()]
        if name == "forward" and op.fast_kind == KIND_NONE:
            op.loops = <void*>k
            op.fast_kind = KIND_TABLE
            forwards.append(op.name)
        if name not in op.params or len(op.inputs) > 2 or op.index >= n_ops:
            continue
        edge = op.inputs.index(op.positions[name])
        kernels = &kernels_of_ops[op.index]
        for r in range(1, k.n_operands):
            kernels.slots[edge][r - 1] = op.saves.index(k.reads[r].decode())
        if k.is_complex:                # reads what the other one, which comes before it, reads
            kernels.complex_kernel[edge] = k
            continue
        kernels.kernel[edge] = k
        kernels.single = len(op.inputs) == 1 and k.n_steps > 0 and (
            k.n_operands != 2 or k.n_steps > 1 or k.steps.loop < 0 and k.steps.n_read == 2)
        if op.fast_rule == NULL:
            op.fast_rule = rule_of_table
            done.append(op.name)
    return 0


cdef int attach_elementwise(dict ops, list done) except -1:
    """Attach the rules of this file."""
    cdef Op op
    for name in list(ops):
        op = ops[name]
        if op.zero and op.fast_rule == NULL and 1 <= len(op.inputs) <= 2 and op.sequence < 0 and not op.multi:
            attach(ops, name, rule_zeros, (), done)
    attach(ops, "add", rule_pass, (), done)
    attach(ops, "astype", rule_pass, (), done)
    attach(ops, "broadcast_to", rule_pass, (), done)
    attach(ops, "positive", rule_pass, (), done)
    attach(ops, "_copy", rule_pass, (), done)
    attach(ops, "subtract", rule_subtract, (), done)
    if attach(ops, "multiply", rule_multiply, ("x2", "x1"), done):
        (<Op>ops["multiply"]).reads_repeats = True
    return 0
