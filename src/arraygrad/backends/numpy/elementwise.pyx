# Compiled backward rules of elementwise operations on plain float32 and float64 arrays, and what all such rules use.
# May import: engine.arrayops, engine.free_threading, engine.graph_task, engine.node, engine.sharing, core.op,
# core.value, backends.numpy.loops.
#
# Note [Compiled rules]
# ~~~~~~~~~~~~~~~~~~~~~
# The table's rule is the truth; a compiled one computes the same formula, in the same order of operations (but for
# matrix products, variances and the gradients of broadcast divisors), in one pass.
# (1) It looks at everything it uses (dtype, layout, what the node kept) and declines (returns 0, nothing done) whatever
#     it does not serve; then the table's rule runs.
# (2) The gradient's own memory takes the result if the engine owns it (Frame.owned), at every size: the last thing a
#     rule does with a gradient is to overwrite it, so a rule that declines has not touched it.
# (3) out_owned is set for what this call made or overwrote. A gradient passed on to one edge stays owned; passed on to
#     two it is nobody's.
# (4) Results have the shape of the operation's result, and the engine sums them over broadcast axes; or the rule sums
#     on its way where that saves a pass through memory (multiply, subtract, divide), in numpy.add.reduce's order.
# (5) Floating-point errors are reported as np.errstate says, in the name of the ufunc that the table's rule calls.
# Guarded by tests/ops/test_fast_rules.py.
from libc.stdint cimport uint32_t
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact

from arraygrad.backends.numpy.loops cimport (
    NOGIL_SIZE, SLOT_F64, SUM_START, ArrayView, LoopSet, at_first_use, binary_loop, empty_dense, loop_set, read_number,
    report, same_shape, split_axes, steps, sum_of_products, sum_to, unary_loop, view_of, wrapped,
)
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.graph_task cimport GraphTask
from arraygrad.engine.node cimport Frame, Node, ThreadState, thread_state
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport Op, SAVE_ANS, SAVE_INPUT, rule_ptr
from arraygrad.core.value cimport Value

cdef extern from "shared_rules.hpp" namespace "arraygrad" nogil:
    enum:
        K_TIMES
        K_MINUS_TIMES
        K_OVER
        K_SQUARE
        K_SQRT
        K_RECIPROCAL
        K_EXPM1
        K_LOG1P
        K_LOG2
        K_LOG10
        K_TAN
        K_TANH
        K_ATAN
        K_ASIN
        K_ACOS
        K_ASINH
        K_ACOSH
        K_ATANH
        K_ABS
        K_OVER_NONZERO
        K_TWICE
        K_QUOTIENT
        K_LARGER
        K_SMALLER
    struct Kernel2:
        const char* name
    struct Kernel3:
        const char* name
    const Kernel2* kernels2
    const Kernel3* kernels3
    int run_kernel2(const Kernel2* k, int slot, const char* g, Py_ssize_t sg, const char* y, char* out,
                    Py_ssize_t n) noexcept
    int run_kernel3(const Kernel3* k, int slot, const char* g, Py_ssize_t sg, const char* y, Py_ssize_t sy,
                    const char* z, Py_ssize_t sz, char* out, Py_ssize_t n) noexcept
    void run_chain(const LoopSet* f, const Kernel2* product, int slot, const char* g, Py_ssize_t sg, const char* x,
                   char* out, Py_ssize_t n, int* first, int* second) noexcept
    int share_kernel2(Team* team, const Kernel2* k, int slot, const char* g, Py_ssize_t sg, const char* y, char* out,
                      Py_ssize_t n) noexcept
    int share_kernel3(Team* team, const Kernel3* k, int slot, const char* g, Py_ssize_t sg, const char* y,
                      Py_ssize_t sy, const char* z, Py_ssize_t sz, char* out, Py_ssize_t n) noexcept
    void share_chain(Team* team, const LoopSet* f, const Kernel2* product, int slot, const char* g, Py_ssize_t sg,
                     const char* x, char* out, Py_ssize_t n, int* first, int* second) noexcept

