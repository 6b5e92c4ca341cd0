# Evenly spaced numbers, and gradients of polynomials by their roots and of fits, of plain arrays.
# May import: numpy (Python only), engine.node, backends.numpy.elementwise, backends.numpy.ndarrays,
# backends.numpy.loops.
#
# Values are NumPy's bit by bit; gradients are those of numpy_api.polynomial_rules, whose intermediate results stay in
# range. None, or 0: declined. Coefficients stand with the highest power first.
# Guarded by tests/backends/test_fast_polynomials.py.
from cpython.long cimport PyLong_CheckExact

from arraygrad.backends.numpy.elementwise cimport real_view, set_outs, wants_gradient
from arraygrad.backends.numpy.ndarrays cimport ArrayView, cloned, empty_c, view_of
from arraygrad.backends.numpy.loops cimport SLOT_C128, SLOT_F64, LoopSet, loop_set, read_number, reduce_by
from arraygrad.engine.node cimport Frame, Node

import numpy as np

cdef extern from "polynomials.hpp" namespace "arraygrad":
    void product_gradient(int slot, const char* roots, char* g, char* work, char* out, Py_ssize_t n) noexcept
    void complex_roots_gradient "arraygrad::roots_gradient_of" (const char* r, const char* g, const char* first,
                                                                char* out, Py_ssize_t n) noexcept
    void fit_gradient(const double* x, Py_ssize_t n, Py_ssize_t k, const double* g, Py_ssize_t m, double* columns,
                      double* numbers, double* direct, double* inverse) noexcept
    int spaced(int slot, const char* start, const char* stop, char* out, Py_ssize_t num, bint endpoint) noexcept
    void shares(int slot, const char* g, char* out, Py_ssize_t num, bint endpoint, bint of_stop) noexcept

cdef LoopSet* ADD = loop_set("add")

cdef object _float64 = np.float64
cdef object _complex128 = np.complex128

cdef enum:
    MOST = 1 << 24              # more coefficients or points than any call that is served has


cdef int vector_of(object x, ArrayView* v) noexcept:
    """Fill `v`; returns the slot of a vector without gaps, else -1."""
    cdef int slot = view_of(x, v)
    return slot if slot >= 0 and v.ndim == 1 and v.c_order and v.size < MOST else -1


cdef bint number_of(object value, Py_ssize_t low, Py_ssize_t high, Py_ssize_t* number) except -1:
    """Read an int of that range; False: it is none."""
    if not PyLong_CheckExact(value) or not low <= value <= high:
        return False
    number[0] = value
    return True


# Roots and least squares

def poly_gradient(zeros, g):
    """The gradient of the roots of numpy.poly from `g`, that of the coefficients; both of one dtype."""
    cdef ArrayView v, o, w, r
    cdef Py_ssize_t dims[2]
    cdef object used, work, out
    cdef int slot = vector_of(zeros, &v)
    if slot < 0 or vector_of(g, &o) != slot or o.size != v.size + 1:
        raise TypeError("poly_gradient: vectors of one dtype, of n and n + 1 elements, are expected")
    dims[0] = dims[1] = v.size
    used, work, out = cloned(g, g), empty_c(zeros, 2, dims), empty_c(zeros, 1, dims)
    view_of(used, &o)
    view_of(work, &w)
    view_of(out, &r)
    product_gradient(slot, v.data, o.data, w.data, r.data, v.size)
    return out


def roots_gradient(p, found, g):
    """The gradient of the coefficients from `g`, that of their roots: complex. Where two roots are equal it is not
    finite."""
    cdef ArrayView r, v, o
    cdef Py_ssize_t n
    cdef object out, first
    found, g = found.astype(_complex128), g.astype(_complex128)
    n = found.size + 1
    first = p[:1].astype(_complex128)
    out = empty_c(found, 1, &n)
    if vector_of(found, &r) != SLOT_C128 or vector_of(g, &v) != SLOT_C128 or r.size != v.size:
        raise TypeError("roots_gradient: vectors of one length are expected")
    view_of(out, &o)
    complex_roots_gradient(r.data, v.data, <const char*>first_of(first), o.data, n - 1)
    return out


