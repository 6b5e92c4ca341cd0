# Arithmetic on two single numbers of double precision, its rules, and single elements of arrays. See
# Note [Single numbers] in single.hpp, and Note [Numbers] in engine/numbers.pyx.
# May import: engine.arrayops, engine.node, core.op, core.value, backends.numpy.ndarrays, backends.numpy.loops.
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_c, empty_of, has_axes, new_number, view_of, zeros_for
from arraygrad.backends.numpy.loops cimport (
    KIND_UNARY, SLOT_F64, LoopSet, fast_enabled, is_captured, item_size, read_number, share_unary,
)
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Node
from arraygrad.core.op cimport Op, number_ptr, number_value_ptr
from arraygrad.core.value cimport Value

cdef extern from "single.hpp" namespace "arraygrad":
    char* element_number "element_at"(const ArrayView* v, object key, uint64_t* number) noexcept


cdef bint is_single(object x) noexcept:
    """Whether `x` is one float64 without axes, as an exact ndarray that can be read."""
    cdef ArrayView v
    return not has_axes(x) and view_of(x, &v) == SLOT_F64


cdef bint read_single(object x, double* number) except -1:
    """Read a float64 array without axes, or a plain number. False: anything else."""
    cdef ArrayView v
    cdef int slot = view_of(x, &v)
    if slot == SLOT_F64:
        number[0] = (<double*>v.data)[0]
        return True
    return slot < 0 and read_number(x, SLOT_F64, <char*>number)


cdef object single_loop(const LoopSet* loops, object a, object b, object out):
    """A binary ufunc of two single numbers, of which one is an array, into `out` (which may be a or b) or a new array.

    None: declined, nothing was done.
    """
    cdef ArrayView v
    cdef double x, y, r
    if not loops.single or is_captured() or has_axes(a) or has_axes(b) or not read_single(a, &x) \
            or not read_single(b, &y):
        return None
    if not single_result(loops.single, x, y, &r):
        return None
    if out is None:
        return new_number(r)
    if view_of(out, &v) != SLOT_F64 or v.ndim or not v.writeable:
        return None
    (<double*>v.data)[0] = r
    return out


cdef object single_element(object array, object key, uint64_t* number):
    """array[key] as an array of its own, where ints name one real number of a plain array; else None.

    `number` becomes the number of the element in row-major order.
    """
    cdef ArrayView v, r
    cdef char* place
    cdef object out
    if not fast_enabled() or is_captured() or view_of(array, &v) < 0 or v.slot > SLOT_F64:
        return None
    place = element_number(&v, key, number)
    if place == NULL:
        return None
    out = empty_c(array, 0, NULL)
    view_of(out, &r)
    memcpy(r.data, place, item_size(v.slot))
    return out


cdef bint single_number_at(object array, object key, uint64_t* number, double* x) noexcept:
    """array[key] in double precision, where single_element serves it. False: anything else."""
    cdef ArrayView v
    cdef char* place
    if not fast_enabled() or is_captured() or view_of(array, &v) != SLOT_F64:
        return False
    place = element_number(&v, key, number)
    if place == NULL:
        return False
    x[0] = (<double*>place)[0]
    return True


cdef object array_of_numbers(int ndim, const Py_ssize_t* dims, const double* numbers):
    """A new array with these numbers in row-major order; None: fast paths are off."""
    cdef ArrayView v
    cdef object out
    if not fast_enabled() or is_captured():
        return None
    out = empty_of(SLOT_F64, ndim, dims, False)
    view_of(out, &v)
    memcpy(v.data, numbers, v.size * sizeof(double))
    return out


