# Sums of products over any axes of two plain arrays, as products of two matrices: tensordot, forward and backward.
# May import: engine.arrayops, engine.node, core.op, backends.numpy.arrangements, backends.numpy.elementwise,
# backends.numpy.loops.
#
# Each array becomes a matrix of its kept and its summed axes, as numpy.tensordot has it, whose values these are bit by
# bit. Guarded by tests/ops/test_fast_arrangements.py.
from cpython.long cimport PyLong_CheckExact

from arraygrad.backends.numpy.arrangements cimport axis_of, whole_number
from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, set_outs, wants_gradient
from arraygrad.backends.numpy.loops cimport ArrayView, product_of, reshaped, transposed
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport SAVE_INPUT, SAVE_META

cdef enum:
    MOST_AXES = 8

# The axes of an array: those that stay, in its order, and those that are summed over, each beside its partner.
cdef struct Parts:
    int ndim, n_kept, n_summed
    Py_ssize_t kept[MOST_AXES]
    Py_ssize_t summed[MOST_AXES]


cdef bint read_parts(object axes, int which, int ndim, Parts* p) except -1:
    """The axes of the first (0) or the second (1) array by what tensordot is told. False: left to NumPy."""
    cdef Py_ssize_t count
    cdef int i, k, axis
    cdef object given
    p.ndim, p.n_kept, p.n_summed = ndim, 0, 0
    if ndim > MOST_AXES:
        return False
    if PyLong_CheckExact(axes):
        if not whole_number(axes, &count) or not 0 <= count <= ndim:
            return False
        p.n_summed = <int>count
        for i in range(p.n_summed):
            p.summed[i] = i if which else ndim - count + i
    elif type(axes) is tuple or type(axes) is list:
        if len(axes) != 2:
            return False
        given = axes[which]
        if PyLong_CheckExact(given):
            given = (given,)
        if type(given) is not tuple and type(given) is not list or len(given) > ndim:
            return False
        for item in given:
            if not axis_of(item, ndim, &axis):
                return False
            for k in range(p.n_summed):
                if p.summed[k] == axis:
                    return False
            p.summed[p.n_summed] = axis
            p.n_summed += 1
    else:
        return False
    for i in range(ndim):
        for k in range(p.n_summed):
            if p.summed[k] == i:
                break
        else:
            p.kept[p.n_kept] = i
            p.n_kept += 1
    return True


cdef bint order_of(const Parts* p, bint kept_first, Py_ssize_t* order) noexcept:
    """The axes in the order of the matrix; returns whether it is another than the array's."""
    cdef int i, k = 0, part
    cdef bint other = False
    for part in range(2):
        if kept_first == (part == 0):
            for i in range(p.n_kept):
                order[k] = p.kept[i]
                k += 1
        else:
            for i in range(p.n_summed):
                order[k] = p.summed[i]
                k += 1
    for i in range(k):
        other = other or order[i] != i
    return other


cdef object as_matrix(object x, const ArrayView* v, const Parts* p, bint kept_first):
    """An array as the matrix of its kept and summed axes: a view where one can be made."""
    cdef Py_ssize_t order[MOST_AXES]
    cdef Py_ssize_t dims[2]
    cdef Py_ssize_t inner = 1
    cdef int i
    cdef bint turned = order_of(p, kept_first, order)
    for i in range(p.n_summed):
        inner *= v.dims[p.summed[i]]
    dims[1 if kept_first else 0] = inner
    dims[0 if kept_first else 1] = v.size // inner
    if turned:
        x = transposed(x, order)
    return x if p.ndim == 2 and p.n_kept == 1 else reshaped(x, 2, dims)