cdef char* first_of(object x) noexcept:
    cdef ArrayView v
    view_of(x, &v)
    return v.data


def polyfit_gradient(x, g):
    """(A v, v) with A the powers of x, and v the inverse of its normal matrix times the gradient `g` of the fit.

    The first is the gradient of the values that were fitted. float64, in the shape of g but for the first axis.
    """
    cdef ArrayView v, o, a, b, c, d
    cdef Py_ssize_t dims[2]
    cdef Py_ssize_t n, k, m, size
    cdef object columns, numbers, direct, inverse
    x, g = x.astype(_float64, order="C"), g.astype(_float64, order="C")
    if vector_of(x, &v) != SLOT_F64 or view_of(g, &o) != SLOT_F64 or not 1 <= o.ndim <= 2 or not o.c_order \
            or o.dims[0] > v.size:
        raise TypeError("polyfit_gradient: at least as many points as coefficients are expected")
    n, k, m = v.size, o.dims[0], o.dims[1] if o.ndim == 2 else 1
    dims[0], dims[1] = n, m
    direct = empty_c(g, o.ndim, dims)
    inverse = empty_c(g, o.ndim, o.dims)
    size = k * n
    columns = empty_c(g, 1, &size)
    size = 3 * k + n
    numbers = empty_c(g, 1, &size)
    view_of(direct, &a)
    view_of(inverse, &b)
    view_of(columns, &c)
    view_of(numbers, &d)
    fit_gradient(<const double*>v.data, n, k, <const double*>o.data, m, <double*>c.data, <double*>d.data,
                 <double*>a.data, <double*>b.data)
    return direct, inverse


# Evenly spaced numbers

cdef object forward_linspace(object args):
    """arraygrad.linspace between numbers of which one is an array without axes; None: declined."""
    cdef ArrayView a, b, o
    cdef double first[2]
    cdef double last[2]
    cdef const char* low
    cdef const char* high
    cdef Py_ssize_t num = 0
    cdef object out, endpoint = args[5]
    cdef int slot = real_view(args[0], &a), other = real_view(args[1], &b)
    if args[3] is not None or args[4] is not None or endpoint is not True and endpoint is not False \
            or not number_of(args[2], 1, MOST, &num) or slot < 0 and other < 0 \
            or slot >= 0 and other >= 0 and slot != other:
        return None
    if slot >= 0 and a.ndim or other >= 0 and b.ndim:
        return None
    low, high = a.data, b.data
    if slot < 0:
        if not read_number(args[0], other, <char*>first):
            return None
        low = <const char*>first
    if other < 0:
        if not read_number(args[1], slot, <char*>last):
            return None
        high = <const char*>last
    out = empty_c(args[0] if slot >= 0 else args[1], 1, &num)
    view_of(out, &o)
    return None if spaced(max(slot, other), low, high, o.data, num, endpoint is True) else out


cdef int rule_linspace(Node node, Frame f) except -1:
    """The sum of the gradient by how much each end has of each point."""
    cdef ArrayView g, o
    cdef object part, first = None, second = None, endpoint = (<list>node.args)[5]
    cdef int i, slot
    if endpoint is not True and endpoint is not False:
        return 0
    slot = vector_of(f.grad, &g)
    if slot < 0 or slot > SLOT_F64 or g.size == 0:
        return 0
    for i in range(2):
        if wants_gradient(node, f, i):
            part = empty_c(f.grad, 1, g.dims)
            view_of(part, &o)
            shares(slot, g.data, o.data, g.size, endpoint is True, i == 1)
            part = reduce_by(ADD, part, 1, False)
            if part is None:
                return 0
            if i == 0:
                first = part
            else:
                second = part
    return set_outs(f, first, second)
