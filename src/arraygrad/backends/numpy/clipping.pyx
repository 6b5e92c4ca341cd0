# numpy.clip of plain float32 and float64 arrays by numbers and by arrays that broadcast: values and gradients.
# May import: numpy (Python only), engine.free_threading, engine.node, core.op, core.value, backends.numpy.elementwise,
# backends.numpy.ndarrays, backends.numpy.loops.
#
# Values are NumPy's bit by bit: whether an array of bounds that equals an element, or is nan, is taken as NumPy takes
# it, it is asked once. None, or 0: declined. Guarded by tests/backends/test_fast_arrangements.py and
# tests/backends/test_fast_clipping.py.
import numpy as np

from arraygrad.backends.numpy.elementwise cimport (
    is_number, real_view, saved_for, set_out, set_outs, wants_gradient,
)
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_dense, same_shape, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F32, SLOT_F64, LoopSet, binary_loop, item_size, loop_set, read_number
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport SAVE_INPUT
from arraygrad.core.value cimport Value

cdef extern from "clipping.hpp" namespace "arraygrad":
    struct Bounds:
        double low, high
        bint has_low, has_high
    void clip_gradient(int slot, const char* x, const char* g, Py_ssize_t step, char* out, Py_ssize_t n,
                       Bounds b) noexcept
    void clipped(int slot, const char* x, char* out, Py_ssize_t n, Bounds b) noexcept
    enum:
        CLIP_LOW
        CLIP_HIGH
        CLIP_GRAD
        CLIP_OPERANDS
    struct Beside:
        int nd
        Py_ssize_t n[8]
        Py_ssize_t step[3][8]
        Py_ssize_t size
    void clip_by(int slot, const char* x, const char* const* operands, char* out, const Beside& b) noexcept
    void clip_gradients(int slot, const char* x, const char* const* operands, char* const* out,
                        const Beside& b) noexcept

cdef LoopSet* MAXIMUM = loop_set("maximum")
cdef LoopSet* MINIMUM = loop_set("minimum")
cdef signed char _as_numpy[2]       # whether `clip_by` has NumPy's bits: 1, -1 it has not, 0 not compared yet
if FREE_THREADED:
    clips_as_numpy(SLOT_F32)
    clips_as_numpy(SLOT_F64)


cdef bint read_bounds(object low, object high, int slot, Bounds* b) except -1:
    """Bounds that are Python numbers or None; False: they are not, or do not fit."""
    cdef double number
    b.has_low = low is not None
    b.has_high = high is not None
    b.low = b.high = 0.0
    if b.has_low and not (read_number(low, slot, <char*>&number) and read_number(low, SLOT_F64, <char*>&b.low)):
        return False
    return not b.has_high or (read_number(high, slot, <char*>&number) and
                              read_number(high, SLOT_F64, <char*>&b.high))


# Bounds that are arrays

# The bounds and the gradient beside the array, each a place in memory.
cdef struct Operands:
    Beside beside
    const char* data[3]
    double number[2]


cdef int begin(Operands* o, const ArrayView* x) noexcept:
    """The axes of an array without gaps, as it lies: those of a column-major one the other way round."""
    cdef int d
    o.beside.nd = x.ndim
    o.beside.size = x.size
    for d in range(x.ndim):
        o.beside.n[d] = x.dims[d if x.c_order else x.ndim - 1 - d]
    return 0


cdef int step_of(Operands* o, int p, int d, const ArrayView* x, const ArrayView* v) noexcept:
    """The step of an operand along axis d in the order of `begin`, in o; -1: it does not go along."""
    cdef int axis = d if x.c_order else x.ndim - 1 - d
    cdef int own = axis - (x.ndim - v.ndim)
    cdef Py_ssize_t step = 0, item = item_size(v.slot)
    if own >= 0 and v.dims[own] != 1:
        if v.dims[own] != x.dims[axis] or v.strides[own] % item:
            return -1
        step = v.strides[own] // item
    o.beside.step[p][d] = step
    return 0


cdef bint give(Operands* o, int p, object operand, const ArrayView* x) except -1:
    """Operand `p`: an array that broadcasts to the array's shape, a number, or None for a bound that is not there.

    False: another, or one with gaps along the last axis.
    """
    cdef ArrayView v
    cdef int d
    if operand is None or is_number(operand):
        if not read_number(operand if operand is not None else float("-inf") if p == CLIP_LOW else float("inf"),
                           x.slot, <char*>&o.number[p]):
            return False
        o.data[p] = <const char*>&o.number[p]
        for d in range(x.ndim):
            o.beside.step[p][d] = 0
        return True
    if real_view(operand, &v) != x.slot or v.ndim > x.ndim:
        return False
    o.data[p] = v.data
    for d in range(x.ndim):
        if step_of(o, p, d, x, &v) < 0:
            return False
    return True


cdef bint settle(Operands* o, int count) noexcept:
    """Make one of axes along which all operands go on as one. False: an operand has gaps along the last axis."""
    cdef Beside* b = &o.beside
    cdef int d, p, k = 0
    cdef bint joined
    for d in range(b.nd):
        if b.n[d] == 1:
            continue
        joined = k > 0
        if joined:
            for p in range(count):
                joined = joined and b.step[p][k - 1] == b.step[p][d] * b.n[d]
        if joined:
            b.n[k - 1] *= b.n[d]
        else:
            b.n[k] = b.n[d]
            k += 1
        for p in range(count):
            b.step[p][k - 1] = b.step[p][d]
    if k == 0:
        b.n[0] = k = 1
        for p in range(count):
            b.step[p][0] = 0
    b.nd = k
    for p in range(count):
        if not 0 <= b.step[p][k - 1] <= 1:
            return False
    return True


