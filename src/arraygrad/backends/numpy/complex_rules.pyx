# Compiled rules of complex arrays: of parts, sizes, quotients and squares. Others have the table's.
# May import: engine.arrayops, engine.evaluate, engine.node, core.op, backends.numpy.elementwise,
# backends.numpy.ndarrays, backends.numpy.loops.
#
# The table's rules of these are three to six calls of NumPy, each over arrays of its own. Here they are one pass over
# dense arrays of one precision and layout. Anything else is declined, and so are sizes and squares of infinite and nan
# numbers, and sizes that are denormal. `real` and `imag` of one array write their parts into one gradient: what waits
# at the node that they lead to, as slices do (Note [One buffer for many places] in shapes.pyx).
# set_fast_paths(False) turns them off. Guarded by tests/backends/test_fast_complex.py.
from arraygrad.backends.numpy.elementwise cimport (
    attach, has_complex_result, is_number, rule_of_table, saved_for, set_out, set_outs, wants_gradient,
)
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, common_step, copy_into, empty_dense, empty_of, same_shape, view_of,
)
from arraygrad.backends.numpy.loops cimport SLOT_C64, SLOT_F64, LoopSet, binary_loop, loop_set, not_captured, report
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport waiting_gradient
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op, SAVE_ANS, SAVE_INPUT

import numpy as np

cdef extern from "complex_rules.hpp" namespace "arraygrad" nogil:
    ctypedef int (*gradient_fn)(bint single, const char* x, const char* g, Py_ssize_t step, char* out,
                                Py_ssize_t n) noexcept
    int size_gradient(bint single, const char* x, const char* g, Py_ssize_t step, char* out, Py_ssize_t n) noexcept
    int quotient_gradients(bint single, const char* g, Py_ssize_t step, const char* y, const char* ans, char* to_x,
                           char* to_y, Py_ssize_t n) noexcept
    int real_quotient_gradients(bint single, const char* g, Py_ssize_t step, const char* y, Py_ssize_t step_y,
                                const char* ans, char* to_x, char* to_y, Py_ssize_t n) noexcept
    int put_parts(bint single, const char* g, Py_ssize_t step, char* out, Py_ssize_t n, int at, bint add) noexcept
    int square_gradient(bint single, const char* x, const char* g, Py_ssize_t step, char* out, Py_ssize_t n) noexcept

cdef LoopSet* ADD = loop_set("add")
cdef object _add = np.add


cdef inline bint is_dense(const ArrayView* v) noexcept:
    return v.c_order or v.f_order


cdef inline int goes_along(const ArrayView* a, const ArrayView* like) noexcept:
    """The step of an array along a dense one of its shape: 1, or 0 for one value. -1: neither."""
    return common_step(a, like) if same_shape(a, like) or a.ndim == 0 else -1


cdef int in_one_pass(Node node, Frame f, gradient_fn kernel, bint real_gradient) except -1:
    """The gradient of the one operand, complex, from the result's and its numbers. 0: declined."""
    cdef ArrayView x, g, o
    cdef object out, saved = saved_for(node, SAVE_INPUT, 0)
    cdef int slot = view_of(saved, &x), step, errors
    if slot < SLOT_C64 or view_of(f.grad, &g) != (slot - SLOT_C64 if real_gradient else slot) or not is_dense(&x):
        return 0
    step = goes_along(&g, &x)
    if step < 0:
        return 0
    out = empty_dense(saved)
    view_of(out, &o)
    errors = kernel(slot == SLOT_C64, x.data, g.data, step, o.data, x.size)
    if errors < 0:
        return 0
    report("multiply", errors)
    return 1 + set_out(f, 0, out, True)


cdef int rule_of_one(Node node, Frame f) except -1:
    """The size or the square of numbers."""
    cdef ArrayView x
    if view_of(saved_for(node, SAVE_INPUT, 0), &x) < SLOT_C64:
        return rule_of_table(node, f)
    if has_complex_result(node):
        return in_one_pass(node, f, square_gradient, False)
    return in_one_pass(node, f, size_gradient, True)


