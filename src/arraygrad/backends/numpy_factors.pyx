# Rules of factorizations and linear equations for one plain matrix: what they may know of its structure.
# May import: engine.node, op, backends.numpy_elementwise, backends.numpy_loops, backends._triangular.
from arraygrad.backends.numpy_elementwise cimport find, real_view, set_out, wants
from arraygrad.backends.numpy_loops cimport ArrayView
from arraygrad.engine.node cimport Frame, Node
from arraygrad.op cimport SAVE_ANS, SAVE_INPUT


cdef int rule_cholesky(Node node, Frame f) except -1:
    """One inverse of a triangle and products, where the table's rule solves twice as if the factor were any matrix."""
    cdef ArrayView l, g
    cdef object factor, upper = (<list>node.args)[1]
    cdef int slot
    if not wants(node, f, 0):
        return 1
    factor = find(node, SAVE_ANS, -1)
    slot = real_view(factor, &l)
    if slot < 0 or l.ndim != 2 or l.size == 0 or real_view(f.grad, &g) != slot or g.ndim != 2:
        return 0
    if upper is not True and upper is not False:
        return 0
    from arraygrad.backends import _triangular

    out = _triangular.cholesky_gradient(factor, f.grad, upper)
    return 0 if out is None else 1 + set_out(f, 0, out, True)


cdef int rule_solve(Node node, Frame f) except -1:
    """The transposed equation solved once for both gradients."""
    cdef ArrayView a, x, g
    cdef bint first = wants(node, f, 0), second = wants(node, f, 1)
    cdef object matrix = find(node, SAVE_INPUT, 0), ans = find(node, SAVE_ANS, -1) if first else None
    cdef object out0 = None, out1
    cdef int slot = real_view(matrix, &a)
    if not (first or second):
        return 1
    if slot < 0 or a.ndim != 2 or a.size == 0 or real_view(f.grad, &g) != slot or not 1 <= g.ndim <= 2:
        return 0
    if first and (real_view(ans, &x) != slot or x.ndim != g.ndim):
        return 0
    from arraygrad.backends import _triangular

    out0, out1 = _triangular.solve_gradients(matrix, f.grad, ans)
    if first:
        set_out(f, 0, out0, True)
    if second:
        set_out(f, 1, out1, True)
    return 1