cdef bint put_single(object array, object key, object value, uint64_t* where) except -1:
    """array[key] = value, where single_element serves array[key], for a number or an array without axes of its dtype.

    False: anything else, and nothing was written. A value of None is not written, and True says that one would be.
    `where` becomes the number of the element in row-major order.
    """
    cdef ArrayView v, one
    cdef char* place
    cdef double number[2]
    cdef char* read = <char*>number
    if not fast_enabled() or is_captured() or view_of(array, &v) < 0 or v.slot > SLOT_F64 or not v.writeable:
        return False
    place = element_number(&v, key, where)
    if place == NULL:
        return False
    if value is None:
        return True
    if view_of(value, &one) == v.slot and one.ndim == 0:
        read = one.data
    elif not read_number(value, v.slot, read):
        return False
    memcpy(place, read, item_size(v.slot))
    return True


# Gradients that are numbers, as engine.numbers asks for them

cdef bint read_number_array(object grad, double* x) noexcept:
    cdef ArrayView v
    if is_captured() or view_of(grad, &v) != SLOT_F64 or v.ndim:
        return False
    x[0] = (<double*>v.data)[0]
    return True


cdef object with_element(object held, GradMeta meta, uint64_t place, double x):
    """`held`, or zeros that match `meta`, with x added to one element. None: declined."""
    cdef ArrayView v
    cdef object whole = held
    if is_captured():
        return None
    if held is None:
        if meta.ndim > 8:
            return None
        whole = zeros_for(meta)
    if view_of(whole, &v) != SLOT_F64 or v.ndim != meta.ndim or not v.writeable or place >= <uint64_t>v.size:
        return None
    if held is None:
        (<double*>numbered_element(&v, place))[0] = x
    elif not finite_sum[double](numbered_element(&v, place), <const char*>&x):
        return None
    return whole


cdef bint element_taken(object held, uint64_t place, double* x) noexcept:
    """Read an element of a gradient and leave zero there. False: declined."""
    cdef ArrayView v
    cdef double* at
    if is_captured() or view_of(held, &v) != SLOT_F64 or not v.writeable or place >= <uint64_t>v.size:
        return False
    at = <double*>numbered_element(&v, place)
    x[0] = at[0]
    at[0] = 0.0
    return True


# Rules on numbers. Each computes what the operation's other rules do, step by step; a step whose result is not finite,
# or may have underflowed, is declined, and those report it.

cdef bint kept_number(object slot, double* x) noexcept:
    """What a node with NODE_NUMBER kept: a Value of one float64, or a plain number. False: overwritten since."""
    cdef ArrayView v
    if PyFloat_CheckExact(slot):
        x[0] = PyFloat_AS_DOUBLE(slot)
        return True
    if type(slot) is Value:
        if (<Value>slot).overwritten or view_of((<Value>slot).raw, &v) != SLOT_F64:
            return False
        x[0] = (<double*>v.data)[0]
        return True
    return read_plain(slot, x)


cdef bint read_plain(object number, double* x) noexcept:
    return read_number(number, SLOT_F64, <char*>x)


cdef bint number_add(Node node, double g, double* out) noexcept:
    out[0] = out[1] = g
    return True


cdef bint number_subtract(Node node, double g, double* out) noexcept:
    out[0] = g
    out[1] = -g
    return True


cdef bint number_negative(Node node, double g, double* out) noexcept:
    out[0] = -g
    return True


cdef bint number_multiply(Node node, double g, double* out) noexcept:
    cdef double x
    if node.e0 is not None and not (kept_number(node.s0, &x) and single_result(SINGLE_MULTIPLY, g, x, &out[0])):
        return False
    return node.e1 is None or kept_number(node.s1, &x) and single_result(SINGLE_MULTIPLY, g, x, &out[1])


cdef bint number_divide(Node node, double g, double* out) noexcept:
    cdef double x, ans, product
    if not kept_number(node.s0, &x):
        return False
    if node.e0 is not None and not single_result(SINGLE_DIVIDE, g, x, &out[0]):
        return False
    if node.e1 is None:
        return True
    return kept_number(node.s1, &ans) and single_result(SINGLE_MULTIPLY, -g, ans, &product) and \
        single_result(SINGLE_DIVIDE, product, x, &out[1])


