# NumPy's functions of polynomials and evenly spaced numbers, on plain arrays without NumPy's Python wrappers; and their
# rules.
# May import: numpy (Python only), engine.arrayops, engine.node, backends.numpy.elementwise, backends.numpy.joins,
# backends.numpy.loops.
#
# Each function has the parameters of NumPy's and gives its values, dtype and layout bit by bit. What is not served, and
# what would warn, goes to NumPy's implementation; so does everything with set_fast_paths(False). Coefficients stand
# with the highest power first. Guarded by tests/ops/test_fast_polynomials.py.
from cpython.long cimport PyLong_CheckExact
from libc.string cimport memcpy, memset

from arraygrad.backends.numpy.elementwise cimport real_view, saved_value, set_out, set_outs, wants_gradient
from arraygrad.backends.numpy.joins cimport own, together
from arraygrad.backends.numpy.loops cimport (
    SLOT_C128, SLOT_F32, SLOT_F64, ArrayView, LoopSet, any_nan, binary_loop, cloned, copy_into, empty_c, empty_dense,
    fast_enabled, item_size,
    loop_set, read_number, reduce_by, reshaped, same_shape, unary_loop, view_of, zeros_c,
)
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

import numpy as np

cdef extern from "polynomials.hpp" namespace "arraygrad":
    int horner(int slot, const char* p, Py_ssize_t n, const char* x, char* out, Py_ssize_t m) noexcept
    void times_slope(int slot, const char* p, Py_ssize_t n, const char* x, const char* g, char* out,
                     Py_ssize_t m) noexcept
    int powers(const double* x, Py_ssize_t n, double* out, Py_ssize_t columns, bint increasing) noexcept
    void powers_gradient(const double* g, const double* values, double* out, Py_ssize_t n, Py_ssize_t columns,
                         bint increasing) noexcept
    int integral(const double* p, Py_ssize_t n, double* out) noexcept
    int derivative(const double* p, Py_ssize_t n, double* out) noexcept
    int companion(int slot, const char* p, char* matrix, Py_ssize_t n) noexcept
    bint may_be_squared(int slot, const char* numbers, Py_ssize_t n) noexcept
    void product_gradient(int slot, const char* roots, char* g, char* work, char* out, Py_ssize_t n) noexcept
    void complex_roots_gradient "arraygrad::roots_gradient_of" (const char* r, const char* g, const char* first,
                                                                char* out, Py_ssize_t n) noexcept
    void fit_gradient(const double* x, Py_ssize_t n, Py_ssize_t k, const double* g, Py_ssize_t m, double* columns,
                      double* numbers, double* direct, double* inverse) noexcept
    int spaced(int slot, const char* start, const char* stop, char* out, Py_ssize_t num, bint endpoint) noexcept
    void shares(int slot, const char* g, char* out, Py_ssize_t num, bint endpoint, bint of_stop) noexcept
    int steps(int slot, double start, double stop, char* out, Py_ssize_t num) noexcept

cdef LoopSet* ADD = loop_set("add")
cdef LoopSet* SUBTRACT = loop_set("subtract")
cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* NEGATIVE = loop_set("negative")

cdef object _polyadd = own("polyadd")
cdef object _polysub = own("polysub")
cdef object _polyint = own("polyint")
cdef object _polyder = own("polyder")
cdef object _polyval = own("polyval")
cdef object _vander = own("vander")
cdef object _poly = own("poly")
cdef object _roots = own("roots")
cdef object _polyfit = own("polyfit")
cdef object _logspace = own("logspace")
cdef object _correlate = own("correlate")
cdef object _lstsq = getattr(np.linalg.lstsq, "_implementation", np.linalg.lstsq)
# What these call, where this NumPy has it under that name: LAPACK for matrices of float64, nan where it fails.
cdef object _lapack = getattr(np.linalg, "_umath_linalg", None)
cdef object _lapack_eigvals = getattr(_lapack, "eigvals", None)
cdef object _lapack_lstsq = getattr(_lapack, "lstsq", None)
cdef object _errstate = np.errstate
cdef object _power = np.power
cdef object _add = np.add
cdef object _divide = np.divide
cdef object _sqrt = np.sqrt
cdef object _float64 = np.float64
cdef object _float32 = np.float32
cdef object _complex64 = np.complex64
cdef object _complex128 = np.complex128
cdef object _eps32 = np.finfo(np.float32).eps
cdef object _eps64 = np.finfo(np.float64).eps

