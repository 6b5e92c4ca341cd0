# NumPy's functions of calculus and statistics on plain arrays without their wrappers, and gradients in one pass.
# May import: numpy (Python only), engine.node, core.op, backends.numpy.elementwise, backends.numpy.lanes,
# backends.numpy.loops, backends.numpy.reductions.
#
# Values are NumPy's bit by bit; a function leaves to NumPy's what it does not serve, and what would warn. Gradients are
# those of numpy_api.recorded_rules, None: declined. set_fast_paths(False) leaves all of it alone.
# Guarded by tests/ops/test_fast_functions.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport int64_t
from libc.string cimport memcpy

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, set_outs, wants_gradient
from arraygrad.backends.numpy.lanes cimport Around, around_axis, row_major
from arraygrad.backends.numpy.loops cimport (
    SLOT_C64, SLOT_F64, ArrayView, LoopSet, dot_fn, dot_of, empty_c, empty_of, fast_enabled, fp_begin, fp_end,
    item_size, loop_set, positions_of, report, view_of, zeros_c,
)
from arraygrad.backends.numpy.reductions cimport forward_sum
from arraygrad.core.op cimport SAVE_INPUT
from arraygrad.engine.node cimport Frame, Node

cdef extern from "calculus.hpp" namespace "arraygrad":
    int slopes(int slot, const char* f, char* out, Py_ssize_t n, double h, bint back) noexcept
    int steps(int slot, const char* x, char* out, Py_ssize_t n, bint back) noexcept
    int panels(int slot, const char* y, char* out, Around a, double dx) noexcept
    int panels_back(int slot, const char* g, char* out, Around a, double dx) noexcept
    int panels_between(int slot, const char* y, const char* x, char* out, Py_ssize_t n) noexcept
    int sides(int slot, const char* g, const char* other, char* out, Py_ssize_t n, bint sums) noexcept
    int count_weights(int slot, const int64_t* at, const char* w, double* bins, Py_ssize_t n) noexcept
    int64_t greatest(const int64_t* at, Py_ssize_t n) noexcept
    bint rises(const double* knots, Py_ssize_t n) noexcept
    void interpolated(const double* x, Py_ssize_t m, const double* knots, const double* values, Py_ssize_t n,
                      double* out) noexcept
    void correlated(int slot, dot_fn dot, const char* x, Py_ssize_t n, const char* w, Py_ssize_t m, Py_ssize_t left,
                    Py_ssize_t right, char* out) noexcept
    int between_knots(const double* x, Py_ssize_t m, const double* knots, const double* values, Py_ssize_t n,
                      const double* g, double* to_x, double* to_knots, double* to_values) noexcept


def _given(name):
    function = getattr(np, name, None)
    return getattr(function, "_implementation", function)


_gradient, _ediff1d, _unwrap = _given("gradient"), _given("ediff1d"), _given("unwrap")
_trapezoid, _bincount, _interp = _given("trapezoid"), _given("bincount"), _given("interp")
_convolve, _correlate, _cov, _corrcoef = _given("convolve"), _given("correlate"), _given("cov"), _given("corrcoef")
_parts = getattr(getattr(np, "_core", None), "multiarray", None)       # private: what NumPy's functions call
_interpolated = getattr(_parts, "interp", None)
_add, _subtract, _mod, _sum = np.add, np.subtract, np.mod, np.add.reduce
_copyto, _less, _equal, _greater, _and, _abs = np.copyto, np.less, np.equal, np.greater, np.logical_and, np.absolute
_dot, _sqrt, _clip, _arctan2 = np.dot, np.sqrt, np.clip, np.arctan2
cdef LoopSet* ARCTAN2 = loop_set("arctan2")
cdef object _ndarray = np.ndarray
cdef object _double = np.float64
cdef object _doubles = np.zeros(0)
cdef enum:
    AT_ONCE = 4096              # elements up to which a loop keeps the GIL

cdef double PERIOD = 6.283185307179586          # 2 * numpy.pi


# Angles