cdef bint lies_alike(object bound, const ArrayView* x) noexcept:
    """Whether NumPy's result lies as the array does, for all that this bound has to say."""
    cdef ArrayView v
    return view_of(bound, &v) < 0 or (v.c_order if x.c_order else v.f_order and (v.ndim == x.ndim or v.size == 1))


cdef object clipped_by(object array, const ArrayView* x, object low, object high):
    cdef Operands o
    cdef ArrayView r
    cdef object out
    begin(&o, x)
    if not give(&o, CLIP_LOW, low, x) or not give(&o, CLIP_HIGH, high, x) or not settle(&o, CLIP_GRAD):
        return None
    out = empty_dense(array)
    view_of(out, &r)
    clip_by(x.slot, x.data, o.data, r.data, o.beside)
    return out


cdef bint clips_as_numpy(int slot) except -1:
    """Whether values are NumPy's bit by bit where bounds go along with the array, along rows, and nowhere."""
    cdef ArrayView v
    if _as_numpy[slot] == 0:
        values = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf]
        x, low, high = np.array(np.meshgrid(values, values, values), "f" if slot == SLOT_F32 else "d").reshape(3, -1)
        rows = np.ascontiguousarray(np.broadcast_to(np.asarray(values, x.dtype), (x.size, 7)))
        same = True
        for a, b, c in ((x, low, high), (rows, low[:, None], high[:, None]), (rows, low[:1], high[:1])):
            view_of(a, &v)
            with np.errstate(all="ignore"):
                expected = np.clip(a, b, c)
            same = same and clipped_by(a, &v, b, c).tobytes() == expected.tobytes()
        _as_numpy[slot] = 1 if same else -1
    return _as_numpy[slot] > 0


cdef object forward_clip(object args):
    cdef ArrayView x, o
    cdef Bounds b
    cdef object out, low = args[1], high = args[2]
    cdef int slot = real_view(args[0], &x)
    if slot < 0 or not (x.c_order or x.f_order) or x.ndim > 8:
        return None
    if low is None or high is None:     # one bound: NumPy calls these
        if low is None and high is None or not (is_number(low) or is_number(high)):
            return None
        return binary_loop(MAXIMUM, args[0], low, None) if high is None else binary_loop(MINIMUM, args[0], high, None)
    if read_bounds(low, high, slot, &b):
        out = empty_dense(args[0])
        view_of(out, &o)
        clipped(slot, x.data, o.data, x.size, b)
        return out
    if x.size <= 1 or not lies_alike(low, &x) or not lies_alike(high, &x) or not clips_as_numpy(slot):
        return None
    return clipped_by(args[0], &x, low, high)


cdef object bound_saved(object slot, bint* gone):
    """A bound as the node kept it: a raw array, a number, None. `gone` is set where it was overwritten since."""
    if type(slot) is not Value:
        return slot
    if (<Value>slot).overwritten:
        gone[0] = True
        return None
    return (<Value>slot).raw


cdef int rule_clip(Node node, Frame f) except -1:
    """The gradient where a plain dense array is not beyond its bounds, and of bounds that are arrays where it is.

    The slots are read as they are: an array that was overwritten since is no missing bound.
    """
    cdef ArrayView x, g, o
    cdef Bounds b
    cdef int d, slot
    cdef Py_ssize_t step = 0
    cdef object saved = saved_for(node, SAVE_INPUT, 0), out
    slot = real_view(saved, &x)
    if slot < 0 or not (x.c_order or x.f_order) or real_view(f.grad, &g) != slot or not same_shape(&x, &g) \
            or g.size == 0 or x.ndim > 8:
        return 0
    if node.e1 is not None or node.edge_node(2) is not None or not read_bounds(node.s1, node.s2, slot, &b):
        return gradients_of_clip(node, f, saved, &x)
    for d in range(g.ndim):
        if g.strides[d] != 0 and g.dims[d] != 1:
            step = 1                        # no single number
    if step and not (x.c_order and g.c_order or x.f_order and g.f_order):
        return 0
    out = f.grad if step and f.owned and g.writeable else empty_dense(saved)
    view_of(out, &o)
    clip_gradient(slot, x.data, g.data, step, o.data, x.size, b)
    return 1 + set_out(f, 0, out, True)


cdef int gradients_of_clip(Node node, Frame f, object saved, const ArrayView* x) except -1:
    """The gradients of the array and of both bounds, of the result's shape, as far as they are asked for. 0: declined.

    The engine sums those of bounds that were broadcast.
    """
    cdef Operands o
    cdef ArrayView g, r
    cdef char* to[3]
    cdef bint gone = False
    cdef object low = bound_saved(node.s1, &gone), high = bound_saved(node.s2, &gone)
    cdef object out0 = None, out1 = None, out2 = None
    view_of(f.grad, &g)
    begin(&o, x)
    if gone or not give(&o, CLIP_LOW, low, x) or not give(&o, CLIP_HIGH, high, x) \
            or not give(&o, CLIP_GRAD, f.grad, x) or not settle(&o, CLIP_OPERANDS):
        return 0
    to[0] = to[1] = to[2] = NULL
    if wants_gradient(node, f, 0):
        out0 = f.grad if f.owned and g.writeable and (x.c_order and g.c_order or x.f_order and g.f_order) \
            else empty_dense(saved)
        view_of(out0, &r)
        to[0] = r.data
    if wants_gradient(node, f, 1):
        out1 = empty_dense(saved)
        view_of(out1, &r)
        to[1] = r.data
    if node.edge_node(2) is not None and (f.needs >> 2) & 1:
        out2 = empty_dense(saved)
        view_of(out2, &r)
        to[2] = r.data
        f.set_out(2, out2)
    clip_gradients(x.slot, x.data, o.data, to, o.beside)
    return set_outs(f, out0, out1)
