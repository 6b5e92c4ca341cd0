# May cimport: nothing.

# Binds the positional arguments of a NumPy function of shape, of which the first is a Tensor, and runs the operation.
# NotImplemented: declined, nothing was done.
ctypedef object (*shape_ptr)(tuple args)

cdef shape_ptr shape_function(object name) except? NULL
cdef bint takes_lists(shape_ptr function) noexcept
cdef object dot(tuple args)
cdef object einsum(tuple args, object kwargs)
