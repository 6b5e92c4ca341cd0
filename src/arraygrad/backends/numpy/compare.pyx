# Compiled forwards of comparisons, of isnan and its like, and of logic: results of dtype bool.
# May import: engine.sharing, backends.numpy.loops.
#
# Served are exact ndarrays of float32 or float64 (of bool, for logic) that are one dense run each, of one shape and
# order, or one of them and a Python number that fits its dtype; None: declined.
# Guarded by tests/ops/test_fast_tests.py.
from arraygrad.backends.numpy.loops cimport (
    NOGIL_SIZE, SLOT_F32, SLOT_F64, ArrayView, bools_of, empty_bools, read_number, same_shape, view_of,
)
from arraygrad.engine.sharing cimport Team, team

cdef extern from "compare.hpp" namespace "arraygrad" nogil:
    enum:
        CMP_EQ
        CMP_NE
        CMP_LT
        CMP_LE
        CMP_GT
        CMP_GE
        ASK_NAN
        ASK_INF
        ASK_FINITE
        LOGIC_AND
        LOGIC_OR
    void compare[T](int code, const T* a, Py_ssize_t sa, const T* b, Py_ssize_t sb, unsigned char* out, Py_ssize_t n)
    void share_compare[T](Team* team, int code, const T* a, Py_ssize_t sa, const T* b, Py_ssize_t sb,
                          unsigned char* out, Py_ssize_t n)
    void ask[T](int code, const T* x, unsigned char* out, Py_ssize_t n)
    void logic(int code, const unsigned char* a, const unsigned char* b, unsigned char* out, Py_ssize_t n)


cdef bint alongside(const ArrayView* a, const ArrayView* b) noexcept:
    """Whether two arrays have one shape and list their elements in the same order."""
    return same_shape(a, b) and ((a.c_order and b.c_order) or (a.f_order and b.f_order))


cdef object compared(int code, object args):
    cdef ArrayView a, b, o
    cdef double number[2]
    cdef object like = args[0], out
    cdef Py_ssize_t sa = 1, sb = 1, n
    cdef int slot = view_of(args[0], &a)
    if slot >= 0:
        if view_of(args[1], &b) == slot:
            if not alongside(&a, &b):
                return None
        elif slot > SLOT_F64 or not read_number(args[1], slot, <char*>number):
            return None
        else:
            b.data = <char*>number
            sb = 0
        if not (a.c_order or a.f_order):
            return None
        n = a.size
    else:
        like = args[1]
        slot = view_of(args[1], &b)
        if not 0 <= slot <= SLOT_F64 or not (b.c_order or b.f_order) or not read_number(args[0], slot, <char*>number):
            return None
        a.data = <char*>number
        sa = 0
        n = b.size
    if slot > SLOT_F64:
        return None
    out = empty_bools(like)
    bools_of(out, &o)
    if n < NOGIL_SIZE:
        compare_run(code, slot, a.data, sa, b.data, sb, o.data, n)
    else:
        with nogil:
            compare_shared(code, slot, a.data, sa, b.data, sb, o.data, n)
    return out


cdef inline void compare_run(int code, int slot, const char* a, Py_ssize_t sa, const char* b, Py_ssize_t sb, char* out,
                             Py_ssize_t n) noexcept nogil:
    if slot == SLOT_F64:
        compare(code, <const double*>a, sa, <const double*>b, sb, <unsigned char*>out, n)
    else:
        compare(code, <const float*>a, sa, <const float*>b, sb, <unsigned char*>out, n)


cdef inline void compare_shared(int code, int slot, const char* a, Py_ssize_t sa, const char* b, Py_ssize_t sb,
                                char* out, Py_ssize_t n) noexcept nogil:
    if slot == SLOT_F64:
        share_compare(team, code, <const double*>a, sa, <const double*>b, sb, <unsigned char*>out, n)
    else:
        share_compare(team, code, <const float*>a, sa, <const float*>b, sb, <unsigned char*>out, n)


cdef object asked(int code, object args):
    cdef ArrayView x, o
    cdef object out
    cdef int slot = view_of(args[0], &x)
    if not 0 <= slot <= SLOT_F64 or not (x.c_order or x.f_order) or x.size >= NOGIL_SIZE:
        return None
    out = empty_bools(args[0])
    bools_of(out, &o)
    if slot == SLOT_F32:
        ask(code, <const float*>x.data, <unsigned char*>o.data, x.size)
    else:
        ask(code, <const double*>x.data, <unsigned char*>o.data, x.size)
    return out


cdef object combined(int code, object args):
    cdef ArrayView a, b, o
    cdef object out
    if not bools_of(args[0], &a) or not bools_of(args[1], &b) or not alongside(&a, &b) or a.size >= NOGIL_SIZE:
        return None
    out = empty_bools(args[0])
    bools_of(out, &o)
    logic(code, <const unsigned char*>a.data, <const unsigned char*>b.data, <unsigned char*>o.data, a.size)
    return out


cdef object forward_equal(object args):
    return compared(CMP_EQ, args)


cdef object forward_not_equal(object args):
    return compared(CMP_NE, args)


cdef object forward_less(object args):
    return compared(CMP_LT, args)


cdef object forward_less_equal(object args):
    return compared(CMP_LE, args)


cdef object forward_greater(object args):
    return compared(CMP_GT, args)


cdef object forward_greater_equal(object args):
    return compared(CMP_GE, args)


cdef object forward_isnan(object args):
    return asked(ASK_NAN, args)


cdef object forward_isinf(object args):
    return asked(ASK_INF, args)


cdef object forward_isfinite(object args):
    return asked(ASK_FINITE, args)


cdef object forward_logical_and(object args):
    return combined(LOGIC_AND, args)


cdef object forward_logical_or(object args):
    return combined(LOGIC_OR, args)