def angle(z):
    """numpy.angle of complex arrays, in radians."""
    cdef ArrayView v, o
    cdef char* data[3]
    cdef Py_ssize_t steps[3]
    cdef int slot = view_of(z, &v), errors
    cdef object out
    if not fast_enabled() or slot < SLOT_C64 or not (v.c_order or v.f_order) or not 1 < v.size <= AT_ONCE:
        return _arctan2(z.imag, z.real)
    slot -= SLOT_C64                # of the parts
    if ARCTAN2.fn[slot] == NULL:
        return _arctan2(z.imag, z.real)
    out = empty_of(slot, v.ndim, v.dims, not v.c_order)
    view_of(out, &o)
    steps[2] = item_size(slot)
    steps[0] = steps[1] = 2 * steps[2]
    data[0], data[1], data[2] = v.data + steps[2], v.data, o.data
    fp_begin()
    ARCTAN2.fn[slot](data, &v.size, steps, ARCTAN2.data[slot])
    errors = fp_end()
    report(ARCTAN2.name, errors)
    return out


# Differences

cdef bint is_row(object x, ArrayView* v, Py_ssize_t least) except -1:
    """Whether `x` is a plain vector without gaps, of so many elements at least."""
    return fast_enabled() and real_view(x, v) >= 0 and v.ndim == 1 and v.c_order and v.size >= least


cdef inline object without_gaps(object x):
    """A plain array as a row-major one; anything else as it is."""
    cdef object found = row_major(x)
    return x if found is None else found


def gradient(f, h=1.0, *, axis=None):
    """numpy.gradient of a plain vector."""
    cdef ArrayView v, o
    f = without_gaps(f)
    if is_row(f, &v, 2) and (axis is None or axis == 0) and (type(h) is float or type(h) is int and -2**53 < h < 2**53):
        out = empty_c(f, 1, v.dims)
        view_of(out, &o)
        if not slopes(v.slot, v.data, o.data, v.size, h, False):
            return out
    return _gradient(f, h, axis=axis)


def gradient_gradient(g, h):
    """The gradient of the values of numpy.gradient. None: declined."""
    cdef ArrayView r, o
    g = without_gaps(g)
    if not is_row(g, &r, 2) or not (type(h) is float or type(h) is int):
        return None
    out = empty_c(g, 1, r.dims)
    view_of(out, &o)
    report("divide", slopes(r.slot, r.data, o.data, r.size, h, True))
    return out


def ediff1d(a):
    """numpy.ediff1d of plain arrays."""
    cdef ArrayView v, o
    cdef Py_ssize_t n
    a = without_gaps(a)
    if not fast_enabled() or real_view(a, &v) < 0 or not v.c_order or v.size == 0:
        return _ediff1d(a)
    n = v.size - 1
    out = empty_c(a, 1, &n)
    view_of(out, &o)
    report("subtract", steps(v.slot, v.data, o.data, v.size, False))
    return out


def ediff1d_gradient(g, tuple shape):
    """The gradient of an array of `shape`, which has elements, from that of its differences. None: declined."""
    cdef ArrayView r, o
    cdef Py_ssize_t dims[8]
    cdef int d, nd = <int>len(shape)
    cdef Py_ssize_t size = 1
    if not is_row(g, &r, 0) or nd > 8:
        return None
    for d in range(nd):
        dims[d] = shape[d]
        size *= dims[d]
    if r.size != size - 1:
        return None
    out = empty_c(g, nd, dims)
    view_of(out, &o)
    report("subtract", steps(r.slot, r.data, o.data, size, True))
    return out


def unwrap(p):
    """numpy.unwrap of plain arrays, along the last axis and with the usual period."""
    cdef ArrayView v
    if not fast_enabled() or real_view(p, &v) < 0 or v.ndim == 0 or v.dims[v.ndim - 1] < 2:
        return _unwrap(p)
    upper = p[..., 1:]
    step = _subtract(upper, p[..., :-1])
    half = PERIOD / 2
    small = _less(_abs(step), half)
    out = p.copy(order="K")
    if small.all():
        moved = 0.0
    else:
        moved = _mod(_subtract(step, -half), PERIOD)
        _add(moved, -half, moved)
        _copyto(moved, half, where=_and(_equal(moved, -half), _greater(step, 0)))
        _subtract(moved, step, moved)
        _copyto(moved, 0, where=small)
        moved = moved.cumsum(-1)
    _add(upper, moved, out[..., 1:])
    return out


