# May cimport: engine.arrayops, engine.sharing, core.op. Not numpy: what it exports is for modules that know no NumPy.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.sharing cimport Team
from arraygrad.core.op cimport Op


cdef extern from "inner_loops.hpp" namespace "arraygrad" nogil:
    enum:
        FPE_DIVIDE
        FPE_OVER
        FPE_UNDER
        FPE_INVALID
        SLOT_F32
        SLOT_F64
        SLOT_C64
        SLOT_C128
        N_SLOTS
    ctypedef void (*loop_fn)(char**, const Py_ssize_t*, const Py_ssize_t*, void*) noexcept
    struct LoopSet:
        const char* name
        void* ufunc
        loop_fn fn[4]
        void* data[4]
        bint to_bool
        int single
    struct Rows:
        Py_ssize_t outer, inner
        bint leading
        Py_ssize_t behind
    Py_ssize_t item_size(int slot) noexcept
    void fp_begin() noexcept
    int fp_end() noexcept
    bint any_nan[T](const T* x, Py_ssize_t n) noexcept

# Note [Captured kernels] in capture.hpp.
cdef extern from "capture.hpp" namespace "arraygrad":
    bint is_captured() noexcept
    void not_captured(const char* what) noexcept

# Called with the GIL, which they give up where that pays.
cdef extern from "shared_loops.hpp" namespace "arraygrad":
    int share_unary(Team* team, const LoopSet* s, int slot, char* x, Py_ssize_t sx, char* out, Py_ssize_t so,
                    Py_ssize_t n) noexcept
    int share_binary(Team* team, const LoopSet* s, int slot, char* a, Py_ssize_t sa, char* b, Py_ssize_t sb, char* out,
                     Py_ssize_t so, Py_ssize_t n) noexcept
    int share_rows(Team* team, const LoopSet* s, int slot, char* a, char* b, bint first, char* out, Py_ssize_t outer,
                   Py_ssize_t inner) noexcept
    int share_sum(Team* team, const LoopSet* s, int slot, char* x, char* out, const Rows& r, char* start,
                  Py_ssize_t groups) noexcept
    int share_product_sum(const LoopSet* add, const LoopSet* multiply, int slot, char* a, char* b, char* out,
                          const Rows& r, char* start, char* row) noexcept


# How Op.loops is called (Op.fast_kind).
cdef enum:
    KIND_NONE = 0
    KIND_UNARY = 1          # LoopSet of one operand
    KIND_BINARY = 2         # LoopSet of two operands
    KIND_POWER = 3          # LoopSet of numpy.power, by backends.numpy.powers
    KIND_CALL = 4           # forward_ptr
    KIND_COMPLEX = 5        # not at all; its rule serves complex results
    KIND_SINE = 6           # LoopSet of one operand; where a node is made, sines_of computes the cosine too
    KIND_COSINE = 7         # the same, with the sine
    KIND_OPERATOR_POWER = 8     # as KIND_POWER, but as the operator ** has it
    KIND_TABLE = 9          # RuleKernel of the formula of its value
    KIND_SCIPY = 10         # UfuncLoops of a ufunc of scipy.special, of the operation's name
    KIND_DIRECT = 11        # not at all: by direct.pyx

# A compiled forward: gets the operation's parameters in order; None: declined. One with parameters that leaves
# something for its rule (Op.leaves) gets one argument more where it is recorded, and returns (the result, what it
# leaves).
ctypedef object (*forward_ptr)(object args)


cdef LoopSet* loop_set(str ufunc, bint real=*) except NULL

# `where[0]`, which begins as NULL: what few programs need is not found and checked (20 us) at the import. Without the
# GIL, where several threads could be the first, whoever owns it asks at the import all the same.
cdef inline LoopSet* at_first_use(LoopSet** where, str ufunc) except NULL:
    if where[0] == NULL:
        where[0] = loop_set(ufunc)
    return where[0]

cdef bint fast_enabled() noexcept
cdef int report_errors(const char* name, int errors) except -1

cdef inline int report(const char* name, int errors) except -1:
    """Warn or raise for floating-point errors as np.errstate says, in the name of a ufunc."""
    return report_errors(name, errors) if errors else 0

cdef object unary_loop(const LoopSet* loops, object x, object out)
cdef object binary_loop(const LoopSet* loops, object a, object b, object out)
cdef object single_number(int code, object a, object b)
cdef double SUM_START           # what NumPy begins a sum with
cdef object product_of(object a, object b)
cdef bint has_products(int slot) noexcept
cdef object dot(object a, object b, int turned=*)
cdef int set_forward(Op op, forward_ptr forward) except -1
cdef bint axis_mask(object axis, int ndim, unsigned long long* mask) except -1
cdef int reduced_dims(int ndim, const Py_ssize_t* dims, unsigned long long mask, bint keepdims,
                      Py_ssize_t* out) noexcept
cdef object reduce_by(const LoopSet* loops, object x, unsigned long long mask, bint keepdims)
cdef bint split_axes(object x, unsigned long long mask, Rows* r) noexcept
cdef object sum_of_products(object a, object b, GradMeta meta)
cdef object sum_to(object a, GradMeta meta)
cdef bint broadcast_mask(object array, GradMeta meta, unsigned long long* mask) noexcept
cdef bint read_number(object number, int slot, char* value) except -1
