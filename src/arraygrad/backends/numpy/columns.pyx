# Operations on column-major arrays: those on their transposes, which are row-major, along the opposite axes. NumPy's
# results lie as the operands do, so the result is turned over again.
# May import: engine.node, core.op, backends.numpy.contents, backends.numpy.elementwise, backends.numpy.extrema,
# backends.numpy.lanes, backends.numpy.loops, backends.numpy.reductions, backends.numpy.row_copies,
# backends.numpy.shapes.
# Guarded by tests/ops/test_fast_columns.py.
from arraygrad.backends.numpy.contents cimport turned_over
from arraygrad.backends.numpy.elementwise cimport real_view, saved_for
from arraygrad.backends.numpy.extrema cimport forward_max, forward_min, rule_extremum
from arraygrad.backends.numpy.lanes cimport axis_from_behind, small_row_major
from arraygrad.backends.numpy.loops cimport (
    ArrayView, bools_of, copy_into, empty_c, forward_ptr, transposed, view_of,
)
from arraygrad.backends.numpy.reductions cimport (
    forward_log_softmax, forward_logsumexp, forward_softmax, forward_sum, rule_logsumexp, rule_prod,
)
from arraygrad.backends.numpy.row_copies cimport SMALL
from arraygrad.backends.numpy.shapes cimport forward_where
from arraygrad.core.op cimport SAVE_INPUT
from arraygrad.engine.node cimport Frame, Node

ctypedef int (*axis_rule)(Node node, Frame f, object saved, object axis, bint turned) except -1


cdef bint in_columns(object x, ArrayView* v) noexcept:
    """Whether `x` is a column-major array that is not row-major as well."""
    return view_of(x, v) >= 0 and v.f_order and not v.c_order and v.ndim <= 8


cdef object along_opposite(forward_ptr call, object args, int most):
    """The operation on an array of up to `most` axes along one axis, its second argument, or all. None: declined."""
    cdef ArrayView v
    cdef Py_ssize_t axis = 0
    cdef list turned
    cdef object out
    if not in_columns(args[0], &v) or v.ndim > most \
            or args[1] is not None and not axis_from_behind(args[1], v.ndim, &axis):
        return None
    turned = list(args)
    turned[0] = transposed(args[0], NULL)
    if args[1] is not None:
        turned[1] = axis
    out = call(turned)
    return None if out is None else turned_over(out)


cdef object served_first(forward_ptr call, object args, int most):
    """The operation, by way of the transpose where it declines the array as it lies."""
    cdef object out = call(args)
    return along_opposite(call, args, most) if out is None else out


cdef object turned_first(forward_ptr call, object args):
    """A reduction of a column-major matrix along one axis by way of the transpose, any other as it lies."""
    cdef object out = None if args[1] is None else along_opposite(call, args, 2)
    return call(args) if out is None else out


cdef object softmax_of_any(object args):
    return served_first(forward_softmax, args, 8)


cdef object log_softmax_of_any(object args):
    return served_first(forward_log_softmax, args, 8)


cdef object logsumexp_of_any(object args):
    return served_first(forward_logsumexp, args, 2)


cdef object sum_of_any(object args):
    return turned_first(forward_sum, args)


cdef object max_of_any(object args):
    return turned_first(forward_max, args)


cdef object min_of_any(object args):
    return turned_first(forward_min, args)


cdef object where_of_any(object args):
    """Where the mask and the arrays lie in one order; of small arrays beside a row-major mask copies that do.

    NumPy's result is row-major where orders differ.
    """
    cdef ArrayView c, v
    cdef list turned
    cdef int i
    cdef object out = forward_where(args)
    if out is not None or not bools_of(args[0], &c) or not c.c_order or c.size > SMALL:
        return out
    turned = list(args)
    for i in range(1, 3):
        if view_of(args[i], &v) >= 0 and not v.c_order:
            turned[i] = small_row_major(args[i])
            if turned[i] is None:
                return None
    return forward_where(turned)


# Gradients of reductions

cdef int rule_along(axis_rule rule, Node node, Frame f) except -1:
    """The rule of a reduction along one axis, or all, of what the node saved; of a column-major matrix by way of the
    transpose."""
    cdef ArrayView v
    cdef object saved = saved_for(node, SAVE_INPUT, 0), axis = (<list>node.args)[1], dense
    cdef Py_ssize_t opposite = 0
    if real_view(f.grad, &v) >= 0 and not v.c_order and not v.f_order:      # one number for all, where a sum follows
        dense = empty_c(f.grad, v.ndim, v.dims)
        copy_into(dense, f.grad)
        f.grad, f.owned = dense, True
    if real_view(saved, &v) < 0 or v.c_order or not v.f_order or v.ndim != 2 \
            or axis is not None and not axis_from_behind(axis, 2, &opposite):
        return rule(node, f, saved, axis, False)
    if not rule(node, f, transposed(saved, NULL), None if axis is None else opposite, True):
        return 0
    f.out0 = turned_over(f.out0)
    return 1


cdef int rule_extremum_of_any(Node node, Frame f) except -1:
    return rule_along(rule_extremum, node, f)


cdef int rule_logsumexp_of_any(Node node, Frame f) except -1:
    return rule_along(rule_logsumexp, node, f)


cdef int rule_prod_of_any(Node node, Frame f) except -1:
    return rule_along(rule_prod, node, f)