cdef extern from "moments.hpp" namespace "arraygrad" nogil:
    int run_quotients(const LoopSet* add, int slot, const char* g, const char* y, const char* z, char* out, char* sum,
                      Py_ssize_t outer, Py_ssize_t inner, bint leading, double start) noexcept

cdef LoopSet* ADD = loop_set("add")
cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* DIVIDE = loop_set("divide")
cdef LoopSet* NEGATIVE = loop_set("negative")
# at_first_use
cdef LoopSet* SINH = NULL
cdef LoopSet* COSH = NULL
if FREE_THREADED:
    at_first_use(&SINH, "sinh")
    at_first_use(&COSH, "cosh")


# What the engine wants and what the node kept

cdef bint wants(Node node, Frame f, int i) noexcept:
    return (node.e0 if i == 0 else node.e1) is not None and (f.needs >> i) & 1


cdef object kept(Node node, int k):
    """Slot `k` as the rule may use it: raw array, number or GradMeta; None: nothing there, or overwritten since."""
    cdef object slot
    if (<Op>node.op).saves_in_list:
        slot = (<list>node.s0)[k]
    else:
        slot = node.s0 if k == 0 else node.s1 if k == 1 else node.s2
    if type(slot) is Value:
        return None if (<Value>slot).overwritten else (<Value>slot).raw
    return slot


cdef object find(Node node, int kind, int pos):
    """What the node kept of one kind (SaveKind) for the parameter at `pos` (-1: the result), as `kept` gives it."""
    cdef Op op = <Op>node.op
    cdef int k
    for k in range(op.n_saves):
        if op.save_kind[k] == kind and op.save_pos[k] == pos:
            return kept(node, k)
    return None


cdef int real_view(object a, ArrayView* v) noexcept:
    """Fill `v`; returns the slot of a plain float32 or float64 array, else -1."""
    cdef int slot = view_of(a, v)
    return slot if slot <= SLOT_F64 else -1


cdef bint is_number(object x) noexcept:
    return PyFloat_CheckExact(x) or PyLong_CheckExact(x)


cdef object result_memory(Frame f, const ArrayView* g, int sg, object like):
    """Where a rule writes: the gradient's own memory if it may (2), else a new array laid out like `like`."""
    if f.owned and sg == 1 and g.writeable:
        return f.grad
    return empty_dense(like)


cdef int set_out(Frame f, int i, object out, bint owned) except -1:
    if i == 0:
        f.out0 = out
    else:
        f.out1 = out
    if owned:
        f.out_owned |= <uint32_t>1 << i
    return 0


cdef inline int declined(Frame f) except -1:
    """Forget what was computed for the first edge: the table's rule runs for both."""
    f.out0 = f.out1 = None
    f.out_owned = 0
    return 0


# Elementwise, one operand

cdef int by_kernel(Node node, Frame f, int kernel) except -1:
    """One pass over the gradient and the only value that was kept."""
    return over(f, kept(node, 0), kernel) if wants(node, f, 0) else 1


cdef int by_product(Node node, Frame f, object factor, int kernel) except -1:
    """One pass over the gradient and what the forward left; declined if the value that was kept was overwritten."""
    if not wants(node, f, 0):
        return 1
    return 0 if kept(node, 0) is None else over(f, factor, kernel)


cdef int over(Frame f, object saved, int kernel) except -1:
    """The gradient by a kernel of itself and `saved`."""
    cdef ArrayView g, y, r
    cdef int sg, slot, errors
    cdef object out
    slot = real_view(saved, &y)
    if slot < 0 or real_view(f.grad, &g) != slot or not (y.c_order or y.f_order):
        return 0
    sg = steps(&g, &y)
    if sg < 0 or g.ndim != y.ndim:
        return 0
    out = result_memory(f, &g, sg, saved)
    view_of(out, &r)
    if y.size < NOGIL_SIZE:
        errors = run_kernel2(&kernels2[kernel], slot, g.data, sg, y.data, r.data, y.size)
    else:
        with nogil:
            errors = share_kernel2(team, &kernels2[kernel], slot, g.data, sg, y.data, r.data, y.size)
    if errors:
        report(kernels2[kernel].name, errors)
    set_out(f, 0, out, True)
    return 1