cdef int rule_part(Node node, Frame f) except -1:
    """The gradient of a part of a complex array, in the gradient of the whole."""
    cdef ArrayView g, w
    cdef bint imaginary = (<Op>node.op).name == "imag"
    cdef GradMeta meta
    cdef object whole, region
    cdef int slot = view_of(f.grad, &g), d, step
    if slot < 0 or slot > SLOT_F64 or g.ndim > 8 or node.e0 is None:
        return 0
    meta = node.e0.meta_at(node.n0)
    if meta is None or not meta.is_complex or meta.ndim != g.ndim:
        return 0
    for d in range(g.ndim):
        if meta.dims[d] != g.dims[d]:
            return 0
    whole = waiting_gradient(node)
    if whole is not None and view_of(whole, &w) == slot + SLOT_C64 and w.writeable and same_shape(&w, &g):
        not_captured("a part of complex numbers in place")
        step = common_step(&g, &w) if is_dense(&w) else -1
        if step >= 0:
            report("add", put_parts(slot != SLOT_F64, g.data, step, w.data, g.size, imaginary, True))
            return 1
        region = whole.imag if imaginary else whole.real
        if binary_loop(ADD, region, f.grad, region) is None:
            _add(region, f.grad, region)
        return 1
    whole = empty_of(slot + SLOT_C64, g.ndim, g.dims, g.f_order and not g.c_order)
    view_of(whole, &w)
    step = common_step(&g, &w)
    if step >= 0:
        put_parts(slot != SLOT_F64, g.data, step, w.data, g.size, imaginary, False)
        return 1 + set_out(f, 0, whole, True)
    whole.fill(0)
    region = whole.imag if imaginary else whole.real
    copy_into(region, f.grad)
    return 1 + set_out(f, 0, whole, True)


cdef int complex_quotient(Node node, Frame f) except -1:
    """The rule of a complex quotient. 0: declined."""
    cdef ArrayView g, y, a, o
    cdef object divisor, ans, out0 = None, out1 = None
    cdef bint first, second
    cdef int slot, step, step_y
    cdef char* to_x = NULL
    cdef char* to_y = NULL
    cdef double wide = 0
    cdef float narrow = 0
    first, second = wants_gradient(node, f, 0), wants_gradient(node, f, 1)
    slot = view_of(f.grad, &g)
    if slot < SLOT_C64 or not (first or second):
        return 0
    divisor = saved_for(node, SAVE_INPUT, 1)
    if is_number(divisor):
        if second or not is_dense(&g):
            return 0
        wide = divisor
        narrow = <float>wide
        out0 = empty_dense(f.grad)
        view_of(out0, &o)
        report("divide", real_quotient_gradients(slot == SLOT_C64, g.data, 1, <char*>&narrow if slot == SLOT_C64
                                                 else <char*>&wide, 0, NULL, o.data, NULL, g.size))
        return 1 + set_out(f, 0, out0, True)
    if view_of(divisor, &y) < 0:
        return 0
    if second:
        ans = saved_for(node, SAVE_ANS, -1)
        if view_of(ans, &a) != slot or not is_dense(&a) or not same_shape(&a, &g):
            return 0
    else:
        ans = f.grad
        a = g
        if not is_dense(&g):
            return 0
    step = common_step(&g, &a)
    step_y = goes_along(&y, &a)
    if step < 0 or step_y < 0 or y.slot != slot and y.slot != slot - SLOT_C64:
        return 0
    if y.slot == slot and step_y != 1:
        return 0
    if first:
        out0 = empty_dense(ans)
        view_of(out0, &o)
        to_x = o.data
    if second:
        out1 = empty_of(y.slot, a.ndim, a.dims, not a.c_order)
        view_of(out1, &o)
        to_y = o.data
    if y.slot == slot:
        report("divide", quotient_gradients(slot == SLOT_C64, g.data, step, y.data, a.data, to_x, to_y, a.size))
        return set_outs(f, out0, out1)
    report("divide", real_quotient_gradients(slot == SLOT_C64, g.data, step, y.data, step_y, a.data, to_x, to_y,
                                             a.size))
    return set_outs(f, out0, out1)


cdef int complex_power(Node node, Frame f) except -1:
    """The rule of x ** 2 for a complex x, g * conj(2 x). 0: declined, as other powers are."""
    cdef object number
    if wants_gradient(node, f, 1):
        return 0
    number = saved_for(node, SAVE_INPUT, 1)
    return in_one_pass(node, f, square_gradient, False) if is_number(number) and number == 2 else 0


cdef int attach_complex(dict ops, list done) except -1:
    """Attach the rules of this file that are not asked by those of real arrays."""
    attach(ops, "abs", rule_of_one, ("x",), done)
    attach(ops, "square", rule_of_one, ("x",), done)
    attach(ops, "real", rule_part, (), done)
    attach(ops, "imag", rule_part, ("x_meta",), done)
    return 0
