# May cimport: engine.arrayops.
from libc.stdint cimport uint64_t, uintptr_t
from arraygrad.engine.arrayops cimport ArrayOps, GradMeta

cdef uint64_t content_of(object array, bint full) noexcept
cdef uintptr_t owner_address(object array) noexcept
cdef bint has_overlaps(object array) except -1
cdef bint owns(object array) noexcept
cdef int serve_single(ArrayOps ops, void (*drop_kept)() noexcept) except -1
cdef object promoted_array(object array, int typenum)
cdef GradMeta meta_of(ArrayOps ops, object array)
cdef bint fits(GradMeta meta, object array) noexcept
