# Powers: which of its loops NumPy takes for which exponent, and the compiled rule of `pow`.
# May import: engine.free_threading, engine.node, core.op, backends.numpy.complex_rules, backends.numpy.elementwise,
# backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.single, ops.elementwise (Python only), numpy (Python
# only).
#
# Note [Powers]
# ~~~~~~~~~~~~~
# The last bits of NumPy's loops for power, square, sqrt and reciprocal differ between processors and from one another:
# where power is a vector library's, x ** 2 as a power is not x * x for 2 % of all numbers. So it counts which runs.
# (1) With some numbers Python's operator is another ufunc than numpy.power: a square for the integer 2, a root for 0.5.
#     Which ones depends on NumPy's version, on the number's type and on whether x is complex. NumPy is asked once for
#     each, by an array that notes which ufunc it is given to. The operator is an operation of its own for that
#     (Op.by_operator): one entry of the table, one rule, one name, two ways to the value.
# (2) numpy.power by its name is always its own loop, which may choose by the step of the exponent: zero for a number.
#     It is given the steps that NumPy gives it, also within rules, which therefore ask for xp.pow.
# (3) Squares are five times as fast by the loop of square. They are taken so where its bits are those of power.
# Guarded by tests/backends/test_powers.py, and on any processor by tests/backends/test_replaced_loops.py.
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsDouble, PyLong_AsLongAndOverflow, PyLong_CheckExact

import numpy as np

from arraygrad.ops.elementwise import POW_NUMBERS

from arraygrad.backends.numpy.complex_rules cimport complex_power
from arraygrad.backends.numpy.elementwise cimport (
    OneStep, RuleKernel, attach, saved_for, gradient_by, gradient_of_edge, has_complex_result, is_number,
    kernel_named, last_step, real_view, rule_of_table, set_out, wants_gradient,
)
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_of, view_of
from arraygrad.backends.numpy.loops cimport (
    SLOT_C64, SLOT_F32, SLOT_F64, LoopSet, at_first_use, binary_loop, fast_enabled, loop_set, not_captured,
    share_binary, share_unary, unary_loop,
)
from arraygrad.backends.numpy.single cimport SINGLE_MULTIPLY, kept_number, serve_numbers, single_result
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op, SAVE_ANS, SAVE_INPUT

cdef enum:
    CONVERTED = 1 << 14     # elements up to which operands are converted as a whole
    PROBES = 2000           # elements: a loop that rounds one number in a hundred otherwise is found out

# What an exponent can be to the operator (1), and the numbers that it may treat in a way of its own.
cdef enum Exponent:
    INTEGER = 0
    FLOATING = 1
    ARRAY = 2               # of no axes

cdef enum:
    N_SPECIAL = 5

cdef double SPECIAL[N_SPECIAL]
SPECIAL[:] = [2.0, -1.0, 0.5, 1.0, 0.0]

cdef enum Way:
    UNKNOWN = 0
    BY_POWER = 1
    BY_LOOP = 2             # the loop of a ufunc of one operand
    BY_NUMPY = 3            # another ufunc: NumPy's own call

cdef LoopSet* POWER = NULL                  # at_first_use
cdef LoopSet* FLOAT_POWER = NULL
cdef LoopSet _square                        # in the name of power
cdef bint _squares[2]                       # by slot: a square is a power (3)
cdef bint _ones[2]                          # by slot: a power of 1 is x itself
cdef bint _compared = False
cdef Way _ways[2][3][N_SPECIAL]             # is complex, Exponent, number
cdef LoopSet* _loops[2][3][N_SPECIAL]


class Witness(np.ndarray):
    """An array that computes nothing, but notes which ufunc it is given to."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.ufunc = ufunc
        return self


def ufunc_of_operator(dtype, exponent):
    """The ufunc that NumPy calls for `x ** exponent` of an array of `dtype`."""
    witness = np.ones(3, dtype).view(Witness)
    witness.ufunc = None
    witness ** exponent
    return witness.ufunc


cdef int ask(bint is_complex, int kind, int number) except -1:
    """Learn what the operator does with one kind of exponent (1)."""
    cdef str name
    dtype = np.complex128 if is_complex else np.float64
    value = SPECIAL[number]
    if kind == INTEGER:
        value = int(value)
    elif kind == ARRAY:
        value = np.array(value)
    ufunc = ufunc_of_operator(dtype, value)
    name = ufunc.__name__ if isinstance(ufunc, np.ufunc) else ""
    if name == "power":
        _ways[is_complex][kind][number] = BY_POWER
    elif name in ("square", "sqrt", "reciprocal"):
        _loops[is_complex][kind][number] = loop_set(name)
        _ways[is_complex][kind][number] = BY_LOOP
    else:
        _ways[is_complex][kind][number] = BY_NUMPY
    return 0


cdef int compare() except -1:
    """Learn what power's own loop gives for the exponents 2 and 1."""
    global _square, _compared
    cdef int slot
    at_first_use(&POWER, "power")
    _square = loop_set("square")[0]
    _square.name = "power"
    for slot in (SLOT_F32, SLOT_F64):
        x = np.random.RandomState(1).uniform(-3.0, 3.0, PROBES).astype("fd"[slot])
        one, two = x.dtype.type(1), x.dtype.type(2)
        _squares[slot] = np.power(x, two).tobytes() == np.square(x).tobytes()
        _ones[slot] = np.power(x, one).tobytes() == x.tobytes()
    _compared = True
    return 0