cdef bint number_exp(Node node, double g, double* out) noexcept:
    cdef double ans
    return kept_number(node.s0, &ans) and single_result(SINGLE_MULTIPLY, g, ans, out)


cdef bint number_log(Node node, double g, double* out) noexcept:
    cdef double x
    return kept_number(node.s0, &x) and single_result(SINGLE_DIVIDE, g, x, out)


cdef bint number_sqrt(Node node, double g, double* out) noexcept:
    cdef double ans, half
    return kept_number(node.s0, &ans) and single_result(SINGLE_MULTIPLY, 0.5, g, &half) and \
        single_result(SINGLE_DIVIDE, half, ans, out)


cdef bint number_square(Node node, double g, double* out) noexcept:
    cdef double x, twice
    return kept_number(node.s0, &x) and single_result(SINGLE_MULTIPLY, 2.0, g, &twice) and \
        single_result(SINGLE_MULTIPLY, twice, x, out)


cdef bint number_tanh(Node node, double g, double* out) noexcept:
    cdef double ans, product
    return kept_number(node.s0, &ans) and single_result(SINGLE_MULTIPLY, ans, ans, &product) and \
        single_result(SINGLE_MULTIPLY, g, 1.0 - product, out)


# Values of numbers, as core.number_ops asks for them

cdef bint value_of_sum(Op op, double x, double y, double* out) noexcept:
    return fast_enabled() and single_result(SINGLE_ADD, x, y, out)


cdef bint value_of_difference(Op op, double x, double y, double* out) noexcept:
    return fast_enabled() and single_result(SINGLE_SUBTRACT, x, y, out)


cdef bint value_of_product(Op op, double x, double y, double* out) noexcept:
    return fast_enabled() and single_result(SINGLE_MULTIPLY, x, y, out)


cdef bint value_of_quotient(Op op, double x, double y, double* out) noexcept:
    return fast_enabled() and single_result(SINGLE_DIVIDE, x, y, out)


cdef bint value_of_negative(Op op, double x, double y, double* out) noexcept:
    out[0] = -x
    return fast_enabled()


cdef bint value_by_loop(Op op, double x, double y, double* out) noexcept:
    """A function of one number by its ufunc's loop, as unary_loop has it."""
    cdef LoopSet* loops = <LoopSet*>op.loops
    if not fast_enabled() or op.fast_kind != KIND_UNARY or loops == NULL or loops.fn[SLOT_F64] == NULL:
        return False
    return share_unary(NULL, loops, SLOT_F64, <char*>&x, 0, <char*>out, sizeof(double), 1) == 0


cdef int serve_numbers(dict ops, str name, number_ptr rule, tuple saves, number_value_ptr value=NULL) except -1:
    cdef Op op = ops.get(name)
    if op is not None and op.saves == saves:
        op.number_rule = rule
        op.number_value = value
    return 0


cdef int attach_numbers(dict ops) except -1:
    """Give operations their rules on numbers, if their nodes keep what those expect."""
    serve_numbers(ops, "add", number_add, (), value_of_sum)
    serve_numbers(ops, "subtract", number_subtract, (), value_of_difference)
    serve_numbers(ops, "negative", number_negative, (), value_of_negative)
    serve_numbers(ops, "multiply", number_multiply, ("x2", "x1"), value_of_product)
    serve_numbers(ops, "divide", number_divide, ("x2", "ans"), value_of_quotient)
    serve_numbers(ops, "exp", number_exp, ("ans",), value_by_loop)
    serve_numbers(ops, "log", number_log, ("x",), value_by_loop)
    serve_numbers(ops, "sqrt", number_sqrt, ("ans",), value_by_loop)
    serve_numbers(ops, "square", number_square, ("x",), value_by_loop)
    serve_numbers(ops, "tanh", number_tanh, ("ans",), value_by_loop)
    return 0