# Sums

cdef bint is_step(object dx) noexcept:
    return type(dx) is float or type(dx) is int and -2**24 < dx < 2**24


def trapezoid(y, *, dx=1.0, axis=-1):
    """numpy.trapezoid of a plain array, whose points are `dx` apart."""
    cdef ArrayView v, o
    cdef Around a
    cdef Py_ssize_t dims[8]
    cdef int d
    if real_view(y, &v) >= 0 and v.ndim == 1:
        y = without_gaps(y)
        view_of(y, &v)
    if fast_enabled() and real_view(y, &v) >= 0 and v.c_order and 0 < v.ndim <= 8 and is_step(dx) \
            and around_axis(axis, v.dims, v.ndim, &a) and a.n > 1 and v.size:
        for d in range(v.ndim):
            dims[d] = v.dims[d]
        dims[axis if axis >= 0 else axis + v.ndim] = a.n - 1
        parts = empty_c(y, v.ndim, dims)
        view_of(parts, &o)
        if not panels(v.slot, v.data, o.data, a, dx):
            out = forward_sum((parts, axis, None, False))
            if out is None:
                return _sum(parts, axis)
            return out[()] if view_of(out, &o) >= 0 and o.ndim == 0 else out
    return _trapezoid(y, dx=dx, axis=axis)


def trapezoid_gradient(g, tuple shape, dx, axis):
    """The gradient of y from that of numpy.trapezoid. None: declined."""
    cdef ArrayView r, o
    cdef Around a
    cdef Py_ssize_t dims[8]
    cdef int d, nd = <int>len(shape)
    if not fast_enabled() or not 0 < nd <= 8 or real_view(g, &r) < 0 or not r.c_order or not is_step(dx):
        return None
    for d in range(nd):
        dims[d] = shape[d]
    if not around_axis(axis, dims, nd, &a) or a.n < 2 or r.size != a.outer * a.inner:
        return None
    out = empty_c(g, nd, dims)
    view_of(out, &o)
    report("multiply", panels_back(r.slot, r.data, o.data, a, dx))
    return out


def trapezoid_at(y, x):
    """numpy.trapezoid of a plain vector at the points of another. None: better composed, as of other dtypes."""
    cdef ArrayView v, w, o
    cdef Py_ssize_t n
    first, second = without_gaps(y), without_gaps(x)
    if not is_row(first, &v, 2) or not is_row(second, &w, 2) or v.slot != w.slot or v.size != w.size:
        return None
    n = v.size - 1
    parts = empty_c(first, 1, &n)
    view_of(parts, &o)
    if panels_between(v.slot, v.data, w.data, o.data, v.size):
        return None
    out = forward_sum((parts, 0, None, False))
    return _sum(parts, 0) if out is None else out[()]


def trapezoid_at_gradient(g, other, bint to_points):
    """The gradient of y from that of numpy.trapezoid(y, x), where `other` is x; `to_points`: that of x, where it is y.

    None: declined.
    """
    cdef ArrayView r, v, o
    other = without_gaps(other)
    if not is_row(other, &v, 2) or real_view(g, &r) != v.slot or r.size != 1:
        return None
    out = empty_c(other, 1, v.dims)
    view_of(out, &o)
    report("multiply", sides(v.slot, r.data, v.data, o.data, v.size, to_points))
    return out