if FREE_THREADED:           # where many threads may be the first to ask
    compare()
    for _kind in range(3):
        for _number in range(N_SPECIAL):
            ask(False, _kind, _number)
            ask(True, _kind, _number)


# Forward

cdef int special_number(object b, double* value, int* kind) except -2:
    """Which number of SPECIAL an exponent is, and what it is to the operator. -1: none of them."""
    cdef ArrayView v
    cdef int k, overflow = 0
    if PyFloat_CheckExact(b):
        kind[0] = FLOATING
        value[0] = PyFloat_AS_DOUBLE(b)
    elif PyLong_CheckExact(b):
        kind[0] = INTEGER
        value[0] = <double>PyLong_AsLongAndOverflow(b, &overflow)
        if overflow:
            return -1
    else:
        if view_of(b, &v) < 0 or v.ndim != 0 or v.slot > SLOT_F64:
            return -1
        kind[0] = ARRAY
        not_captured("a power by the value of an array")
        value[0] = (<double*>v.data)[0] if v.slot == SLOT_F64 else (<float*>v.data)[0]
    for k in range(N_SPECIAL):
        if SPECIAL[k] == value[0]:
            return k
    return -1


cdef object power(object a, object b):
    """numpy.power(a, b) by direct loop, None: declined."""
    cdef ArrayView v
    cdef double value = 0.0
    cdef int kind = 0
    if not _compared:
        compare()
    if special_number(b, &value, &kind) == 0 and kind != ARRAY and 0 <= view_of(a, &v) <= SLOT_F64 \
            and _squares[v.slot]:
        return unary_loop(&_square, a, None)                                        # (3)
    return binary_loop(POWER, a, b, None)


cdef object power_by_operator(object a, object b):
    """a ** b by direct loop, None: declined."""
    cdef ArrayView v
    cdef double value = 0.0
    cdef int kind = 0, number = special_number(b, &value, &kind)
    cdef bint is_complex
    if number < 0 or view_of(a, &v) < 0:
        return power(a, b)
    is_complex = v.slot >= SLOT_C64
    if _ways[is_complex][kind][number] == UNKNOWN:
        ask(is_complex, kind, number)
        if kind != ARRAY:                   # value_by_operator wants to know of both
            ask(is_complex, <int>INTEGER + <int>FLOATING - kind, number)
    if _ways[is_complex][kind][number] == BY_POWER:
        return power(a, b)
    if _ways[is_complex][kind][number] == BY_LOOP:
        return unary_loop(_loops[is_complex][kind][number], a, None)
    return None


cdef object forward_float_power(object args):
    """numpy.float_power, which computes in double precision, of real arrays and numbers. None: declined."""
    cdef object a = in_double(args[0]), b = in_double(args[1])
    return None if a is None or b is None else binary_loop(at_first_use(&FLOAT_POWER, "float_power"), a, b, None)


cdef object in_double(object x):
    """An array of float32 in double precision, anything else as it is. None: declined."""
    cdef ArrayView v, o
    cdef Py_ssize_t i
    cdef object out
    cdef int slot = view_of(x, &v)
    if slot != SLOT_F32:
        return None if slot > SLOT_F64 else x
    if v.size > CONVERTED or not (v.c_order or v.f_order):
        return None
    out = empty_of(SLOT_F64, v.ndim, v.dims, not v.c_order)
    view_of(out, &o)
    for i in range(v.size):
        (<double*>o.data)[i] = (<float*>v.data)[i]
    return out


# Of single numbers, by a plain number (core.number_ops)

cdef bint value_by_power(Op op, double x, double p, double* out) noexcept:
    """`power`."""
    if not fast_enabled() or not _compared or POWER.fn[SLOT_F64] == NULL:
        return False
    if p == 2.0 and _squares[SLOT_F64]:
        return share_unary(NULL, &_square, SLOT_F64, <char*>&x, 0, <char*>out, sizeof(double), 1) == 0
    return share_binary(NULL, POWER, SLOT_F64, <char*>&x, 0, <char*>&p, 0, <char*>out, sizeof(double), 1) == 0


cdef bint value_by_operator(Op op, double x, double p, double* out) noexcept:
    """`power_by_operator`, where integers and floating-point numbers go the same way."""
    cdef LoopSet* loops
    cdef Way way
    cdef int k, whole = INTEGER, floating = FLOATING
    for k in range(N_SPECIAL):
        if SPECIAL[k] != p:
            continue
        way = _ways[False][whole][k]
        loops = _loops[False][whole][k]
        if way == UNKNOWN or way == BY_NUMPY or way != _ways[False][floating][k]:
            return False
        if way == BY_LOOP:
            if not fast_enabled() or loops != _loops[False][floating][k] or loops.fn[SLOT_F64] == NULL:
                return False
            return share_unary(NULL, loops, SLOT_F64, <char*>&x, 0, <char*>out, sizeof(double), 1) == 0
        break
    return value_by_power(op, x, p, out)


