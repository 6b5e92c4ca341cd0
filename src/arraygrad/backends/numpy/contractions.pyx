# Sums of products over any axes of plain arrays, as products of matrices: tensordot and einsum, forward and backward.
# May import: engine.arrayops, engine.free_threading, engine.node, core.op, ops, backends.numpy.arrangements,
# backends.numpy.elementwise, backends.numpy.linalg, backends.numpy.ndarrays, backends.numpy.loops,
# backends.numpy.shapes, backends.numpy.small_products.
#
# tensordot: each array becomes a matrix of its kept and its summed axes, as numpy.tensordot has it, whose values these
# are bit by bit. Guarded by tests/backends/test_fast_arrangements.py.
#
# einsum: ops/_einsum.py reads the subscripts and says how two operands become stacks of matrices, and in which order
# more are multiplied. That is found once for the subscripts and the shapes of the operands (EinsumPlan). What is one
# pass goes to the compiled function behind numpy.einsum. Guarded by tests/backends/test_fast_einsum.py.
cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject

from arraygrad.backends.numpy.arrangements cimport axis_of, whole_number
from arraygrad.backends.numpy.elementwise cimport real_view, saved_for, saved_value, set_out, set_outs, wants_gradient
from arraygrad.backends.numpy.linalg cimport forward_matmul
from arraygrad.backends.numpy.ndarrays cimport ArrayView, reshaped, transposed, wrapped
from arraygrad.backends.numpy.loops cimport product_of
from arraygrad.backends.numpy.shapes cimport raw_of
from arraygrad.backends.numpy.small_products cimport small_product
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport SAVE_INPUT, SAVE_META

import numpy as np

from arraygrad.ops.kinds import module_on_use

cdef enum:
    MOST_AXES = 8
    MOST_OPERANDS = 6
    MOST_PLANS = 16         # kept for one text of subscripts,
    MOST_TEXTS = 512        # and so many texts

cdef object _einsum = module_on_use("arraygrad.ops._einsum")
cdef object _one_pass = getattr(np._core.multiarray, "c_einsum", None)      # None: left to numpy.einsum
cdef object _broadcast_to = np.broadcast_to, _copyto = np.copyto, _matmul = np.matmul
cdef object _zeros = np.zeros

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


# einsum

# How an operand or the product is rearranged: the permutation of its axes and its shape (-1: as they are).
cdef struct Turn:
    int n_axes, n_dims
    Py_ssize_t axes[MOST_AXES]
    Py_ssize_t dims[MOST_AXES]

# A product of two stacks of matrices.
cdef struct Product:
    Turn first, second, result


@cython.final
@cython.internal
cdef class EinsumPlan:
    """How einsum with some subscripts computes, for operands of these shapes."""
    cdef int n_operands
    cdef int ndim[MOST_OPERANDS]
    cdef Py_ssize_t dims[MOST_OPERANDS][MOST_AXES]
    cdef object text                    # explicit subscripts, as NumPy's compiled function takes them
    cdef bint by_matmul                 # two operands are one product of stacks of matrices, `value`
    cdef Product value
    cdef bint by_small                  # of a gradient: two operands are the product of many small matrices, `small`
    cdef Product small
    cdef list steps                     # of more: (places of the operands that are taken out, their subscripts)
    # How gradients are computed, found by the first backward: two products, or what `gradient_way` gives for each.
    cdef bint has_gradients
    cdef bint as_products
    cdef bint leads[2]                  # whether the result's gradient is the first factor
    cdef Product gradient[2]
    cdef list ways

cdef dict _plans = {}                   # subscripts -> list of EinsumPlan


cdef int read_turn(object axes, object shape, Turn* turn) except -1:
    cdef int i
    turn.n_axes = turn.n_dims = -1
    if axes is not None:
        turn.n_axes = <int>len(axes)
        for i in range(turn.n_axes):
            turn.axes[i] = axes[i]
    if shape is not None:
        turn.n_dims = <int>len(shape)
        for i in range(turn.n_dims):
            turn.dims[i] = shape[i]
    return 0


