# NumPy's C API as the compiled half of the NumPy backend uses it, and the C++ helpers that work on its arrays.
# May cimport: numpy, engine.sharing. For `ndarrays`, `loops` and `contents` alone: each has NumPy's table of functions.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
cimport numpy as cnp
from numpy cimport ndarray, npy_intp

from arraygrad.engine.sharing cimport Team

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object o)
    long long PyLong_AsLongLongAndOverflow(object o, int* overflow) except? -1

cdef extern from "numpy/ufuncobject.h":
    int PyUFunc_GiveFloatingpointErrors(const char* name, int errors) except -1

cdef extern from "numpy/arrayobject.h":
    bint PyTypeNum_ISCOMPLEX(int) nogil
    bint PyTypeNum_ISFLOAT(int) nogil
    ctypedef struct PyArray_Descr
    ctypedef struct PyTypeObject
    object PyArray_NewFromDescr(PyTypeObject* cls, PyArray_Descr* descr, int nd, npy_intp* dims, npy_intp* strides,
                                void* data, int flags, void* like)
    object PyArray_FromScalar(object scalar, PyArray_Descr* dtype)
    object PyArray_NewLikeArray(ndarray prototype, cnp.NPY_ORDER order, PyArray_Descr* descr, int subok)

cdef extern from "arrays.hpp" namespace "arraygrad" nogil:
    int slot_of_type(int typenum) noexcept
    int type_of_slot(int slot) noexcept
    int plain_slot(ndarray a) noexcept
    int dense_slot(ndarray a) noexcept
    bint is_run(ndarray a) noexcept
    bint same_dims(ndarray a, ndarray b) noexcept
    bint aligned_runs(ndarray a, ndarray b) noexcept
    bint is_dense(ndarray a) noexcept
    bint same_strides(ndarray a, ndarray b) noexcept
    bint is_repeated(ndarray a) noexcept
    npy_intp size_of(ndarray a) noexcept
    npy_intp single_step(ndarray a) noexcept
    void single_steps(object a, object b, npy_intp* sa, npy_intp* sb, npy_intp* so) noexcept
    bint row_pattern(ndarray like, ndarray other, npy_intp* outer, npy_intp* inner) noexcept
    bint memory_bounds(ndarray a, char** low, char** high) noexcept
    struct Blocks:
        Py_ssize_t block
        int result_nd
        npy_intp result[8]
    bint block_pattern(ndarray a, ndarray b, Blocks* p) noexcept

cdef extern from "arrays.hpp" namespace "arraygrad":
    cppclass Pools:
        @staticmethod
        Pools& all()
        size_t limit()
        size_t hits()
        size_t misses()
    size_t cached_bytes()
    void limit_pool(size_t bytes)
    bint keep_array(PyObject* array) noexcept
    struct PyDataMem_Handler:
        pass
    PyDataMem_Handler pool_handler
    object matrix_product(Team* team, object a, object b, PyObject* out)
    void set_bytes(char* out, Py_ssize_t n, int value) noexcept
    bint captured_ones(ndarray out) noexcept
    int assign(ndarray out, ndarray x) except -1
    void note_reshaped(ndarray a, ndarray out) noexcept
    object new_array(object handler, int nd, const npy_intp* dims, int typenum, bint column_major)

cdef extern from "arrays.hpp":        # NumPy's own
    object PyDataMem_SetHandler(object handler)