def bincount(x, weights, minlength=0):
    """numpy.bincount of plain arrays."""
    cdef ArrayView p, w, o
    cdef Py_ssize_t n = 0, bins = PyLong_AsSsize_t(minlength) if PyLong_CheckExact(minlength) else -1
    cdef const int64_t* at = positions_of(x, &n)
    cdef int64_t most
    weights = without_gaps(weights)
    if at != NULL and n and is_row(weights, &w, 1) and w.size == n and bins >= 0:
        view_of(x, &p)
        most = greatest(at, n) if p.ndim == 1 else -1
        if most >= 0:
            bins = max(<Py_ssize_t>most + 1, bins)
            out = zeros_c(_doubles, 1, &bins)
            view_of(out, &o)
            count_weights(w.slot, at, w.data, <double*>o.data, n)
            return out
    return _bincount(x, weights, minlength)


# Interpolation

cdef enum:
    FEW_POINTS = 16                     # so many times as many knots are not looked at for each point


def interp(x, knots, values):
    """numpy.interp of plain arrays."""
    cdef ArrayView v, p, k, w, o
    if not fast_enabled() or real_view(values, &v) < 0:
        return _interp(x, knots, values)
    if real_view(x, &p) >= 0 and p.ndim and real_view(knots, &k) >= 0 and k.ndim == v.ndim == 1 and k.size == v.size \
            and 1 < k.size < FEW_POINTS * p.size and interpolates_as_numpy():
        points, sites, heights = as_doubles(x), as_doubles(knots), as_doubles(values)
        view_of(points, &p)
        view_of(sites, &k)
        view_of(heights, &w)
        if rises(<const double*>k.data, k.size):
            out = empty_c(_doubles, p.ndim, p.dims)
            view_of(out, &o)
            interpolated(<const double*>p.data, p.size, <const double*>k.data, <const double*>w.data, k.size,
                         <double*>o.data)
            return out
    return _interp(x, knots, values) if _interpolated is None else _interpolated(x, knots, values, None, None)


cdef int _interpolates = -1             # whether NumPy's values are those of `interpolated`; -1: not known yet


cdef bint interpolates_as_numpy() except -1:
    global _interpolates
    cdef ArrayView p, k, w, o
    if _interpolates < 0:
        x, knots = np.linspace(-0.4, 1.7, 67), np.linspace(0.0, 1.3, 9) ** 2
        values = np.sin(7.0 * knots)
        out = x.copy()
        view_of(x, &p)
        view_of(knots, &k)
        view_of(values, &w)
        view_of(out, &o)
        interpolated(<const double*>p.data, p.size, <const double*>k.data, <const double*>w.data, k.size,
                     <double*>o.data)
        _interpolates = out.tobytes() == _interp(x, knots, values).tobytes()
    return _interpolates


def interp_gradients(g, x, knots, values, bint to_x=False, bint to_knots=False, bint to_values=False):
    """The gradient of one of the arrays of numpy.interp, as float64; that of `values` does not need them.

    None: declined.
    """
    cdef ArrayView r, p, k, w, o
    cdef double* targets[3]
    if not fast_enabled():
        return None
    if type(x) is float or type(x) is int:
        return None
    x, knots = as_doubles(x), as_doubles(knots)
    values = knots if values is None else as_doubles(values)
    if x is None or knots is None or values is None or real_view(g, &r) != SLOT_F64:
        return None
    g = as_doubles(g)                       # that of a sum repeats one number
    view_of(g, &r)
    view_of(x, &p)
    view_of(knots, &k)
    view_of(values, &w)
    if p.size != r.size or k.size < 2 or k.ndim != 1 or w.size != k.size:
        return None
    out = empty_c(_doubles, p.ndim if to_x else 1, p.dims if to_x else k.dims)
    view_of(out, &o)
    targets[0] = targets[1] = targets[2] = NULL
    targets[0 if to_x else 1 if to_knots else 2] = <double*>o.data
    report("divide", between_knots(<double*>p.data, p.size, <double*>k.data, <double*>w.data, k.size,
                                   <double*>r.data, targets[0], targets[1], targets[2]))
    return out


cdef object as_doubles(object x):
    """A plain array as row-major float64; None: it is none."""
    cdef ArrayView v
    if real_view(x, &v) < 0:
        return None
    return x if v.slot == SLOT_F64 and v.c_order else x.astype(_double, "C")


# Convolution

