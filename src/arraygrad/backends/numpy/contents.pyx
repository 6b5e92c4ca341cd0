# distutils: language = c++
# distutils: define_macros = NPY_TARGET_VERSION=NPY_2_0_API_VERSION
# What the memory of an ndarray holds, whose it is, whether elements share it; an ndarray's
# metadata, and its numbers in another dtype.
# May import: numpy (as C), engine.arrayops, engine.free_threading.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t, uintptr_t
cimport numpy as cnp
from numpy cimport (
    NPY_ARRAY_OWNDATA, PyArray_BASE, PyArray_CheckExact, PyArray_DESCR,
    PyArray_DIM, PyArray_DIMS, PyArray_FLAGS, PyArray_ISNOTSWAPPED, PyArray_ISWRITEABLE, PyArray_NDIM, PyArray_SIZE,
    PyArray_TYPE, ndarray, npy_intp,
)

from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED

cdef extern from "numpy/arrayobject.h":
    bint PyTypeNum_ISCOMPLEX(int)
    bint PyTypeNum_ISFLOAT(int)

cdef extern from "fingerprint.hpp" namespace "arraygrad":
    uint64_t fingerprint(ndarray a, bint full) noexcept
    bint set_fingerprint_rounds(bint on) noexcept

cdef extern from "numpy/arrayobject.h":
    int NPY_HALF

cdef extern from "layouts.hpp" namespace "arraygrad":
    bint overlaps_itself(ndarray a) except +
    uintptr_t owner_of(ndarray a) noexcept

cdef extern from "arrays.hpp" namespace "arraygrad":
    double* number_place(PyObject* array) noexcept
    double* keep_number(PyObject* array) noexcept
    void use_number(double* place) noexcept
    void at_limit_change(void (*drop)() noexcept) noexcept

cdef enum:
    MOST_PROMOTED = 4096        # elements: NumPy converts larger arrays by blocks, which is faster than a copy of all

cnp.import_array()


cdef uint64_t content_of(object array, bint full) noexcept:
    """The fingerprint of an ndarray's shape, dtype and content; `full`: of every byte. Note [Fingerprints]."""
    return fingerprint(<ndarray>array, full)


cdef uintptr_t owner_address(object array) noexcept:
    """A number that ndarrays over memory from one place have in common."""
    return owner_of(<ndarray>array)


cdef int serve_single(ArrayOps ops, void (*drop_kept)() noexcept) except -1:
    """Let Tensors of single numbers be made and kept; `drop_kept` frees those that are kept (core.value)."""
    ops.number_at = number_place
    if not FREE_THREADED:
        ops.number_kept = keep_number
        ops.number_used = use_number
        at_limit_change(drop_kept)
    return 0


cdef bint owns(object array) noexcept:
    """Whether `array` is an exact ndarray whose memory is its own: no view of another's."""
    return PyArray_CheckExact(array) and PyArray_BASE(<ndarray>array) == NULL and \
        PyArray_FLAGS(<ndarray>array) & NPY_ARRAY_OWNDATA != 0


cdef bint has_overlaps(object array) except -1:
    """Whether two elements of a writeable ndarray share memory."""
    return PyArray_ISWRITEABLE(<ndarray>array) and overlaps_itself(<ndarray>array)


cdef object promoted_array(object array, int typenum):
    """A small dense ndarray in float32 or float64 where NumPy promotes it to that, any other as it is."""
    cdef ndarray a = <ndarray>array
    cdef int own = PyArray_TYPE(a)
    if own == typenum or PyArray_SIZE(a) > MOST_PROMOTED or not PyArray_ISNOTSWAPPED(a):
        return array
    if not PyArray_FLAGS(a) & (cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_F_CONTIGUOUS):
        return array
    if typenum == cnp.NPY_DOUBLE:
        if own > cnp.NPY_FLOAT and own != NPY_HALF:
            return array
    elif typenum != cnp.NPY_FLOAT or own > cnp.NPY_USHORT and own != NPY_HALF:
        return array
    return cnp.PyArray_Cast(a, typenum)


# For tests and measurements

def fingerprint_of(ndarray array not None, bint full=False):
    """The fingerprint of an ndarray."""
    return fingerprint(array, full)


def use_rounds(bint mode):
    """Make fingerprints by rounds of AES, where the processor has them, or by products. Returns the mode before."""
    return set_fingerprint_rounds(mode)


# Arrays as the engine sees them

cdef enum:
    KEPT_METAS = 64
    KEPT_DIMS = 4                       # axes up to which metadata is kept

# Metadata of the arrays that were met last, by shape and dtype: programs make the same few shapes again and again.
cdef list _metas = [None] * KEPT_METAS


cdef GradMeta meta_of(ArrayOps ops, object array):
    """GradMeta of an ndarray."""
    cdef GradMeta m
    cdef ndarray a = <ndarray?>array
    cdef int i, nd = PyArray_NDIM(a), typenum = PyArray_TYPE(a)
    cdef size_t place = <size_t>(typenum + 5 * nd)
    if FREE_THREADED or nd > KEPT_DIMS:
        return new_meta(ops, a)
    for i in range(nd):
        place = place * 31 + <size_t>PyArray_DIM(a, i)
    place = (place ^ (place >> 6)) % KEPT_METAS
    if _metas[place] is not None:
        m = <GradMeta>_metas[place]
        if m.ops is ops and m.dtype is <object>PyArray_DESCR(a) and fits(m, a):
            return m
    m = new_meta(ops, a)
    if typenum <= cnp.NPY_CLONGDOUBLE and m.dtype is <object>PyArray_DESCR(a):
        _metas[place] = m
    return m


cdef GradMeta new_meta(ArrayOps ops, ndarray a):
    cdef GradMeta m = GradMeta.__new__(GradMeta)
    cdef int i, nd = PyArray_NDIM(a), typenum = PyArray_TYPE(a)
    m.ops = ops
    m.ndim = nd
    m.typenum = typenum
    m.is_complex = PyTypeNum_ISCOMPLEX(typenum)
    m.is_floating = PyTypeNum_ISFLOAT(typenum) or m.is_complex
    m.dtype = <object>PyArray_DESCR(a)
    if not PyArray_ISNOTSWAPPED(a):
        m.dtype = m.dtype.newbyteorder("=")
    if nd <= 8:
        for i in range(nd):
            m.dims[i] = PyArray_DIM(a, i)
    else:
        m._shape = (<object>a).shape
    return m


cdef bint fits(GradMeta meta, object array) noexcept:
    """Whether `array` is an exact ndarray with the shape and dtype of `meta`, in native byte order."""
    cdef int i
    cdef cnp.npy_intp* dims
    cdef ndarray a
    if not PyArray_CheckExact(array):
        return False
    a = <ndarray>array
    if PyArray_TYPE(a) != meta.typenum or PyArray_NDIM(a) != meta.ndim or not PyArray_ISNOTSWAPPED(a):
        return False
    dims = PyArray_DIMS(a)
    if meta.ndim > 8:
        return _fits_large(meta, a)
    for i in range(meta.ndim):
        if dims[i] != meta.dims[i]:
            return False
    return True


cdef bint _fits_large(GradMeta meta, ndarray a) noexcept:
    cdef int i
    for i in range(meta.ndim):
        if PyArray_DIM(a, i) != <cnp.npy_intp>meta._shape[i]:
            return False
    return True
