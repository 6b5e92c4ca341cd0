# Largest and smallest elements of plain float32 and float64 arrays over any axes: values and gradients.
# May import: numpy (Python only), engine.evaluate, engine.free_threading, engine.node, core.op,
# backends.numpy.elementwise, backends.numpy.loops.
#
# Values are NumPy's bit by bit: by the loops of maximum and minimum, or by NumPy's own call.
# Elements that tie share the gradient. Guarded by tests/ops/test_fast_extrema.py and tests/ops/test_fast_rules.py.
from libc.string cimport memcpy

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, set_out
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, ArrayView, LoopSet, Rows, at_first_use, axis_mask, copy_into, empty_c, empty_dense, fp_begin, fp_end,
    item_size, loop_fn, reduced_dims, report, same_shape, split_axes, view_of, wrapped,
)
from arraygrad.engine.evaluate cimport waiting_gradient
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport SAVE_ANS

cdef extern from "extrema.hpp" namespace "arraygrad":
    struct Reduced:
        int nd
        Py_ssize_t n[8]
        Py_ssize_t step[8]
        Py_ssize_t size, results
    int extremum_gradient(int slot, const char* g, const char* x, const char* ans, char* out, char* ties,
                          const Reduced& r, bint add) noexcept

cdef enum:
    BUFFER = 8192           # elements of NumPy's buffers, unless np.setbufsize changes that
    JOINED = 4096           # elements of a gradient from which on a reduction adds to the one that waits

_maximum_reduce = np.maximum.reduce
_minimum_reduce = np.minimum.reduce
# at_first_use
cdef LoopSet* MAXIMUM = NULL
cdef LoopSet* MINIMUM = NULL
if FREE_THREADED:
    at_first_use(&MAXIMUM, "maximum")
    at_first_use(&MINIMUM, "minimum")


# Reductions

cdef object extremum_by(LoopSet** where, str name, object reduce, object args):
    cdef ArrayView v
    cdef object out
    if view_of(args[0], &v) < 0:
        return None
    out = extremes(at_first_use(where, name), args[0], &v, args[1], args[2])
    return wrapped(reduce(args[0], args[1], None, None, args[2])) if out is None else out


cdef object extremes(LoopSet* loops, object x, const ArrayView* v, object axis, object keepdims):
    """maximum.reduce or minimum.reduce of a small row-major array by the ufunc's own loop, called as they call it: on
    rows, each after the others, or within each. None: declined, or with an error that they report."""
    cdef ArrayView o
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t steps[3]
    cdef char* data[3]
    cdef unsigned long long mask = 0
    cdef Rows r
    cdef Py_ssize_t item = item_size(v.slot), i, n
    cdef loop_fn loop = loops.fn[v.slot]
    cdef object out
    if v.slot > SLOT_F64 or not 0 < v.size <= BUFFER or not v.c_order or not 0 < v.ndim <= 8 or loop == NULL \
            or keepdims is not True and keepdims is not False or not axis_mask(axis, v.ndim, &mask) \
            or not split_axes(x, mask, &r):
        return None
    out = empty_c(x, reduced_dims(v.ndim, v.dims, mask, keepdims, dims), dims)
    view_of(out, &o)
    fp_begin()
    if r.leading:
        memcpy(o.data, v.data, r.inner * item)
        data[0] = data[2] = o.data
        steps[0] = steps[1] = steps[2] = item
        for i in range(1, r.outer):
            data[1] = v.data + i * r.inner * item
            loop(data, &r.inner, steps, loops.data[v.slot])
    else:
        steps[0] = steps[2] = 0
        steps[1] = item
        n = r.inner - 1
        for i in range(r.outer):
            data[0] = data[2] = o.data + i * item
            data[1] = v.data + i * r.inner * item
            memcpy(data[0], data[1], item)
            data[1] += item
            if n:
                loop(data, &n, steps, loops.data[v.slot])
    return out if fp_end() == 0 else None

cdef object forward_max(object args):
    return extremum_by(&MAXIMUM, "maximum", _maximum_reduce, args)


cdef object forward_min(object args):
    return extremum_by(&MINIMUM, "minimum", _minimum_reduce, args)


cdef object buffer_like(Node node, object x, object g):
    """The gradient that waits at edge 0, if it is a row-major array of the shape and dtype of x, else None."""
    cdef ArrayView v, w
    cdef object out = waiting_gradient(node)
    if out is None or view_of(out, &w) < 0 or view_of(x, &v) != w.slot or not w.c_order or not w.writeable:
        return None
    return out if same_shape(&v, &w) and v.size > JOINED else None


cdef int read_reduced(const ArrayView* v, unsigned long long mask, Reduced* r) noexcept:
    """How a row-major array with elements is reduced over the axes in `mask`."""
    cdef int d, k
    cdef Py_ssize_t step = 1
    cdef bint kept, last = False
    r.nd = 0
    r.size = v.size
    for d in range(v.ndim - 1, -1, -1):         # backwards, then turned over
        if v.dims[d] == 1:
            continue
        kept = not (mask >> d) & 1
        if r.nd and kept == last:
            r.n[r.nd - 1] *= v.dims[d]
        else:
            r.n[r.nd] = v.dims[d]
            r.step[r.nd] = step if kept else 0
            r.nd += 1
        if kept:
            step *= v.dims[d]
        last = kept
    r.results = step
    if r.nd == 0:
        r.nd = r.n[0] = 1
        r.step[0] = 0
    for k in range(r.nd // 2):
        r.n[k], r.n[r.nd - 1 - k] = r.n[r.nd - 1 - k], r.n[k]
        r.step[k], r.step[r.nd - 1 - k] = r.step[r.nd - 1 - k], r.step[k]
    return 0


cdef int rule_extremum(Node node, Frame f, object saved, object axis, bint turned) except -1:
    """max and min of `saved` along `axis`. `turned`: it is the transpose of what the node saved."""
    cdef ArrayView g, x, a, o, t
    cdef Reduced r
    cdef unsigned long long mask = 0
    cdef object ans = saved_for(node, SAVE_ANS, -1), out, waiting, ties
    cdef int slot = real_view(saved, &x)
    if slot < 0 or x.ndim > 8 or x.size == 0 or not axis_mask(axis, x.ndim, &mask) or real_view(f.grad, &g) != slot \
            or real_view(ans, &a) != slot:
        return 0
    if not x.c_order and not x.f_order:
        out = empty_c(saved, x.ndim, x.dims)
        copy_into(out, saved)
        saved = out
        view_of(saved, &x)
    read_reduced(&x, mask, &r)
    if not x.c_order or not g.c_order or not a.c_order or g.size != r.results or a.size != r.results:
        return 0
    waiting = None if turned else buffer_like(node, saved, f.grad)
    out = empty_dense(saved) if waiting is None else waiting
    ties = empty_dense(ans)
    view_of(out, &o)
    view_of(ties, &t)
    report("divide", extremum_gradient(slot, g.data, x.data, a.data, o.data, t.data, r, waiting is not None))
    return 1 if waiting is not None else 1 + set_out(f, 0, out, True)
