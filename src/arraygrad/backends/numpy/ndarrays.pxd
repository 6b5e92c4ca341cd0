# May cimport: engine.arrayops. Not numpy: what it exports is for modules that know no NumPy.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from arraygrad.engine.arrayops cimport GradMeta


cdef extern from "inner_loops.hpp" namespace "arraygrad" nogil:
    struct ArrayView:
        char* data
        const Py_ssize_t* dims
        const Py_ssize_t* strides
        Py_ssize_t size
        int ndim
        int slot
        bint c_order
        bint f_order
        bint writeable
    bint same_shape(const ArrayView* a, const ArrayView* b) noexcept
    int common_step(const ArrayView* a, const ArrayView* like) noexcept


cdef object memory_handler      # the capsule of the memory pool's handler (NEP 49)
cdef bint keep_for_reuse(PyObject* array) noexcept
cdef int view_of(object array, ArrayView* view) noexcept
cdef bint has_axes(object array) noexcept
cdef bint bools_of(object array, ArrayView* view) noexcept
cdef bint is_scalar(object x) noexcept
cdef object wrapped(object result)
cdef const int64_t* positions_of(object a, Py_ssize_t* n) noexcept
cdef bint held_once(object array) noexcept
cdef object cloned(object array, object like)
cdef bint laid_out_as(object array, object like) except -1
cdef bint bounds_overlap(object a, object b) noexcept
cdef object zeros_for(GradMeta meta)
cdef object ones_for(GradMeta meta)
cdef object new_number(double x)
cdef object empty_dense(object like)
cdef object empty_of(int slot, int ndim, const Py_ssize_t* dims, bint column_major)
cdef object empty_c(object like, int ndim, const Py_ssize_t* dims)
cdef object zeros_c(object like, int ndim, const Py_ssize_t* dims)
cdef object strided(object base, int ndim, const Py_ssize_t* dims, const Py_ssize_t* strides)
cdef object mirrored(object base, int axis)
cdef int copy_into(object out, object source) except -1
cdef object reshaped(object a, int ndim, const Py_ssize_t* dims)
cdef object transposed(object a, const Py_ssize_t* axes)