cdef enum Mode:
    NO_MODE = -1
    VALID
    SAME
    FULL


cdef Mode mode_of(object mode) except *:
    if type(mode) is not str:
        return NO_MODE
    return FULL if mode == "full" else VALID if mode == "valid" else SAME if mode == "same" else NO_MODE


cdef object reversed_row(object x, const ArrayView* v):
    """A plain vector from its last element to its first."""
    cdef ArrayView o
    cdef Py_ssize_t i, n = v.size
    out = empty_c(x, 1, v.dims)
    view_of(out, &o)
    if v.slot == SLOT_F64:
        for i in range(n):
            (<double*>o.data)[i] = (<const double*>v.data)[n - 1 - i]
    else:
        for i in range(n):
            (<float*>o.data)[i] = (<const float*>v.data)[n - 1 - i]
    return out


cdef object slid_along(object x, const ArrayView* p, const ArrayView* q, Mode mode):
    """numpy.correlate of a row of x and one that is no longer, both of one dtype."""
    cdef ArrayView o
    cdef Py_ssize_t left = 0, right = 0, n
    if mode == FULL:
        left = right = q.size - 1
    elif mode == SAME:
        left = q.size // 2
        right = q.size - left - 1
    n = p.size - q.size + 1 + left + right
    out = empty_c(x, 1, &n)
    view_of(out, &o)
    correlated(p.slot, dot_of(p.slot), p.data, p.size, q.data, q.size, left, right, o.data)
    return out


# For each dtype: 1: NumPy's values are those of `correlated`, -1: they are not, 0: not known yet.
cdef signed char _correlates[2]


cdef bint correlates_as_numpy(int slot) except -1:
    cdef ArrayView p, q
    cdef Mode mode
    if _correlates[slot] == 0:
        same = True
        x = np.sin(np.arange(29.0)).astype("fd"[slot])
        view_of(x, &p)
        for n in range(1, 14):
            w = np.cos(np.arange(n)).astype(x.dtype)
            view_of(w, &q)
            for mode in (VALID, SAME, FULL):
                same = same and slid_along(x, &p, &q, mode).tobytes() == _correlate(x, w, _MODES[mode]).tobytes()
        _correlates[slot] = 1 if same else -1
    return _correlates[slot] > 0


cdef tuple _MODES = ("valid", "same", "full")


cdef bint slides_along(object a, object v, Mode mode, ArrayView* p, ArrayView* q) except -1:
    """Whether `slid_along` serves two arrays: vectors of one dtype, of which it gives NumPy's values."""
    return mode != NO_MODE and is_row(a, p, 1) and is_row(v, q, 1) and p.slot == q.slot and correlates_as_numpy(p.slot)


cdef object convolved(object a, object v, Mode mode):
    """numpy.convolve of plain vectors. None: declined."""
    cdef ArrayView p, q
    a, v = without_gaps(a), without_gaps(v)
    if not slides_along(a, v, mode, &p, &q):
        return None
    if q.size > p.size:
        a, v = v, a
        p, q = q, p
    turned = reversed_row(v, &q)
    view_of(turned, &q)
    return slid_along(a, &p, &q, mode)


cdef object correlation(object a, object v, Mode mode):
    """numpy.correlate of plain vectors. None: declined."""
    cdef ArrayView p, q
    a, v = without_gaps(a), without_gaps(v)
    if not slides_along(a, v, mode, &p, &q):
        return None
    if q.size <= p.size:
        return slid_along(a, &p, &q, mode)
    out = slid_along(v, &q, &p, mode)
    view_of(out, &p)
    return reversed_row(out, &p)


def convolve(a, v, mode="full"):
    """numpy.convolve of plain vectors."""
    out = convolved(a, v, mode_of(mode))
    return _convolve(a, v, mode) if out is None else out


def correlate(a, v, mode="valid"):
    """numpy.correlate of plain vectors."""
    out = correlation(a, v, mode_of(mode))
    return _correlate(a, v, mode) if out is None else out


cdef object forward_convolve(object args):
    return convolved(args[0], args[1], FULL)


