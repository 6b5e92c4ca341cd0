# Sliding windows of plain arrays: where they lie, what their rule adds up, and the gradients of slices of them.
# May import: engine.arrayops, engine.evaluate, engine.input_buffer, engine.node, core.op, backends.numpy.elementwise,
# backends.numpy.ndarrays, backends.numpy.loops.
#
# Note [Regions of windows]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# Windows are a view that may be a hundred times as large as the array, of which programs use a slice: every 16th
# window, those of one channel. The gradient of all windows, zeros but for that slice, costs what the view is large. So
# where a slice's rule finds that its gradient leads to the node of windows, it leaves there the slice's gradient and
# its key (a PartialGradient whose `low` is -1), and the rule of windows adds only that to the elements that it shows.
# Sums are those of the plain way, in the order of the windows: a slice with a negative step is turned first, and zeros
# that are not added change no bit. Whoever else looks at the gradient of the windows (a hook, a request for it, another
# slice) has it made whole, in `spread_region`.
# So it is with windows at places, `windows[places]`, of which a few are gathered out of many: `key` is then a list of
# the places, counted over the first axes, and how many axes those are. A window that is named twice counts twice, one
# after the other, where the plain way adds the two gradients first: that may round otherwise.
# Guarded by tests/backends/test_fast_windows.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport int64_t

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view, saved_value, set_out
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, copy_into, empty_c, mirrored, positions_of, same_shape, strided, view_of, zeros_c,
)
from arraygrad.backends.numpy.loops cimport item_size, not_captured, report
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport leave_partial
from arraygrad.engine.input_buffer cimport PartialGradient
from arraygrad.engine.node cimport NODE_FAST, Frame, Node
from arraygrad.core.op cimport Op

cdef extern from "arrangements.hpp" namespace "arraygrad":
    int add_strided(int slot, const char* g, char* out, const Py_ssize_t* dims, const Py_ssize_t* steps, int nd,
                    Py_ssize_t size, int along) noexcept
    int add_strided_at(int slot, const char* g, char* out, const int64_t* places, Py_ssize_t n, const Py_ssize_t* dims,
                       const Py_ssize_t* steps, int lead, int nd) noexcept

cdef object _add_at = np.add.at

cdef enum:
    # Bytes of all windows from which on a slice's gradient waits by itself: as PARTIAL_SIZE in shapes.pyx.
    REGION_SIZE = 1 << 14


cdef int windows_of(object lengths, object axes, int ndim, const Py_ssize_t* from_dims, const Py_ssize_t* from_strides,
                    Py_ssize_t* dims, Py_ssize_t* strides) except -2:
    """The shape and strides of windows of an array, and how many axes they have; -1: NumPy would refuse them."""
    cdef Py_ssize_t axis, length
    cdef int d, nd = ndim
    if type(lengths) is not tuple or type(axes) is not tuple or len(<tuple>lengths) != len(<tuple>axes) \
            or ndim + len(<tuple>axes) > 8:
        return -1
    for d in range(ndim):
        dims[d] = from_dims[d]
        strides[d] = from_strides[d]
    for d in range(<int>len(<tuple>axes)):
        if not PyLong_CheckExact((<tuple>axes)[d]) or not PyLong_CheckExact((<tuple>lengths)[d]):
            return -1
        axis = PyLong_AsSsize_t((<tuple>axes)[d])
        length = PyLong_AsSsize_t((<tuple>lengths)[d])
        if not -ndim <= axis < ndim:
            return -1
        axis += ndim if axis < 0 else 0
        dims[axis] -= length - 1
        if length < 1 or dims[axis] < 1:
            return -1
        dims[nd] = length
        strides[nd] = from_strides[axis]
        nd += 1
    return nd


cdef int line_axis(tuple axes, const Py_ssize_t* dims, const Py_ssize_t* steps, int ndim, int nd) except -2:
    """The axis along which the last of `nd` axes slides, alone and over neighbours; -1: there is none."""
    cdef int d, found = -1
    last = axes[len(axes) - 1]
    if nd < 2 or steps[nd - 1] != 1 or axes.count(last) + axes.count(last - ndim if last >= 0 else last + ndim) != 1:
        return -1
    for d in range(nd - 1):
        if steps[d] == 1 and dims[d] > 1:
            if found >= 0:
                return -1
            found = d
    return found