cdef object from_matrix(object x, const Parts* p, const Py_ssize_t* kept, const Py_ssize_t* summed, bint kept_first):
    """The array whose matrix is `x`, of these lengths of its kept and summed axes."""
    cdef Py_ssize_t order[MOST_AXES]
    cdef Py_ssize_t back[MOST_AXES]
    cdef Py_ssize_t dims[MOST_AXES]
    cdef bint turned = order_of(p, kept_first, order)
    cdef int i, at = 0 if kept_first else p.n_summed
    for i in range(p.n_kept):
        dims[at + i] = kept[i]
    at = p.n_kept if kept_first else 0
    for i in range(p.n_summed):
        dims[at + i] = summed[i]
    x = reshaped(x, p.ndim, dims)
    if not turned:
        return x
    for i in range(p.ndim):
        back[order[i]] = i
    return transposed(x, back)


cdef object forward_tensordot(object args):
    cdef ArrayView a, b
    cdef Parts p, q
    cdef Py_ssize_t dims[MOST_AXES]
    cdef int i, slot = real_view(args[0], &a)
    if slot < 0 or real_view(args[1], &b) != slot or a.size == 0 or b.size == 0 \
            or not read_parts(args[2], 0, a.ndim, &p) or not read_parts(args[2], 1, b.ndim, &q) \
            or p.n_summed != q.n_summed or p.n_kept + q.n_kept > MOST_AXES:
        return None
    for i in range(p.n_summed):
        if a.dims[p.summed[i]] != b.dims[q.summed[i]]:
            return None                     # NumPy's error
    for i in range(p.n_kept):
        dims[i] = a.dims[p.kept[i]]
    for i in range(q.n_kept):
        dims[p.n_kept + i] = b.dims[q.kept[i]]
    return reshaped(product_of(as_matrix(args[0], &a, &p, True), as_matrix(args[1], &b, &q, False)),
                    p.n_kept + q.n_kept, dims)


cdef int rule_tensordot(Node node, Frame f) except -1:
    """Two products of matrices."""
    cdef ArrayView g, a
    cdef Parts p, q
    cdef Py_ssize_t summed[MOST_AXES]
    cdef Py_ssize_t dims[2]
    cdef object axes = (<list>node.args)[2], x, slot, out0 = None, out1 = None, matrix = None
    cdef int i, found = real_view(f.grad, &g)
    if found < 0 or g.size == 0 or g.ndim > MOST_AXES:
        return 0
    if wants_gradient(node, f, 0):
        x, slot = saved_for(node, SAVE_INPUT, 1), saved_for(node, SAVE_META, 0)
        if real_view(x, &a) != found or a.size == 0 or type(slot) is not GradMeta \
                or not read_parts(axes, 0, (<GradMeta>slot).ndim, &p) or not read_parts(axes, 1, a.ndim, &q) \
                or p.n_kept + q.n_kept != g.ndim:
            return 0
        for i in range(q.n_summed):
            summed[i] = a.dims[q.summed[i]]
        dims[1] = 1
        for i in range(q.n_kept):
            dims[1] *= a.dims[q.kept[i]]
        dims[0] = g.size // dims[1]
        matrix = reshaped(f.grad, 2, dims)
        out0 = product_of(matrix, transposed(as_matrix(x, &a, &q, False), NULL))
        out0 = from_matrix(out0, &p, g.dims, summed, True)
    if wants_gradient(node, f, 1):
        x, slot = saved_for(node, SAVE_INPUT, 0), saved_for(node, SAVE_META, 1)
        if real_view(x, &a) != found or a.size == 0 or type(slot) is not GradMeta \
                or not read_parts(axes, 0, a.ndim, &p) or not read_parts(axes, 1, (<GradMeta>slot).ndim, &q) \
                or p.n_kept + q.n_kept != g.ndim:
            return 0
        for i in range(p.n_summed):
            summed[i] = a.dims[p.summed[i]]
        if matrix is None:
            dims[0] = 1
            for i in range(p.n_kept):
                dims[0] *= a.dims[p.kept[i]]
            dims[1] = g.size // dims[0]
            matrix = reshaped(f.grad, 2, dims)
        out1 = product_of(transposed(as_matrix(x, &a, &p, True), NULL), matrix)
        out1 = from_matrix(out1, &q, g.dims + p.n_kept, summed, False)
    return set_outs(f, out0, out1)
