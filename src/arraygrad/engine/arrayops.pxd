# May cimport: nothing of arraygrad. The only door between the engine and arrays.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

cdef class GradMeta:
    """Shape, dtype and device of a node's input: what a gradient for it must look like."""
    cdef readonly ArrayOps ops
    cdef readonly object dtype          # the backend's own dtype object
    cdef readonly object device         # the backend's own device object; None on the host
    cdef readonly object device_key     # hashable; None on the host (CPU-like devices)
    cdef readonly object stream         # stream current in forward; None without streams
    cdef GradMeta bools                 # that of what comparing such arrays gives, once one was made
    cdef tuple _shape                   # made from dims when first asked for
    cdef int typenum                    # NumPy type number, -1 for other backends
    cdef readonly int ndim
    cdef readonly bint is_complex
    cdef readonly bint is_floating      # real or complex floating: may require grad
    cdef Py_ssize_t dims[8]             # valid where ndim <= 8

    cdef tuple shape_tuple(self)


cdef class AliasMeta(GradMeta):
    """Of a value over memory of another stream than the one that was current when it was made."""
    cdef readonly object home           # the stream whose memory it is
    cdef readonly object ready          # event after which the content is there, None where the value's stream knows


cdef bint is_held(object array, Py_ssize_t held) except -1
cdef object home_of(GradMeta meta)
cdef AliasMeta alias_meta(GradMeta meta, object home, object ready)


cdef class DeviceRuntime:
    """Devices and streams of one backend, as the engine sees them."""
    cdef public bint caller_drives      # a run on one device alone needs no thread of the device's
    cdef public dict captures           # thread -> (key of the device that it captures, number of the first node)
    cpdef object enter(self, object device_key, object stream)
    cpdef int leave(self, object token) except -1
    cpdef object current_stream(self, object device_key)
    cpdef object record_event(self, object stream)
    cpdef int wait_event(self, object stream, object event) except -1
    cpdef int wait_stream(self, object waiting, object producer) except -1


cdef class ArrayOps:
    """What the engine asks of arrays. One instance per backend."""
    cdef readonly str name
    cdef readonly DeviceRuntime runtime
    # May keep an array to which there is one reference, which it takes over then, to hand it out again. NULL: frees it.
    cdef bint (*recycle)(PyObject* array) noexcept
    # Where one float64 without axes stands, NULL for any other array. For core.number_ops; NULL: none are served.
    cdef double* (*number_at)(PyObject* array) noexcept
    # The same where nobody could tell the array from a new one: it counts as free from then on, until it is used again.
    cdef double* (*number_kept)(PyObject* array) noexcept
    cdef void (*number_used)(double* place) noexcept

    cpdef GradMeta meta(self, object array)
    cpdef bint matches(self, GradMeta meta, object grad) except -1
    cpdef object conform(self, GradMeta meta, object grad, bint realify)
    cpdef object add(self, object a, object b)
    cpdef object add_into(self, object a, object b)
    cpdef bint exclusive(self, object grad) except -1
    cpdef object clone(self, object array, object like)
    cpdef bint has_nan(self, object grad) except -1
    cdef bint begins_nonzero(self, object grad) noexcept
    cpdef object zeros(self, GradMeta meta)
    cpdef object ones(self, GradMeta meta)
    cpdef object begin(self, GradMeta meta)
    cpdef object let_out(self, object grad)
    cpdef object to_user(self, object grad)
    cpdef object from_user(self, object value)
    cpdef list followed(self, tuple shown)
    cpdef object replaced(self, object node, str hook, object result, object new, list followed, uint64_t since)
    cpdef unsigned long long owner(self, object raw) except? 0
    cpdef object home(self, object array)
    # For nodes with NODE_NUMBER or NODE_ELEMENT (engine.numbers), which only a backend that defines these makes.
    cdef object number(self, double x)
    cdef bint read_number(self, object grad, double* x) except -1
    cdef object add_element(self, object held, GradMeta meta, uint64_t place, double x)
    cdef bint take_element(self, object held, uint64_t place, double* x) except -1
