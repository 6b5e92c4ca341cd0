# Threads that share the elements of one kernel (sharing.hpp), as compiled modules see them.
# May cimport: nothing of arraygrad.

cdef extern from "sharing.hpp" namespace "arraygrad" nogil:
    cdef cppclass Atomic "std::atomic<int>":
        int load()
        void store(int)
    cdef cppclass Team:
        Atomic threads
        Atomic cores
        Atomic failing
        Atomic idle_milliseconds
        Atomic elsewhere
        Atomic divisor
        bint enter() noexcept
        void leave(bint entered) noexcept
        void renew()
        void stop()
        int living()
        void counts(int* most, int* busy)

cdef Team* team         # the process's, made when the module is imported and never destroyed