cdef object over_nonzero(object a, object b):
    """a / b, and zero where b is zero, of row-major arrays of one shape. None: declined."""
    cdef ArrayView va, vb, r
    cdef int slot = real_view(a, &va), errors
    cdef object out
    if slot < 0 or real_view(b, &vb) != slot or not va.c_order or not vb.c_order or not same_shape(&va, &vb):
        return None
    out = empty_dense(b)
    view_of(out, &r)
    errors = run_kernel2(&kernels2[<int>K_OVER_NONZERO], slot, va.data, 1, vb.data, r.data, r.size)
    if errors:
        report("divide", errors)
    return out


cdef int by_chain(Node node, Frame f, const LoopSet* function, int product) except -1:
    """The gradient times a function of the only value that was kept."""
    cdef ArrayView g, x, r
    cdef int sg, slot, first = 0, second = 0
    cdef object saved, out
    if not wants(node, f, 0):
        return 1
    saved = kept(node, 0)
    slot = real_view(saved, &x)
    if slot < 0 or real_view(f.grad, &g) != slot or not (x.c_order or x.f_order) or function.fn[slot] == NULL:
        return 0
    sg = steps(&g, &x)
    if sg < 0 or g.ndim != x.ndim:
        return 0
    out = result_memory(f, &g, sg, saved)
    view_of(out, &r)
    if x.size < NOGIL_SIZE:
        run_chain(function, &kernels2[product], slot, g.data, sg, x.data, r.data, x.size, &first, &second)
    else:
        with nogil:
            share_chain(team, function, &kernels2[product], slot, g.data, sg, x.data, r.data, x.size, &first, &second)
    if first:
        report(function.name, first)
    if second:
        report(kernels2[product].name, second)
    set_out(f, 0, out, True)
    return 1


cdef int rule_abs(Node node, Frame f) except -1:
    return by_kernel(node, f, K_ABS)

cdef int rule_acos(Node node, Frame f) except -1:
    return by_kernel(node, f, K_ACOS)

cdef int rule_acosh(Node node, Frame f) except -1:
    return by_kernel(node, f, K_ACOSH)

cdef int rule_asin(Node node, Frame f) except -1:
    return by_kernel(node, f, K_ASIN)

cdef int rule_asinh(Node node, Frame f) except -1:
    return by_kernel(node, f, K_ASINH)

cdef int rule_atan(Node node, Frame f) except -1:
    return by_kernel(node, f, K_ATAN)

cdef int rule_atanh(Node node, Frame f) except -1:
    return by_kernel(node, f, K_ATANH)

cdef int rule_cosh(Node node, Frame f) except -1:
    return by_chain(node, f, at_first_use(&SINH, "sinh"), K_TIMES)

cdef int rule_exp(Node node, Frame f) except -1:
    return by_kernel(node, f, K_TIMES)

cdef int rule_expm1(Node node, Frame f) except -1:
    return by_kernel(node, f, K_EXPM1)

cdef int rule_log(Node node, Frame f) except -1:
    return by_kernel(node, f, K_OVER)

cdef int rule_log1p(Node node, Frame f) except -1:
    return by_kernel(node, f, K_LOG1P)

cdef int rule_log2(Node node, Frame f) except -1:
    return by_kernel(node, f, K_LOG2)

cdef int rule_log10(Node node, Frame f) except -1:
    return by_kernel(node, f, K_LOG10)

cdef int rule_reciprocal(Node node, Frame f) except -1:
    return by_kernel(node, f, K_RECIPROCAL)

cdef int rule_sinh(Node node, Frame f) except -1:
    return by_chain(node, f, at_first_use(&COSH, "cosh"), K_TIMES)