cdef enum:
    MOST = 1 << 24              # more coefficients or points than any call that is served has


cdef int vector_of(object x, ArrayView* v) noexcept:
    """Fill `v`; returns the slot of a vector without gaps, else -1."""
    cdef int slot = view_of(x, v)
    return slot if slot >= 0 and v.ndim == 1 and v.c_order and v.size < MOST else -1


cdef object vector(object x, ArrayView* v):
    """A vector without gaps of what is one with or without, of which `v` becomes the view; None: it is no vector."""
    if view_of(x, v) < 0 or v.ndim != 1 or v.size >= MOST:
        return None
    return together(x, v)


cdef object doubles(object x, ArrayView* v):
    """The same of float64, which NumPy makes of float32 where it meets integers."""
    x = vector(x, v)
    if x is not None and v.slot == SLOT_F32:
        x = x.astype(_float64)
        view_of(x, v)
    return x if x is not None and v.slot == SLOT_F64 else None


cdef bint number_of(object value, Py_ssize_t low, Py_ssize_t high, Py_ssize_t* number) except -1:
    """Read an int of that range; False: it is none."""
    if not PyLong_CheckExact(value) or not low <= value <= high:
        return False
    number[0] = value
    return True


# Sums

cdef object padded(object p, const ArrayView* v, Py_ssize_t n):
    """The coefficients with zeros in front, n in all."""
    cdef ArrayView o
    cdef object out
    cdef Py_ssize_t item = item_size(v.slot)
    if v.size == n:
        return p
    out = empty_c(p, 1, &n)
    view_of(out, &o)
    memset(o.data, 0, (n - v.size) * item)
    memcpy(o.data + (n - v.size) * item, v.data, v.size * item)
    return out


cdef object aligned(const LoopSet* loops, object a, object b):
    """loops(a, b) of coefficients that end together; None: declined."""
    cdef ArrayView x, y
    cdef Py_ssize_t n
    if not fast_enabled():
        return None
    a, b = vector(a, &x), vector(b, &y)
    if a is None or b is None or x.slot != y.slot:
        return None
    n = max(x.size, y.size)
    return binary_loop(loops, padded(a, &x, n), padded(b, &y, n), None)


def polyadd(a1, a2):
    """numpy.polyadd of plain arrays."""
    out = aligned(ADD, a1, a2)
    return _polyadd(a1, a2) if out is None else out


def polysub(a1, a2):
    """numpy.polysub of plain arrays."""
    out = aligned(SUBTRACT, a1, a2)
    return _polysub(a1, a2) if out is None else out


cdef int ends_of(Node node, Frame f, bint negative) except -1:
    """The last elements of the gradient, as many as each of the operands has."""
    cdef ArrayView g
    cdef object slot, out = None, first = None
    cdef int i
    if view_of(f.grad, &g) < 0 or g.ndim != 1:
        return 0
    for i in range(2):
        if wants_gradient(node, f, i):
            slot = saved_value(node, i)
            if type(slot) is not GradMeta or (<GradMeta>slot).ndim != 1:
                return 0
            out = f.grad
            if (<GradMeta>slot).dims[0] != g.size:
                out = out[g.size - (<GradMeta>slot).dims[0]:]
            if i == 0:
                first = out
                out = None
    if out is not None and negative:
        out = unary_loop(NEGATIVE, out, None)
        if out is None:
            return 0
    if first is not None:
        set_out(f, 0, first, False)
    if out is not None:
        set_out(f, 1, out, negative)
    return 1


cdef int rule_polyadd(Node node, Frame f) except -1:
    return ends_of(node, f, False)


cdef int rule_polysub(Node node, Frame f) except -1:
    return ends_of(node, f, True)


# Integrals and derivatives

