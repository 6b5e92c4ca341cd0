# free_threading.hpp as compiled modules see it: what is a lock where there is no GIL, and nothing where there is.
# May cimport: nothing of arraygrad.
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libcpp.atomic cimport atomic

cdef extern from "free_threading.hpp" namespace "arraygrad" nogil:
    const bint FREE_THREADED
    cdef cppclass Guard:
        void lock()
        void unlock()
    cdef cppclass OwnedLock:
        void lock()
        void unlock()
    bint swap_stamp(uint64_t* stamp, uint64_t found, uint64_t wanted)
    uint64_t read_stamp(const uint64_t* stamp)
    bint has_bit(const uint16_t* word, uint16_t bit)
    void set_bit(uint16_t* word, uint16_t bit)
    void gate_enter(int32_t* gate)
    bint gate_leave(int32_t* gate)
    bint gate_close(int32_t* gate)
    bint gate_closed(const int32_t* gate)

cdef extern from "free_threading.hpp" namespace "arraygrad":
    T add_held[T](atomic[T]& counter, int64_t change)
    cdef cppclass Section:
        void begin(PyObject* object)
        void end()
    bint try_incref(PyObject* object)
    void enable_try_incref(PyObject* object)
    void make_immortal(PyObject* object)
