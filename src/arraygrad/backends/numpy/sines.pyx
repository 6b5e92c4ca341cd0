# Sine and cosine: where they are recorded both are computed at once, and the rule finds the other.
# May import: engine.free_threading, engine.node, core.op, backends.numpy.ndarrays, backends.numpy.loops,
# backends.numpy.elementwise.
from arraygrad.backends.numpy.elementwise cimport (
    OneStep, attach, saved_value, kernel_named, last_step, pair_rule, real_view, rule_of_table,
)
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_dense, view_of
from arraygrad.backends.numpy.loops cimport KIND_COSINE, KIND_SINE, KIND_UNARY, SLOT_F64, LoopSet, at_first_use, report
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node, NODE_ASIDE
from arraygrad.core.op cimport Op

cdef extern from "sines.hpp" namespace "arraygrad" nogil:
    int run_sines(const LoopSet* sine_loops, const LoopSet* cosine_loops, int slot, const char* x, char* sine,
                  char* cosine, Py_ssize_t n) noexcept
    bint are_ours(const LoopSet* sine, const LoopSet* cosine) noexcept
    bint same_sines(const LoopSet* sine, const LoopSet* cosine) except +

cdef enum:
    LEAST = 16              # elements; of fewer the second array costs more than the second pass
    MANY = 20000            # and of so many its memory does (float64)
    MANY_FLOATS = 250000    # float32: 300 000 took 410 us for 630; of a million each would keep another 4 MB

# at_first_use
cdef LoopSet* SIN = NULL
cdef LoopSet* COS = NULL
cdef int _usable = -1       # -1: not known yet
if FREE_THREADED:
    _usable = same_sines(at_first_use(&SIN, "sin"), at_first_use(&COS, "cos"))


cdef tuple sines_of(Op op, object x):
    """The result of `op` and the other of the two, (sin(x), cos(x)) or (cos(x), sin(x)). None: declined."""
    global _usable
    cdef ArrayView v, s, c
    cdef object sine, cosine
    cdef int errors, slot = real_view(x, &v)
    if slot < 0 or not LEAST <= v.size < (MANY if slot == SLOT_F64 else MANY_FLOATS) or not (v.c_order or v.f_order):
        return None
    if _usable < 0:
        _usable = same_sines(at_first_use(&SIN, "sin"), at_first_use(&COS, "cos"))
    if not (_usable if slot == SLOT_F64 else are_ours(SIN, COS)):
        return None
    sine = empty_dense(x)
    cosine = empty_dense(x)
    view_of(sine, &s)
    view_of(cosine, &c)
    errors = run_sines(SIN, COS, slot, v.data, s.data, c.data, v.size)
    report((<const LoopSet*>op.loops).name, errors)
    return (sine, cosine) if op.fast_kind == KIND_SINE else (cosine, sine)


def sines_are_used(str dtype="d"):
    """Whether both at once have the bits of NumPy's loops; None before it was tried. `dtype`: "d" or "f"."""
    return None if _usable < 0 else bool(_usable) if dtype == "d" else bool(are_ours(SIN, COS))


# The gradient times the other of the two, which the forward left.
cdef OneStep SINE_RULE
cdef OneStep COSINE_RULE
last_step(&SINE_RULE, kernel_named("sin", "x"))
last_step(&COSINE_RULE, kernel_named("cos", "x"))


cdef int rule_sine(Node node, Frame f) except -1:
    """The rule of both: the gradient times what the forward left."""
    cdef const OneStep* last = &SINE_RULE if (<Op>node.op).fast_kind == KIND_SINE else &COSINE_RULE
    if not node.flags & NODE_ASIDE:
        return rule_of_table(node, f)
    # What is overwritten the table's rule tells of.
    return 0 if saved_value(node, 0) is None else pair_rule(f, &last.kernel, node.args, None)


cdef int attach_sines(dict ops, list done) except -1:
    """Attach the rule, and have recorded calls of both leave to it what it needs."""
    cdef Op op
    for name, kind in (("sin", KIND_SINE), ("cos", KIND_COSINE)):
        if name in ops:
            op = ops[name]
            if attach(ops, name, rule_sine, ("x",), done) and op.fast_kind == KIND_UNARY:
                op.fast_kind = kind
                op.leaves = True
    return 0
