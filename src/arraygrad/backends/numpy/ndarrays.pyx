# distutils: language = c++
# distutils: define_macros = NPY_TARGET_VERSION=NPY_2_0_API_VERSION
# NumPy's arrays for the compiled half of the NumPy backend: what an array is, new ones, views of them, their memory.
# It, `loops`, `contents` and `ufunc_loops` know NumPy's C API; the others use what they export.
# May import: numpy (as C and Python), engine.arrayops.
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF
cimport numpy as cnp
from numpy cimport (
    NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS, NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE, NPY_CORDER, NPY_KEEPORDER,
    PyArray_BASE, PyArray_BYTES, PyArray_CheckExact, PyArray_DATA, PyArray_DESCR, PyArray_DIM, PyArray_DIMS,
    PyArray_FLAGS, PyArray_FROM_O, PyArray_IS_C_CONTIGUOUS, PyArray_ISBEHAVED_RO, PyArray_SIZE, PyArray_ISNOTSWAPPED,
    PyArray_NBYTES, PyArray_NDIM, PyArray_Newshape, PyArray_STRIDES, PyArray_Transpose, PyArray_TYPE, PyArray_ZEROS,
    ndarray, npy_intp,
)

import numpy as np

from arraygrad.backends.numpy.c_api cimport (
    Py_REFCNT, PyArray_Descr, PyTypeObject, PyArray_NewFromDescr, PyArray_FromScalar, assign, captured_ones,
    note_reshaped, set_bytes, PyArray_NewLikeArray, Pools, slot_of_type, type_of_slot, same_dims, is_dense,
    same_strides, size_of, memory_bounds, cached_bytes, limit_pool, keep_array, pool_handler, new_array,
    PyDataMem_SetHandler,
)
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport make_immortal

cdef extern from "arrays.hpp" namespace "arraygrad":
    int fill_view(ndarray a, ArrayView* v) noexcept nogil
    bint is_captured() noexcept

cnp.import_array()
cdef object memory_handler = PyCapsule_New(&pool_handler, "mem_handler", NULL)
make_immortal(<PyObject*>memory_handler)
for _number in range(cnp.NPY_CLONGDOUBLE + 1):
    # Every array holds one of these; NumPy keeps them as long as the process lives.
    _dtype = <object>cnp.PyArray_DescrFromType(_number)
    make_immortal(<PyObject*>_dtype)
del _number, _dtype
cdef object _float64 = np.float64


# The memory pool

def set_memory_pool(Py_ssize_t limit):
    """Keep at most `limit` bytes of freed memory (each thread if free-threaded), 0: none; returns the limit before."""
    cdef size_t previous = Pools.all().limit()
    if limit < 0:
        raise ValueError(f"set_memory_pool: expected a number of bytes, but got {limit}")
    limit_pool(<size_t>limit)
    return previous


def pooled_bytes():
    """Bytes of freed array memory that are kept for reuse at the moment."""
    return cached_bytes()


def pool_limit():
    """Bytes of freed array memory that are kept at most."""
    return Pools.all().limit()


def pool_counts():
    """(requests served by memory that was kept, by the C library) of threads that live, since the process began."""
    return Pools.all().hits(), Pools.all().misses()


def swap_memory_handler(handler=None):
    """Have every array that NumPy makes in this context live in the pool too (NEP 49); returns the handler before."""
    return PyDataMem_SetHandler(memory_handler if handler is None else handler)


# What an array is

cdef bint keep_for_reuse(PyObject* array) noexcept:
    """Whether a dead array is kept to be handed out again: its one reference is taken over (array_freelist.hpp)."""
    return keep_array(array)


cdef int view_of(object array, ArrayView* view) noexcept:
    """Fill `view` from an exact ndarray; returns its slot, or -1 for anything a loop can't read."""
    if not PyArray_CheckExact(array):
        return -1
    return fill_view(<ndarray>array, view)


cdef bint has_axes(object array) noexcept:
    """Whether `array` is an exact ndarray with axes: told before anything else of it is looked at."""
    return PyArray_CheckExact(array) and PyArray_NDIM(<ndarray>array) > 0


cdef bint bools_of(object array, ArrayView* view) noexcept:
    """Fill `view` from an exact ndarray of bool; False for anything else."""
    if not PyArray_CheckExact(array) or PyArray_TYPE(<ndarray>array) != cnp.NPY_BOOL:
        return False
    fill_view(<ndarray>array, view)
    return True


cdef bint is_scalar(object x) noexcept:
    """Whether `x` is one of NumPy's scalars."""
    return isinstance(x, cnp.generic)