cdef bint read_product(tuple plan, Product* p) except -1:
    """The plan of ops/_einsum.py as a struct. False: there is none, or it has too many axes."""
    if plan is None:
        return False
    for part in plan:
        if part is not None and len(part) > MOST_AXES:
            return False
    read_turn(plan[0], plan[1], &p.first)
    read_turn(plan[2], plan[3], &p.second)
    read_turn(plan[5], plan[4], &p.result)
    return True


cdef object turned(object x, const Turn* turn):
    if turn.n_axes >= 0:
        x = transposed(x, turn.axes)
    return x if turn.n_dims < 0 else reshaped(x, turn.n_dims, turn.dims)


cdef object product(const Product* p, object a, object b):
    a, b = turned(a, &p.first), turned(b, &p.second)
    cdef object out = forward_matmul((a, b))
    return laid_out(p, _matmul(a, b) if out is None else out)


cdef object gradient_product(const Product* p, object a, object b):
    """The same where NumPy's bits are not asked for."""
    a, b = turned(a, &p.first), turned(b, &p.second)
    cdef object out = small_product(a, b)
    if out is None:
        out = forward_matmul((a, b))
    return laid_out(p, _matmul(a, b) if out is None else out)


cdef object laid_out(const Product* p, object out):
    if p.result.n_dims >= 0:
        out = reshaped(out, p.result.n_dims, p.result.dims)
    return out if p.result.n_axes < 0 else transposed(out, p.result.axes)


cdef int views_of(tuple operands, ArrayView* views) noexcept:
    """Fill `views`; returns the slot of all operands, -1 where they are no real arrays of one dtype of few axes."""
    cdef int i, slot = -1, n = <int>len(operands)
    if n == 0 or n > MOST_OPERANDS:
        return -1
    for i in range(n):
        if real_view(operands[i], &views[i]) < 0 or views[i].ndim > MOST_AXES or i and views[i].slot != slot:
            return -1
        slot = views[i].slot
    return slot


cdef bint fits(EinsumPlan plan, int n, const ArrayView* views) noexcept:
    cdef int i, d
    if plan.n_operands != n:
        return False
    for i in range(n):
        if plan.ndim[i] != views[i].ndim:
            return False
        for d in range(plan.ndim[i]):
            if plan.dims[i][d] != views[i].dims[d]:
                return False
    return True


cdef EinsumPlan plan_for(str subscripts, tuple operands, const ArrayView* views):
    """The plan for the operands; raises ValueError where the subscripts do not fit them."""
    cdef PyObject* found = PyDict_GetItemWithError(_plans, subscripts)
    cdef EinsumPlan plan
    cdef int i, d, n = <int>len(operands)
    if found is not NULL:
        for plan in <list>found:
            if fits(plan, n, views):
                return plan
    plan = EinsumPlan.__new__(EinsumPlan)
    plan.n_operands = n
    for i in range(n):
        plan.ndim[i] = views[i].ndim
        for d in range(views[i].ndim):
            plan.dims[i][d] = views[i].dims[d]
    plan.text, way, plan.steps = _einsum.contraction(subscripts, tuple([x.shape for x in operands]))
    plan.by_matmul = read_product(way, &plan.value)
    plan.by_small = n == 2 and read_product(_einsum.small_plan(subscripts, tuple([x.shape for x in operands])),
                                            &plan.small)
    if FREE_THREADED:       # where another thread may read what one fills
        find_gradients(plan, subscripts, operands)
    if len(_plans) >= MOST_TEXTS:
        _plans.clear()
    kept = _plans.setdefault(subscripts, [])
    if len(kept) >= MOST_PLANS:
        del kept[0]
    kept.append(plan)
    return plan


cdef object forward_einsum(object args):
    if type(args[0]) is not str or args[2] is not True and args[2] is not False or _one_pass is None \
            or type(args[1]) is not tuple and type(args[1]) is not list:
        return None
    return contracted(<str>args[0], tuple(args[1]), args[2] is True)