cdef int rule_sqrt(Node node, Frame f) except -1:
    return by_kernel(node, f, K_SQRT)

cdef int rule_square(Node node, Frame f) except -1:
    return by_kernel(node, f, K_SQUARE)

cdef int rule_tan(Node node, Frame f) except -1:
    return by_kernel(node, f, K_TAN)

cdef int rule_tanh(Node node, Frame f) except -1:
    return by_kernel(node, f, K_TANH)


# Elementwise, linear

cdef int rule_pass(Node node, Frame f) except -1:
    """The gradient as it is: add, casts, broadcasting."""
    cdef bint first = wants(node, f, 0), second = wants(node, f, 1)
    if first:
        set_out(f, 0, f.grad, f.owned and not second)
    if second:
        set_out(f, 1, f.grad, f.owned and not first)
    return 1


cdef object minus(Frame f):
    """-g, in its own memory if that may be written. None: declined."""
    cdef ArrayView g
    if real_view(f.grad, &g) < 0:
        return None
    return unary_loop(NEGATIVE, f.grad, f.grad if f.owned and g.writeable else None)


cdef int rule_negative(Node node, Frame f) except -1:
    cdef object out
    if not wants(node, f, 0):
        return 1
    out = minus(f)
    if out is None:
        return 0
    return 1 + set_out(f, 0, out, True)