cdef object wrapped(object result):
    """A NumPy scalar as a 0-d array; an array as it is."""
    cdef object out
    if PyArray_CheckExact(result):
        return result
    if type(result) is _float64:
        out = new_array(memory_handler, 0, NULL, cnp.NPY_DOUBLE, 0)
        (<double*>PyArray_BYTES(<ndarray>out))[0] = PyFloat_AS_DOUBLE(result)
        return out
    return PyArray_FromScalar(result, NULL) if isinstance(result, cnp.generic) else PyArray_FROM_O(result)


cdef const int64_t* positions_of(object a, Py_ssize_t* n) noexcept:
    """The elements of a row-major ndarray of int64, and their number; NULL for anything else."""
    if type(a) is not ndarray or not PyArray_IS_C_CONTIGUOUS(<ndarray>a):
        return NULL
    if PyArray_TYPE(<ndarray>a) != cnp.NPY_INT64 or not PyArray_ISBEHAVED_RO(<ndarray>a):
        return NULL
    n[0] = PyArray_SIZE(<ndarray>a)
    return <const int64_t*>PyArray_BYTES(<ndarray>a)


# Arrays as the engine sees them

cdef bint held_once(object array) noexcept:
    """Whether the caller's variable is the only reference to an exact ndarray that owns its writeable memory."""
    return PyArray_CheckExact(array) and Py_REFCNT(array) == 1 and PyArray_BASE(<ndarray>array) == NULL and \
        (PyArray_FLAGS(<ndarray>array) & (NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE)) == \
        (NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE)


cdef enum:
    COPIED_AT_ONCE = 1 << 12            # bytes that are copied in less time than NumPy takes to find out how


cdef inline bint is_built_in(ndarray a):
    """Whether an array has NumPy's own descriptor of its dtype: native byte order, no metadata."""
    return <object>PyArray_DESCR(a) is <object>cnp.PyArray_DescrFromType(PyArray_TYPE(a))


cdef object cloned(object array, object like):
    """A copy of `array` with the strides of `like` where that is dense and of the same shape, else row-major."""
    cdef ndarray src = <ndarray?>array
    cdef ndarray pattern
    cdef object out
    cdef bint columns = False
    if isinstance(like, ndarray):
        pattern = <ndarray>like
        if not PyArray_FLAGS(pattern) & NPY_ARRAY_C_CONTIGUOUS and same_dims(src, pattern) and is_dense(pattern):
            columns = PyArray_FLAGS(pattern) & NPY_ARRAY_F_CONTIGUOUS != 0
            if not columns:
                Py_INCREF(<object>PyArray_DESCR(src))    # NewLikeArray steals it
                out = PyArray_NewLikeArray(pattern, NPY_KEEPORDER, <PyArray_Descr*>PyArray_DESCR(src), 0)
                assign(<ndarray>out, src)
                return out
    if PyArray_CheckExact(array) and (PyArray_ISNOTSWAPPED(src) and slot_of_type(PyArray_TYPE(src)) >= 0
                                      or PyArray_TYPE(src) <= cnp.NPY_LONGLONG and is_built_in(src)):
        out = new_array(memory_handler, PyArray_NDIM(src), PyArray_DIMS(src), PyArray_TYPE(src), columns)
        if PyArray_NBYTES(src) <= COPIED_AT_ONCE and same_strides(src, <ndarray>out) and not is_captured():
            memcpy(PyArray_BYTES(<ndarray>out), PyArray_BYTES(src), PyArray_NBYTES(src))
        else:
            assign(<ndarray>out, src)
        return out
    return np.array(array, order="F" if columns else "C", subok=False)


cdef bint laid_out_as(object array, object like) except -1:
    """Whether `array` has the strides that cloned(array, like) would have."""
    cdef ndarray g = <ndarray?>array
    cdef ndarray a = <ndarray?>like
    if not same_dims(g, a):
        return False
    if PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS or not is_dense(a):
        return PyArray_FLAGS(g) & NPY_ARRAY_C_CONTIGUOUS != 0
    return same_strides(g, a)


cdef bint bounds_overlap(object a, object b) noexcept:
    """Whether the memory bounds of two ndarrays overlap."""
    cdef char *low_a, *high_a, *low_b, *high_b
    if not isinstance(a, ndarray) or not isinstance(b, ndarray):
        return False
    if not memory_bounds(<ndarray>a, &low_a, &high_a) or not memory_bounds(<ndarray>b, &low_b, &high_b):
        return False
    return low_a < high_b and low_b < high_a


cdef object zeros_for(GradMeta meta):
    """Zeros that fit `meta`."""
    if meta.ndim <= 8:
        return PyArray_ZEROS(meta.ndim, <npy_intp*>meta.dims, meta.typenum, 0)
    return np.zeros(meta.shape_tuple(), meta.dtype)


