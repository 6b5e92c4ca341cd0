# distutils: language = c++
# distutils: define_macros = NPY_TARGET_VERSION=NPY_2_0_API_VERSION
# What the memory of an ndarray holds, whose it is, and whether elements share it.
# May import: numpy (as C).
from libc.stdint cimport uint64_t, uintptr_t
cimport numpy as cnp
from numpy cimport NPY_ARRAY_OWNDATA, PyArray_BASE, PyArray_CheckExact, PyArray_FLAGS, PyArray_ISWRITEABLE, ndarray

cdef extern from "fingerprint.hpp" namespace "arraygrad":
    uint64_t fingerprint(ndarray a, bint full) noexcept
    bint set_fingerprint_rounds(bint on) noexcept

cdef extern from "layouts.hpp" namespace "arraygrad":
    bint overlaps_itself(ndarray a) except +
    uintptr_t owner_of(ndarray a) noexcept

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


# For tests and measurements

def fingerprint_of(ndarray array not None, bint full=False):
    """The fingerprint of an ndarray."""
    return fingerprint(array, full)


def use_rounds(bint mode):
    """Make fingerprints by rounds of AES, where the processor has them, or by products. Returns the mode before."""
    return set_fingerprint_rounds(mode)
