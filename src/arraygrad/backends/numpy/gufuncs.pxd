# May cimport: nothing of arraygrad but backends.numpy.ndarrays, backends.numpy.loops.
from arraygrad.backends.numpy.ndarrays cimport ArrayView
from arraygrad.backends.numpy.loops cimport loop_fn

cdef extern from "gufuncs.hpp" namespace "arraygrad" nogil:
    struct Gufunc:
        const char* name
        loop_fn fn
        void* data
    int captured_gufunc(const Gufunc* g, const ArrayView* v, int n, int n_in, const Py_ssize_t* dims, int n_dims,
                        const Py_ssize_t* steps, int n_steps) noexcept

# Places in _LISTED of gufuncs.pyx.
cdef enum:
    FFT
    IFFT
    RFFT_EVEN
    RFFT_ODD
    IRFFT
    INV
    DET
    SLOGDET
    CHOLESKY_LO
    CHOLESKY_UP
    EIGH_LO
    EIGH_UP
    EIGVALSH_LO
    EIGVALSH_UP
    SVD_FULL
    SVD_SMALL
    SOLVE
    SOLVE_ONE
    LSTSQ
    N_GUFUNCS

cdef const Gufunc* gufunc(int which, int slot) except? NULL
cdef bint in_double(int which, int slot, bint factor) noexcept
cdef int run(const Gufunc* g, char** args, const Py_ssize_t* dims, const Py_ssize_t* steps, Py_ssize_t work) except -1