def polyint(p, m=1, k=None):
    """numpy.polyint of plain arrays."""
    cdef ArrayView v, o
    cdef Py_ssize_t n, times = 0
    cdef object out, given
    given = doubles(p, &v) if k is None and fast_enabled() else None
    if given is not None and number_of(m, 1, MOST, &times):
        n = v.size + times
        out = empty_c(given, 1, &n)
        view_of(out, &o)
        if not integral(<const double*>v.data, v.size, <double*>o.data):
            for n in range(1, times):
                if integral(<const double*>o.data, v.size + n, <double*>o.data):
                    break
            else:
                return out
    return _polyint(p, m, k)


def polyder(p, m=1):
    """numpy.polyder of plain arrays."""
    cdef ArrayView v, o, w
    cdef Py_ssize_t n
    cdef object out, more, given
    given = doubles(p, &v) if fast_enabled() and type(m) is int and m == 1 else None
    if given is not None and v.size > 1:
        n = v.size - 1
        out, more = empty_c(given, 1, &n), empty_c(given, 1, &n)
        view_of(out, &o)
        view_of(more, &w)
        # NumPy computes one derivative more than it gives, which may overflow.
        if not derivative(<const double*>v.data, v.size, <double*>o.data) \
                and not derivative(<const double*>o.data, n, <double*>w.data):
            return out
    return _polyder(p, m)


cdef object factors(object like, Py_ssize_t n, Py_ssize_t m, bint up):
    """What each coefficient is multiplied by in m integrals (`up`) or derivatives of n coefficients."""
    cdef ArrayView o
    cdef object out = empty_c(like, 1, &n)
    cdef double* x
    cdef Py_ssize_t i, j
    view_of(out, &o)
    x = <double*>o.data
    for i in range(n):
        x[i] = 1.0 if up or i < n - m else 0.0      # what falls away, though a factor before may be infinite
        for j in range(m if x[i] else 0):
            if up:
                x[i] = x[i] / (n + j - i)
            else:
                x[i] = x[i] * (n - 1 - j - i)
    return out