cdef int rule_subtract(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef GradMeta meta
    cdef object out = None
    cdef bint first = wants(node, f, 0)
    if not wants(node, f, 1):
        return 1 + set_out(f, 0, f.grad, f.owned)
    if real_view(f.grad, &g) < 0:
        return 0
    # A broadcast operand: the sum is negated, not the sum's terms.
    meta = narrow(node, f, 1)
    if meta is not None:
        out = sum_to(f.grad, meta)
        if out is not None:
            out = negated(out)
    if out is None:
        out = unary_loop(NEGATIVE, f.grad, None) if first else minus(f)
    if out is None:
        return 0
    if first:
        set_out(f, 0, f.grad, f.owned)
    return 1 + set_out(f, 1, out, True)


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
    cdef ArrayView vg, vo
    cdef object out
    if real_view(g, &vg) < 0:
        return None
    if not is_number(other) and real_view(other, &vo) != vg.slot:
        return None
    out = binary_loop(loops, g, other, g if overwrite and vg.writeable else None)
    if out is None:
        # No common run through memory, or a number that does not fit: NumPy's own call.
        out = wrapped((<object>loops.ufunc)(g, other))
    return out


# What is computed further is in a layout of NumPy's choice, which a direct loop may decline: NumPy's own call then.

cdef object into(const LoopSet* loops, object a, object other):
    """loops(a, other) in the memory of `a`, a plain array that nobody else holds."""
    cdef object out = binary_loop(loops, a, other, a)
    return (<object>loops.ufunc)(a, other, a) if out is None else out


cdef object negated(object a):
    """-a in the memory of `a`, a plain array that nobody else holds."""
    cdef object out = unary_loop(NEGATIVE, a, a)
    return (<object>NEGATIVE.ufunc)(a, a) if out is None else out


cdef object narrow_product(Node node, Frame f, int i, object other):
    """g * other summed over broadcast axes to where edge `i` leads, if that is to be and takes one pass, else None."""
    cdef ArrayView g, o
    cdef GradMeta meta = narrow(node, f, i)
    if meta is None or real_view(f.grad, &g) < 0 or real_view(other, &o) != g.slot:
        return None
    return sum_of_products(f.grad, other, meta)


cdef rule_ptr complex_rule = NULL       # the rule of multiply for complex gradients: attach_complex


cdef int rule_multiply(Node node, Frame f) except -1:
    cdef object out0 = None, out1 = None
    cdef bint first = wants(node, f, 0), second = wants(node, f, 1)
    if node.meta is not None and type(node.meta) is GradMeta and (<GradMeta>node.meta).is_complex:
        return 0 if complex_rule == NULL else complex_rule(node, f)
    if first and second and node.e0 is node.e1 and node.n0 == node.n1 and unobserved(node):
        return rule_multiply_by_itself(node, f)
    # Edges to broadcast operands come first: they leave the gradient as it is, for the other one to overwrite.
    if first:
        out0 = narrow_product(node, f, 0, find(node, SAVE_INPUT, 1))
    if second:
        out1 = narrow_product(node, f, 1, find(node, SAVE_INPUT, 0))
    if first and out0 is None:
        out0 = combined(MULTIPLY, f.grad, find(node, SAVE_INPUT, 1), f.owned and (not second or out1 is not None))
        if out0 is None:
            return 0
    if second and out1 is None:
        out1 = combined(MULTIPLY, f.grad, find(node, SAVE_INPUT, 0), f.owned)
        if out1 is None:
            return 0
    if first:
        set_out(f, 0, out0, True)
    if second:
        set_out(f, 1, out1, True)
    return 1


cdef bint unobserved(Node node) noexcept:
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    if ts.task == NULL or ts.node != <void*>node or node.hooks is not None or node.e0.g0 is not None:
        return False
    task = <GraphTask>ts.task
    return not (task.careful or task.own_queue or task.shared or task.anomaly)


cdef int rule_multiply_by_itself(Node node, Frame f) except -1:
    """x * x: both products are the same one, and so their sum goes to one edge at once; the other gets nothing.

    Only where no gradient waits there yet: the two would be added to it one by one, which rounds otherwise. And only in
    a run where nobody looks at what the node itself returns.
    """
    cdef object x = find(node, SAVE_INPUT, 1), out
    if x is None or x is not find(node, SAVE_INPUT, 0):
        return 0
    if by_kernel(node, f, K_TWICE):
        return 1
    out = combined(MULTIPLY, f.grad, x, f.owned)
    if out is None:
        return 0
    return 1 + set_out(f, 0, into(ADD, out, out), True)


cdef int rule_divide(Node node, Frame f) except -1:
    cdef object out0 = None, out1 = None, ans, divisor = find(node, SAVE_INPUT, 1)
    cdef bint first = wants(node, f, 0), second = wants(node, f, 1)
    if second:
        ans = find(node, SAVE_ANS, -1)
        if first and both_quotients(node, f, ans, divisor):
            return 1
        out1 = narrow_quotient(node, f, ans, divisor)
    if first:
        out0 = combined(DIVIDE, f.grad, divisor, f.owned and (not second or out1 is not None))
        if out0 is None:
            return 0
    if second and out1 is None:
        out1 = by_kernel3(f, K_QUOTIENT, ans, divisor, True)
        if out1 is None:
            out1 = quotient_by_parts(f, ans, divisor)
        if out1 is None:
            return 0
    if first:
        set_out(f, 0, out0, True)
    if second:
        set_out(f, 1, out1, True)
    return 1


cdef bint both_quotients(Node node, Frame f, object ans, object divisor) except -1:
    """g / divisor, and -g * ans / divisor as narrow_quotient has it, in one pass over g. False: declined."""
    cdef ArrayView g, y, z, r, s
    cdef GradMeta meta = narrow(node, f, 1)
    cdef unsigned long long mask = 0
    cdef Py_ssize_t outer, inner
    cdef bint leading
    cdef int slot = real_view(f.grad, &g), d, lead = 0, errors
    cdef object out, total
    if meta is None or slot < 0 or real_view(ans, &y) != slot or real_view(divisor, &z) != slot:
        return False
    if not g.c_order or not y.c_order or not z.c_order or g.size == 0 or g.ndim > 8 or not same_shape(&g, &y) \
            or z.ndim != meta.ndim or ADD.fn[slot] == NULL:
        return False
    lead = g.ndim - z.ndim
    for d in range(g.ndim):
        if d >= lead and z.dims[d - lead] == g.dims[d]:
            continue
        if d >= lead and z.dims[d - lead] != 1:
            return False
        mask |= 1ULL << d
    for d in range(z.ndim):
        if meta.dims[d] != z.dims[d]:
            return False
    if not split_axes(f.grad, mask, &outer, &inner, &leading):
        return False
    total = empty_dense(divisor)
    view_of(total, &s)
    out = result_memory(f, &g, 1, f.grad)
    view_of(out, &r)
    if g.size < NOGIL_SIZE:
        errors = run_quotients(ADD, slot, g.data, y.data, z.data, r.data, s.data, outer, inner, leading, SUM_START)
    else:
        with nogil:
            errors = run_quotients(ADD, slot, g.data, y.data, z.data, r.data, s.data, outer, inner, leading, SUM_START)
    if errors:
        report("divide", errors)
    set_out(f, 0, out, True)
    return 1 + set_out(f, 1, negated(into(DIVIDE, total, divisor)), True)


cdef object narrow_quotient(Node node, Frame f, object ans, object divisor):
    """-g * ans / divisor summed over the divisor's broadcast axes: the sum of g * ans, divided once. None: declined."""
    cdef ArrayView d, r
    cdef object out = narrow_product(node, f, 1, ans)
    if out is None or view_of(out, &r) < 0 or real_view(divisor, &d) != r.slot or not same_shape(&d, &r) \
            or not d.c_order:
        return None
    return negated(into(DIVIDE, out, divisor))


cdef object quotient_by_parts(Frame f, object ans, object divisor):
    """-g * ans / divisor where the divisor is broadcast. None: declined."""
    cdef ArrayView g, z
    cdef object out
    # Ask first: once the product may stand in the gradient's memory there is no way back.
    if real_view(f.grad, &g) < 0 or real_view(divisor, &z) != g.slot or not (g.c_order or g.f_order):
        return None
    out = combined(MULTIPLY, f.grad, ans, f.owned)
    if out is None:
        return None
    return negated(combined(DIVIDE, out, divisor, True))


cdef int operand_view(object x, int slot, ArrayView* v, double* storage) except -2:
    """Fill `v` from a plain array or a number of the slot's dtype; returns the slot, -1 for anything else."""
    if not is_number(x):
        return real_view(x, v)
    if not read_number(x, slot, <char*>storage):
        return -1
    v.data = <char*>storage
    v.ndim = 0
    v.size = 1
    v.slot = slot
    v.c_order = v.f_order = True
    return slot


cdef object by_kernel3(Frame f, int kernel, object a, object b, bint overwrite):
    """One pass over the gradient and two kept values, None: declined."""
    cdef ArrayView g, y, z, r
    cdef double number[2]
    cdef int sg, sy, sz, slot = real_view(f.grad, &g), errors
    cdef object out
    if slot < 0 or operand_view(a, slot, &y, &number[0]) != slot or operand_view(b, slot, &z, &number[1]) != slot:
        return None
    # The result is laid out like the first of the three that is dense and of the full shape.
    if g.c_order or g.f_order:
        sg, sy, sz = 1, steps(&y, &g), steps(&z, &g)
        out = f.grad
    elif (y.c_order or y.f_order) and y.ndim == g.ndim:
        sg, sy, sz = steps(&g, &y), 1, steps(&z, &y)
        out = a
    elif (z.c_order or z.f_order) and z.ndim == g.ndim:
        sg, sy, sz = steps(&g, &z), steps(&y, &z), 1
        out = b
    else:
        return None
    if sg < 0 or sy < 0 or sz < 0:
        return None
    if out is not f.grad and not same_shape(&g, &y if out is a else &z):
        return None
    if not (overwrite and f.owned and sg == 1 and g.writeable):
        out = empty_dense(out)
    else:
        out = f.grad
    view_of(out, &r)
    if r.size < NOGIL_SIZE:
        errors = run_kernel3(&kernels3[kernel], slot, g.data, sg, y.data, sy, z.data, sz, r.data, r.size)
    else:
        with nogil:
            errors = share_kernel3(team, &kernels3[kernel], slot, g.data, sg, y.data, sy, z.data, sz, r.data, r.size)
    if kernel == K_LARGER or kernel == K_SMALLER:
        errors = 0                      # raised by comparisons, or by halves that were not chosen
    if errors:
        report(kernels3[kernel].name, errors)
    return out


cdef int choice(Node node, Frame f, int kernel) except -1:
    """maximum and minimum."""
    cdef object out, x1 = find(node, SAVE_INPUT, 0), x2 = find(node, SAVE_INPUT, 1)
    cdef bint second = wants(node, f, 1)
    if wants(node, f, 0):
        out = by_kernel3(f, kernel, x1, x2, not second)
        if out is None:
            return 0
        set_out(f, 0, out, True)
    if second:
        out = by_kernel3(f, kernel, x2, x1, True)
        if out is None:
            return declined(f)
        set_out(f, 1, out, True)
    return 1


cdef int rule_maximum(Node node, Frame f) except -1:
    return choice(node, f, K_LARGER)

cdef int rule_minimum(Node node, Frame f) except -1:
    return choice(node, f, K_SMALLER)


# Into the table

cdef int attach(dict ops, str name, rule_ptr rule, tuple saves, list done) except -1:
    """Give an operation its rule, if its nodes keep what the rule expects."""
    cdef Op op
    if name not in ops:
        return 0
    op = ops[name]
    if op.saves == saves:
        op.fast_rule = rule
        done.append(name)
    return 0


cdef int attach_complex(rule_ptr rule) except -1:
    """Give multiply its rule for complex gradients. It stands in a module above this one."""
    global complex_rule
    complex_rule = rule
    return 0


cdef int attach_elementwise(dict ops, list done) except -1:
    """Attach the rules of this file."""
    attach(ops, "add", rule_pass, (), done)
    attach(ops, "astype", rule_pass, (), done)
    attach(ops, "broadcast_to", rule_pass, (), done)
    attach(ops, "positive", rule_pass, (), done)
    attach(ops, "_copy", rule_pass, (), done)
    attach(ops, "negative", rule_negative, (), done)
    attach(ops, "subtract", rule_subtract, (), done)
    attach(ops, "multiply", rule_multiply, ("x2", "x1"), done)
    attach(ops, "divide", rule_divide, ("x2", "ans"), done)
    attach(ops, "maximum", rule_maximum, ("x1", "x2"), done)
    attach(ops, "minimum", rule_minimum, ("x1", "x2"), done)
    attach(ops, "abs", rule_abs, ("x",), done)
    attach(ops, "acos", rule_acos, ("x",), done)
    attach(ops, "acosh", rule_acosh, ("x",), done)
    attach(ops, "asin", rule_asin, ("x",), done)
    attach(ops, "asinh", rule_asinh, ("x",), done)
    attach(ops, "atan", rule_atan, ("x",), done)
    attach(ops, "atanh", rule_atanh, ("x",), done)
    attach(ops, "cosh", rule_cosh, ("x",), done)
    attach(ops, "exp", rule_exp, ("ans",), done)
    attach(ops, "expm1", rule_expm1, ("ans",), done)
    attach(ops, "log", rule_log, ("x",), done)
    attach(ops, "log1p", rule_log1p, ("x",), done)
    attach(ops, "log2", rule_log2, ("x",), done)
    attach(ops, "log10", rule_log10, ("x",), done)
    attach(ops, "reciprocal", rule_reciprocal, ("ans",), done)
    attach(ops, "sinh", rule_sinh, ("x",), done)
    attach(ops, "sqrt", rule_sqrt, ("ans",), done)
    attach(ops, "square", rule_square, ("x",), done)
    attach(ops, "tan", rule_tan, ("ans",), done)
    attach(ops, "tanh", rule_tanh, ("ans",), done)
    return 0