cdef object contracted(str subscripts, tuple operands, bint in_order, bint gradient=False):
    """einsum of real arrays, in the best order of products or in one pass. None: declined."""
    cdef ArrayView views[MOST_OPERANDS]
    cdef EinsumPlan plan
    if views_of(operands, views) < 0:
        return None
    plan = plan_for(subscripts, operands, views)
    if gradient and plan.by_small:
        return gradient_product(&plan.small, operands[0], operands[1])
    if in_order and plan.by_matmul:
        return product(&plan.value, operands[0], operands[1])
    if in_order and plan.steps is not None:
        return step_by_step(plan.steps, list(operands))
    return _one_pass(plan.text, *operands)


cdef object step_by_step(list steps, list operands):
    """The sum of several products, of which each takes some operands and puts its result last."""
    cdef object out, chosen
    for places, subscripts in steps:
        chosen = tuple([operands[i] for i in places])
        for i in sorted(places, reverse=True):
            del operands[i]
        out = contracted(<str>subscripts, chosen, True) if len(chosen) == 2 else None
        if out is None:
            out = _one_pass(subscripts, *chosen)
        operands.append(wrapped(out))
    return operands[0]


cdef tuple kept_operands(Node node):
    """The operands that the node kept, None for those that were overwritten since. None: they are packed."""
    cdef object kept = saved_value(node, 0)
    cdef list found = []
    if type(kept) is not list:
        return None
    for slot in <list>kept:
        found.append(raw_of(slot))
    return tuple(found)


cdef int find_gradients(EinsumPlan plan, str subscripts, tuple operands) except -1:
    cdef int k
    shapes = tuple([x.shape for x in operands])
    found = _einsum.pair_gradients(subscripts, *shapes) if len(operands) == 2 else None
    plan.as_products = found is not None
    if plan.as_products:
        for k in range(2):
            plan.leads[k] = found[k][0]
            plan.as_products = plan.as_products and read_product(found[k][1], &plan.gradient[k])
    if not plan.as_products:
        plan.ways = [_einsum.gradient_way(subscripts, shapes, k) for k in range(len(operands))]
    plan.has_gradients = True
    return 0


cdef object gradient_by(tuple way, object g, tuple others, object shape):
    """The gradient of one operand: einsum of the result's with the others, spread where the operand alone had a label,
    and laid on its diagonals. None: declined."""
    cdef object text = way[0], spread = way[1], sizes = way[2], diagonal = way[3], out, view
    out = contracted(<str>text, (g,) + others, True, True)
    if out is None:
        return None
    out = wrapped(out)
    if spread is not None:
        out = _broadcast_to(out.reshape(spread), sizes)
    if diagonal is not None:
        view = _zeros(shape, out.dtype)
        _copyto(_one_pass(diagonal, view), out)
        out = view
    return out


cdef int rule_einsum(Node node, Frame f) except -1:
    """Of two operands two products of matrices, or one pass for each; of others what `optimize` says is best."""
    cdef ArrayView g
    cdef ArrayView views[MOST_OPERANDS]
    cdef object subscripts = (<list>node.args)[0], out
    cdef tuple operands = kept_operands(node)
    cdef EinsumPlan plan
    cdef list outs
    cdef int k, n, slot = real_view(f.grad, &g)
    if slot < 0 or operands is None or type(subscripts) is not str or _one_pass is None \
            or views_of(operands, views) != slot:
        return 0
    plan = plan_for(<str>subscripts, operands, views)
    if not plan.has_gradients:
        find_gradients(plan, <str>subscripts, operands)
    n = <int>len(operands)
    outs = [None] * n
    for k in range(n):
        if node.edge_node(k) is None or not (f.needs >> k) & 1:
            continue
        if plan.as_products:
            out = operands[1 - k]
            out = gradient_product(&plan.gradient[k], f.grad, out) if plan.leads[k] else \
                gradient_product(&plan.gradient[k], out, f.grad)
        else:
            out = gradient_by(<tuple>plan.ways[k], f.grad, operands[:k] + operands[k + 1:], operands[k].shape)
            if out is None:
                return 0
        outs[k] = out
    if n > 2:
        f.set_outs(outs)
        return 1
    for k in range(n):
        if outs[k] is not None:
            # Of one operand it may be the gradient itself, or a view of it.
            set_out(f, k, outs[k], n == 2 and (plan.as_products or (<tuple>plan.ways[k])[1] is None))
    return 1
