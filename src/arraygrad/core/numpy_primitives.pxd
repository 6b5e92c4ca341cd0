# May cimport: core.op.
from arraygrad.core.op cimport MAX_PARAMS, Op


cdef class NumpyPrimitive:
    """How calls of one NumPy function on Tensors are recorded without a frame of Python."""
    cdef Op op                  # binds NumPy's parameters; where there is no `target` it is what is recorded
    cdef object function        # NumPy's own, without another look for Tensors
    cdef Op target              # the table's operation that the function is, None: it is none
    cdef tuple places           # for each parameter of `target`: place of one in `op`, (place, types), or (constant,)
    cdef object settle          # settle(function, result, args): what a result without axes is
    cdef bint alone             # `target` is called with the one array and nothing else
    cdef int lone               # the parameter of `target` that alone has a derivative (views.is_lone), -1: others
    cdef signed char ndims[MAX_PARAMS]  # of the arrays that are served, in order, -1: any
    cdef unsigned int numbers   # bit k: parameter k is served as a plain number only
    cdef unsigned int arrays    # bit k: parameter k is an array, which NumPy also takes as a list of numbers
    cdef int dtypes             # bits of what is served: float32, float64, complex64, complex128
    cdef int last               # length of the arrays' last axis that is served, 0: any
    cdef int mask               # place of an array of truth values, -1: there is none
    cdef bint any_result        # NumPy's result may have another dtype
    cdef NumpyPrimitive other         # asked where this one does not serve a call, None: nobody


cdef object refused
cdef object primitive_call(NumpyPrimitive r, tuple args, object kwargs)