cdef object forward_correlate(object args):
    cdef ArrayView p, q
    if real_view(args[0], &p) < 0 or real_view(args[1], &q) < 0 or q.size > p.size:
        return None
    return correlation(args[0], args[1], VALID)


cdef int rule_convolve(Node node, Frame f) except -1:
    cdef object out0 = None, out1 = None
    if wants_gradient(node, f, 0):
        out0 = correlation(f.grad, saved_for(node, SAVE_INPUT, 1), VALID)
        if out0 is None:
            return 0
    if wants_gradient(node, f, 1):
        out1 = correlation(f.grad, saved_for(node, SAVE_INPUT, 0), VALID)
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)


cdef int rule_correlate(Node node, Frame f) except -1:
    cdef object out0 = None, out1 = None
    if wants_gradient(node, f, 0):
        out0 = convolved(f.grad, saved_for(node, SAVE_INPUT, 1), FULL)
        if out0 is None:
            return 0
    if wants_gradient(node, f, 1):
        out1 = correlation(saved_for(node, SAVE_INPUT, 0), f.grad, VALID)
        if out1 is None:
            return 0
    return set_outs(f, out0, out1)


def correlation_gradient(g, other, Py_ssize_t start, Py_ssize_t n, bint reverse=False, bint both=False):
    """The gradient of n elements that were convolved with `other`, of which `g` is the part from `start` on.

    With `reverse`, which were convolved with `other` reversed; with `both`, and which were reversed themselves. None:
    declined.
    """
    cdef ArrayView r, q, w
    cdef Py_ssize_t whole
    g, other = without_gaps(g), without_gaps(other)
    if not is_row(g, &r, 1) or not is_row(other, &q, 1) or q.slot != r.slot or not correlates_as_numpy(r.slot):
        return None
    whole = n + q.size - 1
    if start < 0 or n < 1 or start + r.size > whole:
        return None
    if r.size < whole:
        padded = zeros_c(g, 1, &whole)
        view_of(padded, &w)
        memcpy(w.data + start * item_size(r.slot), r.data, r.size * item_size(r.slot))
        g = padded
        r = w
    if reverse or both:
        other = reversed_row(other, &q)
        view_of(other, &q)
    if both:
        g = reversed_row(g, &r)
        view_of(g, &r)
    return slid_along(g, &r, &q, VALID)


# Covariance

cdef object centred(object m, bint rowvar):
    """The rows of a plain matrix, or of a vector as its one row, without their means; None: not served."""
    cdef ArrayView v
    if not fast_enabled() or real_view(m, &v) < 0 or not 0 < v.ndim <= 2 or v.size == 0:
        return None
    if v.slot != SLOT_F64:
        m = m.astype(_double)
    if v.ndim == 1:
        m = m[None, :]
    elif not rowvar:
        m = m.T
    mean = _sum(m, 1, None, None, True)
    mean /= m.shape[1]
    return _subtract(m, mean)


cdef object covariance(object m, object rowvar, object ddof):
    """What numpy.cov gives before it drops axes of one element; None: not served."""
    if rowvar is not True and rowvar is not False or not PyLong_CheckExact(ddof):
        return None
    x = centred(m, rowvar)
    if x is None or x.shape[1] <= ddof:
        return None
    out = _dot(x, x.T)
    out *= 1 / (x.shape[1] - ddof)
    return out


def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    """numpy.cov of a plain matrix or vector; None: better composed."""
    if y is not None:
        return None
    out = covariance(m, rowvar, ddof if ddof is not None else 0 if bias else 1)
    if out is None:
        return None
    return out.squeeze() if out.shape[0] == 1 else out


def corrcoef(x, y=None, rowvar=True):
    """numpy.corrcoef of a plain matrix; None: better composed."""
    if y is not None:
        return None
    out = covariance(x, rowvar, 1)
    if out is None or out.shape[0] == 1:
        return None
    deviation = _sqrt(out.diagonal())
    out /= deviation[:, None]
    out /= deviation[None, :]
    return out.clip(-1, 1, out)
