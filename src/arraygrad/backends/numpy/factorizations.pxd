# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_cholesky(object args)
cdef object forward_det(object args)
cdef object forward_eig(object args)
cdef object forward_eigh(object args)
cdef object forward_eigh_upper(object args)
cdef object forward_eigvals(object args)
cdef object forward_eigvalsh(object args)
cdef object forward_eigvalsh_upper(object args)
cdef object forward_inv(object args)
cdef object forward_pinv(object args)
cdef object forward_qr(object args)
cdef object forward_slogdet(object args)
cdef object forward_solve_by_loop(object args)
cdef object forward_svd(object args)
cdef object forward_svdvals(object args)
cdef int rule_det(Node node, Frame f) except -1