# The rule

cdef const RuleKernel* BY_NUMBER = kernel_named("pow", "number")
cdef OneStep OF_SQUARE                      # its last step, of the number and of x, which is a power of 1
last_step(&OF_SQUARE, BY_NUMBER)


# The numbers of the table whose power is a few products and roots.
cdef enum:
    MOST_NUMBERS = 16

cdef int n_numbers = 0
cdef double NUMBERS[MOST_NUMBERS]
cdef const RuleKernel* OF_NUMBERS[MOST_NUMBERS]
for _p in POW_NUMBERS:
    NUMBERS[n_numbers] = _p
    OF_NUMBERS[n_numbers] = kernel_named("pow", f"number_{n_numbers}")
    n_numbers += 1

cdef const RuleKernel* BY_BASE = kernel_named("pow", "base")


cdef int gradient_of_exponent(Node node, Frame f) except -1:
    """b ** x for a Python number b other than 0: its logarithm is taken once."""
    cdef object number = saved_for(node, SAVE_INPUT, 0), out
    if not is_number(number) or number == 0:
        return rule_of_table(node, f)
    out = gradient_by(f, BY_BASE, saved_for(node, SAVE_ANS, -1), number, None, True, node)
    return 0 if out is None else 1 + set_out(f, 1, out, True)


cdef int rule_pow(Node node, Frame f) except -1:
    """x ** p for a number p other than 0 by fewer steps than other powers take."""
    cdef ArrayView x, v
    cdef int k, slot
    cdef object number, out, other = None
    cdef double p
    cdef bint second = wants_gradient(node, f, 1)
    if has_complex_result(node):
        return complex_power(node, f)
    if second and not wants_gradient(node, f, 0):
        return gradient_of_exponent(node, f)
    number = saved_for(node, SAVE_INPUT, 1)
    slot = real_view(saved_for(node, SAVE_INPUT, 0), &x)
    if slot < 0:
        return rule_of_table(node, f)
    if is_number(number):
        p = PyFloat_AS_DOUBLE(number) if PyFloat_CheckExact(number) else PyLong_AsDouble(number)
    elif real_view(number, &v) == slot and v.ndim == 0:
        not_captured("a power by the value of an array")
        p = (<double*>v.data)[0] if slot == SLOT_F64 else (<float*>v.data)[0]
    else:
        return rule_of_table(node, f)
    for k in range(n_numbers):
        if NUMBERS[k] == p:
            if second:
                other = gradient_of_edge(node, f, 1)
                if other is None:
                    return 0
            out = gradient_by(f, OF_NUMBERS[k], saved_for(node, SAVE_INPUT, 0), None, None, True,
                              None if second else node)
            if out is None:
                return 0
            if second:
                set_out(f, 1, other, True)
            return 1 + set_out(f, 0, out, True)
    if not is_number(number) or p == 0.0 or not -1e30 < p < 1e30:
        return rule_of_table(node, f)
    if not _compared:
        compare()
    if p == 2.0 and _ones[slot]:
        out = gradient_by(f, &OF_SQUARE.kernel, number, saved_for(node, SAVE_INPUT, 0), None, True, node)
    else:
        out = gradient_by(f, BY_NUMBER, saved_for(node, SAVE_INPUT, 0), number, None, True, node)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef bint number_pow(Node node, double g, double* out) noexcept:
    """x ** 2, and x ** 3 where its square is a power."""
    cdef double x, p, factor
    if not _compared or node.e1 is not None or not kept_number(node.s0, &x) or not kept_number(node.s1, &p):
        return False
    if p == 3.0 and _squares[SLOT_F64]:
        if not single_result(SINGLE_MULTIPLY, x, x, &x):
            return False
    elif p != 2.0 or not _ones[SLOT_F64]:
        return False
    return single_result(SINGLE_MULTIPLY, p, x, &factor) and single_result(SINGLE_MULTIPLY, g, factor, out)


cdef int attach_powers(dict ops, list done) except -1:
    """Attach the rule of powers, to the operator's too."""
    cdef Op op
    if attach(ops, "pow", rule_pow, ("x1", "x2", "ans"), done):
        (<Op>ops["pow"]).reads_repeats = True
    attach(ops, "_float_power", rule_pow, ("x1", "x2", "ans"), done)
    serve_numbers(ops, "pow", number_pow, ("x1", "x2", "ans"), value_by_power)
    if "pow" in ops:
        op = ops["pow"]
        if op.by_operator is not None:
            op.by_operator.fast_rule = op.fast_rule
            op.by_operator.reads_repeats = op.reads_repeats
            op.by_operator.number_rule = op.number_rule
            if op.number_value != NULL:
                op.by_operator.number_value = value_by_operator
    return 0
