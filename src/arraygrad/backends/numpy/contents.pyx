# distutils: language = c++
# distutils: define_macros = NPY_TARGET_VERSION=NPY_2_0_API_VERSION
# What the memory of an ndarray holds, whose it is, whether elements share it, and its numbers in another dtype.
# May import: numpy (as C).
from libc.stdint cimport uint64_t, uintptr_t
cimport numpy as cnp
from numpy cimport (
    NPY_ARRAY_OWNDATA, PyArray_BASE, PyArray_CheckExact, PyArray_FLAGS, PyArray_ISNOTSWAPPED, PyArray_ISWRITEABLE,
    PyArray_SIZE, PyArray_TYPE, ndarray,
)

cdef extern from "fingerprint.hpp" namespace "arraygrad":
    uint64_t fingerprint(ndarray a, bint full) noexcept
    bint set_fingerprint_rounds(bint on) noexcept

cdef extern from "numpy/arrayobject.h":
    int NPY_HALF

cdef extern from "layouts.hpp" namespace "arraygrad":
    bint overlaps_itself(ndarray a) except +
    uintptr_t owner_of(ndarray a) noexcept

cdef enum:
    MOST_PROMOTED = 4096        # elements: NumPy converts larger arrays by blocks, which is faster than a copy of all

cnp.import_array()


cdef uint64_t content_of(object array, bint full) noexcept:
    """The fingerprint of an ndarray's shape, dtype and content; `full`: of every byte. Note [Fingerprints]."""
    return fingerprint(<ndarray>array, full)


cdef uintptr_t owner_address(object array) noexcept:
    """A number that ndarrays over memory from one place have in common."""
    return owner_of(<ndarray>array)


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