cdef object summed_windows(Node node, object grad, object key):
    """The gradient of the array from that of its windows, or of a slice of them (`key` not None). None: declined."""
    cdef ArrayView g, r
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t strides[8]
    cdef Py_ssize_t base[8]
    cdef Py_ssize_t steps[16]
    cdef Py_ssize_t step
    cdef GradMeta meta
    cdef int d, nd, slot = real_view(grad, &g)
    cdef object out, shown, lengths = (<list>node.args)[1], axes = (<list>node.args)[2], dense
    shown = saved_value(node, 0)
    if slot < 0 or type(shown) is not GradMeta or (<GradMeta>shown).ndim > 8 or type(axes) is not tuple or not axes:
        return None
    meta = <GradMeta>shown
    step = item_size(slot)
    for d in range(meta.ndim - 1, -1, -1):
        base[d] = step
        step *= meta.dims[d]
    nd = windows_of(lengths, axes, meta.ndim, meta.dims, base, dims, strides)
    if nd < 0:
        return None
    out = zeros_c(grad, meta.ndim, meta.dims)
    if type(key) is list:
        return windows_at(out, grad, <list>key, nd, dims, strides)
    shown = strided(out, nd, dims, strides)
    if key is not None:
        shown = shown[key]
    if view_of(shown, &r) != slot or not same_shape(&r, &g) or r.ndim > 8:
        return None
    for d in range(r.ndim):
        if r.strides[d] < 0:
            shown = mirrored(shown, d)
            grad = mirrored(grad, d)
            view_of(shown, &r)
    view_of(grad, &g)
    if not g.c_order:
        dense = empty_c(grad, g.ndim, g.dims)
        copy_into(dense, grad)
        grad = dense
        view_of(grad, &g)
    for d in range(r.ndim):
        steps[d] = r.strides[d] // item_size(slot)
    not_captured("sums of windows")
    report("add", add_strided(slot, g.data, r.data, r.dims, steps, r.ndim, r.size,
                              line_axis(<tuple>axes, r.dims, steps, meta.ndim, r.ndim)))
    return out


cdef object windows_at(object out, object grad, list key, int nd, const Py_ssize_t* dims, const Py_ssize_t* strides):
    """Zeros, `out`, with the gradients of windows at places added. None: declined."""
    cdef ArrayView g, o
    cdef Py_ssize_t steps[16]
    cdef Py_ssize_t n = 0
    cdef const int64_t* places = positions_of(key[0], &n)
    cdef int d, slot = real_view(grad, &g), lead = key[1]
    cdef object dense
    if not g.c_order:
        dense = empty_c(grad, g.ndim, g.dims)
        copy_into(dense, grad)
        grad = dense
        view_of(grad, &g)
    for d in range(nd):
        steps[d] = strides[d] // item_size(slot)
    view_of(out, &o)
    not_captured("sums of windows")
    report("add", add_strided_at(slot, g.data, o.data, places, n, dims, steps, lead, nd))
    return out


cdef int rule_windows(Node node, Frame f) except -1:
    """Gradients of windows added to the elements that they show, in the order of the windows."""
    cdef PartialGradient region
    cdef object out
    if type(f.grad) is PartialGradient:
        region = <PartialGradient>f.grad
        out = summed_windows(node, (<tuple>region.array)[2], (<tuple>region.array)[1])
        if out is not None:
            return 1 + set_out(f, 0, out, True)
        f.grad = region.finish(region)
    out = summed_windows(node, f.grad, None)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef object spread_region(PartialGradient p):
    """The gradient of all windows: zeros but for the region."""
    cdef ArrayView v
    cdef object shape, key, grad, out
    shape, key, grad = p.array
    view_of(shape, &v)
    out = zeros_c(grad, v.ndim, v.dims)
    if type(key) is list:
        rows = (-1, *v_shape(&v, key[1]))
        not_captured("sums of windows")
        _add_at(out.reshape(rows), key[0], grad.reshape(rows))
    else:
        out[key] = grad
    return out


cdef tuple v_shape(const ArrayView* v, int lead):
    """The lengths of the axes of an array from `lead` on."""
    return tuple([v.dims[d] for d in range(lead, v.ndim)])


cdef bint leads_to_windows(Node node) noexcept:
    """Whether edge 0 of a node leads to windows whose rule may be given a region."""
    cdef Node child = node.e0
    return (child is not None and type(child.op) is Op and (<Op>child.op).fast_rule == rule_windows
            and child.flags & NODE_FAST != 0 and child.hooks is None)


cdef bint leave_region(Node node, GradMeta meta, object key, object grad) except -1:
    """Let the gradient of t[key] wait where edge 0 of the running `node` leads, if those are windows. False: declined.

    `meta`: of t; `key` names each element once at most, or is a list of places that are there and how many axes they
    count over.
    """
    cdef ArrayView g
    cdef PartialGradient p
    cdef Py_ssize_t size
    cdef Py_ssize_t repeats[8]
    cdef int d
    if not leads_to_windows(node) or meta.ndim > 8:
        return False
    if real_view(grad, &g) < 0 or g.size == 0:
        return False
    size = item_size(g.slot)
    for d in range(meta.ndim):
        size *= meta.dims[d]
        repeats[d] = 0
    if size < REGION_SIZE:
        return False
    p = PartialGradient.__new__(PartialGradient)
    p.array = strided(grad, meta.ndim, meta.dims, repeats)
    p.finish = spread_region
    if not leave_partial(node, p):
        return False
    p.array = (p.array, key, grad)
    p.low = -1
    return True