cdef int rule_polyint(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef Py_ssize_t m = 0
    cdef object slot = saved_value(node, 0), part, out
    if view_of(f.grad, &g) != SLOT_F64 or not number_of((<list>node.args)[1], 1, g.size, &m) or not g.c_order \
            or type(slot) is not GradMeta or (<GradMeta>slot).ndim != 1 or (<GradMeta>slot).dims[0] + m != g.size:
        return 0
    part = factors(f.grad, g.size - m, m, True)
    out = binary_loop(MULTIPLY, part, f.grad[:g.size - m], part)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef int rule_polyder(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef Py_ssize_t m = 0, n
    cdef object slot = saved_value(node, 0), part, out
    if view_of(f.grad, &g) != SLOT_F64 or not number_of((<list>node.args)[1], 1, MOST, &m) or g.ndim != 1 \
            or type(slot) is not GradMeta or (<GradMeta>slot).ndim != 1 or (<GradMeta>slot).dims[0] - m != g.size:
        return 0
    n = g.size + m
    part = factors(f.grad, n, m, False)             # zeros at its end
    out = part[:g.size]
    out = binary_loop(MULTIPLY, out, f.grad, out)
    return 0 if out is None else 1 + set_out(f, 0, part, True)


# Values

def polyval(p, x):
    """numpy.polyval of plain arrays."""
    cdef ArrayView v, at, o
    cdef object out, given = vector(p, &v) if fast_enabled() else None, points = x
    cdef int slot = v.slot if given is not None else -1
    # A nan among both, of which one would be kept, is NumPy's to choose. So are numbers, which come back as scalars.
    if 0 <= slot <= SLOT_F64 and view_of(x, &at) == slot and 0 < at.ndim <= 8 and not (
            any_nan(<const float*>v.data, v.size) if slot == SLOT_F32 else any_nan(<const double*>v.data, v.size)):
        if at.ndim == 1:
            points = together(x, &at)
        elif not at.c_order and not at.f_order:
            return _polyval(p, x)
        out = empty_dense(points)
        view_of(out, &o)
        if not horner(slot, v.data, v.size, at.data, o.data, at.size):
            return out
    return _polyval(p, x)


cdef int rule_polyval(Node node, Frame f) except -1:
    """Of the coefficients: the sums of g times each power. Of the points: g times the slope."""
    cdef ArrayView g, v, at, o, r
    cdef Py_ssize_t k, n
    cdef int slot = real_view(f.grad, &g)
    cdef object p = None, meta = saved_value(node, 0), x = saved_value(node, 1), out = None, sums = None, power, piece
    if slot < 0 or not g.c_order or real_view(x, &at) != slot or not same_shape(&at, &g) or g.size == 0 or g.ndim > 8:
        return 0
    if not at.c_order:
        power = empty_c(x, at.ndim, at.dims)
        copy_into(power, x)
        x = power
        view_of(x, &at)
    if wants_gradient(node, f, 0):
        if type(meta) is not GradMeta or (<GradMeta>meta).ndim != 1 or (<GradMeta>meta).dims[0] < 1:
            return 0
        n = (<GradMeta>meta).dims[0]
        sums = empty_c(f.grad, 1, &n)
        view_of(sums, &r)
        power = f.grad
        for k in range(n):
            piece = reduce_by(ADD, power, (1ULL << g.ndim) - 1, False)
            if piece is None or view_of(piece, &o) != slot or o.size != 1:
                return 0
            memcpy(r.data + (n - 1 - k) * item_size(slot), o.data, item_size(slot))
            if k + 1 < n:
                power = binary_loop(MULTIPLY, power, x, None if k == 0 else power)
                if power is None:
                    return 0
    if wants_gradient(node, f, 1):
        p = vector(saved_value(node, 2), &v)
        if p is None or v.slot != slot:
            return 0
        out = empty_c(f.grad, g.ndim, g.dims)
        view_of(out, &o)
        times_slope(slot, v.data, v.size, at.data, g.data, o.data, g.size)
    return set_outs(f, sums, out)


def vander(x, N=None, increasing=False):
    """numpy.vander of plain arrays."""
    cdef ArrayView v, o
    cdef Py_ssize_t dims[2]
    cdef object out, given
    given = doubles(x, &v) if fast_enabled() and (increasing is False or increasing is True) else None
    if given is not None:
        dims[0] = dims[1] = v.size
        if N is None or number_of(N, 0, MOST, &dims[1]):
            out = empty_c(given, 2, dims)
            view_of(out, &o)
            if not powers(<const double*>v.data, v.size, <double*>o.data, dims[1], increasing):
                return out
    return _vander(x, N, increasing)


cdef int rule_vander(Node node, Frame f) except -1:
    cdef ArrayView g, v, o
    cdef object values = saved_value(node, 0), increasing = (<list>node.args)[2], out
    if view_of(f.grad, &g) != SLOT_F64 or view_of(values, &v) != SLOT_F64 or not g.c_order or not v.c_order \
            or g.ndim != 2 or not same_shape(&g, &v) or increasing is not False and increasing is not True:
        return 0
    out = empty_c(f.grad, 1, g.dims)
    view_of(out, &o)
    powers_gradient(<const double*>g.data, <const double*>v.data, <double*>o.data, g.dims[0], g.dims[1], increasing)
    return 1 + set_out(f, 0, out, True)


# Roots

def poly(seq_of_zeros):
    """numpy.poly of plain arrays."""
    cdef ArrayView v, o
    cdef Py_ssize_t two = 2, one = 1, i
    cdef object pair, out, given = vector(seq_of_zeros, &v) if fast_enabled() else None
    cdef int slot = v.slot if given is not None else -1
    if slot < 0 or slot > SLOT_F64 or v.size == 0:
        return _poly(seq_of_zeros)
    # NumPy convolves by what numpy.correlate calls, with one of both turned around.
    out = None
    for i in range(v.size):
        pair = empty_c(seq_of_zeros, 1, &two)
        view_of(pair, &o)
        if slot == SLOT_F64:
            (<double*>o.data)[0 if i else 1] = -(<double*>v.data)[i]
            (<double*>o.data)[1 if i else 0] = 1.0
        else:
            (<float*>o.data)[0 if i else 1] = -(<float*>v.data)[i]
            (<float*>o.data)[1 if i else 0] = 1.0
        if i:
            out = _correlate(out, pair, "full")
        else:
            out = empty_c(seq_of_zeros, 1, &one)
            view_of(out, &o)
            if slot == SLOT_F64:
                (<double*>o.data)[0] = 1.0
            else:
                (<float*>o.data)[0] = 1.0
            out = _correlate(pair, out, "full")
    return out


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


cdef int rule_poly(Node node, Frame f) except -1:
    cdef ArrayView v, g
    cdef object zeros = vector(saved_value(node, 0), &v)
    cdef int slot = vector_of(f.grad, &g)
    if slot < 0 or slot > SLOT_F64 or zeros is None or v.slot != slot or g.size != v.size + 1:
        return 0
    return 1 + set_out(f, 0, poly_gradient(zeros, f.grad), True)


cdef object found_roots(object p):
    """The roots, where the first and the last coefficient are not zero; None: declined."""
    cdef ArrayView v, w, o
    cdef const double* x
    cdef Py_ssize_t dims[2]
    cdef Py_ssize_t i
    cdef object found, out
    cdef bint real = True
    cdef int slot
    p = vector(p, &v) if fast_enabled() else None
    slot = v.slot if p is not None else -1
    if slot < 0 or slot > SLOT_F64 or v.size < 2 or not (p.item(0) and p.item(v.size - 1)) or _lapack_eigvals is None:
        return None
    dims[0] = dims[1] = v.size - 1
    out = zeros_c(p, 2, dims)
    view_of(out, &o)
    if companion(slot, v.data, o.data, dims[0]):
        return None                             # NumPy's function says what is wrong
    with _errstate(invalid="ignore"):
        found = _lapack_eigvals(out, signature="d->D")
    if vector_of(found, &w) != SLOT_C128:
        return None
    x = <const double*>w.data
    for i in range(2 * w.size):
        if x[i] - x[i] != 0.0:
            return None
        if i & 1 and x[i] != 0.0:
            real = False
    if slot == SLOT_F32:
        return (found.real if real else found).astype(_float32 if real else _complex64)
    if not real:
        return found
    out = empty_c(p, 1, &w.size)
    view_of(out, &o)
    for i in range(w.size):
        (<double*>o.data)[i] = x[2 * i]
    return out


def roots(p):
    """numpy.roots of plain arrays."""
    found = found_roots(p)
    return _roots(p) if found is None else found


def roots_of_full_degree(p):
    """numpy.roots of plain arrays where neither the first nor the last coefficient is zero, else None."""
    return found_roots(p)


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


# Least squares

cdef object column_norms(object matrix):
    """sqrt((matrix * matrix).sum(axis=0))."""
    cdef object squares = binary_loop(MULTIPLY, matrix, matrix, None), sums = None
    if squares is None:
        squares = matrix * matrix
    else:
        sums = reduce_by(ADD, squares, 1, False)
    return _sqrt(_add.reduce(squares, 0) if sums is None else sums)


cdef object fitted(object x, object y, object deg, object rcond):
    """The coefficients of the polynomial that fits best, and the rank; None: declined."""
    cdef ArrayView v, w, o
    cdef Py_ssize_t dims[2]
    cdef Py_ssize_t degree = 0, i
    cdef object points, left, right, scale, found
    cdef int slot
    x = vector(x, &v)
    slot = v.slot if x is not None else -1
    if slot < 0 or slot > SLOT_F64 or real_view(y, &w) < 0 or not 1 <= w.ndim <= 2 or v.size == 0 \
            or w.dims[0] != v.size or not number_of(deg, 0, v.size - 1, &degree) or w.size == 0:
        return None
    dims[0] = v.size
    dims[1] = degree + 1
    points = _add(x, 0.0) if slot == SLOT_F64 else _add(x, 0.0).astype(_float64)     # zeros become positive
    left = empty_c(points, 2, dims)
    view_of(left, &o)
    vector_of(points, &v)
    # What would warn or not be finite is NumPy's to say.
    if powers(<const double*>v.data, v.size, <double*>o.data, dims[1], False) \
            or not may_be_squared(SLOT_F64, o.data, o.size):
        return None
    right = _add(y, 0.0)
    view_of(right, &o)
    if not may_be_squared(o.slot, o.data, o.size):
        return None
    scale = column_norms(left)
    view_of(scale, &o)
    for i in range(o.size):
        if (<double*>o.data)[i] == 0.0:
            return None
    _divide(left, scale, left)
    if rcond is None:
        rcond = dims[0] * (_eps32 if slot == SLOT_F32 else _eps64)
    if _lapack_lstsq is None:
        found = _lstsq(left, right, rcond)
        return (found[0].T / scale).T, int(found[2])
    with _errstate(invalid="ignore"):
        found = _lapack_lstsq(left, right if w.ndim == 2 else right[:, None], rcond, signature="ddd->ddid")
    if view_of(found[0], &o) != SLOT_F64 or not o.c_order or any_nan(<const double*>o.data, o.size):
        return None
    if w.ndim == 2:
        return (found[0].T / scale).T, int(found[2])
    return _divide(reshaped(found[0], 1, &dims[1]), scale), int(found[2])


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """numpy.polyfit of plain arrays."""
    if fast_enabled() and full is False and w is None and cov is False:
        found = fitted(x, y, deg, rcond)
        if found is not None and found[1] == deg + 1:
            return found[0]
    return _polyfit(x, y, deg, rcond, full, w, cov)


def polyfit_of_full_rank(x, y, deg, rcond=None):
    """numpy.polyfit of plain arrays where every coefficient is determined, else None."""
    found = fitted(x, y, deg, rcond) if fast_enabled() else None
    return found[0] if found is not None and found[1] == deg + 1 else None


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
    return None if spaced(max(slot, other), low, high, o.data, num, endpoint) else out


cdef int rule_linspace(Node node, Frame f) except -1:
    """The sum of the gradient by how much each end has of each point."""
    cdef object endpoint = (<list>node.args)[5]
    if endpoint is not True and endpoint is not False:
        return 0
    return ends_by_share(node, f, f.grad, endpoint)


cdef int ends_by_share(Node node, Frame f, object weighted, bint endpoint) except -1:
    cdef ArrayView g, o
    cdef object part, first = None, second = None
    cdef int i, slot = vector_of(weighted, &g)
    if slot < 0 or slot > SLOT_F64 or g.size == 0:
        return 0
    for i in range(2):
        if wants_gradient(node, f, i):
            part = empty_c(weighted, 1, g.dims)
            view_of(part, &o)
            shares(slot, g.data, o.data, g.size, endpoint, i == 1)
            part = reduce_by(ADD, part, 1, False)
            if part is None:
                return 0
            if i == 0:
                first = part
            else:
                second = part
    return set_outs(f, first, second)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """numpy.logspace of plain arrays."""
    cdef ArrayView v, w, o
    cdef double first[2]
    cdef double last[2]
    cdef Py_ssize_t n = 0
    cdef object out
    if endpoint is True and type(base) is float and dtype is None and type(axis) is int and axis == 0 \
            and fast_enabled() and number_of(num, 2, MOST, &n) and end_of(start, &v, first) \
            and end_of(stop, &w, last) and (type(start) is not float or type(stop) is not float):
        if v.slot != w.slot:
            return _logspace(start, stop, num, endpoint, base, dtype, axis)
        out = empty_c(stop if type(start) is float else start, 1, &n)
        view_of(out, &o)
        if not steps(o.slot, first[0], last[0], o.data, n):
            return _power(base, out)
    return _logspace(start, stop, num, endpoint, base, dtype, axis)


cdef bint end_of(object x, ArrayView* v, double* number) except -1:
    """Read a Python float, which counts as float64, or an array without axes."""
    if type(x) is float:
        number[0] = x
        v.slot = SLOT_F64
        return True
    if real_view(x, v) < 0 or v.ndim:
        return False
    number[0] = (<double*>v.data)[0] if v.slot == SLOT_F64 else (<float*>v.data)[0]
    return True


cdef double LN10 = np.log(10.0)


cdef int rule_logspace(Node node, Frame f) except -1:
    cdef ArrayView g, y
    cdef object weighted, ans = saved_value(node, 0)
    cdef int slot = vector_of(f.grad, &g)
    if slot < 0 or slot > SLOT_F64 or vector_of(ans, &y) != slot or g.size != y.size or g.size < 2:
        return 0
    weighted = binary_loop(MULTIPLY, f.grad, ans, None)
    weighted = None if weighted is None else binary_loop(MULTIPLY, weighted, LN10, weighted)
    if weighted is None:
        return 0
    return ends_by_share(node, f, weighted, True)