cdef object ones_for(GradMeta meta):
    """Ones that fit `meta`."""
    cdef object out
    if meta.ndim > 8:
        return np.ones(meta.shape_tuple(), meta.dtype)
    out = new_array(memory_handler, meta.ndim, <npy_intp*>meta.dims, meta.typenum, 0)
    cdef bint one = size_of(<ndarray>out) == 1
    if captured_ones(<ndarray>out):
        return out
    if one and meta.typenum == cnp.NPY_DOUBLE:
        (<double*>PyArray_BYTES(<ndarray>out))[0] = 1.0
    elif one and meta.typenum == cnp.NPY_FLOAT:
        (<float*>PyArray_BYTES(<ndarray>out))[0] = 1.0
    else:
        (<ndarray>out).fill(1)
    return out


# New arrays and views of arrays

cdef object new_number(double x):
    """A new array without axes."""
    cdef object out = new_array(memory_handler, 0, NULL, cnp.NPY_DOUBLE, 0)
    (<double*>PyArray_BYTES(<ndarray>out))[0] = x
    return out


cdef object empty_dense(object like):
    """An uninitialised array with the shape, dtype and order of a dense one."""
    cdef ndarray a = <ndarray>like
    return new_array(memory_handler, PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a),
                     not PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS)


cdef object empty_of(int slot, int ndim, const Py_ssize_t* dims, bint column_major):
    """An uninitialised array with a dtype and shape of its own."""
    return new_array(memory_handler, ndim, <npy_intp*>dims, type_of_slot(slot), column_major)


cdef object empty_c(object like, int ndim, const Py_ssize_t* dims):
    """An uninitialised row-major array with the dtype of `like` and a shape of its own."""
    return new_array(memory_handler, ndim, <npy_intp*>dims, PyArray_TYPE(<ndarray>like), 0)


cdef object zeros_c(object like, int ndim, const Py_ssize_t* dims):
    """Row-major zeros with the dtype of `like` and a shape of its own."""
    # Out of the pool: NumPy's zeros of a large array are new pages each time, and faults cost more than writing zeros.
    cdef object out = empty_c(like, ndim, dims)
    set_bytes(PyArray_BYTES(<ndarray>out), PyArray_NBYTES(<ndarray>out), 0)
    return out


cdef object strided(object base, int ndim, const Py_ssize_t* dims, const Py_ssize_t* strides):
    """A read-only view of an array's first element with any shape and strides that stay within it."""
    cdef ndarray a = <ndarray>base
    cdef object view
    Py_INCREF(<object>PyArray_DESCR(a))     # NewFromDescr steals it
    view = PyArray_NewFromDescr(<PyTypeObject*>ndarray, <PyArray_Descr*>PyArray_DESCR(a), ndim, <npy_intp*>dims,
                                <npy_intp*>strides, PyArray_DATA(a), 0, NULL)
    cnp.set_array_base(<ndarray>view, a)
    return view


cdef object mirrored(object base, int axis):
    """A view of an array of up to 8 axes with one of them in reverse, as numpy.flip makes it."""
    cdef ndarray a = <ndarray>base
    cdef npy_intp strides[8]
    cdef npy_intp n = PyArray_DIM(a, axis)
    cdef char* first = PyArray_BYTES(a)
    cdef object view
    memcpy(strides, PyArray_STRIDES(a), PyArray_NDIM(a) * sizeof(npy_intp))
    if n > 0:
        first += (n - 1) * strides[axis]
        strides[axis] = -strides[axis]
    Py_INCREF(<object>PyArray_DESCR(a))     # NewFromDescr steals it
    view = PyArray_NewFromDescr(<PyTypeObject*>ndarray, <PyArray_Descr*>PyArray_DESCR(a), PyArray_NDIM(a),
                                PyArray_DIMS(a), strides, first, PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL)
    cnp.set_array_base(<ndarray>view, a)
    return view


cdef int copy_into(object out, object source) except -1:
    """out[...] = source, of one shape and dtype."""
    return assign(<ndarray>out, <ndarray>source)


cdef object reshaped(object a, int ndim, const Py_ssize_t* dims):
    """`a` in row-major order with another shape: a view where one can be made."""
    cdef cnp.PyArray_Dims shape
    cdef object out
    shape.ptr = <npy_intp*>dims
    shape.len = ndim
    out = PyArray_Newshape(<ndarray>a, &shape, NPY_CORDER)
    note_reshaped(<ndarray>a, <ndarray>out)
    return out


cdef object transposed(object a, const Py_ssize_t* axes):
    """A view of `a` with permuted axes; NULL: reversed."""
    cdef cnp.PyArray_Dims order
    if axes == NULL:
        return PyArray_Transpose(<ndarray>a, NULL)
    order.ptr = <npy_intp*>axes
    order.len = PyArray_NDIM(<ndarray>a)
    return PyArray_Transpose(<ndarray>a, &order)
