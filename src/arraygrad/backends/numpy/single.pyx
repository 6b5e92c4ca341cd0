# Arithmetic on two single numbers of double precision, and single elements of arrays. See Note [Single numbers] in
# single.hpp.
# May import: backends.numpy.loops.
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, ArrayView, LoopSet, empty_single, fast_enabled, has_axes, item_size, read_number, view_of,
)
from libc.string cimport memcpy

cdef extern from "single.hpp" namespace "arraygrad":
    bint single_result(int code, double x, double y, double* out) noexcept


cdef bint is_single(object x) noexcept:
    """Whether `x` is one float64 without axes, as an exact ndarray that can be read."""
    cdef ArrayView v
    return not has_axes(x) and view_of(x, &v) == SLOT_F64


cdef bint read_single(object x, double* number) except -1:
    """Read a float64 array without axes, or a plain number. False: anything else."""
    cdef ArrayView v
    cdef int slot = view_of(x, &v)
    if slot == SLOT_F64:
        number[0] = (<double*>v.data)[0]
        return True
    return slot < 0 and read_number(x, SLOT_F64, <char*>number)


cdef object single_loop(const LoopSet* loops, object a, object b, object out):
    """A binary ufunc of two single numbers, of which one is an array, into `out` (which may be a or b) or a new array.

    None: declined, nothing was done.
    """
    cdef ArrayView v
    cdef double x, y, r
    if not loops.single or has_axes(a) or has_axes(b) or not read_single(a, &x) or not read_single(b, &y):
        return None
    if not single_result(loops.single, x, y, &r):
        return None
    if out is None:
        out = empty_single(SLOT_F64)
        view_of(out, &v)
    elif view_of(out, &v) != SLOT_F64 or v.ndim or not v.writeable:
        return None
    (<double*>v.data)[0] = r
    return out


cdef object single_element(object array, object key):
    """array[key] as an array of its own, where ints name one real number of a plain array; else None."""
    cdef ArrayView v, r
    cdef char* place
    cdef object out
    if not fast_enabled() or view_of(array, &v) < 0 or v.slot > SLOT_F64:
        return None
    place = element_at(&v, key)
    if place == NULL:
        return None
    out = empty_single(v.slot)
    view_of(out, &r)
    memcpy(r.data, place, item_size(v.slot))
    return out


cdef bint put_single(object array, object key, object value) except -1:
    """array[key] = value, where single_element serves array[key], for a number or an array without axes of its dtype.

    False: anything else, and nothing was written. A value of None is not written, and True says that one would be.
    """
    cdef ArrayView v, one
    cdef char* place
    cdef double number[2]
    cdef char* read = <char*>number
    if not fast_enabled() or view_of(array, &v) < 0 or v.slot > SLOT_F64 or not v.writeable:
        return False
    place = element_at(&v, key)
    if place == NULL:
        return False
    if value is None:
        return True
    if view_of(value, &one) == v.slot and one.ndim == 0:
        read = one.data
    elif not read_number(value, v.slot, read):
        return False
    memcpy(place, read, item_size(v.slot))
    return True
